"""100 conferences of the paper's size through three methods and both errors: batched against a plain loop.

The plain loop is what one writes first: one paper and one reviewer at a time. All get the same simulated
conferences; the errors must agree before any time is printed.

With `--script FILE`, a copy of the program that the paper's authors published: its 100 conferences, drawn and
ranked by three methods, against the same here, from the draw of the assignments to Kendall's tau.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from blindcal.calibrators.affine_model import maximum_likelihood_quality
from blindcal.calibrators.results import raw_quality, standardized_quality
from blindcal.checks import Array
from blindcal.simulation.metrics import kendall_tau_distance, messy_middle_error
from blindcal.simulation.population import Simulation, paper_population, simulate_many

CONFERENCES, PAPERS, PER_PAPER, NOISE = 100, 100, 3, 0.25
PROMISED, AIM = 50, 150


def batched(drawn: Simulation) -> Array:
    """`errors[measure, method, conference]`."""
    batch = drawn.batch
    methods = (
        raw_quality(batch)[0],
        standardized_quality(batch)[0],
        maximum_likelihood_quality(batch, *drawn.parameters)[0],
    )
    estimate = np.stack(methods).reshape(3, *drawn.quality.shape)
    return np.stack(
        [measure(drawn.quality, estimate) for measure in (kendall_tau_distance, messy_middle_error)]
    )


def plain(drawn: Simulation, lists: bool) -> Array:
    """The same by loops over papers and reviewers, on the arrays or on Python lists made from them."""
    errors = np.empty((2, 3, CONFERENCES))
    for c in range(CONFERENCES):
        arrays = (drawn.quality[c], drawn.reviewer[c], drawn.score[c], drawn.slope[c], drawn.offset[c])
        truth, who, score, slope, offset = (part.tolist() for part in arrays) if lists else arrays
        estimates = (
            plain_raw(score),
            plain_standardized(who, score),
            plain_likelihood(who, score, slope, offset),
        )
        for m, estimate in enumerate(estimates):
            errors[0, m, c] = plain_kendall_tau(truth, estimate)
            errors[1, m, c] = plain_messy_middle(truth, estimate)
    return errors


def plain_raw(score: Any) -> list[float]:
    return [sum(row) / len(row) for row in score]


def plain_standardized(who: Any, score: Any) -> list[float]:
    standard = [[0.0] * PER_PAPER for _ in range(PAPERS)]
    for reviewer in range(PAPERS):
        mine = [
            (paper, place, value)
            for paper in range(PAPERS)
            for place, (person, value) in enumerate(zip(who[paper], score[paper], strict=True))
            if person == reviewer
        ]
        mean = sum(value for _, _, value in mine) / len(mine)
        deviation = (sum((value - mean) ** 2 for _, _, value in mine) / len(mine)) ** 0.5
        for paper, place, value in mine:
            standard[paper][place] = (value - mean) / deviation
    return plain_raw(standard)


def plain_likelihood(who: Any, score: Any, slope: Any, offset: Any) -> list[float]:
    estimate = []
    for paper in range(PAPERS):
        evidence = information = 0.0
        for person, value in zip(who[paper], score[paper], strict=True):
            evidence += slope[person] * (value - offset[person])
            information += slope[person] ** 2
        estimate.append(evidence / information)
    return estimate


def plain_kendall_tau(truth: Any, estimate: list[float]) -> float:
    wrong = 0
    for i in range(PAPERS):
        for j in range(i):
            if (truth[i] < truth[j]) != (estimate[i] < estimate[j]):
                wrong += 1
    return wrong / (PAPERS * (PAPERS - 1) / 2)


def plain_messy_middle(truth: Any, estimate: list[float]) -> float:
    def ranks(values: Any) -> dict[int, int]:
        best_first = sorted(range(PAPERS), key=lambda paper: -values[paper])
        return {paper: rank for rank, paper in enumerate(best_first, start=1)}

    true, seen = ranks(truth), ranks(estimate)
    return sum((true[p] <= 25) != (seen[p] <= 25) for p in range(PAPERS) if 11 <= true[p] <= 40) / 30


def fastest(call: Callable[[], object], repeats: int) -> float:
    """The least of several times: what the work costs when nothing else disturbs it."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


def fresh(seed: int | np.random.Generator, stacked: bool = False) -> Simulation:
    population = paper_population(NOISE, "script")
    return simulate_many(
        np.random.default_rng(seed), CONFERENCES, PAPERS, PAPERS, PER_PAPER, population, stacked
    )


def whole(rng: np.random.Generator) -> Array:
    """`errors[method, conference]` of fresh conferences, assigned as the script does it."""
    drawn = fresh(rng, stacked=True)
    methods = (
        raw_quality(drawn.batch)[0],
        standardized_quality(drawn.batch)[0],
        maximum_likelihood_quality(drawn.batch, *drawn.parameters)[0],
    )
    return kendall_tau_distance(drawn.quality, np.stack(methods).reshape(3, *drawn.quality.shape))


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    found = call()
    return time.process_time() - began, found


def against_script(path: Path, rounds: int = 5, repeats: int = 9) -> int:
    """Both by turns, in CPU time: medians, and whether the mean errors agree."""
    spec = spec_from_file_location("script", path)
    if spec is None or spec.loader is None:
        print(f"{path} is no program")
        return 1
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    rng, theirs, ours = np.random.default_rng(1), [], []
    for _ in range(rounds):
        theirs.append(seconds(lambda: script.simulation(PAPERS, NOISE, 25)))
        ours += [seconds(lambda: whole(rng)) for _ in range(repeats)]
    slow, fast = median(took for took, _ in theirs), median(took for took, _ in ours)
    error = np.concatenate([found for _, found in ours], axis=1)
    expected = np.array([found[:3] for _, found in theirs]).mean(axis=0)
    spread = error.std(axis=1) * np.sqrt(1 / error.shape[1] + 1 / (rounds * CONFERENCES))
    if (np.abs(error.mean(axis=1) - expected) > 4.9 * spread).any():
        print("the errors disagree")
        return 1
    print(f"drawn, ranked and compared   {fast:8.4f} s")
    print(f"the same by the script       {slow:8.4f} s   {slow / fast:.0f} times slower (aim: {AIM})")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--script", type=Path)
    script = parser.parse_args().script
    if script is not None:
        return against_script(script)
    drawn = fresh(1)
    for lists in (False, True):
        if not np.allclose(batched(drawn), plain(drawn, lists), atol=1e-12):
            print("the implementations disagree")
            return 1
    # The table of a simulation is built once and kept, so every repeat gets a simulation of its own.
    draws = iter([fresh(seed) for seed in range(30)])
    ours, sampling = fastest(lambda: batched(next(draws)), 30), fastest(lambda: fresh(2), 20)
    stacking = fastest(lambda: fresh(2, stacked=True), 20)
    loop, tuned = (fastest(lambda lists=lists: plain(drawn, lists), 3) for lists in (False, True))
    print(f"batched                      {ours:8.4f} s")
    print(
        f"plain loop over the arrays   {loop:8.4f} s   {loop / ours:.0f} times slower (promised: {PROMISED})"
    )
    print(f"the same over Python lists   {tuned:8.4f} s   {tuned / ours:.0f} times slower")
    print(f"drawing the conferences      {sampling:8.4f} s   (in none of these)")
    print(f"drawing them as the script   {stacking:8.4f} s   (in none of these)")
    return 0 if loop / ours >= PROMISED else 1


if __name__ == "__main__":
    sys.exit(main())
