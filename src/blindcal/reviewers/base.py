"""The `Reviewer` interface: how a paper's quality becomes a score, and the likelihood of a score.

Given quality t the score is Gaussian around `score(t)` with standard deviation `spread(t)`, unless a subclass
overrides `log_likelihood`, and with it `log_ceiling`, `reach` and `resolved`. Such noise is for `pair_belief`
and `quality_posterior`: only Gaussian noise can be `Rounded` or go into `average_frontier`, and the reviewers
of a conference (`posterior.paper`, reviewers.csv) are affine. Qualities are N(0, 1).
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blindcal.checks import Array, numbers
from blindcal.errors import InputError
from blindcal.reviewers.quadrature import LOG_SQRT_2PI, Rows, log_evidence

Booleans = NDArray[np.bool_]

# Noise smaller than this, relative to the score, is lost in rounding before it can be integrated over.
_RESOLVABLE = 1e-13
# The grid, a 64th apart, on which curves and spreads are tabulated. Qualities are N(0, 1): none beyond 64
# ever occurs, and scores 60 standard deviations out stay inside.
QUALITIES = np.linspace(-64.0, 64.0, 8193)


class Reviewer(ABC):
    """An increasing curve `score(quality)` with noise around it.

    Subclasses give the curve, its inverse and its derivative; likelihood and marginal follow from them. A
    subclass may also have a `spread` of its own: above 0, and smooth at the scale of a 64th of quality (or
    with `knots` where it is not). The noise is Gaussian unless a subclass overrides `log_likelihood`, and
    with it `log_ceiling` (no log likelihood is above it), `reach` (the qualities beyond which nothing counts)
    and `resolved` (False: panels of integrals are halved until they agree).

    Attributes:
        noise: Standard deviation of the noise; 0: the score fixes the quality.
    """

    noise: Array

    @abstractmethod
    def score(self, quality: ArrayLike) -> Array:
        """The score without noise; increasing in quality."""

    @abstractmethod
    def quality(self, score: ArrayLike) -> Array:
        """The quality whose score without noise is `score`; infinite beyond the range of the curve."""

    @abstractmethod
    def derivative(self, quality: ArrayLike) -> Array:
        """The derivative d score / d quality."""

    def center(self, quality: ArrayLike) -> Array:
        """The score without noise and before any rounding."""
        return self.score(quality)

    def spread(self, quality: ArrayLike) -> Array:
        """Standard deviation of the score given the quality."""
        return np.broadcast_to(self.noise, np.broadcast_shapes(self.noise.shape, np.shape(quality)))

    @property
    def homoscedastic(self) -> bool:
        """Whether the spread is `noise` at every quality: true unless a subclass has a spread of its own."""
        return type(self).spread is Reviewer.spread

    @property
    def gaussian(self) -> bool:
        """Whether the noise is Gaussian: true unless a subclass has a `log_likelihood` of its own."""
        return type(self).log_likelihood is Reviewer.log_likelihood

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the parameters: () for one reviewer, the pool's shape for a pool."""
        return ()

    @property
    def certain(self) -> Booleans:
        """Whether a score fixes the quality: no noise of any kind."""
        return np.asarray(self._spreads()[1] == 0.0)

    def log_likelihood(self, score: ArrayLike, quality: ArrayLike) -> Array:
        """Log density of `score` given `quality`, `log N(score; score(quality), spread(quality)^2)`.

        Without noise there is no such density: the score fixes the quality, and it is refused.
        """
        if self.certain.any():
            raise InputError(
                "log_likelihood needs noise above 0, found 0: without noise a score fixes the quality"
            )
        s, spread = numbers("score", score), self.spread(quality)
        deviation = (s - self.score(quality)) / spread
        return np.asarray(-0.5 * np.square(deviation) - np.log(spread) - LOG_SQRT_2PI)

    def log_marginal(self, score: ArrayLike) -> Array:
        """Log density of `score` with quality ~ N(0, 1); minus infinity if no quality gives it.

        Without noise it is `phi(t) / score'(t)` at `t = quality(score)`, else the integral over qualities.
        """
        s = numbers("score", score)
        if not self.certain.all():
            return log_evidence((self,), s[..., None])
        t = self.quality(s)
        inside = np.isfinite(t)
        with np.errstate(divide="ignore"):
            log_slope = np.log(self.derivative(np.where(inside, t, 0.0)))
        density = -0.5 * np.square(np.where(inside, t, 0.0)) - LOG_SQRT_2PI - log_slope
        return np.where(inside, density, -np.inf)

    # For the quadrature: where the likelihood lives and what the panels must resolve.

    @property
    def curved(self) -> bool:
        """Whether points evenly spaced in score differ from points evenly spaced in quality."""
        return True

    @property
    def resolved(self) -> bool:
        """Whether the knots say all about curve and spread; otherwise panels are halved until they agree."""
        return self.homoscedastic

    @property
    def knots(self) -> Array:
        """Qualities where the curve is not smooth."""
        return np.empty(0)

    def edges(self, score: Array) -> Array:
        """The scores at which the likelihood turns: the score itself, or the ends of its grid cell.

        [..., k], rising along the last axis.
        """
        return score[..., None]

    def reach(self, score: Array, deviations: Array) -> tuple[Array, Array]:
        """The qualities outside which the score is more than that many deviations off.

        There the log likelihood is below `log_ceiling` by at least `deviations`^2 / 2. Heavy tails need a
        wider `reach` of their own.
        """
        least, most = self._spreads()
        unseen = (least > 0.0) & (least < _RESOLVABLE * np.abs(score))
        if unseen.any():
            smallest = np.broadcast_to(least, unseen.shape)[unseen].min()
            raise InputError(f"noise must be 0 or be seen in the digits of the scores, found {smallest:g}")
        edge, width = self.edges(score), most * deviations
        return self.quality(edge[..., 0] - width), self.quality(edge[..., -1] + width)

    def log_ceiling(self) -> Array:
        """No log likelihood is above this."""
        return np.asarray(-np.log(self._spreads()[0]) - LOG_SQRT_2PI)

    def _spreads(self) -> tuple[Array, Array]:
        """The least and the greatest spread over all qualities, each of the parameters' shape."""
        if self.homoscedastic:
            return self.noise, self.noise
        t = QUALITIES.reshape(-1, *(1 for _ in self.shape))
        spreads = np.broadcast_to(numbers("spread", self.spread(t)), (QUALITIES.size, *self.shape))
        least, most = spreads.min(axis=0), spreads.max(axis=0)
        if ((least <= 0.0) & (most > 0.0)).any():
            raise InputError(f"spread must be above 0 at every quality or at none, found {least.min():g}")
        return least, most

    def column(self, shape: tuple[int, ...], rows: Rows) -> Reviewer:
        """This reviewer with its parameters broadcast to `shape`, flattened, and these rows as a column."""
        return self


