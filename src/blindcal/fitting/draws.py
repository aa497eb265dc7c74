"""Draws that the sampler needs from distributions of its own: between bounds, of spreads, of covariances."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from blindcal.checks import Array

# Half-t priors of standard deviations with these degrees of freedom (Huang and Wand 2013): for two and more
# dimensions every correlation is then uniform.
FREEDOM = 2.0
_FAR = 37.0  # deviations beyond which a normal distribution has no mass that a float can tell


def normal_between(low: Array, high: Array, rng: np.random.Generator) -> Array:
    """A standard normal draw between `low` and `high`, each entry for itself."""
    flip = low > 0.0
    near = np.maximum(np.where(flip, -high, low), -_FAR)
    far = np.maximum(np.where(flip, -low, high), -_FAR)
    below, above = ndtr(near), ndtr(far)
    drawn = ndtri(below + rng.random(low.shape) * (above - below))
    drawn = np.clip(drawn, near, far)
    return np.asarray(np.where(flip, -drawn, drawn))


def log_scale(
    count: Array, squares: Array, mean: float, sd: float, now: Array, rng: np.random.Generator
) -> Array:
    """A step of the log standard deviation l of `count` normal values with these sums of squares.

    Its prior is N(mean, sd^2), so its log density is `-count l - squares/2 e^-2l - (l - mean)^2/2sd^2`,
    which is concave: the proposal is the normal one at its peak, and nearly always taken.
    """
    likened = 0.5 / sd**2  # the prior says as much as this many values
    peak = 0.5 * np.log((squares + likened * np.exp(2 * mean)) / (count + likened))
    for _ in range(4):
        pull = squares * np.exp(-2 * peak)
        peak = peak + (pull - count - (peak - mean) / sd**2) / (2 * pull + 1 / sd**2)
    width = 1.05 / np.sqrt(2 * squares * np.exp(-2 * peak) + 1 / sd**2)
    new = peak + width * rng.standard_normal(peak.shape)

    def weight(value: Array) -> Array:
        density = -count * value - 0.5 * squares * np.exp(-2 * value) - 0.5 * ((value - mean) / sd) ** 2
        return np.asarray(density + 0.5 * ((value - peak) / width) ** 2)

    taken = np.log(rng.random(peak.shape)) < weight(new) - weight(now)
    return np.where(taken, new, now)


def spread(squares: float, count: int, now: float, scale: float, rng: np.random.Generator) -> float:
    """A standard deviation given `count` values with these squares, and a half-t prior of this scale."""
    likely = (FREEDOM / now**2 + 1 / scale**2) / rng.gamma((FREEDOM + 1) / 2)
    variance = (FREEDOM / likely + 0.5 * squares) / rng.gamma((FREEDOM + count) / 2)
    return float(np.sqrt(variance))


def covariance(squares: Array, count: int, now: Array, scale: float, rng: np.random.Generator) -> Array:
    """A covariance given `count` vectors with these sums of products; half-t standard deviations before."""
    size = len(squares)
    precision = np.linalg.inv(now).diagonal()
    likely = (FREEDOM * precision + 1 / scale**2) / rng.gamma((FREEDOM + size) / 2, size=size)
    wanted = squares + np.diag(2 * FREEDOM / likely)
    return _inverse_wishart(wanted, FREEDOM + size - 1 + count, rng)


def _inverse_wishart(wanted: Array, freedom: float, rng: np.random.Generator) -> Array:
    """By Bartlett: the inverse of `C A A' C'` with A of chi and normal draws, `C C'` that of wanted."""
    size = len(wanted)
    factor = np.tril(rng.standard_normal((size, size)), -1)
    factor += np.diag(np.sqrt(rng.chisquare(freedom - np.arange(size))))
    root = np.linalg.cholesky(np.linalg.inv(wanted)) @ factor
    inverse = np.linalg.inv(root @ root.T)
    return np.asarray(0.5 * (inverse + inverse.T))


def log_prior_of_root(root: Array, scale: float) -> float:
    """Log density, up to a constant, of the lower triangular root of a 2x2 covariance under `covariance`'s
    prior: the marginal of Huang and Wand, times the Jacobian of the root."""
    inverse = np.linalg.inv(root @ root.T)
    first, second = np.log(np.abs(root.diagonal()))
    size = len(root)
    prior = -(FREEDOM + 2 * size) * (first + second)
    prior -= (FREEDOM + size) / 2 * np.log(FREEDOM * inverse.diagonal() + 1 / scale**2).sum()
    return float(prior + 2 * first + second)
