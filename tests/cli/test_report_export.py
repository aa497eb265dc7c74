"""`blindcal export`: from a plain release and from a conference's folder; import, export, import."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

pytest.importorskip("typer")

from blindcal.importers import import_reviews
from blindcal.io.cells import unescape
from chair_exports import options, write_exports
from commands import call
from small_conferences import SmallConference, decided

pytestmark = pytest.mark.edge


def rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_a_plain_release_is_exported(small: SmallConference, tmp_path: Path) -> None:
    folder, out = small.write(tmp_path / "in"), tmp_path / "out"
    decided(folder, tmp_path / "key.bin", out)
    target = tmp_path / "table.csv"
    code, said, err = call("export", str(out), "--to", "csv", "--out", str(target))
    assert (code, err) == (0, "")
    assert f"wrote {target} (decisions for csv)\n  accept: 1 paper\n" in said
    expected = [row[:2] for row in rows(out / "decisions.csv")]
    assert rows(target) == expected
    before = target.read_bytes()
    assert call("export", str(out), "--to", "csv", "--out", str(target))[0] == 3, "never overwritten"
    assert target.read_bytes() == before
    code, _, err = call("export", str(out), "--to", "hotcrp", "--out", str(tmp_path / "h.csv"))
    assert code == 2
    assert "must be a whole number: HotCRP knows papers by their numbers" in err
    assert not (tmp_path / "h.csv").exists()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    exports = write_exports(tmp_path / "downloads", papers=6)
    assert call("new", "icx", *options(exports, "reviews", "reviewers"), "--accept", "50%")[0] == 0
    assert call("decide", "icx")[0] == 0
    return Path("icx")


def test_import_export_import(folder: Path) -> None:
    """Papers and titles of a download come out as they went in; scores too, with decisions beside them."""
    assert call("export", "icx", "--to", "csv", "--out", "table.csv")[0] == 0
    assert call("export", "icx", "--to", "hotcrp", "--out", "hotcrp.csv")[0] == 0
    download = Path("downloads/scores.csv").read_bytes()
    imported = import_reviews(download, "scores.csv")
    table = rows(Path("table.csv"))
    assert {unescape(row[0]): unescape(row[1]) for row in table[1:]} == imported.titles
    bulk = {paper: decision for paper, _, decision in rows(Path("hotcrp.csv"))[1:]}
    lines = rows(Path("downloads/scores.csv"))
    place = lines[0].index("review")
    decided = [[*row[:place], bulk.get(row[0], "decision"), *row[place:]] for row in lines]
    with Path("again.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(decided)
    again = import_reviews(Path("again.csv").read_bytes(), "again.csv")
    assert again.reviews.columns() == imported.reviews.columns()
    assert (again.titles, again.committee) == (imported.titles, imported.committee)


def test_a_folder_has_titles_and_overridden_decisions(folder: Path) -> None:
    toml = folder / "conference.toml"
    first = rows(folder / "public" / "release-1" / "decisions.csv")[1]
    other = {"accept": "reject", "reject": "accept"}[first[1]]
    line = f'"{first[0]}" = "{other}: the committee said so"'
    text = toml.read_text(encoding="utf-8")
    toml.write_text(text.replace('# "23" = "accept: the committee found an error in a review"', line))
    code, out, _ = call("export", "icx", "--to", "xlsx", "--out", "table.xlsx", "--json")
    facts = json.loads(out)
    assert (code, facts["overridden"], facts["release"]) == (0, 1, "icx/public/release-1")
    assert "1 decision overridden by hand" in facts["notes"][0]
    code, _, err = call("export", "icx", "--to", "csv", "--out", "table.csv")
    assert "does not say what these reveal" in err
    table = rows(Path("table.csv"))
    assert table[0] == ["paper", "title", "decision", "overridden"]
    assert table[1][2:] == [other, "by hand"]
    assert call("verify", "icx")[0] == 0, "the release itself stays as it was"


def test_the_latest_complete_release_of_a_folder_is_exported(folder: Path) -> None:
    second = folder / "public" / "release-2"
    second.mkdir()
    (second / "decisions.csv").write_text("paper,decision,raw_decision,advice\n1,accept,accept,leave\n")
    code, out, err = call("export", "icx", "--to", "openreview", "--out", "first.csv")
    assert (code, "from icx/public/release-1\n" in out) == (0, True)
    assert f"{second} was left incomplete" in err
    (second / "certificate.json").write_text("{}\n")
    assert call("export", "icx", "--to", "openreview", "--out", "o.csv")[0] == 0
    assert Path("o.csv").read_text() == "1,Accept (Poster),\n"


def test_words_for_decisions_are_printed_with_how_many_papers_have_them(folder: Path) -> None:
    code, out, _ = call("export", "icx", "--to", "hotcrp", "--out", "h.csv")
    assert code == 0
    assert "wrote h.csv (decisions for hotcrp)\n  yes: 4 papers\n  no: 2 papers\n" in out
    assert sorted(row[2] for row in rows(Path("h.csv"))[1:]) == ["no"] * 2 + ["yes"] * 4
    code, out, _ = call("export", "icx", "--to", "hotcrp", "--rejected", "Thanks", "--out", "i.csv", "--json")
    assert (code, json.loads(out)["words"]) == (0, {"yes": 4, "Thanks": 2})
    code, out, _ = call("export", "icx", "--to", "csv", "--what", "advice", "--out", "a.csv", "--json")
    assert (code, json.loads(out)["words"]) == (0, {})


def test_advice_says_whom_it_is_for(folder: Path) -> None:
    code, out, _ = call("export", "icx", "--to", "csv", "--what", "advice", "--out", "a.csv")
    assert (code, "Advice is for area chairs" in out) == (0, True)


def test_what_was_not_decided_cannot_be_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exports = write_exports(tmp_path / "downloads", papers=6)
    call("new", "icx", *options(exports, "reviews"))
    code, _, err = call("export", "icx", "--to", "csv", "--out", "t.csv")
    rule = "icx has no release yet: `blindcal decide icx` makes the first"
    assert (code, err) == (2, f"blindcal: {rule}\n")


def test_words_of_the_folder_are_for_systems_that_have_words(folder: Path) -> None:
    toml = folder / "conference.toml"
    text = toml.read_text(encoding="utf-8")
    toml.write_text(
        text.replace('# accepted = "Accept (Oral)"', 'accepted = "Talk"').replace(
            '# rejected = "Reject"', 'rejected = "Thanks"'
        )
    )
    for to in ("hotcrp", "openreview", "easychair", "cmt"):
        assert call("export", "icx", "--to", to, "--out", f"{to}.csv")[0] == 0
        decisions = {row[2 - (to == "openreview")] for row in rows(Path(f"{to}.csv"))}
        assert {"Talk", "Thanks"} <= decisions, to
    assert call("export", "icx", "--to", "csv", "--out", "t.csv")[0] == 0
    assert {row[2] for row in rows(Path("t.csv"))} == {"decision", "accept", "reject"}
    assert call("export", "icx", "--to", "csv", "--what", "advice", "--out", "a.csv")[0] == 0
    code, _, err = call(
        "export", "icx", "--to", "csv", "--what", "advice", "--accepted", "A", "--out", "b.csv"
    )
    assert (code, "--accepted, --rejected and --waiting must be left out" in err) == (2, True)


@pytest.mark.parametrize(
    ("to", "line"),
    [
        ("hotcrp", "more than one matches, give the exact names of yours with --accepted and --rejected"),
        ("easychair", "a list to type from: we know of no upload of decisions to EasyChair"),
        ("cmt", "a list to type from: we know of no upload of decisions to CMT"),
    ],
)
def test_how_decisions_get_into_a_system_is_said(folder: Path, to: str, line: str) -> None:
    code, out, _ = call("export", "icx", "--to", to, "--out", "x.csv")
    assert (code, line in out) == (0, True)
