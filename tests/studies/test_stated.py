"""Where studies write: a trial never replaces what is published."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest

stated = import_module("stated")


def test_a_trial_goes_to_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (stated.ROOT / "docs" / "evidence" / "guarantees.md").read_text(encoding="utf-8")
    monkeypatch.setattr(stated, "DOCS", tmp_path)
    path = stated.keep(
        "menu",
        "python studies/menu.py --papers 4",
        {"docs/evidence/guarantees.md": {"headline": ["| trial |"]}},
        {},
    )
    assert path == tmp_path / "numbers" / "menu.json"
    assert "| trial |" in (tmp_path / "guarantees.md").read_text(encoding="utf-8")
    assert (stated.ROOT / "docs" / "evidence" / "guarantees.md").read_text(encoding="utf-8") == before


def test_other_settings_than_the_published_ones_are_refused() -> None:
    published = json.loads((stated.PUBLISHED / "numbers" / "appendix_a.json").read_text(encoding="utf-8"))
    stated.refuse_trials("appendix_a", published["command"])
    with pytest.raises(SystemExit, match=r"appendix_a.json was made by .*--trials 300"):
        stated.refuse_trials("appendix_a", "python studies/appendix_a.py --trials 4")
