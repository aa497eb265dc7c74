"""Linear programs for papers with very many tuples: fewer columns, all rows, and a bound on the loss.

Classes of tuples are aggregated into columns, and all tuples of a column are decided alike. Every candidate
keeps its row in every slot, so the guarantee holds; only optimality is at stake. The dual prices of the rows
say which way each tuple should have gone. Columns whose tuples disagree are split, and by weak duality the
same prices bound what any policy can reach. If tuples are too many to list, the columns are the entries of an
`AggregatedBelief`, and the bound is estimated from a sample of tuples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from blindcal.checks import Array, Integers
from blindcal.errors import CertificateError
from blindcal.policy.accept_lp import (
    AcceptProgram,
    DualSolution,
    Solution,
    TupleClasses,
    entry_classes,
    forced_decisions,
)
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.paper import PaperCase

# Up to this many tuples, columns are split until the gap is that of an exact solution.
MAX_EXACT_TUPLES = 250_000
_FAVOR_BINS = 24
_HEAVY_CANDIDATES = 3
_MAX_ROUNDS = 60
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

    @property
    def scores_only(self) -> float:
        """The adversary's success before any decision, mean over reviews."""
        return self._coarse.scores_only

    def solve(self, *, price: float = 0.0, success: float | None = None) -> Solution:
        """The best policy found, and a bound; columns are split until the two are close enough."""
        bound, best = -np.inf, self._coarse.dual
        for _ in range(_MAX_ROUNDS):
            solution = self._coarse.solve(price=price, success=success)
            if not self._coarse.searched:
                # The best policy needs no program, so every class can have its own probability.
                return AcceptProgram(self.classes, self.guarantee).solve(price=price, success=success)
            dual = self._coarse.dual
            reached = dual.bound(self.classes, self.fixed)
            if reached < bound:
                # Prices swing from round to round: between the best ones so far and the last ones they are
                # nearer to those of the finest columns.
                dual = _between(best, dual, _TOWARD_LAST)
                reached = dual.bound(self.classes, self.fixed)
            if reached > bound:
                bound, best = reached, dual
            if solution.error + price * solution.success - bound <= self.enough:
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
        c = self.classes
        cost = 1.0 - 2.0 * c.favor - dual.total - dual.price @ c.share
        apart = np.bincount(self.columns, c.weight * np.abs(cost))
        lost = apart - np.abs(np.bincount(self.columns, c.weight * cost))
        worst = np.argsort(-lost, kind="stable")[:_MAX_SPLITS]
        split = np.zeros(lost.size, dtype=bool)
        split[worst] = lost[worst] > 1e-3 * self.enough / lost.size
        far = np.abs(cost) * self._coarse.classes.weight[self.columns] > apart[self.columns]
        part = np.where(split[self.columns], 1 + (cost > 0.0) + 2 * far, 0)
        if lost.size <= _FEW_COLUMNS:
            return _renumbered(self.columns * 5 + part)
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
        return _renumbered(np.where(sure[self.columns], merged[self.columns], self.columns * 5 + part))


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
        self._coarse = AcceptProgram(entry_classes(case), guarantee)

    @property
    def scores_only(self) -> float:
        """The adversary's success before any decision, mean over reviews."""
        return self._coarse.scores_only

    def solve(self, *, price: float = 0.0, success: float | None = None) -> Solution:
        """The best policy over the entries, and a bound on any policy, estimated from a sample of tuples."""
        solution = self._coarse.solve(price=price, success=success)
        if self._coarse.guarantee.name == "public":
            return solution
        reached = solution.error + price * solution.success
        return replace(solution, bound=min(reached, solution.error + self._short_of(solution.accept)))

    def _short_of(self, table: Array) -> float:
        """The bound less the policy's error: the mean over a sample, on the safe side.

        Subtracting the policy's own error draw by draw (a control variate) removes most of the variance.
        """
        sample = self.case.sample
        if sample is None:
            return 0.0
        lean = 2.0 * sample.favor - 1.0
        gained, bounds = lean * table[sample.entry], []
        for dual, scales in ((self._coarse.dual, (1.0,)), *self._penalty_duals()):
            price = dual.total + _row_prices(self.case, dual, sample.rows)
            for scale in scales:
                cost = -lean - scale * price
                ends = np.stack([np.maximum(cost, 0.0), np.minimum(cost, 0.0)])
                short = dual.corners[np.argmin(dual.corners @ ends.mean(axis=1))] @ ends + gained
                unsure = _STANDARD_ERRORS * short.std() / np.sqrt(short.size) + _UNSEEN_DRAWS / short.size
                bounds.append(scale * dual.constant + short.mean() - unsure)
        return float(max(bounds))

    def _penalty_duals(self) -> Iterator[tuple[DualSolution, Sequence[float]]]:
        """Dual prices with factors for them: none at all, and the penalties.

        Prices are in proportion to the penalties; which proportion is best depends on the evidence.

        A row's price h >= 0 limits what is accepted, h < 0 what is rejected: `h (share @ x - cap P(accept))`.
        Under *average*, the share of the likeliest reviewer takes the place of the last term.
        """
        yield self._coarse.unpriced(), (1.0,)
        guarantee, penalties = self._coarse.guarantee, self.case.layout.handicap
        if penalties is None or guarantee.name not in ("steady", "crowd", "average") or guarantee.spends:
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
    return _renumbered(key)


def _renumbered(key: Integers) -> Integers:
    """The same partition, numbered without gaps."""
    if key.max() > 8 * key.size:
        return np.unique(key, return_inverse=True)[1].astype(np.int64)
    used = np.zeros(int(key.max()) + 1, dtype=bool)
    used[key] = True
    return np.asarray((np.cumsum(used) - 1)[key])
