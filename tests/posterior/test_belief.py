"""Beliefs that are none are refused."""

from __future__ import annotations

import pytest

import blindcal as bc


def test_the_weights_that_are_furthest_from_1_are_quoted() -> None:
    with pytest.raises(bc.InputError, match=r"sum to 1 over the secrets, found 1\.5"):
        bc.Belief([[0.5, 0.5], [0.5, 1.0], [0.5, 0.4]], [[0.5, 0.5]] * 3)
