"""How long the adversary that knows everybody's load takes: 1,000 papers, 3 reviews each, loads of 3.

python bench/bench_coupled_audit.py [--papers 1000] [--pool 12] [--workers 2]
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "studies"))

from audit import MENU, Setting, conference, decided
from blindcal.audits.couplings import network, true_loads
from blindcal.audits.looking import walk
from blindcal.workers import each


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--papers", type=int, default=1000)
    parser.add_argument("--pool", type=int, default=12)
    parser.add_argument("--reviews", type=int, default=3)
    parser.add_argument("--load", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    setting = Setting(options.papers, options.reviews, options.load, options.pool)
    papers, truth = conference(setting, 0)
    jobs = list(zip(papers, truth, np.random.default_rng(7).random(len(papers)).tolist(), strict=True))
    views = each(
        partial(decided, guarantee=MENU["steady, epsilon 2 (default)"]), jobs, workers=options.workers
    )
    loads = true_loads(views)
    whole = 0.0
    for name, masses in {
        "scores": [view.weight for view in views],
        "decided": [view.mass("chosen")[0] for view in views],
        "full": [view.mass("full")[0] for view in views],
    }.items():
        began = time.perf_counter()
        found = walk(views, loads, network(views, loads, masses), workers=options.workers)
        spent = time.perf_counter() - began
        whole += spent
        print(f"{name}: {spent:.0f} s, {found}", flush=True)
    print(f"{setting.name}: {whole:.0f} s")


if __name__ == "__main__":
    main()
