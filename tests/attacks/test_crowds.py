"""Crowds on whole conferences, against an adversary that reads the files and lists everything by itself.

It knows the scores, reviewers and pools as they stand in the files, and the sealed tables; prior, likelihood,
posterior and ranking are its own, and figures are those of the oracle of fractions. Weights agree with the
package's to some 1e-12, so it allows 1e-9.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, permutations, product
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import multivariate_normal, norm

from blindcal.certify.exact import ExactPolicy
from blindcal.deciding.decide import Outcome, decide
from blindcal.deciding.key import Key, make_key
from blindcal.deciding.ledger import ledger_folder, read_head, record_name
from blindcal.deciding.lists import printed_list
from blindcal.deciding.record import unpack
from blindcal.planning.request import Quota, Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.belief import unchecked_belief
from blindcal.verification import verify
from listed_tuples import Oracle
from sizes import count
from small_conferences import SmallConference, read_small

TINY = 1e-9
Who = tuple[str, ...]
Table = dict[Who, Fraction]
GUARANTEES = (
    Guarantee("crowd", among=3, epsilon=None),
    Guarantee("crowd", among=4, epsilon=2.0),
    Guarantee("average", among=4, epsilon=None),
    Guarantee("crowd", among=5, epsilon=None, multiplier=1.5),
    Guarantee("crowd", among=10, epsilon=3.0),
    Guarantee("average", epsilon=2.0, among=3),
    Guarantee("crowd", among=6, epsilon=None),
    Guarantee("average", among=2, epsilon=1.5),
)
KINDS = ("bar", "quota", "tracks", "printed", "amended", "amended quota")
QUOTAS = {
    "quota": Quota(2, 1),
    "tracks": Quota({"main": 1, "short": 1}, {"short": 1}),
    "printed": Quota(2),
    "amended quota": Quota(1, 1),
}
ALLOWED = {"yes_leak": True, "despite_misfit": True, "distinct_papers": True}


@dataclass(frozen=True)
class Listed:
    """One paper as the adversary lists it: every tuple of names, slots ordered by score."""

    paper: str
    track: str
    scores: tuple[float, ...]
    weight: dict[Who, float]
    favor: dict[Who, float]

    def tops(self) -> list[float]:
        """The largest chance of a named person in each slot, from the scores alone."""
        return [max(self._by_name(slot, dict.fromkeys(self.weight, 1.0)).values()) for slot in self.slots]

    @property
    def slots(self) -> range:
        return range(len(self.scores))

    def _by_name(self, slot: int, chance: dict[Who, float]) -> dict[str, float]:
        mass: dict[str, float] = defaultdict(float)
        for who, weight in self.weight.items():
            if who[slot] != "*":
                mass[who[slot]] += weight * chance[who]
        return mass

    def masses(self, chance: dict[Who, float]) -> tuple[float, list[dict[str, float]]]:
        """P(outcome), and for each slot P(outcome and this person), from the outcome's chance per tuple."""
        total = sum(weight * chance[who] for who, weight in self.weight.items())
        return total, [self._by_name(slot, chance) for slot in self.slots]


def listed(small: SmallConference, bar: float | dict[str, float]) -> dict[str, Listed]:
    """Every paper of the files with its posterior over tuples, from nothing but the files and the bar."""
    people = {row[0]: [float(cell) for cell in row[1:]] for row in small.reviewers[1:]}
    scores, tracks, pools = defaultdict(list), {}, defaultdict(dict)
    for paper, _, score, *track in small.reviews[1:]:
        scores[paper].append(float(score))
        tracks[paper] = track[0] if track else ""
    for paper, name, chance in small.pools[1:]:
        pools[paper][name] = float(chance)
    return {
        paper: _posterior(
            paper,
            tracks[paper],
            tuple(sorted(given)),
            pools[paper],
            people,
            bar[tracks[paper]] if isinstance(bar, dict) else bar,
        )
        for paper, given in scores.items()
    }


def _posterior(
    paper: str, track: str, scores: tuple[float, ...], pool: dict[str, float], people: dict, bar: float
) -> Listed:
    reviews, weight, favor = len(scores), defaultdict(float), {}
    for seats, prior in _seatings(pool, reviews).items():
        for who in permutations(seats):
            names = tuple(name for name, _ in who)
            weight[names] += prior
    for who in weight:
        slope, offset, noise = np.array([people[name] for name in who]).T
        cov = np.diag(noise**2) + np.outer(slope, slope)
        weight[who] *= multivariate_normal.pdf(scores, offset, cov)
        precision = 1.0 + float((slope**2 / noise**2).sum())
        mean = float((slope * (np.array(scores) - offset) / noise**2).sum()) / precision
        favor[who] = float(norm.cdf((mean - bar) * np.sqrt(precision)))
    total = sum(weight.values())
    return Listed(paper, track, scores, {who: part / total for who, part in weight.items()}, favor)


