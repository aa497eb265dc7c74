"""Several claims as one promise, against Fractions by hand: each number on its unsafe side."""

from __future__ import annotations

from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction
from math import inf, nextafter

import numpy as np
import pytest

from blindcal.beliefs.belief import Belief
from blindcal.plans.certificates import Claim, claim
from blindcal.plans.exact import UNIT, ExactPolicy
from blindcal.plans.figures import Figures
from blindcal.plans.papers import plan_conference
from blindcal.plans.promises import at_most, overdrawn, paired, summary, worst
from blindcal.plans.rounding import FINE
from blindcal.policies.guarantees import Guarantee
from small_conferences import loaded, small_conference


def test_what_several_decisions_promise_together_by_hand() -> None:
    """Multipliers multiply and epsilons add up; success is never below what was known, nor below the sum."""
    belief = Belief([0.5, 0.3, 0.2], [0.9, 0.2, 0.4])
    one, two = (
        ExactPolicy((np.array(t) * UNIT).astype(np.int64)) for t in ((0.75, 0.5, 0.5), (0.5, 0.75, 0.5))
    )
    first, second = claim(belief, one), claim(belief, two, factor=one.outcome(False))
    both = paired([first], second, two, same_public_data=True)
    assert both.multiplier == pytest.approx(1.25 * 1.25)
    assert both.epsilon == pytest.approx(np.log(2) * 2)
    assert both.success == max(first.success + second.added, second.success, first.success_scores_only)
    assert second.success < first.success, "the first outcome made its likeliest author less likely"
    assert both.success > second.success
    apart = paired([first], second, two, same_public_data=False)
    assert apart.success == apart.success_scores_only > second.success
    assert paired([first, first], second, two, same_public_data=False).epsilon == pytest.approx(np.log(2) * 3)


def test_a_budget_counts_reviews() -> None:
    conference, _ = loaded(small_conference(seed=1, papers=12, pool=6))
    guarantee = Guarantee("average", 0.01, None)
    plans, _ = plan_conference(conference, guarantee)
    claims = [plan.claim for plan in plans]
    assert not overdrawn(claims, guarantee)
    more = [replace(claims[0], added=claims[0].added + Fraction(1, 2)), *claims[1:]]
    assert overdrawn(more, guarantee)
    assert not overdrawn(more, replace(guarantee, name="none", added_success=0.0))


ONE = Claim(
    reviews=2,
    success_scores_only=Fraction(3, 4),
    success=Fraction(7, 8),
    added=Fraction(1, 8),
    largest_rise=0.0625,
    epsilon=1.5,
    multiplier=1.25,
    largest_posterior=0.5,
    mixed=0.0,
)
TWO = Claim(3, Fraction(5, 4), Fraction(5, 4), Fraction(0), 0.125, 0.5, 1.5, 0.25, 0.5)


def test_the_worst_of_several_claims_is_the_worst_in_every_number() -> None:
    """Neither claim is the worse one in all of them; how a table was repaired is a fact and no promise."""
    for claims in ((ONE, replace(TWO, reviews=2)), (replace(TWO, reviews=2), ONE)):
        found = worst(claims)
        assert (found.success, found.added) == (Fraction(5, 4), Fraction(1, 8))
        assert (found.largest_rise, found.epsilon, found.multiplier) == (0.125, 1.5, 1.5)
        assert found.largest_posterior == 0.5
        assert (found.reviews, found.success_scores_only, found.mixed) == (
            claims[0].reviews,
            claims[0].success_scores_only,
            claims[0].mixed,
        )


@pytest.mark.parametrize("revealed", [0.0, 2.0**-10, 0.25, 0.5])
def test_odds_that_moved_raise_what_can_be_known_by_their_factor(revealed: float) -> None:
    """p -> p e^r at most, and the rise is what is above p, with the decision's own rise on top of it; all
    rounded up, by no more than the last digit."""
    factor = Fraction(Context(prec=70).exp(Decimal(revealed)))
    found = at_most(ONE, revealed)
    top = Fraction(1, 2) * factor
    assert 0 <= found.success - Fraction(7, 8) * factor < Fraction(2, FINE)
    exact = {"largest_posterior": top, "largest_rise": top - Fraction(1, 2) + Fraction(1, 16)}
    for name, value in exact.items():
        stated = getattr(found, name)
        assert Fraction(nextafter(stated, 0.0)) < value <= Fraction(stated) or value == Fraction(stated)
    assert (found.added, found.epsilon, found.multiplier) == (ONE.added, ONE.epsilon, ONE.multiplier)


