"""The embedded conference is always the same, and its files are tables that the rest can read."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from blindcal.posterior.inputs import read_inputs
from blindcal.simulation.population import PAPERS, POOL, REVIEWS, example, example_files


def test_it_is_always_the_same_and_its_files_hold_it(tmp_path: Path) -> None:
    drawn, files = example(), example_files(example())
    assert example_files(drawn) == files
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    inputs = read_inputs(*(tmp_path / f"{name}.csv" for name in ("reviews", "reviewers", "pools")))
    assert len(inputs.reviews.papers) == PAPERS
    assert len(inputs.reviews) == PAPERS * REVIEWS
    assert {len(pool) for pool in drawn.pool} == {POOL}
    scores = dict(zip(map(str, inputs.reviews.papers), np.round(drawn.score, 2), strict=True))
    for place, paper in enumerate(inputs.reviews.papers):
        written = sorted(inputs.reviews.score[inputs.reviews.paper == place])
        assert written == sorted(scores[paper])
