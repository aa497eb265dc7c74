"""Integrals over quality against closed forms and adaptive quadrature, whatever the scale."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import blindcal as bc
from blindcal.reviewers import Logistic, PiecewiseLinear, quadrature
from blindcal.reviewers.quadrature import (
    drop_repeated_ends,
    evaluate_by_rows,
    integrate,
    log_evidence,
    log_integral,
    log_joint,
    panel_ends,
    panel_nodes,
    probability_greater,
)

KINDS = {
    "affine": bc.Affine(1.3, 0.4, 0.3),
    "logistic": Logistic(1.0, 6.0, 1.2, -0.3, noise=0.4),
    "pieces": PiecewiseLinear([-1.0, 0.2, 1.5], [-2.0, 0.1, 0.9], noise=0.25),
    "rounded": bc.Rounded(bc.Affine(1.5, 3.0, 0.5), [1.0, 2.0, 3.0, 4.0, 5.0]),
}
SCORES = {"affine": 1.1, "logistic": 4.4, "pieces": 0.5, "rounded": 4.0}


def columns(*reviews: bc.Reviewer) -> list[bc.Reviewer]:
    """Reviewers as `evaluate_by_rows` hands them on: for one row."""
    return [review.column((1,), slice(0, 1)) for review in reviews]


@pytest.mark.parametrize("degree", [0, 1, 2, 17, 31])
def test_a_panel_integrates_polynomials_up_to_twice_its_order(degree: int) -> None:
    ends = np.array([[-1.0, -0.25, 0.5, 2.0]])
    t, weight = panel_nodes(ends)
    assert t.shape == weight.shape == (1, 3 * 16)
    exact = (2.0 ** (degree + 1) - (-1.0) ** (degree + 1)) / (degree + 1)
    assert float((weight * t**degree).sum()) == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize("noise", [1e-6, 1e-3, 1.0, 50.0])
@pytest.mark.parametrize("score", [0.0, 3.0, -60.0])
def test_any_noise_and_any_score_has_the_gaussian_evidence(noise: float, score: float) -> None:
    """A score is N(0.2, 1.5^2 + noise^2): a needle far out in the tail is found as well as a broad hill.

    What a quality is rounded by, in units of the noise, bounds what any sum can reach.
    """
    found = log_evidence([bc.Affine(1.5, 0.2, noise)], np.array([score]))
    rounding = 1e-11 + 2**-51 * abs(score) / noise
    assert float(found) == pytest.approx(
        norm.logpdf(score, 0.2, np.hypot(1.5, noise)), rel=1e-11, abs=rounding
    )


def test_chances_add_up_where_panels_resolve_nothing() -> None:
    """Rough densities on uneven panels, not integrated at all well: their chances are still a pair."""
    rng = np.random.default_rng(61)
    ends = np.sort(rng.normal(size=(50, 6)), axis=1)
    p, q = (3.0 * rng.normal(size=(50, 5 * 16)) for _ in range(2))
    assert probability_greater(p, q, ends) + probability_greater(q, p, ends) == pytest.approx(
        np.ones(50), abs=1e-14
    )
    assert probability_greater(p, p, ends) == pytest.approx(np.full(50, 0.5), abs=1e-14)


def test_the_peak_is_taken_out_before_anything_overflows() -> None:
    weight = np.array([[0.5, 0.25, 0.25]])
    for shift in (0.0, 5000.0, -5000.0):
        found = log_integral(np.log([[1.0, 2.0, 4.0]]) + shift, weight)
        assert float(found[0]) == pytest.approx(shift + np.log(2.0), abs=1e-12)
    assert log_integral(np.full((1, 3), -np.inf), weight)[0] == -np.inf


def test_joint_densities_multiply() -> None:
    one, two = KINDS["affine"], KINDS["logistic"]
    t, score = np.array([[-1.0, 0.0, 2.0]]), np.array([[1.1, 4.4]])
    exact = norm.logpdf(t) + norm.logpdf(1.1, 1.3 * t + 0.4, 0.3)
    center = 1.0 + 5.0 / (1.0 + np.exp(-(1.2 * t - 0.3)))
    assert log_joint(columns(one), score[:, :1], t) == pytest.approx(exact)
    assert log_joint(columns(one, two), score, t) == pytest.approx(exact + norm.logpdf(4.4, center, 0.4))


@pytest.mark.parametrize("name", KINDS)
def test_panels_hold_all_of_the_integrand_and_have_its_kinks_as_ends(name: str) -> None:
    (review,), score = columns(KINDS[name]), np.array([[SCORES[name]]])
    ends = panel_ends([review], score)
    assert (np.diff(ends, axis=-1) >= 0.0).all()
    far = np.concatenate([np.linspace(-40.0, ends[0, 0], 50), np.linspace(ends[0, -1], 40.0, 50)])[None]
    inside = log_joint([review], score, panel_nodes(ends)[0]).max()
    assert log_joint([review], score, far).max() < inside - 40.0
    for knot in review.knots.ravel():
        assert not ends[0, 0] < knot < ends[0, -1] or knot in ends[0]


def test_ends_that_repeat_are_moved_to_the_last_and_cut() -> None:
    ends = np.array([[0.0, 0.0, 1.0, 2.0, 2.0], [0.0, 1.0, 1.0, 1.0, 3.0]])
    assert drop_repeated_ends(ends).tolist() == [[0.0, 1.0, 2.0], [0.0, 1.0, 3.0]]
    uneven = np.array([[0.0, 0.0, 0.0, 2.0], [0.0, 1.0, 2.0, 3.0]])
    assert drop_repeated_ends(uneven).tolist() == [[0.0, 2.0, 2.0, 2.0], [0.0, 1.0, 2.0, 3.0]]
    assert drop_repeated_ends(np.array([[1.0, 1.0, 1.0]])).tolist() == [[1.0, 1.0]], (
        "one empty panel at least"
    )


def test_any_leading_shape_is_its_rows_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parameters of a pool along the second axis, scores along the first, worked off a few at a time."""
    pool, alone = bc.Affine([1.0, 2.0, 0.5], [0.0, 0.3, -0.2], 0.4), bc.Affine(0.8, 0.1, 0.7)
    score = np.random.default_rng(62).normal(size=(2, 1, 2))
    monkeypatch.setattr(quadrature, "_CHUNK_ROWS", 4)
    found = log_evidence([pool, alone], score)
    assert found.shape == (2, 3)
    for i, j in np.ndindex(2, 3):
        one = bc.Affine([1.0, 2.0, 0.5][j], [0.0, 0.3, -0.2][j], 0.4)
        assert float(found[i, j]) == pytest.approx(float(log_evidence([one, alone], score[i, 0])), abs=1e-12)
    summed = evaluate_by_rows([pool, alone], score, lambda some, rows: rows.sum(axis=-1))
    assert summed.tolist() == np.broadcast_to(score.sum(axis=-1), (2, 3)).tolist()


# --- One-dimensional integrals find a kink and state their error.


def test_integrate_finds_a_kink_and_states_its_error():
    cumulative = integrate(lambda x: np.stack([np.abs(x - np.pi / 10), np.exp(x)]), np.array([0.0, 1.0]))
    kink = np.pi / 10
    exact = 0.5 * kink**2 + 0.5 * (1 - kink) ** 2, np.e - 1
    assert np.abs(cumulative.total - exact).max() <= cumulative.error + 1e-15
    assert cumulative(0.7)[1] == pytest.approx(np.exp(0.7) - 1, abs=1e-14)
    rng = np.random.default_rng(0)
    with pytest.raises(bc.BlindcalError, match="did not settle"):
        integrate(lambda x: rng.random((1, x.size)), np.array([0.0, 1.0]))
