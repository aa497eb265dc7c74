"""Weights and tables in integers, against the fractions that the floats are."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blindcal.certify.exact import (
    CLAIM_DENOMINATOR,
    UNIT,
    ExactPolicy,
    PolicyTables,
    ceiling,
    exact_case,
    exact_policy,
    exponential_below,
    logarithm_above,
    pack_policy,
    upward,
    weight_integers,
)
from blindcal.policy.policy import Policy
from blindcal.posterior.belief import Belief, unchecked_belief

WEIGHTS = st.lists(st.floats(0.0, 1.0) | st.sampled_from([5e-324, 1e-308, 1e-300]), min_size=1, max_size=8)


@given(WEIGHTS.filter(any))
def test_integers_are_the_weights_times_one_power_of_two(weights: list[float]) -> None:
    whole = weight_integers(np.array(weights)).tolist()
    (factor,) = {Fraction(w) / n for w, n in zip(weights, whole, strict=True) if n}
    assert factor.numerator == 1 or factor.denominator == 1
    assert bin(max(factor.numerator, factor.denominator)).count("1") == 1
    assert [n == 0 for n in whole] == [w == 0 for w in weights]
    assert any(n % 2 for n in whole), "no smaller integers would do"


@given(st.data(), st.integers(1, 6))
def test_a_table_on_one_denominator_is_the_table(data: st.DataObject, size: int) -> None:
    numerator = data.draw(st.lists(st.integers(0, UNIT), min_size=size, max_size=size))
    odd = data.draw(st.dictionaries(st.integers(0, size - 1), st.fractions(0, 1, max_denominator=99)))
    policy = ExactPolicy(np.array(numerator), tuple(odd.items()))
    right = [odd.get(row, Fraction(number, UNIT)) for row, number in enumerate(numerator)]
    assert [policy.probability(row) for row in range(size)] == right
    for accepted, chances in ((True, right), (False, [1 - chance for chance in right])):
        whole = policy.outcome(accepted).tolist()
        assert [Fraction(number, policy.denominator) for number in whole] == chances
    assert policy.accept.tolist() == [float(chance) for chance in right]


def test_masses_by_label_are_those_added_up_one_by_one() -> None:
    """Somebody who is nobody, entries that secrets share, and guesses that share a label."""
    rng = np.random.default_rng(1)
    for _ in range(40):
        n, entries = int(rng.integers(3, 12)), 3
        weight = rng.dirichlet(np.ones(n))
        labels, entry = rng.integers(-1, 4, (2, n)), rng.integers(0, entries, n)
        labels[:, 0] = 0, 1
        alike = rng.integers(1, 4, 4)
        case = exact_case(unchecked_belief(weight, np.zeros(n), labels, entry, alike))
        table = rng.integers(0, UNIT, entries)
        outcomes = case.outcomes(ExactPolicy(table))
        for accepted, (total, parts) in zip((True, False), outcomes, strict=True):
            chance = [Fraction(int(table[e]), UNIT) for e in entry]
            mass = [
                Fraction(w) * (c if accepted else 1 - c) for w, c in zip(weight.tolist(), chance, strict=True)
            ]
            whole = sum(map(Fraction, weight.tolist()))
            assert Fraction(total, case.total * UNIT) == sum(mass) / whole
            for slot, found in zip(labels, parts, strict=True):
                names = sorted(set(slot.tolist()) - {-1})
                right = [
                    sum(m for m, label in zip(mass, slot, strict=True) if label == name) / int(alike[name])
                    for name in names
                ]
                assert [Fraction(part, case.total * UNIT) * whole for part in found] == right


def test_the_ends_of_a_table_and_the_constant_half_are_those_of_all_its_numbers() -> None:
    rng = np.random.default_rng(2)
    for _ in range(30):
        n = int(rng.integers(2, 6))
        table = rng.integers(0, UNIT + 1, n)
        exact = ((0, Fraction(int(rng.integers(0, 8)), 7)), (n - 1, Fraction(2, 3)))
        for policy in (ExactPolicy(table), ExactPolicy(table, exact)):
            assert policy.ends == (min(policy.integers), max(policy.integers))
        case = exact_case(Belief(rng.dirichlet(np.ones(n)), np.zeros(n), rng.integers(0, 3, (2, n))))
        half = case.outcomes(ExactPolicy(np.full(n, UNIT // 2)))
        for (total, parts), (whole, alone) in zip(half, case.half, strict=True):
            assert total == whole * (UNIT // 2)
            assert all((x == y * (UNIT // 2)).all() for x, y in zip(parts, alone, strict=True))


def test_floats_become_the_rationals_they_are() -> None:
    rng = np.random.default_rng(12)
    for accept in (
        [0.0, 1.0, 0.5],
        [5e-324, 1 / 3, np.nextafter(1.0, 0.0)],
        10.0 ** rng.uniform(-320, 0, 50),
    ):
        policy = Policy(accept)
        exact = exact_policy(policy)
        assert [exact.probability(i) for i in range(len(policy.accept))] == [
            Fraction(float(chance)) for chance in policy.accept
        ]
        np.testing.assert_array_equal(exact.accept, policy.accept)
        assert exact_policy(exact) is exact


def test_tables_at_rest_are_the_tables() -> None:
    """Packed and opened again, number by number; a table of few values takes a small part of its size."""
    rng = np.random.default_rng(13)
    policies = {
        f"p{n}": ExactPolicy(rng.choice([0, 7, UNIT], 20_000), ((n, Fraction(1, 3 + n)),)) for n in range(3)
    }
    tables = PolicyTables({paper: pack_policy(policy) for paper, policy in policies.items()})
    assert list(tables) == list(policies)
    assert len(tables) == 3
    for paper, policy in policies.items():
        np.testing.assert_array_equal(tables[paper].numerator, policy.numerator)
        assert tables[paper].exact == policy.exact
        assert len(tables.packed[paper].numerator) < policy.numerator.nbytes / 5


# --- Rounding to the unsafe side, against fractions and exponentials with twice the digits.


PRECISE = Context(prec=200)
WHOLE = st.integers(1, 10**40)


@given(st.integers(-(10**40), 10**40), WHOLE)
def test_a_float_is_the_nearest_on_its_side(numerator: int, denominator: int) -> None:
    value = Fraction(numerator, denominator)
    above = upward(value)
    assert Fraction(math.nextafter(above, -math.inf)) < value <= Fraction(above)


@given(st.integers(0, 10**40), WHOLE)
def test_sums_are_kept_a_unit_above_at_most(numerator: int, denominator: int) -> None:
    exact = Fraction(numerator, denominator) * CLAIM_DENOMINATOR
    assert exact <= ceiling(numerator, denominator) < exact + 1


@given(st.floats(0.0, 700.0))
def test_a_rational_stands_just_below_the_exponential(epsilon: float) -> None:
    exact = Fraction(PRECISE.exp(Decimal(epsilon)))
    assert 1 <= exponential_below(epsilon) <= exact
    assert exact - exponential_below(epsilon) <= exact / 10**48


@given(WHOLE, WHOLE)
def test_a_logarithm_is_never_below_the_exact_one(numerator: int, denominator: int) -> None:
    ratio = PRECISE.divide(Decimal(numerator), Decimal(denominator))
    exact = Fraction(PRECISE.ln(ratio))
    stated = logarithm_above(numerator, denominator)
    # Of 200 digits the last few are rounding.
    assert Fraction(stated) >= exact - abs(exact) / 10**190
    assert Fraction(math.nextafter(stated, -math.inf)) < exact + Fraction(1, 10**90)


@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 0.5, 2.0, 100.0])
def test_a_limit_that_is_met_is_not_reported_as_exceeded(epsilon: float) -> None:
    met = exponential_below(epsilon)
    assert logarithm_above(met.numerator, met.denominator) <= epsilon
