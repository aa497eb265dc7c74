"""Folders that are meant to be shared, and that nothing confidential is written there."""

from __future__ import annotations

from pathlib import Path

import pytest

from blindcal.errors import InputError
from blindcal.io.atomic_files import is_release_folder, refuse_published, write_bytes, write_json, write_table


def publish(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("decisions.csv", "certificate.json"):
        (folder / name).write_text("")
    return folder


@pytest.mark.parametrize(
    "place", ["icx/public", "icx/public/release-1", "icx/public/notes", "icx/public/release-1/a/b", "link"]
)
def test_nothing_confidential_is_written_where_a_release_is(place: str, tmp_path: Path) -> None:
    publish(tmp_path / "icx" / "public" / "release-1")
    (tmp_path / "link").symlink_to(tmp_path / "icx" / "public")
    folder = tmp_path / place
    folder.mkdir(parents=True, exist_ok=True)
    before = sorted(tmp_path.rglob("*"))
    path = folder / "secret"
    for write in (
        lambda: write_bytes(path, b"x", confidential=True),
        lambda: write_json(path, {}, confidential=True, replace=True),
        lambda: write_table(path, {"paper": ["1"]}, confidential=True),
        lambda: refuse_published(path),
    ):
        with pytest.raises(InputError, match=r"meant to be shared: give a place outside$"):
            write()
    assert sorted(tmp_path.rglob("*")) == before
    write_bytes(folder / "report.html", b"for everyone")


def test_a_folder_to_work_in_may_have_releases_in_it(tmp_path: Path) -> None:
    for name in ("out", "release-1", "icx/public/release-1"):
        publish(tmp_path / name)
    for name in ("key.bin.sealed", "icx/inputs"):
        (tmp_path / name).mkdir()
    for name in ("key.bin", "key.bin.sealed/000001", "icx/conference.toml", "icx/inputs/reviews.csv"):
        write_bytes(tmp_path / name, b"x", confidential=True)
    assert not is_release_folder(tmp_path)


def test_numbered_releases_may_be_in_a_folder_of_any_name(tmp_path: Path) -> None:
    out = tmp_path / "to send"
    publish(out / "release-2")
    assert is_release_folder(out)
    for name in ("decisions.csv", "certificate.json"):
        (out / "release-2" / name).unlink()
        assert not is_release_folder(out), "half a release is none"
    assert not is_release_folder(tmp_path / "nowhere")
