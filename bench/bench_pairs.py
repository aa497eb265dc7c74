"""Pairs a second, from scores to policy: weights, favors, frontier and policy of noisy affine reviewers.

Against linear programs that get the easier part (belief given, one point of the frontier): HiGHS one pair at
a time, and many pairs in one program. Both must agree with the closed form before any time is printed. Other
reviewers go through the quadrature; their beliefs are timed too. Run: `python bench/bench_pairs.py`.
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
from blindcal.policy.accept_lp import AcceptProgram, secret_classes
from blindcal.policy.guarantee import UNLIMITED

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


def one_at_a_time(belief: bc.Belief, success: Array) -> Array:
    pairs = zip(belief.weight, belief.favor, success, strict=True)
    programs = ((AcceptProgram(secret_classes(bc.Belief(w, f)), UNLIMITED), s) for w, f, s in pairs)
    return np.array([program.solve(success=float(s)).error for program, s in programs])


def in_one_program(belief: bc.Belief, success: Array) -> Array:
    """Blocks of x1, x2 = weight*accept, the two caps: x <= cap, weight - x <= cap', cap + cap' <= success."""
    pairs = len(success)
    block = np.array(
        [[1, 0, -1, 0], [0, 1, -1, 0], [-1, 0, 0, -1], [0, -1, 0, -1], [0, 0, 1, 1]], dtype=np.float64
    )
    w, f = belief.weight, belief.favor
    limit = np.concatenate([np.zeros((pairs, 2)), -w, success[:, None]], axis=1)
    cost = np.concatenate([1.0 - 2.0 * f, np.zeros((pairs, 2))], axis=1)
    upper = np.concatenate([w, np.ones((pairs, 2))], axis=1)
    found = linprog(
        cost.ravel(),
        A_ub=sparse.block_diag([block] * pairs, format="csr"),
        b_ub=limit.ravel(),
        bounds=np.stack([np.zeros(upper.size), upper.ravel()], axis=1),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return np.asarray((found.x.reshape(pairs, 4) * cost).sum(axis=1) + (w * f).sum(axis=1))


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
        ("HiGHS, one at a time", one_at_a_time, few),
        ("HiGHS, one program", in_one_program, some),
    ):
        belief, success, error = wanted(scores)
        off = float(np.abs(task(belief, success) - error).max())
        if off > 1e-8:
            raise RuntimeError(f"{name} differs from the closed form by {off:.1e}")
        rates[name] = len(scores) / seconds(partial(task, belief, success), 2)
        print(f"{name:24} {rates[name]:>14,.0f} pairs a second (agrees to {off:.0e})")
    for threads in (1, 2):
        busy = time.process_time()
        rate = PAIRS / seconds(partial(on_threads, many, threads), REPEATS)
        busy = (time.process_time() - busy) / REPEATS / PAIRS
        ratios = ", ".join(f"{rate / other:,.0f} x {name}" for name, other in rates.items())
        print(f"{f'closed form, {threads} threads':24} {rate:>14,.0f} pairs a second ({ratios})")
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
