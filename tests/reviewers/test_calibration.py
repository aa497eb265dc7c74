"""Rows of a calibration: their digits, and how they move to another scale."""

from __future__ import annotations

import numpy as np
import pytest

from blindcal.reviewers.calibration import Scale, calibration_rows


def test_numbers_are_written_to_six_digits() -> None:
    (row,) = calibration_rows(["a"], np.array([[1.23456789], [-0.000123456789]])).values()
    assert row == (1.23457, -0.000123457)


def test_a_moved_reviewer_gives_the_moved_scores() -> None:
    """Scores from 5, twice as wide, and .5 higher: the score of quality q moves like any other score."""
    row = np.array([[1.2], [5.5], [0.9], [0.2], [0.3], [-0.4], [0.1]])
    slope, offset, *widths = Scale(0.5, 2.0, 5.0).moved(row)[:, 0]
    for quality in (-1.0, 0.0, 2.0):
        score = 1.2 * quality + 5.5
        assert slope * quality + offset == pytest.approx(5.0 + 2.0 * (score - 5.0) + 0.5)
    assert widths == pytest.approx([1.8, 0.4, 0.6, -0.4, 0.2])
