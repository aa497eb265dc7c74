"""What is kept of a chain: moments that the draws themselves have."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from blindcal.checks import Array
from blindcal.fitting.gibbs import TRACES, HistorySampler, chain, parameters, pooled_moments
from sizes import count
from small_pasts import tiny_history


def test_moments_are_those_of_slopes_and_offsets_drawn_for_the_next_conference() -> None:
    """The chain of `chain`, run again here; in place of conditional moments, draws. False alarm 1e-6."""
    history, sweeps = tiny_history(), count(900, 6000)
    found = chain(history, [3], sweeps)
    sampler, draw, rows = HistorySampler(history, np.random.default_rng([3])), np.random.default_rng(5), []
    for index in range(sweeps):
        sampler.sweep()
        if index < sweeps // 3:
            sampler.tune()
            continue
        rows.append(_drawn(sampler, draw))
    sample = np.array(rows)  # [sweep, first moments and products, reviewer]
    error = sample.std(axis=0) / np.sqrt(len(sample))
    means = np.stack([found.reviewers[0], found.reviewers[1], *found.reviewers[3:6]])
    assert (np.abs(sample.mean(axis=0) - means) < norm.isf(1e-6 / 2 / 20) * error).all()
    assert found.traces.shape == (sweeps - sweeps // 3, len(TRACES))


def _drawn(sampler: HistorySampler, rng: np.random.Generator) -> Array:
    s = sampler.state
    a, b, aa, ab, bb = sampler.next
    unit, z = np.exp(s.stretch[-1]), rng.standard_normal((2, a.size))
    slope = unit * (a + np.sqrt(aa) * z[0])
    offset = unit * (s.shift[-1] + b + ab / np.sqrt(aa) * z[0] + np.sqrt(bb - ab**2 / aa) * z[1])
    return np.stack([slope, offset, slope**2, slope * offset, offset**2])


def test_chains_of_one_seed_are_equal_and_two_are_pooled() -> None:
    history = tiny_history()
    one, again, other = chain(history, [1], 60), chain(history, [1], 60), chain(history, [2], 60)
    np.testing.assert_array_equal(one.reviewers, again.reviewers)
    both = pooled_moments([one, other])
    np.testing.assert_allclose(both.reviewers, (one.reviewers + other.reviewers) / 2)
    assert len(both.traces) == 80


def test_parameters_are_means_deviations_and_correlation() -> None:
    rng = np.random.default_rng(1)
    draws = np.array([[1.0, 2.0, 0.5]]) + rng.standard_normal((50, 3)) @ rng.normal(0, 0.3, (3, 3))
    a, b, s = draws.T
    moments = np.array(
        [a.mean(), b.mean(), s.mean(), (a * a).mean(), (a * b).mean(), (b * b).mean(), (s * s).mean()]
    )
    found = parameters(moments)
    expected = [*draws.mean(axis=0), a.std(), b.std(), np.corrcoef(a, b)[0, 1], s.std()]
    assert found.tolist() == pytest.approx(expected)
