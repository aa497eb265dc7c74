"""Selections of several papers: what the best ones are, and bad ones named."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from blindcal import Affine, InputError, Reviewer
from blindcal.checks import Array
from blindcal.policy import least_loss
from blindcal.policy.multi_outcome import selection
from blindcal.policy.policy import label_tops
from blindcal.reviewers import Logistic


def test_selection_counts_the_best_as_simulation_does() -> None:
    """20,000 draws of the qualities behind each assignment; tolerance 6 standard errors."""
    rng = np.random.default_rng(8)
    pool = [Affine(1.0, 0.3, noise=0.5), Affine(0.6, -0.4, noise=0.8), Affine(1.7, 0.0, noise=0.3)]
    scores = np.array([0.4, 0.1, 0.7])
    found = selection(pool, scores, 2)
    for assignment, losses in zip(found.assignments, found.loss, strict=True):
        slope, offset, noise = (
            np.array([float(getattr(pool[j], part)) for j in assignment])
            for part in ("slope", "offset", "noise")
        )
        total = slope**2 + noise**2
        quality = rng.normal(slope * (scores - offset) / total, noise / np.sqrt(total), (20_000, 3))
        best = np.argsort(-quality, axis=1)[:, :2]
        for decision, loss in zip(found.decisions, losses, strict=True):
            share = 1.0 - np.isin(best, decision).mean()
            assert share == pytest.approx(loss, abs=6 * 0.5 / np.sqrt(20_000))


def test_two_of_four_papers_cost_more_the_less_they_tell() -> None:
    pool = [Affine(a, b, noise=0.3) for a, b in ((1.0, 0.5), (0.7, -0.5), (1.4, 0.0), (1.0, -1.0))]
    found = selection(pool, [0.5, 0.2, -0.1, 0.4], 2)
    assert found.weight.shape == (24,)
    assert found.loss.shape == (24, 6)
    least = label_tops(found.weight, found.labels).mean()
    values = [
        least_loss(found.weight, found.loss, found.labels, success=s).loss
        for s in np.linspace(least, least_loss(found.weight, found.loss, found.labels).success, 6)
    ]
    assert (np.diff(values) < 0.0).all()
    assert (np.diff(values, 2) > -1e-9).all()


@pytest.mark.parametrize(
    ("reviewers", "scores", "accepted", "message"),
    [
        ([Affine(1.0)] * 7, np.zeros(7), 3, "2 to 6 reviewers"),
        ([Affine(1.0)] * 3, np.zeros(2), 1, "one score each"),
        ([Affine(1.0)] * 3, np.zeros(3), 3, r"accepted must lie in 1\.\.2, found 3"),
        ([Affine(1.0), Affine(1.0, noise=0.5)], np.zeros(2), 1, "noise must be positive for all"),
        ([Affine([1.0, 2.0]), Affine(1.0)], np.zeros(2), 1, "single reviewers"),
        ([Affine(1.0), Logistic(0, 1, 1.0)], np.zeros(2), 1, "needs Affine reviewers, found Logistic"),
    ],
)
def test_bad_selections_are_named(
    reviewers: Sequence[Reviewer], scores: Array, accepted: int, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        selection(reviewers, scores, accepted)
