"""Weights and accept probabilities as the exact rationals they are, in integers on one denominator.

Exact numbers -> floats that err toward revealing more: a claim is never better than the truth.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blindcal.assignment.prior import NOBODY
from blindcal.checks import Array, Integers
from blindcal.policy.policy import Policy
from blindcal.posterior.belief import Belief

Exact = NDArray[np.object_]
Outcomes = tuple[tuple[int, tuple[Exact, ...]], ...]
BITS = 53
UNIT = 1 << BITS


@dataclass(frozen=True, eq=False)
class ExactPolicy(Policy):
    """A policy of exact rationals: `numerator[n] / 2^53`, except for the few secrets in `exact`, which are
    pairs of a secret's number and its probability.

    `accept` has the same numbers as floats: the very same but for those few.

    >>> policy = ExactPolicy(np.array([UNIT, 0]), ((1, Fraction(1, 3)),))
    >>> policy.probability(0), policy.probability(1), policy.accept
    (Fraction(1, 1), Fraction(1, 3), array([1.        , 0.33333333]))
    """

    numerator: Integers
    exact: tuple[tuple[int, Fraction], ...]

    def __init__(self, numerator: Integers, exact: tuple[tuple[int, Fraction], ...] = ()) -> None:
        accept = numerator.astype(np.float64) / UNIT
        for secret, probability in exact:
            accept[secret] = float(probability)
        for name, value in {"accept": accept, "numerator": numerator, "exact": exact}.items():
            object.__setattr__(self, name, value)

    def probability(self, secret: int) -> Fraction:
        """P(accept | secret), the number that the coin is compared with."""
        return dict(self.exact).get(secret, Fraction(int(self.numerator[secret]), UNIT))

    @cached_property
    def denominator(self) -> int:
        """One denominator for the whole table."""
        return lcm(UNIT, *(probability.denominator for _, probability in self.exact))

    @property
    def integers(self) -> Exact:
        """The table times `denominator`."""
        whole: Exact = self.numerator.astype(object) * (self.denominator >> BITS)
        for secret, probability in self.exact:
            whole[secret] = probability.numerator * (self.denominator // probability.denominator)
        return whole

    @cached_property
    def ends(self) -> tuple[int, int]:
        """The least and the largest number of the table, times `denominator`."""
        plain = np.delete(self.numerator, [secret for secret, _ in self.exact])
        step = self.denominator >> BITS
        found = [int(end) * step for end in (plain.min(), plain.max())] if plain.size else []
        found += [p.numerator * (self.denominator // p.denominator) for _, p in self.exact]
        return min(found), max(found)

    def outcome(self, accepted: bool) -> Exact:
        """P(decision | secret) times `denominator`: how a decision already seen weighs the secrets."""
        whole = self.integers
        return whole if accepted else self.denominator - whole


@dataclass(frozen=True)
class Packed:
    """An exact policy at rest: its numerators compressed, for a table has many entries and few values.

    The bytes are those of the sealed record.

    >>> packed(ExactPolicy(np.array([UNIT, 0]))).policy.accept
    array([1., 0.])
    """

    numerator: bytes
    exact: tuple[tuple[int, Fraction], ...]

    @property
    def policy(self) -> ExactPolicy:
        """The policy, to be worked with."""
        numerator = np.frombuffer(zlib.decompress(self.numerator), dtype="<i8")
        return ExactPolicy(numerator.astype(np.int64), self.exact)


def packed(policy: ExactPolicy) -> Packed:
    return Packed(zlib.compress(policy.numerator.astype("<i8").tobytes(), 1), policy.exact)


class Tables(Mapping[str, ExactPolicy]):
    """The policy of each paper, packed: one is opened when it is looked at, and not kept."""

    def __init__(self, packed: Mapping[str, Packed]) -> None:
        self.packed = packed

    def __getitem__(self, paper: str) -> ExactPolicy:
        return self.packed[paper].policy

    def __iter__(self) -> Iterator[str]:
        return iter(self.packed)

    def __len__(self) -> int:
        return len(self.packed)


def exactly(policy: Policy) -> ExactPolicy:
    """The same policy: its floats as the rationals they are.

    >>> exactly(Policy([0.25, 1 / 3])).exact
    ((1, Fraction(6004799503160661, 18014398509481984)),)
    """
    if isinstance(policy, ExactPolicy):
        return policy
    scaled = policy.accept * UNIT
    whole = scaled.astype(np.int64)
    finer = np.flatnonzero(whole != scaled).tolist()
    return ExactPolicy(whole, tuple((secret, Fraction(float(policy.accept[secret]))) for secret in finer))


@dataclass(frozen=True, eq=False)
class Case:
    """One paper in integers: the weights on one exponent, who is guessed in each slot, and which entry of the
    table each secret takes (None: its own). `alike[slot][label]` guesses share a label's mass equally; all
    weights are multiples of them. In `group` nobody is -1; of all `reviews`, slots in which there is only
    nobody are left out."""

    weight: Exact
    order: tuple[Integers, ...]
    start: tuple[Integers, ...]
    group: tuple[Integers, ...]
    alike: tuple[Exact, ...]
    entry: Integers | None
    reviews: int

    @cached_property
    def total(self) -> int:
        return int(self.weight.sum())

    @cached_property
    def chance(self) -> Array:
        """The weights over their total, in floats."""
        return np.asarray((self.weight / self.total).astype(np.float64))

    @cached_property
    def prior(self) -> tuple[Exact, ...]:
        return self.by_label(self.weight)

    @cached_property
    def top(self) -> tuple[int, ...]:
        return tuple(int(prior.max()) for prior in self.prior)

    def spread(self, table: Exact) -> Exact:
        """The table's numbers, one for each secret."""
        return table if self.entry is None else table[self.entry]

    def by_entry(self, values: Exact, size: int) -> Exact:
        """Sums of the secrets' values over each of the table's `size` entries."""
        if self.entry is None:
            return values
        sums: Exact = np.zeros(size, dtype=object)
        np.add.at(sums, self.entry, values)
        return sums

    def by_label(self, mass: Exact) -> tuple[Exact, ...]:
        """For each slot the mass of every label, or of each one of the guesses that share it."""
        return tuple(
            np.add.reduceat(mass[order], start) // alike
            for order, start, alike in zip(self.order, self.start, self.alike, strict=True)
        )

    def outcomes(self, policy: ExactPolicy) -> Outcomes:
        """For accept and for reject: P(outcome), and its part with each label in each slot."""
        unit, (low, high) = policy.denominator, policy.ends
        if low == high:
            # One chance for all: of each author's mass that part.
            accepted, total = tuple(prior * low for prior in self.prior), self.total * low
        else:
            mass = self.weight * self.spread(policy.integers)
            accepted, total = self.by_label(mass), int(mass.sum())
        rejected = tuple(prior * unit - part for prior, part in zip(self.prior, accepted, strict=True))
        return (total, accepted), (self.total * unit - total, rejected)

    @property
    def half(self) -> Outcomes:
        """The same for the constant 1/2, times 2."""
        return (self.total, self.prior), (self.total, self.prior)


