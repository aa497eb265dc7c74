"""The coupled adversary, exactly: somebody who knows how many reviews everybody wrote.

Papers share reviewers, so all decisions together tell something about each reviewer. An assignment that meets
everybody's load has a weight: the product over papers of its tuple's weight there (prior, scores and, if
known, decision). `Network` has these weights. If the loads are small, sums over all assignments are computed
by a forward-backward recursion over papers, whose state is the used part of every load (`exact_reviewers`);
else `coupled_mcmc` draws assignments. `*`, anyone not listed for a paper, has the reviews that nobody listed
wrote: their number is known if all loads are. It may have written several reviews of a paper, and is never a
correct guess.

`erasure_bound` bounds the gain for the stated prior and loads (docs/explanation/theory.md has the proof).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, product
from operator import getitem

import numpy as np
from numpy.typing import NDArray

from blindcal.adversaries.findings import Finding
from blindcal.adversaries.single_paper import AUTHOR, View
from blindcal.checks import Array, Integers
from blindcal.errors import InputError
from blindcal.pools.candidates import OUTSIDER
from blindcal.pools.prior import NOBODY
from blindcal.posterior.loads import MOST_TERMS, AssignmentSums, review_flow

LOADS = "knows everyone's load"
MOST_OUTCOMES = 60_000
"""Exact sums run over at most this many joint outcomes of all papers."""
_OUTCOMES_AT_ONCE = 256
# The largest number of weights in memory, over all tuples of all papers.
_MOST_CELLS = 1 << 27


@dataclass(frozen=True, eq=False, repr=False)
class Network:
    """The possible assignments of a conference, with everybody's load. Confidential if it has decisions.

    `members[paper]` are indices of `people`, and `load` is how many reviews each of them wrote.
    `tuples[paper]` are rows of members, and `weights[paper]` their weights. `named[paper]` is true for
    members who can be guessed: all except `*`.
    """

    people: tuple[str, ...]
    load: Integers
    members: tuple[Integers, ...]
    tuples: tuple[Integers, ...]
    weights: tuple[Array, ...]
    named: tuple[NDArray[np.bool_], ...]

    @property
    def reviews(self) -> int:
        return int(self.load.sum())

    @property
    def slots(self) -> Integers:
        """The number of reviews of each paper."""
        return np.array([rows.shape[1] for rows in self.tuples])

    @property
    def pools(self) -> list[tuple[list[str], int]]:
        """The candidates of each paper and its number of reviews."""
        return [
            ([self.people[who] for who in own], rows.shape[1])
            for own, rows in zip(self.members, self.tuples, strict=True)
        ]

    @cached_property
    def sums(self) -> AssignmentSums:
        """Sums over all assignments, for many weights of the tuples at once."""
        return AssignmentSums(map(getitem, self.members, self.tuples), self.load)

    def by_reviewer(self, number: int, mass: Array) -> Array:
        """`[slot, member, case]`: the mass of the tuples in which a member wrote a review; 0 for `*`."""
        rows = self.tuples[number]
        chance = np.zeros((rows.shape[1], len(self.members[number]), mass.shape[1]))
        for slot, who in enumerate(rows.T):
            np.add.at(chance[slot], who, mass)
        chance[:, ~self.named[number]] = 0.0
        return chance


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
    first_assignment([(view.names, len(view.scores)) for view in views], loads, np.random.default_rng(0))


def first_assignment(
    pools: Sequence[tuple[Sequence[str], int]], loads: Mapping[str, int], rng: np.random.Generator
) -> list[list[str]]:
    """An assignment that meets all loads, slot by slot, by maximum flow; refused if there is none.

    `pools` has each paper's candidates and its number of reviews.
    """
    names = sorted({name for pool, _ in pools for name in pool})
    people = rng.permutation(names).tolist()
    paper = 1 + len(names) + rng.permutation(len(pools))
    flow = review_flow(pools, {name: int(loads.get(name, 0)) for name in names}, people, paper)
    if flow.flow_value < sum(slots for _, slots in pools):
        raise InputError("`loads` cannot be met by any assignment from these pools")
    rows, assignment = flow.flow.tocsr(), []
    for node in paper:
        span = slice(rows.indptr[node], rows.indptr[node + 1])
        given = zip(rows.indices[span], rows.data[span], strict=True)
        chosen = [people[to - 1] for to, times in given for _ in range(times)]
        assignment.append(rng.permutation(chosen).tolist())
    return assignment


def true_loads(views: Sequence[View]) -> dict[str, int]:
    """How many reviews everybody wrote, by the true reviewers: CONFIDENTIAL."""
    if any(view.truth is None for view in views):
        raise InputError("`loads` must be given where the true reviewers are not known")
    return Counter(view.names[who] for view in views for who in view.truth or () if who >= 0)


def exact_reviewers(network: Network) -> list[Array]:
    """For each paper `[slot, member]`: P(this member wrote this review | everything); 0 for `*`."""
    total, masses = network.sums.masses([weight[:, None] for weight in network.weights])
    return [network.by_reviewer(number, mass)[..., 0] / total for number, mass in enumerate(masses)]


def is_small(views: Sequence[View], loads: Mapping[str, int], options: int = 2) -> bool:
    """Whether everything can be summed: all states of the loads and, before the draw, all outcomes.

    Before the draw a paper has `options` outcomes.
    """
    terms = network(views, loads, [view.weight for view in views]).sums.terms
    outcomes = float(options) ** sum(view.outcome is None for view in views)
    return terms * outcomes <= MOST_TERMS * _OUTCOMES_AT_ONCE and outcomes <= MOST_OUTCOMES


def exact_finding(views: Sequence[View], loads: Mapping[str, int], policy: str) -> Finding:
    """The exact success in naming a reviewer, over all assignments and, before the draw, all outcomes."""
    alone = network(views, loads, [view.weight for view in views])
    sums, tops = alone.sums, [chances.max(axis=1) for chances in exact_reviewers(alone)]
    scale = sums.masses([view.weight[:, None] for view in views])[0][0]
    success, rise = 0.0, -np.inf
    options = [view.mass(policy) for view in views]
    published = views[0].outcome is not None
    for outcomes in _outcome_batches([len(option) for option in options]):
        total, masses = sums.masses([option[o].T for option, o in zip(options, outcomes.T, strict=True)])
        some = total > 0.0
        for number, mass in enumerate(masses if some.any() else ()):
            best = alone.by_reviewer(number, mass[:, some]).max(axis=1)
            success += float((best / total[some]).sum() if published else best.sum() / scale)
            rise = max(rise, float((best / total[some] - tops[number][:, None]).max()))
    baseline = float(sum(top.sum() for top in tops) / alone.reviews)
    return Finding(LOADS, AUTHOR, policy, baseline, success / alone.reviews, 0.0, rise)


def _outcome_batches(options: Sequence[int]) -> Iterator[Integers]:
    """All choices of one option for each paper, `[choice, paper]`, in parts that fit into memory."""
    choices = product(*map(range, options))
    while part := list(islice(choices, _OUTCOMES_AT_ONCE)):
        yield np.array(part, dtype=np.int64)


def erasure_bound(views: Sequence[View], loads: Mapping[str, int]) -> float:
    """An upper bound on how often a reviewer is named with all decisions together, mean over all reviews.

    It is for the stated prior and loads, by sums over all assignments. A table's accept chances are
    `lo + kappa q(r)` with q in [0, 1]. Whoever sees, for every other paper, nothing (chance 1 - kappa) or a
    draw of Bernoulli(q(r)) sees no less than the decisions. The bound is the success of that adversary, who
    also sees the decision on the paper itself (docs/explanation/theory.md).
    """
    made = network(views, loads, [view.weight for view in views])
    accepts = [view.accept["chosen"] for view in views]
    kappa = np.array([np.ptp(accept) for accept in accepts])
    scale = float(made.sums.masses([view.weight[:, None] for view in views])[0][0])
    # Of each paper: nothing is seen, or its draw of Bernoulli(q) is 1, or 0; `[draw, tuple]`.
    draws = [(accept - accept.min()) / (np.ptp(accept) or 1.0) for accept in accepts]
    likelihoods = [np.stack([np.ones(q.shape), q, 1.0 - q])[: 3 if q.any() else 1] for q in draws]
    right = 0.0
    for choices in _outcome_batches([len(likelihood) for likelihood in likelihoods]):
        chance = np.where(choices == 0, 1.0 - kappa, kappa)
        seen = zip(views, likelihoods, choices.T, strict=True)
        _, masses = made.sums.masses(
            [view.weight[:, None] * likely[choice].T for view, likely, choice in seen]
        )
        for number, (mass, accept) in enumerate(zip(masses, accepts, strict=True)):
            # The paper's own decision is seen instead of its draw.
            hidden = np.flatnonzero(choices[:, number] == 0)
            others = np.delete(chance[hidden], number, axis=1).prod(axis=1)
            for decision in (accept, 1.0 - accept):
                best = made.by_reviewer(number, mass[:, hidden] * decision[:, None]).max(axis=1)
                right += float(best.sum(axis=0) @ others)
    return right / scale / made.reviews


def erasure_limit(views: Sequence[View], loads: Mapping[str, int] | None) -> float | None:
    """How often a reviewer is named with all decisions together at most, on average over the decisions.

    It is for the stated prior and these loads; None if there are too many assignments to sum.
    """
    undecided = [replace(view, outcome=None) for view in views]
    small = loads is not None and is_small(undecided, loads, options=3)
    return erasure_bound(undecided, loads) if loads is not None and small else None
