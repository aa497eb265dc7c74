"""`blindcal plan`: what the bar and the columns mean, every limit repeated, what large pools cost."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("typer")

from blindcal.cli import run
from blindcal.cli.console import say_gap
from small_conferences import SmallConference, files_of

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
    more = "up to 2 percentage points more authors named"
    assert f"requested: average, {more}, epsilon 2, multiplier 1.5, posterior cap 0.999. Expected: " in said
    assert "; no coin was tossed" in said
    assert re.search(
        r"For (\d+ papers?|every paper) the decision (does not|can) depend on who .*\. For ", said
    )
    assert "the scores alone name every author with 95 % certainty" in said


def test_what_large_pools_cost_is_told(capsys) -> None:
    say_gap(1e-4)
    assert capsys.readouterr().out == ""
    say_gap(0.0123)
    assert "up to 1.23 percentage points more errors than the best possible policy" in " ".join(
        capsys.readouterr().out.split()
    )
