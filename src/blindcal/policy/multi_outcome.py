"""Any number of decisions with any losses: the probability of each decision, under the same guarantees.

Accept and reject have a program of their own (`accept_lp`), which is tested against this one. The variables
are `x[r, d] = weight[r] * P(d | r)`, for the reason given there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

import highspy
import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import ndtr

from blindcal.checks import Array, Integers, nonnegative, numbers, within
from blindcal.compute.highs import load_model, solve_model
from blindcal.errors import BlindcalError, InputError
from blindcal.io.cells import number_text
from blindcal.io.tables import long_frame
from blindcal.policy.guarantee import UNLIMITED, Guarantee
from blindcal.policy.policy import label_tops
from blindcal.reviewers.affine import Affine
from blindcal.reviewers.base import Reviewer

_FEASIBLE = 1e-12
# Secrets lighter than the solver's tolerance get their probabilities afterwards.
_LIGHTEST = 1e-11
_SAME_VERTEX = 1e-9


@dataclass(frozen=True, eq=False)
class OutcomeProbabilities:
    """The probabilities of decisions, with their expected loss.

    Attributes:
        chance: `[secret, decision]`, each row summing to 1.
        loss: The expected loss.
        success: The adversary's chance of a correct guess, mean over the slots.
    """

    chance: Array
    loss: float
    success: float

    @property
    def epsilon(self) -> float:
        """`max over secrets r, r' and outcomes d of log(P(d|r)/P(d|r'))`; 0/0 counts as 1.

        Example:
            >>> chances = np.array([[0.75, 0.25, 0.0], [0.25, 0.75, 0.0]])
            >>> round(OutcomeProbabilities(chances, 0.0, 0.0).epsilon, 6)
            1.098612
        """
        return float(channel_epsilon(self.chance))

    @property
    def multiplier(self) -> float:
        """`sum_d max_r P(d|r)`: the factor by which any prior's best guess can grow."""
        return float(self.chance.max(axis=0).sum())

    def largest_posterior(self, weight: ArrayLike, labels: ArrayLike | None = None) -> float:
        """The largest `P(label | outcome)` over the slots, labels and outcomes that can happen.

        Example:
            >>> chances = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
            >>> OutcomeProbabilities(chances, 0.0, 0.0).largest_posterior([0.6, 0.4])
            1.0
        """
        mass = nonnegative("weight", weight)[:, None] * self.chance
        slots = label_slots(labels, len(mass))
        tops = [label_tops(column, slots).max() / column.sum() for column in mass.T if column.sum() > 0.0]
        return float(max(tops))

    def to_frame(self) -> Any:
        """One row per secret and decision, as a pandas data frame; needs pandas."""
        return long_frame({"chance": self.chance}, "secret", "decision")


def channel_epsilon(chance: Array) -> Array:
    """`max over inputs r, r' and outputs d of log(P(d|r)/P(d|r'))` for `chance[..., r, d]`; 0/0 is 1."""
    most, least = chance.max(axis=-2), chance.min(axis=-2)
    with np.errstate(divide="ignore"):
        ratio = np.log(np.where(most > 0.0, most, 1.0)) - np.log(np.where(most > 0.0, least, 1.0))
    return np.asarray(ratio.max(axis=-1))


def least_loss(
    weight: ArrayLike,
    loss: ArrayLike,
    labels: ArrayLike | None = None,
    guarantee: Guarantee = UNLIMITED,
    *,
    success: float | None = None,
    price: float = 0.0,
) -> OutcomeProbabilities:
    """The least expected loss under a guarantee, for one instance and any number of decisions.

    Args:
        weight: `[secret]`, the belief before the decision, which sums to 1.
        loss: `[secret, decision]`; for accept and reject, that of a belief is `[1-favor, favor]`.
        labels: `[slot, secret]`, the correct guesses, as in `Belief`; by default the secret.
        guarantee: What else is limited; nothing by default. It must be without `never_against`.
        success: The most that the adversary's chance of a correct guess may be, mean over the slots.
        price: The cost of a unit of that chance on top of the loss; nothing by default.

    Example:
        >>> favor = np.array([0.9, 0.2])
        >>> best = least_loss([0.6, 0.4], np.stack([1 - favor, favor], axis=-1), success=0.6)
        >>> print(f"{best.loss:.6f}")
        0.380000
    """
    case = _Instance(weight, loss, labels, guarantee, success)
    values = _optimum(_model(case, float(nonnegative("price", price))))
    chance = _polished(case, values)
    mass = case.weight[:, None] * chance
    tops = sum(label_tops(column, case.labels).mean() for column in mass.T)
    return OutcomeProbabilities(chance, float((mass * case.loss).sum()), float(tops))


