"""A curve in a terminal: points where they belong, round ends of the axes."""

from __future__ import annotations

import numpy as np
import pytest

from blindcal.cli.plots import plot


def test_the_plot_puts_points_where_they_are() -> None:
    lines = plot(np.array([0.0, 0.5]), np.array([0.0, 1.0]), (0.25, 0.5), "x", "y").split("\n")
    canvas = [line[line.index("|") + 1 :] for line in lines if "|" in line]
    assert canvas[-1][0] == "o"
    assert canvas[0][56] == "o"
    assert canvas[len(canvas) // 2][28] == "X"


def canvas_of(text: str) -> list[str]:
    return [line[line.index("|") + 1 :] for line in text.split("\n") if "|" in line]


def test_the_line_goes_through_its_vertices_and_nothing_is_drawn_elsewhere() -> None:
    """From (0, 5) down to (20, 0) by way of (5, 2.5): 14 rows high, 56 columns wide."""
    x, y = np.array([0.0, 5.0, 20.0]), np.array([5.0, 2.5, 0.0])
    canvas = canvas_of(plot(x, y, None, "x", "y"))
    signs = {(c, 14 - r): sign for r, row in enumerate(canvas) for c, sign in enumerate(row) if sign != " "}
    assert [signs[place] for place in ((0, 14), (14, 7), (56, 0))] == ["o", "o", "o"]
    assert sorted(signs.values()).count("o") == 3
    for (column, row), sign in signs.items():
        height = np.interp(column / 56 * 20, x, y) / 5 * 14
        assert abs(row - height) <= 1.0, sign
    assert {column for column, _ in signs} == set(range(57)), "no gap in the line"


@pytest.mark.parametrize(
    ("largest", "end", "half"),
    [(0.3, "0.5", "0.25"), (0.21, "0.25", "0.125"), (7.0, "10", "5"), (1.0, "1", "0.5")],
)
def test_axes_end_at_a_round_number(largest: float, end: str, half: str) -> None:
    lines = plot(np.array([0.0, largest]), np.array([0.0, largest]), None, "across", "up").split("\n")
    assert lines[0] == "up"
    assert lines[-1].strip() == "across"
    assert lines[-2].split() == ["0", half, end]
    assert (lines[1].split()[0], lines[8].split()[0], lines[15].split()[0]) == (end, half, "0")
    margins = [line.split("|")[0].strip() for line in lines[1:-3]]
    assert list(filter(None, margins)) == [end, half, "0"]
    left = lines[1].index("|") + 1
    assert lines[-2][left] == "0"
    assert abs(lines[-2].index(half, left) + len(half) / 2 - left - 28.5) <= 1, "half way, to a column"
    assert len(lines[-2]) == len(lines[-1]) == left + 57


def test_a_point_outside_is_left_out_and_one_inside_covers_the_line() -> None:
    x, y = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    assert "X" not in plot(x, y, (1.5, 0.5), "x", "y")
    assert canvas_of(plot(x, y, (0.0, 0.0), "x", "y"))[-1][0] == "X"
    flat = canvas_of(plot(np.zeros(2), np.zeros(2), None, "x", "y"))
    assert flat[-1] == "o", "a curve of one point has an axis all the same"
