"""The geometry of charts, in units of their own drawing; the page's templates draw them as SVG.

Charts are part of the page: they need no script, take the page's colors in light, dark and print, and every
text in them is escaped like the rest of the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import floor, log10
from typing import Any

WIDTH = 640.0
"""How wide every chart is, in its own units."""
HEIGHT = 180.0
"""How high a histogram is, likewise."""
_BINS = 20
_STEPS = (1.0, 1.2, 1.6, 2.0, 2.4, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


@dataclass(frozen=True)
class Bar:
    """One row of a bar chart."""

    label: str  # what it is about
    text: str  # its value as it is written
    width: float  # from 0 to 1, the longest bar having 1
    chosen: bool = False  # whether it is the one to point out
    more: tuple[str, ...] = ()  # further cells beside it


@dataclass(frozen=True)
class HistogramColumn:
    """One column of a histogram."""

    low: float  # the range that it counts
    high: float
    counts: tuple[int, ...]  # how many of each kind are in it
    x: float  # where it is drawn, from the left
    width: float
    parts: tuple[tuple[float, float], ...]  # top and height of the part of each kind, from the frame's top


@dataclass(frozen=True)
class Histogram:
    """Columns in a frame `WIDTH` wide and `HEIGHT` high."""

    columns: tuple[HistogramColumn, ...]  # from left to right
    across: tuple[tuple[float, str], ...]  # the ticks of its axes, each with its position and its text
    up: tuple[tuple[float, str], ...]
    mark: float | None = None  # where a line is drawn across it; None for none


@dataclass(frozen=True)
class Span:
    """A mean with one standard deviation to either side, on an axis that all spans have in common."""

    label: str  # what it is about
    text: str  # the numbers
    left: float  # positions
    middle: float
    right: float


def bars(rows: Iterable[tuple[Any, ...]]) -> tuple[Bar, ...]:
    """A bar for each of the `rows`: label, value, written value, then fields of `Bar` unless left out.

    >>> [bar.width for bar in bars([("a", 2.0, "2"), ("b", 1.0, "1", True, ("x",))])]
    [1.0, 0.5]
    """
    listed = list(rows)
    # Where nothing is gained, every bar is empty.
    longest = max([0.0, *(row[1] for row in listed)]) or 1.0
    return tuple(Bar(label, text, max(0.0, value / longest), *more) for label, value, text, *more in listed)


def histogram(
    values: Sequence[tuple[float, int]],
    kinds: int,
    *,
    ends: tuple[float, float] | None = None,
    mark: float | None = None,
) -> Histogram:
    """Numbers counted in equal bins; kinds are stacked.

    `values`: numbers, each with its kind, which is 0 or more and below `kinds`.
    `ends`: the least and the greatest number of the axis; without them numbers are shares, from 0 to 1.
    `mark`: a number at which a line is drawn across.
    """
    low, high = ends or (0.0, 1.0)
    reach = high - low
    counts = [[0] * kinds for _ in range(_BINS)]
    for value, kind in values:
        counts[max(0, min(_BINS - 1, int((value - low) / reach * _BINS)))][kind] += 1
    top = round_up(max(1, max(map(sum, counts))))
    columns = []
    for index, numbers in enumerate(counts):
        tops = [HEIGHT * (1 - below / top) for below in accumulate(numbers)]
        parts = zip(tops, (HEIGHT * number / top for number in numbers), strict=True)
        left, right = (low + reach * edge / _BINS for edge in (index, index + 1))
        x, width = WIDTH * index / _BINS, WIDTH / _BINS
        columns.append(HistogramColumn(left, right, tuple(numbers), x, width, tuple(parts)))
    # A tick at each round number, a few in all; shares at each quarter.
    step = 0.25 if ends is None else round_up(reach / 6) if reach > 6 else 1.0
    ticks = [step * tick for tick in range(floor(reach / step) + 1)]
    across = tuple(
        (WIDTH * tick / reach, f"{100 * tick:.0f} %" if ends is None else f"{low + tick:.3g}")
        for tick in ticks
    )
    heights = (0.0, top / 2, top) if top > 1 else (0.0, top)
    up = tuple((HEIGHT * (1 - height / top), f"{height:,g}") for height in heights)
    return Histogram(tuple(columns), across, up, None if mark is None else WIDTH * (mark - low) / reach)


def spans(rows: Sequence[tuple[str, float, float]]) -> tuple[Span, ...]:
    """Means with their standard deviations, drawn to one scale with a margin at both ends.

    Each of the `rows` has a label, a mean and a standard deviation.
    """
    low, high = min(mean - sd for _, mean, sd in rows), max(mean + sd for _, mean, sd in rows)
    room = 0.08 * (high - low) or 1.0
    unit = WIDTH / (high - low + 2 * room)
    return tuple(
        Span(name, f"{mean:.2f} ± {sd:.2f}", *(unit * (mean + sd * side - low + room) for side in (-1, 0, 1)))
        for name, mean, sd in rows
    )


def round_up(value: float) -> float:
    """The next round number from `value` up, an even one where it is above 1."""
    unit = 10.0 ** floor(log10(value))
    steps = (step * unit for step in _STEPS if step * unit >= value * (1 - 1e-12))
    return 1.0 if value <= 1 else next(tick for tick in steps if tick % 2 == 0)
