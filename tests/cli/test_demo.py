"""`blindcal demo`: what it leaves behind, again and again, and what it does not overwrite."""

from __future__ import annotations

import csv
import json
import stat
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")

from blindcal.cli import demo as module
from blindcal.posterior.inputs import read_inputs
from blindcal.simulation.population import (
    PooledConference,
    example_files,
    pooled_conference,
    prototype_population,
)
from blindcal.verification import verify
from commands import call
from small_conferences import everything

pytestmark = pytest.mark.edge

PAPERS = 24


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> PooledConference:
    """The demo with fewer papers, and the conference that it draws, with the qualities that nobody sees."""
    monkeypatch.setattr(module, "PAPERS", PAPERS)
    monkeypatch.setattr(module, "cores", lambda: 1)
    return pooled_conference(np.random.default_rng(14), PAPERS, 8, 3, prototype_population())


def files(folder: Path) -> list[Path]:
    return [folder / "inputs" / f"{name}.csv" for name in ("reviews", "reviewers", "pools")]


def test_what_it_leaves_behind_is_a_conference_that_verifies(few: PooledConference, tmp_path: Path) -> None:
    out = tmp_path / "demo"
    code, said, _ = call("demo", "--out", str(out))
    assert code == 0
    assert "Every paper was decided once." in said
    assert sorted(file.name for file in out.iterdir()) == ["inputs", "public", "secret"]
    assert sorted(file.name for file in (out / "public").iterdir()) == [
        "certificate.json",
        "decisions.csv",
        "report.html",
    ]
    assert f"Now open {out / 'public' / 'report.html'} in a browser" in said
    assert "demo: how papers were decided" in (out / "public" / "report.html").read_text()
    inputs, key = read_inputs(*files(out)), out / "secret" / "key.bin"
    assert verify(inputs, key, out / "public", conference="demo").agrees
    for file in (out / "inputs" / "reviews.csv", *(out / "secret").rglob("*")):
        assert not stat.S_IMODE(file.stat().st_mode) & 0o077, file


def test_it_counts_the_wrong_decisions_that_only_it_can_know(few: PooledConference, tmp_path: Path) -> None:
    """Qualities above the bar are right to accept, paper by paper in the order of their ids."""
    code, said, _ = call("demo", "--out", str(tmp_path / "demo"), "--json")
    assert code == 0
    found = json.loads(said)
    good = few.quality > found["certificate"]["bar"]
    text = (tmp_path / "demo" / "public" / "decisions.csv").read_text()
    rows = list(csv.DictReader(text.splitlines()))
    for name, column in (("raw", "raw_decision"), ("private", "decision")):
        accepted = np.array([row[column] == "accept" for row in rows])
        assert found["wrong"][name] == (accepted != good).sum()
    assert found["how"] == "new"
    assert found["certificate"] == json.loads((tmp_path / "demo" / "public" / "certificate.json").read_text())


def test_running_it_again_returns_the_stored_decisions(few: PooledConference, tmp_path: Path) -> None:
    out = tmp_path / "demo"
    assert call("demo", "--out", str(out))[0] == 0
    before = everything(out)
    code, said, _ = call("demo", "--out", str(out))
    assert code == 0
    assert "The decisions were stored by an earlier run." in said
    assert everything(out) == before


def test_a_file_that_is_not_its_own_is_left(few: PooledConference, tmp_path: Path) -> None:
    mine = tmp_path / "inputs" / "pools.csv"
    mine.parent.mkdir()
    mine.write_text("paper,reviewer\n")
    code, _, said = call("demo", "--out", str(tmp_path))
    assert code == 3
    assert "pools.csv is not the demo's: give another --out folder" in " ".join(said.split())
    assert mine.read_text() == "paper,reviewer\n"
    assert not (tmp_path / "public").exists()
    assert not (tmp_path / "secret" / "key.bin").exists()


def test_the_files_hold_what_was_drawn(few: PooledConference, tmp_path: Path) -> None:
    (tmp_path / "inputs").mkdir()
    for name, data in example_files(few).items():
        (tmp_path / "inputs" / name).write_bytes(data)
    found = read_inputs(*files(tmp_path))
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
