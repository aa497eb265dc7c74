"""Integrals over all scores that two reviewers may give: what privacy costs on average.

At scores S the two assignments disagree about the papers on a region. There the adversary's error can be
raised by `mass = min(p u, (1-p) v)` at price `w = min |2 favor - 1|`. `ScoreIntegrals` holds the two
integrals that the average case needs, as functions of a threshold z on the price, `w = erf(z / sqrt 2)`:

    gained(z) = integral of mass over {disagree, price at most w(z)}
    spent(z)  = integral of w * mass over the same scores

With `x = s1 - s2` and `y = s1 + s2`, every pair of increasing reviewers disagrees on a strip `|x| < X(y)`. It
is symmetric, and the price falls from x = 0 to its edges, because swapping the papers swaps the assignments.

Three kinds of reviewers have a form of their own: two affine reviewers (`affine_integrals`), two reviewers
without noise (`noiseless_integrals`), and two noisy reviewers with any increasing curves
(`curved_integrals`). All integrals use Gauss-Legendre panels that end at every kink.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, cast

import numpy as np
import scipy
from scipy.optimize.elementwise import find_root
from scipy.special import erf, ndtr, ndtri

from blindcal.checks import Array
from blindcal.errors import InputError
from blindcal.reviewers.affine import Affine
from blindcal.reviewers.base import Reviewer
from blindcal.reviewers.quadrature import (
    Cumulative,
    gauss_legendre,
    gauss_legendre_panels,
    gauss_legendre_unit,
    integrate,
    integration_matrix,
)

# At this z the price is 1 to the last digit: all scores beyond it tie.
MAX_THRESHOLD = 8.4
_FAR = 40.0  # standard normal mass beyond this underflows
_REACH = 9.5  # and beyond this is below 1e-20
_SQRT_2 = np.sqrt(2.0)
_TOLERANCE = 1e-12
# Noiseless pairs: the grid on which the log ratio of densities is tabulated. A log ratio that moves less than
# `_FLAT_STEP` between two points does not turn there.
_GRID_POINTS = 6001
_FLAT_STEP = 1e-11
# Curved pairs: the range of qualities, beyond which the probability is 3e-12; grid points to one local width
# of a score's density; the log density, relative to the largest, below which scores are left out; and the
# order and the most of the panels. They are as wide as the noise, so that rare tails keep their digits:
# without them a table bends, and a spline errs nearby.
_QUALITY_REACH = 7.0
_POINTS_PER_WIDTH = 10.0
_LOG_NEGLIGIBLE = -46.0
_MAX_POINTS = 1500
_MAX_PANELS = 900
_ORDER = 16
_INNER_ORDER = 12
_PANELS = 10


@dataclass(frozen=True, eq=False)
class ScoreIntegrals:
    """The integrals of one pair of reviewers."""

    least_error: float  # the conference's average error if it decides by the evidence
    agree_error: float  # the adversary's average error then
    tied: float  # the mass at price 1
    spent_gained: Callable[[float], tuple[float, float]]  # both integrals up to a threshold z
    error: float  # bounds the numerical error of each integral


def affine_integrals(first: Affine, second: Affine, prior: float) -> ScoreIntegrals:
    """The integrals of two affine reviewers, noiseless or noisy, in closed form except for one integral.

    Given y, x is N(mu, s^2) under one assignment and N(-mu, s^2) under the other, with mu linear in y. The
    price depends on `depth = X(y) - |x|`, and X = |xi| with xi linear in y. So the mass at a given depth is a
    Gaussian integral along two lines, with `depth = z * layer` and a layer that vanishes with the noise.
    """
    pair = _AffinePair.of(first, second, prior)
    deepest = abs(pair.xi0) + _REACH * abs(pair.xi1)
    ceiling = min(MAX_THRESHOLD * pair.layer, deepest)
    noisy = _integrate_depth(pair, np.linspace(0.0, 1.0, 8) ** 2 * ceiling, pair.layer)
    sure = _integrate_depth(pair, ceiling + np.linspace(0.0, 1.0, 12) ** 2 * (deepest - ceiling), 0.0)
    gained = (noisy.total[0] if noisy else 0.0) + (sure.total[0] if sure else 0.0)
    scores_only = integrate(pair.scores_only, _edges_around(pair.mu0, pair.mu1, pair.sd))

    def spent_gained(z: float) -> tuple[float, float]:
        if noisy is None:
            return 0.0, 0.0
        mass, cost = noisy(z * pair.layer)
        return float(cost), float(mass)

    # `E Phi(-|D|/tau)`, D the difference of the posterior means: `arctan(tau / sd(D)) / pi`.
    known = sum(float(r.slope**2 / (r.slope**2 + r.noise**2)) for r in (first, second))
    least = np.arctan2(np.sqrt(_posterior_variance(first, second)), np.sqrt(known)) / np.pi
    return ScoreIntegrals(
        least_error=float(least),
        agree_error=max(0.0, float(scores_only.total[0] - gained)),
        tied=float(sure.total[0]) if sure else 0.0,
        spent_gained=spent_gained,
        error=sum(part.error for part in (noisy, sure, scores_only) if part) + 1e-15,
    )


def _posterior_variance(first: Affine, second: Affine) -> float:
    return sum(float(r.noise**2 / (r.slope**2 + r.noise**2)) for r in (first, second))


def _integrate_depth(pair: _AffinePair, edges: Array, layer: float) -> Cumulative | None:
    """Mass and price * mass, integrated over depth; None if there are no such depths."""
    if edges[-1] <= edges[0]:
        return None

    def integrand(depth: Array) -> Array:
        mass = pair.mass(depth)
        return np.stack([mass, mass * erf(depth / (layer * _SQRT_2))]) if layer > 0.0 else mass[None]

    return integrate(integrand, edges)


def _edges_around(value: float, slope: float, scale: float) -> Array:
    """Edges for an integral over y (standardized) of a function of `(value + slope*y) / scale`."""
    edges = np.linspace(-_REACH, _REACH, 9)
    if slope == 0.0:
        return edges
    inner = (scale * np.array([-9.0, -3.0, -1.0, 0.0, 1.0, 3.0, 9.0]) - value) / slope
    return np.concatenate([edges, inner[np.abs(inner) < _REACH]])


@dataclass(frozen=True)
class _AffinePair:
    """Two affine reviewers in the coordinates x and y, with y standardized.

    x ~ N(+-(mu0 + mu1 y), sd^2), the strip is |x| < |xi0 + xi1 y|, and z = depth/layer.
    """

    prior: float
    mu0: float
    mu1: float
    sd: float
    xi0: float
    xi1: float
    layer: float

    @staticmethod
    def of(first: Affine, second: Affine, prior: float) -> _AffinePair:
        """From the reviewers' parameters and P(A1)."""
        v1, v2 = (float(r.slope**2 + r.noise**2) for r in (first, second))
        k1, k2 = float(first.slope) / v1, float(second.slope) / v2
        gap, total = float(first.offset - second.offset), np.sqrt(v1 + v2)
        return _AffinePair(
            prior=prior,
            mu0=gap,
            mu1=float((v1 - v2) / total),
            sd=float(2.0 * np.sqrt(v1) * np.sqrt(v2) / total),
            xi0=gap,
            xi1=float(-(k1 - k2) / (k1 + k2) * total),
            layer=2.0 * float(np.sqrt(_posterior_variance(first, second))) / (k1 + k2),
        )

    def scores_only(self, y: Array) -> Array:
        """The adversary's error from the scores alone, given y: two Gaussians 2 mu apart."""
        apart = 2.0 * np.abs(self.mu0 + self.mu1 * y) / self.sd
        shift = np.divide(self._log_odds, apart, out=np.full(y.shape, np.inf), where=apart > 0)
        if self._log_odds == 0.0:
            shift = np.zeros_like(y)
        heavy, light = max(self.prior, 1 - self.prior), min(self.prior, 1 - self.prior)
        missed = heavy * ndtr(-0.5 * apart - shift) + light * ndtr(-0.5 * apart + shift)
        return np.asarray(missed * _normal_density(y, 1.0))[None]

    @property
    def _log_odds(self) -> float:
        return abs(float(np.log(self.prior) - np.log1p(-self.prior)))

    def mass(self, depth: Array) -> Array:
        """Density of the mass over depth: both signs of x, both halves of the strip (xi of either sign)."""
        return self._half(depth, 1.0) + self._half(depth, -1.0)

    def _half(self, depth: Array, sign: float) -> Array:
        """The mass along `x = +-(sign*xi - depth)`, as far as that is at least 0.

        With N+ and N- the densities of |x| under +mu and -mu, both signs of x together have
        min(p N+, q N-) + min(p N-, q N+), which is min(N+, N-) if |log N+/N-| exceeds the log odds of the
        prior, and min(p, q) * (N+ + N-) otherwise.
        """
        x0, x1 = sign * self.xi0 - depth, sign * self.xi1
        low, high = _where_positive(x0, x1)
        cuts = [
            _quadratic_roots(x0, x1, self.mu0, self.mu1, way * 0.5 * self._log_odds * self.sd**2)
            for way in (1, -1)
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
        """The integral of phi(y) N(offset + slope*y; 0, sd^2) over y between consecutive points."""
        spread = np.hypot(self.sd, slope)
        center, narrow = -offset * slope / spread**2, spread / self.sd
        part = np.diff(ndtr((points - center) * narrow), axis=0)
        upper = np.diff(-ndtr(-(points - center) * narrow), axis=0)
        # Differences of the nearer tail keep their digits.
        part = np.where(points[1:] > center, upper, part)
        return np.asarray(_normal_density(offset, spread) * part)


def _normal_density(x: Array, sd: float) -> Array:
    return np.asarray(np.exp(-0.5 * np.square(x / sd)) / (sd * np.sqrt(2.0 * np.pi)))


def _where_positive(offset: Array, slope: float) -> tuple[Array, Array]:
    """The y in [-far, far] with `offset + slope*y >= 0`; empty if low = high."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        root = np.clip(-offset / slope, -_FAR, _FAR) if slope else np.where(offset >= 0, -_FAR, _FAR)
    if slope >= 0:
        return root, np.full_like(offset, _FAR)
    return np.full_like(offset, -_FAR), root


def _quadratic_roots(x0: Array, x1: float, mu0: float, mu1: float, level: float) -> Array:
    """Real roots y of `(x0 + x1 y)(mu0 + mu1 y) = level`, [2, ...]; far away if there are none."""
    a, b, c = x1 * mu1, x0 * mu1 + x1 * mu0, x0 * mu0 - level
    disc = np.square(b) - 4.0 * a * c
    # The stable quadratic formula: terms of the same sign are added, so nothing cancels.
    half = -0.5 * (b + np.copysign(np.sqrt(np.maximum(disc, 0.0)), b))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        pair = np.stack([half / a if a else np.full_like(b, np.nan), c / half])
    return np.where(np.isfinite(pair) & (disc >= 0.0), pair, _FAR)


def noiseless_integrals(first: Reviewer, second: Reviewer, prior: float) -> ScoreIntegrals:
    """The integrals of two reviewers without noise: any increasing curves, all mass tied at price 1."""
    pair = _NoiselessPair(first, second, prior)
    masses = integrate(pair.masses, pair.edges(), _TOLERANCE)
    disagree, total = (float(part) for part in masses.total)
    return ScoreIntegrals(
        least_error=0.0,
        agree_error=max(0.0, total - disagree),
        tied=disagree,
        spent_gained=lambda z: (0.0, 0.0),
        error=masses.error + 1e-9,  # the tabulated points, even at infinite densities
    )


@dataclass(frozen=True, eq=False)
class _NoiselessPair:
    """Two reviewers without noise, in qualities.

    Reviewer 1 read paper 1 as t1 and reviewer 2 read paper 2 as t2. Under the other assignment the same
    scores mean `cross(t1)` and `cross^-1(t2)`, with `cross = quality_2(score_1(.))`. The assignments disagree
    if t2 lies between t1 and cross(cross(t1)). Given t1 the mass is

        integral of min(p phi(t1) phi(t2), (1-p) c1(t1) c2(t2)) dt2,   c1 = Phi(cross)', c2 = Phi(cross^-1)'

    Both sides have closed integrals in t2, so only the points where the smaller side changes are searched.
    """

    first: Reviewer
    second: Reviewer
    prior: float

    def cross(self, t: Array) -> Array:
        """The quality that reviewer 2 means by the score that reviewer 1 gives to quality t."""
        return _finite(self.second.quality(self.first.score(t)))

    def back(self, t: Array) -> Array:
        """The quality that reviewer 1 means by the score that reviewer 2 gives to quality t."""
        return _finite(self.first.quality(self.second.score(t)))

    def log_ratio(self, reader: Reviewer, writer: Reviewer, t: Array) -> Array:
        """Log of (density of a score if `writer` wrote it) / (if `reader`, who reads it as t, did)."""
        score = reader.score(t)
        # Clipped: a density may be infinite at a cusp of the other curve, or 0 beyond its range.
        return np.clip(writer.log_marginal(score) - reader.log_marginal(score), -1e4, 600.0)

    def edges(self) -> Array:
        """Ends of the range, knots of either curve, and qualities at which both reviewers agree exactly."""
        grid = np.linspace(-_REACH, _REACH, _GRID_POINTS)
        gap = self.cross(grid) - grid
        turn = np.flatnonzero(gap[1:] * gap[:-1] < 0)
        equal = grid[turn] - gap[turn] * (grid[turn + 1] - grid[turn]) / (gap[turn + 1] - gap[turn])
        knots = np.concatenate([self.first.knots, self.back(self.second.knots)])
        inner = np.concatenate([np.linspace(-_REACH, _REACH, 14), equal, knots, self.back(grid[[0, -1]])])
        return np.asarray(inner[np.abs(inner) <= _REACH])

    def masses(self, t1: Array) -> Array:
        """Given t1, `[2, k]`: the mass on which the assignments disagree, and the whole mass."""
        scale = np.exp(-0.5 * np.square(t1)) / np.sqrt(2.0 * np.pi)
        ours = self.prior * scale
        theirs = (1.0 - self.prior) * scale * np.exp(self.log_ratio(self.first, self.second, t1))
        with np.errstate(divide="ignore"):
            level = np.log(ours) - np.log(theirs)
        # Points `[cut, k]` between which the same side of the minimum is the smaller one.
        fixed = np.clip(np.concatenate([[-_REACH, _REACH], self._knots]), -_REACH, _REACH)
        turns = (np.interp(level, f, t2)[None] for f, t2 in self._inverses)
        cuts = np.concatenate([np.broadcast_to(fixed[:, None], (fixed.size, level.size)), *turns])
        ends = np.stack([t1, self.cross(self.cross(t1))])
        disagree = self._between(np.clip(cuts, ends.min(axis=0), ends.max(axis=0)), ours, theirs)
        return np.stack([disagree, self._between(cuts, ours, theirs)])

    def _between(self, cuts: Array, ours: Array, theirs: Array) -> Array:
        """The integral of min(ours*phi, theirs*c2) over t2 from the least to the greatest cut."""
        points = np.sort(cuts, axis=0)
        own, crossed = np.diff(ndtr(points), axis=0), np.diff(ndtr(self.back(points)), axis=0)
        return np.asarray(np.minimum(ours * own, theirs * crossed).sum(axis=0))

    @property
    def _knots(self) -> Array:
        return np.concatenate([self.second.knots, self.cross(self.first.knots)])

    @cached_property
    def _inverses(self) -> list[tuple[Array, Array]]:
        """Tables of (log ratio, t2), one for each run over which the ratio is monotone.

        The points are evenly spaced in the readings of both reviewers, so that neither density is missed, and
        close together around knots, where a density may be infinite. A root that is off by d changes the
        integral only by order d^2, because both sides of the minimum are equal there.
        """
        even = np.linspace(-_REACH, _REACH, _GRID_POINTS)
        near = np.geomspace(1e-12, 1.0, 200)
        around = [knot + side * near for knot in self._knots for side in (-1.0, 1.0)]
        both = np.concatenate([even, self.cross(even), *around])
        t2 = np.unique(both[np.abs(both) <= _REACH])
        return monotone_inverses(self.log_ratio(self.second, self.first, t2), t2)


def monotone_inverses(values: Array, points: Array) -> list[tuple[Array, Array]]:
    """Tables (values, points), rising in value, one for each run over which `values` only rises or falls."""
    step = np.diff(values)
    moving = np.flatnonzero(np.abs(step) > _FLAT_STEP)
    turns = moving[1:][np.sign(step[moving[1:]]) != np.sign(step[moving[:-1]])]
    bounds = [0, *(int(turn) for turn in turns), values.size - 1] if moving.size else []
    runs = [slice(low, high + 1) for low, high in pairwise(bounds)]
    return [
        (values[run], points[run])
        if values[run][0] < values[run][-1]
        else (values[run][::-1], points[run][::-1])
        for run in runs
    ]


def _finite(t: Array) -> Array:
    """Infinite qualities (beyond the curve) as finite ones that no paper has."""
    return np.clip(t, -64.0, 64.0)


def curved_integrals(first: Reviewer, second: Reviewer, prior: float) -> ScoreIntegrals:
    """The integrals of two noisy reviewers with any increasing curves.

    The evidence `z(s1, s2) = Phi^-1(favor under A1)` is tabulated on a grid of scores by one matrix product
    of posteriors and interpolated by a quintic spline; under A2 it is `-z(s2, s1)`.
    """
    qualities = _QualityPanels.of(first, second)
    least, least_bound = _curved_least_error(first, second, qualities)
    surface = _EvidenceSurface.of(first, second, qualities, prior)
    if surface is None:
        return ScoreIntegrals(least, 0.0, 0.0, lambda z: (0.0, 0.0), least_bound)
    whole = surface.strip(MAX_THRESHOLD)
    spent, gained, tied = (float(part) for part in whole.total)
    total, total_bound = surface.scores_only()

    @cache
    def spent_gained(z: float) -> tuple[float, float]:
        if z >= MAX_THRESHOLD:
            return spent, gained
        part = surface.strip(z).total
        return float(part[0]), float(part[1])

    agree = max(0.0, total - gained - tied)
    return ScoreIntegrals(least, agree, tied, spent_gained, whole.error + least_bound + total_bound + 1e-9)


@dataclass(frozen=True, eq=False)
class _QualityPanels:
    """Gauss-Legendre panels over quality that resolve the prior and both likelihoods."""

    nodes: Array  # [panels, order]
    mass: Array  # phi(t) dt at each node
    width: Array  # [panels]

    @staticmethod
    def of(first: Reviewer, second: Reviewer) -> _QualityPanels:
        """Panels narrow enough for both reviewers; refused if the noise is too small."""
        ends = [np.linspace(-_QUALITY_REACH, _QUALITY_REACH, 18)]
        for reviewer in (first, second):
            low, high = reviewer.score(np.array([-_QUALITY_REACH, _QUALITY_REACH]))
            count = int(np.ceil((high - low) / float(reviewer.noise))) + 1
            if count > _MAX_PANELS:
                raise InputError(
                    f"the noise is too small: {float(reviewer.noise):g} against scores from {low:.4g} to "
                    f"{high:.4g}; give a larger noise, or 0 for none"
                )
            ends += [reviewer.quality(np.linspace(low, high, count)), reviewer.knots]
        edges = np.concatenate(ends)
        edges = np.unique(edges[np.abs(edges) <= _QUALITY_REACH])
        t, weight = gauss_legendre_panels(edges, _ORDER)
        return _QualityPanels(t, np.exp(-0.5 * t * t) / np.sqrt(2.0 * np.pi) * weight, np.diff(edges))

    def joint(self, reviewer: Reviewer, score: Array) -> Array:
        """P(quality at node, score) for each score: `[scores, panels, order]`."""
        t = self.nodes.reshape(-1)
        log = reviewer.log_likelihood(score[:, None], t)
        return np.asarray(np.exp(log).reshape(len(score), *self.nodes.shape) * self.mass)

    def up_to(self, joint: Array) -> Array:
        """The mass of lower qualities than each node, for `joint` of the same shape."""
        within = joint @ (integration_matrix(_ORDER) / gauss_legendre(_ORDER)[1]).T
        panel = joint.sum(axis=-1)
        before = np.zeros_like(panel)
        np.cumsum(panel[..., :-1], axis=-1, out=before[..., 1:])
        return np.asarray(np.maximum(before[..., None] + within, 0.0))


@dataclass(frozen=True, eq=False)
class _EvidenceSurface:
    """Splines over a grid of scores: the evidence z(s1, s2) under A1 and each reviewer's log density."""

    scores: Array
    evidence: scipy.interpolate.RectBivariateSpline
    log_density: tuple[scipy.interpolate.BSpline, scipy.interpolate.BSpline]
    log_ratio: scipy.interpolate.BSpline  # of the first density to the second
    prior: float

    @staticmethod
    def of(
        first: Reviewer, second: Reviewer, qualities: _QualityPanels, prior: float
    ) -> _EvidenceSurface | None:
        """The surface, or None if no score is likely under both reviewers: then there is nothing to hide."""
        scores = _score_grid(first, second, qualities)
        if scores is None:
            return None
        joints = [qualities.joint(reviewer, scores) for reviewer in (first, second)]
        density = [joint.sum(axis=(1, 2)) for joint in joints]
        first_posterior, second_posterior = (
            joint / f[:, None, None] for joint, f in zip(joints, density, strict=True)
        )
        below = qualities.up_to(second_posterior)
        above = qualities.up_to(second_posterior[:, ::-1, ::-1])[:, ::-1, ::-1]
        flat = first_posterior.reshape(len(scores), -1)
        better, worse = (flat @ part.reshape(len(scores), -1).T for part in (below, above))
        # Phi^-1 of the smaller tail keeps its digits.
        z = np.where(better < worse, ndtri(np.maximum(better, 1e-300)), -ndtri(np.maximum(worse, 1e-300)))
        first_posterior, second_posterior, ratio = (
            scipy.interpolate.make_interp_spline(scores, np.log(f), k=5)
            for f in (*density, density[0] / density[1])
        )
        surface = scipy.interpolate.RectBivariateSpline(scores, scores, z, kx=5, ky=5, s=0)
        return _EvidenceSurface(scores, surface, (first_posterior, second_posterior), ratio, prior)

    @property
    def log_odds(self) -> float:
        """The log odds of A1 before any score is seen."""
        return float(np.log(self.prior) - np.log1p(-self.prior))

    def scores_only(self) -> tuple[float, float]:
        """The adversary's error from the scores alone, and a bound on its numerical error.

        Given s2, the minimum of `p f_1(s1) f_2(s2)` and `(1-p) f_2(s1) f_1(s2)` changes sides where the log
        ratio passes a level; between such points each side integrates to a difference of cdfs.
        """
        low, high = self.scores[0], self.scores[-1]
        fine = np.linspace(0.0, len(self.scores) - 1.0, 20 * len(self.scores))
        fine = np.interp(fine, np.arange(len(self.scores)), self.scores)
        tables = monotone_inverses(self.log_ratio(fine), fine)
        cdfs = [_score_cdf(self.scores, log) for log in self.log_density]

        def given(s2: Array) -> Array:
            level = -self.log_odds + self.log_ratio(s2)
            cuts = [np.full((1, s2.size), end) for end in (low, high)]
            cuts += [np.interp(level, *table)[None] for table in tables]
            points = np.sort(np.concatenate(cuts), axis=0)
            lighter = self.log_ratio(0.5 * (points[1:] + points[:-1])) < level
            ours = self.prior * np.exp(self.log_density[1](s2)) * np.diff(cdfs[0](points), axis=0)
            theirs = (1 - self.prior) * np.exp(self.log_density[0](s2)) * np.diff(cdfs[1](points), axis=0)
            return np.asarray(np.where(lighter, ours, theirs).sum(axis=0))[None]

        whole = integrate(given, _panel_ends(self.scores, _PANELS), 1e-12)
        return float(whole.total[0]), whole.error

    def strip(self, z: float) -> Cumulative:
        """Over y: price * mass and mass at prices up to z's, and the mass beyond the largest threshold."""
        levels = z * np.array([0.0, 0.25, 0.6, 1.0])

        def given(y: Array) -> Array:
            side, widths = self._widths(y, levels)
            x, dx = self._pieces(np.concatenate([widths, self._turns(y, widths[0])]), widths[-1], widths[0])
            z = -side * self.evidence.ev((y + side * x) / 2, (y - side * x) / 2)
            mass = self._mass(x, y) * dx
            parts = [erf(np.maximum(z, 0.0) / _SQRT_2) * mass, mass]
            return np.stack([part.sum(axis=0) for part in (*parts, self._sure(y, widths[-1], levels[-1]))])

        return integrate(given, self._edges(levels), 1e-11)

    def _sure(self, y: Array, width: Array, level: float) -> Array:
        """The mass at price 1, which lies in the middle of the strip."""
        if level < MAX_THRESHOLD or not (width > 0).any():
            return np.zeros((1, y.size))
        inner = width * np.array([0.0, 0.25, 0.5, 0.75, 1.0])[:, None]
        x, dx = self._pieces(np.concatenate([inner, self._turns(y, width)]), np.zeros_like(y), width)
        return self._mass(x, y) * dx

    def _mass(self, x: Array, y: Array) -> Array:
        """min(p u, (1-p) v) at x and at -x together, as a density over (x, y)."""
        plus, minus = (y + x) / 2, (y - x) / 2
        (a, b), (c, d) = ((log(plus), log(minus)) for log in self.log_density)
        u, v = np.exp(a + d), np.exp(b + c)
        p, q = self.prior, 1.0 - self.prior
        return np.asarray(0.5 * (np.minimum(p * u, q * v) + np.minimum(p * v, q * u)))

    def _edges(self, levels: Array) -> Array:
        """Panel ends over y: where the evidence at x = 0 passes a level, or the log ratio turns."""
        diagonal = self.evidence.ev(self.scores, self.scores)
        ends = [_panel_ends(self.scores, _PANELS)]
        for level in {float(sign * value) for value in levels for sign in (1.0, -1.0)}:
            crossings = _brackets(self.scores, diagonal - level)
            ends.append(_find_root(lambda s, at: self.evidence.ev(s, s) - at, *crossings, level))
        slope = self.log_ratio.derivative()
        ends.append(_find_root(slope, *_brackets(self.scores, slope(self.scores))))
        return np.asarray(2.0 * np.concatenate(ends))

    def _widths(self, y: Array, levels: Array) -> tuple[Array, Array]:
        """The side on which A1's evidence turns, and the |x| at which the price is at each level."""
        side = np.where(self.evidence.ev(y / 2, y / 2) < 0, 1.0, -1.0)
        most = np.minimum(y - 2 * self.scores[0], 2 * self.scores[-1] - y)

        def depth(x: Array, level: Array, y: Array, side: Array) -> Array:
            return np.asarray(level + side * self.evidence.ev((y + side * x) / 2, (y - side * x) / 2))

        at = levels[:, None]
        roots = _find_root(depth, np.zeros_like(at * y), most, at, y, side)
        return side, np.where(depth(np.zeros_like(y), at, y, side) < 0, roots, 0.0)

    def _turns(self, y: Array, width: Array) -> Array:
        """The |x| below `width` at which the sides of the minimum are equal, [cuts, rows]; else `width`."""
        samples = np.append(1e-9, np.linspace(0.0, 1.0, 24)[1:])[:, None] * width
        turns = []
        for level in {self.log_odds, -self.log_odds}:

            def gap(x: Array, y: Array, at: float = level) -> Array:
                return np.asarray(self.log_ratio((y + x) / 2) - self.log_ratio((y - x) / 2) - at)

            sign = np.signbit(gap(samples, y))
            change = sign[1:] != sign[:-1]
            for _ in range(2):
                index = np.argmax(change, axis=0)
                rows = np.arange(y.size)
                some = change[index, rows]
                low = np.where(some, samples[index, rows], width)
                high = np.where(some, samples[index + 1, rows], width)
                turns.append(np.where(some, _find_root(gap, low, high, y, tolerance=1e-9), width))
                change[index, rows] = False
        return np.stack(turns)

    def _pieces(self, cuts: Array, low: Array, high: Array) -> tuple[Array, Array]:
        """Nodes and weights [pieces * order, rows] over |x| from `low` to `high`, cut at every kink."""
        points = np.sort(np.clip(cuts, low, high), axis=0)
        nodes, weights = gauss_legendre_unit(_INNER_ORDER)
        width = np.diff(points, axis=0)[:, None]
        x = points[:-1, None] + width * nodes[:, None]
        return x.reshape(-1, low.size), (width * weights[:, None]).reshape(-1, low.size)


def _possible_scores(reviewer: Reviewer) -> Array:
    """Scores over the whole range that the reviewer ever gives, noise included."""
    curve = reviewer.score(np.linspace(-_QUALITY_REACH, _QUALITY_REACH, 600))
    tails = np.linspace(0.0, 9.0, 60)[1:]
    return np.concatenate([curve[0] - reviewer.noise * tails, curve, curve[-1] + reviewer.noise * tails])


def _score_spacing(reviewer: Reviewer, other: Reviewer, score: Array) -> Array:
    """The spacing of scores at which a spline follows the reviewer's posterior, and the other's beside it."""
    t = np.clip(reviewer.quality(score), -_QUALITY_REACH, _QUALITY_REACH)
    width = np.hypot(reviewer.noise, 0.5 * reviewer.derivative(t))
    # Noise alone smooths a kink.
    for kink in reviewer.score(np.concatenate([reviewer.knots, other.knots])):
        width = np.where(np.abs(score - kink) < 8.0 * reviewer.noise, reviewer.noise, width)
    return np.asarray(width / _POINTS_PER_WIDTH)


def _spaced_scores(score: Array, step: Array) -> Array:
    """Points from the first to the last of the sorted scores, `step` apart."""
    count = np.concatenate([[0.0], np.cumsum(np.diff(score) * 0.5 * (1.0 / step[1:] + 1.0 / step[:-1]))])
    if count[-1] > _MAX_POINTS:
        raise InputError(
            f"the noise is too small: scores from {score[0]:.4g} to {score[-1]:.4g} (it would take "
            f"{count[-1]:.0f} points, at most {_MAX_POINTS}): give a larger noise, or 0 for none"
        )
    points = max(int(np.ceil(count[-1])), 60)
    return np.asarray(np.interp(np.linspace(0.0, count[-1], points), count, score))


def _score_grid(first: Reviewer, second: Reviewer, qualities: _QualityPanels) -> Array | None:
    """Scores likely under both reviewers, spaced to resolve each one's density."""
    score = np.unique(np.concatenate([_possible_scores(first), _possible_scores(second)]))
    likely = np.ones(score.shape, dtype=np.bool_)
    for reviewer in (first, second):
        with np.errstate(divide="ignore"):
            log = np.log(qualities.joint(reviewer, score).sum(axis=(1, 2)))
        likely &= log > log.max() + _LOG_NEGLIGIBLE
    if likely.sum() < 2:
        return None
    score = score[likely]
    steps = _score_spacing(first, second, score), _score_spacing(second, first, score)
    return _spaced_scores(score, np.minimum(*steps))


def _curved_least_error(first: Reviewer, second: Reviewer, qualities: _QualityPanels) -> tuple[float, float]:
    """Average error by the evidence under A1, and a bound on its numerical error.

    Given s2, accepting is right if s1 is above the score `turn(s2)` at which both papers are equally likely
    to be better. The rest is an integral over the first paper's quality. An error in `turn` is of second
    order.
    """
    t, center = qualities.nodes.reshape(-1), first.score(qualities.nodes.reshape(-1))
    every = np.unique(_possible_scores(second))
    s2 = _spaced_scores(every, 2.0 * _score_spacing(second, first, every))
    turn = scipy.interpolate.make_interp_spline(s2, _even_score(first, second, qualities, s2), k=5)

    def given(score: Array) -> Array:
        joint = qualities.joint(second, score)
        below = qualities.up_to(joint).reshape(len(score), -1)
        above = joint.sum(axis=(1, 2))[:, None] - below
        rejected = ndtr((turn(score)[:, None] - center) / first.noise)
        wrong = rejected * below + (1.0 - rejected) * above
        return np.asarray(wrong @ qualities.mass.reshape(t.shape))[None]

    whole = integrate(given, _panel_ends(s2, 40), 1e-12)
    return float(whole.total[0]), whole.error


def _even_score(first: Reviewer, second: Reviewer, qualities: _QualityPanels, s2: Array) -> Array:
    """The s1 at which the evidence under A1 is even, by bisection."""
    joint = qualities.joint(second, s2)
    joint /= np.maximum(joint.sum(axis=(1, 2)), 1e-300)[:, None, None]
    chance = qualities.up_to(joint).reshape(len(s2), -1)

    def gap(s1: Array) -> Array:
        log = first.log_likelihood(s1[:, None], qualities.nodes.reshape(-1))
        like = np.exp(log - log.max(axis=1, keepdims=True)) * qualities.mass.reshape(-1)
        return np.asarray((like * (chance - 0.5)).sum(axis=1))

    ends = first.score(np.array([-_QUALITY_REACH, _QUALITY_REACH]))
    ends += 9.0 * float(first.noise) * np.array([-1.0, 1.0])
    below, beyond = np.full(s2.shape, ends[0]), np.full(s2.shape, ends[1])
    for _ in range(28):
        middle = 0.5 * (below + beyond)
        right = gap(middle) > 0
        below, beyond = np.where(right, below, middle), np.where(right, middle, beyond)
    return np.asarray(middle)


def _panel_ends(points: Array, count: int) -> Array:
    """Ends of `count` panels among sorted points."""
    return np.asarray(points[np.unique(np.linspace(0, len(points) - 1, count + 1).round().astype(int))])


def _score_cdf(scores: Array, log_density: scipy.interpolate.BSpline) -> scipy.interpolate.BSpline:
    fine = np.interp(np.linspace(0, len(scores) - 1, 4 * len(scores)), np.arange(len(scores)), scores)
    return scipy.interpolate.make_interp_spline(fine, np.exp(log_density(fine)), k=7).antiderivative()


def _brackets(grid: Array, values: Array) -> tuple[Array, Array]:
    """Neighboring grid points between which the sign changes; 0 up to rounding has no sign."""
    sign = np.signbit(np.where(np.abs(values) < 1e-9, 0.0, values))
    at = np.flatnonzero(sign[1:] != sign[:-1])
    return grid[at], grid[at + 1]


def _find_root(
    function: Callable[..., Array], low: Array, high: Array, *given: object, tolerance: float = 1e-13
) -> Array:
    """A root of `function(x, *given)` between each pair of ends; the upper end if no sign changes."""
    within = {"xatol": tolerance, "xrtol": tolerance}
    found: Any = find_root(function, (low, high), args=given, tolerances=cast(Any, within))
    return np.where(found.success, found.x, high)