class DerivedReviewer(Reviewer):
    """A reviewer made from another one, who answers for all that a subclass does not change."""

    reviewer: Reviewer

    @property
    def homoscedastic(self) -> bool:
        return self.reviewer.homoscedastic

    @property
    def gaussian(self) -> bool:
        return self.reviewer.gaussian

    @property
    def shape(self) -> tuple[int, ...]:
        return self.reviewer.shape

    @property
    def certain(self) -> Booleans:
        return self.reviewer.certain

    @property
    def resolved(self) -> bool:
        return self.reviewer.resolved

    @property
    def knots(self) -> Array:
        return self.reviewer.knots

    def edges(self, score: Array) -> Array:
        return self.reviewer.edges(score)

    def log_ceiling(self) -> Array:
        return self.reviewer.log_ceiling()


# --- Whether a reviewer of a new kind keeps the rules on which the integrals rely.

_CHECKED, _STEP = np.linspace(-4.0, 4.0, 65), 1e-5
_FAR_CHECKED = np.linspace(-30.0, 30.0, 1921)  # N(0, 1) has probability 1e-197 beyond the last of these


def check_reviewer(reviewer: Reviewer) -> None:
    """Refuse a reviewer that breaks the rules of `Reviewer`, naming every broken rule.

    The curve must rise, `quality` must be its inverse and `derivative` its slope. If the scores of the curve
    end somewhere, noise leads beyond the end: `quality` must be infinite there. With noise, the likelihood
    of a score must integrate to 1 over all scores; no log likelihood may be above `log_ceiling`, and outside
    `reach` it must be as far below as `reach` says.

    Args:
        reviewer: A single reviewer of a new kind, not a pool.

    Raises:
        InputError: Names every broken rule.

    Example:
        >>> from blindcal import Affine
        >>> check_reviewer(Affine(1.2, 0.3, noise=0.5))
    """
    broken = [rule for rule, kept in _reviewer_rules(reviewer).items() if not kept]
    if broken:
        raise InputError(f"{type(reviewer).__name__}: {'; '.join(broken)}")


