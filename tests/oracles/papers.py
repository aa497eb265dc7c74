"""Random papers for tests: a pool, scores, and the belief over reviewer tuples, coded apart."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
from scipy.stats import norm

from blindcal.policy.guarantee import Guarantee
from blindcal.policy.solver import solve
from blindcal.posterior.belief import Belief
from blindcal.posterior.conference import Conference
from general_program import least_loss


def random_paper(
    rng: np.random.Generator, candidates: int, reviews: int, twins: bool = False, noise: float = 0.5
) -> Belief:
    """A belief over ordered tuples of distinct candidates; with `twins` the first two are alike."""
    slope, offset = np.exp(rng.normal(0, 0.5, candidates)), rng.normal(0, 0.7, candidates)
    if twins:
        slope[1], offset[1] = slope[0], offset[0]
    scores = np.sort(rng.normal(0, 1, reviews))
    tuples = np.array(list(permutations(range(candidates), reviews)))
    a, gap = slope[tuples] / noise, (scores - offset[tuples]) / noise
    precision = 1 + (a * a).sum(axis=1)
    mean = (a * gap).sum(axis=1) / precision
    log_weight = -0.5 * ((gap * gap).sum(axis=1) - mean**2 * precision) - 0.5 * np.log(precision)
    weight = np.exp(log_weight - log_weight.max())
    favor = norm.cdf((mean - 0.5) * np.sqrt(precision))
    return Belief(weight / weight.sum(), favor, tuples.T)


def solved(belief: Belief, guarantee: Guarantee) -> np.ndarray:
    loss = np.stack([1 - belief.favor, belief.favor], axis=-1)
    return least_loss(belief.weight, loss, belief.labels, replace(guarantee, never_against=None)).chance[:, 0]


def solve_all(conference: Conference, guarantee: Guarantee) -> tuple[np.ndarray, ...]:
    """The best policy of every paper, as a plan solves them."""
    return tuple(solve(case, guarantee).accept for case in conference.cases)
