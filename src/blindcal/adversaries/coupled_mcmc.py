"""Walks over assignments -> what somebody who knows all loads gains, look by look until it is precise enough.

What is stated lies between two estimates: the guesses of all walks but those from one start, tried on these,
are never too good; the likeliest author of all walks together is never too bad. Where few people and loads
allow it, everything is summed up instead (`couplings`). Walks are kept in a file, and go on from it.

Assignments drawn by walks: what somebody who knows all loads believes of a conference too large to sum up.

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

import io
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blindcal.adversaries.coupled_exact import (
    LOADS,
    Network,
    all_loads,
    exact_finding,
    first_assignment,
    is_small,
    network,
)
from blindcal.adversaries.findings import Finding
from blindcal.adversaries.paper_view import CONSTANT, POLICIES, View
from blindcal.adversaries.single_paper import AUTHOR
from blindcal.checks import Array, Integers
from blindcal.compute.parallel import Progress, Workers, shared, silent
from blindcal.errors import InputError
from blindcal.io.atomic_files import make_folder, read_bytes, write_bytes

_SOFT = 0.5


@dataclass(frozen=True, eq=False)
class Table:
    """A network as flat arrays. Of each tuple what it is given as weight, whether it is ruled out, and by how
    much that is more than it has; of each review its paper, the step of its author in the paper's weights,
    the size of its pool, and which members of it can be named."""

    weight: Array = field(repr=False)
    ruled_out: Integers = field(repr=False)
    log_excess: Array = field(repr=False)
    offset: Integers = field(repr=False)
    paper: Integers = field(repr=False)
    step: Integers = field(repr=False)
    size: Integers = field(repr=False)
    member: Integers = field(repr=False)
    load: Integers = field(repr=False)
    named: NDArray[np.bool_] = field(repr=False)

    @property
    def digest(self) -> str:
        parts = (self.weight, self.offset, self.paper, self.member, self.load)
        return sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()


@dataclass(frozen=True, eq=False)
class Walks:
    """Where this many walks stand: `author[walk, review]` (members of pools), who lacks a review and who has
    one too many (-1: nobody); the assignments `seen` so far, as they count, and of them in
    `tally[walk, review, member]` those in which a member wrote a review; one of them, by chance, is `drawn`.
    """

    author: Integers = field(repr=False)
    lacks: Integers = field(repr=False)
    extra: Integers = field(repr=False)
    seen: Array = field(repr=False)
    tally: Array = field(repr=False)
    start: Integers = field(repr=False)
    drawn: Integers = field(repr=False)
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
        # `*` may have written several reviews of a paper.
        alone = np.where(network.named[number][grid], grid, -1 - np.arange(slots)[:, None])
        distinct = (np.diff(np.sort(alone, axis=0), axis=0) != 0).all(axis=0)
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
    named = np.zeros(member.shape, dtype=np.bool_)
    for number, members in enumerate(network.members):
        member[number, : len(members)] = members
        named[number, : len(members)] = network.named[number]
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
        named[papers],
    )


def started(
    views: Sequence[View], loads: Mapping[str, int], table: Table, *, chains: int, starts: int, seed: int
) -> Walks:
    """Walks from this many assignments that meet the loads and know nothing of scores or decisions."""
    first, loads = [], all_loads(views, loads)
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
    return Walks(author, nobody, nobody.copy(), none, tally, start, author.copy())


def walked_on(walks: Walks, table: Table, steps: int, seed: int) -> Walks:
    """The walks after this many steps each, with what they passed counted."""
    rng = np.random.default_rng([seed, walks.rounds])
    state = _State(walks, table)
    for _ in range(steps):
        state.step(rng)
    return state.done()


class _State:
    """The arrays of walks while they go on. Each is flat, one walk after the other: `of_review`, `of_paper`,
    `of_person` and `of_list` are where a walk's part begins."""

    def __init__(self, walks: Walks, table: Table) -> None:
        self.table, self.walks = table, walks
        (chains, reviews), papers, people = walks.author.shape, table.offset.size, table.load.size
        self.chain, self.width = np.arange(chains), table.member.shape[1]
        self.of_review, self.of_paper = self.chain * reviews, self.chain * papers
        self.of_person, self.of_list = self.chain * people, self.chain * (reviews + people)
        self.author, self.tally, self.drawn = walks.author.ravel(), walks.tally.ravel(), walks.drawn.copy()
        self.author, self.tally = self.author.copy(), self.tally.copy()
        self.lacks, self.extra, self.seen = walks.lacks.copy(), walks.extra.copy(), walks.seen.copy()
        self.last = np.repeat(self.seen, reviews)
        self.column, self.member = np.arange(self.width), table.member.ravel()
        code = np.zeros((chains, papers), dtype=np.int64) + table.offset
        for review in range(reviews):
            code[:, table.paper[review]] += walks.author[:, review] * table.step[review]
        self.out, self.excess = table.ruled_out[code].sum(axis=1), table.log_excess[code].sum(axis=1)
        self.code = code.ravel()
        self.first = np.searchsorted(table.paper, table.paper)
        self.slots = np.bincount(table.paper)[table.paper]
        self.several, self.uneven = bool(self.slots.max() > 1), bool((table.size < self.width).any())
        self._list_reviews()

    def _list_reviews(self) -> None:
        """The reviews that everybody has, and where in this list each review stands: a person's part of a
        walk's list has room for one more than their load."""
        table, (chains, reviews) = self.table, self.walks.author.shape
        people = table.load.size
        self.part = np.concatenate([[0], np.cumsum(table.load + 1)[:-1]])
        who = table.member[table.paper, self.walks.author]
        order = np.argsort(who, axis=1, kind="stable")
        ranked = np.take_along_axis(who, order, axis=1)
        count = np.zeros((chains, people), dtype=np.int64)
        np.add.at(count, (self.chain[:, None], who), 1)
        begin = np.cumsum(count, axis=1) - count
        rank = np.arange(reviews) - np.take_along_axis(begin, ranked, axis=1)
        has = np.zeros((chains, reviews + people), dtype=np.int64)
        has[self.chain[:, None], self.part[ranked] + rank] = order
        place = np.zeros((chains, reviews), dtype=np.int64)
        place[self.chain[:, None], order] = rank
        self.count, self.has, self.place = count.ravel(), has.ravel(), place.ravel()

    def step(self, rng: np.random.Generator) -> None:
        """One review of each walk is given to somebody, by the chance that each of its pool has."""
        table, chain = self.table, self.chain
        whole = self.extra < 0
        first, second = rng.random((2, chain.size))
        many = np.where(whole, 0, self.extra)
        rank = (first * self.count[self.of_person + many]).astype(np.int64)
        held = self.has[self.of_list + self.part[many] + rank]
        review = np.where(whole, (first * table.paper.size).astype(np.int64), held)
        old, step, size = self.author[self.of_review + review], table.step[review], table.size[review]
        base = self.code[self.of_paper + table.paper[review]] - old * step
        cells = base[:, None] + self.column * step[:, None]
        if self.uneven:
            cells = np.where(self.column < size[:, None], cells, 0)
        ladder = np.cumsum(table.weight[cells], axis=1)
        new = (ladder <= (second * ladder[:, -1])[:, None]).sum(axis=1)
        new = np.minimum(new, size - 1)
        moved = np.flatnonzero(new != old)
        self._move(moved, review[moved], old[moved], new[moved], step[moved], whole[moved])
        if self.several:
            self._exchange(rng)
        self._count(rng)

    def _count(self, rng: np.random.Generator) -> None:
        """Assignments that meet all loads are counted; of those counted so far each walk holds one, by
        chance, as `drawn`."""
        chain = np.flatnonzero((self.extra < 0) & (self.out == 0))
        if not chain.size:
            return
        counts = np.exp(-self.excess[chain])
        self.seen[chain] += counts
        taken = chain[rng.random(chain.size) * self.seen[chain] < counts]
        self.drawn[taken] = self.author.reshape(self.drawn.shape)[taken]

    def _exchange(self, rng: np.random.Generator) -> None:
        """Two reviews of a paper have their authors exchanged, by the chance that each order has."""
        table, (first, second, third) = self.table, rng.random((3, self.chain.size))
        one = (first * table.paper.size).astype(np.int64)
        slots, begin = self.slots[one], self.first[one]
        other = begin + (one - begin + 1 + (second * (slots - 1)).astype(np.int64)) % slots
        a, b = self.author[self.of_review + one], self.author[self.of_review + other]
        before = self.code[self.of_paper + table.paper[one]]
        after = before + (b - a) * (table.step[one] - table.step[other])
        old, new = table.weight[before], table.weight[after]
        chain = np.flatnonzero((a != b) & (third * (old + new) < new))
        one, other, a, b = one[chain], other[chain], a[chain], b[chain]
        paper, of_review = table.paper[one], self.of_review[chain]
        here, there = of_review + one, of_review + other
        self._credit(chain, here, a)
        self._credit(chain, there, b)
        self.author[here], self.author[there] = b, a
        self._recode(chain, paper, before[chain], after[chain])
        left, right = self.place[here], self.place[there]
        of_list, members = self.of_list[chain], paper * self.width
        self.has[of_list + self.part[self.member[members + a]] + left] = other
        self.has[of_list + self.part[self.member[members + b]] + right] = one
        self.place[here], self.place[there] = right, left

    def _credit(self, chain: Integers, here: Integers, author: Integers) -> None:
        """Count what was seen while these reviews had these authors."""
        seen = self.seen[chain]
        self.tally[here * self.width + author] += seen - self.last[here]
        self.last[here] = seen

    def _recode(self, chain: Integers, paper: Integers, before: Integers, after: Integers) -> None:
        table = self.table
        self.code[self.of_paper[chain] + paper] = after
        self.out[chain] += table.ruled_out[after] - table.ruled_out[before]
        self.excess[chain] += table.log_excess[after] - table.log_excess[before]

    def _move(
        self,
        chain: Integers,
        review: Integers,
        old: Integers,
        new: Integers,
        step: Integers,
        whole: NDArray[np.bool_],
    ) -> None:
        paper, of_review, of_list = self.table.paper[review], self.of_review[chain], self.of_list[chain]
        here = of_review + review
        self._credit(chain, here, old)
        self.author[here] = new
        before = self.code[self.of_paper[chain] + paper]
        self._recode(chain, paper, before, before + (new - old) * step)
        giver, taker = self.member[paper * self.width + old], self.member[paper * self.width + new]
        gives, takes = self.of_person[chain] + giver, self.of_person[chain] + taker
        # The last review of the giver's list takes the place of the one given away.
        end, room, gap = self.count[gives] - 1, self.count[takes], self.place[here]
        list_of_giver = of_list + self.part[giver]
        last = self.has[list_of_giver + end]
        self.has[list_of_giver + gap] = last
        self.place[of_review + last] = gap
        self.count[gives] = end
        self.has[of_list + self.part[taker] + room] = review
        self.place[here] = room
        self.count[takes] = room + 1
        lacks = np.where(whole, giver, self.lacks[chain])
        closed = lacks == taker
        self.lacks[chain] = np.where(closed, -1, lacks)
        self.extra[chain] = np.where(closed, -1, taker)

    def done(self) -> Walks:
        """What was passed since an author last changed is counted too."""
        here, shape = np.arange(self.author.size), self.walks.author.shape
        self.tally[here * self.width + self.author] += np.repeat(self.seen, shape[1]) - self.last
        return replace(
            self.walks,
            author=self.author.reshape(shape),
            lacks=self.lacks,
            extra=self.extra,
            seen=self.seen,
            tally=self.tally.reshape(self.walks.tally.shape),
            drawn=self.drawn,
            rounds=self.walks.rounds + 1,
        )


