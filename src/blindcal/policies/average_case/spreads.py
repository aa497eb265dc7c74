"""How the price of privacy is spread over the scores two reviewers may give.

At scores S the two assignments disagree about the papers on a region; there the adversary's error can be
raised by `mass = min(p u, (1-p) v)` at price `w = min |2 favor - 1|`. A `Spread` holds the two integrals
that the average case needs, as functions of a threshold z on the price, `w = erf(z / sqrt 2)`:

    gained(z) = integral of mass over {disagree, price at most w(z)}
    spent(z)  = integral of w * mass over the same scores

In `x = s1 - s2` and `y = s1 + s2` every pair of increasing reviewers disagrees on a strip `|x| < X(y)`,
symmetric, with the price falling from x = 0 to its edges: swapping the papers swaps the assignments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import erf, ndtr

from blindcal.checks import Array
from blindcal.reviewers.affine import Affine
from blindcal.reviewers.integrals import Cumulative, integrate

# Beyond this z the price is 1 to the last digit: all such scores tie.
CEILING = 8.4
_FAR = 40.0  # standard normal mass beyond this underflows
_REACH = 9.5  # and beyond this is below 1e-20
_ROOT_TWO = np.sqrt(2.0)


@dataclass(frozen=True, eq=False)
class Spread:
    """`spent_gained(z)`: both integrals up to a threshold; `tied`: the mass at price 1.

    `least_error` is the conference's average error by the evidence, `agree_error` the adversary's then.
    `error` bounds the error of each integral.
    """

    least_error: float
    agree_error: float
    tied: float
    spent_gained: Callable[[float], tuple[float, float]]
    error: float


def affine_spread(first: Affine, second: Affine, prior: float) -> Spread:
    """The spread for two affine reviewers, noiseless or noisy, in closed form but for one integral.

    Given y, x is N(mu, s^2) under one assignment and N(-mu, s^2) under the other, mu linear in y, and the
    price depends on `depth = X(y) - |x|`, X = |xi| with xi linear in y. So the mass at a given depth is a
    Gaussian integral along two lines; `depth = z * layer` with a layer that vanishes with the noise.
    """
    pair = _Lines.of(first, second, prior)
    deepest = abs(pair.xi0) + _REACH * abs(pair.xi1)
    ceiling = min(CEILING * pair.layer, deepest)
    noisy = _depths(pair, np.linspace(0.0, 1.0, 8) ** 2 * ceiling, pair.layer)
    sure = _depths(pair, ceiling + np.linspace(0.0, 1.0, 12) ** 2 * (deepest - ceiling), 0.0)
    gained = (noisy.total[0] if noisy else 0.0) + (sure.total[0] if sure else 0.0)
    scores_only = integrate(pair.scores_only, _around(pair.mu0, pair.mu1, pair.sd))

    def spent_gained(z: float) -> tuple[float, float]:
        if noisy is None:
            return 0.0, 0.0
        mass, cost = noisy(z * pair.layer)
        return float(cost), float(mass)

    return Spread(
        least_error=_least_error(first, second),
        agree_error=max(0.0, float(scores_only.total[0] - gained)),
        tied=float(sure.total[0]) if sure else 0.0,
        spent_gained=spent_gained,
        error=sum(part.error for part in (noisy, sure, scores_only) if part) + 1e-15,
    )


def _least_error(first: Affine, second: Affine) -> float:
    """`E Phi(-|D|/tau)`, D the difference of the posterior means: `arctan(tau / sd(D)) / pi`."""
    known = sum(float(r.slope**2 / (r.slope**2 + r.noise**2)) for r in (first, second))
    return float(np.arctan2(np.sqrt(_unknown(first, second)), np.sqrt(known)) / np.pi)


def _unknown(first: Affine, second: Affine) -> float:
    """The sum of both posterior variances."""
    return sum(float(r.noise**2 / (r.slope**2 + r.noise**2)) for r in (first, second))


def _depths(pair: _Lines, edges: Array, layer: float) -> Cumulative | None:
    """Mass and price * mass, integrated over depth; None where there are no such depths."""
    if edges[-1] <= edges[0]:
        return None

    def integrand(depth: Array) -> Array:
        mass = pair.mass(depth)
        return np.stack([mass, mass * erf(depth / (layer * _ROOT_TWO))]) if layer > 0.0 else mass[None]

    return integrate(integrand, edges)


def _around(value: float, slope: float, scale: float) -> Array:
    """Edges for an integral over y (standardized) of a function of `(value + slope*y) / scale`."""
    edges = np.linspace(-_REACH, _REACH, 9)
    if slope == 0.0:
        return edges
    inner = (scale * np.array([-9.0, -3.0, -1.0, 0.0, 1.0, 3.0, 9.0]) - value) / slope
    return np.concatenate([edges, inner[np.abs(inner) < _REACH]])


@dataclass(frozen=True)
class _Lines:
    """With y standardized: x ~ N(+-(mu0 + mu1 y), sd^2), strip |x| < |xi0 + xi1 y|, z = depth/layer."""

    prior: float
    mu0: float
    mu1: float
    sd: float
    xi0: float
    xi1: float
    layer: float

    @staticmethod
    def of(first: Affine, second: Affine, prior: float) -> _Lines:
        v1, v2 = (float(r.slope**2 + r.noise**2) for r in (first, second))
        k1, k2 = float(first.slope) / v1, float(second.slope) / v2
        gap, total = float(first.offset - second.offset), np.sqrt(v1 + v2)
        return _Lines(
            prior=prior,
            mu0=gap,
            mu1=float((v1 - v2) / total),
            sd=float(2.0 * np.sqrt(v1) * np.sqrt(v2) / total),
            xi0=gap,
            xi1=float(-(k1 - k2) / (k1 + k2) * total),
            layer=2.0 * float(np.sqrt(_unknown(first, second))) / (k1 + k2),
        )

    def scores_only(self, y: Array) -> Array:
        """Error of the adversary from the scores alone, given y: two Gaussians 2 mu apart."""
        apart = 2.0 * np.abs(self.mu0 + self.mu1 * y) / self.sd
        shift = np.divide(self._log_odds, apart, out=np.full(y.shape, np.inf), where=apart > 0)
        if self._log_odds == 0.0:
            shift = np.zeros_like(y)
        heavy, light = max(self.prior, 1 - self.prior), min(self.prior, 1 - self.prior)
        missed = heavy * ndtr(-0.5 * apart - shift) + light * ndtr(-0.5 * apart + shift)
        return np.asarray(missed * _density(y, 0.0, 1.0))[None]

    @property
    def _log_odds(self) -> float:
        return abs(float(np.log(self.prior) - np.log1p(-self.prior)))

    def mass(self, depth: Array) -> Array:
        """Density of the mass over depth: both signs of x, both halves of the strip (xi of either sign)."""
        return self._half(depth, 1.0) + self._half(depth, -1.0)

    def _half(self, depth: Array, sign: float) -> Array:
        """Along `x = +-(sign*xi - depth)`, where that is at least 0.

        With N+ and N- the densities of |x| under +mu and -mu, both signs of x together have
        min(p N+, q N-) + min(p N-, q N+) = min(N+, N-) where |log N+/N-| exceeds the log odds of the prior,
        and min(p, q) * (N+ + N-) elsewhere.
        """
        x0, x1 = sign * self.xi0 - depth, sign * self.xi1
        low, high = _where_positive(x0, x1)
        cuts = [
            _roots(x0, x1, self.mu0, self.mu1, way * 0.5 * self._log_odds * self.sd**2) for way in (1, -1)
        ]
        points = np.concatenate([low[None], *cuts, high[None]])
        points = np.sort(np.clip(points, low, high), axis=0)
        middle = 0.5 * (points[1:] + points[:-1])
        log_ratio = 2.0 * (self.mu0 + self.mu1 * middle) * (x0 + x1 * middle) / self.sd**2
        plus, minus = (self._between(points, x0 - s * self.mu0, x1 - s * self.mu1) for s in (1.0, -1.0))
        one_sided = np.where(log_ratio > 0, minus, plus)
        light = min(self.prior, 1.0 - self.prior)
        both = light * (plus + minus)
        return np.asarray(np.where(np.abs(log_ratio) >= self._log_odds, one_sided, both).sum(axis=0))

    def _between(self, points: Array, offset: Array, slope: float) -> Array:
        """Integral of phi(y) N(offset + slope*y; 0, sd^2) over y between consecutive points."""
        spread = np.hypot(self.sd, slope)
        center, narrow = -offset * slope / spread**2, spread / self.sd
        part = np.diff(ndtr((points - center) * narrow), axis=0)
        upper = np.diff(-ndtr(-(points - center) * narrow), axis=0)
        part = np.where(points[1:] > center, upper, part)
        return np.asarray(_density(offset, 0.0, spread) * part)


def _density(x: Array, mean: float, sd: float) -> Array:
    return np.asarray(np.exp(-0.5 * np.square((x - mean) / sd)) / (sd * np.sqrt(2.0 * np.pi)))


def _where_positive(offset: Array, slope: float) -> tuple[Array, Array]:
    """The y in [-far, far] with `offset + slope*y >= 0`, empty as low = high."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        root = np.clip(-offset / slope, -_FAR, _FAR) if slope else np.where(offset >= 0, -_FAR, _FAR)
    if slope >= 0:
        return root, np.full_like(offset, _FAR)
    return np.full_like(offset, -_FAR), root


def _roots(x0: Array, x1: float, mu0: float, mu1: float, level: float) -> Array:
    """Real roots y of `(x0 + x1 y)(mu0 + mu1 y) = level`, [2, ...]; far away where there are none."""
    a, b, c = x1 * mu1, x0 * mu1 + x1 * mu0, x0 * mu0 - level
    disc = np.square(b) - 4.0 * a * c
    half = -0.5 * (b + np.copysign(np.sqrt(np.maximum(disc, 0.0)), b))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        pair = np.stack([half / a if a else np.full_like(b, np.nan), c / half])
    return np.where(np.isfinite(pair) & (disc >= 0.0), pair, _FAR)
