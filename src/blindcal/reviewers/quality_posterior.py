"""Quality given scores: moments, tails, which of two papers is better, and other distributions of quality."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol

import numpy as np
import scipy
from numpy.typing import ArrayLike

from blindcal.checks import Array, numbers
from blindcal.errors import InputError
from blindcal.reviewers.base import DerivedReviewer, Reviewer
from blindcal.reviewers.quadrature import (
    Rows,
    evaluate_by_rows,
    log_joint,
    mean_of,
    panel_ends,
    panel_nodes,
    probability_greater,
    row_chunks,
    tail_probability,
)

# --- Qualities with a distribution other than N(0, 1), for a pair or a paper.
#
# Only ranks of qualities matter to which paper is better, and any continuous distribution is an increasing
# function T of N(0, 1). A reviewer who maps quality T(z) to a score is therefore a reviewer who maps z to it,
# with the curve `score(T(z))`. `Shaped` is that reviewer and can be used like any other. A bar on quality
# becomes `standard_quality(distribution, bar)`. A whole conference has affine reviewers, so its qualities
# stay N(0, 1).

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
    return np.where(low < 0.5, scipy.special.ndtri(low), -scipy.special.ndtri(high))


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
        quantiles = self._quality_at(grid)
        if not np.isfinite(quantiles).all() or (np.diff(quantiles) <= 0.0).any():
            raise InputError(
                "a distribution of quality must be continuous: its quantiles must rise everywhere"
            )

    def _quality_at(self, z: ArrayLike) -> Array:
        """T(z), by the nearer tail, so that both tails keep their digits."""
        at = np.clip(np.asarray(z, dtype=np.float64), -_MAX_Z, _MAX_Z)
        below = self.distribution.ppf(scipy.special.ndtr(np.minimum(at, 0.0)))
        above = self.distribution.isf(scipy.special.ndtr(-np.maximum(at, 0.0)))
        return np.asarray(np.where(at < 0.0, below, above))

    def score(self, quality: ArrayLike) -> Array:
        return self.reviewer.score(self._quality_at(numbers("quality", quality)))

    def quality(self, score: ArrayLike) -> Array:
        """The rank, as a z of N(0, 1), of the quality behind `score`."""
        return standard_quality(self.distribution, self.reviewer.quality(score))

    def derivative(self, quality: ArrayLike) -> Array:
        """The derivative d score / dz = score'(T(z)) phi(z) / f(T(z))."""
        z = np.asarray(quality, dtype=np.float64)
        t = self._quality_at(z)
        phi = np.exp(-0.5 * np.square(z)) / np.sqrt(2.0 * np.pi)
        return np.asarray(self.reviewer.derivative(t) * phi / np.asarray(self.distribution.pdf(t)))

    def center(self, quality: ArrayLike) -> Array:
        return self.reviewer.center(self._quality_at(quality))

    def spread(self, quality: ArrayLike) -> Array:
        return self.reviewer.spread(self._quality_at(quality))

    @property
    def resolved(self) -> bool:
        """Nothing is known about T: panels are halved until they agree."""
        return False

    @property
    def knots(self) -> Array:
        """Where the curve is not smooth, by rank."""
        return standard_quality(self.distribution, self.reviewer.knots)

    def log_likelihood(self, score: ArrayLike, quality: ArrayLike) -> Array:
        return self.reviewer.log_likelihood(score, self._quality_at(quality))

    def reach(self, score: Array, deviations: Array) -> tuple[Array, Array]:
        low, high = self.reviewer.reach(score, deviations)
        return standard_quality(self.distribution, low), standard_quality(self.distribution, high)

    def column(self, shape: tuple[int, ...], rows: Rows) -> Reviewer:
        return Shaped(self.reviewer.column(shape, rows), self.distribution)


# Qualities this close, relative to their size, are tied: this is the rounding of two inverses.
_TIE = 16.0 * np.finfo(np.float64).eps
_TIED_CHANCE = 1e-12


def posterior_mean(reviewers: Sequence[Reviewer], scores: ArrayLike) -> Array:
    """E(quality | scores) of a paper with one review by each of k reviewers, quality ~ N(0, 1).

    Args:
        reviewers: All with noise.
        scores: `[..., k]`, in the order of `reviewers`; leading axes are papers.

    Example:
        >>> from blindcal import Affine
        >>> float(posterior_mean([Affine(1.0, noise=1.0), Affine(2.0, noise=1.0)], [1.0, 2.0])).__round__(12)
        0.833333333333
    """

    def evaluate(some: Sequence[Reviewer], rows: Array) -> Array:
        t, weight = panel_nodes(panel_ends(some, rows))
        return mean_of(t, log_joint(some, rows, t), weight)

    return evaluate_by_rows(reviewers, _checked_scores(reviewers, scores), evaluate)


