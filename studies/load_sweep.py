"""What all decisions together reveal to somebody who knows everybody's load: loads of 1 to 6, 1 to 5 reviews.

    python studies/load_sweep.py [--papers 60] [--workers N]

Conferences of studies/audit.py with small pools, one for each number of reviews and load. The default and
full calibration are compared on the same conference with the same coins; the adversary is played by walks
over assignments (`blindcal.adversaries.coupled_mcmc`). Writes docs/numbers/load_sweep.json and a table of
docs/evidence/adversaries.md.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np

from audit import MENU, Setting, conference, decided
from blindcal.adversaries.coupled_exact import network, true_loads
from blindcal.adversaries.coupled_mcmc import WalkEstimate, walk
from blindcal.adversaries.single_paper import View
from blindcal.checks import Array
from blindcal.compute.parallel import available_cores, parallel_map
from stated import keep

REVIEWS, LOADS, POOL = range(1, 6), range(1, 7), 8
DEFAULT = "steady, epsilon 2"


def added(job: tuple[int, int, int]) -> tuple[float, float, float, float] | None:
    """In percentage points: named from scores and loads, added under *steady*, epsilon 2, and by full
    calibration, and the larger standard error of the walks; None if walks from different starts disagree."""
    papers, reviews, load = job
    cases, truth = conference(Setting(papers, reviews, load, POOL), 0)
    toss = np.random.default_rng([7, reviews, load]).random(papers).tolist()
    views = list(map(partial(decided, guarantee=MENU[DEFAULT]), zip(cases, truth, toss, strict=True)))
    masses = {
        "scores": [view.weight for view in views],
        DEFAULT: [view.mass("chosen")[0] for view in views],
        "full": [view.mass("full")[0] for view in views],
    }
    found = {name: played(views, mass) for name, mass in masses.items()}
    apart = max(one.apart for one in found.values())
    print(f"{reviews} reviews, loads of {load}: starts differ by {apart:.1f} standard errors", flush=True)
    if not all(one.agrees for one in found.values()):
        return None
    alone = found["scores"]
    gains = [100 * (found[name].success - alone.success) for name in (DEFAULT, "full")]
    errors = [100 * float(np.hypot(alone.error, found[name].error)) for name in (DEFAULT, "full")]
    return 100 * alone.success, gains[0], gains[1], max(errors)


def played(views: list[View], masses: list[Array]) -> WalkEstimate:
    loads = true_loads(views)
    return walk(network(views, loads, masses), target=2e-3, most=3, chains=64)


def cell(found: tuple[float, float, float, float] | None) -> str:
    if found is None:
        return "starts do not agree"
    alone, default, full, _ = found
    return f"{alone:.0f} %: {default:+z.1f}, {full:+z.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--papers", type=int, default=60)
    parser.add_argument("--workers", type=int, default=available_cores())
    options = parser.parse_args()
    jobs = [(options.papers, reviews, load) for reviews in REVIEWS for load in LOADS]
    found = dict(zip(jobs, parallel_map(added, jobs, workers=options.workers), strict=True))
    lines = [
        "| reviews per paper | " + " | ".join(f"loads of {load}" for load in LOADS) + " |",
        "|---|" + "---|" * len(LOADS),
    ]
    for reviews in REVIEWS:
        cells = [found[options.papers, reviews, load] for load in LOADS]
        lines.append(f"| {reviews} | " + " | ".join(map(cell, cells)) + " |")
    error = max(one[3] for one in found.values() if one is not None)
    print("\n".join(lines), f"\nlargest standard error {error:.2f}")
    sentence = f"the Monte Carlo standard error is at most {error:.2f} points"
    command = f"python studies/load_sweep.py --papers {options.papers}"
    keep(
        "load_sweep",
        command,
        {"docs/evidence/adversaries.md": {"load sweep": lines}},
        {"docs/evidence/adversaries.md": [sentence]},
    )


if __name__ == "__main__":
    main()
