"""Which end of the scale is better: everything turned round once, at the door."""

from __future__ import annotations

import numpy as np
import pytest

from blindcal.errors import InputError
from blindcal.reviews import Reviews, orient_reviewers, orient_reviews, original_scores


def test_upright_reviews_and_reviewers_have_the_likelihood_of_those_given() -> None:
    """`score = offset - slope * quality`, negated, is affine with the correlation of its errors turned."""
    reviews = Reviews.from_table(
        {"paper": ["p", "p"], "reviewer": ["a", "b"], "score": [1, 0]}, grid=[0, 1, 5]
    )
    turned = orient_reviews(reviews, "low")
    assert turned.score.tolist() == [-1.0, 0.0]
    assert turned.grid is not None
    assert turned.grid.tolist() == [-5.0, -1.0, 0.0]
    assert not np.signbit(turned.score[1])
    rng, t = np.random.default_rng(1), 1.7
    slope_se, offset_se, correlation = 0.3, 0.4, 0.6
    errors = rng.multivariate_normal(
        [0, 0],
        [
            [slope_se**2, correlation * slope_se * offset_se],
            [correlation * slope_se * offset_se, offset_se**2],
        ],
        400_000,
    )
    scores = (5 + errors[:, 1]) - (1.5 + errors[:, 0]) * t
    row = orient_reviewers({"a": (1.5, 5.0, 0.5, slope_se, offset_se, correlation, 0.0)}, "low")["a"]
    # Six standard errors of 400,000 draws.
    assert -scores.mean() == pytest.approx(row[0] * t + row[1], abs=6 * scores.std() / np.sqrt(400_000))
    variance = (row[3] * t) ** 2 + 2 * row[5] * row[3] * row[4] * t + row[4] ** 2
    # 400,000 draws: a relative error of 0.22 % a standard deviation; false alarm below 1e-5.
    assert scores.var() == pytest.approx(variance, rel=0.01)
    assert original_scores(turned.score, "low") == [0.0, 1.0]
    with pytest.raises(InputError, match="high or low"):
        orient_reviewers({}, "best")
