"""Adversaries of whole conferences in plain Python: every assignment and every outcome listed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import log2, prod

import numpy as np

from blindcal.adversaries.single_paper import View, case_view
from blindcal.policy.policy import Policy
from random_cases import random_case

Tuple = tuple[str, ...]


def random_views(rng: np.random.Generator, papers: int, *, people: int = 6, most: int = 2) -> list[View]:
    """Papers with pools from the same few people, under random tables for the chosen policy."""
    found = []
    for number in range(papers):
        reviews = int(rng.integers(1, most + 1))
        size = int(rng.integers(reviews + 1, 5))
        case = random_case(rng, size, reviews)
        who = sorted(rng.choice(people, size, replace=False).tolist())
        case = replace(case, paper=f"p{number}", candidates=tuple(f"r{one}" for one in who))
        table = rng.random(len(case.tuples)) ** rng.choice([0.2, 1.0, 5.0])
        found.append(case_view(case, Policy(np.where(rng.random(table.size) < 0.2, 0.0, table)), 1.0))
    return found


class Lister:
    """Everything that can happen: the reviewers and the outcome of every paper, and how likely that is."""

    def __init__(self, views: Sequence[View], policy: str) -> None:
        self.views = views
        self.tuples: list[list[tuple[Tuple, float, float]]] = [
            [
                (tuple(view.names[i] for i in row), float(weight), float(accept))
                for row, weight, accept in zip(view.rows, view.weight, view.accept[policy], strict=True)
            ]
            for view in views
        ]

    def worlds(self) -> Iterator[tuple[tuple[Tuple, ...], tuple[bool, ...], float]]:
        for chosen in product(*self.tuples):
            for outcome in product((True, False), repeat=len(self.views)):
                chance = prod(
                    w * (a if yes else 1.0 - a) for (_, w, a), yes in zip(chosen, outcome, strict=True)
                )
                yield tuple(who for who, _, _ in chosen), outcome, chance

    def right(self, decided: bool) -> dict[str, float]:
        """The chance of a right answer to each question, by guessing best for everything that may be seen."""
        kinds = ("author", "three guesses", "reviewed at all", "whole tuple", "link")
        seen: dict[str, dict[object, dict[object, dict[object, float]]]] = {
            kind: defaultdict(lambda: defaultdict(lambda: defaultdict(float))) for kind in kinds
        }
        for who, outcome, chance in self.worlds():
            told = outcome if decided else ()
            for paper, names in enumerate(who):
                seen["whole tuple"][paper][told][names] += chance
                for name in self.views[paper].names:
                    seen["reviewed at all"][paper, name][told][name in names] += chance
                for slot, name in enumerate(names):
                    seen["author"][paper, slot][told][name] += chance
                    seen["three guesses"][paper, slot][told][name] += chance
                    links = seen["link"][paper, slot][told]
                    links["nothing"] += 0.0
                    for other, others in enumerate(who):
                        for place, same in enumerate(others):
                            if other != paper:
                                links[other, place] += chance * (same == name)
        best = {kind: 3 if kind == "three guesses" else 1 for kind in kinds}
        return {
            kind: sum(
                sum(sorted(guesses.values(), reverse=True)[: best[kind]])
                for outcomes in asked.values()
                for guesses in outcomes.values()
            )
            / len(asked)
            for kind, asked in seen.items()
        }

    def bits(self) -> float:
        """Information of a paper's own decision about a reviewer, mean over all reviews."""
        found = []
        for options in self.tuples:
            for slot in range(len(options[0][0])):
                joint: dict[tuple[str, bool], float] = defaultdict(float)
                for who, weight, accept in options:
                    joint[who[slot], True] += weight * accept
                    joint[who[slot], False] += weight * (1.0 - accept)
                name, said = defaultdict(float), defaultdict(float)
                for (author, yes), mass in joint.items():
                    name[author] += mass
                    said[yes] += mass
                found.append(sum(m * log2(m / (name[a] * said[d])) for (a, d), m in joint.items() if m > 0.0))
        return sum(found) / len(found)

    def largest_rise(self) -> float:
        """The most that any outcome of all papers makes the best guess at a reviewer likelier."""
        alone: dict[tuple[int, int], dict[str, float]] = defaultdict(lambda: defaultdict(float))
        after: dict[tuple[int, int, object], dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for who, outcome, chance in self.worlds():
            for paper, names in enumerate(who):
                for slot, name in enumerate(names):
                    alone[paper, slot][name] += chance
                    after[paper, slot, outcome][name] += chance
        return max(
            max(mass.values()) / sum(mass.values()) - max(alone[paper, slot].values())
            for (paper, slot, _), mass in after.items()
            if sum(mass.values()) > 1e-12
        )
