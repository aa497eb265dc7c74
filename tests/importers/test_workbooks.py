"""Workbooks against another reader, and those that mean harm."""

from __future__ import annotations

import io

import pytest

import small_bombs
from blindcal.errors import InputError
from blindcal.importers import open
from blindcal.importers.sheet import Memory
from blindcal.importers.workbooks import spreadsheet_xml
from exports import BY_NAME, EXPORTS, refused, rows


def test_problems_in_a_workbook_name_the_sheet() -> None:
    export = BY_NAME["cmt/two-tracks.xls"]
    bad = export.data.replace(b'<Data ss:Type="Number">3.5</Data>', b'<Data ss:Type="String">fine</Data>')
    with pytest.raises(
        InputError, match=r"two-tracks.xls, sheet Industry, row 6, column Q2 \(Overall score - Val"
    ):
        export.read(bad)
    twice = export.data.replace(b"zoe@example.net", b"bo@example.org").replace(b">103<", b">101<")
    with pytest.raises(
        InputError, match=r"sheet Industry, row 6, column reviewer: must not repeat an earlier"
    ):
        export.read(twice)


def test_old_workbooks_may_be_in_another_encoding() -> None:
    export = BY_NAME["cmt/two-tracks.xls"]
    text = export.data.decode()
    for encoding in ("utf-16", "iso-8859-1", "windows-1252"):
        declared = text.replace('version="1.0"', f'version="1.0" encoding="{encoding}"', 1)
        assert rows(export.read(declared.encode(encoding))) == rows(export.read())
    unknown = text.replace('version="1.0"', 'version="1.0" encoding="klingon"', 1).encode()
    with pytest.raises(InputError, match="must be"):
        export.read(unknown)


BOMB = b"""<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;">]>
<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"><Worksheet>&b;</Worksheet></Workbook>"""
OUTSIDE = b"""<?xml version="1.0"?><!DOCTYPE x SYSTEM "file:///etc/passwd"><Workbook/>"""


@pytest.mark.parametrize("data", [BOMB, OUTSIDE])
def test_no_entities_and_nothing_from_outside(data: bytes) -> None:
    refused(data, "must not declare a document type or entities")


def cell(attributes: str = "", kind: str = "String", value: str = "x") -> str:
    return f'<Cell {attributes}><Data ss:Type="{kind}">{value}</Data></Cell>'


def workbook_sheet(body: str) -> bytes:
    space = "urn:schemas-microsoft-com:office:spreadsheet"
    table = f'<Worksheet ss:Name="s"><Table>{body}</Table></Worksheet>'
    return f'<Workbook xmlns="{space}" xmlns:ss="{space}">{table}</Workbook>'.encode()


def test_cells_and_rows_stand_where_the_sheet_says() -> None:
    third, wide = cell('ss:Index="3"'), cell('ss:MergeAcross="1"')
    body = f"<Row>{cell()}{cell(kind='Number', value='2.50')}</Row>"
    body += f'<Row ss:Index="4" ss:Span="2">{third}</Row><Row>{wide}{cell()}</Row>'
    (found,) = spreadsheet_xml(workbook_sheet(body), "x", Memory("x"))
    assert list(found.rows) == [(1, ["x", "2.5"]), (4, ["", "", "x"]), (7, ["x", "", "x"])]
    comment = '<Comment><Data ss:Type="String">no</Data></Comment>'
    (found,) = spreadsheet_xml(
        workbook_sheet(f"<Row><Cell>{comment}<Data><B>y</B>es</Data></Cell></Row>"), "x", Memory("x")
    )
    assert list(found.rows) == [(1, ["yes"])]


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ('<Row ss:Index="3"/><Row ss:Index="2"/>', "must number its rows upward"),
        ('<Row ss:Index="9999999"/>', "must number its rows upward"),
        ('<Row ss:Index="x"/>', "must have a whole number as Index"),
        ('<Row><Cell ss:Index="5"/><Cell ss:Index="2"/></Row>', "must number its cells upward"),
        ('<Row><Cell ss:Index="5000000"/></Row>', "must number its cells upward"),
        ("<Row>" * 200, "must not nest more than 100 elements"),
        ("<Row><Cell>", "must be well-formed XML"),
        (f"<Row>{cell('', value='y' * 100_001)}</Row>", "must have at most 100,000 characters per cell"),
    ],
)
def test_sheets_beyond_their_limits_are_refused(body: str, rule: str) -> None:
    refused(workbook_sheet(body), rule)


@pytest.mark.parametrize("name", [export.name for export in EXPORTS if export.name.endswith(".xlsx")])
def test_workbooks_are_read_as_openpyxl_reads_them(name: str) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    data = BY_NAME[name].data
    book = openpyxl.load_workbook(io.BytesIO(data))
    for ours in open.open_export(data, "x").sheets:
        found = {
            (row, place): text for row, cells in ours.rows for place, text in enumerate(cells, 1) if text
        }
        theirs = {
            (cell.row, cell.column): str(cell.value)
            for line in book[ours.name].iter_rows()
            for cell in line
            if cell.value is not None
        }
        assert found == theirs


def workbook(body: str, link: str = "r1", kind: str = "worksheet") -> bytes:
    """A small `.xlsx` file with one text that its cells share."""
    return small_bombs.workbook(body.encode(), b"<si><t>a_x000D_b</t></si>", link=link, kind=kind)


def test_cells_of_a_workbook_are_what_they_stand_for() -> None:
    body = '<row r="2"><c r="A2" t="s"><v>0</v></c><c r="C2"><v>2.50E0</v></c><c t="b"><v>1</v></c></row>'
    body += (
        '<row><c><v>x</v></c><c t="str"><f>1+1</f><v>two</v></c><c t="inlineStr"><is><t>y</t></is></c></row>'
    )
    (found,) = open.open_export(workbook(body), "x").sheets
    assert list(found.rows) == [(2, ["a\rb", "", "2.5", "1"]), (3, ["x", "two", "y"])]
    assert not open.open_export(workbook(body, kind="chartsheet"), "x").sheets


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ('<row r="x"/>', "must number its rows"),
        ('<row r="2"/><row r="1"/>', "must number its rows upward"),
        ('<row r="1"><c r="B2"/></row>', "must name its cells like B3"),
        ('<row r="1"><c r="7"/></row>', "must name its cells like B3"),
        ('<row r="1"><c r="ZZ1"/><c r="AMK1"/></row>', "must number its cells upward, at most 1,000"),
        ('<row r="1"><c r="A1" t="s"><v>1</v></c></row>', "must point to a text of the workbook"),
        ('<row r="1"><c r="A1" t="s"><v>-1</v></c></row>', "must point to a text of the workbook"),
        ('<row r="1"><c r="A1" t="e"><v>#REF!</v></c></row>', "must not hold the error of a formula"),
    ],
)
def test_workbooks_that_are_not_right_are_refused(body: str, rule: str) -> None:
    refused(workbook(body), rule)
    refused(workbook(body, link="r2"), "must be a part of the workbook")
