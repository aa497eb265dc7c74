"""One budget spent over many frontiers: a point on each.

Each frontier is a chain of segments (price, length). The best use of one budget over many instances is a
fractional knapsack: buy every segment whose price is below a threshold, and the same fraction of each segment
that ties at it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blindcal.checks import Array, nonnegative, within
from blindcal.errors import InputError
from blindcal.io.cells import number_text
from blindcal.io.tables import data_frame, long_frame
from blindcal.policy.pareto_frontier import Frontier, stacked_chains
from blindcal.policy.policy import Policy

_SLACK = 1e-12  # a limit missed by no more than this is the least or greatest value, rounded
_ROUNDING = 8 * np.finfo(float).eps


@dataclass(frozen=True, eq=False)
class Allocation:
    """A point on each chain, and the price that puts it there."""

    price: float  # no more expensive segment was bought
    fraction: float  # how much was bought of each segment that ties at it
    conference_error: Array  # `[...]`, the point chosen for each instance
    adversary_error: Array  # `[...]`, likewise
    conference_total: float  # the weighted sum of the conference's errors
    adversary_total: float  # the weighted sum of the adversary's errors


@dataclass(frozen=True, eq=False)
class Spending:
    """One budget spent over many frontiers.

    Attributes:
        price: As in `Allocation`.
        fraction: As in `Allocation`.
        policy: One for all instances of a frontier, or a tuple of them for a sequence of frontiers.
        conference_error: The weighted total.
        adversary_error: The weighted total.
    """

    price: float
    fraction: float
    policy: Policy | tuple[Policy, ...]
    conference_error: float
    adversary_error: float

    def to_frame(self) -> Any:
        """One row per frontier, instance and secret, as a pandas data frame; needs pandas."""
        if isinstance(self.policy, Policy):
            return self.policy.to_frame()
        parts = [
            long_frame({"frontier": index, "accept": policy.accept}, "secret")
            for index, policy in enumerate(self.policy)
        ]
        return data_frame({name: [value for part in parts for value in part[name]] for name in parts[0]})


def spend(
    frontiers: Frontier | Sequence[Frontier],
    *,
    conference_error: float | None = None,
    adversary_error: float | None = None,
    weights: ArrayLike | None = None,
) -> Spending:
    """Spend one average budget over many instances: on the conference's error, or on the adversary's success.

    Args:
        frontiers: One frontier with a leading shape, or a sequence of single ones with any numbers of
            secrets.
        conference_error: The most that it may be on average; the adversary's is then as great as possible.
        adversary_error: Instead of it, the least that it may be on average, 1 less the adversary's success;
            the conference's is then as small as possible.
        weights: Of the instances in both averages, summing to 1; equal by default.

    Example:
        >>> from blindcal.posterior.belief import Belief
        >>> from blindcal.policy.pareto_frontier import frontier
        >>> two = frontier(Belief([[0.6, 0.4], [0.6, 0.4]], [[1.0, 0.0], [0.9, 0.2]]))
        >>> spent = spend(two, conference_error=0.13)
        >>> round(spent.price, 12), spent.policy.accept.round(12)
        (0.6, array([[1. , 0. ], [1. , 0.5]]))
    """
    single = isinstance(frontiers, Frontier)
    fronts = (frontiers,) if isinstance(frontiers, Frontier) else tuple(frontiers)
    if not fronts or (not single and any(f.conference_error.ndim != 1 for f in fronts)):
        raise InputError("give one frontier, or a sequence of frontiers of one instance each")
    errors = [(f.conference_error, f.adversary_error) for f in fronts]
    chosen = allocate(
        *(errors[0] if single else map(stacked_chains, zip(*errors, strict=True))),
        conference_limit=conference_error,
        adversary_limit=adversary_error,
        weights=weights,
    )
    points = (chosen.adversary_error,) if single else tuple(chosen.adversary_error)
    policies = tuple(f.policy(adversary_error=a) for f, a in zip(fronts, points, strict=True))
    totals = chosen.conference_total, chosen.adversary_total
    return Spending(chosen.price, chosen.fraction, policies[0] if single else policies, *totals)


def allocate(
    conference_error: ArrayLike,
    adversary_error: ArrayLike,
    *,
    conference_limit: float | None = None,
    adversary_limit: float | None = None,
    weights: ArrayLike | None = None,
) -> Allocation:
    """The best points on many convex chains under one limit on a weighted sum.

    The price of a segment is `d conference_error / d adversary_error`. The conference's total may be
    `conference_limit` at most, or the adversary's `adversary_limit` at least; the other one is then as good
    as possible. `weights` are of the instances in both totals, summing to 1 and equal by default.
    """
    if (conference_limit is None) == (adversary_limit is None):
        raise InputError("give one of conference_limit and adversary_limit")
    chains = _checked_chains(conference_error, adversary_error, weights)
    if conference_limit is not None:
        limit = float(within("conference_limit", conference_limit, 0.0, 1.0, _SLACK))
        least = chains.least(0)
        check_achievable("conference", limit, limit < least - _SLACK, least)
        return chains.spend(0, limit - least)
    limit, least = float(within("adversary_limit", adversary_limit or 0.0, 0.0, 1.0)), chains.least(1)
    greatest = least + float(chains.cost(1).sum())
    check_achievable("adversary", limit, limit > greatest + _SLACK, greatest)
    return chains.spend(1, max(0.0, limit - least))


def check_achievable(whose: str, limit: float, missed: bool, end: float) -> None:
    """Refuse a limit on an error that is `missed` by what can be achieved, which has its `end` there."""
    if missed:
        side = "below the least" if whose == "conference" else "above the greatest"
        raise InputError(f"{whose} error {limit:.6g} is {side} achievable, {number_text(end)}")


def at_price(
    conference_error: ArrayLike, adversary_error: ArrayLike, price: float, fraction: float
) -> Allocation:
    """The point of each chain at a given price: all cheaper segments, `fraction` of the tied ones.

    The price of an `allocate` over the same chains gives the same points again.
    """
    chains = _checked_chains(conference_error, adversary_error, None)
    below, tied = chains.split(float(nonnegative("price", price)))
    return chains.buy(below, tied, float(price), float(within("fraction", fraction, 0.0, 1.0)))


@dataclass(frozen=True, eq=False)
class _Chains:
    """Many chains of segments with their prices, flattened."""

    shape: tuple[int, ...]
    start: tuple[Array, Array]  # both errors at the first vertex, [papers]
    step: tuple[Array, Array]  # both errors' growth along each segment, [papers, segments]
    weights: Array  # [papers]
    price: Array  # [papers, segments], non-decreasing along each chain
    rounding: Array  # how far rounding of the vertices may move that price

    def split(self, price: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Segments surely below `price`, and segments at it to within rounding.

        The price of a short segment is the ratio of two small differences, so equal prices come out unequal.
        Buying them alike loses at most the rounding of the vertices themselves.
        """
        below = self.price < price - self.rounding
        above = self.price > price + self.rounding
        below = np.logical_or.accumulate(below[:, ::-1], axis=1)[:, ::-1]
        above = np.logical_or.accumulate(above, axis=1)
        return below, ~below & ~above

    def cost(self, axis: int) -> Array:
        """What each segment adds to a total: 0 the conference's, 1 the adversary's."""
        return np.asarray(self.weights[:, None] * self.step[axis])

    def least(self, axis: int) -> float:
        """The total of `axis` with nothing bought."""
        return float(np.sum(self.weights * self.start[axis]))

    def buy(
        self, below: NDArray[np.bool_], tied: NDArray[np.bool_], price: float, fraction: float
    ) -> Allocation:
        """The points after buying the segments below the price and a fraction of the tied ones."""
        share = below + fraction * tied
        points = [at + (share * step).sum(axis=1) for at, step in zip(self.start, self.step, strict=True)]
        conference, adversary = (point.reshape(self.shape) for point in points)
        totals = (float(np.sum(self.weights * point)) for point in points)
        return Allocation(price, fraction, conference, adversary, *totals)

    def spend(self, axis: int, amount: float) -> Allocation:
        """Buy the cheapest segments until they add `amount` to the total of `axis`."""
        real = self.step[1] > 0
        price, cost = self.price[real], self.cost(axis)
        if not price.size:
            return self.buy(real, real, 0.0, 0.0)
        order = np.argsort(price)
        spent = np.cumsum(cost[real][order])
        marginal = min(int(np.searchsorted(spent, amount)), price.size - 1)
        threshold = float(price[order[marginal]])
        below, tied = self.split(threshold)
        left, worth = amount - float(cost[below].sum()), float(cost[tied].sum())
        return self.buy(below, tied, threshold, min(1.0, max(0.0, left / worth)) if worth > 0 else 1.0)


