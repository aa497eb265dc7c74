"""Who may have reviewed a paper, and how likely: candidate pools and their maximum-entropy prior.

A pool gives each candidate's chance of having reviewed the paper. Of all distributions over reviewer tuples
with those chances the one that assumes least is *conditional Poisson*: a set of reviewers has a chance
proportional to the product of its members' odds, and every order of writing them into the slots is equally
likely. Plain products of the chances are not it: (1, .5, .5) with two reviews would give (.8, .6, .6), and
the certificate would be too good.

`*` is anyone not listed by name, and may have written several of the reviews. It counts as one more
candidate for each review, all of them alike; its number is how many reviews they are expected to have
written together.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from math import comb, perm

import numpy as np

from blindcal.cells import Column
from blindcal.checks import Array, Integers, nonnegative
from blindcal.errors import InputError, Problem
from blindcal.files.disk import read_table
from blindcal.files.tables import refuse

OUTSIDER = "*"
NOBODY = -1
"""The label of `*`, who is never named: never a correct guess."""
EVERYONE = "everyone"
Pools = Mapping[str, Mapping[str, float]]
"""For each paper its candidates and their chances, before scaling."""

_KINDS = ("draw", "reviewer", "conflict")
_PATIENCE = 20
_MET = 1e-14
_CLOSE = 1e-9


def read_pools(path: str | os.PathLike[str]) -> dict[str, dict[str, float]]:
    """The pools in a table `paper,reviewer[,probability]`; without the last column all are alike.

    A candidate `*` stands for everybody who is not listed.
    """
    columns = [
        Column("paper", "id"),
        Column("reviewer", "id", secret=True),
        Column("probability", "number", required=False, low=0.0, high=1.0),
    ]
    table = read_table(path, columns)
    chance = table.number("probability") if "probability" in table else np.ones(len(table))
    pools: dict[str, dict[str, float]] = {}
    problems = []
    for row, paper, reviewer, p in zip(
        table.rows, table.text("paper"), table.text("reviewer"), chance, strict=True
    ):
        pool = pools.setdefault(paper, {})
        if reviewer in pool:
            problems.append(Problem(table.file, row, "reviewer", "must not be twice in one paper's pool"))
        pool[reviewer] = float(p)
    if problems:
        raise refuse(problems)
    return pools


def read_draws(path: str | os.PathLike[str]) -> dict[str, dict[str, float]]:
    """Pools from sampled assignments `draw,paper,reviewer`: the share of draws that has each candidate."""
    columns = [Column("draw", "id"), Column("paper", "id"), Column("reviewer", "id", secret=True)]
    table = read_table(path, columns)
    draws = len(set(table.text("draw")))
    seen = set(zip(table.text("draw"), table.text("paper"), table.text("reviewer"), strict=True))
    if len(seen) < len(table):
        raise InputError(f"{table.file}: a reviewer must not stand twice on one paper of one draw")
    pools: dict[str, dict[str, float]] = {}
    for _, paper, reviewer in sorted(seen):
        pool = pools.setdefault(paper, {})
        pool[reviewer] = pool.get(reviewer, 0.0) + 1.0 / draws
    return pools


def everyone(
    papers: Iterable[str], reviewers: Sequence[str], conflicts: Iterable[tuple[str, str]] = ()
) -> dict[str, dict[str, float]]:
    """Pools of everyone without a conflict `(paper, reviewer)`, all equally likely.

    >>> everyone(["p"], ["a", "b", "c"], [("p", "b")])
    {'p': {'a': 1.0, 'c': 1.0}}
    """
    barred = set(conflicts)
    return {p: {r: 1.0 for r in reviewers if (p, r) not in barred} for p in papers}


def pools_of(
    source: str | os.PathLike[str], papers: Iterable[str], reviewers: Iterable[str]
) -> dict[str, dict[str, float]]:
    """The pools that a file describes; its columns say how.

    `paper,reviewer[,probability]`: the candidates. `draw,paper,reviewer`: sampled assignments.
    `paper,conflict`: everyone but these. The word `everyone` in place of a file: no conflicts at all.
    """
    people = sorted(set(reviewers) - {OUTSIDER})
    if str(source) == EVERYONE:
        return everyone(papers, people)
    columns = [Column("paper", "id"), Column("probability", "text", required=False)]
    columns += [Column(name, "id", required=False, secret=name != "draw") for name in _KINDS]
    table = read_table(source, columns)
    if "draw" in table:
        return read_draws(source)
    if "conflict" in table and "reviewer" not in table:
        return everyone(papers, people, zip(table.text("paper"), table.text("conflict"), strict=True))
    return read_pools(source)


def first_row(source: str | os.PathLike[str], candidates: Collection[str]) -> int | None:
    """The first row of a file of pools that names one of these candidates, for a message that must not."""
    columns = [Column("reviewer", "id", required=False, secret=True)]
    table = read_table(source, columns, extra=True)
    names = table.text("reviewer") if "reviewer" in table else ()
    return next((row for row, name in zip(table.rows, names, strict=False) if name in candidates), None)


def conflicts_in(source: str | os.PathLike[str]) -> set[tuple[str, str]]:
    """The conflicts `(paper, reviewer)` of a file that lists them in place of pools; none of any other."""
    if not os.path.exists(source):
        return set()
    columns = [Column(name, "id", required=False, secret=True) for name in ("paper", "conflict", "reviewer")]
    table = read_table(source, columns, extra=True)
    if "conflict" not in table or "reviewer" in table:
        return set()
    return set(zip(table.text("paper"), table.text("conflict"), strict=True))


def inclusion(chances: Sequence[float], reviews: int, outsider: int | None = None) -> tuple[float, ...]:
    """The chances scaled to sum to the number of reviews, each at most 1; that of the candidate `outsider`,
    who may have written all of them, at most their number.

    >>> inclusion([0.9, 0.3, 0.3, 0.3], 3)
    (1.0, 0.6666666666666666, 0.6666666666666666, 0.6666666666666666)
    >>> [round(chance, 3) for chance in inclusion([1.0, 0.1, 0.1], 2, outsider=0)]
    [1.667, 0.167, 0.167]
    """
    scaled = _scaled(copied(chances, reviews, outsider), reviews)
    if outsider is None:
        return scaled
    return (*scaled[:outsider], reviews * scaled[outsider], *scaled[outsider + 1 : len(chances)])


def seats(candidates: int, reviews: int, outsider: int | None) -> Integers:
    """Candidates by index, the outsider once for each review: its further seats come last.

    >>> seats(3, 2, 0).tolist(), seats(3, 2, None).tolist()
    ([0, 1, 2, 0], [0, 1, 2])
    """
    more = [] if outsider is None else [outsider] * (reviews - 1)
    return np.array([*range(candidates), *more], dtype=np.int64)


def copied(chances: Sequence[float], reviews: int, outsider: int | None) -> tuple[float, ...]:
    """The chance of each seat: the outsider's is shared by all of its own."""
    each = [p / reviews if index == outsider else p for index, p in enumerate(chances)]
    return tuple(each[index] for index in seats(len(each), reviews, outsider))


