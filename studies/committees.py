"""Which guarantee should be the default: what each keeps and reveals, for whole committees and small pools.

    python studies/committees.py [--committees 16] [--papers 8] [--workers N]

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

from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations
from math import log, sqrt

import numpy as np

from blindcal.checks import Array
from blindcal.compute.parallel import parallel_map
from blindcal.planning.expected_errors import expected_figures
from blindcal.policy.solver import solve
from blindcal.posterior.belief import Belief
from blindcal.posterior.conference import assemble
from blindcal.posterior.paper import PaperCase
from blindcal.posterior.tuple_weights import tuple_posteriors
from blindcal.simulation.conference import uniform_case
from blindcal.simulation.population import Population, nips_2014_population, prototype_population, rounded
from stated import asked, guarantees, keep, mean_and_error, ratio_of_means, table

REVIEWS, PAPERS, RATE = 3, 24, 0.25
STRENGTH, HINTS, GROUPS = 1.5, 200, 100
# With more tuples than this a paper is solved as in a large conference: the tables lose at most their gap.
LISTED = 20_000
# Outcomes rarer than this are left to the certificate: the program's own table may miss limits there.
RARE = 1e-6
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
MENU = guarantees(
    "public; steady, epsilon 1; steady, epsilon 2; steady, epsilon 3; steady; crowd of 20, epsilon 2; "
    "crowd of 20, epsilon 3; crowd of 20, epsilon 4; crowd of 20; crowd of 10, epsilon 2; "
    "crowd of 10, epsilon 3; crowd of 10, epsilon 4; crowd of 10; crowd of 5, epsilon 3; "
    "average, epsilon 2; average, epsilon 3; average; average and crowd of 10, epsilon 3; "
    "average and crowd of 10; epsilon 2 alone; epsilon 3 alone; full calibration"
)


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
    stated = np.column_stack([slope, offset, noise, np.zeros((people, 4))])
    if setting.uncertain:
        # Half of the variance is known: the truth is N(stated, se^2), and the stated ones vary less.
        error = population.offset * sqrt(0.5)
        stated[:, 1] = offset / sqrt(2.0)
        stated[:, 4] = error
        offset = stated[:, 1] + error * rng.standard_normal(people)
    spread = sqrt(float(slope.mean()) ** 2 + population.offset**2 + population.noise**2)
    grid = tuple((spread * np.linspace(-2.25, 2.25, 10)).tolist()) if setting.rounded else None
    more = {"grid": grid, "most_listed": LISTED}
    cases = []
    for paper in range(PAPERS):
        pool = (
            np.arange(people) if setting.whole else np.sort(rng.choice(people, setting.size, replace=False))
        )
        wrote = rng.choice(pool, setting.reviews, replace=False)
        score = population.scores(rng, rng.standard_normal(), slope[wrote], offset[wrote], noise[wrote])
        score = score if grid is None else rounded(score, grid)
        names = [f"r{one:05d}" for one in pool]
        cases.append(uniform_case(f"p{paper:03d}", score, names, stated[pool], 0.0, **more))
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


def over_committees(values: Array) -> tuple[Array, Array]:
    """The mean of `[committee, paper]`, and its standard error over committees."""
    return mean_and_error(values.mean(axis=1))


def kept(result: Array, guarantee: int) -> tuple[float, float]:
    """The share of full calibration's benefit over mean scores that is kept, with its error."""
    raw, wrong, full = (column(result, name, guarantee).mean(axis=1) for name in ("raw", "wrong", "full"))
    return ratio_of_means(raw - wrong, raw - full)


def worthwhile(result: Array) -> bool:
    """Whether full calibration's gain exceeds three standard errors."""
    gain, error = over_committees(column(result, "raw", 0) - column(result, "full", 0))
    return bool(gain > 3.0 * error)


def strictness(results: dict[Setting, Array], guarantee: int) -> tuple[float, float, float]:
    """The largest posterior with hints over all settings, to two decimals; then epsilon; then the rise."""
    largest = max(float(column(result, "hinted_largest", guarantee).max()) for result in results.values())
    rise = max(float(column(result, "rise", guarantee).max()) for result in results.values())
    limit = list(MENU.values())[guarantee].epsilon
    return round(largest, 2), float("inf") if limit is None else limit, round(rise, 2)


def ordinary(results: dict[Setting, Array]) -> dict[Setting, Array]:
    """The whole committees of 60 and more in which full calibration gains."""
    return {s: r for s, r in results.items() if s.whole and s.size >= 60 and worthwhile(r)}


def default_guarantee(results: dict[Setting, Array]) -> str | None:
    """The strictest that keeps half of the benefit, by more than a standard error, wherever there is one."""
    chosen = ordinary(results)
    for index in sorted(range(len(MENU)), key=lambda index: strictness(chosen, index)):
        if all(share - error >= 0.5 for share, error in (kept(r, index) for r in chosen.values())):
            return list(MENU)[index]
    return None


def percent(value: tuple[float, float], digits: int = 0) -> str:
    return f"{100 * value[0]:.{digits}f} ± {100 * value[1]:.{digits}f}"


def kept_table(results: dict[Setting, Array], names: list[str]) -> list[str]:
    """One row a setting: wrong decisions by mean scores and full calibration, and the share each keeps."""
    rows = []
    for setting, result in results.items():
        ends = [percent(over_committees(column(result, name, 0)), 1) for name in ("raw", "full")]
        rows.append([setting.name, *ends, *(percent(kept(result, list(MENU).index(name))) for name in names)])
    return table(["", "wrong, mean scores", "full", *names], *rows)


def revealed_table(results: dict[Setting, Array]) -> list[str]:
    """One row a guarantee: what it keeps and reveals, over the whole committees in which there is a gain."""
    chosen, rows = ordinary(results).values(), []
    for index, name in enumerate(MENU):
        keeps = [100 * kept(result, index)[0] for result in chosen]
        stacked = np.concatenate([result[:, :, index] for result in chosen])
        by = {label: stacked[:, :, place] for place, label in enumerate(COLUMNS)}
        pairs = (("success", "scores_only"), ("hinted", "hinted_before"), ("co", "co_before"))
        added = [percent(over_committees(by[after] - by[before]), 2) for after, before in pairs]
        tops = [f"{by[label].max():.2f}" for label in ("largest", "hinted_largest", "rise")]
        rows.append([name, f"{min(keeps):.0f} to {max(keeps):.0f} %", *added, *tops])
    head = ["guarantee", "kept, least to most", "added", "with hints", "co-reviewer", "largest posterior"]
    return table([*head, "with hints", "largest rise"], *rows)


def main() -> None:
    options = asked("committees", __doc__, committees=16, papers=8)
    results = {}
    for setting in settings():
        results[setting] = evaluate(setting, options.committees, options.papers, options.workers)
        print(f"{setting.name}: done", flush=True)
    headline = ["public", "steady, epsilon 2", "steady", "crowd of 20, epsilon 3", "crowd of 10, epsilon 3",
                "crowd of 10", "average, epsilon 2", "average"]  # fmt: skip
    tables = {"committees": kept_table(results, headline), "revealed": revealed_table(results)}
    said = [f"The default that follows is *{default_guarantee(results)}*."]
    keep(options, {PAGE: tables}, {PAGE: said})


if __name__ == "__main__":
    main()
