"""Who may have reviewed a paper, and how likely: candidate pools, read from files or meant by a word.

A pool gives each candidate's chance of having reviewed the paper; `priors` has what that says of tuples.
Where the assignment was drawn by a sampler that is known, its own distribution is the prior: `SampledPool`
has the sets of reviewers that a paper got in each of its draws.

`*` is anyone not listed by name.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb, gcd, lcm

import numpy as np

from blindcal.assignments.priors import Sets
from blindcal.cells import Column
from blindcal.errors import Problem
from blindcal.files.disk import read_table
from blindcal.files.tables import refuse

OUTSIDER = "*"
EVERYONE = "everyone"
Pools = Mapping[str, Mapping[str, float]]
"""For each paper its candidates and their chances, before scaling."""

_KINDS = ("draw", "reviewer", "conflict")
_DRAWN_OUTSIDER = (
    "must be a person: nobody drew * for a paper. Where others may have reviewed too, give pools with "
    "probabilities (pools.csv) and add * to every paper"
)


@dataclass(frozen=True, eq=False)
class SampledPool(Mapping[str, float]):
    """Who reviewed a paper together in sampled assignments, one of which, each as likely, is the true one.

    `sets` has in how many draws each set of reviewers had the paper. As a mapping, a pool has the share of
    draws of each candidate. The shares alone do not say who may have reviewed with whom: teams {a, b} and
    {c, d} have the same ones as any two of the four.

    >>> pool = SampledPool({("a", "b"): 1, ("c", "d"): 1})
    >>> dict(pool)
    {'a': 0.5, 'b': 0.5, 'c': 0.5, 'd': 0.5}
    """

    sets: Mapping[tuple[str, ...], int]

    @cached_property
    def _chances(self) -> dict[str, float]:
        draws, number = sum(self.sets.values()), Counter[str]()
        for people, times in self.sets.items():
            number.update(dict.fromkeys(people, times))
        return {name: number[name] / draws for name in sorted(number)}

    def __getitem__(self, name: str) -> float:
        return self._chances[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._chances)

    def __len__(self) -> int:
        return len(self._chances)

    @property
    def least(self) -> int:
        """How many reviewers the paper has in every draw at least."""
        return min(map(len, self.sets))

    def of(self, reviews: int) -> SampledPool:
        """Who may have written this many reviews: of those drawn, each group of that size is as likely.

        >>> SampledPool({("a", "b"): 1, ("a", "c"): 1}).of(1).sets
        Counter({('a',): 2, ('b',): 1, ('c',): 1})
        """
        ways = {len(people): comb(len(people), reviews) for people in self.sets}
        even, found = lcm(*ways.values()), Counter[tuple[str, ...]]()
        for people, times in self.sets.items():
            for group in combinations(people, reviews):
                found[group] += times * (even // ways[len(people)])
        return SampledPool(found)

    def by_place(self, names: Sequence[str]) -> Sets:
        """The sets by the candidates' places among `names`, sorted, with counts in lowest terms."""
        place, least = {name: index for index, name in enumerate(names)}, gcd(*self.sets.values())
        return tuple(
            sorted(
                (tuple(sorted(place[name] for name in people)), times // least)
                for people, times in self.sets.items()
            )
        )


def read_pools(path: str | os.PathLike[str]) -> dict[str, dict[str, float]]:
    """Each paper's candidates with their chances, from the table `path`: `paper,reviewer[,probability]`.

    Without the last column all are alike. A candidate `*` stands for everybody who is not listed.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pools.csv"
    ...     _ = path.write_text("paper,reviewer,probability\\np,ada,0.75\\np,ben,0.25\\n")
    ...     read_pools(path)
    {'p': {'ada': 0.75, 'ben': 0.25}}
    """
    columns = [
        Column("paper", "id"),
        Column("reviewer", "id", secret=True),
        Column("probability", "number", required=False, low=0.0, high=1.0),
    ]
    table = read_table(path, columns)
    chance = table.number("probability") if "probability" in table else np.ones(len(table))
    pools: dict[str, dict[str, float]] = {}
    problems = []
    for row, paper, reviewer, p in zip(
        table.rows, table.text("paper"), table.text("reviewer"), chance, strict=True
    ):
        pool = pools.setdefault(paper, {})
        if reviewer in pool:
            problems.append(Problem(table.file, row, "reviewer", "must not be twice in one paper's pool"))
        pool[reviewer] = float(p)
    if problems:
        raise refuse(problems)
    return pools


def read_draws(path: str | os.PathLike[str]) -> dict[str, SampledPool]:
    """Sampled assignments `draw,paper,reviewer`: for each paper, who reviewed it together, and how often."""
    columns = [Column("draw", "id"), Column("paper", "id"), Column("reviewer", "id", secret=True)]
    table = read_table(path, columns)
    drawn: dict[tuple[str, str], list[str]] = {}
    problems = []
    for row, draw, paper, reviewer in zip(
        table.rows, table.text("draw"), table.text("paper"), table.text("reviewer"), strict=True
    ):
        who = drawn.setdefault((paper, draw), [])
        if reviewer in who:
            problems.append(
                Problem(table.file, row, "reviewer", "must not stand twice on one paper of one draw")
            )
        if reviewer == OUTSIDER:
            problems.append(Problem(table.file, row, "reviewer", _DRAWN_OUTSIDER))
        who.append(reviewer)
    if problems:
        raise refuse(problems)
    draws, counted = len(set(table.text("draw"))), dict[str, Counter[tuple[str, ...]]]()
    for (paper, _), people in drawn.items():
        counted.setdefault(paper, Counter())[tuple(sorted(people))] += 1
    # A draw that leaves a paper out has nobody there.
    for sets in counted.values():
        sets.update({(): draws - sets.total()} if sets.total() < draws else {})
    return {paper: SampledPool(sets) for paper, sets in sorted(counted.items())}


def everyone(
    papers: Iterable[str], reviewers: Sequence[str], conflicts: Iterable[tuple[str, str]] = ()
) -> dict[str, dict[str, float]]:
    """Pools of everyone without a conflict, all equally likely.

    Each of the `papers` has all `reviewers` as candidates but those for whom `conflicts` lists
    `(paper, reviewer)`; by default there are none.

    >>> everyone(["p"], ["a", "b", "c"], [("p", "b")])
    {'p': {'a': 1.0, 'c': 1.0}}
    """
    barred = set(conflicts)
    return {p: {r: 1.0 for r in reviewers if (p, r) not in barred} for p in papers}


def pools_of(source: str | os.PathLike[str], papers: Iterable[str], reviewers: Iterable[str]) -> Pools:
    """The pools that the file `source` describes; its columns say how.

    `paper,reviewer[,probability]`: the candidates.
    `draw,paper,reviewer`: sampled assignments, of which one is the true one.
    `paper,conflict`: everyone but these. The word `everyone` in place of a file: no conflicts at all.

    `papers` and `reviewers` are all that there are; they matter where candidates are not listed.

    >>> pools_of("everyone", ["p", "q"], ["ada", "ben"])
    {'p': {'ada': 1.0, 'ben': 1.0}, 'q': {'ada': 1.0, 'ben': 1.0}}
    """
    people = sorted(set(reviewers) - {OUTSIDER})
    if str(source) == EVERYONE:
        return everyone(papers, people)
    columns = [Column("paper", "id"), Column("probability", "text", required=False)]
    columns += [Column(name, "id", required=False, secret=name != "draw") for name in _KINDS]
    table = read_table(source, columns)
    if "draw" in table:
        return read_draws(source)
    if "conflict" in table and "reviewer" not in table:
        return everyone(papers, people, zip(table.text("paper"), table.text("conflict"), strict=True))
    return read_pools(source)


def first_row(source: str | os.PathLike[str], candidates: Collection[str]) -> int | None:
    """The first row of a file of pools that names one of these candidates, for a message that must not."""
    columns = [Column("reviewer", "id", required=False, secret=True)]
    table = read_table(source, columns, extra=True)
    names = table.text("reviewer") if "reviewer" in table else ()
    return next((row for row, name in zip(table.rows, names, strict=False) if name in candidates), None)


def conflicts_in(source: str | os.PathLike[str]) -> set[tuple[str, str]]:
    """The conflicts `(paper, reviewer)` of a file that lists them in place of pools; none of any other."""
    if not os.path.exists(source):
        return set()
    columns = [Column(name, "id", required=False, secret=True) for name in ("paper", "conflict", "reviewer")]
    table = read_table(source, columns, extra=True)
    if "conflict" not in table or "reviewer" in table:
        return set()
    return set(zip(table.text("paper"), table.text("conflict"), strict=True))
