"""The linear program for the accept probabilities of one paper, with a bound that proves the optimum.

Tuples that public data cannot tell apart (candidates with the same parameters and probabilities, slots with
the same score) form one *class* and share one accept probability: `TupleClasses`.

The variables of `AcceptProgram` are `x = weight * accept`, one for each class, with one row for each slot and
candidate. (If the variables were the probabilities, the solver's tolerance would be divided by the price, and
skewed weights would lose seven digits.) Epsilon and the multiplier only bound the policy between a `low` and
a `high`. The best pair of these is found by cutting planes, and each cut is one warm-started program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import highspy
import numpy as np
from scipy import sparse

from blindcal.checks import Array, Integers
from blindcal.compute.highs import load_model, solve_model
from blindcal.errors import CertificateError
from blindcal.io.tables import long_frame
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.policy import TIE_TOLERANCE
from blindcal.pools.prior import NOBODY
from blindcal.posterior.belief import Belief
from blindcal.posterior.large_pools import AggregatedBelief
from blindcal.posterior.paper import PaperCase

_EQUAL_WEIGHTS = 1e-9
# HiGHS options for every solve, and those to try in turn after a numerical failure.
_OPTIONS = {"presolve": "off", "solver": "choose"}
_ATTEMPTS: tuple[dict[str, str], ...] = ({"presolve": "off"}, {"presolve": "on"}, {"solver": "ipm"})
_GAP = 1e-9
_MAX_CUTS = 60
# Below this weight the solver's tolerance is larger than the class: its evidence decides.
_NEGLIGIBLE_WEIGHT = 1e-11
# A limit exactly at the least success could be missed by a rounding alone.
_SUCCESS_SLACK = 1e-12


@dataclass(frozen=True, eq=False)
class TupleClasses:
    """Tuples that look alike as one column, and the rows of the program."""

    of: Integers  # `[n]`, the class of each tuple
    weight: Array  # `[class]`, the probability of each class
    favor: Array  # `[class]`, the probability that accepting is right
    # `[row, class]`, sparse: the share of a class's mass that one candidate has in one slot (the mean over
    # tied slots)
    share: Any
    mass: Array  # `[row]`, the candidate's probability before any decision
    top: Array  # `[row]`, the largest such probability in the row's slot
    slot: Integers  # `[row]`, the row's group of tied slots
    size: Integers  # `[group]`, the number of slots in each group


def secret_classes(belief: Belief) -> TupleClasses:
    """Every secret of one instance as its own class: a plain belief does not say what looks alike."""
    secrets = np.arange(belief.weight.size)
    labels = secrets[None] if belief.labels is None else belief.labels
    names, number = np.unique(np.maximum(labels, NOBODY), return_inverse=True)
    number = number.reshape(labels.shape) - int(names[0] == NOBODY)
    kinds, (group, column) = int(number.max()) + 1, np.nonzero(number >= 0)
    row = group * kinds + number[group, column]
    shape = len(labels) * kinds, secrets.size
    share = sparse.coo_array((np.ones(row.size), (row, column)), shape=shape).tocsc()
    tied = np.ones(len(labels), dtype=np.int64)
    return _with_masses(secrets, belief.weight, belief.favor, share, tied)


# Guarantees whose tables are laid out alike share them.
@lru_cache(maxsize=2)
def _entry_classes(case: PaperCase, entries: AggregatedBelief) -> TupleClasses:
    """The entries of an aggregated belief as classes: every candidate keeps its row in every slot."""
    belief, (group, kind) = entries.belief, case.look_alikes
    if belief.labels is None or belief.entry is None:
        raise CertificateError("an aggregated belief has labels and entries")
    groups, kinds = int(group.max()) + 1, int(kind.max()) + 1
    weight = belief.by_entry(entries.weight.size)
    share = belief.weight / np.where(weight > 0.0, weight, 1.0)[belief.entry]
    value = share / (np.bincount(group)[group][:, None] * np.bincount(kind + 1)[belief.labels + 1])
    # Nobody (-1) has a row of its own, the last of each group, which is left out.
    row = group[:, None] * (kinds + 1) + np.where(belief.labels < 0, kinds, belief.labels)
    rows = groups * (kinds + 1)
    sums = np.bincount((belief.entry * rows + row).ravel(), value.ravel(), weight.size * rows)
    each = sums.reshape(weight.size, groups, kinds + 1)[..., :kinds]
    shares = sparse.csc_array(each.reshape(weight.size, groups * kinds).T)
    return _with_masses(np.arange(weight.size), weight, entries.favor, shares, np.bincount(group))


def tuple_classes(case: PaperCase, belief: Belief) -> TupleClasses:
    """The classes of a paper's tuples by what public data can tell apart; nobody (kind -1) has no row."""
    (group, kind), looks = case.look_alikes, case.look_alikes[1][case.tuples]
    kinds, groups = int(kind.max()) + 1, int(group.max()) + 1
    for g in range(groups):
        looks[:, group == g] = np.sort(looks[:, group == g], axis=1)
    key = np.zeros(len(looks), dtype=np.int64)
    for column in looks.T:
        key = key * (kinds + 1) + column + 1
    _, first, of, count = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    weight = np.bincount(of, belief.weight).astype(np.float64)
    if (np.abs(belief.weight * count[of] - weight[of]) > _EQUAL_WEIGHTS * weight[of]).any():
        raise CertificateError("tuples that look alike must have equal weights")
    favor = np.bincount(of, belief.favor) / count
    look, tied = looks[first], np.bincount(group)
    value = 1.0 / (tied[group] * np.bincount(kind + 1)[look + 1])
    row, column = group * kinds + look, np.arange(first.size)[:, None] + 0 * look
    named = look >= 0
    share = sparse.coo_array(
        (value[named], (row[named], column[named])), shape=(groups * kinds, first.size)
    ).tocsc()
    return _with_masses(of, weight, favor, share, tied)


