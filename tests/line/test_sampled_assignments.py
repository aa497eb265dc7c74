"""Sampled assignments: what is certified is what an adversary achieves who knows the sampler."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from math import log
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import blindcal as bc
from blindcal.assignment.candidates import SampledPool
from blindcal.assignment.prior import inclusion
from blindcal.assignment.sampling import assign
from blindcal.deciding.key_and_coins import public_facts
from blindcal.errors import InputError
from blindcal.planning.conference_plan import PaperPlan, plan_conference
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.acceptance_bar import tuple_qualities
from blindcal.posterior.conference import Conference, prepare, true_reviewers
from blindcal.posterior.paper import PaperCase, secret_of
from blindcal.reviews import Reviews
from drawn_bids import random_similarity, seed_of
from sizes import count

GUARANTEES = (
    Guarantee("steady", epsilon=2.0),
    Guarantee("steady", epsilon=None),
    Guarantee("average", epsilon=None),
    Guarantee("none", epsilon=1.0),
    Guarantee("crowd", among=3, epsilon=None),
)
Row = tuple[float, ...]
ROUNDING = 1e-9


def likelihoods(case: PaperCase) -> dict[tuple[str, ...], float]:
    """Every order of every possible set with its chance given the scores, by SciPy's own densities."""
    assert case.sets is not None
    found = {}
    for people, times in case.sets:
        for order in permutations(people):
            slope, offset, noise = (np.array([case.parameters[j][i] for j in order]) for i in range(3))
            spread = np.outer(slope, slope) + np.diag(noise**2)
            names = tuple(case.candidates[j] for j in order)
            found[names] = times * float(multivariate_normal(offset, spread).pdf(case.scores))
    total = sum(found.values())
    return {names: value / total for names, value in found.items()}


def success(
    case: PaperCase, chance: Mapping[tuple[str, ...], float], planned: PaperPlan
) -> tuple[float, float]:
    """How many authors an adversary names on average, and the largest rise after any outcome, by listing."""
    named, rise = 0.0, 0.0
    accept = {who: float(planned.policy.accept[secret_of(case, who)]) for who in chance}
    for slot in range(len(case.scores)):
        before, after = defaultdict[str, float](float), defaultdict[tuple[bool, str], float](float)
        for who, p in chance.items():
            before[who[slot]] += p
            for outcome in (True, False):
                after[outcome, who[slot]] += p * (accept[who] if outcome else 1.0 - accept[who])
        for outcome in (True, False):
            masses = [mass for (one, _), mass in after.items() if one == outcome]
            named += max(masses)
            if sum(masses) > 0.0:
                rise = max(rise, max(masses) / sum(masses) - max(before.values()))
    return named, rise


def parameters(rng: np.random.Generator, names: tuple[str, ...]) -> dict[str, Row]:
    slope, offset = np.exp(rng.normal(0, 0.5, len(names))), rng.normal(0, 0.8, len(names))
    return {
        name: (float(a), float(b), 0.5, 0.0, 0.0, 0.0, 0.0)
        for name, a, b in zip(names, slope, offset, strict=True)
    }


def reviewed(
    rng: np.random.Generator, assignment: Mapping[str, tuple[str, ...]], people: Mapping[str, Row]
) -> Reviews:
    """Scores of the assigned reviewers."""
    rows = []
    for paper, names in assignment.items():
        quality = rng.normal()
        for name in names:
            slope, offset, noise = people[name][:3]
            rows.append((paper, name, float(slope * quality + offset + noise * rng.normal())))
    papers, names, scores = zip(*rows, strict=True)
    return Reviews.from_table({"paper": papers, "reviewer": names, "score": scores})


