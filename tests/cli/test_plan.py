"""`blindcal plan`: the answer first, estimated or exact, as text and as JSON, whoever reviewed what."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer")

from blindcal.cli import plan as command
from blindcal.cli import run
from blindcal.cli.console import say_gap
from blindcal.planning import guarantee_menu
from blindcal.planning.conference_plan import answer
from blindcal.planning.guarantee_menu import Choice, Menu
from commands import edit, refusal, succeed
from small_conferences import SmallConference, command_line, everything, small_conference

pytestmark = pytest.mark.edge

STEADY = ('guarantee = "steady"', "epsilon = 2")


def _said(small: SmallConference, folder: Path, *more: str) -> tuple[list[str], str]:
    said = succeed(*command_line("plan", small.write(folder), *more))
    return said.out.splitlines(), said.err


def test_the_answer_comes_first_then_the_menu_then_what_it_is_about(
    small: SmallConference, tmp_path: Path
) -> None:
    lines, _ = _said(small, tmp_path / "in", "bar = 0.5", *STEADY)
    assert re.match(
        r"(Not worth it with steady and epsilon 2\. )?Expected gain: .* of 6 papers; .* decided otherwise",
        lines[0],
    )
    assert "bar: quality 0.5 (quality is N(0,1) over papers)" in lines
    assert "6 papers, 12 reviews; nothing was drawn" in lines
    (heading,) = (i for i, line in enumerate(lines) if line.startswith("guarantee "))
    for column in ("expected gain", "wrong decisions", "of full's gain", "reviewers identified"):
        assert column in lines[heading]
    names = [line.split("  ")[0] for line in lines[heading + 1 :]]
    assert names[0] == "mean scores, no calibration"
    assert "steady, epsilon 2 (chosen)" in names
    assert "crowd of 10, epsilon 3" in names
    assert names.index("full calibration, no promise") > names.index("average, epsilon 2")
    assert sum("(chosen)" in line for line in lines) == 1
    assert not any("estimated" in line for line in lines)


def test_many_papers_are_estimated_from_some_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a second to spare, the first batch is all there is; 15 papers of 20 are weighed."""
    monkeypatch.setattr(command, "A_MINUTE", 0.0)
    monkeypatch.setattr(guarantee_menu, "MOST_WEIGHED", 15)
    small = small_conference(papers=20)
    lines, _ = _said(small, tmp_path / "in", *STEADY)
    said = " ".join(lines)
    assert " +- " in lines[0]
    assert "They are estimated from 4 of 20 papers, chosen by public data alone" in said
    assert "that of 15 papers: the one to be frozen comes from all of them" in said
    lines, _ = _said(small, tmp_path / "in", *STEADY, "--full")
    assert not any("estimated" in line or " +- " in line or "frozen" in line for line in lines)
    (planned,) = (line for line in lines if line.startswith("planned: "))
    (own,) = (line for line in lines if "(chosen)" in line)
    wrong = own.split("(chosen)")[1].split()[1]
    assert f"Expected: {wrong} of 20 papers decided wrongly" in planned


def test_json_has_the_same_quantities_and_names_nobody(small: SmallConference, tmp_path: Path) -> None:
    plan = command_line("plan", small.write(tmp_path / "in"))
    text = succeed(*plan, "--json").out
    assert not any(name in text for name in small.canaries)
    found = json.loads(text)
    keys = "accept advice bar bar_of_papers better calibration_fit commitment guarantee menu notes papers"
    assert {*found} == {*keys.split(), "key_fingerprint", "reviews", "wait_list"}
    menu = found["menu"]
    assert {*menu} == {*Menu.__dataclass_fields__}
    assert {*menu["choices"][0]} == {*Choice.__dataclass_fields__}
    assert (found["papers"], menu["papers"], menu["solved"], found["bar_of_papers"]) == (6, 6, 6, 6)
    own = next(one for one in menu["choices"] if one["guarantee"] == found["guarantee"])
    assert own["gain"] == pytest.approx(menu["wrong_raw"] - own["wrong"])
    assert f"{own['gain']:.1f}" in found["advice"]
    whole = json.loads(succeed(*plan, "--full", "--json").out)
    assert whole["menu"] == menu
    assert 6 * whole["expected_wrong"] == pytest.approx(own["wrong"], abs=1e-6)


def test_who_reviewed_changes_nothing(tmp_path: Path) -> None:
    """Two reviewers of one paper exchanged: the same bytes, as an adversary sees them."""
    small = small_conference()
    first, second = (row[1] for row in small.reviews[1:3])
    swapped = small.with_review(1, reviewer=second).with_review(2, reviewer=first)
    said = [_said(one, tmp_path / str(i), "--json") for i, one in enumerate((small, swapped))]
    assert said[0] == said[1]


def test_ctrl_c_prints_what_is_known(
    small: SmallConference, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*given: Any, tell: Any, seconds: float, **more: Any) -> None:
        tell(answer(*given, seconds=0.0, **more))
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "answer", interrupted)
    lines, noted = _said(small, tmp_path / "in")
    assert "xpected gain: " in lines[0]
    assert "estimated from 4 of 6 papers" in " ".join(lines)
    assert "interrupted: this is what is known so far" in noted

    def nothing(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "answer", nothing)
    assert run(command_line("plan", small.write(tmp_path / "in"))) == 130


