"""`blindcal import`: files in a folder and their modes, what is said, corrections, codes, refusals."""

from __future__ import annotations

import csv
import json
import re
import shutil
import stat
import unicodedata
import zipfile
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")

import plain_files
from blindcal.cli.console import CONFIDENTIAL
from blindcal.deciding.key import make_key, read_key
from blindcal.exporters.formats import read_titles
from blindcal.project import create, read_folder
from blindcal.project import imports as module
from blindcal.project.imports import folder_reviews
from chair_exports import PEOPLE, options, write_exports
from commands import CANARY, call, edit, last, refusal, succeed
from exports import BY_NAME, Export, every_export, rows_of
from small_bombs import BOMBS, MEMORY
from small_conferences import everything
from small_pasts import short_fits

pytestmark = pytest.mark.edge


SYSTEMS = Path(__file__).parents[1] / "data" / "systems"


@pytest.fixture
def folder(place: Path) -> Path:
    """An empty folder, made before reviews are in."""
    succeed("new", "icx")
    return Path("icx")


def imported(export: Export, *more: str) -> tuple[int, str, str]:
    _, path, *words = export.arguments
    return call("import", "icx", path, *words, *more)


def table(path: Path) -> list[dict[str, str]]:
    return rows_of(path.read_bytes())


@every_export
def test_every_export_becomes_a_table_that_is_read_again(export: Export, folder: Path) -> None:
    """And `new` reads it as `import` does."""
    code, told, err = imported(export)
    assert (code, err) == (0, "")
    assert f"recognized: {export.recognized}" in told
    assert "dropped: the order of rows: it can reveal who wrote a review\n" in told
    reviews = folder / "inputs" / "reviews.csv"
    assert len(table(reviews)) == len(export.expected)
    assert {stat.S_IMODE(path.stat().st_mode) for path in reviews.parent.iterdir()} == {0o600}
    _, path, *words = export.arguments
    assert succeed("new", "two", "--reviews", path, "--scores", "public", *words).err == ""
    assert everything(Path("two/inputs")) == everything(folder / "inputs")
    for name in ("icx", "two"):
        succeed("import", name, "--dry-run")
    before = everything(folder)
    told = succeed("import", "icx", str(reviews), "--as", "reviews").out
    assert "the folder has this already: nothing to write" in told
    assert everything(folder) == before


def test_what_came_with_the_reviews_lies_beside_them_and_is_named(folder: Path) -> None:
    code, told, _ = imported(BY_NAME["hotcrp/rqc-letters.json"])
    assert code == 0
    inputs = folder / "inputs"
    names = ["conflicts.csv", "reviews.csv", "titles.csv", "tracks.csv"]
    assert sorted(path.name for path in inputs.iterdir()) == names
    assert "score: OveMer, with the values D = 1, B = 3, A = 4" in told
    assert table(inputs / "titles.csv")[1] == {"paper": "2", "title": "Gadgets Revisited"}
    assert table(inputs / "conflicts.csv")[0] == {"paper": "1", "conflict": "cy@example.org"}
    settings = read_folder(folder).settings
    assert settings["pools"] == "icx/inputs/conflicts.csv"
    assert (settings["titles"], settings["grid"]) == ("icx/inputs/titles.csv", "1..4")


def test_those_who_reviewed_are_not_written_down_as_a_committee(folder: Path) -> None:
    """Who reviewed at all is secret: a committee is a list with others on it."""
    assert imported(BY_NAME["easychair/all-tables.zip"])[0] == 0
    listed = {row["reviewer"] for row in table(folder / "inputs" / "committee.csv")}
    assert listed > {row["reviewer"] for row in table(folder / "inputs" / "reviews.csv")}
    succeed("new", "two")
    succeed("import", "two", "icx/inputs/reviews.csv")
    assert not Path("two/inputs/committee.csv").exists()


def test_several_maps_are_one(folder: Path) -> None:
    export = BY_NAME["openreview/api2-replies.json"]
    header, *people = export.path.with_suffix(".map").read_text().splitlines()
    words = []
    for number, half in enumerate((people[::2], people[1::2])):
        Path(f"{number}.csv").write_text("\n".join([header, *half, ""]))
        words += ["--map", f"{number}.csv"]
    assert succeed("import", "icx", str(export.path), *words).err == ""
    assert table(folder / "inputs" / "reviews.csv") == export.expected


def test_json_says_the_same(folder: Path) -> None:
    code, out, _ = imported(BY_NAME["hotcrp/scores-2026.csv"], "--json", "--keep", "1,3")
    report = json.loads(out)
    assert code == 0
    assert (report["system"], report["score_field"], report["confidence_field"]) == (
        "hotcrp",
        "OveMer",
        "RevExp",
    )
    assert report["scale"]["levels"] == [1, 2, 3, 4, 5]
    assert [report["reviews"][name] for name in ("reviews", "papers", "reviewers")] == [5, 3, 3]
    assert {"what": "the order of rows", "why": "it can reveal who wrote a review"} in report["dropped"]
    assert report["warnings"][1:] == ["1 review without a score left out (row 6)"]
    assert report["wrote"] == ["icx/inputs/reviews.csv", "icx/inputs/titles.csv"]
    assert report["files"][0]["as"] == "reviews"


def test_codes_are_written_apart_and_kept_the_next_year(folder: Path) -> None:
    export = BY_NAME["easychair/all-tables.zip"]
    codes, first = Path("codes.csv"), folder / "inputs" / "reviews.csv"
    code, told, _ = imported(export, "--codes", "codes.csv")
    assert code == 0
    assert "keep that file apart" in told
    assert codes.stat().st_mode & 0o777 == 0o600
    person = {row["code"]: row["reviewer"] for row in table(codes)}
    assert {row["name"] for row in table(codes)} == {"Ada Byron", "Bo Chen", "Cy Diaz", "Eve Fox"}
    found = sorted((row["paper"], person[row["reviewer"]], row["score"]) for row in table(first))
    assert found == sorted((row["paper"], row["reviewer"], row["score"]) for row in export.expected)
    for path in (folder / "inputs").iterdir():
        assert not re.search(r"@|Ada|Byron|Chen", path.read_text()), path.name
    assert re.search(r"@|Ada|Byron|Chen", told) is None
    before = codes.read_bytes()
    succeed("new", "later")
    _, path, *words = export.arguments
    succeed("import", "later", path, *words, "--codes", "codes.csv")
    assert Path("later/inputs/reviews.csv").read_bytes() == first.read_bytes()
    assert codes.read_bytes() == before
    Path("pc.csv").write_text("reviewer,name\nnew@example.org,Newcomer\n")
    succeed("import", "later", "pc.csv", "--codes", "codes.csv")
    (row,) = [row for row in table(codes) if row["reviewer"] == "new@example.org"]
    assert row["name"] == "Newcomer"
    assert len(table(codes)) == len(person) + 1
    assert row["code"] in Path("later/inputs/correction-1/committee.csv").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--system", "word"], "--system must be one of openreview, hotcrp, cmt, easychair, pretalx, panel"),
        (["--system", "cmt"], "must be a CMT export of reviews"),
        (["--unit", "chair"], "--unit must be one of reviewer, member"),
        (["--best-first", "A"], "--best-first must be different scores, like A,B,C,D"),
        (["--best-first", "A,a"], "--best-first must be different scores, like A,B,C,D"),
        (["--columns", "papers=x"], "--columns must be like paper=item_id"),
        (["--columns", "paper=x,reviewer=y,score=z"], "must have a header row with the columns x, y, z"),
        (
            ["--score-field", "Novelty"],
            "must have the field 'Novelty' that --score-field names, found OveMer",
        ),
        (["--map", "nowhere.csv"], "nowhere.csv: there is no such file"),
        (["--as", "gossip"], "--as must be one of reviews, past, committee"),
        (["--name", "2026"], "--name is for one past conference"),
        (["--as", "past", "--name", "../2026"], "a past conference's name must be like 2026"),
        (["--as", "committee"], "this one is about papers"),
        (["--as", "reviewers"], "scores.csv, row 1: must be the header"),
        (["--as", "reviewers", "--codes", "c.csv"], "--codes cannot be given for reviewers"),
        (["scores.csv", "--as", "reviews"], "give one file as reviews, found 2"),
    ],
)
def test_bad_options_are_refused_and_nothing_is_written(
    words: list[str], message: str, folder: Path, tmp_path: Path
) -> None:
    Path("scores.csv").write_bytes(BY_NAME["hotcrp/scores-2026.csv"].data)
    before = everything(tmp_path)
    assert message in refusal("import", "icx", "scores.csv", *words)
    assert everything(tmp_path) == before


def test_a_file_must_be_given_unless_the_folder_is_checked(folder: Path) -> None:
    assert call("import", "icx")[::2] == (
        2,
        "blindcal: give a FILE to import, or --dry-run to check the folder as it is\n",
    )
    succeed("import", "icx", "--dry-run")
    assert "must be a folder that `blindcal new` made" in refusal("import", "elsewhere", "scores.csv")


def test_a_bad_export_is_refused_with_its_places(folder: Path) -> None:
    text = BY_NAME["hotcrp/scores-2026.csv"].data.decode()
    Path("bad.csv").write_text(
        text.replace("org,2,2", "org,two,2").replace(",5,4", ",,").replace("zoe@example.net,1", ",1")
    )
    before = everything(folder)
    for dry in ((), ("--dry-run",)):
        err = refusal("import", "icx", "bad.csv", "--json", *dry)
        problems = json.loads(err)["error"]["problems"]
        assert [(p["row"], p["column"]) for p in problems] == [(3, "OveMer"), (7, "reviewer")]
        assert "zoe" not in err
    assert everything(folder) == before


def test_a_small_file_that_would_take_gigabytes_is_refused(folder: Path) -> None:
    Path("far.xlsx").write_bytes(BOMBS["far.xlsx"][0]())
    before = everything(folder)
    assert re.search(f"far.xlsx.*, row [0-9]+: {MEMORY}", refusal("import", "icx", "far.xlsx"))
    assert everything(folder) == before


