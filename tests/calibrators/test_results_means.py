"""Raw and standardized means against plain computations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import blindcal as bc
from blindcal.calibrators import raw, standardized
from small_reviews import tables


@given(tables())
def test_raw_is_the_mean_of_each_papers_scores(table: dict[str, list[object]]) -> None:
    result = raw(bc.Reviews.from_table(table))
    rows = list(zip(*table.values(), strict=True))
    for paper, quality in zip(result.reviews.papers, result.quality, strict=True):
        assert quality == pytest.approx(np.mean([s for p, _, s in rows if p == paper]))


@given(tables())
def test_standardized_is_the_mean_of_scores_standardized_within_reviewers(
    table: dict[str, list[object]],
) -> None:
    result = standardized(bc.Reviews.from_table(table))
    rows = list(zip(*table.values(), strict=True))
    value = {}
    for paper, reviewer, score in rows:
        own = [s for _, r, s in rows if r == reviewer]
        value[paper, reviewer] = 0.0 if len(set(own)) == 1 else (score - np.mean(own)) / np.std(own)
    for paper, quality in zip(result.reviews.papers, result.quality, strict=True):
        assert quality == pytest.approx(np.mean([v for (p, _), v in value.items() if p == paper]), abs=1e-12)


def test_raw_standard_error_is_pooled_within_papers() -> None:
    table = {"paper": [1, 1, 2, 2, 2, 3], "reviewer": [1, 2, 1, 2, 3, 3], "score": [1, 3, 4, 4, 7, 9]}
    squares = 2.0 + 6.0  # around the means 2 and 5, with 1 + 2 degrees of freedom
    np.testing.assert_allclose(
        raw(bc.Reviews.from_table(table)).standard_error, np.sqrt(squares / 3 / np.array([2, 3, 1]))
    )


def test_equal_scores_with_rounding_errors_count_as_equal() -> None:
    table = {"paper": [1, 2, 3], "reviewer": [1, 1, 1], "score": [0.1, 0.1, 0.1]}
    assert (standardized(bc.Reviews.from_table(table)).quality == 0).all()
