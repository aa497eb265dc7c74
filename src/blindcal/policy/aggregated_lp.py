"""Papers with very many tuples: fewer columns, never fewer rows, and a bound that says what it may cost.

Tuples are lumped: all of a lump are decided alike. Every author keeps its rows in every slot, so the promise
is kept; only optimality is at stake. The rows' prices then say of each tuple which way it should have gone.
Lumps whose tuples disagree are split, and the same prices bound what no policy at all can beat. Where tuples
are too many to be listed, the entries of a crowd are the lumps, and the bound is that of a sample of tuples.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy import sparse

from blindcal.checks import Array, Integers
from blindcal.errors import CertificateError
from blindcal.policy.accept_lp import Dual, Orbits, Program, Solution, beyond_doubt, crowd_orbits
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.paper import PaperCase

# Up to this many tuples, lumps are split until nothing is lost.
MOST_EXACT = 250_000
_BINS = 24
_HEAVY = 3
_ROUNDS = 60
_EXACT, _ENOUGH = 1e-9, 1e-6
_MOST_SPLITS = 1500
# A bound from a sample is stated this many standard errors and draws lower.
_SURE, _UNSEEN = 4.0, 3.0
# How much likelier to be right a unit of evidence makes accepting, where handicaps are turned into prices.
_SLOPES = tuple(np.geomspace(0.02, 2.0, 24).tolist())


class LumpedProgram:
    """Like `Program`, for tuples too many to have a column each."""

    def __init__(self, grouped: Orbits, guarantee: Guarantee) -> None:
        self.orbits, self.guarantee = grouped, guarantee
        self.fixed = beyond_doubt(grouped.favor, guarantee.never_against)
        self.lumps = first_lumps(grouped, self.fixed)
        self.enough = _EXACT if grouped.weight.size <= MOST_EXACT else _ENOUGH
        self._coarse = Program(lumped(grouped, self.lumps), guarantee)

    @property
    def scores_only(self) -> float:
        """The adversary's success before any decision, mean over reviews."""
        return self._coarse.scores_only

    def solve(self, *, price: float = 0.0, success: float | None = None) -> Solution:
        """The best policy found, and a bound; lumps are split until the two are close enough."""
        bound = -np.inf
        for _ in range(_ROUNDS):
            found = self._coarse.solve(price=price, success=success)
            if not self._coarse.searched:
                # The best policy needs no program, so that every tuple can have its own probability.
                return Program(self.orbits, self.guarantee).solve(price=price, success=success)
            bound = max(bound, self._coarse.dual.bound(self.orbits, self.fixed))
            if found.error + price * found.success - bound <= self.enough:
                break
            self.lumps = self._split()
            self._coarse = Program(lumped(self.orbits, self.lumps), self.guarantee)
        return replace(found, bound=bound)

    def _split(self) -> Integers:
        """Split the lumps in which deciding all tuples alike loses most, by which way each should go."""
        o, dual = self.orbits, self._coarse.dual
        cost = 1.0 - 2.0 * o.favor - dual.total - dual.price @ o.share
        apart = np.bincount(self.lumps, o.weight * np.abs(cost))
        lost = apart - np.abs(np.bincount(self.lumps, o.weight * cost))
        worst = np.argsort(-lost, kind="stable")[:_MOST_SPLITS]
        torn = np.zeros(lost.size, dtype=bool)
        torn[worst] = lost[worst] > 1e-3 * self.enough / lost.size
        far = np.abs(cost) * self._coarse.orbits.weight[self.lumps] > apart[self.lumps]
        part = np.where(torn[self.lumps], 1 + (cost > 0.0) + 2 * far, 0)
        return _numbered(self.lumps * 5 + part)


