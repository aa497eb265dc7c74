"""Reviews of past conferences to the calibration of this year's reviewers.

In: past reviews, the committee, sums that other conferences shared. Out: `Fitted`, with a posterior
mean and standard error of each slope, offset and noise, and diagnostics. Open `estimate` first; `gibbs`
samples, `drift` links years, `received_sums` reads what others shared. The core does not import it.
Imports: deciding and earlier.
"""

from blindcal.fitting.committee import MatchedPeople, match_people
from blindcal.fitting.estimate import Fitted, fit

__all__ = ["Fitted", "MatchedPeople", "fit", "match_people"]
