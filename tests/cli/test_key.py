"""`blindcal key`: the one command that makes a key, and keys that cannot be used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("typer")

from blindcal.cli import run
from blindcal.deciding.coins import read_key
from small_conferences import SmallConference, arguments, command_line, decided

pytestmark = pytest.mark.edge


def test_keys_that_cannot_be_used_are_refused(
    small: SmallConference, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, key = small.write(tmp_path / "in"), tmp_path / "key.bin"
    for data, mode, word in ((bytes(32), 0o644, "chmod 600"), (bytes(31), 0o600, "32 bytes")):
        key.write_bytes(data)
        key.chmod(mode)
        assert run(arguments(folder, key, tmp_path / "out")) == 2
        assert word in capsys.readouterr().err
        key.unlink()
    key.mkdir()
    assert run(arguments(folder, key, tmp_path / "out")) == 2
    assert not (tmp_path / "out").exists()


def test_a_key_is_made_by_the_key_command_alone(
    small: SmallConference, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mistyped key would otherwise toss again."""
    folder, key = small.write(tmp_path / "in"), tmp_path / "key.bin"
    assert run(arguments(folder, key, tmp_path / "out")) == 2
    assert f"make one: blindcal key {key}" in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in"]
    assert run(["key", str(key)]) == 0
    decided(folder, key, tmp_path / "out")
    mistyped = tmp_path / "kye.bin"
    assert run(arguments(folder, mistyped, tmp_path / "out")) == 2
    assert run(arguments(folder, mistyped, tmp_path / "new")) == 2
    assert not (tmp_path / "new").exists()
    assert not mistyped.exists()


def test_the_key_command_tells_the_fingerprint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["key", str(tmp_path / "one.bin"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["fingerprint"] == read_key(tmp_path / "one.bin").fingerprint
    for folder in (".", "..", str(tmp_path)):
        assert run(["key", folder]) in (2, 3)
        assert "internal error" not in capsys.readouterr().err


def test_the_advice_names_every_folder_to_back_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["key", str(tmp_path / "one.bin")]) == 0
    said = capsys.readouterr().out
    assert "one.bin.sealed, which remembers what was decided" in said
    assert "one.bin.shared, which remembers what was shared" in said


@pytest.mark.parametrize(("folder", "what"), [("sealed", "decisions"), ("shared", "shared sums")])
def test_no_key_is_made_where_one_was_lost(
    folder: str, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / f"key.bin.{folder}").mkdir()
    assert run(["key", str(tmp_path / "key.bin")]) == 3
    assert f"key.bin.{folder} holds {what} of a key that is missing" in capsys.readouterr().err
    assert not (tmp_path / "key.bin").exists()


@pytest.mark.parametrize("key", [".", "..", "/"])
def test_a_folder_for_a_key_is_bad_input(
    key: str, small: SmallConference, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = small.write(tmp_path / "in")
    for command in (
        arguments(folder, Path(key), tmp_path / "out"),
        command_line("verify", folder, Path(key)),
    ):
        assert run(command) == 2
        assert "internal error" not in capsys.readouterr().err
