"""What accepting exactly so many papers costs: wrong decisions with and without, paper by paper.

    python studies/quotas.py [--conferences 24] [--workers N]

Conferences of 200 papers with pools of 12 and 3 reviews each, of which 50 are accepted. Without a number,
papers are decided one by one, with the bar at the upper quarter; with it, the best 50 by P(right to accept |
scores, private decision). All figures are expectations over the public belief of a conference, computed and
not played: only the conferences are sampled. Writes docs/numbers/quotas.json and a table.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from blindcal.checks import Array
from blindcal.compute.parallel import available_cores, parallel_map
from blindcal.planning.conference_plan import plan_conference
from blindcal.planning.ranking_and_wait_list import acceptance_probabilities, both_ranks, listed_figures
from blindcal.planning.request import WHOLE
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.conference import Conference, assemble
from blindcal.simulation.conference import simulate
from blindcal.simulation.population import Population, nips_2014_population, prototype_population
from stated import keep

PAPERS, ACCEPTED, POOL, REVIEWS = 200, 50, 12, 3
REGIMES = {"prototype": prototype_population(), "NIPS 2014": nips_2014_population()}
GUARANTEES = {
    "steady and epsilon 2": Guarantee("steady", epsilon=2.0),
    "average": Guarantee("average", epsilon=None),
}


@dataclass(frozen=True)
class Cost:
    """Of one conference: wrong decisions one by one and on the list, how many one by one accepts (mean and
    standard deviation), and how many papers the list decides otherwise."""

    alone: float
    listed: float
    accepted: float
    spread: float
    changed: float


def conference(population: Population, seed: int) -> Conference:
    drawn = simulate(PAPERS, POOL, REVIEWS, population, seed=seed)
    return assemble(drawn.cases(0.0), ACCEPTED / PAPERS, None)


def cost(job: tuple[str, str, int]) -> Cost:
    """One conference under one guarantee."""
    regime, name, seed = job
    found = conference(REGIMES[regime], seed)
    plans = plan_conference(found, GUARANTEES[name])
    figures = [one.figures for one in plans]
    ranks = [both_ranks(case.paper, case.scores, one) for case, one in zip(found.cases, figures, strict=True)]
    listed = listed_figures(figures, ranks, [WHOLE] * PAPERS, {WHOLE: ACCEPTED})
    accept = np.array([one.standings[1].chance for one in figures if one.standings is not None])
    passed = acceptance_probabilities(ranks, accept.tolist(), ACCEPTED)
    return Cost(
        alone=float(np.mean([one.wrong for one in figures])),
        listed=float(np.mean([one.wrong for one in listed])),
        accepted=float(accept.sum()),
        spread=float(np.sqrt((accept * (1 - accept)).sum())),
        changed=float((accept * (1 - passed[:, 1]) + (1 - accept) * passed[:, 0]).sum()),
    )


def _points(values: Array, digits: int = 2) -> str:
    error = values.std(ddof=1) / np.sqrt(values.size)
    return f"{100 * values.mean():.{digits}f} ± {100 * error:.{digits}f}"


def row(regime: str, name: str, costs: list[Cost]) -> str:
    alone, listed = (np.array([getattr(one, part) for one in costs]) for part in ("alone", "listed"))
    accepted, spread, changed = (
        float(np.mean([getattr(one, part) for one in costs])) for part in ("accepted", "spread", "changed")
    )
    cells = [
        f"{regime}, {name}",
        f"{_points(alone)} %",
        f"{_points(listed)} %",
        f"{_points(listed - alone)}",
        f"{accepted:.1f} ± {spread:.1f}",
        f"{changed:.1f}",
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conferences", type=int, default=24)
    parser.add_argument("--workers", type=int, default=available_cores())
    options = parser.parse_args()
    header = (
        "one by one",
        "exactly 50",
        "cost, percentage points",
        "accepted one by one (mean ± sd)",
        "papers changed",
    )
    lines = ["| | " + " | ".join(header) + " |", "|---" * (1 + len(header)) + "|"]
    for regime in REGIMES:
        for name in GUARANTEES:
            jobs = [(regime, name, seed) for seed in range(options.conferences)]
            lines.append(row(regime, name, parallel_map(cost, jobs, workers=options.workers)))
            print(lines[-1], flush=True)
    command = f"python studies/quotas.py --conferences {options.conferences}"
    keep("quotas", command, {"docs/evidence/guarantees.md": {"quotas": lines}}, {})


if __name__ == "__main__":
    main()
