"""`blindcal new`: from downloads to a folder, and from there to decisions without another option."""

from __future__ import annotations

import contextlib
import csv
import json
import re
import shutil
import stat
import zipfile
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")

from blindcal.deciding.key import make_key, read_key
from blindcal.fitting import estimate
from blindcal.project import create, read_folder
from chair_exports import PEOPLE, options, write_exports
from commands import call
from exports import Export, every_export
from small_conferences import everything

pytestmark = pytest.mark.edge
SYSTEMS = Path(__file__).parents[1] / "data" / "systems"


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
        return place, call("new", "icx", *given, "--accept", "30%")


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
    code, out, _ = call("plan", "icx")
    assert (code, "10 papers" in out) == (0, True)
    code, out, _ = call("decide", "icx")
    assert code == 0
    assert "public: icx/public/release-1/decisions.csv" in out
    assert "CONFIDENTIAL, never share: icx.key, icx.key.sealed" in out
    assert json.loads(Path("icx/public/release-1/certificate.json").read_text())["conference"] == "icx"
    shared = everything(Path("icx/public"))
    assert sorted(Path(name).name for name in shared) == ["certificate.json", "decisions.csv"]
    assert not any(name.encode() in data for name in PEOPLE for data in shared.values())
    assert call("verify", "icx")[0] == 0
    assert call("import", "icx", "--dry-run")[0] == 0


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
    code, out, err = call("fit", "icx")
    assert (code, table.read_bytes()) == (0, first)
    assert f"papers are decided: the calibration keeps the shift and stretch of {table}, and decisions" in err
    assert "`blindcal decide` with --amend and --reason decides new papers by it" in err
    assert f"CONFIDENTIAL, never share: {table}," in out, "the same table is not written twice"
    shutil.rmtree("icx/public")
    Path("corrected.csv").write_text(Path("downloads/2025.csv").read_text().replace(",5,", ",4,"))
    assert call("import", "icx", "corrected.csv", "--as", "past", "--name", "2025")[0] == 0
    code, _, err = call("fit", "icx")
    assert (code, table.read_bytes()) == (0, first), "the sealed record knows that papers were decided"
    assert read_folder("icx").settings["reviewers"] == "icx/inputs/correction-2/reviewers.csv"
    assert Path("icx/inputs/correction-2/reviewers.csv").read_bytes() != first


def test_a_calibration_corrected_after_deciding_leaves_decisions(
    made: tuple[int, str, str],
) -> None:
    def decisions(release: int) -> bytes:
        return Path(f"icx/public/release-{release}/decisions.csv").read_bytes()

    assert call("decide", "icx")[0] == 0
    Path("corrected.csv").write_text(Path("downloads/2025.csv").read_text().replace(",5,", ",4,"))
    assert call("import", "icx", "corrected.csv", "--as", "past", "--name", "2025")[0] == 0
    assert call("fit", "icx")[0] == 0
    code, _, err = call("decide", "icx")
    assert (code, "corrected pools or calibration leave decisions as they are" in err) == (3, True)
    code, out, _ = call("decide", "icx", "--amend", "--reason", "2025 corrected")
    assert (code, decisions(2)) == (0, decisions(1))
    assert "0 papers decided now, 10 kept their decisions" in out
    assert call("verify", "icx")[0] == 0


def test_a_committee_that_was_not_complete_is_completed_and_fitted_again(made: tuple[int, str, str]) -> None:
    committee, table = Path("icx/inputs/committee.csv"), Path("icx/inputs/reviewers.csv")
    whole, first = committee.read_text(), table.read_bytes()
    committee.write_text(re.sub(f"{PEOPLE[0]}.*\n", "", whole))
    code, out, _ = call("fit", "icx")
    assert (code, out.splitlines()[-1]) == (0, "next: blindcal import icx --dry-run")
    code, out, said = call("import", "icx", "--dry-run")
    assert code == 0
    assert out.splitlines()[-1].startswith("next: correct this, then blindcal plan icx, which says who")
    assert not list(Path().rglob("CONFIDENTIAL-*")), "whoever only checks writes nothing"
    code, _, err = call("plan", "icx")
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
    said = call("import", "icx", "--dry-run")[2]
    code, _, err = call("plan", "icx")
    assert code == 2
    assert said.splitlines() == err.splitlines()[:2]
    assert f"{table}, column reviewer: must have a row for everyone in {committee}, found 1 person" in err
    assert "the committee has changed since: `blindcal fit icx`" in err
    assert not any(name in err for name in PEOPLE)
    assert call("fit", "icx")[0] == 0
    assert table.read_bytes() == first
    assert call("plan", "icx")[0] == 0


