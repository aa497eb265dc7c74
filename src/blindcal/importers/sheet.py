"""A sheet of cells, whatever file it came from, and the table under its header row.

Also JSON values as cells, and the memory that an input may take. A small file can stand for a large table:
packed, sparse or full of short cells. So `Memory` counts a row or cell before it is built, by the sizes that
CPython gives it, rounded up, with what is later derived from it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from posixpath import normpath
from sys import getsizeof
from typing import Any, NamedTuple
from xml.parsers import expat

from blindcal.errors import InputError, Problem
from blindcal.importers.raw_export import export_error
from blindcal.io.cells import number_text
from blindcal.io.tables import MAX_CELL, MAX_COLUMNS, MAX_LINES, input_error

MAX_MEMORY = 512 * 2**20
"""An input may cost this many bytes of memory, beside those of Python itself."""
_ROW, _SLOT, _TEXT, _TAG = 750, 16, 16, 48
_LIST, _OBJECT, _KEY, _ITEM, _QUOTE = 88, 170, 30, 40, 28
_RULE = "must take at most {} MiB of memory: leave out texts, columns or rows that are not needed"
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
    """What a file holds once unpacked and decoded: `sheets`, or if it `is_json`, the `value` of its text.

    `file` is its name, for messages; `said` is what was recognized on the way, such as the encoding.
    """

    file: str
    sheets: tuple[Worksheet, ...] = ()
    value: object = None
    is_json: bool = False
    said: tuple[str, ...] = ()


@dataclass(frozen=True)
class HeadedTable:
    """A sheet's table: the `names` in its header row, and the rows below.

    Each row is as wide as the header or, in a workbook, ends with its last filled cell. The header has the
    index `place` among the rows of the `sheet`, which shows it as its `row`.
    """

    sheet: Worksheet
    place: int
    row: int
    names: tuple[str, ...]

    @cached_property
    def _under(self) -> tuple[list[tuple[int, Cells]], tuple[Problem, ...]]:
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
                cells = _trimmed(cells)
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
        return self._under[0]

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self._under[1]

    @property
    def file(self) -> str:
        return self.sheet.file

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
            return HeadedTable(sheet, place, row, tuple(_trimmed(names) if sheet.workbook else names))
    return None


def find_only_table(
    sheets: Sequence[Worksheet], wanted: Callable[[frozenset[str]], bool]
) -> HeadedTable | None:
    """The only table of these `sheets` whose names (in lower case) are `wanted`, or None; two are refused."""
    tables = [table for sheet in sheets if (table := find_table(sheet, wanted)) is not None]
    if len(tables) > 1:
        rule = (
            "must be the only table of its kind in the file: save the one to import alone (two years in one "
            "file?)"
        )
        raise input_error([Problem(table.file, table.row, None, rule) for table in tables])
    return tables[0] if tables else None


def _trimmed(cells: Cells) -> Cells:
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


def json_columns(items: Sequence[Mapping[str, str]]) -> dict[str, list[str]]:
    """Objects with texts by name as columns, empty where an object does not have the name."""
    names = dict.fromkeys(name for item in items for name in item)
    return {name: [item.get(name, "") for item in items] for name in names}


def json_worksheet(opened: OpenedExport) -> Worksheet | None:
    """A JSON list of flat objects as a sheet with their keys as its header; None if `opened` is not such."""
    value = opened.value
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return None
    names = list(dict.fromkeys(str(key) for item in value for key in item))
    Memory(opened.file).check(grid_size(len(value), len(names)))
    cells = [[json_cell(item.get(name)) for name in names] for item in value]
    return Worksheet(opened.file, "", list(enumerate([names, *cells])))


class Memory:
    """What is left of `MAX_MEMORY` for one `file`."""

    def __init__(self, file: str) -> None:
        self.file, self._left = file, MAX_MEMORY

    def check(self, size: int, row: int | None = None, file: str | None = None) -> None:
        """Refuse what would cost `size` bytes more, if so much is not left."""
        if size > self._left:
            raise export_error(file or self.file, _RULE.format(MAX_MEMORY // 2**20), "more", row)

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
        """Refuse XML with so many `tags` that it would not fit: to count them is faster than to parse."""
        self.check(_TAG * tags)


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


# --- Workbooks -> sheets: SpreadsheetML 2003 (`.xls` as XML) and `.xlsx`, by the standard library.
#
# The XML may declare no document type, so there is nothing to expand and nothing outside to fetch. It is
# parsed as it is unpacked; empty cells are not kept, and all others are counted against the memory of an
# input.
#
# Libraries that read `.xlsx` were tried with small files that mean harm, in 5 GiB of memory. python-calamine
# 0.9.0 is fast, but fills the rectangle around all cells: two cells at opposite corners (1.4 KB) ask for 512
# GiB and end the process, shared strings (2.9 MB) take 2.7 GB, and padding (4.9 MB) more than there is.
# openpyxl 3.1.5 (read only) keeps little but counts nothing: it spends more than 60 s on each of the last
# two, on one long attribute (205 KB) and on 10,000,000 cells (626 KB). Neither takes a limit.

_OLD = "urn:schemas-microsoft-com:office:spreadsheet "
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_PLACE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
_MAX_DEPTH = 100
_MAX_NAMES = 1_000
_MAX_TAG = 2 * 2**20
CHUNK = 2**20
"""So many bytes are unpacked and parsed at a time."""
Attributes = Mapping[str, str]


class Part(NamedTuple):
    """A part of a packed file: its bytes in `chunks`, how many there are, and how many tags they open."""

    size: int
    tags: int
    chunks: Iterator[bytes]


class _Walk:
    """A walk over an XML text that calls `opens` and `closes` with local names.

    While it is `listening`, it collects text, of at most one cell: from `begin` to `text`.
    """

    def __init__(self, file: str, memory: Memory) -> None:
        self.file, self.memory = file, memory
        self.path: list[str] = []
        self.listening, self._texts, self._size = False, list[str](), 0
        # The parser keeps every name that it meets, here and in itself.
        self._names: dict[str, str] = {}
        self.parser = expat.ParserCreate(namespace_separator=" ", intern=self._names)
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.StartNamespaceDeclHandler = self._namespace

    def run(self, chunks: Iterable[bytes | memoryview]) -> None:
        """Parse the text that these bytes are."""
        size = 0
        try:
            for chunk in chunks:
                self.parser.Parse(chunk, False)
                size += len(chunk)
                # A tag is parsed anew from its start with every chunk, until it is whole.
                if size - self.parser.CurrentByteIndex > _MAX_TAG:
                    raise self.bad(f"must not have a tag or comment of more than {_MAX_TAG:,} bytes")
            self.parser.Parse(b"", True)
        except expat.ExpatError as error:
            message = f"{expat.ErrorString(error.code)} in line {error.lineno}"
            raise self.bad("must be well-formed XML", message) from None
        except (ValueError, LookupError) as error:
            if isinstance(error, InputError):
                raise
            raise self.bad("must be XML in an encoding that is known") from None

    def bad(self, rule: str, found: str | None = None, row: int | None = None) -> InputError:
        return export_error(self.file, rule, found, row)

    def begin(self) -> None:
        self.listening, self._texts, self._size = False, [], 0

    @property
    def text(self) -> str:
        return "".join(self._texts)

    def _doctype(self, *_: object) -> None:
        raise self.bad("must not declare a document type or entities")

    def _namespace(self, prefix: str | None, address: str) -> None:
        self._names[f"{prefix} {address}"] = ""

    def _start(self, name: str, attributes: Attributes) -> None:
        local = name.rpartition(" ")[2]
        self.path.append(local)
        if len(self.path) > _MAX_DEPTH:
            raise self.bad(f"must not nest more than {_MAX_DEPTH} elements")
        if len(self._names) > _MAX_NAMES:
            raise self.bad(f"must not have more than {_MAX_NAMES:,} names of elements and attributes")
        self.opens(local, attributes)

    def _end(self, name: str) -> None:
        self.closes(self.path.pop())

    def _characters(self, data: str) -> None:
        if self.listening:
            self._size += len(data)
            if self._size > MAX_CELL:
                raise self.bad(f"must have at most {MAX_CELL:,} characters per cell", "more", self.at)
            self._texts.append(data)

    @property
    def at(self) -> int | None:
        """The row that messages are about."""
        return None

    def opens(self, name: str, attributes: Attributes) -> None:
        """What to do where an element opens."""

    def closes(self, name: str) -> None:
        """What to do where it closes."""


class _Rows(_Walk):
    """A walk that collects cells into numbered rows, within the limits of a table.

    A row ends with its last filled cell; one without any is not kept.
    """

    def __init__(self, file: str, memory: Memory) -> None:
        super().__init__(file, memory)
        self.rows: list[tuple[int, list[str]]] = []
        self.row = self.column = 0
        self._cells: list[str] = []
        self._last = 0

    @property
    def at(self) -> int | None:
        return self.row

    def at_row(self, row: int) -> None:
        if not self.row < row <= MAX_LINES:
            raise self.bad(f"must number its rows upward, at most {MAX_LINES:,}", row=self.row + 1)
        self.row, self.column, self._last, self._cells = row, 0, 0, []

    def put(self, text: str, across: int = 0) -> None:
        """Write a cell to the present column, counted from 1, and leave as many more empty."""
        if not self._last < self.column <= MAX_COLUMNS:
            rule = f"must number its cells upward, at most {MAX_COLUMNS:,}"
            raise self.bad(rule, f"{self.column}", self.row)
        if text:
            gap = self.column - 1 - len(self._cells)
            self.memory.take_cell(text, gap, self.row, self.file)
            if not self._cells:
                self.memory.take_row(row=self.row, file=self.file)
                self.rows.append((self.row, self._cells))
            self._cells.extend([""] * gap)
            self._cells.append(text)
        self.column += across
        self._last = self.column


def spreadsheet_xml(data: bytes, file: str, memory: Memory) -> tuple[Worksheet, ...]:
    """The worksheets of a SpreadsheetML 2003 text; what is kept is counted in `memory`."""
    memory.check_tags(data.count(b"<"))
    walk = _Old(file, memory)
    view = memoryview(data)
    walk.run(view[start : start + CHUNK] for start in range(0, len(data), CHUNK))
    return tuple(walk.sheets)


class _Old(_Rows):
    def __init__(self, file: str, memory: Memory) -> None:
        super().__init__(file, memory)
        self.sheets: list[Worksheet] = []
        self.name, self.span, self.across, self.kind = "", 0, 0, "String"

    def opens(self, name: str, attributes: Attributes) -> None:
        if name == "Worksheet":
            self.memory.take_row()
            self.name, self.rows, self.row, self.span = attributes.get(_OLD + "Name", ""), [], 0, 0
        elif name == "Row":
            self.at_row(self._whole(attributes, "Index", self.row + self.span + 1))
            self.span = self._whole(attributes, "Span", 0)
        elif name == "Cell":
            self.begin()
            self.column = self._whole(attributes, "Index", self.column + 1)
            self.across, self.kind = self._whole(attributes, "MergeAcross", 0), "String"
        elif name == "Data" and self.path[-2:-1] == ["Cell"]:
            self.begin()
            self.kind, self.listening = attributes.get(_OLD + "Type", "String"), True

    def closes(self, name: str) -> None:
        if name == "Data" and self.path[-1:] == ["Cell"]:
            self.listening = False
        elif name == "Cell":
            self.put(_plain_number(self.text) if self.kind == "Number" else self.text, self.across)
        elif name == "Worksheet":
            self.sheets.append(
                Worksheet(f"{self.file}, sheet {self.name}", self.name, self.rows, workbook=True)
            )

    def _whole(self, attributes: Attributes, name: str, otherwise: int) -> int:
        text = attributes.get(_OLD + name)
        if text is None:
            return otherwise
        if not re.fullmatch(r"[0-9]{1,7}", text):
            raise self.bad(f"must have a whole number as {name}", row=self.row)
        return int(text)


def xlsx_sheets(read: Callable[[str], Part | None], file: str, memory: Memory) -> tuple[Worksheet, ...]:
    """The sheets of an `.xlsx` file, of which `read` gives a part by its name, or None if there is none."""
    book, links = (_Tags(file, memory, name) for name in ("sheet", "Relationship"))
    shared = _Strings(file, memory)
    book.run(_part(read, "xl/workbook.xml", file, memory))
    links.run(_part(read, "xl/_rels/workbook.xml.rels", file, memory))
    targets = {link.get("Id", ""): (link.get("Type", ""), link.get("Target", "")) for link in links.found}
    strings = read("xl/sharedStrings.xml")
    if strings is not None:
        memory.check_tags(strings.tags)
        shared.run(strings.chunks)
    sheets = []
    for attributes in book.found:
        name = attributes.get("name", "")
        link = next((value for key, value in attributes.items() if key.endswith(" id")), "")
        walk = _New(f"{file}, sheet {name}", memory, shared.strings)
        if link not in targets:
            raise walk.bad("must be a part of the workbook")
        kind, target = targets[link]
        if kind.rpartition("/")[2] == "worksheet":  # and no sheet of charts
            path = target[1:] if target.startswith("/") else normpath(f"xl/{target}")
            walk.run(_part(read, path, file, memory))
            sheets.append(Worksheet(walk.file, name, walk.rows, workbook=True))
    return tuple(sheets)


def _part(read: Callable[[str], Part | None], name: str, file: str, memory: Memory) -> Iterator[bytes]:
    part = read(name)
    if part is None:
        raise export_error(file, "must be a whole .xlsx workbook", f"no part {name!a}")
    memory.check_tags(part.tags)
    return part.chunks


class _Tags(_Walk):
    """A walk that collects the attributes of all elements of one name."""

    def __init__(self, file: str, memory: Memory, wanted: str) -> None:
        super().__init__(file, memory)
        self.wanted, self.found = wanted, list[Attributes]()

    def opens(self, name: str, attributes: Attributes) -> None:
        if name == self.wanted:
            self.found.append(attributes)
            self.memory.take_row([*attributes.values()])


class _Strings(_Walk):
    """The texts that cells share; the reading aids of Asian scripts are no part of them."""

    def __init__(self, file: str, memory: Memory) -> None:
        super().__init__(file, memory)
        self.strings: list[str] = []

    def opens(self, name: str, attributes: Attributes) -> None:
        if name == "si":
            self.begin()
        elif name == "t" and "rPh" not in self.path:
            self.listening = True

    def closes(self, name: str) -> None:
        if name == "t":
            self.listening = False
        elif name == "si":
            self.strings.append(_unescaped(self.text))
            self.memory.take_cell(self.strings[-1])


class _New(_Rows):
    def __init__(self, file: str, memory: Memory, strings: list[str]) -> None:
        super().__init__(file, memory)
        self.strings, self.kind = strings, "n"

    def opens(self, name: str, attributes: Attributes) -> None:
        if name == "row":
            row = attributes.get("r", str(self.row + 1))
            if not re.fullmatch(r"[0-9]{1,7}", row):
                raise self.bad("must number its rows", row=self.row)
            self.at_row(int(row))
        elif name == "c":
            self.begin()
            self.column = self._column(attributes["r"]) if "r" in attributes else self.column + 1
            self.kind = attributes.get("t", "n")
        elif name == "v" or (name == "t" and "is" in self.path and "rPh" not in self.path):
            self.listening = True

    def closes(self, name: str) -> None:
        if name in ("v", "t"):
            self.listening = False
        elif name == "c":
            self.put(self._text())

    def _column(self, reference: str) -> int:
        match = _PLACE.fullmatch(reference)
        if match is None or int(match[2]) != self.row:
            raise self.bad("must name its cells like B3", row=self.row)
        return _column_number(match[1])

    def _text(self) -> str:
        text = self.text
        if self.kind == "s" and text:
            if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) >= len(self.strings):
                raise self.bad("must point to a text of the workbook", row=self.row)
            return self.strings[int(text)]
        if self.kind == "e":
            raise self.bad("must not hold the error of a formula", row=self.row)
        return _plain_number(text) if self.kind == "n" else _unescaped(text)


@cache
def _column_number(letters: str) -> int:
    """The number of a column.

    >>> _column_number("A"), _column_number("Z"), _column_number("AA")
    (1, 26, 27)
    """
    before = _column_number(letters[:-1]) if len(letters) > 1 else 0
    return 26 * before + ord(letters[-1]) - ord("A") + 1


def _plain_number(text: str) -> str:
    """A number as people write it: workbooks store 2.5 as `2.5000000000000000E0`.

    >>> _plain_number("12.0"), _plain_number("2.5E0"), _plain_number("x")
    ('12', '2.5', 'x')
    """
    try:
        value = float(text)
    except ValueError:
        return text
    return number_text(value) if math.isfinite(value) else text


def _unescaped(text: str) -> str:
    """Control characters are stored as `_x000D_`."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text
