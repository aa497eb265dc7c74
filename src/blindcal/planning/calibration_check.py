"""Conference (public side) -> how well pools and calibration predict all its scores together.

A certificate is about the world that calibration and pools describe. Whether that is the world of the scores
can be seen in public data, without the true reviewers: each score is taken to be written by candidate j of
its paper's pool with chance `inclusion_j / reviews`, qualities are N(0,1), and papers are independent. A
paper's reviews share its quality and have different authors.

Every measure is judged by its size, and counts only if chance does not give it: a large conference is not
blamed for a small misfit, nor a small one for bad luck.

Papers, pools and calibration -> what all the scores of a conference together should be, and by how much
chance moves that.

Each score is taken to be written by candidate j of its paper's pool with chance `inclusion_j / reviews`;
qualities are N(0,1), and papers are independent. A paper's reviews share its quality and have different
reviewers; `*` is several people, one for each review that it may have written. Nothing here knows a true
reviewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtr

from blindcal.assignment.candidates import OUTSIDER
from blindcal.assignment.prior import copied, seats
from blindcal.checks import Array, Integers, roundoff
from blindcal.errors import InputError
from blindcal.io.tables import frame
from blindcal.posterior.paper import PaperCase
from blindcal.reviewers.base import Booleans

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


FITS, DOUBTFUL, HOPELESS = "fits", "doubtful", "does not fit"

# Sizes that are worth a word, as smaller ones hardly change a decision: a shift in standard deviations of a
# score; a ratio of standard deviations; a difference of distribution functions; and how far papers follow the
# offsets of their pools (1: fully, 0: not at all, -1: they were mirrored), halfway between each two.
_SHIFT, _STRETCH, _SHAPE, _FOLLOWING = 0.3, 1.25, 0.1, 0.5
# Beyond these nothing that is decided means anything: most scores lie outside what is predicted, or a few do
# (but not one or two, which may be typos) that nobody can have given.
_HOPELESS_SHIFT, _HOPELESS_STRETCH, _HOPELESS_SHARE, _HOPELESS_COUNT = 2.0, 2.5, 0.02, 3
# This many standard deviations are more than chance gives to any of some ten measures in 200 conferences.
_CHANCE = 4.0
# Evidence (natural logs) for mirrored offsets that counts: chance gives it once in 40 conferences, and to
# fewer in which papers do not follow their pools. No single paper says more than the other.
_MIRRORED, _MOST_SAID = 2.0, 5.0
# So many papers, of so many candidates together, are weighed for it: a second's work.
_MOST_WEIGHED, _MOST_CANDIDATES = 120, 6_000
# In a certificate: far more than anybody reads, far fewer than machines differ in.
_DIGITS = 4


@dataclass(frozen=True)
class Agreement:
    """Predicted and observed scores, all papers together, in the units of the scores.

    `predicted_mean`, `predicted_sd`: mean and standard deviation of a score, as pools and calibration predict
    it.
    `observed_mean`, `observed_sd`: those of the scores that were given.
    `shift`: observed less predicted mean, in predicted standard deviations of a score.
    `stretch`: observed over predicted standard deviation.
    `shape`: the largest difference of the two distribution functions, from 0 to 1.
    `following`: by how much the mean score of a paper grows with the one that its pool predicts: 1 if the
    calibration is right, None where all pools are alike.
    `mirrored`: the log of how many times better the scores are explained if strict and lenient reviewers are
    exchanged; None where all offsets are equal.
    `impossible`: how many scores no candidate of their paper gives.
    `odd`: how many candidates would hardly ever give scores like those that were given.
    `verdict`: "fits", "doubtful" or "does not fit".
    `notes`: what was found, in words.
    """

    predicted_mean: float
    observed_mean: float
    predicted_sd: float
    observed_sd: float
    shift: float
    stretch: float
    shape: float
    following: float | None
    mirrored: float | None
    impossible: int
    odd: int
    verdict: str
    notes: tuple[str, ...]

    def to_frame(self) -> Any:
        """One row, as a pandas data frame; needs pandas."""
        return frame({name: [value] for name, value in vars(self).items() if name != "notes"})

    @property
    def public(self) -> dict[str, object]:
        """What a certificate repeats: the figures and the verdict, in digits that any machine agrees on."""
        found = {name: value for name, value in vars(self).items() if name != "notes"}
        return {k: round(v, _DIGITS) if isinstance(v, float) else v for k, v in found.items()}


def agreement(cases: Sequence[PaperCase], better: str = "high") -> Agreement:
    """How well the pools and the calibration of these papers predict their scores.

    `cases` are papers as `Conference.cases` has them. With `better="low"` their scores and offsets are
    negated ones, and are shown as they were given.

    >>> rows = ((1.0, 5.0, 1.0, 0.0, 0.0, 0.0, 0.0), (1.0, 7.0, 1.0, 0.0, 0.0, 0.0, 0.0))
    >>> found = agreement([PaperCase("p", (5.0, 7.0), ("a", "b"), (1.0, 1.0), rows, 0.0)])
    >>> found.predicted_mean, found.shift, round(found.predicted_sd**2, 9), found.verdict
    (6.0, 0.0, 3.0, 'fits')
    """
    return _agreement(tuple(cases), better)


@lru_cache(maxsize=2)
def _agreement(cases: tuple[PaperCase, ...], better: str) -> Agreement:
    """Once for all that is said of a conference: before it is decided, and in its certificate."""
    world, sign = world_of(cases), -1.0 if better == "low" else 1.0
    mean, mean_chance = expected(world, score_measure(world))
    variance, variance_chance = expected(world, square_measure(world, mean))
    sd, off = max(float(np.sqrt(variance)), world.least_sd), float(world.score.mean()) - mean
    stretch = float(world.score.std()) / sd
    shape, bent = _shape(world)
    slope, slope_chance = following(world)
    odd = odd_people(world, sd)
    flags = _Flags(
        shifted=abs(off) > max(_SHIFT * sd, _CHANCE * mean_chance),
        stretched=not 1 / _STRETCH < stretch < _STRETCH
        and abs(stretch**2 - 1) * variance > _CHANCE * variance_chance,
        bent=bent,
        astray=slope is not None and 1 - slope > max(_FOLLOWING, _CHANCE * slope_chance),
    )
    found = Agreement(
        predicted_mean=sign * mean,
        observed_mean=sign * (mean + off),
        predicted_sd=sd,
        observed_sd=stretch * sd,
        shift=sign * off / sd,
        stretch=stretch,
        shape=shape,
        following=slope,
        mirrored=_mirrored(cases, world, off),
        impossible=impossible(world),
        odd=odd.size,
        verdict=FITS,
        notes=(),
    )
    return _judged(found, flags, world, odd, sign)


def refuse_misfit(fit: Agreement, *, despite_misfit: bool) -> None:
    """Refuse a calibration that does not fit the scores at all."""
    if fit.verdict == HOPELESS and not despite_misfit:
        found = "; ".join(fit.notes)
        raise InputError(
            f"{found}{'' if found.endswith('?') else '.'} Whatever is planned or certified would not be "
            "about these scores; to continue anyway, give `despite_misfit`"
        )


def _shape(world: World) -> tuple[float, bool]:
    """The largest difference of the distribution functions, and whether it is large beyond chance anywhere.

    Looked at between scores that were given, so that rounding that was not declared does not count. One paper
    may have rare scores: what it can add does not count either.
    """
    shape, bent, one_paper = 0.0, False, float(world.reviews.max()) / world.score.size
    for point in points(world):
        chance, deviation = expected(world, Below(point))
        difference = abs(float((world.score < point).mean()) - chance)
        shape = max(shape, difference)
        bent |= difference - one_paper > max(_SHAPE, _CHANCE * deviation)
    return shape, bent


def _mirrored(cases: Sequence[PaperCase], world: World, drift: float) -> float | None:
    """Log of how many times likelier the scores are if all offsets are mirrored, at their mean or where the
    mean score then fits (for which it pays 1); against the offsets as they are, or all shifted alike (for
    which these pay what counts as evidence).

    If the calibration is right, this exceeds c with a chance of at most about that of a normal number
    exceeding sqrt(2c), whatever the size of the conference.
    """
    if np.ptp(world.people[:, 1]) == 0.0:
        return None
    center = float(world.expected @ world.people[:, 1]) / world.score.size
    few = _weighed(cases)
    given = np.array([case.log_evidence for case in few])
    drifted = np.array([_moved(case, 1.0, drift).log_evidence for case in few])
    turned = [
        np.array([_moved(case, -1.0, 2 * center + more).log_evidence for case in few])
        for more in (0.0, drift)
    ]
    mean, matched = (_gain(one, given) for one in turned)
    return float(np.logaddexp(mean, matched - 1) - np.log(2)) - max(0.0, _gain(drifted, given) - _MIRRORED)


def _gain(one: Array, other: Array) -> float:
    """The sum of log ratios, so that no single paper decides; what nobody can have written says nothing."""
    with np.errstate(invalid="ignore"):
        return float(np.nan_to_num(np.clip(one - other, -_MOST_SAID, _MOST_SAID)).sum())


def _weighed(cases: Sequence[PaperCase]) -> Sequence[PaperCase]:
    """Some papers, evenly spread: all of a small conference."""
    pool = sum(len(case.candidates) for case in cases) / len(cases)
    most = max(1, min(len(cases), _MOST_WEIGHED, int(_MOST_CANDIDATES / pool)))
    return [cases[i] for i in np.unique(np.linspace(0, len(cases) - 1, most).astype(int))]


def _moved(case: PaperCase, sign: float, by: float) -> PaperCase:
    """The paper if each candidate's offset were `sign * offset + by`."""
    rows = tuple((row[0], sign * row[1] + by, *row[2:]) for row in case.parameters)
    return replace(case, parameters=rows)


