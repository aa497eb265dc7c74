"""`blindcal audit`: what it says, for whom, and what it does not write where."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("typer")

from blindcal.adversaries.findings import Finding
from blindcal.adversaries.single_paper import AUTHOR
from blindcal.cli import run
from blindcal.cli.audit import _say_adversaries
from blindcal.deciding import ledger
from commands import refusal, succeed
from small_conferences import SmallConference, command_line, decided, small_conference, with_key

pytestmark = pytest.mark.edge


def released(folder: Path, *more: str) -> list[str]:
    """A small conference decided in a folder, and the command that audits it."""
    small = small_conference(papers=8, pool=5, spread=0.4)
    decided(small.write(folder / "in"), folder / "key.bin", folder / "out", *more)
    return command_line("audit", folder / "in", folder / "key.bin", folder / "out")


def test_audit_of_a_release(tmp_path: Path) -> None:
    command = released(tmp_path)
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text(encoding="utf-8"))
    said = succeed(*command).out
    assert said.startswith("CONFIDENTIAL: for the chair alone")
    assert "a reviewer" in said
    assert "canary" not in said
    kept = tmp_path / "audit.json"
    found = json.loads(succeed(*command, "--json", "--out", str(kept)).out)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert json.loads(kept.read_text(encoding="utf-8"))["findings"] == found["findings"]
    asked = {(one["question"], one["policy"]): one for one in reversed(found["findings"])}
    author = asked["author", "chosen"]
    assert author["baseline"] == pytest.approx(certificate["success_scores_only"], abs=1e-9)
    assert author["added"] <= 1e-9
    assert found["largest_rise"]["chosen"] <= 1e-9 < found["largest_rise"]["full"]
    assert (found["published"], found["papers"], found["reviews"]) == (True, 8, 16)


def test_another_key_and_another_folder_are_refused(tmp_path: Path) -> None:
    command = released(tmp_path)
    other = with_key(tmp_path / "other.bin")
    assert run([*command, "--key", str(other)]) == 3
    assert run(command_line("audit", tmp_path / "in", tmp_path / "key.bin", tmp_path / "in")) == 2


def test_an_exact_number_is_audited_by_its_private_decisions(tmp_path: Path) -> None:
    command = released(tmp_path, "accept = 3")
    assert "upper bound" in succeed(*command).err


def test_an_amended_release_counts_both_decisions(tmp_path: Path) -> None:
    small = small_conference(papers=8, pool=5, spread=0.4)
    decided(small.write(tmp_path / "in"), tmp_path / "key.bin", tmp_path / "out")
    again = small.with_review(1, score="0.11").write(tmp_path / "in2")
    decided(again, tmp_path / "key.bin", tmp_path / "out2", "--amend", "--reason", "x")
    found = json.loads(
        succeed(
            *command_line("audit", tmp_path / "in", tmp_path / "key.bin", tmp_path / "out2", "--json")
        ).out
    )
    assert (found["release"], found["largest_rise"]["chosen"] <= 1e-9) == (2, True)


def test_plan_with_an_audit(small: SmallConference, tmp_path: Path) -> None:
    command = command_line("plan", small.write(tmp_path / "in"), "--audit")
    assert "before the draw, on average over the public belief" in succeed(*command).out
    planned = json.loads(succeed(*command, "--json").out)
    found = planned["audit"]
    by_policy = {one["policy"]: one for one in found["findings"] if one["question"] == "author"}
    assert by_policy["chosen"]["success"] == pytest.approx(planned["success"], abs=1e-9)
    assert by_policy["full"]["success"] == pytest.approx(planned["success_fully_calibrated"], abs=1e-9)
    assert found["published"] is False


def test_adversaries_that_know_more(tmp_path: Path) -> None:
    command = released(tmp_path)
    more = ["--prior", "uniform", "--prior", "sharpened", "--evidence", "1.5", "--colluders", "2"]
    found = json.loads(succeed(*command, *more, "--loads", "true", "--json").out)["findings"]
    assert {one["adversary"] for one in found} == {
        "scores and decisions",
        "prior: uniform",
        "prior: sharpened",
        "evidence of strength 1.5",
        "2 colluding reviewers",
        "co-reviewer who knows the names",
        "author of the paper that loses most",
        "knows everyone's load",
    }
    for one in found:
        if one["policy"] in ("raw", "public"):
            assert abs(one["added"]) < 1e-9
    (loaded,) = (
        one for one in found if (one["policy"], one["adversary"]) == ("full", "knows everyone's load")
    )
    assert loaded["error"] == 0.0


def test_a_prior_from_a_file(tmp_path: Path) -> None:
    command = released(tmp_path)
    small = small_conference(papers=8, pool=5, spread=0.4)
    near = tmp_path / "near.csv"
    # All alike: the same as a uniform prior.
    pairs = [f"{paper},{name},0.5\n" for paper, name, _ in small.pools[1:]]
    near.write_text("paper,reviewer,similarity\n" + "".join(pairs), encoding="utf-8")
    found = json.loads(succeed(*command, "--prior", "uniform", "--prior", str(near), "--json").out)[
        "findings"
    ]
    alike, by_file = (
        [one["success"] for one in found if one["adversary"] == name]
        for name in ("prior: uniform", "prior: similarity")
    )
    assert len(alike) == 16
    assert by_file == pytest.approx(alike)
    near.write_text("paper,reviewer,similarity\n" + "".join(pairs[1:8]), encoding="utf-8")
    said = refusal(*command, "--prior", str(near))
    assert "--prior: by its similarities no one of the pool can have reviewed" in said
    assert "canary" not in said


def test_loads_from_a_file(tmp_path: Path) -> None:
    command = released(tmp_path)
    small = small_conference(papers=8, pool=5, spread=0.4)
    wrote = [row[1] for row in small.reviews[1:]]
    rows = [f"{name},{wrote.count(name)}\n" for name in small.canaries]
    loads = tmp_path / "loads.csv"
    loads.write_text("reviewer,load\n" + "".join(rows), encoding="utf-8")
    own = json.loads(succeed(*command, "--loads", "true", "--json").out)["findings"]
    given = [*command, "--loads", str(loads), "--json"]
    assert json.loads(succeed(*given).out)["findings"] == own
    loads.write_text("reviewer,load\n" + "".join([*rows, rows[0]]), encoding="utf-8")
    said = refusal(*given)
    assert "must name everyone once" in said
    assert "canary" not in said
    assert "--keep goes with --loads" in refusal(*command, "--keep", str(tmp_path / "walks"))


def test_a_cell_about_another_paper_has_its_own_baseline(capsys: pytest.CaptureFixture[str]) -> None:
    alike = [Finding("one", AUTHOR, "public", 0.2, 0.2), Finding("one", AUTHOR, "chosen", 0.2, 0.2 - 1e-12)]
    apart = [Finding("two", AUTHOR, "public", 0.2, 0.2), Finding("two", AUTHOR, "full", 0.3, 0.4)]
    _say_adversaries([*alike, *apart])
    said = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "a reviewer 20.0 20.0 20.0 +0.00 exact" in said
    assert "a reviewer (each) 20.0 to 20.0 30.0 to 40.0 +10.00 exact" in said


# --- `blindcal verify`: which release was checked, changed records, missing folders.


def test_verify(small: SmallConference, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, key, out = small.write(tmp_path / "in"), tmp_path / "key.bin", tmp_path / "out"
    decided(folder, key, out)
    command = command_line("verify", folder, key, out)
    assert run(command) == 0
    asked = "decided with: accept rate 0.4, among 10, better high, epsilon 3, guarantee crowd\n"
    assert capsys.readouterr().out.endswith(asked)
    assert json.loads(succeed(*command, "--json").out)["verified"] is True
    (out / "decisions.csv").write_text("paper,decision,by_mean_score,advice\n", encoding="utf-8")
    assert run(command) == 4
    changed = small.with_review(1, score="0.5").write(tmp_path / "in2")
    assert "reviews, calibration, pools or grid are not those that were decided" in refusal(
        *command_line("verify", changed, key), code=4
    )


def test_verify_reads_the_ledger_once(
    small: SmallConference, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, key = small.write(tmp_path / "in"), tmp_path / "key.bin"
    decided(folder, key, tmp_path / "out")
    listed: list[Path] = []
    sealed_files = ledger.record_files
    monkeypatch.setattr(ledger, "record_files", lambda path: listed.append(path) or sealed_files(path))
    assert run(command_line("verify", folder, key)) == 0
    assert len(listed) == 1


def test_verify_says_which_release_it_checked(
    small: SmallConference, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also when it is given the input of an earlier release."""
    first, key = small.write(tmp_path / "in"), tmp_path / "key.bin"
    decided(first, key, tmp_path / "out")
    second = small.with_review(1, score="0.11").write(tmp_path / "in2")
    decided(second, key, tmp_path / "out2", "--amend", "--reason", "x")
    capsys.readouterr()
    checked = succeed(*command_line("verify", second, key)).out
    assert checked.startswith("release 2, the latest of conference 'conference'\n")
    assert "could be known excludes it: give it as --commitment\n" in checked
    assert run(command_line("verify", first, key)) == 4
    said = capsys.readouterr()
    assert said.out.startswith("release 2, the latest of conference 'conference'\n")
    assert said.err.startswith("blindcal: release 2: verification failed")
    assert "The input given is that of release 1" in said.err
    assert run(command_line("verify", first, key, "--json")) == 4
    said = capsys.readouterr()
    assert "release 2: verification failed" in json.loads(said.err)["error"]["message"]
    other = small.with_review(1, score="0.12").write(tmp_path / "in3")
    assert "The input given" not in refusal(*command_line("verify", other, key), code=4)


