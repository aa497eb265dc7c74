"""OpenReview: notes of API 1 and 2 as JSON; the people behind anonymous signatures come from a map."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from blindcal.errors import Problem
from blindcal.importers.findings import (
    Choices,
    Dropped,
    Found,
    Row,
    chosen_confidence,
    chosen_score,
    counted,
    dropped_columns,
    refusal,
)
from blindcal.importers.identities import NEVER_REPEATED
from blindcal.importers.scores import score_shaped
from blindcal.importers.sheets import Opened
from blindcal.importers.values import Item, cell_of, objects, pages, whole

NAME = "openreview"
# `.../-/Official_Review`, and in the oldest venues `.../-/Paper12/Official_Review` or `.../official/review`.
_KIND = re.compile(r"/-/(?:[A-Za-z0-9_-]+/)*+([A-Za-z0-9_]+)$")
_NUMBER = re.compile(r"/[A-Za-z_]+([0-9]+)/")
_ANONYMOUS = re.compile(r"/(?:AnonReviewer|Anon_?Reviewer_?|Reviewer_?)[A-Za-z0-9]+$")
_YEAR = re.compile(r"^[^/]*/(?:.*?/)?(20[0-9]{2})(?:/|$)")
_TIMES = ("cdate", "mdate", "tcdate", "tmdate", "odate", "pdate")
_BY_FORUM = "papers go by their forum, as their numbers are missing or not unique"
_NEEDS_MAP = "must be in the map of signatures (`map` with the columns signature,profile_id)"


class _Notes(NamedTuple):
    """The notes of a file by what they are; `reviews` have a kind of invitation each."""

    submissions: list[Item]
    reviews: list[Item]
    kind: str
    others: Counter[str]
    deleted: int
    people: dict[str, str]
    conflicts: list[Item]


def recognize(opened: Opened, choices: Choices) -> str | None:
    """What kind of OpenReview export this is, in words, or None.

    `opened` is what `open_export` returns; the `choices` do not matter here.

    >>> note = {"forum": "f", "invitations": ["X/-/Official_Review"], "content": {"rating": 8}}
    >>> opened = Opened("notes.json", value=[note], is_json=True)
    >>> recognize(opened, Choices())
    'OpenReview notes (API 2)'
    """
    if not opened.is_json:
        return None
    notes = list(_walk(pages(opened.value)))
    if not any(_kinds(note) for note in notes):
        return None
    return (
        "OpenReview notes (API 2)"
        if any("invitations" in note for note in notes)
        else "OpenReview notes (API 1)"
    )


def read(opened: Opened, choices: Choices) -> Found:
    """The official reviews among the notes.

    `opened` is what `open_export` returns; `choices` are the chair's. Nothing is checked yet but the form.

    >>> note = {"forum": "f", "invitations": ["X/-/Official_Review"], "content": {"rating": 8}}
    >>> note["signatures"] = ["~Ada1"]
    >>> opened = Opened("notes.json", value=[note], is_json=True)
    >>> found = read(opened, Choices())
    >>> found.score_field, [(row.paper, row.reviewer, row.score) for row in found.rows]
    ('rating', [('f', '~Ada1', '8')])
    """
    notes = _sorted(opened)
    if not notes.reviews:
        raise refusal(opened.file, "must hold reviews: notes with an invitation that ends in Official_Review")
    _check_year(notes.reviews, opened.file)
    columns = _columns(notes.reviews)
    fields: dict[str, tuple[str, ...]] = {name: () for name, cells in columns.items() if score_shaped(cells)}
    score = chosen_score(fields, choices.score_field, opened.file, others=columns)
    confidence = chosen_confidence(fields, score)
    papers = _papers(notes)
    people, problems = _people(notes, choices, opened.file)
    sure = columns[confidence] if confidence else [""] * len(notes.reviews)
    cells = zip(notes.reviews, people, columns[score], sure, strict=True)
    rows = [
        Row(number, papers[_forum(note)], person, cell, how_sure)
        for number, (note, person, cell, how_sure) in enumerate(cells, start=1)
    ]
    return Found(
        format=NAME,
        file=opened.file,
        rows=rows,
        score_field=score,
        confidence_field=confidence,
        titles={papers[_forum(note)]: _content(note, "title") for note in notes.submissions},
        tracks={papers[_forum(note)]: _content(note, "track") for note in notes.submissions},
        committee=dict.fromkeys([*notes.people.values(), *(choices.people or {}).values()], ""),
        conflicts=[
            (papers.get(cell_of(edge.get("head")), ""), cell_of(edge.get("tail"))) for edge in notes.conflicts
        ],
        said=(f"reviews are the notes called {notes.kind}",),
        dropped=_dropped(notes, fields, columns, (score, confidence)),
        warnings=(_BY_FORUM,) if all(forum == paper for forum, paper in papers.items()) else (),
        problems=tuple(problems),
    )


def _check_year(reviews: Iterable[Item], file: str) -> None:
    """Refuse reviews from venues of two years: their papers have the same numbers."""
    found = (_YEAR.search(text) for note in reviews for text in _invitations(note))
    years = sorted({match[1] for match in found if match is not None})
    if len(years) > 1:
        raise refusal(file, "must be of one year", f"{', '.join(years)}: two years in one file?")


def _walk(items: Iterable[Item]) -> Iterator[Item]:
    """Every note at the top, under `notes`, and among the replies that came with a submission."""
    for item in items:
        if not item.keys() & {"notes", "groups", "edges"}:
            yield item
        yield from _walk(objects(item.get("notes")))
        details = item.get("details")
        if isinstance(details, dict):
            for key in ("replies", "directReplies"):
                yield from _walk(objects(details.get(key)))


def _kinds(note: Item) -> list[str]:
    """What the note answers: the last words of its invitations, without mere edits."""
    found = map(_KIND.search, _invitations(note))
    return [match[1] for match in found if match is not None and match[1] != "Edit"]


def _invitations(note: Item) -> list[str]:
    invitations = note.get("invitations", [note.get("invitation")])
    return [text for text in invitations if isinstance(text, str)] if isinstance(invitations, list) else []


def _is_review_kind(kind: str) -> bool:
    return bool(re.search(r"(?i:Review)$", kind)) and not re.search(r"Meta|Ethics|Desk", kind)


def _sorted(opened: Opened) -> _Notes:
    top = pages(opened.value)
    if any("count" in page for page in top if "notes" in page):
        list(whole(top, "notes", opened.file))
    notes = _unique(_walk(top), opened.file)
    live = [note for note in notes if not note.get("ddate")]
    kinds = Counter(kind for note in live for kind in _kinds(note)[:1] if _is_review_kind(kind))
    if len(kinds) > 1 and "Official_Review" not in kinds:
        raise refusal(
            opened.file, "must hold one kind of reviews: leave the others out", ", ".join(sorted(kinds))
        )
    kind = "Official_Review" if "Official_Review" in kinds else next(iter(kinds), "")
    reviews = [note for note in live if kind and kind in _kinds(note)]
    submissions = [note for note in live if _is_submission(note)]
    rest = [note for note in live if kind not in _kinds(note) and not _is_submission(note)]
    others = Counter(next(iter(_kinds(note)), "notes of no kind") for note in rest)
    edges = [edge for page in top for edge in objects(page.get("edges"))]
    conflicts = [edge for edge in edges if cell_of(edge.get("invitation")).endswith("/-/Conflict")]
    groups = [group for page in top for group in objects(page.get("groups"))]
    return _Notes(submissions, reviews, kind, others, len(notes) - len(live), _signatures(groups), conflicts)


def _is_submission(note: Item) -> bool:
    return "forum" in note and note["forum"] == note.get("id")


def _unique(notes: Iterable[Item], file: str) -> list[Item]:
    """Each note once: replies may come both with their submission and alone."""
    known: dict[str, Item] = {}
    for number, note in enumerate(notes, start=1):
        key = cell_of(note.get("id")) or f"note {number}"
        first = known.setdefault(key, note)
        if first is not note and first.get("content") != note.get("content"):
            raise refusal(file, "must not hold two versions of one note", row=number)
    return list(known.values())


def _signatures(groups: Iterable[Item]) -> dict[str, str]:
    """The person behind each signature, where groups came with the notes."""
    people: dict[str, str] = {}
    for group in groups:
        members, anonymous = group.get("members"), group.get("anon_members")
        members = members if isinstance(members, list) else []
        if isinstance(anonymous, list) and len(anonymous) == len(members):
            people.update((cell_of(a), cell_of(m)) for a, m in zip(anonymous, members, strict=True))
        elif len(members) == 1 and _ANONYMOUS.search(cell_of(group.get("id"))):
            people[cell_of(group["id"])] = cell_of(members[0])
    return people


def _value(item: object) -> str:
    """A value of a note's content: API 2 wraps it."""
    return cell_of(item.get("value") if isinstance(item, dict) else item)


