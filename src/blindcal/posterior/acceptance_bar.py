"""The acceptance bar for a given share of papers, from public data alone.

The bar is the quality at which full calibration, which knows every tuple of reviewers, accepts that share of
the papers on average over the public belief. It needs no exact weights: tuples are weighed exactly once the
bar is known. So every review counts here as a Gaussian measurement of quality, a *site*
`exp(constant - (gap - gain q)^2 / 2)`.

* A reviewer known exactly, with slope a, offset b and noise s, is one: gain = a/s, gap = (score-b)/s.
* If slope and offset are estimates, the variance of a score at quality q is `noise^2 + noise_se^2 +
  offset_se^2 + 2 correlation slope_se offset_se q + slope_se^2 q^2`. It is replaced by its mean, first over
  q ~ N(0, 1), then over the posterior of q given the score.
* A score on a grid is known up to its cell, which is open at both ends of the grid. With v that variance and
  V = a^2 + v, the score before rounding is N(b, V). Inside the cell it has a mean m and a variance w, so q
  has mean `a(m-b)/V` and variance `v/V + a^2 w/V^2`. The site matches these two moments and the probability
  of the cell. (In the middle of a fine grid m is the score and w = step^2/12.)

Products of sites are Gaussian, so a tuple has a weight and a median of quality in closed form. If there are
many tuples, some are sampled: the slots are filled one after the other by the odds and the probability of the
score, and importance weights correct for what that leaves out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from blindcal.checks import Array, Integers
from blindcal.compute.parallel import Workers, parallel_map
from blindcal.errors import InputError
from blindcal.pools.candidates import shared_part
from blindcal.pools.prior import candidate_seats, tuple_count
from blindcal.posterior.paper import PaperCase, public_rng
from blindcal.posterior.tuple_weights import (
    UNWEIGHABLE,
    GaussianSites,
    affine_sites,
    combined_sites,
    normalize,
)
from blindcal.reviewers.base import Booleans
from blindcal.reviewers.quadrature import gauss_legendre
from blindcal.reviewers.rounded import grid_cells

MAX_LISTED, SAMPLED_TUPLES = 20_000, 4_000  # more tuples than the first are represented by a sample
# The bar is a multiple of `_STEP`, so that it does not depend on the last digits of a sum.
_STEP, _RANGE = 1e-4, 8.0
_BINS = round(2 * _RANGE / _STEP)
_SAME_SHARE = 1e-9  # shares that differ by less are equal: weights are not known any better
_SHORTFALL = 0.01  # if all or no papers are to be accepted, the bar is chosen for this part of a paper less
# Papers are added up in parts of this size, at most this many parts. The parts do not depend on the number of
# workers, so neither do the sums.
_PAPERS_PER_PART, _MAX_PARTS = 32, 64
# A Gaussian is integrated over a cell until it has fallen by e^-40 from its largest value there.
_NODES, _SQUARED_FALL = 48, 80.0
_UNIFORM_SHARE = 0.1  # of draws, so that no slot is closed to a candidate who certainly reviewed the paper


def choose_bar(
    cases: Sequence[PaperCase],
    accept_rate: float | None,
    bar: float | None,
    *,
    workers: Workers = 1,
    advance: Callable[[int], None] | None = None,
) -> tuple[float, float]:
    """The bar, given or chosen, and the share of papers requested or accepted by full calibration.

    Arguments are those of `prepare`, for papers before they have a bar.

    >>> sure = ("a",), (1.0,), ((1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0),), 0.0
    >>> choose_bar([PaperCase("p", (1.0,), *sure), PaperCase("q", (3.0,), *sure)], None, 1.0)
    (1.0, 0.5)
    """
    kinds, kind = kinds_of_papers(cases)
    counted = list(zip(kinds, np.bincount(kind).tolist(), strict=True))
    size = max(_PAPERS_PER_PART, -(-len(kinds) // _MAX_PARTS))
    parts = [counted[start : start + size] for start in range(0, len(kinds), size)]
    sizes = iter([sum(number for _, number in part) for part in parts])

    def parts_done(done: int) -> None:
        if advance is not None:
            advance(sum(next(sizes) for _ in range(done)))

    masses = parallel_map(_histogram, parts, workers=workers, advance=parts_done, light=True)
    above = np.cumsum(sum(masses, np.zeros(_BINS))[::-1])[::-1] / len(cases)
    if accept_rate is not None:
        # With all or none, a little less than all or more than none: else the bar could be anywhere beyond
        # the papers, and their qualities could not be compared with it.
        least = _SHORTFALL / len(cases)
        aim = float(np.clip(accept_rate, least, 1 - least)) if accept_rate in (0, 1) else accept_rate
        return round(_bar_step(above, aim) * _STEP - _RANGE, 4), accept_rate
    height = float(bar or 0.0)
    index = int(np.clip(np.ceil((height + _RANGE) / _STEP), 0, _BINS - 1))
    return height, float(above[index])


def _bar_step(above: Array, aim: float) -> int:
    """The step at which the share `above` it is nearest to `aim`; the lower share if two are equally near.

    Between two neighboring medians the share is constant, and the bar is put in the middle. At either end it
    would coincide with the quality of some papers, whose decision would be a toss-up. Beyond all medians the
    bar is as far from the last of them as it would be from the one before.

    >>> _bar_step(np.array([1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0]), 0.4)
    4
    >>> _bar_step(np.array([1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0]), 0.1)
    9
    """
    off = np.abs(above - aim)
    first, last = _equal_shares(above, int(np.argmax(off <= off.min() + _SAME_SHARE)))
    end = above.size - 1
    if first > 0 and last < end:
        return (first + last) // 2
    if first > 0:
        before, _ = _equal_shares(above, first - 1)
        return min(first + ((first - before) // 2 if before > 0 else 0), end)
    _, after = _equal_shares(above, min(last + 1, end))
    return max(last - ((after - last) // 2 if after < end else 0), 0)


def _equal_shares(above: Array, index: int) -> tuple[int, int]:
    """The first and the last step with the same share as this one."""
    first = np.searchsorted(-above, -above[index] - _SAME_SHARE)
    last = np.searchsorted(-above, -above[index] + _SAME_SHARE, side="right")
    return int(first), int(last) - 1


def kinds_of_papers(cases: Sequence[PaperCase]) -> tuple[list[PaperCase], list[int]]:
    """A paper of each kind, and the index of every paper's kind.

    Papers that share track, scores, candidates and all else that is weighed are of one kind. If everyone may
    have reviewed every paper, and scores are on a grid, there are few kinds. Pools are compared by identity:
    `prepare` gives papers with one pool the same one.

    >>> pool = ("a", "b"), (0.5, 0.5), ((1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0),) * 2, 0.0
    >>> cases = [PaperCase(paper, (score,), *pool) for paper, score in (("p", 1.0), ("q", 2.0), ("r", 1.0))]
    >>> kinds_of_papers(cases)[1]
    [0, 1, 0]
    """
    kinds, kind = dict[object, tuple[int, PaperCase]](), []
    for case in cases:
        parts = (case.candidates, case.inclusion, case.parameters, case.grid)
        looks = (case.scores, case.bar, case.track, *map(id, parts))
        kind.append(kinds.setdefault(looks, (len(kinds), case))[0])
    return [case for _, case in kinds.values()], kind


def _histogram(counted: Sequence[tuple[PaperCase, int]]) -> Array:
    """How much of the belief about some kinds of papers has its median of quality in each step."""
    weighed = [(tuple_qualities(case), number) for case, number in counted]
    median = np.concatenate([median for (median, _, _), _ in weighed])
    weight = np.concatenate([number * weight for (_, _, weight), number in weighed])
    # Medians are often multiples of a step: add a little, so that no machine's last digit puts them below it.
    bin = np.clip(np.floor((median + _RANGE) / _STEP + 1e-6).astype(np.int64), 0, _BINS - 1)
    return np.bincount(bin, weight, _BINS).astype(np.float64)


def approximate_evidence(case: PaperCase) -> tuple[Array, Array]:
    """The weight of each tuple (or each sampled tuple), and how likely accepting is right, by the sites."""
    median, precision, weight = tuple_qualities(case)
    return weight, ndtr((median - case.bar) * np.sqrt(precision))


def tuple_qualities(case: PaperCase) -> tuple[Array, Array, Array]:
    """Median and precision of quality under each tuple (or each sampled tuple), and the tuple's weight."""
    tuples = tuple_count(len(case.candidates), len(case.scores), case.outsider is not None)
    if tuples <= MAX_LISTED:
        return _weighed_tuples(case, sampled=False)
    return _weighed_sample(replace(case, bar=0.0), sampled=True)


