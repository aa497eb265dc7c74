"""What a table of accept probabilities promises, in exact integers: check it, repair it, or refuse it.

A table that a linear program returns misses its promise by about 1e-16, and a promise of zero is then false.
Here the probabilities are put on multiples of 2^-53, the stored weights are read as the dyadic rationals
they are, and every limit is compared in integers for the very numbers that the coin is compared with.

Two kinds of limit need more than rounding. A bound that the program met exactly is regained by mixing the
table with the constant 1/2, which is strictly inside all of them. But *steady* pins the likeliest author of a
review: neither outcome may raise it and the two average to it, so `P(accept | author)` must *equal*
`P(accept)`. Rounded numbers cannot do that, so a few heavy secrets (one for each equation) get the exact
rational that does.

Equations that a table must meet to the last digit: `steady` and `average` pin the likeliest author.

Neither outcome may raise the share of the likeliest author of a review, and the two average to it, so it may
not move at all. Rounded numbers cannot do that: a few entries of the table, one for each equation, get the
exact rational that does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import qr

from blindcal.certify.exact import (
    BITS,
    FINE,
    UNIT,
    Case,
    Exact,
    ExactPolicy,
    Outcomes,
    ceiling,
    exact_case,
    exponential_below,
    logarithm_above,
    quotient_above,
    upward,
)
from blindcal.checks import Array, Integers
from blindcal.errors import CertificateError
from blindcal.io.tables import frame
from blindcal.policy.accept_lp import forced_decisions
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.policy import TIED
from blindcal.posterior.belief import Belief

# Authors this close to the likeliest one get an equation too: the constant gives them no slack to use.
_NEARLY_TIED = 23
_PIVOT_CANDIDATES, _OWN_CANDIDATES = 64, 8
_LEAST_PIVOT = 1e-7
_ROUNDING = 1e-14
# slot, label, other label or None for everyone, whole, prior: see `_equations`
_Row = tuple[int, int, int | None, int, int]


def on_equations(case: Case, numerator: Integers, guarantee: Guarantee) -> ExactPolicy | None:
    """The table with a few probabilities moved so that the pinned authors' equations hold, or None.

    Equations that follow from the others, or nearly, are left out: `certify` compares every limit again.
    """
    rows = _equations(case, guarantee)
    if not rows:
        return ExactPolicy(numerator)
    numerator = _nudged(case, numerator, rows)
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
    room = case.by_entry(case.weight, numerator.size) * least
    heavy = _pivot_candidates(case, rows, (room / int(max(room.max(), 1))).astype(np.float64))
    if not heavy.size:
        return None
    columns = [_coefficients(case, row, heavy) for row in rows]
    keep, pivots = _independent(columns, least[heavy])
    moved = _solve([[columns[i][j] for j in pivots] for i in keep], [-residual[i] for i in keep])
    if moved is None:
        return None
    exact = []
    for j, step in zip(pivots, moved, strict=True):
        probability = (int(numerator[heavy[j]]) + step) / UNIT
        if not 0 <= probability <= 1:
            return None
        exact.append((int(heavy[j]), probability))
    return ExactPolicy(numerator, tuple(sorted(exact)))


def _pivot_candidates(case: Case, rows: Sequence[_Row], room: Array) -> Integers:
    """Entries with much room, and for each equation those in which its own label weighs most."""
    chosen = [_largest(room, _PIVOT_CANDIDATES)]
    total = _by_entry(case, case.chance, room.size)
    for slot, label in {(slot, label) for slot, label, *_ in rows}:
        own = _by_entry(case, case.chance * (case.group[slot] == label), room.size)
        share = room * own / np.where(total > 0.0, total, 1.0)
        chosen.append(_largest(share, _OWN_CANDIDATES))
    unique = np.unique(np.concatenate(chosen))
    return np.asarray(unique[room[unique] > 0.0])


def _largest(values: Array, most: int) -> Integers:
    """Where the largest of some values from 0 on are, the first ones of those that are equal.

    >>> _largest(np.array([0.0, 3.0, 2.0, 2.0, 0.0]), 2)
    array([1, 2])
    """
    some = np.flatnonzero(values > 0.0)
    found = some[np.argsort(-values[some], kind="stable")[:most]]
    return np.concatenate([found, np.flatnonzero(values <= 0.0)[: most - found.size]])


def _by_entry(case: Case, values: Array, size: int) -> Array:
    """Sums over each entry of the table."""
    return values if case.entry is None else np.bincount(case.entry, values, size).astype(np.float64)


def _nudged(case: Case, numerator: Integers, rows: Sequence[_Row]) -> Integers:
    """The table moved towards the equations in floats, everywhere in proportion to the room it has.

    What a program leaves, up to its tolerance, would be too much for one secret to take.
    """
    weight, accept = case.chance, numerator / UNIT
    shared = _by_entry(case, weight, accept.size)
    some = np.where(shared > 0.0, shared, 1.0)
    matrix = np.empty((len(rows), accept.size))
    for line, (slot, label, other, whole, prior) in zip(matrix, rows, strict=True):
        group, alike = case.group[slot], case.alike[slot]
        pull = (whole / case.total) * (group == label) / alike[label]
        pull -= (prior / case.total) * (1.0 if other is None else (group == other) / alike[other])
        line[:] = _by_entry(case, weight * pull, accept.size) / some
    residual = matrix @ (shared * accept)
    share = np.minimum(accept, 1.0 - accept)
    room = shared * share
    most, miss = float(room.max()), float(np.abs(residual).max())
    # What has less room than is missing cannot make up for it, and the step would be infinite.
    if miss < _ROUNDING or miss > room.sum():
        return numerator
    step = np.linalg.lstsq((matrix * (room / most)) @ matrix.T, -residual / most, rcond=1e-12)[0]
    moved: Array = accept + share * np.clip(matrix.T @ step, -0.5, 0.5)
    return np.rint(moved * UNIT).astype(np.int64)


def _equations(case: Case, guarantee: Guarantee) -> list[_Row]:
    """(slot, label, other label or None for everyone, whole, prior): the labels whose share must not move."""
    rows: list[_Row] = []
    steady = guarantee.name == "steady"
    if not steady and (guarantee.name != "average" or guarantee.spends):
        return rows
    for slot, (prior, top) in enumerate(zip(case.prior, case.top, strict=True)):
        first = int(prior.argmax())
        for label in np.flatnonzero((top - prior) <= (top >> _NEARLY_TIED)):
            if steady:
                rows.append((slot, int(label), None, case.total, int(prior[label])))
            elif label != first:
                rows.append((slot, int(label), first, top, int(prior[label])))
    return rows


def _coefficients(case: Case, row: _Row, entries: Integers) -> list[int]:
    """What a unit of these entries of the table adds to an equation."""
    slot, label, other, whole, prior = row
    if case.entry is None:
        secrets, place = entries, np.arange(entries.size)
    else:
        at = np.full(int(case.entry.max()) + 1, -1)
        at[entries] = np.arange(entries.size)
        secrets = np.flatnonzero(at[case.entry] >= 0)
        place = at[case.entry[secrets]]
    group, weight = case.group[slot][secrets], case.weight[secrets]
    each = whole * (weight * (group == label).astype(object) // case.alike[slot][label])
    each -= prior * (
        weight if other is None else weight * (group == other).astype(object) // case.alike[slot][other]
    )
    found: Exact = np.zeros(entries.size, dtype=object)
    np.add.at(found, place, each)
    return [int(value) for value in found]


def _independent(columns: Sequence[Sequence[int]], room: Exact) -> tuple[list[int], list[int]]:
    """Equations that say something new, and as many secrets with much room to meet them."""
    matrix = np.array([[float(Fraction(c, max(map(abs, row)) or 1)) for c in row] for row in columns])
    scaled = matrix * (room / int(room.max())).astype(np.float64)
    _, upper, rows = qr(scaled.T, mode="economic", pivoting=True)
    size = np.abs(np.diag(upper))
    keep = sorted(rows[: size.size][size > _LEAST_PIVOT * size[0]].tolist()) if size[0] > 0 else []
    if not keep:
        return [], []
    _, upper, pivots = qr(scaled[keep], mode="economic", pivoting=True)
    return keep, pivots[: len(keep)].tolist()


def _solve(matrix: list[list[int]], right: list[int]) -> list[Fraction] | None:
    """The exact solution of a small square system; None if it has none."""
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


_SMALLEST_MIX = 2.0**-48
# The guarantees whose limits `_slacks` compares: no other is ever certified.
_COMPARED = ("public", "steady", "average", "none")
# Programs are solved to 1e-10.
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Claim:
    """What one paper's table reveals; every number is exact or the next float toward revealing more.

    `reviews`: how many the paper has.
    `success_scores_only`, `success`: how many of their authors the best guesses name on average, before any
    decision and after this one; multiples of 2^-80, rounded up.
    `added`: how much of that is due to this decision, rounded likewise.
    `largest_rise`: the most by which an outcome makes the best guess about a review likelier.
    `epsilon`: no outcome changes the odds between two tuples of reviewers by more than a factor e^epsilon.
    `multiplier`: whatever an adversary believed before, its chance of a correct guess grows by no more than
    this factor, on average over the outcomes.
    `largest_posterior`: the largest chance of a best guess about a review after any outcome.
    `mixed`: the weight of the constant that repaired the table (0: none, 1: public decision).
    `largest_posterior_scores_only`: the largest before any decision.

    A certificate states these numbers of its own table, `audits.audit` of any policy.
    """

    reviews: int
    success_scores_only: Fraction
    success: Fraction
    added: Fraction
    largest_rise: float
    epsilon: float
    multiplier: float
    largest_posterior: float
    largest_posterior_scores_only: float
    mixed: float = 0.0

    def to_frame(self) -> Any:
        """One row, as a pandas data frame; needs pandas."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return frame({k: [float(v) if isinstance(v, Fraction) else v] for k, v in values.items()})


