"""pretalx: the organizer's export of reviews (CSV, JSON), the reviews of its API, and its list of teams."""

from __future__ import annotations

from collections.abc import Mapping

from blindcal.importers.raw_export import (
    Choices,
    RawExport,
    RawReview,
    dropped_columns,
    export_error,
    silent,
    withdrawn_papers,
)
from blindcal.importers.scores import choose_score_field, score_shaped
from blindcal.importers.sheet import (
    HeadedTable,
    Item,
    OpenedExport,
    Worksheet,
    all_pages,
    find_only_table,
    json_cell,
    json_columns,
    json_objects,
    json_pages,
    json_worksheet,
)
from blindcal.io.cells import unescape

NAME, TITLE = "pretalx", "pretalx"
_TOTAL = "score"
_CATEGORY = "category "
# What the organizer's export calls its columns if pretalx speaks English. Categories come after these.
_COLUMNS = (
    *("score", "text", "proposal id", "proposal title", "created", "updated"),
    *("reviewer name", "reviewer email"),
)
_PEOPLE = {"reviewer name", "reviewer email"}
_UNTICKED = "must have the column Proposal ID: tick it in pretalx's export"
_HIDDEN = "must say who the reviewers are: tick Reviewer email in pretalx's export"
_DECIDED = {"accepted", "confirmed", "rejected"}
_STATELESS = silent("pretalx's export") + "; the API with expand=submission says it"
_BY_NAME = "there are no emails: reviewers of one name are taken as one person; tick Reviewer email"


def recognize(opened: OpenedExport, choices: Choices) -> str | None:
    """What kind of pretalx export this is, in words, or None."""
    if _table(opened) is not None:
        return "pretalx's export of reviews"
    return "pretalx reviews" if opened.is_json and any(map(_is_review, _items(opened.value))) else None


def read(opened: OpenedExport, choices: Choices) -> RawExport:
    """The reviews of the export, or of all pages of the API. Reviewers go by email if the file has emails."""
    table = _table(opened)
    return _read_api(opened, choices) if table is None else _read_export(table, choices)


def team_sheet(opened: OpenedExport) -> Worksheet | None:
    """The members of all teams that may review, as a table `code,name,email`; None for any other file."""
    teams = _items(opened.value) if opened.is_json else []
    if not teams or not all("members" in team and "is_reviewer" in team for team in teams):
        return None
    reviewing = [team for team in teams if team["is_reviewer"]]
    if not reviewing:
        raise export_error(opened.file, "must have a team that may review: ask for the teams of this event")
    if not all(isinstance(member, dict) for team in reviewing for member in team["members"] or ()):
        rule = "must say who the members are: fetch the teams with ?expand=members"
        raise export_error(opened.file, rule, "codes alone")
    header = ["code", "name", "email"]
    people = [member for team in reviewing for member in json_objects(team["members"])]
    members = [[json_cell(member.get(name)) for name in header] for member in people]
    return Worksheet(opened.file, "", list(enumerate([header, *members])))


def _table(opened: OpenedExport) -> HeadedTable | None:
    sheets = (json_worksheet(opened),) if opened.is_json else opened.sheets
    return find_only_table([sheet for sheet in sheets if sheet is not None], _exported)


def _exported(names: frozenset[str]) -> bool:
    if "proposal id" in names:
        return bool(names & _PEOPLE) or {_TOTAL, "text"} <= names
    # Of another table with a proposal's title, the column of papers is called differently.
    return "proposal title" in names and bool(names & _PEOPLE) and bool(names & {"text", "created"})


def _read_export(table: HeadedTable, choices: Choices) -> RawExport:
    who = table.first("Reviewer email", "Reviewer name")
    if "Proposal ID" not in table:
        raise export_error(table.file, _UNTICKED, row=table.row or None)
    if who is None:
        raise export_error(table.file, _HIDDEN, row=table.row or None)
    categories = [name for name in dict.fromkeys(table.names) if name and name.casefold() not in _COLUMNS]
    total = [name for name in table.names if name.casefold() == _TOTAL]
    columns = {name: table.column(name) for name in (*total, *categories)}
    score, fields = _score(columns, choices, table.file, table.row or None)
    used = ("Proposal ID", who, score, "Proposal title", "Reviewer name")
    rows = [
        RawReview(number, paper, person, cell, title=unescape(title), name=unescape(name))
        for (number, _), paper, person, cell, title, name in zip(
            table.rows, *map(table.column, used), strict=True
        )
    ]
    taken = {name.casefold() for name in used}
    unused = [name for name in table.names if name.casefold() not in taken]
    texts = [name for name in unused if name.casefold() == "text" or (name in columns and name not in fields)]
    return RawExport(
        format=NAME,
        file=table.file,
        rows=rows,
        score_field=score,
        dropped=dropped_columns(unused, texts),
        warnings=(*(() if who == "Reviewer email" else (_BY_NAME,)), _STATELESS),
        problems=(*table.problems, *table.repeated(used)),
    )


