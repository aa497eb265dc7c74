"""Bytes <-> columns: the strict reader of comma-separated tables and their writer."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from blindcal.cells import Column, cell_problem, cell_value, escape, number_text
from blindcal.checks import Array
from blindcal.errors import InputError, Problem

MAX_BYTES = 64 * 2**20
MAX_LINES = 2_000_000
MAX_COLUMNS = 1_000
MAX_CELL = 100_000
_SHOWN_PROBLEMS, _MAX_PROBLEMS = 100, 10_000

# One cell, quoted or bare, and what must follow it. Possessive, so that no input makes it backtrack.
_CELL = re.compile(r'(?:"((?:[^"]++|"")*+)"|([^",\r\n]*+))(,|\r?\n|\Z)')
_MARK = b"\xef\xbb\xbf"
_FOREIGN = (
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
    (b"PK\x03\x04", "a zip or Excel file"),
    (b"\x1f\x8b", "a gzip file"),
)


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of one file by name, and the spreadsheet row of each record (the header is row 1).

    >>> who, score = Column("who", "id"), Column("score", "number")
    >>> table = parse_table(b"who,score\\n007,2.5\\n", "x.csv", [who, score])
    >>> table.text("who"), table.number("score"), table.rows
    (('007',), array([2.5]), range(2, 3))
    """

    file: str
    rows: range
    columns: Mapping[str, tuple[str, ...] | Array]

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def __len__(self) -> int:
        return len(self.rows)

    def text(self, name: str) -> tuple[str, ...]:
        """The cells of an id or text column."""
        column = self.columns[name]
        if isinstance(column, np.ndarray):
            raise TypeError(f"column {name} holds numbers")
        return column

    def number(self, name: str) -> Array:
        """The values of a number or integer column; a missing cell is `nan`."""
        column = self.columns[name]
        if not isinstance(column, np.ndarray):
            raise TypeError(f"column {name} holds text")
        return column


def parse_table(data: bytes, file: str, columns: Sequence[Column], *, extra: bool = False) -> Table:
    """The named columns of a comma-separated table, or an `InputError` with every problem in it.

    Column order, line ends and a byte-order mark do not matter; header names match in any case. Columns that
    were not asked for are refused unless `extra`, and then left out.
    """
    records = _records(decode(data, file), file, len(_MARK) if data.startswith(_MARK) else 0)
    header = next(records, None)
    if header is None or header == [""]:
        raise refuse([Problem(file, 1, None, "must have a header row", "an empty line")])
    place = _match(header, file, columns, extra)
    secret = any(column.secret for column in columns)
    fields = [_Field(column, place[column.name], secret) for column in columns if column.name in place]
    row, log = 1, Problems(file)
    try:
        for row, cells in enumerate(records, start=2):
            if len(cells) != len(header):
                log.add(row, None, f"must have {len(header)} cells like the header", f"{len(cells)}")
                continue
            for field in fields:
                field.take(cells[field.index], row, log)
    except _TornError as error:
        # Rows that cannot be told apart end the reading; what was wrong before them is told too.
        log.extend(error.problems)
    if row == 1:
        log.add(2, None, "must have at least one row under the header", "none")
    log.finish()
    return Table(file, range(2, row + 1), {field.column.name: field.done() for field in fields})


def refuse(problems: Sequence[Problem], more: int = 0) -> InputError:
    """The error that lists the problems of an input, and counts those left off.

    >>> print(refuse([Problem("r.csv", 2, "score", "must be a number")], more=3))
    r.csv, row 2, column score: must be a number
    and 3 more problems
    """
    lines = [str(problem) for problem in problems]
    if more:
        lines.append(f"and {'at least ' * (more >= _MAX_PROBLEMS)}{more:,} more problem{'s' * (more > 1)}")
    return InputError("\n".join(lines), problems)


class _TornError(InputError):
    """The file cannot be cut into rows and cells from here on."""


