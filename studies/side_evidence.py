"""What `average` leaves open: single outcomes that tell, and an adversary with evidence of its own.

    python studies/side_evidence.py [--papers 400] [--workers N]

Papers as in studies/menu.py (the prototype's reviewers, pools of 12, 3 reviews). For every review and
outcome: by how much the top posterior rises; and what a decision adds for somebody who also has a hint about
the reviewer, right half of the time and otherwise anybody else of the pool. All numbers are
expectations over each paper's public belief. Writes docs/numbers/side_evidence.json.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np

from blindcal.checks import Array
from blindcal.compute.parallel import available_cores, parallel_map
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.solver import solve
from blindcal.posterior.belief import Belief
from blindcal.posterior.paper import PaperCase
from blindcal.simulation.population import prototype_population
from menu import cases
from stated import keep

GUARANTEES = {
    "average": Guarantee("average", epsilon=None),
    "average, epsilon 2": Guarantee("average", epsilon=2.0),
    "steady, epsilon 2": Guarantee("steady", epsilon=2.0),
    "full calibration": Guarantee("none", epsilon=None),
}
POOL, HINT, RISE = 12, 0.5, 0.1


def masses(belief: Belief, accept: Array, pool: int) -> Array:
    """`[outcome, slot, candidate]`: P(outcome and this candidate wrote this review | scores)."""
    if belief.labels is None:
        raise ValueError("a paper's belief has labels")
    outcomes = belief.weight * np.stack([accept, 1.0 - accept])
    return np.array([[np.bincount(slot, mass, pool) for slot in belief.labels] for mass in outcomes])


def rise_share(mass: Array, least: float) -> float:
    """The chance that a review's top posterior rises by more than `least`, mean over the reviews."""
    chance = mass[:, 0].sum(axis=-1)
    before = mass.sum(axis=0).max(axis=-1)
    after = mass.max(axis=-1) / np.where(chance > 0.0, chance, 1.0)[:, None]
    return float(((after - before > least).mean(axis=1) * chance).sum())


def hinted_gain(mass: Array, right: float) -> float:
    """What the decision adds to naming a reviewer, for somebody with scores and a hint; mean over reviews."""
    pool = mass.shape[-1]
    hint = np.full((pool, pool), (1.0 - right) / (pool - 1))
    np.fill_diagonal(hint, right)
    named = (hint[:, None, None] * mass).max(axis=-1).sum(axis=(0, 1))
    without = (hint[:, None] * mass.sum(axis=0)).max(axis=-1).sum(axis=0)
    return float((named - without).mean())


def compute(case: PaperCase, guarantees: tuple[Guarantee, ...]) -> list[tuple[float, float]]:
    belief = case.belief
    found = []
    for guarantee in guarantees:
        mass = masses(belief, solve(case, guarantee).accept, len(case.candidates))
        found.append((rise_share(mass, RISE), hinted_gain(mass, HINT)))
    return found


def sentences(found: Array) -> dict[str, list[str]]:
    rise, gain = 100 * found.mean(axis=0).T
    names = list(GUARANTEES)
    average, limited, steady, full = (
        f"{gain[names.index(name)]:.2f}"
        for name in ("average", "average, epsilon 2", "steady, epsilon 2", "full calibration")
    )
    return {
        "docs/evidence/adversaries.md": [
            f"in {rise[names.index('average')]:.1f} % of reviews the top posterior rises by more than .1",
            f"names a reviewer {average} percentage points more often once the decision is seen",
            f"{full} under full calibration, {limited} with epsilon 2 as well, "
            f"{steady} under *steady*, epsilon 2",
        ]
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--papers", type=int, default=400)
    parser.add_argument("--workers", type=int, default=available_cores())
    options = parser.parse_args()
    run = partial(compute, guarantees=tuple(GUARANTEES.values()))
    drawn = cases(prototype_population(), options.papers, POOL, seed=5)
    found = np.array(parallel_map(run, drawn, workers=options.workers))
    told = sentences(found)
    print(*told["docs/evidence/adversaries.md"], sep="\n")
    error = 100 * found.std(axis=0) / np.sqrt(options.papers)
    print(
        "standard errors:",
        *(f"{name} {a:.2f} {b:.2f}" for name, (a, b) in zip(GUARANTEES, error, strict=True)),
    )
    keep("side_evidence", f"python studies/side_evidence.py --papers {options.papers}", {}, told)


if __name__ == "__main__":
    main()
