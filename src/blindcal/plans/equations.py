"""Equations that a table must meet to the last digit: `steady` and `average` pin the likeliest author.

Neither outcome may raise the share of the likeliest author of a review, and the two average to it, so it may
not move at all. Rounded numbers cannot do that: a few entries of the table, one for each equation, get the
exact rational that does.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy.linalg import qr

from blindcal.checks import Array, Integers
from blindcal.plans.exact import UNIT, Case, Exact, ExactPolicy
from blindcal.policies.guarantees import Guarantee

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