def _content(note: Item, name: str) -> str:
    content = note.get("content")
    return _value(content.get(name)) if isinstance(content, dict) else ""


def _columns(reviews: Sequence[Item]) -> dict[str, list[str]]:
    contents = [found if isinstance(found := note.get("content"), dict) else {} for note in reviews]
    names = dict.fromkeys(str(name) for content in contents for name in content)
    return {name: [_value(content.get(name)) for content in contents] for name in names}


def _forum(note: Item) -> str:
    return cell_of(note.get("forum")) or cell_of(note.get("id"))


def _papers(notes: _Notes) -> dict[str, str]:
    """The id of each paper by forum: its number, which decisions go by, or else the forum itself."""
    numbers: dict[str, str] = {}
    for note in notes.reviews:
        places = [
            cell_of(note.get("invitation")),
            cell_of(note.get("invitations")),
            cell_of(note.get("signatures")),
        ]
        match = next((found for found in map(_NUMBER.search, places) if found is not None), None)
        numbers.setdefault(_forum(note), match[1] if match else "")
    for note in notes.submissions:
        if number := cell_of(note.get("number")):
            numbers[_forum(note)] = number
        numbers.setdefault(_forum(note), "")
    good = all(numbers.values()) and len(set(numbers.values())) == len(numbers)
    return numbers if good else {forum: forum for forum in numbers}


