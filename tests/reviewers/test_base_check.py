"""What `check_reviewer` accepts and which broken rule it names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from blindcal import Affine, InputError, Reviewer, pair_belief
from blindcal.checks import Array
from blindcal.policy import average_frontier
from blindcal.reviewers import Logistic, PiecewiseLinear, Power, check_reviewer


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


@dataclass(frozen=True)
class Student(Reviewer):
    """score = quality, with noise of Student's t with 4 degrees of freedom; its reach Gaussian if wanted."""

    narrow: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", np.asarray(0.5))

    def score(self, quality: object) -> Array:
        return np.asarray(quality, dtype=float)

    def quality(self, score: object) -> Array:
        return np.asarray(score, dtype=float)

    def derivative(self, quality: object) -> Array:
        return np.ones(np.shape(quality))

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
