"""The committee: who is on it, who is the same person under another id, and the rows that a fit writes."""

from __future__ import annotations

import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations

from blindcal.cells import Column
from blindcal.checks import Array
from blindcal.errors import Problem
from blindcal.io.atomic_files import read_table
from blindcal.io.tables import input_error

ANYONE = "*"
FIELDS = ("slope", "offset", "noise", "slope_se", "offset_se", "correlation", "noise_se")

# Numbers are written to this many digits: more would be false precision, and would name a fit exactly.
_DIGITS = 6


def read_committee(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """The people who may have reviewed, each once, in the order of the file.

    Args:
        path: A table `reviewer[,track]`, with a row for each person, or for each person and track.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder) / "committee.csv"
        ...     _ = path.write_text("reviewer,track\\nben,main\\nada,main\\nben,short\\n")
        ...     read_committee(path)
        ('ben', 'ada')
    """
    columns = [Column("reviewer", "id", secret=True), Column("track", "id", required=False, empty=True)]
    table = read_table(path, columns)
    names = table.text("reviewer")
    tracks = table.text("track") if "track" in table else ("",) * len(names)
    problems, seen = _star_problems(table.file, table.rows, names), set[tuple[str, str]]()
    for row, entry in zip(table.rows, zip(names, tracks, strict=True), strict=True):
        if entry in seen:
            problems.append(Problem(table.file, row, "reviewer", "must not be listed twice"))
        seen.add(entry)
    if problems:
        raise input_error(problems)
    return tuple(dict.fromkeys(names))


def _star_problems(file: str, rows: Iterable[int], names: Sequence[str]) -> list[Problem]:
    rule = "must be a person: * is written by the fit itself"
    return [
        Problem(file, row, "reviewer", rule) for row, name in zip(rows, names, strict=True) if name == ANYONE
    ]


def read_aliases(path: str | os.PathLike[str]) -> dict[str, str]:
    """The present id of everyone who had another, by old id.

    Chains of changes are followed; no id may become two, or come back to itself.

    Args:
        path: A table `old,new`.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder) / "same.csv"
        ...     _ = path.write_text("old,new\\nada@x.org,ada@y.org\\nada@y.org,ada@z.org\\n")
        ...     read_aliases(path)
        {'ada@x.org': 'ada@z.org', 'ada@y.org': 'ada@z.org'}
    """
    table = read_table(path, [Column("old", "id", secret=True), Column("new", "id", secret=True)])
    pairs = dict[str, str]()
    problems = []
    for row, old, new in zip(table.rows, table.text("old"), table.text("new"), strict=True):
        if old in pairs:
            problems.append(Problem(table.file, row, "old", "must not be listed twice"))
        pairs.setdefault(old, new)
    if problems:
        raise input_error(problems)
    return {old: _present_id(old, pairs, table.file) for old in pairs}


def _present_id(old: str, pairs: Mapping[str, str], file: str) -> str:
    """The id that a chain of changes ends at."""
    name, seen = old, {old}
    while name in pairs:
        name = pairs[name]
        if name in seen:
            raise input_error(
                [Problem(file, None, "new", "must not lead back to an older id of the same person")]
            )
        seen.add(name)
    return name


def similar_names(names: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of different ids that may be one person. They are only reported, never merged.

    They are equal up to case, accents, signs and the order of words, or have an initial for a first name, or
    the same name at two mail addresses.

    Args:
        names: All ids.

    Returns:
        The pairs, sorted.

    Example:
        >>> people = ["Kurt Gödel", "Godel, Kurt", "K. Gödel", "Ada", "ada@x.org", "ada@y.org", "r1", "r2"]
        >>> similar_names(people)
        [('Godel, Kurt', 'K. Gödel'), ('Godel, Kurt', 'Kurt Gödel'), ('K. Gödel', 'Kurt Gödel'), \
        ('ada@x.org', 'ada@y.org')]
    """
    alike = defaultdict[tuple[str, ...], set[str]](set)
    for name in names:
        for key in _keys(name):
            alike[key].add(name)
    pairs = {pair for group in alike.values() for pair in permutations(group, 2)}
    return sorted(pair for pair in pairs if _may_be_one_person(*pair))


def _may_be_one_person(one: str, other: str) -> bool:
    """Each pair once; and two full first names that share an initial are two people."""
    first, second = _words(one), _words(other)
    initials = any(len(word) == 1 for word in (*first, *second))
    mails = "@" in one and "@" in other
    return one < other and (initials or mails or sorted(first) == sorted(second))


def _keys(name: str) -> list[tuple[str, ...]]:
    if "@" in name:
        return [("mail", name.split("@")[0].casefold())]
    words = _words(name)
    keys = [("words", *sorted(words))]
    if len(words) > 1 and not any(character.isdigit() for character in name):
        last, first = (words[0], words[1]) if "," in name else (words[-1], words[0])
        keys.append(("initial", first[0], last))
    return keys


def _words(name: str) -> list[str]:
    letters = [c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c)]
    return re.findall(r"[^\W_]+", "".join(letters).casefold()) or [name]


def calibration_rows(names: Sequence[str], parameters: Array) -> dict[str, tuple[float, ...]]:
    """The roster as `read_reviewers` would read it: for each name the numbers of `FIELDS`."""
    return {
        name: tuple(float(f"{value:.{_DIGITS}g}") for value in column)
        for name, column in zip(names, parameters.T, strict=True)
    }
