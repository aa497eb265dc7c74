"""Assignments: simple, with the loads asked for, and uniform (enumeration; false alarm 1e-6 each)."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, chi2, ks_2samp

from blindcal.assignments import matchings as assignments
from blindcal.assignments.matchings import even_loads, stacked_assignments, uniform_assignments
from blindcal.errors import InputError
from sizes import count

FALSE_ALARM = 1e-6


def every_assignment(papers, per_paper, loads):
    """All simple assignments with these loads, by trying every choice of reviewers for every paper."""
    sets = list(combinations(range(len(loads)), per_paper))
    return [
        drawn
        for drawn in product(sets, repeat=papers)
        if (np.bincount(np.ravel(drawn), minlength=len(loads)) == loads).all()
    ]


def frequencies(drawn):
    return Counter(tuple(map(tuple, np.sort(one, axis=-1).tolist())) for one in drawn)


def assert_uniform(drawn, graphs):
    seen = frequencies(drawn)
    assert set(seen) <= set(graphs)
    expected = len(drawn) / len(graphs)
    statistic = sum((seen[graph] - expected) ** 2 / expected for graph in graphs)
    assert chi2.sf(statistic, len(graphs) - 1) > FALSE_ALARM


CASES = [
    (4, 2, [2, 2, 2, 2]),
    (4, 2, [4, 2, 1, 1]),
    (5, 2, [3, 3, 2, 2]),
    (3, 3, [3, 3, 2, 1]),
    (3, 1, [1, 2]),
]


@pytest.mark.parametrize(("papers", "per_paper", "loads"), CASES)
def test_every_assignment_is_equally_likely(papers, per_paper, loads):
    graphs = every_assignment(papers, per_paper, loads)
    draws = count(30, 300) * len(graphs)
    drawn = uniform_assignments(np.random.default_rng(5), draws, papers, len(loads), per_paper, loads)
    assert_uniform(drawn, graphs)


@pytest.mark.parametrize(("papers", "per_paper", "loads"), CASES)
def test_the_chain_of_trades_forgets_its_start(monkeypatch, papers, per_paper, loads):
    monkeypatch.setattr(assignments, "_MOST_COLLISIONS", -1.0)
    graphs = every_assignment(papers, per_paper, loads)
    draws = count(20, 200) * len(graphs)
    drawn = uniform_assignments(np.random.default_rng(6), draws, papers, len(loads), per_paper, loads)
    assert_uniform(drawn, graphs)


def shared_pairs(drawn):
    """Pairs of papers with two or more common reviewers, in each assignment."""
    member = np.zeros((*drawn.shape[:2], drawn.max() + 1))
    np.put_along_axis(member, drawn, 1.0, axis=-1)
    common = member @ member.swapaxes(-1, -2)
    return (np.triu(common >= 2, k=1)).sum(axis=(-1, -2))


def test_the_chain_agrees_with_rejection_at_the_papers_size(monkeypatch):
    rng, draws = np.random.default_rng(7), count(400, 4000)
    exact = shared_pairs(uniform_assignments(rng, draws, 40, 40, 3))
    monkeypatch.setattr(assignments, "_MOST_COLLISIONS", -1.0)
    chained = shared_pairs(uniform_assignments(rng, draws, 40, 40, 3))
    assert ks_2samp(exact, chained).pvalue > FALSE_ALARM
    assert exact.mean() > 3


def test_what_rejection_leaves_is_finished_by_the_chain(monkeypatch):
    monkeypatch.setattr(assignments, "_MOST_DRAWS", 1)
    graphs = every_assignment(4, 2, [2, 2, 2, 2])
    drawn = uniform_assignments(np.random.default_rng(8), 20 * len(graphs), 4, 4, 2)
    assert_uniform(drawn, graphs)


def test_stacking_prefers_two_squares_as_its_docstring_says():
    graphs = every_assignment(4, 2, [2, 2, 2, 2])
    squares = {graph for graph in graphs if len(set(graph)) == 2}
    assert (len(squares), len(graphs)) == (18, 90)
    draws = count(4000, 100_000)
    for chance, drawn in (
        (1 / 3, stacked_assignments(np.random.default_rng(9), draws, 4, 2)),
        (1 / 5, uniform_assignments(np.random.default_rng(9), draws, 4, 4, 2)),
    ):
        seen = sum(n for graph, n in frequencies(drawn).items() if graph in squares)
        assert binomtest(seen, draws, chance).pvalue > FALSE_ALARM


@given(st.integers(1, 12), st.integers(1, 12), st.data())
def test_assignments_are_simple_and_keep_even_loads(papers, reviewers, data):
    per_paper = data.draw(st.integers(1, reviewers))
    drawn = uniform_assignments(np.random.default_rng(3), 3, papers, reviewers, per_paper)
    assert drawn.shape == (3, papers, per_paper)
    for one in drawn:
        assert all(len(set(row)) == per_paper for row in one.tolist())
        loads = np.bincount(one.ravel(), minlength=reviewers)
        assert sorted(loads, reverse=True) == even_loads(papers, reviewers, per_paper).tolist()


def test_uneven_loads_fall_on_anyone():
    drawn = uniform_assignments(np.random.default_rng(4), 3000, 4, 3, 2)
    heavy = (np.stack([np.bincount(one.ravel(), minlength=3) for one in drawn]) == 3).sum(axis=0)
    assert all(binomtest(int(n), 3000, 2 / 3).pvalue > FALSE_ALARM for n in heavy)


def test_a_large_dense_conference_is_drawn():
    drawn = uniform_assignments(np.random.default_rng(2), 1, 300, 100, 6)[0]
    assert (np.bincount(drawn.ravel()) == 18).all()
    assert (np.diff(np.sort(drawn, axis=1), axis=1) > 0).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 5, 2, 3), "per_paper must be at most the number of reviewers 2, found 3"),
        ((1, 0, 2, 1), "papers must be at least 1, found 0"),
        ((1, 2, 2, 1, [2, 1]), "loads must lie in 0..2 and sum to 2"),
        ((1, 2, 2, 1, [3, -1]), "loads must lie in 0..2 and sum to 2"),
        ((1, 2, 2, 1, [1.0, 1.0]), "loads must be 2 integers"),
    ],
)
def test_impossible_sizes_are_refused_by_name(arguments, message):
    with pytest.raises(InputError, match=message):
        uniform_assignments(np.random.default_rng(1), *arguments)


def test_stacking_what_cannot_be_stacked_is_refused(monkeypatch):
    monkeypatch.setattr(assignments, "_MOST_DRAWS", 0)
    with pytest.raises(InputError, match="almost never"):
        stacked_assignments(np.random.default_rng(1), 1, 5, 5)
