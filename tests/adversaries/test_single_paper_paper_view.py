"""Views of papers before the draw and after it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from blindcal.adversaries.single_paper import POLICIES, View, case_view, published_view, released_view
from blindcal.errors import InputError
from blindcal.policy.policy import Policy, evidence_policy, public_policy
from random_cases import random_case


def a_case_and_view() -> tuple[object, View]:
    case = random_case(np.random.default_rng(5), 4, 2)
    return case, case_view(case, Policy(np.linspace(0.1, 0.9, 12)), 1.0)


def test_before_the_toss_both_outcomes_are_counted() -> None:
    case, view = a_case_and_view()
    for policy in POLICIES:
        mass = view.mass(policy)
        assert mass.shape == (2, 12)
        assert mass.sum(axis=0) == pytest.approx(view.weight)
    assert (view.accept["full"] == evidence_policy(case.belief).accept).all()
    assert (view.accept["public"] == public_policy(case.belief).accept).all()
    assert view.truth is None
    assert view.exact


@pytest.mark.parametrize("accepted", [True, False])
def test_after_the_toss_the_decision_is_known(accepted: bool) -> None:
    case = random_case(np.random.default_rng(5), 4, 2)
    table = np.linspace(0.1, 0.9, 12)
    who = tuple(case.candidates[i] for i in case.tuples[7])
    view = published_view(case, Policy(table), 1.0, accepted, who)
    weighed = case.belief.weight * (table if accepted else 1 - table)
    assert view.mass("chosen")[0] == pytest.approx(weighed / weighed.sum())
    full = evidence_policy(case.belief).accept
    seen = full if full[7] else 1 - full
    weighed = case.belief.weight * seen
    assert view.mass("full")[0] == pytest.approx(weighed / weighed.sum())
    for policy in ("raw", "public"):
        assert view.mass(policy)[0] == pytest.approx(case.belief.weight)
    assert view.truth == tuple(case.tuples[7])


def test_strangers_are_refused() -> None:
    case = random_case(np.random.default_rng(5), 4, 2)
    with pytest.raises(InputError, match="must all be in its pool"):
        published_view(case, Policy(np.full(12, 0.5)), 1.0, True, ("r00", "nobody"))


def test_believing_something_else() -> None:
    _, view = a_case_and_view()
    other = view.believing(np.arange(12.0))
    assert other.weight.sum() == pytest.approx(1.0)
    assert (other.mass("raw").sum(axis=0) == other.weight).all()
    with pytest.raises(InputError, match="nothing is possible"):
        view.believing(np.zeros(12))
    # What no tuple allows says nothing.
    seen = replace(view, outcome={"chosen": np.zeros(12)})
    assert (seen.mass("chosen") == seen.alone).all()


@pytest.mark.parametrize("accepted", [True, False])
def test_a_conference_that_calibrated_already(accepted: bool) -> None:
    rng = np.random.default_rng(7)
    case = random_case(rng, 5, 2)
    while not 0.1 < case.belief.favor.min() < 0.4 < 0.6 < case.belief.favor.max():
        case = random_case(rng, 5, 2)
    view = released_view(case, accepted)
    agrees = (case.belief.favor > 0.5) == accepted
    expected = case.belief.weight * agrees
    assert agrees.any()
    np.testing.assert_allclose(view.mass("full")[0], expected / expected.sum())
    assert view.truth is None
