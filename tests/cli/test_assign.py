"""`blindcal assign`: from bids to an assignment, and its prior through `plan`, `decide` and `verify`."""

from __future__ import annotations

import csv
import json
import shutil
import stat
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")

from blindcal.assignment.candidates import read_draws, read_pools
from blindcal.project import read_folder
from commands import call
from small_conferences import everything

pytestmark = pytest.mark.edge

LOADS = ("--per-paper", "2", "--per-reviewer", "4", "--cap", "0.5")
INPUTS = Path("icx/inputs")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Bids of nine people on twelve papers, and a folder with their conflicts."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    rows = [
        f"p{p:02d},canary-{r},{rng.choice(['yes', 'maybe', 'no', '0.25'])}\n"
        for p in range(12)
        for r in range(9)
        if rng.random() < 0.7
    ]
    Path("bids.csv").write_text("paper,reviewer,bid\n" + "".join(rows))
    Path("conflicts.csv").write_text("paper,conflict\np00,canary-0\np01,canary-0\n")
    words = ("--conflicts", "conflicts.csv", "--scores", "public", "--accept", "40%")
    assert call("new", "icx", *words)[0] == 0
    return Path("icx")


def assigned(*more: str, folder: str = "icx") -> tuple[int, str, str]:
    return call("assign", folder, "--similarity", "bids.csv", *LOADS, *more)


def reviewed(assignment: Path) -> None:
    """Scores of the assigned reviewers, and everybody's calibration, in the folder."""
    rng = np.random.default_rng(5)
    people = {f"canary-{j}": (np.exp(rng.normal(0, 0.4)), rng.normal(5, 0.8)) for j in range(9)}
    with assignment.open() as file:
        rows = list(csv.DictReader(file))
    quality = {row["paper"]: rng.normal() for row in rows}
    scores = [
        f"{row['paper']},{row['reviewer']},{a * quality[row['paper']] + b + 0.5 * rng.normal():.3f}\n"
        for row in rows
        for a, b in [people[row["reviewer"]]]
    ]
    Path("reviews.csv").write_text("paper,reviewer,score\n" + "".join(scores))
    table = [f"{name},{a},{b},0.5\n" for name, (a, b) in people.items()]
    Path("reviewers.csv").write_text("reviewer,slope,offset,noise\n" + "".join(table))
    code, _, err = call("import", "icx", "reviews.csv", "reviewers.csv")
    assert code == 0, err


def test_an_assignment_is_decided_with_its_own_prior(folder: Path) -> None:
    code, out, err = assigned("--draws", "16")
    assert code == 0, err
    assert "12 papers and 9 reviewers: one of 16 sampled assignments, each as likely" in out
    assert "largest probability of a pair" in out
    assert "pools of the folder from now on: icx/inputs/assignments.csv" in out
    assert "canary" not in out + err
    reviewed(INPUTS / "assignment.csv")
    assert read_folder(folder).settings["pools"] == "icx/inputs/assignments.csv"
    assert call("plan", "icx")[0] == 0
    shutil.copytree("icx", "pairs")
    code, out, err = call("decide", "icx")
    assert code == 0, err
    code, out, err = call("verify", "icx")
    assert code == 0, out + err
    code, out, _ = call("decide", "icx")
    assert (code, "already decided" in out) == (0, True)
    assert assigned("--draws", "16")[0] == 3, "who may have reviewed is fixed once papers are decided"
    settings = Path("pairs/conference.toml")
    text = settings.read_text().replace("assignments.csv", "pools.csv").replace("icx.key", "pairs.key")
    settings.write_text(text)
    assert call("new", "other", "--key", "pairs.key")[0] == 0
    code, out, err = call("decide", "pairs")
    assert code == 0, err
    assert call("verify", "pairs")[0] == 0


