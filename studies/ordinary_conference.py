"""An ordinary conference, start to end: what calibration is stated to gain and what it then gains.

    python studies/ordinary_conference.py [--conferences 96] [--years 7] [--workers N]

A committee of 40 reviews 60 papers, three reviews each, on a scale from 1 to 10; everyone is a candidate for
every paper. Two past years with 60 papers each calibrate it (`fit`). Reviewers are moderate (slopes
e^(.2 N), offsets .67, noise .7 in standard deviations of quality, which is 1.8 points). In the good case the
same people reviewed in all years and never changed; in the other one three of ten are new each year, and
habits correlate by .8 from year to year. `--conferences` of the first kind make the first table, `--years`
of both kinds the others, which add exact numbers, odds, and the worst single decision.

The stated gain is the plan's: expected wrong decisions by mean scores less those of the guarantee. The
realized gain compares with the papers' true quality: a paper is decided wrongly if it is accepted below the
upper quartile of quality, or rejected above. With an exact number the truly best quarter is right, and
private decisions are ranked as `planning` does it. The random draws themselves are averaged over. *kept* is
the part of (full - public) that a guarantee keeps. Standard errors are over conferences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

import blindcal as bc
from blindcal.checks import Array
from blindcal.compute.parallel import parallel_map
from blindcal.planning.expected_errors import expected_figures
from blindcal.planning.ranking_and_wait_list import RankPair, acceptance_probabilities, both_ranks
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.solver import solve
from blindcal.posterior.conference import assemble
from blindcal.posterior.paper import PaperCase
from blindcal.simulation.conference import uniform_case
from blindcal.simulation.population import Population, rounded, uniform_assignments
from committees import RARE, accept_of, by_candidate, reviewer_masses
from stated import asked, guarantees, keep, kept_part, table, with_errors

PAPERS, PEOPLE, REVIEWS, RATE, POINTS, MIDDLE = 60, 40, 3, 0.25, 1.8, 5.5
GRID = np.arange(1.0, 11.0)
REVIEWERS = Population(slopes="lognormal", slope_spread=0.2, offset=0.67, noise=0.7)
FIRST = guarantees(
    "public; steady, epsilon 2; steady; crowd of 10, epsilon 2; crowd of 10, epsilon 3; crowd of 10; "
    "average; full calibration"
)
MENU = {**FIRST, **guarantees("odds, epsilon 1; odds, epsilon 2; odds, epsilon 3")}
FULL = list(MENU).index("full calibration")
PAGES = ("docs/evidence/guarantees.md", "docs/howto/before_you_say_yes.md")
STATED, REALIZED, EXACT, ADDED, RISE = range(5)


@dataclass(frozen=True)
class Years:
    """How committees and people last."""

    returning: float  # the part of a committee that was there the year before
    lasting: float  # the correlation of a person's habits from year to year
    seed: int
    drawn: bool = True  # whether changes are drawn at all


ORDINARY = Years(1.0, 1.0, 7, drawn=False)
CASES = {"history": Years(1.0, 1.0, 7), "history drift": Years(0.7, 0.8, 8)}


@dataclass(frozen=True)
class Year:
    """One year's qualities `[paper]`, reviewers by name `[paper, slot]` and scores `[paper, slot]`."""

    quality: Array
    names: Array
    who: Array
    score: Array

    @property
    def reviews(self) -> bc.Reviews:
        paper = [f"p{number:03d}" for number in range(PAPERS) for _ in range(REVIEWS)]
        reviewer = self.names[self.who.ravel()].tolist()
        return bc.Reviews.from_table({"paper": paper, "reviewer": reviewer, "score": self.score.ravel()})


def drawn_years(years: Years, number: int) -> list[Year]:
    """Three years, the last one to be decided."""
    rng = np.random.default_rng([years.seed, number])
    habit, names, drawn = rng.standard_normal((3, PEOPLE)), np.arange(PEOPLE), list[Year]()
    for _ in range(3):
        quality, who = rng.standard_normal(PAPERS), uniform_assignments(rng, 1, PAPERS, PEOPLE, REVIEWS)[0]
        slope, offset, noise = (part[who] for part in _parameters(habit))
        score = REVIEWERS.scores(rng, quality[:, None], slope, offset, noise)
        ids = np.array([f"r{name:03d}" for name in names])
        drawn.append(Year(quality, ids, who, rounded(MIDDLE + POINTS * score, GRID)))
        if not years.drawn:
            continue
        fresh = rng.standard_normal((3, PEOPLE))
        habit = years.lasting * habit + np.sqrt(1.0 - years.lasting**2) * fresh
        # People sit at places of no meaning, so that any who leave are as good as drawn.
        new = round((1.0 - years.returning) * PEOPLE)
        gone = rng.permutation(PEOPLE)[:new]
        names, habit = names.copy(), habit.copy()
        names[gone], habit[:, gone] = names.max() + 1 + np.arange(new), rng.standard_normal((3, new))
    return drawn


def _parameters(habit: Array) -> tuple[Array, Array, Array]:
    """Slope, offset and noise of people from standard normal habits; all are equally noisy."""
    slope = np.exp(REVIEWERS.slope_spread * habit[0])
    return slope, REVIEWERS.offset * habit[1], np.full(PEOPLE, REVIEWERS.noise)


