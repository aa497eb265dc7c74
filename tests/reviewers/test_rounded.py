"""Scores on a grid: the likelihood sums to one, tends to the density, and knows how it was rounded."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from scipy.stats import logistic

import blindcal as bc
from blindcal.checks import Array
from blindcal.errors import InputError
from every_reviewer import curves, named, on_grid


@named(on_grid())
def test_likelihood_sums_to_one_over_the_grid(reviewer: bc.Rounded) -> None:
    t = np.linspace(-8.0, 8.0, 101)
    assert logsumexp(reviewer.log_likelihood(reviewer.grid[:, None], t), axis=0) == pytest.approx(
        0.0, abs=1e-9
    )


@named(on_grid())
def test_marginal_sums_to_one_over_the_grid(reviewer: bc.Rounded) -> None:
    assert logsumexp(reviewer.log_marginal(reviewer.grid)) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("name", list(curves(0.5)))
def test_a_fine_grid_tends_to_the_density(name: str) -> None:
    """With the error of a midpoint, step squared: halving the step quarters it, up to the next term."""
    plain = curves(0.5)[name]
    middle, t = float(plain.score(0.4)), np.array([-0.5, 0.4, 1.0])
    exact = np.exp(plain.log_likelihood(middle, t))
    worst = []
    for step in (0.04, 0.02, 0.01):
        rounded = bc.Rounded(plain, middle + step * np.arange(-5, 6))
        worst.append(np.abs(np.exp(rounded.log_likelihood(middle, t)) / step - exact).max())
    assert worst[0] / worst[1] == pytest.approx(4.0, abs=1e-3)
    assert worst[1] / worst[2] == pytest.approx(4.0, abs=3e-4)
    assert worst[2] < 2e-5


def test_rounding_reports_the_nearest_value_and_the_likelihood_knows_it() -> None:
    rounded = bc.Rounded(bc.Affine(1.0), [1.0, 2.0, 4.0])
    t = np.array([-5.0, 1.4, 1.5, 2.9, 3.0, 9.0])
    assert rounded.score(t).tolist() == [1.0, 1.0, 2.0, 2.0, 4.0, 4.0]
    assert (rounded.log_likelihood(rounded.score(t), t) == 0.0).all()


class Heavy(bc.reviewers.PiecewiseLinear):
    """Noise of its own, that of a logistic distribution."""

    def log_likelihood(self, score: ArrayLike, quality: ArrayLike) -> Array:
        gap = (np.asarray(score) - self.score(quality)) / self.noise
        return np.asarray(-gap - 2.0 * np.log1p(np.exp(-gap)) - np.log(self.noise))


def test_only_gaussian_noise_is_rounded() -> None:
    """Else its cells would silently have Gaussian probabilities."""
    knots = ([-1.0, 0.0, 1.0], [2.0, 5.0, 7.0])
    assert bc.Rounded(bc.reviewers.PiecewiseLinear(*knots, noise=1.0), [4, 5, 6]).gaussian
    heavy = Heavy(*knots, noise=1.0)
    for own in (heavy, bc.reviewers.Shaped(heavy, logistic)):
        with pytest.raises(InputError, match="must have Gaussian noise to be rounded"):
            bc.Rounded(own, [4, 5, 6])