def test_a_corrected_score_is_amended_with_the_same_sets(folder: Path) -> None:
    assert assigned("--draws", "16")[0] == 0
    reviewed(INPUTS / "assignment.csv")
    assert call("decide", "icx")[0] == 0
    lines = Path("reviews.csv").read_text().splitlines()
    paper, reviewer, score = lines[1].split(",")
    lines[1] = f"{paper},{reviewer},{float(score) + 1.0}"
    Path("reviews.csv").write_text("\n".join(lines) + "\n")
    assert call("import", "icx", "reviews.csv", "--as", "reviews")[0] == 0
    code, out, err = call("decide", "icx", "--amend", "--reason", "a typing error")
    assert code == 0, err
    assert "amended" in out
    assert call("verify", "icx")[0] == 0


def test_the_same_key_and_input_give_the_same_assignment_and_others_another(folder: Path) -> None:
    truth = set()
    for name, changed in {
        "a": (),
        "b": (),
        "c": ("--spread", "0.1"),
        "d": ("--draws", "128"),
    }.items():
        shutil.copytree("icx", name)
        assert assigned(*changed, folder=name)[0] == 0
        truth.add(Path(name, "inputs/assignment.csv").read_text())
    same = [Path(name, "inputs/assignments.csv").read_bytes() for name in "ab"]
    assert same[0] == same[1]
    assert len(truth) == 3
    rows = Path("bids.csv").read_text().splitlines()
    Path("bids.csv").write_text("\n".join([rows[0], *reversed(rows[1:])]) + "\n")
    before = everything(Path("a"))
    assert assigned(folder="a")[0] == 0, "the same may be written again, whatever the order of rows"
    assert everything(Path("a")) == before
    code, _, err = assigned("--spread", "0.1", folder="a")
    assert code == 3
    assert "is never overwritten" in err
    assert everything(Path("a")) == before


def test_another_key_draws_another_assignment_for_the_owner_alone(folder: Path) -> None:
    assert call("new", "two", "--conflicts", "conflicts.csv")[0] == 0
    assert assigned()[0] == assigned(folder="two")[0] == 0
    truth = [Path(name, "inputs/assignment.csv").read_bytes() for name in ("icx", "two")]
    assert truth[0] != truth[1]
    for name in ("assignment.csv", "assignments.csv"):
        assert stat.S_IMODE((INPUTS / name).stat().st_mode) == 0o600


def test_json_says_the_same_whichever_draw_is_used(folder: Path) -> None:
    assert call("new", "two", "--conflicts", "conflicts.csv")[0] == 0
    told = []
    for name in ("icx", "two"):
        code, out, _ = assigned("--json", folder=name)
        assert code == 0
        facts = json.loads(out)
        told.append(
            {key: value for key, value in facts.items() if key not in ("assignment", "assignments", "pools")}
        )
    assert told[0] == told[1]
    assert told[0]["largest_probability"] <= 0.5
    assert 0 < told[0]["similarity_kept"] <= 1
    drawn = read_draws("icx/inputs/assignments.csv")
    assert {len(pool) for pool in drawn.values()} >= set(told[0]["candidates_per_paper"][::2])
    assert "p00" in drawn
    assert "canary-0" not in drawn["p00"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"--similarity": None}, "give --similarity, a table of bids or similarities"),
        ({"--draws": "100"}, "--draws must be a power of 2"),
        ({"--per-reviewer": "1"}, "raise --per-reviewer"),
        ({"--per-reviewer": None}, "give --per-reviewer and --cap, or --assume"),
        ({"--cap": "0.05"}, "raise --cap"),
        ({"--cap": "50"}, "for 50 % give 0.5"),
        ({"--assume": "bidders"}, "--per-reviewer and --cap draw an assignment: leave them out"),
        ({"--similarity": "nothing.csv"}, "there is no such file"),
        ({"--similarity": "conflicts.csv"}, "column similarity: must be in the header"),
        ({"--conflicts": "bids.csv"}, "conflict"),
    ],
)
def test_what_is_refused_writes_nothing(folder: Path, words: dict[str, str | None], said: str) -> None:
    given = {"--similarity": "bids.csv", **dict(zip(LOADS[::2], LOADS[1::2], strict=True)), **words}
    before = everything(folder)
    code, out, err = call("assign", "icx", *(word for pair in given.items() if pair[1] for word in pair))
    assert (code, out) == (2, "")
    assert said in err
    assert "canary" not in err
    assert everything(folder) == before


