"""Bad tables of reviews, made by rule: one broken rule a family, at a place known to the test.

Every family takes a good table (header and rows of plain cells) and a generator, and returns the bytes of a
bad file with what the reader must say about it. `write` is independent of the package's own writer.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from random import Random
from typing import NamedTuple

Rows = list[list[str]]


class Bad(NamedTuple):
    """A bad file, and the rule, row, column and byte offset that must be named."""

    data: bytes
    rule: str
    row: int | None = None
    column: str | None = None
    offset: int | None = None


Family = Callable[[Rows, Random], Bad]
FAMILIES: dict[str, Family] = {}


def family(make: Family) -> Family:
    FAMILIES[make.__name__] = make
    return make


def good_rows(rng: Random) -> Rows:
    """A header and 4 to 40 reviews with no two of one pair; columns in any order."""
    header = ["paper", "reviewer", "score"]
    if rng.random() < 0.5:
        header.append("comment")
    rng.shuffle(header)
    pairs = rng.sample([(p, r) for p in range(10) for r in range(12)], rng.randint(4, 40))
    cells = {"score": "", "paper": "", "reviewer": "", "comment": ""}
    rows = [header]
    for paper, reviewer in pairs:
        cells.update(
            paper=f"P{paper:03d}", reviewer=rng.choice(["r{}", "Rev {}, PhD", "'=r{}"]).format(reviewer)
        )
        cells.update(score=str(rng.randint(-3, 10)), comment=rng.choice(["", "fine", 'so "so"', "a\nb"]))
        rows.append([cells[name] for name in header])
    # One reviewer has one spelling, whatever row it is on.
    place = header.index("reviewer")
    spelling: dict[str, str] = {}
    for row in rows[1:]:
        digits = "".join(c for c in row[place] if c.isdigit())
        row[place] = spelling.setdefault(digits, row[place])
    return rows


def write(rows: Rows, rng: Random) -> bytes:
    end = rng.choice(["\n", "\r\n"])
    text = io.StringIO()
    csv.writer(text, lineterminator=end, quoting=rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])).writerows(
        rows
    )
    return (b"\xef\xbb\xbf" if rng.random() < 0.3 else b"") + text.getvalue().encode()


SPELLINGS = {
    "paper": {"paper", "paperid", "item", "task"},
    "reviewer": {"reviewer", "personid", "rater", "worker"},
    "score": {"score", "label", "rating"},
}


def at(rows: Rows, name: str) -> int:
    return next(i for i, cell in enumerate(rows[0]) if cell.lower() in SPELLINGS[name])


def one_cell(name: str, cells: list[str], rule: str) -> Family:
    def make(rows: Rows, rng: Random) -> Bad:
        row = rng.randrange(1, len(rows))
        rows[row][at(rows, name)] = rng.choice(cells)
        return Bad(write(rows, rng), rule, row + 1, name)

    return make


CELLS = {
    "empty_score": ("score", [""], "must not be empty"),
    "not_finite": (
        "score",
        ["nan", "inf", "-Infinity", "NA", "null", "N/A", "+NaN"],
        "must be a finite number",
    ),
    "underscores": ("score", ["1_000", "_1", "1_"], "without underscores"),
    "decimal_comma": ("score", ["1,5", "1,000", "-3,25", "1,000.5"], "no commas"),
    "other_bases": ("score", ["0x10", "0b11", "0o7"], "decimal number"),
    "words": (
        "score",
        ["good", "4: accept", "3 good", "1e", "--1", "1-2", ".", "e5", "1.2.3"],
        "must be a number",
    ),
    "foreign_digits": ("score", ["\u0663", "\uff13", "\u00b2", "\u2212 1", "\u22121"], "must be a number"),
    "too_large": ("score", ["1e999", "-1e400", "9" * 400], "below 1e308"),
    "spaced_score": ("score", [" 1", "1 ", "\t2", "3\u00a0", "4\n"], "start or end with a space"),
    "empty_paper": ("paper", [""], "must not be empty"),
    "empty_reviewer": ("reviewer", [""], "must not be empty"),
    "spaced_id": ("reviewer", [" ada", "ada ", "\tada", "ada\n", "\u00a0bo"], "start or end with a space"),
    "invisible_id": (
        "paper",
        ["a\u200bb", "a\u202eb", "a\x07b", "a\x1b[2Jb", "a\nb", "a\ufeffb", "a\u2028b", "a\ue000b"],
        "invisible",
    ),
    "long_id": ("paper", ["p" * 201, "\u00e9" * 5_000], "at most 200 characters"),
}
for key, (name, cells, rule) in CELLS.items():
    FAMILIES[key] = one_cell(name, cells, rule)


@family
def repeated_pair(rows: Rows, rng: Random) -> Bad:
    first, second = sorted(rng.sample(range(1, len(rows) + 1), 2))
    copy = list(rows[first])
    rows.insert(second, copy)
    copy[at(rows, "score")] = "2"
    if second == first:
        second += 1
    rule = f"must not repeat an earlier row's paper and reviewer, found row {first + 1}'s"
    return Bad(write(rows, rng), rule, second + 1, "reviewer")


@family
def cells_missing_or_added(rows: Rows, rng: Random) -> Bad:
    row = rng.randrange(1, len(rows))
    rows[row] = rows[row][:-1] if rng.random() < 0.5 else [*rows[row], "more"]
    return Bad(write(rows, rng), f"must have {len(rows[0])} cells", row + 1)


@family
def blank_line(rows: Rows, rng: Random) -> Bad:
    row = rng.randrange(1, len(rows))
    rows.insert(row, [])
    return Bad(write(rows, rng), f"must have {len(rows[0])} cells", row + 1)


def splice(rows: Rows, rng: Random, cell: str, rule: str) -> Bad:
    """Put raw text where one cell stood: the csv module cannot be made to write it."""
    row, name = rng.randrange(1, len(rows)), rng.choice(["paper", "reviewer", "score"])
    rows[row][at(rows, name)] = "\x01"
    data = write(rows, rng).replace(b'"\x01"', b"\x01")
    offset = data.index(b"\x01")
    return Bad(data.replace(b"\x01", cell.encode()), rule, row + 1, str(at(rows, name) + 1), offset)


@family
def unclosed_quote(rows: Rows, rng: Random) -> Bad:
    rows = [[cell.replace('"', "") for cell in row] for row in rows]
    bad = splice(rows, rng, '"open', "must close its quote")
    # Every later quote must be gone, or the next one closes this cell.
    start = bad.data.index(b'"open') + 1
    return bad._replace(data=bad.data[:start] + bad.data[start:].replace(b'"', b""))


SPLICED = {
    "text_after_quote": (['"a"b', '"a" ', '"a"b"'], "after the closing quote"),
    "quote_in_bare_cell": (['a"b', 'a"b"', ' "a"', "a\"'"], "no quote inside a cell"),
    "bare_carriage_return": (["a\rb"], "no carriage return inside a cell"),
}
for key, (cells, rule) in SPLICED.items():
    FAMILIES[key] = lambda rows, rng, c=cells, r=rule: splice(rows, rng, rng.choice(c), r)


def bytes_at(rows: Rows, rng: Random, wrong: bytes, rule: str) -> Bad:
    data = write([[cell.replace("\n", " ") for cell in row] for row in rows], rng)
    offset = rng.randrange(3, len(data) + 1)
    while offset < len(data) and data[offset] & 0xC0 == 0x80:
        offset += 1
    return Bad(data[:offset] + wrong + data[offset:], rule, data.count(b"\n", 0, offset) + 1, None, offset)


NO_TEXT = {
    "not_utf8": ([b"\xff", b"\xe9,", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf5"], "UTF-8"),
    "nul": ([b"\0"], "NUL"),
}
for key, (wrong, rule) in NO_TEXT.items():
    FAMILIES[key] = lambda rows, rng, w=wrong, r=rule: bytes_at(rows, rng, rng.choice(w), r)


@family
def other_format(rows: Rows, rng: Random) -> Bad:
    text = write(rows, rng).decode("utf-8-sig")
    data = rng.choice(
        [text.encode("utf-16"), b"\xfe\xff" + text.encode("utf-16-be"), b"PK\x03\x04zip", b"\x1f\x8bgz"]
    )
    return Bad(data, "must be UTF-8 text", 1, None, 0)


@family
def column_missing(rows: Rows, rng: Random) -> Bad:
    name = rng.choice(["paper", "reviewer", "score"])
    rows[0][at(rows, name)] = rng.choice(["", "papper", "x", "score2"])
    return Bad(write(rows, rng), "must be in the header", 1, name)


@family
def column_twice(rows: Rows, rng: Random) -> Bad:
    name = rng.choice(sorted(SPELLINGS))
    again = rng.choice(sorted(SPELLINGS[name]))
    return Bad(
        write([[again, *rows[0]], *(["1", *row] for row in rows[1:])], rng), "must appear once", 1, name
    )


@family
def other_separator(rows: Rows, rng: Random) -> Bad:
    text = io.StringIO()
    csv.writer(text, delimiter=rng.choice([";", "\t", "|"]), lineterminator="\n").writerows(rows)
    return Bad(text.getvalue().encode(), "must have cells separated by commas", 1)


@family
def nothing_to_read(rows: Rows, rng: Random) -> Bad:
    if rng.random() < 0.5:
        return Bad(rng.choice([b"", b"\n", b"\r\n\r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"]), "header row", 1)
    return Bad(write(rows[:1], rng), "at least one row", 2)


@family
def beyond_limits(rows: Rows, rng: Random) -> Bad:
    row = rng.randrange(1, len(rows))
    if rng.random() < 0.5:
        rows[row] = rows[row] + ["x"] * 1_000
        return Bad(write(rows, rng), "at most 1,000 columns", row + 1)
    rows[0] = [*rows[0], "note"]
    rows[1:] = [[*cells, "n"] for cells in rows[1:]]
    rows[row][-1] = "n" * 100_001
    return Bad(write(rows, rng), "at most 100,000 characters", row + 1)


@family
def no_header(rows: Rows, rng: Random) -> Bad:
    return Bad(write(rows[1:], rng), "must be in the header", 1, rng.choice(["paper", "reviewer", "score"]))
