"""Random beliefs over tuples of reviewers, and the best policies for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from blindcal.policy.guarantee import Guarantee
from blindcal.policy.solver import solve
from blindcal.posterior.belief import Belief
from blindcal.posterior.conference import Conference
from blindcal.posterior.paper import PaperCase
from general_program import least_loss


def random_paper(
    rng: np.random.Generator, candidates: int, reviews: int, twins: bool = False, noise: float = 0.5
) -> Belief:
    """A belief over ordered tuples of distinct candidates; with `twins` the first two are alike."""
    slope, offset = np.exp(rng.normal(0, 0.5, candidates)), rng.normal(0, 0.7, candidates)
    if twins:
        slope[1], offset[1] = slope[0], offset[0]
    scores = np.sort(rng.normal(0, 1, reviews))
    rows = np.column_stack([slope, offset, np.full(candidates, noise), np.zeros((candidates, 4))])
    public = tuple(f"r{j}" for j in range(candidates)), (reviews / candidates,) * candidates
    return PaperCase("p", tuple(scores.tolist()), *public, tuple(map(tuple, rows.tolist())), 0.5).belief


def solved(belief: Belief, guarantee: Guarantee) -> np.ndarray:
    loss = np.stack([1 - belief.favor, belief.favor], axis=-1)
    return least_loss(belief.weight, loss, belief.labels, replace(guarantee, never_against=None)).chance[:, 0]


def solve_all(conference: Conference, guarantee: Guarantee) -> tuple[np.ndarray, ...]:
    """The best policy of every paper, as a plan solves them."""
    return tuple(solve(case, guarantee).accept for case in conference.cases)
