"""The menu: how much of calibration's benefit each guarantee keeps, with standard errors.

    python studies/menu.py [--papers 1500] [--large 60] [--workers N]

Every paper has a pool of candidates, drawn from a crowd so large that pools hardly overlap; three of them
wrote its reviews. The bar is the upper quartile of quality. Errors are expectations over each paper's public
belief, so the tables are exact and only the papers are sampled. Last, what is lost where tuples of reviewers
share accept probabilities: `--large` papers with large pools are solved with an accept probability for every
tuple, and summed up as pools of hundreds are. Writes docs/numbers/menu.json and the tables of
docs/evidence/guarantees.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import ndtr, ndtri

from blindcal.checks import Array
from blindcal.compute.parallel import parallel_map
from blindcal.planning.expected_errors import expected_figures, success_by_slot
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.solver import solve
from blindcal.posterior.paper import PaperCase
from blindcal.simulation.conference import simulate
from blindcal.simulation.population import Population, nips_2014_population, prototype_population
from stated import asked, guarantees, keep, table

BAR = float(ndtri(0.75))
REVIEWS = 3
REGIMES = {"prototype": prototype_population(), "NIPS 2014": nips_2014_population()}
MENU = guarantees(
    "public; steady and epsilon 1; steady and epsilon 2; steady and epsilon 3; steady; "
    "average and epsilon 1; average and epsilon 2; average and epsilon 3; average; epsilon 1 alone; "
    "epsilon 2 alone; epsilon 3 alone; full calibration"
)
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
    rows = []
    for column, name in enumerate(("raw", *HEADLINE)):
        wrong = _percent(sample.wrong[:, column])
        if name in played:
            wrong += " (played: {:.2f} ± {:.2f} %)".format(*(100 * part for part in played[name]))
        rows.append([name, wrong, _percent(sample.success[:, column])])
    return table(["", "wrong decisions", "chance of naming a reviewer"], *rows)


def menu_table(samples: dict[str, Sample]) -> list[str]:
    rows = []
    for column, name in enumerate(MENU, start=1):
        cells = [kept(sample.wrong, column) for sample in samples.values()]
        rows.append([name, *(f"{100 * share:.0f} ± {100 * error:.0f} %" for share, error in cells)])
    for name, column in (("*wrong decisions, raw*", 0), ("*fully calibrated*", -1)):
        rows.append([name, *(_percent(sample.wrong[:, column]) for sample in samples.values())])
    return table(["guarantee", *samples], *rows)


def _percent(values: Array) -> str:
    return f"{100 * values.mean():.1f} ± {100 * values.std() / np.sqrt(values.size):.1f} %"


# --- large pools

LARGE = {
    "steady, epsilon 2": MENU["steady and epsilon 2"],
    "steady": MENU["steady"],
    "average": MENU["average"],
}
# Sizes of pools, and whether all their tuples can be listed.
POOLS = {20: True, 40: True, 60: True, 200: False, 800: False}


def measured(case: PaperCase, listed: bool) -> list[float]:
    """Naming the reviewer; wrong decisions: public and full; then error and gap of each guarantee."""
    case = replace(case, most_listed=2_000_000 if listed else 0)
    belief = case.belief
    named = float(success_by_slot(belief, np.ones_like(belief.weight)).mean())
    solutions = [solve(case.promised(guarantee.promise), guarantee) for guarantee in LARGE.values()]
    entries = belief.weight.size if belief.entry is None else int(belief.entry.max()) + 1
    plain = expected_figures(belief, np.zeros(entries), raw_accept=False, sample=case.sample)
    solved = [number for one in solutions for number in (one.error, one.error - one.bound)]
    return [named, plain.wrong_public, plain.wrong_fully_calibrated, *solved]


def pools_table(papers: int, workers: int) -> list[str]:
    rows = []
    for pool, enumerable in POOLS.items():
        drawn = cases(prototype_population(), papers, pool, seed=4)
        exact, shared = (
            100 * np.mean(parallel_map(partial(measured, listed=listed), drawn, workers=workers), axis=0)
            if enumerable or not listed
            else None
            for listed in (True, False)
        )
        named, public, full, *errors = shared
        best = [""] * len(LARGE) if exact is None else [f"{error:.2f}, " for error in exact[3::2]]
        solved = zip(best, errors[::2], errors[1::2], strict=True)
        cells = [f"{optimum}{error:.2f} (≤ {gap:.2f})" for optimum, error, gap in solved]
        rows.append([f"{pool}", f"{named:.1f} %", f"{public:.1f} %", *cells, f"{full:.1f} %"])
    return table(["pool", "reviewer named", "public", *LARGE, "full"], *rows)


def main() -> None:
    options = asked("menu", __doc__, papers=1500, large=60)
    samples = {
        name: compute(population, options.papers, 10, tuple(MENU), options.workers, seed=1)
        for name, population in REGIMES.items()
    }
    headline = compute(prototype_population(), 2 * options.papers, 12, HEADLINE, options.workers, seed=2)
    played = simulated(prototype_population(), 4_000_000, seed=3)
    tables = {"menu": menu_table(samples), "headline": headline_table(headline, played)}
    tables["pools"] = pools_table(options.large, options.workers)
    keep(options, {"docs/evidence/guarantees.md": tables})


if __name__ == "__main__":
    main()
