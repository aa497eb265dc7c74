"""What each review is worth when a past conference shares sums: points, from papers and scores alone.

Who wrote a review plays no part here. A review is worth `POINTS` points, split between *above* and *below* by
how far its score is above what the other scores of the paper suggest. So a change of one review's author
moves `POINTS` points from one person to another and nothing else, whatever the paper's other reviews are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from blindcal.cells import in_natural_order
from blindcal.checks import Array, Integers
from blindcal.fitting.pasts import Past
from blindcal.fitting.shared import POINTS, REACH

# How much of a score's variance may be the paper's: papers of one review each say nothing about it.
_LEAST, _MOST = 0.05, 0.95


@dataclass(frozen=True)
class Points:
    """`above[paper, score]` of the `POINTS` points of a review; the rest are below. All of it is public.

    In standard deviations of the scores, a review's difference is taken as `REACH * (2 above / POINTS - 1)`;
    `mean` and `variance` are those over all reviews. `gain` is by how much the difference grows where a
    reviewer is more lenient by 1: less than 1, since it is bounded.
    """

    above: Mapping[tuple[str, float], int] = field(repr=False)
    reviews: int
    mean: float
    gain: float
    variance: float


def points_of(scores: Mapping[str, Sequence[float]]) -> Points:
    """The points of each review of a conference, from the scores of each paper, high ones better."""
    # One order whoever wrote what: the last digits of a sum depend on it.
    papers = in_natural_order(scores)
    sizes = [len(scores[paper]) for paper in papers]
    score = np.concatenate([np.sort(scores[paper]) for paper in papers])
    paper = np.repeat(np.arange(len(papers)), sizes)
    difference = differences(score, paper)
    above = np.rint(0.5 * POINTS * (1.0 + np.clip(difference / REACH, -1.0, 1.0))).astype(np.int64)
    counted = REACH * (2.0 * above / POINTS - 1.0)
    keys = ((papers[index], float(value)) for index, value in zip(paper, score, strict=True))
    return Points(
        dict(zip(keys, above.tolist(), strict=True)),
        reviews=score.size,
        mean=float(counted.mean()),
        gain=float((np.abs(difference) < REACH).mean()),
        variance=float(counted.var()),
    )


def differences(score: Array, paper: Integers) -> Array:
    """Each score less what the others of its paper suggest, if all reviewers are alike, in standard
    deviations of all scores.

    Of k other scores with mean m, `k r / (1 - r + k r) * m` is expected, where r is the paper's part of a
    score's variance.

    >>> differences(np.array([0.0, 0.0, 2.0, 2.0]), np.array([0, 0, 1, 1])).round(2)
    array([-0.05, -0.05,  0.05,  0.05])
    """
    z = (score - score.mean()) / score.std()
    reviews: Integers = np.bincount(paper).astype(np.int64)
    total: Array = np.bincount(paper, z).astype(np.float64)
    part = _part(z, paper, reviews, total)
    others = reviews[paper] - 1
    return np.asarray(z - part * (total[paper] - z) / (1.0 - part + others * part))


def _part(z: Array, paper: Integers, reviews: Integers, total: Array) -> float:
    """The paper's part of the variance of a score: the mean product of two scores of one paper."""
    pairs = float((reviews * (reviews - 1)).sum())
    products = float((total**2).sum() - (z**2).sum())
    return float(np.clip(products / pairs, _LEAST, _MOST)) if pairs else _LEAST


def upright_scores(past: Past) -> dict[str, list[float]]:
    """The scores of each paper, high ones better."""
    sign = 1.0 if past.better == "high" else -1.0
    found = defaultdict[str, list[float]](list)
    for paper, score in zip(past.paper, past.score.tolist(), strict=True):
        found[paper].append(sign * score)
    return dict(found)


def sums_of(points: Points, past: Past, people: Sequence[str]) -> Integers:
    """Points above and below of each of these people, `[2, person]`; reviews by others count for nobody."""
    sign = 1.0 if past.better == "high" else -1.0
    place = {name: index for index, name in enumerate(people)}
    sums = np.zeros((2, len(people)), dtype=np.int64)
    for paper, who, score in zip(past.paper, past.reviewer, past.score.tolist(), strict=True):
        if who in place:
            above = points.above[paper, sign * score]
            sums[:, place[who]] += (above, POINTS - above)
    return sums
