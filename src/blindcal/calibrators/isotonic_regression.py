"""Least-squares calibration with monotone reviewers: each scores by an increasing function of their own.

References:
    S. Tan, J. Wu, X. Bei, H. Xu (2021): Least square calibration for peer reviews. NeurIPS 34.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from blindcal.calibrators.gibbs import Batch
from blindcal.calibrators.results import Calibration, Predictor, batch_of, unknown_errors
from blindcal.checks import Array, Integers, roundoff
from blindcal.reviews import Reviews

Booleans = NDArray[np.bool_]
STEPS = 2000
TOLERANCE = 1e-9


def isotonic(reviews: Reviews) -> Calibration:
    """Qualities that need the least noise if every reviewer scores by some increasing function.

    `isotonic_quality` says what is minimized.

    Args:
        reviews: The reviews of one conference.

    Example:
        >>> rows = {"paper": ["p", "q", "r"], "reviewer": ["ada"] * 3, "score": [1.0, 2.0, 3.0]}
        >>> isotonic(Reviews.from_table(rows)).quality.round(3)
        array([-1.225,  0.   ,  1.225])
    """
    batch = batch_of(reviews)
    quality, error = isotonic_quality(batch)
    curves, notes = reviewer_curves(batch, quality), unknown_errors(error)
    return Calibration("isotonic", reviews, quality, error, notes, predictor=curves)


def isotonic_quality(batch: Batch) -> tuple[Array, Array]:
    """Qualities x that minimize `sum (z_ij - x_i)^2` over x and perceived qualities z.

    Reviewer j perceives `z_ij` and scores by an increasing function of it. Of two papers with different
    scores the better scored one was perceived better, by at least the gap of the scores, which fixes the
    scale. Equal scores put no order on the two. The program is convex. It is solved by accelerated gradient
    steps in x; given x, z is an isotonic regression for each reviewer. Qualities are centered and scaled to
    variance 1 in each conference. If nothing connects two sets of papers, the sets keep the relative location
    of their mean scores.

    The standard error is `s / sqrt(k)` for k reviews, with `s` pooled over the conference from a jackknife:
    the whole calibration again with one review of each paper left out.
    """
    return _normalized(batch, _least_noise(batch)), _jackknife(batch)


def _normalized(batch: Batch, x: Array) -> Array:
    """Mean 0 and variance 1 in each conference.

    All are 0 if papers differ by no more than the minimization may be off.
    """
    size, flat = np.bincount(batch.paper_group, minlength=batch.groups), _accuracy(batch)
    x = x - (np.bincount(batch.paper_group, x, batch.groups) / size)[batch.paper_group]
    width = np.sqrt(np.bincount(batch.paper_group, x**2, batch.groups) / size)
    return np.asarray(x / np.where(width > flat, width, np.inf)[batch.paper_group])


def _jackknife(batch: Batch) -> Array:
    """`s / sqrt(k)`: fold f leaves out review number f of each paper with k > f and k > 1.

    One paper's variance `(k-1)/k * sum (x_f - mean)^2` has few degrees of freedom; k times it is pooled.
    """
    count = batch.per_paper()
    turn = _turns(batch)
    total, squares = np.zeros(batch.papers), np.zeros(batch.papers)
    for fold in range(int(count.max())):
        left_out = (turn == fold) & (count[batch.paper] > 1)
        if not left_out.any():
            break
        x = _normalized(batch, _least_noise(_without(batch, left_out)))
        use = count > np.maximum(fold, 1)
        total, squares = total + use * x, squares + use * x**2
    several = count > 1
    variance = (count - 1) * np.maximum(squares - total**2 / count, 0.0)
    number = np.bincount(batch.paper_group, several, batch.groups)
    summed = np.bincount(batch.paper_group, several * variance, batch.groups)
    pooled = np.where(number > 0, summed / np.maximum(number, 1), np.nan)
    return np.sqrt(pooled[batch.paper_group] / count)


def _turns(batch: Batch) -> Integers:
    """The position of each review among its paper's, by reviewer."""
    order = np.lexsort((batch.reviewer, batch.paper))
    sorted_paper = batch.paper[order]
    turn = np.empty(order.size, dtype=np.int64)
    turn[order] = np.arange(order.size) - np.searchsorted(sorted_paper, sorted_paper)
    return turn


