"""The chain behind `offsets` and `hierarchical` leaves the right distribution as it is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import kstest, truncnorm

from blindcal.calibrators.gibbs import (
    GREATEST_SPREAD,
    HIGHEST,
    LEAST_SPREAD,
    LOWEST,
    Batch,
    ConferenceSampler,
    ConferenceState,
    fit_batch,
    location_and_scale,
    log_density,
    variation_prior,
)
from sizes import count

ALARM = 1e-6  # chance that a right chain fails one of these tests of a distribution


def prior_state(
    rng: np.random.Generator, groups: int, papers: int, reviewers: int, common: bool
) -> ConferenceState:
    """An exact draw of everything from the model's own distributions."""
    mean, spread, noise = rng.uniform(LOWEST, HIGHEST, (3, groups))
    # Four in five fall off as v^-6, one in five is flat.
    hardly = LEAST_SPREAD * rng.uniform(size=groups) ** -0.2
    variation = np.where(
        rng.uniform(size=groups) < 0.8, hardly, rng.uniform(LEAST_SPREAD, GREATEST_SPREAD, groups)
    )
    m, t, rho = location_and_scale(np.log(mean), variation)
    slope = np.repeat(mean, reviewers)
    if not common:
        drawn = truncnorm.rvs(-rho[:, None], np.inf, size=(groups, reviewers), random_state=rng)
        slope = (m[:, None] + t[:, None] * drawn).ravel()
    return ConferenceState(
        quality=rng.standard_normal(groups * papers),
        slope=slope,
        offset=np.repeat(spread, reviewers) * rng.standard_normal(groups * reviewers),
        noise=noise,
        center=np.zeros(groups),
        spread=spread,
        log_mean=np.log(mean),
        variation=variation,
    )


@pytest.mark.parametrize("common", [True, False])
def test_sweeps_leave_the_joint_distribution_of_data_and_parameters(common: bool) -> None:
    """Parameters from their distributions, scores given them, then sweeps given the scores: neither may move.

    Uneven loads on purpose. Kolmogorov-Smirnov on independent conferences; each part fails by chance at 1e-6.
    """
    rng, groups = np.random.default_rng(8), count(12000, 40000)
    edges = np.array([[0, 0], [0, 1], [0, 2], [1, 0], [1, 3], [2, 1], [2, 3], [3, 0], [3, 2], [4, 0]])
    papers, reviewers = 5, 4
    copy = np.repeat(np.arange(groups), len(edges))
    paper, reviewer = (np.tile(edges[:, k], groups) + copy * n for k, n in ((0, papers), (1, reviewers)))
    start = prior_state(rng, groups, papers, reviewers, common)
    score = start.slope[reviewer] * start.quality[paper] + start.offset[reviewer]
    score += start.noise[copy] * rng.standard_normal(score.size)
    groups_of = (np.repeat(np.arange(groups), papers), np.repeat(np.arange(groups), reviewers))
    sampler = ConferenceSampler(Batch(paper, reviewer, score, *groups_of), common_slope=common, rng=rng)
    sampler.state = start
    for _ in range(40):
        sampler.sweep()
    s = sampler.state
    for value in (s.noise, s.spread, np.exp(s.log_mean)):
        assert kstest((value - LOWEST) / (HIGHEST - LOWEST), "uniform").pvalue > ALARM
    assert kstest(s.quality[::papers], "norm").pvalue > ALARM
    assert kstest(s.quality[4::papers], "norm").pvalue > ALARM
    together = s.quality.reshape(groups, papers)
    assert kstest(together.mean(axis=1) * np.sqrt(papers), "norm").pvalue > ALARM
    assert kstest((together**2).sum(axis=1), "chi2", args=(papers,)).pvalue > ALARM
    z = (s.offset - np.repeat(s.center, reviewers)) / np.repeat(s.spread, reviewers)
    assert kstest(z[3::reviewers], "norm").pvalue > ALARM
    if not common:
        flat = (s.variation - LEAST_SPREAD) / (GREATEST_SPREAD - LEAST_SPREAD)
        below = 0.8 * (1 - (LEAST_SPREAD / s.variation) ** 5) + 0.2 * flat
        assert kstest(below, "uniform").pvalue > ALARM
        m, t, rho = location_and_scale(s.log_mean, s.variation)
        x = (s.slope[1::reviewers] - m) / t
        assert kstest((ndtr(x) - ndtr(-rho)) / ndtr(rho), "uniform").pvalue > ALARM