def test_nothing_is_more_than_certain_however_far_odds_moved() -> None:
    """Two reviews, two correct guesses: from a posterior of 1/2, e^3 would be ten times too much."""
    far = at_most(ONE, 3.0)
    assert (far.success, far.largest_posterior) == (2, 1.0)
    factor = Fraction(Context(prec=70).exp(Decimal(3)))
    assert far.largest_rise == 1.0, "1 - 1/e^3 and a sixteenth"
    public = at_most(replace(ONE, largest_rise=0.0), 3.0)
    assert public.largest_rise == pytest.approx(float(1 - 1 / factor), abs=1e-15)
    assert Fraction(public.largest_rise) >= 1 - 1 / factor
    certain = at_most(ONE, inf)
    assert (certain.success, certain.largest_posterior, certain.largest_rise) == (2, 1.0, 1.0)


def test_a_budget_is_kept_to_the_last_digit() -> None:
    """A 32nd of four reviews is exactly the eighth that is added; the least bit more is too much."""
    exact, four = Guarantee("average", 0.03125, None), [ONE, replace(TWO, reviews=2)]
    assert not overdrawn(four, exact)
    assert overdrawn(four, replace(exact, added_success=nextafter(0.03125, 0.0)))
    assert overdrawn([replace(ONE, added=Fraction(1, 8) + Fraction(1, FINE)), four[1]], exact)
    for name in ("steady", "public", "average"):
        assert not overdrawn(four, Guarantee(name, epsilon=None)), "nothing is shared, so nothing is counted"


def test_epsilon_without_a_bound_has_none_together_either() -> None:
    table = ExactPolicy(np.array([UNIT // 2, UNIT // 4]))
    both = paired([replace(ONE, epsilon=inf)], TWO, table, same_public_data=False)
    assert both.epsilon == inf
    certain = ExactPolicy(np.array([UNIT, 0]))
    assert paired([ONE], TWO, certain, same_public_data=False).epsilon == inf
    more = paired([ONE], replace(TWO, epsilon=9.0), table, same_public_data=False)
    assert more.epsilon == 9.0, "what is claimed with the past counted in is never lowered"


def test_what_is_added_is_counted_from_the_scores_alone() -> None:
    table = ExactPolicy(np.array([UNIT // 2, UNIT // 2]))
    second = replace(ONE, success=Fraction(1, 2), added=Fraction(1, 4))
    for same, success in ((True, Fraction(9, 8)), (False, Fraction(3, 4))):
        both = paired([replace(ONE, success=Fraction(7, 8))], second, table, same_public_data=same)
        assert (both.success, both.added) == (success, success - Fraction(3, 4))
        assert both.multiplier == 1.25 * 1.25
        assert both.epsilon == 1.5, "a constant table reveals nothing on top"


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
    means = {
        "expected_wrong": 0.2,
        "expected_wrong_raw": 0.3,
        "expected_wrong_public": 0.4,
        "expected_wrong_fully_calibrated": 0.1,
        "against_evidence": 0.02,
        "gap": 0.001,
    }
    assert {name: found[name] for name in means} == pytest.approx(means)
    assert (found["repaired"], found["decided_by_public_information"]) == (1, 0)
    public = summary([replace(ONE, mixed=1.0), replace(TWO, mixed=0.0)], figures)
    assert (public["repaired"], public["decided_by_public_information"]) == (0, 1)
    assert len(found) == len(exact) + len(means) + 10, "a new number has a line here"


def test_a_share_of_nothing_is_nothing_and_no_share_is_above_one() -> None:
    for full, share in ((2.0, 0.0), (2.0 + 4e-9, 0.0), (2.0625, 1.0), (2.25, 0.5)):
        figures = [Figures(0, 0, 0, 0, 0, full / 2), Figures(0, 0, 0, 0, 0, full / 2)]
        assert summary([ONE, TWO], figures)["added_share_of_full"] == pytest.approx(share)
