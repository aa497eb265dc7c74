"""A whole conference through `blindcal decide`: seconds and memory.

    python bench/bench_conference.py [--full]

By default at a tenth of the promised sizes, with the time scaled up beside what is promised for two cores;
`--full` runs the promised sizes. Processes keep their compiled modules, as an
installation does.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from math import inf
from pathlib import Path

import blindcal as bc
from blindcal.simulation.conference import simulate

AVERAGE = ('guarantee = "average"', 'epsilon = "none"')
FOLDER = """\
reviews = "reviews.csv"
reviewers = "reviewers.csv"
pools = "pools.csv"
accept-rate = {rate}
scores = "public"
key = "key.bin"
out = "out"
"""
DEFAULT: tuple[str, ...] = ()


@dataclass(frozen=True)
class Setting:
    papers: int
    pool: int
    reviews: int
    options: tuple[str, ...]
    promised: float  # seconds on two cores


SETTINGS = (
    Setting(1_000, 12, 3, AVERAGE, 60),
    Setting(1_000, 12, 3, DEFAULT, 60),
    Setting(1_000, 12, 4, AVERAGE, 240),
    Setting(1_000, 12, 4, DEFAULT, 240),
    Setting(10_000, 12, 3, AVERAGE, 600),
    Setting(300, 60, 3, AVERAGE, 900),
    # Beyond the promise: tuples are not listed any more.
    Setting(60, 60, 4, DEFAULT, inf),
    Setting(60, 800, 3, DEFAULT, inf),
)


def write(folder: Path, papers: int, pool: int, reviews: int, seed: int = 1) -> None:
    """The three input files of a simulated conference with the prototype's reviewers."""
    drawn = simulate(papers, pool, reviews, seed=seed)
    tables = {
        "reviews": [("paper", "reviewer", "score")],
        "reviewers": [("reviewer", "slope", "offset", "noise")],
        "pools": [("paper", "reviewer")],
    }
    for j, row in enumerate(zip(drawn.slope, drawn.offset, drawn.noise, strict=True)):
        tables["reviewers"].append((f"r{j:05d}", *(f"{value:.6f}" for value in row)))
    for i in range(papers):
        pairs = zip(drawn.reviewer[i], drawn.score[i], strict=True)
        tables["reviews"] += [(f"p{i:05d}", f"r{j:05d}", f"{score:.4f}") for j, score in pairs]
        tables["pools"] += [(f"p{i:05d}", f"r{j:05d}") for j in drawn.pool[i]]
    for name, rows in tables.items():
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)


def installed(folder: Path) -> dict[str, str]:
    """The environment of a process that keeps its compiled modules, in a folder of their own."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def decide(folder: Path, settings: tuple[str, ...]) -> tuple[float, float, float]:
    """Seconds of `blindcal decide`, its seconds of computing, and GiB of the largest process so far."""
    command = [sys.executable, "-m", "blindcal", "decide", ".", "--yes-leak"]
    text = FOLDER.format(rate=0.25) + "\n".join(settings)
    (folder / "conference.toml").write_text(text, encoding="utf-8")
    bc.make_key(folder / "key.bin")
    environment = installed(folder)
    subprocess.run([*command[:4], "--help"], cwd=folder, check=True, capture_output=True, env=environment)
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env=environment)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    computing = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, computing, after.ru_maxrss / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true")
    share = 1.0 if parser.parse_args().full else 0.1
    for one in SETTINGS:
        with tempfile.TemporaryDirectory() as name:
            papers = max(30, round(one.papers * share))
            write(Path(name), papers, one.pool, one.reviews)
            seconds, computing, gibibytes = decide(Path(name), one.options)
        scaled = one.papers / papers
        print(
            f"{papers:,} papers, pools of {one.pool}, {one.reviews} reviews, "
            f"{' '.join(one.options) or 'default'}: {seconds:.1f} s ({computing:.1f} s of computing), "
            f"{gibibytes:.2f} GiB; {one.papers:,} papers: {scaled * seconds:.0f} s "
            f"({scaled * computing:.0f} s)"
            + (f", promised {one.promised:.0f} s on two cores" if one.promised < inf else "")
        )


if __name__ == "__main__":
    main()
