"""Cells: escapes that no spreadsheet runs, and the natural order of ids."""

from __future__ import annotations

from hypothesis import given

from blindcal.io.cells import Column, cell_problem, escape, natural_sorted, unescape
from blindcal.io.tables import format_table
from strategies import TEXT

DATES = ("4-May", "04-May-26", "May-04", "4. Mai 2026", "5/4/2026", "2026-05-04", "4.5.2026", "Mar 4")
OTHERS = ("40%", "4/10", "4: weak reject", "4 (good)", "four", "4-5", "4;5")


def test_what_a_spreadsheet_makes_of_a_score_is_told() -> None:
    told = {cell: (cell_problem(cell, Column("score", "number")) or ("",))[0] for cell in (*DATES, *OTHERS)}
    assert [cell for cell in told if "not a date" in told[cell]] == [d for d in DATES if "Mai" not in d]
    assert told["40%"] == "must be a number without a percent sign"
    assert [cell for cell in OTHERS if told[cell].endswith("alone, with nothing after it")] == list(
        OTHERS[1:4]
    )
    assert [cell for cell in OTHERS if told[cell] == "must be a number"] == list(OTHERS[4:])


@given(TEXT)
def test_escape_is_reversible_and_no_text_cell_starts_a_formula(text: str) -> None:
    assert unescape(escape(text)) == text
    assert not escape(text).startswith(("=", "+", "-", "@", "\t", "\r", "\n"))


def test_rows_stand_in_natural_order() -> None:
    """2 before 10, and ids that differ only in leading zeros stay two, always in one order."""
    ids = ["p10", "p2", "p1", "P2", "p02", "10", "9", "p", "p2-10", "p2-9"]
    expected = ["9", "10", "P2", "p", "p1", "p02", "p2", "p2-9", "p2-10", "p10"]
    for order in (ids, ids[::-1]):
        assert format_table({"paper": order}).decode().split() == ["paper", *expected]
        assert natural_sorted(order) == expected
