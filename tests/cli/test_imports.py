"""`blindcal import`: files in a folder and their modes, what is said, corrections, codes, refusals."""

from __future__ import annotations

import csv
import json
import re
import stat
from pathlib import Path

import pytest

pytest.importorskip("typer")

import plain_files
from blindcal.cli.console import CONFIDENTIAL
from blindcal.exporters.formats import read_titles
from blindcal.project import imports as module
from blindcal.project import read_folder
from chair_exports import PEOPLE, options, write_exports
from commands import CANARY, call
from exports import BY_NAME, EXPORTS, Export, rows_of
from small_bombs import BOMBS, MEMORY
from small_conferences import everything

pytestmark = pytest.mark.edge
SYSTEMS = Path(__file__).parents[1] / "data" / "systems"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, made before reviews are in."""
    monkeypatch.chdir(tmp_path)
    assert call("new", "icx")[0] == 0
    return Path("icx")


@pytest.fixture
def decided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose papers are decided."""
    monkeypatch.chdir(tmp_path)
    exports = write_exports(tmp_path / "downloads", papers=6)
    assert call("new", "icx", *options(exports, "reviews", "reviewers"), "--accept", "50%")[0] == 0
    assert call("decide", "icx")[0] == 0
    return Path("icx")


def imported(export: Export, *more: str) -> tuple[int, str, str]:
    _, path, *words = export.arguments
    return call("import", "icx", path, *words, *more)


def table(path: Path) -> list[dict[str, str]]:
    return rows_of(path.read_bytes())


def last(out: str) -> str:
    return out.rstrip("\n").split("\n")[-1]


@pytest.mark.parametrize("export", EXPORTS, ids=[export.name for export in EXPORTS])
def test_every_export_becomes_a_table_that_is_read_again(export: Export, folder: Path) -> None:
    code, told, err = imported(export)
    assert (code, err) == (0, "")
    assert f"recognized: {export.recognized}" in told
    assert "dropped: the order of rows: it can reveal who wrote a review\n" in told
    reviews = folder / "inputs" / "reviews.csv"
    assert len(table(reviews)) == len(export.expected)
    assert {stat.S_IMODE(path.stat().st_mode) for path in reviews.parent.iterdir()} == {0o600}
    assert call("import", "icx", "--dry-run")[0] == 0
    before = everything(folder)
    code, told, _ = call("import", "icx", str(reviews), "--as", "reviews")
    assert (code, "the folder has this already: nothing to write" in told) == (0, True)
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
    assert call("new", "two")[0] == 0
    assert call("import", "two", "icx/inputs/reviews.csv")[0] == 0
    assert not Path("two/inputs/committee.csv").exists()


def test_several_maps_are_one(folder: Path) -> None:
    export = BY_NAME["openreview/api2-replies.json"]
    header, *people = export.path.with_suffix(".map").read_text().splitlines()
    words = []
    for number, half in enumerate((people[::2], people[1::2])):
        Path(f"{number}.csv").write_text("\n".join([header, *half, ""]))
        words += ["--map", f"{number}.csv"]
    code, _, err = call("import", "icx", str(export.path), *words)
    assert (code, err) == (0, "")
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
    assert call("new", "later")[0] == 0
    _, path, *words = export.arguments
    assert call("import", "later", path, *words, "--codes", "codes.csv")[0] == 0
    assert Path("later/inputs/reviews.csv").read_bytes() == first.read_bytes()
    assert codes.read_bytes() == before
    Path("pc.csv").write_text("reviewer,name\nnew@example.org,Newcomer\n")
    assert call("import", "later", "pc.csv", "--codes", "codes.csv")[0] == 0
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
    code, _, err = call("import", "icx", "scores.csv", *words)
    assert code == 2
    assert message in err
    assert everything(tmp_path) == before


