"""Tables in and out: the strict reader of comma-separated files and data frames, and the writer.

A table becomes a `Table` only if every cell holds what its `Column` says; otherwise one `InputError` names
every bad cell by file, row, column and rule (`Problems` collects them, `input_error` words them). Files and
data frames are held to the same rules: a frame's values are read as the cells that a file would have for
them. The reader has limits on bytes, lines, columns and cells, so that no file can exhaust the memory.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blindcal.errors import InputError, Problem
from blindcal.io.cells import (
    Column,
    Violation,
    cell_problem,
    cell_value,
    count,
    escape,
    natural_key,
    number_text,
    whole_ids,
)

StrPath = str | os.PathLike[str]
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
"""What may separate cells, by its name."""
MAX_BYTES = 64 * 2**20
MAX_LINES = 2_000_000
MAX_COLUMNS = 1_000
MAX_CELL = 100_000
_SHOWN_PROBLEMS, _MAX_PROBLEMS = 100, 10_000
_SHOWN_ALIKE = 3
_CACHED_IDS = 1 << 16  # ids repeat: this many are remembered as cells and sort keys
_CHUNK = 256  # rows at a time: small enough to stay in the cache
_UTF8_MARK = b"\xef\xbb\xbf"
_FOREIGN = (
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
    (b"PK\x03\x04", "a zip or Excel file"),
    (b"\x1f\x8b", "a gzip file"),
)

# The tables of a conference by the columns that they must have, and may have (None: any).
_KINDS: dict[str, tuple[set[str], set[str] | None]] = {
    "the reviewers' calibration": ({"slope", "offset", "noise"}, None),
    "the reviews": ({"paper", "reviewer", "score"}, None),
    "the conflicts": ({"paper", "conflict"}, set()),
    "the pools": ({"paper", "reviewer"}, {"probability", "draw"}),
}


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of one file or data frame by name, and the row number of each record.

    Attributes:
        file: The name for messages.
        rows: The numbers of the rows: as in a spreadsheet, the header being row 1; from 0 on in a data frame.
        columns: Text or floats for each row; `text` and `number` take a column out by its name.

    Example:
        >>> who, score = Column("who", "id"), Column("score", "number")
        >>> table = parse_table(b"who,score\\n007,2.5\\n", "x.csv", [who, score])
        >>> table.text("who"), table.number("score"), table.rows
        (('007',), array([2.5]), range(2, 3))
    """

    file: str
    rows: range
    columns: Mapping[str, tuple[str, ...] | NDArray[np.float64]]

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def __len__(self) -> int:
        return len(self.rows)

    def repeated(self, column: str, *beside: str, rule: str = "must not be listed twice") -> list[Problem]:
        """The problems in `column` of rows that an earlier row equals there and in the columns `beside`."""
        seen, problems = set[tuple[object, ...]](), []
        cells = zip(*(self.columns[name] for name in (column, *beside)), strict=True)
        for row, key in zip(self.rows, cells, strict=True):
            if key in seen:
                problems.append(Problem(self.file, row, column, rule))
            seen.add(key)
        return problems

    def text(self, name: str) -> tuple[str, ...]:
        """The cells of an id or text column."""
        column = self.columns[name]
        if isinstance(column, np.ndarray):
            raise TypeError(f"column {name} holds numbers")
        return column

    def number(self, name: str) -> NDArray[np.float64]:
        """The values of a number or integer column; a missing cell is `nan`."""
        column = self.columns[name]
        if not isinstance(column, np.ndarray):
            raise TypeError(f"column {name} holds text")
        return column


def parse_table(data: bytes, file: str, columns: Sequence[Column], *, extra: bool = False) -> Table:
    """The named columns of a comma-separated table.

    Column order, line ends and a byte-order mark do not matter; header names match in any case. `file` is its
    name for messages. Columns that were not requested are refused, or left out if `extra`.
    """
    log = Problems(file)
    cut = records(decode_utf8(data, file), log, len(_UTF8_MARK) if data.startswith(_UTF8_MARK) else 0)
    header = next(cut, None)
    log.finish()
    if header is None or header == [""]:
        raise input_error([Problem(file, 1, None, "must have a header row", "an empty line")])
    index, problems = match_columns(header, file, columns, extra=extra)
    log.extend(problems)
    log.finish()
    fields = _column_readers(columns, index)
    end = 2
    while rows := list(islice(cut, _CHUNK)):
        log.extend(_read_rows(rows, end, len(header), fields, file))
        end += len(rows)
    if end == 2 and not log.torn:
        log.add(2, None, "must have at least one row under the header", "none")
    log.finish()
    return Table(file, range(2, end), {field.column.name: field.values() for field in fields})


