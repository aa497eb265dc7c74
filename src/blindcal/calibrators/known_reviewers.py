"""Qualities if the reviewers are known: maximum likelihood, and the posterior under the N(0,1) prior.

Maximum likelihood is the third method of the paper (Appendix A).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from blindcal.calibrators.gibbs import Batch
from blindcal.calibrators.results import Calibration, batch_of
from blindcal.checks import Array, nonnegative, numbers, positive
from blindcal.errors import InputError
from blindcal.reviewers.affine import Affine
from blindcal.reviews import Reviews

# Quadrature over quality: its points, how far it goes, and the least width at which each round is placed.
_POINTS, _RANGE, _NARROWEST = 301, 17.0, (0.5, 0.05, 0.005, 5e-4, 5e-5)


def maximum_likelihood(reviews: Reviews, reviewers: Affine) -> Calibration:
    """The likeliest quality of each paper, reviewers known.

    Args:
        reviews: The reviews of one conference.
        reviewers: In the order of `reviews.reviewers`, or one for all; without a covariance.

    Raises:
        InputError: If the reviewers have a covariance, or are not as many as reviewed.

    Example:
        >>> rows = {"paper": ["p", "p"], "reviewer": ["ada", "ben"], "score": [5.0, 3.0]}
        >>> maximum_likelihood(Reviews.from_table(rows), Affine([2.0, 1.0], [1.0, 0.0], noise=1.0)).quality
        array([2.2])
    """
    _fits(reviews, reviewers)
    if reviewers.covariance is not None:
        raise InputError("maximum_likelihood takes slopes and offsets as exactly known: use posterior")
    quality, error = maximum_likelihood_quality(
        batch_of(reviews), reviewers.slope, reviewers.offset, reviewers.noise
    )
    return _calibration("maximum_likelihood", reviews, reviewers, quality, error)


def posterior(reviews: Reviews, reviewers: Affine) -> Calibration:
    """Posterior mean and standard deviation of each quality ~ N(0,1), reviewers known.

    Args:
        reviews: The reviews of one conference.
        reviewers: In the order of `reviews.reviewers`, or one for all. With a covariance, slopes and offsets
            are known only up to it.

    Raises:
        InputError: If the reviewers are not as many as reviewed.

    Example:
        >>> rows = {"paper": ["p", "p"], "reviewer": ["ada", "ben"], "score": [5.0, 3.0]}
        >>> posterior(Reviews.from_table(rows), Affine([2.0, 1.0], [1.0, 0.0], noise=1.0)).quality
        array([1.83333333])
    """
    _fits(reviews, reviewers)
    quality, error = posterior_quality(
        batch_of(reviews), reviewers.slope, reviewers.offset, reviewers.noise, reviewers.covariance
    )
    return _calibration("posterior", reviews, reviewers, quality, error)


def maximum_likelihood_quality(
    batch: Batch, slope: ArrayLike, offset: ArrayLike, noise: ArrayLike
) -> tuple[Array, Array]:
    """Maximum likelihood, `sum a (s-b)/sigma^2 / sum a^2/sigma^2`, and its error `1/sqrt(sum a^2/sigma^2)`.

    With one noise for all, the estimate is the paper's `sum a (s-b) / sum a^2`, also at noise 0.
    """
    information, total, scale = _evidence(batch, *_parameters(batch, slope, offset, noise))
    return total / information, scale / np.sqrt(information)


def posterior_quality(
    batch: Batch, slope: ArrayLike, offset: ArrayLike, noise: ArrayLike, covariance: ArrayLike | None = None
) -> tuple[Array, Array]:
    """Posterior mean `sum a (s-b)/sigma^2 / (1 + sum a^2/sigma^2)` and standard deviation, quality ~ N(0,1).

    `covariance`: of (slope, offset), `[2, 2]` or one for each reviewer; quality is then integrated by
    quadrature.
    """
    a, b, sigma = _parameters(batch, slope, offset, noise)
    if covariance is not None:
        c = np.broadcast_to(numbers("covariance", covariance), (batch.reviewers, 2, 2))
        return _uncertain(batch, Affine(a, b, sigma, c))
    information, total, scale = _evidence(batch, a, b, sigma)
    precision = information + scale**2
    return total / precision, scale / np.sqrt(precision)


def _parameters(
    batch: Batch, slope: ArrayLike, offset: ArrayLike, noise: ArrayLike
) -> tuple[Array, Array, Array]:
    """One slope, offset and noise for each reviewer."""
    n = batch.reviewers
    a, b, sigma = positive("slope", slope), numbers("offset", offset), nonnegative("noise", noise)
    return np.broadcast_to(a, n), np.broadcast_to(b, n), np.broadcast_to(sigma, n)


def _evidence(batch: Batch, slope: Array, offset: Array, noise: Array) -> tuple[Array, Array, Array]:
    """`sum a^2 w`, `sum a (s-b) w` and the noise that `w = 1` stands for, for each paper."""
    # The reference noise of each group, so that one noise for all leaves weights of exactly 1 (and may be 0).
    largest = np.zeros(batch.groups)
    np.maximum.at(largest, batch.reviewer_group, noise)
    reference = largest[batch.reviewer_group]
    mixed = noise != reference
    if (mixed & (noise == 0)).any():
        raise InputError("noise must be above 0 for every reviewer, or 0 for all of them")
    weight = np.where(mixed, (reference / np.where(mixed, noise, 1.0)) ** 2, 1.0)[batch.reviewer]
    a, b = slope[batch.reviewer], offset[batch.reviewer]
    total = batch.per_paper(a * (batch.score - b) * weight)
    return batch.per_paper(a * a * weight), total, largest[batch.paper_group]


def _uncertain(batch: Batch, reviewers: Affine) -> tuple[Array, Array]:
    """Moments of the posterior of each quality, each window placed around the last one's moments."""
    if reviewers.certain.any():
        raise InputError("noise or covariance must be above 0 for every reviewer, found both 0")
    covariance = None if reviewers.covariance is None else reviewers.covariance[batch.reviewer]
    slope, offset, noise = (p[batch.reviewer] for p in (reviewers.slope, reviewers.offset, reviewers.noise))
    rows = Affine(slope, offset, noise, covariance)
    mean, width = np.zeros(batch.papers), np.full(batch.papers, _RANGE)
    for narrowest in _NARROWEST:
        mean, sd = _moments(batch, rows, mean, width)
        width = np.maximum(sd, narrowest)
    return mean, sd


