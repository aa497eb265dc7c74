"""The studies of adversaries that take papers together: against what lists everything, on small cases."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

pytest.importorskip("joblib")

from studies.coupled_draws import Paper, feasible, named
from studies.from_history import PER_PAPER, POOL, Year, cases, drawn_people, drawn_year
from studies.learned_calibration import learned, right, sheet
from studies.load_information import (
    divergence_bound,
    divergence_from_independence,
    doubly_stochastic,
    success_within,
)

from blindcal.adversaries.single_paper import View
from blindcal.simulation.population import prototype_population
from sizes import count

pytestmark = pytest.mark.edge


def drawn_papers(rng: np.random.Generator) -> list[Paper]:
    """Three papers with two reviews each by two of four people."""
    found = []
    for _ in range(3):
        sets = ((0, 1), (1, 2), (0, 3))
        who = np.array([order for one in sets for order in permutations(one)])
        weight = rng.dirichlet(np.ones(len(who)))
        found.append(Paper(sets, np.repeat(np.arange(3), 2), who, weight, rng.random(len(who))))
    return found


def listed(papers: list[Paper], outcomes: tuple[int, ...], most: int) -> float:
    """The same by going through every tuple of all papers."""
    mass = np.zeros((3, 2, 4))
    for rows in product(range(6), repeat=3):
        who = [paper.who[row] for paper, row in zip(papers, rows, strict=True)]
        if np.bincount(np.concatenate(who), minlength=4).max() > most:
            continue
        parts = zip(papers, rows, outcomes, strict=True)
        chance = np.prod([p.weight[r] * (p.accept[r] if o else 1 - p.accept[r]) for p, r, o in parts])
        for index, slots in enumerate(who):
            mass[index, [0, 1], slots] += chance
    return float(mass.max(axis=2).sum())


def test_combinations_of_sets_are_all_that_meet_the_loads() -> None:
    papers = drawn_papers(np.random.default_rng(1))
    for outcomes in product((0, 1), repeat=3):
        assert named(papers, feasible(papers), outcomes) == pytest.approx(listed(papers, outcomes, 2))
        free = np.ones_like(feasible(papers))
        assert named(papers, free, outcomes) == pytest.approx(listed(papers, outcomes, 9))


def test_who_has_nothing_to_learn_believes_what_each_paper_says() -> None:
    rng = np.random.default_rng(2)
    people = drawn_people(rng, prototype_population(), 12)
    year = drawn_year(rng, people, 4)
    true = cases(year, people.rows)
    likely = np.ones((4, len(true[0].tuples)))
    seen = sheet(year, true[0].tuples, likely, people.rows)
    found = learned(seen, 10, rng)
    expected = np.array([case.belief.weight for case in true]) @ seen.on[0]
    assert found == pytest.approx(expected.reshape(found.shape), abs=1e-9)
    assert right(true, likely, found, seen.on[0]) == pytest.approx(found.max(axis=2).mean(), abs=1e-9)


def test_learning_is_weighing_calibrations_by_all_papers() -> None:
    """Two papers of the same eight people: calibrations drawn from what is stated, each weighed by how likely
    all scores are under it, which needs no Gibbs sampling."""
    rng = np.random.default_rng(3)
    people = drawn_people(rng, prototype_population(), POOL)
    pool = np.tile(np.arange(POOL), (2, 1))
    year = Year(pool, np.sort(rng.standard_normal((2, PER_PAPER)), axis=1))
    rows = people.rows
    rows[:, 3:6] = 0.3, 0.6, 0.4
    case = cases(year, rows)[0]
    seen = sheet(year, case.tuples, np.ones((2, len(case.tuples))), rows)
    draws, total, whole = count(4_000, 40_000), np.zeros((2, PER_PAPER * POOL)), 0.0
    for _ in range(draws):
        z = rng.standard_normal((POOL, 2))
        slope = rows[:, 0] + 0.3 * z[:, 0]
        offset = rows[:, 1] + 0.6 * (0.4 * z[:, 0] + np.sqrt(1 - 0.4**2) * z[:, 1])
        a, b, v = (part[case.tuples] for part in (slope, offset, rows[:, 2] ** 2))
        density = []
        for scores in year.score:
            rest, precision = scores - b, 1 + (a * a / v).sum(axis=1)
            square = (rest**2 / v).sum(axis=1) - (a * rest / v).sum(axis=1) ** 2 / precision
            density.append(np.exp(-0.5 * (np.log(v).sum(axis=1) + np.log(precision) + square)))
        sums = [one.sum() for one in density]
        total += np.array([density[0] * sums[1], density[1] * sums[0]]) @ seen.on[0]
        whole += sums[0] * sums[1]
    found = learned(seen, count(6_000, 60_000), rng)
    # Both are means over thousands of draws: 0.02 is beyond six of their standard errors.
    assert found.reshape(2, -1) == pytest.approx(total / whole, abs=0.02)


def listed_success(weight: np.ndarray, accept: np.ndarray, loads: np.ndarray) -> tuple[float, float]:
    """The mass of assignments that meet the loads; how often a reviewer is named with all decisions."""
    papers, people = weight.shape
    rows, whole = np.arange(papers), 0.0
    named = dict.fromkeys(product((True, False), repeat=papers), np.zeros(weight.shape))
    for who in map(list, product(range(people), repeat=papers)):
        if (np.bincount(who, minlength=people) == loads).all():
            mass, wrote = weight[rows, who].prod(), np.eye(people)[who]
            whole += mass
            for outcome, sums in named.items():
                chance = np.where(outcome, accept[rows, who], 1.0 - accept[rows, who]).prod()
                named[outcome] = sums + mass * chance * wrote
    return whole, float(sum(sums.max(axis=1).mean() for sums in named.values()) / whole)


def test_theorem_the_divergence_bound_is_never_below_the_truth() -> None:
    """Uneven weights, tables that may exclude people, and loads of 1 to 3, against a list of everything."""
    rng = np.random.default_rng(5)
    for number in range(count(30, 1000)):
        loads = (np.ones(4, dtype=int), np.array([2, 1, 1]), np.array([3, 1]), np.array([2, 2]))[number % 4]
        weight = np.exp(rng.normal(0.0, rng.choice([0.1, 1.0, 4.0]), (4, len(loads))))
        accept = np.clip(rng.normal(0.5, rng.choice([0.1, 0.5]), weight.shape), 0.0, 1.0)
        # Everyone as often as their load: the tilt by these loads is that by loads of 1.
        chance = doubly_stochastic(np.repeat(weight, loads, axis=1))
        first = np.cumsum(loads) - loads
        chance = np.add.reduceat(chance, first, axis=1)
        met, truth = listed_success(chance, accept, loads)
        nats = divergence_from_independence(chance, loads)
        assert -np.log(met) <= nats + 1e-8
        masses = (chance * accept, chance * (1.0 - accept))
        best = np.max([m.max(axis=1) / np.maximum(m.sum(axis=1), 1e-300) for m in masses], axis=0)
        assert truth <= success_within(best, nats) + 1e-8
        if loads.max() == 1:
            views = [
                View("p", tuple("abcd"), (1.0,), np.arange(4)[:, None], w, np.zeros(4), {"chosen": a})
                for w, a in zip(weight, accept, strict=True)
            ]
            assert divergence_bound(views) == pytest.approx(success_within(best, nats), abs=1e-8)


def test_success_within_a_divergence() -> None:
    """One paper: the solution of kl(s || v) = nats; two: the best way to share it, by a grid."""
    for before, after in ((0.1, 0.4), (0.3, 0.95)):
        nats = after * np.log(after / before) + (1 - after) * np.log((1 - after) / (1 - before))
        assert success_within(np.array([before]), nats) == pytest.approx(after, abs=1e-9)
    uneven, nats = np.array([0.1, 0.5]), 0.2
    one = np.linspace(0.1, 1.0, 100_001)[:-1]
    left = nats - one * np.log(one / 0.1) - (1 - one) * np.log((1 - one) / 0.9)
    grid = one[left >= 0.0]
    best = max(
        0.5 * (s + success_within(uneven[1:], r)) for s, r in zip(grid[::40], left[::40], strict=False)
    )
    assert success_within(uneven, nats) == pytest.approx(best, abs=1e-3)
    assert success_within(uneven, nats) >= best
    # Two papers and two reviewers, all alike: each of four entries counts 1/2 log 2; the truth is log 2.
    flat = divergence_from_independence(np.full((2, 2), 0.5), np.ones(2))
    assert flat == pytest.approx(np.log(4.0), abs=1e-12)
