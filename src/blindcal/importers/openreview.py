"""OpenReview: notes of API 1 and 2 as JSON; the people behind anonymous signatures come from a map."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from blindcal.errors import Problem
from blindcal.importers.people import NEVER_REPEATED
from blindcal.importers.raw_export import (
    METAREVIEWS,
    Choices,
    Dropped,
    RawExport,
    RawReview,
    decided_status,
    dropped_columns,
    dropped_count,
    export_error,
    withdrawal_status,
)
from blindcal.importers.scores import ScoreFields, find_scores
from blindcal.importers.sheet import (
    Item,
    OpenedExport,
    all_pages,
    json_cell,
    json_columns,
    json_objects,
    json_pages,
)

NAME, TITLE = "openreview", "OpenReview"
# `.../-/Official_Review`; in the oldest venues `/-/Paper12/Official_Review` or `/-/paper12/meta/review`.
_KIND = re.compile(r"/-/(?:[A-Za-z_]+[0-9]+/)?([A-Za-z0-9_/-]+)$")
_OFFICIAL, _REJECTED = "official_review", "Rejected_Submission"
_REVIEW = re.compile(r"(?!.*(?:meta|ethics|desk)).*review", re.I)
# The number of a paper in an invitation or a signature; a part of the venue may be numbered too (`/Round1/`).
_NUMBER = re.compile(r"/[A-Za-z_]+([0-9]+)/(?:-/|[a-z]+/)?[^/]+$")
_AUTHORS = re.compile(r"/[A-Za-z_]+([0-9]+)/Authors$")
# A signature of one paper alone, and the part of it that all reviewers share (`Reviewer_`).
_ANONYMOUS = re.compile(r"/[A-Za-z_]+[0-9]+/((?:[A-Za-z]+_)*(?:AnonReviewer)?)[^/]*$")
_YEAR = re.compile(r"^[^/]*/(?:.*?/)?(20[0-9]{2})(?:/|$)")
_TIMES = ("cdate", "mdate", "tcdate", "tmdate", "odate", "pdate")
_BY_FORUM = (
    "papers go by their forum, as numbers of papers with reviews are missing or not unique: decisions cannot "
    "go back to OpenReview by file, which needs numbers"
)
_NEEDS_MAP = "must be in the map of signatures (`map` with the columns signature,profile_id)"


class _Notes(NamedTuple):
    """The notes of a file by what they are; `reviews` have a kind of invitation each."""

    submissions: list[Item]
    reviews: list[Item]
    replies: list[Item]
    kind: str
    others: Counter[str]
    deleted: int
    people: dict[str, str]
    conflicts: list[Item]
    withdrawn: dict[str, str]


def recognize(opened: OpenedExport, choices: Choices) -> str | None:
    """What kind of OpenReview export this is, in words, or None."""
    notes = list(_walk_notes(json_pages(opened.value)))
    if not any(_kinds(note) for note in notes):
        return None
    return f"OpenReview notes (API {2 if any('invitations' in note for note in notes) else 1})"


def read(opened: OpenedExport, choices: Choices) -> RawExport:
    """The official reviews among the notes."""
    notes = _sorted_notes(opened)
    if not notes.reviews:
        raise export_error(
            opened.file, "must hold reviews: notes with an invitation that ends in Official_Review"
        )
    _check_year(notes.reviews, opened.file)
    contents = [content if isinstance(content := note.get("content"), dict) else {} for note in notes.reviews]
    answers = [{str(name): _content_value(v) for name, v in content.items()} for content in contents]
    fields = find_scores(json_columns(answers), choices.score_field, opened.file)
    papers = _paper_ids(notes)
    known = [note for note in notes.submissions if _forum(note) in papers]
    people, problems = _reviewers(notes, choices, opened.file)
    cells = zip(notes.reviews, people, fields.scores, fields.confidences, strict=True)
    rows = [
        RawReview(number, papers[_forum(note)], person, cell, how_sure)
        for number, (note, person, cell, how_sure) in enumerate(cells, start=1)
    ]
    return RawExport(
        format=NAME,
        file=opened.file,
        rows=rows,
        score_field=fields.score,
        confidence_field=fields.confidence,
        titles={papers[_forum(note)]: _content(note, "title") for note in known},
        tracks={papers[_forum(note)]: _content(note, "track") for note in known},
        committee=dict.fromkeys([*notes.people.values(), *(choices.people or {}).values()], ""),
        conflicts=[
            (papers.get(json_cell(edge.get("head")), ""), json_cell(edge.get("tail")))
            for edge in notes.conflicts
        ],
        withdrawn={papers[forum]: what for forum, what in notes.withdrawn.items() if forum in papers},
        said=(f"reviews are the notes called {notes.kind}",),
        dropped=_dropped_parts(notes, fields),
        warnings=(_BY_FORUM,) if all(forum == paper for forum, paper in papers.items()) else (),
        problems=tuple(problems),
    )


def _check_year(reviews: Iterable[Item], file: str) -> None:
    """Refuse reviews from venues of two years: their papers have the same numbers."""
    matches = (_YEAR.search(text) for note in reviews for text in _invitations(note))
    years = sorted({match[1] for match in matches if match is not None})
    if len(years) > 1:
        raise export_error(file, "must be of one year", f"{', '.join(years)}: two years in one file?")


def _walk_notes(items: Iterable[Item]) -> Iterator[Item]:
    """Every note at the top, under `notes`, and among the replies that came with a submission."""
    for item in items:
        if not item.keys() & {"notes", "groups", "edges"}:
            yield item
        yield from _walk_notes(json_objects(item.get("notes")))
        details = item.get("details")
        if isinstance(details, dict):
            for key in ("replies", "directReplies"):
                yield from _walk_notes(json_objects(details.get(key)))


def _kinds(note: Item) -> list[str]:
    """What the note answers: the last words of its invitations, without mere edits."""
    matches = map(_KIND.search, _invitations(note))
    kinds = [match[1].replace("/", "_") for match in matches if match is not None]
    return [kind for kind in kinds if kind != "Edit"]


def _invitations(note: Item) -> list[str]:
    invitations = note.get("invitations", [note.get("invitation")])
    return [text for text in invitations if isinstance(text, str)] if isinstance(invitations, list) else []


def _sorted_notes(opened: OpenedExport) -> _Notes:
    top = json_pages(opened.value)
    if any("count" in page for page in top if "notes" in page):
        list(all_pages(top, "notes", opened.file))
    notes = _unique_notes(_walk_notes(top), opened.file)
    live = [note for note in notes if not note.get("ddate")]
    kinds = dict.fromkeys(kind for note in live for kind in _kinds(note)[:1] if _REVIEW.fullmatch(kind))
    official = [kind for kind in kinds if kind.casefold() == _OFFICIAL]
    if len(kinds) > 1 and len(official) != 1:
        raise export_error(
            opened.file, "must hold one kind of reviews: leave the others out", ", ".join(sorted(kinds))
        )
    kind = next(iter([*official, *kinds]), "")
    reviews = [note for note in live if kind and kind in _kinds(note)]
    submissions = [note for note in live if _is_submission(note)]
    rest = [note for note in live if kind not in _kinds(note) and not _is_submission(note)]
    others = Counter(next(iter(_kinds(note)), "notes of no kind") for note in rest)
    edges = [edge for page in top for edge in json_objects(page.get("edges"))]
    conflicts = [edge for edge in edges if json_cell(edge.get("invitation")).endswith("/-/Conflict")]
    groups = [group for page in top for group in json_objects(page.get("groups"))]
    became = {_forum(note): _withdrawal_of(note) for note in notes if _is_submission(note)}
    decisions = [note for note in rest if any(kind.casefold() == "decision" for kind in _kinds(note))]
    made = {_forum(note): decided_status(_content(note, "decision")) for note in decisions}
    withdrawn = {forum: what for forum in became | made if (what := became.get(forum) or made.get(forum))}
    deleted = len(notes) - len(live)
    replies = [note for note in live if not _is_submission(note)]
    people = _people_behind(groups, {_signature(note) for note in reviews})
    return _Notes(submissions, reviews, replies, kind, others, deleted, people, conflicts, withdrawn)


def _withdrawal_of(submission: Item) -> str | None:
    """What became of a paper that is not to be decided: by its venue, on API 1 by its invitation."""
    if submission.get("ddate"):
        return "deleted"
    venue = _content(submission, "venueid") or json_cell(submission.get("invitation"))
    kind = venue.rpartition("/")[2]
    return withdrawal_status(kind) or (decided_status("rejected") if kind == _REJECTED else None)


def _is_submission(note: Item) -> bool:
    return "forum" in note and note["forum"] == note.get("id")


def _unique_notes(notes: Iterable[Item], file: str) -> list[Item]:
    """Each note once: replies may come both with their submission and alone."""
    known: dict[str, Item] = {}
    for number, note in enumerate(notes, start=1):
        key = json_cell(note.get("id")) or f"note {number}"
        first = known.setdefault(key, note)
        if first is not note and first.get("content") != note.get("content"):
            raise export_error(file, "must not hold two versions of one note", row=number)
    return list(known.values())


def _signature(note: Item) -> str:
    signatures = note.get("signatures")
    return json_cell(signatures[0]) if isinstance(signatures, list) and len(signatures) == 1 else ""


def _role(signature: str) -> str:
    """What the signatures of all reviewers start with; empty for a person, or a group of several.

    >>> _role("V/Submission12/Program_Committee_AbCd"), _role("V/Paper1/AnonReviewer2"), _role("~Ada_Byron1")
    ('Program_Committee_', 'AnonReviewer', '')
    """
    match = _ANONYMOUS.search(signature)
    return match[1] if match else ""


def _people_behind(groups: Iterable[Item], signed: Iterable[str]) -> dict[str, str]:
    """The person behind each signature like those that `signed`, where groups came with the notes."""
    people: dict[str, str] = {}
    roles = {*map(_role, signed)} - {""}
    for group in groups:
        members, anonymous = group.get("members"), group.get("anon_members")
        members = members if isinstance(members, list) else []
        if isinstance(anonymous, list) and len(anonymous) == len(members):
            people.update((json_cell(a), json_cell(m)) for a, m in zip(anonymous, members, strict=True))
        elif len(members) == 1 and _role(json_cell(group.get("id"))) in roles:
            people[json_cell(group["id"])] = json_cell(members[0])
    return people


def _content_value(item: object) -> str:
    """A value of a note's content: API 2 wraps it."""
    return json_cell(item.get("value") if isinstance(item, dict) else item)


