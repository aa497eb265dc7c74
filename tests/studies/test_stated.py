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
        {"docs/evidence/guarantees.md": {"ordinary": ["| trial |"], "shown nowhere": []}},
        {},
    )
    assert path == tmp_path / "numbers" / "menu.json"
    assert "| trial |" in (tmp_path / "guarantees.md").read_text(encoding="utf-8")
    assert (stated.ROOT / "docs" / "evidence" / "guarantees.md").read_text(encoding="utf-8") == before


def test_a_page_shows_the_part_of_a_table_that_its_mark_names() -> None:
    table = ["| | a, b | c |", "|---|---|---|", "| x, y | 1 | 2 |", "| x | 3 | 4 |", "| z |  | 5 |"]
    page = "<!-- one two{} -->\nold\n<!-- end -->\n"
    for part, lines in {
        "": table,
        " rows: x; z": table,
        " rows: x, y; z columns: c": ["| | c |", "|---|---|", "| x, y | 2 |", "| z | 5 |"],
        " columns: c; a, b": [
            "| | c | a, b |", "|---|---|---|", "| x, y | 2 | 1 |", "| x | 4 | 3 |", "| z | 5 | |",
        ],
    }.items():  # fmt: skip
        found = stated.put(page.format(part), {"one two": table}).replace("|  |", "| |")
        assert found == page.format(part).replace("old", "\n".join(lines).replace("|  |", "| |"))
    for nothing in (" rows: q", " rows: x; q", " columns: d"):
        with pytest.raises(SystemExit, match="nothing of"):
            stated.put(page.format(nothing), {"one two": table})


def test_other_settings_than_the_published_ones_are_refused() -> None:
    published = json.loads((stated.PUBLISHED / "numbers" / "appendix_a.json").read_text(encoding="utf-8"))
    stated.refuse_trials("appendix_a", published["command"])
    with pytest.raises(SystemExit, match=r"appendix_a.json was made by .*--trials 300"):
        stated.refuse_trials("appendix_a", "python studies/appendix_a.py --trials 4")
