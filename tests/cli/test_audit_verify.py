"""`blindcal verify`: which release was checked, changed records, missing folders."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("typer")

from blindcal.cli import run
from blindcal.deciding import ledger
from small_conferences import SmallConference, command_line, decided, small_conference, with_key

pytestmark = pytest.mark.edge


def test_verify(small: SmallConference, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, key, out = small.write(tmp_path / "in"), tmp_path / "key.bin", tmp_path / "out"
    decided(folder, key, out)
    command = command_line("verify", folder, key, out)
    assert run(command) == 0
    asked = "decided with: accept rate 0.4, among 10, better high, epsilon 3, guarantee crowd\n"
    assert capsys.readouterr().out.endswith(asked)
    assert run([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["verified"] is True
    (out / "decisions.csv").write_text("paper,decision,raw_decision,advice\n", encoding="utf-8")
    assert run(command) == 4
    changed = small.with_review(1, score="0.5").write(tmp_path / "in2")
    assert run(command_line("verify", changed, key)) == 4
    assert "reviews, calibration, pools or grid are not those that were decided" in capsys.readouterr().err


def test_verify_reads_the_ledger_once(
    small: SmallConference, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, key = small.write(tmp_path / "in"), tmp_path / "key.bin"
    decided(folder, key, tmp_path / "out")
    listed: list[Path] = []
    sealed_files = ledger.record_files
    monkeypatch.setattr(ledger, "record_files", lambda path: listed.append(path) or sealed_files(path))
    assert run(command_line("verify", folder, key)) == 0
    assert len(listed) == 1


def test_verify_says_which_release_it_checked(
    small: SmallConference, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also when it is given the input of an earlier release."""
    first, key = small.write(tmp_path / "in"), tmp_path / "key.bin"
    decided(first, key, tmp_path / "out")
    second = small.with_review(1, score="0.11").write(tmp_path / "in2")
    decided(second, key, tmp_path / "out2", "--amend", "--reason", "x")
    capsys.readouterr()
    assert run(command_line("verify", second, key)) == 0
    checked = capsys.readouterr().out
    assert checked.startswith("release 2, the latest of conference 'conference'\n")
    assert "could be known excludes it: give it as --commitment\n" in checked
    assert run(command_line("verify", first, key)) == 4
    said = capsys.readouterr()
    assert said.out.startswith("release 2, the latest of conference 'conference'\n")
    assert said.err.startswith("blindcal: release 2: verification failed")
    assert "The input given is that of release 1" in said.err
    assert run(command_line("verify", first, key, "--json")) == 4
    said = capsys.readouterr()
    assert "release 2: verification failed" in json.loads(said.err)["error"]["message"]
    other = small.with_review(1, score="0.12").write(tmp_path / "in3")
    assert run(command_line("verify", other, key)) == 4
    assert "The input given" not in capsys.readouterr().err


def test_verify_finds_a_changed_record(small: SmallConference, tmp_path: Path) -> None:
    folder, key = small.write(tmp_path / "in"), tmp_path / "key.bin"
    decided(folder, key, tmp_path / "out")
    record = tmp_path / "key.bin.sealed" / "0001.sealed"
    record.write_bytes(record.read_bytes().replace(b'"accepted": true', b'"accepted": false', 1))
    assert run(command_line("verify", folder, key)) == 4


def test_verifying_without_the_sealed_folder_says_where_it_should_be(
    small: SmallConference, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, key = small.write(tmp_path / "in"), with_key(tmp_path / "key.bin")
    assert run(command_line("verify", folder, key)) == 2
    assert "key.bin.sealed" in capsys.readouterr().err


def test_an_amended_release_on_a_grid_verifies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The bar of the first release is derived again from the record: it must not depend on where it was."""
    small = small_conference(seed=3, papers=12)
    rows = [(paper, who, f"{round(float(score))}") for paper, who, score in small.reviews[1:]]
    whole = replace(small, reviews=(small.reviews[0], *rows))
    key = with_key(tmp_path / "key.bin")
    grid = ('grid = "-12..12"', "--despite-misfit", "distinct-papers = true")
    decided(whole.write(tmp_path / "in"), key, tmp_path / "out", *grid)
    folder = whole.with_review(1, score="3").write(tmp_path / "in")
    decided(folder, key, tmp_path / "out2", *grid, "--amend", "--reason", "mistyped")
    assert "scores changed, decided from public data: p00" in capsys.readouterr().out
    assert run(command_line("verify", folder, key, tmp_path / "out2")) == 0
    assert run(command_line("verify", folder, key, tmp_path / "nowhere")) == 2
    capsys.readouterr()
    assert run(command_line("verify", folder, key, tmp_path / "out", "--json")) == 4
    shown = capsys.readouterr()
    assert json.loads(shown.out)["verified"] is False
    assert "published files" in json.loads(shown.err)["error"]["message"]