def test_the_written_table_is_sorted_whatever_the_export(folder: Path) -> None:
    imported(BY_NAME["openreview/api1-labels.json"])
    with (folder / "inputs" / "reviews.csv").open(newline="", encoding="utf-8") as file:
        body = list(csv.reader(file))[1:]
    assert body == sorted(body)


def test_papers_that_the_export_calls_withdrawn_are_listed_or_kept(folder: Path) -> None:
    export = json.loads(BY_NAME["hotcrp/rqc-letters.json"].data)
    export["papers"][0]["status"] = "withdrawn"
    gone = f"{export['papers'][0]['pid']}"
    Path("rqc.json").write_text(json.dumps(export))
    succeed("new", "two")
    told = succeed("import", "icx", "rqc.json").out
    assert f"left out of the decisions: 1 paper withdrawn: {gone} (delete the line under [withdrawn]" in told
    assert read_folder(folder).withdrawn == {gone: "withdrawn, as the export says"}
    assert gone in {row["paper"] for row in table(folder / "inputs" / "reviews.csv")}
    assert "left out" not in succeed("import", "two", "rqc.json", "--keep", gone).out
    assert read_folder("two").withdrawn == {}
    export["papers"][0]["status"] = "submitted"
    Path("rqc.json").write_text(json.dumps(export))
    err = succeed("import", "icx", "rqc.json", "--as", "reviews").err
    assert "lists 1 paper that this export does not call withdrawn or decided under [withdrawn]" in err


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("reviews", "paper,reviewer,score\n1,a,3\n2,a,2\n"),
        ("committee", "first,last,email,roles\nAda,Byron,ada@example.edu,pc\n"),
        ("committee", "#,person #,first name,last name,email,role\n1,9,Ada,Byron,ada@x.org,chair\n"),
        ("conflicts", "paper,conflict\n1,a\n"),
        ("conflicts", "paper,action,email\n1,conflict,idle@example.org\n"),
        ("pools", "paper,reviewer,probability\n1,a,0.5\n1,b,0.5\n"),
        ("reviewers", "reviewer,slope,offset,noise\na,1,3,1\n"),
        ("titles", "paper,title\n1,On Widgets\n"),
        ("same", "old,new\nada@old.org,ada@example.edu\n"),
        ("evidence", "paper,evidence\n1,accept\n2,Reject\n"),
    ],
)
def test_a_file_is_taken_for_what_its_content_shows(kind: str, text: str, folder: Path) -> None:
    Path("file.csv").write_text(text)
    if kind == "evidence":
        err = refusal("import", "icx", "file.csv")
        assert "icx has no reviews yet: evidence must list each of their papers" in err
        Path("r.csv").write_text("paper,reviewer,score\n1,a,3\n2,a,2\n")
        succeed("import", "icx", "r.csv")
    assert succeed("import", "icx", "file.csv").out.startswith(f"file.csv: {kind}\n")
    setting = "pools" if kind == "conflicts" else kind
    assert read_folder(folder).settings[setting] == f"icx/inputs/{kind}.csv"


def test_what_is_not_clear_must_be_said(folder: Path) -> None:
    Path("list.csv").write_text("paper,reviewer\n1,a\n1,b\n")
    assert "give --as pools if these are all who may have reviewed" in refusal("import", "icx", "list.csv")
    succeed("import", "icx", "list.csv", "--as", "pools")
    Path("r.csv").write_text("paper,reviewer,score\n1,a,3\n2,a,2\n")
    succeed("import", "icx", "r.csv")
    err = refusal("import", "icx", "r.csv")
    assert "r.csv holds reviews, and there are reviews of this year already. Give --as past if" in err
    succeed("new", "two")
    Path("s.csv").write_text(Path("r.csv").read_text())
    err = refusal("import", "two", "r.csv", "s.csv")
    assert err.startswith("blindcal: s.csv holds reviews, and there are reviews of this year already. ")


LISTS = {
    "a list of authors": "paper,title,given_name,family_name,email,iscontact\n1,W,A,B,a@x.org,yes\n",
    "a list of preferences": "member #,member name,submission #,bid\n1,Ada,3,yes\n",
    "a list of metareviews": "submission #,member #,member name,recommendation,text\n3,1,Ada,accept,t\n",
    "the list of submissions": "#,title,authors,decision,deleted?\n1,W,A,accept,no\n",
    "this lists papers and people": "Paper ID,Paper Title,Reviewer Email\n1,W,a@x.org\n",
    "this says who is behind ids, for --map": "signature,profile_id\nX/Reviewer_1,~Ada1\n",
}


@pytest.mark.parametrize("what", LISTS)
@pytest.mark.parametrize("filled", [False, True])
def test_a_list_is_called_what_it_is_also_if_there_are_reviews(what: str, filled: bool, folder: Path) -> None:
    Path("r.csv").write_text("paper,reviewer,score\n1,a,3\n2,a,2\n")
    assert not filled or call("import", "icx", "r.csv")[0] == 0
    Path("list.csv").write_text(LISTS[what])
    err = refusal("import", "icx", "list.csv")
    assert err.startswith("blindcal: list.csv: must hold reviews: ")
    assert what in err
    if "ids" in what:
        assert call("import", "icx", "list.csv", "--as", "committee")[0] == 2, "it says who reviewed"


def test_past_years_are_put_in_order_and_say_what_they_lack(folder: Path) -> None:
    for year in ("2026", "2025"):
        Path(f"{year}.csv").write_text(f"paper,title,email,OveMer\n1,{year},a,3\n2,{year},a,2\n3,{year},a,\n")
    out = succeed("import", "icx", "2026.csv", "2025.csv", "--as", "past").out
    assert "past conferences, oldest first: 2025, 2026\n" in out
    assert "  past-better: were high scores the better ones in each of these years?" in out
    assert "past: 2025, 2 reviews, score OveMer\n" in out
    assert "note: 2026, 2025: 1 review without a score left out (row 4)\n" in out
    assert "metareviews" not in out
    assert call("import", "icx", "2026.csv", "--as", "past", "--dry-run")[1].endswith("once reviews are in\n")


def test_withdrawn_papers_are_asked_about_only_if_they_would_be_decided(folder: Path) -> None:
    Path("Reviews.txt").write_text("Paper ID\tReviewer Email\tRating\n1\ta@x.org\t3\n2\ta@x.org\t2\n")
    told = "does not say which papers were withdrawn"
    assert told in call("import", "icx", "Reviews.txt", "--dry-run")[1]
    assert told not in succeed("import", "icx", "Reviews.txt", "--as", "past").out


def test_no_decision_word_is_learned(folder: Path) -> None:
    """One desk reject, and all of the past: papers were once desk rejected by the words of such a file."""
    Path("now.csv").write_text(
        "paper,title,decision,email,OveMer\n1,W,Desk rejected,a,3\n2,X,,a,2\n3,Y,Accept (talk),a,1\n"
    )
    Path("2026.csv").write_text(
        "paper,title,decision,email,OveMer\n1,T,Accept (talk),a,5\n2,U,Desk rejected,a,1\n3,V,Rejected,a,4\n"
    )
    succeed("import", "icx", "now.csv")
    succeed("import", "icx", "2026.csv", "--as", "past")
    assert not {"accepted", "rejected"} & read_folder(folder).settings.keys()


@pytest.mark.parametrize(
    "shape", ["google_form", "microsoft_form", "german", "ojs_report", "transposed_matrix"]
)
def test_a_table_of_reviews_is_never_taken_for_the_committee(folder: Path, shape: str) -> None:
    Path("table").write_bytes(getattr(plain_files, shape)())
    before = everything(Path.cwd())
    for chosen in ((), ("--as", "committee")):
        refusal("import", "icx", "table", *chosen)
        assert everything(Path.cwd()) == before


METAREVIEWS = [str(SYSTEMS / f"hotcrp-3.4-{name}-metareviews.csv") for name in ("scores", "pcassignments")]


@pytest.mark.parametrize("files", [METAREVIEWS, METAREVIEWS[::-1]])
def test_a_list_of_assignments_beside_reviews_leaves_metareviews_out(folder: Path, files: list[str]) -> None:
    out = succeed("import", "icx", *files).out
    assert "dropped: 3 metareviews: they sum up reviews and are none themselves" in out
    assert len(table(folder / "inputs" / "reviews.csv")) == 90
    assert sorted(path.name for path in (folder / "inputs").iterdir()) == ["reviews.csv", "titles.csv"]
    assert "dropped: 3 metareviews" in succeed("import", "icx", *files, "--as", "reviews").out
    succeed("new", "two")
    out = succeed("import", "two", *files, "--as", "past").out
    assert "90 reviews, score OveMer; 3 metareviews left out" in out


def test_a_list_of_assignments_needs_the_reviews_it_is_about(folder: Path) -> None:
    before = everything(folder)
    err = refusal("import", "icx", METAREVIEWS[1])
    assert "says which reviews are metareviews: give it together with the one file" in err
    refusal("import", "icx", METAREVIEWS[0], "--as", "assignments")
    assert everything(folder) == before


def test_whole_numbers_of_a_spreadsheet_are_ids_of_whole_numbers(folder: Path) -> None:
    """Columns of whole numbers with an empty cell come back from a data frame as 1.0; other ids stay."""
    files = {
        "reviews": "paper,reviewer,score\n1.0,17.0,3\n1.0,18.0,2\n2.0,17.0,5\n",
        "conflicts": "paper,conflict\n1,18.0\n2.0,18.0\n",
        "committee": "reviewer\n17.0\n18.0\n",
        "titles": "paper,title\n1.0,On Widgets\n2.0,Gadgets\n",
    }
    for kind, text in files.items():
        Path(f"{kind}.csv").write_text(text)
    succeed("import", "icx", *(f"{kind}.csv" for kind in files))
    for kind in ("reviews", "conflicts", "committee"):
        assert (folder / "inputs" / f"{kind}.csv").read_text() == files[kind].replace(".0", "")
    assert read_titles(folder / "inputs" / "titles.csv") == {"1": "On Widgets", "2": "Gadgets"}
    succeed("new", "two")
    Path("reviews.csv").write_text("paper,reviewer,score\n1.0,a,3\n1.1,a,2\n2.0,b,5\n")
    succeed("import", "two", "reviews.csv")
    assert [row["paper"] for row in table(Path("two/inputs/reviews.csv"))] == ["1.0", "1.1", "2.0"]


