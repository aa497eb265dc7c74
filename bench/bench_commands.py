"""Commands on conferences of several kinds: seconds of the clock and of computing, memory, size of files.

    python bench/bench_commands.py pools --papers 100 --candidates 12 --reviews 3
    python bench/bench_commands.py committee --papers 180 --candidates 110 --reviews 4
    python bench/bench_commands.py scores --scores iclr_2026.csv.gz --papers 600 --candidates 12
    python bench/bench_commands.py this-year --papers 2000

`pools`: candidates of its own for every paper, calibration known exactly. `committee`: everyone without a
conflict is a candidate for every paper. `scores`: those of a published conference (columns `paper_id` and
`rating`, or `paper` and `score`), or simulated ones; the reviewers are made up. Both have scores on a grid
and an estimated calibration that spreads as the scores do, unless `--known`. `this-year`: a conference that
is calibrated on its own reviews, with 2.5 papers a person. Without arguments, a small one of each kind.

Seconds of computing and the most memory are those of the command's own process and of its workers, of which
the largest counts. With `--against`, the folder of another checkout, both run in turn on the same files, and
the ratio of their computing is printed. Processes keep their compiled modules, as an installation does.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import blindcal as bc
from blindcal.io.tables import format_table
from blindcal.posterior.conference import MOST_REVIEWS
from blindcal.simulation.conference import example_files, simulate

HERE = Path(__file__).parents[1]
COMMANDS = ("plan", "decide", "verify", "report")
MORE = {"decide": ["--despite-misfit"], "report": ["--out", "report.html"]}
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

Files = tuple[dict[str, bytes], list[str]]
"""The tables of a conference, and lines for its conference.toml."""


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


# --- the kinds of conferences


def pools(options: argparse.Namespace) -> Files:
    drawn = simulate(options.papers, options.candidates, options.reviews, seed=1)
    return example_files(drawn), ['pools = "pools.csv"']


def committee(options: argparse.Namespace) -> Files:
    """Three conflicts a paper; members differ as those of NIPS 2014 did."""
    rng, members = np.random.default_rng(1), options.candidates + 3
    slope = 1.5 * np.exp(0.2 * rng.standard_normal(members))
    offset = 5.5 + 0.67 * rng.standard_normal(members)
    quality = rng.standard_normal(options.papers)
    drawn = rng.permuted(np.tile(np.arange(members), (options.papers, 1)), axis=1)
    who = drawn[:, : options.reviews]
    score = offset[who] + slope[who] * quality[:, None] + rng.standard_normal(who.shape)
    tables = {
        "reviews": {**pairs(who), "score": np.clip(np.rint(score), 1, 10).ravel()},
        "conflicts": pairs(drawn[:, -3:], "conflict"),
        "reviewers": calibration(slope, offset, np.ones(members), (0.15, 0.3), options),
    }
    return written(tables), ['pools = "conflicts.csv"', 'grid = "1..10"']


def scores(options: argparse.Namespace) -> Files:
    """Papers with more reviews than a large pool may have are left out."""
    rng, grid = np.random.default_rng(1), np.array([float(value) for value in options.grid.split(",")])
    papers = published(options.scores) if options.scores else simulated(options, grid)
    chosen = rng.permutation(len(papers))[: options.papers]
    papers = [papers[i] for i in chosen]
    every, people = np.concatenate(papers), max(options.people, options.candidates)
    mean, sd = float(every.mean()), float(every.std())
    slope, noise = (c * sd * np.exp(s * rng.normal(size=people)) for c, s in ((0.5, 0.3), (0.75, 0.2)))
    offset = mean + 0.35 * sd * rng.normal(size=people)
    pool = [rng.choice(people, max(options.candidates, len(own)), replace=False) for own in papers]
    wrote = [rng.permutation(who)[: len(own)] for who, own in zip(pool, papers, strict=True)]
    tables = {
        "reviews": {**pairs(wrote), "score": every},
        "pools": pairs(pool),
        "reviewers": calibration(slope, offset, noise, (0.15 * sd, 0.25 * sd), options),
    }
    return written(tables), ['pools = "pools.csv"', f'grid = "{options.grid}"']


def this_year(options: argparse.Namespace) -> Files:
    rng, people = np.random.default_rng(1), max(8, round(0.4 * options.papers))
    offset, quality = 1.2 * rng.standard_normal(people), 1.8 * rng.standard_normal(options.papers)
    who = np.array([rng.choice(people, 3, replace=False) for _ in range(options.papers)])
    score = 5.5 + offset[who] + quality[:, None] + 1.2 * rng.standard_normal(who.shape)
    reviews = {**pairs(who), "score": np.clip(np.rint(score), 1, 10).ravel()}
    return written({"reviews": reviews}), ['grid = "1..10"', f"people = {people}"]


KINDS: dict[str, Callable[[argparse.Namespace], Files]] = {
    "pools": pools,
    "committee": committee,
    "scores": scores,
    "this-year": this_year,
}


def pairs(who: Any, column: str = "reviewer") -> dict[str, Any]:
    """The papers and the people of `who[paper]`."""
    paper = [f"p{i:05d}" for i, own in enumerate(who) for _ in own]
    return {"paper": paper, column: [f"r{j:05d}" for own in who for j in own]}


def calibration(slope: Any, offset: Any, noise: Any, errors: Any, options: Any) -> dict[str, Any]:
    """Reviewers with their calibration, uncertain by these errors of slope and offset unless it is known."""
    known = {"slope": slope.round(4), "offset": offset.round(4), "noise": noise.round(4)}
    if not options.known:
        known |= {f"{name}_se": np.full(slope.size, e) for name, e in zip(known, errors, strict=False)}
    return {"reviewer": [f"r{j:05d}" for j in range(slope.size)], **known}


def written(tables: dict[str, dict[str, Any]]) -> dict[str, bytes]:
    return {
        f"{name}.csv": format_table({column: list(values) for column, values in table.items()})
        for name, table in tables.items()
    }


def published(path: Path) -> list[list[float]]:
    """The scores of each paper."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    found: dict[str, list[float]] = defaultdict(list)
    for row in csv.DictReader(io.StringIO(text)):
        found[row.get("paper") or row["paper_id"]].append(float(row.get("score") or row["rating"]))
    return [own for own in found.values() if len(own) <= MOST_REVIEWS]


