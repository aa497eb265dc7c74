"""Scores that not everyone may see, in a folder: the chair has every figure, and the public none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("typer")
pytest.importorskip("jinja2")

from blindcal.project.settings import FILE
from chair_exports import options, write_exports
from commands import call, plain

pytestmark = pytest.mark.edge


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    given = options(write_exports(tmp_path / "downloads", papers=6), "reviews", "reviewers")
    given[given.index("public")] = "confidential"
    assert call("new", "icx", *given, "--accept", "50%")[0] == 0
    return Path("icx")


def test_a_folder_that_does_not_say_it_is_not_decided(folder: Path) -> None:
    text = (folder / FILE).read_text()
    (folder / FILE).write_text(re.sub(r"(?m)^scores = .*$", "", text))
    code, _, err = call("decide", "icx")
    assert code == 2
    assert f"{folder / FILE}: scores must be public or confidential, found neither" in plain(err)
    assert not list(folder.rglob("decisions.csv"))


def test_the_page_of_a_plan_is_for_the_chair_alone(folder: Path) -> None:
    code, out, _ = call("plan", "icx", "--out", "plan.html")
    assert (code, "CONFIDENTIAL, never share: plan.html\n" in out) == (0, True)
    assert "CONFIDENTIAL: for the chair, never share" in Path("plan.html").read_text()
    assert Path("plan.html").stat().st_mode & 0o777 == 0o600


def test_the_chair_has_every_figure_and_the_public_none(folder: Path) -> None:
    code, out, _ = call("decide", "icx")
    assert code == 0
    assert "scores are confidential: these figures are for you alone" in out
    assert "chance of naming a reviewer" in out
    assert call("verify", "icx")[0] == 0
    public = folder / "public" / "release-1"
    assert {path.name for path in public.iterdir()} == {"decisions.csv", "certificate.json"}
    explained = " ".join(call("report", "icx", "--text")[1].split())
    assert "For someone who sees the scores: whatever someone already suspects" in explained
    assert "To someone who does not see the scores, each decision says something about them" in explained
    assert not re.search(r"success_scores_only:|expected_wrong|bar:|calibration_fit", explained)
    code, _, err = call("report", "icx", "--out", "icx.html")
    assert code == 0
    assert "the page has no figure that depends on them" in err
    page = re.sub(r"<[^>]*>", " ", re.sub(r"(?s)<style>.*?</style>", "", Path("icx.html").read_text()))
    assert not re.search(r"expected_wrong|by mean score|gray zone|of tries", page)
    assert "The scores are confidential, so apart from the decisions nothing here depends on them" in page
    assert call("report", "icx", "--confidential", "--out", "chair.html")[0] == 0
    chair = Path("chair.html").read_text()
    assert "CONFIDENTIAL: for the chair, never share" in chair
    assert "of tries from scores and possible reviewers alone" in chair
    code, _, err = call("report", str(public), "--confidential", "--out", "other.html")
    assert (code, "give --key" in err) == (2, True)
    assert call("export", "icx", "--to", "csv", "--what", "advice", "--out", "advice.csv")[0] == 0
    assert Path("advice.csv").read_text().splitlines()[0] == "paper,title,by_mean_score,advice"
    code, _, err = call("export", str(public), "--to", "csv", "--what", "advice", "--out", "none.csv")
    assert (code, "give --key" in err) == (2, True)
