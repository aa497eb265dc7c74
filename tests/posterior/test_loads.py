"""Beliefs for someone who knows loads, against lists of all assignments."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from blindcal.assignment.candidates import AllBut, SharedTuple
from blindcal.assignment.prior import inclusion, sets_of
from blindcal.errors import InputError
from blindcal.planning.conference_plan import plan_conference
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior import loads as loads_module
from blindcal.posterior.conference import Conference, assemble
from blindcal.posterior.loads import (
    Loads,
    LoadTilt,
    components,
    fixed_loads,
    load_sums,
    load_tilt,
    read_loads,
    reviewer_marginals,
)
from blindcal.posterior.paper import PaperCase
from sizes import count


def test_sums_equal_a_list_of_all_assignments() -> None:
    """Random sets of reviewers, some without a load, and ranges of loads."""
    rng = np.random.default_rng(310)
    for _ in range(count(40, 400)):
        people, papers = int(rng.integers(2, 5)), int(rng.integers(1, 5))
        sets = []
        for _ in range(papers):
            every = list(combinations(range(-1, people), int(rng.integers(1, 3))))
            sets.append(np.array([every[i] for i in rng.permutation(len(every))[: rng.integers(1, 6)]]))
        least = rng.integers(0, 2, people)
        most = least + rng.integers(0, 3, people)
        weights = [rng.random((len(rows), 3)) for rows in sets]
        listed, rest = np.zeros(3), [np.zeros(weight.shape) for weight in weights]
        for choice in product(*(range(len(rows)) for rows in sets)):
            chosen = np.concatenate([rows[i] for rows, i in zip(sets, choice, strict=True)])
            held = np.bincount(chosen[chosen >= 0], minlength=people)
            if (held >= least).all() and (held <= most).all():
                each = np.array([weight[i] for weight, i in zip(weights, choice, strict=True)])
                listed += each.prod(axis=0)
                for paper, i in enumerate(choice):
                    rest[paper][i] += np.delete(each, paper, axis=0).prod(axis=0)
        sums = load_sums(sets, least, most)
        assert sums.feasible == bool(listed.any())
        if sums.feasible:
            total, found = sums.total_and_rest(weights)
            np.testing.assert_allclose(total, listed, rtol=1e-12)
            for mine, theirs in zip(found, rest, strict=True):
                np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-300)


def test_sets_forget_who_wrote_which_review() -> None:
    sets, index = sets_of(np.array([[2, 0], [0, 2], [1, 0]]))
    assert sets[index].tolist() == [[0, 2], [0, 2], [0, 1]]


def conference(rng: np.random.Generator, papers: int, *, most: int = 2, people: int = 4) -> list[PaperCase]:
    """Papers with reviews by some of a few people, everybody with another chance and calibration."""
    rows = np.column_stack(
        [np.exp(rng.normal(0, 0.4, people)), rng.normal(0, 0.7, people), np.full(people, 0.5)]
    )
    cases = []
    for number in range(papers):
        reviews = int(rng.integers(1, most + 1))
        pool = sorted(rng.choice(people, int(rng.integers(reviews, people + 1)), replace=False).tolist())
        chance = inclusion(rng.uniform(0.2, 1.0, len(pool)).tolist(), reviews)
        scores = tuple(sorted(rng.normal(0, 1.2, reviews).tolist()))
        parameters = tuple((*rows[one].tolist(), 0.0, 0.0, 0.0, 0.0) for one in pool)
        names = tuple(f"r{one}" for one in pool)
        cases.append(PaperCase(f"p{number}", scores, names, chance, parameters, bar=0.3))
    return cases


def stated(rng: np.random.Generator, cases: list[PaperCase], *, ranges: bool) -> Loads:
    """The loads of an assignment that was drawn, or ranges around them; somebody has none."""
    truth = [case.tuples[rng.choice(len(case.tuples), p=case.belief.weight)] for case in cases]
    held = Counter(case.candidates[one] for case, row in zip(cases, truth, strict=True) for one in row)
    names = sorted({name for case in cases for name in case.candidates})
    spread = [(int(rng.integers(0, 2)), int(rng.integers(0, 2))) if ranges else (0, 0) for _ in names]
    loads = [(n, max(held[n] - a, 0), held[n] + b) for n, (a, b) in zip(names, spread, strict=True)]
    return tuple(loads[1:] if ranges else loads)


def assignments(cases: list[PaperCase], loads: Loads) -> tuple[np.ndarray, np.ndarray]:
    """`[assignment, paper]`, tuples by index, of all that keep the loads, and their chances."""
    kept, weights = [], []
    for choice in product(*(range(len(case.tuples)) for case in cases)):
        rows = (case.tuples[i] for case, i in zip(cases, choice, strict=True))
        held = Counter(c.candidates[one] for c, row in zip(cases, rows, strict=True) for one in row)
        if all(least <= held[name] <= most for name, least, most in loads):
            kept.append(choice)
            parts = [case.belief.weight[i] for case, i in zip(cases, choice, strict=True)]
            weights.append(np.prod(parts))
    return np.array(kept), np.array(weights) / np.sum(weights)


def test_exact_beliefs_are_those_of_all_assignments_that_keep_the_loads() -> None:
    rng = np.random.default_rng(311)
    for number in range(count(25, 300)):
        cases = conference(rng, int(rng.integers(2, 5)))
        loads = stated(rng, cases, ranges=number % 2 == 1)
        tilt = load_tilt(cases, loads)
        assert tilt.exact
        kept, chance = assignments(cases, loads)
        for paper, case in enumerate(cases):
            listed = np.bincount(kept[:, paper], chance, len(case.tuples))
            np.testing.assert_allclose(tilt.applied(case).belief.weight, listed, atol=1e-11)
        again = LoadTilt.from_content(json.loads(json.dumps(tilt.content)))
        assert again == tilt
        assert again.near(tilt)


def test_summed_loads_say_nothing_of_a_paper_with_another_number_of_reviews() -> None:
    """Of 3 people there are as many sets of two as of one."""
    known = ((1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0))
    names, chance = ("ada", "ben", "cyd"), (0.2, 0.3, 0.5)
    papers = [PaperCase(p, (1.0,), names, chance, (*known, known[1]), bar=0.0) for p in "pq"]
    tilt = load_tilt(papers, (("ada", 1, 1), ("ben", 0, 1), ("cyd", 0, 1)))
    late = replace(papers[0], scores=(1.0, 2.0), inclusion=(0.4, 0.6, 1.0))
    assert tilt.exact
    assert tilt.applied(papers[0]).loads is not None
    assert tilt.applied(late).loads is None


BROKEN: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a list": lambda _: [1.0],
    "nothing": lambda _: {},
    "no factors": lambda one: {**one, "reviewers": [0.5]},
    "a word": lambda one: {**one, "reviewers": {"r0": "much"}},
    "no number": lambda one: {**one, "reviewers": {"r0": float("nan")}},
    "far too large": lambda one: {**one, "reviewers": {"r0": 10**400}},
    "out of range": lambda one: {**one, "reviewers": {"r0": 51.0}},
    "below 0": lambda one: {**one, "furthest": -0.1},
    "endless": lambda one: {**one, "furthest": float("inf")},
    "no sets": lambda one: {**one, "papers": {"p0": [["r0"], 1, []]}},
    "no number of reviews": lambda one: {**one, "papers": {"p0": [["r0"], [0.0]]}},
    "a set above all": lambda one: {**one, "papers": {"p0": [["r0"], 1, [0.5]]}},
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_tilt_is_not_read(name: str) -> None:
    honest = LoadTilt({"r0": 0.5}).content
    assert LoadTilt.from_content(honest) == LoadTilt({"r0": 0.5})
    with pytest.raises((ValueError, TypeError, KeyError, AttributeError, OverflowError)):
        LoadTilt.from_content(BROKEN[name](honest))


@pytest.mark.parametrize("guarantee", [Guarantee("steady", epsilon=2.0), Guarantee("average", epsilon=None)])
def test_promises_about_one_paper_hold_for_someone_who_knows_the_loads(guarantee: Guarantee) -> None:
    """All assignments and both outcomes of each paper: with exact beliefs no promise is broken."""
    rng, broken_without, largest = np.random.default_rng(312), 0, 0.0
    for _ in range(count(12, 200)):
        cases = conference(rng, 4, people=4)
        loads = stated(rng, cases, ranges=False)
        kept, chance = assignments(cases, loads)
        plain, known = (assemble(cases, None, 0.3, loads=given) for given in ((), loads))
        largest = max(largest, excess(known, guarantee, kept, chance))
        broken_without += excess(plain, guarantee, kept, chance) > 1e-6
    assert largest <= 1e-9
    assert broken_without


def excess(made: Conference, guarantee: Guarantee, kept: np.ndarray, chance: np.ndarray) -> float:
    """By how much the best guess about a review rises at most, or its success on average if so promised."""
    worst = 0.0
    for paper, (case, plan) in enumerate(zip(made.cases, plan_conference(made, guarantee)[0], strict=True)):
        weight = np.bincount(kept[:, paper], chance, len(case.tuples))
        accept = np.asarray(plan.policy.accept)
        for slot in case.tuples.T:
            before = np.bincount(slot, weight).max()
            after = [np.bincount(slot, weight * part).max() for part in (accept, 1.0 - accept)]
            chances = [float(weight @ accept), float(weight @ (1.0 - accept))]
            if guarantee.name == "average":
                worst = max(worst, sum(after) - before)
            else:
                worst = max(
                    worst, *(a / c - before for a, c in zip(after, chances, strict=True) if c > 1e-12)
                )
    return worst


def test_a_tilt_has_the_stated_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected loads are within the ends; factors are those of people, and 1 wherever no end is reached."""
    monkeypatch.setattr(loads_module, "MOST_TERMS", 0)
    rng = np.random.default_rng(313)
    for number in range(count(15, 150)):
        cases = conference(rng, 8, people=6, most=1 + number % 3)
        loads = stated(rng, cases, ranges=number % 2 == 1)
        tilt = load_tilt(cases, loads)
        assert not tilt.exact
        expected = Counter[str]()
        for case in map(tilt.applied, cases):
            for row in reviewer_marginals(case):
                expected.update(dict(zip(case.candidates, row.tolist(), strict=True)))
        assert tilt.furthest < 0.05
        for name, least, most in loads:
            assert least - tilt.furthest - 1e-6 <= expected[name] <= most + tilt.furthest + 1e-6
            slack = tilt.furthest + 0.01  # an end is reached as nearly as the tilt says
            if least + slack < expected[name] < most - slack:
                assert abs(tilt.reviewers[name]) < 0.02


