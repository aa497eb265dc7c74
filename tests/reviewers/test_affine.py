"""Affine reviewers: uncertain parameters averaged over, and a pool as one reviewer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import blindcal as bc
from every_reviewer import COVARIANCE


def test_uncertain_slope_and_offset_are_averaged_over() -> None:
    """The likelihood is the mean over (slope, offset) of the likelihood with both known."""
    mean, covariance, noise = np.array([1.3, 0.4]), np.array(COVARIANCE), 0.7
    x, w = np.polynomial.hermite_e.hermegauss(40)
    root = np.linalg.cholesky(covariance)
    draws = mean + np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2) @ root.T
    chance = np.outer(w, w).ravel() / w.sum() ** 2
    for quality, score in ((-1.5, 0.2), (0.0, 1.0), (2.0, 2.5)):
        known = norm.pdf(score, draws @ [quality, 1.0], noise) @ chance
        uncertain = bc.Affine(*mean, noise, covariance)
        assert np.exp(uncertain.log_likelihood(score, quality)) == pytest.approx(known, rel=1e-9)


def test_a_pool_is_one_affine_reviewer_with_arrays() -> None:
    slope, offset, noise = np.array([0.5, 1.0, 2.0]), np.array([0.1, -0.4, 0.0]), np.array([0.3, 0.0, 1.0])
    covariance = np.array([[[0.2, 0.0], [0.0, 0.1]], np.zeros((2, 2)), COVARIANCE])
    s = np.array([[0.3], [1.9]])
    for cov in (None, covariance):
        pool = bc.Affine(slope, offset, noise, cov)
        alone = [
            bc.Affine(slope[j], offset[j], noise[j], None if cov is None else cov[j]).log_marginal(s[:, 0])
            for j in range(3)
        ]
        assert pool.log_marginal(s) == pytest.approx(np.stack(alone, axis=-1), abs=1e-12)
