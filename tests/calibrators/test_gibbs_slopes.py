"""The distribution of slopes: a positive normal, and its density."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import truncnorm

from blindcal.calibrators.gibbs import location_and_scale, log_density


def test_positive_normal_law_has_the_asked_mean_and_spread() -> None:
    for mean, spread in [(0.7, 0.05), (1.0, 0.4), (2.0, 0.75), (1.0, 0.88)]:
        m, t, rho = location_and_scale(np.log([mean]), np.array([spread]))
        prior = truncnorm(-rho[0], np.inf, loc=m[0], scale=t[0])
        assert prior.mean() == pytest.approx(mean, rel=1e-9)
        assert prior.std() / prior.mean() == pytest.approx(spread, rel=2e-5)


def test_log_density_is_that_of_the_positive_normal_law() -> None:
    slopes = np.array([0.3, 1.1, 2.4])
    log_mean, spread = np.log([1.2]), np.array([0.6])
    m, t, rho = location_and_scale(log_mean, spread)
    expected = truncnorm(-rho[0], np.inf, loc=m[0], scale=t[0]).logpdf(slopes).sum()
    found = log_density(
        np.array([slopes.sum()]), np.array([(slopes**2).sum()]), np.array([3.0]), log_mean, spread
    )
    assert found[0] - 1.5 * np.log(2 * np.pi) == pytest.approx(expected)
