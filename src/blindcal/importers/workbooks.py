"""Workbooks to sheets: SpreadsheetML 2003 (`.xls` as XML) and `.xlsx`, by the standard library.

The XML may declare no document type, so there is nothing to expand and nothing outside to fetch. It is parsed
as it is unpacked; empty cells are not kept, and all others are counted against the memory of an input.

Libraries that read `.xlsx` were tried with small files that mean harm, in 5 GiB of memory. python-calamine
0.9.0 is fast, but fills the rectangle around all cells: two cells at opposite corners (1.4 KB) ask for 512
GiB and end the process, shared strings (2.9 MB) take 2.7 GB, and padding (4.9 MB) more than there is.
openpyxl 3.1.5 (read only) keeps little but counts nothing: it spends more than 60 s on each of the last two,
on one long attribute (205 KB) and on 10,000,000 cells (626 KB). Neither takes a limit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import cache
from posixpath import normpath
from xml.parsers import expat

from blindcal.errors import InputError
from blindcal.importers.raw_export import export_error
from blindcal.importers.sheet import Memory, Worksheet
from blindcal.io.cells import number_text
from blindcal.io.tables import MAX_CELL, MAX_COLUMNS, MAX_LINES

_SPREADSHEET = "urn:schemas-microsoft-com:office:spreadsheet "
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_CELL_REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
_MAX_DEPTH = 100
_MAX_NAMES = 1_000
_MAX_TAG = 2 * 2**20
_TAG = 48  # bytes that each tag is counted as
_CHUNK = 2**20  # bytes that are parsed at a time
Attributes = Mapping[str, str]
Read = Callable[[str], bytes | None]


class _XmlWalk:
    """A walk over an XML text that calls `opens` and `closes` with local names.

    While it is `listening`, it collects text, of at most one cell: from `begin` to `text`.
    """

    def __init__(self, file: str, memory: Memory) -> None:
        self.file, self.memory = file, memory
        self.path: list[str] = []
        self.row = 0  # that messages are about, if there is one
        self.begin()
        # The parser keeps every name that it meets, here and in itself.
        self._names: dict[str, str] = {}
        self.parser = expat.ParserCreate(namespace_separator=" ", intern=self._names)
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.StartNamespaceDeclHandler = self._namespace

    def run(self, data: bytes) -> None:
        """Parse a text, unless it has so many tags that it would not fit."""
        self.memory.check(_TAG * data.count(b"<"))
        view = memoryview(data)
        try:
            for start in range(0, len(data), _CHUNK):
                self.parser.Parse(view[start : start + _CHUNK], False)
                # A tag is parsed anew from its start with every chunk, until it is whole.
                if start + _CHUNK - self.parser.CurrentByteIndex > _MAX_TAG:
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
        self.listening, self._texts, self._size = False, list[str](), 0

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
                raise self.bad(
                    f"must have at most {MAX_CELL:,} characters per cell", "more", self.row or None
                )
            self._texts.append(data)

    def opens(self, name: str, attributes: Attributes) -> None:
        """What to do where an element opens."""

    def closes(self, name: str) -> None:
        """What to do where it closes."""


class _RowWalk(_XmlWalk):
    """A walk that collects cells into numbered rows, within the limits of a table.

    A row ends with its last filled cell; one without any is not kept.
    """

    def __init__(self, file: str, memory: Memory) -> None:
        super().__init__(file, memory)
        self.rows: list[tuple[int, list[str]]] = []
        self.column = self._last = 0
        self._cells: list[str] = []

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
    walk = _SpreadsheetXml(file, memory)
    walk.run(data)
    return tuple(walk.sheets)


class _SpreadsheetXml(_RowWalk):
    def __init__(self, file: str, memory: Memory) -> None:
        super().__init__(file, memory)
        self.sheets: list[Worksheet] = []
        self.name, self.span, self.across, self.kind = "", 0, 0, "String"

    def opens(self, name: str, attributes: Attributes) -> None:
        if name == "Worksheet":
            self.memory.take_row()
            self.name, self.rows, self.row, self.span = attributes.get(_SPREADSHEET + "Name", ""), [], 0, 0
        elif name == "Row":
            self.at_row(self._whole_attribute(attributes, "Index", self.row + self.span + 1))
            self.span = self._whole_attribute(attributes, "Span", 0)
        elif name == "Cell":
            self.begin()
            self.column = self._whole_attribute(attributes, "Index", self.column + 1)
            self.across, self.kind = self._whole_attribute(attributes, "MergeAcross", 0), "String"
        elif name == "Data" and self.path[-2:-1] == ["Cell"]:
            self.begin()
            self.kind, self.listening = attributes.get(_SPREADSHEET + "Type", "String"), True

    def closes(self, name: str) -> None:
        if name == "Data" and self.path[-1:] == ["Cell"]:
            self.listening = False
        elif name == "Cell":
            self.put(_plain_number(self.text) if self.kind == "Number" else self.text, self.across)
        elif name == "Worksheet":
            self.sheets.append(
                Worksheet(f"{self.file}, sheet {self.name}", self.name, self.rows, workbook=True)
            )

    def _whole_attribute(self, attributes: Attributes, name: str, otherwise: int) -> int:
        text = attributes.get(_SPREADSHEET + name)
        if text is None:
            return otherwise
        if not re.fullmatch(r"[0-9]{1,7}", text):
            raise self.bad(f"must have a whole number as {name}", row=self.row)
        return int(text)


def xlsx_sheets(read: Read, file: str, memory: Memory) -> tuple[Worksheet, ...]:
    """The sheets of an `.xlsx` file, of which `read` gives a part by its name, or None if there is none."""
    book, links = (_TagAttributes(file, memory, name) for name in ("sheet", "Relationship"))
    shared = _SharedStrings(file, memory)
    book.run(_workbook_part(read, "xl/workbook.xml", file))
    links.run(_workbook_part(read, "xl/_rels/workbook.xml.rels", file))
    targets = {link.get("Id", ""): (link.get("Type", ""), link.get("Target", "")) for link in links.found}
    if (strings := read("xl/sharedStrings.xml")) is not None:
        shared.run(strings)
    sheets = []
    for attributes in book.found:
        name = attributes.get("name", "")
        link = next((value for key, value in attributes.items() if key.endswith(" id")), "")
        walk = _XlsxSheet(f"{file}, sheet {name}", memory, shared.strings)
        if link not in targets:
            raise walk.bad("must be a part of the workbook")
        kind, target = targets[link]
        if kind.rpartition("/")[2] == "worksheet":  # and no sheet of charts
            path = target[1:] if target.startswith("/") else normpath(f"xl/{target}")
            walk.run(_workbook_part(read, path, file))
            sheets.append(Worksheet(walk.file, name, walk.rows, workbook=True))
    return tuple(sheets)


def _workbook_part(read: Read, name: str, file: str) -> bytes:
    if (part := read(name)) is None:
        raise export_error(file, "must be a whole .xlsx workbook", f"no part {name!a}")
    return part


class _TagAttributes(_XmlWalk):
    """A walk that collects the attributes of all elements of one name."""

    def __init__(self, file: str, memory: Memory, wanted: str) -> None:
        super().__init__(file, memory)
        self.wanted, self.found = wanted, list[Attributes]()

    def opens(self, name: str, attributes: Attributes) -> None:
        if name == self.wanted:
            self.found.append(attributes)
            self.memory.take_row([*attributes.values()])


class _SharedStrings(_XmlWalk):
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
            self.strings.append(_unescaped_text(self.text))
            self.memory.take_cell(self.strings[-1])


class _XlsxSheet(_RowWalk):
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
        match = _CELL_REFERENCE.fullmatch(reference)
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
        return _plain_number(text) if self.kind == "n" else _unescaped_text(text)


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


def _unescaped_text(text: str) -> str:
    """Control characters are stored as `_x000D_`."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text