@dataclass(frozen=True)
class _Flags:
    """Which measures are both large and beyond chance."""

    shifted: bool
    stretched: bool
    bent: bool
    astray: bool


def _judged(found: Agreement, flags: _Flags, world: World, odd: Integers, sign: float) -> Agreement:
    share = found.impossible / world.score.size
    hopeless = (
        (flags.shifted and abs(found.shift) > _HOPELESS_SHIFT)
        or (flags.stretched and not 1 / _HOPELESS_STRETCH < found.stretch < _HOPELESS_STRETCH)
        or (found.impossible >= _HOPELESS_COUNT and share > _HOPELESS_SHARE)
    )
    found = replace(found, verdict=HOPELESS if hopeless else DOUBTFUL)
    notes = _notes(found, flags, world, odd, sign)
    return replace(found, verdict=found.verdict if hopeless or notes else FITS, notes=notes)


def _notes(found: Agreement, flags: _Flags, world: World, odd: Integers, sign: float) -> tuple[str, ...]:
    """What was found, and what was probably meant."""
    off = flags.shifted or flags.stretched
    # One wild row of the calibration bends every other measure: that first, the rest once it is mended.
    if 0 < odd.size <= len(world.people) / 2 and not (off and (_gross(world) or _swapped(world, sign))):
        return (_odd_note(world.people[odd], world, sign),)
    if off:
        return (_overall(found, flags, world, sign),)
    notes = []
    if flags.astray and (found.following or 0.0) > -_FOLLOWING:
        notes.append(
            "papers whose pools have high offsets do not get higher scores: check that each row of the "
            "reviewers' calibration, and of the pools, belongs to the person it names"
        )
    elif flags.astray or _looks_mirrored(found):
        notes.append(
            f"the scores are {_times(found.mirrored)} likelier if the offsets are mirrored: an offset is the "
            "score a reviewer gives to an average paper, so lenient reviewers have high ones; check the sign "
            "of the offsets, and `better`"
        )
    if found.impossible:
        notes.append(
            f"{_counted(found.impossible, 'score')} so far out that no candidate of the paper gives it: "
            "check the scores for typos, and the pools"
        )
    if flags.bent and not notes:
        notes.append(_overall(found, flags, world, sign))
    return tuple(notes)