def _checked_chains(
    conference_error: ArrayLike, adversary_error: ArrayLike, weights: ArrayLike | None
) -> _Chains:
    conference = within("conference_error", conference_error, 0.0, 1.0)
    adversary = within("adversary_error", adversary_error, 0.0, 1.0)
    if conference.ndim == 0 or conference.shape != adversary.shape or conference.size == 0:
        raise InputError(
            "conference_error and adversary_error must have one non-empty shape [..., vertices], "
            f"found {conference.shape} and {adversary.shape}"
        )
    *shape, vertices = conference.shape
    flat = conference.reshape(-1, vertices), adversary.reshape(-1, vertices)
    rise, run = step = np.diff(flat[0], axis=1), np.diff(flat[1], axis=1)
    for name, along in (("conference_error", rise), ("adversary_error", run)):
        if along.size and along.min() < -_SLACK:
            raise InputError(f"{name} must not decrease along a chain, found a step of {along.min():.6g}")
    length = np.where(run > 0, run, 1.0)
    slope = np.where(run > 0, np.maximum(rise, 0.0) / length, 0.0)
    price = np.maximum.accumulate(slope, axis=1)
    if rise.size and ((price - slope) * run).max() > 1e-9:
        raise InputError("each chain must be convex: price must not decrease along it")
    start, rounding = (flat[0][:, 0], flat[1][:, 0]), _ROUNDING * (1.0 + price) / length
    return _Chains(tuple(shape), start, step, _weights(weights, tuple(shape)), price, rounding)


def _weights(weights: ArrayLike | None, shape: tuple[int, ...]) -> Array:
    """One weight for each instance, summing to 1."""
    papers = int(np.prod(shape))
    if weights is None:
        return np.full(papers, 1.0 / papers)
    array = nonnegative("weights", weights)
    if array.shape != shape:
        raise InputError(f"weights must have one number for each instance {shape}, found {array.shape}")
    if abs(float(array.sum()) - 1.0) > 1e-9:
        raise InputError(f"weights must sum to 1, found {number_text(float(array.sum()))}")
    return array.reshape(-1)