OTHERS = {
    "conflicts": "paper,conflict\nP-1,a\nP-2,a\n",
    "pools": "paper,reviewer,probability\nP-1,a,1\nP-1,b,1\n",
    "titles": "paper,title\nP-1,On Widgets\n",
}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_list_about_other_papers_alone_is_refused(folder: Path, kind: str) -> None:
    """Conflicts were ignored, and `decide` warned when all was done."""
    Path("reviews.csv").write_text("paper,reviewer,score\n1,a,3\n2,a,2\n2,b,5\n")
    Path("list.csv").write_text(OTHERS[kind])
    succeed("import", "icx", "reviews.csv")
    before = everything(folder)
    err = refusal("import", "icx", "list.csv", "--as", kind)
    assert everything(folder) == before
    assert (
        "list.csv, column paper: must list papers that have reviews: are the ids spelled differently" in err
    )
    succeed("new", "two")
    assert call("import", "two", "list.csv", "--as", kind)[0] == 0, "before reviews are in nobody can tell"
    if kind != "titles":
        assert "must list papers that have reviews" in refusal("import", "two", "reviews.csv")


def decided_by_hand(*decisions: str) -> None:
    """A file of scores of a site that has made these decisions already."""
    papers = list(enumerate(decisions, start=1))
    rows = [
        f"{paper},P{paper},{decision},{who}@x.org,{paper % 5 + 1}"
        for paper, decision in papers
        for who in "ab"
    ]
    Path("now.csv").write_text("\n".join(["paper,title,decision,email,OveMer", *rows, ""]))


def test_papers_that_are_decided_already_are_left_out_and_kept_by_name_alone(folder: Path) -> None:
    decided_by_hand("Early reject", "", "Accept as talk", "", "Early reject", "Withdrawn by chair")
    out = succeed("import", "icx", "now.csv").out
    early, talk = "decided already (Early reject)", "decided already (Accept as talk)"
    for line in (f"2 papers {early}: 1, 5", f"1 paper {talk}: 3"):
        assert f"left out of the decisions: {line} (delete the line under [withdrawn]" in out
    assert read_folder(folder).withdrawn == {
        "1": f"{early}, as the export says",
        "3": f"{talk}, as the export says",
        "5": f"{early}, as the export says",
        "6": "withdrawn, as the export says",
    }
    new = ("new", "two", "--reviews", "now.csv", "--scores", "public", "--keep")
    assert "--keep: the export does not call paper '2' withdrawn" in refusal(*new, "1,2")
    assert "Early reject" not in succeed(*new, "1, 5").out
    assert [*read_folder("two").withdrawn] == ["3", "6"]


def test_a_site_that_has_decided_everything_is_no_list_of_papers_to_decide(folder: Path) -> None:
    decided_by_hand("Accepted", "Rejected", "Accepted")
    err = refusal("import", "icx", "now.csv")
    assert "no paper is left to decide: 2 papers decided already (Accepted): 1, 3; 1 paper" in err
    assert "give --as past; to decide papers all the same, name them with --keep" in err
    refusal("new", "two", "--reviews", "now.csv", "--scores", "public")
    succeed("import", "icx", "now.csv", "--keep", "1,2,3")
    assert read_folder(folder).withdrawn == {}


def test_decisions_that_blindcal_made_and_the_site_shows_are_its_own(published: Path) -> None:
    """The export that is downloaded for a correction has our decisions, and others by hand on new papers."""
    with (published / "public" / "release-1" / "decisions.csv").open(encoding="utf-8") as file:
        ours = {row["paper"]: f"{row['decision'].title()}ed" for row in csv.DictReader(file)}
    export = [*csv.DictReader(Path("downloads/scores.csv").read_text().splitlines())]
    export += [{**row, "paper": "999", "title": "Late"} for row in export[:2]]
    header = ["paper", "title", "decision", *[name for name in export[0] if name not in ("paper", "title")]]
    with Path("again.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, header)
        writer.writeheader()
        writer.writerows({**row, "decision": ours.get(row["paper"], "Early reject")} for row in export)
    before = read_folder(published).withdrawn
    out = succeed("import", "icx", "again.csv", "--as", "reviews").out
    assert "1 paper decided already (Early reject): 999" in out
    why = "decided already (Early reject), as the export says"
    assert read_folder(published).withdrawn == {**before, "999": why}


def test_past_years_come_in_order_and_a_corrected_one_keeps_its_place(folder: Path) -> None:
    for year, score in (("2024", 1), ("2025", 2), ("2026", 3)):
        Path(f"{year}.csv").write_text(f"paper,reviewer,score\n{year}a,a,{score}\n{year}b,a,5\n")
    succeed("import", "icx", "2024.csv", "2025.csv", "--as", "past")
    out = succeed("import", "icx", "2026.csv", "--as", "past", "--name", "last year").out
    assert "past conferences, oldest first: 2024, 2025, last year\n" in out
    Path("2025.csv").write_text("paper,reviewer,score\n2025a,a,4\n2025b,a,5\n")
    succeed("import", "icx", "2025.csv", "--as", "past")
    assert read_folder(folder).settings["past"] == (
        "icx/inputs/past/2024.csv",
        "icx/inputs/correction-1/past/2025.csv",
        "icx/inputs/past/last year.csv",
    )
    assert ",2\n" in (folder / "inputs" / "past" / "2025.csv").read_text(), "the earlier file is kept"


def test_a_correction_after_a_decision_keeps_the_earlier_file_and_the_decisions(published: Path) -> None:
    settings, reviews = published / "conference.toml", published / "inputs" / "reviews.csv"
    edit("numbered = true", "numbered = true  # mine\n# my note")
    before, kept = everything(published / "public"), reviews.read_bytes()
    export = Path("downloads/scores.csv").read_text().splitlines()
    export[1] = re.sub(
        r",\d,(\d)$", lambda match: f",{'1' if ',1,' not in match[0] else '2'},{match[1]}", export[1]
    )
    Path("corrected.csv").write_text("\n".join(export) + "\n")
    _, out, err = succeed("import", "icx", "corrected.csv", "--as", "reviews")
    assert err == ""
    assert "wrote icx/inputs/correction-1/reviews.csv\n" in out
    assert last(out) == 'next: if something was corrected, blindcal decide icx --amend --reason "..."'
    assert reviews.read_bytes() == kept
    assert everything(published / "public") == before
    assert read_folder(published).settings["reviews"] == "icx/inputs/correction-1/reviews.csv"
    assert "numbered = true  # mine\n# my note\n" in settings.read_text()
    assert "--amend" in refusal("decide", "icx", code=3)
    succeed("decide", "icx", "--amend", "--reason", "a mistyped score")
    succeed("verify", "icx")


def test_a_score_outside_the_declared_grid_is_refused(published: Path, tmp_path: Path) -> None:
    text = Path("downloads/scores.csv").read_text()
    Path("high.csv").write_text(re.sub(r",\d,(\d)$", r",9,\1", text, count=1, flags=re.M))
    before = everything(tmp_path)
    err = refusal("import", "icx", "high.csv", "--as", "reviews")
    assert everything(tmp_path) == before
    assert "high.csv, row 2, column OveMer: must be a score of the `grid` 1..5" in err


def test_an_interrupted_import_changes_nothing_that_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_exports(Path("downloads"))
    files = ("downloads/scores.csv", "downloads/pc.csv")
    before = (folder / "conference.toml").read_bytes()
    write, written = module.write_bytes, list[Path]()

    def interrupt(path: Path, data: bytes, **options: bool) -> None:
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(path)
        write(path, data, **options)

    with monkeypatch.context() as broken:
        broken.setattr(module, "write_bytes", interrupt)
        refusal("import", "icx", *files, code=130)
    assert (folder / "conference.toml").read_bytes() == before
    succeed("import", "icx", *files)
    assert sorted(path.name for path in (folder / "inputs").iterdir()) == [
        "committee.csv",
        "reviews.csv",
        "titles.csv",
    ]


def test_this_years_reviews_are_no_past_ones(published: Path, tmp_path: Path) -> None:
    before = everything(tmp_path)
    err = refusal("import", "icx", "downloads/scores.csv", "--as", "past")
    assert everything(tmp_path) == before
    assert "`past` must be other conferences than the one being decided" in err


def test_a_dry_run_says_what_is_in_a_table_and_names_nobody(folder: Path, tmp_path: Path) -> None:
    path = Path("r.csv")
    path.write_text(f"paper,reviewer,score\nP1,{CANARY},1\nP1,b,2\nP2,c,2\nP3,c,1\nP3,b,1\nP4,d,2\n")
    before = everything(tmp_path)
    _, out, err = succeed("import", "icx", "r.csv", "--dry-run")
    assert err == ""
    assert everything(tmp_path) == before
    assert CANARY not in out
    assert CONFIDENTIAL in out
    assert "would write icx/inputs/reviews.csv\n" in out
    assert "would set grid, reviews in icx/conference.toml\n" in out
    assert re.search(r"reviews per paper +1 to 2\n", out)
    assert re.search(r"grid +1 2\n", out)
    assert last(out) == "nothing was written: run it without --dry-run"
    succeed("import", "icx", "r.csv")
    edit('grid = "1..2"', "grid = [1, 2, 3]")
    report = json.loads(call("import", "icx", "--dry-run", "--json")[1])
    assert report["reviews"] == {
        "reviews": 6,
        "papers": 4,
        "reviewers": 4,
        "conferences": 1,
        "reviews_a_paper": [1, 2],
        "reviewers_with_one_review": 2,
        "connected_parts": 2,
        "lowest_and_highest_score": [1.0, 2.0],
        "grid": [1.0, 2.0, 3.0],
        "grid_declared": True,
    }
    assert (report["wrote"], report["would_write"]) == ([], [])


def test_a_withdrawn_paper_without_a_review_is_noted(folder: Path) -> None:
    Path("r.csv").write_text("paper,reviewer,score\nP1,a,1\nP2,a,2\nP3,b,2\n")
    edit("[withdrawn]\n", '[withdrawn]\nP1 = "x"\nnosuch = "y"\n')
    err = succeed("import", "icx", "r.csv").err
    assert "withdrawn: 'nosuch' has no review in r.csv" in " ".join(err.split())
    assert "P1" not in err
    assert re.search(r"papers +2\n", call("import", "icx", "--dry-run")[1])


def test_no_more_is_said_of_the_grid_than_the_scores_show(folder: Path) -> None:
    shown = {}
    scores_of = {"few": "147", "equal": "777", "many": [f"0.{n:02}" for n in range(1, 31)]}
    for name, scores in scores_of.items():
        rows = "".join(f"P{n},ann,{score}\n" for n, score in enumerate(scores))
        Path("r.csv").write_text(f"paper,reviewer,score\n{rows}")
        shown[name] = re.search(
            r"^grid  +(.*?) *$", call("import", "icx", "r.csv", "--dry-run")[1], re.MULTILINE
        )[1]
    assert shown == {
        "few": "1 2 3 4 5 6 7",
        "equal": "all scores are 7",
        "many": "none: scores look continuous",
    }
    succeed("import", "icx", "r.csv")
    assert "none: any number can be given" in call("import", "icx", "--dry-run")[1]


def test_one_paper_under_two_ids_is_noted(folder: Path, reviews: Path) -> None:
    """Whoever decides two halves of a paper decides neither."""
    reviews.write_text(reviews.read_text().replace("p01,", "P1,", 1))
    assert "differ only in capital letters" in succeed("import", "icx", str(reviews), "--dry-run").err


def test_a_dry_run_says_what_plan_would_refuse(published: Path) -> None:
    """Somebody who reviewed, or may have, and has no calibration."""
    text = Path("downloads/known.csv").read_text().splitlines(keepends=True)
    wrote = (published / "inputs" / "reviews.csv").read_text().splitlines()[1].split(",")[1]
    Path("fewer.csv").write_text("".join(row for row in text if not row.startswith(f"{wrote},")))
    before = everything(published)
    code, out, err = call("import", "icx", "fewer.csv", "--dry-run")
    assert code == 2, "what plan would refuse is no success"
    assert everything(published) == before
    assert "fewer.csv, column reviewer: must have a row for every reviewer" in err
    assert not any(name in out + err for name in PEOPLE)
    code, out, _ = call("import", "icx", "fewer.csv", "--dry-run", "--json")
    assert (code, bool(json.loads(out)["refused_by_plan"])) == (2, True)
    out = succeed("import", "icx", "fewer.csv").out
    assert last(out)[:47] == "next: correct this, then blindcal plan icx, whi"
    refused = call("import", "icx", "--dry-run")[2]
    err = refusal("plan", "icx")
    assert [line for line in err.splitlines() if "their names" not in line] == refused.splitlines()


def test_every_step_says_the_next_one(folder: Path) -> None:
    write_exports(Path("downloads"), papers=6)
    setting = "set scores and accept-rate or accept in icx/conference.toml"
    told = last(call("import", "icx", "downloads/scores.csv")[1])
    assert told == f"next: {setting}, then blindcal plan icx", "these reviews alone are enough"
    told = last(call("import", "icx", "downloads/pc.csv")[1])
    assert told == f"next: {setting}, then blindcal plan icx"
    told = last(call("import", "icx", "downloads/2025.csv", "--as", "past")[1])
    assert told == f"next: {setting}, then blindcal plan icx", "reviewers are calibrated at once"
    assert (folder / "inputs" / "reviewers.csv").exists()
    told = last(call("import", "icx", "downloads/known.csv")[1])
    assert told == f"next: {setting}, then blindcal plan icx"
    edit("# accept-rate =", "accept-rate =")
    edit("# scores =", "scores =")
    assert last(call("import", "icx", "--dry-run")[1]) == "next: blindcal plan icx"


# --- `blindcal new`: from downloads to a folder, and from there to decisions without another option.


@pytest.fixture
def exports(place: Path) -> Path:
    """The downloads of a chair."""
    return write_exports(place / "downloads")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[int, str, str]]:
    """A folder that was made with past reviews, once for all tests, and what was said."""
    place = tmp_path_factory.mktemp("fitted")
    with pytest.MonkeyPatch.context() as patch:
        short_fits(patch, place)
        given = options(write_exports(Path("downloads")), "reviews", "committee", "past", "conflicts")
        return place, call("new", "icx", *given, "--accept", "30%")