def _people(notes: _Notes, choices: Choices, file: str) -> tuple[list[str], list[Problem]]:
    """Who signed each review, as far as known; a problem for each anonymous one that is in no map."""
    signed = [note.get("signatures") for note in notes.reviews]
    names = [cell_of(found[0]) if isinstance(found, list) and len(found) == 1 else "" for found in signed]
    mapped = {*notes.people, *(choices.people or {})}
    missing = [bool(_ANONYMOUS.search(name)) and name not in mapped for name in names]
    if not mapped and any(missing):
        raise refusal(file, NEVER_REPEATED)
    problems = [
        Problem(file, number, "signatures", _NEEDS_MAP) for number, out in enumerate(missing, start=1) if out
    ]
    return [notes.people.get(name, name) for name in names], problems


def _dropped(
    notes: _Notes, fields: Mapping[str, object], columns: Mapping[str, object], used: Sequence[str | None]
) -> tuple[Dropped, ...]:
    keys = {key for note in notes.reviews for key in note}
    times = [name for name in _TIMES if name in keys]
    others = [name for name in fields if name not in used]
    texts = [name for name in columns if name not in fields]
    notes_left = ", ".join(f"{count:,} {kind}" for kind, count in sorted(notes.others.items()))
    return (
        *dropped_columns([*times, *others], texts),
        *(
            [Dropped("the numbers of notes", "they reveal in which order reviews were written")]
            if "number" in keys
            else []
        ),
        *([Dropped(notes_left, "no reviews")] if notes_left else []),
        *([Dropped(counted(notes.deleted, "deleted note"), "no longer valid")] if notes.deleted else []),
    )
