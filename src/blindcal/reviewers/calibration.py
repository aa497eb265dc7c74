"""A calibration as reviewers.csv has it: the numbers of each reviewer, and how they were moved to a scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from blindcal.checks import Array

ANYONE = "*"
FIELDS = ("slope", "offset", "noise", "slope_se", "offset_se", "correlation", "noise_se")

# Numbers are written to this many digits: more would be false precision, and would name a fit exactly.
_DIGITS = 6


@dataclass(frozen=True)
class Scale:
    """How a calibration was moved: `score -> center + stretch * (score - center) + shift`."""

    shift: float = 0.0  # what was added to scores; by default nothing is moved
    stretch: float = 1.0  # the factor by which this year's scores are spread more widely than predicted
    center: float = 0.0  # the mean score that the calibration predicted before
    shift_in_sds: float = 0.0  # the shift in standard deviations of this year's scores

    def moved(self, parameters: Array) -> Array:
        """The rows `parameters[7, person]` of reviewers.csv on the new scale."""
        slope, offset, noise, slope_se, offset_se, correlation, noise_se = parameters
        moved = self.center + self.stretch * (offset - self.center) + self.shift
        widths = (self.stretch * width for width in (slope, noise, slope_se, offset_se, noise_se))
        slope, noise, slope_se, offset_se, noise_se = widths
        return np.stack([slope, moved, noise, slope_se, offset_se, correlation, noise_se])


def calibration_rows(names: Sequence[str], parameters: Array) -> dict[str, tuple[float, ...]]:
    """The roster as `read_reviewers` would read it: for each name the numbers of `FIELDS`."""
    return {
        name: tuple(float(f"{value:.{_DIGITS}g}") for value in column)
        for name, column in zip(names, parameters.T, strict=True)
    }
