"""Any number of outcomes certified: chances [secret, outcome] as exact rationals, with what they promise.

What `certificates` does for accept and reject, for small instances of any kind: the chances are put on
multiples of 2^-53, every limit is compared in fractions for the very numbers that would be sampled, and where
one is missed they are mixed with one row for all secrets, which reveals nothing. *steady* holds with equality
for the likeliest label of each slot, so a few heavy secrets get the exact rationals that solve these
equations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from blindcal.certify.exact import UNIT, exponential_below, logarithm_above
from blindcal.checks import Array, Integers, nonnegative, within
from blindcal.errors import CertificateError, InputError
from blindcal.policy.guarantee import Guarantee

Table = tuple[tuple[Fraction, ...], ...]
_SMALLEST_MIX = Fraction(1, 1 << 48)


@dataclass(frozen=True)
class OutcomeClaim:
    """What a table of chances promises, exactly.

    `success_scores_only`, `success`: the chance of a correct guess before the outcome is seen and after, mean
    over the slots.
    `multiplier`: whatever an adversary believed before, its chance of a correct guess grows by no more than
    this factor, on average over the outcomes.
    `largest_posterior`: the largest chance of a slot's best guess after any outcome.
    `largest_rise`: the most by which an outcome makes a slot's best guess likelier.
    `epsilon`: no outcome changes the odds between two secrets by more than a factor e^epsilon; rounded up.
    `mixed`: the weight of the row for all secrets that repaired the table; 0 if none was needed.
    """

    success_scores_only: Fraction
    success: Fraction
    multiplier: Fraction
    largest_posterior: Fraction
    largest_rise: Fraction
    epsilon: float
    mixed: Fraction

    @property
    def added(self) -> Fraction:
        """How much likelier a correct guess became."""
        return self.success - self.success_scores_only


def certify_outcomes(
    weight: ArrayLike, chance: ArrayLike, guarantee: Guarantee, labels: ArrayLike | None = None
) -> tuple[Table, OutcomeClaim]:
    """Exact chances `[secret][outcome]` near `chance` that keep the guarantee, and their claim.

    `weight`: of each secret; it is scaled to sum to 1.
    `chance[secret, outcome]`: each row sums to 1.
    `guarantee`: the limits to keep, `never_against` not among them; `CertificateError` if nothing keeps them.
    `labels[slot, secret]`: what the adversary guesses in each slot, integers; by default the secret itself.

    >>> table, claim = certify_outcomes([0.5, 0.5], [[1, 0, 0], [0, 0, 1]], Guarantee("none", epsilon=None))
    >>> claim.success, claim.epsilon
    (Fraction(1, 1), inf)
    """
    if guarantee.never_against is not None:
        raise InputError("never-against is a limit on accepting and rejecting, not on other decisions")
    stored = [Fraction(float(one)) for one in nonnegative("weight", weight)]
    prior = [one / sum(stored) for one in stored]
    table = _rounded(within("chance", chance, 0.0, 1.0))
    slots = _slots(labels, len(prior))
    if len(table) != len(prior):
        raise InputError(f"chance has {len(table)} secrets and weight {len(prior)}")
    if guarantee.name == "steady":
        table = _on_equations(prior, table, slots)
    common = _common(prior, table)
    mixed = Fraction(1) if guarantee.name == "public" else Fraction(0)
    while mixed < 1:
        tried = _mixture(table, common, mixed)
        if _kept(claim_of_outcomes(prior, tried, slots, mixed), tried, guarantee):
            return tried, claim_of_outcomes(prior, tried, slots, mixed)
        mixed = min(Fraction(1), max(_SMALLEST_MIX, 8 * mixed))
    constant = _mixture(table, common, Fraction(1))
    claim = claim_of_outcomes(prior, constant, slots, Fraction(1))
    if not _kept(claim, constant, guarantee):
        raise CertificateError(
            "no policy keeps the requested limits for these public data, not even a constant"
        )
    return constant, claim


def claim_of_outcomes(
    prior: Sequence[Fraction], table: Table, slots: Integers, mixed: Fraction = Fraction(0)
) -> OutcomeClaim:
    """What these very chances promise: sums of fractions, nothing rounded but epsilon, which is rounded
    up."""
    outcomes = range(len(table[0]))
    alone = [_top(prior, labels) for labels in slots]
    mass = [[w * row[d] for w, row in zip(prior, table, strict=True)] for d in outcomes]
    tops = [[_top(column, labels) for labels in slots] for column in mass]
    sums = [sum(column, Fraction(0)) for column in mass]
    after = [[top / chance for top in row] for chance, row in zip(sums, tops, strict=True) if chance]
    columns = [[row[d] for row in table] for d in outcomes]
    return OutcomeClaim(
        success_scores_only=sum(alone, Fraction(0)) / len(slots),
        success=sum((top for row in tops for top in row), Fraction(0)) / len(slots),
        multiplier=sum((max(column) for column in columns), Fraction(0)),
        largest_posterior=max(top for row in after for top in row),
        largest_rise=max(top - before for row in after for top, before in zip(row, alone, strict=True)),
        epsilon=max(_log_ratio(column) for column in columns),
        mixed=mixed,
    )


def _top(mass: Sequence[Fraction], labels: Integers) -> Fraction:
    """The mass of the likeliest label; below 0 it is nobody."""
    sums: dict[int, Fraction] = {}
    for label, part in zip(labels.tolist(), mass, strict=True):
        if label >= 0:
            sums[label] = sums.get(label, Fraction(0)) + part
    return max(sums.values(), default=Fraction(0))


def _log_ratio(column: Sequence[Fraction]) -> float:
    most, least = max(column), min(column)
    return logarithm_above(most.numerator * least.denominator, least.numerator * most.denominator)


def _kept(claim: OutcomeClaim, table: Table, guarantee: Guarantee) -> bool:
    """Every limit, in fractions: e^epsilon is rounded down before ratios are compared with it."""
    if guarantee.name not in ("public", "steady", "average", "none"):
        raise InputError(f"nothing is known here of what the guarantee {guarantee.name!r} promises")
    limits = [
        all(one >= 0 for row in table for one in row),
        guarantee.name != "steady" or claim.largest_rise <= 0,
        guarantee.name != "average" or claim.added <= Fraction(guarantee.added_success),
        guarantee.multiplier is None or claim.multiplier <= Fraction(guarantee.multiplier),
        guarantee.posterior_cap is None or claim.largest_posterior <= Fraction(guarantee.posterior_cap),
    ]
    if guarantee.epsilon is not None:
        most = exponential_below(guarantee.epsilon)
        limits += [max(column) <= most * min(column) for column in zip(*table, strict=True)]
    return all(limits)


def _rounded(chance: Array) -> Table:
    """Multiples of 2^-53 that sum to 1: the largest chance of a row takes what rounding leaves."""
    if chance.ndim != 2 or (np.abs(chance.sum(axis=1) - 1.0) > 1e-9).any():
        raise InputError("chance[secret, outcome] must sum to 1 over the outcomes")
    rows = []
    for row in chance:
        whole = [round(float(one) * UNIT) for one in row]
        whole[int(np.argmax(row))] += UNIT - sum(whole)
        rows.append(tuple(Fraction(one, UNIT) for one in whole))
    return tuple(rows)


def _on_equations(prior: Sequence[Fraction], table: Table, slots: Integers) -> Table:
    """The table with a few rows replaced, so that no outcome changes the chance of a slot's likeliest label:
    `sum_r w_r ([label_r = y] - top) P(d|r) = 0` for every outcome d. Rows still sum to 1, as a constant
    solves the equations too; the heaviest secrets are the ones replaced."""
    equations = [row for labels in slots for row in _equations(prior, labels)]
    rows = [list(row) for row in table]
    for place, equation in _solved(equations, sorted(range(len(prior)), key=lambda r: -prior[r])).items():
        columns = zip(*table, strict=True)
        rows[place] = [
            -sum(
                (c * one for r, (c, one) in enumerate(zip(equation, column, strict=True)) if r != place),
                Fraction(0),
            )
            for column in columns
        ]
    return tuple(map(tuple, rows))


def _equations(prior: Sequence[Fraction], labels: Integers) -> list[list[Fraction]]:
    """One for each likeliest label of a slot: `w_r ([label_r = y] - top)`, by secret."""
    top, pairs = _top(prior, labels), list(zip(prior, labels.tolist(), strict=True))
    masses = {y: sum((w for w, one in pairs if one == y), Fraction(0)) for _, y in pairs if y >= 0}
    return [[w * ((one == y) - top) for w, one in pairs] for y, mass in masses.items() if mass == top]


def _solved(equations: list[list[Fraction]], order: Sequence[int]) -> dict[int, list[Fraction]]:
    """The equations solved for one unknown each, the first in `order` that is left; by that unknown."""
    found: dict[int, list[Fraction]] = {}
    for row in equations:
        for place, known in found.items():
            row = [one - row[place] * other for one, other in zip(row, known, strict=True)]
        place = next((r for r in order if row[r] != 0), -1)
        if place < 0:
            continue
        row = [one / row[place] for one in row]
        for other, known in found.items():
            found[other] = [one - known[place] * part for one, part in zip(known, row, strict=True)]
        found[place] = row
    return found


def _common(prior: Sequence[Fraction], table: Table) -> tuple[Fraction, ...]:
    """One row for all secrets: the chances of the outcomes, none of which is then impossible for some
    only."""
    return tuple(
        sum((w * row[d] for w, row in zip(prior, table, strict=True)), Fraction(0))
        for d in range(len(table[0]))
    )


def _mixture(table: Table, common: Sequence[Fraction], part: Fraction) -> Table:
    return tuple(
        tuple((1 - part) * one + part * other for one, other in zip(row, common, strict=True))
        for row in table
    )


def _slots(labels: ArrayLike | None, secrets: int) -> Integers:
    found = np.arange(secrets)[None, :] if labels is None else np.asarray(labels)
    if found.ndim != 2 or found.shape[1] != secrets or not np.issubdtype(found.dtype, np.integer):
        raise InputError(f"labels must be integers [slot, secret] for {secrets} secrets, found {found.shape}")
    return found.astype(np.int64)