def _read_api(opened: OpenedExport, choices: Choices) -> RawExport:
    items = json_pages(opened.value)
    paged = any("results" in page for page in items)
    reviews = list(all_pages(items, "results", opened.file)) if paged else items
    if not any(map(_is_review, reviews)):
        raise export_error(opened.file, "must be pretalx reviews: objects with submission, user and score")
    if not any(_user(review)[0] for review in reviews):
        raise export_error(
            opened.file, "must say who the reviewers are: fetch as an organizer who may see reviewers"
        )
    answers = [_answers(review) for review in reviews]
    columns = json_columns(answers)
    score, _ = _score(columns, choices, opened.file)
    cells = enumerate(zip(reviews, columns[score], strict=True), start=1)
    unused = dict.fromkeys(key for review in reviews for key in review)
    kept = {"submission", "user", "scores", _TOTAL}
    return RawExport(
        format=NAME,
        file=opened.file,
        rows=[_row(number, review, cell) for number, (review, cell) in cells],
        score_field=score,
        dropped=dropped_columns(
            [*(key for key in unused if key not in kept), *(name for name in columns if name != score)],
            ["text"],
        ),
        withdrawn=_withdrawn(reviews),
        warnings=() if any(isinstance(item.get("submission"), dict) for item in reviews) else (_STATELESS,),
    )


def _withdrawn(reviews: list[Item]) -> dict[str, str]:
    """What became of each proposal that is no longer there or is decided, by its state."""
    papers = [paper for review in reviews if isinstance(paper := review.get("submission"), dict)]
    states = [(json_cell(paper.get("code")), json_cell(paper.get("state"))) for paper in papers]
    return withdrawn_papers(
        (code, "withdrawn" if state == "canceled" else state, state if state in _DECIDED else "")
        for code, state in states
    )


def _score(
    columns: Mapping[str, list[str]], choices: Choices, file: str, row: int | None = None
) -> tuple[str, Mapping[str, tuple[str, ...]]]:
    """The column of the score, and all that could be it.

    It is the total unless one is named. A category goes by one name in the export, `Quality`, and by another
    in the API, `category Quality`: either is understood.
    """
    fields = {name: _aliases(name) for name, cells in columns.items() if score_shaped(cells)}
    total = next((name for name in fields if name.casefold() == _TOTAL), None)
    return choose_score_field(fields, choices.score_field or total, file, row), fields


def _aliases(name: str) -> tuple[str, ...]:
    """The other name of a category.

    One that is called Score, as pretalx's first is, has none: that name is the total's.
    """
    bare = name.removeprefix(_CATEGORY)
    if bare.casefold() == _TOTAL:
        return ()
    return (_CATEGORY + name if bare == name else bare,)


def _row(number: int, review: Item, score: str) -> RawReview:
    (user, name), paper = _user(review), review.get("submission")
    if not isinstance(paper, dict):
        return RawReview(number, json_cell(paper), user, score, name=name)
    code, title = json_cell(paper.get("code")), json_cell(paper.get("title"))
    track = _translated(paper.get("track"))
    return RawReview(number, code, user, score, track=track, title=title, name=name)


def _items(value: object) -> list[Item]:
    items = json_pages(value)
    return [item for page in items for item in json_objects(page.get("results"))] or items


def _is_review(item: Item) -> bool:
    return {"submission", "user", "score"} <= item.keys()


def _user(review: Item) -> tuple[str, str]:
    """Id and name: the email if the user is expanded, as the organizer's export and other years have it."""
    user = review.get("user")
    if isinstance(user, dict):
        name = json_cell(user.get("name"))
        return json_cell(user.get("email")) or json_cell(user.get("code")) or name, name
    return json_cell(user), ""


def _translated(value: object) -> str:
    """A text that may come in several languages: the English one, or the first."""
    if isinstance(value, dict):
        name = value.get("name", value)
        if isinstance(name, dict):
            name = name.get("en") or next(iter(name.values()), "")
        return json_cell(name)
    return json_cell(value)


def _answers(review: Item) -> Mapping[str, str]:
    """The total, and the score in each category if they are expanded."""
    answer = {_TOTAL: json_cell(review.get("score"))}
    for score in json_objects(review.get("scores")):
        category = _translated(score.get("category"))
        if category:
            answer[_CATEGORY + category] = json_cell(score.get("value"))
    return answer
