"""`blindcal share`, and `fit` with what it wrote."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from studies.past_reviews import drawn_pasts

pytest.importorskip("typer")
pytest.importorskip("opendp")

from commands import call
from small_pasts import short_fits

pytestmark = pytest.mark.edge

PAST = "paper,reviewer,score\n1,ann,7\n1,bob,4\n2,ann,6\n2,cyd,5\n3,bob,8\n3,cyd,3\n"
SHARE = ("share", "past.csv", "--committee", "people.csv", "--key", "key.bin", "--out", "s.csv")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short_fits(monkeypatch, tmp_path)
    Path("past.csv").write_text(PAST)
    Path("people.csv").write_text("reviewer\nann\nbob\ndan\n")
    assert call("new", "past", "--key", "key.bin")[0] == 0


def test_sums_are_shared_and_fitted() -> None:
    code, out, err = call(*SHARE, "--epsilon", "4")
    assert code == 0, err
    assert "a row for 3 people; new noise was drawn" in out
    assert "privacy loss of one review: epsilon 4" in out
    assert "public: s.csv, s.csv.share.json" in out
    assert "for you alone: 2 reviews by people who are not on the list" in err
    lines = Path("s.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["reviewer", "ann", "bob", "dan"]
    assert os.stat("key.bin.shared").st_mode & 0o777 == 0o700
    assert call("new", "icx")[0] == 0
    years = drawn_pasts(np.random.default_rng(4), 40, 2, grid=np.arange(1.0, 11.0)).reviews
    for name, file in (("c0", "own.csv"), ("c1", "now.csv")):
        years.only(name).write(file)
    people = "".join(f"r{number}\n" for number in range(40))
    Path("committee.csv").write_text(f"reviewer\nann\n{people}")
    assert call("import", "icx", "now.csv", "committee.csv")[0] == 0
    code, out, err = call("import", "icx", "s.csv")
    assert (code, "past: s, sums that it shared" in out) == (0, True), err
    assert call("import", "icx", "own.csv", "--as", "past")[0] == 0
    code, out, err = call("fit", "icx")
    assert code == 0, err
    assert "with what 1 other conference shared" in out
    table = Path("icx/inputs/reviewers.csv")
    assert len(table.read_text().splitlines()) == 43
    assert json.loads(Path(f"{table}.fit.json").read_text())["shared"] == ["past"]


def test_a_further_release_is_refused_without_a_reason() -> None:
    assert call(*SHARE, "--epsilon", "4")[0] == 0
    other = (*SHARE[:-1], "t.csv", "--zcdp", "0.5")
    code, _, err = call(*other)
    assert code == 3
    assert "give a --reason" in err
    code, out, err = call(*other, "--reason", "another list", "--json")
    assert code == 0, err
    assert json.loads(out)["statement"]["total"] == {"epsilon": None, "zcdp": 8.5}


def test_what_was_shared_before_comes_with_what_is_spent_now() -> None:
    assert call(*SHARE, "--epsilon", "1")[0] == 0
    assert call(*SHARE[:-1], "t.csv", "--epsilon", "2", "--reason", "again")[0] == 0
    code, out, err = call(*SHARE, "--epsilon", "1", "--reason", "lost")
    assert code == 0, err
    assert "with everything that was shared of these reviews: epsilon 3" in out
    assert "--reason was not entered: nothing new was shared" in err
    found = json.loads(call(*SHARE, "--epsilon", "1", "--json")[1])
    assert found["total"] == {"epsilon": 3.0, "zcdp": 2.5}
    assert found["statement"]["total"] == {"epsilon": 1.0, "zcdp": 0.5}


@pytest.mark.parametrize("how", [(), ("--epsilon", "1", "--zcdp", "1"), ("--epsilon", "0")])
def test_one_limit_must_be_given(how: tuple[str, ...]) -> None:
    code, _, err = call(*SHARE, *how)
    assert code == 2
    assert "--epsilon or --zcdp" in err
    assert not Path("s.csv").exists()
