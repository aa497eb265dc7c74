"""Reviews of past conferences to the calibration of this year's reviewers.

In: past reviews, the committee, sums that other conferences shared. Out: `Fitted`, with a posterior
mean and standard error of each slope, offset and noise, and diagnostics. Open `estimate` first; `gibbs`
samples, `drift` links years, `received_sums` reads what others shared. The core does not import it.
Imports: deciding and earlier.
"""

from typing import TYPE_CHECKING

from blindcal.lazy_names import lazy_names

if TYPE_CHECKING:
    from blindcal.fitting.committee import MatchedPeople as MatchedPeople
    from blindcal.fitting.committee import match_people as match_people
    from blindcal.fitting.estimate import Fitted as Fitted
    from blindcal.fitting.estimate import fit as fit
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__)
