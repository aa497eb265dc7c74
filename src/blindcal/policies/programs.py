"""Any finite case -> policy by linear programming; the oracle of the closed form.

Many decisions, labels, and every limit. The variable is `x[r, d] = weight[r] * P(d | r)`: with the
probabilities themselves the solver's tolerance is divided by the price, and skewed weights lose seven digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from blindcal.cells import number_text
from blindcal.checks import Array, Integers, nonnegative, numbers
from blindcal.errors import BlindcalError, InputError
from blindcal.policies.highs import passed, run
from blindcal.policies.policy import Limits, label_tops

_FEASIBLE = 1e-12
# Lighter secrets than this cannot be seen by the solver: their probabilities are set afterwards.
_LIGHTEST = 1e-11
_SAME_VERTEX = 1e-12


@dataclass(frozen=True, eq=False)
class Solution:
    """`p[secret, decision]`, its expected loss `value`, the adversary's `success`, mean over the slots."""

    p: Array
    value: float
    success: float


def solve(
    weight: ArrayLike,
    loss: ArrayLike,
    labels: ArrayLike | None = None,
    success: float | None = None,
    steady: bool = False,
    epsilon: float | None = None,
    multiplier: float | None = None,
    posterior_cap: float | None = None,
) -> Solution:
    """The least expected loss within the limits, for one instance: `loss[secret, decision]`.

    For two decisions 0 is accept and 1 is reject, so the losses of a belief are `[1-favor, favor]`.

    >>> favor = np.array([0.9, 0.2])
    >>> solution = solve([0.6, 0.4], np.stack([1 - favor, favor], axis=-1), success=0.6)
    >>> print(f"{solution.value:.6f}")
    0.380000
    """
    return Program(weight, loss, labels, Limits(success, steady, epsilon, multiplier, posterior_cap)).solve()