def _scaled(chances: Sequence[float], reviews: int) -> tuple[float, ...]:
    chance = nonnegative("probability", np.asarray(chances))
    if np.count_nonzero(chance) < reviews:
        raise InputError(
            f"{reviews} reviews need as many candidates with a probability above 0, found "
            f"{np.count_nonzero(chance)}"
        )
    if abs(chance.sum() - reviews) <= _CLOSE * reviews and chance.max() <= 1.0:
        return tuple(chance.tolist())
    scaled, full = chance, np.zeros(chance.shape, dtype=bool)
    while True:
        left = reviews - np.count_nonzero(full)
        scaled = np.where(full, 1.0, chance * (left / chance[~full].sum() if left else 0.0))
        over = ~full & (scaled >= 1.0 - _CLOSE)
        if not over.any():
            return tuple(scaled.tolist())
        full |= over


@lru_cache(maxsize=4096)
def log_odds(chances: tuple[float, ...], reviews: int) -> tuple[float, ...]:
    """Candidates' log odds o in the maximum-entropy distribution: P(set) ~ product of o over its members.

    Fixed point of `o *= p/pi` and of `o *= p(1-pi)/(pi(1-p))`, with pi the chances that the odds realize. A
    candidate with chance 1 has `inf`, with chance 0 `-inf`.

    >>> odds = log_odds((1.0, 0.5, 0.5), 2)
    >>> odds
    (inf, 0.0, 0.0)
    """
    p = np.asarray(chances)
    open_ = (p > 0.0) & (p < 1.0)
    left = reviews - np.count_nonzero(p == 1.0)
    result = np.where(p == 1.0, np.inf, -np.inf)
    q = p[open_]
    if q.size == left:
        result[open_] = np.inf
    elif q.size:
        result[open_] = _fit(q, int(left))
    return tuple(result.tolist())


