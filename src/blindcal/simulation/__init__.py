"""Made-up conferences with known qualities, to see how well each method does.

In: a population of reviewers, numbers of papers and reviews. Out: simulated conferences, ranking
errors, and sweeps over many settings on all cores. Open `population` first. Imports: calibrators
and earlier.
"""

from blindcal.simulation import metrics, parameter_sweep, population

__all__ = ["metrics", "parameter_sweep", "population"]
