"""`fit` on a long history.

Promised: 100,000 past reviews by 10,000 reviewers in under 60 s and 2 GiB on two cores.
"""

from __future__ import annotations

import os
import resource
import time

import numpy as np
from joblib.externals.loky import get_reusable_executor

import blindcal as bc

CONFERENCES, PAPERS, REVIEWERS, PER_PAPER = 10, 3_334, 10_000, 3


def history() -> bc.Reviews:
    """Whole scores from 1 to 10; each paper has three reviewers in a row of a list shuffled anew."""
    rng, rows = np.random.default_rng(1), CONFERENCES * PAPERS * PER_PAPER
    slope, offset = np.maximum(rng.normal(1, 0.3, REVIEWERS), 0.05), rng.normal(0, 0.4, REVIEWERS)
    person = np.concatenate([rng.permutation(REVIEWERS) for _ in range(rows // REVIEWERS + 1)])[:rows]
    quality = np.repeat(rng.standard_normal(CONFERENCES * PAPERS), PER_PAPER)
    score = slope[person] * quality + offset[person] + 0.5 * rng.standard_normal(rows)
    table = {
        "conference": np.repeat([f"c{c}" for c in range(CONFERENCES)], PAPERS * PER_PAPER).tolist(),
        "paper": np.repeat([f"p{i}" for i in range(CONFERENCES * PAPERS)], PER_PAPER).tolist(),
        "reviewer": [f"r{j}" for j in person],
        "score": np.clip(np.round(5.5 + 1.7 * score), 1, 10),
    }
    return bc.Reviews.from_table(table, grid=range(1, 11))


def main() -> None:
    reviews = history()
    began = time.perf_counter()
    fitted = bc.fit(reviews, workers=2)
    seconds = time.perf_counter() - began
    # Only processes that have ended are counted below.
    get_reusable_executor().shutdown(wait=True)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    # Two workers at most beside this process, each as large as the largest of all.
    memory = 3 * max(one.ru_maxrss for one in used) / 2**20
    processor = sum(one.ru_utime + one.ru_stime for one in used)
    print(
        f"{len(reviews):,} past reviews by {REVIEWERS:,} reviewers: {seconds:.1f} s "
        f"({processor:.0f} s of processor time in all) at load {os.getloadavg()[0]:.1f}"
    )
    print(f"  at most {memory:.2f} GiB; R-hat of offsets {fitted.checks.rhat:.3f}")
    print(f"  promise of 60 s and 2 GiB: {'kept' if seconds < 60 and memory < 2 else 'BROKEN'}")


if __name__ == "__main__":
    main()
