"""`blindcal fit`: from a folder's past reviews to a table that `plan` reads, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("matplotlib")
pytest.importorskip("opendp")

from studies.past_reviews import drawn_pasts

from blindcal.cli.console import CONFIDENTIAL
from blindcal.cli.fit import check_picture
from blindcal.errors import InputError
from blindcal.project import read_folder
from blindcal.reviews import Reviews
from commands import call, edit, refusal, succeed
from small_pasts import lenient_years, short_fits, tiny_reviews, turned

pytestmark = pytest.mark.edge


TABLE = Path("icx/inputs/reviewers.csv")
SETTINGS = Path("icx/conference.toml")
# A plan of guarantees that are soon solved.
PLAN = ("plan", "icx", "--guarantee", "public", "--guarantee", "steady")


@pytest.fixture(scope="module")
def years(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two past years, the reviews of this one, the committee, and a folder that has them all.

    Its guarantee is one that is soon solved.
    """
    place = tmp_path_factory.mktemp("years")
    past = drawn_pasts(np.random.default_rng(4), 40, 3, grid=np.arange(1.0, 11.0)).reviews
    with pytest.MonkeyPatch.context() as patch:
        short_fits(patch, place)
        for name, year in (("c0", "2023"), ("c1", "2024"), ("c2", "reviews")):
            past.only(name).write(f"{year}.csv")
        Path("committee.csv").write_text("reviewer\n" + "".join(f"r{i}\n" for i in range(45)))
        make("reviews.csv", "committee.csv", past=("2023.csv", "2024.csv"))
        edit('guarantee = "crowd"', 'guarantee = "steady"')
    return place