@dataclass(frozen=True, eq=False)
class LossFrontier:
    """The least loss for each success of the adversary: vertices from full calibration onward.

    Attributes:
        loss: Rises along the vertices.
        success: Falls along the vertices.
        chance: `[vertex, secret, decision]`, the probabilities at each vertex.
    """

    loss: Array
    success: Array
    chance: Array

    def at(self, success: float) -> OutcomeProbabilities:
        """The mixture of two vertices with at most this success; success is convex, so it may be less.

        Example:
            >>> front = loss_frontier([0.6, 0.4], [[0.1, 0.9], [0.8, 0.2]])
            >>> round(front.at(0.9).loss, 9)
            0.2
        """
        if success < self.success[-1] - _FEASIBLE:
            raise InputError(
                f"success {success} cannot be achieved: the scores alone give {self.success[-1]}"
            )
        position = np.interp(-success, -self.success, np.arange(len(self.success)))
        low = min(int(position), len(self.success) - 2) if len(self.success) > 1 else 0
        part, high = position - low, min(low + 1, len(self.success) - 1)
        mixed = [(1.0 - part) * value[low] + part * value[high] for value in (self.chance, self.loss)]
        return OutcomeProbabilities(mixed[0], float(mixed[1]), float(max(success, self.success[-1])))

    def to_frame(self) -> Any:
        """One row per vertex, as a pandas data frame; needs pandas."""
        return long_frame({"loss": self.loss, "success": self.success}, "vertex")


def loss_frontier(
    weight: ArrayLike, loss: ArrayLike, labels: ArrayLike | None = None, guarantee: Guarantee = UNLIMITED
) -> LossFrontier:
    """The best trade-off of expected loss and the adversary's success, for any number of decisions.

    Args:
        weight: As for `least_loss`.
        loss: As for `least_loss`.
        labels: As for `least_loss`.
        guarantee: As for `least_loss`.

    Example:
        >>> front = loss_frontier([0.6, 0.4], [[0.1, 0.9], [0.8, 0.2]])
        >>> front.loss.round(9), front.success.round(9)
        (array([0.14, 0.38]), array([1. , 0.6]))
    """
    top = float(_Instance(weight, loss, labels, guarantee, None).tops.mean())
    first = least_loss(weight, loss, labels, guarantee, price=_SAME_VERTEX)
    last = least_loss(weight, loss, labels, guarantee, success=top)
    vertices, pending = [first], [(first, last)]
    while pending:
        left, right = pending.pop()
        run, rise = left.success - right.success, right.loss - left.loss
        if run > _SAME_VERTEX and rise > _SAME_VERTEX:
            price = rise / run
            between = least_loss(weight, loss, labels, guarantee, price=price)
            gain = left.loss + price * left.success - between.loss - price * between.success
            if gain > _SAME_VERTEX * (1.0 + price):
                pending += [(between, right), (left, between)]
                continue
        if run > _SAME_VERTEX:
            vertices.append(right)
    parts = (
        np.array([getattr(vertex, name) for vertex in vertices]) for name in ("loss", "success", "chance")
    )
    return LossFrontier(*parts)


class _Instance:
    """One instance, checked: what the scores alone give, and the limits of the guarantee as numbers."""

    def __init__(
        self,
        weight: ArrayLike,
        loss: ArrayLike,
        labels: ArrayLike | None,
        guarantee: Guarantee,
        success: float | None,
    ) -> None:
        self.weight, self.loss = nonnegative("weight", weight), numbers("loss", loss)
        if self.weight.ndim != 1 or self.loss.shape[:1] != self.weight.shape or self.loss.ndim != 2:
            raise InputError(
                f"weight[secret] and loss[secret, decision] do not fit: "
                f"{self.weight.shape} and {self.loss.shape}"
            )
        if abs(self.weight.sum() - 1.0) > 1e-9:
            raise InputError(f"weight must sum to 1 over the secrets, found {number_text(self.weight.sum())}")
        guarantee.check_outcomes()
        self.labels = label_slots(labels, self.weight.size)
        self.tops = label_tops(self.weight, self.labels)
        # Where each variable lies: x[r, d], then t[slot, d], P(d), lo[d] and hi[d].
        kinds = np.cumsum([self.weight.size, len(self.labels), 1, 1, 1]) * self.loss.shape[1]
        self.guess, self.outcome, self.low, self.high, self.columns = kinds.tolist()
        self.caps = guarantee.caps(self.tops) if guarantee.capped else None
        self.epsilon = 0.0 if guarantee.name == "public" else guarantee.epsilon
        self.multiplier = guarantee.multiplier
        alone, surest = float(self.tops.mean()), float(self.tops.max())
        # The limit on success: the one given, and what the average guarantee leaves.
        limits = [] if success is None else [float(within("success", success, 0.0, 1.0))]
        limits += [min(1.0, alone + guarantee.added_success)] if guarantee.name == "average" else []
        self.success = min(limits, default=None)
        # What the scores alone reveal cannot be taken back.
        if self.success is not None and self.success < alone - _FEASIBLE:
            raise InputError(f"success {self.success} cannot be achieved: the scores alone give {alone}")
        cap = guarantee.posterior_cap
        if cap is not None and cap < surest - _FEASIBLE:
            raise InputError(f"posterior cap {cap} cannot be achieved: the scores alone give {surest}")


