"""The belief over reviewer tuples against plain integrals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from blindcal.pools.candidates import SharedTuple, all_but
from blindcal.pools.prior import inclusion, log_prior
from blindcal.posterior.paper import PaperCase
from blindcal.posterior.tuple_weights import (
    _panels_at_bar,
    _sums_in_logs,
    log_likelihoods,
    node_likelihoods,
    pool_reviewers,
    tuple_posteriors,
)
from blindcal.reviewers.rounded import Rounded
from listed_tuples import gaussian_posteriors, integrals
from random_cases import random_case, row_of
from sizes import count


def test_weights_are_gaussian_densities_of_the_scores_and_favors_posterior_probabilities():
    rng = np.random.default_rng(3)
    for _ in range(count(10, 100)):
        reviews = int(rng.integers(1, 4))
        case = replace(random_case(rng, 4, reviews), inclusion=(reviews / 4,) * 4)
        weight, mean, deviation = gaussian_posteriors(case)
        np.testing.assert_allclose(case.belief.weight, weight, atol=1e-12)
        np.testing.assert_allclose(case.belief.favor, norm.sf(case.bar, mean, deviation), atol=1e-12)
        np.testing.assert_array_equal(case.belief.labels, case.tuples.T)


def test_weights_stay_finite_60_standard_deviations_out():
    rows = row_of(1, 0, 0.5), row_of(2, 1, 0.3), row_of(1, 2, 1)
    case = PaperCase("p", (-60.0, 60.0), ("a", "b", "c"), (2 / 3,) * 3, rows, 0)
    assert np.isfinite(case.belief.weight).all()
    assert case.belief.weight.sum() == pytest.approx(1)


def unequal_case(rng: np.random.Generator, reviews: int, size: int, *, grid: bool, star: bool, noise: float):
    """Nobody like anybody else, uncertain reviewers, chances that differ; scores on a grid tie often."""
    rows = np.column_stack(
        [
            np.exp(rng.normal(0, 0.5, size)),
            rng.normal(0, 0.7, size),
            noise * rng.uniform(0.5, 1.5, size),
            rng.uniform(0, 0.3, (size, 2)) * (noise > 0.1),
            rng.uniform(-0.8, 0.8, size),
            rng.uniform(0, 0.2, size) * (noise > 0.1),
        ]
    )
    scores, values = np.sort(rng.normal(0.3, 1.2, reviews)), tuple(np.arange(-3.0, 4.0)) if grid else None
    scores = np.clip(np.round(scores), -3, 3) if grid else scores
    names = tuple("*" if star and j == 0 else f"r{j}" for j in range(size))
    chances = inclusion(rng.uniform(0.1, 1.0, size).tolist(), reviews, 0 if star else None)
    parameters = tuple(map(tuple, rows.tolist()))
    return PaperCase("p", tuple(scores.tolist()), names, chances, parameters, 0.4, values)


def unequal_cases(seed: int) -> list[PaperCase]:
    """1 to 6 reviews, with and without a grid and `*`; someone certain in one, next to no noise in two."""
    rng, found = np.random.default_rng(seed), []
    for reviews in range(1, 7):
        for grid, star in ((True, False), (True, True), (False, False), (False, True)):
            size = int(rng.integers(reviews, max(reviews + 1, 9 - reviews) + 1))
            found.append(unequal_case(rng, reviews, size, grid=grid, star=star, noise=0.6))
    forced = unequal_case(rng, 3, 5, grid=True, star=False, noise=0.6)
    precise = [unequal_case(rng, 3, 5, grid=grid, star=False, noise=0.03) for grid in (True, False)]
    unsure = tuple((*row[:3], 0.001, 0.001, 0.0, 0.0) for row in precise[1].parameters)
    return [
        *found,
        replace(forced, inclusion=(0.4, 1.0, 0.6, 0.5, 0.5)),
        *(replace(one, parameters=unsure) for one in precise),
    ]


def prior_of(case: PaperCase) -> np.ndarray:
    return log_prior(case.inclusion, case.tuples, case.outsider)


def test_matrix_products_give_the_integrals_of_tuples() -> None:
    """Against another rule with other nodes, tuple by tuple: the error that is left is that of the rule."""
    rng = np.random.default_rng(0)
    for seed in range(count(1, 10)):
        for case in unequal_cases(seed):
            some = rng.permutation(len(case.tuples))[: count(15, 60)]
            log_weight, favor = (part[some] for part in tuple_posteriors(case))
            expected, right = integrals(case, some.tolist())
            prior = prior_of(case)[some]
            possible = np.isfinite(prior)
            np.testing.assert_array_equal(np.isfinite(log_weight), possible)
            constant = (log_weight[possible] - prior[possible]) - expected[possible]
            assert np.ptp(constant) == pytest.approx(0.0, abs=1e-9)
            np.testing.assert_allclose(favor, right, atol=1e-9)


def test_matrix_products_agree_with_logarithms_at_the_same_nodes_and_light_tuples_are_among_them() -> None:
    """To 1e-12, all tuples at once and some of them, in any order; with tiny noise, products underflow."""
    rng, light = np.random.default_rng(1), 0
    for seed in range(count(1, 10)):
        for case in unequal_cases(seed):
            quality, log_rule, edge = _panels_at_bar(case)
            likelihood = log_likelihoods(case, quality)
            expected, right = _sums_in_logs(likelihood, log_rule - 0.5 * quality**2, edge, case.tuples)
            expected += prior_of(case)
            some = rng.permutation(len(case.tuples))[:50]
            for found, rows in (
                (tuple_posteriors(case), slice(None)),
                (tuple_posteriors(case, case.tuples[some]), some),
            ):
                np.testing.assert_allclose(found[0], expected[rows], rtol=1e-12, atol=1e-12)
                np.testing.assert_allclose(found[1], right[rows], atol=1e-12)
            light += int((expected[np.isfinite(expected)] < expected.max() - 600.0).any())
    assert light >= 2


def test_equal_scores_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    case = unequal_case(np.random.default_rng(2), 4, 5, grid=True, star=False, noise=0.6)
    case, asked = replace(case, scores=(0.0, 0.0, 1.0, 1.0)), []
    plain = Rounded.log_likelihood

    def counted(self: Rounded, score: float, quality: np.ndarray) -> np.ndarray:
        asked.append(score)
        return plain(self, score, quality)

    monkeypatch.setattr(Rounded, "log_likelihood", counted)
    tuple_posteriors(case)
    assert asked == [0.0, 1.0]


def test_shared_likelihoods_depend_on_no_other_row() -> None:
    """Rows are evaluated with those of a whole committee, and must not differ in the last digit."""
    rng = np.random.default_rng(81)
    rows = SharedTuple(
        (*rng.uniform(0.5, 2.0, 3).tolist(), *(rng.uniform(0.0, 0.3, 2) * (index % 3 > 0)).tolist(), 0.2, 0.0)
        for index in range(23)
    )
    for grid, scores in (((1.0, 2.0, 3.0, 4.0), (1.0, 3.0, 3.0)), (None, (0.3, 1.1, 2.0))):
        for nodes in (range(-70, 91), range(-128, 200, 8)):
            for without in (tuple(range(1, 23)), (0, 7, 22), ()):
                own = tuple(row for index, row in enumerate(rows) if index not in without)
                names, chance = tuple(f"r{index:02d}" for index in range(len(own))), (0.5,) * len(own)
                shared, alone = (
                    node_likelihoods(PaperCase("p", scores, names, chance, some, 0.3, grid), 0.11, nodes)
                    for some in (all_but(rows, without), own)
                )
                np.testing.assert_array_equal(shared, alone)
            quality, pool = 0.3 + 0.11 * (np.array(nodes) + 0.5), pool_reviewers(np.array(rows), grid)
            direct = np.stack([pool.log_likelihood(score, quality[:, None]).T for score in scores])
            np.testing.assert_allclose(shared, direct, rtol=1e-12)
