"""Isotonic calibration against a general solver, and what it recovers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import blindcal as bc
from blindcal.calibrators import isotonic
from blindcal.calibrators.gibbs import Batch
from blindcal.calibrators.isotonic_regression import isotonic_quality
from small_reviews import conference


def least_noise(batch: Batch) -> float:
    """The least sum of (z - x)^2 by a general solver, with a constraint for each ordered pair of scores."""
    n, rows = batch.papers, batch.score.size
    constraints = [
        {"type": "ineq", "fun": lambda v, p=p, q=q: v[n + q] - v[n + p] - (batch.score[q] - batch.score[p])}
        for p in range(rows)
        for q in range(rows)
        if batch.reviewer[p] == batch.reviewer[q] and batch.score[p] < batch.score[q]
    ]
    start = np.r_[batch.per_paper(batch.score) / batch.per_paper(), batch.score]
    found = minimize(
        lambda v: ((v[n:] - v[batch.paper]) ** 2).sum(), start, constraints=constraints, tol=1e-14
    )
    return float(found.fun)


@pytest.mark.parametrize("seed", range(6))
def test_isotonic_needs_no_more_noise_than_a_general_solver(seed: int) -> None:
    from blindcal.calibrators.isotonic_regression import _least_noise, _levels, _perceive

    rng = np.random.default_rng(seed)
    chosen = rng.random((6, 4)) < 0.7
    chosen[:, 0] = chosen[0] = True
    paper, reviewer = np.nonzero(chosen)
    score = rng.integers(1, 6, paper.size) + (0.0 if seed % 2 else 1.0) * rng.random(paper.size)
    batch = Batch(paper, reviewer, score)
    x = _least_noise(batch)
    z = _perceive(batch, _levels(batch), x)
    for j in range(batch.reviewers):
        own = np.flatnonzero(batch.reviewer == j)
        gap, rise = (v[own][:, None] - v[own] for v in (batch.score, z))
        assert (rise[gap > 0] >= gap[gap > 0] - 1e-9).all()
    assert ((z - x[batch.paper]) ** 2).sum() == pytest.approx(least_noise(batch), abs=1e-6)


def test_isotonic_recovers_the_order_of_noiseless_monotone_reviewers() -> None:
    rng = np.random.default_rng(11)
    quality = rng.standard_normal(25)
    score = np.stack([np.exp(quality), quality**3 + quality, np.tanh(quality), 5 + quality], axis=1)
    table = {
        "paper": np.repeat([f"p{i:02d}" for i in range(25)], 4),
        "reviewer": np.tile([f"r{j}" for j in range(4)], 25),
        "score": score.ravel(),
    }
    result = isotonic(bc.Reviews.from_table(table))
    assert (np.argsort(result.quality) == np.argsort(quality)).all()
    np.testing.assert_allclose([result.quality.mean(), result.quality.std()], [0, 1], atol=1e-9)
    np.testing.assert_allclose(result.predict(table["paper"], table["reviewer"]), score.ravel(), atol=1e-6)


def test_isotonic_batch_solves_each_conference_alone() -> None:
    first, second = (bc.calibrators.results.batch_of(conference(seed)) for seed in (3, 4))
    both = Batch(
        np.r_[first.paper, second.paper + first.papers],
        np.r_[first.reviewer, second.reviewer + first.reviewers],
        np.r_[first.score, second.score],
        np.repeat([0, 1], 30),
        np.repeat([0, 1], [first.reviewers, second.reviewers]),
    )
    together = isotonic_quality(both)
    for k in range(2):
        alone = np.r_[isotonic_quality(first)[k], isotonic_quality(second)[k]]
        np.testing.assert_allclose(together[k], alone, atol=1e-6)
