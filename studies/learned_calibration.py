"""An adversary that learns reviewers' calibration from all of this year's papers, beside one that holds the
stated calibration and one that knows the true one.

    python studies/learned_calibration.py [--people 60] [--papers 100] [--rounds 4] [--sweeps 1000]

Histories, papers and guarantees are those of studies/from_history.py. The certificate is about somebody who
holds the stated calibration with its errors, and takes papers one by one. The same slope and offset stand
behind all scores that a reviewer gave this year: whoever takes all papers together can learn them. This one
starts from the stated distribution and draws everybody's slope and offset, the quality of every paper and its
reviewers in turn (Gibbs sampling), given all scores and, under a guarantee, one decision of every paper,
tossed as `decide` does. Its guess is whoever was drawn most often. Every guess is judged by the truth: the
chance that it is right under the true calibration. Writes docs/numbers/learned_calibration.json and a table
of docs/fitting.md.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from blindcal.beliefs.cases import PaperCase
from blindcal.checks import Array, Integers
from blindcal.policies.solvers import solve
from blindcal.workers import cores, each
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
from stated import keep

ADVERSARIES = ("as the certificate states", "learns it across papers", "knows the true calibration")
SHOWN = ("steady and epsilon 2", "average", "full calibration")
WARMUP = 5  # one sweep of so many is not counted


@dataclass(frozen=True, eq=False)
class Seen:
    """All scores `[paper, slot]` of pools `[paper, place]`; `tuples[tuple, slot]` are places, the same for
    all papers. `likely[paper, tuple]`: the probability of the paper's decision; 1 without one."""

    year: Year
    tuples: Integers
    likely: Array

    @property
    def on(self) -> Array:
        """`[tuple, slot * place]`: who stands where."""
        size = len(self.tuples)
        found = np.zeros((size, PER_PAPER, POOL))
        found[np.arange(size)[:, None], np.arange(PER_PAPER), self.tuples] = 1.0
        return found.reshape(size, -1)


def learned(seen: Seen, rows: Array, sweeps: int, rng: np.random.Generator) -> Array:
    """`[paper, slot, place]`: how likely each candidate is the author, given everything that is seen and the
    stated `rows` of all people (slope, offset, noise, slope_se, offset_se, correlation, noise_se)."""
    slope, offset, noise, slope_se, offset_se, correlation, noise_se = rows.T
    variance = noise**2 + noise_se**2
    covariance = np.array(
        [
            [slope_se**2, correlation * slope_se * offset_se],
            [correlation * slope_se * offset_se, offset_se**2],
        ]
    ).transpose(2, 0, 1)
    prior = np.linalg.inv(covariance + 1e-12 * np.eye(2))
    mean, on = np.stack([slope, offset], axis=1), seen.on
    pool, score = seen.year.pool, seen.year.score
    drawn, total = mean.copy(), np.zeros((len(pool), PER_PAPER * POOL))
    for sweep in range(sweeps):
        chance, pull, precision = _conditional(seen, drawn, variance)
        if sweep >= sweeps // WARMUP:
            total += chance @ on
        ends = chance.cumsum(axis=1)
        pick = (ends < rng.random((len(pool), 1)) * ends[:, -1:]).sum(axis=1)
        papers = np.arange(len(pool))
        spread = 1.0 / np.sqrt(precision[papers, pick])
        quality = pull[papers, pick] / precision[papers, pick] + spread * rng.standard_normal(len(pool))
        who = pool[papers[:, None], seen.tuples[pick]].ravel()
        drawn = _drawn(who, np.repeat(quality, PER_PAPER), score.ravel(), variance, mean, prior, rng)
    return (total / total[:, :POOL].sum(axis=1, keepdims=True)).reshape(len(pool), PER_PAPER, POOL)


def _conditional(seen: Seen, drawn: Array, variance: Array) -> tuple[Array, Array, Array]:
    """The chance of each tuple given everybody's slope and offset, qualities integrated out; and what the
    scores say about the quality: mean times precision, and precision."""
    pool, score = seen.year.pool, seen.year.score
    a, b, v = drawn[pool, 0], drawn[pool, 1], variance[pool]
    rest = score[:, :, None] - b[:, None, :]  # [paper, slot, place]
    parts = a[:, None, :] * rest / v[:, None, :], rest**2 / v[:, None, :]
    plain = a**2 / v, np.log(v)
    pull, square = (sum(part[:, slot, seen.tuples[:, slot]] for slot in range(PER_PAPER)) for part in parts)
    known, logs = (sum(part[:, seen.tuples[:, slot]] for slot in range(PER_PAPER)) for part in plain)
    precision = 1.0 + known
    log = -0.5 * (logs + np.log(precision) + square - pull**2 / precision)
    chance = np.exp(log - log.max(axis=1, keepdims=True)) * seen.likely
    return chance / chance.sum(axis=1, keepdims=True), pull, precision


