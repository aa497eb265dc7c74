"""Conference + Guarantee -> how papers share one budget of added success: at one price for all.

`policies.budgets` does the spending; here each paper's frontier is explored where the price falls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from math import inf, isinf

import numpy as np

from blindcal.checks import Array
from blindcal.compute.parallel import Workers, each
from blindcal.policy.budget import allocate, at_price
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.solver import program
from blindcal.posterior.conference import Conference
from blindcal.posterior.paper import PaperCase

_SAME_VERTEX = 1e-9
# Prices at which some papers' frontiers are looked at first, that many of them: wrong decisions per correct
# guess about a review. The others are looked at around the price that those would have.
_PRICES, _SOME = (0.0, *(float(price) for price in np.geomspace(0.002, 1.0, 9)), inf), 64
_AROUND = (0.8, 1.0, 1.25)
# How much work it is to explore a paper's frontier at all these prices, or around one, and where tuples are
# too many to be listed; solving the paper for a guarantee counts 2.
_WIDELY, _NEARBY, _UNLISTED = 6, 4, 3

# Price, error, success.
_Point = tuple[float, float, float]


@dataclass(frozen=True, eq=False)
class Chain:
    """What is known of one paper's frontier: `(price, error, success)` of every program solved so far.

    Price 0 is the decision by the evidence, an infinite price the one that adds no success.
    """

    points: tuple[_Point, ...]
    reviews: int

    def explored(self, points: Sequence[_Point]) -> Chain:
        return Chain(tuple(sorted({*self.points, *points})), self.reviews)

    def settled(self, price: float) -> bool:
        """Whether one policy is known to be the best at this price: it was, at a lower and a higher one."""
        below, above = (p for p in self.points if p[0] <= price), (p for p in self.points if p[0] >= price)
        left, right = max(below), min(above)
        return left[2] - right[2] <= _SAME_VERTEX or left[0] == price or right[0] == price

    def hull(self) -> tuple[list[float], list[float]]:
        """Errors and successes of the vertices known so far, convex."""
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


def shares_of(
    conference: Conference,
    guarantee: Guarantee,
    *,
    price: float | None = None,
    workers: Workers = 1,
    advance: Callable[[int], None] | None = None,
) -> tuple[Sequence[float | None], float | None]:
    """What each paper's success may add up to where a budget is shared, and its price; else no limits.

    The price is wrong decisions per added correct guess about a review. One that is given is kept: that of
    an earlier release. `advance(n)` as papers are explored, `exploring_steps` in all.
    """
    if not guarantee.spends:
        return [None] * len(conference.cases), None
    shares, spent = _spend(conference.cases, guarantee, price, workers, advance)
    return shares.tolist(), spent


def exploring_steps(cases: Sequence[PaperCase], guarantee: Guarantee, price: float | None = None) -> int:
    """How many steps `shares_of` takes, if solving a paper takes two. Its papers differ, but not by much."""
    widely = {*_few(len(cases))} if price is None else set[int]()
    return sum(_steps(one, place in widely) for place, one in enumerate(cases)) if guarantee.spends else 0


def _steps(case: PaperCase, widely: bool) -> int:
    return _UNLISTED if not case.listed else _WIDELY if widely else _NEARBY


def explore(job: tuple[PaperCase, tuple[float, ...]], guarantee: Guarantee) -> list[_Point]:
    """`(price, error, success)` of a paper's best policies at some prices, lowest first, per review.

    Where one policy is the best at two prices, and so at all between them, these are left out.
    """
    case, prices = job
    paper = program(case.promised(guarantee.promise), guarantee)

    def at(price: float) -> _Point:
        limit = paper.scores_only if isinf(price) else None
        solved = paper.solve(price=0.0 if isinf(price) else price * len(case.scores), success=limit)
        return price, solved.error, solved.success

    ends = [at(price) for price in sorted({prices[0], prices[-1]})]
    return [ends[0], *_between(at, prices[1:-1], ends[0], ends[-1]), *ends[1:]]


def _between(
    at: Callable[[float], _Point], prices: Sequence[float], low: _Point, high: _Point
) -> list[_Point]:
    """Points at prices between two known ones, as far as their policies may differ."""
    if not prices or low[2] - high[2] <= _SAME_VERTEX:
        return []
    middle = len(prices) // 2
    here = at(prices[middle])
    lower, higher = _between(at, prices[:middle], low, here), _between(at, prices[middle + 1 :], here, high)
    return [*lower, here, *higher]


def _spend(
    cases: Sequence[PaperCase],
    guarantee: Guarantee,
    frozen: float | None,
    workers: Workers,
    advance: Callable[[int], None] | None,
) -> tuple[Array, float]:
    """Each paper's success at the price that spends the budget, and that price.

    The frontiers are explored only where the price falls: solve at the price that the known vertices give,
    add what is found, until every paper's best policy at the price is known.
    """
    run = partial(explore, guarantee=guarantee)

    def look(prices: Mapping[int, tuple[float, ...]], widely: bool) -> dict[int, Chain]:
        jobs = [(cases[index], some) for index, some in prices.items()]
        steps = iter([_steps(case, widely) for case, _ in jobs])

        def explored(papers: int) -> None:
            if advance is not None:
                advance(sum(islice(steps, papers)))

        found = each(run, jobs, workers=workers, advance=explored)
        return {
            index: Chain(tuple(points), len(cases[index].scores))
            for index, points in zip(prices, found, strict=True)
        }

    chains = _first_look(len(cases), guarantee, frozen, look)
    while True:
        success, price = _allocate(chains, guarantee, frozen)
        open_ = [index for index, one in enumerate(chains) if not one.settled(price)]
        if not open_:
            return success, price
        found = each(run, [(cases[index], (price,)) for index in open_], workers=workers)
        for index, points in zip(open_, found, strict=True):
            chains[index] = chains[index].explored(points)


def frozen_price(price: float) -> float:
    """A price as it is frozen: to six digits, so that every kind of machine finds the same one.

    >>> frozen_price(0.040766087844937696)
    0.0407661
    """
    return float(f"{price:.5e}")


def _first_look(
    papers: int,
    guarantee: Guarantee,
    frozen: float | None,
    look: Callable[[Mapping[int, tuple[float, ...]], bool], dict[int, Chain]],
) -> list[Chain]:
    """Every paper's frontier, each explored once, near the price if that can be known before."""
    found: dict[int, Chain] = {}
    near: tuple[float, ...] = (0.0, frozen or 0.0, inf)
    if frozen is None:
        found = look(dict.fromkeys(_few(papers), _PRICES), True)
        price = _allocate(list(found.values()), guarantee, None)[1]
        near = tuple(sorted({0.0, *(price * part for part in _AROUND), inf}))
    rest = sorted({*range(papers)} - found.keys())
    found |= look(dict.fromkeys(rest, near), False)
    return [found[index] for index in range(papers)]


