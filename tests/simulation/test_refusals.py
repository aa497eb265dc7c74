"""What cannot be simulated, and in which words that is said."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from blindcal import InputError, simulate
from blindcal.simulation.metrics import kendall_tau_distance, messy_middle_error
from blindcal.simulation.population import (
    Population,
    nips_2014_population,
    paper_population,
    simulate_many,
    uniform_assignments,
)

RNG = np.random.default_rng(1)

REFUSED: list[tuple[str, Callable[[], object]]] = [
    ("need 1 <= per_paper <= pool <= reviewers, found 3, 2, 4", lambda: simulate(4, 2, 3)),
    ("same 2 or more papers", lambda: kendall_tau_distance([1.0, 2.0], [1.0, 2.0, 3.0])),
    ("same 2 or more papers", lambda: messy_middle_error([1.0], [1.0])),
    ("estimate must be finite, found nan", lambda: kendall_tau_distance([1.0, 2.0], [1.0, np.nan])),
    ("slopes must be exponential, lognormal or equal, found 'uniform'", lambda: Population("uniform")),
    ("noise must be at least 0, found -1", lambda: Population(noise=-1.0)),
    ("slope must be above 0, found 0", lambda: Population(slope=0.0)),
    (
        "slope_spread is for lognormal slopes, found 0.5",
        lambda: Population("exponential", slope_spread=0.5),
    ),
    ("grid must be two or more increasing scores", lambda: Population(grid=(2.0, 1.0))),
    ("noise must be at least 0, found -0.1", lambda: paper_population(-0.1)),
    ("reading must be text or script, found 'figure'", lambda: paper_population(0.1, "figure")),
    (
        "stacked assignments need as many reviewers as papers",
        lambda: simulate_many(RNG, 1, 4, 5, 2, nips_2014_population(), stacked=True),
    ),
    (
        "per_paper must be at most the number of reviewers 2, found 3",
        lambda: uniform_assignments(RNG, 1, 5, 2, 3),
    ),
    ("papers must be at least 1, found 0", lambda: uniform_assignments(RNG, 1, 0, 2, 1)),
]


@pytest.mark.parametrize(("message", "call"), REFUSED, ids=[message for message, _ in REFUSED])
def test_what_is_refused_is_named(message: str, call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match=message):
        call()