def _drawn(
    who: Integers,
    quality: Array,
    score: Array,
    variance: Array,
    mean: Array,
    prior: Array,
    rng: np.random.Generator,
) -> Array:
    """Everybody's (slope, offset), given who wrote what about papers of which quality."""
    size, weight = len(mean), 1.0 / variance[who]
    sums = [np.bincount(who, weight * part, size) for part in (quality**2, quality, 1.0 + 0.0 * quality)]
    precision = prior + np.array([[sums[0], sums[1]], [sums[1], sums[2]]]).transpose(2, 0, 1)
    told = np.stack([np.bincount(who, weight * part * score, size) for part in (quality, 1.0)], axis=1)
    pull = np.einsum("nij,nj->ni", prior, mean) + told
    root = np.linalg.cholesky(np.linalg.inv(precision))
    center = np.linalg.solve(precision, pull[..., None])[..., 0]
    return np.asarray(center + np.einsum("nij,nj->ni", root, rng.standard_normal(mean.shape)))


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
    on = Seen(year, tuples, np.ones((papers, len(tuples)))).on
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
        mass = learned(Seen(year, tuples, likely), rows, sweeps, np.random.default_rng([3, number, column]))
        known = (np.array([case.belief.weight for case in true]) * likely) @ on
        found[0, column] = stated(weight, claimed, on, decided=name is not None)
        found[1, column] = right(true, likely, mass, on)
        found[2, column] = right(true, likely, known.reshape(mass.shape), on)
    return found


def stated(weight: Array, accept: Array, on: Array, *, decided: bool) -> float:
    """What a certificate claims: the chance of naming an author for who holds the stated calibration."""
    shape = (len(weight), PER_PAPER, POOL)
    outcomes = (accept, 1.0 - accept) if decided else (accept,)
    masses = [(weight * outcome @ on).reshape(shape).max(axis=2) for outcome in outcomes]
    return float(sum(masses).mean())


def table(found: dict[tuple[str, int], Array]) -> list[str]:
    lines = ["| | past reviews | adversary | scores alone | " + " | ".join(SHOWN) + " |"]
    lines.append("|---" * (4 + len(SHOWN)) + "|")
    for (regime, length), values in found.items():
        for who, row in zip(ADVERSARIES, values.mean(axis=0), strict=True):
            cells = " | ".join(f"{100 * value:.1f} %" for value in row)
            lines.append(f"| {regime} | {length} | {who} | {cells} |")
    return lines


def sentences(found: dict[tuple[str, int], Array]) -> list[str]:
    """What learning adds to the scores alone, with the shortest and the longest history."""
    said = []
    for regime in REGIMES:
        shares = [100 * found[regime, length].mean(axis=0)[:2, 0] for length in (LENGTHS[0], LENGTHS[-1])]
        first, last = (f"from {stated:.1f} % to {learns:.1f} %" for stated, learns in shares)
        said.append(f"{first} without any history and {last} with thirty reviews each ({regime})")
    return said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("people", 60), ("papers", 100), ("rounds", 4), ("sweeps", 1000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--workers", type=int, default=cores())
    given = parser.parse_args()
    jobs = [
        (regime, length, turn) for regime in REGIMES for length in LENGTHS for turn in range(given.rounds)
    ]
    run = partial(compute, people=given.people, papers=given.papers, sweeps=given.sweeps)
    done = dict(zip(jobs, each(run, jobs, workers=given.workers), strict=True))
    found = {
        (regime, length): np.array([done[regime, length, turn] for turn in range(given.rounds)])
        for regime, length in product(REGIMES, LENGTHS)
    }
    lines, said = table(found), sentences(found)
    print("\n".join([*lines, *said]))
    command = (
        f"python studies/learned_calibration.py --people {given.people} --papers {given.papers} "
        f"--rounds {given.rounds} --sweeps {given.sweeps}"
    )
    page = "docs/fitting.md"
    keep("learned_calibration", command, {page: {"learned calibration": lines}}, {page: said})


if __name__ == "__main__":
    main()
