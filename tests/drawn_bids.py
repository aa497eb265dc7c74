"""Made-up similarities of a small conference, and seeds for assignments."""

from __future__ import annotations

import numpy as np

from blindcal.assignment.similarity import Similarity


def random_similarity(
    rng: np.random.Generator, papers: int, reviewers: int, *, conflicts: float = 0.1, levels: int = 0
) -> Similarity:
    """Many pairs without a similarity; with `levels`, many that are equally good."""
    value = rng.random((papers, reviewers)) * (rng.random((papers, reviewers)) < 0.6)
    if levels:
        value = np.ceil(levels * value) / levels
    barred = rng.random((papers, reviewers)) < conflicts
    names = [f"p{i}" for i in range(10, 10 + papers)], [f"r{j}" for j in range(10, 10 + reviewers)]
    return Similarity.dense(*names, value, barred)


def seed_of(number: int) -> bytes:
    return number.to_bytes(32, "big")
