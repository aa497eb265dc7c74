"""Reviews, calibration and pools as data frames: what their files say, by the same rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import blindcal as bc
from blindcal.errors import InputError

REVIEWS = {
    "paper": ["p1", "p1", "p2", "p2", "p3", "p3"],
    "reviewer": ["ada", "ben", "ben", "cleo", "ada", "cleo"],
    "score": [7.0, 5.0, 4.0, 4.0, 6.0, 7.0],
}
REVIEWERS = {
    "reviewer": ["ada", "ben", "cleo", "*"],
    "slope": [1.2, 1.0, 1.1, 1.0],
    "offset": [6.0, 4.5, 5.0, 5.0],
    "noise": [1.0, 1.0, 1.5, 1.0],
    "slope_se": [0.1, 0.2, 0.0, 0.3],
}
POOLS = {
    "paper": ["p1"] * 3 + ["p2"] * 3 + ["p3"] * 3,
    "reviewer": ["ada", "ben", "cleo"] * 3,
    "probability": [0.5, 1.0, 0.5, 0.25, 0.75, 1.0, 0.5, 0.5, 1.0],
}
CONFLICTS = {"paper": ["p1"], "conflict": ["cleo"]}


class Polars:
    """A frame with the parts of a Polars frame that are read: `columns`, and a series that only iterates."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self._columns = columns

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    def __getitem__(self, name: str) -> Any:
        return (value for value in self._columns[name])


def pandas(columns: dict[str, list[Any]]) -> Any:
    return pytest.importorskip("pandas").DataFrame(columns)


def written(columns: dict[str, list[Any]], path: Path) -> Path:
    rows = [columns.keys(), *zip(*columns.values(), strict=True)]
    path.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("pools", [POOLS, CONFLICTS], ids=["pools", "conflicts"])
@pytest.mark.parametrize(
    "frame",
    [dict, Polars, pytest.param(pandas, marks=pytest.mark.edge)],
)
def test_frames_say_what_files_say(frame: Any, pools: dict[str, list[Any]], tmp_path: Path) -> None:
    tables = (REVIEWS, REVIEWERS, pools)
    files = [written(table, tmp_path / f"{number}.csv") for number, table in enumerate(tables)]
    expected, inputs = bc.read_inputs(*files), bc.read_inputs(*map(frame, tables))
    assert inputs.reviews.digest() == expected.reviews.digest()
    assert inputs.parameters == expected.parameters
    assert inputs.pools == expected.pools
    assert inputs.sources.reviews == "`reviews`"
    request = bc.Request(bc.Guarantee("steady", epsilon=1.0), accept_rate=0.4)
    planned, same = bc.plan(inputs, request), bc.plan(expected, request)
    assert [paper.claim for paper in planned.papers] == [paper.claim for paper in same.papers]


BAD = [
    (0, REVIEWS | {"score": [7.0, "good", 4.0, 4.0, 6.0, None]}, [(1, "score"), (5, "score")]),
    (
        0,
        REVIEWS | {"paper": ["p1", True, "p2", 2.5, "p3", " p3"]},
        [(1, "paper"), (3, "paper"), (5, "paper")],
    ),
    (0, {"paper": ["p1"], "score": [1.0]}, [(None, "reviewer")]),
    (1, REVIEWERS | {"noise": [1.0, -1.0, 1.0, 1.0]}, [(1, "noise")]),
    (1, REVIEWERS | {"reviewer": ["ada", "ada", "cleo", "*"]}, [(1, "reviewer")]),
    (1, POOLS, None),
    (
        2,
        POOLS | {"probability": [0.5, 2.0, float("nan"), *[1.0] * 6]},
        [(1, "probability"), (2, "probability")],
    ),
    (2, POOLS | {"reviewer": ["ada"] * 9}, [(row, "reviewer") for row in (1, 2, 4, 5, 7, 8)]),
]


@pytest.mark.parametrize(("place", "bad", "cells"), BAD)
def test_every_bad_cell_of_a_frame_is_named_at_once_and_none_is_quoted(
    place: int, bad: dict[str, list[Any]], cells: list[tuple[int | None, str]] | None
) -> None:
    tables = [REVIEWS, REVIEWERS, POOLS]
    tables[place] = bad
    with pytest.raises(InputError) as refused:
        bc.read_inputs(*tables)
    problems = refused.value.problems
    assert {problem.file for problem in problems} == {("`reviews`", "`reviewers`", "`pools`")[place]}
    if cells is not None:
        assert [(problem.row, problem.column) for problem in problems] == cells
    assert not any(name in str(refused.value) for name in ("good", "ada", "ben", "cleo"))


def test_a_swapped_frame_is_recognized() -> None:
    with pytest.raises(InputError, match="that of the pools: is it the wrong frame, or are two swapped"):
        bc.read_inputs(REVIEWS, {name: POOLS[name] for name in ("paper", "reviewer")}, POOLS)


def test_a_frame_with_reviewers_own_means_for_offsets_is_refused() -> None:
    papers = [f"p{i}" for i in range(60) for _ in range(3)]
    people = [f"r{i % 20}" for i in range(180)]
    scores = [float((7 * i * i + 3 * i) % 11) for i in range(180)]
    means = {
        name: sum(s for p, s in zip(people, scores, strict=True) if p == name) / people.count(name)
        for name in sorted(set(people))
    }
    ones = [1.0] * len(means)
    own = {"reviewer": list(means), "slope": ones, "offset": list(means.values()), "noise": ones}
    with pytest.raises(InputError, match="`reviewers` has the reviewers' own mean scores of this year"):
        bc.read_inputs({"paper": papers, "reviewer": people, "score": scores}, own, "everyone")