def _weighed_tuples(case: PaperCase, *, sampled: bool) -> tuple[Array, Array, Array]:
    # Overflow is refused below, for all tuples at once.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        sites = review_sites(case)
        rows, prior = _sampled_tuples(case, sites) if sampled else (case.tuples, case.log_prior(case.tuples))
        log_weight, median, precision, _ = combined_sites(sites, rows, prior)
    if np.isnan([log_weight, median]).any() or not np.isfinite(log_weight.max()):
        raise InputError(UNWEIGHABLE.format(case.paper))
    return median, precision, normalize(log_weight)


# The same samples choose the bar, and then say what is at stake: those of so many papers are kept.
_weighed_sample = lru_cache(maxsize=256)(_weighed_tuples)


def review_sites(case: PaperCase) -> GaussianSites:
    """The site of each review for each candidate who may have written it."""
    shared, without = shared_part(case.parameters)
    rows = [_score_sites(score, case.grid, shared) for score in case.scores]
    return GaussianSites(
        *(np.delete(np.concatenate(part), without, axis=1) for part in zip(*rows, strict=True))
    )


# Papers whose candidates are the whole committee share the sites of each score of the grid.
@lru_cache(maxsize=64)
def _score_sites(
    score: float, grid: tuple[float, ...] | None, parameters: tuple[tuple[float, ...], ...]
) -> tuple[Array, Array, Array]:
    """Gain, gap and constant `[1, candidate]` of one score."""
    slope, offset, noise, slope_se, offset_se, correlation, noise_se = np.array(parameters).T
    scores, fixed = np.array([[score]]), noise**2 + noise_se**2 + offset_se**2
    ends = None if grid is None else grid_cells(scores, np.array(grid))
    mean, square = np.zeros((1, 1)), np.ones((1, 1))
    for _ in range(1 + bool(slope_se.any())):
        spread = np.sqrt(fixed + 2.0 * correlation * slope_se * offset_se * mean + slope_se**2 * square)
        if ends is None:
            sites = affine_sites(scores, slope, offset, spread)
        else:
            sites = rounded_sites(*ends, slope, offset, spread)
        precision = 1.0 + sites.gain**2
        mean = sites.gain * sites.gap / precision
        square = mean**2 + 1.0 / precision
    gain, gap, constant = np.broadcast_arrays(sites.gain, sites.gap, sites.constant)
    return gain, gap, constant