def test_moves_leave_residuals_as_they_are() -> None:
    rng = np.random.default_rng(2)
    batch = Batch([0, 0, 1, 1, 2, 2], [0, 1, 1, 2, 0, 2], rng.standard_normal(6))
    sampler = ConferenceSampler(batch, common_slope=False, rng=rng)
    sampler.state.slope = rng.uniform(0.2, 2, 3)

    def residual() -> np.ndarray:
        s = sampler.state
        return batch.score - s.slope[batch.reviewer] * s.quality[batch.paper] - s.offset[batch.reviewer]

    before, quality = residual(), sampler.state.quality
    sampler.move_location()
    sampler.move_scale()
    assert np.abs(sampler.state.quality - quality).min() > 0
    np.testing.assert_allclose(residual(), before, atol=1e-12)


def test_common_slope_agrees_with_the_gaussian_posterior() -> None:
    """Spreads frozen, everything else is jointly Gaussian: dense algebra gives the exact posterior.

    Within six standard errors by the means of 50 blocks of sweeps: false alarm below 1e-5 in all.
    """
    rng = np.random.default_rng(3)
    paper, reviewer = (
        np.repeat(np.arange(6), 3),
        np.array([0, 1, 2, 0, 1, 3, 0, 2, 3, 1, 2, 3, 0, 1, 2, 1, 2, 3]),
    )
    a, tau, sigma = 0.8, 0.6, 0.4
    score = rng.standard_normal(18)
    sampler = ConferenceSampler(Batch(paper, reviewer, score), common_slope=True, rng=rng)
    s = sampler.state
    s.slope, s.spread, s.noise = np.full(4, a), np.array([tau]), np.array([sigma])
    design = np.zeros((18, 10))
    design[np.arange(18), paper], design[np.arange(18), 6 + reviewer] = a, 1.0
    precision = design.T @ design / sigma**2 + np.diag([1.0] * 6 + [tau**-2] * 4)
    exact, covariance = np.linalg.solve(precision, design.T @ score / sigma**2), np.linalg.inv(precision)
    drawn = np.empty((count(20000, 200000), 6))
    for sweep in range(len(drawn)):
        sampler.draw_quality()
        sampler.draw_offsets()
        drawn[sweep] = s.quality
    off = drawn - exact[:6]
    for values, right in ((off, np.zeros(6)), (off**2, np.diag(covariance)[:6])):
        blocks = values.reshape(50, -1, 6).mean(axis=1)
        error = blocks.std(axis=0, ddof=1) / np.sqrt(50)
        assert (np.abs(blocks.mean(axis=0) - right) < 6 * error).all()


def identical(groups: int, rng: np.random.Generator) -> tuple[ConferenceSampler, np.ndarray, np.ndarray]:
    """A sampler of `groups` copies of one small conference, and its slopes and offsets."""
    paper, reviewer = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 1, 2, 0, 2])
    copy = np.repeat(np.arange(groups), 6)
    batch = Batch(
        np.tile(paper, groups) + 3 * copy,
        np.tile(reviewer, groups) + 3 * copy,
        rng.standard_normal(6 * groups),
        np.repeat(np.arange(groups), 3),
        np.repeat(np.arange(groups), 3),
    )
    sampler = ConferenceSampler(batch, common_slope=False, rng=rng)
    slope, offset = np.array([0.3, 1.0, 2.1]), np.array([-0.4, 0.1, 0.6])
    sampler.state.slope, sampler.state.offset = np.tile(slope, groups), np.tile(offset, groups)
    sampler.state.quality = np.tile([0.5, -1.0, 1.4], groups)
    sampler.state.center, sampler.state.spread = np.full(groups, 0.2), np.full(groups, 0.4)
    return sampler, slope, offset


