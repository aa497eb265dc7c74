"""Reviewers: one likelihood for every kind, its marginal, inverses, and what is refused."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from scipy.integrate import quad
from scipy.special import logsumexp, ndtr
from scipy.stats import norm

import blindcal as bc
from blindcal.checks import Array
from blindcal.errors import InputError

COVARIANCE = [[0.2, 0.05], [0.05, 0.1]]


def curves(noise: float) -> dict[str, bc.Reviewer]:
    """One of each kind, none of them symmetric."""
    return {
        "affine": bc.Affine(1.3, 0.4, noise),
        "power": bc.reviewers.Power(1.5, 0.7, 0.2, noise),
        "timid power": bc.reviewers.Power(0.6, 1.7, -0.2, noise),
        "cubic": bc.reviewers.Power(3.0, 0.5, 0.3, noise),
        "pieces": bc.reviewers.PiecewiseLinear([-1.0, 0.3, 0.5, 2.0], [0.0, 0.2, 1.4, 1.9], noise),
        "logistic": bc.reviewers.Logistic(1.0, 10.0, 1.2, 0.3, noise),
        "steep logistic": bc.reviewers.Logistic(1.0, 10.0, 6.0, -5.0, noise),
        "callable": bc.reviewers.Monotone(lambda t: t + 0.9 * np.sin(t), noise=noise),
    }


def noisy() -> list[tuple[str, bc.Reviewer]]:
    uncertain = {
        "uncertain": bc.Affine(1.3, 0.4, 0.3, COVARIANCE),
        "uncertain, no noise": bc.Affine(1.3, 0.4, 0.0, COVARIANCE),
        "uncertain slope": bc.Affine(0.8, 0.1, 0.05, [[1.0, 0.0], [0.0, 0.0]]),
    }
    return [
        *((f"{name} {noise}", r) for noise in (0.05, 0.5, 2.0) for name, r in curves(noise).items()),
        *uncertain.items(),
    ]


def on_grid() -> list[tuple[str, bc.Rounded]]:
    grid = [-1.5, 0.0, 0.5, 2.0, 6.0]
    return [
        (name, bc.Rounded(r, grid)) for name, r in [*curves(0.0).items(), *noisy()] if "no noise" not in name
    ]


def named(cases: list[tuple[str, bc.Reviewer]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("reviewer", [r for _, r in cases], ids=[name for name, _ in cases])


def integral(log_density, low: float, high: float, points: list[float]) -> float:
    inside = sorted(p for p in points if low < p < high)
    return sum(
        quad(lambda x: float(np.exp(log_density(x))), a, b, epsabs=1e-13, epsrel=1e-12, limit=200)[0]
        for a, b in zip([low, *inside], [*inside, high], strict=True)
    )


@named(noisy())
@pytest.mark.parametrize("quality", [-2.1, 0.0, 0.7])
def test_likelihood_integrates_to_one_over_scores(reviewer: bc.Reviewer, quality: float) -> None:
    middle, width = float(reviewer.score(quality)), float(reviewer.spread(quality))
    low, high = middle - 12 * width, middle + 12 * width
    total = integral(lambda s: reviewer.log_likelihood(s, quality), low, high, [middle])
    assert total == pytest.approx(1.0, abs=1e-9)


@named(on_grid())
def test_likelihood_sums_to_one_over_the_grid(reviewer: bc.Rounded) -> None:
    t = np.linspace(-8.0, 8.0, 101)
    assert logsumexp(reviewer.log_likelihood(reviewer.grid[:, None], t), axis=0) == pytest.approx(
        0.0, abs=1e-9
    )


@named(on_grid())
def test_marginal_sums_to_one_over_the_grid(reviewer: bc.Rounded) -> None:
    assert logsumexp(reviewer.log_marginal(reviewer.grid)) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("name", list(curves(0.5)))
def test_a_fine_grid_tends_to_the_density(name: str) -> None:
    plain = curves(0.5)[name]
    middle, t = float(plain.score(0.4)), np.array([-0.5, 0.4, 1.0])
    exact = np.exp(plain.log_likelihood(middle, t))
    worst = []
    for step in (0.04, 0.02, 0.01):
        rounded = bc.Rounded(plain, middle + step * np.arange(-5, 6))
        worst.append(np.abs(np.exp(rounded.log_likelihood(middle, t)) / step - exact).max())
    assert worst[0] / worst[1] == pytest.approx(4.0, abs=0.2)  # the error of a midpoint: step squared
    assert worst[1] / worst[2] == pytest.approx(4.0, abs=0.2)
    assert worst[2] < 1e-4


@named(noisy())
def test_marginal_is_the_integral_over_qualities(reviewer: bc.Reviewer) -> None:
    for score in reviewer.score(np.array([-1.7, 0.1, 0.45, 1.6])) + 0.31 * reviewer.spread(0.0):
        best = float(np.clip(reviewer.quality(score), -10, 10))
        width = float(np.clip(reviewer.spread(best) / max(float(reviewer.derivative(best)), 1e-3), 1e-3, 1.0))
        points = [best + k * width for k in (-8, -3, -1, 0, 1, 3, 8)]
        knots = [float(k) for k in np.ravel(reviewer.knots) if abs(k) < 9] + [-4.0, -1.0, 0.0, 1.0, 4.0]
        value = integral(
            lambda t, s=score: reviewer.log_likelihood(s, t) + norm.logpdf(t), -12.0, 12.0, points + knots
        )
        assert np.exp(reviewer.log_marginal(score)) == pytest.approx(value, rel=1e-9, abs=1e-12)


def legendre(ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of twenty-point rules between consecutive ends."""
    x, w = np.polynomial.legendre.leggauss(20)
    half = np.diff(ends)[:, None] / 2
    return ((ends[1:] + ends[:-1])[:, None] / 2 + half * x).ravel(), (half * w).ravel()


