"""Conferences whose pools are the whole committee: each command's seconds, of the clock and of computing.

    python bench/bench_committee.py [--against FOLDER] [--papers N] [--members N] [--reviews N] [--full]

Everyone without a conflict is a candidate for every paper, scores are rounded and the calibration is an
estimate. With `--against`, the folder of another checkout, both are run in turn on the same files and the
ratio is printed. By default 18 papers; `--full` runs 180 papers, as an ordinary conference has.
"""

from __future__ import annotations

import argparse
import csv
import resource
import shutil
import subprocess
import sys
import tempfile
import time
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


def run(source: Path, folder: Path, command: list[str]) -> tuple[float, float]:
    """Seconds of a command as this checkout runs it, and its seconds of computing."""
    environment = {**installed(folder.parent / f"cache-{source.name}"), "PYTHONPATH": str(source / "src")}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    line = [sys.executable, "-m", "blindcal", *command]
    subprocess.run(line, cwd=folder, check=True, capture_output=True, env=environment)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--papers", type=int, default=18)
    parser.add_argument("--members", type=int, default=110)
    parser.add_argument("--reviews", type=int, default=4)
    parser.add_argument("--known", action="store_true", help="the calibration is known exactly")
    parser.add_argument("--commands", nargs="*", default=list(COMMANDS), choices=list(COMMANDS))
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()
    papers = 180 if options.full else options.papers
    print(f"{papers} papers, {options.members} members, {options.reviews} reviews")
    with tempfile.TemporaryDirectory() as name:
        sources = {"here": HERE} | ({"there": options.against.resolve()} if options.against else {})
        for label in sources:
            folder = Path(name) / label / "conference"
            folder.mkdir(parents=True)
            write(folder, papers, options.members, options.reviews, known=options.known)
            bc.make_key(folder.parent / "key.bin")
        for command in options.commands:
            times = {}
            for label, source in sources.items():
                folder = Path(name) / label / "conference"
                run(source, folder, [command, "--help"])
                times[label] = run(source, folder, COMMANDS[command])
            text = "; ".join(f"{label} {s:.1f} s ({c:.1f} s of computing)" for label, (s, c) in times.items())
            ratio = f"; {times['there'][1] / times['here'][1]:.1f} times faster" if "there" in times else ""
            print(f"{command}: {text}{ratio}", flush=True)
        largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
        print(f"{largest:.2f} GiB in the largest process")
        shutil.rmtree(Path(name) / "here")


if __name__ == "__main__":
    main()
