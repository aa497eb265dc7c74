"""Where studies write: a trial never replaces what is published."""

from __future__ import annotations

import json
import re
from argparse import Namespace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from blindcal import Guarantee

stated = import_module("stated")


def test_a_trial_goes_to_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (stated.ROOT / "docs" / "evidence" / "guarantees.md").read_text(encoding="utf-8")
    monkeypatch.setattr(stated, "DOCS", tmp_path)
    trial = Namespace(study="menu", command="python studies/menu.py --papers 4")
    tables = {"docs/evidence/guarantees.md": {"ordinary": ["| trial |"], "shown nowhere": []}}
    path = stated.keep(trial, tables)
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


def test_options_are_the_command_that_the_numbers_are_kept_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stated, "DOCS", Path("elsewhere"))
    monkeypatch.setattr("sys.argv", ["x", "--papers", "4", "--workers", "3", "--data", "there"])
    options = stated.asked("menu", "", data=True, rounds=2, papers=1500)
    assert (options.rounds, options.papers, options.workers, options.data) == (2, 4, 3, Path("there"))
    assert options.command == "python studies/menu.py --data FOLDER --rounds 2 --papers 4"
    monkeypatch.setattr("sys.argv", ["x"])
    with pytest.raises(SystemExit) as ended:
        stated.asked("menu", "", data=True)
    assert ended.value.code is None


@pytest.mark.parametrize("path", sorted((stated.PUBLISHED / "numbers").glob("*.json")), ids=lambda p: p.stem)
def test_a_study_without_options_is_the_published_one(path: Path) -> None:
    """Otherwise `make figures OUT=docs` would be refused."""
    command = json.loads(path.read_text(encoding="utf-8"))["command"]
    source = (stated.ROOT / "studies" / f"{path.stem}.py").read_text(encoding="utf-8")
    (counts,) = re.findall(rf'asked\("{path.stem}", __doc__((?:, \w+=\w+)*)\)', source)
    published = counts.replace("data=True", "data=FOLDER").replace(", ", " --").replace("=", " ")
    assert command == f"python studies/{path.stem}.py{published}"


def test_tables_call_guarantees_by_what_they_are() -> None:
    assert list(stated.guarantees("steady; crowd of 20, epsilon 3 (default); epsilon 2 alone").values()) == [
        Guarantee("steady", epsilon=None),
        Guarantee("crowd", among=20, epsilon=3.0),
        Guarantee("none", epsilon=2.0),
    ]


def test_means_have_the_errors_of_their_columns() -> None:
    assert stated.with_errors(np.array([[1.0, 0.0], [3.0, 0.5]]), "+.1f", " %") == [
        "+2.0 ± 1.0 %",
        "+0.2 ± 0.2 %",
    ]


def test_the_part_that_is_kept() -> None:
    gains = np.array([[0.0, 1.0, 2.0], [1.0, 1.5, 2.5], [0.0, 0.5, 2.0]])
    assert stated.kept_part(gains, 1).startswith("36 ± ")  # (1 + .5 + .5) / (2 + 1.5 + 2)
    assert stated.kept_part(gains * [1, 1, 0], 1) == "-"
