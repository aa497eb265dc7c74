"""The coupled adversary, exactly: somebody who knows how many reviews everybody wrote.

Papers share reviewers, so all decisions together tell something about each reviewer. An assignment that meets
everybody's load has a weight: the product over papers of its tuple's weight there (prior, scores and, if
known, decision). `Network` has these weights. If the loads are small, sums over all assignments are computed
by a forward-backward recursion over papers, whose state is the used part of every load (`exact_reviewers`);
else `coupled_mcmc` draws assignments. `*`, anyone not listed for a paper, has the reviews that nobody listed
wrote: their number is known if all loads are. It may have written several reviews of a paper, and is never a
correct guess.

The second part bounds the gain without computing it, for any prior over whole assignments. Papers whose pools
have nobody in common are independent. Within one *component* of papers that share people, directly or through
others, all decisions d together have likelihood `L(A) = prod_j P(d_j | A_j)` under assignment A, each factor
an entry of paper j's table. So for any two assignments `L(A)/L(A')` is at most e to the sum of the epsilons
of the papers on which they differ: two for a swap, the length for a cycle. A reviewer's likelihood is an
average of such L, over the assignments in which they wrote the review. Hence

    odds between two reviewers move by at most e^(sum_j epsilon_j)
    success(all decisions) <= success(scores) * prod_j multiplier_j        (sum_d max_A L <= prod_j of it)
    added success <= sqrt(sum_j capacity_j / 2)                            (Pinsker, in nats)

over the papers of the component; papers decided by public information count nothing. The last follows from
`E TV(P(y|d), P(y)) <= sqrt(I(y; D)/2)` and `I(y; D) <= I(A; D) <= sum_j I(A_j; D_j)`: coins are independent.
A promise against the coupled adversary therefore costs epsilon per paper: `epsilon_per_paper` divides it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import inf, prod

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, maximum_flow
from scipy.special import rel_entr

from blindcal.adversaries.findings import Finding
from blindcal.adversaries.paper_view import View
from blindcal.adversaries.single_paper import AUTHOR
from blindcal.assignment.candidates import OUTSIDER
from blindcal.assignment.prior import NOBODY
from blindcal.cells import Column, count
from blindcal.checks import Array, Integers
from blindcal.errors import InputError, Problem
from blindcal.io.atomic_files import read_table
from blindcal.io.tables import input_error
from blindcal.policy.policy import Policy

LOADS = "knows everybody's load"
# Exact sums have at most this many terms, and run over at most this many joint outcomes of all papers.
MOST_TERMS, MOST_OUTCOMES = 20_000_000, 4096
# The largest number of weights in memory, over all tuples of all papers.
_MOST_CELLS = 1 << 27


@dataclass(frozen=True, eq=False)
class Network:
    """The possible assignments of a conference, with everybody's load. Confidential if it has decisions.

    `members[paper]` are indices of `people`, and `load` is how many reviews each of them wrote.
    `tuples[paper]` are rows of members, and `weights[paper]` their weights. `named[paper]` is true for
    members who can be guessed: all except `*`.
    """

    people: tuple[str, ...]
    load: Integers
    members: tuple[Integers, ...]
    tuples: tuple[Integers, ...] = field(repr=False)
    weights: tuple[Array, ...] = field(repr=False)
    named: tuple[NDArray[np.bool_], ...] = field(repr=False)

    @property
    def reviews(self) -> int:
        return int(self.load.sum())

    @property
    def slots(self) -> Integers:
        """The number of reviews of each paper."""
        return np.array([rows.shape[1] for rows in self.tuples])


def network(views: Sequence[View], loads: Mapping[str, int], masses: Sequence[Array]) -> Network:
    """The network of these papers with one mass for each tuple; people without a load wrote nothing."""
    loads = all_loads(views, loads)
    check_loads(views, loads)
    people = tuple(sorted({name for view in views for name in view.names}))
    index = {name: number for number, name in enumerate(people)}
    cells = sum(float(len(view.names)) ** len(view.scores) for view in views)
    if cells > _MOST_CELLS:
        raise InputError(
            f"`coupled` needs pools whose tuples can be held in memory: {cells:,.0f} weights, where "
            f"{_MOST_CELLS:,} are allowed"
        )
    return Network(
        people=people,
        load=np.array([loads.get(name, 0) for name in people], dtype=np.int64),
        members=tuple(np.array([index[name] for name in view.names]) for view in views),
        tuples=tuple(member_rows(view) for view in views),
        weights=tuple(mass / mass.max() for mass in masses),
        named=tuple(np.array([name != OUTSIDER for name in view.names]) for view in views),
    )


def member_rows(view: View) -> Integers:
    """The tuples of a paper with `*` as a member like any other."""
    if OUTSIDER not in view.names:
        return view.rows
    return np.where(view.rows == NOBODY, view.names.index(OUTSIDER), view.rows)


def all_loads(views: Sequence[View], loads: Mapping[str, int]) -> dict[str, int]:
    """The loads, with the reviews that are left as the load of `*` if pools have it.

    >>> rows, weight = np.array([[0], [-1]]), np.array([0.5, 0.5])
    >>> view = View("p", ("a", "*"), (1.0,), rows, weight, np.zeros(2), {})
    >>> all_loads([view, view, view], {"a": 1})
    {'a': 1, '*': 2}
    """
    known = dict(loads)
    if any(OUTSIDER in view.names for view in views):
        left = sum(len(view.scores) for view in views) - sum(known.values())
        known.setdefault(OUTSIDER, max(left, 0))
    return known


def check_loads(views: Sequence[View], loads: Mapping[str, int]) -> None:
    """Refuses loads that no assignment meets, and papers whose tuples cannot be listed."""
    if not all(view.exact for view in views):
        raise InputError("`coupled` needs pools whose tuples can be listed")
    needed, given = sum(len(view.scores) for view in views), sum(loads.values())
    if min(loads.values(), default=0) < 0 or needed != given:
        raise InputError(f"`loads` must be numbers of reviews that sum to {needed:,}, found {given:,}")
    names = {name for view in views for name in view.names}
    outside = sum(load > 0 for name, load in loads.items() if name not in names)
    if outside:
        raise InputError(f"`loads` must be 0 for whoever is in no pool, found {outside} who are not")
    if first_assignment(views, loads, np.random.default_rng(0)) is None:
        raise InputError("`loads` cannot be met by any assignment from these pools")


def first_assignment(
    views: Sequence[View], loads: Mapping[str, int], rng: np.random.Generator
) -> list[list[str]] | None:
    """An assignment that meets all loads, slot by slot, by maximum flow; None if there is none."""
    names = sorted({name for view in views for name in view.names})
    person = {name: 1 + number for number, name in enumerate(rng.permutation(names).tolist())}
    paper = 1 + len(names) + rng.permutation(len(views))
    end = 1 + len(names) + len(views)
    edges = [(0, int(paper[i]), len(view.scores)) for i, view in enumerate(views)]
    edges += [
        (int(paper[i]), person[name], len(view.scores) if name == OUTSIDER else 1)
        for i, view in enumerate(views)
        for name in view.names
    ]
    edges += [(person[name], end, int(loads.get(name, 0))) for name in names]
    start, stop, room = (np.array(part, dtype=np.int32) for part in zip(*edges, strict=True))
    flow = maximum_flow(csr_array((room, (start, stop)), shape=(end + 1, end + 1)), 0, end)
    if flow.flow_value < sum(len(view.scores) for view in views):
        return None
    rows = flow.flow.tocsr()
    name_of = {number: name for name, number in person.items()}
    assignment = []
    for node in paper:
        span = slice(rows.indptr[node], rows.indptr[node + 1])
        given = zip(rows.indices[span], rows.data[span], strict=True)
        chosen = [name_of[to] for to, times in given for _ in range(times)]
        assignment.append(rng.permutation(chosen).tolist())
    return assignment


def read_loads(path: str | os.PathLike[str]) -> dict[str, int]:
    """The loads in a table with columns reviewer and load."""
    table = read_table(path, [Column("reviewer", "id", secret=True), Column("load", "integer", low=0.0)])
    names = table.text("reviewer")
    if len(set(names)) < len(names):
        twice = f"{count(len(names) - len(set(names)), 'row')} too many"
        raise input_error([Problem(os.fspath(path), None, "reviewer", "must name everybody once", twice)])
    return dict(zip(names, table.number("load").astype(int).tolist(), strict=True))


def true_loads(views: Sequence[View]) -> dict[str, int]:
    """How many reviews everybody wrote, by the true reviewers: CONFIDENTIAL."""
    counts: dict[str, int] = {}
    for view in views:
        if view.truth is None:
            raise InputError("`loads` must be given where the true reviewers are not known")
        for who in view.truth:
            if who >= 0:
                counts[view.names[who]] = counts.get(view.names[who], 0) + 1
    return counts


def number_of_terms(network: Network) -> float:
    """How many terms the exact sums have."""
    return prod(float(load + 1) for load in network.load) * sum(float(len(rows)) for rows in network.tuples)


def exact_reviewers(network: Network) -> list[Array]:
    """For each paper `[slot, member]`: P(this member wrote this review | everything); 0 for `*`."""
    forward, backward, steps, total = _forward_backward(network)
    chances = []
    for number, (rows, weight) in enumerate(zip(network.tuples, network.weights, strict=True)):
        mass = _tuple_mass(network, number, forward, backward, steps) * weight / total
        size = len(network.members[number])
        chance = np.array([np.bincount(slot, mass, size) for slot in rows.T])
        chances.append(np.where(network.named[number], chance, 0.0))
    return chances


def total_weight(network: Network) -> float:
    """The sum of the weights of all assignments that meet the loads."""
    return _forward_backward(network)[3]


def _forward_backward(network: Network) -> tuple[list[Array], list[Array], Integers, float]:
    """For each paper the total weight of all ways to each state of the loads, and from it to the end."""
    radix = network.load + 1
    steps = np.concatenate([[1], np.cumprod(radix)[:-1]])
    size = int(radix.prod())
    forward = [np.zeros(size)]
    forward[0][0] = 1.0
    for number in range(len(network.tuples)):
        into = np.zeros(size)
        for states, after, weight in _transitions(network, number, steps):
            into[after] += forward[-1][states] * weight
        forward.append(into)
    backward = [np.zeros(size)]
    backward[0][-1] = 1.0
    for number in reversed(range(len(network.tuples))):
        back = np.zeros(size)
        for states, after, weight in _transitions(network, number, steps):
            back[states] += backward[0][after] * weight
        backward.insert(0, back)
    return forward, backward, steps, float(forward[-1][-1])


def _transitions(
    network: Network, number: int, steps: Integers
) -> Iterator[tuple[Integers, Integers, float]]:
    """For each tuple of a paper: the states of the loads that allow it, the next states, and its weight."""
    states = np.arange(int((network.load + 1).prod()))
    for row, weight in zip(network.tuples[number], network.weights[number], strict=True):
        if weight > 0.0:
            who = network.members[number][row]
            free = states
            for one, times in zip(*np.unique(who, return_counts=True), strict=True):
                used = (free // steps[one]) % (network.load[one] + 1)
                free = free[used + times <= network.load[one]]
            yield free, free + steps[who].sum(), float(weight)


def _tuple_mass(
    network: Network, number: int, forward: Sequence[Array], backward: Sequence[Array], steps: Integers
) -> Array:
    """The weight of all assignments with each tuple of a paper, without the tuple's own weight."""
    mass = np.zeros(len(network.tuples[number]))
    indices = np.flatnonzero(network.weights[number] > 0.0)
    for index, (states, after, _) in zip(indices, _transitions(network, number, steps), strict=True):
        mass[index] = forward[number][states] @ backward[number + 1][after]
    return mass


