"""What promises made paper by paper leave open: studies of evidence/adversaries.md, against plain loops."""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import pytest
from scipy.stats import norm

from blindcal import Guarantee, Policy
from studies import matchings


def by_loops(drawn: matchings.Drawn, accept: list[list[float]]) -> tuple[float, float, float, float]:
    """Success from the scores and with all decisions, largest rise and change of log odds, by definition."""
    count = len(drawn.score)
    density = [
        [
            float(norm.pdf(s, b, math.hypot(a, n)))
            for a, b, n in zip(drawn.slope, drawn.offset, drawn.noise, strict=True)
        ]
        for s in drawn.score
    ]
    weight = {m: math.prod(density[i][j] for i, j in enumerate(m)) for m in permutations(range(count))}
    total = sum(weight.values())
    prior = [
        [sum(w for m, w in weight.items() if m[i] == j) / total for j in range(count)] for i in range(count)
    ]
    decided, rise, moved = 0.0, -1.0, 0.0
    for outcome in product((True, False), repeat=count):
        mass = {
            m: w
            / total
            * math.prod(
                accept[i][j] if yes else 1 - accept[i][j]
                for i, (j, yes) in enumerate(zip(m, outcome, strict=True))
            )
            for m, w in weight.items()
        }
        chance = sum(mass.values())
        for i in range(count):
            joint = [sum(w for m, w in mass.items() if m[i] == j) for j in range(count)]
            decided += max(joint) / count
            rise = max(rise, max(joint) / chance - max(prior[i]))
            for j, k in permutations(range(count), 2):
                moved = max(moved, math.log(joint[j] / joint[k]) - math.log(prior[i][j] / prior[i][k]))
    return sum(map(max, prior)) / count, decided, rise, moved


def test_a_coupled_adversary_by_loops() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        drawn = matchings.draw(rng, matchings.Setting(3, 0.0))
        accept = rng.uniform(0.05, 0.95, (3, 3))
        found = matchings.gain(*matchings.coupled(drawn, accept), stated=0.0)
        told = found.alone, found.decided, found.rise, found.log_odds
        assert told == pytest.approx(by_loops(drawn, accept.tolist()), abs=1e-12)


def test_constant_tables_add_nothing_however_papers_are_coupled() -> None:
    drawn = matchings.draw(np.random.default_rng(3), matchings.Setting(4, 0.0))
    accept = np.repeat(np.random.default_rng(4).random((4, 1)), 4, axis=1)
    found = matchings.gain(*matchings.coupled(drawn, accept), stated=0.0)
    assert found.added == pytest.approx(0.0, abs=1e-14)
    assert found.log_odds == pytest.approx(0.0, abs=1e-12)


def test_the_plain_setting_is_the_prototype_and_tables_keep_their_promise() -> None:
    setting = matchings.Setting(5, 0.0)
    assert setting.population == matchings.prototype_population()
    assert matchings.Setting(4, 0.0, noise=0.2).population.noise == 0.2
    drawn = matchings.draw(np.random.default_rng(1), setting)
    accept, stated = matchings.planned(drawn, setting.bar, Guarantee("steady", epsilon=2.0))
    assert accept.shape == (5, 5)
    assert stated == 0.0
    assert (Policy(accept).epsilon <= 2.0).all()


def test_all_decisions_together_tell_more_than_any_one_promises() -> None:
    """Steady and epsilon 2 for every paper: in these conferences a matching moves some odds by e^4 and more,
    and a best guess rises, while every claim says that none does."""
    for setting, seed in ((matchings.Setting(5, 0.0), 376), (matchings.Setting(6, 0.0), 425)):
        found = matchings.compute((setting, seed))[0]
        assert found.stated == 0.0
        assert found.log_odds > 4.3
        assert found.rise > 0.1
        assert found.added > 0.0
