"""Privacy loss of one review: limits, noise, composition, and a lower bound on what stays unknown.

Two tables are neighbors if they differ in the reviewer of one review. Papers and scores are public. Discrete
noise is drawn by OpenDP, in this module only. OpenDP takes no seed, so the drawn sums are recorded.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from math import expm1, isfinite, log, sqrt
from typing import Any

import numpy as np
import scipy
from scipy.special import ndtr

from blindcal.checks import Array, Integers
from blindcal.errors import InputError
from blindcal.fitting.shared_sums import POINTS

# Moving a review moves its points: this many of them leave one row, and as many come to another.
SENSITIVITY_1 = 2 * POINTS
# Squared; the most where a review's points are all above or all below.
SENSITIVITY_2_SQUARED = 2 * POINTS**2
_LEAST_LIMIT, _MOST_LIMIT = 0.01, 100.0


@dataclass(frozen=True)
class LossLimit:
    """A limit on the privacy loss of one review, from 0.01 to 100.

    Attributes:
        epsilon: Pure differential privacy.
        zcdp: The rho of zero-concentrated differential privacy; exactly one of the two is given.

    Example:
        >>> LossLimit(epsilon=1.0).scale, LossLimit(zcdp=0.5).scale
        (200.0, 141.4213562373095)
    """

    epsilon: float | None = None
    zcdp: float | None = None

    def __post_init__(self) -> None:
        given = [value for value in (self.epsilon, self.zcdp) if value is not None]
        if len(given) != 1:
            raise InputError("give either `epsilon` or `zcdp`")
        if not (isfinite(given[0]) and _LEAST_LIMIT <= given[0] <= _MOST_LIMIT):
            raise InputError(
                f"`epsilon` or `zcdp` must be from {_LEAST_LIMIT:g} to {_MOST_LIMIT:g}, found {given[0]:g}"
            )

    @property
    def pure(self) -> bool:
        """Whether the limit is an epsilon."""
        return self.epsilon is not None

    @property
    def scale(self) -> float:
        """Of the discrete Laplace noise, or of the discrete Gaussian one, on each number."""
        if self.epsilon is not None:
            return SENSITIVITY_1 / self.epsilon
        return sqrt(SENSITIVITY_2_SQUARED / (2.0 * self._rho))

    @property
    def variance(self) -> float:
        """Of the noise. That of the discrete Gaussian is its scale squared, less than 1e-9 of it off here.

        >>> round(LossLimit(epsilon=1.0).variance, 2), round(LossLimit(zcdp=0.5).variance, 2)
        (79999.83, 20000.0)
        """
        if not self.pure:
            return self.scale**2
        back = -expm1(-1.0 / self.scale)
        return 2.0 * (1.0 - back) / back**2

    @property
    def _rho(self) -> float:
        return self.zcdp if self.zcdp is not None else 0.5 * (self.epsilon or 0.0) ** 2


@dataclass(frozen=True)
class TotalLoss:
    """What releases about the same reviews add up to: `epsilon` where each was pure, and `zcdp` always."""

    epsilon: float | None
    zcdp: float

    def epsilon_at(self, delta: float) -> float:
        """An epsilon that holds but for `delta`."""
        mixed = self.zcdp + 2.0 * sqrt(self.zcdp * log(1.0 / delta))
        return mixed if self.epsilon is None else min(mixed, self.epsilon)


def compose(limits: Iterable[LossLimit]) -> TotalLoss:
    """Losses add up, whatever was released first."""
    each = list(limits)
    pure = [limit.epsilon for limit in each if limit.epsilon is not None]
    epsilon = sum(pure) if len(pure) == len(each) else None
    return TotalLoss(epsilon, sum(limit._rho for limit in each))


def unlearned(epsilon: float, reviews: int, offset_sd: float, review_sd: float) -> float:
    """A lower bound on the share of an offset's variance that stays unknown within `epsilon`.

    Without a limit, `review_sd^2 / (review_sd^2 + reviews offset_sd^2)` stays unknown. Within it, let the
    size b of an offset be known and its sign not. If p and q are the probabilities of what is seen under b
    and -b, the best estimate errs by `b^2 (1 - D)` with `D = sum (p - q)^2 / 2(p + q)`. To lead from one to
    the other, K reviews are exchanged for others, two reviewers changed for each: then
    `|p - q| / (p + q) <= tanh(K epsilon)` and `D <= tanh(K epsilon)^2`. K can be binomial, its chance the
    total variation of one review, and D is convex in (p, q), so that D is at most the mean over K.

    Args:
        epsilon: Pure privacy loss of one review.
        reviews: Number of reviews of the reviewer; the difference of each is N(offset, review_sd^2).
        offset_sd: Standard deviation of offsets, which are N(0, offset_sd^2).
        review_sd: Standard deviation of one review.

    Example:
        >>> [round(unlearned(epsilon, 5, 0.35, 0.65), 2) for epsilon in (0.1, 0.25, 0.5, 1.0)]
        [0.91, 0.61, 0.41, 0.41]
    """
    size, weight = _half_normal(offset_sd)
    one = 2.0 * ndtr(size / review_sd) - 1.0
    exchanged = np.arange(reviews + 1)
    seen = scipy.stats.binom.pmf(exchanged, reviews, one[:, None]) @ np.tanh(exchanged * epsilon) ** 2
    private = float(weight @ (size**2 * (1.0 - seen))) / offset_sd**2
    return max(private, review_sd**2 / (review_sd**2 + reviews * offset_sd**2))


def _half_normal(sd: float, points: int = 80) -> tuple[Array, Array]:
    """Sizes of a normal value with their weights: Gauss-Hermite, by symmetry on one side."""
    node, weight = np.polynomial.hermite_e.hermegauss(2 * points)
    above = node > 0.0
    return np.asarray(sd * node[above]), np.asarray(weight[above] / weight[above].sum())


# OpenDP states the loss of what it draws, rounded upward: so little more is a matter of floats.
_ROUNDING = 1e-9


def add_noise(sums: Integers, limit: LossLimit) -> Integers:
    """Adds independent noise to each number; refused if OpenDP's own account exceeds the limit."""
    prelude = _opendp()
    domain = prelude.vector_domain(prelude.atom_domain(T="i64"))
    if limit.pure:
        measure = prelude.m.make_laplace(domain, prelude.l1_distance(T="i64"), scale=limit.scale)
        loss, most = measure.map(SENSITIVITY_1), limit.epsilon
    else:
        measure = prelude.m.make_gaussian(domain, prelude.l2_distance(T="f64"), scale=limit.scale)
        loss, most = measure.map(SENSITIVITY_2_SQUARED**0.5), limit.zcdp
    if most is None or loss > most * (1.0 + _ROUNDING):
        raise InputError("the noise must keep the limit by OpenDP's own account, and does not")
    return np.array(measure(sums.ravel().tolist()), dtype=np.int64).reshape(sums.shape)


def _opendp() -> Any:
    try:
        prelude = importlib.import_module("opendp.prelude")
    except ImportError:
        raise InputError("sharing needs OpenDP: pip install 'blindcal[share]'") from None
    # Its measurements are not all vetted by its own process yet, and it asks users to know that.
    prelude.enable_features("contrib")
    return prelude
