"""Three files as one conference: pools in every form, optional columns, who is outside, which end is up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from blindcal.errors import InputError
from blindcal.posterior.inputs import Inputs, read_inputs

REVIEWS = "paper,reviewer,score\np1,a,1\np1,b,3\np2,b,2\np2,c,4\n"
REVIEWERS = "reviewer,slope,offset,noise\na,1,2,0.5\nb,1.5,2.5,0.5\nc,0.5,3,0.75\n"
POOLS = "paper,reviewer\np1,a\np1,b\np1,c\np2,b\np2,c\n"


def read(
    folder: Path,
    *,
    reviews: str = REVIEWS,
    reviewers: str = REVIEWERS,
    pools: str = POOLS,
    grid: list[float] | None = None,
) -> Inputs:
    texts = {"reviews": reviews, "reviewers": reviewers, "pools": pools}
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


ABC = {"a": 1.0, "b": 1.0, "c": 1.0}
FORMS = {
    "probabilities": (
        "paper,reviewer,probability\np1,a,0.75\np1,b,0.5\np2,b,1\np2,c,0.25\n",
        {"p1": {"a": 0.75, "b": 0.5}, "p2": {"b": 1.0, "c": 0.25}},
    ),
    "conflicts": ("paper,conflict\np1,c\np2,a\n", {"p1": {"a": 1, "b": 1}, "p2": {"b": 1, "c": 1}}),
}


@pytest.mark.parametrize("form", FORMS)
def test_pools_in_every_form(form: str, tmp_path: Path) -> None:
    text, expected = FORMS[form]
    assert read(tmp_path, pools=text).pools == expected


def test_everyone_is_a_word_unless_in_capitals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anyone not listed, who has a row `*` of their own, is no candidate by name."""
    read(tmp_path, reviewers=REVIEWERS + "*,1,2,1\n")
    files = (tmp_path / "reviews.csv", tmp_path / "reviewers.csv")
    found = read_inputs(*files, "everyone")
    assert found.pools == {"p1": ABC, "p2": ABC}
    assert found.sources.pools == "`pools` everyone"
    monkeypatch.chdir(tmp_path)
    for word in ("Everyone", "EVERYONE"):
        with pytest.raises(
            InputError, match=f"`pools`: the word is everyone, in small letters, found '{word}'"
        ):
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
    bad = {"reviews": REVIEWS + "p3,a,x\np3,b,y\n", "reviewers": REVIEWERS + "d,0,0,0\n"}
    with pytest.raises(InputError) as caught:
        read(tmp_path, **bad)
    assert [(one.row, one.column) for one in caught.value.problems] == [(6, "score"), (7, "score")]
    with pytest.raises(InputError) as caught:
        read(tmp_path, reviewers=bad["reviewers"], pools=POOLS + "p1,a\n")
    assert [(one.row, one.column) for one in caught.value.problems] == [(5, "slope"), (5, "noise")]
    with pytest.raises(InputError, match=r"pools\.csv, row 7, column reviewer: must not be twice"):
        read(tmp_path, pools=POOLS + "p1,a\n")


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
