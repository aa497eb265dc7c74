"""Errors of a ranking against SciPy and against loops that follow the definitions word by word."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import kendalltau

from blindcal.simulation.metrics import chance_in_best, kendall_tau_distance, messy_middle_error, middle

TIED = arrays(np.float64, st.integers(2, 30), elements=st.integers(-4, 4).map(float))


def test_kendall_tau_is_scipys_without_ties():
    rng = np.random.default_rng(1)
    truth = rng.standard_normal((3, 1, 70))
    estimate = truth * rng.standard_normal((3, 4, 1)) + rng.standard_normal((3, 4, 70))
    distance = kendall_tau_distance(truth, estimate)
    assert distance.shape == (3, 4)
    for index in np.ndindex(3, 4):
        tau = kendalltau(truth[index[0], 0], estimate[index]).statistic
        assert distance[index] == pytest.approx((1 - tau) / 2, abs=1e-12)


@given(TIED, st.randoms(use_true_random=False))
def test_kendall_tau_with_ties_is_scipys_tau_b_undone(truth, random):
    estimate = np.array(random.choices(range(-3, 4), k=truth.size), dtype=float)
    pairs = truth.size * (truth.size - 1) / 2
    ties = [
        (np.unique(x, return_counts=True)[1] * (np.unique(x, return_counts=True)[1] - 1)).sum() / 2
        for x in (truth, estimate)
    ]
    if pairs in ties:
        assert kendall_tau_distance(truth, estimate) == 0.5
        return
    tau_a = kendalltau(truth, estimate).statistic * np.sqrt((pairs - ties[0]) * (pairs - ties[1])) / pairs
    assert kendall_tau_distance(truth, estimate) == pytest.approx((1 - tau_a) / 2, abs=1e-12)


def test_many_papers_overflow_nothing():
    truth = np.arange(1000.0)
    assert kendall_tau_distance(truth, truth) == 0
    assert kendall_tau_distance(truth, -truth) == 1


def test_huge_and_tiny_differences_keep_their_sign():
    assert kendall_tau_distance([0.0, 5e-324], [-1e308, 1e308]) == 0
    assert kendall_tau_distance([5e-324, 0.0], [-1e308, 1e308]) == 1


def rank_from_best(values):
    """1 for the best; no ties expected."""
    return {int(paper): place for place, paper in enumerate(np.argsort(-values), start=1)}


def test_messy_middle_counts_ranks_11_to_40_decided_wrongly_at_25():
    rng = np.random.default_rng(2)
    truth = rng.standard_normal((20, 100))
    estimate = truth + rng.standard_normal((20, 100))
    for one, guess, error in zip(truth, estimate, messy_middle_error(truth, estimate), strict=True):
        true, seen = rank_from_best(one), rank_from_best(guess)
        wrong = sum((true[i] <= 25) != (seen[i] <= 25) for i in range(100) if 11 <= true[i] <= 40)
        assert error == pytest.approx(wrong / 30)


@given(st.integers(4, 60), st.integers(0, 10**6))
def test_middle_errors_follow_their_definition_at_any_size(papers, seed):
    rng = np.random.default_rng(seed)
    truth, estimate = rng.standard_normal((2, papers))
    true, seen = rank_from_best(truth), rank_from_best(estimate)
    first, cut, last = middle(papers)
    wrong = [(true[i] <= cut) != (seen[i] <= cut) for i in range(papers) if first < true[i] <= last]
    assert messy_middle_error(truth, estimate) == pytest.approx(np.mean(wrong))


@given(TIED, st.integers(0, 10**6))
def test_ties_at_the_cut_cost_what_a_fair_coin_costs_on_average(estimate, seed):
    rng = np.random.default_rng(seed)
    cut = int(rng.integers(1, estimate.size + 1))
    places = cut - (estimate > np.sort(estimate)[-cut]).sum()
    tied = estimate == np.sort(estimate)[-cut]
    chance = np.where(tied, places / tied.sum(), estimate > np.sort(estimate)[-cut])
    assert chance.sum() == pytest.approx(cut)
    assert chance_in_best(estimate, cut) == pytest.approx(chance)


@given(st.integers(4, 40), st.integers(0, 10**6))
def test_permuting_papers_changes_no_error(papers, seed):
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal(papers)
    estimate = np.round(truth + rng.standard_normal(papers))
    order = rng.permutation(papers)
    for error in (kendall_tau_distance, messy_middle_error):
        assert error(truth[order], estimate[order]) == pytest.approx(error(truth, estimate))
        assert error(truth, truth) == 0


def test_the_middle_is_never_empty_and_holds_the_cut():
    assert (middle(100), middle(30), middle(1000)) == ((10, 25, 40), (3, 8, 12), (100, 250, 400))
    for papers in range(2, 500):
        first, cut, last = middle(papers)
        assert 0 <= first < last <= papers
        assert first <= cut <= last
