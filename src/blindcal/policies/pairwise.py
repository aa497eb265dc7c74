"""The best policy for two secrets within any limits, for many instances at once.

With two secrets every limit is a half-plane in the square of (accept[0], accept[1]), so the optimum is a
corner: all crossings of two borders are tried. Limits on single outcomes are compared relative to the chance
of the outcome, for an outcome that almost never happens must keep them too.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from blindcal.checks import Array
from blindcal.policies.guarantees import Guarantee

_ROUNDING = 1e-12
_CHUNK = 20_000


@dataclass(frozen=True, eq=False)
class _Limits:
    """The limits of some instances, each None where there is none: `success[i]`, `cap[i]` on posteriors."""

    success: Array | None
    cap: Array | None
    epsilon: float | None
    multiplier: float | None


def pair_policy(weight: Array, favor: Array, guarantee: Guarantee, success: Array | None = None) -> Array:
    """`accept[..., 2]` of least conference error under a guarantee and within `success[...]`, if given.

    >>> limits = Guarantee("none", epsilon=np.log(4.0))
    >>> pair_policy(np.array([0.6, 0.4]), np.array([0.9, 0.2]), limits, np.array(0.7))
    array([0.9, 0.6])
    """
    flat_weight, flat_favor = weight.reshape(-1, 2), favor.reshape(-1, 2)
    accept = np.empty_like(flat_weight)
    for start in range(0, len(accept), _CHUNK):
        rows = slice(start, start + _CHUNK)
        allowed = None if success is None else success.reshape(-1)[rows]
        limits = _limits(flat_weight[rows], guarantee, allowed)
        accept[rows] = _corner(flat_weight[rows], flat_favor[rows], limits)
    return accept.reshape(weight.shape)


def _limits(weight: Array, guarantee: Guarantee, success: Array | None) -> _Limits:
    """No limit is below what the scores alone give: that no policy could keep."""
    top, cap = weight.max(axis=1), None
    if guarantee.posterior_cap is not None:
        cap = np.maximum(guarantee.posterior_cap, top)
    if guarantee.name == "steady":
        cap = top
    allowed = None if success is None else np.maximum(success, top)
    return _Limits(allowed, cap, guarantee.epsilon, guarantee.multiplier)


def _corner(weight: Array, favor: Array, limits: _Limits) -> Array:
    """The feasible crossing of two borders with the least error; a constant decision keeps all limits."""
    normal, offset = _borders(weight, limits)
    pairs = np.array(list(combinations(range(normal.shape[0]), 2))).T
    (a, b), (c, d) = normal[pairs[0]].transpose(2, 0, 1), normal[pairs[1]].transpose(2, 0, 1)
    e, f = offset[pairs[0]], offset[pairs[1]]
    det = a * d - b * c
    safe = np.where(np.abs(det) > 1e-14, det, np.nan)
    points = np.stack([(e * d - b * f) / safe, (a * f - e * c) / safe], axis=-1)
    constant = np.broadcast_to(np.array([[[1.0, 1.0]], [[0.0, 0.0]]]), (2, *weight.shape))
    points = np.concatenate([constant, np.clip(points, 0.0, 1.0)])
    error = (weight * (points * (1.0 - favor) + (1.0 - points) * favor)).sum(axis=-1)
    error[~_kept(points, weight, limits)] = np.inf
    best = error.min(axis=0)
    # Of equal errors the first, so that a constant decision is preferred to randomness that buys nothing.
    first = np.argmax(error <= best + 1e-15, axis=0)
    return np.asarray(points[first, np.arange(len(weight))])


def _borders(weight: Array, limits: _Limits) -> tuple[Array, Array]:
    """Lines `normal . accept = offset`: [lines, instances, 2] and [lines, instances]."""
    one, none = np.ones(len(weight)), np.zeros(len(weight))
    heavy, light = weight.T
    lines = [(one, none, none), (one, none, one), (none, one, none), (none, one, one)]
    if limits.success is not None:
        # max(x, y) + max(w-x, v-y) with x = w*accept[0], y = v*accept[1] exceeds the limit's lines where both
        # guesses name different secrets: x + v - y, or y + w - x.
        most = limits.success
        lines += [(heavy, -light, most - light), (-heavy, light, most - heavy)]
    if limits.multiplier is not None:
        apart = one * (limits.multiplier - 1.0)
        lines += [(one, -one, apart), (-one, one, apart)]
    if limits.epsilon is not None:
        shrink = one * np.exp(-limits.epsilon)
        lines += [(shrink, -one, none), (-one, shrink, none)]
        lines += [(shrink, -one, shrink - one), (-one, shrink, shrink - one)]
    if (cap := limits.cap) is not None:
        # w x <= cap (w x + v y) for the heavy secret, and for the light one, after either decision.
        first, second = (1.0 - cap) * heavy, cap * light
        third, fourth = cap * heavy, (1.0 - cap) * light
        lines += [(first, -second, none), (-third, fourth, none)]
        lines += [(first, -second, first - second), (-third, fourth, fourth - third)]
    return np.stack([np.stack(line[:2], -1) for line in lines]), np.stack([line[2] for line in lines])


def _kept(points: Array, weight: Array, limits: _Limits) -> NDArray[np.bool_]:
    """Whether each point [candidates, instances, 2] keeps every limit, up to rounding; nan does not."""
    keep = np.asarray(np.isfinite(points).all(axis=-1))
    safe = np.where(keep[..., None], points, 0.0)
    if limits.success is not None:
        mass = (weight * safe).max(axis=-1) + (weight * (1.0 - safe)).max(axis=-1)
        keep &= mass <= limits.success + _ROUNDING
    if limits.multiplier is not None:
        keep &= np.abs(safe[..., 0] - safe[..., 1]) <= limits.multiplier - 1.0 + _ROUNDING
    for chance in (safe, 1.0 - safe):
        if limits.epsilon is not None:
            keep &= chance.max(axis=-1) * np.exp(-limits.epsilon) <= chance.min(axis=-1) * (1.0 + _ROUNDING)
        if (cap := limits.cap) is not None:
            mass = weight * chance
            keep &= mass.max(axis=-1) <= cap * mass.sum(axis=-1) * (1.0 + _ROUNDING)
    return np.asarray(keep)
