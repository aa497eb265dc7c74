"""Assignments drawn by walks: what somebody who knows all loads believes of a conference too large to sum up.

Exchanging two reviewers is hardly ever possible where pools are small, so a walk goes through assignments in
which one person has one review too many and another one too few. It takes a review of whoever has too many
and gives it to a member of its pool, by the chance that each has given the rest of the paper, until it meets
the person who lacks one: an alternating cycle, of any length, that never has to be rejected. Assignment A
with v too many has weight W(A) (load[v] + 1) / reviews, one that meets all loads has W(A); detailed balance
holds step by step, and only assignments that meet all loads are counted.

With every step two reviews of some paper may also exchange their authors. Tuples that weigh next to nothing,
or that decisions rule out (full calibration), are given a little weight, so that walks can pass; an
assignment then counts by what its tuples weigh in truth over what they were given.

Many walks run at once, from different assignments that have nothing to do with the true one; `looking` says
what they found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from blindcal.audits.couplings import (
    Network,
    first_assignment,
)
from blindcal.audits.views import View
from blindcal.checks import Array, Integers
from blindcal.errors import InputError

_SOFT = 0.5


@dataclass(frozen=True, eq=False)
class Table:
    """A network as flat arrays. Of each tuple what it is given as weight, whether it is ruled out, and by how
    much that is more than it has; of each review its paper, the step of its author in the paper's weights,
    and the size of its pool."""

    weight: Array = field(repr=False)
    ruled_out: Integers = field(repr=False)
    log_excess: Array = field(repr=False)
    offset: Integers = field(repr=False)
    paper: Integers = field(repr=False)
    step: Integers = field(repr=False)
    size: Integers = field(repr=False)
    member: Integers = field(repr=False)
    load: Integers = field(repr=False)

    @property
    def digest(self) -> str:
        parts = (self.weight, self.offset, self.paper, self.member, self.load)
        return sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()


@dataclass(frozen=True, eq=False)
class Walks:
    """Where so many walks stand: `author[walk, review]` (members of pools), who lacks a review and who has
    one too many (-1: nobody); the assignments `seen` so far, as they count, and of them in
    `tally[walk, review, member]` those in which a member wrote a review.
    """

    author: Integers = field(repr=False)
    lacks: Integers = field(repr=False)
    extra: Integers = field(repr=False)
    seen: Array = field(repr=False)
    tally: Array = field(repr=False)
    start: Integers = field(repr=False)
    rounds: int = 0


def table_of(network: Network) -> Table:
    """The flat arrays of a network. No tuple is given less than a part of the mean weight, so small that all
    papers together are seldom in such a tuple."""
    least = _SOFT / len(network.tuples)
    weights, outs, logs, offsets, at = [np.zeros(1)], [np.zeros(1, dtype=np.int64)], [np.zeros(1)], [], 1
    papers, steps, sizes = [], [], []
    most = max(len(members) for members in network.members)
    for number, (rows, weight) in enumerate(zip(network.tuples, network.weights, strict=True)):
        size, slots = len(network.members[number]), rows.shape[1]
        step = size ** np.arange(slots - 1, -1, -1)
        grid = np.indices((size,) * slots).reshape(slots, -1)
        distinct = (np.diff(np.sort(grid, axis=0), axis=0) != 0).all(axis=0)
        flat = np.zeros(size**slots)
        flat[rows @ step] = weight
        flat /= flat[distinct].mean()
        given = np.where(distinct, np.maximum(flat, least), 0.0)
        out = distinct & (flat <= 0.0)
        possible = distinct & ~out
        logs.append(np.log(np.where(possible, given, 1.0)) - np.log(np.where(possible, flat, 1.0)))
        weights.append(given)
        outs.append(out.astype(np.int64))
        offsets.append(at)
        at += flat.size
        papers += [number] * slots
        steps += step.tolist()
        sizes += [size] * slots
    member = np.zeros((len(network.members), most), dtype=np.int64)
    for number, members in enumerate(network.members):
        member[number, : len(members)] = members
    return Table(
        np.concatenate(weights),
        np.concatenate(outs),
        np.concatenate(logs),
        np.array(offsets),
        np.array(papers),
        np.array(steps),
        np.array(sizes),
        member,
        network.load,
    )


def started(
    views: Sequence[View], loads: Mapping[str, int], table: Table, *, chains: int, starts: int, seed: int
) -> Walks:
    """Walks from so many assignments that meet the loads and know nothing of scores or decisions."""
    first = []
    for number in range(starts):
        found = first_assignment(views, loads, np.random.default_rng([seed, number]))
        if found is None:
            raise InputError("`loads` cannot be met by any assignment from these pools")
        first.append(
            [view.names.index(name) for view, names in zip(views, found, strict=True) for name in names]
        )
    start = np.arange(chains) % starts
    author = np.array(first, dtype=np.int64)[start]
    nobody, none = np.full(chains, -1), np.zeros(chains)
    tally = np.zeros((chains, table.paper.size, table.member.shape[1]))
    return Walks(author, nobody, nobody.copy(), none, tally, start)


def walked_on(walks: Walks, table: Table, steps: int, seed: int) -> Walks:
    """The walks after so many steps each, with what they passed counted."""
    rng = np.random.default_rng([seed, walks.rounds])
    state = _State(walks, table)
    for _ in range(steps):
        state.step(rng)
    return state.done()


class _State:
    """The arrays of walks while they go on."""

    def __init__(self, walks: Walks, table: Table) -> None:
        self.table, self.walks = table, walks
        self.author, self.tally = walks.author.copy(), walks.tally.copy()
        self.lacks, self.extra, self.seen = walks.lacks.copy(), walks.extra.copy(), walks.seen.copy()
        chains, reviews = self.author.shape
        self.chain, self.last = np.arange(chains), np.repeat(self.seen[:, None], reviews, axis=1)
        self.column = np.arange(table.member.shape[1])
        self.code = np.zeros((chains, table.offset.size), dtype=np.int64) + table.offset
        for review in range(reviews):
            self.code[:, table.paper[review]] += self.author[:, review] * table.step[review]
        self.out = table.ruled_out[self.code].sum(axis=1)
        self.excess = table.log_excess[self.code].sum(axis=1)
        self.first = np.searchsorted(table.paper, table.paper)
        self.slots = np.bincount(table.paper)[table.paper]
        self._list_reviews()

    def _list_reviews(self) -> None:
        """The reviews that everybody has, and where in this list each review stands."""
        table, (chains, reviews) = self.table, self.author.shape
        people, room = table.load.size, int(table.load.max()) + 1
        who = table.member[table.paper, self.author]
        order = np.argsort(who, axis=1, kind="stable")
        ranked = np.take_along_axis(who, order, axis=1)
        self.count = np.zeros((chains, people), dtype=np.int64)
        np.add.at(self.count, (self.chain[:, None], who), 1)
        ends = np.cumsum(self.count, axis=1)
        place = np.arange(reviews) - np.take_along_axis(ends - self.count, ranked, axis=1)
        self.has = np.zeros((chains, people, room), dtype=np.int64)
        self.has[self.chain[:, None], ranked, place] = order
        self.place = np.zeros((chains, reviews), dtype=np.int64)
        self.place[self.chain[:, None], order] = place

    def step(self, rng: np.random.Generator) -> None:
        """One review of each walk is given to somebody, by the chance that each of its pool has."""
        table, chain = self.table, self.chain
        whole = self.extra < 0
        first, second = rng.random((2, chain.size))
        many = np.where(whole, 0, self.extra)
        held = self.has[chain, many, (first * self.count[chain, many]).astype(np.int64)]
        review = np.where(whole, (first * table.paper.size).astype(np.int64), held)
        paper, old, step = table.paper[review], self.author[chain, review], table.step[review]
        code = self.code[chain, paper]
        inside = self.column < table.size[review][:, None]
        cells = np.where(inside, code[:, None] + (self.column - old[:, None]) * step[:, None], 0)
        ladder = np.cumsum(table.weight[cells], axis=1)
        new = (ladder <= (second * ladder[:, -1])[:, None]).sum(axis=1)
        new = np.minimum(new, table.size[review] - 1)
        moved = np.flatnonzero(new != old)
        self._move(moved, review[moved], paper[moved], old[moved], new[moved], step[moved], whole[moved])
        if self.slots.max() > 1:
            self._exchange(rng)
        self.seen += np.where((self.extra < 0) & (self.out == 0), np.exp(-self.excess), 0.0)

    def _exchange(self, rng: np.random.Generator) -> None:
        """Two reviews of a paper have their authors exchanged, by the chance that each order has."""
        table, (first, second, third) = self.table, rng.random((3, self.chain.size))
        one = (first * table.paper.size).astype(np.int64)
        slots = self.slots[one]
        step = 1 + (second * (slots - 1)).astype(np.int64)
        other = self.first[one] + (one - self.first[one] + step) % slots
        paper, a, b = table.paper[one], self.author[self.chain, one], self.author[self.chain, other]
        before = self.code[self.chain, paper]
        after = before + (b - a) * (table.step[one] - table.step[other])
        old, new = table.weight[before], table.weight[after]
        chain = np.flatnonzero((a != b) & (third * (old + new) < new))
        one, other, paper, a, b = one[chain], other[chain], paper[chain], a[chain], b[chain]
        self._credit(chain, one, a)
        self._credit(chain, other, b)
        self.author[chain, one], self.author[chain, other] = b, a
        self._recode(chain, paper, before[chain], after[chain])
        left, right = self.place[chain, one], self.place[chain, other]
        self.has[chain, table.member[paper, a], left] = other
        self.has[chain, table.member[paper, b], right] = one
        self.place[chain, one], self.place[chain, other] = right, left

    def _credit(self, chain: Integers, review: Integers, author: Integers) -> None:
        """Count what was seen while these reviews had these authors."""
        self.tally[chain, review, author] += self.seen[chain] - self.last[chain, review]
        self.last[chain, review] = self.seen[chain]

    def _recode(self, chain: Integers, paper: Integers, before: Integers, after: Integers) -> None:
        table = self.table
        self.code[chain, paper] = after
        self.out[chain] += table.ruled_out[after] - table.ruled_out[before]
        self.excess[chain] += table.log_excess[after] - table.log_excess[before]

    def _move(
        self,
        chain: Integers,
        review: Integers,
        paper: Integers,
        old: Integers,
        new: Integers,
        step: Integers,
        whole: NDArray[np.bool_],
    ) -> None:
        table = self.table
        self._credit(chain, review, old)
        self.author[chain, review] = new
        before = self.code[chain, paper]
        self._recode(chain, paper, before, before + (new - old) * step)
        giver, taker = table.member[paper, old], table.member[paper, new]
        # The last review of the giver's list takes the place of the one given away.
        end = self.count[chain, giver] - 1
        gap, last = self.place[chain, review], self.has[chain, giver, end]
        self.has[chain, giver, gap] = last
        self.place[chain, last] = gap
        self.count[chain, giver] = end
        room = self.count[chain, taker]
        self.has[chain, taker, room] = review
        self.place[chain, review] = room
        self.count[chain, taker] = room + 1
        lacks = np.where(whole, giver, self.lacks[chain])
        closed = lacks == taker
        self.lacks[chain] = np.where(closed, -1, lacks)
        self.extra[chain] = np.where(closed, -1, taker)

    def done(self) -> Walks:
        """What was passed since an author last changed is counted too."""
        reviews = np.arange(self.author.shape[1])
        self.tally[self.chain[:, None], reviews, self.author] += self.seen[:, None] - self.last
        return replace(
            self.walks,
            author=self.author,
            lacks=self.lacks,
            extra=self.extra,
            seen=self.seen,
            tally=self.tally,
            rounds=self.walks.rounds + 1,
        )


def fresh(walks: Walks) -> Walks:
    """The walks where they stand, with nothing counted."""
    return replace(walks, seen=np.zeros_like(walks.seen), tally=np.zeros_like(walks.tally))
