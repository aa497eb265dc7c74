"""A shared budget of added success: the papers of a conference spend it at one price for all.

By Lagrangian duality an allocation is optimal if every paper trades error for success at the same price, in
wrong decisions per added correct guess about a review. `policy.budget` allocates; this chapter explores each
paper's error-success frontier, and only around the price, since every point costs a linear program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from math import inf, isinf

import numpy as np

from blindcal.checks import Array
from blindcal.compute.parallel import Workers, parallel_map
from blindcal.policy.budget import allocate, at_price
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.solver import accept_program
from blindcal.posterior.conference import Conference
from blindcal.posterior.paper import PaperCase

# Successes closer than this are the same vertex of a frontier: solvers differ by about so much.
_SAME_VERTEX = 1e-9
# The frontiers of the first papers are explored over a wide range of prices. Their price predicts that of the
# conference, and the other frontiers are explored only near it.
PRICES, _FIRST_PAPERS = (0.0, *(float(price) for price in np.geomspace(0.002, 1.0, 9)), inf), 64
_NEAR_PRICE = (0.8, 1.0, 1.25)
# Steps of progress for exploring a frontier at all these prices, near one price, or if there are too many
# tuples to list; solving a paper for a guarantee counts as 2.
_WIDE_STEPS, _NARROW_STEPS, _UNLISTED_STEPS = 6, 4, 3

# Price, error, success.
_PricePoint = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class KnownFrontier:
    """The known part of a paper's frontier: `(price, error, success)` of every program solved so far.

    Price 0 is the decision by the evidence; an infinite price is the decision that adds no success.
    """

    points: tuple[_PricePoint, ...]
    reviews: int

    def explored(self, points: Sequence[_PricePoint]) -> KnownFrontier:
        return KnownFrontier(tuple(sorted({*self.points, *points})), self.reviews)

    def settled(self, price: float) -> bool:
        """Whether the best policy at this price is known.

        It is if the program was solved at this price, or if one vertex is the best at a lower and at a higher
        price: success falls as the price rises, so that vertex is the best in between.
        """
        below, above = (p for p in self.points if p[0] <= price), (p for p in self.points if p[0] >= price)
        left, right = max(below), min(above)
        return left[2] - right[2] <= _SAME_VERTEX or left[0] == price or right[0] == price

    def hull(self) -> tuple[list[float], list[float]]:
        """Errors and successes of the known vertices on their lower convex hull (a monotone chain)."""
        kept: list[tuple[float, float]] = []
        for _, error, success in self.points:
            if kept and kept[-1][1] - success <= _SAME_VERTEX:
                continue
            while len(kept) > 1 and _slope(kept[-2], kept[-1]) >= _slope(kept[-1], (error, success)):
                kept.pop()
            kept.append((max(error, kept[-1][0]) if kept else error, success))
        return [error for error, _ in kept], [success for _, success in kept]


def _slope(left: tuple[float, float], right: tuple[float, float]) -> float:
    return (right[0] - left[0]) / (left[1] - right[1])


def success_limits(
    conference: Conference,
    guarantee: Guarantee,
    *,
    price: float | None = None,
    workers: Workers = 1,
    advance: Callable[[int], None] | None = None,
) -> tuple[Sequence[float | None], float | None]:
    """Each paper's limit on success if papers share a budget, and the price; else no limits.

    A frozen `price` of an earlier release is kept. `advance(n)` is called as papers are explored, with
    `exploration_steps` in all.
    """
    if not guarantee.spends:
        return [None] * len(conference.cases), None
    shares, spent = _spend(conference.cases, guarantee, price, workers, advance)
    return shares.tolist(), spent


def exploration_steps(cases: Sequence[PaperCase], guarantee: Guarantee, price: float | None = None) -> int:
    """The number of steps that `success_limits` takes, if solving a paper takes two."""
    widely = {*_first_papers(len(cases))} if price is None else set[int]()
    return sum(_steps(case, index in widely) for index, case in enumerate(cases)) if guarantee.spends else 0


def _steps(case: PaperCase, widely: bool) -> int:
    return _UNLISTED_STEPS if not case.listed else _WIDE_STEPS if widely else _NARROW_STEPS


def explore(job: tuple[PaperCase, tuple[float, ...]], guarantee: Guarantee) -> list[_PricePoint]:
    """`(price, error, success)` of a paper's best policies at some prices, lowest first, per review.

    Prices between two at which the same policy is the best are left out: it is the best at all of them.
    """
    case, prices = job
    paper = accept_program(case.promised(guarantee.promise), guarantee)

    def at(price: float) -> _PricePoint:
        limit = paper.scores_only if isinf(price) else None
        solved = paper.solve(price=0.0 if isinf(price) else price * len(case.scores), success=limit)
        return price, solved.error, solved.success

    ends = [at(price) for price in sorted({prices[0], prices[-1]})]
    return [ends[0], *_points_between(at, prices[1:-1], ends[0], ends[-1]), *ends[1:]]


def _points_between(
    at: Callable[[float], _PricePoint], prices: Sequence[float], low: _PricePoint, high: _PricePoint
) -> list[_PricePoint]:
    """Points at prices between two known ones, as far as their policies may differ."""
    if not prices or low[2] - high[2] <= _SAME_VERTEX:
        return []
    middle = len(prices) // 2
    point = at(prices[middle])
    lower = _points_between(at, prices[:middle], low, point)
    higher = _points_between(at, prices[middle + 1 :], point, high)
    return [*lower, point, *higher]


def _spend(
    cases: Sequence[PaperCase],
    guarantee: Guarantee,
    frozen: float | None,
    workers: Workers,
    advance: Callable[[int], None] | None,
) -> tuple[Array, float]:
    """Each paper's success at the price that spends the budget, and that price.

    A cutting-plane loop: allocate by the known vertices, solve each unsettled paper at the resulting price,
    add the new vertices, and stop once every paper's best policy at the price is known.
    """
    run = partial(explore, guarantee=guarantee)

    def look(prices: Mapping[int, tuple[float, ...]], widely: bool) -> dict[int, KnownFrontier]:
        jobs = [(cases[index], at_prices) for index, at_prices in prices.items()]
        steps = iter([_steps(case, widely) for case, _ in jobs])

        def explored(papers: int) -> None:
            if advance is not None:
                advance(sum(islice(steps, papers)))

        explored_points = parallel_map(run, jobs, workers=workers, advance=explored)
        return {
            index: KnownFrontier(tuple(points), len(cases[index].scores))
            for index, points in zip(prices, explored_points, strict=True)
        }

    frontiers = _explore_once(len(cases), guarantee, frozen, look)
    while True:
        success, price = _allocate(frontiers, guarantee, frozen)
        unsettled = [index for index, frontier in enumerate(frontiers) if not frontier.settled(price)]
        if not unsettled:
            return success, price
        new_points = parallel_map(run, [(cases[index], (price,)) for index in unsettled], workers=workers)
        for index, points in zip(unsettled, new_points, strict=True):
            frontiers[index] = frontiers[index].explored(points)


def frozen_price(price: float) -> float:
    """A price rounded to six digits, in which all machines agree, before it is frozen.

    >>> frozen_price(0.040766087844937696)
    0.0407661
    """
    return float(f"{price:.5e}")


def _explore_once(
    papers: int,
    guarantee: Guarantee,
    frozen: float | None,
    look: Callable[[Mapping[int, tuple[float, ...]], bool], dict[int, KnownFrontier]],
) -> list[KnownFrontier]:
    """Every paper's frontier, each explored once: near the frozen price, or near that of the first papers."""
    frontiers: dict[int, KnownFrontier] = {}
    near: tuple[float, ...] = (0.0, frozen or 0.0, inf)
    if frozen is None:
        frontiers = look(dict.fromkeys(_first_papers(papers), PRICES), True)
        price = _allocate(list(frontiers.values()), guarantee, None)[1]
        near = tuple(sorted({0.0, *(price * part for part in _NEAR_PRICE), inf}))
    rest = sorted({*range(papers)} - frontiers.keys())
    frontiers |= look(dict.fromkeys(rest, near), False)
    return [frontiers[index] for index in range(papers)]


