"""Walks over assignments of this year's reviews, against lists of all of them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from blindcal.adversaries import this_year_exact, this_year_mcmc
from blindcal.adversaries.single_paper import AUTHOR
from blindcal.adversaries.this_year_exact import (
    Observed,
    all_assignments,
    enumerated,
    likelihoods,
    observe,
    told_all_but,
)
from blindcal.adversaries.this_year_mcmc import (
    Walks,
    counted_reviews,
    drawn_strictness,
    this_year_findings,
    walked,
)
from blindcal.errors import InputError
from sizes import count
from this_year_conferences import small_year


def decided_year(seed: int) -> tuple[Observed, dict[str, float]]:
    """A conference of four papers that was decided, and everybody's strictness."""
    year = small_year(seed, papers=4, people=5, conflicts=0)
    rng = np.random.default_rng(seed)
    tables = dict.fromkeys(year.scores, (0.1, 0.9))
    levels = dict(zip(year.scores, year.levels(year.writers), strict=True))
    decided = {paper: bool(rng.random() < tables[paper][level]) for paper, level in levels.items()}
    offset = dict(zip(year.people, rng.normal(0.0, 0.8, len(year.people)).tolist(), strict=True))
    seen = observe(year.reviews(), year.cases, tables, decided)
    return seen, offset


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_walks_find_what_a_list_finds(seed: int) -> None:
    seen, known = decided_year(seed)
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
            assert one.baseline == pytest.approx(listed.baseline, abs=0.02)
            # Of each review, too: the best guess has the posterior that it has.
            assert one.before == pytest.approx(listed.before, abs=0.06)
            assert one.after == pytest.approx(listed.after, abs=0.06)


def test_large_conferences_are_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, known = decided_year(5)
    exact = this_year_findings(seen, strictness=known)
    monkeypatch.setattr(this_year_exact, "_MOST_ASSIGNMENTS", 10)
    found = this_year_findings(seen, strictness=known, target=0.01, most=4)
    assert "walks from 8 starts" in found.method
    assert not exact.method
    assert all(one.error > 0.0 for one in found.findings)
    for one, listed in zip(found.findings, exact.findings, strict=True):
        assert abs(one.added - listed.added) <= 6 * one.error
    reviews = [{(one.paper, one.review) for one in told.exposures} for told in (found, exact)]
    assert reviews[0] == reviews[1]
    with pytest.raises(InputError, match="decisions that were published"):
        this_year_findings(replace(seen, decided=None), strictness=known)
    monkeypatch.setattr(this_year_mcmc, "_MOST_COUNTS", 3000)
    few = counted_reviews(seen, 0)
    assert 0 < few.size < seen.paper.size
    told = this_year_findings(seen, strictness=known, target=0.05, most=2).exposures
    assert len(told) == few.size


def test_an_observer_who_is_told_most_writers_finds_what_a_list_finds() -> None:
    """All assignments that agree with what was told, and the evidence also by reviews of other papers."""
    tested = 0
    for seed in range(count(8, 40)):
        seen, known = decided_year(seed)
        assert seen.decided is not None
        asked = np.array([0, 1 + seed % 3])
        told = told_all_but(seen, asked)
        near = [seen.papers.index(paper) for paper in told.papers]
        everyone = seen.levels(seen.truth[None])[0, np.isin(seen.lots, near)]
        assert (told.levels(told.truth[None])[0] == everyone).all()
        every = all_assignments(seen)
        assert every is not None
        unknown = np.isin(seen.paper, asked)
        if len(near) < len(seen.papers) or tested == count(2, 10):
            continue
        tested += 1
        every = every[(every == seen.truth)[:, ~unknown].all(axis=1)]
        offset = np.array([known[name] for name in seen.people])
        for who in (None, offset):
            before = likelihoods(seen, every, who)
            levels = seen.levels(every)
            after = before * seen.chance(levels, seen.decided[seen.lots]).prod(axis=1)
            best = [
                np.mean([np.bincount(column, part / part.sum()).max() for column in every[:, unknown].T])
                for part in (before, after)
            ]
            found = walked(
                told, None if who is None else who[[seen.people.index(one) for one in told.people]]
            )
            assert {*found} == {AUTHOR}
            # The spread between the papers asked about is part of the error; the list has the same papers.
            assert found[AUTHOR].baseline == pytest.approx(best[0], abs=0.02)
            assert found[AUTHOR].success == pytest.approx(best[1], abs=0.02)
    assert tested == count(2, 10)


