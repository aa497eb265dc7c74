"""`blindcal demo`: what it leaves behind, again and again, and what it does not overwrite."""

from __future__ import annotations

import csv
import json
import os
import signal
import stat
import subprocess
import sys
import urllib.request
from functools import partial
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("fastapi")

from blindcal.cli import demo
from blindcal.cli import demo as module
from blindcal.posterior.inputs import read_inputs
from blindcal.simulation.conference import SimulatedConference, simulate
from commands import call
from small_conferences import everything

pytestmark = pytest.mark.edge


PAPERS = 24


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> SimulatedConference:
    """The demo with fewer papers, and the conference that it draws, with the qualities that nobody sees."""
    monkeypatch.setattr(module, "PAPERS", PAPERS)
    monkeypatch.setattr(module, "available_cores", lambda: 1)
    return simulate(PAPERS, 8, 3, seed=14)


def files(folder: Path) -> list[Path]:
    history = [folder / "history" / f"{name}.csv" for name in ("reviewers", "pools")]
    return [folder / "inputs" / "reviews.csv", *history]


def test_what_it_leaves_behind_is_a_conference_that_verifies(
    few: SimulatedConference, tmp_path: Path
) -> None:
    out = tmp_path / "demo"
    code, said, _ = call("demo", "--out", str(out))
    assert code == 0
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
    code, planned, _ = call("plan", str(out))
    assert " ".join(planned.split("\n")[0].split()) in " ".join(said.split()), "the gain is that of plan"


