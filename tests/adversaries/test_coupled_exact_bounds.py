"""Bounds for the coupled adversary, against lists of all assignments and outcomes."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from blindcal.adversaries.coupled_exact import erasure_bound, exact_finding
from blindcal.adversaries.single_paper import View
from blindcal.policy.policy import Policy
from loaded_conferences import Assigned, assigned, starred
from sizes import count
from whole_conferences import random_views


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
        truth = exact_finding(views, loads, "chosen")
        assert bound.baseline == pytest.approx(truth.baseline, abs=1e-12)
        assert bound.baseline - 1e-12 <= bound.own <= truth.success + 1e-12
        assert truth.success <= bound.erasure + 1e-12
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
