"""How long the adversary that knows everybody's load takes: 1,000 papers, 3 reviews each, loads of 3.

python bench/bench_coupled_audit.py [--papers 1000] [--pool 12] [--workers 2] [--keep FOLDER]

With `--keep` a run that was killed goes on from that folder.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "studies"))

from audit import MENU, Setting, conference, decided
from blindcal.adversaries.coupled_exact import true_loads
from blindcal.adversaries.coupled_mcmc import coupled_findings
from blindcal.compute.parallel import parallel_map


@contextmanager
def counted(work: str, total: int) -> Iterator[Callable[[int], None]]:
    """Progress as lines of text."""
    began, looks = time.perf_counter(), 0

    def advance(steps: int) -> None:
        nonlocal looks
        looks += steps
        print(f"{work}: look {looks} after {time.perf_counter() - began:.0f} s", flush=True)

    yield advance


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--papers", type=int, default=1000)
    parser.add_argument("--pool", type=int, default=12)
    parser.add_argument("--reviews", type=int, default=3)
    parser.add_argument("--load", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    setting = Setting(options.papers, options.reviews, options.load, options.pool)
    papers, truth = conference(setting, 0)
    jobs = list(zip(papers, truth, np.random.default_rng(7).random(len(papers)).tolist(), strict=True))
    views = parallel_map(partial(decided, guarantee=MENU["steady, epsilon 2"]), jobs, workers=options.workers)
    began = time.perf_counter()
    found = coupled_findings(
        views,
        true_loads(views),
        ["chosen", "full"],
        keep=options.keep,
        workers=options.workers,
        progress=counted,
    )
    spent = time.perf_counter() - began
    for one in found:
        print(
            f"{one.adversary}, {one.policy}: {100 * one.baseline:.2f} % to {100 * one.success:.2f} %, added "
            f"{100 * one.added:+.2f} points, standard error {100 * one.error:.3f}"
        )
    print(f"{options.papers} papers, pools of {options.pool}: {spent:.0f} s")


if __name__ == "__main__":
    main()
