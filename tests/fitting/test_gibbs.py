"""Each step of the sampler against one joint density, written out plainly and integrated by other means."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest, norm, t, truncnorm

from blindcal.checks import Array
from blindcal.fitting.gibbs import (
    TRACES,
    HistorySampler,
    HistoryState,
    chain,
    covariance,
    log_prior_of_root,
    log_scale,
    parameters,
    pooled_moments,
)
from chances import within
from sizes import count
from small_pasts import tiny_history

HISTORY = tiny_history(shared=True)
VISIT = {
    HISTORY.reviewers[HISTORY.visits.reviewer[v]]: v
    for v in range(len(HISTORY.visits))
    if HISTORY.visits.conference[v] == 1
}
PEOPLE, VISITS = len(HISTORY.reviewers), len(HISTORY.visits)


def start() -> HistorySampler:
    """A sampler in the middle of things: nothing is 0, equal or symmetric."""
    sampler = HistorySampler(HISTORY, np.random.default_rng(8))
    s, rng = sampler.state, np.random.default_rng(9)
    s.quality = rng.standard_normal(6)
    s.slope, s.offset = rng.normal(0.8, 0.3, VISITS), rng.normal(0.1, 0.4, VISITS)
    s.log_noise = rng.normal(-0.6, 0.3, PEOPLE)
    s.log_level = np.array([0.0, 0.3])
    s.shift, s.stretch = np.array([0.2, -0.1]), np.array([0.15, -0.2])
    s.mean_slope, s.covariance = 0.9, np.array([[0.1, 0.03], [0.03, 0.2]])
    s.mean_log_noise, s.sd_log_noise, s.persistence = -0.5, 0.4, 0.6
    s.load = np.array([4.0, 2.0])
    return sampler


def log_root_law(given: Array) -> float:
    """Huang and Wand: the marginal prior of a covariance with half-t(2) deviations of scale 0.5."""
    inverse = np.linalg.inv(given).diagonal()
    return float(-3 * np.log(np.linalg.det(given)) - 2 * np.log(2 * inverse + 4).sum())


def log_joint(s: HistoryState) -> float:
    """Everything: scores before rounding, qualities, reviewers by their covariance over visits, priors."""
    if s.sd_log_noise >= 0.75:
        return -np.inf
    total = normal(s.quality, 0, 1) + log_root_law(s.covariance)
    total += normal(s.log_noise, s.mean_log_noise, s.sd_log_noise)
    total += np.log(s.sd_log_noise)  # its square is flat
    total += normal(s.log_level[1:], 0, 0.5) + normal(s.stretch, 0, 0.25)
    total += 3 * np.log(s.persistence)  # Beta(4, 1)
    visits = HISTORY.visits
    for r in range(PEOPLE):
        own = np.flatnonzero(visits.reviewer == r)
        when = visits.conference[own]
        whole = np.kron(s.persistence ** np.abs(when[:, None] - when), s.covariance)
        habits = np.stack([s.slope[own] - s.mean_slope, s.offset[own]], axis=1).ravel()
        total -= 0.5 * (habits @ np.linalg.solve(whole, habits) + np.linalg.slogdet(whole)[1])
    total += log_of_shared(s.load, s.offset)
    c, v = HISTORY.conference, HISTORY.visit
    fair = s.shift[c] + s.slope[v] * s.quality[HISTORY.paper] + s.offset[v]
    sd = np.exp(s.log_noise[HISTORY.reviewer] + s.log_level[HISTORY.level])
    return float(total + normal(s.score, np.exp(s.stretch[c]) * fair, np.exp(s.stretch[c]) * sd))


def log_of_shared(load: Array, offset: Array) -> float:
    """Sums of 1.9 and -1.2 and counts of 4.3 and 2.6, by `tiny_shared`, whose noise has variance 0.8 on both;
    counts over people are 3.45 on average, and vary by less than the noise."""
    own = offset[[VISIT["ann"], VISIT["eve"]]]
    within = 0.4 - 0.8**2 * 0.12
    total = normal(np.array([1.9, -1.2]), load * (0.05 + 0.8 * own), np.sqrt(0.8 + load * within))
    return total + normal(np.array([4.3, 2.6]), load, np.sqrt(0.8)) + normal(load, 3.45, 0.5)


def normal(value: Array, mean: Array | float, sd: Array | float) -> float:
    """Log density of normal values, up to a constant."""
    return float((-0.5 * ((value - mean) / sd) ** 2 - np.log(sd)).sum())


def gaussian(s: HistoryState, put: Callable[[HistoryState, Array], None], size: int) -> tuple[Array, Array]:
    """Mean and covariance of a block in which the log joint density is quadratic: by differences, exactly."""

    def value(x: Array) -> float:
        moved = deepcopy(s)
        put(moved, x)
        return log_joint(moved)

    step = np.eye(size)
    base = value(np.zeros(size))
    up, down = [value(e) for e in step], [value(-e) for e in step]
    gradient = (np.array(up) - down) / 2
    hessian = np.empty((size, size))
    for i in range(size):
        hessian[i, i] = up[i] + down[i] - 2 * base
        for j in range(i):
            hessian[i, j] = hessian[j, i] = value(step[i] + step[j]) - up[i] - up[j] + base
    cov = np.linalg.inv(-hessian)
    return cov @ gradient, cov


def agree(found: Array, mean: Array, cov: Array) -> None:
    """Means and covariances of independent draws, false alarm 1e-6 over a few hundred comparisons."""
    n, limit = len(found), norm.isf(1e-6 / 2 / 300)
    assert (np.abs(found.mean(axis=0) - mean) < limit * np.sqrt(cov.diagonal() / n)).all()
    sd = np.sqrt(np.outer(cov.diagonal(), cov.diagonal()) + cov**2)
    assert (np.abs(np.cov(found.T) - cov) < 1.1 * limit * sd / np.sqrt(n)).all()


def redrawn(step: str, read: Callable[[HistoryState], Array], times: int) -> Array:
    """What a step that depends on nothing it changes draws, again and again from the same state."""
    sampler, found = start(), []
    before = deepcopy(sampler.state)
    for _ in range(times):
        sampler.state = deepcopy(before)
        getattr(sampler, step)()
        found.append(read(sampler.state))
    return np.array(found)


def chained(step: str, read: Callable[[HistoryState], Array], times: int, thin: int) -> Array:
    """Every `thin`-th state of a chain of one step alone."""
    sampler, found = start(), []
    for index in range(times * thin):
        getattr(sampler, step)()
        if index % thin == thin - 1:
            found.append(np.array(read(sampler.state), dtype=float))
    return np.array(found)


def test_shifts_and_qualities() -> None:
    def put(s: HistoryState, x: Array) -> None:
        s.shift, s.quality = x[:2], x[2:]

    found = redrawn(
        "draw_shift_and_quality", lambda s: np.concatenate([s.shift, s.quality]), count(2000, 20000)
    )
    agree(found, *gaussian(start().state, put, 8))


def test_slopes_and_offsets_at_every_visit() -> None:
    def put(s: HistoryState, x: Array) -> None:
        s.slope, s.offset = x[:VISITS], x[VISITS:]

    sampler, found = start(), []
    sampler.step = 0.0
    for _ in range(count(2000, 20000)):
        sampler.draw_reviewers()
        found.append(np.concatenate([sampler.state.slope, sampler.state.offset]))
    assert sampler.state.persistence == pytest.approx(0.6)
    agree(np.array(found), *gaussian(start().state, put, 2 * VISITS))


def test_scores_stay_in_their_cells_with_the_law_of_a_truncated_normal() -> None:
    s = start().state
    found = redrawn("draw_scores", lambda s: s.score, count(3000, 30000))
    assert (found[:, ~HISTORY.rounded] == HISTORY.score[~HISTORY.rounded]).all()
    assert HISTORY.rounded.sum() == 7
    for n in np.flatnonzero(HISTORY.rounded):
        c, v = HISTORY.conference[n], HISTORY.visit[n]
        fair = s.shift[c] + s.slope[v] * s.quality[HISTORY.paper[n]] + s.offset[v]
        unit = np.exp(s.stretch[c])
        sd = unit * np.exp(s.log_noise[HISTORY.reviewer[n]] + s.log_level[HISTORY.level[n]])
        ends = [(end - unit * fair) / sd for end in (HISTORY.low[n], HISTORY.high[n])]
        prior = truncnorm(*ends, unit * fair, sd)
        limit = norm.isf(1e-6 / 2 / 7) * prior.std() / np.sqrt(len(found))
        assert abs(found[:, n].mean() - prior.mean()) < limit


def reference(
    value: Callable[[Array], float], origin: Array, width: Array, walkers: int, steps: int
) -> Array:
    """Means of each coordinate under a log density, one row a walker: plain random-walk Metropolis."""
    rng, size, means = np.random.default_rng(12), origin.size, []
    for _ in range(walkers):
        x = origin + 0.3 * width * rng.standard_normal(size)
        now, total = value(x), np.zeros(size)
        for index in range(steps):
            new = x + 1.7 / np.sqrt(size) * width * rng.standard_normal(size)
            there = value(new)
            if np.log(rng.random()) < there - now:
                x, now = new, there
            total += x if index >= steps // 4 else 0.0
        means.append(total / (steps - steps // 4))
    return np.array(means)


def compare_means(
    step: str, read: Callable[[HistoryState], Array], value: Callable[[Array], float], thin: int, steps: int
) -> None:
    """Means of a thinned chain of one step in 20 batches, and of 16 walkers under its density, each with its
    error from how they differ: Student's t with at least 15 degrees of freedom, false alarm 1e-6 over about
    20 comparisons."""
    found = chained(step, read, count(1500, 10000), thin)
    walked = reference(value, found.mean(axis=0), found.std(axis=0), 16, steps)
    batches = found[: len(found) // 20 * 20].reshape(20, -1, found.shape[1]).mean(axis=1)
    error = np.sqrt(batches.var(axis=0, ddof=1) / 20 + walked.var(axis=0, ddof=1) / len(walked))
    assert (np.abs(batches.mean(axis=0) - walked.mean(axis=0)) < t.isf(1e-6 / 40, 15) * error).all()


def normalized(log_density: object) -> Array:
    weight = np.exp(np.array(log_density) - np.max(log_density))
    return weight / weight.sum()


def _with(s: HistoryState, **changes: object) -> HistoryState:
    moved = deepcopy(s)
    for name, change in changes.items():
        setattr(moved, name, change)
    return moved


def _covariance(x: Array) -> Array:
    """From log deviations and the correlation's hyperbolic tangent."""
    (one, two), rho = np.exp(x[:2]), np.tanh(x[2])
    return np.array([[one**2, rho * one * two], [rho * one * two, two**2]])