class Program:
    """One instance held by the solver, so that a next solve at another success or price starts warm."""

    def __init__(
        self,
        weight: ArrayLike,
        loss: ArrayLike,
        labels: ArrayLike | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.weight = nonnegative("weight", weight)
        self.loss = numbers("loss", loss)
        self.limits = Limits() if limits is None else limits
        if self.weight.ndim != 1 or self.loss.shape[:1] != self.weight.shape or self.loss.ndim != 2:
            raise InputError(
                f"weight[secret] and loss[secret, decision] do not fit: "
                f"{self.weight.shape} and {self.loss.shape}"
            )
        if abs(self.weight.sum() - 1.0) > 1e-9:
            raise InputError(f"weight must sum to 1 over the secrets, found {number_text(self.weight.sum())}")
        self.labels = _slots(labels, self.weight.size)
        self.tops = label_tops(self.weight, self.labels)
        _achievable(self.limits, self.tops)
        self._columns = _Columns(self.weight.size, self.loss.shape[1], self.labels.shape[0])
        self._highs = _load(*_model(self))

    def solve(self, *, success: float | None = None, price: float = 0.0) -> Solution:
        """The least `loss + price*success` within the limits, `success` replacing the limit's if given."""
        limit = self.limits.success if success is None else success
        if success is not None:
            _achievable(Limits(success=success), self.tops)
        slots = self._columns.slots
        cost = np.full(slots * self._columns.decisions, price / slots)
        columns = self._columns.guess(0) + np.arange(cost.size, dtype=np.int32)
        self._highs.changeColsCost(cost.size, columns.astype(np.int32), cost)
        ceiling = highspy.kHighsInf if limit is None else slots * max(limit, float(self.tops.mean()))
        self._highs.changeRowBounds(0, -highspy.kHighsInf, ceiling)
        return self._run()

    def least_leaking(self) -> Solution:
        """Among the policies of least loss within no limit at all, the one of least success."""
        best = self.loss.min(axis=1, keepdims=True)
        upper = np.where(self.loss <= best, self.weight[:, None], 0.0).ravel()
        self._bound(upper)
        free = Program.solve(self, success=1.0, price=1.0)
        self._bound(np.repeat(self.weight, self.loss.shape[1]))
        return free

    def _bound(self, upper: Array) -> None:
        columns = np.arange(upper.size, dtype=np.int32)
        self._highs.changeColsBounds(upper.size, columns, np.zeros(upper.size), upper)

    def _run(self) -> Solution:
        status = run(self._highs)
        if status != highspy.HighsModelStatus.kOptimal:
            # Presolve calls tight programs infeasible by a rounding: try once more without it.
            self._highs.clearSolver()
            self._highs.setOptionValue("presolve", "off")
            status = run(self._highs)
        if status != highspy.HighsModelStatus.kOptimal:
            raise BlindcalError(f"the solver stopped: {self._highs.modelStatusToString(status)}")
        values = np.asarray(self._highs.getSolution().col_value)
        p = _polished(self, values)
        mass = self.weight[:, None] * p
        tops = sum(label_tops(column, self.labels).mean() for column in mass.T)
        return Solution(p, float((mass * self.loss).sum()), float(tops))


@dataclass(frozen=True)
class _Columns:
    """Where each variable lies: x[r, d], then t[slot, d], P(d), lo[d] and hi[d]."""

    secrets: int
    decisions: int
    slots: int

    def guess(self, slot: int) -> int:
        return (self.secrets + slot) * self.decisions

    def outcome(self) -> int:
        return self.guess(self.slots)

    def low(self) -> int:
        return self.outcome() + self.decisions

    def high(self) -> int:
        return self.low() + self.decisions

    def count(self) -> int:
        return self.high() + self.decisions


class _Rows:
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


def _model(program: Program) -> tuple[Array, Array, Array, _Rows]:
    """Cost, column bounds and rows of the general program."""
    w, loss = program.weight, program.loss
    at, free = program._columns, highspy.kHighsInf
    n, decisions = loss.shape
    x = np.arange(n * decisions).reshape(n, decisions)
    t = at.guess(0) + np.arange(at.slots * decisions).reshape(at.slots, decisions)
    d = np.arange(decisions)
    rows = _Rows()
    rows.add(-free, free, (0, t, 1.0))
    rows.add(w, w, (np.arange(n)[:, None], x, 1.0))
    rows.add(np.zeros(decisions), np.zeros(decisions), (d, x, 1.0), (d, at.outcome() + d, -1.0))
    caps = _posterior_caps(program)
    for slot, labels in enumerate(program.labels):
        count = int(labels.max()) + 1
        named = labels >= 0
        row, mass = labels[named][:, None] * decisions + d, x[named]
        every = np.arange(count)[:, None] * decisions + d
        rows.add(-free, np.zeros(count * decisions), (row, mass, 1.0), (every, t[slot], -1.0))
        if caps is not None:
            ceiling = (every, at.outcome() + d, -caps[slot])
            rows.add(-free, np.zeros(count * decisions), (row, mass, 1.0), ceiling)
    _add_box(rows, program, x)
    upper = np.full(at.count(), 1.0)
    upper[x] = w[:, None]
    cost = np.zeros(at.count())
    cost[x] = loss
    return cost, np.zeros(at.count()), upper, rows


def _posterior_caps(program: Program) -> Array | None:
    """Each slot's largest allowed posterior: its own from the scores alone if steady, and the cap."""
    caps = program.tops if program.limits.steady else np.ones_like(program.tops)
    if program.limits.posterior_cap is not None:
        caps = np.minimum(caps, np.maximum(program.limits.posterior_cap, program.tops.max()))
    return caps if program.limits.steady or program.limits.posterior_cap is not None else None


def _add_box(rows: _Rows, program: Program, x: Integers) -> None:
    """`lo[d]*weight <= x <= hi[d]*weight`, `hi <= e^eps lo`, `sum_d hi <= multiplier`."""
    limits, at, free = program.limits, program._columns, highspy.kHighsInf
    if limits.epsilon is None and limits.multiplier is None:
        return
    heavy = program.weight >= _LIGHTEST
    d = np.arange(x.shape[1])
    xs, size = x[heavy], x[heavy].size
    row = np.arange(size).reshape(xs.shape)
    w = program.weight[heavy][:, None]
    rows.add(-free, np.zeros(size), (row, xs, 1.0), (row, at.high() + d, -w))
    if limits.epsilon is not None:
        rows.add(-free, np.zeros(size), (row, xs, -1.0), (row, at.low() + d, w))
        shrink = float(np.exp(-limits.epsilon))
        rows.add(-free, np.zeros(d.size), (d, at.high() + d, shrink), (d, at.low() + d, -1.0))
        rows.add(-free, 1.0, (0, at.low() + d, 1.0))
    rows.add(1.0, free, (0, at.high() + d, 1.0))
    if limits.multiplier is not None:
        rows.add(-free, limits.multiplier, (0, at.high() + d, 1.0))


def _polished(program: Program, values: Array) -> Array:
    """The solver's `x` as probabilities that sum to 1 and keep the box; the lightest secrets are set here."""
    limits, at = program.limits, program._columns
    n, decisions = program.loss.shape
    low, high = np.zeros(decisions), np.ones(decisions)
    if limits.epsilon is not None or limits.multiplier is not None:
        high = np.clip(values[at.high() : at.high() + decisions], 0.0, 1.0)
    if limits.epsilon is not None:
        low = np.clip(values[at.low() : at.low() + decisions], high * np.exp(-limits.epsilon), high)
    x = np.maximum(values[: n * decisions].reshape(n, decisions), 0.0)
    total = x.sum(axis=1, keepdims=True)
    light = (program.weight < _LIGHTEST) | (total[:, 0] <= 0.0)
    p = np.clip(x / np.where(light[:, None], 1.0, total), low, high)
    p[light] = _cheapest(program.loss[light], low, high)
    return _summing_to_one(p, low, high)


def _cheapest(loss: Array, low: Array, high: Array) -> Array:
    """From `low`, fill up the decisions of least loss first, each to `high`, until they sum to 1."""
    order = np.argsort(loss, axis=1, kind="stable")
    room = (high - low)[order]
    used = np.concatenate([np.zeros((len(loss), 1)), np.cumsum(room, axis=1)[:, :-1]], axis=1)
    filled = np.clip(1.0 - low.sum() - used, 0.0, room)
    p = np.broadcast_to(low, loss.shape).copy()
    np.put_along_axis(p, order, low[order] + filled, axis=1)
    return p


def _summing_to_one(p: Array, low: Array, high: Array) -> Array:
    """Move each row to sum 1, using the room it has up to `high` or down to `low` in proportion."""
    missing = 1.0 - p.sum(axis=1, keepdims=True)
    missing = np.where(np.abs(missing) > 1e-15, missing, 0.0)
    room = np.where(missing > 0.0, high - p, p - low)
    total = room.sum(axis=1, keepdims=True)
    return p + missing * room / np.where(total > 0.0, total, 1.0)


def trace(weight: Array, favor: Array, labels: Integers) -> tuple[Array, Array, Array]:
    """The exact frontier of one labeled belief: both errors and the accept table at each vertex.

    Between two vertices the program that prices success at their chord's slope finds a better one, or shows
    that there is none. A mixture of neighboring tables is optimal too: success is convex in the policy.
    """
    program = Program(weight, np.stack([1.0 - favor, favor], axis=-1), labels)
    start, end = program.least_leaking(), program.solve(success=float(program.tops.mean()))
    vertices = [start]
    pending = [(start, end)]
    while pending:
        left, right = pending.pop()
        between = _between(program, left, right)
        if between is None:
            vertices.append(right)
        else:
            pending += [(between, right), (left, between)]
    points = np.array([(v.value, max(float(weight.sum()) - v.success, 0.0)) for v in vertices])
    points = np.maximum.accumulate(points, axis=0)
    return points[:, 0], points[:, 1], np.stack([v.p[:, 0] for v in vertices])


def _between(program: Program, left: Solution, right: Solution) -> Solution | None:
    """A vertex below the chord from `left` to `right`, if there is one."""
    run, rise = left.success - right.success, right.value - left.value
    if run <= _SAME_VERTEX or rise <= _SAME_VERTEX:
        return None
    price = rise / run
    found = program.solve(success=1.0, price=price)
    gain = left.value + price * left.success - (found.value + price * found.success)
    return found if gain > _SAME_VERTEX * (1.0 + price) else None


def _slots(labels: ArrayLike | None, secrets: int) -> Integers:
    """Labels as `[slot, secret]`, numbered 0, 1, ... in each slot and -1 for nobody; by default one slot, the
    secret itself."""
    if labels is None:
        return np.arange(secrets, dtype=np.int64)[None, :]
    array = np.asarray(labels)
    if not np.issubdtype(array.dtype, np.integer) or array.ndim != 2 or array.shape[1] != secrets:
        raise InputError(
            f"labels must be integers [slot, secret] for {secrets} secrets, found {array.dtype} {array.shape}"
        )
    slots = [np.unique(np.maximum(slot, -1), return_inverse=True)[1] - (slot < 0).any() for slot in array]
    return np.stack(slots).astype(np.int64)


def _achievable(limits: Limits, tops: Array) -> None:
    if limits.success is not None and limits.success < tops.mean() - _FEASIBLE:
        raise InputError(
            f"success {limits.success} cannot be achieved: the scores alone give {float(tops.mean())}"
        )
    if limits.posterior_cap is not None and limits.posterior_cap < tops.max() - _FEASIBLE:
        raise InputError(
            f"posterior_cap {limits.posterior_cap} cannot be achieved: "
            f"the scores alone give {float(tops.max())}"
        )


def _load(cost: Array, lower: Array, upper: Array, rows: _Rows) -> Any:
    entries = (np.concatenate(rows.value), (np.concatenate(rows.row), np.concatenate(rows.column)))
    matrix = sparse.csc_array(sparse.coo_array(entries, shape=(rows.count, cost.size)))
    bounds = np.concatenate(rows.lower), np.concatenate(rows.upper)
    return passed(matrix, cost, (lower, upper), bounds)
