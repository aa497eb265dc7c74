"""One simulated conference with pools of candidates, and with the truth that only a simulation knows.

`simulate` draws it, `inputs` hands it over as a chair would, and `replay` plays a plan against its truth.
`example` is a conference of 200 papers, always the same, and `example_files` has it as a chair's files.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from blindcal.checks import Array, Integers
from blindcal.errors import InputError
from blindcal.fitting.value_of_history import draw_panels
from blindcal.io.tables import data_frame, format_table
from blindcal.posterior.inputs import Inputs, read_inputs
from blindcal.posterior.paper import PaperCase
from blindcal.posterior.this_year_inputs import ThisYearInputs
from blindcal.reviewers.affine import Affine
from blindcal.simulation.population import Population, prototype_population

__all__ = ["SimulatedConference", "simulate"]

Columns = dict[str, list[Any]]


@dataclass(frozen=True, eq=False)
class SimulatedConference:
    """A conference in which each paper has a uniform pool of candidates, with its truth.

    Attributes:
        quality: `quality[paper]`. Secret.
        slope: `slope[j]` of reviewer j. Public, as the next two.
        offset: `offset[j]`.
        noise: `noise[j]`.
        pool: `pool[paper, m]`, the candidates in increasing order, whatever the truth.
        reviewer: `reviewer[paper, k]`. Secret.
        score: `score[paper, k]`, what that reviewer gave.
        grid: The scores that can be given; None if any number can be.
    """

    quality: Array
    slope: Array
    offset: Array
    noise: Array
    pool: Integers
    reviewer: Integers
    score: Array
    grid: tuple[float, ...] | None = None

    @property
    def papers(self) -> tuple[str, ...]:
        """The ids of papers, which sort like their numbers."""
        return _numbered_ids("P", self.quality.size)

    @property
    def people(self) -> tuple[str, ...]:
        """The ids of reviewers."""
        return _numbered_ids("R", self.slope.size)

    @property
    def reviewers(self) -> Affine:
        """The whole list of reviewers as one array of affine ones (before any rounding to a grid)."""
        return Affine(self.slope, self.offset, self.noise)

    @property
    def tables(self) -> dict[str, Columns]:
        """What a chair has: reviews, the reviewers' calibration, and the pools."""
        papers, names = np.array(self.papers), np.array(self.people)

        def pairs(who: Integers) -> Columns:
            """The papers and the people of `who[paper, slot]`."""
            return {
                "paper": papers.repeat(who.shape[1]).tolist(),
                "reviewer": names[who].ravel().tolist(),
            }

        known = {name: getattr(self, name).tolist() for name in ("slope", "offset", "noise")}
        return {
            "reviews": {**pairs(self.reviewer), "score": self.score.ravel().tolist()},
            "reviewers": {"reviewer": names.tolist(), **known},
            "pools": pairs(self.pool),
        }

    def inputs(self) -> Inputs:
        """The conference as `plan` and `decide` take it, with every reviewer's calibration known exactly."""
        tables, grid = self.tables, () if self.grid is None else self.grid
        return read_inputs(tables["reviews"], tables["reviewers"], tables["pools"], grid=grid)

    def reviews_alone(self) -> ThisYearInputs:
        """The same with this year's reviews alone: nothing is known of the reviewers."""
        return read_inputs(self.tables["reviews"], grid=() if self.grid is None else self.grid)

    def to_frame(self, table: str = "papers") -> Any:
        """One of its tables as a pandas data frame; needs pandas.

        Args:
            table: "papers", which has the true qualities, "reviews", "reviewers" or "pools".
        """
        tables = {"papers": {"paper": list(self.papers), "quality": self.quality.tolist()}, **self.tables}
        if table not in tables:
            raise InputError(f"table must be one of {', '.join(tables)}, found {table!r}")
        return data_frame(tables[table])

    def cases(self, bar: float) -> list[PaperCase]:
        """The papers as anyone sees them, with every reviewer's parameters known."""
        known = np.column_stack([self.slope, self.offset, self.noise])
        people = np.array([f"r{j:07d}" for j in range(self.slope.size)])
        return [
            uniform_case(f"p{i:05d}", scores, people[pool], known[pool], bar, grid=self.grid)
            for i, (scores, pool) in enumerate(zip(self.score, self.pool, strict=True))
        ]


