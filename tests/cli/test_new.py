"""`blindcal new`: from downloads to a folder, and from there to decisions without another option."""

from __future__ import annotations

import contextlib
import csv
import json
import re
import shutil
import stat
from pathlib import Path

import pytest

pytest.importorskip("typer")

from blindcal.deciding.coins import make_key
from blindcal.project import create, read_folder
from chair_exports import PEOPLE, options, write_exports
from commands import call
from exports import Export, every_export
from small_conferences import everything

pytestmark = pytest.mark.edge
SYSTEMS = Path(__file__).parents[1] / "systems"


@pytest.fixture
def exports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_exports(tmp_path / "downloads")


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[int, str, str]]:
    """A folder that was made with past reviews, once for all tests, and what was said."""
    place = tmp_path_factory.mktemp("fitted")
    with contextlib.chdir(place):
        given = options(write_exports(Path("downloads")), "reviews", "committee", "past", "conflicts")
        return place, call("new", "icx", *given, "--accept-rate", "0.3")


@pytest.fixture
def made(
    fitted: tuple[Path, tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[int, str, str]:
    """The same folder, copied to where a test may change it."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(fitted[0], tmp_path, dirs_exist_ok=True)
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
    assert [row["reviewer"] for row in rows(Path("icx/inputs/committee.csv"))] == [
        *PEOPLE,
        "idle@example.org",
    ]
    assert rows(Path("icx/inputs/conflicts.csv")) == [{"paper": "1", "conflict": "idle@example.org"}]
    assert len(rows(Path("icx/inputs/reviewers.csv"))) == 10, "everyone, and a row *"
    found = read_folder("icx")
    assert found.settings["grid"] == "1..5"
    assert found.settings["past"] == ("icx/inputs/past/2025.csv", "icx/inputs/past/2026.csv")
    code, out, _ = call("plan", "icx", "--only")
    assert (code, out[:10]) == (0, "10 papers,")
    code, out, _ = call("decide", "icx")
    assert code == 0
    assert "public: icx/public/release-1/decisions.csv" in out
    assert "CONFIDENTIAL, never share: icx.key, icx.key.sealed" in out
    assert json.loads(Path("icx/public/release-1/certificate.json").read_text())["conference"] == "icx"
    shared = everything(Path("icx/public"))
    assert sorted(Path(name).name for name in shared) == ["certificate.json", "decisions.csv"]
    assert not any(name.encode() in data for name in PEOPLE for data in shared.values())
    assert call("verify", "icx")[0] == 0
    assert call("check", "icx")[0] == 0


def test_fit_makes_again_what_new_made(made: tuple[int, str, str]) -> None:
    table = Path("icx/inputs/reviewers.csv")
    first, checks = table.read_bytes(), Path(f"{table}.fit.json").read_bytes()
    assert call("fit", "icx")[0] == 0, "what a fit wrote is made again as long as nothing was decided"
    assert (table.read_bytes(), Path(f"{table}.fit.json").read_bytes()) == (first, checks)
    table.unlink()
    Path(f"{table}.fit.json").unlink()
    code, _, err = call("plan", "icx")
    assert code == 2
    assert (
        "there is no calibration icx/inputs/reviewers.csv yet: `blindcal fit icx` makes it from past" in err
    )
    assert call("fit", "icx")[0] == 0
    assert (table.read_bytes(), Path(f"{table}.fit.json").read_bytes()) == (first, checks)


def test_a_calibration_that_was_changed_or_decided_with_is_not_replaced(made: tuple[int, str, str]) -> None:
    table = Path("icx/inputs/reviewers.csv")
    first = table.read_bytes()
    table.write_bytes(first + b"mine,1,3,0.5,0,0,0,0,0\n")
    code, _, err = call("fit", "icx")
    assert code == 3
    assert f"To fit again, move {table} and {table}.fit.json away" in err
    assert table.read_bytes().endswith(b"mine,1,3,0.5,0,0,0,0,0\n")
    table.write_bytes(first)
    assert call("decide", "icx")[0] == 0
    code, _, err = call("fit", "icx")
    assert (code, table.read_bytes()) == (3, first)
    assert "papers were decided with the key of icx" in err
    shutil.rmtree("icx/public")
    assert call("fit", "icx")[0] == 3, "the sealed record knows it"


def test_a_committee_that_was_not_complete_is_completed_and_fitted_again(made: tuple[int, str, str]) -> None:
    committee, table = Path("icx/inputs/committee.csv"), Path("icx/inputs/reviewers.csv")
    whole, first = committee.read_text(), table.read_bytes()
    committee.write_text(whole.replace(f"{PEOPLE[0]}\n", ""))
    code, out, _ = call("fit", "icx")
    assert (code, out.splitlines()[-1]) == (0, "next: blindcal check icx")
    code, out, said = call("check", "icx")
    assert code == 0
    assert out.splitlines()[-1].startswith("next: correct this, then blindcal plan icx, which says who")
    assert not list(Path().rglob("CONFIDENTIAL-*")), "whoever only checks writes nothing"
    code, _, err = call("plan", "icx", "--only")
    assert code == 2
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
    said = call("check", "icx")[2]
    code, _, err = call("plan", "icx", "--only")
    assert code == 2
    assert said.splitlines() == err.splitlines()[:2]
    assert f"{table}, column reviewer: must have a row for everyone in {committee}, found 1 person" in err
    assert "the committee has changed since: `blindcal fit icx`" in err
    assert not any(name in err for name in PEOPLE)
    assert call("fit", "icx")[0] == 0
    assert table.read_bytes() == first
    assert call("plan", "icx", "--only")[0] == 0


def test_the_scale_of_an_earlier_fit_is_kept_in_place_of_this_years(made: tuple[int, str, str]) -> None:
    table, reviews = Path("icx/inputs/reviewers.csv"), Path("icx/inputs/reviews.csv")
    first = json.loads(Path(f"{table}.fit.json").read_text())["scale"]
    wrote = reviews.read_text()
    reviews.write_text(re.sub(r",(\d),(\d)$", r",5,\2", wrote, count=3, flags=re.M))
    assert reviews.read_text() != wrote
    assert call("fit", "icx", "--scale-of", str(table), "--out", "kept.csv")[0] == 0
    assert json.loads(Path("kept.csv.fit.json").read_text())["scale"] == first
    assert call("fit", "icx", "--out", "moved.csv")[0] == 0
    assert json.loads(Path("moved.csv.fit.json").read_text())["scale"] != first
    both = ("--for", str(reviews), "--scale-of", str(table), "--out", "both.csv")
    assert call("fit", "icx", *both)[0] == 2, "what is typed may not contradict itself"


def test_new_says_of_the_fit_what_fit_says(made: tuple[int, str, str]) -> None:
    _, said, remarks = made
    code, out, err = call("fit", "icx")
    assert code == 0
    findings = out[out.index("part of a score's variance") : out.index("CONFIDENTIAL, never")]
    assert "moved to this year's scale: shift" in findings
    assert findings in said
    for line in err.splitlines():
        assert line in remarks or " took " in line


def test_what_a_given_calibration_was_fitted_on_comes_along(made: tuple[int, str, str]) -> None:
    again = ["--reviews", "downloads/2026.csv", "--reviewers", "icx/inputs/reviewers.csv"]
    again += ["--scores", "public"]
    assert call("new", "two", *again)[0] == 0
    code, _, err = call("plan", "two", "--accept-rate", "0.3")
    assert code == 2
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
    assert Path("icx/inputs/reviewers.csv").read_bytes() == (exports / "known.csv").read_bytes()
    code, _, err = call("decide", "icx")
    assert (code, err) == (2, "blindcal: give one of --accept-rate, --accept and --bar\n")
    assert call("decide", "icx", "--accept-rate", "0.3")[0] == 0
    assert (tmp_path / "safe" / "own.key.sealed").exists()


@pytest.mark.parametrize("given", [[], ["--scores", "secret"]])
def test_who_may_see_the_scores_must_be_said(exports: Path, tmp_path: Path, given: list[str]) -> None:
    before = everything(tmp_path)
    code, _, err = call("new", "icx", "--reviews", str(exports / "scores.csv"), *given)
    assert code == 2
    assert "--scores must be public or confidential, found " in err
    assert "public: everyone may see the scores of all papers" in err
    assert "confidential: only the decisions and what was promised are published" in err
    assert everything(tmp_path) == before


def test_someone_not_on_the_committee_is_counted_and_not_named(exports: Path) -> None:
    (exports / "pc.csv").write_text("reviewer\n" + "\n".join(PEOPLE[1:]) + "\n")
    code, out, err = call("new", "icx", *options(exports, "reviews", "committee", "reviewers"))
    assert code == 0
    assert "a reviewer who is not on the committee" in err
    assert not any(name in out + err for name in PEOPLE)


def test_scores_in_letters_and_own_columns(exports: Path) -> None:
    marks = zip("1122", "abab", "ABCA", strict=True)
    Path("own.csv").write_text("item;who;mark\n" + "".join(f"{p};{w};{m}\n" for p, w, m in marks))
    words = ["--columns", "paper=item,reviewer=who,score=mark", "--best-first", "A,B,C"]
    words += ["--scores", "public"]
    code, out, _ = call("new", "icx", "--reviews", "own.csv", *words)
    assert code == 0
    assert "next: name past reviews in icx/conference.toml, then blindcal fit icx\n" in out
    assert [row["score"] for row in rows(Path("icx/inputs/reviews.csv"))] == ["3", "2", "1", "3"]


@every_export
def test_a_folder_can_be_made_of_every_export(
    export: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the options of `import`, and with what `import` would write."""
    monkeypatch.chdir(tmp_path)
    _, path, *words = export.arguments
    code, _, err = call("new", "icx", "--reviews", path, "--scores", "public", *words)
    assert (code, err) == (0, ""), err
    assert call("import", path, *words, "--out", "reviews.csv")[0] == 0
    assert Path("icx/inputs/reviews.csv").read_bytes() == Path("reviews.csv").read_bytes()
    for name in ("titles", "tracks", "conflicts"):
        table = Path(f"reviews.{name}.csv")
        assert Path(f"icx/inputs/{name}.csv").exists() == table.exists()
        assert not table.exists() or Path(f"icx/inputs/{name}.csv").read_bytes() == table.read_bytes()
    assert call("check", "icx")[0] == 0


BAD = {
    "no committee": (["reviews", "past"], [], "--past needs --committee"),
    "two calibrations": (["reviews", "past", "reviewers"], [], "--past or --reviewers, not both"),
    "two pools": (["reviews", "conflicts"], ["--pools", "x.csv"], "--conflicts or --pools, not both"),
    "key inside": (["reviews"], ["--key", "icx/key.bin"], "must not lie in the folder"),
    "no reviews": ([], ["--scores", "public", "--reviews", "none.csv"], "none.csv: there is no such file"),
    "no export": (
        [],
        ["--scores", "public", "--reviews", "downloads/pc.csv"],
        "must hold reviews: this is a list of people",
    ),
    "bad grid": (["reviews"], ["--grid", "1..3"], "--grid 1..3 must hold every score"),
    "bad end": (["reviews"], ["--better", "up"], "must be high or low, found 'up'"),
    "bad rate": (["reviews"], ["--accept-rate", "25"], "for 25 % give 0.25"),
    "bad pools": (["reviews"], ["--pools", "downloads/known.csv"], "known.csv, row 1: must be the header"),
    "reviews as committee": (
        ["reviews"],
        ["--committee", "downloads/scores.csv"],
        "this one is about papers",
    ),
    "this year as past": (
        ["reviews", "committee"],
        ["--past", "downloads/scores.csv"],
        "--past must be other conferences than the one being decided",
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
    code, _, err = call("new", "icx", *options(exports, *names), *more)
    assert code == 2
    assert message in err
    assert [path.name for path in tmp_path.iterdir()] == ["downloads"]


def test_a_name_with_control_characters_is_refused_before_anything_is_written(
    exports: Path, tmp_path: Path
) -> None:
    before = sorted(tmp_path.rglob("*"))
    code, out, err = call("new", "ic\x1bx", *options(exports, "reviews"))
    assert (code, out) == (2, "")
    assert "must be a name without control or invisible characters" in err
    assert sorted(tmp_path.rglob("*")) == before


def test_an_existing_folder_is_refused(exports: Path) -> None:
    Path("icx").mkdir()
    code, _, err = call("new", "icx", *options(exports, "reviews"))
    assert (code, err) == (3, "blindcal: icx exists already and is never overwritten\n")


def test_what_to_do_with_a_folder_that_was_made_already(exports: Path) -> None:
    given = options(exports, "reviews", "reviewers")
    assert call("new", "icx", *given, "--accept-rate", "0.3")[0] == 0
    code, _, err = call("new", "icx", *given)
    assert code == 3
    assert "to correct something, edit icx/conference.toml or the files in icx/inputs; or, if nothing" in err
    assert "remove icx and make it again (--map can give an id another spelling)" in err
    assert call("decide", "icx")[0] == 0
    code, _, err = call("new", "icx", *given)
    assert code == 3
    assert err.endswith("or the files in icx/inputs, then `blindcal decide icx --amend`\n")


def test_conflicts_that_exclude_nobody_are_said_at_once(exports: Path) -> None:
    Path("own.csv").write_text(f"paper,email\n1,idle@example.org\n99,{PEOPLE[0]}\n")
    given = [*options(exports, "reviews", "reviewers"), "--conflicts", "own.csv"]
    code, _, err = call("new", "icx", *given, "--accept-rate", "0.3")
    assert code == 0
    assert "icx/inputs/conflicts.csv has conflicts for 1 paper without any review" in err
    assert "icx/inputs/conflicts.csv has conflicts of a person without calibration" in err
    assert not any(name in err for name in (*PEOPLE, "idle@example.org"))


def test_the_record_of_a_lost_key_is_not_taken_over(exports: Path, tmp_path: Path) -> None:
    (tmp_path / "icx.key.sealed").mkdir()
    code, _, err = call("new", "icx", *options(exports, "reviews"))
    assert code == 3
    assert "icx.key.sealed holds decisions of a key that is missing" in err
    assert not (tmp_path / "icx").exists()


def test_a_run_that_fails_at_the_end_can_be_run_again(exports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key is made just before the folder has its name; it is then used, and no second one made."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(create.os, "rename", interrupt)
        assert call("new", "icx", *options(exports, "reviews"))[0] == 130
    assert sorted(path.name for path in Path().iterdir()) == ["downloads", "icx.key"]
    before = Path("icx.key").read_bytes()
    assert call("new", "icx", *options(exports, "reviews"))[0] == 0
    assert Path("icx.key").read_bytes() == before


@pytest.fixture
def withdrawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """HotCRP's JSON in which two papers were withdrawn and one desk rejected: options of `new` for it."""
    monkeypatch.chdir(tmp_path)
    export = json.loads((SYSTEMS / "hotcrp-3.4-jsonrqc-metareview-round.json").read_text(encoding="utf-8"))
    for place, status in ((3, "withdrawn"), (8, "deskrejected"), (29, "withdrawn")):
        export["papers"][place]["status"] = status
    Path("rqc.json").write_text(json.dumps(export), encoding="utf-8")
    people = {review["reviewer_email"].lower() for paper in export["papers"] for review in paper["reviews"]}
    known = "".join(f"{who},1,4,1\n" for who in sorted(people))
    Path("known.csv").write_text(f"reviewer,slope,offset,noise\n{known}", encoding="utf-8")
    return ["--reviews", "rqc.json", "--reviewers", "known.csv", "--accept-rate", "0.3", "--scores", "public"]


def test_papers_that_the_export_calls_withdrawn_are_not_decided(withdrawn: list[str]) -> None:
    code, out, _ = call("new", "icx", *withdrawn)
    assert code == 0
    assert "left out of the decisions: 2 papers withdrawn: 4, 30 (delete the line under [withdrawn]" in out
    assert "left out of the decisions: 1 paper desk rejected: 9 (" in out
    reason = "withdrawn, as the export says"
    expected = {"4": reason, "9": "desk rejected, as the export says", "30": reason}
    assert read_folder("icx").withdrawn == expected
    assert len({row["paper"] for row in rows(Path("icx/inputs/reviews.csv"))}) == 30
    assert call("decide", "icx")[0] == 0
    decided = {row["paper"] for row in rows(Path("icx/public/release-1/decisions.csv"))}
    assert decided == {f"{paper}" for paper in range(1, 31)} - expected.keys()


def test_papers_that_the_export_calls_withdrawn_can_be_kept(withdrawn: list[str]) -> None:
    code, out, _ = call("new", "icx", *withdrawn, "--keep-withdrawn", "--json")
    assert (code, json.loads(out)["withdrawn"]) == (0, {})
    assert read_folder("icx").withdrawn == {}
    code, out, _ = call("new", "other", *withdrawn, "--json")
    assert json.loads(out)["withdrawn"] == {"4": "withdrawn", "9": "desk rejected", "30": "withdrawn"}
    settings = Path("other/conference.toml")
    text = settings.read_text(encoding="utf-8").replace('"9" = "desk rejected', '# "9" = "desk rejected')
    settings.write_text(text, encoding="utf-8")
    assert [*read_folder("other").withdrawn] == ["4", "30"], "a line taken out forces its paper in"


def test_a_past_year_keeps_reviews_of_withdrawn_papers_but_no_metareviews(withdrawn: list[str]) -> None:
    reviews, people = (str(SYSTEMS / f"hotcrp-3.4-{name}.csv") for name in ("scores-past", "pcinfo"))
    given = ("--reviews", reviews, "--committee", people, "--past", "rqc.json", "--scores", "public")
    code, out, err = call("new", "icx", *given)
    assert code == 0, err
    assert "past: rqc, 92 reviews; 1 metareview left out\n" in out
    assert len({row["paper"] for row in rows(Path("icx/inputs/past/rqc.csv"))}) == 30
    assert read_folder("icx").withdrawn == {}
