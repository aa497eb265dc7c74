"""Orbits of one belief + Guarantee -> the best policy, by linear programming, with a bound that proves it.

The variables are `x = weight * accept`, one for each orbit, with one row for each slot and author. (With the
probabilities themselves the solver's tolerance is divided by the price, and skewed weights lose seven
digits.) Epsilon and the multiplier only bound the policy between a `low` and a `high`; the best pair of them
is found by cutting planes, each cut one warm-started program.

A belief's tuples by what the public data can tell of them: the columns and rows of its program.

Tuples that the public data cannot tell apart (authors with the same parameters and chances, slots with the
same score) are one *orbit* and share one accept probability, so a policy treats them alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from scipy import sparse

from blindcal.assignment.prior import NOBODY
from blindcal.checks import Array, Integers
from blindcal.compute.highs import passed, run
from blindcal.errors import CertificateError
from blindcal.io.tables import long_frame
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.policy import TIED
from blindcal.posterior.belief import Belief
from blindcal.posterior.paper import PaperCase

_ALIKE = 1e-9
# Keys that reach this many times further than there are tuples are sorted.
_WIDEST = 16


@dataclass(frozen=True, eq=False)
class Orbits:
    """Tuples that look alike, as one: `of[n]` names each tuple's orbit.

    `share[row, orbit]`: the part of an orbit's mass that one author has in one slot (mean over tied slots);
    `mass[row]` is that author's chance before any decision, `top[row]` the largest one of the row's slot,
    `slot[row]` the row's group of tied slots and `size[group]` how many slots that is.
    """

    of: Integers
    weight: Array
    favor: Array
    share: Any
    mass: Array
    top: Array
    slot: Integers
    size: Integers


def orbits(case: PaperCase, belief: Belief) -> Orbits:
    """Group the tuples of a paper by what the public data can tell of them."""
    if belief.entry is not None and belief.labels is not None:
        return _by_entry(belief, belief.entry, belief.labels, len(case.candidates))
    return _grouped(case.tuples, belief, *case.look_alikes)


def single_orbits(belief: Belief) -> Orbits:
    """Every secret of one instance by itself: of a plain belief nothing says what looks alike.

    >>> found = single_orbits(Belief([0.5, 0.3, 0.2], [0.9, 0.2, 0.7], [[7, 8, 8]]))
    >>> found.mass, found.top
    (array([0.5, 0.5]), array([0.5, 0.5]))
    """
    secrets = np.arange(belief.weight.size)
    labels = secrets[None] if belief.labels is None else belief.labels
    names, place = np.unique(np.maximum(labels, NOBODY), return_inverse=True)
    place = place.reshape(labels.shape) - int(names[0] == NOBODY)
    return _by_entry(belief, secrets, place, int(place.max()) + 1)


def crowd_orbits(case: PaperCase) -> Orbits:
    """The entries of a crowd as orbits: every author keeps its row in every slot."""
    group, kind = case.look_alikes
    one, belief = case.aggregated, case.belief
    if belief.labels is None or belief.entry is None:
        raise CertificateError("a crowd has labels and entries")
    groups, kinds = int(group.max()) + 1, int(kind.max()) + 1
    look, named = belief.labels, belief.labels >= 0
    row = group[:, None] * kinds + look
    weight = belief.by_entry(one.weight.size)
    share = belief.weight / np.where(weight > 0.0, weight, 1.0)[belief.entry]
    value = share / (np.bincount(group)[group][:, None] * np.bincount(kind + 1)[look + 1])
    column = np.broadcast_to(belief.entry, row.shape)
    shares = sparse.coo_array(
        (value[named], (row[named], column[named])), shape=(groups * kinds, weight.size)
    ).tocsc()
    return _orbits(np.arange(weight.size), weight, one.favor, shares, np.bincount(group))


def _by_entry(belief: Belief, entry: Integers, labels: Integers, kinds: int) -> Orbits:
    """Tuples with one accept probability as an orbit, whatever their weights; every author keeps its row."""
    groups, size = len(labels), int(entry.max()) + 1
    weight = np.bincount(entry, belief.weight, size).astype(np.float64)
    # Where an orbit weighs nothing its tuples count alike.
    part = np.where(weight[entry] > 0.0, belief.weight, 1.0)
    part = part / np.bincount(entry, part, size)[entry]
    row, named = np.arange(groups)[:, None] * kinds + labels, labels >= 0
    value, column = (np.broadcast_to(each, labels.shape)[named] for each in (part, entry))
    share = sparse.coo_array((value, (row[named], column)), shape=(groups * kinds, size)).tocsc()
    favor = np.bincount(entry, part * belief.favor, size).clip(0.0, 1.0)
    return _orbits(np.arange(size), weight, favor, share, np.ones(groups, dtype=np.int64))


def _grouped(rows: Integers, belief: Belief, group: Integers, kind: Integers) -> Orbits:
    """Tuples that look alike as an orbit. Kind -1 is nobody, who has no row."""
    kinds, groups = int(kind.max()) + 1, int(group.max()) + 1
    looks = kind[rows]
    for g in range(groups):
        looks[:, group == g] = np.sort(looks[:, group == g], axis=1)
    key = np.zeros(len(rows), dtype=np.int64)
    for column in looks.T:
        key = key * (kinds + 1) + column + 1
    first, of, count = _distinct(key)
    weight = np.bincount(of, belief.weight).astype(np.float64)
    if (np.abs(belief.weight * count[of] - weight[of]) > _ALIKE * weight[of]).any():
        raise CertificateError("tuples that look alike must have equal weights")
    favor = np.bincount(of, belief.favor) / count
    look, tied = looks[first], np.bincount(group)
    value = 1.0 / (tied[group] * np.bincount(kind + 1)[look + 1])
    row, column = group * kinds + look, np.arange(first.size)[:, None] + 0 * look
    named = look >= 0
    share = sparse.coo_array(
        (value[named], (row[named], column[named])), shape=(groups * kinds, first.size)
    ).tocsc()
    return _orbits(of, weight, favor, share, tied)


def _distinct(key: Integers) -> tuple[Integers, Integers, Integers]:
    """Of numbers from 0 on, in the order of their values: where each one is first, the place of every one
    among them, and how often each is there.

    >>> [part.tolist() for part in _distinct(np.array([7, 2, 7]))]
    [[1, 0], [1, 0, 1], [1, 2]]
    """
    size = int(key.max()) + 1
    if size > _WIDEST * key.size:
        _, first, of, count = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
        return first, of, count
    # Few numbers are missing: count them in place of sorting.
    many, start = np.bincount(key, minlength=size), np.empty(size, dtype=np.int64)
    start[key[::-1]] = np.arange(key.size)[::-1]
    there = np.flatnonzero(many)
    return start[there], (np.cumsum(many > 0) - 1)[key], many[there]


def _orbits(of: Integers, weight: Array, favor: Array, share: Any, size: Integers) -> Orbits:
    """With each author's chance before any decision, and the largest one of each group of slots."""
    mass, groups = share @ weight, size.size
    kinds = mass.size // groups
    top = mass.reshape(groups, kinds).max(axis=1, initial=0.0).repeat(kinds)
    return Orbits(of, weight, favor, share, mass, top, np.arange(groups).repeat(kinds), size)


