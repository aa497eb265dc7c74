"""Loads: beliefs about a paper's reviewers for someone who knows how many reviews everybody wrote.

A load couples the papers: whoever reviewed one of them reviewed fewer of the others. If loads, or ranges of
them, are public, an assignment A of all papers has the weight `prod_i w_i(A_i)` if it keeps every load, else
0, with w_i the weight of paper i's tuple by its own scores.

`LoadSums` sums over all such assignments by a forward-backward recursion over the papers, whose state is how
many reviews everybody has so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from blindcal.checks import Array, Integers

MOST_TERMS = 20_000_000
"""Exact sums have at most this many terms."""


@dataclass(frozen=True, eq=False)
class LoadSums:
    """Sums over all assignments that keep the loads.

    `moves[paper]` has, for each set of reviewers, the states in which it is possible, and the number that
    leads from each of them to the next state; `last` are the states in which all loads are kept.
    """

    states: int
    moves: tuple[tuple[tuple[Integers, int], ...], ...] = field(repr=False)
    last: Integers = field(repr=False)

    @property
    def feasible(self) -> bool:
        """Whether any assignment keeps the loads."""
        return self.last.size > 0

    def total_and_rest(self, weights: Sequence[Array]) -> tuple[Array, list[Array]]:
        """The weight of all assignments, and that of the other papers beside each set of a paper.

        `weights[paper][set, case]` are those of the sets, for many cases at once. Returns `[case]` and, for
        each paper, `[set, case]`: times the set's own weight, that is the weight of all assignments with it.

        >>> sums = load_sums([np.array([[0], [1]])] * 2, np.array([1, 1]), np.array([1, 1]))
        >>> total, rest = sums.total_and_rest([np.array([[0.5], [0.25]]), np.array([[2.0], [3.0]])])
        >>> total, rest[0].tolist()  # 0 wrote the first and 1 the second review, or the reverse
        (array([2.]), [[3.0], [2.0]])
        """
        cases = weights[0].shape[1]
        forward = [np.zeros((self.states, cases))]
        forward[0][0] = 1.0
        for moves, weight in zip(self.moves, weights, strict=True):
            forward.append(np.zeros((self.states, cases)))
            for (states, step), own in zip(moves, weight, strict=True):
                forward[-1][states + step] += forward[-2][states] * own
        total = forward[-1][self.last].sum(axis=0)
        backward, rest = np.zeros((self.states, cases)), list[Array]()
        backward[self.last] = 1.0
        for moves, weight, before in zip(
            reversed(self.moves), reversed(weights), reversed(forward[:-1]), strict=True
        ):
            beside, back = np.zeros(weight.shape), np.zeros((self.states, cases))
            for index, ((states, step), own) in enumerate(zip(moves, weight, strict=True)):
                onward = backward[states + step]
                beside[index] = np.einsum("sc,sc->c", before[states], onward)
                back[states] += onward * own
            rest.append(beside)
            backward = back
        return total, rest[::-1]


def number_of_terms(sets: Sequence[Integers], most: Integers) -> float:
    """How many terms the sums have."""
    return prod(float(load + 1) for load in most) * sum(float(len(rows)) for rows in sets)


def load_sums(sets: Sequence[Integers], least: Integers, most: Integers) -> LoadSums:
    """The sums for papers whose reviewers are one of some sets: `sets[paper][set, slot]` are people by index.

    Somebody wrote between `least[person]` and `most[person]` reviews. A person below 0 has no load.
    """
    radix = most + 1
    steps = np.concatenate([[1], np.cumprod(radix)]).astype(np.int64)
    used = np.arange(steps[-1])[:, None] // steps[:-1] % radix
    possible, moves = np.zeros(len(used), dtype=np.bool_), []
    possible[0] = True
    for rows in sets:
        own, reached = list[tuple[Integers, int]](), np.zeros(len(used), dtype=np.bool_)
        for row in rows:
            who, times = np.unique(row[row >= 0], return_counts=True)
            states = np.flatnonzero(possible & (used[:, who] + times <= most[who]).all(axis=1))
            own.append((states, int(steps[who] @ times)))
            reached[states + own[-1][1]] = True
        moves.append(own)
        possible = reached
    last = possible & (used >= least).all(axis=1)
    # States from which the loads cannot be kept any more are left out.
    wanted, kept = last, list[tuple[tuple[Integers, int], ...]]()
    for own in reversed(moves):
        kept.append(tuple((states[wanted[states + step]], step) for states, step in own))
        wanted = np.zeros(len(used), dtype=np.bool_)
        for states, _ in kept[-1]:
            wanted[states] = True
    return LoadSums(len(used), tuple(reversed(kept)), np.flatnonzero(last))


def sets_of(tuples: Integers) -> tuple[Integers, Integers]:
    """The sets of reviewers among some tuples, `[set, slot]`, and the set of each tuple.

    >>> sets, index = sets_of(np.array([[0, 1], [1, 0], [2, 0]]))
    >>> sets.tolist(), index.tolist()
    ([[0, 1], [0, 2]], [0, 0, 1])
    """
    sets, index = np.unique(np.sort(tuples, axis=1), axis=0, return_inverse=True)
    return sets, index.ravel()


def by_set(weights: Array, index: Integers, sets: int) -> Array:
    """The weight `[set, case]` of each set, from those of its tuples, `[tuple, case]`."""
    summed = np.zeros((sets, weights.shape[1]))
    np.add.at(summed, index, weights)
    return summed


def components(pools: Sequence[Sequence[str]]) -> Integers:
    """The connected component of each paper: papers that share people, directly or through others."""
    people = {name: len(pools) + place for place, name in enumerate({n for pool in pools for n in pool})}
    row = [number for number, pool in enumerate(pools) for _ in pool]
    column = [people[name] for pool in pools for name in pool]
    size = len(pools) + len(people)
    graph = csr_array((np.ones(len(row)), (row, column)), shape=(size, size))
    return np.asarray(connected_components(graph, directed=False)[1][: len(pools)], dtype=np.int64)
