"""The best policy for a belief or a paper under a guarantee.

`solve` and `private_policy` choose the method by the belief: a closed form if the secret itself is guessed
and only success, or only epsilon and the multiplier, is limited; the corners of a polygon for two secrets;
otherwise a linear program (`accept_lp`) with a column for each class of tuples, or with fewer columns if
there are too many. Every limit is linear in the policy. A plan solves each paper by
`solve`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blindcal.checks import Array, check_type, within
from blindcal.errors import InputError
from blindcal.io.cells import number_text
from blindcal.policy.accept_lp import (
    AcceptProgram,
    AggregatedProgram,
    EntryProgram,
    Solution,
    TupleClasses,
    secret_classes,
    tuple_classes,
)
from blindcal.policy.guarantee import LIMITS, PUBLIC, UNLIMITED, Guarantee
from blindcal.policy.pareto_frontier import frontier
from blindcal.policy.policy import Policy, evidence_policy, label_tops, public_policy, unchecked_policy
from blindcal.posterior.belief import Belief, unchecked_belief
from blindcal.posterior.paper import PaperCase
from blindcal.posterior.this_year_evidence import LevelCase

# More classes of tuples than this share columns.
MOST_COLUMNS = 30_000
# A limit missed by no more than this is met up to rounding.
_ROUNDING = 1e-12
# Outcomes rarer than this may be missed by the solver.
_RARE_OUTCOME = 1e-8
_UNIT = 2.0**-53
# Instances of two secrets that are solved at once.
_CHUNK = 20_000
# The limits on what decisions reveal of each paper.
_VARIED = ("success", *(name for name, limit in LIMITS.items() if limit.bounds and not limit.only_with))
_DEFAULT = Guarantee()


def solve(
    of: Belief | PaperCase | LevelCase, guarantee: Guarantee = _DEFAULT, *, success: float | None = None
) -> Solution:
    """The policy of least conference error under a guarantee, with a bound that no policy can beat.

    Args:
        of: One belief without leading axes, or one paper.
        guarantee: What the decision may reveal; by default a crowd of 10, with an epsilon of 3.
        success: A further limit, on the adversary's chance of a correct guess, mean over the slots.

    Example:
        >>> solution = solve(Belief([0.6, 0.4], [0.9, 0.2]), Guarantee("average", epsilon=None))
        >>> solution.accept, round(solution.error, 6), solution.success
        (array([1., 1.]), 0.38, 0.6)
    """
    if isinstance(of, PaperCase):
        return accept_program(of, guarantee).solve(success=success)
    if isinstance(of, LevelCase):
        return solve(of.belief, PUBLIC if of.settled else guarantee)
    _check_achievable(of, guarantee, success)
    accept = _closed_form(of, guarantee, success)
    if accept is None:
        return _by_program(of, guarantee, success)
    policy = unchecked_policy(accept)
    error = float(policy.conference_error(of))
    return Solution(accept, error, error, 1.0 - float(policy.adversary_error(of)))


def private_policy(
    belief: Belief, guarantee: Guarantee = _DEFAULT, *, success: float | None = None
) -> Policy:
    """The policy of least conference error under a guarantee, for each instance of a belief.

    Args:
        belief: One or more instances.
        guarantee: What decisions may reveal; by default a crowd of 10, with an epsilon of 3.
        success: A further limit for each instance, on the adversary's chance of a correct guess, mean over
            the slots; by default there is none.

    Example:
        >>> belief = Belief([0.6, 0.4], [0.9, 0.2])
        >>> private_policy(belief, Guarantee("none", epsilon=np.log(9.0))).accept
        array([0.9, 0.1])
        >>> private_policy(belief, Guarantee("none", epsilon=np.log(9.0), multiplier=1.5)).accept.round(6)
        array([0.9375, 0.4375])
        >>> private_policy(belief, Guarantee("none", epsilon=None), success=0.7).accept
        array([1.  , 0.75])
        >>> private_policy(belief, Guarantee("steady")).accept  # here no decision may reveal anything at all
        array([1., 1.])
    """
    _check_achievable(belief, guarantee, success)
    accept = _closed_form(belief, guarantee, success)
    if accept is None:
        each = [_by_program(instance, guarantee, success).accept for instance in _single_instances(belief)]
        accept = np.reshape(each, belief.weight.shape)
    return unchecked_policy(accept)


def limit_frontier(
    belief: Belief,
    limit: str,
    values: ArrayLike,
    guarantee: Guarantee = UNLIMITED,
    *,
    success: float | None = None,
) -> Array:
    """The least conference error `[values, ...]` at each value of one limit, for each instance of a belief.

    Args:
        belief: Leading axes are instances.
        limit: Which one to vary: `success`, or a limit of `Guarantee` on what a decision reveals.
        values: Those that the limit takes in turn.
        guarantee: The limits that stay; by default there are none.
        success: A limit on the adversary's chance of a correct guess that stays while another one is varied.

    Example:
        >>> limit_frontier(Belief([0.6, 0.4], [0.9, 0.2]), "multiplier", [1.0, 1.5, 2.0]).round(6)
        array([0.38, 0.26, 0.14])
    """
    if limit not in _VARIED:
        raise InputError(f"limit must be one of {', '.join(_VARIED)}, found {limit!r}")
    policies = []
    for value in np.atleast_1d(np.asarray(values, dtype=np.float64)).tolist():
        if limit == "success":
            policies.append(private_policy(belief, guarantee, success=value))
        else:
            policies.append(private_policy(belief, replace(guarantee, **{limit: value}), success=success))
    return np.stack([policy.conference_error(belief) for policy in policies])


def accept_program(
    case: PaperCase, guarantee: Guarantee, *, most_columns: int = MOST_COLUMNS
) -> AcceptProgram | AggregatedProgram | EntryProgram:
    """The program of one paper: a column for each class of tuples, or at most `most_columns` at first."""
    if case.settled:
        guarantee = PUBLIC
    if not case.listed:
        return EntryProgram(case, guarantee)
    classes = _listed_classes(case)
    if classes.weight.size <= most_columns:
        return AcceptProgram(classes, guarantee)
    return AggregatedProgram(classes, guarantee)


@lru_cache(maxsize=2)
def _listed_classes(case: PaperCase) -> TupleClasses:
    """The classes of a paper's tuples, which serve all guarantees."""
    return tuple_classes(case, case.belief)


