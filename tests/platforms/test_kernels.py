"""Verdicts that divide by what may be roundoff are the same whatever the processor adds up in what order."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels import KERNELS
from machines import run_as
from sizes import count

_JUDGED = Path(__file__).parents[1] / "judged_roundoff.py"


# In short every other one, with the narrowest of each sort.
@pytest.mark.parametrize("kernel", list(KERNELS)[:: count(2, 1)])
def test_verdicts_about_what_is_zero_but_for_roundoff_are_those_of_every_kernel(kernel: str) -> None:
    """Scores and offsets that do not differ, in numbers that no float holds exactly."""
    lines = run_as(KERNELS[kernel], program=str(_JUDGED)).splitlines()
    assert lines == [
        "mirrored: all None",
        "fits: all",
        "raw ranks: all 1",
        "chances of being accepted: all 0.5",
        "standardized: at most 0.0",
        "assessed: not worth it, nothing to predict",
        "bend: 0.0",
        "curved: nothing to compare",
        "walks apart: 0.0",
        "scale: refused, all equal",
    ]
