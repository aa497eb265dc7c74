"""Gauss-Legendre panels, the one rule of every integral that is not in closed form; and integrals of
functions that are smooth between a few kinks.

`panels` gives points and weights between given ends. Who needs them differs in where the ends are:
`reviewers.quadrature` looks for them row by row, for curves of any scale; `beliefs.weighing` takes one set
for all tuples of a paper, which meet at the bar; `integrate` halves panels here until the rule on one and on
its two halves agree, and states the sum of what they differ by as its error (the halves, whose value is used,
are far better than it). `beliefs.nodes` alone has another rule, and says why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from blindcal.checks import Array
from blindcal.errors import BlindcalError

NODES = 16
_DEPTH = 60
_MOST_PANELS = 20_000


@cache
def centered(count: int) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights on [-1, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return nodes, weights


def rule(count: int) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights on [0, 1].

    >>> nodes, weights = rule(2)
    >>> round(float(weights @ nodes**3), 15)
    0.25
    """
    nodes, weights = centered(count)
    return 0.5 * (nodes + 1.0), 0.5 * weights


def panels(ends: Array, count: int = NODES) -> tuple[Array, Array]:
    """Points and weights `[..., panel, node]` between the ends `[..., end]` of panels.

    >>> points, weights = panels(np.array([0.0, 1.0, 3.0]))
    >>> points.shape, round(float((weights * points**2).sum()), 12)
    ((2, 16), 9.0)
    """
    nodes, weights = centered(count)
    half = 0.5 * np.diff(ends, axis=-1)[..., None]
    return 0.5 * (ends[..., 1:] + ends[..., :-1])[..., None] + half * nodes, half * weights


@cache
def up_to_nodes(count: int) -> Array:
    """`[i, j]`: the integral of the j-th Lagrange polynomial from -1 to node i.

    w_i partial_ij + w_j partial_ji = w_i w_j exactly, so P(T > U) + P(U > T) = 1 to rounding.
    """
    x, w = centered(count)
    degree = np.arange(count)
    values = np.polynomial.legendre.legvander(x, count)
    rising = np.empty((count, count))
    rising[:, 0] = x + 1.0
    rising[:, 1:] = (values[:, 2:] - values[:, :-2]) / (2.0 * degree[1:] + 1.0)
    to_coefficients = (degree + 0.5)[:, None] * values[:, :count].T * w
    return np.asarray(rising @ to_coefficients)


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
        weights, half = rule(NODES)[1], 0.5 * (high - low)[:, None]
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
    points = low[:, None] + (high - low)[:, None] * rule(NODES)[0]
    values = function(points.reshape(-1))
    return np.moveaxis(values.reshape(values.shape[0], *points.shape), 0, 1)


def _assemble(low: Array, high: Array, values: Array, error: float) -> Cumulative:
    order = np.argsort(low)
    low, high, values = low[order], high[order], values[order]
    parts = (high - low)[:, None] * (values @ rule(NODES)[1])
    before = np.concatenate([np.zeros((1, parts.shape[1])), np.cumsum(parts, axis=0)])
    return Cumulative(np.append(low, high[-1]), before, values @ _antiderivative(NODES), error)
