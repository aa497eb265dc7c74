"""An adversary that learns reviewers' calibration from all of this year's papers, beside one that holds the
stated calibration and one that knows the true one.

    python studies/learned_calibration.py [--people 60] [--papers 100] [--rounds 4] [--sweeps 1000]

Histories, papers and guarantees are those of studies/from_history.py. The certificate is about somebody who
holds the stated calibration with its errors, and takes papers one by one. The same slope and offset stand
behind all scores that a reviewer gave this year: whoever takes all papers together can learn them. This one
starts from the stated distribution and draws everybody's slope and offset, the quality of every paper and its
reviewers in turn (Gibbs sampling, by `learned_calibration`), given all scores and, under a guarantee,
one decision of every paper, tossed as `decide` does. Its guess is whoever was drawn most often. Every guess
is judged by the truth: the chance that it is right under the true calibration. `blindcal audit --learns`
plays the same adversary against a release. Writes docs/numbers/learned_calibration.json and a table of
docs/evidence/history_and_sharing.md.
"""

from __future__ import annotations

import argparse
from functools import partial
from itertools import product

import numpy as np

from blindcal.adversaries.learned_calibration import (
    CalibrationModel,
    PaperBlock,
    StatedReviewers,
    continue_chains,
    start_chains,
    with_decisions,
)
from blindcal.checks import Array, Integers
from blindcal.compute.parallel import available_cores, parallel_map
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
from stated import keep

ADVERSARIES = ("as the certificate states", "learns it across papers", "knows the true calibration")
SHOWN = ("steady and epsilon 2", "average", "full calibration")
WARMUP = 5  # one sweep of so many is not counted


def people_of(rows: Array) -> StatedReviewers:
    """What is stated of all people: slope, offset, noise, slope_se, offset_se, correlation, noise_se."""
    slope, offset, noise, slope_se, offset_se, correlation, noise_se = rows.T
    covariance = slope_se**2, correlation * slope_se * offset_se, offset_se**2
    return StatedReviewers(
        np.stack([slope, offset], axis=1), np.stack(covariance, axis=1), noise**2 + noise_se**2
    )


def sheet(year: Year, tuples: Integers, likely: Array, rows: Array) -> CalibrationModel:
    """All scores of pools; `tuples[tuple, slot]` are places, the same for all papers.
    `likely[paper, tuple]`: the probability of the paper's decision; 1 without one."""
    papers, slots = year.score.shape
    block = PaperBlock(
        paper=np.arange(papers),
        review=np.arange(papers * slots).reshape(papers, slots),
        rows=tuples,
        who=np.repeat(year.pool[:, None], slots, axis=1),
        low=year.score,
        high=year.score,
        log_base=np.zeros(likely.shape),
    )
    named = np.ones((papers * slots, year.pool.shape[1]), dtype=np.bool_)
    return with_decisions(CalibrationModel(people_of(rows), (block,), papers, named), likely)


def learned(seen: CalibrationModel, sweeps: int, rng: np.random.Generator) -> Array:
    """`[paper, slot, place]`: how likely each candidate is the reviewer, given everything that is seen and
    what is stated of all people: by one chain from there."""
    chain = continue_chains(start_chains(seen, [0], 1, 0), seen, sweeps, rng, sweeps // WARMUP)
    return (chain.tally[0] / chain.seen[0]).reshape(seen.papers, PER_PAPER, POOL)


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
    on = sheet(year, tuples, np.ones((papers, len(tuples))), rows).on[0]
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
        mass = learned(sheet(year, tuples, likely, rows), sweeps, np.random.default_rng([3, number, column]))
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
        ends = (100 * found[regime, length].mean(axis=0)[:2, 0] for length in (LENGTHS[0], LENGTHS[-1]))
        shares = [end.round(1) for end in ends]
        first, last = (f"{learns - stated:.1f}" for stated, learns in shares)
        said.append(f"{first} points without history and {last} with thirty reviews each ({regime})")
    return said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("people", 60), ("papers", 100), ("rounds", 4), ("sweeps", 1000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--workers", type=int, default=available_cores())
    given = parser.parse_args()
    jobs = [
        (regime, length, turn) for regime in REGIMES for length in LENGTHS for turn in range(given.rounds)
    ]
    run = partial(compute, people=given.people, papers=given.papers, sweeps=given.sweeps)
    done = dict(zip(jobs, parallel_map(run, jobs, workers=given.workers), strict=True))
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
    page = "docs/evidence/history_and_sharing.md"
    keep("learned_calibration", command, {page: {"learned calibration": lines}}, {page: said})


if __name__ == "__main__":
    main()
