"""Decided on this year's own reviews: what all decisions together tell about who wrote what.

    python studies/this_year_observers.py [--small 200] [--middle 12] [--large 6]

The conferences of studies/this_year.py, decided with coins of their own. An observer sees all scores and all
private decisions, and knows how many reviews everybody wrote. One knows everybody's strictness, the other
only how it is spread, and both know how it is spread in truth. Four papers: all assignments are listed. More
papers: walks. Beside it the same conferences are decided by history that is as good as can be: everybody's
strictness is known and public, and a decision depends on its own paper's reviewers. Writes
docs/numbers/this_year_observers.json and a table of docs/evidence/this_year.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations, product

import numpy as np

from blindcal.adversaries.single_paper import AUTHOR, LINK
from blindcal.adversaries.this_year_exact import (
    Answers,
    Bools,
    Observed,
    all_assignments,
    best_guesses,
    likelihoods,
    observe,
    tables_of,
)
from blindcal.adversaries.this_year_mcmc import Walks, this_year_findings, walked
from blindcal.checks import Array, Integers
from blindcal.compute.parallel import parallel_map
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.solver import solve
from blindcal.simulation.conference import uniform_case
from committees import accept_of
from stated import asked, keep, mean_and_error, table
from this_year import GUARANTEES, MODERATE, NIPS, RATE, World, Year, cases_of, levels_of, simulated

ASKED = (
    "knows nothing: reviewer",
    "knows nothing: link",
    "knows strictness: reviewer",
    "knows strictness: link",
)
LOOKS = 20
HISTORY = {
    "history, odds 2": Guarantee("odds", epsilon=2.0),
    "history, odds 3": Guarantee("odds", epsilon=3.0),
    "history, crowd of 10": Guarantee("crowd", among=10, epsilon=3.0),
}
SIZES = {
    "4 papers, 4 people, 2 reviews": {"papers": 4, "people": 4, "reviews": (2,)},
    "24 papers, 18 people, 3 reviews": {"papers": 24, "people": 18},
    "60 papers, 40 people, 3 reviews": {"papers": 60, "people": 40},
}


@dataclass(frozen=True)
class Job:
    """One conference. In `small` ones everything is a lot, as if all papers were close to the bar."""

    world: World
    guarantee: str
    small: bool
    seed: int


def compute(job: Job) -> Array:
    """`[question, (baseline, added, rise)]` of one conference; before the draw if all can be listed."""
    rng = np.random.default_rng([69, job.seed])
    made = simulated(job.world, rng)
    cases = cases_of(made, share=0.5 if job.small else RATE)
    history = job.guarantee in HISTORY
    tables = tables_of(cases, GUARANTEES["3" if history else job.guarantee])
    if job.small:
        low = against_evidence({**GUARANTEES, **HISTORY}[job.guarantee])
        tables = dict.fromkeys(tables, (low, 1.0 - low))
    levels = dict(zip(made.reviews.papers, levels_of(made, cases).tolist(), strict=True))
    decided = {paper: bool(rng.random() < table[levels[paper]]) for paper, table in tables.items()}
    seen = observe(made.reviews, cases, tables, None if job.small else decided)
    seen, known = informed(seen, made, job.world)
    if history:
        return by_history(seen, known, job, rng)
    strictness = dict(zip(seen.people, known.tolist(), strict=True))
    found = this_year_findings(seen, strictness=strictness, target=0.0, most=LOOKS, seed=job.seed)
    return np.array([[one.baseline, one.added, one.rise or 0.0] for one in found.findings])


def informed(seen: Observed, made: Year, world: World) -> tuple[Observed, Array]:
    """An observer who knows how strictness is spread in truth; and everybody's own."""
    assert made.offset is not None
    known = made.offset[[int(name[1:]) for name in seen.people]] / made.model.moments.spread
    share = world.offset**2 / (world.offset**2 + world.noise**2)
    return replace(seen, strictness=share * made.model.moments.disagreement), known


# --- History.


def by_history(seen: Observed, offset: Array, job: Job, rng: np.random.Generator) -> Array:
    """The same of decisions by known strictness: no number for an observer who does not know it."""
    if job.small:
        answers = listed_history(seen, offset, against_evidence(HISTORY[job.guarantee]))
    else:
        slots = int(np.bincount(seen.paper).max())
        accept = history_tables(seen, offset, HISTORY[job.guarantee])
        truth = tuple(seen.truth.reshape(-1, slots).T)
        chance = accept[(np.arange(len(seen.papers)), *truth)]
        # Every decision may depend on who reviewed the paper.
        every = np.tile([0.0, 1.0], (chance.size, 1))
        seen = replace(seen, accept=every, decided=rng.random(chance.size) < chance)
        kind = partial(HistoryWalks, accept=accept)
        answers = walked(seen, offset, target=0.0, most=LOOKS, seed=job.seed, make=kind)
    rows = [[one.baseline, one.success - one.baseline, one.largest_rise] for one in answers.values()]
    return np.array([*np.full((2, 3), np.nan), *rows])


