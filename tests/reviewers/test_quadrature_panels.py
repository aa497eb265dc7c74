"""One-dimensional integrals find a kink and state their error."""

from __future__ import annotations

import numpy as np
import pytest

import blindcal as bc
from blindcal.reviewers.quadrature import integrate


def test_integrate_finds_a_kink_and_states_its_error():
    cumulative = integrate(lambda x: np.stack([np.abs(x - np.pi / 10), np.exp(x)]), np.array([0.0, 1.0]))
    kink = np.pi / 10
    exact = 0.5 * kink**2 + 0.5 * (1 - kink) ** 2, np.e - 1
    assert np.abs(cumulative.total - exact).max() <= cumulative.error + 1e-15
    assert cumulative(0.7)[1] == pytest.approx(np.exp(0.7) - 1, abs=1e-14)
    rng = np.random.default_rng(0)
    with pytest.raises(bc.BlindcalError, match="did not settle"):
        integrate(lambda x: rng.random((1, x.size)), np.array([0.0, 1.0]))
