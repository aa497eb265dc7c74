"""Limits of privacy loss against the exact probabilities of noise, and the bound against a known method."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from blindcal.errors import InputError
from blindcal.private_sharing import LossLimit, TotalLoss, compose, unlearned


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 8.0])
def test_discrete_laplace_noise_keeps_epsilon_for_every_split_of_a_review(epsilon: float) -> None:
    """The log probability of an output falls by |change| / scale: all points of a review leave a row and come
    to another."""
    scale = LossLimit(epsilon=epsilon).scale
    for above in range(101):
        for change in ((above, 100 - above, above, 100 - above), (above, 100 - above, 0, 0)):
            assert sum(change) / scale <= epsilon * (1 + 1e-12)
    seen = np.arange(-3000, 3001)
    log = -np.abs(seen) / scale
    assert np.abs(log[100:] - log[:-100]).max() <= 100 / scale + 1e-12


@pytest.mark.parametrize("rho", [0.1, 0.5, 4.0])
def test_discrete_gaussian_noise_keeps_zcdp(rho: float) -> None:
    """Renyi divergences by sums over the whole numbers, at several orders."""
    scale = LossLimit(zcdp=rho).scale
    for above, order in product((0, 37, 50, 100), (1.5, 2.0, 8.0)):
        total = sum(_renyi(change, scale, order) for change in (above, 100 - above) * 2)
        assert total <= order * rho * (1 + 1e-9)


def _renyi(change: int, scale: float, order: float) -> float:
    far = int(40 * scale * order) + 200
    seen = np.arange(-far, far + 1)
    one, other = -(seen**2) / (2 * scale**2), -((seen - change) ** 2) / (2 * scale**2)
    constant = np.log(np.exp(one).sum())
    log = order * one + (1 - order) * other - constant
    return float((np.log(np.exp(log - log.max()).sum()) + log.max()) / (order - 1))


@pytest.mark.parametrize("limit", [LossLimit(epsilon=0.5), LossLimit(epsilon=50.0), LossLimit(zcdp=2.0)])
def test_variance_of_the_noise(limit: LossLimit) -> None:
    far = int(60 * limit.scale)
    seen = np.arange(-far, far + 1, dtype=float)
    log = -np.abs(seen) / limit.scale if limit.pure else -(seen**2) / (2 * limit.scale**2)
    chance = np.exp(log) / np.exp(log).sum()
    assert limit.variance == pytest.approx(chance @ seen**2, rel=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "zcdp"), [(None, None), (1.0, 1.0), (0.0, None), (float("nan"), None), (None, 1e3)]
)
def test_bad_limits_are_refused(epsilon: float | None, zcdp: float | None) -> None:
    with pytest.raises(InputError, match="`epsilon` or `zcdp`"):
        LossLimit(epsilon, zcdp)


def test_losses_add_up() -> None:
    assert compose([LossLimit(epsilon=0.5), LossLimit(epsilon=1.5)]) == TotalLoss(2.0, 1.25)
    mixed = compose([LossLimit(epsilon=2.0), LossLimit(zcdp=0.25)])
    assert mixed == TotalLoss(None, 2.25)
    # Bun and Steinke 2016: rho-zCDP is (rho + 2 sqrt(rho log 1/delta), delta)-differentially private.
    assert mixed.epsilon_at(1e-6) == pytest.approx(2.25 + 2 * np.sqrt(2.25 * np.log(1e6)))
    assert TotalLoss(0.5, 0.125).epsilon_at(1e-6) == 0.5


def test_the_bound_in_its_limits() -> None:
    for reviews in (1, 4, 20):
        free = 0.6 / (0.6 + reviews * 0.2)
        sds = np.sqrt(0.2), np.sqrt(0.6)
        assert unlearned(1e-6, reviews, *sds) == pytest.approx(1.0, abs=1e-6)
        assert unlearned(50.0, reviews, *sds) == pytest.approx(free)
    left = [unlearned(epsilon, 4, 0.4, 0.9) for epsilon in (0.05, 0.1, 0.2, 0.4, 0.8)]
    assert left == sorted(left, reverse=True)


def test_the_bound_for_one_review_is_an_integral_that_can_be_written_out() -> None:
    def inner(b: float) -> float:
        changed = 2 * norm.cdf(b / 0.9) - 1
        return float(b**2 * (1 - changed * np.tanh(0.3) ** 2) * 2 * norm.pdf(b, scale=0.4))

    # Gauss-Hermite on one side of a kink in |b|: a thousandth off.
    assert unlearned(0.3, 1, 0.4, 0.9) == pytest.approx(quad(inner, 0, 8)[0] / 0.4**2, rel=2e-3)


@pytest.mark.parametrize(("epsilon", "reviews"), [(0.2, 3), (0.5, 5), (1.0, 10), (4.0, 5)])
def test_no_method_does_better_than_the_bound_says(epsilon: float, reviews: int) -> None:
    """Signs of differences, summed, with Laplace noise: what is left after the best estimate, by integration.

    Exchanging a review changes two authors, so the sum of signs, which moves by 2, may use 2 epsilon."""
    offset_sd, review_sd = 0.4, 0.9
    b = np.linspace(-2, 2, 401)
    prior = norm.pdf(b, scale=offset_sd)
    prior /= prior.sum()
    up = norm.cdf(b / review_sd)
    sums = np.arange(-reviews, reviews + 1, 2)
    chance = np.array([_binomial(reviews, (s + reviews) // 2, up) for s in sums])
    seen = np.linspace(-60, 60, 4001)
    density = np.exp(-np.abs(seen[:, None] - sums) * epsilon)
    joint = density @ chance * prior
    estimate = joint @ b / joint.sum(axis=1)
    left = ((b - estimate[:, None]) ** 2 * joint).sum() / joint.sum()
    assert left / offset_sd**2 > unlearned(epsilon, reviews, offset_sd, review_sd)


def _binomial(n: int, k: int, p: np.ndarray) -> np.ndarray:
    from math import comb

    return np.asarray(comb(n, k) * p**k * (1 - p) ** (n - k))
