"""Private calibration of peer review.

    Reviews -> Reviewers -> Pools -> Belief -> Policy -> Plan -> Decision (+ sealed Record) -> Audit

One frozen type for each stage, pure functions between them. The names below are in the order of that line;
everything else is in its subpackage, which loads when it is first used: `bc.reviewers`, `bc.fitting`,
`bc.assignments`, `bc.beliefs`, `bc.policies`, `bc.plans`, `bc.decisions`, `bc.sharing`, `bc.audits`,
`bc.calibrators`, `bc.simulations`, `bc.paper` for the paper's own items under their own numbers, and
`bc.mechanisms` for where a new mechanism lies.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from blindcal.audits.adversaries import audit as audit
    from blindcal.audits.adversaries import play as play
    from blindcal.audits.verifying import Verification as Verification
    from blindcal.audits.verifying import verify as verify
    from blindcal.beliefs.belief import Belief as Belief
    from blindcal.beliefs.inputs import Inputs as Inputs
    from blindcal.beliefs.inputs import read_inputs as read_inputs
    from blindcal.beliefs.pairs import pair_belief as pair_belief
    from blindcal.calibrators.assessments import assess as assess
    from blindcal.decisions.coins import make_key as make_key
    from blindcal.decisions.deciding import decide as decide
    from blindcal.decisions.releases import Outcome as Outcome
    from blindcal.decisions.selecting import select as select
    from blindcal.errors import BlindcalError as BlindcalError
    from blindcal.errors import CertificateError as CertificateError
    from blindcal.errors import InputError as InputError
    from blindcal.errors import RefusedError as RefusedError
    from blindcal.errors import VerificationError as VerificationError
    from blindcal.fitting.estimates import Fitted as Fitted
    from blindcal.fitting.estimates import fit as fit
    from blindcal.plans.plans import Plan as Plan
    from blindcal.plans.plans import plan as plan
    from blindcal.plans.requests import Request as Request
    from blindcal.policies.frontiers import frontier as frontier
    from blindcal.policies.guarantees import Guarantee as Guarantee
    from blindcal.policies.policy import Policy as Policy
    from blindcal.policies.solvers import private_policy as private_policy
    from blindcal.reviewers.affine import Affine as Affine
    from blindcal.reviewers.protocol import Reviewer as Reviewer
    from blindcal.reviewers.rounded import Rounded as Rounded
    from blindcal.reviews import Reviews as Reviews
    from blindcal.sharing.shares import share as share

__version__ = "0.1.0"

_ROOMS = {
    "Reviews": "reviews",
    "Reviewer": "reviewers.protocol",
    "Affine": "reviewers.affine",
    "Rounded": "reviewers.rounded",
    "Fitted": "fitting.estimates",
    "fit": "fitting.estimates",
    "Belief": "beliefs.belief",
    "pair_belief": "beliefs.pairs",
    "Inputs": "beliefs.inputs",
    "read_inputs": "beliefs.inputs",
    "Guarantee": "policies.guarantees",
    "Policy": "policies.policy",
    "frontier": "policies.frontiers",
    "private_policy": "policies.solvers",
    "Request": "plans.requests",
    "Plan": "plans.plans",
    "plan": "plans.plans",
    "make_key": "decisions.coins",
    "decide": "decisions.deciding",
    "select": "decisions.selecting",
    "Outcome": "decisions.releases",
    "share": "sharing.shares",
    "audit": "audits.adversaries",
    "play": "audits.adversaries",
    "Verification": "audits.verifying",
    "verify": "audits.verifying",
    "assess": "calibrators.assessments",
    "BlindcalError": "errors",
    "InputError": "errors",
    "RefusedError": "errors",
    "CertificateError": "errors",
    "VerificationError": "errors",
}
_FLOORS = (
    "errors",
    "files",
    "reviews",
    "reviewers",
    "fitting",
    "assignments",
    "beliefs",
    "policies",
    "plans",
    "decisions",
    "sharing",
    "audits",
    "calibrators",
    "simulations",
    "paper",
    "mechanisms",
    "importers",
    "exporters",
    "reports",
    "folders",
    "app",
)

__all__ = ["__version__", *_ROOMS, *_FLOORS]


def __getattr__(name: str) -> Any:
    """A public name, from the room that makes it; or a floor."""
    if name in _ROOMS:
        found = getattr(import_module(f"blindcal.{_ROOMS[name]}"), name)
    elif name in _FLOORS:
        found = import_module(f"blindcal.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
