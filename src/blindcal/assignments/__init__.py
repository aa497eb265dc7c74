"""Who may have reviewed what: pools with their chances, assignments drawn at random, people a pool does not
list.

In: files of pools, conflicts or draws; before reviewing, bids or similarities. Out: for each paper its
candidates and how likely each of them, or each set of them, wrote its reviews. `assigning` is the door to a
randomized assignment: `similarities`, their best chances (`marginals`), draws that have them (`halvings`).
Nothing here knows a true reviewer but `assigning`, which draws them, and `strangers`, which explains a
reviewer missing from a pool. Imports: fitting and below.
"""

from blindcal.assignments.assigning import Assigned, assign
from blindcal.assignments.assumptions import assumed_pools
from blindcal.assignments.matchings import even_loads, stacked_assignments, uniform_assignments
from blindcal.assignments.pools import SampledPool, everyone, pools_of, read_pools
from blindcal.assignments.priors import inclusion, log_odds, log_prior
from blindcal.assignments.similarities import Similarity, read_similarity

__all__ = [
    "Assigned",
    "SampledPool",
    "Similarity",
    "assign",
    "assumed_pools",
    "even_loads",
    "everyone",
    "inclusion",
    "log_odds",
    "log_prior",
    "pools_of",
    "read_pools",
    "read_similarity",
    "stacked_assignments",
    "uniform_assignments",
]