def history_tables(seen: Observed, offset: Array, guarantee: Guarantee) -> Array:
    """`[paper, person, ...]`: the accept chance if these people wrote its reviews, the lowest score first."""
    people, score = len(seen.people), seen.score.reshape(len(seen.papers), -1)
    slots = score.shape[1]
    rows = np.array(list(permutations(range(people), slots)))
    exact = np.column_stack([np.ones(people), offset, np.full(people, np.sqrt(seen.noise))])
    names = [f"r{one:03d}" for one in range(people)]
    accept = np.zeros((len(score), *(people,) * slots))
    for paper, (own, bar) in enumerate(zip(score, seen.bar.tolist(), strict=True)):
        case = uniform_case(f"p{paper}", own, names, exact, bar)
        case = case.promised(guarantee.promise)
        accept[(paper, *rows.T)] = accept_of(case, solve(case, guarantee).accept, rows)
    return accept


class HistoryWalks(Walks):
    """Walks that weigh decisions of which each depends on the reviewers of its own paper."""

    def __init__(self, seen: Observed, offset: Array, *, accept: Array, decided: bool, seed: int) -> None:
        self.accept = accept
        super().__init__(seen, offset, decided=decided, seed=seed)

    def _weigh_decisions(self) -> None:
        papers = len(self.seen.papers)
        every = np.tile(np.arange(papers), self.chain.size)
        self.log = self._of_papers(every, np.repeat(self.writer, papers, axis=0)).reshape(-1, papers)

    def _of_papers(self, paper: Integers, writer: Integers) -> Array:
        """The log chance of the decision on each paper, by its row of writers of all reviews."""
        reviews = self.reviews_of[paper].T
        accept = self.accept[(paper, *writer[np.arange(paper.size), reviews])]
        return np.log(np.maximum(np.where(self.decided[paper], accept, 1.0 - accept), 1e-300))

    def _accept_by_decisions(
        self, chain: Integers, one: Integers, other: Integers, r: Integers, s: Integers
    ) -> Bools:
        after = self.writer[chain]
        each = np.arange(chain.size)
        after[each, one], after[each, other] = s, r
        papers = [self.seen.paper[review] for review in (one, other)]
        logs = [self._of_papers(paper, after) for paper in papers]
        change = logs[0] - self.log[chain, papers[0]]
        change += np.where(papers[0] == papers[1], 0.0, logs[1] - self.log[chain, papers[1]])
        taken = np.asarray(np.log(self.rng.random(chain.size)) < change)
        for paper, log in zip(papers, logs, strict=True):
            self.log[chain[taken], paper[taken]] = log[taken]
        return taken


def listed_history(seen: Observed, offset: Array, low: float) -> dict[str, Answers]:
    """The answers by all assignments, before the draw, if every decision follows its paper's evidence with
    chance 1 - low."""
    writer = all_assignments(seen)
    assert writer is not None
    weight, precision = likelihoods(seen, writer, offset), np.bincount(seen.paper) / seen.noise
    sums = np.add.reduceat(seen.score - offset[writer], seen.first, axis=1)
    accept = np.where(sums / seen.noise / (1.0 + precision) > seen.bar, 1.0 - low, low)
    outcomes = product((False, True), repeat=len(seen.papers))
    chances = np.stack([np.where(outcome, accept, 1.0 - accept).prod(axis=1) for outcome in outcomes])
    guesses = {
        AUTHOR: writer[:, :, None] == np.arange(len(seen.people)),
        LINK: (writer[:, :, None] == writer[:, None, :]) & seen.apart,
    }
    return {
        question: best_guesses(weight[:, None, None] * right, weight, [chances], published=False)
        for question, right in guesses.items()
    }


def against_evidence(guarantee: Guarantee) -> float:
    """The chance that a paper by lot does not follow its evidence."""
    return 0.0 if guarantee.epsilon is None else 1.0 / (1.0 + float(np.exp(guarantee.epsilon)))


def row(name: str, kind: str, guarantee: str, found: Array) -> list[str]:
    cells = []
    for (baseline, added, _), (_, within, _) in zip(*mean_and_error(found), strict=True):
        shown = f"{100 * baseline:.1f} % {100 * added:+.2f} ± {100 * within:.2f}"
        cells.append("-" if np.isnan(baseline) else shown)
    guaranteed = guarantee if guarantee in HISTORY or guarantee == "full" else f"epsilon {guarantee}"
    return [name, kind, guaranteed, *cells, f"{found[:, 2, 2].max():.2f}"]


def main() -> None:
    options = asked("this_year_observers", __doc__, small=200, middle=12, large=6)
    sizes = dict(zip(SIZES, (options.small, options.middle, options.large), strict=True))
    small, middle, large = SIZES
    runs = [
        ("moderate", MODERATE, small, one) for one in ("2", "3", "full", "history, odds 2", "history, odds 3")
    ]
    ways = ("3", "history, odds 3", "history, crowd of 10")
    runs += [("moderate", MODERATE, size, one) for size in (middle, large) for one in ways]
    runs += [("as at NIPS", NIPS, middle, one) for one in ways]
    rows = []
    for kind, world, size, guarantee in runs:
        sized = replace(world, **SIZES[size])
        jobs = [Job(sized, guarantee, size == small, seed) for seed in range(sizes[size])]
        found = np.array(parallel_map(compute, jobs, workers=options.workers))
        rows.append(row(size, kind, guarantee, found))
        print(*rows[-1], flush=True)
    lines = table(["conferences", "reviewers", "decisions", *ASKED, "rise"], *rows)
    keep(options, {"docs/evidence/this_year.md": {"this year observers": lines}})


if __name__ == "__main__":
    main()
