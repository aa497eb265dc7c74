"""The setting in the paper's letters, against its printed formulas."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from blindcal import Belief, InputError, paper


def test_the_setting_is_the_printed_one() -> None:
    """u and v from the densities of the scores, Phi_1 and Phi_2 from equations (4.1), sixty random pairs."""
    rng = np.random.default_rng(1)
    for _ in range(60):
        a_1, a_2, sigma = rng.uniform(0.3, 2.0, 3)
        b_1, b_2, s_1, s_2 = rng.normal(size=4)
        found = paper.to_letters(paper.setting([s_1, s_2], a_1, b_1, a_2, b_2, sigma))
        f_1, f_2 = (norm(b, np.hypot(a, sigma)).pdf for a, b in ((a_1, b_1), (a_2, b_2)))
        u, v = f_1(s_1) * f_2(s_2), f_2(s_1) * f_1(s_2)
        k_1, k_2 = a_1**2 + sigma**2, a_2**2 + sigma**2
        root = np.sqrt(sigma**2 * (a_1**2 + a_2**2 + 2 * sigma**2) * k_1 * k_2)
        phi_1 = norm.cdf((a_2 * k_1 * (s_2 - b_2) - a_1 * k_2 * (s_1 - b_1)) / root)
        phi_2 = norm.cdf((a_1 * k_2 * (s_2 - b_1) - a_2 * k_1 * (s_1 - b_2)) / root)
        expected = [u / (u + v), v / (u + v), phi_1, phi_2]
        assert [found.u, found.v, found.Phi_1, found.Phi_2] == pytest.approx(expected, abs=1e-12)


def test_without_noise_the_density_changes_variable() -> None:
    found = paper.to_letters(paper.setting([0.9, 0.4], 1.2, 0.6, 0.8, -0.6))
    f_1, f_2 = norm(0.6, 1.2).pdf, norm(-0.6, 0.8).pdf
    assert found.u / found.v == pytest.approx(f_1(0.9) * f_2(0.4) / (f_2(0.9) * f_1(0.4)))
    assert {float(found.Phi_1), float(found.Phi_2)} == {0.0, 1.0}


def test_letters_there_and_back() -> None:
    belief = paper.from_letters([0.3, 2.0], [0.9, 1.0], 0.2, [0.7, 0.6])
    found = paper.to_letters(belief)
    np.testing.assert_allclose(found.u, [0.25, 2 / 3])
    np.testing.assert_allclose(np.stack([found.Phi_1, found.Phi_2]), [[0.2, 0.2], [0.7, 0.6]])
    with pytest.raises(InputError, match="two assignments, found 3 secrets"):
        paper.to_letters(Belief([0.2, 0.3, 0.5], [0.1, 0.2, 0.3]))
