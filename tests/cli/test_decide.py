"""The chair's commands, end to end: files in, public files and a sealed record out, nothing told."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("typer")

from blindcal.cli import run
from blindcal.deciding import decide as decide_module
from blindcal.deciding.key import read_key
from blindcal.deciding.ledger import open_ledger
from blindcal.errors import RefusedError
from commands import call, plain, refusal, succeed
from sizes import count
from small_conferences import (
    SmallConference,
    arguments,
    command_line,
    decided,
    everything,
    sealed_tables,
    small_conference,
    swapped,
    with_key,
)
from stress import stress

pytestmark = pytest.mark.edge


def test_the_contract(small: SmallConference, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key, out = tmp_path / "chair" / "key.bin", tmp_path / "out"
    key.parent.mkdir()
    table, certificate = decided(small.write(tmp_path / "in"), key, out)
    said = capsys.readouterr().out
    assert f"CONFIDENTIAL, never share: {key}, {key}.sealed" in said
    rows = [line.split(",") for line in table.decode().splitlines()]
    assert rows[0] == ["paper", "decision", "by_mean_score", "advice"]
    assert [row[0] for row in rows[1:]] == sorted({row[0] for row in small.reviews[1:]})
    for _, decision, raw, advice in rows[1:]:
        expected = "leave" if decision == raw else "raise" if decision == "accept" else "lower"
        assert advice == expected
    assert certificate["papers"] == 6
    assert certificate["reviews"] == 12
    assert (certificate["guarantee"], certificate["limits"]["among"]) == ("crowd", 10)
    assert certificate["largest_rise"] == 0, "every pool is smaller than the crowd"
    assert certificate["added_success"] == 0
    assert 0 < float(str(certificate["epsilon"])) <= 3
    assert round(float(str(certificate["epsilon"])), 6) == certificate["epsilon"]
    assert certificate["accepted"] == sum(row[1] == "accept" for row in rows[1:])
    assert sorted(file.name for file in out.iterdir()) == ["certificate.json", "decisions.csv"]
    for file in key.parent.rglob("*"):
        assert not stat.S_IMODE(file.stat().st_mode) & 0o077


def test_raw_decisions_are_the_top_share_by_mean_score(small: SmallConference, tmp_path: Path) -> None:
    table, _ = decided(small.write(tmp_path / "in"), tmp_path / "key.bin", tmp_path / "out")
    scores: dict[str, list[float]] = {}
    for paper, _, score in small.reviews[1:]:
        scores.setdefault(paper, []).append(float(score))
    best = sorted(scores, key=lambda paper: (-float(np.mean(scores[paper])), paper))[
        : round(0.4 * len(scores))
    ]
    found = [line.split(",")[0] for line in table.decode().splitlines()[1:] if line.split(",")[2] == "accept"]
    assert found == sorted(best)


def shuffled(small: SmallConference, rng: np.random.Generator) -> SmallConference:
    """Rows and columns of every file in another order."""

    def mix(rows: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
        columns = rng.permutation(len(rows[0]))
        order = [0, *(1 + rng.permutation(len(rows) - 1))]
        return tuple(tuple(rows[i][j] for j in columns) for i in order)

    return SmallConference(mix(small.reviews), mix(small.reviewers), mix(small.pools))


def longer(small: SmallConference) -> SmallConference:
    """The numbers of reviews and reviewers with one more zero."""
    reviews, reviewers = (
        (rows[0], *((*row[:-1], f"{row[-1]}0") for row in rows[1:]))
        for rows in (small.reviews, small.reviewers)
    )
    return replace(small, reviews=reviews, reviewers=reviewers)


def test_row_order_column_order_digits_line_ends_and_bom_do_not_matter(
    small: SmallConference, tmp_path: Path
) -> None:
    """A fresh ledger each time, the same key: the coins must come out the same."""
    folder, key = small.write(tmp_path / "in"), tmp_path / "key.bin"
    decided(folder, key, tmp_path / "out")
    rng = np.random.default_rng(1)
    for trial in range(count(3, 20)):
        other = shuffled(longer(small) if trial else small, rng).write(tmp_path / f"in{trial}")
        for file in other.iterdir():
            text = file.read_text(encoding="utf-8")
            file.write_bytes(b"\xef\xbb\xbf" * (trial % 2) + text.replace("\n", "\r\n").encode())
        again = tmp_path / f"chair{trial}"
        again.mkdir()
        (again / "key.bin").write_bytes(key.read_bytes())
        (again / "key.bin").chmod(0o600)
        decided(other, again / "key.bin", tmp_path / f"out{trial}")
        assert everything(tmp_path / f"out{trial}") == everything(tmp_path / "out")


def test_a_changed_input_is_refused_and_says_how_many(small: SmallConference, tmp_path: Path) -> None:
    folder, key = small.write(tmp_path / "in"), tmp_path / "key.bin"
    decided(folder, key, tmp_path / "out")
    before = everything(tmp_path)
    for changed in (small.with_review(1, score="0.11"), small.with_review(4, score="0.12")):
        other = changed.write(tmp_path / "in")
        for out in ("out", "a-new-folder"):
            said = refusal(*arguments(other, key, tmp_path / out), code=3)
            assert "1 of 6 papers" in said
            assert "--amend and --reason" in said
        small.write(tmp_path / "in")
    assert everything(tmp_path) == before


def test_another_grid_is_named_as_what_changed(small: SmallConference, tmp_path: Path) -> None:
    """A grid forgotten or added changes every paper: no advice to amend them all."""
    folder, key = small.write(tmp_path / "in"), tmp_path / "key.bin"
    decided(folder, key, tmp_path / "out")
    scores = ",".join(sorted({row[2] for row in small.reviews[1:]}, key=float))
    said = refusal(*arguments(folder, key, tmp_path / "new", f'grid = "{scores}"'), code=3)
    assert "the grid of scores is not that of release 1" in said
    assert "--amend" not in said
    assert not (tmp_path / "new").exists()


def test_an_amendment_decides_again_only_what_changed(small: SmallConference, tmp_path: Path) -> None:
    folder, key = small.write(tmp_path / "in"), tmp_path / "key.bin"
    table, first = decided(folder, key, tmp_path / "out")
    two = small.with_review(1, score="0.5").with_review(5, score="0.25")
    changed = two.write(tmp_path / "in")
    assert run(arguments(changed, key, tmp_path / "out2", "--amend")) == 2, "a reason is needed"
    assert run(arguments(changed, key, tmp_path / "out", "--amend", "--reason", "typo")) == 3
    again, second = decided(changed, key, tmp_path / "out2", "--amend", "--reason", "typo")
    papers = {small.reviews[1][0], small.reviews[5][0]}
    for old, new in zip(table.decode().splitlines(), again.decode().splitlines(), strict=True):
        if old.split(",")[0] not in papers:
            assert old == new
    assert second["release"] == 2
    assert second["bar"] == first["bar"]
    assert second["decided_again"]["papers"] == 2
    assert second["largest_rise"] == 0
    assert 0 <= float(second["decided_again"]["epsilon"]) <= 3
    assert "typo" not in (tmp_path / "out2" / "certificate.json").read_text(encoding="utf-8")
    assert decided(changed, key, tmp_path / "out2")[0] == again
    assert decided(small.write(tmp_path / "in"), key, tmp_path / "out")[0] == table, "the first stays stored"
    changed = two.write(tmp_path / "in")
    assert run(command_line("verify", changed, key, tmp_path / "out2")) == 0


def test_an_amendment_names_the_papers_that_changed_and_why(
    small: SmallConference, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And which decisions stand: names that were corrected, a grid that was forgotten."""
    key, amend = tmp_path / "key.bin", ("--amend", "--reason", "x")
    decided(small.write(tmp_path / "in"), key, tmp_path / "out")
    changed = swapped(small).with_review(5, score="0.25")
    corrected = changed.write(tmp_path / "in")
    capsys.readouterr()
    _, certificate = decided(corrected, key, tmp_path / "out2", *amend)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:4] == [
        "1 paper decided now, 5 kept their decisions",
        f"  scores changed, decided from public data: {small.reviews[5][0]}",
        f"  CONFIDENTIAL, reviewers changed, decision kept: {small.reviews[1][0]}",
    ]
    assert certificate["decided_again"]["papers"] == 1
    scores = ",".join(sorted({row[2] for row in changed.reviews[1:]}, key=float))
    papers = sorted({row[0] for row in small.reviews[1:]})
    decided(corrected, key, tmp_path / "out3", f'grid = "{scores}"', *amend)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "0 papers decided now, 6 kept their decisions"
    assert lines[2] == f"  the grid of scores changed, decision kept: {', '.join(papers)}"
    late = changed.with_review(1, score="0.31").write(tmp_path / "in")
    decided(late, key, tmp_path / "out4", f'grid = "{scores},0.31"', *amend, "--json")
    told = json.loads(capsys.readouterr().out)
    assert told["how"] == "amended"
    assert told["changes"]["scores"] == [small.reviews[1][0]]
    assert told["certificate"]["decided_again"]["papers"] == 2
    assert told["certificate"]["decided_again"]["corrected"] == 5, "the grid of all but the one decided now"


