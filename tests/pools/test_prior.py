"""The maximum-entropy prior has the requested chances exactly, by enumeration."""

from __future__ import annotations

from itertools import combinations, permutations
from math import perm

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from blindcal.errors import InputError
from blindcal.pools.prior import (
    all_tuples,
    inclusion,
    log_odds,
    log_prior,
    realized_inclusion,
    tuple_halves,
)
from sizes import count


def _prior_by_enumeration(chances: tuple[float, ...], reviews: int) -> tuple[np.ndarray, np.ndarray]:
    """Tuples by itertools, their prior, with only the log odds taken from the code."""
    tuples = list(permutations(range(len(chances)), reviews))
    logs = log_prior(chances, np.array(tuples))
    weight = np.exp(logs - logs.max())
    return np.array(tuples), weight / weight.sum()


def test_inclusion_probabilities_are_the_asked_ones():
    rng = np.random.default_rng(11)
    for _ in range(count(100, 1000)):
        size = int(rng.integers(2, 8))
        reviews = int(rng.integers(1, min(size, 4) + 1))
        chances = inclusion((rng.random(size) ** 2 + 1e-3).tolist(), reviews)
        tuples, weight = _prior_by_enumeration(chances, reviews)
        for j, chance in enumerate(chances):
            assert weight[(tuples == j).any(axis=1)].sum() == pytest.approx(chance, abs=1e-12)


def test_prior_has_the_greatest_entropy_with_these_chances():
    chances = (0.9, 0.5, 0.35, 0.25)
    sets = list(combinations(range(4), 2))
    member = np.array([[j in chosen for chosen in sets] for j in range(4)], dtype=float)
    found = minimize(
        lambda p: float(np.sum(p * np.log(p))),
        np.full(6, 1 / 6),
        constraints={"type": "eq", "fun": lambda p: member @ p - chances},
        bounds=[(1e-9, 1)] * 6,
        options={"ftol": 1e-14, "maxiter": 500},
    )
    odds = np.exp(log_odds(chances, 2))
    chances = np.array([odds[list(chosen)].prod() for chosen in sets])
    np.testing.assert_allclose(chances / chances.sum(), found.x, atol=1e-5)


def check_odds(chances: np.ndarray, reviews: int, **tolerance: float) -> None:
    """Those who may, and need not, have reviewed have their chances back."""
    open_, left = (chances > 0) & (chances < 1), reviews - int((chances == 1).sum())
    odds = np.array(log_odds(tuple(chances.tolist()), reviews))
    if left and open_.sum() > left:
        np.testing.assert_allclose(realized_inclusion(odds[open_], left), chances[open_], **tolerance)


@pytest.mark.parametrize("size", [2, 3, 6, 12, 60, 400])
def test_odds_meet_chances_close_to_0_and_1(size: int):
    rng, reviews = np.random.default_rng(size), min(3, size - 1)
    check_odds(np.array(inclusion((rng.random(size) ** 6 + 1e-6).tolist(), reviews)), reviews, rtol=1e-10)


@given(st.lists(st.floats(0.001, 1.0), min_size=1, max_size=15), st.integers(1, 5))
def test_scaling_sums_to_the_reviews_keeps_order_and_stays_at_most_1(chances: list[float], reviews: int):
    if len(chances) < reviews:
        with pytest.raises(InputError, match="as many candidates"):
            inclusion(chances, reviews)
        return
    scaled = np.array(inclusion(chances, reviews))
    assert scaled.sum() == pytest.approx(reviews, abs=1e-8)
    assert scaled.max() <= 1.0
    below = scaled < 1.0
    ratio = scaled[below] / np.array(chances)[below]
    assert below.sum() == 0 or np.ptp(ratio) <= 1e-8 * ratio.max()


def test_chances_that_already_sum_to_the_reviews_are_kept_to_the_last_bit_unless_one_exceeds_1():
    assert inclusion([1.0, 0.7, 0.3], 2) == (1.0, 0.7, 0.3)
    assert inclusion([0.7, 0.2, 0.1], 1) == (0.7, 0.2, 0.1)
    assert inclusion([1.5, 0.25, 0.25], 2) == (1.0, 0.5, 0.5)


def test_tuples_are_listed_once_each_in_lexicographic_order():
    for size, reviews in [(1, 1), (4, 1), (5, 3), (4, 4)]:
        listed = all_tuples(size, reviews)
        assert listed.tolist() == [list(one) for one in permutations(range(size), reviews)]
        assert len(listed) == perm(size, reviews)


@pytest.mark.parametrize("outsider", [None, 0, 2])
def test_halves_put_together_are_the_tuples_in_their_order(outsider):
    for size, reviews in [(3, 1), (4, 2), (5, 3), (4, 4), (6, 5)]:
        first, second, place = tuple_halves(size, reviews, outsider)
        pairs = [[*one, *other] for one in first.tolist() for other in second.tolist()]
        assert [pairs[index] for index in place] == all_tuples(size, reviews, outsider).tolist()


@pytest.mark.parametrize("near", [0.9, 0.9997, 1 - 1e-9])
@pytest.mark.parametrize(("size", "reviews"), [(4, 2), (9, 3), (25, 4)])
def test_chances_near_one_are_realized_too(near: float, size: int, reviews: int) -> None:
    rest = (reviews - reviews * near) / (size - reviews)
    check_odds(np.array([near] * reviews + [rest] * (size - reviews)), reviews, rtol=0, atol=1e-12)
