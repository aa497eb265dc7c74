"""Microsoft CMT: reviews as SpreadsheetML, `.xlsx` or tab-separated text, headers below a title row."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from blindcal.importers.raw_export import (
    Choices,
    Dropped,
    RawExport,
    clean_id,
    export_error,
    silent,
    withdrawn_papers,
)
from blindcal.importers.scores import (
    find_scores,
    is_confidence_name,
    is_score_name,
    matching_fields,
    score_shaped,
)
from blindcal.importers.sheet import HeadedTable, OpenedExport, find_tables
from blindcal.io.cells import count, whole_ids

NAME, TITLE = "cmt", "CMT"
_QUESTION = re.compile(r"(Q[0-9]+) \((.*?)( - Value)?\)", re.DOTALL)
_NUMERIC = re.compile(r"(.*?) \(Numeric\)", re.DOTALL)
_KNOWN = {
    *("paper id", "paper title", "submissionid", "submissionname", "reviewer name", "reviewer email"),
    *("reviewer number", "created", "last modified", "firstname", "lastname", "email", "organization"),
}
_MOST_ANSWERS, _LONGEST_ANSWER = 12, 100
_BY_NAME = "there are no emails: reviewers of one name are taken as one person"
_IDENTITIES = "must have the column Reviewer Email: Reviewer Number only counts the reviews of a paper"


def recognize(opened: OpenedExport, choices: Choices) -> str | None:
    """What kind of CMT export this is, in words, or None."""
    tables = find_tables(opened.sheets, _lists_reviews)
    if not tables:
        return None
    return "CMT reviews (2017 or older)" if "submissionid" in tables[0] else "CMT reviews"


def read(opened: OpenedExport, choices: Choices) -> RawExport:
    """The reviews of all worksheets that ask for the score; several such worksheets are tracks."""
    every = find_tables(opened.sheets, _lists_reviews)
    if not every:
        rule = "must be a CMT export of reviews: a header with Paper ID and Reviewer Email"
        raise export_error(opened.file, rule)
    # If no sheet asks for the score, the first of them says so.
    tables = [table for table in every if _asks_for_score(table, choices.score_field)] or every
    parts = [_read(*pair, choices) for pair in zip(tables, _track_names(tables), strict=True)]
    if len({part.score_field for part in parts}) > 1 and choices.score_field is None:
        fields = ", ".join(dict.fromkeys(part.score_field for part in parts))
        rule = "must have one score in all tracks: say which with `score_field`"
        raise export_error(opened.file, rule, fields)
    others = [
        Dropped(f"the sheet {t.sheet.name} with {count(len(t.rows), 'row')}", "it does not ask for the score")
        for t in every
        if t not in tables
    ]
    return replace(
        parts[0],
        file=opened.file,
        rows=[row for part in parts for row in part.rows],
        confidence_field=next((part.confidence_field for part in parts if part.confidence_field), None),
        dropped=(*dict.fromkeys(item for part in parts for item in part.dropped), *others),
        warnings=(
            *dict.fromkeys(line for part in parts for line in part.warnings),
            silent("CMT's export of reviews"),
        ),
        problems=tuple(problem for part in parts for problem in part.problems),
    )


_OPEN = {"awaiting decision", "submitted", "under review"}


def lists_statuses(names: frozenset[str]) -> bool:
    """Whether a table with columns of these `names` is CMT's export of submissions."""
    return {"paper id", "status"} <= names and not names & {"reviewer email", "reviewer name"}


def read_statuses(opened: OpenedExport) -> dict[str, str]:
    """Why papers in CMT's export of submissions are not to be decided, by paper."""
    tables = find_tables(opened.sheets, lists_statuses)
    if not tables:
        raise export_error(opened.file, "must be CMT's export of submissions, with Paper ID and Status")
    pairs = [
        (clean_id(paper), " ".join(status.split()))
        for table in tables
        for paper, status in zip(table.column("Paper ID"), table.column("Status"), strict=True)
    ]
    papers = whole_ids([paper for paper, _ in pairs])
    decided = [(status, "" if status.casefold() in _OPEN else status) for _, status in pairs]
    return withdrawn_papers((paper, *words) for paper, words in zip(papers, decided, strict=True))


