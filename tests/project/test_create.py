"""A folder from the files that a chair has: whole, with settings that the commands can use; or not at all."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from blindcal.deciding.decide import decide
from blindcal.deciding.key import make_key, read_key
from blindcal.deciding.ledger import ledger_folder
from blindcal.errors import InputError, RefusedError
from blindcal.importers import import_reviews
from blindcal.importers.raw_export import Choices
from blindcal.io.tables import format_table
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.inputs import read_inputs
from blindcal.project.create import (
    FolderContents,
    InitialSettings,
    SourceFiles,
    check_key,
    check_scores,
    create_folder,
    grid_text,
    import_past,
    key_beside,
    new_key,
    read_contents,
    refuse_lost,
    score_remarks,
    write_inputs,
)
from blindcal.project.folder import folder_inputs
from blindcal.project.settings import folder_request, parse_grid, read_folder
from blindcal.reviews import infer_grid
from small_conferences import everything, read_small, small_conference


def given(folder: Path) -> SourceFiles:
    small_conference().write(folder)
    return SourceFiles(folder / "reviews.csv", pools=folder / "pools.csv", reviewers=folder / "reviewers.csv")


def test_a_folder_is_made_that_can_be_read_and_decided(tmp_path: Path) -> None:
    files, key = given(tmp_path / "in"), tmp_path / "icx.key"
    made = create_folder(tmp_path / "icx", files, InitialSettings("public", accept_rate=0.4), key)
    assert made.calibrated
    assert read_key(key) == made.secret
    folder = read_folder(tmp_path / "icx")
    assert (folder_request(folder).accept_rate, folder.text("key")) == (0.4, str(key))
    with folder_inputs(folder) as inputs:
        conference, _ = inputs.prepared(accept_rate=0.4)
    assert len(conference.cases) == 6


@pytest.mark.parametrize(
    ("wishes", "told"),
    [
        (InitialSettings("public", 0.4, "3"), "either `accept_rate` or `accept`"),
        (InitialSettings("public", accept="99"), "there are only"),
        (InitialSettings("public", 0.4, better="up"), "high"),
        (InitialSettings("public", accept="3.5"), "`accept` must be a whole number"),
    ],
)
def test_a_bad_wish_is_refused_and_nothing_is_written(
    tmp_path: Path, wishes: InitialSettings, told: str
) -> None:
    files = given(tmp_path / "in")
    before = everything(tmp_path)
    with pytest.raises(InputError, match=told):
        create_folder(tmp_path / "icx", files, wishes, tmp_path / "icx.key")
    assert everything(tmp_path) == before


def test_a_folder_loose_files_and_python_give_one_certificate(tmp_path: Path) -> None:
    """Whole scores count as rounded, wherever they are read from."""
    files, key = given(tmp_path / "in"), tmp_path / "icx.key"
    small = small_conference()
    rows = [(paper, who, f"{round(float(score))}") for paper, who, score in small.reviews[1:]]
    replace(small, reviews=(small.reviews[0], *rows)).write(tmp_path / "in")
    made = create_folder(tmp_path / "icx", files, InitialSettings("public", accept_rate=0.4), key)
    with folder_inputs(read_folder(tmp_path / "icx")) as of_folder:
        pass
    assert made.settings["grid"] != "none"
    texts = []
    for name, inputs in (
        ("folder", of_folder),
        ("files", read_inputs(files.reviews, str(files.reviewers), str(files.pools))),
    ):
        copied = tmp_path / name / "key"
        copied.parent.mkdir()
        copied.write_bytes(key.read_bytes())
        copied.chmod(0o600)
        outcome = decide(
            inputs,
            folder_request(read_folder(tmp_path / "icx")),
            copied,
            tmp_path / name / "out",
            despite_misfit=True,
        )
        texts.append((outcome.record.decisions, outcome.record.certificate))
    assert texts[0] == texts[1]


def test_files_that_exclude_or_need_each_other_are_refused(tmp_path: Path) -> None:
    files = given(tmp_path / "in")
    reviews, other = files.reviews, files.pools
    cases = [
        (SourceFiles(reviews, past=[reviews]), "`past` needs `committee`"),
        (SourceFiles(reviews, past=[reviews], reviewers=reviews), "`past` or `reviewers`, not both"),
        (SourceFiles(reviews, conflicts=other, pools=other), "`conflicts` or `pools`, not both"),
    ]
    for bad, told in cases:
        with pytest.raises(InputError, match=told):
            create_folder(tmp_path / "icx", bad, InitialSettings("public"), tmp_path / "icx.key")


def test_an_existing_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "icx").mkdir()
    with pytest.raises(RefusedError, match="never overwritten"):
        create_folder(
            tmp_path / "icx", given(tmp_path / "in"), InitialSettings("public"), tmp_path / "icx.key"
        )


def test_this_years_reviews_are_no_past_ones(tmp_path: Path) -> None:
    files = given(tmp_path / "in")
    people = tmp_path / "pc.csv"
    people.write_text("reviewer\n" + "\n".join(small_conference().canaries) + "\n")
    with pytest.raises(InputError, match="other conferences than the one being decided"):
        create_folder(
            tmp_path / "icx",
            SourceFiles(files.reviews, [people], [files.reviews]),
            InitialSettings("public"),
            tmp_path / "icx.key",
        )
    contents, _ = read_contents(SourceFiles(files.reviews, [people]))
    assert len(contents.committee) == 8


def test_past_years_whose_files_have_one_name_go_by_their_folders(tmp_path: Path) -> None:
    files = given(tmp_path / "in")
    people = tmp_path / "pc.csv"
    people.write_text("reviewer\n" + "\n".join(small_conference().canaries) + "\n")
    past = [tmp_path / "2025" / "notes.csv", tmp_path / "2026" / "notes.csv", tmp_path / "2024.csv"]
    for path in past:
        path.parent.mkdir(exist_ok=True)
        path.write_text("paper,reviewer,score\n1,ada,2\n2,ada,3\n")
    contents, _ = read_contents(SourceFiles(files.reviews, [people], past))
    assert [*contents.past] == ["2025-notes", "2026-notes", "2024"]
    assert contents.settings["past"] == [f"inputs/past/{name}.csv" for name in sorted(contents.past)]
    with pytest.raises(InputError, match="must have different names, or lie in folders of different names"):
        read_contents(SourceFiles(files.reviews, [people], [past[0], past[0]]))


def panel(path: Path, scores: list[float], tracks: str = "") -> Path:
    """Two reviews of each paper, on a scale of 1 to 10; papers may have a track each."""
    rows = [
        f"{place // 2},{'abc'[place % 3]},{score:g}" + (f",{tracks[place // 2]}" if tracks else "")
        for place, score in enumerate(scores)
    ]
    path.write_text("\n".join(["paper,reviewer,score" + ",track" * bool(tracks), *rows, ""]))
    return path


SCORES = [float(1 + 7 * i % 10) for i in range(40)]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({11: 55.0}, "row 13, column score: must be on the scale of the other scores, 1 to 10"),
        ({0: -9.0}, "row 2, column score: must be on the scale of the other scores, 1 to 10"),
        ({3: 11.0}, None),
        ({3: 14.0, 5: 55.0}, "row 7, column score: must be on the scale of the other scores, 1 to 14"),
        ({3: 55.0, 5: 55.0}, None),
    ],
)
def test_a_typing_error_is_named_with_its_row(
    tmp_path: Path, wrong: dict[int, float], told: str | None
) -> None:
    scores = [wrong.get(place, score) for place, score in enumerate(SCORES)]
    bad, good = panel(tmp_path / "bad.csv", scores), panel(tmp_path / "good.csv", SCORES[::-1])
    (tmp_path / "pc.csv").write_text("reviewer\na\nb\nc\n")
    for files in (SourceFiles(bad), SourceFiles(good, [tmp_path / "pc.csv"], [bad])):
        contents, _ = read_contents(files)
        if told is None:
            check_scores(contents, None)
            continue
        with pytest.raises(InputError, match=f"bad.csv, {told}"):
            create_folder(tmp_path / "icx", files, InitialSettings("public"), tmp_path / "icx.key")
        assert not (tmp_path / "icx").exists()
    contents, _ = read_contents(SourceFiles(bad))
    check_scores(contents, "none")


@pytest.mark.parametrize(
    ("wrong", "row", "usual"),
    [
        ({3: 11.0}, 5, "1 to 10"),
        ({0: 0.0}, 2, "1 to 10"),
        ({3: 11.0, 5: 11.0}, 7, "1 to 10"),
        ({3: 11.0, 5: 11.0, 8: 11.0}, None, ""),
        ({}, None, ""),
    ],
)
def test_a_score_just_beyond_the_scale_is_pointed_out(
    tmp_path: Path, wrong: dict[int, float], row: int | None, usual: str
) -> None:
    scores = [wrong.get(place, score) for place, score in enumerate(SCORES)]
    bad, good = panel(tmp_path / "bad.csv", scores), panel(tmp_path / "good.csv", SCORES[::-1])
    (tmp_path / "pc.csv").write_text("reviewer\na\nb\nc\n")
    wanted = (
        f"{bad}, row {row}, column score: is it a typing error? All other scores are {usual}; `grid` says"
    )
    contents, _ = read_contents(SourceFiles(good, [tmp_path / "pc.csv"], [bad]))
    made = create_folder(
        tmp_path / "icx", SourceFiles(bad), InitialSettings("public", accept_rate=0.4), tmp_path / "icx.key"
    )
    for remarks in (made.remarks, score_remarks(contents, None), score_remarks(contents, "1..10")):
        assert any(remark.startswith(wanted) for remark in remarks) == (row is not None), remarks
        assert sum("typing error" in remark for remark in remarks) == (len(wrong) if row else 0)
    # Whoever says which scores can be given has looked; and a past year that has such scores answers it.
    assert (
        score_remarks(replace(contents, past={}, imported=import_reviews(bad.read_bytes(), "x")), "1..11")
        == ()
    )
    eleven = panel(tmp_path / "eleven.csv", [*SCORES[4:], *[11.0, 0.0] * 2])
    contents, _ = read_contents(SourceFiles(bad, [tmp_path / "pc.csv"], [eleven]))
    assert not any(str(bad) in remark for remark in score_remarks(contents, None))


def test_scores_of_any_kind_are_no_typing_errors() -> None:
    rng = np.random.default_rng(7)
    for scores in (np.exp(2 * rng.normal(size=200)), rng.choice([1.0, 3, 5, 6, 8, 10], 300), [1.0, 2, 50]):
        columns = {"paper": range(len(scores)), "reviewer": ["ada"] * len(scores), "score": scores}
        data = format_table({name: list(map(str, cells)) for name, cells in columns.items()})
        contents = FolderContents(import_reviews(data, "x.csv"))
        check_scores(contents, None)
        assert score_remarks(contents, None) == ()


@pytest.mark.parametrize(
    ("tracks", "accept", "told"),
    [
        ("", "21", "`accept` 21: there are only 20 papers"),
        ("", "20", "then there is nothing to decide"),
        ("", "main=3", "must have a number for each track of .*, which has no tracks"),
        ("mmmmmsssss" * 2, "m=3,t=2", "which has the tracks m, s"),
        ("mmmmmsssss" * 2, "m=3", "which has the tracks m, s"),
        ("mmmmmsssss" * 2, "m=3,s=11", "there are only 10 papers in track 's'"),
        ("mmmmmsssss" * 2, "m=3,s=2", None),
        ("mmmmmsssss" * 2, "5", None),
    ],
)
def test_what_to_accept_is_checked_before_anything_is_written(
    tmp_path: Path, tracks: str, accept: str, told: str | None
) -> None:
    files = SourceFiles(panel(tmp_path / "reviews.csv", SCORES, tracks))
    wishes, key = InitialSettings("public", accept=accept), tmp_path / "icx.key"
    if told is None:
        create_folder(tmp_path / "icx", files, wishes, key)
        return
    with pytest.raises(InputError, match=told):
        create_folder(tmp_path / "icx", files, wishes, key)
    assert [path.name for path in tmp_path.iterdir()] == ["reviews.csv"]


def test_past_years_are_put_in_order_and_a_bad_place_is_said(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "pc.csv").write_text("reviewer\na\nb\nc\n")
    past = [panel(tmp_path / f"icx{year}.csv", list(rng_scores(year))) for year in (26, 25)]
    files = SourceFiles(panel(tmp_path / "now.csv", SCORES), [tmp_path / "pc.csv"], past)
    made = create_folder(tmp_path / "icx", files, InitialSettings("public"), tmp_path / "icx.key")
    assert made.settings["past"] == ["inputs/past/icx25.csv", "inputs/past/icx26.csv"]
    assert made.contents.fitted is not None
    assert made.contents.fitted.conferences == ("icx25", "icx26")
    assert "past conferences were put in the order of their years: icx25, icx26" in made.remarks
    assert any("lies in a Git work tree" in remark for remark in made.remarks)
    assert made.contents.people is not None
    assert str(made.contents.people) == "3 of 3 members found in past reviews"


def rng_scores(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, 11, 40).astype(float)


def test_a_key_that_decided_another_conference_is_refused(tmp_path: Path) -> None:
    """Before any file is read; its own conference may get a new folder, if the old one was lost."""
    small, key = small_conference(), tmp_path / "icx.key"
    make_key(key)
    inputs = read_small(small, tmp_path / "in")
    decide(inputs, Request(Guarantee("public"), "icx", accept_rate=0.4), key, tmp_path / "out")
    wishes = InitialSettings("public")
    with pytest.raises(RefusedError, match="this key decided conference 'icx'"):
        create_folder(tmp_path / "other", SourceFiles(), wishes, key)
    assert not (tmp_path / "other").exists()
    assert create_folder(tmp_path / "icx", SourceFiles(), wishes, key).key == key


# --- The inputs of a new folder: which tables, which settings, for their owner alone.


TABLE = b"paper,reviewer,score,title,track\n1,a,3,On Widgets,x\n2,a,2,Gizmos,x\n2,b,1,Gizmos,x\n"
PLAIN = b"paper,reviewer,score\n1,a,3\n2,a,2\n"


def test_only_what_there_is_is_written_and_named(tmp_path: Path) -> None:
    contents = FolderContents(import_reviews(PLAIN, "x.csv"))
    write_inputs(tmp_path, contents)
    assert [path.name for path in tmp_path.rglob("*.csv")] == ["reviews.csv"]
    assert contents.settings == {"reviews": "inputs/reviews.csv"}, "these reviews calibrate themselves"
    with_past = FolderContents(import_reviews(PLAIN, "x.csv"), {"2026": import_reviews(PLAIN, "y.csv")})
    assert with_past.settings["pools"] == "everyone"
    assert with_past.settings["reviewers"] == "inputs/reviewers.csv"


def test_everything_is_written_for_its_owner_alone(tmp_path: Path) -> None:
    (tmp_path / "known.csv").write_text("reviewer,slope,offset,noise\na,1,2,1\n")
    (tmp_path / "known.csv.fit.json").write_text("{}\n")
    past = {"2025": import_reviews(PLAIN, "2025.csv")}
    files = {"reviewers": tmp_path / "known.csv"}
    contents = FolderContents(
        import_reviews(TABLE, "x.csv"), past, {"a": "Ada", "c": ""}, [("1", "c")], files
    )
    (tmp_path / "icx").mkdir()
    write_inputs(tmp_path / "icx", contents)
    found = {path.relative_to(tmp_path / "icx").as_posix(): path for path in (tmp_path / "icx").rglob("*")}
    names = ["committee", "conflicts", "past/2025", "reviewers", "reviews", "titles", "tracks"]
    files_there = {f"inputs/{name}.csv" for name in names}
    assert found.keys() == {*files_there, "inputs", "inputs/past", "inputs/reviewers.csv.fit.json"}
    for path in found.values():
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    assert found["inputs/committee.csv"].read_text() == "reviewer,name\na,Ada\nc,\n"
    assert found["inputs/conflicts.csv"].read_text() == "paper,conflict\n1,c\n"
    settings = contents.settings
    assert settings.pop("pools") == "inputs/conflicts.csv"
    assert settings.pop("past") == ["inputs/past/2025.csv"]
    assert {*settings.values()} < files_there


def test_pools_that_are_given_come_before_conflicts(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("paper,reviewer\n1,a\n")
    imported = import_reviews(PLAIN, "x.csv")
    contents = FolderContents(imported, conflicts=[("1", "c")], files={"pools": tmp_path / "p.csv"})
    assert contents.settings["pools"] == "inputs/pools.csv"


def test_a_past_table_of_ours_needs_no_choices() -> None:
    """What `blindcal import` wrote last year is read, whatever this year's export is called."""
    choices = Choices(score_field="OveMer", best_first=("A", "B"))
    assert import_past(PLAIN.replace(b"paper", b"Paper"), "x.csv", choices).reviews.score.tolist() == [
        3.0,
        2.0,
    ]
    export = b"paper,title,email,OveMer,RevExp\n1,T,a@x.org,3,1\n2,T,a@x.org,2,2\n"
    assert import_past(export, "x.csv", Choices(score_field="RevExp")).score_field == "RevExp"


