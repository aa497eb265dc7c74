"""Any table of reviews: grant panels, juries, forms, own spreadsheets, blindcal's own tables.

A table has a row for each review; or a row for each paper with columns such as Reviewer 1 and Score 1; or, if
`layout` says so, a column for each person or for each paper. Columns go by their usual names. Others are
guessed, and the guess is taken only once somebody has confirmed it with `columns`.
"""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from blindcal.errors import InputError, Problem
from blindcal.importers.raw_export import (
    Choices,
    RawExport,
    dropped_count,
    export_error,
    listed,
    missing_field,
)
from blindcal.importers.scores import is_confidence_name, is_score_name, is_worded, score_shaped
from blindcal.importers.sheet import HeadedTable, OpenedExport, find_only_table, find_table
from blindcal.io.cells import count
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
    if choices.layout:
        return LAYOUTS.get(choices.layout)
    if _long_table(opened, _named_columns(choices)) or _long_table(opened, choices.columns):
        return TITLE
    return "a table with a row for each paper, and columns for its reviews" if _wide_table(opened) else None


def read(opened: OpenedExport, choices: Choices) -> RawExport:
    """The reviews of the only sheet that has the columns."""
    if choices.layout:
        return _read_matrix(opened, choices)
    table, score = _long_table(opened, _named_columns(choices)), choices.score_field
    if table is None and score is not None and (other := _long_table(opened, choices.columns)) is not None:
        raise missing_field(other.file, score, listed([name for name in other.names if name]), other.row)
    if table is None and not choices.columns and (wide := _wide_table(opened)) is not None:
        return _read_wide(*wide)
    if table is None:
        wanted = ", ".join(choices.columns.get(field, field) for field in _NEEDED)
        rule = f"must have a header row with the columns {wanted}: name them with `columns`"
        raise export_error(opened.file, rule)
    column_of = _columns_by_field(table, choices)
    said = [f"{field} from column {name}" for field, name in column_of.items()]
    return _with_ids_apart(replace(table.export(NAME, column_of), said=tuple(said)))


def _with_ids_apart(export: RawExport) -> RawExport:
    """The export, with papers by the id before a colon if all cells are like `P01: On Widgets`."""
    parted = _id_and_title([row.paper for row in export.rows])
    if not parted:
        return export
    titles = ((parted[row.paper.strip()], row) for row in export.rows)
    return replace(
        export,
        rows=[row._replace(paper=paper, title=row.title or title) for (paper, title), row in titles],
        said=(*export.said, "papers by the id before the colon, titles by what follows it"),
    )


_ID_AND_TITLE = re.compile(r"(\S{1,30}?)\s*(?::\s|\s[-–—]\s)\s*(\S.*)", re.DOTALL)


