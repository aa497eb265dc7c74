"""New folders: whole or not at all, never over another, and only for their owner."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from blindcal.errors import InputError, RefusedError
from blindcal.io.atomic_files import remove_stale_files, staged_folder


def test_a_folder_has_its_name_when_it_is_filled(tmp_path: Path) -> None:
    with staged_folder(tmp_path / "icx") as filled:
        (filled / "a").write_text("1")
        assert not (tmp_path / "icx").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["icx"]
    assert (tmp_path / "icx" / "a").read_text() == "1"
    assert stat.S_IMODE((tmp_path / "icx").stat().st_mode) == 0o700


@pytest.mark.parametrize("error", [InputError("no"), KeyboardInterrupt()])
def test_a_folder_that_cannot_be_filled_leaves_nothing(error: BaseException, tmp_path: Path) -> None:
    def fill() -> None:
        with staged_folder(tmp_path / "icx") as filled:
            (filled / "a").write_text("1")
            raise error

    with pytest.raises(type(error)):
        fill()
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_being_filled_is_not_taken_for_a_stale_one(tmp_path: Path) -> None:
    with staged_folder(tmp_path / "icx") as filled:
        remove_stale_files(tmp_path)
        assert filled.is_dir()


def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path: Path) -> None:
    stale, other = tmp_path / f".icx.{'0' * 16}.blindcal-new", tmp_path / f".icx2.{'0' * 16}.blindcal-new"
    for path in (stale, other):
        path.mkdir()
        (path / "a").write_text("secret")
    with staged_folder(tmp_path / "icx"):
        pass
    assert not stale.exists()
    assert other.exists()


def test_bad_names_are_refused(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for name, error, message in (
        ("there", RefusedError, "exists already and is never overwritten"),
        ("no/where", InputError, "must be a folder that exists"),
        ("..", InputError, "must be the name of a new folder"),
        ("ic\x1bx", InputError, r"'ic\\x1bx' must be a name without control"),
        ("icx\ngrid = 1", InputError, r"'icx\\ngrid = 1' must be a name without control"),
    ):
        with pytest.raises(error, match=message), staged_folder(tmp_path / name):
            pass


def test_a_name_taken_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    def fill() -> None:
        with staged_folder(tmp_path / "icx"):
            (tmp_path / "icx").mkdir()

    with pytest.raises(RefusedError):
        fill()
    assert [path.name for path in tmp_path.iterdir()] == ["icx"]
