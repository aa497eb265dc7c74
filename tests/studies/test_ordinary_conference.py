"""History: its years, lists and shares, against enumeration."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from studies.ordinary_conference import CASES, ORDINARY, Years, drawn_years, listed, spared

from blindcal.planning.ranking_and_wait_list import rank

pytestmark = pytest.mark.edge


def test_a_list_by_all_private_decisions() -> None:
    rng = np.random.default_rng(3)
    chance, favors = rng.random(6), np.sort(rng.random((6, 2)), axis=1)
    ranks = [
        tuple(rank(f"p{paper}", [4.0], float(favor)) for favor in own) for paper, own in enumerate(favors)
    ]
    wanted = np.zeros(6)
    for decisions in product((0, 1), repeat=6):
        mass = np.prod(np.where(decisions, chance, 1.0 - chance))
        order = sorted(range(6), key=lambda paper: ranks[paper][decisions[paper]])
        wanted[order[:2]] += mass
    assert listed(ranks, chance, 2) == pytest.approx(wanted, abs=1e-12)
    assert spared(np.array([1.0, 0.5]), np.array([0.25, 0.5]), np.array([False, True])) == pytest.approx(0.75)


def test_people_leave_and_change_as_said() -> None:
    same, other = (drawn_years(years, 0) for years in CASES.values())
    for years in (same, drawn_years(ORDINARY, 0)):
        assert len({tuple(year.names) for year in years}) == 1
    for before, after in pairwise(other):
        assert len({*before.names} & {*after.names}) == 28
        assert len({*after.names}) == 40
    # Somebody's scores, less their papers' qualities: mean offsets of two years correlate as habits do.
    found = []
    for lasting in (1.0, 0.5):
        years = [drawn_years(Years(1.0, lasting, 9), number) for number in range(60)]
        offsets = np.array([[mean_offset(year) for year in three[:2]] for three in years])
        found.append(np.corrcoef(offsets[:, 0].ravel(), offsets[:, 1].ravel())[0, 1])
    # 2,400 people: the standard error of a correlation is at most .02, and six of them are a chance of 2e-9.
    assert found[1] / found[0] == pytest.approx(0.5, abs=0.12)


def mean_offset(year: object) -> np.ndarray:
    rest = year.score - 5.5 - 1.8 * year.quality[:, None]
    return np.bincount(year.who.ravel(), rest.ravel(), 40) / np.bincount(year.who.ravel(), minlength=40)
