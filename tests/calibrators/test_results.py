"""What every calibrator returns: ranks, chances of acceptance, symmetries, and ids that it does not know."""

from __future__ import annotations

import numpy as np
import pytest

import blindcal as bc
from blindcal.calibrators import METHODS, hierarchical, offsets, raw, standardized
from blindcal.calibrators.results import batch_of
from blindcal.errors import InputError
from small_reviews import conference


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


def test_unknown_ids_are_named_and_rates_checked() -> None:
    result = raw(conference(1))
    with pytest.raises(bc.InputError, match="unknown paper 'p99'"):
        result.predict("p99", "r00")
    with pytest.raises(bc.InputError, match="unknown reviewer 'x'"):
        result.predict("p00", ["r00", "x"])
    for rate in (0.0, 1.0, -0.2):
        with pytest.raises(bc.InputError, match="rate"):
            result.probability_accepted(rate)


def test_a_path_in_place_of_reviews_is_refused() -> None:
    with pytest.raises(InputError, match=r"reviews must be what Reviews\.read returns, found str"):
        batch_of("reviews.csv")