def test_a_conference_of_one_paper_has_1_paper(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, key = small_conference(papers=1).write(tmp_path / "in"), with_key(tmp_path / "key.bin")
    assert run(command_line("plan", folder)) == 0
    assert run(arguments(folder, key, tmp_path / "out")) == 0
    assert run(command_line("verify", folder, key, tmp_path / "out")) == 0
    said = "".join(capsys.readouterr())
    assert said.count("1 paper,") == 2
    assert "1 papers" not in said


def test_an_amendment_killed_while_it_wrote_is_finished_by_the_same_command(
    small: SmallConference, tmp_path: Path
) -> None:
    key, out = tmp_path / "key.bin", tmp_path / "out2"
    decided(small.write(tmp_path / "in"), key, tmp_path / "out")
    changed = swapped(small).write(tmp_path / "in")
    decided(changed, key, out, "--amend", "--reason", "x")
    before = everything(out)
    (out / "certificate.json").unlink()
    decided(changed, key, out, "--amend", "--reason", "x")
    assert everything(out) == before


@pytest.mark.parametrize("name", ["average", "public"])
def test_amendments_under_other_guarantees(name: str, small: SmallConference, tmp_path: Path) -> None:
    """Scores, pools and reviewers changed at once; then verified."""
    key, guarantee = tmp_path / "key.bin", f'guarantee = "{name}"'
    table, _ = decided(small.write(tmp_path / "in"), key, tmp_path / "out", guarantee)
    changed = swapped(small).with_review(3, score="1.75")
    last = small.reviews[-1][0]
    known = {row[1] for row in small.pools if row[0] == last}
    late = next(name for name in small.canaries if name not in known)
    changed = replace(changed, pools=(*changed.pools, (last, late, "0.5")))
    folder = changed.write(tmp_path / "in")
    again, second = decided(folder, key, tmp_path / "out2", guarantee, "--amend", "--reason", "x")
    assert (second["decided_again"]["papers"], second["decided_again"]["corrected"]) == (1, 1)
    same = zip(table.decode().splitlines(), again.decode().splitlines(), strict=True)
    assert sum(old == new for old, new in same) >= 4
    # Names are compared with those recorded, and a corrected one is no longer the recorded one.
    recorded = replace(changed, reviews=small.with_review(3, score="1.75").reviews).write(tmp_path / "in3")
    assert run(command_line("verify", recorded, key, tmp_path / "out2")) == 0
    assert run(command_line("verify", folder, key, tmp_path / "out2")) == 4
    if name == "public":
        assert second["epsilon"] == 0


def test_grids_uncertain_reviewers_and_outsiders(small: SmallConference, tmp_path: Path) -> None:
    """Scores on a grid, standard errors, and an emergency reviewer whom only `*` in the pools stands for."""
    head, *rows = small.reviewers
    people = [
        (*head, "slope_se", "offset_se", "correlation", "noise_se"),
        ("*", "1", "0", "1", "0.3", "0.5", "0", "0.1"),
    ]
    people += [(*row, "0.1", "0.2", "0.3", "0.05") for row in rows]
    scores = [(paper, who, str(round(float(score)))) for paper, who, score in small.reviews[1:]]
    emergency = (scores[0][0], "emergency-canary", scores[0][2])
    papers = sorted({paper for paper, _, _ in scores})
    changed = replace(
        small,
        reviews=(small.reviews[0], emergency, *scores[1:]),
        reviewers=tuple(people),
        pools=(*small.pools, *((paper, "*", "0.3") for paper in papers)),
    )
    folder, key, out = changed.write(tmp_path / "in"), tmp_path / "key.bin", tmp_path / "out"
    table, certificate = decided(folder, key, out, 'grid = "-9..9"')
    assert certificate["largest_rise"] == 0
    assert b"emergency" not in table
    assert run(command_line("verify", folder, key, out)) == 0
    renamed = replace(
        changed, reviews=(small.reviews[0], (emergency[0], "another", emergency[2]), *scores[1:])
    )
    assert decided(renamed.write(tmp_path / "in"), key, out, 'grid = "-9..9"')[0] == table, "still `*`"


def test_commitment_can_be_published_before_the_draw(small: SmallConference, tmp_path: Path) -> None:
    folder, key = small.write(tmp_path / "in"), with_key(tmp_path / "key.bin")
    plan = command_line("plan", folder, "--key", str(key), "--json")
    said = json.loads(succeed(*plan).out)
    assert f"key fingerprint: {said['key_fingerprint']}\n" in succeed(*plan[:-1]).out
    _, certificate = decided(folder, key, tmp_path / "out")
    assert certificate["commitment"] == said["commitment"]
    assert certificate["key_fingerprint"] == said["key_fingerprint"]
    verify = command_line("verify", folder, key, tmp_path / "out", "--commitment")
    succeed(*verify, said["commitment"])
    wrong = call(*verify, "00" * 32)
    assert wrong.code == 4
    assert (
        f"found {'00' * 32}, recorded {said['commitment']}"
        in json.loads(call(*verify, "00" * 32, "--json").out)["checks"][-1]["note"]
    )


def test_no_public_output_holds_a_reviewer(
    small: SmallConference, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, key, out = small.write(tmp_path / "in"), with_key(tmp_path / "key.bin"), tmp_path / "out"
    commands = [
        arguments(folder, key, out),
        arguments(folder, key, out, "--json"),
        command_line("plan", folder, "--json"),
        command_line("plan", folder),
        command_line("verify", folder, key, out, "--json"),
        arguments(swapped(small).write(tmp_path / "in2"), key, out),
        arguments(swapped(small).write(tmp_path / "in2"), key, tmp_path / "o2", "--amend", "--reason", "x"),
        command_line("verify", tmp_path / "in2", key),
        *(arguments(bad, key, tmp_path / "none") for bad in _bad_files(small, tmp_path)),
    ]
    for command in commands:
        run(command)
    said = capsys.readouterr()
    public = b"".join([*everything(out).values(), *everything(tmp_path / "o2").values()]).decode()
    for canary in small.canaries:
        assert canary not in said.out + said.err + public


def _bad_files(small: SmallConference, tmp_path: Path) -> list[Path]:
    missing = replace(small, pools=tuple(r for r in small.pools if r[:2] != small.reviews[1][:2]))
    unknown = replace(small, reviewers=tuple(r for r in small.reviewers if r[0] != small.reviews[1][1]))
    double = replace(small, reviews=(*small.reviews, small.reviews[1]))
    broken = small.with_review(1, score="good")
    made = [missing, unknown, double, broken]
    return [bad.write(tmp_path / f"bad{i}") for i, bad in enumerate(made)]


def test_tables_are_byte_identical_under_every_true_assignment(tmp_path: Path) -> None:
    """Every way the four candidates can have written the two reviews of a paper: one sealed table file."""
    small = small_conference(seed=5, papers=3)
    pool = [row[1] for row in small.pools[1:] if row[0] == small.reviews[1][0]]
    seen = set()
    for trial, (first, second) in enumerate(permutations(pool, 2)):
        chair = tmp_path / f"chair{trial}"
        chair.mkdir()
        changed = small.with_review(1, reviewer=first).with_review(2, reviewer=second)
        _, certificate = decided(changed.write(chair / "in"), chair / "key.bin", chair / "out")
        decisions = {"accepted", "commitment", "key_fingerprint"}
        public = json.dumps({k: v for k, v in certificate.items() if k not in decisions}, sort_keys=True)
        seen.add((sealed_tables(chair / "key.bin"), public))
    assert trial == 11
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["posterior-cap = 0.2"], 5),
        (["never-against = 0.51"], 5),
        (["--amend", "--reason", "x"], 2),
    ],
    ids=["cap", "never against", "nothing to amend"],
)
def test_a_run_that_fails_while_it_plans_leaves_nothing(
    options: list[str], code: int, small: SmallConference, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, key = small.write(tmp_path / "in"), with_key(tmp_path / "key.bin")
    assert run(arguments(folder, key, tmp_path / "out", *options)) == code
    assert capsys.readouterr().out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "key.bin"]


