"""Calibration fitted on the reviews being decided names their authors: why `decide` must not be given it."""

from __future__ import annotations

from scipy.stats import binom
from studies.fitted_on_itself import compute


def test_offsets_fitted_on_the_same_reviews_name_their_authors() -> None:
    """Far above what the pools give, beyond chance (exact binomial, 1e-6)."""
    leak = compute(papers=60)
    hits = round(leak.with_fitted_offsets * leak.reviews)
    assert binom.sf(hits - 1, leak.reviews, leak.pools_alone) < 1e-6
    assert leak.with_fitted_offsets > 2 * leak.pools_alone
