"""Decided on this year's own reviews: what all decisions together tell about who wrote what.

    python studies/this_year_observers.py [--small 200] [--middle 12] [--large 6]

The conferences of studies/this_year.py, decided with coins of their own. An observer sees all scores and all
private decisions, and knows how many reviews everybody wrote. One knows everybody's strictness, the other
only how it is spread, and both know how it is spread in truth. Four papers: all assignments are listed. More
papers: walks. Writes docs/numbers/this_year_observers.json and a table of docs/evidence/this_year.md.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from blindcal.adversaries.this_year_exact import observe, tables_of
from blindcal.adversaries.this_year_mcmc import this_year_findings
from blindcal.checks import Array
from blindcal.compute.parallel import parallel_map
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.levels import bar_of_share, level_cases
from stated import keep
from this_year import GUARANTEES, MODERATE, NIPS, RATE, World, at_bar, levels_of, simulated

ASKED = (
    "knows nothing: reviewer",
    "knows nothing: link",
    "knows strictness: reviewer",
    "knows strictness: link",
)
LOOKS = 10
SIZES = {
    "4 papers, 4 people, 2 reviews": {"papers": 4, "people": 4, "reviews": (2,)},
    "24 papers, 18 people, 3 reviews": {"papers": 24, "people": 18},
    "60 papers, 40 people, 3 reviews": {"papers": 60, "people": 40},
}


def compute(job: tuple[World, str, bool, int]) -> Array:
    """`[question, (baseline, added, rise)]` of one conference; before the draw if all can be listed."""
    world, guarantee, listed, seed = job
    rng = np.random.default_rng([69, seed])
    made = simulated(world, rng)
    cases = level_cases(made.reviews, made.model, dict.fromkeys(made.areas, ""), made.areas)
    cases = at_bar(cases, bar_of_share(cases, 0.5 if listed else RATE))
    tables = tables_of(cases, GUARANTEES[guarantee])
    if listed:
        # In so few papers everything is a lot, as if all were close to the bar.
        low = against_evidence(GUARANTEES[guarantee])
        tables = dict.fromkeys(tables, (low, 1.0 - low))
    levels = dict(zip(made.reviews.papers, levels_of(made, cases).tolist(), strict=True))
    decided = {paper: bool(rng.random() < table[levels[paper]]) for paper, table in tables.items()}
    seen = observe(made.reviews, cases, tables, None if listed else decided)
    moments, names = made.model.moments, [int(name[1:]) for name in seen.people]
    assert made.offset is not None
    known = dict(zip(seen.people, (made.offset[names] / moments.spread).tolist(), strict=True))
    share = world.offset**2 / (world.offset**2 + world.noise**2)
    found = this_year_findings(
        replace(seen, strictness=share * moments.disagreement),
        strictness=known,
        target=0.0,
        most=LOOKS,
        seed=seed,
    )
    return np.array([[one.baseline, one.added, one.rise or 0.0] for one in found.findings])


def against_evidence(guarantee: Guarantee) -> float:
    """The chance that a paper by lot does not follow its evidence."""
    return 0.0 if guarantee.epsilon is None else 1.0 / (1.0 + float(np.exp(guarantee.epsilon)))


def row(name: str, kind: str, guarantee: str, found: Array) -> str:
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(len(found))
    cells = [
        f"{100 * mean[q, 0]:.1f} % {100 * mean[q, 1]:+.2f} ± {100 * error[q, 1]:.2f}"
        for q in range(len(ASKED))
    ]
    guaranteed = "full" if guarantee == "full" else f"epsilon {guarantee}"
    return f"| {name} | {kind} | {guaranteed} | " + " | ".join(cells) + f" | {found[:, 2, 2].max():.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, number in (("small", 200), ("middle", 12), ("large", 6)):
        parser.add_argument(f"--{name}", type=int, default=number)
    options = parser.parse_args()
    lines = ["| conferences | reviewers | decisions | " + " | ".join(ASKED) + " | rise |", "|---" * 8 + "|"]
    runs = [("moderate", MODERATE, 0, guarantee, options.small) for guarantee in ("2", "3", "full")]
    runs += [("moderate", MODERATE, 1, "3", options.middle), ("moderate", MODERATE, 2, "3", options.large)]
    runs += [("as at NIPS", NIPS, 1, "3", options.middle)]
    for kind, world, size, guarantee, number in runs:
        name = list(SIZES)[size]
        sized = replace(world, **SIZES[name])
        jobs = [(sized, guarantee, size == 0, seed) for seed in range(number)]
        lines.append(row(name, kind, guarantee, np.array(parallel_map(compute, jobs, workers=1))))
        print(lines[-1], flush=True)
    command = "python studies/this_year_observers.py"
    command += f" --small {options.small} --middle {options.middle} --large {options.large}"
    keep("this_year_observers", command, {"docs/evidence/this_year.md": {"this year observers": lines}}, {})


if __name__ == "__main__":
    main()