def rounded_sites(low: Array, high: Array, slope: Array, offset: Array, spread: Array) -> GaussianSites:
    """The sites of scores that are known up to their cells, by matching moments."""
    total = np.sqrt(slope**2 + spread**2)
    log_chance, mean_in_cell, variance = _truncated_normal((low - offset) / total, (high - offset) / total)
    share = slope / total
    mean, left = share * mean_in_cell, (spread / total) ** 2 + share**2 * variance
    precision = 1.0 / np.minimum(left, 1.0)
    # An uninformative review has a tiny gain, but never 0, because gap is divided by it.
    gain = np.sqrt(np.maximum(precision - 1.0, np.finfo(float).eps))
    gap = precision * mean / gain
    constant = log_chance + 0.5 * (np.log1p(gain**2) + gap**2 / (1.0 + gain**2))
    return GaussianSites(gain, gap, constant)


def _truncated_normal(low: Array, high: Array) -> tuple[Array, Array, Array]:
    """Log probability, mean and variance of a standard normal number between these ends.

    Sums of positive terms over the part of the cell that counts: nothing cancels, however far out the cell
    is.
    """
    near = np.maximum(np.maximum(low, -high), 0.0)
    far = np.sqrt(near**2 + _SQUARED_FALL)
    low, high = np.maximum(low, -far), np.minimum(high, far)
    nodes, weights = gauss_legendre(_NODES)
    half = 0.5 * (high - low)
    x = (0.5 * (high + low))[..., None] + half[..., None] * nodes
    mass = weights * np.exp(0.5 * (near[..., None] ** 2 - x**2))
    total = mass.sum(axis=-1)
    mean = (mass * x).sum(axis=-1) / total
    variance = (mass * (x - mean[..., None]) ** 2).sum(axis=-1) / total
    return np.log(half * total) - 0.5 * (near**2 + np.log(2.0 * np.pi)), mean, variance


