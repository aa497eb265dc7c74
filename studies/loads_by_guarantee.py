"""How much each guarantee adds for someone who knows everybody's load.

    python studies/loads_by_guarantee.py [--conferences 64] [--workers N]

Conferences with as many reviewers as papers, everybody with the same load, the prototype's reviewers and the
bar at the upper quartile, planned under each guarantee and decided by the same random draws. All decisions
together are weighed by Markov chains over the assignments that keep the loads: how many more reviewers are
identified, in points, and which share of decisions is wrong. Writes docs/numbers/loads_by_guarantee.json and
a table of docs/evidence/guarantees.md.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from scipy.special import ndtri

import blindcal as bc
from blindcal.adversaries.coupled_exact import network
from blindcal.adversaries.coupled_mcmc import walk
from blindcal.adversaries.single_paper import View, case_view
from blindcal.compute.parallel import parallel_map
from blindcal.io.cells import count
from blindcal.planning.conference_plan import plan_conference
from blindcal.posterior.conference import Conference, prepare, true_reviewers
from blindcal.posterior.paper import secret_of
from blindcal.simulation.population import prototype_population
from stated import asked, guarantees, keep, table, with_errors

BAR = round(float(ndtri(0.75)), 4)
TARGET = 1e-3
SIZES = ((100, 1, 12), (60, 1, 60), (40, 2, 20))
MENU = guarantees(
    "public; steady, epsilon 2; crowd of 10, epsilon 2; crowd of 10, epsilon 3 (default); crowd of 10; "
    "average, epsilon 3; average; full calibration"
)


def drawn(
    rng: np.random.Generator, papers: int, reviews: int, pool: int
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
    drawn_pools = (
        sorted([*own, *rng.choice(rest, pool - reviews, replace=False)])
        for own, rest in zip(who, others, strict=True)
    )
    pools = {
        name: dict.fromkeys([people[j] for j in own], reviews / pool)
        for name, own in zip(names, drawn_pools, strict=True)
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


def compare(papers: int, reviews: int, pool: int, seed: int) -> list[tuple[float, float]]:
    """One conference under each guarantee: points added by all decisions, and wrong decisions in percent."""
    rng = np.random.default_rng([33, papers, reviews, seed])
    table, parameters, pools = drawn(rng, papers, reviews, pool)
    conference, loads = prepare(table, parameters, pools, bar=BAR), dict.fromkeys(parameters, reviews)
    draws, truth = rng.random(papers), true_reviewers(conference, table)
    rows = [secret_of(case, truth[case.paper]) for case in conference.cases]
    alone, measured = None, []
    for guarantee in MENU.values():
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
        measured.append((100 * (after.success - alone.success), 100 * float(np.mean(wrong))))
    return measured


def main() -> None:
    options = asked("loads_by_guarantee", __doc__, conferences=64)
    titles, columns = ["guarantee"], [list(MENU)]
    for papers, reviews, pool in SIZES:
        jobs = partial(compare, papers, reviews, pool)
        found = np.array(parallel_map(jobs, range(options.conferences), workers=options.workers))
        titles += [f"{papers} papers, {count(reviews, 'review')} each, pools of {pool}: added", "wrong (%)"]
        columns += [with_errors(found[:, :, figure]) for figure in (0, 1)]
    lines = table(titles, *zip(*columns, strict=True))
    keep(options, {"docs/evidence/guarantees.md": {"known loads": lines}})


if __name__ == "__main__":
    main()
