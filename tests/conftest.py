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


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Only tests are collected; with `-m edge` or `-m "not edge"` only modules of which something is left."""
    if collection_path.suffix != ".py":
        return None
    if not collection_path.name.startswith("test_"):
        return True
    text, marks = collection_path.read_text(encoding="utf-8"), config.getoption("markexpr")
    unmarked, marked = "pytest.mark.edge" not in text, "\npytestmark = pytest.mark.edge" in text
    return (marks == "edge" and unmarked) or (marks == "not edge" and marked) or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The doctests of the package run with every extra."""
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            item.add_marker("edge")
