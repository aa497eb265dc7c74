"""Reviews checked and sorted: every problem with its place, nobody named, no trace of the order."""

from __future__ import annotations

import re

import pytest

from blindcal.errors import InputError
from blindcal.importers.normalize import coded, gather
from blindcal.importers.raw_export import Choices, RawExport, RawReview
from exports import BY_NAME, refused, rows


def test_every_problem_is_told_at_once_with_its_place() -> None:
    data = b"paper,reviewer,score\n1,a,x\n1,,3\n2,a,1,1\n2,b,1\n2,b,2\n"
    error = refused(data, "row 2, column score: must be a number, or a number and a label")
    assert {(problem.row, problem.column) for problem in error.problems} == {
        (2, "score"), (3, "reviewer"), (4, None), (6, "reviewer")
    }  # fmt: skip
    assert all(problem.file == "x.csv" for problem in error.problems)


def test_messages_name_nobody() -> None:
    data = b"paper,reviewer,score\n1,canary,x\n1,canary,3\ncanary,canary\n" + b"2,canary\xc3\xa9\xcc\x81,1\n"
    assert "canary" not in str(refused(data, "must"))
    tracks = b"paper,reviewer,score,track\n1,canary,1,canary\n1,b,2,other\n2,b,1,\n"
    assert "canary" not in str(
        refused(tracks, "row 3, column track: must be the track of the paper's first row")
    )


@pytest.mark.parametrize(
    "name", ["hotcrp/scores-2026.csv", "easychair/review-2024.csv", "panel/own-columns.csv"]
)
def test_the_order_of_rows_leaves_no_trace(name: str) -> None:
    export = BY_NAME[name]
    head, *body = export.data.decode().split("\n")
    records = re.findall(r"(?:[^\"\n]|\"(?:[^\"]|\"\")*\")+\n", "\n".join(body))
    assert len(records) > 2
    turned = "".join([head + "\n", *reversed(records)]).encode()
    assert turned != export.data
    one, other = export.read(), export.read(turned)
    assert rows(one) == rows(other)
    assert (one.titles, one.committee, one.dropped) == (other.titles, other.committee, other.dropped)


def test_the_place_of_a_review_without_a_score_has_its_sheet() -> None:
    told = BY_NAME["cmt/two-tracks.xls"].read().warnings
    assert told[1:] == ("1 review without a score left out (two-tracks.xls, sheet Industry, row 5)",)


def found(*reviews: RawReview, **more: object) -> RawExport:
    return RawExport("panel", "x.csv", reviews, "score", **more)


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (("", "  ", "No Entry", "n/a"), "4 reviews without a score left out (row 4, row 5, row 6, row 7)"),
        (("",) * 5, "5 reviews without a score left out (row 4, row 5, row 6, row 7, row 8)"),
        (("",) * 7, "7 reviews without a score left out (row 4, row 5, row 6, row 7, row 8, ...)"),
    ],
)
def test_reviews_without_a_score_are_none_and_counted_with_their_places(
    cells: tuple[str, ...], told: str
) -> None:
    blank = [RawReview(4 + i, f"{i}", "a", cell) for i, cell in enumerate(cells)]
    imported = gather(found(RawReview(2, "7", "a", "1"), RawReview(3, "8", "a", "2"), *blank), Choices())
    assert (imported.reviews.papers, imported.warnings) == (("7", "8"), (told,))


@pytest.mark.parametrize(
    ("cells", "order", "scores", "said"),
    [
        (("2,5", "3"), (), [2.5, 3.0], True),
        (("2.5", "3"), (), [2.5, 3.0], False),
        (("2,5", "3"), ("2,5", "3"), [2.0, 1.0], False),
    ],
)
def test_decimal_commas_are_said_where_they_are_read_as_such(
    cells: tuple[str, str], order: tuple[str, ...], scores: list[float], said: bool
) -> None:
    rows_ = [RawReview(2 + i, f"{i}", "a", cell) for i, cell in enumerate(cells)]
    imported = gather(found(*rows_), Choices(best_first=order))
    assert imported.columns()["score"] == scores
    assert ("decimals written with a comma" in imported.recognized) == said


