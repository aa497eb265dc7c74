"""What anyone can infer about the reviewers from the scores, before a decision.

In: reviews, calibration, candidates. Out: `Belief`: the weight of every tuple of reviewers and the
decision it favors, for a pair of papers, a paper, or a `Conference` with its acceptance bar. Open
`belief` first, then `paper` and `tuple_weights`; `tuple_sums` and `large_pools` do without listing tuples.
Imports: assignment and earlier.
"""

from blindcal.posterior.belief import Belief, pair_belief
from blindcal.posterior.conference import Conference, prepare, read_reviewers, true_reviewers
from blindcal.posterior.inputs import Inputs, read_inputs
from blindcal.posterior.paper import PaperCase

__all__ = [
    "Belief",
    "Conference",
    "Inputs",
    "PaperCase",
    "pair_belief",
    "prepare",
    "read_inputs",
    "read_reviewers",
    "true_reviewers",
]
