"""One of the draws is used, each as likely; files hold what they should and do not link papers' draws."""

from __future__ import annotations

import csv
import stat
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from blindcal.assignment.candidates import read_draws, read_pools
from blindcal.assignment.sampling import SampledAssignment, assign
from blindcal.errors import InputError, RefusedError
from drawn_bids import random_similarity, seed_of
from sizes import count

ASKED = {"per_paper": 2, "per_reviewer": 4, "cap": 0.5, "draws": 16}


def assigned(seed: int = 1, **changed: object) -> SampledAssignment:
    similarity = random_similarity(np.random.default_rng(9), 12, 8)
    return assign(similarity, **{**ASKED, **changed}, seed=seed_of(seed))


def test_the_files_are_the_prior_and_the_assignment(tmp_path: Path) -> None:
    found, out = assigned(), tmp_path / "out"
    found.write(out)
    pools = found.pools()
    assert read_draws(out / "assignments.csv") == pools
    assert {p: dict(one.sets) for p, one in read_draws(out / "assignments.csv").items()} == {
        p: dict(one.sets) for p, one in pools.items()
    }
    assert read_pools(out / "pools.csv") == {p: dict(one) for p, one in pools.items()}, "to the last digit"
    with (out / "assignment.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert Counter((row["paper"], row["reviewer"]) for row in rows) == Counter(
        (paper, name) for paper, names in found.reviewers.items() for name in names
    )
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) & 0o077 for path in out.iterdir()}
    assert modes["assignment.csv"] == modes["assignments.csv"] == 0
    assert all(names in pools[paper].sets for paper, names in found.reviewers.items())


def test_the_same_assignment_may_be_written_again_and_another_is_refused(tmp_path: Path) -> None:
    assigned().write(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    (tmp_path / "pools.csv").unlink()
    assigned().write(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    with pytest.raises(RefusedError, match="is not this assignment, and is never overwritten"):
        assigned(seed=2).write(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_file_of_draws_does_not_say_which_draws_of_two_papers_belong_together(tmp_path: Path) -> None:
    """It is the same whichever draw is used, and whatever the order of the draws of a paper was."""
    one = assigned()
    order = np.stack([np.random.default_rng(i).permutation(16) for i in range(12)])
    mixed = np.stack([one.drawn[order[i], i] for i in range(12)], axis=1)
    other = SampledAssignment(one.similarity, one.chances, mixed, 3)
    one.write(tmp_path / "one")
    other.write(tmp_path / "other")
    for name in ("assignments.csv", "pools.csv"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


def test_each_draw_is_used_as_often() -> None:
    """False alarm 1e-6 over the 16 draws together; what is used does not depend on the draws' order."""
    seeds = count(300, 5000)
    chosen = Counter(assigned(seed=seed).chosen for seed in range(seeds))
    assert sorted(chosen) == list(range(16))
    assert all(binomtest(times, seeds, 1 / 16).pvalue > 1e-6 / 16 for times in chosen.values())


def test_draws_that_no_table_holds_are_refused() -> None:
    similarity = random_similarity(np.random.default_rng(9), 12, 8)
    similarity = type(similarity)(similarity.papers * 1000, similarity.reviewers, None, None)
    with pytest.raises(InputError, match=r"`draws` 1024 of 12000 papers are 24,576,000 rows, .* give 64"):
        assign(similarity, **{**ASKED, "draws": 1024}, seed=bytes(32))
