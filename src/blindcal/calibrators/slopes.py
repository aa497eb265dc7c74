"""Reviewers' slopes: a normal distribution cut to positive values, its scale and spread learned."""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from blindcal.checks import Array

# cv = standard deviation / mean of a positive normal distribution, as a function of rho = location / scale:
# from 0.9 (nearly exponential) to 0.01 (reviewers hardly differ); interpolation in log cv is good to 1e-5.
_RHO = np.concatenate([np.linspace(-4.0, 6.0, 401), np.geomspace(6.05, 100.0, 200)])


def _lift(rho: Array) -> Array:
    """mean / scale of the positive normal distribution: `rho + phi(rho)/Phi(rho)`."""
    lifted: Array = rho + np.exp(-0.5 * rho**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(rho))
    return lifted


_LOG_CV = 0.5 * np.log1p(_RHO * _lift(_RHO) - _lift(_RHO) ** 2) - np.log(_lift(_RHO))
LEAST_SPREAD, GREATEST_SPREAD = float(np.exp(_LOG_CV[-1])), float(np.exp(_LOG_CV[0]))


# Four in five that reviewers hardly differ, and how sharply that falls off.
_EQUAL, _FALL = 0.8, 6
_HARDLY = _EQUAL * (_FALL - 1) * LEAST_SPREAD ** (_FALL - 1)
_ANYHOW = (1 - _EQUAL) / (GREATEST_SPREAD - LEAST_SPREAD)


def variation_prior(spread: Array) -> Array:
    """Density over log v of the relative spread v of slopes: reviewers hardly differ (v^-6), or may differ by
    anything (flat)."""
    density: Array = _HARDLY / spread ** (_FALL - 1) + _ANYHOW * spread
    return density


def location_and_scale(log_mean: Array, spread: Array) -> tuple[Array, Array, Array]:
    """(m, t, rho) of the positive normal distribution with this mean and this standard deviation / mean.

    >>> m, t, rho = location_and_scale(np.log([2.0]), np.array([0.05]))
    >>> m.round(3), t.round(3), rho.round(2)
    (array([2.]), array([0.1]), array([20.]))
    """
    rho = np.interp(-np.log(spread), -_LOG_CV, _RHO)
    t = np.exp(log_mean) / _lift(rho)
    return rho * t, t, rho


def log_density(total: Array, squares: Array, count: Array, log_mean: Array, spread: Array) -> Array:
    """Log density of `count` slopes with this sum and sum of squares, up to a constant."""
    m, t, rho = location_and_scale(log_mean, spread)
    fit = (squares - 2 * m * total + count * m**2) / (2 * t**2)
    density: Array = -count * (np.log(t) + log_ndtr(rho)) - fit
    return density


def normal_score(value: Array, mean: Array, sd: Array) -> Array:
    """The standard normal z with `P(N(0,1) > z) = P(slope > value)`, slope ~ N(mean, sd^2) cut to above 0."""
    survival = log_ndtr((mean - value) / sd) - log_ndtr(mean / sd)
    z: Array = -ndtri_exp(np.minimum(survival, 0.0))
    return np.clip(z, -8.0, 8.0)


def from_normal_score(z: Array, mean: Array, sd: Array) -> Array:
    """The inverse of `normal_score`, kept above 0."""
    x = -ndtri_exp(log_ndtr(-z) + log_ndtr(mean / sd))
    return np.maximum(mean + sd * x, np.finfo(float).tiny)