def _with_masses(of: Integers, weight: Array, favor: Array, share: Any, size: Integers) -> TupleClasses:
    """The classes with each candidate's probability and the largest one of each group of slots."""
    mass, groups = share @ weight, size.size
    kinds = mass.size // groups
    top = mass.reshape(groups, kinds).max(axis=1, initial=0.0).repeat(kinds)
    return TupleClasses(of, weight, favor, share, mass, top, np.arange(groups).repeat(kinds), size)


@dataclass(frozen=True, eq=False)
class Solution:
    """The best policy found, and how far from the best possible it may be.

    Attributes:
        accept: `[secret]`, the probability to accept for each.
        error: Its conference error.
        bound: A conference error that no policy under the same limits can beat.
        success: The adversary's chance of a correct guess, mean over the slots (the reviews of a paper).
    """

    accept: Array
    error: float
    bound: float
    success: float

    def to_frame(self) -> Any:
        """One row per secret, as a pandas data frame; needs pandas."""
        return long_frame({"accept": self.accept}, "secret")


@dataclass(frozen=True, eq=False)
class DualSolution:
    """Dual prices, which prove a bound by weak duality.

    Accepting a class costs `-lean - total - share.T @ price` per unit of weight, on top of `constant`. With
    the rows priced in, only the range of the policy still limits it.
    """

    constant: float  # the cost that does not depend on the policy
    total: float  # the price of P(accept)
    price: Array  # `[row]`, the prices of the rows
    corners: Array  # `[corner, 2]`, the extreme ranges (low, high)

    def cost(self, c: TupleClasses) -> Array:
        """What accepting each class costs per unit of weight, less what rejecting it does."""
        return np.asarray(1.0 - 2.0 * c.favor - self.total - self.price @ c.share)

    def bound(self, c: TupleClasses, fixed: Array) -> float:
        """The least error of any policy over these classes, which may be finer than those of the program."""
        pull = c.weight * self.cost(c) * (fixed < 0.0)
        least = self.corners @ [np.maximum(pull, 0.0).sum(), np.minimum(pull, 0.0).sum()]
        return self.constant + float(least.min()) + float(c.weight @ c.favor)


# A row for each slot and candidate: coefficients of P(accept) and of the slot's two tops, and both limits.
_RowBlock = tuple[Array, float, float, Array, Array]


