"""A bound on all decisions together that needs no sum over assignments and no sampling, and how weak it is.

    python studies/load_information.py [--conferences 12] [--workers N]

The conferences of studies/known_loads.py with one review per paper and loads of 1, planned with the tilt by
these loads under *steady*, epsilon 2. How often a reviewer is named, in percent: from scores and loads, with
all decisions, and at most by the erasure bound, by the divergence from independent papers
(docs/explanation/theory.md, "A bound at any size") and for any prior. Up to 9 papers the first three are sums
over all assignments; larger conferences are sampled. With 12 conferences or more, keeps its numbers in
docs/numbers and a table of docs/evidence/adversaries.md; else prints.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.special import expit, gammaln, logit, rel_entr, xlog1py, xlogy

import blindcal as bc
from blindcal.adversaries.coupled_exact import any_prior_bound, erasure_bound, exact_finding, network
from blindcal.adversaries.coupled_mcmc import erasure_estimate, walk
from blindcal.adversaries.single_paper import View
from blindcal.compute.parallel import available_cores, parallel_map
from blindcal.posterior.conference import prepare, true_reviewers
from blindcal.posterior.loads import _sinkhorn_tilt
from blindcal.posterior.paper import secret_of
from known_loads import BAR, drawn, planned
from stated import keep

WORTH_KEEPING, TARGET, MOST_SUMMED = 12, 1e-3, 9
SIZES = ((5, 5), (9, 9), (100, 12), (300, 30))
COLUMNS = ("scores and loads", "all decisions", "erasure bound", "divergence bound", "any prior")
_LARGEST_SHIFT = 700.0


def divergence_from_independence(chance: np.ndarray, loads: np.ndarray) -> float:
    """At most this many nats: -log of the probability that independent papers meet the loads.

    `chance[paper, reviewer]` has rows that sum to 1 and columns that sum to the loads, which are positive.
    With each reviewer b times, entries `chance/b` are doubly stochastic, and the permanent of such x is at
    least `prod (1 - x)^(1 - x)` (Gurvits and Samorodnitsky 2014).
    """
    repeated = (gammaln(loads + 1.0) - xlogy(loads, loads)).sum()
    return float(repeated - xlog1py(loads - chance, -chance / loads).sum())


def success_within(best: np.ndarray, nats: float) -> float:
    """The largest mean of s with `sum_i kl(s_i || best_i) <= nats`, kl of two Bernoulli distributions.

    At the largest one, all log odds of s exceed those of `best` by the same number.
    """
    low, high = 0.0, _LARGEST_SHIFT
    for _ in range(100):
        middle = 0.5 * (low + high)
        moved = expit(logit(best) + middle)
        spent = float((rel_entr(moved, best) + rel_entr(1.0 - moved, 1.0 - best)).sum())
        low, high = (middle, high) if spent < nats else (low, middle)
    return float(expit(logit(best) + high).mean())


def divergence_bound(views: Sequence[View]) -> float:
    """How often a reviewer is named at most with all decisions, for loads of 1: see theory.md."""
    people = {name: column for column, name in enumerate(sorted({n for view in views for n in view.names}))}
    weight, accept = np.zeros((2, len(views), len(people)))
    for number, view in enumerate(views):
        columns = [people[view.names[who]] for who in view.rows[:, 0]]
        weight[number, columns], accept[number, columns] = view.weight, view.accept["chosen"]
    chance = doubly_stochastic(weight)
    masses = np.stack([chance * accept, chance * (1.0 - accept)])
    # After a decision that cannot be made nobody is believed to have reviewed.
    best = masses.max(axis=2) / np.maximum(masses.sum(axis=2), np.finfo(float).tiny)
    return success_within(best.max(axis=0), divergence_from_independence(chance, np.ones(len(people))))


def doubly_stochastic(weight: np.ndarray) -> np.ndarray:
    """Rows and columns scaled by turns until they sum to 1 (Sinkhorn)."""
    while abs(weight.sum(axis=1) - 1.0).max() > 1e-10:
        weight = weight / weight.sum(axis=1, keepdims=True)
        weight = weight / weight.sum(axis=0)
    return weight


def bounds(papers: int, pool: int, seed: int) -> dict[str, float]:
    """One conference: what decisions reveal, exactly or sampled, and the bounds on it."""
    rng = np.random.default_rng([34, papers, seed])
    table, parameters, pools = drawn(rng, papers, 1, pool)
    loads, ones = tuple((name, 1, 1) for name in sorted(parameters)), dict.fromkeys(parameters, 1)
    tilt = _sinkhorn_tilt(prepare(table, parameters, pools, bar=BAR).cases, loads, 40, 1)
    conference = prepare(table, parameters, pools, bar=BAR, loads=loads, tilt=tilt)
    tilted = planned(conference, bc.Guarantee("steady", epsilon=2.0))
    views = [view.without_loads() for view in tilted]
    if papers <= MOST_SUMMED:
        limit, found = erasure_bound(views, ones), exact_finding(views, ones, "chosen")
        known, any_prior = (limit.baseline, found.success, limit.erasure), limit.any_prior
    else:
        truth = true_reviewers(conference, table)
        rows = [secret_of(case, truth[case.paper]) for case in conference.cases]
        known, any_prior = sampled(views, ones, rows, rng), any_prior_bound(tilted)
    return dict(zip(COLUMNS, (*known, divergence_bound(views), any_prior), strict=True))


def sampled(
    views: Sequence[View], loads: Mapping[str, int], rows: Sequence[int], rng: np.random.Generator
) -> tuple[float, float, float]:
    """The first three columns by walks, for one draw of decisions by the reviewers in `rows`."""
    decided = []
    for view, row, draw in zip(views, rows, rng.random(len(views)), strict=True):
        accept = view.accept["chosen"]
        decided.append(replace(view, outcome={"chosen": accept if draw < accept[row] else 1.0 - accept}))
    masses = ([v.weight for v in views], [v.mass("chosen")[0] for v in decided])
    alone, after = (walk(network(views, loads, mass), target=TARGET) for mass in masses)
    if not (alone.agrees and after.agrees):
        raise SystemExit("starts do not agree")
    added, _ = erasure_estimate(views, loads, draws=4, target=TARGET)
    return alone.success, after.success, alone.success + added


def cell(values: Sequence[float]) -> str:
    percent = 100.0 * np.array(values)
    return f"{percent.mean():.1f} ± {percent.std(ddof=1) / np.sqrt(len(percent)):.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--conferences", type=int, default=12)
    parser.add_argument("--workers", type=int, default=available_cores())
    options = parser.parse_args()
    lines = [f"| conferences | {' | '.join(COLUMNS)} |", "|---" * (1 + len(COLUMNS)) + "|"]
    for papers, pool in SIZES:
        found = parallel_map(
            partial(bounds, papers, pool), range(options.conferences), workers=options.workers
        )
        cells = (cell([one[name] for one in found]) for name in COLUMNS)
        lines.append(f"| {papers} papers, pools of {pool} | {' | '.join(cells)} |")
    print("\n".join(lines))
    if options.conferences >= WORTH_KEEPING:
        command = f"python studies/load_information.py --conferences {options.conferences}"
        keep("load_information", command, {"docs/evidence/adversaries.md": {"any size": lines}}, {})


if __name__ == "__main__":
    main()