SETTINGS = {
    **dict.fromkeys(("accept-rate = 0", "accept-rate = 1"), "must be between 0 and 1, ends excluded"),
    "accept-rate = 25": "accept-rate: '25' must be between 0 and 1, ends excluded: for 25 % give 0.25",
    'accept-rate = "25%"': "column accept-rate: must be a number, like 0.25",
    "posterior-cap = 50": "posterior cap must lie in [0, 1], found 50",
    "posterior-cap = -0.1": "posterior cap must lie in [0, 1], found -0.1",
    "never-against = 95": "never-against must be between 0.5 and 1, ends excluded, found 95",
    "never-against = 0.5": "never-against must be between 0.5 and 1, ends excluded, found 0.5",
    'epsilon = "0,5"': 'column epsilon: must be a number, or "none"',
    "epsilon = -1": "epsilon must lie in [0, 700], found -1",
    "multiplier = 3": "multiplier must lie in [1, 2], found 3",
    'guarantee = "private"': "guarantee must be one of",
    'guarantee = "none"': "it needs yes-leak",
    'guarantee = "steady"|among = 10': "among goes with the guarantee crowd and average only",
    'guarantee = "none"|--yes-leak|epsilon = 1': "epsilon has no effect with guarantee none",
    'conference = ""': "column conference: must be text in quotes",
    "accept-rate = 0.3|bar = 0.5": "give only one of accept-rate, accept and bar",
    "accept-rate = 0.3|accept = 3": "give only one of accept-rate, accept and bar",
    'accept = "25%"': "found '25%': for a share of the papers give accept-rate",
    "accept = 0": "accept must be whole numbers of at least 1, found 0",
    "accept = 6": "accept 6 is every paper: then there is nothing to decide",
    "accept = 4|wait-list = 3": "accept 4 and 3 on the wait list: there are only 6 papers",
    'accept = "a=1,a=2"': "accept must name each track once",
    'accept = "a=1,b=2"': "accept is by track, and",
    "wait-list = 3": "wait-list goes with accept",
    'grid = "1..10"': "must be on the declared grid (1, 2",
    'grid = "1-10"': "found '1-10': write 1..10",
}


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_refused_setting_is_named_with_its_rule_and_what_was_meant(
    settings: str, small: SmallConference, tmp_path: Path
) -> None:
    folder, key = small.write(tmp_path / "in"), with_key(tmp_path / "key.bin")
    told = plain(refusal(*arguments(folder, key, tmp_path / "out", *settings.split("|"))))
    assert SETTINGS[settings].replace(" ", "-") in told.replace(" ", "-")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "key.bin"]


