"""Calibrators by the model `score = slope * quality + offset + noise`, quality ~ N(0,1) over papers.

With reviewers known: `maximum_likelihood`, the third method of the paper (Appendix A), and `posterior`. With
nothing known about them, by sampling: `hierarchical`, in which reviewers differ in slope and offset, and
`offsets`, in which they differ in offset alone (crossed random effects); with notes on what the data cannot
show.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from blindcal.calibrators.gibbs import Batch, Fit, fit_batch
from blindcal.calibrators.results import Calibration, Predictor, batch_of
from blindcal.checks import Array, Integers, nonnegative, numbers, positive
from blindcal.compute.mcmc import ess_bulk, ess_tail, rhat
from blindcal.errors import InputError
from blindcal.reviewers.affine import Affine
from blindcal.reviews import Reviews

# Quadrature over quality: its points, how far it goes, and the least width at which each round is placed.
_POINTS, _RANGE, _NARROWEST = 301, 17.0, (0.5, 0.05, 0.005, 5e-4, 5e-5)
CHAINS = 2
KEEP = 800  # joint draws: for predictions and for probabilities of being accepted
HIERARCHICAL_SWEEPS, OFFSET_SWEEPS = 1500, 900
# Chains agree up to this R-hat of any quality. Vehtari and others ask for 1.01 of a single quantity; the
# largest one among the qualities of a conference exceeds that by chance.
CONVERGED = 1.05
_JUDGED = 20  # papers whose qualities are compared: R-hat of all of them would take as long as the chains
_CHUNK = 4096  # scores that are predicted at once


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
    _check_reviewers(reviews, reviewers)
    if reviewers.covariance is not None:
        raise InputError("maximum_likelihood takes slopes and offsets as exactly known: use posterior")
    known = (reviewers.slope, reviewers.offset, reviewers.noise)
    estimate = maximum_likelihood_quality(batch_of(reviews), *known)
    return _by_known_reviewers("maximum_likelihood", reviews, reviewers, *estimate)


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
    _check_reviewers(reviews, reviewers)
    known = (reviewers.slope, reviewers.offset, reviewers.noise, reviewers.covariance)
    return _by_known_reviewers("posterior", reviews, reviewers, *posterior_quality(batch_of(reviews), *known))


def maximum_likelihood_quality(
    batch: Batch, slope: ArrayLike, offset: ArrayLike, noise: ArrayLike
) -> tuple[Array, Array]:
    """Maximum likelihood, `sum a (s-b)/sigma^2 / sum a^2/sigma^2`, and its error `1/sqrt(sum a^2/sigma^2)`.

    With one noise for all, the estimate is the paper's `sum a (s-b) / sum a^2`, also at noise 0.
    """
    information, total, scale = _paper_evidence(batch, *_by_reviewer(batch, slope, offset, noise))
    return total / information, scale / np.sqrt(information)


def posterior_quality(
    batch: Batch, slope: ArrayLike, offset: ArrayLike, noise: ArrayLike, covariance: ArrayLike | None = None
) -> tuple[Array, Array]:
    """Posterior mean `sum a (s-b)/sigma^2 / (1 + sum a^2/sigma^2)` and standard deviation, quality ~ N(0,1).

    `covariance`: of (slope, offset), `[2, 2]` or one for each reviewer; quality is then integrated by
    quadrature.
    """
    a, b, sigma = _by_reviewer(batch, slope, offset, noise)
    if covariance is not None:
        c = np.broadcast_to(numbers("covariance", covariance), (batch.reviewers, 2, 2))
        return _quality_by_quadrature(batch, Affine(a, b, sigma, c))
    information, total, scale = _paper_evidence(batch, a, b, sigma)
    precision = information + scale**2
    return total / precision, scale / np.sqrt(precision)


def _by_reviewer(
    batch: Batch, slope: ArrayLike, offset: ArrayLike, noise: ArrayLike
) -> tuple[Array, Array, Array]:
    """One slope, offset and noise for each reviewer."""
    n = batch.reviewers
    a, b, sigma = positive("slope", slope), numbers("offset", offset), nonnegative("noise", noise)
    return np.broadcast_to(a, n), np.broadcast_to(b, n), np.broadcast_to(sigma, n)


def _paper_evidence(batch: Batch, slope: Array, offset: Array, noise: Array) -> tuple[Array, Array, Array]:
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


def _quality_by_quadrature(batch: Batch, reviewers: Affine) -> tuple[Array, Array]:
    """Moments of the posterior of each quality, each window placed around the last one's moments."""
    if reviewers.certain.any():
        raise InputError("noise or covariance must be above 0 for every reviewer, found both 0")
    parts = (reviewers.slope, reviewers.offset, reviewers.noise, reviewers.covariance)
    rows = Affine(*(part[batch.reviewer] for part in parts if part is not None))
    mean, width = np.zeros(batch.papers), np.full(batch.papers, _RANGE)
    for narrowest in _NARROWEST:
        mean, sd = _posterior_moments(batch, rows, mean, width)
        width = np.maximum(sd, narrowest)
    return mean, sd


