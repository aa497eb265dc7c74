"""Random slopes, offsets and noise, everything estimated: `score = a_j * quality_i + b_j + noise`."""

from __future__ import annotations

from blindcal.calibrators.batches import Batch
from blindcal.calibrators.fits import fit_batch
from blindcal.checks import Array

SWEEPS = 1200


def hierarchical_quality(batch: Batch, *, sweeps: int = SWEEPS) -> tuple[Array, Array]:
    """Posterior mean and standard deviation of each quality, in N(0,1) units; one chain for all groups."""
    fit = fit_batch(batch, common_slope=False, sweeps=sweeps)
    return fit.quality, fit.standard_error
