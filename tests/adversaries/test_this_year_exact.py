"""Observers of decisions by this year's evidence, against lists of all assignments and all outcomes."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from blindcal.adversaries.single_paper import AUTHOR, LINK
from blindcal.adversaries.this_year_exact import (
    NOTHING,
    STRICTNESS,
    Tables,
    all_assignments,
    observe,
    observe_release,
    tables_of,
)
from blindcal.adversaries.this_year_mcmc import this_year_findings
from blindcal.deciding.decide import decide
from blindcal.deciding.key import make_key
from blindcal.deciding.publish import recorded_release
from blindcal.errors import InputError
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior.inputs import read_inputs
from sizes import count
from this_year_conferences import SmallYear, Writers, small_year


def some_tables(year: SmallYear, rng: np.random.Generator) -> Tables:
    """Any tables: most papers by lot, one decided by the scores."""
    tables = {paper: tuple(np.sort(rng.random(2)).tolist()) for paper in year.scores}
    return {**tables, "p1": (1.0, 1.0)} if rng.random() < 0.5 else tables


class Lister:
    """Everything that can have been, one by one."""

    def __init__(self, year: SmallYear, tables: Tables, offset: dict[str, float] | None) -> None:
        self.year, self.tables = year, tables
        self.every = list(year.assignments())
        self.levels = [year.levels(writers) for writers in self.every]
        log = np.array([self.log_likelihood(writers, offset) for writers in self.every])
        self.weight = np.exp(log - log.max()) / np.exp(log - log.max()).sum()

    def log_likelihood(self, writers: Writers, offset: dict[str, float] | None) -> float:
        model, rows = self.year.model, []
        for (paper, scores), names in zip(self.year.scores.items(), writers, strict=True):
            center = model.moments.areas.get(self.year.areas[paper], 0.0)
            rows += [(paper, who, (s - 5.0) / 1.5 - center) for s, who in zip(scores, names, strict=True)]
        noise = model.moments.disagreement * (1.0 - model.share)
        spread = np.zeros((len(rows), len(rows)))
        for i, (paper, who, _) in enumerate(rows):
            for j, (other, mate, _) in enumerate(rows):
                spread[i, j] = (paper == other) + noise * (i == j)
                spread[i, j] += (who == mate) * model.moments.disagreement * model.share * (offset is None)
        mean = [0.0 if offset is None else offset[who] for _, who, _ in rows]
        return float(multivariate_normal.logpdf([z for *_, z in rows], mean, spread))

    def chance(self, levels: tuple[int, ...], outcome: tuple[bool, ...]) -> float:
        found = 1.0
        for paper, level, accepted in zip(self.year.scores, levels, outcome, strict=True):
            accept = self.tables[paper][level]
            found *= accept if accepted else 1.0 - accept
        return found

    def best(self, question: str, mass: np.ndarray) -> list[float]:
        """For each review the mass of the best guess."""
        places = [(p, k) for p, names in enumerate(self.every[0]) for k in range(len(names))]
        if question == AUTHOR:
            guesses = [[lambda w, g=g, p=p, k=k: w[p][k] == g for g in self.year.people] for p, k in places]
        else:
            guesses = [
                [lambda w, p=p, k=k, o=o: w[p][k] == w[o[0]][o[1]] for o in places if o[0] != p]
                for p, k in places
            ]
        return [
            max(sum(m for m, w in zip(mass, self.every, strict=True) if right(w)) for right in of_review)
            for of_review in guesses
        ]

    def outcomes(self) -> list[tuple[bool, ...]]:
        return list(product([False, True], repeat=len(self.tables)))

    def mass(self, outcome: tuple[bool, ...]) -> np.ndarray:
        return self.weight * [self.chance(levels, outcome) for levels in self.levels]


@pytest.mark.parametrize("seed", range(count(6, 60)))
def test_findings_equal_a_list_of_all_assignments_and_outcomes(seed: int) -> None:
    year = small_year(seed, conflicts=0, areas=seed % 3 == 0)
    rng = np.random.default_rng(seed)
    tables = some_tables(year, rng)
    offset = dict(zip(year.people, rng.normal(0.0, 0.8, len(year.people)).tolist(), strict=True))
    planned = observe(year.reviews(), year.cases, tables)
    decided = dict(zip(year.scores, (rng.random(len(year.scores)) < 0.5).tolist(), strict=True))
    decided = {paper: decided[paper] or tables[paper] == (1.0, 1.0) for paper in year.scores}
    published = observe(year.reviews(), year.cases, tables, decided)
    both = {seen: this_year_findings(seen, strictness=offset) for seen in (planned, published)}
    assert [found.published for found in both.values()] == [False, True]
    for number, known in enumerate((None, offset)):
        lister = Lister(year, tables, known)
        for place, question in enumerate((AUTHOR, LINK)):
            before = np.array(lister.best(question, lister.weight))
            after, rise = np.zeros(before.size), -np.inf
            for outcome in lister.outcomes():
                mass = lister.mass(outcome)
                if mass.sum() > 0.0:
                    best = np.array(lister.best(question, mass))
                    after, rise = after + best, max(rise, (best / mass.sum() - before).max())
            one = both[planned].findings[2 * number + place]
            assert (one.adversary, one.question) == ((NOTHING, STRICTNESS)[number], question)
            assert one.baseline == pytest.approx(before.mean(), abs=1e-12)
            assert one.success == pytest.approx(after.mean(), abs=1e-12)
            assert one.rise == pytest.approx(rise, abs=1e-12)
            mass = lister.mass(tuple(decided.values()))
            best = np.array(lister.best(question, mass / mass.sum()))
            one = both[published].findings[2 * number + place]
            assert one.success == pytest.approx(best.mean(), abs=1e-12)
            assert one.rise == pytest.approx((best - before).max(), abs=1e-12)
            if number and not place:
                told = both[published].exposures
                assert sorted(e.after for e in told) == pytest.approx(sorted(best), abs=1e-12)
                assert sorted(e.before for e in told) == pytest.approx(sorted(before), abs=1e-12)


def test_assignments_are_those_of_a_list() -> None:
    for seed in range(count(10, 200)):
        year = small_year(seed, conflicts=0)
        seen = observe(year.reviews(), year.cases, dict.fromkeys(year.scores, (0.1, 0.9)))
        found = all_assignments(seen)
        assert found is not None
        listed = {
            tuple(seen.people.index(who) for names in writers for who in names): year.levels(writers)
            for writers in year.assignments()
        }
        assert sorted(map(tuple, found.tolist())) == sorted(listed)
        # The truth is one of them, and evidence does not depend on how it is computed.
        assert tuple(seen.truth.tolist()) in listed
        levels = seen.levels(found)
        for writers, own in zip(found.tolist(), levels.tolist(), strict=True):
            assert own == [bool(level) for level in listed[tuple(writers)]]


def test_nobody_is_named_who_looks_like_everybody_else() -> None:
    """Equal loads and no conflicts: decisions name nobody to someone who knows nobody's strictness."""
    year = replace(small_year(3, papers=4, conflicts=0), writers=(), conflicts=frozenset())
    scores = {paper: (4.0 + number, 7.0 - number / 2) for number, paper in enumerate(year.scores)}
    writers = (("r0", "r1"), ("r1", "r2"), ("r2", "r3"), ("r3", "r0"))
    year = replace(year, scores=scores, writers=writers)
    seen = observe(year.reviews(), year.cases, tables_of(year.cases, Guarantee("odds", epsilon=3.0)))
    names, links = this_year_findings(seen).findings[:2]
    assert (names.baseline, names.success) == pytest.approx((0.25, 0.25), abs=1e-12)
    assert seen.lots.size == 0 or links.added > 0.0


