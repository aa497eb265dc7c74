"""The maximum-entropy prior over tuples of reviewers, from each candidate's inclusion probability.

Of all distributions over sets of reviewers with given inclusion probabilities, the one of maximum entropy is
*conditional Poisson sampling*: the probability of a set is proportional to the product of its members' odds,
and every order of a set over the slots is equally likely. The probabilities themselves are not the odds: with
two reviews, products of (1, .5, .5) would lead to (.8, .6, .6), and the certificate would be too good.
`log_odds` finds the odds.

`*`, the outsider, may have written several reviews. It counts as one more candidate (a *seat*) for each
review, all alike; its number is the expected count of reviews that they wrote together.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import comb, perm

import numpy as np

from blindcal.checks import Array, Integers, nonnegative
from blindcal.errors import InputError

NOBODY = -1
"""The label of `*`, who is never named: never a correct guess."""

_PATIENCE = 20
_CONVERGED = 1e-14
_TOLERANCE = 1e-9


def inclusion(chances: Sequence[float], reviews: int, outsider: int | None = None) -> tuple[float, ...]:
    """Inclusion probabilities: chances scaled to sum to the number of reviews, each at most 1.

    That of `*`, whose index is `outsider`, is how many reviews it is expected to have written.
    """
    scaled = _scale_to_sum(seat_probabilities(chances, reviews, outsider), reviews)
    if outsider is None:
        return scaled
    return (*scaled[:outsider], reviews * scaled[outsider], *scaled[outsider + 1 : len(chances)])


def candidate_seats(candidates: int, reviews: int, outsider: int | None) -> Integers:
    """Candidates by index, the outsider once for each review: its further seats come last.

    >>> candidate_seats(3, 2, 0).tolist(), candidate_seats(3, 2, None).tolist()
    ([0, 1, 2, 0], [0, 1, 2])
    """
    seats = np.arange(candidates, dtype=np.int64)
    return seats if outsider is None else np.append(seats, [outsider] * (reviews - 1)).astype(np.int64)


def seat_probabilities(chances: Sequence[float], reviews: int, outsider: int | None) -> tuple[float, ...]:
    """The probability of each seat: the outsider's number is shared by all of its seats."""
    if outsider is None:
        return tuple(chances)
    each = list(chances)
    each[outsider] /= reviews
    return (*each, *[each[outsider]] * (reviews - 1))


def _scale_to_sum(chances: Sequence[float], reviews: int) -> tuple[float, ...]:
    """Probabilities in proportion to the chances that sum to the number of reviews, capped at 1."""
    chance = nonnegative("probability", np.asarray(chances))
    if np.count_nonzero(chance) < reviews:
        raise InputError(
            f"{reviews} reviews need as many candidates with a probability above 0, found "
            f"{np.count_nonzero(chance)}"
        )
    if abs(chance.sum() - reviews) <= _TOLERANCE * reviews and chance.max() <= 1.0:
        return tuple(chance.tolist())
    scaled, full = chance, np.zeros(chance.shape, dtype=bool)
    while True:
        left = reviews - np.count_nonzero(full)
        scaled = np.where(full, 1.0, chance * (left / chance[~full].sum() if left else 0.0))
        over = ~full & (scaled >= 1.0 - _TOLERANCE)
        if not over.any():
            return tuple(scaled.tolist())
        full |= over


@lru_cache(maxsize=4096)
def log_odds(chances: tuple[float, ...], reviews: int) -> tuple[float, ...]:
    """The candidates' log odds in the maximum-entropy distribution: P(set) ~ product of its members' odds o.

    The odds are a fixed point of `o *= p/pi` and of `o *= p(1-pi)/(pi(1-p))`, with pi the inclusion
    probabilities that the odds realize (`realized_inclusion`). The logs are `inf` for a candidate with
    probability 1, `-inf` with probability 0.
    """
    p = np.asarray(chances)
    open_ = (p > 0.0) & (p < 1.0)
    left = reviews - np.count_nonzero(p == 1.0)
    result = np.where(p == 1.0, np.inf, -np.inf)
    q = p[open_]
    if q.size == left:
        result[open_] = np.inf
    elif q.size:
        result[open_] = _fit_log_odds(q, int(left))
    return tuple(result.tolist())


def _fit_log_odds(p: Array, size: int) -> Array:
    """The log odds by fixed-point iteration, taking whichever of the two steps comes closer.

    The step in logs suits small probabilities, the step in logits those near 1.
    """
    odds = np.log(p) - np.log(p).mean()
    steps = _fixed_point_steps(odds, p, size)
    best: Array = odds
    gap, stale = float(np.abs(steps[1]).max()), 0
    while gap > _CONVERGED and stale < _PATIENCE:
        tried = [odds + step - (odds + step).mean() for step in steps]
        next_steps = [_fixed_point_steps(candidate, p, size) for candidate in tried]
        gaps = [float(np.abs(both[1]).max()) for both in next_steps]
        closer = int(np.argmin(gaps))
        odds, steps = tried[closer], next_steps[closer]
        stale += 1
        if gaps[closer] < gap:
            best, gap, stale = odds, gaps[closer], 0
    # Probabilities written with nine digits need not sum to a whole number exactly.
    if (missed := float(np.abs(realized_inclusion(best, size) - p).max())) > 10 * _TOLERANCE:
        raise InputError(
            f"no distribution has these inclusion probabilities: the closest one misses by {missed:.3g}"
        )
    return best


