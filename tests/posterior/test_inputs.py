"""Three files as one conference: pools in every form, optional columns, who is outside, which end is up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import blindcal as bc
from blindcal.errors import InputError
from blindcal.posterior.inputs import Inputs, read_inputs

REVIEWS = "paper,reviewer,score\np1,a,1\np1,b,3\np2,b,2\np2,c,4\n"
REVIEWERS = "reviewer,slope,offset,noise\na,1,2,0.5\nb,1.5,2.5,0.5\nc,0.5,3,0.75\n"
POOLS = "paper,reviewer\np1,a\np1,b\np1,c\np2,b\np2,c\n"


def read(folder: Path, grid: list[float] | None = None, **changed: str) -> Inputs:
    texts = {"reviews": REVIEWS, "reviewers": REVIEWERS, "pools": POOLS} | changed
    for name, text in texts.items():
        (folder / f"{name}.csv").write_text(text)
    return read_inputs(*(folder / f"{name}.csv" for name in texts), grid=grid)


def test_what_is_in_the_files_is_in_the_inputs(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert found.reviews.papers == ("p1", "p2")
    assert found.reviews.reviewers == ("a", "b", "c")
    assert found.parameters["b"] == (1.5, 2.5, 0.5, 0.0, 0.0, 0.0, 0.0)
    assert found.pools == {"p1": {"a": 1.0, "b": 1.0, "c": 1.0}, "p2": {"b": 1.0, "c": 1.0}}
    files = {name: str(tmp_path / f"{name}.csv") for name in ("reviews", "reviewers", "pools")}
    assert vars(found.sources) == {**files, "conflicts": ()}
    assert not found.reviews.grid_declared


def test_withdrawn_papers_are_left_out(tmp_path: Path) -> None:
    read(tmp_path)
    files = [tmp_path / f"{name}.csv" for name in ("reviews", "reviewers", "pools")]
    found = read_inputs(*files, withdrawn=["p1", "p99"])
    assert found.reviews.papers == ("p2",)
    assert found.remarks == (f"withdrawn: 'p99' has no review in {files[0]}",)
    assert found.reviews.row.tolist() == [row for row in read(tmp_path).reviews.row if row > 3]


def test_everyone_is_a_word_unless_in_capitals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anyone not listed, who has a row `*` of their own, is no candidate by name."""
    read(tmp_path, reviewers=REVIEWERS + "*,1,2,1\n")
    files = (tmp_path / "reviews.csv", tmp_path / "reviewers.csv")
    found = read_inputs(*files, "everyone")
    assert found.pools == dict.fromkeys(["p1", "p2"], dict.fromkeys("abc", 1.0))
    assert found.sources.pools == "`pools` everyone"
    monkeypatch.chdir(tmp_path)
    for word in ("Everyone", "EVERYONE"):
        with pytest.raises(InputError, match=f"the word is everyone, in small letters, found '{word}'"):
            read_inputs(*files, word)
    (tmp_path / "Everyone").write_text(POOLS)
    assert read_inputs(*files, "Everyone").pools["p2"] == {"b": 1.0, "c": 1.0}, "a file of that name is read"


def test_optional_columns_of_the_calibration_are_read_in_any_order(tmp_path: Path) -> None:
    rows = "noise_se,reviewer,correlation,slope,offset_se,offset,slope_se,noise\n"
    rows += "0.1,a,-0.5,1,0.3,2,0.2,0.5\n0,b,0,1.5,0,2.5,0,0.5\n0,c,0,0.5,0,3,0,0.75\n"
    found = read(tmp_path, reviewers=rows)
    assert found.parameters["a"] == (1.0, 2.0, 0.5, 0.2, 0.3, -0.5, 0.1)
    case = found.prepared(bar=0.0)[0].cases[0]
    assert case.parameters[case.candidates.index("a")] == found.parameters["a"]


def test_a_declared_grid_counts_and_must_hold_every_score(tmp_path: Path) -> None:
    found = read(tmp_path, grid=[1.0, 2.0, 3.0, 4.0, 5.0])
    assert found.reviews.grid_declared
    assert found.prepared(bar=0.0)[0].cases[0].grid == (1.0, 2.0, 3.0, 4.0, 5.0)
    assert read(tmp_path).prepared(bar=0.0)[0].cases[0].grid == (1.0, 2.0, 3.0, 4.0), "recognized"
    assert read(tmp_path, grid=[]).prepared(bar=0.0)[0].cases[0].grid is None, "any number can be a score"
    with pytest.raises(InputError, match=r"reviews\.csv, row 5, column score"):
        read(tmp_path, grid=[1.0, 2.0, 3.0])


