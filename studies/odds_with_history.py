"""History, also by people who come and change: exact numbers, odds, and the worst single decision.

    python studies/odds_with_history.py [--conferences 48] [--workers N]

The conferences of studies/ordinary_conference.py: a committee of 40 reviews 60 papers, three reviews each, on
a scale from 1 to 10; everyone is a candidate for every paper, and two past years calibrate it (`fit`). In the
good case the same people reviewed in all years and never changed; in the other one three of ten are new each
year, and habits correlate by .8 from year to year.

The stated gain is the plan's: expected wrong decisions by mean scores less those of the guarantee. The
realized gain compares with the papers' true quality: a paper is decided wrongly if it is accepted below the
upper quartile of quality, or rejected above. With an exact number the truly best quarter is right, and
private decisions are ranked as `planning` does it. The random draws themselves are averaged over. *kept* is
the part of (full - public) that a guarantee keeps. Standard errors are over conferences. Writes tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

import blindcal as bc
import ordinary_conference
from blindcal.checks import Array
from blindcal.compute.parallel import available_cores, parallel_map
from blindcal.planning.expected_errors import expected_figures
from blindcal.planning.ranking_and_wait_list import RankPair, acceptance_probabilities, both_ranks
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.solver import solve
from blindcal.posterior.paper import PaperCase
from blindcal.simulation.population import rounded, uniform_assignments
from committees import RARE, by_candidate, reviewer_masses
from ordinary_conference import (
    GRID,
    MIDDLE,
    PAPERS,
    PEOPLE,
    POINTS,
    RATE,
    REVIEWERS,
    REVIEWS,
    chance_of_accepting,
    public_side,
)
from stated import keep

MENU = {
    **ordinary_conference.MENU,
    "odds, epsilon 1": Guarantee("odds", epsilon=1.0),
    "odds, epsilon 2": Guarantee("odds", epsilon=2.0),
    "odds, epsilon 3": Guarantee("odds", epsilon=3.0),
}
FULL = list(MENU).index("full calibration")
PAGES = ("docs/evidence/guarantees.md", "docs/howto/before_you_say_yes.md")
STATED, REALIZED, EXACT, ADDED, RISE = range(5)


@dataclass(frozen=True)
class Years:
    """How committees and people last."""

    returning: float  # the part of a committee that was there the year before
    lasting: float  # the correlation of a person's habits from year to year
    seed: int


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


def simulate_conference(job: tuple[Years, int]) -> Array:
    """`[guarantee, (stated, realized, exact, added, rise)]`: gains in papers, points of reviewers named."""
    years, number = job
    *past, year = drawn_years(years, number)
    names = sorted(year.names.tolist())
    tables = {str(2025 + n): one.reviews for n, one in enumerate(past)}
    roster = bc.fit(tables, committee=names, this_year=year.reviews).roster
    place = np.argsort(np.argsort(year.names))  # of each person among sorted names
    built = public_side(names, roster, year.score)
    good, places = year.quality > ndtri(1.0 - RATE), round(RATE * PAPERS)
    best = year.quality >= np.sort(year.quality)[-places]
    truths = [
        place[who][np.argsort(score, kind="stable")] for who, score in zip(year.who, year.score, strict=True)
    ]
    raw, results, alone = np.array(built.raw_accept), np.zeros((len(MENU), 5)), 0.0
    for row, guarantee in zip(results, MENU.values(), strict=True):
        chances, figures, named = [], [], 0.0
        for case, truth, share in zip(built.cases, truths, built.raw_accept, strict=True):
            paper = case.promised(guarantee.promise)
            solution = solve(paper, guarantee)
            figures.append(expected_figures(paper.belief, solution.accept, share, sample=paper.sample))
            chances.append(chance_of_accepting(paper, solution.accept, truth))
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


def table(results: Array) -> list[str]:
    heads = [
        f"stated gain, of {PAPERS} papers",
        "realized gain",
        "kept",
        "exact number: realized",
        "exact number: kept",
    ]
    heads += ["reviewers named: added", "largest rise by one decision"]
    lines = ["| guarantee | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    error = results.std(axis=0, ddof=1) / np.sqrt(len(results))
    for number, (name, mean, one) in enumerate(zip(MENU, results.mean(axis=0), error, strict=True)):
        cells = [f"{a:.2f} ± {b:.2f}" for a, b in zip(mean, one, strict=True)]
        kept = [kept_part(results[:, :, column], number, FULL) for column in (STATED, EXACT)]
        rise = f"{results[:, number, RISE].max():.2f}"
        row = [cells[STATED], cells[REALIZED], kept[0], cells[EXACT], kept[1], f"{cells[ADDED]} points", rise]
        lines.append(f"| {name} | " + " | ".join(row) + " |")
    return lines


def kept_part(gains: Array, number: int, full: int = -1) -> str:
    """The part of (full - public) that a guarantee keeps, with its standard error (delta method)."""
    own, whole = gains[:, number] - gains[:, 0], gains[:, full] - gains[:, 0]
    if whole.mean() <= 2.0 * whole.std(ddof=1) / np.sqrt(len(whole)):
        return "-"
    share = own.mean() / whole.mean()
    error = (own - share * whole).std(ddof=1) / np.sqrt(len(whole)) / whole.mean()
    return f"{100 * share:.0f} ± {100 * error:.0f} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--conferences", type=int, default=48)
    parser.add_argument("--workers", type=int, default=available_cores())
    options = parser.parse_args()
    lines = {}
    for name, years in CASES.items():
        jobs = [(years, number) for number in range(options.conferences)]
        lines[name] = table(np.array(parallel_map(simulate_conference, jobs, workers=options.workers)))
        print(name, *lines[name], sep="\n", flush=True)
    command = f"python studies/odds_with_history.py --conferences {options.conferences}"
    keep("odds_with_history", command, dict.fromkeys(PAGES, lines), {})


if __name__ == "__main__":
    main()
