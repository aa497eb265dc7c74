"""What adversaries gain who know more than a certificate assumes: evidence of their own, colluders.

    python studies/audit.py [--papers 300] [--workers N]

Single papers as in studies/menu.py, averaged over their decisions, for adversaries with evidence and for
co-reviewers; and a conference drawn with an assignment that is uniform under even loads, with pools that hold
each paper's reviewers among others, and decisions that are tossed, for colluders.

And what calibration fitted on the reviews being decided gives away. Each reviewer's "offset" is the mean of
the scores they gave in this very conference, to two decimals. An adversary that sees scores, pools and these
offsets, and no decision at all, lists for every reviewer the ways to have written reviews of the papers in
whose pools they are, keeps those whose mean is the published one, and names for each review the candidate
that most of them (by prior weight) point to. It looks at one reviewer at a time, so what it finds is a lower
bound. Writes docs/numbers/audit.json, two tables and three sentences of docs/evidence/adversaries.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
from scipy.special import ndtri

from blindcal.adversaries.findings import Finding, finding_about, paper_findings
from blindcal.adversaries.side_knowledge import co_reviewer_findings, collusion_findings, evidence_findings
from blindcal.adversaries.single_paper import View, published_view
from blindcal.checks import Array
from blindcal.compute.parallel import parallel_map
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.policy import Policy
from blindcal.policy.solver import solve
from blindcal.posterior.paper import PaperCase
from blindcal.simulation.conference import SimulatedConference, simulate, uniform_case
from blindcal.simulation.population import prototype_population, uniform_assignments
from menu import cases
from stated import asked, guarantees, keep, planned_view, table

BAR = float(ndtri(0.75))
STRENGTH, COLLUDERS, POOL = 1.5, 20, 12
MENU = guarantees(
    "public; steady, epsilon 1; steady, epsilon 2; steady; average, epsilon 1; average, epsilon 2; "
    "average; full calibration"
)
TOSSED = ("steady, epsilon 2", "average, epsilon 2", "average", "full calibration")


@dataclass(frozen=True)
class Setting:
    """So many papers with so many reviews each, loads, and pools of so many candidates."""

    papers: int
    reviews: int
    load: int
    pool: int


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
        known = np.column_stack([slope, offset, noise])[pool]
        found.append(uniform_case(f"p{number:04d}", score, [f"r{one:04d}" for one in pool], known, BAR))
        truth.append(tuple(f"r{one:04d}" for one in wrote[np.argsort(score)]))
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
    rows, gains = [], {}
    for name, guarantee in MENU.items():
        views = parallel_map(partial(planned_view, guarantee=guarantee), drawn, workers=workers)
        plain = finding_about(paper_findings("", views, "chosen"), "chosen")
        (informed,) = evidence_findings(views, STRENGTH, ["chosen"], workers=workers)
        (company,) = co_reviewer_findings(views, ["chosen"])
        gains[name] = 100 * informed.added
        cells = [f"{100 * plain.baseline:.1f} %", f"{100 * plain.added:+.2f}"]
        cells += [f"{100 * informed.baseline:.1f} % {_added(informed)}"]
        cells += [f"{100 * company.baseline:.1f} % {100 * company.added:+.2f}"]
        rows.append([name, *cells])
    head = [f"added with evidence of strength {STRENGTH:g}", "added for a co-reviewer"]
    return table(["guarantee", "reviewer named: scores alone", "added", *head], *rows), gains


def _added(finding: Finding) -> str:
    return f"{100 * finding.added:+.2f} ± {100 * finding.error:.2f}"


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
        rows.append([name, f"{100 * found.baseline:.1f} %", _added(found), f"{rise:.2f}"])
    head = ["guarantee", f"reviewer named: {COLLUDERS} colluders", "added", "best guess rose by up to"]
    return table(head, *rows)


# --- calibration fitted on the reviews being decided

_MOST_PAPERS = 9


@dataclass(frozen=True)
class Leak:
    """Chance to name a reviewer: from the pools alone, and with the fitted offsets beside them."""

    pools_alone: float
    with_fitted_offsets: float
    reviews: int


def leak(papers: int = 300, pool: int = 8, per_paper: int = 3, seed: int = 1) -> Leak:
    """Reviewers in more than nine pools are not looked at: they keep the chance that the pool gives them."""
    drawn = simulate(papers, pool, per_paper, seed=seed)
    score = drawn.score.round(2)
    chance = np.full((papers, per_paper, len(drawn.slope)), 1 / pool)
    for j in range(len(drawn.slope)):
        _look_at(j, drawn, score, chance)
    right = 0
    for i in range(papers):
        named = drawn.pool[i][chance[i][:, drawn.pool[i]].argmax(axis=1)]
        right += int((named == drawn.reviewer[i]).sum())
    return Leak(1 / pool, right / (papers * per_paper), papers * per_paper)


def _look_at(j: int, drawn: SimulatedConference, score: Array, chance: Array) -> None:
    """Fill in P(j wrote the review) for the papers in whose pools j is."""
    where = np.flatnonzero((drawn.pool == j).any(axis=1))
    if not 0 < where.size <= _MOST_PAPERS:
        return
    slots = score.shape[1]
    ways = np.array(list(product(range(slots + 1), repeat=where.size)))
    given = np.concatenate([score[where], np.zeros((where.size, 1))], axis=1)
    total = given[np.arange(where.size), ways].sum(axis=1)
    written = (ways < slots).sum(axis=1)
    wrote = drawn.reviewer[where] == j
    published = round(float(score[where][wrote].mean()), 2) if wrote.any() else None
    if published is None:
        fits = written == 0
    else:
        fits = (written > 0) & (np.abs(total / np.maximum(written, 1) - published) <= 0.005 + 1e-9)
    inside = slots / drawn.pool.shape[1]
    weight = fits * (inside / slots) ** written * (1 - inside) ** (where.size - written)
    for index, i in enumerate(where):
        for slot in range(slots):
            chance[i, slot, j] = weight[ways[:, index] == slot].sum() / weight.sum()


def sentences(gains: dict[str, float]) -> list[str]:
    """What decisions reveal to somebody with evidence, as a share of what full calibration reveals."""
    share = {name: f"{100 * gain / gains['full calibration']:.0f} %" for name, gain in gains.items()}
    return [
        f"`average` alone lets that adversary recover {share['average']} of what full calibration "
        f"reveals to it; {share['average, epsilon 1']} with epsilon 1, "
        f"{share['steady, epsilon 2']} under *steady*, epsilon 2",
    ]


def leak_sentences(found: Leak) -> list[str]:
    return [
        f"names {100 * found.with_fitted_offsets:.1f} % of the reviewers without seeing any decision",
        f"against {100 * found.pools_alone:.1f} % from the pools",
    ]


def main() -> None:
    options = asked("audit", __doc__, papers=300)
    known, gains = knowing(options.papers, options.workers)
    together = colluding(Setting(options.papers, 3, 3, POOL), 0, options.workers)
    page, said = "docs/evidence/adversaries.md", [*sentences(gains), *leak_sentences(leak())]
    keep(options, {page: {"knowing": known, "colluding": together}}, {page: said})


if __name__ == "__main__":
    main()
