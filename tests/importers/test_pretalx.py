"""pretalx: one user or a whole object for it, one language or several, and reviewers who are hidden."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from blindcal.importers import import_reviews, pretalx
from blindcal.importers.people import read_map, read_people
from blindcal.importers.raw_export import Choices, RawReview
from blindcal.importers.sheet import OpenedExport
from blindcal.project.contents import Source, read_contents
from exports import SYSTEMS, refused, rows


def found(*reviews: dict[str, Any], **options: Any) -> list[RawReview]:
    opened = OpenedExport("x.json", value=list(reviews))
    assert pretalx.recognize(opened, Choices()) == "pretalx reviews"
    return list(pretalx.read(opened, Choices(**options)).rows)


@pytest.mark.parametrize(
    ("user", "who", "name"),
    [
        ("Ada Byron", "Ada Byron", ""),
        ({"code": "U1", "name": "Ada Byron", "email": "a@x.org"}, "a@x.org", "Ada Byron"),
        ({"code": "U1", "name": "Ada Byron", "email": None}, "U1", "Ada Byron"),
        ({"name": "Ada Byron"}, "Ada Byron", "Ada Byron"),
    ],
)
def test_a_user_goes_by_email_then_code_then_name(user: object, who: str, name: str) -> None:
    (row,) = found({"submission": "A", "user": user, "score": "2.5"})
    assert (row.row, row.paper, row.reviewer, row.name, row.score) == (1, "A", who, name, "2.5")


@pytest.mark.parametrize(
    ("track", "said"),
    [
        ({"name": {"de": "Netze", "en": "Networks"}}, "Networks"),
        ({"name": {"de": "Netze", "fr": "Reseaux"}}, "Netze"),
        ({"de": "Netze", "en": "Networks"}, "Networks"),
        ({"name": "Networks"}, "Networks"),
        ("Networks", "Networks"),
        (None, ""),
    ],
)
def test_of_several_languages_english_or_the_first_is_taken(track: object, said: str) -> None:
    paper = {"code": "A", "title": "Talk", "track": track}
    (row,) = found({"submission": paper, "user": "a", "score": 1})
    assert (row.paper, row.title, row.track) == ("A", "Talk", said)


def test_proposals_that_are_no_longer_there_are_withdrawn() -> None:
    """pretalx keeps their reviews. Without `expand=submission`, and in the export, nothing says so."""
    states = {"A": "submitted", "B": "withdrawn", "C": "canceled", "D": "deleted", "E": "rejected"}
    reviews = [{"submission": {"code": c, "state": s}, "user": "a", "score": 1} for c, s in states.items()]
    export = pretalx.read(OpenedExport("x.json", value=reviews), Choices())
    assert export.withdrawn == {
        "B": "withdrawn",
        "C": "withdrawn",
        "D": "deleted",
        "E": "decided already (rejected)",
    }
    assert export.warnings == ()
    codes = [{"submission": "A", "user": "a", "score": 1, "Updated": "today"}]
    export = pretalx.read(OpenedExport("x.json", value=codes), Choices())
    assert export.warnings[0].startswith("pretalx's export does not say which papers were withdrawn")
    assert str(export.dropped[0]) == "Updated: times can reveal who wrote a review"


def test_the_total_is_taken_unless_a_category_is_named() -> None:
    scores = [{"category": {"name": "Quality"}, "value": "3"}, {"category": None, "value": "9"}]
    reviews = [
        {"submission": "A", "user": "a", "score": "1", "scores": scores},
        {"submission": "B", "user": "a", "score": "2", "scores": []},
    ]
    assert [row.score for row in found(*reviews)] == ["1", "2"]
    assert [row.score for row in found(*reviews, score_field="category quality")] == ["3", ""]


def test_other_json_is_not_taken_for_pretalx() -> None:
    for value in ([{"submission": "A", "user": "a"}], {"results": [{"score": 1}]}, [], 7, None):
        assert pretalx.recognize(OpenedExport("x", value=value), Choices()) is None


def test_a_category_that_is_called_score_is_not_the_total() -> None:
    """pretalx calls the first category of every event Score."""
    scores = [{"category": {"name": {"en": "Score"}}, "value": "3"}]
    review = {"submission": "A", "user": "a", "score": "1", "scores": scores}
    assert [row.score for row in found(review)] == ["1"]
    assert [row.score for row in found(review, score_field="Score")] == ["1"]
    assert [row.score for row in found(review, score_field="category Score")] == ["3"]


# --- pretalx's organizer export and its lists of teams, as pretalx 2025.2.2 wrote them, and people by
# email.


EXPORT = (SYSTEMS / "pretalx-2025.2.2-export.csv").read_bytes()
API: list[dict[str, Any]] = json.loads((SYSTEMS / "pretalx-2025.2.2-api.json").read_bytes())


def table(data: bytes, **options: object) -> list[dict[str, str]]:
    return rows(import_reviews(data, "x", Choices(**options)))


def dumped(value: object) -> bytes:
    return json.dumps(value).encode()


def people() -> list[dict[str, str]]:
    """Code, name and email of everyone in the API's answer: the export has the same reviews."""
    export = json.loads((SYSTEMS / "pretalx-2025.2.2-export.json").read_bytes())
    found: dict[str, dict[str, str]] = {}
    for paper in {review["submission"] for review in API}:
        codes = [review["user"] for review in API if review["submission"] == paper and review["score"]]
        members = [row for row in export if row["Proposal ID"] == paper and row["Score"]]
        for code, row in zip(codes, members, strict=True):
            person = {"code": code, "name": row["Reviewer name"], "email": row["Reviewer email"]}
            assert found.setdefault(code, person) == person
    return list(found.values())


