"""Whether private outcomes of several ordered levels would serve an exact number better than two.

    python studies/levels.py [--conferences 30] [--workers N]

Conferences of 100 papers with pools of 8 and 2 reviews each. With two levels a paper is accepted or rejected
privately, with the bar at the upper quarter, and the best are taken by P(right to accept | scores, private
decision). With more, each paper gets one of K ordered levels under the same guarantee: level c says "above
the first c cuts", and the loss is the share of the cuts on whose wrong side the paper ends. In all cases the
list is the best 10, 25 or 40 papers by P(above the bar of that share | scores, level): post-processing. Lists
are expected values over the public belief, from 2,000 tosses per conference. Writes
docs/numbers/levels.json and a table of docs/evidence/guarantees.md.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
from scipy.special import ndtr

from blindcal.checks import Array
from blindcal.compute.parallel import available_cores, parallel_map
from blindcal.policy.guarantee import Guarantee
from blindcal.policy.multi_outcome import least_loss
from blindcal.posterior.acceptance_bar import choose_bar
from blindcal.posterior.paper import PaperCase
from blindcal.simulation.population import (
    Population,
    nips_2014_population,
    pooled_conference,
    prototype_population,
)
from stated import keep

PAPERS, POOL, REVIEWS, TOSSES = 100, 8, 2, 2_000
REGIMES = {"prototype": prototype_population(), "NIPS 2014": nips_2014_population()}
GUARANTEES = {
    "steady and epsilon 2": Guarantee("steady", epsilon=2.0),
    "average": Guarantee("average", epsilon=None),
}
# The shares to accept at the cuts of each number of levels.
CUTS = {2: (0.25,), 3: (0.35, 0.15), 4: (0.4, 0.25, 0.1), 6: (0.45, 0.35, 0.25, 0.15, 0.05)}
LISTS = (0.25, 0.1, 0.4)


def cases_of(population: Population, seed: int) -> list[PaperCase]:
    rng = np.random.default_rng(seed)
    return pooled_conference(rng, PAPERS, POOL, REVIEWS, population).cases(0.0)


def above(case: PaperCase, bars: Array) -> Array:
    """`[tuple, bar]`: P(quality above each bar | scores, tuple), for known affine reviewers.

    >>> one = PaperCase("p", (1.0,), ("a",), (1.0,), ((1.0, 0.0, 1.0, 0, 0, 0, 0),), 0.0)
    >>> above(one, np.array([0.5]))
    array([[0.5]])
    """
    slope, offset, noise = np.array(case.parameters).T[:3]
    gain, gap = (
        (slope / noise)[case.tuples],
        ((np.array(case.scores) - offset[case.tuples]) / noise[case.tuples]),
    )
    precision = 1.0 + (gain**2).sum(axis=1)
    mean = (gain * gap).sum(axis=1) / precision
    return np.asarray(ndtr((mean[:, None] - bars) * np.sqrt(precision)[:, None]))


def losses(chances: Array) -> Array:
    """`[tuple, level]`: the share of the cuts on whose wrong side a paper of that level ends.

    Level c is above the first c cuts: it is wrong at these where the quality is below, else where above.

    >>> losses(np.array([[0.9, 0.2]]))
    array([[0.55, 0.15, 0.45]])
    """
    cuts = chances.shape[1]
    over = np.arange(cuts + 1)[:, None] > np.arange(cuts)
    return np.asarray(np.where(over, 1.0 - chances[:, None], chances[:, None]).mean(axis=2))


def listed(cases: list[PaperCase], levels: list[Array], seed: int) -> list[float]:
    """For each list of `LISTS` the expected share of wrong decisions; `levels[paper][tuple, level]`."""
    rng, found = np.random.default_rng(seed), []
    uniform = rng.random((TOSSES, len(cases)))
    for share in LISTS:
        bar, wanted = choose_bar(cases, share, None)[0], round(share * len(cases))
        favor = np.empty((TOSSES, len(cases)))
        for i, (case, chance) in enumerate(zip(cases, levels, strict=True)):
            weight, right = case.belief.weight, above(case, np.array([bar]))[:, 0]
            mass = weight @ chance
            known = (weight * right) @ chance / np.maximum(mass, 1e-300)
            level = np.minimum(
                (uniform[:, i, None] > np.cumsum(mass / mass.sum())).sum(axis=1), mass.size - 1
            )
            favor[:, i] = known[level]
        order = np.argsort(-favor, axis=1, kind="stable")
        accepted = np.zeros(favor.shape, dtype=bool)
        np.put_along_axis(accepted, order[:, :wanted], True, axis=1)
        found.append(float(np.where(accepted, 1.0 - favor, favor).mean()))
    return found


def conference(seed: int, regime: str, name: str) -> list[list[float]]:
    """For each number of levels the wrong decisions of each list."""
    cases = cases_of(REGIMES[regime], seed)
    found = []
    for shares in CUTS.values():
        bars = np.array([choose_bar(cases, share, None)[0] for share in shares])
        solved = [
            least_loss(
                case.belief.weight, losses(above(case, bars)), case.belief.labels, GUARANTEES[name]
            ).chance
            for case in cases
        ]
        found.append(listed(cases, solved, seed))
    return found


def _cell(values: Array, signed: bool = False) -> str:
    mean, error = 100 * values.mean(), 100 * values.std(ddof=1) / np.sqrt(values.size)
    return f"{mean:+.2f} ± {error:.2f}" if signed else f"{mean:.2f} ± {error:.2f} %"


def rows(regime: str, name: str, found: Array) -> list[str]:
    """`found[conference, levels, list]`: two levels as they are, more as what they add."""
    lines = []
    for place, levels in enumerate(CUTS):
        more = found[:, place] - found[:, 0] if place else found[:, 0]
        cells = [_cell(more[:, one], signed=place > 0) for one in range(len(LISTS))]
        lines.append(f"| {regime}, {name}, {levels} levels | " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conferences", type=int, default=30)
    parser.add_argument("--workers", type=int, default=available_cores())
    options = parser.parse_args()
    header = [f"best {100 * share:.0f} of 100" for share in LISTS]
    lines = ["| | " + " | ".join(header) + " |", "|---" * (1 + len(header)) + "|"]
    own = [place for place, shares in enumerate(CUTS.values()) if LISTS[0] in shares and place]
    worst = -np.inf
    for regime in REGIMES:
        for name in GUARANTEES:
            run = partial(conference, regime=regime, name=name)
            found = np.array(parallel_map(run, range(options.conferences), workers=options.workers))
            lines += rows(regime, name, found)
            worst = max(worst, *(100 * (found[:, place] - found[:, 0])[:, 0].mean() for place in own))
            print("\n".join(lines[-len(CUTS) :]), flush=True)
    command = f"python studies/levels.py --conferences {options.conferences}"
    said = f"that list is as good as with two levels, to {worst:.2f} points"
    keep(
        "levels",
        command,
        {"docs/evidence/guarantees.md": {"levels": lines}},
        {"docs/evidence/guarantees.md": [said]},
    )


if __name__ == "__main__":
    main()