def test_guarantees_give_the_tables() -> None:
    year = small_year(1)
    for guarantee in (Guarantee("odds", epsilon=2.0), Guarantee("public"), Guarantee("none", epsilon=None)):
        for low, high in tables_of(year.cases, guarantee).values():
            shape = {"odds": (1 / (1 + np.exp(2)), 1 / (1 + np.exp(-2))), "none": (0.0, 1.0)}
            possible = [(0.0, 0.0), (1.0, 1.0), shape.get(guarantee.name, (0.0, 0.0))]
            assert any((low, high) == pytest.approx(one) for one in possible)


def test_a_release_is_observed_as_it_was_drawn(tmp_path: Path) -> None:
    rng = np.random.default_rng(14)
    rows = [
        (f"p{paper}", f"r{who}", round(5 + 2 * (quality + (who - 2.5) / 2 + rng.normal()), 1))
        for paper, quality in enumerate(rng.normal(size=8))
        for who in rng.choice(6, 3, replace=False)
    ]
    table = dict(zip(("paper", "reviewer", "score"), map(list, zip(*rows, strict=True)), strict=True))
    make_key(tmp_path / "key.bin")
    request = Request(Guarantee("odds", epsilon=3.0), accept_rate=0.4, people=6, strictness_share=0.5)
    outcome = decide(read_inputs(table), request, tmp_path / "key.bin", tmp_path / "out")
    seen = observe_release(*recorded_release(tmp_path / "out", tmp_path / "key.bin"))
    assert seen.lots.size > 0
    assert seen.decided is not None
    for paper in outcome.record.papers:
        number = seen.papers.index(paper.paper)
        assert seen.decided[number] == paper.accepted
        mine = np.flatnonzero(seen.paper == number)
        given = [(row[1], row[2]) for row in rows if row[0] == paper.paper]
        found = zip([seen.people[who] for who in seen.truth[mine]], seen.given[mine].tolist(), strict=True)
        assert sorted(found) == sorted(given)
        low, high = seen.accept[number]
        assert (low, high) in ((0.0, 0.0), (1.0, 1.0)) or high / low == pytest.approx(np.exp(3.0))
        # The decision was drawn with the chance that the paper's evidence gives it.
        chance = int(paper.probability[0], 16) / int(paper.probability[1], 16)
        level = seen.levels(seen.truth[None])
        lot = np.flatnonzero(seen.lots == number)
        assert chance == pytest.approx(seen.accept[number, int(level[0, lot[0]]) if lot.size else 0])
    made = {paper.paper: "accept" for paper in outcome.record.papers}
    other = tmp_path / "other"
    other.mkdir()
    make_key(other / "key.bin")
    decide(
        read_inputs(table, evidence={"paper": list(made), "evidence": list(made.values())}),
        request,
        other / "key.bin",
        other / "out",
    )
    with pytest.raises(InputError, match="own reviews"):
        observe_release(*recorded_release(other / "out", other / "key.bin"))