def _read_rows(
    rows: list[list[str]], first: int, width: int, fields: Sequence[_ColumnReader], file: str
) -> list[Problem]:
    """Hand a stretch of rows to the columns; its problems in the order of the file."""
    rule = f"must have {width} cells like the header"
    numbers = [first + i for i, cells in enumerate(rows) if len(cells) == width]
    problems = [
        (first + i, -1, Problem(file, first + i, None, rule, f"{len(cells)}"))
        for i, cells in enumerate(rows)
        if len(cells) != width
    ]
    columns = list(zip(*(cells for cells in rows if len(cells) == width), strict=True))
    for order, field in enumerate(fields if columns else ()):
        taken = field.take(columns[field.index], numbers, file)
        problems += [(problem.row or 0, order, problem) for problem in taken]
    return [problem for *_, problem in sorted(problems, key=lambda item: item[:2])]


def table_from_frame(
    frame: Any, columns: Sequence[Column], name: str = "table", *, extra: bool = False
) -> Table:
    """The named columns of a data frame: the table that a file with the same cells would give.

    `frame`: anything with named columns: a pandas, Polars or Arrow table, a mapping of columns, or a
    structured array; rows in messages count from 0, as there. Otherwise as for `parse_table`.

    Example:
        >>> columns = [Column("who", "id"), Column("score", "number")]
        >>> table_from_frame({"who": ["ada", 7], "score": [3, 4.5]}, columns).columns
        {'who': ('ada', '7'), 'score': array([3. , 4.5])}
    """
    headers = _column_names(frame)
    log = Problems(name)
    index, problems = match_columns([str(header) for header in headers], name, columns, extra=extra, row=None)
    log.extend(problems)
    log.finish()
    fields = _column_readers(columns, index)
    series = [frame[headers[field.index]] for field in fields]
    # Plain values come by `tolist` of NumPy and pandas, `to_pylist` of Arrow; Polars iterates.
    listing = [getattr(s, "tolist", None) or getattr(s, "to_pylist", None) for s in series]
    values = [list(s if plain is None else plain()) for s, plain in zip(series, listing, strict=True)]
    lengths = [len(column) for column in values]
    if len(set(lengths)) != 1:
        raise InputError(f"columns must have one length, found {lengths}")
    if not lengths[0]:
        log.add(None, None, "must have at least one row", "none")
    for field, column in zip(fields, values, strict=True):
        log.extend(field.take_values(column, name))
    log.finish()
    return Table(name, range(lengths[0]), {field.column.name: field.values() for field in fields})


def _column_names(frame: Any) -> list[Any]:
    # Arrow's `columns` are the data, so its `column_names` come first.
    if hasattr(frame, "column_names"):
        return list(frame.column_names)
    if hasattr(frame, "keys"):
        return list(frame.keys())
    if hasattr(frame, "columns"):
        return list(frame.columns)
    return list(getattr(getattr(frame, "dtype", None), "names", None) or ())


def _column_readers(columns: Sequence[Column], index: Mapping[str, int]) -> list[_ColumnReader]:
    """A reader for each column that is there; where one is secret, no cell of the table is quoted."""
    secret = any(column.secret for column in columns)
    return [_ColumnReader(column, index[column.name], secret) for column in columns if column.name in index]


