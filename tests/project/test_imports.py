"""Files brought into a folder: what they are taken for, where they go, how conference.toml is edited."""

from __future__ import annotations

from pathlib import Path

import pytest

from blindcal.errors import InputError
from blindcal.importers.raw_export import Choices
from blindcal.project.create import InitialSettings, SourceFiles, create_folder
from blindcal.project.imports import (
    Source,
    decided,
    edited_settings,
    file_kind,
    folder_reviews,
    free_place,
    read_import,
    resolved_kinds,
    write_import,
)
from blindcal.project.settings import FILE, read_folder
from exports import EXPORTS, Export
from small_conferences import everything, small_conference


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    small_conference().write(tmp_path / "in")
    create_folder(tmp_path / "icx", SourceFiles(), InitialSettings(), tmp_path / "icx.key")
    return tmp_path / "icx"


def bring(folder: Path, *paths: Path, kind: str | None = None) -> None:
    conference = read_folder(folder)
    sources = resolved_kinds(conference, paths, kind, Choices())
    write_import(conference, read_import(conference, sources, Choices()))


@pytest.mark.parametrize("export", EXPORTS, ids=[export.name for export in EXPORTS])
def test_no_export_of_reviews_is_taken_for_a_list(export: Export) -> None:
    if "columns" not in export.options:
        assert file_kind(export.path, Choices(), has_reviews=False) == "reviews"


def test_reading_writes_nothing_and_writing_is_all(folder: Path, tmp_path: Path) -> None:
    conference, inputs = read_folder(folder), tmp_path / "in"
    assert folder_reviews(conference) is None
    sources = [Source(inputs / f"{kind}.csv", kind) for kind in ("reviews", "reviewers", "pools")]
    before = everything(tmp_path)
    brought = read_import(conference, sources, Choices())
    assert everything(tmp_path) == before
    write_import(conference, brought)
    settings = read_folder(folder).settings
    for kind in ("reviews", "reviewers", "pools"):
        assert settings[kind] == str(folder / "inputs" / f"{kind}.csv")
    reviews = folder_reviews(read_folder(folder))
    assert reviews is not None
    assert len(reviews.papers) == 6
    assert read_import(read_folder(folder), sources, Choices()).places == {}, "nothing is new"


def test_every_correction_has_a_place_of_its_own(folder: Path, tmp_path: Path) -> None:
    table = tmp_path / "r.csv"
    for number in range(3):
        table.write_text(f"paper,reviewer,score\n1,ann,{number}\n2,ann,2\n3,bob,1\n")
        brought = read_import(read_folder(folder), [Source(table, "reviews")], Choices())
        write_import(read_folder(folder), brought)
    found = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("reviews.csv"))
    assert found == [f"inputs/{place}reviews.csv" for place in ("correction-1/", "correction-2/", "")]
    assert read_folder(folder).settings["reviews"] == str(folder / "inputs/correction-2/reviews.csv")
    assert free_place(folder, "x.csv") == "inputs/correction-3/x.csv"


def test_the_text_of_a_chair_stays(folder: Path) -> None:
    file = folder / FILE
    file.write_text(
        '# mine\nreviews = "a.csv"\nbetter = "low"  # theirs\n'
        '[withdrawn]\n# a note\n"3" = "x"\n[overridden]\n'
    )
    notes = {"withdrawn": {"4": 'said "so"', "5": "y"}}
    text = edited_settings(folder, {"reviews": "b.csv", "past": ["c.csv"]}, notes)
    assert text == (
        '# mine\nreviews = "b.csv"\nbetter = "low"  # theirs\npast = ["c.csv"]\n[withdrawn]\n'
        '"4" = "said \\"so\\""\n"5" = "y"\n# a note\n"3" = "x"\n[overridden]\n'
    )
    file.write_text('better = "low"\n')
    gone = {"withdrawn": {"4": "y"}}
    assert edited_settings(folder, {}, gone) == 'better = "low"\n\n[withdrawn]\n"4" = "y"\n'
    file.write_text('past = [\n  "a.csv",\n]\n')
    assert edited_settings(folder, {"past": ["b.csv"]}) == 'past = ["b.csv"]\n'
    file.write_text('withdrawn = {"3" = "x"}\n')
    with pytest.raises(InputError, match="cannot be edited at withdrawn: write it as a new file has it"):
        edited_settings(folder, {}, gone)


def test_a_line_about_a_paper_is_replaced_or_taken_out_of_its_own_table(folder: Path) -> None:
    file = folder / FILE
    file.write_text('[withdrawn]\n# "3" stays\n3 = "x"  # by mail\n"4" = "y"\n\n[overridden]\n"3" = "accept"')
    taken = edited_settings(folder, {}, {"withdrawn": {"3": None}})
    assert taken == '[withdrawn]\n# "3" stays\n"4" = "y"\n\n[overridden]\n"3" = "accept"'
    text = edited_settings(folder, {}, {"overridden": {"3": "reject: why", "9": "accept: so"}})
    assert text.endswith('[overridden]\n"3" = "reject: why"\n"9" = "accept: so"\n')
    assert '3 = "x"  # by mail' in text
    file.write_text('[withdrawn]\n"3" = """\ntwo\nlines"""\n')
    with pytest.raises(InputError, match="cannot be edited at withdrawn"):
        edited_settings(folder, {}, {"withdrawn": {"3": None}})


def test_a_folder_is_decided_if_its_key_has_a_record(folder: Path) -> None:
    assert not decided(read_folder(folder))
    (folder.parent / "icx.key.sealed").mkdir()
    assert decided(read_folder(folder))