def test_the_next_step_that_it_prints_has_a_calibration_from_history(
    few: SimulatedConference, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, said, _ = call("demo")
    (command,) = (line for line in said.split("\n") if line.startswith("  blindcal new history2027"))
    code, _, _ = call(*command.split()[1:])
    assert code == 0
    code, planned, _ = call("plan", "history2027", "--json")
    assert (code, json.loads(planned)["guarantee"]["name"]) == (0, "crowd")


def test_it_counts_the_wrong_decisions_that_only_it_can_know(
    few: SimulatedConference, tmp_path: Path
) -> None:
    """Qualities above the bar are right to accept, paper by paper in the order of their ids."""
    code, said, _ = call("demo", "--out", str(tmp_path / "demo"), "--json")
    assert code == 0
    found = json.loads(said)
    bar = json.loads(call("plan", str(tmp_path / "demo"), "--json")[1])["bar"]
    good = few.quality > bar
    text = (tmp_path / "demo" / "public" / "release-1" / "decisions.csv").read_text()
    rows = list(csv.DictReader(text.splitlines()))
    for name, column in (("raw", "raw_decision"), ("private", "decision")):
        accepted = np.array([row[column] == "accept" for row in rows])
        assert found["wrong"][name] == (accepted != good).sum()
    assert found["how"] == "new"
    certificate = tmp_path / "demo" / "public" / "release-1" / "certificate.json"
    assert found["certificate"] == json.loads(certificate.read_text())


def test_running_it_again_returns_the_stored_decisions(few: SimulatedConference, tmp_path: Path) -> None:
    out = tmp_path / "demo"
    assert call("demo", "--out", str(out))[0] == 0
    before = everything(tmp_path)
    code, said, _ = call("demo", "--out", str(out))
    assert code == 0
    assert "The decisions were stored by an earlier run." in said
    assert everything(tmp_path) == before


def test_a_folder_that_is_not_its_own_is_left(few: SimulatedConference, tmp_path: Path) -> None:
    mine, out = tmp_path / "mine", tmp_path / "demo"
    mine.mkdir()
    code, _, said = call("demo", "--out", str(mine))
    assert code == 2
    assert "--out must be a new folder, or one that an earlier run made" in said
    assert call("demo", "--out", str(out))[0] == 0
    (out / "history" / "pools.csv").write_text("paper,reviewer\n")
    before = everything(tmp_path)
    code, _, said = call("demo", "--out", str(out))
    assert code == 3
    assert "pools.csv is not the demo's: give another --out folder" in " ".join(said.split())
    assert everything(tmp_path) == before


def test_the_files_hold_what_was_drawn(few: SimulatedConference, tmp_path: Path) -> None:
    assert call("demo", "--out", str(tmp_path / "demo"))[0] == 0
    found = read_inputs(*files(tmp_path / "demo"))
    written = {
        (found.reviews.papers[p], found.reviews.reviewers[r], float(s))
        for p, r, s in zip(found.reviews.paper, found.reviews.reviewer, found.reviews.score, strict=True)
    }
    for i in range(PAPERS):
        who = [f"R{j + 1:03d}" for j in few.reviewer[i]]
        for name, score in zip(who, few.score[i], strict=True):
            assert (f"P{i + 1:03d}", name, round(float(score), 2)) in written
        assert set(who) <= found.pools[f"P{i + 1:03d}"].keys()
        assert set(found.pools[f"P{i + 1:03d}"]) == {f"R{j + 1:03d}" for j in few.pool[i]}
    assert len(written) == 3 * PAPERS
    for j, (slope, offset, noise) in enumerate(zip(few.slope, few.offset, few.noise, strict=True)):
        row = found.parameters[f"R{j + 1:03d}"]
        assert row[:3] == pytest.approx((slope, offset, noise), abs=5e-4)


# --- `blindcal app`: it prints an address that answers, opens a browser on request, and ends with Ctrl-C.


@pytest.mark.parametrize("end", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_it_serves_until_it_is_ended_and_leaves_no_upload(tmp_path: Path, end: str) -> None:
    if not hasattr(signal, end) or os.name == "nt":
        pytest.skip(f"this system has no {end}")
    command = [sys.executable, "-m", "blindcal", "app", "--no-browser", "--json"]
    private = tmp_path / "tmp"
    private.mkdir()
    # Whoever runs these tests may ignore a signal, as `nohup` does, and what is ignored stays so.
    heeded = partial(signal.signal, getattr(signal, end), signal.SIG_DFL)
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        preexec_fn=None if end == "SIGINT" else heeded,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(private)},
    ) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        lines = []
        while not lines or lines[-1].rstrip() != "}":
            lines.append(server.stdout.readline())
        try:
            address = json.loads("".join(lines))["address"]
            with urllib.request.urlopen(f"{address}conference") as answer:
                assert b"Open the embedded conference" in answer.read()
            upload = urllib.request.Request(
                f"{address}conference/files?name=a.csv",
                b"paper,reviewer,score\n1,ada,2\n2,ada,3\n",
                {"Origin": "/".join(address.split("/")[:3])},
                method="PUT",
            )
            urllib.request.urlopen(upload).close()
            assert [*private.rglob("a.csv")]
            os.kill(server.pid, getattr(signal, end))
            assert server.wait(60) == 0
        finally:
            server.kill()
        assert (server.stdout.read(), server.stderr.read()) == ("", "")
    assert [*tmp_path.rglob("*")] == [private]


def test_it_says_where_to_look_and_opens_a_browser_without_showing_the_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = pytest.importorskip("blindcal.app.server")
    opened: list[str] = []

    def ended(self: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(servers.Listening, "run", ended)
    monkeypatch.setattr(demo.webbrowser, "open", lambda url: opened.append(url) or True)
    code, out, err = call("app")
    assert (code, err) == (0, "")
    token = out.split("\n")[0].rstrip("/").split("/")[-1]
    assert out.startswith("open http://127.0.0.1:")
    (url,) = opened
    assert url.startswith("file://")
    assert token not in url
    monkeypatch.setattr(demo.webbrowser, "open", lambda url: False)
    assert "open the address yourself" in call("app")[2]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--port", "-1"], "--port must be at least 0"),
        (["--port", "70000"], "--port 70000 cannot be used"),
        (["nowhere/icx"], "must be a folder that exists"),
        (["."], "conference.toml"),
    ],
)
def test_what_cannot_be_opened_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = call("app", "--no-browser", *arguments)
    assert (code, out) == (2, "")
    assert told in err
    assert not [*tmp_path.iterdir()]
