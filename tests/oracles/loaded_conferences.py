"""Small conferences in which everybody has a load, and an adversary that lists every assignment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from blindcal.adversaries.single_paper import View, case_view
from blindcal.policy.policy import Policy
from random_cases import random_case
from whole_conferences import random_views


def assigned(
    rng: np.random.Generator, papers: int, *, people: int = 5, most: int = 2
) -> tuple[list[View], dict[str, int]]:
    """Papers, and the loads of an assignment that was drawn from what their scores say."""
    return drawn(rng, papers, people=people, most=most)[:2]


def drawn(
    rng: np.random.Generator, papers: int, *, people: int = 5, most: int = 2
) -> tuple[list[View], dict[str, int], list[int]]:
    """The same with the assignment: a row of each paper's tuples."""
    views = random_views(rng, papers, people=people, most=most)
    truth = [int(rng.choice(len(view.rows), p=view.weight)) for view in views]
    return views, loads_of(views, truth), truth


def starred(
    rng: np.random.Generator, papers: int, *, people: int = 4
) -> tuple[list[View], dict[str, int], list[int]]:
    """Papers whose pools hold `*` among a few people, and the loads of these people."""
    views = []
    for number in range(papers):
        size, reviews = int(rng.integers(2, people + 1)), int(rng.integers(1, 3))
        names = [f"r{one}" for one in sorted(rng.choice(people, size, replace=False).tolist())]
        case = random_case(rng, size + 1, reviews)
        case = replace(case, paper=f"p{number}", candidates=("*", *names))
        views.append(case_view(case, Policy(rng.random(len(case.tuples))), 1.0))
    truth = [int(rng.choice(len(view.rows), p=view.weight)) for view in views]
    return views, loads_of(views, truth), truth


def loads_of(views: Sequence[View], truth: Sequence[int]) -> dict[str, int]:
    loads = {name: 0 for view in views for name in view.names}
    for view, row in zip(views, truth, strict=True):
        for who in view.rows[row]:
            if who >= 0:
                loads[view.names[who]] += 1
    loads.pop("*", None)
    return loads


def decided(
    views: Sequence[View], truth: Sequence[int], policy: str, rng: np.random.Generator
) -> list[np.ndarray]:
    """What the papers' tuples weigh after outcomes that were drawn for an assignment."""
    found = []
    for view, row in zip(views, truth, strict=True):
        accept = view.accept[policy]
        yes = rng.random() < accept[row]
        found.append(view.weight * (accept if yes else 1.0 - accept))
    return found


class Assigned:
    """All assignments that meet the loads, one by one."""

    def __init__(self, views: Sequence[View], loads: Mapping[str, int]) -> None:
        self.views, self.loads = views, loads

    def possible(self) -> Iterator[tuple[int, ...]]:
        for choice in product(*(range(len(view.rows)) for view in self.views)):
            found = dict.fromkeys(self.loads, 0)
            for view, row in zip(self.views, choice, strict=True):
                for who in view.rows[row]:
                    found[view.names[who] if who >= 0 else "*"] += 1
            if found == dict(self.loads):
                yield choice

    def weighed(self, masses: Sequence[np.ndarray]) -> Iterator[tuple[tuple[int, ...], float]]:
        for choice in self.possible():
            yield choice, float(np.prod([mass[row] for mass, row in zip(masses, choice, strict=True)]))

    def total(self, masses: Sequence[np.ndarray]) -> float:
        return sum(weight for _, weight in self.weighed(masses))

    def authors(self, masses: Sequence[np.ndarray]) -> list[np.ndarray]:
        found = [np.zeros((view.rows.shape[1], len(view.names))) for view in self.views]
        for choice, weight in self.weighed(masses):
            for view, table, row in zip(self.views, found, choice, strict=True):
                for slot, who in enumerate(view.rows[row]):
                    table[slot, who] += weight if who >= 0 else 0.0
        total = self.total(masses)
        return [table / total for table in found]

    def gain(self, policy: str) -> tuple[float, float, float]:
        """Right without the decisions and with them, and the most that a best guess rises."""
        weights = [view.weight for view in self.views]
        alone, scale = [one.max(axis=1) for one in self.authors(weights)], self.total(weights)
        reviews, success, rise = sum(one.size for one in alone), 0.0, -np.inf
        for outcome in product((True, False), repeat=len(self.views)):
            masses = [
                view.weight * (view.accept[policy] if yes else 1.0 - view.accept[policy])
                for view, yes in zip(self.views, outcome, strict=True)
            ]
            total = self.total(masses)
            if total > 0.0:
                tops = [one.max(axis=1) for one in self.authors(masses)]
                success += total / scale * sum(top.sum() for top in tops) / reviews
                rise = max(rise, *((top - old).max() for top, old in zip(tops, alone, strict=True)))
        return sum(one.sum() for one in alone) / reviews, success, rise
