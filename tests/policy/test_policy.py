"""Policies against the definitions written out, and what each number promises."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blindcal import Belief, Policy
from blindcal.checks import Array
from blindcal.policy import epsilon_policy, evidence_policy, public_policy
from blindcal.policy.accept_lp import AcceptProgram, secret_classes
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.policy import TIE_TOLERANCE, label_tops, missed_mass, proposition_strategy
from strategies import beliefs, beliefs_with_policies, random_beliefs, random_policies


def best_guess(mass: Array, labels: Array) -> float:
    """max over labels of their mass, by hand; labels below 0 are nobody."""
    named = {x for x in labels.tolist() if x >= 0}
    sums = (sum(m for m, y in zip(mass, labels, strict=True) if y == x) for x in named)
    return max(sums, default=0.0)


@given(beliefs_with_policies())
def test_errors_are_their_definitions(case: tuple[Belief, Policy]) -> None:
    belief, policy = case
    conference, accepted, rejected = 0.0, [], []
    for w, f, a in zip(belief.weight, belief.favor, policy.accept, strict=True):
        conference += w * (a * (1 - f) + (1 - a) * f)
        accepted.append(w * a)
        rejected.append(w * (1 - a))
    assert policy.conference_error(belief) == pytest.approx(conference, abs=1e-15)
    assert policy.adversary_error(belief) == pytest.approx(1 - max(accepted) - max(rejected), abs=1e-15)


def test_errors_with_labels_are_means_over_the_slots() -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        n, slots = int(rng.integers(1, 8)), int(rng.integers(1, 4))
        labels = rng.integers(-2, 4, (5, slots, n))
        shared = bool(rng.random() < 0.5)
        batch = random_beliefs(rng, 5, n)
        belief = Belief(batch.weight, batch.favor, labels[0] if shared else labels)
        policy = random_policies(rng, (5, n))
        for i in range(5):
            mine = labels[0 if shared else i]
            mass = batch.weight[i] * policy.accept[i], batch.weight[i] * (1 - policy.accept[i])
            success = np.mean([sum(best_guess(m, slot) for m in mass) for slot in mine])
            assert policy.adversary_error(belief)[i] == pytest.approx(1 - success, abs=1e-14)
            posteriors = [best_guess(m, slot) / m.sum() for m in mass for slot in mine if m.sum() > 0]
            assert policy.largest_posterior(belief)[i] == pytest.approx(max(posteriors), abs=1e-13)


def ratio(a: float, b: float) -> float:
    return 1.0 if a == b else (math.inf if b == 0 else a / b)


@given(beliefs_with_policies())
def test_epsilon_and_multiplier_are_their_definitions(case: tuple[Belief, Policy]) -> None:
    accept = case[1].accept.tolist()
    pairs = [(a, b) for a in accept for b in accept]
    worst = max(max(ratio(a, b), ratio(1 - a, 1 - b)) for a, b in pairs)
    assert case[1].epsilon == pytest.approx(math.log(worst), rel=1e-9, abs=1e-15)
    assert case[1].multiplier == pytest.approx(max(accept) + max(1 - a for a in accept), abs=1e-15)


@given(beliefs_with_policies(), st.integers(0, 2**32 - 1))
def test_epsilon_and_multiplier_hold_for_any_prior(case: tuple[Belief, Policy], seed: int) -> None:
    """Whatever the adversary believed: odds move by e^epsilon at most, success grows by the multiplier."""
    belief, policy = case
    prior = np.random.default_rng(seed).dirichlet(np.full(belief.weight.size, 0.5))
    for chance in (policy.accept, 1.0 - policy.accept):
        # In fractions: the product of a chance of 5e-324 and a prior is no float.
        mass = [Fraction(p) * Fraction(c) for p, c in zip(prior.tolist(), chance.tolist(), strict=True)]
        if sum(mass) > 0 and np.isfinite(policy.epsilon) and (prior > 1e-12).all():
            moved = [m / sum(mass) / Fraction(p) for m, p in zip(mass, prior.tolist(), strict=True)]
            assert math.log(max(moved) / min(moved)) <= policy.epsilon + 1e-9
    success = (prior * policy.accept).max() + (prior * (1.0 - policy.accept)).max()
    assert success <= policy.multiplier * prior.max() + 1e-12


def test_secrets_of_weight_zero_count_for_epsilon() -> None:
    assert Policy([0.5, 0.5, 0.0]).epsilon == np.inf


@given(beliefs_with_policies(2, 2))
def test_proposition_4_1_is_no_worse_on_either_error(case: tuple[Belief, Policy]) -> None:
    belief, g = case
    h = proposition_strategy(belief, g)
    assert h.conference_error(belief) <= g.conference_error(belief) + 1e-15
    assert h.adversary_error(belief) >= g.adversary_error(belief) - 1e-15


@given(beliefs_with_policies(2, 2))
def test_proposition_4_1_stays_in_the_h_family(case: tuple[Belief, Policy]) -> None:
    """Some q in [0, 1]^2 of deciding by the true, not by the wrong secret's evidence, gives the policy."""
    belief, g = case
    h = proposition_strategy(belief, g).accept
    by_evidence = evidence_policy(belief).accept
    for own, other, accept in zip(by_evidence, by_evidence[::-1], h, strict=True):
        assert min(own, other) <= accept <= max(own, other)