def teams(*members: dict[str, str], **team: object) -> dict[str, Any]:
    """An answer of /teams/?expand=members."""
    first = {"id": 1, "name": "Reviewers", "members": list(members), "is_reviewer": True, **team}
    crew = {"code": "ORGA00", "name": "Org A", "email": "orga@example.org"}
    second = {"id": 2, "name": "Crew", "members": [crew], "is_reviewer": False}
    return {"count": 2, "next": None, "previous": None, "results": [first, second]}


@pytest.mark.parametrize("form", ["csv", "json"])
def test_the_organizers_export_is_read(form: str) -> None:
    imported = import_reviews((SYSTEMS / f"pretalx-2025.2.2-export.{form}").read_bytes(), f"x.{form}")
    assert imported.format == "pretalx"
    assert imported.recognized[0] == "pretalx's export of reviews"
    assert (len(imported.reviews), len(imported.reviews.papers)) == (90, 30)
    assert len(imported.reviews.reviewers) == 20
    assert all("@" in person for person in imported.reviews.reviewers)
    assert imported.score_field == "Score"
    assert imported.titles["DNDY9B"] == "@mention title 2 (2026)", "without the mark of pretalx's writer"
    assert imported.committee["mo@example.edu"] == "Mo Núñez"
    assert any("without a score left out" in line for line in imported.warnings)


def test_both_forms_of_the_export_and_the_api_have_the_same_reviews() -> None:
    assert table(EXPORT) == table((SYSTEMS / "pretalx-2025.2.2-export.json").read_bytes())
    expanded = {person["code"]: person for person in people()}
    api = [{**review, "user": expanded.get(review["user"])} for review in API]
    assert table(dumped(api)) == table(EXPORT)


def test_a_category_is_chosen_by_one_name_in_the_export_and_the_api() -> None:
    for name in ("Relevance", "category Relevance"):
        assert table(EXPORT, score_field=name)[0]["score"] in ("0", "1", "2", "3")
        category = {"id": 2, "name": {"en": "Relevance"}}
        scores = [{"category": category, "value": "2.00"}]
        api = [{**review, "scores": scores} for review in API]
        assert {row["score"] for row in table(dumped(api), score_field=name)} == {"2"}


def test_codes_of_the_api_are_joined_to_emails_by_the_list_of_teams() -> None:
    """As a map, or as the committee of a new folder: then a past year's emails are the same people."""
    codes = read_map(dumped(teams(*people())), "teams.json")
    assert codes[people()[0]["code"]] == people()[0]["email"]
    assert table(dumped(API), people=codes) == table(EXPORT)


def test_the_list_of_teams_is_a_committee() -> None:
    members = people()
    unread = {"code": "NEW000", "name": "Zoe Wu", "email": "zoe@example.edu"}
    committee = read_people(dumped(teams(*members, unread)), "teams.json")
    assert committee == {person["email"]: person["name"] for person in [*members, unread]}
    assert "orga@example.org" not in committee, "a team that may not review"


def test_a_folder_takes_codes_and_committee_from_one_list(tmp_path: Path) -> None:
    (tmp_path / "reviews.json").write_bytes(dumped(API))
    (tmp_path / "teams.json").write_bytes(dumped(teams(*people())))
    (tmp_path / "past.csv").write_bytes(EXPORT)
    kinds = {"reviews.json": "reviews", "teams.json": "committee", "past.csv": "past"}
    sources = [Source(tmp_path / name, kind) for name, kind in kinds.items()]
    contents, _ = read_contents(sources, Choices())
    assert {*contents.imported.reviews.reviewers} == {*contents.committee}
    assert {*contents.past["past"].reviews.reviewers} == {*contents.committee}
    assert not any("not in the map" in line for line in contents.imported.warnings)
    assert not any("not in the map" in line for line in contents.past["past"].warnings)


def test_what_was_left_unticked_is_named() -> None:
    def without(*names: str) -> bytes:
        export = json.loads((SYSTEMS / "pretalx-2025.2.2-export.json").read_bytes())
        return dumped([{key: row[key] for key in row if key not in names} for row in export])

    refused(without("Proposal ID"), "must have the column Proposal ID: tick it in pretalx's export")
    refused(without("Reviewer name", "Reviewer email"), "tick Reviewer email in pretalx's export")
    imported = import_reviews(without("Reviewer email"), "x")
    assert any("reviewers of one name are taken as one person" in line for line in imported.warnings)
    assert table(without("Score"), score_field="Overall") == table(EXPORT, score_field="Overall")
