"""From Reviews to a Calibration by sampling, and what the data cannot show, in words.

Random slopes, offsets and noise, everything estimated: `score = a_j * quality_i + b_j + noise`.

Crossed random effects: reviewers differ in offset alone, `score = a * quality_i + b_j + noise`.
"""

from __future__ import annotations

import numpy as np

from blindcal.calibrators.batch import Batch
from blindcal.calibrators.gibbs import Fit, fit_batch
from blindcal.calibrators.results import Calibration, Predictor, batch_of
from blindcal.checks import Array, Integers
from blindcal.compute.mcmc import ess_bulk, ess_tail, rhat
from blindcal.errors import InputError
from blindcal.reviewers.affine import Affine
from blindcal.reviews import Reviews

CHAINS = 2
KEEP = 800
# Chains agree up to this R-hat of any quality. Vehtari and others ask for 1.01 of a single quantity; the
# largest one among the qualities of a conference exceeds that by chance.
CONVERGED = 1.05
_JUDGED = 40  # papers whose qualities are compared: R-hat of a thousand would take longer than some sweeps
_CHUNK = 4096


def calibrate(method: str, reviews: Reviews, *, common_slope: bool, sweeps: int) -> Calibration:
    """Two chains; refused where no paper has two reviews or all scores are equal."""
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
    """The posterior mean of `slope * quality + offset`."""
    quality, slope, offset = fit.draws

    def predict(paper: Integers, reviewer: Integers) -> Array:
        value = np.empty(paper.size)
        for start in range(0, paper.size, _CHUNK):
            i, j = paper[start : start + _CHUNK], reviewer[start : start + _CHUNK]
            value[start : start + _CHUNK] = (slope[:, j] * quality[:, i] + offset[:, j]).mean(axis=0)
        return value

    return predict


HIERARCHICAL_SWEEPS = 1500


def hierarchical(reviews: Reviews, *, sweeps: int = HIERARCHICAL_SWEEPS) -> Calibration:
    """Posterior mean and standard deviation of each quality, nothing about the reviewers known.

    quality ~ N(0,1) over papers; slopes (above 0) and offsets normal over reviewers; noise normal; the
    spread of each learned from these reviews. `fitted` holds each reviewer's slope and offset with their
    covariance. `reviews` are those of one conference; `sweeps` is the length of each of two chains, the first
    third of which is dropped. A few are enough here to see that ben is the more lenient:

    >>> rows = {"paper": list("pqrqrs"), "reviewer": ["ada"] * 3 + ["ben"] * 3, "score": [3, 2, 1, 6, 5, 4]}
    >>> hierarchical(Reviews.from_table(rows), sweeps=30).rank
    array([1, 2, 3, 4])
    """
    return calibrate("hierarchical", reviews, common_slope=False, sweeps=sweeps)


def hierarchical_quality(batch: Batch, *, sweeps: int = HIERARCHICAL_SWEEPS) -> tuple[Array, Array]:
    """Posterior mean and standard deviation of each quality of `batch`, in N(0,1) units.

    One chain for all conferences of the batch; `sweeps` is its length, the first third of which is dropped.

    >>> batch = Batch([0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1], [1, 2, 3, 4, 6, 8])
    >>> quality, _ = hierarchical_quality(batch, sweeps=30)
    >>> quality.argsort()
    array([0, 1, 2])
    """
    fit = fit_batch(batch, common_slope=False, sweeps=sweeps)
    return fit.quality, fit.standard_error


OFFSET_SWEEPS = 900


def offsets(reviews: Reviews, *, sweeps: int = OFFSET_SWEEPS) -> Calibration:
    """Posterior mean and standard deviation of each quality when reviewers differ in leniency alone.

    quality ~ N(0,1) over papers, offsets normal over reviewers, one slope for all; every variance learned.
    `reviews` are those of one conference; `sweeps` is the length of each of two chains, the first third of
    which is dropped. A few are enough here to see that ben is the more lenient by 4:

    >>> rows = {"paper": list("pqrqrs"), "reviewer": ["ada"] * 3 + ["ben"] * 3, "score": [3, 2, 1, 6, 5, 4]}
    >>> offsets(Reviews.from_table(rows), sweeps=30).rank
    array([1, 2, 3, 4])
    """
    return calibrate("offsets", reviews, common_slope=True, sweeps=sweeps)


def offsets_quality(batch: Batch, *, sweeps: int = OFFSET_SWEEPS) -> tuple[Array, Array]:
    """Posterior mean and standard deviation of each quality of `batch`, in N(0,1) units.

    One chain for all conferences of the batch; `sweeps` is its length, the first third of which is dropped.

    >>> batch = Batch([0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1], [1, 2, 3, 6, 7, 8])
    >>> quality, _ = offsets_quality(batch, sweeps=30)
    >>> quality.argsort()
    array([0, 1, 2])
    """
    fit = fit_batch(batch, common_slope=True, sweeps=sweeps)
    return fit.quality, fit.standard_error
