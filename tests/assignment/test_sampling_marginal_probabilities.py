"""Chances of greatest similarity: as by another solver over all pairs, in exact sums; what cannot be met."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import blindcal.assignment.sampling as marginal_probabilities
from blindcal.assignment.sampling import Marginals, marginals
from blindcal.assignment.similarity import Similarity
from blindcal.errors import InputError
from drawn_bids import random_similarity
from sizes import count


def best_reward(
    similarity: Similarity, per_paper: int, per_reviewer: int, most: float, spread: float, draws: int
) -> float | None:
    """The greatest reward over all pairs that are not barred, by SciPy; None if there is no assignment.

    `f(x) = x - spread x^2` as the least of its chords, each a row of the program, instead of pieces.
    """
    papers, reviewers = similarity.value.shape
    value, open_ = similarity.value.toarray(), ~similarity.barred.toarray()
    size = papers * reviewers
    edges = np.unique(np.rint(np.linspace(0, most, 5))) / draws if spread else np.array([0.0, most / draws])
    f = edges - spread * edges**2
    chords = [
        (((f[i + 1] - f[i]) / (edges[i + 1] - edges[i])), f[i], edges[i]) for i in range(edges.size - 1)
    ]
    eye = np.eye(size)
    # Unknowns: chances x, then rewards y <= f(x).
    upper = [np.hstack([-slope * eye, eye]) for slope, _, _ in chords]
    limits = [np.full(size, height - slope * start) for slope, height, start in chords]
    loads = np.hstack([np.kron(np.ones(papers), np.eye(reviewers)), np.zeros((reviewers, size))])
    rows = np.hstack([np.kron(np.eye(papers), np.ones(reviewers)), np.zeros((papers, size))])
    found = linprog(
        -np.concatenate([np.zeros(size), value.ravel()]),
        A_ub=np.vstack([*upper, loads]),
        b_ub=np.concatenate([*limits, np.full(reviewers, float(per_reviewer))]),
        A_eq=rows,
        b_eq=np.full(papers, float(per_paper)),
        bounds=[(0, most / draws * one) for one in open_.ravel().tolist()] + [(None, None)] * size,
        method="highs-ipm",
    )
    return float(-found.fun) if found.status == 0 else None


def reward(found: Marginals, similarity: Similarity, spread: float) -> float:
    """The reward of some chances, on the same straight pieces."""
    edges = np.unique(np.rint(np.linspace(0, found.most, 5))) / found.draws
    edges = edges if spread else np.array([0.0, 1.0])
    f = np.interp(found.probability, edges, edges - spread * edges**2)
    return float(similarity.of(found.paper, found.reviewer) @ f)


def check_exactly(found: Marginals, similarity: Similarity, per_paper: int, per_reviewer: int) -> None:
    units = np.zeros(similarity.value.shape, dtype=np.int64)
    units[found.paper, found.reviewer] = found.units
    assert (units.sum(axis=1) == per_paper * found.draws).all()
    assert units.sum(axis=0).max() <= per_reviewer * found.draws
    assert 0 < found.units.min() <= found.units.max() <= found.most
    assert not similarity.barred.toarray()[found.paper, found.reviewer].any()
    assert np.lexsort((found.reviewer, found.paper)).tolist() == list(range(found.paper.size))


@pytest.mark.parametrize("pairs", [1, 20])
def test_the_reward_is_that_of_another_solver_over_all_pairs(
    pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With few pairs to begin with, those that are missing are found by their prices."""
    monkeypatch.setattr(marginal_probabilities, "_LEAST_PAIRS", pairs)
    rng, solved = np.random.default_rng(pairs), 0
    for _ in range(count(25, 400)):
        papers, reviewers = int(rng.integers(2, 9)), int(rng.integers(3, 10))
        per_paper, per_reviewer = int(rng.integers(1, 4)), int(rng.integers(1, 6))
        cap, draws = float(rng.choice([0.25, 0.3, 0.5, 0.8, 1.0])), int(rng.choice([8, 64]))
        spread = float(rng.choice([0.0, 0.1, 0.7]))
        similarity = random_similarity(rng, papers, reviewers, levels=int(rng.choice([0, 3])))
        most = int(cap * draws + 1e-9)
        expected = best_reward(similarity, per_paper, per_reviewer, most, spread, draws)
        asked = {"per_paper": per_paper, "per_reviewer": per_reviewer, "cap": cap, "spread": spread}
        if expected is None:
            with pytest.raises(InputError):
                marginals(similarity, **asked, draws=draws)
            continue
        solved += 1
        found = marginals(similarity, **asked, draws=draws)
        check_exactly(found, similarity, per_paper, per_reviewer)
        assert reward(found, similarity, spread) == pytest.approx(expected, abs=1e-6)
    assert solved > 5


