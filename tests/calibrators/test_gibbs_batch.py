"""Batches of conferences check their rows."""

from __future__ import annotations

import numpy as np
import pytest

import blindcal as bc
from blindcal.calibrators.gibbs import Batch


def test_batch_checks_its_rows() -> None:
    with pytest.raises(bc.InputError, match="same group"):
        Batch([0, 1], [0, 1], [1, 2], paper_group=[0, 1], reviewer_group=[1, 0])
    with pytest.raises(bc.InputError, match="must have a review"):
        Batch([0, 2], [0, 0], [1, 2])
    with pytest.raises(bc.InputError, match="numbered from 0"):
        Batch([0, -1], [0, 0], [1, 2])
    with pytest.raises(bc.InputError, match="each of 2"):
        Batch([0, 1], [0, 0], [1, 2], paper_group=[0])
    with pytest.raises(bc.InputError, match="score must be finite"):
        Batch([0], [0], [np.nan])
