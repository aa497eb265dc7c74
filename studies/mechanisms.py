"""The benchmark of mechanisms: ours and simple ones on every instance.

    python studies/mechanisms.py

Writes docs/numbers/mechanisms.json and the tables of docs/research/benchmark.md.
"""

from __future__ import annotations

from blindcal.benchmark import INSTANCES, MECHANISMS, BenchmarkScore, run
from stated import keep

HEAD = ["mechanism", "wrong", "wasted", "added", "hinted", "coupled", "rise", "epsilon"]
SHOWN = {
    "pair with noise": "pair",
    "papers, pools of 8": "papers",
    "matching of 4": "matching",
    "conference": "conference",
}


def table(scores: list[BenchmarkScore]) -> list[str]:
    lines = [HEAD, ["---"] * len(HEAD), *(row(one) for one in scores)]
    return ["| " + " | ".join(line) + " |" for line in lines]


def row(one: BenchmarkScore) -> list[str]:
    percents = (one.error, one.wasted, one.added, one.hinted, one.coupled)
    shown = ["-" if value != value else f"{100 * max(value, 0.0):.2f} %" for value in percents]
    return [one.mechanism, *shown, f"{one.rise:.3f}", f"{one.epsilon:.2f}"]


def compute(names: tuple[str, ...] = INSTANCES) -> dict[str, list[BenchmarkScore]]:
    return {name: run(MECHANISMS, [name]) for name in names}


def tables(found: dict[str, list[BenchmarkScore]]) -> dict[str, list[str]]:
    return {SHOWN[name]: table(scores) for name, scores in found.items() if name in SHOWN}


if __name__ == "__main__":
    made = tables(compute(tuple(SHOWN)))
    for name, lines in made.items():
        print(name, *lines, sep="\n")
    keep("mechanisms", "python studies/mechanisms.py", {"docs/research/benchmark.md": made}, {})
