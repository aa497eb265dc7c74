"""Who may have reviewed each paper, and how likely.

In: bids, similarities, conflicts, files of candidates. Out: `Pools` of candidates with
probabilities, the prior over tuples of reviewers, a randomized assignment with known marginal
probabilities. Open `candidates` first, then `prior`; `sampling` draws assignments. Imports: fitting
and earlier.
"""

from typing import TYPE_CHECKING

from blindcal.lazy_names import lazy_names

if TYPE_CHECKING:
    from blindcal.assignment.candidates import SampledPool as SampledPool
    from blindcal.assignment.candidates import assumed_pools as assumed_pools
    from blindcal.assignment.candidates import read_pools as read_pools
    from blindcal.assignment.sampling import SampledAssignment as SampledAssignment
    from blindcal.assignment.sampling import assign as assign
    from blindcal.assignment.similarity import Similarity as Similarity
    from blindcal.assignment.similarity import read_similarity as read_similarity
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__)
