"""Crossed random effects: reviewers differ in offset alone, `score = a * quality_i + b_j + noise`."""

from __future__ import annotations

from blindcal.calibrators.batches import Batch
from blindcal.calibrators.fits import fit_batch
from blindcal.calibrators.results import Calibration
from blindcal.calibrators.sampled import calibrate
from blindcal.checks import Array
from blindcal.reviews import Reviews

SWEEPS = 900


def offsets(reviews: Reviews, *, sweeps: int = SWEEPS) -> Calibration:
    """Posterior mean and standard deviation of each quality when reviewers differ in leniency alone.

    quality ~ N(0,1) over papers, offsets normal over reviewers, one slope for all; every variance learned.
    `reviews` are those of one conference; `sweeps` is the length of each of two chains, the first third of
    which is dropped. A few are enough here to see that ben is the more lenient by 4:

    >>> rows = {"paper": list("pqrqrs"), "reviewer": ["ada"] * 3 + ["ben"] * 3, "score": [3, 2, 1, 6, 5, 4]}
    >>> offsets(Reviews.from_table(rows), sweeps=30).rank
    array([1, 2, 3, 4])
    """
    return calibrate("offsets", reviews, common_slope=True, sweeps=sweeps)


def offsets_quality(batch: Batch, *, sweeps: int = SWEEPS) -> tuple[Array, Array]:
    """Posterior mean and standard deviation of each quality of `batch`, in N(0,1) units.

    One chain for all conferences of the batch; `sweeps` is its length, the first third of which is dropped.

    >>> batch = Batch([0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1], [1, 2, 3, 6, 7, 8])
    >>> quality, _ = offsets_quality(batch, sweeps=30)
    >>> quality.argsort()
    array([0, 1, 2])
    """
    fit = fit_batch(batch, common_slope=True, sweeps=sweeps)
    return fit.quality, fit.standard_error
