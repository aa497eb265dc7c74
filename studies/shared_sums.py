"""What noisy sums of another conference are worth: error of offsets and wrong decisions, by privacy loss.

    python studies/shared_sums.py [--people 200] [--papers 120] [--rounds 6] [--workers N]

Another conference, at which everybody wrote h reviews, three a paper, shares sums with a limit epsilon for
each review. Our own past has 100 other people with six reviews each and says what reviewers are like; of this
year's committee it knows nothing. `fit` takes both. Beside it: without the sums, and with the other
conference's reviews themselves. Offsets are those of the prototype (standard deviation .7, slopes lognormal).
The noise is drawn from a seed here. Writes docs/numbers/shared_sums.json and tables of
docs/evidence/history_and_sharing.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import sqrt

import numpy as np

import blindcal as bc
from blindcal.checks import Array, Integers
from blindcal.compute.parallel import parallel_map
from blindcal.fitting.history import past_conferences
from blindcal.fitting.received_sums import SharedSums
from blindcal.private_sharing import LossLimit, points_of, sums_of, unlearned
from blindcal.simulation.population import Population, prototype_population
from from_history import (
    GUARANTEES,
    OTHERS,
    OTHERS_REVIEWS,
    People,
    cases,
    drawn_people,
    drawn_year,
    judged,
    past_reviews,
    roster_rows,
)
from stated import asked, keep, table, with_errors

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
LENGTHS = (5, 10, 30)
_INTERVAL = 1.6448536269514722  # 90 %
_NAMES = ("public", "steady and epsilon 2", "full calibration")


def seeded(sums: Integers, limit: LossLimit, rng: np.random.Generator) -> Integers:
    """Discrete Laplace noise as a difference of geometric numbers, or rounded Gaussian noise."""
    if limit.pure:
        stop = -np.expm1(-1.0 / limit.scale)
        return sums + rng.geometric(stop, sums.shape) - rng.geometric(stop, sums.shape)
    return sums + np.rint(limit.scale * rng.standard_normal(sums.shape)).astype(np.int64)


def shared_by(
    reviews: bc.Reviews, names: list[str], limit: LossLimit, rng: np.random.Generator
) -> SharedSums:
    past = past_conferences({"elsewhere": reviews})[0]
    points = points_of(past)
    above, below = seeded(sums_of(points, past, names), limit, rng)
    return SharedSums(
        "elsewhere", tuple(names), above, below, points.mean, points.gain, points.variance, limit.variance
    )


def one_conference(rng: np.random.Generator, people: People, reviews: int) -> bc.Reviews:
    """All reviews of one conference at which each of these people wrote so many."""
    table = past_reviews(rng, people, np.full(people.slope.size, reviews), conferences=1)
    return bc.Reviews.from_table({name: table[name] for name in ("paper", "reviewer", "score")})


def renamed(people: People, table: dict[str, list[object]]) -> bc.Reviews:
    return bc.Reviews.from_table({**table, "reviewer": [f"o{name}" for name in table["reviewer"]]})


def rosters(
    rng: np.random.Generator, people: People, others: People, length: int, workers: int
) -> dict[str, Array]:
    """The committee's rows without sums, with sums at each epsilon, with the reviews themselves."""
    theirs = one_conference(rng, people, length)
    own = renamed(others, past_reviews(rng, others, np.full(OTHERS, OTHERS_REVIEWS), conferences=2))
    tables: dict[str, dict[str, bc.Reviews | SharedSums]] = {"nothing shared": {"own": own}}
    for epsilon in EPSILONS:
        shared = shared_by(theirs, people.names, LossLimit(epsilon=epsilon), rng)
        tables[f"epsilon {epsilon:g}"] = {"elsewhere": shared, "own": own}
    tables["zCDP 0.5"] = {"elsewhere": shared_by(theirs, people.names, LossLimit(zcdp=0.5), rng), "own": own}
    tables["the reviews themselves"] = {"elsewhere": theirs, "own": own}
    fitted = parallel_map(partial(bc.fit, committee=people.names), list(tables.values()), workers=workers)
    return {name: roster_rows(one, people.names) for name, one in zip(tables, fitted, strict=True)}


def compute(
    population: Population, length: int, people: int, papers: int, rounds: int, workers: int
) -> dict[str, tuple[Array, Array]]:
    """By what is shared: `[round, (share of the variance of offsets left, coverage)]`, `[paper, ...]`."""
    found: dict[str, tuple[list[Array], list[Array]]] = {}
    run = partial(judged, guarantees=tuple(GUARANTEES[name] for name in _NAMES))
    for number in range(rounds):
        rng = np.random.default_rng([7, length, number])
        crowd, others = drawn_people(rng, population, people), drawn_people(rng, population, OTHERS)
        year = drawn_year(np.random.default_rng([8, number]), crowd, papers)
        true = cases(year, crowd.rows)
        for name, rows in rosters(rng, crowd, others, length, workers).items():
            error = rows[:, 1] - crowd.offset
            inside = np.abs(error) < _INTERVAL * rows[:, 4]
            left = (error**2).mean() / crowd.offset.var()
            pairs = list(zip(cases(year, rows), true, strict=True)) if papers else []
            played = np.array(parallel_map(run, pairs, workers=workers))
            numbers, wrong = found.setdefault(name, ([], []))
            numbers.append(np.array([left, inside.mean()]))
            wrong.append(played)
    return {name: (np.array(a), np.concatenate(b)) for name, (a, b) in found.items()}


def rows(found: dict[int, dict[str, tuple[Array, Array]]]) -> Iterator[list[str]]:
    for length, runs in found.items():
        for name, (numbers, wrong) in runs.items():
            known = with_errors(numbers, ".0f", " %", 100)
            yield [f"{length}", name, *known, *with_errors(wrong[:, : len(_NAMES), 1], ".1f", " %", 100)]


def bound_table() -> list[str]:
    """What no method can do, for the offsets of reviewers as at NIPS 2014: variances .19 and .99."""
    epsilons, offset, noise = (0.1, 0.25, *EPSILONS), sqrt(0.19), sqrt(0.99)
    rows = (
        [f"{length}", *(f"{100 * unlearned(epsilon, length, offset, noise):.0f} %" for epsilon in epsilons)]
        for length in (1, 5, 10, 30)
    )
    return table(["reviews each", *(f"epsilon {epsilon:g}" for epsilon in epsilons)], *rows)


def main() -> None:
    options = asked("shared_sums", __doc__, people=200, papers=120, rounds=6)
    sizes = options.people, options.papers, options.rounds, options.workers
    found = {length: compute(prototype_population(), length, *sizes) for length in LENGTHS}
    head = ["reviews each", "shared", "offset variance left", "90 % intervals cover"]
    shared = table([*head, *(f"wrong, {name}" for name in _NAMES)], *rows(found))
    tables = {"shared sums": shared, "nobody learns": bound_table()}
    keep(options, {"docs/evidence/history_and_sharing.md": tables})


if __name__ == "__main__":
    main()
