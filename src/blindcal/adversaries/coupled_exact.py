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
    success(all decisions) <= success(own decision) prod_j (1 + kappa_j)   (sum_d max_A L <= prod_j of it)
    success(all decisions) <= 1 - (1 - success(own decision)) prod_j (1 - kappa_j)
    added success <= sqrt(sum_j capacity_j / 2)                            (Pinsker, in nats)

over the other papers of the component, with kappa_j the range of a table (over all papers in the first and
the last line); papers decided by public information count nothing. The third holds because with chance
`prod_j (1 - kappa_j)` no other decision depends on anybody (`erasure_bound`). The last follows from
`E TV(P(y|d), P(y)) <= sqrt(I(y; D)/2)` and `I(y; D) <= I(A; D) <= sum_j I(A_j; D_j)`: coins are independent.
Nothing much smaller holds for every prior: papers that share one secret bit reach the second line's product.
For the stated prior and loads `erasure_bound` is smaller.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice, product
from math import inf

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import rel_entr

from blindcal.adversaries.findings import Finding
from blindcal.adversaries.single_paper import AUTHOR, View
from blindcal.adversaries.single_paper import authors as reviewers_of
from blindcal.assignment.candidates import OUTSIDER
from blindcal.assignment.prior import NOBODY, sets_of
from blindcal.checks import Array, Integers
from blindcal.errors import InputError
from blindcal.policy.policy import Policy
from blindcal.posterior.loads import (
    MOST_TERMS,
    LoadSums,
    by_set,
    components,
    load_sums,
    number_of_terms,
)

LOADS = "knows everyone's load"
MOST_OUTCOMES = 60_000
"""Exact sums run over at most this many joint outcomes of all papers."""
_OUTCOMES_AT_ONCE = 256
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
    """The loads, with the reviews that are left as the load of `*` if pools have it."""
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
        raise InputError(f"`loads` must be 0 for people in no pool, found {outside} who are not")
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
    # Loaded here, as in `blindcal.reviews`: it takes long, and few commands need it.
    from scipy.sparse.csgraph import maximum_flow

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


def exact_reviewers(network: Network) -> list[Array]:
    """For each paper `[slot, member]`: P(this member wrote this review | everything); 0 for `*`."""
    sums = _NetworkSums(network)
    total, masses = sums.masses([weight[:, None] for weight in network.weights])
    return [sums.reviewers(number, mass)[..., 0] / total for number, mass in enumerate(masses)]


class _NetworkSums:
    """Sums over all assignments of a network, for many weights of its tuples at once."""

    def __init__(self, network: Network) -> None:
        self.network = network
        pairs = zip(network.members, network.tuples, strict=True)
        self.sets, self.index = zip(*(sets_of(who[rows]) for who, rows in pairs), strict=True)
        self.terms = number_of_terms(self.sets, network.load)

    @cached_property
    def sums(self) -> LoadSums:
        """The sums over assignments."""
        return load_sums(self.sets, self.network.load, self.network.load)

    def masses(self, weights: Sequence[Array]) -> tuple[Array, list[Array]]:
        """The weight `[case]` of all assignments, and for each paper that of those with each tuple."""
        sets = [
            by_set(w, index, len(own)) for w, index, own in zip(weights, self.index, self.sets, strict=True)
        ]
        total, rest = self.sums.total_and_rest(sets)
        return total, [w * beside[index] for w, beside, index in zip(weights, rest, self.index, strict=True)]

    def reviewers(self, number: int, mass: Array) -> Array:
        """`[slot, member, case]`: the mass of the tuples in which a member wrote a review; 0 for `*`."""
        members, rows = self.network.members[number], self.network.tuples[number]
        chance = np.zeros((rows.shape[1], len(members), mass.shape[1]))
        for slot, who in enumerate(rows.T):
            np.add.at(chance[slot], who, mass)
        chance[:, ~self.network.named[number]] = 0.0
        return chance


def is_small(views: Sequence[View], loads: Mapping[str, int], options: int = 2) -> bool:
    """Whether everything can be summed: all states of the loads and, before the draw, all outcomes.

    Before the draw a paper has `options` outcomes.
    """
    made = _NetworkSums(network(views, loads, [view.weight for view in views]))
    outcomes = float(options) ** sum(view.outcome is None for view in views)
    return made.terms * outcomes <= MOST_TERMS * _OUTCOMES_AT_ONCE and outcomes <= MOST_OUTCOMES


