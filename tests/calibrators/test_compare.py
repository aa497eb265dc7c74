"""Appendix A's setting: `hierarchical` beats the others, keeps its intervals' promise, and loses nothing."""

from __future__ import annotations

import numpy as np
import pytest

from blindcal.calibrators.affine_model import hierarchical_quality, offsets_quality
from blindcal.calibrators.results import raw_quality, standardized_quality
from blindcal.checks import Array
from blindcal.simulation.metrics import kendall_tau_distance, messy_middle_error
from blindcal.simulation.population import Population, simulate_many
from sizes import count

CONFERENCES = count(60, 400)
CHUNK = 60
NOISES = [0.05, 0.1, 0.25, 0.5, 0.7] if CONFERENCES > 60 else [0.05, 0.5]
# Standard errors beyond which Kendall-tau and the messy middle must be better; 60 conferences are few for the
# second, whose difference from `offsets` at noise 0.5 is expected at 4 of them.
BEYOND = [3.0, 3.0 if CONFERENCES > 60 else 0.5]
OTHERS = {"raw": raw_quality, "standardized": standardized_quality, "offsets": offsets_quality}


def errors(population: Population, seed: int) -> tuple[dict[str, Array], Array]:
    """Errors `[measure, conference]` of each method, and each conference's share of covered qualities."""
    found: dict[str, list[Array]] = {name: [] for name in (*OTHERS, "hierarchical")}
    covered = []
    for chunk in range(-(-CONFERENCES // CHUNK)):
        size = min(CHUNK, CONFERENCES - chunk * CHUNK)
        drawn = simulate_many(np.random.default_rng([seed, chunk]), size, 100, 100, 3, population)
        estimate, error = hierarchical_quality(drawn.batch)
        values = {name: method(drawn.batch)[0] for name, method in OTHERS.items()}
        for name, value in {**values, "hierarchical": estimate}.items():
            ranking = value.reshape(size, 100)
            measures = (
                kendall_tau_distance(drawn.quality, ranking),
                messy_middle_error(drawn.quality, ranking),
            )
            found[name].append(np.stack(measures))
        reach = 1.6448536 * error.reshape(size, 100)
        covered.append((np.abs(estimate.reshape(size, 100) - drawn.quality) < reach).mean(axis=1))
    return {name: np.concatenate(parts, axis=1) for name, parts in found.items()}, np.concatenate(covered)


def gain(found: dict[str, Array], other: str) -> tuple[Array, Array]:
    """Mean paired gain over the other method, and in standard errors; one for each measure."""
    difference = found[other] - found["hierarchical"]
    error = difference.std(axis=1, ddof=1) / np.sqrt(difference.shape[1])
    return difference.mean(axis=1), difference.mean(axis=1) / error


@pytest.mark.parametrize("noise", NOISES)
def test_hierarchical_beats_the_others_and_its_intervals_cover(noise: float) -> None:
    """Intervals of 90 %, at least 6,000 of them: 0.004 a standard error, were those of one conference
    independent; they are not, and the share may be off by 0.03."""
    found, covered = errors(Population(slopes="exponential", offset=np.sqrt(0.5), noise=noise), seed=31)
    for other in OTHERS:
        assert (gain(found, other)[1] > BEYOND).all(), (noise, other, gain(found, other))
    assert 0.87 < covered.mean() < 0.93, (noise, covered.mean())


@pytest.mark.parametrize("noise", NOISES[-1:] if CONFERENCES == 60 else NOISES[1:])
def test_hierarchical_does_not_lose_to_offsets_where_slopes_are_equal(noise: float) -> None:
    """Within 3 standard errors of no difference, and never by more than one pair of papers in 2,000."""
    found, covered = errors(Population(slopes="equal", offset=np.sqrt(0.5), noise=noise), seed=32)
    mean, errors_off = gain(found, "offsets")
    assert (errors_off > -3).all(), (noise, mean, errors_off)
    assert mean[0] > -5e-4, (noise, mean)
    assert 0.87 < covered.mean() < 0.93, (noise, covered.mean())
