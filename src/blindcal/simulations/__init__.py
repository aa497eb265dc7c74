"""Made-up conferences with known qualities -> how well each method does.

In: how reviewers differ, how many papers. Out: conferences, rankings, sweeps over many of them on all
cores. Imports: calibrators and below.
"""

from blindcal.simulations import drawing, rankings, sweeps
from blindcal.simulations.selections import Selection, selection

__all__ = [
    "Selection",
    "drawing",
    "rankings",
    "selection",
    "sweeps",
]
