"""An ordinary conference, start to end: what calibration is stated to gain and what it then gains.

    python studies/ordinary_conference.py [--conferences 60] [--workers N]

A committee of 40 reviews 60 papers, three reviews each, on a scale from 1 to 10; everyone is a candidate for
every paper. Two past years with the same committee and 60 papers each calibrate it (`fit`). Reviewers are
moderate (slopes e^(.2 N), offsets .67, noise .7 in standard deviations of quality, which is 1.8 points). The
stated gain is the plan's: expected wrong decisions by mean scores less those of the guarantee. The realized
gain compares with the papers' true quality: a paper is decided wrongly if it is accepted below the upper
quartile of quality, or rejected above. The random draw itself is averaged over. Standard errors are over
conferences. Writes a table.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from scipy.special import ndtri

import blindcal as bc
from blindcal.checks import Array
from blindcal.compute.parallel import available_cores, parallel_map
from blindcal.planning.expected_errors import expected_figures
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.solver import solve
from blindcal.posterior.conference import Conference, assemble
from blindcal.posterior.paper import PaperCase
from blindcal.simulation.population import Population, rounded, uniform_assignments
from stated import keep

PAPERS, PEOPLE, REVIEWS, RATE, POINTS, MIDDLE = 60, 40, 3, 0.25, 1.8, 5.5
GRID = np.arange(1.0, 11.0)
REVIEWERS = Population(slopes="lognormal", slope_spread=0.2, offset=0.67, noise=0.7)
MENU = {
    "public": Guarantee("public", epsilon=None),
    "steady, epsilon 2": Guarantee("steady", epsilon=2.0),
    "steady": Guarantee("steady", epsilon=None),
    "crowd of 10, epsilon 2": Guarantee("crowd", among=10, epsilon=2.0),
    "crowd of 10, epsilon 3": Guarantee("crowd", among=10, epsilon=3.0),
    "crowd of 10": Guarantee("crowd", among=10, epsilon=None),
    "average": Guarantee("average", epsilon=None),
    "full calibration": Guarantee("none", epsilon=None),
}


def year(rng: np.random.Generator, people: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
    """One year's qualities `[paper]`, reviewers `[paper, slot]` and scores `[paper, slot]`."""
    quality = rng.standard_normal(PAPERS)
    who = uniform_assignments(rng, 1, PAPERS, PEOPLE, REVIEWS)[0]
    slope, offset, noise = (part[who] for part in people)
    score = REVIEWERS.scores(rng, quality[:, None], slope, offset, noise)
    return quality, who, rounded(MIDDLE + POINTS * score, GRID)


def reviews_table(who: Array, score: Array) -> bc.Reviews:
    paper = [f"p{number:03d}" for number in range(PAPERS) for _ in range(REVIEWS)]
    reviewer = [f"r{person:03d}" for person in who.ravel()]
    return bc.Reviews.from_table({"paper": paper, "reviewer": reviewer, "score": score.ravel()})


def chance_of_accepting(case: PaperCase, accept: Array, truth: Array) -> float:
    """The accept probability of the true reviewers, lowest score first."""
    if not case.listed:
        return float(case.layout.expected(accept, truth[None])[0])
    return float(accept[np.flatnonzero((case.tuples == truth).all(axis=1))[0]])


def public_side(names: Sequence[str], roster: Mapping[str, Sequence[float]], scores: Array) -> Conference:
    """Papers whose candidates are the whole committee, with the bar of the share that is accepted."""
    cases = [
        PaperCase(
            paper=f"p{paper:03d}",
            scores=tuple(sorted(scores[paper].tolist())),
            candidates=tuple(names),
            inclusion=(REVIEWS / PEOPLE,) * PEOPLE,
            parameters=tuple(tuple(roster[name]) for name in names),
            bar=0.0,
            grid=tuple(GRID.tolist()),
        )
        for paper in range(PAPERS)
    ]
    return assemble(cases, RATE, None)


def simulate_conference(number: int) -> Array:
    """`[guarantee, (stated, realized, added)]`: gains in papers, and points of reviewers named."""
    rng = np.random.default_rng([7, number])
    people = REVIEWERS.parameters(rng, (PEOPLE,))
    past = {str(y): reviews_table(*year(rng, people)[1:]) for y in (2025, 2026)}
    quality, who, score = year(rng, people)
    names = [f"r{person:03d}" for person in range(PEOPLE)]
    roster = bc.fit(past, committee=names, this_year=reviews_table(who, score)).roster
    built = public_side(names, roster, score)
    good = quality > ndtri(1.0 - RATE)
    results = []
    for guarantee in MENU.values():
        total = np.zeros(3)
        for paper, (case, raw) in enumerate(zip(built.cases, built.raw_accept, strict=True)):
            case = case.promised(guarantee.promise)
            solution = solve(case, guarantee)
            figures = expected_figures(case.belief, solution.accept, raw, sample=case.sample)
            truth = who[paper][np.argsort(score[paper], kind="stable")]
            chance = chance_of_accepting(case, solution.accept, truth)
            alone = solve(case, MENU["public"]).success
            total += [
                figures.wrong_raw - figures.wrong,
                abs(raw - good[paper]) - abs(chance - good[paper]),
                100.0 * (solution.success - alone) / PAPERS,
            ]
        results.append(total)
    return np.array(results)


def table(results: Array) -> list[str]:
    lines = [
        f"| guarantee | stated gain, of {PAPERS} papers | realized gain | reviewers named: added |",
        "|---|---|---|---|",
    ]
    error = results.std(axis=0, ddof=1) / np.sqrt(len(results))
    for name, mean, one in zip(MENU, results.mean(axis=0), error, strict=True):
        cells = [f"{a:.2f} ± {b:.2f}" for a, b in zip(mean, one, strict=True)]
        lines.append(f"| {name} | " + " | ".join([*cells[:2], cells[2] + " points"]) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--conferences", type=int, default=60)
    parser.add_argument("--workers", type=int, default=available_cores())
    options = parser.parse_args()
    run = partial(parallel_map, simulate_conference, list(range(options.conferences)))
    lines = table(np.array(run(workers=options.workers)))
    print("\n".join(lines))
    command = f"python studies/ordinary_conference.py --conferences {options.conferences}"
    places = ("docs/evidence/guarantees.md", "docs/howto/before_you_say_yes.md")
    pages = {page: {"ordinary": lines} for page in places}
    keep("ordinary_conference", command, pages, {})


if __name__ == "__main__":
    main()