class AcceptProgram:
    """The program of one belief, kept warm between solves.

    `solve()`, `solve(price=...)` and `solve(success=...)` solve it. `fixed[class]` is 1 or 0 if the decision
    is given, else -1; by default the decisions that `never_against` forces.
    """

    def __init__(self, classes: TupleClasses, guarantee: Guarantee, fixed: Array | None = None) -> None:
        self.guarantee, self.classes, self.corners = guarantee, classes, guarantee.corners
        self.size = classes.weight.size
        self.fixed = forced_decisions(classes.favor, guarantee.never_against) if fixed is None else fixed
        self._check_cap()
        self._solver: Any = None
        self._start: Any = None
        self._range: tuple[float, float] | None = None
        self._counts = False
        self.searched = False
        self.dual = self.unpriced()

    def unpriced(self) -> DualSolution:
        """Prices of 0: the bound that the range alone gives for every policy."""
        return DualSolution(0.0, 0.0, np.zeros(self.classes.slot.size), self.corners)

    @property
    def lean(self) -> Array:
        """`2*favor - 1`: what accepting gains over rejecting, per unit of weight."""
        lean = 2.0 * self.classes.favor - 1.0
        return np.where(np.abs(lean) <= TIE_TOLERANCE, -TIE_TOLERANCE, lean)

    @property
    def scores_only(self) -> float:
        """The adversary's success before any decision, mean over reviews."""
        c = self.classes
        return float(_top_by_slot(c.mass, c) @ c.size) / int(c.size.sum())

    def solve(self, *, price: float = 0.0, success: float | None = None) -> Solution:
        """The best policy; success costs `price` per unit (mean over reviews), or is at most `success`."""
        counted = price > 0.0 or success is not None
        easy = self._without_program(counted)
        self.searched, self.dual = easy is None, self.unpriced()
        if easy is not None:
            return easy
        if counted and not self._counts:
            self._counts, self._solver = True, None
        if self._solver is None:
            self._solver, self._range = self._model(), None
            if self._start is not None:
                self._solver.setBasis(self._start)
        costs = price * self._success_cost()
        columns = np.arange(self.size + 1, self.size + 1 + costs.size, dtype=np.int32)
        self._solver.changeColsCost(columns.size, columns, costs)
        last = self._solver.getNumRow() - 1
        most = np.inf if success is None else max(success, self.scores_only) + _SUCCESS_SLACK
        self._solver.changeRowBounds(last, -np.inf, most)
        accept, bound, self.dual = self._search()
        return self._solution(accept, bound + float(self.classes.weight @ self.classes.favor))

    def start_from(self, coarser: AcceptProgram, parent: Integers) -> None:
        """Start at the last basis of a program with fewer columns, `parent[class]` being those they are of.

        The heaviest part of a column stays in the basis. The others are at the bound that their cost, with
        the rows priced in, prefers.
        """
        if coarser._solver is None:
            return
        basis, cost = coarser._solver.getBasis(), coarser.dual.cost(self.classes)
        status, rest = basis.col_status[: coarser.size], basis.col_status[coarser.size :]
        heaviest = np.zeros(self.size, dtype=bool)
        order = np.lexsort((self.classes.weight, parent))
        heaviest[order[np.flatnonzero(np.diff(parent[order], append=-1))]] = True
        kinds = highspy.HighsBasisStatus
        basic = np.array([column == kinds.kBasic for column in status])[parent] & heaviest
        which = np.where(basic, 0, np.where(cost > 0.0, 1, 2)).tolist()
        basis.col_status = [(kinds.kBasic, kinds.kLower, kinds.kUpper)[index] for index in which] + rest
        self._start = basis

    def _without_program(self, counted: bool) -> Solution | None:
        """Cases without a program: public decisions, one-sided evidence, limits on the range only."""
        if self.guarantee.name == "public":
            public = self.classes.weight @ self.lean > 2.0 * TIE_TOLERANCE
            return self._solution(np.full(self.size, float(public)))
        if (self.lean >= -TIE_TOLERANCE).all() or (self.lean <= TIE_TOLERANCE).all():
            return self._solution(np.full(self.size, float((self.lean > TIE_TOLERANCE).any())))
        average = self.guarantee.name == "average"
        if (self.guarantee.capped and not self._out_of_reach()) or average or counted:
            return None
        return self._solution(self._evidence())

    def _out_of_reach(self) -> bool:
        """Whether no policy within epsilon can make any of many candidates as likely as the caps allow."""
        c, epsilon = self.classes, self.guarantee.epsilon
        if epsilon is None or (self.fixed >= 0.0).any():
            return False
        return bool((c.mass * np.exp(epsilon) <= self.guarantee.caps(c.top)).all())

    def _evidence(self) -> Array:
        """The best policy that only its range limits: a corner of the range decides by the evidence."""
        choices = [np.where(self.lean > 0.0, high, low) for low, high in self.corners]
        choices = [np.where(self.fixed >= 0.0, self.fixed, accept) for accept in choices]
        return max(choices, key=lambda accept: float(self.classes.weight @ (self.lean * accept)))

    def _check_cap(self) -> None:
        """Refuse a posterior cap below what the scores alone reveal."""
        cap = self.guarantee.posterior_cap
        if cap is not None and cap < self.classes.top.max(initial=0.0) - 1e-12:
            raise CertificateError(
                f"posterior cap {cap:g} cannot be kept: the scores alone let someone be named, "
                f"in one paper at least, with probability {self.classes.top.max():.6g}"
            )

    # Columns: x of each class, P(accept), then for each group of slots its top accepted and rejected mass.

    def _model(self) -> Any:
        """Rows `low <= share @ x - chance * P(accept) - accepted[slot] + rejected[slot] <= high`."""
        c, name = self.classes, self.guarantee.name
        zero, infinite = np.zeros(c.slot.size), np.full(c.slot.size, np.inf)
        blocks: list[_RowBlock] = []
        if self.guarantee.capped:
            # share @ x <= cap P(accept), and the same for rejecting: mass - share @ x <= cap (1 - P(accept))
            caps = self.guarantee.caps(c.top)
            blocks.append((-caps, 0.0, 0.0, c.mass - caps, zero))
        if self._counts:
            blocks.append((zero, -1.0, 0.0, -infinite, zero))
            blocks.append((zero, 0.0, 1.0, c.mass, infinite))
        if name == "average":
            blocks.append((zero, -1.0, 0.0, c.mass - c.top, zero))
        cost = np.concatenate([-self.lean, np.zeros(1 + 2 * c.size.size)])
        # The first row defines P(accept) as the sum of x; the last one limits success.
        low = np.concatenate([np.zeros(1), *(low for *_, low, _ in blocks), [-np.inf]])
        high = np.concatenate([np.zeros(1), *(high for *_, high in blocks), [np.inf]])
        matrix = self._matrix(blocks)
        return load_model(matrix, cost, (np.zeros(cost.size), np.ones(cost.size)), (low, high), _OPTIONS)

    def _matrix(self, blocks: list[_RowBlock]) -> Any:
        """All coefficients at once: stacking sparse blocks costs more than solving a small program."""
        c, n, groups = self.classes, self.size, self.classes.size.size
        each, share = np.arange(c.slot.size), np.repeat(np.arange(n), np.diff(c.share.indptr))
        ends = np.append(np.ones(n), -1.0)
        entries: list[tuple[Any, Any, Array]] = [(np.zeros(n + 1, dtype=np.int64), np.arange(n + 1), ends)]
        for index, (chance, accepted, rejected, _, _) in enumerate(blocks):
            first = 1 + index * c.slot.size
            entries.append((first + c.share.indices, share, c.share.data))
            entries.append((first + each, np.full(each.size, n), chance))
            entries.append((first + each, n + 1 + c.slot, np.full(each.size, accepted)))
            entries.append((first + each, n + 1 + groups + c.slot, np.full(each.size, rejected)))
        last = 1 + len(blocks) * c.slot.size
        success = self._success_cost()
        entries.append((np.full(success.size, last), n + 1 + np.arange(success.size), success))
        row, column, value = (np.concatenate(part) for part in zip(*entries, strict=True))
        kept = value != 0.0
        shape = (last + 1, n + 1 + 2 * groups)
        return sparse.csc_array((value[kept], (row[kept], column[kept])), shape=shape)

    def _success_cost(self) -> Array:
        """Success is the mean over reviews of the top accepted plus the top rejected mass of their slots."""
        share = self.classes.size / self.classes.size.sum()
        return np.concatenate([share, share])

    def _search(self) -> tuple[Array, float, DualSolution]:
        """The best policy over all ranges, and a bound.

        The least cost within a range (low, high) is convex in the range, so the dual prices of each solve
        give a cutting plane below it (Kelley's method).
        """
        corners = self._open_corners()
        point, best, cuts, prices = corners[-1], (np.inf, np.zeros(0)), [], []
        for _ in range(_MAX_CUTS):
            cost, accept, slope, price = self._least_within(*point)
            if cost < best[0]:
                best = (cost, accept)
            cuts.append(np.concatenate([slope, [cost - slope @ point]]))
            prices.append(price)
            bound, point, parts = _lowest_of_cuts(np.array(cuts), corners)
            if best[0] - bound <= _GAP:
                break
        constant, mixed = float(parts @ np.array(cuts)[:, 2]), parts @ np.array(prices)
        return best[1], bound, DualSolution(constant, float(mixed[0]), mixed[1:], corners)

    def _open_corners(self) -> Array:
        """Corners that leave room for forced decisions; the widest range comes last."""
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

    def _least_within(self, low: float, high: float) -> tuple[float, Array, Array, Array]:
        """Within a range: cost, accept, slopes of the cost in (low, high), prices of the rows."""
        weight, free = self.classes.weight, self.fixed < 0.0
        # Rounding may swap the ends of a range that is one point, which solvers refuse.
        high = max(low, high)
        if self._range != (low, high):
            least, most = (np.where(free, end, self.fixed) * weight for end in (low, high))
            self._solver.changeColsBounds(self.size, np.arange(self.size, dtype=np.int32), least, most)
            self._range = low, high
        solve_with_retries(self._solver)
        solution = self._solver.getSolution()
        x = np.asarray(solution.col_value)[: self.size]
        pull = np.asarray(solution.col_dual)[: self.size] * weight * free
        light = weight < _NEGLIGIBLE_WEIGHT
        accept = np.clip(x / np.where(light, 1.0, weight), low, high)
        accept = np.where(light, np.where(self.lean > 0.0, high, low), accept)
        slopes = np.array([np.maximum(pull, 0.0).sum(), np.minimum(pull, 0.0).sum()])
        total, *rows = np.asarray(solution.row_dual)[:-1]
        prices = np.append(total, np.reshape(rows, (-1, self.classes.slot.size)).sum(axis=0))
        return self._solver.getObjectiveValue(), np.where(free, accept, self.fixed), slopes, prices

    def _solution(self, accept: Array, bound: float | None = None) -> Solution:
        """The solution of a policy: its error, its success, and the bound, by default its own error."""
        c = self.classes
        error = float(c.weight @ (accept * (1.0 - c.favor) + (1.0 - accept) * c.favor))
        accepted = c.share @ (c.weight * accept)
        tops = _top_by_slot(accepted, c) + _top_by_slot(c.mass - accepted, c)
        success = float(tops @ c.size) / int(c.size.sum())
        return Solution(accept[c.of], error, error if bound is None else bound, success)