def test_a_file_must_be_given_unless_the_folder_is_checked(folder: Path) -> None:
    assert call("import", "icx")[::2] == (
        2,
        "blindcal: give a FILE to import, or --dry-run to check the folder as it is\n",
    )
    assert call("import", "icx", "--dry-run")[0] == 0
    code, _, err = call("import", "elsewhere", "scores.csv")
    assert (code, "must be a folder that `blindcal new` made" in err) == (2, True)


def test_a_bad_export_is_refused_with_its_places(folder: Path) -> None:
    text = BY_NAME["hotcrp/scores-2026.csv"].data.decode()
    Path("bad.csv").write_text(
        text.replace("org,2,2", "org,two,2").replace(",5,4", ",,").replace("zoe@example.net,1", ",1")
    )
    before = everything(folder)
    for dry in ((), ("--dry-run",)):
        code, _, err = call("import", "icx", "bad.csv", "--json", *dry)
        assert code == 2
        problems = json.loads(err)["error"]["problems"]
        assert [(p["row"], p["column"]) for p in problems] == [(3, "OveMer"), (7, "reviewer")]
        assert "zoe" not in err
    assert everything(folder) == before


@pytest.mark.parametrize("name", ["far.xlsx", "far.xls", "rows.csv.gz"])
def test_a_small_file_that_would_take_gigabytes_is_refused(name: str, folder: Path) -> None:
    Path(name).write_bytes(BOMBS[name][0]())
    before = everything(folder)
    code, out, err = call("import", "icx", name)
    assert (code, out) == (2, "")
    assert re.search(f"{re.escape(name)}.*, row [0-9]+: {MEMORY}", err)
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
    assert call("new", "two")[0] == 0
    code, told, _ = call("import", "icx", "rqc.json")
    assert code == 0
    assert f"left out of the decisions: 1 paper withdrawn: {gone} (delete the line under [withdrawn]" in told
    assert read_folder(folder).withdrawn == {gone: "withdrawn, as the export says"}
    assert gone in {row["paper"] for row in table(folder / "inputs" / "reviews.csv")}
    code, told, _ = call("import", "two", "rqc.json", "--keep", gone)
    assert (code, "left out" in told, read_folder("two").withdrawn) == (0, False, {})
    export["papers"][0]["status"] = "submitted"
    Path("rqc.json").write_text(json.dumps(export))
    code, _, err = call("import", "icx", "rqc.json", "--as", "reviews")
    assert code == 0
    assert "lists 1 paper that this export does not call withdrawn or decided under [withdrawn]" in err


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("reviews", "paper,reviewer,score\n1,a,3\n2,a,2\n"),
        ("committee", "first,last,email,roles\nAda,Byron,ada@example.edu,pc\n"),
        ("conflicts", "paper,conflict\n1,a\n"),
        ("conflicts", "paper,action,email\n1,conflict,idle@example.org\n"),
        ("pools", "paper,reviewer,probability\n1,a,0.5\n1,b,0.5\n"),
        ("reviewers", "reviewer,slope,offset,noise\na,1,3,1\n"),
        ("titles", "paper,title\n1,On Widgets\n"),
        ("same", "old,new\nada@old.org,ada@example.edu\n"),
    ],
)
def test_a_file_is_taken_for_what_its_content_shows(kind: str, text: str, folder: Path) -> None:
    Path("file.csv").write_text(text)
    code, out, err = call("import", "icx", "file.csv")
    assert code == 0, err
    assert out.startswith(f"file.csv: {kind}\n")
    setting = "pools" if kind == "conflicts" else kind
    assert read_folder(folder).settings[setting] == f"icx/inputs/{kind}.csv"


