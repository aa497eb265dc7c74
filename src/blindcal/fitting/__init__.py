"""Reviews of past conferences -> reviewers of this one: slope, offset and noise with their uncertainty.

    fit(reviews, committee=..., this_year=...)    -> Fitted: .roster, .population, .checks, .to_frame()

In: past reviews, who is on the committee, and of this year nothing but the mean and spread of all scores.
Out: a calibration for `plan` and `decide`, model checks, and digests of what was used, by which a calibration
that was fitted on the reviews being decided is refused (`footprints`). Imports: reviewers and below.
"""

from blindcal.fitting.diagnoses import Checks, Forecast
from blindcal.fitting.estimates import Fitted, fit
from blindcal.fitting.prospects import Prospects
from blindcal.fitting.rosters import read_committee, read_same, similar_names
from blindcal.fitting.scales import Scale
from blindcal.fitting.shared import Shared, read_shared

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
