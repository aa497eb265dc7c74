"""Decisions and policies -> what an adversary learns, and whether a release is what it says.

In: a belief and a policy, or a sealed release. Out: success, posteriors, bits (`adversaries`); every check
of a release made again with the key (`verifying` is the door, `comparisons` what is compared). A new
adversary lives here. Imports: decisions and below.
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
from blindcal.audits.comparisons import Check
from blindcal.audits.verifying import Verification, verify

__all__ = [
    "Adversary",
    "Check",
    "Verification",
    "audit",
    "bits",
    "guess",
    "play",
    "posterior",
    "success_of",
    "top_k_success",
    "verify",
]
