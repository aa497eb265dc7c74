"""How much each guarantee adds for someone who knows everybody's load.

    python studies/loads_by_guarantee.py [--conferences 32] [--workers N]

Conferences with as many reviewers as papers, everybody with the same load, the prototype's reviewers and the
bar at the upper quartile, planned under each guarantee and decided by the same random draws. All decisions
together are weighed by Markov chains over the assignments that keep the loads: how many more reviewers are
identified, in points, and which share of decisions is wrong. With 32 conferences or more, keeps its numbers
in docs/numbers and a table of docs/evidence/guarantees.md; else prints.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.special import ndtri

import blindcal as bc
from blindcal.adversaries.coupled_exact import network
from blindcal.adversaries.coupled_mcmc import walk
from blindcal.adversaries.single_paper import View, case_view
from blindcal.compute.parallel import available_cores, parallel_map
from blindcal.io.cells import count
from blindcal.planning.conference_plan import plan_conference
from blindcal.posterior.conference import Conference, prepare, true_reviewers
from blindcal.posterior.paper import secret_of
from blindcal.simulation.population import prototype_population
from stated import keep

BAR = round(float(ndtri(0.75)), 4)
WORTH_KEEPING, TARGET = 32, 1e-3
SIZES = ((100, 1, 12), (60, 1, 60), (40, 2, 20))
MENU = {
    "public": bc.Guarantee("public", epsilon=None),
    "steady, epsilon 2": bc.Guarantee("steady", epsilon=2.0),
    "crowd of 10, epsilon 2": bc.Guarantee("crowd", among=10, epsilon=2.0),
    "crowd of 10, epsilon 3 (default)": bc.Guarantee("crowd", among=10, epsilon=3.0),
    "crowd of 10": bc.Guarantee("crowd", among=10, epsilon=None),
    "average, epsilon 3": bc.Guarantee("average", epsilon=3.0),
    "average": bc.Guarantee("average", epsilon=None),
    "full calibration": bc.Guarantee("none", epsilon=None),
}


def drawn(
    rng: np.random.Generator, papers: int, reviews: int, pool: int | None = None
) -> tuple[bc.Reviews, dict[str, tuple[float, ...]], dict[str, dict[str, float]]]:
    """Reviews, calibration and pools: as many reviewers as papers, each with as many reviews as a paper."""
    population = prototype_population()
    slope, offset, noise = population.parameters(rng, (papers,))
    order, theta = rng.permutation(papers), rng.standard_normal(papers)
    who = np.array([[order[(i + j) % papers] for j in range(reviews)] for i in range(papers)])
    score = population.scores(rng, theta[:, None], slope[who], offset[who], noise[who])
    width = len(str(papers))
    names, people = ([f"{letter}{i:0{width}}" for i in range(papers)] for letter in "pr")
    table = {
        "paper": np.repeat(names, reviews).tolist(),
        "reviewer": [people[j] for j in who.ravel()],
        "score": score.ravel(),
    }
    rows = np.column_stack([slope, offset, noise, np.zeros((papers, 4))]).tolist()
    others = [np.setdiff1d(np.arange(papers), own) for own in who]
    extra = papers - reviews if pool is None else pool - reviews
    pools = {
        name: dict.fromkeys(
            [people[j] for j in sorted([*own, *rng.choice(rest, extra, replace=False)])],
            reviews / (reviews + extra),
        )
        for name, own, rest in zip(names, who, others, strict=True)
    }
    parameters = {name: tuple(row) for name, row in zip(people, rows, strict=True)}
    return bc.Reviews.from_table(table, grid=[]), parameters, pools


def planned(conference: Conference, guarantee: bc.Guarantee) -> list[View]:
    """The views of the papers with the tables that the library plans."""
    plans = plan_conference(conference, guarantee)
    return [
        case_view(case, plan.policy, raw)
        for case, plan, raw in zip(conference.cases, plans, conference.raw_accept, strict=True)
    ]


def compare(papers: int, reviews: int, pool: int, seed: int) -> dict[str, dict[str, float]]:
    """One conference under each guarantee: points added by all decisions, and wrong decisions in percent."""
    rng = np.random.default_rng([33, papers, reviews, seed])
    table, parameters, pools = drawn(rng, papers, reviews, pool)
    conference, loads = prepare(table, parameters, pools, bar=BAR), dict.fromkeys(parameters, reviews)
    draws, truth = rng.random(papers), true_reviewers(conference, table)
    rows = [secret_of(case, truth[case.paper]) for case in conference.cases]
    alone, measured = None, {}
    for name, guarantee in MENU.items():
        views, wrong = [], []
        for case, view, row, draw in zip(
            conference.cases, planned(conference, guarantee), rows, draws, strict=True
        ):
            chance, favor = view.accept["chosen"], float(case.belief.favor[row])
            wrong.append(float(chance[row]) * (1 - favor) + (1 - float(chance[row])) * favor)
            views.append(replace(view, outcome={"chosen": chance if draw < chance[row] else 1 - chance}))
        if alone is None:
            alone = walk(network(views, loads, [v.weight for v in views]), target=TARGET)
        after = walk(network(views, loads, [v.mass("chosen")[0] for v in views]), target=TARGET)
        if not (alone.agrees and after.agrees):
            raise SystemExit("starts do not agree")
        measured[name] = {
            "added": 100 * (after.success - alone.success),
            "wrong": 100 * float(np.mean(wrong)),
        }
    return measured


def cell(found: Sequence[Mapping[str, Mapping[str, float]]], name: str, figure: str) -> str:
    """The mean over conferences with its standard error."""
    values = np.array([one[name][figure] for one in found])
    return f"{values.mean():.2f} ± {values.std(ddof=1) / np.sqrt(len(values)):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--conferences", type=int, default=8)
    parser.add_argument("--workers", type=int, default=available_cores())
    options = parser.parse_args()
    titles, columns = [], []
    for papers, reviews, pool in SIZES:
        jobs = partial(compare, papers, reviews, pool)
        found = parallel_map(jobs, range(options.conferences), workers=options.workers)
        titles.append(f"{papers} papers, {count(reviews, 'review')} each, pools of {pool}: added | wrong (%)")
        columns.append([f"{cell(found, name, 'added')} | {cell(found, name, 'wrong')}" for name in MENU])
    lines = ["| guarantee | " + " | ".join(titles) + " |", "|---" * (1 + 2 * len(SIZES)) + "|"]
    lines += [f"| {name} | {' | '.join(row)} |" for name, *row in zip(MENU, *columns, strict=True)]
    print("\n".join(lines))
    if options.conferences >= WORTH_KEEPING:
        command = f"python studies/loads_by_guarantee.py --conferences {options.conferences}"
        keep("loads_by_guarantee", command, {"docs/evidence/guarantees.md": {"known loads": lines}}, {})


if __name__ == "__main__":
    main()
