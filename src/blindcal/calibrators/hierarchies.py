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
    covariance. `reviews` are those of one conference; `sweeps` is the length of each of two chains, the first
    third of which is dropped. A few are enough here to see that ben is the more lenient:

    >>> rows = {"paper": list("pqrqrs"), "reviewer": ["ada"] * 3 + ["ben"] * 3, "score": [3, 2, 1, 6, 5, 4]}
    >>> hierarchical(Reviews.from_table(rows), sweeps=30).rank
    array([1, 2, 3, 4])
    """
    return calibrate("hierarchical", reviews, common_slope=False, sweeps=sweeps)


def hierarchical_quality(batch: Batch, *, sweeps: int = SWEEPS) -> tuple[Array, Array]:
    """Posterior mean and standard deviation of each quality of `batch`, in N(0,1) units.

    One chain for all conferences of the batch; `sweeps` is its length, the first third of which is dropped.

    >>> batch = Batch([0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1], [1, 2, 3, 4, 6, 8])
    >>> quality, _ = hierarchical_quality(batch, sweeps=30)
    >>> quality.argsort()
    array([0, 1, 2])
    """
    fit = fit_batch(batch, common_slope=False, sweeps=sweeps)
    return fit.quality, fit.standard_error
