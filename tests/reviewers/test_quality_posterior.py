"""What several scores say of one quality, against the Gaussian posterior."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.stats import norm

import blindcal as bc
from blindcal import Affine, InputError, pair_belief
from blindcal.reviewers import Logistic, Shaped, check_reviewer, posterior_tail, standard_quality
from sizes import count


def test_several_reviews_of_one_paper_have_the_gaussian_posterior() -> None:
    rng = np.random.default_rng(4)
    a, b, sigma = np.exp(rng.normal(0, 0.4, 3)), rng.normal(size=3), rng.uniform(0.3, 1.0, 3)
    reviewers = [bc.Affine(a[k], b[k], sigma[k]) for k in range(3)]
    scores = rng.normal(0, 3, (50, 3))
    precision = 1 + (a**2 / sigma**2).sum()
    mean = (a * (scores - b) / sigma**2).sum(axis=-1) / precision
    assert bc.reviewers.posterior_mean(reviewers, scores) == pytest.approx(mean, abs=1e-11)
    bar = rng.normal(size=50)
    tail = norm.sf(bar, mean, 1 / np.sqrt(precision))
    assert bc.reviewers.posterior_tail(reviewers, scores, bar) == pytest.approx(tail, abs=1e-11)


# --- Qualities of another distribution: against integrals over it, and against N(0, 1) stretched.


DISTRIBUTIONS = {
    "t": stats.t(5),
    "skewed": stats.gamma(3.0, loc=-1.5, scale=0.6),
    "bounded": stats.beta(2.0, 3.0),
    "stretched": stats.norm(0.3, 1.7),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("noise", [0.3, 1.0][: count(1, 2)])
def test_marginals_and_pairs_are_integrals_over_the_distribution(name: str, noise: float) -> None:
    found = DISTRIBUTIONS[name]
    one, two = Affine(1.2, 0.3, noise=noise), Affine(0.7, -0.2, noise=noise)
    scores = [0.6, 0.1]
    for score in (-0.5, 0.4, 1.3):
        for reviewer in (one, two):
            density = integral(found, lambda t, r=reviewer, s=score: likelihood(r, s, t))
            assert np.exp(Shaped(reviewer, found).log_marginal(score)) == pytest.approx(density, rel=1e-7)
    belief = pair_belief((Shaped(one, found), Shaped(two, found)), scores)
    u, v = (
        np.prod(
            [
                integral(found, lambda t, r=r, s=s: likelihood(r, s, t))
                for r, s in zip(order, scores, strict=True)
            ]
        )
        for order in ((one, two), (two, one))
    )
    assert belief.weight == pytest.approx([u / (u + v), v / (u + v)], rel=1e-6)
    ahead = integral(
        found,
        lambda t: likelihood(one, scores[0], t) * below(found, two, scores[1], t),
    )
    assert belief.favor[0] == pytest.approx(ahead / u, rel=1e-5)


def likelihood(reviewer: Affine, score: float, quality: float) -> float:
    return float(stats.norm.pdf(score, reviewer.score(quality), float(reviewer.noise)))


def integral(found: stats.rv_continuous, value, upper: float | None = None) -> float:
    """Over the quantiles of the distribution, which nothing in the package does."""
    end = 1.0 if upper is None else float(found.cdf(upper))
    return quad(lambda p: value(float(found.ppf(p))), 0.0, end, epsabs=1e-12, epsrel=1e-9, limit=200)[0]


def below(found: stats.rv_continuous, reviewer: Affine, score: float, top: float) -> float:
    """The mass of the second paper's quality below `top`, on a fixed fine grid of quantiles."""
    p = (np.arange(2000) + 0.5) / 2000
    end = float(found.cdf(top))
    t = found.ppf(p * end)
    return float(stats.norm.pdf(score, reviewer.score(t), float(reviewer.noise)).mean() * end)


def test_a_stretched_normal_is_a_stretched_reviewer() -> None:
    wide = Shaped(Affine(1.0, 0.5, noise=0.3), stats.norm(0.2, 2.0))
    plain = Affine(2.0, 0.7, noise=0.3)
    z = np.linspace(-6.0, 6.0, 41)
    np.testing.assert_allclose(wide.score(z), plain.score(z), atol=1e-12)
    np.testing.assert_allclose(wide.derivative(z), 2.0, rtol=1e-9)
    np.testing.assert_allclose(wide.quality(plain.score(z)), z, atol=1e-9)
    assert posterior_tail([wide], [1.4], standard_quality(stats.norm(0.2, 2.0), 1.0)) == pytest.approx(
        float(posterior_tail([plain], [1.4], 0.4)), abs=1e-9
    )


def test_without_noise_scores_rank_papers() -> None:
    found = stats.gamma(3.0)
    belief = pair_belief((Shaped(Affine(1.0, 1.0), found), Shaped(Affine(1.0, -1.0), found)), [2.5, 2.0])
    assert belief.favor.tolist() == [0.0, 1.0]
    densities = [found.pdf(s - b) for s, b in ((2.5, 1.0), (2.0, -1.0), (2.5, -1.0), (2.0, 1.0))]
    u, v = densities[0] * densities[1], densities[2] * densities[3]
    assert belief.weight[0] == pytest.approx(u / (u + v), rel=1e-9)


def test_what_is_not_continuous_is_refused() -> None:
    with pytest.raises(InputError, match="must be continuous"):
        Shaped(Affine(1.0), stats.poisson(3.0))


def test_a_shaped_reviewer_passes_its_own_check() -> None:
    check_reviewer(Shaped(Logistic(1.0, 10.0, 1.0, noise=0.8), stats.t(6)))
