"""Assignments drawn at random from a real conference's bids: what each cap costs, and what it buys.

    python studies/assigning.py --data FOLDER [--papers 300] [--samples 20000] [--workers N]

FOLDER holds aamas2021.npz: `bids[reviewer, paper]` of AAMAS 2021 (3 yes, 2 maybe, 0 no, 255 conflict), from
https://github.com/PrefLib/PrefLib-Data (series 00037). Yes counts 1, maybe 0.5; 3 reviews per paper and at
most 4 papers per reviewer. Similarity and pools are exact. Scores are made up: reviewers of the prototype
population, the bar at the upper quartile of quality; errors and chances are expectations over each paper's
public belief with the sampler's own prior. Writes docs/numbers/assigning.json and the tables of
docs/evidence/assignment.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations
from pathlib import Path

import numpy as np
from scipy.special import ndtri
from scipy.stats import binom, multivariate_normal

from blindcal.assignment.sampling import Marginals, SampledAssignment, _halves, _Parts, assign, marginals
from blindcal.assignment.similarity import Similarity
from blindcal.checks import Array
from blindcal.compute.parallel import available_cores, parallel_map
from blindcal.planning.conference_plan import plan_conference
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.solver import solve
from blindcal.posterior.conference import Conference
from blindcal.posterior.paper import PaperCase, secret_of
from blindcal.simulation.population import prototype_population
from stated import keep

BAR = float(ndtri(0.75))
PER_PAPER, PER_REVIEWER = 3, 4
WORTH = {2: 0.5, 3: 1.0}
CONFLICT = 255
GUARANTEES = (
    Guarantee("steady", epsilon=2.0),
    Guarantee("average", epsilon=None),
    Guarantee("none", epsilon=None),
)
ROWS = (
    *((cap, 0.0) for cap in (0.8, 0.6, 0.5, 0.4, 0.3, 0.2)),
    *((0.5, spread) for spread in (0.05, 0.3, 1.0)),
    *((0.3, spread) for spread in (0.05, 0.3)),
    (1.0, 0.5),
)
FINE = 1024
DRAWS = 64
MORE_DRAWS = (16, 64, 256)
LITTLE = 0.05
ALARM = 1e-6
ROUNDING = 1e-9


def similarity_of(folder: Path, otherwise: float = 0.0) -> Similarity:
    """The bids as similarities; a pair without a bid counts `otherwise`."""
    bids = np.load(folder / "aamas2021.npz")["bids"].T
    value = np.full(256, otherwise)
    for bid, worth in WORTH.items():
        value[bid] = worth
    names = [f"p{i:03d}" for i in range(bids.shape[0])], [f"r{j:03d}" for j in range(bids.shape[1])]
    return Similarity.dense(*names, value[bids], bids == CONFLICT)


def cases_of(assigned: SampledAssignment, papers: int, seed: int) -> list[PaperCase]:
    """Every so many papers with made-up scores of the reviewers they were assigned."""
    rng, population = np.random.default_rng(seed), prototype_population()
    people = assigned.similarity.reviewers
    slope, offset, noise = population.parameters(rng, (len(people),))
    rows = {
        name: (*one, 0.0, 0.0, 0.0, 0.0)
        for name, one in zip(
            people, zip(slope.tolist(), offset.tolist(), noise.tolist(), strict=True), strict=True
        )
    }
    pools, who = assigned.pools(), assigned.reviewers
    found = []
    for index in np.unique(np.linspace(0, len(pools) - 1, papers).astype(int)):
        paper = assigned.similarity.papers[index]
        true = np.array([people.index(name) for name in who[paper]])
        scores = population.scores(rng, rng.standard_normal(), slope[true], offset[true], noise[true])
        names = sorted(pools[paper])
        found.append(
            PaperCase(
                paper=paper,
                scores=tuple(sorted(scores.tolist())),
                candidates=tuple(names),
                inclusion=tuple(pools[paper][name] for name in names),
                parameters=tuple(rows[name] for name in names),
                bar=BAR,
                sets=pools[paper].by_place(names),
            )
        )
    return found


@dataclass(frozen=True, eq=False)
class Measured:
    """For each paper: wrong decisions (raw, then each guarantee) and reviewers named (scores alone first)."""

    wrong: Array
    named: Array

    def kept(self, column: int) -> tuple[float, float]:
        """Share of full calibration's benefit over raw, and its standard error."""
        benefit, whole = self.wrong[:, 0] - self.wrong[:, column], self.wrong[:, 0] - self.wrong[:, -1]
        share = float(benefit.mean() / whole.mean())
        return share, float(np.std(benefit - share * whole) / whole.mean() / np.sqrt(len(whole)))