def _posterior_moments(batch: Batch, rows: Affine, center: Array, width: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of each posterior, from points `center + width/2 * sinh(u)`, u even.

    Dense within the width, and still out to the end of the range: uncertain slopes have long tails.
    """
    scale = width / 2
    end = np.arcsinh(_RANGE / scale)
    step = np.linspace(-1.0, 1.0, _POINTS)[:, None] * end
    point = scale * np.sinh(step)
    # The log posterior density of each quality, up to a constant.
    logs = [
        batch.per_paper(rows.log_likelihood(batch.score, quality[batch.paper])) - 0.5 * np.square(quality)
        for quality in center + point
    ]
    log = np.stack(logs) + np.log(np.cosh(step))
    weight = np.exp(log - log.max(axis=0))
    weight /= weight.sum(axis=0)
    shift = (point * weight).sum(axis=0)
    return center + shift, np.sqrt((np.square(point - shift) * weight).sum(axis=0))


def _check_reviewers(reviews: Reviews, reviewers: Affine) -> None:
    """Refuse reviewers that are not those of the reviews."""
    if not isinstance(reviewers, Affine):
        raise InputError(f"reviewers must be an Affine, found {type(reviewers).__name__}")
    if reviewers.shape not in {(), (len(reviews.reviewers),)}:
        raise InputError(
            f"reviewers must hold {len(reviews.reviewers)} reviewers, found shape {reviewers.shape}"
        )


def _by_known_reviewers(
    method: str, reviews: Reviews, reviewers: Affine, quality: Array, error: Array
) -> Calibration:
    """The calibration of known reviewers, who also predict scores."""
    n = len(reviews.reviewers)
    a, b = np.broadcast_to(reviewers.slope, n), np.broadcast_to(reviewers.offset, n)

    def predict(paper: Integers, reviewer: Integers) -> Array:
        return a[reviewer] * quality[paper] + b[reviewer]

    return Calibration(method, reviews, quality, error, fitted=reviewers, predictor=predict)


# --- reviewers unknown


def _by_sampling(method: str, reviews: Reviews, *, common_slope: bool, sweeps: int) -> Calibration:
    """The calibration from two chains; refused if nothing can be estimated from these reviews."""
    batch = batch_of(reviews)
    if batch.per_paper().max() < 2:
        raise InputError("no paper has two reviews: quality cannot be separated from noise")
    if np.ptp(batch.score) == 0:
        raise InputError(f"all scores are {batch.score[0]:g}: there is nothing to calibrate")
    fit = fit_batch(batch, common_slope=common_slope, sweeps=sweeps, chains=CHAINS, keep=KEEP)
    return Calibration(
        method,
        reviews,
        fit.quality,
        fit.standard_error,
        _identifiability_notes(reviews, batch) + _convergence_notes(fit),
        fitted=Affine(fit.slope, fit.offset, fit.noise[0], fit.covariance),
        fit=fit,
        predictor=expected_score(fit),
    )


def _identifiability_notes(reviews: Reviews, batch: Batch) -> tuple[str, ...]:
    """What these reviews leave to the model."""
    notes = []
    single = int((batch.per_reviewer() == 1).sum())
    if single == batch.reviewers:
        notes.append("no reviewer has two reviews: a reviewer's strictness cannot be separated from noise")
    elif single:
        notes.append(
            f"{single} of {batch.reviewers} reviewers have one review: little is known of how they score"
        )
    if batch.reviewers < 5:
        notes.append(f"only {batch.reviewers} reviewers: how much reviewers differ is poorly known")
    parts = reviews.components.count
    if parts > 1:
        notes.append(
            f"the reviews fall into {parts} sets without a common reviewer: papers of different sets "
            "are compared by assuming that papers and reviewers of each set are alike"
        )
    return tuple(notes)


def _convergence_notes(fit: Fit) -> tuple[str, ...]:
    """A note if the chains do not agree about the qualities."""
    draws = fit.quality_draws(_JUDGED)
    largest = float(rhat(draws).max())
    # Not `largest <= CONVERGED`: R-hat is nan for chains that are too short to judge.
    if not largest > CONVERGED:
        return ()
    size = min(float(ess_bulk(draws).min()), float(ess_tail(draws).min()))
    return (
        f"two chains do not agree yet (R-hat {largest:.2f}, effective sample size {size:.0f}): "
        "ask for more sweeps",
    )


def expected_score(fit: Fit) -> Predictor:
    """A predictor of scores: the posterior mean of `slope * quality + offset`."""
    quality, slope, offset = fit.draws

    def predict(paper: Integers, reviewer: Integers) -> Array:
        value = np.empty(paper.size)
        for start in range(0, paper.size, _CHUNK):
            i, j = paper[start : start + _CHUNK], reviewer[start : start + _CHUNK]
            value[start : start + _CHUNK] = (slope[:, j] * quality[:, i] + offset[:, j]).mean(axis=0)
        return value

    return predict


def hierarchical(reviews: Reviews, *, sweeps: int = HIERARCHICAL_SWEEPS) -> Calibration:
    """Posterior mean and standard deviation of each quality, with nothing known about the reviewers.

    Slopes (above 0) and offsets are normal over reviewers; the spread of each is learned from these reviews.

    Args:
        reviews: The reviews of one conference.
        sweeps: The length of each of two chains, the first third of which is dropped.

    Returns:
        A calibration whose `fitted` holds each reviewer's slope and offset with their covariance.

    Raises:
        InputError: If no paper has two reviews, or all scores are equal.

    Example:
        A few sweeps are enough to see that ben is more lenient than ada:

        >>> reviewer, score = ["ada"] * 3 + ["ben"] * 3, [3, 2, 1, 6, 5, 4]
        >>> rows = {"paper": list("pqrqrs"), "reviewer": reviewer, "score": score}
        >>> hierarchical(Reviews.from_table(rows), sweeps=30).rank
        array([1, 2, 3, 4])
    """
    return _by_sampling("hierarchical", reviews, common_slope=False, sweeps=sweeps)


def offsets(reviews: Reviews, *, sweeps: int = OFFSET_SWEEPS) -> Calibration:
    """The same as `hierarchical` if reviewers differ in leniency alone: all have one slope.

    Args:
        reviews: The reviews of one conference.
        sweeps: The length of each of two chains, the first third of which is dropped.

    Raises:
        InputError: If no paper has two reviews, or all scores are equal.

    Example:
        >>> rows = {"paper": list("pqpq"), "reviewer": ["ada", "ada", "ben", "ben"], "score": [1, 2, 4, 5]}
        >>> offsets(Reviews.from_table(rows), sweeps=30).rank
        array([2, 1])
    """
    return _by_sampling("offsets", reviews, common_slope=True, sweeps=sweeps)


def hierarchical_quality(batch: Batch, *, sweeps: int = HIERARCHICAL_SWEEPS) -> tuple[Array, Array]:
    """Posterior mean and standard deviation of each quality by the model of `hierarchical`, in one chain."""
    fit = fit_batch(batch, common_slope=False, sweeps=sweeps)
    return fit.quality, fit.standard_error


def offsets_quality(batch: Batch) -> tuple[Array, Array]:
    """Posterior mean and standard deviation of each quality by the model of `offsets`, in one chain."""
    fit = fit_batch(batch, common_slope=True, sweeps=OFFSET_SWEEPS)
    return fit.quality, fit.standard_error
