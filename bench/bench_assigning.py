"""A large conference assigned: 10,000 papers and 8,000 reviewers with about a hundred similarities per paper.

Run: `python bench/bench_assigning.py [--papers 10000] [--spread 0]`. The whole command: reading, two programs
(with and without the cap), 64 draws, and writing two million rows.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from blindcal.cli import run

SECONDS, GIBIBYTES = 300, 4
PER_PAPER, SIMILAR, CONFLICTS = 3, 100, 5


def write(folder: Path, papers: int, rng: np.random.Generator) -> None:
    """Papers and people on a circle of topics: the nearer, the likelier to be compared; some conflicts."""
    people = papers * 4 // 5
    near = np.rint(rng.normal(0, 150, (papers, SIMILAR)) + people * rng.random((papers, 1))) % people
    pairs = np.unique(np.arange(papers)[:, None] * people + near.astype(np.int64))
    np.savez(
        folder / "similarity.npz",
        papers=[f"p{i}" for i in range(papers)],
        reviewers=[f"r{j}" for j in range(people)],
        similarity=rng.random(pairs.size),
        paper=pairs // people,
        reviewer=pairs % people,
    )
    barred = np.unique(rng.integers(0, papers * people, CONFLICTS * papers))
    rows = [f"p{pair // people},r{pair % people}\n" for pair in barred.tolist()]
    (folder / "conflicts.csv").write_text("paper,conflict\n" + "".join(rows), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--papers", type=int, default=10_000)
    parser.add_argument("--spread", default="0")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, options.papers, np.random.default_rng(1))
        conference, similarity = folder / "conference", folder / "similarity.npz"
        made = run(["new", f"{conference}", "--scores", "public", "--accept", "25%"])
        command = ["assign", f"{conference}", "--similarity", f"{similarity}", "--per-paper", f"{PER_PAPER}"]
        command += ["--conflicts", f"{folder / 'conflicts.csv'}", "--per-reviewer", "5", "--cap", "0.5"]
        began, busy = time.perf_counter(), time.process_time()
        code = made or run([*command, "--spread", options.spread])
        wall, busy = time.perf_counter() - began, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{options.papers:,} papers: {wall:.0f} s ({busy:.0f} s CPU), {peak:.1f} GiB at most")
    return int(code != 0 or busy > SECONDS or peak > GIBIBYTES)


if __name__ == "__main__":
    sys.exit(main())
