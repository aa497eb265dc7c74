"""A header row -> where each wanted column stands, or what the file seems to be instead."""

from __future__ import annotations

from collections.abc import Sequence

from blindcal.cells import Column
from blindcal.errors import Problem

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
"""What may separate cells, by its name."""

# The tables of a conference by the columns that they must have, and may have (None: any).
_KINDS: dict[str, tuple[set[str], set[str] | None]] = {
    "the reviewers' calibration": ({"slope", "offset", "noise"}, None),
    "the reviews": ({"paper", "reviewer", "score"}, None),
    "the conflicts": ({"paper", "conflict"}, set()),
    "the pools": ({"paper", "reviewer"}, {"probability", "draw"}),
}


def match_columns(
    header: Sequence[str], file: str, columns: Sequence[Column], *, extra: bool = False
) -> tuple[dict[str, int], list[Problem]]:
    """Where each column stands in the header, and what is wrong with it.

    The header is not quoted: in a file without one it is data. Columns that were not requested are a problem
    unless `extra`.

    >>> match_columns(["Score", "paper"], "x.csv", [Column("paper"), Column("score")])
    ({'paper': 1, 'score': 0}, [])
    """
    if (separator := _other_separator(header)) is not None and len(columns) > 1:
        rule = "must have cells separated by commas (`blindcal import` reads such files of reviews)"
        return {}, [Problem(file, 1, None, rule, separator)]
    names = [cell.strip().casefold() for cell in header]
    place, problems, used = dict[str, int](), list[Problem](), set[int]()
    if (likely := _likely(set(names), columns, extra)) is not None:
        problems.append(Problem(file, 1, None, "must be the header of this table", likely))
    for column in columns:
        found = [index for index, name in enumerate(names) if name in _spellings(column)]
        used.update(found)
        if len(found) == 1:
            place[column.name] = found[0]
        elif found:
            what = f"{len(found)} columns that mean it"
            problems.append(Problem(file, 1, column.name, "must appear once", what))
        elif column.required:
            also = f" (or {', '.join(column.synonyms)})" if column.synonyms else ""
            problems.append(Problem(file, 1, column.name, f"must be in the header{also}"))
    if not extra and likely is None:
        rule = f"must be one of the known columns ({', '.join(column.name for column in columns)})"
        unknown = sorted(set(range(len(header))) - used)
        problems += [Problem(file, 1, f"{index + 1}", rule) for index in unknown]
    return place, problems


def _spellings(column: Column) -> set[str]:
    return {name.casefold() for name in (column.name, *column.synonyms)}


def _likely(names: set[str], columns: Sequence[Column], extra: bool) -> str | None:
    """What a header that does not fit these columns looks like instead, if that can be seen."""
    spellings = {column.name: _spellings(column) for column in columns}
    missing = [column.name for column in columns if column.required and not names & spellings[column.name]]
    if missing and names.isdisjoint(set().union(*spellings.values())):
        return "none of its names: is there no header, or a line before it?"
    for kind, (these, others) in _KINDS.items():
        fits = these <= names and (others is None or names <= these | others)
        if fits and (missing or not (extra or these <= spellings.keys())):
            return f"that of {kind}: is it the wrong file, or are two swapped?"
    return None


def _other_separator(header: Sequence[str]) -> str | None:
    """What separates the cells of a header that commas leave in one piece, if anything does."""
    names = [name for separator, name in SEPARATORS.items() if separator in header[0]]
    return f"{names[0]}s" if len(header) == 1 and names else None
