"""The studies of history and of shared sums on small sizes: what must hold whatever the counts are."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("joblib")

from studies.from_history import (
    GUARANTEES,
    cases,
    drawn_people,
    drawn_year,
    judged,
    past_reviews,
)
from studies.shared_sums import bound_table, one_conference, seeded, shared_by

from blindcal.private_sharing import LossLimit
from blindcal.simulation.population import prototype_population
from chances import within
from sizes import count

pytestmark = pytest.mark.edge
NUMBERS = Path(__file__).parents[2] / "docs" / "numbers"


def test_with_the_true_calibration_the_claim_is_the_fact_and_calibrating_helps() -> None:
    rng = np.random.default_rng(1)
    people = drawn_people(rng, prototype_population(), 20)
    true = cases(drawn_year(rng, people, count(6, 60)), people.rows)
    found = np.array([judged((one, one), tuple(GUARANTEES.values())) for one in true])
    assert found[..., 0] == pytest.approx(found[..., 1], abs=1e-9)
    order = [list(GUARANTEES).index(name) for name in ("public", "steady and epsilon 2", "average")]
    assert (np.diff(found[:, [*order, -2], 1], axis=1) < 1e-9).all()


def test_everybody_wrote_as_many_past_reviews_as_was_said() -> None:
    rng = np.random.default_rng(2)
    people = drawn_people(rng, prototype_population(), 40)
    table = past_reviews(rng, people, np.full(40, 6))
    wrote = [table["reviewer"].count(name) for name in people.names]
    # Nobody is twice on a paper: a few reviews are left out for that.
    assert max(wrote) == 6
    assert np.mean(wrote) > 5.5
    assert set(table["conference"]) == {"c0", "c1", "c2"}


def test_seeded_noise_is_discrete_laplace() -> None:
    limit, draws = LossLimit(epsilon=80.0), count(40_000, 400_000)
    found = seeded(np.zeros(draws, dtype=np.int64), limit, np.random.default_rng(3))
    seen = np.arange(-400, 401)
    chance = np.exp(-np.abs(seen) / limit.scale)
    chance /= chance.sum()
    for value in range(-9, 10):
        assert within(int((found == value).sum()), draws, chance[value + 400], 19)


def test_what_is_shared_is_the_sums_and_noise() -> None:
    rng = np.random.default_rng(4)
    people = drawn_people(rng, prototype_population(), 30)
    reviews = one_conference(rng, people, 9)
    loud = shared_by(reviews, people.names, LossLimit(epsilon=100.0), rng)
    wrote = np.array([reviews.columns()["reviewer"].count(name) for name in people.names])
    assert np.abs(loud.counts - wrote).max() < 1.0
    assert np.corrcoef(loud.sums, people.offset)[0, 1] > 0.5


def test_the_bound_that_the_page_states_is_todays() -> None:
    kept = json.loads((NUMBERS / "shared_sums.json").read_text(encoding="utf-8"))
    assert kept["tables"]["docs/evidence/history_and_sharing.md"]["nobody learns"] == bound_table()
