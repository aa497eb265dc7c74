"""Every calibrator against a plain computation, its limits, its symmetries, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import norm

import blindcal as bc
from blindcal.calibrators import (
    METHODS,
    Batch,
    hierarchical,
    isotonic,
    isotonic_quality,
    maximum_likelihood,
    maximum_likelihood_quality,
    offsets,
    posterior,
    posterior_quality,
    raw,
    standardized,
)

GRID = st.integers(1, 6).map(float)


@st.composite
def tables(draw: st.DrawFn, scores: st.SearchStrategy[float] = GRID) -> dict[str, list[object]]:
    """Small uneven tables: 1-6 papers, 1-4 reviewers, each paper with at least one review."""
    papers, reviewers = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    rows = [
        (f"p{i}", f"r{j}", draw(scores))
        for i in range(papers)
        for j in sorted(draw(st.sets(st.integers(0, reviewers - 1), min_size=1)))
    ]
    paper, reviewer, score = zip(*rows, strict=True)
    return {"paper": list(paper), "reviewer": list(reviewer), "score": list(score)}


def conference(seed: int, papers: int = 30, reviewers: int = 15, per_paper: int = 4) -> bc.Reviews:
    """Uneven loads, slopes and offsets that differ, moderate noise, scores around 5."""
    rng = np.random.default_rng(seed)
    popular = rng.uniform(0.7, 1.4, reviewers)
    chosen = np.argsort(rng.random((papers, reviewers)) ** popular, axis=1)[:, :per_paper]
    quality, slope = rng.standard_normal(papers), rng.uniform(0.4, 1.6, reviewers)
    offset = rng.normal(5, 1, reviewers)
    score = slope[chosen] * quality[:, None] + offset[chosen] + 0.4 * rng.standard_normal(chosen.shape)
    return bc.Reviews.from_table(
        {
            "paper": np.repeat([f"p{i:02d}" for i in range(papers)], per_paper),
            "reviewer": [f"r{j:02d}" for j in chosen.ravel()],
            "score": score.ravel(),
        }
    )


# --- means


@given(tables())
def test_raw_is_the_mean_of_each_papers_scores(table: dict[str, list[object]]) -> None:
    result = raw(bc.Reviews.from_table(table))
    rows = list(zip(*table.values(), strict=True))
    for paper, quality in zip(result.reviews.papers, result.quality, strict=True):
        assert quality == pytest.approx(np.mean([s for p, _, s in rows if p == paper]))


@given(tables())
def test_standardized_is_the_mean_of_scores_standardized_within_reviewers(
    table: dict[str, list[object]],
) -> None:
    result = standardized(bc.Reviews.from_table(table))
    rows = list(zip(*table.values(), strict=True))
    value = {}
    for paper, reviewer, score in rows:
        own = [s for _, r, s in rows if r == reviewer]
        value[paper, reviewer] = 0.0 if len(set(own)) == 1 else (score - np.mean(own)) / np.std(own)
    for paper, quality in zip(result.reviews.papers, result.quality, strict=True):
        assert quality == pytest.approx(np.mean([v for (p, _), v in value.items() if p == paper]), abs=1e-12)


def test_raw_standard_error_is_pooled_within_papers() -> None:
    table = {"paper": [1, 1, 2, 2, 2, 3], "reviewer": [1, 2, 1, 2, 3, 3], "score": [1, 3, 4, 4, 7, 9]}
    squares = 2.0 + 6.0  # around the means 2 and 5, with 1 + 2 degrees of freedom
    np.testing.assert_allclose(
        raw(bc.Reviews.from_table(table)).standard_error, np.sqrt(squares / 3 / np.array([2, 3, 1]))
    )


def test_equal_scores_with_rounding_errors_count_as_equal() -> None:
    table = {"paper": [1, 2, 3], "reviewer": [1, 1, 1], "score": [0.1, 0.1, 0.1]}
    assert (standardized(bc.Reviews.from_table(table)).quality == 0).all()


# --- known reviewers


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


def test_known_reviewers_are_checked() -> None:
    reviews = conference(1)
    with pytest.raises(bc.InputError, match="15 reviewers, found shape \\(3,\\)"):
        posterior(reviews, bc.Affine([1.0, 1.0, 2.0]))
    with pytest.raises(bc.InputError, match="use posterior"):
        maximum_likelihood(reviews, bc.Affine(1.0, 0.0, 0.5, 0.1 * np.eye(2)))
    with pytest.raises(bc.InputError, match="for all of them"):
        posterior(reviews, bc.Affine(1.0, 0.0, np.r_[0.0, np.ones(14)]))
    with pytest.raises(bc.InputError, match="found Power"):
        posterior(reviews, bc.reviewers.Power(2.0))


def test_known_reviewers_predict_by_slope_and_offset() -> None:
    reviews = conference(2)
    slope, offset = np.linspace(0.5, 1.5, 15), np.linspace(4, 6, 15)
    result = maximum_likelihood(reviews, bc.Affine(slope, offset, 0.4))
    found = result.predict(["p03", "p00"], ["r14", "r02"])
    np.testing.assert_allclose(found, slope[[14, 2]] * result.quality[[3, 0]] + offset[[14, 2]])


# --- isotonic


def least_noise(batch: Batch) -> float:
    """The least sum of (z - x)^2 by a general solver, with a constraint for each ordered pair of scores."""
    n, rows = batch.papers, batch.score.size
    constraints = [
        {"type": "ineq", "fun": lambda v, p=p, q=q: v[n + q] - v[n + p] - (batch.score[q] - batch.score[p])}
        for p in range(rows)
        for q in range(rows)
        if batch.reviewer[p] == batch.reviewer[q] and batch.score[p] < batch.score[q]
    ]
    start = np.r_[batch.per_paper(batch.score) / batch.per_paper(), batch.score]
    found = minimize(
        lambda v: ((v[n:] - v[batch.paper]) ** 2).sum(), start, constraints=constraints, tol=1e-14
    )
    return float(found.fun)


@pytest.mark.parametrize("seed", range(6))
def test_isotonic_needs_no_more_noise_than_a_general_solver(seed: int) -> None:
    from blindcal.calibrators.isotones import _least_noise, _levels, _perceive

    rng = np.random.default_rng(seed)
    chosen = rng.random((6, 4)) < 0.7
    chosen[:, 0] = chosen[0] = True
    paper, reviewer = np.nonzero(chosen)
    score = rng.integers(1, 6, paper.size) + (0.0 if seed % 2 else 1.0) * rng.random(paper.size)
    batch = Batch(paper, reviewer, score)
    x = _least_noise(batch, 5000)
    z = _perceive(batch, _levels(batch), x)
    for j in range(batch.reviewers):
        own = np.flatnonzero(batch.reviewer == j)
        gap, rise = (v[own][:, None] - v[own] for v in (batch.score, z))
        assert (rise[gap > 0] >= gap[gap > 0] - 1e-9).all()
    assert ((z - x[batch.paper]) ** 2).sum() == pytest.approx(least_noise(batch), abs=1e-6)


def test_isotonic_recovers_the_order_of_noiseless_monotone_reviewers() -> None:
    rng = np.random.default_rng(11)
    quality = rng.standard_normal(25)
    score = np.stack([np.exp(quality), quality**3 + quality, np.tanh(quality), 5 + quality], axis=1)
    table = {
        "paper": np.repeat([f"p{i:02d}" for i in range(25)], 4),
        "reviewer": np.tile([f"r{j}" for j in range(4)], 25),
        "score": score.ravel(),
    }
    result = isotonic(bc.Reviews.from_table(table))
    assert (np.argsort(result.quality) == np.argsort(quality)).all()
    np.testing.assert_allclose([result.quality.mean(), result.quality.std()], [0, 1], atol=1e-9)
    np.testing.assert_allclose(result.predict(table["paper"], table["reviewer"]), score.ravel(), atol=1e-6)


def test_isotonic_batch_solves_each_conference_alone() -> None:
    first, second = (bc.calibrators.results.batch_of(conference(seed)) for seed in (3, 4))
    both = Batch(
        np.r_[first.paper, second.paper + first.papers],
        np.r_[first.reviewer, second.reviewer + first.reviewers],
        np.r_[first.score, second.score],
        np.repeat([0, 1], 30),
        np.repeat([0, 1], [first.reviewers, second.reviewers]),
    )
    together = isotonic_quality(both)
    for k in range(2):
        alone = np.r_[isotonic_quality(first)[k], isotonic_quality(second)[k]]
        np.testing.assert_allclose(together[k], alone, atol=1e-6)


# --- all of them


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_row_order_does_not_matter(method: object) -> None:
    reviews = conference(5)
    columns = reviews.columns()
    order = np.random.default_rng(1).permutation(len(reviews))
    shuffled = {name: [values[i] for i in order] for name, values in columns.items()}
    one, two = method(reviews), method(bc.Reviews.from_table(shuffled))
    assert (one.quality == two.quality).all()
    assert (one.standard_error == two.standard_error).all()
    assert (one.probability_accepted(0.3) == two.probability_accepted(0.3)).all()


@pytest.mark.parametrize("method", [standardized, isotonic, offsets, hierarchical])
def test_scores_in_another_unit_give_the_same_quality(method: object) -> None:
    reviews = conference(6)
    columns = reviews.columns()
    doubled = bc.Reviews.from_table({**columns, "score": (4 * reviews.score).tolist()})
    one, two = method(reviews), method(doubled)
    np.testing.assert_allclose(one.quality, two.quality, atol=1e-9)
    pair = (reviews.papers[3], reviews.reviewers[2])
    assert two.predict(*pair) == pytest.approx(4 * one.predict(*pair))


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_probability_accepted_sums_to_the_accepted_and_follows_the_estimates(method: object) -> None:
    result = method(conference(7))
    for rate in (0.1, 0.5, 0.9):
        probability = result.probability_accepted(rate)
        assert probability.sum() == pytest.approx(round(rate * 30), abs=1e-6)
        assert ((probability >= 0) & (probability <= 1)).all()
        gray = result.gray_zone(rate)
        assert (gray == ((probability > 0.1) & (probability < 0.9))).all()
    best, worst = np.argmax(result.quality), np.argmin(result.quality)
    assert result.probability_accepted(0.3)[best] > result.probability_accepted(0.3)[worst]


def test_probability_accepted_agrees_with_the_law_of_independent_normals() -> None:
    """For raw: draws of independent normals give the same frequencies (the bar moves with each draw)."""
    result = raw(conference(8))
    rng = np.random.default_rng(2)
    drawn = result.quality + result.standard_error * rng.standard_normal((40000, 30))
    inside = (drawn >= np.partition(drawn, -9, axis=1)[:, [-9]]).mean(axis=0)
    np.testing.assert_allclose(result.probability_accepted(0.3), inside, atol=0.03)


def test_rank_counts_better_papers() -> None:
    table = {"paper": [1, 2, 3, 4], "reviewer": [1, 1, 1, 1], "score": [3, 5, 3, 1]}
    assert raw(bc.Reviews.from_table(table)).rank.tolist() == [2, 1, 2, 4]


def test_unknown_ids_are_named_and_rates_checked() -> None:
    result = raw(conference(1))
    with pytest.raises(bc.InputError, match="unknown paper 'p99'"):
        result.predict("p99", "r00")
    with pytest.raises(bc.InputError, match="unknown reviewer 'x'"):
        result.predict("p00", ["r00", "x"])
    for rate in (0.0, 1.0, -0.2):
        with pytest.raises(bc.InputError, match="rate"):
            result.probability_accepted(rate)


# --- too little data is said


@pytest.mark.parametrize("method", [offsets, hierarchical])
def test_sampled_methods_refuse_what_cannot_be_told(method: object) -> None:
    single = {"paper": [1, 2, 3], "reviewer": [1, 1, 2], "score": [1, 2, 3]}
    with pytest.raises(bc.InputError, match="no paper has two reviews"):
        method(bc.Reviews.from_table(single))
    equal = {"paper": [1, 1, 2], "reviewer": [1, 2, 1], "score": [4, 4, 4]}
    with pytest.raises(bc.InputError, match="all scores are 4"):
        method(bc.Reviews.from_table(equal))


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
    for method in (raw, standardized, isotonic):
        result = method(bc.Reviews.from_table(table))
        assert np.isnan(result.standard_error).all()
        assert "standard errors are unknown" in result.notes[0]
        with pytest.raises(bc.InputError, match="no probabilities"):
            result.probability_accepted(0.5)


def test_batch_checks_its_rows() -> None:
    with pytest.raises(bc.InputError, match="same group"):
        Batch([0, 1], [0, 1], [1, 2], paper_group=[0, 1], reviewer_group=[1, 0])
    with pytest.raises(bc.InputError, match="must have a review"):
        Batch([0, 2], [0, 0], [1, 2])
    with pytest.raises(bc.InputError, match="numbered from 0"):
        Batch([0, -1], [0, 0], [1, 2])
    with pytest.raises(bc.InputError, match="each of 2"):
        Batch([0, 1], [0, 0], [1, 2], paper_group=[0])
    with pytest.raises(bc.InputError, match="score must be finite"):
        Batch([0], [0], [np.nan])
