"""How much each guarantee adds for someone who knows everybody's load.

    python studies/loads_by_guarantee.py [--conferences 32] [--workers N]

The conferences of studies/known_loads.py, planned without loads under each guarantee and decided by the same
random draws. All decisions together are weighed by Markov chains over the assignments that keep the loads:
how many more reviewers are identified, in points, and which share of decisions is wrong. With 32 conferences
or more, keeps its numbers in docs/numbers and a table of docs/evidence/guarantees.md; else prints.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial

import numpy as np

import blindcal as bc
from blindcal.adversaries.coupled_exact import network
from blindcal.adversaries.coupled_mcmc import walk
from blindcal.compute.parallel import available_cores, parallel_map
from blindcal.io.cells import count
from blindcal.posterior.conference import prepare, true_reviewers
from blindcal.posterior.paper import secret_of
from known_loads import BAR, cell, drawn, planned
from stated import keep

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
