"""What an importer reads in an export, before any of it is checked; and the chair's choices.

Also which columns are dropped, and why: some could reveal who wrote a review.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from blindcal.errors import InputError, Problem
from blindcal.io.cells import count, normalize_id, unescape
from blindcal.io.tables import input_error

Unit = Literal["reviewer", "member"]


class RawReview(NamedTuple):
    """One review as it stands in the export, cells as text; empty where the export does not say it.

    `row`: its row or, in JSON, its number among the reviews. `score`, `confidence`: labels included. `track`,
    `round`, `title`: of the paper; `name`: of the reviewer. `file`: its sheet where a workbook has several.
    """

    row: int
    paper: str = ""
    reviewer: str = ""
    score: str = ""
    confidence: str = ""
    track: str = ""
    round: str = ""
    title: str = ""
    name: str = ""
    file: str = ""


@dataclass(frozen=True)
class Choices:
    """What the chair says about an export: nothing, if its content says it already."""

    format: str | None = None  # the name of a system, one of `FORMATS`; None recognizes it from the content
    # The field or column to take as the score; None takes the only one that can be it
    score_field: str | None = None
    # For a table of your own, the name of the column that has the `paper`, `reviewer`, `score`, `confidence`,
    # `track`, `round`, `title` or `name`; any left out go by their usual names
    columns: Mapping[str, str] = field(default_factory=dict)
    # The order of scores that are not numbers, or of numbers if the lowest is best
    best_first: tuple[str, ...] = ()
    # The person behind an id of the export, as `read_map` returns it; other ids stay as they are
    people: Mapping[str, str] | None = None
    # Whose severity is calibrated if sub-reviewers write: `reviewer` is the one who wrote, `member` the one
    # responsible
    unit: Unit = "reviewer"
    # Paper and reviewer of each metareview, as a list of assignments says it; None without such a list
    metareviews: frozenset[tuple[str, str]] | None = None
    # For a table of your own with a column for each person or paper, which of `plain_table.LAYOUTS`
    layout: str = ""
    # Whether the last of several rows of one person on one paper counts; otherwise they are refused
    latest: bool = False


@dataclass(frozen=True)
class Dropped:
    """Something in the export that goes no further."""

    what: str  # what it is, such as some columns
    why: str  # the reason

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


@dataclass(frozen=True)
class RawExport:
    """The reviews of an export as text, and whatever else it says. CONFIDENTIAL.

    `best_first`: the order of the score's letters where the export has it. `titles`, `tracks`: by paper;
    `committee`: names by id; `conflicts`: pairs of paper and reviewer. `withdrawn`: by paper, why it is
    not to be decided, one of `WITHDRAWN` or `DECIDED` with the decision. `said`: what was recognized;
    `dropped`: what goes no further; `warnings`: what to look at; these are for the chair and name nobody.
    `problems`: those of the form, such as a row with too many cells.
    """

    format: str
    file: str
    rows: Sequence[RawReview]
    score_field: str
    confidence_field: str | None = None
    best_first: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)
    tracks: Mapping[str, str] = field(default_factory=dict)
    committee: Mapping[str, str] = field(default_factory=dict)
    conflicts: Sequence[tuple[str, str]] = ()
    withdrawn: Mapping[str, str] = field(default_factory=dict)
    said: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    warnings: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def clean_id(cell: str) -> str:
    """The id in a cell: in the one form that ids have, without spaces around it or a mark of `escape`."""
    return normalize_id(unescape(cell.strip()).strip())


WITHDRAWN, DECIDED = ("withdrawn", "desk rejected", "deleted"), "decided already"
LISTED_BY_HAND = "list such papers under [withdrawn] of conference.toml, or they are decided"
METAREVIEWS = "they sum up reviews and are none themselves"
TIMES, ORDINALS, TEXTS, UNUSED = (
    "times can reveal who wrote a review",
    "numbers and letters of reviews can reveal who wrote them",
    "review texts are not needed",
    "not needed",
)
_KINDS = (
    (
        re.compile(
            r"^(?:created|updated|last modified|date|time|.*_at|[tcm]*date|(?:modifi|submitt)ed.*)$", re.I
        ),
        TIMES,
    ),
    (re.compile(r"^(?:#|.*number|review|rid|ordinal|version|vtag|rtype|.* #|id)$", re.I), ORDINALS),
)


def dropped_columns(names: Iterable[str], texts: Iterable[str] = ()) -> tuple[Dropped, ...]:
    """The columns that go no further, by reason: `names` of any kind, and `texts` that hold free text."""
    texts = list(dict.fromkeys(texts))
    by_reason: dict[str, list[str]] = {TIMES: [], ORDINALS: [], TEXTS: texts, UNUSED: []}
    for name in dict.fromkeys(name for name in names if name and name not in texts):
        why = next((why for pattern, why in _KINDS if pattern.match(name)), UNUSED)
        by_reason[why].append(name)
    return tuple(Dropped(listed(columns), why) for why, columns in by_reason.items() if columns)


def dropped_count(number: int, what: str, why: str, more: str = "") -> list[Dropped]:
    """So many things of a kind that go no further, if there are any."""
    return [Dropped(count(number, what) + more, why)] if number else []


def silent(export: str, status: str = "withdrawn, desk rejected or decided already") -> str:
    """A warning that an `export` does not tell papers of a `status` apart, which are not to be decided."""
    return f"{export} does not say which papers were {status}: {LISTED_BY_HAND}"


def listed(names: Sequence[str]) -> str:
    """Twelve names in a row, long ones cut, and how many more there are."""
    short = [name if len(name) <= 60 else name[:57] + "..." for name in names[:12]]
    return ", ".join(short) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def export_error(file: str, rule: str, found: str | None = None, row: int | None = None) -> InputError:
    """The error for an export that cannot be used: a `rule` that it breaks, and what was `found` instead."""
    return input_error([Problem(file, row, None, rule, found)])


class MissingFieldError(InputError):
    """An export has no field of the name that was given for the score."""


def missing_field(file: str, given: str, found: str, row: int | None = None) -> MissingFieldError:
    """The error for an export without the field `given`; `found`: those that it has."""
    error = export_error(file, f"must have the field {given!r} that `score_field` names", found, row)
    return MissingFieldError(str(error), error.problems)


def withdrawn_papers(papers: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """Which papers are not to be decided, and why: of each paper, its status, and the decision made on it.

    >>> withdrawn_papers([("1", "", "Early reject"), ("2", "withdrawn", "Accept"), ("3", "submitted", "")])
    {'1': 'decided already (Early reject)', '2': 'withdrawn'}
    """
    became = {
        paper: withdrawal_status(status) or withdrawal_status(decision) or decided_status(decision)
        for paper, status, decision in papers
    }
    return {paper: why for paper, why in became.items() if why}


def decided_status(decision: str) -> str | None:
    """`DECIDED`, with the decision in a system's own words; None without one."""
    words = " ".join(decision.split())
    return f"{DECIDED} ({listed([words])})" if words else None


def withdrawal_status(text: str) -> str | None:
    """Which of `WITHDRAWN` a system says of a paper, in its own words; None for any other `text`."""
    words = re.sub(r"[\W_]+", "", text.casefold())
    return next((known for known in WITHDRAWN if known.replace(" ", "").removesuffix("ed") in words), None)
