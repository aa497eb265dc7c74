"""Scores as they are written: numbers with labels, decimal commas, letters, words."""

from __future__ import annotations

import pytest

from blindcal.importers import import_reviews
from blindcal.importers.raw_export import Choices
from blindcal.importers.scores import has_decimal_commas, read_number, read_ordered, score_shaped
from exports import BY_NAME, refused, rows


@pytest.mark.parametrize(
    ("cell", "value", "label"),
    [
        ("8", 8, ""),
        (" 8 ", 8, ""),
        ("7/10", 7, ""),
        ("7.5 / 10", 7.5, ""),
        ("-2", -2, ""),
        ("+1", 1, ""),
        ("2.5", 2.5, ""),
        ("1e-1", 0.1, ""),
        ("8: Top 50% of papers", 8, "Top 50% of papers"),
        ("3 good", 3, "good"),
        ("-2 (reject)", -2, "(reject)"),
        ("5. Accept", 5, "Accept"),
        ("6 - weak accept", 6, "weak accept"),
        ("3.5 = Between", 3.5, "Between"),
        ("10:strong", 10, "strong"),
        ("4 out of 5", 4, "out of 5"),
        ("1: Trivial\nor wrong", 1, "Trivial\nor wrong"),
    ],
)
def test_numbers_with_labels(cell: str, value: float, label: str) -> None:
    assert read_number(cell, False) == (value, label)


@pytest.mark.parametrize(
    "cell",
    [
        *("3-4", "3 4", "good", "", "1_000", "nan", "inf", "3%", "3 - 4", "1.2.3", "٣", "−2", "8, 7"),
        "3: 4",
    ],
)
def test_what_is_no_score(cell: str) -> None:
    broken = read_number(cell, False)
    assert isinstance(broken[0], str)
    assert broken[0].startswith("must")


def test_decimal_commas_only_where_they_are_sure() -> None:
    assert has_decimal_commas(["2,5", "3", "1,25: fair"])
    assert not has_decimal_commas(["2,5", "3.5"])
    assert not has_decimal_commas(["1,000"])
    assert read_number("2,5", True) == (2.5, "")
    header = "paper;reviewer;score\n"
    imported = import_reviews((header + "1;a;2,5\n2;a;4\n").encode(), "x")
    assert imported.reviews.score.tolist() == [2.5, 4]
    for bad in ("1;a;2,5\n2;a;4.5\n", "1;a;1,000\n2;a;4\n"):
        refused((header + bad).encode(), "row 2, column score: must be a number with a point for decimals")


def test_letters_have_the_order_that_was_given() -> None:
    assert read_ordered("B: fair", ("A", "B", "C")) == (2, "B")
    assert read_ordered("z", ("X", "Y", "Z")) == (1, "Z")
    assert read_ordered("D", ("A", "B"))[0] == "must be one of A, B"
    assert score_shaped(["A", "B", "", "A. Best"])
    export = BY_NAME["hotcrp/letters.csv"]
    refused(
        export.data,
        "column OveMer: must be a number: letters and words need their order. Give it with `best_first`",
    )
    turned = import_reviews(export.data, "x", Choices(best_first=("D", "C", "B", "A")))
    assert [row["score"] for row in rows(turned)] == ["1", "3", "4", "2"]
    refused(export.data, "row 4, column OveMer: must be one of A, B, C", best_first=("A", "B", "C"))


def test_words_and_reversed_numbers_have_the_order_that_was_given() -> None:
    words = b"paper,reviewer,score\n1,a,Accept\n1,b,Weak Accept\n2,a,reject\n"
    found = import_reviews(words, "x", Choices(best_first=("Accept", "Weak accept", "Reject")))
    assert [row["score"] for row in rows(found)] == ["3", "2", "1"]
    numbers = b"paper,reviewer,score\n1,a,1: best\n1,b,3\n2,a,5\n"
    turned = import_reviews(numbers, "x", Choices(best_first=("1", "2", "3", "4", "5")))
    assert [row["score"] for row in rows(turned)] == ["5", "3", "1"]
    assert str(turned.scale) == "5 = 1, 3 = 3, 1 = 5"
    refused(numbers, "row 4, column score: must be one of 1, 2, 3", best_first=("1", "2", "3"))
    verdicts = b"paper,title,email,Verdict,OveMer\n1,W,a,Yes,2\n1,W,b,No,3\n2,X,a,Maybe,1\n"
    choices = Choices(score_field="verdict", best_first=("Yes", "Maybe", "No"))
    assert [row["score"] for row in rows(import_reviews(verdicts, "x", choices))] == ["3", "1", "2"]
