"""Evidence from this year's reviews against conditional expectations, and beliefs against frequencies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from math import asin, pi, sqrt

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from blindcal.posterior.conference import reviewers_by_slot
from blindcal.posterior.this_year_evidence import (
    LevelCase,
    LevelModel,
    bar_of_number,
    bar_of_share,
    both_above,
    corrected_qualities,
    evidence,
    level_cases,
)
from blindcal.posterior.variance_components import ScoreMoments, score_moments, scores_by_paper
from blindcal.reviews import Reviews
from sizes import count
from small_reviews import strict_panels


def conference(seed: int, papers: int = 14, people: int = 9) -> tuple[Reviews, dict[str, str]]:
    """Unequal numbers of reviews per paper and person, and some areas."""
    reviews = Reviews.from_table(strict_panels(seed, papers, people))
    return reviews, {paper: "xy"[int(paper[1:]) % 2] if seed % 2 else "" for paper in reviews.papers}


def model_of(reviews: Reviews, areas: Mapping[str, str], share: float = 0.35, people: int = 9) -> LevelModel:
    numbers = Counter(Counter(reviews.paper.tolist()).values())
    return LevelModel(score_moments(scores_by_paper(reviews), areas), share, people, numbers)


def corrected(reviews: Reviews, model: LevelModel, areas: Mapping[str, str]) -> dict[str, float]:
    cases = level_cases(reviews, model, dict.fromkeys(reviews.papers, ""), areas)
    return corrected_qualities(cases, reviewers_by_slot(reviews))


def by_conditional_expectation(
    reviews: Reviews, model: LevelModel, areas: Mapping[str, str]
) -> dict[str, float]:
    """The same by matrices: strictness given residuals, then quality given corrected scores."""
    moments, every = model.moments, model.moments.disagreement
    own = model.share * every
    z = np.array([moments.quality(s) for s in reviews.score])
    z -= np.array([moments.area(areas[reviews.papers[p]]) for p in reviews.paper])
    number = np.bincount(reviews.paper)
    residual, gain = np.empty(z.size), np.empty(z.size)
    for row, paper in enumerate(reviews.paper):
        mates = z[reviews.paper == paper]
        prior = 1.0 / (1.0 + every / number[paper])
        residual[row] = z[row] - prior * mates.mean()
        gain[row] = 1.0 - prior / number[paper]
    top, bottom = np.zeros(len(number)), np.ones(len(number))
    for row, paper in enumerate(reviews.paper):
        others = np.flatnonzero((reviews.reviewer == reviews.reviewer[row]) & (np.arange(z.size) != row))
        c = gain[others]
        covariance = np.outer(c, c) * own + np.diag(c * every - c * c * own)
        weights = np.linalg.solve(covariance, own * c) if others.size else np.empty(0)
        remaining = every - own + own - float(weights @ (own * c))
        top[paper] += (z[row] - float(weights @ residual[others])) / remaining
        bottom[paper] += 1.0 / remaining
    return {
        name: moments.area(areas[name]) + top[paper] / bottom[paper]
        for paper, name in enumerate(reviews.papers)
    }


@pytest.mark.parametrize("seed", range(count(20, 300)))
def test_corrected_qualities_are_conditional_expectations(seed: int) -> None:
    reviews, areas = conference(seed)
    model = model_of(reviews, areas, share=(0.15, 0.25, 0.35, 0.5)[seed % 4])
    expected = by_conditional_expectation(reviews, model, areas)
    assert corrected(reviews, model, areas) == pytest.approx(expected, abs=1e-12)


def test_someone_with_one_review_is_not_corrected() -> None:
    reviews = Reviews.from_table({"paper": [1, 1, 2], "reviewer": ["a", "b", "c"], "score": [9, 5, 1]})
    model = LevelModel(ScoreMoments(5.0, 2.0, 1.0), 0.5, 3, {2: 1, 1: 1})
    assert corrected(reviews, model, {"1": "", "2": ""}) == {"1": 2.0 / 3.0, "2": -1.0}


def test_where_everyone_reviews_everything_nothing_is_corrected() -> None:
    reviews, areas = conference(2)
    model = model_of(reviews, areas, people=4)
    cases = level_cases(reviews, model, areas, areas)
    assert corrected(reviews, model, areas) == {c.paper: c.expected_quality for c in cases}
    for case in cases:
        weight = replace(case, bar=0.1).belief.weight
        assert sorted(weight.tolist()) == [0.0, 1.0]


def test_neither_names_nor_the_order_of_rows_enter_the_evidence() -> None:
    for seed in range(count(20, 200)):
        reviews, areas = conference(seed)
        columns = reviews.columns()
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(reviews))
        renamed = dict(zip(reviews.reviewers, rng.permutation(reviews.reviewers), strict=True))
        columns = {
            "paper": [columns["paper"][i] for i in order],
            "reviewer": [str(renamed[columns["reviewer"][i]]) for i in order],
            "score": [columns["score"][i] for i in order],
        }
        model = model_of(reviews, areas)
        mixed = Reviews.from_table(columns)
        assert model_of(mixed, areas) == model
        # Equal in every digit: sums do not depend on the order of their terms.
        assert corrected(mixed, model, areas) == corrected(reviews, model, areas)


# --- Beliefs.


@pytest.mark.parametrize(
    ("first", "second", "r"),
    [((0.3, 1.0), (-0.7, 2.0), 0.4), ((-1.1, 0.5), (-0.2, 0.3), -0.6), ((0.4, 1.0), (0.5, 1.0), 0.98)],
)
def test_both_above_is_the_bivariate_normal(
    first: tuple[float, float], second: tuple[float, float], r: float
) -> None:
    covariance = r * sqrt(first[1] * second[1])
    matrix = [[first[1], covariance], [covariance, second[1]]]
    expected = multivariate_normal([0.0, 0.0], matrix).cdf([first[0], second[0]])
    assert both_above(first, second, covariance) == pytest.approx(float(expected), abs=1e-7)


def test_both_above_in_its_limits() -> None:
    assert both_above((0.0, 2.0), (0.0, 0.5), 0.3) == pytest.approx(0.25 + asin(0.3) / (2 * pi))
    assert both_above((0.5, 1.0), (-0.2, 1.0), 1.0) == pytest.approx(norm.cdf(-0.2))
    assert both_above((0.5, 1.0), (-0.2, 4.0), 0.0) == pytest.approx(norm.cdf(0.5) * norm.cdf(-0.1))
    assert both_above((0.0, 1.0), (-0.4, 1.0), 0.3) == pytest.approx(
        float(multivariate_normal([0, 0], [[1, 0.3], [0.3, 1]]).cdf([0.0, -0.4])), abs=1e-7
    )
    assert both_above((0.5, 0.0), (-0.2, 4.0), 0.0) == pytest.approx(norm.cdf(-0.1))


@pytest.mark.parametrize(("k", "others", "every", "stated", "true"), [
    (3, 4, 1.2, 0.25, 0.25), (2, 3, 0.5, 0.5, 0.15), (4, 1, 2.0, 0.15, 0.5),
])  # fmt: skip
def test_the_joint_moments_are_those_of_simulated_reviews(
    k: int, others: int, every: float, stated: float, true: float
) -> None:
    draws, rng = count(40_000, 400_000), np.random.default_rng(k)
    # Everyone wrote `others + 1` reviews on papers with k reviews, and co-reviewers are all different.
    papers = k * 1000
    model = LevelModel(ScoreMoments(0.0, 1.0, every), stated, papers * k // (others + 1), {k: papers})
    assert model.others == pytest.approx(others, rel=1e-3)
    model = replace(model, people=10**6, reviews={k: 10**6 * (others + 1) // k})
    theta = rng.normal(size=draws)
    strict = sqrt(true * every) * rng.normal(size=(draws, k))
    z = theta[:, None] + strict + sqrt((1 - true) * every) * rng.normal(size=(draws, k))
    residuals = np.zeros((draws, k))
    for _ in range(others):
        mine = rng.normal(size=(draws, k)) * sqrt((1 - true) * every) + strict
        quality = rng.normal(size=(draws, k))
        elsewhere = quality[:, :, None] + sqrt(every) * rng.normal(size=(draws, k, k))
        elsewhere[:, :, 0] = quality + mine
        residuals += elsewhere[:, :, 0] - elsewhere.mean(axis=2) / (1 + every / k)
    c = 1 - 1 / (k + every)
    beta = stated * every / (every + (others - 1) * c * stated * every)
    remaining = every * (1 - stated * beta * others * c)
    x = (z - beta * residuals).sum(axis=1) / (k + remaining)
    mean = z.mean(axis=1) / (1 + every / k)  # the expected quality
    slope, variance, covariance = model.joint(k, true)
    fit = float(x @ mean / (mean @ mean))
    rest, quality_rest = x - slope * mean, theta - mean
    # Each within five standard errors, which is missed once in 600,000 times.
    assert abs(fit - slope) < 5 * rest.std() / sqrt(draws) / mean.std()
    assert abs(rest.var() - variance) < 5 * variance * sqrt(2 / draws)
    product = rest * quality_rest
    assert abs(product.mean() - covariance) < 5 * product.std() / sqrt(draws)
    if stated == true:
        assert slope == pytest.approx(1.0)
        assert covariance == pytest.approx(variance)


@pytest.mark.parametrize("share", [0.15, 0.25, 0.35, 0.5])
def test_beliefs_are_the_frequencies_of_normal_variables(share: float) -> None:
    rng, draws = np.random.default_rng(4), count(200_000, 2_000_000)
    model = LevelModel(ScoreMoments(5.0, 2.0, 1.3), 0.25, 40, {3: 60})
    case = LevelCase("p", (5.0, 6.0, 8.0), model, bar=0.4)
    belief = case.belief_if(share)
    slope, variance, covariance = model.joint(3, share)
    mean, alone = case.expected_quality, model.variance_alone(3)
    both = rng.multivariate_normal([mean, slope * mean], [[alone, covariance], [covariance, variance]], draws)
    right, level = both[:, 0] > 0.4, (both[:, 1] > 0.4).astype(int)
    for value in (0, 1):
        taken = level == value
        error = 5 * sqrt(0.25 / draws)
        assert abs(taken.mean() - belief.weight[value]) < error
        assert abs(right[taken].mean() - belief.favor[value]) < error / sqrt(taken.mean())


def test_beliefs_average_to_what_the_scores_say() -> None:
    for seed in range(20):
        reviews, areas = conference(seed)
        for case in level_cases(reviews, model_of(reviews, areas), areas, areas):
            at = replace(case, bar=0.3)
            alone = norm.cdf((at.expected_quality - 0.3) / sqrt(at.model.variance_alone(len(at.scores))))
            assert at.favor == pytest.approx(float(alone), abs=1e-8)
            weight, favor = at.belief.weight, at.belief.favor
            assert weight.sum() == 1.0
            assert favor[0] <= 0.5 <= favor[1] or not weight.all()
            assert (weight * 2**30 % 1 == 0).all()
            assert (favor * 2**30 % 1 == 0).all()


def test_the_bar_of_a_share_is_the_quantile_of_the_population() -> None:
    model = LevelModel(ScoreMoments(5.0, 2.0, 1.3, {"x": 1.0, "y": -0.5}), 0.25, 40, {3: 60})
    cases = [LevelCase(f"p{i}", (5.0, 6.0, 8.0), model, area="xyy"[i]) for i in range(3)]
    bar = bar_of_share(cases, 0.3)
    assert (norm.sf(bar - 1.0) + 2 * norm.sf(bar + 0.5)) / 3 == pytest.approx(0.3, abs=1e-4)


def test_the_bar_of_a_number_has_that_many_papers_expected_above() -> None:
    reviews, areas = conference(3, papers=40, people=20)
    model = model_of(reviews, areas, people=20)
    cases = level_cases(reviews, model, areas, areas)
    bar = bar_of_number(cases, 10)
    assert sum(replace(case, bar=bar).belief.weight[1] for case in cases) == pytest.approx(10, abs=1e-2)


def test_without_spread_the_bar_lies_between_papers() -> None:
    model = LevelModel(ScoreMoments(0.0, 1.0, 0.0), 0.25, 9, {1: 3})
    cases = [LevelCase(f"p{i}", (float(i),), model) for i in range(3)]
    assert bar_of_number(cases, 1) == 1.5
    at_bar = [replace(case, bar=1.5) for case in cases]
    assert evidence(at_bar, {f"p{i}": ["abc"[i]] for i in range(3)}) == {"p0": 0, "p1": 0, "p2": 1}


def test_every_kind_of_machine_finds_the_same_evidence_beliefs_and_bars() -> None:
    """The digest was made once; `make test-machines` compares it as other processors compute."""
    digest = sha256()
    for seed in range(12):
        reviews, areas = conference(seed, papers=40, people=20)
        model = model_of(reviews, areas, share=(0.15, 0.25, 0.35, 0.5)[seed % 4], people=20)
        cases = level_cases(reviews, model, dict.fromkeys(reviews.papers, ""), areas)
        bars = bar_of_share(cases, 0.3), bar_of_number(cases, 12)
        for bar in bars:
            decided = [replace(case, bar=bar) for case in cases]
            beliefs = [(case.belief.weight.tolist(), case.belief.favor.tolist()) for case in decided]
            levels = evidence(decided, reviewers_by_slot(reviews))
            digest.update(repr((model, bar, beliefs, levels)).encode())
    assert digest.hexdigest() == "858c2f1b8a9dbb4f0c3e14ce4221b04bd52233eb2faeb9f1e94876e50544573c"
