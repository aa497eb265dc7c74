"""The coupled adversary by Markov chain Monte Carlo: walks over assignments that meet all loads.

Somebody who knows everybody's load believes in assignments of reviewers to reviews, with the weights of
`coupled_exact.Network`. If these are too many to sum, walks draw them. The chapter has three sections.

*Flat arrays.* `FlatNetwork` has the network as arrays, so that many walks advance in one numpy step.

*Walks.* Exchanging two reviewers is hardly ever possible if pools are small, so a walk goes through
assignments in which one person has one review too many and another one too few. It takes a review of the
person with too many and gives it to a member of its pool, with each member's conditional probability given
the rest of the paper (a Gibbs step), until it meets the person who lacks a review. That is an alternating
cycle of any length that never has to be rejected. Assignment A in which v has one too many has weight W(A)
(load[v] + 1) / reviews; one that meets all loads has W(A). Detailed balance holds step by step, and only
assignments that meet all loads are counted. At every step two reviews of some paper may also exchange their
reviewers. Tuples with almost no weight, or that decisions rule out, get a little weight so that walks can
pass them; importance weights correct for it.

*Estimates.* The stated success lies between two estimates. The guesses learned from all walks except those of
one start, tested on that start, are never too good on average; the likeliest reviewer over all walks together
is never too bad. Walks start from assignments that have nothing to do with the true one. They are kept in a
file, so that a killed audit continues and ends as it would have.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blindcal.adversaries.coupled_exact import (
    LOADS,
    Network,
    exact_finding,
    first_assignment,
    is_small,
    network,
)
from blindcal.adversaries.findings import Finding
from blindcal.adversaries.single_paper import AUTHOR, CONSTANT, POLICIES, View
from blindcal.checks import Array, Integers
from blindcal.compute.parallel import Progress, Workers, no_progress, unordered_results
from blindcal.errors import InputError
from blindcal.io.atomic_files import make_folder, read_bytes, write_bytes
from blindcal.io.tables import StrPath

CHAINS, STARTS = 256, 8
# Mean number of moves of each review before anything is counted, and then between two looks at the estimates.
_WARM_UP, _BETWEEN_LOOKS = 30, 10
TARGET = 7e-4
"""The standard error of a success at which walks stop: the difference of two such is within a tenth of a
percentage point."""
MOST_STANDARD_ERRORS = 4.5
"""Starts disagree if one differs from the others by more standard errors than this. Walks that have not
converged then refuse to answer; converged ones do so with a chance of 7e-6 per start."""
# No tuple gets less than this part of the mean weight, divided by the number of papers.
_LEAST_WEIGHT = 0.5
# e to minus this is 0: the log excess of a tuple that decisions rule out.
_RULED_OUT = 1000.0
_TINY = 1e-300
# Shares that differ by no more than this are equal up to roundoff.
_ROUNDOFF = 1e-12
# Walks that advance together in one process. The number does not depend on that of processes, so results do
# not either.
_SIDE_BY_SIDE = 128
_MOST_BYTES = 1 << 31


@dataclass(frozen=True, eq=False, repr=False)
class FlatNetwork:
    """A network as flat arrays.

    For each tuple: its weight in the walk, and the log of the ratio of that weight to its true weight, which
    is `_RULED_OUT` if that is 0. For each review: its paper, the stride of its reviewer in the paper's
    weights, the size of its pool, and the members who can be named.
    """

    weight: Array
    log_excess: Array
    offset: Integers
    paper: Integers
    step: Integers
    size: Integers
    member: Integers
    load: Integers
    named: NDArray[np.bool_]

    @property
    def digest(self) -> str:
        parts = (self.weight, self.offset, self.paper, self.member, self.load)
        return sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()


def flat_network(network: Network) -> FlatNetwork:
    """The flat arrays of a network.

    No tuple gets less than a small part of the mean weight. The part is so small that all papers together are
    seldom in such a tuple, which keeps the importance weights even.
    """
    least = _LEAST_WEIGHT / len(network.tuples)
    # A first cell without weight stands for members that a pool does not have.
    weights, logs, offsets, steps = [np.zeros(1)], [np.zeros(1)], [1], []
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
        proposed = np.where(distinct, np.maximum(flat, least), 0.0)
        true = distinct & (flat > 0.0)
        excess = np.log(np.where(true, proposed, 1.0)) - np.log(np.where(true, flat, 1.0))
        weights.append(proposed)
        logs.append(np.where(distinct & ~true, _RULED_OUT, excess))
        offsets.append(offsets[-1] + flat.size)
        steps.append(step)
    sizes, papers = np.array(list(map(len, network.members))), np.arange(len(steps)).repeat(network.slots)
    member = np.zeros((sizes.size, sizes.max()), dtype=np.int64)
    named = np.zeros(member.shape, dtype=np.bool_)
    for number, members in enumerate(network.members):
        member[number, : len(members)] = members
        named[number, : len(members)] = network.named[number]
    return FlatNetwork(
        weight=np.concatenate(weights),
        log_excess=np.concatenate(logs),
        offset=np.array(offsets[:-1]),
        paper=papers,
        step=np.concatenate(steps),
        size=sizes[papers],
        member=member,
        load=network.load,
        named=named[papers],
    )


@dataclass(eq=False, repr=False)
class Walks:
    """Many walks.

    `author[walk, review]` is the reviewer, as a member of the pool. `lacks` and `extra` are the people with
    one review too few and too many (-1: nobody). `seen` is the weighted number of assignments counted so far,
    and `tally[walk, review, member]` the part of it in which a member wrote a review.
    """

    author: Integers
    lacks: Integers
    extra: Integers
    seen: Array
    tally: Array
    start: Integers
    rounds: int = 0

    def arrays(self, chosen: Integers | slice = slice(None)) -> dict[str, Any]:
        """The arrays of some of the walks."""
        return {name: value[chosen] for name, value in vars(self).items() if name != "rounds"}


def start_walks(made: Network, table: FlatNetwork, *, chains: int, starts: int, seed: int) -> Walks:
    """Walks from assignments that meet the loads and are independent of scores and decisions."""
    first, pools, loads = [], made.pools, dict(zip(made.people, made.load.tolist(), strict=True))
    for number in range(starts):
        drawn = first_assignment(pools, loads, np.random.default_rng([seed, number]))
        papers = zip(pools, drawn, strict=True)
        first.append([pool.index(name) for (pool, _), names in papers for name in names])
    start = np.arange(chains) % starts
    author = np.array(first, dtype=np.int64)[start]
    tally = np.zeros((chains, table.paper.size, table.member.shape[1]))
    return Walks(author, np.full(chains, -1), np.full(chains, -1), np.zeros(chains), tally, start)


def advance_walks(walks: Walks, table: FlatNetwork, steps: int, seed: int) -> Walks:
    """The same walks, each so many steps further."""
    rng = np.random.default_rng([seed, walks.rounds])
    stepper = _Stepper(walks, table)
    for _ in range(steps):
        stepper.step(rng)
    stepper.credit_everyone()
    walks.rounds += 1
    return walks


def without_counts(walks: Walks) -> Walks:
    """The walks at their present assignments, with nothing counted: the end of the warm-up."""
    return replace(walks, seen=np.zeros_like(walks.seen), tally=np.zeros_like(walks.tally))


class _Stepper:
    """Walks, and what their steps need, each array flat, one walk after the other.

    `of_review`, `of_paper`, `of_person` and `of_list` are the offsets of each walk's part.
    """

    def __init__(self, walks: Walks, table: FlatNetwork) -> None:
        self.table, self.lacks, self.extra, self.seen = table, walks.lacks, walks.extra, walks.seen
        (chains, reviews), papers, people = walks.author.shape, table.offset.size, table.load.size
        self.chain, self.width = np.arange(chains), table.member.shape[1]
        self.of_review, self.of_paper = self.chain * reviews, self.chain * papers
        self.of_person, self.of_list = self.chain * people, self.chain * (reviews + people)
        # Views: what changes here changes in the walks.
        self.author, self.tally = walks.author.reshape(-1), walks.tally.reshape(-1)
        self.last = np.repeat(self.seen, reviews)
        self.column, self.member = np.arange(self.width), table.member.ravel()
        code = np.zeros((chains, papers), dtype=np.int64) + table.offset
        for review in range(reviews):
            code[:, table.paper[review]] += walks.author[:, review] * table.step[review]
        self.excess, self.code = table.log_excess[code].sum(axis=1), code.ravel()
        self.first = np.searchsorted(table.paper, table.paper)
        self.slots = np.bincount(table.paper)[table.paper]
        self.several, self.uneven = bool(self.slots.max() > 1), bool((table.size < self.width).any())
        self._list_reviews(table.member[table.paper, walks.author])

    def _list_reviews(self, who: Integers) -> None:
        """Lists everybody's reviews, and the position of each review in that list.

        A person's part of a walk's list has space for one review more than their load.
        """
        (chains, reviews), load = who.shape, self.table.load
        self.part = np.concatenate([[0], np.cumsum(load + 1)[:-1]])
        order = np.argsort(who, axis=1, kind="stable")
        ranked = np.take_along_axis(who, order, axis=1)
        count = np.zeros((chains, load.size), dtype=np.int64)
        np.add.at(count, (self.chain[:, None], who), 1)
        begin = np.cumsum(count, axis=1) - count
        rank = np.arange(reviews) - np.take_along_axis(begin, ranked, axis=1)
        has = np.zeros((chains, reviews + load.size), dtype=np.int64)
        has[self.chain[:, None], self.part[ranked] + rank] = order
        position = np.zeros((chains, reviews), dtype=np.int64)
        position[self.chain[:, None], order] = rank
        self.count, self.has, self.position = count.ravel(), has.ravel(), position.ravel()

    def step(self, rng: np.random.Generator) -> None:
        """Gives one review of each walk to a member of its pool, by a Gibbs step."""
        table = self.table
        whole = self.extra < 0
        first, second = rng.random((2, self.chain.size))
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
        self._move(moved, review[moved], new[moved])
        if self.several:
            self._exchange(rng)
        # Counted are assignments that meet all loads.
        counted = np.flatnonzero(self.extra < 0)
        self.seen[counted] += np.exp(-self.excess[counted])

    def _exchange(self, rng: np.random.Generator) -> None:
        """Exchanges the reviewers of two reviews of a paper, by the conditional probability of each order."""
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
        self._recode(chain, paper, after[chain])
        left, right = self.position[here], self.position[there]
        of_list, members = self.of_list[chain], paper * self.width
        self.has[of_list + self.part[self.member[members + a]] + left] = other
        self.has[of_list + self.part[self.member[members + b]] + right] = one
        self.position[here], self.position[there] = right, left

    def _move(self, chain: Integers, review: Integers, new: Integers) -> None:
        paper, of_review, of_list = self.table.paper[review], self.of_review[chain], self.of_list[chain]
        here = of_review + review
        old = self.author[here]
        self._credit(chain, here, old)
        self.author[here] = new
        self._recode(
            chain, paper, self.code[self.of_paper[chain] + paper] + (new - old) * self.table.step[review]
        )
        giver, taker = self.member[paper * self.width + old], self.member[paper * self.width + new]
        gives, takes = self.of_person[chain] + giver, self.of_person[chain] + taker
        # The last review of the giver's list fills the gap of the review that was given away.
        end, room, gap = self.count[gives] - 1, self.count[takes], self.position[here]
        list_of_giver = of_list + self.part[giver]
        last = self.has[list_of_giver + end]
        self.has[list_of_giver + gap] = last
        self.position[of_review + last] = gap
        self.count[gives] = end
        self.has[of_list + self.part[taker] + room] = review
        self.position[here] = room
        self.count[takes] = room + 1
        lacks = np.where(self.extra[chain] < 0, giver, self.lacks[chain])
        closed = lacks == taker
        self.lacks[chain] = np.where(closed, -1, lacks)
        self.extra[chain] = np.where(closed, -1, taker)

    def _recode(self, chain: Integers, paper: Integers, after: Integers) -> None:
        place = self.of_paper[chain] + paper
        before = self.code[place]
        self.code[place] = after
        self.excess[chain] += self.table.log_excess[after] - self.table.log_excess[before]

    def _credit(self, chain: Integers, here: Integers, author: Integers) -> None:
        """Credits reviewers with the assignments counted since their review last changed hands.

        Updating the whole tally at every step would cost far more than updating changed reviews only.
        """
        seen = self.seen[chain]
        self.tally[here * self.width + author] += seen - self.last[here]
        self.last[here] = seen

    def credit_everyone(self) -> None:
        """Credits every reviewer up to now."""
        every = np.arange(self.author.size)
        self._credit(every // (self.author.size // self.chain.size), every, self.author)


@dataclass(frozen=True)
class GuessEstimate:
    """The estimated chance that the best guess at a reviewer is right, mean over reviews.

    It lies between `low` and `high`, up to the standard error. `apart` is the largest difference of one start
    from the others, in standard errors.
    """

    success: float
    error: float
    low: float
    high: float
    apart: float

    @property
    def agrees(self) -> bool:
        return self.apart <= MOST_STANDARD_ERRORS


def estimate_success(
    tally: Array, seen: Array, start: Integers, named: NDArray[np.bool_] | bool = True
) -> GuessEstimate:
    """The success of the best guesses, from counts of chains.

    Chains from `start[chain]` have `seen[chain]` states; in `tally[chain, review, member]` of them a member
    wrote a review. Only members who are `named[review, member]` can be guessed.

    >>> tally = np.array([[[3.0, 1.0]], [[3.0, 1.0]], [[1.0, 3.0]], [[1.0, 3.0]]])
    >>> estimate_success(tally, np.full(4, 4.0), np.array([0, 0, 1, 1])).low
    0.25
    """
    reviews = np.arange(tally.shape[1])
    whole = tally.sum(axis=0) * named
    high = float((whole.max(axis=1) / max(seen.sum(), _TINY)).mean())
    right = np.zeros(seen.size)
    for origin in np.unique(start):
        own = start == origin
        guess = (whole - tally[own].sum(axis=0) * named).argmax(axis=1)
        can = np.take_along_axis(np.broadcast_to(named, whole.shape), guess[:, None], axis=1)[:, 0]
        right[own] = (tally[own][:, reviews, guess] * can).mean(axis=1)
    low, error = _ratio_estimate(right, seen)
    # The agreement of starts is tested with the same guesses for all of them.
    same = tally[:, reviews, whole.argmax(axis=1)].mean(axis=1)
    return GuessEstimate(
        success=0.5 * (low + max(high, low)),
        error=float(np.hypot(error, 0.5 * (max(high, low) - low))),
        low=low,
        high=high,
        apart=_largest_disagreement(same, seen, start),
    )


def _ratio_estimate(right: Array, seen: Array) -> tuple[float, float]:
    """A ratio estimate over walks of different total weight, and its standard error."""
    total = seen.sum()
    if total <= 0.0 or seen.size < 2:
        return 0.0, np.inf
    mean = right.sum() / total
    rest = right - mean * seen
    return float(mean), float(np.sqrt((rest**2).sum() * seen.size / (seen.size - 1)) / total)


def _largest_disagreement(right: Array, seen: Array, start: Integers) -> float:
    """The largest difference of one start from the others, in standard errors.

    The variance within starts is pooled over all of them, because each may have few walks.
    """
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
        if gap > _ROUNDOFF:
            worst = max(worst, gap / error if error > 0.0 else np.inf)
    return float(worst)


def walk(
    made: Network,
    *,
    target: float = TARGET,
    most: int = 40,
    chains: int = CHAINS,
    starts: int = STARTS,
    seed: int = 0,
    kept: StrPath | None = None,
    workers: Workers = 1,
    advance: Callable[[int], None] | None = None,
) -> GuessEstimate:
    """Walks until the standard error is at most `target`, or `most` looks were taken.

    If a file is `kept` (it is confidential), an interrupted run continues from it and ends as it would have:
    the random numbers of each round follow from the seed and the number of the round.
    """
    table = flat_network(made)
    many = 1 if not isinstance(workers, int) or workers <= 1 or find_spec("joblib") is None else workers
    groups = np.array_split(np.arange(chains), max(1, chains // _SIDE_BY_SIDE))
    walks = _read_walks(kept, table, chains, starts, seed)
    if walks is None:
        walks = start_walks(made, table, chains=chains, starts=starts, seed=seed)
    while True:
        looks, estimate = walks.rounds, estimate_success(walks.tally, walks.seen, walks.start, table.named)
        if looks and (looks > most or (estimate.error <= target and looks > 2)):
            return estimate
        steps = (_BETWEEN_LOOKS if looks else _WARM_UP) * table.paper.size
        jobs = [(number, Walks(**walks.arrays(group), rounds=looks)) for number, group in enumerate(groups)]
        onward = partial(_advance_job, table=table, steps=steps, seed=seed)
        done = enumerate(map(onward, jobs)) if many == 1 else unordered_results(onward, jobs, many)
        parts = [part.arrays() for _, part in sorted(done, key=itemgetter(0))]
        joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        walks = Walks(**joined, rounds=looks + 1)
        if not looks:
            walks = without_counts(walks)
        _write_walks(kept, walks, table, seed)
        if advance is not None and looks < most:
            advance(1)


def coupled_findings(
    views: Sequence[View],
    loads: Mapping[str, int],
    policies: Sequence[str] = POLICIES,
    *,
    keep: StrPath | None = None,
    target: float = TARGET,
    most: int = 40,
    workers: Workers = 1,
    progress: Progress = no_progress,
) -> list[Finding]:
    """The gain of an adversary who knows all loads from published decisions.

    It is exact if everything can be summed, else estimated by walks, which continue from the folder `keep` if
    they were interrupted. Raw and public decisions do not depend on the reviewers, so they add nothing.
    """
    if is_small(views, loads):
        return [exact_finding(views, loads, policy) for policy in policies]
    if not all(view.outcome is not None for view in views):
        raise InputError("`coupled` needs decisions that were published: before the draw there are too many")
    revealing = [policy for policy in policies if policy not in CONSTANT]
    if keep is not None:
        make_folder(keep)
    estimates = dict[str, GuessEstimate]()
    with progress("walking over assignments", (1 + len(revealing)) * most) as advance:
        for name in ("scores", *revealing):
            masses = [view.weight if name == "scores" else view.mass(name)[0] for view in views]
            estimates[name] = walk(
                network(views, loads, masses),
                target=target,
                most=most,
                kept=None if keep is None else Path(keep) / f"{name}.walks",
                workers=workers,
                advance=advance,
            )
    if not all(estimate.agrees for estimate in estimates.values()):
        raise InputError(
            "`coupled`: walks from different starts do not agree, so nothing can be said of this adversary"
        )
    apart = max(estimate.apart for estimate in estimates.values())
    walks = f"{CHAINS} walks from {STARTS} starts"
    name = f"{LOADS} ({walks}, which differ by at most {apart:.1f} standard errors)"
    findings, alone = list[Finding](), estimates["scores"]
    for policy in policies:
        decided = estimates.get(policy, alone)
        error = 0.0 if decided is alone else float(np.hypot(alone.error, decided.error))
        findings.append(Finding(name, AUTHOR, policy, alone.success, decided.success, error))
    return findings


def _advance_job(job: tuple[int, Walks], table: FlatNetwork, steps: int, seed: int) -> Walks:
    number, part = job
    return advance_walks(part, table, steps, seed * 1009 + number)


def _write_walks(kept: StrPath | None, walks: Walks, table: FlatNetwork, seed: int) -> None:
    if kept is not None:
        data, about = io.BytesIO(), np.array([walks.rounds, seed])
        np.savez(data, about=about, digest=np.array(table.digest), **walks.arrays())
        write_bytes(kept, data.getvalue(), confidential=True, replace=True)


def _read_walks(
    kept: StrPath | None, table: FlatNetwork, chains: int, starts: int, seed: int
) -> Walks | None:
    """The walks in a file; None if there is no file."""
    if kept is None or not Path(kept).exists():
        return None
    try:
        with np.load(io.BytesIO(read_bytes(kept, _MOST_BYTES)), allow_pickle=False) as data:
            arrays = dict(data)
            (rounds, drawn), digest = arrays.pop("about").tolist(), str(arrays.pop("digest"))
            walks = Walks(**arrays, rounds=rounds)
    except (ValueError, KeyError, OSError, TypeError):
        raise InputError(f"{os.fspath(kept)} holds no walks of an audit") from None
    same = (digest, drawn, walks.seen.size) == (table.digest, seed, chains)
    if not same or len(np.unique(walks.start)) != starts:
        raise InputError(f"{os.fspath(kept)} holds the walks of another audit: give another file")
    return walks
