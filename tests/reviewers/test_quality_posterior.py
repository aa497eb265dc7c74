"""What several scores say of one quality, against the Gaussian posterior."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import blindcal as bc


def test_several_reviews_of_one_paper_have_the_gaussian_posterior() -> None:
    rng = np.random.default_rng(4)
    a, b, sigma = np.exp(rng.normal(0, 0.4, 3)), rng.normal(size=3), rng.uniform(0.3, 1.0, 3)
    reviewers = [bc.Affine(a[k], b[k], sigma[k]) for k in range(3)]
    scores = rng.normal(0, 3, (50, 3))
    precision = 1 + (a**2 / sigma**2).sum()
    mean = (a * (scores - b) / sigma**2).sum(axis=-1) / precision
    assert bc.reviewers.posterior_mean(reviewers, scores) == pytest.approx(mean, abs=1e-11)
    assert bc.reviewers.posterior_variance(reviewers, scores) == pytest.approx(
        np.full(50, 1 / precision), abs=1e-11
    )
    bar = rng.normal(size=50)
    tail = norm.sf(bar, mean, 1 / np.sqrt(precision))
    assert bc.reviewers.posterior_tail(reviewers, scores, bar) == pytest.approx(tail, abs=1e-11)
