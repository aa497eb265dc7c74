"""Files brought into a folder: what they are taken for, where they go, how conference.toml is edited."""

from __future__ import annotations

import csv
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from blindcal.errors import InputError
from blindcal.importers.raw_export import Choices
from blindcal.posterior.conference import refuse_mismatches
from blindcal.posterior.inputs import read_inputs
from blindcal.project.contents import Source, resolved_kinds
from blindcal.project.create import InitialSettings, create_folder
from blindcal.project.imports import (
    UNKNOWN_REVIEWERS_FILE,
    decided,
    edited_settings,
    folder_reviews,
    free_place,
    read_import,
    unknown_reviewers_listed,
    write_import,
)
from blindcal.project.settings import FILE, Folder, read_folder
from exports import BY_NAME
from small_conferences import SmallConference, everything, small_conference


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    small_conference().write(tmp_path / "in")
    create_folder(tmp_path / "icx", InitialSettings(), tmp_path / "icx.key")
    return tmp_path / "icx"


def bring(folder: Path, *paths: Path, kind: str | None = None) -> None:
    conference = read_folder(folder)
    sources = resolved_kinds(conference, paths, kind, Choices())
    write_import(conference, read_import(conference, sources, Choices()))


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


TABLE = "paper,reviewer,score,title,track\n1,a,3,On Widgets,x\n2,a,2,Gizmos,x\n2,b,1,Gizmos,x\n"
LISTS = {
    "reviews": TABLE,
    "reviewers": "reviewer,slope,offset,noise\na,1,2,1\n",
    "committee": "reviewer,name\na,Ada\nc,\n",
    "conflicts": "paper,conflict\n1,c\n",
}


def test_everything_is_written_for_its_owner_alone_and_named(folder: Path, tmp_path: Path) -> None:
    for kind, text in LISTS.items():
        (tmp_path / f"{kind}.csv").write_text(text)
    (tmp_path / "reviewers.csv.fit.json").write_text("{}\n")
    (tmp_path / "2025.csv").write_text("paper,reviewer,score\n7,a,3\n8,a,4\n")
    bring(folder, *(tmp_path / f"{kind}.csv" for kind in LISTS))
    bring(folder, tmp_path / "2025.csv", kind="past")
    inputs = folder / "inputs"
    found = {path.relative_to(inputs).as_posix(): path for path in inputs.rglob("*")}
    tables = {f"{name}.csv" for name in (*LISTS, "past/2025", "titles", "tracks")}
    assert found.keys() == {*tables, "past", "reviewers.csv.fit.json"}
    for path in found.values():
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    for kind in ("committee", "conflicts"):
        assert found[f"{kind}.csv"].read_text() == LISTS[kind]
    settings = read_folder(folder).settings
    assert settings["pools"] == str(inputs / "conflicts.csv")
    assert settings["past"] == (str(inputs / "past" / "2025.csv"),)


def test_pools_that_are_given_come_before_conflicts_of_an_export(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("paper,reviewer\n1,a\n1,b\n")
    export, conference = BY_NAME["hotcrp/rqc-letters.json"].path, read_folder(folder)
    (tmp_path / "known.csv").write_text("reviewer,slope,offset,noise\n*,1,2,1\n")
    lists = [
        Source(tmp_path / f"{name}.csv", kind) for name, kind in {"p": "pools", "known": "reviewers"}.items()
    ]
    brought = read_import(conference, [Source(export, "reviews"), *lists], Choices())
    assert str(tmp_path / "p.csv") in " ".join(brought.refusals), "nobody in these pools reviewed"
    write_import(conference, brought)
    assert read_folder(folder).settings["pools"] == str(folder / "inputs" / "pools.csv")
    assert (folder / "inputs" / "conflicts.csv").exists(), "`blindcal pools` reads them"


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


# --- Reviewers whom no pool holds: one message for each cause, names in a file for the chair alone.


NAMES = ("Ada Lovelace", "Kurt Gödel", "Emmy Noether", "R07", "R08", "Alan Turing")


def people(small: SmallConference) -> SmallConference:
    """The conference with names that can be misspelled."""
    names = dict(zip(small.canaries, NAMES, strict=False))

    def named(rows: tuple[tuple[str, ...], ...]) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(names.get(cell, cell) for cell in row) for row in rows)

    return SmallConference(named(small.reviews), named(small.reviewers), named(small.pools))


@pytest.fixture
def small() -> SmallConference:
    return people(small_conference(seed=4, papers=5, pool=4, reviews=2, reviewers=6))