def largest_rise(case: PaperCase, accept: Array) -> float:
    """By how much one decision makes the best guess at a reviewer likelier, at most."""
    mass = by_candidate(case.belief, reviewer_masses(case.belief, accept, len(case.candidates)))
    chance = mass.sum(axis=-1)
    top = mass.max(axis=-1) / np.where(chance > RARE, chance, np.inf)
    return float((top - mass.sum(axis=0).max(axis=-1)).max())


def simulate_conference(job: tuple[Years, int, dict[str, Guarantee]]) -> Array:
    """`[guarantee, (stated, realized, exact, added, rise)]`: gains in papers, points of reviewers named."""
    years, number, menu = job
    *past, year = drawn_years(years, number)
    names = sorted(year.names.tolist())
    tables = {str(2025 + n): one.reviews for n, one in enumerate(past)}
    roster = bc.fit(tables, committee=names, this_year=year.reviews).roster
    place = np.argsort(np.argsort(year.names))  # of each person among sorted names
    known, grid = np.array([roster[name] for name in names]), tuple(GRID.tolist())
    papers = [uniform_case(f"p{n:03d}", s, names, known, 0.0, grid=grid) for n, s in enumerate(year.score)]
    built = assemble(papers, RATE, None)
    good, places = year.quality > ndtri(1.0 - RATE), round(RATE * PAPERS)
    best = year.quality >= np.sort(year.quality)[-places]
    truths = [
        place[who][np.argsort(score, kind="stable")] for who, score in zip(year.who, year.score, strict=True)
    ]
    raw, results, alone = np.array(built.raw_accept), np.zeros((len(menu), 5)), 0.0
    for row, guarantee in zip(results, menu.values(), strict=True):
        chances, figures, named = [], [], 0.0
        for case, truth, share in zip(built.cases, truths, built.raw_accept, strict=True):
            paper = case.promised(guarantee.promise)
            solution = solve(paper, guarantee)
            figures.append(expected_figures(paper.belief, solution.accept, share, sample=paper.sample))
            chances.append(accept_of(paper, solution.accept, truth[None])[0])
            named += solution.success
            row[RISE] = max(row[RISE], largest_rise(paper, solution.accept))
        alone = named if guarantee.name == "public" else alone
        row[ADDED] = 100.0 * (named - alone) / PAPERS
        row[STATED] = sum(one.wrong_raw - one.wrong for one in figures)
        row[REALIZED] = spared(raw, np.array(chances), good)
        ranks = [
            both_ranks(case.paper, case.scores, one) for case, one in zip(built.cases, figures, strict=True)
        ]
        row[EXACT] = spared(raw, listed(ranks, np.array(chances), places), best)
    return results


def spared(raw: Array, chance: Array, right: Array) -> float:
    """By how many wrong decisions a chance of accepting is better than mean scores."""
    return float((np.abs(raw - right) - np.abs(chance - right)).sum())


def listed(ranks: Sequence[RankPair], chance: Array, places: int) -> Array:
    """The chance of being accepted by a list, if private decisions accept with these chances."""
    on_list = acceptance_probabilities(ranks, chance.tolist(), places)
    return (1.0 - chance) * on_list[:, 0] + chance * on_list[:, 1]


# --- Tables.

GAINS = (f"stated gain, of {PAPERS} papers", "realized gain")
ON_A_LIST = ("exact number: realized", "exact number: kept")


def first_table(results: Array) -> list[str]:
    columns = [with_errors(results[:, :, column]) for column in (STATED, REALIZED)]
    columns.append(with_errors(results[:, :, ADDED], unit=" points"))
    return table(["guarantee", *GAINS, "reviewers named: added"], *zip(FIRST, *columns, strict=True))


def history_table(results: Array) -> list[str]:
    columns = [
        with_errors(results[:, :, STATED]),
        with_errors(results[:, :, REALIZED]),
        [kept_part(results[:, :, STATED], number, FULL) for number in range(len(MENU))],
        with_errors(results[:, :, EXACT]),
        [kept_part(results[:, :, EXACT], number, FULL) for number in range(len(MENU))],
        with_errors(results[:, :, ADDED], unit=" points"),
        [f"{rise:.2f}" for rise in results[:, :, RISE].max(axis=0)],
    ]
    head = ["guarantee", *GAINS, "kept", *ON_A_LIST, "reviewers named: added", "largest rise by one decision"]
    return table(head, *zip(MENU, *columns, strict=True))


def main() -> None:
    options = asked("ordinary_conference", __doc__, conferences=96, years=7)

    def simulated(years: Years, size: int, menu: dict[str, Guarantee]) -> Array:
        jobs = [(years, number, menu) for number in range(size)]
        return np.array(parallel_map(simulate_conference, jobs, workers=options.workers))

    tables = {"ordinary": first_table(simulated(ORDINARY, options.conferences, FIRST))}
    for name, years in CASES.items():
        tables[name] = history_table(simulated(years, options.years, MENU))
    keep(options, dict.fromkeys(PAGES, tables))


if __name__ == "__main__":
    main()