def test_what_is_not_clear_must_be_said(folder: Path) -> None:
    Path("list.csv").write_text("paper,reviewer\n1,a\n1,b\n")
    code, _, err = call("import", "icx", "list.csv")
    assert code == 2
    assert "give --as pools if these are all who may have reviewed" in err
    assert call("import", "icx", "list.csv", "--as", "pools")[0] == 0
    Path("r.csv").write_text("paper,reviewer,score\n1,a,3\n2,a,2\n")
    assert call("import", "icx", "r.csv")[0] == 0
    code, _, err = call("import", "icx", "r.csv")
    assert code == 2
    assert "r.csv holds reviews, and there are reviews of this year already. Give --as past if" in err


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
    code, _, err = call("import", "icx", "list.csv")
    assert code == 2
    assert err.startswith("blindcal: list.csv: must hold reviews: ")
    assert what in err
    if "ids" in what:
        assert call("import", "icx", "list.csv", "--as", "committee")[0] == 2, "it says who reviewed"


def test_what_easychair_calls_its_committee_is_one(folder: Path) -> None:
    Path("pc.csv").write_text("#,person #,first name,last name,email,role\n1,9,Ada,Byron,ada@x.org,chair\n")
    assert call("import", "icx", "pc.csv")[1].startswith("pc.csv: committee\n")


def test_of_two_files_of_reviews_one_must_be_past(folder: Path) -> None:
    for year in ("2026", "2027"):
        Path(f"{year}.csv").write_text("paper,reviewer,score\n1,a,3\n2,a,2\n")
    err = call("import", "icx", "2026.csv", "2027.csv")[2]
    assert err.startswith("blindcal: 2027.csv holds reviews, and there are reviews of this year already. ")


def test_past_years_are_put_in_order_and_say_what_they_lack(folder: Path) -> None:
    for year in ("2026", "2025"):
        Path(f"{year}.csv").write_text(f"paper,title,email,OveMer\n1,{year},a,3\n2,{year},a,2\n3,{year},a,\n")
    code, out, _ = call("import", "icx", "2026.csv", "2025.csv", "--as", "past")
    assert code == 0
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
    code, out, _ = call("import", "icx", "Reviews.txt", "--as", "past")
    assert code == 0
    assert told not in out


def test_no_decision_word_is_learned(folder: Path) -> None:
    """One desk reject, and all of the past: papers were once desk rejected by the words of such a file."""
    Path("now.csv").write_text(
        "paper,title,decision,email,OveMer\n1,W,Desk rejected,a,3\n2,X,,a,2\n3,Y,Accept (talk),a,1\n"
    )
    Path("2026.csv").write_text(
        "paper,title,decision,email,OveMer\n1,T,Accept (talk),a,5\n2,U,Desk rejected,a,1\n3,V,Rejected,a,4\n"
    )
    assert call("import", "icx", "now.csv")[0] == 0
    assert call("import", "icx", "2026.csv", "--as", "past")[0] == 0
    assert not {"accepted", "rejected"} & read_folder(folder).settings.keys()


@pytest.mark.parametrize(
    "shape", ["google_form", "microsoft_form", "german", "ojs_report", "transposed_matrix"]
)
def test_a_table_of_reviews_is_never_taken_for_the_committee(folder: Path, shape: str) -> None:
    Path("table").write_bytes(getattr(plain_files, shape)())
    before = everything(Path.cwd())
    for chosen in ((), ("--as", "committee")):
        code, _, err = call("import", "icx", "table", *chosen)
        assert (code, everything(Path.cwd())) == (2, before), err


METAREVIEWS = [str(SYSTEMS / f"hotcrp-3.4-{name}-metareviews.csv") for name in ("scores", "pcassignments")]


@pytest.mark.parametrize("files", [METAREVIEWS, METAREVIEWS[::-1]])
def test_a_list_of_assignments_beside_reviews_leaves_metareviews_out(folder: Path, files: list[str]) -> None:
    code, out, err = call("import", "icx", *files)
    assert code == 0, err
    assert "dropped: 3 metareviews: they sum up reviews and are none themselves" in out
    assert len(table(folder / "inputs" / "reviews.csv")) == 90
    assert sorted(path.name for path in (folder / "inputs").iterdir()) == ["reviews.csv", "titles.csv"]
    code, out, err = call("import", "icx", *files, "--as", "reviews")
    assert (code, "dropped: 3 metareviews" in out) == (0, True), err
    assert call("new", "two")[0] == 0
    code, out, err = call("import", "two", *files, "--as", "past")
    assert code == 0, err
    assert "90 reviews, score OveMer; 3 metareviews left out" in out


