"""Public scores, reviewers and pools -> `Belief`, where every input ends and every policy begins: what
anyone can think about the secret before a decision, and which decision each secret favors.

In: reviews, calibration, pools. Out: the belief of a pair (`pairs`), of a paper (`cases`; large pools in
`crowds` and `sums`), of a whole conference (`conferences`) with its bar (`bars`). Imports: assignments and
below.
"""

from blindcal.beliefs.belief import Belief
from blindcal.beliefs.cases import PaperCase
from blindcal.beliefs.conferences import Conference, prepare, read_reviewers, true_reviewers
from blindcal.beliefs.inputs import Inputs, read_inputs
from blindcal.beliefs.pairs import pair_belief

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
