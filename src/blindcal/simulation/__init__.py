"""Made-up conferences with known qualities, to see how well each method does.

In: a population of reviewers, numbers of papers and reviews. Out: simulated conferences, many at once
(`population`) or one with pools and its truth (`conference`, `replay`), and ranking errors.
Open `conference` first. Imports: calibrators and earlier.
"""

from typing import TYPE_CHECKING

from blindcal.lazy_names import lazy_names

if TYPE_CHECKING:
    from blindcal.simulation import conference as conference
    from blindcal.simulation import metrics as metrics
    from blindcal.simulation import population as population
    from blindcal.simulation import replay as replay
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__)
