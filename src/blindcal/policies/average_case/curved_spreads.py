"""The spread for two noisy reviewers that are not both affine.

The evidence `z(s1, s2) = Phi^-1(favor under A1)` is tabulated on a grid of scores by one matrix product of
posteriors, and read off a quintic spline; under A2 it is `-z(s2, s1)`. Everything is then integrated in
`x = s1 - s2` and `y = s1 + s2`: at each y the assignments disagree on `|x| < X(y)`, and the price
`erf(z / sqrt 2)` falls from the middle to the edges. Gauss-Legendre panels end at every kink.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy
from scipy.special import erf, ndtr, ndtri

from blindcal.checks import Array
from blindcal.errors import InputError
from blindcal.policies.average_case.exact_spreads import monotone_inverses
from blindcal.policies.average_case.spreads import CEILING, Spread
from blindcal.reviewers.integrals import Cumulative, centered, integrate, panels, rule, up_to_nodes
from blindcal.reviewers.protocol import Reviewer

_REACH = 7.0  # qualities beyond this have probability 3e-12
_FINENESS = 10.0  # grid points to one local width of a score's density
_MOST_POINTS = 1500
_MOST_PANELS = 700
_ORDER = 16
_INNER = 12
_PANELS = 10
_FAINT = -46.0  # log: scores this much less likely than the likeliest are left out
_ROOT_TWO = np.sqrt(2.0)


def curved_spread(first: Reviewer, second: Reviewer, prior: float) -> Spread:
    """The spread of two noisy reviewers with any increasing curves."""
    qualities = _Qualities.of(first, second)
    least, least_bound = _least_error(first, second, qualities)
    surface = _Surface.of(first, second, qualities, prior)
    if surface is None:
        return Spread(least, 0.0, 0.0, lambda z: (0.0, 0.0), least_bound)
    whole = surface.strip(CEILING)
    spent, gained, tied = (float(part) for part in whole.total)
    total, total_bound = surface.scores_only()

    @cache
    def spent_gained(z: float) -> tuple[float, float]:
        if z >= CEILING:
            return spent, gained
        part = surface.strip(z).total
        return float(part[0]), float(part[1])

    agree = max(0.0, total - gained - tied)
    return Spread(least, agree, tied, spent_gained, whole.error + least_bound + total_bound + 1e-9)


@dataclass(frozen=True, eq=False)
class _Qualities:
    """Gauss-Legendre panels over quality that resolve the prior and both likelihoods."""

    nodes: Array  # [panels, order]
    mass: Array  # phi(t) dt at each node
    width: Array  # [panels]

    @staticmethod
    def of(first: Reviewer, second: Reviewer) -> _Qualities:
        ends = [np.linspace(-_REACH, _REACH, 18)]
        for reviewer in (first, second):
            low, high = reviewer.score(np.array([-_REACH, _REACH]))
            count = int(np.ceil((high - low) / (2.5 * float(reviewer.noise)))) + 1
            if count > _MOST_PANELS:
                raise InputError(
                    f"the noise is too small: {float(reviewer.noise):g} against scores from {low:.4g} to "
                    f"{high:.4g}; give a larger noise, or 0 for none"
                )
            ends += [reviewer.quality(np.linspace(low, high, count)), reviewer.knots]
        edges = np.concatenate(ends)
        edges = np.unique(edges[np.abs(edges) <= _REACH])
        t, weight = panels(edges, _ORDER)
        return _Qualities(t, np.exp(-0.5 * t * t) / np.sqrt(2.0 * np.pi) * weight, np.diff(edges))

    def joint(self, reviewer: Reviewer, score: Array) -> Array:
        """P(quality at node, score) for each score: `[scores, panels, order]`."""
        t = self.nodes.reshape(-1)
        log = reviewer.log_likelihood(score[:, None], t)
        return np.asarray(np.exp(log).reshape(len(score), *self.nodes.shape) * self.mass)

    def up_to(self, joint: Array) -> Array:
        """The mass of lower qualities than each node, for `joint` of the same shape."""
        within = joint @ (up_to_nodes(_ORDER) / centered(_ORDER)[1]).T
        panel = joint.sum(axis=-1)
        before = np.cumsum(panel, axis=-1) - panel
        return np.asarray(np.maximum(before[..., None] + within, 0.0))


@dataclass(frozen=True, eq=False)
class _Surface:
    """Splines over a grid of scores: the evidence z(s1, s2) under A1 and each reviewer's log density."""

    scores: Array
    evidence: scipy.interpolate.RectBivariateSpline
    log_density: tuple[scipy.interpolate.BSpline, scipy.interpolate.BSpline]
    log_ratio: scipy.interpolate.BSpline  # of the first density to the second
    prior: float

    @staticmethod
    def of(first: Reviewer, second: Reviewer, qualities: _Qualities, prior: float) -> _Surface | None:
        """None where no score is likely under both reviewers: then there is nothing to hide."""
        scores = _score_grid(first, second, qualities)
        if scores is None:
            return None
        joints = [qualities.joint(reviewer, scores) for reviewer in (first, second)]
        density = [joint.sum(axis=(1, 2)) for joint in joints]
        one, two = (joint / f[:, None, None] for joint, f in zip(joints, density, strict=True))
        below, above = qualities.up_to(two), qualities.up_to(two[:, ::-1, ::-1])[:, ::-1, ::-1]
        flat = one.reshape(len(scores), -1)
        better, worse = (flat @ part.reshape(len(scores), -1).T for part in (below, above))
        z = np.where(better < worse, ndtri(np.maximum(better, 1e-300)), -ndtri(np.maximum(worse, 1e-300)))
        one, two, ratio = (
            scipy.interpolate.make_interp_spline(scores, np.log(f), k=5)
            for f in (*density, density[0] / density[1])
        )
        surface = scipy.interpolate.RectBivariateSpline(scores, scores, z, kx=5, ky=5, s=0)
        return _Surface(scores, surface, (one, two), ratio, prior)

    @property
    def log_odds(self) -> float:
        return float(np.log(self.prior) - np.log1p(-self.prior))

    def scores_only(self) -> tuple[float, float]:
        """Error of the adversary from the scores alone, and its stated error.

        Given s2 the minimum of `p f_1(s1) f_2(s2)` and `(1-p) f_2(s1) f_1(s2)` changes sides where the log
        ratio passes a level; between such points each side integrates to a difference of cdfs.
        """
        low, high = self.scores[0], self.scores[-1]
        fine = np.linspace(0.0, len(self.scores) - 1.0, 20 * len(self.scores))
        fine = np.interp(fine, np.arange(len(self.scores)), self.scores)
        tables = monotone_inverses(self.log_ratio(fine), fine)
        cdfs = [_antiderivative(self.scores, log) for log in self.log_density]

        def given(s2: Array) -> Array:
            level = -self.log_odds + self.log_ratio(s2)
            cuts = [np.full((1, s2.size), end) for end in (low, high)]
            cuts += [np.interp(level, *table)[None] for table in tables]
            points = np.sort(np.concatenate(cuts), axis=0)
            lighter = self.log_ratio(0.5 * (points[1:] + points[:-1])) < level
            ours = self.prior * np.exp(self.log_density[1](s2)) * np.diff(cdfs[0](points), axis=0)
            theirs = (1 - self.prior) * np.exp(self.log_density[0](s2)) * np.diff(cdfs[1](points), axis=0)
            return np.asarray(np.where(lighter, ours, theirs).sum(axis=0))[None]

        whole = integrate(given, _thin(self.scores, _PANELS), 1e-12)
        return float(whole.total[0]), whole.error

    def strip(self, z: float) -> Cumulative:
        """Over y: price * mass and mass at prices up to z's, and the mass beyond if z is the ceiling."""
        levels = z * np.array([0.0, 0.25, 0.6, 1.0])

        def given(y: Array) -> Array:
            side, widths = self._widths(y, levels)
            x, dx = self._pieces(np.concatenate([widths, self._turns(y, widths[0])]), widths[-1], widths[0])
            z = -side * self.evidence.ev((y + side * x) / 2, (y - side * x) / 2)
            mass = self._mass(x, y) * dx
            parts = [erf(np.maximum(z, 0.0) / _ROOT_TWO) * mass, mass]
            return np.stack([part.sum(axis=0) for part in (*parts, self._sure(y, widths[-1], levels[-1]))])

        return integrate(given, self._edges(levels), 1e-11)

    def _sure(self, y: Array, width: Array, level: float) -> Array:
        if level < CEILING or not (width > 0).any():
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
        ends = [_thin(self.scores, _PANELS)]
        for level in {float(sign * value) for value in levels for sign in (1.0, -1.0)}:

            def above(s: Array, at: float = level) -> Array:
                return np.asarray(self.evidence.ev(s, s) - at)

            ends.append(_root(above, *_brackets(self.scores, diagonal - level)))
        slope = self.log_ratio.derivative()
        ends.append(_root(slope, *_brackets(self.scores, slope(self.scores))))
        return np.asarray(2.0 * np.concatenate(ends))

    def _widths(self, y: Array, levels: Array) -> tuple[Array, Array]:
        """The side on which A1's evidence turns, and the |x| at which the price is at each level."""
        side = np.where(self.evidence.ev(y / 2, y / 2) < 0, 1.0, -1.0)
        most = np.minimum(y - 2 * self.scores[0], 2 * self.scores[-1] - y)

        def depth(x: Array, level: Array) -> Array:
            return np.asarray(level + side * self.evidence.ev((y + side * x) / 2, (y - side * x) / 2))

        at, start = levels[:, None], np.zeros((levels.size, y.size))
        found = _root(lambda x: depth(x, at), start, np.broadcast_to(most, start.shape))
        return side, np.where(depth(start, at) < 0, found, 0.0)

    def _turns(self, y: Array, width: Array) -> Array:
        """|x| below `width` where the sides of the minimum are equal, [cuts, rows]; `width` where none is."""
        samples = np.append(1e-9, np.linspace(0.0, 1.0, 24)[1:])[:, None] * width
        found = []
        for level in {self.log_odds, -self.log_odds}:

            def gap(x: Array, at: float = level) -> Array:
                return np.asarray(self.log_ratio((y + x) / 2) - self.log_ratio((y - x) / 2) - at)

            sign = np.signbit(gap(samples))
            change = sign[1:] != sign[:-1]
            for _ in range(2):
                index = np.argmax(change, axis=0)
                rows = np.arange(y.size)
                some = change[index, rows]
                low = np.where(some, samples[index, rows], width)
                high = np.where(some, samples[index + 1, rows], width)
                found.append(np.where(some, _root(gap, low, high, 1e-9), width))
                change[index, rows] = False
        return np.stack(found)

    def _pieces(self, cuts: Array, low: Array, high: Array) -> tuple[Array, Array]:
        """Nodes and weights [pieces * order, rows] over |x| from `low` to `high`, cut at every kink."""
        points = np.sort(np.clip(cuts, low, high), axis=0)
        nodes, weights = rule(_INNER)
        width = np.diff(points, axis=0)[:, None]
        x = points[:-1, None] + width * nodes[:, None]
        return x.reshape(-1, low.size), (width * weights[:, None]).reshape(-1, low.size)


