"""Workbooks as other programs read them: our own importer, openpyxl, LibreOffice."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blindcal.errors import InputError
from blindcal.exporters.formats import MOST_CELL, workbook
from blindcal.importers.open import open_export
from sizes import count

HEADER = ["paper", "title"]
ROWS = [
    ["1", "=1+1"],
    ["2", '+cmd|"/c calc"!A1 & <b>'],
    ["3", "-2"],
    ["4", "@SUM(A1)"],
    ["5", "\t=1\r\n two  spaces "],
    ["6", "a _x0041_ b \x01 c"],
    ["007", ""],
    ["8", "Ünïcode 😀 漢字"],
    ["9", "1-May"],
    ["10", "'=quoted"],
]
# What XML can hold and a text can have.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def cells(data: bytes) -> list[list[str]]:
    (sheet,) = open_export(data, "x.xlsx").sheets
    return [list(row) for _, row in sheet.rows]


def padded(rows: list[list[str]]) -> list[list[str]]:
    return [[*row, *[""] * (2 - len(row))] for row in rows]


def test_what_is_written_is_read_by_our_importer() -> None:
    data = workbook(HEADER, ROWS, "decisions")
    assert padded(cells(data)) == [HEADER, *ROWS]
    assert workbook(HEADER, ROWS, "decisions") == data, "the same bytes, whenever they are written"
    assert open_export(data, "x.xlsx").sheets[0].name == "decisions"


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=5))
@settings(max_examples=count(60, 2000))
def test_any_text_is_read_back(rows: list[tuple[str, str]]) -> None:
    # A carriage return is a line end in XML unless it is escaped; ours is.
    data = workbook(HEADER, rows, "x")
    # Rows without any text are not kept.
    assert padded(cells(data))[1:] == [list(row) for row in rows if any(row)]


@pytest.mark.edge
def test_openpyxl_sees_texts_and_no_formula() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    sheet = openpyxl.load_workbook(io.BytesIO(workbook(HEADER, ROWS, "decisions")))["decisions"]
    found = [[cell.value or "" for cell in row] for row in sheet.iter_rows()]
    plain = [[re.sub(r"\r\n?|_x000D_\n", "\n", text) for text in row] for row in [HEADER, *ROWS]]
    shown = [[re.sub(r"_x000D_\n|\r\n", "\n", text) for text in row] for row in found]
    assert [row for row in shown if row[0] not in ("6",)] == [row for row in plain if row[0] not in ("6",)]
    assert {cell.data_type for row in sheet.iter_rows() for cell in row if cell.value} <= {"s", "inlineStr"}
    assert sheet["A1"].font.b
    assert not sheet["A2"].font.b


@pytest.mark.edge
@pytest.mark.skipif(shutil.which("soffice") is None, reason="needs LibreOffice")
def test_libreoffice_sees_texts_and_no_formula(tmp_path: Path) -> None:
    (tmp_path / "ours.xlsx").write_bytes(workbook(HEADER, ROWS, "decisions"))
    profile = f"-env:UserInstallation=file://{tmp_path}/profile"
    command = ["soffice", "--headless", profile, "--convert-to", "fods", "--outdir", str(tmp_path)]
    subprocess.run([*command, str(tmp_path / "ours.xlsx")], check=True, capture_output=True, timeout=300)
    text = (tmp_path / "ours.fods").read_text(encoding="utf-8")
    assert "table:formula" not in text
    assert text.count('office:value-type="string"') == sum(
        bool(cell) for row in [HEADER, *ROWS] for cell in row
    )


def test_a_cell_that_is_too_long_is_refused() -> None:
    workbook(HEADER, [["1", "x" * MOST_CELL]], "x")
    with pytest.raises(InputError, match="at most 32,767 characters, found 32,768"):
        workbook(HEADER, [["1", "x" * (MOST_CELL + 1)]], "x")
