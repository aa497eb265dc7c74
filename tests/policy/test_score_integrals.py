"""Two affine reviewers: closed forms against sums over all scores, and by hand where nothing differs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import erf

import blindcal as bc
from blindcal.policy.score_integrals import affine_integrals
from score_grids import of_spread, over_scores

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


def test_swapping_the_reviewers_with_the_prior_is_the_same_spread() -> None:
    one, two = bc.Affine(1.5, 0.4, 0.3), bc.Affine(0.7, -0.2, 0.6)
    integrals, swapped = affine_integrals(one, two, 0.2), affine_integrals(two, one, 0.8)
    for z in (0.1, 0.7, 3.0):
        assert of_spread(integrals, z) == pytest.approx(of_spread(swapped, z), abs=1e-12)


def test_more_is_gained_at_a_higher_price_and_never_below_it() -> None:
    """Each bit of mass between two thresholds costs between their two prices."""
    integrals = affine_integrals(bc.Affine(1.2, 0.3, 0.5), bc.Affine(0.8, -0.3, 0.3), 0.6)
    levels = np.linspace(0.0, 4.0, 41)
    spent, gained = np.array([integrals.spent_gained(float(z)) for z in levels]).T
    assert (np.diff(gained) > 0).all()
    paid, ends = np.diff(spent) / np.diff(gained), erf(levels / np.sqrt(2))
    assert (paid > ends[:-1]).all()
    assert (paid < ends[1:]).all()
