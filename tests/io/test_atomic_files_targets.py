"""Files to be written are looked at before the work: empty names, taken ones, missing folders, twins."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from blindcal.errors import InputError, RefusedError
from blindcal.io import atomic_files
from blindcal.io.atomic_files import check_parent_folder, check_targets, make_folder, write_bytes


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("there").mkdir()
    Path("link").symlink_to("there")
    Path("taken.csv").write_text("mine")
    return tmp_path


def test_files_that_can_all_be_written_are_taken_and_nothing_is_left(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    check_targets("a.csv", None, Path("there/a.csv"), folder / "there" / "b.csv")
    check_targets()
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("one", "other"),
    [("a", "a"), ("a", "./a"), ("a", "there/../a"), ("there/a", "link/a"), ("link/a", "there/a")],
)
def test_one_file_by_two_names_is_refused(one: str, other: str, folder: Path) -> None:
    for path in (other, folder / other):
        with pytest.raises(InputError, match=r"must not be written twice: give each file a name of its own$"):
            check_targets(one, "b", path)


@pytest.mark.parametrize(
    ("path", "kind", "message"),
    [
        ("", InputError, "a path must not be empty"),
        ("nowhere/a.csv", InputError, "nowhere must be a folder that exists"),
        ("taken.csv/a.csv", InputError, "taken.csv must be a folder that exists"),
        ("taken.csv", RefusedError, "taken.csv exists already and is never overwritten"),
        ("there", RefusedError, "there exists already and is never overwritten"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_wherever_it_stands(
    path: str, kind: type[Exception], message: str
) -> None:
    for wanted in ((path,), ("a.csv", path), (path, None, "a.csv")):
        with pytest.raises(kind, match=f"^{message}$"):
            check_targets(*wanted)
    with pytest.raises(kind, match=f"^{message}$"):
        write_bytes(path, b"")


def test_a_folder_that_cannot_be_written_into_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(name: Path, mode: int) -> None:
        raise PermissionError(13, os.strerror(13))

    # Permissions do not bind an administrator, who may run the tests.
    monkeypatch.setattr(atomic_files, "_open_temporary", denied)
    with pytest.raises(InputError, match="there must be a folder that can be written: Permission denied"):
        check_parent_folder("there/a.csv")


def test_an_empty_path_is_no_folder(folder: Path) -> None:
    before = folder.stat().st_mode
    with pytest.raises(InputError, match="a path must not be empty"):
        make_folder("")
    assert folder.stat().st_mode == before
