"""Folders that other programs copy, as a chair is told before secrets lie there."""

from __future__ import annotations

from pathlib import Path

import pytest

from blindcal.project.paths import copied_remarks


@pytest.mark.parametrize(
    ("parent", "service"),
    [
        ("Dropbox", "Dropbox"),
        ("Dropbox (Univ. of X)/conferences", "Dropbox"),
        ("OneDrive - Univ. of X/a/b", "OneDrive"),
        ("Library/Mobile Documents/com~apple~CloudDocs", "iCloud"),
        ("iCloudDrive", "iCloud"),
        ("Library/CloudStorage/GoogleDrive-ada@x.org/My Drive", "Google Drive"),
        ("Library/CloudStorage/Box-Box", "a cloud service"),
        ("Nextcloud", "Nextcloud"),
    ],
)
def test_a_folder_that_a_service_copies_is_remarked_on(tmp_path: Path, parent: str, service: str) -> None:
    folder = tmp_path / parent / "icx"
    (remark,) = copied_remarks(folder)
    assert f"{folder} lies in a folder of {service}, which copies it to its servers" in remark
    assert copied_remarks(tmp_path / "conferences" / "icx") == []
    folder.parent.mkdir(parents=True)
    (tmp_path / "link").symlink_to(folder.parent)
    assert f"a folder of {service}" in copied_remarks(tmp_path / "link" / "icx")[0], "where it really lies"


@pytest.mark.parametrize("worktree", [False, True])
def test_a_folder_in_a_git_work_tree_is_remarked_on(tmp_path: Path, worktree: bool) -> None:
    git, folder = tmp_path / "work" / ".git", tmp_path / "work" / "a" / "icx"
    folder.parent.mkdir(parents=True)
    assert copied_remarks(folder) == []
    if worktree:
        git.write_text("gitdir: elsewhere\n")
    else:
        git.mkdir()
    (remark,) = copied_remarks(folder)
    assert remark.startswith(f"{folder} lies in a Git work tree, and `git add` would copy it")
    assert copied_remarks(tmp_path / "icx") == []


def test_a_moved_dropbox_is_known_by_what_lies_in_it(tmp_path: Path) -> None:
    (tmp_path / "sync" / ".dropbox.cache").mkdir(parents=True)
    assert "a folder of Dropbox" in copied_remarks(tmp_path / "sync" / "icx")[0]
