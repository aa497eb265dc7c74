"""The chance of a place on the final list, by all outcomes of all coins; what the list costs, likewise."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blindcal.planning.expected_errors import expected_figures
from blindcal.planning.ranking_and_wait_list import (
    ACCEPT,
    DECIMALS,
    REJECT,
    WAIT,
    RankPair,
    acceptance_probabilities,
    both_ranks,
    cuts,
    cuts_by_track,
    cuts_from_json,
    cuts_json,
    list_decision,
    listed_figures,
    rank,
)
from blindcal.planning.request import WHOLE, Quota
from blindcal.posterior.belief import Belief
from chances import within
from sizes import count


def contest(rng: np.random.Generator, papers: int, coarse: bool) -> tuple[list[RankPair], np.ndarray]:
    favor = rng.random((papers, 2))
    favor = np.round(favor * 4) / 4 if coarse else favor
    ranks = [
        (rank(f"p{i}", [1.0], low), rank(f"p{i}", [1.0], high))
        for i, (low, high) in enumerate(favor.tolist())
    ]
    chance = np.where(rng.random(papers) < 0.3, rng.integers(0, 2, papers), rng.random(papers))
    return ranks, chance


@pytest.mark.parametrize("seed", range(count(12, 200)))
def test_chances_of_a_place_by_every_outcome_of_every_coin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    papers = int(rng.integers(1, 8))
    ranks, chance = contest(rng, papers, coarse=bool(seed % 2))
    for places in range(papers + 1):
        found = acceptance_probabilities(ranks, chance.tolist(), places)
        expected = np.zeros((papers, 2))
        for coins in product((0, 1), repeat=papers):
            drawn = [pair[d] for pair, d in zip(ranks, coins, strict=True)]
            best = set(sorted(drawn)[:places])
            each = [p if d else 1 - p for p, d in zip(chance, coins, strict=True)]
            for i, d in enumerate(coins):
                others = prod(one for j, one in enumerate(each) if j != i)
                expected[i, d] += others * (drawn[i] in best)
        assert np.allclose(found, expected, atol=1e-12)


def test_chances_of_a_place_among_many_by_simulation() -> None:
    """600 papers, 150 places, 4,000 draws: exact binomial intervals, false alarms 1e-6 together."""
    rng = np.random.default_rng(3)
    ranks, chance = contest(rng, 600, coarse=False)
    found = acceptance_probabilities(ranks, chance.tolist(), 150)
    order = {one: at for at, one in enumerate(sorted(r for pair in ranks for r in pair))}
    at = np.array([[order[one] for one in pair] for pair in ranks])
    coins = rng.random((4000, 600)) < chance
    drawn = np.where(coins, at[:, 1], at[:, 0])
    passed = drawn <= np.partition(drawn, 149, axis=1)[:, 149:150]
    assert (passed.sum(axis=1) == 150).all()
    for decision in (0, 1):
        seen = coins == bool(decision)
        hits, draws = (passed & seen).sum(axis=0), seen.sum(axis=0)
        for one, n, p in zip(hits.tolist(), draws.tolist(), found[:, decision].tolist(), strict=True):
            assert within(one, n, min(p, 1.0), tests=1200)
    exactly = chance * found[:, 1] + (1 - chance) * found[:, 0]
    assert exactly.sum() == pytest.approx(150, abs=1e-9)


def world(rng: np.random.Generator, papers: int) -> list[tuple[Belief, np.ndarray]]:
    beliefs = [Belief(rng.dirichlet(np.ones(3)), rng.random(3)) for _ in range(papers)]
    return [
        (belief, np.where(rng.random(3) < 0.3, np.round(rng.random(3)), rng.random(3))) for belief in beliefs
    ]


@pytest.mark.parametrize("seed", range(count(6, 60)))
def test_what_the_list_costs_by_every_secret_quality_and_coin(seed: int) -> None:
    """Wrong and against the evidence: over all secrets, good or not, and all private decisions."""
    rng = np.random.default_rng(seed)
    papers = world(rng, 4)
    figures = [expected_figures(belief, accept, 1.0) for belief, accept in papers]
    ranks = [both_ranks(f"p{i}", [1.0], one) for i, one in enumerate(figures)]
    found = listed_figures(figures, ranks, [WHOLE] * 4, {WHOLE: 2})
    wrong, against = np.zeros(4), np.zeros(4)
    for coins in product((0, 1), repeat=4):
        drawn = [pair[d] for pair, d in zip(ranks, coins, strict=True)]
        final = [one in sorted(drawn)[:2] for one in drawn]
        chance = [
            float(belief.weight @ (accept if d else 1 - accept))
            for (belief, accept), d in zip(papers, coins, strict=True)
        ]
        for i, (belief, accept) in enumerate(papers):
            others = prod(p for j, p in enumerate(chance) if j != i)
            for w, favor, p in zip(belief.weight, belief.favor, accept, strict=True):
                mass = others * w * (p if coins[i] else 1 - p)
                wrong[i] += mass * (1 - favor if final[i] else favor)
                against[i] += mass * (favor != 0.5 and final[i] != (favor > 0.5))
    assert np.allclose([one.wrong for one in found], wrong, atol=1e-12)
    assert np.allclose([one.against for one in found], against, atol=1e-12)
    for old, new in zip(figures, found, strict=True):
        assert (old.wrong_raw, old.gap, old.standings) == (new.wrong_raw, new.gap, new.standings)


def test_tracks_do_not_compete() -> None:
    rng = np.random.default_rng(6)
    papers = world(rng, 5)
    figures = [expected_figures(belief, accept, 1.0) for belief, accept in papers]
    ranks = [both_ranks(f"p{i}", [1.0], one) for i, one in enumerate(figures)]
    together = listed_figures(figures, ranks, ["a", "b", "a", "b", "a"], {"a": 1, "b": 1})
    a = listed_figures(figures[::2], ranks[::2], [WHOLE] * 3, {WHOLE: 1})
    b = listed_figures(figures[1::2], ranks[1::2], [WHOLE] * 2, {WHOLE: 1})
    assert together[::2] == a
    assert together[1::2] == b
    empty = listed_figures(figures, ranks, ["a"] * 5, {"a": 1, "b": 1})
    assert empty == listed_figures(figures, ranks, [WHOLE] * 5, {WHOLE: 1})


# --- The final list: exactly so many, the best ones, ties by public data, and cuts to compare with later.


PAPERS = st.lists(
    st.tuples(
        st.floats(0, 1) | st.sampled_from([0.25, 0.5]), st.lists(st.integers(1, 4), min_size=1, max_size=3)
    ),
    min_size=1,
    max_size=12,
)


@given(PAPERS, st.data())
def test_exactly_so_many_are_accepted_and_wait(
    papers: list[tuple[float, list[int]]], data: st.DataObject
) -> None:
    accept = data.draw(st.integers(0, len(papers)))
    wait = data.draw(st.integers(0, len(papers) - accept))
    ranks = [rank(f"p{i}", [float(s) for s in scores], favor) for i, (favor, scores) in enumerate(papers)]
    cut = cuts(ranks, accept, wait)
    found = [list_decision(one, cut) for one in ranks]
    assert Counter(found) == {
        word: number
        for word, number in ((ACCEPT, accept), (WAIT, wait), (REJECT, len(papers) - accept - wait))
        if number
    }
    for (favor, _), word in zip(papers, found, strict=True):
        for (other, _), theirs in zip(papers, found, strict=True):
            if (ACCEPT, WAIT, REJECT).index(word) < (ACCEPT, WAIT, REJECT).index(theirs):
                assert round(favor, DECIMALS) >= round(other, DECIMALS)
    again = cuts_from_json(json.loads(json.dumps(cuts_json({WHOLE: cut}))))
    assert again == {WHOLE: cut}
    assert [list_decision(one, again[WHOLE]) for one in ranks] == found


def test_ties_go_to_the_better_mean_as_it_is_written_then_to_the_smaller_id() -> None:
    """.1 + .2 and .3 are the same score here, and p2 comes before p10."""
    best, second, third, last = (
        rank("p9", [0.1, 0.6], 0.5),
        rank("p2", [0.1, 0.2], 0.5 + 4e-10),
        rank("p10", [0.3, 0.0], 0.5 - 4e-10),
        rank("p1", [9.0], 0.49),
    )
    assert best < second < third < last
    assert best[1] == -Fraction(7, 20)


def test_each_track_is_a_list_of_its_own() -> None:
    ranks = [rank(f"p{i}", [1.0], favor) for i, favor in enumerate((0.9, 0.8, 0.7, 0.1, 0.2))]
    tracks = ["a", "a", "a", "b", "b"]
    found = cuts_by_track(ranks, tracks, Quota({"a": 1, "b": 1}, {"a": 1}))
    words = [list_decision(one, found[track]) for one, track in zip(ranks, tracks, strict=True)]
    assert words == [ACCEPT, WAIT, REJECT, REJECT, ACCEPT]


def test_a_paper_that_comes_later_must_rank_above_the_best_one_that_was_not_accepted() -> None:
    ranks = [rank(f"p{i}", [1.0], favor) for i, favor in enumerate((0.9, 0.7, 0.5))]
    cut = cuts(ranks, 1, 1)
    later = {
        favor: list_decision(rank("p7", [1.0], favor), cut) for favor in (0.95, 0.71, 0.7, 0.51, 0.5, 0.4)
    }
    assert list(later.values()) == [ACCEPT, ACCEPT, WAIT, WAIT, REJECT, REJECT]
    assert list_decision(rank("p0", [1.0], 0.7), cut) == ACCEPT, "at a tie the smaller id ranks above"


def test_where_all_have_a_place_there_is_no_cut() -> None:
    ranks = [rank(f"p{i}", [1.0], 0.5) for i in range(3)]
    assert cuts(ranks, 3, 0) == (None, None)
    assert cuts(ranks, 2, 1) == (ranks[2], None)
    assert {list_decision(rank("late", [0.0], 0.0), (None, None))} == {ACCEPT}


@given(PAPERS, st.integers(0, 12), st.floats(0, 1), st.floats(-1e9, 1e9))
def test_where_nobody_is_accepted_nobody_is_later(
    papers: list[tuple[float, list[int]]], wait: int, favor: float, score: float
) -> None:
    """Also in a track that had no paper."""
    ranks = [rank(f"p{i}", [float(s) for s in scores], value) for i, (value, scores) in enumerate(papers)]
    for known in (ranks, []):
        cut = cuts_from_json(json.loads(json.dumps(cuts_json({WHOLE: cuts(known, 0, wait)}))))[WHOLE]
        later = list_decision(rank("", [score], favor), cut)
        assert later == REJECT if wait == 0 else later != ACCEPT
