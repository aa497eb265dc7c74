"""Belief from this year's own reviews: the level of evidence of each paper, and how likely each level is.

The evidence of a paper is one of two levels: whether its quality, corrected for its reviewers' strictness,
lies above the bar. A reviewer's strictness is estimated from their *other* reviews, so the evidence is
CONFIDENTIAL. It depends on which reviews have a writer in common, and on nothing else about people.

Everything that shapes the table of a decision is a function of scores and of stated numbers: a `LevelModel`,
the bar, and the belief of each `LevelCase` about its own level. Qualities have variance 1. Let W be the
disagreement of scores and `f W` the part of it that is strictness, and let a paper have k scores of mean m.

* The residual of a score is `u = z - k m/(k+W)`. It has the variance `c W` with `c = 1 - 1/(k+W)`, and
  residuals of one person have the covariance `c c' f W`.
* From o other reviews a person's strictness is predicted as `beta S`, where S is the sum of their residuals
  and `beta = f W/(W + (o-1) c f W)`. What remains of a score's variance is `v = W (1 - f beta o c)`.
* The corrected quality is `X = k/(k+v) (m - mean of the predictions)`.

Given m, quality and X are jointly normal, also if the true part of strictness is not the stated one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import ceil, fsum, sqrt
from typing import NamedTuple, Self

import numpy as np
from scipy.special import ndtr, owens_t

from blindcal.errors import InputError
from blindcal.posterior.belief import Belief, unchecked_belief
from blindcal.posterior.variance_components import ScoreMoments, scores_by_paper
from blindcal.reviews import Reviews

SHARES = (0.15, 0.25, 0.35, 0.5)
"""The parts of disagreement that may be taken as strictness; the scores cannot tell which is right."""
SHARE = 0.25
_REVIEWS_EACH = 5
# Chances are multiples of this, so that tables do not depend on the last digits of a machine's functions.
_UNIT = 2.0**-30
# The bar has so many decimals, for the same reason; sums this close to the number asked for are equal to it.
_BAR_DECIMALS, _SAME_NUMBER = 4, 1e-9
_HIGHEST_BAR, _BISECTIONS = 16.0, 60


def people_by_rule(reviews: Sequence[int]) -> int:
    """The number of people who reviewed, if nobody states it: five reviews each.

    >>> people_by_rule([3] * 60), people_by_rule([4, 3])
    (36, 5)
    """
    return max(max(reviews) + 1, ceil(sum(reviews) / _REVIEWS_EACH))


class Joint(NamedTuple):
    """Quality and corrected quality of a paper, jointly normal given its scores."""

    slope: float  # the expected corrected quality, relative to the expected quality
    variance: float  # of the corrected quality
    covariance: float  # of quality and corrected quality


@dataclass(frozen=True)
class LevelModel:
    """What all papers share: a public function of the scores and of stated numbers.

    >>> model = LevelModel(ScoreMoments(5.0, 1.0, 1.0), 0.5, 10, {2: 20})
    >>> model.variance_alone(2), model.others
    (0.3333333333333333, 3.0)
    >>> LevelModel(model.moments, 0.5, 50, {2: 20}).others  # nobody has another review
    0.0
    """

    moments: ScoreMoments  # center and spread of the scores
    share: float  # the part of the scores' disagreement that is taken as strictness, one of `SHARES`
    people: int  # how many people reviewed
    reviews: Mapping[int, int]  # how many papers have how many reviews, by the number of reviews

    @property
    def corrects(self) -> bool:
        """Whether there is anything to correct.

        If everyone reviews everything, all papers have the same reviewers, and strictness changes no order.
        """
        return self.moments.disagreement > 0.0 and self.people > max(self.reviews)

    @property
    def strictness(self) -> float:
        """The variance of strictness over people, f W."""
        return self.share * self.moments.disagreement

    def gain(self, reviews: int) -> float:
        """How much of a reviewer's strictness a residual has, on a paper with so many reviews: c."""
        return 1.0 - 1.0 / (reviews + self.moments.disagreement)

    def variance_alone(self, reviews: int) -> float:
        """The variance of a paper's quality given its own scores, W/(k+W)."""
        return self.moments.disagreement / (reviews + self.moments.disagreement)

    @property
    def _number(self) -> int:
        """How many reviews there are."""
        return sum(papers * reviews for reviews, papers in self.reviews.items())

    @property
    def others(self) -> float:
        """How many other reviews the writer of a review has, if all people wrote equally many: o."""
        return max(self._number / self.people - 1.0, 0.0) if self.corrects else 0.0

    @cached_property
    def _typical(self) -> tuple[float, float, float]:
        """For a typical review c, beta and v."""
        gain = fsum(papers * k * self.gain(k) for k, papers in self.reviews.items()) / self._number
        every, strictness = self.moments.disagreement, self.strictness
        total = every + (self.others - 1.0) * gain * strictness
        beta = strictness / total if total > 0.0 else 0.0
        return gain, beta, every - strictness * beta * self.others * gain

    def joint(self, reviews: int, share: float) -> Joint:
        """Quality and corrected quality given m, if `share` of the disagreement is strictness in truth.

        The error of a score has the variance W before the correction, V after it, and the covariance C. So m,
        the mean of corrected scores, and quality have the variances `1 + W/k`, `1 + V/k`, 1 and the
        covariances `1 + C/k` (the first two) and 1.
        """
        (gain, beta, remaining), o, k = self._typical, self.others, float(reviews)
        every, strictness = self.moments.disagreement, share * self.moments.disagreement
        residuals = o * gain * every + o * (o - 1.0) * gain * gain * strictness
        both = every - beta * o * gain * strictness
        after = every - 2.0 * beta * o * gain * strictness + beta * beta * residuals
        slope, kept = (1.0 + both / k) / (1.0 + every / k), k / (k + remaining)
        variance = 1.0 + after / k - slope * (1.0 + both / k)
        return Joint(slope * kept * (1.0 + every / k), kept * kept * max(variance, 0.0), kept * (1.0 - slope))


