"""Pools too large to list their tuples: one accept probability for all tuples with like evidence and like
heavy authors.

Two things are known of each author in each slot: a whole number of *steps*, what its score says for
accepting, and a *digit*, which of the slot's heavy authors it is or is like (0: none of them). A tuple's
*address* is the sum of its authors' addresses, so sums over all tuples with one address are coefficients of
a polynomial (`sums`). Every author keeps its own chance in every slot and entry of the table: the promise is
kept for each of them, and only optimality is at stake.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import comb

import numpy as np

from blindcal.beliefs.belief import Belief, unchecked_belief
from blindcal.beliefs.sums import Nodes, Sums, sets, without
from blindcal.checks import Array, Integers

# How many parts and entries one paper may have, and how it is divided up.
MOST_PARTS, MOST_ENTRIES = 600_000, 60_000
_BINS = 16
_ALONE, _LIGHT = 0.4, 0.2
_STEPS, _REACH = 32, 4.8
_SAMPLE, _TRIES = 20_000, 100_000


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
    same number for candidates whom public data cannot tell apart (-1: nobody); `tied`: the same number for
    slots with the same score.
    """
    slots, pool, _ = nodes.likelihood.shape
    chance = _chances(nodes)
    heavy = _most_heavy(slots, pool)
    digit = np.stack([_digits(one, alike, heavy) for one in chance])
    step = _steps(lean, chance)
    width = 2 * _STEPS * slots + 1
    addresses = digit * (width * (heavy + 1) ** np.arange(slots)[:, None]) + step
    return Layout(addresses, _lookup(_bins(nodes, step, width), heavy, tied, width))


def crowd(nodes: Nodes, layout: Layout, alike: Integers) -> Crowd:
    """Sum up a pool by the entries of its table; `alike` as for the layout."""
    sums, size = Sums(nodes, layout.addresses), int(layout.lookup.max()) + 1
    kinds, first, count = np.unique(alike, return_index=True, return_counts=True)
    masses = [
        count[:, None] * sums.by_author(slot, first, layout.lookup, size, nodes.mass) for slot in nodes.slots
    ]
    high = np.where(np.arange(nodes.mass.size) >= nodes.edge, nodes.mass, 0.0)
    weight = masses[0].sum(axis=0)
    above = (count[:, None] * sums.by_author(0, first, layout.lookup, size, high)).sum(axis=0)
    favor = np.clip(above / np.where(weight > 0.0, weight, 1.0), 0.0, 1.0)
    entry, labels, part = _matched(masses, weight / weight.sum())
    belief = unchecked_belief(part / part.sum(), favor[entry], kinds[labels], entry, count[kinds >= 0])
    return Crowd(belief, weight / weight.sum(), favor)


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
    alike = np.unique(alike, return_inverse=True)[1]
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
        for slot, author in seating.items():
            rows[wanting, slot] = author
        for _ in range(_TRIES):
            for slot in without(nodes.slots, tuple(seating)):
                ladder = ladders[slot, :, node]
                step = np.searchsorted(ladder, rng.random(wanting.size) * ladder[-1], side="right")
                rows[wanting, slot] = light[np.minimum(step, light.size - 1)]
            wanting = wanting[(np.diff(np.sort(rows[wanting], axis=1), axis=1) == 0).any(axis=1)]
            if not wanting.size:
                break
        else:
            return None
    return rng.permutation(rows)


def _seatings(nodes: Nodes) -> Iterator[dict[int, int]]:
    """Every way to seat peeled candidates, the forced ones among them, in some of the slots."""
    for chosen in sets(nodes.peeled):
        if nodes.forced <= set(chosen) and len(chosen) <= len(nodes.slots):
            for seats in permutations(nodes.slots, len(chosen)):
                yield dict(zip(seats, chosen, strict=True))


def _chance(nodes: Nodes, sums: Sums, seating: dict[int, int]) -> Array:
    """At each node the mass of a seating."""
    rest = sums.distinct(without(nodes.slots, tuple(seating)), ())[1].sum(axis=0)
    sure = np.prod([nodes.likelihood[slot, author] for slot, author in seating.items()], axis=0)
    return np.asarray(np.maximum(nodes.mass * sure * rest, 0.0))