def test_a_list_of_assignments_needs_the_reviews_it_is_about(folder: Path) -> None:
    before = everything(folder)
    code, _, err = call("import", "icx", METAREVIEWS[1])
    assert (code, "says which reviews are metareviews: give it together with the one file" in err) == (
        2,
        True,
    )
    code, _, err = call("import", "icx", METAREVIEWS[0], "--as", "assignments")
    assert code == 2
    assert everything(folder) == before


SPREADSHEET = "paper,reviewer,score\n1.0,17.0,3\n1.0,18.0,2\n2.0,17.0,5\n"


def test_whole_numbers_of_a_spreadsheet_are_ids_of_whole_numbers(folder: Path) -> None:
    """Columns of whole numbers with an empty cell come back from a data frame as 1.0."""
    Path("reviews.csv").write_text(SPREADSHEET)
    Path("conflicts.csv").write_text("paper,conflict\n1,18\n2.0,18.0\n".replace(",18\n", ",18.0\n", 1))
    Path("titles.csv").write_text("paper,title\n1.0,On Widgets\n2.0,Gadgets\n")
    Path("pc.csv").write_text("reviewer\n17.0\n18.0\n")
    given = ("reviews.csv", "conflicts.csv", "titles.csv", "pc.csv")
    assert call("import", "icx", *given)[0] == 0
    inputs = folder / "inputs"
    assert [(row["paper"], row["reviewer"]) for row in table(inputs / "reviews.csv")] == [
        ("1", "17"),
        ("1", "18"),
        ("2", "17"),
    ]
    assert [(row["paper"], row["conflict"]) for row in table(inputs / "conflicts.csv")] == [
        ("1", "18"),
        ("2", "18"),
    ]
    assert [row["reviewer"] for row in table(inputs / "committee.csv")] == ["17", "18"]
    names = read_titles(folder / "inputs" / "titles.csv")
    assert names == {"1": "On Widgets", "2": "Gadgets"}


def test_ids_that_are_not_all_whole_numbers_stay(folder: Path) -> None:
    Path("reviews.csv").write_text("paper,reviewer,score\n1.0,a,3\n1.1,a,2\n2.0,b,5\n")
    assert call("import", "icx", "reviews.csv")[0] == 0
    assert [row["paper"] for row in table(folder / "inputs" / "reviews.csv")] == ["1.0", "1.1", "2.0"]


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
    assert call("import", "icx", "reviews.csv")[0] == 0
    before = everything(folder)
    code, _, err = call("import", "icx", "list.csv", "--as", kind)
    assert (code, everything(folder)) == (2, before)
    assert (
        "list.csv, column paper: must list papers that have reviews: are the ids spelled differently" in err
    )
    assert call("new", "two")[0] == 0
    assert call("import", "two", "list.csv", "--as", kind)[0] == 0, "before reviews are in nobody can tell"
    if kind != "titles":
        code, _, err = call("import", "two", "reviews.csv")
        assert (code, "must list papers that have reviews" in err) == (2, True)
        code, _, err = call(
            "new", "icy", "--reviews", "reviews.csv", f"--{kind}", "list.csv", "--scores", "public"
        )
        assert (code, "must list papers that have reviews" in err) == (2, True)


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
    code, out, _ = call("import", "icx", "now.csv")
    assert code == 0
    early, talk = "decided already (Early reject)", "decided already (Accept as talk)"
    for line in (f"2 papers {early}: 1, 5", f"1 paper {talk}: 3"):
        assert f"left out of the decisions: {line} (delete the line under [withdrawn]" in out
    assert read_folder(folder).withdrawn == {
        "1": f"{early}, as the export says",
        "3": f"{talk}, as the export says",
        "5": f"{early}, as the export says",
        "6": "withdrawn, as the export says",
    }
    assert call("new", "two")[0] == 0
    code, _, err = call("import", "two", "now.csv", "--keep", "1,2")
    assert (code, "--keep: the export does not call paper '2' withdrawn" in err) == (2, True)
    code, out, _ = call("import", "two", "now.csv", "--keep", "1, 5")
    assert (code, "Early reject" in out, [*read_folder("two").withdrawn]) == (0, False, ["3", "6"])