def is_small(views: Sequence[View], loads: Mapping[str, int]) -> bool:
    """Whether everything can be summed: all states of the loads and, before the draw, all outcomes."""
    made = network(views, loads, [view.weight for view in views])
    published = all(view.outcome is not None for view in views)
    outcomes = 1 if published else 2 ** len(views)
    return number_of_terms(made) * outcomes <= MOST_TERMS and outcomes <= MOST_OUTCOMES


def exact_finding(views: Sequence[View], loads: Mapping[str, int], policy: str) -> Finding:
    """The exact success in naming a reviewer, over all assignments and, before the draw, all outcomes."""
    alone = network(views, loads, [view.weight for view in views])
    reviews, before = alone.reviews, exact_reviewers(alone)
    scale = total_weight(alone)
    tops = [found.max(axis=1) for found in before]
    baseline = float(sum(top.sum() for top in tops) / reviews)
    success, rise = 0.0, -np.inf
    options = [view.mass(policy) / view.weight.max() for view in views]
    for outcome in product(*(range(len(masses)) for masses in options)):
        chosen = [masses[one] for masses, one in zip(options, outcome, strict=True)]
        if not all(mass.any() for mass in chosen):
            continue
        peaks = prod(float(mass.max()) for mass in chosen)
        after = network(views, loads, chosen)
        weight = total_weight(after)
        if weight > 0.0:
            best = [found.max(axis=1) for found in exact_reviewers(after)]
            chance = 1.0 if len(options[0]) == 1 else weight * peaks / scale
            success += chance * float(sum(top.sum() for top in best)) / reviews
            rise = max(rise, *(float((new - old).max()) for new, old in zip(best, tops, strict=True)))
    return Finding(LOADS, AUTHOR, policy, baseline, success, 0.0, rise)


