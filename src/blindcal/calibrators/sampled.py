"""From Reviews to a Calibration by sampling, and what the data cannot show, in words."""

from __future__ import annotations

import numpy as np

from blindcal.calibrators.batches import Batch
from blindcal.calibrators.fits import Fit, fit_batch
from blindcal.calibrators.results import Calibration, Predictor, batch_of
from blindcal.checks import Array, Integers
from blindcal.errors import InputError
from blindcal.reviewers.affine import Affine
from blindcal.reviews import Reviews

CHAINS = 2
KEEP = 800
UNSETTLED = 0.3  # chains that differ by more than this share of a standard error are said not to agree
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
    worst = float(fit.disagreement.max())
    if worst <= UNSETTLED:
        return ()
    return (f"two chains differ by {worst:.2f} standard errors on average: ask for more sweeps",)


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
