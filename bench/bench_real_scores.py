"""Real scores at real size through `blindcal decide` and `verify`: seconds, computing and memory.

    python bench/bench_real_scores.py --scores iclr_2026.csv.gz [--papers 600] [--pool 12] [--grid 1,2,3]
    python bench/bench_real_scores.py --peer ../blindcal-before --papers 60 --reviews 4

Scores of a published conference (columns `paper_id` and `rating`, or `paper` and `score`), the reviewers made
up: a pool of people for each paper, uncertain calibration that spreads as the scores do. Without `--scores`
the scores are simulated. Papers with more reviews than a large pool may have are left out. With `--papers` a
part of the conference is decided, and the time scaled up. With `--peer`, another checkout decides the same
conference by turns, and the ratio of their computing times is shown. `--grid none` takes scores as they are
drawn, `--known` calibration as known exactly. Processes keep their compiled modules, as an installation does.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

import blindcal as bc
from bench_conference import FOLDER, installed
from blindcal.posterior.conference import MOST_REVIEWS

COLUMNS = {"paper": ("paper", "paper_id"), "score": ("score", "rating")}


def scores_of(path: Path) -> list[list[float]]:
    """The scores of each paper."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    paper, score = (next(name for name in names if name in rows[0]) for names in COLUMNS.values())
    found: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        found[row[paper]].append(float(row[score]))
    return list(found.values())


def simulated(papers: int, reviews: int, grid: np.ndarray | None, seed: int) -> list[list[float]]:
    rng = np.random.default_rng(seed)
    middle, spread = (0.0, 1.0) if grid is None else (grid.mean(), np.ptp(grid) / 5)
    latent = middle + spread * (0.6 * rng.normal(size=(papers, 1)) + 0.8 * rng.normal(size=(papers, reviews)))
    if grid is None:
        return latent.round(4).tolist()
    return grid[np.abs(latent[..., None] - grid).argmin(axis=-1)].tolist()


def write(
    folder: Path, papers: list[list[float]], pool: int, people: int, seed: int, *, known: bool = False
) -> None:
    """The three input files: nobody's calibration is that of another, and all are uncertain unless known."""
    rng = np.random.default_rng(seed)
    every = np.concatenate(papers)
    mean, sd = float(every.mean()), float(every.std())
    slope = 0.5 * sd * np.exp(0.3 * rng.normal(size=people))
    offset, noise = (
        mean + 0.35 * sd * rng.normal(size=people),
        0.75 * sd * np.exp(0.2 * rng.normal(size=people)),
    )
    tables: dict[str, list[tuple[object, ...]]] = {
        "reviews": [("paper", "reviewer", "score")],
        "pools": [("paper", "reviewer")],
        "reviewers": [("reviewer", "slope", "offset", "noise", "slope_se", "offset_se")],
    }
    for j in range(people):
        errors = (0.0, 0.0) if known else (0.15 * sd, 0.25 * sd)
        cells = (f"{value:.4f}" for value in (slope[j], offset[j], noise[j], *errors))
        tables["reviewers"].append((f"r{j:05d}", *cells))
    for i, scores in enumerate(papers):
        who = rng.choice(people, max(pool, len(scores)), replace=False)
        tables["pools"] += [(f"p{i:05d}", f"r{j:05d}") for j in who]
        pairs = zip(rng.permutation(who), scores, strict=False)
        tables["reviews"] += [(f"p{i:05d}", f"r{j:05d}", f"{score:g}") for j, score in pairs]
    for name, rows in tables.items():
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)


def timed(folder: Path, *command: str, source: Path | None = None) -> tuple[float, float, float]:
    """Seconds of a command, its seconds of computing, and GiB of the largest process so far; by the package
    in `source` where that is given."""
    environment = installed(folder)
    if source is not None:
        environment["PYTHONPATH"] = str(source)
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "blindcal", *command],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    computing = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, computing, after.ru_maxrss / 2**20


def against_peer(folder: Path, command: tuple[str, ...], peer: Path, times: int) -> None:
    """Both decide the same conference by turns; the ratio of the medians of their computing."""
    sources = {"peer": peer.resolve() / "src", "this": Path(bc.__file__).parents[1]}
    found: dict[str, list[float]] = defaultdict(list)
    for source in sources.values():
        timed(folder, "decide", "--help", source=source)
    for _ in range(times):
        for name, source in sources.items():
            found[name].append(timed(folder, "decide", *command, source=source)[1])
            shutil.rmtree(folder / "out")
            shutil.rmtree(folder / "key.bin.sealed")
    old, new = (float(np.median(found[name])) for name in sources)
    print(f"median computing of {times}: {old:.1f} s before, {new:.1f} s now, {old / new:.1f} times as fast")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scores", type=Path)
    parser.add_argument("--papers", type=int)
    parser.add_argument("--reviews", type=int, default=3, help="simulated scores only")
    parser.add_argument("--pool", type=int, default=12)
    parser.add_argument("--people", type=int, default=8_000)
    parser.add_argument("--grid", default="0,2,4,6,8,10")
    parser.add_argument("--known", action="store_true", help="calibration without uncertainty")
    parser.add_argument("--peer", type=Path, help="another checkout, to decide the same by turns")
    parser.add_argument("--times", type=int, default=3, help="how often each of two checkouts decides")
    parser.add_argument("--options", default="", help="further options of decide, with spaces between them")
    parser.add_argument(
        "--setting", action="append", default=[], help="a line of conference.toml; repeatable"
    )
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rounded = given.grid != "none"
    levels = np.array([float(value) for value in given.grid.split(",")]) if rounded else None
    if given.scores is None:
        papers = simulated(given.papers or 150, given.reviews, levels, given.seed)
    else:
        papers = [scores for scores in scores_of(given.scores) if len(scores) <= MOST_REVIEWS]
    whole = len(papers)
    if given.papers is not None and given.papers < whole:
        some = np.random.default_rng(given.seed).choice(whole, given.papers, replace=False)
        papers = [papers[i] for i in sorted(some)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, papers, given.pool, max(given.people, given.pool), given.seed, known=given.known)
        bc.make_key(folder / "key.bin")
        lines = [FOLDER.format(rate=0.3), f'grid = "{given.grid}"', *given.setting, ""]
        (folder / "conference.toml").write_text("\n".join(lines), encoding="utf-8")
        request = (".", "--despite-misfit", *given.options.split())
        if given.peer is not None:
            against_peer(folder, request, given.peer, given.times)
            return
        for command, options in {"decide": request, "verify": (".",)}.items():
            seconds, computing, gibibytes = timed(folder, command, *options)
            scale = whole / len(papers)
            print(
                f"{command}: {len(papers):,} papers, pools of {given.pool}: {seconds:.1f} s, "
                f"{computing:.1f} s of computing ({1e3 * computing / len(papers):.0f} ms a paper), "
                f"{gibibytes:.2f} GiB a process; {whole:,} papers: {scale * seconds / 60:.1f} minutes"
            )


if __name__ == "__main__":
    main()
