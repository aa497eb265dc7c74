"""Ceilings for the coupled adversary, against lists of all assignments and outcomes."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from blindcal.adversaries.coupled_exact import (
    capacity,
    coupled_bounds,
    erasure_bound,
    exact_finding,
)
from blindcal.adversaries.single_paper import View
from blindcal.posterior.loads import components
from loaded_conferences import Assigned, assigned, starred
from sizes import count
from whole_conferences import random_views


def test_no_coupled_adversary_exceeds_a_ceiling() -> None:
    """Every author of every review, after every outcome of all papers, for loads that were drawn."""
    rng = np.random.default_rng(91)
    for _ in range(count(12, 300)):
        views, loads = assigned(rng, int(rng.integers(2, 4)))
        lister = Assigned(views, loads)
        weights = [view.weight for view in views]
        alone, scale = lister.authors(weights), lister.total(weights)
        after = np.zeros(sum(len(view.scores) for view in views))
        found = coupled_bounds(views)
        for outcome in product((True, False), repeat=len(views)):
            masses = [
                view.weight * (view.accept["chosen"] if yes else 1.0 - view.accept["chosen"])
                for view, yes in zip(views, outcome, strict=True)
            ]
            chance = lister.total(masses) / scale
            if chance == 0.0:
                continue
            believed = lister.authors(masses)
            after += chance * np.concatenate([one.max(axis=1) for one in believed])
            for limit, before, now in zip(found, alone, believed, strict=True):
                for old, new in zip(before, now, strict=True):
                    for one, other in combinations(np.flatnonzero(old), 2):
                        if new[one] > 0.0 and new[other] > 0.0:
                            moved = abs(np.log(new[one] * old[other] / (new[other] * old[one])))
                            assert moved <= limit.epsilon + 1e-9
                        elif new[one] > 0.0 or new[other] > 0.0:
                            assert limit.epsilon == np.inf
        start = 0
        for number, (view, limit) in enumerate(zip(views, found, strict=True)):
            before, own = alone[number].max(axis=1), np.zeros(len(view.scores))
            for chances in (view.accept["chosen"], 1.0 - view.accept["chosen"]):
                masses = [w * chances if n == number else w for n, w in enumerate(weights)]
                if (part := lister.total(masses)) > 0.0:
                    own += part / scale * lister.authors(masses)[number].max(axis=1)
            for slot in range(len(view.scores)):
                assert after[start + slot] <= limit.success(before[slot], own[slot]) + 1e-12
            start += len(view.scores)


def test_theorem_erasure_bound_is_never_below_the_truth() -> None:
    """The bound against a list of all assignments, erasures and draws; the truth against one of outcomes."""
    rng = np.random.default_rng(92)
    for number in range(count(60, 1000)):
        views, loads = assigned(rng, int(rng.integers(2, 4)), people=4)
        if number % 7 == 0:
            views, loads, _ = starred(rng, 2)
        bound = erasure_bound(views, loads)
        truth = exact_finding(views, loads, "chosen")
        assert bound.baseline == pytest.approx(truth.baseline, abs=1e-12)
        assert bound.baseline - 1e-12 <= bound.own <= truth.success + 1e-12
        assert truth.success <= bound.erasure + 1e-12
        assert truth.success <= bound.any_prior + 1e-12
        if number < count(6, 100) and not any("*" in view.names for view in views):
            assert bound.erasure == pytest.approx(_listed_erasure(views, loads), abs=1e-10)


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


def test_one_shared_bit_comes_close_to_the_limit_for_any_prior() -> None:
    """Five papers with the same two reviewers: all decisions together nearly name the reviewer."""
    accept = 1.0 / (1.0 + np.exp([-2.0, 2.0]))
    rows, weight = np.array([[0], [1]]), np.array([0.5, 0.5])
    views = [
        View(f"p{n}", ("a", "b"), (1.0,), rows, weight, np.zeros(2), {"chosen": accept}) for n in range(5)
    ]
    yes = np.array([sum(outcome) for outcome in product((0, 1), repeat=5)])
    truth = 0.5 * np.maximum(*(p**yes * (1.0 - p) ** (5 - yes) for p in accept)).sum()
    limit = coupled_bounds(views)[0]
    assert np.log(accept[0] / accept[1]) == pytest.approx(2.0)
    assert truth == pytest.approx(0.986, abs=5e-4)
    assert truth <= limit.success(0.5, 0.5 * (1.0 + np.ptp(accept)))


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
    assert coupled_bounds(views)[0].epsilon == pytest.approx(2 * np.log(3.0))


def test_papers_that_share_nobody_are_apart() -> None:
    views = random_views(np.random.default_rng(3), 6, people=20, most=1)
    group = components([view.names for view in views])
    for one, other in combinations(range(6), 2):
        if set(views[one].names) & set(views[other].names):
            assert group[one] == group[other]
    reach = {i: {i} for i in range(6)}
    for _ in range(6):
        for i, j in product(range(6), repeat=2):
            if any(set(views[k].names) & set(views[j].names) for k in reach[i]):
                reach[i] |= reach[j]
    for i, j in product(range(6), repeat=2):
        assert (group[i] == group[j]) == (j in reach[i])


def test_capacity_is_the_largest_information() -> None:
    rng = np.random.default_rng(4)
    share = np.linspace(0.0, 1.0, 20001)[1:-1]

    def entropy(p: np.ndarray) -> np.ndarray:
        return -p * np.log(p) - (1 - p) * np.log1p(-p)

    for _ in range(count(20, 200)):
        low, high = rng.uniform(0.001, 0.999, 2)
        told = entropy(share * low + (1 - share) * high) - share * entropy(low) - (1 - share) * entropy(high)
        found = capacity(np.array([low, 0.5 * (low + high), high]))
        assert found >= told.max() - 1e-15
        assert found == pytest.approx(told.max(), rel=1e-5, abs=1e-12)
