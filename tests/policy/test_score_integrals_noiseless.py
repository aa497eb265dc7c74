"""Two reviewers without noise: what they would hide, against sums over a grid of what they read."""

from __future__ import annotations

import numpy as np
import pytest

import blindcal as bc
from blindcal.policy.score_integrals import affine_integrals, monotone_inverses, noiseless_integrals
from blindcal.reviewers import Logistic, PiecewiseLinear, Power
from score_grids import over_qualities

PAIRS = {
    "logistic and power": (Logistic(1, 10, 1.4, 0.3), Power(1.5, 2.0, 5.0)),
    "two logistics": (Logistic(1, 10, 2.0, 0.0), Logistic(2, 9, 1.0, 0.5)),
    "pieces and a line": (PiecewiseLinear([-1.0, 0.0, 1.0], [-2.0, 0.0, 1.0]), bc.Affine(1.0, 0.3)),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("prior", [0.5, 0.2])
def test_masses_are_sums_over_all_that_may_be_read(name: str, prior: float) -> None:
    """To what 700 qualities on each side can resolve."""
    integrals = noiseless_integrals(*PAIRS[name], prior)
    listed = over_qualities(PAIRS[name], prior, 700, 1.0)
    assert integrals.tied == pytest.approx(listed.disagree, abs=2e-4)
    assert integrals.agree_error == pytest.approx(listed.agree, abs=2e-4)
    assert (integrals.least_error, integrals.spent_gained(8.0)) == (0.0, (0.0, 0.0))
    assert integrals.error < 1e-8


@pytest.mark.parametrize("prior", [0.5, 0.9])
def test_two_lines_have_the_affine_spread(prior: float) -> None:
    """The same numbers by closed forms, from another module."""
    one, two = bc.Affine(1.2, 0.3), bc.Affine(0.8, -0.3)
    curved, straight = noiseless_integrals(one, two, prior), affine_integrals(one, two, prior)
    assert curved.tied == pytest.approx(straight.tied, abs=1e-9)
    assert curved.agree_error == pytest.approx(straight.agree_error, abs=1e-9)


def test_swapping_the_reviewers_with_the_prior_is_the_same_spread() -> None:
    one, two = PAIRS["logistic and power"]
    integrals, swapped = noiseless_integrals(one, two, 0.3), noiseless_integrals(two, one, 0.7)
    assert integrals.tied == pytest.approx(swapped.tied, abs=1e-9)
    assert integrals.agree_error == pytest.approx(swapped.agree_error, abs=1e-9)


def test_runs_that_rise_or_fall_lead_back_to_their_points() -> None:
    """Up to 3, down to 1, level for a while, and up again: three tables, each rising in value."""
    values = np.array([0.0, 2.0, 3.0, 1.0, 1.0, 4.0])
    tables = monotone_inverses(values, np.arange(6.0))
    assert all((np.diff(table[0]) >= 0).all() for table in tables)
    crossings = sorted({round(float(np.interp(2.5, *table)), 6) for table in tables})
    assert crossings == [1.5, 2.25, 4.5]
    assert monotone_inverses(np.ones(4), np.arange(4.0)) == []
