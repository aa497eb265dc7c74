"""Synthetic conferences: populations, pools, and the figures of the paper's Appendix A."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import expon, kstest, lognorm, norm

from blindcal.calibrators.affine_model import maximum_likelihood_quality
from blindcal.calibrators.results import raw_quality, standardized_quality
from blindcal.errors import InputError
from blindcal.simulation.metrics import kendall_tau_distance, messy_middle_error
from blindcal.simulation.population import (
    Population,
    nips_2014_population,
    paper_population,
    prototype_population,
    rounded,
    simulate_many,
)
from sizes import count

FALSE_ALARM = 1e-6


def assert_follows(sample, population):
    assert kstest(np.ravel(sample), population.cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("population", "slope", "offset", "noise"),
    [
        (paper_population(0.3, "text"), expon(), norm(0, np.sqrt(0.5)), np.sqrt(0.3)),
        (paper_population(0.3, "script"), expon(), norm(0, 0.5), 0.3),
        (nips_2014_population(), None, norm(0, np.sqrt(0.19)), np.sqrt(0.99)),
        (prototype_population(), lognorm(0.5), norm(0, 0.7), 0.5),
        (
            Population("exponential", slope=3.0, offset=2.0, center=5.0, noise=0.1),
            expon(0, 3),
            norm(5, 2),
            0.1,
        ),
    ],
)
def test_parameters_and_scores_follow_their_distributions(population, slope, offset, noise):
    drawn = simulate_many(
        np.random.default_rng(3), 20, papers=100, reviewers=50, per_paper=3, population=population
    )
    assert_follows(drawn.quality, norm())
    assert_follows(drawn.offset, offset)
    if slope is None:
        assert (drawn.slope == 1).all()
    else:
        assert_follows(drawn.slope, slope)
    assert drawn.noise == pytest.approx(noise)
    row = np.arange(20)[:, None, None]
    mean = drawn.slope[row, drawn.reviewer] * drawn.quality[..., None] + drawn.offset[row, drawn.reviewer]
    assert_follows((drawn.score - mean) / noise, norm())


def test_each_reviewer_may_have_a_noise_of_its_own():
    population = Population(noise=0.5, noise_spread=0.4)
    assert_follows(population.parameters(np.random.default_rng(4), (4000,))[2], lognorm(0.4, scale=0.5))


def test_scores_on_a_grid_are_the_nearest_points():
    grid = (1.0, 2.0, 4.0, 8.0)
    score = np.random.default_rng(5).normal(4, 4, 500)
    nearest = np.array(grid)[np.abs(score[:, None] - grid).argmin(axis=1)]
    assert (rounded(score, grid) == nearest).all()
    assert rounded([1.5, 3.0, 6.0], grid).tolist() == [2.0, 4.0, 8.0]
    drawn = simulate_many(
        np.random.default_rng(5), 2, 10, 10, 2, Population(slope=2.0, center=4.0, grid=grid)
    )
    assert set(np.unique(drawn.score)) <= set(grid)


def test_the_batch_is_the_conferences_side_by_side():
    drawn = simulate_many(
        np.random.default_rng(6), 3, papers=4, reviewers=20, per_paper=2, population=prototype_population()
    )
    batch, (slope, offset, noise) = drawn.batch, drawn.parameters
    assert (batch.groups, batch.papers, slope.size) == (3, 12, batch.reviewers)
    rows = zip(batch.paper, batch.reviewer, batch.score, strict=True)
    for (c, paper, place), (p, r, s) in zip(np.ndindex(3, 4, 2), rows, strict=True):
        person = drawn.reviewer[c, paper, place]
        assert (p, s) == (4 * c + paper, drawn.score[c, paper, place])
        assert (slope[r], offset[r], noise[r]) == (
            drawn.slope[c, person],
            drawn.offset[c, person],
            drawn.noise[c, person],
        )


def test_one_conference_as_reviews():
    drawn = simulate_many(
        np.random.default_rng(6), 3, papers=12, reviewers=20, per_paper=2, population=prototype_population()
    )
    reviews = drawn.reviews(1)
    expected = {
        (paper, int(person)): score
        for paper in range(12)
        for person, score in zip(drawn.reviewer[1, paper], drawn.score[1, paper], strict=True)
    }
    numbers = [int(name[1:]) for name in reviews.reviewers]
    rows = zip(reviews.paper, reviews.reviewer, reviews.score, strict=True)
    assert {(int(reviews.papers[p][1:]), numbers[r]): s for p, r, s in rows} == expected


# What the published script gives (100 conferences, standard error about .002; messy middle about .009).
SCRIPT = {
    0.0: ((0.143, 0.147, 0.000), (0.330, 0.310, 0.000)),
    0.25: ((0.151, 0.200, 0.061), (0.335, 0.369, 0.149)),
    0.5: ((0.168, 0.235, 0.112), (0.359, 0.409, 0.248)),
}


@pytest.mark.parametrize("noise", SCRIPT)
@pytest.mark.parametrize("stacked", [True, False])
def test_appendix_a_in_the_reading_of_the_script(noise, stacked):
    trials = count(400, 4000)
    population = paper_population(noise, "script")
    drawn = simulate_many(np.random.default_rng(7), trials, 100, 100, 3, population, stacked=stacked)
    methods = (
        raw_quality(drawn.batch),
        standardized_quality(drawn.batch),
        maximum_likelihood_quality(drawn.batch, *drawn.parameters),
    )
    estimate = np.stack([quality for quality, _ in methods]).reshape(3, trials, 100)
    for error, published, spread in (
        (kendall_tau_distance, SCRIPT[noise][0], 0.002),
        (messy_middle_error, SCRIPT[noise][1], 0.009),
    ):
        ours = error(drawn.quality, estimate)
        # Both figures are means of independent trials: their difference has both errors. 4.9 sd: 1e-6.
        allowed = 4.9 * np.hypot(spread, ours.std(axis=1) / np.sqrt(trials))
        assert (np.abs(ours.mean(axis=1) - published) <= allowed).all()


def test_known_parameters_without_noise_recover_the_order_exactly():
    drawn = simulate_many(np.random.default_rng(8), 20, 100, 100, 3, paper_population(0.0))
    estimate = maximum_likelihood_quality(drawn.batch, *drawn.parameters)[0].reshape(20, 100)
    assert (kendall_tau_distance(drawn.quality, estimate) == 0).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Population("uniform"), "slopes must be exponential, lognormal or equal, found 'uniform'"),
        (lambda: Population(noise=-1.0), "noise must be at least 0, found -1"),
        (lambda: Population(slope=0.0), "slope must be above 0, found 0"),
        (
            lambda: Population("exponential", slope_spread=0.5),
            "slope_spread is for lognormal slopes, found 0.5",
        ),
        (lambda: Population(grid=(2.0, 1.0)), "grid must be two or more increasing scores"),
        (lambda: paper_population(-0.1), "noise must be at least 0, found -0.1"),
        (lambda: paper_population(0.1, "figure"), "reading must be text or script, found 'figure'"),
        (
            lambda: simulate_many(np.random.default_rng(1), 1, 4, 5, 2, nips_2014_population(), stacked=True),
            "stacked assignments need as many reviewers as papers",
        ),
    ],
)
def test_bad_populations_and_sizes_are_refused_by_name(make, message):
    with pytest.raises(InputError, match=message):
        make()
