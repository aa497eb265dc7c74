"""Loads: beliefs about a paper's reviewers for someone who knows how many reviews everybody wrote.

A load couples the papers: whoever reviewed one of them reviewed fewer of the others. If loads, or ranges of
them, are public, an assignment A of all papers has the weight `prod_i w_i(A_i)` if it keeps every load, else
0, with w_i the weight of paper i's tuple by its own scores. Tables are then planned with

    P(A_i | all scores, loads) ~ w_i(A_i) Z_i(A_i),

where Z_i is the weight of all assignments of the other papers that keep the loads beside A_i. It depends on
the set of the reviewers alone. `load_tilt` finds it: exactly if all assignments can be summed (`LoadSums`, a
forward-backward recursion over the papers whose state is how many reviews everybody has so far); else by the
*tilt*, `prod_{r in A_i} y_r` with y such that everybody's expected load is the stated one. The tilt is the
belief closest to that without loads (in relative entropy, papers independent) with these expected loads; y is
found by Sinkhorn's iteration. It is a function of public data alone and frozen with the bar.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from math import ceil, inf, prod
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from blindcal.assignment.candidates import OUTSIDER, AllBut, union
from blindcal.assignment.prior import candidate_seats, sets_of, tuple_count
from blindcal.checks import Array, Integers
from blindcal.compute.parallel import Workers, parallel_map
from blindcal.errors import InputError, Problem
from blindcal.io.atomic_files import canonical_json, read_table
from blindcal.io.cells import Column, count
from blindcal.io.tables import input_error
from blindcal.posterior.paper import PaperCase, paper_nodes
from blindcal.posterior.tuple_sums import TupleSums
from blindcal.posterior.tuple_weights import LoadFactors

Loads = tuple[tuple[str, int, int], ...]
"""For each reviewer the least and the largest number of reviews, by name; others have no limit."""

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


def by_set(weights: Array, index: Integers, sets: int) -> Array:
    """The weight `[set, case]` of each set, from those of its tuples, `[tuple, case]`."""
    summed = np.zeros((sets, weights.shape[1]))
    np.add.at(summed, index, weights)
    return summed


class AssignmentSums:
    """Sums over all assignments that have exactly these loads; `tuples[paper][tuple, slot]` are people."""

    def __init__(self, tuples: Iterable[Integers], load: Integers) -> None:
        self.load = load
        self.sets, self.index = zip(*map(sets_of, tuples), strict=True)

    @property
    def terms(self) -> float:
        """How many terms the sums have."""
        return prod(float(load + 1) for load in self.load) * sum(float(len(rows)) for rows in self.sets)

    @cached_property
    def _sums(self) -> LoadSums:
        return load_sums(self.sets, self.load, self.load)

    def masses(self, weights: Sequence[Array]) -> tuple[Array, list[Array]]:
        """The weight `[case]` of all assignments, and for each paper that of those with each tuple.

        `weights[paper][tuple, case]` are those of the tuples, for many cases at once.
        """
        papers = list(zip(weights, self.index, self.sets, strict=True))
        total, rest = self._sums.total_and_rest([by_set(w, index, len(own)) for w, index, own in papers])
        return total, [w * beside[index] for (w, index, _), beside in zip(papers, rest, strict=True)]


def success_limits(own: Array, kappa: Array) -> Array:
    """How often a reviewer is named with all decisions at most, under any prior over whole assignments.

    Args:
        own: For each paper of a component the success with its own decision.
        kappa: The ranges of their tables: the largest less the smallest accept probability.

    Returns:
        `min(V prod (1 + kappa), 1 - (1 - V) prod (1 - kappa))` for each V of `own`, over the other papers.

    Example:
        >>> success_limits(np.array([0.5, 0.1]), np.array([0.25, 0.5]))
        array([0.75 , 0.125])
    """
    with np.errstate(over="ignore", under="ignore"):
        # For each factor the product of all others, which may be 0.
        factors, ones = np.stack([1.0 + kappa, 1.0 - kappa]), np.ones((2, 1))
        before, after = np.cumprod(factors, axis=1), np.cumprod(factors[:, ::-1], axis=1)[:, ::-1]
        grown, hidden = np.hstack([ones, before[:, :-1]]) * np.hstack([after[:, 1:], ones])
        return np.asarray(np.minimum(np.minimum(own * grown, 1.0 - (1.0 - own) * hidden), 1.0))


def components(pools: Sequence[Sequence[str]]) -> Integers:
    """The connected component of each paper: papers that share people, directly or through others."""
    # Loaded here, as in `blindcal.reviews`: it takes long, and few commands need it.
    from scipy.sparse.csgraph import connected_components

    alike: dict[object, list[Sequence[str]]] = {}
    # Any two pools that lack less than half of one committee have somebody in common.
    kinds = [
        id(pool.shared) if isinstance(pool, AllBut) and 2 * len(pool.without) < len(pool.shared) else id(pool)
        for pool in pools
    ]
    for kind, pool in zip(kinds, pools, strict=True):
        alike.setdefault(kind, []).append(pool)
    groups = {kind: (number, union(group)) for number, (kind, group) in enumerate(alike.items())}
    names = union([members for _, members in groups.values()])
    people = {name: len(groups) + index for index, name in enumerate(names)}
    row = [number for number, members in groups.values() for _ in members]
    column = [people[name] for _, members in groups.values() for name in members]
    size = len(groups) + len(people)
    graph = csr_array((np.ones(len(row)), (row, column)), shape=(size, size))
    label = connected_components(graph, directed=False)[1]
    return np.array([label[groups[kind][0]] for kind in kinds], dtype=np.int64)


def read_loads(path: str | os.PathLike[str] | Any) -> Loads:
    """Everybody's load, in a table with columns reviewer and load, or reviewer, least and most.

    >>> read_loads({"reviewer": ["ben", "ada"], "least": [0, 2], "most": [3, 2]})
    (('ada', 2, 2), ('ben', 0, 3))
    """
    numbers = [Column(name, "integer", low=0.0, required=False) for name in ("load", "least", "most")]
    table = read_table(path, [Column("reviewer", "id", secret=True), *numbers], name="`loads`")
    ends = ("load", "load") if "load" in table else ("least", "most")
    if any(end not in table for end in ends) or ("load" in table and ("least" in table or "most" in table)):
        raise input_error(
            [Problem(table.file, None, None, "must have a column load, or columns least and most")]
        )
    least, most = (table.number(end).astype(int).tolist() for end in ends)
    names = table.text("reviewer")
    problems = [
        Problem(table.file, row, "least", "must not be above most")
        for row, low, high in zip(table.rows, least, most, strict=True)
        if low > high
    ]
    if len(set(names)) < len(names):
        twice = f"{count(len(names) - len(set(names)), 'row')} too many"
        problems.append(Problem(table.file, None, "reviewer", "must name everyone once", twice))
    if OUTSIDER in names:
        rule = f"must not be {OUTSIDER}: only named reviewers have a load"
        problems.append(Problem(table.file, None, "reviewer", rule))
    if problems:
        raise input_error(problems)
    return tuple(sorted(zip(names, least, most, strict=True)))


def loads_digest(loads: Loads) -> str:
    """Sixteen hexadecimal digits that anyone who has the loads can compute: of SHA-256 of their JSON.

    >>> loads_digest((("ada", 2, 2),))
    '2a548858dfb5dcbe'
    """
    return sha256(canonical_json([list(load) for load in loads])).hexdigest()[:16]


def fixed_loads(loads: Loads) -> dict[str, int]:
    """The loads, if none of them is a range."""
    if any(least != most for _, least, most in loads):
        raise InputError("`loads` must be numbers for this, found ranges")
    return {name: most for name, _, most in loads}


_SetFactors = tuple[tuple[str, ...], int, tuple[float, ...]]


@dataclass(frozen=True)
class LoadTilt:
    """What public loads change in the belief about each paper: a function of public data, like the bar.

    Attributes:
        reviewers: The log of each reviewer's factor y, if the belief is tilted.
        papers: If it is exact, for each paper its candidates, its number of reviews, and the log factor of
            each set of so many of them.
        furthest: How far the belief's expected load of a reviewer is from the stated one at most; 0 if exact.
    """

    reviewers: Mapping[str, float] = field(default_factory=dict, repr=False)
    papers: Mapping[str, _SetFactors] = field(default_factory=dict, repr=False)
    furthest: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether beliefs are P(reviewers | all scores, loads), and not a tilt towards it."""
        return bool(self.papers)

    def applied(self, case: PaperCase) -> PaperCase:
        """The paper with its belief under the loads.

        If these were summed, one that came later has none, nor one whose pool or number of reviews changed.
        """
        if not self.exact:
            return replace(
                case, loads=LoadFactors(tuple(self.reviewers.get(n, 0.0) for n in case.candidates))
            )
        candidates, reviews, log = self.papers.get(case.paper, ((), 0, ()))
        same = (candidates, reviews) == (case.candidates, len(case.scores))
        same = same and len(log) == len(sets_of(case.tuples)[0])
        return replace(case, loads=LoadFactors(log, by_set=True)) if same else case

    @property
    def content(self) -> dict[str, Any]:
        """The tilt in JSON's types."""
        papers = {paper: [list(who), number, list(log)] for paper, (who, number, log) in self.papers.items()}
        return {"reviewers": dict(self.reviewers), "papers": papers, "furthest": self.furthest}

    @classmethod
    def from_content(cls, content: Mapping[str, Any] | None) -> LoadTilt | None:
        """The tilt that a record holds.

        Raises:
            ValueError: No loads lead to such numbers; or a TypeError, KeyError, AttributeError or
                OverflowError, if it is not a tilt at all.
        """
        if content is None:
            return None
        reviewers = {name: float(log) for name, log in content["reviewers"].items()}
        papers = {
            paper: (tuple(names), int(reviews), tuple(map(float, log)))
            for paper, (names, reviews, log) in content["papers"].items()
        }
        tilt = cls(reviewers, papers, float(content["furthest"]))
        possible = all(abs(log) <= _MOST_LOG for log in reviewers.values()) and 0.0 <= tilt.furthest < inf
        if not possible or any(max(log) != 0.0 or min(log) < _IMPOSSIBLE for *_, log in papers.values()):
            raise ValueError("no loads lead to such a tilt")
        return tilt

    def near(self, other: LoadTilt) -> bool:
        """Whether another machine may have computed this instead of the other."""
        mine, theirs = self._numbers, other._numbers
        same = mine.keys() == theirs.keys() and abs(self.furthest - other.furthest) <= 2 * _FURTHEST
        return same and all(
            np.shape(mine[k]) == np.shape(theirs[k])
            and np.allclose(mine[k], theirs[k], rtol=0.0, atol=_SLACK)
            for k in mine
        )

    @property
    def _numbers(self) -> dict[object, Any]:
        papers: dict[object, Any] = {(paper, *rest): log for paper, (*rest, log) in self.papers.items()}
        return papers | dict(self.reviewers.items())


