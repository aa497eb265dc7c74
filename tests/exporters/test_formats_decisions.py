"""Reading what `decide` wrote, with titles and decisions made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from blindcal.errors import InputError
from blindcal.exporters.formats import DecidedPaper, read_decided

TABLE = """paper,decision,raw_decision,advice
1,accept,reject,raise
'=2,reject,tie,reject
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
        DecidedPaper("=2", "reject", "tie", "reject", "=x"),
        DecidedPaper("10", "accept", "reject", "leave", "", overridden=True),
    )
    assert read_decided(tmp_path / "out" / "decisions.csv")[0] == DecidedPaper(
        "1", "accept", "reject", "raise"
    )


def test_tracks_and_the_wait_list_are_read_where_there_are_any(tmp_path: Path) -> None:
    table = """paper,decision,raw_decision,advice,track,wait_list
1,accept,reject,raise,main,
2,wait list,accept,lower,main,1
"""
    found = read_decided(release(tmp_path / "out", table), None, {"2": "accept"})
    assert found[0] == DecidedPaper("1", "accept", "reject", "raise", track="main")
    assert found[1] == DecidedPaper("2", "accept", "accept", "lower", overridden=True, track="main")
    assert read_decided(tmp_path / "out")[1].wait_list == "1"


BAD = {
    "no folder": (None, {}, r"there is no such file"),
    "other words": (TABLE.replace("raise", "lift"), {}, "row 2, column advice: must be one of raise, leave"),
    "twice": (TABLE.replace("10,", "1,"), {}, "row 4, column paper: must not be listed twice"),
    "unknown paper": (TABLE, {"99": "accept"}, "`overridden`: paper '99' is not in"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_release_is_refused(case: str, tmp_path: Path) -> None:
    table, overridden, message = BAD[case]
    folder = tmp_path / "none" if table is None else release(tmp_path / "out", table)
    with pytest.raises(InputError, match=message):
        read_decided(folder, None, overridden)