def _candidates(reviewer: Reviewer) -> Array:
    """Scores over all that the reviewer ever gives, noise included."""
    curve, tails = reviewer.score(np.linspace(-_REACH, _REACH, 600)), np.linspace(0.0, 9.0, 60)[1:]
    return np.concatenate([curve[0] - reviewer.noise * tails, curve, curve[-1] + reviewer.noise * tails])


def _step(reviewer: Reviewer, score: Array) -> Array:
    """How far apart scores may lie if a spline is to follow what the reviewer means by them."""
    t = np.clip(reviewer.quality(score), -_REACH, _REACH)
    return np.asarray(np.hypot(reviewer.noise, 0.5 * reviewer.derivative(t)) / _FINENESS)


def _spaced(score: Array, step: Array) -> Array:
    """Points from the first to the last of the sorted scores, `step` apart."""
    count = np.concatenate([[0.0], np.cumsum(np.diff(score) * 0.5 * (1.0 / step[1:] + 1.0 / step[:-1]))])
    if count[-1] > _MOST_POINTS:
        raise InputError(
            f"the noise is too small: scores from {score[0]:.4g} to {score[-1]:.4g} (it would take "
            f"{count[-1]:.0f} points, at most {_MOST_POINTS}): give a larger noise, or 0 for none"
        )
    points = max(int(np.ceil(count[-1])), 60)
    return np.asarray(np.interp(np.linspace(0.0, count[-1], points), count, score))