def _check_achievable(belief: Belief, guarantee: Guarantee, success: float | None) -> None:
    """Refuse limits below what the scores alone reveal: no policy keeps them."""
    check_type("belief", belief, Belief)
    check_type("guarantee", guarantee, Guarantee, "like Guarantee('steady')")
    if success is not None:
        within("success", success, 0.0, 1.0)
    if success is None and guarantee.posterior_cap is None:
        return
    tops = label_tops(belief.weight, belief.labels)
    for name, limit, least in (
        ("success", success, tops.mean(axis=-1)),
        ("posterior cap", guarantee.posterior_cap, tops.max(axis=-1)),
    ):
        if limit is not None and (limit < least - _ROUNDING).any():
            raise InputError(
                f"{name} {limit:g} is below what the scores alone give: "
                f"{int((limit < least - _ROUNDING).sum())} of {least.size} instances, up to "
                f"{number_text(least.max())}"
            )


# Closed forms, for all instances at once.


def _closed_form(belief: Belief, guarantee: Guarantee, success: float | None) -> Array | None:
    """The accept probabilities `[..., secret]`, or None if a program is needed."""
    if guarantee.name == "public":
        return public_policy(belief).accept
    allowed = _success_limit(belief, guarantee, success)
    in_range = allowed is None and guarantee.name in ("odds", "none") and not guarantee.capped
    if guarantee.never_against is not None or (belief.labels is not None and not in_range):
        return None
    if in_range:
        return _within_range(belief, guarantee)
    alone = guarantee.epsilon is None and guarantee.multiplier is None and not guarantee.capped
    if allowed is not None and alone:
        front = frontier(belief)
        missed = np.clip(1.0 - allowed, 0.0, front.adversary_error[..., -1])
        best: Policy = front.policy(adversary_error=missed)
        return best.accept
    if belief.weight.shape[-1] == 2:
        return pair_policy(belief.weight, belief.favor, guarantee, allowed)
    return None


