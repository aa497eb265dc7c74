"""Conferences fitted in one batch share nothing."""

from __future__ import annotations

import numpy as np

from blindcal.calibrators.gibbs import Batch, fit_batch


def test_conferences_of_a_batch_share_nothing() -> None:
    """The same conference beside a very different one: the same answer, up to Monte Carlo error.

    That of 3,000 sweeps is 0.008 at the most, 0.003 in the mean square, and 1.5 % of a noise; a conference
    that took part in the other's scale would be off by whole units.
    """
    rng = np.random.default_rng(4)
    paper, reviewer = np.repeat(np.arange(40), 3), np.argsort(rng.random((40, 20)), axis=1)[:, :3].ravel()
    slope, offset = rng.uniform(0.5, 1.5, 20), rng.normal(0, 0.7, 20)
    score = (
        slope[reviewer] * rng.standard_normal(40)[paper] + offset[reviewer] + 0.3 * rng.standard_normal(120)
    )
    alone = fit_batch(Batch(paper, reviewer, score), common_slope=False, sweeps=3000)
    beside = np.concatenate([score, 100 + 30 * rng.standard_normal(120)])
    groups = (np.repeat([0, 1], 40), np.repeat([0, 1], 20))
    both = fit_batch(
        Batch(np.r_[paper, paper + 40], np.r_[reviewer, reviewer + 20], beside, *groups),
        common_slope=False,
        sweeps=3000,
    )
    np.testing.assert_allclose(both.quality[:40], alone.quality, atol=0.03)
    assert np.sqrt(np.mean((both.quality[:40] - alone.quality) ** 2)) < 0.01
    np.testing.assert_allclose(both.noise[0], alone.noise[0], rtol=0.06)
