"""`blindcal research paper`: the paper's items, letters and figures."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from blindcal.cli.console import emit_json, number, say, table
from blindcal.cli.options import (
    PICTURE_FORMATS,
    Noise,
    argument,
    number_of,
    numeric,
    option,
    probability,
    two_numbers,
    whole,
)
from blindcal.errors import InputError
from blindcal.io.atomic_files import write_bytes
from blindcal.paper import ITEMS
from blindcal.paper.drawing import COLUMNS, Figure, render
from blindcal.paper.figures import FIGURES, figure
from blindcal.paper.theorems import algorithm_1, algorithm_3, setting, theorem_4_2, theorem_4_5, to_letters

_MAKES = ("items", "letters", "figure", "table", "all")


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
    names, forms = _chosen_figures(what, name), formats.split(",")
    if unknown := [form for form in forms if form not in PICTURE_FORMATS]:
        raise InputError(f"--format must be among {', '.join(PICTURE_FORMATS)}, found {unknown[0]!r}")
    if out is None and what != "table":
        raise InputError(f"`paper {what}` writes files: give a folder with --out")
    workers = number_of(processes)
    figures = [figure(each, trials, seed, workers) for each in names]
    files = {} if out is None else _figure_files(figures, what, forms, out)
    if taken := [path for path in files if path.exists()]:
        raise InputError(f"{taken[0]} exists: choose another folder, or remove it")
    for path, data in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, data)
    emit_json({"files": list(map(str, files)), "figures": list(map(_figure_facts, figures))})
    for path in files:
        say(str(path))
    if not files:
        say(_csv_text(figures[0]).rstrip("\n"))


def _say_letters(reviewers: list[str], scores: str | None, noise: float, max_error: float | None) -> None:
    if len(reviewers) != 2 or scores is None:
        raise InputError("`paper letters` needs --reviewer a,b twice and --scores s1,s2")
    (a_1, b_1), (a_2, b_2) = (two_numbers("--reviewer", text) for text in reviewers)
    S = two_numbers("--scores", scores)
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


def _chosen_figures(what: str, name: str | None) -> list[str]:
    if what not in _MAKES:
        raise InputError(f"what to make must be one of {', '.join(_MAKES)}, found {what!r}")
    if what == "all":
        if name is not None:
            raise InputError(f"`paper all` takes no number, found {name!r}")
        return list(FIGURES)
    if name is None or name not in FIGURES:
        raise InputError(f"a figure must be one of {', '.join(FIGURES)}, found {name or 'none'!r}")
    return [name]


def _figure_files(figures: list[Figure], what: str, forms: list[str], out: Path) -> dict[Path, bytes]:
    """All that is to be written; nothing is written before everything could be made."""
    files: dict[Path, bytes] = {}
    for drawing in figures:
        if what != "table":
            files |= {out / f"figure_{drawing.name}.{form}": render(drawing, form) for form in forms}
        if what != "figure":
            files[out / f"figure_{drawing.name}.csv"] = _csv_text(drawing).encode()
    return files


def _csv_text(drawing: Figure) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for *words, x, y, error in drawing.rows():
        numbers = [f"{x:.10g}", f"{y:.10g}", "" if np.isnan(error) else f"{error:.10g}"]
        writer.writerow([*(word.replace("\n", " ") for word in words), *numbers])
    return text.getvalue()


def _figure_facts(drawing: Figure) -> dict[str, object]:
    corners = [{"panel": panel.title, **vars(c)} for panel in drawing.panels for c in panel.corners]
    return {"name": drawing.name, "title": drawing.title, "caption": drawing.caption, "corners": corners}
