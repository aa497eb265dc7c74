"""Random papers whose tuples of reviewers can all be listed, and the promises to ask of them."""

from __future__ import annotations

from math import perm

import numpy as np

from blindcal.beliefs.cases import PaperCase
from blindcal.policies.guarantees import Guarantee

Row = tuple[float, ...]
GUARANTEES = [
    Guarantee(),
    Guarantee("public"),
    Guarantee("none", epsilon=None),
    Guarantee("none", epsilon=1.0),
    Guarantee("steady", epsilon=None),
    Guarantee("steady", epsilon=0.5),
    Guarantee("steady", epsilon=None, multiplier=1.3),
    Guarantee("average", epsilon=None),
    Guarantee("average", epsilon=1.5),
    Guarantee("average", epsilon=1.0, multiplier=1.2),
    Guarantee("average", epsilon=None, multiplier=1.6),
    Guarantee("average", epsilon=None, posterior_cap=0.9),
    Guarantee("none", epsilon=2.0, posterior_cap=0.95),
]


def random_case(rng: np.random.Generator, size: int, reviews: int, *, ties: bool = False) -> PaperCase:
    """Unequal chances, some reviewers alike, sometimes tied scores; someone of the pool wrote the reviews."""
    slope, offset = np.exp(rng.normal(0, 0.5, size)), rng.normal(0, 0.8, size)
    noise = rng.choice([0.4, 0.5, 0.8], size)
    chance = rng.uniform(0.3, 1.0, size)
    if ties and size > 2:
        slope[1], offset[1], noise[1], chance[1] = slope[0], offset[0], noise[0], chance[0]
    chance = chance * reviews / chance.sum()
    chance = chance if chance.max() < 1 else np.full(size, reviews / size)
    quality = rng.normal(0.5, 0.7)
    wrote = rng.choice(size, reviews, replace=False)
    scores = slope[wrote] * quality + offset[wrote] + noise[wrote] * rng.normal(size=reviews)
    if ties:
        scores = np.round(scores)
    rows = np.column_stack([slope, offset, noise, np.zeros((size, 4))])
    return PaperCase(
        paper="p",
        scores=tuple(sorted(scores.tolist())),
        candidates=tuple(f"r{j:02d}" for j in range(size)),
        inclusion=tuple(chance.tolist()),
        parameters=tuple(map(tuple, rows.tolist())),
        bar=0.6,
    )


def random_cases(seed: int, papers: int, most: int) -> list[PaperCase]:
    """Pools of 2 to 12 and 1 to 4 reviews, at most so many tuples."""
    rng, found = np.random.default_rng(seed), []
    while len(found) < papers:
        size = int(rng.integers(2, 13))
        reviews = int(rng.integers(1, min(4, size) + 1))
        if perm(size, reviews) <= most:
            found.append(random_case(rng, size, reviews, ties=bool(rng.random() < 0.4)))
    return found


def row_of(slope: float, offset: float, noise: float, *rest: float) -> Row:
    """Parameters of a reviewer, known exactly if nothing else is said."""
    return (slope, offset, noise, *(rest or (0.0, 0.0, 0.0, 0.0)))