def _first_papers(papers: int) -> list[int]:
    """The papers whose frontiers are explored first, evenly spread."""
    indices: list[int] = np.unique(
        np.linspace(0, papers - 1, min(_FIRST_PAPERS, papers)).astype(int)
    ).tolist()
    return indices


def _allocate(
    frontiers: Sequence[KnownFrontier], guarantee: Guarantee, frozen: float | None
) -> tuple[Array, float]:
    """Each paper's success at the frozen price, or at the price that spends the budget; and that price."""
    hulls = [frontier.hull() for frontier in frontiers]
    longest = max(len(errors) for errors, _ in hulls)
    error = np.stack([np.pad(errors, (0, longest - len(errors)), mode="edge") for errors, _ in hulls])
    success = np.stack([np.pad(part, (0, longest - len(part)), mode="edge") for _, part in hulls])
    reviews = np.array([frontier.reviews for frontier in frontiers], dtype=np.float64)
    shares, miss = reviews / reviews.sum(), 1.0 - success
    # The allocation's prices are per mean error and mean success; ours are per paper and review.
    unit = reviews.sum() / len(frontiers)
    if frozen is not None:
        chosen = at_price(error, miss, frozen * unit, adversary_weights=shares)
        return 1.0 - chosen.adversary_error, frozen
    most_missed, least_missed = float(shares @ miss[:, -1]), float(shares @ miss[:, 0])
    chosen = allocate(
        error,
        miss,
        adversary_limit=max(most_missed - guarantee.added_success, least_missed),
        adversary_weights=shares,
    )
    return 1.0 - chosen.adversary_error, chosen.price / unit
