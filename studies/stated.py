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

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "docs"
DOCS = Path(os.environ.get("BLINDCAL_OUT") or PUBLISHED)


def keep(
    study: str,
    command: str,
    tables: Mapping[str, Mapping[str, Sequence[str]]],
    sentences: Mapping[str, Sequence[str]],
) -> Path:
    """Write numbers/`study`.json and put its tables into the pages: `tables[page][mark]` are lines."""
    refuse_trials(study, command)
    path = DOCS / "numbers" / f"{study}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    record = {"command": command, "tables": tables, "sentences": sentences}
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
    places = [0, *map(head.index, names)]
    shown = [[row[place] for place in places] for row in [head, *body] if row is head or row in kept]
    first, *rest = (f"| {' | '.join(row)} |".replace("|  |", "| |") for row in shown)
    return [first, "|---" * len(places) + "|", *rest]
