"""Policies within limits that hold after every decision, or whatever the adversary knows.

The error of one adversary with one prior is an average; these limits bound single outcomes and other priors.
All are linear in the policy. Epsilon and multiplier bound only the lowest and the highest chance of
acceptance, so with them alone the optimum is at a corner of a polygon; for two secrets every limit is a
line in the square of the two chances; the rest is the general program.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from blindcal.beliefs.belief import Belief
from blindcal.cells import number_text
from blindcal.checks import Array, Integers, nonnegative, strictly_within, where, within
from blindcal.errors import InputError
from blindcal.policies.frontiers import frontier
from blindcal.policies.pairwise import pair_policy
from blindcal.policies.policy import Limits, Policy, evidence_policy, label_tops, unchecked_policy
from blindcal.policies.programs import Program

_SLACK = 1e-12
_RARE = 1e-8
_LIMITS = ("success", "epsilon", "multiplier", "posterior_cap")


def private_policy(
    belief: Belief,
    success: float | None = None,
    steady: bool = False,
    epsilon: float | None = None,
    multiplier: float | None = None,
    posterior_cap: float | None = None,
) -> Policy:
    """The policy of least conference error within all given limits, for each instance of `belief`.

    In closed form where only epsilon and multiplier are limited, where only success is and the adversary
    guesses the secret, and for two secrets; otherwise one linear program an instance.

    >>> belief = Belief([0.6, 0.4], [0.9, 0.2])
    >>> private_policy(belief, epsilon=np.log(9.0)).accept
    array([0.9, 0.1])
    >>> private_policy(belief, epsilon=np.log(9.0), multiplier=1.5).accept.round(6)
    array([0.9375, 0.4375])
    >>> private_policy(belief, success=0.7).accept  # the lighter secret decides one time in four
    array([1.  , 0.75])
    >>> private_policy(belief, steady=True).accept  # here no decision may reveal anything at all
    array([1., 1.])
    """
    limits = Limits(success, steady, epsilon, multiplier, posterior_cap)
    _check_achievable(belief, limits)
    by_outcome = steady or posterior_cap is not None
    if success is None and not by_outcome:
        return _box_policy(belief, limits)
    if belief.labels is None:
        if epsilon is None and multiplier is None and not by_outcome and success is not None:
            most = frontier(belief)
            return most.policy(adversary_error=np.clip(1.0 - success, 0.0, most.adversary_error[..., -1]))
        if belief.weight.shape[-1] == 2:
            return unchecked_policy(pair_policy(belief.weight, belief.favor, limits))
    return _program_policy(belief, limits)


def limit_frontier(
    belief: Belief,
    limit: str,
    values: ArrayLike,
    *,
    success: float | None = None,
    steady: bool = False,
    epsilon: float | None = None,
    multiplier: float | None = None,
    posterior_cap: float | None = None,
) -> Array:
    """Least conference error `[values, ...]` at each value of one limit, the other limits kept.

    >>> limit_frontier(Belief([0.6, 0.4], [0.9, 0.2]), "multiplier", [1.0, 1.5, 2.0]).round(6)
    array([0.38, 0.26, 0.14])
    """
    if limit not in _LIMITS:
        raise InputError(f"limit must be one of {', '.join(_LIMITS)}, found {limit!r}")
    kept = {
        "success": success,
        "epsilon": epsilon,
        "multiplier": multiplier,
        "posterior_cap": posterior_cap,
    }
    grid = np.atleast_1d(np.asarray(values, dtype=np.float64))
    return np.stack(
        [
            private_policy(belief, steady=steady, **{**kept, limit: float(value)}).conference_error(belief)
            for value in grid
        ]
    )


def largest_success(weight: ArrayLike, epsilon: ArrayLike) -> Array:
    """The greatest success any policy within `epsilon` can give the adversary, `weight[..., n]`.

    `max(w1, (w1 + w2) e^eps/(1+e^eps))` with the two largest weights: randomized response between them.

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
    """No policy that gives the adversary more than `success` has an epsilon below this.

    The inverse of `largest_success`; 0 where the scores alone give that much. The reverse does not hold:
    a success of no more than the scores give allows any epsilon, even infinity.

    >>> round(float(np.exp(least_epsilon([0.6, 0.4], 0.8))), 9)
    4.0
    """
    w, wanted = nonnegative("weight", weight), within("success", success, 0.0, 1.0)
    top = np.sort(w, axis=-1)[..., -2:]
    both = top.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.log(wanted) - np.log(np.maximum(both - wanted, 0.0))
    return np.where(wanted <= top[..., -1], 0.0, np.maximum(needed, 0.0))


def composed_epsilon(epsilons: ArrayLike) -> float:
    """Between two complete assignments that differ on these papers, given independent coins: the sum.

    >>> composed_epsilon([1.0, 0.5, 0.5])
    2.0
    """
    return float(np.sum(nonnegative("epsilon", epsilons)))