def certify(
    belief: Belief, accept: Array, guarantee: Guarantee, *, mixed: float = 0.0
) -> tuple[ExactPolicy, Claim]:
    """The table to sample and what it promises, both exact, or a `CertificateError`.

    Every number is an expectation over the public belief. The table is first put on multiples of 2^-53. Where
    a limit is missed, it is mixed with the constant 1/2, by the smallest weight that the limits need and then
    eight times more until all are kept; weight 1 is the public decision.

    `belief`: of one paper.
    `accept`: the accept probability of each secret; where secrets share some, of each entry of the table.
    `guarantee`: the limits to keep.
    `mixed`: the weight of the constant to begin with, from 0 to 1.

    >>> belief = Belief([0.6, 0.4], [0.9, 0.2])
    >>> policy, claim = certify(belief, np.array([0.25, 0.0]), Guarantee("average", epsilon=None))
    >>> float(claim.added), claim.success == claim.success_scores_only, round(claim.epsilon, 3)
    (0.0, True, inf)
    """
    case = exact_case(belief)
    fixed = _fixed(belief, guarantee, accept.size)
    public = partial(_public, belief, case, fixed)
    start, narrower = (_rounded(table, fixed) for table in (accept, _banded(belief, accept, guarantee)))
    while mixed < 1:
        table = _mix(start, mixed, fixed)
        # What is decided the same way whoever wrote the reviews meets every equation.
        policy = on_equations(case, table, guarantee) if np.ptp(table) else ExactPolicy(table)
        policy = None if policy is None else _among_others(belief, policy)
        outcomes = None if policy is None else case.outcomes(policy)
        missed = None if policy is None or outcomes is None else _missed(case, policy, outcomes, guarantee)
        if policy is not None and outcomes is not None and missed is not None and not missed.size:
            if mixed <= _SMALLEST_MIX or not _is_better(public(), policy, belief, case, guarantee):
                return policy, _claim(case, policy, outcomes, mixed)
            break
        if (missed is None or missed.max() > _TOLERANCE) and start is not narrower:
            start = narrower
        else:
            mixed = _more(mixed, missed)
    constant = public()
    outcomes = case.outcomes(constant)
    if _missed(case, constant, outcomes, guarantee).size:
        raise CertificateError(
            "no policy keeps the requested limits for these public data, not even a constant"
        )
    return constant, _claim(case, constant, outcomes, 1.0)