def test_a_site_that_has_decided_everything_is_no_list_of_papers_to_decide(folder: Path) -> None:
    decided_by_hand("Accepted", "Rejected", "Accepted")
    code, _, err = call("import", "icx", "now.csv")
    assert code == 2
    assert "no paper is left to decide: 2 papers decided already (Accepted): 1, 3; 1 paper" in err
    assert "give --as past; to decide papers all the same, name them with --keep" in err
    assert call("new", "two", "--reviews", "now.csv", "--scores", "public")[0] == 2
    assert call("import", "icx", "now.csv", "--keep", "1,2,3")[0] == 0
    assert read_folder(folder).withdrawn == {}


def test_decisions_that_blindcal_made_and_the_site_shows_are_its_own(decided: Path) -> None:
    """The export that is downloaded for a correction has our decisions, and others by hand on new papers."""
    with (decided / "public" / "release-1" / "decisions.csv").open(encoding="utf-8") as file:
        ours = {row["paper"]: f"{row['decision'].title()}ed" for row in csv.DictReader(file)}
    export = [*csv.DictReader(Path("downloads/scores.csv").read_text().splitlines())]
    export += [{**row, "paper": "999", "title": "Late"} for row in export[:2]]
    header = ["paper", "title", "decision", *[name for name in export[0] if name not in ("paper", "title")]]
    with Path("again.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, header)
        writer.writeheader()
        writer.writerows({**row, "decision": ours.get(row["paper"], "Early reject")} for row in export)
    before = read_folder(decided).withdrawn
    code, out, err = call("import", "icx", "again.csv", "--as", "reviews")
    assert code == 0, err
    assert "1 paper decided already (Early reject): 999" in out
    why = "decided already (Early reject), as the export says"
    assert read_folder(decided).withdrawn == {**before, "999": why}


def test_past_years_come_in_order_and_a_corrected_one_keeps_its_place(folder: Path) -> None:
    for year, score in (("2024", 1), ("2025", 2), ("2026", 3)):
        Path(f"{year}.csv").write_text(f"paper,reviewer,score\n{year}a,a,{score}\n{year}b,a,5\n")
    assert call("import", "icx", "2024.csv", "2025.csv", "--as", "past")[0] == 0
    code, out, _ = call("import", "icx", "2026.csv", "--as", "past", "--name", "last year")
    assert code == 0
    assert "past conferences, oldest first: 2024, 2025, last year\n" in out
    Path("2025.csv").write_text("paper,reviewer,score\n2025a,a,4\n2025b,a,5\n")
    assert call("import", "icx", "2025.csv", "--as", "past")[0] == 0
    assert read_folder(folder).settings["past"] == (
        "icx/inputs/past/2024.csv",
        "icx/inputs/correction-1/past/2025.csv",
        "icx/inputs/past/last year.csv",
    )
    assert ",2\n" in (folder / "inputs" / "past" / "2025.csv").read_text(), "the earlier file is kept"


def test_a_correction_after_a_decision_keeps_the_earlier_file_and_the_decisions(decided: Path) -> None:
    settings, reviews = decided / "conference.toml", decided / "inputs" / "reviews.csv"
    settings.write_text(settings.read_text().replace("numbered = true", "numbered = true  # mine\n# my note"))
    before, kept = everything(decided / "public"), reviews.read_bytes()
    export = Path("downloads/scores.csv").read_text().splitlines()
    export[1] = re.sub(
        r",\d,(\d)$", lambda match: f",{'1' if ',1,' not in match[0] else '2'},{match[1]}", export[1]
    )
    Path("corrected.csv").write_text("\n".join(export) + "\n")
    code, out, err = call("import", "icx", "corrected.csv", "--as", "reviews")
    assert (code, err) == (0, "")
    assert "wrote icx/inputs/correction-1/reviews.csv\n" in out
    assert last(out) == 'next: if something was corrected, blindcal decide icx --amend --reason "..."'
    assert reviews.read_bytes() == kept
    assert everything(decided / "public") == before
    assert read_folder(decided).settings["reviews"] == "icx/inputs/correction-1/reviews.csv"
    assert "numbered = true  # mine\n# my note\n" in settings.read_text()
    code, _, err = call("decide", "icx")
    assert (code, "--amend" in err) == (3, True)
    assert call("decide", "icx", "--amend", "--reason", "a mistyped score")[0] == 0
    assert call("verify", "icx")[0] == 0


def test_a_score_outside_the_declared_grid_is_refused(decided: Path, tmp_path: Path) -> None:
    text = Path("downloads/scores.csv").read_text()
    Path("high.csv").write_text(re.sub(r",\d,(\d)$", r",9,\1", text, count=1, flags=re.M))
    before = everything(tmp_path)
    code, _, err = call("import", "icx", "high.csv", "--as", "reviews")
    assert (code, everything(tmp_path)) == (2, before)
    assert "high.csv, row 2, column OveMer: must be a score of the `grid` 1..5" in err


def test_a_setting_over_several_lines_is_rewritten(decided: Path) -> None:
    settings = decided / "conference.toml"
    text = settings.read_text().replace(
        'reviews = "inputs/reviews.csv"', 'reviews = """\ninputs/reviews.csv"""'
    )
    settings.write_text(text)
    assert read_folder(decided).settings["reviews"] == "icx/inputs/reviews.csv"
    assert call("import", "icx", "downloads/2025.csv", "--as", "reviews")[0] == 0
    after = settings.read_text()
    assert read_folder(decided).settings["reviews"] == "icx/inputs/correction-1/reviews.csv"
    assert len(after.splitlines()) == len(text.splitlines()) - 1


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
        assert call("import", "icx", *files)[0] == 130
    assert (folder / "conference.toml").read_bytes() == before
    assert call("import", "icx", *files)[0] == 0
    assert sorted(path.name for path in (folder / "inputs").iterdir()) == [
        "committee.csv",
        "reviews.csv",
        "titles.csv",
    ]


def test_this_years_reviews_are_no_past_ones(decided: Path, tmp_path: Path) -> None:
    before = everything(tmp_path)
    code, _, err = call("import", "icx", "downloads/scores.csv", "--as", "past")
    assert (code, everything(tmp_path)) == (2, before)
    assert "`past` must be other conferences than the one being decided" in err


def test_a_dry_run_says_what_is_in_a_table_and_names_nobody(folder: Path, tmp_path: Path) -> None:
    path = Path("r.csv")
    path.write_text(f"paper,reviewer,score\nP1,{CANARY},1\nP1,b,2\nP2,c,2\nP3,c,1\nP3,b,1\nP4,d,2\n")
    before = everything(tmp_path)
    code, out, err = call("import", "icx", "r.csv", "--dry-run")
    assert (code, err) == (0, "")
    assert everything(tmp_path) == before
    assert CANARY not in out
    assert CONFIDENTIAL in out
    assert "would write icx/inputs/reviews.csv\n" in out
    assert "would set grid, reviews in icx/conference.toml\n" in out
    assert re.search(r"reviews per paper +1 to 2\n", out)
    assert re.search(r"grid +1 2\n", out)
    assert last(out) == "nothing was written: run it without --dry-run"
    assert call("import", "icx", "r.csv")[0] == 0
    settings = folder / "conference.toml"
    settings.write_text(settings.read_text().replace('grid = "1..2"', "grid = [1, 2, 3]"))
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
    settings = folder / "conference.toml"
    settings.write_text(
        settings.read_text().replace("[withdrawn]\n", '[withdrawn]\nP1 = "x"\nnosuch = "y"\n')
    )
    code, _, err = call("import", "icx", "r.csv")
    assert code == 0
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
    assert call("import", "icx", "r.csv")[0] == 0
    assert "none: any number can be given" in call("import", "icx", "--dry-run")[1]


def test_one_paper_under_two_ids_is_noted(folder: Path, reviews: Path) -> None:
    """Whoever decides two halves of a paper decides neither."""
    reviews.write_text(reviews.read_text().replace("p01,", "P1,", 1))
    code, _, err = call("import", "icx", str(reviews), "--dry-run")
    assert code == 0
    assert "differ only in capital letters" in err


def test_a_dry_run_says_what_plan_would_refuse(decided: Path) -> None:
    """Somebody who reviewed, or may have, and has no calibration."""
    text = Path("downloads/known.csv").read_text().splitlines(keepends=True)
    wrote = (decided / "inputs" / "reviews.csv").read_text().splitlines()[1].split(",")[1]
    Path("fewer.csv").write_text("".join(row for row in text if not row.startswith(f"{wrote},")))
    before = everything(decided)
    code, out, err = call("import", "icx", "fewer.csv", "--dry-run")
    assert code == 0
    assert everything(decided) == before
    assert "fewer.csv, column reviewer: must have a row for every reviewer" in err
    assert not any(name in out + err for name in PEOPLE)
    assert last(out).startswith("next: correct this, then blindcal plan icx")
    assert json.loads(call("import", "icx", "fewer.csv", "--dry-run", "--json")[1])["refused_by_plan"]
    assert call("import", "icx", "fewer.csv")[0] == 0
    refused = call("import", "icx", "--dry-run")[2]
    code, _, err = call("plan", "icx")
    assert code == 2
    assert [line for line in err.splitlines() if "their names" not in line] == refused.splitlines()


def test_nothing_confidential_is_written_among_what_is_public(decided: Path, tmp_path: Path) -> None:
    before = everything(tmp_path)
    for place in ("icx/public", "icx/public/release-1"):
        code, out, err = call(
            "import", "icx", "downloads/2025.csv", "--as", "past", "--codes", f"{place}/c.csv"
        )
        assert (code, out) == (2, "")
        assert "meant to be shared: give a place outside" in err
    assert everything(tmp_path) == before


def test_every_step_says_the_next_one(folder: Path) -> None:
    write_exports(Path("downloads"), papers=6)
    past = "blindcal import icx FILE --as past, then blindcal fit icx"
    told = last(call("import", "icx", "downloads/scores.csv")[1])
    assert told == f"next: blindcal import icx FILE --as committee, {past}"
    assert last(call("import", "icx", "downloads/pc.csv")[1]) == f"next: {past}"
    told = last(call("import", "icx", "downloads/2025.csv", "--as", "past")[1])
    assert told == "next: blindcal fit icx"
    told = last(call("import", "icx", "downloads/known.csv")[1])
    setting = "set scores and accept-rate or accept in icx/conference.toml"
    assert told == f"next: {setting}, then blindcal plan icx"
    settings = folder / "conference.toml"
    text = settings.read_text().replace("# accept-rate =", "accept-rate =").replace("# scores =", "scores =")
    settings.write_text(text)
    assert last(call("import", "icx", "--dry-run")[1]) == "next: blindcal plan icx"