class _ColumnReader:
    """One column being read. Cells repeat, so each distinct one is checked and kept once."""

    def __init__(self, column: Column, index: int, secret: bool) -> None:
        self.column, self.index, self.secret = column, index, secret
        self.number = column.kind in ("number", "integer")
        self.known: dict[str, str | float] = {}
        self.broken: dict[str, Violation] = {}
        self.kept: list[str | float] = []

    def take(self, cells: Sequence[str], rows: Sequence[int], file: str) -> Iterator[Problem]:
        """Keep the values of these cells; the problem of each that breaks a rule."""
        for cell in [cell for cell in set(cells) if cell not in self.known]:
            violation = cell_problem(cell, self.column)
            if violation is None:
                self.known[cell] = cell_value(cell, self.column)
            else:
                self.broken[cell] = violation
        if not self.broken:
            self.kept += map(self.known.__getitem__, cells)
            return
        for row, cell in zip(rows, cells, strict=True):
            if cell in self.broken:
                rule, finding = self.broken[cell]
                excerpt = None if self.secret else ascii(cell if len(cell) <= 40 else cell[:40] + "...")
                yield Problem(file, row, self.column.name, rule, finding or excerpt)

    def take_values(self, column: Sequence[object], name: str) -> list[Problem]:
        """Keep the values of a frame's column, read as the cells that a file would have for them."""
        cells = [_frame_cell(value, self.column, self.number) for value in column]
        rule = "must be a number" if self.number else "must be text or a whole number"
        problems = [
            Problem(name, row, self.column.name, rule, type(column[row]).__name__)
            for row, cell in enumerate(cells)
            if cell is None
        ]
        rows = [row for row, cell in enumerate(cells) if cell is not None]
        problems += self.take([cell for cell in cells if cell is not None], rows, name)
        return sorted(problems, key=lambda problem: problem.row or 0)

    def values(self) -> tuple[str, ...] | NDArray[np.float64]:
        if self.number:
            return np.array(self.kept, dtype=np.float64)
        texts = tuple(map(str, self.kept))
        return whole_ids(texts) if self.column.kind == "id" else texts


def _frame_cell(value: object, column: Column, number: bool) -> str | None:
    """The cell a file would have for this value; None for what can be neither an id nor a number."""
    if value is None or type(value).__name__ == "NAType" or value != value:
        return "" if column.empty else "nan" if number else None
    if isinstance(value, str):
        return value if number else escape(value)
    value = value.item() if isinstance(value, np.generic) else value
    whole = isinstance(value, int) and not isinstance(value, bool)
    return repr(value) if whole or (column.kind != "id" and isinstance(value, float)) else None


def match_columns(
    header: Sequence[str], file: str, columns: Sequence[Column], *, extra: bool = False, row: int | None = 1
) -> tuple[dict[str, int], list[Problem]]:
    """Where each column stands in the header, and what is wrong with it.

    The header is not quoted: in a file without one it is data. Columns that were not requested are a problem
    unless `extra`. `row` is None for the columns of a data frame, which has no header row.
    """
    # What separates the cells of a header that commas leave in one piece.
    others = [name for separator, name in SEPARATORS.items() if len(header) == 1 and separator in header[0]]
    if row is not None and others and len(columns) > 1:
        rule = "must have cells separated by commas (`blindcal import` reads such files of reviews)"
        return {}, [Problem(file, row, None, rule, f"{others[0]}s")]
    names = [cell.strip().casefold() for cell in header]
    index, problems, used = dict[str, int](), list[Problem](), set[int]()
    if (kind := _likely_kind(set(names), columns, extra, row)) is not None:
        problems.append(Problem(file, row, None, "must be the header of this table", kind))
    for column in columns:
        matches = [i for i, name in enumerate(names) if name in _spellings_of(column)]
        used.update(matches)
        if len(matches) == 1:
            index[column.name] = matches[0]
        elif matches:
            finding = f"{len(matches)} columns that mean it"
            problems.append(Problem(file, row, column.name, "must appear once", finding))
        elif column.required:
            also = f" (or {', '.join(column.synonyms)})" if column.synonyms else ""
            rule = "must be a column" if row is None else "must be in the header"
            problems.append(Problem(file, row, column.name, rule + also))
    if not extra and kind is None:
        rule = f"must be one of the known columns ({', '.join(column.name for column in columns)})"
        unknown = sorted(set(range(len(header))) - used)
        problems += [Problem(file, row, f"{i + 1}", rule) for i in unknown]
    return index, problems


