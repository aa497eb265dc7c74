"""Sums over all tuples of distinct candidates, one for each review, at every node of a rule over quality.

Given the quality the reviews are independent but for one rule: nobody wrote two of them. Sums with repeats
are products; the rule is brought in by inclusion and exclusion, or by seating a candidate in each slot in
turn. Each candidate takes a number of *steps* in each slot: a whole one, or one of two neighbors, by chance.
Sums over the tuples with each total of steps are the coefficients of a polynomial in one variable, and
products of polynomials are convolutions.

The case that runs through the docstrings is `nodes.worked_case`: two reviews, candidates a, b and c, who take
0, 1 and 1.5 steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial, reduce
from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
from scipy import fft, sparse

from blindcal.beliefs.nodes import Nodes, Slots
from blindcal.checks import Array, Integers

# Nodes that weigh less than this beside the heaviest one say nothing.
_LIGHTEST = 1e-22
# Sums with repeats may be this many times those without: three of sixteen digits are lost.
_EXCESS = 1e3
# Tables of more chances than this are kept without their zeros.
_MOST_DENSE = 100_000
# A further candidate that is seated doubles the sums to take.
_MOST_PEELED = {1: 10, 2: 10, 3: 10, 4: 6, 5: 5}


def significant(nodes: Nodes) -> Nodes | None:
    """The nodes that say something, and whom to seat one by one; None if too many would have to be.

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
        above=nodes.above[kept],
    )


