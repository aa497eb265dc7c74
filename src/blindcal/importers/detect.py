"""Import of any export: the format is recognized from the content, never from the file's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol

import blindcal.importers.cmt as cmt
import blindcal.importers.easychair as easychair
import blindcal.importers.hotcrp as hotcrp
import blindcal.importers.openreview as openreview
import blindcal.importers.plain_table as plain_table
import blindcal.importers.pretalx as pretalx
from blindcal.errors import InputError
from blindcal.importers.normalize import Imported, gather
from blindcal.importers.open import open_export
from blindcal.importers.raw_export import Choices, RawExport, export_error
from blindcal.importers.sheet import (
    MixedListError,
    OpenedExport,
    find_tables,
    json_cell,
    json_objects,
    json_pages,
)


class _Format(Protocol):
    """What a system's module has: its name for options and for people, and how its exports are read.

    `recognize` says in words what kind of export it is, by its content, or None; `read` takes everything as
    text, and checks nothing but the form.
    """

    NAME: str
    TITLE: str

    def recognize(self, opened: OpenedExport, choices: Choices) -> str | None: ...

    def read(self, opened: OpenedExport, choices: Choices) -> RawExport: ...


_SYSTEMS: tuple[_Format, ...] = (openreview, hotcrp, cmt, easychair, pretalx)
FORMATS: Mapping[str, _Format] = {module.NAME: module for module in (*_SYSTEMS, plain_table)}
_TITLES = ", ".join(module.TITLE for module in _SYSTEMS)

_AGGREGATES = (
    "must have a row for each review: this table has only averages for each paper, which cannot be "
    "calibrated. Save the reviews themselves (docs/reference/systems.md says how)"
)
_SUBMISSIONS = (
    "must hold reviews: this is the list of submissions. Export the reviews; --as statuses takes from CMT's "
    "list of submissions which papers are withdrawn, desk rejected or decided already"
)
_PEOPLE = "must hold reviews: this is a list of people or assignments. Export the reviews instead"
_ASSIGNMENT = (
    "must hold reviews: this is a bulk assignment. Export the reviews; --as conflicts takes the conflicts "
    "among its rows"
)
_TEAMS = "must hold reviews: this is pretalx's list of teams, for --as committee or `map`. Export the reviews"
_MAP = "must hold reviews: this says who is behind ids, for `map` beside the reviews. Export the reviews"
_LIST = "must hold reviews: this is a list of {}. Export the reviews"
_PAIRS = (
    "must hold reviews: this lists papers and people. Give --as conflicts if these cannot have reviewed, or "
    "give --as pools if these are all who may have reviewed. Pools must never be made from who did review"
)
_MIXED = "must have nothing but objects in a list of reviews or notes"
_NAMELESS = (
    "must say who the reviewers are: there is no column for them. Export as a chair who may see reviewers' "
    "names, or name the column with `columns` reviewer=..."
)
_SCORELESS = (
    "must hold scores: this table has papers and reviewers, and no column of scores that is recognized. Is "
    "it the pools or the assignment? Otherwise name the column with `columns` score=..."
)
_UNKNOWN = (
    f"must be an export that is recognized ({_TITLES}) or a table whose columns are named with "
    "`columns` paper=...,reviewer=...,score=...; or, if it is a list of people with one row for each, give "
    "--as committee"
)
_AVERAGES = {f"{word} {what}" for word in ("average", "avg", "mean") for what in ("rating", "score")}
_AVERAGES |= {"min rating", "max rating", "num submitted reviewers"}
_TOTALS = {"average total score", "avg. score", "total score"}
_PAPER = {"paper", "paper id", "paper_id", "pid", "submission #"}
_PERSON = {"reviewer", "email", "reviewer email", "e-mail", "member #"}
_PEOPLE_OF_PAPERS = "papers and people"
_REVIEWER = {"reviewer", "reviewer id", "reviewer_id"}
# Lists that lie in the same menus: a column that only they have, and what else may stand beside it.
_KINDS: Mapping[str, frozenset[str]] = {
    "preferences": frozenset(("preference", "bid")),
    "conflicts": frozenset(("conflict", "conflicttype")),
    "metareviews": frozenset(("recommendation", "pc-only part")),
    "authors": frozenset(("iscontact", "corresponding?", "author names", "author emails")),
}
_BESIDE = {
    *("", "paper", "paper id", "title", "paper title", "submission #", "topic_score", "text", "date", "time"),
    *("given_name", "family_name", "first", "last", "first name", "last name", "name", "email"),
    *("affiliation", "country", "web page", "person #", "member #", "member name"),
    *("reviewer", "reviewer name", "reviewer email"),
    *(name for marks in _KINDS.values() for name in marks),
}
_EDGES: Mapping[str, str] = {"Bid": "preferences", "Conflict": "conflicts", "Assignment": "assignments"}
# What else is found there, and what to say about it.
_UNUSABLE: tuple[tuple[Callable[[frozenset[str]], bool], str], ...] = (
    (lambda names: bool(names & _AVERAGES), _AGGREGATES),
    (lambda names: bool(names & _TOTALS) and "scores" not in names, _AGGREGATES),
    ({"paper", "action"}.issubset, _ASSIGNMENT),
    ({"signature", "profile_id"}.issubset, _MAP),
    (lambda names: {"paper id", "status"} <= names or {"#", "title", "authors"} <= names, _SUBMISSIONS),
    ({"id", "title"}.issubset, _SUBMISSIONS),
    ({"email", "role"}.issubset, _PEOPLE),
    (lambda names: {"first", "last", "email"} <= names or {"email", "roles"} <= names, _PEOPLE),
    (lambda names: bool(names & _PAPER) and bool(names & _REVIEWER), _SCORELESS),
    (lambda names: bool(names & _PAPER) and len(names) > 1, _NAMELESS),
)


def import_reviews(data: bytes, file: str, choices: Choices | None = None) -> Imported:
    """The reviews in an export, and what else it says; an `InputError` lists every problem in it.

    Args:
        data: The bytes of the export, packed or not: CSV, `.xlsx`, SpreadsheetML or JSON, up to `MAX_EXPORT`.
        file: Its name in messages; the format is recognized from the content alone.
        choices: What the content leaves open, such as the order of letters; by default nothing.

    Example:
        >>> csv = b"paper;reviewer;score\\n1;ada;2,5\\n2;ada;3\\n"
        >>> imported = import_reviews(csv, "panel.csv")
        >>> imported.reviews.score, imported.recognized[-2:]
        (array([2.5, 3. ]), ('score from column score', 'decimals written with a comma'))
    """
    choices = choices or Choices()
    if not data.strip():
        raise export_error(file, "must not be empty")
    opened = open_export(data, file)
    module, what = recognized(opened, choices)
    try:
        export = module.read(opened, choices)
    except MixedListError:
        raise export_error(file, _MIXED) from None
    return gather(replace(export, said=(what, *opened.said, *export.said)), choices)


def recognized(opened: OpenedExport, choices: Choices) -> tuple[_Format, str]:
    """The system whose export of reviews this is, and what kind of export; an `InputError` says what else."""
    try:
        return _recognized_system(opened, choices)
    except MixedListError:
        raise export_error(opened.file, _MIXED) from None


def _recognized_system(opened: OpenedExport, choices: Choices) -> tuple[_Format, str]:
    name = choices.format or (plain_table.NAME if choices.columns or choices.layout else None)
    if name is not None:
        if name not in FORMATS:
            raise InputError(f"`format` must be one of {', '.join(FORMATS)}, found {name!r}")
        module = FORMATS[name]
        return module, module.recognize(opened, choices) or f"{name}, as requested"
    if kind := _kind_of_list(opened):
        use = f"{kind}, for --as conflicts" if "conflicts" in kind else kind
        raise export_error(opened.file, _PAIRS if kind == _PEOPLE_OF_PAPERS else _LIST.format(use))
    for module in FORMATS.values():
        if (what := module.recognize(opened, choices)) is not None:
            return module, what
    advices = (advice for unusable, advice in _UNUSABLE if find_tables(opened.sheets, unusable))
    advice = next(advices, _UNKNOWN) if pretalx.team_sheet(opened) is None else _TEAMS
    if advice in (_UNKNOWN, _NAMELESS, _SCORELESS):
        advice = plain_table.advice(opened, choices.score_field) or advice
    raise export_error(opened.file, advice)


def _kind_of_list(opened: OpenedExport) -> str:
    """What a file lists that is not reviews, in words; empty for anything else."""
    if opened.value is not None:
        return _edges_kind(opened.value)
    tables = find_tables(opened.sheets, lambda names: bool(_list_kinds(names)))
    kinds = [_list_kinds(frozenset(table.folded)) for table in tables]
    return " and ".join(kinds[0]) if len(kinds) == len(opened.sheets) == 1 else ""


def _list_kinds(names: frozenset[str]) -> list[str]:
    """The kinds of list that a table with columns of these names is.

    >>> _list_kinds(frozenset(["paper", "email", "bid"])), _list_kinds(frozenset(["paper", "score", "bid"]))
    (['preferences'], [])
    """
    kinds = [kind for kind, marks in _KINDS.items() if names & marks]
    if not kinds and names & _PAPER and names & _PERSON:
        kinds = [_PEOPLE_OF_PAPERS]
    return kinds if names <= _BESIDE else []


def _edges_kind(value: object) -> str:
    """What OpenReview's edges are about, if a file has nothing else."""
    tops = json_pages(value)
    edges = [edge for top in tops if top.keys() & {"edges"} for edge in json_objects(top["edges"])]
    edges = edges or [top for top in tops if {"head", "tail", "invitation"} <= top.keys()]
    if not edges or any("notes" in top for top in tops):
        return ""
    return _EDGES.get(json_cell(edges[0].get("invitation")).rpartition("/")[2], "pairs of papers and people")
