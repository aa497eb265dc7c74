"""Reading a million reviews: seconds and peak memory, against the same run's plain csv module and pandas."""

from __future__ import annotations

import csv
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROWS = 1_000_000
WAYS = ("blindcal", "csv", "pandas", "digest")


def make(path: Path, rows: int) -> None:
    rng = random.Random(1)
    with path.open("w") as file:
        file.write("paper,reviewer,score\n")
        for i in range(rows):
            paper, reviewer = i // 4, (i // 4 * 7 + i % 4 * 1_009) % 80_000
            file.write(f"P{paper:06d},R{reviewer:05d},{rng.randint(1, 10)}\n")


def measure(way: str, path: Path) -> None:
    """One way of reading, in a process of its own so that its peak memory is its own."""
    began = time.perf_counter()
    if way == "csv":
        with path.open(newline="") as file:
            rows = len(list(csv.reader(file))) - 1
    elif way == "pandas":
        import pandas

        began = time.perf_counter()
        rows = len(pandas.read_csv(path, dtype={"paper": str, "reviewer": str}))
    else:
        from blindcal.reviews import Reviews

        began = time.perf_counter()
        reviews = Reviews.read(path)
        rows = len(reviews)
        if way == "digest":
            began = time.perf_counter()
            reviews.digest()
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{way:10s} {rows:>9,} rows {seconds:7.2f} s {peak:8.0f} MiB at most")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reviews.csv"
        make(path, ROWS)
        print(f"{ROWS:,} rows, {path.stat().st_size:,} bytes")
        for way in WAYS:
            subprocess.run([sys.executable, __file__, way, str(path)], check=True)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        measure(sys.argv[1], Path(sys.argv[2]))
    else:
        main()
