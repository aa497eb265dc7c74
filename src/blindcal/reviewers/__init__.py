"""How a reviewer turns a paper's quality into a score, and what a score says about the quality.

In: slope, offset and noise, or another curve. Out: likelihoods, and moments and tails of the
quality given scores. Open `base` (the `Reviewer` interface) first, then `affine`. Imports: checks
and earlier.
"""

from blindcal.reviewers.affine import Affine
from blindcal.reviewers.base import Reviewer, check_reviewer
from blindcal.reviewers.curves import Logistic, Monotone, PiecewiseLinear, Power
from blindcal.reviewers.quality_posterior import (
    Shaped,
    chance_better,
    posterior_mean,
    posterior_tail,
    posterior_variance,
    standard_quality,
)
from blindcal.reviewers.rounded import Rounded

__all__ = [
    "Affine",
    "Logistic",
    "Monotone",
    "PiecewiseLinear",
    "Power",
    "Reviewer",
    "Rounded",
    "Shaped",
    "chance_better",
    "check_reviewer",
    "posterior_mean",
    "posterior_tail",
    "posterior_variance",
    "standard_quality",
]