@pytest.fixture
def made(fitted: tuple[Path, tuple[int, str, str]], place: Path) -> tuple[int, str, str]:
    """The same folder, copied to where a test may change it."""
    shutil.copytree(fitted[0], place, dirs_exist_ok=True)
    return fitted[1]


def test_three_commands_from_downloads_to_certified_decisions(
    made: tuple[int, str, str], tmp_path: Path
) -> None:
    code, out, err = made
    what = "a HotCRP bulk assignment: 1 row that is no conflict left out"
    assert code == 0
    # How long a fit takes may be said after it.
    assert err.startswith(f"blindcal: downloads/bulk.csv was read as {what}\n")
    assert "next: blindcal plan icx\n" in out
    assert not any(name in out for name in PEOPLE)
    assert {path.name for path in tmp_path.iterdir()} == {"downloads", "icx", "icx.key"}
    for path in (tmp_path / "icx").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    assert [row["reviewer"] for row in table(Path("icx/inputs/committee.csv"))] == [
        *PEOPLE,
        "idle@example.org",
    ]
    assert table(Path("icx/inputs/conflicts.csv")) == [{"paper": "1", "conflict": "idle@example.org"}]
    assert len(table(Path("icx/inputs/reviewers.csv"))) == 10, "everyone, and a row *"
    found = read_folder("icx")
    assert found.settings["grid"] == "1..5"
    assert found.settings["past"] == ("icx/inputs/past/2025.csv", "icx/inputs/past/2026.csv")
    assert "10 papers" in succeed("plan", "icx").out
    out = succeed("decide", "icx").out
    assert "public: icx/public/release-1/decisions.csv" in out
    assert "CONFIDENTIAL, never share: icx.key, icx.key.sealed" in out
    assert json.loads(Path("icx/public/release-1/certificate.json").read_text())["conference"] == "icx"
    shared = everything(Path("icx/public"))
    assert sorted(Path(name).name for name in shared) == ["certificate.json", "decisions.csv"]
    assert not any(name.encode() in data for name in PEOPLE for data in shared.values())
    succeed("verify", "icx")
    succeed("import", "icx", "--dry-run")


def test_fit_makes_again_what_new_made(made: tuple[int, str, str]) -> None:
    table = Path("icx/inputs/reviewers.csv")
    first, checks = table.read_bytes(), Path(f"{table}.fit.json").read_bytes()
    assert call("fit", "icx")[0] == 0, "what a fit wrote is made again as long as nothing was decided"
    assert (table.read_bytes(), Path(f"{table}.fit.json").read_bytes()) == (first, checks)
    table.unlink()
    Path(f"{table}.fit.json").unlink()
    err = refusal("plan", "icx")
    assert (
        "there is no calibration icx/inputs/reviewers.csv yet: `blindcal fit icx` makes it from past" in err
    )
    succeed("fit", "icx")
    assert (table.read_bytes(), Path(f"{table}.fit.json").read_bytes()) == (first, checks)


def test_a_calibration_that_was_changed_or_decided_with_is_not_replaced(made: tuple[int, str, str]) -> None:
    table = Path("icx/inputs/reviewers.csv")
    first = table.read_bytes()
    table.write_bytes(first + b"mine,1,3,0.5,0,0,0,0,0\n")
    assert f"To fit again, move {table} and {table}.fit.json away" in refusal("fit", "icx", code=3)
    assert table.read_bytes().endswith(b"mine,1,3,0.5,0,0,0,0,0\n")
    table.write_bytes(first)
    succeed("decide", "icx")
    _, out, err = succeed("fit", "icx")
    assert table.read_bytes() == first
    assert f"papers are decided: the calibration keeps the shift and stretch of {table}, and decisions" in err
    assert "`blindcal decide` with --amend and --reason decides new papers by it" in err
    assert f"CONFIDENTIAL, never share: {table}," in out, "the same table is not written twice"
    shutil.rmtree("icx/public")
    Path("corrected.csv").write_text(Path("downloads/2025.csv").read_text().replace(",5,", ",4,"))
    succeed("import", "icx", "corrected.csv", "--as", "past", "--name", "2025")
    code, _, err = call("fit", "icx")
    assert (code, table.read_bytes()) == (0, first), "the sealed record knows that papers were decided"
    assert read_folder("icx").settings["reviewers"] == "icx/inputs/correction-2/reviewers.csv"
    assert Path("icx/inputs/correction-2/reviewers.csv").read_bytes() != first


def test_a_calibration_corrected_after_deciding_leaves_decisions(
    made: tuple[int, str, str],
) -> None:
    def decisions(release: int) -> bytes:
        return Path(f"icx/public/release-{release}/decisions.csv").read_bytes()

    succeed("decide", "icx")
    Path("corrected.csv").write_text(Path("downloads/2025.csv").read_text().replace(",5,", ",4,"))
    succeed("import", "icx", "corrected.csv", "--as", "past", "--name", "2025")
    succeed("fit", "icx")
    assert "corrected pools or calibration leave decisions as they are" in refusal("decide", "icx", code=3)
    out = succeed("decide", "icx", "--amend", "--reason", "2025 corrected").out
    assert decisions(2) == decisions(1)
    assert "0 papers decided now, 10 kept their decisions" in out
    succeed("verify", "icx")


