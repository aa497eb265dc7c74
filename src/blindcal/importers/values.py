"""Values of a JSON text: objects in lists, pages of a longer answer, values as the text of a cell, tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from blindcal.cells import number_text
from blindcal.importers.findings import refusal
from blindcal.importers.sheets import Opened, Sheet

Item = dict[str, Any]


class MixedListError(Exception):
    """A list has objects and other things in it: then it is no list of reviews or notes."""


def objects(value: object) -> list[Item]:
    """The objects of a JSON list; none where the `value` is not a list. A list that also holds something else
    is refused.

    >>> objects([{"score": 2}, {"score": 3}]), objects("text")
    ([{'score': 2}, {'score': 3}], [])
    """
    items = value if isinstance(value, list) else []
    found = [item for item in items if isinstance(item, dict)]
    if found and len(found) < len(items):
        raise MixedListError
    return found


def pages(value: object) -> list[Item]:
    """The objects at the top of a file whose JSON has this `value`: one, or those of a list.

    >>> pages({"results": []}), pages([{"id": 1}])
    ([{'results': []}], [{'id': 1}])
    """
    return [value] if isinstance(value, dict) else objects(value)


def cell_of(value: object) -> str:
    """The text that a table would have in place of a JSON value; several values as a list.

    >>> cell_of(8), cell_of(2.5), cell_of("8: accept"), cell_of(None), cell_of([7, 8])
    ('8', '2.5', '8: accept', '', '7, 8')
    """
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return number_text(value)
    if isinstance(value, list):
        return ", ".join(map(cell_of, value))
    return value if isinstance(value, str) else ""


def whole(found: Iterable[Item], key: str, file: str) -> Iterator[Item]:
    """The objects under `key` on all pages that were `found`; refused where a page says, as its `count`, that
    there are more than that. `file` is for messages.

    >>> list(whole([{"notes": [{"id": 1}], "count": 2}, {"notes": [{"id": 2}]}], "notes", "x.json"))
    [{'id': 1}, {'id': 2}]
    """
    said, items = 0, []
    for page in found:
        items += objects(page.get(key))
        count = page.get("count")
        said = max(said, count if isinstance(count, int) else 0)
    if said > len(items):
        rule = f"must hold all {said:,} entries: fetch every page and save them as one list"
        raise refusal(file, rule, f"{len(items):,}")
    yield from items


def flat_sheet(opened: Opened) -> Sheet | None:
    """A JSON list of flat objects as a sheet with their keys as its header; None if `opened` is not such.

    >>> flat_sheet(Opened("x.json", value=[{"paper": 7, "score": 2.5}], is_json=True)).rows
    [(0, ['paper', 'score']), (1, ['7', '2.5'])]
    """
    value = opened.value
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return None
    names = list(dict.fromkeys(str(key) for item in value for key in item))
    cells = [[cell_of(item.get(name)) for name in names] for item in value]
    return Sheet(opened.file, "", list(enumerate([names, *cells])))