def test_large_pools_are_tilted_as_listed_ones_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same papers, listed and aggregated: the same chances of everybody, with loads and without."""
    monkeypatch.setattr(loads_module, "MOST_TERMS", 0)
    rng = np.random.default_rng(314)
    cases = conference(rng, 6, people=7, most=3)
    loads = stated(rng, cases, ranges=False)
    tilt = load_tilt(cases, loads)
    hidden = [replace(case, most_listed=0) for case in cases]
    assert load_tilt(hidden, loads).near(tilt)
    for case, other in zip(map(tilt.applied, cases), map(tilt.applied, hidden), strict=True):
        np.testing.assert_allclose(reviewer_marginals(case), reviewer_marginals(other), atol=1e-9)


def test_loads_that_no_assignment_keeps_are_refused() -> None:
    cases = conference(np.random.default_rng(315), 3)
    names = sorted({name for case in cases for name in case.candidates})
    for loads in ([(n, 0, 0) for n in names], [(n, 4, 9) for n in names]):
        with pytest.raises(InputError, match="cannot be met"):
            load_tilt(cases, tuple(loads))
    with pytest.raises(InputError, match="in no pool"):
        load_tilt(cases, (("stranger", 1, 1),))


def test_tables_of_loads() -> None:
    assert read_loads({"reviewer": ["b", "a"], "load": [1, 2]}) == (("a", 2, 2), ("b", 1, 1))
    assert fixed_loads((("a", 2, 2),)) == {"a": 2}
    for table, message in (
        ({"reviewer": ["a"], "least": [3], "most": [2]}, "above most"),
        ({"reviewer": ["a", "a"], "load": [1, 1]}, "everyone once"),
        ({"reviewer": ["*"], "load": [1]}, "must not be"),
        ({"reviewer": ["a"], "least": [1]}, "columns least and most"),
    ):
        with pytest.raises(InputError, match=message):
            read_loads(table)
    with pytest.raises(InputError, match="ranges"):
        fixed_loads((("a", 1, 2),))


def test_the_components_of_committees_are_those_of_their_pools() -> None:
    one, two = SharedTuple("abcd"), SharedTuple("efg")
    first, second, third = AllBut(one, (0,)), AllBut(one, (1, 2, 3)), AllBut(one, (3,))
    pools = [first, AllBut(two, (0, 1)), second, third, ("e", "f"), two]
    for some in (pools, pools[:4], pools[:2], pools[2:]):
        found, plain = components(some), components([tuple(pool) for pool in some])
        assert np.array_equal(np.equal.outer(found, found), np.equal.outer(plain, plain))
