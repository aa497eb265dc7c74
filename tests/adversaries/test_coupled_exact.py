"""The adversary who knows all loads, against a list of all assignments."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from blindcal.adversaries.coupled_exact import (
    all_loads,
    check_loads,
    erasure_bound,
    exact_finding,
    exact_reviewers,
    first_assignment,
    is_small,
    network,
    true_loads,
)
from blindcal.adversaries.single_paper import View
from blindcal.errors import InputError
from blindcal.policy.policy import Policy
from loaded_conferences import Assigned, assigned, starred
from sizes import count
from whole_conferences import random_views


def test_sums_equal_a_list_of_all_assignments() -> None:
    rng = np.random.default_rng(71)
    for _ in range(count(15, 200)):
        views, loads = assigned(rng, int(rng.integers(2, 5)))
        lister = Assigned(views, loads)
        weights = [view.weight for view in views]
        found = exact_reviewers(network(views, loads, weights))
        for mine, listed in zip(found, lister.authors(weights), strict=True):
            np.testing.assert_allclose(mine, listed, atol=1e-12)


def test_before_the_toss_all_outcomes_are_gone_through() -> None:
    rng = np.random.default_rng(72)
    for number in range(count(6, 50)):
        views, loads = assigned(rng, 2 + number % 2)
        assert is_small(views, loads)
        for policy in ("chosen", "full", "raw"):
            found = exact_finding(views, loads, policy)
            baseline, success, rise = Assigned(views, loads).gain(policy)
            assert found.baseline == pytest.approx(baseline, abs=1e-12)
            assert found.success == pytest.approx(success, abs=1e-12)
            assert found.rise == pytest.approx(rise, abs=1e-9)
            assert policy != "raw" or abs(found.added) < 1e-12


def test_after_the_toss_the_decisions_are_known() -> None:
    views, loads = assigned(np.random.default_rng(73), 3)
    seen = [replace(view, outcome={"chosen": 1.0 - view.accept["chosen"]}) for view in views]
    found = exact_finding(seen, loads, "chosen")
    masses = [view.weight * view.outcome["chosen"] for view in seen]
    listed = Assigned(views, loads).authors(masses)
    reviews = sum(len(view.scores) for view in views)
    assert found.success == pytest.approx(sum(one.max(axis=1).sum() for one in listed) / reviews)


def test_first_assignments_meet_the_loads() -> None:
    rng = np.random.default_rng(75)
    for _ in range(20):
        views, loads = assigned(rng, 5)
        found = first_assignment([(view.names, len(view.scores)) for view in views], loads, rng)
        counted = {name: sum(names.count(name) for names in found) for name in loads}
        assert counted == loads
        for view, names in zip(views, found, strict=True):
            assert len(set(names)) == len(names) == len(view.scores)
            assert set(names) <= set(view.names)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda loads: {**loads, "stranger": 1}, "sum to"),
        (lambda loads: {**dict.fromkeys(loads, 0), next(iter(loads)): sum(loads.values())}, "cannot be met"),
        (lambda loads: {**dict.fromkeys(loads, 0), "stranger": sum(loads.values())}, "in no pool"),
    ],
)
def test_loads_that_do_not_fit_are_refused(change: object, message: str) -> None:
    views, loads = assigned(np.random.default_rng(76), 4)
    with pytest.raises(InputError, match=message):
        check_loads(views, change(loads))


def test_anyone_not_listed_has_the_reviews_that_are_left() -> None:
    """Pools with `*`, who may have written several reviews of a paper, against a list of all assignments."""
    rng = np.random.default_rng(77)
    for _ in range(count(6, 60)):
        views, known, _ = starred(rng, int(rng.integers(2, 4)))
        loads = all_loads(views, known)
        assert sum(loads.values()) == sum(len(view.scores) for view in views)
        lister = Assigned(views, loads)
        weights = [view.weight for view in views]
        for view, mine, listed in zip(
            views, exact_reviewers(network(views, known, weights)), lister.authors(weights), strict=True
        ):
            assert not mine[:, view.names.index("*")].any()
            np.testing.assert_allclose(mine, listed, atol=1e-12)
        for policy in ("chosen", "full"):
            found = exact_finding(views, known, policy)
            baseline, success, _ = lister.gain(policy)
            assert (found.baseline, found.success) == pytest.approx((baseline, success), abs=1e-12)


def test_samples_cannot_be_counted() -> None:
    views, loads = assigned(np.random.default_rng(76), 3)
    with pytest.raises(InputError, match="listed"):
        check_loads([replace(view, exact=False) for view in views], loads)
    with pytest.raises(InputError, match="true reviewers"):
        true_loads(views)
    truth = [replace(view, truth=tuple(view.rows[0])) for view in views]
    assert sum(true_loads(truth).values()) == sum(len(view.scores) for view in views)


# --- Bounds for the coupled adversary, against lists of all assignments and outcomes.


def epsilons(views: list[View]) -> float:
    return sum(float(Policy(view.accept["chosen"]).epsilon) for view in views)


def test_odds_move_by_the_sum_of_epsilons_at_most() -> None:
    """Every reviewer of every review, after every outcome of all papers, for loads that were drawn."""
    rng = np.random.default_rng(91)
    for _ in range(count(12, 300)):
        views, loads = assigned(rng, int(rng.integers(2, 4)))
        lister, most = Assigned(views, loads), epsilons(views)
        alone = lister.authors([view.weight for view in views])
        for outcome in product((True, False), repeat=len(views)):
            masses = [
                view.weight * (view.accept["chosen"] if yes else 1.0 - view.accept["chosen"])
                for view, yes in zip(views, outcome, strict=True)
            ]
            if lister.total(masses) == 0.0:
                continue
            for before, now in zip(alone, lister.authors(masses), strict=True):
                for old, new in zip(before, now, strict=True):
                    for one, other in combinations(np.flatnonzero(old), 2):
                        if new[one] > 0.0 and new[other] > 0.0:
                            moved = abs(np.log(new[one] * old[other] / (new[other] * old[one])))
                            assert moved <= most + 1e-9
                        elif new[one] > 0.0 or new[other] > 0.0:
                            assert most == np.inf


def test_theorem_erasure_bound_is_never_below_the_truth() -> None:
    """The bound against a list of all assignments, erasures and draws; the truth against one of outcomes."""
    rng = np.random.default_rng(92)
    for number in range(count(60, 1000)):
        views, loads = assigned(rng, int(rng.integers(2, 4)), people=4)
        if number % 7 == 0:
            views, loads, _ = starred(rng, 2)
        bound = erasure_bound(views, loads)
        assert exact_finding(views, loads, "chosen").success <= bound + 1e-12
        if number < count(6, 100) and not any("*" in view.names for view in views):
            assert bound == pytest.approx(_listed_erasure(views, loads), abs=1e-10)


def _listed_erasure(views: list[View], loads: dict[str, int]) -> float:
    """The same by listing every subset of papers whose draw is seen, every draw and every assignment."""
    lister, weights = Assigned(views, loads), [view.weight for view in views]
    scale, right = lister.total(weights), 0.0
    ranges = [(view.accept["chosen"].min(), np.ptp(view.accept["chosen"])) for view in views]
    for own, view in enumerate(views):
        others = [number for number in range(len(views)) if number != own]
        for seen in product((None, True, False), repeat=len(others)):
            masses, chance = list(weights), 1.0
            for number, draw in zip(others, seen, strict=True):
                low, kappa = ranges[number]
                level = (views[number].accept["chosen"] - low) / (kappa or 1.0)
                chance *= 1.0 - kappa if draw is None else kappa
                if draw is not None:
                    masses[number] = masses[number] * (level if draw else 1.0 - level)
            for accept in (view.accept["chosen"], 1.0 - view.accept["chosen"]):
                decided = [mass * accept if n == own else mass for n, mass in enumerate(masses)]
                total = lister.total(decided)
                if total > 0.0:
                    right += chance * total / scale * lister.authors(decided)[own].max(axis=1).sum()
    return right / sum(len(view.scores) for view in views)


def test_a_prior_can_join_papers_that_share_nobody() -> None:
    """One secret bit has five papers' reviewers, of two candidates each: the decisions nearly name them."""
    table = Policy(1.0 / (1.0 + np.exp([-2.0, 2.0])))
    yes = np.array([sum(outcome) for outcome in product((0, 1), repeat=5)])
    truth = 0.5 * np.maximum(*(p**yes * (1.0 - p) ** (5 - yes) for p in table.accept)).sum()
    assert table.epsilon == pytest.approx(2.0)
    assert truth == pytest.approx(0.986, abs=5e-4)


def test_a_swap_moves_odds_by_two_epsilons() -> None:
    """Two papers, two people, one review each: the ceiling is reached."""
    table = np.array([0.75, 0.25])
    views = random_views(np.random.default_rng(1), 2, most=1)
    rows, weight = np.array([[0], [1]]), np.array([0.5, 0.5])
    views = [
        type(view)(view.paper, ("a", "b"), (1.0,), rows, weight, np.zeros(2), {"chosen": one})
        for view, one in zip(views, (table, table[::-1]), strict=True)
    ]
    masses = [view.weight * view.accept["chosen"] for view in views]
    (first, _) = Assigned(views, {"a": 1, "b": 1}).authors(masses)
    assert np.log(first[0, 0] / first[0, 1]) == pytest.approx(2 * np.log(3.0))
    assert epsilons(views) == pytest.approx(2 * np.log(3.0))
