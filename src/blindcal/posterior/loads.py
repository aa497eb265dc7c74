"""Loads: beliefs about papers' reviewers for someone who knows how many reviews everybody wrote.

A load couples the papers: whoever reviewed one of them reviewed fewer of the others. An assignment A of all
papers has the weight `prod_i w_i(A_i)` if it keeps every load, else 0, with w_i the weight of paper i's tuple
by its own scores. So

    P(A_i | all scores, loads) ~ w_i(A_i) Z_i(A_i),

where Z_i is the weight of all assignments of the other papers that keep the loads beside A_i.
`AssignmentSums` sums them by a forward-backward recursion over the papers, whose state is how many reviews
everybody has so far. If that has too many terms there is the *tilt*, `w_i(A_i) prod_{r in A_i} y_r` with y
such that everybody's expected load is the stated one: the belief closest to that without loads (in relative
entropy, papers independent) with these expected loads.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logsumexp

from blindcal.checks import Array, Integers
from blindcal.errors import InputError
from blindcal.io.atomic_files import read_table
from blindcal.io.cells import Column, count
from blindcal.io.tables import Problems
from blindcal.pools.candidates import OUTSIDER, union
from blindcal.pools.prior import sets_of
from blindcal.posterior.paper import PaperCase
from blindcal.posterior.tuple_weights import normalize

MOST_TERMS = 20_000_000
"""Exact sums have at most this many terms."""


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
    def _load_moves(self) -> tuple[int, list[list[tuple[Integers, int]]]]:
        """The number of states, and for each paper and set of reviewers the states that it can follow on.

        A state says how many reviews everybody has; in the last one all loads are met. With the states of a
        set is the number that leads from each of them to the next one.
        """
        steps = np.concatenate([[1], np.cumprod(self.load + 1)]).astype(np.int64)
        used = np.arange(steps[-1])[:, None] // steps[:-1] % (self.load + 1)
        possible, moves = np.arange(len(used)) == 0, []
        for rows in self.sets:
            own, reached = list[tuple[Integers, int]](), np.zeros(len(used), dtype=np.bool_)
            for row in rows:
                who, times = np.unique(row, return_counts=True)
                states = np.flatnonzero(possible & (used[:, who] + times <= self.load[who]).all(axis=1))
                own.append((states, int(steps[who] @ times)))
                reached[states + own[-1][1]] = True
            moves.append(own)
            possible = reached
        return len(used), moves

    def masses(self, weights: Sequence[Array]) -> tuple[Array, list[Array]]:
        """The weight `[case]` of all assignments, and for each paper that of those with each tuple.

        `weights[paper][tuple, case]` are those of the tuples, for many cases at once.

        >>> sums = AssignmentSums([np.array([[0], [1]])] * 2, np.array([1, 1]))
        >>> total, masses = sums.masses([np.array([[0.5], [0.25]]), np.array([[2.0], [3.0]])])
        >>> total, masses[0].tolist()  # 0 wrote the first and 1 the second review, or the reverse
        (array([2.]), [[1.5], [0.5]])
        """
        (states, moves), cases = self._load_moves, weights[0].shape[1]
        papers = list(zip(weights, self.index, self.sets, strict=True))
        forward = [np.zeros((states, cases))]
        forward[0][0] = 1.0
        by_set = [np.zeros((len(sets), cases)) for sets in self.sets]
        for summed, (weight, index, _) in zip(by_set, papers, strict=True):
            np.add.at(summed, index, weight)
        for own, weight in zip(moves, by_set, strict=True):
            forward.append(np.zeros((states, cases)))
            for (before, step), chance in zip(own, weight, strict=True):
                forward[-1][before + step] += forward[-2][before] * chance
        backward, rest = np.zeros((states, cases)), list[Array]()
        backward[-1] = 1.0
        for own, weight, reached in zip(moves[::-1], by_set[::-1], forward[-2::-1], strict=True):
            beside, back = np.zeros(weight.shape), np.zeros((states, cases))
            for index, ((before, step), chance) in enumerate(zip(own, weight, strict=True)):
                onward = backward[before + step]
                beside[index] = np.einsum("sc,sc->c", reached[before], onward)
                back[before] += onward * chance
            rest.append(beside)
            backward = back
        masses = [w * beside[index] for (w, index, _), beside in zip(papers, rest[::-1], strict=True)]
        return forward[-1][-1], masses


def exact_beliefs(cases: Sequence[PaperCase], loads: Mapping[str, int]) -> list[Array]:
    """P(reviewers | all scores, loads): for each paper the weights of its tuples, by sums over assignments.

    Args:
        cases: All papers; their tuples must be few enough to be listed.
        loads: How many reviews everybody wrote; people who are not named wrote none, and `*` the rest.

    Raises:
        InputError: No assignment from the pools keeps the loads, or there are too many to sum.

    >>> known = (1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0)
    >>> papers = [PaperCase(p, (1.0,), ("ada", "ben"), (0.5, 0.5), known, bar=0.0) for p in "pq"]
    >>> exact_beliefs(papers, {"ada": 1, "ben": 1})[0]  # both papers have the same score
    array([0.5, 0.5])
    """
    sums = AssignmentSums(*_tuples_and_load(cases, loads))
    if sums.terms > MOST_TERMS:
        raise InputError("the assignments of these papers are too many to sum: use tilted_beliefs")
    total, masses = sums.masses([case.belief.weight[:, None] for case in cases])
    return [mass[:, 0] / total[0] for mass in masses]


# Expected loads are this near; a log factor beyond these bounds excludes someone, or makes them certain.
_FURTHEST, _MOST_LOG = 1e-5, 40.0


def tilted_beliefs(cases: Sequence[PaperCase], loads: Mapping[str, int]) -> list[Array]:
    """The tilt of each paper's belief in which everybody's expected load is the stated one.

    With b the loads, log y maximizes the concave

        sum_r b_r log y_r - sum_i log sum_A w_i(A) prod_{r in A} y_r,

    whose gradient is the loads less the expected ones. Arguments and errors are those of `exact_beliefs`, for
    any number of assignments.

    >>> known = ((1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0),) * 2
    >>> papers = [PaperCase(p, (1.0,), ("ada", "ben"), (0.8, 0.2), known, bar=0.0) for p in "pq"]
    >>> tilted_beliefs(papers, {"ada": 1, "ben": 1})[0].round(3)  # one of two reviews each
    array([0.5, 0.5])
    """
    # Loaded here, as in `blindcal.reviews`: it takes long, and few commands need it.
    from scipy.optimize import minimize

    tuples, load = _tuples_and_load(cases, loads)
    with np.errstate(divide="ignore"):
        plain = [np.log(case.belief.weight) for case in cases]

    def tilted(log_y: Array) -> list[Array]:
        return [log + log_y[rows].sum(axis=1) for log, rows in zip(plain, tuples, strict=True)]

    def loss(log_y: Array) -> tuple[float, Array]:
        value, slope = -float(load @ log_y), -load.astype(np.float64)
        for log, rows in zip(tilted(log_y), tuples, strict=True):
            value += float(logsumexp(log))
            np.add.at(slope, rows, normalize(log)[:, None])
        return value, slope

    log_y = minimize(
        loss,
        np.zeros(load.size),
        jac=True,
        bounds=[(-_MOST_LOG, _MOST_LOG)] * load.size,
        options={"maxiter": 10_000, "ftol": 0.0, "gtol": _FURTHEST / 10.0},
    ).x
    if np.abs(loss(log_y)[1]).max() > _FURTHEST:
        raise InputError("the tilt with these expected loads was not found")
    return list(map(normalize, tilted(log_y)))


def _tuples_and_load(cases: Sequence[PaperCase], loads: Mapping[str, int]) -> tuple[list[Integers], Integers]:
    """The tuples of all papers, as people by number, and everybody's load; refused if it cannot be kept."""
    pools = [(case.candidates, len(case.scores)) for case in cases]
    people = sorted(union([names for names, _ in pools]))
    reviews, named = sum(slots for _, slots in pools), sum(loads.values())
    load = {name: loads.get(name, 0) for name in people}
    if OUTSIDER in load:
        load[OUTSIDER] = max(reviews - named, 0)
    if not all(case.listed for case in cases):
        raise InputError("loads need pools whose tuples can be listed")
    flow = review_flow(pools, load, people, 1 + len(people) + np.arange(len(pools)))
    if sum(load.values()) != reviews or {*loads} - {*people} or flow.flow_value < reviews:
        raise InputError("`loads` cannot be met by any assignment from these pools")
    number = {name: index for index, name in enumerate(people)}
    tuples = [np.array([number[name] for name in case.candidates])[case.tuples] for case in cases]
    return tuples, np.array([load[name] for name in people])


