"""Known reviewers: maximum likelihood (the paper's third method) and the posterior under the N(0,1) prior."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from blindcal.calibrators.batches import Batch
from blindcal.checks import Array, nonnegative, numbers, positive
from blindcal.errors import InputError


def maximum_likelihood_quality(
    batch: Batch, slope: ArrayLike, offset: ArrayLike, noise: ArrayLike
) -> tuple[Array, Array]:
    """Maximum likelihood, `sum a (s-b)/sigma^2 / sum a^2/sigma^2`, and its error `1/sqrt(sum a^2/sigma^2)`.

    Parameters: one for each reviewer, or scalars. With one noise for all, the estimate is the paper's
    `sum a (s-b) / sum a^2`, also at noise 0.

    >>> two = Batch([0, 0], [0, 1], [5.0, 3.0])
    >>> maximum_likelihood_quality(two, slope=[2.0, 1.0], offset=[1.0, 0.0], noise=1.0)
    (array([2.2]), array([0.4472136]))
    """
    information, total, scale = _evidence(batch, slope, offset, noise)
    return total / information, scale / np.sqrt(information)


def posterior_quality(
    batch: Batch, slope: ArrayLike, offset: ArrayLike, noise: ArrayLike
) -> tuple[Array, Array]:
    """Posterior mean `sum a (s-b)/sigma^2 / (1 + sum a^2/sigma^2)` and standard deviation, quality ~ N(0,1).

    >>> posterior_quality(Batch([0, 0], [0, 1], [5.0, 3.0]), slope=[2.0, 1.0], offset=[1.0, 0.0], noise=1.0)
    (array([1.83333333]), array([0.40824829]))
    """
    information, total, scale = _evidence(batch, slope, offset, noise)
    precision = information + scale**2
    return total / precision, scale / np.sqrt(precision)


def _evidence(
    batch: Batch, slope: ArrayLike, offset: ArrayLike, noise: ArrayLike
) -> tuple[Array, Array, Array]:
    """`sum a^2 w`, `sum a (s-b) w` and the noise that `w = 1` stands for."""
    a = np.broadcast_to(positive("slope", slope), batch.reviewers)[batch.reviewer]
    b = np.broadcast_to(numbers("offset", offset), batch.reviewers)[batch.reviewer]
    sigma = np.broadcast_to(nonnegative("noise", noise), batch.reviewers)
    # The reference noise of each group, so that one noise for all leaves weights of exactly 1 (and may be 0).
    largest = np.zeros(batch.groups)
    np.maximum.at(largest, batch.reviewer_group, sigma)
    reference = largest[batch.reviewer_group]
    mixed = sigma != reference
    if (mixed & (sigma == 0)).any():
        raise InputError("noise must be above 0 for every reviewer, or 0 for all of them")
    weight = np.where(mixed, (reference / np.where(mixed, sigma, 1.0)) ** 2, 1.0)[batch.reviewer]
    scale: Array = largest[batch.paper_group]
    return batch.per_paper(a * a * weight), batch.per_paper(a * (batch.score - b) * weight), scale
