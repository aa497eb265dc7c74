"""Sums over all tuples of a pool against enumeration."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import permutations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from blindcal.errors import InputError
from blindcal.pools.prior import log_odds
from blindcal.posterior.large_pools import STEPS
from blindcal.posterior.paper import PaperCase, paper_nodes
from blindcal.posterior.tuple_sums import QuadratureNodes, TupleSums, quadrature_nodes
from random_cases import crowded, odd_cases, random_case
from sizes import count


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


# --- The quadrature of large pools: against adaptive integration, and against what is in closed form.


def one_tuple(nodes: QuadratureNodes, who: tuple[int, ...]) -> tuple[float, float]:
    """The mass of one tuple, all of it and the part above the bar."""
    product = np.prod([nodes.likelihood[slot, candidate] for slot, candidate in enumerate(who)], axis=0)
    return float(product @ nodes.mass), float(product @ (nodes.mass * nodes.above))


def density(case: PaperCase, log_factor: float, who: tuple[int, ...], quality: float) -> float:
    """What is integrated over the quality for one tuple."""
    each = case.reviewers.log_likelihood(np.array(case.scores)[:, None], quality)
    log = sum(each[slot, candidate] for slot, candidate in enumerate(who))
    return float(np.exp(log + log_factor - 0.5 * quality**2))


def test_masses_of_tuples_are_those_of_adaptive_integration() -> None:
    rng = np.random.default_rng(71)
    for number in range(count(6, 60)):
        case = random_case(rng, 4, 2)
        if number % 2:
            case = replace(case, parameters=tuple((*row[:3], 0.2, 0.3, 0.5, 0.1) for row in case.parameters))
        nodes, scale = quadrature_nodes(case)
        odds = np.array(log_odds(case.inclusion, 2))
        for who in permutations(range(4), 2):
            integrand = partial(density, case, float(odds[list(who)].sum()) - scale, who)
            options = {"epsabs": 0.0, "epsrel": 1e-11, "limit": 400}
            low, high = (
                sum(quad(integrand, *ends, **options)[0] for ends in parts)
                for parts in (((-12, -3), (-3, case.bar)), ((case.bar, 3), (3, 12)))
            )
            # The scale holds the distance of the nodes.
            found, above = one_tuple(nodes, who)
            assert found == pytest.approx((low + high), rel=1e-9)
            assert above == pytest.approx(high, rel=1e-7, abs=1e-9 * found)


def test_the_part_above_the_bar_is_that_of_a_normal_distribution() -> None:
    """The sharpest posterior that the nodes are made for, wherever the bar lies."""
    case = replace(random_case(np.random.default_rng(72), 1, 1), inclusion=(1.0,))
    slope, offset, noise = case.parameters[0][:3]
    for away in np.linspace(-4.0, 4.0, 17):
        precision = 1.0 + slope**2 / noise**2
        mean = slope * (case.scores[0] - offset) / noise**2 / precision
        bar = float(mean + away / np.sqrt(precision))
        found, above = one_tuple(quadrature_nodes(replace(case, bar=bar))[0], (0,))
        assert above / found == pytest.approx(norm.sf(away), abs=1e-8)


def test_reviews_too_sharp_to_integrate_are_refused() -> None:
    case = random_case(np.random.default_rng(73), 3, 2)
    sharp = replace(case, parameters=tuple((row[0], row[1], 1e-5, *row[3:]) for row in case.parameters))
    with pytest.raises(InputError, match="noise must not be so small"):
        quadrature_nodes(sharp)
