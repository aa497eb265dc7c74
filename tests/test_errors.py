"""Errors: one exit code for each kind, and problems that say where they are."""

from __future__ import annotations

import pytest

from blindcal import errors
from blindcal.errors import BlindcalError, InputError, Problem, unexpected


def test_every_kind_of_error_has_an_exit_code_of_its_own() -> None:
    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, BlindcalError)
    ]
    codes = {kind.__name__: kind.exit_code for kind in kinds}
    assert sorted(codes.values()) == list(range(1, len(kinds) + 1))
    assert codes["InputError"] == 2, "as for a bad option"


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (Problem("a.csv", None, None, "must not be empty"), "a.csv: must not be empty"),
        (Problem("a.csv", 7, None, "is short"), "a.csv, row 7: is short"),
        (Problem("a.csv", None, "score", "is missing"), "a.csv, column score: is missing"),
        (Problem("a.csv", 7, "score", "must be", "'x'"), "a.csv, row 7, column score: must be, found 'x'"),
    ],
)
def test_a_problem_says_where_it_is(problem: Problem, text: str) -> None:
    assert str(problem) == text


def test_bad_input_is_a_value_error_and_says_nothing_confidential() -> None:
    error = InputError("2 problems", [Problem("a", 1, None, "x"), Problem("a", 2, None, "y")])
    assert isinstance(error, ValueError)
    assert (str(error), len(error.problems), error.confidential) == ("2 problems", 2, ())


def test_an_unforeseen_error_is_told_by_its_place_and_not_by_its_text() -> None:
    try:
        {"a": 1}["canary-id"]
    except KeyError as error:
        told = unexpected(error)
    assert told.startswith("internal error (KeyError at test_errors.py:")
    assert "canary" not in told
    assert unexpected(ValueError("canary-id")).startswith("internal error (ValueError);")
