"""Wrong models: what a certificate claims where reviewers are not as stated, and what is true.

    python studies/misfits.py [--papers 300] [--workers N]

Papers have pools of 10 and 3 reviews; reviewers are the prototype's. Scores arise in another world than the
one that tables are planned for: `side_knowledge` has them, and in one more the stated slopes and
offsets are off by errors of .2 and .3, which are stated. The adversary knows the true world. Writes
docs/numbers/misfits.json and a table of docs/evidence/adversaries.md.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.special import ndtri

from blindcal.adversaries.side_knowledge import SCORE_MODELS, Misfit, ScoreModel, bent, misfit, worst_misfit
from blindcal.adversaries.single_paper import View, case_view
from blindcal.checks import Array
from blindcal.compute.parallel import available_cores, parallel_map
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.policy import Policy
from blindcal.policy.solver import solve
from blindcal.posterior.paper import PaperCase
from blindcal.simulation.population import prototype_population
from stated import keep

BAR, POOL, REVIEWS = float(ndtri(0.75)), 10, 3
SLOPE_ERROR, OFFSET_ERROR = 0.2, 0.3
UNSURE = replace(SCORE_MODELS[0], name="parameters off by their stated errors")
GUARANTEES = {
    "steady, epsilon 2": Guarantee("steady", epsilon=2.0),
    "average": Guarantee("average", epsilon=None),
    "full calibration": Guarantee("none", epsilon=None),
}


def paper(rng: np.random.Generator, world: ScoreModel) -> tuple[PaperCase, Array]:
    """A paper as it is stated, and the true parameters of its pool."""
    slope, offset, noise = prototype_population().parameters(rng, (POOL,))
    true = np.column_stack([slope, offset, noise, np.zeros((POOL, 4))])
    quality = rng.standard_normal()
    if world.name == "two kinds of papers":
        quality = rng.choice([-0.9, 0.9]) + np.sqrt(1 - 0.9**2) * quality
    seen = float(bent(np.array(quality))) if world.name == "curved reviewers" else quality
    error = rng.standard_normal(REVIEWS)
    if world.name.startswith("heavy tails"):
        error = rng.standard_t(4, REVIEWS) * np.sqrt(0.5)
    score = slope[:REVIEWS] * seen + offset[:REVIEWS] + noise[:REVIEWS] * error
    if world.name.startswith("rounded"):
        score = np.round(score)
    stated = true.copy()
    if world is UNSURE:
        stated[:, 0] = np.abs(slope + SLOPE_ERROR * rng.standard_normal(POOL))
        stated[:, 1] = offset + OFFSET_ERROR * rng.standard_normal(POOL)
        stated[:, 3], stated[:, 4] = SLOPE_ERROR, OFFSET_ERROR
    order = rng.permutation(POOL)
    case = PaperCase(
        paper="p",
        scores=tuple(sorted(score.tolist())),
        candidates=tuple(f"r{j}" for j in range(POOL)),
        inclusion=(REVIEWS / POOL,) * POOL,
        parameters=tuple(map(tuple, stated[order].tolist())),
        bar=BAR,
    )
    return case, true[order]


def seen(case: PaperCase, guarantee: Guarantee) -> View:
    return case_view(case, Policy(np.clip(solve(case, guarantee).accept, 0.0, 1.0)), 1.0)


def compute(world: ScoreModel, papers: int, workers: int) -> dict[str, Misfit]:
    rng = np.random.default_rng([31, len(world.name)])
    drawn = [paper(rng, world) for _ in range(papers)]
    weights = [world.weight(case, true) for case, true in drawn]
    return {
        name: misfit(
            world.name,
            parallel_map(partial(seen, guarantee=guarantee), [case for case, _ in drawn], workers=workers),
            weights,
        )
        for name, guarantee in GUARANTEES.items()
    }


def table(found: list[dict[str, Misfit]]) -> list[str]:
    lines = [
        "| world | guarantee | reviewer named, claimed | true: scores alone | true: with decisions "
        "| best guess rose by up to (claimed) |",
        "|---|---|---|---|---|---|",
    ]
    for by_guarantee in found:
        for name, one in by_guarantee.items():
            cells = [
                f"{100 * one.claimed:.1f} %",
                f"{100 * one.alone:.1f} %",
                f"{100 * one.success:.1f} % ({100 * one.added:+.2f})",
                f"{one.rise:.2f} ({max(one.claimed_rise, 0.0):.2f})",
            ]
            lines.append(f"| {one.world} | {name} | " + " | ".join(cells) + " |")
    return lines


def sentences(found: list[dict[str, Misfit]]) -> dict[str, list[str]]:
    default = worst_misfit([one["steady, epsilon 2"] for one in found])
    rise = max(one["steady, epsilon 2"].rise for one in found)
    return {
        "docs/evidence/adversaries.md": [
            f"At worst ({default.world}) decisions under *steady*, epsilon 2 added {100 * default.added:.2f} "
            "percentage points where 0 was claimed",
            f"a single decision made a best guess likelier by up to {rise:.2f}",
        ]
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--papers", type=int, default=300)
    parser.add_argument("--workers", type=int, default=available_cores())
    options = parser.parse_args()
    found = [compute(world, options.papers, options.workers) for world in (*SCORE_MODELS, UNSURE)]
    lines, told = table(found), sentences(found)
    print("\n".join([*lines, *told["docs/evidence/adversaries.md"]]))
    keep(
        "misfits",
        f"python studies/misfits.py --papers {options.papers}",
        {"docs/evidence/adversaries.md": {"misfits": lines}},
        told,
    )


if __name__ == "__main__":
    main()
