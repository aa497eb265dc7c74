"""`blindcal plan`: what the bar and the columns mean, every limit repeated, what large pools cost."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("typer")

from blindcal.cli import run
from blindcal.cli.console import say_gap
from small_conferences import SmallConference, command_line, everything

pytestmark = pytest.mark.edge


def test_plan_says_what_the_bar_and_the_columns_mean(
    small: SmallConference, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command_line("plan", small.write(tmp_path / "in"), "bar = 0.5")) == 0
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
    limits = ["multiplier = 1.5", "posterior-cap = 0.999", "added-success = 0.02"]
    assert run(command_line("plan", small.write(tmp_path / "in"), 'guarantee = "average"', *limits)) == 0
    said = capsys.readouterr().out
    more = "up to 2 percentage points more reviewers named"
    assert f"requested: average, {more}, epsilon 2, multiplier 1.5, posterior cap 0.999. Expected: " in said
    assert "; no coin was tossed" in said
    assert re.search(
        r"For (\d+ papers?|every paper) the decision (does not|can) depend on who .*\. For ", said
    )
    assert "the scores alone name every author with 95 % certainty" in said


def test_what_if_compares_guarantees_and_leaves_the_folder_as_it_is(
    small: SmallConference, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = command_line("plan", small.write(tmp_path / "in"))
    before = everything(Path(plan[1]))
    assert run([*plan, "--only", "--json"]) == 0
    own = json.loads(capsys.readouterr().out)
    assert (own["guarantee"]["name"], own["guarantee"]["epsilon"]) == ("steady", 2.0)
    assert run([*plan, "--only", "--guarantee", "steady epsilon=1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["guarantee"]["epsilon"] == 1.0
    several = ["--guarantee", "average", "--guarantee", "steady epsilon=none", "--guarantee", "public"]
    assert run([*plan, *several, "--json"]) == 0
    compared = json.loads(capsys.readouterr().out)
    assert compared["guarantee"]["name"] == "average"
    choices = compared["menu"]["choices"]
    assert [choice["guarantee"]["name"] for choice in choices] == ["average", "steady", "public"]
    assert choices[1]["guarantee"]["epsilon"] is None
    assert choices[0]["wrong"] == pytest.approx(compared["expected_wrong"], abs=1e-9)
    assert everything(Path(plan[1])) == before


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--guarantee", "private"], "must be one of public, steady, average, none"),
        (["--guarantee", "steady epsilon"], "epsilon"),
        (["--guarantee", "steady speed=1"], "speed"),
        (["--guarantee", "none"], "it needs --yes-leak"),
        (["--guarantee", "public", "--guarantee", "steady", "--out", "p.html"], "goes with one --guarantee"),
    ],
)
def test_what_no_guarantee_can_be_is_refused(
    options: list[str],
    problem: str,
    small: SmallConference,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run([*command_line("plan", small.write(tmp_path / "in")), *options]) == 2
    assert problem in capsys.readouterr().err
    assert not Path("p.html").exists()


def test_what_large_pools_cost_is_told(capsys) -> None:
    say_gap(1e-4)
    assert capsys.readouterr().out == ""
    say_gap(0.0123)
    assert "up to 1.23 percentage points more errors than the best possible policy" in " ".join(
        capsys.readouterr().out.split()
    )