def test_what_is_certified_is_what_an_adversary_achieves_who_knows_every_set() -> None:
    rng = np.random.default_rng(2)
    for number in range(count(2, 12)):
        similarity = random_similarity(rng, 6, 6, conflicts=0.05)
        assigned = assign(
            similarity, per_paper=2, per_reviewer=3, cap=0.6, spread=0.1, draws=16, seed=seed_of(number)
        )
        people = parameters(rng, similarity.reviewers)
        reviews = reviewed(rng, assigned.reviewers, people)
        conference = prepare(reviews, people, assigned.pools(), accept_rate=0.4)
        for guarantee in GUARANTEES:
            for planned, case in zip(
                plan_conference(conference, guarantee)[0], conference.cases, strict=True
            ):
                chance = likelihoods(case)
                named, rise = success(case, chance, planned)
                assert named == pytest.approx(float(planned.claim.success), abs=ROUNDING)
                assert rise <= planned.claim.largest_rise + ROUNDING


def test_the_true_reviewers_are_one_of_the_sets_each_draw_as_likely() -> None:
    """Played as a game over seeds: the adversary's best guess is right as often as the sets say."""
    similarity = random_similarity(np.random.default_rng(4), 5, 6, conflicts=0.0)
    games, right, stated = count(200, 4000), 0, 0.0
    for number in range(games):
        assigned = assign(similarity, per_paper=2, per_reviewer=3, cap=0.6, draws=8, seed=seed_of(number))
        pool = assigned.pools()["p10"]
        guess = max(pool.sets, key=lambda people: (pool.sets[people], people))
        right += assigned.reviewers["p10"] == guess
        stated += pool.sets[guess] / 8
    # Off by 5 standard deviations less than once in a million times.
    assert abs(right - stated) < 5 * np.sqrt(stated)


def test_linked_draws_would_give_everything_away_to_whoever_sees_all_scores() -> None:
    """Why `assignments.csv` numbers the draws of each paper by itself."""
    rng = np.random.default_rng(7)
    similarity = random_similarity(rng, 40, 30, conflicts=0.0)
    assigned = assign(similarity, per_paper=2, per_reviewer=4, cap=0.5, draws=16, seed=seed_of(1))
    people = parameters(rng, similarity.reviewers)
    reviews = reviewed(rng, assigned.reviewers, people)
    score = {
        (reviews.papers[p], reviews.reviewers[r]): s
        for p, r, s in zip(reviews.paper, reviews.reviewer, reviews.score, strict=True)
    }
    log_chance = np.zeros(16)
    for index, paper in enumerate(similarity.papers):
        seen = [score[paper, name] for name in assigned.reviewers[paper]]
        for draw in range(16):
            rows = np.array([people[similarity.reviewers[j]][:3] for j in assigned.drawn[draw, index]])
            ways = [_density(rows[list(order)], seen) for order in permutations(range(2))]
            log_chance[draw] += log(sum(ways))
    posterior = np.exp(log_chance - log_chance.max())
    assert posterior[assigned.chosen] / posterior.sum() > 0.99


def _density(rows: np.ndarray, scores: list[float]) -> float:
    slope, offset, noise = rows.T
    return float(multivariate_normal(offset, np.outer(slope, slope) + np.diag(noise**2)).pdf(scores))


def planned_alone(case: PaperCase, guarantee: Guarantee) -> PaperPlan:
    return plan_conference(Conference((case,), case.bar, None, (1.0,)), guarantee)[0][0]


def teams() -> tuple[PaperCase, PaperCase]:
    """{a, b} or {c, d}, each with chance 1/2; and the same chances without who reviews with whom."""
    rows = tuple((1.0, offset, 0.5, 0.0, 0.0, 0.0, 0.0) for offset in (-1.0, -0.5, 0.4, 1.2))
    alone = PaperCase("p", (-0.6, 0.9), ("a", "b", "c", "d"), (0.5,) * 4, rows, 0.3)
    return replace(alone, sets=(((0, 1), 1), ((2, 3), 1))), alone


