"""A folder from the files that a chair has: whole, with settings that the commands can use; or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from blindcal.deciding.decide import decide
from blindcal.deciding.key import make_key, read_key
from blindcal.errors import InputError, RefusedError
from blindcal.importers import import_reviews
from blindcal.io.tables import format_table
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.inputs import read_inputs
from blindcal.project.create import (
    FolderContents,
    InitialSettings,
    SourceFiles,
    check_scores,
    create_folder,
    read_contents,
    score_remarks,
)
from blindcal.project.settings import folder_request, read_folder
from blindcal.project.workflow import folder_inputs
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
            SourceFiles(files.reviews, people, [files.reviews]),
            InitialSettings("public"),
            tmp_path / "icx.key",
        )
    contents, _ = read_contents(SourceFiles(files.reviews, people))
    assert len(contents.committee) == 8


def test_past_years_whose_files_have_one_name_go_by_their_folders(tmp_path: Path) -> None:
    files = given(tmp_path / "in")
    people = tmp_path / "pc.csv"
    people.write_text("reviewer\n" + "\n".join(small_conference().canaries) + "\n")
    past = [tmp_path / "2025" / "notes.csv", tmp_path / "2026" / "notes.csv", tmp_path / "2024.csv"]
    for path in past:
        path.parent.mkdir(exist_ok=True)
        path.write_text("paper,reviewer,score\n1,ada,2\n2,ada,3\n")
    contents, _ = read_contents(SourceFiles(files.reviews, people, past))
    assert [*contents.past] == ["2025-notes", "2026-notes", "2024"]
    assert contents.settings["past"] == [f"inputs/past/{name}.csv" for name in sorted(contents.past)]
    with pytest.raises(InputError, match="must have different names, or lie in folders of different names"):
        read_contents(SourceFiles(files.reviews, people, [past[0], past[0]]))


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
    for files in (SourceFiles(bad), SourceFiles(good, tmp_path / "pc.csv", [bad])):
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
    contents, _ = read_contents(SourceFiles(good, tmp_path / "pc.csv", [bad]))
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
    contents, _ = read_contents(SourceFiles(bad, tmp_path / "pc.csv", [eleven]))
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
    files = SourceFiles(panel(tmp_path / "now.csv", SCORES), tmp_path / "pc.csv", past)
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