def _id_and_title(papers: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The id and the title in each distinct cell, if all are like `P01: On Widgets`; else nothing.

    >>> _id_and_title(["P01: On Widgets", "P02: Gears"])["P01: On Widgets"], _id_and_title(["P01: W", "P02"])
    (('P01', 'On Widgets'), {})
    """
    matches = {cell.strip(): _ID_AND_TITLE.fullmatch(cell.strip()) for cell in {*papers} if cell.strip()}
    parts = {cell: (match[1], match[2]) for cell, match in matches.items() if match is not None}
    several = len({paper for paper, _ in parts.values()}) > 1 and len({t for _, t in parts.values()}) > 1
    return parts if len(parts) == len(matches) and several else {}


# --- A row for each review, under the usual names or those that are given


def _named_columns(choices: Choices) -> Mapping[str, str]:
    """The columns that the chair named, that of the score included."""
    score = {} if choices.score_field is None else {"score": choices.score_field}
    return {**choices.columns, **score}


def _long_table(opened: OpenedExport, columns: Mapping[str, str]) -> HeadedTable | None:
    spellings = {field: _spellings(field, columns) for field in _NEEDED}

    def wanted(names: frozenset[str]) -> bool:
        return all(names & spellings[field] for field in _NEEDED)

    return find_only_table(opened.tables, wanted)


def _spellings(field: str, columns: Mapping[str, str]) -> frozenset[str]:
    names = (columns[field],) if field in columns else _NAMES[field]
    return frozenset(" ".join(name.split()).casefold() for name in names)


def _columns_by_field(table: HeadedTable, choices: Choices) -> dict[str, str]:
    """The column of each field. Two columns for one field are refused: only the chair can tell."""
    columns = _named_columns(choices)
    column_of, problems = {}, []
    taken = {name.casefold() for name in columns.values()}
    for field in FIELDS:
        spellings = _spellings(field, columns) - (frozenset() if field in columns else taken)
        matches = [name for name in dict.fromkeys(table.names) if name.casefold() in spellings]
        if field == "round" and field not in columns:
            matches = sorted(matches, key=lambda name: name.casefold() != field)[:1]
        if len({name.casefold() for name in matches}) > 1:
            rule = f"must have one column for it: say which with `columns` {field}=..."
            problems.append(Problem(table.file, table.row, field, rule, ", ".join(matches)))
        elif matches:
            column_of[field] = matches[0]
        elif field in columns or field in _NEEDED:
            rule = f"must be in the header as {columns.get(field, field)}"
            problems.append(Problem(table.file, table.row, field, rule))
    if "score" in column_of and "score" not in columns:
        taken = {column_of["score"].casefold()}
        others = [name for name in _scores_in(table, table.names) if name.casefold() not in taken]
        if several := [name for name in others if is_score_name(name)]:
            rule = "must have one column for it: say which with `columns` score=..."
            names = ", ".join([column_of["score"], *several])
            problems.append(Problem(table.file, table.row, "score", rule, names))
    if problems:
        raise input_error(problems)
    return column_of


_FIELD = re.compile(rf"(?:^|,)\s*({'|'.join(FIELDS)})\s*=")


def columns_of(text: str) -> dict[str, str]:
    """The columns that a text such as `paper=item_id,score=points` names, by what they hold.

    A comma in the name of a column is part of it, unless a field follows.

    >>> columns_of("paper=Which paper?,score=Overall (1 = worst, 10 = best)")
    {'paper': 'Which paper?', 'score': 'Overall (1 = worst, 10 = best)'}
    """
    marks = [*_FIELD.finditer(text)]
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    pairs = [(mark[1], text[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=False)]
    columns = dict(pairs)
    if not marks or marks[0].start() > 0 or len(columns) < len(pairs) or not all(columns.values()):
        known = ", ".join(FIELDS)
        raise InputError(f"`columns` must be like paper=item_id,score=points with {known}, found {text!r}")
    return columns


# --- A row for each paper: Reviewer 1, Score 1, Reviewer 2, Score 2

_NUMBERED = re.compile(r"(.*?)[ _#-]*([0-9]{1,2})[ _:.-]*(.*)")


def _wide_table(opened: OpenedExport) -> tuple[HeadedTable, str, list[tuple[str, str]]] | None:
    """The table, its column of papers, and the columns of reviewer and score of each review."""
    for sheet in opened.tables:
        table = find_table(sheet, lambda names: len(_numbered_reviews(sorted(names))) > 1)
        if table is not None:
            papers = [name for name in table.names if name.casefold() in _NAMES["paper"]]
            pairs = _numbered_reviews(table.names)
            return (table, papers[0], pairs) if len(papers) == 1 and len(pairs) > 1 else None
    return None


def _numbered_reviews(names: Sequence[str]) -> list[tuple[str, str]]:
    """The columns of reviewer and score by number, if each number has one of both.

    >>> _numbered_reviews(["Paper", "Reviewer 1", "Score 1", "Reviewer 2", "Score 2"])
    [('Reviewer 1', 'Score 1'), ('Reviewer 2', 'Score 2')]
    """
    people, scores = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for name in names:
        match = _NUMBERED.fullmatch(name)
        base = f"{match[1]} {match[3]}".strip().casefold() if match else ""
        if match and (base in _NAMES["score"] or is_score_name(base)):
            scores[match[2]].append(name)
        elif match and base in _NAMES["reviewer"]:
            people[match[2]].append(name)
    same = people.keys() == scores.keys()
    alone = all(len(columns) == 1 for columns in (*people.values(), *scores.values()))
    return [(people[number][0], scores[number][0]) for number in people] if same and alone else []


def _read_wide(table: HeadedTable, paper: str, pairs: Sequence[tuple[str, str]]) -> RawExport:
    title = table.first(*_NAMES["title"])
    columns = [{"paper": paper, "reviewer": who, "score": score, "title": title} for who, score in pairs]
    rows = [row for each in columns for row in table.reviews(**each)]
    export = table.export(NAME, columns[0], [name for pair in pairs[1:] for name in pair])
    paired = listed([f"{who} with {score}" for who, score in pairs])
    said = (f"{count(len(pairs), 'review')} in each row: {paired}",)
    filled = [row for row in rows if row.reviewer.strip() or row.score.strip()]
    return _with_ids_apart(replace(export, rows=filled, said=said))


# --- A matrix: a column for each person, or for each paper

LAYOUTS: Mapping[str, str] = {
    "people-in-columns": "a table with a row for each paper and a column for each person",
    "papers-in-columns": "a table with a row for each person and a column for each paper",
}
"""Layouts that only a person can tell from other tables of numbers."""
_FEWEST_COLUMNS = 3


def _read_matrix(opened: OpenedExport, choices: Choices) -> RawExport:
    """The filled cells of a matrix."""
    if choices.layout not in LAYOUTS:
        raise InputError(f"`layout` must be one of {', '.join(LAYOUTS)}, found {choices.layout!r}")
    field = "paper" if choices.layout == "people-in-columns" else "reviewer"
    sides = _names_of_side(field, choices.columns)
    table = find_only_table(opened.tables, lambda names: bool(names & sides))
    if table is None:
        rule = f"must have a header row with a column for the {field}: name it with `columns` {field}=..."
        raise export_error(opened.file, rule)
    side = next(name for name in table.names if name.casefold() in sides)
    numbers = _number_columns(table, side)
    if not numbers:
        raise export_error(table.file, "must have columns of scores", row=table.row)
    title = table.first(*_NAMES["title"])
    rows = [
        row._replace(reviewer=name) if field == "paper" else row._replace(paper=name)
        for name in numbers
        for row in table.reviews(**{field: side, "score": name, "title": title})
        if row.score.strip()
    ]
    # Other columns may be called like people.
    others = len(table.names) - len({side, title, *numbers} - {None})
    export = replace(
        table.export(NAME, {"paper": side, "score": numbers[0], "title": title}, numbers),
        rows=rows,
        score_field="the cells of the table",
        said=(f"{count(len(numbers), 'column')} of scores",),
        dropped=tuple(dropped_count(others, "other column", "no scores in it")),
    )
    return _with_ids_apart(export)


def _names_of_side(field: str, columns: Mapping[str, str]) -> frozenset[str]:
    further = {"name", "email", "e-mail", "email address"} if field == "reviewer" else set()
    return _spellings(field, columns) | (set() if field in columns else further)


def _number_columns(table: HeadedTable, side: str | None) -> list[str]:
    """The columns, other than that of the rows' ids, whose cells are scores or empty."""
    known = {side, table.first(*_NAMES["title"])}
    return [name for name in table.names if name and name not in known and score_shaped(table.column(name))]


# --- What the columns of an unknown table may be, for somebody to confirm

_PAPER_LIKE = re.compile(
    r"paper|submission|manuscript|proposal|application|abstract|project|item|beitrag|einreichung|artikel|article"
    r"|soumission|propuesta|projekt|antrag",
    re.I,
)
_PERSON_LIKE = re.compile(
    r"e-?mail|reviewer|referee|judge|juror|rater|evaluator|assessor|panel(?:l)?ist|gutachter|rapporteur|revisor"
    r"|jury|your name|^name$",
    re.I,
)
_TITLE_LIKE = re.compile(r"title|titel|titre|t[ií]tulo|comment|question|confiden|expert", re.I)
_SCORE_LIKE = re.compile(r"note|bewertung|punkte|grade|points|mark|score|rating|recommend", re.I)


def guess(opened: OpenedExport, score_field: str | None = None) -> dict[str, str]:
    """The columns of a table with a row for each review, as far as they can be guessed; to be confirmed.

    `score_field`: the column that the chair named for the score.
    """
    table = _first_headed_table(opened)
    if table is None:
        return {}
    names = [name for name in dict.fromkeys(table.names) if name]
    papers = [name for name in names if _PAPER_LIKE.search(name) and not _TITLE_LIKE.search(name)]
    people = [name for name in names if _PERSON_LIKE.search(name) and name not in papers]
    mails = [name for name in people if re.search("mail", name, re.I)]
    ids = [name for name in papers if re.search(r"\b(?:id|number|no|nr|#)\b", name, re.I)]
    given = [name for name in names if score_field and name.casefold() == score_field.casefold()]
    scores = given or _scores_in(table, names)
    columns = {"paper": (ids or papers)[:1], "reviewer": (mails or people)[:1], "score": scores}
    return {field: found[0] for field, found in columns.items() if len(found) == 1}


def _scores_in(table: HeadedTable, names: Sequence[str]) -> list[str]:
    others = [name for name in names if not is_confidence_name(name) and not _PERSON_LIKE.search(name)]
    called = [name for name in others if is_score_name(name) or _SCORE_LIKE.search(name)]
    shaped = [name for name in called if score_shaped(table.column(name))]
    worded = [name for name in called if len({*table.column(name)} - {""}) <= 12 and name not in shaped]
    return shaped or worded


def _first_headed_table(opened: OpenedExport) -> HeadedTable | None:
    """The table under the first row that is filled like a header, of the first sheet that has one."""
    for sheet in opened.tables:
        width = max((sum(bool(cell.strip()) for cell in cells) for _, cells in sheet.rows[:20]), default=0)
        for place, (row, cells) in enumerate(sheet.rows[:20]):
            filled = [" ".join(cell.split()) for cell in cells]
            if width >= 3 and len({*filled} - {""}) >= min(3, width) and 2 * sum(map(bool, filled)) > width:
                return HeadedTable(sheet, place, row, tuple(filled))
    return None


def advice(opened: OpenedExport, score_field: str | None = None) -> str:
    """How a table that was not recognized may be read, for a person to confirm; empty without a guess."""
    table = _first_headed_table(opened)
    if table is None:
        return ""
    columns = guess(opened, score_field)
    if len(columns) == len(_NEEDED):
        given = ",".join(f"{field}={name}" for field, name in columns.items())
        order = ""
        if is_worded(table.column(columns["score"])):
            words = sorted({cell.strip() for cell in table.column(columns["score"])} - {""})
            order = f", and the order of its words with `best_first`: {listed(words)}"
        return f"must be confirmed: if these are the columns, give `columns` {shlex.quote(given)}{order}"
    for field, layout in (("paper", "people-in-columns"), ("reviewer", "papers-in-columns")):
        side = next((name for name in table.names if name.casefold() in _names_of_side(field, {})), None)
        numbers = [] if side is None else _number_columns(table, side)
        if side is not None and len(numbers) >= _FEWEST_COLUMNS:
            what = "a person" if field == "paper" else "a paper"
            return (
                f"must be confirmed: {side} and {len(numbers)} columns of numbers were found. If each of "
                f"these is {what}, give `layout` {layout}"
            )
    if not columns:
        return ""
    scores = _scores_in(table, [name for name in dict.fromkeys(table.names) if name])
    if len(scores) < 2:
        return ""
    parts = [f"{field}={columns.get(field, '...')}" for field in _NEEDED]
    return (
        f"must have one column for the score, found {', '.join(scores)}: complete `columns` "
        f"{shlex.quote(','.join(parts))}"
    )