def _likely_kind(names: set[str], columns: Sequence[Column], extra: bool, row: int | None) -> str | None:
    """What a header that does not fit these columns looks like instead, if that can be seen."""
    spellings = {column.name: _spellings_of(column) for column in columns}
    missing = [column.name for column in columns if column.required and not names & spellings[column.name]]
    if row is not None and missing and names.isdisjoint(set().union(*spellings.values())):
        return "none of its names: is there no header, or a line before it?"
    for kind, (needed, allowed) in _KINDS.items():
        fits = needed <= names and (allowed is None or names <= needed | allowed)
        if fits and (missing or not (extra or needed <= spellings.keys())):
            table = "file" if row is not None else "frame"
            return f"that of {kind}: is it the wrong {table}, or are two swapped?"
    return None


def _spellings_of(column: Column) -> set[str]:
    return {name.casefold() for name in (column.name, *column.synonyms)}


def decode_utf8(data: bytes, file: str) -> str:
    """The text of a UTF-8 file without its byte-order mark; anything else is refused by its byte offset."""

    def bad(offset: int, rule: str, found: str) -> InputError:
        return input_error([Problem(file, data.count(b"\n", 0, offset) + 1, None, rule, found)])

    utf_8 = "must be UTF-8 text (save as CSV UTF-8)"
    if len(data) > MAX_BYTES:
        rule = f"must have at most {MAX_BYTES:,} bytes"
        raise input_error([Problem(file, None, None, rule, f"{len(data):,}")])
    for mark, name in _FOREIGN:
        if data.startswith(mark):
            raise bad(0, utf_8, f"{name} from byte 0 on")
    if (nul := data.find(b"\0")) >= 0:
        raise bad(nul, "must have no NUL characters", f"one at byte {nul}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The decoder counts from after a byte-order mark; a user counts from the start of the file.
        offset = error.start + (len(data) - len(error.object))
        raise bad(offset, utf_8, f"byte 0x{data[offset]:02x} at byte {offset}") from None


def records(text: str, log: Problems, start: int = 0, separator: str = ",") -> Iterator[list[str]]:
    """The cells of each record; blank lines are allowed at the end only. The text starts at byte `start`.

    Where the text cannot be cut into cells any more, `log.torn` says why and the records end.
    """
    if "\n" not in text:
        text = text.replace("\r", "\n")
    if (lines := text.count("\n")) > MAX_LINES:
        log.torn = Problem(log.file, None, None, f"must have at most {MAX_LINES:,} lines", f"{lines:,}")
        return
    text = _without_blank_end(text)
    position, row, size = 0, 0, len(text)
    while position < size and log.torn is None:
        row += 1
        stop = text.find("\n", position)
        line = text[position:] if stop < 0 else text[position:stop]
        if '"' in line or "\r" in line[:-1]:
            cells, position = _quoted_record(text, position, row, log, start, separator)
        elif len(line) > MAX_COLUMNS and (width := line.count(separator) + 1) > MAX_COLUMNS:
            log.torn = _limit_problem(log.file, row, width, MAX_COLUMNS, "columns")
        else:
            cells, position = line.rstrip("\r").split(separator), position + len(line) + 1
        if log.torn is None and len(line) > MAX_CELL and (longest := max(map(len, cells))) > MAX_CELL:
            log.torn = _limit_problem(log.file, row, longest, MAX_CELL, "characters per cell")
        if log.torn is None:
            yield cells


def _without_blank_end(text: str) -> str:
    """The text without blank lines at its end; a line of empty cells is blank, as spreadsheets write it.

    >>> _without_blank_end("a,b\\n1,\\n , \\r\\n,\\n\\n")
    'a,b\\n1,'
    """
    end = len(text)
    while not text[(start := text.rfind("\n", 0, end) + 1) : end].strip(" \t\r,") and start:
        end = start - 1
    return text[:end].rstrip("\r")


def _limit_problem(file: str, row: int, size: int, most: int, what: str) -> Problem:
    return Problem(file, row, None, f"must have at most {most:,} {what}", f"{size:,}")


def _quoted_record(
    text: str, position: int, row: int, log: Problems, start: int, separator: str
) -> tuple[list[str], int]:
    cells: list[str] = []
    while match := _cell_pattern(separator).match(text, position):
        quoted, bare, ending = match.groups()
        cells.append(bare if quoted is None else quoted.replace('""', '"'))
        position = match.end()
        if len(cells) > MAX_COLUMNS:
            log.torn = _limit_problem(log.file, row, len(cells), MAX_COLUMNS, "columns")
        elif len(cells[-1]) > MAX_CELL:
            log.torn = _limit_problem(log.file, row, len(cells[-1]), MAX_CELL, "characters per cell")
        if log.torn or ending != separator:
            return cells, position
    cell = f"the cell that starts at byte {start + len(text[:position].encode())}"
    log.torn = Problem(log.file, row, f"{len(cells) + 1}", _quote_problem(text, position, separator), cell)
    return cells, position


@cache
def _cell_pattern(separator: str) -> re.Pattern[str]:
    """One cell, quoted or bare, and what must follow it. Possessive, so that no input makes it backtrack."""
    end = re.escape(separator)
    # Tab-separated text is often written without any quoting: a quote inside a cell is then just a quote.
    bare = rf"(?!\")[^{end}\r\n]*+" if separator == "\t" else rf'[^"{end}\r\n]*+'
    return re.compile(rf'(?:"((?:[^"]++|(?:"")++)*+)"|({bare}))({end}|\r?\n|\Z)')


def _quote_problem(text: str, position: int, separator: str) -> str:
    if text[position] != '"':
        stray = re.compile(r'["\r]').search(text, position)
        what = "carriage return" if stray is not None and stray.group() == "\r" else "quote"
        return f"must have no {what} inside a cell that is not quoted"
    if re.compile(r'"(?:[^"]++|(?:"")++)*+"').match(text, position) is None:
        return "must close its quote"
    return f"must have a {SEPARATORS[separator]} or a line end after the closing quote"


class Problems:
    """What is wrong with one file, all raised at once, and sooner where there is no end to it."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[Problem] = []
        self.torn: Problem | None = None

    def add(self, row: int | None, column: str | None, rule: str, found: str | None = None) -> None:
        self.extend([Problem(self.file, row, column, rule, found)])

    def extend(self, problems: Sequence[Problem]) -> None:
        self.found += problems
        if len(self.found) >= _MAX_PROBLEMS:
            self.finish()

    def finish(self) -> None:
        """Raise if there was any problem. What tore the file apart comes last, and always."""
        if self.found or self.torn:
            raise input_error(self.found, torn=self.torn)


def input_error(problems: Sequence[Problem], more: int = 0, torn: Problem | None = None) -> InputError:
    """The error that lists the first hundred problems of an input and what tore it apart, if anything did.

    Its text shows the first few of those that break one rule in one column, and counts all the rest.

    >>> rows = [Problem("r.csv", row, "score", "must be a number") for row in range(2, 9)]
    >>> print(input_error(rows, more=3))
    r.csv, row 2, column score: must be a number
    r.csv, row 3, column score: must be a number
    r.csv, row 4, column score: must be a number
    ... and 4 more rows with the same problem
    and 3 more problems
    """
    alike: dict[tuple[str, str | None, str], list[Problem]] = {}
    for problem in problems:
        alike.setdefault((problem.file, problem.column, problem.rule), []).append(problem)
    first = list(problems[:_SHOWN_PROBLEMS])
    listed = [group for group in alike.values() if group[0] in first]
    least = "at least " * (len(problems) >= _MAX_PROBLEMS)
    lines = [line for group in listed for line in _shown_problems(group, least)]
    if torn is not None:
        lines.append(str(torn))
    if more := more + len(problems) - sum(map(len, listed)):
        lines.append(f"and {least}{count(more, 'more problem')}")
    return InputError("\n".join(lines), first if torn is None else [*first, torn])


def _shown_problems(group: Sequence[Problem], least: str) -> list[str]:
    """The first few of the problems that break one rule, and how many more there are, `least` before it."""
    lines, left = [str(problem) for problem in group[:_SHOWN_ALIKE]], len(group) - _SHOWN_ALIKE
    if left <= 0:
        return lines
    rows = "" if group[0].row is None else " row" if left == 1 else " rows"
    return [*lines, f"... and {least}{left:,} more{rows} with the same problem"]


def format_table(columns: Mapping[str, Sequence[object] | NDArray[np.float64]]) -> bytes:
    """A table as comma-separated UTF-8, rows sorted from the first column on, with `\\n` line ends.

    A cell that a spreadsheet would run as a formula is escaped; `nan` is an empty cell.
    """
    values = [_written_values(name, column) for name, column in columns.items()]
    if len(set(map(len, values))) != 1:
        raise InputError(f"columns must have one length, found {[len(column) for column in values]}")
    rows = sorted(zip(*values, strict=True), key=_row_order)
    return encode_utf8("".join(f"{_csv_line(row)}\n" for row in [tuple(columns), *rows]))


def _written_values(name: str, column: Sequence[object] | NDArray[np.float64]) -> list[str | int | float]:
    plain = [value.item() if isinstance(value, np.generic) else value for value in column]
    bad = [v for v in plain if isinstance(v, bool) or not isinstance(v, str | int | float)]
    if bad:
        raise InputError(f"column {name} must hold text or numbers, found {type(bad[0]).__name__}")
    return [value for value in plain if isinstance(value, str | int | float)]


_natural = lru_cache(maxsize=_CACHED_IDS)(natural_key)


def _row_order(row: tuple[str | int | float, ...]) -> list[tuple[int, float, object]]:
    """Missing numbers, numbers by value, then text in its natural order."""
    return [
        (2, 0.0, _natural(v)) if isinstance(v, str) else (0, 0.0, 0) if v != v else (1, v, 0) for v in row
    ]


def _csv_line(row: tuple[str | int | float, ...]) -> str:
    first, *rest = (_text_cell(v) if isinstance(v, str) else "" if v != v else number_text(v) for v in row)
    # A row with nothing in it would count as a blank line.
    blank = not "".join((first, *rest)).strip()
    return ",".join([f'"{first}"' if blank else first, *rest])


@lru_cache(maxsize=_CACHED_IDS)
def _text_cell(value: str) -> str:
    return quote_cell(escape(value))


def quote_cell(cell: str) -> str:
    """A cell, in quotes if it needs them.

    So does one with a semicolon or a tab: a spreadsheet of another country may split it there, and run what
    follows.

    >>> quote_cell("x;=1+1"), quote_cell('a "b" c'), quote_cell("plain")
    ('"x;=1+1"', '"a ""b"" c"', 'plain')
    """
    return '"' + cell.replace('"', '""') + '"' if re.search(r'[",;\t\r\n]', cell) else cell


def encode_utf8(text: str) -> bytes:
    """`text` as UTF-8."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InputError("text must be valid Unicode, found half a surrogate pair") from None


def data_frame(columns: Mapping[str, object]) -> Any:
    """A pandas data frame of these columns, each a list or an array of one dimension."""
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise InputError("a data frame needs pandas: pip install pandas") from None
    return pandas.DataFrame(dict(columns))


def long_frame(values: Mapping[str, object], *axes: str) -> Any:
    """One row for each entry of arrays that share a shape.

    The last axes have these names; those before them are instances, numbered in a column `instance`.

    >>> long_frame({"accept": np.array([[1.0, 0.0]])}, "secret").to_dict("list")
    {'instance': [0, 0], 'secret': [0, 1], 'accept': [1.0, 0.0]}
    >>> long_frame({"accept": np.array([1.0, 0.0])}, "secret").to_dict("list")
    {'secret': [0, 1], 'accept': [1.0, 0.0]}
    """
    arrays = np.broadcast_arrays(*(np.asarray(value) for value in values.values()))
    shape = arrays[0].shape
    lead = len(shape) - len(axes)
    names = [*(["instance"] if lead else []), *axes]
    sizes = [*([int(np.prod(shape[:lead]))] if lead else []), *shape[lead:]]
    index = np.indices(sizes).reshape(len(sizes), -1)
    columns: dict[str, object] = dict(zip(names, index, strict=True))
    columns |= {name: array.ravel() for name, array in zip(values, arrays, strict=True)}
    return data_frame(columns)
