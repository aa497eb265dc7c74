"""What limits imply for each other, by enumeration and by policies that reach the bounds."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import blindcal as bc
from sizes import count


@pytest.mark.parametrize("secrets", [2, 3, 5])
def test_what_epsilon_implies_for_the_map_adversary_is_sharp(secrets):
    """No policy within epsilon gives more success, and one gives that much; the reverse bound inverts it."""
    rng = np.random.default_rng(secrets)
    for _ in range(count(40, 400)):
        weight, epsilon = rng.dirichlet(np.ones(secrets)), float(rng.exponential(1.0))
        bound = float(bc.policy.largest_success(weight, epsilon))
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
            assert float(bc.policy.least_epsilon(weight, bound)) == pytest.approx(epsilon, abs=1e-7)
    assert bc.policy.least_epsilon([0.6, 0.4], [0.5, 0.6, 1.0]).tolist() == [0.0, 0.0, np.inf]


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
    assert bc.policy.composed_success(epsilon, papers, prior) == pytest.approx(success, abs=1e-12)
    whole = bc.policy.composed_epsilon(np.full(papers, epsilon))
    assert whole == pytest.approx(papers * epsilon)
    assert success <= float(bc.policy.largest_success([prior, 1 - prior], whole)) + 1e-12


def test_bad_input_is_named():
    with pytest.raises(bc.InputError, match="papers must be at least 1, found 0"):
        bc.policy.composed_success(1.0, 0)
    with pytest.raises(bc.InputError, match="prior must be between 0 and 1"):
        bc.policy.composed_success(1.0, 2, prior=1.0)
    with pytest.raises(bc.InputError, match="epsilon must be at least 0"):
        bc.policy.composed_epsilon([1.0, -1.0])
    with pytest.raises(bc.InputError, match="weight must have shape"):
        bc.policy.largest_success(0.5, 1.0)
