"""Pools too large to list their tuples: one accept probability for all tuples with like evidence.

Each author's evidence in each slot, less a handicap (`handicaps`), is a number of *steps*. All tuples with
about the same total of steps share an *entry* of the table, and sums over all tuples of an entry are
coefficients of a polynomial (`sums`). Where an author stands between two whole steps, chance decides, so
that the handicap is met exactly. Every author keeps its own chance in every slot and entry: the promise is
kept for each of them, and only optimality is at stake.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from blindcal.beliefs.belief import Belief, unchecked_belief
from blindcal.beliefs.handicaps import WIDTH, Promise, graded
from blindcal.beliefs.nodes import Nodes
from blindcal.beliefs.sums import Sums, sets, without
from blindcal.checks import Array, Integers

# Near the threshold each total of steps has an entry of its own; further off they are wider and wider.
_NEAR, _WIDER = 12, 1.35
# What is less than this part of all is what rounding left over.
_NOTHING = 1e-17
_SAMPLE, _MOST_TRIES = 20_000, 4_000_000


@dataclass(frozen=True, eq=False)
class Layout:
    """Which entry of the table a tuple takes: entry i holds the totals of `steps[slot, candidate]` from
    `edges[i]` on, below the next edge.

    >>> layout = Layout(np.array([[0.0, 1.0, 1.5], [0.0, 1.0, 1.5]]), np.array([0, 2, 5]))
    >>> layout.entries(np.array([[0, 1], [1, 2], [1, 2]]), np.array([[0.9, 0.9], [0.9, 0.9], [0.9, 0.1]]))
    array([0, 1, 1])
    >>> layout.expected(np.array([0.25, 0.75]), np.array([[0, 1], [0, 2], [1, 2]]))
    array([0.25, 0.5 , 0.75])
    """

    steps: Array
    edges: Integers
    handicap: Array | None = None

    def entries(self, rows: Integers, chance: Array) -> Integers:
        """The entry that tuples of candidates `[..., slot]` take. An author between two steps takes the upper
        one where `chance[..., slot]`, uniform in [0, 1), is less than the distance to the lower one."""
        steps = self._of(rows)
        return self._at(np.floor(steps) + (chance < steps % 1.0))

    def expected(self, table: Array, rows: Integers) -> Array:
        """What the table gives to tuples of candidates `[..., slot]`, on average over their steps."""
        steps = self._of(rows)
        total = np.zeros(rows.shape[:-1])
        for upper in product((0, 1), repeat=rows.shape[-1]):
            chance = np.prod(np.where(upper, steps % 1.0, 1.0 - steps % 1.0), axis=-1)
            total += chance * table[self._at(np.floor(steps) + np.array(upper))]
        # The chances sum to 1 up to a rounding.
        return np.clip(total, table.min(), table.max())

    def _of(self, rows: Integers) -> Array:
        return np.asarray(self.steps[np.arange(rows.shape[-1]), rows])

    def _at(self, steps: Array) -> Integers:
        total = np.minimum(steps.sum(axis=-1), self.edges[-1] - 1)
        return np.asarray(np.searchsorted(self.edges, total, side="right") - 1)


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


def layout(
    nodes: Nodes, lean: Array, bar: float, alike: Integers, tied: Integers, promise: Promise
) -> Layout:
    """The entries of a pool's table, by public data alone; the arguments are those of `graded`."""
    found = graded(nodes, lean, bar, alike, tied, promise)
    return Layout(found.steps, _edges(found.threshold, len(lean) * (WIDTH - 1) + 1), found.handicap)


def _edges(threshold: float, size: int) -> Integers:
    """Where entries begin, from 0 to `size`.

    >>> _edges(20.6, 41)
    array([ 0,  2,  5,  7,  9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
           22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 33, 35, 38, 41])
    """
    further = np.ceil(_WIDER ** np.arange(1, 1 + np.log(size) / np.log(_WIDER)))
    away = np.concatenate([np.arange(_NEAR), _NEAR - 1 + np.cumsum(further)])
    middle = np.clip(np.floor(threshold), 0, size)
    edges = np.clip(np.concatenate([middle - away, middle + away, [0, size]]), 0, size)
    return np.unique(edges).astype(np.int64)


