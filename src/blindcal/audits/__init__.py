"""Decisions and policies -> what an adversary learns, and whether a release is what it says.

In: a belief and a policy, or a sealed release. Out: success, posteriors, bits (`adversaries`); every check
of a release made again with the key (`verifying` is the door, `comparisons` what is compared); what
adversaries gain over a whole conference (`auditing` opens a release or a plan as `views` of its papers,
`questions` asks them, `findings` adds up; `knowing` has adversaries who know more, `couplings`, `walking` and
`looking` the one who knows all loads, `holding` an epsilon at which what it gains is measured to stay below
a limit, `sweeping` and `learning` the one who learns calibration across papers; `venues` reads what others
published). A new adversary makes a list of `Finding`: in `knowing` if it takes papers one by one, in a module
of its own if papers share what it knows, as `looking.coupled_findings` does; `cli.audit` and `cli.venue` call
it. Imports: decisions and below.
"""

from blindcal.audits.adversaries import (
    Adversary,
    audit,
    bits,
    guess,
    play,
    posterior,
    success_of,
    top_k_success,
)
from blindcal.audits.auditing import open_release, planned_views
from blindcal.audits.comparisons import Check
from blindcal.audits.findings import Finding, Findings, findings_of
from blindcal.audits.holding import Held, hold
from blindcal.audits.learning import learning_findings
from blindcal.audits.verifying import Verification, verify

__all__ = [
    "Adversary",
    "Check",
    "Finding",
    "Findings",
    "Held",
    "Verification",
    "audit",
    "bits",
    "findings_of",
    "guess",
    "hold",
    "learning_findings",
    "open_release",
    "planned_views",
    "play",
    "posterior",
    "success_of",
    "top_k_success",
    "verify",
]
