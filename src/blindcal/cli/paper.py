"""`blindcal research paper`: the paper's figures, drawn again, and the numbers behind them."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated

import typer

from blindcal.cli.console import Json, emit_json, say
from blindcal.cli.options import by_option, hired, numeric, whole
from blindcal.errors import InputError
from blindcal.io.atomic_files import write_bytes
from blindcal.paper.figures import FIGURES, Figure, figure

_WHAT = ("figure", "table", "all")


def paper(
    what: Annotated[str, typer.Argument(help="figure, table (the numbers behind a figure), or all.")],
    name: Annotated[
        str | None, typer.Argument(metavar="[NUMBER]", help=f"Which figure: {', '.join(FIGURES)}.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The folder to write to, made if need be; a table is printed without one."),
    ] = None,
    formats: Annotated[
        str, typer.Option("--format", help="One or more of svg, png and pdf, separated by commas.")
    ] = "svg",
    trials: Annotated[int, numeric(whole, "Simulated conferences at each point of Figure 3.")] = 100,
    seed: Annotated[int, numeric(whole, "The same seed gives the same Figure 3.")] = 1,
    processes: Annotated[int, numeric(whole, "Processes on this machine for Figure 3.", "--workers")] = 1,
    as_json: Json = False,
) -> None:
    """Draw the paper's figures again, from the functions that implement it.

    Figures 1 to 6 have the paper's numbers; `cases` shows its eight noisy cases side by side, of which it
    draws one, and `limit` how noise that goes to 0 leads to the noiseless frontier. Each has a caption that
    explains its corners. `table` gives the numbers behind a figure as CSV, and `all` every figure and table.
    Files that exist are not overwritten.

    Example: blindcal research paper figure 5 --out figures --format svg,pdf
    """
    names, file_formats = _chosen(what, name), _forms(formats)
    if out is None and what != "table":
        raise InputError(f"`paper {what}` writes files: give a folder with --out")
    try:
        with hired(processes, None) as workers:
            figures = [figure(each, trials, seed, workers) for each in names]
    except InputError as error:
        raise InputError(by_option(str(error), ("trials", "seed"))) from None
    files = {} if out is None else _files(figures, what, file_formats, out)
    _write(files)
    if as_json:
        emit_json(
            {"files": [str(path) for path in files], "figures": [_report(drawing) for drawing in figures]}
        )
    elif files:
        for path in files:
            say(str(path))
    else:
        say(_table(figures[0]).rstrip("\n"))


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


def _forms(text: str) -> list[str]:
    from blindcal.cli.drawings import FORMATS

    forms = text.split(",")
    if unknown := [form for form in forms if form not in FORMATS]:
        raise InputError(f"--format must be among {', '.join(FORMATS)}, found {unknown[0]!r}")
    return forms


def _files(figures: list[Figure], what: str, forms: list[str], out: Path) -> dict[Path, bytes]:
    """All that is to be written; nothing is written before everything could be made."""
    from blindcal.cli.drawings import render

    files: dict[Path, bytes] = {}
    for drawing in figures:
        if what != "table":
            files |= {out / f"figure_{drawing.name}.{form}": render(drawing, form) for form in forms}
        if what != "figure":
            files[out / f"figure_{drawing.name}.csv"] = _table(drawing).encode()
    return files


def _write(files: dict[Path, bytes]) -> None:
    if taken := [path for path in files if path.exists()]:
        raise InputError(f"{taken[0]} exists: choose another folder, or remove it")
    for path, data in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, data)


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