def test_a_committee_that_was_not_complete_is_completed_and_fitted_again(made: tuple[int, str, str]) -> None:
    committee, table = Path("icx/inputs/committee.csv"), Path("icx/inputs/reviewers.csv")
    whole, first = committee.read_text(), table.read_bytes()
    committee.write_text(re.sub(f"{PEOPLE[0]}.*\n", "", whole))
    _, out, fitted = succeed("fit", "icx")
    assert out.splitlines()[-1].startswith("next: correct this, then blindcal plan icx, which says who")
    said = refusal("import", "icx", "--dry-run")
    assert said.splitlines() == fitted.splitlines()[-2:]
    assert not list(Path().rglob("CONFIDENTIAL-*")), "whoever only checks writes nothing"
    err = refusal("plan", "icx")
    lines = err.splitlines()
    assert said.splitlines() == lines[:2]
    assert lines[0] == (
        f"blindcal: {committee}, column reviewer: must list everyone who may have reviewed, found 1 person "
        "missing who reviewed"
    )
    assert "without looking at who reviewed" in lines[1]
    assert lines[1].endswith("Then `blindcal fit icx`")
    assert lines[2].startswith("blindcal: their names")
    assert "--pools" not in err
    committee.write_text(whole)
    said = call("import", "icx", "--dry-run")[2]
    err = refusal("plan", "icx")
    assert said.splitlines() == err.splitlines()[:2]
    assert f"{table}, column reviewer: must have a row for everyone in {committee}, found 1 person" in err
    assert "the committee has changed since: `blindcal fit icx`" in err
    assert not any(name in err for name in PEOPLE)
    succeed("fit", "icx")
    assert table.read_bytes() == first
    succeed("plan", "icx")


def test_new_says_of_the_fit_what_fit_says(made: tuple[int, str, str]) -> None:
    _, said, remarks = made
    _, out, err = succeed("fit", "icx")
    findings = out[out.index("part of a score's variance") : out.index("CONFIDENTIAL, never")]
    assert "moved to this year's scale: shift" in findings
    assert findings in said
    for line in err.splitlines():
        assert line in remarks or " took " in line


def test_it_ends_with_the_answer_of_plan(made: tuple[int, str, str]) -> None:
    """Both solve all of these few papers, so that nothing is estimated."""
    own = next(line for line in made[1].splitlines() if "xpected gain: " in line)
    assert succeed("plan", "icx").out.splitlines()[0] == own


def test_what_a_given_calibration_was_fitted_on_comes_along(made: tuple[int, str, str]) -> None:
    again = ["--reviews", "downloads/2026.csv", "--reviewers", "icx/inputs/reviewers.csv"]
    again += ["--scores", "public", "--accept", "30%"]
    succeed("new", "two", *again)
    err = refusal("plan", "two")
    assert "fitted on" in err, "the reviews that are decided must not be those it was fitted on"


def test_a_calibration_and_a_key_can_be_given(exports: Path, tmp_path: Path) -> None:
    (tmp_path / "safe").mkdir()
    key = make_key(tmp_path / "safe" / "own.key")
    given = [*options(exports, "reviews", "reviewers"), "--key", "safe/own.key"]
    code, out, _ = call("new", "icx", *given, "--json")
    facts = json.loads(out)
    assert (code, facts["fingerprint"], facts["calibrated"]) == (0, key.fingerprint, None)
    assert facts["settings"]["key"] == "../safe/own.key"
    assert "accept-rate" not in facts["settings"]
    assert facts["advice"] is None, "it is not said how many papers to accept"
    assert Path("icx/inputs/reviewers.csv").read_bytes() == (exports / "known.csv").read_bytes()
    refusal("decide", "icx")
    edit("# accept-rate =", "accept-rate =")
    succeed("decide", "icx")
    assert (tmp_path / "safe" / "own.key.sealed").exists()


@pytest.mark.parametrize("given", [[], ["--scores", "secret"]])
def test_who_may_see_the_scores_must_be_said(exports: Path, tmp_path: Path, given: list[str]) -> None:
    before = everything(tmp_path)
    err = refusal("new", "icx", "--reviews", str(exports / "scores.csv"), *given)
    assert "--scores must be public or confidential, found " in err
    assert "public: everyone may see the scores of all papers" in err
    assert "confidential: only the decisions and what was promised are published" in err
    assert everything(tmp_path) == before


def test_someone_not_on_the_committee_is_counted_and_not_named(exports: Path) -> None:
    (exports / "pc.csv").write_text("reviewer\n" + "\n".join(PEOPLE[1:]) + "\n")
    _, out, err = succeed("new", "icx", *options(exports, "reviews", "committee", "reviewers"))
    assert "a reviewer who is not on the committee" in err
    assert not any(name in out + err for name in PEOPLE)


def test_scores_in_letters_and_own_columns(exports: Path) -> None:
    marks = zip("1122", "abab", "ABCA", strict=True)
    Path("own.csv").write_text("item;who;mark\n" + "".join(f"{p};{w};{m}\n" for p, w, m in marks))
    assert "--columns" in refusal("new", "icx", "--reviews", "own.csv", "--scores", "public")
    assert not Path("icx").exists()
    words = ["--columns", "paper=item,reviewer=who,score=mark", "--best-first", "A,B,C"]
    succeed("new", "icx", "--reviews", "own.csv", "--scores", "public", *words)
    assert [row["score"] for row in table(Path("icx/inputs/reviews.csv"))] == ["3", "2", "1", "3"]


def test_evidence_from_elsewhere_is_refused_with_its_places(folder: Path) -> None:
    Path("r.csv").write_text("paper,reviewer,score\n1,a,3\n1,b,4\n2,a,2\n2,c,5\n")
    succeed("import", "icx", "r.csv")
    Path("e.csv").write_text("paper,evidence\n1,accept\n1,reject\n2,maybe\n9,accept\n")
    err = refusal("import", "icx", "e.csv", "--as", "evidence", "--json")
    problems = json.loads(err)["error"]["problems"]
    places = [(3, "paper"), (4, "evidence"), (5, "paper"), (None, "evidence")]
    assert [(p["row"], p["column"]) for p in problems] == places
    Path("e.csv").write_text("paper,evidence,why\n1,accept,x\n2,accept,y\n")
    told = "e.csv, row 1, column 3: must be one of the known columns (paper, evidence)"
    assert told in refusal("import", "icx", "e.csv", "--as", "evidence")
    assert "evidence" not in read_folder(folder).settings


def test_evidence_goes_without_past_reviews_and_with_reviews(exports: Path) -> None:
    Path("e.csv").write_text("paper,evidence\n1,accept\n")
    err = refusal("new", "icx", *options(exports, "reviews", "reviewers"), "--evidence", "e.csv")
    assert "--evidence or past reviews, not both" in err
    assert "--evidence needs --reviews" in refusal("new", "icx", "--evidence", "e.csv")


def test_evidence_from_elsewhere_decides_is_amended_and_verified(place: Path) -> None:
    """With numbers: an amendment brings new rows, and earlier papers stay on their side of the line."""
    rng = np.random.default_rng(4)
    scores = {
        (paper, who): int(rng.integers(1, 11)) for paper in range(1, 31) for who in rng.choice(12, 3, False)
    }
    numbers = {paper: float(rng.normal()) for paper in range(1, 31)}

    def write(scores: dict[tuple[int, int], int], numbers: dict[int, float]) -> None:
        rows = [f"{paper},r{who},{score}" for (paper, who), score in scores.items()]
        Path("r.csv").write_text("\n".join(["paper,reviewer,score", *rows, ""]))
        rows = [f"{paper},{number}" for paper, number in numbers.items()]
        Path("e.csv").write_text("\n".join(["paper,evidence", *rows, ""]))

    write(scores, numbers)
    given = ["--reviews", "r.csv", "--evidence", "e.csv", "--accept", "20%", "--scores", "confidential"]
    _, out, err = succeed("new", "icx", *given)
    assert "can dictate decisions" in err
    assert "past: not set" not in out
    _, out, err = succeed("plan", "icx")
    assert "can dictate decisions" in err
    assert out.startswith("Random draws decide ")
    assert "no gain is stated" in out
    assert "gain over" not in out
    assert [*json.loads(call("plan", "icx", "--json")[1])["menu"][0]] == ["guarantee", "lots"]
    assert "can dictate decisions" in succeed("decide", "icx").err
    assert call("decide", "icx")[1].startswith("30 papers, ")
    certificate = json.loads(Path("icx/public/release-1/certificate.json").read_text())
    assert certificate["source"] == "file"
    assert "outside_evidence" in certificate["assumptions"]
    assert not {name for name in certificate if name.startswith("expected_wrong")}
    # A new paper of the best number is accepted, the others keep their levels; a changed row is refused.
    late = {(paper, who): 6 for paper in (31, 32) for who in range(paper - 30, paper - 27)}
    write({**scores, **late}, {**numbers, 31: 99.0, 32: -99.0})
    err = succeed("import", "icx", "r.csv", "--as", "reviews").err
    assert "`blindcal import icx FILE --as evidence` brings evidence" in err
    refusal("decide", "icx", "--amend", "--reason", "late")
    write({**scores, **late}, {**numbers, 31: 99.0, 32: -99.0, 1: 50.0, 2: 50.0, 3: 50.0})
    succeed("import", "icx", "e.csv")
    err = refusal("decide", "icx", "--amend", "--reason", "late", code=3)
    assert "leaves all other rows as they were" in err
    write({**scores, **late}, {**numbers, 31: 99.0, 32: -99.0})
    succeed("import", "icx", "e.csv")
    assert "new: 31, 32" in succeed("decide", "icx", "--amend", "--reason", "late").out
    assert "already decided" in call("decide", "icx")[1]
    succeed("verify", "icx")
    # The row of a paper that was withdrawn may stay.
    edit("[withdrawn]\n", '[withdrawn]\n"5" = "by its authors"\n')
    succeed("decide", "icx", "--amend", "--reason", "withdrawn")
    succeed("verify", "icx")


