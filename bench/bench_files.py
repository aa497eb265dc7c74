"""Reading: a million reviews against the csv module and pandas in the same run, and what bad files cost.

Each measurement is a process of its own, so that its peak memory is its own; the imports are counted in the
memory and not in the seconds.
"""

from __future__ import annotations

import csv
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROWS = 1_000_000
MIB = 2**20
HEADER = b"paper,reviewer,score\n"
# The worst that a file within the limit of 64 MiB can hold, for a reader that is not careful.
LARGE: dict[str, Callable[[], bytes]] = {
    "64 MiB of one cell": lambda: HEADER + b"x" * (64 * MIB - 30),
    "64 MiB of commas": lambda: HEADER + b"," * (64 * MIB - 30),
    "64 MiB of quotes": lambda: HEADER + b'"' * (64 * MIB - 30),
    "an open quote before 60 MiB": lambda: HEADER + b'p,"r,1\n' + b"p,r,1 " * (10 * MIB),
    "too many lines": lambda: HEADER + b"\n" * (60 * MIB),
    "a bad byte at the end of 60 MiB": lambda: HEADER + b"p" * (60 * MIB) + b"\xff",
    "NUL at the end of 60 MiB": lambda: HEADER + b"p" * (60 * MIB) + b"\0",
    "a million bad numbers": lambda: HEADER + b"p,r,x\n" * ROWS,
    "a million repeated reviews": lambda: HEADER + b"p,r,1\n" * ROWS,
    "a million cells too few": lambda: HEADER + b"p,r\n" * ROWS,
    "more than 64 MiB": lambda: HEADER + b"p" * (65 * MIB),
}


def make(path: Path, rows: int) -> None:
    rng = random.Random(1)
    with path.open("w") as file:
        file.write("paper,reviewer,score\n")
        for i in range(rows):
            paper, reviewer = i // 4, (i // 4 * 7 + i % 4 * 1_009) % 80_000
            file.write(f"P{paper:06d},R{reviewer:05d},{rng.randint(1, 10)}\n")


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def by_csv(path: Path) -> int:
    with path.open(newline="") as file:
        return len(list(csv.reader(file))) - 1


def by_pandas(path: Path) -> int:
    import pandas

    return len(pandas.read_csv(path, dtype={"paper": str, "reviewer": str}))


def by_blindcal(path: Path) -> int:
    from blindcal.reviews import Reviews

    return len(Reviews.read(path))


def digested(path: Path) -> int:
    from blindcal.reviews import Reviews

    return len(Reviews.read(path).digest())


WAYS = {"csv module": by_csv, "pandas": by_pandas, "blindcal": by_blindcal, "blindcal and digest": digested}


def seconds(work: Callable[[Path], int], path: Path) -> tuple[float, float]:
    """Seconds on the clock and of the processor; on a busy machine only the second can be compared."""
    began, worked = time.perf_counter(), time.process_time()
    work(path)
    return time.perf_counter() - began, time.process_time() - worked


def refusal(path: Path) -> int:
    """Read a bad file; the number of problems told."""
    from blindcal.errors import InputError

    try:
        by_blindcal(path)
    except InputError as error:
        return len(error.problems)
    raise RuntimeError(f"{path} was read")


def measure(way: str, path: Path) -> None:
    import blindcal.reviews  # the import is not part of the time

    if way == "pandas":
        import pandas  # noqa: F401
    work = WAYS.get(way, refusal)
    print(json.dumps([*seconds(work, path), peak(), blindcal.__version__]))


def measured(way: str, path: Path) -> tuple[float, float, float]:
    command = [sys.executable, __file__, way, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    clock, processor, memory, _ = json.loads(done.stdout)
    return clock, processor, memory


def small_families() -> None:
    """20 files of each family of the tests, in this process."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "data"))
    import blindcal.reviews  # noqa: F401
    from bad_files import FAMILIES, good_rows

    clock, processor, files = 0.0, 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        for name, family in FAMILIES.items():
            rng = random.Random(name)
            for _ in range(20):
                path = Path(folder) / "bad.csv"
                path.write_bytes(family(good_rows(rng), rng).data)
                took = seconds(refusal, path)
                clock, processor, files = max(clock, took[0]), max(processor, took[1]), files + 1
    print(f"{files} bad files in {len(FAMILIES)} families: each at most")
    print(f"  {clock:.3f} s on the clock, {processor:.3f} s of the processor, {peak():.0f} MiB")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reviews.csv"
        make(path, ROWS)
        print(f"{ROWS:,} reviews, {path.stat().st_size:,} bytes")
        print(f"  {'':32s}   clock processor")
        base = measured("csv module", path)[1]
        for way in WAYS:
            clock, processor, memory = measured(way, path)
            times = f"{clock:6.2f} s {processor:6.2f} s {processor / base:5.1f} x csv"
            print(f"  {way:32s} {times} {memory:6.0f} MiB")
        print("bad files at the limits")
        for name, content in LARGE.items():
            path.write_bytes(content())
            clock, processor, memory = measured(name, path)
            print(f"  {name:32s} {clock:6.2f} s {processor:6.2f} s {memory:6.0f} MiB")
    small_families()


if __name__ == "__main__":
    if len(sys.argv) == 3:
        measure(sys.argv[1], Path(sys.argv[2]))
    else:
        main()