_BISECTIONS = 60


@dataclass(frozen=True)
class CoupledBound:
    """Bounds on what any coupled adversary learns about one paper's reviews.

    `epsilon` bounds the change of log odds between two reviewers, `factor` the ratio of successes, and
    `added` their difference; `papers` is the size of the component.
    """

    papers: int
    epsilon: float
    factor: float
    added: float


def coupled_bounds(views: Sequence[View], policy: str = "chosen") -> list[CoupledBound]:
    """For each paper, bounds that hold against every coupled adversary, under any prior.

    >>> def one(paper: str, names: str, accept: list[float]) -> View:
    ...     rows, weight = np.array([[0], [1]]), np.array([0.5, 0.5])
    ...     return View(paper, tuple(names), (1.0,), rows, weight, np.zeros(2), {"chosen": np.array(accept)})
    >>> views = one("p", "ab", [0.6, 0.4]), one("q", "bc", [0.4, 0.6]), one("r", "de", [0.0, 1.0])
    >>> found = coupled_bounds(list(views))
    >>> [(each.papers, round(each.epsilon, 3), round(each.factor, 3)) for each in found]
    [(2, 0.811, 1.44), (2, 0.811, 1.44), (1, inf, 2.0)]
    """
    group = components(views)
    policies = [Policy(view.accept[policy]) for view in views]
    epsilon = np.array([float(one.epsilon) for one in policies])
    factor = np.array([float(one.multiplier) for one in policies])
    nats = np.array([capacity(one.accept) for one in policies])
    bounds = []
    for mine in group:
        inside = group == mine
        bounds.append(
            CoupledBound(
                papers=int(inside.sum()),
                epsilon=float(epsilon[inside].sum()),
                factor=float(factor[inside].prod()),
                added=float(np.sqrt(0.5 * nats[inside].sum())),
            )
        )
    return bounds


