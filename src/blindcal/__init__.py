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
from blindcal.frontiers import Frontier, frontier
from blindcal.policies import (
    Limits,
    Policy,
    epsilon_policy,
    evidence_policy,
    proposition_strategy,
    public_policy,
)
from blindcal.programs import Program, Solution, solve

__version__ = "0.1.0"

__all__ = [
    "Belief",
    "BlindcalError",
    "CertificateError",
    "Frontier",
    "InputError",
    "Limits",
    "Policy",
    "Problem",
    "Program",
    "RefusedError",
    "Solution",
    "VerificationError",
    "__version__",
    "epsilon_policy",
    "evidence_policy",
    "frontier",
    "proposition_strategy",
    "public_policy",
    "solve",
]
