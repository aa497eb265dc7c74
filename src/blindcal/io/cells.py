"""What one cell of a file may hold, and the rule that a bad one breaks ("must be a number").

Ids stay as they are written (but `1.0` is 1 in a column of whole numbers), numbers have one grammar, and text
that a spreadsheet would run is escaped reversibly. The same rules hold for the cells of data frames.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

MAX_ID = 200
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DIGITS = re.compile(r"([0-9]+)")
_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    rf"[0-9]{{1,4}}[-/. ](?:{_MONTH}|[0-9]{{1,2}})[-/. ][0-9]{{1,4}}"
    rf"|[0-9]{{1,4}}[-/. ]{_MONTH}|{_MONTH}[-/. ][0-9]{{1,4}}"
)
# What people write in place of a number, and the rule that it breaks.
_OTHER_NUMBERS = {
    re.compile(r"[0-9_]*_[0-9_]*"): "must be a number without underscores",
    re.compile(
        r"[0-9]+(?:,[0-9]+)++(?:\.[0-9]+)?"
    ): "must be a number with a point for decimals and no commas",
    re.compile(r"0[xob][0-9a-f]+"): "must be a decimal number",
    re.compile(r"[0-9.,]+ ?%"): "must be a number without a percent sign",
    _DATE: "must be a number, not a date (a spreadsheet may have made one of it)",
    re.compile(r"[0-9]+(?:\.[0-9]+)? ?[ :=(/].*", re.DOTALL): "must be a number alone, with nothing after it",
}
_WHOLE_ID = re.compile(r"([0-9]+)(?:\.0+)?")
_EMAIL = re.compile(r"[^\s@/]+@[^\s@/]+\.[^\s@/]+")
_NUMBER_WORDS = {"nan", "inf", "infinity", "na", "n/a", "none", "null"}

# A spreadsheet may run a cell that starts with one of these (the last four are full-width = + - @).
_RISKY = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
Kind = Literal["id", "text", "number", "integer"]

# The rule that is broken, and what stands there instead if that can be said without quoting the cell.
Violation = tuple[str, str | None]


@dataclass(frozen=True)
class Column:
    """What a column must hold.

    `id` is short text without spaces at its ends or invisible characters, kept as it is written: `007` is not
    `7`, `NA` is an id; only emails become lower case, letters with accents single characters, and `1.0` is
    `1` where all ids are whole. `text` is any text. Numbers have one grammar (`-1`, `2.5`, `1e-3`); `empty`
    allows missing cells (`nan`, or an empty text), `infinite` allows the word `inf`.
    No cell of a table that has a `secret` column is ever quoted in a message.
    """

    name: str
    kind: Kind = "text"
    required: bool = True
    synonyms: tuple[str, ...] = ()
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    empty: bool = False
    infinite: bool = False
    secret: bool = False


def cell_problem(cell: str, column: Column) -> Violation | None:
    """The rule that `cell` breaks in `column`, or None."""
    if not cell:
        return None if column.empty else ("must not be empty", "nothing")
    if column.kind in ("number", "integer"):
        return _number_problem(cell, column)
    text = unescape(cell)
    if column.choices and text not in column.choices:
        return f"must be one of {', '.join(column.choices)}", None
    return id_problem(text) if column.kind == "id" else None


def _number_problem(cell: str, column: Column) -> Violation | None:
    if column.infinite and cell == "inf":
        return None
    if not _NUMBER.fullmatch(cell):
        return _not_a_number(cell)
    value = float(cell)
    if math.isinf(value):
        return "must be a number below 1e308 in size", None
    if column.kind == "integer" and value != math.floor(value):
        return "must be a whole number", None
    if not column.low <= value <= column.high:
        return f"must lie in [{column.low:g}, {column.high:g}]", None
    return None


def _not_a_number(cell: str) -> Violation:
    bare = cell.strip().lower().lstrip("+-")
    if cell != cell.strip():
        return "must not start or end with a space", None
    if bare in _NUMBER_WORDS:
        return "must be a finite number", repr(bare)
    return next(
        (rule for shape, rule in _OTHER_NUMBERS.items() if shape.fullmatch(bare)), "must be a number"
    ), None


def id_problem(text: str) -> Violation | None:
    """The rule that `text` breaks as an id, or None.

    >>> id_problem("007"), id_problem("NA"), id_problem(" 7")
    (None, None, ('must not start or end with a space', None))
    """
    if not text:
        return "must not be empty", "nothing"
    if text != text.strip():
        return "must not start or end with a space", None
    if len(text) > MAX_ID:
        return f"must have at most {MAX_ID} characters", f"{len(text):,}"
    if text.isascii() and text.isprintable():
        return None
    for character in text:
        if unicodedata.category(character) in _INVISIBLE:
            return "must have no invisible characters", f"U+{ord(character):04X}"
    return None


def cell_value(cell: str, column: Column) -> str | float:
    """What a cell without a problem holds; a missing number is `nan`."""
    if column.kind in ("number", "integer"):
        return float(cell) if cell else math.nan
    return normalize_id(unescape(cell)) if column.kind == "id" else unescape(cell)


def normalize_id(text: str) -> str:
    """The id that `text` stands for: an email in lower case, as its capitals mean nothing; others as is.

    Letters with accents are single characters (Unicode's NFC): some systems store a letter and an accent.

    >>> normalize_id("Ada@Example.EDU"), normalize_id("Ada Byron"), normalize_id("Zoe\u0308") == "Zoë"
    ('ada@example.edu', 'Ada Byron', True)
    """
    text = text if text.isascii() else unicodedata.normalize("NFC", text)
    return text.lower() if "@" in text and text.isascii() and _EMAIL.fullmatch(text) else text


def whole_ids(ids: Sequence[str]) -> tuple[str, ...]:
    """The ids of a column; if all are whole numbers, those that a spreadsheet made `1.0` are `1` again.

    >>> whole_ids(["1.0", "2", "10.00"]), whole_ids(["1.0", "1.5"]), whole_ids(["1.0", "A"])
    (('1', '2', '10'), ('1.0', '1.5'), ('1.0', 'A'))
    """
    distinct = {*ids} - {""}
    matches = {name: _WHOLE_ID.fullmatch(name) for name in distinct}
    if not all(matches.values()) or all(map(str.isdecimal, distinct)):
        return tuple(ids)
    whole = {name: match[1] for name, match in matches.items() if match is not None}
    return tuple(whole.get(name, name) for name in ids)


def escape(text: str) -> str:
    """`text` with an apostrophe in front where a spreadsheet might run it; `unescape` takes it off."""
    return "'" + text if text.startswith((*_RISKY, "'")) else text


def unescape(cell: str) -> str:
    """The text of a cell that `escape` wrote; a cell it cannot have written is left as it is."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith((*_RISKY, "'")) else cell


def number_text(value: float) -> str:
    """A number by its value: the shortest text that reads back equal, `3` and not `3.0`.

    >>> number_text(3.0), number_text(0.1), number_text(-0.0), number_text(math.inf)
    ('3', '0.1', '0', 'inf')
    """
    if not math.isfinite(value) or value != math.floor(value):
        return repr(float(value))
    return str(int(value))


def count(number: int, thing: str) -> str:
    """How many there are of something, as a person writes it."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def natural_key(text: str) -> tuple[tuple[str | int, ...], str]:
    """The key that sorts ids as a person would: numbers in them by value. No two ids are equal."""
    parts: list[str | int] = [*_DIGITS.split(text)]
    parts[1::2] = map(int, parts[1::2])
    return tuple(parts), text


def natural_sorted(ids: Iterable[str]) -> list[str]:
    """Ids sorted by `natural_key`."""
    return sorted(ids, key=natural_key)


def loose_id(text: str) -> str:
    """An id without what is easily written in two ways: capital letters, spaces, leading zeros, a final `.0`.

    >>> loose_id("P 02"), loose_id("p2"), loose_id("7.0"), loose_id("10")
    ('p2', 'p2', '7', '10')
    """
    bare = "".join(unicodedata.normalize("NFKC", text).casefold().split())
    return re.sub(r"(?<![0-9.])0+(?=[0-9])", "", re.sub(r"(?<=[0-9])\.0+$", "", bare))
