"""`blindcal research audit-venue`: what anybody can find who has a venue's tables."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

pytest.importorskip("typer")

from blindcal.cli import run
from commands import call
from small_conferences import small_conference

pytestmark = pytest.mark.edge


def venue(folder: Path, accepted: int = 3) -> list[str]:
    """A small conference without its reviewers' names in the scores, and the command that audits it."""
    small = small_conference(papers=6, pool=5, spread=0.4)
    small.write(folder)
    rows = [f"{paper},{score}\n" for paper, _, score in small.reviews[1:]]
    (folder / "scores.csv").write_text("paper,score\n" + "".join(rows), encoding="utf-8")
    papers = sorted({row[0] for row in small.reviews[1:]})
    said = [f"{paper},{'accept' if place < accepted else 'reject'}\n" for place, paper in enumerate(papers)]
    (folder / "decisions.csv").write_text("paper,decision\n" + "".join(said), encoding="utf-8")
    files = [f"--{name}={folder / name}.csv" for name in ("scores", "reviewers", "pools")]
    return ["research", "audit-venue", str(folder / "decisions.csv"), *files]


def test_a_venue_without_a_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = venue(tmp_path)
    assert run(command) == 0
    said = capsys.readouterr().out
    assert said.startswith("3 papers accepted; taken to be decided at a bar of ")
    assert "canary" not in said
    kept, table = tmp_path / "audit.json", tmp_path / "posterior.csv"
    assert run([*command, "--json", "--out", str(kept), "--posterior", str(table)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {one["policy"] for one in found["findings"]} == {"full"}
    assert (found["accepted"], found["papers"], found["published"]) == (3, 6, True)
    assert json.loads(kept.read_text(encoding="utf-8"))["findings"] == found["findings"]
    for file in (kept, table):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    header, *rows = table.read_text(encoding="utf-8").splitlines()
    assert header == "paper,review,score,reviewer,scores_alone,with_decision"
    best: dict[tuple[str, str], float] = {}
    for row in rows:
        paper, review, _, _, _, after = row.split(",")
        best[paper, review] = max(best.get((paper, review), 0.0), float(after))
    (author,) = (
        one
        for one in found["findings"]
        if (one["adversary"], one["question"]) == ("scores and decisions", "author")
    )
    assert author["success"] == pytest.approx(sum(best.values()) / len(best), abs=1e-9)


def test_low_scores_can_be_the_better_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command, found = venue(tmp_path), {}
    for better in ("high", "low"):
        assert run([*command, "--better", better, "--json", "--posterior", str(tmp_path / better)]) == 0
        found[better] = json.loads(capsys.readouterr().out)
        for name in ("scores", "reviewers"):
            file = tmp_path / f"{name}.csv"
            head, *rows = [line.split(",") for line in file.read_text(encoding="utf-8").splitlines()]
            place = head.index("score" if name == "scores" else "offset")
            for row in rows:
                row[place] = str(-float(row[place]))
            file.write_text("\n".join(map(",".join, [head, *rows])) + "\n", encoding="utf-8")
    high, low = found["high"], found["low"]
    assert (high["better"], low["better"], low["bar"]) == ("high", "low", high["bar"])
    for one, other in zip(high["findings"], low["findings"], strict=True):
        assert other == pytest.approx(one, abs=1e-9)
    tables = [(tmp_path / name).read_text(encoding="utf-8").splitlines()[1:] for name in found]
    shown = [[float(row.split(",")[2]) for row in rows] for rows in tables]
    assert shown[0] == [-score for score in shown[1]], "scores as they were given"
    assert call(*command, "--better", "small")[0] == 2


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    command = venue(tmp_path)
    for option in ("--out", "--posterior"):
        code, _, said = call(*command, option, str(tmp_path / "scores.csv"))
        assert code != 0
        assert "scores.csv" in said
    assert (tmp_path / "scores.csv").read_text(encoding="utf-8").startswith("paper,score\n")


def test_adversaries_of_a_venue_that_know_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = venue(tmp_path)
    small = small_conference(papers=6, pool=5, spread=0.4)
    pairs = [f"{paper},{name},{1 + len(name) % 3}\n" for paper, name, _ in small.pools[1:]]
    (tmp_path / "near.csv").write_text("paper,reviewer,similarity\n" + "".join(pairs), encoding="utf-8")
    wrote = [row[1] for row in small.reviews[1:]]
    loads = [f"{name},{wrote.count(name)}\n" for name in small.canaries]
    (tmp_path / "loads.csv").write_text("reviewer,load\n" + "".join(loads), encoding="utf-8")
    more = ["--prior", "uniform", "--prior", str(tmp_path / "near.csv"), "--evidence", "1.5"]
    more += ["--loads", str(tmp_path / "loads.csv"), "--json"]
    assert run([*command, *more]) == 0
    found = json.loads(capsys.readouterr().out)["findings"]
    assert {one["adversary"] for one in found} == {
        "scores and decisions",
        "prior: uniform",
        "prior: similarity",
        "evidence of strength 1.5",
        "author of the paper that loses most",
        "knows everyone's load",
    }


@pytest.mark.parametrize("prior", ["sharpened", "no-such-file.csv"])
def test_priors_that_nobody_can_have_here(tmp_path: Path, prior: str) -> None:
    code, out, said = call(*venue(tmp_path), "--prior", prior)
    assert (code, out) == (2, "")
    assert "--prior" in said


def test_decisions_that_nobody_leads_to_are_counted(tmp_path: Path) -> None:
    code, out, _ = call(*venue(tmp_path), "--bar", "50", "--json")
    found = json.loads(out)
    assert (code, found["unexplained"]) == (0, 3)
    assert "for 3 papers no candidates lead to the decision" in found["notes"][0]


@pytest.mark.parametrize(
    ("out", "posterior", "message"),
    [
        ("n.json", "nowhere/x.csv", "nowhere must be a folder that exists"),
        ("n", "./n", "must not be written twice"),
    ],
)
def test_both_files_are_looked_at_before_the_audit(
    out: str, posterior: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = venue(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    code, _, err = call(*command, "--out", out, "--posterior", posterior)
    assert code == 2
    assert message in err
    assert sorted(tmp_path.rglob("*")) == before