def test_the_scale_of_an_earlier_fit_is_kept_once_papers_are_decided(made: tuple[int, str, str]) -> None:
    table, reviews = Path("icx/inputs/reviewers.csv"), Path("icx/inputs/reviews.csv")

    def scale(path: Path) -> object:
        return json.loads(Path(f"{path}.fit.json").read_text())["scale"]

    first, wrote = scale(table), reviews.read_text()
    Path("other.csv").write_text(re.sub(r",(\d),(\d)$", r",5,\2", wrote, count=3, flags=re.M))
    shutil.copytree("icx", "copy")
    shutil.copy("icx.key", "copy.key")
    assert call("import", "copy", "other.csv", "--as", "reviews")[0] == 0
    assert call("fit", "copy")[0] == 0
    assert scale(Path("copy/inputs/reviewers.csv")) != first
    assert call("decide", "icx")[0] == 0
    assert call("import", "icx", "other.csv", "--as", "reviews")[0] == 0
    assert call("fit", "icx")[0] == 0
    assert scale(Path(str(read_folder("icx").settings["reviewers"]))) == first


def test_new_says_of_the_fit_what_fit_says(made: tuple[int, str, str]) -> None:
    _, said, remarks = made
    code, out, err = call("fit", "icx")
    assert code == 0
    findings = out[out.index("part of a score's variance") : out.index("CONFIDENTIAL, never")]
    assert "moved to this year's scale: shift" in findings
    assert findings in said
    for line in err.splitlines():
        assert line in remarks or " took " in line


def test_it_ends_with_the_answer_of_plan(made: tuple[int, str, str]) -> None:
    """Both solve all of these few papers, so that nothing is estimated."""
    own = next(line for line in made[1].splitlines() if "xpected gain: " in line)
    code, said, _ = call("plan", "icx")
    assert (code, said.splitlines()[0]) == (0, own)


def test_what_a_given_calibration_was_fitted_on_comes_along(made: tuple[int, str, str]) -> None:
    again = ["--reviews", "downloads/2026.csv", "--reviewers", "icx/inputs/reviewers.csv"]
    again += ["--scores", "public", "--accept", "30%"]
    assert call("new", "two", *again)[0] == 0
    code, _, err = call("plan", "two")
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
    assert facts["advice"] is None, "it is not said how many papers to accept"
    assert Path("icx/inputs/reviewers.csv").read_bytes() == (exports / "known.csv").read_bytes()
    assert call("decide", "icx")[0] == 2
    settings = Path("icx/conference.toml")
    settings.write_text(settings.read_text().replace("# accept-rate =", "accept-rate ="))
    assert call("decide", "icx")[0] == 0
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
    code, _, err = call("new", "icx", "--reviews", "own.csv", "--scores", "public")
    assert code == 2
    assert "make the folder without this file (blindcal new icx), then" in err
    assert "to blindcal import icx\n" in err
    assert not Path("icx").exists()
    assert call("new", "icx")[0] == 0
    words = ["--columns", "paper=item,reviewer=who,score=mark", "--best-first", "A,B,C"]
    code, out, _ = call("import", "icx", "own.csv", *words)
    assert code == 0
    assert "blindcal import icx FILE --as past, then blindcal fit icx\n" in out
    assert [row["score"] for row in rows(Path("icx/inputs/reviews.csv"))] == ["3", "2", "1", "3"]


