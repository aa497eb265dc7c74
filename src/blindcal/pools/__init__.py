"""Who may have reviewed each paper, and how likely.

In: files of candidates, conflicts, bids or similarities. Out: `Pools` of candidates with
probabilities, and the prior over tuples of reviewers. Open `candidates` first, then `prior`.
Imports: reviewers and earlier.
"""

from typing import TYPE_CHECKING

from blindcal.lazy_names import lazy_names

if TYPE_CHECKING:
    from blindcal.pools.candidates import assumed_pools as assumed_pools
    from blindcal.pools.candidates import read_pools as read_pools
    from blindcal.pools.candidates import read_similarity as read_similarity
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__)
