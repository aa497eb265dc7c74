"""Made-up conferences with known qualities, to see how well each method does.

In: a population of reviewers, numbers of papers and reviews. Out: simulated conferences, many at once
(`population`) or one with pools and its truth (`conference`, `realized_errors`), and ranking errors.
Open `conference` first. Imports: calibrators and earlier.
"""

from typing import TYPE_CHECKING

from blindcal.lazy_names import lazy_names

if TYPE_CHECKING:
    from blindcal.simulation import conference as conference
    from blindcal.simulation import metrics as metrics
    from blindcal.simulation import population as population
    from blindcal.simulation import realized_errors as realized_errors
    from blindcal.simulation.conference import SimulatedConference as SimulatedConference
    from blindcal.simulation.conference import simulate as simulate
    from blindcal.simulation.population import Population as Population
    from blindcal.simulation.population import nips_2014_population as nips_2014_population
    from blindcal.simulation.population import prototype_population as prototype_population
    from blindcal.simulation.population import simulate_many as simulate_many
    from blindcal.simulation.realized_errors import Replay as Replay
    from blindcal.simulation.realized_errors import replay as replay
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__)
