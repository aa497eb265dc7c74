"""Calibration without privacy: reviews to one quality per paper, by six methods.

    raw(reviews)                             mean score
    standardized(reviews)                    each reviewer's scores to mean 0, sd 1, then the mean
    offsets(reviews)                         reviewers differ in leniency, all estimated
    hierarchical(reviews)                    reviewers differ in leniency and slope, all estimated
    maximum_likelihood(reviews, reviewers)   reviewers known
    posterior(reviews, reviewers)            reviewers known (or known with a covariance), quality ~ N(0,1)

Each returns a `Calibration`: `.quality`, `.standard_error`, `.predict`, `.probability_accepted`, ...

Thousands of conferences can be calibrated at once, side by side in a `Batch` of flat arrays. Each method has
an array function `<method>_quality(batch, ...) -> (quality, standard_error)`, one entry per paper; if
reviewers are known, it takes slope, offset and noise, one per reviewer, or scalars:

    batch = Batch(paper, reviewer, score, paper_group, reviewer_group)    # numbered through the batch
    posterior_quality(batch, slope, offset, noise)

Hyperparameters are estimated for each conference alone. The sampled methods use a fixed seed: the same batch
always gives the same numbers, but those of a conference depend on its batch within Monte Carlo error.

In: reviews, and the reviewers if they are known. Out: one quality for each paper, without privacy; and
whether calibrating helps (`assessment`). Open `results` first, which has the shortest calibrators; `gibbs`
has the sampler. Imports: verification and earlier.
"""

from blindcal.calibrators.affine_model import hierarchical, maximum_likelihood, offsets, posterior
from blindcal.calibrators.assessment import Assessment, assess
from blindcal.calibrators.results import Calibration, raw, standardized

METHODS = {method.__name__: method for method in (raw, standardized, offsets, hierarchical)}

__all__ = [
    "METHODS",
    "Assessment",
    "Calibration",
    "assess",
    "hierarchical",
    "maximum_likelihood",
    "offsets",
    "posterior",
    "raw",
    "standardized",
]


def __dir__() -> list[str]:
    return sorted(__all__)