def _content(note: Item, name: str) -> str:
    content = note.get("content")
    return _content_value(content.get(name)) if isinstance(content, dict) else ""


def _forum(note: Item) -> str:
    return json_cell(note.get("forum")) or json_cell(note.get("id"))


def _paper_ids(notes: _Notes) -> dict[str, str]:
    """The id of each paper by forum: its number, which decisions go by.

    If not all papers with reviews have a number, it is the forum itself. A submission without reviews may
    have no number of its own, and then no id.
    """
    numbers: dict[str, str] = {}
    for note in notes.submissions:
        author = _AUTHORS.search(_signature(note))
        numbers[_forum(note)] = json_cell(note.get("number")) or (author[1] if author else "")
    for note in [*notes.reviews, *(note for note in notes.replies if "forum" in note)]:
        numbers[_forum(note)] = numbers.get(_forum(note)) or _paper_number(note)
    reviewed = {_forum(note): numbers[_forum(note)] for note in notes.reviews}
    if not all(reviewed.values()) or len({*reviewed.values()}) < len(reviewed):
        return {forum: forum for forum in numbers}
    times = Counter(numbers.values())
    return {f: number for f, number in numbers.items() if f in reviewed or (number and times[number] == 1)}


def _paper_number(reply: Item) -> str:
    """The number of the paper that a note is about, by what it answers or who signed it."""
    answers = [text for text in _invitations(reply) if not text.endswith("/-/Edit")]
    matches = filter(None, map(_NUMBER.search, [*answers, _signature(reply)]))
    return next((match[1] for match in matches), "")


