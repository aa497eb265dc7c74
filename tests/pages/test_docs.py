"""Every example in README.md and docs/ runs and prints what the page says.

Blocks of one page run in order in one empty folder: ```python with `>>>` as a doctest, without as a script;
```csv NAME writes the file NAME; ```console runs its `$ blindcal ...`, `$ cat`, `$ ls` and `$ head` lines and
compares what they print, `...` standing for anything; ```console long runs in `make test-long` only, and
```console cluster in tests/platforms/test_clusters.py.
`$ echo $?` shows the last exit code, which must otherwise be 0. Other blocks are prose.
"""

from __future__ import annotations

import doctest
import io
import re
from pathlib import Path

import pytest

from documents import PAGES, ROOT, Block, blocks, commands, run_command, without_blocks
from sizes import count

pytest.importorskip("typer")
pytest.importorskip("pandas")
pytestmark = pytest.mark.edge

LETTERS = [ROOT / name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_example_prints_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page.read_text(encoding="utf-8")):
        where = f"{page.name}, line {block.line}"
        if block.kind == "csv" and block.name:
            Path(block.name).write_text(block.text, encoding="utf-8")
        elif block.kind == "python":
            run_python(block, names, where)
        elif block.kind == "console" and block.name != "cluster" and (block.name != "long" or count(0, 1)):
            run_console(block, where)


def run_python(block: Block, names: dict[str, object], where: str) -> None:
    if ">>>" not in block.text:
        exec(compile(block.text, where, "exec"), names)
        return
    example = doctest.DocTestParser().get_doctest(block.text, names, where, where, block.line)
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    failed = runner.run(example, out=report.write, clear_globs=False).failed
    names.update(example.globs)
    assert failed == 0, report.getvalue()


def run_console(block: Block, where: str) -> None:
    code = 0
    for command, expected in commands(block.text):
        if command == "echo $?":
            printed, code = f"{code}\n", 0
        else:
            assert code == 0, f"{where}: the command before `{command}` ended with {code}"
            code, printed = run_command(command)
        same = doctest.OutputChecker().check_output(expected, printed, OPTIONS)
        assert same, f"{where}: $ {command}\nexpected:\n{expected}\nprinted:\n{printed}"
    assert code == 0, f"{where}: the last command ended with {code}"


def test_an_example_that_prints_something_else_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for text in ("```python\n>>> 1 + 1\n3\n```\n", "```console\n$ blindcal --version\nblindcal 9\n```\n"):
        (block,) = blocks(text)
        with pytest.raises(AssertionError, match=r"Expected|expected"):
            run_python(block, {}, "page") if block.kind == "python" else run_console(block, "page")
    (block,) = blocks("```console\n$ blindcal --nonsense\n...\n```\n")
    with pytest.raises(AssertionError, match="ended with 2"):
        run_console(block, "page")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    text = without_blocks(page.read_text(encoding="utf-8"))
    titles = (
        re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    )
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(page: Path) -> list[str]:
    """Links to files that do not exist, or to headings that a page does not have."""
    text = without_blocks(page.read_text(encoding="utf-8"))
    links = re.findall(r"\]\(([^)#:]*)(?:#([^):]*))?\)", text)
    targets = [(page.parent / file if file else page, anchor) for file, anchor in links]
    return [
        f"{target}#{anchor}"
        for target, anchor in targets
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target))
    ]


@pytest.mark.parametrize("page", [*PAGES, *LETTERS], ids=lambda page: page.name)
def test_pages_link_to_files_and_headings_that_exist(page: Path) -> None:
    assert broken_links(page) == []


def test_a_broken_link_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A `b` c?\n[fine](#a-b-c) [fine](page.md) [not](#d) [not](other.md)\n", encoding="utf-8"
    )
    assert [Path(link).name for link in broken_links(page)] == ["page.md#d", "other.md#"]


@pytest.mark.parametrize(
    "place",
    [
        "README.md",
        "docs/howto/before_you_say_yes.md",
        "docs/explanation/privacy_model.md",
    ],
)
def test_what_epsilon_promises_is_said_of_a_single_decision(place: str) -> None:
    """Of all decisions together it is false for somebody who knows that papers share reviewers."""
    path = ROOT / place
    text = re.sub(r"\s+", " ", re.sub(r'"\s*\n\s*f?"', "", path.read_text(encoding="utf-8")))
    said = [part for part in re.split(r"(?<=[.;:|\"])\s", text) if re.search(r"\bodds\b", part)]
    promises = [part for part in said if re.search(r"chang|shift|bound", part) and "matching" not in part]
    assert promises
    assert all(re.search(r"\b(one|single|each) decision", part) for part in promises), promises


def test_the_table_of_functions_gives_a_conference_affine_reviewers_only() -> None:
    """`prepare` takes slopes and offsets: it can know no other reviewers."""
    rows = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8").splitlines()
    (row,) = [row for row in rows if row.startswith("|") and "prepare`" in row]
    assert "for a conference, affine ones" in row
    assert not re.search(r"logistic|power|piecewise|curved", row, re.IGNORECASE)
