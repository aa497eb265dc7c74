"""`blindcal demo`: what it leaves behind, again and again, and what it does not overwrite."""

from __future__ import annotations

import csv
import json
import stat
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("fastapi")

from blindcal.cli import demo as module
from blindcal.simulation.conference import SimulatedConference, simulate
from commands import call, refusal, succeed
from small_conferences import everything

pytestmark = pytest.mark.edge


PAPERS = 24


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> SimulatedConference:
    """The demo with fewer papers, and the conference that it draws, with the qualities that nobody sees."""
    monkeypatch.setattr(module, "PAPERS", PAPERS)
    monkeypatch.setattr(module, "available_cores", lambda: 1)
    return simulate(PAPERS, 8, 3, seed=14)


def test_what_it_leaves_behind_is_a_conference_that_verifies(
    few: SimulatedConference, tmp_path: Path
) -> None:
    out = tmp_path / "demo"
    said = succeed("demo", "--out", str(out)).out
    assert "Every paper was decided once." in said
    promise = "For someone who sees the scores, no single decision changes the odds about who reviewed what"
    assert promise in " ".join(said.split())
    assert promise in (out / "public" / "report.html").read_text()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["demo", "demo.key", "demo.key.sealed"]
    assert sorted(file.name for file in out.iterdir()) == ["conference.toml", "history", "inputs", "public"]
    public = [file.relative_to(out / "public").as_posix() for file in (out / "public").rglob("*")]
    assert sorted(public) == [
        "release-1",
        "release-1/certificate.json",
        "release-1/decisions.csv",
        "report.html",
    ]
    assert f"Now open {out / 'public' / 'report.html'} in a browser" in said
    assert "demo: how papers were decided" in (out / "public" / "report.html").read_text()
    for file in (
        *(out / "inputs").iterdir(),
        *(out / "history").iterdir(),
        tmp_path / "demo.key",
        *(tmp_path / "demo.key.sealed").iterdir(),
    ):
        assert not stat.S_IMODE(file.stat().st_mode) & 0o077, file
    for command in ("verify", "plan"):
        assert call(command, str(out))[0] == 0, "a folder as any other"
    planned = succeed("plan", str(out)).out
    assert " ".join(planned.split("\n")[0].split()) in " ".join(said.split()), "the gain is that of plan"


def test_the_next_step_that_it_prints_has_a_calibration_from_history(
    few: SimulatedConference, place: Path
) -> None:
    _, said, _ = call("demo")
    (command,) = (line for line in said.split("\n") if line.startswith("  blindcal new history2027"))
    succeed(*command.split()[1:])
    assert json.loads(succeed("plan", "history2027", "--json").out)["guarantee"]["name"] == "crowd"


def test_it_counts_the_wrong_decisions_that_only_it_can_know(
    few: SimulatedConference, tmp_path: Path
) -> None:
    """Qualities above the bar are right to accept, paper by paper in the order of their ids."""
    said = succeed("demo", "--out", str(tmp_path / "demo"), "--json").out
    found = json.loads(said)
    bar = json.loads(call("plan", str(tmp_path / "demo"), "--json")[1])["bar"]
    good = few.quality > bar
    text = (tmp_path / "demo" / "public" / "release-1" / "decisions.csv").read_text()
    rows = list(csv.DictReader(text.splitlines()))
    for name, column in (("raw", "by_mean_score"), ("private", "decision")):
        accepted = np.array([row[column] == "accept" for row in rows])
        assert found["wrong"][name] == (accepted != good).sum()
    assert found["how"] == "new"
    certificate = tmp_path / "demo" / "public" / "release-1" / "certificate.json"
    assert found["certificate"] == json.loads(certificate.read_text())


def test_running_it_again_returns_the_stored_decisions(few: SimulatedConference, tmp_path: Path) -> None:
    out = tmp_path / "demo"
    succeed("demo", "--out", str(out))
    before = everything(tmp_path)
    assert "The decisions were stored by an earlier run." in succeed("demo", "--out", str(out)).out
    assert everything(tmp_path) == before


def test_a_folder_that_is_not_its_own_is_left(few: SimulatedConference, tmp_path: Path) -> None:
    mine, out = tmp_path / "mine", tmp_path / "demo"
    mine.mkdir()
    said = refusal("demo", "--out", str(mine))
    assert "--out must be a new folder, or one that an earlier run made" in said
    succeed("demo", "--out", str(out))
    (out / "history" / "pools.csv").write_text("paper,reviewer\n")
    before = everything(tmp_path)
    said = refusal("demo", "--out", str(out), code=3)
    assert "pools.csv is not the demo's: give another --out folder" in " ".join(said.split())
    assert everything(tmp_path) == before