def test_ids_have_one_form_and_a_map_joins_them() -> None:
    """A letter with its accent apart is the letter with its accent; spaces around an id are none of it."""
    apart, joined = "Zoe\u0308", "Zo\u00eb"
    rows_ = [RawReview(2, " 1", apart, "1"), RawReview(3, "1", "ZZ ", "2"), RawReview(4, "2", joined, "3")]
    assert gather(found(*rows_), Choices()).reviews.reviewers == ("ZZ", joined)
    mapped = gather(found(*rows_), Choices(people={joined: "z", "gone": "g"}))
    assert mapped.reviews.reviewers == ("ZZ", "z")
    assert "1 reviewer id not in the map kept as in the export" in mapped.warnings
    both = Choices(people={joined: "z", "ZZ": "z"})
    with pytest.raises(InputError, match=r"row 3, column reviewer: must not repeat .*, found row 2's"):
        gather(found(*rows_), both)


def test_tracks_titles_and_names_come_from_rows_or_from_beside_them() -> None:
    rows_ = [
        RawReview(2, "1", "a", "1", track="Main", title="One\n title", name="Ada"),
        RawReview(3, "2", "a", "2", title="Two", name="Ada B."),
        RawReview(4, "2", "b", "3", title="Zwei"),
    ]
    imported = gather(found(*rows_, titles={"3": "Three"}, committee={"c": "Cy"}), Choices())
    assert imported.titles == {"1": "One title", "2": "Two", "3": "Three"}
    assert imported.tracks == {"1": "Main"}
    assert imported.committee == {"a": "Ada", "b": "", "c": "Cy"}
    assert imported.columns()["track"] == ["Main", "", ""]
    assert "1 paper with two titles: the first is kept" in imported.warnings
    other = rows_[0]._replace(row=5, reviewer="b", track="Posters")
    with pytest.raises(InputError, match="row 5, column track: must be the track of the paper's first row"):
        gather(found(*rows_, other), Choices())


def test_confidence_in_words_is_left_out_and_said() -> None:
    rows_ = [RawReview(2, "1", "a", "1", "high"), RawReview(3, "2", "a", "2", "low")]
    imported = gather(found(*rows_, confidence_field="Sure"), Choices())
    assert imported.confidence_field is None
    assert "Sure holds no numbers: left out, and so there is no confidence" in imported.warnings
    numbers = [row._replace(confidence=cell) for row, cell in zip(rows_, ("3", ""), strict=True)]
    imported = gather(found(*numbers, confidence_field="Sure"), Choices())
    assert imported.confidence_field == "Sure"
    assert repr(imported.columns()["confidence"]) == "[3.0, nan]"


def test_rounds_follow_their_reviews_through_sorting_and_codes() -> None:
    """Papers, reviewers and codes sort in three different ways: each review keeps its own round."""
    rows_ = [
        RawReview(2, "2", "a", "1", round="R1"),
        RawReview(3, "1", "b", "2", round="R2"),
        RawReview(4, "1", "a", "3"),
    ]
    imported = gather(found(*rows_, conflicts=[("1", "c"), ("1", "c ")]), Choices())
    by_score = {1.0: "R1", 2.0: "R2", 3.0: ""}
    hidden, code = coded(imported, {"a": "R900", "b": "R100"})
    assert (code["a"], code["b"]) == ("R900", "R100")
    assert hidden.conflicts == (("1", code["c"]),)
    assert set(hidden.committee.values()) == {""}
    for one in (imported, hidden):
        columns = one.columns()
        assert [by_score[float(score)] for score in columns["score"]] == columns["round"]
    assert [code[who] for who in "ba"] == hidden.columns()["reviewer"][:2]


def test_names_of_listed_members_do_not_depend_on_who_reviewed() -> None:
    """A member whom a list names by email alone gets no name because of a review; others do."""
    reviews = [
        RawReview(n, f"{n}", who, "3", name="Ada Byron") for n in (2, 3) for who in ("a@x.org", "b@x.org")
    ]
    listed = {"a@x.org": "", "c@x.org": "Cleo Diaz"}
    imported = gather(found(*reviews, committee=listed), Choices())
    assert imported.committee == {"a@x.org": "", "b@x.org": "Ada Byron", "c@x.org": "Cleo Diaz"}
    assert "name" not in imported.columns()
    assert imported.columns(names=True)["name"] == ["", "Ada Byron"] * 2
    assert imported.sources == (("x.csv", 2), ("x.csv", 2), ("x.csv", 3), ("x.csv", 3))
