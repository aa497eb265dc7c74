"""Sums over all tuples of distinct candidates, one for each review, at every node of a rule over quality.

Given the quality the reviews are independent but for one rule: nobody wrote two of them. Sums with repeats
are products; the rule is brought in by inclusion and exclusion, or by seating a candidate in each slot in
turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import factorial

import numpy as np

from blindcal.checks import Array, Integers

# Nodes that weigh less than this beside the heaviest one tell nothing.
_LIGHTEST = 1e-22
# Sums with repeats may be so many times those without: three of sixteen digits are lost.
_EXCESS = 1e3
_MOST_PEELED = {1: 10, 2: 10, 3: 10, 4: 6, 5: 5}
Slots = tuple[int, ...]
Polynomial = tuple[Integers, Array]
"""Degrees, and for each of them the coefficient at every node."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """A quadrature over quality: `likelihood[slot, candidate, node]`, odds included, is at most 1, and
    `mass[node]` the rest of the integrand. Nodes from `edge` on lie above the bar.

    `forced` candidates certainly wrote a review. Those in `peeled` are seated one by one, without any
    subtraction: the forced ones, and whoever would be taken for the author of several reviews at once.
    """

    likelihood: Array
    mass: Array
    edge: int
    forced: frozenset[int] = frozenset()
    peeled: Slots = ()

    @property
    def slots(self) -> Slots:
        return tuple(range(len(self.likelihood)))


def significant(nodes: Nodes) -> Nodes | None:
    """The nodes that tell something, and whom to seat one by one; None if too many would have to be.

    Sums over distinct candidates lose digits where sums with repeats are far larger: there somebody is
    peeled.
    """
    nodes = replace(nodes, peeled=tuple(sorted(nodes.forced)))
    while True:
        mass = nodes.mass * Sums(nodes).total()
        most = mass.max()
        repeats = nodes.mass * Sums(nodes, repeats=True).total()
        worst = int(repeats.argmax())
        if repeats[worst] <= _EXCESS * most:
            break
        light = np.delete(np.arange(nodes.likelihood.shape[1]), nodes.peeled)
        if len(nodes.peeled) >= _MOST_PEELED.get(len(nodes.slots), 4) or not light.size:
            return None
        likely = nodes.likelihood[:, light, worst]
        shares = likely / np.maximum(likely.sum(axis=1), np.finfo(float).tiny)[:, None]
        twice = np.sort(shares, axis=0)[-2]
        nodes = replace(nodes, peeled=(*nodes.peeled, int(light[twice.argmax()])))
    kept = mass > _LIGHTEST * most
    return replace(
        nodes,
        likelihood=nodes.likelihood[:, :, kept],
        mass=nodes.mass[kept] / most,
        edge=int(kept[: nodes.edge].sum()),
    )


class Sums:
    """Sums over tuples of distinct candidates, one in each of some slots, by address.

    With `P_B(y) = prod_{l in B} likelihood_l(y)`, of degree the sum of y's addresses in B, and A_1 the first
    slot of A, for the candidates that are not peeled

        distinct(A) = sum over B in A with A_1 of (-1)^(|B|-1) (|B|-1)! sum_y P_B(y) distinct(A-B)
        distinct(A) without y = sum over B in A of (-1)^|B| |B|! P_B(y) distinct(A-B)

    and a peeled candidate h comes in by `distinct(A) + sum_l likelihood_l(h) distinct(A-l)`, the first term
    only if h is not forced. With `repeats` the candidates that are not peeled may write several reviews.
    """

    def __init__(self, nodes: Nodes, addresses: Integers | None = None, *, repeats: bool = False) -> None:
        self.nodes, self.repeats = nodes, repeats
        shape = nodes.likelihood.shape[:2]
        self.addresses = np.zeros(shape, dtype=np.int64) if addresses is None else addresses
        self.light = np.delete(np.arange(shape[1]), nodes.peeled)
        one = np.zeros(1, dtype=np.int64), np.ones((1, nodes.mass.size))
        self._found: dict[tuple[Slots, Slots], Polynomial] = {((), ()): one}

    def total(self) -> Array:
        """At each node the sum over all tuples."""
        return np.asarray(self.distinct(self.nodes.slots, self.nodes.peeled)[1].sum(axis=0))

    def by_author(self, slot: int, authors: Integers, lookup: Integers, size: int, mass: Array) -> Array:
        """`[author, entry]`: the mass of the tuples with each author in this slot."""
        others = tuple(other for other in self.nodes.slots if other != slot)
        found = np.zeros((authors.size, size))
        light = np.flatnonzero(~np.isin(authors, self.nodes.peeled))
        for held in sets(others):
            rest = self.distinct(without(others, held), self.nodes.peeled)
            sign = (-1) ** len(held) * factorial(len(held))
            found[light] += sign * self._spread((slot, *held), authors[light], rest, lookup, size, mass)
        for row in np.flatnonzero(np.isin(authors, self.nodes.peeled)):
            author = int(authors[row])
            rest = self.distinct(others, without(self.nodes.peeled, (author,)))
            found[row] = self._spread((slot,), authors[row : row + 1], rest, lookup, size, mass)[0]
        return np.maximum(found, 0.0)

    def _spread(
        self, taken: Slots, authors: Integers, rest: Polynomial, lookup: Integers, size: int, mass: Array
    ) -> Array:
        """`[author, entry]`: the author in the taken slots times the rest of the tuple."""
        powers = np.prod(self.nodes.likelihood[list(taken)][:, authors], axis=0) * mass
        address = self.addresses[list(taken)][:, authors].sum(axis=0)[:, None] + rest[0]
        entry = np.arange(authors.size)[:, None] * size + lookup[address]
        parts = np.bincount(entry.ravel(), (powers @ rest[1].T).ravel(), authors.size * size)
        return np.asarray(parts.reshape(authors.size, size))

    def distinct(self, slots: Slots, peeled: Slots) -> Polynomial:
        """Addresses and the sum over distinct candidates in these slots: light or `peeled` ones."""
        if (slots, peeled) not in self._found:
            parts = self._seated(slots, peeled) if peeled else self._unpeeled(slots)
            nothing = np.zeros(0, dtype=np.int64), np.zeros((0, self.nodes.mass.size))
            degree, values = (np.concatenate(arrays) for arrays in zip(nothing, *parts, strict=True))
            self._found[slots, peeled] = _gathered(degree, values)
        return self._found[slots, peeled]

    def _seated(self, slots: Slots, peeled: Slots) -> list[Polynomial]:
        """The last of the peeled candidates in no slot, or in each of them."""
        *others, last = peeled
        parts = [] if last in self.nodes.forced else [self.distinct(slots, tuple(others))]
        for slot in slots:
            degree, values = self.distinct(without(slots, (slot,)), tuple(others))
            parts.append((degree + self.addresses[slot, last], values * self.nodes.likelihood[slot, last]))
        return parts

    def _unpeeled(self, slots: Slots) -> list[Polynomial]:
        parts = []
        for held in [()] if self.repeats else sets(slots[1:]):
            taken = [slots[0], *held]
            powers = np.prod(self.nodes.likelihood[taken][:, self.light], axis=0)
            degree = self.addresses[taken][:, self.light].sum(axis=0)
            sign = (-1) ** len(held) * factorial(len(held))
            left = self.distinct(without(slots[1:], held), ())
            parts.append(_product(_gathered(degree, sign * powers), left))
        return parts


def without(slots: Slots, some: Slots) -> Slots:
    return tuple(slot for slot in slots if slot not in some)


def sets(slots: Sequence[int]) -> Iterator[Slots]:
    for size in range(len(slots) + 1):
        yield from combinations(slots, size)


def _gathered(degree: Integers, values: Array) -> tuple[Integers, Array]:
    """Terms of the same degree as one."""
    order = np.argsort(degree, kind="stable")
    names, start = np.unique(degree[order], return_index=True)
    return names, np.add.reduceat(values[order], start, axis=0)


def _product(one: tuple[Integers, Array], other: tuple[Integers, Array]) -> tuple[Integers, Array]:
    """The product of two polynomials."""
    names = np.unique((one[0][:, None] + other[0]).ravel())
    values = np.zeros((names.size, one[1].shape[1]))
    for degree, factor in zip(*one, strict=True):
        values[np.searchsorted(names, degree + other[0])] += factor * other[1]
    return names, values
