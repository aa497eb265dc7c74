"""Private calibration of peer review.

    Reviews -> Reviewers -> Belief -> Frontier -> Policy -> Decision (+ sealed Record) -> Audit

One frozen type for each stage, pure functions between them.
"""

from blindcal import calibrators, rankings, simulation, sweeps
from blindcal.assessments import Assessment, assess
from blindcal.audits import Audit, audit, bits, guess, play, posterior, top_k_success
from blindcal.averages import AverageFrontier, AverageRule, average_frontier
from blindcal.beliefs import Belief, pair_belief
from blindcal.budgets import Allocation, Spending, allocate, spend
from blindcal.certificates import Claim, certify, claim
from blindcal.coins import Key, commitment, make_key, read_key, toss
from blindcal.errors import (
    BlindcalError,
    CertificateError,
    InputError,
    Problem,
    RefusedError,
    VerificationError,
)
from blindcal.exact import ExactPolicy
from blindcal.frontiers import Frontier, frontier
from blindcal.guarantees import Guarantee
from blindcal.monotone import Logistic, Monotone, PiecewiseLinear, Power
from blindcal.policies import (
    Limits,
    Policy,
    epsilon_policy,
    evidence_policy,
    proposition_strategy,
    public_policy,
)
from blindcal.posteriors import chance_better, posterior_mean, posterior_tail, posterior_variance
from blindcal.programs import Program, Solution, solve
from blindcal.reviewers import Affine, Reviewer
from blindcal.reviews import Reviews, recognize_grid
from blindcal.rounded import Rounded
from blindcal.safeguards import (
    composed_epsilon,
    composed_success,
    largest_success,
    least_epsilon,
    limit_frontier,
    private_policy,
)
from blindcal.selections import Selection, selection

__version__ = "0.1.0"

__all__ = [
    "Affine",
    "Allocation",
    "Assessment",
    "Audit",
    "AverageFrontier",
    "AverageRule",
    "Belief",
    "BlindcalError",
    "CertificateError",
    "Claim",
    "ExactPolicy",
    "Frontier",
    "Guarantee",
    "InputError",
    "Key",
    "Limits",
    "Logistic",
    "Monotone",
    "PiecewiseLinear",
    "Policy",
    "Power",
    "Problem",
    "Program",
    "RefusedError",
    "Reviewer",
    "Reviews",
    "Rounded",
    "Selection",
    "Solution",
    "Spending",
    "VerificationError",
    "__version__",
    "allocate",
    "assess",
    "audit",
    "average_frontier",
    "bits",
    "calibrators",
    "certify",
    "chance_better",
    "claim",
    "commitment",
    "composed_epsilon",
    "composed_success",
    "epsilon_policy",
    "evidence_policy",
    "frontier",
    "guess",
    "largest_success",
    "least_epsilon",
    "limit_frontier",
    "make_key",
    "pair_belief",
    "play",
    "posterior",
    "posterior_mean",
    "posterior_tail",
    "posterior_variance",
    "private_policy",
    "proposition_strategy",
    "public_policy",
    "rankings",
    "read_key",
    "recognize_grid",
    "selection",
    "simulation",
    "solve",
    "spend",
    "sweeps",
    "top_k_success",
    "toss",
]
