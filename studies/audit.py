"""What adversaries gain who know more than a certificate assumes: evidence of their own, colluders.

    python studies/audit.py [--papers 300] [--workers N]

Single papers as in studies/menu.py, averaged over their decisions, for adversaries with evidence and for
co-reviewers; and a conference drawn with an assignment that is uniform under even loads, with pools that hold
each paper's reviewers among others, and decisions that are tossed, for colluders. Writes
docs/numbers/audit.json and two tables of docs/evidence/adversaries.md.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import ndtri

from blindcal.adversaries.findings import finding_about, paper_findings
from blindcal.adversaries.side_knowledge import co_reviewer_findings, collusion_findings, evidence_findings
from blindcal.adversaries.single_paper import View, case_view, published_view
from blindcal.compute.parallel import available_cores, parallel_map
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.policy import Policy
from blindcal.policy.solver import solve
from blindcal.posterior.paper import PaperCase
from blindcal.simulation.population import prototype_population, uniform_assignments
from menu import cases
from stated import keep

BAR = float(ndtri(0.75))
STRENGTH, COLLUDERS, POOL = 1.5, 20, 12
MENU = {
    "public": Guarantee("public", epsilon=None),
    "steady, epsilon 1": Guarantee("steady", epsilon=1.0),
    "steady, epsilon 2": Guarantee("steady", epsilon=2.0),
    "steady": Guarantee("steady", epsilon=None),
    "average, epsilon 1": Guarantee("average", epsilon=1.0),
    "average, epsilon 2": Guarantee("average", epsilon=2.0),
    "average": Guarantee("average", epsilon=None),
    "full calibration": Guarantee("none", epsilon=None),
}
TOSSED = ("steady, epsilon 2", "average, epsilon 2", "average", "full calibration")


@dataclass(frozen=True)
class Setting:
    """So many papers with so many reviews each, loads, and pools of so many candidates."""

    papers: int
    reviews: int
    load: int
    pool: int

    @property
    def name(self) -> str:
        plural = "s" if self.reviews > 1 else ""
        return (
            f"{self.papers} papers, {self.reviews} review{plural}, loads of {self.load}, pools of {self.pool}"
        )


def conference(setting: Setting, seed: int) -> tuple[list[PaperCase], list[tuple[str, ...]]]:
    """Papers and their true reviewers, lowest score first."""
    rng = np.random.default_rng([setting.papers, setting.reviews, setting.load, setting.pool, seed])
    people = setting.papers * setting.reviews // setting.load
    slope, offset, noise = prototype_population().parameters(rng, (people,))
    assignment = uniform_assignments(rng, 1, setting.papers, people, setting.reviews)[0]
    found, truth = [], []
    for number, wrote in enumerate(assignment):
        others = rng.choice(np.setdiff1d(np.arange(people), wrote), setting.pool - wrote.size, replace=False)
        pool = np.sort(np.concatenate([wrote, others]))
        score = (
            slope[wrote] * rng.standard_normal()
            + offset[wrote]
            + noise[wrote] * rng.standard_normal(wrote.size)
        )
        order = np.argsort(score)
        found.append(
            PaperCase(
                paper=f"p{number:04d}",
                scores=tuple(score[order].tolist()),
                candidates=tuple(f"r{one:04d}" for one in pool),
                inclusion=(wrote.size / pool.size,) * pool.size,
                parameters=tuple((slope[j], offset[j], noise[j], 0.0, 0.0, 0.0, 0.0) for j in pool),
                bar=BAR,
            )
        )
        truth.append(tuple(f"r{one:04d}" for one in wrote[order]))
    return found, truth


def decided(job: tuple[PaperCase, tuple[str, ...], float], guarantee: Guarantee) -> View:
    """A paper with its table and its decision; the coin, `toss`, is the same for every guarantee."""
    case, truth, toss = job
    policy = Policy(np.clip(solve(case, guarantee).accept, 0.0, 1.0))
    place = {name: index for index, name in enumerate(case.candidates)}
    row = int(np.flatnonzero((case.tuples == [place[name] for name in truth]).all(axis=1))[0])
    return published_view(case, policy, 1.0, bool(toss < policy.accept[row]), truth)


def knowing(papers: int, workers: int) -> tuple[list[str], dict[str, float]]:
    """Before the toss: the certificate's adversary, one with evidence, colluders and a co-reviewer."""
    drawn = cases(prototype_population(), papers, POOL, seed=5)
    lines = [
        f"| guarantee | reviewer named: scores alone | added | added with evidence of strength {STRENGTH:g} "
        "| added for a co-reviewer |",
        "|---|---|---|---|---|",
    ]
    gains = {}
    for name, guarantee in MENU.items():
        views = parallel_map(partial(_planned, guarantee=guarantee), drawn, workers=workers)
        plain = finding_about(paper_findings("", views, "chosen"), "chosen")
        (informed,) = evidence_findings(views, STRENGTH, ["chosen"], workers=workers)
        (company,) = co_reviewer_findings(views, ["chosen"])
        gains[name] = 100 * informed.added
        lines.append(
            f"| {name} | {100 * plain.baseline:.1f} % | {100 * plain.added:+.2f} "
            f"| {100 * informed.baseline:.1f} % {100 * informed.added:+.2f} ± {100 * informed.error:.2f} "
            f"| {100 * company.baseline:.1f} % {100 * company.added:+.2f} |"
        )
    return lines, gains