def _few(papers: int) -> list[int]:
    """The papers that are looked at first."""
    found: list[int] = np.unique(np.linspace(0, papers - 1, min(_SOME, papers)).astype(int)).tolist()
    return found


def _allocate(chains: Sequence[Chain], guarantee: Guarantee, frozen: float | None) -> tuple[Array, float]:
    hulls = [one.hull() for one in chains]
    longest = max(len(errors) for errors, _ in hulls)
    error = np.stack([np.pad(errors, (0, longest - len(errors)), mode="edge") for errors, _ in hulls])
    success = np.stack([np.pad(part, (0, longest - len(part)), mode="edge") for _, part in hulls])
    reviews = np.array([one.reviews for one in chains], dtype=np.float64)
    shares, miss = reviews / reviews.sum(), 1.0 - success
    # The allocation's prices are per mean error and mean success; ours are per paper and review.
    unit = reviews.sum() / len(chains)
    if frozen is not None:
        chosen = at_price(error, miss, frozen * unit, adversary_weights=shares)
        return 1.0 - chosen.adversary_error, frozen
    most, least = float(shares @ miss[:, -1]), float(shares @ miss[:, 0])
    chosen = allocate(
        error, miss, adversary_limit=max(most - guarantee.added_success, least), adversary_weights=shares
    )
    return 1.0 - chosen.adversary_error, chosen.price / unit
