"""An exact number of papers by command: what is said of it and of tracks, and folders cut off half-way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("typer")

from blindcal.cli import run
from commands import plain
from sizes import count
from small_conferences import SmallConference, arguments, command_line, with_key
from stress import stress

pytestmark = pytest.mark.edge


def numbered(public: Path, release: int) -> Path:
    return public / f"release-{release}"


def test_an_exact_number_of_papers(
    small: SmallConference, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, key, out = small.write(tmp_path / "in"), with_key(tmp_path / "key.bin"), tmp_path / "out"
    given = (folder, key, out, "numbered = true", "accept = 2", "wait-list = 1")
    assert run(command_line("decide", *given)) == 0
    assert capsys.readouterr().out.splitlines()[0] == "6 papers, 2 accepted, 1 on the wait list; decided"
    table = (numbered(out, 1) / "decisions.csv").read_bytes()
    assert table.splitlines()[0] == b"paper,decision,raw_decision,advice,wait_list"
    certificate = json.loads((numbered(out, 1) / "certificate.json").read_bytes())
    assert (certificate["accepted"], certificate["selection"]["waiting"]) == (2, 1)
    assert run(command_line("verify", *given)) == 0
    said = capsys.readouterr().out
    assert "release 1: number accepted" in said
    assert said.endswith(
        "decided with: among 10, better high, epsilon 3, guarantee crowd; "
        "exactly 2 papers accepted and 1 on the wait list\n"
    )


def test_tracks_are_those_of_the_reviews(
    small: SmallConference, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tracks = {f"p{i:02d}": "short" if i < 3 else "main" for i in range(6)}
    folder = small.with_tracks(tracks).write(tmp_path / "in")
    out, numbers = tmp_path / "out", ('accept = "main=2,short=1"', 'wait-list = "short=1"')
    given = (folder, with_key(tmp_path / "key.bin"), out, *numbers, "numbered = true")
    plan = command_line("plan", *given)
    assert run(plan) == 0
    said = capsys.readouterr().out.splitlines()
    assert any(line.startswith("bar: quality ") and " in main, " in line for line in said)
    told = "exactly 2 papers accepted in main, 1 paper accepted in short and 1 on the wait list; "
    assert told + "the bar alone is frozen when papers are decided" in said
    assert run([*plan, "--full", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["accept"], facts["wait_list"]) == ({"main": 2, "short": 1}, {"short": 1})
    assert run(command_line("decide", *given)) == 0
    table = (numbered(out, 1) / "decisions.csv").read_bytes()
    assert table.splitlines()[0] == b"paper,decision,raw_decision,advice,track,wait_list"
    certificate = json.loads((numbered(out, 1) / "certificate.json").read_bytes())
    assert certificate["expected_wrong"] == facts["expected_wrong"]
    assert certificate["bar"] == facts["bar"]
    assert run(command_line("verify", *given)) == 0
    assert (
        "exactly 2 papers accepted in main, 1 paper accepted in short and 1 on the wait"
        in capsys.readouterr().out
    )


def test_a_limit_on_evidence_is_said_to_be_about_the_private_decisions(
    small: SmallConference, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, key = small.write(tmp_path / "in"), with_key(tmp_path / "key.bin")
    limit = ['guarantee = "none"', "--yes-leak", "never-against = 0.999", "accept = 2"]
    assert run(arguments(folder, key, tmp_path / "out", *limit)) == 0
    told = "with accept, never-against holds for the private decisions: the papers at the cut are accepted"
    assert told in plain(capsys.readouterr().err)
    assert run(command_line("plan", folder, *limit)) == 0
    assert told in plain(capsys.readouterr().err)


@pytest.mark.parametrize("named", [0, 1] if count(0, 1) else [0])
def test_killed_at_any_call_in_a_folder_it_is_finished_by_starting_again(named: int, tmp_path: Path) -> None:
    """Killed before and after each call into the system (some in short): the folder can be read at any time,
    and the same command, another correction or `decide` completes the release that was begun."""
    seen = stress("in_a_folder", tmp_path, "killed_decisions", named=named, step=count(6, 1))
    assert seen["wrong"] == 0
    assert min(seen["sealed"], seen["not_sealed"], seen["begun"]) > 0
    assert seen["states"] >= 4