def _seatings(pool: dict[str, float], reviews: int) -> dict[tuple[tuple[str, int], ...], float]:
    """Conditional Poisson: the chance of every set of seats, by iterating odds until inclusion is as given.

    `*` has a seat for each review, so that outsiders may have written several.
    """
    seats = [(name, seat) for name in pool for seat in range(reviews if name == "*" else 1)]
    chance = np.array([pool[name] / (reviews if name == "*" else 1) for name, _ in seats])
    chance *= reviews / chance.sum()
    assert chance.max() < 1, "probabilities that would be cut off are not for this oracle"
    sets = list(combinations(range(len(seats)), reviews))
    member = np.zeros((len(sets), len(seats)))
    for row, chosen in zip(member, sets, strict=True):
        row[list(chosen)] = 1.0
    odds = np.log(chance)
    for _ in range(2000):
        part = np.exp(member @ odds)
        part /= part.sum()
        found = part @ member
        if np.abs(found - chance).max() < 1e-14:
            break
        odds += np.log(chance) - np.log(found)
    return {tuple(seats[j] for j in chosen): p for chosen, p in zip(sets, part.tolist(), strict=True)}


def chances(paper: Listed, table: ExactPolicy, order: list[str]) -> Table:
    """P(accept | tuple) by the sealed table: tuples stand in the order of the pool, `*` may repeat."""
    every = product(order, repeat=len(paper.scores))
    tuples = [who for who in every if all(who.count(name) <= 1 for name in order if name != "*")]
    assert len(tuples) == table.numerator.size
    return {who: table.probability(index) for index, who in enumerate(tuples)}


def outcome(table: Table, accepted: bool) -> dict[Who, float]:
    """P(decision | tuple); of one that hardly ever happens too, hence the difference of fractions."""
    return {who: float(p if accepted else 1 - p) for who, p in table.items()}


def oracle(paper: Listed, accept: Table, guarantee: Guarantee) -> Oracle:
    """What the two outcomes reveal, after every promise about them was checked."""
    names = [*dict.fromkeys(name for who in accept for name in who if name != "*")]
    labels = [[names.index(name) if name != "*" else -1 for name in who] for who in accept]
    weight = np.array([paper.weight.get(who, 0.0) for who in accept])
    table = ExactPolicy(np.zeros(len(accept), dtype=np.int64), tuple(enumerate(accept.values())))
    true = Oracle(unchecked_belief(weight, weight, np.array(labels).T), table)
    for after, before in true.posteriors:
        assert after <= max(1 / guarantee.among, before) * (1 + TINY)
    if guarantee.name == "average":
        assert true.success <= true.scores_only + TINY
    if guarantee.epsilon is not None:
        assert true.ratio is not None
        assert true.ratio <= exp(guarantee.epsilon) * (1 + TINY)
    return true


def largest_rise(true: Oracle) -> float:
    return max(0.0, *(float(after - before) for after, before in true.posteriors))


def not_understated(stated: dict[str, Any], found: list[Oracle], reviews: int, *, tight: bool = True) -> None:
    """No figure of a certificate is below the truth, and none is far above it if it must be `tight`."""
    pairs = {
        "success": sum(one.success for one in found) / reviews,
        "success_scores_only": sum(one.scores_only for one in found) / reviews,
        "added_success": sum(one.success - one.scores_only for one in found) / reviews,
        "largest_posterior": max(after for one in found for after, _ in one.posteriors),
        "largest_posterior_named": max(top for one in found for top in one.by_name),
        "largest_posterior_paper": max(chance for one in found for chance in one.of_paper),
        "largest_factor": max(factor for one in found for factor in one.factors),
        "largest_rise": max(map(largest_rise, found)),
    }
    assert (stated["papers"], stated["reviews"]) == (len(found), reviews)
    for name, true in pairs.items():
        assert true <= stated[name] + TINY, name
        assert not tight or stated[name] <= true * (1 + 1e-7) + 1e-7, name


def ranked(favors: dict[str, float], papers: dict[str, Listed], quota: Quota) -> dict[str, str]:
    """The list that a chair sees: accepted, a place on the wait list, or rejected."""
    found = {}
    for group in quota.groups:
        accept, wait = quota.of(group)
        members = [paper for paper in favors if papers[paper].track == group]
        for place, paper in enumerate(sorted(members, key=lambda one: rank(papers[one], favors[one]))):
            waits = accept <= place < accept + wait
            found[paper] = (
                "accept" if place < accept else f"wait list {place - accept + 1}" if waits else "reject"
            )
    return found


