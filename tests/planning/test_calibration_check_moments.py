"""What a calibration predicts of all scores, against conferences that are simulated."""

from __future__ import annotations

import numpy as np
import pytest

from blindcal.planning.calibration_check import (
    below,
    check_calibration,
    conference_scores,
    impossible_scores,
    predicted_mean,
    score_value,
    slope_on_predictions,
    squared_deviation,
)
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
    takes such scores as normal. Deviations within 12 %, as 3,000 draws know them to 1.3 %; errors of the
    calibration, counted for each review and for all together, may be overstated."""
    drawn = Drawn(papers=7, people=6, pool=(3, 5), reviews=2, grid=grid, error=error, center=8.0)
    cases = drawn.cases(np.random.default_rng(3))
    world = conference_scores(cases)
    scores = _simulated(cases, np.random.default_rng(4), draws := count(3000, 20000))
    mean, _ = predicted_mean(world, score_value(world))
    tried = [
        (score_value(world), scores),
        (squared_deviation(world, mean), (scores - mean) ** 2),
        (below(7.5), scores < 7.5),
        (below(9.5), scores < 9.5),
    ]
    for measure, values in tried:
        seen = values.mean(axis=1)
        predicted, deviation = predicted_mean(world, measure)
        assert abs(seen.mean() - predicted) < 4.5 * seen.std() / draws**0.5 + 0.02 * bool(error)
        assert 0.88 < deviation / seen.std() < (1.3 if error else 1.12)


@pytest.mark.parametrize("chance", [0.1, 1.0])
def test_outsiders_who_may_write_several_reviews_of_a_paper_are_counted_as_several(chance: float) -> None:
    """Deviations within 15 %: what papers share is approximated; 2,000 draws know them to 1.6 %."""
    cases = with_outsiders(np.random.default_rng(5), 4, far=6.0, chance=chance, reviews=3)
    world, rng, draws = conference_scores(cases), np.random.default_rng(6), count(2000, 20000)
    rows = [np.array(case.parameters) for case in cases]
    drawn = [
        [score for case, own in zip(cases, rows, strict=True) for score in scores_of(case, own, rng)]
        for _ in range(draws)
    ]
    for measure, values in ((score_value(world), np.array(drawn)), (below(3.0), np.array(drawn) < 3.0)):
        predicted, deviation = predicted_mean(world, measure)
        means = values.mean(axis=1)
        assert abs(means.mean() - predicted) < 4.5 * means.std() / draws**0.5
        assert 0.85 < deviation / means.std() < 1.15


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
    assert sorted(mine.people.tolist()) == sorted(theirs.people.tolist())
    assert mine.chance.shared.shape[0] < theirs.chance.shared.shape[0]
    for measure in (score_value, lambda data: squared_deviation(data, 6.0), lambda _: below(6.5)):
        found, expected = (predicted_mean(data, measure(data)) for data in (mine, theirs))
        assert found == pytest.approx(expected, rel=1e-12)
    assert slope_on_predictions(mine) == pytest.approx(slope_on_predictions(theirs), rel=1e-9)
    assert impossible_scores(mine) == impossible_scores(theirs)
    one, other = check_calibration(shared).public, check_calibration(apart).public
    assert one == other
