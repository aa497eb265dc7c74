"""Guarantees: the ends of every limit are allowed or not as its rule says."""

from __future__ import annotations

import math
from fractions import Fraction
from math import exp

import numpy as np
import pytest

from blindcal.certify.claims import certify
from blindcal.certify.exact import UNIT
from blindcal.errors import InputError
from blindcal.policy.guarantee import MOST_EPSILON, NAMES, PUBLIC, UNLIMITED, Guarantee
from blindcal.policy.solver import private_policy, solve
from blindcal.posterior.belief import Belief
from blindcal.project.settings import parse_guarantee
from random_cases import random_cases
from sizes import count

ALLOWED = {
    "epsilon": (0.0, MOST_EPSILON),
    "multiplier": (1.0, 2.0),
    "posterior_cap": (0.0, 1.0),
}


@pytest.mark.parametrize("limit", ALLOWED)
def test_a_bad_limit_is_refused_and_its_ends_are_not(limit: str) -> None:
    low, high = ALLOWED[limit]
    for value in (low, high):
        assert getattr(Guarantee("average", **{limit: value}), limit) == value
    for value in (math.nextafter(low, -math.inf), math.nextafter(high, math.inf), math.nan, math.inf):
        with pytest.raises(InputError, match=f"`{limit}`"):
            Guarantee("average", **{limit: value})


@pytest.mark.parametrize("limit", [*ALLOWED, "never_against"])
def test_a_limit_is_one_number(limit: str) -> None:
    """Text that reads as a number would enter the coins and the record as text."""
    for value in ("0.9", True, [0.9], np.array([0.9, 0.8])):
        with pytest.raises(InputError, match="must be one number, found"):
            Guarantee("average", **{limit: value})
    assert Guarantee("average", multiplier=np.float64(1.5), epsilon=2.0).multiplier == 1.5


def test_never_against_is_refused_at_both_ends() -> None:
    for value in (0.5, 1.0, 0.3, math.nan):
        with pytest.raises(InputError, match="`never_against`"):
            Guarantee("steady", never_against=value, epsilon=2.0)
    assert Guarantee("steady", never_against=math.nextafter(0.5, 1.0), epsilon=2.0).never_against > 0.5


def test_a_name_alone_means_what_its_docstring_says() -> None:
    """In Python only the guarantees that limit every single decision come with an epsilon."""
    alone = {name: Guarantee(name).limits for name in NAMES}
    assert alone == {
        "public": {},
        "steady": {"epsilon": 3.0},
        "crowd": {"epsilon": 3.0, "among": 10},
        "average": {},
        "odds": {"epsilon": 3.0},
        "none": {},
    }
    assert Guarantee() == Guarantee("crowd", among=10, epsilon=3.0)
    assert Guarantee("none") == UNLIMITED
    assert Guarantee("public") == PUBLIC
    belief = Belief([0.6, 0.4], [0.9, 0.2])
    assert private_policy(belief, Guarantee("none")).accept.tolist() == [1.0, 0.0]
    assert Guarantee("steady", epsilon=None).limits == {}
    # Without a limit on odds the guarantee would promise nothing.
    with pytest.raises(InputError, match="`epsilon` must be a number with `guarantee` odds, found None"):
        Guarantee("odds", epsilon=None)


@pytest.mark.parametrize("name", ["steady", "crowd", "average", "odds"])
def test_a_chair_who_names_no_epsilon_has_one_of_3(name: str) -> None:
    """The default of conference.toml and of the command line: also with `average`."""
    assert parse_guarantee(name).epsilon == 3.0
    assert parse_guarantee(f"{name} epsilon=1").epsilon == 1.0
    assert parse_guarantee("none").epsilon is parse_guarantee("public").epsilon is None


# --- The guarantee *odds*: three tables by enumeration, the general program, the solver and the exact
# table.


def _best_of_three(belief: Belief, epsilon: float) -> float:
    """Always accept, always reject, or the evidence with a chance of e^epsilon / (1 + e^epsilon)."""
    keep = exp(epsilon) / (1.0 + exp(epsilon))
    right = belief.favor > 0.5
    tables = [np.ones(right.size), np.zeros(right.size), np.where(right, keep, 1.0 - keep)]
    return min(float(belief.weight @ (a * (1 - belief.favor) + (1 - a) * belief.favor)) for a in tables)


def test_papers_with_candidates_have_the_same_three_tables() -> None:
    for case in random_cases(46, count(12, 100), 120):
        belief = case.belief
        wanted = _best_of_three(belief, 3.0)
        assert solve(case, Guarantee("odds")).error == pytest.approx(wanted, abs=1e-8)


def test_the_certified_table_keeps_the_factor_exactly() -> None:
    """Rounded to multiples of 2^-53, randomized response would miss it by a unit."""
    rng = np.random.default_rng(47)
    for epsilon in rng.uniform(0.2, 6.0, count(100, 2_000)):
        guarantee, belief = Guarantee("odds", epsilon=float(epsilon)), Belief([0.49, 0.51], [0.99, 0.01])
        policy, claim = certify(belief, private_policy(belief, guarantee).accept, guarantee)
        low, high = policy.ends
        # The factor to 60 terms of its series, from below.
        factor, term = Fraction(0), Fraction(1)
        for n in range(1, 60):
            factor, term = factor + term, term * Fraction(float(epsilon)) / n
        for more, less in ((high, low), (policy.denominator - low, policy.denominator - high)):
            assert more <= factor * less
        assert claim.epsilon <= epsilon
        assert float(Fraction(high, policy.denominator)) == pytest.approx(1 / (1 + exp(-epsilon)), abs=1e-12)
        assert policy.denominator == UNIT


def test_a_paper_with_evidence_too_strong_is_not_drawn() -> None:
    guarantee = Guarantee("odds", epsilon=1.0, never_against=0.95)
    for favor, wanted in ((0.97, [1.0, 1.0]), (0.9, [0.7310586, 0.2689414])):
        belief = Belief([0.5, 0.5], [favor, 0.2])
        policy, claim = certify(belief, private_policy(belief, guarantee).accept, guarantee)
        assert policy.accept == pytest.approx(wanted)
        assert claim.epsilon <= 1.0
