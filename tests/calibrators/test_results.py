"""What every calibrator returns: ranks, chances of acceptance, symmetries, and ids that it does not know."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import blindcal as bc
from blindcal.calibrators import METHODS, hierarchical, offsets, raw, standardized
from small_reviews import conference, tables


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_row_order_does_not_matter(method: object) -> None:
    reviews = conference(5)
    columns = reviews.columns()
    order = np.random.default_rng(1).permutation(len(reviews))
    shuffled = {name: [values[i] for i in order] for name, values in columns.items()}
    one, two = method(reviews), method(bc.Reviews.from_table(shuffled))
    assert (one.quality == two.quality).all()
    assert (one.standard_error == two.standard_error).all()
    assert (one.probability_accepted(0.3) == two.probability_accepted(0.3)).all()


@pytest.mark.parametrize("method", [standardized, offsets, hierarchical])
def test_scores_in_another_unit_give_the_same_quality(method: object) -> None:
    reviews = conference(6)
    columns = reviews.columns()
    doubled = bc.Reviews.from_table({**columns, "score": (4 * reviews.score).tolist()})
    one, two = method(reviews), method(doubled)
    np.testing.assert_allclose(one.quality, two.quality, atol=1e-9)
    pair = (reviews.papers[3], reviews.reviewers[2])
    assert two.predict(*pair) == pytest.approx(4 * one.predict(*pair))


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_probability_accepted_sums_to_the_accepted_and_follows_the_estimates(method: object) -> None:
    result = method(conference(7))
    for rate in (0.1, 0.5, 0.9):
        probability = result.probability_accepted(rate)
        assert probability.sum() == pytest.approx(round(rate * 30), abs=1e-6)
        assert ((probability >= 0) & (probability <= 1)).all()
        gray = result.gray_zone(rate)
        assert (gray == ((probability > 0.1) & (probability < 0.9))).all()
    best, worst = np.argmax(result.quality), np.argmin(result.quality)
    assert result.probability_accepted(0.3)[best] > result.probability_accepted(0.3)[worst]


def test_probability_accepted_agrees_with_the_law_of_independent_normals() -> None:
    """For raw: draws of independent normals give the same frequencies (the bar moves with each draw), which
    40,000 draws know to 0.0025; four of those standard errors."""
    result = raw(conference(8))
    rng = np.random.default_rng(2)
    drawn = result.quality + result.standard_error * rng.standard_normal((40000, 30))
    inside = (drawn >= np.partition(drawn, -9, axis=1)[:, [-9]]).mean(axis=0)
    np.testing.assert_allclose(result.probability_accepted(0.3), inside, atol=0.01)


def test_rank_counts_better_papers() -> None:
    table = {"paper": [1, 2, 3, 4], "reviewer": [1, 1, 1, 1], "score": [3, 5, 3, 1]}
    assert raw(bc.Reviews.from_table(table)).rank.tolist() == [2, 1, 2, 4]


# --- Raw and standardized means against plain computations.


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
