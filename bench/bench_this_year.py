"""A conference that is calibrated on its own reviews: each command's seconds and memory, and the page's size.

    python bench/bench_this_year.py [--papers 180 2000 20000] [--commands plan decide verify report]

Three whole scores from 1 to 10 of a paper, seven or eight reviews a person on average, confidential scores.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from pathlib import Path

import numpy as np

import blindcal as bc
from bench_committee import COMMANDS, HERE, run

SETTINGS = """\
reviews = "reviews.csv"
grid = "1..10"
accept-rate = 0.25
people = {people}
scores = "confidential"
key = "../key.bin"
out = "out"
"""


def write(folder: Path, papers: int, people: int, seed: int = 1) -> None:
    """A folder with nothing but scores and the number of people."""
    rng = np.random.default_rng(seed)
    offset, quality = 1.2 * rng.standard_normal(people), 1.8 * rng.standard_normal(papers)
    with (folder / "reviews.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("paper", "reviewer", "score"))
        for paper in range(papers):
            for who in rng.choice(people, 3, replace=False):
                score = 5.5 + offset[who] + quality[paper] + 1.2 * rng.standard_normal()
                rows.writerow((f"p{paper}", f"r{who}", int(np.clip(np.rint(score), 1, 10))))
    (folder / "conference.toml").write_text(SETTINGS.format(people=people), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--papers", type=int, nargs="*", default=[180, 2000, 20000])
    names = ("plan", "decide", "verify", "report")
    parser.add_argument("--commands", nargs="*", default=list(names), choices=names)
    options = parser.parse_args()
    for papers in options.papers:
        people = max(8, round(papers * 0.4))
        with tempfile.TemporaryDirectory() as name:
            folder, total = Path(name) / "conference", 0.0
            folder.mkdir()
            write(folder, papers, people)
            bc.make_key(folder.parent / "key.bin")
            print(f"{papers:,} papers, {people:,} people, {3 * papers:,} reviews", flush=True)
            for command in options.commands:
                used = run(HERE, folder, COMMANDS[command])
                total += used.computing
                print(f"  {command}: {used}", flush=True)
            sizes = [f"{path.name} {path.stat().st_size / 1e6:.2f} MB" for path in folder.glob("*.html")]
            log = sum(file.stat().st_size for file in (folder.parent / "key.bin.sealed").glob("*"))
            print(f"  together {total:.1f} s of computing; private log {log / 1e6:.2f} MB", *sizes, sep="; ")


if __name__ == "__main__":
    main()
