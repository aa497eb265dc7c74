"""Who may have reviewed what: pools with their chances, uniform matchings, people a pool does not list.

In: files of pools, conflicts or draws. Out: for each paper its candidates and how likely each of them wrote
a review. Nothing here knows a true reviewer but `strangers`, which explains a reviewer missing from a pool.
Imports: fitting and below.
"""

from blindcal.assignments.matchings import even_loads, stacked_assignments, uniform_assignments
from blindcal.assignments.pools import everyone, inclusion, log_odds, log_prior, pools_of, read_pools

__all__ = [
    "even_loads",
    "everyone",
    "inclusion",
    "log_odds",
    "log_prior",
    "pools_of",
    "read_pools",
    "stacked_assignments",
    "uniform_assignments",
]