def _top_by_slot(values: Array, c: TupleClasses) -> Array:
    """The largest value in each group of tied slots."""
    return np.asarray(values.reshape(c.size.size, c.mass.size // c.size.size).max(axis=1, initial=0.0))


def forced_decisions(favor: Array, sure: float | None) -> Array:
    """1 or 0 if the evidence is too strong to decide against it, else -1."""
    if sure is None:
        return np.full(favor.shape, -1.0)
    return np.where(favor >= sure, 1.0, np.where(1.0 - favor >= sure, 0.0, -1.0))


def _lowest_of_cuts(cuts: Array, corners: Array) -> tuple[float, Array, Array]:
    """The minimum over the corners' hull of the largest cut, its location, and the cuts' dual weights."""
    at_corners, n = cuts[:, :2] @ corners.T + cuts[:, 2:], len(corners)
    if 1 in at_corners.shape:
        cut, corner = at_corners.max(axis=1).argmax(), at_corners.max(axis=0).argmin()
        return float(at_corners[cut, corner]), corners[corner], np.eye(len(cuts))[cut]
    # Columns: convex weights of the corners, then the height; a row for each cut, one for the weights' sum.
    rows = np.column_stack([at_corners, -np.ones(len(cuts))])
    matrix = sparse.csc_array(np.vstack([rows, np.append(np.ones(n), 0.0)]))
    columns = np.append(np.zeros(n), -np.inf), np.append(np.ones(n), np.inf)
    limits = np.append(np.full(len(cuts), -np.inf), 1.0), np.append(np.zeros(len(cuts)), 1.0)
    solver = load_model(matrix, np.append(np.zeros(n), 1.0), columns, limits, _OPTIONS)
    solve_with_retries(solver)
    solution = solver.getSolution()
    point = np.asarray(solution.col_value)[:n] @ corners
    return solver.getObjectiveValue(), point, np.abs(np.asarray(solution.row_dual)[:-1])


def solve_with_retries(solver: Any) -> None:
    """Solve from the last basis; after a numerical failure try again from scratch, then by other methods."""
    for again in ({}, *_ATTEMPTS):
        for option, value in again.items():
            solver.setOptionValue(option, value)
        if again:
            solver.clearSolver()
        status = solve_model(solver)
        for option in again:
            solver.setOptionValue(option, _OPTIONS[option])
        if status == highspy.HighsModelStatus.kOptimal:
            return
        # From a warm basis a feasible program can seem infeasible by a rounding: a fresh start is believed.
        if again and status == highspy.HighsModelStatus.kInfeasible:
            raise CertificateError("no policy keeps the requested limits")
    raise CertificateError(f"the program of a paper could not be solved ({status.name[1:]})")


# --- Papers with very many tuples: fewer columns, all rows, and a bound on the loss.
#
# Classes of tuples are aggregated into columns, and all tuples of a column are decided alike. Every
# candidate keeps its row in every slot, so the guarantee holds; only optimality is at stake. The dual prices
# of the rows say which way each tuple should have gone. Columns whose tuples disagree are split, and by weak
# duality the same prices bound what any policy can reach. If tuples are too many to list, the columns are
# the entries of an `AggregatedBelief`, and the bound is estimated from a sample of tuples.

# Up to this many tuples, columns are split until the gap is that of an exact solution.
MAX_EXACT_TUPLES = 250_000
_FAVOR_BINS = 24
_HEAVY_CANDIDATES = 3
_MAX_REFINEMENTS = 60
_EXACT_GAP, _SMALL_GAP = 1e-9, 1e-6
_MAX_SPLITS = 1500
# With more columns than this, clear ones are merged to about so many; probabilities this close are the same.
_FEW_COLUMNS, _MERGED, _SAME_ACCEPT = 3000, 200, 1e-9
# The part of the last prices if they are mixed with the best ones.
_TOWARD_LAST = 0.3
# A bound from a sample is lowered by this many standard errors, and by this many draws that were not seen.
_STANDARD_ERRORS, _UNSEEN_DRAWS = 4.0, 3.0
# Factors that turn penalties, in units of evidence, into prices, in units of probability.
_PRICE_SCALES = tuple(np.geomspace(0.02, 2.0, 24).tolist())


class AggregatedProgram:
    """Like `AcceptProgram`, for more classes than columns."""

    def __init__(self, classes: TupleClasses, guarantee: Guarantee) -> None:
        self.classes, self.guarantee = classes, guarantee
        self.fixed = forced_decisions(classes.favor, guarantee.never_against)
        self.columns = initial_columns(classes, self.fixed)
        self.enough = _EXACT_GAP if classes.weight.size <= MAX_EXACT_TUPLES else _SMALL_GAP
        self._coarse = AcceptProgram(aggregate_columns(classes, self.columns), guarantee)

    def solve(self, *, success: float | None = None) -> Solution:
        """The best policy found, and a bound; columns are split until the two are close enough."""
        bound, best = -np.inf, self._coarse.dual
        for _ in range(_MAX_REFINEMENTS):
            solution = self._coarse.solve(success=success)
            if not self._coarse.searched:
                # The best policy needs no program, so every class can have its own probability.
                return AcceptProgram(self.classes, self.guarantee).solve(success=success)
            dual = self._coarse.dual
            reached = dual.bound(self.classes, self.fixed)
            if reached < bound:
                # Prices swing from round to round: between the best ones so far and the last ones they are
                # nearer to those of the finest columns.
                dual = _between(best, dual, _TOWARD_LAST)
                reached = dual.bound(self.classes, self.fixed)
            if reached > bound:
                bound, best = reached, dual
            if solution.error - bound <= self.enough:
                break
            columns = self._split(dual, solution.accept)
            finer = AcceptProgram(aggregate_columns(self.classes, columns), self.guarantee)
            parent = np.zeros(finer.size, dtype=np.int64)
            parent[columns] = self.columns
            finer.start_from(self._coarse, parent)
            self._coarse, self.columns = finer, columns
        return replace(solution, bound=bound)

    def _split(self, dual: DualSolution, accept: Array) -> Integers:
        """Split the columns that lose most by deciding all their tuples alike, by each class's cost.

        If there are many, those that are decided alike, and not nearly the other way, become one again.
        """
        c, cost = self.classes, dual.cost(self.classes)
        apart = np.bincount(self.columns, c.weight * np.abs(cost))
        lost = apart - np.abs(np.bincount(self.columns, c.weight * cost))
        worst = np.argsort(-lost, kind="stable")[:_MAX_SPLITS]
        split = np.zeros(lost.size, dtype=bool)
        split[worst] = lost[worst] > 1e-3 * self.enough / lost.size
        far = np.abs(cost) * self._coarse.classes.weight[self.columns] > apart[self.columns]
        part = np.where(split[self.columns], 1 + (cost > 0.0) + 2 * far, 0)
        if lost.size <= _FEW_COLUMNS:
            return np.unique(self.columns * 5 + part, return_inverse=True)[1]
        held = np.empty(lost.size)
        held[self._coarse.classes.of] = accept
        high = held >= held.max() - _SAME_ACCEPT
        sure = ~split & (self._coarse.fixed < 0.0) & (high | (held <= held.min() + _SAME_ACCEPT))
        weight = np.maximum(self._coarse.classes.weight, np.finfo(float).tiny)
        clear = np.abs(np.bincount(self.columns, c.weight * cost)) / weight
        order = np.argsort(np.where(sure, clear, -1.0), kind="stable")
        sure[order[: _FEW_COLUMNS // 2]] = False
        rank = np.empty(lost.size, dtype=np.int64)
        rank[order] = np.arange(lost.size) * _MERGED // lost.size
        merged = 5 * lost.size + 2 * rank + high
        key = np.where(sure[self.columns], merged[self.columns], self.columns * 5 + part)
        return np.unique(key, return_inverse=True)[1]


def _between(first: DualSolution, second: DualSolution, share: float) -> DualSolution:
    """Prices between two others, which also prove a bound."""
    rest = 1.0 - share
    return replace(
        first,
        constant=rest * first.constant + share * second.constant,
        total=rest * first.total + share * second.total,
        price=rest * first.price + share * second.price,
    )


class EntryProgram:
    """Like `AcceptProgram`, for tuples that are not listed: a column for each entry of the table."""

    def __init__(self, case: PaperCase, guarantee: Guarantee) -> None:
        if guarantee.never_against is not None:
            raise CertificateError(
                "never-against needs an accept probability for each tuple of reviewers: a pool is too large"
            )
        self.case = case
        classes = _entry_classes(case.unpromised, case.aggregated)
        self._coarse = AcceptProgram(classes, guarantee)

    def solve(self, *, success: float | None = None) -> Solution:
        """The best policy over the entries, and a bound on any policy, estimated from a sample of tuples."""
        solution = self._coarse.solve(success=success)
        if self._coarse.guarantee.name == "public":
            return solution
        return replace(solution, bound=solution.error + min(0.0, self._short_of(solution.accept)))

    def _short_of(self, table: Array) -> float:
        """The bound less the policy's error: the mean over a sample, on the safe side.

        Subtracting the policy's own error draw by draw (a control variate) removes most of the variance.
        """
        sample = self.case.sample
        if sample is None:
            return 0.0
        lean = 2.0 * sample.favor - 1.0
        gained, best = lean * table[sample.entry], -np.inf
        unseen = _UNSEEN_DRAWS / gained.size
        for dual, scales in self._duals():
            price = dual.total + _row_prices(self.case, dual, sample.rows)
            for scale in scales:
                cost = -lean - scale * price
                ends = np.stack([np.maximum(cost, 0.0), np.minimum(cost, 0.0)])
                corner = dual.corners[np.argmin(dual.corners @ ends.mean(axis=1))]
                short = corner @ ends + gained
                mean = scale * dual.constant + short.mean() - unseen
                # Most prices are far from the best, whatever their standard error.
                if mean > best:
                    best = max(best, mean - _STANDARD_ERRORS * short.std() / np.sqrt(short.size))
        return float(best)

    def _duals(self) -> Iterator[tuple[DualSolution, Sequence[float]]]:
        """Dual prices with factors for them: the program's, none at all, and the penalties.

        Prices are in proportion to the penalties; which proportion is best depends on the evidence.

        A row's price h >= 0 limits what is accepted, h < 0 what is rejected: `h (share @ x - cap P(accept))`.
        Under *average*, the share of the likeliest reviewer takes the place of the last term.
        """
        yield self._coarse.unpriced(), (1.0,)
        if self._coarse.searched:
            yield self._coarse.dual, (1.0,)
        guarantee, penalties = self._coarse.guarantee, self.case.layout.penalty
        if penalties is None or not penalties.any() or guarantee.name not in ("steady", "crowd", "average"):
            return
        c = self._coarse.classes
        group, kind = self.case.look_alikes
        groups, kinds = int(group.max()) + 1, int(kind.max()) + 1
        each = np.zeros((groups, kinds))
        each[group[:, None], kind[kind >= 0]] = penalties[:, : kind.size][:, kind >= 0]
        # One row stands for all look-alikes in all tied slots.
        penalty: Array = (each * np.bincount(group)[:, None] * np.bincount(kind[kind >= 0])).ravel()
        pinned = guarantee.promise.pinned(c.top)
        # A crowd and *average* limit every row; a row has the price of one of the two.
        caps = np.where(pinned, guarantee.caps(c.top), c.top)
        first = c.mass.reshape(groups, kinds).argmax(axis=1) + kinds * np.arange(groups)
        penalty[first] -= np.where(pinned[first], 0.0, penalty.reshape(groups, kinds).sum(axis=1))
        unused = np.minimum(penalty, 0.0) * (caps - c.mass)
        total = float(penalty @ (caps * pinned))
        yield DualSolution(float(unused.sum()), total, -penalty, self._coarse.corners), _PRICE_SCALES


def _row_prices(case: PaperCase, dual: DualSolution, rows: Integers) -> Array:
    """The rows' prices of tuples of candidates `[draw, slot]`."""
    if not dual.price.any():
        return np.zeros(len(rows))
    group, kind = case.look_alikes
    share = np.bincount(group)[group][:, None] * np.bincount(kind + 1)[kind + 1]
    prices = dual.price.reshape(int(group.max()) + 1, -1)
    # Nobody (kind -1) has no row, hence price 0.
    price = np.pad(prices, ((0, 0), (1, 0)))[group][:, kind + 1] / share
    return np.asarray(price[np.arange(group.size), rows].sum(axis=1))


def aggregate_columns(c: TupleClasses, columns: Integers) -> TupleClasses:
    """The classes of each column as one: masses add up, a candidate's share is that of the column's mass."""
    weight = np.bincount(columns, c.weight).astype(np.float64)
    part = np.where(weight[columns] > 0.0, c.weight, 1.0)
    total = np.bincount(columns, part)
    rows = c.mass.size
    class_of = np.repeat(np.arange(columns.size), np.diff(c.share.indptr))
    shares = np.bincount(
        columns[class_of] * rows + c.share.indices,
        c.share.data * (part / total[columns])[class_of],
        weight.size * rows,
    )
    return replace(
        c,
        of=columns[c.of],
        weight=weight,
        favor=np.clip(np.bincount(columns, part * c.favor) / total, 0.0, 1.0),
        share=sparse.csc_array(shares.reshape(-1, rows).T),
    )


def initial_columns(c: TupleClasses, fixed: Array) -> Integers:
    """Columns by bins of favor and the heaviest candidates of each slot; forced decisions stay apart."""
    bins = np.minimum((c.favor * _FAVOR_BINS).astype(np.int64), _FAVOR_BINS - 1)
    key = (bins * 2 + (c.favor > 0.5)) * 3 + (fixed + 1.0).astype(np.int64)
    groups = c.size.size
    mass = c.mass.reshape(groups, -1)
    rank = np.argsort(np.argsort(-mass, axis=1, kind="stable"), axis=1, kind="stable").ravel()
    heavy = np.where(rank < _HEAVY_CANDIDATES, rank + 1.0, 0.0)
    present = sparse.csc_array(
        (np.ones_like(c.share.data), c.share.indices, c.share.indptr), shape=c.share.shape
    )
    for group in range(groups):
        # One bit for each heavy candidate: a group of tied slots may hold several.
        digits = np.where((c.slot == group) & (heavy > 0), 2.0 ** (heavy - 1), 0.0)
        key = key * 2**_HEAVY_CANDIDATES + (digits @ present).astype(np.int64)
    return np.unique(key, return_inverse=True)[1]