def rank(paper: Listed, favor: float) -> tuple[float, Fraction, str]:
    mean = sum(Fraction(str(score)) for score in paper.scores) / len(paper.scores)
    return -round(favor, 6), -mean, paper.paper


def after(paper: Listed, accept: Table, accepted: bool) -> tuple[float, float]:
    """P(private decision), and P(right to accept | scores, private decision)."""
    chance = outcome(accept, accepted)
    total = paper.masses(chance)[0]
    prior = sum(w * paper.favor[who] for who, w in paper.weight.items())
    right = sum(w * chance[who] * paper.favor[who] for who, w in paper.weight.items())
    return total, right / total if total > 0 else prior


def every_list(
    papers: dict[str, Listed], accept: dict[str, Table], quotas: list[Quota]
) -> Iterator[tuple[dict[str, bool], dict[str, float], tuple[Any, ...]]]:
    """All private decisions with their chances, and the lists that follow from each."""
    both = {name: [after(papers[name], accept[name], side) for side in (False, True)] for name in papers}
    for sides in product((False, True), repeat=len(papers)):
        drawn = dict(zip(papers, sides, strict=True))
        chance = {name: both[name][side][0] for name, side in drawn.items()}
        if min(chance.values()) > 0:
            favors = {name: both[name][side][1] for name, side in drawn.items()}
            yield drawn, chance, tuple(tuple(ranked(favors, papers, one).items()) for one in quotas)


def check_lists(
    papers: dict[str, Listed], accept: dict[str, Table], quotas: list[Quota], guarantee: Guarantee
) -> float:
    """No lists that could be published break a promise together; the expected number of reviewers named."""
    joint: dict[Any, dict[str, list[float]]] = {}
    for drawn, chance, seen in every_list(papers, accept, quotas):
        sums = joint.setdefault(seen, {name: [0.0, 0.0] for name in papers})
        for name, side in drawn.items():
            rest = np.prod([chance[other] for other in papers if other != name])
            sums[name][side] += float(rest)
    named = 0.0
    for sums in joint.values():
        for name, (rejected, accepted) in sums.items():
            sides = zip(
                outcome(accept[name], True).items(), outcome(accept[name], False).values(), strict=True
            )
            total, slots = papers[name].masses({who: p * accepted + q * rejected for (who, p), q in sides})
            named += sum(max(mass.values()) for mass in slots)
            for mass, top in zip(slots, papers[name].tops(), strict=True):
                assert max(mass.values()) <= max(1 / guarantee.among, top) * total * (1 + TINY) + 1e-15
    return named


def conference(rng: np.random.Generator, tracks: bool) -> SmallConference:
    """3 to 5 papers with 1 to 3 reviews; 3 to 9 candidates, in a third of the conferences with `*`."""
    size, outsiders = int(rng.integers(5, 10)), rng.random() < 0.35
    names = [f"r{j:02d}" for j in range(size)] + ["*"] * outsiders
    slope, offset = np.exp(rng.normal(0, 0.4, len(names))), rng.normal(0, 0.8, len(names))
    noise = rng.choice([0.4, 0.7], len(names))
    people = [("reviewer", "slope", "offset", "noise")]
    people += [(n, f"{slope[j]:.3f}", f"{offset[j]:.3f}", str(noise[j])) for j, n in enumerate(names)]
    reviews: list[tuple[str, ...]] = [("paper", "reviewer", "score")]
    pools: list[tuple[str, ...]] = [("paper", "reviewer", "probability")]
    number, most = int(rng.integers(3, 6)), int(rng.integers(1, 4))
    for index in range(number + 1):
        each = int(rng.integers(1, most + 1))
        pool = rng.choice(size, int(rng.integers(max(3, each + 2), size + 1)), replace=False)
        quality = 0.5 + 0.7 * rng.normal()
        for j in pool[:each]:
            score = slope[j] * quality + offset[j] + noise[j] * rng.normal()
            reviews.append((f"p{index:02d}", names[j], f"{score:.1f}"))
        weights = rng.uniform(0.4, 0.7, size)
        pools += [(f"p{index:02d}", names[j], f"{weights[j]:.2f}") for j in sorted(pool)]
        if outsiders and rng.random() < 0.7:
            pools.append((f"p{index:02d}", "*", f"{rng.uniform(0.2, 0.9):.2f}"))
    small = SmallConference(tuple(reviews), tuple(people), tuple(pools))
    which = {f"p{index:02d}": "main" if index % 2 else "short" for index in range(number + 1)}
    return small.with_tracks(which) if tracks else small


