"""`blindcal research paper`: the paper's items, letters and figures."""

from __future__ import annotations

import csv
import importlib
import io
import re
import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from blindcal.checks import Array
from blindcal.cli.console import emit_json, number, say, table
from blindcal.cli.options import (
    PICTURE_FORMATS,
    Noise,
    argument,
    by_option,
    decimals,
    hired,
    import_matplotlib,
    numeric,
    option,
    probability,
    whole,
)
from blindcal.errors import InputError
from blindcal.io.atomic_files import write_bytes
from blindcal.paper import ITEMS
from blindcal.paper.figures import FIGURES, Corner, Curve, Figure, Panel, figure
from blindcal.paper.theorems import algorithm_1, algorithm_3, setting, theorem_4_2, theorem_4_5, to_letters

_WHAT = ("items", "letters", "figure", "table", "all")


def paper(
    what: str = argument(
        "items (all of the paper), letters (an instance in the paper's own), figure, table (the numbers "
        "behind a figure), or all figures and tables.",
        default="items",
    ),
    name: str | None = argument(f"Which figure: {', '.join(FIGURES)}.", metavar="[NUMBER]", default=None),
    out: Path | None = option("The folder to write to, made if need be; a table is printed without one."),
    formats: str = option("One or more of svg, png and pdf, separated by commas.", "--format", default="svg"),
    trials: int = numeric(whole, "Simulated conferences at each point of Figure 3.", default=100),
    seed: int = numeric(whole, "The same seed gives the same Figure 3.", default=1),
    processes: int = numeric(whole, "Processes on this machine for Figure 3.", "--workers", default=1),
    reviewer: list[str] | None = option(
        "For letters: slope and offset of reviewer 1, then of reviewer 2.", metavar="a,b"
    ),
    scores: str | None = option("For letters: the scores of paper 1 and paper 2.", metavar="s1,s2"),
    noise: Noise = 0.0,
    max_error: float | None = numeric(
        probability, "For letters: the conference error that Algorithm 1 or 3 allows; by default 1."
    ),
) -> None:
    """List what the paper has, answer in its letters, and draw its figures again.

    `items` lists its setting, propositions, theorems, algorithms, figures and appendices, each with the
    function that has it. `letters` takes two reviewers and two scores and answers in the paper's letters: u,
    v, Phi_1, Phi_2, the ends of the frontier (conference error, adversary error), and the branch, q1 and q2
    of Algorithm 3 (of Algorithm 1 without noise).

    Figures 1 to 6 have the paper's numbers; `cases` shows its eight noisy cases side by side, of which it
    draws one, and `limit` how noise that goes to 0 leads to the noiseless frontier. Each has a caption that
    explains its corners. `table` gives the numbers behind a figure as CSV, and `all` every figure and table.
    Files that exist are not overwritten.

    Example: blindcal research paper figure 5 --out figures --format svg,pdf
    """
    if what == "items":
        items = {item: f"blindcal.paper.{module}" for item, module in ITEMS.items()}
        emit_json({"items": items})
        table(["item", "function"], [*items.items()])
        return
    if what == "letters":
        _say_letters(reviewer or [], scores, noise, max_error)
        return
    names, forms = _chosen(what, name), formats.split(",")
    if unknown := [form for form in forms if form not in PICTURE_FORMATS]:
        raise InputError(f"--format must be among {', '.join(PICTURE_FORMATS)}, found {unknown[0]!r}")
    if out is None and what != "table":
        raise InputError(f"`paper {what}` writes files: give a folder with --out")
    try:
        with hired(processes, None) as workers:
            figures = [figure(each, trials, seed, workers) for each in names]
    except InputError as error:
        raise InputError(by_option(str(error), ("trials", "seed"))) from None
    files = {} if out is None else _files(figures, what, forms, out)
    if taken := [path for path in files if path.exists()]:
        raise InputError(f"{taken[0]} exists: choose another folder, or remove it")
    for path, data in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, data)
    emit_json({"files": list(map(str, files)), "figures": list(map(_report, figures))})
    for path in files:
        say(str(path))
    if not files:
        say(_table(figures[0]).rstrip("\n"))