LEVELS: list[tuple[list[float], str]] = [
    ([1, 2, 5, 2], "1..5"),
    ([-3, 3, 0], "-3..3"),
    ([1] * 100 + [3] * 100 + [10] * 100, "1,3,10"),
    ([0.5, 1] * 3, "0.5,1"),
    ([0.5, 1], "none"),
    ([3, 3], "none"),
    ([0, 100], "none"),
]


@pytest.mark.parametrize(("score", "expected"), LEVELS)
def test_the_grid_is_written_as_it_is_recognized(score: list[float], expected: str) -> None:
    found = infer_grid(np.array(score, dtype=float))
    assert grid_text(found) == expected
    assert parse_grid(expected) == ([] if found is None else found.tolist())


# --- Keys of folders: beside them, never inside, and none in the place of one that was lost.


def test_a_key_lies_beside_its_folder_and_is_for_its_owner_alone(tmp_path: Path) -> None:
    key = key_beside(tmp_path / "icx")
    assert key == tmp_path / "icx.key"
    check_key(key, tmp_path / "icx")
    made = new_key(key)
    assert key.read_bytes() == made.secret
    assert key.stat().st_mode & 0o777 == 0o600
    check_key(key, tmp_path / "icx")


def test_a_key_within_the_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`key` must not lie in the folder"):
        check_key(tmp_path / "icx" / "inner" / "x.key", tmp_path / "icx")
    with pytest.raises(InputError, match="must be a folder that exists"):
        check_key(tmp_path / "nowhere" / "x.key", tmp_path / "icx")


def test_no_key_is_made_in_the_place_of_one_that_was_lost(tmp_path: Path) -> None:
    key = tmp_path / "icx.key"
    ledger_folder(key).mkdir()
    for call in (refuse_lost, new_key):
        with pytest.raises(RefusedError, match="a key that is missing"):
            call(key)
    assert not key.exists()