def fresh(walks: Walks) -> Walks:
    """The walks where they stand, with nothing counted."""
    return replace(walks, seen=np.zeros_like(walks.seen), tally=np.zeros_like(walks.tally))


CHAINS, STARTS = 256, 8
# Before anything is counted every review is given away so often, on average; then so often between looks.
_WARM, _LOOK = 30, 10
_LITTLE = 1e-300
# Shares that differ by no more than this are the same but for roundoff.
_SAME = 1e-12
# Walks that one process takes on: many steps are taken at once, whatever the number of processes.
_SIDE_BY_SIDE = 128
_MOST_BYTES = 1 << 31
TARGET = 7e-4
"""The standard error of a chance up to which walks go on: the difference of two such is within a tenth of a
percentage point."""
AGREEMENT = 4.5
"""Starts disagree where one of them differs from the others by more standard errors than this."""


@dataclass(frozen=True)
class Guessed:
    """What chains found: the chance that the best guess at a review's author is right, mean over reviews.

    It lies between `low` and `high`, up to the standard error. `apart`: by how many standard errors the start
    that differs most differs from all of them.
    """

    success: float
    error: float
    low: float
    high: float
    apart: float

    @property
    def agrees(self) -> bool:
        return self.apart <= AGREEMENT


@dataclass(frozen=True)
class Walked(Guessed):
    """What walks found. Each walk holds one of the assignments that it counted: `drawn[walk, review]`
    (members of pools), to be taken with the chances `share[walk]`."""

    walks: int
    starts: int
    assignments: int
    drawn: Integers = field(repr=False, compare=False)
    share: Array = field(repr=False, compare=False)


