"""EasyChair: `review.csv` of several years, alone, in the zip of all tables, or in the workbook."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from blindcal.errors import Problem
from blindcal.importers.raw_export import (
    METAREVIEWS,
    Choices,
    RawExport,
    RawReview,
    dropped_columns,
    dropped_count,
    export_error,
    silent,
    withdrawn_papers,
)
from blindcal.importers.scores import find_scores
from blindcal.importers.sheet import HeadedTable, OpenedExport, Worksheet, find_only_table, json_columns
from blindcal.io.cells import count

NAME, TITLE = "easychair", "EasyChair"
_BEFORE = ("#", "submission #", "member #", "member name", "number", "version", "text", "scores")
_AFTER = (
    *("reviewer first name", "reviewer last name", "reviewer email", "reviewer person #"),
    *("date", "time", "attachment?"),
)
_READ = ("submission #", "member #", "member name", "version", "scores", *_AFTER[:4])
_SUBMISSIONS = {"#", "title", "authors"}.issubset
_DELETED = "deleted?"
_MEMBER = ("#", "person #", "first name", "last name", "email", "country", "affiliation", "Web page", "role")
# Up to the first colon before a number. Possessive, so that no cell makes it backtrack.
_LINE = re.compile(r"([^:]*+(?::(?!\s*+[+-]?[0-9])[^:]*+)*+):\s*+([+-]?[0-9].*+)", re.DOTALL)
_WHOLE = re.compile(r"[0-9]{1,9}")
_NUMBERLESS = "there are no member numbers: members of one name are taken as one person"


def recognize(opened: OpenedExport, choices: Choices) -> str | None:
    """What kind of EasyChair export this is, in words, or None."""
    table = _review_table(opened)
    if table is None:
        return None
    return "EasyChair reviews without a header row" if table.row is None else "EasyChair reviews"


def read(opened: OpenedExport, choices: Choices) -> RawExport:
    """The latest version of every review."""
    table = _review_table(opened)
    if table is None:
        raise export_error(
            opened.file, "must be EasyChair's table of reviews: a header with submission # and scores"
        )
    _check_names(table)
    answers, problems = _score_lines(table)
    columns = json_columns(answers)
    fields = find_scores(columns, choices.score_field, table.file, table.row)
    reviewers, subs = _counted_reviewers(opened, table, choices)
    reviews = table.reviews(paper="submission #")
    cells = zip(reviews, reviewers, fields.scores, fields.confidences, strict=True)
    rows = [
        review._replace(reviewer=who, name=name, score=score, confidence=sure)
        for review, (who, name), score, sure in cells
    ]
    latest, old, broken = _latest_versions(table, rows)
    titles, tracks, withdrawn = _submissions(opened)
    metareviews = find_only_table(opened.sheets, {"submission #", "recommendation"}.issubset)
    ids = {who.strip() for who, _ in reviewers}
    emails = sum("@" in who for who in ids)
    columns_left = [name for name in table.names if name.casefold() not in _READ]
    labels_left = [label for label in columns if label not in fields[:2]]
    return RawExport(
        format=NAME,
        file=table.file,
        rows=latest,
        score_field=fields.score,
        confidence_field=fields.confidence,
        titles=titles,
        tracks=tracks,
        committee={email or name: name for _, email, name in _members(opened)},
        conflicts=conflicts(opened) or (),
        withdrawn=withdrawn,
        said=(f"{count(emails, 'reviewer')} known by email, {len(ids) - emails:,} by name",),
        dropped=(
            *dropped_columns([*columns_left, *labels_left], ["text"] if "text" in table else []),
            *dropped_count(old, "older version", "only the latest counts", " of reviews"),
            *dropped_count(0 if metareviews is None else len(metareviews.rows), "metareview", METAREVIEWS),
        ),
        problems=(*problems, *broken, *_table_problems(opened, table)),
        warnings=(
            *subs,
            *(() if "member #" in table else [_NUMBERLESS]),
            *_namesakes(reviewers),
            *(() if titles else [silent("EasyChair's table of reviews alone")]),
        ),
    )


def _check_names(table: HeadedTable) -> None:
    """Refuse a table whose names are not whole: half a name may be another person's."""
    halves = ("reviewer first name", "reviewer last name")
    known = [half for half in halves if table.first(half, f"sub{half}")]
    for name in ("member name", *(halves if known else ())):
        if name not in table and name not in known:
            rule = f"must have the column {name}, to say who the reviewers are"
            raise export_error(table.file, rule, row=table.row)


