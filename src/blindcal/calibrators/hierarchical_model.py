"""Calibrators that estimate the reviewers by sampling, and notes on what the data cannot show.

`hierarchical`: reviewers differ in slope and offset, `score = a_j * quality_i + b_j + noise`.
`offsets`: reviewers differ in offset alone, `score = a * quality_i + b_j + noise` (crossed random effects).
"""

from __future__ import annotations

import numpy as np

from blindcal.calibrators.gibbs import Batch, Fit, fit_batch
from blindcal.calibrators.results import Calibration, Predictor, batch_of
from blindcal.checks import Array, Integers
from blindcal.compute.mcmc import ess_bulk, ess_tail, rhat
from blindcal.errors import InputError
from blindcal.reviewers.affine import Affine
from blindcal.reviews import Reviews

CHAINS = 2
KEEP = 800  # joint draws: for predictions and for probabilities of being accepted
HIERARCHICAL_SWEEPS, OFFSET_SWEEPS = 1500, 900
# Chains agree up to this R-hat of any quality. Vehtari and others ask for 1.01 of a single quantity; the
# largest one among the qualities of a conference exceeds that by chance.
CONVERGED = 1.05
_JUDGED = 20  # papers whose qualities are compared: R-hat of all of them would take as long as the chains
_CHUNK = 4096  # scores that are predicted at once


def calibrate(method: str, reviews: Reviews, *, common_slope: bool, sweeps: int) -> Calibration:
    """The calibration from two chains; refused if no paper has two reviews or all scores are equal."""
    batch = batch_of(reviews)
    _enough(batch)
    fit = fit_batch(batch, common_slope=common_slope, sweeps=sweeps, chains=CHAINS, keep=KEEP)
    return Calibration(
        method,
        reviews,
        fit.quality,
        fit.standard_error,
        (*_doubts(reviews, batch), *_unsettled(fit)),
        fitted=Affine(fit.slope, fit.offset, fit.noise[0], fit.covariance),
        fit=fit,
        predictor=expected_score(fit),
    )


def _enough(batch: Batch) -> None:
    """Refuse reviews from which nothing can be estimated."""
    if batch.per_paper().max() < 2:
        raise InputError("no paper has two reviews: quality cannot be separated from noise")
    if np.ptp(batch.score) == 0:
        raise InputError(f"all scores are {batch.score[0]:g}: there is nothing to calibrate")


def _doubts(reviews: Reviews, batch: Batch) -> tuple[str, ...]:
    """What these reviews leave to the model."""
    notes = []
    single = int((batch.per_reviewer() == 1).sum())
    if single == batch.reviewers:
        notes.append("no reviewer has two reviews: a reviewer's habits cannot be separated from noise")
    elif single:
        notes.append(
            f"{single} of {batch.reviewers} reviewers have one review: little is known about their habits"
        )
    if batch.reviewers < 5:
        notes.append(f"only {batch.reviewers} reviewers: how much reviewers differ is poorly known")
    parts = reviews.components.count
    if parts > 1:
        notes.append(
            f"the reviews fall into {parts} sets without a common reviewer: papers of different sets "
            "are compared by assuming that papers and reviewers of each set are alike"
        )
    return tuple(notes)


def _unsettled(fit: Fit) -> tuple[str, ...]:
    """A note if the chains do not agree about the qualities."""
    draws = fit.quality_draws(_JUDGED)
    largest = float(rhat(draws).max())
    # Not `largest <= CONVERGED`: R-hat is nan for chains that are too short to judge.
    if not largest > CONVERGED:
        return ()
    size = min(float(ess_bulk(draws).min()), float(ess_tail(draws).min()))
    return (
        f"two chains do not agree yet (R-hat {largest:.2f}, effective sample size {size:.0f}): "
        "ask for more sweeps",
    )