# Log factors are multiples of these, of a tilt and of an exact belief: people of whom the same is known then
# have the same factor, on every machine.
_TILT_STEP, _EXACT_STEP, _SLACK = 2.0**-20, 2.0**-40, 2.0**-18
# The log factor of a set that no assignment allows: its weight is 0.
_IMPOSSIBLE = -1e6
# The tilt is found again with the beliefs that it makes, until nobody's expected load is further off.
_FURTHEST, _SWEEPS, _CONVERGED = 1e-3, 2000, 1e-6
# Beliefs are found again at most so many times: often if papers have few tuples, else a few times.
_FEW_TUPLES, _MANY_ROUNDS, _FEW_ROUNDS = 3_000_000, 40, 4


def load_tilt(cases: Sequence[PaperCase], loads: Loads, *, workers: Workers = 1) -> LoadTilt:
    """The belief of someone who knows these loads: exactly if it can be summed, else tilted.

    Args:
        cases: All papers, without loads.
        loads: What is known of everybody's load.
        workers: How many processes share the work; results are the same.

    Raises:
        InputError: No assignment from the pools keeps the loads.

    Example:
        >>> known = (1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0)
        >>> papers = [PaperCase(p, (1.0,), ("ada", "ben"), (0.5, 0.5), known, bar=0.0) for p in "pq"]
        >>> tilt = load_tilt(papers, (("ada", 1, 1), ("ben", 1, 1)))
        >>> tilt.exact, tilt.applied(papers[0]).belief.weight  # both papers have the same score
        (True, array([0.5, 0.5]))
    """
    _refuse_impossible(cases, loads)
    listed = all(case.listed for case in cases)
    tuples = sum(
        tuple_count(len(case.candidates), len(case.scores), case.outsider is not None) for case in cases
    )
    states = prod(float(most + 1) for _, _, most in loads)
    if listed and states * tuples <= MOST_TERMS:
        return _exact_tilt(cases, loads)
    return _sinkhorn_tilt(cases, loads, _MANY_ROUNDS if tuples <= _FEW_TUPLES else _FEW_ROUNDS, workers)