def integers(weight: Array) -> Exact:
    """The weights times one power of two: floats are dyadic rationals, so nothing is rounded.

    >>> integers(np.array([0.5, 0.375, 0.0]))
    array([4, 3, 0], dtype=object)
    """
    mantissa, exponent = np.frexp(weight)
    whole = np.ldexp(mantissa, BITS).astype(np.int64)
    # The lowest bit that is set, in each of them and in all on their common exponent.
    lowest = exponent + np.frexp((whole & -whole).astype(np.float64))[1]
    shift = np.where(whole == 0, 0, exponent - (int(lowest[whole != 0].min()) - 1))
    halved = whole >> np.maximum(-shift, 0)
    exact: Exact = np.left_shift(halved.astype(object), np.maximum(shift, 0).astype(object))
    return exact


def exact_case(belief: Belief) -> Case:
    weight = integers(belief.weight)
    labels = np.arange(weight.size)[None] if belief.labels is None else belief.labels
    alike = (
        np.ones(int(labels.max()) + 1, dtype=object) if belief.alike is None else belief.alike.astype(object)
    )
    if belief.alike is not None:
        weight = weight * lcm(*alike.tolist())
    order, start, group, counts = [], [], [], []
    for row in labels[(labels >= 0).any(axis=1)]:
        named, place, ends = _counted(np.maximum(row, NOBODY))
        # Nobody comes first where there is nobody.
        nobody = int(named[0] == NOBODY)
        counts.append(alike[named[nobody:]])
        order.append(np.argsort(_short(place), kind="stable")[ends[nobody] :])
        group.append(place - nobody)
        start.append(ends[nobody:-1] - ends[nobody])
    return Case(
        weight,
        tuple(order),
        tuple(start),
        tuple(group),
        tuple(counts),
        belief.entry,
        len(labels),
    )


def _counted(labels: Integers) -> tuple[Integers, Integers, Integers]:
    """The labels that there are, the place of each one among them, and where each ends once they are sorted.

    >>> [part.tolist() for part in _counted(np.array([3, NOBODY, 3, 5]))]
    [[-1, 3, 5], [1, 0, 1, 2], [0, 1, 3, 4]]
    """
    many = np.bincount(labels - NOBODY)
    there = np.flatnonzero(many)
    place = (np.cumsum(many > 0) - 1)[labels - NOBODY]
    return there + NOBODY, place, np.concatenate([[0], np.cumsum(many[there])])


def _short(place: Integers) -> NDArray[np.integer[Any]]:
    """The same numbers in two bytes each, if they fit: these are sorted in one go."""
    return place.astype(np.int16) if place.max(initial=0) < 1 << 15 else place


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