def _coordinates(s: HistoryState) -> Array:
    one, two = np.sqrt(s.covariance.diagonal())
    return np.array([np.log(one), np.log(two), np.arctanh(s.covariance[0, 1] / one / two), s.mean_slope])


def test_the_population_given_the_reviewers() -> None:
    base = start().state

    def value(x: Array) -> float:
        if x[3] <= 0:
            return -np.inf
        moved = _with(base, covariance=_covariance(x), mean_slope=x[3])
        # d(covariance) / d(log deviations, atanh correlation)
        jacobian = 3 * (x[0] + x[1]) + np.log1p(-(np.tanh(x[2]) ** 2))
        return log_joint(moved) + jacobian

    compare_means("draw_population", _coordinates, value, 3, count(400, 4000))


def test_the_population_with_standardized_reviewers_fixed() -> None:
    base = start().state
    root = np.linalg.cholesky(base.covariance)
    z = np.linalg.solve(root, np.stack([base.slope - base.mean_slope, base.offset]))

    def value(x: Array) -> float:
        if x[3] <= 0:
            return -np.inf
        new = np.array([[x[0], 0.0], [x[1], x[2]]])
        slope, offset = x[3] + new[0, 0] * z[0], new[1] @ z
        moved = _with(base, covariance=new @ new.T, mean_slope=x[3], slope=slope, offset=offset)
        # d(covariance)/d(root) is 4 root11^2 root22, d(habits)/dz is root11 root22 for each visit.
        one, two = np.log(np.abs(x[[0, 2]]))
        return log_joint(moved) + 2 * one + two + len(HISTORY.visits) * (one + two)

    def read(s: HistoryState) -> Array:
        # The root has any sign: it is read off the habits, which are mean + root z.
        first, second = s.slope - s.mean_slope, s.offset
        (lower, upper), *_ = np.linalg.lstsq(z.T, second, rcond=None)
        return np.array([first @ z[0] / (z[0] @ z[0]), lower, upper, s.mean_slope])

    compare_means("stretch_reviewers", read, value, 4, count(800, 6000))


