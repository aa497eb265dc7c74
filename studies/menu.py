"""The menu: how much of calibration's benefit each guarantee keeps, with standard errors.

    python studies/menu.py [--papers 1500] [--workers N]

Every paper has a pool of candidates, drawn from a crowd so large that pools hardly overlap; three of them
wrote its reviews. The bar is the upper quartile of quality. Errors are expectations over each paper's public
belief, so the tables are exact and only the papers are sampled. Writes docs/numbers/menu.json and the tables
of docs/evidence/guarantees.md.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import ndtr, ndtri

from blindcal.checks import Array
from blindcal.compute.parallel import available_cores, parallel_map
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.solver import solve
from blindcal.posterior.paper import PaperCase
from blindcal.simulation.conference import simulate
from blindcal.simulation.population import Population, nips_2014_population, prototype_population
from stated import keep

BAR = float(ndtri(0.75))
REVIEWS = 3
REGIMES = {"prototype": prototype_population(), "NIPS 2014": nips_2014_population()}
FULL = Guarantee("none", epsilon=None)
MENU = {
    "public": Guarantee("public", epsilon=None),
    "steady and epsilon 1": Guarantee("steady", epsilon=1.0),
    "steady and epsilon 2": Guarantee("steady", epsilon=2.0),
    "steady and epsilon 3": Guarantee("steady", epsilon=3.0),
    "steady": Guarantee("steady", epsilon=None),
    "average and epsilon 1": Guarantee("average", epsilon=1.0),
    "average and epsilon 2": Guarantee("average", epsilon=2.0),
    "average and epsilon 3": Guarantee("average", epsilon=3.0),
    "average": Guarantee("average", epsilon=None),
    "epsilon 1 alone": Guarantee("none", epsilon=1.0),
    "epsilon 2 alone": Guarantee("none", epsilon=2.0),
    "epsilon 3 alone": Guarantee("none", epsilon=3.0),
    "full calibration": FULL,
}
HEADLINE = ("public", "steady", "average", "full calibration")


@dataclass(frozen=True, eq=False)
class Sample:
    """`wrong[paper, guarantee]` (raw first), `success[paper, guarantee]` (from the scores alone first)."""

    wrong: Array
    success: Array


def cases(population: Population, papers: int, pool: int, seed: int) -> list[PaperCase]:
    """Papers whose pools hardly overlap, so that they are as good as independent."""
    rng = np.random.default_rng(seed)
    return simulate(papers, pool, REVIEWS, population, reviewers=40 * papers, seed=rng).cases(BAR)


def solve_all(case: PaperCase, guarantees: tuple[Guarantee, ...]) -> tuple[list[float], list[float]]:
    """Expected wrong decisions and success of one paper: raw, then each guarantee."""
    belief = case.belief
    right = float(belief.weight @ belief.favor)
    raw = 1 - right if np.mean(case.scores) > BAR else right
    scores_only = np.mean([np.bincount(slot, belief.weight).max() for slot in case.tuples.T])
    solved = [solve(case, guarantee) for guarantee in guarantees]
    return [raw, *(one.error for one in solved)], [float(scores_only), *(one.success for one in solved)]


def compute(
    population: Population, papers: int, pool: int, names: tuple[str, ...], workers: int, seed: int
) -> Sample:
    run = partial(solve_all, guarantees=tuple(MENU[name] for name in names))
    found = parallel_map(run, cases(population, papers, pool, seed), workers=workers)
    wrong, success = (np.array(part) for part in zip(*found, strict=True))
    return Sample(wrong, success)


def simulated(population: Population, papers: int, seed: int) -> dict[str, tuple[float, float]]:
    """Raw and full calibration alone need no pools: played with true qualities, mean and standard error."""
    rng = np.random.default_rng(seed)
    quality = rng.standard_normal(papers)
    slope, offset, noise = population.parameters(rng, (papers, REVIEWS))
    score = population.scores(rng, quality[:, None], slope, offset, noise)
    precision = 1 + (slope**2 / noise**2).sum(axis=1)
    mean = (slope * (score - offset) / noise**2).sum(axis=1) / precision
    wrong = {
        "raw": (score.mean(axis=1) > BAR) != (quality > BAR),
        "full calibration": ndtr(-np.abs(mean - BAR) * np.sqrt(precision)),
    }
    return {name: (float(one.mean()), float(one.std() / np.sqrt(papers))) for name, one in wrong.items()}


def kept(wrong: Array, column: int) -> tuple[float, float]:
    """Share of full calibration's benefit over raw that is kept, and its standard error (delta method)."""
    benefit, whole = wrong[:, 0] - wrong[:, column], wrong[:, 0] - wrong[:, -1]
    share = float(benefit.mean() / whole.mean())
    error = float(np.std(benefit - share * whole) / whole.mean() / np.sqrt(len(wrong)))
    return share, error


def headline_table(sample: Sample, played: dict[str, tuple[float, float]]) -> list[str]:
    names = ("raw", *HEADLINE)
    lines = ["| | wrong decisions | chance of naming a reviewer |", "|---|---|---|"]
    for column, name in enumerate(names):
        mean, error = (100 * part for part in _mean(sample.wrong[:, column]))
        wrong = f"{mean:.1f} ± {error:.1f} %"
        if name in played:
            wrong += f" (played: {100 * played[name][0]:.2f} ± {100 * played[name][1]:.2f} %)"
        success, spread = (100 * part for part in _mean(sample.success[:, column]))
        lines.append(f"| {name} | {wrong} | {success:.1f} ± {spread:.1f} % |")
    return lines


def _mean(values: Array) -> tuple[float, float]:
    return float(values.mean()), float(values.std() / np.sqrt(values.size))


def menu_table(samples: dict[str, Sample]) -> list[str]:
    lines = ["| guarantee | " + " | ".join(samples) + " |", "|---" * (1 + len(samples)) + "|"]
    for column, name in enumerate(MENU, start=1):
        cells = [kept(sample.wrong, column) for sample in samples.values()]
        lines.append(f"| {name} | " + " | ".join(f"{100 * a:.0f} ± {100 * b:.0f} %" for a, b in cells) + " |")
    lines += [
        "| *wrong decisions, raw* | " + " | ".join(_percent(s.wrong[:, 0]) for s in samples.values()) + " |",
        "| *fully calibrated* | " + " | ".join(_percent(s.wrong[:, -1]) for s in samples.values()) + " |",
    ]
    return lines


def _percent(values: Array) -> str:
    mean, error = _mean(values)
    return f"{100 * mean:.1f} ± {100 * error:.1f} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--papers", type=int, default=1500)
    parser.add_argument("--workers", type=int, default=available_cores())
    options = parser.parse_args()
    samples = {
        name: compute(population, options.papers, 10, tuple(MENU), options.workers, seed=1)
        for name, population in REGIMES.items()
    }
    headline = compute(prototype_population(), 2 * options.papers, 12, HEADLINE, options.workers, seed=2)
    played = simulated(prototype_population(), 4_000_000, seed=3)
    tables = {"menu": menu_table(samples), "headline": headline_table(headline, played)}
    for lines in tables.values():
        print("\n".join(lines), end="\n\n")
    pages = {"docs/evidence/guarantees.md": tables}
    keep("menu", f"python studies/menu.py --papers {options.papers}", pages, {})


if __name__ == "__main__":
    main()
