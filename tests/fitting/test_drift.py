"""Drifting slopes and offsets: the filter against dense linear algebra, one reviewer at a time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from blindcal.checks import Array
from blindcal.fitting.drift import Visits, filtered, predicted, sample_backward
from sizes import count

# Reviewer 0 came to conferences 0, 1 and 4, reviewer 1 to 2 and 3, reviewer 2 to 1 alone.
VISITS = Visits(
    reviewer=np.array([0, 1, 2, 0, 1, 0]),
    conference=np.array([0, 2, 1, 1, 3, 4]),
    gap=np.array([0, 0, 0, 1, 1, 3]),
    starts=(0, 3, 5, 6),
    last=np.array([5, 4, 2]),
)
POPULATION = np.array([1.1, 0.3, 0.09, 0.04, 0.25])
COVARIANCE = np.array([[0.09, 0.04], [0.04, 0.25]])
SCORES = {0: [(0.3, 0.9)], 1: [(-1.0, -0.4), (0.8, 1.5)], 2: [(1.2, 0.1)], 3: [(0.1, 1.0), (2.0, 2.2)]}
SCORES |= {4: [(0.4, -0.2)], 5: [(-0.5, 0.6), (1.5, 2.9), (0.2, 0.1)]}
NOISE = 0.6


def observed() -> Array:
    """From (quality, score) of each visit."""
    found = np.zeros((5, 6))
    for visit, rows in SCORES.items():
        for q, y in rows:
            found[:, visit] += np.array([q * y, y, q * q, q, 1.0]) / NOISE**2
    return found


def dense(persistence: float, reviewer: int) -> tuple[Array, Array, float]:
    """Joint mean and covariance of all (slope, offset) of a reviewer given all scores, and log evidence."""
    own = [v for v in np.lexsort((VISITS.conference, VISITS.reviewer)) if VISITS.reviewer[v] == reviewer]
    when = VISITS.conference[own]
    prior = np.kron(persistence ** np.abs(when[:, None] - when), COVARIANCE)
    mean = np.tile(POPULATION[:2], len(own))
    design = [
        np.concatenate([[q, 1.0] if other == v else [0.0, 0.0] for other in own])
        for v in own
        for q, _ in SCORES[v]
    ]
    x, y = np.array(design), np.array([y for v in own for _, y in SCORES[v]])
    total = x @ prior @ x.T + NOISE**2 * np.eye(len(y))
    gain = prior @ x.T @ np.linalg.inv(total)
    evidence = float(multivariate_normal.logpdf(y, x @ mean, total))
    return mean + gain @ (y - x @ mean), prior - gain @ x @ prior, evidence


@pytest.mark.parametrize("persistence", [0.2, 0.7, 0.99])
def test_the_last_visit_knows_all_that_dense_algebra_knows(persistence: float) -> None:
    after, _ = filtered(VISITS, observed(), POPULATION, persistence)
    for reviewer, last in enumerate(VISITS.last):
        mean, covariance, _ = dense(persistence, reviewer)
        np.testing.assert_allclose(after[:2, last], mean[-2:], rtol=1e-9)
        expected = covariance[[-2, -2, -1], [-2, -1, -1]]
        np.testing.assert_allclose(after[2:, last], expected, rtol=1e-9)


def test_evidence_compares_persistences_as_dense_algebra_does() -> None:
    values = [0.1, 0.5, 0.9]
    found = [filtered(VISITS, observed(), POPULATION, value)[1] for value in values]
    exact = [sum(dense(value, reviewer)[2] for reviewer in range(3)) for value in values]
    np.testing.assert_allclose(np.diff(found), np.diff(exact), rtol=1e-9)


def test_draws_have_the_joint_law_of_dense_algebra() -> None:
    """Means and products of all pairs, at a false-alarm rate of 1e-6 over all comparisons."""
    rng, draws = np.random.default_rng(4), count(3000, 30000)
    after, _ = filtered(VISITS, observed(), POPULATION, 0.7)
    found = np.stack([sample_backward(VISITS, after, POPULATION, 0.7, rng) for _ in range(draws)])
    own = [[0, 3, 5], [1, 4], [2]]
    limit = norm.isf(1e-6 / 2 / 100)
    for reviewer, visits in enumerate(own):
        mean, covariance, _ = dense(0.7, reviewer)
        flat = found[:, :, visits].transpose(0, 2, 1).reshape(draws, -1)
        error = np.sqrt(covariance.diagonal() / draws)
        assert (np.abs(flat.mean(axis=0) - mean) < limit * error).all()
        sd = np.sqrt(np.outer(covariance.diagonal(), covariance.diagonal()) + covariance**2)
        assert (np.abs(np.cov(flat.T) - covariance) < limit * sd / np.sqrt(draws) * 1.05).all()


def test_in_the_long_run_only_the_population_is_left() -> None:
    state = np.array([[9.0], [9.0], [0.01], [0.0], [0.01]])
    far = predicted(state, POPULATION, 0.5, np.array([200]))
    np.testing.assert_allclose(far[:, 0], POPULATION)
    np.testing.assert_allclose(predicted(state, POPULATION, 0.5, np.array([0])), state)
