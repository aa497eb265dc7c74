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
    """From (0, 1) down to (1, 0) by way of (0.25, 0.5): 14 rows high, 56 columns wide."""
    x, y = np.array([0.0, 0.25, 1.0]), np.array([1.0, 0.5, 0.0])
    canvas = canvas_of(plot(x, y, None, "x", "y"))
    signs = {(c, 14 - r): sign for r, row in enumerate(canvas) for c, sign in enumerate(row) if sign != " "}
    assert [signs[place] for place in ((0, 14), (14, 7), (56, 0))] == ["o", "o", "o"]
    assert sorted(signs.values()).count("o") == 3
    for (column, row), sign in signs.items():
        height = np.interp(column / 56, x, y) * 14
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
    margins = [line.split("|")[0].strip() for line in lines[1:-3]]
    assert list(filter(None, margins)) == [end, half, "0"]
    assert max(map(len, lines)) <= 70


def test_a_point_outside_is_left_out_and_one_inside_covers_the_line() -> None:
    x, y = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    assert "X" not in plot(x, y, (1.5, 0.5), "x", "y")
    assert canvas_of(plot(x, y, (0.0, 0.0), "x", "y"))[-1][0] == "X"
    flat = canvas_of(plot(np.zeros(2), np.zeros(2), None, "x", "y"))
    assert flat[-1] == "o", "a curve of one point has an axis all the same"
