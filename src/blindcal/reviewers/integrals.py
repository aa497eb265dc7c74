"""Integrals of functions that are smooth between a few kinks: adaptive Gauss-Legendre panels.

A panel is accepted when the rule on it and the rule on its two halves agree; the sum of what they
differ by is the stated error (the halves, whose value is used, are far better than it).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from blindcal.checks import Array
from blindcal.errors import BlindcalError

_NODES = 16
_DEPTH = 60
_MOST_PANELS = 20_000


@cache
def rule(count: int) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights on [0, 1].

    >>> nodes, weights = rule(2)
    >>> round(float(weights @ nodes**3), 15)
    0.25
    """
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return 0.5 * (nodes + 1.0), 0.5 * weights


@cache
def _antiderivative(count: int) -> Array:
    """`values @ matrix`: Legendre coefficients of the integral from the left end of [0, 1]."""
    nodes, weights = rule(count)
    degrees = np.arange(count)
    legendre = np.polynomial.legendre.legvander(2.0 * nodes - 1.0, count - 1)
    coefficients = (2 * degrees + 1) * weights[:, None] * legendre
    integral = np.zeros((count, count + 1))
    integral[0, :2] = 0.5
    for k in range(1, count):
        integral[k, k + 1], integral[k, k - 1] = 0.5 / (2 * k + 1), -0.5 / (2 * k + 1)
    return np.asarray(coefficients @ integral)


@dataclass(frozen=True, eq=False)
class Cumulative:
    """The integral of a function from the first edge to any point: `cumulative(x)[components]`.

    `total[components]` is the whole integral, `error` the stated bound on it.
    """

    edges: Array  # [panels + 1]
    before: Array  # [panels + 1, components]: the integral up to each edge
    series: Array  # [panels, components, degree]: the integral within each panel, Legendre coefficients
    error: float

    @property
    def total(self) -> Array:
        return np.asarray(self.before[-1])

    def __call__(self, point: float) -> Array:
        """The integral up to `point`, clipped to the edges."""
        at = min(max(float(point), float(self.edges[0])), float(self.edges[-1]))
        panel = min(int(np.searchsorted(self.edges, at, side="right")) - 1, len(self.series) - 1)
        low, high = self.edges[panel], self.edges[panel + 1]
        where = 2.0 * (at - low) / (high - low) - 1.0
        inside = np.polynomial.legendre.legval(where, self.series[panel].T)
        return np.asarray(self.before[panel] + (high - low) * inside)


def integrate(
    function: Callable[[Array], Array], edges: Array, tolerance: float = 1e-13, floor: float = 1e-15
) -> Cumulative:
    """Integrate `function(points[k]) -> values[components, k]` between the first and last edge.

    Put an edge at each known kink. Panels are halved until the rule on a panel and on its halves agree
    to `tolerance` (or the panel is a rounding of the whole), all panels of a generation in one call.

    >>> cumulative = integrate(lambda x: np.stack([np.abs(x), x * x]), np.array([-1.0, 2.0]))
    >>> cumulative.total.round(12), float(cumulative(1.0)[0].round(12))
    (array([2.5, 3. ]), 1.0)
    """
    edges = np.unique(edges)
    low, high = edges[:-1], edges[1:]
    values = _on_panels(function, low, high)
    done_low, done_high, done_values, error = [], [], [], 0.0
    for _ in range(_DEPTH):
        middle = 0.5 * (low + high)
        left, right = _on_panels(function, low, middle), _on_panels(function, middle, high)
        weights, half = rule(_NODES)[1], 0.5 * (high - low)[:, None]
        gap = np.abs(2.0 * half * (values @ weights) - half * ((left + right) @ weights)).max(axis=1)
        accept = (gap <= tolerance) | (high - low <= floor * max(1.0, float(np.ptp(edges))))
        error += float(gap[accept].sum())
        done_low += [low[accept], middle[accept]]
        done_high += [middle[accept], high[accept]]
        done_values += [left[accept], right[accept]]
        keep = ~accept
        if keep.sum() > _MOST_PANELS:
            break
        if not keep.any():
            low, high, values = (np.concatenate(part) for part in (done_low, done_high, done_values))
            return _assemble(low, high, values, error)
        low, high, values = (
            np.concatenate([low[keep], middle[keep]]),
            np.concatenate([middle[keep], high[keep]]),
            np.concatenate([left[keep], right[keep]]),
        )
    raise BlindcalError(f"an integral did not settle: {len(low)} panels are still too wide")


def _on_panels(function: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Values at each panel's nodes: `[panels, components, nodes]`."""
    points = low[:, None] + (high - low)[:, None] * rule(_NODES)[0]
    values = function(points.reshape(-1))
    return np.moveaxis(values.reshape(values.shape[0], *points.shape), 0, 1)


def _assemble(low: Array, high: Array, values: Array, error: float) -> Cumulative:
    order = np.argsort(low)
    low, high, values = low[order], high[order], values[order]
    parts = (high - low)[:, None] * (values @ rule(_NODES)[1])
    before = np.concatenate([np.zeros((1, parts.shape[1])), np.cumsum(parts, axis=0)])
    return Cumulative(np.append(low, high[-1]), before, values @ _antiderivative(_NODES), error)
