"""Errors of an estimated ranking against the true one: any leading shape, papers on the last axis."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blindcal.checks import Array, numbers
from blindcal.errors import InputError

__all__ = ["kendall_tau_distance", "messy_middle_error"]

_LAGS = 127  # the largest sum of signs that fits 8 bits


def kendall_tau_distance(truth: ArrayLike, estimate: ArrayLike) -> Array:
    """Share of pairs of papers in the wrong order, `mean over pairs of (1 - sign(dt) sign(de)) / 2`.

    A pair tied in either ranking counts one half, what breaking ties by a fair coin costs on average: the
    distance is `(1 - tau_a) / 2`, and without ties (1 - tau)/2 for every tau.

    Args:
        truth: True qualities, papers on the last axis.
        estimate: Estimated ones; other axes are broadcast.

    Example:
        >>> kendall_tau_distance([1, 2, 3], [[1, 2, 3], [1, 3, 2], [3, 2, 1], [1, 2, 2]])
        array([0.        , 0.33333333, 1.        , 0.16666667])
    """
    true, estimated = _paired_rankings(truth, estimate)
    papers = true.shape[-1]
    # Papers first: each comparison then runs over one unbroken stretch of memory.
    t, e = (np.ascontiguousarray(np.moveaxis(value, -1, 0)) for value in (true, estimated))
    shape = np.broadcast_shapes(t.shape, e.shape)
    summed = np.zeros(shape[1:], dtype=np.int64)
    for first in range(1, papers, _LAGS):
        part = np.zeros(shape, dtype=np.int8)
        # Papers `lag` places apart.
        for lag in range(first, min(first + _LAGS, papers)):
            part[lag:] += _sign_ahead(t, lag) * _sign_ahead(e, lag)
        summed += part.sum(axis=0, dtype=np.int64)
    return np.asarray((1 - summed / (papers * (papers - 1) // 2)) / 2)


def messy_middle_error(truth: ArrayLike, estimate: ArrayLike) -> Array:
    """Share of the papers in the middle of the true ranking that a cut at the best quarter decides wrongly.

    With 100 papers: those of true rank 11-40, accepted if in the estimated best 25, as in Appendix A. With n
    papers the three numbers 10, 25, 40 are scaled by n/100 and rounded (halves up), with a cut of at least 1.

    Args:
        truth: True qualities, papers on the last axis.
        estimate: Estimated ones; those tied at the cut share its last places by a fair coin, on average.

    Example:
        >>> truth = np.arange(20, 0, -1)                      # ranks 3..8 are the middle, the cut is at 5
        >>> messy_middle_error(truth, [truth, -truth])
        array([0. , 0.5])
    """
    true, estimated = _paired_rankings(truth, estimate)
    papers = true.shape[-1]
    first, cut, last = middle(papers)
    # 0 for the best paper, 1 for the next; ties by place.
    position = np.argsort(np.argsort(-true, axis=-1, kind="stable"), axis=-1)
    wrong = np.where(position < cut, 1 - chance_in_best(estimated, cut), chance_in_best(estimated, cut))
    return np.asarray((wrong * ((position >= first) & (position < last))).sum(axis=-1) / (last - first))


def middle(papers: int) -> tuple[int, int, int]:
    """The messy middle: how many papers are clearly in, accepted, and not clearly out."""
    first, cut, last = ((papers * share + 50) // 100 for share in (10, 25, 40))
    return first, max(cut, 1), max(last, 1)


def _paired_rankings(truth: ArrayLike, estimate: ArrayLike) -> tuple[Array, Array]:
    true, estimated = numbers("truth", truth), numbers("estimate", estimate)
    if true.ndim == 0 or estimated.ndim == 0 or true.shape[-1] != estimated.shape[-1] or true.shape[-1] < 2:
        raise InputError(
            f"two rankings of the same 2 or more papers are needed, found {true.shape}, {estimated.shape}"
        )
    more = estimated.ndim - true.ndim
    return true[(None,) * max(more, 0)], estimated[(None,) * max(-more, 0)]


def _sign_ahead(value: Array, lag: int) -> NDArray[np.int8]:
    """`sign(value[i + lag] - value[i])`, without the underflow or overflow of a difference."""
    ahead, behind = value[lag:], value[:-lag]
    return (ahead > behind).view(np.int8) - (ahead < behind).view(np.int8)


def chance_in_best(estimate: Array, k: int) -> Array:
    """Probability of being in the best k when ties at the cut are broken by a fair coin."""
    cut = np.partition(estimate, -k, axis=-1)[..., -k, None]
    above, at = estimate > cut, estimate == cut
    left = k - above.sum(axis=-1, keepdims=True)
    share: Array = np.where(at, left / at.sum(axis=-1, keepdims=True), above)
    return share
