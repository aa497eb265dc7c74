"""A figure as data, its data frame, and how a journal would print it; drawing needs Matplotlib.

The same figure gives the same bytes every time.
"""

from __future__ import annotations

import importlib
import io
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from blindcal.checks import Array, import_matplotlib
from blindcal.io.tables import data_frame

COLUMNS = ("panel", "measure", "kind", "label", "x", "y", "error")


@dataclass(frozen=True, eq=False)
class Curve:
    """A line through points."""

    kind: str  # how to draw it, such as `frontier`, `relation` or `level`
    label: str  # its text in the legend
    x: Array  # the abscissas of the points
    y: Array  # their ordinates
    # The standard error of each ordinate; None if nothing was simulated
    error: Array | None = None


@dataclass(frozen=True, eq=False)
class Corner:
    """A point with a name."""

    name: str  # such as 1
    meaning: str  # what it is in the paper's letters
    x: float  # its abscissa
    y: float  # its ordinate


@dataclass(frozen=True, eq=False)
class Region:
    """A polygon."""

    label: str  # what holds in it
    x: Array  # the abscissas of its vertices
    y: Array  # their ordinates
    place: tuple[float, float]  # the point at which the label is written


@dataclass(frozen=True, eq=False)
class Panel:
    """One pair of axes, and what is drawn on them."""

    title: str  # their title
    x_label: str  # what the first axis measures
    y_label: str  # what the second axis measures
    curves: tuple[Curve, ...]  # the lines
    corners: tuple[Corner, ...] = ()  # the points
    regions: tuple[Region, ...] = ()  # the polygons
    reach: tuple[float, float] = (1.0, 1.0)  # how far the axes go, from 0


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure of the paper, as data.

    Attributes:
        name: Its number, or `cases` or `limit`.
        title: What it shows.
        caption: What its corners mean.
        panels: Its pairs of axes.
    """

    name: str
    title: str
    caption: str
    panels: tuple[Panel, ...]

    def to_frame(self) -> Any:
        """One row per point that is drawn, as a pandas data frame; needs pandas.

        Columns are the panel, what its second axis measures, kind and label of what is drawn, x, y, and the
        standard error of y, 0 if it is exact.
        """
        return data_frame(dict(zip(COLUMNS, zip(*self.rows(), strict=True), strict=True)))

    def rows(self) -> list[tuple[str, str, str, str, float, float, float]]:
        """The rows of `to_frame`."""
        return [
            (panel.title, panel.y_label, kind, label, float(x), float(y), float(error))
            for panel in self.panels
            for kind, label, xs, ys, errors in _panel_series(panel)
            for x, y, error in np.broadcast(xs, ys, errors)
        ]

    def plot(self) -> Any:
        """The figure with its caption below, as a Matplotlib figure; needs Matplotlib."""
        return draw(self)


def _panel_series(panel: Panel) -> Iterator[tuple[str, str, ArrayLike, ArrayLike, ArrayLike]]:
    """Kind, label, x, y and error of each curve, region and corner."""
    for curve in panel.curves:
        yield curve.kind, curve.label, curve.x, curve.y, 0.0 if curve.error is None else curve.error
    yield from (("region", region.label, region.x, region.y, 0.0) for region in panel.regions)
    yield from (("corner", f"{c.name}: {c.meaning}", c.x, c.y, 0.0) for c in panel.corners)


_WIDTH, _HEIGHT, _CAPTION = 3.3, 2.6, 0.145
_STYLE = {
    "font.size": 8,
    "font.family": "sans-serif",
    "axes.linewidth": 0.6,
    "axes.titlesize": 8,
    "legend.fontsize": 7,
    "svg.hashsalt": "blindcal",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}
_LINES: dict[str, dict[str, Any]] = {
    "frontier": {"color": "#c0392b", "linewidth": 2.4, "zorder": 4, "solid_capstyle": "butt"},
    "relation": {"color": "#2c5f8a", "linewidth": 1.3, "zorder": 3},
    "scores": {"color": "0.45", "linewidth": 0.8, "linestyle": ":", "zorder": 2},
    "level": {"color": "0.3", "linewidth": 0.8, "linestyle": "--", "zorder": 3},
    "raw": {"color": "#c0392b", "marker": "s", "linestyle": "--"},
    "standardized": {"color": "#27823b", "marker": "^", "linestyle": "-."},
    "maximum_likelihood": {"color": "#2c5f8a", "marker": "o", "linestyle": "-"},
}
_SQUARE = np.array([[0.0, 1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0, 0.0]])
_FILLS = ("#e6eef6", "#f6e7e4", "#e8f1e6")
_MATH = {"Phi_1": "Φ₁", "Phi_2": "Φ₂", "Phi": "Φ", "q1": "q₁", "q2": "q₂", "sigma": "σ", "e0": "e₀"}


def render(figure: Figure, form: str) -> bytes:
    """The figure with its caption below, as svg, png or pdf."""
    with import_matplotlib("a figure").rc_context(_STYLE):
        data = io.BytesIO()
        draw(figure).savefig(data, format=form, dpi=200, metadata=_PLAIN[form])
    return data.getvalue()


def draw(figure: Figure) -> Any:
    """The figure with its caption below, as a Matplotlib figure."""
    matplotlib = import_matplotlib("a figure")
    count = len(figure.panels)
    columns = 1 if count == 1 else 2 if count <= 4 else 4
    rows = -(-count // columns)
    width = 3.9 if columns == 1 else _WIDTH * columns if columns == 2 else 2.5 * columns
    height = (4.3 if figure.panels[0].regions else _HEIGHT) if columns < 4 else 2.3
    title = f"Figure {figure.name}. {figure.title}" if figure.name.isdigit() else figure.title
    caption = textwrap.wrap(symbols(f"{title}. {figure.caption}"), round(18.5 * width))
    below = _CAPTION * (len(caption) + 1)
    with matplotlib.rc_context(_STYLE):
        whole = rows * height + below + 0.25
        canvas = importlib.import_module("matplotlib.figure").Figure(figsize=(width, whole))
        share = below / whole
        grid = canvas.subplots(rows, columns, squeeze=False).ravel()
        for axis, panel in zip(grid, figure.panels, strict=True):
            _draw_panel(axis, panel)
            if columns == 4:
                axis.label_outer()
        _draw_legend(canvas, share)
        canvas.text(0.03, share - 0.01, "\n".join(caption), va="top", fontsize=7, linespacing=1.3)
        canvas.tight_layout(rect=(0, share + 0.25 / whole, 1, 1))
    return canvas


# No dates or versions in the file.
_PLAIN: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": ""},
}


def symbols(text: str) -> str:
    """What the core writes in letters, as the paper prints it."""
    return re.sub("|".join(_MATH), lambda match: _MATH[match[0]], text)


def _draw_panel(axis: Any, panel: Panel) -> None:
    if panel.regions:
        _draw_regions(axis, panel)
    else:
        axis.spines[["top", "right"]].set_visible(False)
    shades = np.linspace(0.75, 0.0, len(panel.curves))
    for curve, shade in zip(panel.curves, shades, strict=True):
        _draw_curve(axis, curve, str(shade), inside=bool(panel.regions))
    for corner in panel.corners:
        _draw_corner(axis, corner, panel)
    right, top = panel.reach
    axis.set_xlim(-0.06 * right, 1.06 * right)
    axis.set_ylim(-0.08 * top, 1.08 * top)
    axis.set_title(symbols(panel.title))
    axis.set_xlabel(symbols(panel.x_label))
    axis.set_ylabel(symbols(panel.y_label))


def _draw_regions(axis: Any, panel: Panel) -> None:
    """Filled regions in the unit square, each with its formula in it."""
    for region, fill in zip(panel.regions, _FILLS, strict=True):
        axis.fill(region.x, region.y, facecolor=fill, edgecolor="0.6", linewidth=0.8, zorder=1)
        axis.text(*region.place, symbols(region.label), ha="center", va="center", fontsize=7, zorder=4)
    axis.plot(*_SQUARE, color="black", linewidth=0.7, zorder=2)
    axis.set_aspect("equal")
    axis.spines[:].set_visible(False)


def _draw_curve(axis: Any, curve: Curve, shade: str, inside: bool) -> None:
    """A line; inside a square the label of a level stands on it."""
    style = dict(_LINES.get(curve.kind, {"color": shade, "linewidth": 1.5}))
    if curve.error is not None:
        style |= {"markersize": 3, "capsize": 1.5, "linewidth": 1}
        half = np.nan_to_num(1.96 * curve.error)
        axis.errorbar(curve.x, curve.y, half, label=symbols(curve.label), **style)
    elif inside and curve.kind == "level":
        name, _, value = curve.label.rpartition(" ")
        axis.plot(curve.x, curve.y, label=f"{name} constant", **style)
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85}
        middle = float(curve.x.mean()), float(curve.y.mean())
        axis.text(*middle, value, ha="center", va="center", fontsize=6.5, bbox=box, zorder=5)
    else:
        axis.plot(curve.x, curve.y, label=symbols(curve.label), **style)


def _draw_corner(axis: Any, corner: Corner, panel: Panel) -> None:
    """A dot and its number in a circle, on the side away from the lines."""
    axis.plot(corner.x, corner.y, "o", color="black", markersize=3, zorder=5, clip_on=False)
    axis.annotate(
        corner.name,
        (corner.x, corner.y),
        xytext=tuple(9.0 * _corner_label_direction(panel, corner)),
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize=6.5,
        annotation_clip=False,
        zorder=6,
        bbox={"boxstyle": "circle,pad=0.18", "facecolor": "white", "edgecolor": "0.3", "linewidth": 0.5},
    )


def _corner_label_direction(panel: Panel, corner: Corner) -> Array:
    """The direction, of eight, in which the lines are farthest."""
    scale = np.array(panel.reach)
    here = np.array([corner.x, corner.y]) / scale
    angles = np.arange(8) * np.pi / 4 + np.pi / 4
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    candidates = here + 0.09 * directions
    frame = [_points_along(*_SQUARE)] if panel.regions else []
    points = np.concatenate([*frame, *(_points_along(curve.x, curve.y) / scale for curve in panel.curves)])
    inside = ((candidates > -0.02) & (candidates < 1.1)).all(axis=1)
    distance = np.linalg.norm(candidates[:, None] - points, axis=-1).min(axis=1)
    best: Array = directions[int(np.argmax(distance + inside))]
    return best


def _points_along(x: Array, y: Array) -> Array:
    """Many points of the line through these."""
    parts, vertices = np.linspace(0.0, len(x) - 1.0, 40 * len(x)), np.arange(len(x))
    return np.stack([np.interp(parts, vertices, x), np.interp(parts, vertices, y)], axis=-1)


def _draw_legend(canvas: Any, share: float) -> None:
    """One legend for all panels if they share it, else one in each."""
    named = [dict(zip(*axis.get_legend_handles_labels()[::-1], strict=True)) for axis in canvas.axes]
    known = {label: handle for handles in named for label, handle in handles.items()}
    if len(known) <= 4:
        ncols, placement = 2 if len(canvas.axes) == 1 else 4, {"loc": "lower center", "frameon": False}
        canvas.legend(known.values(), known.keys(), bbox_to_anchor=(0.5, share), ncols=ncols, **placement)
    else:
        for axis in canvas.axes:
            axis.legend(frameon=False)
