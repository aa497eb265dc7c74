"""Beliefs about a pair: the integrals for every kind of reviewer, ties and limits; others are refused."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import cumulative_simpson, quad, simpson
from scipy.interpolate import CubicSpline
from scipy.stats import binomtest, norm

import blindcal as bc
from blindcal.errors import InputError
from sizes import count

# Even in x, quality = 11 x^3: smooth enough in x even where a power reviewer has its cusp.
X = np.linspace(-1.0, 1.0, 60_001)
T, STRETCH = 11.0 * X**3, 33.0 * X**2
KINKS = T[[15_600, 24_000, 40_000, 45_500]]  # pairs of intervals of the rule meet there
GRID = np.array([-1.5, -0.5, 0.0, 1.0, 2.5])


def reviewer(kind: str, rng: np.random.Generator, noise: float) -> bc.Reviewer:
    slope, offset = float(np.exp(rng.normal(0.0, 0.4))), float(rng.normal(0.0, 0.5))
    covariance = np.array([[0.05, 0.01], [0.01, 0.08]]) * rng.uniform(0.2, 2.0)
    pieces = np.cumsum(rng.uniform(0.3, 1.5, size=4))
    return {
        "affine": lambda: bc.Affine(slope, offset, noise),
        "uncertain": lambda: bc.Affine(slope, offset, noise, covariance),
        "power": lambda: bc.reviewers.Power(rng.uniform(0.6, 2.5), slope, offset, noise),
        "pieces": lambda: bc.reviewers.PiecewiseLinear(KINKS, pieces - pieces.mean(), noise),
        "logistic": lambda: bc.reviewers.Logistic(-2.0, 3.0, slope, offset, noise),
        "callable": lambda: bc.reviewers.Monotone(
            lambda t: slope * (t + 0.8 * np.sin(t)) + offset, noise=noise
        ),
        "rounded": lambda: bc.Rounded(bc.Affine(slope, offset, noise), GRID),
        "rounded logistic": lambda: bc.Rounded(bc.reviewers.Logistic(-2.0, 3.0, slope, offset, noise), GRID),
    }[kind]()


KINDS = ["affine", "uncertain", "power", "pieces", "logistic", "callable", "rounded", "rounded logistic"]


def draw(r: bc.Reviewer, rng: np.random.Generator) -> float:
    inner = r.reviewer if isinstance(r, bc.Rounded) else r
    value = float(inner.score(rng.normal())) + float(inner.spread(0.0)) * rng.normal()
    return float(GRID[np.abs(GRID - value).argmin()]) if isinstance(r, bc.Rounded) else value


def likelihood(r: bc.Reviewer, score: float, t: np.ndarray) -> np.ndarray:
    """Straight from the definition, in plain densities: the oracle shares no formula with the package."""
    if isinstance(r, bc.Rounded):
        middle = np.concatenate([[-np.inf], (GRID[1:] + GRID[:-1]) / 2, [np.inf]])
        cell = int(np.flatnonzero(score == GRID)[0])
        mean, inner = r.reviewer.score(t), r.reviewer
        return norm.cdf(middle[cell + 1], mean, inner.noise) - norm.cdf(middle[cell], mean, inner.noise)
    variance = np.full(t.shape, float(r.noise) ** 2)
    if isinstance(r, bc.Affine) and r.covariance is not None:
        (a, c), (_, b) = r.covariance
        variance = variance + a * t**2 + 2 * c * t + b
    return norm.pdf(score, r.score(t), np.sqrt(variance))


def oracle(pair: tuple[bc.Reviewer, bc.Reviewer], s: tuple[float, float], prior: float) -> bc.Belief:
    """Simpson's rule on 60,001 qualities; who is better from cumulative sums of the same rule."""
    density = {(j, i): STRETCH * norm.pdf(T) * likelihood(pair[j], s[i], T) for j in (0, 1) for i in (0, 1)}
    mass = {key: simpson(value, x=X) for key, value in density.items()}
    u, v = prior * mass[0, 0] * mass[1, 1], (1 - prior) * mass[1, 0] * mass[0, 1]
    favor = []
    for j in (0, 1):
        first, second = density[j, 0] / mass[j, 0], density[1 - j, 1] / mass[1 - j, 1]
        favor.append(simpson(first * cumulative_simpson(second, x=X, initial=0.0), x=X))
    return bc.Belief(np.array([u, v]) / (u + v), np.clip(favor, 0.0, 1.0))


