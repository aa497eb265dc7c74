"""Workbooks -> sheets: SpreadsheetML 2003 (`.xls` as XML) and `.xlsx`, by the standard library.

The XML may declare no document type, so there is nothing to expand and nothing outside to fetch.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import cache
from posixpath import normpath
from xml.parsers import expat

from blindcal.cells import number_text
from blindcal.errors import InputError, Problem
from blindcal.files.tables import MAX_CELL, MAX_COLUMNS, MAX_LINES, refuse
from blindcal.importers.sheets import Sheet

_OLD = "urn:schemas-microsoft-com:office:spreadsheet "
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_PLACE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
_MAX_DEPTH = 100
Attributes = Mapping[str, str]


class _Walk:
    """Walks an XML text and calls `opens`, `closes` with local names; `text` collects while asked."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.path: list[str] = []
        self.text: list[str] | None = None
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.StartDoctypeDeclHandler = self._doctype

    def run(self, data: bytes) -> None:
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as error:
            found = f"{expat.ErrorString(error.code)} in line {error.lineno}"
            raise self.bad("must be well-formed XML", found) from None
        except (ValueError, LookupError) as error:
            if isinstance(error, InputError):
                raise
            raise self.bad("must be XML in an encoding that is known") from None

    def bad(self, rule: str, found: str | None = None, row: int | None = None) -> InputError:
        return refuse([Problem(self.file, row, None, rule, found)])

    def _doctype(self, *_: object) -> None:
        raise self.bad("must not declare a document type or entities")

    def _start(self, name: str, attributes: Attributes) -> None:
        local = name.rpartition(" ")[2]
        self.path.append(local)
        if len(self.path) > _MAX_DEPTH:
            raise self.bad(f"must not nest more than {_MAX_DEPTH} elements")
        self.opens(local, attributes)

    def _end(self, name: str) -> None:
        self.closes(self.path.pop())

    def _characters(self, data: str) -> None:
        if self.text is not None:
            self.text.append(data)

    def opens(self, name: str, attributes: Attributes) -> None:
        raise TypeError("a walk says what to do with elements")

    def closes(self, name: str) -> None:
        raise TypeError("a walk says what to do with elements")


