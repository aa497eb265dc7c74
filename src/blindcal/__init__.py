"""Private calibration of peer review.

    Reviews -> Reviewers -> Candidates -> Belief -> Policy -> Plan -> Release -> Verification -> Report

One frozen type for each stage, pure functions between them. The names below follow that order;
everything else is in its package, which loads when first used: `bc.reviewers`, `bc.fitting`, `bc.pools`,
`bc.posterior`, `bc.policy`, `bc.certify`, `bc.planning`, `bc.deciding`, `bc.private_sharing`,
`bc.adversaries`, `bc.calibrators`, `bc.simulation`, `bc.paper` for the paper's own items under their own
numbers, and `bc.benchmark` to measure a mechanism of your own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from blindcal.lazy_names import lazy_names

if TYPE_CHECKING:
    from blindcal import adversaries as adversaries
    from blindcal import app as app
    from blindcal import benchmark as benchmark
    from blindcal import calibrators as calibrators
    from blindcal import certify as certify
    from blindcal import compute as compute
    from blindcal import deciding as deciding
    from blindcal import errors as errors
    from blindcal import exporters as exporters
    from blindcal import fitting as fitting
    from blindcal import importers as importers
    from blindcal import io as io
    from blindcal import paper as paper
    from blindcal import planning as planning
    from blindcal import policy as policy
    from blindcal import pools as pools
    from blindcal import posterior as posterior
    from blindcal import private_sharing as private_sharing
    from blindcal import project as project
    from blindcal import report as report
    from blindcal import reviewers as reviewers
    from blindcal import reviews as reviews
    from blindcal import simulation as simulation
    from blindcal import verification as verification
    from blindcal.adversaries.single_paper import audit as audit
    from blindcal.adversaries.single_paper import play as play
    from blindcal.calibrators.assessment import assess as assess
    from blindcal.deciding.decide import Outcome as Outcome
    from blindcal.deciding.decide import decide as decide
    from blindcal.deciding.key import make_key as make_key
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
    from blindcal.simulation.conference import SimulatedConference as SimulatedConference
    from blindcal.simulation.conference import simulate as simulate
    from blindcal.simulation.realized_errors import Replay as Replay
    from blindcal.simulation.realized_errors import replay as replay
    from blindcal.verification import Verification as Verification
    from blindcal.verification import verify as verify
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__)

__version__ = "0.2.0"