def _review_table(opened: OpenedExport) -> HeadedTable | None:
    return find_only_table(_with_headers(opened, _review_header), {"submission #", "scores"}.issubset)


def _with_headers(opened: OpenedExport, header: Callable[[Sequence[str]], list[str]]) -> list[Worksheet]:
    """The sheets, those from the years without a header under the one that fits what they hold, if any."""
    headers = [header(sheet.rows[0][1]) if sheet.rows else [] for sheet in opened.sheets]
    return [
        replace(sheet, rows=[(0, names), *sheet.rows]) if names else sheet
        for sheet, names in zip(opened.sheets, headers, strict=True)
    ]


def _review_header(first: Sequence[str]) -> list[str]:
    """The header of reviews above their `first` row, in which columns are recognized by what they hold."""
    if not 14 <= len(first) <= 16 or not all(map(_WHOLE.fullmatch, first[1:3])) or not _LINE.match(first[7]):
        return []
    total = bool(re.fullmatch(r"-?[0-9]+(?:\.[0-9]+)?", first[8].strip()))
    names = [*_BEFORE, *(["total score"] if total else []), *_AFTER][: len(first)]
    return [*names, *[""] * (len(first) - len(names))]


def _committee_header(first: Sequence[str]) -> list[str]:
    """The same for the committee."""
    fits = len(first) == len(_MEMBER) and all(map(_WHOLE.fullmatch, first[:2])) and "@" in first[4]
    return list(_MEMBER) if fits else []


def _score_lines(table: HeadedTable) -> tuple[list[dict[str, str]], list[Problem]]:
    answers: list[dict[str, str]] = []
    problems = []
    for (number, _), cell in zip(table.rows, table.column("scores"), strict=True):
        answer: dict[str, str] = {}
        for line in filter(None, map(str.strip, re.split(r"[\r\n]+", cell))):
            label, value = _label_value(line)
            if not label or label in answer:
                rule = "must have lines like Overall evaluation: 2, each label once"
                problems.append(Problem(table.file, number, "scores", rule))
            else:
                answer[label] = value
        answers.append(answer)
    return answers, problems


def _label_value(line: str) -> tuple[str, str]:
    """The label and the value of a line.

    >>> [_label_value(line) for line in ("Overall: -2 (reject)", "Relevance (1: low): 3", "Best: no")]
    [('Overall', '-2 (reject)'), ('Relevance (1: low)', '3'), ('Best', 'no')]
    """
    if match := _LINE.fullmatch(line):
        return match[1].strip(), match[2].strip()
    label, _, value = line.rpartition(":")
    return label.strip(), value.strip()


def _counted_reviewers(
    opened: OpenedExport, table: HeadedTable, choices: Choices
) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    """Id and name of who each review counts for: its sub-reviewer if it has one, or always the member."""
    emails = {number: email for number, email, _ in _members(opened)}
    members = list(zip(table.column("member #"), table.column("member name"), strict=True))
    times = Counter(name for _, name in {(number.strip(), name) for number, name in members})
    shared = {name for name, several in times.items() if several > 1}
    subs = _sub_reviewers(table)
    written = sum(bool(who) for who, _ in subs)
    ids = [f"{name.strip()} (member {n.strip()})" if name in shared else name for n, name in members]
    by_member = [(emails.get(n.strip()) or who, name) for (n, name), who in zip(members, ids, strict=True)]
    if choices.unit == "member":
        said = f"{count(written, 'review')} by sub-reviewers count for the committee member"
        return by_member, (said,) if written else ()
    said = (
        f"{count(written, 'review')} by sub-reviewers count for them: the committee must list everyone who "
        "may have been one. If there is no such list, `unit` member counts them for the committee member"
    )
    reviewers = [sub if sub[0] else member for sub, member in zip(subs, by_member, strict=True)]
    return reviewers, (said,) if written else ()


def _sub_reviewers(table: HeadedTable) -> list[tuple[str, str]]:
    fields = ("first name", "last name", "email", "person #")
    columns = [table.column(table.first(f"reviewer {name}", f"subreviewer {name}")) for name in fields]
    people = []
    for first, last, email, person in zip(*columns, strict=True):
        name = f"{first.strip()} {last.strip()}".strip()
        people.append((email.strip() or name or (f"person {person.strip()}" if person.strip() else ""), name))
    return people


