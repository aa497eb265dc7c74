"""Sequences of tables that add nothing together, against lists of all assignments and outcomes."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from blindcal.errors import InputError
from blindcal.policy.sequential import (
    MOST_REVIEWS,
    ListedPrior,
    best_order,
    next_table,
    reviewer_masses,
)
from sizes import count


def conference(rng: np.random.Generator, papers: int, reviews: int) -> tuple[ListedPrior, list[np.ndarray]]:
    """Everybody may have reviewed everything and has as many reviews as a paper; favors of all tuples."""
    rows = np.array(list(permutations(range(papers), reviews)))
    weights = rng.dirichlet(np.full(len(rows), 0.4), papers)
    favors = list(rng.beta(0.6, 0.6, (papers, len(rows))))
    every = np.array(list(product(range(len(rows)), repeat=papers)))
    loads = (rows[every][..., None] == np.arange(papers)).sum(axis=(1, 2))
    kept = every[(loads == reviews).all(axis=1)]
    chance = np.prod([weight[own] for weight, own in zip(weights, kept.T, strict=True)], axis=0)
    return ListedPrior([rows] * papers, kept, chance / chance.sum()), favors


def named(prior: ListedPrior, likelihood: np.ndarray) -> float:
    """How many reviewers the best guesses name, by going through the assignments: times P(likelihood)."""
    right = 0.0
    for rows, own in zip(prior.tuples, prior.assignments.T, strict=True):
        for slot in rows[own].T:
            right += np.bincount(slot, prior.chance * likelihood).max()
    return float(right)


class Decided:
    """Every way that all decisions can come out, table by table, each from the decisions before."""

    def __init__(self, prior: ListedPrior, favors: list[np.ndarray], epsilon: float | None) -> None:
        self.prior, self.favors, self.epsilon = prior, favors, epsilon
        self.informative = 0

    def right(self) -> float:
        ones = [np.ones(len(rows)) for rows in self.prior.tuples]
        return self._right(0, ones, np.ones(self.prior.chance.size))

    def _right(self, paper: int, known: list[np.ndarray], likelihood: np.ndarray) -> float:
        if paper == len(known):
            return named(self.prior, likelihood)
        table = next_table(self.prior, known, paper, self.favors[paper], epsilon=self.epsilon)
        self._check(table)
        total = 0.0
        for chance in (table, 1.0 - table):
            later = likelihood * chance[self.prior.assignments[:, paper]]
            if later @ self.prior.chance > 1e-12:
                total += self._right(paper + 1, [*known[:paper], chance, *known[paper + 1 :]], later)
        return total

    def _check(self, table: np.ndarray) -> None:
        self.informative += bool(np.ptp(table) > 1e-6)
        assert 0.0 <= table.min() <= table.max() <= 1.0
        if self.epsilon is not None:
            grown = np.exp(self.epsilon) * (1 + 1e-9)
            assert table.max() <= grown * table.min()
            assert 1 - table.min() <= grown * (1 - table.max()) + 1e-15


@pytest.mark.parametrize(
    ("papers", "reviews", "short", "long"), [(4, 1, 6, 60), (5, 1, 1, 60), (3, 2, 3, 20)]
)
@pytest.mark.parametrize("epsilon", [2.0, None])
def test_theorem_nothing_added_by_all_decisions_together(
    papers: int, reviews: int, short: int, long: int, epsilon: float | None
) -> None:
    rng = np.random.default_rng([papers, reviews])
    informative = 0
    for _ in range(count(short, long)):
        prior, favors = conference(rng, papers, reviews)
        decided = Decided(prior, favors, epsilon)
        before = named(prior, np.ones(prior.chance.size))
        assert decided.right() == pytest.approx(before, abs=2e-7)
        informative += decided.informative
    assert informative


def test_no_random_table_that_adds_nothing_has_fewer_errors() -> None:
    """Mixtures of random tables with constants, as far from the constant as the condition allows."""
    rng = np.random.default_rng(4)
    for _ in range(count(5, 50)):
        prior, favors = conference(rng, 4, 1)
        ones = [np.ones(len(rows)) for rows in prior.tuples]
        joint = prior.pairwise(ones, 0)
        weight = joint[0].sum(axis=0)
        masses = [
            m for rows, part in zip(prior.tuples, joint, strict=True) for m in reviewer_masses(rows, part)
        ]

        best, cost = next_table(prior, ones, 0, favors[0], epsilon=None), weight * (1.0 - 2.0 * favors[0])
        assert excess(masses, best) <= 1e-8
        for _ in range(300):
            table = np.clip(best + rng.normal(0.0, 10.0 ** rng.uniform(-4, 0), best.size), 0.0, 1.0)
            if excess(masses, table) <= 1e-12:
                assert float((table - best) @ cost) >= -1e-8


def excess(masses: list[np.ndarray], table: np.ndarray) -> float:
    """By how much the best guess of a review is likelier on average, at most."""
    return max((m @ table).max() + (m @ (1 - table)).max() - m.sum(axis=1).max() for m in masses)


def test_order_and_size() -> None:
    rng = np.random.default_rng(5)
    weights = [np.array([0.5, 0.5])] * 3
    assert best_order(weights, [np.array([0.5, 0.5]), np.array([0.9, 0.1]), np.array([0.8, 0.1])]) == [
        1,
        2,
        0,
    ]
    many = [np.array([[0], [1]])] * (MOST_REVIEWS + 1)
    prior = ListedPrior(many, rng.integers(0, 2, (3, len(many))), np.full(3, 1 / 3))
    with pytest.raises(InputError, match="at most"):
        next_table(prior, [np.ones(2)] * len(many), 0, np.array([0.2, 0.8]))
