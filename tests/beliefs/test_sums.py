"""Sums over all tuples of a pool against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from random_cases import crowded, odd_cases


def test_sums_over_all_tuples_agree_with_enumeration():
    for listed in odd_cases():
        case, belief, rows = crowded(listed), listed.belief, listed.tuples
        one, pool = case.crowd, len(case.candidates)
        entry, size = case.layout.entries(rows), one.weight.size
        assert one.belief.weight.sum() == pytest.approx(1.0)
        np.testing.assert_allclose(np.bincount(entry, belief.weight, size), one.weight, atol=1e-9)
        right = np.bincount(entry, belief.weight * belief.favor, size)
        np.testing.assert_allclose(right, one.weight * one.favor, atol=1e-9)
        kind = case.look_alikes[1]
        assert one.belief.alike.tolist() == np.bincount(kind).tolist()
        for slot, author in enumerate(rows.T):
            exact = np.bincount(entry * pool + kind[author], belief.weight, size * pool)
            parts = one.belief.entry * pool + one.belief.labels[slot]
            np.testing.assert_allclose(np.bincount(parts, one.belief.weight, size * pool), exact, atol=1e-9)
