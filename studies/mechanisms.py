"""The benchmark of mechanisms: ours and simple ones on every instance.

    python studies/mechanisms.py

Writes docs/numbers/mechanisms.json, the tables of docs/research/benchmark.md, and the results of every
mechanism on every instance as docs/research/benchmark.csv, which others can extend.
"""

from __future__ import annotations

import csv
import io
from dataclasses import asdict

from blindcal.benchmark import MECHANISMS, SEQUENCES, BenchmarkScore, run
from stated import DOCS, PUBLISHED, asked, keep, table

HEAD = ["mechanism", "baseline", "coupled", "added", "wrong", "wasted", "rise", "epsilon"]
SHOWN = {
    "pair with noise": "pair",
    "papers, pools of 40": "papers",
    "matching of 3": "matching",
    "two reviews each, 4 papers": "two reviews",
    "conference": "conference",
}


def row(score: BenchmarkScore) -> list[str]:
    percents = (score.baseline, score.coupled, score.added, score.error, score.wasted)
    shown = ["-" if value != value else f"{100 * max(value, 0.0):.2f} %" for value in percents]
    return [score.mechanism, *shown, f"{score.rise:.3f}", f"{score.epsilon:.2f}"]


def tables(scores: list[BenchmarkScore]) -> dict[str, list[str]]:
    return {
        mark: table(HEAD, *(row(score) for score in scores if score.instance == name))
        for name, mark in SHOWN.items()
    }


def results(scores: list[BenchmarkScore]) -> str:
    """All of it as CSV, rounded to nine decimals, to which programs are solved."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(asdict(scores[0])), lineterminator="\n")
    writer.writeheader()
    for score in scores:
        numbers = {
            key: f"{value:.9f}" if isinstance(value, float) else value for key, value in asdict(score).items()
        }
        writer.writerow(numbers)
    return text.getvalue()


def sentences(scores: list[BenchmarkScore]) -> dict[str, list[str]]:
    """What all decisions of a matching add to a promise about each paper, and to none."""
    added = {
        score.mechanism: f"{100 * score.coupled:.2f}" for score in scores if score.instance == "matching of 3"
    }
    average, full = added["average"], added["full calibration"]
    return {
        "docs/research/benchmark.md": [
            f"All three together name {average} percentage points more",
            f"Full calibration, which promises nothing, adds {full} here",
        ],
        "docs/explanation/limitations.md": [
            f"adds {average} percentage points by all decisions together, full calibration {full}"
        ],
    }


def compute() -> list[BenchmarkScore]:
    return run({**MECHANISMS, **SEQUENCES})


if __name__ == "__main__":
    options, found = asked("mechanisms", __doc__), compute()
    folder = DOCS / "research" if DOCS == PUBLISHED else DOCS
    (folder / "benchmark.csv").write_text(results(found), encoding="utf-8")
    keep(options, {"docs/research/benchmark.md": tables(found)}, sentences(found))