def exact_finding(views: Sequence[View], loads: Mapping[str, int], policy: str) -> Finding:
    """The exact success in naming a reviewer, over all assignments and, before the draw, all outcomes."""
    views = [view.without_loads() for view in views]
    alone = network(views, loads, [view.weight for view in views])
    sums, before = _NetworkSums(alone), exact_reviewers(alone)
    tops = [found.max(axis=1) for found in before]
    scale = sums.masses([view.weight[:, None] for view in views])[0][0]
    success, rise = 0.0, -np.inf
    options = [view.mass(policy) for view in views]
    published = views[0].outcome is not None
    for outcomes in _in_parts([len(option) for option in options]):
        total, masses = sums.masses([option[o].T for option, o in zip(options, outcomes.T, strict=True)])
        some = total > 0.0
        for number, mass in enumerate(masses if some.any() else ()):
            best = sums.reviewers(number, mass[:, some]).max(axis=1)
            success += float((best / total[some]).sum() if published else best.sum() / scale)
            rise = max(rise, float((best / total[some] - tops[number][:, None]).max()))
    baseline = float(sum(top.sum() for top in tops) / alone.reviews)
    return Finding(LOADS, AUTHOR, policy, baseline, success / alone.reviews, 0.0, rise)


def _in_parts(options: Sequence[int]) -> Iterator[Integers]:
    """All choices of one option for each paper, `[choice, paper]`, in parts that fit into memory."""
    choices = product(*map(range, options))
    while part := list(islice(choices, _OUTCOMES_AT_ONCE)):
        yield np.array(part, dtype=np.int64)


@dataclass(frozen=True)
class CoupledBound:
    """Bounds on what all decisions together tell a coupled adversary about one paper's reviews.

    They hold for every prior over whole assignments, because they depend on the tables alone. With V the
    adversary's success from scores and loads, and V' that with the paper's own decision as well,

        success <= min(V' factor, 1 - (1 - V') hidden, V + added)
    """

    papers: int  # the size of the component
    epsilon: float  # no log odds between two reviewers change by more
    factor: float  # `prod (1 + kappa_j)` over the other papers, with kappa_j the range of paper j's table
    hidden: float  # `prod (1 - kappa_j)` over them: the chance that their decisions depend on no reviewer
    added: float  # pinsker's inequality for the capacities of all tables

    def success(self, alone: float, own: float) -> float:
        """The largest success, from that before any decision and that with the paper's own decision."""
        return min(own * self.factor, 1.0 - (1.0 - own) * self.hidden, alone + self.added, 1.0)


def coupled_bounds(views: Sequence[View], policy: str = "chosen") -> list[CoupledBound]:
    """For each paper, bounds that hold against every coupled adversary, under any prior."""
    group = components([view.names for view in views])
    policies = [Policy(view.accept[policy]) for view in views]
    epsilon = np.array([float(one.epsilon) for one in policies])
    kappa = np.array([float(np.ptp(one.accept)) for one in policies])
    nats = np.array([capacity(one.accept) for one in policies])
    bounds = []
    for number, mine in enumerate(group):
        inside = group == mine
        others = inside & (np.arange(len(views)) != number)
        bounds.append(
            CoupledBound(
                papers=int(inside.sum()),
                epsilon=float(epsilon[inside].sum()),
                factor=float((1.0 + kappa[others]).prod()),
                hidden=float((1.0 - kappa[others]).prod()),
                added=float(np.sqrt(0.5 * nats[inside].sum())),
            )
        )
    return bounds


@dataclass(frozen=True)
class ErasureBound:
    """How often a coupled adversary is right at most, mean over all reviews, for the stated prior and loads.

    Attributes:
        baseline: From scores and loads alone, exactly.
        own: With the decision on the review's own paper, exactly.
        erasure: With all decisions, at most: the erasure bound for this prior.
        any_prior: With all decisions, at most, from `own` and the ranges of the tables alone.
    """

    baseline: float
    own: float
    erasure: float
    any_prior: float


def any_prior_bound(views: Sequence[View], policy: str = "chosen") -> float:
    """How often anyone is right with all decisions at most, if papers taken one by one are as believed.

    It is the mean over all reviews of `CoupledBound.success`, whatever the prior over whole assignments.
    """
    limits, reviews = 0.0, 0
    for view, limit in zip(views, coupled_bounds(views, policy), strict=True):
        undecided = replace(view, outcome=None)
        masses = (undecided.alone, undecided.mass(policy))
        alone, own = (reviewers_of(undecided, mass).max(axis=2).sum(axis=0) for mass in masses)
        limits += sum(limit.success(a, o) for a, o in zip(alone.tolist(), own.tolist(), strict=True))
        reviews += len(view.scores)
    return limits / reviews


