"""pretalx: one user or a whole object for it, one language or several, and reviewers who are hidden."""

from __future__ import annotations

import json
from typing import Any

import pytest

from blindcal.importers import pretalx
from blindcal.importers.raw_export import Choices, RawReview
from blindcal.importers.sheet import OpenedExport
from exports import refused


def found(*reviews: dict[str, Any], **options: Any) -> list[RawReview]:
    opened = OpenedExport("x.json", value=list(reviews), is_json=True)
    assert pretalx.recognize(opened, Choices()) == "pretalx reviews"
    return list(pretalx.read(opened, Choices(**options)).rows)


def test_who_cannot_be_seen_is_refused() -> None:
    users = [{"submission": "A", "user": None, "score": "1"}]
    refused(json.dumps(users).encode(), "fetch as an organizer who may see reviewers")


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
    export = pretalx.read(OpenedExport("x.json", value=reviews, is_json=True), Choices())
    assert export.withdrawn == {
        "B": "withdrawn",
        "C": "withdrawn",
        "D": "deleted",
        "E": "decided already (rejected)",
    }
    assert export.warnings == ()
    codes = [{"submission": "A", "user": "a", "score": 1, "Updated": "today"}]
    export = pretalx.read(OpenedExport("x.json", value=codes, is_json=True), Choices())
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
        assert pretalx.recognize(OpenedExport("x", value=value, is_json=True), Choices()) is None


def test_a_category_that_is_called_score_is_not_the_total() -> None:
    """pretalx calls the first category of every event Score."""
    scores = [{"category": {"name": {"en": "Score"}}, "value": "3"}]
    review = {"submission": "A", "user": "a", "score": "1", "scores": scores}
    assert [row.score for row in found(review)] == ["1"]
    assert [row.score for row in found(review, score_field="Score")] == ["1"]
    assert [row.score for row in found(review, score_field="category Score")] == ["3"]