def _exact_tilt(cases: Sequence[PaperCase], loads: Loads) -> LoadTilt:
    """The belief of each paper by sums over all assignments."""
    person = {name: number for number, (name, _, _) in enumerate(loads)}
    sets, weights = [], []
    for case in cases:
        own, index = sets_of(case.tuples)
        people = np.array([person.get(name, -1) for name in case.candidates])
        sets.append(people[own])
        weights.append(by_set(case.belief.weight[:, None], index, len(own)))
    least, most = (np.array([load[end] for load in loads], dtype=np.int64) for end in (1, 2))
    sums = load_sums(sets, least, most)
    if not sums.feasible:
        raise InputError(_UNMET)
    _, rest = sums.total_and_rest(weights)
    papers = {}
    for case, beside in zip(cases, rest, strict=True):
        share = beside[:, 0] / beside.max()
        log = np.log(share, where=share > 0.0, out=np.full(share.shape, _IMPOSSIBLE))
        rounded = tuple((np.round(log / _EXACT_STEP) * _EXACT_STEP).tolist())
        papers[case.paper] = tuple(case.candidates), len(case.scores), rounded
    return LoadTilt(papers=papers)


def _sinkhorn_tilt(cases: Sequence[PaperCase], loads: Loads, rounds: int, workers: Workers) -> LoadTilt:
    """The tilt by Sinkhorn's iteration over reviews and reviewers.

    Every review has chances of its candidates, which are scaled to expected loads as if reviews were
    independent; with one review a paper that is the tilt. Else the chances are found again under the tilt.
    """
    person = {name: number for number, (name, _, _) in enumerate(loads)}
    least, most = (np.array([load[end] for load in loads], dtype=np.float64) for end in (1, 2))
    log_y = np.zeros(len(loads))
    for turn in range(rounds):
        tilt = LoadTilt(dict(zip(person, np.round(log_y / _TILT_STEP) * _TILT_STEP, strict=True)))
        tilted = [case if turn == 0 else tilt.applied(case) for case in cases]
        chances = parallel_map(reviewer_marginals, tilted, workers=workers)
        review, who, chance = _entries(cases, chances, person)
        expected = np.bincount(who, chance, len(loads))
        furthest = float(np.abs(expected - np.clip(expected, least, most)).max(initial=0.0))
        if furthest <= _FURTHEST or turn == rounds - 1:
            break
        log_y = _sinkhorn(review, who, chance, log_y, least, most)
    reviewers = {name: float(value) for name, value in tilt.reviewers.items()}
    return LoadTilt(reviewers, furthest=ceil(furthest / _FURTHEST) * _FURTHEST)


