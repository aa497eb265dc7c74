"""`blindcal import`: files written and their modes, what is said, codes, refusals that write nothing."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

pytest.importorskip("typer")

from commands import call
from exports import BY_NAME, EXPORTS, Export, rows_of

pytestmark = pytest.mark.edge


def table(path: Path) -> list[dict[str, str]]:
    return rows_of(path.read_bytes())


@pytest.mark.parametrize("export", EXPORTS, ids=[export.name for export in EXPORTS])
def test_every_export_becomes_a_table_that_check_reads(export: Export, tmp_path: Path) -> None:
    out = tmp_path / "reviews.csv"
    code, told, err = call(*export.arguments, "--out", str(out))
    assert (code, err) == (0, "")
    assert told.startswith(f"recognized: {export.recognized}")
    assert "dropped: the order of rows: it can reveal who wrote a review\n" in told
    assert len(table(out)) == len(export.expected)
    assert call("check", str(out))[0] == 0
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    again = tmp_path / "again.csv"
    assert call("import", str(out), "--out", str(again))[0] == 0
    assert again.read_bytes() == out.read_bytes()


def test_what_came_with_the_reviews_lies_beside_them(tmp_path: Path) -> None:
    export = BY_NAME["hotcrp/rqc-letters.json"]
    code, told, _ = call(*export.arguments, "--out", str(tmp_path / "in.csv"))
    assert code == 0
    names = ["in.conflicts.csv", "in.csv", "in.names.csv", "in.titles.csv", "in.tracks.csv"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert "score: OveMer, with the values D = 1, B = 3, A = 4; higher is taken as better" in told
    assert table(tmp_path / "in.titles.csv")[1] == {"paper": "2", "title": "Gadgets Revisited"}
    assert table(tmp_path / "in.conflicts.csv")[0] == {"paper": "1", "conflict": "cy@example.org"}
    assert table(tmp_path / "in.names.csv")[0] == {"reviewer": "ada@example.edu", "name": "Ada Byron"}


def test_those_who_reviewed_are_not_written_down_as_a_committee(tmp_path: Path) -> None:
    """Who reviewed at all is secret: a committee is a list with others on it."""
    export = BY_NAME["easychair/all-tables.zip"]
    assert call(*export.arguments, "--out", str(tmp_path / "all.csv"))[0] == 0
    listed = {row["reviewer"] for row in table(tmp_path / "all.committee.csv")}
    assert listed > {row["reviewer"] for row in table(tmp_path / "all.csv")}
    assert not (tmp_path / "all.names.csv").exists()
    assert call("import", str(tmp_path / "all.csv"), "--out", str(tmp_path / "table.csv"))[0] == 0
    assert not [*tmp_path.glob("table.committee.csv"), *tmp_path.glob("table.names.csv")]


def test_several_maps_are_one(tmp_path: Path) -> None:
    export = BY_NAME["openreview/api2-replies.json"]
    header, *people = export.path.with_suffix(".map").read_text().splitlines()
    words = []
    for number, half in enumerate((people[::2], people[1::2])):
        (tmp_path / f"{number}.csv").write_text("\n".join([header, *half, ""]))
        words += ["--map", str(tmp_path / f"{number}.csv")]
    code, _, err = call("import", str(export.path), *words, "--out", str(tmp_path / "r.csv"))
    assert (code, err) == (0, "")
    assert table(tmp_path / "r.csv") == export.expected


def test_json_says_the_same(tmp_path: Path) -> None:
    export = BY_NAME["hotcrp/scores-2026.csv"]
    code, out, _ = call(*export.arguments, "--out", str(tmp_path / "r.csv"), "--json")
    report = json.loads(out)
    assert code == 0
    assert (report["format"], report["reviews"], report["papers"], report["reviewers"]) == ("hotcrp", 5, 3, 3)
    assert (report["score_field"], report["confidence_field"]) == ("OveMer", "RevExp")
    assert report["scale"]["levels"] == [1, 2, 3, 4, 5]
    assert {"what": "the order of rows", "why": "it can reveal who wrote a review"} in report["dropped"]
    assert report["warnings"][1:] == ["1 review without a score left out (row 6)"]
    wrote = [str(tmp_path / name) for name in ("r.csv", "r.titles.csv", "r.names.csv")]  # not a committee
    assert report["wrote"] == wrote


def test_codes_are_written_apart_and_kept_the_next_year(tmp_path: Path) -> None:
    export = BY_NAME["easychair/all-tables.zip"]
    first, codes = tmp_path / "r.csv", tmp_path / "codes.csv"
    code, told, _ = call(*export.arguments, "--out", str(first), "--codes", str(codes))
    assert code == 0
    assert "keep that file apart" in told
    assert codes.stat().st_mode & 0o777 == 0o600
    person = {row["code"]: row["reviewer"] for row in table(codes)}
    assert {row["name"] for row in table(codes)} == {"Ada Byron", "Bo Chen", "Cy Diaz", "Eve Fox"}
    found = sorted((row["paper"], person[row["reviewer"]], row["score"]) for row in table(first))
    assert found == sorted((row["paper"], row["reviewer"], row["score"]) for row in export.expected)
    for path in tmp_path.glob("r*.csv"):
        assert not re.search(r"@|Ada|Byron|Chen", path.read_text()), path.name
    assert re.search(r"@|Ada|Byron|Chen", told) is None
    later = tmp_path / "later.csv"
    options = ("--codes", str(tmp_path / "new.csv"), "--known-codes", str(codes))
    assert call(*export.arguments, "--out", str(later), *options)[0] == 0
    assert later.read_bytes() == first.read_bytes()


def test_nothing_is_written_where_something_is_in_the_way(tmp_path: Path) -> None:
    export = BY_NAME["hotcrp/scores-2026.csv"]
    (tmp_path / "r.titles.csv").write_text("mine")
    code, _, err = call(*export.arguments, "--out", str(tmp_path / "r.csv"))
    assert code == 3
    assert "r.titles.csv exists already and is never overwritten" in err
    assert [path.name for path in tmp_path.iterdir()] == ["r.titles.csv"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--format", "word"], "--format must be one of openreview, hotcrp, cmt, easychair, pretalx, panel"),
        (["--format", "cmt"], "must be a CMT export of reviews"),
        (["--unit", "chair"], "--unit must be one of reviewer, member"),
        (["--best-first", "A"], "--best-first must be different scores, like A,B,C,D"),
        (["--best-first", "A,a"], "--best-first must be different scores, like A,B,C,D"),
        (["--columns", "papers=x"], "--columns must be like paper=item_id"),
        (["--columns", "paper=x,reviewer=y,score=z"], "must have a header row with the columns x, y, z"),
        (
            ["--score-field", "Novelty"],
            "must have the field 'Novelty' that --score-field names, found OveMer",
        ),
        (["--known-codes", "c.csv"], "--known-codes needs --codes"),
        (["--map", "nowhere.csv"], "nowhere.csv: there is no such file"),
        (["--codes", "OUT"], "--codes must name a file of its own"),
    ],
)
def test_bad_options_are_refused_and_nothing_is_written(
    options: list[str], message: str, tmp_path: Path
) -> None:
    export, out = BY_NAME["hotcrp/scores-2026.csv"], str(tmp_path / "r.csv")
    options = [out if option == "OUT" else option for option in options]
    code, _, err = call("import", str(export.path), "--out", out, *options)
    assert code == 2
    assert message in err
    assert not list(tmp_path.iterdir())


def test_a_bad_export_is_refused_with_its_places(tmp_path: Path) -> None:
    bad = tmp_path / "scores.csv"
    text = BY_NAME["hotcrp/scores-2026.csv"].data.decode()
    bad.write_text(
        text.replace("org,2,2", "org,two,2").replace(",5,4", ",,").replace("zoe@example.net,1", ",1")
    )
    code, _, err = call("import", str(bad), "--out", str(tmp_path / "r.csv"), "--json")
    assert code == 2
    problems = json.loads(err)["error"]["problems"]
    assert [(p["row"], p["column"]) for p in problems] == [(3, "OveMer"), (7, "reviewer")]
    assert "zoe" not in err
    assert not (tmp_path / "r.csv").exists()


def test_the_written_table_is_sorted_whatever_the_export(tmp_path: Path) -> None:
    export = BY_NAME["openreview/api1-labels.json"]
    call(*export.arguments, "--out", str(tmp_path / "r.csv"))
    with (tmp_path / "r.csv").open(newline="", encoding="utf-8") as file:
        body = list(csv.reader(file))[1:]
    assert body == sorted(body)


def test_papers_that_the_export_calls_withdrawn_are_left_out_or_kept(tmp_path: Path) -> None:
    export = json.loads(BY_NAME["hotcrp/rqc-letters.json"].data)
    export["papers"][0]["status"] = "withdrawn"
    gone = f"{export['papers'][0]['pid']}"
    (tmp_path / "rqc.json").write_text(json.dumps(export))
    code, told, _ = call("import", str(tmp_path / "rqc.json"), "--out", str(tmp_path / "r.csv"))
    assert code == 0
    assert f"left out: 1 paper withdrawn: {gone} (--keep-withdrawn keeps them)\n" in told
    left = {row["paper"] for row in table(tmp_path / "r.csv")}
    assert gone not in left
    assert not (tmp_path / "r.committee.csv").exists(), "those who reviewed are no committee"
    whole = tmp_path / "all.csv"
    code, told, _ = call("import", str(tmp_path / "rqc.json"), "--out", str(whole), "--keep-withdrawn")
    assert (code, "left out" in told) == (0, False)
    assert {row["paper"] for row in table(whole)} == {gone, *left}
