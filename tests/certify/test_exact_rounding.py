"""Rounding to the unsafe side, against fractions and exponentials with twice the digits."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blindcal.certify.exact import (
    CLAIM_DENOMINATOR,
    ceiling,
    downward,
    exponential_below,
    logarithm_above,
    quotient_above,
    upward,
)

PRECISE = Context(prec=200)
WHOLE = st.integers(1, 10**40)


@given(st.integers(-(10**40), 10**40), WHOLE)
def test_a_float_is_the_nearest_on_its_side(numerator: int, denominator: int) -> None:
    value = Fraction(numerator, denominator)
    above, below = upward(value), downward(value)
    assert Fraction(math.nextafter(above, -math.inf)) < value <= Fraction(above)
    assert Fraction(below) <= value < Fraction(math.nextafter(below, math.inf))
    assert quotient_above(numerator, denominator) == above


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