def test_a_reviewer_without_noise_is_refused_and_nothing_is_written(
    small: SmallConference, tmp_path: Path
) -> None:
    exact = tuple(row if row[0] != small.reviews[1][1] else (*row[:3], "0") for row in small.reviewers)
    folder = replace(small, reviewers=exact).write(tmp_path / "in")
    assert "noise" in refusal(*arguments(folder, with_key(tmp_path / "key.bin"), tmp_path / "out"))
    assert not {"out", "key.bin.sealed"} & {path.name for path in tmp_path.iterdir()}


def test_problems_between_files_name_the_files_and_rows(small: SmallConference, tmp_path: Path) -> None:
    """The file as it was given; the first row of a paper, whichever of its reviews is to blame."""
    lost, bare = small.reviews[4], small.reviews[5][0]
    unknown = small.canaries[-1]
    pools = tuple(row for row in small.pools if row[:2] != lost[:2] and row[0] != bare)
    bad = replace(small, pools=pools, reviewers=tuple(r for r in small.reviewers if r[0] != unknown))
    folder = bad.write(tmp_path / "in")
    assert small.reviews[3][0] == lost[0], "the lost reviewer wrote the second review of the paper"
    problems = json.loads(
        refusal(*arguments(folder, with_key(tmp_path / "key.bin"), tmp_path / "out", "--json"))
    )["error"]["problems"]
    found = {(problem["file"], problem["found"]) for problem in problems}
    first = next(i for i, row in enumerate(pools, start=1) if row[1] == unknown)
    reviews, reviewers, pools_file = (
        str(folder / f"{name}.csv") for name in ("reviews", "reviewers", "pools")
    )
    assert found == {
        (pools_file, f"1 missing for paper {lost[0]!r} ({reviews}, row 4)"),
        (pools_file, f"none for paper {bare!r} ({reviews}, row 6)"),
        (reviewers, f"1 missing, the first in {pools_file}, row {first}"),
    }