def _success_limit(belief: Belief, guarantee: Guarantee, success: float | None) -> Array | None:
    """The limit on success of each instance: the one given, and what the average guarantee leaves."""
    if guarantee.name == "average":
        return np.asarray(label_tops(belief.weight, belief.labels).mean(axis=-1))
    return None if success is None else np.full(belief.weight.shape[:-1], success)


def _within_range(belief: Belief, guarantee: Guarantee) -> Array:
    """Accepting secrets at `high`, rejecting ones at `low`, with (low, high) a corner of the range."""
    if guarantee.epsilon is None and guarantee.multiplier is None:
        return evidence_policy(belief).accept
    lean = np.sign(belief.favor - 0.5)
    choices = [
        np.where(lean > 0, high, np.where(lean < 0, low, 0.5 * (low + high)))
        for low, high in guarantee.corners
    ]
    errors = np.stack([unchecked_policy(accept).conference_error(belief) for accept in choices])
    # Of equal errors the first one: a constant decision is preferred to randomness that buys nothing.
    return np.asarray(np.choose(np.argmin(errors, axis=0)[..., None], choices))


# Two secrets: every limit is a half-plane in the square of (accept[0], accept[1]), so the optimum is a
# corner, and all crossings of two borders are tried. Limits on single outcomes are compared relative to the
# probability of the outcome, because an outcome that almost never happens must keep them too.


@dataclass(frozen=True, eq=False)
class _Limits:
    """The limits of some instances, each None if there is none: `success[i]`, `cap[i]` on posteriors."""

    success: Array | None
    cap: Array | None
    epsilon: float | None
    multiplier: float | None


def pair_policy(weight: Array, favor: Array, guarantee: Guarantee, success: Array | None = None) -> Array:
    """`accept[..., 2]` of least conference error under a guarantee and within `success[...]`, if given."""
    constants = [np.ones_like(weight), np.zeros_like(weight)]
    if guarantee.name in ("steady", "crowd"):
        # No cap leaves the heavier secret room to rise, so the other one may not either.
        return _least_error(constants, weight, favor)
    flat_weight, flat_favor = weight.reshape(-1, 2), favor.reshape(-1, 2)
    only_epsilon = guarantee.epsilon is not None and guarantee.multiplier is None and not guarantee.capped
    if only_epsilon and success is not None and not (success > weight.max(axis=-1)).any():
        corner = _average_corner(weight, favor, guarantee)
        limits = _limits(flat_weight, guarantee, success.reshape(-1))
        # Chances that are too close to 1 for a float to keep the limits go through all crossings.
        if _keeps_limits(corner.reshape(1, -1, 2), flat_weight, limits).all():
            return _least_error([*constants, corner], weight, favor)
    accept = np.empty_like(flat_weight)
    for start in range(0, len(accept), _CHUNK):
        rows = slice(start, start + _CHUNK)
        allowed = None if success is None else success.reshape(-1)[rows]
        limits = _limits(flat_weight[rows], guarantee, allowed)
        accept[rows] = _best_corner(flat_weight[rows], flat_favor[rows], limits)
    return accept.reshape(weight.shape)


def _least_error(choices: Sequence[Array], weight: Array, favor: Array) -> Array:
    """Of some policies the one of least error, for each pair."""
    error = np.stack([(weight * (one * (1.0 - favor) + (1.0 - one) * favor)).sum(axis=-1) for one in choices])
    # Of equal errors the first one: a constant decision is preferred to randomness that buys nothing.
    first = np.argmax(error <= error.min(axis=0) + 1e-15, axis=0)
    return np.asarray(np.choose(first[..., None], choices))