def posterior_tail(reviewers: Sequence[Reviewer], scores: ArrayLike, bar: ArrayLike) -> Array:
    """P(quality > bar | scores) of a paper with one review by each of k reviewers.

    Args:
        reviewers: As for `posterior_mean`.
        scores: `[..., k]`, as for `posterior_mean`.
        bar: In units of quality, which is N(0, 1): one number, or one for each paper.

    Example:
        >>> from blindcal import Affine
        >>> float(posterior_tail([Affine(1.0, noise=1.0)], [0.6], 0.3)).__round__(12)
        0.5
    """
    s = _checked_scores(reviewers, scores)
    level = numbers("bar", bar)
    shape = np.broadcast_shapes(s.shape[:-1], level.shape, *(r.shape for r in reviewers))
    parts = np.broadcast_to(s, (*shape, s.shape[-1])), np.broadcast_to(level, shape)[..., None]
    rows = np.concatenate(parts, axis=-1)
    return evaluate_by_rows(
        reviewers, rows, lambda some, row: _posterior_tail_of(some, row[:, :-1], row[:, -1])
    )


def chance_better(first: Reviewer, second: Reviewer, scores: ArrayLike) -> Array:
    """The probability that the paper that `first` scored is better than the one that `second` scored.

    Without noise it is 1, 0, or 1/2 if the two qualities are equal. With noise, a probability within 1e-12 of
    1/2 is a tie and exactly 1/2: the integrals are no finer than that.

    Args:
        first: The reviewer of one paper.
        second: The reviewer of the other paper.
        scores: `[..., 2]`, the scores given by `first` and by `second`; leading axes are pairs of papers.

    Example:
        >>> from blindcal import Affine
        >>> chance_better(Affine(1.0), Affine(2.0), [[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
        array([1. , 0.5, 0. ])
    """
    s = numbers("scores", scores)
    if s.ndim == 0 or s.shape[-1] != 2:
        raise InputError(f"scores must have shape [..., 2], found {s.shape}")
    shape = np.broadcast_shapes(s.shape[:-1], first.shape, second.shape)
    flat = np.broadcast_to(s, (*shape, 2)).reshape(-1, 2)
    sure = [np.broadcast_to(r.certain, shape).reshape(-1) for r in (first, second)]
    out = np.empty(len(flat))
    for certain in product((True, False), repeat=2):
        chosen = np.flatnonzero((sure[0] == certain[0]) & (sure[1] == certain[1]))
        for part in row_chunks(len(chosen)):
            rows = chosen[part]
            both = first.column(shape, rows), second.column(shape, rows)
            out[rows] = _probability_better(*both, flat[rows], *certain)
    return np.where(np.abs(out - 0.5) <= _TIED_CHANCE, 0.5, out).reshape(shape)


def _probability_better(
    first: Reviewer, second: Reviewer, s: Array, first_certain: bool, second_certain: bool
) -> Array:
    """P(first paper is better) for rows in which each reviewer is certain or not."""
    left, right = s[:, :1], s[:, 1:]
    if first_certain and second_certain:
        t, u = first.quality(left)[:, 0], second.quality(right)[:, 0]
        # Qualities beyond the ends of a curve are infinite: they tie only with each other.
        finite = np.isfinite(t) & np.isfinite(u)
        a, b = np.where(finite, t, 0.0), np.where(finite, u, 0.0)
        tie = (t == u) | (finite & (np.abs(a - b) <= _TIE * (1.0 + np.abs(a) + np.abs(b))))
        return np.where(tie, 0.5, (t > u).astype(np.float64))
    if first_certain:
        return 1.0 - _posterior_tail_of([second], right, first.quality(left)[:, 0])
    if second_certain:
        return _posterior_tail_of([first], left, second.quality(right)[:, 0])
    ends = np.concatenate([panel_ends([first], left), panel_ends([second], right)], axis=-1)
    ends.sort(axis=-1)
    t, _ = panel_nodes(ends)
    return probability_greater(log_joint([first], left, t), log_joint([second], right, t), ends)


def _posterior_tail_of(reviews: Sequence[Reviewer], s: Array, level: Array) -> Array:
    ends = panel_ends(reviews, s)
    level = np.clip(level, ends[:, 0], ends[:, -1])
    ends = np.sort(np.concatenate([ends, level[:, None]], axis=-1), axis=-1)
    t, _ = panel_nodes(ends)
    return tail_probability(log_joint(reviews, s, t), ends, level)


def _checked_scores(reviewers: Sequence[Reviewer], scores: ArrayLike) -> Array:
    """Scores with one column for each reviewer, all of whom have noise."""
    s = numbers("scores", scores)
    if s.ndim == 0 or s.shape[-1] != len(reviewers) or not reviewers:
        raise InputError(f"scores must have shape [..., {len(reviewers)}], one a reviewer, found {s.shape}")
    if any(r.certain.any() for r in reviewers):
        raise InputError("noise must be above 0, found 0: without noise one score fixes the quality")
    return s
