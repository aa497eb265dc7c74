"""Any table with a row for each review: grant panels, juries, own spreadsheets, blindcal's own tables."""

from __future__ import annotations

from collections.abc import Mapping

from blindcal.errors import InputError, Problem
from blindcal.importers.raw_export import Choices, RawExport, RawReview, dropped_columns, export_error
from blindcal.importers.sheet import HeadedTable, OpenedExport, find_only_table, json_worksheet
from blindcal.io.cells import unescape
from blindcal.io.tables import input_error

NAME, TITLE = "panel", "a table with a row for each review"
FIELDS = ("paper", "reviewer", "score", "confidence", "track", "round", "title", "name")
_NEEDED = FIELDS[:3]
_NAMES: Mapping[str, tuple[str, ...]] = {
    "paper": (
        *("paper", "paperid", "paper_id", "paper id", "submission", "submission_id"),
        *("item", "item_id", "task"),
        *("proposal", "proposal_id", "application", "application_id", "abstract_id", "project", "project_id"),
    ),
    "reviewer": (
        *("reviewer", "reviewerid", "reviewer_id", "reviewer id", "rater", "rater_id", "worker", "personid"),
        *("judge", "judge_id", "juror", "referee", "referee_id", "panelist", "panelist_id", "assessor"),
        *("evaluator", "evaluator_id", "expert", "expert_id", "reviewer email", "reviewer_email"),
    ),
    "score": ("score", "rating", "label", "points", "grade", "mark", "overall score", "overall_score"),
    "confidence": ("confidence", "reviewer confidence", "reviewer_confidence"),
    "track": ("track", "panel", "call", "category", "subpanel"),
    "round": ("round", "stage", "phase"),
    "title": ("title", "paper title", "paper_title", "proposal title"),
    "name": ("name", "reviewer name", "reviewer_name"),
}


def recognize(opened: OpenedExport, choices: Choices) -> str | None:
    """What kind of table this is, in words, or None; `columns` of the `choices` says what they are called."""
    return TITLE if _table(opened, choices.columns) is not None else None


def read(opened: OpenedExport, choices: Choices) -> RawExport:
    """The reviews of the only sheet that has the columns."""
    table = _table(opened, choices.columns)
    if table is None:
        wanted = ", ".join(choices.columns.get(field, field) for field in _NEEDED)
        rule = f"must have a header row with the columns {wanted}: name them with `columns`"
        raise export_error(opened.file, rule)
    column_of = _places(table, choices)
    cells = {field: [unescape(cell) for cell in table.column(column_of.get(field))] for field in FIELDS}
    cells["score"] = table.column(column_of["score"])
    rows = [
        RawReview(number, *(cells[field][i] for field in FIELDS)) for i, (number, _) in enumerate(table.rows)
    ]
    return RawExport(
        format=NAME,
        file=table.file,
        rows=rows,
        score_field=column_of["score"],
        confidence_field=column_of.get("confidence"),
        said=tuple(f"{field} from column {name}" for field, name in column_of.items()),
        dropped=dropped_columns(name for name in table.names if name not in column_of.values()),
        problems=(*table.problems, *table.repeated(list(column_of.values()))),
    )


def _table(opened: OpenedExport, columns: Mapping[str, str]) -> HeadedTable | None:
    spellings = {field: _spellings(field, columns) for field in _NEEDED}
    sheets = (json_worksheet(opened),) if opened.is_json else opened.sheets

    def wanted(names: frozenset[str]) -> bool:
        return all(names & spellings[field] for field in _NEEDED)

    return find_only_table([sheet for sheet in sheets if sheet is not None], wanted)


def _spellings(field: str, columns: Mapping[str, str]) -> frozenset[str]:
    names = (columns[field],) if field in columns else _NAMES[field]
    return frozenset(" ".join(name.split()).casefold() for name in names)


def _places(table: HeadedTable, choices: Choices) -> dict[str, str]:
    """The column of each field. Two columns for one field are refused: only the chair can tell."""
    columns = dict(choices.columns)
    if choices.score_field is not None:
        columns["score"] = choices.score_field
    column_of, problems = {}, []
    taken = {name.casefold() for name in columns.values()}
    for field in FIELDS:
        spellings = _spellings(field, columns) - (frozenset() if field in columns else taken)
        matches = [name for name in dict.fromkeys(table.names) if name.casefold() in spellings]
        if len({name.casefold() for name in matches}) > 1:
            rule = f"must have one column for it: say which with `columns` {field}=..."
            problems.append(Problem(table.file, table.row, field, rule, ", ".join(matches)))
        elif matches:
            column_of[field] = matches[0]
        elif field in columns or field in _NEEDED:
            rule = f"must be in the header as {columns.get(field, field)}"
            problems.append(Problem(table.file, table.row, field, rule))
    if problems:
        raise input_error(problems)
    return column_of


def columns_of(text: str) -> dict[str, str]:
    """The columns that a text such as `paper=item_id,score=points` names, by what they hold."""
    columns = {}
    for part in text.split(","):
        field, equals, name = part.partition("=")
        if not equals or field.strip() not in FIELDS or not name.strip() or field.strip() in columns:
            known = ", ".join(FIELDS)
            raise InputError(
                f"`columns` must be like paper=item_id,score=points with {known}, found {part!r}"
            )
        columns[field.strip()] = name.strip()
    return columns
