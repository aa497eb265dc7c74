"""Two affine reviewers: closed forms against sums over all scores, and by hand where nothing differs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import erf

import blindcal as bc
from blindcal.policy.score_integrals import (
    MAX_THRESHOLD,
    affine_integrals,
    curved_integrals,
    monotone_inverses,
    noiseless_integrals,
)
from blindcal.reviewers import Logistic, PiecewiseLinear, Power
from score_grids import of_spread, over_qualities, over_scores

SETTINGS = {
    "plain": ((1.2, 0.3, 0.5), (0.8, -0.3, 0.3), 0.6),
    "prior far from even": ((1.2, 0.3, 0.5), (0.8, -0.3, 0.5), 0.93),
    "offsets alone": ((1.0, 0.4, 0.6), (1.0, -0.3, 0.6), 0.5),
    "slopes alone": ((1.6, 0.0, 0.4), (0.5, 0.0, 0.4), 0.35),
    "much noise": ((1.0, 0.5, 2.0), (0.6, -0.4, 1.5), 0.5),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_integrals_are_sums_over_all_scores(name: str) -> None:
    """To what a thousand scores on each side can resolve; the edges of regions are their limit."""
    one, two, prior = SETTINGS[name]
    reviewers = bc.Affine(*one), bc.Affine(*two)
    reach = 6.5 * max(np.hypot(slope, noise) for slope, _, noise in (one, two)) + 0.5
    integrals = affine_integrals(*reviewers, prior)
    assert integrals.error < 1e-10
    for z in (0.3, 1.2):
        found = of_spread(integrals, z)
        assert found == pytest.approx(over_scores(reviewers, prior, (-reach, reach), 1000, z), abs=1e-4)


def test_without_noise_everything_that_differs_is_certain() -> None:
    """Every price is 1: nothing is bought below it, and all of the mass is tied."""
    reviewers = bc.Affine(1.2, 0.3), bc.Affine(0.8, -0.3)
    integrals = affine_integrals(*reviewers, 0.4)
    assert integrals.spent_gained(8.0) == (0.0, 0.0)
    assert integrals.least_error == 0.0
    listed = over_scores(reviewers, 0.4, (-8.0, 8.0), 1200, 1.0)
    assert integrals.tied == pytest.approx(listed.disagree, abs=1e-4)
    assert integrals.agree_error == pytest.approx(listed.agree, abs=1e-4)


def test_twins_leave_nothing_to_buy_and_the_prior_to_guess_by() -> None:
    twin = bc.Affine(1.1, 0.2, 0.5)
    integrals = affine_integrals(twin, twin, 0.3)
    assert integrals.spent_gained(8.4) == pytest.approx((0.0, 0.0), abs=1e-15)
    assert integrals.agree_error == pytest.approx(0.3, abs=1e-12)
    # Two standard normal qualities, each seen once: arctan(sqrt(unknown/known)) / pi.
    known = 1.21 / (1.21 + 0.25)
    assert integrals.least_error == pytest.approx(np.arctan(np.sqrt((1 - known) / known)) / np.pi, abs=1e-15)


def test_more_is_gained_at_a_higher_price_and_never_below_it() -> None:
    """Each bit of mass between two thresholds costs between their two prices."""
    integrals = affine_integrals(bc.Affine(1.2, 0.3, 0.5), bc.Affine(0.8, -0.3, 0.3), 0.6)
    levels = np.linspace(0.0, 4.0, 41)
    spent, gained = np.array([integrals.spent_gained(float(z)) for z in levels]).T
    assert (np.diff(gained) > 0).all()
    paid, ends = np.diff(spent) / np.diff(gained), erf(levels / np.sqrt(2))
    assert (paid > ends[:-1]).all()
    assert (paid < ends[1:]).all()


# --- Two noisy reviewers with curves: splines against sums over all scores, and straight curves.


STRAIGHT = (bc.Affine(1.2, 0.3, 0.5), bc.Affine(0.8, -0.3, 0.4))


@pytest.mark.parametrize(
    "other",
    [
        bc.reviewers.Power(1.0, 0.8, -0.3, 0.4),
        bc.reviewers.PiecewiseLinear([-1.0, 0.5, 1.0], [-1.1, 0.1, 0.5], 0.4),
    ],
    ids=["power 1", "straight pieces"],
)
def test_curved_reviewers_that_are_straight_have_the_affine_integrals(other):
    straight = bc.policy.average_frontier(STRAIGHT, 0.6)
    curved = bc.policy.average_frontier((STRAIGHT[0], other), 0.6)
    middle = 0.5 * (straight.least_error + straight.largest_error)
    rules = [avg.rule(conference_error=middle) for avg in (straight, curved)]
    assert rules[0].adversary_error == pytest.approx(rules[1].adversary_error, abs=1e-9)
    assert rules[0].price == pytest.approx(rules[1].price, abs=1e-8)
    for field in ("least_error", "largest_error", "least_adversary_error", "largest_adversary_error"):
        assert getattr(curved, field) == pytest.approx(getattr(straight, field), abs=1e-9)


def test_little_noise_costs_curves_no_digit() -> None:
    """With panels 2.5 times as wide, tails of 1e-20 bent the splines: 5e-7 off, and 1e-9 stated."""
    noise = 0.02
    straight = bc.Affine(1.2, 0.3, noise), bc.Affine(0.8, -0.3, noise)
    pieces = tuple(
        bc.reviewers.PiecewiseLinear([-1.0, 1.0], one.score(np.array([-1.0, 1.0])), noise) for one in straight
    )
    known, found = affine_integrals(*straight, 0.5), curved_integrals(*pieces, 0.5)
    assert found.error < 2e-9
    assert found.least_error == pytest.approx(known.least_error, abs=found.error)
    assert (found.agree_error, found.tied) == pytest.approx((known.agree_error, known.tied), abs=found.error)
    for z in (0.5, 1.0, 3.0, MAX_THRESHOLD):
        assert found.spent_gained(z) == pytest.approx(known.spent_gained(z), abs=found.error)


def test_a_kink_costs_no_digit() -> None:
    """The two orders of the reviewers are integrated in different ways; they differed by 1.3e-7."""
    broken, line = bc.reviewers.PiecewiseLinear([-1, 0.5, 2], [-1, 0.2, 3], 0.05), bc.Affine(0.8, -0.3, 0.05)
    one, other = curved_integrals(broken, line, 0.4), curved_integrals(line, broken, 0.6)
    assert one.least_error == pytest.approx(other.least_error, abs=1e-9)
    assert of_spread(one, 1.0) == pytest.approx(of_spread(other, 1.0), abs=1e-9)


@pytest.mark.parametrize("prior", [0.5, 0.8])
def test_integrals_of_curves_are_sums_over_all_scores(prior: float) -> None:
    """To what eighty scores on each side can resolve."""
    reviewers = bc.reviewers.Logistic(1, 10, 1.5, 0.0, 0.6), bc.Affine(1.5, 5.0, 0.8)
    integrals = curved_integrals(*reviewers, prior)
    assert integrals.error < 1e-8
    listed = over_scores(reviewers, prior, (-4.0, 14.0), 80, 1.0)
    assert of_spread(integrals, 1.0) == pytest.approx(listed, abs=2.5e-3)


def test_reviewers_without_a_score_in_common_have_nothing_to_hide() -> None:
    """Whoever gives a score is known by it; the error by the evidence is what both noises leave."""
    low, high = bc.reviewers.Logistic(0, 1, 1.0, 0.0, 0.01), bc.reviewers.Logistic(5, 6, 1.0, 0.0, 0.01)
    integrals = curved_integrals(low, high, 0.3)
    assert (integrals.agree_error, integrals.tied, integrals.spent_gained(1.0)) == (0.0, 0.0, (0.0, 0.0))
    # Each quality is read to about 0.01 / slope, slopes up to 1/4: ranks are seldom wrong, and sometimes.
    assert 0.005 < integrals.least_error < 0.1


# --- Two reviewers without noise: what they would hide, against sums over a grid of what they read.


PAIRS = {
    "logistic and power": (Logistic(1, 10, 1.4, 0.3), Power(1.5, 2.0, 5.0)),
    "two logistics": (Logistic(1, 10, 2.0, 0.0), Logistic(2, 9, 1.0, 0.5)),
    "pieces and a line": (PiecewiseLinear([-1.0, 0.0, 1.0], [-2.0, 0.0, 1.0]), bc.Affine(1.0, 0.3)),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("prior", [0.5, 0.2])
def test_masses_are_sums_over_all_that_may_be_read(name: str, prior: float) -> None:
    """To what 700 qualities on each side can resolve."""
    integrals = noiseless_integrals(*PAIRS[name], prior)
    listed = over_qualities(PAIRS[name], prior, 700, 1.0)
    assert integrals.tied == pytest.approx(listed.disagree, abs=2e-4)
    assert integrals.agree_error == pytest.approx(listed.agree, abs=2e-4)
    assert (integrals.least_error, integrals.spent_gained(8.0)) == (0.0, (0.0, 0.0))
    assert integrals.error < 1e-8


@pytest.mark.parametrize("prior", [0.5, 0.9])
def test_two_lines_have_the_affine_spread(prior: float) -> None:
    """The same numbers by closed forms, from another module."""
    one, two = bc.Affine(1.2, 0.3), bc.Affine(0.8, -0.3)
    curved, straight = noiseless_integrals(one, two, prior), affine_integrals(one, two, prior)
    assert curved.tied == pytest.approx(straight.tied, abs=1e-9)
    assert curved.agree_error == pytest.approx(straight.agree_error, abs=1e-9)


SWAPPED = {
    "affine": (affine_integrals, bc.Affine(1.5, 0.4, 0.3), bc.Affine(0.7, -0.2, 0.6), 1e-12),
    "curved": (curved_integrals, Logistic(1, 10, 1.5, 0.0, 0.6), bc.Affine(1.5, 5.0, 0.8), 1e-9),
    "noiseless": (noiseless_integrals, *PAIRS["logistic and power"], 1e-9),
}


@pytest.mark.parametrize("name", SWAPPED)
def test_swapping_the_reviewers_with_the_prior_is_the_same_spread(name: str) -> None:
    integrals, one, two, tolerance = SWAPPED[name]
    plain, swapped = integrals(one, two, 0.2), integrals(two, one, 0.8)
    for z in (0.1, 0.7, 3.0):
        assert of_spread(plain, z) == pytest.approx(of_spread(swapped, z), abs=tolerance)


def test_runs_that_rise_or_fall_lead_back_to_their_points() -> None:
    """Up to 3, down to 1, level for a while, and up again: three tables, each rising in value."""
    values = np.array([0.0, 2.0, 3.0, 1.0, 1.0, 4.0])
    tables = monotone_inverses(values, np.arange(6.0))
    assert all((np.diff(table[0]) >= 0).all() for table in tables)
    crossings = sorted({round(float(np.interp(2.5, *table)), 6) for table in tables})
    assert crossings == [1.5, 2.25, 4.5]
    assert monotone_inverses(np.ones(4), np.arange(4.0)) == []
