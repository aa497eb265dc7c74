"""A paper decided again: its prior is what the adversary believed after the earlier decisions.

Guesses add up over releases. So the new table is solved from the posterior, and certified together with the
earlier outcomes. Old and new reviews are matched slot by slot: equal scores first, the rest in order of
score. A tuple of reviewers that the earlier table did not know takes the probability of the outcome itself,
which tells nothing; a slot without a partner is averaged over. Where tuples are too many to be listed, a
paper is decided again by public information alone, which adds nothing to what was told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from math import gcd, inf

import numpy as np

from blindcal.beliefs import Belief
from blindcal.cases import SettledCase
from blindcal.certificates import table_epsilon
from blindcal.checks import Integers
from blindcal.conferences import PaperCase
from blindcal.exact import Exact, ExactPolicy, integers
from blindcal.pools import OUTSIDER
from blindcal.records import Ledger, PaperRecord, Record
from blindcal.rounding import upward


@dataclass(frozen=True)
class Earlier:
    """A decision that was already seen: the public case of that time, its table and its outcome."""

    case: PaperCase
    policy: ExactPolicy
    accepted: bool


@dataclass(frozen=True)
class AmendedCase(PaperCase):
    """A paper with what its earlier decisions told: `factor[n]`, the likelihood of them all, in integers."""

    factor: Exact = field(default_factory=lambda: np.ones(1, dtype=object), compare=False, repr=False)

    @property
    def scores_belief(self) -> Belief:
        """The belief from the scores alone."""
        return super().belief

    @property
    def belief(self) -> Belief:
        """The belief after the earlier decisions."""
        alone = self.scores_belief
        weight = alone.weight * (self.factor / int(self.factor.max())).astype(np.float64)
        return Belief(weight / weight.sum(), alone.favor, alone.labels)


def history(ledger: Ledger, record: Record, papers: Iterable[str]) -> dict[str, tuple[Earlier, ...]]:
    """Every decision made so far on each of the papers, oldest first."""
    wanted, found = set(papers), dict[str, list[Earlier]]()
    needed = {n for p in record.papers if p.paper in wanted for n in (*p.earlier, p.release)}
    for release in ledger.of(record.conference):
        if release.number in needed:
            old = ledger.record(release)
            tables = ledger.tables(old)
            for paper in old.papers:
                if paper.paper in wanted and paper.release == release.number:
                    earlier = Earlier(recorded_case(paper, old.bar), tables[paper.paper], paper.accepted)
                    found.setdefault(paper.paper, []).append(earlier)
    return {name: tuple(decisions) for name, decisions in found.items()}


def recorded_case(paper: PaperRecord, bar: float) -> PaperCase:
    """The public case of a paper as it was recorded."""
    pool, grid = paper.public["pool"], paper.public["grid"]
    return PaperCase(
        paper=paper.paper,
        scores=tuple(paper.public["scores"]),
        candidates=tuple(row[0] for row in pool),
        inclusion=tuple(row[1] for row in pool),
        parameters=tuple(tuple(row[2:]) for row in pool),
        bar=bar,
        grid=None if grid is None else tuple(grid),
    )


def amended_case(case: PaperCase, earlier: Sequence[Earlier], bar: float) -> PaperCase:
    """The case with its earlier decisions counted in; a paper without any stays as it is."""
    if not earlier:
        return case
    if not case.listed or not all(one.case.listed for one in earlier):
        told = [table_epsilon(one.policy) for one in earlier]
        public = {each.name: getattr(case, each.name) for each in fields(PaperCase)}
        return SettledCase(**{**public, "bar": bar, "told": inf if inf in told else _total(told)})
    factor = np.ones(len(case.tuples), dtype=object)
    for decision in earlier:
        factor = factor * likelihood(case, decision)
    if not (integers(case.belief.weight) * factor).any():
        # No tuple of the corrected pool could have led to what was seen: the earlier decisions tell nothing.
        factor = np.ones(len(case.tuples), dtype=object)
    factor = factor // gcd(*factor.tolist())
    return AmendedCase(
        paper=case.paper,
        scores=case.scores,
        candidates=case.candidates,
        inclusion=case.inclusion,
        parameters=case.parameters,
        bar=bar,
        grid=case.grid,
        factor=factor,
    )


def _total(parts: Sequence[float]) -> float:
    """The sum, rounded up."""
    return upward(sum(map(Fraction, parts), Fraction(0)))


def likelihood(case: PaperCase, earlier: Earlier) -> Exact:
    """P(the earlier outcome | tuple) for each tuple of the new case, in integers on one denominator."""
    outcome = earlier.policy.outcome(earlier.accepted)
    weight = integers(earlier.case.belief.weight)
    pairs = matched_slots(case.scores, earlier.case.scores)
    new_slots, old_slots = [new for new, _ in pairs], [old for _, old in pairs]
    place = _places(case.candidates, earlier.case.candidates)
    base = len(earlier.case.candidates) + 1
    old = _keys(earlier.case.tuples[:, old_slots] + 1, base)
    new = _keys(place[case.tuples[:, new_slots]] + 1, base)
    names, start, order = _groups(old)
    mass, parts = np.add.reduceat((weight * outcome)[order], start), np.add.reduceat(weight[order], start)
    first = outcome[order[start]]
    shared = np.array(
        [m // p if p else one for m, p, one in zip(mass, parts, first, strict=True)], dtype=object
    )
    at = np.minimum(np.searchsorted(names, new), names.size - 1)
    unknown = int((weight * outcome).sum()) // int(weight.sum())
    known: Exact = np.where(names[at] == new, shared[at], unknown)
    return known


def matched_slots(new: Sequence[float], old: Sequence[float]) -> list[tuple[int, int]]:
    """Slots of the new and the old scores that hold the same review: equal scores first, then in order.

    >>> matched_slots((1.0, 4.0, 5.0), (1.0, 3.0, 5.0)), matched_slots((2.0, 3.0), (3.0,))
    ([(0, 0), (1, 1), (2, 2)], [(1, 0)])
    """
    left, pairs = list(range(len(old))), []
    rest = []
    for slot, score in enumerate(new):
        equal = next((other for other in left if old[other] == score), None)
        if equal is None:
            rest.append(slot)
        else:
            left.remove(equal)
            pairs.append((slot, equal))
    return sorted([*pairs, *zip(rest, left, strict=False)])


def _places(new: Sequence[str], old: Sequence[str]) -> Integers:
    """Where each new candidate stood in the old pool: as itself, as the outsider, or nowhere (-1)."""
    place = {name: index for index, name in enumerate(old)}
    return np.array([place.get(name, place.get(OUTSIDER, -1)) for name in new], dtype=np.int64)


def _keys(rows: Integers, base: int) -> Integers:
    """One number for each row of small integers."""
    key = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        key = key * base + column
    return key


def _groups(key: Integers) -> tuple[Integers, Integers, Integers]:
    order = np.argsort(key, kind="stable")
    names, start = np.unique(key[order], return_index=True)
    return names, start, order
