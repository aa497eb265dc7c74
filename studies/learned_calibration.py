"""An adversary that learns reviewers' calibration from all of this year's papers, beside one that holds the
stated calibration and one that knows the true one.

    python studies/learned_calibration.py [--people 60] [--papers 100] [--rounds 4] [--sweeps 1000]

Histories, papers and guarantees are those of studies/from_history.py. The certificate is about somebody who
holds the stated calibration with its errors, and takes papers one by one. The same slope and offset stand
behind all scores that a reviewer gave this year: whoever takes all papers together can learn them. This one
starts from the stated distribution and draws everybody's slope and offset, the quality of every paper and its
reviewers in turn (Gibbs sampling), given all scores and, under a guarantee, one decision of every paper,
tossed as `decide` does. What is counted is the probability of each tuple given everybody's slope and offset,
rather than the tuple that was drawn (Rao-Blackwell); the guess is who is likeliest. Every guess is judged by
the truth: the chance that it is right under the true calibration. Writes
docs/numbers/learned_calibration.json and a table of docs/evidence/history_and_sharing.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from blindcal.checks import Array, Integers
from blindcal.compute.mcmc import bivariate_draw, bivariate_posterior, conditional_normal
from blindcal.compute.parallel import parallel_map
from blindcal.policy.solver import solve
from blindcal.posterior.paper import PaperCase
from from_history import (
    GUARANTEES,
    LENGTHS,
    OTHERS,
    PER_PAPER,
    POOL,
    REGIMES,
    Year,
    cases,
    drawn_people,
    drawn_year,
    fitted_rows,
)
from stated import asked, keep, table

ADVERSARIES = ("as the certificate states", "learns it across papers", "knows the true calibration")
SHOWN = ("steady and epsilon 2", "average", "full calibration")
WARMUP = 5  # one sweep of so many is not counted


# Slope and offset in standard units before any review: means 0, variances 1, no covariance.
STANDARD = np.array([0.0, 0.0, 1.0, 0.0, 1.0])[:, None]


@dataclass(frozen=True, eq=False)
class Stated:
    """What is stated of everybody: (slope, offset) ~ N(mean, root root'), and the variance of scores."""

    mean: Array  # `[person, 2]`
    root: Array  # lower triangular roots `[(slope, slope), (offset, slope), (offset, offset)], person`
    variance: Array  # `[person]`

    def at(self, normal: Array) -> Array:
        """(slope, offset) `[person, 2]` that are `normal[2, person]` standard units from the mean."""
        first, both, second = self.root
        return self.mean + np.stack([first * normal[0], both * normal[0] + second * normal[1]], axis=1)


def stated_reviewers(rows: Array) -> Stated:
    """From rows of slope, offset, noise, slope_se, offset_se, correlation and noise_se."""
    slope, offset, noise, slope_se, offset_se, correlation, noise_se = rows.T
    root = np.stack([slope_se, correlation * offset_se, np.sqrt(1.0 - correlation**2) * offset_se])
    return Stated(np.stack([slope, offset], axis=1), root, noise**2 + noise_se**2)


def positions(tuples: Integers) -> Array:
    """Which position `[tuple, slot * position]` of the pool each slot of a tuple has, as 0 and 1."""
    return np.eye(POOL)[tuples].reshape(len(tuples), -1)


def learned(
    year: Year, tuples: Integers, likely: Array, rows: Array, sweeps: int, rng: np.random.Generator
) -> Array:
    """`[paper, slot, position]`: how likely each candidate is the reviewer, given everything that is seen and
    what is stated of all people: by one chain from there.

    `likely[paper, tuple]` is the probability of the paper's decision, 1 without one.
    """
    people, on, papers = stated_reviewers(rows), positions(tuples), np.arange(len(year.pool))
    drawn, total, skipped = people.mean, np.zeros((*year.score.shape, POOL)), sweeps // WARMUP
    for sweep in range(sweeps):
        chance, normal = rng.random(papers.size), rng.standard_normal(papers.size)
        share = tuple_shares(year, on, drawn, people.variance) * likely
        share /= share.sum(axis=1, keepdims=True)
        if sweep >= skipped:
            total += (share @ on).reshape(total.shape)
        ends = share.cumsum(axis=1)
        pick = np.minimum((ends <= chance[:, None] * ends[:, -1:]).sum(axis=1), len(tuples) - 1)
        who = year.pool[papers[:, None], tuples[pick]]
        drawn = drawn_calibration(people, year.score, who, drawn, normal, rng.standard_normal(drawn.shape))
    return total / (sweeps - skipped)


def tuple_shares(year: Year, on: Array, drawn: Array, variance: Array) -> Array:
    """`[paper, tuple]`: the density of a paper's scores under each tuple given everybody's slope and offset,
    with quality integrated out, as shares of the largest."""
    a, b, v = (part[year.pool][:, None, :] for part in (*drawn.T, variance))
    rest = year.score[..., None] - b
    parts = (np.broadcast_to(a**2 / v, rest.shape), a * rest / v, rest**2 / v + np.log(v))
    known, pull, square = (part.reshape(len(rest), -1) @ on.T for part in parts)
    log = -0.5 * (square - pull**2 / (1.0 + known) + np.log(1.0 + known))
    return np.exp(log - log.max(axis=1, keepdims=True))


def drawn_calibration(
    people: Stated, score: Array, who: Integers, drawn: Array, quality: Array, normal: Array
) -> Array:
    """(slope, offset) of everybody given who wrote each review, with the qualities drawn in between.

    `quality` and `normal` are standard normals. In standard units slope and offset have a density even if
    something is known for certain, which then stays so.
    """
    (a, b), v = np.moveaxis(drawn[who], -1, 0), people.variance[who]
    precision, pull = 1.0 + (a**2 / v).sum(axis=1), (a * (score - b) / v).sum(axis=1)
    t = conditional_normal(pull, precision, quality)[:, None]
    slope, offset = np.moveaxis(people.mean[who], -1, 0)
    first, both, second = people.root[:, who]
    # score - slope t - offset = u1 (first t + both) + u2 second + noise, for u ~ N(0, I).
    one, two, rest = first * t + both, second, score - slope * t - offset
    sums = [
        np.bincount(who.ravel(), (part / v).ravel(), len(drawn))
        for part in (one * rest, two * rest, one * one, one * two, two * two)
    ]
    after, _ = bivariate_posterior(STANDARD, np.stack(sums))
    return people.at(bivariate_draw(after, normal.T))


def right(true: list[PaperCase], likely: Array, mass: Array, on: Array) -> float:
    """The chance that the guess of `mass[paper, slot, place]` is right, mean over all reviews."""
    weight = np.array([case.belief.weight for case in true]) * likely
    fact = (weight / weight.sum(axis=1, keepdims=True) @ on).reshape(mass.shape)
    return float(np.take_along_axis(fact, mass.argmax(axis=2)[..., None], axis=2).mean())


def compute(job: tuple[str, int, int], people: int, papers: int, sweeps: int) -> Array:
    """`[adversary, (scores alone, guarantees)]` of one conference."""
    regime, length, number = job
    rng = np.random.default_rng([2026, number])
    population = REGIMES[regime]
    crowd, others = (drawn_people(rng, population, size) for size in (people, OTHERS))
    year = drawn_year(rng, crowd, papers)
    rows = fitted_rows(np.random.default_rng([number, length]), crowd, length, others)
    true, held = cases(year, crowd.rows), cases(year, rows)
    tuples = held[0].tuples
    on = positions(tuples)
    weight = np.array([case.belief.weight for case in held])
    found = np.empty((len(ADVERSARIES), 1 + len(SHOWN)))
    for column, name in enumerate((None, *SHOWN)):
        likely = claimed = np.ones(weight.shape)
        if name is not None:
            accept = np.array([solve(case, GUARANTEES[name]).accept for case in held])
            truth = np.array([case.belief.weight for case in true])
            accepted = rng.random(papers) < (truth * accept).sum(axis=1) / truth.sum(axis=1)
            likely = np.where(accepted[:, None], accept, 1.0 - accept)
            claimed = accept
        mass = learned(year, tuples, likely, rows, sweeps, np.random.default_rng([3, number, column]))
        known = (np.array([case.belief.weight for case in true]) * likely) @ on
        found[0, column] = stated(weight, claimed, on, decided=name is not None)
        found[1, column] = right(true, likely, mass, on)
        found[2, column] = right(true, likely, known.reshape(mass.shape), on)
    return found


def stated(weight: Array, accept: Array, on: Array, *, decided: bool) -> float:
    """What a certificate claims: the chance of naming a reviewer for who holds the stated calibration."""
    shape = (len(weight), PER_PAPER, POOL)
    outcomes = (accept, 1.0 - accept) if decided else (accept,)
    masses = [(weight * outcome @ on).reshape(shape).max(axis=2) for outcome in outcomes]
    return float(sum(masses).mean())


def rows(found: dict[tuple[str, int], Array]) -> Iterator[list[str]]:
    for (regime, length), values in found.items():
        for who, row in zip(ADVERSARIES, values.mean(axis=0), strict=True):
            yield [regime, f"{length}", who, *(f"{100 * value:.1f} %" for value in row)]


def sentences(found: dict[tuple[str, int], Array]) -> list[str]:
    """What learning adds to the scores alone, with the shortest and the longest history."""
    said = []
    for regime in REGIMES:
        ends = (100 * found[regime, length].mean(axis=0)[:2, 0] for length in (LENGTHS[0], LENGTHS[-1]))
        shares = [end.round(1) for end in ends]
        first, last = (f"{learns - stated:.1f}" for stated, learns in shares)
        said.append(f"{first} points without history and {last} with thirty reviews each ({regime})")
    return said


def main() -> None:
    options = asked("learned_calibration", __doc__, people=60, papers=100, rounds=4, sweeps=1000)
    rounds = range(options.rounds)
    jobs = [(regime, length, turn) for regime in REGIMES for length in LENGTHS for turn in rounds]
    run = partial(compute, people=options.people, papers=options.papers, sweeps=options.sweeps)
    done = dict(zip(jobs, parallel_map(run, jobs, workers=options.workers), strict=True))
    found = {
        (regime, length): np.array([done[regime, length, turn] for turn in rounds])
        for regime, length in product(REGIMES, LENGTHS)
    }
    lines = table(["", "past reviews", "adversary", "scores alone", *SHOWN], *rows(found))
    page = "docs/evidence/history_and_sharing.md"
    keep(options, {page: {"learned calibration": lines}}, {page: sentences(found)})


if __name__ == "__main__":
    main()
