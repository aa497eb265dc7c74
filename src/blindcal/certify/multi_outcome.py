"""Exact claims for any number of outcomes: probabilities [secret, outcome] as exact rationals.

This does what `claims` does for accept and reject, for small instances of any kind. The probabilities are
rounded to multiples of 2^-53, and every limit is compared in fractions for the very numbers that would be
sampled. If one is missed, the table is mixed with one row for all secrets, which reveals nothing. *steady*
holds with equality for the likeliest label of each slot, and *crowd* for labels as likely as anyone may
become, so a few heavy secrets get the exact rationals that solve these equations.
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
from blindcal.policy.multi_outcome import label_slots

OutcomeTable = tuple[tuple[Fraction, ...], ...]
_SMALLEST_MIX = Fraction(1, 1 << 48)


@dataclass(frozen=True)
class OutcomeClaim:
    """What a table of probabilities reveals, exactly.

    Attributes:
        success_scores_only: The chance of a correct guess before the outcome is seen, mean over the slots.
        success: The same after the outcome.
        multiplier: Whatever an adversary believed before, its chance of a correct guess grows by no more than
            this factor, on average over the outcomes.
        largest_posterior: The largest chance of a slot's best guess after any outcome.
        largest_rise: The most by which an outcome makes a slot's best guess likelier.
        largest_excess: The most by which any outcome makes a guess likelier than the slot's cap, by which
            *steady* and *crowd* limit it; at most 0 if they are kept, and without these.
        epsilon: No outcome changes the odds between two secrets by more than a factor e^epsilon; rounded up.
        mixed: The weight of the common row that repaired the table; 0 if none was needed.
    """

    success_scores_only: Fraction
    success: Fraction
    multiplier: Fraction
    largest_posterior: Fraction
    largest_rise: Fraction
    largest_excess: Fraction
    epsilon: float
    mixed: Fraction

    @property
    def added(self) -> Fraction:
        """How much likelier a correct guess became."""
        return self.success - self.success_scores_only


def certify_outcomes(
    weight: ArrayLike, chance: ArrayLike, guarantee: Guarantee, labels: ArrayLike | None = None
) -> tuple[OutcomeTable, OutcomeClaim]:
    """Exact probabilities `[secret][outcome]` near `chance` that keep the guarantee, and their claim.

    Args:
        weight: Of each secret; it is scaled to sum to 1.
        chance: `[secret, outcome]`, each row summing to 1.
        guarantee: The limits to keep, `never_against` not among them.
        labels: `[slot, secret]`, the correct guess in each slot, integers; by default the secret itself.

    Raises:
        CertificateError: No table keeps the limits.

    Example:
        >>> unlimited = Guarantee("none", epsilon=None)
        >>> table, claim = certify_outcomes([0.5, 0.5], [[1, 0, 0], [0, 0, 1]], unlimited)
        >>> claim.success, claim.epsilon
        (Fraction(1, 1), inf)
    """
    guarantee.check_outcomes()
    stored = [Fraction(float(probability)) for probability in nonnegative("weight", weight)]
    prior = [probability / sum(stored) for probability in stored]
    table = _rounded(within("chance", chance, 0.0, 1.0))
    slots = label_slots(labels, len(prior))
    if len(table) != len(prior):
        raise InputError(f"chance has {len(table)} secrets and weight {len(prior)}")
    # The most that anyone may become by *steady* or a crowd, in each slot; 1 without either.
    least = Fraction(0) if guarantee.name == "steady" else Fraction(1, guarantee.among or 1)
    caps = [max(_top_mass(prior, row), least) for row in slots]
    table = _meet_equations(prior, table, slots, caps)
    common = _common_row(prior, table)
    mixed = Fraction(1) if guarantee.name == "public" else Fraction(0)
    while mixed < 1:
        tried = _mixture(table, common, mixed)
        claim = _claim_of_outcomes(prior, tried, slots, caps, mixed)
        if _keeps(claim, tried, guarantee):
            return tried, claim
        mixed = min(Fraction(1), max(_SMALLEST_MIX, 8 * mixed))
    constant = _mixture(table, common, Fraction(1))
    claim = _claim_of_outcomes(prior, constant, slots, caps, Fraction(1))
    if not _keeps(claim, constant, guarantee):
        raise CertificateError(
            "no policy keeps the requested limits for these public data, not even a constant"
        )
    return constant, claim


def _claim_of_outcomes(
    prior: Sequence[Fraction],
    table: OutcomeTable,
    slots: Integers,
    caps: Sequence[Fraction],
    mixed: Fraction = Fraction(0),
) -> OutcomeClaim:
    """What these very probabilities reveal: sums of fractions; only epsilon is rounded, up."""
    outcomes = range(len(table[0]))
    alone = [_top_mass(prior, labels) for labels in slots]
    mass = [[w * row[d] for w, row in zip(prior, table, strict=True)] for d in outcomes]
    tops = [[_top_mass(column, labels) for labels in slots] for column in mass]
    sums = [sum(column, Fraction(0)) for column in mass]
    after = [[top / chance for top in row] for chance, row in zip(sums, tops, strict=True) if chance]
    columns = [[row[d] for row in table] for d in outcomes]
    return OutcomeClaim(
        success_scores_only=sum(alone, Fraction(0)) / len(slots),
        success=sum((top for row in tops for top in row), Fraction(0)) / len(slots),
        multiplier=sum((max(column) for column in columns), Fraction(0)),
        largest_posterior=max(top for row in after for top in row),
        largest_rise=max(top - before for row in after for top, before in zip(row, alone, strict=True)),
        largest_excess=max(top - cap for row in after for top, cap in zip(row, caps, strict=True)),
        epsilon=max(_log_ratio(column) for column in columns),
        mixed=mixed,
    )


def _top_mass(mass: Sequence[Fraction], labels: Integers) -> Fraction:
    """The mass of the likeliest label; a label below 0 is nobody."""
    sums: dict[int, Fraction] = {}
    for label, part in zip(labels.tolist(), mass, strict=True):
        if label >= 0:
            sums[label] = sums.get(label, Fraction(0)) + part
    return max(sums.values(), default=Fraction(0))


def _log_ratio(column: Sequence[Fraction]) -> float:
    """The log of the largest over the least probability of an outcome, rounded up."""
    most, least = max(column), min(column)
    return logarithm_above(most.numerator * least.denominator, least.numerator * most.denominator)


def _keeps(claim: OutcomeClaim, table: OutcomeTable, guarantee: Guarantee) -> bool:
    """Whether every limit is kept, in fractions; e^epsilon is rounded down for the comparison."""
    limits = [
        all(probability >= 0 for row in table for probability in row),
        claim.largest_excess <= 0,
        guarantee.name != "average" or claim.added <= Fraction(guarantee.added_success),
        guarantee.multiplier is None or claim.multiplier <= Fraction(guarantee.multiplier),
        guarantee.posterior_cap is None or claim.largest_posterior <= Fraction(guarantee.posterior_cap),
    ]
    if guarantee.epsilon is not None:
        most = exponential_below(guarantee.epsilon)
        limits += [max(column) <= most * min(column) for column in zip(*table, strict=True)]
    return all(limits)


def _rounded(chance: Array) -> OutcomeTable:
    """Multiples of 2^-53 that sum to 1: the largest probability of a row takes the remainder."""
    if chance.ndim != 2 or (np.abs(chance.sum(axis=1) - 1.0) > 1e-9).any():
        raise InputError("chance[secret, outcome] must sum to 1 over the outcomes")
    rows = []
    for row in chance:
        whole = [round(float(probability) * UNIT) for probability in row]
        whole[int(np.argmax(row))] += UNIT - sum(whole)
        rows.append(tuple(Fraction(probability, UNIT) for probability in whole))
    return tuple(rows)


def _meet_equations(
    prior: Sequence[Fraction], table: OutcomeTable, slots: Integers, caps: Sequence[Fraction]
) -> OutcomeTable:
    """The table with a few rows replaced, so that no outcome changes the chance of a label at its slot's cap.

    The equations are `sum_r w_r ([label_r = y] - cap) P(d|r) = 0` for every outcome d. Rows still sum to 1,
    because a constant solves the equations too. The heaviest secrets are the ones replaced.
    """
    equations = [
        row for labels, cap in zip(slots, caps, strict=True) for row in _equations(prior, labels, cap)
    ]
    rows = [list(row) for row in table]
    for pivot, equation in _reduced_equations(
        equations, sorted(range(len(prior)), key=lambda r: -prior[r])
    ).items():
        columns = zip(*table, strict=True)
        rows[pivot] = [
            -sum(
                (
                    c * probability
                    for r, (c, probability) in enumerate(zip(equation, column, strict=True))
                    if r != pivot
                ),
                Fraction(0),
            )
            for column in columns
        ]
    return tuple(map(tuple, rows))


def _equations(prior: Sequence[Fraction], labels: Integers, cap: Fraction) -> list[list[Fraction]]:
    """One equation for each label of a slot that is as likely as the cap: `w_r ([label_r = y] - cap)`."""
    pairs = list(zip(prior, labels.tolist(), strict=True))
    masses = {y: sum((w for w, label in pairs if label == y), Fraction(0)) for _, y in pairs if y >= 0}
    return [[w * ((label == y) - cap) for w, label in pairs] for y, mass in masses.items() if mass == cap]


def _reduced_equations(equations: list[list[Fraction]], order: Sequence[int]) -> dict[int, list[Fraction]]:
    """The equations solved for one unknown each, the first in `order` that is left; by that unknown."""
    reduced: dict[int, list[Fraction]] = {}
    for row in equations:
        for pivot, known in reduced.items():
            row = [coefficient - row[pivot] * other for coefficient, other in zip(row, known, strict=True)]
        pivot = next((r for r in order if row[r] != 0), -1)
        if pivot < 0:
            continue
        row = [coefficient / row[pivot] for coefficient in row]
        for other, known in reduced.items():
            reduced[other] = [
                coefficient - known[pivot] * part for coefficient, part in zip(known, row, strict=True)
            ]
        reduced[pivot] = row
    return reduced


def _common_row(prior: Sequence[Fraction], table: OutcomeTable) -> tuple[Fraction, ...]:
    """One row for all secrets: the probabilities of the outcomes."""
    return tuple(
        sum((w * row[d] for w, row in zip(prior, table, strict=True)), Fraction(0))
        for d in range(len(table[0]))
    )


def _mixture(table: OutcomeTable, common: Sequence[Fraction], part: Fraction) -> OutcomeTable:
    """The table mixed with the common row."""
    return tuple(
        tuple((1 - part) * own + part * shared for own, shared in zip(row, common, strict=True))
        for row in table
    )
