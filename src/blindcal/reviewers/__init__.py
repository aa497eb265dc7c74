"""A paper's quality -> the score that someone gives it, and back: affine, curved, rounded reviewers.

In: parameters of a reviewer or of a whole pool. Out: likelihoods of scores, and what scores say about
quality, which is N(0, 1) or by `Shaped` another distribution. A new kind of reviewer derives from `Reviewer`
(protocol), lives here in a module of its own and is named below; `check_reviewer` says whether it keeps the
rules, and `_KINDS` of `cli.arguments` gives it to the command line. Imports: files and below.
"""

from blindcal.reviewers.affine import Affine
from blindcal.reviewers.checking import check_reviewer
from blindcal.reviewers.curves import Logistic, Monotone, PiecewiseLinear, Power
from blindcal.reviewers.distributions import Shaped, standard_quality
from blindcal.reviewers.protocol import Reviewer
from blindcal.reviewers.quality import chance_better, posterior_mean, posterior_tail, posterior_variance
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
