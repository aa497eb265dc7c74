"""The spread for two reviewers without noise: any increasing curves, every price 1.

In qualities: reviewer 1 read paper 1 as t1, reviewer 2 read paper 2 as t2, and under the other assignment
the same scores mean `cross(t1)` and `cross^-1(t2)`, with `cross = quality_2(score_1(.))`. The assignments
disagree where t2 lies between t1 and cross(cross(t1)). Given t1 the mass is

    integral of min(p phi(t1) phi(t2), (1-p) c1(t1) c2(t2)) dt2,   c1 = Phi(cross)', c2 = Phi(cross^-1)'

and both sides have closed integrals in t2, so only the points where they cross are searched.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.special import ndtr

from blindcal.checks import Array
from blindcal.policies.average_case.spreads import Spread
from blindcal.reviewers.integrals import integrate
from blindcal.reviewers.protocol import Reviewer

_REACH = 9.5
_POINTS = 6001
_FLAT = 1e-11  # a log ratio that moves less than this between two points does not turn there
_TOLERANCE = 1e-12


def exact_spread(first: Reviewer, second: Reviewer, prior: float) -> Spread:
    """The spread of two reviewers without noise; all of it is tied at price 1."""
    pair = _Crossed(first, second, prior)
    masses = integrate(pair.masses, pair.edges(), _TOLERANCE)
    disagree, total = (float(part) for part in masses.total)
    return Spread(
        least_error=0.0,
        agree_error=max(0.0, total - disagree),
        tied=disagree,
        spent_gained=lambda z: (0.0, 0.0),
        error=masses.error + 1e-9,  # the searched points, even where a density is infinite
    )


@dataclass(frozen=True, eq=False)
class _Crossed:
    first: Reviewer
    second: Reviewer
    prior: float

    def cross(self, t: Array) -> Array:
        """What reviewer 2 means by the score that reviewer 1 gives to quality t."""
        return _kept(self.second.quality(self.first.score(t)))

    def back(self, t: Array) -> Array:
        """What reviewer 1 means by the score that reviewer 2 gives to quality t."""
        return _kept(self.first.quality(self.second.score(t)))

    def log_ratio(self, reader: Reviewer, writer: Reviewer, t: Array) -> Array:
        """log of (density of a score if `writer` wrote it) / (if `reader` did), where `reader` reads t."""
        score = reader.score(t)
        # Kept finite: a density may be infinite at a cusp of the other curve, or 0 beyond its range.
        return np.clip(writer.log_marginal(score) - reader.log_marginal(score), -1e4, 600.0)

    def edges(self) -> Array:
        """Ends of the range, knots of either curve, and where both reviewers agree exactly."""
        grid = np.linspace(-_REACH, _REACH, _POINTS)
        gap = self.cross(grid) - grid
        turn = np.flatnonzero(gap[1:] * gap[:-1] < 0)
        equal = grid[turn] - gap[turn] * (grid[turn + 1] - grid[turn]) / (gap[turn + 1] - gap[turn])
        knots = np.concatenate([self.first.knots, self.back(self.second.knots)])
        inner = np.concatenate([np.linspace(-_REACH, _REACH, 14), equal, knots, self.back(grid[[0, -1]])])
        return np.asarray(inner[np.abs(inner) <= _REACH])

    def masses(self, t1: Array) -> Array:
        """Given t1: the mass where the assignments disagree, and the whole mass. [2, k]"""
        scale = np.exp(-0.5 * np.square(t1)) / np.sqrt(2.0 * np.pi)
        ours = self.prior * scale
        theirs = (1.0 - self.prior) * scale * np.exp(self.log_ratio(self.first, self.second, t1))
        with np.errstate(divide="ignore"):
            level = np.log(ours) - np.log(theirs)
        cuts = self._cuts(level)
        ends = np.stack([t1, self.cross(self.cross(t1))])
        disagree = self._between(np.clip(cuts, ends.min(axis=0), ends.max(axis=0)), ours, theirs)
        return np.stack([disagree, self._between(cuts, ours, theirs)])

    def _between(self, cuts: Array, ours: Array, theirs: Array) -> Array:
        """Integral of min(ours*phi, theirs*c2) over t2 from the least to the greatest cut."""
        points = np.sort(cuts, axis=0)
        own, crossed = np.diff(ndtr(points), axis=0), np.diff(ndtr(self.back(points)), axis=0)
        return np.asarray(np.minimum(ours * own, theirs * crossed).sum(axis=0))

    def _cuts(self, level: Array) -> Array:
        """Points [cuts, k] between which the same side of the minimum is the smaller one."""
        fixed = np.concatenate([[-_REACH, _REACH], self._knots])
        found = [np.broadcast_to(np.clip(fixed, -_REACH, _REACH)[:, None], (fixed.size, level.size))]
        return np.concatenate([*found, *(np.interp(level, f, t2)[None] for f, t2 in self._inverses)])

    @property
    def _knots(self) -> Array:
        """The t2 at which either curve is not smooth."""
        return np.concatenate([self.second.knots, self.cross(self.first.knots)])

    @cached_property
    def _inverses(self) -> list[tuple[Array, Array]]:
        """Tables of (log ratio, t2), one for each run over which the ratio is monotone.

        Even in what either reviewer means by the score, so that neither density is missed, and close
        around knots, where a density may be infinite. A root off by d changes the integral by order d^2
        only, for both sides of the minimum are equal there.
        """
        even = np.linspace(-_REACH, _REACH, _POINTS)
        near = np.geomspace(1e-12, 1.0, 200)
        around = [knot + side * near for knot in self._knots for side in (-1.0, 1.0)]
        both = np.concatenate([even, self.cross(even), *around])
        t2 = np.unique(both[np.abs(both) <= _REACH])
        return monotone_inverses(self.log_ratio(self.second, self.first, t2), t2)


def monotone_inverses(values: Array, points: Array) -> list[tuple[Array, Array]]:
    """Tables (values, points), rising in value, one for each run over which `values` only rises or falls.

    >>> monotone_inverses(np.array([0.0, 2.0, 1.0]), np.array([5.0, 6.0, 7.0]))
    [(array([0., 2.]), array([5., 6.])), (array([1., 2.]), array([7., 6.]))]
    """
    step = np.diff(values)
    moving = np.flatnonzero(np.abs(step) > _FLAT)
    turns = moving[1:][np.sign(step[moving[1:]]) != np.sign(step[moving[:-1]])]
    bounds = [0, *(int(turn) for turn in turns), values.size - 1] if moving.size else []
    runs = [slice(low, high + 1) for low, high in pairwise(bounds)]
    return [
        (values[run], points[run])
        if values[run][0] < values[run][-1]
        else (values[run][::-1], points[run][::-1])
        for run in runs
    ]


def _kept(t: Array) -> Array:
    """Infinite qualities (beyond the curve) as ones no paper has."""
    return np.clip(t, -64.0, 64.0)
