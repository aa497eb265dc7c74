"""Beliefs for someone who knows loads, against lists of all assignments."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from blindcal.adversaries.coupled_exact import all_loads
from blindcal.adversaries.single_paper import case_view
from blindcal.errors import InputError
from blindcal.policy.policy import Policy
from blindcal.pools.prior import inclusion
from blindcal.posterior import loads as loads_module
from blindcal.posterior.loads import exact_beliefs, read_loads, tilted_beliefs
from blindcal.posterior.paper import PaperCase
from loaded_conferences import Assigned, loads_of
from sizes import count


def conference(
    rng: np.random.Generator, papers: int, *, most: int = 2, people: int = 4, star: bool = False
) -> list[PaperCase]:
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
        names = tuple("*" if star and one == 0 else f"r{one}" for one in pool)
        cases.append(PaperCase(f"p{number}", scores, names, chance, parameters, bar=0.3))
    return cases


def stated(rng: np.random.Generator, cases: list[PaperCase]) -> tuple[dict[str, int], Assigned]:
    """The loads of an assignment that was drawn from what the scores say, and all that keep them."""
    views = [case_view(case, Policy(case.belief.favor), 1.0) for case in cases]
    loads = loads_of(views, [int(rng.choice(len(view.rows), p=view.weight)) for view in views])
    return loads, Assigned(views, all_loads(views, loads))


def test_exact_beliefs_are_those_of_all_assignments_that_keep_the_loads() -> None:
    rng = np.random.default_rng(311)
    for number in range(count(25, 300)):
        cases = conference(rng, int(rng.integers(2, 5)), star=number % 3 == 0)
        loads, listed = stated(rng, cases)
        kept, weight = map(
            np.array, zip(*listed.weighed([case.belief.weight for case in cases]), strict=True)
        )
        for paper, found in enumerate(exact_beliefs(cases, loads)):
            expected = np.bincount(kept[:, paper], weight / weight.sum(), len(cases[paper].tuples))
            np.testing.assert_allclose(found, expected, atol=1e-11)


def test_a_tilt_has_the_stated_loads_and_one_factor_for_each_person() -> None:
    """Expected loads, and ratios to the beliefs without loads: products of factors of people."""
    rng = np.random.default_rng(313)
    for number in range(count(15, 150)):
        cases = conference(rng, 8, people=6, most=1 + number % 3)
        loads, _ = stated(rng, cases)
        expected, products, logs = Counter[str](), [], []
        people = sorted(loads)
        for paper, (case, weight) in enumerate(zip(cases, tilted_beliefs(cases, loads), strict=True)):
            for row, mass, plain in zip(case.tuples, weight, case.belief.weight, strict=True):
                names = [case.candidates[one] for one in row]
                expected.update(dict.fromkeys(names, float(mass)))
                if min(mass, plain) > 1e-12 and {*names} <= {*people}:
                    one = np.zeros(len(people) + len(cases))
                    one[[people.index(name) for name in names]] = one[len(people) + paper] = 1.0
                    products.append(one)
                    logs.append(np.log(mass / plain))
        for name in {*expected, *loads}:
            assert expected[name] == pytest.approx(loads.get(name, 0), abs=1e-5)
        design, log = np.array(products), np.array(logs)
        factors = np.linalg.lstsq(design, log, rcond=None)[0]
        assert design @ factors == pytest.approx(log, abs=1e-6)


def test_loads_that_no_assignment_keeps_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = conference(np.random.default_rng(315), 3)
    names = sorted({name for case in cases for name in case.candidates})
    loads, _ = stated(np.random.default_rng(316), cases)
    for wrong in (dict.fromkeys(names, 0), dict.fromkeys(names, 4), {**loads, "stranger": 0}):
        for beliefs in (exact_beliefs, tilted_beliefs):
            with pytest.raises(InputError, match="cannot be met"):
                beliefs(cases, wrong)
    monkeypatch.setattr(loads_module, "MOST_TERMS", 1)
    with pytest.raises(InputError, match="too many to sum"):
        exact_beliefs(cases, loads)


def test_tables_of_loads() -> None:
    assert read_loads({"reviewer": ["b", "a"], "load": [1, 2]}) == {"a": 2, "b": 1}
    for table, message in (
        ({"reviewer": ["a", "a"], "load": [1, 1]}, "everyone once"),
        ({"reviewer": ["*"], "load": [1]}, "must not be"),
        ({"reviewer": ["a"], "load": [-1]}, r"lie in \[0, inf\]"),
        ({"reviewer": ["a"]}, "load"),
    ):
        with pytest.raises(InputError, match=message):
            read_loads(table)