def test_whom_no_file_knows_is_missing_from_the_reviewers_and_not_from_everyone(
    small: SmallConference, tmp_path: Path
) -> None:
    folder = small.with_review(1, reviewer="nobody").write(tmp_path / "in")
    said = refusal(*command_line("plan", folder, 'pools = "everyone"'))
    assert said.startswith(
        f"blindcal: {folder / 'reviewers.csv'}, column reviewer: must have a row for every"
    )


@pytest.mark.parametrize("more", [1, 3])
def test_papers_without_reviews_are_counted_beside_the_result(
    more: int, small: SmallConference, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unused = tuple((f"unread{i}", small.canaries[0], "1") for i in range(more))
    folder = replace(small, pools=(*small.pools, *unused)).write(tmp_path / "in")
    decided(folder, tmp_path / "key.bin", tmp_path / "out", 'guarantee = "steady"')
    (line,) = capsys.readouterr().err.splitlines()
    papers = f"{more} paper{'s' * (more > 1)}"
    assert line == (
        f"blindcal: {folder / 'pools.csv'} has pools for {papers} without any review in "
        f"{folder / 'reviews.csv'}: left out"
    )


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("public", []),
        ("average", ['epsilon = "none"']),
        ("average", ["among = 3"]),
        ("none", ["--yes-leak"]),
    ],
)
def test_every_guarantee_of_the_menu(
    name: str, options: list[str], small: SmallConference, tmp_path: Path
) -> None:
    folder, key = small.write(tmp_path / "in"), tmp_path / "key.bin"
    _, certificate = decided(folder, key, tmp_path / "out", f'guarantee = "{name}"', *options)
    assert certificate["guarantee"] == name
    if name == "none":
        assert certificate["success"] == pytest.approx(certificate["success_fully_calibrated"])
        assert certificate["expected_wrong"] == pytest.approx(certificate["expected_wrong_fully_calibrated"])
    else:
        assert certificate["added_success"] == 0.0
    if name == "public":
        assert certificate["epsilon"] == 0
        assert certificate["multiplier"] == 1
        assert certificate["expected_wrong"] == pytest.approx(certificate["expected_wrong_public"])
    worst, best = certificate["expected_wrong_public"], certificate["expected_wrong_fully_calibrated"]
    assert best - 1e-12 <= certificate["expected_wrong"] <= worst + 1e-12


