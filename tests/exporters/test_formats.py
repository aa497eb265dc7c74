"""Files for other systems: their columns, their words, and what a spreadsheet makes of them."""

from __future__ import annotations

import ast
import csv
import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blindcal.errors import InputError
from blindcal.exporters import FORMATS, export
from blindcal.exporters.formats import MOST_CELL, DecidedPaper, read_decided, workbook
from blindcal.importers.open import open_export
from blindcal.io.cells import unescape
from sizes import count

PAPERS = (
    DecidedPaper("2", "accept", "reject", "raise", title='=HYPERLINK("http://x"), "a"'),
    DecidedPaper("10", "reject", "accept", "lower", title="On Widgets\nand more"),
    DecidedPaper("11", "reject", "reject", "leave"),
    DecidedPaper("12", "accept", "tie", "tie: raise", title="+1", overridden=True),
)


def rows(data: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(data.decode(), newline="")))


def cells(data: bytes, width: int = 2) -> list[list[str]]:
    """The rows of a workbook, with their empty last cells."""
    (sheet,) = open_export(data, "x.xlsx").sheets
    return [[*row, *[""] * (width - len(row))] for _, row in sheet.rows]


def test_hotcrp_reads_a_bulk_assignment() -> None:
    header, *found = rows(export(PAPERS, "hotcrp"))
    assert header == ["paper", "action", "decision"]
    words = {"2": "yes", "10": "no", "11": "no", "12": "yes"}
    assert found == [[paper, "decision", word] for paper, word in words.items()]
    words = export(PAPERS, "hotcrp", accepted="Accept, minor", rejected='No "thanks"')
    assert rows(words)[1:3] == [["2", "decision", "Accept, minor"], ["10", "decision", 'No "thanks"']]


def test_advice_for_hotcrp_is_seen_by_chairs_alone_and_replaces_what_was_there() -> None:
    found = rows(export(PAPERS, "hotcrp", "advice"))
    assert found[0] == ["paper", "action", "tag"]
    assert all(tag.startswith("~~") for _, _, tag in found[1:])
    tags = [(paper, tag) for paper, action, tag in found[1:] if action == "tag"]
    assert tags == [("2", "~~blindcal-raise"), ("10", "~~blindcal-lower"), ("12", "~~blindcal-tie-raise")]
    assert len(found) == 1 + 4 * len(PAPERS), "every other tag is cleared"
    assert {action for _, action, _ in found[1:]} == {"tag", "cleartag"}


def test_openreview_reads_rows_without_a_header() -> None:
    words = {"2": "Accept (Poster)", "10": "Reject", "11": "Reject", "12": "Accept (Poster)"}
    assert rows(export(PAPERS, "openreview")) == [[paper, word, ""] for paper, word in words.items()]
    with pytest.raises(InputError, match="openreview takes decisions alone"):
        export(PAPERS, "openreview", "advice")


CODES = (
    DecidedPaper("UMNSRA", "accept", "reject", "raise", title="On Widgets"),
    DecidedPaper("DNDY9B", "reject", "accept", "lower"),
    DecidedPaper("CLMQUY", "wait list", "accept", "lower", wait_list="1"),
)


