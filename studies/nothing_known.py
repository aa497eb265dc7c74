"""Calibrating with nothing known about the reviewers: `hierarchical` against simpler methods, in pairs.

    python studies/nothing_known.py [--conferences 400] [--workers N]

The paper's setting: 100 papers, 100 reviewers, 3 reviews a paper, slopes exponential with mean 1, offsets of
variance 0.5; then the same with all slopes equal. Every method sees the same conferences. Writes
docs/numbers/nothing_known.json and the table of docs/evidence/calibrators.md.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np

from blindcal.calibrators.affine_model import hierarchical_quality, offsets_quality
from blindcal.calibrators.results import raw_quality, standardized_quality
from blindcal.checks import Array
from blindcal.compute.parallel import available_cores, parallel_map
from blindcal.simulation.metrics import kendall_tau_distance, messy_middle_error
from blindcal.simulation.population import Population, Slopes, simulate_many
from stated import keep

METHODS = {
    "raw": raw_quality,
    "standardized": standardized_quality,
    "offsets": offsets_quality,
    "hierarchical": hierarchical_quality,
}
NOISES = (0.05, 0.1, 0.25, 0.5, 0.7)
NINETY = 1.6448536
CHUNK = 40


def errors(job: tuple[Slopes, float, int, int]) -> Array:
    """`[conference, k]`: Kendall-tau and messy middle of each method, then the share of papers covered."""
    slopes, noise, chunk, size = job
    population = Population(slopes=slopes, offset=np.sqrt(0.5), noise=noise)
    drawn = simulate_many(
        np.random.default_rng([51, chunk, round(1000 * noise)]), size, 100, 100, 3, population
    )
    found = []
    for method in METHODS.values():
        estimate, error = (part.reshape(size, 100) for part in method(drawn.batch))
        found += [
            kendall_tau_distance(drawn.quality, estimate),
            messy_middle_error(drawn.quality, estimate),
        ]
    found.append((np.abs(estimate - drawn.quality) < NINETY * error).mean(axis=1))
    return np.stack(found, axis=1)


def table(found: dict[float, Array]) -> list[str]:
    lines = [
        "| noise (sd) | " + " | ".join(f"{noise:g}" for noise in found) + " |",
        "|---" * (1 + len(found)) + "|",
    ]
    for index, name in enumerate(METHODS):
        cells = [one[:, 2 * index : 2 * index + 2].mean(axis=0) for one in found.values()]
        shown = (f"{a:.3f} / {b:.3f}".replace("0.", ".") for a, b in cells)
        lines.append(f"| `{name}` | " + " | ".join(shown) + " |")
    covered = (f"{100 * one[:, -1].mean():.1f} %" for one in found.values())
    return [*lines, "| coverage of its 90 % intervals | " + " | ".join(covered) + " |"]


def gains(found: dict[float, Array], other: str) -> list[str]:
    """How much lower the errors of `hierarchical` are, in pairs: mean, and in standard errors."""
    lines = []
    for noise, one in found.items():
        mean, error = _gain(one, other)
        told = ", ".join(f"{m:+.5f} ({m / e:+.1f} standard errors)" for m, e in zip(mean, error, strict=True))
        lines.append(f"{noise:g}: {told}, covered {100 * one[:, -1].mean():.1f} %")
    return lines


def _gain(one: Array, other: str) -> tuple[Array, Array]:
    """Mean and standard error of what `hierarchical` gains on `other`: Kendall-tau, messy middle."""
    at = 2 * list(METHODS).index(other)
    gain = one[:, at : at + 2] - one[:, 6:8]
    return gain.mean(axis=0), gain.std(axis=0, ddof=1) / np.sqrt(len(gain))


def sentences(drawn: dict[float, Array], equal: dict[float, Array]) -> dict[str, list[str]]:
    """The smallest gain where slopes differ, and what is lost on `offsets` where all are equal."""
    mean, error = _gain(drawn[NOISES[-1]], "offsets")
    lost = [_gain(one, "offsets") for one in equal.values()]
    largest = f"{max(-m[0] for m, _ in lost):.5f}".removeprefix("0")
    worst = max(-m[0] / e[0] for m, e in lost)
    return {
        "docs/evidence/calibrators.md": [
            f"is {mean[0] / error[0]:.0f} and {mean[1] / error[1]:.0f} standard errors wide",
            f"is larger by at most {largest} ({worst:.1f} standard errors)",
        ]
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conferences", type=int, default=400)
    parser.add_argument("--workers", type=int, default=available_cores())
    options = parser.parse_args()
    sizes = [min(CHUNK, options.conferences - start) for start in range(0, options.conferences, CHUNK)]
    run = partial(parallel_map, errors, workers=options.workers)
    populations: tuple[Slopes, ...] = ("exponential", "equal")
    by_population = {}
    for slopes in populations:
        jobs = [(slopes, noise, chunk, size) for noise in NOISES for chunk, size in enumerate(sizes)]
        parts = run(jobs)
        by_noise = (parts[i : i + len(sizes)] for i in range(0, len(parts), len(sizes)))
        found = {noise: np.concatenate(part) for noise, part in zip(NOISES, by_noise, strict=True)}
        by_population[slopes] = found
        print(f"slopes {slopes}", *table(found), sep="\n")
        for other in ("raw", "standardized", "offsets"):
            print(f"against {other}, Kendall-tau and messy middle:", *gains(found, other), sep="\n")
    command = f"python studies/nothing_known.py --conferences {options.conferences}"
    tables = {"docs/evidence/calibrators.md": {"nothing known": table(by_population["exponential"])}}
    keep("nothing_known", command, tables, sentences(by_population["exponential"], by_population["equal"]))


if __name__ == "__main__":
    main()
