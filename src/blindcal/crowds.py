"""Pools too large to list their tuples: one accept probability for all tuples with like evidence and the same
heavy authors.

Two things are known of each author in each slot: a whole number of *steps*, what its score says for
accepting, and a *digit*, which of the slot's heavy authors it is or is like (0: none of them). A tuple's
*address* is the sum of its authors' addresses, so sums over all tuples with one address are products of
polynomials.
Given the quality the slots are independent but for one rule: nobody wrote two of the reviews. That rule is
brought in by inclusion and exclusion. Every author keeps its own chance in every slot and entry of the table:
the promise is kept for each of them, and only optimality is at stake.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from math import comb, factorial

import numpy as np

from blindcal.beliefs import Belief, unchecked_belief
from blindcal.checks import Array, Integers
from blindcal.errors import InputError

# How many parts and entries one paper may have, and how it is divided up.
MOST_PARTS, MOST_ENTRIES = 600_000, 60_000
_BINS = 16
_ALONE, _LIGHT = 0.4, 0.2
_STEPS, _REACH = 32, 4.8
_SAMPLE, _TRIES = 20_000, 1_000
Slots = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Nodes:
    """A quadrature over quality: `likelihood[slot, candidate, node]`, odds included, is at most 1, and
    `mass[node]` the rest of the integrand. Nodes from `edge` on lie above the bar."""

    likelihood: Array
    mass: Array
    edge: int


@dataclass(frozen=True, eq=False)
class Layout:
    """Which entry of the table each tuple takes: `lookup[sum of addresses[slot, candidate]]`."""

    addresses: Integers
    lookup: Integers

    def entries(self, rows: Integers) -> Integers:
        """The entry that tuples of candidates `[..., slot]` take."""
        slots = np.arange(rows.shape[-1])
        return np.asarray(self.lookup[self.addresses[slots, rows].sum(axis=-1)])


@dataclass(frozen=True, eq=False)
class Crowd:
    """The belief of a paper with a large pool, by entries of its table.

    `belief` is over parts: each lies in one entry and has one author in each slot. Within an entry the
    authors of different slots are matched as it comes (by quantiles): their chances by slot are right, and
    no promise asks for more. `belief.entry[part]` is the accept probability that a part takes; `weight` and
    `favor` are those of the entries.
    """

    belief: Belief
    weight: Array
    favor: Array


def layout(nodes: Nodes, lean: Array, alike: Integers, tied: Integers) -> Layout:
    """The entries of a pool's table, by public data alone.

    `lean[slot, candidate]`: what the score would say for accepting if the candidate wrote it; `alike`: the
    same number for candidates whom public data cannot tell apart; `tied`: the same number for slots with the
    same score.
    """
    slots, pool, _ = nodes.likelihood.shape
    chance = _chances(nodes)
    heavy = _most_heavy(slots, pool)
    digit = np.stack([_digits(one, alike, heavy) for one in chance])
    step = _steps(lean, chance)
    width = 2 * _STEPS * slots + 1
    addresses = digit * (width * (heavy + 1) ** np.arange(slots)[:, None]) + step
    return Layout(addresses, _lookup(_bins(nodes, step, width), heavy, tied, width))


def crowd(nodes: Nodes, layout: Layout, forced: Integers) -> Crowd:
    """Sum up a pool by the entries of its table; `forced[candidate]` is 1 if it certainly wrote a review."""
    sums, size = _Sums(nodes, layout.addresses, forced), int(layout.lookup.max()) + 1
    masses = [sums.by_author(slot, layout.lookup, size) for slot in range(len(nodes.likelihood))]
    weight = masses[0].sum(axis=0)
    above = sums.by_author(0, layout.lookup, size, start=nodes.edge).sum(axis=0)
    favor = np.clip(above / np.where(weight > 0.0, weight, 1.0), 0.0, 1.0)
    entry, labels, part = _matched(masses, weight / weight.sum())
    return Crowd(
        unchecked_belief(part / part.sum(), favor[entry], labels, entry), weight / weight.sum(), favor
    )


def _chances(nodes: Nodes) -> Array:
    """`[slot, candidate]`: about the chance to have written each slot (as if two could be by one author)."""
    total = nodes.likelihood.sum(axis=1)
    at = nodes.mass * np.prod(total, axis=0)
    chance: Array = np.einsum("lyt,lt->ly", nodes.likelihood, at / at.sum() / total)
    return chance


def _most_heavy(slots: int, pool: int) -> int:
    """How many heavy authors a slot can have.

    Beside one author the other slots hold j heavy ones in `C(slots-1, j) h^j` ways, each with all bins but
    for j = slots-1, where the steps are known.
    """
    heavy = 0
    while heavy < pool:
        more = heavy + 1
        beside = sum(comb(slots - 1, j) * more**j * _BINS for j in range(slots - 1)) + more ** (slots - 1)
        if slots * pool * beside > MOST_PARTS or (more + 1) ** slots * _BINS > MOST_ENTRIES:
            break
        heavy = more
    return heavy


def _digits(chance: Array, alike: Integers, most: int) -> Integers:
    """1, 2, ... `most` for heavy candidates, 0 for light ones: those likeliest to have written the slot have
    a digit each, the next likeliest share the rest, each of which stands for about the same chance."""
    largest = np.zeros(int(alike.max()) + 1)
    np.maximum.at(largest, alike, chance)
    order = np.argsort(-largest, kind="stable")
    digit = np.zeros(largest.size, dtype=np.int64)
    alone = order[: round(_ALONE * most)]
    digit[alone] = np.arange(1, alone.size + 1)
    shared = order[alone.size :]
    shared = shared[largest[shared] > _LIGHT * largest.max()]
    if shared.size and most > alone.size:
        grown = np.cumsum(largest[shared]) - 0.5 * largest[shared]
        digit[shared] = (
            alone.size + 1 + (grown / largest[shared].sum() * (most - alone.size)).astype(np.int64)
        )
    return digit[alike]


def _steps(lean: Array, chance: Array) -> Integers:
    """`lean` in whole steps from 0 to 2 * _STEPS, the middle of each slot at its mean."""
    share = chance / chance.sum(axis=1, keepdims=True)
    off = lean - (share * lean).sum(axis=1, keepdims=True)
    spread = np.sqrt((share * off**2).sum())
    scaled = off * (_STEPS / (_REACH * spread)) if spread > 0.0 else np.zeros_like(off)
    whole: Integers = np.clip(np.rint(scaled), -_STEPS, _STEPS).astype(np.int64)
    return whole + _STEPS


def _bins(nodes: Nodes, step: Integers, width: int) -> Integers:
    """The bin of each sum of steps: sums with about the same favor go together."""
    product = np.ones((1, nodes.mass.size)) * nodes.mass
    for likelihood, steps in zip(nodes.likelihood, step, strict=True):
        by_step = np.stack([likelihood[steps == s].sum(axis=0) for s in range(2 * _STEPS + 1)])
        grown = np.zeros((len(product) + 2 * _STEPS, nodes.mass.size))
        for s, part in enumerate(by_step):
            grown[s : s + len(product)] += part * product
        product = grown
    weight, above = product.sum(axis=1), product[:, nodes.edge :].sum(axis=1)
    favor = np.where(weight > 0.0, above / np.where(weight > 0.0, weight, 1.0), np.nan)
    # Sums that nobody reaches go with the nearest one that is reached.
    reached = np.flatnonzero(~np.isnan(favor))
    nearest = reached[np.abs(np.arange(width)[:, None] - reached).argmin(axis=1)]
    by_favor = np.minimum((favor[nearest] * _BINS).astype(np.int64), _BINS - 1)
    return np.unique(by_favor, return_inverse=True)[1].astype(np.int64)


def _lookup(bins: Integers, heavy: int, tied: Integers, width: int) -> Integers:
    """`lookup[address]`: the entry of its bin and of the heavy authors, whatever the order of tied slots."""
    slots = tied.size
    codes = np.arange((heavy + 1) ** slots)
    digits = codes[:, None] // (heavy + 1) ** np.arange(slots) % (heavy + 1)
    for group in np.unique(tied):
        digits[:, tied == group] = np.sort(digits[:, tied == group], axis=1)
    same = (digits * (heavy + 1) ** np.arange(slots)).sum(axis=1)
    names = same[:, None] * width + bins[None, :]
    return np.unique(names, return_inverse=True)[1].reshape(-1).astype(np.int64)


class _Sums:
    """Sums over tuples of distinct candidates, one in each of some slots, by address.

    With `P_B(y) = prod_{l in B} likelihood_l(y)`, of degree the sum of y's addresses in B,

        distinct(A) = sum over B in A with A's first slot of (-1)^(|B|-1) (|B|-1)! sum_y P_B(y) distinct(A-B)
        distinct(A) without y = sum over B in A of (-1)^|B| |B|! P_B(y) distinct(A-B)
    """

    def __init__(self, nodes: Nodes, addresses: Integers, forced: Integers) -> None:
        self.nodes, self.addresses = nodes, addresses
        # One more digit counts the forced candidates, far above all others.
        self.stride = int(addresses.max(axis=1).sum()) + 1
        self.counted = addresses + forced * self.stride
        self.needed = int(forced.sum())
        self._distinct: dict[Slots, tuple[Integers, Array]] = {
            (): (np.zeros(1, dtype=np.int64), np.ones((1, nodes.mass.size)))
        }

    def by_author(self, slot: int, lookup: Integers, size: int, start: int = 0) -> Array:
        """`[candidate, entry]`: the mass of the tuples with this candidate in this slot."""
        slots, pool, _ = self.nodes.likelihood.shape
        others = tuple(other for other in range(slots) if other != slot)
        found = np.zeros(pool * size)
        for held in _sets(others):
            taken = [slot, *held]
            powers = np.prod(self.nodes.likelihood[taken], axis=0) * self.nodes.mass
            at = self.counted[taken].sum(axis=0)
            degree, values = self.distinct(tuple(other for other in others if other not in held))
            mass = powers[:, start:] @ values[:, start:].T
            address = at[:, None] + degree
            kept = address // self.stride == self.needed
            entry = np.arange(pool)[:, None] * size + lookup[address % self.stride]
            sign = (-1) ** len(held) * factorial(len(held))
            found += sign * np.bincount(entry[kept], mass[kept], pool * size)
        return np.maximum(found, 0.0).reshape(pool, size)

    def distinct(self, slots: Slots) -> tuple[Integers, Array]:
        """Addresses, and at each node the sum over distinct candidates in these slots."""
        if slots not in self._distinct:
            parts = []
            for held in _sets(slots[1:]):
                taken = [slots[0], *held]
                left = self.distinct(tuple(slot for slot in slots[1:] if slot not in held))
                powers = np.prod(self.nodes.likelihood[taken], axis=0)
                sign = (-1) ** len(held) * factorial(len(held))
                parts.append(_product(_gathered(self.counted[taken].sum(axis=0), sign * powers), left))
            self._distinct[slots] = _gathered(
                *(np.concatenate(arrays) for arrays in zip(*parts, strict=True))
            )
        return self._distinct[slots]


def _sets(slots: Sequence[int]) -> Iterator[Slots]:
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


def _matched(masses: Sequence[Array], weight: Array) -> tuple[Integers, Integers, Array]:
    """Parts by quantiles: entry, authors `[slot, part]`, and weight.

    In each slot an entry's mass is cut at its authors' cumulative shares; a part lies between two cuts. What
    inclusion and exclusion leave in some slots only is no mass.
    """
    held = np.all([mass.sum(axis=0) > 0.0 for mass in masses], axis=0)
    slots = [_cuts(mass * held) for mass in masses]
    entry, cut = (np.concatenate([one[part] for one in slots]) for part in (0, 2))
    slot = np.repeat(np.arange(len(slots)), [one[0].size for one in slots])
    order = np.lexsort((cut, entry))
    entry, cut, slot = entry[order], cut[order], slot[order]
    size = np.where(np.diff(entry, prepend=-1) > 0, cut, np.diff(cut, prepend=0.0))
    kept = size > 0.0
    labels = []
    for own, (_, authors, _) in enumerate(slots):
        # A part's author is the one whose stretch ends at the first cut of the slot that is not before it.
        ended = np.cumsum(slot == own) - (slot == own)
        labels.append(authors[ended[kept]])
    return entry[kept], np.stack(labels), (size * weight[entry])[kept]


def _cuts(mass: Array) -> tuple[Integers, Integers, Array]:
    """Entry, author and cumulative share of the entry, for every author that has a part of it."""
    entry, author = np.nonzero(mass.T)
    grown = np.cumsum(mass, axis=0)
    last = np.diff(entry, append=-1) != 0
    return entry, author, np.where(last, 1.0, grown[author, entry] / grown[-1, entry])


def sampled(nodes: Nodes, forced: Integers, rng: np.random.Generator) -> Integers:
    """Tuples drawn from the belief, `[draw, slot]`: slots independent given the quality, repeats rejected."""
    slots = nodes.likelihood.shape[0]
    certain = np.flatnonzero(forced)
    free = nodes.likelihood * (1 - forced)[:, None]
    ladders = np.cumsum(free, axis=1)
    # Where the forced candidates sit is drawn together with the quality.
    seats = list(permutations(range(slots), certain.size))
    at = []
    for seat in seats:
        open_ = [slot for slot in range(slots) if slot not in seat]
        sure = np.prod(nodes.likelihood[list(seat), certain], axis=0)
        at.append(nodes.mass * sure * np.prod(ladders[open_, -1], axis=0))
    law = np.concatenate(at)
    found: list[Integers] = []
    for _ in range(_TRIES):
        drawn = np.sort(rng.choice(law.size, _SAMPLE, p=law / law.sum()))
        rows = np.empty((_SAMPLE, slots), dtype=np.int64)
        for place in np.unique(drawn):
            mine = np.flatnonzero(drawn == place)
            seat, node = seats[place // nodes.mass.size], place % nodes.mass.size
            rows[np.ix_(mine, list(seat))] = certain
            for slot in (slot for slot in range(slots) if slot not in seat):
                ladder = ladders[slot, :, node]
                rows[mine, slot] = np.searchsorted(ladder, rng.random(mine.size) * ladder[-1], side="right")
        good = (np.diff(np.sort(rows, axis=1), axis=1) > 0).all(axis=1)
        found.append(rng.permutation(rows[good]))
        if sum(map(len, found)) >= _SAMPLE:
            return np.concatenate(found)[:_SAMPLE]
    raise InputError("a paper's scores could hardly come from distinct candidates")
