"""The state of a folder: what it has, what it lacks; read anew whenever a file of it is another one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("jinja2")

from blindcal.app.folder_state import folder_stamp, published, read_state
from blindcal.project.create import InitialSettings, create_folder, key_beside
from blindcal.project.settings import FILE, conference_text, read_folder

pytestmark = pytest.mark.edge

BASE = {"conference": "icx", "key": "../k", "out": "public", "reviews": "r", "reviewers": FILE}
BASE |= {"scores": "public", "pools": "everyone"}


def test_nothing_is_published_before_both_files_are_there(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(conference_text(BASE))
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "decisions.csv").write_text("paper,decision,by_mean_score,advice\n")
    assert published(read_folder(tmp_path)) is None


def test_a_folder_is_read_before_reviews_are_in(tmp_path: Path) -> None:
    made = create_folder(tmp_path / "icx", InitialSettings(), key_beside(tmp_path / "icx"))
    state = read_state(read_folder(tmp_path / "icx"))
    assert (state.reviews, state.calibrated, state.release, state.decided) == (None, None, None, False)
    assert state.fingerprint == made.secret.fingerprint
    os.rename(tmp_path / "icx.key", tmp_path / "elsewhere.key")
    assert read_state(read_folder(tmp_path / "icx")).fingerprint is None


def test_another_file_makes_another_stamp(tmp_path: Path) -> None:
    (tmp_path / "r").write_text("paper,reviewer,score\n1,a,2\n2,a,3\n")
    (tmp_path / FILE).write_text(conference_text(BASE))
    folder = read_folder(tmp_path)
    before = folder_stamp(folder)
    assert folder_stamp(folder) == before
    (tmp_path / "r").write_text("paper,reviewer,score\n1,a,2\n2,a,3\n3,a,3\n")
    changed = folder_stamp(folder)
    assert changed != before
    (tmp_path / "public" / "release-1").mkdir(parents=True)
    (tmp_path / "public" / "release-1" / "certificate.json").write_text("{}")
    assert folder_stamp(folder) != changed