def test_noise_of_everyone_and_its_law() -> None:
    base = start().state

    def value(x: Array) -> float:
        moved = _with(base, log_noise=x[:-2], mean_log_noise=x[-2], sd_log_noise=np.exp(x[-1]))
        return log_joint(moved) + x[-1]

    def read(s: HistoryState) -> Array:
        return np.array([*s.log_noise, s.mean_log_noise, np.log(s.sd_log_noise)])

    compare_means("draw_noise", read, value, 4, count(600, 6000))


def test_noise_with_standardized_noise_fixed_and_qualities_integrated_out() -> None:
    """Means over 20 batches of the chain against a grid of (mean, log spread); false alarm 1e-6."""
    base = start().state
    z = (base.log_noise - base.mean_log_noise) / base.sd_log_noise

    def put(s: HistoryState, x: Array) -> None:
        s.quality = x

    means, logs = np.linspace(-2.6, 1.4, 31), np.log(0.75) - 5.0 + 5.0 * (np.arange(30) + 0.5) / 30
    density = np.empty((means.size, logs.size))
    for i, mean in enumerate(means):
        for j, log in enumerate(logs):
            sd = float(np.exp(log))
            moved = _with(base, log_noise=mean + sd * z, mean_log_noise=mean, sd_log_noise=sd)
            best, cov = gaussian(moved, put, 6)
            put(moved, best)
            # d(log noise)/dz is sd for each reviewer, d(sd)/d(log sd) is sd.
            density[i, j] = log_joint(moved) + 0.5 * np.linalg.slogdet(cov)[1] + (PEOPLE + 1) * log
    weight = normalized(density)

    def read(s: HistoryState) -> Array:
        return np.array([s.mean_log_noise, np.log(s.sd_log_noise)])

    found = chained("stretch_noise", read, count(4000, 20000), 4)
    for place, exact in enumerate((weight.sum(axis=1) @ means, weight.sum(axis=0) @ logs)):
        batches = found[:, place].reshape(20, -1).mean(axis=1)
        error = batches.std(ddof=1) / np.sqrt(20)
        # The grid's own error is far below a twentieth of a standard deviation.
        assert abs(batches.mean() - exact) < t.isf(2.5e-7, 19) * error + 0.05 * found[:, place].std()