def _looks_mirrored(found: Agreement) -> bool:
    """Whether mirrored offsets explain the scores better, and papers do not follow their pools after all."""
    follows = found.following is not None and found.following >= _FOLLOWING
    return found.mirrored is not None and found.mirrored > _MIRRORED and not follows


def _gross(world: World) -> bool:
    """Whether the scores are far from what most candidates give: no few wild rows can make that."""
    own, people = float(np.median(world.spread)), _middle_half(world.people[:, 1])
    away = abs(float(np.median(world.score) - np.median(world.people[:, 1])))
    usual = float(np.hypot(own, people))
    return away > _HOPELESS_SHIFT * usual or _middle_half(world.score) > _HOPELESS_STRETCH * usual


def _middle_half(values: Array) -> float:
    """The standard deviation that a normal distribution with these quartiles has."""
    low, high = np.quantile(values, (0.25, 0.75))
    return float(high - low) / 1.349


def _swapped(world: World, sign: float) -> bool:
    """Whether mean and spread of the scores are right once slopes and offsets are exchanged."""
    slope, offset = sign * world.people[:, 1], sign * world.people[:, 0]
    if (slope <= 0).any():
        return False
    other = replace(world, people=np.column_stack([slope, offset, world.people[:, 2:]]))
    mean, mean_chance = expected(other, score_measure(other))
    variance, _ = expected(other, square_measure(other, mean))
    sd = max(float(np.sqrt(variance)), other.least_sd)
    stretch, shift = float(world.score.std()) / sd, abs(float(world.score.mean()) - mean)
    return shift < max(_SHIFT * sd, _CHANCE * mean_chance) and 1 / _STRETCH < stretch < _STRETCH


