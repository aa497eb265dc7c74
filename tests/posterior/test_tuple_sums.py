"""Sums over all tuples of a pool against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from blindcal.posterior.large_pools import STEPS
from blindcal.posterior.paper import paper_nodes
from blindcal.posterior.tuple_sums import TupleSums
from random_cases import crowded, odd_cases


def test_sums_over_all_tuples_agree_with_enumeration():
    for listed in odd_cases():
        case, belief, rows = crowded(listed), listed.belief, listed.tuples
        one, pool = case.aggregated, len(case.candidates)
        size, kind = one.weight.size, case.look_alikes[1]
        assert one.belief.weight.sum() == pytest.approx(1.0)
        # The chance of each tuple to take each entry: a candidate may stand between two steps.
        taken = np.stack([case.layout.expected(table, rows) for table in np.eye(size)])
        mass = taken * belief.weight
        np.testing.assert_allclose(mass.sum(axis=1), one.weight, atol=1e-9)
        np.testing.assert_allclose(mass @ belief.favor, one.weight * one.favor, atol=1e-9)
        assert one.belief.alike.tolist() == np.bincount(kind).tolist()
        for slot, candidate in enumerate(rows.T):
            place = np.arange(size)[:, None] * pool + kind[candidate]
            exact = np.bincount(place.ravel(), mass.ravel(), size * pool)
            parts = one.belief.entry * pool + one.belief.labels[slot]
            np.testing.assert_allclose(np.bincount(parts, one.belief.weight, size * pool), exact, atol=1e-9)


def test_steps_may_be_counted_from_the_fewest():
    rng = np.random.default_rng(77)
    for listed in odd_cases():
        nodes, edges = paper_nodes(crowded(listed)), np.array([0, 40, 90, 1000])
        seats = np.arange(nodes.likelihood.shape[1])
        steps = rng.uniform(20.0, 50.0, nodes.likelihood.shape[:2])[list(nodes.alike)]
        narrow, whole = TupleSums(nodes, steps), TupleSums(nodes, steps, STEPS)
        assert narrow.first >= 20 * len(steps)
        assert narrow.by_steps().shape[1] < whole.by_steps().shape[1]
        threshold = float(steps.mean() * len(steps))
        for one, other in (
            (narrow.by_candidate(seats, edges), whole.by_candidate(seats, edges)),
            (narrow.accepted(seats, threshold), whole.accepted(seats, threshold)),
        ):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