def read_loads(path: str | os.PathLike[str] | Any) -> dict[str, int]:
    """How many reviews everybody wrote, in a table with columns reviewer and load.

    >>> read_loads({"reviewer": ["ben", "ada"], "load": [0, 2]})
    {'ben': 0, 'ada': 2}
    """
    columns = [Column("reviewer", "id", secret=True), Column("load", "integer", low=0.0)]
    table = read_table(path, columns, name="`loads`")
    names, log = table.text("reviewer"), Problems(table.file)
    if more := len(names) - len(set(names)):
        log.add(None, "reviewer", "must name everyone once", f"{count(more, 'row')} too many")
    if OUTSIDER in names:
        log.add(None, "reviewer", f"must not be {OUTSIDER}: only named reviewers have a load")
    log.finish()
    return dict(zip(names, table.number("load").astype(int).tolist(), strict=True))


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
    edges = [(person[name], end, most) for name, most in load.items()]
    for node, (names, slots) in zip(paper.tolist(), pools, strict=True):
        edges += [(0, node, slots)]
        edges += [(node, person[name], slots if name == OUTSIDER else 1) for name in names]
    start, stop, room = (np.array(part, dtype=np.int32) for part in zip(*edges, strict=True))
    return maximum_flow(csr_array((room, (start, stop)), shape=(end + 1, end + 1)), 0, end)
