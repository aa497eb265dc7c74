"""Qualities with a distribution other than N(0, 1), for a pair or a paper.

Only ranks of qualities matter to which paper is better, and any continuous distribution is an increasing
function T of N(0, 1). A reviewer who maps quality T(z) to a score is therefore a reviewer who maps z to it,
with the curve `score(T(z))`. `Shaped` is that reviewer and can be used like any other. A bar on quality
becomes `standard_quality(distribution, bar)`. A whole conference has affine reviewers, so its qualities stay
N(0, 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from blindcal.checks import Array, numbers
from blindcal.errors import InputError
from blindcal.reviewers.base import DerivedReviewer, Reviewer
from blindcal.reviewers.quadrature import Rows

# Beyond this the probability under N(0, 1) underflows.
_MAX_Z = 37.0


class Distribution(Protocol):
    """A continuous distribution of quality, as in `scipy.stats`, such as `scipy.stats.t(5)`."""

    def cdf(self, x: Any, /) -> Any: ...
    def sf(self, x: Any, /) -> Any: ...
    def ppf(self, q: Any, /) -> Any: ...
    def isf(self, q: Any, /) -> Any: ...
    def pdf(self, x: Any, /) -> Any: ...


def standard_quality(distribution: Distribution, quality: ArrayLike) -> Array:
    """The z of N(0, 1) that has the rank of a quality in its distribution.

    A bar on qualities with a distribution other than N(0, 1) is given as this z.

    Args:
        distribution: Continuous, as those of `scipy.stats` are.
        quality: A number or an array.

    Example:
        >>> from scipy.stats import expon
        >>> float(standard_quality(expon, [0.1, 1.0]).round(4)[1])
        0.3375
    """
    t = np.asarray(quality, dtype=np.float64)
    low, high = np.asarray(distribution.cdf(t)), np.asarray(distribution.sf(t))
    return np.where(low < 0.5, ndtri(low), -ndtri(high))


@dataclass(frozen=True, eq=False)
class Shaped(DerivedReviewer):
    """A reviewer of papers whose qualities have another distribution than N(0, 1).

    What is called quality everywhere else is then the rank of a quality, as a z of N(0, 1).

    Attributes:
        reviewer: Maps qualities to scores.
        distribution: Continuous, such as `scipy.stats.t(5)`.

    Example:
        >>> from scipy.stats import norm
        >>> from blindcal.reviewers.affine import Affine
        >>> wide = Shaped(Affine(1.0, 0.5, noise=0.3), norm(0.0, 2.0))
        >>> plain = Affine(2.0, 0.5, noise=0.3)
        >>> float(wide.score(1.0)), round(float(wide.log_marginal(1.0) - plain.log_marginal(1.0)), 9)
        (2.5, 0.0)
    """

    reviewer: Reviewer
    distribution: Distribution

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", self.reviewer.noise)
        grid = np.linspace(-8.0, 8.0, 257)
        quantiles = self._of(grid)
        if not np.isfinite(quantiles).all() or (np.diff(quantiles) <= 0.0).any():
            raise InputError(
                "a distribution of quality must be continuous: its quantiles must rise everywhere"
            )

    def _of(self, z: ArrayLike) -> Array:
        """T(z), by the nearer tail, so that both tails keep their digits."""
        at = np.clip(np.asarray(z, dtype=np.float64), -_MAX_Z, _MAX_Z)
        below = self.distribution.ppf(ndtr(np.minimum(at, 0.0)))
        above = self.distribution.isf(ndtr(-np.maximum(at, 0.0)))
        return np.asarray(np.where(at < 0.0, below, above))

    def score(self, quality: ArrayLike) -> Array:
        """The score without noise of the paper whose quality has this rank."""
        return self.reviewer.score(self._of(numbers("quality", quality)))

    def quality(self, score: ArrayLike) -> Array:
        """The rank, as a z of N(0, 1), of the quality behind `score`."""
        return standard_quality(self.distribution, self.reviewer.quality(score))

    def derivative(self, quality: ArrayLike) -> Array:
        """The derivative d score / dz = score'(T(z)) phi(z) / f(T(z))."""
        z = np.asarray(quality, dtype=np.float64)
        t = self._of(z)
        phi = np.exp(-0.5 * np.square(z)) / np.sqrt(2.0 * np.pi)
        return np.asarray(self.reviewer.derivative(t) * phi / np.asarray(self.distribution.pdf(t)))

    def center(self, quality: ArrayLike) -> Array:
        """The score without noise and before any rounding."""
        return self.reviewer.center(self._of(quality))

    def spread(self, quality: ArrayLike) -> Array:
        """Standard deviation of the score given the quality."""
        return self.reviewer.spread(self._of(quality))

    @property
    def resolved(self) -> bool:
        """Nothing is known about T: panels are halved until they agree."""
        return False

    @property
    def knots(self) -> Array:
        """Where the curve is not smooth, by rank."""
        return standard_quality(self.distribution, self.reviewer.knots)

    def log_likelihood(self, score: ArrayLike, quality: ArrayLike) -> Array:
        """Log density of `score` given the quality of this rank."""
        return self.reviewer.log_likelihood(score, self._of(quality))

    def reach(self, score: Array, deviations: Array) -> tuple[Array, Array]:
        """The ranks outside which the score is more than that many deviations off."""
        low, high = self.reviewer.reach(score, deviations)
        return standard_quality(self.distribution, low), standard_quality(self.distribution, high)

    def column(self, shape: tuple[int, ...], rows: Rows) -> Reviewer:
        """The reviewer's column, with the same distribution."""
        return Shaped(self.reviewer.column(shape, rows), self.distribution)
