"""Synthetic conferences: populations, pools, and the figures of the paper's Appendix A."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, chi2, expon, ks_2samp, kstest, lognorm, norm

from blindcal.calibrators.affine_model import maximum_likelihood_quality
from blindcal.calibrators.results import raw_quality, standardized_quality
from blindcal.errors import InputError
from blindcal.simulation import population as assignments
from blindcal.simulation.metrics import kendall_tau_distance, messy_middle_error
from blindcal.simulation.population import (
    Population,
    even_loads,
    nips_2014_population,
    paper_population,
    prototype_population,
    rounded,
    simulate_many,
    stacked_assignments,
    uniform_assignments,
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
        assert noise > 0.0 or (ours[2] == 0.0).all(), "known parameters recover the order exactly"
        # Both figures are means of independent trials: their difference has both errors. 4.9 sd: 1e-6.
        allowed = 4.9 * np.hypot(spread, ours.std(axis=1) / np.sqrt(trials))
        assert (np.abs(ours.mean(axis=1) - published) <= allowed).all()


# --- Assignments: simple, with even loads, and uniform (enumeration; false alarm 1e-6 each).


def every_assignment(papers, reviewers, per_paper):
    """All simple assignments with even loads, by trying every choice of reviewers for every paper."""
    sets = list(combinations(range(reviewers), per_paper))
    return [
        drawn
        for drawn in product(sets, repeat=papers)
        if np.ptp(np.bincount(np.ravel(drawn), minlength=reviewers)) <= 1
    ]


def frequencies(drawn):
    return Counter(tuple(map(tuple, np.sort(one, axis=-1).tolist())) for one in drawn)


def assert_uniform(drawn, graphs):
    seen = frequencies(drawn)
    assert set(seen) <= set(graphs)
    expected = len(drawn) / len(graphs)
    statistic = sum((seen[graph] - expected) ** 2 / expected for graph in graphs)
    assert chi2.sf(statistic, len(graphs) - 1) > FALSE_ALARM


@pytest.mark.parametrize(
    ("papers", "reviewers", "per_paper"), [(4, 4, 2), (4, 3, 2), (5, 4, 2), (3, 4, 3), (3, 2, 1)]
)
@pytest.mark.parametrize("most_collisions", [6.0, -1.0], ids=["rejection", "chain of trades"])
def test_every_assignment_is_equally_likely(monkeypatch, papers, reviewers, per_paper, most_collisions):
    monkeypatch.setattr(assignments, "_MOST_COLLISIONS", most_collisions)
    graphs = every_assignment(papers, reviewers, per_paper)
    draws = count(30, 300) * len(graphs)
    drawn = uniform_assignments(np.random.default_rng(5), draws, papers, reviewers, per_paper)
    assert_uniform(drawn, graphs)


def shared_pairs(drawn):
    """Pairs of papers with two or more common reviewers, in each assignment."""
    member = np.zeros((*drawn.shape[:2], drawn.max() + 1))
    np.put_along_axis(member, drawn, 1.0, axis=-1)
    common = member @ member.swapaxes(-1, -2)
    return (np.triu(common >= 2, k=1)).sum(axis=(-1, -2))


def test_the_chain_agrees_with_rejection_at_the_papers_size(monkeypatch):
    rng, draws = np.random.default_rng(7), count(400, 4000)
    exact = shared_pairs(uniform_assignments(rng, draws, 40, 40, 3))
    monkeypatch.setattr(assignments, "_MOST_COLLISIONS", -1.0)
    chained = shared_pairs(uniform_assignments(rng, draws, 40, 40, 3))
    assert ks_2samp(exact, chained).pvalue > FALSE_ALARM
    assert exact.mean() > 3


def test_stacking_prefers_two_squares_as_its_docstring_says():
    graphs = every_assignment(4, 4, 2)
    squares = {graph for graph in graphs if len(set(graph)) == 2}
    assert (len(squares), len(graphs)) == (18, 90)
    draws = count(4000, 100_000)
    for chance, drawn in (
        (1 / 3, stacked_assignments(np.random.default_rng(9), draws, 4, 2)),
        (1 / 5, uniform_assignments(np.random.default_rng(9), draws, 4, 4, 2)),
    ):
        seen = sum(n for graph, n in frequencies(drawn).items() if graph in squares)
        assert binomtest(seen, draws, chance).pvalue > FALSE_ALARM


def every_stack(papers, per_paper):
    """All ordered stacks of permutations in which no paper meets a reviewer twice."""
    stacks = product(permutations(range(papers)), repeat=per_paper)
    met = [(stack, zip(*stack, strict=True)) for stack in stacks]
    return [stack for stack, each in met if all(len(set(people)) == per_paper for people in each)]


def thrown_away_together(rng, count, papers, per_paper):
    """Stacks as the published script draws them: all permutations anew until no paper meets anyone twice."""
    found = []
    while len(found) < count:
        stack = np.stack([rng.permutation(papers) for _ in range(per_paper)], axis=-1)
        if all(len(set(row)) == per_paper for row in stack.tolist()):
            found.append(stack)
    return np.stack(found)


@pytest.mark.parametrize(
    ("papers", "per_paper", "block"),
    [(4, 3, 1 << 18), (4, 2, 8), (3, 3, 1 << 18), (3, 1, 8), (5, 2, 1 << 18)],
)
def test_every_stack_is_equally_likely(monkeypatch, papers, per_paper, block):
    """Whether many stacks are found at once or a few at a time."""
    monkeypatch.setattr(assignments, "_BLOCK", block)
    stacks = every_stack(papers, per_paper)
    assert len(stacks) == {(4, 3): 576, (4, 2): 216, (3, 3): 12, (3, 1): 6, (5, 2): 5280}[papers, per_paper]
    draws = count(20, 200) * len(stacks)
    drawn = stacked_assignments(np.random.default_rng(10), draws, papers, per_paper)
    seen = Counter(tuple(map(tuple, one.T.tolist())) for one in drawn)
    assert set(seen) <= set(stacks)
    expected = draws / len(stacks)
    statistic = sum((seen[stack] - expected) ** 2 / expected for stack in stacks)
    assert chi2.sf(statistic, len(stacks) - 1) > FALSE_ALARM


def test_stacks_are_those_of_the_script_at_the_papers_size():
    """Sizes at which they cannot be listed: the number of pairs of papers with two common reviewers."""
    rng, draws = np.random.default_rng(11), count(300, 3000)
    ours = shared_pairs(stacked_assignments(rng, draws, 30, 3))
    theirs = shared_pairs(thrown_away_together(rng, draws, 30, 3))
    assert ks_2samp(ours, theirs).pvalue > FALSE_ALARM
    assert ours.mean() > 3


@pytest.mark.parametrize("size", [1, 2, 4])
def test_every_permutation_is_equally_likely(size):
    every, draws = list(permutations(range(size))), count(2000, 200_000)
    seen = Counter(map(tuple, assignments._permutations(np.random.default_rng(12), draws, size).tolist()))
    assert set(seen) <= set(every)
    # A false alarm in 1e-6 of all comparisons together.
    assert all(binomtest(seen[one], draws, 1 / len(every)).pvalue > FALSE_ALARM / 27 for one in every)


@given(st.integers(1, 12), st.integers(1, 12), st.data())
def test_assignments_are_simple_and_keep_even_loads(papers, reviewers, data):
    per_paper = data.draw(st.integers(1, reviewers))
    drawn = uniform_assignments(np.random.default_rng(3), 3, papers, reviewers, per_paper)
    assert drawn.shape == (3, papers, per_paper)
    for one in drawn:
        assert all(len(set(row)) == per_paper for row in one.tolist())
        loads = np.bincount(one.ravel(), minlength=reviewers)
        assert sorted(loads, reverse=True) == even_loads(papers, reviewers, per_paper).tolist()


def test_uneven_loads_fall_on_anyone():
    drawn = uniform_assignments(np.random.default_rng(4), 3000, 4, 3, 2)
    heavy = (np.stack([np.bincount(one.ravel(), minlength=3) for one in drawn]) == 3).sum(axis=0)
    assert all(binomtest(int(n), 3000, 2 / 3).pvalue > FALSE_ALARM for n in heavy)


def test_a_large_dense_conference_is_drawn():
    drawn = uniform_assignments(np.random.default_rng(2), 1, 300, 100, 6)[0]
    assert (np.bincount(drawn.ravel()) == 18).all()
    assert (np.diff(np.sort(drawn, axis=1), axis=1) > 0).all()


def test_stacking_what_cannot_be_stacked_is_refused(monkeypatch):
    monkeypatch.setattr(assignments, "_MOST_DRAWS", 0)
    with pytest.raises(InputError, match="almost never"):
        stacked_assignments(np.random.default_rng(1), 1, 5, 5)
