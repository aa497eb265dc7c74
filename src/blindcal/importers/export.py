"""What an importer reads in an export, before any of it is checked; and the chair's choices.

Also the rules that all importers share: which fields can be the score and the confidence, and which columns
are dropped because they could reveal who wrote a review.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from blindcal.errors import InputError, Problem
from blindcal.io.tables import input_error

Unit = Literal["reviewer", "member"]


class RawReview(NamedTuple):
    """One review as it stands in the export, cells as text; empty where the export does not say it.

    `row`: its row or, in JSON, its number among the reviews.
    `paper`, `reviewer`: the ids that the export has.
    `score`, `confidence`: the cells as they are, labels included.
    `track`, `round`, `title`: of the paper; `name`: of the reviewer.
    `file`: the sheet it is from where a workbook has several.
    """

    row: int
    paper: str
    reviewer: str
    score: str
    confidence: str = ""
    track: str = ""
    round: str = ""
    title: str = ""
    name: str = ""
    file: str = ""


@dataclass(frozen=True)
class Choices:
    """What the chair says about an export: nothing, if its content says it already.

    Attributes:
        format: The name of a system, one of `FORMATS`; None recognizes it from the content.
        score_field: The field or column to take as the score; None takes the only one that can be it.
        columns: For a table of your own, the name of the column that has the `paper`, `reviewer`, `score`,
            `confidence`, `track`, `round`, `title` or `name`; any left out go by their usual names.
        best_first: The order of scores that are not numbers, or of numbers if the lowest is best.
        people: The person behind an id of the export, as `read_map` returns it; other ids stay as they are.
        unit: Whose severity is calibrated if sub-reviewers write: `reviewer` is the one who wrote, `member`
            the one responsible.
    """

    format: str | None = None
    score_field: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    best_first: tuple[str, ...] = ()
    people: Mapping[str, str] | None = None
    unit: Unit = "reviewer"


@dataclass(frozen=True)
class Dropped:
    """Something in the export that goes no further.

    Attributes:
        what: What it is, such as some columns.
        why: The reason.
    """

    what: str
    why: str

    def __str__(self) -> str:
        return f"{self.what}: {self.why}"


@dataclass(frozen=True)
class RawExport:
    """The reviews of an export as text, and whatever else it says. CONFIDENTIAL.

    `format`: the name of the system; `file`: that of the export, for messages.
    `rows`: the reviews.
    `score_field`, `confidence_field`: where their scores and confidences are from.
    `best_first`: the order of the score's letters where the export has it.
    `titles`, `tracks`: by paper; `committee`: names by id; `conflicts`: pairs of paper and reviewer.
    `withdrawn`: what became of each paper that is not to be decided: one of `WITHDRAWN`.
    `decision_words`: what the site calls its decisions, by `accept` and `reject`, if the export shows it.
    `said`: what was recognized; `dropped`: what goes no further; `warnings`: what to look at. These are for
    the chair and name nobody.
    `problems`: those of the form, such as a row with too many cells; they refuse the export.
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
    decision_words: Mapping[str, str] = field(default_factory=dict)
    said: tuple[str, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    warnings: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


WITHDRAWN = ("withdrawn", "desk rejected", "deleted")
SILENT = (
    "{} does not say which papers were withdrawn or desk rejected: list such papers under [withdrawn] of "
    "conference.toml, or they are decided"
)
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
            r"^(?:created|updated|last modified|date|time|.*_at|[tcm]*date|modified.*|submitted.*)$", re.I
        ),
        TIMES,
    ),
    (re.compile(r"^(?:#|.*number|review|rid|ordinal|version|vtag|rtype|.* #|id)$", re.I), ORDINALS),
)


def dropped_columns(names: Iterable[str], texts: Iterable[str] = ()) -> tuple[Dropped, ...]:
    """The columns that go no further, by reason: `names` of any kind, and `texts` that hold free text.

    >>> [str(item) for item in dropped_columns(["Created", "Reviewer Number", "country"], ["Comments"])]
    ['Created: times can reveal who wrote a review', 'Reviewer Number: numbers and letters of reviews can
    reveal who wrote them', 'Comments: review texts are not needed', 'country: not needed']
    """
    texts = list(dict.fromkeys(texts))
    by_reason: dict[str, list[str]] = {TIMES: [], ORDINALS: [], TEXTS: texts, UNUSED: []}
    for name in dict.fromkeys(name for name in names if name and name not in texts):
        why = next((why for pattern, why in _KINDS if pattern.match(name)), UNUSED)
        by_reason[why].append(name)
    return tuple(Dropped(_listed(found), why) for why, found in by_reason.items() if found)


