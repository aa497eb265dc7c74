"""Cases + the share to accept -> the bar, from public data alone.

The bar is where full calibration, which knows every tuple, accepts that share of the papers on average over
the public belief. A bar needs no exact weights, and tuples are weighed exactly only once it is there. So here
every review counts as a Gaussian measurement of quality, its *site*: `exp(constant - (gap - gain q)^2 / 2)`.

* A reviewer who is known exactly, with slope a, offset b and noise s, is one: gain = a/s, gap = (score-b)/s.
* Where slope and offset are estimates, the variance of a score at quality q is `noise^2 + noise_se^2 +
  offset_se^2 + 2 correlation slope_se offset_se q + slope_se^2 q^2`. It is replaced by its mean, first over
  q ~ N(0, 1), then over what the score itself says of q.
* A score on a grid is known up to its cell, open at both ends of the grid. With v that variance and
  V = a^2 + v, the score before rounding is N(b, V); inside the cell it has a mean m and a variance w, so q
  has mean `a(m-b)/V` and variance `v/V + a^2 w/V^2`. The site is the one that leads to these two and to the
  probability of the cell. (In the middle of a fine grid m is the score and w = step^2/12.)

Products of sites are Gaussian, so a tuple has a weight and a median of quality in closed form. Where tuples
are many, some are drawn: who wrote which review, one slot after the other, by the odds and the probability of
the score, and weighted by what that leaves out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256

import numpy as np

from blindcal.assignment.prior import copied, log_odds, seats, tuple_count
from blindcal.checks import Array, Integers
from blindcal.compute.parallel import Workers, each
from blindcal.errors import InputError
from blindcal.posterior.paper import PaperCase
from blindcal.posterior.tuple_weights import UNWEIGHABLE, Sites, known_sites, normalized, summed_sites
from blindcal.reviewers.base import Booleans
from blindcal.reviewers.quadrature import centered

# More tuples than that are sampled.
MOST_LISTED, DRAWS = 20_000, 4_000
# The bar is a multiple of this, so that it does not depend on the last digits of a sum.
_STEP, _RANGE = 1e-4, 8.0
_BINS = round(2 * _RANGE / _STEP)
# Shares that differ by less are the same: weights are known no better.
_SAME = 1e-9
# Where all papers or none are to pass, full calibration is this part of a paper short of that at the bar.
_PART = 0.01
# Papers are added up this many at a time, in at most this many parts, whoever shares the work: sums do not
# depend on that.
_TOGETHER, _MOST_PARTS = 32, 64
# A Gaussian is integrated over a cell as far as it falls by e^-40 from its largest value there.
_NODES, _FALL = 48, 80.0
# Drawn evenly with this chance, so that no slot is closed to anyone whose presence is certain.
_EVEN = 0.1


def bar_of(
    cases: Sequence[PaperCase],
    accept_rate: float | None,
    bar: float | None,
    *,
    workers: Workers = 1,
    advance: Callable[[int], None] | None = None,
) -> tuple[float, float]:
    """The bar, given or chosen, and the share requested or that full calibration accepts on average over the
    belief. `advance(n)` is called as papers are done.

    >>> sure = ("a",), (1.0,), ((1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0),), 0.0
    >>> bar_of([PaperCase("p", (1.0,), *sure), PaperCase("q", (3.0,), *sure)], None, 1.0)
    (1.0, 0.5)
    """
    size = max(_TOGETHER, -(-len(cases) // _MOST_PARTS))
    parts = [cases[start : start + size] for start in range(0, len(cases), size)]
    sizes = iter([len(part) for part in parts])

    def parts_done(done: int) -> None:
        if advance is not None:
            advance(sum(next(sizes) for _ in range(done)))

    mass = sum(each(_histogram, parts, workers=workers, advance=parts_done, light=True), np.zeros(_BINS))
    above = np.cumsum(mass[::-1])[::-1] / len(cases)
    if accept_rate is not None:
        return round(_place(above, _aim(accept_rate, len(cases))) * _STEP - _RANGE, 4), accept_rate
    height = float(bar or 0.0)
    index = int(np.clip(np.ceil((height + _RANGE) / _STEP), 0, _BINS - 1))
    return height, float(above[index])


def _place(above: Array, aim: float) -> int:
    """The step at which the share `above` it is nearest to `aim`, the lower of two such shares.

    Between two neighboring medians the share is the same: there the bar is in the middle. At either end it
    would be as good as some papers are, and whether these should be accepted an even chance. Beyond all
    medians it is as far from the last of them as it would be from the one before.

    >>> _place(np.array([1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0]), 0.4)
    4
    >>> _place(np.array([1.0, 1.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0]), 0.1)
    9
    """
    off = np.abs(above - aim)
    first, last = _plateau(above, int(np.argmax(off <= off.min() + _SAME)))
    end = above.size - 1
    if first > 0 and last < end:
        return (first + last) // 2
    if first > 0:
        before, _ = _plateau(above, first - 1)
        return min(first + ((first - before) // 2 if before > 0 else 0), end)
    _, after = _plateau(above, min(last + 1, end))
    return max(last - ((after - last) // 2 if after < end else 0), 0)


def _plateau(above: Array, index: int) -> tuple[int, int]:
    """The first and the last step with the share that one of them has."""
    first = np.searchsorted(-above, -above[index] - _SAME)
    last = np.searchsorted(-above, -above[index] + _SAME, side="right")
    return int(first), int(last) - 1


def _aim(accept_rate: float, papers: int) -> float:
    """The share that the bar is chosen for: with all or none the bar could be anywhere beyond the papers, and
    how good they are could no longer be compared."""
    return (
        float(np.clip(accept_rate, _PART / papers, 1 - _PART / papers))
        if accept_rate in (0, 1)
        else accept_rate
    )


def _histogram(cases: Sequence[PaperCase]) -> Array:
    """How much of the belief about some papers has its median of quality in each step."""
    median, weight = (np.concatenate(part) for part in zip(*map(medians, cases), strict=True))
    # Medians are often multiples of a step: a little more, and no machine's last digit puts them below it.
    place = np.clip(np.floor((median + _RANGE) / _STEP + 1e-6).astype(np.int64), 0, _BINS - 1)
    return np.bincount(place, weight, _BINS).astype(np.float64)


def medians(case: PaperCase) -> tuple[Array, Array]:
    """The median of quality under each tuple (or under some that were drawn), and the tuple's weight."""
    tuples = tuple_count(len(case.candidates), len(case.scores), case.outsider is not None)
    few = case.sets is not None or tuples <= MOST_LISTED
    # What leaves the range of a float is found below.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        sites = sites_of(case)
        rows, prior = _listed(case) if few else _drawn(case, sites)
        log_weight, median = summed_sites(sites, rows, prior)[:2]
    if np.isnan([log_weight, median]).any() or not np.isfinite(log_weight.max()):
        raise InputError(UNWEIGHABLE.format(case.paper))
    return median, normalized(log_weight)


