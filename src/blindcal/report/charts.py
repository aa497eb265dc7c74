"""The geometry of charts, in units of their own drawing; the page's templates draw them as SVG.

Charts are part of the page: they need no script, take the page's colors in light, dark and print, and every
text in them is escaped like the rest of the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Any

WIDTH = 640.0
"""How wide every chart is, in its own units."""
_STEPS = (1.0, 1.2, 1.6, 2.0, 2.4, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


@dataclass(frozen=True)
class Bar:
    """One row of a bar chart.

    `label`: what it is about; `text`: its value as it is written.
    `width`: from 0 to 1, the longest bar having 1.
    `chosen`: whether it is the one to point out; `more`: further cells beside it.
    """

    label: str
    text: str
    width: float
    chosen: bool = False
    more: tuple[str, ...] = ()


@dataclass(frozen=True)
class HistogramColumn:
    """One column of a histogram.

    `low`, `high`: the range that it counts.
    `counts`: how many of each kind are in it.
    `x`, `width`: where it is drawn, from the left.
    `parts`: top and height of the part of each kind, from the top of the frame.
    """

    low: float
    high: float
    counts: tuple[int, ...]
    x: float
    width: float
    parts: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Histogram:
    """The `columns`, from left to right, in a frame `WIDTH` wide and `height` high.

    `across` and `up` are the ticks of its axes, each with its position and its text; `mark` is where a line
    is drawn across it, None for none.
    """

    columns: tuple[HistogramColumn, ...]
    height: float
    across: tuple[tuple[float, str], ...]
    up: tuple[tuple[float, str], ...]
    mark: float | None = None


@dataclass(frozen=True)
class Span:
    """A mean with one standard deviation to either side.

    `left`, `middle` and `right` are positions on the common axis, the `label` names it, and `text` has the
    numbers.
    """

    label: str
    text: str
    left: float
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
    bins: int = 20,
    height: float = 180.0,
    ends: tuple[float, float] | None = None,
    mark: float | None = None,
) -> Histogram:
    """Numbers counted in equal bins; kinds are stacked.

    `values`: numbers, each with its kind, which is 0 or more and below `kinds`.
    `bins`: how many columns there are.
    `height`: how high the frame is, in units in which it is `WIDTH` wide.
    `ends`: the least and the greatest number of the axis; without them numbers are shares, from 0 to 1.
    `mark`: a number at which a line is drawn across.
    """
    low, high = (0.0, 1.0) if ends is None else ends
    counts = [[0] * kinds for _ in range(bins)]
    for value, kind in values:
        counts[max(0, min(bins - 1, int((value - low) / (high - low) * bins)))][kind] += 1
    top = round_up(max(1, max(map(sum, counts))))
    wide = WIDTH / bins
    columns = []
    for index, numbers in enumerate(counts):
        parts, below = [], 0
        for number in numbers:
            parts.append((height * (1 - (below + number) / top), height * number / top))
            below += number
        left, right = (low + (high - low) * edge / bins for edge in (index, index + 1))
        columns.append(HistogramColumn(left, right, tuple(numbers), index * wide, wide, tuple(parts)))
    # A tick at each round number, a few in all; shares at each quarter.
    step = 0.25 if ends is None else round_up((high - low) / 6) if high - low > 6 else 1.0
    ticked = [low + step * multiple for multiple in range(floor((high - low) / step) + 1)]
    across = [
        (WIDTH * (number - low) / (high - low), f"{100 * number:.0f} %" if ends is None else f"{number:.3g}")
        for number in ticked
    ]
    ups = (0.0, top / 2, top) if top > 1 else (0.0, top)
    ticks = tuple((height * (1 - tick / top), f"{tick:,g}") for tick in ups)
    across_at = None if mark is None else WIDTH * (mark - low) / (high - low)
    return Histogram(tuple(columns), height, tuple(across), ticks, across_at)


def spans(rows: Sequence[tuple[str, float, float]]) -> tuple[Span, ...]:
    """Means with their standard deviations, drawn to one scale with a margin at both ends.

    Each of the `rows` has a label, a mean and a standard deviation.
    """
    low, high = min(mean - sd for _, mean, sd in rows), max(mean + sd for _, mean, sd in rows)
    room = 0.08 * (high - low) or 1.0
    unit = WIDTH / (high - low + 2 * room)

    def index(value: float) -> float:
        return unit * (value - low + room)

    return tuple(
        Span(name, f"{mean:.2f} ± {sd:.2f}", index(mean - sd), index(mean), index(mean + sd))
        for name, mean, sd in rows
    )


def round_up(value: float) -> float:
    """The next round number from `value` up, an even one where it is above 1."""
    unit = 10.0 ** floor(log10(value))
    steps = (step * unit for step in _STEPS if step * unit >= value * (1 - 1e-12))
    return 1.0 if value <= 1 else next(tick for tick in steps if tick % 2 == 0)