def _is_better(
    public: ExactPolicy, policy: ExactPolicy, belief: Belief, case: Case, guarantee: Guarantee
) -> bool:
    """Whether a repair cost so much that deciding by public information alone is no worse."""
    if _loss(belief, public) > _loss(belief, policy):
        return False
    return not _missed(case, public, case.outcomes(public), guarantee).size


def _loss(belief: Belief, policy: ExactPolicy) -> float:
    """Expected loss up to a constant: what accepting costs over rejecting."""
    return float(belief.weight @ (belief.spread(policy.accept) * (1.0 - 2.0 * belief.favor)))


def _fixed(belief: Belief, guarantee: Guarantee, size: int, doubt: float = 0.0) -> Integers:
    """1 or 0 for secrets whose evidence is too strong to decide against, else -1, as where weight is 0; by
    more than a `doubt` about the last digits."""
    if guarantee.never_against is None:
        return np.full(size, -1)
    if belief.alike is not None:
        raise CertificateError(
            "never-against needs a table with an entry for each tuple: pools are too large"
        )
    favor = belief.favor
    if belief.entry is not None:
        # Tuples that differ by the order of equal scores have one favor.
        favor = np.empty(size)
        favor[belief.entry] = belief.favor
    fixed = forced_decisions(favor, guarantee.never_against + doubt).astype(np.int64)
    return np.where(belief.by_entry(size) > 0.0, fixed, -1)


