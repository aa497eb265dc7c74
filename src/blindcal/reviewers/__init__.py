"""How a reviewer turns a paper's quality into a score, and what a score says about the quality.

In: slope, offset and noise, or another curve. Out: likelihoods, and moments and tails of the
quality given scores. Open `base` (the `Reviewer` interface) first, then `affine`. Imports: checks
and earlier.
"""

from typing import TYPE_CHECKING

from blindcal.lazy_names import lazy_names

if TYPE_CHECKING:
    from blindcal.reviewers.affine import Affine as Affine
    from blindcal.reviewers.base import Reviewer as Reviewer
    from blindcal.reviewers.base import check_reviewer as check_reviewer
    from blindcal.reviewers.curves import Logistic as Logistic
    from blindcal.reviewers.curves import Monotone as Monotone
    from blindcal.reviewers.curves import PiecewiseLinear as PiecewiseLinear
    from blindcal.reviewers.curves import Power as Power
    from blindcal.reviewers.quality_posterior import Shaped as Shaped
    from blindcal.reviewers.quality_posterior import chance_better as chance_better
    from blindcal.reviewers.quality_posterior import posterior_mean as posterior_mean
    from blindcal.reviewers.quality_posterior import posterior_tail as posterior_tail
    from blindcal.reviewers.quality_posterior import standard_quality as standard_quality
    from blindcal.reviewers.rounded import Rounded as Rounded
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__)
