"""With --json both streams parse, whatever happens: one object or nothing on each."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("typer")

from blindcal.cli import console, run
from blindcal.cli.app import RESEARCH, app, research
from blindcal.errors import InputError
from commands import succeed
from small_conferences import SmallConference, arguments, command_line, small_conference, with_key

pytestmark = pytest.mark.edge

PAIR = ["--reviewer", "1.2,0.3", "--reviewer", "0.8,-0.3", "--noise", "0.5"]
# For each command what it does not do and, unless it takes long, what it does.
CASES = {
    "new": (
        ["made", "--reviews", "nowhere.csv", "--scores", "public"],
        ["made", "--reviews", "in/reviews.csv", "--scores", "public"],
    ),
    "export": (["in", "--to", "csv", "--out", "e.csv"], None),
    "report": (["in", "--out", "r.html"], None),
    "audit": (["in", "--key", "key.bin"], None),
    "pools": (["in", "nowhere.csv", "--per-paper", "1", "--assume", "bidders"], None),
    "share": (["nowhere.csv"], None),
    "pair": ([*PAIR, "--scores", "1"], [*PAIR, "--scores", "0.9,0.4"]),
    "average": (["--reviewer", "1,0"], [*PAIR, "--max-error", "0.2"]),
    "calibrate": (
        ["in/reviews.csv", "--out", "c.csv", "--method", "x"],
        ["in/reviews.csv", "--out", "c.csv", "--method", "raw"],
    ),
    "assess": (["in/nowhere.csv"], None),
    "paper": (["figure", "7"], ["table", "1"]),
    "import": (["nowhere", "in/reviews.csv"], None),
    "fit": (["nowhere"], None),
    "app": (["in"], None),
    "demo": (["--out", "in/reviews.csv"], None),
}


@pytest.fixture
def small(place: Path) -> SmallConference:
    """In a folder of its own; its pools hold a paper without reviews, which is worth a note."""
    made = small_conference()
    return replace(made, pools=(*made.pools, ("unread", made.canaries[0], "1")))


@pytest.mark.parametrize("name", CASES)
def test_both_streams_parse(name: str, small: SmallConference, capsys: pytest.CaptureFixture[str]) -> None:
    small.write(Path("in"))
    wrong, right = CASES[name]
    prefix = ["research"] if name in RESEARCH["Commands"] else []
    assert run([*prefix, name, *wrong, "--json"]) != 0
    said = capsys.readouterr()
    assert said.out == ""
    assert json.loads(said.err).keys() == {"error"}
    if right is not None:
        said = succeed(*prefix, name, *right, "--json")
        assert isinstance(json.loads(said.out), dict)
        assert said.err == ""


@pytest.mark.parametrize("name", ["new", "calibrate"])
def test_what_depends_on_who_reviewed_says_that_it_is_confidential(name: str, small: SmallConference) -> None:
    """Counts of reviewers, and qualities: another assignment of the same public data has others."""
    small.write(Path("in"))
    right = CASES[name][1]
    assert "CONFIDENTIAL" in succeed(name, *right).out
    again = [argument.replace("made", "again").replace("c.csv", "d.csv") for argument in right]
    assert json.loads(succeed(name, *again, "--json").out)["warning"].startswith("CONFIDENTIAL: ")


def test_notes_are_in_the_object(small: SmallConference, capsys: pytest.CaptureFixture[str]) -> None:
    """plan and decide have notes beside the result."""
    folder, key = small.write(Path("in")), with_key(Path("key.bin"))
    decide = arguments(folder, key, Path("out"), "--json")
    for command in (command_line("plan", folder, "--json"), decide):
        assert run(command) == 0
        _noted(capsys, "out")
    verify = command_line("verify", folder, key, "--json")
    said = succeed(*verify)
    assert (json.loads(said.out)["verified"], said.err) == (True, "")
    small.with_review(1, score="9.87").write(folder)
    for command in (decide, verify, command_line("plan", folder, "accept = 0", "--json")):
        assert run(command) > 0
        said = capsys.readouterr()
        assert json.loads(said.err).keys() == {"error"}
        # What was verified is told though some of it failed.
        assert json.loads(said.out)["verified"] is False if command is verify else said.out == ""


def test_what_was_noted_before_an_error_is_beside_it(capsys: pytest.CaptureFixture[str]) -> None:
    def noted(*_: object, **__: object) -> int:
        console.note("something")
        raise InputError("wrong")

    assert console.guarded(noted, ["--json"]) == 2
    assert json.loads(capsys.readouterr().err)["notes"] == ["something"]
    assert console.guarded(noted, []) == 2
    assert capsys.readouterr().err == "blindcal: something\nblindcal: wrong\n"


def _noted(capsys: pytest.CaptureFixture[str], stream: str) -> None:
    said = capsys.readouterr()
    texts = {"out": said.out, "err": said.err}
    unread, few = json.loads(texts.pop(stream))["notes"]
    assert "1 paper without any review" in unread
    assert "fewer than 10 people may have reviewed" in few
    assert texts.popitem()[1] == ""


def test_every_command_is_tried() -> None:
    names = {command.name for group in (app, research) for command in group.registered_commands}
    assert names == {*CASES, "plan", "decide", "verify"}
