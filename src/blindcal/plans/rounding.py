"""Exact numbers -> floats that err toward revealing more: a claim is never better than the truth."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

# Claims that are added up over papers are kept on this grid, rounded up.
FINE = 1 << 80
# The logarithm is taken with more digits than the exponential, so that a limit met by `exponential_below`
# is never reported as exceeded.
_EXPONENTIAL = Context(prec=50)
_LOGARITHM = Context(prec=100)


def ceiling(numerator: int, denominator: int) -> int:
    """`numerator / denominator` in units of 2^-80, rounded up.

    >>> ceiling(1, 4) == FINE // 4, ceiling(1, 3) * 3 - FINE
    (True, 2)
    """
    return -((-numerator * FINE) // denominator)


def upward(value: Fraction) -> float:
    """The smallest float that is at least `value`.

    >>> upward(Fraction(1, 3)) >= Fraction(1, 3), upward(Fraction(1, 4))
    (True, 0.25)
    """
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


def downward(value: Fraction) -> float:
    """The largest float that is at most `value`.

    >>> downward(Fraction(1, 3)) <= Fraction(1, 3), downward(Fraction(1, 4))
    (True, 0.25)
    """
    return -upward(-value)


def quotient_above(numerator: int, denominator: int) -> float:
    """`numerator / denominator` rounded up to a float."""
    return upward(Fraction(numerator, denominator))


@lru_cache(maxsize=64)
def exponential_below(epsilon: float) -> Fraction:
    """A rational just below e^epsilon, for epsilon of at least 0; exactly 1 at 0.

    >>> exponential_below(0.0), abs(exponential_below(2.0) - math.exp(2.0)) < 1e-15
    (Fraction(1, 1), True)
    """
    if epsilon == 0:
        return Fraction(1)
    # Never below 1: a constant keeps every epsilon.
    return max(Fraction(1), Fraction(_EXPONENTIAL.exp(Decimal(epsilon)).next_minus(_EXPONENTIAL)))


def logarithm_above(numerator: int, denominator: int) -> float:
    """A float at or just above `log(numerator / denominator)`; 0/0 counts as 1.

    >>> logarithm_above(3, 3), logarithm_above(0, 0), logarithm_above(1, 0)
    (0.0, 0.0, inf)
    """
    if numerator == denominator:
        return 0.0
    if denominator == 0:
        return math.inf
    ratio = _LOGARITHM.divide(Decimal(numerator), Decimal(denominator)).next_plus(_LOGARITHM)
    return upward(Fraction(_LOGARITHM.ln(ratio).next_plus(_LOGARITHM)))
