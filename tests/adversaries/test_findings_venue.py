"""Conferences that decided by calibrated scores, against lists of everybody who may have written what."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from blindcal.adversaries.findings import finding_about, findings_of
from blindcal.adversaries.single_paper import authors, released_view
from blindcal.posterior.paper import PaperCase
from sizes import count

BAR = 0.3
Rows = dict[str, tuple[float, float, float]]


def a_case(rng: np.random.Generator, number: int, rows: Rows) -> PaperCase:
    """One to three scores, and a pool of four people who are equally likely."""
    pool = tuple(sorted(rng.choice(list(rows), 4, replace=False).tolist()))
    scores = tuple(sorted(rng.normal(0.3, 1.0, rng.integers(1, 4)).round(3).tolist()))
    exact = tuple((*rows[name], 0.0, 0.0, 0.0, 0.0) for name in pool)
    return PaperCase(f"p{number}", scores, pool, (len(scores) / 4,) * 4, exact, bar=BAR)


def listed(case: PaperCase, rows: Rows) -> list[tuple[tuple[str, ...], float, bool]]:
    """Every tuple of reviewers, lowest score first: how likely the scores are, and whether they accept."""
    found = []
    for who in permutations(case.candidates, len(case.scores)):
        slope, offset, noise = np.array([rows[one] for one in who]).T
        density = multivariate_normal(offset, np.outer(slope, slope) + np.diag(noise**2)).pdf(case.scores)
        precision = 1 + (slope**2 / noise**2).sum()
        mean = (slope * (np.array(case.scores) - offset) / noise**2).sum() / precision
        found.append((who, float(density), bool(mean > BAR)))
    return found


def test_posteriors_equal_a_list_of_everybody() -> None:
    rng = np.random.default_rng(1)
    unexplained = 0
    for _ in range(count(12, 200)):
        rows = {f"r{j}": (float(np.exp(rng.normal(0, 0.4))), float(rng.normal()), 0.5) for j in range(6)}
        cases = [a_case(rng, number, rows) for number in range(3)]
        accepted = rng.random(3) < 0.5
        views = [released_view(case, bool(yes)) for case, yes in zip(cases, accepted, strict=True)]
        right, reviews = np.zeros(2), 0
        for case, view, decision in zip(cases, views, accepted, strict=True):
            every = listed(case, rows)
            agrees = [(who, mass) for who, mass, yes in every if yes == decision]
            # A decision that no candidates lead to says nothing.
            unexplained += not agrees
            sides = [(who, mass) for who, mass, _ in every], agrees or [(w, m) for w, m, _ in every]
            for index, (side, mass_of_view) in enumerate(
                zip(sides, (view.alone, view.mass("full")), strict=True)
            ):
                total = sum(mass for _, mass in side)
                share = authors(view, mass_of_view)[0]
                for slot in range(len(case.scores)):
                    chance = dict.fromkeys(case.candidates, 0.0)
                    for who, mass in side:
                        chance[who[slot]] += mass / total
                    assert share[slot] == pytest.approx(list(chance.values()), abs=1e-9)
                    right[index] += max(chance.values())
            reviews += len(case.scores)
        found = finding_about(findings_of(views, ("full",)).findings, "full")
        assert (found.baseline, found.success) == pytest.approx(tuple(right / reviews), abs=1e-9)
    assert unexplained > 0