@pytest.mark.parametrize("kind1", KINDS)
@pytest.mark.parametrize("kind2", KINDS)
def test_pair_belief_is_the_integral(kind1: str, kind2: str) -> None:
    rng = np.random.default_rng([KINDS.index(kind1), KINDS.index(kind2)])
    for _ in range(count(1, 20)):
        pair = reviewer(kind1, rng, rng.uniform(0.1, 1.2)), reviewer(kind2, rng, rng.uniform(0.1, 1.2))
        if "rounded" in kind1 or "rounded" in kind2:
            score = tuple(rng.choice(GRID, size=2))
        else:
            score = draw(pair[0], rng), draw(pair[1], rng)
        prior = rng.uniform(0.05, 0.95)
        found, expected = bc.pair_belief(pair, score, prior), oracle(pair, score, prior)
        assert found.weight == pytest.approx(expected.weight, abs=1e-9)
        assert found.favor == pytest.approx(expected.favor, abs=1e-9)


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in {"uncertain", "rounded", "rounded logistic"}])
@pytest.mark.parametrize("other", KINDS)
def test_one_reviewer_without_noise_and_one_with(kind: str, other: str) -> None:
    """The noiseless quality is a point: favor is the other's tail beyond it."""
    rng = np.random.default_rng([KINDS.index(kind), KINDS.index(other)])
    sure, noisy = reviewer(kind, rng, 0.0), reviewer(other, rng, 0.4)
    s = (float(GRID[1]), float(GRID[3])) if "rounded" in other else (draw(noisy, rng), draw(noisy, rng))
    if kind == "logistic":
        s = tuple(np.clip(s, -1.9, 2.9)) if "rounded" not in other else s
    belief = bc.pair_belief((sure, noisy), s, 0.3)
    for secret, (mine, theirs) in enumerate(((0, 1), (1, 0))):
        density = STRETCH * norm.pdf(T) * likelihood(noisy, s[theirs], T)
        cumulative = cumulative_simpson(density, x=X, initial=0.0)
        below = CubicSpline(X, cumulative / cumulative[-1])(np.cbrt(float(sure.quality(s[mine])) / 11.0))
        assert belief.favor[secret] == pytest.approx(below if mine == 0 else 1 - below, abs=1e-9)
    swapped = bc.pair_belief((noisy, sure), s, 0.7)
    assert swapped.favor[::-1] == pytest.approx(belief.favor, abs=1e-12)


def test_rounded_scores_without_noise_leave_two_truncated_normals() -> None:
    one, two = (
        bc.Rounded(bc.Affine(1.3, 0.4), GRID),
        bc.Rounded(bc.reviewers.Logistic(-2.0, 3.0, 0.9, 0.2), GRID),
    )
    middle = (GRID[1:] + GRID[:-1]) / 2
    ends = [np.clip([-40.0, *r.reviewer.quality(middle), 40.0], -40.0, 40.0) for r in (one, two)]
    for i, s1 in enumerate(GRID):
        for j, s2 in enumerate(GRID):
            (a, b), (c, d) = ends[0][i : i + 2], ends[1][j : j + 2]
            mass = (norm.cdf(b) - norm.cdf(a)) * (norm.cdf(d) - norm.cdf(c))

            def below(t: float, c: float = c, d: float = d) -> float:
                return norm.pdf(t) * (norm.cdf(min(max(t, c), d)) - norm.cdf(c))

            cuts = sorted({a, b, *(x for x in (c, d, -5.0, 0.0, 5.0) if a < x < b)})
            total = sum(quad(below, x, y, epsabs=1e-14)[0] for x, y in itertools.pairwise(cuts))
            belief = bc.pair_belief((one, two), [s1, s2])
            assert belief.favor[0] == pytest.approx(total / mass, abs=1e-9)


