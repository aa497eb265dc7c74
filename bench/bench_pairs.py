"""Pairs a second, from scores to policy: weights, favors, frontier and policy of noisy affine reviewers.

Against linear programs that get the easier part (belief given, one point of the frontier): pair by pair with
`linprog` of SciPy and in the interface of HiGHS, and many pairs in one program. All must agree with the
closed form before any time is printed. Other reviewers go through the quadrature; their beliefs are timed
too. Run: `python bench/bench_pairs.py`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

import blindcal as bc
from blindcal.checks import Array
from blindcal.compute.highs import load_model, solve_model

PAIRS, CHUNK, REPEATS = 1 << 22, 1 << 15, 5
ONE_BY_ONE, IN_ONE_PROGRAM, CURVED = 500, 5_000, 5_000
PROMISED = 5e6

REVIEWERS = bc.Affine(1.2, 0.3, noise=0.5), bc.Affine(0.8, -0.3, noise=0.7)


def line(scores: Array) -> Array:
    """Scores to accept probabilities, halfway along each frontier."""
    front = bc.frontier(bc.pair_belief(REVIEWERS, scores, prior=0.4))
    halfway = 0.5 * (front.conference_error[:, 0] + front.conference_error[:, -1])
    return front.policy(conference_error=halfway).accept


def on_threads(scores: Array, threads: int) -> None:
    """Chunks that stay in the cache; NumPy and SciPy let go of the interpreter while they compute."""
    chunks = [scores[i : i + CHUNK] for i in range(0, len(scores), CHUNK)]
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(line, chunks):
            pass


def wanted(scores: Array) -> tuple[bc.Belief, Array, Array]:
    """The belief, the success allowed, and the conference error that the closed form needs for it."""
    belief = bc.pair_belief(REVIEWERS, scores, prior=0.4)
    policy = bc.Policy(line(scores))
    return belief, 1.0 - policy.adversary_error(belief), policy.conference_error(belief)


# Of one pair, in x = weight*accept and two caps: x <= cap, weight - x <= cap', cap + cap' <= success.
ROWS = np.array([[1, 0, -1, 0], [0, 1, -1, 0], [-1, 0, 0, -1], [0, -1, 0, -1], [0, 0, 1, 1.0]])
TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def programs(belief: bc.Belief, success: Array) -> tuple[Array, Array, Array]:
    """For each pair the limits of these rows, the cost of the columns, and the most that they can be."""
    w, f = belief.weight, belief.favor
    nothing = np.zeros_like(w)
    limit = np.concatenate([nothing, -w, success[:, None]], axis=1)
    return limit, np.concatenate([1.0 - 2.0 * f, nothing], axis=1), np.concatenate([w, nothing + 1.0], axis=1)


def by_linprog(belief: bc.Belief, success: Array) -> Array:
    """One SciPy call for each pair."""
    each = zip(*programs(belief, success), strict=True)
    best = [
        linprog(cost, ROWS, limit, bounds=np.stack([np.zeros(4), most], 1), method="highs-ds", options=TIGHT)
        for limit, cost, most in each
    ]
    return np.array([found.fun for found in best]) + (belief.weight * belief.favor).sum(axis=1)


def by_highs(belief: bc.Belief, success: Array) -> Array:
    """One model in HiGHS, whose numbers are changed for each pair: its own interface, from its last basis."""
    (limit, cost, most), nothing, free = programs(belief, success), np.zeros(4), np.full(5, -np.inf)
    solver = load_model(sparse.csc_array(ROWS), cost[0], (nothing, most[0]), (free, limit[0]))
    columns, rows = np.arange(4, dtype=np.int32), np.arange(5, dtype=np.int32)
    found = np.empty(len(limit))
    for pair in range(len(found)):
        solver.changeColsCost(4, columns, cost[pair])
        solver.changeColsBounds(4, columns, nothing, most[pair])
        solver.changeRowsBounds(5, rows, free, limit[pair])
        solve_model(solver)
        found[pair] = solver.getObjectiveValue()
    return found + (belief.weight * belief.favor).sum(axis=1)


def in_one_program(belief: bc.Belief, success: Array) -> Array:
    """All pairs as the blocks of one program."""
    limit, cost, most = programs(belief, success)
    found = linprog(
        cost.ravel(),
        A_ub=sparse.block_diag([ROWS] * len(limit), format="csr"),
        b_ub=limit.ravel(),
        bounds=np.stack([np.zeros(most.size), most.ravel()], axis=1),
        method="highs-ds",
        options=TIGHT,
    )
    return np.asarray(
        (found.x.reshape(-1, 4) * cost).sum(axis=1) + (belief.weight * belief.favor).sum(axis=1)
    )


def seconds(task: Callable[[], object], repeats: int) -> float:
    """The best of several runs, by the clock on the wall."""
    best = np.inf
    for _ in range(repeats):
        begin = time.perf_counter()
        task()
        best = min(best, time.perf_counter() - begin)
    return best


def main() -> int:
    rng = np.random.default_rng(1)
    few, some, many = (rng.normal(size=(n, 2)) for n in (ONE_BY_ONE, IN_ONE_PROGRAM, PAIRS))
    rates = {}
    for name, task, scores in (
        ("linprog, pair by pair", by_linprog, few),
        ("HiGHS, pair by pair", by_highs, few),
        ("linprog, one program", in_one_program, some),
    ):
        belief, success, error = wanted(scores)
        off = float(np.abs(task(belief, success) - error).max())
        if off > 1e-8:
            raise RuntimeError(f"{name} differs from the closed form by {off:.1e}")
        rates[name] = len(scores) / seconds(partial(task, belief, success), 2)
        print(f"{name:24} {rates[name]:>14,.0f} pairs a second (agrees to {off:.0e})")
    ways = {
        "one call": partial(line, many),
        "1 thread": partial(on_threads, many, 1),
        "2 threads": partial(on_threads, many, 2),
    }
    for name, task in ways.items():
        busy = time.process_time()
        rate = PAIRS / seconds(task, REPEATS)
        busy = (time.process_time() - busy) / REPEATS / PAIRS
        ratios = ", ".join(f"{rate / other:,.0f} x {anchor}" for anchor, other in rates.items())
        print(f"{f'closed form, {name}':24} {rate:>14,.0f} pairs a second ({ratios})")
        print(f"{'':24} {1e9 * busy:>14.0f} ns of one core a pair")
    print(f"promised: {PROMISED:,.0f} on two cores, {'kept' if rate >= PROMISED else 'MISSED'}")
    kinds = {
        "logistic": bc.reviewers.Logistic(-3.0, 3.0, noise=0.4),
        "straight pieces": bc.reviewers.PiecewiseLinear([-1.0, 0.5, 2.0], [-1.0, 0.2, 3.0], noise=0.4),
        "uncertain affine": bc.Affine(1.0, 0.2, 0.4, [[0.1, 0.0], [0.0, 0.1]]),
    }
    for name, reviewer in kinds.items():
        began = time.process_time()
        bc.pair_belief((REVIEWERS[0], reviewer), many[:CURVED])
        each = (time.process_time() - began) / CURVED
        print(f"belief with one {name:18} {1e6 * each:>8,.0f} microseconds of one core a pair")
    return 0


if __name__ == "__main__":
    sys.exit(main())