def erasure_bound(views: Sequence[View], loads: Mapping[str, int], policy: str = "chosen") -> ErasureBound:
    """An upper bound on what all decisions together reveal, by sums over all assignments.

    A table's accept chances are `lo + kappa q(r)` with q in [0, 1]. So its decision can be made from a coin
    that comes up with chance kappa: if it does, accept with chance q(r); else with chance lo/(1 - kappa),
    whoever reviewed. Whoever sees, for every other paper, nothing (chance 1 - kappa) or a draw of
    Bernoulli(q(r)) therefore sees no less than the decisions (they are a garbling of it, Blackwell 1951), and
    the bound is the success of that adversary, who also sees the decision on the paper itself.
    """
    views = [view.without_loads() for view in views]
    made = network(views, loads, [view.weight for view in views])
    sums, accepts = _NetworkSums(made), [view.accept[policy] for view in views]
    kappa = np.array([np.ptp(accept) for accept in accepts])
    scale, masses = sums.masses([view.weight[:, None] for view in views])

    def best(number: int, mass: Array) -> Array:
        """`[case]`: the mass of the best guesses at all reviews of a paper."""
        return np.asarray(sums.reviewers(number, mass).max(axis=1).sum(axis=0))

    def best_after(number: int, mass: Array) -> Array:
        """The same after the decision on the paper itself."""
        accept = accepts[number][:, None]
        return best(number, mass * accept) + best(number, mass * (1.0 - accept))

    alone = [float(best(number, mass)[0] / scale[0]) for number, mass in enumerate(masses)]
    own = [float(best_after(number, mass)[0] / scale[0]) for number, mass in enumerate(masses)]
    # Of each paper: nothing is seen, or its draw of Bernoulli(q) is 1, or 0.
    likelihoods = [_erasure_likelihoods(accept) for accept in accepts]
    bound = np.zeros(len(views))
    for choices in _in_parts([len(one) for one in likelihoods]):
        chance = np.where(choices == 0, 1.0 - kappa, kappa)
        _, masses = sums.masses(
            [
                view.weight[:, None] * likelihood[choice].T
                for view, likelihood, choice in zip(views, likelihoods, choices.T, strict=True)
            ]
        )
        for number, mass in enumerate(masses):
            # The paper's own decision is seen instead of its draw.
            hidden = np.flatnonzero(choices[:, number] == 0)
            others = np.delete(chance[hidden], number, axis=1).prod(axis=1)
            bound[number] += float(best_after(number, mass[:, hidden]) @ others / scale[0])
    limits = [
        limit.success(before / slots, after / slots) * slots
        for limit, before, after, slots in zip(
            coupled_bounds(views, policy), alone, own, made.slots, strict=True
        )
    ]
    parts = (float(sum(part)) / made.reviews for part in (alone, own, bound, limits))
    return ErasureBound(*parts)


def coupled_limits(views: Sequence[View], loads: Mapping[str, int] | None = None) -> dict[str, float]:
    """How often a reviewer is named with all decisions together at most, on average over the decisions.

    `any_prior` depends on the tables alone. `erasure` is for the stated prior and these loads, if there are
    few enough assignments to sum.
    """
    undecided = [replace(view, outcome=None) for view in views]
    if loads is None or not is_small(undecided, loads, options=3):
        return {"any_prior": any_prior_bound(views)}
    bound = erasure_bound(undecided, loads)
    return {"erasure": bound.erasure, "any_prior": bound.any_prior}


def _erasure_likelihoods(accept: Array) -> Array:
    """`[draw, tuple]`: 1 for a paper of which nothing is seen; q, and 1 - q, of a draw of Bernoulli(q)."""
    low, kappa = accept.min(), np.ptp(accept)
    if kappa == 0.0:
        return np.ones((1, accept.size))
    q = (accept - low) / kappa
    return np.stack([np.ones(accept.shape), q, 1.0 - q])


_BISECTIONS = 60


def capacity(accept: Array) -> float:
    """The capacity, in nats, of the channel from a tuple to its decision.

    It is the radius of the accept probabilities in relative entropy: the least `middle` of the largest
    divergence. Any `middle` gives an upper bound, so stopping the bisection early is safe.
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
