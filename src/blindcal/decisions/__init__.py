"""Plan + key -> decisions, tossed once, sealed, published.

In: a plan, the true reviewers, the key, the ledger of earlier releases. Out: `Outcome` with its sealed
`Record`; `decisions.csv` and `certificate.json`, whose columns and fields are in `statements`; where a number
of papers was requested, the final list (`selections`), and another one later (`selecting`). The only module
where a coin is tossed is `coins`. Imports: plans and below.
"""

from blindcal.decisions.coins import Key, commitment, make_key, read_key, toss
from blindcal.decisions.deciding import decide
from blindcal.decisions.records import Ledger, Record, open_ledger, publish
from blindcal.decisions.releases import Outcome
from blindcal.decisions.selecting import select

__all__ = [
    "Key",
    "Ledger",
    "Outcome",
    "Record",
    "commitment",
    "decide",
    "make_key",
    "open_ledger",
    "publish",
    "read_key",
    "select",
    "toss",
]