def test_a_recognized_grid_gives_way_to_that_of_an_earlier_release(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert found.on_grid([0.0, 1.0, 2.0, 3.0, 4.0]).prepared(bar=0.0)[0].cases[0].grid == (0, 1, 2, 3, 4)
    assert found.on_grid([]).prepared(bar=0.0)[0].cases[0].grid is None
    with pytest.raises(InputError, match=r"reviews\.csv: 1 score not among .* \(1, 2, 3\): .*`grid`"):
        found.on_grid([1.0, 2.0, 3.0])
    declared = read(tmp_path, grid=[1.0, 2.0, 3.0, 4.0, 5.0])
    assert declared.on_grid([1.0, 2.0]).reviews is declared.reviews


def test_every_problem_of_the_first_bad_file_is_told(tmp_path: Path) -> None:
    texts = {"reviews": REVIEWS + "p3,a,x\np3,b,y\n", "reviewers": REVIEWERS + "d,0,0,0\n"}
    texts["pools"] = POOLS + "p1,a\n"
    cells = {"reviews": [(6, "score"), (7, "score")], "reviewers": [(5, "slope"), (5, "noise")]}
    for name, bad in (cells | {"pools": [(7, "reviewer")]}).items():
        with pytest.raises(InputError) as caught:
            read(tmp_path, **texts)
        assert [(one.row, one.column) for one in caught.value.problems] == bad
        del texts[name]


def test_the_truth_is_by_slot_and_whoever_is_not_in_the_pool_is_outside(tmp_path: Path) -> None:
    """Slots are scores from the lowest up; `b` is not listed for p2, where anyone else may have reviewed."""
    pools = "paper,reviewer\np1,a\np1,b\np1,c\np2,c\np2,a\np2,*\n"
    reviews = REVIEWS.replace("p1,a,1", "p1,a,9")
    found = read(tmp_path, reviews=reviews, reviewers=REVIEWERS + "*,1,2,1\n", pools=pools)
    conference, truth = found.prepared(bar=0.25)
    assert truth.reviewers == {"p1": ("b", "a"), "p2": ("*", "c")}
    assert [case.scores for case in conference.cases] == [(3.0, 9.0), (2.0, 4.0)]
    assert [case.candidates for case in conference.cases] == [("a", "b", "c"), ("*", "a", "c")]
    assert conference.bar == 0.25


def test_where_low_is_better_everything_is_turned_round(tmp_path: Path) -> None:
    """Scores and offsets change sign, so the first of the two slots is another review."""
    conference, truth = read(tmp_path, grid=[1.0, 2.0, 3.0, 4.0]).prepared(bar=0.0, better="low")
    assert truth.reviewers == {"p1": ("b", "a"), "p2": ("c", "b")}
    case = conference.cases[0]
    assert (case.scores, case.grid) == ((-3.0, -1.0), (-4.0, -3.0, -2.0, -1.0))
    assert case.parameters[0] == (1.0, -2.0, 0.5, 0.0, 0.0, 0.0, 0.0)


def test_a_bar_or_a_share_is_needed_and_progress_counts_papers(tmp_path: Path) -> None:
    found, told = read(tmp_path), list[object]()

    @contextmanager
    def progress(work: str, steps: int) -> Iterator[Callable[[int], None]]:
        told.extend((work, steps))
        yield told.append

    conference, _ = found.prepared(accept_rate=0.5, progress=progress)
    assert conference.accept_rate == 0.5
    assert told[:2] == ["weighing 2 papers", 2]
    assert sum(told[2:]) == 2
    with pytest.raises(InputError, match="give one of accept rate and bar"):
        found.prepared()


# --- Reviews, calibration and pools as data frames: what their files say, by the same rules.


REVIEWED = {
    "paper": ["p1", "p1", "p2", "p2", "p3", "p3"],
    "reviewer": ["ada", "ben", "ben", "cleo", "ada", "cleo"],
    "score": [7.0, 5.0, 4.0, 4.0, 6.0, 7.0],
}
CALIBRATED = {
    "reviewer": ["ada", "ben", "cleo", "*"],
    "slope": [1.2, 1.0, 1.1, 1.0],
    "offset": [6.0, 4.5, 5.0, 5.0],
    "noise": [1.0, 1.0, 1.5, 1.0],
    "slope_se": [0.1, 0.2, 0.0, 0.3],
}
POOLED = {
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


@pytest.mark.parametrize("pools", [POOLED, CONFLICTS], ids=["pools", "conflicts"])
@pytest.mark.parametrize(
    "frame",
    [dict, Polars, pytest.param(pandas, marks=pytest.mark.edge)],
)
def test_frames_say_what_files_say(frame: Any, pools: dict[str, list[Any]], tmp_path: Path) -> None:
    tables = (REVIEWED, CALIBRATED, pools)
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
    (0, REVIEWED | {"score": [7.0, "good", 4.0, 4.0, 6.0, None]}, "score", [1, 5]),
    (0, REVIEWED | {"paper": ["p1", True, "p2", 2.5, "p3", " p3"]}, "paper", [1, 3, 5]),
    (0, {"paper": ["p1"], "score": [1.0]}, "reviewer", [None]),
    (1, CALIBRATED | {"noise": [1.0, -1.0, 1.0, 1.0]}, "noise", [1]),
    (1, CALIBRATED | {"reviewer": ["ada", "ada", "cleo", "*"]}, "reviewer", [1]),
    (2, POOLED | {"probability": [0.5, 2.0, float("nan"), *[1.0] * 6]}, "probability", [1, 2]),
    (2, POOLED | {"reviewer": ["ada"] * 9}, "reviewer", [1, 2, 4, 5, 7, 8]),
]


@pytest.mark.parametrize(("index", "bad", "column", "rows"), BAD)
def test_every_bad_cell_of_a_frame_is_named_at_once_and_none_is_quoted(
    index: int, bad: dict[str, list[Any]], column: str, rows: list[int | None]
) -> None:
    tables, file = [REVIEWED, CALIBRATED, POOLED], ("`reviews`", "`reviewers`", "`pools`")[index]
    tables[index] = bad
    with pytest.raises(InputError) as refused:
        bc.read_inputs(*tables)
    assert [(p.file, p.row, p.column) for p in refused.value.problems] == [
        (file, row, column) for row in rows
    ]
    assert not any(name in str(refused.value) for name in ("good", "ada", "ben", "cleo"))


def test_a_swapped_frame_is_recognized() -> None:
    for swapped in (POOLED, {name: POOLED[name] for name in ("paper", "reviewer")}):
        with pytest.raises(
            InputError, match=r"^`reviewers`.*pools: is it the wrong frame, or are two swapped"
        ):
            bc.read_inputs(REVIEWED, swapped, POOLED)


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
