"""Gauss-Legendre quadrature on panels, and integrals over a paper's quality.

`gauss_legendre_panels` gives points and weights between the ends of panels. Its callers differ in where the
ends are. `panel_ends` looks for them row by row, for curves of any scale. `posterior.tuple_weights` takes one
set for all tuples of a paper, which meets at the bar. `integrate` halves panels until the rule on one panel
and on its two halves agree; its stated error is the sum of the differences, and the halves, whose value is
used, are far better than that. `posterior.tuple_sums` alone uses another rule, and says why.

Integrals over quality have the form `phi(t) * product of likelihoods`. The panels are evenly spaced in
quality and in score, so both the prior and the noise are resolved, and end at the kinks of the curves.
Everything is kept in logs until the peak has been taken out, so scores 60 standard deviations out do no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

import blindcal
from blindcal.checks import Array
from blindcal.errors import BlindcalError

Rows = slice | NDArray[np.intp]

NODES = 16  # of a panel
LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)
_MAX_DEPTH, _MAX_PANELS = 60, 20_000  # `integrate` halves panels this often, and keeps at most this many
_ROUNDING = 1e-15
_LOG_NEGLIGIBLE = 45.0  # values this far below the peak, in logs, are left out
_MAX_QUALITY = 64.0  # the quality to which a score beyond the end of a curve is assigned
# Panels of unresolved curves are halved this often, or until their sums agree.
_HALVINGS, _AGREEMENT = 12, 1e-13
# Points of a scan for the mass, the number of scans, and the points that become ends of panels.
_SCAN_POINTS, _ZOOMS, _PANELS = 33, 3, 9
_CHUNK_ROWS = 512  # so many rows of panels stay within memory


@cache
def gauss_legendre(count: int) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights on [-1, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return nodes, weights


def gauss_legendre_unit(count: int) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights on [0, 1].

    >>> panel_nodes, weights = gauss_legendre_unit(2)
    >>> round(float(weights @ panel_nodes**3), 15)
    0.25
    """
    nodes, weights = gauss_legendre(count)
    return 0.5 * (nodes + 1.0), 0.5 * weights


def gauss_legendre_panels(ends: Array, count: int = NODES) -> tuple[Array, Array]:
    """Points and weights `[..., panel, node]` between the ends `[..., end]` of panels.

    >>> points, weights = gauss_legendre_panels(np.array([0.0, 1.0, 3.0]))
    >>> points.shape, round(float((weights * points**2).sum()), 12)
    ((2, 16), 9.0)
    """
    nodes, weights = gauss_legendre(count)
    half = 0.5 * np.diff(ends, axis=-1)[..., None]
    return 0.5 * (ends[..., 1:] + ends[..., :-1])[..., None] + half * nodes, half * weights


@cache
def integration_matrix(count: int) -> Array:
    """`[i, j]`: the integral of the j-th Lagrange polynomial from -1 to node i.

    w_i partial_ij + w_j partial_ji = w_i w_j exactly, so P(T > U) + P(U > T) = 1 to rounding.
    """
    x, w = gauss_legendre(count)
    degree = np.arange(count)
    values = np.polynomial.legendre.legvander(x, count)
    rising = np.empty((count, count))
    rising[:, 0] = x + 1.0
    rising[:, 1:] = (values[:, 2:] - values[:, :-2]) / (2.0 * degree[1:] + 1.0)
    to_coefficients = (degree + 0.5)[:, None] * values[:, :count].T * w
    return np.asarray(rising @ to_coefficients)


@cache
def _legendre_antiderivative(count: int) -> Array:
    """`values @ matrix`: Legendre coefficients of the integral from the left end of [0, 1]."""
    nodes, weights = gauss_legendre_unit(count)
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
    """The integral of a function from the first edge to any point: `cumulative(x)[components]`."""

    edges: Array  # `[panels + 1]`, the ends of the panels
    before: Array  # `[panels + 1, components]`, the integral up to each edge
    series: Array  # `[panels, components, degree]`, the integral within each panel, in Legendre coefficients
    error: float  # the stated bound on the error of the whole integral

    @property
    def total(self) -> Array:
        """`[components]`, the whole integral."""
        return np.asarray(self.before[-1])

    def __call__(self, point: float) -> Array:
        """The integral up to `point`, clipped to the edges."""
        at = min(max(float(point), float(self.edges[0])), float(self.edges[-1]))
        panel = min(int(np.searchsorted(self.edges, at, side="right")) - 1, len(self.series) - 1)
        low, high = self.edges[panel], self.edges[panel + 1]
        where = 2.0 * (at - low) / (high - low) - 1.0
        inside = np.polynomial.legendre.legval(where, self.series[panel].T)
        return np.asarray(self.before[panel] + (high - low) * inside)


