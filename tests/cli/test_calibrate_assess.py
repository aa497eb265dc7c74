"""`blindcal assess`: shares, a verdict, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("typer")

from blindcal.cli import run

pytestmark = pytest.mark.edge


def test_assess_prints_shares_and_a_verdict(reviews: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["assess", str(reviews)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("CONFIDENTIAL: ")
    assert "verdict: " in text
    assert "offset" in text
    assert run(["assess", str(reviews), "--json", "--accept-rate", "0.3"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report["shares"]) == {"quality", "offset", "slope", "residual"}
    assert set(report["wrong"]) == {"raw", "hierarchical", "known"}
    assert report["accept_rate"] == 0.3
    assert report["warning"].startswith("CONFIDENTIAL: ")
    assert report["verdict"] in ("worth it", "worth it with history", "not worth it", "unclear")


def test_assess_refuses_single_reviews(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "reviews.csv"
    path.write_text("paper,reviewer,score\na,x,1\nb,x,2\n")
    assert run(["assess", str(path)]) == 2
    assert "no paper has two reviews" in capsys.readouterr().err


def test_a_gain_in_percent_is_refused_with_what_was_meant(
    reviews: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["assess", str(reviews), "--least-gain", "2%"]) == 2
    assert (
        "'--least-gain': '2%' must be a number without a percent sign: for 2 % give 0.02"
        in capsys.readouterr().err
    )


def test_a_folder_is_assessed_with_its_share_and_without_withdrawn_papers(
    reviews: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["new", "icx", "--accept", "30%"]) == 0
    assert run(["assess", "icx"]) == 2
    assert "icx has no reviews yet: `blindcal import icx FILE` brings them" in capsys.readouterr().err
    assert run(["import", "icx", str(reviews)]) == 0
    settings = tmp_path / "icx" / "conference.toml"
    settings.write_text(
        settings.read_text().replace("[withdrawn]\n", '[withdrawn]\np01 = "by its authors"\n')
    )
    kept = [line for line in reviews.read_text().splitlines() if not line.startswith("p01,")]
    (tmp_path / "kept.csv").write_text("\n".join(kept) + "\n")
    capsys.readouterr()
    printed = []
    for words in (["icx"], ["kept.csv", "--accept-rate", "0.3"]):
        assert run(["assess", *words, "--json"]) == 0
        printed.append(json.loads(capsys.readouterr().out))
    assert printed[0]["accept_rate"] == 0.3
    assert printed[0] == printed[1]


def test_one_paper_under_two_ids_is_noted(reviews: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever decides two halves of a paper decides neither."""
    reviews.write_text(reviews.read_text().replace("p01,", "P1,", 1))
    assert run(["assess", str(reviews)]) == 0
    assert "the ids of the papers in rows 5 and 6 differ only in capital letters" in capsys.readouterr().err
