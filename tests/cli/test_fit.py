"""`blindcal fit`: from past reviews to a table that `plan` reads, and what it refuses."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from studies.past_reviews import drawn_pasts

pytest.importorskip("typer")

import blindcal.fitting.estimate as estimate
from blindcal.cli.console import CONFIDENTIAL
from blindcal.reviews import Reviews
from commands import call

pytestmark = pytest.mark.edge


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two past years and the reviews of this one; chains are short, and what is tested does not need more."""
    for name in ("_MOST", "_LEAST"):
        monkeypatch.setattr(estimate, name, 60)
    monkeypatch.setattr("blindcal.cli.fit.cores", lambda: 1)
    monkeypatch.chdir(tmp_path)
    past = drawn_pasts(np.random.default_rng(4), 40, 3, grid=np.arange(1.0, 11.0)).reviews
    for name, year in (("c0", "2023"), ("c1", "2024"), ("c2", "reviews")):
        past.only(name).write(f"{year}.csv")
    Path("committee.csv").write_text("reviewer\n" + "".join(f"r{i}\n" for i in range(45)))
    return tmp_path


def test_last_years_reviews_become_a_table_that_plan_takes(folder: Path) -> None:
    code, out, err = call(
        *[
            "fit",
            "2023.csv",
            "2024.csv",
            "--committee",
            "committee.csv",
            "--for",
            "reviews.csv",
            "--grid",
            "1..10",
            "--out",
            "r.csv",
        ]
    )
    assert code == 0, err
    assert "of 2 conferences; a row for 45 reviewers, and one for *" in out
    assert "papers' quality" in out
    assert "of 2024  " in out
    assert "moved to this year's scale" in out
    assert "CONFIDENTIAL, never share: r.csv, r.csv.fit.json" in out
    assert "not enough history" in err
    lines = Path("r.csv").read_text().splitlines()
    assert lines[0] == "reviewer,slope,offset,noise,slope_se,offset_se,correlation,noise_se,reviews"
    assert [line.split(",")[0] for line in lines[1:]] == ["*", *(f"r{i}" for i in range(45))]
    assert {os.stat(name).st_mode & 0o777 for name in ("r.csv", "r.csv.fit.json")} == {0o600}
    code, out, err = call(
        *[
            "plan",
            "reviews.csv",
            "--reviewers",
            "r.csv",
            "--pools",
            "everyone",
            "--accept-rate",
            "0.3",
            "--grid",
            "1..10",
            "--only",
        ]
    )
    assert code == 0, err


def test_nothing_printed_names_a_reviewer(folder: Path) -> None:
    name = min({*Reviews.read("2023.csv").reviewers} & {*Reviews.read("2024.csv").reviewers})
    for year, spelled in (("2023", "canary Smith"), ("2024", '"Smith, Canary"')):
        text = Path(f"{year}.csv").read_text()
        Path(f"{year}.csv").write_text(text.replace(f",{name},", f",{spelled},"))
    code, out, err = call("fit", "2023.csv", "2024.csv", "--out", "r.csv")
    assert code == 0
    assert "canary" not in (out + err).lower()
    assert "1 pair of names may be one person's" in err
    similar = Path("r.csv.similar.csv")
    assert similar.read_text() == 'reviewer,similar\n"Smith, Canary",canary Smith\n'
    assert os.stat(similar).st_mode & 0o777 == 0o600
    Path("people.csv").write_text('old,new\ncanary Smith,"Smith, Canary"\n')
    code, out, err = call("fit", "2023.csv", "2024.csv", "--same", "people.csv", "--out", "again.csv")
    assert "may be one person's" not in err
    assert "canary Smith" not in Path("again.csv").read_text()


def test_parameters_fitted_on_the_reviews_being_decided_are_refused(folder: Path) -> None:
    assert call("fit", "2024.csv", "reviews.csv", "--out", "r.csv")[0] == 0
    code, out, err = call(
        *["plan", "reviews.csv", "--reviewers", "r.csv", "--pools", "everyone", "--accept-rate", "0.3"]
    )
    assert (code, out) == (2, "")
    assert "r.csv was fitted on these reviews" in err