_OPTIONS = {"presolve": "off", "solver": "choose"}
_ATTEMPTS: tuple[dict[str, str], ...] = ({"presolve": "off"}, {"presolve": "on"}, {"solver": "ipm"})
_GAP = 1e-9
_CUTS = 60
# Below this weight a program's tolerance says nothing of the decision: the evidence does.
_LIGHTEST = 1e-11
# A row exactly at the least success is met by a rounding or not at all.
_ROOM = 1e-12


@dataclass(frozen=True, eq=False)
class Solution:
    """The best policy found, and how far from the best possible it may be.

    `accept`: `[secret]`, the probability to accept for each.
    `error`: its conference error.
    `bound`: a conference error that no policy under the same limits can beat.
    `success`: the adversary's chance of a correct guess, mean over the slots (the reviews of a paper).
    """

    accept: Array
    error: float
    bound: float
    success: float

    def to_frame(self) -> Any:
        """One row per secret, as a pandas data frame; needs pandas."""
        return long_frame({"accept": self.accept}, "secret")


@dataclass(frozen=True, eq=False)
class Dual:
    """What proves a bound. To accept an orbit costs `-lean - total - share.T @ price` a unit of weight, on
    top of `constant`; with the rows priced in, only the range of the policy still limits it."""

    constant: float
    total: float
    price: Array
    corners: Array

    def bound(self, o: Orbits, fixed: Array) -> float:
        """The least error of any policy over these orbits, which may be finer than those of the program."""
        cost = 1.0 - 2.0 * o.favor - self.total - self.price @ o.share
        pull = o.weight * cost * (fixed < 0.0)
        least = self.corners @ [np.maximum(pull, 0.0).sum(), np.minimum(pull, 0.0).sum()]
        return self.constant + float(least.min()) + float(o.weight @ o.favor)