@pytest.mark.parametrize(
    ("step", "name", "place"), [("draw_levels", "log_level", 1), ("draw_stretch", "stretch", 0)]
)
def test_levels_of_confidence_and_stretches(step: str, name: str, place: int) -> None:
    """Against a grid: mean and mean square, false alarm 1e-6."""
    base = start().state
    found = chained(step, lambda s: getattr(s, name)[place : place + 1], count(1500, 10000), 4)[:, 0]
    grid, density = np.linspace(-2.5, 2.5, 2001), []
    for value in grid:
        moved = deepcopy(base)
        getattr(moved, name)[place] = value
        density.append(log_joint(moved))
    weight = normalized(density)
    for power in (1, 2):
        exact = weight @ grid**power
        error = np.sqrt((weight @ grid ** (2 * power) - exact**2) / len(found))
        assert abs((found**power).mean() - exact) < 1.3 * norm.isf(2.5e-7) * error


def test_how_many_reviews_a_shared_sum_rests_on() -> None:
    """Against all numbers that there may be; false alarm 1e-6."""
    base, tries = start().state, count(4000, 40000)
    found = redrawn("draw_loads", lambda s: s.load, tries)
    for person in range(2):
        log = []
        for n in range(12):
            load = base.load.copy()
            load[person] = n
            log.append(log_of_shared(load, base.offset))
        chance = normalized(log)
        for n in range(10):
            assert within(int((found[:, person] == n).sum()), tries, chance[n], 20)