def _without(batch: Batch, left_out: Booleans) -> Batch:
    """The batch with these reviews left out; reviewers without any other review go too."""
    stay = ~left_out
    kept, reviewer = np.unique(batch.reviewer[stay], return_inverse=True)
    return Batch(
        batch.paper[stay], reviewer, batch.score[stay], batch.paper_group, batch.reviewer_group[kept]
    )


def _least_noise(batch: Batch) -> Array:
    """The minimizing x: accelerated descent, restarted where it overshoots."""
    level = _levels(batch)
    count, groups = batch.per_paper(), batch.groups
    x = ahead = batch.per_paper(batch.score) / count
    momentum = np.ones(groups)
    accuracy = _accuracy(batch)
    for _ in range(STEPS):
        new = batch.per_paper(_perceive(batch, level, ahead)) / count
        if np.abs(new - ahead).max() <= accuracy:
            break
        # Restart the momentum of a conference whose last step went uphill (O'Donoghue and Candes 2015).
        overshoot = np.bincount(batch.paper_group, count * (ahead - new) * (new - x), groups) > 0
        grown = np.where(overshoot, 1.0, (1 + np.sqrt(1 + 4 * momentum**2)) / 2)
        push = np.where(overshoot, 0.0, (momentum - 1) / grown)
        x, ahead, momentum = new, new + push[batch.paper_group] * (new - x), grown
    return new


def _accuracy(batch: Batch) -> float:
    """How precisely qualities are computed, in units of the scores."""
    return max(TOLERANCE * float(np.ptp(batch.score)), roundoff(batch.score))


def _levels(batch: Batch) -> Integers:
    """A number for each (reviewer, score) pair, in that order."""
    order = np.lexsort((batch.score, batch.reviewer))
    r, s = batch.reviewer[order], batch.score[order]
    fresh = np.concatenate([[0], (np.diff(r) != 0) | (np.diff(s) != 0)])
    level = np.empty(order.size, dtype=np.int64)
    level[order] = np.cumsum(fresh)
    return level


def _perceive(batch: Batch, level: Integers, x: Array) -> Array:
    """The nearest z to x that every reviewer's order of scores allows.

    `z - score` is nondecreasing in the score; papers with equal scores are free among themselves, so they are
    put in the order of x first. One regression serves all: a barrier keeps reviewers apart.
    """
    target = x[batch.paper] - batch.score
    order = np.lexsort((target, level))
    barrier = batch.reviewer[order] * (1.0 + 2.0 * float(np.ptp(target)))
    z = np.empty_like(target)
    z[order] = scipy.optimize.isotonic_regression(target[order] + barrier).x - barrier
    return z + batch.score


def reviewer_curves(batch: Batch, quality: Array) -> Predictor:
    """Predicts a reviewer's score of a paper: isotonic regression of the reviewer's scores on quality.

    Linear between the reviewer's papers, level beyond them.
    """
    order = np.lexsort((quality[batch.paper], batch.reviewer))
    r, q, s = batch.reviewer[order], quality[batch.paper][order], batch.score[order]
    gap, rise = 1.0 + 2.0 * float(np.ptp(quality)), 1.0 + 2.0 * float(np.ptp(s))
    curve = scipy.optimize.isotonic_regression(s + r * rise).x - r * rise
    first = np.searchsorted(r, np.arange(batch.reviewers))
    last = np.searchsorted(r, np.arange(batch.reviewers), side="right") - 1

    def predict(paper: Integers, reviewer: Integers) -> Array:
        """Expected scores, within the range of each reviewer's papers."""
        at = np.clip(quality[paper], q[first[reviewer]], q[last[reviewer]])
        return np.interp(at + reviewer * gap, q + r * gap, curve)

    return predict