KILLED = [("first", 0), ("amended", 0), *([("first", 1), ("amended", 1)] if count(0, 1) else [])]


@pytest.mark.parametrize(("kind", "named"), KILLED)
def test_killed_at_any_call_it_never_tosses_twice_and_a_chair_can_go_on(
    kind: str, named: int, tmp_path: Path
) -> None:
    """The first release and an amendment, killed before and after each call into the system (some in short).

    Then the same command gives the same decisions; a corrected input is an amendment if the release counts,
    and an input like any other if it does not. In the long run more than 300 kills in all.
    """
    seen = stress("killed", tmp_path, "killed_decisions", kind=kind, named=named, step=count(6, 1))
    assert seen["wrong"] == 0
    assert min(seen["sealed"], seen["not_sealed"], seen["published"]) > 0
    assert seen["states"] >= 4


@pytest.mark.parametrize("inputs", [1, 20])
def test_twenty_starts_at_once_toss_once(inputs: int, tmp_path: Path) -> None:
    """Twenty runs on one key, of one input or each of its own: one release, one set of decisions."""
    rounds = count(1, 5)
    seen = stress("at_once", tmp_path, "killed_decisions", starts=20, rounds=rounds, inputs=inputs)
    assert seen["wrong"] == 0
    assert seen["done"] >= rounds
    assert seen["done"] + seen["refused"] == 20 * rounds