def components(views: Sequence[View]) -> Integers:
    """The connected component of each paper: papers that share people, directly or through others."""
    people = {name: len(views) + place for place, name in enumerate({n for v in views for n in v.names})}
    row = [number for number, view in enumerate(views) for _ in view.names]
    column = [people[name] for view in views for name in view.names]
    size = len(views) + len(people)
    graph = csr_array((np.ones(len(row)), (row, column)), shape=(size, size))
    return np.asarray(connected_components(graph, directed=False)[1][: len(views)], dtype=np.int64)


def capacity(accept: Array) -> float:
    """The capacity, in nats, of the channel from a tuple to its decision.

    It is the radius of the accept probabilities in relative entropy: the least `middle` of the largest
    divergence. Any `middle` gives an upper bound, so stopping the bisection early is safe.

    >>> round(float(capacity(np.array([0.0, 1.0])) / np.log(2.0)), 6), capacity(np.array([0.3, 0.3]))
    (1.0, 0.0)
    """
    low, high = float(accept.min()), float(accept.max())
    if low == high:
        return 0.0
    left, right = low, high
    for _ in range(_BISECTIONS):
        middle = 0.5 * (left + right)
        if _bernoulli_divergence(low, middle) < _bernoulli_divergence(high, middle):
            left = middle
        else:
            right = middle
    return min(max(_bernoulli_divergence(end, middle) for end in (low, high)) for middle in (left, right))


def _bernoulli_divergence(one: float, other: float) -> float:
    """Relative entropy of two Bernoulli distributions, in nats."""
    if not 0.0 < other < 1.0:
        return 0.0 if one == other else inf
    return float(rel_entr(one, other) + rel_entr(1.0 - one, 1.0 - other))


def epsilon_per_paper(epsilon: float, papers: int) -> float:
    """The epsilon per paper such that all papers together move no odds by more than e^epsilon.

    >>> epsilon_per_paper(2.0, 5)
    0.4
    """
    return epsilon / papers
