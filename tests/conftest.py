"""Shared by every test: the larger counts of `make test-long`, and repeatable Hypothesis runs."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

LONG = os.environ.get("BLINDCAL_LONG") == "1"

settings.register_profile("short", max_examples=60, deadline=None, derandomize=True, database=None)
settings.register_profile("long", max_examples=2000, deadline=None, derandomize=True, database=None)
settings.load_profile("long" if LONG else "short")

# What tests share asserts too: so it says what differs, and still asserts under python -O.
_HERE = Path(__file__).parent
_SHARED = [path for folder in (_HERE, _HERE / "data", _HERE / "oracles") for path in folder.glob("*.py")]
pytest.register_assert_rewrite(*(path.stem for path in _SHARED))

# A shell starts background jobs with interrupts ignored, and so would every process that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
