"""Parts of samplers: conditional draws against SciPy and dense algebra, diagnostics against arviz-stats."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr
from scipy.stats import kstest, multivariate_normal, truncnorm

from blindcal.checks import Array
from blindcal.compute.mcmc import (
    bivariate_draw,
    bivariate_posterior,
    conditional_normal,
    ess_bulk,
    ess_tail,
    overrelaxed,
    overrelaxed_normal,
    positive_normal,
    positive_normal_score,
    regression_sums,
    rhat,
    truncated_normal,
)
from sizes import count

# R-hat, bulk and tail effective sample size of `chains`, by arviz-stats 0.8.0 (`array_stats.rhat` with method
# "rank", `array_stats.ess` with methods "bulk" and "tail", the latter for (0.05, 0.95)).
BY_ARVIZ = {
    "mixed": (1.070004985, 45.640863, 52.966112),
    "sticky": (1.664119683, 5.809315, 29.379216),
    "apart": (1.359223430, 8.977986, 41.707691),
    "wider": (1.312003029, 142.518907, 53.409107),
    "ties": (1.108117743, 26.344938, 52.289324),
    "alternating": (0.988445312, 249.501750, 141.593715),
    "heavy": (1.005042274, 156.637122, 105.897706),
}


def chains(kind: str) -> Array:
    """Three chains of 41 draws that no generator of random numbers can change."""
    chain, draw = np.arange(3)[:, None], np.arange(41)
    wave, slow = np.sin(0.9 * draw * draw + 2.0 * chain), np.sin(0.11 * draw + chain)
    kinds = {
        "mixed": wave + 0.3 * slow,
        "sticky": slow + 0.1 * wave,
        "apart": wave + 0.8 * chain,
        "wider": wave * (1.0 + 1.5 * chain),
        "ties": np.round(2.0 * wave + slow),
        "alternating": np.where(draw % 2, 1.0, -1.0) + 0.2 * wave,
        "heavy": np.tan(1.5 * wave),
    }
    return np.asarray(kinds[kind])


def test_diagnostics_are_those_of_arviz_stats_for_each_quantity() -> None:
    draws = np.stack([chains(kind) for kind in BY_ARVIZ], axis=-1)
    r, bulk, tail = np.array([*BY_ARVIZ.values()]).T
    np.testing.assert_allclose(rhat(draws), r, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ess_bulk(draws), bulk, rtol=0, atol=1e-6)
    np.testing.assert_allclose(ess_tail(draws), tail, rtol=0, atol=1e-6)


def test_diagnostics_of_what_cannot_be_judged() -> None:
    for diagnostic in (rhat, ess_bulk, ess_tail):
        assert np.isnan(diagnostic(np.ones((2, 10, 3)))).all(), "nothing varies"
        assert np.isnan(diagnostic(chains("mixed")[:, :3, None])).all(), "three draws"
    stuck = np.repeat([[0.0], [1.0]], 10, axis=1)[..., None]
    assert rhat(stuck) == [np.inf]


def test_independent_draws_count_as_many_as_they_are() -> None:
    """Over 400 quantities the means are within a percent or so; each single one is far less certain."""
    draws = np.random.default_rng(6).standard_normal((2, 200, 400))
    assert ess_bulk(draws).mean() == pytest.approx(400, rel=0.05)
    assert rhat(draws).mean() == pytest.approx(1.0, abs=0.01)
    # An autocorrelation of 0.8 leaves (1 - 0.8) / (1 + 0.8), a ninth.
    slow = draws.copy()
    for t in range(1, 200):
        slow[:, t] = 0.8 * slow[:, t - 1] + 0.6 * draws[:, t]
    assert ess_bulk(slow).mean() == pytest.approx(400 / 9, rel=0.25)


BOUNDS = [
    (-1.0, 0.5),
    (2.0, np.inf),
    (-np.inf, -3.0),
    (6.0, 6.5),
    (-9, -8),
    (-0.5, 7.0),
    (50, 50.1),
    (-60, -50),
]


@pytest.mark.parametrize(("low", "high"), BOUNDS)
def test_truncated_normal_has_the_law_of_truncnorm(low: float, high: float) -> None:
    """Kolmogorov and Smirnov, false alarm 1e-6 over the eight; `ndtr` is 0 in the last two."""
    n = count(2000, 20000)
    mean, sd = np.full(n, 0.3), np.full(n, 1.7)
    ends = 0.3 + 1.7 * low, 0.3 + 1.7 * high
    drawn = truncated_normal(mean, sd, *ends, np.random.default_rng(1).random(n))
    assert ((drawn >= ends[0]) & (drawn <= ends[1])).all()
    assert kstest((drawn - 0.3) / 1.7, truncnorm(low, high).cdf).pvalue > 1e-7


def test_truncated_normal_takes_each_entry_for_itself() -> None:
    low, high = np.array([-np.inf, 1.0, 45.0]), np.array([-1.0, np.inf, 46.0])
    both = truncated_normal(np.zeros(3), np.ones(3), low, high, np.full(3, 0.25))
    for place, ends in enumerate(zip(low, high, strict=True)):
        assert truncated_normal(np.zeros(1), np.ones(1), *ends, 0.25) == both[place]
    assert both[0] == pytest.approx(truncnorm.ppf(0.25, -np.inf, -1.0))
    # Above the mean the chance counts from the upper end.
    assert both[1:] == pytest.approx(truncnorm.ppf(0.75, low[1:], high[1:]))


def test_normal_scores_go_and_come_back() -> None:
    mean, sd = np.array([2.0, 0.1, -3.0, -30.0]), np.array([0.5, 1.0, 1.0, 2.0])
    z = np.array([-1.3, 0.4, 2.0, -0.7])
    value = positive_normal(z, mean, sd)
    assert (value > 0).all()
    np.testing.assert_allclose(positive_normal_score(value, mean, sd), z, atol=1e-6)
    np.testing.assert_allclose(ndtr(z[1]), 1 - np.exp(log_ndtr((0.1 - value[1]) / 1.0) - log_ndtr(0.1)))


def test_conditional_and_overrelaxed_draws() -> None:
    """A draw is linear in its normal: mean and standard deviation can be read off."""
    pull, precision = np.array([3.0, -1.0]), np.array([4.0, 0.25])
    zero, one = np.zeros(2), np.ones(2)
    assert conditional_normal(pull, precision, zero).tolist() == [0.75, -4.0]
    np.testing.assert_allclose(conditional_normal(pull, precision, one) - [0.75, -4.0], [0.5, 2.0])
    # With correlation r the variance stays: r^2 + (1 - r^2) = 1.
    r, rest = overrelaxed(one, zero), overrelaxed(zero, one)
    np.testing.assert_allclose(r, -0.95)
    np.testing.assert_allclose(r**2 + rest**2, 1.0)
    moved = overrelaxed_normal(np.array([1.75, 0.0]), pull / precision, precision, zero)
    np.testing.assert_allclose(moved, [0.75 - 0.95, -4.0 - 0.95 * 4.0])


def test_bivariate_posterior_is_that_of_dense_algebra() -> None:
    """Two reviewers with three and two reviews, each of its own precision."""
    mean, covariance = np.array([1.1, 0.3]), np.array([[0.09, 0.04], [0.04, 0.25]])
    who = np.array([0, 1, 0, 1, 0])
    quality, score = np.array([0.3, -1.0, 0.8, 2.0, -0.4]), np.array([0.9, -0.4, 1.5, 2.2, 0.2])
    weight = np.array([1.0, 4.0, 0.5, 2.0, 3.0])
    sums = regression_sums(quality, score, weight, lambda part: np.bincount(who, part))
    prior = np.array([*mean, 0.09, 0.04, 0.25])[:, None]
    after, evidence = bivariate_posterior(prior, sums)
    expected = []
    for person in (0, 1):
        own = who == person
        x, noise = np.stack([quality[own], np.ones(own.sum())], axis=1), np.diag(1 / weight[own])
        total = x @ covariance @ x.T + noise
        gain = covariance @ x.T @ np.linalg.inv(total)
        center, spread = mean + gain @ (score[own] - x @ mean), covariance - gain @ x @ covariance
        np.testing.assert_allclose(after[:, person], [*center, spread[0, 0], spread[0, 1], spread[1, 1]])
        # Up to a constant of the scores: their density if slope and offset were 0.
        density = multivariate_normal.logpdf(score[own], x @ mean, total)
        expected.append(density - multivariate_normal.logpdf(score[own], np.zeros(own.sum()), noise))
    np.testing.assert_allclose(0.5 * evidence, expected)


def test_bivariate_draws_have_their_mean_and_covariance() -> None:
    distribution = np.array([1.0, -2.0, 0.5, -0.3, 0.4])[:, None]
    normals = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    drawn = bivariate_draw(np.repeat(distribution, 3, axis=1), normals)
    assert drawn[:, 0].tolist() == [1.0, -2.0]
    root = drawn[:, 1:] - drawn[:, :1]
    np.testing.assert_allclose(root @ root.T, [[0.5, -0.3], [-0.3, 0.4]])
    assert root[0, 1] == 0.0
