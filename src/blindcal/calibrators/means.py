"""Means of scores: as they are (`raw`), or after standardizing each reviewer (`standardized`)."""

from __future__ import annotations

import numpy as np

from blindcal.calibrators.batch import Batch
from blindcal.calibrators.results import Calibration, batch_of
from blindcal.checks import Array
from blindcal.reviews import Reviews


def raw(reviews: Reviews) -> Calibration:
    """Each paper's mean score, without any calibration, in units of the scores.

    Args:
        reviews: The reviews of one conference.

    Returns:
        A calibration with the mean scores as qualities.

    Example:
        >>> rows = {"paper": list("ppqq"), "reviewer": ["ada", "ben"] * 2, "score": [1, 3, 6, 6]}
        >>> raw(Reviews.from_table(rows)).quality
        array([2., 6.])
    """
    quality, error = raw_quality(batch_of(reviews))
    return Calibration(
        "raw", reviews, quality, error, _unknown_errors(error), predictor=lambda paper, _: quality[paper]
    )


def standardized(reviews: Reviews) -> Calibration:
    """Each paper's mean after every reviewer's scores are brought to mean 0 and standard deviation 1.

    Scores of a reviewer who gave only one, or equal ones, count as 0.

    Args:
        reviews: The reviews of one conference.

    Returns:
        A calibration in units of each reviewer's standard deviation.

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
        (*_unknown_errors(error), *(notes if flat else ())),
        predictor=lambda paper, reviewer: mean[reviewer] + deviation[reviewer] * quality[paper],
    )


def _unknown_errors(error: Array) -> tuple[str, ...]:
    """A note if standard errors are unknown."""
    unknown = "no paper has two reviews: standard errors are unknown"
    return () if np.isfinite(error).all() else (unknown,)


def raw_quality(batch: Batch) -> tuple[Array, Array]:
    """The mean score of each paper, and its standard error `s / sqrt(k)` for k reviews.

    `s^2` is the variance of scores within papers, pooled over the conference: a paper's own two or three
    reviews say too little about it. It is nan if no paper of the conference has two reviews.

    Args:
        batch: One conference or many.

    Returns:
        Mean score and standard error, one entry per paper.

    Example:
        >>> raw_quality(Batch([0, 0, 1, 1], [0, 1, 0, 1], [1, 3, 6, 6]))
        (array([2., 6.]), array([0.70710678, 0.70710678]))
    """
    return _means(batch, batch.score)


def standardized_quality(batch: Batch) -> tuple[Array, Array]:
    """Each paper's mean of `(score - mean_j) / sd_j`, over the scores of reviewer j, and its error.

    The paper's within-conference calibration (Appendix A). A reviewer who gave one score, or equal ones, says
    nothing about order after standardizing: those scores become 0.

    Args:
        batch: One conference or many.

    Returns:
        Mean standardized score and standard error, one entry per paper.

    Example:
        >>> standardized_quality(Batch([0, 1, 0, 1], [0, 0, 1, 1], [1, 3, 5, 9]))[0]
        array([-1.,  1.])
    """
    mean, deviation = reviewer_moments(batch)
    flat = deviation == 0
    standard = (batch.score - mean[batch.reviewer]) / np.where(flat, 1.0, deviation)[batch.reviewer]
    return _means(batch, np.where(flat[batch.reviewer], 0.0, standard) if flat.any() else standard)


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


def _means(batch: Batch, value: Array) -> tuple[Array, Array]:
    """Means of a row value over papers, and their standard errors from the pooled variance."""
    count = batch.per_paper()
    mean = batch.per_paper(value) / count
    within = batch.per_group((value - mean[batch.paper]) ** 2)
    freedom = batch.per_group() - np.bincount(batch.paper_group, minlength=batch.groups)
    with np.errstate(invalid="ignore"):
        pooled = np.where(freedom > 0, within / np.maximum(freedom, 1), np.nan)
    return mean, np.sqrt(pooled[batch.paper_group] / count)
