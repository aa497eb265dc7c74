"""Private calibration of peer review.

    Reviews -> Reviewers -> Belief -> Frontier -> Policy -> Decision (+ sealed Record) -> Audit

One frozen type for each stage, pure functions between them.
"""

from blindcal.beliefs import Belief
from blindcal.errors import (
    BlindcalError,
    CertificateError,
    InputError,
    Problem,
    RefusedError,
    VerificationError,
)
from blindcal.policies import Limits

__version__ = "0.1.0"

__all__ = [
    "Belief",
    "BlindcalError",
    "CertificateError",
    "InputError",
    "Limits",
    "Problem",
    "RefusedError",
    "VerificationError",
    "__version__",
]
