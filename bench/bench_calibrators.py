"""`hierarchical` on a large conference; many conferences in one chain against one by one; Appendix A.

Promised: 10,000 papers, 8,000 reviewers and 4 reviews a paper in under 60 s and 2 GiB.
"""

from __future__ import annotations

import resource
import time

import numpy as np

import blindcal as bc
from blindcal.calibrators.affine_model import hierarchical_quality, maximum_likelihood_quality
from blindcal.calibrators.gibbs import Batch
from blindcal.calibrators.results import raw_quality, standardized_quality
from blindcal.compute.mcmc import rhat
from blindcal.simulation.metrics import kendall_tau_distance, messy_middle_error
from blindcal.simulation.population import paper_population, prototype_population, simulate_many

PAPERS, REVIEWERS, PER_PAPER = 10_000, 8_000, 4
CONFERENCES = 20


def large() -> None:
    drawn = simulate_many(np.random.default_rng(1), 1, PAPERS, REVIEWERS, PER_PAPER, prototype_population())
    reviews = drawn.reviews()
    began, worked = time.perf_counter(), time.process_time()
    result = bc.calibrators.hierarchical(reviews)
    probability = result.probability_accepted(0.25)
    seconds, worked = time.perf_counter() - began, time.process_time() - worked
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    truth = drawn.quality[0]
    covered = (np.abs(result.quality - truth) < 1.645 * result.standard_error).mean()
    print(f"{PAPERS:,} papers, {REVIEWERS:,} reviewers, {PER_PAPER} reviews each: ", end="")
    print(f"{seconds:.1f} s ({worked:.1f} s of one core)")
    print(f"  peak memory {memory:.2f} GiB (the whole process)")
    print(
        f"  90 % intervals cover {100 * covered:.1f} %; "
        f"largest R-hat of 20 qualities {rhat(result.fit.quality_draws(20)).max():.3f}"
    )
    print(
        f"  expected accepted {probability.sum():.0f}, gray zone {int(result.gray_zone(0.25).sum()):,} papers"
    )
    print(f"  promise of 60 s and 2 GiB: {'kept' if seconds < 60 and memory < 2 else 'BROKEN'}")


def many() -> None:
    drawn = simulate_many(np.random.default_rng(2), CONFERENCES, 100, 100, 3, paper_population(0.25))
    began = time.perf_counter()
    hierarchical_quality(drawn.batch)
    together = time.perf_counter() - began
    began = time.perf_counter()
    for c in range(CONFERENCES):
        paper = np.repeat(np.arange(100), 3)
        hierarchical_quality(Batch(paper, drawn.reviewer[c].ravel(), drawn.score[c].ravel()))
    alone = time.perf_counter() - began
    print(
        f"{CONFERENCES} conferences of 100 papers: one chain {together:.2f} s, one by one {alone:.2f} s, ",
        end="",
    )
    print(f"{alone / together:.1f} times faster together")


def simulation(conferences: int = 100) -> None:
    """Conferences of the paper's size through three methods and both errors."""
    population, took = paper_population(0.25, "script"), []
    for seed in range(30):
        marks = [time.perf_counter()]
        rng = np.random.default_rng(seed)
        drawn = simulate_many(rng, conferences, 100, 100, 3, population, stacked=True)
        marks.append(time.perf_counter())
        known = maximum_likelihood_quality(drawn.batch, *drawn.parameters)
        ranked = (raw_quality(drawn.batch), standardized_quality(drawn.batch), known)
        estimate = np.stack([quality for quality, _ in ranked]).reshape(3, *drawn.quality.shape)
        for error in (kendall_tau_distance, messy_middle_error):
            error(drawn.quality, estimate)
        took.append(np.diff([*marks, time.perf_counter()]))
    drawing, ranking = np.min(took, axis=0)
    print(f"{conferences} conferences of Appendix A: drawn in {drawing:.4f} s, ranked in {ranking:.4f} s")


if __name__ == "__main__":
    large()
    many()
    simulation()
