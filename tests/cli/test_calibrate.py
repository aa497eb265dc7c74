"""`blindcal calibrate` and `blindcal assess`."""

from __future__ import annotations

import csv
import json
import stat
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")

import blindcal as bc
from blindcal.cli import run
from commands import edit, refusal, succeed

pytestmark = pytest.mark.edge


COLUMNS = "paper,quality,standard_error,raw_mean,reviews,rank,raw_rank"


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("method", list(bc.calibrators.METHODS))
def test_calibrated_table_holds_what_the_library_gives(reviews: Path, tmp_path: Path, method: str) -> None:
    out = tmp_path / "calibrated.csv"
    succeed("calibrate", str(reviews), "--method", method, "--accept-rate", "0.25", "--out", str(out))
    assert out.read_text().splitlines()[0] == COLUMNS + ",probability_accepted"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    table = bc.Reviews.read(reviews)
    result, plain = bc.calibrators.METHODS[method](table), bc.calibrators.raw(table)
    rows = rows_of(out)
    assert [row["paper"] for row in rows] == list(table.papers)
    for name, value in {
        "quality": result.quality,
        "standard_error": result.standard_error,
        "raw_mean": plain.quality,
        "reviews": np.full(20, 3),
        "rank": result.rank,
        "raw_rank": plain.rank,
        "probability_accepted": result.probability_accepted(0.25),
    }.items():
        np.testing.assert_array_equal([float(row[name]) for row in rows], value, err_msg=name)


def test_without_a_rate_there_is_no_probability(reviews: Path, tmp_path: Path) -> None:
    out = tmp_path / "c.csv"
    assert run(["calibrate", str(reviews), "--method", "raw", "--out", str(out)]) == 0
    assert out.read_text().splitlines()[0] == COLUMNS


def test_output_says_that_it_is_confidential_and_names_no_reviewer(reviews: Path, tmp_path: Path) -> None:
    arguments = ["calibrate", str(reviews), "--method", "offsets", "--accept-rate", "0.3"]
    text = succeed(*arguments, "--out", str(tmp_path / "a.csv")).out
    assert "CONFIDENTIAL" in text
    assert "gray zone" in text
    report = json.loads(succeed(*arguments, "--json", "--out", str(tmp_path / "b.csv")).out)
    assert report["accepted"] == 6
    assert 0 <= report["gray_zone"] <= report["papers"] == 20
    assert "reveal assignments" in report["warning"]
    for reviewer in range(8):
        assert f"r{reviewer}" not in text.replace(str(tmp_path), "")


def test_an_existing_file_is_not_overwritten(reviews: Path, tmp_path: Path) -> None:
    out = tmp_path / "c.csv"
    out.write_text("mine")
    assert run(["calibrate", str(reviews), "--method", "raw", "--out", str(out)]) == 3
    assert out.read_text() == "mine"


def test_known_reviewers_come_from_a_file(reviews: Path, tmp_path: Path) -> None:
    known, out = tmp_path / "reviewers.csv", tmp_path / "c.csv"
    rows = [f"r{j},{1 + j / 10},{5 - j / 5},0.5" for j in range(6)]
    known.write_text("reviewer,slope,offset,noise\n" + "\n".join([*rows, "*,1,5,0.5"]) + "\n")
    arguments = ["calibrate", str(reviews), "--method", "posterior", "--reviewers", str(known)]
    assert run([*arguments, "--out", str(out)]) == 0
    table = bc.Reviews.read(reviews)
    slope, offset = np.r_[1 + np.arange(6) / 10, 1, 1], np.r_[5 - np.arange(6) / 5, 5, 5]
    expected = bc.calibrators.posterior(table, bc.Affine(slope, offset, 0.5))
    np.testing.assert_allclose([float(row["quality"]) for row in rows_of(out)], expected.quality, rtol=1e-12)


def test_uncertain_reviewers_come_from_a_file(reviews: Path, tmp_path: Path) -> None:
    known, out = tmp_path / "reviewers.csv", tmp_path / "c.csv"
    known.write_text("reviewer,slope,offset,noise,slope_se,offset_se,correlation\n*,1,5,0.5,0.2,0.4,-0.5\n")
    given = ["--method", "posterior", "--reviewers", str(known), "--out", str(out)]
    succeed("calibrate", str(reviews), *given)
    covariance = [[0.04, -0.04], [-0.04, 0.16]]
    expected = bc.calibrators.posterior(bc.Reviews.read(reviews), bc.Affine(1.0, 5.0, 0.5, covariance))
    np.testing.assert_allclose([float(row["quality"]) for row in rows_of(out)], expected.quality, rtol=1e-9)


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--method", "mean"], "--method must be one of raw, standardized"),
        (["--method", "posterior"], "needs --reviewers"),
        (["--method", "raw", "--accept-rate", "0"], "'--accept-rate': '0' must be between 0 and 1"),
        (["--method", "raw", "--accept-rate", "25"], "ends excluded: for 25 % give 0.25"),
    ],
)
def test_bad_requests_exit_with_2_and_write_nothing(
    reviews: Path, tmp_path: Path, extra: list[str], message: str
) -> None:
    out = tmp_path / "c.csv"
    assert message in refusal("calibrate", str(reviews), *extra, "--out", str(out))
    assert not out.exists()


