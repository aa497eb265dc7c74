"""Microsoft CMT: reviews as SpreadsheetML, `.xlsx` or tab-separated text, headers below a title row."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from blindcal.importers.raw_export import (
    Choices,
    Dropped,
    RawExport,
    RawReview,
    dropped_columns,
    export_error,
    silent,
    withdrawn_papers,
)
from blindcal.importers.scores import (
    choose_score_field,
    find_scores,
    is_confidence_name,
    is_score_name,
    score_shaped,
)
from blindcal.importers.sheet import HeadedTable, OpenedExport, find_table
from blindcal.io.cells import count, normalize_id, whole_ids

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
    tables = _tables(opened)
    if not tables:
        return None
    return "CMT reviews (2017 or older)" if "submissionid" in tables[0] else "CMT reviews"


def read(opened: OpenedExport, choices: Choices) -> RawExport:
    """The reviews of all worksheets that ask for the score; several such worksheets are tracks."""
    every, rule = (
        _tables(opened),
        "must be a CMT export of reviews: a header with Paper ID and Reviewer Email",
    )
    if not every:
        raise export_error(opened.file, rule)
    # If no sheet asks for the score, the first of them says so.
    tables = [table for table in every if _asks(table, choices.score_field)] or every
    names = _track_names(tables)
    parts = [_read(table, name, choices) for table, name in zip(tables, names, strict=True)]
    if len({part.score_field for part in parts}) > 1 and choices.score_field is None:
        fields = ", ".join(dict.fromkeys(part.score_field for part in parts))
        raise export_error(
            opened.file, "must have one score in all tracks: say which with `score_field`", fields
        )
    others = [
        Dropped(f"the sheet {t.sheet.name} with {count(len(t.rows), 'row')}", "it does not ask for the score")
        for t in every
        if t not in tables
    ]
    return RawExport(
        format=NAME,
        file=opened.file,
        rows=[row for part in parts for row in part.rows],
        score_field=parts[0].score_field,
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
    tables = [found for sheet in opened.sheets if (found := find_table(sheet, lists_statuses)) is not None]
    if not tables:
        raise export_error(opened.file, "must be CMT's export of submissions, with Paper ID and Status")
    pairs = [
        (normalize_id(paper.strip()), " ".join(status.split()))
        for table in tables
        for paper, status in zip(table.column("Paper ID"), table.column("Status"), strict=True)
    ]
    papers = whole_ids([paper for paper, _ in pairs])
    decided = [(status, "" if status.casefold() in _OPEN else status) for _, status in pairs]
    return withdrawn_papers((paper, *words) for paper, words in zip(papers, decided, strict=True))


def _wanted(names: frozenset[str]) -> bool:
    people = {"reviewer email", "reviewer name", "reviewer number"} & names
    return ("paper id" in names and bool(people)) or {"submissionid", "email", "lastname"} <= names


def _tables(opened: OpenedExport) -> list[HeadedTable]:
    tables = [find_table(sheet, _wanted) for sheet in opened.sheets]
    return [table for table in tables if table is not None]


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
    columns = _questions(table)
    fields = _fields(columns)
    given = choices.score_field
    if given is not None and not _named(fields, given):
        given = choose_score_field({n: _aliases(n) for n in columns}, given, table.file, table.row)
    score, confidence, *_ = find_scores(columns, given, table.file, table.row, fields)
    paper, title = table.first("Paper ID", "SubmissionId"), table.first("Paper Title", "SubmissionName")
    wanted = (paper, who, score, confidence, None, None, title)
    halves = zip(table.column("FirstName"), table.column("LastName"), strict=True)
    names = table.column("Reviewer Name") if "Reviewer Name" in table else list(map(" ".join, halves))
    cells = zip(*(table.column(name) for name in wanted), names, strict=True)
    rows = [
        RawReview(number, *values)._replace(track=track, file=table.file)
        for (number, _), values in zip(table.rows, cells, strict=True)
    ]
    return RawExport(
        format=NAME,
        file=table.file,
        rows=rows,
        score_field=score,
        confidence_field=confidence,
        dropped=_dropped(table, {paper, who, score, confidence, title}, fields),
        warnings=(_BY_NAME,) if who == "Reviewer Name" else (),
        problems=(*table.problems, *table.repeated([paper, who, score, confidence])),
    )


def _aliases(name: str) -> tuple[str, ...]:
    """The other names of a question: `Q2`, its text, and both without ` - Value`.

    >>> _aliases("Q2 (Overall (1-5) - Value)")
    ('Q2', 'Overall (1-5)', 'Q2 (Overall (1-5))')
    """
    if match := _QUESTION.fullmatch(name):
        return match[1], match[2], f"{match[1]} ({match[2]})"
    match = _NUMERIC.fullmatch(name)
    return (match[1],) if match else ()


def _questions(table: HeadedTable) -> dict[str, list[str]]:
    names = [name for name in table.names if name and name.casefold() not in _KNOWN]
    return {name: table.column(name) for name in dict.fromkeys(names)}


def _fields(columns: Mapping[str, list[str]]) -> dict[str, tuple[str, ...]]:
    """The questions that can be the score.

    These are the ones with a column of values, and those without one that are called so, in numbers or in
    words. Only if there are none, anything that looks like a score.
    """
    valued = [name for name in columns if _NUMERIC.fullmatch(name) or re.fullmatch(r".* - Value\)", name)]
    # A question and its values have one number; their texts may differ by a space.
    twins = {_key(name) for name in valued}
    alone = {name: cells for name, cells in columns.items() if _key(name) not in twins}
    shaped = [name for name, cells in alone.items() if score_shaped(cells)]
    worded = [name for name, cells in alone.items() if name not in shaped and _few_words(cells)]
    named = [*filter(is_score_name, (*shaped, *worded)), *filter(is_confidence_name, shaped)]
    names = [*valued, *named] if valued else [*shaped, *named]
    if all(map(is_confidence_name, names)):
        names += shaped or worded
    return {name: _aliases(name) for name in dict.fromkeys(names)}


def _key(name: str) -> str:
    """The number of a question, or its text if it has none: the same for its values."""
    return (*_aliases(name), name)[0]


def _few_words(cells: Sequence[str]) -> bool:
    """Whether the answers are chosen among a few: some are given twice, and all are short.

    >>> _few_words(["Accept", "Reject", "Accept"]), _few_words(["A fine paper.", "Not for me."])
    (True, False)
    """
    filled = [cell for cell in cells if cell.strip()]
    return len({*filled}) <= min(_MOST_ANSWERS, len(filled) - 1) and max(map(len, filled)) <= _LONGEST_ANSWER


def _named(fields: Mapping[str, Sequence[str]], given: str) -> bool:
    wanted = " ".join(given.split()).casefold()
    return any(wanted == other.casefold() for name, also in fields.items() for other in (name, *also))


def _asks(table: HeadedTable, given: str | None) -> bool:
    """Whether a sheet has the question that was given or, without one, any in numbers or called like it."""
    columns = _questions(table)
    fields = _fields(columns)
    if given is not None:
        return _named(fields, given)
    merits = [name for name in fields if not is_confidence_name(name)]
    return any(is_score_name(name) or score_shaped(columns[name]) for name in merits)


def _dropped(
    table: HeadedTable, used: set[str | None], fields: dict[str, tuple[str, ...]]
) -> tuple[Dropped, ...]:
    names = [name for name in table.names if name and name not in used and name.casefold() != "reviewer name"]
    texts = [name for name in names if name.casefold() not in _KNOWN and name not in fields]
    return dropped_columns(names, texts)