def _planned(case: PaperCase, guarantee: Guarantee) -> View:
    return case_view(case, Policy(np.clip(solve(case, guarantee).accept, 0.0, 1.0)), 1.0)


def colluding(setting: Setting, seed: int, workers: int) -> list[str]:
    """What decisions add for colluders, and the most that one makes a best guess of theirs likelier."""
    papers, truth = conference(setting, seed)
    toss = np.random.default_rng([7, seed]).random(len(papers))
    jobs = list(zip(papers, truth, toss.tolist(), strict=True))
    rows = []
    for name in TOSSED:
        views = parallel_map(partial(decided, guarantee=MENU[name]), jobs, workers=workers)
        (found,) = collusion_findings(views, COLLUDERS, ["chosen"])
        rise = 0.0 if found.rise is None else found.rise
        rows.append(
            f"| {name} | {100 * found.baseline:.1f} % | {100 * found.added:+.2f} ± {100 * found.error:.2f} "
            f"| {rise:.2f} |"
        )
    return rows


def sentences(gains: dict[str, float]) -> dict[str, list[str]]:
    """What decisions reveal to somebody with evidence, as a share of what full calibration reveals."""
    full = gains["full calibration"]
    share = {name: f"{100 * gain / full:.0f} %" for name, gain in gains.items()}
    return {
        "docs/evidence/adversaries.md": [
            f"`average` alone lets that adversary recover {share['average']} of what full calibration "
            f"reveals to it; {share['average, epsilon 1']} with epsilon 1, "
            f"{share['steady, epsilon 2']} under *steady*, epsilon 2",
        ]
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--papers", type=int, default=300)
    parser.add_argument("--workers", type=int, default=available_cores())
    options = parser.parse_args()
    known, gains = knowing(options.papers, options.workers)
    together = [
        f"| guarantee | reviewer named: {COLLUDERS} colluders | added | best guess rose by up to |",
        "|---|---|---|---|",
        *colluding(Setting(options.papers, 3, 3, POOL), 0, options.workers),
    ]
    told = sentences(gains)
    print("\n".join([*known, *together, *told["docs/evidence/adversaries.md"]]))
    tables = {"docs/evidence/adversaries.md": {"knowing": known, "colluding": together}}
    keep("audit", f"python studies/audit.py --papers {options.papers}", tables, told)


if __name__ == "__main__":
    main()
