"""A table under its header row: which row that is, ragged rows, columns that are missing or there twice."""

from __future__ import annotations

import pytest

from blindcal.importers.sheet import HeadedTable, Worksheet, find_table
from exports import packed, refused


def test_two_tables_of_reviews_in_one_file_are_asked_about() -> None:
    table = b"paper,reviewer,score\n1,a,1\n2,a,2\n"
    both = packed({"old.csv": table, "new.csv": table})
    error = refused(both, "must be the only table of its kind in the file")
    assert [problem.file for problem in error.problems] == ["x.csv: old.csv", "x.csv: new.csv"]


def table(*lines: str, workbook: bool = False) -> HeadedTable | None:
    rows = [(number, line.split(",")) for number, line in enumerate(lines, start=1)]
    return find_table(Worksheet("x.csv", "x", rows, workbook), lambda names: "paper id" in names)


@pytest.mark.parametrize("above", range(8))
def test_the_header_is_sought_in_the_first_six_rows(above: int) -> None:
    found = table(*["CONF 2026"] * above, "Paper  ID ,Score", "7,2")
    if above > 5:
        assert found is None
        return
    assert found is not None
    assert (found.row, found.names) == (above + 1, ("Paper ID", "Score"))
    assert list(found.rows) == [(above + 2, ["7", "2"])]
    assert found.column("PAPER id") == ["7"]


def test_a_row_that_does_not_fit_its_header_is_a_problem() -> None:
    """A workbook does not store empty last cells, and HotCRP does not write them; a line has some cell."""
    lines = ("Paper ID,Score,Note,", "1,2,3,", "4,5", "6,7,8,9", ",,,", "", "1,2,3,,")
    text, book = table(*lines), table(*lines, workbook=True)
    assert text is not None
    assert book is not None
    assert list(text.rows)[1] == (3, ["4", "5", "", ""])
    assert [number for number, _ in text.rows] == [2, 3, 4, 5]
    assert [str(problem) for problem in text.problems] == [
        "x.csv, row 6: must have 4 cells like the header, found 1",
        "x.csv, row 7: must have 4 cells like the header, found 5",
    ]
    assert book.names == ("Paper ID", "Score", "Note")
    assert list(book.rows) == [(2, ["1", "2", "3"]), (3, ["4", "5"]), (7, ["1", "2", "3"])]
    assert book.column("note") == ["3", "", "3"]
    assert [str(problem) for problem in book.problems] == [
        "x.csv, row 4: must have 3 cells like the header, found 4"
    ]


def test_columns_that_are_not_there_are_empty_and_those_there_twice_are_told() -> None:
    found = table("Paper ID,Score,score,Note,Note", "1,2,3,4,5", "6,7,8,9,10")
    assert found is not None
    assert found.column("missing") == found.column(None) == ["", ""]
    assert found.column("SCORE") == ["2", "7"], "the first of its name"
    assert found.first("missing", "note", "score") == "note"
    assert found.first("missing") is None
    assert "paper ID" in found
    told = [str(problem) for problem in found.repeated(["score", None, "paper id", "score", "missing"])]
    assert told == ["x.csv, row 1, column score: must appear once, found 2"]
