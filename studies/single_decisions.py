"""Decided on this year's own reviews: wrong decisions, and the most that one decision raises a best guess.

    python studies/single_decisions.py [--conferences 400] [--observed 48]

The moderate conferences of studies/this_year.py: 60 papers, 40 people, three reviews of a paper. Wrong is a
decision on the other side of the population's quartile; the expectation over random draws is exact. The
observer of a single decision sees all scores and knows everyone's strictness and number of reviews. Walks
over assignments give the chance of each person before and after every decision that was made, one at a time.
Which review rises most is chosen by one half of the walks and measured by the other, since the largest of
many noisy numbers is too large. Writes docs/numbers/single_decisions.json and the table of README.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import ndtri

from blindcal.adversaries.this_year_exact import Observed, observe, tables_of
from blindcal.adversaries.this_year_mcmc import Walks
from blindcal.checks import Array
from blindcal.compute.parallel import parallel_map
from blindcal.posterior.this_year_evidence import LevelCase
from blindcal.simulation.metrics import chance_in_best
from stated import asked, keep, table, with_errors
from this_year import (
    GUARANTEES,
    MODERATE,
    RATE,
    Year,
    cases_of,
    levels_of,
    mean_scores,
    simulated,
    wrong,
    wrong_decisions,
)
from this_year_observers import informed

SHOWN, WARM_UP, SWEEPS = ("3", "full"), 30, 400


def conference(seed: int) -> tuple[Year, list[LevelCase]]:
    made = simulated(MODERATE, np.random.default_rng([66, seed]))
    return made, cases_of(made)


def wrong_ones(seed: int) -> list[float]:
    """Wrong decisions by mean scores, at epsilon 3 and by full correction."""
    made, cases = conference(seed)
    right = (made.quality > ndtri(1 - RATE)).astype(np.float64)
    raw = chance_in_best(mean_scores(made.reviews), round(RATE * MODERATE.papers))
    found = wrong_decisions(made, cases, right)
    return [float(one.sum()) for one in (wrong(raw, right), *(found[name] for name in SHOWN))]


def rises(seed: int) -> list[float]:
    """The most that one of the decisions made raises a best guess, at epsilon 3 and by full correction."""
    made, cases = conference(seed)
    tables = {name: tables_of(cases, GUARANTEES[name]) for name in SHOWN}
    seen, known = informed(observe(made.reviews, cases, tables["full"]), made, MODERATE)
    level = levels_of(made, cases)[seen.lots]
    made_chances = []
    for name in SHOWN:
        accept = np.array([tables[name][seen.papers[lot]] for lot in seen.lots])
        drawn = np.random.default_rng([71, seed]).random(level.size)
        yes = drawn < np.take_along_axis(accept, level[:, None], 1)[:, 0]
        made_chances.append(np.where(yes[:, None], accept, 1.0 - accept))
    return [largest_rise(*sums) for sums in believed(seen, known, made_chances, seed)]


def believed(
    seen: Observed, offset: Array, chances: Sequence[Array], seed: int
) -> Iterator[tuple[Array, Array, Array]]:
    """For each set of decisions, by half of the walks: what was seen of people, with and without a decision.

    `[half, review, person]` counts assignments; `[half, lot, review, person]` and `[half, lot]` weigh them
    with the chance of that decision, `chances[...][lot, level]`.
    """
    shape = seen.paper.size, len(seen.people)
    counts = np.zeros((2, *shape))
    weighed = [np.zeros((2, seen.lots.size, *shape)) for _ in chances]
    mass = [np.zeros((2, seen.lots.size)) for _ in chances]
    lot = np.arange(seen.lots.size)
    walks = Walks(seen, offset, decided=False, seed=seed)
    walks.sweep(WARM_UP)
    for _ in range(SWEEPS):
        walks.sweep(1)
        writers = walks.writer
        levels = seen.levels(writers).astype(np.int64)
        for half, rows in enumerate(np.split(np.arange(len(writers)), 2)):
            names = np.eye(shape[1])[writers[rows]].reshape(rows.size, -1)
            counts[half] += names.sum(axis=0).reshape(shape)
            for chance, total, weight in zip(chances, weighed, mass, strict=True):
                each = chance[lot, levels[rows]]
                total[half] += (each.T @ names).reshape(-1, *shape)
                weight[half] += each.sum(axis=0)
    return ((counts, total, weight) for total, weight in zip(weighed, mass, strict=True))


def largest_rise(counts: Array, weighed: Array, mass: Array) -> float:
    """Over decisions and reviews: chosen by one half of the walks, measured by the other, both ways."""
    before = (counts.sum(axis=0) / counts[:, 0].sum()).max(axis=1)
    after = weighed / np.maximum(mass, 1e-12)[:, :, None, None]
    found = []
    for chosen, measured in ((0, 1), (1, 0)):
        rise = after[chosen].max(axis=2) - before
        lot, review = np.unravel_index(rise.argmax(), rise.shape)
        person = after[chosen, lot, review].argmax()
        found.append(after[measured, lot, review, person] - before[review])
    return float(np.mean(found))


def main() -> None:
    options = asked("single_decisions", __doc__, conferences=400, observed=48)
    wrongs = np.array(parallel_map(wrong_ones, range(options.conferences), workers=options.workers))
    risen = np.array(parallel_map(rises, range(options.observed), workers=options.workers))
    plain, limited, full = with_errors(wrongs, ".1f")
    rises_shown = [
        f"{100 * most:.0f} points (usually {100 * usual:.0f})"
        for most, usual in zip(risen.max(axis=0), risen.mean(axis=0), strict=True)
    ]
    first = f"{MODERATE.papers} papers, calibrated on their own reviews"
    lines = table(
        [first, "wrong decisions", "most that one decision raised a best guess", "limit on odds"],
        ["mean scores", plain, "0", "factor 1"],
        ["**blindcal, epsilon 3**", limited, rises_shown[0], "factor 20.1"],
        ["full correction, unprotected", full, rises_shown[1], "none"],
    )
    keep(options, {"README.md": {"single decisions": lines}})


if __name__ == "__main__":
    main()