def test_a_plan_repeats_every_limit_that_was_asked_for(small: SmallConference, tmp_path: Path) -> None:
    limits = ["epsilon = 2", "multiplier = 1.5", "posterior-cap = 0.999", "among = 3"]
    lines, _ = _said(small, tmp_path / "in", 'guarantee = "average"', *limits, "--full")
    words = "average, epsilon 2, multiplier 1.5, posterior cap 0.999, among 3"
    assert any(line.startswith(f"planned: {words}. Expected: ") for line in lines)
    assert any("nothing was drawn" in line for line in lines)


def test_what_if_compares_guarantees_and_leaves_the_folder_as_it_is(
    small: SmallConference, tmp_path: Path
) -> None:
    plan = command_line("plan", small.write(tmp_path / "in"), *STEADY)
    before = everything(Path(plan[1]))
    own = json.loads(succeed(*plan, "--json").out)
    assert (own["guarantee"]["name"], own["guarantee"]["epsilon"]) == ("steady", 2.0)
    other = json.loads(succeed(*plan, "--guarantee", "steady epsilon=1", "--json").out)
    assert other["guarantee"]["epsilon"] == 1.0
    assert len(other["menu"]["choices"]) == len(own["menu"]["choices"]) + 1
    several = ["--guarantee", "average", "--guarantee", "crowd=5 epsilon=3", "--guarantee", "public"]
    compared = json.loads(succeed(*plan, *several, "--full", "--json").out)
    assert compared["guarantee"]["name"] == "average"
    choices = compared["menu"]["choices"]
    assert [choice["guarantee"]["name"] for choice in choices] == ["average", "crowd", "public"]
    assert choices[1]["guarantee"]["among"] == 5
    assert choices[0]["wrong"] == pytest.approx(6 * compared["expected_wrong"], abs=1e-6)
    assert everything(Path(plan[1])) == before


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--guarantee", "private"], "must be one of public, steady, crowd, average, odds, none"),
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
) -> None:
    assert problem in refusal(*command_line("plan", small.write(tmp_path / "in")), *options)
    assert not Path("p.html").exists()


def test_what_large_pools_cost_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    say_gap(1e-4)
    assert capsys.readouterr().out == ""
    say_gap(0.0123)
    assert "up to 1.23 percentage points more errors than the best possible policy" in " ".join(
        capsys.readouterr().out.split()
    )


# --- One file of this year's reviews: what a chair reads, and what the next step leads to


CONDITION = "nothing is gained if everyone reviewed everything"


@pytest.fixture
def one_file(place: Path) -> Path:
    """A folder of six papers that are decided by this year's reviews, where little is gained."""
    rows = [(p, w, 1 + (p + p // 3 * i) % 5) for p in range(1, 7) for i, w in enumerate("abc")]
    Path("r.csv").write_text("paper,reviewer,score\n" + "".join(f"{p},{w},{s}\n" for p, w, s in rows))
    err = succeed("new", "icx", "--reviews", "r.csv", "--accept", "50%", "--scores", "confidential").err
    assert CONDITION not in err
    return place / "icx"


def test_the_next_step_of_a_plan_that_is_not_worth_it_can_be_taken_as_it_is_written(one_file: Path) -> None:
    said = succeed("plan", "icx").out
    first, last = said.splitlines()[0], said.splitlines()[-1]
    assert first.startswith("Not worth it with odds and epsilon 3: even the larger end of the range is below")
    assert last == 'next: set guarantee = "public" in icx/conference.toml, then blindcal decide icx'
    assert "\nepsilon = 3\n" in (one_file / "conference.toml").read_text()
    edit('guarantee = "odds"', 'guarantee = "public"')
    said = succeed("plan", "icx").out
    assert said.startswith("Papers are decided by the scores alone. Expected gain: ")
    assert said.splitlines()[-1] == "next: blindcal decide icx"
    assert run(["decide", "icx"]) == 0
    (line,) = (line for line in succeed("verify", "icx").out.splitlines() if "earlier decisions" in line)
    assert line.split() == ["release", "1:", "earlier", "decisions", "none"]
    assert "--amend" in succeed("plan", "icx").out.splitlines()[-1]


def test_limits_that_public_does_not_need_stay_refused_where_they_are_typed_or_reveal(one_file: Path) -> None:
    told = "`epsilon` has no effect with"
    assert told in refusal("plan", "icx", "--guarantee", "public epsilon=3")
    edit('guarantee = "odds"', 'guarantee = "none"')
    assert told in refusal("plan", "icx", "--yes-leak")


def test_what_can_go_wrong_is_a_condition_to_check_said_by_plan_alone(one_file: Path) -> None:
    said = succeed("plan", "icx").err
    assert said.count(CONDITION) == 1
    assert "a person for every five reviews; nobody was counted" in said
    assert CONDITION not in succeed("decide", "icx").err


@pytest.mark.parametrize("option", [["--out", "plan.html"], ["--audit"]])
def test_a_page_of_this_years_plan_is_refused_with_where_it_is(option: list[str], one_file: Path) -> None:
    assert "need past years: what this year's reviews gain is printed" in refusal("plan", "icx", *option)
    assert not (one_file.parent / "plan.html").exists()
