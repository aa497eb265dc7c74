"""Reviewers: how a paper's quality becomes a score, and what a score says of the quality.

One likelihood serves every kind: given quality t the score is Gaussian around `score(t)` with standard
deviation `spread(t)`; a rounded reviewer then reports the nearest value of a grid. Qualities are N(0, 1).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blindcal.cells import number_text
from blindcal.checks import Array, nonnegative, numbers, positive, where
from blindcal.errors import InputError
from blindcal.quadrature import Rows, log_evidence

Booleans = NDArray[np.bool_]

_LOG_ROOT_TWO_PI = 0.5 * np.log(2.0 * np.pi)
_PSD_TOLERANCE = 1e-12
# Noise smaller than this beside its score is lost in rounding before it can be integrated over.
_SEEN = 1e-13
# Where curves and spreads that nobody declares are looked up, a 64th apart. Qualities are N(0, 1): beyond 64
# none ever occurs, and scores 60 standard deviations out stay inside.
QUALITIES = np.linspace(-64.0, 64.0, 8193)


class Reviewer(ABC):
    """An increasing curve `score(quality)` and a spread around it.

    Subclasses give the curve, its inverse and its derivative; likelihood and marginal follow from them. A
    subclass may also have a `spread` of its own: above 0, and smooth at the scale of a 64th of quality (or
    with `knots` where it is not).
    """

    noise: Array

    @abstractmethod
    def score(self, quality: ArrayLike) -> Array:
        """The score without noise; increasing in quality."""

    @abstractmethod
    def quality(self, score: ArrayLike) -> Array:
        """The quality whose score without noise is `score`; infinite beyond the range of the curve."""

    @abstractmethod
    def derivative(self, quality: ArrayLike) -> Array:
        """d score / d quality."""

    def center(self, quality: ArrayLike) -> Array:
        """The score without noise and before any rounding."""
        return self.score(quality)

    def spread(self, quality: ArrayLike) -> Array:
        """Standard deviation of the score given the quality."""
        return np.broadcast_to(self.noise, np.broadcast_shapes(self.noise.shape, np.shape(quality)))

    @property
    def even(self) -> bool:
        """Whether the spread is `noise` at every quality: so unless a subclass has a spread of its own."""
        return type(self).spread is Reviewer.spread

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the parameters: () for one reviewer, the pool's shape for a pool."""
        return ()

    @property
    def certain(self) -> Booleans:
        """Where a score fixes the quality: no noise of any kind."""
        return np.asarray(self._spreads()[1] == 0.0)

    def log_likelihood(self, score: ArrayLike, quality: ArrayLike) -> Array:
        """Log density of `score` given `quality`, `log N(score; score(quality), spread(quality)^2)`.

        Without noise there is no such density: the score fixes the quality, and it is refused.
        """
        if self.certain.any():
            raise InputError(
                "log_likelihood needs noise above 0, found 0: without noise a score fixes the quality"
            )
        s, spread = numbers("score", score), self.spread(quality)
        deviation = (s - self.score(quality)) / spread
        return np.asarray(-0.5 * np.square(deviation) - np.log(spread) - _LOG_ROOT_TWO_PI)

    def log_marginal(self, score: ArrayLike) -> Array:
        """Log density of `score` with quality ~ N(0, 1); minus infinity where no quality gives it.

        Without noise `phi(t) / score'(t)` at `t = quality(score)`, else the integral over qualities.
        """
        s = numbers("score", score)
        if self.certain.all():
            return self._log_change_of_variable(s)
        return log_evidence((self,), s[..., None])

    def _log_change_of_variable(self, score: Array) -> Array:
        t = self.quality(score)
        inside = np.isfinite(t)
        with np.errstate(divide="ignore"):
            log_slope = np.log(self.derivative(np.where(inside, t, 0.0)))
        density = -0.5 * np.square(np.where(inside, t, 0.0)) - _LOG_ROOT_TWO_PI - log_slope
        return np.where(inside, density, -np.inf)

    # What the quadrature asks: where the likelihood lives and what it must resolve.

    @property
    def curved(self) -> bool:
        """Whether points even in score differ from points even in quality."""
        return True

    @property
    def resolved(self) -> bool:
        """Whether the knots tell all about curve and spread; else panels are halved until they agree."""
        return self.even

    @property
    def knots(self) -> Array:
        """Qualities where the curve is not smooth."""
        return np.empty(0)

    def edges(self, score: Array) -> Array:
        """Where, in score, the likelihood turns: the score itself, or the ends of its grid cell.

        [..., k], rising along the last axis.
        """
        return score[..., None]

    def reach(self, score: Array, deviations: Array) -> tuple[Array, Array]:
        """The qualities outside which the score is more than that many deviations off."""
        least, most = self._spreads()
        unseen = (least > 0.0) & (least < _SEEN * np.abs(score))
        if unseen.any():
            found = np.broadcast_to(least, unseen.shape)[unseen].min()
            raise InputError(f"noise must be 0 or be seen in the digits of the scores, found {found:g}")
        edge, width = self.edges(score), most * deviations
        return self.quality(edge[..., 0] - width), self.quality(edge[..., -1] + width)

    def log_ceiling(self) -> Array:
        """No log likelihood is above this."""
        return np.asarray(-np.log(self._spreads()[0]) - _LOG_ROOT_TWO_PI)

    def _spreads(self) -> tuple[Array, Array]:
        """The least and the greatest spread over all qualities, each of the parameters' shape."""
        if self.even:
            return self.noise, self.noise
        t = QUALITIES.reshape(-1, *(1 for _ in self.shape))
        found = np.broadcast_to(numbers("spread", self.spread(t)), (QUALITIES.size, *self.shape))
        least, most = found.min(axis=0), found.max(axis=0)
        if ((least <= 0.0) & (most > 0.0)).any():
            raise InputError(f"spread must be above 0 at every quality or at none, found {least.min():g}")
        return least, most

    def column(self, shape: tuple[int, ...], rows: Rows) -> Reviewer:
        """This reviewer with its parameters spread over `shape`, flattened, those rows as a column."""
        return self


