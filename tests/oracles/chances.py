"""Frequencies: whether a count is what chance allows, and keys to draw with."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

from blindcal.deciding.key import Key

FALSE_ALARM = 1e-6


def within(hits: int, draws: int, p: float, tests: int = 1) -> bool:
    """Inside the exact binomial interval; all `tests` together raise a false alarm with chance 1e-6."""
    tail = FALSE_ALARM / tests / 2
    return bool(binom.cdf(hits, draws, p) > tail and binom.sf(hits - 1, draws, p) > tail)


def keys(seed: int, number: int) -> list[Key]:
    rng = np.random.default_rng(seed)
    return [Key(rng.bytes(32)) for _ in range(number)]