def _optimum(solver: Any) -> Array:
    status = solve_model(solver)
    if status != highspy.HighsModelStatus.kOptimal:
        # Rounding makes presolve call some tight programs infeasible: try once more without it.
        solver.clearSolver()
        solver.setOptionValue("presolve", "off")
        status = solve_model(solver)
    if status != highspy.HighsModelStatus.kOptimal:
        raise BlindcalError(f"the solver stopped: {solver.modelStatusToString(status)}")
    return np.asarray(solver.getSolution().col_value)


class _ConstraintRows:
    """Rows of `lower <= a x <= upper`, gathered block by block."""

    def __init__(self) -> None:
        self.row: list[Array] = []
        self.column: list[Array] = []
        self.value: list[Array] = []
        self.lower: list[Array] = []
        self.upper: list[Array] = []
        self.count = 0

    def add(self, lower: ArrayLike, upper: ArrayLike, *terms: tuple[ArrayLike, ArrayLike, ArrayLike]) -> None:
        """One row for each entry of `upper`; each term is (row within the block, column, coefficient)."""
        high = np.atleast_1d(np.asarray(upper, dtype=np.float64))
        for row, column, value in terms:
            r, c, v = (np.ravel(a) for a in np.broadcast_arrays(row, column, value))
            self.row.append(r + self.count)
            self.column.append(c)
            self.value.append(v.astype(np.float64))
        self.lower.append(np.broadcast_to(np.asarray(lower, dtype=np.float64), high.shape))
        self.upper.append(high)
        self.count += high.size


def _model(case: _Instance, price: float) -> Any:
    """The program of the general case, as the solver has it."""
    w, loss, slots, free = case.weight, case.loss, len(case.labels), highspy.kHighsInf
    n, decisions = loss.shape
    x = np.arange(n * decisions).reshape(n, decisions)
    t = case.guess + np.arange(slots * decisions).reshape(slots, decisions)
    d = np.arange(decisions)
    rows = _ConstraintRows()
    ceiling = free if case.success is None else slots * max(case.success, float(case.tops.mean()))
    rows.add(-free, ceiling, (0, t, 1.0))
    rows.add(w, w, (np.arange(n)[:, None], x, 1.0))
    rows.add(np.zeros(decisions), np.zeros(decisions), (d, x, 1.0), (d, case.outcome + d, -1.0))
    for slot, labels in enumerate(case.labels):
        count = int(labels.max()) + 1
        named = labels >= 0
        row, mass = labels[named][:, None] * decisions + d, x[named]
        every = np.arange(count)[:, None] * decisions + d
        rows.add(-free, np.zeros(count * decisions), (row, mass, 1.0), (every, t[slot], -1.0))
        if case.caps is not None:
            capped = (every, case.outcome + d, -case.caps[slot])
            rows.add(-free, np.zeros(count * decisions), (row, mass, 1.0), capped)
    _add_box(rows, case, x)
    upper = np.full(case.columns, 1.0)
    upper[x] = w[:, None]
    cost = np.zeros(case.columns)
    cost[x] = loss
    cost[t] = price / slots
    entries = (np.concatenate(rows.value), (np.concatenate(rows.row), np.concatenate(rows.column)))
    matrix = sparse.csc_array(sparse.coo_array(entries, shape=(rows.count, cost.size)))
    bounds = np.concatenate(rows.lower), np.concatenate(rows.upper)
    return load_model(matrix, cost, (np.zeros(case.columns), upper), bounds)


