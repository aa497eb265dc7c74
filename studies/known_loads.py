"""Decisions planned for someone who knows everybody's load, and what all of them together can reveal.

    python studies/known_loads.py bounds [--conferences 15] [--papers 5 7 9]

Conferences in which every reviewer has the same load and everybody may have reviewed everything, with the
prototype's reviewers and the bar at the upper quartile.

bounds: what all decisions together add for that adversary, in points of reviewers named, by sums over all
assignments and outcomes; beside it the erasure bound for the same prior, and what holds for any prior.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

import numpy as np
from scipy.special import ndtri

import blindcal as bc
from blindcal.adversaries.coupled_exact import erasure_bound, exact_finding
from blindcal.adversaries.paper_view import View, case_view
from blindcal.planning.conference_plan import plan_conference
from blindcal.posterior.conference import Conference, prepare
from blindcal.simulation.population import prototype_population

BAR = round(float(ndtri(0.75)), 4)


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
    plans, _ = plan_conference(conference, guarantee)
    return [
        case_view(case, plan.policy, raw)
        for case, plan, raw in zip(conference.cases, plans, conference.raw_accept, strict=True)
    ]


def bounds(papers: int, conferences: int, guarantee: bc.Guarantee) -> Mapping[str, np.ndarray]:
    """For each conference what decisions add, in points: own, truth, erasure bound, any prior."""
    rows = []
    for seed in range(conferences):
        reviews, parameters, pools = drawn(np.random.default_rng([31, papers, seed]), papers, 1)
        views = planned(prepare(reviews, parameters, pools, bar=BAR), guarantee)
        loads = dict.fromkeys(parameters, 1)
        found, truth = erasure_bound(views, loads), exact_finding(views, loads, "chosen")
        added = (found.own, truth.success, found.erasure, found.any_prior)
        rows.append([100 * (value - found.baseline) for value in added])
    return dict(zip(("own decision", "truth", "erasure", "any prior"), np.array(rows).T, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["bounds"])
    parser.add_argument("--conferences", type=int, default=15)
    parser.add_argument("--papers", type=int, nargs="*", default=[5, 7, 9])
    options = parser.parse_args()
    for papers in options.papers:
        for name, value in bounds(papers, options.conferences, bc.Guarantee()).items():
            error = value.std(ddof=1) / np.sqrt(len(value))
            print(f"{papers} x {papers}, {name}: {value.mean():.2f} ± {error:.2f}", flush=True)


if __name__ == "__main__":
    main()