@pytest.mark.parametrize("name", list(curves(0.5)))
def test_marginal_integrates_to_one_over_scores(name: str) -> None:
    reviewer = curves(0.3)[name]
    curve = reviewer.score(np.concatenate([np.linspace(-9.0, 9.0, 37), np.ravel(reviewer.knots)]))
    low, high = curve.min() - 3.0, curve.max() + 3.0
    s, weight = legendre(np.unique(np.concatenate([np.linspace(low, high, 41), curve])))
    assert weight @ np.exp(reviewer.log_marginal(s)) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("name", list(curves(0.0)))
def test_noiseless_marginal_integrates_to_one_over_scores(name: str) -> None:
    """In quality, where a cusp of the density is harmless: ds = derivative dt."""
    reviewer = curves(0.0)[name]
    t, weight = legendre(np.linspace(-4.0, 3.0, 36))
    density = np.exp(reviewer.log_marginal(reviewer.score(t))) * reviewer.derivative(t)
    assert weight @ density == pytest.approx(ndtr(3.0) - ndtr(-4.0), abs=1e-9)


@pytest.mark.parametrize("noise", [0.02, 0.5, 3.0])
@pytest.mark.parametrize("score", [-30.0, -1.0, 0.1, 0.21, 1.2, 2.5, 40.0])
def test_straight_pieces_have_a_closed_form(noise: float, score: float) -> None:
    """Each piece is an affine reviewer on an interval of qualities: a Gaussian mass times its marginal."""
    reviewer = bc.reviewers.PiecewiseLinear([-1.0, 0.3, 0.5, 2.0], [0.0, 0.2, 1.4, 1.9], noise)
    slopes = np.diff(reviewer.scores) / np.diff(reviewer.qualities)
    offsets = reviewer.scores[:-1] - slopes * reviewer.qualities[:-1]
    ends = np.array([-np.inf, *reviewer.qualities[1:-1], np.inf])
    total = slopes**2 + noise**2
    mean, deviation = slopes * (score - offsets) / total, noise / np.sqrt(total)
    below, above = (ends[:-1] - mean) / deviation, (ends[1:] - mean) / deviation
    flip = below > 0
    mass = norm.logcdf(np.where(flip, -below, above)), norm.logcdf(np.where(flip, -above, below))
    inside = mass[0] + np.log1p(-np.exp(mass[1] - mass[0]))
    expected = logsumexp(norm.logpdf(score, offsets, np.sqrt(total)) + inside)
    assert reviewer.log_marginal(score) == pytest.approx(expected, rel=1e-12, abs=1e-11)