def test_persistence_given_all_but_slopes_and_offsets() -> None:
    """Against a grid, slopes and offsets integrated out by their exact Gaussian prior; false alarm 1e-6."""
    base = start().state

    def put(s: HistoryState, x: Array) -> None:
        s.slope, s.offset = x[:VISITS], x[VISITS:]

    grid = np.linspace(0.0125, 0.9875, 40)
    density = []
    for value in grid:
        moved = _with(base, persistence=float(value))
        mean, cov = gaussian(moved, put, 2 * VISITS)
        put(moved, mean)
        density.append(log_joint(moved) + 0.5 * np.linalg.slogdet(cov)[1])
    weight = normalized(density)
    sampler, found = start(), []
    sampler.step = 1.5
    for index in range(count(8000, 60000)):
        sampler.draw_reviewers()
        if index % 8 == 7:
            found.append(sampler.state.persistence)
    exact = weight @ grid
    error = np.sqrt((weight @ grid**2 - exact**2) / len(found))
    # The grid's own error, of a midpoint rule with 40 cells, is far below.
    assert abs(np.mean(found) - exact) < 1.5 * norm.isf(5e-7) * error


# --- Draws of the sampler's own distributions, against SciPy, integrals and grids.


def test_log_scale_has_the_density_that_it_says() -> None:
    """Mean of l and l^2 over independent chains against a grid; false alarm 1e-6."""
    chains, n, squares, mean, sd = count(20000, 200000), 3.0, 2.5, -0.4, 0.6
    rng, now = np.random.default_rng(2), np.full(count(20000, 200000), 0.3)
    # What the first value still is after so many steps is far below the error.
    for _ in range(60):
        now = log_scale(np.full(chains, n), np.full(chains, squares), mean, sd, now, rng)
    grid = np.linspace(-4, 4, 4001)
    density = normalized(-n * grid - squares / 2 * np.exp(-2 * grid) - 0.5 * ((grid - mean) / sd) ** 2)
    for power in (1, 2):
        exact = density @ grid**power
        error = np.sqrt((density @ grid ** (2 * power) - exact**2) / chains)
        assert abs((now**power).mean() - exact) < norm.isf(2.5e-7) * error


def test_covariance_without_data_has_half_t_deviations_and_uniform_correlation() -> None:
    """Kolmogorov and Smirnov on every 30th draw, which are as good as independent; false alarm 1e-6."""
    rng, now, kept = np.random.default_rng(5), np.eye(2), []
    for index in range(count(15000, 90000)):
        now = covariance(np.zeros((2, 2)), 0, now, 0.7, rng)
        if index % 30 == 29:
            kept.append((np.sqrt(now[0, 0]), np.sqrt(now[1, 1]), now[0, 1] / np.sqrt(now[0, 0] * now[1, 1])))
    first, second, correlation = np.array(kept).T
    for sd in (first, second):
        assert kstest(sd, lambda x: 2 * t.cdf(x / 0.7, 2) - 1).pvalue > 3e-7
    assert kstest(correlation, lambda x: (x + 1) / 2).pvalue > 3e-7


def test_the_law_of_a_root_is_that_of_the_covariance_times_its_jacobian() -> None:
    """The prior of the covariance as the integral that defines it; the Jacobian by differences."""
    roots = [np.array([[0.5, 0.0], [0.2, 0.7]]), np.array([[1.4, 0.0], [-0.6, 0.3]])]
    found = [log_prior_of_root(root, 0.5) for root in roots]
    exact = [np.log(_integrated(root @ root.T, 0.5)) + np.log(_jacobian(root)) for root in roots]
    assert found[0] - found[1] == pytest.approx(exact[0] - exact[1], abs=1e-6)


