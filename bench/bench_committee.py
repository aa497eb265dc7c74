"""Conferences whose pools are the whole committee: each command's seconds, of the clock and of computing.

    python bench/bench_committee.py [--against FOLDER] [--papers N] [--candidates N] [--reviews N]
        [--workers N] [--commands decide verify] [--full]

Everyone without a conflict is a candidate for every paper, scores are rounded and the calibration is an
estimate. Seconds of computing and the most memory are those of the command's own process and of its workers,
of which the largest counts; `decide` also has the size of the private log. With `--against`, the folder of
another checkout, both are run in turn on the same files and the ratio is printed. By default 18 papers;
`--full` runs 180 papers, as an ordinary conference has.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import blindcal as bc
from bench_conference import installed

SETTINGS = """\
reviews = "reviews.csv"
reviewers = "reviewers.csv"
pools = "conflicts.csv"
grid = "1..10"
accept-rate = 0.25
scores = "public"
key = "../key.bin"
out = "out"
"""
COMMANDS = {
    "decide": ["decide", "."],
    "verify": ["verify", "."],
    "report": ["report", ".", "--out", "report.html"],
    "plan": ["plan", "."],
}
HERE = Path(__file__).parents[1]
# What a command used: its workers have ended, or they would not be counted.
MEASURED = """\
import json, resource, sys
from blindcal.cli import run
code = run(sys.argv[1:])
if "joblib.externals.loky" in sys.modules:
    sys.modules["joblib.externals.loky"].get_reusable_executor().shutdown(wait=True, kill_workers=False)
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(json.dumps([[one.ru_utime + one.ru_stime, one.ru_maxrss / 2**20] for one in used]))
sys.exit(code)
"""


@dataclass(frozen=True)
class Used:
    """What a command used: seconds of the clock and of computing, GiB; of its own process and of workers."""

    seconds: float
    own: float
    workers: float
    own_gib: float
    worker_gib: float

    @property
    def computing(self) -> float:
        return self.own + self.workers

    def __str__(self) -> str:
        return (
            f"{self.seconds:.1f} s, {self.computing:.1f} s of computing (itself {self.own:.1f}, workers "
            f"{self.workers:.1f}), {self.own_gib:.3f} GiB itself, {self.worker_gib:.2f} GiB a worker"
        )


def write(
    folder: Path, papers: int, members: int, reviews: int, *, known: bool = False, seed: int = 1
) -> None:
    """A committee with three conflicts a paper, whose members differ as those of NIPS 2014 did."""
    rng = np.random.default_rng(1)
    slope = 1.5 * np.exp(0.2 * rng.standard_normal(members))
    offset = 5.5 + 0.67 * rng.standard_normal(members)
    noise, quality = 1.0, rng.standard_normal(papers)
    tables: dict[str, list[tuple[object, ...]]] = {
        "reviews": [("paper", "reviewer", "score")],
        "conflicts": [("paper", "conflict")],
        "reviewers": [("reviewer", "slope", "offset", "noise", "slope_se", "offset_se", "correlation")],
    }
    for member in range(members):
        unsure = (0.0, 0.0) if known else (0.15, 0.3)
        shown = (slope[member], offset[member], noise, *unsure, 0.0)
        tables["reviewers"].append((f"r{member:05d}", *(f"{value:.4f}" for value in shown)))
    for paper in range(papers):
        drawn = rng.permutation(members)
        for member in drawn[:reviews]:
            score = offset[member] + slope[member] * quality[paper] + noise * rng.standard_normal()
            tables["reviews"].append((f"p{paper:05d}", f"r{member:05d}", int(np.clip(np.rint(score), 1, 10))))
        tables["conflicts"] += [(f"p{paper:05d}", f"r{member:05d}") for member in drawn[-3:]]
    for name, rows in tables.items():
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
    (folder / "conference.toml").write_text(SETTINGS, encoding="utf-8")


def run(source: Path, folder: Path, command: list[str]) -> Used:
    """What a command uses as this checkout runs it."""
    environment = {**installed(folder.parent / f"cache-{source.name}"), "PYTHONPATH": str(source / "src")}
    start, line = time.perf_counter(), [sys.executable, "-c", MEASURED, *command]
    done = subprocess.run(line, cwd=folder, check=True, capture_output=True, env=environment, text=True)
    (own, own_gib), (workers, worker_gib) = json.loads(done.stdout.splitlines()[-1])
    return Used(time.perf_counter() - start, own, workers, own_gib, worker_gib)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--papers", type=int, default=18)
    parser.add_argument("--candidates", type=int, default=110)
    parser.add_argument("--reviews", type=int, default=4)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--known", action="store_true", help="the calibration is known exactly")
    parser.add_argument("--commands", nargs="*", default=list(COMMANDS), choices=list(COMMANDS))
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()
    papers = 180 if options.full else options.papers
    workers = [] if options.workers is None else ["--workers", str(options.workers)]
    print(f"{papers} papers, {options.candidates} candidates, {options.reviews} reviews")
    with tempfile.TemporaryDirectory() as name:
        sources = {"here": HERE} | ({"there": options.against.resolve()} if options.against else {})
        for label in sources:
            folder = Path(name) / label / "conference"
            folder.mkdir(parents=True)
            write(folder, papers, options.candidates + 3, options.reviews, known=options.known)
            bc.make_key(folder.parent / "key.bin")
        for command in options.commands:
            times = {}
            for label, source in sources.items():
                folder = Path(name) / label / "conference"
                run(source, folder, [command, "--help"])
                times[label] = run(source, folder, [*COMMANDS[command], *workers])
                if command == "decide":
                    log = sum(file.stat().st_size for file in (folder.parent / "key.bin.sealed").iterdir())
                    print(f"{label}: {log / 1e6:.2f} MB of private log")
            text = "; ".join(f"{label} {used}" for label, used in times.items())
            faster = times["there"].computing / times["here"].computing if "there" in times else None
            print(f"{command}: {text}" + (f"; {faster:.1f} times faster" if faster else ""), flush=True)


if __name__ == "__main__":
    main()
