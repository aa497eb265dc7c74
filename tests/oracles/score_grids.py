"""The integrals of the average case as plain sums over a grid: no strip, no line, no closed form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import erf
from scipy.stats import norm

import blindcal as bc
from blindcal.policy.score_integrals import ScoreIntegrals

Pair = tuple[bc.Reviewer, bc.Reviewer]


class Sums(NamedTuple):
    """Least error, error of the adversary where the assignments agree, and where they do not the mass up to a
    price, that mass times its price, and all of the mass."""

    least: float
    agree: float
    gained: float
    spent: float
    disagree: float


def of_spread(spread: ScoreIntegrals, z: float) -> Sums:
    spent, gained = spread.spent_gained(z)
    disagree = spread.spent_gained(8.4)[1] + spread.tied
    return Sums(spread.least_error, spread.agree_error, gained, spent, disagree)


def over_scores(reviewers: Pair, prior: float, ends: tuple[float, float], points: int, z: float) -> Sums:
    """A sum over both scores, each between the same ends."""
    s1, s2, area = _lattice(*ends, points)
    one, two = reviewers
    ours = prior * np.exp(one.log_marginal(s1) + two.log_marginal(s2))
    theirs = (1 - prior) * np.exp(two.log_marginal(s1) + one.log_marginal(s2))
    belief = bc.pair_belief(reviewers, np.stack([s1, s2], axis=-1), prior)
    return _sums(belief, (ours + theirs) * area, z)


def over_qualities(reviewers: Pair, prior: float, points: int, z: float) -> Sums:
    """A sum over what the two reviewers read if the first read paper 1: without noise these are the scores,
    in other units."""
    t1, t2, area = _lattice(-9.0, 9.0, points)
    scores = np.stack([reviewers[0].score(t1), reviewers[1].score(t2)], axis=-1)
    belief = bc.pair_belief(reviewers, scores, prior)
    ours = prior * norm.pdf(t1) * norm.pdf(t2) * area
    return _sums(belief, ours / belief.weight[:, 0], z)


def _lattice(low: float, high: float, points: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Points of a square and the area of each. Every row is shifted by the golden ratio: regions may end
    along a diagonal, and a plain grid would count all of it or nothing."""
    step, place = (high - low) / points, np.arange(points)
    shift = (place * (np.sqrt(5.0) - 1.0) / 2.0) % 1.0
    one, two = np.broadcast_arrays(place[:, None] + 0.5, place + shift[:, None])
    return low + step * one.ravel(), low + step * two.ravel(), step**2


def _sums(belief: bc.Belief, chance: np.ndarray, z: float) -> Sums:
    weight, favor = belief.weight, belief.favor
    light, price = chance * weight.min(axis=-1), np.abs(2 * favor - 1).min(axis=-1)
    disagree = (favor[:, 0] > 0.5) != (favor[:, 1] > 0.5)
    cheap = disagree & (price <= erf(z / np.sqrt(2)))
    least = chance * (weight * np.minimum(favor, 1 - favor)).sum(axis=-1)
    return Sums(
        float(least.sum()),
        float(light[~disagree].sum()),
        float(light[cheap].sum()),
        float((light * price)[cheap].sum()),
        float(light[disagree].sum()),
    )