def _score_grid(first: Reviewer, second: Reviewer, qualities: _Qualities) -> Array | None:
    """Scores likely under both reviewers, spaced to resolve each one's density."""
    score = np.unique(np.concatenate([_candidates(first), _candidates(second)]))
    likely = np.ones(score.shape, dtype=np.bool_)
    for reviewer in (first, second):
        with np.errstate(divide="ignore"):
            log = np.log(qualities.joint(reviewer, score).sum(axis=(1, 2)))
        likely &= log > log.max() + _FAINT
    if likely.sum() < 2:
        return None
    score = score[likely]
    return _spaced(score, np.minimum(_step(first, score), _step(second, score)))


def _least_error(first: Reviewer, second: Reviewer, qualities: _Qualities) -> tuple[float, float]:
    """Average error by the evidence under A1, and its stated error.

    Given s2, accept where s1 is above the score `turn(s2)` at which both papers are equally likely the
    better one; the rest is an integral over the first paper's quality. An error in `turn` is of second order.
    """
    t, center = qualities.nodes.reshape(-1), first.score(qualities.nodes.reshape(-1))
    every = np.unique(_candidates(second))
    s2 = _spaced(every, 2.0 * _step(second, every))
    turn = scipy.interpolate.make_interp_spline(s2, _turn(first, second, qualities, s2), k=5)

    def given(score: Array) -> Array:
        joint = qualities.joint(second, score)
        below = qualities.up_to(joint).reshape(len(score), -1)
        above = joint.sum(axis=(1, 2))[:, None] - below
        rejected = ndtr((turn(score)[:, None] - center) / first.noise)
        wrong = rejected * below + (1.0 - rejected) * above
        return np.asarray(wrong @ qualities.mass.reshape(t.shape))[None]

    whole = integrate(given, _thin(s2, 40), 1e-12)
    return float(whole.total[0]), whole.error


