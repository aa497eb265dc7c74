"""Appendix A simulated: the same numbers however they are computed, each method and measure in its place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from blindcal.paper import appendix_a
from blindcal.paper.appendix_simulations import METHODS, PAPERS, PER_PAPER, REVIEWERS, _Chunk
from blindcal.simulation.metrics import kendall_tau_distance, messy_middle_error
from blindcal.simulation.population import Simulation, paper_population, simulate_many
from sizes import count

CHEAP = ["raw", "standardized", "posterior"]


def drawn_again(noise: float, reading: str, seed: int) -> Simulation:
    """The first conferences at a noise, drawn by the function that everyone can call."""
    chunk = _Chunk(reading, reading == "script", noise, (), seed, 0)
    sizes = 25, PAPERS, REVIEWERS, PER_PAPER
    return simulate_many(chunk.rng(), *sizes, paper_population(noise, reading), reading == "script")


@pytest.mark.parametrize("reading", ["text", "script"])
def test_every_method_and_measure_in_its_place(reading: str) -> None:
    found = appendix_a([0.1, 0.3], ["posterior", "raw"], reading=reading, trials=4, seed=5)
    assert (found.noise, found.methods, found.errors.shape) == (
        (0.1, 0.3),
        ("posterior", "raw"),
        (2, 2, 2, 4),
    )
    for n, noise in enumerate(found.noise):
        drawn = drawn_again(noise, reading, 5)
        for m, name in enumerate(found.methods):
            estimate = METHODS[name](drawn)[0].reshape(drawn.quality.shape)
            assert (found.errors[n, m, 0] == kendall_tau_distance(drawn.quality, estimate)[:4]).all()
            assert (found.errors[n, m, 1] == messy_middle_error(drawn.quality, estimate)[:4]).all()
    assert found.mean == pytest.approx(found.errors.mean(axis=-1))
    assert found.standard_error == pytest.approx(found.errors.std(axis=-1, ddof=1) / 2)


def test_every_method_runs_also_without_noise() -> None:
    found = appendix_a([0.0], list(METHODS)[: count(5, 6)], trials=1)
    assert np.isfinite(found.errors).all()
    assert np.isnan(found.standard_error).all()


def test_numbers_do_not_depend_on_other_methods_noises_or_later_trials() -> None:
    whole = appendix_a([0.1, 0.2], CHEAP, trials=60, seed=3)
    alone = appendix_a([0.2], ["standardized"], trials=30, seed=3)
    assert (whole.errors[1:, 1:2, :, :30] == alone.errors).all()


def test_chunks_seeds_noises_and_readings_are_independent() -> None:
    errors = appendix_a([0.2], ["raw"], trials=100, seed=3).errors[0, 0, 0]
    assert len({tuple(chunk) for chunk in errors.reshape(4, 25)}) == 4
    assert not np.array_equal(errors, appendix_a([0.2], ["raw"], trials=100, seed=4).errors[0, 0, 0])
    chunk = _Chunk("text", False, 0.2, ("raw",), 3, 0)
    changes = ({}, {"seed": 4}, {"number": 1}, {"noise": 0.3}, {"reading": "script"}, {"stacked": True})
    assert len({replace(chunk, **change).rng().random() for change in changes}) == len(changes)


def middle(drawn: Simulation) -> tuple[np.ndarray, np.ndarray]:
    quality = np.sort(drawn.score, axis=-1)[..., 1].ravel()
    return quality, np.ones_like(quality)


@pytest.mark.edge
def test_a_function_is_a_method_on_any_number_of_workers() -> None:
    """On a cluster too: tests/pages/test_extending.py."""
    pytest.importorskip("joblib")
    methods = ["raw", "offsets", middle]
    one = appendix_a([0.2, 0.4], methods, trials=count(40, 300), seed=9)
    two = appendix_a([0.2, 0.4], methods, trials=count(40, 300), seed=9, workers=2)
    assert one.methods == two.methods == ("raw", "offsets", "middle")
    assert (one.errors == two.errors).all()
    drawn = drawn_again(0.4, "script", 9)
    expected = kendall_tau_distance(drawn.quality, middle(drawn)[0].reshape(drawn.quality.shape))
    assert (one.errors[1, 2, 0, :25] == expected).all()


def test_methods_are_not_entered_into_the_table() -> None:
    with pytest.raises(TypeError):
        METHODS["middle"] = middle


@pytest.mark.edge
def test_a_frame_has_one_row_for_each_noise_method_and_measure() -> None:
    pytest.importorskip("pandas")
    found = appendix_a([0.1, 0.2], ["raw", "posterior"], trials=3)
    rows = found.to_frame()
    assert len(rows) == 2 * 2 * 2
    chosen = rows[(rows.noise == 0.2) & (rows.method == "posterior") & (rows.measure == "messy-middle error")]
    assert chosen["mean"].item() == found.mean[1, 1, 1]
    assert chosen.standard_error.item() == found.standard_error[1, 1, 1]
