"""What all decisions together reveal to somebody who knows how many reviews everybody wrote.

    python studies/loads.py [--papers 300] [--conferences 2] [--workers N]

Conferences of studies/audit.py: an assignment that is uniform under even loads, pools that hold each paper's
reviewers among others, the prototype's reviewers, decisions that are tossed. The adversary is played by walks
over assignments (`coupled_mcmc`), on the same conferences and coins for every guarantee. Writes
docs/numbers/loads.json and a table of docs/evidence/adversaries.md.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np

from audit import MENU, POOL, TOSSED, Setting, conference, decided
from blindcal.adversaries.coupled_exact import network, true_loads
from blindcal.adversaries.coupled_mcmc import walk
from blindcal.compute.parallel import available_cores, parallel_map
from stated import keep

TARGET = 1e-3


def coupled(setting: Setting, seed: int, workers: int) -> dict[str, tuple[float, float]]:
    """For each guarantee what all decisions together add for somebody who knows the loads, in points, with
    the error of that; and under "scores" the chance without decisions."""
    papers, truth = conference(setting, seed)
    toss = np.random.default_rng([7, seed]).random(len(papers))
    jobs = list(zip(papers, truth, toss.tolist(), strict=True))
    found: dict[str, tuple[float, float]] = {}
    for name in TOSSED:
        views = parallel_map(partial(decided, guarantee=MENU[name]), jobs, workers=workers)
        loads = true_loads(views)
        if not found:
            alone = walk(network(views, loads, [v.weight for v in views]), target=TARGET, workers=workers)
            found["scores"] = 100 * alone.success, 100 * alone.error
        after = walk(
            network(views, loads, [v.mass("chosen")[0] for v in views]),
            target=TARGET,
            workers=workers,
        )
        if not (alone.agrees and after.agrees):
            raise SystemExit(f"{setting.name}, {name}: starts do not agree")
        found[name] = 100 * (after.success - alone.success), 100 * float(np.hypot(alone.error, after.error))
    return found


def coupled_rows(setting: Setting, found: list[dict[str, tuple[float, float]]]) -> list[str]:
    """One row for each guarantee: mean over conferences, with standard error (of walks alone if one)."""
    alone = float(np.mean([one["scores"][0] for one in found]))
    rows = []
    for name in TOSSED:
        added, errors = np.array([one[name] for one in found]).T
        walked = float(np.sqrt((errors**2).sum()) / len(found))
        spread = float(added.std(ddof=1) / np.sqrt(len(found))) if len(found) > 1 else 0.0
        rows.append(
            f"| {setting.name} | {name} | {alone:.1f} % | {added.mean():+.2f} ± {max(walked, spread):.2f} |"
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--papers", type=int, default=300)
    parser.add_argument("--conferences", type=int, default=2)
    parser.add_argument("--workers", type=int, default=available_cores())
    options = parser.parse_args()
    lines = [
        "| conference | guarantee | reviewer named: scores and loads | added by all decisions (points) |",
        "|---|---|---|---|",
    ]
    for setting in (Setting(options.papers, 1, 1, 30), Setting(options.papers // 3, 3, 3, POOL)):
        found = [coupled(setting, seed, options.workers) for seed in range(options.conferences)]
        rows = coupled_rows(setting, found)
        print("\n".join(rows), flush=True)
        lines += rows
    command = f"python studies/loads.py --papers {options.papers} --conferences {options.conferences}"
    keep("loads", command, {"docs/evidence/adversaries.md": {"coupled": lines}}, {})


if __name__ == "__main__":
    main()
