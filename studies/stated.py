"""What the pages state: every study keeps its numbers in docs/numbers, beside the command that made them.

A page shows a table between marks, `<!-- name -->` and `<!-- end -->`, where it is replaced; or part of it,
`<!-- name rows: steady; public columns: realized gain -->`: rows by what they begin with, columns by their
heads, besides the first. A table that no page marks is kept in docs/numbers alone. A sentence is written by
hand, and the tests say where a page no longer says what its study found.

BLINDCAL_OUT names a folder that takes the place of docs: figures, numbers and changed pages go there, and
what is published stays as it is. Without it a study publishes, but never with other settings than before: a
trial with few conferences would replace what many gave.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from blindcal.adversaries.single_paper import View, case_view
from blindcal.checks import Array
from blindcal.compute.parallel import available_cores
from blindcal.policy.guarantee import GUARANTEES, Guarantee
from blindcal.policy.policy import Policy
from blindcal.policy.solver import solve
from blindcal.posterior.paper import PaperCase

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "docs"
DOCS = Path(os.environ.get("BLINDCAL_OUT") or PUBLISHED)


def asked(study: str, doc: str, *, data: bool = False, **counts: int) -> argparse.Namespace:
    """The options of a study: its counts, the folder of public `data` if it needs one, and `workers`.

    `command` repeats what decides the numbers. Ends where a trial would take the place of what is published.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawTextHelpFormatter)
    for name, default in counts.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    if data:
        parser.add_argument("--data", type=Path, help="folder with the public tables")
    parser.add_argument("--workers", type=int, default=available_cores())
    options = parser.parse_args()
    words = [f"python studies/{study}.py", *["--data FOLDER"][:data]]
    options.study = study
    options.command = " ".join([*words, *(f"--{name} {getattr(options, name)}" for name in counts)])
    if data and options.data is None:
        print(f"{study} needs --data FOLDER with the public tables; nothing done")
        raise SystemExit
    refuse_trials(study, options.command)
    return options


def keep(
    options: argparse.Namespace,
    tables: Mapping[str, Mapping[str, Sequence[str]]],
    sentences: Mapping[str, Sequence[str]] | None = None,
) -> Path:
    """Print all of it, write numbers/`study`.json and put its tables into the pages.

    `tables[page][mark]` are lines, `sentences[page]` is what the page says in words.
    """
    sentences = sentences or {}
    shown = {mark: lines for marked in tables.values() for mark, lines in marked.items()}
    for lines in (*shown.values(), *sentences.values()):
        print(*lines, sep="\n", end="\n\n")
    path = DOCS / "numbers" / f"{options.study}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {"command": options.command, "tables": tables, "sentences": sentences}
    path.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    for page, marked in tables.items():
        text = (ROOT / page).read_text(encoding="utf-8")
        changed = ROOT / page if DOCS == PUBLISHED else DOCS / Path(page).name
        changed.write_text(put(text, marked), encoding="utf-8")
    return path


def refuse_trials(study: str, command: str) -> None:
    """End where this would publish numbers made with other settings than the published ones."""
    published = PUBLISHED / "numbers" / f"{study}.json"
    if DOCS != PUBLISHED or not published.exists():
        return
    before = json.loads(published.read_text(encoding="utf-8"))["command"]
    if before != command:
        raise SystemExit(
            f"{published.relative_to(ROOT)} was made by `{before}`: set BLINDCAL_OUT to a folder for a "
            "trial, or remove the file to publish other settings"
        )


MARK = re.compile(
    r"(<!-- (?!end |quote:)([\w ]+?)(?: rows: ([^>]+?))?(?: columns: ([^>]+?))? -->\n)(.*?)\n?<!-- end -->",
    re.DOTALL,
)


def put(text: str, marked: Mapping[str, Sequence[str]]) -> str:
    r"""The page with each table between its marks replaced, as far as the page shows it.

    >>> put("a\n<!-- x -->\nold\n<!-- end -->\n", {"x": ["new", "lines"], "y": ["nowhere"]})
    'a\n<!-- x -->\nnew\nlines\n<!-- end -->\n'
    """

    def filled(found: re.Match[str]) -> str:
        if found[2] not in marked:
            return found[0]
        return "\n".join([found[1].rstrip("\n"), *part(marked[found[2]], found[3], found[4]), "<!-- end -->"])

    return MARK.sub(filled, text)


