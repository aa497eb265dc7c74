"""The inputs of a new folder: which tables, which settings, for their owner alone."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import pytest

from blindcal.importers import import_reviews
from blindcal.importers.raw_export import Choices
from blindcal.project.create import FolderContents, grid_text, import_past, write_inputs
from blindcal.project.settings import parse_grid
from blindcal.reviews import infer_grid

TABLE = b"paper,reviewer,score,title,track\n1,a,3,On Widgets,x\n2,a,2,Gizmos,x\n2,b,1,Gizmos,x\n"
PLAIN = b"paper,reviewer,score\n1,a,3\n2,a,2\n"


def test_only_what_there_is_is_written_and_named(tmp_path: Path) -> None:
    contents = FolderContents(import_reviews(PLAIN, "x.csv"))
    write_inputs(tmp_path, contents)
    assert [path.name for path in tmp_path.rglob("*.csv")] == ["reviews.csv"]
    assert contents.settings == {
        "reviews": "inputs/reviews.csv",
        "pools": "everyone",
        "reviewers": "inputs/reviewers.csv",
    }


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
