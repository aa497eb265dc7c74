"""Questions about single papers, by hand; whole conferences are in test_findings."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from blindcal.adversaries.single_paper import (
    View,
    answers,
    authors,
    bits_about_reviewer,
    case_view,
    links,
    rises,
)
from blindcal.adversaries.single_paper import _largest as largest
from blindcal.policy.policy import Policy
from random_cases import crowded, random_case
from sizes import count


def a_view(weight: list[float], accept: list[float]) -> View:
    rows = np.array([[0, 1], [1, 0], [0, 2], [2, 0]])
    accepts = {"chosen": np.array(accept)}
    return View("p", ("a", "b", "c"), (1.0, 2.0), rows, np.array(weight), np.zeros(4), accepts)


def test_answers_by_hand() -> None:
    view = a_view([0.4, 0.3, 0.2, 0.1], [1.0, 0.0, 1.0, 0.0])
    alone, decided = answers(view, view.alone), answers(view, view.mass("chosen"))
    # Low review: a .6, b .3, c .1; high review: b .4, a .4, c .2. a reviewed it surely, b with .7, c with .3.
    assert alone == pytest.approx(
        {"author": 0.5, "three guesses": 1.0, "reviewed at all": 0.8, "whole tuple": 0.4}
    )
    # Accepted: a wrote the low review. Rejected: a wrote the high one.
    assert decided == pytest.approx(
        {"author": 0.85, "three guesses": 1.0, "reviewed at all": 0.8, "whole tuple": 0.7}
    )
    assert rises(view, view.mass("chosen")).max() == pytest.approx(0.6)


def test_nobody_is_no_guess() -> None:
    view = replace(a_view([0.4, 0.3, 0.2, 0.1], [1.0] * 4), names=("a", "b", "*"))
    view = replace(view, rows=np.where(view.rows == 2, -1, view.rows))
    found = answers(view, view.alone)
    assert found["author"] == pytest.approx((0.6 + 0.4) / 2)
    assert found["whole tuple"] == pytest.approx(0.4)
    assert found["reviewed at all"] == pytest.approx((1.0 + 0.7) / 2)
    assert authors(view, view.alone)[0, 0].tolist() == pytest.approx([0.6, 0.3, 0.0])
    assert bits_about_reviewer(view, view.mass("chosen")) == pytest.approx(0.0, abs=1e-12)


def test_one_bit() -> None:
    rows, accept = np.array([[0], [1]]), {"chosen": np.array([1.0, 0.0])}
    view = View("p", ("a", "b"), (1.0,), rows, np.array([0.5, 0.5]), np.zeros(2), accept)
    assert bits_about_reviewer(view, view.mass("chosen")) == pytest.approx(1.0)
    seen = replace(view, outcome={"chosen": np.array([1.0, 0.0])})
    assert bits_about_reviewer(seen, seen.mass("chosen")) == pytest.approx(1.0)


def test_the_largest_of_independent_numbers() -> None:
    rng = np.random.default_rng(2)
    for _ in range(count(50, 500)):
        owners = int(rng.integers(1, 5))
        values = rng.integers(0, 4, (owners, 2)) / 4
        first = rng.random(owners)
        chances = np.stack([first, 1 - first], axis=1)
        expected = sum(
            max(values[i, d] for i, d in enumerate(way)) * np.prod([chances[i, d] for i, d in enumerate(way)])
            for way in product((0, 1), repeat=owners)
        )
        owner = np.repeat(np.arange(owners), 2)
        assert largest(values.ravel(), chances.ravel(), owner) == pytest.approx(expected, abs=1e-12)


def test_one_paper_has_nothing_to_link() -> None:
    view = a_view([0.4, 0.3, 0.2, 0.1], [1.0] * 4)
    assert links([view], [view.alone]) == [0.0]


def test_a_sample_of_tuples_says_nearly_the_same() -> None:
    """20,000 tuples: six standard errors of a share are .022, for four numbers and two masses."""
    case = random_case(np.random.default_rng(8), 6, 2)
    listed = case_view(case, Policy(np.full(len(case.tuples), 0.5)), 1.0)
    many = crowded(case)
    size = len(many.layout.edges) - 1
    sampled = case_view(many, Policy(np.full(size, 0.5)), 1.0)
    assert not sampled.exact
    for policy in ("chosen", "full"):
        exact, near = (answers(one, one.mass(policy)) for one in (listed, sampled))
        assert near == pytest.approx(exact, abs=0.022)
