"""Small conferences whose reviewers are known with errors, and what somebody believes who takes all papers
together: by listing all joint assignments, or by quadrature over what is uncertain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import ndtr

from blindcal.adversaries.single_paper import View, case_view
from blindcal.policy.policy import Policy
from blindcal.posterior.paper import PaperCase

Row = tuple[float, ...]
"""Slope, offset, noise, slope_se, offset_se, correlation, noise_se."""
Array = np.ndarray
GRID = (-2.0, -1.0, 0.0, 1.0, 2.0)


def people(
    rng: np.random.Generator, size: int, *, errors: Sequence[float] = (0.0, 0.0, 0.0, 0.0)
) -> dict[str, Row]:
    """Everybody's stated numbers, with the same standard errors, correlation and error of the noise."""
    rows = np.column_stack(
        [np.exp(rng.normal(0, 0.4, size)), rng.normal(0, 0.8, size), rng.choice([0.4, 0.6, 0.8], size)]
    )
    return {f"r{j}": (*row, *errors) for j, row in enumerate(rows.tolist())}


def paper(
    rng: np.random.Generator,
    number: int,
    rows: Mapping[str, Row],
    names: Sequence[str],
    reviews: int,
    *,
    grid: tuple[float, ...] | None = None,
) -> PaperCase:
    """A paper with unequal chances of its candidates, and scores that some of them may have given."""
    names = sorted(names)
    chance = rng.uniform(0.3, 1.0, len(names))
    chance = chance * reviews / chance.sum()
    chance = chance if chance.max() < 1 else np.full(len(names), reviews / len(names))
    quality = rng.normal(0.0, 0.8)
    scores = []
    for name in rng.permutation(names)[:reviews]:
        slope, offset, noise, slope_se, offset_se, *_ = rows[str(name)]
        score = (slope + slope_se * rng.normal()) * quality + offset + offset_se * rng.normal()
        scores.append(score + noise * rng.normal())
    if grid is not None:
        scores = [min(grid, key=lambda cell, score=score: abs(cell - score)) for score in scores]
    return PaperCase(
        paper=f"p{number}",
        scores=tuple(sorted(scores)),
        candidates=tuple(names),
        inclusion=tuple(chance.tolist()),
        parameters=tuple(rows[name] for name in names),
        bar=0.2,
        grid=grid,
    )


def seen(cases: Sequence[PaperCase], rng: np.random.Generator) -> list[View]:
    """The papers under tables that were drawn; nothing is decided."""
    return [case_view(case, Policy(rng.uniform(0.1, 0.9, len(case.tuples))), 1.0) for case in cases]


def listed(cases: Sequence[PaperCase], likely: Sequence[Array]) -> list[Array]:
    """For each paper `[slot, place]`: who wrote what, by all joint assignments; only offsets are uncertain.
    All scores together are Gaussian: those of a paper share its quality, those of a person their offset,
    but strangers (`*`), who are never the same person."""
    tuples = [case.tuples for case in cases]
    priors = [case.log_prior(rows) for case, rows in zip(cases, tuples, strict=True)]
    score = np.concatenate([case.scores for case in cases])
    paper_of = np.repeat(np.arange(len(cases)), [len(case.scores) for case in cases])
    logs, picks = [], list(product(*(range(len(rows)) for rows in tuples)))
    for pick in picks:
        names, rows, log = [], [], 0.0
        for case, tuple_rows, prior, chance, one in zip(cases, tuples, priors, likely, pick, strict=True):
            for slot, place in enumerate(tuple_rows[one]):
                name = case.candidates[place]
                names.append(f"{case.paper}/{slot}" if name == "*" else name)
                rows.append(case.parameters[place])
            log += prior[one] + (np.log(chance[one]) if chance[one] > 0 else -np.inf)
        slope, offset, noise, _, offset_se, _, noise_se = np.array(rows).T
        same_paper = paper_of[:, None] == paper_of
        same_person = np.array([[a == b for b in names] for a in names])
        covariance = np.outer(slope, slope) * same_paper + np.outer(offset_se, offset_se) * same_person
        covariance += np.diag(noise**2 + noise_se**2)
        rest = score - offset
        logs.append(log - 0.5 * (np.linalg.slogdet(covariance)[1] + rest @ np.linalg.solve(covariance, rest)))
    weight = np.exp(np.array(logs) - max(logs))
    weight /= weight.sum()
    found = [np.zeros((len(case.scores), len(case.candidates))) for case in cases]
    for pick, part in zip(picks, weight, strict=True):
        for number, one in enumerate(pick):
            found[number][np.arange(found[number].shape[0]), tuples[number][one]] += part
    return found