def test_this_years_reviews_among_past_ones_are_refused_or_remarked(folder: Path) -> None:
    code, _, err = call("fit", "2024.csv", "reviews.csv", "--for", "reviews.csv", "--out", "r.csv")
    assert code == 2
    assert "--past must be other conferences than the one being decided" in " ".join(err.split())
    assert not Path("r.csv").exists()
    now, then = (Path(f"{year}.csv").read_text().splitlines() for year in ("reviews", "2024"))
    taken = {line.split(",")[0] for line in now[1:10]}
    kept = [line for line in then if line.split(",")[0] not in taken]
    Path("mixed.csv").write_text("\n".join([*kept, *now[1:10]]) + "\n")
    code, out, err = call("fit", "mixed.csv", "--for", "reviews.csv", "--out", "r.csv")
    assert (code, out.splitlines()[0]) == (0, CONFIDENTIAL)
    assert "some of this year's reviews may be among the past ones" in " ".join(err.split())


def test_json_has_the_checks_and_no_names(folder: Path) -> None:
    code, out, err = call("fit", "2023.csv", "2024.csv", "--out", "r.csv", "--json")
    assert (code, err) == (0, "")
    report = json.loads(out)
    assert set(report["shares"]) == {"quality", "slope", "offset", "noise"}
    assert report["conferences"] == ["2023", "2024"]
    assert report["forecast"]["conference"] == "2024"
    assert report["scale"] is None
    assert report["population"]["slope"] > 0
    assert '"r1"' not in out


def test_both_ends_of_a_scale_may_be_the_better_one(folder: Path) -> None:
    past = Reviews.read("2023.csv")
    columns = past.columns()
    Reviews.from_table({**columns, "score": [11 - score for score in columns["score"]]}).write("turned.csv")
    assert call("fit", "2023.csv", "2024.csv", "--out", "a.csv")[0] == 0
    code, _, err = call("fit", "turned.csv", "2024.csv", "--past-better", "turned=low", "--out", "b.csv")
    assert code == 0, err
    assert Path("a.csv").read_text() == Path("b.csv").read_text()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("2023.csv 2023.csv --out r.csv", "must not be given twice"),
        ("none.csv --out r.csv", "there is no such file"),
        ("empty.csv --out r.csv", "must have a header row"),
        ("one_paper.csv --out r.csv", "one_paper.csv, column paper: must have two papers or more"),
        ("one_person.csv --out r.csv", "must have two reviewers or more"),
        ("flat.csv --out r.csv", "must have scores that differ"),
        ("twice.csv --out r.csv", "must not repeat an earlier row's paper and reviewer"),
        ("2023.csv --grid 1..5 --out r.csv", "must be on the declared grid"),
        ("2023.csv --past-better low --out r.csv", "--past-better must be like 2021=low"),
        ("2023.csv --past-better 2020=low --out r.csv", "for which --past-better is given"),
        ("2023.csv --better best --out r.csv", "--better must be high or low"),
        ("2023.csv --committee empty.csv --out r.csv", "must have a header row"),
    ],
)
def test_bad_input_is_refused_in_one_line_and_nothing_is_written(
    folder: Path, arguments: str, told: str
) -> None:
    tables = {
        "empty": "",
        "one_paper": "paper,reviewer,score\n1,a,1\n1,b,2\n",
        "one_person": "paper,reviewer,score\n1,a,1\n2,a,2\n",
        "flat": "paper,reviewer,score\n1,a,5\n1,b,5\n2,a,5\n2,b,5\n",
        "twice": "paper,reviewer,score\n1,a,1\n1,a,2\n2,b,5\n",
    }
    for name, text in tables.items():
        Path(f"{name}.csv").write_text(text)
    code, out, err = call("fit", *arguments.split())
    assert (code, out) == (2, "")
    assert told in err
    assert not Path("r.csv").exists()


def test_an_earlier_result_is_never_overwritten(folder: Path) -> None:
    Path("r.csv").write_text("mine")
    code, _, err = call("fit", "2023.csv", "--out", "r.csv")
    assert code == 3
    assert "never overwritten" in err
    assert Path("r.csv").read_text() == "mine"
    assert not Path("r.csv.fit.json").exists()


