"""A sheet of cells, whatever file it came from, and the table under its header row.

Also JSON values as cells, and the memory that an input may take. A small file can stand for a large table:
packed, sparse or full of short cells. So `Memory` counts a row or cell before it is built, by the sizes that
CPython gives it, rounded up, with what is later derived from it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from sys import getsizeof
from typing import Any

from blindcal.errors import Problem
from blindcal.importers.raw_export import RawExport, RawReview, dropped_columns, export_error
from blindcal.io.cells import number_text
from blindcal.io.tables import input_error

MAX_MEMORY = 512 * 2**20
"""An input may cost this many bytes of memory, beside those of Python itself."""
_ROW, _SLOT, _TEXT = 750, 16, 16
_LIST, _OBJECT, _KEY, _ITEM, _QUOTE = 88, 170, 30, 40, 28
_MEMORY_RULE = "must take at most {} MiB of memory: leave out texts, columns or rows that are not needed"
_HEADER_ROWS = 6
Cells = Sequence[str]
Item = dict[str, Any]


@dataclass(frozen=True)
class Worksheet:
    """A sheet of cells, each row under the number that a spreadsheet shows.

    `file`: what messages call it; `name`: the sheet's own. In a `workbook` empty last cells and rows are not
    there. `cut`: whether a text has no line end at its end, so that its last row may not be whole.
    """

    file: str
    name: str
    rows: Sequence[tuple[int, Cells]]
    workbook: bool = False
    cut: bool = False


@dataclass(frozen=True)
class OpenedExport:
    """What a file holds once unpacked and decoded: `sheets`, or if it is JSON, the `value` of its text.

    `file` is its name, for messages; `said` is what was recognized on the way, such as the encoding.
    """

    file: str
    sheets: tuple[Worksheet, ...] = ()
    value: object = None
    said: tuple[str, ...] = ()

    @cached_property
    def tables(self) -> tuple[Worksheet, ...]:
        """The sheets; a JSON list of flat objects is one, whose header are the keys."""
        value = self.value
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            return self.sheets
        records = [{name: json_cell(content) for name, content in item.items()} for item in value]
        return (record_table(self.file, records).sheet,)


@dataclass(frozen=True)
class HeadedTable:
    """A sheet's table: the `names` in its header row, and the rows below.

    Each row is as wide as the header or, in a workbook, ends with its last filled cell. The header has the
    index `place` among the rows of the `sheet`, which shows it as its `row`, if the file has it.
    """

    sheet: Worksheet
    place: int
    row: int | None
    names: tuple[str, ...]

    @cached_property
    def _rows_and_problems(self) -> tuple[list[tuple[int, Cells]], tuple[Problem, ...]]:
        """The rows that fit the header, and a problem for each that does not.

        Some systems leave out empty cells at the end of a row; an empty line and a last row that may be cut
        are problems.
        """
        width, fitting, problems = len(self.names), [], []
        last = self.sheet.rows[-1][0] if self.sheet.cut else None
        # Readers take out whole columns, as long as the table.
        Memory(self.file).check(grid_size(len(self.sheet.rows), width))
        for number, cells in self.sheet.rows[self.place + 1 :]:
            if self.sheet.workbook:
                cells = _without_empty_end(cells)
            elif len(cells) < width and any(cells) and number != last:
                cells = [*cells, *[""] * (width - len(cells))]
            if len(cells) > width or (len(cells) < width and not self.sheet.workbook):
                rule = f"must have {width} cells like the header"
                problems.append(Problem(self.file, number, None, rule, f"{len(cells)}"))
            elif cells:
                fitting.append((number, cells))
        return fitting, tuple(problems)

    @property
    def rows(self) -> Sequence[tuple[int, Cells]]:
        return self._rows_and_problems[0]

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self._rows_and_problems[1]

    @property
    def file(self) -> str:
        return self.sheet.file

    def columns_beside(self, known: Collection[str]) -> dict[str, list[str]]:
        """The cells of all columns with a name that is not `known`, in lower case."""
        return {name: self.column(name) for name in self.names if name and name.casefold() not in known}

    @cached_property
    def folded(self) -> tuple[str, ...]:
        return tuple(name.casefold() for name in self.names)

    def __contains__(self, name: str) -> bool:
        return name.casefold() in self.folded

    def first(self, *names: str) -> str | None:
        """The first of these columns that there is."""
        return next((name for name in names if name in self), None)

    def column(self, name: str | None) -> list[str]:
        """The cells of a column; empty ones where there is no such column."""
        if name is None or name not in self:
            return [""] * len(self.rows)
        index = self.folded.index(name.casefold())
        return [cells[index] if index < len(cells) else "" for _, cells in self.rows]

    def reviews(self, **columns: str | None) -> list[RawReview]:
        """The review in each row: for fields of a `RawReview`, the columns that hold them."""
        cells = zip(*map(self.column, columns.values()), strict=True)
        return [
            RawReview(number, **dict(zip(columns, texts, strict=True)))
            for (number, _), texts in zip(self.rows, cells, strict=True)
        ]

    def export(
        self,
        system: str,
        columns: Mapping[str, str | None],
        also: Collection[str] = (),
        texts: Collection[str] = (),
        left: Iterable[str] = (),
    ) -> RawExport:
        """The reviews, for whose fields these `columns` hold the text: every other column goes no further.

        Columns that are read for something else are `also` used, and `texts` hold free text. Fields of the
        system that did not come into this table are `left`.
        """
        used = [*columns.values(), *also]
        folded = {name.casefold() for name in used if name is not None}
        unused = [*left, *(name for name in self.names if name.casefold() not in folded)]
        return RawExport(
            format=system,
            file=self.file,
            rows=self.reviews(**columns),
            score_field=str(columns["score"]),
            confidence_field=columns.get("confidence"),
            dropped=dropped_columns(unused, [name for name in unused if name in texts]),
            problems=(*self.problems, *self.repeated(used)),
        )

    def repeated(self, used: Collection[str | None]) -> list[Problem]:
        """A problem for each used name that stands in the header twice."""
        return [
            Problem(self.file, self.row, name, "must appear once", f"{self.folded.count(name.casefold())}")
            for name in dict.fromkeys(used)
            if name is not None and self.folded.count(name.casefold()) > 1
        ]


def find_table(sheet: Worksheet, wanted: Callable[[frozenset[str]], bool]) -> HeadedTable | None:
    """The table under the first of a `sheet`'s top rows whose names (in lower case) are `wanted`, or None."""
    for place, (row, cells) in enumerate(sheet.rows[:_HEADER_ROWS]):
        names = tuple(" ".join(cell.split()) for cell in cells)
        if wanted(frozenset(name.casefold() for name in names)):
            return HeadedTable(
                sheet, place, row or None, tuple(_without_empty_end(names) if sheet.workbook else names)
            )
    return None


