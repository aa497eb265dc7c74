"""Who may have reviewed each paper, and how likely.

In: bids, similarities, conflicts, files of candidates. Out: `Pools` of candidates with
probabilities, the prior over tuples of reviewers, a randomized assignment with known marginal
probabilities. Open `candidates` first, then `prior`; `sampling` draws assignments. Imports: fitting
and earlier.
"""

from blindcal.assignment.candidates import SampledPool, assumed_pools, read_pools
from blindcal.assignment.sampling import SampledAssignment, assign
from blindcal.assignment.similarity import Similarity, read_similarity

__all__ = [
    "SampledAssignment",
    "SampledPool",
    "Similarity",
    "assign",
    "assumed_pools",
    "read_pools",
    "read_similarity",
]
