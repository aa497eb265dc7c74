"""Pools for an assignment already made: each follows from its assumption alone."""

from __future__ import annotations

import numpy as np
import pytest

from blindcal.assignment.candidates import ASSUMPTIONS, assumed_pools
from blindcal.assignment.similarity import Similarity
from blindcal.errors import InputError

SIMILARITY = Similarity.dense(
    ["p", "q"],
    ["a", "b", "c", "d"],
    [[6.0, 1.0, 1.0, 0.0], [1.0, 1.0, 2.0, 4.0]],
    [[False, False, False, False], [False, False, False, True]],
)


def test_each_assumption_has_its_pools() -> None:
    assert assumed_pools(SIMILARITY, "eligible", 2) == {
        "p": dict.fromkeys("abcd", 0.5),
        "q": dict.fromkeys("abc", pytest.approx(2 / 3)),
    }
    assert assumed_pools(SIMILARITY, "bidders", 2) == {
        "p": dict.fromkeys("abc", pytest.approx(2 / 3)),
        "q": dict.fromkeys("abc", pytest.approx(2 / 3)),
    }
    # 6 : 1 : 1 for two places is a chance of 1 and the other place shared.
    assert assumed_pools(SIMILARITY, "similarity", 2) == {
        "p": {"a": 1.0, "b": 0.5, "c": 0.5},
        "q": {"a": pytest.approx(0.5), "b": pytest.approx(0.5), "c": pytest.approx(1.0)},
    }


def test_chances_sum_to_the_reviews_and_spare_conflicts() -> None:
    rng = np.random.default_rng(1)
    value, barred = rng.random((9, 12)), rng.random((9, 12)) < 0.3
    names = [f"p{i}" for i in range(9)], [f"r{j:02d}" for j in range(12)]
    for assume in ASSUMPTIONS:
        for index, pool in enumerate(
            assumed_pools(Similarity.dense(*names, value, barred), assume, 3).values()
        ):
            assert sum(pool.values()) == pytest.approx(3)
            assert max(pool.values()) <= 1
            assert not any(barred[index, names[1].index(name)] for name in pool)


def test_what_is_refused() -> None:
    with pytest.raises(
        InputError, match="`assume` must be one of eligible, bidders, similarity, found 'best'"
    ):
        assumed_pools(SIMILARITY, "best", 2)
    with pytest.raises(InputError, match="`per_paper` must be at least 1, found 0"):
        assumed_pools(SIMILARITY, "eligible", 0)
    with pytest.raises(
        InputError, match="must have 4 candidates if `assume` is bidders, found 'p' with 3, 'q'"
    ):
        assumed_pools(SIMILARITY, "bidders", 4)