def test_missing_reviewers_are_counted_not_named(reviews: Path, tmp_path: Path) -> None:
    known = tmp_path / "known.csv"
    known.write_text("reviewer,slope,offset,noise\nr0,1,5,0.5\n")
    arguments = ["calibrate", str(reviews), "--method", "posterior", "--reviewers", str(known)]
    message = refusal(*arguments, "--out", str(tmp_path / "c.csv"))
    assert "lacks 7 of 8 reviewers" in message
    assert "r3" not in message.replace(str(tmp_path), "")


@pytest.mark.parametrize("words", [["assess"], ["calibrate", "--out", "out.csv"]])
def test_one_paper_under_two_ids_is_noted(words: list[str], reviews: Path, place: Path) -> None:
    """Whoever decides two halves of a paper decides neither."""
    reviews.write_text(reviews.read_text().replace("p01,", "P1,", 1))
    noted = "the ids of the papers in rows 5 and 6 differ only in capital letters"
    assert noted in succeed(*words, str(reviews)).err


@pytest.mark.parametrize("method", ["raw", "posterior"])
def test_a_folder_is_calibrated_with_what_it_knows(method: str, reviews: Path, place: Path) -> None:
    people = "".join(f"r{number},1,5,0.5\n" for number in range(8))
    Path("known.csv").write_text(f"reviewer,slope,offset,noise\n{people}")
    succeed("new", "icx", "--better", "low")
    succeed("import", "icx", str(reviews), "known.csv")
    succeed("calibrate", "icx", "--method", method, "--out", "a.csv")
    more = ["--reviewers", "known.csv"] if method == "posterior" else []
    words = ["--method", method, "--better", "low", *more, "--out", "b.csv"]
    succeed("calibrate", str(reviews), *words)
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    if method == "raw":
        succeed("calibrate", "icx", "--better", "high", "--method", "raw", "--out", "c.csv")
        assert Path("c.csv").read_bytes() != Path("a.csv").read_bytes(), "the command line wins"


# --- `blindcal assess`: shares, a verdict, and what it refuses.


def test_assess_prints_shares_and_a_verdict(reviews: Path) -> None:
    text = succeed("assess", str(reviews)).out
    assert text.startswith("CONFIDENTIAL: ")
    assert "verdict: " in text
    assert "offset" in text


def test_assess_refuses_single_reviews(tmp_path: Path) -> None:
    path = tmp_path / "reviews.csv"
    path.write_text("paper,reviewer,score\na,x,1\nb,x,2\n")
    assert "no paper has two reviews" in refusal("assess", str(path))


def test_a_gain_in_percent_is_refused_with_what_was_meant(reviews: Path) -> None:
    assert "'--least-gain': '2%' must be a number without a percent sign: for 2 % give 0.02" in refusal(
        "assess", str(reviews), "--least-gain", "2%"
    )


def test_a_folder_is_assessed_with_its_share_and_without_withdrawn_papers(reviews: Path, place: Path) -> None:
    succeed("new", "icx", "--accept", "30%")
    assert "icx has no reviews yet: `blindcal import icx FILE` brings them" in refusal("assess", "icx")
    succeed("import", "icx", str(reviews))
    edit("[withdrawn]\n", '[withdrawn]\np01 = "by its authors"\n')
    # By this year's evidence only the range from public information is given.
    edit("\nreviews =", '\nsource = "past"\nreviews =')
    kept = [line for line in reviews.read_text().splitlines() if not line.startswith("p01,")]
    (place / "kept.csv").write_text("\n".join(kept) + "\n")
    report = json.loads(succeed("assess", "icx", "--json").out)
    assert report == json.loads(succeed("assess", "kept.csv", "--accept-rate", "0.3", "--json").out)
    assert report["accept_rate"] == 0.3
    assert set(report["shares"]) == {"quality", "offset", "slope", "residual"}
    assert set(report["wrong"]) == {"raw", "hierarchical", "known"}
    assert report["warning"].startswith("CONFIDENTIAL: ")
    assert report["verdict"] in ("worth it", "worth it with history", "not worth it", "unclear")
