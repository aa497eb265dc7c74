"""`blindcal check`: what is in a table, and nobody named."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("typer")

from blindcal.cli.console import CONFIDENTIAL
from commands import CANARY, call

pytestmark = pytest.mark.edge


def test_check_says_what_is_in_a_table_and_names_nobody(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(f"paper,reviewer,score\nP1,{CANARY},1\nP1,b,2\nP2,c,2\nP3,c,1\nP3,b,1\nP4,d,2\n")
    code, out, err = call("check", str(path))
    assert (code, err) == (0, "")
    assert CANARY not in out
    assert re.search(r"reviews per paper +1 to 2\n", out)
    assert re.search(r"grid +1 2\n", out)
    assert "high scores (--better low if low scores are better)" in out
    code, out, err = call("check", str(path), "--json", "--grid", "1,2,3")
    assert json.loads(out) == {
        "reviews": 6,
        "papers": 4,
        "reviewers": 4,
        "conferences": 1,
        "reviews_a_paper": [1, 2],
        "reviewers_with_one_review": 2,
        "connected_parts": 2,
        "lowest_and_highest_score": [1.0, 2.0],
        "grid": [1.0, 2.0, 3.0],
        "grid_declared": True,
        "better": "high",
        "warning": CONFIDENTIAL,
    }
    assert call("check", str(path), "--grid", "1,x")[0] == 2
    assert call("check", str(tmp_path / "none.csv"))[0] == 2


def test_a_withdrawn_paper_without_a_review_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("paper,reviewer,score\nP1,a,1\nP2,b,2\n")
    code, _, err = call("check", str(path), "--withdrawn", "P1", "--withdrawn", "nosuch")
    assert code == 0
    assert f"withdrawn: 'nosuch' has no review in {path}" in " ".join(err.split())
    assert "P1" not in err


def test_check_says_no_more_of_the_grid_than_the_scores_tell(tmp_path: Path) -> None:
    path, words = tmp_path / "r.csv", {}
    scores_of = {"few": "147", "equal": "777", "many": [f"0.{n:02}" for n in range(1, 31)]}
    for name, scores in scores_of.items():
        rows = "".join(f"P{n},r,{score}\n" for n, score in enumerate(scores))
        path.write_text(f"paper,reviewer,score\n{rows}")
        words[name] = re.search(r"^grid  +(.*?) *$", call("check", str(path))[1], re.MULTILINE)[1]
    assert words == {
        "few": "1 2 3 4 5 6 7",
        "equal": "all scores are 7",
        "many": "none: scores look continuous",
    }
    assert "none: any number can be given" in call("check", str(path), "--grid", "none")[1]


@pytest.mark.parametrize("command", ["check", "calibrate", "assess"])
def test_one_paper_under_two_ids_is_noted(command: str, reviews: Path, tmp_path: Path) -> None:
    """Whoever decides two halves of a paper decides neither."""
    out = ["--out", str(tmp_path / "out.csv")] if command == "calibrate" else []
    reviews.write_text(reviews.read_text().replace("p01,", "P1,", 1))
    code, _, told = call(command, str(reviews), *out)
    assert code == 0
    assert "the ids of the papers in rows 5 and 6 differ only in capital letters" in told
