"""Two noisy reviewers with curves: splines against sums over all scores, and straight curves."""

from __future__ import annotations

import pytest

import blindcal as bc
from blindcal.policy.score_integrals import curved_integrals
from score_grids import of_spread, over_scores

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


@pytest.mark.parametrize("prior", [0.5, 0.8])
def test_integrals_are_sums_over_all_scores(prior: float) -> None:
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


def test_swapping_the_reviewers_with_the_prior_is_the_same_spread() -> None:
    one, two = bc.reviewers.Logistic(1, 10, 1.5, 0.0, 0.6), bc.Affine(1.5, 5.0, 0.8)
    integrals, swapped = curved_integrals(one, two, 0.2), curved_integrals(two, one, 0.8)
    assert of_spread(integrals, 0.7) == pytest.approx(of_spread(swapped, 0.7), abs=1e-9)


@pytest.mark.parametrize("noise", [1e-5, 1e-4])
def test_a_noise_too_small_for_a_table_is_refused(noise: float) -> None:
    steep = bc.reviewers.Logistic(1, 10, noise=noise)
    with pytest.raises(bc.InputError, match="the noise is too small"):
        curved_integrals(steep, bc.Affine(1.5, 5.0, 0.8), 0.5)