def crowd(nodes: Nodes, layout: Layout, alike: Integers, tied: Integers) -> Crowd:
    """Sum up a pool by the entries of its table; `alike` and `tied` as for the layout."""
    sums = Sums(nodes, layout.steps, WIDTH)
    kinds, first, count = np.unique(alike, return_index=True, return_counts=True)
    masses = [count[:, None] * mass for mass in sums.by_author(first, layout.edges)]
    # Slots with the same score are equal in truth: to the last bit, so that what is pinned in one is in all.
    masses = [masses[int(np.flatnonzero(tied == one)[0])] for one in tied]
    total = masses[0].sum()
    masses = [np.where(mass > _NOTHING * total, mass, 0.0) for mass in masses]
    every = np.concatenate([np.zeros((1, nodes.mass.size)), np.cumsum(sums.by_steps(), axis=0)])
    by_entry = np.diff(every[layout.edges], axis=0)
    whole, above = by_entry @ nodes.mass, by_entry @ (nodes.mass * nodes.above)
    favor = np.clip(above / np.where(whole > 0.0, whole, 1.0), 0.0, 1.0)
    weight = masses[0].sum(axis=0)
    entry, labels, part = _matched(masses, weight / weight.sum())
    belief = unchecked_belief(part / part.sum(), favor[entry], kinds[labels], entry, count[kinds >= 0])
    return Crowd(belief, weight / weight.sum(), favor)


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


def sampled(nodes: Nodes, rng: np.random.Generator) -> Integers | None:
    """Tuples drawn from the belief, `[draw, slot]`: quality and the seats of peeled candidates first, then
    the others, drawn again while somebody has two reviews. None if that takes too long."""
    sums, light = Sums(nodes), np.delete(np.arange(nodes.likelihood.shape[1]), nodes.peeled)
    seatings = list(_seatings(nodes))
    chance = np.stack([_chance(nodes, sums, seating) for seating in seatings])
    ladders = np.cumsum(nodes.likelihood[:, light], axis=1)
    drawn = np.sort(rng.choice(chance.size, _SAMPLE, p=chance.ravel() / chance.sum()))
    rows = np.empty((_SAMPLE, len(nodes.slots)), dtype=np.int64)
    for place in np.unique(drawn):
        seating, node = seatings[place // nodes.mass.size], place % nodes.mass.size
        wanting = np.flatnonzero(drawn == place)
        left = np.array(without(nodes.slots, tuple(seating)), dtype=np.int64)
        found = _drawn(ladders[left, :, node], wanting.size, rng)
        if found is None:
            return None
        for slot, author in seating.items():
            rows[wanting, slot] = author
        rows[np.ix_(wanting, left)] = light[found]
    return rng.permutation(rows)


def _drawn(ladders: Array, size: int, rng: np.random.Generator) -> Integers | None:
    """`[draw, slot]`: so many tuples of different places on the slots' ladders (cumulative likelihoods), the
    first ones among more and more tries; None if that takes too long."""
    found, tries = np.empty((0, len(ladders)), dtype=np.int64), size
    while len(found) < size:
        if tries > _MOST_TRIES:
            return None
        steps = [np.searchsorted(ladder, rng.random(tries) * ladder[-1], side="right") for ladder in ladders]
        rows = np.minimum(np.reshape(steps, (len(ladders), tries)).T, ladders.shape[1] - 1).astype(np.int64)
        apart = (np.diff(np.sort(rows, axis=1), axis=1) != 0).all(axis=1)
        found, tries = np.concatenate([found, rows[apart]]), 2 * tries
    return found[:size]


def _seatings(nodes: Nodes) -> Iterator[dict[int, int]]:
    """Every way to seat peeled candidates, the forced ones among them, in some of the slots."""
    for chosen in sets(nodes.peeled):
        if nodes.forced <= set(chosen) and len(chosen) <= len(nodes.slots):
            for seats in permutations(nodes.slots, len(chosen)):
                yield dict(zip(seats, chosen, strict=True))


def _chance(nodes: Nodes, sums: Sums, seating: dict[int, int]) -> Array:
    """At each node the mass of a seating."""
    rest = sums.distinct(without(nodes.slots, tuple(seating)), ()).sum(axis=0)
    sure = np.prod([nodes.likelihood[slot, author] for slot, author in seating.items()], axis=0)
    return np.asarray(np.maximum(nodes.mass * sure * rest, 0.0))
