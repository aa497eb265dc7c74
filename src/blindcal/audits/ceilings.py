"""What tables promise, paper by paper, against somebody who knows how papers share reviewers: sound for any
prior over whole assignments, and stated before anything is measured.

Papers whose pools have nobody in common are independent. Within one *component* of papers that share people,
directly or through others, all decisions d together have likelihood `L(A) = prod_j P(d_j | A_j)` under
assignment A, each factor a number of paper j's table. So for any two assignments `L(A)/L(A')` is at most
e to the sum of the epsilons of the papers on which they differ: two for a swap, the length for a cycle. An
author's likelihood is an average of such L, over the assignments in which they wrote the review. Hence

    odds between two authors move by at most e^(sum_j epsilon_j)
    success(all decisions) <= success(scores) * prod_j multiplier_j        (sum_d max_A L <= prod_j of it)
    added success <= sqrt(sum_j capacity_j / 2)                            (Pinsker, in nats)

over the papers of the component; papers decided whoever reviewed them count nothing. The last follows from
`E TV(P(y|d), P(y)) <= sqrt(I(y; D)/2)` and `I(y; D) <= I(A; D) <= sum_j I(A_j; D_j)`: coins are independent.
A promise against the coupled adversary is therefore paid for in epsilon per paper: `budget` parts it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import rel_entr

from blindcal.audits.views import View
from blindcal.checks import Array, Integers
from blindcal.policies.policy import Policy

_HALVINGS = 60


@dataclass(frozen=True)
class Ceiling:
    """What no coupled adversary exceeds about one paper's reviews: `epsilon` for odds between two authors,
    `factor` for success, `added` for added success; from this many `papers` that share people with it."""

    papers: int
    epsilon: float
    factor: float
    added: float


def ceilings(views: Sequence[View], policy: str = "chosen") -> list[Ceiling]:
    """For each paper what holds against everybody who knows how papers are coupled, whatever their prior.

    >>> def one(paper: str, names: str, accept: list[float]) -> View:
    ...     rows, weight = np.array([[0], [1]]), np.array([0.5, 0.5])
    ...     return View(paper, tuple(names), (1.0,), rows, weight, np.zeros(2), {"chosen": np.array(accept)})
    >>> found = ceilings([one("p", "ab", [0.6, 0.4]), one("q", "bc", [0.4, 0.6]), one("r", "de", [0.0, 1.0])])
    >>> [(each.papers, round(each.epsilon, 3), round(each.factor, 3)) for each in found]
    [(2, 0.811, 1.44), (2, 0.811, 1.44), (1, inf, 2.0)]
    """
    group = components(views)
    policies = [Policy(view.accept[policy]) for view in views]
    epsilon = np.array([float(one.epsilon) for one in policies])
    factor = np.array([float(one.multiplier) for one in policies])
    nats = np.array([capacity(one.accept) for one in policies])
    found = []
    for mine in group:
        inside = group == mine
        found.append(
            Ceiling(
                papers=int(inside.sum()),
                epsilon=float(epsilon[inside].sum()),
                factor=float(factor[inside].prod()),
                added=float(np.sqrt(0.5 * nats[inside].sum())),
            )
        )
    return found


def components(views: Sequence[View]) -> Integers:
    """The same number for papers that share people, directly or through others."""
    people = {name: len(views) + place for place, name in enumerate({n for v in views for n in v.names})}
    row = [number for number, view in enumerate(views) for _ in view.names]
    column = [people[name] for view in views for name in view.names]
    size = len(views) + len(people)
    graph = csr_array((np.ones(len(row)), (row, column)), shape=(size, size))
    return np.asarray(connected_components(graph, directed=False)[1][: len(views)], dtype=np.int64)


def capacity(accept: Array) -> float:
    """The most information, in nats, that a toss with one of these chances gives about which it was: no
    prior makes it more. Rounded up, as any `middle` gives a number that is not too small.

    >>> round(float(capacity(np.array([0.0, 1.0])) / np.log(2.0)), 6), capacity(np.array([0.3, 0.3]))
    (1.0, 0.0)
    """
    low, high = float(accept.min()), float(accept.max())
    if low == high:
        return 0.0
    left, right = low, high
    for _ in range(_HALVINGS):
        middle = 0.5 * (left + right)
        if _divergence(low, middle) < _divergence(high, middle):
            left = middle
        else:
            right = middle
    return min(max(_divergence(end, middle) for end in (low, high)) for middle in (left, right))


def _divergence(one: float, other: float) -> float:
    """Of a coin from another one."""
    if not 0.0 < other < 1.0:
        return 0.0 if one == other else inf
    return float(rel_entr(one, other) + rel_entr(1.0 - one, 1.0 - other))


def budget(epsilon: float, papers: int) -> float:
    """The epsilon per paper under which no odds move by more than e^epsilon through all of them together.

    >>> budget(2.0, 5)
    0.4
    """
    return epsilon / papers
