"""Which field is the score, which the confidence, and what is dropped for which reason."""

from __future__ import annotations

import pytest

from blindcal.errors import InputError
from blindcal.importers import import_reviews
from blindcal.importers.raw_export import ORDINALS, TIMES, UNUSED, Choices, dropped_columns, withdrawal_status
from blindcal.importers.scores import choose_score_field, find_scores
from exports import BY_NAME, refused, rows


def test_several_scores_are_asked_about() -> None:
    export = BY_NAME["hotcrp/reviews-2019.csv"]
    told = str(refused(export.data, "say which with `score_field`"))
    assert "Pre-Response Overall Merit, Post-Rebuttal Overall Merit" in told
    refused(export.data, "must have the field 'Merit' that `score_field` names, found", score_field="Merit")
    before = import_reviews(export.data, "x", Choices(score_field="pre-response overall merit"))
    assert [row["score"] for row in rows(before)] == ["3", "5", "2", "3"]
    table = b"paper,reviewer,score,points\n1,a,1,2\n2,a,3,4\n"
    assert rows(import_reviews(table, "x", Choices(score_field="points")))[0]["score"] == "2"
    assert rows(import_reviews(table, "x", Choices(columns={"score": "points"})))[0]["score"] == "2"


def test_what_is_dropped_is_said_with_the_reason() -> None:
    told = {name: "\n".join(map(str, BY_NAME[name].read().dropped)) for name in BY_NAME}
    assert (
        "review: numbers and letters of reviews can reveal who wrote them" in told["hotcrp/scores-2026.csv"]
    )
    assert "Created, Last Modified: times can reveal who wrote a review" in told["cmt/two-tracks.xls"]
    assert "Reviewer Number: numbers and letters" in told["cmt/two-tracks.xls"]
    assert "date, time: times can reveal" in told["easychair/review-2024.csv"]
    assert "1 older version of reviews: only the latest counts" in told["easychair/review-2024.csv"]
    assert "cdate, mdate, tcdate, tmdate: times" in told["openreview/api2-replies.json"]
    assert "1 metareview: they sum up reviews" in told["openreview/api2-replies.json"]
    assert "1 Decision: no reviews" in told["openreview/api2-replies.json"]
    assert "1 deleted note" in told["openreview/api2-replies.json"]
    assert "1 unfinished review" in told["hotcrp/api-2026.json"]
    assert "Paper summary, Comments for authors: review texts" in told["hotcrp/reviews-2019.csv"]
    assert all("the order of rows: it can reveal who wrote a review" in text for text in told.values())


@pytest.mark.parametrize(
    ("names", "score", "confidence"),
    [
        (["Overall merit", "Reviewer expertise", "Novelty"], "Overall merit", "Reviewer expertise"),
        (["OveMer", "RevExp"], "OveMer", "RevExp"),
        (["Quality", "Confidence"], "Quality", "Confidence"),
        (["Recommendation", "Confidence", "Familiarity"], "Recommendation", None),
        (["Rating", "Coverage"], "Rating", None),
        (["Moverall"], "Moverall", None),
    ],
)
def test_a_field_is_known_by_its_name(names: list[str], score: str, confidence: str | None) -> None:
    columns = {**{name: [f"{place}"] for place, name in enumerate(names)}, "Comments": ["Fine."]}
    found = find_scores(columns, None, "x")
    assert found[:2] == (score, confidence)
    assert found.scores == columns[score]
    assert found.confidences == (columns[confidence] if confidence else [""])
    assert {*found.unused} == {*names} - {score, confidence}
    assert found.texts == ["Comments"]
    assert find_scores(columns, "comments", "x").score == "Comments", "another column must be named"


def test_what_became_of_a_paper_is_read_in_the_words_of_systems() -> None:
    words = ("ICX.cc/2027/Desk_Rejected_Submission", "withdrawn", "deleted", "Reject", "")
    assert [*map(withdrawal_status, words)] == ["desk rejected", "withdrawn", "deleted", None, None]


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["Overall merit", "Overall score"], "found Overall merit, Overall score"),
        (["Novelty", "Clarity", "Confidence"], "found Novelty, Clarity"),
        (["Confidence"], "must have a field with scores, found none"),
        ([], "must have a field with scores, found none"),
    ],
)
def test_a_field_that_cannot_be_told_is_asked_for(names: list[str], told: str) -> None:
    with pytest.raises(InputError, match=told):
        choose_score_field(dict.fromkeys(names, ()), None, "x")


def test_a_given_field_goes_by_any_of_its_names_and_may_be_one_that_was_passed_over() -> None:
    fields = {"Q1 (Overall)": ("Q1", "Overall"), "Q2 (Overall)": ("Q2", "Overall")}
    assert choose_score_field(fields, " q2 ", "x", aliases=fields.get) == "Q2 (Overall)"
    assert choose_score_field(fields, "remarks", "x", others=["Remarks"]) == "Remarks"
    for name in ("overall", "Q3"):
        with pytest.raises(InputError, match=f"the field '{name}'.*found Q1 .Overall., Q2 .Overall."):
            choose_score_field(fields, name, "x", aliases=fields.get)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("Created", TIMES),
        ("created_at", TIMES),
        ("tcdate", TIMES),
        ("Submitted on", TIMES),
        ("update", UNUSED),
        ("#", ORDINALS),
        ("Reviewer Number", ORDINALS),
        ("review", ORDINALS),
        ("member #", ORDINALS),
        ("identity", UNUSED),
    ],
)
def test_a_column_is_dropped_for_its_reason(name: str, why: str) -> None:
    (found,) = dropped_columns([name, name, ""])
    assert (found.what, found.why) == (name, why)


def test_long_lists_of_columns_are_cut_short() -> None:
    (found,) = dropped_columns([f"c{i:02d}" for i in range(14)])
    assert found.what.endswith("c10, c11 and 2 more")
    (found,) = dropped_columns(["y" * 61])
    assert found.what == "y" * 57 + "..."
