"""What the pages state: every study keeps its numbers in docs/numbers, beside the command that made them.

A table stands in its page between marks, `<!-- name -->` and `<!-- end -->`, and is replaced there; a
sentence is written by hand, and the tests say where a page no longer says what its study found.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
NUMBERS = ROOT / "docs" / "numbers"


def keep(
    study: str,
    command: str,
    tables: Mapping[str, Mapping[str, Sequence[str]]],
    sentences: Mapping[str, Sequence[str]],
) -> Path:
    """Write docs/numbers/`study`.json and put its tables into the pages: `tables[page][mark]` are lines."""
    path = NUMBERS / f"{study}.json"
    path.parent.mkdir(exist_ok=True)
    record = {"command": command, "tables": tables, "sentences": sentences}
    path.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    for page, marked in tables.items():
        text = (ROOT / page).read_text(encoding="utf-8")
        (ROOT / page).write_text(put(text, marked), encoding="utf-8")
    return path


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
