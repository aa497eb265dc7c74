"""Private calibration of peer review.

    Reviews -> Reviewers -> Candidates -> Belief -> Policy -> Plan -> Release -> Verification -> Report

One frozen type for each stage, pure functions between them. The names below follow that order;
everything else is in its package, which loads when first used: `bc.reviewers`, `bc.fitting`, `bc.assignment`,
`bc.posterior`, `bc.policy`, `bc.certify`, `bc.planning`, `bc.deciding`, `bc.sharing`, `bc.adversaries`,
`bc.calibrators`, `bc.simulation`, `bc.paper` for the paper's own items under their own numbers, and
`bc.benchmark` to measure a mechanism of your own.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from blindcal.adversaries.single_paper import audit as audit
    from blindcal.adversaries.single_paper import play as play
    from blindcal.calibrators.assessment import assess as assess
    from blindcal.deciding.key_and_coins import make_key as make_key
    from blindcal.deciding.release import Outcome as Outcome
    from blindcal.deciding.release import decide as decide
    from blindcal.deciding.release import select as select
    from blindcal.errors import BlindcalError as BlindcalError
    from blindcal.errors import CertificateError as CertificateError
    from blindcal.errors import InputError as InputError
    from blindcal.errors import RefusedError as RefusedError
    from blindcal.errors import VerificationError as VerificationError
    from blindcal.fitting.estimate import Fitted as Fitted
    from blindcal.fitting.estimate import fit as fit
    from blindcal.planning.conference_plan import Plan as Plan
    from blindcal.planning.conference_plan import plan as plan
    from blindcal.planning.request import Request as Request
    from blindcal.policy.guarantee import Guarantee as Guarantee
    from blindcal.policy.pareto_frontier import frontier as frontier
    from blindcal.policy.policy import Policy as Policy
    from blindcal.policy.solver import private_policy as private_policy
    from blindcal.posterior.belief import Belief as Belief
    from blindcal.posterior.belief import pair_belief as pair_belief
    from blindcal.posterior.inputs import Inputs as Inputs
    from blindcal.posterior.inputs import read_inputs as read_inputs
    from blindcal.private_sharing import share as share
    from blindcal.reviewers.affine import Affine as Affine
    from blindcal.reviewers.base import Reviewer as Reviewer
    from blindcal.reviewers.rounded import Rounded as Rounded
    from blindcal.reviews import Reviews as Reviews
    from blindcal.verification import Verification as Verification
    from blindcal.verification import verify as verify

__version__ = "0.2.0"

# Where each public name is defined; in the order of the line of data.
_EXPORTS = {
    name: module
    for module, names in {
        "reviews": "Reviews",
        "reviewers.base": "Reviewer",
        "reviewers.affine": "Affine",
        "reviewers.rounded": "Rounded",
        "fitting.estimate": "Fitted fit",
        "posterior.belief": "Belief pair_belief",
        "posterior.inputs": "Inputs read_inputs",
        "policy.guarantee": "Guarantee",
        "policy.policy": "Policy",
        "policy.pareto_frontier": "frontier",
        "policy.solver": "private_policy",
        "planning.request": "Request",
        "planning.conference_plan": "Plan plan",
        "deciding.key_and_coins": "make_key",
        "deciding.release": "decide select Outcome",
        "private_sharing": "share",
        "adversaries.single_paper": "audit play",
        "verification": "Verification verify",
        "calibrators.assessment": "assess",
        "errors": "BlindcalError InputError RefusedError CertificateError VerificationError",
    }.items()
    for name in names.split()
}
_PACKAGES = (
    *("errors", "io", "compute", "reviews", "reviewers", "fitting", "assignment", "posterior", "policy"),
    *("certify", "planning", "deciding", "private_sharing", "adversaries", "verification", "calibrators"),
    *("simulation", "paper", "benchmark", "importers", "exporters", "report", "project", "app"),
)

__all__ = ["__version__", *_EXPORTS, *_PACKAGES]


def __getattr__(name: str) -> Any:
    """A public name, from the module that defines it; or a package."""
    if name in _EXPORTS:
        value = getattr(import_module(f"blindcal.{_EXPORTS[name]}"), name)
    elif name in _PACKAGES:
        value = import_module(f"blindcal.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
