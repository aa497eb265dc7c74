"""Increasing reviewers that are not affine: a power, linear pieces, a logistic scale, any callable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy.special import expit

from blindcal.checks import Array, nonnegative, numbers, positive, require_all
from blindcal.errors import InputError
from blindcal.reviewers.base import QUALITIES, Reviewer

# A curve has leveled off if it is this close to an end of its scale; there rounding may make it fall.
_LEVELED, _ROUNDING = 1e-9, 8.0 * np.finfo(np.float64).eps
# At most this many kinks are looked for, where the log of the slope jumps by this much.
_MAX_KINKS, _LOG_JUMP = 16, 0.5

Curve = Callable[[Array], ArrayLike]


def _set_numbers(reviewer: Reviewer, **parts: Array) -> None:
    """Set these fields, each of which must be one number."""
    for name, part in parts.items():
        if part.ndim:
            raise InputError(f"{name} must be one number, found shape {part.shape}")
        vars(reviewer)[name] = part


@dataclass(frozen=True, eq=False)
class Monotone(Reviewer):
    """Any increasing `score(quality)`, given as a callable on arrays.

    Args:
        score: Must increase, which is checked on a grid; it may level off at both ends of the scale but
            nowhere between.
        quality: Its inverse, also on arrays; found numerically by default.
        noise: Standard deviation of the Gaussian noise, one number; 0 by default.
        derivative: That of `score` on arrays; found numerically by default.

    Example:
        >>> cubic = Monotone(lambda t: t + t**3)
        >>> bool(abs(cubic.quality(10.0) - 2.0) < 1e-12)
        True
        >>> Monotone(lambda t: -t)
        Traceback (most recent call last):
        ...
        blindcal.errors.InputError: score must increase with quality, found 64 at -64 and 63.984375 at
            -63.9844
    """

    curve: Curve
    inverse: Curve | None
    noise: Array
    slope: Curve | None = field(default=None)
    table: Array = field(init=False, repr=False)
    bends: Array = field(init=False, repr=False)

    def __init__(
        self,
        score: Curve,
        quality: Curve | None = None,
        noise: ArrayLike = 0.0,
        derivative: Curve | None = None,
    ) -> None:
        _set_numbers(self, noise=nonnegative("noise", noise))
        table = _checked_table(score)
        vars(self).update(
            curve=score, inverse=quality, slope=derivative, table=table, bends=_kink_ends(table)
        )
        if quality is not None:
            _check_inverse(score, quality)

    def score(self, quality: ArrayLike) -> Array:
        return _on_array(self.curve, np.asarray(quality, dtype=np.float64))

    def quality(self, score: ArrayLike) -> Array:
        s = np.asarray(score, dtype=np.float64)
        inside = (s > self.table[0]) & (s < self.table[-1])
        quality = np.where(s >= self.table[-1], np.inf, -np.inf)
        if inside.any():
            quality[inside] = self._inverse(s[inside])
        return quality

    def derivative(self, quality: ArrayLike) -> Array:
        t = np.asarray(quality, dtype=np.float64)
        if self.slope is not None:
            return np.asarray(self.slope(t), dtype=np.float64)
        result = scipy.differentiate.derivative(
            self.score, t, initial_step=0.25, step_factor=2.0, maxiter=12, order=8
        )
        return np.asarray(np.maximum(result.df, 0.0))

    @property
    def resolved(self) -> bool:
        """Unknown for a callable, so False."""
        return False

    @property
    def knots(self) -> Array:
        return self.bends

    def _inverse(self, score: Array) -> Array:
        """The quality of scores inside the range of the curve."""
        if self.inverse is not None:
            return np.asarray(self.inverse(score), dtype=np.float64)

        cell = np.searchsorted(self.table, score)
        low, high = np.maximum(cell - 2, 0), np.minimum(cell + 1, QUALITIES.size - 1)
        result = import_module("scipy.optimize.elementwise").find_root(
            lambda t, s: self.score(t) - s,
            (QUALITIES[low], QUALITIES[high]),
            args=(score,),
            tolerances={"xatol": 0.0, "xrtol": 4e-16, "fatol": 0.0, "frtol": 0.0},
        )
        return np.asarray(result.x)


def _on_array(curve: Curve, t: Array) -> Array:
    # A steep curve may overflow on its way to the end of its scale.
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(curve(t), dtype=np.float64)


def _checked_table(curve: Curve) -> Array:
    """The curve on a grid of qualities, checked."""
    t = QUALITIES
    try:
        s = _on_array(curve, t)
    except (TypeError, ValueError) as error:
        raise InputError(f"score must accept an array, found {type(error).__name__}: {error}") from None
    if s.shape != t.shape:
        raise InputError(f"score must map an array to an array of its shape, found {s.shape} for {t.shape}")
    if not np.isfinite(s).all():
        first = int(np.flatnonzero(~np.isfinite(s))[0])
        raise InputError(f"score must be finite, found {s[first]:g} at quality {t[first]:g}")
    step, scale = np.diff(s), np.abs(s).max()
    # A curve that has leveled off may fall by rounding; elsewhere it must rise.
    level = np.minimum(s[:-1] - s[0], s[-1] - s[1:]) <= _LEVELED * (s[-1] - s[0])
    bad = np.where(level, step < -_ROUNDING * scale, step <= 0.0)
    if bad.any() or s[0] >= s[-1]:
        i = int(np.argmax(bad))
        raise InputError(
            f"score must increase with quality, found {s[i]:.12g} at {t[i]:g} "
            f"and {s[i + 1]:.12g} at {t[i + 1]:g}"
        )
    return np.asarray(np.maximum.accumulate(s))


def _kink_ends(table: Array) -> Array:
    """Ends of the grid cells in which the slope jumps most: a kink or a step hides there."""
    slope = np.diff(table) + _LEVELED * (table[-1] - table[0])
    jump = np.abs(np.diff(np.log(slope)))
    cell = np.argsort(-jump, kind="stable")[:_MAX_KINKS]
    cell = cell[jump[cell] > _LOG_JUMP]
    return np.unique(QUALITIES[(cell[:, None] + [0, 1, 2]).ravel()])


def _check_inverse(curve: Curve, inverse: Curve) -> None:
    t = np.linspace(-4.0, 4.0, 33)
    back = np.asarray(inverse(np.asarray(curve(t), dtype=np.float64)), dtype=np.float64)
    off = np.abs(back - t) > 1e-6 * np.maximum(1.0, np.abs(t))
    if off.any():
        i = int(np.argmax(off))
        raise InputError(f"quality must invert score, found quality(score({t[i]:g})) = {back[i]:.12g}")


@dataclass(frozen=True, eq=False)
class Power(Reviewer):
    """`score = offset + slope * sign(quality) |quality|^exponent` plus Gaussian noise, all single numbers.

    Attributes:
        exponent: Above 0; above 1 the reviewer is bold at the extremes of quality, below 1 timid.
        slope: Above 0; the difference of scores at quality 1 and at quality 0.
        offset: The score of a paper of quality 0.
        noise: Standard deviation of the Gaussian noise; 0 by default.

    Example:
        >>> Power(3.0, slope=2.0, offset=1.0).score([-1.0, 2.0])
        array([-1., 17.])
    """

    exponent: Array
    slope: Array
    offset: Array
    noise: Array

    def __init__(
        self, exponent: ArrayLike, slope: ArrayLike = 1.0, offset: ArrayLike = 0.0, noise: ArrayLike = 0.0
    ) -> None:
        _set_numbers(self, exponent=positive("exponent", exponent), slope=positive("slope", slope))
        _set_numbers(self, offset=numbers("offset", offset), noise=nonnegative("noise", noise))

    def score(self, quality: ArrayLike) -> Array:
        t = np.asarray(quality, dtype=np.float64)
        return np.asarray(self.offset + self.slope * np.sign(t) * np.abs(t) ** self.exponent)

    def quality(self, score: ArrayLike) -> Array:
        u = (np.asarray(score, dtype=np.float64) - self.offset) / self.slope
        return np.asarray(np.sign(u) * np.abs(u) ** (1.0 / self.exponent))

    def derivative(self, quality: ArrayLike) -> Array:
        t = np.abs(np.asarray(quality, dtype=np.float64))
        with np.errstate(divide="ignore"):
            return np.asarray(self.slope * self.exponent * t ** (self.exponent - 1.0))

    @property
    def knots(self) -> Array:
        """Quality 0, where the curve has a cusp, approached geometrically."""
        if self.exponent % 2.0 == 1.0:
            return np.empty(0)
        steps = 0.125 ** np.arange(14.0)
        return np.concatenate([-steps, [0.0], steps[::-1]])


@dataclass(frozen=True, eq=False)
class PiecewiseLinear(Reviewer):
    """Linear pieces through the points `(qualities[i], scores[i])`; the end pieces go on forever.

    Attributes:
        qualities: Increasing, at least two.
        scores: Increasing, as many.
        noise: Standard deviation of the Gaussian noise, one number; 0 by default.

    Example:
        >>> PiecewiseLinear([0.0, 1.0, 2.0], [3.0, 4.0, 8.0]).score([-1.0, 0.5, 3.0])
        array([ 2. ,  3.5, 12. ])
    """

    qualities: Array
    scores: Array
    noise: Array

    def __init__(self, qualities: ArrayLike, scores: ArrayLike, noise: ArrayLike = 0.0) -> None:
        t, s = numbers("qualities", qualities), numbers("scores", scores)
        if t.ndim != 1 or t.shape != s.shape or t.size < 2:
            raise InputError(f"qualities and scores must be lists of one length, found {t.shape}, {s.shape}")
        require_all("qualities", t[1:], np.diff(t) > 0, "must increase")
        require_all("scores", s[1:], np.diff(s) > 0, "must increase")
        vars(self).update(qualities=t, scores=s)
        _set_numbers(self, noise=nonnegative("noise", noise))

    def score(self, quality: ArrayLike) -> Array:
        return _on_pieces(np.asarray(quality, dtype=np.float64), self.qualities, self.scores)

    def quality(self, score: ArrayLike) -> Array:
        return _on_pieces(np.asarray(score, dtype=np.float64), self.scores, self.qualities)

    def derivative(self, quality: ArrayLike) -> Array:
        """At a knot, the slope of the piece to the right."""
        piece = np.searchsorted(self.qualities[1:-1], np.asarray(quality, dtype=np.float64), side="right")
        return np.asarray((np.diff(self.scores) / np.diff(self.qualities))[piece])

    @property
    def knots(self) -> Array:
        return self.qualities


def _on_pieces(x: Array, at: Array, to: Array) -> Array:
    """The line through the two points around each x; beyond the ends, that of the end piece."""
    piece = np.searchsorted(at[1:-1], x, side="right")
    slope = np.diff(to) / np.diff(at)
    return np.asarray(to[piece] + slope[piece] * (x - at[piece]))


@dataclass(frozen=True, eq=False)
class Logistic(Reviewer):
    """A bounded scale `low + (high - low) / (1 + exp(-(slope * quality + offset)))` plus Gaussian noise.

    Attributes:
        low: The lower end of the scale, which no score without noise reaches.
        high: The upper end, likewise.
        slope: Above 0; the larger, the sooner scores come close to an end.
        offset: 0 for the middle of the scale at quality 0, above 0 for a lenient reviewer.
        noise: Standard deviation of the Gaussian noise; 0 by default.

    Example:
        >>> float(Logistic(1.0, 10.0).score(0.0))
        5.5
    """

    low: Array
    high: Array
    slope: Array
    offset: Array
    noise: Array

    def __init__(
        self,
        low: ArrayLike,
        high: ArrayLike,
        slope: ArrayLike = 1.0,
        offset: ArrayLike = 0.0,
        noise: ArrayLike = 0.0,
    ) -> None:
        _set_numbers(self, low=numbers("low", low), high=numbers("high", high))
        _set_numbers(self, slope=positive("slope", slope), offset=numbers("offset", offset))
        _set_numbers(self, noise=nonnegative("noise", noise))
        if self.high <= self.low:
            raise InputError(f"high must be above low, found low {self.low:g} and high {self.high:g}")

    def score(self, quality: ArrayLike) -> Array:
        x = self.slope * np.asarray(quality, dtype=np.float64) + self.offset
        return np.asarray(self.low + (self.high - self.low) * expit(x))

    def quality(self, score: ArrayLike) -> Array:
        s = np.asarray(score, dtype=np.float64)
        above, below = np.maximum(s - self.low, 0.0), np.maximum(self.high - s, 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray((np.log(above) - np.log(below) - self.offset) / self.slope)

    def derivative(self, quality: ArrayLike) -> Array:
        x = self.slope * np.asarray(quality, dtype=np.float64) + self.offset
        return np.asarray((self.high - self.low) * self.slope * expit(x) * expit(-x))

    @property
    def knots(self) -> Array:
        """Where the curve bends and where it has leveled off: a steep one does so within a short range."""
        away = np.array([2.0, 4.0, 7.0, 12.0, 24.0])
        return np.asarray((np.concatenate([-away[::-1], [0.0], away]) - self.offset) / self.slope)