def _fit(p: Array, size: int) -> Array:
    """Whichever of the two steps, of the logs or of the logits of p/pi, comes closer: small chances need the
    first, chances near 1 the second."""
    odds = np.log(p) - np.log(p).mean()
    steps = _steps(odds, p, size)
    best: Array = odds
    gap, stale = float(np.abs(steps[1]).max()), 0
    while gap > _MET and stale < _PATIENCE:
        tried = [odds + step - (odds + step).mean() for step in steps]
        next_steps = [_steps(one, p, size) for one in tried]
        gaps = [float(np.abs(both[1]).max()) for both in next_steps]
        closer = int(np.argmin(gaps))
        odds, steps = tried[closer], next_steps[closer]
        stale += 1
        if gaps[closer] < gap:
            best, gap, stale = odds, gaps[closer], 0
    # Chances written with nine digits need not sum to a whole number exactly.
    if (missed := float(np.abs(realized(best, size) - p).max())) > 10 * _CLOSE:
        raise InputError(
            f"no distribution has these inclusion probabilities: the closest one misses by {missed:.3g}"
        )
    return best


def _steps(odds: Array, p: Array, size: int) -> tuple[Array, Array]:
    pi = realized(odds, size)
    log = np.log(p / pi)
    return log, log - np.log1p(-p) + np.log1p(-pi)


def realized(odds: Array, size: int) -> Array:
    """The chances that log odds realize: `pi_j = o_j e_{k-1}(others) / e_k(all)`, e the elementary sums.

    >>> realized(np.log([1.0, 2.0, 3.0]), 1)
    array([0.16666667, 0.33333333, 0.5       ])
    """
    o = np.exp(odds - odds.max())
    before = _elementary_sums(o, size)
    after = _elementary_sums(o[::-1], size)[::-1]
    # Sets of the others: i of them before j, size-1-i after it.
    others = (before[:-1, :size] * after[1:, size - 1 :: -1][:, :size]).sum(axis=1)
    pi: Array = o * others / before[-1, size]
    return np.clip(pi, np.finfo(float).tiny, 1.0 - np.finfo(float).epsneg)


def _elementary_sums(o: Array, size: int) -> Array:
    """`[j, i]`: the sum over sets of i among the first j of the product of their odds."""
    sums = np.zeros((o.size + 1, size + 1))
    sums[:, 0] = 1.0
    for j, value in enumerate(o):
        sums[j + 1, 1:] = sums[j, 1:] + value * sums[j, :-1]
    return sums


def tuple_count(candidates: int, reviews: int, outsider: bool = False) -> int:
    """How many tuples there are: of distinct candidates, but for the outsider among them.

    >>> tuple_count(3, 2), tuple_count(3, 2, outsider=True)
    (6, 7)
    """
    if not outsider:
        return perm(candidates, reviews)
    return sum(comb(reviews, named) * perm(candidates - 1, named) for named in range(reviews + 1))


@lru_cache(maxsize=16)
def tuples_of(candidates: int, reviews: int, outsider: int | None = None) -> Integers:
    """`[n, k]`: every tuple of candidates, distinct but for the outsider, in lexicographic order.

    >>> tuples_of(3, 2).tolist()
    [[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]]
    >>> tuples_of(2, 2, outsider=0).tolist()
    [[0, 0], [0, 1], [1, 0]]
    """
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
def halves_of(
    candidates: int, reviews: int, outsider: int | None = None
) -> tuple[Integers, Integers, Integers]:
    """The first and second halves that tuples have, and the place of each tuple among all pairs of them.

    >>> first, second, place = halves_of(3, 2)
    >>> first.tolist(), second.tolist(), place.tolist()
    ([[0], [1], [2]], [[0], [1], [2]], [1, 2, 3, 5, 6, 7])

    Pairs are counted first half by first half: the tuples among them stand in lexicographic order.
    """
    half = (reviews + 1) // 2
    first, second = (tuples_of(candidates, size, outsider) for size in (half, reviews - half))
    apart, anyone = np.ones((len(first), len(second)), dtype=bool), NOBODY if outsider is None else outsider
    for one in first.T:
        for other in second.T:
            apart &= (one[:, None] != other) | (one == anyone)[:, None]
    place = np.flatnonzero(apart)
    place.setflags(write=False)
    return first, second, place


def log_prior(chances: tuple[float, ...], rows: Integers, outsider: int | None = None) -> Array:
    """log P(tuple) up to a constant; -inf for tuples that the chances forbid.

    A tuple with j outsiders stands for all `k!/(k-j)!` ways to seat them.
    """
    reviews = rows.shape[1]
    odds = np.asarray(log_odds(copied(chances, reviews, outsider), reviews))[: len(chances)]
    forced = np.isposinf(odds)
    prior = np.where(forced, 0.0, odds)[rows].sum(axis=1)
    if outsider is not None:
        ways = np.log([float(perm(reviews, j)) for j in range(reviews + 1)])
        prior += ways[(rows == outsider).sum(axis=1)]
        # Where all are outsiders for sure, the others have no chance at all.
        forced[outsider] = False
    missing = forced[rows].sum(axis=1) < np.count_nonzero(forced)
    return np.where(missing, -np.inf, prior)
