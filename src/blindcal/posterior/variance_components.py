"""Variance components of this year's scores, by moments: public functions of the scores alone.

The model is `score = center of the area + quality + strictness of the reviewer + noise`. Who wrote which
review is not used, so nobody can tell how much of a score's variance about the quality is strictness. The
estimators are those of a one-way analysis of variance with unequal numbers (Henderson's first method).
Centers of areas are shrunk toward the mean of all by the method of DerSimonian and Laird. Sums are exact
rationals, and every further step is one rounding of IEEE arithmetic, so that all machines find the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import fsum, sqrt

from blindcal.reviews import Reviews

# The variance of quality is taken as at least this part of the disagreement: less cannot be told from 0.
_LEAST_QUALITY = Fraction(1, 100)


@dataclass(frozen=True)
class ScoreMoments:
    """Center and spread of a conference's scores.

    Attributes:
        center: The mean score.
        spread: The standard deviation of papers' qualities within their areas, in units of the scores.
        disagreement: The variance of a score about the quality of its paper, relative to that of qualities.
        areas: The center of each declared area, as a quality: relative to `center`, in units of `spread`.

    Example:
        >>> ScoreMoments(5.0, 2.0, 1.0).quality(7.0)
        1.0
    """

    center: float
    spread: float
    disagreement: float
    areas: Mapping[str, float] = field(default_factory=dict)

    def quality(self, score: float) -> float:
        """A score in standard deviations of quality from the center."""
        return (score - self.center) / self.spread

    def area(self, name: str) -> float:
        """The center of an area; that of all papers for one that was not there."""
        return self.areas.get(name, 0.0)


def score_moments(reviews: Reviews, areas: Mapping[str, str]) -> ScoreMoments:
    """The moments of these scores; nothing depends on who wrote which review.

    With k reviews of a paper, `w` is the mean square of scores about their paper's mean, and that of papers'
    means about their area's has expectation `w + k0 q`, where q is the variance of quality.

    Args:
        reviews: This year's, high scores better.
        areas: The area of each paper; empty texts if there is one for all.

    Example:
        >>> table = {"paper": ["p", "p", "q", "q"], "reviewer": ["a", "b", "a", "b"], "score": [1, 3, 6, 8]}
        >>> score_moments(Reviews.from_table(table), {"p": "", "q": ""})  # w = 2, q = (25 - 2) / 2
        ScoreMoments(center=4.5, spread=3.391164991562634, disagreement=0.17391304347826086, areas={})
    """
    papers = _papers(reviews)
    groups: dict[str, list[tuple[Fraction, int]]] = {}
    for name, (total, _, reviewed) in zip(reviews.papers, papers, strict=True):
        groups.setdefault(areas[name], []).append((total, reviewed))
    sizes = {name: sum(reviewed for _, reviewed in members) for name, members in groups.items()}
    sums = {name: _sum(total for total, _ in members) for name, members in groups.items()}
    number, by_paper = len(reviews), _sum(total * total / reviewed for total, _, reviewed in papers)
    within, quality = Fraction(0), Fraction(0)
    if freedom := number - len(papers):
        within = (_sum(squares for _, squares, _ in papers) - by_paper) / freedom
    if freedom := len(papers) - len(groups):
        squares = by_paper - _sum(sums[name] ** 2 / sizes[name] for name in groups)
        own = _sum(Fraction(k * k, sizes[name]) for name, members in groups.items() for _, k in members)
        quality = (squares / freedom - within) / ((number - own) / freedom)
    quality = max(quality, within * _LEAST_QUALITY) or Fraction(1)
    center, spread = float(_sum(sums.values()) / number), sqrt(float(quality))
    disagreement = float(within / quality)
    means = {name: (float(sums[name] / sizes[name]) - center) / spread for name in sorted(groups)}
    errors = {
        name: fsum(1.0 + disagreement / reviewed for _, reviewed in groups[name]) / len(groups[name]) ** 2
        for name in means
    }
    return ScoreMoments(center, spread, disagreement, _shrunk(means, errors) if len(groups) > 1 else {})


def _papers(reviews: Reviews) -> list[tuple[Fraction, Fraction, int]]:
    """Of each paper the sum of its scores, the sum of their squares, and how many there are, exactly."""
    # Numbers count as they are written: 0.1 is a tenth.
    exact = {score: Fraction(str(score)) for score in set(reviews.score.tolist())}
    scores: list[list[Fraction]] = [[] for _ in reviews.papers]
    for paper, score in zip(reviews.paper.tolist(), reviews.score.tolist(), strict=True):
        scores[paper].append(exact[score])
    return [(_sum(own), _sum(score * score for score in own), len(own)) for own in scores]


def _sum(terms: Iterable[Fraction]) -> Fraction:
    return sum(terms, Fraction(0))


def _shrunk(means: Mapping[str, float], errors: Mapping[str, float]) -> dict[str, float]:
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
