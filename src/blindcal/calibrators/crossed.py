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
    """
    return calibrate("offsets", reviews, common_slope=True, sweeps=sweeps)


def offsets_quality(batch: Batch, *, sweeps: int = SWEEPS) -> tuple[Array, Array]:
    """Posterior mean and standard deviation of each quality, in N(0,1) units; one chain for all groups."""
    fit = fit_batch(batch, common_slope=True, sweeps=sweeps)
    return fit.quality, fit.standard_error
