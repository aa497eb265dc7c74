"""fit: coverage, shrinkage, the committee, this year's scale, and that no review of this year matters."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from studies.past_reviews import compared, drawn_pasts, paired

import blindcal as bc
from blindcal.errors import InputError, RefusedError
from blindcal.posterior.conference import read_reviewers
from blindcal.posterior.reuse_guard import fit_record_path
from blindcal.reviewers.calibration import FIELDS
from sizes import count
from small_pasts import tiny_reviews

SWEEPS = 240


@pytest.fixture(scope="module")
def past() -> bc.Reviews:
    return drawn_pasts(np.random.default_rng(2), 80, 3).reviews


@pytest.fixture(scope="module")
def fitted(past: bc.Reviews) -> bc.Fitted:
    return bc.fit(past, sweeps=SWEEPS)


def this_year(seed: int = 5, shift: float = 0.0) -> dict[str, list[object]]:
    rng = np.random.default_rng(seed)
    score = (5.5 + shift + 2.0 * rng.standard_normal(60)).round(2)
    return {
        "paper": [i // 3 for i in range(60)],
        "reviewer": [f"r{(7 * i) % 60}" for i in range(60)],
        "score": score.tolist(),
    }


@pytest.mark.parametrize(("persistence", "rounded"), [(1.0, False), (0.8, True)])
def test_intervals_cover_and_errors_are_smaller_than_those_of_shrunken_offsets(
    persistence: float, rounded: bool
) -> None:
    """90 % intervals cover 87 to 93 % on average, up to 5 standard errors over histories (of 60, false alarm
    2e-5 where they cover as much); where slopes differ the fit beats shrunken offsets in a paired
    comparison."""
    grid = np.arange(1.0, 11.0) if rounded else None
    runs = [
        compared(
            drawn_pasts(np.random.default_rng([4, n]), 250, 5, persistence=persistence, grid=grid),
            sweeps=SWEEPS,
        )
        for n in range(count(4, 60))
    ]
    cover = np.array([run.cover for run in runs])
    error = cover.std(axis=0, ddof=1) / np.sqrt(len(runs))
    assert (cover.mean(axis=0) > 0.87 - 5 * error).all()
    assert (cover.mean(axis=0) < 0.93 + 5 * error).all()
    saved, deviation = paired(runs, 1, 3, 12)
    assert saved > 3 * deviation


def test_little_history_is_shrunk_and_much_is_trusted(fitted: bc.Fitted, past: bc.Reviews) -> None:
    offset_se = {name: row[4] for name, row in fitted.roster.items()}
    few = [offset_se[name] for name in past.reviewers if fitted.reviews[name] == 1]
    many = [offset_se[name] for name in past.reviewers if fitted.reviews[name] >= 8]
    assert max(many) < min(few) < offset_se["*"]
    assert fitted.population == fitted.roster["*"]
    assert fitted.reviews["*"] == len(past)


def test_rows_are_written_for_the_committee_and_newcomers_get_the_population(past: bc.Reviews) -> None:
    people = ["r3", "nobody yet", "r1"]
    found = bc.fit(past, committee=people, sweeps=60)
    assert set(found.roster) == {*people, "*"}
    assert found.roster["nobody yet"] == found.population
    assert found.roster["r3"] != found.population
    assert found.reviews["nobody yet"] == 0
    with pytest.raises(InputError, match="committee must list people"):
        bc.fit(past, committee=["*"], sweeps=60)


def test_who_wrote_which_review_of_this_year_changes_no_byte(past: bc.Reviews, tmp_path: Path) -> None:
    table, rng = this_year(), np.random.default_rng(1)
    files = []
    for number in range(3):
        given = bc.Reviews.from_table(table)
        found = bc.fit(past, committee=["r1", "r2", "x"], this_year=given, sweeps=60)
        path = tmp_path / f"{number}.csv"
        found.write(path)
        files.append((path.read_bytes(), Path(fit_record_path(path)).read_bytes()))
        names = list(dict.fromkeys(table["reviewer"]))
        other = dict(zip(names, rng.permutation(names), strict=True))
        table = {**table, "reviewer": [other[name] for name in table["reviewer"]]}
        if number == 1:
            table["reviewer"] = [f"z{i}" for i in range(60)]
    assert files[0] == files[1] == files[2]


def test_this_years_scale_moves_everybody_alike(past: bc.Reviews) -> None:
    plain = bc.fit(past, sweeps=60)
    moved = bc.fit(past, this_year=bc.Reviews.from_table(this_year()), sweeps=60)
    scale = moved.scale
    assert scale.stretch != 1.0
    for name, row in plain.roster.items():
        new = moved.roster[name]
        assert new[0] == pytest.approx(scale.stretch * row[0], rel=1e-4)
        offset = scale.center + scale.stretch * (row[1] - scale.center) + scale.shift
        assert new[1] == pytest.approx(offset, rel=1e-4)
    with pytest.raises(InputError, match="another scale"):
        bc.fit(past, this_year=bc.Reviews.from_table(this_year(shift=30)), sweeps=60)


def test_where_low_scores_are_better_the_same_people_are_found(past: bc.Reviews) -> None:
    columns = past.columns()
    turned = bc.Reviews.from_table({**columns, "score": [11 - score for score in columns["score"]]})
    high, low = bc.fit(past, sweeps=60), bc.fit(turned, better="low", sweeps=60)
    for name, row in high.roster.items():
        expected = (row[0], 11 - row[1], row[2], row[3], row[4], -row[5], row[6])
        assert low.roster[name] == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_the_table_is_what_plan_and_decide_read(fitted: bc.Fitted, tmp_path: Path) -> None:
    path = tmp_path / "reviewers.csv"
    fitted.write(path)
    assert read_reviewers(path) == {name: pytest.approx(row) for name, row in fitted.roster.items()}
    assert path.read_text().splitlines()[0] == ",".join(["reviewer", *FIELDS, "reviews"])
    for name in (path, fit_record_path(path)):
        assert os.stat(name).st_mode & 0o777 == 0o600
    with pytest.raises(RefusedError, match="never overwritten"):
        fitted.write(path)
    path.unlink()
    with pytest.raises(RefusedError, match=r"fit\.json exists already"):
        fitted.write(path)
    assert not path.exists()


def test_only_what_a_fit_wrote_is_replaced(fitted: bc.Fitted, tmp_path: Path) -> None:
    path = tmp_path / "reviewers.csv"
    fitted.write(path, replace=True)
    first = path.read_bytes()
    fitted.write(path, replace=True)
    path.unlink()
    fitted.write(path, replace=True)
    assert path.read_bytes() == first
    path.write_text("mine")
    with pytest.raises(RefusedError, match="it is not as `blindcal fit` wrote it"):
        fitted.write(path, replace=True)
    assert path.read_text() == "mine"


def test_the_last_conference_decided_with_its_own_fit_is_refused(
    fitted: bc.Fitted, past: bc.Reviews, tmp_path: Path
) -> None:
    fitted.write(tmp_path / "reviewers.csv")
    past.only("c2").write(tmp_path / "own.csv")
    bc.Reviews.from_table(this_year()).write(tmp_path / "reviews.csv")
    with pytest.raises(InputError, match="was fitted on these reviews"):
        bc.read_inputs(tmp_path / "own.csv", tmp_path / "reviewers.csv", "everyone")
    inputs = bc.read_inputs(tmp_path / "reviews.csv", tmp_path / "reviewers.csv", "everyone")
    assert len(inputs.parameters) == len(fitted.roster)


def test_nobody_is_named_where_a_fit_is_shown(fitted: bc.Fitted, past: bc.Reviews) -> None:
    assert (
        repr(fitted)
        == f"Fitted({len(past.reviewers)} reviewers from {len(past)} past reviews of 3 conferences)"
    )
    assert "outliers" not in repr(fitted.checks)


def test_runs_are_equal_and_rows_of_the_table_may_stand_in_any_order(past: bc.Reviews) -> None:
    columns = past.columns()
    mixed = np.random.default_rng(1).permutation(len(past))
    other = bc.Reviews.from_table({name: [values[i] for i in mixed] for name, values in columns.items()})
    assert bc.fit(past, sweeps=60).roster == bc.fit(other, sweeps=60).roster


def test_a_frame_has_the_columns_of_the_table(fitted: bc.Fitted) -> None:
    pandas = pytest.importorskip("pandas")
    frame = fitted.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == ["reviewer", *FIELDS, "reviews"]
    assert len(frame) == len(fitted.roster)


@pytest.mark.parametrize("rows", [3, 4, None])
def test_a_handful_of_past_reviews_is_fitted(rows: int | None) -> None:
    """Too few for a regression with four coefficients: that step is left out, and the prior speaks."""
    paper, reviewer, score = ["1", "1", "2", "2"], ["ada", "bo", "ada", "bo"], [5.0, 4.0, 3.0, 3.5]
    few = {"paper": paper[:rows], "reviewer": reviewer[:rows], "score": score[:rows]}
    reviews = tiny_reviews() if rows is None else bc.Reviews.from_table(few)
    found = bc.fit(reviews, sweeps=200)
    assert set(found.roster) == {*reviews.reviewers, "*"}
    assert all(np.isfinite(row).all() and row[0] > 0 and row[2] > 0 for row in found.roster.values())


def test_past_reviews_must_be_given() -> None:
    with pytest.raises(InputError, match="at least one table"):
        bc.fit({})