def solved(case: PaperCase) -> tuple[list[float], list[float]]:
    belief = case.belief
    right = float(belief.weight @ belief.favor)
    raw = 1 - right if np.mean(case.scores) > BAR else right
    alone = np.mean([np.bincount(slot, belief.weight).max() for slot in case.tuples.T])
    found = [solve(case, guarantee) for guarantee in GUARANTEES]
    return [raw, *(one.error for one in found)], [float(alone), *(one.success for one in found)]


def measured(cases: Sequence[PaperCase], workers: int) -> Measured:
    wrong, named = zip(*parallel_map(solved, cases, workers=workers), strict=True)
    return Measured(np.array(wrong), np.array(named))


def misread(case: PaperCase) -> tuple[float, float]:
    """Full calibration certified for the chances alone, and what the sampler's own prior makes of it."""
    alone = replace(case, sets=None)
    policy = solve(alone, GUARANTEES[-1])
    place = {tuple(row): index for index, row in enumerate(alone.tuples.tolist())}
    accept = policy.accept[[place[tuple(row)] for row in case.tuples.tolist()]]
    weight = case.belief.weight
    truth = np.mean(
        [
            np.bincount(slot, weight * accept).max() + np.bincount(slot, weight * (1 - accept)).max()
            for slot in case.tuples.T
        ]
    )
    return float(policy.success), float(truth)


def percent(value: float, digits: int = 1) -> str:
    return f"{100 * value:.{digits}f} %"