def expected_score(fit: Fit) -> Predictor:
    """A predictor of scores: the posterior mean of `slope * quality + offset`."""
    quality, slope, offset = fit.draws

    def predict(paper: Integers, reviewer: Integers) -> Array:
        value = np.empty(paper.size)
        for start in range(0, paper.size, _CHUNK):
            i, j = paper[start : start + _CHUNK], reviewer[start : start + _CHUNK]
            value[start : start + _CHUNK] = (slope[:, j] * quality[:, i] + offset[:, j]).mean(axis=0)
        return value

    return predict


def hierarchical(reviews: Reviews, *, sweeps: int = HIERARCHICAL_SWEEPS) -> Calibration:
    """Posterior mean and standard deviation of each quality, with nothing known about the reviewers.

    quality ~ N(0,1) over papers; slopes (above 0) and offsets are normal over reviewers; noise is normal. The
    spread of each is learned from these reviews.

    Args:
        reviews: The reviews of one conference.
        sweeps: The length of each of two chains, the first third of which is dropped.

    Returns:
        A calibration whose `fitted` holds each reviewer's slope and offset with their covariance.

    Raises:
        InputError: If no paper has two reviews, or all scores are equal.

    Example:
        A few sweeps are enough to see that ben is more lenient than ada:

        >>> reviewer, score = ["ada"] * 3 + ["ben"] * 3, [3, 2, 1, 6, 5, 4]
        >>> rows = {"paper": list("pqrqrs"), "reviewer": reviewer, "score": score}
        >>> hierarchical(Reviews.from_table(rows), sweeps=30).rank
        array([1, 2, 3, 4])
    """
    return calibrate("hierarchical", reviews, common_slope=False, sweeps=sweeps)


def hierarchical_quality(batch: Batch, *, sweeps: int = HIERARCHICAL_SWEEPS) -> tuple[Array, Array]:
    """Posterior mean and standard deviation of each quality, in N(0,1) units, by the model of `hierarchical`.

    `batch`: one conference or many, all in one chain. `sweeps`: the length of the chain, the first third of
    which is dropped.
    """
    fit = fit_batch(batch, common_slope=False, sweeps=sweeps)
    return fit.quality, fit.standard_error


def offsets(reviews: Reviews, *, sweeps: int = OFFSET_SWEEPS) -> Calibration:
    """Posterior mean and standard deviation of each quality if reviewers differ in leniency alone.

    quality ~ N(0,1) over papers, offsets are normal over reviewers, and all have one slope. Every variance is
    learned.

    Args:
        reviews: The reviews of one conference.
        sweeps: The length of each of two chains, the first third of which is dropped.

    Returns:
        A calibration whose `fitted` holds each reviewer's slope and offset with their covariance.

    Raises:
        InputError: If no paper has two reviews, or all scores are equal.

    Example:
        A few sweeps are enough to see that ben is more lenient than ada:

        >>> reviewer, score = ["ada"] * 3 + ["ben"] * 3, [3, 2, 1, 6, 5, 4]
        >>> rows = {"paper": list("pqrqrs"), "reviewer": reviewer, "score": score}
        >>> offsets(Reviews.from_table(rows), sweeps=30).rank
        array([1, 2, 3, 4])
    """
    return calibrate("offsets", reviews, common_slope=True, sweeps=sweeps)


def offsets_quality(batch: Batch, *, sweeps: int = OFFSET_SWEEPS) -> tuple[Array, Array]:
    """Posterior mean and standard deviation of each quality, in N(0,1) units, by the model of `offsets`.

    `batch`: one conference or many, all in one chain. `sweeps`: the length of the chain, the first third of
    which is dropped.

    Example:
        >>> batch = Batch([0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1], [1, 2, 3, 6, 7, 8])
        >>> quality, _ = offsets_quality(batch, sweeps=30)
        >>> quality.argsort()
        array([0, 1, 2])
    """
    fit = fit_batch(batch, common_slope=True, sweeps=sweeps)
    return fit.quality, fit.standard_error
