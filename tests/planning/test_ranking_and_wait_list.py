"""The chance of a place on the final list, by all outcomes of all coins; what the list costs, likewise."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest

from blindcal.planning.expected_errors import Figures, expected_figures
from blindcal.planning.ranking_and_wait_list import (
    Rank,
    RankPair,
    acceptance_probabilities,
    both_ranks,
    listed_figures,
    rank,
)
from blindcal.planning.request import WHOLE
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


def test_figures_without_standings_are_not_listed() -> None:
    figures = Figures(0.1, 0.1, 0.1, 0.1, 0.0, 1.0)
    ranks: list[tuple[Rank, Rank]] = [(rank("p", [1.0], 0.1), rank("p", [1.0], 0.9))]
    with pytest.raises(ValueError, match="standings"):
        listed_figures([figures], ranks, [WHOLE], {WHOLE: 1})
