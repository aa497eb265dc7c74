"""Scores on a grid: any reviewer with Gaussian noise who reports the nearest of a list of values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr

from blindcal.checks import Array, numbers, require_all
from blindcal.errors import InputError
from blindcal.reviewers.affine import Affine, known_affine
from blindcal.reviewers.base import Booleans, DerivedReviewer, Reviewer
from blindcal.reviewers.quadrature import Rows, log_evidence


@dataclass(frozen=True, eq=False)
class Rounded(DerivedReviewer):
    """A reviewer who reports the nearest value of a grid; the lowest and highest cells are open.

    The likelihood is a probability: the Gaussian mass between the midpoints around the reported value.

    Attributes:
        reviewer: Scores before rounding, with Gaussian noise.
        grid: The scores that can be reported, rising, at least two.

    Example:
        >>> plain = Rounded(Affine(1.0, 5.0, noise=1.0), [4, 5, 6])
        >>> np.exp(plain.log_likelihood([4, 5, 6], 0.0)).round(3)
        array([0.309, 0.383, 0.309])
    """

    reviewer: Reviewer
    grid: Array

    def __init__(self, reviewer: Reviewer, grid: ArrayLike) -> None:
        values = numbers("grid", grid)
        if values.ndim != 1 or values.size < 2:
            raise InputError(f"grid must list at least two scores, found shape {values.shape}")
        require_all("grid", values[1:], np.diff(values) > 0, "must increase")
        if isinstance(reviewer, Rounded):
            raise InputError("reviewer is rounded already: round once")
        if not reviewer.gaussian:
            kind = type(reviewer).__name__
            raise InputError(f"reviewer must have Gaussian noise to be rounded, {kind} has its own")
        vars(self).update(reviewer=reviewer, grid=values, noise=reviewer.noise)

    @property
    def certain(self) -> Booleans:
        """Never: even without noise a cell of the grid leaves a range of qualities."""
        return np.zeros(self.shape, dtype=np.bool_)

    def score(self, quality: ArrayLike) -> Array:
        """The grid value nearest to the reviewer's score; halfway goes up."""
        ends = cell_ends(self.grid)[1:-1]
        return np.asarray(self.grid[np.searchsorted(ends, self.reviewer.score(quality), side="right")])

    def quality(self, score: ArrayLike) -> Array:
        return self.reviewer.quality(score)

    def derivative(self, quality: ArrayLike) -> Array:
        """Of the curve before rounding."""
        return self.reviewer.derivative(quality)

    def center(self, quality: ArrayLike) -> Array:
        return self.reviewer.score(quality)

    def spread(self, quality: ArrayLike) -> Array:
        """Of the score before rounding."""
        return self.reviewer.spread(quality)

    def log_likelihood(self, score: ArrayLike, quality: ArrayLike) -> Array:
        """Log probability of the reported `score`, which must lie on the grid."""
        low, high = self._cell(numbers("score", score))
        mean, spread = self.reviewer.score(quality), self.reviewer.spread(quality)
        with np.errstate(divide="ignore", invalid="ignore"):
            noisy = log_normal_probability((low - mean) / spread, (high - mean) / spread)
            if (spread > 0.0).all():
                return noisy
            sharp = np.log(((low <= mean) & (mean < high)).astype(np.float64))
        return np.where(spread > 0.0, noisy, sharp)

    def log_marginal(self, score: ArrayLike) -> Array:
        """Log probability that `score` is reported, with quality ~ N(0, 1)."""
        inner, s = self.reviewer, numbers("score", score)
        low, high = self._cell(s)
        if inner.certain.all():
            return log_normal_probability(inner.quality(low), inner.quality(high))
        if known_affine(inner):
            scale = np.sqrt(np.square(inner.slope) + np.square(inner.noise))
            return log_normal_probability((low - inner.offset) / scale, (high - inner.offset) / scale)
        return log_evidence((self,), s[..., None])

    @property
    def curved(self) -> bool:
        return self.reviewer.curved

    def edges(self, score: Array) -> Array:
        return np.stack(self._cell(score), axis=-1)

    def reach(self, score: Array, deviations: Array) -> tuple[Array, Array]:
        inner = self.reviewer
        if isinstance(inner, Affine) and inner.covariance is not None:
            return inner.reach(score, deviations)
        return super().reach(score, deviations)

    def log_ceiling(self) -> Array:
        return np.zeros(())

    def column(self, shape: tuple[int, ...], rows: Rows) -> Rounded:
        return Rounded(self.reviewer.column(shape, rows), self.grid)

    def _cell(self, score: Array) -> tuple[Array, Array]:
        """The ends of the cell of each score, infinite at the ends of the grid."""
        index = np.minimum(np.searchsorted(self.grid, score), self.grid.size - 1)
        shown = ", ".join(f"{value:g}" for value in self.grid[:10]) + ", ..." * (self.grid.size > 10)
        require_all("score", score, self.grid[index] == score, f"must lie on the grid {shown}")
        return grid_cells(score, self.grid)


def grid_cells(score: Array, grid: Array) -> tuple[Array, Array]:
    """The ends of each score's cell: halfway to its neighbors on the grid, infinite at the ends of it."""
    ends, index = cell_ends(grid), np.searchsorted(grid, score)
    return ends[index], ends[index + 1]


def cell_ends(grid: Array) -> Array:
    """The ends of all cells in order."""
    return np.concatenate([[-np.inf], 0.5 * (grid[1:] + grid[:-1]), [np.inf]])


def log_normal_probability(low: Array, high: Array) -> Array:
    """Log P(low < Z <= high) for a standard normal Z, in the tail that keeps the digits."""
    flip = low + high > 0.0
    near, far = np.where(flip, -low, high), np.where(flip, -high, low)
    upper, lower = log_ndtr(near), log_ndtr(far)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(near > far, upper + np.log1p(-np.exp(lower - upper)), -np.inf))
