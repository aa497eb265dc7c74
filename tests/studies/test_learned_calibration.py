"""The studies of adversaries that take papers together: against what lists everything, on small cases."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("joblib")

from studies.from_history import PER_PAPER, POOL, Year, cases, drawn_people, drawn_year
from studies.learned_calibration import learned, positions, right

from blindcal.simulation.population import prototype_population
from sizes import count

pytestmark = pytest.mark.edge


def test_who_has_nothing_to_learn_believes_what_each_paper_says() -> None:
    rng = np.random.default_rng(2)
    people = drawn_people(rng, prototype_population(), 12)
    year = drawn_year(rng, people, 4)
    true = cases(year, people.rows)
    likely = np.ones((4, len(true[0].tuples)))
    on = positions(true[0].tuples)
    found = learned(year, true[0].tuples, likely, people.rows, 10, rng)
    expected = np.array([case.belief.weight for case in true]) @ on
    assert found == pytest.approx(expected.reshape(found.shape), abs=1e-9)
    assert right(true, likely, found, on) == pytest.approx(found.max(axis=2).mean(), abs=1e-9)


def test_learning_is_weighing_calibrations_by_all_papers() -> None:
    """Two papers of the same eight people: calibrations drawn from what is stated, each weighed by how likely
    all scores and both decisions are under it, which needs no Gibbs sampling."""
    rng = np.random.default_rng(3)
    people = drawn_people(rng, prototype_population(), POOL)
    pool = np.tile(np.arange(POOL), (2, 1))
    year = Year(pool, np.sort(rng.standard_normal((2, PER_PAPER)), axis=1))
    rows = people.rows
    rows[:, 3:6] = 0.3, 0.6, 0.4
    case = cases(year, rows)[0]
    likely, on = rng.uniform(0.1, 0.9, (2, len(case.tuples))), positions(case.tuples)
    draws, total, whole = count(4_000, 40_000), np.zeros((2, PER_PAPER * POOL)), 0.0
    for _ in range(draws):
        z = rng.standard_normal((POOL, 2))
        slope = rows[:, 0] + 0.3 * z[:, 0]
        offset = rows[:, 1] + 0.6 * (0.4 * z[:, 0] + np.sqrt(1 - 0.4**2) * z[:, 1])
        a, b, v = (part[case.tuples] for part in (slope, offset, rows[:, 2] ** 2))
        density = []
        for scores, chance in zip(year.score, likely, strict=True):
            rest, precision = scores - b, 1 + (a * a / v).sum(axis=1)
            square = (rest**2 / v).sum(axis=1) - (a * rest / v).sum(axis=1) ** 2 / precision
            density.append(chance * np.exp(-0.5 * (np.log(v).sum(axis=1) + np.log(precision) + square)))
        sums = [one.sum() for one in density]
        total += np.array([density[0] * sums[1], density[1] * sums[0]]) @ on
        whole += sums[0] * sums[1]
    found = learned(year, case.tuples, likely, rows, count(6_000, 60_000), rng)
    # Both are means over thousands of draws: 0.02 is beyond six of their standard errors.
    assert found.reshape(2, -1) == pytest.approx(total / whole, abs=0.02)