def _turn(first: Reviewer, second: Reviewer, qualities: _Qualities, s2: Array) -> Array:
    """The s1 at which the evidence under A1 is even, by bisection."""
    joint = qualities.joint(second, s2)
    joint /= np.maximum(joint.sum(axis=(1, 2)), 1e-300)[:, None, None]
    chance = qualities.up_to(joint).reshape(len(s2), -1)

    def gap(s1: Array) -> Array:
        log = first.log_likelihood(s1[:, None], qualities.nodes.reshape(-1))
        like = np.exp(log - log.max(axis=1, keepdims=True)) * qualities.mass.reshape(-1)
        return np.asarray((like * (chance - 0.5)).sum(axis=1))

    low, high = first.score(np.array([-_REACH, _REACH])) + 9.0 * float(first.noise) * np.array([-1.0, 1.0])
    below, beyond = np.full(s2.shape, low), np.full(s2.shape, high)
    for _ in range(28):
        middle = 0.5 * (below + beyond)
        right = gap(middle) > 0
        below, beyond = np.where(right, below, middle), np.where(right, middle, beyond)
    return np.asarray(middle)


def _thin(points: Array, count: int) -> Array:
    """`count` panels' ends among sorted points."""
    return np.asarray(points[np.unique(np.linspace(0, len(points) - 1, count + 1).round().astype(int))])


def _antiderivative(scores: Array, log_density: scipy.interpolate.BSpline) -> scipy.interpolate.BSpline:
    fine = np.interp(np.linspace(0, len(scores) - 1, 4 * len(scores)), np.arange(len(scores)), scores)
    return scipy.interpolate.make_interp_spline(fine, np.exp(log_density(fine)), k=7).antiderivative()


def _brackets(grid: Array, values: Array) -> tuple[Array, Array]:
    """Neighboring grid points between which the sign changes; what is 0 to rounding has no sign."""
    sign = np.signbit(np.where(np.abs(values) < 1e-9, 0.0, values))
    at = np.flatnonzero(sign[1:] != sign[:-1])
    return grid[at], grid[at + 1]


def _root(
    function: Callable[[Array], Array], low: Array, high: Array, tolerance: float = 1e-13, most: int = 60
) -> Array:
    """A root between each pair of ends, the upper end where the sign does not change (Illinois rule)."""
    at_low, at_high = function(low), function(high)
    inside = np.signbit(at_low) != np.signbit(at_high)
    low = np.where(inside, low, high)
    for step in range(most):
        gap = np.where(at_high == at_low, 1.0, at_high - at_low)
        middle = np.where(inside, high - at_high * (high - low) / gap, high)
        if step % 4 == 3:
            middle = 0.5 * (low + high)
        value = function(middle)
        crossed = np.signbit(value) != np.signbit(at_high)
        low, at_low = np.where(crossed, high, low), np.where(crossed, at_high, 0.5 * at_low)
        if np.abs(middle - high).max(initial=0.0) <= tolerance * max(1.0, np.abs(middle).max(initial=0.0)):
            return np.asarray(middle)
        high, at_high = middle, value
    return np.asarray(high)
