"""Chances in units of n draws -> n assignments that have exactly those chances together.

The units of all pairs are split in two halves again and again, until each part is one assignment. Most units
of a pair go half to either side. One to three of them, as many as leave an even number, are loose: loose
units are paired up, first at their papers and then at their reviewers, both at random, and partners go to
different sides. That closes rings of units, which alternate between papers and reviewers and so have even
length: one coin for each ring says which of its units go left. At every split each paper has half of its
reviews on either side, and nobody has more than half of a full load, so that every part meets all loads in
the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from blindcal.assignments.keystreams import keystream
from blindcal.assignments.marginals import Marginals
from blindcal.checks import Integers

_Bits = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class _Parts:
    """Units of pairs in several parts at once."""

    part: Integers
    paper: Integers
    reviewer: Integers
    units: Integers

    def __getitem__(self, which: NDArray[np.bool_] | Integers) -> _Parts:
        return _Parts(self.part[which], self.paper[which], self.reviewer[which], self.units[which])


def halved(chances: Marginals, seed: bytes) -> Integers:
    """`[draw, paper, place]`: reviewers in ascending order, each pair in as many draws as it has units.

    >>> from blindcal.assignments.similarities import Similarity
    >>> from blindcal.assignments.marginals import marginals
    >>> similarity = Similarity.dense(["p", "q"], ["a", "b"], [[1.0, 1.0], [1.0, 1.0]])
    >>> found = marginals(similarity, per_paper=1, per_reviewer=1, cap=0.5, draws=2)
    >>> sorted(halved(found, bytes(32)).tolist())
    [[[0], [1]], [[1], [0]]]
    """
    parts = _Parts(np.zeros_like(chances.paper), chances.paper, chances.reviewer, chances.units)
    size = chances.draws
    while size > 1:
        parts, size = _halves(parts, seed, size), size // 2
    order = np.lexsort((parts.reviewer, parts.paper, parts.part))
    return parts.reviewer[order].reshape(chances.draws, -1, chances.per_paper)


def _halves(parts: _Parts, seed: bytes, size: int) -> _Parts:
    """Every part as two, its left and its right half."""
    loose = parts.units % 2
    # Two more where there are two more and neither side could get more units than it has draws.
    loose += 2 * ((parts.units >= loose + 2) & (parts.units + loose + 2 <= size))
    pair = np.arange(loose.size).repeat(loose)
    left = (parts.units - loose) // 2
    left += np.bincount(pair, _sides(parts[pair], seed, size), loose.size).astype(np.int64)
    both = _Parts(
        np.concatenate([2 * parts.part, 2 * parts.part + 1]),
        np.tile(parts.paper, 2),
        np.tile(parts.reviewer, 2),
        np.concatenate([left, parts.units - left]),
    )
    return both[both.units > 0]


def _sides(loose: _Parts, seed: bytes, size: int) -> Integers:
    """1 where a loose unit goes left, 0 where it goes right."""
    count = loose.paper.size
    random = keystream(seed, f"halves of {size}", 4 * count).reshape(4, count)
    at_paper = _partners(_groups(loose.part, loose.paper), random[0])
    at_reviewer = _partners(_groups(loose.part, loose.reviewer), random[1])
    alone = np.flatnonzero(at_reviewer < 0)
    at_reviewer[alone] = alone[_partners(loose.part[alone], random[2, alone])]
    # Two steps around a ring lead from a unit to one that goes the same way.
    steps = sparse.coo_array(
        (np.ones(count), (np.arange(count), at_reviewer[at_paper])), shape=(count, count)
    )
    same = connected_components(steps, directed=False)[1].astype(np.int64)
    ring = np.minimum(same, same[at_paper])
    coin = (random[3] & np.uint64(1)).astype(np.int64)
    sides: Integers = coin[ring] ^ (same != ring)
    return sides


def _groups(part: Integers, at: Integers) -> Integers:
    """A number for each part and place in it."""
    return part * (1 + int(at.max(initial=0))) + at


def _partners(group: Integers, random: _Bits) -> Integers:
    """A random partner for each within its group; -1 for the last of an odd number.

    >>> _partners(np.array([7, 5, 7]), np.zeros(3, dtype=np.uint64)).tolist()
    [2, -1, 0]
    """
    # One number to sort by: the group, then random bits.
    bits = np.uint64(int(group.max(initial=0)).bit_length())
    key = (group.astype(np.uint64) << (np.uint64(64) - bits)) if bits else np.zeros_like(random)
    order = np.argsort(key | (random >> bits))
    new = np.ones(order.size, dtype=bool)
    new[1:] = np.diff(group[order]) != 0
    place = np.arange(order.size)
    rank = place - np.maximum.accumulate(np.where(new, place, 0))
    first = np.flatnonzero((rank % 2 == 0) & ~np.append(new[1:], True))
    partner = np.full(order.size, -1, dtype=np.int64)
    partner[order[first]], partner[order[first + 1]] = order[first + 1], order[first]
    return partner