def found_by(walks: Walks, named: NDArray[np.bool_] | bool = True) -> Walked:
    """What the walks say, as far as they have come; of members who are `named[review, member]`."""
    return Walked(
        **vars(guessed(walks.tally, walks.seen, walks.start, named)),
        walks=walks.seen.size,
        starts=len(np.unique(walks.start)),
        assignments=round(float(walks.seen.sum())),
        drawn=walks.drawn,
        share=walks.seen / max(walks.seen.sum(), _LITTLE),
    )


def guessed(tally: Array, seen: Array, start: Integers, named: NDArray[np.bool_] | bool = True) -> Guessed:
    """What chains say that have `seen[chain]` states, from `start[chain]`, and have counted
    `tally[chain, review, member]` of them in which a member wrote a review; of members who are
    `named[review, member]`.

    >>> tally = np.array([[[3.0, 1.0]], [[3.0, 1.0]], [[1.0, 3.0]], [[1.0, 3.0]]])
    >>> guessed(tally, np.full(4, 4.0), np.array([0, 0, 1, 1])).low
    0.25
    """
    reviews = np.arange(tally.shape[1])
    whole = tally.sum(axis=0) * named
    high = float((whole.max(axis=1) / max(seen.sum(), _LITTLE)).mean())
    right = np.zeros(seen.size)
    for one in np.unique(start):
        mine = start == one
        guess = (whole - tally[mine].sum(axis=0) * named).argmax(axis=1)
        can = np.take_along_axis(np.broadcast_to(named, whole.shape), guess[:, None], axis=1)[:, 0]
        right[mine] = (tally[mine][:, reviews, guess] * can).mean(axis=1)
    low, error = _ratio(right, seen)
    # Whether starts agree is asked of the same guesses for all of them.
    same = tally[:, reviews, whole.argmax(axis=1)].mean(axis=1)
    return Guessed(
        success=0.5 * (low + max(high, low)),
        error=float(np.hypot(error, 0.5 * (max(high, low) - low))),
        low=low,
        high=high,
        apart=_apart(same, seen, start),
    )


