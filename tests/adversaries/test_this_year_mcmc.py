"""Walks over assignments of this year's reviews, against lists of all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from blindcal.adversaries import this_year_exact, this_year_mcmc
from blindcal.adversaries.this_year_exact import Observed, all_assignments, enumerated, observe
from blindcal.adversaries.this_year_mcmc import asked_reviews, drawn_strictness, this_year_findings, walked
from blindcal.errors import InputError
from sizes import count
from this_year_conferences import small_year


def decided_year(seed: int, free: bool) -> tuple[Observed, dict[str, float]]:
    """A conference of four papers that was decided, and everybody's strictness."""
    year = small_year(seed, papers=4, people=5, conflicts=2)
    rng = np.random.default_rng(seed)
    tables = dict.fromkeys(year.scores, (0.1, 0.9))
    levels = dict(zip(year.scores, year.levels(year.writers), strict=True))
    decided = {paper: bool(rng.random() < tables[paper][level]) for paper, level in levels.items()}
    offset = dict(zip(year.people, rng.normal(0.0, 0.8, len(year.people)).tolist(), strict=True))
    seen = observe(
        year.reviews(), year.cases, tables, decided, loads=year.loads, free=free, conflicts=year.conflicts
    )
    return seen, offset


@pytest.mark.parametrize(("seed", "free"), [(1, False), (2, True), (4, False)])
def test_walks_find_what_a_list_finds(seed: int, free: bool) -> None:
    seen, known = decided_year(seed, free)
    every = all_assignments(seen)
    assert every is not None
    for offset in (None, np.array([known[name] for name in seen.people])):
        exact, found = (
            enumerated(seen, every, offset),
            walked(seen, offset, target=0.003, most=count(8, 60), seed=seed),
        )
        for question, one in found.items():
            listed = exact[question]
            assert abs(one.success - one.baseline - listed.success + listed.baseline) <= 6 * one.error + 1e-9
            assert abs(one.success - listed.success) <= 6 * one.error + 1e-9
            # Of each review, too: the best guess has the posterior that it has.
            assert one.before == pytest.approx(listed.before, abs=0.06)
            assert one.after == pytest.approx(listed.after, abs=0.06)


def test_large_conferences_are_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, known = decided_year(5, free=False)
    exact = this_year_findings(seen, strictness=known)
    monkeypatch.setattr(this_year_exact, "_MOST_ASSIGNMENTS", 10)
    found = this_year_findings(seen, strictness=known, target=0.01, most=4)
    assert all("walks from 8 starts" in one.adversary and one.error > 0.0 for one in found.findings)
    for one, listed in zip(found.findings, exact.findings, strict=True):
        assert abs(one.added - listed.added) <= 6 * one.error
    reviews = [{(one.paper, one.review) for one in told.exposures} for told in (found, exact)]
    assert reviews[0] == reviews[1]
    with pytest.raises(InputError, match="decisions that were published"):
        this_year_findings(replace(seen, decided=None), strictness=known)
    monkeypatch.setattr(this_year_mcmc, "_MOST_COUNTS", 3000)
    few = asked_reviews(seen, 0)
    assert 0 < few.size < seen.paper.size
    told = this_year_findings(seen, strictness=known, target=0.05, most=2).exposures
    assert len(told) == few.size


def test_drawn_strictness_is_what_all_reviews_say() -> None:
    """Mean and variance of draws against those of the multivariate normal."""
    seen, _ = decided_year(7, free=False)
    size, people = seen.paper.size, len(seen.people)
    wrote = np.zeros((size, people))
    wrote[np.arange(size), seen.truth] = 1.0
    spread = (seen.paper[:, None] == seen.paper) + seen.noise * np.eye(size)
    spread = spread + seen.strictness * wrote @ wrote.T
    gain = np.linalg.solve(spread, seen.strictness * wrote).T
    mean, variance = gain @ seen.score, seen.strictness * (np.eye(people) - gain @ wrote)
    draws = np.array([list(drawn_strictness(seen, seed).values()) for seed in range(count(300, 3000))])
    error = np.sqrt(np.diag(variance) / len(draws))
    assert (np.abs(draws.mean(axis=0) - mean) < 6 * error).all()
    assert draws.var(axis=0, ddof=1) == pytest.approx(np.diag(variance), rel=6 * np.sqrt(2 / len(draws)))
