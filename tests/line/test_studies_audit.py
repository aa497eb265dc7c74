"""The studies of docs/evidence/adversaries.md, against plain loops."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product
from math import exp

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from studies import audit, misfits, no_history, no_history_sizes

from blindcal.checks import Array, Integers
from blindcal.policy.guarantee import Guarantee
from sizes import count


def test_conferences_of_the_audit_have_even_loads_and_pools_with_the_truth() -> None:

    setting = audit.Setting(12, 3, 3, 6)
    cases, truth = audit.conference(setting, 1)
    assert set(Counter(name for names in truth for name in names).values()) == {3}
    for case, names in zip(cases, truth, strict=True):
        assert set(names) < set(case.candidates)
        assert (len(case.candidates), list(case.scores)) == (6, sorted(case.scores))
    view = audit.decided((cases[0], truth[0], 0.5), Guarantee("steady", epsilon=2.0))
    assert [view.names[one] for one in view.truth] == list(truth[0])
    assert view.outcome is not None


def test_what_decisions_reveal_without_a_history() -> None:
    """One conference with dictionaries: assignments weighed by densities, decisions by regression."""

    rng = np.random.default_rng(3)
    score, offset = rng.normal(size=8), rng.normal(size=4)
    every = [tuple(row) for row in no_history.EVERY.tolist()]
    assert len(every) == len(set(every)) == 1440
    told = no_history.decisions(score)
    blind, knowing = no_history.ignorant(score), no_history.informed(score, offset)
    likely, likelier = [], []
    for place in range(0, 1440, 90):
        who = every[place]
        cover = [
            [(i // 2 == j // 2) + 0.49 * (who[i] == who[j]) + 0.25 * (i == j) for j in range(8)]
            for i in range(8)
        ]
        likely.append(multivariate_normal.pdf(score, np.zeros(8), cover) / blind[place])
        paper = [[1.25, 1.0], [1.0, 1.25]]
        gaps = [score[i] - offset[who[i]] for i in range(8)]
        density = [multivariate_normal.logpdf(gaps[i : i + 2], np.zeros(2), paper) for i in (0, 2, 4, 6)]
        likelier.append(exp(sum(density)) / knowing[place])
        quality = [
            np.array([float(i // 2 == paper) for i in range(8)]) @ np.linalg.solve(cover, score)
            for paper in range(4)
        ]
        assert told[place] == sum(2**i for i, one in enumerate(quality) if one > 0)
    assert likely == pytest.approx([likely[0]] * len(likely))
    assert likelier == pytest.approx([likelier[0]] * len(likelier))
    for weight, seen in product((blind, knowing), (np.zeros(1440, dtype=int), told)):
        named, linked = (defaultdict(lambda: defaultdict(float)) for _ in range(2))
        for who, mass, saw in zip(every, weight, seen, strict=True):
            for one in range(8):
                named[one, saw][who[one]] += mass
                other = next(i for i in range(8) if i != one and who[i] == who[one])
                linked[one, saw][other] += mass
        for found, masses in ((no_history.author, named), (no_history.link, linked)):
            assert found(weight, seen) == pytest.approx(sum(max(m.values()) for m in masses.values()) / 8)
    assert no_history.author(blind, told) == pytest.approx(0.25)


def test_walks_find_what_going_through_all_assignments_finds_without_a_history() -> None:
    """Four papers: densities and decisions of all 1,440 assignments, and what walks of both kinds pass.

    Walks are far from independent: with 300 sweeps they are off by .06 at most, with 1,200 by .04. Leaving
    the decisions out would be off by more than .2. Strangers' names are a guess, so they are asked about
    pairs of reviews.
    """
    every, moved = no_history.EVERY, 0.0
    for seed in (1, 2):
        rng = np.random.default_rng([56, 4, seed])
        offset, truth = 0.7 * rng.standard_normal(4), no_history_sizes.drawn_assignment(4, rng)
        score = np.repeat(rng.standard_normal(4), 2) + offset[truth] + 0.5 * rng.standard_normal(8)
        log, quality = no_history_sizes.posterior(score, no_history_sizes.Seen(score).pull, every)
        blind, knowing = no_history.ignorant(score), no_history.informed(score, offset)
        assert np.exp(log) / np.exp(log).sum() == pytest.approx(blind, rel=1e-9)
        told = no_history.decisions(score)
        assert ((quality > 0) @ (1 << np.arange(4)) == told).all()
        right = told == told[(every == truth).all(axis=1).argmax()]
        for (known, weight), decided in product(((None, blind), (offset, knowing)), (False, True)):
            accepted = quality[right][0] > 0 if decided else None
            kept = weight * right / weight[right].sum() if decided else weight
            moved = max(moved, np.abs(pairs(every, kept) - pairs(every, weight)).max())
            seen = no_history_sizes.Seen(score, known, accepted)
            mass, same, _ = no_history_sizes.walked(seen, truth, count(300, 1200), rng)
            assert np.abs(same / same.sum(axis=2, keepdims=True) - pairs(every, kept)).max() < 0.1
            if known is not None:
                assert np.abs(mass / mass.sum(axis=2, keepdims=True) - authors(every, kept)).max() < 0.1
    assert moved > 0.2


def authors(every: Integers, weight: Array) -> Array:
    return np.array([np.bincount(who, weight, 4) for who in every.T])


def pairs(every: Integers, weight: Array) -> Array:
    return np.array([[(i != j) * weight @ (every[:, i] == every[:, j]) for j in range(8)] for i in range(8)])


def test_papers_of_other_worlds() -> None:

    for world in (*misfits.SCORE_MODELS, misfits.UNSURE):
        case, true = misfits.paper(np.random.default_rng(5), world)
        weight = world.weight(case, true)
        assert weight.shape == (720,)
        assert weight.sum() == pytest.approx(1.0)
        stated = np.array(case.parameters)
        assert (stated[:, :3] == true[:, :3]).all() == (world is not misfits.UNSURE)
