"""The public table of decisions as one row per paper: its decision, title, and whether it was overridden."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from blindcal.cells import Column
from blindcal.errors import InputError, Problem
from blindcal.io.atomic_files import read_bytes, read_table
from blindcal.io.tables import input_error, parse_table

DECISIONS = ("accept", "reject")
WAITING = "wait list"
_FOUND = (*DECISIONS, WAITING)
_RAW = (*DECISIONS, "tie")
_ADVICE = ("raise", "leave", "lower", *_FOUND)


@dataclass(frozen=True)
class DecidedPaper:
    """One paper as it goes out."""

    paper: str  # its id, as in the reviews
    decision: str  # `accept`, `reject` or `wait list`
    # What its mean score alone says, `accept`, `reject` or `tie`; empty if scores are confidential and the
    # table is the public one
    raw_decision: str
    # How to get from there to the decision: `raise`, `leave` or `lower`; at a tie, the decision; empty in the
    # same case
    advice: str
    title: str = ""  # empty if it is not known
    overridden: bool = False  # whether the decision is the chair's and not blindcal's
    track: str = ""  # empty if it is not known
    wait_list: str = ""  # its rank there, as text; empty if it has none


def read_decided(
    release: str | os.PathLike[str],
    titles: str | os.PathLike[str] | None = None,
    overridden: Mapping[str, str] | None = None,
) -> tuple[DecidedPaper, ...]:
    """The papers of a release, in the order of its table.

    `release`: a folder with a `decisions.csv`, or the table itself. `overridden`: decisions made by hand, by
    paper, as `parse_overrides` returns them: they take the place of blindcal's.
    """
    folder = Path(release)
    file = folder / "decisions.csv" if folder.is_dir() else folder
    return decided_of(read_bytes(file), str(file), titles, overridden)


def decided_of(
    data: bytes,
    file: str,
    titles: str | os.PathLike[str] | None = None,
    overridden: Mapping[str, str] | None = None,
) -> tuple[DecidedPaper, ...]:
    """The papers in the `data` of a table of decisions, a `file`; see `read_decided`."""
    table = parse_table(
        data,
        file,
        [
            Column("paper", "id"),
            Column("decision", choices=_FOUND),
            Column("raw_decision", choices=_RAW, required=False),
            Column("advice", choices=_ADVICE, required=False),
            Column("track", "id", required=False, empty=True),
            Column("wait_list", required=False, empty=True),
        ],
        extra=True,
    )
    papers = table.text("paper")
    first = {paper: index for index, paper in reversed([*enumerate(papers)])}
    twice = [row for index, row in enumerate(table.rows) if first[papers[index]] != index]
    if twice:
        raise input_error([Problem(table.file, row, "paper", "must not be listed twice") for row in twice])
    by_hand = dict(overridden or {})
    if unknown := sorted(by_hand.keys() - {*papers}):
        raise InputError(f"`overridden`: paper {unknown[0]!r} is not in {table.file}")
    names = {} if titles is None else read_titles(titles)
    columns = ("decision", "raw_decision", "advice", "track", "wait_list")
    cells = (table.text(name) if name in table else ("",) * len(papers) for name in columns)
    decided = (
        DecidedPaper(paper, decision, raw, advice, names.get(paper, ""), track=track, wait_list=index)
        for paper, decision, raw, advice, track, index in zip(papers, *cells, strict=True)
    )
    return tuple(
        replace(one, decision=by_hand[one.paper], overridden=True, wait_list="")
        if one.paper in by_hand
        else one
        for one in decided
    )


def read_titles(path: str | os.PathLike[str]) -> dict[str, str]:
    """Titles by paper; `path` is a table with the columns `paper,title`."""
    table = read_table(path, [Column("paper", "id"), Column("title", empty=True)], extra=True)
    return dict(zip(table.text("paper"), table.text("title"), strict=True))


def parse_overrides(given: Iterable[str]) -> dict[str, str]:
    """Decisions made by hand, by paper."""
    decisions: dict[str, str] = {}
    for text in given:
        paper, _, decision = text.rpartition("=")
        if not paper or decision not in DECISIONS:
            raise InputError(f"`overridden` must be like 17=accept or 17=reject, found {text!r}")
        if decisions.setdefault(paper, decision) != decision:
            raise InputError(f"`overridden` must give one decision for paper {paper!r}")
    return decisions