def composed_success(epsilon: float, papers: int, prior: float = 0.5) -> float:
    """The greatest success in telling two complete assignments apart that differ on k papers, each decided
    within `epsilon` by its own coin.

    Randomized response on each is the worst case: the number of evident decisions is binomial,
    `sum_j max(p B(j; k, q), (1-p) B(j; k, 1-q))` with `q = e^eps/(1+e^eps)`.

    >>> composed_success(np.log(3.0), 1), round(composed_success(np.log(3.0), 3), 6)
    (0.75, 0.84375)
    """
    chance = 1.0 / (1.0 + np.exp(-float(nonnegative("epsilon", epsilon))))
    p = float(strictly_within("prior", prior, 0.0, 1.0))
    k = int(
        where("papers", np.asarray(papers, dtype=np.float64), np.asarray(papers >= 1), "must be at least 1")
    )
    hits = np.arange(k + 1)
    return float(np.maximum(p * binom.pmf(hits, k, chance), (1 - p) * binom.pmf(hits, k, 1 - chance)).sum())


def _check_achievable(belief: Belief, limits: Limits) -> None:
    """The scores alone already reveal so much: no policy keeps a lower limit."""
    if limits.success is None and limits.posterior_cap is None:
        return
    tops = label_tops(belief.weight, belief.labels)
    for name, limit, least in (
        ("success", limits.success, tops.mean(axis=-1)),
        ("posterior_cap", limits.posterior_cap, tops.max(axis=-1)),
    ):
        if limit is not None and (limit < least - _SLACK).any():
            raise InputError(
                f"{name} {limit:g} is below what the scores alone give: "
                f"{int((limit < least - _SLACK).sum())} of {least.size} instances, up to "
                f"{number_text(least.max())}"
            )


def _box_policy(belief: Belief, limits: Limits) -> Policy:
    """Accepting secrets at `high`, rejecting ones at `low`, with (low, high) a corner of the polygon

    high <= e^eps low,   1-low <= e^eps (1-high),   high - low <= multiplier - 1
    """
    corners = list(_box_corners(limits))
    if not corners:
        return evidence_policy(belief)
    lean = np.sign(belief.favor - 0.5)
    tables = [np.where(lean > 0, high, np.where(lean < 0, low, 0.5 * (low + high))) for low, high in corners]
    errors = np.stack([unchecked_policy(table).conference_error(belief) for table in tables])
    best = np.argmin(errors, axis=0)
    return unchecked_policy(np.choose(best[..., None], tables))


def _box_corners(limits: Limits) -> Iterator[tuple[float, float]]:
    """Corners (low, high), the constant decisions first; none without limits."""
    if limits.epsilon is None and limits.multiplier is None:
        return
    yield 1.0, 1.0
    yield 0.0, 0.0
    apart = 1.0 if limits.multiplier is None else limits.multiplier - 1.0
    shrink = 0.0 if limits.epsilon is None else float(np.exp(-limits.epsilon))
    response = 1.0 / (1.0 + shrink)
    if response - shrink * response <= apart:
        yield 1.0 - response, response
    elif apart > 0.0:
        high = apart / (1.0 - shrink)
        yield high * shrink, high
        yield 1.0 - high, 1.0 - high * shrink


def _program_policy(belief: Belief, limits: Limits) -> Policy:
    shape, n = belief.weight.shape[:-1], belief.weight.shape[-1]
    weight, favor = belief.weight.reshape(-1, n), belief.favor.reshape(-1, n)
    accept = np.empty_like(weight)
    for i, labels in enumerate(_labels_of(belief, len(weight))):
        loss = np.stack([1.0 - favor[i], favor[i]], axis=-1)
        accept[i] = Program(weight[i] / weight[i].sum(), loss, labels, limits).solve().p[:, 0]
        if limits.steady or limits.posterior_cap is not None:
            accept[i] = 1.0 - _repaired(weight[i], 1.0 - accept[i], labels, limits)
            accept[i] = _repaired(weight[i], accept[i], labels, limits)
    return unchecked_policy(np.clip(accept, 0.0, 1.0).reshape(*shape, n))


def _repaired(weight: Array, chance: Array, labels: Integers | None, limits: Limits) -> Array:
    """The posterior of an outcome of `chance[secret]`, kept also where it is rarer than the solver sees.

    Raising the chance by the same r for every secret brings a posterior of mass m to the cap at
    `r = (m - cap P) / (cap - prior)`; where the cap is the prior itself, a rare outcome is given up.
    """
    slots = np.arange(weight.size)[None] if labels is None else labels
    tops = label_tops(weight, slots)
    caps = tops if limits.steady else np.ones_like(tops)
    if limits.posterior_cap is not None:
        caps = np.minimum(caps, max(limits.posterior_cap, float(tops.max())))
    for slot, cap in zip(slots, caps, strict=True):
        named = np.flatnonzero(slot >= 0)
        _, label = np.unique(slot[named], return_inverse=True)
        mass, prior = np.bincount(label, (weight * chance)[named]), np.bincount(label, weight[named])
        total = weight @ chance
        over = mass - cap * total
        broken = over > 1e-12 * total
        if broken.any():
            room = np.maximum(cap - prior[broken], 1e-300)
            raised = float((over[broken] / room).max())
            chance = chance + raised if raised < _RARE else chance * float(total > _RARE)
    return np.minimum(chance, 1.0)


def _labels_of(belief: Belief, count: int) -> Iterator[Integers | None]:
    if belief.labels is None:
        yield from [None] * count
    else:
        slots, n = belief.labels.shape[-2:]
        each = np.broadcast_to(belief.labels, (*belief.weight.shape[:-1], slots, n)).reshape(-1, slots, n)
        yield from each