def _say_letters(reviewers: list[str], scores: str | None, noise: float, max_error: float | None) -> None:
    if len(reviewers) != 2 or scores is None:
        raise InputError("`paper letters` needs --reviewer a,b twice and --scores s1,s2")
    (a_1, b_1), (a_2, b_2) = (_two("--reviewer", text) for text in reviewers)
    S = _two("--scores", scores)
    belief = setting(S, a_1=a_1, b_1=b_1, a_2=a_2, b_2=b_2, sigma=noise)
    allowed = 1.0 if max_error is None else max_error
    line, chosen = (
        (theorem_4_5(belief), algorithm_3(belief, allowed))
        if noise > 0.0
        else (theorem_4_2(belief), algorithm_1(belief, allowed))
    )
    letters = {name: float(value) for name, value in vars(to_letters(belief)).items()}
    q1, q2 = (None if np.isnan(q) else float(q) for q in chosen.q)
    branch, ends = str(chosen.branch), [line.start.tolist(), line.end.tolist()]
    emit_json(letters | {"frontier": ends, "branch": branch, "q1": q1, "q2": q2})
    shown = {name: number(value) for name, value in letters.items()}
    shown |= {"frontier": " to ".join(f"({number(x)}, {number(y)})" for x, y in ends), "branch": branch}
    shown |= {name: "-" if q is None else number(q) for name, q in (("q1", q1), ("q2", q2))}
    for name, text in shown.items():
        say(f"{name:<9} {text}")


def _two(option: str, text: str) -> tuple[float, float]:
    values = decimals(option, text)
    if len(values) != 2:
        raise InputError(f"{option} {text!r}: must be two numbers, found {len(values)}")
    return values[0], values[1]


def _chosen(what: str, name: str | None) -> list[str]:
    if what not in _WHAT:
        raise InputError(f"what to make must be one of {', '.join(_WHAT)}, found {what!r}")
    if what == "all":
        if name is not None:
            raise InputError(f"`paper all` takes no number, found {name!r}")
        return list(FIGURES)
    if name is None or name not in FIGURES:
        raise InputError(f"a figure must be one of {', '.join(FIGURES)}, found {name or 'none'!r}")
    return [name]


def _files(figures: list[Figure], what: str, forms: list[str], out: Path) -> dict[Path, bytes]:
    """All that is to be written; nothing is written before everything could be made."""
    files: dict[Path, bytes] = {}
    for drawing in figures:
        if what != "table":
            files |= {out / f"figure_{drawing.name}.{form}": render(drawing, form) for form in forms}
        if what != "figure":
            files[out / f"figure_{drawing.name}.csv"] = _table(drawing).encode()
    return files


def _table(drawing: Figure) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("panel", "kind", "label", "x", "y"))
    for title, kind, label, x, y in drawing.rows():
        writer.writerow((title.replace("\n", " "), kind, label, f"{x:.10g}", f"{y:.10g}"))
    return text.getvalue()


def _report(drawing: Figure) -> dict[str, object]:
    corners = [
        {"panel": panel.title, "name": c.name, "meaning": c.meaning, "x": c.x, "y": c.y}
        for panel in drawing.panels
        for c in panel.corners
    ]
    return {"name": drawing.name, "title": drawing.title, "caption": drawing.caption, "corners": corners}


# --- The figures of the paper drawn as a journal would print them, the same bytes every time

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
    """The figure with its caption below, in one of `PICTURE_FORMATS`."""
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
            _draw(axis, panel)
            if columns == 4:
                axis.label_outer()
        _legend(canvas, share)
        canvas.text(0.03, share - 0.01, "\n".join(caption), va="top", fontsize=7, linespacing=1.3)
        canvas.tight_layout(rect=(0, share + 0.25 / whole, 1, 1))
        data = io.BytesIO()
        canvas.savefig(data, format=form, dpi=200, metadata=_PLAIN[form])
    return data.getvalue()


