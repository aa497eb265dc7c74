"""Exact claims: what a table of accept probabilities reveals, checked and repaired in integer arithmetic.

The table that a linear program returns misses its limits by about 1e-16, and a promise of zero is then false.
So the probabilities are rounded to multiples of 2^-53, the stored weights are read as the dyadic rationals
they are, and every limit is compared in integers, for the very numbers that the coin is compared with.

Two kinds of limit need more than rounding. A bound that the program met exactly is regained by mixing the
table with the constant 1/2, which is strictly inside all such bounds. But *steady* and *average* pin the
likeliest reviewer of a review. Neither outcome may raise that reviewer's share, and the two average to it, so
under *steady* `P(accept | reviewer)` must *equal* `P(accept)`. So must it under *crowd* for reviewers who are
as likely from the scores alone as anyone may become. Rounded numbers cannot meet such equations, so a few
heavy entries of the table, one for each equation, get the exact rational that does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import scipy

from blindcal.certify.exact import (
    BITS,
    CLAIM_DENOMINATOR,
    UNIT,
    Exact,
    ExactCase,
    ExactPolicy,
    OutcomeMasses,
    ceiling,
    exact_case,
    exponential_below,
    logarithm_above,
    upward,
)
from blindcal.checks import Array, Integers
from blindcal.errors import CertificateError
from blindcal.io.tables import data_frame
from blindcal.policy.accept_lp import forced_decisions
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.policy import TIE_TOLERANCE
from blindcal.posterior.belief import Belief

# Candidates this close to the likeliest one (2^-23 of its mass) get an equation too: the constant 1/2 leaves
# them no slack to use.
_TIE_BITS = 23
# Entries considered as pivots of the equations: in all, and for each equation those of its own label.
_PIVOT_CANDIDATES, _CANDIDATES_PER_EQUATION = 64, 8
_MIN_PIVOT = 1e-7
_ROUNDING = 1e-14
_SMALLEST_MIX = 2.0**-48
# Programs are solved to 1e-10.
_PROGRAM_TOLERANCE = 1e-9
# Slot, label, other label or None for everyone, whole, prior: see `_equations`.
_Equation = tuple[int, int, int | None, int, int]


SUMS = ("named_scores_only", "named", "newly_named")
"""The fields of a claim that are sums over the reviews, exact fractions."""


@dataclass(frozen=True)
class Claim:
    """What one paper's table reveals; every number is exact or the next float toward revealing more.

    A certificate states these numbers of its own table, `adversaries.audit` those of any policy.

    Attributes:
        reviews: How many the paper has.
        named_scores_only: How many of their reviewers the best guesses name on average, before any decision;
            a multiple of 2^-80, rounded up.
        named: The same after this decision.
        newly_named: How much of that is due to this decision, rounded likewise.
        largest_rise: The most by which an outcome makes the best guess about a review likelier.
        epsilon: No outcome changes the odds between two tuples of reviewers by more than a factor e^epsilon.
        multiplier: Whatever an adversary believed before, its chance of a correct guess grows by no more than
            this factor, on average over the outcomes.
        largest_posterior: The largest chance of a best guess about a review after any outcome.
        largest_posterior_scores_only: The largest before any decision.
        largest_posterior_named: The largest after any outcome for someone who knows that the review was not
            written by somebody outside the pool.
        largest_posterior_paper: The largest chance of anyone to have reviewed the paper, after any outcome.
        largest_factor: The largest factor by which an outcome makes a candidate for a review likelier.
        mixed: The weight of the constant that repaired the table (0: none, 1: public decision).
    """

    reviews: int
    named_scores_only: Fraction
    named: Fraction
    newly_named: Fraction
    largest_rise: float
    epsilon: float
    multiplier: float
    largest_posterior: float
    largest_posterior_scores_only: float
    largest_posterior_named: float
    largest_posterior_paper: float
    largest_factor: float
    mixed: float = 0.0

    @property
    def success_scores_only(self) -> Fraction:
        """The chance that the best guess names a reviewer before any decision, mean over the reviews."""
        return self.named_scores_only / self.reviews

    @property
    def success(self) -> Fraction:
        """The same after this decision."""
        return self.named / self.reviews

    @property
    def added(self) -> Fraction:
        """How much of that is due to this decision."""
        return self.newly_named / self.reviews

    def to_frame(self) -> Any:
        """One row with means over the reviews, as a pandas data frame; needs pandas."""
        means = ("success_scores_only", "success", "added")
        worst = [field.name for field in fields(self) if field.name not in ("reviews", *SUMS)]
        values = {name: getattr(self, name) for name in ("reviews", *means, *worst)}
        return data_frame({k: [float(v) if isinstance(v, Fraction) else v] for k, v in values.items()})


def certify(
    belief: Belief, accept: Array, guarantee: Guarantee, *, mixed: float = 0.0
) -> tuple[ExactPolicy, Claim]:
    """The table to sample from and what it reveals, both exact.

    Every number is an expectation over the public belief. The table is first rounded to multiples of 2^-53.
    If a limit is missed, the table is mixed with the constant 1/2: first by the smallest weight that the
    limits need, then by eight times more until all are kept. Weight 1 is the public decision, which is taken
    whenever a repair would have more expected errors (by 1e-9, the precision of programs).

    Args:
        belief: That of one paper.
        accept: The accept probability of each secret, or of each entry if secrets share entries.
        guarantee: The limits to keep.
        mixed: The weight of the constant to begin with, from 0 to 1.

    Raises:
        CertificateError: Not even a constant keeps the limits.

    Example:
        >>> belief = Belief([0.6, 0.4], [0.9, 0.2])
        >>> policy, claim = certify(belief, np.array([0.25, 0.0]), Guarantee("average", epsilon=None))
        >>> float(claim.added), claim.success == claim.success_scores_only, round(claim.epsilon, 3)
        (0.0, True, inf)
    """
    case = exact_case(belief)
    fixed = _forced_decisions(belief, guarantee, accept.size)
    public = partial(_public_table, belief, case, fixed)
    start = _round_table(accept, fixed)
    narrower = _round_table(_narrowed_table(belief, accept, guarantee), fixed)
    while mixed < 1:
        table = _mix_with_half(start, mixed, fixed)
        # A constant table meets every equation.
        policy = meet_equations(case, table, guarantee) if np.ptp(table) else ExactPolicy(table)
        missed = None
        if policy is not None:
            policy = _weightless_inside(belief, policy)
            outcomes = case.outcomes(policy)
            missed = _mix_needed(case, policy, outcomes, guarantee)
            if not missed.size:
                untouched = not policy.exact and np.array_equal(policy.numerator, start)
                lost = _PROGRAM_TOLERANCE if mixed <= _SMALLEST_MIX else 0.0
                if not untouched and _public_is_better(public(), policy, belief, case, guarantee, lost):
                    break
                return policy, _claim_of(case, policy, outcomes, mixed)
        if (missed is None or missed.max() > _PROGRAM_TOLERANCE) and start is not narrower:
            start = narrower
        else:
            mixed = _next_mixing_weight(mixed, missed)
    constant = public()
    outcomes = case.outcomes(constant)
    if _mix_needed(case, constant, outcomes, guarantee).size:
        raise CertificateError(
            "no policy keeps the requested limits for these public data, not even a constant"
        )
    return constant, _claim_of(case, constant, outcomes, 1.0)


def _public_is_better(
    public: ExactPolicy,
    policy: ExactPolicy,
    belief: Belief,
    case: ExactCase,
    guarantee: Guarantee,
    lost: float,
) -> bool:
    """Whether deciding by public information alone saves at least `lost` expected errors of a repair."""
    other = belief.spread(policy.accept) - belief.spread(public.accept)
    # In one sum: two errors that are nearly 1 would hide a small difference.
    if float(belief.weight @ (other * (1.0 - 2.0 * belief.favor))) < lost:
        return False
    return not _mix_needed(case, public, case.outcomes(public), guarantee).size


def _forced_decisions(belief: Belief, guarantee: Guarantee, size: int, doubt: float = 0.0) -> Integers:
    """1 or 0 for secrets whose evidence is too strong to decide against it, else -1, also for weight 0.

    The evidence must exceed the limit by more than `doubt`, which allows for the last digits.
    """
    if guarantee.never_against is None:
        return np.full(size, -1)
    if belief.alike is not None:
        raise CertificateError(
            "never-against needs a table with an entry for each tuple: pools are too large"
        )
    favor = belief.favor
    if belief.entry is not None:
        # Tuples that differ only in the order of equal scores have the same favor.
        favor = np.empty(size)
        favor[belief.entry] = belief.favor
    fixed = forced_decisions(favor, guarantee.never_against + doubt).astype(np.int64)
    return np.where(belief.by_entry(size) > 0.0, fixed, -1)


def _weightless_inside(belief: Belief, policy: ExactPolicy) -> ExactPolicy:
    """The table with every entry of weight 0 inside the range of the others.

    A weight too small for a float is not 0 in truth: an outcome that only such a secret had would name it.
    """
    heavy = belief.by_entry(policy.numerator.size) > 0.0
    if heavy.all():
        return policy
    held, step = policy.integers[heavy], policy.denominator >> BITS
    inside = np.clip(policy.numerator, -(-int(held.min()) // step), int(held.max()) // step)
    return ExactPolicy(np.where(heavy, policy.numerator, inside), policy.exact)


def _round_table(table: Array, fixed: Integers) -> Integers:
    """Multiples of 2^-53, and the forced decisions."""
    nearest = np.rint(np.clip(table, 0.0, 1.0) * UNIT).astype(np.int64)
    return np.where(fixed >= 0, fixed * UNIT, nearest)


def _narrowed_table(belief: Belief, accept: Array, guarantee: Guarantee) -> Array:
    """The table inside the narrowest range that the program's tolerance allows, if the range is limited.

    A program solves for weight * accept, so its tolerance hardly restricts accept if the weight is tiny.
    """
    inside = np.clip(accept, 0.0, 1.0)
    if guarantee.epsilon is None and guarantee.multiplier is None:
        return inside
    weight = belief.by_entry(accept.size)
    mean, unsure = float(weight @ inside), _PROGRAM_TOLERANCE / np.maximum(weight, _PROGRAM_TOLERANCE)
    low, high = (inside + unsure).min(), (inside - unsure).max()
    return np.clip(inside, min(low, mean), max(high, mean))


def _mix_with_half(start: Integers, weight: float, fixed: Integers) -> Integers:
    """`(1 - weight) * table + weight / 2`; forced decisions stay."""
    mixed = np.rint(start + weight * (UNIT // 2 - start)).astype(np.int64)
    return np.where((fixed >= 0) | (weight == 0), start, mixed)


def _next_mixing_weight(weight: float, missed: Array | None) -> float:
    """The mixing weight to try next: what the missed limits need, or eight times the last one."""
    if weight > 0:
        return 8 * weight
    worst = 0.0 if missed is None else float(missed.max(initial=0.0))
    return worst * (1 + 2**-20) + _SMALLEST_MIX


def _public_table(belief: Belief, case: ExactCase, fixed: Integers) -> ExactPolicy:
    """The same decision for every secret, by the public evidence: it reveals nothing to anyone."""
    favor = float(case.chance @ belief.favor)
    # A lead that another machine might not see counts as a tie, and ties are rejected.
    table = np.full(fixed.shape, UNIT if favor > 0.5 + TIE_TOLERANCE else 0)
    return ExactPolicy(np.where(fixed >= 0, fixed * UNIT, table))


def _mix_needed(case: ExactCase, policy: ExactPolicy, outcomes: OutcomeMasses, guarantee: Guarantee) -> Array:
    """For every limit that the table breaks, the weight of the constant 1/2 that would repair it."""
    unit = policy.denominator
    slacks = _slacks(case, outcomes, policy.ends, unit, guarantee)
    if not any((slack < 0).any() for slack in slacks):
        return np.empty(0)
    weights: list[float] = []
    for slack, spare in zip(slacks, _slacks(case, case.half, (1, 1), 2, guarantee), strict=True):
        broken = slack < 0
        each = zip(-2 * slack[broken], spare[broken] * unit, strict=True)
        weights += [1.0 if have <= 0 else need / (need + have) for need, have in each]
    return np.array(weights)


def _slacks(
    case: ExactCase,
    outcomes: OutcomeMasses,
    ends: tuple[int, int],
    unit: int,
    guarantee: Guarantee,
    slack: Fraction = Fraction(0),
) -> list[Exact]:
    """Integers that are at least 0 if the limits are kept; all grow with `unit`.

    Quantities that depend on weights may exceed their limit by `slack`, relative to it.
    """
    (low, high), most, whole = ends, slack.denominator + slack.numerator, slack.denominator

    def within(caps: Sequence[_Cap]) -> list[Exact]:
        """Nobody is likelier than the cap of the slot, after either outcome."""
        return [
            most * top * total - whole * bottom * part
            for total, parts in outcomes
            for part, (top, bottom) in zip(parts, caps, strict=True)
        ]

    def average(_: float) -> list[Exact]:
        """Nobody overtakes the likeliest of the slot."""
        return [
            most * part[prior.argmax()] - whole * part
            for _, parts in outcomes
            for part, prior in zip(parts, case.prior, strict=True)
        ]

    def odds(epsilon: float) -> list[Exact]:
        """No chance of an outcome is more than e^epsilon times another one."""
        factor, pairs = exponential_below(epsilon), ((high, low), (unit - low, unit - high))
        return [np.array([factor.numerator * b - factor.denominator * a], dtype=object) for a, b in pairs]

    def guesses(multiplier: float) -> list[Exact]:
        """The largest chances of both outcomes sum to at most the multiplier."""
        factor, both = Fraction(multiplier), high + unit - low
        return [np.array([factor.numerator * unit - factor.denominator * both], dtype=object)]

    # Every guarantee and every limit has a row here, or it is not certified. Forced decisions
    # (`never_against`) are compared where they are made, `_forced_decisions`.
    comparisons: Mapping[str, Callable[[float], list[Exact]]] = {
        "public": lambda _: [np.array([low - high], dtype=object)],
        "steady": lambda _: within(_crowd_caps(case, None)),
        "crowd": lambda _: [],
        "average": average,
        "odds": lambda _: [],
        "none": lambda _: [],
        "epsilon": odds,
        "multiplier": guesses,
        "posterior_cap": lambda cap: within([Fraction(cap).as_integer_ratio()] * len(case.top)),
        "never_against": lambda _: [],
        "among": lambda among: within(_crowd_caps(case, among)),
    }
    slacks: list[Exact] = []
    for name, value in {guarantee.name: 0.0, **guarantee.limits}.items():
        if name not in comparisons:
            raise CertificateError(f"{name} cannot be certified here: nothing compares it")
        slacks += comparisons[name](value)
    return slacks


# A cap on posteriors is a fraction, top and bottom: with weights on one exponent it needs no reduction.
_Cap = tuple[int, int]


def _crowd_caps(case: ExactCase, among: float | None) -> list[_Cap]:
    """`max(1/among, likeliest by the scores alone)` of each slot; that one alone if there is no crowd."""
    return [
        (1, int(among)) if among is not None and top * int(among) <= case.total else (top, case.total)
        for top in case.top
    ]


def claim(belief: Belief, policy: ExactPolicy) -> Claim:
    """What a table reveals, whatever limits it was made for; exact numbers are rounded outward.

    Args:
        belief: That of one paper.
        policy: Its table.

    Example:
        >>> stated = claim(Belief([0.75, 0.25], [0.9, 0.2]), ExactPolicy(np.array([UNIT, 0])))
        >>> stated.success_scores_only, stated.success, stated.largest_rise
        (Fraction(3, 4), Fraction(1, 1), 0.25)
    """
    case = exact_case(belief)
    return _claim_of(case, policy, case.outcomes(policy))


def _claim_of(case: ExactCase, policy: ExactPolicy, outcomes: OutcomeMasses, mixed: float = 0.0) -> Claim:
    """The claim of a table from the masses of its outcomes."""
    unit, (low, high) = policy.denominator, policy.ends
    reached = sum(int(part.max()) for _, parts in outcomes for part in parts)
    before = sum(case.top) * unit
    rise, posterior, named, paper, factor = 0, 0, 0, 0, Fraction(1)
    for total, parts in outcomes:
        if total == 0:
            continue
        for part, top, alike in zip(parts, case.top, case.alike, strict=True):
            best = int(part.max())
            posterior = max(posterior, ceiling(best, total))
            rise = max(rise, ceiling(best * case.total - top * total, total * case.total))
            named = max(named, ceiling(best, int((part * alike).sum())) if best else 0)
        paper = max(paper, ceiling(_most_reviewed(case, parts), total))
        if low < high:
            factor = max(factor, _largest_ratio(case, parts, unit) * Fraction(case.total * unit, total))
    return Claim(
        reviews=case.reviews,
        named_scores_only=Fraction(ceiling(sum(case.top), case.total), CLAIM_DENOMINATOR),
        named=Fraction(ceiling(reached, case.total * unit), CLAIM_DENOMINATOR),
        newly_named=Fraction(ceiling(reached - before, case.total * unit), CLAIM_DENOMINATOR),
        largest_rise=upward(Fraction(rise, CLAIM_DENOMINATOR)),
        epsilon=table_epsilon(policy),
        multiplier=upward(Fraction(high + unit - low, unit)),
        largest_posterior=_posterior_float(posterior),
        largest_posterior_scores_only=_posterior_float(ceiling(max(case.top, default=0), case.total)),
        largest_posterior_named=_posterior_float(named),
        largest_posterior_paper=_posterior_float(paper),
        largest_factor=upward(factor),
        mixed=mixed,
    )


def _most_reviewed(case: ExactCase, parts: Sequence[Exact]) -> int:
    """The largest mass that one person has over all slots: nobody writes two reviews of a paper."""
    sums: Exact = np.zeros(max((int(label[-1]) for label in case.label), default=0) + 1, dtype=object)
    for label, part in zip(case.label, parts, strict=True):
        sums[label] += part
    return int(sums.max())


def _largest_ratio(case: ExactCase, parts: Sequence[Exact], unit: int) -> Fraction:
    """The largest P(outcome | candidate) over slots and candidates, exactly."""
    largest = Fraction(0)
    for part, prior in zip(parts, case.prior, strict=True):
        some = prior > 0
        chance = (part[some] / (prior[some] * unit)).astype(np.float64)
        # Floats find those that may be the largest.
        for index in np.flatnonzero(chance >= chance.max(initial=0.0) * (1.0 - _ROUNDING)):
            largest = max(largest, Fraction(int(part[some][index]), int(prior[some][index]) * unit))
    return largest


def _posterior_float(units: int) -> float:
    """A posterior in units of 2^-80, rounded up, as a float."""
    return min(1.0, upward(Fraction(units, CLAIM_DENOMINATOR)))


def keeps_guarantee(
    belief: Belief, policy: ExactPolicy, guarantee: Guarantee, *, slack: Fraction = Fraction(0)
) -> bool:
    """Whether a table keeps every limit of one paper.

    The check is exact, unless the weights are those of another machine: then limits that depend on weights
    have this relative `slack`. Epsilon, the multiplier, a constant table and forced decisions depend on the
    table alone and have none.

    Example:
        >>> belief, table = Belief([0.6, 0.4], [0.9, 0.2]), ExactPolicy(np.array([UNIT, 0]))
        >>> keeps_guarantee(belief, table, Guarantee("none", epsilon=None))
        True
        >>> keeps_guarantee(belief, table, Guarantee())
        False
    """
    table = policy.integers
    fixed = _forced_decisions(belief, guarantee, table.size, TIE_TOLERANCE if slack else 0.0)
    against = np.where(fixed == 1, table != policy.denominator, (fixed == 0) & (table != 0))
    case = exact_case(belief)
    slacks = _slacks(case, case.outcomes(policy), policy.ends, policy.denominator, guarantee, slack)
    return not against.any() and not any((limit < 0).any() for limit in slacks)


def table_epsilon(policy: ExactPolicy) -> float:
    """The epsilon of one table alone, rounded up.

    Example:
        >>> [table_epsilon(ExactPolicy(np.array(table))) for table in ([UNIT // 2] * 2, [UNIT, 0])]
        [0.0, inf]
    """
    unit, (low, high) = policy.denominator, policy.ends
    return max(logarithm_above(high, low), logarithm_above(unit - low, unit - high))


# Equations: rounding must not move the share of a likeliest reviewer.


def meet_equations(case: ExactCase, numerator: Integers, guarantee: Guarantee) -> ExactPolicy | None:
    """The table with a few probabilities moved so that the equations hold, or None.

    Equations that follow from the others, or nearly do, are left out: `certify` compares every limit again.
    """
    rows = _equations(case, guarantee)
    if not rows:
        return ExactPolicy(numerator)
    numerator = _move_toward_equations(case, numerator, rows)
    mass = case.weight * case.spread(numerator.astype(object))
    parts, total = case.by_label(mass), int(mass.sum())
    # sum_r x_r (whole * [label = y] - prior_y * [r counts]) = 0, x = weight * accept
    residual = [
        whole * int(parts[slot][label]) - prior * (total if other is None else int(parts[slot][other]))
        for slot, label, other, whole, prior in rows
    ]
    if not any(residual):
        return ExactPolicy(numerator)
    least = np.minimum(numerator, UNIT - numerator).astype(object)
    weight = case.by_entry(case.weight, numerator.size)
    slack = weight * least
    heavy = _pivot_candidates(case, rows, (slack / int(max(slack.max(), 1))).astype(np.float64))
    if not heavy.size:
        return None
    columns = [_coefficients(case, row, heavy, weight) for row in rows]
    keep, pivots = _independent_equations(columns, least[heavy])
    moved = _solve_exactly([[columns[i][j] for j in pivots] for i in keep], [-residual[i] for i in keep])
    if moved is None:
        return None
    exact = []
    for j, step in zip(pivots, moved, strict=True):
        probability = (int(numerator[heavy[j]]) + step) / UNIT
        if not 0 <= probability <= 1:
            return None
        exact.append((int(heavy[j]), probability))
    return ExactPolicy(numerator, tuple(sorted(exact)))


def _pivot_candidates(case: ExactCase, rows: Sequence[_Equation], slack: Array) -> Integers:
    """Entries with much slack, and for each equation those in which its own label weighs most."""
    chosen = [_largest_indices(slack, _PIVOT_CANDIDATES)]
    total = _sum_by_entry(case, case.chance, slack.size)
    for slot, label in {(slot, label) for slot, label, *_ in rows}:
        own = _sum_by_entry(case, case.chance * (case.group[slot] == label), slack.size)
        share = slack * own / np.where(total > 0.0, total, 1.0)
        chosen.append(_largest_indices(share, _CANDIDATES_PER_EQUATION))
    unique = np.unique(np.concatenate(chosen))
    return np.asarray(unique[slack[unique] > 0.0])


def _largest_indices(values: Array, most: int) -> Integers:
    """Indices of the largest values, the first ones among equal values; all values are at least 0.

    >>> _largest_indices(np.array([0.0, 3.0, 2.0, 2.0, 0.0]), 2)
    array([1, 2])
    """
    some = np.flatnonzero(values > 0.0)
    positive = some[np.argsort(-values[some], kind="stable")[:most]]
    return np.concatenate([positive, np.flatnonzero(values <= 0.0)[: most - positive.size]])


def _sum_by_entry(case: ExactCase, values: Array, size: int) -> Array:
    """Sums over each entry of the table."""
    return values if case.entry is None else np.bincount(case.entry, values, size).astype(np.float64)


def _move_toward_equations(case: ExactCase, numerator: Integers, rows: Sequence[_Equation]) -> Integers:
    """The table moved toward the equations in floats, every entry in proportion to its slack.

    The residual that a program leaves, up to its tolerance, would be too much for a single entry.
    """
    weight, accept = case.chance, numerator / UNIT
    shared = _sum_by_entry(case, weight, accept.size)
    some = np.where(shared > 0.0, shared, 1.0)
    matrix = np.empty((len(rows), accept.size))
    for line, (slot, label, other, whole, prior) in zip(matrix, rows, strict=True):
        group, alike = case.group[slot], case.alike[slot]
        pull = (whole / case.total) * (group == label) / alike[label]
        pull -= (prior / case.total) * (1.0 if other is None else (group == other) / alike[other])
        line[:] = _sum_by_entry(case, weight * pull, accept.size) / some
    residual = matrix @ (shared * accept)
    share = np.minimum(accept, 1.0 - accept)
    slack = shared * share
    most, miss = float(slack.max()), float(np.abs(residual).max())
    # With less slack than is missing the equations cannot be met, and the step would be infinite.
    if miss < _ROUNDING or miss > slack.sum():
        return numerator
    step = np.linalg.lstsq((matrix * (slack / most)) @ matrix.T, -residual / most, rcond=1e-12)[0]
    moved: Array = accept + share * np.clip(matrix.T @ step, -0.5, 0.5)
    return np.rint(moved * UNIT).astype(np.int64)


def _equations(case: ExactCase, guarantee: Guarantee) -> list[_Equation]:
    """The labels whose share must not move: (slot, label, other label or None for everyone, whole, prior)."""
    rows: list[_Equation] = []
    capped = guarantee.name == "steady" or guarantee.among is not None
    average = guarantee.name == "average"
    caps = _crowd_caps(case, guarantee.among)
    for slot, (prior, top, cap) in enumerate(zip(case.prior, case.top, caps, strict=True)):
        pinned = set(_labels_at(prior, cap[0] * case.total, cap[1])) if capped else set()
        rows += [(slot, label, None, case.total, int(prior[label])) for label in sorted(pinned)]
        first = int(prior.argmax())
        tied = set(_labels_at(prior, top, 1)) - pinned - {first} if average else set()
        rows += [(slot, label, first, top, int(prior[label])) for label in sorted(tied)]
    return rows


def _labels_at(prior: Exact, top: int, bottom: int) -> list[int]:
    """The labels whose mass is `top / bottom`, up to a part of it in 2^23."""
    least = -((-top * ((1 << _TIE_BITS) - 1)) // (bottom << _TIE_BITS))
    return [int(label) for label in np.flatnonzero(prior >= least)]


def _coefficients(case: ExactCase, row: _Equation, entries: Integers, weight: Exact) -> list[int]:
    """What a unit of these entries of the table adds to an equation; `weight` has that of every entry."""
    slot, label, other, whole, prior = row

    def mass(guess: int) -> Exact:
        who, sums = np.flatnonzero(case.group[slot] == guess), np.zeros(weight.size, dtype=object)
        np.add.at(sums, who if case.entry is None else case.entry[who], case.weight[who])
        return np.asarray(sums[entries] // case.alike[slot][guess])

    each = whole * mass(label) - prior * (weight[entries] if other is None else mass(other))
    return [int(value) for value in each]


def _independent_equations(columns: Sequence[Sequence[int]], slack: Exact) -> tuple[list[int], list[int]]:
    """Equations that are independent of each other, and as many entries with much slack to meet them."""
    matrix = np.array([[float(Fraction(c, max(map(abs, row)) or 1)) for c in row] for row in columns])
    scaled = matrix * (slack / int(slack.max())).astype(np.float64)
    # QR with column pivoting picks well-conditioned equations first, then entries.
    _, upper, rows = scipy.linalg.qr(scaled.T, mode="economic", pivoting=True)
    size = np.abs(np.diag(upper))
    keep = sorted(rows[: size.size][size > _MIN_PIVOT * size[0]].tolist()) if size[0] > 0 else []
    if not keep:
        return [], []
    _, upper, pivots = scipy.linalg.qr(scaled[keep], mode="economic", pivoting=True)
    return keep, pivots[: len(keep)].tolist()


def _solve_exactly(matrix: list[list[int]], right: list[int]) -> list[Fraction] | None:
    """The exact solution of a small square system by Gauss-Jordan elimination; None if it has none."""
    rows = [[Fraction(c) for c in row] + [Fraction(b)] for row, b in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        pivot = max(range(i, len(rows)), key=lambda j: abs(rows[j][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        if rows[i][i] == 0:
            return None
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for j in range(len(rows)):
            if j != i and rows[j][i] != 0:
                rows[j] = [a - rows[j][i] * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [row[-1] for row in rows]
