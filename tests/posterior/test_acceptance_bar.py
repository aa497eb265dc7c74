"""The bar: where full calibration accepts the requested share, found without weighing any tuple exactly."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm, truncnorm

from blindcal.errors import InputError
from blindcal.pools.candidates import SharedTuple, all_but
from blindcal.pools.prior import inclusion
from blindcal.posterior import acceptance_bar
from blindcal.posterior.acceptance_bar import choose_bar, review_sites, tuple_qualities
from blindcal.posterior.paper import PaperCase
from listed_tuples import gaussian_posteriors
from random_cases import random_case, row_of
from sizes import count

Grid = tuple[float, ...] | None


def conference(seed: int, papers: int, size: int, reviews: int, grid: Grid, unsure: float) -> list[PaperCase]:
    """Papers whose true calibration is drawn from the stated one; chances differ."""
    rng, found = np.random.default_rng(seed), []
    for paper in range(papers):
        a, b, s = np.exp(rng.normal(0, 0.3, size)), rng.normal(0, 0.6, size), rng.uniform(0.4, 0.9, size)
        sa, sb, sn = rng.uniform(0, unsure, (3, size)) * [[1.0], [1.5], [1.0]]
        rho, z = rng.uniform(-0.8, 0.8, size), rng.normal(size=(3, size))
        who = rng.permutation(size)[:reviews]
        shift = sb * (rho * z[0] + np.sqrt(1 - rho**2) * z[1])
        scores = ((a + sa * z[0]) * rng.normal() + b + shift + np.hypot(s, sn) * z[2])[who]
        if grid is not None:
            scores = np.array(grid)[np.abs(np.array(grid)[:, None] - scores).argmin(axis=0)]
        rows = tuple(map(tuple, np.column_stack([a, b, s, sa, sb, rho, sn]).tolist()))
        names, chance = (f"r{j:02d}" for j in range(size)), rng.uniform(0.3, 1.0, size).tolist()
        public = tuple(names), inclusion(chance, reviews), rows, 0.0, grid
        found.append(PaperCase(f"p{paper}", tuple(sorted(scores.tolist())), *public))
    return found


def exact_share(cases: list[PaperCase], bar: float) -> float:
    """What full calibration accepts by the exact posteriors, on average over the public belief."""
    beliefs = [replace(case, bar=bar).belief for case in cases]
    return float(np.mean([belief.weight[belief.favor >= 0.5].sum() for belief in beliefs]))


def test_known_reviewers_have_the_medians_and_weights_of_multivariate_normal_scores() -> None:
    rng = np.random.default_rng(3)
    for _ in range(count(5, 50)):
        reviews = int(rng.integers(1, 4))
        case = replace(random_case(rng, 4, reviews), inclusion=(reviews / 4,) * 4)
        median, precision, weight = tuple_qualities(case)
        for found, expected in zip((weight, median, precision**-0.5), gaussian_posteriors(case), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5])
def test_known_reviewers_are_accepted_at_exactly_the_requested_share(rate: float) -> None:
    """Or as near to it as whole tuples allow: no bar around comes nearer."""
    cases = conference(4, 30, 5, 3, None, 0.0)
    bar, share = choose_bar(cases, rate, None)
    assert share == rate
    missed = abs(exact_share(cases, bar) - rate)
    assert missed < 1e-3
    for steps in (-30, -10, -3, -2, -1, 1, 2, 3, 10, 30):
        assert missed <= abs(exact_share(cases, bar + steps * 1e-4) - rate) + 2e-9
    assert choose_bar(cases, None, bar) == (bar, pytest.approx(exact_share(cases, bar), abs=1e-9))


def two_scores(low: int, high: int) -> list[PaperCase]:
    """Papers of four alike, with three scores of 4 each or three of 7: medians of quality -0.75 and 1.5."""
    rows = (row_of(1.0, 5.0, 1.0),) * 4
    return [
        PaperCase(f"p{i}", (score,) * 3, ("a", "b", "c", "d"), (0.75,) * 4, rows, 0.0)
        for i, score in enumerate([4.0] * low + [7.0] * high)
    ]


@pytest.mark.parametrize(
    ("low", "high", "rate", "height"),
    [
        (10, 10, 0.5, 0.375),
        (10, 10, 0.3, 0.375),
        (10, 10, 0.25, 0.375),  # as near to none as to half: the lower bar
        (10, 10, 0.7, 0.375),
        (15, 5, 0.25, 0.375),
        (10, 10, 0.1, 2.625),  # none: half as far beyond 1.5 as it is from -0.75
        (10, 10, 0.9, -1.875),
    ],
)
def test_between_two_medians_the_bar_is_in_the_middle(
    low: int, high: int, rate: float, height: float
) -> None:
    """At the lower one, half of the papers that are rejected would be stated to be rejected wrongly."""
    cases = two_scores(low, high)
    bar, _ = choose_bar(cases, rate, None)
    assert bar == pytest.approx(height, abs=2e-4)
    beliefs = [replace(case, bar=bar).belief for case in cases]
    wrong = [np.minimum(belief.favor, 1 - belief.favor) @ belief.weight for belief in beliefs]
    apart = np.abs(np.repeat([-0.75, 1.5], [low, high]) - height)
    assert np.mean(wrong) == pytest.approx(norm.sf(apart / 0.5).mean(), abs=1e-4)
    assert np.mean(wrong) < 0.013


def test_papers_that_are_all_alike_are_at_the_bar() -> None:
    for rate in (0.1, 0.5, 0.9):
        assert choose_bar(two_scores(20, 0), rate, None)[0] == pytest.approx(-0.75, abs=2e-4)


@pytest.mark.parametrize("papers", [1, 30])
def test_where_all_or_none_are_to_pass_the_bar_is_just_beyond_the_papers(papers: int) -> None:
    cases = conference(4, papers, 5, 3, None, 0.0)
    for rate, short in ((0.0, 0.01 / papers), (1.0, 1 - 0.01 / papers)):
        bar, share = choose_bar(cases, rate, None)
        assert share == rate
        assert bar == choose_bar(cases, short, None)[0]
        assert exact_share(cases, bar) == pytest.approx(rate, abs=0.02 / papers)


# Found to hold in all conferences of the long version; a share moves by whole tuples.
@pytest.mark.parametrize(
    ("grid", "unsure", "within"),
    [
        (tuple(np.arange(-4.0, 4.5, 0.5)), 0.0, 0.01),
        (tuple(np.arange(-3.0, 4.0)), 0.0, 0.02),
        ((-3.0, -1.0, 1.0, 3.0), 0.0, 0.04),
        (None, 0.15, 0.015),
        (None, 0.4, 0.04),
        (tuple(np.arange(-3.0, 4.0)), 0.3, 0.03),
    ],
)
def test_rounded_and_uncertain_reviews_are_accepted_at_nearly_the_requested_share(
    grid: Grid, unsure: float, within: float
) -> None:
    """Papers with 1 to 4 reviews, 60 of them: cells up to three standard deviations of noise wide, slopes and
    offsets known to 40 % and 60 % of one."""
    for seed in range(count(1, 40)):
        cases = [case for k in (1, 2, 3, 4) for case in conference(seed, 15, 6, k, grid, unsure)]
        for rate in (0.1, 0.25, 0.5):
            bar, _ = choose_bar(cases, rate, None)
            assert exact_share(cases, bar) == pytest.approx(rate, abs=within)


def test_a_cell_has_the_moments_of_a_truncated_normal_however_far_out() -> None:
    low = np.array([-1.0, 0.3, 2.0, -np.inf, 5.0, -np.inf, -0.01, 30.0])
    high = np.array([0.5, 0.4, np.inf, -3.0, 5.5, np.inf, 0.02, np.inf])
    log_chance, mean, variance = acceptance_bar._truncated_normal(low, high)
    for i, (x, y) in enumerate(zip(low, high, strict=True)):
        known = truncnorm(x, y)
        # Far out scipy's own variance has lost its digits: there it is 1/x^2 (1 - 6/x^2 + ...).
        spread = known.var() if x < 20 else (1 - 6 / x**2 + 50 / x**4) / x**2
        assert mean[i] == pytest.approx(known.mean(), rel=1e-7, abs=1e-9)
        assert variance[i] == pytest.approx(spread, rel=1e-5)
    inside = np.isfinite(low) & np.isfinite(high)
    assert np.exp(log_chance)[inside] == pytest.approx((norm.cdf(high) - norm.cdf(low))[inside], rel=1e-9)


def test_a_score_in_a_fine_grid_counts_as_its_noise_and_a_twelfth_of_the_squared_step() -> None:
    """And an uncertain reviewer at quality 0 as all of the variance; both to first order."""
    rows = (row_of(1.2, 0.1, 0.5), row_of(0.8, -0.2, 0.7))
    step = 0.05
    case = PaperCase("p", (0.3,), ("a", "b"), (0.5, 0.5), rows, 0.0, tuple(np.arange(-100, 101) * step))
    case = replace(case, scores=(case.grid[106],))
    found = review_sites(case)
    for j, (a, b, s, *_) in enumerate(rows):
        noise = np.sqrt(s**2 + step**2 / 12)
        assert found.gain[0, j] == pytest.approx(a / noise, rel=1e-4)
        assert found.gap[0, j] == pytest.approx((case.scores[0] - b) / noise, rel=1e-3)


def test_sites_of_a_committee_are_those_of_each_paper_by_itself() -> None:
    rng = np.random.default_rng(12)
    rows = SharedTuple(
        (*rng.uniform(0.5, 2.0, 3), slope_se, 0.2, 0.1, 0.0) for slope_se in (0.0, 0.3, 0.0, 0.4)
    )
    for scores, without in (((1.0,), (0, 2)), ((3.0,), (1, 3)), ((1.0, 3.0), (2,)), ((2.0,), ())):
        names = ("a", "b", "c", "d")[: 4 - len(without)]
        share = (1.0 / len(names),) * len(names)
        alone = tuple(row for index, row in enumerate(rows) if index not in without)
        together, separate = (
            review_sites(PaperCase("p", scores, names, share, parameters, 0.0, (1.0, 2.0, 3.0)))
            for parameters in (all_but(rows, without), alone)
        )
        for name in ("gain", "gap", "constant"):
            np.testing.assert_array_equal(getattr(together, name), getattr(separate, name))


@pytest.mark.parametrize("star", [False, True])
@pytest.mark.parametrize("sure", [0, 1, 2])
def test_drawn_tuples_stand_for_all_of_them(star: bool, sure: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some are certain to have written a review, `*` may have written several.

    The chance of a median above some height from 4,000 draws against that from all tuples: an error of six
    standard deviations, with an effective number of draws no smaller than is found from the weights.
    """
    rng = np.random.default_rng(11)
    for seed in range(count(2, 20)):
        case = conference(100 + seed, 1, 7, 3, (-2.0, -1.0, 0.0, 1.0, 2.0), 0.2)[0]
        chances = [1e6] * sure + rng.uniform(0.2, 1.0, 7 - sure).tolist()
        if star:
            case = replace(case, candidates=("*", *case.candidates[1:]))
            chances = [0.8, *([1.0] * sure), *rng.uniform(0.05, 0.2, 6 - sure).tolist()]
        case = replace(case, inclusion=inclusion(chances, 3, 0 if star else None))
        median, _, weight = tuple_qualities(case)
        with monkeypatch.context() as patch:
            patch.setattr(acceptance_bar, "MAX_LISTED", 0)
            some, _, share = tuple_qualities(case)
        assert some.size == acceptance_bar.SAMPLED_TUPLES
        effective = 1.0 / float(share @ share)
        assert effective > 200
        for height in np.quantile(median, [0.2, 0.5, 0.8]):
            right = float(weight[median > height].sum())
            error = 6 * np.sqrt(max(right * (1 - right), 0.01) / effective)
            assert float(share[some > height].sum()) == pytest.approx(right, abs=error)


def test_the_bar_is_that_of_the_public_data_alone_and_the_same_every_time() -> None:
    """Papers in another order, candidates in another order: nothing else of an assignment is there to see."""
    cases = conference(6, 8, 9, 5, (-2.0, -1.0, 0.0, 1.0, 2.0), 0.2)
    cases = [replace(case, bar=float(i)) for i, case in enumerate(cases)]
    found = choose_bar(cases, 0.3, None)
    for same in (cases, [replace(case, bar=0.0) for case in cases], cases[::-1]):
        assert choose_bar(same, 0.3, None) == found


def test_papers_are_told_as_they_are_added_up() -> None:
    told: list[int] = []
    cases = conference(7, 70, 3, 1, None, 0.0)
    choose_bar(cases, 0.3, None, advance=told.append)
    assert told == [32, 32, 6]


def test_scores_that_floats_cannot_weigh_are_refused() -> None:
    case = PaperCase("p", (1e200,), ("a", "b"), (0.5, 0.5), (row_of(1, 0, 0.5), row_of(1, 1, 0.5)), 0.0)
    with pytest.raises(InputError, match="paper 'p' are too far"):
        choose_bar([case], 0.5, None)
