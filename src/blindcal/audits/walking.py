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

Many walks run at once, from different assignments that have nothing to do with the true one. What is stated
lies between two estimates: the guesses of half of the walks, tried on the other half, are never too good; the
likeliest author of all walks together is never too bad.
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

from blindcal.audits.couplings import (
    LOADS,
    Network,
    exact_finding,
    first_assignment,
    is_small,
    network,
)
from blindcal.audits.findings import Finding
from blindcal.audits.questions import AUTHOR
from blindcal.audits.views import CONSTANT, POLICIES, View
from blindcal.checks import Array, Integers
from blindcal.errors import InputError
from blindcal.files.disk import make_folder, read_bytes, write_bytes
from blindcal.workers import Progress, Workers, shared, silent

CHAINS, STARTS = 256, 8
# Before anything is counted every review is given away so often, on average; then so often between looks.
_WARM, _LOOK = 30, 10
_SOFT = 0.5
_LITTLE = 1e-300
# Walks that one process takes on: many steps are taken at once, whatever the number of processes.
_SIDE_BY_SIDE = 128
_MOST_BYTES = 1 << 31
AGREEMENT = 4.5
"""Starts disagree where one of them differs from the others by more standard errors than this."""


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


@dataclass(frozen=True)
class Walked:
    """What walks found: the chance that the best guess at a review's author is right, mean over reviews.

    It lies between `low` and `high`, up to the standard error. `apart`: by how many standard errors the start
    that differs most differs from all of them.
    """

    success: float
    error: float
    low: float
    high: float
    apart: float
    walks: int
    starts: int
    assignments: int

    @property
    def agrees(self) -> bool:
        return self.apart <= AGREEMENT


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


def found_by(walks: Walks) -> Walked:
    """What the walks say, as far as they have come."""
    chains = walks.seen.size
    halves = [np.arange(chains) % 4 < 2, np.arange(chains) % 4 >= 2]
    reviews = np.arange(walks.author.shape[1])
    high = float((walks.tally.sum(axis=0).max(axis=1) / max(walks.seen.sum(), _LITTLE)).mean())
    right = np.zeros(chains)
    for one, other in (halves, halves[::-1]):
        guess = walks.tally[one].sum(axis=0).argmax(axis=1)
        right[other] = walks.tally[other][:, reviews, guess].mean(axis=1)
    low, error = _ratio(right, walks.seen)
    apart = max(_differs(right, walks.seen, walks.start == one) for one in np.unique(walks.start))
    middle = 0.5 * (low + max(high, low))
    return Walked(
        success=middle,
        error=float(np.hypot(error, 0.5 * (max(high, low) - low))),
        low=low,
        high=high,
        apart=apart,
        walks=chains,
        starts=len(np.unique(walks.start)),
        assignments=round(float(walks.seen.sum())),
    )


def _ratio(right: Array, seen: Array) -> tuple[float, float]:
    """A mean over walks that counted differently much, and its standard error."""
    total = seen.sum()
    if total <= 0.0 or seen.size < 2:
        return 0.0, np.inf
    mean = right.sum() / total
    rest = right - mean * seen
    return float(mean), float(np.sqrt((rest**2).sum() * seen.size / (seen.size - 1)) / total)


def _differs(right: Array, seen: Array, mine: NDArray[np.bool_]) -> float:
    (one, error), (other, its) = _ratio(right[mine], seen[mine]), _ratio(right[~mine], seen[~mine])
    spread = np.hypot(error, its)
    if not np.isfinite(spread):
        return np.inf
    return float(abs(one - other) / spread) if spread > 0.0 else 0.0 if one == other else np.inf


def walk(
    views: Sequence[View],
    loads: Mapping[str, int],
    made: Network,
    *,
    target: float = 5e-4,
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
        found = found_by(_joined(parts))
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
    target: float = 5e-4,
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
    told = [policy for policy in policies if policy not in CONSTANT]
    if keep is not None:
        make_folder(keep)
    found: dict[str, Walked] = {}
    with progress("walking over assignments", (1 + len(told)) * most) as advance:
        for name in ("scores", *told):
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
            f"{LOADS} ({alone.walks} walks from {alone.starts} starts)",
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


_ARRAYS = ("author", "lacks", "extra", "seen", "tally", "start")


def _part(walks: Walks, chosen: Integers) -> Walks:
    return _walks({name: getattr(walks, name)[chosen] for name in _ARRAYS}, walks.rounds)


def _joined(parts: Sequence[Walks]) -> Walks:
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS}
    return _walks(joined, parts[0].rounds)


def _walks(arrays: Mapping[str, NDArray[Any]], rounds: int) -> Walks:
    author, lacks, extra, seen, tally, start = (arrays[name] for name in _ARRAYS)
    return Walks(author, lacks, extra, seen, tally, start, rounds)


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
