"""Left-out scores: what may be left out, and the errors against a plain computation."""

from __future__ import annotations

import numpy as np
import pytest

from blindcal.calibrators.assessment import change, left_out, prediction_changes, shrunk_means
from blindcal.calibrators.gibbs import Batch


def random_batch(seed: int, papers: int = 40, reviewers: int = 12) -> Batch:
    rng = np.random.default_rng(seed)
    chosen = rng.random((papers, reviewers)) < rng.uniform(0.1, 0.5, reviewers)
    chosen[np.arange(papers), rng.integers(0, reviewers, papers)] = True
    chosen[rng.integers(0, papers, reviewers), np.arange(reviewers)] = True
    paper, reviewer = np.nonzero(chosen)
    quality, offset = rng.standard_normal(papers), rng.normal(0, 1, reviewers)
    return Batch(paper, reviewer, quality[paper] + offset[reviewer] + 0.3 * rng.standard_normal(paper.size))


@pytest.mark.parametrize("seed", range(8))
def test_at_most_one_review_of_a_paper_is_left_out_and_two_stay_for_everyone(seed: int) -> None:
    batch = random_batch(seed)
    out = left_out(batch, np.random.default_rng(seed))
    papers, reviewers = batch.per_paper(), batch.per_reviewer()
    gone, lost = batch.per_paper(out.astype(float)), batch.per_reviewer(out.astype(float))
    assert gone.max() == 1
    assert (papers[gone > 0] >= 3).all()
    assert (reviewers - lost)[lost > 0].min() >= 2
    # Nothing more could be left out.
    spare = (reviewers - lost > 2)[batch.reviewer] & (papers >= 3)[batch.paper] & (gone == 0)[batch.paper]
    assert not spare.any()


def test_every_review_has_its_turn() -> None:
    batch = random_batch(1)
    rng = np.random.default_rng(2)
    times = sum(left_out(batch, rng).astype(int) for _ in range(300))
    able = (batch.per_paper() >= 3)[batch.paper] & (batch.per_reviewer() >= 4)[batch.reviewer]
    assert (times[able] > 0).all()


def test_change_is_the_ratio_of_errors_with_papers_as_units() -> None:
    """400 draws of papers know the ends of the interval to 0.0012: four of those standard errors."""
    rng = np.random.default_rng(3)
    base, own = rng.exponential(1, 3000), rng.exponential(0.81, 3000)
    found = change(own, base, np.arange(3000))
    assert found.error == pytest.approx(np.sqrt(own.mean()))
    assert found.change == pytest.approx(np.sqrt(own.mean() / base.mean()) - 1)
    assert found.low < -0.1 < found.high
    draws = []
    for _ in range(400):
        pick = rng.integers(0, 3000, 3000)
        draws.append(np.sqrt(own[pick].mean() / base[pick].mean()) - 1)
    np.testing.assert_allclose([found.low, found.high], np.quantile(draws, [0.05, 0.95]), atol=0.005)
    doubled = change(np.tile(own, 2), np.tile(base, 2), np.tile(np.arange(3000), 2))
    assert doubled.low == pytest.approx(found.low)


def test_shrunk_means_are_the_posterior_means_of_a_balanced_design() -> None:
    rng = np.random.default_rng(4)
    score = rng.normal(0, 2, 50)[:, None] + rng.standard_normal((50, 4))
    batch = Batch(np.repeat(np.arange(50), 4), np.tile(np.arange(4), 50), score.ravel())
    mean = score.mean(axis=1)
    within = score.var(axis=1, ddof=1).mean() / 4
    weight = (mean.var() - within) / mean.var()
    np.testing.assert_allclose(shrunk_means(batch), score.mean() + weight * (mean - score.mean()))


def test_learned_offsets_predict_better_where_reviewers_differ() -> None:
    """Noise 0.3 is left of noise and offsets, 1.04: with offsets learned from a few reviews, 0.43 of it."""
    found = prediction_changes(random_batch(5), repeats=4)
    assert found["raw"].change == 0
    assert found["offsets"].high < 0
    assert found["hierarchical"].high < 0
    assert found["offsets"].error < 0.5 * found["shrunk"].error


def test_nothing_to_leave_out_is_said() -> None:
    assert prediction_changes(Batch([0, 0, 1, 1], [0, 1, 0, 1], [1.0, 2.0, 3.0, 3.0]), repeats=2) == {}
