"""Several claims as one promise, against Fractions by hand: each number on its unsafe side."""

from __future__ import annotations

from fractions import Fraction
from math import nextafter

import pytest

from blindcal.certify.claims import Claim
from blindcal.planning.expected_errors import Figures, summary

ONE = Claim(
    reviews=2,
    named_scores_only=Fraction(3, 4),
    named=Fraction(7, 8),
    newly_named=Fraction(1, 8),
    largest_rise=0.0625,
    epsilon=1.5,
    multiplier=1.25,
    largest_posterior=0.5,
    largest_posterior_scores_only=0.4375,
    largest_posterior_named=0.5,
    largest_posterior_paper=0.75,
    largest_factor=1.125,
)
TWO = Claim(3, Fraction(5, 4), Fraction(5, 4), Fraction(0), 0.125, 0.0, 1.5, 0.25, 0.25, 0.625, 0.5, 1.25)


def test_a_summary_by_hand() -> None:
    """Success is a mean over five reviews, errors are means over two papers, limits are the largest."""
    figures = [Figures(0.1, 0.2, 0.3, 0.05, 0.01, 1.5, 0.002), Figures(0.3, 0.4, 0.5, 0.15, 0.03, 2.0)]
    found = summary([ONE, TWO], figures)
    exact = {
        "success_scores_only": Fraction(2, 5),
        "success": Fraction(17, 40),
        "added_success": Fraction(1, 40),
    }
    for name, value in exact.items():
        assert Fraction(nextafter(float(found[name]), 0.0)) < value <= Fraction(found[name])
    assert found["success_fully_calibrated"] == pytest.approx(0.7)
    assert found["added_share_of_full"] == pytest.approx(0.025 / 0.3)
    assert {name: found[name] for name in ("papers", "reviews", "largest_rise", "epsilon")} == {
        "papers": 2,
        "reviews": 5,
        "largest_rise": 0.125,
        "epsilon": 1.5,
    }
    assert (found["multiplier"], found["largest_posterior"]) == (1.5, 0.5)
    further = ("largest_posterior_named", "largest_posterior_paper", "largest_factor")
    assert [found[name] for name in further] == [0.625, 0.75, 1.25]
    means = {
        "expected_wrong": 0.2,
        "expected_wrong_raw": 0.3,
        "expected_wrong_public": 0.4,
        "expected_wrong_fully_calibrated": 0.1,
        "against_evidence": 0.02,
        "gap": 0.001,
    }
    assert {name: found[name] for name in means} == pytest.approx(means)
    assert (found["largest_posterior_scores_only"], found["decided_by_public_information"]) == (0.4375, 1)
    assert len(found) == len(exact) + len(means) + 13, "a new number has a line here"


def test_a_share_of_nothing_is_nothing_and_no_share_is_above_one() -> None:
    for full, share in ((2.0, 0.0), (2.0 + 4e-9, 0.0), (2.0625, 1.0), (2.25, 0.5)):
        figures = [Figures(0, 0, 0, 0, 0, full / 2), Figures(0, 0, 0, 0, 0, full / 2)]
        assert summary([ONE, TWO], figures)["added_share_of_full"] == pytest.approx(share)
