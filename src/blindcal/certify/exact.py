"""Exact arithmetic: weights and accept probabilities as integers on one denominator.

Floats are dyadic rationals, so a belief becomes integers without rounding (`exact_case`). Results become
floats again by rounding toward revealing more, so that a claim is never better than the truth (`upward`,
`logarithm_above`).
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

import numpy as np
from numpy.typing import NDArray

from blindcal.checks import Array, Integers
from blindcal.policy.policy import Policy
from blindcal.pools.prior import NOBODY
from blindcal.posterior.belief import Belief

Exact = NDArray[np.object_]
OutcomeMasses = tuple[tuple[int, tuple[Exact, ...]], ...]
# Accept probabilities are multiples of 2^-53, so that a float holds them exactly.
BITS = 53
UNIT = 1 << BITS
# Claims that are added up over papers are multiples of 2^-80, rounded up.
CLAIM_DENOMINATOR = 1 << 80
# The logarithm is taken with more digits than the exponential, so that a limit met by `exponential_below`
# is never reported as exceeded.
_EXPONENTIAL = Context(prec=50)
_LOGARITHM = Context(prec=100)


@dataclass(frozen=True, eq=False)
class ExactPolicy(Policy):
    """A policy of exact rationals.

    Attributes:
        numerator: `[n]`, the accept probabilities times 2^53.
        exact: Pairs of a secret's number and its probability, for the few secrets that need another rational.
        accept: The same numbers as floats; equal to them except for those few.

    Example:
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
        values = [int(end) * step for end in (plain.min(), plain.max())] if plain.size else []
        values += [p.numerator * (self.denominator // p.denominator) for _, p in self.exact]
        return min(values), max(values)

    def outcome(self, accepted: bool) -> Exact:
        """P(decision | secret) times `denominator`: how a decision already seen weighs the secrets."""
        whole = self.integers
        return whole if accepted else self.denominator - whole


@dataclass(frozen=True)
class PackedPolicy:
    """An exact policy in compressed form: a table has many entries and few values.

    The bytes are those of the private log.

    Attributes:
        numerator: The compressed numerators.
        exact: As in `ExactPolicy`.

    Example:
        >>> pack_policy(ExactPolicy(np.array([UNIT, 0]))).policy.accept
        array([1., 0.])
    """

    numerator: bytes
    exact: tuple[tuple[int, Fraction], ...]

    @property
    def policy(self) -> ExactPolicy:
        """The policy, unpacked."""
        numerator = np.frombuffer(zlib.decompress(self.numerator), dtype="<i8")
        return ExactPolicy(numerator.astype(np.int64), self.exact)


def pack_policy(policy: ExactPolicy) -> PackedPolicy:
    """The policy in compressed form."""
    return PackedPolicy(zlib.compress(policy.numerator.astype("<i8").tobytes(), 1), policy.exact)


class PolicyTables(Mapping[str, ExactPolicy]):
    """The packed policy of each paper; each is unpacked when it is looked up, and not kept."""

    def __init__(self, packed: Mapping[str, PackedPolicy]) -> None:
        self.packed = packed

    def __getitem__(self, paper: str) -> ExactPolicy:
        return self.packed[paper].policy

    def __iter__(self) -> Iterator[str]:
        return iter(self.packed)

    def __len__(self) -> int:
        return len(self.packed)


def exact_policy(policy: Policy) -> ExactPolicy:
    """The same policy with its floats as the rationals they are.

    Example:
        >>> exact_policy(Policy([0.25, 1 / 3])).exact
        ((1, Fraction(6004799503160661, 18014398509481984)),)
    """
    if isinstance(policy, ExactPolicy):
        return policy
    scaled = policy.accept * UNIT
    whole = scaled.astype(np.int64)
    finer = np.flatnonzero(whole != scaled).tolist()
    return ExactPolicy(whole, tuple((secret, Fraction(float(policy.accept[secret]))) for secret in finer))


@dataclass(frozen=True, eq=False)
class ExactCase:
    """The belief of one paper in integers.

    Attributes:
        weight: `[secret]`, the weights on one exponent; multiples of every `alike`.
        order: For each slot, the secrets sorted by label.
        start: For each slot, where each label starts in that order.
        group: For each slot, the number of each secret's label; -1 is nobody.
        label: For each slot, the labels by their numbers.
        alike: For each slot and label, the number of guesses that share the label's mass equally.
        entry: `[secret]`, the entry of the table that each secret takes; None: its own.
        reviews: The number of slots, including those with nobody to guess, which the tuples above leave out.
    """

    weight: Exact
    order: tuple[Integers, ...]
    start: tuple[Integers, ...]
    group: tuple[Integers, ...]
    label: tuple[Integers, ...]
    alike: tuple[Exact, ...]
    entry: Integers | None
    reviews: int

    @cached_property
    def total(self) -> int:
        """The sum of the weights."""
        return int(self.weight.sum())

    @cached_property
    def chance(self) -> Array:
        """The weights over their total, in floats."""
        return np.asarray((self.weight / self.total).astype(np.float64))

    @cached_property
    def prior(self) -> tuple[Exact, ...]:
        """For each slot the mass of each guess before any decision."""
        return self.by_label(self.weight)

    @cached_property
    def top(self) -> tuple[int, ...]:
        """For each slot the mass of the best guess before any decision."""
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

    def outcomes(self, policy: ExactPolicy) -> OutcomeMasses:
        """For accept and for reject: P(outcome), and its part with each label in each slot."""
        unit, (low, high) = policy.denominator, policy.ends
        if low == high:
            # A constant table takes the same part of every candidate's mass.
            accepted, total = tuple(prior * low for prior in self.prior), self.total * low
        else:
            mass = self.weight * self.spread(policy.integers)
            accepted, total = self.by_label(mass), int(mass.sum())
        rejected = tuple(prior * unit - part for prior, part in zip(self.prior, accepted, strict=True))
        return (total, accepted), (self.total * unit - total, rejected)

    @property
    def half(self) -> OutcomeMasses:
        """The outcomes of the constant 1/2, times 2."""
        return (self.total, self.prior), (self.total, self.prior)


def weight_integers(weight: Array) -> Exact:
    """The weights times one power of two: floats are dyadic rationals, so nothing is rounded.

    Example:
        >>> weight_integers(np.array([0.5, 0.375, 0.0]))
        array([4, 3, 0], dtype=object)
    """
    mantissa, exponent = np.frexp(weight)
    whole = np.ldexp(mantissa, BITS).astype(np.int64)
    # The exponent of the lowest bit that is set in each weight; the least of them is common to all.
    lowest = exponent + np.frexp((whole & -whole).astype(np.float64))[1]
    shift = np.where(whole == 0, 0, exponent - (int(lowest[whole != 0].min()) - 1))
    halved = whole >> np.maximum(-shift, 0)
    exact: Exact = np.left_shift(halved.astype(object), np.maximum(shift, 0).astype(object))
    return exact


def exact_case(belief: Belief) -> ExactCase:
    """The belief of one paper in integers."""
    weight = weight_integers(belief.weight)
    labels = np.arange(weight.size)[None] if belief.labels is None else belief.labels
    alike = np.ones(int(labels.max()) + 1, dtype=object)
    if belief.alike is not None:
        alike = belief.alike.astype(object)
    if (common := lcm(*alike.tolist())) > 1:
        weight = weight * common
    slots = []
    for row in labels[(labels >= 0).any(axis=1)]:
        named, number, ends = _label_counts(np.maximum(row, NOBODY))
        # Nobody (-1) comes first in the sorted labels, if it occurs.
        nobody = int(named[0] == NOBODY)
        by_label, names = np.argsort(number, kind="stable")[ends[nobody] :], named[nobody:]
        slots.append((by_label, ends[nobody:-1] - ends[nobody], number - nobody, names, alike[names]))
    order, start, group, label, counts = zip(*slots, strict=True) if slots else ((),) * 5
    return ExactCase(weight, order, start, group, label, counts, belief.entry, len(labels))


def _label_counts(labels: Integers) -> tuple[Integers, Integers, Integers]:
    """The labels that occur, the number of each secret's label, and where each ends once they are sorted.

    Example:
        >>> [part.tolist() for part in _label_counts(np.array([3, NOBODY, 3, 5]))]
        [[-1, 3, 5], [1, 0, 1, 2], [0, 1, 3, 4]]
    """
    counts = np.bincount(labels - NOBODY)
    present = np.flatnonzero(counts)
    number = (np.cumsum(counts > 0) - 1)[labels - NOBODY]
    return present + NOBODY, number, np.concatenate([[0], np.cumsum(counts[present])])


def ceiling(numerator: int, denominator: int) -> int:
    """`numerator / denominator` in units of 2^-80, rounded up.

    >>> ceiling(1, 4) == CLAIM_DENOMINATOR // 4, ceiling(1, 3) * 3 - CLAIM_DENOMINATOR
    (True, 2)
    """
    return -((-numerator * CLAIM_DENOMINATOR) // denominator)


def upward(value: Fraction) -> float:
    """The smallest float that is at least `value`.

    >>> upward(Fraction(1, 3)) >= Fraction(1, 3), upward(Fraction(1, 4))
    (True, 0.25)
    """
    try:
        near = float(value)
    except OverflowError:
        return math.inf
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)


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