def _moments(batch: Batch, rows: Affine, center: Array, width: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of each posterior, from points `center + width/2 * sinh(u)`, u even.

    Dense within the width, and still out to the end of the range: uncertain slopes have long tails.
    """
    scale = width / 2
    end = np.arcsinh(_RANGE / scale)
    step = np.linspace(-1.0, 1.0, _POINTS)[:, None] * end
    point = scale * np.sinh(step)
    log = np.stack([_log_posterior(batch, rows, center + t) for t in point]) + np.log(np.cosh(step))
    weight = np.exp(log - log.max(axis=0))
    weight /= weight.sum(axis=0)
    shift = (point * weight).sum(axis=0)
    return center + shift, np.sqrt((np.square(point - shift) * weight).sum(axis=0))


def _log_posterior(batch: Batch, rows: Affine, quality: Array) -> Array:
    """The log posterior density of each quality, up to a constant."""
    likelihood = batch.per_paper(rows.log_likelihood(batch.score, quality[batch.paper]))
    return np.asarray(likelihood - 0.5 * np.square(quality))


def _fits(reviews: Reviews, reviewers: Affine) -> None:
    """Refuse reviewers that are not those of the reviews."""
    if not isinstance(reviewers, Affine):
        raise InputError(f"reviewers must be an Affine, found {type(reviewers).__name__}")
    if reviewers.shape not in {(), (len(reviews.reviewers),)}:
        raise InputError(
            f"reviewers must hold {len(reviews.reviewers)} reviewers, found shape {reviewers.shape}"
        )


def _calibration(
    method: str, reviews: Reviews, reviewers: Affine, quality: Array, error: Array
) -> Calibration:
    """The calibration of known reviewers, who also predict scores."""
    n = len(reviews.reviewers)
    a, b = np.broadcast_to(reviewers.slope, n), np.broadcast_to(reviewers.offset, n)
    return Calibration(
        method,
        reviews,
        quality,
        error,
        fitted=reviewers,
        predictor=lambda paper, reviewer: a[reviewer] * quality[paper] + b[reviewer],
    )
