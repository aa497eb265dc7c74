"""What published decisions tell different adversaries about who reviewed what.

In: a belief and a policy, a plan, or a confidential release. Out: chances of naming a reviewer,
bits, `Findings`. Open `single_paper` first; `side_knowledge`, `coupled_exact`, `coupled_mcmc` and
`learned_calibration` have stronger adversaries. A new adversary returns a list of `Finding`.
Imports: deciding and earlier.
"""

from blindcal.adversaries.findings import Finding, Findings
from blindcal.adversaries.single_paper import Adversary, audit, guess, play, posterior, success_of

__all__ = ["Adversary", "Finding", "Findings", "audit", "guess", "play", "posterior", "success_of"]
