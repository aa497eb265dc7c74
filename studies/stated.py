"""What the pages state: every study keeps its numbers in docs/numbers, beside the command that made them.

A table stands in its page between marks, `<!-- name -->` and `<!-- end -->`, and is replaced there; a
sentence is written by hand, and the tests say where a page no longer says what its study found.

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


def put(text: str, marked: Mapping[str, Sequence[str]]) -> str:
    """The page with each table between its marks replaced.

    >>> put("a\n<!-- x -->\nold\n<!-- end -->\n", {"x": ["new", "lines"]})
    'a\n<!-- x -->\nnew\nlines\n<!-- end -->\n'
    """
    for name, lines in marked.items():
        pattern = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
        block = "\n".join(lines)
        text, found = pattern.subn(lambda match, new=block: f"{match[1]}{new}\n{match[2]}", text)
        if found != 1:
            raise SystemExit(f"a page must hold the mark <!-- {name} --> once, found {found}")
    return text