def _listed(case: PaperCase) -> tuple[Integers, Array]:
    """Every tuple and its log prior."""
    return case.tuples, case.log_prior(case.tuples)


def sites_of(case: PaperCase) -> Sites:
    """What each review would say of quality by itself, if each of the candidates had written it."""
    slope, offset, noise, slope_se, offset_se, correlation, noise_se = np.array(case.parameters).T
    scores, fixed = np.array(case.scores)[:, None], noise**2 + noise_se**2 + offset_se**2
    ends = None if case.grid is None else _cells(case.scores, case.grid)
    mean, square = np.zeros((len(scores), 1)), np.ones((len(scores), 1))
    for _ in range(1 + bool(slope_se.any())):
        spread = np.sqrt(fixed + 2.0 * correlation * slope_se * offset_se * mean + slope_se**2 * square)
        if ends is None:
            sites = known_sites(scores, slope, offset, spread)
        else:
            sites = rounded_sites(*ends, slope, offset, spread)
        precision = 1.0 + sites.gain**2
        mean = sites.gain * sites.gap / precision
        square = mean**2 + 1.0 / precision
    return sites


def _cells(scores: Sequence[float], grid: Sequence[float]) -> tuple[Array, Array]:
    """The ends of each score's cell: halfway to the next score of the grid, nowhere beyond its ends."""
    values = np.array(grid)
    ends = np.concatenate([[-np.inf], 0.5 * (values[1:] + values[:-1]), [np.inf]])
    index = np.searchsorted(values, scores)
    return ends[index][:, None], ends[index + 1][:, None]


def rounded_sites(low: Array, high: Array, slope: Array, offset: Array, spread: Array) -> Sites:
    """The sites of scores that are known up to their cells."""
    total = np.sqrt(slope**2 + spread**2)
    log_chance, place, variance = _in_cell((low - offset) / total, (high - offset) / total)
    share = slope / total
    mean, left = share * place, (spread / total) ** 2 + share**2 * variance
    precision = 1.0 / np.minimum(left, 1.0)
    # What says next to nothing has a gain of next to nothing, never 0: gap is divided by it.
    gain = np.sqrt(np.maximum(precision - 1.0, np.finfo(float).eps))
    gap = precision * mean / gain
    constant = log_chance + 0.5 * (np.log1p(gain**2) + gap**2 / (1.0 + gain**2))
    return Sites(gain, gap, constant)


