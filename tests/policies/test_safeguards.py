"""Policies within limits: against the general program, closed forms, what limits imply, composition."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blindcal as bc
from sizes import count
from strategies import random_beliefs


def random_limits(rng, tops):
    """Any combination of limits that can be kept: `tops` is what the scores alone give."""
    limits = {}
    if rng.random() < 0.5:
        limits["success"] = float(tops + (1 - tops) * rng.random() ** 2)
    if rng.random() < 0.3:
        limits["steady"] = True
    if rng.random() < 0.5:
        limits["epsilon"] = float(rng.exponential(1.5))
    if rng.random() < 0.4:
        limits["multiplier"] = float(1 + rng.random())
    if rng.random() < 0.3:
        limits["posterior_cap"] = float(tops + (1 - tops) * rng.random())
    return limits


def excess(belief, policy, limits):
    """By how much a policy breaks its limits; 0 where it keeps them."""
    broken = [0.0]
    if "success" in limits:
        broken.append(float(1 - policy.adversary_error(belief)) - limits["success"])
    if "epsilon" in limits:
        broken.append(float(policy.epsilon) - limits["epsilon"])
    if "multiplier" in limits:
        broken.append(float(policy.multiplier) - limits["multiplier"])
    caps = [limits["posterior_cap"]] if "posterior_cap" in limits else []
    caps += [float(belief.weight.max())] if "steady" in limits else []
    if caps:
        broken.append(float(policy.largest_posterior(belief)) - min(caps))
    return max(broken)


@pytest.mark.parametrize("secrets", [2, 3, 6])
def test_no_policy_of_the_general_program_is_better(secrets):
    rng = np.random.default_rng(40 + secrets)
    size = count(120, 700)
    beliefs = random_beliefs(rng, size, secrets)
    for weight, favor in zip(beliefs.weight, beliefs.favor, strict=True):
        belief, limits = bc.Belief(weight, favor), random_limits(rng, float(weight.max()))
        policy = bc.private_policy(belief, **limits)
        assert excess(belief, policy, limits) < 1e-8, limits
        best = bc.policies.solve(weight, np.stack([1 - favor, favor], -1), **limits)
        # An outcome rarer than 1e-8 is dropped where the solver could not keep its posterior.
        assert float(policy.conference_error(belief)) <= best.value + (1e-9 if secrets == 2 else 1.1e-8), (
            limits
        )
        assert float(policy.conference_error(belief)) >= best.value - 1e-8, limits


def test_random_policies_within_the_limits_are_no_better():
    rng = np.random.default_rng(2)
    for _ in range(count(30, 300)):
        belief = bc.Belief(rng.dirichlet([1, 1]), rng.random(2))
        limits = random_limits(rng, float(belief.weight.max()))
        best = float(bc.private_policy(belief, **limits).conference_error(belief))
        for accept in rng.beta(0.5, 0.5, (100, 2)):
            policy = bc.Policy(accept)
            if excess(belief, policy, limits) <= 0:
                assert float(policy.conference_error(belief)) >= best - 1e-12


def test_a_batch_is_its_instances():
    rng = np.random.default_rng(3)
    for secrets, limits in (
        (2, {"success": 0.97, "epsilon": 1.5, "steady": True}),
        (2, {"success": 0.97}),
        (4, {"epsilon": 1.0, "multiplier": 1.3}),
        (4, {"steady": True, "epsilon": 2.0}),
    ):
        weight = 0.9 * rng.dirichlet(np.ones(secrets), size=(3, 4)) + 0.1 / secrets
        belief = bc.Belief(weight, rng.random((3, 4, secrets)))
        batch = bc.private_policy(belief, **limits).accept
        for i, j in product(range(3), range(4)):
            one = bc.private_policy(bc.Belief(belief.weight[i, j], belief.favor[i, j]), **limits)
            assert batch[i, j] == pytest.approx(one.accept, abs=1e-9)


def test_labels_are_what_is_protected():
    """Four tuples, two slots: the limits are on the labels, not on the tuples."""
    labels = np.array([[0, 0, 1, 1], [2, 3, 2, 3]])
    belief = bc.Belief([0.3, 0.3, 0.2, 0.2], [0.9, 0.2, 0.8, 0.1], labels)
    steady = bc.private_policy(belief, steady=True)
    assert float(steady.conference_error(belief)) < 0.5
    for outcome in (steady.accept, 1 - steady.accept):
        mass = belief.weight * outcome
        for slot, top in zip(labels, (0.6, 0.5), strict=True):
            sums = [mass[slot == label].sum() for label in np.unique(slot)]
            assert max(sums) <= top * mass.sum() + 1e-9
    batch = bc.Belief(np.tile(belief.weight, (3, 1)), np.tile(belief.favor, (3, 1)), labels)
    assert bc.private_policy(batch, steady=True).accept == pytest.approx(np.tile(steady.accept, (3, 1)))


def test_epsilon_0_is_the_public_decision_and_infinity_the_evidence():
    belief = random_beliefs(np.random.default_rng(4), 500, 3)
    public = bc.policies.public_policy(belief).conference_error(belief)
    evidence = bc.policies.evidence_policy(belief).conference_error(belief)
    none, large = bc.private_policy(belief, epsilon=0.0), bc.private_policy(belief, epsilon=60.0)
    assert none.conference_error(belief) == pytest.approx(public, abs=1e-12)
    assert (none.epsilon == 0).all()
    assert large.conference_error(belief) == pytest.approx(evidence, abs=1e-12)
    assert bc.private_policy(belief).conference_error(belief) == pytest.approx(evidence, abs=1e-12)
    assert bc.private_policy(belief, multiplier=1.0).conference_error(belief) == pytest.approx(
        public, abs=1e-12
    )
    assert bc.private_policy(belief, multiplier=2.0).conference_error(belief) == pytest.approx(
        evidence, abs=1e-12
    )


def test_epsilon_alone_is_the_closed_form_of_policies():
    belief = random_beliefs(np.random.default_rng(5), 300, 4)
    for epsilon in (0.2, 1.0, 3.0):
        expected = bc.policies.epsilon_policy(belief, epsilon).conference_error(belief)
        assert bc.private_policy(belief, epsilon=epsilon).conference_error(belief) == pytest.approx(
            expected, abs=1e-12
        )


@given(st.floats(0.5, 0.99), st.floats(0, 1), st.floats(0, 1), st.floats(0, 4), st.floats(0, 1))
def test_a_looser_limit_never_costs_more(weight, favor1, favor2, epsilon, share):
    belief = bc.Belief([weight, 1 - weight], [favor1, favor2])
    for limit, low, high in (
        ("epsilon", share * epsilon, epsilon),
        ("multiplier", 1 + share / 2, 1 + share),
        ("success", weight + (1 - weight) * share / 2, weight + (1 - weight) * share),
        ("posterior_cap", weight + (1 - weight) * share / 2, weight + (1 - weight) * share),
    ):
        tight, loose = bc.policies.limit_frontier(
            belief, limit, [low, high], epsilon=None if limit == "epsilon" else 1.5
        )
        # Borders so close to what the scores alone give cross where an outcome is next to impossible: there
        # rounding decides for the constant decision, which costs no more than the limit is loosened by.
        assert loose <= tight + (1e-12 if share > 1e-6 else share)


def test_limit_frontier_has_one_row_a_value():
    belief = random_beliefs(np.random.default_rng(6), 7, 2)
    errors = bc.policies.limit_frontier(belief, "epsilon", [0.0, 1.0, 2.0], steady=True)
    assert errors.shape == (3, 7)
    assert (np.diff(errors, axis=0) <= 1e-12).all()


@pytest.mark.parametrize("secrets", [2, 3, 5])
def test_what_epsilon_implies_for_the_map_adversary_is_sharp(secrets):
    """No policy within epsilon gives more success, and one gives that much; the reverse bound inverts it."""
    rng = np.random.default_rng(secrets)
    for _ in range(count(40, 400)):
        weight, epsilon = rng.dirichlet(np.ones(secrets)), float(rng.exponential(1.0))
        bound = float(bc.policies.largest_success(weight, epsilon))
        belief = bc.Belief(weight, np.full(secrets, 0.5))
        accept = rng.random((300, secrets))
        # Squeezed into the ratio e^epsilon for both outcomes.
        low = rng.random((300, 1)) / (1 + np.exp(epsilon))
        high = np.minimum(low * np.exp(epsilon), 1 - (1 - low) * np.exp(-epsilon))
        policies = bc.Policy(low + (high - low) * np.round(accept * 3) / 3)
        assert (policies.epsilon <= epsilon + 1e-9).all()
        assert (1 - policies.adversary_error(belief)).max() <= bound + 1e-12
        response = np.full(secrets, 1 / (1 + np.exp(epsilon)))
        response[np.argmax(weight)] = 1 - response[0]
        reached = 1 - float(bc.Policy(response).adversary_error(belief))
        assert max(reached, weight.max()) == pytest.approx(bound, abs=1e-12)
        if bound > weight.max() + 1e-9:
            assert float(bc.policies.least_epsilon(weight, bound)) == pytest.approx(epsilon, abs=1e-7)
    assert bc.policies.least_epsilon([0.6, 0.4], [0.5, 0.6, 1.0]).tolist() == [0.0, 0.0, np.inf]


def test_no_added_success_allows_any_epsilon():
    """The reverse of the bound does not hold: success stays .6, yet every acceptance names the secret."""
    belief, policy = bc.Belief([0.6, 0.4], [0.9, 0.2]), bc.Policy([1 / 3, 0.0])
    assert 1 - float(policy.adversary_error(belief)) == pytest.approx(0.6)
    assert float(policy.epsilon) == np.inf
    assert float(policy.largest_posterior(belief)) == 1.0


@pytest.mark.parametrize(("epsilon", "papers", "prior"), [(1.0, 1, 0.5), (0.7, 4, 0.3), (1.3, 7, 0.6)])
def test_composition_is_the_enumeration_of_all_decisions(epsilon, papers, prior):
    q = np.exp(epsilon) / (1 + np.exp(epsilon))
    success = 0.0
    for decisions in product([True, False], repeat=papers):
        one = prior * np.prod([q if d else 1 - q for d in decisions])
        two = (1 - prior) * np.prod([1 - q if d else q for d in decisions])
        success += max(one, two)
    assert bc.policies.composed_success(epsilon, papers, prior) == pytest.approx(success, abs=1e-12)
    whole = bc.policies.composed_epsilon(np.full(papers, epsilon))
    assert whole == pytest.approx(papers * epsilon)
    assert success <= float(bc.policies.largest_success([prior, 1 - prior], whole)) + 1e-12


BELIEF = bc.Belief([0.7, 0.3], [0.9, 0.2])


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"epsilon": -0.1}, "epsilon must be at least 0, found -0.1"),
        ({"epsilon": float("nan")}, "epsilon must be finite"),
        ({"multiplier": 0.9}, r"multiplier must lie in \[1, 2\]"),
        ({"multiplier": 2.1}, r"multiplier must lie in \[1, 2\]"),
        ({"success": 1.2}, "success must lie in"),
        ({"success": 0.5}, "success 0.5 is below what the scores alone give: 1 of 1 instances, up to 0.7"),
        ({"posterior_cap": 0.6}, "posterior_cap 0.6 is below what the scores alone give"),
        ({"posterior_cap": -1}, "posterior_cap must lie in"),
    ],
)
def test_bad_limits_are_named(limits, message):
    with pytest.raises(bc.InputError, match=message):
        bc.private_policy(BELIEF, **limits)


def test_other_bad_input_is_named():
    with pytest.raises(bc.InputError, match="limit must be one of success, epsilon"):
        bc.policies.limit_frontier(BELIEF, "speed", [1.0])
    with pytest.raises(bc.InputError, match="papers must be at least 1, found 0"):
        bc.policies.composed_success(1.0, 0)
    with pytest.raises(bc.InputError, match="prior must be between 0 and 1"):
        bc.policies.composed_success(1.0, 2, prior=1.0)
    with pytest.raises(bc.InputError, match="epsilon must be at least 0"):
        bc.policies.composed_epsilon([1.0, -1.0])
    with pytest.raises(bc.InputError, match="weight must have shape"):
        bc.policies.largest_success(0.5, 1.0)
