"""pretalx: the organizer's export of reviews (CSV, JSON), the reviews of its API, and its list of teams."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from blindcal.importers.raw_export import Choices, RawExport, export_error, silent, withdrawn_papers
from blindcal.importers.scores import choose_score_field, score_shaped
from blindcal.importers.sheet import (
    HeadedTable,
    Item,
    MixedListError,
    OpenedExport,
    Worksheet,
    all_pages,
    find_only_table,
    json_cell,
    json_objects,
    json_pages,
    record_table,
)

NAME, TITLE = "pretalx", "pretalx"
_TOTAL = "score"
_CATEGORY = "category "
# What the organizer's export calls its other columns if pretalx speaks English. Categories come after these.
_PEOPLE = {"reviewer name", "reviewer email"}
_NO_SCORES = {"text", "proposal id", "proposal title", "created", "updated", *_PEOPLE}
_READ = {"submission", "user", "scores", _TOTAL}
_UNTICKED = "must have the column Proposal ID: tick it in pretalx's export"
_HIDDEN = "must say who the reviewers are: tick Reviewer email in pretalx's export"
_DECIDED = {"accepted", "confirmed", "rejected"}
_STATELESS = silent("pretalx's export") + "; the API with expand=submission says it"
_BY_NAME = "there are no emails: reviewers of one name are taken as one person; tick Reviewer email"


def recognize(opened: OpenedExport, choices: Choices) -> str | None:
    """What kind of pretalx export this is, in words, or None."""
    if _review_table(opened) is not None:
        return "pretalx's export of reviews"
    return "pretalx reviews" if any(map(_is_review, _listed_items(opened.value))) else None


def read(opened: OpenedExport, choices: Choices) -> RawExport:
    """The reviews of the export, or of all pages of the API. Reviewers go by email if the file has emails."""
    table = _review_table(opened)
    return _read_api(opened, choices) if table is None else _read_export(table, choices)


def team_sheet(opened: OpenedExport) -> Worksheet | None:
    """The members of all teams that may review, as a table `code,name,email`; None for any other file."""
    try:
        teams = _listed_items(opened.value)
    except MixedListError:
        return None
    if not teams or not all("members" in team and "is_reviewer" in team for team in teams):
        return None
    reviewing = [team["members"] for team in teams if team["is_reviewer"]]
    if not reviewing:
        raise export_error(opened.file, "must have a team that may review: ask for the teams of this event")
    people = [member for part in reviewing for member in (part if isinstance(part, list) else [part])]
    if not all(isinstance(person, dict) for person in people):
        rule = "must say who the members are: fetch the teams with ?expand=members"
        raise export_error(opened.file, rule, "codes alone")
    header = ["code", "name", "email"]
    members = [[json_cell(person.get(name)) for name in header] for person in people]
    return Worksheet(opened.file, "", list(enumerate([header, *members])))


def _review_table(opened: OpenedExport) -> HeadedTable | None:
    return find_only_table(opened.tables, _is_export)


def _is_export(names: frozenset[str]) -> bool:
    if "proposal id" in names:
        return bool(names & _PEOPLE) or {_TOTAL, "text"} <= names
    # Of another table with a proposal's title, the column of papers is called differently.
    return "proposal title" in names and bool(names & _PEOPLE) and bool(names & {"text", "created"})


def _read_export(table: HeadedTable, choices: Choices, left: Iterable[str] = ()) -> RawExport:
    """The reviews of a table; `left` are fields of the export that did not come into it."""
    who = table.first("Reviewer email", "Reviewer name")
    if "Proposal ID" not in table:
        raise export_error(table.file, _UNTICKED, row=table.row)
    if who is None:
        raise export_error(table.file, _HIDDEN, row=table.row)
    columns = table.columns_beside(_NO_SCORES)
    fields = [name for name, cells in columns.items() if score_shaped(cells)]
    # It is the total unless another is named.
    total = next((name for name in fields if name.casefold() == _TOTAL), None)
    given = choices.score_field or total
    score = choose_score_field(fields, given, table.file, table.row, aliases=_category_names)
    used = {"paper": "Proposal ID", "reviewer": who, "score": score}
    used |= {"title": "Proposal title", "name": "Reviewer name"}
    texts = ["text", "Text", *(name for name in columns if name not in fields)]
    by_name = () if who == "Reviewer email" else (_BY_NAME,)
    return replace(table.export(NAME, used, texts=texts, left=left), warnings=(*by_name, _STATELESS))


def _read_api(opened: OpenedExport, choices: Choices) -> RawExport:
    items = json_pages(opened.value)
    paged = any("results" in page for page in items)
    reviews = list(all_pages(items, "results", opened.file)) if paged else items
    if not any(map(_is_review, reviews)):
        raise export_error(opened.file, "must be pretalx reviews: objects with submission, user and score")
    if not any(_user_and_name(review)[0] for review in reviews):
        rule = "must say who the reviewers are: fetch as an organizer who may see reviewers"
        raise export_error(opened.file, rule)
    left = dict.fromkeys(key for review in reviews for key in review if key not in _READ)
    papers = [paper for review in reviews if isinstance(paper := review.get("submission"), dict)]
    export = _read_export(record_table(opened.file, [*map(_table_row, reviews)]), choices, left)
    tracks = [_translated_text(_paper(review).get("track")) for review in reviews]
    return replace(
        export,
        rows=[row._replace(track=track) for row, track in zip(export.rows, tracks, strict=True)],
        withdrawn=_withdrawn(papers),
        warnings=() if papers else (_STATELESS,),
    )


def _withdrawn(papers: list[Item]) -> dict[str, str]:
    """What became of each proposal that is no longer there or is decided, by its state."""
    states = [(json_cell(paper.get("code")), json_cell(paper.get("state"))) for paper in papers]
    return withdrawn_papers(
        (code, "withdrawn" if state == "canceled" else state, state if state in _DECIDED else "")
        for code, state in states
    )


def _category_names(name: str) -> tuple[str, ...]:
    """The other name of a category: `Quality` in the export is `category Quality` in the API.

    One that is called Score, as pretalx's first is, has none: that name is the total's.
    """
    bare = name.removeprefix(_CATEGORY)
    if bare.casefold() == _TOTAL:
        return ()
    return (_CATEGORY + name if bare == name else bare,)


def _table_row(review: Item) -> dict[str, str]:
    """A review of the API as a row of the export: its total, and categories if they are expanded."""
    (user, name), paper = _user_and_name(review), _paper(review)
    record = {
        "Proposal ID": paper.get("code"),
        "Proposal title": paper.get("title"),
        _TOTAL: review.get("score"),
    }
    scores = {_translated_text(score.get("category")): score for score in json_objects(review.get("scores"))}
    record |= {_CATEGORY + category: score.get("value") for category, score in scores.items() if category}
    return {
        **{key: json_cell(value) for key, value in record.items()},
        "Reviewer email": user,
        "Reviewer name": name,
    }


def _paper(review: Item) -> Item:
    """The proposal; if it is not expanded, its code alone is known."""
    paper = review.get("submission")
    return paper if isinstance(paper, dict) else {"code": paper}


def _listed_items(value: object) -> list[Item]:
    items = json_pages(value)
    return [item for page in items for item in json_objects(page.get("results"))] or items


def _is_review(item: Item) -> bool:
    return {"submission", "user", "score"} <= item.keys()


def _user_and_name(review: Item) -> tuple[str, str]:
    """Id and name: the email if the user is expanded, as the organizer's export and other years have it."""
    user = review.get("user")
    if isinstance(user, dict):
        name = json_cell(user.get("name"))
        return json_cell(user.get("email")) or json_cell(user.get("code")) or name, name
    return json_cell(user), ""


def _translated_text(value: object) -> str:
    """A text that may come in several languages: the English one, or the first."""
    if isinstance(value, dict):
        name = value.get("name", value)
        if isinstance(name, dict):
            name = name.get("en") or next(iter(name.values()), "")
        return json_cell(name)
    return json_cell(value)