def _average_corner(weight: Array, favor: Array, guarantee: Guarantee) -> Array:
    """The corner of *average* with an epsilon: success as from the scores alone, odds within a factor.

    Let the heavier secret favor accepting, x and y be its accept probability and that of the other one, and w
    and v their weights. It stays the best guess after a rejection if `v(1-y) <= w(1-x)`; epsilon allows
    `x <= e^eps y` and `1-y <= e^eps (1-x)`. With r = min(w/v, e^eps) the two borders that bind are
    `1-y = r(1-x)` and `x = e^eps y`. If it favors rejecting, the two decisions change places.
    """
    grown = np.inf if guarantee.epsilon is None else np.exp(guarantee.epsilon)
    heavy, light = weight.max(axis=-1), weight.min(axis=-1)
    ratio = np.minimum(np.divide(heavy, light, out=np.full_like(heavy, np.inf), where=light > 0.0), grown)
    x = (ratio - 1.0) / np.maximum(ratio - 1.0 / grown, np.finfo(np.float64).tiny)
    is_heavy = weight >= heavy[..., None]
    corner = np.where(is_heavy, x[..., None], (x / grown)[..., None])
    accepts = np.where(is_heavy, favor, -np.inf).max(axis=-1) > 0.5
    return np.asarray(np.where(accepts[..., None], corner, 1.0 - corner))


def _limits(weight: Array, guarantee: Guarantee, success: Array | None) -> _Limits:
    """The limits as numbers, none below what the scores alone give: no policy could keep that."""
    top = weight.max(axis=1)
    cap = guarantee.caps(top) if guarantee.capped else None
    allowed = None if success is None else np.maximum(success, top)
    return _Limits(allowed, cap, guarantee.epsilon, guarantee.multiplier)


def _best_corner(weight: Array, favor: Array, limits: _Limits) -> Array:
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
    error[~_keeps_limits(points, weight, limits)] = np.inf
    best = error.min(axis=0)
    # Of equal errors the first one: a constant decision is preferred to randomness that buys nothing.
    first = np.argmax(error <= best + 1e-15, axis=0)
    return np.asarray(points[first, np.arange(len(weight))])


def _borders(weight: Array, limits: _Limits) -> tuple[Array, Array]:
    """Lines `normal . accept = offset`: [lines, instances, 2] and [lines, instances]."""
    ones, zeros = np.ones(len(weight)), np.zeros(len(weight))
    heavy, light = weight.T
    lines = [(ones, zeros, zeros), (ones, zeros, ones), (zeros, ones, zeros), (zeros, ones, ones)]
    if limits.success is not None:
        # Success is max(x, y) + max(w-x, v-y) with x = w*accept[0], y = v*accept[1]. It can exceed the limit
        # only if the two outcomes lead to different guesses: x + v - y, or y + w - x.
        most = limits.success
        lines += [(heavy, -light, most - light), (-heavy, light, most - heavy)]
    if limits.multiplier is not None:
        apart = ones * (limits.multiplier - 1.0)
        lines += [(ones, -ones, apart), (-ones, ones, apart)]
    if limits.epsilon is not None:
        shrink = ones * np.exp(-limits.epsilon)
        lines += [(shrink, -ones, zeros), (-ones, shrink, zeros)]
        lines += [(shrink, -ones, shrink - ones), (-ones, shrink, shrink - ones)]
    if (cap := limits.cap) is not None:
        # w x <= cap (w x + v y) for the heavy secret, and for the light one, after either decision.
        first, second = (1.0 - cap) * heavy, cap * light
        third, fourth = cap * heavy, (1.0 - cap) * light
        lines += [(first, -second, zeros), (-third, fourth, zeros)]
        lines += [(first, -second, first - second), (-third, fourth, fourth - third)]
    return np.stack([np.stack(line[:2], -1) for line in lines]), np.stack([line[2] for line in lines])