@dataclass(frozen=True, eq=False)
class Affine(Reviewer):
    """`score = slope * quality + offset` plus Gaussian noise; arrays make a whole pool of reviewers.

    `covariance[..., 2, 2]` of (slope, offset) when they are known only up to a Gaussian error: given
    quality t the score then has variance `var_slope t^2 + 2 cov t + var_offset + noise^2`.

    >>> strict = Affine(2.0, -1.0, noise=0.5)
    >>> strict.score(1.5), strict.quality(2.0)
    (array(2.), array(1.5))
    >>> Affine(-1.0)
    Traceback (most recent call last):
    ...
    blindcal.errors.InputError: slope must be above 0, found -1
    """

    slope: Array
    offset: Array
    noise: Array
    covariance: Array | None = field(default=None)

    def __init__(
        self,
        slope: ArrayLike,
        offset: ArrayLike = 0.0,
        noise: ArrayLike = 0.0,
        covariance: ArrayLike | None = None,
    ) -> None:
        object.__setattr__(self, "slope", positive("slope", slope))
        object.__setattr__(self, "offset", numbers("offset", offset))
        object.__setattr__(self, "noise", nonnegative("noise", noise))
        object.__setattr__(self, "covariance", None if covariance is None else _covariance(covariance))
        try:
            shape = self.shape
        except ValueError:
            found = ", ".join(str(part.shape) for part in (self.slope, self.offset, self.noise))
            raise InputError(f"slope, offset, noise and covariance must broadcast, found {found}") from None
        if self.covariance is not None:
            self._check_least_variance(shape)

    def __init_subclass__(cls) -> None:
        raise TypeError("Affine has closed forms that a subclass would bypass: derive from Reviewer")

    @property
    def even(self) -> bool:
        return self.covariance is None

    @property
    def shape(self) -> tuple[int, ...]:
        extra = () if self.covariance is None else self.covariance.shape[:-2]
        return np.broadcast_shapes(self.slope.shape, self.offset.shape, self.noise.shape, extra)

    @property
    def certain(self) -> Booleans:
        if self.covariance is None:
            return np.asarray(self.noise == 0.0)
        return np.asarray((self.noise == 0.0) & (self.covariance == 0.0).all(axis=(-2, -1)))

    def score(self, quality: ArrayLike) -> Array:
        return np.asarray(self.slope * np.asarray(quality, dtype=np.float64) + self.offset)

    def quality(self, score: ArrayLike) -> Array:
        return np.asarray((np.asarray(score, dtype=np.float64) - self.offset) / self.slope)

    def derivative(self, quality: ArrayLike) -> Array:
        return np.broadcast_to(self.slope, np.broadcast_shapes(self.slope.shape, np.shape(quality)))

    def spread(self, quality: ArrayLike) -> Array:
        if self.covariance is None:
            return super().spread(quality)
        t, c = np.asarray(quality, dtype=np.float64), self.covariance
        # As a square plus the least variance: never below 0 by rounding.
        ratio = _ratio(c[..., 0, 1], c[..., 0, 0])
        return np.sqrt(c[..., 0, 0] * np.square(t + ratio) + self._least_variance())

    def log_marginal(self, score: ArrayLike) -> Array:
        """`log N(score; offset, slope^2 + noise^2)`, in closed form where slope and offset are known.

        >>> float(np.exp(Affine(3.0, 1.0, noise=4.0).log_marginal(1.0)) * np.sqrt(2 * np.pi)).__round__(12)
        0.2
        """
        s, variance = numbers("score", score), np.square(self.slope) + np.square(self.noise)
        deviation = np.square(s - self.offset) / variance
        known = np.asarray(-0.5 * (deviation + np.log(variance)) - _LOG_ROOT_TWO_PI)
        if self.covariance is None or self.certain.all():
            return known
        # Reviewers without any spread have no likelihood to integrate: the closed form is theirs.
        noisy = Affine(self.slope, self.offset, np.where(self.certain, 1.0, self.noise), self.covariance)
        return np.where(self.certain, known, log_evidence((noisy,), s[..., None]))

    @property
    def curved(self) -> bool:
        return False

    @property
    def resolved(self) -> bool:
        return True

    @property
    def knots(self) -> Array:
        """Around the quality where an uncertain reviewer is most certain: there the spread may be small."""
        if self.covariance is None:
            return np.empty(0)
        c = self.covariance
        least = np.sqrt(self._least_variance() / np.where(c[..., 0, 0] > 0, c[..., 0, 0], 1.0))
        steps = 3.0 ** np.arange(12.0)
        around = np.concatenate([-steps[::-1], [0.0], steps])
        return np.asarray(-_ratio(c[..., 0, 1], c[..., 0, 0])[..., None] + least[..., None] * around)

    def reach(self, score: Array, deviations: Array) -> tuple[Array, Array]:
        if self.covariance is None:
            return super().reach(score, deviations)
        return np.full(score.shape, -np.inf), np.full(score.shape, np.inf)

    def log_ceiling(self) -> Array:
        variance = np.square(self.noise) if self.covariance is None else self._least_variance()
        return np.asarray(-0.5 * np.log(variance) - _LOG_ROOT_TWO_PI)

    def column(self, shape: tuple[int, ...], rows: Rows) -> Affine:
        if self.shape == ():
            return self
        slope, offset, noise = (
            np.broadcast_to(part, shape).reshape(-1)[rows, None]
            for part in (self.slope, self.offset, self.noise)
        )
        if self.covariance is None:
            return Affine(slope, offset, noise)
        covariance = np.broadcast_to(self.covariance, (*shape, 2, 2)).reshape(-1, 1, 2, 2)[rows]
        return Affine(slope, offset, noise, covariance)

    def _least_variance(self) -> Array:
        """`var_offset - cov^2 / var_slope + noise^2`, the variance at the quality where it is least."""
        if self.covariance is None:
            return np.square(self.noise)
        c = self.covariance
        rest = c[..., 1, 1] - c[..., 0, 1] * _ratio(c[..., 0, 1], c[..., 0, 0])
        return np.asarray(np.maximum(rest, 0.0) + np.square(self.noise))

    def _check_least_variance(self, shape: tuple[int, ...]) -> None:
        bad = np.broadcast_to((self._least_variance() <= 0.0) & ~self.certain, shape)
        if bad.any():
            raise InputError(
                "covariance must be positive definite where noise is 0, found a singular one "
                f"({int(bad.sum())} reviewers): at one quality such a score would be certain"
            )


def _ratio(top: Array, bottom: Array) -> Array:
    return np.asarray(top / np.where(bottom > 0.0, bottom, 1.0))


def _covariance(value: ArrayLike) -> Array:
    c = numbers("covariance", value)
    if c.shape[-2:] != (2, 2):
        raise InputError(f"covariance must have shape [..., 2, 2] (slope, offset), found {c.shape}")
    where("covariance", c, c == np.swapaxes(c, -1, -2), "must be symmetric")
    trace = np.trace(c, axis1=-2, axis2=-1)
    least = np.linalg.eigvalsh(c)[..., 0]
    if (least < -_PSD_TOLERANCE * np.abs(trace)).any():
        raise InputError(
            f"covariance must be positive semidefinite, found eigenvalue {number_text(least.min())}"
        )
    return c
