"""Random slopes, offsets and noise, everything estimated: `score = a_j * quality_i + b_j + noise`."""

from __future__ import annotations

from blindcal.calibrators.batches import Batch
from blindcal.calibrators.fits import fit_batch
from blindcal.calibrators.results import Calibration
from blindcal.calibrators.sampled import calibrate
from blindcal.checks import Array
from blindcal.reviews import Reviews

SWEEPS = 1500


def hierarchical(reviews: Reviews, *, sweeps: int = SWEEPS) -> Calibration:
    """Posterior mean and standard deviation of each quality, nothing about the reviewers known.

    quality ~ N(0,1) over papers; slopes (above 0) and offsets normal over reviewers; noise normal; the
    spread of each learned from these reviews. `fitted` holds each reviewer's slope and offset with their
    covariance.
    """
    return calibrate("hierarchical", reviews, common_slope=False, sweeps=sweeps)


def hierarchical_quality(batch: Batch, *, sweeps: int = SWEEPS) -> tuple[Array, Array]:
    """Posterior mean and standard deviation of each quality, in N(0,1) units; one chain for all groups."""
    fit = fit_batch(batch, common_slope=False, sweeps=sweeps)
    return fit.quality, fit.standard_error
