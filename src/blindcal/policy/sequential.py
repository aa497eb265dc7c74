"""A sequence of tables whose decisions together add nothing, for a prior over whole assignments.

Papers that share reviewers are coupled, so that tables which add nothing one by one may add something
together. Here papers are decided in a public order, and each table may depend on the decisions so far, H. It
has the least error among those with, for every review l of every coupled paper, decided ones included,

    sum_d max_y sum_r P(A_l = y, A_t = r | H) P(d | r) <= max_y P(A_l = y | H),

and the epsilon of one paper. Then `E max_y P(A_l = y | H)` never grows (tower rule), and all decisions
together make no best guess likelier on average (docs/explanation/theory.md has the proof). The condition is
linear in the table, given the *pairwise* chances of who wrote review l and who reviewed paper t: sums over
assignments that are listed or were sampled. Linear programs are solved to 1e-9, so "nothing" is up to that
for each paper.

It is a mechanism for research: tables depend on private decisions, and its cost grows with the reviews of the
component.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linprog

from blindcal.checks import Array, Integers
from blindcal.errors import InputError

_TOLERANCE, _ROUNDING = 1e-10, 1e-8
MOST_REVIEWS = 60
"""Coupled parts with more reviews are refused: their programs have a row for each review and candidate."""


@dataclass(frozen=True, eq=False)
class ListedPrior:
    """A prior over whole assignments, one by one: all of them, or a sample from the belief."""

    # Those of each paper, `[tuple, slot]`: people by number, below 0 if they cannot be named
    tuples: Sequence[Integers]
    assignments: Integers = field(repr=False)  # `[assignment, paper]`, tuples by number
    chance: Array = field(repr=False)  # `[assignment]`

    def pairwise(self, likelihoods: Sequence[Array], paper: int) -> list[Array]:
        """`[other tuple, tuple]` for each paper: P(both | likelihoods), with a tuple of this paper.

        `likelihoods[paper][tuple]` are those of what is known.
        """
        weight = self.chance.copy()
        for own, likelihood in zip(self.assignments.T, likelihoods, strict=True):
            weight = weight * likelihood[own]
        weight /= weight.sum()
        size, here = len(self.tuples[paper]), self.assignments[:, paper]
        joint = []
        for rows, own in zip(self.tuples, self.assignments.T, strict=True):
            flat = np.bincount(own * size + here, weight, len(rows) * size).astype(np.float64)
            joint.append(flat.reshape(len(rows), size))
        return joint


def reviewer_masses(tuples: Integers, joint: Array) -> list[Array]:
    """For each review of a paper `[person, tuple]`: P(who wrote it, tuple of the paper that is decided)."""
    masses = []
    for slot in tuples.T:
        people, label = np.unique(slot, return_inverse=True)
        mass = np.zeros((people.size, joint.shape[1]))
        np.add.at(mass, label, joint)
        masses.append(mass[people >= 0])
    return masses


def next_table(
    prior: ListedPrior,
    likelihoods: Sequence[Array],
    paper: int,
    favor: Array,
    *,
    epsilon: float | None = 2.0,
) -> Array:
    """The accept probability of each tuple of the next paper, given the likelihoods of decisions so far.

    `favor[tuple]` is the chance that accepting it is right. No decision moves odds between two tuples by more
    than a factor e^epsilon.
    """
    if sum(rows.shape[1] for rows in prior.tuples) > MOST_REVIEWS:
        raise InputError(f"a sequence of tables is for coupled papers with at most {MOST_REVIEWS} reviews")
    joint = prior.pairwise(likelihoods, paper)
    weight = joint[paper].sum(axis=0)
    possible = weight > 0.0
    masses = [
        mass[:, possible]
        for rows, chances in zip(prior.tuples, joint, strict=True)
        for mass in reviewer_masses(rows, chances)
    ]
    found = _tidy(_least_error(masses, weight[possible], favor[possible], epsilon), epsilon)
    accept = np.full(weight.shape, np.clip(0.5, found.min(), found.max()))
    accept[possible] = found
    return accept


def _tidy(accept: Array, epsilon: float | None) -> Array:
    """The solution of a program without its rounding: a constant is one, and epsilon is kept."""
    if np.ptp(accept) <= _ROUNDING:
        return np.full(accept.shape, np.clip(accept.mean().round(9), 0.0, 1.0))
    if epsilon is None:
        return accept
    least = np.exp(-epsilon)
    return np.clip(accept, accept.max() * least, 1.0 - (1.0 - accept.min()) * least)


def _least_error(masses: Sequence[Array], weight: Array, favor: Array, epsilon: float | None) -> Array:
    """The program: accept probabilities p, the best guess of each review after each outcome, two bounds."""
    size, reviews = weight.size, len(masses)
    cost = np.concatenate([weight * (1.0 - 2.0 * favor), np.zeros(2 * reviews + 2)])
    unit = np.eye(cost.size)
    rows, limits = list[Array](), list[float]()
    for mass, accepted, rejected in zip(masses, unit[size:-2:2], unit[size + 1 : -2 : 2], strict=True):
        for own in mass:
            # sum_r own p <= accepted, and sum_r own (1 - p) <= rejected
            chosen = own @ unit[:size]
            rows += [chosen - accepted, -chosen - rejected]
            limits += [0.0, -float(own.sum())]
        rows.append(accepted + rejected)
        limits.append(float(mass.sum(axis=1).max(initial=0.0)))
    if epsilon is not None:
        least, most, grown = unit[-2], unit[-1], float(np.exp(epsilon))
        # least <= p <= most <= e^eps least, and 1 - least <= e^eps (1 - most)
        for row in unit[:size]:
            rows += [row - most, least - row]
            limits += [0.0, 0.0]
        rows += [most - grown * least, grown * most - least]
        limits += [0.0, grown - 1.0]
    solution = linprog(
        cost,
        A_ub=np.array(rows),
        b_ub=np.array(limits),
        bounds=[(0.0, 1.0)] * cost.size,
        method="highs",
        options={"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE},
    )
    if solution.x is None:
        # A constant is always possible: the public decision.
        return np.full(size, float(weight @ favor > 0.5 * weight.sum()))
    return np.asarray(np.clip(solution.x[:size], 0.0, 1.0), dtype=np.float64)


def best_order(weights: Sequence[Array], favors: Sequence[Array]) -> list[int]:
    """A public order of papers: first those on which knowing the reviewers saves most errors."""
    saved = []
    for weight, favor in zip(weights, favors, strict=True):
        right = float(weight @ favor)
        saved.append(min(right, 1.0 - right) - float(weight @ np.minimum(favor, 1.0 - favor)))
    return sorted(range(len(saved)), key=lambda paper: (-saved[paper], paper))