def test_chances_alone_would_claim_too_little_where_the_sampler_has_teams() -> None:
    """What the maximum-entropy prior certifies is wrong for a sampler of teams; its own sets are right."""
    sampled, alone = teams()
    assert inclusion([0.5] * 4, 2) == sampled.inclusion
    full = Guarantee("none", epsilon=None)
    claimed = float(planned_alone(alone, full).claim.success)
    certified = planned_alone(sampled, full)
    truth, _ = success(sampled, likelihoods(sampled), certified)
    assert float(certified.claim.success) == pytest.approx(truth, abs=ROUNDING)
    assert truth > claimed + 0.1


def test_tuples_are_the_orders_of_the_sets_and_reviewers_who_look_alike_are_told_apart() -> None:
    sampled, _ = teams()
    assert sampled.tuples.tolist() == [[0, 1], [1, 0], [2, 3], [3, 2]]
    assert sampled.listed
    alike = replace(sampled, parameters=(sampled.parameters[0],) * 4)
    assert alike.look_alikes[1].tolist() == [0, 1, 2, 3]
    assert alike.belief.weight == pytest.approx([0.25] * 4)
    for guarantee in GUARANTEES:
        planned = planned_alone(alike, guarantee)
        assert float(planned.claim.success) == pytest.approx(2 * 0.25, abs=ROUNDING)
    assert alike.log_evidence == pytest.approx(log(2) + replace(alike, sets=(((0, 1), 1),)).log_evidence)


@pytest.mark.parametrize("grid", [None, (-2.0, -1.0, 0.0, 1.0, 2.0)])
@pytest.mark.parametrize("error", [0.0, 0.3])
def test_sets_change_the_prior_and_nothing_else(grid: tuple[float, ...] | None, error: float) -> None:
    """Rounded scores and uncertain reviewers too: weights are those of all tuples with another prior."""
    rng = np.random.default_rng(11)
    rows = tuple(
        (float(a), float(b), 0.5, error, error, 0.0, 0.0)
        for a, b in zip(np.exp(rng.normal(0, 0.4, 5)), rng.normal(0, 0.8, 5), strict=True)
    )
    chances = inclusion([0.9, 0.7, 0.5, 0.5, 0.4], 3)
    every = PaperCase("p", (-1.0, 0.0, 1.0), tuple("abcde"), chances, rows, 0.3, grid)
    case = replace(every, sets=(((0, 1, 2), 3), ((0, 2, 4), 1), ((1, 3, 4), 2)))
    times = np.array([dict(case.sets or ()).get(tuple(sorted(row)), 0) for row in every.tuples.tolist()])
    expected = every.belief.weight / np.exp(every.log_prior(every.tuples)) * times
    listed = times > 0
    assert (every.tuples[listed] == case.tuples).all()
    np.testing.assert_allclose(case.belief.weight, (expected / expected.sum())[listed], rtol=1e-9)
    np.testing.assert_allclose(case.belief.favor, every.belief.favor[listed], rtol=1e-9)
    if grid is None and not error:
        median, _, weight = tuple_qualities(case)
        np.testing.assert_allclose(weight, case.belief.weight)
        assert median.shape == weight.shape


def small(sets: Mapping[tuple[str, ...], int], wrote: tuple[str, ...]) -> Conference:
    people = parameters(np.random.default_rng(1), ("a", "b", "c", "d"))
    reviews = reviewed(np.random.default_rng(2), {"p": wrote}, people)
    return prepare(reviews, people, {"p": SampledPool(sets)}, bar=0.2)


def test_who_did_not_write_is_left_open() -> None:
    """Two reviews of three assigned: every two of them as likely."""
    case = small({("a", "b", "c"): 3, ("a", "b", "d"): 1}, ("b", "c")).cases[0]
    assert case.sets == (((0, 1), 4), ((0, 2), 3), ((0, 3), 1), ((1, 2), 3), ((1, 3), 1))
    assert case.inclusion == pytest.approx((8 / 12, 8 / 12, 6 / 12, 2 / 12))


