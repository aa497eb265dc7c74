"""The closed form for any number of secrets: lowering two caps, always the one that is cheaper by the unit.

    accept[r] = min(1, t_acc/weight[r])      for secrets that favor accepting
    1-accept[r] = min(1, t_rej/weight[r])    for secrets that favor rejecting

with `adversary_error = 1 - t_acc - t_rej`. Lowering a cap costs, per unit, the sum of `price = |2*favor-1|`
over the secrets it binds; the descent ends where `t_acc + t_rej = max weight`. Each secret is one *segment*
of it: between its weight and the next lighter one on its side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from blindcal.checks import Array
from blindcal.policies.policy import missed

# Prices and caps this close are taken as equal, so that rounding never decides which secret is randomized and
# swapping the papers mirrors the answer. What that can cost is of the same size.
TIE = 1e-12
_BLOCK = 1 << 16

Flags = NDArray[np.bool_]


def vertices(weight: Array, favor: Array) -> tuple[Array, Array, Array]:
    """Conference error, adversary error and adversary error bought, each [..., n+1], at every vertex.

    >>> conference, adversary, bought = vertices(np.array([0.5, 0.3, 0.2]), np.array([0.9, 0.2, 0.1]))
    >>> conference.round(12), adversary.round(12)
    (array([0.13, 0.19, 0.35, 0.35]), array([0.2, 0.3, 0.5, 0.5]))
    """
    shape = (*weight.shape[:-1], weight.shape[-1] + 1)
    conference, adversary, bought = np.empty(shape), np.empty(shape), np.zeros(shape)
    outputs = [a.reshape(-1, shape[-1]) for a in (conference, adversary, bought)]
    for block, w, f in _blocks(weight, favor):
        descent = _descent(w, f)
        e, a, x = (output[block] for output in outputs)
        np.cumsum(descent.top - descent.bottom, axis=-1, out=x[:, 1:])
        np.minimum(x, descent.total[:, None], out=x)
        e[:, 0] = (w * np.minimum(f, 1.0 - f)).sum(axis=-1)
        e[:, 1:] = e[:, :1] + np.cumsum(descent.price * np.diff(x, axis=-1), axis=-1)
        a[:] = np.maximum(missed(w, None)[:, None] - (descent.total[:, None] - x), 0.0)
    return conference, adversary, bought


def accept_after(weight: Array, favor: Array, bought: Array) -> Array:
    """The accept probabilities [..., n] once the caps have been lowered by `bought` in all.

    >>> accept_after(np.array([0.5, 0.3, 0.2]), np.array([0.9, 0.2, 0.1]), np.asarray(0.1)).round(3)
    array([1.   , 0.333, 0.   ])
    """
    n = weight.shape[-1]
    weight, favor = (np.broadcast_to(a, (*bought.shape, n)) for a in (weight, favor))
    accept = np.empty(weight.shape)
    flat, points = accept.reshape(-1, n), bought.reshape(-1)
    for block, w, f in _blocks(weight, favor):
        acc, rej = _caps(_descent(w, f), points[block], w.max(axis=-1))
        to_accept, to_reject = _share(acc, w), _share(rej, w)
        # A favor of exactly 1/2 sits wherever the caps allow, as near to a fair coin as they do.
        free = np.clip(0.5, 1.0 - to_reject, to_accept)
        flat[block] = np.where(f > 0.5, to_accept, np.where(f < 0.5, 1.0 - to_reject, free))
    return accept


@dataclass(frozen=True, eq=False)
class _Descent:
    """Segments by ascending price: from cap `top` to cap `bottom` of the accepting or the rejecting side."""

    price: Array
    top: Array
    bottom: Array
    accepting: Flags
    rejecting: Flags
    heaviest: tuple[Array, Array]
    total: Array


def _descent(weight: Array, favor: Array) -> _Descent:
    order = np.argsort(-weight, axis=-1)
    top, lean = np.take_along_axis(weight, order, -1), np.take_along_axis(favor, order, -1) - 0.5
    cost = 2.0 * np.abs(lean)
    price, bottom = np.full_like(top, top.shape[-1] + 1.0), top.copy()
    sides = (lean > 0.0, lean < 0.0)
    heaviest = []
    for side in sides:
        mine = np.where(side, top, 0.0)
        below = np.zeros_like(top)
        below[..., :-1] = np.maximum.accumulate(mine[..., :0:-1], axis=-1)[..., ::-1]
        bound = side & (below < top)
        np.copyto(price, np.cumsum(np.where(side, cost, 0.0), axis=-1), where=bound)
        np.copyto(bottom, below, where=bound)
        heaviest.append(mine.max(axis=-1))
    chain = np.argsort(price, axis=-1)
    price, top, bottom = (np.take_along_axis(a, chain, -1) for a in (price, top, bottom))
    accepting, rejecting = (np.take_along_axis(side, chain, -1) & (bottom < top) for side in sides)
    total = _worth(heaviest[0], heaviest[1], weight.max(axis=-1))
    return _Descent(price, top, bottom, accepting, rejecting, (heaviest[0], heaviest[1]), total)


def _worth(acc: Array, rej: Array, most: Array) -> Array:
    """How far the caps can be lowered in all: `acc + rej - most`, exact where a cap itself is the most."""
    return np.where(np.maximum(acc, rej) >= most, np.minimum(acc, rej), np.maximum(acc + rej - most, 0.0))


def _caps(descent: _Descent, bought: Array, most: Array) -> tuple[Array, Array]:
    """The caps after lowering them by `bought` in all: cheapest first, at equal prices the smaller first,
    equal caps equally."""
    reached = np.cumsum(descent.top - descent.bottom, axis=-1)
    steps = np.diff(descent.price, axis=-1) > TIE * (1.0 + descent.price[:, 1:])
    group = np.zeros(reached.shape, dtype=np.int64)
    np.cumsum(steps, axis=-1, out=group[:, 1:])
    here = np.minimum((reached <= bought[:, None]).sum(axis=-1, keepdims=True), reached.shape[-1] - 1)
    current = np.take_along_axis(group, here, -1)
    before, until = group < current, group <= current
    start = np.where(before, reached, 0.0).max(axis=-1)
    (a, a_end), (b, b_end) = (
        tuple(np.where(side & part, descent.bottom, cap[:, None]).min(axis=-1) for part in (before, until))
        for side, cap in zip((descent.accepting, descent.rejecting), descent.heaviest, strict=True)
    )
    left = bought - start
    near = np.abs(a - b) <= TIE * np.maximum(a, b)
    first_a = np.minimum(left, a - a_end)
    first_b = left - np.minimum(left, b - b_end)
    both = np.clip(0.5 * left, left - (b - b_end), np.maximum(left - (b - b_end), a - a_end))
    lowered = np.where(near, both, np.where(a < b, first_a, first_b))
    rounding = reached.shape[-1] * np.finfo(np.float64).eps * bought
    acc, rej = _landed(a - lowered, a_end, rounding), _landed(b - (left - lowered), b_end, rounding)
    return _raised(acc, rej, np.maximum(most - (descent.heaviest[0] + descent.heaviest[1]), 0.0), near)


def _landed(cap: Array, end: Array, rounding: Array) -> Array:
    """A cap that rounding alone keeps from its end is at its end: a cap of 0 must be 0."""
    return np.where(cap - end <= rounding, end, cap)


def _raised(acc: Array, rej: Array, slack: Array, near: Flags) -> tuple[Array, Array]:
    """A heaviest secret at exactly 1/2 needs room: it joins the side of the larger cap, both if equal."""
    share = np.where(near, 0.5, acc > rej)
    return acc + slack * share, rej + slack * (1.0 - share)


def _share(cap: Array, weight: Array) -> Array:
    """`min(1, cap/weight)`; weight 0 follows the evidence if the cap is positive, else 0."""
    share = np.broadcast_to(cap[:, None] > 0.0, weight.shape).astype(np.float64)
    np.divide(cap[:, None], weight, out=share, where=weight > cap[:, None])
    return share


def _blocks(weight: Array, favor: Array) -> Iterator[tuple[slice, Array, Array]]:
    """Rows a few at a time, so that working memory stays small."""
    n = weight.shape[-1]
    w, f = weight.reshape(-1, n), favor.reshape(-1, n)
    rows = max(1, _BLOCK // n)
    for begin in range(0, w.shape[0], rows):
        block = slice(begin, begin + rows)
        yield block, w[block], f[block]