def test_cells_far_beyond_any_quality_are_still_compared() -> None:
    grid = np.arange(100.0)
    one, two = bc.Rounded(bc.Affine(1.0), grid), bc.Rounded(bc.Affine(1.1, 0.3), grid)
    belief = bc.pair_belief((one, two), [[60.0, 61.0], [99.0, 0.0], [0.0, 99.0]])
    assert belief.favor == pytest.approx(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]]), abs=1e-12)


def test_affine_favors_are_the_letters_of_theorem_4_5() -> None:
    """favor = 1 - Phi_1 and 1 - Phi_2, with the printed expressions."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        a1, a2 = np.exp(rng.normal(0, 0.5, 2))
        b1, b2 = rng.normal(0, 1, 2)
        s1, s2 = rng.normal(0, 2, 2)
        v = rng.uniform(0.01, 2.0)
        scale = math.sqrt(v * (a1**2 + a2**2 + 2 * v) * (a1**2 + v) * (a2**2 + v))
        phi_1 = norm.cdf((a2 * (a1**2 + v) * (s2 - b2) - a1 * (a2**2 + v) * (s1 - b1)) / scale)
        phi_2 = norm.cdf((a1 * (a2**2 + v) * (s2 - b1) - a2 * (a1**2 + v) * (s1 - b2)) / scale)
        pair = bc.Affine(a1, b1, math.sqrt(v)), bc.Affine(a2, b2, math.sqrt(v))
        belief = bc.pair_belief(pair, [s1, s2])
        assert belief.favor == pytest.approx([1 - phi_1, 1 - phi_2], abs=1e-12)
        f = [[norm.pdf(s, b, math.sqrt(a**2 + v)) for s in (s1, s2)] for a, b in ((a1, b1), (a2, b2))]
        u, w = f[0][0] * f[1][1], f[1][0] * f[0][1]
        assert belief.weight == pytest.approx([u / (u + w), w / (u + w)], abs=1e-12)


def test_the_closed_form_is_the_quadrature() -> None:
    rng = np.random.default_rng(2)
    n = count(500, 20_000)
    one, two = (
        bc.Affine(np.exp(rng.normal(0, 0.5, n)), rng.normal(size=n), rng.uniform(0.02, 2.0, n)) for _ in "ab"
    )
    scores = rng.normal(0.0, 3.0, (n, 2))
    belief = bc.pair_belief((one, two), scores)
    assert bc.reviewers.chance_better(one, two, scores) == pytest.approx(belief.favor[:, 0], abs=1e-11)
    assert bc.reviewers.chance_better(two, one, scores) == pytest.approx(belief.favor[:, 1], abs=1e-11)


finite = st.floats(-6.0, 6.0)
slopes, noises, priors = st.floats(0.2, 4.0), st.sampled_from([0.0, 0.03, 0.5, 2.0]), st.floats(0.02, 0.98)
affine = st.builds(bc.Affine, slopes, finite, noises)
curved = st.one_of(
    st.builds(bc.reviewers.Logistic, st.just(-7.0), st.just(8.0), slopes, finite, noises),
    st.builds(bc.reviewers.Power, st.floats(0.5, 3.0), slopes, finite, st.sampled_from([0.03, 0.5, 2.0])),
    st.builds(bc.Affine, slopes, finite, st.just(0.4), st.just([[0.1, 0.02], [0.02, 0.3]])),
)


@given(st.one_of(affine, curved), st.one_of(affine, curved), finite, finite, priors)
def test_swapping_papers_or_reviewers_mirrors(
    one: bc.Reviewer, two: bc.Reviewer, s1: float, s2: float, prior: float
) -> None:
    belief = bc.pair_belief((one, two), (s1, s2), prior)
    papers = bc.pair_belief((one, two), (s2, s1), 1 - prior)
    assert papers.weight[::-1] == pytest.approx(belief.weight, abs=1e-12)
    assert 1 - papers.favor[::-1] == pytest.approx(belief.favor, abs=1e-12)
    reviewers = bc.pair_belief((two, one), (s1, s2), 1 - prior)
    assert reviewers.weight[::-1] == pytest.approx(belief.weight, abs=1e-12)
    assert reviewers.favor[::-1] == pytest.approx(belief.favor, abs=1e-12)


@given(affine, affine, finite, finite, priors)
def test_the_prior_multiplies_the_odds(
    one: bc.Affine, two: bc.Affine, s1: float, s2: float, prior: float
) -> None:
    even, given_prior = bc.pair_belief((one, two), (s1, s2)), bc.pair_belief((one, two), (s1, s2), prior)
    expected = even.weight * [prior, 1 - prior]
    assert given_prior.weight == pytest.approx(expected / expected.sum(), abs=1e-12)
    assert (given_prior.favor == even.favor).all()


@pytest.mark.parametrize("kind", ["affine", "power", "pieces", "logistic", "callable"])
def test_noise_to_zero_recovers_the_noiseless_belief(kind: str) -> None:
    def pair(noise: float) -> tuple[bc.Reviewer, bc.Reviewer]:
        rng = np.random.default_rng(5)
        return reviewer(kind, rng, noise), reviewer("affine", rng, noise)

    scores = np.array([[0.3, 0.9], [1.3, 0.2], [-0.8, -0.3]])
    sharp = bc.pair_belief(pair(0.0), scores, 0.4)
    assert set(sharp.favor.ravel()) <= {0.0, 1.0}
    off = []
    for noise in (1e-2, 1e-3, 1e-4):
        near = bc.pair_belief(pair(noise), scores, 0.4)
        off.append(np.abs(near.weight - sharp.weight).max())
        assert noise > 1e-3 or near.favor == pytest.approx(sharp.favor, abs=1e-9)
    assert off[2] < 1e-5


def test_a_noiseless_tie_is_half() -> None:
    """s1 = beta_1(beta_2^-1(s2)) ties under A1, s1 = beta_2(beta_1^-1(s2)) under A2 (theory, section 10)."""
    one, two = bc.Affine(1.2, 0.3), bc.Affine(0.8, -0.3)
    for s2 in np.linspace(-2.0, 2.0, 41):
        assert bc.pair_belief((one, two), [one.score(two.quality(s2)), s2]).favor[0] == 0.5
        assert bc.pair_belief((one, two), [two.score(one.quality(s2)), s2]).favor[1] == 0.5
    logistic = bc.reviewers.Logistic(1.0, 10.0, 1.1)
    for s2 in np.linspace(2.0, 9.0, 41):
        assert bc.pair_belief((one, logistic), [one.score(logistic.quality(s2)), s2]).favor[0] == 0.5
    assert (bc.pair_belief((one, one), [0.7, 0.7]).favor == 0.5).all()


def test_a_tie_is_found_among_scores_that_do_not_tie() -> None:
    one, two = bc.Affine(1.2, 0.3, noise=0.7), bc.Affine(0.8, -0.3, noise=0.4)
    alone = [bc.pair_belief((one, two), scores).favor for scores in _noisy_ties(one, two)]
    assert all((favor == 0.5).any() for favor in alone)
    apart = np.array([[3.0, -1.0], *_noisy_ties(one, two), [-2.0, 0.4]])
    together = bc.pair_belief((one, two), apart).favor
    assert (together[1:-1] == alone).all()
    assert (together[[0, -1]] != 0.5).all()


def _noisy_ties(one: bc.Affine, two: bc.Affine) -> list[list[float]]:
    """Scores whose posterior means are equal if `one` reviewed the first paper: gain1 (s1 - b1) = gain2
    (s2 - b2), with gain = slope / (slope^2 + noise^2)."""
    gain1, gain2 = (float(r.slope / (r.slope**2 + r.noise**2)) for r in (one, two))
    seconds = np.linspace(-2.0, 2.0, 17)
    return [[float(one.offset) + gain2 * (s - float(two.offset)) / gain1, s] for s in seconds.tolist()]


@pytest.mark.parametrize("kind1", KINDS[:6])
@pytest.mark.parametrize("kind2", KINDS[:6])
def test_sixty_deviations_out_is_finite_and_normalized(kind1: str, kind2: str) -> None:
    rng = np.random.default_rng([7, KINDS.index(kind1), KINDS.index(kind2)])
    pair = reviewer(kind1, rng, 0.3), reviewer(kind2, rng, 0.7)
    far = np.array([-60.0, 0.0, 60.0])
    scores = np.stack(np.meshgrid(far, far), axis=-1)
    belief = bc.pair_belief(pair, scores)
    assert np.isfinite(belief.weight).all()
    assert np.isfinite(belief.favor).all()
    assert belief.weight.sum(axis=-1) == pytest.approx(1.0, abs=1e-15)
    assert (belief.favor[0, 2] > 1 - 1e-12).all()  # 60 against -60: the first paper, whoever reviewed it
    assert (belief.favor[2, 0] < 1e-12).all()


def test_frequencies_of_a_simulated_game() -> None:
    """Nature draws assignment, qualities and rounded scores; in each cell of the grid both numbers come true.

    Exact binomial tests at a false alarm of 1e-6 over all cells together.
    """
    rng = np.random.default_rng(11)
    n, prior = count(400_000, 4_000_000), 0.3
    pair = (
        bc.Rounded(bc.Affine(1.3, 0.5, 0.6), GRID),
        bc.Rounded(bc.reviewers.Logistic(-2.0, 3.0, 0.9, 0.2, 0.4), GRID),
    )
    first = rng.random(n) < prior
    quality = rng.normal(size=(n, 2))
    written = []
    for r in pair:
        raw = r.reviewer.score(quality) + float(r.noise) * rng.normal(size=(n, 2))
        written.append(np.abs(raw[..., None] - GRID).argmin(axis=-1))
    cell = np.where(first[:, None], np.stack([written[0][:, 0], written[1][:, 1]], -1),
                    np.stack([written[1][:, 0], written[0][:, 1]], -1))  # fmt: skip
    belief = bc.pair_belief(pair, np.stack(np.meshgrid(GRID, GRID, indexing="ij"), axis=-1), prior)
    tests = 3 * GRID.size**2
    for i in range(GRID.size):
        for j in range(GRID.size):
            here = (cell == [i, j]).all(axis=1)
            checks = [(first[here], belief.weight[i, j, 0])]
            checks += [
                (quality[here & secret, 0] > quality[here & secret, 1], belief.favor[i, j, k])
                for k, secret in enumerate((first, ~first))
            ]
            for outcome, chance in checks:
                if outcome.size:
                    assert binomtest(int(outcome.sum()), outcome.size, chance).pvalue > 1e-6 / tests


def test_any_leading_shape_and_pools_broadcast() -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(4, 1, 2))
    pool = bc.Affine([0.5, 1.0, 2.0], [0.0, 0.3, -0.3], [0.0, 0.5, 1.0])
    for other in (bc.Affine(1.1, 0.2, 0.4), bc.Affine(1.1, 0.2), bc.reviewers.Logistic(-3.0, 3.0, noise=0.5)):
        whole = bc.pair_belief((pool, other), scores, [[0.2], [0.4], [0.6], [0.8]])
        assert whole.weight.shape == (4, 3, 2)
        for i in range(4):
            for j in range(3):
                alone = bc.Affine(pool.slope[j], pool.offset[j], pool.noise[j])
                one = bc.pair_belief((alone, other), scores[i, 0], 0.2 * (i + 1))
                assert one.weight == pytest.approx(whole.weight[i, j], abs=1e-13)
                assert one.favor == pytest.approx(whole.favor[i, j], abs=1e-13)


def test_several_reviews_of_any_kind_are_one_integral() -> None:
    rng = np.random.default_rng(8)
    reviewers = [reviewer(kind, rng, 0.5) for kind in ("logistic", "uncertain", "pieces", "rounded")]
    scores = [0.4, 1.1, -0.2, 1.0]
    density = STRETCH * norm.pdf(T)
    for r, score in zip(reviewers, scores, strict=True):
        density = density * likelihood(r, score, T)
    density /= simpson(density, x=X)
    mean = simpson(T * density, x=X)
    assert bc.reviewers.posterior_mean(reviewers, scores) == pytest.approx(mean, abs=1e-9)
    above = T[45_000] <= T
    tail = simpson(density[above], x=X[above])
    assert bc.reviewers.posterior_tail(reviewers, scores, T[45_000]) == pytest.approx(tail, abs=1e-9)


PAIR = bc.Affine(1.2, 0.3, 0.5), bc.Affine(0.8, -0.3, 0.5)
BAD = {
    "scores must be finite, found nan": lambda: bc.pair_belief(PAIR, [0.1, np.nan]),
    r"scores must have shape \[..., 2\], found \(3,\)": lambda: bc.pair_belief(PAIR, [0.1, 0.2, 0.3]),
    "scores must be numbers": lambda: bc.pair_belief(PAIR, ["a", "b"]),
    "prior must be between 0 and 1, ends excluded, found 1": lambda: bc.pair_belief(PAIR, [0.1, 0.2], 1.0),
    "reviewers must be two, found 1": lambda: bc.pair_belief(PAIR[:1], [0.1, 0.2]),
    "must broadcast": lambda: bc.pair_belief((bc.Affine([1.0, 2.0, 3.0]), PAIR[0]), np.zeros((2, 2))),
    "under some assignment, found 0.5, 11": lambda: bc.pair_belief(
        (bc.reviewers.Logistic(1.0, 10.0), bc.reviewers.Logistic(1.0, 9.0)), [0.5, 11.0]
    ),
    "under some assignment, found 0, 0": lambda: bc.pair_belief(
        (bc.reviewers.Power(3.0), bc.Affine(1.0)), [0.0, 0.0]
    ),
    "weight must sum to 1": lambda: bc.Belief([0.5, 0.4], [0.1, 0.2]),
    r"sum to 1 over the secrets, found 1\.5": lambda: bc.Belief(
        [[0.5, 0.5], [0.5, 1.0], [0.5, 0.4]], [[0.5, 0.5]] * 3
    ),
    "weight must be at least 0": lambda: bc.Belief([1.5, -0.5], [0.1, 0.2]),
    r"favor must lie in \[0, 1\]": lambda: bc.Belief([0.5, 0.5], [0.1, 1.2]),
    "one shape": lambda: bc.Belief([0.5, 0.5], [0.1, 0.2, 0.3]),
    "labels must be integers": lambda: bc.Belief([0.5, 0.5], [0.1, 0.2], [[0.5, 1.0]]),
    r"\[..., slot, secret\]": lambda: bc.Belief([0.5, 0.5], [0.1, 0.2], [[0, 1, 2]]),
    "one a reviewer": lambda: bc.reviewers.posterior_mean(PAIR, [1.0, 2.0, 3.0]),
    "noise must be above 0": lambda: bc.reviewers.posterior_tail([bc.Affine(1.0)], [1.0], 0.0),
}  # fmt: skip


@pytest.mark.parametrize("message", list(BAD))
def test_bad_input_is_refused_by_name(message: str) -> None:
    with pytest.raises(InputError, match=message):
        BAD[message]()
