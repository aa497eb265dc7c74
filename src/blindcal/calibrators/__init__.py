"""Reviews (+ Reviewers) -> one quality a paper, by a grid of methods.

One conference or thousands at once: side by side in a `Batch` of flat arrays, then a method's array
function, `<method>_quality(batch, ...) -> (quality, standard_error)`, one entry a paper of the batch:

    batch = Batch(paper, reviewer, score, paper_group, reviewer_group)    # numbered through the batch
    raw_quality(batch)
    standardized_quality(batch)
    maximum_likelihood_quality(batch, slope, offset, noise)               # one a reviewer, or scalars
    posterior_quality(batch, slope, offset, noise)
    offsets_quality(batch)
    hierarchical_quality(batch)                                           # `sweeps=` for a shorter chain

Hyperparameters are estimated for each group alone. The sampled methods draw from a fixed seed inside: the
same batch always gives the same numbers; a conference's move within Monte Carlo error with its batch.
"""

from blindcal.calibrators.batches import Batch
from blindcal.calibrators.crossed import offsets_quality
from blindcal.calibrators.hierarchical import hierarchical_quality
from blindcal.calibrators.known import maximum_likelihood_quality, posterior_quality
from blindcal.calibrators.means import raw_quality, standardized_quality

__all__ = [
    "Batch",
    "hierarchical_quality",
    "maximum_likelihood_quality",
    "offsets_quality",
    "posterior_quality",
    "raw_quality",
    "standardized_quality",
]
