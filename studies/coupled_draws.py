"""What papers that share reviewers add where an assignment was drawn: small conferences, by enumeration.

    python studies/coupled_draws.py --data FOLDER [--conferences 400] [--workers N]

Each conference is a piece of AAMAS 2021's bids (see studies/assigning.py): five papers and some of those who
bid on them, two reviews per paper and at most two papers per reviewer, assigned with a cap of 0.5 and 64
draws. Every paper is planned by itself, as always, from its own sets in the draws. The adversary also knows
that nobody has more papers than they may have: it takes every combination of sets, one of each paper, as
likely as the product of their chances if it meets all loads, and as impossible if not, and goes through all
of them and all outcomes of all papers. Writes docs/numbers/coupled_draws.json and a table of
docs/evidence/assignment.md.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from assigning import GUARANTEES, cases_of, similarity_of
from blindcal.assignment.sampling import assign
from blindcal.assignment.similarity import Similarity
from blindcal.checks import Array
from blindcal.compute.parallel import available_cores, parallel_map
from blindcal.errors import InputError
from blindcal.policy.solver import solve
from blindcal.posterior.paper import PaperCase
from stated import keep

PAPERS, PER_PAPER, PER_REVIEWER, CAP = 5, 2, 2, 0.5
REVIEWERS = {8: "8 reviewers, 10 of 16 places taken", 5: "5 reviewers, every place taken"}
NAMES = ("steady, epsilon 2", "average", "full calibration")


@dataclass(frozen=True, eq=False)
class Paper:
    """The tuples of one paper: which set each one is of, who stands in its slots (as numbers over all
    papers), its weight given the scores, and its accept probability."""

    sets: tuple[tuple[int, ...], ...]
    place: Array
    who: Array
    weight: Array
    accept: Array

    def masses(self, outcome: int | None) -> Array:
        """The weight of each tuple, with that of an outcome."""
        return self.weight * {None: 1.0, 0: 1.0 - self.accept, 1: self.accept}[outcome]

    def by_set(self, mass: Array) -> Array:
        return np.bincount(self.place, mass, len(self.sets))


def piece(similarity: Similarity, reviewers: int, seed: int) -> Similarity:
    """Some papers, and some of those who bid on them, most bids first and ties by chance."""
    rng = np.random.default_rng([reviewers, seed])
    papers = np.sort(rng.choice(len(similarity.papers), PAPERS, replace=False))
    value, barred = (part[papers].toarray() for part in (similarity.value, similarity.barred))
    people = np.sort(np.lexsort((rng.random(value.shape[1]), -value.sum(axis=0)))[:reviewers])
    names = [similarity.papers[i] for i in papers], [similarity.reviewers[j] for j in people]
    return Similarity.dense(*names, value[:, people], barred[:, people])


def planned(case: PaperCase, guarantee: int) -> Paper:
    """A paper as the library plans it."""
    tuples, names = case.tuples, [int(name[1:]) for name in case.candidates]
    sets = tuple(sorted({tuple(sorted(row)) for row in tuples.tolist()}))
    place = np.array([sets.index(tuple(sorted(row))) for row in tuples.tolist()])
    people = tuple(tuple(names[j] for j in one) for one in sets)
    accept = solve(case, GUARANTEES[guarantee]).accept
    return Paper(people, place, np.array(names)[tuples], case.belief.weight, accept)


def feasible(papers: list[Paper]) -> Array:
    """`[set of paper 1, set of paper 2, ...]`: 1 where nobody has more papers than they may have."""
    people = sorted({j for paper in papers for one in paper.sets for j in one})
    load = np.zeros(len(people), dtype=np.int64)
    for paper in papers:
        on = np.array([[j in one for j in people] for one in paper.sets], dtype=np.int64)
        load = load[..., None, :] + on
    return np.asarray(load.max(axis=-1) <= PER_REVIEWER, dtype=np.float64)


def named(papers: list[Paper], possible: Array, outcomes: tuple[int | None, ...]) -> float:
    """The sum over all reviews of the largest mass of a candidate, for one outcome of all papers."""
    masses = [paper.masses(outcome) for paper, outcome in zip(papers, outcomes, strict=True)]
    sums = [paper.by_set(mass) for paper, mass in zip(papers, masses, strict=True)]
    total = 0.0
    for index, paper in enumerate(papers):
        rest = possible
        for other in reversed(range(len(papers))):
            if other != index:
                rest = np.tensordot(rest, sums[other], axes=(other, 0))
        mass = masses[index] * rest[paper.place]
        total += sum(np.bincount(slot, mass).max() for slot in paper.who.T)
    return total


def compute(seed: int, similarity: Similarity, reviewers: int) -> Array | None:
    """`[guarantee, (alone, coupled), (scores, decisions)]`: the chance of naming a reviewer, mean over all
    reviews; None where these few cannot meet the cap."""
    small = piece(similarity, reviewers, seed)
    try:
        assigned = assign(
            small,
            per_paper=PER_PAPER,
            per_reviewer=PER_REVIEWER,
            cap=CAP,
            seed=seed.to_bytes(32, "big"),
        )
    except InputError:
        return None
    cases = cases_of(assigned, PAPERS, seed)
    found = np.empty((len(NAMES), 2, 2))
    for g in range(len(NAMES)):
        papers = [planned(case, g) for case in cases]
        coupled = feasible(papers)
        for row, possible in enumerate((np.ones_like(coupled), coupled)):
            every = possible
            for paper in reversed(papers):
                every = np.tensordot(every, paper.by_set(paper.weight), axes=(every.ndim - 1, 0))
            reviews = float(every) * PAPERS * PER_PAPER
            found[g, row, 0] = named(papers, possible, (None,) * PAPERS) / reviews
            outcomes = product((0, 1), repeat=PAPERS)
            found[g, row, 1] = sum(named(papers, possible, one) for one in outcomes) / reviews
    return found


def table(found: dict[int, Array]) -> list[str]:
    lines = [
        "| conferences | guarantee | named from the scores: paper by paper | knowing all loads | with all "
        "decisions: paper by paper | knowing all loads | what decisions add for someone who knows all "
        "loads |",
        "|---" * 7 + "|",
    ]
    for reviewers, values in found.items():
        for g, name in enumerate(NAMES):
            cells = [f"{100 * values[:, g, row, part].mean():.1f} %" for part in (0, 1) for row in (0, 1)]
            added = 100 * (values[:, g, 1, 1] - values[:, g, 1, 0])
            error = added.std(ddof=1) / np.sqrt(len(added))
            cells.append(f"{added.mean():.2f} ± {error:.2f} points")
            lines.append(f"| {REVIEWERS[reviewers]} | {name} | " + " | ".join(cells) + " |")
    return lines


def sentences(found: dict[int, Array]) -> list[str]:
    added = [100 * (values[:, 0, 1, 1] - values[:, 0, 1, 0]).mean() for values in found.values()]
    return [f"decisions add {min(added):.2f} to {max(added):.2f} percentage points under *steady*, epsilon 2"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--conferences", type=int, default=400)
    parser.add_argument("--workers", type=int, default=available_cores())
    options = parser.parse_args()
    if options.data is None:
        print("give --data, a folder with the bids: nothing was computed")
        return
    similarity = similarity_of(options.data)
    found = {}
    for reviewers in REVIEWERS:
        run = partial(compute, similarity=similarity, reviewers=reviewers)
        done = [
            one
            for one in parallel_map(run, range(options.conferences), workers=options.workers)
            if one is not None
        ]
        print(f"{reviewers} reviewers: {len(done)} of {options.conferences} conferences can be assigned")
        found[reviewers] = np.array(done)
    lines, said = table(found), sentences(found)
    print("\n".join([*lines, *said]))
    command = f"python studies/coupled_draws.py --data FOLDER --conferences {options.conferences}"
    page = "docs/evidence/assignment.md"
    keep("coupled_draws", command, {page: {"coupled draws": lines}}, {page: said})


if __name__ == "__main__":
    main()