def _keeps_limits(points: Array, weight: Array, limits: _Limits) -> NDArray[np.bool_]:
    """Whether each point [candidates, instances, 2] keeps every limit, up to rounding; nan does not."""
    keep = np.asarray(np.isfinite(points).all(axis=-1))
    safe = np.where(keep[..., None], points, 0.0)
    if limits.success is not None:
        mass = (weight * safe).max(axis=-1) + (weight * (1.0 - safe)).max(axis=-1)
        keep &= mass <= limits.success + _ROUNDING
    if limits.multiplier is not None:
        keep &= np.abs(safe[..., 0] - safe[..., 1]) <= limits.multiplier - 1.0 + _ROUNDING
    for chance in (safe, 1.0 - safe):
        # The complement of a number near 1 is known to its last digit: a chance of 1e-5 to 1e-11 of it.
        # Rarer outcomes get no more than 1e-9 of their chance, or they could break every limit.
        last_digit = np.minimum(2.0**-52, 1e-9 * chance.min(axis=-1))
        if limits.epsilon is not None:
            least = chance.min(axis=-1) * (1.0 + _ROUNDING) + last_digit
            keep &= chance.max(axis=-1) * np.exp(-limits.epsilon) <= least
        if (cap := limits.cap) is not None:
            mass = weight * chance
            keep &= mass.max(axis=-1) <= cap * mass.sum(axis=-1) * (1.0 + _ROUNDING) + last_digit
    return np.asarray(keep)


# Programs, one instance at a time.


def _by_program(belief: Belief, guarantee: Guarantee, success: float | None) -> Solution:
    """The program's policy, repaired so that outcomes rarer than the solver sees keep their limits too."""
    solution = AcceptProgram(secret_classes(belief), guarantee).solve(success=success)
    if not guarantee.capped:
        return solution
    accept = 1.0 - _repaired(belief, 1.0 - solution.accept, guarantee)
    accept = np.clip(_repaired(belief, accept, guarantee), 0.0, 1.0)
    policy = unchecked_policy(accept)
    error = float(policy.conference_error(belief))
    return Solution(accept, error, solution.bound, 1.0 - float(policy.adversary_error(belief)))


def _repaired(belief: Belief, chance: Array, guarantee: Guarantee) -> Array:
    """The probabilities `chance[secret]` of one outcome, raised so that its posterior keeps the cap.

    Raising the probability by the same r for every secret brings a posterior of mass m to the cap at
    `r = (m - cap P) / (cap - prior)`. If the cap is the prior itself, a rare outcome is given up.
    """
    weight = belief.weight
    slots = np.arange(weight.size)[None] if belief.labels is None else belief.labels
    for slot, cap in zip(slots, guarantee.caps(label_tops(weight, slots)), strict=True):
        named = np.flatnonzero(slot >= 0)
        _, label = np.unique(slot[named], return_inverse=True)
        mass, prior = np.bincount(label, (weight * chance)[named]), np.bincount(label, weight[named])
        total = weight @ chance
        over = mass - cap * total
        broken = over > 1e-12 * total
        if broken.any():
            slack = np.maximum(cap - prior[broken], 1e-300)
            # Less than a unit of 2^-53 would be lost in the probability of the other outcome.
            raised = np.ceil(float((over[broken] / slack).max()) / _UNIT) * _UNIT
            chance = chance + raised if raised < _RARE_OUTCOME else chance * float(total > _RARE_OUTCOME)
    return np.minimum(chance, 1.0)


def _single_instances(belief: Belief) -> Iterator[Belief]:
    shape, labels = belief.weight.shape[:-1], belief.labels
    every = None if labels is None else np.broadcast_to(labels, (*shape, *labels.shape[-2:]))
    for index in np.ndindex(shape):
        weight, favor = belief.weight[index], belief.favor[index]
        yield unchecked_belief(weight / weight.sum(), favor, None if every is None else every[index])