def test_public_files_are_written_while_no_other_run_can_be(
    small: SmallConference, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs into one folder would otherwise refuse each other's files."""
    key, real = tmp_path / "key.bin", decide_module.publish
    held: list[bool] = []

    def publish(*arguments_: Any) -> list[Path]:
        with pytest.raises(RefusedError, match="another run"), open_ledger(key, read_key(key)):
            pass
        held.append(True)
        return real(*arguments_)

    monkeypatch.setattr(decide_module, "publish", publish)
    decided(small.write(tmp_path / "in"), key, tmp_path / "out")
    assert held == [True]


INTERRUPTED = """
import os, signal, sys
from blindcal.cli import run
from blindcal.deciding import decide as decide_module
real = decide_module.plan_conference
def plan_conference(*arguments, **more):
    os.kill(os.getpid(), signal.SIGINT)
    return real(*arguments, **more)
decide_module.plan_conference = plan_conference
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(run(sys.argv[1:]))
"""


def test_interrupted_loses_nothing(small: SmallConference, tmp_path: Path) -> None:
    """Ctrl-C while it plans ends with 130, says so in one line, and the next run finishes."""
    folder, key = small.write(tmp_path / "in"), with_key(tmp_path / "key.bin")
    command = [sys.executable, "-c", INTERRUPTED, *arguments(folder, key, tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 130, done.stderr
    assert done.stderr.splitlines()[-1] == "blindcal: interrupted"
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "key.bin"]
    decided(folder, key, tmp_path / "out")


def test_temporaries_of_killed_runs_are_cleared(small: SmallConference, tmp_path: Path) -> None:
    """In the sealed folder, beside the key and among the public files."""
    folder, key, out = small.write(tmp_path / "in"), with_key(tmp_path / "key.bin"), tmp_path / "out"
    decided(folder, key, out)
    stale = [
        place / f".{name}.0123456789abcdef.blindcal-new"
        for place, name in (
            (tmp_path / "key.bin.sealed", "0002.sealed"),
            (tmp_path, "key.bin"),
            (out, "decisions.csv"),
        )
    ]
    for path in stale:
        path.write_bytes(b"who reviewed what")
    decided(folder, key, out)
    assert not [path for path in stale if path.exists()]


def test_a_grid_that_was_recognized_is_noted(small: SmallConference, tmp_path: Path) -> None:
    """A certificate for rounded scores is not one for exact ones: say so, beside the result."""
    scores = [(paper, who, str(int(float(score) > 0))) for paper, who, score in small.reviews[1:]]
    rounded = replace(small, reviews=(small.reviews[0], *scores))
    folder = rounded.write(tmp_path / "in")
    plan = command_line("plan", folder, "bar = 0", "--json")
    shown = succeed(*plan)
    assert any("the scores are taken as rounded to 0, 1," in note for note in json.loads(shown.out)["notes"])
    assert shown.err == ""
    shown = succeed(*plan[:-1])
    assert "grid says which can be given" in plain(shown.err)
    assert not any(canary in shown.err for canary in small.canaries)
    for grid in ("0..1", "none"):
        assert (
            "taken as rounded"
            not in succeed(*command_line("plan", folder, "bar = 0", f'grid = "{grid}"', "--json")).out
        )


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_sealed(
    small: SmallConference, tmp_path: Path
) -> None:
    folder, key = small.write(tmp_path / "in"), with_key(tmp_path / "key.bin")
    assert run(arguments(folder, key, Path("/proc/nothing/out"))) == 2
    assert "goes with --amend" in refusal(*arguments(folder, key, tmp_path / "out", "--reason", "why"))
    assert not list(tmp_path.glob("key.bin.sealed/*.sealed"))


def test_what_is_frozen_and_withdrawn_is_said(small: SmallConference, tmp_path: Path) -> None:
    folder, key = small.write(tmp_path / "in"), with_key(tmp_path / "key.bin")
    decided(folder, key, tmp_path / "out")
    amend = ("--amend", "--reason", "x")
    assert "(accept-rate was 0.4, now 0.3)" in plain(
        refusal(*arguments(folder, key, tmp_path / "new", "accept-rate = 0.3", *amend), code=3)
    )
    assert "nothing changed" in succeed(*arguments(folder, key, tmp_path / "out", *amend)).err
    one = replace(small, reviews=small.reviews[:3])
    assert "in 5 of 6 papers (5 withdrawn)" in refusal(
        *arguments(one.write(tmp_path / "in"), key, tmp_path / "new"), code=3
    )


def test_withdrawing_all_of_one_conference_keeps_the_papers_of_the_other(tmp_path: Path) -> None:
    rows = "paper,reviewer,score,conference\n1,a,5,A\n1,b,3,B\n2,c,4,B\n"
    (tmp_path / "reviews.csv").write_text(rows)
    (tmp_path / "reviewers.csv").write_text("reviewer,slope,offset,noise\na,1,4,1\nb,1,4,1\nc,1,5,1\n")
    key = with_key(tmp_path / "key.bin")
    pools = ('pools = "everyone"', "accept-rate = 0.5")
    assert run(arguments(tmp_path, key, tmp_path / "one", *pools)) == 0
    withdrawn = '[withdrawn]\n"A/1" = "by its authors"'
    assert run(arguments(tmp_path, key, tmp_path / "two", *pools, withdrawn, "--amend", "--reason", "x")) == 0
    before = {line.split(",")[0]: line for line in (tmp_path / "one/decisions.csv").read_text().splitlines()}
    assert (tmp_path / "two/decisions.csv").read_text().splitlines() == [
        before[paper] for paper in ("paper", "B/1", "B/2")
    ]


def test_a_mistyped_key_is_not_made(small: SmallConference, tmp_path: Path) -> None:
    """It would toss again."""
    folder, key = small.write(tmp_path / "in"), tmp_path / "key.bin"
    decided(folder, key, tmp_path / "out")
    mistyped = tmp_path / "kye.bin"
    for out in ("out", "new"):
        assert run(arguments(folder, mistyped, tmp_path / out)) == 2
    assert not (tmp_path / "new").exists()
    assert not mistyped.exists()


# --- An exact number of papers by command: what is said of it and of tracks, and folders cut off half-way.


def numbered(public: Path, release: int) -> Path:
    return public / f"release-{release}"


def test_an_exact_number_of_papers(small: SmallConference, tmp_path: Path) -> None:
    folder, key, out = small.write(tmp_path / "in"), with_key(tmp_path / "key.bin"), tmp_path / "out"
    given = (folder, key, out, "numbered = true", "accept = 2", "wait-list = 1")
    assert (
        succeed(*command_line("decide", *given)).out.splitlines()[0]
        == "6 papers, 2 accepted, 1 on the wait list; decided"
    )
    table = (numbered(out, 1) / "decisions.csv").read_bytes()
    assert table.splitlines()[0] == b"paper,decision,by_mean_score,advice,wait_list"
    certificate = json.loads((numbered(out, 1) / "certificate.json").read_bytes())
    assert (certificate["accepted"], certificate["selection"]["waiting"]) == (2, 1)
    said = succeed(*command_line("verify", *given)).out
    assert "release 1: number accepted" in said
    assert said.endswith(
        "decided with: among 10, better high, epsilon 3, guarantee crowd; "
        "exactly 2 papers accepted and 1 on the wait list\n"
    )


def test_tracks_are_those_of_the_reviews(small: SmallConference, tmp_path: Path) -> None:
    tracks = {f"p{i:02d}": "short" if i < 3 else "main" for i in range(6)}
    folder = small.with_tracks(tracks).write(tmp_path / "in")
    out, numbers = tmp_path / "out", ('accept = "main=2,short=1"', 'wait-list = "short=1"')
    given = (folder, with_key(tmp_path / "key.bin"), out, *numbers, "numbered = true")
    plan = command_line("plan", *given)
    said = succeed(*plan).out.splitlines()
    assert any(line.startswith("bar: quality ") and " in main, " in line for line in said)
    told = "exactly 2 papers accepted in main, 1 paper accepted in short and 1 on the wait list; "
    assert told + "the bar alone is frozen when papers are decided" in said
    facts = json.loads(succeed(*plan, "--full", "--json").out)
    assert (facts["accept"], facts["wait_list"]) == ({"main": 2, "short": 1}, {"short": 1})
    assert run(command_line("decide", *given)) == 0
    table = (numbered(out, 1) / "decisions.csv").read_bytes()
    assert table.splitlines()[0] == b"paper,decision,by_mean_score,advice,track,wait_list"
    certificate = json.loads((numbered(out, 1) / "certificate.json").read_bytes())
    assert certificate["expected_wrong"] == facts["expected_wrong"]
    assert certificate["bar"] == facts["bar"]
    assert (
        "exactly 2 papers accepted in main, 1 paper accepted in short and 1 on the wait"
        in succeed(*command_line("verify", *given)).out
    )


def test_a_limit_on_evidence_is_said_to_be_about_the_private_decisions(
    small: SmallConference, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, key = small.write(tmp_path / "in"), with_key(tmp_path / "key.bin")
    limit = ['guarantee = "none"', "--yes-leak", "never-against = 0.999", "accept = 2"]
    assert run(arguments(folder, key, tmp_path / "out", *limit)) == 0
    told = "with accept, never-against holds for the private decisions: the papers at the cut are accepted"
    assert told in plain(capsys.readouterr().err)
    assert told in plain(succeed(*command_line("plan", folder, *limit)).err)


@pytest.mark.parametrize("named", [0, 1] if count(0, 1) else [0])
def test_killed_at_any_call_in_a_folder_it_is_finished_by_starting_again(named: int, tmp_path: Path) -> None:
    """Killed before and after each call into the system (some in short): the folder can be read at any time,
    and the same command, another correction or `decide` completes the release that was begun."""
    seen = stress("in_a_folder", tmp_path, "killed_decisions", named=named, step=count(6, 1))
    assert seen["wrong"] == 0
    assert min(seen["sealed"], seen["not_sealed"], seen["begun"]) > 0
    assert seen["states"] >= 4
