"""`blindcal assign`: from bids to an assignment, and its prior through `plan`, `decide` and `verify`."""

from __future__ import annotations

import csv
import json
import stat
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")

from blindcal.assignment.candidates import read_draws
from commands import call

pytestmark = pytest.mark.edge

ASKED = ("--per-paper", "2", "--per-reviewer", "4", "--cap", "0.5")


SAMPLED = (
    "reviews.csv",
    "--reviewers",
    "reviewers.csv",
    "--pools",
    "a/assignments.csv",
    "--accept-rate",
    "0.4",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Bids of nine people on twelve papers, and a key."""
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
    assert call("key", "key.bin")[0] == 0
    return tmp_path


def assigned(*more: str) -> tuple[int, str, str]:
    return call("assign", "--bids", "bids.csv", "--conflicts", "conflicts.csv", *ASKED, *more)


def reviewed(assignment: Path) -> None:
    """Scores of the assigned reviewers, and everybody's calibration."""
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


def test_an_assignment_is_decided_with_its_own_prior(folder: Path) -> None:
    code, out, err = assigned("--key", "key.bin", "--draws", "16", "--out", "a")
    assert code == 0, err
    assert "12 papers and 9 reviewers: one of 16 sampled assignments, each as likely" in out
    assert "largest probability of a pair" in out
    assert "canary" not in out + err
    reviewed(Path("a/assignment.csv"))
    for pools in ("a/assignments.csv", "a/pools.csv"):
        asked = ("reviews.csv", "--reviewers", "reviewers.csv", "--pools", pools, "--accept-rate", "0.4")
        assert call("plan", *asked)[0] == 0
        name = Path(pools).stem
        key = ("--key", f"{name}.key", "--out", f"out-{name}")
        assert call("key", f"{name}.key")[0] == 0
        code, out, err = call("decide", *asked, *key)
        assert code == 0, err
        code, out, err = call("verify", *asked[:5], *key)
        assert code == 0, out + err
    again = SAMPLED
    code, out, _ = call("decide", *again, "--key", "assignments.key", "--out", "out-assignments")
    assert (code, "already decided" in out) == (0, True)


def test_a_corrected_score_is_amended_with_the_same_sets(folder: Path) -> None:
    assert assigned("--key", "key.bin", "--draws", "16", "--out", "a")[0] == 0
    reviewed(Path("a/assignment.csv"))
    asked = SAMPLED
    sealed = ("--key", "key.bin")
    assert call("decide", *asked, *sealed, "--out", "out")[0] == 0
    lines = Path("reviews.csv").read_text().splitlines()
    paper, reviewer, score = lines[1].split(",")
    lines[1] = f"{paper},{reviewer},{float(score) + 1.0}"
    Path("reviews.csv").write_text("\n".join(lines) + "\n")
    code, out, err = call("decide", *asked, *sealed, "--out", "out2", "--amend", "--reason", "a typing error")
    assert code == 0, err
    assert "amended" in out
    assert call("verify", *asked[:5], *sealed, "--out", "out2")[0] == 0


def test_the_same_key_and_input_give_the_same_assignment_and_others_another(folder: Path) -> None:
    truth = set()
    for name, changed in {
        "a": (),
        "b": (),
        "c": ("--spread", "0.1"),
        "d": ("--draws", "128"),
    }.items():
        assert assigned("--key", "key.bin", *changed, "--out", name)[0] == 0
        truth.add(Path(name, "assignment.csv").read_text())
    assert Path("a/assignments.csv").read_bytes() == Path("b/assignments.csv").read_bytes()
    assert len(truth) == 3
    rows = Path("bids.csv").read_text().splitlines()
    Path("bids.csv").write_text("\n".join([rows[0], *reversed(rows[1:])]) + "\n")
    assert assigned("--key", "key.bin", "--out", "e")[0] == 0
    assert Path("e/assignment.csv").read_text() == Path("a/assignment.csv").read_text()
    assert assigned("--key", "key.bin", "--out", "a")[0] == 0, "the same may be written again"


def test_without_a_key_every_run_draws_another_assignment_and_the_first_is_kept(folder: Path) -> None:
    assert assigned("--out", "a")[0] == 0
    before = Path("a/assignment.csv").read_bytes()
    code, _, err = assigned("--out", "a")
    assert code == 3
    assert "is never overwritten" in err
    assert Path("a/assignment.csv").read_bytes() == before
    assert all(
        stat.S_IMODE(Path("a", name).stat().st_mode) == 0o600
        for name in ("assignment.csv", "assignments.csv")
    )


def test_json_says_the_same_whichever_draw_is_used(folder: Path) -> None:
    told = []
    for name in ("a", "b"):
        code, out, _ = assigned("--json", "--out", name)
        assert code == 0
        facts = json.loads(out)
        told.append(
            {key: value for key, value in facts.items() if key not in ("assignment", "assignments", "pools")}
        )
    assert told[0] == told[1]
    assert told[0]["largest_probability"] <= 0.5
    assert 0 < told[0]["similarity_kept"] <= 1
    drawn = read_draws("a/assignments.csv")
    assert {len(pool) for pool in drawn.values()} >= set(told[0]["candidates_per_paper"][::2])
    assert "p00" in drawn
    assert "canary-0" not in drawn["p00"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--bids", "bids.csv", "--similarity", "bids.csv"), "give one of --bids and --similarity"),
        ((), "give one of --bids and --similarity"),
        (("--bids", "bids.csv", "--draws", "100"), "--draws must be a power of 2"),
        (("--bids", "bids.csv", "--per-reviewer", "1"), "raise --per-reviewer"),
        (("--bids", "bids.csv", "--cap", "0.05"), "raise --cap"),
        (("--bids", "bids.csv", "--cap", "50"), "for 50 % give 0.5"),
        (("--bids", "nothing.csv"), "there is no such file"),
        (("--similarity", "bids.csv"), "column similarity: must be in the header"),
        (("--bids", "bids.csv", "--conflicts", "bids.csv"), "conflict"),
    ],
)
def test_what_is_refused_writes_nothing(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    given = dict(zip(ASKED[::2], ASKED[1::2], strict=True))
    given |= dict(zip(arguments[::2], arguments[1::2], strict=True))
    code, out, err = call("assign", *(word for pair in given.items() for word in pair), "--out", "a")
    assert (code, out) == (2, "")
    assert said in err
    assert "canary" not in err
    assert not Path("a").exists()


def test_papers_and_people_without_bids_are_assigned_too(folder: Path) -> None:
    Path("papers.csv").write_text("paper\np00\np99\n")
    Path("committee.csv").write_text("reviewer\ncanary-0\ncanary-x\n")
    code, _, err = assigned("--papers", "papers.csv", "--committee", "committee.csv", "--out", "a")
    assert code == 0, err
    drawn = read_draws("a/assignments.csv")
    assert len(drawn) == 13
    assert "p99" in drawn