def test_spread_gives_larger_pools_at_the_same_similarity_where_many_pairs_are_equally_good() -> None:
    similarity = random_similarity(np.random.default_rng(5), 40, 30, levels=2)
    asked = {"per_paper": 3, "per_reviewer": 5, "cap": 0.5, "draws": 64}
    plain, wider = marginals(similarity, **asked), marginals(similarity, **asked, spread=0.01)
    assert wider.kept(similarity) == pytest.approx(plain.kept(similarity), rel=1e-3)
    assert np.median(wider.pool_sizes) > np.median(plain.pool_sizes) >= 6


def test_a_cap_is_rounded_down_to_whole_draws_and_written_digits_count() -> None:
    similarity = random_similarity(np.random.default_rng(6), 6, 9, conflicts=0.0)
    for cap, draws, most in ((0.3, 64, 19), (0.5, 2, 1), (0.7, 1, 0), (0.125, 8, 1), (1.0, 4, 4)):
        if most == 0:
            with pytest.raises(InputError, match=r"`cap` must be at least one of the 1 `draws`, found 0\.7"):
                marginals(similarity, per_paper=1, per_reviewer=2, cap=cap, draws=draws)
        else:
            found = marginals(similarity, per_paper=1, per_reviewer=2, cap=cap, draws=draws)
            assert found.most == most >= found.units.max()


@settings(max_examples=count(20, 300), deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 10), st.integers(1, 3), st.integers(1, 6))
def test_what_is_found_meets_everything_or_is_refused(
    seed: int, papers: int, reviewers: int, per_paper: int, per_reviewer: int
) -> None:
    similarity = random_similarity(np.random.default_rng(seed), papers, reviewers, levels=2)
    asked = {"per_paper": per_paper, "per_reviewer": per_reviewer, "cap": 0.6, "draws": 16}
    if best_reward(similarity, per_paper, per_reviewer, 9, 0.0, 16) is None:
        with pytest.raises(InputError, match=r"`per_reviewer`|`cap`"):
            marginals(similarity, **asked, spread=0.2)
    else:
        check_exactly(marginals(similarity, **asked, spread=0.2), similarity, per_paper, per_reviewer)


def test_what_cannot_be_met_is_said() -> None:
    similarity = Similarity.dense(
        ["p", "q"], ["a", "b", "c"], np.ones((2, 3)), [[True, False, False], [False, False, False]]
    )

    def refused(match: str, **changed: object) -> None:
        asked = {"per_paper": 2, "per_reviewer": 2, "cap": 1.0, "draws": 4}
        with pytest.raises(InputError, match=match):
            marginals(similarity, **{**asked, **changed})

    refused(
        "2 papers with 2 reviewers each are 4 reviews, and 3 .* write 3: raise `per_reviewer`", per_reviewer=1
    )
    refused(r"need 3 reviewers without a conflict, found 2 for paper 'p': raise `cap`", cap=0.75)
    refused("need 4 .* found 2 for paper 'p', 'q'", cap=0.5)
    refused("`draws` must be a power of 2 up to 1024, such as 64 or 256, found 100", draws=100)
    refused("power of 2", draws=2048)
    refused("`per_paper` must be a whole number of at least 1, found 0", per_paper=0)
    refused("`per_reviewer` must be a whole number", per_reviewer=1.5)
    refused("`cap` must be above 0 and at most 1, found 0", cap=0.0)
    refused("`cap` must be above 0 and at most 1, found 1.5", cap=1.5)
    refused("`cap` must be one number, found 'half'", cap="half")
    refused(r"`spread` must lie in \[0, 1\], found 2", spread=2.0)
    barred = [[True, True, False], [True, True, False], [False, False, False]]
    tight = Similarity.dense(["p", "q", "s"], ["a", "b", "c"], np.ones((3, 3)), barred)
    with pytest.raises(InputError, match=r"no assignment meets these loads .* short of 1 reviews"):
        marginals(tight, per_paper=1, per_reviewer=1, cap=1.0, draws=4)