@dataclass(frozen=True, eq=False)
class _Block:
    """Rows for each slot and author: coefficients of P(accept) and of the slot's two tops, and limits."""

    chance: Array
    accepted: float
    rejected: float
    low: Array
    high: Array


class Program:
    """The program of one belief, warm between solves: `solve()`, `solve(price=...)`, `solve(success=...)`.

    `fixed[orbit]` is 1 or 0 where the decision is given, else -1; by default what is never decided against.
    """

    def __init__(self, grouped: Orbits, guarantee: Guarantee, fixed: Array | None = None) -> None:
        self.guarantee = guarantee
        self.orbits = grouped
        self.size = self.orbits.weight.size
        self.fixed = beyond_doubt(self.orbits.favor, guarantee.never_against) if fixed is None else fixed
        self.corners = guarantee.corners
        self._check_cap()
        self._solver: Any = None
        self._range: tuple[float, float] | None = None
        self._counts = guarantee.spends
        self.searched = False
        self.dual = self.unpriced()

    def unpriced(self) -> Dual:
        """What bounds every policy, whatever its rows: only its range limits it."""
        return Dual(0.0, 0.0, np.zeros(self.orbits.slot.size), self.corners)

    @property
    def lean(self) -> Array:
        """`2*favor - 1`: what accepting gains over rejecting, per unit of weight."""
        lean = 2.0 * self.orbits.favor - 1.0
        return np.where(np.abs(lean) <= TIED, -TIED, lean)

    @property
    def scores_only(self) -> float:
        """The adversary's success before any decision, mean over reviews."""
        o = self.orbits
        return float(_by_group(o.mass, o) @ o.size) / int(o.size.sum())

    def solve(self, *, price: float = 0.0, success: float | None = None) -> Solution:
        """The best policy; success costs `price` a unit (mean over reviews), or is at most `success`."""
        counted = price > 0.0 or success is not None
        easy = self._without_program(counted)
        self.searched = easy is None
        if easy is not None:
            self.dual = self.unpriced()
            return easy
        if counted and not self._counts:
            self._counts, self._solver = True, None
        if self._solver is None:
            self._solver, self._range = self._model(), None
        costs = price * self._success_cost()
        columns = np.arange(self.size + 1, self.size + 1 + costs.size, dtype=np.int32)
        self._solver.changeColsCost(columns.size, columns, costs)
        last = self._solver.getNumRow() - 1
        most = np.inf if success is None else max(success, self.scores_only) + _ROOM
        self._solver.changeRowBounds(last, -np.inf, most)
        accept, bound, self.dual = self._search()
        return self._solved(accept, bound + float(self.orbits.weight @ self.orbits.favor))

    def _without_program(self, counted: bool) -> Solution | None:
        """What needs no program: public decisions, one-sided evidence, only the range limited."""
        if self.guarantee.name == "public":
            return self._solved(np.full(self.size, float(self.orbits.weight @ self.lean > 2.0 * TIED)))
        one_sided = (self.lean >= -TIED).all() or (self.lean <= TIED).all()
        if one_sided:
            return self._solved(np.full(self.size, float((self.lean > TIED).any())))
        limited = self.guarantee.name == "steady" or (
            self.guarantee.name == "average" and not self.guarantee.spends
        )
        if limited or counted or self.guarantee.posterior_cap is not None:
            return None
        return self._solved(self._evidence())

    def _evidence(self) -> Array:
        """The best policy that only its range limits: a corner of the range decides by the evidence."""
        choices = [np.where(self.lean > 0.0, high, low) for low, high in self.corners]
        choices = [np.where(self.fixed >= 0.0, self.fixed, accept) for accept in choices]
        return max(choices, key=lambda accept: float(self.orbits.weight @ (self.lean * accept)))

    def _check_cap(self) -> None:
        cap = self.guarantee.posterior_cap
        if cap is not None and cap < self.orbits.top.max(initial=0.0) - 1e-12:
            raise CertificateError(
                f"posterior cap {cap:g} cannot be kept: the scores alone let someone be named, "
                f"in one paper at least, with probability {self.orbits.top.max():.6g}"
            )

    # Columns: x of each orbit, P(accept), then for each group of slots its top accepted and rejected mass.

    def _model(self) -> Any:
        """Rows `low <= share @ x - chance * P(accept) - accepted[slot] + rejected[slot] <= high`."""
        o, name = self.orbits, self.guarantee.name
        zero, infinite = np.zeros(o.slot.size), np.full(o.slot.size, np.inf)
        blocks = []
        if name == "steady":
            blocks.append(_Block(-o.top, 0.0, 0.0, o.mass - o.top, zero))
        if self._counts:
            blocks.append(_Block(zero, -1.0, 0.0, -infinite, zero))
            blocks.append(_Block(zero, 0.0, 1.0, o.mass, infinite))
        if name == "average" and not self.guarantee.spends:
            blocks.append(_Block(zero, -1.0, 0.0, o.mass - o.top, zero))
        cap = self.guarantee.posterior_cap
        if cap is not None and name != "steady":
            blocks.append(_Block(zero - cap, 0.0, 0.0, np.minimum(o.mass - cap, 0.0), zero))
        cost = np.concatenate([-self.lean, np.zeros(1 + 2 * o.size.size)])
        # First P(accept) as the sum of x, last the success that is limited.
        low = np.concatenate([np.zeros(1), *(block.low for block in blocks), [-np.inf]])
        high = np.concatenate([np.zeros(1), *(block.high for block in blocks), [np.inf]])
        matrix = self._matrix(blocks)
        return passed(matrix, cost, (np.zeros(cost.size), np.ones(cost.size)), (low, high), _OPTIONS)

    def _matrix(self, blocks: list[_Block]) -> Any:
        """All coefficients in one go: putting sparse blocks together costs more than a small program."""
        o, n, groups = self.orbits, self.size, self.orbits.size.size
        each, share = np.arange(o.slot.size), np.repeat(np.arange(n), np.diff(o.share.indptr))
        ends = np.append(np.ones(n), -1.0)
        entries: list[tuple[Any, Any, Array]] = [(np.zeros(n + 1, dtype=np.int64), np.arange(n + 1), ends)]
        for place, block in enumerate(blocks):
            first = 1 + place * o.slot.size
            entries.append((first + o.share.indices, share, o.share.data))
            entries.append((first + each, np.full(each.size, n), block.chance))
            entries.append((first + each, n + 1 + o.slot, np.full(each.size, block.accepted)))
            entries.append((first + each, n + 1 + groups + o.slot, np.full(each.size, block.rejected)))
        last = 1 + len(blocks) * o.slot.size
        success = self._success_cost()
        entries.append((np.full(success.size, last), n + 1 + np.arange(success.size), success))
        row, column, value = (np.concatenate(part) for part in zip(*entries, strict=True))
        kept = value != 0.0
        shape = (last + 1, n + 1 + 2 * groups)
        return sparse.csc_array((value[kept], (row[kept], column[kept])), shape=shape)

    def _success_cost(self) -> Array:
        """Success is the mean over reviews of the top accepted plus the top rejected mass of their slots."""
        share = self.orbits.size / self.orbits.size.sum()
        return np.concatenate([share, share])

    def _search(self) -> tuple[Array, float, Dual]:
        """The best policy over all ranges, and a bound: cutting planes on the convex cost of a range."""
        corners = self._open_corners()
        point, best, cuts, prices = corners[-1], (np.inf, np.zeros(0)), [], []
        for _ in range(_CUTS):
            cost, accept, slope, price = self._at(*point)
            if cost < best[0]:
                best = (cost, accept)
            cuts.append(np.concatenate([slope, [cost - slope @ point]]))
            prices.append(price)
            bound, point, parts = _lowest(np.array(cuts), corners)
            if best[0] - bound <= _GAP:
                break
        constant, mixed = float(parts @ np.array(cuts)[:, 2]), parts @ np.array(prices)
        return best[1], bound, Dual(constant, float(mixed[0]), mixed[1:], corners)

    def _open_corners(self) -> Array:
        """Corners that leave room for what is never decided against; the widest range comes last."""
        corners = self.corners
        if (self.fixed == 1.0).any():
            corners = corners[corners[:, 1] == 1.0]
        if (self.fixed == 0.0).any():
            corners = corners[corners[:, 0] == 0.0]
        if not len(corners):
            raise CertificateError(
                "never-against cannot be kept together with epsilon or a multiplier below 2: a paper has "
                "strong evidence both ways, depending on its reviewers"
            )
        whole = corners[(corners[:, 0] == 0.0) & (corners[:, 1] == 1.0)]
        return whole if len(whole) else corners

    def _at(self, low: float, high: float) -> tuple[float, Array, Array, Array]:
        """Inside a range: cost, accept, slopes of the cost in (low, high), prices of the rows."""
        weight, free = self.orbits.weight, self.fixed < 0.0
        # A range that is one point may come out a rounding wrong way round, which no solver takes.
        high = max(low, high)
        if self._range != (low, high):
            least, most = (np.where(free, end, self.fixed) * weight for end in (low, high))
            self._solver.changeColsBounds(self.size, np.arange(self.size, dtype=np.int32), least, most)
            self._range = low, high
        run_solver(self._solver)
        solution = self._solver.getSolution()
        x = np.asarray(solution.col_value)[: self.size]
        pull = np.asarray(solution.col_dual)[: self.size] * weight * free
        light = weight < _LIGHTEST
        accept = np.clip(x / np.where(light, 1.0, weight), low, high)
        accept = np.where(light, np.where(self.lean > 0.0, high, low), accept)
        slopes = np.array([np.maximum(pull, 0.0).sum(), np.minimum(pull, 0.0).sum()])
        total, *rows = np.asarray(solution.row_dual)[:-1]
        prices = np.append(total, np.reshape(rows, (-1, self.orbits.slot.size)).sum(axis=0))
        return self._solver.getObjectiveValue(), np.where(free, accept, self.fixed), slopes, prices

    def _solved(self, accept: Array, bound: float | None = None) -> Solution:
        o = self.orbits
        error = float(o.weight @ (accept * (1.0 - o.favor) + (1.0 - accept) * o.favor))
        accepted = o.share @ (o.weight * accept)
        tops = _by_group(accepted, o) + _by_group(o.mass - accepted, o)
        success = float(tops @ o.size) / int(o.size.sum())
        return Solution(accept[o.of], error, error if bound is None else bound, success)


