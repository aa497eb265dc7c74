"""A plan and the secret key to decisions: drawn once, recorded, published.

In: a plan, the true reviewers, the key, earlier releases. Out: `Outcome`, the confidential record
of the release, `decisions.csv` and `certificate.json`. Open `release` first; `key_and_coins`
is the only module that draws a decision, `ledger` the only one that records it, and `amendment` says
what may be decided again. Imports: planning and earlier.
"""

from blindcal.deciding.key_and_coins import Key, commitment, draw, make_key
from blindcal.deciding.release import Outcome, decide, select

__all__ = ["Key", "Outcome", "commitment", "decide", "draw", "make_key", "select"]
