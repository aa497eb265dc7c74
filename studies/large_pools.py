"""Large pools: what is lost where tuples of reviewers share accept probabilities.

    python studies/large_pools.py [--papers 60] [--workers N]

The prototype's reviewers, 3 reviews a paper, bar at the upper quartile. Pools of 20, 40 and 60 are solved
twice: with an accept probability for every tuple, and summed up as pools of hundreds are. Writes
docs/numbers/large_pools.json and a table of docs/evidence/guarantees.md.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial

import numpy as np

from blindcal.checks import Array
from blindcal.compute.parallel import available_cores, parallel_map
from blindcal.planning.expected_errors import expected_figures, success_by_slot
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.solver import solve
from blindcal.posterior.paper import PaperCase
from blindcal.simulation.population import prototype_population
from menu import cases
from stated import keep

GUARANTEES = {
    "steady, epsilon 2": Guarantee("steady", epsilon=2.0),
    "steady": Guarantee("steady", epsilon=None),
    "average": Guarantee("average", epsilon=None),
}
POOLS = {20: True, 40: True, 60: True, 200: False, 800: False}


def measured(case: PaperCase, listed: bool) -> list[float]:
    """Naming the reviewer; wrong decisions: public and full; then error and gap of each guarantee."""
    case = replace(case, most_listed=2_000_000 if listed else 0)
    belief = case.belief
    named = float(success_by_slot(belief, np.ones_like(belief.weight)).mean())
    found = [solve(case.promised(guarantee.promise), guarantee) for guarantee in GUARANTEES.values()]
    entries = belief.weight.size if belief.entry is None else int(belief.entry.max()) + 1
    plain = expected_figures(belief, np.zeros(entries), raw_accept=False, sample=case.sample)
    solved = [number for one in found for number in (one.error, one.error - one.bound)]
    return [named, plain.wrong_public, plain.wrong_fully_calibrated, *solved]


def row(pool: int, exact: Array | None, shared: Array) -> str:
    named, public, full, *_ = 100 * shared
    cells = [f"{pool}", f"{named:.1f} %", f"{public:.1f} %"]
    for index in range(len(GUARANTEES)):
        wrong, gap = 100 * shared[3 + 2 * index], 100 * shared[4 + 2 * index]
        best = "" if exact is None else f"{100 * exact[3 + 2 * index]:.2f}, "
        cells.append(f"{best}{wrong:.2f} (≤ {gap:.2f})")
    return "| " + " | ".join([*cells, f"{full:.1f} %"]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--papers", type=int, default=60)
    parser.add_argument("--workers", type=int, default=available_cores())
    options = parser.parse_args()
    lines = [
        "| pool | reviewer named | public | " + " | ".join(GUARANTEES) + " | full |",
        "|---" * (4 + len(GUARANTEES)) + "|",
    ]
    for pool, enumerable in POOLS.items():
        papers = cases(prototype_population(), options.papers, pool, seed=4)
        exact, shared = (
            np.mean(parallel_map(partial(measured, listed=listed), papers, workers=options.workers), axis=0)
            if enumerable or not listed
            else None
            for listed in (True, False)
        )
        lines.append(row(pool, exact, shared))
        print(lines[-1], flush=True)
    command = f"python studies/large_pools.py --papers {options.papers}"
    keep("large_pools", command, {"docs/evidence/guarantees.md": {"pools": lines}}, {})


if __name__ == "__main__":
    main()
