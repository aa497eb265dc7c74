"""One simulated conference: its pools, its truth, and the tables that the rest can read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest, kstest, norm

from blindcal.errors import InputError
from blindcal.posterior.inputs import read_inputs
from blindcal.simulation.conference import PAPERS, POOL, REVIEWS, example, example_files, simulate
from blindcal.simulation.population import Population, nips_2014_population
from sizes import count

# One false alarm in a million in each of a few dozen comparisons.
FALSE_ALARM = 1e-8


def test_it_is_always_the_same_and_its_files_hold_it(tmp_path: Path) -> None:
    drawn, files = example(), example_files(example())
    assert example_files(drawn) == files
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    inputs = read_inputs(*(tmp_path / f"{name}.csv" for name in ("reviews", "reviewers", "pools")))
    assert len(inputs.reviews.papers) == PAPERS
    assert len(inputs.reviews) == PAPERS * REVIEWS
    assert {len(pool) for pool in drawn.pool} == {POOL}
    scores = dict(zip(map(str, inputs.reviews.papers), np.round(drawn.score, 2), strict=True))
    for place, paper in enumerate(inputs.reviews.papers):
        written = sorted(inputs.reviews.score[inputs.reviews.paper == place])
        assert written == sorted(scores[paper])


def test_pools_hold_the_true_reviewers_and_every_candidate_is_equally_likely() -> None:
    papers, pool = count(3000, 30_000), 5
    drawn = simulate(papers, pool, 2, reviewers=9, seed=9)
    assert (np.diff(drawn.pool, axis=1) > 0).all()
    inside = drawn.reviewer[:, :, None] == drawn.pool[:, None, :]
    assert inside.any(axis=-1).all()
    assert (drawn.reviewer[:, 0] != drawn.reviewer[:, 1]).all()
    assert (drawn.reviewers.slope[drawn.reviewer] == drawn.slope[drawn.reviewer]).all()
    expected = drawn.reviewers.score(drawn.quality[:, None])[np.arange(papers)[:, None], drawn.reviewer]
    assert kstest(((drawn.score - expected) / 0.5).ravel(), norm().cdf).pvalue > FALSE_ALARM
    # Which place of the sorted pool a true reviewer has, and who is in a pool at all, carry no information.
    for hits in inside.any(axis=1).sum(axis=0):
        assert binomtest(int(hits), papers, 2 / 5).pvalue > FALSE_ALARM
    for member in range(9):
        hits = int((drawn.pool == member).any(axis=1).sum())
        assert binomtest(hits, papers, 5 / 9).pvalue > FALSE_ALARM


def test_a_pool_may_be_everyone() -> None:
    drawn = simulate(3, 7, 7, nips_2014_population(), seed=10)
    assert (drawn.pool == np.arange(7)).all()
    assert (np.sort(drawn.reviewer, axis=1) == np.arange(7)).all()


def test_inputs_are_the_conference_as_a_chair_has_it() -> None:
    drawn = simulate(12, 5, 2, reviewers=9, seed=4)
    inputs = drawn.inputs()
    assert inputs.reviews.papers == drawn.papers
    assert not np.isfinite(np.array(inputs.reviews.grid, dtype=float)).any()
    for index, paper in enumerate(drawn.papers):
        assert set(inputs.pools[paper]) == {drawn.people[j] for j in drawn.pool[index]}
        rows = np.flatnonzero(inputs.reviews.paper == index)
        names = [inputs.reviews.reviewers[j] for j in inputs.reviews.reviewer[rows]]
        given = dict(zip(names, inputs.reviews.score[rows].tolist(), strict=True))
        assert given == {
            drawn.people[j]: score for j, score in zip(drawn.reviewer[index], drawn.score[index], strict=True)
        }
    for j, name in enumerate(drawn.people):
        assert inputs.parameters[name] == (drawn.slope[j], drawn.offset[j], drawn.noise[j], 0, 0, 0, 0)


def test_rounded_scores_stay_on_their_grid() -> None:
    grid = tuple(range(1, 11))
    drawn = simulate(30, population=Population(center=5.0, grid=grid), seed=2)
    assert tuple(drawn.inputs().reviews.grid) == grid
    assert drawn.cases(0.0)[0].grid == grid


def test_the_same_seed_is_the_same_conference() -> None:
    one, two, other = simulate(5, seed=1), simulate(5, seed=np.random.default_rng(1)), simulate(5, seed=2)
    assert (one.score == two.score).all()
    assert not (one.score == other.score).any()


@pytest.mark.edge
def test_its_tables_are_frames() -> None:
    pytest.importorskip("pandas")
    drawn = simulate(6, 4, 2, seed=1)
    assert drawn.to_frame().quality.tolist() == drawn.quality.tolist()
    sizes = {name: len(drawn.to_frame(name)) for name in ("reviews", "reviewers", "pools")}
    assert sizes == {"reviews": 12, "reviewers": 6, "pools": 24}
    again = read_inputs(*(drawn.to_frame(name) for name in sizes), grid=())
    assert again.reviews.digest() == drawn.inputs().reviews.digest()
    frame = again.reviews.to_frame()
    assert frame.to_dict("list") == again.reviews.columns()
    with pytest.raises(InputError, match="table must be one of papers, reviews, reviewers, pools, found 'x'"):
        drawn.to_frame("x")
