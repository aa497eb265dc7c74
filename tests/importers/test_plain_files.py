"""Twenty-five tables of the same reviews: each is read right, after at most one answer, or refused."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("typer")

import plain_files
from blindcal.reviews import Reviews
from commands import call
from plain_files import COLUMNS, NAMES, PAPERS, REVIEWS, csv_of, email, long

pytestmark = pytest.mark.edge
Give = Callable[..., tuple[int, str, str]]
NUMBERS = {"Decline Submission": 0, "Resubmit for Review": 1, "Revisions Required": 2, "Accept Submission": 3}


class File(NamedTuple):
    """A file, and what a chair answers when asked; None: it is refused whatever the answer."""

    data: bytes
    answer: tuple[str, ...] | None = ()
    people: str = "names"
    scores: str = "as they are"


FILES: Mapping[str, File] = {
    "commas": File(long()),
    "semicolons": File(long("Paper", "Reviewer", "Score", separator=";")),
    "tabs": File(long("Paper ID", "Referee", "Rating", separator="\t")),
    "other words": File(long("proposal", "panelist", "points")),
    "own words": File(long("object", "who", "value"), ("--columns", "paper=object,reviewer=who,score=value")),
    "commas in names": File(
        long("Paper, by number", "Referee", "Overall score (1 = worst, 10 = best)"), ("asked",)
    ),
    "a Google form": File(plain_files.google_form(), ("asked",), "emails"),
    "a Microsoft form": File(plain_files.microsoft_form(), ("asked",), "emails"),
    "a German sheet": File(plain_files.german(), ("asked",), "emails", "halves"),
    "a report of OJS": File(
        plain_files.ojs_report(),
        ("asked", "--best-first", ",".join([*NUMBERS][::-1])),
        "emails",
        "words",
    ),
    "wide": File(plain_files.wide()),
    "a matrix": File(plain_files.matrix(), ("asked",)),
    "a transposed matrix": File(plain_files.transposed_matrix(), ("asked",)),
    "two scores": File(
        plain_files.two_scores(), ("--columns", "paper=Paper,reviewer=Reviewer,score=Score after it")
    ),
    "two scores, one of them usual": File(
        plain_files.two_scores("Score", "Final score"),
        ("--columns", "paper=Paper,reviewer=Reviewer,score=Final score"),
    ),
    "of ten": File(long(score="{}/10")),
    "with labels": File(long(score="{}: good")),
    "dashes": File(plain_files.with_dashes()),
    "answered twice": File(plain_files.answered_twice(), ("--latest",)),
    "titled papers": File(plain_files.titled_papers()),
    "a line above": File(b"ICX 2027,,\n" + long()),
    "averages": File(plain_files.averages(), None),
    "criteria": File(plain_files.criteria(), None),
    "nobody": File(plain_files.nameless(), None),
    "a total": File(plain_files.with_a_total(), None),
}


def expected(file: File) -> set[tuple[str, str, float]]:
    def value(score: int) -> float:
        if file.scores == "words":
            return 1 + min(3, score // 3)
        return 3.5 if file.scores == "halves" and score == 3 else float(score)

    return {
        (paper, email(name) if file.people == "emails" else name, value(score))
        for paper, name, score in REVIEWS
    }


def imported() -> set[tuple[str, str, float]]:
    columns = Reviews.read(Path("icx") / "inputs" / "reviews.csv").columns()
    cells = zip(columns["paper"], columns["reviewer"], columns["score"], strict=True)
    return {(str(paper), str(who), float(score)) for paper, who, score in cells}


@pytest.fixture
def give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Give:
    """Imports a file into a new folder, in which the test runs, and answers what `call` does."""
    monkeypatch.chdir(tmp_path)
    assert call("new", "icx")[0] == 0

    def give(data: bytes, *options: str) -> tuple[int, str, str]:
        Path("table").write_bytes(data)
        return call("import", "icx", "table", *options)

    return give


def asked(error: str) -> list[str]:
    """The options that a refusal says to give if its guess is right."""
    match = re.search(r"must be confirmed: .*give (--columns (?:'[^'\n]*'|[^ \n]+)|--layout [a-z-]+)", error)
    assert match, error
    return shlex.split(match[1])


@pytest.mark.parametrize("name", FILES)
def test_each_file_is_read_right_or_refused(name: str, give: Give) -> None:
    """Right at once, or after one answer to what it asks; what is not right is never taken in silence."""
    file = FILES[name]
    code, _, err = give(file.data, "--as", "reviews")
    assert "blindcal has a bug" not in err
    if file.answer is None:
        assert (code, "table" in err) == (2, True)
        return
    if file.answer:
        assert code == 2, "it asks first"
        answer = [word for part in file.answer for word in (asked(err) if part == "asked" else [part])]
        code, _, err = give(file.data, "--as", "reviews", *answer)
    assert code == 0, err
    assert imported() == expected(file)


def test_so_many_files_are_read_with_at_most_one_answer() -> None:
    assert len(FILES) == 25
    assert sum(file.answer is not None for file in FILES.values()) == 21
    assert sum(file.answer == () for file in FILES.values()) == 10
    assert {*PAPERS} == {paper for paper, *_ in REVIEWS}
    assert {*NAMES} == {name for _, name, _ in REVIEWS}


def test_a_title_beside_an_id_becomes_the_title(give: Give) -> None:
    code, out, _ = give(plain_files.titled_papers(), "--json")
    assert code == 0
    assert "papers by the id before the colon, titles by what follows it" in json.loads(out)["recognized"]
    assert (Path("icx") / "inputs" / "titles.csv").read_text().splitlines()[1] == "P01,On A"


def test_scores_out_of_two_numbers_are_refused(give: Give) -> None:
    rows = [[p, who, f"{s}/{10 if p < 'P07' else 20}"] for p, who, s in REVIEWS]
    code, _, err = give(csv_of(COLUMNS, rows))
    assert (code, "must be out of one number in all rows, found 10, 20" in err) == (2, True)


def test_nobody_is_named_when_a_matrix_is_read(give: Give) -> None:
    """The names of columns are people, those without a review too."""
    table = plain_files.matrix().replace(b"\n", b",\n").replace(b"Mia Noor,\n", b"Mia Noor,Zoe Idle\n")
    said = [*give(table)[1:], *give(table, "--layout", "people-in-columns")[1:]]
    assert not [name for name in (*NAMES, "Zoe Idle") for text in said if name in text]
