"""What the page says: no reviewer is named, whatever went wrong; files go by the page's own names."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("jinja2")

from blindcal.app.pages import KIND_LABELS, MOST_LISTED, TABS, fault, fit_view, notice, plain
from blindcal.app.session import PEOPLE_MAP, CanceledError
from blindcal.errors import InputError, Problem, RefusedError
from blindcal.project.contents import KINDS

pytestmark = pytest.mark.edge

CANARY = "canary-000000001"


@pytest.mark.parametrize(
    "problem",
    [
        Problem("r.csv", 3, "reviewer", "must not be empty", repr(CANARY)),
        Problem("r.csv", 3, "score", "must be a number", repr(CANARY)),
        Problem("r.csv", 3, "paper", "must be an id", repr(CANARY)),
        Problem("r.csv", None, "reviewer", "must be known", CANARY),
    ],
)
def test_a_value_of_a_row_is_never_shown(problem: Problem) -> None:
    found = fault(problem)
    assert CANARY not in str(found)
    assert found.rule == problem.rule


def test_rows_and_fields_are_shown() -> None:
    twice = Problem("r.csv", 1234, "reviewer", "must not repeat an earlier row", "row 7's")
    assert fault(twice).rule == "must not repeat an earlier row, found row 7's"
    assert (fault(twice).row, fault(twice).found) == (1234, None)
    which = Problem("r.csv", None, None, "must have one field: say which with `score_field`", "A, B")
    assert fault(which).rule == "must have one field: say which with “Score field”, found A, B"


def test_errors_are_told_by_kind() -> None:
    assert notice(None) is None
    canceled = notice(CanceledError())
    assert canceled is not None
    assert canceled.mild
    refused = notice(RefusedError("r.csv: `columns` is frozen"))
    assert refused is not None
    assert refused.text == "r.csv: “Columns” is frozen"
    failed = notice(ValueError(CANARY))
    assert failed is not None
    assert "internal error (ValueError" in failed.text
    assert CANARY not in failed.text
    full = notice(OSError(28, "No space left on device", f"/x/{CANARY}"))
    assert full is not None
    assert full.text == "The system says: No space left on device."


def test_many_problems_are_counted() -> None:
    many = [Problem("r.csv", row, "score", "must be a number") for row in range(MOST_LISTED + 5)]
    found = notice(InputError("many", many))
    assert found is not None
    assert (found.text, len(found.faults), found.more) == ("205 problems", MOST_LISTED, 5)


def test_messages_speak_of_what_is_on_the_page() -> None:
    assert plain("r.csv: `blindcal fit /private/example` makes it") == ("r.csv: “Calibrate” makes it")
    assert plain("give --as reviews if these correct them, or --as past") == (
        "take it as “this year's reviews” if these correct them, or “reviews of a past conference”"
    )
    assert {*KINDS, PEOPLE_MAP} == {*KIND_LABELS}
    for told in (
        "2 past ids may be a member's: write yes or no into the column taken of a/b.csv, import it with "
        "--as same, and fit again",
        "stand. `blindcal decide` with --amend and --reason decides new papers by it",
        "a past conference's name must be like 2026, found 'x!': give --name",
        "--codes cannot be given for pools: the ids in that file stay as they are",
        "lets every decision reveal who reviewed the paper: it needs `yes_leak`",
    ):
        assert not re.search("--|`|_", plain(told)), "no option of a command is named"


def test_a_message_names_a_page_that_there_is() -> None:
    """“Compare” was no page: what a message calls a page is a page's label, a button, or a step's name."""
    assert plain("`blindcal plan icx` says which") == "“Promise” says which"
    assert plain("see `blindcal key`") == "see “blindcal key”"
    assert "Promise" in {tab.label for tab in TABS.values()}


def test_a_fit_is_told_without_the_reviewers_that_it_names() -> None:
    one = {"value": 0.25, "low": 0.2, "high": 0.3}
    forecast = {"conference": "2026", "reviews": 90, "population": 1.0, "raw": 0.9, "fitted": 0.8}
    checks = {
        "shares": dict.fromkeys(("quality", "offset", "slope", "noise"), one),
        "persistence": one,
        "outliers": [CANARY, CANARY + "2"],
        "newcomers": 3,
        "forecast": {**forecast, "gain": 0.12, "gain_se": 0.01},
    }
    found = fit_view({"conferences": ["2025", "2026"], "checks": checks})
    assert found["conferences"] == "2 past conferences"
    first = found["shares"][0]
    assert (first.label, first.text, first.more) == ("papers' quality", "25.0 %", ("20.0 % to 30.0 %",))
    assert (found["outliers"], found["newcomers"]) == (2, 3)
    assert (found["forecast"].verdict, found["forecast"].gain) == ("history helps", 0.12)
    assert [bar.width for bar in found["errors"]] == pytest.approx([1.0, 0.9, 0.8])
    assert CANARY not in str(found)
    assert fit_view({"checks": {**checks, "forecast": None}})["forecast"] is None
