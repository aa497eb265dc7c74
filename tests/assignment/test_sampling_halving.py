"""Draws that have the chances exactly: every one is an assignment, each pair comes as often as it must."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from blindcal.assignment.sampling import Marginals, decompose_marginals, marginals
from blindcal.assignment.similarity import Similarity
from blindcal.errors import InputError
from drawn_bids import random_similarity, seed_of
from sizes import count


def check(drawn: np.ndarray, found: Marginals, papers: int, reviewers: int, per_reviewer: int) -> None:
    """Each draw meets all needs and loads; each pair stands in as many draws as it has units."""
    assert drawn.shape == (found.draws, papers, found.per_paper)
    assert (np.diff(drawn, axis=2) > 0).all(), "nobody reviews a paper twice"
    for draw in drawn:
        assert np.bincount(draw.ravel(), minlength=reviewers).max() <= per_reviewer
    together = Counter((p, r) for draw in drawn.tolist() for p, who in enumerate(draw) for r in who)
    units = zip(found.paper.tolist(), found.reviewer.tolist(), strict=True)
    assert together == Counter(dict(zip(units, found.units.tolist(), strict=True)))


@settings(max_examples=count(25, 400), deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(1, 14),
    st.integers(3, 12),
    st.integers(1, 3),
    st.integers(1, 6),
    st.sampled_from([1, 2, 8, 32]),
    st.sampled_from([0.3, 0.5, 1.0]),
)
def test_all_draws_are_assignments_and_have_the_chances_exactly(
    seed: int, papers: int, reviewers: int, per_paper: int, per_reviewer: int, draws: int, cap: float
) -> None:
    similarity = random_similarity(np.random.default_rng(seed), papers, reviewers)
    try:
        found = marginals(
            similarity, per_paper=per_paper, per_reviewer=per_reviewer, cap=cap, draws=draws, spread=0.3
        )
    except InputError:
        return
    check(decompose_marginals(found, seed_of(seed)), found, papers, reviewers, per_reviewer)


def test_loads_that_leave_no_room_are_met() -> None:
    similarity = random_similarity(np.random.default_rng(3), 20, 15, conflicts=0.0)
    found = marginals(similarity, per_paper=3, per_reviewer=4, cap=0.5, draws=64)
    drawn = decompose_marginals(found, seed_of(1))
    check(drawn, found, 20, 15, 4)
    assert all(np.bincount(draw.ravel(), minlength=15).tolist() == [4] * 15 for draw in drawn)


def test_the_same_seed_gives_the_same_draws_and_another_seed_others() -> None:
    similarity = random_similarity(np.random.default_rng(4), 12, 9)
    found = marginals(similarity, per_paper=2, per_reviewer=4, cap=0.5, draws=16)
    one, again, other = (decompose_marginals(found, seed_of(number)) for number in (1, 1, 2))
    assert (one == again).all()
    assert (one != other).any()


def test_any_one_draw_has_the_chances_over_seeds() -> None:
    """False alarm 1e-6 over all pairs together."""
    similarity = random_similarity(np.random.default_rng(8), 8, 7)
    found = marginals(similarity, per_paper=2, per_reviewer=3, cap=0.75, draws=16, spread=0.2)
    samples = count(1000, 20_000)
    times = np.zeros(similarity.value.shape, dtype=np.int64)
    for number in range(samples):
        np.add.at(times, (np.arange(8)[:, None], decompose_marginals(found, seed_of(number))[number % 16]), 1)
    assert times.sum() == times[found.paper, found.reviewer].sum()
    for paper, reviewer, chance in zip(found.paper, found.reviewer, found.probability, strict=True):
        assert binomtest(int(times[paper, reviewer]), samples, float(chance)).pvalue > 1e-6 / found.paper.size


def test_every_assignment_that_the_chances_allow_comes_up() -> None:
    """Chances of about 1/3: all six ways to give three papers to three people."""
    paper, reviewer = np.arange(9) // 3, np.arange(9) % 3
    units = np.where(paper == reviewer, 22, 21)
    drawn = decompose_marginals(Marginals(paper, reviewer, units, draws=64, most=22, per_paper=1), seed_of(1))
    assert {tuple(draw[:, 0].tolist()) for draw in drawn} == set(permutations(range(3)))


def test_teams_are_not_fixed_by_the_chances() -> None:
    """Six people with chance 1/2 each on every paper: all 20 groups of three come up."""
    similarity = Similarity.dense([f"p{i}" for i in range(4)], list("abcdef"), np.ones((4, 6)))
    found = marginals(similarity, per_paper=3, per_reviewer=2, cap=0.5, draws=1024)
    groups = Counter(map(tuple, decompose_marginals(found, seed_of(1))[:, 0].tolist()))
    assert len(groups) == 20
    for times in groups.values():
        assert binomtest(times, 1024, 1 / 20).pvalue > 1e-6 / 20


def test_a_seed_must_be_32_bytes() -> None:
    similarity = random_similarity(np.random.default_rng(4), 4, 4, conflicts=0.0)
    found = marginals(similarity, per_paper=1, per_reviewer=1, cap=0.5, draws=2)
    with pytest.raises(InputError, match="32 bytes"):
        decompose_marginals(found, b"short")