def _ratio(right: Array, seen: Array) -> tuple[float, float]:
    """A mean over walks that counted differently much, and its standard error."""
    total = seen.sum()
    if total <= 0.0 or seen.size < 2:
        return 0.0, np.inf
    mean = right.sum() / total
    rest = right - mean * seen
    return float(mean), float(np.sqrt((rest**2).sum() * seen.size / (seen.size - 1)) / total)


def _apart(right: Array, seen: Array, start: Integers) -> float:
    """By how many standard errors the start that differs most differs from the others. How much walks from
    one start differ among themselves is estimated from all starts together: each may have few."""
    group = np.unique(start, return_inverse=True)[1]
    size, total, sums = (np.bincount(group, part) for part in (np.ones_like(seen), seen, right))
    if total.min() <= 0.0 or size.sum() <= size.size:
        return np.inf
    rest = right - (sums / total)[group] * seen
    spread = np.sqrt((rest**2).sum() / (size.sum() - size.size))
    worst = 0.0
    for one in range(size.size if size.size > 1 else 0):
        other = np.arange(size.size) != one
        gap = abs(sums[one] / total[one] - sums[other].sum() / total[other].sum())
        error = spread * np.hypot(
            np.sqrt(size[one]) / total[one], np.sqrt(size[other].sum()) / total[other].sum()
        )
        if gap > _SAME:
            worst = max(worst, gap / error if error > 0.0 else np.inf)
    return float(worst)


