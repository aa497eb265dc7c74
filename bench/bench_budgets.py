"""Spending one budget over many pairs, against one joint program; average-case frontiers a second.

Run: `python bench/bench_budgets.py`.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from blindcal import Affine, frontier, pair_belief
from blindcal.checks import Array
from blindcal.compute.highs import load_model, solve_model
from blindcal.policy import Frontier, average_frontier, spend
from blindcal.reviewers import Logistic

PAIRS = 1_000_000
PROGRAM_PAIRS = 20_000


def pairs(count: int) -> Frontier:
    scores = np.random.default_rng(1).normal(size=(count, 2)) * 1.2
    return frontier(pair_belief((Affine(1.2, 0.3, 0.5), Affine(0.8, -0.3, 0.4)), scores))


def joint_program(front: Frontier, allowed: float) -> tuple[Array, Array, float]:
    """The gain and the cost of each segment, one variable each, and the budget of the one row."""
    gain, cost = (np.diff(part, axis=1)[:, 0] for part in (front.adversary_error, front.conference_error))
    return gain, cost, (allowed - front.conference_error[:, 0].mean()) * len(gain)


def by_linprog(front: Frontier, allowed: float) -> float:
    """The best mean adversary error, by SciPy."""
    gain, cost, budget = joint_program(front, allowed)
    found = linprog(-gain, A_ub=sparse.csr_array(cost[None]), b_ub=[budget], bounds=(0, 1), method="highs")
    return float(front.adversary_error[:, 0].mean() - found.fun / len(gain))


def by_highs(front: Frontier, allowed: float) -> float:
    """The same, in the interface of HiGHS."""
    gain, cost, budget = joint_program(front, allowed)
    columns, rows = (np.zeros(len(gain)), np.ones(len(gain))), (np.array([-np.inf]), np.array([budget]))
    solver = load_model(sparse.csc_array(cost[None]), -gain, columns, rows)
    solve_model(solver)
    return float(front.adversary_error[:, 0].mean() - solver.getObjectiveValue() / len(gain))


def timed(task, repeats: int = 3) -> tuple[float, float]:
    """The best wall-clock and processor seconds of several runs."""
    best = np.inf, np.inf
    for _ in range(repeats):
        wall, busy = time.perf_counter(), time.process_time()
        task()
        best = min(best[0], time.perf_counter() - wall), min(best[1], time.process_time() - busy)
    return best


def main() -> int:
    front, few = pairs(PAIRS), pairs(PROGRAM_PAIRS)
    wall, busy = timed(lambda: spend(front, conference_error=0.17))
    print(f"spend over {PAIRS:,} pairs, price, totals and a policy for each: {wall:.2f} s ({busy:.2f} s CPU)")
    ours = timed(lambda: spend(few, conference_error=0.17))[0]
    error = spend(few, conference_error=0.17).adversary_error
    for name, task in (("linprog", by_linprog), ("HiGHS's own interface", by_highs)):
        program, gap = timed(lambda task=task: task(few, 0.17), 1)[0], abs(error - task(few, 0.17))
        print(
            f"over {PROGRAM_PAIRS:,} pairs: {program / ours:,.0f} x as fast as one joint program by {name} "
            f"(gap {gap:.0e})"
        )
    settings = {
        "affine": (Affine(1.2, 0.3), Affine(0.8, -0.3)),
        "noisy affine": (Affine(1.2, 0.3, 0.5), Affine(0.8, -0.3, 0.4)),
        "noise 1e-3": (Affine(1.2, 0.3, 1e-3), Affine(0.8, -0.3, 1e-3)),
        "logistic": (Logistic(1, 10, 1.5), Logistic(1, 10, 1.0, 0.3)),
        "noisy logistic": (Logistic(1, 10, 1.5, noise=0.4), Logistic(1, 10, 1.0, 0.3, noise=0.6)),
    }
    print("\naverage-case frontier, the same and one rule of it, seconds of CPU; stated error")
    for name, reviewers in settings.items():
        avg = average_frontier(reviewers)
        middle = 0.5 * (avg.least_error + avg.largest_error)
        first = timed(lambda r=reviewers: average_frontier(r))[1]
        # A fresh frontier each time: a frontier remembers the integrals it has computed.
        second = timed(lambda r=reviewers, e=middle: average_frontier(r).rule(conference_error=e))[1]
        print(f"{name:>16} {first:8.3f} {second:8.3f}   {avg.integration_error:.0e}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
