"""Caps that go down by price: every vertex against a search over policies, ties and weights of zero."""

from __future__ import annotations

import numpy as np
import pytest

from blindcal import Belief, frontier
from blindcal.policies.descents import accept_after, vertices
from strategies import random_beliefs


def test_two_secrets_are_a_case_of_many() -> None:
    belief = random_beliefs(np.random.default_rng(8), 20_000, 2)
    pair = frontier(belief)
    conference, adversary, _ = vertices(belief.weight, belief.favor)
    for end in (0, -1):
        np.testing.assert_allclose(pair.conference_error[:, end], conference[:, end], atol=1e-15)
        np.testing.assert_allclose(pair.adversary_error[:, end], adversary[:, end], atol=1e-16)
    for share in (0.0, 0.3, 1.0):
        bought = share * pair.bought[:, -1]
        wanted = pair.adversary_error[:, 0] + bought
        np.testing.assert_allclose(
            pair.policy(adversary_error=wanted).accept,
            accept_after(belief.weight, belief.favor, bought),
            rtol=0,
            atol=1e-12,
        )


def test_weight_zero_follows_the_evidence_under_a_positive_cap_only() -> None:
    front = frontier(Belief([0.6, 0.4, 0.0], [1.0, 0.0, 1.0]))
    np.testing.assert_array_equal(front.policy(conference_error=0.1).accept[2], 1.0)
    alone = frontier(Belief([0.6, 0.4, 0.0], [1.0, 1.0, 0.0]))
    np.testing.assert_array_equal(alone.policy(conference_error=0.0).accept, 1.0)
    pair = frontier(Belief([1.0, 0.0], [1.0, 0.0]))
    np.testing.assert_array_equal(pair.policy(conference_error=0.0).accept, 1.0)


def test_equal_prices_lower_the_smaller_cap_first() -> None:
    belief = Belief([0.5, 0.3, 0.2], [1.0, 0.0, 0.0])
    policy = frontier(belief).policy(adversary_error=0.2 + 0.05)
    np.testing.assert_allclose(policy.accept, [1.0, 1.0 - 0.25 / 0.3, 0.0])
    end = frontier(Belief([0.7, 0.3], [1.0, 0.0])).policy(conference_error=1.0)
    np.testing.assert_array_equal(end.accept, [1.0, 1.0])


def test_equal_prices_and_equal_caps_are_lowered_equally() -> None:
    np.testing.assert_allclose(
        frontier(Belief([0.5, 0.5], [1.0, 0.0])).policy(adversary_error=0.2).accept, [0.8, 0.2]
    )
    belief = Belief([0.3, 0.3, 0.2, 0.2], [1.0, 0.0, 1.0, 0.0])
    policy = frontier(belief).policy(adversary_error=0.4 + 0.1)
    np.testing.assert_allclose(policy.accept, [0.25 / 0.3, 1.0 - 0.25 / 0.3, 1.0, 0.0])


@pytest.mark.parametrize(
    ("bought", "caps"), [(0.04, (0.28, 0.28)), (0.14, (0.25, 0.21)), (0.2, (0.25, 0.15))]
)
def test_equal_caps_go_down_together_until_one_meets_its_next_weight(
    bought: float, caps: tuple[float, float]
) -> None:
    """Accepting weights .3, .25, rejecting .3, .15, all of price 1: .05 of one side, .15 of the other."""
    weight, favor = np.array([0.3, 0.3, 0.25, 0.15]), np.array([1.0, 0.0, 1.0, 0.0])
    for evidence in (favor, 1.0 - favor):
        accept = frontier(Belief(weight, evidence)).policy(adversary_error=0.4 + bought).accept
        mass = weight * np.where(evidence > 0.5, accept, 1.0 - accept)
        assert mass[0] == pytest.approx(caps[0])
        assert mass[1] == pytest.approx(caps[1])