def test_pretalx_gets_a_script_without_a_token() -> None:
    """What it does to a pretalx is tested against a live one."""
    script = export(CODES, "pretalx").decode()
    tree = ast.parse(script)
    (decisions,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "DECISIONS"
    )
    assert decisions == {"UMNSRA": "accept", "DNDY9B": "reject", "CLMQUY": "wait list"}
    imported = [name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
    assert {name.name.split(".")[0] for name in imported} <= sys.stdlib_module_names
    assert "Token {token}" in script
    with pytest.raises(InputError, match="pretalx takes decisions alone"):
        export(CODES, "pretalx", "advice")
    for words in ({"accepted": "Yes"}, {"rejected": "No"}, {"waiting": "Maybe"}):
        with pytest.raises(InputError, match="pretalx has states of its own"):
            export(CODES, "pretalx", **words)
    bad = [CODES[0], DecidedPaper('"+evil', "accept", "accept", "leave")]
    with pytest.raises(InputError, match="row 3, column paper: must be a code of pretalx, like ABC37X"):
        export(bad, "pretalx")


@pytest.mark.parametrize(
    ("to", "yes", "no"), [("easychair", "accept", "reject"), ("cmt", "Accept", "Reject")]
)
def test_systems_without_an_upload_get_a_list_to_type_from(to: str, yes: str, no: str) -> None:
    """In the order of their numbers, as the systems list papers, and in the systems' own words."""
    papers = [PAPERS[1], PAPERS[0], DecidedPaper("3", "wait list", "tie", "tie: lower")]
    assert rows(export(papers, to)) == [
        ["paper", "title", "decision"],
        ["2", '\'=HYPERLINK("http://x"), "a"', yes],
        ["3", "", "wait list"],
        ["10", "On Widgets\nand more", no],
    ]
    assert rows(export(papers, to, accepted="Oral", waiting="Revision"))[1:3] == [
        ["2", '\'=HYPERLINK("http://x"), "a"', "Oral"],
        ["3", "", "Revision"],
    ]


@pytest.mark.parametrize("what", ["decisions", "advice"])
def test_tables_for_people_have_titles_and_round_trip(what: str) -> None:
    """Through our own importers' readers: the same cells from both."""
    table = [[unescape(cell) for cell in row] for row in rows(export(PAPERS, "csv", what))]
    assert cells(export(PAPERS, "xlsx", what), 4) == table
    assert [row[1] for row in table[1:]] == [one.title for one in PAPERS]
    if what == "decisions":
        assert table[0] == ["paper", "title", "decision", "overridden"]
        assert [row[3] for row in table[1:]] == ["", "", "", "by hand"]
    else:
        assert table[0] == ["paper", "title", "by_mean_score", "advice"]


def test_without_titles_and_overrides_there_are_no_columns_for_them() -> None:
    plain = [DecidedPaper("a", "accept", "accept", "leave")]
    assert export(plain, "csv") == b"paper,decision\na,accept\n"


@pytest.mark.parametrize("to", FORMATS)
def test_no_cell_of_a_text_file_can_be_run(to: str) -> None:
    """A cell that starts so is a formula to a spreadsheet."""
    if to in ("xlsx", "pretalx"):
        return
    for row in rows(export(PAPERS, to)):
        assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in row)


def test_the_wait_list_is_for_people_and_for_systems_that_have_a_word_for_it() -> None:
    papers = [
        PAPERS[0],
        DecidedPaper("7", "wait list", "accept", "lower", track="short", wait_list="1"),
        DecidedPaper("8", "wait list", "tie", "tie: lower", track="main", wait_list="2"),
    ]
    assert [row[0] for row in rows(export(papers, "openreview"))] == ["2"], "they are not decided"
    assert rows(export(papers, "openreview", waiting="Wait"))[1] == ["7", "Wait", ""]
    table = rows(export(papers, "csv"))
    assert table[0] == ["paper", "title", "track", "decision", "wait_list"]
    assert table[2] == ["7", "", "short", "wait list", "1"]
    assert ["8", "tag", "~~blindcal-tie-lower"] in rows(export(papers, "hotcrp", "advice"))


def test_a_file_with_another_number_takes_back_what_an_earlier_one_said() -> None:
    """Ten were accepted, then eight: two wait, and HotCRP would go on to accept them."""
    waits = DecidedPaper("7", "wait list", "accept", "lower", wait_list="1")
    assert rows(export([PAPERS[0], waits], "hotcrp", accepted="Accept", rejected="Reject")) == [
        ["paper", "action", "decision"],
        ["2", "decision", "Accept"],
        ["7", "cleardecision", "Accept"],
        ["7", "cleardecision", "Reject"],
    ]
    assert rows(export([waits], "hotcrp", waiting="Maybe"))[1:] == [["7", "decision", "Maybe"]]