def integrate(function: Callable[[Array], Array], edges: Array, tolerance: float = 1e-13) -> Cumulative:
    """The integral of `function(points[k]) -> values[components, k]` between the first and last edge.

    Put an edge at each known kink. Panels are halved until the rule on a panel and on its halves agree to
    `tolerance` (or the panel is a rounding of the whole), all panels of a generation in one call.
    """
    edges = np.unique(edges)
    low, high = edges[:-1], edges[1:]
    values, done, error = _values_on_panels(function, low, high), list[tuple[Array, ...]](), 0.0
    for _ in range(_MAX_DEPTH):
        middle = 0.5 * (low + high)
        left, right = _values_on_panels(function, low, middle), _values_on_panels(function, middle, high)
        weights, half = gauss_legendre_unit(NODES)[1], 0.5 * (high - low)[:, None]
        gap = np.abs(2.0 * half * (values @ weights) - half * ((left + right) @ weights)).max(axis=1)
        keep = (gap > tolerance) & (high - low > _ROUNDING * max(1.0, float(np.ptp(edges))))
        error += float(gap[~keep].sum())
        halves = (low, middle, left), (middle, high, right)
        done += [tuple(part[~keep] for part in half) for half in halves]
        if keep.sum() > _MAX_PANELS:
            break
        if not keep.any():
            low, high, values = map(np.concatenate, zip(*done, strict=True))
            return _cumulative_of(low, high, values, error)
        low, high, values = (
            np.concatenate([one[keep], other[keep]]) for one, other in zip(*halves, strict=True)
        )
    raise BlindcalError(f"an integral did not settle: {len(low)} panels are still too wide")