def _in_cell(low: Array, high: Array) -> tuple[Array, Array, Array]:
    """Of a standard normal number between these: log probability, mean and variance.

    Sums of positive terms over the part of the cell that counts: nothing cancels, however far out it is.
    """
    near = np.maximum(np.maximum(low, -high), 0.0)
    far = np.sqrt(near**2 + _FALL)
    low, high = np.maximum(low, -far), np.minimum(high, far)
    nodes, weights = centered(_NODES)
    half = 0.5 * (high - low)
    x = (0.5 * (high + low))[..., None] + half[..., None] * nodes
    mass = weights * np.exp(0.5 * (near[..., None] ** 2 - x**2))
    total = mass.sum(axis=-1)
    mean = (mass * x).sum(axis=-1) / total
    variance = (mass * (x - mean[..., None]) ** 2).sum(axis=-1) / total
    return np.log(half * total) - 0.5 * (near**2 + np.log(2.0 * np.pi)), mean, variance


def _drawn(case: PaperCase, sites: Sites) -> tuple[Integers, Array]:
    """Tuples, and the log of their prior over their chance of being drawn; the seed is public.

    Whoever certainly wrote a review is put into a slot first, then every open slot is filled by somebody
    else.
    """
    reviews = len(case.scores)
    seat = seats(len(case.candidates), reviews, case.outsider)
    odds = np.asarray(log_odds(copied(case.inclusion, reviews, case.outsider), reviews))
    sure = np.isposinf(odds)
    # The log probability of each score, whoever wrote the others.
    score = sites.constant - 0.5 * (np.log1p(sites.gain**2) + sites.gap**2 / (1.0 + sites.gain**2))
    seed = sha256(repr((case.paper, case.scores)).encode()).digest()
    rng = np.random.default_rng(np.frombuffer(seed, dtype=np.uint32))
    rows, log_chance = np.full((DRAWS, reviews), -1), np.zeros(DRAWS)
    for who in np.flatnonzero(sure):
        where, chance = _a_slot(rows < 0, _mostly(score[:, seat[who]]), rng)
        rows[np.arange(DRAWS), where] = who
        log_chance += np.log(chance)
    for slot in range(reviews):
        free = np.flatnonzero(rows[:, slot] < 0)
        likely = _mostly(np.where(sure, -np.inf, odds + score[slot, seat]))
        rows[free, slot], chance = _somebody_else(rows[free], likely, rng)
        log_chance[free] += np.log(chance)
    prior = np.where(sure, 0.0, odds)[rows].sum(axis=1)
    return seat[rows], prior - log_chance


def _mostly(log_weight: Array) -> Array:
    """Probabilities in proportion to these weights, but for a part that all share who have any chance."""
    weight, possible = np.exp(log_weight - log_weight.max()), np.isfinite(log_weight)
    return np.asarray((1.0 - _EVEN) * weight / weight.sum() + _EVEN * possible / possible.sum())


def _a_slot(open_: Booleans, likely: Array, rng: np.random.Generator) -> tuple[Integers, Array]:
    """In each row one of the open slots, and its chance."""
    chance = np.where(open_, likely, 0.0)
    chance /= chance.sum(axis=1, keepdims=True)
    slot = (np.cumsum(chance, axis=1)[:, :-1] <= rng.random((len(open_), 1))).sum(axis=1)
    # At the very end of the range a rounding might lead to a slot that is taken.
    slot = np.where(np.take_along_axis(open_, slot[:, None], axis=1)[:, 0], slot, open_.argmax(axis=1))
    return slot, np.take_along_axis(chance, slot[:, None], axis=1)[:, 0]


def _somebody_else(rows: Integers, likely: Array, rng: np.random.Generator) -> tuple[Integers, Array]:
    """For each row somebody who is not in it, and their chance: their share of what is left."""
    there = np.sort(rows, axis=1).T
    mass = np.where(there < 0, 0.0, likely[there])
    left = 1.0 - mass.sum(axis=0)
    place, end = rng.random(len(rows)) * left, np.cumsum(likely)
    for who, own in zip(there, mass, strict=True):
        place += np.where(place >= end[who] - likely[who], own, 0.0)
    found = np.minimum(np.searchsorted(end, place, side="right"), likely.size - 1)
    # A rounding might lead to somebody who is there: a draw that does not count.
    return found, np.where((found == there).any(axis=0), np.inf, likely[found] / left)
