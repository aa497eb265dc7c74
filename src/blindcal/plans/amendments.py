"""A paper decided again: its prior is what the adversary believed after the earlier decisions.

Guesses add up over releases. So the new table is solved from the posterior, and certified together with the
earlier outcomes. That needs to know which review of then is which review of now: equal scores are the same
review, and a corrected score may have been any of the scores that are gone. Each such *reading* gives every
tuple of reviewers a likelihood of what was decided before; a promise must hold under all of them. Reviews
with equal scores have no order of their own, so tuples that differ by it share one accept probability.

A tuple of reviewers that the earlier table did not know takes the probability of the outcome itself, which
tells nothing; a review without a partner is averaged over. Where tuples are too many to be listed, or scores
changed over more than two releases (which review is which would have to be followed through all of them), a
paper is decided again by public information alone, which adds nothing to what was revealed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from itertools import permutations, product
from math import gcd, inf, perm

import numpy as np

from blindcal.assignments.pools import OUTSIDER
from blindcal.beliefs.belief import Belief, unchecked_belief
from blindcal.beliefs.cases import PaperCase
from blindcal.checks import Integers
from blindcal.plans.certificates import table_epsilon
from blindcal.plans.exact import Exact, ExactPolicy, integers
from blindcal.plans.rounding import upward

# More ways than this to read the past, and a paper is decided by public information alone.
MOST_READINGS = 64
# Means over reviews without a partner keep this many more bits than the table.
_EXTRA_BITS = 128
Pairs = tuple[tuple[int, int], ...]
"""Slots of now and of then that hold the same review."""


@dataclass(frozen=True)
class Earlier:
    """A decision that was already seen: the public case of that time, its table and its outcome.

    `sure`: whether it was about this very paper; else about one with the same reviews, perhaps another one.
    """

    case: PaperCase
    policy: ExactPolicy
    accepted: bool
    sure: bool = True


@dataclass(frozen=True)
class AmendedCase(PaperCase):
    """A paper with the decisions that were made about its reviews before."""

    earlier: tuple[Earlier, ...] = field(default=(), compare=False, repr=False)

    @property
    def settled(self) -> bool:
        """Whether public information alone decides: what may be another paper must not shape the table."""
        return not all(one.sure for one in self.earlier)

    @cached_property
    def entry(self) -> Integers:
        """Tuples that differ only by the order of equal scores share an entry of the table."""
        rows = _in_order(self.tuples, np.unique(self.scores, return_inverse=True)[1])
        return np.unique(_keys(rows, len(self.candidates)), return_inverse=True)[1].astype(np.int64)

    @cached_property
    def readings(self) -> tuple[Exact, ...]:
        """For each reading of the past its likelihood, `[tuple]` in integers; the plainest comes first."""
        listed = list(_readings(self, self.earlier))
        return tuple(listed[i] for i in _distinct(listed))

    @property
    def belief(self) -> Belief:
        """The belief after the earlier decisions, read the plainest way."""
        alone, factor = self.scores_belief, self.readings[0]
        weight = alone.weight * (factor / int(factor.max())).astype(np.float64)
        return unchecked_belief(weight / weight.sum(), alone.favor, alone.labels, self.entry)


@dataclass(frozen=True)
class SettledCase(PaperCase):
    """A paper that was decided before and is decided again by public information alone.

    `revealed` is the epsilon of its earlier decisions together: they have moved no odds by more than
    e^revealed.
    """

    revealed: float = 0.0

    @property
    def settled(self) -> bool:
        return True


def amended_case(case: PaperCase, earlier: Sequence[Earlier]) -> PaperCase:
    """The case with its earlier decisions counted in; a paper without any stays as it is."""
    if not earlier:
        return case
    public = {each.name: getattr(case, each.name) for each in fields(PaperCase)}
    listed = case.listed and all(one.case.listed for one in earlier)
    same = all(one.case.scores == case.scores for one in earlier)
    once = len(earlier) == 1 and earlier[0].sure and _count(case, earlier) <= MOST_READINGS
    if listed and (same or once):
        return AmendedCase(**public, earlier=tuple(earlier))
    apart = [table_epsilon(one.policy) for one in earlier]
    together = inf if inf in apart else upward(sum(map(Fraction, apart), Fraction(0)))
    return SettledCase(**public, revealed=together)


def _count(case: PaperCase, earlier: Sequence[Earlier]) -> int:
    """At least as many as there are readings."""
    ways = 1 if all(one.sure for one in earlier) else 2
    for one in earlier:
        new, old = _unmatched(case.scores, one.case.scores) if one.sure else ([], [])
        few, many = sorted((len(new), len(old)))
        ways *= perm(many, few)
    return ways


def _readings(case: PaperCase, earlier: Sequence[Earlier]) -> Iterator[Exact]:
    """Every way to match the reviews, with the decisions that may be about another paper and without them."""
    sure = [one for one in earlier if one.sure]
    for counted in (earlier, sure) if len(sure) < len(earlier) else (earlier,):
        ways = [[likelihood(case, one, pairs) for pairs in _matched(case, one)] for one in counted]
        for parts in product(*ways):
            yield _reduced(case, parts)


def _matched(case: PaperCase, one: Earlier) -> list[Pairs]:
    """The ways to match the reviews; those of a paper that only looks the same are matched in order."""
    slots = range(len(case.scores))
    then = range(len(one.case.scores))
    return matchings(case.scores, one.case.scores) if one.sure else [tuple(zip(slots, then, strict=False))]


def _reduced(case: PaperCase, parts: Sequence[Exact]) -> Exact:
    """The product of the likelihoods in lowest terms."""
    factor: Exact = np.ones(len(case.tuples), dtype=object)
    for part in parts:
        factor = factor * part
    if not (integers(case.scores_belief.weight) * factor).any():
        # No tuple of the corrected pool can have led to what was seen: the earlier decisions reveal nothing.
        factor = np.ones(len(case.tuples), dtype=object)
    lowest: Exact = factor // gcd(*factor.tolist())
    return lowest


def _distinct(factors: Sequence[Exact]) -> list[int]:
    """The first of each of several equal ones."""
    first: dict[tuple[int, ...], int] = {}
    for index, factor in enumerate(factors):
        first.setdefault(tuple(factor.tolist()), index)
    return sorted(first.values())


def likelihood(case: PaperCase, earlier: Earlier, pairs: Pairs) -> Exact:
    """P(the earlier outcome | tuple) for each tuple of the new case, in integers on one denominator."""
    then = earlier.case
    tied = np.unique(then.scores, return_inverse=True)[1]
    outcome = earlier.policy.outcome(earlier.accepted)
    outcome = outcome if then.entry is None else outcome[then.entry]
    same, place = _places(then.candidates, then.candidates), _places(case.candidates, then.candidates)
    weight, base = integers(then.scores_belief.weight), len(then.candidates) + 1
    new_slots, old_slots = [new for new, _ in pairs], [old for _, old in pairs]
    # The order of equal scores was drawn, each one as likely: the mean over it is what was seen.
    outcome = _shared(_keys(_in_order(then.tuples, tied), base), outcome, np.ones_like(weight))[1]
    rows = _in_order(same[then.tuples][:, old_slots] + 1, tied[old_slots])
    names, mean = _shared(_keys(rows, base), outcome, weight, by_name=True)
    wanted = _keys(_in_order(place[case.tuples[:, new_slots]] + 1, tied[old_slots]), base)
    at = np.minimum(np.searchsorted(names, wanted), names.size - 1)
    unknown = ((weight * outcome).sum() << _EXTRA_BITS) // int(weight.sum())
    known: Exact = np.where(names[at] == wanted, mean[at], unknown)
    return known


def _shared(key: Integers, values: Exact, weight: Exact, by_name: bool = False) -> tuple[Integers, Exact]:
    """The weighted mean of the values over rows with the same key: for each row, or for each key."""
    order = np.argsort(key, kind="stable")
    names, start = np.unique(key[order], return_index=True)
    mass, parts = np.add.reduceat((weight * values)[order], start), np.add.reduceat(weight[order], start)
    first = values[order[start]]
    means: Exact = np.array(
        [
            (m << _EXTRA_BITS) // p if p else one << _EXTRA_BITS
            for m, p, one in zip(mass, parts, first, strict=True)
        ],
        dtype=object,
    )
    return (names, means) if by_name else (key, means[np.searchsorted(names, key)])


def matchings(new: Sequence[float], old: Sequence[float]) -> list[Pairs]:
    """The ways in which the reviews of now may be those of then: equal scores are the same review, a
    corrected score may have been any that is gone. In order of score comes first; ways that differ only by
    the order of equal scores are one.

    >>> matchings((1.0, 4.0, 5.0), (1.0, 3.0, 5.0))
    [((0, 0), (1, 1), (2, 2))]
    >>> matchings((2.0, 3.0), (0.0, 1.0))
    [((0, 0), (1, 1)), ((0, 1), (1, 0))]
    """
    left, kept = _unmatched(new, old), _equal(new, old)
    few, many = sorted(left, key=len)
    swapped = few is not left[0]
    ways: dict[tuple[tuple[float, float], ...], Pairs] = {}
    for chosen in permutations(many, len(few)):
        pairs = list(zip(few, chosen, strict=True))
        pairs = [(new_slot, old_slot) for old_slot, new_slot in pairs] if swapped else pairs
        ways.setdefault(tuple(sorted((new[a], old[b]) for a, b in pairs)), tuple(sorted([*kept, *pairs])))
    return list(ways.values())


def _equal(new: Sequence[float], old: Sequence[float]) -> list[tuple[int, int]]:
    """Slots of now and of then with equal scores, each used once."""
    left, pairs = list(range(len(old))), []
    for slot, score in enumerate(new):
        same = next((other for other in left if old[other] == score), None)
        if same is not None:
            left.remove(same)
            pairs.append((slot, same))
    return pairs


def _unmatched(new: Sequence[float], old: Sequence[float]) -> tuple[list[int], list[int]]:
    """The slots of now and of then without an equal score on the other side."""
    pairs = _equal(new, old)
    ours, theirs = {a for a, _ in pairs}, {b for _, b in pairs}
    return [a for a in range(len(new)) if a not in ours], [b for b in range(len(old)) if b not in theirs]


def _places(new: Sequence[str], old: Sequence[str]) -> Integers:
    """Where each candidate of now stood in the pool of then: as itself, as `*`, or nowhere (-1)."""
    place: dict[str, int] = {}
    for index, name in enumerate(old):
        place.setdefault(name, index)
    return np.array([place.get(name, place.get(OUTSIDER, -1)) for name in new], dtype=np.int64)


def _in_order(rows: Integers, tied: Integers) -> Integers:
    """The rows with the entries of tied slots in rising order."""
    rows = rows.copy()
    for group in np.unique(tied):
        rows[:, tied == group] = np.sort(rows[:, tied == group], axis=1)
    return rows


def _keys(rows: Integers, base: int) -> Integers:
    """One number for each row of small integers."""
    key = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        key = key * base + column
    return key
