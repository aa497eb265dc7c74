"""Decisions planned for someone who knows everybody's load, and what all of them together can reveal.

    python studies/known_loads.py [--conferences 60] [--workers N]

Conferences with as many reviewers as papers, everybody with the same load, the prototype's reviewers and the
bar at the upper quartile. Small ones, in which everybody may have reviewed everything, are summed over all
assignments and outcomes; large ones with pools are walked, with a tenth of the conferences.

bounds: what all decisions together add for someone who knows the loads, in points of reviewers named; beside
it the erasure bound for the same prior, and what holds for any prior.

plans: tables planned without loads, by the tilt and exactly. What all decisions add; in how many outcomes of
single papers a best guess rises although none may, and by how much at most; wrong decisions in percent.

sequences: the sequence of tables that adds nothing, against the default and the public decision.

With 60 conferences or more, keeps its numbers in docs/numbers, and tables of docs/evidence/adversaries.md;
else prints.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.special import ndtri

import blindcal as bc
from blindcal.adversaries.coupled_exact import erasure_bound, exact_finding, is_small, network
from blindcal.adversaries.coupled_mcmc import walk
from blindcal.adversaries.single_paper import View, case_view
from blindcal.compute.parallel import available_cores, parallel_map
from blindcal.io.cells import count
from blindcal.planning.conference_plan import plan_conference
from blindcal.policy.sequential import SummedPrior, best_order, next_table, reviewer_masses
from blindcal.posterior.conference import Conference, prepare, true_reviewers
from blindcal.posterior.loads import _sinkhorn_tilt, load_tilt
from blindcal.posterior.paper import secret_of
from blindcal.simulation.population import prototype_population
from stated import keep

BAR = round(float(ndtri(0.75)), 4)
WORTH_KEEPING = 60


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


def shares(conference: Conference, guarantee: bc.Guarantee, exact: Sequence[np.ndarray]) -> dict[str, float]:
    """Of tables for someone who knows the loads: promises broken, by how much, and wrong decisions.

    `exact[paper][tuple]` is P(reviewers | all scores, loads).
    """
    broken, outcomes, most, wrong = 0.0, 0, 0.0, 0.0
    for view, weight, case in zip(planned(conference, guarantee), exact, conference.cases, strict=True):
        accept, favor = view.accept["chosen"], case.belief.favor
        wrong += float(weight @ (accept * (1 - favor) + (1 - accept) * favor))
        for slot in view.rows.T:
            before = np.bincount(slot, weight).max()
            for chance in (accept, 1 - accept):
                total = float(weight @ chance)
                if total > 1e-9:
                    rise = np.bincount(slot, weight * chance).max() / total - before
                    broken, outcomes, most = broken + (rise > 1e-6), outcomes + 1, max(most, rise)
    return {"broken": 100 * broken / outcomes, "by up to": most, "wrong": 100 * wrong / len(exact)}


def plans(papers: int, reviews: int, seed: int, guarantee: bc.Guarantee) -> dict[str, dict[str, float]]:
    """One conference, planned without loads, by the tilt and exactly: what is added, broken and wrong."""
    rng = np.random.default_rng([32, papers, reviews, seed])
    table, parameters, pools = drawn(rng, papers, reviews)
    loads = tuple((name, reviews, reviews) for name in sorted(parameters))
    plain = prepare(table, parameters, pools, bar=BAR)
    exact = load_tilt(plain.cases, loads)
    tilt = _sinkhorn_tilt(plain.cases, loads, 40, 1)
    beliefs = [exact.applied(case).belief.weight for case in plain.cases]
    found = {}
    for name, one in (("no loads", None), ("tilt", tilt), ("exact", exact)):
        conference = (
            plain if one is None else prepare(table, parameters, pools, bar=BAR, loads=loads, tilt=one)
        )
        gain = exact_finding(planned(conference, guarantee), dict.fromkeys(parameters, reviews), "chosen")
        found[name] = {"added": 100 * gain.added, **shares(conference, guarantee, beliefs)}
    return found


def walked(
    papers: int, reviews: int, pool: int, seed: int, guarantee: bc.Guarantee, target: float
) -> dict[str, dict[str, float]]:
    """The same for a large conference by walks, with the same coins for both ways of planning."""
    rng = np.random.default_rng([33, papers, reviews, seed])
    table, parameters, pools = drawn(rng, papers, reviews, pool)
    loads, known = (
        tuple((n, reviews, reviews) for n in sorted(parameters)),
        dict.fromkeys(parameters, reviews),
    )
    coins, alone, found = rng.random(papers), None, {}
    for name, given in (("no loads", ()), ("tilt", loads)):
        conference = prepare(table, parameters, pools, bar=BAR, loads=given)
        truth, views, wrong = true_reviewers(conference, table), [], []
        for case, view, coin in zip(conference.cases, planned(conference, guarantee), coins, strict=True):
            row = secret_of(case, truth[case.paper])
            accept, favor = float(view.accept["chosen"][row]), float(case.belief.favor[row])
            wrong.append(accept * (1 - favor) + (1 - accept) * favor)
            chances = view.accept["chosen"] if coin < accept else 1 - view.accept["chosen"]
            views.append(replace(view.without_loads(), outcome={"chosen": chances}))
        if alone is None:
            alone = walk(network(views, known, [v.weight for v in views]), target=target)
        after = walk(network(views, known, [v.mass("chosen")[0] for v in views]), target=target)
        error = float(np.hypot(alone.error, after.error))
        found[name] = {
            "added": 100 * (after.success - alone.success),
            "error": 100 * error,
            "wrong": 100 * float(np.mean(wrong)),
        }
        if not (alone.agrees and after.agrees):
            raise SystemExit("starts do not agree")
    return found


def follow(papers: int, reviews: int, seed: int, draws: int) -> dict[str, dict[str, float]]:
    """One conference decided in sequence: expected errors over `draws` ways that decisions come out."""
    rng = np.random.default_rng([32, papers, reviews, seed])
    table, parameters, pools = drawn(rng, papers, reviews)
    conference = prepare(table, parameters, pools, bar=BAR)
    person = {name: number for number, name in enumerate(sorted(parameters))}
    tuples = [np.array([person[n] for n in case.candidates])[case.tuples] for case in conference.cases]
    favors = [case.belief.favor for case in conference.cases]
    prior = SummedPrior(tuples, [case.belief.weight for case in conference.cases], np.full(papers, reviews))
    start = [np.ones(len(rows)) for rows in tuples]
    exact = [joint.sum(axis=1) for joint in prior.pairwise(start, 0)]
    order, wrong, added = best_order(exact, favors), 0.0, 0.0
    for _ in range(draws):
        known = list(start)
        for paper in order:
            weight = prior.pairwise(known, paper)[paper].sum(axis=0)
            accept = next_table(prior, known, paper, favors[paper])
            wrong += float(weight @ (accept * (1 - favors[paper]) + (1 - accept) * favors[paper]))
            known[paper] = accept if rng.random() < weight @ accept else 1 - accept
        added += named(prior, known) - named(prior, start)
    default = shares(conference, bc.Guarantee("steady", epsilon=2.0), exact)["wrong"]
    loads = dict.fromkeys(parameters, reviews)
    views = planned(conference, bc.Guarantee("steady", epsilon=2.0))
    gain = 100 * exact_finding(views, loads, "chosen").added if is_small(views, loads) else float("nan")
    public = [100 * min(w @ favor, 1 - w @ favor) for w, favor in zip(exact, favors, strict=True)]
    return {
        "sequence": {"wrong": 100 * wrong / papers / draws, "added": 100 * added / papers / reviews / draws},
        "default": {"wrong": default, "added": gain},
        "public": {"wrong": float(np.mean(public)), "added": 0.0},
    }


def named(prior: SummedPrior, known: Sequence[np.ndarray]) -> float:
    """How many reviewers the best guesses name."""
    joint = prior.pairwise(known, 0)
    masses = (m for rows, part in zip(prior.tuples, joint, strict=True) for m in reviewer_masses(rows, part))
    return float(sum(mass.sum(axis=1).max() for mass in masses))


Found = Sequence[Mapping[str, Mapping[str, float]]]


def cell(found: Found, name: str, figure: str, base: str = "") -> str:
    """The mean over conferences with its standard error, or of the difference to `base`, paired."""
    values = np.array([one[name][figure] for one in found])
    values = values - np.array([one[base][figure] for one in found]) if base else values
    if np.isnan(values).any():
        return "-"
    return f"{values.mean():{'+' if base else ''}.2f} ± {values.std(ddof=1) / np.sqrt(len(values)):.2f}"


def bound_rows(papers: int, conferences: int) -> list[str]:
    parts = [
        f"{value.mean():.2f} ± {value.std(ddof=1) / np.sqrt(len(value)):.2f}"
        for value in bounds(papers, conferences, bc.Guarantee("steady", epsilon=2.0)).values()
    ]
    return [f"| {papers} papers | {' | '.join(parts)} |"]


def plan_rows(title: str, found: Found) -> list[str]:
    rows = []
    for name in found[0]:
        broken, most = "-", "-"
        if "broken" in found[0][name]:
            broken, most = cell(found, name, "broken"), f"{max(one[name]['by up to'] for one in found):.3f}"
        paired = cell(found, name, "wrong", "no loads") if name != "no loads" else "-"
        parts = [cell(found, name, "added"), broken, most, cell(found, name, "wrong"), paired]
        rows.append(f"| {title} | {name} | {' | '.join(parts)} |")
    return rows


def sequence_row(title: str, found: Found) -> str:
    parts = [cell(found, name, "wrong") for name in ("public", "default", "sequence")]
    parts.append(cell(found, "sequence", "wrong", "default"))
    parts += [cell(found, name, "added") for name in ("default", "sequence")]
    return f"| {title} | {' | '.join(parts)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--conferences", type=int, default=60)
    parser.add_argument("--workers", type=int, default=available_cores())
    options = parser.parse_args()
    many, default = options.conferences, bc.Guarantee("steady", epsilon=2.0)
    few = max(2, many // 10)

    def each(function: Callable[[int], dict[str, dict[str, float]]], conferences: int) -> Found:
        return parallel_map(function, range(conferences), workers=options.workers)

    limits = [
        "| conferences | own decision | all decisions | erasure bound | any prior |",
        "|---|---|---|---|---|",
    ]
    limits += [row for papers in (5, 7, 9) for row in bound_rows(papers, many)]
    print("\n".join(limits), flush=True)
    tables = [
        "| conferences | planned | added by all decisions | outcomes with a rise (%) | up to | wrong (%) | "
        "difference |",
        "|---|---|---|---|---|---|---|",
    ]
    for papers, reviews in ((5, 1), (9, 1), (7, 2)):
        small = each(partial(plans, papers, reviews, guarantee=default), many)
        tables += plan_rows(f"{papers} papers, {count(reviews, 'review')} each", small)
    for papers, reviews, pool in ((100, 1, 12), (300, 1, 30), (100, 3, 8)):
        large = each(partial(walked, papers, reviews, pool, guarantee=default, target=1e-3), few)
        tables += plan_rows(f"{papers} papers, {count(reviews, 'review')} each, pools of {pool}", large)
    print("\n".join(tables), flush=True)
    head = (
        "| conferences | public | steady, epsilon 2 | sequence | sequence less steady | steady adds "
        "| sequence adds |"
    )
    sequences = [head, "|---|---|---|---|---|---|---|"]
    for papers, reviews, conferences, draws in (
        (5, 1, many, 32),
        (4, 2, many // 3, 16),
        (8, 1, many // 2, 8),
        (10, 1, many // 4, 6),
        (12, 1, many // 6, 4),
    ):
        decided = each(partial(follow, papers, reviews, draws=draws), max(2, conferences))
        sequences.append(sequence_row(f"{papers} papers, {count(reviews, 'review')} each", decided))
    print("\n".join(sequences), flush=True)
    if many >= WORTH_KEEPING:
        page = {"bounds": limits, "known loads": tables, "sequences": sequences}
        command = f"python studies/known_loads.py --conferences {many}"
        keep("known_loads", command, {"docs/evidence/adversaries.md": page}, {})


if __name__ == "__main__":
    main()