def _refused(small: SmallConference, place: Path, out: Path | None = None) -> tuple[str, Path]:
    """What is said about a conference's files, and where the names are."""
    folder = small.write(place / "in")
    reviews, reviewers, pools = (folder / f"{name}.csv" for name in ("reviews", "reviewers", "pools"))
    inputs = read_inputs(reviews, reviewers, pools)
    settings = {"reviews": str(reviews), "out": "" if out is None else str(out)}
    conference = Folder(place, settings, {}, {})
    with pytest.raises(InputError) as refusal, unknown_reviewers_listed(conference):
        refuse_mismatches(inputs.reviews, inputs.parameters, inputs.pools, inputs.sources)
    return str(refusal.value).replace(f"{folder}/", ""), folder / UNKNOWN_REVIEWERS_FILE


def _rows(path: Path) -> list[list[str]]:
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return list(csv.reader(path.read_text(encoding="utf-8").splitlines()))


def _cause(name: str, small: SmallConference) -> tuple[SmallConference, str, list[str]]:
    """A conference with one fault, the start of its message and the row of its file."""
    paper, who, _ = small.reviews[1]
    if name == "spelling":
        other = {"R07": "r 07"}.get(who, who.upper().replace(" ", ", "))
        start = "reviews.csv, column reviewer: must spell reviewers as the other files do, found 1 spelled"
        return small.with_review(1, reviewer=other), start, [paper, other, name, who]
    if name == "calibration":
        start = "reviewers.csv, column reviewer: must have a row for every reviewer (each"
        return small.with_review(1, reviewer="Xyq"), start, [paper, "Xyq", name, ""]
    if name == "conflict":
        barred = (("paper", "conflict"), (paper, who))
        start = "pools.csv, column conflict: must not list a reviewer of the paper, found 1 listed"
        return replace(small, pools=barred), start, [paper, who, name, ""]
    if name == "probability 0":
        zero = tuple((*row[:2], "0") if row[:2] == (paper, who) else row for row in small.pools)
        start = "pools.csv, column probability: must be above 0 for every reviewer of a paper"
        return replace(small, pools=zero), start, [paper, who, name, ""]
    kept = tuple(row for row in small.pools if row[:2] != (paper, who))
    start = "pools.csv: must hold every reviewer of a paper"
    return replace(small, pools=kept), start, [paper, who, name, ""]


@pytest.mark.parametrize("cause", ["spelling", "calibration", "conflict", "probability 0", "pool"])
def test_every_cause_has_its_message_and_blames_the_right_file(
    cause: str, small: SmallConference, tmp_path: Path
) -> None:
    bad, start, row = _cause(cause, small)
    said, file = _refused(bad, tmp_path)
    first, last = said.splitlines()
    assert first.startswith(start)
    assert first.endswith(f"for paper '{row[0]}' (reviews.csv, row 2)")
    assert last.startswith(f"their names, and the closest known names: {UNKNOWN_REVIEWERS_FILE}")
    assert not any(name in said for name in (*NAMES, row[1]))
    assert _rows(file) == [["paper", "reviewer", "cause", "nearest"], row]


def test_the_message_is_the_same_whichever_review_it_is(small: SmallConference, tmp_path: Path) -> None:
    told = {_refused(small.with_review(i, reviewer="Xyq"), tmp_path)[0] for i in (1, 2)}
    assert len(told) == 1


def test_a_list_of_ours_is_replaced_and_a_file_of_yours_is_left(
    small: SmallConference, tmp_path: Path
) -> None:
    _, file = _refused(small.with_review(1, reviewer="Xyq"), tmp_path)
    _refused(small.with_review(1, reviewer="Zzz"), tmp_path)
    assert [row[1] for row in _rows(file)] == ["reviewer", "Zzz"]
    file.write_text("mine", encoding="utf-8")
    said, _ = _refused(small.with_review(1, reviewer="Xyq"), tmp_path)
    assert said.splitlines()[-1].endswith("already exists")
    assert file.read_text(encoding="utf-8") == "mine"


def test_names_never_go_into_the_folder_that_is_sent_on(small: SmallConference, tmp_path: Path) -> None:
    message, _ = _refused(small.with_review(1, reviewer="Xyq"), tmp_path, out=tmp_path)
    assert "their names are not written down" in message
    assert not list(tmp_path.rglob(f"*{UNKNOWN_REVIEWERS_FILE}*"))


def test_papers_are_in_natural_order(small: SmallConference, tmp_path: Path) -> None:
    """'2' before '10', in the messages and in the list."""
    number = {"p00": "10", "p01": "2", "p02": "1"}
    rows = tuple((number.get(row[0], row[0]), *row[1:]) for row in small.reviews)
    pools = tuple((number.get(row[0], row[0]), *row[1:]) for row in small.pools)
    bad = replace(small, reviews=rows, pools=pools)
    for place in [i for i, row in enumerate(rows) if row[0] in ("2", "10")][::2]:
        bad = bad.with_review(place, reviewer="Xyq")
    said, file = _refused(bad, tmp_path)
    assert [line.split("paper '")[1].split("'")[0] for line in said.splitlines()[:2]] == ["2", "10"]
    assert [row[0] for row in _rows(file)] == ["paper", "2", "10"]