class Problems:
    """What is wrong with one file: the first hundred are kept, the rest counted, all raised at once."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.shown: list[Problem] = []
        self.more = 0

    def add(self, row: int | None, column: str | None, rule: str, found: str | None = None) -> None:
        self.extend([Problem(self.file, row, column, rule, found)])

    def extend(self, problems: Sequence[Problem]) -> None:
        free = _SHOWN_PROBLEMS - len(self.shown)
        self.shown += problems[:free]
        self.more += len(problems[free:])
        if self.more >= _MAX_PROBLEMS:
            self.finish()

    def finish(self) -> None:
        """Raise if there was any problem."""
        if self.shown:
            raise refuse(self.shown, self.more)


class _Field:
    """One column being read. Cells repeat, so each distinct one is checked and kept once."""

    def __init__(self, column: Column, index: int, secret: bool) -> None:
        self.column, self.index, self.secret = column, index, secret
        self.known: dict[str, str | float] = {}
        self.values: list[str | float] = []

    def take(self, cell: str, row: int, log: Problems) -> None:
        value = self.known.get(cell)
        if value is None:
            broken = cell_problem(cell, self.column)
            if broken is not None:
                rule, found = broken
                log.add(row, self.column.name, rule, found or (None if self.secret else _quoted(cell)))
                return
            value = self.known[cell] = cell_value(cell, self.column)
        self.values.append(value)

    def done(self) -> tuple[str, ...] | Array:
        if self.column.kind in ("number", "integer"):
            return np.array(self.values, dtype=np.float64)
        return tuple(map(str, self.values))


def _quoted(cell: str) -> str:
    return ascii(cell if len(cell) <= 40 else cell[:40] + "...")


def _match(header: list[str], file: str, columns: Sequence[Column], extra: bool) -> dict[str, int]:
    """Where each column stands in the header. The header is not quoted: in a file without one it is data."""
    names = [cell.strip().casefold() for cell in header]
    log, place, used = Problems(file), dict[str, int](), set[int]()
    for column in columns:
        spellings = {name.casefold() for name in (column.name, *column.synonyms)}
        found = [index for index, name in enumerate(names) if name in spellings]
        used.update(found)
        if len(found) == 1:
            place[column.name] = found[0]
        elif found:
            log.add(1, column.name, "must appear once", f"{len(found)} columns that mean it")
        elif column.required:
            also = f" (or {', '.join(column.synonyms)})" if column.synonyms else ""
            log.add(1, column.name, f"must be in the header{also}", _separator_hint(header))
    if not extra:
        known = ", ".join(column.name for column in columns)
        for index in sorted(set(range(len(header))) - used):
            log.add(1, f"{index + 1}", f"must be one of the known columns ({known})")
    log.finish()
    return place


def _separator_hint(header: list[str]) -> str | None:
    for separator, name in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        if len(header) == 1 and separator in header[0]:
            return f"one cell with {name} (cells are separated by commas)"
    return None


def decode(data: bytes, file: str) -> str:
    """The text of a UTF-8 file without its byte-order mark; anything else is refused by its byte offset."""

    def bad(offset: int | None, rule: str, found: str) -> InputError:
        row = None if offset is None else data.count(b"\n", 0, offset) + 1
        return refuse([Problem(file, row, None, rule, found)])

    if len(data) > MAX_BYTES:
        raise bad(None, f"must have at most {MAX_BYTES:,} bytes", f"{len(data):,}")
    for mark, name in _FOREIGN:
        if data.startswith(mark):
            raise bad(0, "must be UTF-8 text (save as CSV UTF-8)", f"{name} from byte 0 on")
    if (lines := data.count(b"\n")) > MAX_LINES:
        raise bad(None, f"must have at most {MAX_LINES:,} lines", f"{lines:,}")
    if (nul := data.find(b"\0")) >= 0:
        raise bad(nul, "must have no NUL characters", f"one at byte {nul}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The decoder counts from after a byte-order mark; a user counts from the start of the file.
        offset = error.start + (len(data) - len(error.object))
        raise bad(offset, "must be UTF-8 text", f"byte 0x{data[offset]:02x} at byte {offset}") from None


def _records(text: str, file: str, start: int) -> Iterator[list[str]]:
    """The cells of each record; blank lines are allowed at the end only. The text starts at byte `start`."""
    if "\n" not in text:
        text = text.replace("\r", "\n")
    text = text.rstrip("\r\n")
    position, row, size = 0, 0, len(text)
    while position < size:
        row += 1
        stop = text.find("\n", position)
        line = text[position:] if stop < 0 else text[position:stop]
        if '"' in line or "\r" in line[:-1]:
            cells, position = _quoted_record(text, position, row, file, start)
        else:
            _limit(file, row, line.count(",") + 1, MAX_COLUMNS, "columns")
            cells, position = line.rstrip("\r").split(","), position + len(line) + 1
        _limit(file, row, max(map(len, cells)), MAX_CELL, "characters a cell")
        yield cells


def _limit(file: str, row: int, size: int, most: int, what: str) -> None:
    if size > most:
        problem = Problem(file, row, None, f"must have at most {most:,} {what}", f"{size:,}")
        raise _TornError(str(problem), [problem])


def _quoted_record(text: str, position: int, row: int, file: str, start: int) -> tuple[list[str], int]:
    cells: list[str] = []
    while True:
        match = _CELL.match(text, position)
        if match is None:
            rule = _quote_problem(text, position)
            place = f"the cell that starts at byte {start + len(text[:position].encode())}"
            problem = Problem(file, row, f"{len(cells) + 1}", rule, place)
            raise _TornError(str(problem), [problem])
        quoted, bare, ending = match.groups()
        cells.append(bare if quoted is None else quoted.replace('""', '"'))
        _limit(file, row, len(cells), MAX_COLUMNS, "columns")
        position = match.end()
        if ending != ",":
            return cells, position


def _quote_problem(text: str, position: int) -> str:
    if text[position] != '"':
        stray = re.compile(r'["\r]').search(text, position)
        what = "carriage return" if stray is not None and stray.group() == "\r" else "quote"
        return f"must have no {what} inside a cell that is not quoted"
    if re.compile(r'"(?:[^"]++|"")*+"').match(text, position) is None:
        return "must close its quote"
    return "must have a comma or a line end after the closing quote"


def format_table(columns: Mapping[str, Sequence[object] | Array]) -> bytes:
    """The columns as comma-separated UTF-8, rows sorted from the first column on, `\\n` line ends.

    >>> format_table({"paper": ["b", "a"], "score": [3.0, 2.5]})
    b'paper,score\\na,2.5\\nb,3\\n'
    """
    values = [_values(name, column) for name, column in columns.items()]
    if len(set(map(len, values))) != 1:
        raise InputError(f"columns must have one length, found {[len(column) for column in values]}")
    rows = sorted(zip(*values, strict=True), key=_order)
    lines = [",".join(map(_cell, row)) or '""' for row in [tuple(columns), *rows]]
    return ("\n".join(lines) + "\n").encode()


def _values(name: str, column: Sequence[object] | Array) -> list[str | int | float]:
    plain = [value.item() if isinstance(value, np.generic) else value for value in column]
    bad = [v for v in plain if isinstance(v, bool) or not isinstance(v, str | int | float)]
    if bad:
        raise InputError(f"column {name} must hold text or numbers, found {type(bad[0]).__name__}")
    return [value for value in plain if isinstance(value, str | int | float)]


def _order(row: tuple[str | int | float, ...]) -> list[tuple[int, float, str]]:
    """Missing numbers, numbers by value, then text by its code points."""
    return [(2, 0.0, v) if isinstance(v, str) else (0, 0.0, "") if v != v else (1, v, "") for v in row]


def _cell(value: str | int | float) -> str:
    if isinstance(value, str):
        text = escape(value)
        return '"' + text.replace('"', '""') + '"' if re.search(r'[",\r\n]', text) else text
    return "" if math.isnan(value) else number_text(value)
