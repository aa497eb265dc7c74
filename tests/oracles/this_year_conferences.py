"""Small conferences that are decided by this year's evidence, and lists of everything that can have been."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations, product

import numpy as np

from blindcal.posterior.conference import reviewers_by_slot
from blindcal.posterior.this_year_evidence import LevelCase, LevelModel, evidence, level_cases
from blindcal.posterior.variance_components import ScoreMoments
from blindcal.reviews import Reviews

Writers = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class SmallYear:
    """Scores, true writers and people of a conference; some people and papers have conflicts."""

    scores: dict[str, tuple[float, ...]]  # from the lowest up
    writers: Writers
    people: tuple[str, ...]
    conflicts: frozenset[tuple[str, str]]
    model: LevelModel
    areas: dict[str, str]
    bar: float

    @property
    def loads(self) -> dict[str, int]:
        wrote = Counter(name for names in self.writers for name in names)
        return {name: wrote[name] for name in self.people}

    def reviews(self, writers: Writers | None = None) -> Reviews:
        return Reviews.from_table(self.rows(writers))

    def rows(self, writers: Writers | None = None) -> dict[str, list[object]]:
        rows = [
            (paper, name, score)
            for (paper, scores), names in zip(self.scores.items(), writers or self.writers, strict=True)
            for name, score in zip(names, scores, strict=True)
        ]
        columns = ("paper", "reviewer", "score")
        return dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))

    @property
    def cases(self) -> list[LevelCase]:
        cases = level_cases(self.reviews(), self.model, dict.fromkeys(self.scores, ""), self.areas)
        return [replace(case, bar=self.bar) for case in cases]

    def assignments(self, *, free: bool = False) -> Iterator[Writers]:
        """Every assignment without conflicts, in which everybody wrote as many reviews as they did."""
        able = (
            permutations([who for who in self.people if (who, paper) not in self.conflicts], len(scores))
            for paper, scores in self.scores.items()
        )
        for writers in product(*map(list, able)):
            wrote = Counter(name for names in writers for name in names)
            if free or all(wrote[name] == load for name, load in self.loads.items()):
                yield writers

    def levels(self, writers: Writers) -> tuple[int, ...]:
        """The evidence of each paper as the package computes it."""
        found = evidence(self.cases, reviewers_by_slot(self.reviews(writers)))
        return tuple(found[paper] for paper in self.scores)


def small_year(
    seed: int, papers: int = 3, people: int = 4, most: int = 2, conflicts: int = 1, areas: bool = False
) -> SmallYear:
    """Unequal numbers of reviews per paper and person, and qualities close to the bar."""
    rng = np.random.default_rng([61, seed])
    names = tuple(f"r{number}" for number in range(people))
    ids = [f"p{number}" for number in range(papers)]
    slots = rng.integers(1, most + 1, papers)
    slots[0] = most
    drawn = [[names[who] for who in rng.permutation(people)[:k]] for k in slots]
    pairs = [(name, paper) for paper, own in zip(ids, drawn, strict=True) for name in set(names) - set(own)]
    apart = frozenset(sorted(pairs)[number] for number in rng.permutation(len(pairs))[:conflicts])
    strict = dict(zip(names, rng.normal(size=people), strict=True))
    scores, writers = {}, []
    for paper, own in zip(ids, drawn, strict=True):
        quality = rng.normal()
        given = sorted((round(5.0 + 1.5 * (quality + strict[who] + 0.6 * rng.normal())), who) for who in own)
        scores[paper] = tuple(float(score) for score, _ in given)
        writers.append(tuple(who for _, who in given))
    area = {paper: "xy"[number % 2] if areas else "" for number, paper in enumerate(ids)}
    centers = {"x": 0.25, "y": -0.5} if areas else {}
    numbers = Counter(map(len, scores.values()))
    model = LevelModel(
        ScoreMoments(5.0, 1.5, 1.25, centers),
        (0.25, 0.5)[seed % 2],
        people,
        numbers,
    )
    return SmallYear(scores, tuple(writers), names, apart, model, area, round(rng.normal(0.0, 0.3), 3))
