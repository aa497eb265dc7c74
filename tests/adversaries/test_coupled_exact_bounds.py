"""Ceilings for the coupled adversary, against lists of all assignments and outcomes."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from blindcal.adversaries.coupled_exact import capacity, components, coupled_bounds, epsilon_per_paper
from loaded_conferences import Assigned, assigned
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
        before = np.concatenate([one.max(axis=1) for one in alone])
        slots = [len(view.scores) for view in views]
        factor = np.repeat([one.factor for one in found], slots)
        added = np.repeat([one.added for one in found], slots)
        assert (after <= before * factor + 1e-12).all()
        assert (after - before <= added + 1e-12).all()


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
    group = components(views)
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


def test_a_budget_is_shared() -> None:
    assert sum([epsilon_per_paper(3.0, 6)] * 6) == pytest.approx(3.0)