@every_export
def test_new_reads_every_export_as_import_does(
    export: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _, path, *words = export.arguments
    assert call("new", "two")[0] == 0
    assert call("import", "two", path, *words)[0] == 0
    code, _, err = call("new", "icx", "--reviews", path, "--scores", "public")
    if words and code:
        assert (code, "to blindcal import icx\n" in err) == (2, True), err
        return
    assert (code, err) == (0, ""), err
    if not words:
        assert everything(Path("icx/inputs")) == everything(Path("two/inputs"))
    assert call("import", "icx", "--dry-run")[0] == 0


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
    "bad end": (["reviews"], ["--better", "up"], "must be high or low, found 'up'"),
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
    assert call("new", "icx", *given)[0] == 0
    code, _, err = call("new", "icx", *given)
    assert code == 3
    assert "`blindcal import icx FILE` brings a file or a correction into it" in err
    assert "settings are changed in icx/conference.toml" in err


def test_conflicts_that_exclude_nobody_are_said_at_once(exports: Path) -> None:
    Path("own.csv").write_text(f"paper,email\n1,idle@example.org\n99,{PEOPLE[0]}\n")
    given = [*options(exports, "reviews", "reviewers"), "--conflicts", "own.csv"]
    code, _, err = call("new", "icx", *given, "--accept", "30%")
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


def test_a_line_taken_out_decides_a_withdrawn_paper(withdrawn: list[str]) -> None:
    code, out, _ = call("new", "other", *withdrawn, "--json")
    assert code == 0
    assert json.loads(out)["withdrawn"] == {"4": "withdrawn", "9": "desk rejected", "30": "withdrawn"}
    settings = Path("other/conference.toml")
    text = settings.read_text(encoding="utf-8").replace('"9" = "desk rejected', '# "9" = "desk rejected')
    settings.write_text(text, encoding="utf-8")
    assert [*read_folder("other").withdrawn] == ["4", "30"]


def test_a_past_year_keeps_reviews_of_withdrawn_papers_but_no_metareviews(withdrawn: list[str]) -> None:
    reviews, people = (str(SYSTEMS / f"hotcrp-3.4-{name}.csv") for name in ("scores-past", "pcinfo"))
    given = ("--reviews", reviews, "--committee", people, "--past", "rqc.json", "--scores", "public")
    code, out, err = call("new", "icx", *given)
    assert code == 0, err
    assert "past: rqc, 92 reviews; 1 metareview left out\n" in out
    assert len({row["paper"] for row in rows(Path("icx/inputs/past/rqc.csv"))}) == 30
    assert read_folder("icx").withdrawn == {}


def test_a_folder_is_made_before_reviews_are_in(exports: Path, tmp_path: Path) -> None:
    """So that the fingerprint of the key can be published first."""
    code, out, err = call("new", "icx")
    assert (code, err) == (0, "")
    key = read_key(tmp_path / "icx.key")
    assert f"key: icx.key, fingerprint {key.fingerprint}\n" in out
    assert "Publish the fingerprint before reviews are in" in out
    assert out.endswith("next: blindcal import icx FILE, once reviews are in\n")
    assert sorted(path.name for path in Path("icx").iterdir()) == ["conference.toml", "inputs", "public"]
    assert not {"reviews", "grid", "scores"} & read_folder("icx").settings.keys()
    files = [str(exports / name) for name in ("scores.csv", "known.csv")]
    assert call("import", "icx", *files)[0] == 0
    settings = Path("icx/conference.toml")
    settings.write_text(settings.read_text().replace("# accept-rate =", "accept-rate ="))
    code, _, err = call("decide", "icx")
    assert (code, "must be public or confidential" in err) == (2, True), "scores have no default"
    settings.write_text(settings.read_text().replace('# scores = "confidential"', 'scores = "public"'))
    assert call("decide", "icx")[0] == 0
    certificate = json.loads(Path("icx/public/release-1/certificate.json").read_text())
    assert key.fingerprint in json.dumps(certificate)


def test_everything_but_reviews_may_come_first(exports: Path) -> None:
    given = options(exports, "committee", "past", "conflicts")
    code, out, _ = call("new", "icx", *given, "--accept", "50", "--scores", "public")
    assert code == 0
    assert "next: blindcal import icx FILE, once reviews are in\n" in out
    code, out, _ = call("import", "icx", str(exports / "scores.csv"))
    assert (code, out.endswith("next: blindcal fit icx\n")) == (0, True)
    assert call("fit", "icx")[0] == 0


@pytest.mark.parametrize(
    ("text", "line"),
    [("25%", "accept-rate = 0.25"), ("50", "accept = 50"), ("main=4,short=1", 'accept = "main=4,short=1"')],
)
def test_one_option_says_what_to_accept(text: str, line: str, exports: Path) -> None:
    assert call("new", "icx", "--accept", text)[0] == 0
    assert f"\n{line}\n" in Path("icx/conference.toml").read_text()


def test_the_advice_names_every_folder_to_back_up(exports: Path) -> None:
    out = call("new", "icx", "--key", "one.bin")[1]
    assert "one.bin.sealed, which remembers what was decided" in out
    assert "one.bin.shared, which remembers what was shared" in out


@pytest.mark.parametrize(("folder", "what"), [("sealed", "decisions"), ("shared", "shared sums")])
def test_no_key_is_made_if_one_was_lost(folder: str, what: str, exports: Path, tmp_path: Path) -> None:
    (tmp_path / f"key.bin.{folder}").mkdir()
    code, _, err = call("new", "icx", "--key", "key.bin")
    assert code == 3
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
        code, _, err = call("new", "icx", "--key", "key.bin")
        assert (code, word in err) == (2, True)
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
def easychair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This year's zip, by email; two past years of review.csv alone, by name; a list of emails alone."""
    monkeypatch.chdir(tmp_path)
    for name in ("_MAX_SWEEPS", "_MIN_SWEEPS"):
        monkeypatch.setattr(estimate, name, 60)
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
    code, out, err = call("new", "icx", *GIVEN, "--committee", "2027.zip", "--scores", "public")
    assert code == 0, err
    assert "calibrated: 6 of 8 members found in past reviews" in out
    people = Path("icx/inputs/reviewers.csv.people.csv")
    assert f"9 past ids taken for a member under another id: {people} lists them" in err
    assert (
        f"3 past ids may be a member's and were left out: write yes or no into the column taken of {people}"
        in err
    )
    assert not any(word in out + err for name in MEMBERS for word in name.split() if len(word) > 2)
    found = {(row["old"], row["new"]): (row["why"], row["taken"]) for row in rows(people)}
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
    assert call("new", "icx", *GIVEN, "--committee", "2027.zip", "--scores", "public")[0] == 0
    people = Path("icx/inputs/reviewers.csv.people.csv")
    before = {row["reviewer"]: row["reviews"] for row in rows(Path("icx/inputs/reviewers.csv"))}
    text = people.read_text()
    Path("mine.csv").write_text(
        text.replace("u5@x.org,same name,no", "u5@x.org,same name,yes").replace("initials,no", "initials,yes")
    )
    code, out, _ = call("import", "icx", "mine.csv")
    assert (code, out.splitlines()[0]) == (0, "mine.csv: same")
    code, out, err = call("fit", "icx")
    assert code == 0, err
    assert "7 of 8 members found in past reviews" in out
    after = {row["reviewer"]: row["reviews"] for row in rows(Path("icx/inputs/reviewers.csv"))}
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
        assert call("new", name, *given)[0] == 0
        made.append({file: Path(name, "inputs", file).read_bytes() for file in FOUND})
    assert made[0] == made[1]


FOUND = ("reviewers.csv", "reviewers.csv.people.csv", "committee.csv")


def test_hotcrp_this_year_and_openreview_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Emails now, profiles then; this system's file of the year before has one person's old address."""
    monkeypatch.chdir(tmp_path)
    for name in ("_MAX_SWEEPS", "_MIN_SWEEPS"):
        monkeypatch.setattr(estimate, name, 60)
    notes = (SYSTEMS / "openreview-py-2.9.1-neurips2023-labels.json").read_text(encoding="utf-8")
    # From NeurIPS' scale of 2 to 8 to this year's of 1 to 6.
    notes = re.sub(r'("rating": {"value": )"(\d)[^"]*"', lambda m: f"{m[1]}{round(0.7 * int(m[2]))}", notes)
    Path("2023.json").write_text(notes, encoding="utf-8")
    for file in ("scores-past", "pcinfo"):
        text = (SYSTEMS / f"hotcrp-3.4-{file}.csv").read_text(encoding="utf-8")
        Path(f"{file}.csv").write_text(
            text.replace("otto@example.edu", "otto@new.example.org"), encoding="utf-8"
        )
    assert call("new", "icx", "--scores", "confidential")[0] == 0
    assert call("import", "icx", "scores-past.csv", "pcinfo.csv")[0] == 0
    who = ["--map", str(SYSTEMS / "openreview-neurips2023-people.csv")]
    assert call("import", "icx", "2023.json", "--as", "past", *who)[0] == 0
    code, out, err = call("fit", "icx")
    assert code == 0, err
    assert "20 of 20 members found in past reviews" in out
    table = Path("icx/inputs/reviewers.csv.people.csv")
    found = {row["old"]: row["new"] for row in rows(table) if row["taken"] == "yes"}
    assert len(found) == 20
    assert (found["~Otto_P_rez__Jr_1"], found["~Ada_Byron1"]) == ("otto@new.example.org", "ada@example.edu")
    before = (SYSTEMS / "hotcrp-3.4-scores.csv").read_text(encoding="utf-8")
    Path("2024.csv").write_text(before, encoding="utf-8")
    Path("icx/conference.toml").write_text(
        Path("icx/conference.toml").read_text().replace('past = ["inputs/past/2023.csv"]', "past = []")
    )
    assert call("import", "icx", "2024.csv", "--as", "past")[0] == 0
    assert call("fit", "icx")[0] == 0
    assert [(row["old"], row["new"], row["why"]) for row in rows(table)] == [
        ("otto@example.edu", "otto@new.example.org", "same name")
    ]
