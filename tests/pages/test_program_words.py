"""What people read from the program has the words of the glossary, as pages have."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from documents import ROOT

SOURCE = ROOT / "src" / "blindcal"
BANNED = re.compile(
    r"\b(sealed|coins?|toss(es|ed)?|whoever|(some|every)body|afresh|anew|made[- ]up|habits|by lots?"
    r"|authors? of (a|the) review)\b",
    re.IGNORECASE,
)
# Names of fields and labels; and sentences of certificates that `verify` compares, which must stay.
KEPT = re.compile(
    r"[a-z_.]+| blindcal sealed format |sealed head"
    r"|(One paper at a time|Not covered|Scores are confidential): .*",
    re.DOTALL,
)


def faults(texts: Iterable[str]) -> list[str]:
    """The texts with a banned word that is no name of a file or of a field to be filled in."""
    plain = {text: re.sub(r"\{\w+\}|\.sealed\b", "", text) for text in texts}
    return [text for text, read in plain.items() if BANNED.search(read) and not KEPT.fullmatch(text)]


def shown(text: str, *, command: bool) -> Iterator[str]:
    """The literals of a module; docstrings only of commands, whose help they are."""
    tree, comments = ast.parse(text), set()
    for node in ast.walk(tree):
        # A text that stands alone is a docstring, or that of a constant.
        if isinstance(
            node, ast.Module | ast.ClassDef if command else ast.Module | ast.ClassDef | ast.FunctionDef
        ):
            comments |= {id(part.value) for part in node.body if isinstance(part, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in comments:
            yield node.value


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_texts_of_a_module(path: Path) -> None:
    assert faults(shown(path.read_text(encoding="utf-8"), command=path.parent.name == "cli")) == []


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.html")), ids=lambda path: path.name)
def test_texts_of_a_template(path: Path) -> None:
    text = re.sub(r"{[{%].*?[%}]}", "", path.read_text(encoding="utf-8"))
    assert BANNED.findall(text) == []


def test_a_banned_word_is_found() -> None:
    module = 'def f():\n    """Whoever."""\n    say(f"a sealed {x}", "coins")\n'
    for command, found in ((False, ["a sealed "]), (True, ["Whoever.", "a sealed "])):
        assert faults(shown(module, command=command)) == found
