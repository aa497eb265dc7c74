"""Worlds that differ from the model, against closed forms and quadrature of another kind."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats
from studies.misfits import (
    QUALITIES,
    SCORE_MODELS,
    ScoreModel,
    affine,
    bent,
    bimodal,
    misfit,
    normal,
    rounded_to,
    saturating,
    student_t,
    worst_misfit,
)

from blindcal.adversaries.single_paper import case_view
from blindcal.errors import InputError
from blindcal.policy.policy import Policy
from random_cases import crowded, random_case


def test_the_stated_world_is_the_model() -> None:
    rng = np.random.default_rng(21)
    for _ in range(5):
        case = random_case(rng, 5, 2)
        np.testing.assert_allclose(SCORE_MODELS[0].weight(case), case.belief.weight, rtol=1e-7, atol=1e-12)
    with pytest.raises(InputError, match="listed"):
        SCORE_MODELS[0].weight(crowded(case))


ROWS = np.array([[1.3, 0.4, 0.5, 0, 0, 0, 0], [0.7, -0.2, 0.8, 0, 0, 0, 0]])


def density(name: str, score: float, row: np.ndarray, t: float) -> float:
    """The same from SciPy's distributions."""
    a, b, sd = row[:3]
    if name == "heavy":
        return float(stats.t.pdf(score, 4, loc=a * t + b, scale=sd * np.sqrt(0.5)))
    if name == "rounded":
        return float(stats.norm.cdf(score + 0.5, a * t + b, sd) - stats.norm.cdf(score - 0.5, a * t + b, sd))
    return float(stats.norm.pdf(score, a * (2 * np.tanh(t / 2) if name == "curved" else t) + b, sd))


@pytest.mark.parametrize(
    ("name", "likelihood"),
    [("affine", affine), ("heavy", student_t), ("curved", saturating), ("rounded", rounded_to(1.0))],
)
def test_likelihoods(name: str, likelihood: object) -> None:
    score, quality = np.array([1.0, -2.0]), np.array([-1.5, 0.0, 0.7])
    found = np.exp(likelihood(score, ROWS, quality))
    expected = [[[density(name, s, row, t) for t in quality] for row in ROWS] for s in score]
    # Constants that all candidates share do not matter.
    ratio = found / np.array(expected)
    np.testing.assert_allclose(ratio, ratio[0, 0, 0], rtol=1e-9)


def test_qualities_have_mean_0_and_variance_1() -> None:
    for log_density in (normal, bimodal):
        parts = [
            integrate.quad(lambda t, k=k, f=log_density: t**k * np.exp(f(np.array(t))), -8, 8)[0]
            for k in range(3)
        ]
        assert parts[1] / parts[0] == pytest.approx(0.0, abs=1e-9)
        assert parts[2] / parts[0] == pytest.approx(1.0, rel=1e-6)
    assert QUALITIES[0] == -QUALITIES[-1]
    assert (np.diff(bent(QUALITIES)) > 0).all()


def test_what_is_claimed_and_what_is_true() -> None:
    rng = np.random.default_rng(22)
    views, weights = [], []
    world = ScoreModel("other", student_t, bimodal)
    for _ in range(6):
        case = random_case(rng, 4, 2)
        views.append(case_view(case, Policy(rng.random(len(case.tuples))), 1.0))
        weights.append(world.weight(case))
    same = misfit("same", views, [view.weight for view in views])
    claimed = same.claimed_alone, same.claimed, same.claimed_rise
    assert (same.alone, same.success, same.rise) == pytest.approx(claimed, abs=1e-12)
    found = misfit("other", views, weights)
    assert found.claimed == same.claimed
    alone = [
        np.mean([np.bincount(slot, weight).max() for slot in view.rows.T])
        for view, weight in zip(views, weights, strict=True)
    ]
    slots = [len(view.scores) for view in views]
    assert found.alone == pytest.approx(np.average(alone, weights=slots))
    assert worst_misfit([same, found]) is max([same, found], key=lambda one: one.added - one.claimed_added)


def test_other_parameters() -> None:
    case = random_case(np.random.default_rng(23), 4, 1)
    other = np.array(case.parameters)
    other[0, 1] += 50.0
    assert SCORE_MODELS[0].weight(case, other)[0] == pytest.approx(0.0, abs=1e-12)