def _values_on_panels(function: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Values at each panel's nodes: `[panels, components, nodes]`."""
    points = low[:, None] + (high - low)[:, None] * gauss_legendre_unit(NODES)[0]
    values = function(points.reshape(-1))
    return np.moveaxis(values.reshape(values.shape[0], *points.shape), 0, 1)


def _cumulative_of(low: Array, high: Array, values: Array, error: float) -> Cumulative:
    """The panels in order, with the integral up to each."""
    order = np.argsort(low)
    low, high, values = low[order], high[order], values[order]
    parts = (high - low)[:, None] * (values @ gauss_legendre_unit(NODES)[1])
    before = np.concatenate([np.zeros((1, parts.shape[1])), np.cumsum(parts, axis=0)])
    return Cumulative(np.append(low, high[-1]), before, values @ _legendre_antiderivative(NODES), error)


def log_joint(reviews: Sequence[blindcal.Reviewer], score: Array, t: Array) -> Array:
    """log(phi(t) * product over reviews of the likelihood of score[n, review]) at t[n, nodes]."""
    total = -0.5 * np.square(t) - LOG_SQRT_2PI
    for k, review in enumerate(reviews):
        total = total + review.log_likelihood(score[:, k, None], t)
    return np.asarray(total)


def panel_ends(reviews: Sequence[blindcal.Reviewer], score: Array) -> Array:
    """Ends of panels [n, ends], non-decreasing, that hold and resolve `log_joint` for each row of score."""
    low, high = _initial_range(reviews, score)
    for _ in range(_ZOOMS):
        t = _scan_points(reviews, score, low, high, _SCAN_POINTS)
        # From one point before the first value worth keeping to one point after the last
        log_value, rows = log_joint(reviews, score, t), np.arange(len(t))
        keep = log_value > log_value.max(axis=-1, keepdims=True) - _LOG_NEGLIGIBLE
        keep |= ~keep.any(axis=-1, keepdims=True)
        last = t.shape[-1] - 1
        low = t[rows, np.maximum(keep.argmax(axis=-1) - 1, 0)]
        high = t[rows, np.minimum(last - keep[:, ::-1].argmax(axis=-1) + 1, last)]
    ends = drop_repeated_ends(_scan_points(reviews, score, low, high, _PANELS))
    halvings = 0 if all(review.resolved for review in reviews) else _HALVINGS
    for _ in range(halvings):
        added = _halve_where_needed(reviews, score, ends)
        if added is None:
            break
        ends = added
    return ends


def _halve_where_needed(reviews: Sequence[blindcal.Reviewer], score: Array, ends: Array) -> Array | None:
    """The panels that two halves integrate differently, halved; None if all agree."""
    middle = 0.5 * (ends[:, 1:] + ends[:, :-1])
    finer = np.sort(np.concatenate([ends, middle], axis=-1), axis=-1)
    whole, halves = _panel_masses(reviews, score, ends), _panel_masses(reviews, score, finer)
    peak = np.maximum(whole[1], halves[1])
    coarse = whole[0] * np.exp(whole[1] - peak)
    fine = (halves[0] * np.exp(halves[1] - peak)).reshape(*coarse.shape, 2).sum(axis=-1)
    differ = np.abs(coarse - fine) > _AGREEMENT * fine.sum(axis=-1, keepdims=True)
    if not differ.any():
        return None
    added = np.where(differ, middle, ends[:, -1:])
    return drop_repeated_ends(np.sort(np.concatenate([ends, added], axis=-1), axis=-1))


def _panel_masses(reviews: Sequence[blindcal.Reviewer], score: Array, ends: Array) -> tuple[Array, Array]:
    """The integral over each panel [n, panels] divided by exp(peak), and the peak [n, 1]."""
    t, weight = panel_nodes(ends)
    log_value = log_joint(reviews, score, t)
    peak = _finite_peak(log_value)
    return (weight * np.exp(log_value - peak)).reshape(len(ends), -1, NODES).sum(axis=-1), peak


def drop_repeated_ends(ends: Array) -> Array:
    """Sorted ends with repeats moved to the last and cut off as far as every row allows: no empty panels."""
    repeated = np.zeros(ends.shape, dtype=np.bool_)
    repeated[:, 1:] = ends[:, 1:] == ends[:, :-1]
    most = int(ends.shape[-1] - repeated.sum(axis=-1).min(initial=ends.shape[-1]))
    return np.sort(np.where(repeated, ends[:, -1:], ends), axis=-1)[:, : max(most, 2)]


def _initial_range(reviews: Sequence[blindcal.Reviewer], score: Array) -> tuple[Array, Array]:
    """Qualities outside which prior and likelihoods prove the integrand negligible."""
    best = np.concatenate([r.quality(score[:, k, None]) for k, r in enumerate(reviews)], axis=-1)
    best = np.where(np.isfinite(best), best, np.copysign(_MAX_QUALITY, best))
    trial = (best[:, :, None] * np.linspace(0.0, 1.0, 17)).reshape(len(score), -1)
    trial = np.concatenate([trial, best.mean(axis=-1, keepdims=True)], axis=-1)
    peak = log_joint(reviews, score, trial).max(axis=-1)
    ceiling = sum((r.log_ceiling().reshape(-1) for r in reviews), start=np.zeros(1))
    peak = np.where(np.isfinite(peak), peak, ceiling)
    reach = np.sqrt(2.0 * (_LOG_NEGLIGIBLE + np.maximum(ceiling - peak, 0.0)))[:, None]
    low, high = -reach[:, 0], reach[:, 0]
    for k, review in enumerate(reviews):
        below, above = review.reach(score[:, k, None], reach)
        low = np.maximum(low, np.minimum(below[:, 0], high))
        high = np.minimum(high, np.maximum(above[:, 0], low))
    return low, high


def _scan_points(
    reviews: Sequence[blindcal.Reviewer], score: Array, low: Array, high: Array, count: int
) -> Array:
    """Points in [low, high]: evenly spaced in quality and in score, close around edges, and at knots."""
    step = np.linspace(0.0, 1.0, count)
    lo, hi = low[:, None], high[:, None]
    parts = [lo + (hi - lo) * step]
    deviations = np.linspace(-8.0, 8.0, count)
    for k, review in enumerate(reviews):
        if review.curved:
            s_lo, s_hi = review.center(lo), review.center(hi)
            parts.append(review.quality(s_lo + (s_hi - s_lo) * step))
        edge = review.edges(score[:, k, None])
        edge = np.where(np.isfinite(edge), edge, score[:, k, None, None])
        if count == _SCAN_POINTS or edge.shape[-1] > 1:
            spread = review.spread(np.clip(review.quality(score[:, k, None]), lo, hi))
            parts += [review.quality(edge[..., e] + spread * deviations) for e in range(edge.shape[-1])]
        if review.knots.size:
            knots = review.knots.reshape(-1, review.knots.shape[-1])
            parts.append(np.broadcast_to(knots, (len(score), knots.shape[-1])))
    return np.sort(np.clip(np.concatenate(parts, axis=-1), lo, hi), axis=-1)


def panel_nodes(ends: Array) -> tuple[Array, Array]:
    """Quadrature nodes [n, panels * order] and weights of the same shape."""
    t, weight = gauss_legendre_panels(ends)
    return t.reshape(len(ends), -1), weight.reshape(len(ends), -1)


def log_integral(log_value: Array, weight: Array) -> Array:
    """Log of the sum of weight * exp(log_value), with the peak taken out first."""
    peak = _finite_peak(log_value)
    with np.errstate(divide="ignore"):
        return np.asarray(peak[:, 0] + np.log((weight * np.exp(log_value - peak)).sum(axis=-1)))


def _finite_peak(log_value: Array) -> Array:
    """The largest value of each row [n, 1]; 0 if it is not finite."""
    peak = log_value.max(axis=-1, keepdims=True)
    return np.where(np.isfinite(peak), peak, 0.0)


def mean_of(t: Array, log_value: Array, weight: Array) -> Array:
    """The mean of t under weight * exp(log_value), normalized."""
    mass = weight * np.exp(log_value - log_integral(log_value, weight)[:, None])
    return np.asarray((mass * t).sum(axis=-1))


_WEIGHTS, _INTEGRATION_MATRIX = gauss_legendre(NODES)[1], integration_matrix(NODES)


def probability_greater(log_p: Array, log_q: Array, ends: Array) -> Array:
    """P(T > U) for independent T, U with densities proportional to p and q, given at the nodes of `ends`."""
    half = 0.5 * np.diff(ends, axis=-1)[..., None]
    p, q = (_normalized_density(log, half) for log in (log_p, log_q))
    mass = (q * _WEIGHTS).sum(axis=-1)
    before = np.cumsum(mass, axis=-1) - mass
    up_to_node = before[..., None] + q @ _INTEGRATION_MATRIX.T
    return np.asarray(np.clip((p * _WEIGHTS * up_to_node).sum(axis=(-2, -1)), 0.0, 1.0))


def tail_probability(log_p: Array, ends: Array, threshold: Array) -> Array:
    """P(T > threshold) for a density proportional to p; `threshold` must be one of the ends."""
    half = 0.5 * np.diff(ends, axis=-1)[..., None]
    mass = (_normalized_density(log_p, half) * _WEIGHTS).sum(axis=-1)
    beyond = np.where(ends[:, :-1] >= threshold[:, None], mass, 0.0)
    return np.asarray(np.clip(beyond.sum(axis=-1), 0.0, 1.0))


def _normalized_density(log_value: Array, half: Array) -> Array:
    """Values times half-widths [n, panels, order], scaled so that the whole integral is 1."""
    value = np.exp(log_value - _finite_peak(log_value)).reshape(*half.shape[:2], NODES) * half
    total = (value * _WEIGHTS).sum(axis=(-2, -1), keepdims=True)
    return np.asarray(value / np.where(total > 0.0, total, 1.0))


def row_chunks(count: int) -> Iterator[slice]:
    """All rows, a few at a time."""
    return (slice(start, start + _CHUNK_ROWS) for start in range(0, count, _CHUNK_ROWS))


def evaluate_by_rows(
    reviews: Sequence[blindcal.Reviewer],
    score: Array,
    evaluate: Callable[[Sequence[blindcal.Reviewer], Array], Array],
) -> Array:
    """`evaluate` on flat chunks of score[..., reviews], parameters broadcast along; any leading shape."""
    shape = np.broadcast_shapes(score.shape[:-1], *(review.shape for review in reviews))
    flat = np.broadcast_to(score, (*shape, score.shape[-1])).reshape(-1, score.shape[-1])
    out: NDArray[np.float64] = np.empty(len(flat))
    for rows in row_chunks(len(flat)):
        out[rows] = evaluate([review.column(shape, rows) for review in reviews], flat[rows])
    return out.reshape(shape)


def log_evidence(reviews: Sequence[blindcal.Reviewer], score: Array) -> Array:
    """Log of the integral of `log_joint` over quality, for score[..., reviews]."""
    return evaluate_by_rows(reviews, score, _log_mass)


def _log_mass(reviews: Sequence[blindcal.Reviewer], score: Array) -> Array:
    t, weight = panel_nodes(panel_ends(reviews, score))
    return log_integral(log_joint(reviews, score, t), weight)
