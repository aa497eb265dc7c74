"""Policies in whole numbers, with claims that are proved in integer arithmetic.

In: a belief and a policy. Out: `ExactPolicy`, accept probabilities over a power of two that keep
the guarantee after rounding, and `Claim`, what that very table reveals. Open `claims` first, then
`exact`. Imports: policy and earlier.
"""

from blindcal.certify.claims import Claim, certify, claim
from blindcal.certify.exact import ExactPolicy
from blindcal.certify.multi_outcome import OutcomeClaim, certify_outcomes

__all__ = ["Claim", "ExactPolicy", "OutcomeClaim", "certify", "certify_outcomes", "claim"]