def _reviewers(notes: _Notes, choices: Choices, file: str) -> tuple[list[str], list[Problem]]:
    """Who signed each review, as far as known; a problem for each anonymous one that is in no map."""
    names = [_signature(note) for note in notes.reviews]
    mapped = {*notes.people, *(choices.people or {})}
    missing = [bool(_ANONYMOUS.search(name)) and name not in mapped for name in names]
    if not mapped and any(missing):
        raise export_error(file, NEVER_REPEATED)
    problems = [
        Problem(file, number, "signatures", _NEEDS_MAP) for number, out in enumerate(missing, start=1) if out
    ]
    return [notes.people.get(name, name) for name in names], problems


def _dropped_parts(notes: _Notes, fields: ScoreFields) -> tuple[Dropped, ...]:
    keys = {key for note in notes.reviews for key in note}
    times = [name for name in _TIMES if name in keys]
    numbers = Dropped("the numbers of notes", "they reveal in which order reviews were written")
    rest = {
        kind: times
        for kind, times in sorted(notes.others.items())
        if not re.search(r"meta_?review", kind, re.I)
    }
    metareviews = notes.others.total() - sum(rest.values())
    notes_left = ", ".join(f"{times:,} {kind}" for kind, times in rest.items())
    return (
        *dropped_columns([*times, *fields.unused], fields.texts),
        *([numbers] if "number" in keys else []),
        *dropped_count(metareviews, "metareview", METAREVIEWS),
        *([Dropped(notes_left, "no reviews")] if notes_left else []),
        *dropped_count(notes.deleted, "deleted note", "no longer valid"),
    )
