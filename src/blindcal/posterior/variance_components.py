"""Variance components of this year's scores, by moments: public functions of the scores alone.

The model is `score = center of the area + quality + strictness of the reviewer + noise`. Who wrote which
review is not used, so nobody can tell how much of a score's variance about the quality is strictness. The
estimators are those of a one-way analysis of variance with unequal numbers (Henderson's first method).
Centers of areas are shrunk toward the mean of all by the method of DerSimonian and Laird. Sums are exact
rationals, and every further step is one rounding of IEEE arithmetic, so that all machines find the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import fsum, sqrt

import numpy as np

from blindcal.reviews import Reviews

# The variance of quality is taken as at least this part of the disagreement: less cannot be told from 0.
_LEAST_QUALITY = Fraction(1, 100)


@dataclass(frozen=True)
class ScoreMoments:
    """Center and spread of a conference's scores.

    >>> ScoreMoments(5.0, 2.0, 1.0).quality(7.0)
    1.0
    """

    center: float  # the mean score
    spread: float  # the standard deviation of papers' qualities within their areas, in units of the scores
    disagreement: float  # the variance of a score about its paper's quality, relative to that of qualities
    # The center of each declared area, as a quality: relative to `center`, in units of `spread`
    areas: Mapping[str, float] = field(default_factory=dict)

    def quality(self, score: float) -> float:
        """A score in standard deviations of quality from the center."""
        return (score - self.center) / self.spread

    def area(self, name: str) -> float:
        """The center of an area; that of all papers for one that was not there."""
        return self.areas.get(name, 0.0)


def scores_by_paper(reviews: Reviews) -> dict[str, tuple[float, ...]]:
    """The scores of each paper, from the lowest up."""
    order = np.lexsort((reviews.score, reviews.paper))
    parts = np.split(reviews.score[order], np.flatnonzero(np.diff(reviews.paper[order])) + 1)
    return {paper: tuple(part.tolist()) for paper, part in zip(reviews.papers, parts, strict=True)}


def score_moments(scores: Mapping[str, Sequence[float]], areas: Mapping[str, str]) -> ScoreMoments:
    """The moments of the scores of papers; nothing depends on who wrote which review.

    With k reviews of a paper, `w` is the mean square of scores about their paper's mean, and that of papers'
    means about their area's has expectation `w + k0 q`, where q is the variance of quality.

    Args:
        scores: Those of each paper, high ones better. They count as they are written: 0.1 is a tenth.
        areas: The area of each paper; empty texts if there is one for all.

    >>> score_moments({"p": (1.0, 3.0), "q": (6.0, 8.0)}, {"p": "", "q": ""})  # w = 2, q = (25 - 2) / 2
    ScoreMoments(center=4.5, spread=3.391164991562634, disagreement=0.17391304347826086, areas={})
    """
    groups: dict[str, list[tuple[Fraction, int]]] = {}
    squared = between = Fraction(0)
    for paper, own in scores.items():
        exact = [Fraction(str(score)) for score in own]
        total = _exact_sum(exact)
        groups.setdefault(areas[paper], []).append((total, len(exact)))
        squared += _exact_sum(score * score for score in exact)
        between += total * total / len(exact)
    sizes = {name: sum(reviewed for _, reviewed in members) for name, members in groups.items()}
    sums = {name: _exact_sum(total for total, _ in members) for name, members in groups.items()}
    number, within, quality = sum(sizes.values()), Fraction(0), Fraction(0)
    if freedom := number - len(scores):
        within = (squared - between) / freedom
    if freedom := len(scores) - len(groups):
        squares = between - _exact_sum(sums[name] ** 2 / sizes[name] for name in groups)
        unequal = _exact_sum(
            Fraction(k * k, sizes[name]) for name, members in groups.items() for _, k in members
        )
        quality = (squares / freedom - within) / ((number - unequal) / freedom)
    quality = max(quality, within * _LEAST_QUALITY) or Fraction(1)
    center, spread = float(_exact_sum(sums.values()) / number), sqrt(float(quality))
    disagreement = float(within / quality)
    means = {name: (float(sums[name] / sizes[name]) - center) / spread for name in sorted(groups)}
    errors = {
        name: fsum(1.0 + disagreement / reviewed for _, reviewed in groups[name]) / len(groups[name]) ** 2
        for name in means
    }
    return ScoreMoments(
        center, spread, disagreement, _shrunk_centers(means, errors) if len(groups) > 1 else {}
    )


def _exact_sum(terms: Iterable[Fraction]) -> Fraction:
    return sum(terms, Fraction(0))


def _shrunk_centers(means: Mapping[str, float], errors: Mapping[str, float]) -> dict[str, float]:
    """Centers of areas, each shrunk by how much of its distance from the others is chance.

    With weights 1/error, `Q = sum weight (mean - all)^2` has expectation `G - 1 + (S1 - S2/S1) A` for areas
    whose centers have the variance A, where S1 and S2 are the sums of weights and of their squares.
    """
    weights = [1.0 / errors[name] for name in means]
    total = fsum(weights)
    common = fsum(weight * means[name] for weight, name in zip(weights, means, strict=True)) / total
    spread = fsum(weight * (means[name] - common) ** 2 for weight, name in zip(weights, means, strict=True))
    scale = total - fsum(weight * weight for weight in weights) / total
    variance = max(0.0, (spread - (len(means) - 1)) / scale)
    return {
        name: common + variance / (variance + errors[name]) * (mean - common) for name, mean in means.items()
    }
