"""Classes of plain beliefs: every secret is its own, and nobody has no row."""

from __future__ import annotations

import numpy as np
import pytest

from blindcal import Belief
from blindcal.policy.accept_lp import _unique, secret_classes


@pytest.mark.parametrize("labels", [None, [[3, 9, 3, -1], [0, 0, 5, 5]], [[-1, -1, -1, -1]]])
def test_rows_are_the_labels_of_each_slot(labels: list[list[int]] | None) -> None:
    belief = Belief([0.4, 0.3, 0.2, 0.1], [0.9, 0.2, 0.6, 0.5], labels)
    found = secret_classes(belief)
    np.testing.assert_array_equal(found.weight, belief.weight)
    np.testing.assert_array_equal(found.favor, belief.favor)
    slots = [[0, 1, 2, 3]] if labels is None else labels
    for group, slot in enumerate(slots):
        rows = np.flatnonzero(found.slot == group)
        masses = sorted(mass for mass in found.mass[rows] if mass > 0)
        named = {
            y: sum(w for w, z in zip(belief.weight, slot, strict=True) if z == y) for y in slot if y >= 0
        }
        assert masses == pytest.approx(sorted(named.values()))
        assert (found.top[rows] == found.mass[rows].max(initial=0.0)).all()


@pytest.mark.parametrize("widest", [10, 10_000])
def test_keys_that_are_counted_are_found_as_those_that_are_sorted(widest: int) -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        key = rng.integers(0, widest, 40)
        expected = np.unique(key, return_index=True, return_inverse=True, return_counts=True)[1:]
        for found, right in zip(_unique(key), expected, strict=True):
            np.testing.assert_array_equal(found, right)
