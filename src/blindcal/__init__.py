"""Private calibration of peer review.

    Reviews -> Reviewers -> Belief -> Frontier -> Policy -> Decision (+ sealed Record) -> Audit

One frozen type for each stage, pure functions between them.
"""

# First of all: an interrupt while the rest loads then ends the command line without a traceback.
from blindcal import startup as startup

# isort: split
from blindcal import calibrators, rankings, simulation, sweeps
from blindcal.assessments import Assessment, assess
from blindcal.audits import Audit, audit, bits, guess, play, posterior, top_k_success
from blindcal.averages import AverageFrontier, AverageRule, average_frontier
from blindcal.beliefs import Belief, pair_belief
from blindcal.budgets import Allocation, Spending, allocate, spend
from blindcal.certificates import Claim, certify, claim
from blindcal.coins import Key, commitment, make_key, read_key, toss
from blindcal.conferences import Conference, PaperCase, prepare, read_reviewers, true_reviewers
from blindcal.decks import Tables
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
from blindcal.menus import Menu, menu
from blindcal.monotone import Logistic, Monotone, PiecewiseLinear, Power
from blindcal.plans import plan_conference
from blindcal.policies import (
    Limits,
    Policy,
    epsilon_policy,
    evidence_policy,
    proposition_strategy,
    public_policy,
)
from blindcal.pools import read_pools
from blindcal.posteriors import chance_better, posterior_mean, posterior_tail, posterior_variance
from blindcal.programs import Program, Solution, solve
from blindcal.records import Ledger, Record, open_ledger, publish
from blindcal.releases import Outcome, decide
from blindcal.requests import Request
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
from blindcal.verification import verify

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
    "Conference",
    "ExactPolicy",
    "Frontier",
    "Guarantee",
    "InputError",
    "Key",
    "Ledger",
    "Limits",
    "Logistic",
    "Menu",
    "Monotone",
    "Outcome",
    "PaperCase",
    "PiecewiseLinear",
    "Policy",
    "Power",
    "Problem",
    "Program",
    "Record",
    "RefusedError",
    "Request",
    "Reviewer",
    "Reviews",
    "Rounded",
    "Selection",
    "Solution",
    "Spending",
    "Tables",
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
    "decide",
    "epsilon_policy",
    "evidence_policy",
    "frontier",
    "guess",
    "largest_success",
    "least_epsilon",
    "limit_frontier",
    "make_key",
    "menu",
    "open_ledger",
    "pair_belief",
    "plan_conference",
    "play",
    "posterior",
    "posterior_mean",
    "posterior_tail",
    "posterior_variance",
    "prepare",
    "private_policy",
    "proposition_strategy",
    "public_policy",
    "publish",
    "rankings",
    "read_key",
    "read_pools",
    "read_reviewers",
    "recognize_grid",
    "selection",
    "simulation",
    "solve",
    "spend",
    "sweeps",
    "top_k_success",
    "toss",
    "true_reviewers",
    "verify",
]
