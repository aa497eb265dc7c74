"""Exactly k: what the final list reveals, by an adversary that lists every vector of private decisions."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp, inf, prod
from pathlib import Path

import numpy as np
import pytest

from blindcal.deciding.amend import PriorDecisions
from blindcal.deciding.certificate import claim_of
from blindcal.deciding.decide import draft, with_texts
from blindcal.deciding.key import Key, coin_facts, commitment_to_input, input_stamp, public_facts
from blindcal.deciding.ledger import Ledger
from blindcal.deciding.lists import listing, own_rank, ranked, ranked_again
from blindcal.deciding.record import PaperRecord, Record
from blindcal.planning.conference_plan import PaperPlan, plan_conference
from blindcal.planning.ranking_and_wait_list import cuts_from_json, list_decision
from blindcal.planning.request import WHOLE, Quota, Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.conference import Conference, TrueReviewers
from blindcal.posterior.paper import PaperCase
from chances import keys, within
from sizes import count
from small_conferences import drawn, loaded, small_conference

KEY = Key(bytes(range(32)))
AVERAGE = Guarantee("average", epsilon=None)
GUARANTEES = (
    Guarantee("steady", epsilon=2.0),
    AVERAGE,
    Guarantee("none", epsilon=1.0),
    Guarantee("average", epsilon=2.0),
    Guarantee("crowd", among=4, epsilon=None),
    Guarantee("average", epsilon=None, among=3),
    Guarantee("steady", epsilon=3.0, multiplier=1.4),
)
TINY = Fraction(1, 10**12)
# Conferences of which several papers are decided by a coin; of the second, whatever the guarantee.
OPEN = (4, 8, 12)


def planned(
    seed: int, guarantee: Guarantee, papers: int = 5, accept: int = 2, wait_list: int = 1
) -> tuple[Conference, TrueReviewers, Request, list[PaperPlan]]:
    """A small conference whose bar is chosen for so many papers, and its tables."""
    request = Request(guarantee, accept=accept, wait_list=wait_list).checked()
    close = small_conference(seed=seed, papers=papers, noise=1.0, spread=0.3)
    conference, truth = loaded(close, accept_rate=accept / papers)
    plans = plan_conference(conference, guarantee)
    return conference, truth, request, plans


def first_release(
    conference: Conference, truth: TrueReviewers, request: Request, plans: list[PaperPlan], key: Key = KEY
) -> Record:
    """The first release, by the door that `decide` goes through, without any file."""
    past = PriorDecisions(Ledger(Path(), key, ()))
    return draft(conference, truth, request, past, lambda *_: plans, "").record


def with_decisions(record: Record, decisions: Sequence[int], quota: Quota) -> list[str]:
    """The list that these private decisions would have led to."""
    papers = tuple(replace(p, accepted=bool(d)) for p, d in zip(record.papers, decisions, strict=True))
    found = listing(replace(record, papers=papers, selection=ranked(papers, quota)))
    assert found is not None
    return list(found.decisions)


class Everything:
    """Every tuple of every paper and every vector of private decisions, in fractions."""

    def __init__(self, conference: Conference, plans: list[PaperPlan]) -> None:
        self.cases = conference.cases
        self.weight, self.table = [], []
        for case, plan in zip(conference.cases, plans, strict=True):
            weight = [Fraction(float(w)) for w in case.belief.weight]
            self.weight.append([w / sum(weight) for w in weight])
            accept = [plan.policy.probability(r) for r in range(len(weight))]
            self.table.append([[1 - p for p in accept], accept])
        self.chance = [
            [sum(w * p for w, p in zip(weight, outcome, strict=True)) for outcome in table]
            for weight, table in zip(self.weight, self.table, strict=True)
        ]
        self.vectors = [
            vector
            for vector in product((0, 1), repeat=len(self.cases))
            if all(self.chance[i][d] > 0 for i, d in enumerate(vector))
        ]

    def favor(self, paper: int, decision: int) -> Fraction:
        """P(right to accept | scores, private decision)."""
        mass = [w * p for w, p in zip(self.weight[paper], self.table[paper][decision], strict=True)]
        favor = self.cases[paper].belief.favor
        return sum(m * Fraction(float(f)) for m, f in zip(mass, favor, strict=True)) / sum(mass)

    def best(self, decisions: Sequence[int], accept: int, wait_list: int) -> tuple[str, ...]:
        """The list, ranked here by fractions: no two papers of these conferences are as good as tied."""
        order = sorted(range(len(self.cases)), key=lambda i: -self.favor(i, decisions[i]))
        words = ["accept"] * accept + ["wait list"] * wait_list + ["reject"] * len(order)
        found = dict(zip(order, words, strict=False))
        return tuple(found[i] for i in range(len(order)))

    def given_tuple(self, paper: int, lists: Sequence[object]) -> dict[object, list[Fraction]]:
        """P(what is published | tuple) of one paper, over the coins of all papers."""
        found: dict[object, list[Fraction]] = {}
        for vector, seen in zip(self.vectors, lists, strict=True):
            others = prod((self.chance[j][d] for j, d in enumerate(vector) if j != paper), start=Fraction(1))
            table = self.table[paper][vector[paper]]
            before = found.setdefault(seen, [Fraction(0)] * len(table))
            found[seen] = [old + others * p for old, p in zip(before, table, strict=True)]
        return found


def by_author(case: PaperCase, slot: int, mass: Sequence[Fraction]) -> dict[int, Fraction]:
    found: dict[int, Fraction] = defaultdict(Fraction)
    for row, part in zip(case.tuples.tolist(), mass, strict=True):
        found[row[slot]] += part
    return found


@pytest.mark.parametrize("seed", [*OPEN, *range(20, count(20, 40))])
@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda one: f"{one.name} {one.epsilon}")
def test_no_list_reveals_more_than_the_certificate_says(seed: int, guarantee: Guarantee) -> None:
    """All decisions jointly, and three lists together (one, two, two and a wait list): success, rise,
    posterior, epsilon and multiplier of every paper, over all vectors of private decisions."""
    conference, truth, request, plans = planned(seed, guarantee)
    record = first_release(conference, truth, request, plans)
    world, success = Everything(conference, plans), Fraction(0)
    lists = []
    for vector in world.vectors:
        quotas = ((1, 0), (2, 0), (2, 1))
        lists.append(tuple(world.best(vector, *numbers) for numbers in quotas))
        assert lists[-1] == tuple(tuple(with_decisions(record, vector, Quota(*one))) for one in quotas)
    assert len(set(lists)) > 1 or seed != OPEN[1], "some list depends on the private decisions"
    for index, (case, paper) in enumerate(zip(world.cases, record.papers, strict=True)):
        stated, seen = claim_of(paper), world.given_tuple(index, lists)
        weight = world.weight[index]
        joint = {one: [w * p for w, p in zip(weight, chances, strict=True)] for one, chances in seen.items()}
        assert sum(map(sum, joint.values())) == 1
        named = Fraction(0)
        for slot in range(len(case.scores)):
            before = max(by_author(case, slot, weight).values())
            for mass in joint.values():
                if sum(mass) > 0:
                    top = max(by_author(case, slot, mass).values())
                    named += top
                    assert top / sum(mass) <= Fraction(stated.largest_posterior) + TINY
                    assert top / sum(mass) - before <= Fraction(stated.largest_rise) + TINY
        assert named <= stated.named
        success += named
        assert sum(max(chances) for chances in seen.values()) <= Fraction(stated.multiplier) + TINY
        for chances in seen.values():
            if max(chances) > 0 and stated.epsilon != inf:
                assert max(chances) <= Fraction(exp(stated.epsilon) * (1 + 1e-12)) * min(chances)
    certificate = json.loads(record.certificate)
    assert success / certificate["reviews"] <= Fraction(certificate["success"])


@pytest.mark.parametrize("guarantee", GUARANTEES[:2], ids=("steady", "average"))
def test_expected_errors_are_those_of_the_final_list(guarantee: Guarantee) -> None:
    """Over every tuple and every vector of private decisions; those of the private decisions are less."""
    for seed in (*OPEN, *range(20, count(20, 40))):
        conference, truth, request, plans = planned(seed, guarantee)
        world, record = Everything(conference, plans), first_release(conference, truth, request, plans)
        wrong = Fraction(0)
        for vector in world.vectors:
            chance = prod((world.chance[i][d] for i, d in enumerate(vector)), start=Fraction(1))
            for i, word in enumerate(world.best(vector, 2, 1)):
                favor = world.favor(i, vector[i])
                wrong += chance * (1 - favor if word == "accept" else favor)
        certificate = json.loads(record.certificate)
        assert certificate["expected_wrong"] == pytest.approx(float(wrong / 5), abs=1.2e-9)
        assert certificate["selection"]["expected_wrong_private"] <= certificate["expected_wrong"] + 1e-12


def test_exactly_k_on_a_hundred_conferences() -> None:
    """Several sizes, guarantees, numbers and wait lists, with tracks and without."""
    rng = np.random.default_rng(12)
    for seed in range(100):
        papers = int(rng.integers(3, 9))
        accept = int(rng.integers(1, papers))
        wait = int(rng.integers(0, papers - accept + 1))
        conference, truth, request, plans = planned(
            seed, GUARANTEES[seed % len(GUARANTEES)], papers, accept, wait
        )
        tossed = drawn(Key(rng.bytes(32)), conference, truth, request, plans)
        quota = Quota(accept, wait)
        if seed % 2:
            tracks = ["a" if i % 2 else "b" for i in range(papers)]
            tossed = tuple(
                replace(p, public={**p.public, "track": t}) for p, t in zip(tossed, tracks, strict=True)
            )
            sizes = Counter(tracks)
            numbers = {track: min(accept, size) for track, size in sizes.items()}
            quota = Quota(numbers, {t: min(wait, sizes[t] - numbers[t]) for t in numbers})
        found = places_of(tossed, quota)
        for group in quota.groups:
            words = Counter(word for p, word in zip(tossed, found, strict=True) if _group(p) == group)
            assert (words["accept"], words["wait list"]) == quota.of(group)


def _group(paper: PaperRecord) -> str:
    return str(paper.public.get("track", WHOLE))


def places_of(papers: Sequence[PaperRecord], quota: Quota) -> list[str]:
    cuts = cuts_from_json(ranked(papers, quota)["cuts"])
    return [list_decision(own_rank(p), cuts[_group(p)]) for p in papers]


def test_papers_are_accepted_as_often_as_the_tables_say() -> None:
    """2,000 keys: for the true reviewers, every paper's frequency on the final list of 2 of 5, against the
    sum over all vectors of private decisions; false alarms 1e-6 together."""
    conference, truth, request, plans = planned(8, AVERAGE, wait_list=0)
    world, quota, total = Everything(conference, plans), Quota(2), 2000
    tosses = [drawn(key, conference, truth, request, plans) for key in keys(3, total)]
    hits = np.zeros(5)
    seen: dict[tuple[bool, ...], list[str]] = {}
    for papers in tosses:
        vector = tuple(p.accepted for p in papers)
        if vector not in seen:
            seen[vector] = places_of(papers, quota)
            assert tuple(seen[vector]) == world.best(vector, 2, 0)
        hits += [word == "accept" for word in seen[vector]]
    truly = [Fraction(int(p.probability[0], 16), int(p.probability[1], 16)) for p in tosses[0]]
    expected = np.zeros(5)
    for vector in world.vectors:
        chance = float(prod(p if d else 1 - p for p, d in zip(truly, vector, strict=True)))
        expected += [chance * (word == "accept") for word in world.best(vector, 2, 0)]
    assert expected.sum() == pytest.approx(2)
    assert ((expected > 0.01) & (expected < 0.99)).sum() >= 2, "some places are open"
    for one, p in zip(hits.astype(int).tolist(), expected.clip(0, 1).tolist(), strict=True):
        assert within(one, total, p, tests=5)


def test_public_files_are_the_same_whenever_the_list_is() -> None:
    """Nothing of the private decisions or of the true reviewers is published but the list: neither in the
    table nor in the certificate."""
    conference, truth, request, plans = planned(8, AVERAGE, wait_list=0)
    public: dict[tuple[str, ...], set[tuple[str, str]]] = defaultdict(set)
    private: dict[tuple[str, ...], set[tuple[bool, ...]]] = defaultdict(set)
    turned = {paper: who[::-1] for paper, who in truth.items()}
    for key, who in product(keys(8, 150), (truth, turned)):
        record = first_release(conference, who, request, plans, key)
        found = listing(record)
        assert found is not None
        certificate = json.loads(record.certificate)
        for own in ("commitment", "key_fingerprint"):
            certificate.pop(own)
        public[tuple(found.decisions)].add((record.decisions, json.dumps(certificate, sort_keys=True)))
        private[tuple(found.decisions)].add(tuple(p.accepted for p in record.papers))
    assert {len(texts) for texts in public.values()} == {1}
    assert max(map(len, private.values())) > 1, "one list, several private decisions"
    assert len({certificate for texts in public.values() for _, certificate in texts}) == 1


def test_an_amended_list_with_frozen_cuts_says_no_more_than_its_decisions() -> None:
    """Expected errors at the frozen cuts told which private decisions had led to them."""
    conference, truth, request, plans = planned(8, AVERAGE, wait_list=0)
    public: dict[str, set[str]] = defaultdict(set)
    cuts = defaultdict(set)
    for key in keys(8, 300):
        ledger = Ledger(Path(), key, ())
        first = first_release(conference, truth, request, plans, key)
        record = with_texts(replace(first, release=2, reason="typo"), ledger)
        certificate = json.loads(record.certificate)
        for own in ("commitment", "key_fingerprint"):
            certificate.pop(own)
        public[record.decisions].add(json.dumps(certificate, sort_keys=True))
        cuts[record.decisions].add(json.dumps(first.selection))
    assert max(map(len, cuts.values())) > 1, "one list, several cuts"
    assert {len(texts) for texts in public.values()} == {1}


def test_the_number_requested_is_part_of_a_coin_and_the_bar_is_not() -> None:
    """It led to the bar, which is computed and enters nothing: another number means other tables, and then
    other coins."""
    conference, truth, request, _ = planned(8, AVERAGE)
    more = replace(request, accept=4, wait_list=0)
    case = conference.cases[0]
    one, two = (
        coin_facts(each, 1, case.paper, public_facts(case), truth[case.paper]) for each in (request, more)
    )
    assert {name for name in one if one[name] != two[name]} == {"accept"}
    assert commitment_to_input(KEY, conference, truth, request) != commitment_to_input(
        KEY, conference, truth, more
    )
    assert input_stamp(KEY, conference, truth, more) != input_stamp(KEY, conference, truth, request)
    moved = replace(conference, bar=0.123)
    assert input_stamp(KEY, moved, truth, request) == input_stamp(KEY, conference, truth, request)


def test_a_list_is_ranked_by_its_own_papers_unless_its_cuts_are_frozen() -> None:
    conference, truth, request, plans = planned(8, AVERAGE)
    record = first_release(conference, truth, request, plans)
    assert ranked_again(record) == record
    turned = replace(record, papers=tuple(replace(p, accepted=not p.accepted) for p in record.papers))
    assert ranked_again(turned).selection == ranked(turned.papers, Quota(2, 1))
    assert ranked_again(turned).selection != record.selection
    frozen = replace(turned, release=2)
    assert ranked_again(frozen) == frozen
    alone = first_release(conference, truth, Request(AVERAGE, accept_rate=0.4), plans)
    assert (ranked_again(alone), alone.selection, listing(alone)) == (alone, None, None)


def test_the_wait_list_has_an_order() -> None:
    conference, truth, request, plans = planned(8, AVERAGE, papers=6, accept=2, wait_list=3)
    record = first_release(conference, truth, request, plans)
    found = listing(record)
    assert found is not None
    waiting = {place: i for i, place in enumerate(found.waiting) if place != ""}
    assert sorted(waiting) == [1, 2, 3]
    ranks = [own_rank(record.papers[waiting[place]]) for place in (1, 2, 3)]
    assert ranks == sorted(ranks)
    header, *rows = record.decisions.splitlines()
    assert header == "paper,decision,raw_decision,advice,wait_list"
    assert [row.split(",")[1] for row in rows] == list(found.decisions)
    assert [row.split(",")[4] for row in rows] == [str(place) for place in found.waiting]
