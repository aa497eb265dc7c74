"""Draws of the sampler's own distributions, against SciPy, integrals and grids."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest, norm, t

from blindcal.checks import Array
from blindcal.fitting.gibbs import covariance, log_prior_of_root, log_scale
from sizes import count


def test_log_scale_has_the_density_that_it_says() -> None:
    """Mean of l and l^2 over independent chains against a grid; false alarm 1e-6."""
    chains, n, squares, mean, sd = count(20000, 200000), 3.0, 2.5, -0.4, 0.6
    rng, now = np.random.default_rng(2), np.full(count(20000, 200000), 0.3)
    # What the first value still is after so many steps is far below the error.
    for _ in range(60):
        now = log_scale(np.full(chains, n), np.full(chains, squares), mean, sd, now, rng)
    grid = np.linspace(-4, 4, 4001)
    density = np.exp(-n * grid - squares / 2 * np.exp(-2 * grid) - 0.5 * ((grid - mean) / sd) ** 2)
    density /= density.sum()
    for power in (1, 2):
        exact = density @ grid**power
        error = np.sqrt((density @ grid ** (2 * power) - exact**2) / chains)
        assert abs((now**power).mean() - exact) < norm.isf(2.5e-7) * error


def test_covariance_without_data_has_half_t_deviations_and_uniform_correlation() -> None:
    """Kolmogorov and Smirnov on every 30th draw, which are as good as independent; false alarm 1e-6."""
    rng, now, kept = np.random.default_rng(5), np.eye(2), []
    for index in range(count(15000, 90000)):
        now = covariance(np.zeros((2, 2)), 0, now, 0.7, rng)
        if index % 30 == 29:
            kept.append((np.sqrt(now[0, 0]), np.sqrt(now[1, 1]), now[0, 1] / np.sqrt(now[0, 0] * now[1, 1])))
    first, second, correlation = np.array(kept).T
    for sd in (first, second):
        assert kstest(sd, lambda x: 2 * t.cdf(x / 0.7, 2) - 1).pvalue > 3e-7
    assert kstest(correlation, lambda x: (x + 1) / 2).pvalue > 3e-7


def test_the_law_of_a_root_is_that_of_the_covariance_times_its_jacobian() -> None:
    """The prior of the covariance as the integral that defines it; the Jacobian by differences."""
    roots = [np.array([[0.5, 0.0], [0.2, 0.7]]), np.array([[1.4, 0.0], [-0.6, 0.3]])]
    found = [log_prior_of_root(root, 0.5) for root in roots]
    exact = [np.log(_integrated(root @ root.T, 0.5)) + np.log(_jacobian(root)) for root in roots]
    assert found[0] - found[1] == pytest.approx(exact[0] - exact[1], abs=1e-6)


def _integrated(given: Array, scale: float) -> float:
    """Inverse Wishart (3 degrees of freedom, scale matrix 4/a on the diagonal), with each a inverse gamma."""
    inverse = np.linalg.inv(given).diagonal()
    value = np.linalg.det(given) ** -3.0

    def inner(a: float, k: int) -> float:
        scaled = (4 / a) ** 1.5 * np.exp(-2 / a * inverse[k])
        return float(scaled * a**-1.5 * np.exp(-1 / (scale**2 * a)))

    for k in (0, 1):
        value *= quad(inner, 0, np.inf, args=(k,))[0]
    return float(value)


def _jacobian(root: Array) -> float:
    """|d(covariance) / d(root)| by central differences."""
    places, step = [(0, 0), (1, 0), (1, 1)], 1e-6
    columns = []
    for i, j in places:
        up, down = root.copy(), root.copy()
        up[i, j] += step
        down[i, j] -= step
        change = (up @ up.T - down @ down.T) / (2 * step)
        columns.append([change[0, 0], change[1, 0], change[1, 1]])
    return float(abs(np.linalg.det(np.array(columns))))
