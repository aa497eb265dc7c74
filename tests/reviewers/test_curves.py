"""Monotone reviewers: closed forms, inverses, derivatives, and callables that are steep or have kinks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import norm

import blindcal as bc
from every_reviewer import curves


@pytest.mark.parametrize("noise", [0.02, 0.5, 3.0])
@pytest.mark.parametrize("score", [-30.0, -1.0, 0.1, 0.21, 1.2, 2.5, 40.0])
def test_straight_pieces_have_a_closed_form(noise: float, score: float) -> None:
    """Each piece is an affine reviewer on an interval of qualities: a Gaussian mass times its marginal."""
    reviewer = bc.reviewers.PiecewiseLinear([-1.0, 0.3, 0.5, 2.0], [0.0, 0.2, 1.4, 1.9], noise)
    slopes = np.diff(reviewer.scores) / np.diff(reviewer.qualities)
    offsets = reviewer.scores[:-1] - slopes * reviewer.qualities[:-1]
    ends = np.array([-np.inf, *reviewer.qualities[1:-1], np.inf])
    total = slopes**2 + noise**2
    mean, deviation = slopes * (score - offsets) / total, noise / np.sqrt(total)
    below, above = (ends[:-1] - mean) / deviation, (ends[1:] - mean) / deviation
    flip = below > 0
    mass = norm.logcdf(np.where(flip, -below, above)), norm.logcdf(np.where(flip, -above, below))
    inside = mass[0] + np.log1p(-np.exp(mass[1] - mass[0]))
    expected = logsumexp(norm.logpdf(score, offsets, np.sqrt(total)) + inside)
    assert reviewer.log_marginal(score) == pytest.approx(expected, rel=1e-12, abs=1e-11)


@pytest.mark.parametrize("noise", [0.0, 0.4])
def test_kinds_that_coincide_agree(noise: float) -> None:
    affine, s = bc.Affine(1.3, 0.4, noise), np.linspace(-3.0, 4.0, 23)
    same = [
        bc.reviewers.Power(1.0, 1.3, 0.4, noise),
        bc.reviewers.PiecewiseLinear([-1.0, 0.0, 2.0], [-0.9, 0.4, 3.0], noise),
        bc.reviewers.Monotone(lambda t: 1.3 * t + 0.4, noise=noise),
        bc.Affine(1.3, 0.4, noise, np.zeros((2, 2))),
    ]
    for other in same:
        assert other.log_marginal(s) == pytest.approx(affine.log_marginal(s), abs=1e-10)


def test_a_callable_needs_no_inverse_nor_derivative() -> None:
    exact = bc.reviewers.Logistic(1.0, 10.0, 1.2, 0.3)
    found = bc.reviewers.Monotone(lambda t: 1.0 + 9.0 / (1.0 + np.exp(-(1.2 * t + 0.3))))
    given_all = bc.reviewers.Monotone(exact.score, exact.quality, 0.0, exact.derivative)
    s = np.linspace(1.05, 9.9, 41)
    for other in (found, given_all):
        assert other.quality(s) == pytest.approx(exact.quality(s), abs=1e-12)
        assert other.log_marginal(s) == pytest.approx(exact.log_marginal(s), abs=1e-9)


@given(st.sampled_from(sorted(curves(0.0))), st.floats(-3.0, 3.0))
def test_inverses_round_trip(name: str, quality: float) -> None:
    reviewer = curves(0.0)[name]
    slope = float(reviewer.derivative(quality))
    score = float(reviewer.score(quality))
    # One unit in the last place of the score is all that an inverse can see.
    seen = 4.0 * np.spacing(abs(score) + 10.0) / max(slope, 1e-300)
    if seen < 1e-12:
        assert float(reviewer.quality(score)) == pytest.approx(quality, abs=1e-12)
    assert float(reviewer.score(reviewer.quality(score))) == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize("name", list(curves(0.0)))
def test_derivatives_are_those_of_the_curve(name: str) -> None:
    reviewer, t, h = curves(0.0)[name], np.array([-1.7, -0.4, 0.2, 0.41, 1.3]), 1e-6
    slope = (reviewer.score(t + h) - reviewer.score(t - h)) / (2 * h)
    assert reviewer.derivative(t) == pytest.approx(slope, rel=1e-6, abs=1e-9)


def test_a_steep_callable_may_overflow_on_its_way() -> None:
    steep = bc.reviewers.Monotone(lambda t: 10.0 / (1.0 + np.exp(-20.0 * t)), noise=0.3)
    same = bc.reviewers.Logistic(0.0, 10.0, 20.0, noise=0.3)
    s = np.array([-1.0, 0.2, 5.0, 9.9])
    assert steep.log_marginal(s) == pytest.approx(same.log_marginal(s), abs=1e-9)


@pytest.mark.parametrize("noise", [0.02, 0.3, 2.0])
def test_a_callable_with_kinks_and_steps_is_resolved(noise: float) -> None:
    pieces = bc.reviewers.PiecewiseLinear([-1.0, 0.3, 0.31, 2.0], [0.0, 0.2, 2.4, 2.9], noise)
    same = bc.reviewers.Monotone(pieces.score, noise=noise)
    s = np.array([-3.0, 0.1, 0.21, 1.5, 2.5, 6.0])
    assert same.log_marginal(s) == pytest.approx(pieces.log_marginal(s), abs=1e-9)


def test_scores_beyond_the_scale_are_impossible_without_noise() -> None:
    reviewer = bc.reviewers.Logistic(1.0, 10.0)
    assert (reviewer.quality([0.5, 1.0, 10.0, 11.0]) == [-np.inf, -np.inf, np.inf, np.inf]).all()
    assert (reviewer.log_marginal([0.5, 10.5]) == -np.inf).all()
