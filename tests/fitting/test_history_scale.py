"""This year's scale: the mean and spread that are seen are those of the scores, rounded or not."""

from __future__ import annotations

import numpy as np
import pytest

from blindcal.checks import Array
from blindcal.errors import InputError
from blindcal.fitting.history import match_scale
from blindcal.reviews import Reviews

PEOPLE = np.array(
    [
        [1.2, 5.0, 0.9, 0.2, 0.3, 0.1, 0.1],
        [0.8, 6.5, 0.6, 0.1, 0.5, -0.4, 0.2],
        [1.5, 4.0, 1.1, 0.3, 0.2, 0, 0.1],
    ]
).T


def reviews(score: Array, grid: Array | None = None) -> Reviews:
    table = {"paper": [f"p{i}" for i in range(len(score))], "reviewer": ["a"] * len(score), "score": score}
    return Reviews.from_table(table, grid=grid)


def simulated(rows: Array, draws: int, rng: np.random.Generator) -> Array:
    """Scores of papers and people drawn one by one, errors of the calibration included."""
    slope, offset, noise, slope_se, offset_se, _, noise_se = rows[:, rng.integers(0, rows.shape[1], draws)]
    z = rng.standard_normal((5, draws))
    plain = slope * z[0] + offset + slope_se * z[0] * z[1] + offset_se * z[2]
    return np.asarray(plain + noise * z[3] + noise_se * z[4])


def test_scores_without_a_grid_are_matched_in_mean_and_spread() -> None:
    """Against simulated people: standard errors of mean and deviation are below 0.5 % at this number."""
    rng = np.random.default_rng(1)
    score = np.array([3.1, 4.7, 5.2, 6.6, 7.4, 5.9])
    scale = match_scale(PEOPLE, reviews(score))
    again = simulated(scale.moved(PEOPLE), 200_000, rng)
    assert again.mean() == pytest.approx(score.mean(), abs=6 * score.std() / np.sqrt(2e5))
    assert again.std() == pytest.approx(score.std(), rel=0.015)
    assert scale.shift_in_sds == pytest.approx((score.mean() - PEOPLE[1].mean()) / score.std())


def test_rounded_scores_are_matched_as_rounded() -> None:
    rng, grid = np.random.default_rng(2), np.arange(1.0, 6.0)
    score = np.repeat(grid, [5, 9, 14, 20, 12])
    scale = match_scale(0.8 * PEOPLE, reviews(score, grid))
    raw = simulated(scale.moved(0.8 * PEOPLE), 200_000, rng)
    seen = grid[np.abs(raw[:, None] - grid).argmin(axis=1)]
    assert seen.mean() == pytest.approx(score.mean(), abs=6 * score.std() / np.sqrt(2e5))
    assert seen.std() == pytest.approx(score.std(), rel=0.015)
    assert raw.std() > 1.05 * seen.std()  # the ends of the grid cut scores off


def test_who_wrote_which_review_is_not_looked_at() -> None:
    score = np.array([3.1, 4.7, 5.2, 6.6, 7.4, 5.9])
    one, other = reviews(score), reviews(score[::-1])
    assert match_scale(PEOPLE, one) == match_scale(PEOPLE, other)


def test_another_scale_is_refused_and_not_corrected() -> None:
    score = np.array([3.1, 4.7, 5.2, 6.6, 7.4, 5.9])
    for changed in (10 * score, score + 5, 0.3 * (score - 5.5) + 5.5):
        with pytest.raises(InputError, match=r"another scale .* and at most 1 and 1\.5 are corrected"):
            match_scale(PEOPLE, reviews(changed))
    with pytest.raises(InputError, match="all equal"):
        match_scale(PEOPLE, reviews(np.full(4, 5.0)))
