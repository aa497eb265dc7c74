"""`blindcal pools`: from bids to the candidates of each paper, which `plan`, `decide` and `verify` take."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path

import pytest

pytest.importorskip("typer")

from blindcal.pools.candidates import read_pools
from blindcal.project import read_folder
from commands import call, succeed
from small_conferences import everything

pytestmark = pytest.mark.edge

POOLS = Path("icx/inputs/pools.csv")
REVIEWS = "paper,reviewer,score\np,a,1\np,b,3\nq,b,2\nq,c,1\n"
REVIEWERS = "reviewer,slope,offset,noise\na,1,2,.5\nb,1.2,2,.5\nc,.8,1.5,.5\n"


@pytest.fixture
def folder(place: Path) -> Path:
    """Two papers and three people, assigned by another program."""
    Path("bids.csv").write_text("paper,reviewer,bid\np,a,3\np,b,1\np,c,1\nq,c,2\nq,b,2\nq,a,conflict\n")
    Path("conflicts.csv").write_text("paper,conflict\np,c\n")
    Path("committee.csv").write_text("reviewer\na\nb\nc\n")
    words = ("--committee", "committee.csv", "--conflicts", "conflicts.csv")
    succeed("new", "icx", *words, "--scores", "public", "--accept", "50%")
    return Path("icx")


def assumed(assume: str, *more: str, folder: str = "icx", per_paper: str = "1") -> tuple[int, str, str]:
    return call("pools", folder, "bids.csv", "--per-paper", per_paper, "--assume", assume, *more)


def test_each_assumption(folder: Path) -> None:
    expected = {
        "bidders": {"p": {"a": 0.5, "b": 0.5}, "q": {"b": 0.5, "c": 0.5}},
        "similarity": {"p": {"a": 0.75, "b": 0.25}, "q": {"b": 0.5, "c": 0.5}},
    }
    for assume, pools in expected.items():
        shutil.copytree("icx", assume)
        code, out, err = assumed(assume, folder=assume)
        assert code == 0, err
        assert "2 papers; candidates per paper: fewest 2, median 2, most 2" in out
        assert "assumes: " in out
        assert read_folder(assume).settings["pools"] == f"{assume}/inputs/pools.csv"
        assert read_pools(f"{assume}/inputs/pools.csv") == pools
        assert stat.S_IMODE(Path(assume, "inputs/pools.csv").stat().st_mode) == 0o600


def test_papers_are_decided_with_the_pools_that_were_written(folder: Path) -> None:
    assert assumed("similarity", per_paper="2")[0] == 0
    Path("reviews.csv").write_text(REVIEWS)
    Path("reviewers.csv").write_text(REVIEWERS)
    succeed("import", "icx", "reviews.csv", "reviewers.csv")
    succeed("decide", "icx")
    succeed("verify", "icx")
    before = everything(folder)
    code, _, err = assumed("bidders", per_paper="2")
    assert (code, "who may have reviewed them stays as it was" in err) == (3, True)
    assert everything(folder) == before


def test_another_assumption_keeps_the_earlier_pools_and_the_same_changes_nothing(folder: Path) -> None:
    assert assumed("similarity")[0] == 0
    before, first = everything(folder), read_pools(POOLS)
    rows = Path("bids.csv").read_text().splitlines()
    Path("bids.csv").write_text("\n".join([rows[0], *reversed(rows[1:])]) + "\n")
    code, out, err = assumed("similarity", "--json")
    assert code == 0, err
    assert json.loads(out) | {"assumes": ""} == {
        "papers": 2,
        "candidates_per_paper": [2, 2, 2],
        "assumes": "",
        "pools": "icx/inputs/pools.csv",
        "notes": [],
    }
    assert everything(folder) == before, "the order of rows says nothing"
    for _ in range(2):
        code, out, err = assumed("bidders")
        assert code == 0, err
        second = Path("icx/inputs/correction-1/pools.csv")
        assert f"pools of the folder from now on: {second}" in out
        assert read_folder(folder).settings["pools"] == str(second)
    assert read_pools(second) == {"p": {"a": 0.5, "b": 0.5}, "q": {"b": 0.5, "c": 0.5}}
    assert read_pools(POOLS) == first


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"--assume": "best"}, "--assume must be one of bidders, similarity"),
        ({"--assume": None}, "Missing option '--assume'"),
        ({"--per-paper": None}, "Missing option '--per-paper'"),
        ({"--per-paper": "3"}, "must have 3 candidates"),
        ({"--per-paper": "0"}, "--per-paper must be at least 1"),
        ({"bids": "nothing.csv"}, "there is no such file"),
        ({"bids": "conflicts.csv"}, "column reviewer: must be in the header"),
        ({"bids": "canary.csv"}, "row 3, column reviewer: must not be listed twice for one paper"),
    ],
)
def test_what_is_refused_writes_nothing(folder: Path, words: dict[str, str | None], said: str) -> None:
    Path("canary.csv").write_text("paper,reviewer,bid\np,canary,1\np,canary,2\n")
    given = {"bids": "bids.csv", "--per-paper": "1", "--assume": "bidders", **words}
    before, bids = everything(folder), given.pop("bids")
    code, out, err = call(
        "pools", "icx", str(bids), *(word for pair in given.items() if pair[1] for word in pair)
    )
    assert (code, out) == (2, "")
    assert said in err
    assert "canary-" not in err.replace("canary.csv", "")
    assert everything(folder) == before
