"""What others shared: read back, read by the fit, and refused where it is not what it says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blindcal.errors import InputError
from blindcal.fitting.estimate import fit
from blindcal.fitting.received_sums import (
    SharedSums,
    as_regression,
    has_share_statement,
    read_shared_sums,
    rename_reviewers,
    stack_sums,
)
from blindcal.reviews import Reviews
from small_pasts import tiny_history, tiny_reviews, tiny_shared

STATED: dict[str, Any] = {
    "format": 1,
    "conference": "M",
    "points": {"each_review": 100, "reach": 1.0, "mean": 0.05, "gain": 0.8, "variance": 0.4},
    "noise_variance": 4000.0,
}


def written(
    folder: Path, table: str = "reviewer,above,below\nann,310,120\neve,70,190\n", **stated: Any
) -> Path:
    path = folder / "m.csv"
    path.write_text(table)
    (folder / "m.csv.share.json").write_text(json.dumps({**STATED, **stated}))
    return path


def test_a_shared_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    path, one = written(tmp_path), tiny_shared()
    assert has_share_statement(path)
    assert not has_share_statement(tmp_path / "n.csv")
    found = read_shared_sums(path)
    assert (found.conference, found.reviewers) == (one.conference, one.reviewers)
    assert found.counts == pytest.approx([4.3, 2.6])
    assert found.sums == pytest.approx([1.9, -1.2])
    assert (found.mean, found.gain, found.variance) == (0.05, 0.8, 0.4)
    assert found.count_variance == found.sum_variance == pytest.approx(0.8)


@pytest.mark.parametrize(
    "stated",
    [
        {"format": 0},
        {"conference": 7},
        {"noise_variance": 0.0},
        {"noise_variance": "much"},
        {"points": {**STATED["points"], "each_review": 10}},
        {"points": {**STATED["points"], "gain": -1.0}},
        {"points": {**STATED["points"], "mean": 2.0}},
        {"points": None},
    ],
)
def test_statements_that_share_never_wrote_are_refused(tmp_path: Path, stated: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="must be what `blindcal share` wrote beside its table, format 1"):
        read_shared_sums(written(tmp_path, **stated))


def test_a_statement_of_a_later_format_is_refused_with_advice(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="column format: must be at most 1, found 2: use the version"):
        read_shared_sums(written(tmp_path, format=2))


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ("reviewer,above,below\nann,3,1\nann,3,1\n", "each person once"),
        ("reviewer,above,below\nann,3.5,1\n", "whole"),
        ("reviewer,above\nann,3\n", "below"),
        ("reviewer,above,below\nann,3e12,1\n", "above"),
    ],
)
def test_tables_that_share_never_wrote_are_refused(tmp_path: Path, table: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        read_shared_sums(written(tmp_path, table))


def test_in_a_history_a_shared_row_is_a_visit_of_its_own_between_the_others() -> None:
    plain, history = tiny_history(), tiny_history(shared=True)
    assert history.visits.ago.tolist() == [1, 1, 3, 1, 2]
    assert len(history.visits) == len(plain.visits) + 2
    assert set(history.reviewers) == {*plain.reviewers, "eve"}
    assert (history.score == plain.score).all()
    names = [history.reviewers[r] for r in history.visits.reviewer[history.gathered.visit]]
    assert names == ["ann", "eve"]
    assert history.visits.conference[history.gathered.visit].tolist() == [1, 1]
    when = {name: [] for name in history.reviewers}  # type: dict[str, list[int]]
    for who, time in zip(history.visits.reviewer, history.visits.conference, strict=True):
        when[history.reviewers[who]].append(int(time))
    assert when == {"ann": [0, 1, 2], "bob": [0, 2], "cyd": [0], "dan": [2], "eve": [1]}


def test_what_a_sum_says_of_an_offset_is_a_regression() -> None:
    gathered = stack_sums([tiny_shared()], np.array([0, 1]))
    x, y = as_regression(gathered, np.array([4.0, 0.0]))
    sd = np.sqrt(0.8 + 4 * (0.4 - 0.64 * 0.12))
    assert x == pytest.approx([4 * 0.8 / sd, 0.0])
    assert y[0] == pytest.approx((1.9 - 4 * 0.05) / sd)


def test_nothing_shared_is_nothing_gathered() -> None:
    assert stack_sums([], np.empty(0, dtype=np.int64)).total.size == 0


def test_a_fit_takes_what_was_shared_and_its_noise() -> None:
    """Lenient and strict people whom only the other conference knows, with little noise and with much."""
    rng = np.random.default_rng(3)
    offset = np.repeat([0.8, -0.8], 10)
    sums = np.rint(50 * 20 * (1 + 0.8 * offset) + rng.normal(0, 30, 20)).astype(np.int64)
    found = {}
    for noise in (1e3, 1e8):
        names = tuple(f"n{i}" for i in range(20))
        shared = SharedSums("M", names, sums, 2000 - sums, mean=0.0, gain=0.8, variance=0.4, noise=noise)
        fitted = fit({"own": tiny_reviews(), "M": shared}, sweeps=150)
        rows = np.array([fitted.roster[name] for name in names])
        found[noise] = np.stack([rows[:, 1], rows[:, 4] / fitted.population[4]])
        assert fitted.shared == ("M",)
        assert fitted.reviews["n0"] == 0
    clear, drowned = found[1e3], found[1e8]
    assert clear[0, :10].min() > clear[0, 10:].max()
    assert np.ptp(drowned[0]) < 0.2 * np.ptp(clear[0])
    assert clear[1].max() < 0.95 < 0.98 < drowned[1].min()


def test_a_forecast_uses_what_was_shared_before_the_conference_alone() -> None:
    own, shared = tiny_reviews(), tiny_shared()
    tables = {"own": own}, {"own": own, "M": shared}, {"M": shared, "own": own}
    alone, later, earlier = (fit(given, sweeps=60).checks.forecast for given in tables)
    assert alone == later != earlier


def test_a_conference_is_given_once_and_people_keep_one_id() -> None:
    reviews = tiny_reviews()
    shared = tiny_shared()
    with pytest.raises(InputError, match="given once"):
        fit({"x": shared, "y": shared, "own": reviews})
    named = Reviews.from_table({"paper": [1, 1, 2, 2], "reviewer": [*"abab"], "score": [1, 2, 3, 5]})
    with pytest.raises(InputError, match="given once"):
        fit({"x": shared, "M": named})
    with pytest.raises(InputError, match="at least one table of past reviews"):
        fit({"x": shared})
    assert rename_reviewers(shared, {"eve": "eva"}).reviewers == ("ann", "eva")
    with pytest.raises(InputError, match="each person once"):
        rename_reviewers(shared, {"eve": "ann"})