def _add_box(rows: _ConstraintRows, case: _Instance, x: Integers) -> None:
    """`lo[d]*weight <= x <= hi[d]*weight`, `hi <= e^eps lo`, `sum_d hi <= multiplier`."""
    free = highspy.kHighsInf
    if case.epsilon is None and case.multiplier is None:
        return
    heavy = case.weight >= _LIGHTEST
    d = np.arange(x.shape[1])
    xs, size = x[heavy], x[heavy].size
    row = np.arange(size).reshape(xs.shape)
    w = case.weight[heavy][:, None]
    low, high = case.low + d, case.high + d
    rows.add(-free, np.zeros(size), (row, xs, 1.0), (row, high, -w))
    if case.epsilon is not None:
        rows.add(-free, np.zeros(size), (row, xs, -1.0), (row, low, w))
        shrink = float(np.exp(-case.epsilon))
        rows.add(-free, np.zeros(d.size), (d, high, shrink), (d, low, -1.0))
        rows.add(-free, 1.0, (0, low, 1.0))
    rows.add(1.0, free, (0, high, 1.0))
    if case.multiplier is not None:
        rows.add(-free, case.multiplier, (0, high, 1.0))


def _polished(case: _Instance, values: Array) -> Array:
    """The solver's `x` as probabilities that sum to 1 and keep the box; light secrets are set here."""
    n, decisions = case.loss.shape
    low, high = np.zeros(decisions), np.ones(decisions)
    if case.epsilon is not None or case.multiplier is not None:
        high = np.clip(values[case.high :], 0.0, 1.0)
    if case.epsilon is not None:
        low = np.clip(values[case.low : case.high], high * np.exp(-case.epsilon), high)
    x = np.maximum(values[: n * decisions].reshape(n, decisions), 0.0)
    total = x.sum(axis=1, keepdims=True)
    light = (case.weight < _LIGHTEST) | (total[:, 0] <= 0.0)
    p = np.clip(x / np.where(light[:, None], 1.0, total), low, high)
    p[light] = _cheapest(case.loss[light], low, high)
    return _summing_to_one(p, low, high)


def _cheapest(loss: Array, low: Array, high: Array) -> Array:
    """From `low`, fill up the decisions of least loss first, each to `high`, until they sum to 1."""
    order = np.argsort(loss, axis=1, kind="stable")
    slack = (high - low)[order]
    used = np.concatenate([np.zeros((len(loss), 1)), np.cumsum(slack, axis=1)[:, :-1]], axis=1)
    filled = np.clip(1.0 - low.sum() - used, 0.0, slack)
    p = np.broadcast_to(low, loss.shape).copy()
    np.put_along_axis(p, order, low[order] + filled, axis=1)
    return p


def _summing_to_one(p: Array, low: Array, high: Array) -> Array:
    """Move each row to sum 1, in proportion to the room it has up to `high` or down to `low`."""
    missing = 1.0 - p.sum(axis=1, keepdims=True)
    missing = np.where(np.abs(missing) > 1e-15, missing, 0.0)
    room = np.where(missing > 0.0, high - p, p - low)
    total = room.sum(axis=1, keepdims=True)
    return p + missing * room / np.where(total > 0.0, total, 1.0)


def label_slots(labels: ArrayLike | None, secrets: int) -> Integers:
    """Labels as `[slot, secret]`, numbered 0, 1, ... in each slot and -1 for nobody.

    By default there is one slot, the secret itself.
    """
    if labels is None:
        return np.arange(secrets, dtype=np.int64)[None, :]
    array = np.asarray(labels)
    if not np.issubdtype(array.dtype, np.integer) or array.ndim != 2 or array.shape[1] != secrets:
        raise InputError(
            f"labels must be integers [slot, secret] for {secrets} secrets, found {array.dtype} {array.shape}"
        )
    slots = [np.unique(np.maximum(slot, -1), return_inverse=True)[1] - (slot < 0).any() for slot in array]
    return np.stack(slots).astype(np.int64)


# --- Accept k of m papers, each with one review by one of m reviewers: the pair generalized, for small m.
#
# Secrets are the m! assignments, decisions the subsets of k papers; `least_loss` then finds the policy.

_MOST_PAPERS = 6
_FINEST = 1000.0


@dataclass(frozen=True, eq=False)
class Selection:
    """The problem of accepting some of several papers, as `least_loss` takes it.

    `labels[i, a]` is the reviewer of paper i again, for an adversary that guesses who reviewed each paper
    rather than the whole assignment.

    Attributes:
        weight: `weight[assignment]`, its probability given the scores.
        loss: `loss[assignment, decision]`, the expected loss.
        assignments: `assignments[a, i]`, the reviewer of paper i.
        decisions: `decisions[d]`, the accepted papers.
    """

    weight: Array
    loss: Array
    assignments: Integers
    decisions: Integers

    def to_frame(self) -> Any:
        """One row per assignment and decision, as a pandas data frame; needs pandas."""
        values = {"weight": self.weight[:, None], "loss": self.loss}
        return long_frame(values, "assignment", "decision")

    @property
    def labels(self) -> Integers:
        """`[paper, assignment]`: the reviewer, for an adversary that guesses who reviewed each paper."""
        return self.assignments.T


