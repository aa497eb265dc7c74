"""Reviewers: one likelihood for every kind, its marginal, inverses, and what is refused."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

import blindcal as bc
from blindcal import Affine, Reviewer, pair_belief
from blindcal.checks import Array
from blindcal.errors import InputError
from blindcal.policy import average_frontier
from blindcal.reviewers import Logistic, PiecewiseLinear, Power, check_reviewer
from every_reviewer import curves, integral, named, noisy


@named(noisy())
@pytest.mark.parametrize("quality", [-2.1, 0.0, 0.7])
def test_likelihood_integrates_to_one_over_scores(reviewer: bc.Reviewer, quality: float) -> None:
    middle, width = float(reviewer.score(quality)), float(reviewer.spread(quality))
    low, high = middle - 12 * width, middle + 12 * width
    total = integral(lambda s: reviewer.log_likelihood(s, quality), low, high, [middle])
    assert total == pytest.approx(1.0, abs=1e-9)


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


BAD = {
    "slope": lambda: bc.Affine(0.0),
    "slope must be finite, found nan": lambda: bc.Affine([1.0, np.nan]),
    "noise must be at least 0, found -0.1": lambda: bc.Affine(1.0, noise=-0.1),
    "must broadcast": lambda: bc.Affine([1.0, 2.0], [1.0, 2.0, 3.0]),
    "positive semidefinite": lambda: bc.Affine(1.0, covariance=[[1.0, 2.0], [2.0, 1.0]]),
    "symmetric": lambda: bc.Affine(1.0, covariance=[[1.0, 0.2], [0.1, 1.0]]),
    r"\[..., 2, 2\]": lambda: bc.Affine(1.0, covariance=[1.0, 2.0]),
    "positive definite if noise is 0": lambda: bc.Affine(1.0, covariance=[[1.0, 0.0], [0.0, 0.0]]),
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


class Louder(PiecewiseLinear):
    """Scores that spread more with quality: `spread = noise + log(1 + exp(growth * quality))`."""

    growth: float

    def __init__(self, growth: float) -> None:
        super().__init__([0.0, 1.0], [0.3, 1.8], noise=0.1)
        vars(self)["growth"] = growth

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
        bc.policy.average_frontier((Louder(1.0), Louder(0.5)))
    with pytest.raises(TypeError, match=r"Affine has closed forms .* derive from Reviewer"):
        type("Wider", (bc.Affine,), {})


# --- What `check_reviewer` accepts and which broken rule it names.


@dataclass(frozen=True)
class Cubic(Reviewer):
    """score = t + t^3/10, with one fault if wanted."""

    fault: str = "none"

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", np.asarray(0.5))

    def score(self, quality: object) -> Array:
        t = np.asarray(quality, dtype=float)
        return -t if self.fault == "falls" else t + 0.1 * t**3

    def quality(self, score: object) -> Array:
        s = np.asarray(score, dtype=float)
        at = 2.0 * np.sqrt(10.0 / 3.0) * np.sinh(np.arcsinh(3.0 * s / 2.0 * np.sqrt(3.0 / 10.0)) / 3.0)
        return at + (0.1 if self.fault == "inverse" else 0.0)

    def derivative(self, quality: object) -> Array:
        return 1.0 + (0.2 if self.fault == "slope" else 0.3) * np.square(np.asarray(quality, dtype=float))

    def log_likelihood(self, score: object, quality: object) -> Array:
        return super().log_likelihood(score, quality) + (0.2 if self.fault == "mass" else 0.0)


class Student(PiecewiseLinear):
    """score = quality, with noise of Student's t with 4 degrees of freedom; its reach Gaussian if wanted."""

    narrow: bool

    def __init__(self, narrow: bool = False) -> None:
        super().__init__([0.0, 1.0], [0.0, 1.0], noise=0.5)
        vars(self)["narrow"] = narrow

    def log_likelihood(self, score: object, quality: object) -> Array:
        deviation = (np.asarray(score) - np.asarray(quality)) / 0.5
        return self.log_ceiling() - 2.5 * np.log1p(deviation**2 / 4.0)

    def log_ceiling(self) -> Array:
        return np.asarray(np.log(0.375 / 0.5))

    def reach(self, score: Array, deviations: Array) -> tuple[Array, Array]:
        wide = 0.5 * np.sqrt(4.0 * np.expm1(np.minimum(deviations**2 / 5.0, 500.0)))
        return super().reach(score, deviations) if self.narrow else (score - wide, score + wide)

    @property
    def resolved(self) -> bool:
        return False