class Sums:
    """Sums over tuples of distinct candidates, one in each of some slots, by their total of steps.

    With `P_B(y) = prod_{l in B} likelihood_l(y)`, of degree the sum of y's steps in B, and A_1 the first slot
    of A, for the candidates that are not peeled

        distinct(A) = sum over B in A with A_1 of (-1)^(|B|-1) (|B|-1)! sum_y P_B(y) distinct(A-B)
        distinct(A) without y = sum over B in A of (-1)^|B| |B|! P_B(y) distinct(A-B)

    and a peeled candidate h comes in by `distinct(A) + sum_l likelihood_l(h) distinct(A-l)`, the first term
    only if h is not forced. With `repeats` the candidates that are not peeled may write several reviews.

    Of the six tuples ab and ba have 1 step together, ac and ca 1 or 2, and bc and cb 2 or 3.

    >>> from blindcal.beliefs.nodes import worked_case
    >>> Sums(*worked_case(), width=3).by_steps().ravel().round(6)
    array([0.     , 1.0625 , 0.84375, 0.28125, 0.     ])
    """

    def __init__(
        self, nodes: Nodes, steps: Array | None = None, width: int = 1, *, repeats: bool = False
    ) -> None:
        self.nodes, self.width, self.repeats = nodes, width, repeats
        shape = nodes.likelihood.shape[:2]
        self.steps = np.zeros(shape) if steps is None else steps
        self.light = np.delete(np.arange(shape[1]), nodes.peeled)
        self.distinct = cache(self._distinct)

    def total(self) -> Array:
        """At each node the sum over all tuples."""
        return np.asarray(self.by_steps().sum(axis=0))

    def by_steps(self) -> Array:
        """`[total of steps, node]`: the sum over the tuples with each total."""
        return np.asarray(self.distinct(self.nodes.slots, self.nodes.peeled))

    def by_author(self, authors: Integers, edges: Integers) -> list[Array]:
        """For each slot `[author, entry]`: the mass of the tuples with each author there. Entry i holds the
        totals of steps from `edges[i]` on, below the next edge.

        >>> from blindcal.beliefs.nodes import worked_case
        >>> first, second = Sums(*worked_case(), width=3).by_author(np.arange(3), np.array([0, 2, 5]))
        >>> first  # a wrote the first review: ab (1 step) and ac (1 or 2); b: ba and bc; c: ca and cb
        array([[0.3125, 0.0625],
               [0.25  , 0.0625],
               [0.5   , 1.    ]])
        """
        return [np.maximum(one, 0.0) for one in self._by_slot(authors, partial(self._spread, edges=edges))]

    def accepted(self, authors: Integers, tables: Array) -> list[Array]:
        """For each slot `[author, table]`: the mass of the tuples with each author there, each times the
        chance that `tables[table, total of steps]` gives it.

        >>> from blindcal.beliefs.nodes import worked_case
        >>> [one.tolist() for one in Sums(*worked_case(), width=3).accepted(np.arange(3), np.eye(5)[2:3])]
        [[[0.0625], [0.03125], [0.75]], [[0.5], [0.25], [0.09375]]]
        """
        return self._by_slot(authors, partial(self._reached, tables=tables))

    def _by_slot(self, authors: Integers, part: Callable[[Slots, Integers, Array], Array]) -> list[Array]:
        """For each slot what the tuples with each author there sum up to; `part(held, authors, rest)` is that
        of authors in all the held slots at once."""
        slots, peeled = self.nodes.slots, self.nodes.peeled
        seated = np.isin(authors, peeled)
        light, rows = authors[~seated], np.flatnonzero(seated)
        found: list[Any] = [0.0 for _ in slots]
        for held in sets(slots):
            if held:
                sign = (-1) ** (len(held) - 1) * factorial(len(held) - 1)
                one = sign * part(held, light, self.distinct(without(slots, held), peeled))
                for slot in held:
                    found[slot] = found[slot] + one
        for slot in slots:
            every = np.empty((authors.size, *found[slot].shape[1:]))
            every[~seated] = found[slot]
            for row in rows:
                others = without(peeled, (int(authors[row]),))
                rest = self.distinct(without(slots, (slot,)), others)
                every[row] = part((slot,), authors[row : row + 1], rest)[0]
            found[slot] = every
        return found

    def _reached(self, held: Slots, authors: Integers, rest: Array, tables: Array) -> Array:
        """`[author, table]`: each in the held slots times the rest of the tuple and what a table gives to
        both."""
        powers, taken = self._powers(held, authors) * self.nodes.mass, self._shares(held, authors)
        windows = (np.lib.stride_tricks.sliding_window_view(table, len(rest)) for table in tables)
        beside = (taken @ (np.ascontiguousarray(window) @ rest) for window in windows)
        return np.stack([np.einsum("yt,yt->y", powers, one) for one in beside], axis=-1)

    def _spread(self, held: Slots, authors: Integers, rest: Array, edges: Integers) -> Array:
        """`[author, entry]`: each author in the held slots times the rest of the tuple."""
        powers, taken = self._powers(held, authors) * self.nodes.mass, self._sparse(held, authors).tocsc()
        below = np.concatenate([np.zeros((1, rest.shape[1])), np.cumsum(rest, axis=0)])
        parts = np.zeros((authors.size, edges.size - 1))
        for steps in np.flatnonzero(np.diff(taken.indptr)):
            some = slice(*taken.indptr[steps : steps + 2])
            who, between = taken.indices[some], np.diff(below[np.clip(edges - steps, 0, len(rest))], axis=0)
            parts[who] += taken.data[some, None] * (powers[who] @ between.T)
        return parts

    def _powers(self, held: Slots, authors: Integers) -> Array:
        """`[author, node]`: the likelihood of having written all the held slots."""
        every = authors.size == self.nodes.likelihood.shape[1]
        parts = [
            self.nodes.likelihood[slot] if every else self.nodes.likelihood[slot, authors] for slot in held
        ]
        return reduce(np.multiply, parts)

    def _shares(self, held: Slots, authors: Integers) -> Any:
        """`[author, steps]`: the chance of each number of steps in all the held slots together."""
        size = self._size(held)
        if authors.size * size > _MOST_DENSE:
            return self._sparse(held, authors)
        whole, chance = self._taken(held, authors)
        place = whole + size * np.arange(authors.size)
        found = np.bincount(place.ravel(), chance.ravel(), size * authors.size)
        return found.reshape(authors.size, size)

    def _sparse(self, held: Slots, authors: Integers) -> sparse.csr_array:
        """The same, where few of many may be other than 0."""
        place, chance = self._taken(held, authors)
        some, who = chance > 0.0, np.broadcast_to(np.arange(authors.size), chance.shape)
        shape = (authors.size, self._size(held))
        return sparse.csr_array((chance[some], (who[some], place[some])), shape=shape)

    def _taken(self, held: Slots, authors: Integers) -> tuple[Integers, Array]:
        """`[way, author]`: the total of steps in the held slots if each is taken downwards or upwards, and
        the chance of that."""
        steps = self.steps[list(held)][:, authors]
        whole = np.floor(steps)
        totals, chance = whole.sum(axis=0, dtype=np.int64)[None], np.ones((1, authors.size))
        for up in steps - whole:
            totals = np.concatenate([totals, totals + 1])
            chance = np.concatenate([chance * (1.0 - up), chance * up])
        # At the highest step nobody goes further up.
        return np.minimum(totals, self._size(held) - 1), chance

    def _distinct(self, slots: Slots, peeled: Slots) -> Array:
        """`[total of steps, node]`: the sum over distinct candidates in these slots, light or `peeled`."""
        if not slots:
            # Nobody is left to seat: one way, unless somebody must be.
            return np.full((1, self.nodes.mass.size), float(not self.nodes.forced & set(peeled)))
        return self._seated(slots, peeled) if peeled else self._unpeeled(slots)

    def _seated(self, slots: Slots, peeled: Slots) -> Array:
        """The last of the peeled candidates in no slot, or in each of them."""
        *others, last = peeled
        total = np.zeros((self._size(slots), self.nodes.mass.size))
        if last not in self.nodes.forced:
            total += self.distinct(slots, tuple(others))
        for slot in slots:
            rest = self.distinct(without(slots, (slot,)), tuple(others))
            taken = self._sparse((slot,), np.array([last]))
            for steps, chance in zip(taken.indices, taken.data, strict=True):
                total[steps : steps + len(rest)] += rest * (chance * self.nodes.likelihood[slot, last])
        return total

    def _unpeeled(self, slots: Slots) -> Array:
        total = np.zeros((self._size(slots), self.nodes.mass.size))
        for held in [()] if self.repeats else sets(slots[1:]):
            sign = (-1) ** len(held) * factorial(len(held))
            left = self.distinct(without(slots[1:], held), ())
            total += sign * _product(self._by_step((slots[0], *held)), left)
        return total

    def _by_step(self, held: Slots) -> Array:
        """`[steps, node]`: the sum over the light candidates, each in all of the held slots at once."""
        powers = self._powers(held, self.light)
        if self.width == 1:
            # There is nothing but step 0.
            return np.asarray(powers.sum(axis=0, keepdims=True))
        return np.asarray(self._shares(held, self.light).T @ powers)

    def _size(self, slots: Slots) -> int:
        """How many totals of steps there are."""
        return len(slots) * (self.width - 1) + 1


def without(slots: Slots, some: Slots) -> Slots:
    return tuple(slot for slot in slots if slot not in some)


def sets(slots: Sequence[int]) -> Iterator[Slots]:
    for size in range(len(slots) + 1):
        yield from combinations(slots, size)


def _product(one: Array, other: Array) -> Array:
    """The product of two polynomials, at every node."""
    if min(len(one), len(other)) == 1:
        return np.asarray(one * other)
    size = len(one) + len(other) - 1
    wide = fft.next_fast_len(size, real=True)
    spectra = [fft.rfft(part, wide, axis=0) for part in (one, other)]
    return np.asarray(fft.irfft(spectra[0] * spectra[1], wide, axis=0)[:size])
