"""Cells: escapes that no spreadsheet runs, and the natural order of ids."""

from __future__ import annotations

from hypothesis import given

from blindcal.cells import escape, unescape
from blindcal.files.tables import format_table
from strategies import TEXT


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
