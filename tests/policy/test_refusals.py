"""What policies, frontiers and budgets refuse, and in which words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import blindcal as bc
from blindcal import Affine, Belief, Guarantee, InputError, Policy
from blindcal.policy import average_frontier, epsilon_policy, frontier
from blindcal.policy.budget import allocate
from blindcal.policy.policy import proposition_strategy
from blindcal.policy.score_integrals import curved_integrals
from blindcal.reviewers import Logistic
from general_program import least_loss
from strategies import limits

ONE, TWO = Affine(1.2, 0.3, 0.5), Affine(0.8, -0.3, 0.4)
LIKELY = Belief([0.7, 0.3], [0.9, 0.2])
PAIR = Belief([0.6, 0.4], [0.9, 0.2])
THREE = Belief([[0.6, 0.4]] * 3, [[0.9, 0.2], [0.7, 0.1], [1.0, 0.0]])
CHAIN = [[0.0, 0.1], [0.1, 0.2]], [[0.0, 0.3], [0.0, 0.4]]


def limited(**chosen: float) -> Callable[[], object]:
    return lambda: bc.private_policy(LIKELY, **limits(**chosen))


REFUSED: list[tuple[str, Callable[[], object]]] = [
    (r"accept must lie in \[0, 1\], found 1.5", lambda: Policy([0.5, 1.5])),
    ("accept must be finite, found nan", lambda: Policy([0.5, float("nan")])),
    (r"accept must have shape \[..., n\]", lambda: Policy(0.5)),
    (
        r"3 instances of 3 secrets, but every",
        lambda: Policy([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8], [1, 0, 0]]),
    ),
    (
        r"chances \[secret, decision\] give the column",
        lambda: Policy(least_loss([0.5, 0.3, 0.2], np.eye(3)).chance),
    ),
    ("2 secrets and the belief 1", lambda: Policy([1.0, 0.0]).conference_error(Belief([1.0], [1.0]))),
    (
        "do not fit together",
        lambda: Policy(np.ones((3, 2))).adversary_error(Belief(np.full((2, 2), 0.5), np.ones((2, 2)))),
    ),
    ("epsilon must be at least 0, found -2", lambda: epsilon_policy(Belief([1.0], [1.0]), -2.0)),
    (
        "Proposition 4.1 is about two secrets, found 1",
        lambda: proposition_strategy(Belief([1.0], [1.0]), Policy([1.0])),
    ),
    (
        "q is defined for two secrets, found 3",
        lambda: Policy([0.7, 0.1, 0.2]).calibrates(Belief([0.5, 0.3, 0.2], [1, 0, 1])),
    ),
    # Frontiers.
    (
        "conference_error 0.1.* cannot be achieved: the least achievable is 0.1",
        lambda: frontier(PAIR).policy(conference_error=0.1),
    ),
    (
        "adversary_error 0.5 cannot be achieved: the greatest achievable is 0.4",
        lambda: frontier(PAIR).policy(adversary_error=0.5),
    ),
    (
        "conference_error must be finite, found nan",
        lambda: frontier(PAIR).policy(conference_error=float("nan")),
    ),
    (
        r"conference_error must lie in \[0, 1\], found 5",
        lambda: frontier(PAIR).policy(conference_error=5.0),
    ),
    (
        r"adversary_error must lie in \[0, 1\], found -0.5",
        lambda: frontier(PAIR).policy(adversary_error=-0.5),
    ),
    ("give one of", lambda: frontier(PAIR).policy()),
    ("give one of", lambda: frontier(PAIR).policy(conference_error=0.3, adversary_error=0.1)),
    ("conference_error must be numbers", lambda: frontier(PAIR).policy(conference_error="a lot")),
    (
        r"0\.1 .*in 2 of 3 instances.*between 0\.14 and 0\.22",
        lambda: frontier(THREE).policy(conference_error=0.1),
    ),
    (
        r"shape \(2,\) does not fit the instances \(3,\)",
        lambda: frontier(THREE).policy(conference_error=[0.3, 0.4]),
    ),
    ("papers must be at least 1, found 0", lambda: bc.policy.composed_success(1.0, 0)),
    ("prior must be between 0 and 1", lambda: bc.policy.composed_success(1.0, 2, prior=1.0)),
    ("epsilon must be at least 0", lambda: bc.policy.composed_epsilon([1.0, -1.0])),
    ("weight must have shape", lambda: bc.policy.largest_success(0.5, 1.0)),
    # Averages over scores.
    ("below the least achievable", lambda: average_frontier((ONE, TWO)).rule(conference_error=0.01)),
    ("above the greatest achievable", lambda: average_frontier((ONE, TWO)).rule(adversary_error=0.49)),
    ("give one of", lambda: average_frontier((ONE, TWO)).rule()),
    (
        "conference_error must be finite",
        lambda: average_frontier((ONE, TWO)).adversary_error(conference_error=[0.3, np.nan]),
    ),
    (
        "conference_error must lie in .0, 1., found 5",
        lambda: average_frontier((ONE, TWO)).rule(conference_error=5.0),
    ),
    ("price must lie in", lambda: average_frontier((ONE, TWO)).at_price(1.5)),
    ("prior must be between 0 and 1", lambda: average_frontier((ONE, TWO), 1.0)),
    ("reviewers must be two", lambda: average_frontier((ONE,))),
    ("found a covariance", lambda: average_frontier((Affine(1, 0, 1, np.eye(2)), ONE))),
    ("scores on a grid", lambda: average_frontier((bc.Rounded(ONE, [1, 2]), ONE))),
    ("found reviewers of shape", lambda: average_frontier((Affine([1, 2]), Affine(1)))),
    ("noise, or neither", lambda: average_frontier((Logistic(1, 10), ONE))),
    ("the noise is too small", lambda: average_frontier((Logistic(1, 10, noise=1e-4), ONE))),
    *(
        (
            "the noise is too small",
            lambda noise=noise: curved_integrals(Logistic(1, 10, noise=noise), Affine(1.5, 5.0, 0.8), 0.5),
        )
        for noise in (1e-5, 1e-4)
    ),
    # Budgets.
    ("below the least achievable, 0.05", lambda: allocate(*CHAIN, conference_limit=0.01)),
    ("above the greatest achievable, 0.3", lambda: allocate(*CHAIN, adversary_limit=0.4)),
    ("must lie in", lambda: allocate(*CHAIN, adversary_limit=1.5)),
    ("conference_limit must lie in", lambda: allocate(*CHAIN, conference_limit=1.5)),
    (
        "weights must sum to 1, found 1.1",
        lambda: allocate(*CHAIN, conference_limit=0.1, weights=[0.5, 0.6]),
    ),
    (
        "one number for each instance",
        lambda: allocate(*CHAIN, conference_limit=0.1, weights=[0.5, 0.25, 0.25]),
    ),
    (
        "weights must be at least 0, found -0.5",
        lambda: allocate(*CHAIN, conference_limit=0.1, weights=[1.5, -0.5]),
    ),
    ("must be finite", lambda: allocate(*CHAIN, conference_limit=float("nan"))),
    ("give one of", lambda: allocate(*CHAIN)),
    ("give one of", lambda: allocate(*CHAIN, conference_limit=0.1, adversary_limit=0.1)),
    ("must be convex", lambda: allocate([[0, 0.2, 0.25]], [[0, 0.1, 0.2]], conference_limit=0.1)),
    ("must not decrease", lambda: allocate([[0.3, 0.2]], [[0, 0.1]], conference_limit=0.4)),
    ("one non-empty shape", lambda: allocate([[0.3, 0.4]], [0, 0.1], conference_limit=0.4)),
    ("one frontier", lambda: bc.policy.spend([], conference_error=0.1)),
    # Limits of a guarantee.
    (
        "one of public, steady, crowd, average, odds, none, found 'Steady'",
        lambda: Guarantee("Steady", epsilon=2.0),
    ),
    (r"`epsilon` must lie in \[0, 700\], found -0.1", limited(epsilon=-0.1)),
    (r"`multiplier` must lie in \[1, 2\]", limited(multiplier=2.1)),
    ("success must lie in", limited(success=1.2)),
    ("success 0.5 is below what the scores alone give: 1 of 1 instances, up to 0.7", limited(success=0.5)),
    ("posterior cap 0.6 is below what the scores alone give", limited(posterior_cap=0.6)),
    (
        "limit must be one of success, epsilon",
        lambda: bc.policy.limit_frontier(LIKELY, "speed", [1.0]),
    ),
]


@pytest.mark.parametrize(("message", "call"), REFUSED, ids=[message for message, _ in REFUSED])
def test_what_is_refused_is_named(message: str, call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match=message):
        call()
