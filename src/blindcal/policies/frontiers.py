"""Belief -> Frontier: the best trade between both errors, and the policy at any point of it.

Closed form where the adversary guesses the secret itself (two secrets here, more in `descents`); linear
programs where it guesses labels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blindcal.beliefs.belief import Belief, unchecked_belief
from blindcal.checks import Array, Integers, nearly_within, of_type
from blindcal.errors import InputError
from blindcal.frames import long_frame
from blindcal.policies.descents import TIE, Flags, accept_after, vertices
from blindcal.policies.guarantees import UNLIMITED
from blindcal.policies.orbits import single_orbits
from blindcal.policies.policy import Policy, unchecked_policy
from blindcal.policies.programs import Program, Solution

_FEASIBLE = 1e-12
_SAME_VERTEX = 1e-12


@dataclass(frozen=True, eq=False)
class Frontier:
    """The best trade between both errors: vertices along the last axis, from full calibration onward.

    `belief`: whose frontier it is; leading axes are instances.
    `conference_error`, `adversary_error`: both errors at each vertex, non-decreasing, padded by repeating the
    last vertex; where the adversary guesses the secret itself there are at most n+1.
    `bought`: the adversary error at each vertex beyond that at the first.
    `tables`: `[..., vertex, secret]`, the accept probabilities at each vertex where labels are guessed; None
    where there is a closed form.

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
        """The policy of greatest adversary error within `conference_error`, or of least conference error
        that reaches `adversary_error`. Arrays broadcast against the instances."""
        bought = self._point(conference_error, adversary_error)
        if self.tables is not None:
            return unchecked_policy(_mixture(self.tables, self.bought, bought))
        if self.belief.weight.shape[-1] == 2:
            return unchecked_policy(_pair_accept(self.belief, bought))
        return unchecked_policy(accept_after(self.belief.weight, self.belief.favor, bought))

    def relation(self) -> tuple[Array, Array]:
        """The whole relation: the greatest adversary error for each *exact* conference error.

        Swapping accept and reject keeps the adversary's error and turns E into 1-E, so the curve is the
        frontier, then flat, then the frontier mirrored about E = 1/2. Outside its ends nothing exists.

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
        if conference_error is not None and adversary_error is None:
            allowed = _fitting("conference_error", conference_error, self.bought)
            least = self.conference_error[..., 0]
            _feasible("conference_error", allowed, allowed < least - _FEASIBLE, least, "least")
            return _interpolated(allowed, self.conference_error, self.bought)
        if adversary_error is not None and conference_error is None:
            wanted = _fitting("adversary_error", adversary_error, self.bought)
            most = self.adversary_error[..., -1]
            _feasible("adversary_error", wanted, wanted > most + _FEASIBLE, most, "greatest")
            left = np.maximum(most - wanted, 0.0)
            return np.maximum(self.bought[..., -1] - left, 0.0)
        raise InputError("give one of conference_error and adversary_error")


def frontier(belief: Belief) -> Frontier:
    """The frontier of (conference error, adversary error) over all policies, for each instance of `belief`.

    In closed form where the adversary guesses the secret itself, else by linear programs.

    >>> front = frontier(Belief([0.5, 0.3, 0.2], [0.9, 0.2, 0.7]))
    >>> front.conference_error.round(12), front.adversary_error.round(12)
    (array([0.17, 0.35, 0.35, 0.35]), array([0.2, 0.5, 0.5, 0.5]))
    """
    of_type("belief", belief, Belief)
    if belief.labels is not None and not _distinct(belief.labels):
        return _traced(belief, belief.labels)
    if belief.weight.shape[-1] == 2:
        return _pair_frontier(belief)
    return Frontier(belief, *vertices(belief.weight, belief.favor))


# Two secrets (Theorems 4.2 and 4.5): lean = favor - 1/2, price = 2*|lean|.


def _pair_frontier(belief: Belief) -> Frontier:
    """One segment from (e0, 0) to (e0 + m*w, m), m = min(weight), w = min(price); a point if they agree."""
    lean0, lean1 = belief.favor[..., 0] - 0.5, belief.favor[..., 1] - 0.5
    weight0, weight1 = belief.weight[..., 0], belief.weight[..., 1]
    price0, price1 = np.abs(lean0), np.abs(lean1)
    conference = np.empty((*lean0.shape, 2))
    adversary, bought = np.empty_like(conference), np.empty_like(conference)
    lightest = np.minimum(weight0, weight1)
    length = lightest * (lean0 * lean1 < 0.0)
    conference[..., 0] = weight0 * (0.5 - price0) + weight1 * (0.5 - price1)
    conference[..., 1] = conference[..., 0] + 2.0 * length * np.minimum(price0, price1)
    bought[..., 0], bought[..., 1] = 0.0, length
    adversary[..., 0], adversary[..., 1] = lightest - length, lightest
    return Frontier(belief, conference, adversary, bought)


def _pair_accept(belief: Belief, bought: Array) -> Array:
    """Randomize the secret of smaller price by `bought/weight`; at equal prices the lighter one, or both."""
    lean0, lean1 = belief.favor[..., 0] - 0.5, belief.favor[..., 1] - 0.5
    weight0, weight1 = belief.weight[..., 0], belief.weight[..., 1]
    rank = np.abs(lean0) - np.abs(lean1)
    rank = np.where(np.abs(rank) > TIE / 2, rank, weight0 - weight1)
    share0 = np.where(np.abs(rank) > TIE / 2, rank < 0.0, 0.5)
    disagree = lean0 * lean1 < 0.0
    accept = np.empty((*bought.shape, 2))
    lowered0 = bought * share0
    accept[..., 0] = _one_accept(lean0, weight0, lowered0, disagree)
    accept[..., 1] = _one_accept(lean1, weight1, bought - lowered0, disagree)
    if not (np.all(lean0) and np.all(lean1)):
        accept[..., 0] = np.where(lean0 == 0.0, _follow(lean1, weight1), accept[..., 0])
        accept[..., 1] = np.where(lean1 == 0.0, _follow(lean0, weight0), accept[..., 1])
    return accept


def _one_accept(lean: Array, weight: Array, lowered: Array, disagree: Flags) -> Array:
    """`lowered/weight` against the evidence; weight 0 under a cap of 0 decides like the other secret."""
    against = np.broadcast_to(disagree, lowered.shape).astype(np.float64)
    np.divide(lowered, weight, out=against, where=weight > 0.0)
    return np.where(lean > 0.0, 1.0 - against, against)


def _follow(other_lean: Array, other_weight: Array) -> Array:
    """At a favor of exactly 1/2: decide like the other secret, which reveals nothing."""
    return 0.5 + 0.5 * np.sign(other_lean) * (other_weight > 0.0)


# Labeled beliefs: the vertices are programs' optima, the policy between two of them is their mixture.


def _distinct(labels: Integers) -> bool:
    """Whether the labels are one slot that names the secret."""
    apart = labels.shape[-2] == 1 and bool(np.diff(np.sort(labels, axis=-1), axis=-1).all())
    return apart and bool((labels >= 0).all())


def _traced(belief: Belief, labels: Integers) -> Frontier:
    n, lead = belief.weight.shape[-1], belief.weight.shape[:-1]
    weight, favor = belief.weight.reshape(-1, n), belief.favor.reshape(-1, n)
    if len(weight) == 0:
        raise InputError("a labeled belief needs at least one instance")
    labels = np.broadcast_to(labels, (*lead, *labels.shape[-2:])).reshape(len(weight), -1, n)
    chains = [trace(*instance) for instance in zip(weight, favor, labels, strict=True)]
    longest = max(len(chain[0]) for chain in chains)
    conference, adversary, tables = (
        np.stack([np.concatenate([part, part[-1:].repeat(longest - len(part), axis=0)]) for part in parts])
        for parts in zip(*chains, strict=True)
    )
    conference, adversary = conference.reshape(*lead, longest), adversary.reshape(*lead, longest)
    tables = tables.reshape(*lead, longest, n)
    return Frontier(belief, conference, adversary, adversary - adversary[..., :1], tables)


def trace(weight: Array, favor: Array, labels: Integers) -> tuple[Array, Array, Array]:
    """The exact frontier of one labeled belief: both errors and the accept probabilities at each vertex.

    Between two vertices the program that prices success at their chord's slope finds a better one, or shows
    that there is none. A mixture of neighboring policies is optimal too: success is convex in the policy.
    """
    orbits = single_orbits(unchecked_belief(weight, favor, labels))
    program = Program(orbits, UNLIMITED)
    # Of the policies of least error the one of least success; then that of least success.
    start = Program(orbits, UNLIMITED, fixed=_evidence(favor)).solve(price=1.0)
    vertices, pending = [start], [(start, program.solve(success=program.scores_only))]
    while pending:
        left, right = pending.pop()
        between = _between(program, left, right)
        if between is None:
            vertices.append(right)
        else:
            pending += [(between, right), (left, between)]
    points = np.array([(v.error, max(float(weight.sum()) - v.success, 0.0)) for v in vertices])
    points = np.maximum.accumulate(points, axis=0)
    return points[:, 0], points[:, 1], np.stack([v.accept for v in vertices])


def _evidence(favor: Array) -> Array:
    """1 or 0 where the evidence decides, -1 at a favor of exactly 1/2."""
    return np.where(favor == 0.5, -1.0, favor > 0.5)


def _between(program: Program, left: Solution, right: Solution) -> Solution | None:
    """A vertex below the chord from `left` to `right`, if there is one."""
    run, rise = left.success - right.success, right.error - left.error
    if run <= _SAME_VERTEX or rise <= _SAME_VERTEX:
        return None
    price = rise / run
    found = program.solve(price=price)
    gain = left.error + price * left.success - (found.error + price * found.success)
    return found if gain > _SAME_VERTEX * (1.0 + price) else None


def _mixture(tables: Array, chain: Array, point: Array) -> Array:
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


def _fitting(name: str, value: ArrayLike, chain: Array) -> Array:
    request = nearly_within(name, value, 0.0, 1.0, _FEASIBLE)
    try:
        return np.broadcast_to(request, np.broadcast_shapes(request.shape, chain.shape[:-1]))
    except ValueError:
        raise InputError(
            f"{name} of shape {request.shape} does not fit the instances {chain.shape[:-1]}"
        ) from None


def _feasible(name: str, request: Array, bad: Flags, bound: Array, word: str) -> None:
    """One error for all infeasible instances: how many, and what each could have."""
    if not np.any(bad):
        return
    requests, bounds = (np.broadcast_to(a, bad.shape)[bad] for a in (request, bound))
    low, high = float(bounds.min()), float(bounds.max())
    reach = f"is {low}" if bad.size == 1 else f"there is between {low} and {high}"
    place = "" if bad.size == 1 else f" in {bad.sum()} of {bad.size} instances"
    raise InputError(f"{name} {float(requests[0])} cannot be achieved{place}: the {word} achievable {reach}")