def uniform_case(
    paper: str, scores: ArrayLike, candidates: Iterable[str], known: Array, bar: float, **more: Any
) -> PaperCase:
    """A paper whose candidates are equally likely; `known[candidate]` has slope, offset and noise, or all."""
    reviews, size = np.size(scores), len(known)
    rows = np.zeros((size, 7))
    rows[:, : known.shape[1]] = known
    return PaperCase(
        paper=paper,
        scores=tuple(np.sort(np.asarray(scores, dtype=np.float64), axis=None).tolist()),
        candidates=tuple(map(str, candidates)),
        inclusion=(reviews / size,) * size,
        parameters=tuple(map(tuple, rows.tolist())),
        bar=bar,
        **more,
    )


def _numbered_ids(letter: str, size: int) -> tuple[str, ...]:
    width = max(3, len(str(size)))
    return tuple(f"{letter}{number:0{width}d}" for number in range(1, size + 1))


PAPERS, POOL, REVIEWS, RATE = 200, 8, 3, 0.25


def simulate(
    papers: int = PAPERS,
    pool: int = POOL,
    per_paper: int = REVIEWS,
    population: Population | None = None,
    *,
    reviewers: int | None = None,
    seed: int | np.random.Generator = 0,
) -> SimulatedConference:
    """Draws a conference in which each paper has a uniform pool of candidates.

    Its true reviewers are uniform in the pool and independent between papers: no loads are kept.

    Args:
        papers: How many papers there are.
        pool: How many candidates each of them has.
        per_paper: Reviews that each paper gets.
        population: How reviewers are drawn and how scores arise; by default `prototype_population`.
        reviewers: How many people pools are drawn from; by default as many as papers, and at least `pool`.
        seed: A number, or the generator that everything is drawn with.

    Example:
        >>> drawn = simulate(papers=5, pool=4, per_paper=2, seed=1)
        >>> drawn.papers[:2], drawn.pool.shape, drawn.score.shape, drawn.inputs().reviews
        (('P001', 'P002'), (5, 4), (5, 2), Reviews(10 reviews of 5 papers by 4 reviewers))
    """
    rng, population = np.random.default_rng(seed), population or prototype_population()
    people = max(papers, pool) if reviewers is None else reviewers
    if not 1 <= per_paper <= pool <= people:
        raise InputError(f"need 1 <= per_paper <= pool <= reviewers, found {per_paper}, {pool}, {people}")
    quality = rng.standard_normal(papers)
    slope, offset, noise = population.parameters(rng, (people,))
    drawn = np.sort(draw_panels(rng, papers, people, pool), axis=1)
    reviewer = rng.permuted(drawn, axis=1)[:, :per_paper]
    score = population.scores(rng, quality[:, None], slope[reviewer], offset[reviewer], noise[reviewer])
    return SimulatedConference(quality, slope, offset, noise, drawn, reviewer, score, population.grid)


_SEED = 14


def example(papers: int = PAPERS) -> SimulatedConference:
    """The embedded conference, with the qualities that only a made-up one knows."""
    return simulate(papers, seed=_SEED)


def example_files(drawn: SimulatedConference) -> dict[str, bytes]:
    """What a chair would have: reviews, the reviewers' calibration, and the pools; numbers are rounded."""
    digits = {"score": 2, "slope": 3, "offset": 3, "noise": 3}
    return {
        f"{name}.csv": format_table(
            {
                column: [round(value, digits[column]) for value in values] if column in digits else values
                for column, values in table.items()
            }
        )
        for name, table in drawn.tables.items()
    }