@pytest.mark.parametrize("noise", [0.0, 0.4])
def test_kinds_that_coincide_agree(noise: float) -> None:
    affine, s = bc.Affine(1.3, 0.4, noise), np.linspace(-3.0, 4.0, 23)
    same = [
        bc.reviewers.Power(1.0, 1.3, 0.4, noise),
        bc.reviewers.PiecewiseLinear([-1.0, 0.0, 2.0], [-0.9, 0.4, 3.0], noise),
        bc.reviewers.Monotone(lambda t: 1.3 * t + 0.4, noise=noise),
        bc.Affine(1.3, 0.4, noise, np.zeros((2, 2))),
    ]
    for other in same:
        assert other.log_marginal(s) == pytest.approx(affine.log_marginal(s), abs=1e-10)


def test_a_callable_needs_no_inverse_nor_derivative() -> None:
    exact = bc.reviewers.Logistic(1.0, 10.0, 1.2, 0.3)
    found = bc.reviewers.Monotone(lambda t: 1.0 + 9.0 / (1.0 + np.exp(-(1.2 * t + 0.3))))
    given_all = bc.reviewers.Monotone(exact.score, exact.quality, 0.0, exact.derivative)
    s = np.linspace(1.05, 9.9, 41)
    for other in (found, given_all):
        assert other.quality(s) == pytest.approx(exact.quality(s), abs=1e-12)
        assert other.log_marginal(s) == pytest.approx(exact.log_marginal(s), abs=1e-9)


@given(st.sampled_from(sorted(curves(0.0))), st.floats(-3.0, 3.0))
def test_inverses_round_trip(name: str, quality: float) -> None:
    reviewer = curves(0.0)[name]
    slope = float(reviewer.derivative(quality))
    score = float(reviewer.score(quality))
    # One unit in the last place of the score is all that an inverse can see.
    seen = 4.0 * np.spacing(abs(score) + 10.0) / max(slope, 1e-300)
    if seen < 1e-12:
        assert float(reviewer.quality(score)) == pytest.approx(quality, abs=1e-12)
    assert float(reviewer.score(reviewer.quality(score))) == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize("name", list(curves(0.0)))
def test_derivatives_are_those_of_the_curve(name: str) -> None:
    reviewer, t, h = curves(0.0)[name], np.array([-1.7, -0.4, 0.2, 0.41, 1.3]), 1e-6
    slope = (reviewer.score(t + h) - reviewer.score(t - h)) / (2 * h)
    assert reviewer.derivative(t) == pytest.approx(slope, rel=1e-6, abs=1e-9)


def test_a_steep_callable_may_overflow_on_its_way() -> None:
    steep = bc.reviewers.Monotone(lambda t: 10.0 / (1.0 + np.exp(-20.0 * t)), noise=0.3)
    same = bc.reviewers.Logistic(0.0, 10.0, 20.0, noise=0.3)
    s = np.array([-1.0, 0.2, 5.0, 9.9])
    assert steep.log_marginal(s) == pytest.approx(same.log_marginal(s), abs=1e-9)


@pytest.mark.parametrize("noise", [0.02, 0.3, 2.0])
def test_a_callable_with_kinks_and_steps_is_resolved(noise: float) -> None:
    pieces = bc.reviewers.PiecewiseLinear([-1.0, 0.3, 0.31, 2.0], [0.0, 0.2, 2.4, 2.9], noise)
    same = bc.reviewers.Monotone(pieces.score, noise=noise)
    s = np.array([-3.0, 0.1, 0.21, 1.5, 2.5, 6.0])
    assert same.log_marginal(s) == pytest.approx(pieces.log_marginal(s), abs=1e-9)


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


@pytest.mark.parametrize("name", list(curves(0.0)))
def test_small_noise_recovers_the_noiseless_marginal(name: str) -> None:
    s = curves(0.0)[name].score(np.array([0.6, 0.75, 1.2]))
    sharp = curves(0.0)[name].log_marginal(s)
    worst = [np.abs(curves(noise)[name].log_marginal(s) - sharp).max() for noise in (1e-2, 1e-3, 1e-4)]
    assert worst[2] < 1e-5
    assert worst[2] <= worst[1] <= worst[0]


