"""Headers: where the columns stand, and what a header that does not fit is taken for."""

from __future__ import annotations

import pytest

from blindcal.errors import InputError, Problem
from blindcal.io.cells import Column
from blindcal.io.tables import match_columns, parse_table

REVIEWS = [Column("paper", "id"), Column("reviewer", "id", secret=True), Column("score", "number")]
PEOPLE = [Column(name, "id") for name in ("reviewer", "slope", "offset", "noise")]
POOLS = [Column("paper", "id"), *(Column(name, "id", required=False) for name in ("reviewer", "conflict"))]
SWAPPED = {
    "reviewer,slope,offset,noise,noise_se": (REVIEWS, "the reviewers' calibration"),
    "Paper,Reviewer,Score,confidence": (POOLS, "the reviews"),
    "paper,reviewer,probability": (PEOPLE, "the pools"),
    "paper,reviewer": (REVIEWS, "the pools"),
    "paper,conflict": (REVIEWS, "the conflicts"),
}


@pytest.mark.parametrize("header", SWAPPED)
def test_the_header_of_another_table_is_recognized(header: str) -> None:
    columns, kind = SWAPPED[header]
    rule = "x.csv, row 1: must be the header of this table"
    expected = f"{rule}, found that of {kind}: is it the wrong file, or are two swapped?"
    with pytest.raises(InputError) as caught:
        parse_table(f"{header}\n".encode(), "x.csv", columns)
    assert str(caught.value).split("\n")[0] == expected


def test_a_missing_header_is_asked_for_and_not_quoted() -> None:
    for first in ("", "sep=,\n", "# exported in May\n"):
        data = f"{first}p1,canary,4\np2,canary,5\n".encode()
        with pytest.raises(InputError) as caught:
            parse_table(data, "x.csv", REVIEWS)
        lines = str(caught.value).split("\n")
        assert lines[0].endswith("found none of its names: is there no header, or a line before it?")
        assert [line.split(": ")[0] for line in lines[1:]] == [
            f"x.csv, row 1, column {name}" for name in ("paper", "reviewer", "score")
        ]
        assert "canary" not in str(caught.value)


@pytest.mark.parametrize("header", ["paper,reviewer,scores", "reviewer,score", "paper,reviewer,score,score"])
def test_a_header_that_is_almost_right_is_taken_for_no_other(header: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_table(f"{header}\n".encode(), "x.csv", REVIEWS, extra=True)
    assert "must be the header of this table" not in str(caught.value)


def test_a_column_that_nobody_asked_for_makes_no_other_table_of_it() -> None:
    """Whoever looks for one column of a file may leave out the others."""
    data = b"paper,reviewer,probability\np1,a,0.5\n"
    assert parse_table(data, "x.csv", [Column("paper", "id")], extra=True).text("paper") == ("p1",)


def test_a_table_with_other_separators_is_reported_once_and_where_to_go() -> None:
    for separator, name in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        data = f"paper{separator}score\np{separator}1\n".encode()
        with pytest.raises(InputError) as caught:
            parse_table(data, "r.csv", [Column("paper", "id"), Column("score", "number")])
        rule = "must have cells separated by commas (`blindcal import` reads such files of reviews)"
        assert str(caught.value) == f"r.csv, row 1: {rule}, found {name}"


def test_columns_are_found_in_any_order_and_case_and_by_their_other_names() -> None:
    columns = [
        Column("paper", "id", synonyms=("item",)),
        Column("score", "number"),
        Column("track", required=False),
    ]
    assert match_columns([" SCORE", "Item "], "x.csv", columns) == ({"paper": 1, "score": 0}, [])


def test_every_problem_of_a_header_is_listed_at_once() -> None:
    columns = [Column("paper", "id", synonyms=("item",)), Column("score", "number"), Column("reviewer", "id")]
    place, problems = match_columns(["paper", "item", "score", "canary"], "x.csv", columns)
    assert place == {"score": 2}
    assert problems == [
        Problem("x.csv", 1, "paper", "must appear once", "2 columns that mean it"),
        Problem("x.csv", 1, "reviewer", "must be in the header"),
        Problem("x.csv", 1, "4", "must be one of the known columns (paper, score, reviewer)"),
    ]


def test_a_single_column_may_hold_any_character() -> None:
    assert match_columns(["a;b"], "x.csv", [Column("a;b")]) == ({"a;b": 0}, [])
