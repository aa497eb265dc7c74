"""A promise against somebody who knows the whole matching: what it costs, and how far it is from the truth.

    python studies/coupled_guarantee.py [--conferences 200] [--workers N]

Matchings as in studies/matchings.py: as many reviewers as papers, one review each, bar 0. A total epsilon is
parted among the papers (`blindcal.audits.ceilings`), so that all decisions together move no odds by more; the
adversary goes through every matching and every outcome. Writes docs/numbers/coupled_guarantee.json and a
table of docs/audit.md.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

import blindcal as bc
from blindcal.audits.ceilings import budget, ceilings
from blindcal.audits.views import case_view
from blindcal.workers import cores, each
from matchings import Drawn, Gain, Setting, coupled, draw, gain
from stated import keep

TOTALS = (1.0, 2.0, 5.0)
SIZES = (5, 6)


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


def held(drawn: Drawn, guarantee: bc.Guarantee) -> Held:
    count = len(drawn.score)
    papers, people = [f"p{i}" for i in range(count)], [f"r{j}" for j in range(count)]
    reviews = bc.Reviews.from_table({"paper": papers, "reviewer": people, "score": drawn.score})
    rows = np.column_stack([drawn.slope, drawn.offset, drawn.noise, np.zeros((count, 4))]).tolist()
    parameters = {name: tuple(row) for name, row in zip(people, rows, strict=True)}
    pools = {paper: dict.fromkeys(people, 1.0 / count) for paper in papers}
    conference = bc.beliefs.prepare(reviews, parameters, pools, bar=0.0)
    plans, _ = bc.plans.plan_conference(conference, guarantee)
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


def compute(job: tuple[int, int]) -> list[Held]:
    papers, seed = job
    setting = Setting(papers, 0.0)
    drawn = draw(np.random.default_rng([papers, 77, seed]), setting)
    return [held(drawn, guarantee) for guarantee in guarantees(papers).values()]


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--conferences", type=int, default=200)
    parser.add_argument("--workers", type=int, default=cores())
    options = parser.parse_args()
    found = {
        papers: each(
            compute, [(papers, seed) for seed in range(options.conferences)], workers=options.workers
        )
        for papers in SIZES
    }
    lines = table(found)
    print("\n".join(lines))
    command = f"python studies/coupled_guarantee.py --conferences {options.conferences}"
    keep("coupled_guarantee", command, {"docs/audit.md": {"coupled guarantee": lines}}, {})


if __name__ == "__main__":
    main()