def test_verifying_without_the_sealed_folder_says_where_it_should_be(
    small: SmallConference, tmp_path: Path
) -> None:
    folder, key = small.write(tmp_path / "in"), with_key(tmp_path / "key.bin")
    assert "key.bin.sealed" in refusal(*command_line("verify", folder, key))


def test_an_amended_release_on_a_grid_verifies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The bar of the first release is derived again from the record: it must not depend on where it was."""
    small = small_conference(seed=3, papers=12)
    rows = [(paper, who, f"{round(float(score))}") for paper, who, score in small.reviews[1:]]
    whole = replace(small, reviews=(small.reviews[0], *rows))
    key = with_key(tmp_path / "key.bin")
    grid = ('grid = "-12..12"', "--despite-misfit", "distinct-papers = true")
    decided(whole.write(tmp_path / "in"), key, tmp_path / "out", *grid)
    folder = whole.with_review(1, score="3").write(tmp_path / "in")
    decided(folder, key, tmp_path / "out2", *grid, "--amend", "--reason", "mistyped")
    assert "scores changed, decided from public data: p00" in capsys.readouterr().out
    assert run(command_line("verify", folder, key, tmp_path / "out2")) == 0
    assert run(command_line("verify", folder, key, tmp_path / "nowhere")) == 2
    capsys.readouterr()
    assert run(command_line("verify", folder, key, tmp_path / "out", "--json")) == 4
    shown = capsys.readouterr()
    assert json.loads(shown.out)["verified"] is False
    assert "published files" in json.loads(shown.err)["error"]["message"]