def _overall(found: Agreement, flags: _Flags, world: World, sign: float) -> str:
    text = (
        f"the calibration {'does' if found.verdict == HOPELESS else 'may'} not fit the scores: it predicts a "
        f"mean of {found.predicted_mean:.2f} and a standard deviation of {found.predicted_sd:.2f}, and the "
        f"scores have {found.observed_mean:.2f} and {found.observed_sd:.2f}"
    )
    if flags.shifted or flags.stretched:
        return f"{text}. {_meant(found, flags, world, sign)}"
    return f"{text}; the shares of low and high scores differ by up to {100 * found.shape:.0f} in 100"


def _meant(found: Agreement, flags: _Flags, world: World, sign: float) -> str:
    """What was probably meant by a calibration whose mean or spread is off."""
    offset, noise = sign * world.people[:, 1], world.people[:, 2]
    if np.ptp(world.score) == 0.0:
        return f"Here {_ends(world, sign)}: is that the right column?"
    if _swapped(world, sign):
        return "Are the columns slope and offset swapped?"
    within = world.score.min() <= np.median(world.people[:, 1]) <= world.score.max()
    if within and np.median(noise) > _width(world):
        return f"Most have {_too_noisy(float(np.median(noise)), world, sign)}"
    if flags.shifted and abs(np.median(offset)) < 0.5 * found.predicted_sd < abs(found.observed_mean) / 2:
        return (
            "The offsets look centered at 0; an offset is the score a reviewer gives to an average paper, in "
            "the units of the scores"
        )
    low, high = _reach(world, sign)
    return (
        f"It looks like one for scores from about {low:.1f} to {high:.1f}; {_ends(world, sign)}: was it made "
        "for another scale, year or question?"
    )


def _reach(world: World, sign: float) -> tuple[float, float]:
    """Two standard deviations about the mean of the scores that candidates give before these are rounded."""
    offset, weight = sign * world.people[:, 1], world.expected
    mean = float(np.average(offset, weights=weight))
    sd = float(np.sqrt(np.average((offset - mean) ** 2 + world.spread**2, weights=weight)))
    return mean - 2 * sd, mean + 2 * sd


def _ends(world: World, sign: float) -> str:
    low, high = sorted((sign * float(world.score.min()), sign * float(world.score.max())))
    return f"all scores are {low:g}" if low == high else f"the scores go from {low:g} to {high:g}"


def _width(world: World) -> float:
    """How wide the scale is, or the scores are that were given."""
    return float(np.ptp(world.score if world.grid is None else world.grid))


def _too_noisy(noise: float, world: World, sign: float) -> str:
    return (
        f"a noise of about {noise:.3g}, larger than the whole scale ({_ends(world, sign)}); noise is a "
        "standard deviation, in the units of the scores"
    )


def _odd_note(rows: Array, world: World, sign: float) -> str:
    slope, offset, noise = rows[0, 0], sign * rows[0, 1], rows[0, 2]
    more = "" if len(rows) == 1 else f", the first of {len(rows)} such candidates,"
    text = (
        f"a candidate with slope {slope:g}, offset {offset:g} and noise {noise:g}{more} would not give "
        "scores like these"
    )
    if noise > _width(world) > 0:
        return f"{text}: {_too_noisy(noise, world, sign)}"
    return f"{text} ({_ends(world, sign)}): a typo in the calibration?"


def _times(log: float | None) -> str:
    """How many times likelier, in words.

    >>> _times(3.0), _times(40.0), _times(None)
    ('20 times', 'over 100,000 times', 'far')
    """
    if log is None or log < 0:
        return "far"
    return f"{np.exp(log):,.0f} times" if log < 12 else "over 100,000 times"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"
