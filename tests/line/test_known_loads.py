"""Public loads: a whole conference planned for someone who knows them, decided, amended and verified."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")

from blindcal.cli import run
from blindcal.posterior import loads as loads_module
from forgeries import FORGERIES, LOADED, sealed
from small_conferences import (
    SmallConference,
    arguments,
    command_line,
    decided,
    sealed_tables,
    small_conference,
    swapped,
)

pytestmark = pytest.mark.edge


@pytest.fixture(params=["exact", "tilt"])
def method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "tilt":
        monkeypatch.setattr(loads_module, "MOST_TERMS", 0)
    return str(request.param)


def with_loads(small: SmallConference, path: Path, *, change: int = 0, ranges: bool = False) -> str:
    """The setting that names a file of the true loads; with a change, somebody's is wrong."""
    written = Counter(row[1] for row in small.reviews[1:])
    rows = [[name, written[name]] for name in small.canaries]
    busiest = max(range(len(rows)), key=lambda i: rows[i][1])
    idle = min(range(len(rows)), key=lambda i: rows[i][1])
    rows[busiest][1] -= change
    rows[idle][1] += change
    lines = [f"{n},{max(load - 1, 0)},{load + 1}" if ranges else f"{n},{load}" for n, load in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["reviewer,least,most" if ranges else "reviewer,load", *lines, ""]))
    return f"loads = {json.dumps(str(path))}"


def test_decided_amended_and_verified(
    method: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = small_conference(papers=6, spread=0.4)
    setting = with_loads(small, tmp_path / "loads.csv", ranges=True)
    key, out = tmp_path / "key.bin", tmp_path / "out"
    home = small.write(tmp_path / "in")
    table, certificate = decided(home, key, out, setting)
    loads = certificate["loads"]
    assert (loads["method"], loads["reviewers"]) == (method, 8)
    assert any("taken as public" in line for line in certificate["assumptions"])
    assert certificate["success"] <= certificate["success_any_prior"] <= 1.0
    text = (out / "certificate.json").read_text(encoding="utf-8")
    assert not any(name in text for name in small.canaries)
    assert run(command_line("verify", home, key, out, setting)) == 0
    # One corrected score moves no other paper, and nobody's factor.
    again = small.with_review(1, score="0.11").write(tmp_path / "in2")
    second, _ = decided(again, key, tmp_path / "out2", setting, "--amend", "--reason", "x")
    first_rows, second_rows = table.decode().split("\n"), second.decode().split("\n")
    assert first_rows[2:] == second_rows[2:]
    assert run(command_line("verify", again, key, tmp_path / "out2", setting)) == 0
    capsys.readouterr()
    assert run(arguments(again, key, tmp_path / "out3", "--amend", "--reason", "y")) == 3
    assert "loads" in capsys.readouterr().err


def test_nothing_public_depends_on_who_reviewed(method: str, tmp_path: Path) -> None:
    """The reviewers of a paper exchanged: loads stay as they are, and so do tables and the certificate."""
    small = small_conference(papers=6, spread=0.4)
    setting = with_loads(small, tmp_path / "loads.csv")
    found = []
    for name, one in (("a", small), ("b", swapped(small))):
        key = tmp_path / name / "key.bin"
        key.parent.mkdir()
        key.write_bytes(bytes(range(32)))
        key.chmod(0o600)
        _, certificate = decided(one.write(tmp_path / name / "in"), key, tmp_path / name / "out", setting)
        secret = ("commitment", "accepted", "release_counter")
        found.append((sealed_tables(key), {k: v for k, v in certificate.items() if k not in secret}))
    assert found[0] == found[1]


def test_a_mismatch_is_told_to_the_chair_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = small_conference(papers=6, pool=8, spread=0.4)
    setting = with_loads(small, tmp_path / "loads.csv", change=1)
    decided(small.write(tmp_path / "in"), tmp_path / "key.bin", tmp_path / "out", setting)
    said = capsys.readouterr()
    assert "CONFIDENTIAL: 2 of those listed" in said.out + said.err
    published = "".join(file.read_text(encoding="utf-8") for file in (tmp_path / "out").iterdir())
    assert "of those listed" not in published
    assert not any(name in said.out + said.err + published for name in small.canaries)


def test_loads_that_cannot_be_met_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = small_conference(papers=6, spread=0.4)
    path = tmp_path / "loads.csv"
    path.write_text("reviewer,load\n" + "".join(f"{name},0\n" for name in small.canaries))
    key = tmp_path / "key.bin"
    key.write_bytes(np.arange(32, dtype=np.uint8).tobytes())
    key.chmod(0o600)
    assert run(arguments(small.write(tmp_path / "in"), key, tmp_path / "out", f'loads = "{path}"')) == 2
    assert "cannot be met" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("seed", [8, 9], ids=["exact", "tilt"])
@pytest.mark.parametrize("name", [name for name, one in FORGERIES.items() if one.kinds == LOADED])
def test_forged_loads_are_told_by_the_program(
    name: str, seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether the record is wrong or broken: exit code 4, and what does not agree."""
    home, forgery = tmp_path / "in", FORGERIES[name]
    assert sealed(home, "loads", seed, forgery.correction, forgery)
    out, setting = max((home / "out").iterdir()), f"loads = {json.dumps(str(home / 'loads.csv'))}"
    assert run(command_line("verify", home, home / "key.bin", out, setting)) == 4
    said = capsys.readouterr().err
    assert "does not agree" in said or "do not agree" in said or "was changed since it was written" in said
    assert "Traceback" not in said
