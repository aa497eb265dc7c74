"""The Pareto frontier of conference error and adversary error, and the policy at each point of it.

If the adversary guesses the secret itself, the frontier has a closed form: one segment for two secrets
(Theorems 4.2 and 4.5), a descent of two caps for more. If it guesses labels (the reviewer of each slot), the
vertices are optima of linear programs. The last functions say what limits imply for each other: success
within an epsilon, the epsilon behind a success, and many papers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from blindcal.checks import (
    Array,
    Integers,
    check_type,
    nonnegative,
    require_all,
    strictly_within,
    within,
)
from blindcal.errors import InputError
from blindcal.io.tables import long_frame
from blindcal.policy.guarantee import UNLIMITED
from blindcal.policy.policy import Policy, missed_mass, unchecked_policy
from blindcal.posterior.belief import Belief, unchecked_belief

# Prices and caps this close count as equal, so that rounding never decides which secret is randomized, and
# swapping the papers mirrors the answer. The loss is of the same size.
_TIE = 1e-12
# A request this far beyond the ends of the frontier is a rounding of the end.
_FEASIBLE = 1e-12
# Vertices closer than this are the same.
_SAME_VERTEX = 1e-12
_BLOCK = 1 << 16  # numbers worked on at a time

_Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Frontier:
    """The best trade-off between both errors: vertices along the last axis, from full calibration onward.

    Attributes:
        belief: Whose frontier it is; leading axes are instances.
        conference_error: The conference's error at each vertex, non-decreasing, padded by repeating the last
            one; if the adversary guesses the secret itself, there are at most n+1 vertices.
        adversary_error: The adversary's error at each vertex, likewise.
        bought: The adversary error at each vertex beyond that at the first.
        tables: `[..., vertex, secret]`, the accept probabilities at each vertex if labels are guessed; None
            if there is a closed form.

    Example:
        >>> front = frontier(Belief([0.6, 0.4], [0.9, 0.2]))
        >>> front.conference_error.round(12), front.adversary_error
        (array([0.14, 0.38]), array([0. , 0.4]))
        >>> front.policy(adversary_error=0.1).accept
        array([1.  , 0.25])
    """

    belief: Belief
    conference_error: Array
    adversary_error: Array
    bought: Array = field(repr=False)
    tables: Array | None = field(default=None, repr=False)

    def policy(
        self, *, conference_error: ArrayLike | None = None, adversary_error: ArrayLike | None = None
    ) -> Policy:
        """The policy at one point of the frontier; give exactly one of the two.

        Args:
            conference_error: The adversary's error is then the greatest within it.
            adversary_error: The conference's error is then the least that reaches it. Arrays broadcast
                against the instances.
        """
        bought = self._point(conference_error, adversary_error)
        if self.tables is not None:
            return unchecked_policy(_mixture(self.tables, self.bought, bought))
        if self.belief.weight.shape[-1] == 2:
            return unchecked_policy(_pair_accept(self.belief.weight, self.belief.favor, bought))
        return unchecked_policy(accept_at(self.belief.weight, self.belief.favor, bought))

    def relation(self) -> tuple[Array, Array]:
        """The whole relation: the greatest adversary error for each *exact* conference error.

        Swapping accept and reject keeps the adversary's error and turns E into 1-E, so the curve is the
        frontier, then flat, then the frontier mirrored about E = 1/2. Nothing exists outside its ends.

        Example:
            >>> E, A = frontier(Belief([0.6, 0.4], [1.0, 0.0])).relation()
            >>> E.round(12), A
            (array([0. , 0.4, 0.6, 1. ]), array([0. , 0.4, 0.4, 0. ]))
        """
        mirrored = 1.0 - self.conference_error[..., ::-1]
        return (
            np.concatenate([self.conference_error, mirrored], axis=-1),
            np.concatenate([self.adversary_error, self.adversary_error[..., ::-1]], axis=-1),
        )

    def to_frame(self) -> Any:
        """One row per instance and vertex, as a pandas data frame; needs pandas."""
        errors = {"conference_error": self.conference_error, "adversary_error": self.adversary_error}
        return long_frame(errors, "vertex")

    def _point(self, conference_error: ArrayLike | None, adversary_error: ArrayLike | None) -> Array:
        """The adversary error to buy for a request."""
        if conference_error is not None and adversary_error is None:
            allowed = _broadcast_request("conference_error", conference_error, self.bought)
            least = self.conference_error[..., 0]
            _refuse_infeasible("conference_error", allowed, allowed < least - _FEASIBLE, least, "least")
            return _interpolated(allowed, self.conference_error, self.bought)
        if adversary_error is not None and conference_error is None:
            target = _broadcast_request("adversary_error", adversary_error, self.bought)
            most = self.adversary_error[..., -1]
            _refuse_infeasible("adversary_error", target, target > most + _FEASIBLE, most, "greatest")
            left = np.maximum(most - target, 0.0)
            return np.maximum(self.bought[..., -1] - left, 0.0)
        raise InputError("give one of conference_error and adversary_error")


def frontier(belief: Belief) -> Frontier:
    """The frontier of (conference error, adversary error) over all policies.

    Args:
        belief: One or more instances. The frontier has a closed form if the adversary guesses the secret
            itself; otherwise it takes linear programs.

    Example:
        >>> front = frontier(Belief([0.5, 0.3, 0.2], [0.9, 0.2, 0.7]))
        >>> front.conference_error.round(12), front.adversary_error.round(12)
        (array([0.17, 0.35, 0.35, 0.35]), array([0.2, 0.5, 0.5, 0.5]))
    """
    check_type("belief", belief, Belief)
    if (labels := belief.labels) is not None:
        apart = labels.shape[-2] == 1 and bool(np.diff(np.sort(labels, axis=-1), axis=-1).all())
        if not (apart and (labels >= 0).all()):
            return _labeled_frontier(belief, labels)
    vertices = _pair_vertices if belief.weight.shape[-1] == 2 else frontier_vertices
    return Frontier(belief, *vertices(belief.weight, belief.favor))


# Two secrets (Theorems 4.2 and 4.5): lean = favor - 1/2, price = 2*|lean|.


def _pair_vertices(weight: Array, favor: Array) -> tuple[Array, Array, Array]:
    """One segment from (e0, 0) to (e0 + m*w, m), m = min(weight), w = min(price); a point if they agree."""
    conference, adversary, bought = (np.empty(weight.shape) for _ in range(3))
    outputs = [part.reshape(-1, 2) for part in (conference, adversary, bought)]
    for block, w, f in _blocks(weight, favor):
        lean0, lean1, weight0, weight1 = f[:, 0] - 0.5, f[:, 1] - 0.5, w[:, 0], w[:, 1]
        price0, price1, lightest = np.abs(lean0), np.abs(lean1), np.minimum(weight0, weight1)
        length = lightest * (lean0 * lean1 < 0.0)
        least = weight0 * (0.5 - price0) + weight1 * (0.5 - price1)
        ends = (least, least + 2.0 * length * np.minimum(price0, price1)), (lightest - length, lightest)
        for output, both in zip(outputs, (*ends, (0.0, length)), strict=True):
            output[block, 0], output[block, 1] = both
    return conference, adversary, bought


def _pair_accept(weight: Array, favor: Array, bought: Array) -> Array:
    """Randomize the secret of smaller price by `bought/weight`; at equal prices the lighter one, or both."""
    weight, favor = (np.broadcast_to(part, (*bought.shape, 2)) for part in (weight, favor))
    accept = np.empty(weight.shape)
    flat, points = accept.reshape(-1, 2), bought.reshape(-1)
    for block, w, f in _blocks(weight, favor):
        lean0, lean1, weight0, weight1 = f[:, 0] - 0.5, f[:, 1] - 0.5, w[:, 0], w[:, 1]
        rank = np.abs(lean0) - np.abs(lean1)
        rank = np.where(np.abs(rank) > _TIE / 2, rank, weight0 - weight1)
        share0 = np.where(np.abs(rank) > _TIE / 2, rank < 0.0, 0.5)
        disagree = lean0 * lean1 < 0.0
        lowered0 = points[block] * share0
        flat[block, 0] = _accept_against(lean0, weight0, lowered0, disagree)
        flat[block, 1] = _accept_against(lean1, weight1, points[block] - lowered0, disagree)
        if not (lean0.all() and lean1.all()):
            flat[block, 0] = np.where(lean0 == 0.0, _follow_other(lean1, weight1), flat[block, 0])
            flat[block, 1] = np.where(lean1 == 0.0, _follow_other(lean0, weight0), flat[block, 1])
    return accept


def _accept_against(lean: Array, weight: Array, lowered: Array, disagree: _Flags) -> Array:
    """`lowered/weight` against the evidence; weight 0 under a cap of 0 decides like the other secret."""
    against = np.broadcast_to(disagree, lowered.shape).astype(np.float64)
    np.divide(lowered, weight, out=against, where=weight > 0.0)
    return np.where(lean > 0.0, 1.0 - against, against)


def _follow_other(other_lean: Array, other_weight: Array) -> Array:
    """At a favor of exactly 1/2: decide like the other secret, which reveals nothing."""
    return 0.5 + 0.5 * np.sign(other_lean) * (other_weight > 0.0)


# More secrets: lower two caps, always the one that is cheaper per unit.
#
#     accept[r] = min(1, t_acc/weight[r])      for secrets that favor accepting
#     1-accept[r] = min(1, t_rej/weight[r])    for secrets that favor rejecting
#
# with `adversary_error = 1 - t_acc - t_rej`. Lowering a cap costs, per unit, the sum of `price = |2*favor-1|`
# over the secrets that it binds. The descent ends at `t_acc + t_rej = max weight`. Each secret is one segment
# of it: between its weight and the next lighter one on its side.


def frontier_vertices(weight: Array, favor: Array) -> tuple[Array, Array, Array]:
    """Conference error, adversary error and adversary error bought, each [..., n+1], at every vertex."""
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
        a[:] = np.maximum(missed_mass(w, None)[:, None] - (descent.total[:, None] - x), 0.0)
    return conference, adversary, bought


def accept_at(weight: Array, favor: Array, bought: Array) -> Array:
    """The accept probabilities [..., n] once the caps have been lowered by `bought` in all."""
    n = weight.shape[-1]
    weight, favor = (np.broadcast_to(a, (*bought.shape, n)) for a in (weight, favor))
    accept = np.empty(weight.shape)
    flat, points = accept.reshape(-1, n), bought.reshape(-1)
    for block, w, f in _blocks(weight, favor):
        acc, rej = _lowered_caps(_descent(w, f), points[block], w.max(axis=-1))
        to_accept, to_reject = _capped_share(acc, w), _capped_share(rej, w)
        # At a favor of exactly 1/2 both decisions are equally good: as near to a fair coin as the caps allow.
        free = np.clip(0.5, 1.0 - to_reject, to_accept)
        flat[block] = np.where(f > 0.5, to_accept, np.where(f < 0.5, 1.0 - to_reject, free))
    return accept


@dataclass(frozen=True, eq=False)
class _Descent:
    """Segments by ascending price: from cap `top` to cap `bottom` of the accepting or the rejecting side."""

    price: Array
    top: Array
    bottom: Array
    accepting: _Flags
    rejecting: _Flags
    heaviest: tuple[Array, Array]
    total: Array


def _descent(weight: Array, favor: Array) -> _Descent:
    """The segments of both sides, merged by price."""
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
    (acc, rej), most = heaviest, weight.max(axis=-1)
    # How far the caps can be lowered in all: `acc + rej - most`, exact if a cap itself is the most.
    total = np.where(np.maximum(acc, rej) >= most, np.minimum(acc, rej), np.maximum(acc + rej - most, 0.0))
    return _Descent(price, top, bottom, accepting, rejecting, (acc, rej), total)


def _lowered_caps(descent: _Descent, bought: Array, most: Array) -> tuple[Array, Array]:
    """The caps after lowering them by `bought` in all.

    The cheapest segments come first. At equal prices the smaller cap is lowered first, equal caps equally.
    """
    reached = np.cumsum(descent.top - descent.bottom, axis=-1)
    steps = np.diff(descent.price, axis=-1) > _TIE * (1.0 + descent.price[:, 1:])
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
    near = np.abs(a - b) <= _TIE * np.maximum(a, b)
    first_a = np.minimum(left, a - a_end)
    first_b = left - np.minimum(left, b - b_end)
    both = np.clip(0.5 * left, left - (b - b_end), np.maximum(left - (b - b_end), a - a_end))
    lowered = np.where(near, both, np.where(a < b, first_a, first_b))
    rounding = reached.shape[-1] * np.finfo(np.float64).eps * bought
    acc, rej = _snap_to_end(a - lowered, a_end, rounding), _snap_to_end(b - (left - lowered), b_end, rounding)
    # A heaviest secret at exactly 1/2 joins the larger cap, or both if they are equal.
    slack = np.maximum(most - (descent.heaviest[0] + descent.heaviest[1]), 0.0)
    share = np.where(near, 0.5, acc > rej)
    return acc + slack * share, rej + slack * (1.0 - share)


def _snap_to_end(cap: Array, end: Array, rounding: Array) -> Array:
    """A cap that only rounding keeps from its end is at its end: a cap of 0 must be 0."""
    return np.where(cap - end <= rounding, end, cap)


def _capped_share(cap: Array, weight: Array) -> Array:
    """`min(1, cap/weight)`; weight 0 follows the evidence if the cap is positive, else 0."""
    share = np.broadcast_to(cap[:, None] > 0.0, weight.shape).astype(np.float64)
    np.divide(cap[:, None], weight, out=share, where=weight > cap[:, None])
    return share


def _blocks(weight: Array, favor: Array) -> Iterator[tuple[slice, Array, Array]]:
    """A few rows at a time, so that working memory stays small."""
    n = weight.shape[-1]
    w, f = weight.reshape(-1, n), favor.reshape(-1, n)
    rows = max(1, _BLOCK // n)
    for begin in range(0, w.shape[0], rows):
        block = slice(begin, begin + rows)
        yield block, w[block], f[block]


# Labeled beliefs: the vertices are programs' optima, the policy between two of them is their mixture.


def _labeled_frontier(belief: Belief, labels: Integers) -> Frontier:
    n, lead = belief.weight.shape[-1], belief.weight.shape[:-1]
    weight, favor = belief.weight.reshape(-1, n), belief.favor.reshape(-1, n)
    if len(weight) == 0:
        raise InputError("a labeled belief needs at least one instance")
    labels = np.broadcast_to(labels, (*lead, *labels.shape[-2:])).reshape(len(weight), -1, n)
    chains = [trace_frontier(*instance) for instance in zip(weight, favor, labels, strict=True)]
    parts = [stacked_chains(part) for part in zip(*chains, strict=True)]
    conference, adversary, tables = (part.reshape(*lead, *part.shape[1:]) for part in parts)
    return Frontier(belief, conference, adversary, adversary - adversary[..., :1], tables)


def stacked_chains(chains: Sequence[Array]) -> Array:
    """Chains of different lengths as one array, padded by repeating their last vertex."""
    longest = max(map(len, chains))
    return np.stack([np.concatenate([c, c[-1:].repeat(longest - len(c), axis=0)]) for c in chains])


def trace_frontier(weight: Array, favor: Array, labels: Integers) -> tuple[Array, Array, Array]:
    """The exact frontier of one labeled belief: both errors and the accept probabilities at each vertex.

    Between two vertices, the program that prices success at the slope of their chord finds a better vertex or
    shows that there is none. Mixtures of neighboring policies are optimal too, because success is convex.
    """
    # Closed forms do without HiGHS, which takes a while to load.
    from blindcal.policy.accept_lp import AcceptProgram, secret_classes

    classes = secret_classes(unchecked_belief(weight, favor, labels))
    program = AcceptProgram(classes, UNLIMITED)
    # The ends: of the policies of least error the one of least success, and that of least success.
    decided = np.where(favor == 0.5, -1.0, favor > 0.5)
    start = AcceptProgram(classes, UNLIMITED, fixed=decided).solve(price=1.0)
    vertices, pending = [start], [(start, program.solve(success=program.scores_only))]
    while pending:
        left, right = pending.pop()
        run, rise = left.success - right.success, right.error - left.error
        if run > _SAME_VERTEX and rise > _SAME_VERTEX:
            price = rise / run
            between = program.solve(price=price)
            gain = left.error + price * left.success - (between.error + price * between.success)
            if gain > _SAME_VERTEX * (1.0 + price):
                pending += [(between, right), (left, between)]
                continue
        vertices.append(right)
    points = np.array([(v.error, max(float(weight.sum()) - v.success, 0.0)) for v in vertices])
    points = np.maximum.accumulate(points, axis=0)
    return points[:, 0], points[:, 1], np.stack([v.accept for v in vertices])


def _mixture(tables: Array, chain: Array, point: Array) -> Array:
    """The mixture of two neighboring tables at a point between their vertices."""
    index, fraction = _position(point, chain)
    tables = np.broadcast_to(tables, (*index.shape, *tables.shape[-2:]))
    low = np.take_along_axis(tables, index[..., None, None], -2)[..., 0, :]
    high = np.take_along_axis(tables, index[..., None, None] + 1, -2)[..., 0, :]
    return low + fraction[..., None] * (high - low)


def _position(point: Array, chain: Array) -> tuple[NDArray[np.int64], Array]:
    """The segment of `chain` in which `point` lies, and how far along it; 1 on a segment of no length."""
    shape = np.broadcast_shapes(point.shape, chain.shape[:-1])
    point, chain = np.broadcast_to(point, shape), np.broadcast_to(chain, (*shape, chain.shape[-1]))
    index = np.clip((chain <= point[..., None]).sum(axis=-1) - 1, 0, chain.shape[-1] - 2)
    low = np.take_along_axis(chain, index[..., None], -1)[..., 0]
    length = np.take_along_axis(chain, index[..., None] + 1, -1)[..., 0] - low
    return index, _fraction(point - low, length)


def _fraction(part: Array, length: Array) -> Array:
    """`part/length`, from 0 to 1; 1 on a segment of no length."""
    fraction = np.ones(np.broadcast_shapes(part.shape, length.shape))
    np.divide(part, length, out=fraction, where=(length > part) & (length > 0.0))
    return np.maximum(fraction, 0.0)


def _interpolated(point: Array, chain: Array, values: Array) -> Array:
    """`values` where `chain` reaches `point`, linear between vertices and constant beyond the last."""
    if chain.shape[-1] == 2:
        low, length = chain[..., 0], chain[..., 1] - chain[..., 0]
        return values[..., 1] * _fraction(point - low, length)
    index, fraction = _position(point, chain)
    values = np.broadcast_to(values, (*index.shape, values.shape[-1]))
    low = np.take_along_axis(values, index[..., None], -1)[..., 0]
    high = np.take_along_axis(values, index[..., None] + 1, -1)[..., 0]
    return np.where(fraction == 1.0, high, low + fraction * (high - low))


# Requests.


def _broadcast_request(name: str, value: ArrayLike, chain: Array) -> Array:
    """A request in [0, 1], broadcast to the instances."""
    request = within(name, value, 0.0, 1.0, _FEASIBLE)
    try:
        return np.broadcast_to(request, np.broadcast_shapes(request.shape, chain.shape[:-1]))
    except ValueError:
        raise InputError(
            f"{name} of shape {request.shape} does not fit the instances {chain.shape[:-1]}"
        ) from None


def _refuse_infeasible(name: str, request: Array, bad: _Flags, bound: Array, word: str) -> None:
    """One error for all infeasible instances: how many, and what each could have."""
    if not np.any(bad):
        return
    requests, bounds = (np.broadcast_to(a, bad.shape)[bad] for a in (request, bound))
    low, high = float(bounds.min()), float(bounds.max())
    reach = f"is {low}" if bad.size == 1 else f"there is between {low} and {high}"
    instances = "" if bad.size == 1 else f" in {bad.sum()} of {bad.size} instances"
    raise InputError(
        f"{name} {float(requests[0])} cannot be achieved{instances}: the {word} achievable {reach}"
    )


def largest_success(weight: ArrayLike, epsilon: ArrayLike) -> Array:
    """The greatest chance of a correct guess that any policy within `epsilon` can give the adversary.

    It is `max(w1, (w1 + w2) e^eps/(1+e^eps))` with the two largest weights: randomized response between them.

    Args:
        weight: `[..., n]`, the probabilities of the secrets before the decision.
        epsilon: The limit; broadcasts against leading axes.

    Example:
        >>> float(largest_success([0.6, 0.4], np.log(4.0)))
        0.8
        >>> float(largest_success([0.9, 0.1], np.log(4.0)))
        0.9
    """
    w, limit = nonnegative("weight", weight), nonnegative("epsilon", epsilon)
    if w.ndim == 0:
        raise InputError(f"weight must have shape [..., n], found {w.shape}")
    top = np.sort(w, axis=-1)[..., -2:]
    return np.asarray(np.maximum(top[..., -1], top.sum(axis=-1) / (1.0 + np.exp(-limit))))


def least_epsilon(weight: ArrayLike, success: ArrayLike) -> Array:
    """The least epsilon of any policy that gives the adversary this chance of a correct guess.

    It is the inverse of `largest_success`, and 0 if the scores alone give that much. The converse does not
    hold: a policy that adds no success may have any epsilon, even infinity.

    Args:
        weight: `[..., n]`, as for `largest_success`.
        success: The adversary's chance of a correct guess.

    Example:
        >>> round(float(np.exp(least_epsilon([0.6, 0.4], 0.8))), 9)
        4.0
    """
    w, target = nonnegative("weight", weight), within("success", success, 0.0, 1.0)
    top = np.sort(w, axis=-1)[..., -2:]
    both = top.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.log(target) - np.log(np.maximum(both - target, 0.0))
    return np.where(target <= top[..., -1], 0.0, np.maximum(needed, 0.0))


def composed_epsilon(epsilons: ArrayLike) -> float:
    """The epsilon between two complete assignments that differ on several papers: the sum.

    Args:
        epsilons: That of each such paper; their coins are independent.

    Example:
        >>> composed_epsilon([1.0, 0.5, 0.5])
        2.0
    """
    return float(np.sum(nonnegative("epsilon", epsilons)))


def composed_success(epsilon: float, papers: int, prior: float = 0.5) -> float:
    """The greatest chance of telling apart two complete assignments that differ on k papers.

    Randomized response on each paper is the worst case. The number of decisions that follow the evidence is
    then binomial: `sum_j max(p B(j; k, q), (1-p) B(j; k, 1-q))` with `q = e^eps/(1+e^eps)`.

    Args:
        epsilon: The limit within which each of these papers is decided, by its own coin.
        papers: Their number k.
        prior: The probability p of the first assignment before any decision, strictly between 0 and 1.

    Example:
        >>> composed_success(np.log(3.0), 1), round(composed_success(np.log(3.0), 3), 6)
        (0.75, 0.84375)
    """
    chance = 1.0 / (1.0 + np.exp(-float(nonnegative("epsilon", epsilon))))
    p = float(strictly_within("prior", prior, 0.0, 1.0))
    number = require_all(
        "papers", np.array(papers, dtype=np.float64), np.array(papers >= 1), "must be at least 1"
    )
    k, hits = int(number), np.arange(int(number) + 1)
    evident, other = (scipy.stats.binom.pmf(hits, k, part) for part in (chance, 1 - chance))
    return float(np.maximum(p * evident, (1 - p) * other).sum())
