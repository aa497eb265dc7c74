"""The studies of docs/evidence/adversaries.md, against plain loops."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product
from math import exp

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from blindcal.policy.guarantee import Guarantee
from studies import audit, misfits, no_history


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


def test_papers_of_other_worlds() -> None:

    for world in (*misfits.SCORE_MODELS, misfits.UNSURE):
        case, true = misfits.paper(np.random.default_rng(5), world)
        weight = world.weight(case, true)
        assert weight.shape == (720,)
        assert weight.sum() == pytest.approx(1.0)
        stated = np.array(case.parameters)
        assert (stated[:, :3] == true[:, :3]).all() == (world is not misfits.UNSURE)
