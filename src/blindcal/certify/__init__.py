"""Policies in whole numbers, with claims that are proved in integer arithmetic.

In: a belief and a policy. Out: `ExactPolicy`, accept probabilities over a power of two that keep
the guarantee after rounding, and `Claim`, what that very table reveals. Open `claims` first, then
`exact`. Imports: policy and earlier.
"""

from typing import TYPE_CHECKING

from blindcal.lazy_names import lazy_names

if TYPE_CHECKING:
    from blindcal.certify.claims import Claim as Claim
    from blindcal.certify.claims import certify as certify
    from blindcal.certify.claims import claim as claim
    from blindcal.certify.exact import ExactPolicy as ExactPolicy
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__)