def walk(
    views: Sequence[View],
    loads: Mapping[str, int],
    made: Network,
    *,
    target: float = TARGET,
    most: int = 40,
    chains: int = CHAINS,
    starts: int = STARTS,
    seed: int = 0,
    kept: str | os.PathLike[str] | None = None,
    workers: Workers = 1,
    advance: Callable[[int], None] | None = None,
) -> Walked:
    """Walk until the error is at most `target`, or `most` looks were taken. Where a file is `kept` (it is
    CONFIDENTIAL), a walk that was interrupted goes on from it, and ends as it would have."""
    table = table_of(made)
    many = 1 if not isinstance(workers, int) or workers <= 1 or find_spec("joblib") is None else workers
    parts = _read(kept, table, chains, starts, seed)
    if parts is None:
        whole = started(views, loads, table, chains=chains, starts=starts, seed=seed)
        parts = [
            _part(whole, one) for one in np.array_split(np.arange(chains), max(1, chains // _SIDE_BY_SIDE))
        ]
    looks = parts[0].rounds
    while True:
        found = found_by(_joined(parts), table.named)
        if looks and (looks > most or (found.error <= target and looks > 2)):
            return found
        steps = (_WARM if looks == 0 else _LOOK) * table.paper.size
        jobs = list(enumerate(parts))
        onward = partial(_onward, table=table, steps=steps, seed=seed)
        if many == 1:
            parts = [onward(job) for job in jobs]
        else:
            parts = [part for _, part in sorted(shared(onward, jobs, many), key=lambda one: one[0])]
        if looks == 0:
            parts = [fresh(part) for part in parts]
        looks += 1
        _write(kept, parts, table, seed)
        if advance is not None and looks <= most:
            advance(1)


def coupled_findings(
    views: Sequence[View],
    loads: Mapping[str, int],
    policies: Sequence[str] = POLICIES,
    *,
    keep: str | os.PathLike[str] | None = None,
    target: float = TARGET,
    most: int = 40,
    workers: Workers = 1,
    progress: Progress = silent,
) -> list[Finding]:
    """What decisions that are published add for somebody who knows all loads: exact where everything can be
    summed, else by walks, which go on from the folder `keep` where they were interrupted.

    Raw and public decisions are the same whoever reviewed, so they add nothing.
    """
    if is_small(views, loads):
        return [exact_finding(views, loads, policy) for policy in policies]
    if not all(view.outcome is not None for view in views):
        raise InputError("`coupled` needs decisions that were published: before the toss there are too many")
    revealing = [policy for policy in policies if policy not in CONSTANT]
    if keep is not None:
        make_folder(keep)
    found: dict[str, Walked] = {}
    with progress("walking over assignments", (1 + len(revealing)) * most) as advance:
        for name in ("scores", *revealing):
            masses = [view.weight if name == "scores" else view.mass(name)[0] for view in views]
            found[name] = walk(
                views,
                loads,
                network(views, loads, masses),
                target=target,
                most=most,
                kept=None if keep is None else Path(keep) / f"{name}.walks",
                workers=workers,
                advance=advance,
            )
    if not all(one.agrees for one in found.values()):
        raise InputError(
            "`coupled`: walks from different starts do not agree, so nothing can be said of this adversary"
        )
    alone = found["scores"]
    return [
        Finding(
            f"{LOADS} ({alone.walks} walks from {alone.starts} starts, which differ by at most "
            f"{max(one.apart for one in found.values()):.1f} standard errors)",
            AUTHOR,
            policy,
            alone.success,
            found.get(policy, alone).success,
            float(np.hypot(alone.error, found[policy].error)) if policy in found else 0.0,
        )
        for policy in policies
    ]


def _onward(job: tuple[int, Walks], table: Table, steps: int, seed: int) -> Walks:
    number, part = job
    return walked_on(part, table, steps, seed * 1009 + number)


_ARRAYS = ("author", "lacks", "extra", "seen", "tally", "start", "drawn")


def _part(walks: Walks, chosen: Integers) -> Walks:
    return _walks({name: getattr(walks, name)[chosen] for name in _ARRAYS}, walks.rounds)


def _joined(parts: Sequence[Walks]) -> Walks:
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS}
    return _walks(joined, parts[0].rounds)


def _walks(arrays: Mapping[str, NDArray[Any]], rounds: int) -> Walks:
    author, lacks, extra, seen, tally, start, drawn = (arrays[name] for name in _ARRAYS)
    return Walks(author, lacks, extra, seen, tally, start, drawn, rounds)


def _write(kept: str | os.PathLike[str] | None, parts: Sequence[Walks], table: Table, seed: int) -> None:
    if kept is None:
        return
    data, joined = io.BytesIO(), _joined(parts)
    arrays = {name: getattr(joined, name) for name in _ARRAYS}
    about = np.array([parts[0].rounds, len(parts), seed])
    np.savez(data, about=about, digest=np.array(table.digest), **arrays)
    write_bytes(kept, data.getvalue(), confidential=True, replace=True)


def _read(
    kept: str | os.PathLike[str] | None, table: Table, chains: int, starts: int, seed: int
) -> list[Walks] | None:
    """The walks in a file; None if there is none."""
    if kept is None or not Path(kept).exists():
        return None
    try:
        with np.load(io.BytesIO(read_bytes(kept, _MOST_BYTES)), allow_pickle=False) as data:
            about, digest = data["about"], str(data["digest"])
            whole = _walks({name: data[name] for name in _ARRAYS}, int(about[0]))
    except (ValueError, KeyError, OSError):
        raise InputError(f"{os.fspath(kept)} holds no walks of an audit") from None
    same = digest == table.digest and whole.seen.size == chains and int(about[2]) == seed
    if not same or len(np.unique(whole.start)) != starts:
        raise InputError(f"{os.fspath(kept)} holds the walks of another audit: give another file")
    return [_part(whole, one) for one in np.array_split(np.arange(chains), int(about[1]))]