def test_papers_and_people_without_bids_are_assigned_too(folder: Path) -> None:
    Path("papers.csv").write_text("paper\np00\np99\n")
    Path("committee.csv").write_text("reviewer\ncanary-0\ncanary-x\n")
    assert call("import", "icx", "committee.csv")[0] == 0
    code, out, err = assigned("--papers", "papers.csv")
    assert code == 0, err
    assert "13 papers and 10 reviewers" in out
    assert "p99" in read_draws("icx/inputs/assignments.csv")


@pytest.fixture
def few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two papers and three people, assigned without blindcal."""
    monkeypatch.chdir(tmp_path)
    Path("bids.csv").write_text("paper,reviewer,bid\np,a,3\np,b,1\np,c,0\nq,c,2\nq,b,2\nq,a,conflict\n")
    Path("conflicts.csv").write_text("paper,conflict\np,c\n")
    Path("papers.csv").write_text("paper\np\nq\n")
    Path("committee.csv").write_text("reviewer\na\nb\nc\n")
    assert call("new", "icx", "--committee", "committee.csv", "--conflicts", "conflicts.csv")[0] == 0
    return Path("icx")


def test_each_assumption(few: Path) -> None:
    expected = {
        "eligible": {"p": {"a": 0.5, "b": 0.5}, "q": {"b": 0.5, "c": 0.5}},
        "bidders": {"p": {"a": 0.5, "b": 0.5}, "q": {"b": 0.5, "c": 0.5}},
        "similarity": {"p": {"a": 0.75, "b": 0.25}, "q": {"b": 0.5, "c": 0.5}},
    }
    for assume, pools in expected.items():
        shutil.copytree("icx", assume)
        words = ("--assume", assume, "--similarity", "bids.csv", "--per-paper", "1")
        code, out, err = call("assign", assume, *words)
        assert code == 0, err
        assert "assumes: " in out
        assert read_folder(assume).settings["pools"] == f"{assume}/inputs/pools.csv"
        assert read_pools(f"{assume}/inputs/pools.csv") == pools


def test_everyone_without_a_conflict_needs_no_bids(few: Path) -> None:
    words = ("assign", "icx", "--assume", "eligible", "--per-paper", "2", "--json")
    code, _, err = call(*words)
    assert (code, "give --papers, and a committee" in err) == (2, True)
    code, out, err = call(*words, "--papers", "papers.csv")
    assert code == 0, err
    assert json.loads(out)["candidates_per_paper"] == [2, 2.5, 3]
    assert read_pools("icx/inputs/pools.csv")["p"] == {"a": 1.0, "b": 1.0}
    assert call(*words, "--papers", "papers.csv")[0] == 0, "the same may be written again"
    (INPUTS / "pools.csv").write_text("paper,reviewer\np,a\n")
    assert call(*words, "--papers", "papers.csv")[0] == 3, "an existing file is never overwritten"


def test_papers_are_those_of_the_reviews_once_they_are_in(few: Path) -> None:
    """Which papers there are is public; who reviewed them is not used."""
    Path("reviews.csv").write_text("paper,reviewer,score\np,a,1\np,b,3\nq,b,2\nq,c,1\n")
    assert call("import", "icx", "reviews.csv")[0] == 0
    code, _, err = call("assign", "icx", "--assume", "eligible", "--per-paper", "2")
    assert code == 0, err
    assert read_pools("icx/inputs/pools.csv")["p"] == {"a": 1.0, "b": 1.0}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--assume", "best", "--similarity", "bids.csv"), "--assume must be one of eligible, bidders"),
        (("--assume", "bidders"), "give --similarity"),
        (("--assume", "bidders", "--similarity", "bids.csv", "--per-paper", "3"), "must have 3 candidates"),
    ],
)
def test_an_assumption_that_is_refused_writes_nothing(few: Path, words: tuple[str, ...], said: str) -> None:
    given = {"--per-paper": "1"} | dict(zip(words[::2], words[1::2], strict=True))
    before = everything(few)
    code, out, err = call("assign", "icx", *(word for pair in given.items() for word in pair))
    assert (code, out) == (2, "")
    assert said in err
    assert everything(few) == before
