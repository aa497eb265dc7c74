"""Crossed random effects: reviewers differ in offset alone, `score = a * quality_i + b_j + noise`."""

from __future__ import annotations

from blindcal.calibrators.batches import Batch
from blindcal.calibrators.fits import fit_batch
from blindcal.checks import Array

SWEEPS = 600


def offsets_quality(batch: Batch, *, sweeps: int = SWEEPS) -> tuple[Array, Array]:
    """Posterior mean and standard deviation of each quality, in N(0,1) units; one chain for all groups."""
    fit = fit_batch(batch, common_slope=True, sweeps=sweeps)
    return fit.quality, fit.standard_error