def _latest_versions(
    table: HeadedTable, rows: Sequence[RawReview]
) -> tuple[list[RawReview], int, list[Problem]]:
    """The row with the highest version of each review by a member, and how many older ones there are."""
    if "version" not in table:
        return list(rows), 0, []
    best: dict[tuple[str, str], tuple[int, list[RawReview]]] = {}
    problems = []
    cells = zip(table.column("version"), table.column("member #"), table.column("member name"), strict=True)
    for row, (version, number, name) in zip(rows, cells, strict=True):
        if not _WHOLE.fullmatch(version.strip()):
            problems.append(Problem(table.file, row.row, "version", "must be a whole number"))
            continue
        key, value = (row.paper.strip(), number.strip() or name.strip()), int(version.strip())
        known = best.get(key, (-1, []))
        if value >= known[0]:
            best[key] = (value, [*known[1], row] if value == known[0] else [row])
    kept = {id(row) for _, group in best.values() for row in group}
    latest = [row for row in rows if id(row) in kept]
    return latest, len(rows) - len(latest) - len(problems), problems


def committee_table(opened: OpenedExport) -> HeadedTable | None:
    """The table of the committee: in the zip of all tables, in the workbook, or alone; else None."""
    return find_only_table(_with_headers(opened, _committee_header), {"#", *_MEMBER[2:5], "role"}.issubset)


def conflicts(opened: OpenedExport) -> list[tuple[str, str]] | None:
    """The conflicts `(paper, member)` among the bids; None if there is no table of bids.

    Members go by email if the table of the committee came along, else by name.
    """
    table = find_only_table(opened.sheets, {"member #", "member name", "submission #", "bid"}.issubset)
    if table is None:
        return None
    emails = {number: email for number, email, _ in _members(opened)}
    cells = zip(*map(table.column, ("submission #", "member #", "member name", "bid")), strict=True)
    return [
        (paper.strip(), emails.get(number.strip()) or name)
        for paper, number, name, bid in cells
        if bid.strip().casefold() == "conflict"
    ]


def _table_problems(opened: OpenedExport, table: HeadedTable) -> list[Problem]:
    beside = ("#", "title", "track name", _DELETED, "decision", "first name", "last name", "email")
    others = filter(None, (find_only_table(opened.sheets, _SUBMISSIONS), committee_table(opened)))
    problems = [*table.problems, *table.repeated(_READ)]
    return problems + [problem for other in others for problem in (*other.problems, *other.repeated(beside))]


def _submissions(opened: OpenedExport) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """Titles, tracks, and which papers were withdrawn, if the table of submissions came with it."""
    table = find_only_table(opened.sheets, _SUBMISSIONS)
    if table is None:
        return {}, {}, {}
    papers = table.column("#")
    titles = dict(zip(papers, table.column("title"), strict=True))
    deleted = ["deleted" * (cell.strip().casefold() == "yes") for cell in table.column(_DELETED)]
    decisions = map(_decision, table.column("decision"))
    withdrawn = withdrawn_papers(zip(papers, deleted, decisions, strict=True))
    return titles, dict(zip(papers, table.column("track name"), strict=True)), withdrawn


def _decision(cell: str) -> str:
    """The decision that was made; `accept?` and `reject?` are proposals.

    >>> [_decision(cell) for cell in ("reject", "no decision", "accept?")]
    ['reject', '', '']
    """
    return "" if cell.strip().casefold() == "no decision" or cell.strip().endswith("?") else cell


def _members(opened: OpenedExport) -> list[tuple[str, str, str]]:
    """Number, email and name of each member, where the table of the committee came with it."""
    table = committee_table(opened)
    if table is None:
        return []
    columns = (table.column(name) for name in ("#", "email", "first name", "last name"))
    return [
        (number.strip(), email.strip(), f"{first.strip()} {last.strip()}".strip())
        for number, email, first, last in zip(*columns, strict=True)
    ]


def _namesakes(reviewers: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """A member without an email and a sub-reviewer with one may be one person."""
    ids: dict[str, set[str]] = {}
    for who, name in reviewers:
        ids.setdefault(name.strip().casefold(), set()).add(who)
    several = sum(len(numbers) > 1 for name, numbers in ids.items() if name)
    what = "with more than one reviewer id: kept apart; if that is one person, `map` can join them"
    return (f"{count(several, 'name')} {what}",) if several else ()
