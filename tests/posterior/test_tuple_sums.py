"""Sums over all tuples of a pool against enumeration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from blindcal.errors import InputError
from blindcal.posterior.large_pools import STEPS
from blindcal.posterior.paper import paper_nodes
from blindcal.posterior.tuple_sums import TupleSums, quadrature_nodes
from random_cases import crowded, odd_cases, random_case


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


# --- The quadrature of large pools.


def test_evidence_and_the_part_above_the_bar_are_those_of_a_normal_distribution() -> None:
    """The sharpest posterior that the nodes are made for, wherever the bar lies."""
    case = replace(random_case(np.random.default_rng(72), 1, 1), inclusion=(1.0,))
    slope, offset, noise = case.parameters[0][:3]
    for away in np.linspace(-4.0, 4.0, 17):
        precision = 1.0 + slope**2 / noise**2
        mean = slope * (case.scores[0] - offset) / noise**2 / precision
        bar = float(mean + away / np.sqrt(precision))
        nodes, scale = quadrature_nodes(replace(case, bar=bar))
        mass = nodes.likelihood[0, 0] * nodes.mass
        assert mass @ nodes.above / mass.sum() == pytest.approx(norm.sf(away), abs=1e-8)
        log_density = norm.logpdf(case.scores[0], offset, np.hypot(slope, noise))
        # The prior's own constant is left out.
        assert np.log(mass.sum()) + scale == pytest.approx(log_density + 0.5 * np.log(2.0 * np.pi), abs=1e-9)


def test_reviews_too_sharp_to_integrate_are_refused() -> None:
    case = random_case(np.random.default_rng(73), 3, 2)
    sharp = replace(case, parameters=tuple((row[0], row[1], 1e-5, *row[3:]) for row in case.parameters))
    with pytest.raises(InputError, match="noise must not be so small"):
        quadrature_nodes(sharp)
