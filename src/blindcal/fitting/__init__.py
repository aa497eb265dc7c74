"""Reviews of past conferences to the calibration of this year's reviewers.

In: past reviews, the committee, sums that other conferences shared. Out: `Fitted`, with a posterior
mean and standard error of each slope, offset and noise, diagnostics, and a digest that recognizes
reused reviews. Open `estimate` first; `gibbs` samples, `drift` links years. Imports: reviews,
reviewers and earlier.
"""

from blindcal.fitting.committee import read_committee, read_same, similar_names
from blindcal.fitting.diagnostics import Checks, Forecast
from blindcal.fitting.estimate import Fitted, Prospects, fit
from blindcal.fitting.history import Scale
from blindcal.fitting.shared_sums import Shared, read_shared

__all__ = [
    "Checks",
    "Fitted",
    "Forecast",
    "Prospects",
    "Scale",
    "Shared",
    "fit",
    "read_committee",
    "read_same",
    "read_shared",
    "similar_names",
]
