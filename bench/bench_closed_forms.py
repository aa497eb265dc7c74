"""Closed forms of beliefs, frontiers and budgets: pairs and papers a second, seconds of an average frontier.

    python bench/bench_closed_forms.py

Pairs go from scores to policy: weights, favors, frontier and policy of noisy affine reviewers, in one call
and in chunks on threads. Papers with many secrets get their frontier and the policy at a tenth above its
least conference error; beside it the program of `policy.accept_lp`, which gets one point of the frontier.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

import blindcal as bc
from blindcal.checks import Array
from blindcal.policy import average_frontier, spend
from blindcal.policy.accept_lp import AcceptProgram, secret_classes
from blindcal.policy.guarantee import UNLIMITED
from blindcal.reviewers import Logistic, PiecewiseLinear

PAIRS, CHUNK, CURVED, BUDGETED = 1 << 22, 1 << 15, 5_000, 1_000_000
SECRETS = (3, 12, 50, 200)
PAIR = bc.Affine(1.2, 0.3, noise=0.5), bc.Affine(0.8, -0.3, noise=0.7)
CURVES = {
    "logistic": Logistic(-3.0, 3.0, noise=0.4),
    "straight pieces": PiecewiseLinear([-1.0, 0.5, 2.0], [-1.0, 0.2, 3.0], noise=0.4),
    "uncertain affine": bc.Affine(1.0, 0.2, 0.4, [[0.1, 0.0], [0.0, 0.1]]),
}
AVERAGED = {
    "affine": (bc.Affine(1.2, 0.3), bc.Affine(0.8, -0.3)),
    "noisy affine": (bc.Affine(1.2, 0.3, 0.5), bc.Affine(0.8, -0.3, 0.4)),
    "noise 1e-3": (bc.Affine(1.2, 0.3, 1e-3), bc.Affine(0.8, -0.3, 1e-3)),
    "logistic": (Logistic(1, 10, 1.5), Logistic(1, 10, 1.0, 0.3)),
    "noisy logistic": (Logistic(1, 10, 1.5, noise=0.4), Logistic(1, 10, 1.0, 0.3, noise=0.6)),
}


def seconds(task: Callable[[], object], repeats: int = 3) -> float:
    """The best of several runs, by the clock on the wall."""
    best = np.inf
    for _ in range(repeats):
        began = time.perf_counter()
        task()
        best = min(best, time.perf_counter() - began)
    return best


def policies(scores: Array) -> Array:
    """Scores of pairs to accept probabilities, halfway along each frontier."""
    front = bc.frontier(bc.pair_belief(PAIR, scores, prior=0.4))
    halfway = 0.5 * (front.conference_error[:, 0] + front.conference_error[:, -1])
    return front.policy(conference_error=halfway).accept


def on_threads(scores: Array, threads: int) -> None:
    """Chunks that stay in the cache; NumPy and SciPy let go of the interpreter while they compute."""
    chunks = [scores[i : i + CHUNK] for i in range(0, len(scores), CHUNK)]
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(policies, chunks):
            pass


def many_secrets(belief: bc.Belief) -> Array:
    front = bc.frontier(belief)
    least, most = front.conference_error[:, 0], front.conference_error[:, -1]
    return front.policy(conference_error=least + 0.1 * (most - least)).accept


def by_program(belief: bc.Belief) -> None:
    for weight, favor in zip(belief.weight, belief.favor, strict=True):
        program = AcceptProgram(secret_classes(bc.Belief(weight, favor)), UNLIMITED)
        program.solve(success=float(weight.max()))


def main() -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(PAIRS, 2))
    ways = {"one call": partial(policies, scores)}
    ways |= {f"{n} threads": partial(on_threads, scores, n) for n in (1, 2)}
    for name, task in ways.items():
        print(f"pairs, {name:18} {PAIRS / seconds(task):>14,.0f} a second")
    for name, reviewer in CURVES.items():
        took = seconds(partial(bc.pair_belief, (PAIR[0], reviewer), scores[:CURVED]), 1)
        print(f"belief with one {name:18} {1e6 * took / CURVED:>8,.0f} microseconds a pair")
    front = bc.frontier(bc.pair_belief(PAIR, 1.2 * scores[:BUDGETED]))
    took = seconds(partial(spend, front, conference_error=float(front.conference_error.mean())))
    print(f"one budget over {BUDGETED:,} pairs: {took:.2f} s")
    for size in SECRETS:
        papers = max(2000, 400_000 // size)
        many = bc.Belief(rng.dirichlet(np.ones(size), size=papers), rng.random((papers, size)))
        few = bc.Belief(many.weight[:200], many.favor[:200])
        rate, slow = papers / seconds(partial(many_secrets, many)), 200 / seconds(partial(by_program, few), 1)
        print(f"{size:>4} secrets: {rate:>12,.0f} papers a second, {slow:>8,.0f} by programs")
    for name, reviewers in AVERAGED.items():
        whole = average_frontier(reviewers)
        middle = 0.5 * (whole.least_error + whole.largest_error)
        first = seconds(partial(average_frontier, reviewers))
        # A fresh frontier each time: a frontier remembers the integrals it has computed.
        rule = seconds(lambda r=reviewers, e=middle: average_frontier(r).rule(conference_error=e))
        print(f"average frontier, {name:>16} {first:8.3f} s, with a rule {rule:8.3f} s", end="")
        print(f", error below {whole.integration_error:.0e}")


if __name__ == "__main__":
    main()
