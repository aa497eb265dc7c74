"""What published decisions tell different adversaries about who reviewed what.

In: a belief and a policy, a plan, or a confidential release. Out: chances of naming a reviewer,
bits, `Findings`. Open `single_paper` first; `side_knowledge`, `coupled_exact` and `coupled_mcmc` have
stronger adversaries, `this_year_exact` and `this_year_mcmc` those of decisions by this year's evidence. A new
adversary returns a list of `Finding`.
Imports: deciding and earlier.
"""

from typing import TYPE_CHECKING

from blindcal.lazy_names import lazy_names

if TYPE_CHECKING:
    from blindcal.adversaries.findings import Finding as Finding
    from blindcal.adversaries.findings import Findings as Findings
    from blindcal.adversaries.single_paper import Adversary as Adversary
    from blindcal.adversaries.single_paper import audit as audit
    from blindcal.adversaries.single_paper import guess as guess
    from blindcal.adversaries.single_paper import play as play
    from blindcal.adversaries.single_paper import posterior as posterior
    from blindcal.adversaries.single_paper import success_of as success_of
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__)
