"""Committees, changed ids, and names that may be one person's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blindcal.errors import InputError
from blindcal.fitting.committee import calibration_rows, read_aliases, read_committee, similar_names


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_committee_lists_people_by_track_or_once(tmp_path: Path) -> None:
    plain = written(tmp_path / "a.csv", "reviewer\nben\nAda\n")
    assert read_committee(plain) == ("ben", "Ada")
    tracks = written(tmp_path / "b.csv", "reviewer,track\nAda,theory\nAda,systems\nben,\n")
    assert read_committee(tracks) == ("Ada", "ben")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("reviewer\nAda\nAda\n", "row 3, column reviewer: must not be listed twice"),
        ("reviewer,track\nAda,x\nAda,x\n", "row 3, column reviewer: must not be listed twice"),
        ("reviewer\n*\n", "row 2, column reviewer: must be a person"),
        ("reviewer\n", "must have at least one row"),
        ("person\nAda\n", "column reviewer: must be in the header"),
    ],
)
def test_a_bad_committee_is_refused_without_a_name(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InputError) as error:
        read_committee(written(tmp_path / "c.csv", text))
    assert told in str(error.value)
    assert "Ada" not in str(error.value)


def test_changes_of_ids_are_followed_to_the_end(tmp_path: Path) -> None:
    path = written(tmp_path / "s.csv", "old,new\na,b\nb,c\nx,y\n")
    assert read_aliases(path) == {"a": "c", "b": "c", "x": "y"}


@pytest.mark.parametrize(
    ("text", "told"), [("old,new\na,b\na,c\n", "row 3, column old"), ("old,new\na,b\nb,a\n", "lead back")]
)
def test_an_id_that_becomes_two_or_comes_back_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        read_aliases(written(tmp_path / "s.csv", text))


def test_similar_names_are_reported_and_different_people_are_not() -> None:
    assert similar_names(["Ada Lovelace", "ada lovelace", "Lovelace, Ada"]) == [
        ("Ada Lovelace", "Lovelace, Ada"),
        ("Ada Lovelace", "ada lovelace"),
        ("Lovelace, Ada", "ada lovelace"),
    ]
    assert similar_names(["A. Lovelace", "Ada Lovelace"]) == [("A. Lovelace", "Ada Lovelace")]
    assert similar_names(["Ada Lovelace", "Anne Lovelace", "Ada Byron", "r12", "r21", "R1 2b"]) == []
    assert similar_names(["ada@x.org", "ada@y.edu", "eve@x.org"]) == [("ada@x.org", "ada@y.edu")]


def test_numbers_are_written_to_six_digits() -> None:
    (row,) = calibration_rows(["a"], np.array([[1.23456789], [-0.000123456789]])).values()
    assert row == (1.23457, -0.000123457)