class _Rows(_Walk):
    """A walk that collects cells into numbered rows, within the limits of a table."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.rows: list[tuple[int, list[str]]] = []
        self.cells: list[str] = []
        self.row = 0

    def at_row(self, row: int) -> None:
        if not self.row < row <= MAX_LINES:
            raise self.bad(f"must number its rows upward, at most {MAX_LINES:,}", row=self.row + 1)
        self.row, self.cells = row, []
        self.rows.append((row, self.cells))

    def put(self, column: int, text: str) -> None:
        """Write a cell; columns count from 1."""
        if not len(self.cells) < column <= MAX_COLUMNS:
            rule = f"must number its cells upward, at most {MAX_COLUMNS:,}"
            raise self.bad(rule, f"{column}", self.row)
        if len(text) > MAX_CELL:
            rule = f"must have at most {MAX_CELL:,} characters per cell"
            raise self.bad(rule, f"{len(text):,}", self.row)
        self.cells.extend([""] * (column - 1 - len(self.cells)))
        self.cells.append(text)


def spreadsheet_xml(data: bytes, file: str) -> tuple[Sheet, ...]:
    """The worksheets of a SpreadsheetML 2003 text; `data` holds its bytes, and `file` is for messages.

    >>> row = b"<Row><Cell><Data>7</Data></Cell><Cell><Data>2.5</Data></Cell></Row>"
    >>> text = b"<Workbook><Worksheet><Table>" + row + b"</Table></Worksheet></Workbook>"
    >>> spreadsheet_xml(text, "reviews.xls")[0].rows
    [(1, ['7', '2.5'])]
    """
    walk = _Old(file)
    walk.run(data)
    return tuple(walk.sheets)


class _Old(_Rows):
    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.sheets: list[Sheet] = []
        self.name, self.column, self.span, self.kind, self.value = "", 0, 0, "String", ""

    def opens(self, name: str, attributes: Attributes) -> None:
        parent = self.path[-2] if len(self.path) > 1 else ""
        if name == "Worksheet":
            self.name, self.rows, self.row, self.span = attributes.get(_OLD + "Name", ""), [], 0, 0
        elif name == "Row":
            self.at_row(self._whole(attributes, "Index", self.row + self.span + 1))
            self.span, self.column = self._whole(attributes, "Span", 0), 0
        elif name == "Cell":
            self.column = self._whole(attributes, "Index", self.column + 1)
            self.across, self.value = self._whole(attributes, "MergeAcross", 0), ""
        elif name == "Data" and parent == "Cell":
            self.kind, self.text = attributes.get(_OLD + "Type", "String"), []

    def closes(self, name: str) -> None:
        if name == "Data" and self.path[-1:] == ["Cell"] and self.text is not None:
            self.value, self.text = "".join(self.text), None
            if self.kind == "Number":
                self.value = _plain_number(self.value)
        elif name == "Cell":
            self.put(self.column, self.value)
            self.column += self.across
            self.cells.extend([""] * min(self.across, MAX_COLUMNS - len(self.cells)))
        elif name == "Worksheet":
            self.sheets.append(Sheet(f"{self.file}, sheet {self.name}", self.name, self.rows, workbook=True))

    def _whole(self, attributes: Attributes, name: str, otherwise: int) -> int:
        text = attributes.get(_OLD + name)
        if text is None:
            return otherwise
        if not re.fullmatch(r"[0-9]{1,7}", text):
            raise self.bad(f"must have a whole number as {name}", row=self.row)
        return int(text)


def xlsx_sheets(read: Callable[[str], bytes | None], file: str) -> tuple[Sheet, ...]:
    """The sheets of an `.xlsx` file; `read` gives the bytes of a part of it by name, or None if there is no
    such part, and `file` is for messages."""
    book, links = _Book(file), _Links(file)
    book.run(_part(read, "xl/workbook.xml", file))
    links.run(_part(read, "xl/_rels/workbook.xml.rels", file))
    shared = _Strings(file)
    strings = read("xl/sharedStrings.xml")
    if strings is not None:
        shared.run(strings)
    sheets = []
    for name, link in book.sheets:
        walk = _New(f"{file}, sheet {name}", shared.strings)
        if link not in links.targets:
            raise walk.bad("must be a part of the workbook")
        kind, path = links.targets[link]
        if kind == "worksheet":  # and no sheet of charts
            walk.run(_part(read, path, file))
            sheets.append(Sheet(walk.file, name, walk.rows, workbook=True))
    return tuple(sheets)


def _part(read: Callable[[str], bytes | None], name: str, file: str) -> bytes:
    data = read(name)
    if data is None:
        raise refuse([Problem(file, None, None, "must be a whole .xlsx workbook", f"no part {name!a}")])
    return data


class _Book(_Walk):
    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.sheets: list[tuple[str, str]] = []

    def opens(self, name: str, attributes: Attributes) -> None:
        if name == "sheet":
            link = next((value for key, value in attributes.items() if key.endswith(" id")), "")
            self.sheets.append((attributes.get("name", ""), link))

    def closes(self, name: str) -> None:
        pass


class _Links(_Walk):
    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.targets: dict[str, tuple[str, str]] = {}

    def opens(self, name: str, attributes: Attributes) -> None:
        if name == "Relationship":
            target, kind = attributes.get("Target", ""), attributes.get("Type", "").rpartition("/")[2]
            path = target[1:] if target.startswith("/") else normpath(f"xl/{target}")
            self.targets[attributes.get("Id", "")] = (kind, path)

    def closes(self, name: str) -> None:
        pass


class _Strings(_Walk):
    """The texts that cells share; the reading aids of Asian scripts are no part of them."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.strings: list[str] = []
        self.parts: list[str] = []

    def opens(self, name: str, attributes: Attributes) -> None:
        if name == "si":
            self.parts = []
        elif name == "t" and "rPh" not in self.path:
            self.text = []

    def closes(self, name: str) -> None:
        if name == "t" and self.text is not None:
            self.parts.append("".join(self.text))
            self.text = None
        elif name == "si":
            self.strings.append(_unescaped("".join(self.parts)))


class _New(_Rows):
    def __init__(self, file: str, strings: list[str]) -> None:
        super().__init__(file)
        self.strings = strings
        self.column, self.kind, self.value = 0, "n", ""

    def opens(self, name: str, attributes: Attributes) -> None:
        if name == "row":
            row = attributes.get("r", str(self.row + 1))
            if not re.fullmatch(r"[0-9]{1,7}", row):
                raise self.bad("must number its rows", row=self.row)
            self.at_row(int(row))
            self.column = 0
        elif name == "c":
            self.column = self._column(attributes.get("r")) if "r" in attributes else self.column + 1
            self.kind, self.value = attributes.get("t", "n"), ""
        elif name == "v" or (name == "t" and "is" in self.path and "rPh" not in self.path):
            self.text = []

    def closes(self, name: str) -> None:
        if name in ("v", "t") and self.text is not None:
            self.value += "".join(self.text)
            self.text = None
        elif name == "c":
            self.put(self.column, self._text())

    def _column(self, place: str | None) -> int:
        match = _PLACE.fullmatch(place or "")
        if match is None or int(match[2]) != self.row:
            raise self.bad("must name its cells like B3", row=self.row)
        return _column_number(match[1])

    def _text(self) -> str:
        if self.kind == "s" and self.value:
            if not re.fullmatch(r"[0-9]{1,9}", self.value) or int(self.value) >= len(self.strings):
                raise self.bad("must point to a text of the workbook", row=self.row)
            return self.strings[int(self.value)]
        if self.kind == "e":
            raise self.bad("must not hold the error of a formula", row=self.row)
        return _plain_number(self.value) if self.kind == "n" else _unescaped(self.value)


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