def test_q_is_the_chance_of_calibrating_under_the_truth() -> None:
    belief = Belief([[0.6, 0.4]] * 3, [[0.9, 0.2], [0.2, 0.9], [0.9, 0.8]])
    q = Policy([0.7, 0.1]).calibrates(belief)
    np.testing.assert_allclose(q[:2], [[0.7, 0.9], [0.3, 0.1]])
    assert np.isnan(q[2]).all()
    tied = Belief([[0.6, 0.4]] * 4, [[0.5, 0.9], [0.5, 0.9], [0.2, 0.5], [0.5, 0.5]])
    q = Policy([[1.0, 0.75], [0.4, 0.5], [0.25, 0.5], [0.5, 0.5]]).calibrates(tied)
    np.testing.assert_allclose(q, [[0.0, 0.5], [np.nan, 0.0], [0.5, 1.0], [np.nan, np.nan]])


@given(beliefs())
def test_the_public_decision_is_the_best_that_tells_nothing(belief: Belief) -> None:
    public = public_policy(belief)
    assert public.epsilon == 0.0
    least = min(Policy(np.full(belief.weight.size, c)).conference_error(belief) for c in (0.0, 0.5, 1.0))
    assert public.conference_error(belief) <= least + 2.1 * TIE_TOLERANCE, "a tie is rejected"
    assert public.adversary_error(belief) == pytest.approx(missed_mass(belief.weight, None), abs=1e-15)


def test_an_even_chance_is_rejected_in_whatever_order_it_is_added_up() -> None:
    """For each secret another of the same weight that favors the opposite as much."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        weight, favor = rng.random((2, int(rng.integers(2, 40))))
        weight, favor = np.tile(weight / weight.sum() / 2, 2), np.concatenate([favor, 1 - favor])
        order = rng.permutation(weight.size)
        belief = Belief(weight[order], favor[order])
        assert not public_policy(belief).accept.any()
        assert (
            not AcceptProgram(secret_classes(belief), Guarantee("public", epsilon=None)).solve().accept.any()
        )


@given(beliefs(), st.floats(0.0, 30.0))
def test_an_epsilon_policy_keeps_its_epsilon(belief: Belief, epsilon: float) -> None:
    policy = epsilon_policy(belief, epsilon)
    assert policy.epsilon <= epsilon + 1e-13
    assert policy.conference_error(belief) <= public_policy(belief).conference_error(belief) + 3e-12


def test_full_calibration_is_the_limit_of_large_epsilon() -> None:
    assert np.isfinite(epsilon_policy(Belief([0.5, 0.5], [1.0, 0.0]), 1e3).epsilon)
    belief = random_beliefs(np.random.default_rng(3), 1000, 5)
    full = evidence_policy(belief).conference_error(belief)
    np.testing.assert_allclose(epsilon_policy(belief, 40.0).conference_error(belief), full, atol=1e-15)
    np.testing.assert_allclose(
        epsilon_policy(belief, 0.0).conference_error(belief), public_policy(belief).conference_error(belief)
    )


def test_label_tops_of_no_labels_is_the_largest_mass() -> None:
    mass = np.random.default_rng(2).random((4, 3))
    np.testing.assert_array_equal(label_tops(mass, None)[:, 0], mass.max(axis=1))