@dataclass(frozen=True)
class LevelCase:
    """Everything public about one paper that is decided by this year's evidence.

    Fields that a `PaperCase` also has are explained there.

    >>> model = LevelModel(ScoreMoments(5.0, 1.0, 1.0), 0.5, 10, {2: 20})
    >>> case = LevelCase("p", (4.0, 6.0), model)
    >>> case.expected_quality, case.belief.weight, case.belief.favor.round(3)
    (0.0, array([0.5, 0.5]), array([0.344, 0.656]))
    """

    paper: str
    scores: tuple[float, ...]
    model: LevelModel = field(repr=False)  # what all papers share
    bar: float = 0.0
    grid: tuple[float, ...] | None = field(default=None, repr=False)
    track: str = field(default="", kw_only=True)
    area: str = field(default="", kw_only=True)  # empty unless areas have centers of their own
    settled: bool = field(default=False, kw_only=True, repr=False)

    @property
    def qualities(self) -> tuple[list[float], float]:
        """The scores as qualities, relative to the center of the paper's area; and that center."""
        moments = self.model.moments
        center = moments.area(self.area)
        return [moments.quality(score) - center for score in self.scores], center

    @property
    def expected_quality(self) -> float:
        """The expected quality given the paper's own scores, `center + sum (z - center)/(k + W)`."""
        z, center = self.qualities
        return center + fsum(z) / (len(z) + self.model.moments.disagreement)

    @property
    def belief(self) -> Belief:
        """The belief about the level of evidence, rejecting or accepting. It names no reviewer."""
        return self.belief_if(self.model.share)

    def belief_if(self, share: float) -> Belief:
        """The same if `share` of the disagreement is strictness in truth; the evidence stays what it is."""
        center = self.model.moments.area(self.area)
        within, reviews = self.expected_quality - center, len(self.scores)
        alone, joint = self.model.variance_alone(reviews), self.model.joint(reviews, share)
        weight, favor = map(np.array, _level_belief(within, self.bar - center, alone, joint))
        return unchecked_belief(weight, favor, np.full((reviews, 2), -1, dtype=np.int64))

    @property
    def favor(self) -> float:
        """The probability that accepting is right, given the scores."""
        belief = self.belief
        return float((belief.weight * belief.favor).sum())

    def promised(self, _: object) -> Self:
        """The same paper: two levels are never aggregated, whatever is promised."""
        return self

    @property
    def sample(self) -> None:
        """No sample is needed: both levels are listed."""