def _listed(names: Sequence[str], most: int = 12) -> str:
    short = [name if len(name) <= 60 else name[:57] + "..." for name in names[:most]]
    return ", ".join(short) + (f" and {len(names) - most} more" if len(names) > most else "")


# An evaluation of the whole paper, not the experimental evaluation in it.
_SCORE = re.compile(
    r"overall|merit|recommend|rating|score|(?:^|\(|final[ _]|general[ _]|total[ _])(?:evaluation|assessment)"
    r"|(?-i:(?:^|[a-z])(?:Ove|Mer|Rec|Rat)(?=[A-Z]|$))",
    re.I,
)
_CONFIDENCE = re.compile(
    r"confiden|expert|familiar|qualifi|knowledge|(?-i:(?:^|[a-z])(?:Exp|Fam|Qua|Kno)(?=[A-Z]|$))|^RevCon$",
    re.I,
)


def is_score_name(name: str) -> bool:
    """Whether a field of this `name` is called like the score.

    >>> is_score_name("Overall evaluation"), is_score_name("Experimental evaluation"), is_score_name("RecAct")
    (True, False, True)
    """
    return _SCORE.search(name) is not None and not is_confidence_name(name)


def is_confidence_name(name: str) -> bool:
    """Whether a field of this `name` is called like the confidence of a reviewer.

    >>> is_confidence_name("Reviewer expertise"), is_confidence_name("Overall merit")
    (True, False)
    """
    return _CONFIDENCE.search(name) is not None


def choose_score_field(
    fields: Mapping[str, Sequence[str]],
    given: str | None,
    file: str,
    row: int | None = None,
    others: Iterable[str] = (),
) -> str:
    """The field to take as the score: the one given, the only one, or the only one that is called so.

    `fields` are those that hold scores, each with the other names it goes by; `others` can only be `given`.
    `file` and `row`, that of the header, are for messages.

    >>> choose_score_field({"OveMer": (), "RevExp": (), "Nov": ()}, None, "x.csv")
    'OveMer'
    >>> choose_score_field({"Q2 (Overall - Value)": ("Q2", "Overall")}, "q2", "x.csv")
    'Q2 (Overall - Value)'
    """
    if given is not None:
        return _given(fields, tuple(others), given, file, row)
    merits = [name for name in fields if not is_confidence_name(name)]
    named = [name for name in merits if is_score_name(name)]
    for candidates in (named, merits):
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            rule = "must have one field for the score: say which with `score_field`"
            raise input_error([Problem(file, row, None, rule, _listed(candidates))])
    raise input_error([Problem(file, row, None, "must have a field with scores", "none")])


def _given(
    fields: Mapping[str, Sequence[str]], others: Sequence[str], given: str, file: str, row: int | None
) -> str:
    wanted = " ".join(given.split()).casefold()
    matches = [
        name for name, also in fields.items() if wanted in {other.casefold() for other in (name, *also)}
    ] or [name for name in others if wanted == name.casefold()]
    if len(matches) == 1:
        return matches[0]
    shown = _listed(list(fields) or others) or "none"
    raise input_error(
        [Problem(file, row, None, f"must have the field {given!r} that `score_field` names", shown)]
    )


def choose_confidence_field(fields: Iterable[str], score: str) -> str | None:
    """The one of these `fields` that says how sure a reviewer is, if there is just one beside the `score`.

    >>> choose_confidence_field(["OveMer", "RevExp"], "OveMer")
    'RevExp'
    """
    found = [name for name in fields if name != score and is_confidence_name(name)]
    return found[0] if len(found) == 1 else None


def export_error(file: str, rule: str, found: str | None = None, row: int | None = None) -> InputError:
    """The error for an export that cannot be used.

    The `rule` says what to do, `found` what there is instead, at a `row` of the `file` or, if that is None,
    in all of it.

    >>> print(export_error("x.csv", "must hold reviews", "a list of people"))
    x.csv: must hold reviews, found a list of people
    """
    return input_error([Problem(file, row, None, rule, found)])


def withdrawal_status(text: str) -> str | None:
    """Which of `WITHDRAWN` a system says of a paper, in its own words; None for any other `text`.

    >>> [withdrawal_status(text) for text in ("ICX.cc/2027/Desk_Rejected_Submission", "withdrawn", "Reject")]
    ['desk rejected', 'withdrawn', None]
    """
    words = re.sub(r"[\W_]+", "", text.casefold())
    return next((known for known in WITHDRAWN if known.replace(" ", "").removesuffix("ed") in words), None)
