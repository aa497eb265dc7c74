"""The posterior of quality given scores: moments, tails, and which of two papers is better."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from blindcal.checks import Array, numbers
from blindcal.errors import InputError
from blindcal.reviewers.base import Reviewer
from blindcal.reviewers.quadrature import (
    ScoreLikelihood,
    evaluate_by_rows,
    log_joint,
    mean_and_variance,
    panel_ends,
    panel_nodes,
    probability_greater,
    row_chunks,
    tail_probability,
)

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
    return _moments(reviewers, scores, 0)


def posterior_variance(reviewers: Sequence[Reviewer], scores: ArrayLike) -> Array:
    """Var(quality | scores) of a paper with one review by each of k reviewers.

    Args:
        reviewers: As for `posterior_mean`.
        scores: `[..., k]`, as for `posterior_mean`.

    Example:
        >>> from blindcal import Affine
        >>> float(posterior_variance([Affine(1.0, noise=1.0)], [7.0])).__round__(12)
        0.5
    """
    return _moments(reviewers, scores, 1)


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
    s = _checked(reviewers, scores)
    level = numbers("bar", bar)
    shape = np.broadcast_shapes(s.shape[:-1], level.shape, *(r.shape for r in reviewers))
    s = np.broadcast_to(s, (*shape, s.shape[-1])).reshape(-1, s.shape[-1])
    level = np.broadcast_to(level, shape).reshape(-1)
    out = np.empty(len(s))
    for rows in row_chunks(len(s)):
        out[rows] = _tail([r.column(shape, rows) for r in reviewers], s[rows], level[rows])
    return out.reshape(shape)


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
    for first_certain, second_certain in ((True, True), (True, False), (False, True), (False, False)):
        chosen = np.flatnonzero((sure[0] == first_certain) & (sure[1] == second_certain))
        for part in row_chunks(len(chosen)):
            rows = chosen[part]
            out[rows] = _probability_better(
                first.column(shape, rows),
                second.column(shape, rows),
                flat[rows],
                first_certain,
                second_certain,
            )
    return np.where(np.abs(out - 0.5) <= _TIED_CHANCE, 0.5, out).reshape(shape)


def _probability_better(
    first: Reviewer, second: Reviewer, s: Array, first_certain: bool, second_certain: bool
) -> Array:
    """P(first paper is better) for rows in which each reviewer is certain or not."""
    left, right = s[:, :1], s[:, 1:]
    if first_certain and second_certain:
        return _greater(first.quality(left)[:, 0], second.quality(right)[:, 0])
    if first_certain:
        return 1.0 - _tail([second], right, first.quality(left)[:, 0])
    if second_certain:
        return _tail([first], left, second.quality(right)[:, 0])
    ends = np.concatenate([panel_ends([first], left), panel_ends([second], right)], axis=-1)
    ends.sort(axis=-1)
    t, _ = panel_nodes(ends)
    return probability_greater(log_joint([first], left, t), log_joint([second], right, t), ends)


def _greater(t: Array, u: Array) -> Array:
    """1 if t > u, 0 if t < u, 1/2 at a tie."""
    finite = np.isfinite(t) & np.isfinite(u)
    a, b = np.where(finite, t, 0.0), np.where(finite, u, 0.0)
    tie = (t == u) | (finite & (np.abs(a - b) <= _TIE * (1.0 + np.abs(a) + np.abs(b))))
    return np.where(tie, 0.5, (t > u).astype(np.float64))


def _tail(reviews: Sequence[ScoreLikelihood], s: Array, level: Array) -> Array:
    """P(quality > level | scores), for each row."""
    ends = panel_ends(reviews, s)
    level = np.clip(level, ends[:, 0], ends[:, -1])
    ends = np.sort(np.concatenate([ends, level[:, None]], axis=-1), axis=-1)
    t, _ = panel_nodes(ends)
    return tail_probability(log_joint(reviews, s, t), ends, level)


def _moments(reviewers: Sequence[Reviewer], scores: ArrayLike, which: int) -> Array:
    """The posterior mean (0) or variance (1)."""

    def evaluate(some: Sequence[ScoreLikelihood], rows: Array) -> Array:
        t, weight = panel_nodes(panel_ends(some, rows))
        return mean_and_variance(log_joint(some, rows, t), weight, t)[which]

    return evaluate_by_rows(reviewers, _checked(reviewers, scores), evaluate)


def _checked(reviewers: Sequence[Reviewer], scores: ArrayLike) -> Array:
    """Scores with one column for each reviewer, all of whom have noise."""
    s = numbers("scores", scores)
    if s.ndim == 0 or s.shape[-1] != len(reviewers) or not reviewers:
        raise InputError(f"scores must have shape [..., {len(reviewers)}], one a reviewer, found {s.shape}")
    if any(r.certain.any() for r in reviewers):
        raise InputError("noise must be above 0, found 0: without noise one score fixes the quality")
    return s