def simulated(options: argparse.Namespace, grid: Any) -> list[list[float]]:
    rng = np.random.default_rng(2)
    parts = [rng.normal(size=(options.papers, columns)) for columns in (1, options.reviews)]
    latent = grid.mean() + np.ptp(grid) / 5 * (0.6 * parts[0] + 0.8 * parts[1])
    return grid[np.abs(latent[..., None] - grid).argmin(axis=-1)].tolist()


# --- commands


def prepared(folder: Path, files: Files) -> None:
    """A conference's folder, with a new key beside it."""
    folder.mkdir(parents=True)
    tables, settings = files
    for name, data in tables.items():
        (folder / name).write_bytes(data)
    lines = [f'{Path(name).stem} = "{name}"' for name in tables if name in ("reviews.csv", "reviewers.csv")]
    lines += [*settings, "accept-rate = 0.25", 'scores = "public"', 'key = "../key.bin"', 'out = "out"', ""]
    (folder / "conference.toml").write_text("\n".join(lines), encoding="utf-8")
    bc.make_key(folder.parent / "key.bin")


def run(source: Path, folder: Path, command: str, *more: str) -> Used:
    """What a command uses as this checkout runs it, after its modules have been compiled."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = {**kept, "PYTHONPYCACHEPREFIX": f"{folder.parent}/compiled", "PYTHONPATH": f"{source}/src"}
    for words in ([command, "--help"], [command, ".", *MORE.get(command, ()), *more]):
        start, line = time.perf_counter(), [sys.executable, "-c", MEASURED, *words]
        done = subprocess.run(line, cwd=folder, check=True, capture_output=True, env=environment, text=True)
    (own, own_gib), (workers, worker_gib) = json.loads(done.stdout.splitlines()[-1])
    return Used(time.perf_counter() - start, own, workers, own_gib, worker_gib)


def measure(kind: str, options: argparse.Namespace) -> None:
    print(f"{kind}: {options.papers:,} papers, {options.candidates} candidates, {options.reviews} reviews")
    workers = [] if options.workers is None else ["--workers", str(options.workers)]
    sources = {"here": HERE} | ({"there": options.against.resolve()} if options.against else {})
    with tempfile.TemporaryDirectory() as name:
        files = KINDS[kind](options)
        for label in sources:
            prepared(Path(name) / label / "conference", files)
        for command in options.commands:
            used = {
                label: run(source, Path(name) / label / "conference", command, *workers)
                for label, source in sources.items()
            }
            text = "; ".join(f"{label} {one}" for label, one in used.items())
            faster = used["there"].computing / used["here"].computing if "there" in used else None
            print(f"  {command}: {text}" + (f"; {faster:.1f} times faster" if faster else ""), flush=True)
        home = Path(name) / "here"
        log = sum(file.stat().st_size for file in (home / "key.bin.sealed").glob("*"))
        pages = [f"{path.name} {path.stat().st_size / 1e6:.2f} MB" for path in home.glob("*/*.html")]
        print(f"  private log {log / 1e6:.2f} MB", *pages, sep="; ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    for name, default in (("papers", 18), ("candidates", 12), ("reviews", 3), ("people", 8000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--scores", type=Path, help="of a published conference")
    parser.add_argument("--grid", default="0,2,4,6,8,10", help="of kind `scores`")
    parser.add_argument("--known", action="store_true", help="the calibration is known exactly")
    parser.add_argument("--against", type=Path)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--commands", nargs="*", default=list(COMMANDS), choices=COMMANDS)
    options = parser.parse_args()
    for kind in options.kinds or KINDS:
        measure(kind, options)


if __name__ == "__main__":
    main()
