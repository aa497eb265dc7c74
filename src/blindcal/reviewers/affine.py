"""Affine reviewers: `score = slope * quality + offset` plus noise, known or estimated, with closed forms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from blindcal.checks import Array, nonnegative, numbers, positive, require_all
from blindcal.errors import InputError
from blindcal.io.cells import number_text
from blindcal.reviewers.base import Booleans, Reviewer
from blindcal.reviewers.quadrature import LOG_SQRT_2PI, Rows, log_evidence

_PSD_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Affine(Reviewer):
    """`score = slope * quality + offset` plus Gaussian noise; arrays make a whole pool of reviewers.

    Attributes:
        slope: Above 0; quality is N(0, 1), so this is the standard deviation of scores due to quality.
        offset: The score of a paper of quality 0; higher for a lenient reviewer.
        noise: Its standard deviation, in units of scores; 0: the score fixes the quality.
        covariance: `[..., 2, 2]`, that of the Gaussian errors of (slope, offset): given quality t the score
            then has variance `var_slope t^2 + 2 cov t + var_offset + noise^2`. None: both are known exactly.

    Example:
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
        vars(self).update(slope=positive("slope", slope), offset=numbers("offset", offset))
        spread = None if covariance is None else _checked_covariance(covariance)
        vars(self).update(noise=nonnegative("noise", noise), covariance=spread)
        try:
            shape = self.shape
        except ValueError:
            shapes = ", ".join(str(part.shape) for part in (self.slope, self.offset, self.noise))
            raise InputError(f"slope, offset, noise and covariance must broadcast, found {shapes}") from None
        # Parameters under which the score of some quality would be certain.
        bad = np.broadcast_to((self._least_variance() <= 0.0) & ~self.certain, shape)
        if covariance is not None and bad.any():
            raise InputError(
                "covariance must be positive definite if noise is 0, found a singular one "
                f"({int(bad.sum())} reviewers): at one quality such a score would be certain"
            )

    def __init_subclass__(cls) -> None:
        raise TypeError("Affine has closed forms that a subclass would bypass: derive from Reviewer")

    @property
    def homoscedastic(self) -> bool:
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
        # A square plus the least variance, so that rounding cannot make it negative.
        ratio = _ratio_or_top(c[..., 0, 1], c[..., 0, 0])
        return np.sqrt(c[..., 0, 0] * np.square(t + ratio) + self._least_variance())

    def log_marginal(self, score: ArrayLike) -> Array:
        """`log N(score; offset, slope^2 + noise^2)`, in closed form if slope and offset are known.

        Example:
            >>> density = np.exp(Affine(3.0, 1.0, noise=4.0).log_marginal(1.0))
            >>> round(float(density * np.sqrt(2 * np.pi)), 12)
            0.2
        """
        s, variance = numbers("score", score), np.square(self.slope) + np.square(self.noise)
        deviation = np.square(s - self.offset) / variance
        known = np.asarray(-0.5 * (deviation + np.log(variance)) - LOG_SQRT_2PI)
        if self.covariance is None or self.certain.all():
            return known
        # Reviewers without any spread have no likelihood to integrate: they take the closed form.
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
        """Around the quality at which the spread of an uncertain reviewer is least, and may be small."""
        if self.covariance is None:
            return np.empty(0)
        c = self.covariance
        least = np.sqrt(self._least_variance() / np.where(c[..., 0, 0] > 0, c[..., 0, 0], 1.0))
        steps = 3.0 ** np.arange(12.0)
        around = np.concatenate([-steps[::-1], [0.0], steps])
        return np.asarray(-_ratio_or_top(c[..., 0, 1], c[..., 0, 0])[..., None] + least[..., None] * around)

    def reach(self, score: Array, deviations: Array) -> tuple[Array, Array]:
        if self.covariance is None:
            return super().reach(score, deviations)
        return np.full(score.shape, -np.inf), np.full(score.shape, np.inf)

    def log_ceiling(self) -> Array:
        return np.asarray(-0.5 * np.log(self._least_variance()) - LOG_SQRT_2PI)

    def column(self, shape: tuple[int, ...], rows: Rows) -> Affine:
        if self.shape == ():
            return self
        parts = self.slope, self.offset, self.noise
        slope, offset, noise = (np.broadcast_to(part, shape).reshape(-1)[rows, None] for part in parts)
        if self.covariance is None:
            return Affine(slope, offset, noise)
        covariance = np.broadcast_to(self.covariance, (*shape, 2, 2)).reshape(-1, 1, 2, 2)[rows]
        return Affine(slope, offset, noise, covariance)

    def _least_variance(self) -> Array:
        """`var_offset - cov^2 / var_slope + noise^2`, the variance at the quality where it is least."""
        if self.covariance is None:
            return np.square(self.noise)
        c = self.covariance
        rest = c[..., 1, 1] - c[..., 0, 1] * _ratio_or_top(c[..., 0, 1], c[..., 0, 0])
        return np.asarray(np.maximum(rest, 0.0) + np.square(self.noise))


def known_affine(reviewer: Reviewer) -> TypeGuard[Affine]:
    """Whether closed forms apply: affine, with slope and offset known exactly."""
    return isinstance(reviewer, Affine) and reviewer.covariance is None


def _ratio_or_top(top: Array, bottom: Array) -> Array:
    """`top / bottom`, or `top` if `bottom` is 0."""
    return np.asarray(top / np.where(bottom > 0.0, bottom, 1.0))


def _checked_covariance(value: ArrayLike) -> Array:
    """A covariance of (slope, offset): symmetric and positive semidefinite."""
    c = numbers("covariance", value)
    if c.shape[-2:] != (2, 2):
        raise InputError(f"covariance must have shape [..., 2, 2] (slope, offset), found {c.shape}")
    require_all("covariance", c, c == np.swapaxes(c, -1, -2), "must be symmetric")
    trace = np.trace(c, axis1=-2, axis2=-1)
    least = np.linalg.eigvalsh(c)[..., 0]
    if (least < -_PSD_TOLERANCE * np.abs(trace)).any():
        raise InputError(
            f"covariance must be positive semidefinite, found eigenvalue {number_text(least.min())}"
        )
    return c
