"""Checks at the door: ends allowed or not, the first bad value quoted, nothing repaired."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import blindcal as bc
from blindcal.checks import nonnegative, numbers, positive, strictly_within, within
from blindcal.errors import InputError

BELOW_0, ABOVE_0 = math.nextafter(0.0, -1.0), math.nextafter(0.0, 1.0)
BELOW_1, ABOVE_1 = math.nextafter(1.0, 0.0), math.nextafter(1.0, 2.0)
# What each check takes and what it does not, at the ends of its rule.
ENDS: dict[str, tuple[Callable[[object], object], list[float], list[float]]] = {
    "numbers": (lambda x: numbers("x", x), [-1e308, BELOW_0, 0.0], []),
    "positive": (lambda x: positive("x", x), [ABOVE_0, 1e308], [0.0, BELOW_0]),
    "nonnegative": (lambda x: nonnegative("x", x), [0.0, -0.0, ABOVE_0], [BELOW_0]),
    "within": (lambda x: within("x", x, 0.0, 1.0), [0.0, 0.5, 1.0], [BELOW_0, ABOVE_1]),
    "strictly": (lambda x: strictly_within("x", x, 0.0, 1.0), [ABOVE_0, BELOW_1], [0.0, 1.0]),
    "nearly": (lambda x: within("x", x, 0.0, 1.0, 0.25), [-0.25, 0.5, 1.25], [-0.2500001, 1.2500001]),
}


@pytest.mark.parametrize("name", ENDS)
def test_ends_are_taken_and_what_lies_beyond_is_refused(name: str) -> None:
    check, good, bad = ENDS[name]
    np.testing.assert_array_equal(check(good), good)
    for value in (*bad, math.nan, math.inf, -math.inf):
        with pytest.raises(InputError, match=r"^x must "):
            check(value)


def test_the_first_bad_value_is_quoted() -> None:
    with pytest.raises(InputError, match=r"^noise must be above 0, found -2$"):
        positive("noise", [[1.0, -2.0], [-3.0, 1.0]])
    with pytest.raises(InputError, match=r"^score must be numbers, found 'good'$"):
        numbers("score", "good")


BELIEF = bc.Belief([0.6, 0.4], [0.9, 0.2])
PAIR = (bc.Affine(1.0), bc.Affine(2.0))


@pytest.mark.parametrize(
    ("call", "found"),
    [
        (lambda: bc.pair_belief(PAIR[0], PAIR[1]), "reviewers must be a pair of Reviewers, found Affine"),
        (lambda: bc.pair_belief("ab", [0.0, 1.0]), "each of the reviewers must be a Reviewer, found str"),
        (lambda: bc.frontier(None), "belief must be a Belief, found NoneType"),
        (
            lambda: bc.private_policy(BELIEF, "steady"),
            "guarantee must be like Guarantee",
        ),
        (lambda: bc.private_policy(PAIR), "belief must be a Belief, found tuple"),
        (lambda: bc.policy.solve(None), "belief must be a Belief, found NoneType"),
        (
            lambda: bc.fit(None),
            "reviews must be what Reviews.read returns",
        ),
        (lambda: bc.audit(None, None), "belief must be a Belief, found NoneType"),
        (lambda: bc.audit(BELIEF, None), "policy must be a Policy, found NoneType"),
    ],
)
def test_an_argument_in_the_place_of_another_is_named(call: Callable[[], object], found: str) -> None:
    with pytest.raises(InputError, match=found):
        call()
