"""Known reviewers: maximum likelihood and posterior against a general solver and integration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import norm

import blindcal as bc
from blindcal.calibrators import hierarchical, maximum_likelihood, offsets, raw, standardized
from blindcal.calibrators.affine_model import maximum_likelihood_quality, posterior_quality
from blindcal.calibrators.gibbs import Batch
from small_reviews import conference, tables


def known_case(seed: int) -> tuple[Batch, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    paper, reviewer = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 1, 2, 1, 3, 0])
    slope, offset, noise = rng.uniform(0.3, 2, 4), rng.normal(0, 1, 4), rng.uniform(0.2, 1.5, 4)
    return Batch(paper, reviewer, rng.normal(0, 1.5, 6)), slope, offset, noise


@pytest.mark.parametrize("seed", range(5))
def test_maximum_likelihood_maximizes_the_likelihood(seed: int) -> None:
    batch, slope, offset, noise = known_case(seed)
    quality, error = maximum_likelihood_quality(batch, slope, offset, noise)

    def minus_log(t: np.ndarray) -> float:
        r = batch.reviewer
        return -float(norm.logpdf(batch.score, slope[r] * t[batch.paper] + offset[r], noise[r]).sum())

    found = minimize(minus_log, np.zeros(3), tol=1e-12)
    np.testing.assert_allclose(quality, found.x, atol=1e-5)
    curvature = [
        (minus_log(quality + h * e) - 2 * minus_log(quality) + minus_log(quality - h * e)) / h**2
        for e, h in ((e, 1e-3) for e in np.eye(3))
    ]
    np.testing.assert_allclose(error, 1 / np.sqrt(curvature), rtol=1e-6)


def test_appendix_a_formula_with_one_noise_for_all_even_none() -> None:
    batch, a, b, _ = known_case(9)
    r = batch.reviewer
    expected = batch.per_paper(a[r] * (batch.score - b[r])) / batch.per_paper(a[r] ** 2)
    for noise in (0.0, 0.3, 7.0):
        np.testing.assert_allclose(maximum_likelihood_quality(batch, a, b, noise)[0], expected, rtol=1e-12)
    np.testing.assert_allclose(posterior_quality(batch, a, b, 0.0)[0], expected, rtol=1e-12)
    assert (posterior_quality(batch, a, b, 0.0)[1] == 0).all()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("uncertain", [False, True])
def test_posterior_agrees_with_integration_over_quality(seed: int, uncertain: bool) -> None:
    batch, slope, offset, noise = known_case(seed)
    root = 0.4 * np.random.default_rng(seed).standard_normal((4, 2, 2))
    covariance = root @ root.swapaxes(1, 2) if uncertain else None
    quality, error = posterior_quality(batch, slope, offset, noise, covariance)
    t = np.linspace(-9, 9, 60001)
    for paper in range(3):
        log = -0.5 * t**2
        for row in np.flatnonzero(batch.paper == paper):
            j = batch.reviewer[row]
            c = np.zeros((2, 2)) if covariance is None else covariance[j]
            variance = noise[j] ** 2 + c[0, 0] * t**2 + 2 * c[0, 1] * t + c[1, 1]
            log = log + norm.logpdf(batch.score[row], slope[j] * t + offset[j], np.sqrt(variance))
        weight = np.exp(log - log.max())
        weight /= weight.sum()
        mean = float(weight @ t)
        assert quality[paper] == pytest.approx(mean, abs=1e-7)
        assert error[paper] == pytest.approx(np.sqrt(weight @ (t - mean) ** 2), abs=1e-7)


def test_known_reviewers_predict_by_slope_and_offset() -> None:
    reviews = conference(2)
    slope, offset = np.linspace(0.5, 1.5, 15), np.linspace(4, 6, 15)
    result = maximum_likelihood(reviews, bc.Affine(slope, offset, 0.4))
    found = result.predict(["p03", "p00"], ["r14", "r02"])
    np.testing.assert_allclose(found, slope[[14, 2]] * result.quality[[3, 0]] + offset[[14, 2]])


# --- Sampled methods say what the data cannot tell.


@given(tables(), st.sampled_from([1e-9, 1.0, 1e9]), st.sampled_from([0.0, 1e6]))
def test_sampled_methods_answer_or_refuse_on_any_small_table(
    table: dict[str, list[object]], unit: float, shift: float
) -> None:
    """Ties, single reviews, flat reviewers, perfect fits: finite numbers, or a refusal in words."""
    scores = [unit * (score + shift) for score in table["score"]]
    reviews = bc.Reviews.from_table({**table, "score": scores})
    too_little = np.bincount(reviews.paper).max() < 2 or np.ptp(reviews.score) == 0
    for method in (offsets, hierarchical):
        if too_little:
            with pytest.raises(bc.InputError, match=r"no paper has two|all scores are"):
                method(reviews, sweeps=30)
            continue
        result = method(reviews, sweeps=30)
        assert np.isfinite(result.quality).all()
        assert (result.standard_error > 0).all()
        assert (result.fitted.slope > 0).all()
        span = max(scores) - min(scores)
        predicted = result.predict(reviews.papers[0], reviews.reviewers)
        assert (np.abs(predicted - np.mean(scores)) < 20 * span).all()


def test_sampled_methods_say_what_they_leave_to_the_model() -> None:
    table = {
        "paper": [1, 1, 2, 2, 3, 3, 4, 4],
        "reviewer": ["a", "b", "a", "b", "c", "d", "c", "e"],
        "score": [1, 2, 3, 5, 2, 2, 4, 1],
    }
    notes = " / ".join(offsets(bc.Reviews.from_table(table)).notes)
    assert "2 of 5 reviewers have one review" in notes
    assert "2 sets without a common reviewer" in notes
    lonely = {"paper": [1, 1, 2, 2], "reviewer": ["a", "b", "c", "d"], "score": [1, 2, 5, 4]}
    result = offsets(bc.Reviews.from_table(lonely))
    assert any("cannot be separated from noise" in note for note in result.notes)
    assert np.isfinite(result.quality).all()


def test_single_reviews_leave_errors_unknown_and_say_so() -> None:
    table = {"paper": [1, 2, 3], "reviewer": [1, 1, 1], "score": [1, 2, 3]}
    for method in (raw, standardized):
        result = method(bc.Reviews.from_table(table))
        assert np.isnan(result.standard_error).all()
        assert "standard errors are unknown" in result.notes[0]
        with pytest.raises(bc.InputError, match="no probabilities"):
            result.probability_accepted(0.5)