def _reviewer_rules(reviewer: Reviewer) -> dict[str, bool]:
    """Every rule, and whether the reviewer keeps it."""
    score = reviewer.score(_CHECKED)
    scale = float(np.ptp(score))
    slope = (reviewer.score(_CHECKED + _STEP) - reviewer.score(_CHECKED - _STEP)) / (2 * _STEP)
    smooth = ~np.isin(np.round(_CHECKED, 9), np.round(reviewer.knots, 9))
    back, stated = reviewer.quality(score), reviewer.derivative(_CHECKED)[smooth]
    rules = {
        "score must rise with quality": bool((np.diff(score) > 0.0).all()),
        "quality must be the inverse of score": np.allclose(back, _CHECKED, atol=1e-6, rtol=0),
        "quality must be infinite for scores beyond the ends of the curve": _knows_its_ends(reviewer, scale),
        "derivative must be the slope of score": np.allclose(
            stated, slope[smooth], atol=1e-4 * scale, rtol=1e-4
        ),
    }
    if reviewer.certain.any():
        return rules
    likely, ceiling = reviewer.log_likelihood(score[:, None], _CHECKED), reviewer.log_ceiling()
    return rules | {
        "the likelihood must integrate to 1 over all scores": _integrates_to_one(reviewer),
        "log_likelihood must never be above log_ceiling": bool((likely <= ceiling + 1e-9).all()),
        "reach must leave out only what is deviations^2 / 2 below log_ceiling": _reach_is_wide(reviewer),
    }


def _knows_its_ends(reviewer: Reviewer, scale: float) -> bool:
    """Whether scores below and above those of all qualities have qualities below and above all of them."""
    with np.errstate(all="ignore"):
        ends = reviewer.score(_FAR_CHECKED[[0, -1]])
        beyond = reviewer.quality(ends + scale * np.array([-1.0, 1.0]))
    # A curve that rises past floating-point numbers has no score beyond its ends.
    return bool(
        (~np.isfinite(ends) | (np.sign(beyond) * beyond >= _FAR_CHECKED[-1])).all() and beyond[0] < beyond[1]
    )


def _integrates_to_one(reviewer: Reviewer) -> bool:
    """By trapezoids of a fortieth of a deviation, forty deviations to either side."""
    steps = np.arange(-1600, 1601) / 40.0
    for quality in (-1.5, 0.0, 0.8):
        spread = float(reviewer.spread(np.array(quality)))
        scores = float(reviewer.score(np.array(quality))) + spread * steps
        density = np.exp(reviewer.log_likelihood(scores, np.array(quality)))
        if abs(float(density.sum()) * spread / 40.0 - 1.0) > 0.01:
            return False
    return True


def _reach_is_wide(reviewer: Reviewer) -> bool:
    """For scores at and beyond the ends of the usual range, and as far out as integrals ever look."""
    score = reviewer.score(_CHECKED[::16])[:, None]
    for deviations in (2.0, 8.0, 30.0):
        low, high = reviewer.reach(score, np.array(deviations))
        outside = (low > _FAR_CHECKED) | (high < _FAR_CHECKED)
        log_likelihood = reviewer.log_likelihood(score, _FAR_CHECKED)
        if (log_likelihood[outside] > reviewer.log_ceiling() - 0.5 * deviations**2 + 1e-9).any():
            return False
    return True
