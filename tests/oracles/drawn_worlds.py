"""Random conferences whose calibration is right, and ways to make it wrong, for tests of agreement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from blindcal.pools.prior import inclusion
from blindcal.posterior.paper import PaperCase

Array = NDArray[np.float64]
Change = Callable[[Array], Array]
"""Changes a table of rows (slope, offset, noise) after the scores were drawn."""

TEN = tuple(float(level) for level in range(1, 11))


@dataclass(frozen=True)
class Drawn:
    """How a conference is drawn: `pool` is the least and largest size, `grid` whether scores are 1, ..., 10,
    `error` the standard error of the stated slopes (relative) and offsets."""

    papers: int = 40
    people: int = 30
    pool: tuple[int, int] = (8, 12)
    reviews: int = 3
    slope: float = 1.4
    slope_spread: float = 0.35
    center: float = 5.8
    offset: float = 1.2
    noise: tuple[float, float] = (0.6, 1.2)
    grid: bool = True
    error: float = 0.0

    def cases(self, rng: np.random.Generator, change: Change = np.copy) -> list[PaperCase]:
        stated = np.column_stack(
            [
                self.slope * np.exp(self.slope_spread * rng.standard_normal(self.people)),
                self.center + self.offset * rng.standard_normal(self.people),
                rng.uniform(*self.noise, self.people),
            ]
        )
        slope = stated[:, 0] * np.maximum(0.05, 1 + self.error * rng.standard_normal(self.people))
        offset = stated[:, 1] + self.error * rng.standard_normal(self.people)
        rows = [(a, b, n, self.error * a, self.error, 0.0, 0.0) for a, b, n in change(stated.copy()).tolist()]
        return [self._case(rng, f"p{i}", slope, offset, stated[:, 2], rows) for i in range(self.papers)]

    def _case(
        self,
        rng: np.random.Generator,
        name: str,
        slope: Array,
        offset: Array,
        noise: Array,
        rows: list[tuple[float, ...]],
    ) -> PaperCase:
        size = int(rng.integers(self.pool[0], self.pool[1] + 1))
        pool = rng.choice(self.people, size, replace=False)
        who, pool = pool[: self.reviews], np.sort(pool)
        score = slope[who] * rng.standard_normal() + offset[who] + noise[who] * rng.standard_normal(len(who))
        score = np.clip(np.round(score), 1, 10) if self.grid else score
        return PaperCase(
            name,
            tuple(sorted(score.tolist())),
            tuple(f"r{j:05d}" for j in pool),
            (self.reviews / size,) * size,
            tuple(rows[j] for j in pool),
            0.0,
            TEN if self.grid else None,
        )


def any_world(rng: np.random.Generator, most: int = 5000) -> Drawn:
    """40 to 5,000 papers, rounded and not, thin and rich pools, calibration exact or with standard errors."""
    papers = int(np.exp(rng.uniform(np.log(40), np.log(most))))
    reviews, people = int(rng.integers(2, 5)), int(max(25, papers * rng.uniform(0.3, 1.5)))
    thin = reviews + int(rng.integers(0, 4))
    pool = (thin, thin + 2) if rng.random() < 0.6 else (12, min(people, 40))
    return Drawn(
        papers=papers,
        people=people,
        pool=pool,
        reviews=reviews,
        slope=float(rng.uniform(0.7, 1.8)),
        slope_spread=float(rng.uniform(0, 0.5)),
        center=float(rng.uniform(4, 7)),
        offset=float(rng.uniform(0.2, 1.5)),
        noise=(0.4, float(rng.uniform(0.5, 1.4))),
        grid=bool(rng.random() < 0.5),
        error=float(rng.choice([0.0, 0.15])),
    )


def with_outsiders(
    rng: np.random.Generator,
    papers: int,
    *,
    far: float,
    chance: float,
    reviews: int,
    stated: float | None = None,
) -> list[PaperCase]:
    """A conference whose calibration is right and whose pools hold `*` beside 2 to 5 people. It has `chance`,
    those have .2 to 1, and its offset is `far` from theirs (or is said to be, if `stated`)."""
    people = 2 * papers + 6
    row = np.zeros((people + 1, 7))
    row[:, 0], row[:, 1] = np.exp(rng.normal(0, 0.4, people + 1)), rng.normal(0, 0.8, people + 1)
    row[:, 2] = rng.choice([0.4, 0.7], people + 1)
    row[0, 1] += far
    said = row.copy()
    said[0, 1] = row[0, 1] if stated is None else stated
    cases = []
    for number in range(papers):
        pool = np.append(0, 1 + np.sort(rng.choice(people, int(rng.integers(2, 6)), replace=False)))
        chances = np.append(chance, rng.uniform(0.2, 1.0, pool.size - 1))
        case = PaperCase(
            f"p{number}",
            (0.0,) * reviews,
            ("*", *(f"r{one:03d}" for one in pool[1:])),
            inclusion(chances.tolist(), reviews, 0),
            tuple(map(tuple, said[pool].tolist())),
            0.0,
        )
        cases.append(replace(case, scores=scores_of(case, row[pool], rng)))
    return cases


def scores_of(case: PaperCase, rows: Array, rng: np.random.Generator) -> tuple[float, ...]:
    """Scores by reviewers that are drawn from a paper's pool, by everybody's true `rows`."""
    tuples = case.tuples
    weight = np.exp(case.log_prior(tuples) - case.log_prior(tuples).max())
    slope, offset, noise = rows[tuples[rng.choice(len(tuples), p=weight / weight.sum())]].T[:3]
    score = slope * rng.standard_normal() + offset + noise * rng.standard_normal(slope.size)
    return tuple(sorted(score.tolist()))


def for_five_points(rows: Array) -> Array:
    """Made for scores from 1 to 5, where those here go from 1 to 10."""
    return np.column_stack([rows[:, 0] * 4 / 9, 1 + (rows[:, 1] - 1) * 4 / 9, rows[:, 2] * 4 / 9])


def centered(rows: Array) -> Array:
    """Offsets about 0 in place of the scores' middle."""
    return np.column_stack([rows[:, 0], rows[:, 1] - rows[:, 1].mean(), rows[:, 2]])


def mirrored(rows: Array) -> Array:
    """Strict and lenient exchanged, at the middle of the scale from 1 to 10."""
    return np.column_stack([rows[:, 0], 11 - rows[:, 1], rows[:, 2]])


def one_sixty(rows: Array) -> Array:
    """One offset typed 60 for 6."""
    rows[0, 1] = 60.0
    return rows
