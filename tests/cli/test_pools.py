"""`blindcal pools`: candidates for an assignment that was already made, and what they assume."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("typer")

from blindcal.assignment.candidates import read_pools
from commands import call

pytestmark = pytest.mark.edge


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("bids.csv").write_text("paper,reviewer,bid\np,a,3\np,b,1\np,c,0\nq,c,2\nq,b,2\nq,a,conflict\n")
    Path("conflicts.csv").write_text("paper,conflict\np,c\n")
    Path("papers.csv").write_text("paper\np\nq\n")
    Path("committee.csv").write_text("reviewer\na\nb\nc\n")
    return tmp_path


def test_each_assumption(folder: Path) -> None:
    expected = {
        "eligible": {"p": {"a": 0.5, "b": 0.5}, "q": {"b": 0.5, "c": 0.5}},
        "bidders": {"p": {"a": 0.5, "b": 0.5}, "q": {"b": 0.5, "c": 0.5}},
        "similarity": {"p": {"a": 0.75, "b": 0.25}, "q": {"b": 0.5, "c": 0.5}},
    }
    for assume, pools in expected.items():
        code, out, err = call(
            *["pools", "--assume", assume, "--bids", "bids.csv", "--conflicts", "conflicts.csv"],
            *["--per-paper", "1", "--out", f"{assume}.csv"],
        )
        assert code == 0, err
        assert "assumes: " in out
        assert read_pools(f"{assume}.csv") == pools


def test_everyone_without_a_conflict_needs_no_bids(folder: Path) -> None:
    listed = ("--papers", "papers.csv", "--committee", "committee.csv", "--conflicts", "conflicts.csv")
    asked = ("pools", "--assume", "eligible", "--per-paper", "2", "--json")
    code, out, err = call(*asked, *listed, "--out", "p.csv")
    assert code == 0, err
    assert json.loads(out)["candidates_per_paper"] == [2, 2.5, 3]
    assert read_pools("p.csv")["p"] == {"a": 1.0, "b": 1.0}
    code, _, err = call(*asked, *listed, "--out", "p.csv")
    assert code == 3, "an existing file is never overwritten"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--assume", "best", "--bids", "bids.csv"), "--assume must be one of eligible, bidders, similarity"),
        (("--assume", "bidders"), "give one of --bids and --similarity"),
        (
            ("--assume", "eligible", "--papers", "papers.csv"),
            "give --papers and --committee, or one of --bids",
        ),
        (("--assume", "bidders", "--bids", "bids.csv", "--per-paper", "3"), "must have 3 candidates"),
    ],
)
def test_what_is_refused(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    given = {"--per-paper": "1", "--out": "p.csv"} | dict(zip(arguments[::2], arguments[1::2], strict=True))
    code, out, err = call("pools", *(word for pair in given.items() for word in pair))
    assert (code, out) == (2, "")
    assert said in err
    assert not Path("p.csv").exists()