# No dates or versions in the file.
_PLAIN: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": ""},
}


def symbols(text: str) -> str:
    """What the core writes in letters, as the paper prints it."""
    return re.sub("|".join(_MATH), lambda match: _MATH[match[0]], text)


def _draw(axis: Any, panel: Panel) -> None:
    if panel.regions:
        _draw_regions(axis, panel)
    else:
        axis.spines[["top", "right"]].set_visible(False)
    shades = np.linspace(0.75, 0.0, len(panel.curves))
    for curve, shade in zip(panel.curves, shades, strict=True):
        _line(axis, curve, str(shade), inside=bool(panel.regions))
    for corner in panel.corners:
        _mark(axis, corner, panel)
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


def _line(axis: Any, curve: Curve, shade: str, inside: bool) -> None:
    """A line; inside a square the label of a level stands on it."""
    style = dict(_LINES.get(curve.kind, {"color": shade, "linewidth": 1.5}))
    if curve.bar is not None:
        style |= {"markersize": 3, "capsize": 1.5, "linewidth": 1}
        axis.errorbar(curve.x, curve.y, curve.bar, label=symbols(curve.label), **style)
    elif inside and curve.kind == "level":
        name, _, value = curve.label.rpartition(" ")
        axis.plot(curve.x, curve.y, label=f"{name} constant", **style)
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85}
        middle = float(curve.x.mean()), float(curve.y.mean())
        axis.text(*middle, value, ha="center", va="center", fontsize=6.5, bbox=box, zorder=5)
    else:
        axis.plot(curve.x, curve.y, label=symbols(curve.label), **style)


def _mark(axis: Any, corner: Corner, panel: Panel) -> None:
    """A dot and its number in a circle, on the side away from the lines."""
    axis.plot(corner.x, corner.y, "o", color="black", markersize=3, zorder=5, clip_on=False)
    axis.annotate(
        corner.name,
        (corner.x, corner.y),
        xytext=tuple(9.0 * _away(panel, corner)),
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize=6.5,
        annotation_clip=False,
        zorder=6,
        bbox={"boxstyle": "circle,pad=0.18", "facecolor": "white", "edgecolor": "0.3", "linewidth": 0.5},
    )


def _away(panel: Panel, corner: Corner) -> Array:
    """The direction, of eight, in which the lines are farthest."""
    scale = np.array(panel.reach)
    here = np.array([corner.x, corner.y]) / scale
    angles = np.arange(8) * np.pi / 4 + np.pi / 4
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    candidates = here + 0.09 * directions
    frame = [_along(Curve("frame", "", *_SQUARE))] if panel.regions else []
    points = np.concatenate([*frame, *(_along(curve) / scale for curve in panel.curves)])
    inside = ((candidates > -0.02) & (candidates < 1.1)).all(axis=1)
    distance = np.linalg.norm(candidates[:, None] - points, axis=-1).min(axis=1)
    best: Array = directions[int(np.argmax(distance + inside))]
    return best


def _along(curve: Curve) -> Array:
    parts = np.linspace(0.0, len(curve.x) - 1.0, 40 * len(curve.x))
    places = np.arange(len(curve.x))
    return np.stack([np.interp(parts, places, curve.x), np.interp(parts, places, curve.y)], axis=-1)


def _legend(canvas: Any, share: float) -> None:
    """One legend for all panels if they share it, else one in each."""
    named = [dict(zip(*axis.get_legend_handles_labels()[::-1], strict=True)) for axis in canvas.axes]
    known = {label: handle for handles in named for label, handle in handles.items()}
    if len(known) <= 4:
        ncols, placement = 2 if len(canvas.axes) == 1 else 4, {"loc": "lower center", "frameon": False}
        canvas.legend(known.values(), known.keys(), bbox_to_anchor=(0.5, share), ncols=ncols, **placement)
    else:
        for axis in canvas.axes:
            axis.legend(frameon=False)