def _entries(
    cases: Sequence[PaperCase], chances: Sequence[Array], person: Mapping[str, int]
) -> tuple[Integers, Integers, Array]:
    """The chances above 0 of people with a load, and the review and the person of each."""
    reviews, people, values, first = list[Integers](), list[Integers](), list[Array](), 0
    for case, chance in zip(cases, chances, strict=True):
        who = np.array([person.get(name, -1) for name in case.candidates])
        slot, candidate = np.nonzero((chance > 0.0) & (who >= 0))
        reviews.append(first + slot)
        people.append(who[candidate])
        values.append(chance[slot, candidate])
        first += len(chance)
    return np.concatenate(reviews), np.concatenate(people), np.concatenate(values)


def _sinkhorn(
    review: Integers, who: Integers, chance: Array, start: Array, least: Array, most: Array
) -> Array:
    """The log factors with which every expected load is within its ends, and no further from 0 than needed.

    `chance` has the chances under the factors `start`.
    """
    rest = np.maximum(1.0 - np.bincount(review, chance), 0.0)
    log_y = start
    with np.errstate(divide="ignore"):
        log_least, log_most = np.log(least), np.log(most)
    for _ in range(_SWEEPS):
        weight = chance * np.exp(log_y - start)[who]
        total = rest + np.bincount(review, weight, rest.size)
        load = np.maximum(np.bincount(who, weight / total[review], least.size), np.finfo(float).tiny)
        low, high = log_y + log_least - np.log(load), log_y + log_most - np.log(load)
        # As near to no factor as the ends allow; factors of 0 are kept finite.
        moved = np.clip(np.clip(0.0, low, high), -_MOST_LOG, _MOST_LOG)
        if np.abs(moved - log_y).max() <= _CONVERGED:
            break
        log_y = moved
    return np.asarray(log_y)