def without(small: SmallConference, paper: str) -> SmallConference:
    rows = {
        name: tuple(row for row in getattr(small, name) if row[0] != paper) for name in ("reviews", "pools")
    }
    return replace(small, **rows)


def tables(key: Path, counter: int) -> dict[str, ExactPolicy]:
    head = read_head(ledger_folder(key) / record_name(counter), Key(key.read_bytes()))
    return dict(unpack(head.part("tables")))


def accept_of(papers: dict[str, Listed], made: Outcome, key: Path, counter: int) -> dict[str, Table]:
    """P(accept | tuple) of every paper that has a table in this release."""
    pools = {one.paper: [row[0] for row in one.public["pool"]] for one in made.record.papers}
    return {name: chances(papers[name], table, pools[name]) for name, table in tables(key, counter).items()}


def published(out: Path) -> dict[str, str]:
    with (out / "decisions.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    return {row["paper"]: f"{row['decision']} {row.get('wait_list') or ''}".strip() for row in rows}


def check_conference(trial: int, seed: int, folder: Path) -> tuple[int, float]:
    """One conference decided, listed, amended and verified; how many tables use the secret, largest rise."""
    rng = np.random.default_rng([seed, trial])
    kind, guarantee = KINDS[trial % len(KINDS)], GUARANTEES[trial // len(KINDS) % len(GUARANTEES)]
    whole = conference(rng, tracks=kind == "tracks")
    last, name = whole.reviews[-1][0], f"c{trial}"
    small = without(whole, last)
    quota = QUOTAS.get(kind)
    numbers = {"accept_rate": 0.4} if quota is None else vars(quota)
    request, key, out = Request(guarantee, name, **numbers), folder / "key.bin", folder / "out1"
    make_key(key)
    inputs = read_small(small, folder / "1")
    first = decide(inputs, request, key, out, **ALLOWED)
    papers, reviews = listed(small, first.record.bar), len(small.reviews) - 1
    accept = accept_of(papers, first, key, 1)
    assert accept.keys() == papers.keys()
    found = {name: oracle(papers[name], accept[name], guarantee) for name in papers}
    not_understated(first.certificate, list(found.values()), reviews)
    if quota is not None:
        drawn = {one.paper: bool(one.accepted) for one in first.record.papers}
        favors = {name: after(papers[name], accept[name], drawn[name])[1] for name in papers}
        assert ranked(favors, papers, quota) == published(out)
        quotas = [quota]
        if kind == "printed":
            quotas.append(Quota(1))
            text = printed_list(first.record, 1, 0).text
            words = {row["paper"]: row["decision"] for row in csv.DictReader(io.StringIO(text))}
            assert ranked(favors, papers, quotas[1]) == words
        named = check_lists(papers, accept, quotas, guarantee)
        assert named / reviews <= first.certificate["success"] + TINY
    if kind.startswith("amended"):
        # A paper is added, and the first score of another one is corrected.
        paper, _, score = whole.reviews[1]
        changed = whole.with_review(1, score=f"{float(score) + 0.7:.1f}")
        inputs, out = read_small(changed, folder / "2"), folder / "out2"
        second = decide(inputs, request, key, out, amend=True, reason="a score", **ALLOWED)
        now = listed(changed, second.record.bar)
        later = accept_of(now, second, key, 2)
        assert set(later) == {paper, last}
        assert len(set(later[paper].values())) == 1, "decided from public data alone"
        found[last] = oracle(now[last], later[last], guarantee)
        # A new paper that looks like an earlier one is stated with the worse figures of the two.
        more = reviews + len(now[last].scores)
        not_understated(second.certificate, list(found.values()), more, tight=False)
    checked = verify(inputs, key, out, conference=name)
    assert checked.agrees, [check for check in checked.checks if check.failed]
    return sum(len(set(one.values())) > 1 for one in accept.values()), max(map(largest_rise, found.values()))


def test_no_certificate_of_a_crowd_is_understated_and_no_outcome_breaks_it(tmp_path: Path) -> None:
    """500 conferences in the long count: by a bar, by quotas, by track, printed again, and amended."""
    used, rises = 0, []
    for trial in range(count(len(KINDS) * len(GUARANTEES), 500)):
        (tmp_path / str(trial)).mkdir()
        secret, rise = check_conference(trial, 29, tmp_path / str(trial))
        used, rises = used + secret, [*rises, rise]
    assert used > len(rises), "tables must use the secret"
    assert sum(rise > 0.01 for rise in rises) > len(rises) // 10, "a crowd lets some guesses become likelier"
