"""What a calibration predicts of all scores, against conferences that are simulated."""

from __future__ import annotations

import numpy as np
import pytest

from blindcal.planning.calibration_check import check_calibration, conference_scores, impossible_scores
from blindcal.pools.candidates import AllBut, SharedTuple
from blindcal.posterior.paper import PaperCase
from drawn_worlds import Drawn, scores_of, with_outsiders
from sizes import count


def _simulated(cases: list[PaperCase], rng: np.random.Generator, draws: int) -> np.ndarray:
    """`[draw, score]`: scores of conferences as the model has them; errors of a person's calibration are
    shared by all of their reviews."""
    people = sorted({one for case in cases for one in zip(case.candidates, case.parameters, strict=True)})
    place = {name: index for index, (name, _) in enumerate(people)}
    slope, offset, noise, slope_se, offset_se, _, _ = np.array([row for _, row in people]).T
    found = []
    for _ in range(draws):
        a = slope + slope_se * rng.standard_normal(len(people))
        b = offset + offset_se * rng.standard_normal(len(people))
        for case in cases:
            who = [place[name] for name in rng.permutation(case.candidates)[: len(case.scores)]]
            score = a[who] * rng.standard_normal() + b[who] + noise[who] * rng.standard_normal(len(who))
            found.append(score if case.grid is None else np.clip(np.round(score), 1, 10))
    return np.concatenate(found).reshape(draws, -1)


@pytest.mark.parametrize("grid", [False, True])
@pytest.mark.parametrize("error", [0.0, 0.2])
def test_expected_means_and_their_deviations_are_those_of_simulated_conferences(
    grid: bool, error: float
) -> None:
    """z within 4.5 (false alarm 1e-5 each), and within 0.02 of a score where slopes have errors: the model
    takes such scores as normal. Deviations of the observed figures are never understated, by more than the
    1.3 % that 3,000 draws know them to, and overstated by
    little more than the root of the two reviews."""
    drawn = Drawn(papers=7, people=6, pool=(3, 5), reviews=2, grid=grid, error=error, center=8.0)
    cases = drawn.cases(np.random.default_rng(3))
    said = conference_scores(cases).predicted
    scores = _simulated(cases, np.random.default_rng(4), draws := count(3000, 20000))
    near = 0.02 * bool(error)
    squares = (scores - said.mean) ** 2
    for values, expected, chance in (
        (scores, said.mean, said.mean_chance),
        (squares, said.sd**2, said.variance_chance),
    ):
        seen = values.mean(axis=1)
        assert abs(seen.mean() - expected) < 4.5 * seen.std() / draws**0.5 + near * max(1.0, said.sd)
        assert 0.95 < chance / seen.std() < 1.15 * 2**0.5


@pytest.mark.parametrize("chance", [0.1, 1.0])
def test_outsiders_who_may_write_several_reviews_of_a_paper_are_counted_as_several(chance: float) -> None:
    cases = with_outsiders(np.random.default_rng(5), 4, far=6.0, chance=chance, reviews=3)
    rng, draws = np.random.default_rng(6), count(2000, 20000)
    said = conference_scores(cases).predicted
    rows = [np.array(case.parameters) for case in cases]
    drawn = [
        [score for case, own in zip(cases, rows, strict=True) for score in scores_of(case, own, rng)]
        for _ in range(draws)
    ]
    means = np.array(drawn).mean(axis=1)
    squares = ((np.array(drawn) - said.mean) ** 2).mean(axis=1)
    assert abs(means.mean() - said.mean) < 4.5 * means.std() / draws**0.5
    assert abs(squares.mean() - said.sd**2) < 4.5 * squares.std() / draws**0.5
    assert 0.9 < said.mean_chance / means.std() < 1.1 * 3**0.5


@pytest.mark.parametrize("grid", [False, True])
def test_papers_of_a_committee_are_added_up_like_papers_with_pools_of_their_own(grid: bool) -> None:
    """Somebody with a conflict on every paper is no candidate, however extreme."""
    rng = np.random.default_rng(9)
    names = SharedTuple(f"r{number}" for number in range(9))
    rows = [(1.0 + 0.1 * n, 5.0 + 0.3 * n, 0.8, 0.1, 0.2, 0.0, 0.1) for n in range(8)]
    everyone = SharedTuple([*rows, (1.0, -90.0, 0.5, 0.0, 0.0, 0.0, 0.0)])
    shared, apart = [], []
    for paper, barred in enumerate([(0, 8), (3, 8), (8,), (0, 8), (1, 2, 7, 8), (0, 3, 8)]):
        scores = tuple(sorted(rng.integers(3, 10, 2).tolist()))
        chances = (2 / (9 - len(barred)),) * (9 - len(barred))
        some = AllBut(names, barred), chances, AllBut(everyone, barred)
        levels = tuple(float(level) for level in range(1, 11)) if grid else None
        shared.append(PaperCase(f"p{paper}", scores, *some, 0.0, levels))
        apart.append(PaperCase(f"p{paper}", scores, tuple(some[0]), chances, tuple(some[2]), 0.0, levels))
    mine, theirs = conference_scores(shared), conference_scores(apart)
    by_row = (dict(zip(map(tuple, d.people.tolist()), d.share.tolist(), strict=True)) for d in (mine, theirs))
    first, second = by_row
    assert len(first) == 8
    assert first == pytest.approx(second, rel=1e-12)
    assert sum(first.values()) == pytest.approx(1.0)
    assert vars(mine.predicted) == pytest.approx(vars(theirs.predicted), rel=1e-12)
    assert impossible_scores(mine) == impossible_scores(theirs)
    one, other = check_calibration(shared).public, check_calibration(apart).public
    assert one == other