def part(lines: Sequence[str], rows: str | None = None, columns: str | None = None) -> list[str]:
    """The rows of a table that begin with one of `rows`, and its first column with those of `columns`.

    >>> part(["| | a | b |", "|---|---|---|", "| x | 1 | 2 |", "| y | 3 | 4 |"], rows="y", columns="b")
    ['| | b |', '|---|---|', '| y | 4 |']
    """
    if rows is None and columns is None:
        return list(lines)
    head, _, *body = ([cell.strip() for cell in line.strip()[1:-1].split("|")] for line in lines)
    begins = rows.split("; ") if rows else [""]
    names = columns.split("; ") if columns else head[1:]
    kept = [row for row in body if any(" | ".join(row).startswith(begin) for begin in begins)]
    unused = [name for name in begins if not any(" | ".join(row).startswith(name) for row in kept)]
    if unused or not {*names} <= {*head}:
        raise SystemExit(
            f"a table has nothing of {unused or names}: it has {head} and {[r[0] for r in body]}"
        )
    columns_shown = [0, *map(head.index, names)]
    return table(*([row[column] for column in columns_shown] for row in (head, *kept)))


# --- What tables are made of.


def guarantees(names: str) -> dict[str, Guarantee]:
    """Guarantees by what tables call them, separated by semicolons.

    >>> both = guarantees("average and crowd of 10, epsilon 3; full calibration")
    >>> [(one.name, one.among, one.epsilon) for one in both.values()]
    [('average', 10, 3.0), ('none', None, None)]
    """
    return {name: _guarantee(name) for name in names.split("; ")}


def _guarantee(name: str) -> Guarantee:
    among, epsilon = (re.search(rf"{words} (\d+)", name) for words in ("crowd of", "epsilon"))
    kinds = [kind for kind in GUARANTEES if name.startswith(kind)]
    crowd = {"among": int(among[1])} if among else {}
    return Guarantee(*kinds or ["none"], epsilon=float(epsilon[1]) if epsilon else None, **crowd)


def planned_view(case: PaperCase, guarantee: Guarantee) -> View:
    """The paper before the draw, under the best table that keeps the guarantee."""
    return case_view(case, Policy(np.clip(solve(case, guarantee).accept, 0.0, 1.0)), 1.0)


def table(head: Sequence[str], *rows: Sequence[str]) -> list[str]:
    """The lines of a table in Markdown.

    >>> table(["", "a"], ["x", "1"])
    ['| | a |', '|---|---|', '| x | 1 |']
    """
    lines = ["|".join(f" {cell} " if cell else " " for cell in row) for row in (head, *rows)]
    first, *rest = (f"|{line}|" for line in lines)
    return [first, "|---" * len(head) + "|", *rest]


def mean_and_error(values: Array) -> tuple[Array, Array]:
    """The means over the first axis, and their standard errors."""
    return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))


def with_errors(values: Array, spec: str = ".2f", unit: str = "", scale: float = 1.0) -> list[str]:
    """`mean ± error` of each column, written as `spec` says (errors without its sign)."""
    pairs = zip(*mean_and_error(values), strict=True)
    plain = spec.lstrip("+")
    return [f"{scale * mean:{spec}} ± {scale * error:{plain}}{unit}" for mean, error in pairs]


def kept_part(gains: Array, number: int, full: int = -1) -> str:
    """The part of (full - public) that a guarantee keeps, with its standard error (delta method)."""
    own, whole = gains[:, number] - gains[:, 0], gains[:, full] - gains[:, 0]
    if whole.mean() <= 2.0 * whole.std(ddof=1) / np.sqrt(len(whole)):
        return "-"
    share, error = ratio_of_means(own, whole)
    return f"{100 * share:.0f} ± {100 * error:.0f} %"


def ratio_of_means(own: Array, whole: Array) -> tuple[float, float]:
    """`mean(own) / mean(whole)` over the same units, and its standard error (delta method)."""
    share = own.mean() / whole.mean()
    error = (own - share * whole).std(ddof=1) / np.sqrt(len(whole)) / whole.mean()
    return float(share), float(error)


def save_figure(figure: Any, name: str, dpi: int = 110, **layout: Any) -> Path:
    """The figure in docs/figures under this name, without dates; it is closed."""
    from matplotlib import pyplot

    path = DOCS / "figures" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if figure.get_layout_engine() is None:
        figure.tight_layout(**layout)
    date = {"Date": None} if path.suffix == ".svg" else {"Software": ""}
    figure.savefig(path, dpi=dpi, metadata=date)
    pyplot.close(figure)
    return path