@pytest.mark.parametrize(
    ("out", "picture", "code"),
    [
        ("r.csv", "nowhere/p.svg", 2),
        ("r.svg", "./r.svg", 2),
        ("r.csv", "mine.svg", 3),
        ("taken.csv", None, 3),
    ],
)
def test_every_file_is_looked_at_before_the_fit(
    out: str, picture: str | None, code: int, folder: Path
) -> None:
    Path("mine.svg").write_text("mine")
    Path("taken.csv.similar.csv").write_text("mine")
    before = sorted(folder.rglob("*"))
    more = () if picture is None else ("--picture", picture)
    assert call("fit", "2023.csv", "--out", out, *more)[0] == code
    assert sorted(folder.rglob("*")) == before
    assert Path("taken.csv.similar.csv").read_text() == "mine"


def test_shift_and_stretch_are_stated_and_frozen_with_the_first_release(folder: Path) -> None:
    fit = ("fit", "2023.csv", "2024.csv", "--committee", "committee.csv", "--grid", "1..10")
    assert call(*fit, "--for", "reviews.csv", "--out", "r.csv")[0] == 0
    scale = json.loads(Path("r.csv.fit.json").read_text())["scale"]
    assert call("key", "key.bin")[0] == 0
    columns = Reviews.read("reviews.csv").columns()
    pairs = {*zip(columns["paper"], columns["reviewer"], strict=True)}
    pairs |= {(paper, name) for paper in columns["paper"] for name in ("r43", "r44")}
    Path("pools.csv").write_text("paper,reviewer\n" + "".join(f"{p},{r}\n" for p, r in sorted(pairs)))
    decide = ("decide", "reviews.csv", "--pools", "pools.csv", "--accept-rate", "0.3", "--grid", "1..10")
    decide = (*decide, "--key", "key.bin", "--despite-misfit")
    code, _, err = call(*decide, "--reviewers", "r.csv", "--out", "out")
    assert code == 0, err
    stated = json.loads(Path("out/certificate.json").read_text())["calibration_scale"]
    assert stated == {"shift": round(scale["shift"], 4), "stretch": round(scale["stretch"], 4)}
    # A corrected score, and a fit for the corrected reviews: every paper would move.
    lines = Path("reviews.csv").read_text().splitlines()
    place = lines[0].split(",").index("score")
    cells = lines[1].split(",")
    cells[place] = "10" if cells[place] != "10" else "1"
    lines[1] = ",".join(cells)
    Path("reviews.csv").write_text("\n".join(lines) + "\n")
    assert call(*fit, "--for", "reviews.csv", "--out", "moved.csv")[0] == 0
    code, _, err = call(*decide, "--reviewers", "moved.csv", "--out", "b", "--amend", "--reason", "a score")
    assert code == 3
    assert "shift and stretch of the calibration are frozen with the first release" in err
    assert "fit again with --scale-of the first calibration" in err
    code, out, err = call(*fit, "--scale-of", "r.csv", "--out", "kept.csv")
    assert code == 0, err
    assert "moved to this year's scale" in out
    assert Path("kept.csv").read_bytes() == Path("r.csv").read_bytes()
    code, out, err = call(*decide, "--reviewers", "kept.csv", "--out", "b", "--amend", "--reason", "a score")
    assert code == 0, err
    assert "1 paper decided now" in out


def test_only_a_fit_that_was_moved_has_a_scale_to_keep(folder: Path) -> None:
    assert call("fit", "2023.csv", "--out", "a.csv")[0] == 0
    code, _, err = call("fit", "2023.csv", "--scale-of", "a.csv", "--out", "b.csv")
    assert code == 2
    assert "must be a fit that was moved to this year's scale" in err
    assert call("fit", "2023.csv", "--for", "reviews.csv", "--out", "c.csv")[0] == 0
    code, _, err = call("fit", "2023.csv", "--for", "reviews.csv", "--scale-of", "c.csv", "--out", "d.csv")
    assert code == 2
    assert "not both" in err


def test_what_history_is_worth(folder: Path) -> None:
    arguments = ("fit", "2023.csv", "2024.csv", "--committee", "committee.csv", "--what-if")
    code, out, err = call(*arguments, "--accept-rate", "0.4", "--out", "r.csv")
    assert code == 0, err
    assert "expected wrong decisions (3 reviews per paper, 40 % accepted, no privacy)" in " ".join(
        out.split()
    )
    assert "twice as much history would take off" in out
    code, out, err = call(*arguments, "--better", "low", "--json", "--out", "s.csv")
    assert code == 0, err
    found = json.loads(out)["what_if"]
    assert found["raw"] > found["now"] > found["known"]
    assert found["accept_rate"] == 0.25
