"""A table under its header row: which row that is, ragged rows, columns that are missing or there twice."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Callable

import pytest

import small_bombs
from blindcal.errors import InputError
from blindcal.importers import open, sheet
from blindcal.importers.sheet import (
    HeadedTable,
    Memory,
    MixedListError,
    Worksheet,
    all_pages,
    find_table,
    json_cell,
    json_objects,
    json_pages,
    json_size,
    spreadsheet_xml,
)
from exports import BY_NAME, EXPORTS, packed, refused, rows


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


# --- Values of a JSON text: objects, pages that are not all, and what a cell would say.


def test_a_list_with_anything_but_objects_is_refused() -> None:
    for name, key in (("openreview/api2-replies.json", "notes"), ("pretalx/legacy-2020.json", "results")):
        entire = json.loads(BY_NAME[name].data)
        mixed = {**entire, key: [*entire[key], 7]}
        refused(json.dumps(mixed).encode(), "must have nothing but objects in a list of reviews or notes")


def test_a_page_of_many_is_not_taken_for_all() -> None:
    for name, key in (("openreview/api2-replies.json", "notes"), ("pretalx/legacy-2020.json", "results")):
        export = BY_NAME[name]
        entire = json.loads(export.data)
        part = {**entire, key: entire[key][:-1]}
        with pytest.raises(InputError, match=r"must hold all [34] entries: fetch every page"):
            export.read(json.dumps(part).encode())


def test_objects_of_a_list_are_all_of_it_or_none() -> None:
    assert json_objects([{"a": 1}, {}]) == json_pages([{"a": 1}, {}]) == [{"a": 1}, {}]
    for value in ([], [1, "x", None], "text", 7, None, {"a": 1}):
        assert json_objects(value) == []
    assert json_pages({"a": 1}) == [{"a": 1}]
    for mixed in ([{}, 1], [None, {}]):
        with pytest.raises(MixedListError):
            json_objects(mixed)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "yes"),
        (False, ""),
        (0, "0"),
        (-3, "-3"),
        (2.50, "2.5"),
        (3.0, "3"),
        (1e-7, "1e-07"),
        (" a ", " a "),
        (["a", 2, None, True], "a, 2, , yes"),
        ({"a": 1}, ""),
    ],
)
def test_a_value_is_the_text_that_a_table_would_have(value: object, text: str) -> None:
    assert json_cell(value) == text


def test_pages_hold_as_many_as_the_longest_says() -> None:
    """Every page of a longer answer tells how many there are in all."""
    parts = [{"count": 3, "results": [{"id": 1}, {"id": 2}]}, {"count": 3, "results": [{"id": 3}]}]
    assert [item["id"] for item in all_pages(parts, "results", "x")] == [1, 2, 3]
    assert list(all_pages([{"results": [{}]}, {"count": "9"}], "results", "x")) == [{}], (
        "no number, no promise"
    )
    assert list(all_pages([], "results", "x")) == list(all_pages([{"results": []}], "results", "x")) == []
    for part in parts:
        with pytest.raises(InputError, match=rf"x: must hold all 3 entries.*, found {len(part['results'])}"):
            list(all_pages([part], "results", "x"))


# --- What is counted is at least what it costs, and not many times as much.


def cost(make: Callable[[], object]) -> int:
    """The most memory that Python holds while this is made."""
    tracemalloc.start()
    try:
        kept = make()
        return tracemalloc.get_traced_memory()[1] if kept is not None else 0
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "text",
    [
        "[" + "[]," * 20_000 + "1]",
        "[" + "{}," * 20_000 + "1]",
        "[" + "1.5," * 20_000 + "1]",
        "[" + "123456," * 20_000 + "1]",
        "[" + '"ab",' * 20_000 + "1]",
        "[" + '"\\":",' * 20_000 + "1]",
        "[" + '{"a":1},' * 20_000 + "1]",
        "[" + '{"a":{"b":[1,2,"cd"]},"e":"fg","h":2.5},' * 10_000 + "1]",
        "[" + ('"' + "a" * 100 + "😀" + '",') * 5_000 + "1]",
        "[" + ('"' + "a" * 100 + "\\ud83d\\ude00" + '",') * 5_000 + "1]",
        "[" + ('"' + "a" * 100 + "\\u2014" + '",') * 5_000 + "1]",
    ],
)
def test_a_json_text_costs_at_most_what_is_counted(text: str) -> None:
    actual = cost(lambda: json.loads(text))
    assert actual <= json_size(text) <= 6 * actual


def test_a_row_costs_at_most_what_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    actual = cost(lambda: [[*map(str, range(1_000, 1_020))] for _ in range(1_000)]) // 1_000
    cells = [*map(str, range(1_000, 1_020))]
    monkeypatch.setattr(sheet, "MAX_MEMORY", actual)
    with pytest.raises(InputError, match=r"^x.csv, sheet s, row 7: must take at most"):
        Memory("x.csv").take_row(cells, 7, "x.csv, sheet s")
    monkeypatch.setattr(sheet, "MAX_MEMORY", 2 * actual)
    Memory("x.csv").take_row(cells, 7)


def test_what_does_not_fit_is_refused_and_leaves_what_was_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheet, "MAX_MEMORY", 2 * 2**20)
    counted = Memory("x.csv")
    counted.take(2**20)
    for too_much in (lambda: counted.take(2**20 + 1), lambda: counted.check_tags(2**20)):
        with pytest.raises(InputError, match=r"^x.csv: must take at most 2 MiB of memory: .*, found more$"):
            too_much()
    counted.take_cell("a" * 2**19, gap=10, row=3)
    with pytest.raises(InputError, match=r"^x.csv, row 4: "):
        counted.take_cell("a" * 2**19, row=4)


# --- Workbooks against another reader, and those that mean harm.


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
