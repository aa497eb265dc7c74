"""Sampled methods say what the data cannot tell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blindcal as bc
from blindcal.calibrators import hierarchical, offsets, raw, standardized
from small_reviews import tables


@pytest.mark.parametrize("method", [offsets, hierarchical])
def test_sampled_methods_refuse_what_cannot_be_told(method: object) -> None:
    single = {"paper": [1, 2, 3], "reviewer": [1, 1, 2], "score": [1, 2, 3]}
    with pytest.raises(bc.InputError, match="no paper has two reviews"):
        method(bc.Reviews.from_table(single))
    equal = {"paper": [1, 1, 2], "reviewer": [1, 2, 1], "score": [4, 4, 4]}
    with pytest.raises(bc.InputError, match="all scores are 4"):
        method(bc.Reviews.from_table(equal))


@given(tables(), st.sampled_from([1e-9, 1.0, 1e9]), st.sampled_from([0.0, 1e6]))
def test_sampled_methods_answer_or_refuse_on_any_small_table(
    table: dict[str, list[object]], unit: float, shift: float
) -> None:
    """Ties, single reviews, flat reviewers, perfect fits: finite numbers, or a refusal in words."""
    scores = [unit * (score + shift) for score in table["score"]]
    reviews = bc.Reviews.from_table({**table, "score": scores})
    too_little = np.bincount(reviews.paper).max() < 2 or np.ptp(reviews.score) == 0
    for method in (offsets, hierarchical):
        if too_little:
            with pytest.raises(bc.InputError, match=r"no paper has two|all scores are"):
                method(reviews, sweeps=30)
            continue
        result = method(reviews, sweeps=30)
        assert np.isfinite(result.quality).all()
        assert (result.standard_error > 0).all()
        assert (result.fitted.slope > 0).all()
        span = max(scores) - min(scores)
        predicted = result.predict(reviews.papers[0], reviews.reviewers)
        assert (np.abs(predicted - np.mean(scores)) < 20 * span).all()


def test_sampled_methods_say_what_they_leave_to_the_model() -> None:
    table = {
        "paper": [1, 1, 2, 2, 3, 3, 4, 4],
        "reviewer": ["a", "b", "a", "b", "c", "d", "c", "e"],
        "score": [1, 2, 3, 5, 2, 2, 4, 1],
    }
    notes = " / ".join(offsets(bc.Reviews.from_table(table)).notes)
    assert "2 of 5 reviewers have one review" in notes
    assert "2 sets without a common reviewer" in notes
    lonely = {"paper": [1, 1, 2, 2], "reviewer": ["a", "b", "c", "d"], "score": [1, 2, 5, 4]}
    result = offsets(bc.Reviews.from_table(lonely))
    assert any("cannot be separated from noise" in note for note in result.notes)
    assert np.isfinite(result.quality).all()


def test_single_reviews_leave_errors_unknown_and_say_so() -> None:
    table = {"paper": [1, 2, 3], "reviewer": [1, 1, 1], "score": [1, 2, 3]}
    for method in (raw, standardized):
        result = method(bc.Reviews.from_table(table))
        assert np.isnan(result.standard_error).all()
        assert "standard errors are unknown" in result.notes[0]
        with pytest.raises(bc.InputError, match="no probabilities"):
            result.probability_accepted(0.5)
