"""Accept k of m papers, each with one review by one of m reviewers: the pair generalized, for small m.

Secrets are the m! assignments, decisions the subsets of k papers; `least_loss` (policy.multi_outcome) then
finds the policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from blindcal.checks import Array, Integers, numbers
from blindcal.errors import InputError
from blindcal.io.tables import long_frame
from blindcal.reviewers.affine import Affine
from blindcal.reviewers.base import Reviewer

_LARGEST = 6
_FINEST = 1000.0


@dataclass(frozen=True, eq=False)
class Selection:
    """The problem of accepting some of several papers, as `least_loss` takes it.

    `labels[i, a]` is the reviewer of paper i again, for an adversary that guesses who reviewed each paper
    rather than the whole assignment.

    Attributes:
        weight: `weight[assignment]`, its probability given the scores.
        loss: `loss[assignment, decision]`, the expected loss.
        assignments: `assignments[a, i]`, the reviewer of paper i.
        decisions: `decisions[d]`, the accepted papers.
    """

    weight: Array
    loss: Array
    assignments: Integers
    decisions: Integers

    def to_frame(self) -> Any:
        """One row per assignment and decision, as a pandas data frame; needs pandas."""
        values = {"weight": self.weight[:, None], "loss": self.loss}
        return long_frame(values, "assignment", "decision")

    @property
    def labels(self) -> Integers:
        """`[paper, assignment]`: the reviewer, for an adversary that guesses who reviewed each paper."""
        return self.assignments.T


def selection(reviewers: Sequence[Reviewer], scores: ArrayLike, accepted: int) -> Selection:
    """All assignments of m reviewers to m papers, equally likely before the scores, and all ways to accept.

    The loss is the expected share of the accepted papers that are not among the best: 1 minus their mean
    P(paper is one of the `accepted` best | scores, assignment). With two papers, one accepted, it is the
    pair.

    Args:
        reviewers: Two to six, each `Affine` with known slope and offset: given a score, quality must be
            normal.
        scores: One for each paper.
        accepted: How many papers are accepted, from 1 to m-1.

    Example:
        >>> problem = selection([Affine(1.0), Affine(1.0, 1.0)], [0.5, 0.0], accepted=1)
        >>> problem.weight.round(6), problem.loss.tolist()
        (array([0.377541, 0.622459]), [[0.0, 1.0], [1.0, 0.0]])
    """
    s = numbers("scores", scores)
    m = len(reviewers)
    if s.shape != (m,) or not 2 <= m <= _LARGEST:
        raise InputError(f"give 2 to {_LARGEST} reviewers and one score each, found {m} and {s.shape}")
    if not 1 <= accepted < m:
        raise InputError(f"accepted must lie in 1..{m - 1}, found {accepted}")
    assignments = np.array(list(permutations(range(m))), dtype=np.int64)
    decisions = np.array(list(combinations(range(m), accepted)), dtype=np.int64)
    log_density, mean, deviation = (
        np.array(part) for part in zip(*(_quality(reviewer, s) for reviewer in reviewers), strict=True)
    )
    papers = np.arange(m)
    log_weight = log_density[assignments, papers].sum(axis=-1)
    weight = np.exp(log_weight - log_weight.max())
    best = _among_best(mean[assignments, papers], deviation[assignments, papers], accepted)
    loss = 1.0 - best[:, decisions].mean(axis=-1)
    return Selection(weight / weight.sum(), np.clip(loss, 0.0, 1.0), assignments, decisions)


def _quality(reviewer: Reviewer, scores: Array) -> tuple[Array, Array, Array]:
    """For each score: its log density, and mean and deviation of the quality behind it."""
    if not isinstance(reviewer, Affine):
        raise InputError(f"a selection needs Affine reviewers, found {type(reviewer).__name__}")
    if reviewer.covariance is not None or reviewer.shape != ():
        raise InputError("a selection needs single reviewers with known slope and offset")
    total = np.square(reviewer.slope) + np.square(reviewer.noise)
    mean = reviewer.slope * (scores - reviewer.offset) / total
    deviation = np.broadcast_to(reviewer.noise / np.sqrt(total), scores.shape)
    return reviewer.log_marginal(scores), mean, deviation


def _among_best(mean: Array, deviation: Array, k: int) -> Array:
    """P(quality i is one of the k largest) for independent N(mean, deviation^2), along the last axis."""
    if not deviation.any():
        above = (mean[..., None, :] > mean[..., :, None]).sum(axis=-1)
        tied = (mean[..., None, :] == mean[..., :, None]).sum(axis=-1)
        return np.asarray(np.clip((k - above) / tied, 0.0, 1.0))
    if deviation.min() * _FINEST < deviation.max():
        raise InputError(
            f"noise must be positive for all reviewers or for none, and within a factor {_FINEST:g}"
        )
    step = 0.25 * deviation.min() / deviation.max()
    z = np.arange(-9.0, 9.0 + step, step)
    density = np.exp(-0.5 * np.square(z))
    probabilities = [_not_passed(mean, deviation, i, z, k) @ density for i in range(mean.shape[-1])]
    return np.asarray(np.stack(probabilities, axis=-1) / density.sum())


def _not_passed(mean: Array, deviation: Array, i: int, z: Array, k: int) -> Array:
    """P(fewer than k of the others are better) where quality i lies z deviations from its mean."""
    quality = mean[:, i, None] + deviation[:, i, None] * z
    better = np.zeros((k, *quality.shape))
    better[0] = 1.0
    for j in range(mean.shape[-1]):
        if j != i:
            chance = ndtr((mean[:, j, None] - quality) / deviation[:, j, None])
            moved = better * chance
            better *= 1.0 - chance
            better[1:] += moved[:-1]
    return np.asarray(better.sum(axis=0))
