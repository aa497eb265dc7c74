"""Points: from papers and scores alone; what a change of one author moves, by trying all of them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blindcal.fitting.history import PastConference
from blindcal.private_sharing import differences, points_of, sums_of, upright_scores

PAPER = ("1", "1", "2", "2", "2", "3")
SCORE = np.array([7.0, 4.0, 3.0, 5.0, 3.0, 9.0])


def past(authors: tuple[str, ...], better: str = "high") -> PastConference:
    return PastConference("A", "A", PAPER, authors, SCORE, np.full(6, np.nan), None, better)


def test_a_difference_is_the_score_less_what_the_others_let_expect() -> None:
    """By the covariance of the scores of one paper, written out, where all reviewers are alike."""
    code = np.array([0, 0, 1, 1, 1, 2])
    z = (SCORE - SCORE.mean()) / SCORE.std()
    pairs = [(i, j) for i in range(6) for j in range(6) if i != j and code[i] == code[j]]
    part = np.mean([z[i] * z[j] for i, j in pairs])
    assert 0.05 < part < 0.95
    found = differences(SCORE, code)
    for i in range(6):
        others = [j for j in range(6) if j != i and code[j] == code[i]]
        covariance = np.full((len(others), len(others)), part) + (1 - part) * np.eye(len(others))
        expected = np.full(len(others), part) @ np.linalg.solve(covariance, z[others]) if others else 0.0
        assert found[i] == pytest.approx(z[i] - expected)


def test_points_split_a_review_by_its_difference() -> None:
    points = points_of(upright_scores(past(("a",) * 6)))
    found = differences(SCORE, np.array([0, 0, 1, 1, 1, 2]))
    for paper, score, difference in zip(PAPER, SCORE, found, strict=True):
        assert abs(points.above[paper, score] - 50 * (1 + np.clip(difference, -1, 1))) <= 0.5 + 1e-9
    counted = np.array([2 * points.above[one] / 100 - 1 for one in zip(PAPER, SCORE, strict=True)])
    assert points.reviews == 6
    assert points.mean == pytest.approx(counted.mean())
    assert points.variance == pytest.approx(counted.var())
    assert points.gain == pytest.approx((np.abs(found) < 1).mean())


def test_low_scores_may_be_the_better_ones() -> None:
    authors = ("a", "b", "a", "b", "c", "c")
    high, low = past(authors), past(authors, "low")
    above, below = sums_of(points_of(upright_scores(high)), high, ["a", "b", "c"])
    turned, rest = sums_of(points_of(upright_scores(low)), low, ["a", "b", "c"])
    assert (np.abs(turned - below) <= 2).all()  # a point may go either way where it is split in halves
    assert (turned + rest == above + below).all()


def test_one_author_moves_one_reviews_points_and_nothing_else_whoever_wrote_the_rest() -> None:
    """All authors of six reviews among three people of the list and one who is not on it."""
    people, everyone = ["a", "b", "c"], "abcx"
    tables = {
        authors: sums_of(points_of(upright_scores(past(authors))), past(authors), people)
        for authors in product(everyone, repeat=6)
    }
    largest, squares = 0, 0
    for authors, sums in tables.items():
        for place, other in product(range(6), everyone):
            changed = sums - tables[(*authors[:place], other, *authors[place + 1 :])]
            moved = int(np.abs(changed).sum())
            listed = (authors[place] in people) + (other in people)
            assert moved == (100 * listed if other != authors[place] else 0)
            largest, squares = max(largest, moved), max(squares, int((changed**2).sum()))
    assert largest == 200
    assert squares <= 20_000


@given(st.permutations(range(6)))
def test_the_order_of_rows_leaves_no_trace(order: list[int]) -> None:
    authors = ("a", "b", "a", "b", "c", "c")
    one = past(authors)
    two = PastConference(
        "A",
        "A",
        [PAPER[i] for i in order],
        [authors[i] for i in order],
        SCORE[order],
        one.confidence,
        None,
        "high",
    )
    assert points_of(upright_scores(one)) == points_of(upright_scores(two))
    first, second = (sums_of(points_of(upright_scores(p)), p, ["a", "b", "c"]) for p in (one, two))
    assert (first == second).all()


def test_papers_of_one_review_each_are_compared_with_all() -> None:
    found = differences(np.array([1.0, 2.0, 3.0]), np.array([0, 1, 2]))
    assert found == pytest.approx([-np.sqrt(1.5), 0.0, np.sqrt(1.5)])