def _lists_reviews(names: frozenset[str]) -> bool:
    people = {"reviewer email", "reviewer name", "reviewer number"} & names
    return ("paper id" in names and bool(people)) or {"submissionid", "email", "lastname"} <= names


def _track_names(tables: Sequence[HeadedTable]) -> list[str]:
    """A name for each worksheet: its first row, or the sheet's where those do not tell tracks apart."""
    if len(tables) == 1:
        return [""]
    tops = [" ".join(" ".join(table.sheet.rows[0][1]).split()) if table.place else "" for table in tables]
    return tops if all(tops) and len(set(tops)) == len(tops) else [table.sheet.name for table in tables]


def _read(table: HeadedTable, track: str, choices: Choices) -> RawExport:
    who = table.first("Reviewer Email", "Email", "Reviewer Name")
    if who is None:
        raise export_error(table.file, _IDENTITIES, row=table.row)
    columns = table.columns_beside(_KNOWN)
    fields = _score_questions(columns)
    score, confidence, *_ = find_scores(
        columns, choices.score_field, table.file, table.row, fields, _question_names
    )
    paper, title = table.first("Paper ID", "SubmissionId"), table.first("Paper Title", "SubmissionName")
    used = {"paper": paper, "reviewer": who, "score": score, "confidence": confidence}
    used |= {"title": title, "name": "Reviewer Name"}
    export = table.export(NAME, used, texts=columns.keys() - {*fields})
    halves = map(" ".join, zip(table.column("FirstName"), table.column("LastName"), strict=True))
    names = table.column("Reviewer Name") if "Reviewer Name" in table else halves
    named = zip(export.rows, names, strict=True)
    return replace(
        export,
        rows=[row._replace(name=name, track=track, file=table.file) for row, name in named],
        warnings=(_BY_NAME,) if who == "Reviewer Name" else (),
    )


def _question_names(name: str) -> tuple[str, ...]:
    """The other names of a question: `Q2`, its text, and both without ` - Value`.

    >>> _question_names("Q2 (Overall (1-5) - Value)")
    ('Q2', 'Overall (1-5)', 'Q2 (Overall (1-5))')
    """
    if match := _QUESTION.fullmatch(name):
        return match[1], match[2], f"{match[1]} ({match[2]})"
    match = _NUMERIC.fullmatch(name)
    return (match[1],) if match else ()


def _score_questions(columns: Mapping[str, list[str]]) -> list[str]:
    """The questions that can be the score.

    These are the ones with a column of values, and those without one that are called so, in numbers or in
    words. Only if there are none, anything that looks like a score.
    """
    valued = [name for name in columns if _NUMERIC.fullmatch(name) or re.fullmatch(r".* - Value\)", name)]
    # A question and its values have one number; their texts may differ by a space.
    twins = {_number_or_text(name) for name in valued}
    alone = {name: cells for name, cells in columns.items() if _number_or_text(name) not in twins}
    shaped = [name for name, cells in alone.items() if score_shaped(cells)]
    worded = [name for name, cells in alone.items() if name not in shaped and _few_words(cells)]
    named = [*filter(is_score_name, (*shaped, *worded)), *filter(is_confidence_name, shaped)]
    names = [*valued, *named] if valued else [*shaped, *named]
    if all(map(is_confidence_name, names)):
        names += shaped or worded
    return list(dict.fromkeys(names))


def _number_or_text(name: str) -> str:
    """The number of a question, or its text if it has none: the same for its values."""
    return (*_question_names(name), name)[0]


def _few_words(cells: Sequence[str]) -> bool:
    """Whether the answers are chosen among a few: some are given twice, and all are short.

    >>> _few_words(["Accept", "Reject", "Accept"]), _few_words(["A fine paper.", "Not for me."])
    (True, False)
    """
    filled = [cell for cell in cells if cell.strip()]
    return len({*filled}) <= min(_MOST_ANSWERS, len(filled) - 1) and max(map(len, filled)) <= _LONGEST_ANSWER


def _asks_for_score(table: HeadedTable, given: str | None) -> bool:
    """Whether a sheet has the question that was given or, without one, any in numbers or called like it."""
    columns = table.columns_beside(_KNOWN)
    fields = _score_questions(columns)
    if given is not None:
        return bool(matching_fields(fields, given, _question_names))
    merits = [name for name in fields if not is_confidence_name(name)]
    return any(is_score_name(name) or score_shaped(columns[name]) for name in merits)
