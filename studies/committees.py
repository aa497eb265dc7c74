"""Which guarantee should be the default: what each keeps and reveals, for whole committees and small pools.

    python studies/committees.py [--committees 8] [--papers 8] [--workers N]

A conference has one committee and 24 papers. In a *whole committee* everyone is a candidate for every paper;
in *small pools* each paper has candidates of its own. The bar is the one at which a quarter of the papers
are expected to be accepted. `--papers` of each conference are solved under every guarantee. Errors,
posteriors and rises are exact expectations over each paper's public belief, or estimated from a sample of
tuples if there are too many to list. Standard errors are over conferences.

Reviewers: the prototype's, those with NIPS 2014's variances, moderate ones, and four kinds with the variance
shares of real raters (docs/evidence/calibrators.md). Further settings change one thing of the ordinary one:
uncertain calibration, four reviews, rounded scores, or all three.

Two adversaries know more than the certificate's: one with a hint about each review, a number from N(0, 1)
for every candidate, shifted by 1.5 for the reviewer; and a co-reviewer, who knows the names of the paper's
reviewers and which review is its own. Writes two tables.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations
from math import log, sqrt
from pathlib import Path

import numpy as np

from blindcal.checks import Array
from blindcal.compute.parallel import available_cores, parallel_map
from blindcal.planning.expected_errors import expected_figures
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.solver import solve
from blindcal.posterior.belief import Belief
from blindcal.posterior.conference import assemble
from blindcal.posterior.paper import PaperCase
from blindcal.posterior.tuple_weights import tuple_posteriors
from blindcal.simulation.population import Population, nips_2014_population, prototype_population, rounded
from stated import keep

REVIEWS, PAPERS, RATE = 3, 24, 0.25
STRENGTH, HINTS, GROUPS = 1.5, 200, 100
# With more tuples than this a paper is solved as in a large conference: the tables lose at most their gap.
LISTED = 20_000
# Outcomes rarer than this are left to the certificate: the program's own table may miss limits there.
RARE = 1e-6
FULL = "full calibration"
PAGE = "docs/evidence/guarantees.md"


def shares(quality: float, offset: float, slope: float, residual: float) -> Population:
    """Reviewers with these shares of the variance of a score; quality has variance 1."""
    return Population(
        slopes="lognormal",
        slope_spread=sqrt(log(1.0 + slope / quality)),
        offset=sqrt(offset / quality),
        noise=sqrt(residual / quality),
    )


KINDS = {
    "moderate": Population(slopes="lognormal", slope_spread=0.2, offset=0.67, noise=0.7),
    "NIPS 2014": nips_2014_population(),
    "prototype": prototype_population(),
    "peer grades (MOOC)": shares(38, 29, 2, 32),
    "peer grades (R course)": shares(46, 4, 31, 19),
    "piano": shares(23, 10, 3, 64),
    "dancing": shares(75, 11, 4, 10),
}
MENU = {
    "public": Guarantee("public", epsilon=None),
    "steady, epsilon 1": Guarantee("steady", epsilon=1.0),
    "steady, epsilon 2": Guarantee("steady", epsilon=2.0),
    "steady, epsilon 3": Guarantee("steady", epsilon=3.0),
    "steady": Guarantee("steady", epsilon=None),
    "crowd of 20, epsilon 2": Guarantee("crowd", among=20, epsilon=2.0),
    "crowd of 20, epsilon 3": Guarantee("crowd", among=20, epsilon=3.0),
    "crowd of 20, epsilon 4": Guarantee("crowd", among=20, epsilon=4.0),
    "crowd of 20": Guarantee("crowd", among=20, epsilon=None),
    "crowd of 10, epsilon 2": Guarantee("crowd", among=10, epsilon=2.0),
    "crowd of 10, epsilon 3": Guarantee("crowd", among=10, epsilon=3.0),
    "crowd of 10, epsilon 4": Guarantee("crowd", among=10, epsilon=4.0),
    "crowd of 10": Guarantee("crowd", among=10, epsilon=None),
    "crowd of 5, epsilon 3": Guarantee("crowd", among=5, epsilon=3.0),
    "average, epsilon 2": Guarantee("average", epsilon=2.0),
    "average, epsilon 3": Guarantee("average", epsilon=3.0),
    "average": Guarantee("average", epsilon=None),
    "average and crowd of 10, epsilon 3": Guarantee("average", among=10, epsilon=3.0),
    "average and crowd of 10": Guarantee("average", among=10, epsilon=None),
    "epsilon 2 alone": Guarantee("none", epsilon=2.0),
    "epsilon 3 alone": Guarantee("none", epsilon=3.0),
    FULL: Guarantee("none", epsilon=None),
}


@dataclass(frozen=True)
class Setting:
    """A committee or pools of this size, and how scores arise."""

    size: int
    kind: str = "moderate"
    whole: bool = True
    reviews: int = REVIEWS
    uncertain: bool = False
    rounded: bool = False

    @property
    def name(self) -> str:
        extra = [f"{self.reviews} reviews"] * (self.reviews != REVIEWS)
        extra += ["uncertain"] * self.uncertain + ["rounded"] * self.rounded
        where = f"committee of {self.size}" if self.whole else f"pools of {self.size}"
        return ", ".join([where, self.kind, *extra])


def settings() -> list[Setting]:
    """Every kind of reviewers at every size, then the ordinary committee with one thing changed."""
    chosen = [Setting(size, kind) for size in (20, 60, 110, 200) for kind in list(KINDS)[:3]]
    chosen += [Setting(60, kind) for kind in list(KINDS)[3:]]
    chosen += [Setting(size, kind, whole=False) for size in (6, 8, 12) for kind in list(KINDS)[:3]]
    for size, kind in ((60, "moderate"), (60, "NIPS 2014"), (110, "moderate")):
        ordinary = Setting(size, kind)
        chosen += [replace(ordinary, uncertain=True), replace(ordinary, rounded=True)]
        chosen += [replace(ordinary, reviews=4, uncertain=True, rounded=True)]
    chosen += [replace(Setting(60), reviews=4)]
    return chosen


def conference(setting: Setting, number: int) -> tuple[tuple[PaperCase, ...], tuple[float, ...]]:
    """The papers of one conference with their bar, and whether mean scores accept them."""
    seed = [number, setting.size, setting.reviews, list(KINDS).index(setting.kind), setting.whole]
    rng, population = np.random.default_rng(seed), KINDS[setting.kind]
    people = setting.size if setting.whole else 40 * PAPERS
    slope, offset, noise = population.parameters(rng, (people,))
    stated = np.zeros((people, 7))
    stated[:, :3] = np.column_stack([slope, offset, noise])
    if setting.uncertain:
        # Half of the variance is known: the truth is N(stated, se^2), and the stated ones vary less.
        error = population.offset * sqrt(0.5)
        stated[:, 1] = offset / sqrt(2.0)
        stated[:, 4] = error
        offset = stated[:, 1] + error * rng.standard_normal(people)
    spread = sqrt(float(slope.mean()) ** 2 + population.offset**2 + population.noise**2)
    grid = tuple((spread * np.linspace(-2.25, 2.25, 10)).tolist()) if setting.rounded else None
    cases = []
    for paper in range(PAPERS):
        pool = (
            np.arange(people) if setting.whole else np.sort(rng.choice(people, setting.size, replace=False))
        )
        wrote = rng.choice(pool, setting.reviews, replace=False)
        score = population.scores(rng, rng.standard_normal(), slope[wrote], offset[wrote], noise[wrote])
        score = score if grid is None else rounded(score, grid)
        cases.append(
            PaperCase(
                paper=f"p{paper:03d}",
                scores=tuple(sorted(score.tolist())),
                candidates=tuple(f"r{one:05d}" for one in pool),
                inclusion=(setting.reviews / pool.size,) * pool.size,
                parameters=tuple(map(tuple, stated[pool].tolist())),
                bar=0.0,
                grid=grid,
                most_listed=LISTED,
            )
        )
    built = assemble(cases, RATE, None)
    return built.cases, built.raw_accept


def reviewer_masses(belief: Belief, accept: Array, people: int) -> Array:
    """`[outcome, slot, candidate]`: P(outcome, and this candidate wrote this review | scores)."""
    if belief.labels is None:
        raise ValueError("a paper's belief has labels")
    chance = belief.spread(accept)
    return np.array(
        [
            [np.bincount(slot, mass, people)[:people] for slot in belief.labels]
            for mass in (belief.weight * chance, belief.weight * (1.0 - chance))
        ]
    )


def by_candidate(belief: Belief, mass: Array) -> Array:
    """Labels that stand for several equally likely candidates, as one candidate each."""
    if belief.alike is None:
        return mass
    count = np.zeros(mass.shape[-1])
    count[: belief.alike.size] = belief.alike
    return np.repeat(mass / np.maximum(count, 1), count.astype(int), axis=-1)


def with_hints(mass: Array, hints: Array) -> tuple[float, float, float]:
    """With hints about each review: reviewers named without and with the decision, and the largest posterior.

    The hint adds `STRENGTH * signal` to a candidate's log odds. Signals are N(0, 1), and the reviewer's is
    shifted by the strength: summing over who the reviewer is weighs each draw by exp(STRENGTH * signal_y).
    Both sums are over the same draws, so that no ratio of them exceeds 1.
    """
    factor = np.exp(STRENGTH * hints)
    alone = mass.sum(axis=0)
    before = (factor[:, None] * alone).max(axis=-1).mean(axis=0)
    tops = (factor[:, None, None] * mass).max(axis=-1).mean(axis=0)
    total = (factor[:, None, None] * mass).sum(axis=-1).mean(axis=0)
    largest = (tops / total)[mass.sum(axis=-1) > RARE]
    every = total.sum(axis=0)
    return float((before / every).mean()), float((tops.sum(axis=0) / every).mean()), float(largest.max())


def co_reviewer(case: PaperCase, accept: Array, sets: Array) -> tuple[float, float]:
    """Naming the writer of another review, for a reviewer who knows the names of all: without and with."""
    reviews = len(case.scores)
    orders = np.array(list(permutations(range(reviews))))
    rows = sets[:, orders].reshape(-1, reviews)
    log_weight = tuple_posteriors(case, rows)[0].reshape(len(sets), -1)
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    chance = accept_of(case, accept, rows).reshape(weight.shape)
    alone, decided = 0.0, 0.0
    for own in range(reviews):
        for slot in range(reviews):
            if slot == own:
                continue
            # Given who has the own slot, who has the other one?
            pairs = orders[:, own] * reviews + orders[:, slot]
            sums = [
                np.stack([(weight * part)[:, pairs == pair].sum(axis=1) for pair in range(reviews**2)], 1)
                for part in (np.ones_like(chance), chance, 1.0 - chance)
            ]
            tops = [part.reshape(len(sets), reviews, reviews).max(axis=2).sum(axis=1).mean() for part in sums]
            alone, decided = alone + tops[0], decided + tops[1] + tops[2]
    count = reviews * (reviews - 1)
    return float(alone / count), float(decided / count)


def accept_of(case: PaperCase, accept: Array, rows: Array) -> Array:
    """The accept probability of some tuples."""
    if not case.listed:
        return case.layout.expected(accept, rows)
    base = len(case.candidates) ** np.arange(rows.shape[1])
    keys = case.tuples @ base
    order = np.argsort(keys)
    return accept[order[np.searchsorted(keys[order], rows @ base)]]


def sampled_sets(case: PaperCase, seed: int) -> Array:
    """Tuples drawn from the belief."""
    rng = np.random.default_rng([seed, 11])
    if case.sample is not None:
        return case.sample.rows[rng.choice(len(case.sample.rows), GROUPS, replace=False)]
    return case.tuples[rng.choice(len(case.tuples), GROUPS, p=case.belief.weight)]


COLUMNS = (
    "wrong", "raw", "full", "scores_only", "success", "hinted_before", "hinted", "hinted_largest",
    "co_before", "co", "largest", "rise", "gap",
)  # fmt: skip


def compute(job: tuple[PaperCase, float]) -> Array:
    """`[guarantee, column]` of one paper."""
    case, raw = job
    people = len(case.candidates)
    hints = np.random.default_rng(5).standard_normal((HINTS, people))
    rows = []
    for guarantee in MENU.values():
        paper = case.promised(guarantee.promise)
        solution, belief = solve(paper, guarantee), paper.belief
        figures = expected_figures(belief, solution.accept, raw, sample=paper.sample, bound=solution.bound)
        mass = by_candidate(belief, reviewer_masses(belief, solution.accept, people))
        chance, alone = mass.sum(axis=-1), mass.sum(axis=0)
        top = mass.max(axis=-1) / np.where(chance > RARE, chance, np.inf)
        before = alone.max(axis=-1)
        hinted_before, hinted, hinted_largest = with_hints(mass, hints[:, : mass.shape[-1]])
        together = co_reviewer(paper, solution.accept, sampled_sets(paper, 3))
        rows.append(
            [figures.wrong, figures.wrong_raw, figures.wrong_fully_calibrated, before.mean(),
             mass.max(axis=-1).sum(axis=0).mean(), hinted_before, hinted, hinted_largest,
             *together, max(top.max(), before.max()), (top - before).max(), figures.gap]
        )  # fmt: skip
    return np.array(rows)


def evaluate(setting: Setting, committees: int, papers: int, workers: int) -> Array:
    """`[committee, paper, guarantee, column]`."""
    built = parallel_map(partial(conference, setting), list(range(committees)), workers=workers)
    jobs = [job for cases, raws in built for job in list(zip(cases, raws, strict=True))[:papers]]
    results = parallel_map(compute, jobs, workers=workers)
    return np.array(results).reshape(committees, papers, len(MENU), len(COLUMNS))


# What the arrays say.


def column(result: Array, name: str, guarantee: int) -> Array:
    """`[committee, paper]`."""
    return np.asarray(result[:, :, guarantee, COLUMNS.index(name)])


def mean_and_error(values: Array) -> tuple[float, float]:
    """The mean, and its standard error over committees."""
    by_committee = values.mean(axis=1)
    return float(by_committee.mean()), float(by_committee.std(ddof=1) / sqrt(len(by_committee)))


def kept(result: Array, guarantee: int) -> tuple[float, float]:
    """The share of full calibration's benefit over mean scores that is kept (delta method)."""
    raw = column(result, "raw", guarantee)
    benefit, whole = raw - column(result, "wrong", guarantee), raw - column(result, "full", guarantee)
    share = float(benefit.mean() / whole.mean())
    residual = (benefit - share * whole).mean(axis=1)
    return share, float(residual.std(ddof=1) / sqrt(len(residual)) / whole.mean())