def _among_others(belief: Belief, policy: ExactPolicy) -> ExactPolicy:
    """The table with every entry of weight 0 inside the range of the others, or next to it.

    A weight too small for a float is not 0 in truth: an outcome that only such a secret had would name it.
    """
    heavy = belief.by_entry(policy.numerator.size) > 0.0
    if heavy.all():
        return policy
    held, step = policy.integers[heavy], policy.denominator >> BITS
    inside = np.clip(policy.numerator, -(-int(held.min()) // step), int(held.max()) // step)
    return ExactPolicy(np.where(heavy, policy.numerator, inside), policy.exact)


def _rounded(table: Array, fixed: Integers) -> Integers:
    """Multiples of 2^-53, and what may not be decided against."""
    nearest = np.rint(np.clip(table, 0.0, 1.0) * UNIT).astype(np.int64)
    return np.where(fixed >= 0, fixed * UNIT, nearest)


def _banded(belief: Belief, accept: Array, guarantee: Guarantee) -> Array:
    """The table inside the narrowest range that a program's tolerance allows, where the range is limited.

    A program solves for weight * accept: its tolerance says next to nothing of accept where weight is tiny.
    """
    inside = np.clip(accept, 0.0, 1.0)
    if guarantee.epsilon is None and guarantee.multiplier is None:
        return inside
    weight = belief.by_entry(accept.size)
    mean, unsure = float(weight @ inside), _TOLERANCE / np.maximum(weight, _TOLERANCE)
    low, high = (inside + unsure).min(), (inside - unsure).max()
    return np.clip(inside, min(low, mean), max(high, mean))


def _mix(start: Integers, weight: float, fixed: Integers) -> Integers:
    """`(1 - weight) * table + weight / 2`; secrets that are fixed stay."""
    mixed = np.rint(start + weight * (UNIT // 2 - start)).astype(np.int64)
    return np.where((fixed >= 0) | (weight == 0), start, mixed)


def _more(weight: float, missed: Array | None) -> float:
    """The mixing weight to try next: what the missed limits need, or eight times the last one."""
    if weight > 0:
        return 8 * weight
    worst = 0.0 if missed is None else float(missed.max(initial=0.0))
    return worst * (1 + 2**-20) + _SMALLEST_MIX


def _public(belief: Belief, case: Case, fixed: Integers) -> ExactPolicy:
    """The same decision for every secret, by the evidence that is public: it reveals nothing to anyone."""
    favor = float(case.chance @ belief.favor)
    # A lead that another machine might not see is none: ties are rejected everywhere.
    table = np.full(fixed.shape, UNIT if favor > 0.5 + TIED else 0)
    return ExactPolicy(np.where(fixed >= 0, fixed * UNIT, table))


def _missed(case: Case, policy: ExactPolicy, outcomes: Outcomes, guarantee: Guarantee) -> Array:
    """For every limit that the table breaks: the weight of the constant 1/2 that would mend it."""
    unit = policy.denominator
    slacks = _slacks(case, outcomes, policy.ends, unit, guarantee)
    broken = [slack < 0 for slack in slacks]
    if not any(where.any() for where in broken):
        return np.empty(0)
    found: list[float] = []
    spares = _slacks(case, case.half, (1, 1), 2, guarantee)
    for slack, spare, where in zip(slacks, spares, broken, strict=True):
        each = zip(-2 * slack[where], spare[where] * unit, strict=True)
        found += [1.0 if have <= 0 else need / (need + have) for need, have in each]
    return np.array(found)


def _slacks(
    case: Case,
    outcomes: Outcomes,
    ends: tuple[int, int],
    unit: int,
    guarantee: Guarantee,
    slack: Fraction = Fraction(0),
) -> list[Exact]:
    """Integers that are at least 0 where the limits are kept; all grow with `unit`. With a `slack`, what
    depends on weights may be that much larger than its limit, relative to it."""
    if guarantee.name not in _COMPARED:
        raise CertificateError(f"nothing is known here of what the guarantee {guarantee.name!r} promises")
    slacks: list[Exact] = []
    most, whole = slack.denominator + slack.numerator, slack.denominator
    for total, parts in outcomes:
        for part, prior, top in zip(parts, case.prior, case.top, strict=True):
            if guarantee.name == "steady":
                slacks.append(most * top * total - whole * case.total * part)
            elif guarantee.name == "average" and not guarantee.spends:
                slacks.append(most * part[prior.argmax()] - whole * part)
            if guarantee.posterior_cap is not None:
                cap = Fraction(guarantee.posterior_cap)
                slacks.append(most * cap.numerator * total - whole * cap.denominator * part)
    low, high = ends
    limits: list[int] = []
    if guarantee.name == "public":
        limits += [low - high]
    if guarantee.epsilon is not None:
        factor = exponential_below(guarantee.epsilon)
        for upper, lower in ((high, low), (unit - low, unit - high)):
            limits += [factor.numerator * lower - factor.denominator * upper]
    if guarantee.multiplier is not None:
        most_factor = Fraction(guarantee.multiplier)
        limits += [most_factor.numerator * unit - most_factor.denominator * (high + unit - low)]
    return [*slacks, np.array(limits, dtype=object)]


def claim(belief: Belief, policy: ExactPolicy, *, mixed: float = 0.0) -> Claim:
    """What a table promises, whatever was requested of it; exact numbers rounded outwards.

    `belief` is that of one paper, `policy` its table; `mixed` is repeated in the claim and changes nothing
    else.

    >>> found = claim(Belief([0.75, 0.25], [0.9, 0.2]), ExactPolicy(np.array([UNIT, 0])))
    >>> found.success_scores_only, found.success, found.largest_rise
    (Fraction(3, 4), Fraction(1, 1), 0.25)
    """
    case = exact_case(belief)
    return _claim(case, policy, case.outcomes(policy), mixed)


def _claim(case: Case, policy: ExactPolicy, outcomes: Outcomes, mixed: float) -> Claim:
    unit, (low, high) = policy.denominator, policy.ends
    reached = sum(int(part.max()) for _, parts in outcomes for part in parts)
    before = sum(case.top) * unit
    rise, posterior = 0, 0
    for total, parts in outcomes:
        for part, top in zip(parts, case.top, strict=True):
            if total > 0:
                best = int(part.max())
                posterior = max(posterior, ceiling(best, total))
                rise = max(rise, ceiling(best * case.total - top * total, total * case.total))
    return Claim(
        reviews=case.reviews,
        success_scores_only=Fraction(ceiling(sum(case.top), case.total), FINE),
        success=Fraction(ceiling(reached, case.total * unit), FINE),
        added=Fraction(ceiling(reached - before, case.total * unit), FINE),
        largest_rise=upward(Fraction(rise, FINE)),
        epsilon=table_epsilon(policy),
        multiplier=quotient_above(high + unit - low, unit),
        largest_posterior=_posterior(posterior),
        largest_posterior_scores_only=_posterior(ceiling(max(case.top, default=0), case.total)),
        mixed=mixed,
    )


def _posterior(units: int) -> float:
    """A posterior in units of 2^-80, rounded up, as a float."""
    return min(1.0, upward(Fraction(units, FINE)))


def keeps(
    belief: Belief, policy: ExactPolicy, guarantee: Guarantee, *, slack: Fraction = Fraction(0)
) -> bool:
    """Whether a table keeps every limit that is requested of one paper: exactly, or where the weights are
    those of another machine, with a relative `slack` for the limits that depend on weights. Epsilon, the
    multiplier, a constant and what is never decided against depend on the table alone: they have none.

    >>> belief, table = Belief([0.6, 0.4], [0.9, 0.2]), ExactPolicy(np.array([UNIT, 0]))
    >>> keeps(belief, table, Guarantee("none", epsilon=None)), keeps(belief, table, Guarantee())
    (True, False)
    """
    table = policy.integers
    fixed = _fixed(belief, guarantee, table.size, TIED if slack else 0.0)
    against = np.where(fixed == 1, table != policy.denominator, (fixed == 0) & (table != 0))
    case = exact_case(belief)
    slacks = _slacks(case, case.outcomes(policy), policy.ends, policy.denominator, guarantee, slack)
    return not against.any() and not any((one < 0).any() for one in slacks)


def table_epsilon(policy: ExactPolicy) -> float:
    """The epsilon of one table alone, rounded up.

    >>> [table_epsilon(ExactPolicy(np.array(table))) for table in ([UNIT // 2] * 2, [UNIT, 0])]
    [0.0, inf]
    """
    return max(logarithm_above(*ratio) for ratio in _ratios(policy))


def _ratios(policy: ExactPolicy) -> list[tuple[int, int]]:
    """For accept and for reject: the largest and the least probability of a table."""
    unit, (low, high) = policy.denominator, policy.ends
    return [(high, low), (unit - low, unit - high)]