@named(noisy())
def test_sixty_deviations_out_stays_finite(reviewer: bc.Reviewer) -> None:
    scale = float(np.sqrt(reviewer.spread(0.0) ** 2 + np.ptp(reviewer.score(np.array([-1.0, 1.0]))) ** 2 / 4))
    s = float(reviewer.score(0.0)) + scale * np.array([-60.0, -25.0, 25.0, 60.0])
    far = reviewer.log_marginal(s)
    assert np.isfinite(far).all()
    assert far[0] < far[1]
    assert far[3] < far[2]


def test_scores_beyond_the_scale_are_impossible_without_noise() -> None:
    reviewer = bc.reviewers.Logistic(1.0, 10.0)
    assert (reviewer.quality([0.5, 1.0, 10.0, 11.0]) == [-np.inf, -np.inf, np.inf, np.inf]).all()
    assert (reviewer.log_marginal([0.5, 10.5]) == -np.inf).all()


def test_rounding_reports_the_nearest_value_and_the_likelihood_knows_it() -> None:
    rounded = bc.Rounded(bc.Affine(1.0), [1.0, 2.0, 4.0])
    t = np.array([-5.0, 1.4, 1.5, 2.9, 3.0, 9.0])
    assert rounded.score(t).tolist() == [1.0, 1.0, 2.0, 2.0, 4.0, 4.0]
    assert (rounded.log_likelihood(rounded.score(t), t) == 0.0).all()


BAD = {
    "slope": lambda: bc.Affine(0.0),
    "slope must be finite, found nan": lambda: bc.Affine([1.0, np.nan]),
    "noise must be at least 0, found -0.1": lambda: bc.Affine(1.0, noise=-0.1),
    "must broadcast": lambda: bc.Affine([1.0, 2.0], [1.0, 2.0, 3.0]),
    "positive semidefinite": lambda: bc.Affine(1.0, covariance=[[1.0, 2.0], [2.0, 1.0]]),
    "symmetric": lambda: bc.Affine(1.0, covariance=[[1.0, 0.2], [0.1, 1.0]]),
    r"\[..., 2, 2\]": lambda: bc.Affine(1.0, covariance=[1.0, 2.0]),
    "positive definite where noise is 0": lambda: bc.Affine(1.0, covariance=[[1.0, 0.0], [0.0, 0.0]]),
    "score must increase": lambda: bc.reviewers.Monotone(np.negative),
    "must increase with quality": lambda: bc.reviewers.Monotone(
        lambda t: np.maximum(t, 0.0) + np.minimum(t, -1.0)
    ),
    "score must accept an array": lambda: bc.reviewers.Monotone(math.exp),
    "array of its shape": lambda: bc.reviewers.Monotone(lambda t: 1.0),
    "must be finite, found": lambda: bc.reviewers.Monotone(lambda t: t * np.where(t > 3, np.inf, 1.0)),
    "quality must invert score": lambda: bc.reviewers.Monotone(lambda t: 2 * t, lambda s: s),
    "exponent must be above 0": lambda: bc.reviewers.Power(-1.0),
    "exponent must be one number": lambda: bc.reviewers.Power([1.0, 2.0]),
    "scores must increase, found 0": lambda: bc.reviewers.PiecewiseLinear([0.0, 1.0], [1.0, 0.0]),
    "lists of one length": lambda: bc.reviewers.PiecewiseLinear([0.0, 1.0, 2.0], [1.0, 2.0]),
    "high must be above low": lambda: bc.reviewers.Logistic(3.0, 3.0),
    "grid must increase": lambda: bc.Rounded(bc.Affine(1.0), [1.0, 1.0]),
    "at least two": lambda: bc.Rounded(bc.Affine(1.0), [1.0]),
    "rounded already": lambda: bc.Rounded(bc.Rounded(bc.Affine(1.0), [1.0, 2.0]), [1.0, 2.0]),
    "grid 1, 2, found 1.5": lambda: bc.Rounded(bc.Affine(1.0), [1.0, 2.0]).log_marginal(1.5),
    "without noise a score fixes": lambda: bc.Affine(1.0).log_likelihood(0.0, 0.0),
    "seen in the digits of the scores, found 1e-15": lambda: bc.reviewers.Logistic(
        1, 10, noise=1e-15
    ).log_marginal(6.0),
    "score must be finite": lambda: bc.Affine(1.0, noise=1.0).log_likelihood(np.inf, 0.0),
}