_Pair = tuple[float, float]


@lru_cache(maxsize=1 << 15)
def _level_belief(within: float, bar: float, alone: float, joint: Joint) -> tuple[_Pair, _Pair]:
    """The chance of each level, and the chance that accepting is right given the level.

    Of a level that cannot occur only its side is kept.
    """
    quality, corrected = (within - bar, alone), (joint.slope * within - bar, joint.variance)
    right, above = _chance_above(*quality), _chance_above(*corrected)
    both = both_above(quality, corrected, joint.covariance)
    accepting = _rounded_chance(above)
    low = (right - both) / (1.0 - above) if accepting < 1.0 else 0.0
    high = both / above if accepting > 0.0 else 1.0
    return (1.0 - accepting, accepting), (
        _rounded_chance(min(max(low, 0.0), 1.0)),
        _rounded_chance(min(high, 1.0)),
    )


def _rounded_chance(chance: float) -> float:
    return round(chance / _UNIT) * _UNIT


def _chance_above(distance: float, variance: float) -> float:
    """P(x > 0) for x normal with this mean and variance; without variance a step, 1/2 at 0."""
    if variance <= 0.0:
        return 0.5 * (1.0 + float(np.sign(distance)))
    return float(ndtr(distance / sqrt(variance)))


def both_above(first: _Pair, second: _Pair, covariance: float) -> float:
    """P(x > 0 and y > 0) for x and y jointly normal, each given by its mean and variance.

    By Owen's T function: with h and k the means in standard deviations and r the correlation,

        (Phi(h) + Phi(k))/2 - T(h, (k/h - r)/sqrt(1-r^2)) - T(k, (h/k - r)/sqrt(1-r^2)) - [0 or 1/2]

    >>> round(both_above((0.0, 1.0), (0.0, 1.0), 0.5), 12) == round(1 / 3, 12)
    True
    """
    (mean, variance), (other_mean, other_variance) = first, second
    if variance <= 0.0 or other_variance <= 0.0:
        return _chance_above(*first) * _chance_above(*second)
    h, k = mean / sqrt(variance), other_mean / sqrt(other_variance)
    r = min(max(covariance / sqrt(variance * other_variance), -1.0), 1.0)
    if r >= 1.0:
        return float(ndtr(min(h, k)))
    if not h and not k:
        return 0.25 + float(np.arcsin(r)) / (2.0 * np.pi)
    apart, wedges = sqrt((1.0 - r) * (1.0 + r)), 0.0
    for a, b in ((h, k), (k, h)):
        # Where one of them is 0, its term is the limit of T(h, a) as h goes to 0 and a to infinity.
        wedges += float(owens_t(a, (b - r * a) / (a * apart))) if a else 0.25 * float(np.sign(b))
    opposite = h * k < 0.0 or (h * k == 0.0 and h + k < 0.0)
    return 0.5 * float(ndtr(h) + ndtr(k)) - wedges - 0.5 * opposite


def level_cases(
    reviews: Reviews, model: LevelModel, tracks: Mapping[str, str], areas: Mapping[str, str]
) -> list[LevelCase]:
    """The papers of a conference as anyone sees them, before there is a bar.

    `tracks` and `areas` have an empty text for each paper unless these have bars or centers of their own.
    """
    grid = None if reviews.grid is None else tuple(reviews.grid.tolist())
    return [
        LevelCase(paper, scores, model, 0.0, grid, track=tracks[paper], area=areas[paper])
        for paper, scores in scores_by_paper(reviews).items()
    ]


def bar_of_share(cases: Sequence[LevelCase], share: float) -> float:
    """The quality that this share of the population exceeds, over papers of these areas.

    >>> model = LevelModel(ScoreMoments(0.0, 1.0, 1.0), 0.25, 9, {1: 1})
    >>> bar_of_share([LevelCase("p", (1.0,), model)], 0.25)
    0.6745
    """
    centers = np.array([case.model.moments.area(case.area) for case in cases])
    return _crossing(lambda bar: float(ndtr(centers - bar).sum()), share * len(cases))


