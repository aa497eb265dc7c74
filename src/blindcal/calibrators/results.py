"""Calibration, the result of every calibrator with its follow-up questions; and the two plain means.

`raw` averages scores as they are, `standardized` after standardizing each reviewer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from blindcal.calibrators.gibbs import Batch, Fit
from blindcal.checks import Array, Integers, check_type, roundoff, strictly_within
from blindcal.errors import InputError
from blindcal.io.tables import data_frame
from blindcal.reviewers.affine import Affine
from blindcal.reviews import Reviews

Predictor = Callable[[Integers, Integers], Array]
GRAY = (0.1, 0.9)


@dataclass(frozen=True, eq=False)
class Calibration:
    """One quality and standard error per paper, in the order of `reviews.papers`; CONFIDENTIAL.

    Calibrated numbers depend on who reviewed what: published beside the scores they can reveal assignments.

    Attributes:
        method: The name of the calibrator.
        reviews: The reviews that were calibrated.
        quality: Of each paper; in units of the scores for `raw`, of each reviewer's standard deviation for
            `standardized`, else of quality, which has mean 0 and standard deviation 1.
        standard_error: Of each quality.
        notes: What the data could not show, in words.
        fitted: The reviewers, known or estimated, in the order of `reviews.reviewers`; else None.
        fit: The whole posterior of the sampled methods; else None.
        predictor: Expected scores from numbers of papers and reviewers; `predict` takes ids.
    """

    method: str
    reviews: Reviews = field(repr=False)
    quality: Array
    standard_error: Array
    notes: tuple[str, ...] = ()
    fitted: Affine | None = field(default=None, repr=False)
    fit: Fit | None = field(default=None, repr=False)
    predictor: Predictor | None = field(default=None, repr=False)

    def to_frame(self) -> Any:
        """One row per paper, as a pandas data frame; needs pandas. CONFIDENTIAL, as the numbers are."""
        columns = {"quality": self.quality, "standard_error": self.standard_error}
        return data_frame({"paper": list(self.reviews.papers), **columns})

    def predict(self, paper: ArrayLike, reviewer: ArrayLike) -> Array:
        """The score each `reviewer` would be expected to give each `paper` (ids, broadcast together)."""
        if self.predictor is None:
            raise InputError(f"{self.method} does not predict scores")
        i = _positions_of_ids("paper", paper, self.reviews.papers)
        j = _positions_of_ids("reviewer", reviewer, self.reviews.reviewers)
        i, j = np.broadcast_arrays(i, j)
        return self.predictor(i.ravel(), j.ravel()).reshape(i.shape)

    def accepted(self, rate: float) -> int:
        """How many papers an acceptance rate means: the nearest whole number, at least 1."""
        strictly_within("rate", rate, 0.0, 1.0)
        return min(max(1, round(rate * self.quality.size)), self.quality.size)

    def probability_accepted(self, rate: float) -> Array:
        """For each paper, the probability that its quality is among the best `rate` of all papers.

        They come from the joint draws if the method has them. Else qualities are taken as independent normal
        around their estimates, and the bar is where the expected number above it is the number accepted. They
        sum to that number.
        """
        count = self.accepted(rate)
        if count == self.quality.size:
            return np.ones(self.quality.size)
        if self.fit is not None and len(self.fit.draws[0]):
            draws = self.fit.draws[0]
            bar = np.partition(draws, -count, axis=1)[:, [-count]]
            return np.asarray((draws >= bar).mean(axis=0))
        return _probability_above_bar(self.quality, self.standard_error, count)

    def gray_zone(self, rate: float, low: float = GRAY[0], high: float = GRAY[1]) -> NDArray[np.bool_]:
        """Papers that may be accepted or not: with a probability strictly between `low` and `high`."""
        probability = self.probability_accepted(rate)
        return (probability > low) & (probability < high)

    @property
    def rank(self) -> Integers:
        """1 for the best paper; equal qualities share the better rank."""
        return competition_rank(self.quality)


def competition_rank(value: Array) -> Integers:
    """1 + the number of larger values; values that differ by roundoff alone are equal.

    >>> competition_rank(np.array([0.5, 2.0, 0.5, -1.0]))
    array([2, 1, 2, 4])
    >>> competition_rank(np.array([0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1]))
    array([1, 1])
    """
    order = np.argsort(value)
    tie = np.concatenate([[0], np.cumsum(np.diff(value[order]) > roundoff(value))])
    rank = np.empty(value.size, dtype=np.int64)
    rank[order] = 1 + value.size - np.searchsorted(tie, tie, side="right")
    return rank


def batch_of(reviews: Reviews) -> Batch:
    """One conference as a batch; its rows are in the order of papers and reviewers, not of the file."""
    check_type("reviews", reviews, Reviews, "what Reviews.read returns")
    order = np.lexsort((reviews.reviewer, reviews.paper))
    return Batch(reviews.paper[order], reviews.reviewer[order], reviews.score[order])


def _probability_above_bar(quality: Array, error: Array, count: int) -> Array:
    """Probabilities of independent normal qualities to be above the bar that `count` are expected to pass."""
    if not np.isfinite(error).all():
        raise InputError(
            "standard errors are unknown here (no paper has two reviews): no probabilities either"
        )
    # If errors are 0, qualities are compared as they are, up to roundoff; any width serves if all are 0.
    width = np.maximum(error, 1e-9 * float(np.abs(quality).max()) or 1.0)
    low, high = float((quality - 40 * width).min()), float((quality + 40 * width).max())
    find = partial(scipy.optimize.brentq, xtol=1e-14, rtol=1e-14)
    bar = find(lambda t: ndtr((quality - t) / width).sum() - count, low, high)
    return np.asarray(ndtr((quality - bar) / width))


def _positions_of_ids(kind: str, ids: ArrayLike, known: tuple[str, ...]) -> Integers:
    """Positions of these ids in the list of known ones; an unknown id is refused by name."""
    names = np.asarray(ids, dtype=object)
    position = {name: index for index, name in enumerate(known)}
    unknown = [name for name in names.ravel() if name not in position]
    if unknown:
        raise InputError(f"unknown {kind} {unknown[0]!r}: it has no review here")
    return np.array([position[name] for name in names.ravel()], dtype=np.int64).reshape(names.shape)


def raw(reviews: Reviews) -> Calibration:
    """Each paper's mean score, without any calibration, in units of the scores.

    Args:
        reviews: The reviews of one conference.

    Example:
        >>> rows = {"paper": list("ppqq"), "reviewer": ["ada", "ben"] * 2, "score": [1, 3, 6, 6]}
        >>> raw(Reviews.from_table(rows)).quality
        array([2., 6.])
    """
    quality, error = raw_quality(batch_of(reviews))
    return Calibration(
        "raw", reviews, quality, error, unknown_errors(error), predictor=lambda paper, _: quality[paper]
    )


def standardized(reviews: Reviews) -> Calibration:
    """Each paper's mean after every reviewer's scores are brought to mean 0 and standard deviation 1.

    Scores of a reviewer who gave only one, or equal ones, count as 0.

    Args:
        reviews: The reviews of one conference.

    Example:
        >>> rows = {"paper": list("pqpq"), "reviewer": ["ada", "ada", "ben", "ben"], "score": [1, 3, 5, 9]}
        >>> standardized(Reviews.from_table(rows)).quality
        array([-1.,  1.])
    """
    batch = batch_of(reviews)
    quality, error = standardized_quality(batch)
    mean, deviation = reviewer_moments(batch)
    flat = int((deviation == 0).sum())
    notes = (f"{flat} of {batch.reviewers} reviewers gave one score or equal scores: these count as 0",)
    return Calibration(
        "standardized",
        reviews,
        quality,
        error,
        (*unknown_errors(error), *(notes if flat else ())),
        predictor=lambda paper, reviewer: mean[reviewer] + deviation[reviewer] * quality[paper],
    )


def unknown_errors(error: Array) -> tuple[str, ...]:
    """A note if standard errors are unknown."""
    unknown = "no paper has two reviews: standard errors are unknown"
    return () if np.isfinite(error).all() else (unknown,)


def raw_quality(batch: Batch) -> tuple[Array, Array]:
    """The mean score of each paper, and its standard error `s / sqrt(k)` for k reviews.

    `s^2` is the variance of scores within papers, pooled over the conference: a paper's own two or three
    reviews say too little about it. It is nan if no paper of the conference has two reviews.
    """
    return _paper_means(batch, batch.score)


def standardized_quality(batch: Batch) -> tuple[Array, Array]:
    """Each paper's mean of `(score - mean_j) / sd_j`, over the scores of reviewer j, and its error.

    The paper's within-conference calibration (Appendix A). A reviewer who gave one score, or equal ones, says
    nothing about order after standardizing: those scores become 0.

    Returns mean standardized score and standard error, one entry per paper.
    """
    mean, deviation = reviewer_moments(batch)
    flat = deviation == 0
    standard = (batch.score - mean[batch.reviewer]) / np.where(flat, 1.0, deviation)[batch.reviewer]
    return _paper_means(batch, np.where(flat[batch.reviewer], 0.0, standard) if flat.any() else standard)


def reviewer_moments(batch: Batch) -> tuple[Array, Array]:
    """Mean and standard deviation (over n, as in the paper) of each reviewer's scores; 0 for equal scores."""
    count = batch.per_reviewer()
    mean = batch.per_reviewer(batch.score) / count
    spread = batch.score - mean[batch.reviewer]
    deviation = np.sqrt(batch.per_reviewer(spread**2) / count)
    # Equal scores can leave a rounding error in the mean; the deviation of a flat reviewer must be exactly 0.
    # Sums lose up to a unit in the last place for each score in them.
    rounding = (8 + count) * np.finfo(float).eps * np.sqrt(batch.per_reviewer(batch.score**2) / count)
    return mean, np.where(deviation <= rounding, 0.0, deviation)


def _paper_means(batch: Batch, value: Array) -> tuple[Array, Array]:
    """Means of a row value over papers, and their standard errors from the pooled variance."""
    count = batch.per_paper()
    mean = batch.per_paper(value) / count
    within = batch.per_group((value - mean[batch.paper]) ** 2)
    freedom = batch.per_group() - np.bincount(batch.paper_group, minlength=batch.groups)
    with np.errstate(invalid="ignore"):
        pooled = np.where(freedom > 0, within / np.maximum(freedom, 1), np.nan)
    return mean, np.sqrt(pooled[batch.paper_group] / count)
