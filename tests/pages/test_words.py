"""Pages use the field's words, in sentences that can be read once: there are no exceptions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from documents import PAGES, ROOT, without_blocks

LONGEST = 40
READ = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.ipynb"))]

# Each pattern with what to write instead.
RULES = {
    r"whoever|whomever": "name the role: an observer, the auditor, the chair",
    r"somebody|everybody": "name the role, or someone, everyone",
    r"afresh|anew": "again",
    r"gone? through|goes through|going through": "enumerated",
    r"(is|are|was) said": "reports, prints, explains",
    r"authors? of (a|the|each|every|its|one) reviews?|authors? of reviews|reviews?'s? authors?": "reviewer",
    r"authors? (are |is |were |was )?named|named authors?|naming (an|the) authors?": "reviewer",
    r"likeliest authors?": "reviewer",
    r"toss(es|ed|ing)?": "draw",
    r"foretell(s|ing)?|foretold|mend(s|ed|ing)?": "predict; fix",
    r"rivers?|doors?|hair's breadth": "the plain word",
    r"made[- ]up": "simulated",
    r"(decided|decides|decisions|papers?|partly) by lots?": "random draw",
    r"habits": "strictness, or how reviewers score",
    r"hardly ever|as good as none|no more and no less": "the plain word",
}
_PATTERNS = {re.compile(rf"\b(?:{rule})\b", re.IGNORECASE): advice for rule, advice in RULES.items()}
_ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e|cf|vs|al|etc|Fig|Eq|Thm|No|St|Dr)\.$")


def plain(page: str) -> str:
    """All words of a page: without code, formulas, comments and addresses of links."""
    text = re.sub(r"<!--.*?-->", "\n\n", without_blocks(page), flags=re.DOTALL)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`\n]*`", "`code`", text)
    return re.sub(r"\$\$.*?\$\$|\$[^$\n]+\$", "formula", text, flags=re.DOTALL)


def paragraphs(page: str) -> Iterator[str]:
    """Runs of text: without tables and headings."""
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[*+-]|\d+\.)\s)", plain(page)):
        lines = [line for line in block.splitlines() if not line.lstrip().startswith(("#", "|"))]
        if stripped := re.sub(r"^\s*(?:[*+-]|\d+\.)\s+", "", " ".join(lines)).strip():
            yield re.sub(r"\s+", " ", stripped)


def sentences(page: str) -> Iterator[str]:
    for paragraph in paragraphs(page):
        begun = ""
        for part in re.split(r"(?<=[.!?])(?=\s)|(?<=[.!?][)\"*_])(?=\s)", paragraph):
            begun += part
            if not _ABBREVIATED.search(part):
                yield begun.strip()
                begun = ""
        if begun.strip():
            yield begun.strip()


def length(sentence: str) -> int:
    return sum(bool(re.search(r"\w", word)) for word in sentence.split())


def faults(page: str) -> list[tuple[str, str]]:
    """What is wrong with a page: the rule, and the words."""
    found = [("long", sentence) for sentence in sentences(page) if length(sentence) > LONGEST]
    found += [
        ("where", sentence)
        for sentence in sentences(page)
        if sentence.startswith("Where ") and sentence[-1] != "?"
    ]
    text = re.sub(r"\s+", " ", plain(page))
    for pattern in _PATTERNS:
        found += [
            ("words", text[max(0, match.start() - 30) : match.end() + 30]) for match in pattern.finditer(text)
        ]
    return found


def read(path: Path) -> str:
    """The text of a page; of a notebook, that of its cells of text."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
    return "\n\n".join("".join(cell["source"]) for cell in cells)


@pytest.mark.parametrize("path", READ, ids=lambda path: path.name)
def test_a_page_has_no_word_or_sentence_that_is_hard_to_read(path: Path) -> None:
    assert faults(read(path)) == []


def test_faults_are_found() -> None:
    long = "a " * 41
    page = f"""# Whoever tosses
{long}.
```
somebody
```
| everybody | afresh |

* Where it is said of e.g. Dr. Who, whoever comes. Fine (too.) And `anew` too;
  the author of a review.
"""
    assert [rule for rule, _ in faults(page)] == ["long", "where", *7 * ["words"]]
    assert list(sentences(page))[1:] == [
        "Where it is said of e.g. Dr. Who, whoever comes.",
        "Fine (too.)",
        "And `code` too; the author of a review.",
    ]
    assert length("a - b `code` (c)") == 4


def test_the_first_page_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 900