class CrowdProgram:
    """Like `Program`, for tuples that are not listed: a column for each entry of the crowd's table."""

    def __init__(self, case: PaperCase, guarantee: Guarantee) -> None:
        if guarantee.never_against is not None:
            raise CertificateError(
                "never-against needs an accept probability for each tuple of reviewers: a pool is too large"
            )
        self.case = case
        self._coarse = Program(crowd_orbits(case), guarantee)

    @property
    def scores_only(self) -> float:
        """The adversary's success before any decision, mean over reviews."""
        return self._coarse.scores_only

    def solve(self, *, price: float = 0.0, success: float | None = None) -> Solution:
        """The best policy over the entries, and what a sample of tuples says no policy can beat."""
        found = self._coarse.solve(price=price, success=success)
        if self._coarse.guarantee.name == "public":
            return found
        reached = found.error + price * found.success
        return replace(found, bound=min(reached, found.error + self._short_of(found.accept)))

    def _short_of(self, table: Array) -> float:
        """The bound less the policy's error: the mean over a sample, on the safe side.

        The policy's own error on the sample is taken off draw by draw, and with it most of the chance.
        """
        sample = self.case.sample
        if sample is None:
            return 0.0
        gained = (2.0 * sample.favor - 1.0) * table[sample.entry]
        bounds = []
        for dual in (self._coarse.dual, self._coarse.unpriced(), *self._handicapped()):
            cost = 1.0 - 2.0 * sample.favor - dual.total - _priced(self.case, dual, sample.rows)
            ends = np.stack([np.maximum(cost, 0.0), np.minimum(cost, 0.0)])
            short = dual.corners[np.argmin(dual.corners @ ends.mean(axis=1))] @ ends + gained
            unsure = _SURE * short.std() / np.sqrt(short.size) + _UNSEEN / short.size
            bounds.append(dual.constant + short.mean() - unsure)
        return float(max(bounds))

    def _handicapped(self) -> Iterator[Dual]:
        """Prices in proportion to the handicaps: which proportion is best depends on the evidence.

        A row's price h >= 0 limits what is accepted, h < 0 what is rejected: `h (share @ x - top P(accept))`
        or, where nobody may overtake the likeliest author, that author's share in place of the last term.
        """
        guarantee, handicap = self._coarse.guarantee, self.case.layout.handicap
        if handicap is None or guarantee.name not in ("steady", "average") or guarantee.spends:
            return
        o = self._coarse.orbits
        group, kind = self.case.look_alikes
        groups, kinds = int(group.max()) + 1, int(kind.max()) + 1
        each = np.zeros((groups, kinds))
        each[group[:, None], kind[kind >= 0]] = handicap[:, : kind.size][:, kind >= 0]
        # One row stands for this many authors in this many slots.
        one: Array = (each * np.bincount(group)[:, None] * np.bincount(kind[kind >= 0])).ravel()
        if guarantee.name == "average":
            first = o.mass.reshape(groups, kinds).argmax(axis=1) + kinds * np.arange(groups)
            one[first] -= one.reshape(groups, kinds).sum(axis=1)
        unused = np.minimum(one, 0.0) * (o.top - o.mass)
        total = float(one @ o.top) if guarantee.name == "steady" else 0.0
        for slope in _SLOPES:
            yield Dual(slope * float(unused.sum()), slope * total, -slope * one, self._coarse.corners)


def _priced(case: PaperCase, dual: Dual, rows: Integers) -> Array:
    """The rows' prices for tuples of candidates `[draw, slot]`."""
    group, kind = case.look_alikes
    share = np.bincount(group)[group][:, None] * np.bincount(kind + 1)[kind + 1]
    prices = dual.price.reshape(int(group.max()) + 1, -1)
    # Nobody is priced at nothing.
    price = np.pad(prices, ((0, 0), (1, 0)))[group][:, kind + 1] / share
    return np.asarray(price[np.arange(group.size), rows].sum(axis=1))


def lumped(o: Orbits, lumps: Integers) -> Orbits:
    """The orbits of each lump as one: masses add up, an author's share is its share of the lump's mass."""
    weight = np.bincount(lumps, o.weight).astype(np.float64)
    part = np.where(weight[lumps] > 0.0, o.weight, 1.0)
    total = np.bincount(lumps, part)
    rows = o.mass.size
    orbit = np.repeat(np.arange(lumps.size), np.diff(o.share.indptr))
    shares = np.bincount(
        lumps[orbit] * rows + o.share.indices, o.share.data * (part / total[lumps])[orbit], weight.size * rows
    )
    return replace(
        o,
        of=lumps[o.of],
        weight=weight,
        favor=np.clip(np.bincount(lumps, part * o.favor) / total, 0.0, 1.0),
        share=sparse.csc_array(shares.reshape(-1, rows).T),
    )


def first_lumps(o: Orbits, fixed: Array) -> Integers:
    """By bins of favor and the heavy authors of each slot; what is decided for sure stays apart."""
    bins = np.minimum((o.favor * _BINS).astype(np.int64), _BINS - 1)
    key = (bins * 2 + (o.favor > 0.5)) * 3 + (fixed + 1.0).astype(np.int64)
    groups = o.size.size
    mass = o.mass.reshape(groups, -1)
    place = np.argsort(np.argsort(-mass, axis=1, kind="stable"), axis=1, kind="stable").ravel()
    heavy = np.where(place < _HEAVY, place + 1.0, 0.0)
    present = sparse.csc_array(
        (np.ones_like(o.share.data), o.share.indices, o.share.indptr), shape=o.share.shape
    )
    for group in range(groups):
        # One digit for each heavy author: a group of tied slots may hold several.
        digits = np.where((o.slot == group) & (heavy > 0), 2.0 ** (heavy - 1), 0.0)
        key = key * 2**_HEAVY + (digits @ present).astype(np.int64)
    return _numbered(key)


def _numbered(key: Integers) -> Integers:
    """The same groups, numbered without gaps."""
    if key.max() > 8 * key.size:
        return np.unique(key, return_inverse=True)[1].astype(np.int64)
    used = np.zeros(int(key.max()) + 1, dtype=bool)
    used[key] = True
    return np.asarray((np.cumsum(used) - 1)[key])