@pytest.fixture
def folder(years: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, to be fitted; of a plan, what is tested needs the first estimate only."""
    monkeypatch.setattr("blindcal.cli.plan.A_MINUTE", 0.0)
    shutil.copytree(years, place, dirs_exist_ok=True)
    return Path("icx")


@pytest.fixture
def files(folder: Path) -> None:
    """The same without the folder."""
    shutil.rmtree(folder)
    Path("icx.key").unlink()


def make(*names: str, past: tuple[str, ...] = ()) -> None:
    """A folder that is not fitted yet, although the last import may have done that."""
    succeed("new", "icx", "--scores", "public", "--accept", "30%")
    succeed("import", "icx", *names)
    for name in past:
        succeed("import", "icx", name, "--as", "past")
    for fitted in TABLE.parent.glob(f"{TABLE.name}*"):
        fitted.unlink()


def test_last_years_reviews_become_a_table_that_plan_takes(folder: Path) -> None:
    _, out, err = succeed("fit", "icx")
    assert "of 2 conferences; a row for 45 reviewers, and one for *" in out
    assert "papers' quality" in out
    assert "of 2024  " in out
    assert "moved to this year's scale" in out
    assert f"CONFIDENTIAL, never share: {TABLE}, {TABLE}.fit.json" in out
    assert "not enough history" in err
    lines = TABLE.read_text().splitlines()
    assert lines[0] == "reviewer,slope,offset,noise,slope_se,offset_se,correlation,noise_se,reviews"
    assert [line.split(",")[0] for line in lines[1:]] == ["*", *(f"r{i}" for i in range(45))]
    assert {os.stat(name).st_mode & 0o777 for name in (TABLE, f"{TABLE}.fit.json")} == {0o600}
    succeed(*PLAN)


def test_nothing_printed_names_a_reviewer(files: None) -> None:
    name = min({*Reviews.read("2023.csv").reviewers} & {*Reviews.read("2024.csv").reviewers})
    for year, spelled in (("2023", "canary Smith"), ("2024", '"Smith, Canary"')):
        text = Path(f"{year}.csv").read_text()
        Path(f"{year}.csv").write_text(text.replace(f",{name},", f",{spelled},"))
    known = {name: "c@canary.org,Cänary Smith", "r44": "x@canary.org,Cleo Smith"}
    listed = [known.get(who, f"{who},") for who in Path("committee.csv").read_text().split()[1:]]
    Path("committee.csv").write_text("\n".join(["reviewer,name", *listed, ""]))
    make("committee.csv", "reviews.csv", past=("2023.csv", "2024.csv"))
    _, out, err = succeed("fit", "icx")
    assert "canary" not in (out + err).lower()
    assert " of 45 members found in past reviews; everyone else" in out
    people = Path(f"{TABLE}.people.csv")
    assert f"2 past ids taken for a member under another id: {people} lists them" in err
    assert people.read_text() == (
        'old,new,why,taken\n"Smith, Canary",c@canary.org,same name,yes\n'
        "canary Smith,c@canary.org,same name,yes\n"
    )
    assert os.stat(people).st_mode & 0o777 == 0o600
    reviews = {line.split(",")[0]: int(line.split(",")[-1]) for line in TABLE.read_text().splitlines()[1:]}
    written = (Path(f"{year}.csv").read_text().lower().count("canary") for year in ("2023", "2024"))
    assert reviews["c@canary.org"] == sum(written), "one person, with the reviews of both years"
    Path("people.csv").write_text('old,new\ncanary Smith,"Smith, Canary"\n')
    succeed("import", "icx", "people.csv")
    _, out, err = succeed("fit", "icx")
    assert "may be one person's" not in err
    assert "canary Smith" not in TABLE.read_text()


def test_parameters_fitted_on_the_reviews_being_decided_are_refused(files: None) -> None:
    make("2023.csv", "committee.csv", past=("2024.csv", "reviews.csv"))
    succeed("fit", "icx")
    edit('"inputs/reviews.csv"', '"inputs/past/reviews.csv"')
    code, out, err = call("plan", "icx")
    assert (code, out) == (2, "")
    assert "reviewers.csv was fitted on these reviews" in err


def test_this_years_reviews_among_past_ones_are_refused_or_remarked(folder: Path) -> None:
    before = SETTINGS.read_text()
    edit('"inputs/past/2023.csv"', '"inputs/reviews.csv"')
    assert "must be other conferences than the one being decided" in " ".join(refusal("fit", "icx").split())
    assert not TABLE.exists()
    SETTINGS.write_text(before)
    now, then = (Path(f"{year}.csv").read_text().splitlines() for year in ("reviews", "2024"))
    taken = {line.split(",")[0] for line in now[1:10]}
    kept = [line for line in then if line.split(",")[0] not in taken]
    Path("mixed.csv").write_text("\n".join([*kept, *now[1:10]]) + "\n")
    code, _, err = call("import", "icx", "mixed.csv", "--as", "past", "--name", "2024")
    remark = "some of this year's reviews may be among the past ones"
    assert (code, remark in " ".join(err.split())) == (0, True)
    _, out, err = succeed("fit", "icx")
    assert out.splitlines()[0] == CONFIDENTIAL
    assert remark in " ".join(err.split())


def test_json_has_the_checks_and_no_names(folder: Path) -> None:
    _, out, err = succeed("fit", "icx", "--json")
    assert err == ""
    report = json.loads(out)
    assert set(report["shares"]) == {"quality", "slope", "offset", "noise"}
    assert report["conferences"] == ["2023", "2024"]
    assert report["forecast"]["conference"] == "2024"
    assert set(report["scale"]) >= {"shift", "stretch"}
    assert report["population"]["slope"] > 0
    assert '"r1"' not in out


def test_both_ends_of_a_scale_may_be_the_better_one(folder: Path) -> None:
    succeed("fit", "icx")
    first = TABLE.read_text()
    columns = Reviews.read("2023.csv").columns()
    Reviews.from_table({**columns, "score": [11 - score for score in columns["score"]]}).write("turned.csv")
    succeed("import", "icx", "turned.csv", "--as", "past", "--name", "2023")
    edit("# past-better =", "past-better =")
    edit("2021=low", "2023=low")
    succeed("fit", "icx")
    assert TABLE.read_text() == first


@pytest.fixture
def reversed_years(files: None) -> dict[str, Reviews]:
    """Other years, both past ones on the reversed scale; returned as they were before."""
    pasts, now = lenient_years(1)
    Path("reviews.csv").unlink()
    now.write("reviews.csv")
    for name, past in pasts.items():
        turned(past).write(f"20{name}.csv")
    Path("committee.csv").write_text("reviewer\n" + "".join(f"r{i}\n" for i in range(60)))
    return pasts


def test_past_years_on_the_reversed_scale_are_refused_until_the_chair_says_so(
    reversed_years: dict[str, Reviews],
) -> None:
    make("reviews.csv", "committee.csv", past=("2025.csv", "2026.csv"))
    assert 'likeliest is past-better = ["25=low", "26=low"]' in " ".join(refusal("fit", "icx").split())
    edit("# past-better =", "past-better =")
    edit('"2021=low"', '"25=low", "26=low"')
    succeed("fit", "icx")
    table = TABLE.read_text()
    for name, past in reversed_years.items():
        past.write(f"{name}.csv")
        Path("icx/inputs/past", f"20{name}.csv").write_bytes(Path(f"{name}.csv").read_bytes())
    edit('"25=low", "26=low"', '"25=high"')
    succeed("fit", "icx")
    assert TABLE.read_text() == table


def test_a_scale_that_is_said_to_be_turned_after_a_fit_asks_for_another_one(folder: Path) -> None:
    succeed("fit", "icx")
    edit("# past-better =", "past-better =")
    edit("2021=low", "2023=high")
    succeed(*PLAN)
    edit("2023=high", "2023=low")
    for command in ("plan", "decide"):
        said = " ".join(refusal(command, "icx").split())
        assert "fitted with other scores as the better ones in 2023 than conference.toml says now" in said
        assert "`blindcal fit icx`" in said


def test_conflicts_after_a_fit_without_a_committee_ask_for_the_committee(files: None) -> None:
    """Nobody has a conflict with a paper that is theirs; those missing wrote no past review."""
    make("reviews.csv", past=("2024.csv",))
    succeed("fit", "icx")
    Path("conflicts.csv").write_text("paper,conflict\np0,r44\n")
    code, _, err = call("import", "icx", "conflicts.csv")
    said = " ".join(err.split())
    assert (code, "must have a row for everyone who may have reviewed" in said) == (0, True)
    assert "fitted without a committee: `blindcal import icx FILE --as committee`, then `blindcal fit" in said
    assert "must hold every reviewer" not in said
    succeed("import", "icx", "committee.csv")
    succeed("fit", "icx")
    succeed(*PLAN)


def test_a_conflict_listed_for_a_reviewer_of_the_paper_is_said_to_be_one(folder: Path) -> None:
    succeed("fit", "icx")
    columns = Reviews.read("reviews.csv").columns()
    Path("conflicts.csv").write_text(f"paper,conflict\n{columns['paper'][0]},{columns['reviewer'][0]}\n")
    err = succeed("import", "icx", "conflicts.csv").err
    assert "column conflict: must not list a reviewer of the paper, found 1 listed" in " ".join(err.split())
    assert "without one" not in err


def test_a_new_folder_with_reversed_years_is_made_without_a_calibration(
    reversed_years: dict[str, Reviews],
) -> None:
    given = ("--reviews", "reviews.csv", "--committee", "committee.csv")
    pasts = ("--past", "2025.csv", "--past", "2026.csv")
    err = succeed("new", "icx", *given, *pasts, "--scores", "public", "--accept", "30%").err
    assert "there is no calibration yet: past scores look mirrored" in " ".join(err.split())
    assert not TABLE.exists()
    edit("# past-better =", "past-better =")
    edit('"2021=low"', '"25=low", "26=low"')
    succeed("fit", "icx")
    succeed(*PLAN)


@pytest.mark.parametrize(
    ("tables", "changes", "told"),
    [
        ({"2022": ""}, {}, "must have a header row"),
        (
            {"2022": "paper,reviewer,score\n1,a,1\n1,b,2\n"},
            {},
            "2022.csv, column paper: must have two papers or more",
        ),
        ({"2022": "paper,reviewer,score\n1,a,1\n2,a,2\n"}, {}, "must have two reviewers or more"),
        (
            {"2022": "paper,reviewer,score\n1,a,5\n1,b,5\n2,a,5\n2,b,5\n"},
            {},
            "must have scores that differ",
        ),
        (
            {"2022": "paper,reviewer,score\n1,a,1\n1,a,2\n2,b,5\n"},
            {},
            "must not repeat an earlier row's paper and reviewer",
        ),
        ({}, {'"inputs/past/2024.csv"': '"inputs/past/none.csv"'}, "there is no such file"),
        ({}, {"# past-better =": "past-better ="}, "for which `past-better` is given"),
        ({}, {'better = "high"': 'better = "best"'}, "must be high or low"),
        ({"committee": ""}, {}, "must have a header row"),
        ({}, {'reviews = "inputs': '# reviews = "inputs'}, "icx has no reviews yet: `blindcal import icx"),
        ({}, {'reviewers = "inputs': '# reviewers = "inputs'}, "conference.toml: must set reviewers"),
    ],
)
def test_bad_input_is_refused_in_one_line_and_nothing_is_written(
    folder: Path, tables: dict[str, str], changes: dict[str, str], told: str
) -> None:
    for name, text in tables.items():
        Path("icx/inputs", "past" if name.isdigit() else "", f"{name}.csv").write_text(text)
        if name.isdigit():
            edit("past/2024.csv", f"past/{name}.csv")
            edit('"inputs/past/2023.csv", ', "")
    for old, new in changes.items():
        edit(old, new)
    code, out, err = call("fit", "icx")
    assert (code, out) == (2, "")
    assert told in err
    assert not TABLE.exists()


def test_a_table_that_no_fit_wrote_is_never_overwritten(folder: Path) -> None:
    TABLE.write_text("mine")
    assert "never overwritten" in refusal("fit", "icx", code=3)
    assert TABLE.read_text() == "mine"
    assert not Path(f"{TABLE}.fit.json").exists()


@pytest.mark.parametrize(("picture", "code"), [("nowhere/p.svg", 2), (str(TABLE), 2), ("mine.svg", 3)])
def test_every_file_is_looked_at_before_the_fit(picture: str, code: int, folder: Path) -> None:
    Path("mine.svg").write_text("mine")
    before = sorted(Path().rglob("*"))
    assert call("fit", "icx", "--picture", picture)[0] == code
    assert sorted(Path().rglob("*")) == before


def test_shift_and_stretch_are_stated_and_frozen_with_the_first_release(files: None) -> None:
    columns = Reviews.read("reviews.csv").columns()
    pairs = {*zip(columns["paper"], columns["reviewer"], strict=True)}
    pairs |= {(paper, name) for paper in columns["paper"] for name in ("r43", "r44")}
    rows = "".join(f"{paper},{name}\n" for paper, name in sorted(pairs))
    Path("pools.csv").write_text(f"paper,reviewer\n{rows}")
    make("reviews.csv", "committee.csv", past=("2023.csv", "2024.csv"))
    succeed("import", "icx", "pools.csv", "--as", "pools")
    succeed("fit", "icx")
    first = TABLE.read_bytes()
    scale = json.loads(Path(f"{TABLE}.fit.json").read_text())["scale"]
    succeed("decide", "icx", "--despite-misfit")
    stated = json.loads(Path("icx/public/release-1/certificate.json").read_text())["calibration_scale"]
    assert stated == {"shift": round(scale["shift"], 4), "stretch": round(scale["stretch"], 4)}
    # A corrected score, and a fit for it: without the earlier scale every paper would move.
    lines = Path("reviews.csv").read_text().splitlines()
    place = lines[0].split(",").index("score")
    cells = lines[1].split(",")
    cells[place] = "10" if cells[place] != "10" else "1"
    lines[1] = ",".join(cells)
    Path("corrected.csv").write_text("\n".join(lines) + "\n")
    succeed("import", "icx", "corrected.csv", "--as", "reviews")
    _, out, err = succeed("fit", "icx")
    assert f"papers are decided: the calibration keeps the shift and stretch of {TABLE}, and decisions" in err
    assert "moved to this year's scale" in out
    assert TABLE.read_bytes() == first
    amend = ("decide", "icx", "--despite-misfit", "--amend", "--reason", "a score")
    assert "1 paper decided now" in succeed(*amend).out


def test_a_scale_that_moved_after_the_first_release_is_refused(folder: Path) -> None:
    """Whoever fits elsewhere and names the table by hand."""
    succeed("fit", "icx")
    succeed("decide", "icx", "--despite-misfit")
    checks = json.loads(Path(f"{TABLE}.fit.json").read_text())
    checks["scale"]["shift"] += 1.0
    Path("icx/inputs/other.csv").write_bytes(TABLE.read_bytes())
    Path("icx/inputs/other.csv.fit.json").write_text(json.dumps(checks))
    edit('"inputs/reviewers.csv"', '"inputs/other.csv"')
    err = refusal("decide", "icx", "--despite-misfit", "--amend", "--reason", "a score", code=3)
    assert "shift and stretch of the calibration are frozen with the first release" in err


def test_only_a_fit_that_was_moved_has_a_scale_to_keep(folder: Path) -> None:
    succeed("fit", "icx")
    Path(f"{TABLE}.fit.json").unlink()
    succeed("decide", "icx", "--despite-misfit")
    before = SETTINGS.read_bytes()
    err = refusal("fit", "icx")
    assert SETTINGS.read_bytes() == before
    assert "did not move to this year's scale: there is no scale to keep" in err


def test_the_earlier_table_is_kept_once_papers_are_decided(folder: Path) -> None:
    succeed("fit", "icx")
    succeed("decide", "icx", "--despite-misfit")
    first = TABLE.read_bytes()
    Path("committee.csv").write_text(Path("committee.csv").read_text() + "r99\n")
    succeed("import", "icx", "committee.csv")
    out = succeed("fit", "icx").out
    new = Path(str(read_folder("icx").settings["reviewers"]))
    assert re.fullmatch(r"icx/inputs/correction-\d/reviewers.csv", new.as_posix())
    assert (f"never share: {new}," in out, TABLE.read_bytes()) == (True, first)
    assert "r99," in new.read_text()


def test_what_history_is_worth(folder: Path) -> None:
    out = succeed("fit", "icx", "--what-if").out
    assert "expected wrong decisions (3 reviews per paper, 30 % accepted, no privacy)" in " ".join(
        out.split()
    )
    assert "twice as much history would take off" in out
    edit("accept-rate = 0.3", "accept = 10")
    edit('better = "high"', 'better = "low"')
    out = succeed("fit", "icx", "--what-if", "--json").out
    found = json.loads(out)["what_if"]
    assert found["raw"] > found["now"] > found["known"]
    assert found["accept_rate"] == pytest.approx(10 / len(Reviews.read("reviews.csv").papers))
    edit("accept = 10", "# accept = 10")
    assert json.loads(call("fit", "icx", "--what-if", "--json")[1])["what_if"]["accept_rate"] == 0.25


# --- The picture of a fit: drawn, the same each time, readable by its owner only, naming nobody.


@pytest.fixture
def pictured(place: Path) -> None:
    tiny_reviews().write("past.csv")
    rows = (("x", "ann", 3), ("x", "bob", 2), ("y", "ann", 2), ("y", "cyd", 1), ("z", "bob", 5))
    table = "".join(f"{paper},{name},{score}\n" for paper, name, score in rows)
    Path("now.csv").write_text(f"paper,reviewer,score\n{table}")
    make_picture("icx")


def make_picture(folder: str, past: str = "past.csv") -> None:
    succeed("new", folder)
    succeed("import", folder, "now.csv")
    succeed("import", folder, past, "--as", "past")


@pytest.mark.usefixtures("pictured")
def test_the_picture_of_a_fit() -> None:
    for name in ("a", "b"):
        succeed("fit", "icx", "--picture", f"{name}.svg")
    drawn = Path("a.svg").read_text()
    assert drawn == Path("b.svg").read_text()
    assert os.stat("a.svg").st_mode & 0o777 == 0o600
    assert not any(name in drawn for name in ("ann", "bob", "cyd", "dan"))
    succeed("fit", "icx", "--picture", "c.png")
    assert Path("c.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("pictured")
def test_one_conference_has_nothing_to_predict(tmp_path: Path) -> None:
    years = drawn_pasts(np.random.default_rng(4), 40, 2, grid=np.arange(1.0, 11.0)).reviews
    Path("now.csv").unlink()
    for name, file in (("c0", "one.csv"), ("c1", "now.csv")):
        years.only(name).write(file)
    make_picture("two", "one.csv")
    succeed("fit", "two", "--picture", "a.svg")


@pytest.mark.usefixtures("pictured")
def test_nothing_is_fitted_where_the_picture_cannot_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--picture must end in .svg, .png, .pdf" in refusal("fit", "icx", "--picture", "a.gif")

    def missing(name: str) -> ModuleType:
        raise ImportError(name)

    monkeypatch.setattr("blindcal.checks.import_module", missing)
    with pytest.raises(InputError, match=r"pip install 'blindcal\[figures\]'"):
        check_picture(Path("a.svg"))
    assert not Path("icx/inputs/reviewers.csv").exists()


# --- `blindcal share`, and `fit` with what it wrote.


PAST = "paper,reviewer,score\n1,ann,7\n1,bob,4\n2,ann,6\n2,cyd,5\n3,bob,8\n3,cyd,3\n"
SHARE = ("share", "past.csv", "--committee", "people.csv", "--key", "key.bin", "--out", "s.csv")


@pytest.fixture
def sharing(place: Path) -> None:
    Path("past.csv").write_text(PAST)
    Path("people.csv").write_text("reviewer\nann\nbob\ndan\n")
    succeed("new", "past", "--key", "key.bin")


@pytest.mark.usefixtures("sharing")
def test_sums_are_shared_and_fitted() -> None:
    _, out, err = succeed(*SHARE, "--epsilon", "4")
    assert "a row for 3 people; new noise was drawn" in out
    assert "privacy loss of one review: epsilon 4" in out
    assert "public: s.csv, s.csv.share.json" in out
    assert "for you alone: 2 reviews by people who are not on the list" in err
    lines = Path("s.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["reviewer", "ann", "bob", "dan"]
    assert os.stat("key.bin.shared").st_mode & 0o777 == 0o700
    succeed("new", "icx")
    years = drawn_pasts(np.random.default_rng(4), 40, 2, grid=np.arange(1.0, 11.0)).reviews
    for name, file in (("c0", "own.csv"), ("c1", "now.csv")):
        years.only(name).write(file)
    people = "".join(f"r{number}\n" for number in range(40))
    Path("committee.csv").write_text(f"reviewer\nann\n{people}")
    succeed("import", "icx", "now.csv", "committee.csv")
    assert "past: s, sums that it shared" in succeed("import", "icx", "s.csv").out
    succeed("import", "icx", "own.csv", "--as", "past")
    assert "with what 1 other conference shared" in succeed("fit", "icx").out
    table = Path("icx/inputs/reviewers.csv")
    assert len(table.read_text().splitlines()) == 43
    assert json.loads(Path(f"{table}.fit.json").read_text())["shared"] == ["past"]


@pytest.mark.usefixtures("sharing")
def test_a_further_release_is_refused_without_a_reason() -> None:
    succeed(*SHARE, "--epsilon", "4")
    other = (*SHARE[:-1], "t.csv", "--zcdp", "0.5")
    assert "give a --reason" in refusal(*other, code=3)
    out = succeed(*other, "--reason", "another list", "--json").out
    assert json.loads(out)["statement"]["total"] == {"epsilon": None, "zcdp": 8.5}


@pytest.mark.usefixtures("sharing")
def test_what_was_shared_before_comes_with_what_is_spent_now() -> None:
    succeed(*SHARE, "--epsilon", "1")
    succeed(*SHARE[:-1], "t.csv", "--epsilon", "2", "--reason", "again")
    _, out, err = succeed(*SHARE, "--epsilon", "1", "--reason", "lost")
    assert "with everything that was shared of these reviews: epsilon 3" in out
    assert "--reason was not entered: nothing new was shared" in err
    found = json.loads(call(*SHARE, "--epsilon", "1", "--json")[1])
    assert found["total"] == {"epsilon": 3.0, "zcdp": 2.5}
    assert found["statement"]["total"] == {"epsilon": 1.0, "zcdp": 0.5}


@pytest.mark.usefixtures("sharing")
@pytest.mark.parametrize("how", [(), ("--epsilon", "1", "--zcdp", "1"), ("--epsilon", "0")])
def test_one_limit_must_be_given(how: tuple[str, ...]) -> None:
    assert "--epsilon or --zcdp" in refusal(*SHARE, *how)
    assert not Path("s.csv").exists()
