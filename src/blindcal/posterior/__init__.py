"""What anyone can infer about the reviewers from the scores, before a decision.

In: reviews, calibration, candidates. Out: `Belief`: the weight of every tuple of reviewers and the
decision it favors, for a pair of papers, a paper, or a `Conference` with its acceptance bar. Open
`belief` first, then `paper` and `tuple_weights`; `tuple_sums` and `large_pools` do without listing tuples.
Imports: pools and earlier.
"""

from typing import TYPE_CHECKING

from blindcal.lazy_names import lazy_names

if TYPE_CHECKING:
    from blindcal.posterior.belief import Belief as Belief
    from blindcal.posterior.belief import pair_belief as pair_belief
    from blindcal.posterior.conference import Conference as Conference
    from blindcal.posterior.conference import prepare as prepare
    from blindcal.posterior.conference import read_reviewers as read_reviewers
    from blindcal.posterior.conference import true_reviewers as true_reviewers
    from blindcal.posterior.inputs import Inputs as Inputs
    from blindcal.posterior.inputs import read_inputs as read_inputs
    from blindcal.posterior.paper import PaperCase as PaperCase
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__)