def _fixed_point_steps(odds: Array, p: Array, size: int) -> tuple[Array, Array]:
    """The steps in log odds: log(p/pi), and the difference of logits."""
    pi = realized_inclusion(odds, size)
    log = np.log(p / pi)
    return log, log - np.log1p(-p) + np.log1p(-pi)


def realized_inclusion(odds: Array, size: int) -> Array:
    """The inclusion probabilities that log odds realize.

    `pi_j = o_j e_{k-1}(others) / e_k(all)`, with e the elementary symmetric polynomials of the odds.
    """
    o = np.exp(odds - odds.max())
    before = _elementary_symmetric(o, size)
    after = _elementary_symmetric(o[::-1], size)[::-1]
    # e_{k-1} of the others without division, which would cancel digits: combine the polynomials of the
    # candidates before j (i of them) and after j (size-1-i).
    others = (before[:-1, :size] * after[1:, size - 1 :: -1][:, :size]).sum(axis=1)
    pi: Array = o * others / before[-1, size]
    return np.clip(pi, np.finfo(float).tiny, 1.0 - np.finfo(float).epsneg)


def _elementary_symmetric(o: Array, size: int) -> Array:
    """`[j, i]`: the elementary symmetric polynomial of degree i in the first j odds."""
    sums = np.zeros((o.size + 1, size + 1))
    sums[:, 0] = 1.0
    for j, value in enumerate(o):
        sums[j + 1, 1:] = sums[j, 1:] + value * sums[j, :-1]
    return sums


def tuple_count(candidates: int, reviews: int, outsider: bool = False) -> int:
    """The number of tuples of distinct candidates; only the outsider may repeat.

    >>> tuple_count(3, 2), tuple_count(3, 2, outsider=True)
    (6, 7)
    """
    if not outsider:
        return perm(candidates, reviews)
    return sum(comb(reviews, named) * perm(candidates - 1, named) for named in range(reviews + 1))


@lru_cache(maxsize=16)
def all_tuples(candidates: int, reviews: int, outsider: int | None = None) -> Integers:
    """`[n, k]`: every tuple of candidates, distinct except for the outsider, in lexicographic order."""
    rows = np.zeros((1, 0), dtype=np.int64)
    for _ in range(reviews):
        free = np.ones((len(rows), candidates), dtype=bool)
        np.put_along_axis(free, rows, False, axis=1)
        if outsider is not None:
            free[:, outsider] = True
        which, new = np.nonzero(free)
        rows = np.column_stack([rows[which], new])
    rows.setflags(write=False)
    return rows


@lru_cache(maxsize=16)
def tuple_halves(
    candidates: int, reviews: int, outsider: int | None = None
) -> tuple[Integers, Integers, Integers]:
    """The first and second halves of tuples, and the index of each tuple among all pairs of halves.

    Pairs are counted first half by first half, so the tuples among them stand in lexicographic order.
    """
    half = (reviews + 1) // 2
    first, second = (all_tuples(candidates, size, outsider) for size in (half, reviews - half))
    apart, anyone = np.ones((len(first), len(second)), dtype=bool), NOBODY if outsider is None else outsider
    for first_half in first.T:
        for second_half in second.T:
            apart &= (first_half[:, None] != second_half) | (first_half == anyone)[:, None]
    pair_index = np.flatnonzero(apart)
    pair_index.setflags(write=False)
    return first, second, pair_index


def sets_of(tuples: Integers) -> tuple[Integers, Integers]:
    """The sets of reviewers among some tuples, `[set, slot]` in lexicographic order, and each tuple's set."""
    sets, index = np.unique(np.sort(tuples, axis=1), axis=0, return_inverse=True)
    return sets, index.ravel()


def log_prior(chances: tuple[float, ...], rows: Integers, outsider: int | None = None) -> Array:
    """Log P(tuple) in the maximum-entropy prior, up to a constant.

    `chances` are inclusion probabilities, which sum to the number of reviews k; `rows[n, k]` has who wrote
    each review. A tuple with j outsiders stands for all `k!/(k-j)!` ways to seat them.
    """
    reviews = rows.shape[1]
    odds = np.asarray(log_odds(seat_probabilities(chances, reviews, outsider), reviews))[: len(chances)]
    forced = np.isposinf(odds)
    prior = np.where(forced, 0.0, odds)[rows].sum(axis=1)
    if outsider is not None:
        ways = np.log([float(perm(reviews, j)) for j in range(reviews + 1)])
        prior += ways[(rows == outsider).sum(axis=1)]
        # If every review is certainly an outsider's, the others already have odds of 0.
        forced[outsider] = False
    missing = forced[rows].sum(axis=1) < np.count_nonzero(forced)
    return np.where(missing, -np.inf, prior)
