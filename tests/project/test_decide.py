"""Decisions in a folder, called as the command and the app call them."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("jinja2")

from blindcal.planning.conference_plan import Answer
from blindcal.project.decide import decide_folder, folder_answer
from blindcal.project.settings import read_folder
from small_conferences import project, small_conference, with_key

pytestmark = pytest.mark.edge


def test_a_folder_is_decided_once_and_says_where_the_release_is(tmp_path: Path) -> None:
    files = small_conference().write(tmp_path / "in")
    key, out = with_key(tmp_path / "key.bin"), tmp_path / "out"
    folder = read_folder(project(files, key, out))
    first, again = decide_folder(folder), decide_folder(folder)
    assert (first.public, first.outcome.record.release) == (out, 1)
    assert again.outcome.record == first.outcome.record
    assert (out / "decisions.csv").read_text() == first.outcome.record.decisions
    numbered = read_folder(project(files, with_key(tmp_path / "k2.bin"), tmp_path / "o2", "numbered = true"))
    assert decide_folder(numbered).public == tmp_path / "o2" / "release-1"


def test_there_is_an_answer_if_a_folder_is_ready_for_it(tmp_path: Path) -> None:
    files = small_conference().write(tmp_path / "in")
    folder = read_folder(project(files, None, tmp_path / "out"))
    found = folder_answer(folder, seconds=0.1)
    assert isinstance(found, Answer)
    (files / "reviewers.csv").unlink()
    assert folder_answer(folder, seconds=0.1) is None