def _integrated(given: Array, scale: float) -> float:
    """Inverse Wishart (3 degrees of freedom, scale matrix 4/a on the diagonal), with each a inverse gamma."""
    inverse = np.linalg.inv(given).diagonal()
    value = np.linalg.det(given) ** -3.0

    def inner(a: float, k: int) -> float:
        scaled = (4 / a) ** 1.5 * np.exp(-2 / a * inverse[k])
        return float(scaled * a**-1.5 * np.exp(-1 / (scale**2 * a)))

    for k in (0, 1):
        value *= quad(inner, 0, np.inf, args=(k,))[0]
    return float(value)


def _jacobian(root: Array) -> float:
    """|d(covariance) / d(root)| by central differences."""
    places, step = [(0, 0), (1, 0), (1, 1)], 1e-6
    columns = []
    for i, j in places:
        up, down = root.copy(), root.copy()
        up[i, j] += step
        down[i, j] -= step
        change = (up @ up.T - down @ down.T) / (2 * step)
        columns.append([change[0, 0], change[1, 0], change[1, 1]])
    return float(abs(np.linalg.det(np.array(columns))))


# --- What is kept of a chain: moments that the draws themselves have.


def test_moments_are_those_of_slopes_and_offsets_drawn_for_the_next_conference() -> None:
    """The chain of `chain`, run again here; in place of conditional moments, draws. False alarm 1e-6."""
    history, sweeps = tiny_history(), count(900, 6000)
    found = chain(history, [3], sweeps)
    sampler, draw, rows = HistorySampler(history, np.random.default_rng([3])), np.random.default_rng(5), []
    for index in range(sweeps):
        sampler.sweep()
        if index < sweeps // 3:
            sampler.tune()
            continue
        rows.append(_drawn(sampler, draw))
    sample = np.array(rows)  # [sweep, first moments and products, reviewer]
    error = sample.std(axis=0) / np.sqrt(len(sample))
    means = np.stack([found.reviewers[0], found.reviewers[1], *found.reviewers[3:6]])
    assert (np.abs(sample.mean(axis=0) - means) < norm.isf(1e-6 / 2 / 20) * error).all()
    assert found.traces.shape == (sweeps - sweeps // 3, len(TRACES))


def _drawn(sampler: HistorySampler, rng: np.random.Generator) -> Array:
    s = sampler.state
    a, b, aa, ab, bb = sampler.next
    unit, z = np.exp(s.stretch[-1]), rng.standard_normal((2, a.size))
    slope = unit * (a + np.sqrt(aa) * z[0])
    offset = unit * (s.shift[-1] + b + ab / np.sqrt(aa) * z[0] + np.sqrt(bb - ab**2 / aa) * z[1])
    return np.stack([slope, offset, slope**2, slope * offset, offset**2])


def test_chains_of_one_seed_are_equal_and_two_are_pooled() -> None:
    history = tiny_history()
    one, again, other = chain(history, [1], 60), chain(history, [1], 60), chain(history, [2], 60)
    np.testing.assert_array_equal(one.reviewers, again.reviewers)
    both = pooled_moments([one, other])
    np.testing.assert_allclose(both.reviewers, (one.reviewers + other.reviewers) / 2)
    assert len(both.traces) == 80


def test_parameters_are_means_deviations_and_correlation() -> None:
    rng = np.random.default_rng(1)
    draws = np.array([[1.0, 2.0, 0.5]]) + rng.standard_normal((50, 3)) @ rng.normal(0, 0.3, (3, 3))
    a, b, s = draws.T
    moments = np.array(
        [a.mean(), b.mean(), s.mean(), (a * a).mean(), (a * b).mean(), (b * b).mean(), (s * s).mean()]
    )
    found = parameters(moments)
    expected = [*draws.mean(axis=0), a.std(), b.std(), np.corrcoef(a, b)[0, 1], s.std()]
    assert found.tolist() == pytest.approx(expected)