def cap_table(similarity: Similarity, papers: int, workers: int) -> list[str]:
    best = marginals(similarity, per_paper=PER_PAPER, per_reviewer=PER_REVIEWER).kept(similarity)
    lines = [
        "| cap | spread | similarity kept | candidates per paper | reviewer named: before any score "
        "| from the scores | and the decisions | benefit kept | with `average` |",
        "|---" * 9 + "|",
    ]
    for cap, spread in ROWS:
        asked = {"per_paper": PER_PAPER, "per_reviewer": PER_REVIEWER, "cap": cap, "spread": spread}
        fine = marginals(similarity, **asked, draws=FINE)
        assigned = assign(similarity, **asked, draws=DRAWS, seed=bytes(32))
        top = np.zeros(len(similarity.papers))
        np.maximum.at(top, assigned.chances.paper, assigned.chances.probability)
        found = measured(cases_of(assigned, papers, seed=1), workers)
        steady, average = found.kept(1), found.kept(2)
        cells = [
            f"{cap:g}",
            f"{spread:g}",
            percent(fine.kept(similarity) / best),
            f"{np.median(fine.pool_sizes):g}",
            percent(top.mean() / PER_PAPER),
            percent(found.named[:, 0].mean()),
            percent(found.named[:, 1].mean()),
            f"{100 * steady[0]:.0f} ± {100 * steady[1]:.0f} %",
            f"{100 * average[0]:.0f} ± {100 * average[1]:.0f} %",
        ]
        lines.append("| " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    return lines


def without_bids(folder: Path) -> list[str]:
    """What is kept at each cap if a pair without a bid counts a little and not nothing."""
    similarity = similarity_of(folder, LITTLE)
    asked = {"per_paper": PER_PAPER, "per_reviewer": PER_REVIEWER}
    best = marginals(similarity, **asked).kept(similarity)
    caps = [cap for cap, spread in ROWS if spread == 0.0 and cap < 1.0]
    kept = [100 * marginals(similarity, **asked, cap=cap, draws=FINE).kept(similarity) / best for cap in caps]
    *most, last = (f"{share:.1f}" for share in kept)
    return [f"counted {LITTLE:g}, it would be {', '.join(most)} and {last} %"]


def draw_table(similarity: Similarity, papers: int, workers: int) -> list[str]:
    lines = [
        "| cap | draws | sets per paper | reviewer named from the scores | if fully calibrated "
        "| certified for the chances alone | true then |",
        "|---" * 7 + "|",
    ]
    for cap in (0.5, 0.3):
        for draws in MORE_DRAWS:
            assigned = assign(
                similarity,
                per_paper=PER_PAPER,
                per_reviewer=PER_REVIEWER,
                cap=cap,
                draws=draws,
                seed=bytes(32),
            )
            cases = cases_of(assigned, papers, seed=1)
            found = measured(cases, workers)
            claimed, true = (
                np.array(part) for part in zip(*parallel_map(misread, cases, workers=workers), strict=True)
            )
            sets = np.median([len(case.sets or ()) for case in cases])
            cells = [f"{cap:g}", f"{draws}", f"{sets:g}", percent(found.named[:, 0].mean())]
            cells += [percent(found.named[:, -1].mean()), percent(claimed.mean()), percent(true.mean())]
            lines.append("| " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    return lines


def frequencies(similarity: Similarity, samples: int, workers: int) -> list[str]:
    """One draw of each of many seeds: all feasible, and every pair as often as it must be, up to chance."""
    chances = marginals(
        similarity, per_paper=PER_PAPER, per_reviewer=PER_REVIEWER, cap=0.5, spread=0.05, draws=DRAWS
    )
    counted = parallel_map(
        partial(_counted, chances=chances), np.array_split(np.arange(samples), 50), workers=workers
    )
    times, p = np.sum(counted, axis=0)[chances.paper, chances.reviewer], chances.probability
    tail = 2 * np.minimum(binom.cdf(times, samples, p), binom.sf(times - 1, samples, p)).min()
    if times.sum() != samples * PER_PAPER * len(similarity.papers) or tail * times.size < ALARM:
        raise SystemExit("the draws do not have the chances")
    return [
        f"In {samples:,} draws, all feasible, the frequency of each of the {times.size:,} pairs",
        f"smallest p-value {tail:.1g}",
    ]


def _counted(seeds: Array, chances: Marginals) -> Array:
    times = np.zeros((1 + int(chances.paper.max()), 1 + int(chances.reviewer.max())), dtype=np.int64)
    for number in seeds.tolist():
        draw = _one(chances, number.to_bytes(32, "big"))
        if np.bincount(draw.ravel()).max() > PER_REVIEWER or (np.diff(draw, axis=1) <= 0).any():
            raise SystemExit("a draw is not feasible")
        times[np.arange(len(draw))[:, None], draw] += 1
    return times


def _one(chances: Marginals, seed: bytes) -> Array:
    """The first draw of `halved`, without the others."""
    parts = _Parts(np.zeros_like(chances.paper), chances.paper, chances.reviewer, chances.units)
    size = chances.draws
    while size > 1:
        parts, size = _halves(parts, seed, size), size // 2
        parts = parts[parts.part == 0]
    order = np.lexsort((parts.reviewer, parts.paper))
    return parts.reviewer[order].reshape(-1, chances.per_paper)


def adversary(similarity: Similarity, papers: int, workers: int) -> list[str]:
    """An observer who enumerates all draws names as many reviewers as is certified, and no more."""
    assigned = assign(
        similarity,
        per_paper=PER_PAPER,
        per_reviewer=PER_REVIEWER,
        cap=0.5,
        spread=0.05,
        draws=DRAWS,
        seed=bytes(32),
    )
    cases = cases_of(assigned, papers, seed=1)
    certified, listed = (
        np.array(part) for part in zip(*parallel_map(_listed, cases, workers=workers), strict=True)
    )
    if np.abs(certified - listed).max() > ROUNDING:
        raise SystemExit("somebody who lists all draws does better than certified")
    return [f"For {len(cases)} papers under *steady*, epsilon 2, an observer who enumerates all draws"]


def _listed(case: PaperCase) -> tuple[float, float]:
    """Reviewers named: as certified, and by enumerating all draws with densities that are not the code's."""
    planned = plan_conference(Conference((case,), BAR, None, (1.0,)), GUARANTEES[0])[0][0]
    mass = np.zeros((2, PER_PAPER, len(case.candidates)))
    for people, times in case.sets or ():
        for order in permutations(people):
            slope, offset, noise = np.array([case.parameters[j][:3] for j in order]).T
            density = multivariate_normal(offset, np.outer(slope, slope) + np.diag(noise**2)).pdf(case.scores)
            accept = planned.policy.accept[secret_of(case, [case.candidates[j] for j in order])]
            mass[0, range(PER_PAPER), order] += times * density * accept
            mass[1, range(PER_PAPER), order] += times * density * (1 - accept)
    named = mass.max(axis=2).sum() / mass[:, 0].sum()
    return float(planned.claim.success), float(named)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--papers", type=int, default=300)
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=available_cores())
    options = parser.parse_args()
    if options.data is None:
        print("give --data, a folder with the bids: nothing was computed")
        return
    similarity = similarity_of(options.data)
    said = frequencies(similarity, options.samples, options.workers)
    said += adversary(similarity, options.papers, options.workers)
    said += without_bids(options.data)
    print("\n".join(said), flush=True)
    tables = {
        "caps": cap_table(similarity, options.papers, options.workers),
        "draws": draw_table(similarity, options.papers, options.workers),
    }
    command = (
        f"python studies/assigning.py --data FOLDER --papers {options.papers} --samples {options.samples}"
    )
    keep("assigning", command, {"docs/evidence/assignment.md": tables}, {"docs/evidence/assignment.md": said})


if __name__ == "__main__":
    main()
