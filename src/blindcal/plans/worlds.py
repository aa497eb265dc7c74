"""Papers, pools and calibration -> what all the scores of a conference together should be, and by how much
chance moves that.

Each score is taken to be written by candidate j of its paper's pool with chance `inclusion_j / reviews`;
qualities are N(0,1), and papers are independent. A paper's reviews share its quality and have different
reviewers; `*` is several people, one for each review that it may have written. Nothing here knows a true
reviewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtr

from blindcal.assignments.pools import OUTSIDER
from blindcal.assignments.priors import copied, seats
from blindcal.beliefs.cases import PaperCase
from blindcal.checks import Array, Integers, roundoff
from blindcal.reviewers.protocol import Booleans

# A score this many standard deviations from all its candidates was given by none of them: by chance one in
# 10^9 is.
_IMPOSSIBLE = 6.0
# A candidate whose scores fall where anybody's do with less than this chance is not of this conference; with
# fewer scores than that, what anybody gives is known less well.
_FAR, _FEW_SCORES = 1e-3, 30
# Nodes over quality (more change no fourth digit), and places at which distribution functions are compared.
_QUALITIES, _POINTS = 16, 11
# Pools are alike if their predictions differ by less than the root of this, in deviations of a mean score.
_ALIKE = 1e-9
# Of the standard deviation before rounding.
_LEAST = 1e-6


@dataclass(frozen=True, eq=False)
class World:
    """All pools and all scores of a conference. `chance[pool, person]`: of having reviewed a paper with that
    pool; papers with one pool share a row, in which `*` has an entry for each review. `named[person]`: not
    `*`. `paper[score]` and `pool[paper]` are places."""

    people: Array
    named: Booleans
    chance: csr_array
    pool: Integers
    score: Array
    paper: Integers
    grid: Array | None

    @property
    def reviews(self) -> Integers:
        return np.bincount(self.paper)

    @property
    def expected(self) -> Array:
        """How many reviews each person is expected to have written."""
        papers = np.bincount(self.pool, minlength=self.chance.shape[0]).astype(np.float64)
        return np.asarray(self.chance.T @ papers)

    @property
    def spread(self) -> Array:
        """Standard deviation of a score by each person, over qualities and all."""
        slope, _, noise, slope_se, offset_se, _, noise_se = self.people.T
        return np.asarray(np.sqrt(slope**2 + slope_se**2 + offset_se**2 + noise**2 + noise_se**2))

    @property
    def least_sd(self) -> float:
        """No standard deviation of scores is taken to be smaller: beyond the end of a grid it may be 0."""
        return _LEAST * float(self.spread.min())

    @property
    def half_step(self) -> float:
        return 0.0 if self.grid is None else float(np.diff(self.grid).min()) / 2


class Measure(Protocol):
    """A function of a score: its mean and variance if the score before rounding is N(center, sd^2). (Not its
    mean square: that of large scores hides their variance in the last digits.)"""

    def moments(self, center: Array, sd: Array) -> tuple[Array, Array]: ...


@dataclass(frozen=True)
class Score:
    def moments(self, center: Array, sd: Array) -> tuple[Array, Array]:
        return center, sd**2


@dataclass(frozen=True)
class Square:
    """`(score - about)^2`."""

    about: float

    def moments(self, center: Array, sd: Array) -> tuple[Array, Array]:
        d, v = (center - self.about) ** 2, sd**2
        return d + v, 4 * d * v + 2 * v**2


@dataclass(frozen=True)
class Below:
    """1 for scores below `point`, else 0."""

    point: float

    def moments(self, center: Array, sd: Array) -> tuple[Array, Array]:
        chance: Array = ndtr((self.point - center) / sd)
        return chance, chance * (1.0 - chance)


@dataclass(frozen=True, eq=False)
class Graded:
    """`value[level]` of a score on a grid: one more step of it above each edge."""

    value: Array
    edges: Array

    def moments(self, center: Array, sd: Array) -> tuple[Array, Array]:
        rise = self.value - self.value[0]
        mean, square = np.zeros(center.shape), np.zeros(center.shape)
        for edge, low, high in zip(self.edges, rise[:-1], rise[1:], strict=True):
            above = ndtr((center - edge) / sd)
            mean += (high - low) * above
            square += (high**2 - low**2) * above
        return self.value[0] + mean, np.maximum(square - mean**2, 0.0)


def world_of(cases: Sequence[PaperCase]) -> World:
    people: dict[tuple[str, tuple[float, ...]], int] = {}
    pools: dict[object, tuple[int, object]] = {}
    columns: list[int] = []
    chances: list[float] = []
    starts, pool = [0], []
    for case in cases:
        key = (case.candidates, case.inclusion)
        known = pools.get(key)
        if known is None or known[1] != case.parameters:
            known = pools[key] = (len(starts) - 1, case.parameters)
            rows, size = list(zip(case.candidates, case.parameters, strict=True)), len(case.scores)
            columns += [
                people.setdefault(rows[i], len(people)) for i in seats(len(rows), size, case.outsider)
            ]
            chances += copied(case.inclusion, size, case.outsider)
            starts.append(len(columns))
        pool.append(known[0])
    shape = (len(starts) - 1, len(people))
    reviews = [len(case.scores) for case in cases]
    return World(
        people=np.array([parameters for _, parameters in people]),
        named=np.array([name != OUTSIDER for name, _ in people]),
        chance=csr_array((chances, columns, starts), shape=shape),
        pool=np.array(pool),
        score=np.concatenate([case.scores for case in cases]),
        paper=np.repeat(np.arange(len(cases)), reviews),
        grid=None if cases[0].grid is None else np.array(cases[0].grid),
    )


def score_measure(world: World) -> Measure:
    return Score() if world.grid is None else Graded(world.grid, _edges(world.grid))


def square_measure(world: World, about: float) -> Measure:
    if world.grid is None:
        return Square(about)
    return Graded((world.grid - about) ** 2, _edges(world.grid))


def _edges(grid: Array) -> Array:
    return np.asarray((grid[1:] + grid[:-1]) / 2)


def expected(world: World, measure: Measure) -> tuple[float, float]:
    """The expected mean of a measure over all scores, and its standard deviation by chance.

    A person's scores are taken as normal before rounding, which they are but for errors of the slope.
    """
    by_person, _ = measure.moments(world.people[:, 1], world.spread)
    mean = float(world.expected @ by_person) / world.score.size
    variance = _variance(world, measure)[world.pool].sum() + _shared(world, measure)
    return mean, float(np.sqrt(variance)) / world.score.size


def _variance(world: World, measure: Measure) -> Array:
    """For each pool the variance of the sum of a measure over the reviews of a paper.

    Given the quality: the authors' own variances, and that of who the authors are, by Hájek's formula for
    unequal chances p without replacement, `sum p(1-p) (g - mean g)^2`; then that of the expected sum over
    qualities.
    """
    quality, weight = np.polynomial.hermite_e.hermegauss(_QUALITIES)
    weight = weight / weight.sum()
    center, sd = _given_quality(world.people, quality)
    mean, variance = measure.moments(center, sd)
    p = world.chance
    # Somebody who is certain may have a chance of 1 and a rounding.
    open_ = csr_array((p.data * np.maximum(1.0 - p.data, 0.0), p.indices, p.indptr), shape=p.shape)
    own = p @ variance
    size = np.maximum(np.asarray(open_.sum(axis=1)), np.finfo(float).tiny)[:, None]
    # From their middle, so that large numbers with small differences lose nothing.
    away = mean - mean.mean(axis=0)
    who = open_ @ away**2 - (open_ @ away) ** 2 / size
    total = p @ mean
    over = (total - (total @ weight)[:, None]) ** 2 @ weight
    return np.asarray((own + np.maximum(who, 0.0)) @ weight + over)


def _given_quality(people: Array, quality: Array) -> tuple[Array, Array]:
    """`[person, quality]`: mean and standard deviation of a score before rounding."""
    slope, offset, noise, slope_se, offset_se, correlation, noise_se = people.T[:, :, None]
    shared = 2 * correlation * slope_se * offset_se * quality
    variance = (slope_se * quality) ** 2 + shared + offset_se**2 + noise**2 + noise_se**2
    return slope * quality + offset, np.sqrt(variance)


def _shared(world: World, measure: Measure) -> float:
    """Variance from errors of the calibration, which all reviews of a person share: half the change of the
    expected sum from one standard error below to one above. Those of `*`, who differ, share none."""
    slope, offset, noise, slope_se, offset_se, _, _ = world.people.T
    expected = world.expected * world.named
    # By the offset, then by the slope, of which a standard deviation is at least that of noise.
    low, high = (measure.moments(offset + step * offset_se, world.spread)[0] for step in (-1, 1))
    total = float(np.sum((expected * (high - low) / 2) ** 2))
    moved = slope + slope_se * np.array([[-1.0], [1.0]])
    spread = np.sqrt(np.maximum(world.spread**2 + moved**2 - slope**2, noise**2))
    low, high = (measure.moments(offset, one)[0] for one in spread)
    return total + float(np.sum((expected * (high - low) / 2) ** 2))


def points(world: World) -> Array:
    """Some places between the scores that can be given, or that were: all of few, else evenly by rank."""
    if world.grid is not None:
        between = _edges(world.grid)
    else:
        ordered = np.sort(world.score)
        steps = np.flatnonzero(np.diff(ordered))
        ranks = np.linspace(0, ordered.size, _POINTS + 2)[1:-1]
        near = np.minimum(np.searchsorted(steps, ranks), steps.size - 1)
        chosen = steps[np.unique(near)] if steps.size else steps
        between = (ordered[chosen] + ordered[chosen + 1]) / 2
    few = np.linspace(0, between.size - 1, min(_POINTS, between.size))
    return np.asarray(between[np.unique(few.round().astype(int))])


def following(world: World) -> tuple[float | None, float]:
    """The slope of papers' mean scores on those that their pools predict, and its deviation by chance."""
    measure = score_measure(world)
    by_person, _ = measure.moments(world.people[:, 1], world.spread)
    reviews, middle = world.reviews, float(world.score.mean())
    predicted = (world.chance @ (by_person - middle))[world.pool] / reviews
    weight = reviews**2 / np.maximum(_variance(world, measure)[world.pool], world.least_sd**2)
    observed = np.bincount(world.paper, world.score - middle) / reviews
    away = predicted - np.average(predicted, weights=weight)
    size = float(weight @ away**2)
    # So little, in units of what chance does to a paper's mean score, says nothing of the slope. It may be
    # roundoff, which reviewers without noise would make look large.
    if size <= max(_ALIKE * reviews.size, float(weight.sum()) * roundoff(np.append(by_person, middle)) ** 2):
        return None, np.inf
    return float((weight * away) @ observed) / size, size**-0.5


