"""A secret seed -> as many random numbers as are needed, the same ones each time."""

from __future__ import annotations

from hashlib import shake_256

import numpy as np
from numpy.typing import NDArray

from blindcal.errors import InputError

SEED_BYTES = 32


def keystream(seed: bytes, purpose: str, size: int) -> NDArray[np.uint64]:
    """`size` numbers, each uniform on 64 bits; every purpose has its own.

    >>> keystream(bytes(32), "a", 2).tolist() == keystream(bytes(32), "a", 3).tolist()[:2]
    True
    >>> keystream(bytes(32), "a", 1) == keystream(bytes(32), "b", 1)
    array([False])
    """
    if len(seed) != SEED_BYTES:
        raise InputError(f"a seed must have {SEED_BYTES} bytes, found {len(seed)}")
    stream = shake_256(b"blindcal/assignment\0" + seed + purpose.encode())
    return np.frombuffer(stream.digest(8 * size), dtype="<u8").astype(np.uint64)