def integrated(
    cases: Sequence[PaperCase], likely: Sequence[Array], uncertain: Sequence[str], nodes: int = 32
) -> list[Array]:
    """The same where slopes and offsets of a few named people are uncertain: by Gauss-Hermite quadrature over
    them, where papers are independent; rounded scores by sums over qualities."""
    stated = {name: row for case in cases for name, row in zip(case.candidates, case.parameters, strict=True)}
    points, weights = hermegauss(nodes)
    # A dimension for each slope and offset that is uncertain.
    axes = [(name, part) for name in uncertain for part in (0, 1) if stated[name][3 + part] > 0]
    mesh = np.stack(np.meshgrid(*[points] * len(axes), indexing="ij"), -1).reshape(-1, len(axes))
    mass = np.prod(
        np.stack(np.meshgrid(*[weights] * len(axes), indexing="ij"), -1).reshape(-1, len(axes)), -1
    )
    values: dict[str, tuple[Array, Array]] = {}
    for name, row in stated.items():
        slope, offset, _, slope_se, offset_se, correlation, _ = row
        z = [mesh[:, axes.index((name, k))] if (name, k) in axes else np.zeros(len(mesh)) for k in (0, 1)]
        along = correlation * z[0] + np.sqrt(1 - correlation**2) * z[1] if slope_se > 0 else z[1]
        values[name] = slope + slope_se * z[0], offset + offset_se * along
    masses = [_tuple_masses(case, values, chance) for case, chance in zip(cases, likely, strict=True)]
    totals = [one.sum(axis=1) for one in masses]
    found = []
    for number, (case, part) in enumerate(zip(cases, masses, strict=True)):
        others = mass * np.prod([total for other, total in enumerate(totals) if other != number], axis=0)
        by_tuple = others @ part
        author = np.zeros((len(case.scores), len(case.candidates)))
        for row, one in zip(case.tuples, by_tuple / by_tuple.sum(), strict=True):
            author[np.arange(len(row)), row] += one
        found.append(author)
    return found


def _tuple_masses(case: PaperCase, values: Mapping[str, tuple[Array, Array]], chance: Array) -> Array:
    """`[node, tuple]`: prior, chance of the decision, and density (or probability) of the paper's scores."""
    prior = np.exp(case.log_prior(case.tuples)) * chance
    score, found = np.array(case.scores), []
    for row in case.tuples:
        a, b = (np.stack([values[case.candidates[place]][k] for place in row], -1) for k in (0, 1))
        noise = np.array([np.hypot(case.parameters[place][2], case.parameters[place][6]) for place in row])
        if case.grid is None:
            covariance = a[:, :, None] * a[:, None, :] + np.diag(noise**2)
            rest = (score - b)[..., None]
            square = (rest * np.linalg.solve(covariance, rest)).sum(axis=(1, 2))
            found.append(np.exp(-0.5 * (square + np.linalg.slogdet(covariance)[1])))
        else:
            found.append(_cell_mass(score, a, b, noise, np.array(case.grid)))
    return np.stack(found, axis=1) * prior


def _cell_mass(score: Array, a: Array, b: Array, noise: Array, grid: Array) -> Array:
    quality = np.linspace(-8.0, 8.0, 241)
    ends = np.concatenate([[-np.inf], 0.5 * (grid[1:] + grid[:-1]), [np.inf]])
    cell = np.searchsorted(grid, score)
    total = np.exp(-0.5 * quality**2) * np.ones((len(a), 1))
    for slot, at in enumerate(cell):
        mean = a[:, slot, None] * quality + b[:, slot, None]
        total *= ndtr((ends[at + 1] - mean) / noise[slot]) - ndtr((ends[at] - mean) / noise[slot])
    return total.sum(axis=1)


def best(authors: Sequence[Array], cases: Sequence[PaperCase]) -> float:
    """The chance that the best guess at a reviewer is right, mean over reviews; `*` is no guess."""
    tops = [
        np.where(np.array(case.candidates) == "*", 0.0, one).max(axis=1)
        for case, one in zip(cases, authors, strict=True)
    ]
    return float(np.concatenate(tops).mean())