def _sampled_tuples(case: PaperCase, sites: GaussianSites) -> tuple[Integers, Array]:
    """Sampled tuples, and the log of prior over proposal probability; the seed is public.

    Candidates who certainly wrote a review are put into a slot first; then every open slot is filled by
    someone else.
    """
    reviews = len(case.scores)
    seat = candidate_seats(len(case.candidates), reviews, case.outsider)
    odds = case.seat_log_odds
    sure = np.isposinf(odds)
    # The log probability of each score, whoever wrote the others.
    score = sites.constant - 0.5 * (np.log1p(sites.gain**2) + sites.gap**2 / (1.0 + sites.gain**2))
    # Not by the paper's id: papers of one kind are weighed once.
    rng = public_rng(case.scores)
    rows, log_chance = np.full((SAMPLED_TUPLES, reviews), -1), np.zeros(SAMPLED_TUPLES)
    for who in np.flatnonzero(sure):
        where, chance = _draw_open_slot(rows < 0, _defensive_mixture(score[:, seat[who]]), rng)
        rows[np.arange(SAMPLED_TUPLES), where] = who
        log_chance += np.log(chance)
    for slot in range(reviews):
        free = np.flatnonzero(rows[:, slot] < 0)
        probability = _defensive_mixture(np.where(sure, -np.inf, odds + score[slot, seat]))
        rows[free, slot], chance = _draw_other_candidate(rows[free], probability, rng)
        log_chance[free] += np.log(chance)
    prior = np.where(sure, 0.0, odds)[rows].sum(axis=1)
    return seat[rows], prior - log_chance


def _defensive_mixture(log_weight: Array) -> Array:
    """Probabilities in proportion to these weights, mixed with a uniform share (Hesterberg 1995)."""
    weight, possible = np.exp(log_weight - log_weight.max()), np.isfinite(log_weight)
    return np.asarray(
        (1.0 - _UNIFORM_SHARE) * weight / weight.sum() + _UNIFORM_SHARE * possible / possible.sum()
    )


def _draw_open_slot(open_: Booleans, probability: Array, rng: np.random.Generator) -> tuple[Integers, Array]:
    """In each row one of the open slots, and its probability."""
    chance = np.where(open_, probability, 0.0)
    chance /= chance.sum(axis=1, keepdims=True)
    slot = (np.cumsum(chance, axis=1)[:, :-1] <= rng.random((len(open_), 1))).sum(axis=1)
    # At the very end of the range, rounding might lead to a slot that is taken.
    slot = np.where(np.take_along_axis(open_, slot[:, None], axis=1)[:, 0], slot, open_.argmax(axis=1))
    return slot, np.take_along_axis(chance, slot[:, None], axis=1)[:, 0]


def _draw_other_candidate(
    rows: Integers, probability: Array, rng: np.random.Generator
) -> tuple[Integers, Array]:
    """For each row a candidate who is not in it, and the probability of that draw."""
    # A slot that is open in every row stands for nobody.
    taken = np.sort(rows[:, (rows >= 0).any(axis=0)], axis=1).T
    mass = np.where(taken < 0, 0.0, probability[taken])
    left = 1.0 - mass.sum(axis=0)
    position, end = rng.random(len(rows)) * left, np.cumsum(probability)
    start = end - probability
    for who, own in zip(taken, mass, strict=True):
        position += np.where(position >= start[who], own, 0.0)
    drawn = np.minimum(np.searchsorted(end, position, side="right"), probability.size - 1)
    # Rounding might lead to a candidate who is in the row: such a draw gets weight 0.
    return drawn, np.where((drawn == taken).any(axis=0), np.inf, probability[drawn] / left)