def impossible(world: World) -> int:
    """Scores above or below all that any candidate of their paper gives."""
    offset, spread = world.people[:, 1], world.spread
    at, starts = world.chance.indices, world.chance.indptr[:-1]
    lowest = np.minimum.reduceat((offset - _IMPOSSIBLE * spread)[at], starts)[world.pool][world.paper]
    highest = np.maximum.reduceat((offset + _IMPOSSIBLE * spread)[at], starts)[world.pool][world.paper]
    low, high = world.score - world.half_step, world.score + world.half_step
    if world.grid is not None:
        low = np.where(world.score == world.grid[0], -np.inf, low)
        high = np.where(world.score == world.grid[-1], np.inf, high)
    return int(((low > highest) | (high < lowest)).sum())


def odd_people(world: World, sd: float) -> Integers:
    """Candidates whose scores would hardly ever fall where anybody's scores do, or would spread over more
    than all of them. Somebody who is listed is one of those who gave the scores, if by chance none of these;
    `*` is odd only if it should have given some score elsewhere, or none on the grid."""
    pad = world.half_step + (sd if world.score.size < _FEW_SCORES else 0.0)
    low, high = world.score.min() - pad, world.score.max() + pad
    inside, spread = _between(world, low, high), world.spread
    wide = (spread > high - low) & (world.score.size >= _FEW_SCORES)
    missed = np.exp(-world.expected * (1.0 - inside)) < _FAR
    if world.grid is not None:
        missed |= _between(world, world.grid[0] - world.half_step, world.grid[-1] + world.half_step) < _FAR
    return np.flatnonzero(((inside < _FAR) | wide) & (world.named | missed))


def _between(world: World, low: float, high: float) -> Array:
    """The chance that each person's score lies there before it is rounded."""
    offset, spread = world.people[:, 1], world.spread
    return np.asarray(ndtr((high - offset) / spread) - ndtr((low - offset) / spread))
