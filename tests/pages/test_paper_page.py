"""paper.md: every item of the paper has a row, and each row is true: function, test, command, status."""

from __future__ import annotations

import ast
import re
import shlex
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("typer")
pytest.importorskip("matplotlib")

from documents import ROOT, named, run_command

pytestmark = pytest.mark.edge

PAGE = (ROOT / "docs" / "research" / "paper.md").read_text(encoding="utf-8")
NUMBERED = [
    "Setting (Section 3)",
    "Table 1",
    "Proposition 4.1",
    *(f"Theorem 4.{k}" for k in range(2, 7)),
    *(f"Algorithm {k}" for k in range(1, 4)),
    *(f"Figure {k}" for k in range(1, 7)),
    "Appendix A",
    "Definition B.1",
    "Definition B.2",
    "Proposition B.3",
    "Appendix B, the strategies",
]


class Row(NamedTuple):
    item: str
    statement: str
    function: str
    test: str
    command: str
    status: str


def rows() -> list[Row]:
    lines = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| item ")]
    return [Row(*(cell.strip() for cell in line.strip("|").split(" | "))) for line in lines]


ROWS = rows()


def test_every_numbered_item_has_a_row_and_so_has_what_the_discussion_leaves_open() -> None:
    items = [row.item for row in ROWS]
    assert sorted(item for item in items if not item.startswith("Open: ")) == sorted(NUMBERED)
    assert sum(item.startswith("Open: ") for item in items) >= 3


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.item)
def test_a_row_is_true(row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert row.statement.endswith(".")
    assert re.match(r"as printed|\[?corrected|extended", row.status)
    assert callable(named(row.function.strip("`")))
    file, _, test = row.test.strip("`").partition("::")
    assert test in functions_in(file)
    monkeypatch.chdir(tmp_path)
    code, printed = run_command(row.command.strip("`"))
    assert code == 0, printed
    if "--out" in shlex.split(row.command.strip("`")):
        assert (tmp_path / "figures").is_dir()


@cache
def functions_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_correction_that_a_row_names_is_there() -> None:
    _, _, after = PAGE.partition("## Corrections")
    numbers = {int(number) for number in re.findall(r"^(\d+)\. ", after, re.M)}
    assert numbers == set(range(1, 11))
    for row in ROWS:
        cited = re.findall(r"correct(?:ed \(|ions? )([\d, and]+)", row.status)
        assert {int(n) for part in cited for n in re.findall(r"\d+", part)} <= numbers
        assert "corrected" not in row.status or cited or row.item == "Theorem 4.6"