def _by_group(values: Array, o: Orbits) -> Array:
    """The largest value in each group of tied slots."""
    return np.asarray(values.reshape(o.size.size, o.mass.size // o.size.size).max(axis=1, initial=0.0))


def beyond_doubt(favor: Array, sure: float | None) -> Array:
    """1 or 0 where the evidence is too strong to be decided against, else -1."""
    if sure is None:
        return np.full(favor.shape, -1.0)
    return np.where(favor >= sure, 1.0, np.where(1.0 - favor >= sure, 0.0, -1.0))


def _lowest(cuts: Array, corners: Array) -> tuple[float, Array, Array]:
    """The least of the cuts' maximum over the corners' hull, where it is, and the cuts' parts in it."""
    at_corners, n = cuts[:, :2] @ corners.T + cuts[:, 2:], len(corners)
    if 1 in at_corners.shape:
        cut, corner = at_corners.max(axis=1).argmax(), at_corners.max(axis=0).argmin()
        return float(at_corners[cut, corner]), corners[corner], np.eye(len(cuts))[cut]
    # Columns: the corners' parts in the point, then the height; a row for each cut and for the parts' sum.
    rows = np.column_stack([at_corners, -np.ones(len(cuts))])
    matrix = sparse.csc_array(np.vstack([rows, np.append(np.ones(n), 0.0)]))
    columns = np.append(np.zeros(n), -np.inf), np.append(np.ones(n), np.inf)
    limits = np.append(np.full(len(cuts), -np.inf), 1.0), np.append(np.zeros(len(cuts)), 1.0)
    solver = passed(matrix, np.append(np.zeros(n), 1.0), columns, limits, _OPTIONS)
    run_solver(solver)
    found = solver.getSolution()
    point = np.asarray(found.col_value)[:n] @ corners
    return solver.getObjectiveValue(), point, np.abs(np.asarray(found.row_dual)[:-1])


def run_solver(solver: Any) -> None:
    """Solve from the last basis; a numerical failure is tried again from the start, then by other means."""
    for again in ({}, *_ATTEMPTS):
        for option, value in again.items():
            solver.setOptionValue(option, value)
        if again:
            solver.clearSolver()
        status = run(solver)
        for option in again:
            solver.setOptionValue(option, _OPTIONS[option])
        if status == highspy.HighsModelStatus.kOptimal:
            return
        if status == highspy.HighsModelStatus.kInfeasible:
            raise CertificateError("no policy keeps the requested limits")
    raise CertificateError(f"the program of a paper could not be solved ({status.name[1:]})")
