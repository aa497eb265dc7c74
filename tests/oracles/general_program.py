"""An oracle: the least expected loss of any decisions under any guarantee, written from the definitions."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import highspy
import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from blindcal.compute.highs import load_model, solve_model
from blindcal.policy.guarantee import UNLIMITED, Guarantee


class LeastLoss(NamedTuple):
    """`chance[secret, decision]`, its expected loss, and the chance of a correct guess, mean over slots."""

    chance: np.ndarray
    loss: float
    success: float


def least_loss(
    weight: ArrayLike,
    loss: ArrayLike,
    labels: ArrayLike | None = None,
    guarantee: Guarantee = UNLIMITED,
    *,
    success: float | None = None,
) -> LeastLoss:
    """The best `P(d | r)` for `weight[r]`, `loss[r, d]` and `labels[slot, r]`, below zero for nobody.

    One program for everything: `p[r, d]`, then `t[slot, d]`, the mass of the best guess, then `lo[d]` and
    `hi[d]`, between which the probabilities of a decision lie. Without a limit on their range it is about the
    masses `w[r] p[r, d]` instead, of which the smallest keep their digits. A decision whose loss is at most
    1 - `never_against` is made for sure; the loss is infinite if the limits contradict each other.
    """
    w, cost = np.asarray(weight, dtype=float), np.asarray(loss, dtype=float)
    n, decisions = cost.shape
    slots = np.arange(n)[None, :] if labels is None else np.asarray(labels)
    tops = np.array([_best(w, slot) for slot in slots])
    most = [] if success is None else [max(success, tops.mean())]
    most += [tops.mean()] if guarantee.name == "average" else []
    caps = guarantee.caps(tops) if guarantee.capped else None
    epsilon = 0.0 if guarantee.name == "public" else guarantee.epsilon
    ranged = epsilon is not None or guarantee.multiplier is not None
    unit, part = (np.ones(n), w) if ranged else (w, np.ones(n))
    p = np.arange(n * decisions).reshape(n, decisions)
    t = p.size + np.arange(len(slots) * decisions).reshape(-1, decisions)
    low, high = (p.size + t.size + k * decisions + np.arange(decisions) for k in range(2))
    rows = list[tuple[float, list[Any], list[Any]]]()
    for (k, slot), d in product(enumerate(slots), range(decisions)):
        for named in (np.flatnonzero(slot == y) for y in set(slot[slot >= 0])):
            rows.append((0.0, [*p[named, d], t[k, d]], [*part[named], -1.0]))
            if caps is not None:
                rows.append((0.0, [*p[:, d]], [*(part * (np.isin(np.arange(n), named) - caps[k]))]))
    rows += [(len(slots) * min(most), [*t.ravel()], [1.0] * t.size)] if most else []
    for r, d in product(range(n if ranged else 0), range(decisions)):
        rows += [(0.0, [p[r, d], high[d]], [1.0, -1.0]), (0.0, [low[d], p[r, d]], [1.0, -1.0])]
    if epsilon is not None:
        rows += [(0.0, [high[d], low[d]], [np.exp(-epsilon), -1.0]) for d in range(decisions)]
    if guarantee.multiplier is not None:
        rows.append((guarantee.multiplier, [*high], [1.0] * decisions))
    upper = np.array([*(ceiling for ceiling, _, _ in rows), *unit])
    lower = np.where(np.arange(len(upper)) < len(rows), -highspy.kHighsInf, upper)
    rows += [(1.0, [*p[r]], [1.0] * decisions) for r in range(n)]
    where = np.repeat(np.arange(len(rows)), [len(columns) for _, columns, _ in rows])
    columns, values = (np.concatenate([row[k] for row in rows]) for k in (1, 2))
    size = high[-1] + 1
    matrix = sparse.csc_array(sparse.coo_array((values, (where, columns)), shape=(len(rows), size)))
    objective, least, most_of = np.zeros(size), np.zeros(size), np.ones(size)
    objective[p], most_of[p] = part[:, None] * cost, unit[:, None]
    if guarantee.never_against is not None:
        least[p] = (1.0 - cost >= guarantee.never_against) * unit[:, None]
    # Presolve forgets the smallest masses.
    options = {} if ranged else {"presolve": "off"}
    solver = load_model(matrix, objective, (least, most_of), (lower, upper), options)
    status = solve_model(solver)
    # Weights of 1e-10 and 1 in one row: without presolve, then also without scaling.
    for option, value in (("presolve", "off"), ("simplex_scale_strategy", 0)):
        if status != highspy.HighsModelStatus.kOptimal:
            solver.clearSolver()
            solver.setOptionValue(option, value)
            status = solve_model(solver)
    if status == highspy.HighsModelStatus.kInfeasible:
        return LeastLoss(np.full(cost.shape, np.nan), np.inf, np.nan)
    assert status == highspy.HighsModelStatus.kOptimal, solver.modelStatusToString(status)
    chance = np.clip(np.asarray(solver.getSolution().col_value)[p], 0.0, 1.0)
    # What weighs next to nothing may have lost all its mass to the tolerance.
    chance[chance.sum(axis=1) == 0.0] = 1.0
    chance /= chance.sum(axis=1, keepdims=True)
    mass = w[:, None] * chance
    guessed = sum(_best(column, slot) for column in mass.T for slot in slots) / len(slots)
    return LeastLoss(chance, float((mass * cost).sum()), float(guessed))


def _best(mass: np.ndarray, slot: np.ndarray) -> float:
    """The largest mass that one label has."""
    return float(np.bincount(slot[slot >= 0], mass[slot >= 0]).max())