def find_tables(sheets: Iterable[Worksheet], wanted: Callable[[frozenset[str]], bool]) -> list[HeadedTable]:
    """The tables of all `sheets` that have one whose names (in lower case) are `wanted`."""
    return [table for sheet in sheets if (table := find_table(sheet, wanted)) is not None]


def find_only_table(
    sheets: Iterable[Worksheet], wanted: Callable[[frozenset[str]], bool]
) -> HeadedTable | None:
    """The only such table of these `sheets`, or None; two are refused."""
    tables = find_tables(sheets, wanted)
    if len(tables) > 1:
        rule = (
            "must be the only table of its kind in the file: save the one to import alone (two years in one "
            "file?)"
        )
        raise input_error([Problem(table.file, table.row, None, rule) for table in tables])
    return tables[0] if tables else None


def _without_empty_end(cells: Cells) -> Cells:
    end = len(cells)
    while end and not cells[end - 1].strip():
        end -= 1
    return cells if end == len(cells) else cells[:end]


class MixedListError(Exception):
    """A list has objects and other things in it: then it is no list of reviews or notes."""


def json_objects(value: object) -> list[Item]:
    """The objects of a JSON list, which may hold nothing else; none if the `value` is not a list."""
    items = value if isinstance(value, list) else []
    dicts = [item for item in items if isinstance(item, dict)]
    if dicts and len(dicts) < len(items):
        raise MixedListError
    return dicts


def json_pages(value: object) -> list[Item]:
    """The objects at the top of a file whose JSON has this `value`: one, or those of a list."""
    return [value] if isinstance(value, dict) else json_objects(value)


def json_cell(value: object) -> str:
    """The text that a table would have in place of a JSON value; several values as a list."""
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return number_text(value)
    if isinstance(value, list):
        return ", ".join(map(json_cell, value))
    return value if isinstance(value, str) else ""


def all_pages(parts: Iterable[Item], key: str, file: str) -> Iterator[Item]:
    """The objects under `key` on all pages; refused if a page states, as its `count`, that there are more."""
    stated, items = 0, []
    for page in parts:
        items += json_objects(page.get(key))
        count = page.get("count")
        stated = max(stated, count if isinstance(count, int) else 0)
    if stated > len(items):
        rule = f"must hold all {stated:,} entries: fetch every page and save them as one list"
        raise export_error(file, rule, f"{len(items):,}")
    yield from items


def json_columns(records: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    """Texts by name as columns, empty where a record does not have the name."""
    names = dict.fromkeys(name for record in records for name in record)
    return {name: [record.get(name, "") for record in records] for name in names}


def record_table(
    file: str, records: Sequence[Mapping[str, str]], numbers: Iterable[int] | None = None
) -> HeadedTable:
    """Texts by name as a table without a row for its header, by default with its rows numbered from 1 on."""
    names = tuple(dict.fromkeys(name for record in records for name in record))
    Memory(file).check(grid_size(len(records), len(names)))
    cells = [[record.get(name, "") for name in names] for record in records]
    rows = zip(range(1, len(cells) + 1) if numbers is None else numbers, cells, strict=True)
    return HeadedTable(Worksheet(file, "", [(0, names), *rows]), 0, None, names)


class Memory:
    """What is left of `MAX_MEMORY` for one `file`."""

    def __init__(self, file: str) -> None:
        self.file, self._left = file, MAX_MEMORY

    def check(self, size: int, row: int | None = None, file: str | None = None) -> None:
        """Refuse what would cost `size` bytes more, if so much is not left."""
        if size > self._left:
            raise export_error(file or self.file, _MEMORY_RULE.format(MAX_MEMORY // 2**20), "more", row)

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


def grid_size(rows: int, columns: int) -> int:
    """What a table of empty cells costs."""
    return rows * (_ROW + _SLOT * columns)


def json_size(text: str) -> int:
    """What a JSON `text` costs once it is parsed, by the marks in it."""
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
