"""A curve in a terminal: points where they belong, round ends of the axes."""

from __future__ import annotations

import numpy as np

from blindcal.cli.plots import plot


def test_the_plot_puts_points_where_they_are() -> None:
    lines = plot(np.array([0.0, 0.5]), np.array([0.0, 1.0]), (0.25, 0.5), "x", "y").split("\n")
    canvas = [line[line.index("|") + 1 :] for line in lines if "|" in line]
    assert canvas[-1][0] == "o"
    assert canvas[0][56] == "o"
    assert canvas[len(canvas) // 2][28] == "X"
