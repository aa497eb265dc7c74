"""Advice: every decision against what mean scores decide, as a table written by hand."""

from __future__ import annotations

import pytest

from blindcal.planning.advice import ADVICE, advice, by_means

TABLE = {
    ("accept", "accept"): "leave",
    ("accept", "reject"): "raise",
    ("accept", "tie"): "tie: raise",
    ("reject", "accept"): "lower",
    ("reject", "reject"): "leave",
    ("reject", "tie"): "tie: lower",
    ("wait list", "accept"): "lower",
    ("wait list", "reject"): "leave",
    ("wait list", "tie"): "tie: lower",
}


@pytest.mark.parametrize(("decision", "means"), TABLE)
def test_advice_is_the_way_from_means_to_the_decision(decision: str, means: str) -> None:
    assert advice(decision, means) == TABLE[decision, means]
    assert {*TABLE.values()} == {*ADVICE}


@pytest.mark.parametrize(
    ("share", "word"), [(1.0, "accept"), (0.0, "reject"), (1 / 3, "tie"), (0.999, "tie")]
)
def test_only_a_tie_is_partly_accepted(share: float, word: str) -> None:
    assert by_means(share) == word


def test_no_advice_reads_as_support() -> None:
    assert not [word for word in ADVICE if "accept" in word or "reject" in word]