def worthwhile(result: Array) -> bool:
    """Whether full calibration's gain exceeds three standard errors."""
    gain, error = mean_and_error(column(result, "raw", 0) - column(result, "full", 0))
    return gain > 3.0 * error


def strictness(results: dict[Setting, Array], guarantee: int) -> tuple[float, float, float]:
    """The largest posterior with hints over all settings, to two decimals; then epsilon; then the rise."""
    largest = max(float(column(result, "hinted_largest", guarantee).max()) for result in results.values())
    rise = max(float(column(result, "rise", guarantee).max()) for result in results.values())
    limit = list(MENU.values())[guarantee].epsilon
    return round(largest, 2), float("inf") if limit is None else limit, round(rise, 2)


def default_guarantee(results: dict[Setting, Array]) -> str | None:
    """The strictest that keeps half of the benefit, by more than a standard error, wherever there is one.

    The settings are the whole committees of 60 and more in which full calibration gains.
    """
    ordinary = {s: r for s, r in results.items() if s.whole and s.size >= 60 and worthwhile(r)}
    order = sorted(range(len(MENU)), key=lambda index: strictness(ordinary, index))
    enough = [
        index
        for index in order
        if all(share - error >= 0.5 for share, error in (kept(r, index) for r in ordinary.values()))
    ]
    return list(MENU)[enough[0]] if enough else None


