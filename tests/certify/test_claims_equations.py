"""The equations that pin the likeliest reviewers hold to the last digit, or no table is returned."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from blindcal.certify.claims import _largest_indices, certify, meet_equations
from blindcal.certify.exact import UNIT, ExactPolicy, exact_case
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.belief import Belief, unchecked_belief
from oracles import Oracle, agree, keeps
from papers import random_paper, solved
from sizes import count

STEADY_ALONE = Guarantee("steady", epsilon=None)
AVERAGE = Guarantee("average", epsilon=None)


def on_grid(table: np.ndarray) -> np.ndarray:
    return np.rint(table * UNIT).astype(np.int64)


def masses(belief: Belief, policy: ExactPolicy | None) -> list[dict[int, Fraction]]:
    """For each slot every reviewer's part of P(accept), or of everything, from a list of all secrets."""
    entry = range(belief.weight.size) if belief.entry is None else belief.entry.tolist()
    chance = [Fraction(1) if policy is None else policy.probability(e) for e in entry]
    found = []
    for slot in belief.labels:
        parts: dict[int, Fraction] = {-1: Fraction(0)}
        for who, weight, p in zip(slot.tolist(), belief.weight.tolist(), chance, strict=True):
            parts[who] = parts.get(who, Fraction(0)) + Fraction(weight) * p
        found.append(parts)
    return found


def pinned(belief: Belief, policy: ExactPolicy, *, steady: bool) -> int:
    """The number of reviewers tied for the likeliest, all of whose equations hold exactly.

    Under steady P(accept | reviewer) = P(accept); under average tied reviewers stay tied.
    """
    number = 0
    for prior, accepted in zip(masses(belief, None), masses(belief, policy), strict=True):
        total, whole = sum(accepted.values()), sum(prior.values())
        people = {who: part for who, part in prior.items() if who >= 0}
        first = max(people, key=lambda who: people[who])
        for who, part in people.items():
            if part == people[first]:
                if steady:
                    assert accepted.get(who, Fraction(0)) * whole == part * total
                else:
                    assert accepted[who] == accepted[first]
                number += 1
    return number


def random_belief(rng: np.random.Generator, trial: int) -> Belief:
    """Three to six candidates, one to three reviews; in every other one two are exactly alike. Weights
    are dyadic, so that theirs add up to the same without rounding, and not too small: equations that say
    nearly the same are not all met here, and `certify` looks again."""
    candidates, reviews = int(rng.integers(3, 7)), int(rng.integers(1, 4))
    belief = random_paper(rng, candidates, reviews, twins=trial % 2 == 0)
    swap = {0: 1, 1: 0}
    rows = [tuple(row) for row in belief.labels.T.tolist()]
    weight = dict(zip(rows, np.rint(belief.weight * 2**40) / 2**40 + 2.0**-7, strict=True))
    if trial % 2 == 0:
        weight = {row: weight[min(row, tuple(swap.get(who, who) for who in row))] for row in rows}
    chosen = np.array([weight[row] for row in rows])
    return unchecked_belief(chosen / 2.0, belief.favor, belief.labels)


def test_equations_hold_exactly_on_random_tables() -> None:
    """Tables close to a coin have room for every equation; nothing moves further than that takes."""
    rng, ties, used = np.random.default_rng(31), 0, 0
    for trial in range(count(60, 600)):
        belief = random_belief(rng, trial)
        table = 0.5 + 0.02 * (rng.random(belief.weight.size) - 0.5)
        for guarantee in (STEADY_ALONE, AVERAGE):
            policy = meet_equations(exact_case(belief), on_grid(table), guarantee)
            assert policy is not None
            ties += pinned(belief, policy, steady=guarantee is STEADY_ALONE) > len(belief.labels)
            used += np.ptp(policy.accept) > 0.01
            assert np.abs(policy.accept - table).max() < 0.1
            assert len(policy.exact) <= belief.labels.size
    assert used > trial, "most tables must still use the secret"
    assert ties > trial // 4, "likeliest reviewers that tie must be among them"


def test_secrets_that_share_an_entry_move_together() -> None:
    """Three entries for six secrets: the equation is met by moving entries, and those alone."""
    weight = np.array([5, 3, 2, 3, 2, 1]) / 16
    labels, entry = np.array([[0, 1, 2, 0, 1, 2]]), np.array([0, 1, 2, 2, 1, 0])
    belief = unchecked_belief(weight, np.full(6, 0.5), labels, entry)
    table = on_grid(np.array([0.5, 0.501, 0.4999]))
    policy = meet_equations(exact_case(belief), table, STEADY_ALONE)
    assert policy is not None
    assert policy.accept.size == 3
    assert pinned(belief, policy, steady=True) == 1
    assert np.ptp(policy.accept) > 1e-4


