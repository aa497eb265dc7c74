"""A folder from the files that a chair has: whole, with settings that the commands can use; or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from blindcal.deciding.coins import read_key
from blindcal.deciding.release import decide
from blindcal.errors import InputError, RefusedError
from blindcal.posterior.inputs import read_inputs
from blindcal.project.create import InitialSettings, SourceFiles, create_folder, read_contents
from blindcal.project.settings import folder_request, read_folder
from small_conferences import everything, small_conference


def given(folder: Path) -> SourceFiles:
    small_conference().write(folder)
    return SourceFiles(folder / "reviews.csv", pools=folder / "pools.csv", reviewers=folder / "reviewers.csv")


def test_a_folder_is_made_that_can_be_read_and_decided(tmp_path: Path) -> None:
    files, key = given(tmp_path / "in"), tmp_path / "icx.key"
    made = create_folder(tmp_path / "icx", files, InitialSettings("public", accept_rate=0.4), key)
    assert made.calibrated
    assert read_key(key) == made.secret
    wanted = folder_request(read_folder(tmp_path / "icx"))
    assert (wanted.request.accept_rate, wanted.key) == (0.4, key)
    conference, _ = wanted.inputs().prepared(accept_rate=0.4)
    assert len(conference.cases) == 6


@pytest.mark.parametrize(
    ("wishes", "told"),
    [
        (InitialSettings("public", 0.4, "3"), "either `accept_rate` or `accept`"),
        (InitialSettings("public", 0.4, grid="1..3"), "`grid` 1..3 must hold every score"),
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
    wanted = folder_request(read_folder(tmp_path / "icx"))
    assert made.settings["grid"] != "none"
    texts = []
    for name, inputs in (
        ("folder", wanted.inputs()),
        ("files", read_inputs(files.reviews, str(files.reviewers), str(files.pools))),
    ):
        copied = tmp_path / name / "key"
        copied.parent.mkdir()
        copied.write_bytes(key.read_bytes())
        copied.chmod(0o600)
        outcome = decide(inputs, wanted.request, copied, tmp_path / name / "out", despite_misfit=True)
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