def test_location_move_is_a_draw_from_its_own_law() -> None:
    """d has density prod phi(q + d) * prod N(offset - slope d; center - mean slope d, spread): on a grid."""
    sampler, slope, offset = identical(40000, np.random.default_rng(5))
    d = np.linspace(-6, 6, 20001)[:, None]
    log = -0.5 * ((np.array([0.5, -1.0, 1.4]) + d) ** 2).sum(axis=1)
    log -= 0.5 * (((offset - slope * d - 0.2 + slope.mean() * d) / 0.4) ** 2).sum(axis=1)
    cdf = np.cumsum(np.exp(log - log.max()))
    before = sampler.state.quality[::3].copy()
    sampler.move_location()
    moved = sampler.state.quality[::3] - before
    assert kstest(moved, lambda x: np.interp(x, d[:, 0], cdf / cdf[-1])).pvalue > ALARM


def test_slope_law_given_slopes_is_a_draw_from_its_own_law() -> None:
    """Metropolis steps at fixed slopes reach the prior that a grid over (mean, variation) gives."""
    sampler, slope, _ = identical(20000, np.random.default_rng(6))
    sampler.state.log_mean[:], sampler.state.variation[:] = 0.0, 0.5
    sampler.draw_slope_spread(tries=300)
    mean, variation = np.linspace(LOWEST, HIGHEST, 1500), np.geomspace(LEAST_SPREAD, GREATEST_SPREAD, 600)
    grid_mean, grid_variation = (part.ravel() for part in np.meshgrid(mean, variation))
    sums = (np.full(grid_mean.size, slope.sum()), np.full(grid_mean.size, (slope**2).sum()))
    log = log_density(*sums, np.full(grid_mean.size, 3.0), np.log(grid_mean), grid_variation)
    weight = np.exp(log - log.max()).reshape(variation.size, mean.size)
    weight *= variation_prior(variation)[:, None]
    for axis, points, drawn in (
        (0, mean, np.exp(sampler.state.log_mean)),
        (1, variation, sampler.state.variation),
    ):
        cdf = np.cumsum(weight.sum(axis=axis))
        middle = (cdf - 0.5 * weight.sum(axis=axis)) / cdf[-1]
        assert kstest(drawn, lambda x, p=points, c=middle: np.interp(x, p, c)).pvalue > ALARM


# --- Conferences fitted in one batch share nothing.


def test_conferences_of_a_batch_share_nothing() -> None:
    """The same conference beside a very different one: the same answer, up to Monte Carlo error.

    That of 3,000 sweeps is 0.008 at the most, 0.003 in the mean square, and 1.5 % of a noise; a conference
    that took part in the other's scale would be off by whole units.
    """
    rng = np.random.default_rng(4)
    paper, reviewer = np.repeat(np.arange(40), 3), np.argsort(rng.random((40, 20)), axis=1)[:, :3].ravel()
    slope, offset = rng.uniform(0.5, 1.5, 20), rng.normal(0, 0.7, 20)
    score = (
        slope[reviewer] * rng.standard_normal(40)[paper] + offset[reviewer] + 0.3 * rng.standard_normal(120)
    )
    alone = fit_batch(Batch(paper, reviewer, score), common_slope=False, sweeps=3000)
    beside = np.concatenate([score, 100 + 30 * rng.standard_normal(120)])
    groups = (np.repeat([0, 1], 40), np.repeat([0, 1], 20))
    both = fit_batch(
        Batch(np.r_[paper, paper + 40], np.r_[reviewer, reviewer + 20], beside, *groups),
        common_slope=False,
        sweeps=3000,
    )
    np.testing.assert_allclose(both.quality[:40], alone.quality, atol=0.03)
    assert np.sqrt(np.mean((both.quality[:40] - alone.quality) ** 2)) < 0.01
    np.testing.assert_allclose(both.noise[0], alone.noise[0], rtol=0.06)


# --- The distribution of slopes: a positive normal, and its density.


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
