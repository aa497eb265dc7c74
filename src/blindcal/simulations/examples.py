"""The embedded conference: a made-up one of 200 papers, always the same, as a chair's files."""

from __future__ import annotations

import numpy as np

from blindcal.files.tables import format_table
from blindcal.simulations.drawing import PooledConference, pooled_conference, prototype_population

PAPERS, POOL, REVIEWS, RATE = 200, 8, 3, 0.25
_SEED = 14


def example(papers: int = PAPERS) -> PooledConference:
    """The embedded conference, with the qualities that only a made-up one knows."""
    return pooled_conference(np.random.default_rng(_SEED), papers, POOL, REVIEWS, prototype_population())


def example_files(drawn: PooledConference) -> dict[str, bytes]:
    """What a chair would have: reviews, the reviewers' calibration, and the pools."""
    papers, people = [f"P{i + 1:03d}" for i in range(len(drawn.quality))], len(drawn.slope)
    names = [f"R{j + 1:03d}" for j in range(people)]
    reviews = [
        (i, j, s) for i in range(len(papers)) for j, s in zip(drawn.reviewer[i], drawn.score[i], strict=True)
    ]
    pools = [(i, j) for i in range(len(papers)) for j in drawn.pool[i]]
    return {
        "reviews.csv": format_table(
            {
                "paper": [papers[i] for i, _, _ in reviews],
                "reviewer": [names[j] for _, j, _ in reviews],
                "score": [round(float(s), 2) for _, _, s in reviews],
            }
        ),
        "reviewers.csv": format_table(
            {
                "reviewer": names,
                "slope": drawn.slope.round(3),
                "offset": drawn.offset.round(3),
                "noise": drawn.noise.round(3),
            }
        ),
        "pools.csv": format_table(
            {"paper": [papers[i] for i, _ in pools], "reviewer": [names[j] for _, j in pools]}
        ),
    }