BAD = {
    "to": (
        {"to": "ojs"},
        "`to` must be one of hotcrp, openreview, pretalx, easychair, cmt, csv, xlsx, found",
    ),
    "what": ({"what": "scores"}, "`what` must be one of decisions, advice"),
    "formula": ({"accepted": "=1"}, "`accepted` must be words"),
    "line": ({"rejected": "a\nb"}, "`rejected` must be words"),
    "same": ({"accepted": "Reject"}, "must be different words"),
    "advice": ({"what": "advice", "accepted": "Yes"}, "must be left out: these are words for decisions"),
    "waiting": ({"waiting": "yes"}, "must be different words"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_requests_are_refused(case: str) -> None:
    options, message = BAD[case]
    with pytest.raises(InputError, match=message):
        export(PAPERS, **{"to": "openreview" if case == "same" else "hotcrp", **options})


@pytest.mark.parametrize("to", ["hotcrp", "openreview"])
def test_papers_without_a_number_are_refused_by_row(to: str) -> None:
    bad = [PAPERS[0], *(DecidedPaper(paper, "accept", "accept", "leave") for paper in ("p7", "007"))]
    with pytest.raises(InputError, match=r"knows papers by their numbers\. Export as csv") as caught:
        export(bad, to)
    assert [problem.row for problem in caught.value.problems] == [3, 4]


# --- Reading what `decide` wrote, with titles and decisions made by hand.


TABLE = """paper,decision,by_mean_score,advice
1,accept,reject,raise
'=2,reject,tie,tie: lower
10,reject,reject,leave
"""


def release(folder: Path, table: str = TABLE) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "decisions.csv").write_text(table, encoding="utf-8")
    return folder


def test_papers_have_titles_where_known_and_overridden_decisions(tmp_path: Path) -> None:
    (tmp_path / "titles.csv").write_text("paper,title\n1,\"A, b\"\n'=2,'=x\n99,other\n")
    found = read_decided(release(tmp_path / "out"), tmp_path / "titles.csv", {"10": "accept"})
    assert found == (
        DecidedPaper("1", "accept", "reject", "raise", "A, b"),
        DecidedPaper("=2", "reject", "tie", "tie: lower", "=x"),
        DecidedPaper("10", "accept", "reject", "leave", "", overridden=True),
    )
    assert read_decided(tmp_path / "out" / "decisions.csv")[0] == DecidedPaper(
        "1", "accept", "reject", "raise"
    )


def test_tracks_and_the_wait_list_are_read_where_there_are_any(tmp_path: Path) -> None:
    table = """paper,decision,by_mean_score,advice,track,wait_list
1,accept,reject,raise,main,
2,wait list,accept,lower,main,1
"""
    found = read_decided(release(tmp_path / "out", table), None, {"2": "accept"})
    assert found[0] == DecidedPaper("1", "accept", "reject", "raise", track="main")
    assert found[1] == DecidedPaper("2", "accept", "accept", "lower", overridden=True, track="main")
    assert read_decided(tmp_path / "out")[1].wait_list == "1"


BAD_DECISIONS = {
    "no folder": (None, {}, r"there is no such file"),
    "other words": (TABLE.replace("raise", "lift"), {}, "row 2, column advice: must be one of raise, lower"),
    "twice": (TABLE.replace("10,", "1,"), {}, "row 4, column paper: must not be listed twice"),
    "unknown paper": (TABLE, {"99": "accept"}, "`overridden`: paper '99' is not in"),
}


@pytest.mark.parametrize("case", BAD_DECISIONS)
def test_what_is_no_release_is_refused(case: str, tmp_path: Path) -> None:
    table, overridden, message = BAD_DECISIONS[case]
    folder = tmp_path / "none" if table is None else release(tmp_path / "out", table)
    with pytest.raises(InputError, match=message):
        read_decided(folder, None, overridden)


# --- Workbooks as other programs read them: our own importer, openpyxl, LibreOffice.


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


def test_what_is_written_is_read_by_our_importer() -> None:
    data = workbook(HEADER, ROWS, "decisions")
    assert cells(data) == [HEADER, *ROWS]
    assert workbook(HEADER, ROWS, "decisions") == data, "the same bytes, whenever they are written"
    assert open_export(data, "x.xlsx").sheets[0].name == "decisions"


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=5))
@settings(max_examples=count(60, 2000))
def test_any_text_is_read_back(rows: list[tuple[str, str]]) -> None:
    # A carriage return is a line end in XML unless it is escaped; ours is.
    # Rows without any text are not kept.
    assert cells(workbook(HEADER, rows, "x"))[1:] == [list(row) for row in rows if any(row)]


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