def test_walks_that_stay_where_they_began_say_nothing() -> None:
    class Stuck(Walks):
        def _step(self) -> None:
            """No writers are exchanged."""

    seen, _ = decided_year(1)
    with pytest.raises(InputError, match="do not agree"):
        walked(seen, None, most=2, make=Stuck)


def test_in_large_conferences_some_papers_are_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, known = decided_year(5)
    for name, module in (("_MOST_ASSIGNMENTS", this_year_exact), ("MOST_WALKED", this_year_mcmc)):
        monkeypatch.setattr(module, name, 3)
    monkeypatch.setattr(this_year_mcmc, "SAMPLED", 2)
    found = this_year_findings(seen, strictness=known, most=2)
    assert (found.papers, found.reviews) == (len(seen.papers), seen.paper.size)
    assert [one.question for one in found.findings] == [AUTHOR, AUTHOR]
    assert all("a sample of 2 papers with random draws" in one.adversary for one in found.findings)
    assert len({one.paper for one in found.exposures}) == 2
    # Without papers by lot decisions tell nothing, which needs no walks that weigh them.
    told = replace(seen, accept=np.repeat(seen.accept[:, :1], 2, axis=1))
    for one in this_year_findings(told, strictness=known, most=2).findings:
        assert (one.added, one.error, one.rise) == (0.0, 0.0, 0.0)


def test_drawn_strictness_is_what_all_reviews_say() -> None:
    """Mean and variance of draws against those of the multivariate normal."""
    seen, _ = decided_year(7)
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


def test_what_walks_keep_up_to_date_is_what_their_assignments_give() -> None:
    """Evidence and sums after many steps, and which exchanges decisions let pass; pairs share papers."""
    rng = np.random.default_rng(1)
    for seed in range(count(4, 40)):
        year = small_year(seed, papers=9, people=5, most=3, conflicts=0)
        tables = {paper: (0.1, 0.9) if n % 3 else (1.0, 1.0) for n, paper in enumerate(year.scores)}
        decided = {paper: bool(n % 2) or n % 3 == 0 for n, paper in enumerate(year.scores)}
        seen = observe(year.reviews(), year.cases, tables, decided)
        walks = this_year_mcmc.Walks(seen, None, decided=True, seed=seed)
        before = walks.writer.copy()
        walks.sweep(20)
        assert (walks.writer != before).any(axis=1).all()
        sums = seen.known_sums(walks.writer)
        assert np.allclose(walks.sums, sums, rtol=0.0, atol=1e-10)
        levels = seen.levels(walks.writer)
        for log, level, writer in zip(walks.log[:, seen.lots], levels, walks.writer, strict=True):
            assert np.exp(log) == pytest.approx(seen.chance(level, walks.decided[seen.lots]))
            assert (np.bincount(writer) == seen.load).all()
            pairs = list(zip(seen.paper.tolist(), writer.tolist(), strict=True))
            assert len(set(pairs)) == len(pairs)
        # An exchange is made by the ratio of what all decisions weigh after it and before.
        for _ in range(25):
            chain, one, other = walks.chain, *rng.integers(seen.paper.size, size=(2, walks.chain.size))
            after, r, s = walks.writer.copy(), walks.writer[chain, one], walks.writer[chain, other]
            after[chain, one], after[chain, other] = s, r
            once = (np.diff(np.sort(after + 5 * seen.paper, axis=1), axis=1) > 0).all(axis=1)
            go = np.flatnonzero((r != s) & once)
            before, then = (
                seen.chance(seen.levels(writer[go]), walks.decided[seen.lots]).prod(axis=1)
                for writer in (walks.writer, after)
            )
            drawn = rng.random(go.size)
            walks.rng = SimpleNamespace(random=lambda size, drawn=drawn: drawn)
            taken = walks._accept_by_decisions(go, one[go], other[go], r[go], s[go])
            assert (taken == (drawn < then / before)).all()
            walks.writer[go[taken]] = after[go[taken]]