@pytest.mark.parametrize(
    ("sets", "wrote", "rule"),
    [
        ({("a", "b"): 1, ("a", "c"): 1}, ("b", "c"), "must have a paper's reviewers together in some draw"),
        (
            {("a", "b"): 1, ("a",): 1},
            ("a", "b"),
            "at least as many reviewers of a paper in every draw .* found 1",
        ),
        ({("a", "b"): 1, (): 1}, ("a",), "at least as many reviewers of a paper in every draw .* found 0"),
        ({("a", "b"): 1}, ("a", "c"), "must hold every reviewer of a paper"),
    ],
)
def test_reviewers_who_were_not_drawn_are_refused(
    sets: dict[tuple[str, ...], int], wrote: tuple[str, ...], rule: str
) -> None:
    with pytest.raises(InputError, match=rule):
        small(sets, wrote)


def test_sets_enter_the_coin() -> None:
    sampled, alone = teams()
    assert public_facts(alone)["sets"] is None
    assert public_facts(sampled)["sets"] == [[[0, 1], 1], [[2, 3], 1]]


def test_true_reviewers_have_a_secret_of_positive_weight() -> None:
    conference = small({("a", "b"): 3, ("c", "d"): 1}, ("d", "c"))
    case = conference.cases[0]
    people = parameters(np.random.default_rng(1), ("a", "b", "c", "d"))
    reviews = reviewed(np.random.default_rng(2), {"p": ("d", "c")}, people)
    who = true_reviewers(conference, reviews)["p"]
    assert case.belief.weight[secret_of(case, who)] > 0.0
    assert Counter(who) == Counter(("c", "d"))


def drawn_pools(path: Path, teams: Sequence[str]) -> Path:
    papers = ("p1", "p2")
    rows = [f"{draw},{paper},{who}" for draw, team in enumerate(teams) for paper in papers for who in team]
    path.write_text("\n".join(["draw,paper,reviewer", *rows]) + "\n")
    return path


@pytest.mark.parametrize("turned", [False, True])
def test_other_draws_with_the_same_shares_are_a_change(tmp_path: Path, turned: bool) -> None:
    """Everyone reviewed half of the time in both files, but with other people: the prior is another one.
    Decisions stand, and the certificate says that its figures are for the pools of then."""
    (tmp_path / "reviewers.csv").write_text(
        "reviewer,slope,offset,noise\na,1.3,4.5,.6\nb,.8,3,.6\nc,1.2,3.2,.6\nd,.9,4.6,.6\n"
    )
    reviews = tmp_path / "reviews.csv"
    reviews.write_text("paper,reviewer,score\np1,a,4.3\np1,b,3.1\np2,c,3.9\np2,d,4.8\n")
    everyone = drawn_pools(tmp_path / "v1.csv", ["ab", "cd", "ad", "bc", "ac", "bd"])
    couples = drawn_pools(tmp_path / "v2.csv", ["ab", "cd"] * 3)
    first, second = (couples, everyone) if turned else (everyone, couples)
    then, now = (bc.read_inputs(reviews, tmp_path / "reviewers.csv", one) for one in (first, second))
    request, key = bc.Request(bc.Guarantee("steady", epsilon=2.0), "c", accept_rate=0.5), tmp_path / "key.bin"
    bc.make_key(key)
    bc.decide(then, request, key, tmp_path / "o1", despite_misfit=True)
    again = bc.decide(now, request, key, tmp_path / "o2", despite_misfit=True, amend=True, reason="draws")
    assert again.changes is not None
    assert again.changes.pools == ("p1", "p2")
    assert again.certificate["decided_again"] | {"note": ""} == {
        "papers": 0,
        "corrected": 2,
        "epsilon": again.certificate["epsilon"],
        "multiplier": again.certificate["multiplier"],
        "note": "",
    }
    assert (tmp_path / "o1" / "decisions.csv").read_bytes() == (
        tmp_path / "o2" / "decisions.csv"
    ).read_bytes()