def selection(reviewers: Sequence[Reviewer], scores: ArrayLike, accepted: int) -> Selection:
    """All assignments of m reviewers to m papers, equally likely before the scores, and all ways to accept.

    The loss is the expected share of the accepted papers that are not among the best: 1 minus their mean
    P(paper is one of the `accepted` best | scores, assignment). With two papers, one accepted, it is the
    pair.

    Args:
        reviewers: Two to six, each `Affine` with known slope and offset: given a score, quality must be
            normal.
        scores: One for each paper.
        accepted: How many papers are accepted, from 1 to m-1.

    Example:
        >>> problem = selection([Affine(1.0), Affine(1.0, 1.0)], [0.5, 0.0], accepted=1)
        >>> problem.weight.round(6), problem.loss.tolist()
        (array([0.377541, 0.622459]), [[0.0, 1.0], [1.0, 0.0]])
    """
    s = numbers("scores", scores)
    m = len(reviewers)
    if s.shape != (m,) or not 2 <= m <= _MOST_PAPERS:
        raise InputError(f"give 2 to {_MOST_PAPERS} reviewers and one score each, found {m} and {s.shape}")
    if not 1 <= accepted < m:
        raise InputError(f"accepted must lie in 1..{m - 1}, found {accepted}")
    assignments = np.array(list(permutations(range(m))), dtype=np.int64)
    decisions = np.array(list(combinations(range(m), accepted)), dtype=np.int64)
    log_density, mean, deviation = (
        np.array(part) for part in zip(*(_quality(reviewer, s) for reviewer in reviewers), strict=True)
    )
    papers = np.arange(m)
    log_weight = log_density[assignments, papers].sum(axis=-1)
    weight = np.exp(log_weight - log_weight.max())
    best = _among_best(mean[assignments, papers], deviation[assignments, papers], accepted)
    loss = 1.0 - best[:, decisions].mean(axis=-1)
    return Selection(weight / weight.sum(), np.clip(loss, 0.0, 1.0), assignments, decisions)


def _quality(reviewer: Reviewer, scores: Array) -> tuple[Array, Array, Array]:
    """For each score: its log density, and mean and deviation of the quality behind it."""
    if not isinstance(reviewer, Affine):
        raise InputError(f"a selection needs Affine reviewers, found {type(reviewer).__name__}")
    if reviewer.covariance is not None or reviewer.shape != ():
        raise InputError("a selection needs single reviewers with known slope and offset")
    total = np.square(reviewer.slope) + np.square(reviewer.noise)
    mean = reviewer.slope * (scores - reviewer.offset) / total
    deviation = np.broadcast_to(reviewer.noise / np.sqrt(total), scores.shape)
    return reviewer.log_marginal(scores), mean, deviation


def _among_best(mean: Array, deviation: Array, k: int) -> Array:
    """P(quality i is one of the k largest) for independent N(mean, deviation^2), along the last axis."""
    if not deviation.any():
        above = (mean[..., None, :] > mean[..., :, None]).sum(axis=-1)
        tied = (mean[..., None, :] == mean[..., :, None]).sum(axis=-1)
        return np.asarray(np.clip((k - above) / tied, 0.0, 1.0))
    if deviation.min() * _FINEST < deviation.max():
        raise InputError(
            f"noise must be positive for all reviewers or for none, and within a factor {_FINEST:g}"
        )
    step = 0.25 * deviation.min() / deviation.max()
    z = np.arange(-9.0, 9.0 + step, step)
    density = np.exp(-0.5 * np.square(z))
    probabilities = [_not_passed(mean, deviation, i, z, k) @ density for i in range(mean.shape[-1])]
    return np.asarray(np.stack(probabilities, axis=-1) / density.sum())


def _not_passed(mean: Array, deviation: Array, i: int, z: Array, k: int) -> Array:
    """P(fewer than k of the others are better) where quality i lies z deviations from its mean."""
    quality = mean[:, i, None] + deviation[:, i, None] * z
    better = np.zeros((k, *quality.shape))
    better[0] = 1.0
    for j in range(mean.shape[-1]):
        if j != i:
            chance = ndtr((mean[:, j, None] - quality) / deviation[:, j, None])
            moved = better * chance
            better *= 1.0 - chance
            better[1:] += moved[:-1]
    return np.asarray(better.sum(axis=0))
