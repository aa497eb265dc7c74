"""`blindcal plan`: what the bar and the columns mean, every limit repeated, what large pools cost."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("typer")

from blindcal.cli import run
from blindcal.cli.console import say_gap
from small_conferences import SmallConference, files_of, small_conference

pytestmark = pytest.mark.edge


def test_plan_says_what_the_bar_and_the_columns_mean(
    small: SmallConference, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", *files_of(small.write(tmp_path / "in")), "--bar", "0.5"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "bar: quality 0.5 (quality is N(0,1) over papers)"
    (heading,) = (i for i, line in enumerate(lines) if line.startswith("guarantee "))
    meaning = " ".join(lines[heading + 1 :])
    for column in ("wrong", "benefit kept", "against evidence", "author named"):
        assert column in lines[heading]
        assert f"{column}: " in meaning


def test_a_plan_repeats_every_limit_that_was_asked_for(
    small: SmallConference, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limits = ["--multiplier", "1.5", "--posterior-cap", "0.999", "--added-success", "0.02"]
    plan = ["plan", *files_of(small.write(tmp_path / "in")), "--accept-rate", "0.4", "--guarantee", "average"]
    assert run([*plan, *limits]) == 0
    said = capsys.readouterr().out
    more = "up to 2 percentage points more reviewers named"
    assert f"requested: average, {more}, epsilon 2, multiplier 1.5, posterior cap 0.999. Expected: " in said
    assert "; no coin was tossed" in said
    assert re.search(
        r"For (\d+ papers?|every paper) the decision (does not|can) depend on who .*\. For ", said
    )
    assert "the scores alone name every author with 95 % certainty" in said


def test_a_limit_on_what_all_decisions_reveal_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The epsilon that is found is a function of public files, and `decide` takes it as it takes any."""
    small = small_conference(papers=6, pool=4, spread=0.4)
    wrote = [row[1] for row in small.reviews[1:]]
    loads = tmp_path / "loads.csv"
    rows = [f"{name},{wrote.count(name)}\n" for name in small.canaries]
    loads.write_text("reviewer,load\n" + "".join(rows), encoding="utf-8")
    plan = ["plan", *files_of(small.write(tmp_path / "in")), "--accept-rate", "0.4", "--only"]
    asked = [*plan, "--guarantee", "average", "--epsilon", "none", "--loads", str(loads)]
    assert run([*asked, "--coupled", "0.0005", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    held, tries = found["coupled"]["chosen"], found["coupled"]["tries"]
    assert tries[0]["guarantee"]["epsilon"] is None
    assert tries[0]["measured"]["added"] > 0.0005 >= held["measured"]["upper"]
    assert found["guarantee"] == held["guarantee"]
    assert run([*asked, "--coupled", "0.0005"]) == 0
    said = capsys.readouterr().out
    assert f"decide with --epsilon {held['guarantee']['epsilon']:g}: " in said
    assert "measured on average over public information, not guaranteed" in " ".join(said.split())
    assert run([*asked, "--coupled", "0.5"]) == 0
    assert "decide with" not in capsys.readouterr().out
    for wrong in (asked, [*plan, "--coupled", "0.01"], [*asked, "--coupled", "2"]):
        assert run(wrong) == 2
    nothing = ["--guarantee", "none", "--yes-leak", "--coupled", "0.01", "--loads", str(loads)]
    assert run([*plan, *nothing]) == 2
    assert "steady or average" in capsys.readouterr().err


def test_what_large_pools_cost_is_told(capsys) -> None:
    say_gap(1e-4)
    assert capsys.readouterr().out == ""
    say_gap(0.0123)
    assert "up to 1.23 percentage points more errors than the best possible policy" in " ".join(
        capsys.readouterr().out.split()
    )
