"""Losses of many decisions against a naive program, the closed forms, and what it promises."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from blindcal import Affine, Belief, Guarantee, InputError, Policy, frontier, pair_belief
from blindcal.checks import Array, Integers
from blindcal.policy import OutcomeProbabilities, epsilon_policy, least_loss, loss_frontier
from blindcal.policy.multi_outcome import selection
from blindcal.policy.pareto_frontier import trace_frontier
from blindcal.policy.policy import label_tops
from sizes import count
from strategies import limits, random_beliefs


def naive(weight: Array, loss: Array, labels: Integers, guarantee: Guarantee, success: float | None) -> float:
    """The same optimum from the definitions: probabilities as variables, dense rows, one at a time."""
    n, decisions = loss.shape
    slots = len(labels)
    size = n * decisions + slots * decisions + 2 * decisions

    def p(r: int, d: int) -> int:
        return r * decisions + d

    t = n * decisions
    low, high = t + slots * decisions, t + slots * decisions + decisions
    rows, ceilings = [], []

    def at_most(ceiling: float, *terms: tuple[int, float]) -> None:
        row = np.zeros(size)
        for column, value in terms:
            row[column] += value
        rows.append(row)
        ceilings.append(ceiling)

    tops = label_tops(weight, labels)
    for slot, d in product(range(slots), range(decisions)):
        for y in set(labels[slot]):
            mine = [(p(r, d), weight[r]) for r in range(n) if labels[slot, r] == y]
            at_most(0.0, *mine, (t + slot * decisions + d, -1.0))
            total = [(p(r, d), -weight[r]) for r in range(n)]
            if guarantee.name == "steady":
                at_most(0.0, *mine, *((c, tops[slot] * v) for c, v in total))
            if guarantee.posterior_cap is not None:
                at_most(0.0, *mine, *((c, guarantee.posterior_cap * v) for c, v in total))
    if success is not None:
        at_most(success, *((t + i, 1.0 / slots) for i in range(slots * decisions)))
    for r, d in product(range(n), range(decisions)):
        at_most(0.0, (p(r, d), 1.0), (high + d, -1.0))
        at_most(0.0, (p(r, d), -1.0), (low + d, 1.0))
    if guarantee.epsilon is not None:
        for d in range(decisions):
            at_most(0.0, (high + d, 1.0), (low + d, -np.exp(guarantee.epsilon)))
    if guarantee.multiplier is not None:
        at_most(guarantee.multiplier, *((high + d, 1.0) for d in range(decisions)))
    equal = np.zeros((n, size))
    for r in range(n):
        equal[r, r * decisions : (r + 1) * decisions] = 1.0
    cost = np.zeros(size)
    cost[: n * decisions] = (weight[:, None] * loss).ravel()
    found = linprog(cost, np.array(rows), ceilings, equal, np.ones(n), bounds=[(0.0, 1.0)] * size)
    assert found.status == 0
    return float(found.fun)


def random_case(rng: np.random.Generator) -> tuple[Array, Array, Integers]:
    n, decisions, slots = rng.integers(2, 7), rng.integers(2, 5), rng.integers(1, 4)
    labels = rng.integers(0, 3, (slots, n))
    if rng.random() < 0.3:
        labels = np.arange(n)[None, :]
    return rng.dirichlet(np.ones(n)), rng.random((n, decisions)), labels


def kept(
    found: OutcomeProbabilities, weight: Array, labels: Integers, guarantee: Guarantee, success: float | None
) -> None:
    """Every promise, checked on the table itself."""
    p, mass = found.chance, weight[:, None] * found.chance
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-15 * p.shape[1])
    assert (p >= 0.0).all()
    tops = np.stack([label_tops(column, labels) for column in mass.T])
    assert found.success == pytest.approx(tops.sum(axis=0).mean(), abs=1e-14)
    if success is not None:
        assert found.success <= success + 1e-9
    if guarantee.name == "steady":
        assert (tops <= label_tops(weight, labels) * mass.sum(axis=0)[:, None] + 1e-9).all()
    if guarantee.posterior_cap is not None:
        assert (tops <= guarantee.posterior_cap * mass.sum(axis=0)[:, None] + 1e-9).all()
    if guarantee.epsilon is not None:
        assert (p.max(axis=0) <= np.exp(guarantee.epsilon) * p.min(axis=0) + 1e-12).all()
    if guarantee.multiplier is not None:
        assert p.max(axis=0).sum() <= guarantee.multiplier + 1e-9


@pytest.mark.parametrize("kind", ["success", "steady", "epsilon", "multiplier", "posterior_cap", "several"])
def test_every_limit_agrees_with_the_naive_program(kind: str) -> None:
    rng = np.random.default_rng(100 + len(kind))
    for _ in range(count(40, 400)):
        weight, loss, labels = random_case(rng)
        tops = np.minimum(label_tops(weight, labels), 1.0)
        choices: dict[str, Any] = {
            "success": rng.uniform(tops.mean(), 1.0),
            "steady": True,
            "epsilon": rng.uniform(0.0, 4.0),
            "multiplier": rng.uniform(1.0, 2.0),
            "posterior_cap": rng.uniform(tops.max(), 1.0),
        }
        names = rng.permutation(list(choices))[:3] if kind == "several" else [kind]
        chosen = limits(**{str(name): choices[name] for name in names})
        found = least_loss(weight, loss, labels, **chosen)
        kept(found, weight, labels, **chosen)
        assert found.loss == pytest.approx(naive(weight, loss, labels, **chosen), abs=1e-6)


def test_without_limits_each_secret_takes_its_least_loss() -> None:
    rng = np.random.default_rng(1)
    weight, loss, _ = random_case(rng)
    found = least_loss(weight, loss)
    assert found.loss == pytest.approx(weight @ loss.min(axis=1), abs=1e-12)


def test_weights_of_zero_and_below_the_solver_keep_epsilon() -> None:
    loss = np.array([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7], [1.0, 0.0]])
    found = least_loss([0.6, 0.4 - 1e-13, 1e-13, 0.0], loss, **limits(epsilon=1.0))
    assert Policy(found.chance[:, 0]).epsilon <= 1.0 + 1e-12
    assert (found.chance[2] > 0.0).all()


def test_epsilon_alone_is_one_of_three_policies() -> None:
    rng = np.random.default_rng(2)
    for n in range(2, 8):
        batch = random_beliefs(rng, count(25, 250), n)
        epsilon = rng.uniform(0.0, 5.0, len(batch.weight))
        best = epsilon_policy(batch, epsilon)
        errors = best.conference_error(batch)
        assert (best.epsilon <= epsilon + 1e-12).all()
        for weight, favor, e, error in zip(batch.weight, batch.favor, epsilon, errors, strict=True):
            value = least_loss(weight, np.stack([1.0 - favor, favor], -1), **limits(epsilon=float(e))).loss
            assert value == pytest.approx(error, abs=1e-8)


def labeled(rng: np.random.Generator, size: int) -> Belief:
    n = int(rng.integers(3, 9))
    labels = rng.integers(0, 3, (int(rng.integers(1, 4)), n))
    batch = random_beliefs(rng, size, n)
    return Belief(batch.weight, batch.favor, labels)


def test_labeled_frontier_is_the_program_at_every_success() -> None:
    rng = np.random.default_rng(3)
    for _ in range(count(12, 120)):
        belief = labeled(rng, 3)
        front = frontier(belief)
        assert belief.labels is not None
        for i, (weight, favor) in enumerate(zip(belief.weight, belief.favor, strict=True)):
            loss = np.stack([1.0 - favor, favor], axis=-1)
            most = front.adversary_error[i, -1]
            assert most == pytest.approx(1.0 - label_tops(weight, belief.labels).mean(), abs=1e-10)
            for error in (front.adversary_error[i, 0], rng.uniform(0.0, most), most):
                closed = np.interp(error, front.adversary_error[i], front.conference_error[i])
                program = least_loss(weight, loss, belief.labels, success=1.0 - error)
                assert program.loss == pytest.approx(closed, abs=1e-8)


def test_labeled_policies_reach_the_frontier_between_its_vertices() -> None:
    rng = np.random.default_rng(4)
    for _ in range(count(12, 120)):
        belief = labeled(rng, 3)
        front = frontier(belief)
        rise = np.diff(front.conference_error, axis=-1)
        run = np.diff(front.adversary_error, axis=-1)
        assert (rise >= 0.0).all()
        assert (run >= 0.0).all()
        share = rng.random(3)
        start, end = front.adversary_error[:, 0], front.adversary_error[:, -1]
        wanted = start + share * (end - start)
        policy = front.policy(adversary_error=wanted)
        np.testing.assert_allclose(policy.adversary_error(belief), wanted, atol=1e-8)
        allowed = policy.conference_error(belief)
        again = front.policy(conference_error=allowed)
        assert (again.conference_error(belief) <= allowed + 1e-9).all()
        np.testing.assert_allclose(again.adversary_error(belief), wanted, atol=1e-6)


def test_one_slot_that_names_the_secret_is_the_closed_form() -> None:
    rng = np.random.default_rng(5)
    batch = random_beliefs(rng, 20, 5)
    plain = frontier(batch)
    named = rng.permutation(5)[None, :]
    closed = frontier(Belief(batch.weight, batch.favor, named))
    np.testing.assert_array_equal(closed.conference_error, plain.conference_error)
    for i in range(20):
        conference, adversary, _ = trace_frontier(batch.weight[i], batch.favor[i], named)
        at = np.linspace(plain.adversary_error[i, 0], plain.adversary_error[i, -1], 7)
        np.testing.assert_allclose(
            np.interp(at, adversary, conference),
            np.interp(at, plain.adversary_error[i], plain.conference_error[i]),
            atol=1e-9,
        )


def test_one_of_two_papers_is_the_pair() -> None:
    rng = np.random.default_rng(7)
    for noise in (0.0, 0.4):
        for _ in range(20):
            pool = [Affine(*rng.uniform(0.5, 2.0, 2), noise=noise) for _ in range(2)]
            scores = rng.normal(size=2) + 1.0
            found, belief = selection(pool, scores, 1), pair_belief((pool[0], pool[1]), scores)
            np.testing.assert_allclose(found.weight, belief.weight, atol=1e-13)
            np.testing.assert_allclose(found.loss, np.stack([1 - belief.favor, belief.favor], -1), atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"weight": [0.6, 0.5], "loss": [[0, 1], [1, 0]]},
            "weight must sum to 1 over the secrets, found 1.1",
        ),
        ({"weight": [-0.1, 1.1], "loss": [[0, 1], [1, 0]]}, "weight must be at least 0, found -0.1"),
        ({"weight": [0.6, 0.4], "loss": [0, 1]}, "do not fit"),
        ({"weight": [0.6, 0.4], "loss": [[0, np.inf], [1, 0]]}, "loss must be finite, found inf"),
        ({"weight": [0.6, 0.4], "loss": [[0, 1], [1, 0]], "success": 0.5}, "the scores alone give 0.6"),
        ({"weight": [0.6, 0.4], "loss": [[0, 1], [1, 0]], "success": 1.5}, r"success must lie in \[0, 1\]"),
        ({"weight": [0.6, 0.4], "loss": [[0, 1], [1, 0]], "posterior_cap": 0.3}, "the scores alone give 0.6"),
        (
            {"weight": [0.6, 0.4], "loss": [[0, 1], [1, 0]], "epsilon": -1.0},
            r"`epsilon` must lie in \[0, 700\]",
        ),
        ({"weight": [0.6, 0.4], "loss": [[0, 1], [1, 0]], "multiplier": 3.0}, "`multiplier` must lie"),
        ({"weight": [0.6, 0.4], "loss": [[0, 1], [1, 0]], "labels": [0, 1]}, "labels must be integers"),
        ({"weight": [0.6, 0.4], "loss": [[0, 1], [1, 0]], "labels": [[0.5, 1]]}, "labels must be integers"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, Any], message: str) -> None:
    names = {"epsilon", "multiplier", "posterior_cap", "success"}
    given = {name: value for name, value in arguments.items() if name in names}
    rest = {name: value for name, value in arguments.items() if name not in names}
    with pytest.raises(InputError, match=message):
        least_loss(**rest, **limits(**given))


def test_the_frontier_of_any_losses_is_the_program_at_every_success() -> None:
    """Three outcomes: between vertices the straight line is what a program with that success finds."""
    rng = np.random.default_rng(41)
    for _ in range(count(4, 30)):
        weight, loss = rng.dirichlet(np.ones(3)), rng.random((3, 3))
        front = loss_frontier(weight, loss)
        assert (np.diff(front.loss) > 0).all()
        assert (np.diff(front.success) < 0).all()
        assert front.success[-1] == pytest.approx(weight.max(), abs=1e-9)
        for success in np.linspace(front.success[-1], front.success[0], 7):
            program = least_loss(weight, loss, success=float(success))
            assert program.loss == pytest.approx(np.interp(-success, -front.success, front.loss), abs=1e-7)
            mixed = front.at(float(success))
            assert mixed.loss == pytest.approx(program.loss, abs=1e-7)
            assert (weight[:, None] * mixed.chance * loss).sum() == pytest.approx(mixed.loss, abs=1e-9)
            assert (weight[:, None] * mixed.chance).max(axis=0).sum() <= success + 1e-7
    with pytest.raises(InputError, match="cannot be achieved: the scores alone give"):
        front.at(0.0)


def test_two_outcomes_have_the_frontier_of_their_belief() -> None:
    belief = Belief([0.5, 0.3, 0.2], [0.9, 0.2, 0.7])
    front = loss_frontier(belief.weight, np.stack([1 - belief.favor, belief.favor], axis=-1))
    known = frontier(belief)
    np.testing.assert_allclose(
        np.interp(1 - front.success, known.adversary_error, known.conference_error), front.loss, atol=1e-7
    )


def test_what_chances_of_any_outcomes_reveal() -> None:
    chance = np.array([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]])
    found = OutcomeProbabilities(chance, 0.0, 0.0)
    assert found.epsilon == pytest.approx(np.log(5.0))
    assert found.multiplier == pytest.approx(0.6 + 0.3 + 0.5)
    assert found.largest_posterior([0.5, 0.5]) == pytest.approx(0.5 / 0.6)
    two = Policy([0.7, 0.2])
    both = OutcomeProbabilities(np.stack([two.accept, 1 - two.accept], axis=-1), 0.0, 0.0)
    assert both.epsilon == pytest.approx(float(two.epsilon))
    assert both.multiplier == pytest.approx(float(two.multiplier))
