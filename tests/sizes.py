"""How many cases a test runs: the count for `make test`, and the larger one for `make test-long`."""

from __future__ import annotations

import os


def count(short: int, long: int) -> int:
    return long if os.environ.get("BLINDCAL_LONG") == "1" else short
