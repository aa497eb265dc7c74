"""Random papers whose tuples of reviewers can all be listed, and the promises to ask of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import perm

import numpy as np

from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.paper import PaperCase
from sizes import count

Row = tuple[float, ...]
GUARANTEES = [
    Guarantee("steady", epsilon=2.0),
    Guarantee("public", epsilon=2.0),
    Guarantee("none", epsilon=None),
    Guarantee("none", epsilon=1.0),
    Guarantee("steady", epsilon=None),
    Guarantee("steady", epsilon=0.5),
    Guarantee("steady", epsilon=None, multiplier=1.3),
    Guarantee("crowd", among=3, epsilon=None),
    Guarantee("crowd", among=10, epsilon=2.0),
    Guarantee("crowd", among=4, epsilon=None, multiplier=1.4),
    Guarantee("crowd", among=5, epsilon=1.0, posterior_cap=0.95),
    Guarantee("average", among=4, epsilon=None),
    Guarantee("average", among=3, epsilon=1.5),
    Guarantee("average", epsilon=None),
    Guarantee("average", epsilon=1.5),
    Guarantee("average", epsilon=1.0, multiplier=1.2),
    Guarantee("average", epsilon=None, multiplier=1.6),
    Guarantee("average", epsilon=None, posterior_cap=0.9),
    Guarantee("none", epsilon=2.0, posterior_cap=0.95),
    Guarantee("odds"),
    Guarantee("odds", epsilon=1.0, multiplier=1.3),
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


def crowded(case: PaperCase) -> PaperCase:
    """The same paper with nothing listed: even the smallest pool is summed up."""
    return replace(case, most_listed=0)


def odd_cases() -> Iterator[PaperCase]:
    """Papers whose tuples can be listed: what is summed up is compared with them."""
    yield from random_cases(41, count(40, 300), 1320)
    case = random_case(np.random.default_rng(42), 6, 3)
    yield replace(case, inclusion=(1.0, 0.4, 0.4, 0.4, 0.4, 0.4))
    yield replace(case, inclusion=(1.0, 0.25, 0.25, 0.25, 0.25, 1.0))
    yield replace(case, grid=tuple(np.arange(-4.0, 4.5, 0.5)), scores=(-0.5, 0.5, 1.5))
    unsure = tuple((*row[:3], 0.2, 0.3, 0.5, 0.1) for row in case.parameters)
    yield replace(case, parameters=unsure)
    tied = random_case(np.random.default_rng(43), 7, 4)
    yield replace(tied, scores=(0.0, 0.0, 1.0, 1.0))
    yield from nasty_cases()


def nasty_cases() -> Iterator[PaperCase]:
    """Somebody certain who fits badly or who would have written everything, pools as small as the reviews,
    scores far out, many who look alike."""
    rng = np.random.default_rng(53)
    plain = tuple((1.0, float(b), 0.1, 0.0, 0.0, 0.0, 0.0) for b in rng.normal(0, 0.1, 12))
    misfit = ((1.0, 2.0, 0.05, 0.0, 0.0, 0.0, 0.0), *plain[1:])
    case = PaperCase(
        "p", (-1.1, -1.0, -0.9), tuple(f"r{j:02d}" for j in range(12)), (0.25,) * 12, plain, -1.2
    )
    yield replace(case, parameters=misfit, inclusion=(1.0, *(2 / 11,) * 11))
    yield replace(case, parameters=misfit, inclusion=(0.999, *(2.001 / 11,) * 11))
    sole = (
        (1.0, -1.0, 0.05, 0.0, 0.0, 0.0, 0.0),
        *((1.0, 4.0 + j, 0.3, 0.0, 0.0, 0.0, 0.0) for j in range(11)),
    )
    yield replace(case, parameters=sole)
    yield replace(case, parameters=sole, inclusion=(0.99, *(2.01 / 11,) * 11))
    yield replace(case, scores=(8.0, 9.0, 30.0))
    twins = tuple(plain[j // 4] for j in range(12))
    yield replace(case, parameters=twins)
    yield replace(case, parameters=(plain[0],) * 12, scores=(0.0, 0.0, 0.0))
    for size in (3, 4):
        small = random_case(rng, size, 3)
        yield replace(small, inclusion=(3 / size,) * size)
