"""What an input costs in memory: counted while it is read, refused as soon as it would be too much.

A small file can stand for a large table: packed, sparse or full of short cells. So nothing is built before it
is counted. The figures are those of CPython, rounded up, with what is later derived from a row or cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import getsizeof

from blindcal.errors import InputError, Problem
from blindcal.files.tables import refuse

MAX_MEMORY = 512 * 2**20
"""An input may cost this many bytes of memory, beside those of Python itself."""
_ROW, _SLOT, _TEXT, _TAG = 750, 16, 16, 48
_LIST, _OBJECT, _KEY, _ITEM, _QUOTE = 88, 170, 30, 40, 28
_RULE = "must take at most {limit} MiB of memory: leave out texts, columns or rows that are not needed"


class Memory:
    """What is left of `MAX_MEMORY` for one `file`.

    >>> memory = Memory("x.csv")
    >>> memory.take_row(["7", "2.5"], 3)
    >>> memory.check(MAX_MEMORY)
    Traceback (most recent call last):
    ...
    blindcal.errors.InputError: x.csv: must take at most 512 MiB of memory: leave out texts, columns or rows
    that are not needed, found more
    """

    def __init__(self, file: str) -> None:
        self.file, self._left = file, MAX_MEMORY

    def check(self, size: int, row: int | None = None, file: str | None = None) -> None:
        """Refuse what would cost `size` bytes more, if so much is not left."""
        if size > self._left:
            raise too_much(file or self.file, row)

    def take(self, size: int, row: int | None = None, file: str | None = None) -> None:
        """Count `size` bytes; messages are about this `row`, of the `file` or this part of it."""
        self.check(size, row, file)
        self._left -= size

    def take_cell(self, text: str, gap: int = 0, row: int | None = None, file: str | None = None) -> None:
        """Count a cell with this `text`, after a `gap` of so many empty ones."""
        self.take(_SLOT * (gap + 1) + _TEXT + getsizeof(text), row, file)

    def take_row(self, cells: Sequence[str] = (), row: int | None = None, file: str | None = None) -> None:
        """Count a row of these cells."""
        texts = [_TEXT + getsizeof(cell) for cell in cells if cell]
        self.take(_ROW + _SLOT * len(cells) + sum(texts), row, file)

    def check_tags(self, tags: int) -> None:
        """Refuse XML with so many `tags` that what they hold would not fit: before it is parsed, which takes
        longer than to count them."""
        self.check(_TAG * tags)


def too_much(file: str, row: int | None = None) -> InputError:
    """The error for a `file` that costs too much memory, from this `row` on if it is known."""
    return refuse([Problem(file, row, None, _RULE.format(limit=MAX_MEMORY // 2**20), "more")])


def grid_size(rows: int, columns: int) -> int:
    """What a table of empty cells costs."""
    return rows * (_ROW + _SLOT * columns)


def json_size(text: str) -> int:
    """What a JSON `text` costs once it is parsed, by the marks in it.

    >>> json_size("[[], []]") - json_size("[]"), json_size('{"a": "b"}') - json_size("[]")
    (222, 176)
    """
    width = 4 if "\\ud" in text or "\\uD" in text else 2 if "\\u" in text else 1
    keys = text.count('":')
    return (
        max(getsizeof(text), width * len(text))
        + _LIST * text.count("[")
        + _OBJECT * text.count("{")
        + _ITEM * text.count(",")
        + _QUOTE * (text.count('"') - 2 * keys)
        + _KEY * keys
    )
