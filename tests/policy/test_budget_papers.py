"""One budget over papers: points on the frontier, what each paper buys, frozen prices."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import exp, inf

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from blindcal.planning.conference_plan import plan_conference
from blindcal.policy.budget import exploration_steps, explore, success_limits
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.conference import Conference
from blindcal.posterior.paper import PaperCase
from general_program import least_loss
from oracles import ROUNDING, Enumerator
from papers import solve_all
from random_cases import random_cases
from sizes import count


def _conference(cases: list[PaperCase]) -> Conference:
    return Conference(tuple(cases), 0.6, None, (False,) * len(cases))


def test_every_explored_point_is_on_the_frontier_and_success_falls_with_its_price():
    prices = (0.0, 0.05, 0.2, 0.7, inf)
    for case in random_cases(16, count(12, 60), 210):
        points = explore((case, prices), Guarantee("average", added_success=0.01, epsilon=None))
        error, success = (np.array(part) for part in zip(*[point[1:] for point in points], strict=True))
        assert (np.diff(error) >= -1e-9).all()
        assert (np.diff(success) <= 1e-9).all()
        belief = case.belief
        loss = np.stack([1 - belief.favor, belief.favor], axis=-1)
        for e, v in zip(error, success, strict=True):
            plain = least_loss(belief.weight, loss, belief.labels, success=min(1.0, v + 1e-12))
            assert e == pytest.approx(plain.loss, abs=1e-7)


def test_prices_that_are_left_out_have_the_policy_of_both_their_neighbors():
    prices, left_out = (0.0, *np.geomspace(0.005, 1.0, 6).tolist(), inf), 0
    guarantee = Guarantee("average", added_success=0.01, epsilon=None)
    for case in random_cases(20, count(8, 40), 120):
        found = {point[0]: point[1:] for point in explore((case, prices), guarantee)}
        for price in set(prices) - set(found):
            ((_, *alone),) = explore((case, (price,)), guarantee)
            near = max(p for p in found if p < price), min(p for p in found if p > price)
            left_out += 1
            for one in near:
                # With equal successes the errors are equal too: both are the least ones.
                assert alone == pytest.approx(found[one], abs=1e-7)
    assert left_out > 8


@pytest.mark.parametrize("price", [None, 0.05])
def test_steps_are_counted_beforehand_as_they_are_done(price: float | None):
    """More of them for the papers that are looked at first, fewer where tuples are not listed."""
    cases = [case for case in random_cases(21, 130, 30) if len(case.scores) > 1][:66]
    cases[-1] = replace(cases[-1], most_listed=1)
    guarantee = Guarantee("average", added_success=0.005, epsilon=None)
    done: list[int] = []
    success_limits(_conference(cases), guarantee, price=price, advance=done.append)
    expected = 64 * 6 + 2 * 4 - 3 if price is None else 66 * 4 - 1
    assert sum(done) == exploration_steps(cases, guarantee, price) == expected
    assert exploration_steps(cases, Guarantee("steady", epsilon=2.0)) == 0


def test_a_budget_over_more_papers_than_are_looked_at_first_is_spent_as_one_joint_program_would():
    cases = [case for case in random_cases(21, 130, 30) if len(case.scores) > 1][:90]
    guarantee = Guarantee("average", added_success=0.005, epsilon=None)
    solved = solve_all(_conference(cases), guarantee)
    beliefs = [case.belief for case in cases]
    wrong = sum(
        float(one.weight @ (accept * (1 - one.favor) + (1 - accept) * one.favor))
        for one, accept in zip(beliefs, solved.accept, strict=True)
    )
    assert len(cases) > 64
    assert wrong == pytest.approx(_joint(cases, 0.005, None), abs=1e-6)


@pytest.mark.parametrize("epsilon", [None, 2.0])
def test_a_budget_over_papers_is_spent_as_one_joint_program_would(epsilon: float | None):
    """All papers in one program with one row for the budget: the same total of wrong decisions."""
    cases = [case for case in random_cases(17, 14, 60) if len(case.scores) > 1][:6]
    guarantee = Guarantee("average", added_success=0.01, epsilon=epsilon)
    solved = solve_all(_conference(cases), guarantee)
    reviews = sum(len(case.scores) for case in cases)
    spent = wrong = 0.0
    for case, accept in zip(cases, solved.accept, strict=True):
        adversary, belief = Enumerator(case, accept), case.belief
        spent += (adversary.success() - adversary.scores_only()) * len(case.scores) / reviews
        wrong += float(belief.weight @ (accept * (1 - belief.favor) + (1 - accept) * belief.favor))
        if epsilon is not None:
            assert adversary.epsilon() <= epsilon + ROUNDING
    assert spent == pytest.approx(0.01, abs=1e-8)
    assert wrong == pytest.approx(_joint(cases, 0.01, epsilon), abs=1e-6)


def _joint(cases: list[PaperCase], added: float, epsilon: float | None) -> float:
    blocks, limits, cost, bounds, constant, budget, allowed = [], [], [], [], 0.0, [], added
    reviews = sum(len(case.scores) for case in cases)
    for case in cases:
        belief, n, k, m = case.belief, len(case.tuples), len(case.scores), len(case.candidates)
        rows, weight = [], belief.weight
        for slot, y in product(range(k), range(m)):
            who = (case.tuples[:, slot] == y) * 1.0
            for sign, column, limit in ((1.0, slot, 0.0), (-1.0, k + slot, -weight @ who)):
                tops = np.zeros(2 * k)
                tops[column] = -1.0
                rows.append(np.concatenate([sign * who, tops, [0, 0]]))
                limits.append(limit)
        if epsilon is not None:
            eye, none = np.eye(n), np.zeros((n, 2 * k))
            rows += list(np.hstack([eye, none, np.zeros((n, 1)), -weight[:, None]]))
            rows += list(np.hstack([-eye, none, weight[:, None], np.zeros((n, 1))]))
            rows += [np.append(np.zeros(n + 2 * k), [-exp(epsilon), 1])]
            rows += [np.append(np.zeros(n + 2 * k), [-1, exp(epsilon)])]
            limits += [0.0] * (2 * n + 1) + [exp(epsilon) - 1]
        blocks.append(np.array(rows))
        cost += [*(1 - 2 * belief.favor), *np.zeros(2 * k + 2)]
        bounds += [*((0, w) for w in weight), *[(0, 1)] * (2 * k + 2)]
        budget += [*np.zeros(n), *np.full(2 * k, 1 / reviews), 0.0, 0.0]
        constant += float(weight @ belief.favor)
        allowed += sum(np.bincount(case.tuples[:, slot], weight).max() for slot in range(k)) / reviews
    matrix = sparse.vstack(
        [
            sparse.block_diag([sparse.coo_array(block) for block in blocks]),
            sparse.csr_array(np.array(budget)[None]),
        ]
    )
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(cost, A_ub=matrix.tocsr(), b_ub=[*limits, allowed], bounds=bounds, options=options)
    return float(found.fun + constant)


def test_the_same_budget_is_spent_the_same_way_again():
    cases = [case for case in random_cases(18, 12, 120) if len(case.scores) > 1]
    guarantee = Guarantee("average", added_success=0.02, epsilon=None)
    first = solve_all(_conference(cases), guarantee)
    again = solve_all(_conference(cases), guarantee)
    assert again.price == first.price
    for one, other in zip(first.accept, again.accept, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("added", [0.005, 0.02, 0.05])
def test_a_frozen_price_buys_each_paper_what_it_bought_before(added: float):
    """All but the paper on which the budget ran out, whatever their numbers of reviews."""
    cases = random_cases(18, 24, 120)
    assert len({len(case.scores) for case in cases}) > 2
    guarantee = Guarantee("average", added_success=added, epsilon=None)
    first = solve_all(_conference(cases), guarantee)
    again = solve_all(_conference(cases), guarantee, price=first.price)
    differ = [
        not np.allclose(one, other, atol=1e-7) for one, other in zip(first.accept, again.accept, strict=True)
    ]
    assert again.price == first.price
    assert sum(differ) <= 1


def test_several_workers_give_the_same_bytes():
    cases = random_cases(19, 50, 60)
    one, two = (
        plan_conference(_conference(cases), Guarantee("steady", epsilon=2.0), workers=workers)[0]
        for workers in (1, 2)
    )
    assert [plan.policy.accept.tobytes() for plan in one] == [plan.policy.accept.tobytes() for plan in two]
    assert [plan.claim for plan in one] == [plan.claim for plan in two]