def test_a_committee_that_came_along_answers_how_many_people_reviewed(exports: Path) -> None:
    question = "people: not set"
    assert question in succeed("new", "asked", *options(exports, "reviews")).out
    assert question not in succeed("new", "listed", *options(exports, "reviews", "committee")).out


BAD = {
    "no committee": (["reviews", "past"], [], "--past needs --committee"),
    "key inside": (["reviews"], ["--key", "icx/key.bin"], "must not lie in the folder"),
    "no reviews": ([], ["--scores", "public", "--reviews", "none.csv"], "none.csv: there is no such file"),
    "no export": (
        [],
        ["--scores", "public", "--reviews", "downloads/pc.csv"],
        "must hold reviews: this is a list of people",
    ),
    "bad share": (["reviews"], ["--accept", "0.25"], "for a share of the papers write 25%"),
    "whole share": (["reviews"], ["--accept", "100%"], "--accept must be a share of the papers like 25%"),
    "bad number": (["reviews"], ["--accept", "-3"], "found '-3'"),
    "bad tracks": (["reviews"], ["--accept", "main=40,main=10"], "a number for each track"),
    "bad pools": (["reviews"], ["--pools", "downloads/known.csv"], "known.csv, row 1: must be the header"),
    "reviews as committee": (
        ["reviews"],
        ["--committee", "downloads/scores.csv"],
        "this one is about papers",
    ),
    "same past": (
        ["reviews", "committee", "past"],
        ["--past", "downloads/2025.csv"],
        "must have different names",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said_and_nothing_is_written(case: str, exports: Path, tmp_path: Path) -> None:
    names, more, message = BAD[case]
    assert message in refusal("new", "icx", *options(exports, *names), *more)
    assert [path.name for path in tmp_path.iterdir()] == ["downloads"]


def test_a_name_with_control_characters_is_refused_before_anything_is_written(
    exports: Path, tmp_path: Path
) -> None:
    before = sorted(tmp_path.rglob("*"))
    code, out, err = call("new", "ic\x1bx", *options(exports, "reviews"))
    assert (code, out) == (2, "")
    assert "must be a name without control or invisible characters" in err
    assert sorted(tmp_path.rglob("*")) == before


def test_what_to_do_with_a_folder_that_was_made_already(exports: Path) -> None:
    given = options(exports, "reviews", "reviewers")
    succeed("new", "icx", *given)
    err = refusal("new", "icx", *given, code=3)
    assert "`blindcal import icx FILE` brings a file or a correction into it" in err
    assert "settings are changed in icx/conference.toml" in err


def test_conflicts_that_exclude_nobody_are_said_at_once(exports: Path) -> None:
    Path("own.csv").write_text(f"paper,email\n1,idle@example.org\n99,{PEOPLE[0]}\n")
    given = [*options(exports, "reviews", "reviewers"), "--conflicts", "own.csv"]
    err = succeed("new", "icx", *given, "--accept", "30%").err
    assert "icx/inputs/conflicts.csv has conflicts for 1 paper without any review" in err
    assert "icx/inputs/conflicts.csv has conflicts of a person without calibration" in err
    assert not any(name in err for name in (*PEOPLE, "idle@example.org"))


def test_a_run_that_fails_at_the_end_can_be_run_again(exports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key is made just before the folder has its name; it is then used, and no second one made."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(create.os, "rename", interrupt)
        refusal("new", "icx", *options(exports, "reviews"), code=130)
    assert sorted(path.name for path in Path().iterdir()) == ["downloads", "icx.key"]
    before = Path("icx.key").read_bytes()
    succeed("new", "icx", *options(exports, "reviews"))
    assert Path("icx.key").read_bytes() == before


@pytest.fixture
def withdrawn(place: Path) -> list[str]:
    """HotCRP's JSON in which two papers were withdrawn and one desk rejected: options of `new` for it."""
    export = json.loads((SYSTEMS / "hotcrp-3.4-jsonrqc-metareview-round.json").read_text(encoding="utf-8"))
    for paper in export["papers"]:
        paper |= {"status": "submitted", "decision": ""}
    for place, status in ((3, "withdrawn"), (8, "deskrejected"), (29, "withdrawn")):
        export["papers"][place]["status"] = status
    Path("rqc.json").write_text(json.dumps(export), encoding="utf-8")
    people = {review["reviewer_email"].lower() for paper in export["papers"] for review in paper["reviews"]}
    known = "".join(f"{who},1,4,1\n" for who in sorted(people))
    Path("known.csv").write_text(f"reviewer,slope,offset,noise\n{known}", encoding="utf-8")
    return ["--reviews", "rqc.json", "--reviewers", "known.csv", "--accept", "30%", "--scores", "public"]


def test_papers_that_the_export_calls_withdrawn_are_not_decided(withdrawn: list[str]) -> None:
    said = json.loads(succeed("new", "two", *withdrawn, "--json").out)
    assert said["withdrawn"] == {"4": "withdrawn", "9": "desk rejected", "30": "withdrawn"}
    out = succeed("new", "icx", *withdrawn).out
    assert "left out of the decisions: 2 papers withdrawn: 4, 30 (delete the line under [withdrawn]" in out
    assert "left out of the decisions: 1 paper desk rejected: 9 (" in out
    reason = "withdrawn, as the export says"
    expected = {"4": reason, "9": "desk rejected, as the export says", "30": reason}
    assert read_folder("icx").withdrawn == expected
    assert len({row["paper"] for row in table(Path("icx/inputs/reviews.csv"))}) == 30
    succeed("decide", "icx")
    decided = {row["paper"] for row in table(Path("icx/public/release-1/decisions.csv"))}
    assert decided == {f"{paper}" for paper in range(1, 31)} - expected.keys()


def test_a_past_year_keeps_reviews_of_withdrawn_papers_but_no_metareviews(withdrawn: list[str]) -> None:
    reviews, people = (str(SYSTEMS / f"hotcrp-3.4-{name}.csv") for name in ("scores-past", "pcinfo"))
    given = ("--reviews", reviews, "--committee", people, "--past", "rqc.json", "--scores", "public")
    out = succeed("new", "icx", *given).out
    assert "past: rqc, 92 reviews; 1 metareview left out\n" in out
    assert len({row["paper"] for row in table(Path("icx/inputs/past/rqc.csv"))}) == 30
    assert read_folder("icx").withdrawn == {}


def test_a_folder_is_made_before_reviews_are_in(exports: Path, tmp_path: Path) -> None:
    """So that the fingerprint of the key can be published first."""
    _, out, err = succeed("new", "icx")
    assert err == ""
    key = read_key(tmp_path / "icx.key")
    assert f"key: icx.key, fingerprint {key.fingerprint}\n" in out
    assert "Publish the fingerprint before reviews are in" in out
    assert out.endswith("next: blindcal import icx FILE, once reviews are in\n")
    assert sorted(path.name for path in Path("icx").iterdir()) == ["conference.toml", "inputs", "public"]
    assert not {"reviews", "grid", "scores"} & read_folder("icx").settings.keys()
    files = [str(exports / name) for name in ("scores.csv", "known.csv")]
    succeed("import", "icx", *files)
    edit("# accept-rate =", "accept-rate =")
    code, _, err = call("decide", "icx")
    assert (code, "must be public or confidential" in err) == (2, True), "scores have no default"
    edit('# scores = "confidential"', 'scores = "public"')
    succeed("decide", "icx")
    certificate = json.loads(Path("icx/public/release-1/certificate.json").read_text())
    assert key.fingerprint in json.dumps(certificate)


def test_everything_but_reviews_may_come_first(exports: Path) -> None:
    given = options(exports, "committee", "past", "conflicts")
    out = succeed("new", "icx", *given, "--accept", "50", "--scores", "public").out
    assert "next: blindcal import icx FILE, once reviews are in\n" in out
    assert succeed("import", "icx", str(exports / "scores.csv")).out.endswith("next: blindcal plan icx\n")
    succeed("fit", "icx")


@pytest.mark.parametrize(
    ("text", "line"),
    [("25%", "accept-rate = 0.25"), ("50", "accept = 50"), ("main=4,short=1", 'accept = "main=4,short=1"')],
)
def test_one_option_says_what_to_accept(text: str, line: str, exports: Path) -> None:
    succeed("new", "icx", "--accept", text)
    assert f"\n{line}\n" in Path("icx/conference.toml").read_text()


def test_the_advice_names_every_folder_to_back_up(exports: Path) -> None:
    out = call("new", "icx", "--key", "one.bin")[1]
    assert "one.bin.sealed, which remembers what was decided" in out
    assert "one.bin.shared, which remembers what was shared" in out


@pytest.mark.parametrize(("folder", "what"), [("sealed", "decisions"), ("shared", "shared sums")])
def test_no_key_is_made_if_one_was_lost(folder: str, what: str, exports: Path, tmp_path: Path) -> None:
    (tmp_path / f"key.bin.{folder}").mkdir()
    err = refusal("new", "icx", "--key", "key.bin", code=3)
    assert f"key.bin.{folder} holds {what} of a key that is missing" in err
    assert not (tmp_path / "key.bin").exists()


@pytest.mark.parametrize("key", [".", "..", "/", "downloads"])
def test_a_folder_for_a_key_is_bad_input(key: str, exports: Path) -> None:
    code, _, err = call("new", "icx", "--key", key)
    assert code in (2, 3)
    assert "internal error" not in err
    assert not Path("icx").exists()


def test_a_key_that_cannot_be_used_is_refused(exports: Path, tmp_path: Path) -> None:
    for data, mode, word in ((bytes(32), 0o644, "chmod 600"), (bytes(31), 0o600, "32 bytes")):
        key = tmp_path / "key.bin"
        key.write_bytes(data)
        key.chmod(mode)
        err = refusal("new", "icx", "--key", "key.bin")
        assert word in err
        assert not Path("icx").exists()
        key.unlink()


MEMBERS = ["Ada Byron", "Kurt Gödel", "Søren Holm", "Wei Wang", "Wei Wang", "Mo Núñez", "Eva Fox", "Jo Ng"]
HEADER = "#,submission #,member #,member name,number,version,text,scores,date,time,attachment?"


def easychair_reviews(seed: int, members: list[str], papers: int = 16) -> str:
    """EasyChair's review.csv, made up: three reviews of each paper by members who go by number and name."""
    rng = np.random.default_rng(seed)
    lines = [HEADER]
    for paper in range(1, papers + 1):
        quality = rng.normal()
        for who in rng.choice(len(members), 3, replace=False):
            score = int(np.clip(round(quality + (who - 3) / 3 + 0.5 * rng.normal()), -3, 3))
            cell = f'"Overall evaluation: {score}\nReviewer\'s confidence: 3"'
            lines.append(f"{len(lines)},{paper},{1 + who},{members[who]},1,1,text,{cell},2026-03-01,10:15,no")
    return "\n".join(lines) + "\n"


@pytest.fixture
def easychair(place: Path) -> None:
    """This year's zip, by email; two past years of review.csv alone, by name; a list of emails alone."""
    head = "#,person #,first name,last name,email,country,affiliation,Web page,role\n"
    people = [f"{n},{500 + n},{','.join(name.split())},u{n}@x.org,X,U,," for n, name in enumerate(MEMBERS, 1)]
    with zipfile.ZipFile("2027.zip", "w") as archive:
        archive.writestr("review.csv", easychair_reviews(1, MEMBERS))
        archive.writestr("committee.csv", head + "PC member\n".join([*people, ""]))
    Path("review-2026.csv").write_text(easychair_reviews(2, [*MEMBERS[:4], "Ivo Past", *MEMBERS[5:]]))
    before = [
        "Byron, Ada",
        "Kurt Goedel",
        "Soren Holm",
        "Ann Gone",
        "Ivo Past",
        "M. Nunez",
        "E. Fox",
        "Jo Ng",
    ]
    Path("review-2025.csv").write_text(easychair_reviews(3, [name.replace(", ", " ") for name in before]))
    Path("emails.csv").write_text("email\n" + "".join(f"u{n}@x.org\n" for n in range(1, 9)))


GIVEN = ["--reviews", "2027.zip", "--past", "review-2025.csv", "--past", "review-2026.csv"]


def test_members_by_email_and_past_reviewers_by_name_are_one(easychair: None, tmp_path: Path) -> None:
    before = everything(tmp_path)
    code, out, err = call("new", "icx", *GIVEN, "--committee", "emails.csv", "--scores", "public")
    assert (code, out, everything(tmp_path)) == (2, "", before)
    assert "0 of 8 members found in past reviews: members go by email, past reviewers by name" in err
    assert "column name beside the ids" in err
    assert "(--same)" in err
    _, out, err = succeed("new", "icx", *GIVEN, "--committee", "2027.zip", "--scores", "public")
    assert "calibrated: 6 of 8 members found in past reviews" in out
    people = Path("icx/inputs/reviewers.csv.people.csv")
    assert f"9 past ids taken for a member under another id: {people} lists them" in err
    assert (
        f"3 past ids may be a member's and were left out: write yes or no into the column taken of {people}"
        in err
    )
    assert not any(word in out + err for name in MEMBERS for word in name.split() if len(word) > 2)
    found = {(row["old"], row["new"]): (row["why"], row["taken"]) for row in table(people)}
    assert found == {
        ("Byron Ada", "u1@x.org"): ("same name", "yes"),
        ("Ada Byron", "u1@x.org"): ("same name", "yes"),
        ("Kurt Goedel", "u2@x.org"): ("same name", "yes"),
        ("Kurt Gödel", "u2@x.org"): ("same name", "yes"),
        ("Soren Holm", "u3@x.org"): ("same name", "yes"),
        ("Søren Holm", "u3@x.org"): ("same name", "yes"),
        ("Wei Wang", "u4@x.org"): ("same name", "no"),
        ("Wei Wang", "u5@x.org"): ("same name", "no"),
        ("M. Nunez", "u6@x.org"): ("initials", "no"),
        ("Mo Núñez", "u6@x.org"): ("same name", "yes"),
        ("E. Fox", "u7@x.org"): ("initials", "no"),
        ("Eva Fox", "u7@x.org"): ("same name", "yes"),
        ("Jo Ng", "u8@x.org"): ("same name", "yes"),
    }


def test_what_is_left_open_is_settled_by_the_table_itself(easychair: None) -> None:
    succeed("new", "icx", *GIVEN, "--committee", "2027.zip", "--scores", "public")
    people = Path("icx/inputs/reviewers.csv.people.csv")
    before = {row["reviewer"]: row["reviews"] for row in table(Path("icx/inputs/reviewers.csv"))}
    text = people.read_text()
    Path("mine.csv").write_text(
        text.replace("u5@x.org,same name,no", "u5@x.org,same name,yes").replace("initials,no", "initials,yes")
    )
    assert succeed("import", "icx", "mine.csv").out.splitlines()[0] == "mine.csv: same"
    assert "7 of 8 members found in past reviews" in succeed("fit", "icx").out
    after = {row["reviewer"]: row["reviews"] for row in table(Path("icx/inputs/reviewers.csv"))}
    assert int(before["u5@x.org"]) == 0 < int(after["u5@x.org"])
    assert int(after["u7@x.org"]) > int(before["u7@x.org"])
    assert after["u4@x.org"] == "0"


def test_who_reviewed_this_year_decides_nothing_about_who_is_found(easychair: None) -> None:
    """Other members wrote each of this year's reviews: no byte about members changes."""
    with zipfile.ZipFile("2027.zip") as archive:
        committee = archive.read("committee.csv")
    text = easychair_reviews(1, MEMBERS)
    lines = re.sub(
        r"^(\d+,\d+),(\d),([^,]+),", lambda m: f"{m[1]},{1 + int(m[2]) % 8},{m[3]},", text, flags=re.M
    )
    with zipfile.ZipFile("turned.zip", "w") as archive:
        archive.writestr("review.csv", lines)
        archive.writestr("committee.csv", committee)
    made = []
    for name, zipped in (("icx", "2027.zip"), ("two", "turned.zip")):
        given = ["--reviews", zipped, *GIVEN[2:], "--committee", "2027.zip", "--scores", "public"]
        succeed("new", name, *given)
        made.append({file: Path(name, "inputs", file).read_bytes() for file in FOUND})
    assert made[0] == made[1]


FOUND = ("reviewers.csv", "reviewers.csv.people.csv", "committee.csv")


def test_hotcrp_this_year_and_openreview_before(place: Path) -> None:
    """Emails now, profiles then; this system's file of the year before has one person's old address."""
    notes = (SYSTEMS / "openreview-py-2.9.1-neurips2023-labels.json").read_text(encoding="utf-8")
    # From NeurIPS' scale of 2 to 8 to this year's of 1 to 6.
    notes = re.sub(r'("rating": {"value": )"(\d)[^"]*"', lambda m: f"{m[1]}{round(0.7 * int(m[2]))}", notes)
    Path("2023.json").write_text(notes, encoding="utf-8")
    for file in ("scores-past", "pcinfo"):
        text = (SYSTEMS / f"hotcrp-3.4-{file}.csv").read_text(encoding="utf-8")
        Path(f"{file}.csv").write_text(
            text.replace("otto@example.edu", "otto@new.example.org"), encoding="utf-8"
        )
    succeed("new", "icx", "--scores", "confidential")
    succeed("import", "icx", "scores-past.csv", "pcinfo.csv")
    who = ["--map", str(SYSTEMS / "openreview-neurips2023-people.csv")]
    succeed("import", "icx", "2023.json", "--as", "past", *who)
    assert "20 of 20 members found in past reviews" in succeed("fit", "icx").out
    people = Path("icx/inputs/reviewers.csv.people.csv")
    found = {row["old"]: row["new"] for row in table(people) if row["taken"] == "yes"}
    assert len(found) == 20
    assert (found["~Otto_P_rez__Jr_1"], found["~Ada_Byron1"]) == ("otto@new.example.org", "ada@example.edu")
    before = (SYSTEMS / "hotcrp-3.4-scores.csv").read_text(encoding="utf-8")
    Path("2024.csv").write_text(before, encoding="utf-8")
    edit('past = ["inputs/past/2023.csv"]', "past = []")
    succeed("import", "icx", "2024.csv", "--as", "past")
    succeed("fit", "icx")
    assert [(row["old"], row["new"], row["why"]) for row in table(people)] == [
        ("otto@example.edu", "otto@new.example.org", "same name")
    ]


# --- What a chair has in several files, under several names, or typed on another system


def committee_of(folder: Path) -> list[str]:
    return [row["reviewer"] for row in table(folder / "inputs" / "committee.csv")]


def test_lists_of_the_committee_add_up(folder: Path) -> None:
    """External reviewers stand in a list of their own; a name that one list lacks comes from the other."""
    Path("pc.csv").write_text("reviewer,name\nada,Ada Byron\nbo,\n")
    Path("external.csv").write_text("reviewer,name\nbo,Bo Chen\ncy,\n")
    succeed("import", "icx", "pc.csv", "external.csv", "--as", "committee")
    assert table(folder / "inputs" / "committee.csv") == [
        {"reviewer": "ada", "name": "Ada Byron"},
        {"reviewer": "bo", "name": "Bo Chen"},
        {"reviewer": "cy", "name": ""},
    ]
    succeed("new", "two", "--committee", "pc.csv", "--committee", "external.csv")
    assert committee_of(Path("two")) == ["ada", "bo", "cy"]


def test_a_list_that_replaces_the_committee_says_who_is_no_longer_on_it(folder: Path) -> None:
    Path("pc.csv").write_text("reviewer\nada\nbo\n")
    Path("external.csv").write_text("reviewer\ncy\nbo\n")
    assert call("import", "icx", "pc.csv", "--as", "committee")[::2] == (0, "")
    err = succeed("import", "icx", "external.csv", "--as", "committee").err
    assert "1 person of icx/inputs/committee.csv is not in this list: give all lists together" in err
    assert "ada" not in err


def test_the_row_for_anyone_else_is_refused_in_lists_of_people_and_reviews(folder: Path) -> None:
    Path("pc.csv").write_text("reviewer\nada\n*\n")
    Path("r.csv").write_text("paper,reviewer,score\n1,ada,2\n1,*,3\n2,ada,1\n2,*,3\n")
    assert "pc.csv, row 3: must list people" in refusal("import", "icx", "pc.csv", "--as", "committee")
    err = refusal("import", "icx", "r.csv")
    assert "r.csv, row 3, column reviewer: must be a person: * stands for" in err
    assert not [*(folder / "inputs").iterdir()]


def test_a_list_of_assignments_marks_metareviews_in_a_new_folder_too(folder: Path) -> None:
    files = [str(SYSTEMS / f"hotcrp-3.4-{name}-metareviews.csv") for name in ("scores", "pcassignments")]
    succeed("import", "icx", *files, "--as", "reviews")
    given = ("--reviews", files[0], "--assignments", files[1], "--accept", "25%", "--scores", "public")
    succeed("new", "two", *given)
    assert table(Path("two/inputs/reviews.csv")) == table(folder / "inputs" / "reviews.csv")
    assert len(table(Path("two/inputs/reviews.csv"))) < len(table(Path(files[0])))


TWO_SCORES = [f"P{p},{who},1,{p + 2}" for p in (1, 2, 3) for who in "abc"]


@pytest.mark.parametrize("past", ["Score before,Score after", "Rating"])
def test_one_option_names_the_score_of_this_year_and_of_the_past(past: str, folder: Path) -> None:
    """A form that had one score then is taken as it is, and the field is said."""
    Path("r.csv").write_text("\n".join(["paper,reviewer,Score before,Score after", *TWO_SCORES, ""]))
    cells = [
        [f"Q{p}", who, f"{p}", f"{p + 1}"][: 2 + len(past.split(","))] for p in (7, 8, 9) for who in "abc"
    ]
    Path("2026.csv").write_text("\n".join([f"paper,reviewer,{past}", *map(",".join, cells), ""]))
    Path("pc.csv").write_text("reviewer\na\nb\nc\nd\n")
    given = ("--reviews", "r.csv", "--past", "2026.csv", "--committee", "pc.csv", "--accept", "1")
    assert "Score before, Score after" in refusal("new", "two", *given, "--scores", "public")
    out = succeed("new", "two", *given, "--scores", "public", "--score-field", "Score after").out
    assert [row["score"] for row in table(Path("two/inputs/reviews.csv"))] == [*"333444555"]
    two = "after" in past
    wanted = ["8", "9", "10"] if two else ["7", "8", "9"]
    assert [row["score"] for row in table(Path("two/inputs/past/2026.csv"))[::3]] == wanted
    assert ("past: 2026, 9 reviews, score Rating" in out) == (not two)


def test_names_typed_on_different_systems_are_one_person(folder: Path) -> None:
    """A letter and its accent are two characters on some systems and one on others."""
    Path("pc.csv").write_text("reviewer\nZoe\u0308\nbo\n")
    Path("r.csv").write_text("paper,reviewer,score\n1,Zo\u00eb,2\n1,bo,3\n2,Zo\u00eb,1\n2,bo,3\n")
    Path("c.csv").write_text("paper,conflict\n3,Zoe\u0308\n1,cy\n")
    succeed("import", "icx", "r.csv", "pc.csv", "c.csv")
    assert committee_of(folder) == ["Zo\u00eb", "bo"]
    assert "not on the committee" not in call("import", "icx", "r.csv", "--as", "reviews")[2]
    reviews = folder / "inputs" / "reviews.csv"
    reviews.write_text(unicodedata.normalize("NFD", reviews.read_text()))
    assert folder_reviews(read_folder(folder)).reviewers == ("Zo\u00eb", "bo")


def test_a_calibration_before_the_committee_is_completed_step_by_step(folder: Path) -> None:
    """Fitted without a committee, then conflicts, then the committee: messages say which list lacks whom."""
    names = [*"abcdefgh"]
    rows = {year: [(f"{year}{p}", names[(p + k) % 8]) for p in range(12) for k in range(3)] for year in "pr"}
    for year, written in rows.items():
        kept = [pair for pair in written if year == "r" or pair[1] in "abcde"]
        text = "".join(f"{paper},{who},{1 + (ord(who) + int(paper[1:]) % 3) % 5}\n" for paper, who in kept)
        Path(f"{year}.csv").write_text(f"paper,reviewer,score\n{text}")
    Path("pc.csv").write_text("reviewer\n" + "".join(f"{name}\n" for name in names))
    Path("c.csv").write_text("paper,conflict\nr1,zoe\n")
    succeed("import", "icx", "r.csv")
    assert (
        last(call("import", "icx", "p.csv", "--as", "past")[1])
        == "next: blindcal import icx FILE --as committee"
    )
    succeed("fit", "icx")
    _, out, err = call("import", "icx", "c.csv")
    assert "found 3 people missing" in err
    assert "it was fitted without a committee: `blindcal import icx FILE --as committee`" in err
    _, out, err = call("import", "icx", "pc.csv")
    assert "calibrated" in out or "confidence" in out or "variance" in out
    assert "missing" not in err
    assert last(out).endswith("then blindcal plan icx")


def test_a_grid_far_wider_than_the_scores_is_pointed_out(folder: Path) -> None:
    Path("r.csv").write_text(
        "paper,reviewer,score\n"
        + "".join(f"{p},{w},{1 + (p + p // 3 * i) % 9}\n" for p in range(12) for i, w in enumerate("abc"))
    )
    succeed("import", "icx", "r.csv")
    edit("# accept-rate =", "accept-rate =")
    edit("# scores =", "scores =")
    edit('grid = "1..9"', 'grid = "1..100"')
    warning = "the scores given are 1 to 9, and `grid` says 1, 2, ..., 100: could all of these be given?"
    for command in (("plan", "icx"), ("import", "icx", "--dry-run"), ("decide", "icx")):
        err = succeed(*command).err
        assert err.count(warning) == 1


def test_similar_ids_are_pointed_out_once_by_each_command(folder: Path) -> None:
    Path("r.csv").write_text("paper,reviewer,score\nP1,a,3\np 1,b,2\nP2,a,1\nP2,b,4\nP3,a,4\nP3,b,2\n")
    made = call("new", "two", "--reviews", "r.csv", "--accept", "1", "--scores", "public")
    for code, _, err in (made, call("plan", "two")):
        assert (code, err.count("differ only in capital letters")) == (0, 1)


def test_the_list_of_submissions_says_what_became_of_papers(folder: Path) -> None:
    """CMT's export of reviews says nothing of withdrawn papers; that of submissions has a column Status."""
    Path("r.csv").write_text(
        "paper,reviewer,score\n" + "".join(f"{p},{w},{p}\n" for p in (1, 2, 3, 4, 5) for w in "ab")
    )
    statuses = {1: "Awaiting Decision", 2: "Withdrawn", 3: "Desk Reject", 4: "Accept", 5: "", 9: "Withdrawn"}
    rows = "".join(f"{paper}\tOn {paper}\t{status}\n" for paper, status in statuses.items())
    Path("submissions.tsv").write_text(f"Paper ID\tPaper Title\tStatus\n{rows}")
    assert "import it once reviews are in" in refusal("import", "icx", "submissions.tsv")
    succeed("import", "icx", "r.csv")
    assert "submissions.tsv: statuses" in succeed("import", "icx", "submissions.tsv").out
    withdrawn = read_folder(folder).withdrawn
    assert {paper: why.partition(", as")[0] for paper, why in withdrawn.items()} == {
        "2": "withdrawn",
        "3": "desk rejected",
        "4": "decided already (Accept)",
    }
    Path("gone.tsv").write_text("Paper ID\tStatus\n" + "".join(f"{p}\tWithdrawn\n" for p in range(1, 6)))
    assert "no paper is left to decide" in refusal("import", "icx", "gone.tsv")


FORM = "Timestamp,Your email,Paper title,Overall score (1 to 10)\n" + "".join(
    f"1/{i}/2027,{w}@x.org,Widgets and {p},{2 + i}\n" for i, w in enumerate("abcd") for p in "XYZ"
)
FORM_COLUMNS = "paper=Paper title,reviewer=Your email,score=Overall score (1 to 10)"


def test_new_names_the_rows_of_the_file_for_a_paper_that_is_spelled_in_two_ways(folder: Path) -> None:
    lines = FORM.splitlines()
    lines[8] = lines[8].replace("Widgets and Y", "widgets  and Y")
    Path("form.csv").write_text("\n".join(lines) + "\n")
    given = ("--scores", "public", "--accept", "50%", "--columns", FORM_COLUMNS)
    code, _, err = call("new", "two", "--reviews", "form.csv", *given)
    (named,) = re.findall(r"the papers in rows ([0-9]+) and ([0-9]+) differ", err)
    assert (code, {int(row) for row in named}) == (0, {3, 9})
    assert {"Widgets and Y", "widgets  and Y"} == {lines[int(row) - 1].split(",")[2] for row in named}


def test_the_range_that_a_heading_states_is_the_doubt_about_the_grid(folder: Path) -> None:
    Path("form.csv").write_text(FORM)
    given = ("--scores", "public", "--accept", "50%", "--columns", FORM_COLUMNS)
    code, out, _ = call("new", "two", "--reviews", "form.csv", *given)
    said = 'grid = 2..5: taken from the scores given; its heading says 1..10: then write grid = "1..10"'
    assert (code, said in out) == (0, True)