def percent(value: tuple[float, float], digits: int = 0) -> str:
    return f"{100 * value[0]:.{digits}f} ± {100 * value[1]:.{digits}f}"


def kept_table(results: dict[Setting, Array], names: list[str]) -> list[str]:
    """One row a setting: wrong decisions by mean scores and full calibration, and the share each keeps."""
    lines = ["| | wrong, mean scores | full | " + " | ".join(names) + " |", "|---" * (3 + len(names)) + "|"]
    for setting, result in results.items():
        ends = [percent(mean_and_error(column(result, name, 0)), 1) for name in ("raw", "full")]
        shares_kept = [percent(kept(result, list(MENU).index(name))) for name in names]
        lines.append(f"| {setting.name} | " + " | ".join([*ends, *shares_kept]) + " |")
    return lines


def revealed_table(results: dict[Setting, Array]) -> list[str]:
    """One row a guarantee: what it keeps and reveals, over the whole committees of 60 and more."""
    chosen = {s: r for s, r in results.items() if s.whole and s.size >= 60 and worthwhile(r)}
    lines = [
        "| guarantee | kept, least to most | added | with hints | co-reviewer | largest posterior "
        "| with hints | largest rise |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for index, name in enumerate(MENU):
        keeps = [kept(result, index)[0] for result in chosen.values()]
        stacked = np.concatenate([result[:, :, index] for result in chosen.values()])
        by = {label: stacked[:, :, place] for place, label in enumerate(COLUMNS)}
        added = [
            percent(mean_and_error(by[after] - by[before]), 2)
            for after, before in (
                ("success", "scores_only"),
                ("hinted", "hinted_before"),
                ("co", "co_before"),
            )
        ]
        tops = [f"{by[label].max():.2f}" for label in ("largest", "hinted_largest", "rise")]
        lines.append(
            f"| {name} | {100 * min(keeps):.0f} to {100 * max(keeps):.0f} % | "
            + " | ".join(added + tops)
            + " |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--committees", type=int, default=8)
    parser.add_argument("--papers", type=int, default=8, help="papers of each that are solved")
    parser.add_argument("--workers", type=int, default=available_cores())
    parser.add_argument("--store", type=Path, help="a folder that keeps each setting's numbers")
    options = parser.parse_args()
    results = {}
    for setting in settings():
        file = None if options.store is None else options.store / f"{setting.name.replace(' ', '_')}.npy"
        if file is not None and file.exists():
            results[setting] = np.load(file)
            continue
        results[setting] = evaluate(setting, options.committees, options.papers, options.workers)
        print(f"{setting.name}: done", flush=True)
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            np.save(file, results[setting])
    headline = ["public", "steady, epsilon 2", "steady", "crowd of 20, epsilon 3", "crowd of 10, epsilon 3",
                "crowd of 10", "average, epsilon 2", "average"]  # fmt: skip
    tables = {"committees": kept_table(results, headline), "revealed": revealed_table(results)}
    for lines in tables.values():
        print("\n".join(lines), end="\n\n")
    default = default_guarantee(results)
    print("default:", default)
    command = f"python studies/committees.py --committees {options.committees} --papers {options.papers}"
    sentence = f"The default that follows is *{default}*."
    keep("committees", command, {PAGE: tables}, {PAGE: [sentence]})


if __name__ == "__main__":
    main()
