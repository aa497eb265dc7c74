"""The belief over reviewer tuples against plain integrals."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from blindcal.beliefs.cases import PaperCase
from random_cases import row_of
from sizes import count


def random_case(rng: np.random.Generator, size: int, reviews: int, **more) -> PaperCase:
    parameters = [
        row_of(float(np.exp(rng.normal(0, 0.5))), float(rng.normal(0, 0.7)), float(rng.uniform(0.3, 0.9)))
        for _ in range(size)
    ]
    scores = tuple(sorted(rng.normal(0.3, 1.2, reviews).tolist()))
    names = tuple(f"r{j}" for j in range(size))
    return PaperCase("p", scores, names, (reviews / size,) * size, tuple(parameters), 0.4, **more)


def test_weights_are_gaussian_densities_of_the_scores_and_favors_posterior_probabilities():
    rng = np.random.default_rng(3)
    for _ in range(count(10, 100)):
        case = random_case(rng, 4, int(rng.integers(1, 4)))
        belief = case.belief
        weight, favor = [], []
        for chosen in permutations(range(4), len(case.scores)):
            a, b, s = np.array([case.parameters[j][:3] for j in chosen]).T
            cov = np.diag(s**2) + np.outer(a, a)
            weight.append(multivariate_normal(b, cov).pdf(case.scores))
            solved = np.linalg.solve(cov, a)
            mean, variance = solved @ (np.array(case.scores) - b), 1 - solved @ a
            favor.append(norm.sf(case.bar, mean, np.sqrt(variance)))
        np.testing.assert_allclose(belief.weight, np.array(weight) / np.sum(weight), atol=1e-12)
        np.testing.assert_allclose(belief.favor, favor, atol=1e-12)
        np.testing.assert_array_equal(belief.labels, case.tuples.T)


def test_weights_stay_finite_60_standard_deviations_out():
    case = PaperCase(
        "p",
        (-60.0, 60.0),
        ("a", "b", "c"),
        (2 / 3,) * 3,
        (row_of(1, 0, 0.5), row_of(2, 1, 0.3), row_of(1, 2, 1)),
        0,
    )
    assert np.isfinite(case.belief.weight).all()
    assert case.belief.weight.sum() == pytest.approx(1)


def _plain_integral(case: PaperCase, chosen: tuple[int, ...], low: float) -> float:
    """One adaptive integral; variance of an uncertain line at quality t: va t^2 + 2 c t + vb + noise^2."""

    def density(t: float) -> float:
        value = norm.pdf(t)
        for score, j in zip(case.scores, chosen, strict=True):
            a, b, noise, sa, sb, rho, sn = case.parameters[j]
            sd = np.sqrt((sa * t) ** 2 + 2 * rho * sa * sb * t + sb**2 + noise**2 + sn**2)
            if case.grid is None:
                value *= norm.pdf(score, a * t + b, sd)
            else:
                grid = np.array(case.grid)
                i = int(np.argmin(np.abs(grid - score)))
                lower = -np.inf if i == 0 else (grid[i - 1] + grid[i]) / 2
                upper = np.inf if i == grid.size - 1 else (grid[i] + grid[i + 1]) / 2
                value *= norm.cdf(upper, a * t + b, sd) - norm.cdf(lower, a * t + b, sd)
        return float(value)

    edges = np.linspace(low, 9, 19)
    return sum(quad(density, x, y, epsabs=1e-14, epsrel=1e-11)[0] for x, y in pairwise(edges))


@pytest.mark.parametrize("rounded", [False, True])
def test_uncertain_and_rounded_reviewers_agree_with_adaptive_integrals(rounded: bool):
    rng = np.random.default_rng(8)
    for _ in range(count(1, 15)):
        base = random_case(rng, 3, 2)
        uncertain = tuple(
            row_of(*row[:3], *rng.uniform(0, 0.3, 2), rng.uniform(-0.8, 0.8), rng.uniform(0, 0.2))
            for row in base.parameters
        )
        scores, grid = base.scores, None
        if rounded:
            grid = (-2.0, -1.0, 0.0, 1.0, 2.0)
            scores = tuple(sorted(float(np.clip(round(s), -2, 2)) for s in scores))
        case = PaperCase("p", scores, base.candidates, base.inclusion, uncertain, 0.4, grid)
        tuples = list(permutations(range(3), 2))
        total = np.array([_plain_integral(case, chosen, -9) for chosen in tuples])
        above = np.array([_plain_integral(case, chosen, case.bar) for chosen in tuples])
        np.testing.assert_allclose(case.belief.weight, total / total.sum(), atol=1e-8)
        np.testing.assert_allclose(case.belief.favor, above / total, atol=1e-8)