@pytest.mark.parametrize("message", list(BAD))
def test_bad_reviewers_are_refused_by_name(message: str) -> None:
    with pytest.raises(InputError, match=message):
        BAD[message]()


@dataclass(frozen=True)
class Louder(bc.Reviewer):
    """Scores that spread more with quality: `spread = noise + log(1 + exp(growth * quality))`."""

    growth: float
    noise: Array = field(default_factory=lambda: np.asarray(0.1))

    def score(self, quality: ArrayLike) -> Array:
        return np.asarray(1.5 * np.asarray(quality) + 0.3)

    def quality(self, score: ArrayLike) -> Array:
        return np.asarray((np.asarray(score) - 0.3) / 1.5)

    def derivative(self, quality: ArrayLike) -> Array:
        return np.full(np.shape(quality), 1.5)

    def spread(self, quality: ArrayLike) -> Array:
        return np.asarray(self.noise + np.log1p(np.exp(self.growth * np.asarray(quality))))


def log_mass(reviewer: bc.Reviewer, score: float, low: float = -12.0, high: float = 12.0) -> float:
    """log of the integral of phi times the normal density of the score, by trapezoids at 400,000 points."""
    t = np.linspace(low, high, 400_001)
    spread = reviewer.spread(t)
    value = norm.pdf(t) * norm.pdf(score, reviewer.score(t), spread)
    return float(np.log(np.trapezoid(value, t)))


@pytest.mark.parametrize("growth", [-3.0, 0.5, 4.0])
def test_a_spread_of_its_own_is_integrated_over(growth: float) -> None:
    """A subclass with another spread than its noise: the integral follows the spread."""
    reviewer = Louder(growth)
    scores = np.array([-9.0, -2.0, 0.3, 1.0, 6.0, 14.0])
    found = reviewer.log_marginal(scores)
    np.testing.assert_allclose(found, [log_mass(reviewer, s) for s in scores], rtol=1e-9, atol=1e-9)
    for score in (-2.0, 1.0):
        mean, chance = (
            bc.reviewers.posterior_mean([reviewer], [score]),
            bc.reviewers.posterior_tail([reviewer], [score], 0.4),
        )
        t = np.linspace(-12.0, 12.0, 400_001)
        mass = norm.pdf(t) * norm.pdf(score, reviewer.score(t), reviewer.spread(t))
        assert mean == pytest.approx(np.trapezoid(mass * t, t) / np.trapezoid(mass, t), abs=1e-8)
        tail = log_mass(reviewer, score, low=0.4) - log_mass(reviewer, score)
        assert chance == pytest.approx(np.exp(tail), abs=1e-8)


def test_a_spread_of_its_own_may_be_rounded() -> None:
    grid = np.arange(-4.0, 6.0)
    reported = bc.Rounded(Louder(1.0), grid)
    assert np.exp(reported.log_marginal(grid)).sum() == pytest.approx(1.0, abs=1e-9)
    t = np.linspace(-12.0, 12.0, 400_001)
    mean, spread = reported.reviewer.score(t), reported.reviewer.spread(t)
    cell = norm.cdf(2.5, mean, spread) - norm.cdf(1.5, mean, spread)
    assert np.exp(reported.log_marginal(2.0)) == pytest.approx(np.trapezoid(norm.pdf(t) * cell, t), abs=1e-10)


def test_what_a_spread_of_its_own_cannot_do_is_said() -> None:
    class Silent(Louder):
        def spread(self, quality: ArrayLike) -> Array:
            return np.maximum(np.asarray(quality), 0.0)

    with pytest.raises(InputError, match="spread must be above 0 at every quality or at none, found 0"):
        Silent(1.0).log_marginal(0.5)
    with pytest.raises(InputError, match="one noise at every quality, Louder has its own spread"):
        bc.policies.average_frontier((Louder(1.0), Louder(0.5)))
    with pytest.raises(TypeError, match=r"Affine has closed forms .* derive from Reviewer"):
        type("Wider", (bc.Affine,), {})
