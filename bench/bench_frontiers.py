"""n-secret papers a second: the closed form against linear programs, one at a time and all in one.

Each paper gets its frontier and the policy at a tenth above its least conference error. The programs get the
easier half of that: one point of the frontier. Run: `python bench/bench_frontiers.py`.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from blindcal import Belief, frontier
from blindcal.checks import Array
from blindcal.policy.accept_lp import AcceptProgram, secret_classes
from blindcal.policy.guarantee import UNLIMITED

SIZES = (3, 12, 50, 200)
LARGE = (10_000, 200)


def random_belief(rng: np.random.Generator, papers: int, secrets: int) -> Belief:
    return Belief(rng.dirichlet(np.ones(secrets), size=papers), rng.random((papers, secrets)))


def closed_form(belief: Belief) -> Array:
    front = frontier(belief)
    allowed = front.conference_error[:, 0] + 0.1 * (
        front.conference_error[:, -1] - front.conference_error[:, 0]
    )
    return front.policy(conference_error=allowed).accept


def one_at_a_time(belief: Belief) -> None:
    for weight, favor in zip(belief.weight, belief.favor, strict=True):
        program = AcceptProgram(secret_classes(Belief(weight, favor)), UNLIMITED)
        program.solve(success=float(weight.max()))


def one_batched_program(belief: Belief) -> None:
    """All papers as the blocks of one program: x = weight*accept, then the two caps of each paper."""
    papers, n = belief.weight.shape
    paper, secret = np.divmod(np.arange(papers * n), n)
    x = paper * (n + 2) + secret
    accept_row, reject_row, row = (
        paper * (2 * n + 1) + secret,
        paper * (2 * n + 1) + n + secret,
        np.arange(papers),
    )
    cap = row * (n + 2) + n
    one, each = np.ones(papers * n), np.ones(papers)
    value = np.concatenate([one, -one, -one, -one, each, each])
    last = row * (2 * n + 1) + 2 * n
    rows = np.concatenate([accept_row, accept_row, reject_row, reject_row, last, last])
    columns = np.concatenate([x, cap[paper], x, cap[paper] + 1, cap, cap + 1])
    matrix = sparse.csr_array((value, (rows, columns)), shape=(papers * (2 * n + 1), papers * (n + 2)))
    limit = np.concatenate(
        [np.zeros((papers, n)), -belief.weight, belief.weight.max(axis=1, keepdims=True)], axis=1
    )
    cost = np.concatenate([1.0 - 2.0 * belief.favor, np.zeros((papers, 2))], axis=1)
    upper = np.concatenate([belief.weight, np.ones((papers, 2))], axis=1).ravel()
    bounds = np.stack([np.zeros(upper.size), upper], axis=1)
    found = linprog(cost.ravel(), A_ub=matrix, b_ub=limit.ravel(), bounds=bounds, method="highs-ds")
    if found.status != 0:
        raise RuntimeError(found.message)


def papers_a_second(task: Callable[[Belief], object], belief: Belief, repeats: int) -> float:
    """The best of several runs."""
    best = np.inf
    for _ in range(repeats):
        begin = time.perf_counter()
        task(belief)
        best = min(best, time.perf_counter() - begin)
    return len(belief.weight) / best


def main() -> int:
    rng = np.random.default_rng(1)
    papers, secrets = LARGE
    belief = random_belief(rng, papers, secrets)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin, busy = time.perf_counter(), time.process_time()
    closed_form(belief)
    seconds, busy = time.perf_counter() - begin, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{papers} papers x {secrets} secrets, frontier and policy: {seconds:.2f} s ({busy:.2f} s CPU)")
    print(f"peak memory {peak / 2**20:.2f} GiB, of which the run added {(peak - before) / 2**20:.2f}")
    print("\npapers a second, one core")
    print(f"{'secrets':>8} {'closed form':>12} {'one at a time':>14} {'batched':>10} {'ratios':>16}")
    for n in SIZES:
        many = random_belief(rng, max(2000, 400_000 // n), n)
        few = Belief(many.weight[:200], many.favor[:200])
        fast = papers_a_second(closed_form, many, 5)
        single, batched = papers_a_second(one_at_a_time, few, 2), papers_a_second(one_batched_program, few, 2)
        print(
            f"{n:>8} {fast:>12,.0f} {single:>14,.0f} {batched:>10,.0f} "
            f"{fast / single:>8,.0f}x {fast / batched:>6,.0f}x"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
