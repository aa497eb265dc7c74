"""What published decisions tell different adversaries about who reviewed what.

In: a belief and a policy, a plan, or a confidential release. Out: chances of naming a reviewer,
bits, `Findings`. Open `single_paper` first; `side_knowledge`, `coupled_exact`, `coupled_mcmc` and
`learned_calibration` have stronger adversaries. A new adversary returns a list of `Finding`.
Imports: deciding and earlier.
"""

from blindcal.adversaries.findings import Finding, Findings, findings_of
from blindcal.adversaries.learned_calibration import learning_findings
from blindcal.adversaries.release_audit import open_release, planned_views
from blindcal.adversaries.single_paper import (
    Adversary,
    audit,
    bits,
    guess,
    play,
    posterior,
    success_of,
    top_k_success,
)

__all__ = [
    "Adversary",
    "Finding",
    "Findings",
    "audit",
    "bits",
    "findings_of",
    "guess",
    "learning_findings",
    "open_release",
    "planned_views",
    "play",
    "posterior",
    "success_of",
    "top_k_success",
]
