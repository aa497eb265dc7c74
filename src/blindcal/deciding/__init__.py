"""A plan and the secret key to decisions: drawn once, recorded, published.

In: a plan, the true reviewers, the key, earlier releases. Out: `Outcome`, the confidential record of the
release, `decisions.csv` and `certificate.json`. Open `decide` first; `key` is the only module that draws a
decision, `ledger` the only one that records it, `publish` writes what is public, `lists` ranks an exact
number of papers, and `amend` says what may be decided again. Imports: planning and earlier.
"""

from typing import TYPE_CHECKING

from blindcal.lazy_names import lazy_names

if TYPE_CHECKING:
    from blindcal.deciding.decide import Outcome as Outcome
    from blindcal.deciding.key import Key as Key
    from blindcal.deciding.key import commitment as commitment
    from blindcal.deciding.key import draw as draw
    from blindcal.deciding.key import make_key as make_key
    from blindcal.deciding.lists import PrintedList as PrintedList
    from blindcal.deciding.lists import printed_list as printed_list
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__)
