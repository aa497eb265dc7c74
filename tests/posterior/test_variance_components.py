"""Moments of scores against formulas of their own, and against the truth of simulated scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blindcal.posterior.variance_components import ScoreMoments, score_moments, scores_by_paper
from blindcal.reviews import Reviews
from sizes import count


def moments_of(papers: Sequence[Sequence[float]], areas: Sequence[str] | None = None) -> ScoreMoments:
    """The moments of papers that are named by their numbers, by default in one area."""
    names = [f"p{number}" for number in range(len(papers))]
    own = [""] * len(papers) if areas is None else areas
    return score_moments(dict(zip(names, papers, strict=True)), dict(zip(names, own, strict=True)))


def by_hand(papers: list[list[float]], areas: list[str]) -> tuple[float, float, float]:
    """Mean, and the two variances, by loops over deviations."""
    scores = [np.array(p, dtype=float) for p in papers]
    within = sum(((p - p.mean()) ** 2).sum() for p in scores) / sum(p.size - 1 for p in scores)
    square, unequal = 0.0, 0.0
    for area in set(areas):
        own = [p for p, a in zip(scores, areas, strict=True) if a == area]
        center = np.concatenate(own).mean()
        square += sum(p.size * (p.mean() - center) ** 2 for p in own)
        unequal += sum(p.size**2 for p in own) / sum(p.size for p in own)
    freedom = len(papers) - len(set(areas))
    effective = (sum(p.size for p in scores) - unequal) / freedom
    return float(np.concatenate(scores).mean()), (square / freedom - within) / effective, within


@pytest.mark.parametrize("seed", range(20))
def test_moments_are_those_of_an_analysis_of_variance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    papers = [(3.0 * rng.normal() + rng.normal(size=rng.integers(1, 6))).round(2).tolist() for _ in range(25)]
    areas = [f"area {a * (seed % 2)}" for a in rng.integers(0, 3, len(papers))]
    moments = moments_of(papers, areas)
    mean, quality, within = by_hand(papers, areas)
    assert moments.center == pytest.approx(mean, abs=1e-12)
    assert moments.spread**2 == pytest.approx(quality, rel=1e-12)
    assert moments.disagreement == pytest.approx(within / quality, rel=1e-12)


def test_the_truth_is_found_in_many_scores() -> None:
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 6, 30_000)
    quality = 1.5 * rng.normal(size=sizes.size)
    papers = [(4.0 + q + 0.9 * rng.normal(size=k)).tolist() for q, k in zip(quality, sizes, strict=True)]
    moments = moments_of(papers)
    # Standard errors: .009, .008 and .003.
    assert moments.center == pytest.approx(4.0, abs=0.05)
    assert moments.spread == pytest.approx(1.5, abs=0.05)
    assert moments.disagreement == pytest.approx(0.36, abs=0.02)


@given(st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=4), min_size=2, max_size=8), st.randoms())
def test_neither_writers_nor_the_order_of_rows_enter(papers: list[list[int]], random: object) -> None:
    rows = [(f"p{i:03d}", float(score)) for i, scores in enumerate(papers) for score in scores]
    writers, order = np.random.default_rng(3).permutation(len(rows)), range(len(rows))[::-1]
    moments = []
    for names, some in ((range(len(rows)), range(len(rows))), (writers, order)):
        paper, score = zip(*(rows[row] for row in some), strict=True)
        columns = {"paper": paper, "reviewer": [f"r{names[row]}" for row in some], "score": score}
        scores = scores_by_paper(Reviews.from_table(columns))
        assert scores == {f"p{i:03d}": tuple(map(float, sorted(own))) for i, own in enumerate(papers)}
        moments.append(score_moments(scores, dict.fromkeys(scores, "")))
    assert moments[0] == moments[1]


@pytest.mark.parametrize(
    ("papers", "expected"),
    [
        ([[3.0, 3.0], [3.0]], ScoreMoments(3.0, 1.0, 0.0)),  # scores that are all equal have a spread
        ([[3.0], [5.0], [7.0]], ScoreMoments(5.0, 2.0, 0.0)),  # single reviews show no disagreement
    ],
)
def test_scores_without_disagreement(papers: list[list[float]], expected: ScoreMoments) -> None:
    assert moments_of(papers) == expected


def test_quality_is_never_less_than_a_hundredth_of_the_disagreement() -> None:
    assert moments_of([[1.0, 5.0], [2.0, 4.0], [5.0, 1.0]]).disagreement == pytest.approx(100.0)


def test_centers_of_areas_that_differ_by_chance_alone_are_shrunk_together() -> None:
    rng = np.random.default_rng(11)
    papers = [(rng.normal() + rng.normal(size=3)).tolist() for _ in range(300)]
    centers = moments_of(papers, [f"a{i % 10}" for i in range(300)]).areas
    raw = [np.mean([papers[i] for i in range(300) if i % 10 == a]) for a in range(10)]
    assert np.std(list(centers.values())) < 0.5 * np.std(raw)


def test_centers_of_areas_that_differ_are_found() -> None:
    rng = np.random.default_rng(12)
    center = {f"a{i}": 2.0 * rng.normal() for i in range(8)}
    areas = [f"a{i % 8}" for i in range(400)]
    papers = [(center[area] + 0.5 * rng.normal() + 0.5 * rng.normal(size=3)).tolist() for area in areas]
    moments = moments_of(papers, areas)
    for name, true in center.items():
        assert moments.center + moments.spread * moments.area(name) == pytest.approx(true, abs=0.5)
    assert moments.spread == pytest.approx(0.5, abs=0.1)
    assert moments.area("an area that was not there") == 0.0


def test_one_rounding_each_makes_numbers_equal_whatever_the_units_of_decimals() -> None:
    for seed in range(count(20, 200)):
        papers = [np.random.default_rng([seed, paper]).integers(10, 90, 3) for paper in range(12)]
        tenths, whole = ([(paper / unit).tolist() for paper in papers] for unit in (10, 1))
        assert moments_of(tenths).disagreement == moments_of(whole).disagreement