def test_a_label_that_several_share_is_pinned_by_its_share() -> None:
    """3/5 shared by three is 1/5 for each: the likeliest is the one with 3/10, and it alone is pinned."""
    weight, labels = np.array([6, 3, 1]) / 16, np.array([[0, 1, 2]])
    belief = unchecked_belief(weight, np.full(3, 0.5), labels, None, np.array([3, 1, 1]))
    table = on_grid(np.array([0.6, 0.5, 0.4]))
    policy = meet_equations(exact_case(belief), table, STEADY_ALONE)
    assert policy is not None
    (accepted,) = masses(belief, policy)
    assert accepted[1] * 10 == 3 * sum(accepted.values())
    assert accepted[0] * 10 != 6 * sum(accepted.values())


@pytest.mark.parametrize(
    "guarantee",
    [Guarantee("none", epsilon=2.0), Guarantee("public", epsilon=2.0), Guarantee("none", epsilon=None)],
    ids=lambda g: g.name,
)
def test_a_guarantee_that_pins_nobody_leaves_the_table_as_it_is(guarantee: Guarantee) -> None:
    belief = random_belief(np.random.default_rng(33), 0)
    table = on_grid(np.random.default_rng(34).random(belief.weight.size))
    policy = meet_equations(exact_case(belief), table, guarantee)
    assert policy is not None
    assert policy.exact == ()
    assert policy.numerator.tolist() == table.tolist()


def test_a_table_without_room_is_given_up() -> None:
    """Nothing that is decided for sure can be moved, and a constant needs no moving."""
    belief = Belief([0.5, 0.3, 0.2], [0.9, 0.1, 0.2], [[0, 1, 2]])
    case = exact_case(belief)
    assert meet_equations(case, np.array([UNIT, 0, 0]), STEADY_ALONE) is None
    constant = meet_equations(case, np.array([UNIT, UNIT, UNIT]), STEADY_ALONE)
    assert constant is not None
    assert constant.numerator.tolist() == [UNIT] * 3
    assert constant.exact == ()


def test_steady_needs_an_exact_rational_and_gets_it() -> None:
    """The likeliest reviewer's share may not move by either outcome: no multiple of 2^-53 does that here."""
    rng = np.random.default_rng(2)
    guarantee, table = Guarantee("steady", epsilon=None), np.zeros(1)
    while np.ptp(table) < 0.1:
        belief = random_paper(rng, 6, 2)
        table = solved(belief, guarantee)
    rounded = ExactPolicy(np.rint(table * UNIT).astype(np.int64))
    assert max(after - before for after, before in Oracle(belief, rounded).posteriors) > 0
    policy, stated = certify(belief, table, guarantee)
    assert policy.exact
    assert stated.largest_rise == 0.0
    assert np.ptp(policy.accept) > 0.1, "the table must still use the secret"


def test_entries_with_next_to_no_weight_are_not_asked_to_mend_the_rest() -> None:
    """All the weight is decided for sure: only entries of 1e-301 and less have room, far too little."""
    weight = [0.8333333333333333, 8.3e-309, 0.08333333333333333, 0.08333333333333333, 8.3e-309, 8.3e-302]
    labels = [[2, 4, 2, 1, 0, 2], [1, 1, 0, 2, 4, 3], [0, 1, 4, 4, 4, 0]]
    belief = Belief(weight, [0.3, 0.9, 1.0, 0.0, 0.5, 0.5], labels)
    table = np.array([1.0, 1e-9, 0.0, 1.0, 1e-9, 5e-324])
    for guarantee in (Guarantee("steady", epsilon=2.0), Guarantee("average", epsilon=3.0), STEADY_ALONE):
        policy, stated = certify(belief, table, guarantee)
        agree(stated, keeps(guarantee, belief, policy))


def test_nearly_tied_reviewers_cost_next_to_nothing() -> None:
    """Reviewers that differ in the last digit: the constant alone would have to take over the table."""
    rng = np.random.default_rng(11)
    guarantee = Guarantee("steady", epsilon=None)
    for _ in range(count(10, 100)):
        belief = random_paper(rng, 5, 2, twins=True)
        weight = belief.weight * (1 + 1e-15 * rng.normal(size=belief.weight.size))
        shaken = Belief(weight / weight.sum(), belief.favor, belief.labels)
        table = solved(belief, guarantee)
        policy, _ = certify(shaken, table, guarantee)
        keeps(guarantee, shaken, policy)
        assert float(shaken.weight @ ((policy.accept - table) * (1 - 2 * belief.favor))) < 1e-6


def test_the_largest_values_are_the_first_of_a_stable_order() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        values = rng.integers(0, 4, int(rng.integers(1, 12))) / 3.0
        most = int(rng.integers(1, 9))
        assert _largest_indices(values, most).tolist() == np.argsort(-values, kind="stable")[:most].tolist()
