"""Appendix B: randomized response, its epsilon, and why the paper's algorithms have none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blindcal import Belief, InputError, paper
from blindcal.policy import epsilon_policy
from strategies import random_beliefs


@given(st.floats(0.0, 8.0))
def test_proposition_b_3(epsilon: float) -> None:
    """The printed response and the useful one both keep exactly epsilon; only the latter is mostly true."""
    printed, useful = paper.definition_b_2(np.exp(epsilon)), paper.proposition_b_3(epsilon)
    np.testing.assert_allclose(printed.sum(axis=1), 1.0)
    for table in (printed, useful):
        assert paper.definition_b_1(table) == pytest.approx(epsilon, abs=1e-9)
    assert printed[0, 0] <= 0.5 <= useful[0, 0]
    assert useful[0, 0] == pytest.approx(np.exp(epsilon) / (1.0 + np.exp(epsilon)))


def test_definition_b_1_goes_through_all_outputs() -> None:
    """Against all sets of outputs of three, as the definition has it."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        table = rng.dirichlet(np.ones(3), 4)
        sets = [[bool(k >> d & 1) for d in range(3)] for k in range(1, 8)]
        chances = np.array([table[:, one].sum(axis=1) for one in sets])
        assert paper.definition_b_1(table) == pytest.approx(
            np.log(chances.max(axis=1) / chances.min(axis=1)).max()
        )
    assert paper.definition_b_1([[1.0, 0.0], [1.0, 0.0]]) == 0.0


def test_the_response_policy_keeps_epsilon_for_all_scores() -> None:
    belief = random_beliefs(np.random.default_rng(3), 200, 2)
    policy = paper.response_policy(belief, 1.0)
    assert (policy.epsilon <= 1.0 + 1e-12).all()
    disagree = np.sign(belief.favor - 0.5).sum(axis=1) == 0
    np.testing.assert_allclose(policy.epsilon[disagree], 1.0)
    # No policy with that epsilon errs less than the best one, which may also decide without the assignment.
    best = epsilon_policy(belief, 1.0).conference_error(belief)
    assert (policy.conference_error(belief) >= best - 1e-12).all()


def test_the_algorithms_have_no_epsilon_over_all_scores() -> None:
    belief = random_beliefs(np.random.default_rng(4), 500, 2)
    least = paper.theorem_4_5(belief).start[:, 0]
    found = paper.strategy_epsilon(paper.algorithm_3(belief, np.minimum(least + 0.05, 1.0)))
    assert np.isinf(found).any()
    assert (found[np.abs(np.sign(belief.favor - 0.5).sum(axis=1)) == 2] == 0.0).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: paper.definition_b_1([0.5, 0.5]), "must sum to 1 over the outputs"),
        (lambda: paper.definition_b_1([[0.5, 0.6], [0.5, 0.5]]), "must sum to 1 over the outputs"),
        (lambda: paper.definition_b_2(0.0), "gamma must be above 0, found 0"),
        (lambda: paper.proposition_b_3(-1.0), "epsilon must be at least 0, found -1"),
        (lambda: paper.response_policy(Belief([1.0], [0.3]), 1.0), "two assignments, found 1 secrets"),
    ],
)
def test_bad_input_is_named(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(InputError, match=message):
        call()


def test_proposition_b_3_at_an_epsilon_whose_factor_is_no_float() -> None:
    """e^800 overflows and e^-800 is 0 as a float: the response is then always the truth."""
    assert paper.proposition_b_3([0.0, 800.0]).tolist() == [
        [[0.5, 0.5], [0.5, 0.5]],
        [[1.0, 0.0], [0.0, 1.0]],
    ]
