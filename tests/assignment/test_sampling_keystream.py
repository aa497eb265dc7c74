"""Random numbers from a seed: the same each time, others for each purpose and seed, every bit fair."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from blindcal.assignment.sampling import keystream
from blindcal.errors import InputError


def test_every_bit_is_fair_and_purposes_differ() -> None:
    one, other = keystream(bytes(32), "one", 4000), keystream(bytes(32), "other", 4000)
    seeded = keystream(bytes([1] * 32), "one", 4000)
    for numbers in (one, one ^ other, one ^ seeded):
        bits = np.unpackbits(numbers.view(np.uint8))
        # False alarm 1e-6 for each of the 64 places together.
        for place in bits.reshape(-1, 64).T:
            assert binomtest(int(place.sum()), place.size).pvalue > 1e-6 / 64


def test_a_seed_is_32_bytes() -> None:
    for size in (0, 31, 33):
        with pytest.raises(InputError, match=f"must have 32 bytes, found {size}"):
            keystream(bytes(size), "one", 1)