def bar_of_number(cases: Sequence[LevelCase], number: float) -> float:
    """The bar above which the evidence of so many papers is expected."""
    mean = np.array([case.expected_quality for case in cases])
    spread = np.sqrt([case.model.joint(len(case.scores), case.model.share).variance for case in cases])

    def expected(bar: float) -> float:
        above = ndtr((mean - bar) / np.where(spread > 0.0, spread, 1.0))
        return float(np.where(spread > 0.0, above, 0.5 * (1.0 + np.sign(mean - bar))).sum())

    return _crossing(expected, number)


def _crossing(falling: Callable[[float], float], aim: float) -> float:
    """The middle of where a falling function has the value `aim`, to the decimals of a bar."""
    ends = []
    for margin in (_SAME_NUMBER, -_SAME_NUMBER):
        low, high = -_HIGHEST_BAR, _HIGHEST_BAR
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if falling(middle) > aim + margin else (low, middle)
        ends.append(low)
    # Adding 0 makes a zero of no sign.
    return round(0.5 * sum(ends), _BAR_DECIMALS) + 0.0


# --- The evidence, which depends on who wrote what.


def evidence(cases: Sequence[LevelCase], reviewers: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """The level of each paper: 1 if its corrected quality lies above its bar, else 0. CONFIDENTIAL."""
    quality = corrected_qualities(cases, reviewers)
    return {case.paper: int(quality[case.paper] > case.bar) for case in cases}


def corrected_qualities(
    cases: Sequence[LevelCase], reviewers: Mapping[str, Sequence[str]]
) -> dict[str, float]:
    """Each paper's quality, corrected for the strictness in its reviewers' other reviews. CONFIDENTIAL.

    One Jacobi step of the best linear unbiased prediction. With weights `a = 1/(W - c f W)`, a person whose
    *other* reviews have the sums `g = sum a u` and `h = sum a c` has the predicted strictness
    `f W g/(1 + f W h)`, which leaves the variance `f W/(1 + f W h)`; with equal c that is `beta S`. A paper's
    quality is the mean of its corrected scores, weighted by their precision, with the prior N(center, 1).

    Sums are exactly rounded (`fsum`), so they depend on neither order nor machine. `cases` are all papers,
    and `reviewers` who wrote their reviews, by slot.

    >>> model = LevelModel(ScoreMoments(5.0, 1.0, 2.0), 0.5, 3, {2: 2})
    >>> cases = [LevelCase(paper, (4.0, 6.0), model) for paper in "pq"]
    >>> corrected_qualities(cases, {"p": ["ben", "ada"], "q": ["ben", "cleo"]})  # ben is strict
    {'p': 0.0909090909090909, 'q': 0.0909090909090909}
    """
    model = cases[0].model
    if not model.corrects:
        return {case.paper: case.expected_quality for case in cases}
    every, strictness = model.moments.disagreement, model.strictness
    known: dict[str, list[tuple[float, float]]] = {}  # of each person, a u and a c of each review
    for case in cases:
        gain, (z, center) = model.gain(len(case.scores)), case.qualities
        weight, expected = 1.0 / (every - gain * strictness), case.expected_quality - center
        for score, name in zip(z, reviewers[case.paper], strict=True):
            known.setdefault(name, []).append((weight * (score - expected), weight * gain))
    qualities, written = dict[str, float](), Counter[str]()
    for case in cases:
        corrected, (z, center) = list[tuple[float, float]](), case.qualities
        for score, name in zip(z, reviewers[case.paper], strict=True):
            others = [review for n, review in enumerate(known[name]) if n != written[name]]
            written[name] += 1
            remaining = strictness / (1.0 + strictness * fsum(gain for _, gain in others))
            precision = 1.0 / (every - strictness + remaining)
            corrected.append((precision * (score - remaining * fsum(u for u, _ in others)), precision))
        top, bottom = map(fsum, zip(*corrected, strict=True))
        qualities[case.paper] = center + top / (1.0 + bottom)
    return qualities


def check_share(share: float) -> float:
    """`share` if it is one that may be stated."""
    if share not in SHARES:
        raise InputError(f"`strictness_share` must be one of {', '.join(map(str, SHARES))}, found {share!r}")
    return share