@pytest.mark.parametrize(
    "reviewer",
    [
        Affine(1.2, 0.3, noise=0.5),
        Affine(1.2, 0.3),
        Logistic(1.0, 10.0, 1.0, noise=0.8),
        Power(1.5, 1.0, 0.2, noise=0.4),
        PiecewiseLinear([-1.0, 0.0, 1.0], [-2.0, 0.0, 0.5], noise=0.5),
        Cubic(),
        Student(),
    ],
    ids=lambda reviewer: type(reviewer).__name__,
)
def test_good_reviewers_pass(reviewer: Reviewer) -> None:
    check_reviewer(reviewer)


@pytest.mark.parametrize(
    ("fault", "rule"),
    [
        ("falls", "score must rise"),
        ("inverse", "quality must be the inverse"),
        ("slope", "derivative must be the slope"),
        ("mass", "the likelihood must integrate to 1 .*; log_likelihood must never be above log_ceiling"),
    ],
)
def test_every_fault_is_named(fault: str, rule: str) -> None:
    with pytest.raises(InputError, match=f"Cubic: .*{rule}"):
        check_reviewer(Cubic(fault))


def test_heavy_tails_with_a_gaussian_reach_are_refused() -> None:
    with pytest.raises(InputError, match="Student: reach must leave out only what is"):
        check_reviewer(Student(narrow=True))


def test_a_pair_of_heavy_tailed_reviewers_is_weighed_by_quadrature() -> None:
    """Weights and favors against SciPy's adaptive integrals, at scores that contradict each other."""
    one, two, scores = Student(), Affine(0.8, 0.2, noise=0.7), (6.0, -0.3)

    def evidence(reviewer: Reviewer, score: float) -> float:
        def joint(t: float) -> float:
            return float(norm.pdf(t) * np.exp(reviewer.log_likelihood(score, np.array(t))))

        return quad(joint, -10.0, 10.0, points=[0.0, score], limit=400, epsabs=0.0, epsrel=1e-11)[0]

    straight = evidence(one, scores[0]) * evidence(two, scores[1])
    crossed = evidence(two, scores[0]) * evidence(one, scores[1])
    belief = pair_belief((one, two), scores)
    assert belief.weight[0] == pytest.approx(straight / (straight + crossed), rel=1e-8)


def test_noise_that_is_not_gaussian_has_no_average_case() -> None:
    with pytest.raises(InputError, match="needs Gaussian noise, Student has a likelihood of its own"):
        average_frontier((Student(), Student()))


@dataclass(frozen=True)
class Bounded(Reviewer):
    """A curve whose scores lie between -1 and 1; only if it is `careful` its inverse knows what is beyond."""

    careful: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", np.asarray(0.5))

    def score(self, quality: object) -> Array:
        return np.tanh(np.asarray(quality) / 4.0)

    def quality(self, score: object) -> Array:
        s = np.asarray(score, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = 4.0 * np.arctanh(s)
        return np.where(np.abs(s) < 1.0, inside, np.copysign(np.inf, s)) if self.careful else inside

    def derivative(self, quality: object) -> Array:
        return 0.25 / np.cosh(np.asarray(quality) / 4.0) ** 2


def test_a_bounded_curve_must_know_its_ends() -> None:
    with pytest.raises(InputError, match="beyond the ends of the curve"):
        check_reviewer(Bounded(careful=False))
    check_reviewer(Bounded(careful=True))
    check_reviewer(Logistic(low=1.0, high=10.0, slope=0.9, offset=0.2, noise=0.7))
