"""Similarities -> an assignment drawn at random, and the prior that it was really drawn from.

As many assignments are sampled as `draws` says, and one of them, each as likely, is the one to use. So each
paper's reviewers are one of the sets that it has in the draws, each draw with the same chance: whoever knows
these sets, and the sampler as well, knows nothing more about that paper.

No sampler that meets all loads can give every paper the maximum-entropy prior of its chances instead. With
one paper per reviewer, let p have two of a, b, c, d, q one of a, b, and r one of c, d, all with chance 1/2: p
may have both a and b in that prior, and then nobody is left for q.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from blindcal.assignments.halvings import halved
from blindcal.assignments.keystreams import keystream
from blindcal.assignments.marginals import Marginals, marginals
from blindcal.assignments.pools import SampledPool
from blindcal.assignments.similarities import Similarity
from blindcal.checks import Integers
from blindcal.errors import InputError, RefusedError
from blindcal.files.disk import make_folder, read_part, write_bytes
from blindcal.files.published import refuse_published
from blindcal.files.tables import MAX_LINES, format_table

POOLS, ASSIGNMENT, ASSIGNMENTS = "pools.csv", "assignment.csv", "assignments.csv"


@dataclass(frozen=True, eq=False)
class Assigned:
    """Sampled assignments and which of them is used. CONFIDENTIAL.

    `similarity`: what was assigned by; papers and reviewers below are places in its lists.
    `chances`: how likely each pair was to be assigned, before the draws.
    `drawn`: `[draw, paper, place]`, the reviewers of each paper in each draw, in ascending order.
    `chosen`: the draw that is used, counted from 0.
    """

    similarity: Similarity
    chances: Marginals
    drawn: Integers
    chosen: int

    @cached_property
    def reviewers(self) -> dict[str, tuple[str, ...]]:
        """The reviewers of each paper: the assignment to use. CONFIDENTIAL."""
        people = self.similarity.reviewers
        rows = self.drawn[self.chosen].tolist()
        return {p: tuple(people[j] for j in row) for p, row in zip(self.similarity.papers, rows, strict=True)}

    def pools(self) -> dict[str, SampledPool]:
        """The prior of each paper: its set of reviewers in every draw, in no order."""
        people = self.similarity.reviewers
        found = {}
        for index, paper in enumerate(self.similarity.papers):
            sets, number = np.unique(self.drawn[:, index], axis=0, return_counts=True)
            named = (tuple(people[j] for j in row) for row in sets.tolist())
            found[paper] = SampledPool(dict(zip(named, number.tolist(), strict=True)))
        return found

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write `pools.csv` into `folder` and, for the owner alone, `assignments.csv`, the prior, and
        `assignment.csv`, the truth. The same assignment may be written again; another one is refused.

        Draws are numbered in the order of each paper's own sets: the numbers of different papers have nothing
        to do with each other. If they had, someone who knows the reviewers of a few papers could tell which
        draw is the true one, and with it the reviewers of all the others.
        """
        target = Path(folder)
        refuse_published(target / ASSIGNMENT)
        make_folder(target)
        files = self._files()
        there = [name for name in files if os.path.lexists(target / name)]
        for name in there:
            if not _same(target / name, files[name]):
                raise RefusedError(
                    f"{target / name} exists already, is not this assignment, and is never overwritten"
                )
        # The assignment comes last: it is never there without its prior.
        for name in [name for name in files if name not in there]:
            write_bytes(target / name, files[name], confidential=name != POOLS)

    def _files(self) -> dict[str, bytes]:
        papers, people = self.similarity.papers, self.similarity.reviewers
        chances, (draws, count, places) = self.chances, self.drawn.shape
        pools = [
            (papers[i], people[j], p)
            for i, j, p in zip(
                chances.paper.tolist(), chances.reviewer.tolist(), chances.probability.tolist(), strict=True
            )
        ]
        # Each paper's own sets in ascending order.
        sets = self.drawn.swapaxes(0, 1)
        ordered = np.stack([rows[np.lexsort(rows.T[::-1])] for rows in sets], axis=1)
        return {
            POOLS: format_table(
                dict(zip(("paper", "reviewer", "probability"), zip(*pools, strict=True), strict=True))
            ),
            ASSIGNMENTS: format_table(
                {
                    "draw": (1 + np.arange(draws)).repeat(count * places).tolist(),
                    "paper": [name for name in papers for _ in range(places)] * draws,
                    "reviewer": [people[j] for j in ordered.ravel().tolist()],
                }
            ),
            ASSIGNMENT: format_table(
                {
                    "paper": [name for name in papers for _ in range(places)],
                    "reviewer": [people[j] for j in self.drawn[self.chosen].ravel().tolist()],
                }
            ),
        }


def _same(path: Path, content: bytes) -> bool:
    return path.is_file() and read_part(path, 0, len(content) + 1) == content


def assign(
    similarity: Similarity,
    *,
    per_paper: int,
    per_reviewer: int,
    cap: float,
    spread: float = 0.0,
    draws: int = 64,
    seed: bytes,
) -> Assigned:
    """Assign reviewers to papers at random, with the greatest expected similarity that the limits allow.

    `similarity`: of papers and reviewers, with the pairs that are barred by a conflict.
    `per_paper`: how many reviewers each paper gets.
    `per_reviewer`: the most papers that one reviewer gets.
    `cap`: the greatest chance of any pair, above 0 and at most 1; the lower, the harder to guess who reviews.
    `spread`: from 0, the default, to 1. Above 0 a chance x counts only `x - spread * x^2` toward the expected
    similarity, which spreads each paper over more people.
    `draws`: how many assignments are sampled, a power of 2 up to 1024; one of them is used.
    `seed`: 32 secret bytes; the same ones give the same assignment.

    >>> similarity = Similarity.dense(["p", "q"], ["a", "b"], [[3.0, 2.0], [2.0, 0.0]])
    >>> found = assign(similarity, per_paper=1, per_reviewer=1, cap=0.75, draws=4, seed=bytes(32))
    >>> dict(found.pools()["p"])
    {'a': 0.25, 'b': 0.75}
    """
    rows = len(similarity.papers) * per_paper * draws
    if rows >= MAX_LINES:
        fewer = draws // 2 ** int(np.ceil(np.log2((rows + 1) / MAX_LINES)))
        raise InputError(
            f"`draws` {draws} of {len(similarity.papers)} papers are {rows:,} rows, where a table has at "
            f"most {MAX_LINES:,}: give {fewer}"
        )
    chances = marginals(
        similarity, per_paper=per_paper, per_reviewer=per_reviewer, cap=cap, spread=spread, draws=draws
    )
    chosen = int(keystream(seed, "choice", 1)[0]) % draws
    return Assigned(similarity, chances, halved(chances, seed), chosen)
