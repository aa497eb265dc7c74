"""A promise against somebody who knows the whole matching: what it costs, and how far it is from the truth.

    python studies/coupled_guarantee.py [--conferences 200] [--workers N]

Matchings as in studies/matchings.py: as many reviewers as papers, one review each, bar 0. A total epsilon is
parted among the papers (`coupled_exact`), so that all decisions together move no odds by more; the
adversary goes through every matching and every outcome. Then the other way: an epsilon for all papers at
which what is measured stays below a limit (`coupled_epsilon`), on every other conference. Writes
docs/numbers/coupled_guarantee.json and two tables of docs/audit.md.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

import blindcal as bc
from blindcal.adversaries.coupled_epsilon import hold
from blindcal.adversaries.coupled_exact import budget, ceilings
from blindcal.adversaries.paper_view import case_view
from blindcal.compute.parallel import cores, each
from blindcal.posterior.conference import Conference
from matchings import Drawn, Gain, Setting, coupled, draw, gain
from stated import keep

TOTALS = (1.0, 2.0, 5.0)
SIZES = (5, 6)
# What all decisions together may add, in percentage points, and the guarantees whose epsilon is lowered.
LIMITS = (1.0, 0.5)
LOWERED = {"steady, epsilon 2 (default)": bc.Guarantee(), "average": bc.Guarantee("average", epsilon=None)}


@dataclass(frozen=True)
class Held:
    """One conference under one guarantee: what is promised and what is true of the coupled adversary, and the
    share of wrong decisions."""

    epsilon: float
    added: float
    found: Gain
    wrong: float


def guarantees(papers: int) -> dict[str, bc.Guarantee]:
    found = {"public": bc.Guarantee("public", epsilon=None)}
    for total in TOTALS:
        name = f"total epsilon {total:g} ({budget(total, papers):.2g} per paper)"
        found[name] = bc.Guarantee("none", epsilon=budget(total, papers))
    found["steady, epsilon 2 (default)"] = bc.Guarantee()
    found["full calibration"] = bc.Guarantee("none", epsilon=None)
    return found


@dataclass(frozen=True)
class Lowered:
    """One conference under one limit: added success in percentage points and the share of wrong decisions,
    for the guarantee as requested and with the epsilon that holds the limit; and whether it was lowered."""

    before: float
    after: float
    wrong_before: float
    wrong_after: float
    lowered: bool


def prepared(drawn: Drawn) -> Conference:
    count = len(drawn.score)
    papers, people = [f"p{i}" for i in range(count)], [f"r{j}" for j in range(count)]
    reviews = bc.Reviews.from_table({"paper": papers, "reviewer": people, "score": drawn.score})
    rows = np.column_stack([drawn.slope, drawn.offset, drawn.noise, np.zeros((count, 4))]).tolist()
    parameters = {name: tuple(row) for name, row in zip(people, rows, strict=True)}
    pools = {paper: dict.fromkeys(people, 1.0 / count) for paper in papers}
    return bc.posterior.prepare(reviews, parameters, pools, bar=0.0)


def held(drawn: Drawn, guarantee: bc.Guarantee) -> Held:
    conference = prepared(drawn)
    plans, _ = bc.planning.plan_conference(conference, guarantee)
    views = [
        case_view(case, plan.policy, raw)
        for case, plan, raw in zip(conference.cases, plans, conference.raw_accept, strict=True)
    ]
    alone, joint = coupled(drawn, np.array([plan.policy.accept for plan in plans]))
    found = gain(alone, joint, 0.0)
    limit = ceilings(views)
    promised = [
        min(one.added, (one.factor - 1.0) * top, 1.0 - top)
        for one, top in zip(limit, alone.max(axis=1), strict=True)
    ]
    wrong = float(np.mean([plan.figures.wrong for plan in plans]))
    return Held(limit[0].epsilon, float(np.mean(promised)), found, wrong)


def lowered(drawn: Drawn, guarantee: bc.Guarantee, limit: float) -> Lowered:
    """What the library measured beforehand is compared with every matching and every outcome."""
    conference = prepared(drawn)
    loads = dict.fromkeys(conference.cases[0].candidates, 1)
    found = hold(conference, guarantee, loads, limit / 100)
    true = []
    for one in (found.tries[0], found.chosen):
        plans, _ = bc.planning.plan_conference(conference, one.guarantee)
        gained = gain(*coupled(drawn, np.array([plan.policy.accept for plan in plans])), 0.0)
        if abs(gained.added - one.measured.added) > 1e-9:
            raise SystemExit("what was measured is not what every matching says")
        true.append(100 * gained.added)
    if true[1] > limit + 1e-7:
        raise SystemExit("a limit is exceeded")
    changed = found.chosen is not found.tries[0]
    return Lowered(true[0], true[1], found.tries[0].wrong, found.chosen.wrong, changed)


def drawn_matching(papers: int, seed: int) -> Drawn:
    return draw(np.random.default_rng([papers, 77, seed]), Setting(papers, 0.0))


def compute(job: tuple[int, int]) -> list[Held]:
    papers, seed = job
    drawn = drawn_matching(papers, seed)
    return [held(drawn, guarantee) for guarantee in guarantees(papers).values()]


def compute_lowered(job: tuple[int, int]) -> list[Lowered]:
    papers, seed = job
    drawn = drawn_matching(papers, seed)
    return [lowered(drawn, one, limit) for one in LOWERED.values() for limit in LIMITS]


def table(found: dict[int, list[list[Held]]]) -> list[str]:
    lines = [
        "| matching | guarantee | log odds: promised | moved by up to | added success: promised | true "
        "| wrong decisions |",
        "|---|---|---|---|---|---|---|",
    ]
    for papers, conferences in found.items():
        for name, column in zip(guarantees(papers), zip(*conferences, strict=True), strict=True):
            added = 100 * np.array([one.found.added for one in column])
            for one in column:
                if one.found.log_odds > one.epsilon + 1e-9 or one.found.added > one.added + 1e-9:
                    raise SystemExit(f"{name}: a promise is broken")
            odds = max(one.found.log_odds for one in column)
            promised = max(one.epsilon for one in column)
            cells = [
                "none" if promised > 50.0 else f"{promised:.2f}",
                "all the way" if odds > 20.0 else f"{odds:.2f}",
                f"{100 * np.mean([one.added for one in column]):.1f} points",
                f"{added.mean():.2f} ± {added.std(ddof=1) / np.sqrt(len(added)):.2f} points",
                f"{100 * np.mean([one.wrong for one in column]):.1f} %",
            ]
            lines.append(f"| {papers} x {papers} | {name} | " + " | ".join(cells) + " |")
    return lines


def lowered_table(found: dict[int, list[list[Lowered]]]) -> list[str]:
    lines = [
        "| matching | guarantee | requested: at most | epsilon was lowered in | true added success before: "
        "mean (largest) | after | wrong decisions before | after |",
        "|---|---|---|---|---|---|---|---|",
    ]
    rows = [(name, limit) for name in LOWERED for limit in LIMITS]
    for papers, conferences in found.items():
        for (name, limit), column in zip(rows, zip(*conferences, strict=True), strict=True):
            before, after = (np.array([getattr(one, part) for one in column]) for part in ("before", "after"))
            wrong = np.mean([(one.wrong_before, one.wrong_after) for one in column], axis=0)
            cells = [
                "1 point" if limit == 1.0 else f"{limit:g} points",
                f"{sum(one.lowered for one in column)} of {len(column)}",
                f"{before.mean():.2f} ({before.max():.2f})",
                f"{after.mean():.2f} ({after.max():.2f})",
                *(f"{100 * one:.2f} %" for one in wrong),
            ]
            lines.append(f"| {papers} x {papers} | {name} | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--conferences", type=int, default=200)
    parser.add_argument("--workers", type=int, default=cores())
    options = parser.parse_args()
    jobs = {papers: [(papers, seed) for seed in range(options.conferences)] for papers in SIZES}
    lines = table({papers: each(compute, jobs[papers], workers=options.workers) for papers in SIZES})
    held_lines = lowered_table(
        {papers: each(compute_lowered, jobs[papers][::2], workers=options.workers) for papers in SIZES}
    )
    print("\n".join([*lines, *held_lines]))
    command = f"python studies/coupled_guarantee.py --conferences {options.conferences}"
    tables = {"docs/audit.md": {"coupled guarantee": lines, "coupled limit": held_lines}}
    keep("coupled_guarantee", command, tables, {})


if __name__ == "__main__":
    main()