_MOST_LOG = 50.0


def reviewer_marginals(case: PaperCase) -> Array:
    """`[slot, candidate]`: P(this candidate wrote this review | scores), `*` included."""
    size = len(case.candidates)
    if case.listed:
        weight = case.belief.weight
        return np.array([np.bincount(who, weight, size) for who in case.tuples.T])
    seat = candidate_seats(size, len(case.scores), case.outsider)
    sums = TupleSums(paper_nodes(case)).by_candidate(np.arange(seat.size), np.array([0, 1 << 30]))
    return np.array([np.bincount(seat, mass[:, 0] / mass.sum(), size) for mass in sums])


_UNMET = "`loads` cannot be met by any assignment from these pools"


def _refuse_impossible(cases: Sequence[PaperCase], loads: Loads) -> None:
    """Refuses loads that no assignment from the pools keeps.

    If one assignment gives nobody too many reviews, and in another everybody has enough, then there is one
    that does both (Mendelsohn and Dulmage 1958).
    """
    reviews = sum(len(case.scores) for case in cases)
    known = {name: (least, most) for name, least, most in loads}
    names = {name for case in cases for name in case.candidates}
    outside = sum(least > 0 for name, (least, _) in known.items() if name not in names)
    if outside:
        raise InputError(f"`loads` must allow 0 reviews for people in no pool, found {outside} who need more")
    most = {name: known.get(name, (0, reviews))[1] for name in names}
    least = {name: known.get(name, (0, reviews))[0] for name in names}
    if _most_reviews(cases, most) < reviews or _most_reviews(cases, least) < sum(least.values()):
        raise InputError(_UNMET)


def _most_reviews(cases: Sequence[PaperCase], load: Mapping[str, int]) -> int:
    """How many reviews people can write at most if nobody writes more than their load."""
    pools = [(case.candidates, len(case.scores)) for case in cases]
    return int(review_flow(pools, load, list(load), 1 + len(load) + np.arange(len(cases))).flow_value)


def review_flow(
    pools: Sequence[tuple[Sequence[str], int]],
    load: Mapping[str, int],
    people: Sequence[str],
    paper: Integers,
) -> Any:
    """The maximum flow of reviews from papers to people, none of whom writes more than their load.

    `pools` has each paper's candidates and its number of reviews; only `*` may write several. Nodes are the
    source 0, `people` from 1 on, `paper[i]`, and an end after all of them.
    """
    # Loaded here, as in `blindcal.reviews`: it takes long, and few commands need it.
    from scipy.sparse.csgraph import maximum_flow

    person, end = {name: 1 + number for number, name in enumerate(people)}, 1 + len(people) + len(pools)
    edges = [(0, int(paper[i]), slots) for i, (_, slots) in enumerate(pools)]
    edges += [
        (int(paper[i]), person[name], slots if name == OUTSIDER else 1)
        for i, (names, slots) in enumerate(pools)
        for name in names
    ]
    edges += [(person[name], end, most) for name, most in load.items()]
    start, stop, room = (np.array(part, dtype=np.int32) for part in zip(*edges, strict=True))
    return maximum_flow(csr_array((room, (start, stop)), shape=(end + 1, end + 1)), 0, end)
