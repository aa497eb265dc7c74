"""Walks over assignments against sums over all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from blindcal.adversaries.coupled_exact import exact_reviewers, network
from blindcal.adversaries.coupled_mcmc import (
    Walks,
    advance_walks,
    estimate_of,
    flat_network,
    start_walks,
    walk,
    without_counts,
)
from blindcal.adversaries.single_paper import View, case_view
from blindcal.policy.policy import Policy
from loaded_conferences import assigned, decided, drawn, loads_of, starred
from random_cases import random_case
from sizes import count

# Of several hundred comparisons a correct walk fails one with a chance below 1e-6: seven standard errors,
# which are themselves estimated from 64 walks.
SPREAD = 7.0


def sparse(rng: np.random.Generator, papers: int, pool: int) -> tuple[list[View], list[int]]:
    """As many people as papers, one review each, pools of a few neighbors on a ring and one far away; in the
    assignment that is returned everybody has the paper of their number."""
    views, truth = [], []
    for paper in range(papers):
        near = {(paper + step) % papers for step in range(pool - 1)}
        near |= {int(rng.choice([one for one in range(papers) if one not in near]))}
        case = random_case(rng, len(near), 1)
        case = replace(case, candidates=tuple(sorted(f"r{one:02d}" for one in near)))
        views.append(case_view(case, Policy(rng.random(len(near))), 1.0))
        truth.append(case.candidates.index(f"r{paper:02d}"))
    return views, truth


def compared(views: list[View], loads: dict[str, int], masses: list[np.ndarray], seed: int) -> float:
    """By how many standard errors walks from eight starts differ from the exact sums, at most: of every
    review the chance of its likeliest author."""
    made = network(views, loads, masses)
    table = flat_network(made)
    walks = without_counts(
        advance_walks(start_walks(made, table, chains=64, starts=8, seed=seed), table, 300, seed)
    )
    walks = advance_walks(walks, table, count(1200, 4000), seed)
    exact = np.concatenate([one.argmax(axis=1) for one in exact_reviewers(made)])
    chance = np.concatenate([one.max(axis=1) for one in exact_reviewers(made)])
    return worst(walks, exact, chance, chance > 0.0)


def worst(walks: Walks, guess: np.ndarray, chance: np.ndarray, named: np.ndarray) -> float:
    """Over the reviews that somebody with a name can have written."""
    right = walks.tally[:, np.arange(guess.size), guess].astype(float)
    mean = right.sum(axis=0) / walks.seen.sum()
    rest = right - mean * walks.seen[:, None]
    error = np.sqrt((rest**2).sum(axis=0) * 64 / 63) / walks.seen.sum()
    return float((np.abs(mean - chance) / np.maximum(error, 1e-4))[named].max(initial=0.0))


@pytest.mark.parametrize("policy", ["chosen", "full", "raw"])
def test_walks_from_eight_starts_equal_sums_over_all_assignments(policy: str) -> None:
    """Full calibration rules tuples out: walks pass them, and do not count them."""
    rng = np.random.default_rng([81, len(policy)])
    for number in range(count(3, 50)):
        views, loads, truth = drawn(rng, 4, people=6)
        assert compared(views, loads, decided(views, truth, policy, rng), number) < SPREAD


def test_walks_pass_papers_of_which_strangers_wrote_several_reviews() -> None:
    rng = np.random.default_rng(88)
    for number in range(count(3, 50)):
        views, loads, truth = starred(rng, 4)
        assert compared(views, loads, decided(views, truth, "chosen", rng), number) < SPREAD


def test_what_was_drawn_is_a_sample_of_all_assignments() -> None:
    """Of each walk one of the assignments that it counted: of every review the share of walks in which its
    likeliest author wrote it is within five standard errors of its chance (false alarms below 1e-4)."""
    rng = np.random.default_rng(89)
    views, loads, truth = drawn(rng, 4, people=6)
    made = network(views, loads, decided(views, truth, "chosen", rng))
    table = flat_network(made)
    walks = start_walks(made, table, chains=2000, starts=8, seed=2)
    walks = advance_walks(without_counts(advance_walks(walks, table, 60, 2)), table, 120, 2)
    effective = walks.seen.sum() ** 2 / (walks.seen**2).sum()
    for number, review in enumerate([row for paper in exact_reviewers(made) for row in paper]):
        who, chance = int(review.argmax()), float(review.max())
        found = np.average(walks.drawn[:, number] == who, weights=walks.seen)
        assert abs(found - chance) < 5 * np.sqrt(chance * (1 - chance) / effective) + 1e-9


def test_walks_mix_where_exchanges_of_two_are_hardly_possible() -> None:
    """Pools of 4 in 16 papers (in 40, of which no sum can be taken, the starts must agree)."""
    rng = np.random.default_rng(82)
    views, truth = sparse(rng, 16, 4)
    loads = loads_of(views, truth)
    assert compared(views, loads, decided(views, truth, "chosen", rng), 5) < SPREAD
    views, truth = sparse(rng, 40, 4)
    loads = loads_of(views, truth)
    made = network(views, loads, decided(views, truth, "chosen", rng))
    found = walk(made, target=0.004, chains=64, starts=8, most=count(10, 60))
    assert found.agrees
    assert found.low <= found.high + 3 * found.error


def ring(rng: np.random.Generator, papers: int, pool: int) -> tuple[list[View], list[int]]:
    """As `sparse` without anybody far away: then few sets of people can be used up after each paper."""
    views, truth = [], []
    for paper in range(papers):
        names = tuple(sorted(f"r{(paper + step) % papers:02d}" for step in range(pool)))
        case = replace(random_case(rng, pool, 1), candidates=names)
        views.append(case_view(case, Policy(rng.random(pool)), 1.0))
        truth.append(names.index(f"r{paper:02d}"))
    return views, truth


def listed(views: list[View], masses: list[np.ndarray]) -> list[dict[str, float]]:
    """For each paper with one review who wrote it, everybody having one: by the sets of people that are used
    up before each paper and after it."""
    before: list[dict[frozenset[str], float]] = [{frozenset(): 1.0}]
    for view, mass in zip(views, masses, strict=True):
        after: dict[frozenset[str], float] = {}
        for used, weight in before[-1].items():
            for name, part in zip(view.names, mass, strict=True):
                if name not in used:
                    after[used | {name}] = after.get(used | {name}, 0.0) + weight * float(part)
        before.append(after)
    ways, found = {frozenset(name for view in views for name in view.names): 1.0}, []
    for number in reversed(range(len(views))):
        chance = dict.fromkeys(views[number].names, 0.0)
        earlier: dict[frozenset[str], float] = {}
        for used, weight in before[number].items():
            for name, part in zip(views[number].names, masses[number], strict=True):
                rest = ways.get(used | {name}, 0.0) * float(part) if name not in used else 0.0
                chance[name] += weight * rest
                earlier[used] = earlier.get(used, 0.0) + rest
        total = sum(chance.values())
        found.append({name: one / total for name, one in chance.items()})
        ways = earlier
    return found[::-1]


def test_walks_in_pools_of_4_in_40_papers_equal_a_list() -> None:
    rng = np.random.default_rng(87)
    views, truth = ring(rng, 40, 4)
    loads, masses = loads_of(views, truth), decided(views, truth, "chosen", rng)
    expected = listed(views, masses)
    made = network(views, loads, masses)
    table = flat_network(made)
    walks = start_walks(made, table, chains=64, starts=8, seed=3)
    walks = advance_walks(without_counts(advance_walks(walks, table, 2000, 3)), table, count(6000, 40_000), 3)
    guess = np.array([int(np.argmax(list(one.values()))) for one in expected])
    chance = np.array([max(one.values()) for one in expected])
    assert worst(walks, guess, chance, chance > 0.0) < SPREAD
    assert estimate_of(walks).agrees


def test_loads_stay_met_and_counts_add_up() -> None:
    views, loads = assigned(np.random.default_rng(84), 5)
    made = network(views, loads, [view.weight for view in views])
    table = flat_network(made)
    walks = advance_walks(start_walks(made, table, chains=8, starts=4, seed=1), table, 500, 2)
    seen = np.repeat(walks.seen[:, None], walks.author.shape[1], axis=1)
    np.testing.assert_allclose(walks.tally.sum(axis=2), seen)
    for chain in range(8):
        who = table.member[table.paper, walks.author[chain]]
        load = np.bincount(who, minlength=table.load.size) - table.load
        expected = np.zeros_like(load)
        if walks.extra[chain] >= 0:
            expected[walks.extra[chain]] += 1
            expected[walks.lacks[chain]] -= 1
        assert (load == expected).all()
