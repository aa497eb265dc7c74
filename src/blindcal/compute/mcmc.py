"""Parts that all Gibbs samplers share: conditional draws from normal distributions, and diagnostics.

Two samplers are made of them: `calibrators.gibbs` (one year's reviews, many conferences in one chain) and
`fitting.gibbs` (past conferences, reviewers who drift). Each keeps its own driver: they differ in what is
unknown, in the priors of the spreads, and in what is kept of a sweep (moments or draws), so that a common
driver would be a loop with a callback for every line. Above all slopes differ. Those of one conference are
above 0, which a few reviews a person must not contradict; those that drift from year to year are normal,
since only then a filter knows all years at once. So neither can stand for the other. What they do share is
the model, `score = slope * quality + offset + noise`, in which every quality and every (slope, offset) is
normal given everything else.

Random numbers are arguments. A caller decides the order in which its generator is used, so its results stay
the same when the formulas below are shared.

References:
    A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Buerkner (2021): Rank-normalization, folding, and
    localization: an improved R-hat for assessing convergence of MCMC. Bayesian Analysis 16(2).
    S. L. Adler (1981): Over-relaxation method for the Monte Carlo evaluation of the partition function for
    multiquadratic actions. Physical Review D 23(12).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri, ndtri_exp

from blindcal.checks import Array

# Beyond this many standard deviations the normal distribution function is no longer a normal float.
_FAR = 37.0
# How far an overrelaxed draw swings to the other side of its conditional mean.
_SWING = -0.95
# The largest standard normal in absolute value: beyond it one minus the distribution function rounds to 0.
_LARGEST_SCORE = 8.0
# The quantiles of the tail effective sample size, and the fewest draws of a chain that can be judged.
_TAILS, _FEWEST_DRAWS = (0.05, 0.95), 4


# --- normal distributions that are truncated


def truncated_normal(
    mean: Array, sd: Array, low: Array | float, high: Array | float, chance: Array | float
) -> Array:
    """Quantiles of N(mean, sd^2) between `low` and `high`; draws if `chance` is uniform in [0, 1).

    Everything is mirrored into the lower tail, where floats keep their digits.
    """
    under, over = (low - mean) / sd, (high - mean) / sd
    flip = under > 0.0
    first, last = np.where(flip, -over, under), np.where(flip, -under, over)
    near, far = np.maximum(first, -_FAR), np.maximum(last, -_FAR)
    below, above = ndtr(near), ndtr(far)
    quantile = np.clip(ndtri(below + chance * (above - below)), near, far)
    if last.min() < -_FAR:  # hardly ever: both ends lie so far out that only logarithms are left
        ratio = np.exp(log_ndtr(first) - log_ndtr(last))
        share = np.maximum(ratio + chance * (1.0 - ratio), np.finfo(float).tiny)
        tail = np.clip(-_upper_quantile(-last, np.log(share)), first, last)
        quantile = np.where(last < -_FAR, tail, quantile)
    return np.asarray(np.clip(mean + sd * np.where(flip, -quantile, quantile), low, high))


def positive_normal(score: Array, mean: Array, sd: Array) -> Array:
    """The value above 0 that has the same upper tail probability as `score`.

    The value follows N(mean, sd^2) truncated to above 0, the score N(0, 1). A standard normal score thus
    gives a draw. Unlike `truncated_normal` it has an inverse to full precision, which overrelaxation needs.
    """
    return np.maximum(mean + sd * _upper_quantile(-mean / sd, log_ndtr(-score)), np.finfo(float).tiny)


def positive_normal_score(value: Array, mean: Array, sd: Array) -> Array:
    """The inverse of `positive_normal`, within eight standard deviations."""
    survival = log_ndtr((mean - value) / sd) - log_ndtr(mean / sd)
    score: Array = -ndtri_exp(np.minimum(survival, 0.0))
    return np.clip(score, -_LARGEST_SCORE, _LARGEST_SCORE)


def _upper_quantile(low: Array, log_chance: Array) -> Array:
    """The standard normal above `low` that a standard normal above `low` exceeds with this log chance."""
    quantile: Array = -ndtri_exp(log_chance + log_ndtr(-low))
    return quantile


# --- conditional draws of a quality, an offset, or a location


def conditional_normal(pull: Array, precision: Array, normal: Array) -> Array:
    """A draw with density proportional to `exp(pull x - precision x^2 / 2)`, from a standard normal."""
    return np.asarray(pull / precision + normal / np.sqrt(precision))


def overrelaxed_normal(present: Array, mean: Array | float, precision: Array, normal: Array) -> Array:
    """A draw of N(mean, 1/precision) on the far side of its mean, seen from the present value.

    Adler's overrelaxation: it leaves the distribution as it is, and a chain needs fewer sweeps if the
    conditional distributions are narrow.
    """
    root = np.sqrt(precision)
    return np.asarray(mean + overrelaxed((present - mean) * root, normal) / root)


def overrelaxed(score: Array, normal: Array) -> Array:
    """A standard normal that correlates by -0.95 with the standard normal `score`."""
    return np.asarray(_SWING * score + np.sqrt(1 - _SWING**2) * normal)


# --- conditional draws of (slope, offset)
#
# Rows of an array of distributions: means of slope and offset, variance of slope, covariance, variance of
# offset. Rows of an array of log likelihoods `h'x - x'Px/2` of x = (slope, offset): h, then P in that order.


def regression_sums(quality: Array, score: Array, weight: Array, total: Callable[[Array], Array]) -> Array:
    """What scores with precision `weight` say of (slope, offset), given the qualities: a log likelihood.

    `total` sums a value over the reviews of each reviewer.
    """
    pull = weight * score
    return np.stack(
        [total(part) for part in (quality * pull, pull, quality * quality * weight, quality * weight, weight)]
    )


def bivariate_posterior(prior: Array, likelihood: Array) -> tuple[Array, Array]:
    """The posterior of (slope, offset), and the log of the likelihood's mean under the prior."""
    a, b, paa, pab, pbb = prior
    det = paa * pbb - pab * pab
    ha, hb = (pbb * a - pab * b) / det, (paa * b - pab * a) / det
    ja, jb = ha + likelihood[0], hb + likelihood[1]
    qaa, qab, qbb = pbb / det + likelihood[2], likelihood[3] - pab / det, paa / det + likelihood[4]
    inner = qaa * qbb - qab * qab
    new_a, new_b = (qbb * ja - qab * jb) / inner, (qaa * jb - qab * ja) / inner
    gain = ja * new_a + jb * new_b - ha * a - hb * b - np.log(det * inner)
    return np.stack([new_a, new_b, qbb / inner, -qab / inner, qaa / inner]), gain


def bivariate_draw(distribution: Array, normal: Array) -> Array:
    """(slope, offset) from two rows of standard normals: slope first, then offset given the slope."""
    a, b, aa, ab, bb = distribution
    root = np.sqrt(aa)
    rest = np.sqrt(np.maximum(bb - ab * ab / aa, 0.0))
    return np.stack([a + root * normal[0], b + ab / root * normal[0] + rest * normal[1]])


# --- convergence, by the definitions of Vehtari and others, which arviz-stats has under the same names
#
# Each takes `draws[chain, draw, quantity]` and returns one number for each quantity: nan for one that never
# varies, or if chains have fewer than four draws.


def rhat(draws: Array) -> Array:
    """Rank-normalized split R-hat: near 1 if all chains draw from the same distribution.

    The larger of two, of the draws and of their distances from the median: the second one sees chains that
    agree in location and differ in scale.
    """
    return _by_quantity(_rhat, draws)


def ess_bulk(draws: Array) -> Array:
    """Bulk effective sample size: how many independent draws place the center as well."""
    return _by_quantity(lambda chains: _ess(_normal_scores(_split(chains))), draws)


def ess_tail(draws: Array) -> Array:
    """Tail effective sample size: the smaller of those for the 5 % and the 95 % quantile."""
    return _by_quantity(_ess_tail, draws)


def _by_quantity(diagnostic: Callable[[Array], float], draws: Array) -> Array:
    enough = draws.shape[1] >= _FEWEST_DRAWS
    quantities = np.moveaxis(draws, -1, 0)
    return np.array([diagnostic(part) if enough and np.ptp(part) > 0.0 else np.nan for part in quantities])


def _rhat(draws: Array) -> float:
    halves = _split(draws)
    folded = np.abs(halves - np.median(halves))
    return max(_variance_ratio(_normal_scores(halves)), _variance_ratio(_normal_scores(folded)))


def _ess_tail(draws: Array) -> float:
    below = [(draws <= np.quantile(draws, tail)).astype(np.float64) for tail in _TAILS]
    return min(_ess(_split(part)) for part in below)


def _split(draws: Array) -> Array:
    """Both halves of each chain as chains: drift within a chain then counts as disagreement."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def _normal_scores(draws: Array) -> Array:
    """Normal quantiles of the average ranks of all draws, by Blom's formula."""
    _, index, count = np.unique(draws, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[index].reshape(draws.shape)
    return np.asarray(ndtri((rank - 3 / 8) / (draws.size + 1 / 4)))


def _variance_ratio(draws: Array) -> float:
    """R-hat as Gelman and Rubin have it: the root of total variance over variance within chains."""
    n, within = draws.shape[1], draws.var(axis=1, ddof=1).mean()
    if within == 0.0:
        return np.inf
    return float(np.sqrt(draws.mean(axis=1).var(ddof=1) / within + (n - 1) / n))


def _ess(draws: Array) -> float:
    """The number of independent draws that say as much about the mean.

    `size / (1 + 2 sum of autocorrelations)`, summed in pairs of lags as far as pairs are positive and made
    decreasing (Geyer 1992); the autocorrelations count differences between chains as lasting for ever.
    """
    chains, n = draws.shape
    if np.ptp(draws) < np.finfo(float).resolution:
        return float(draws.size)
    centered = draws - draws.mean(axis=1, keepdims=True)
    spectrum = np.abs(np.fft.rfft(centered, 2 * n)) ** 2
    covariance = np.fft.irfft(spectrum, 2 * n)[:, :n].mean(axis=0) / n
    within = covariance[0] * n / (n - 1)
    total = covariance[0] + (draws.mean(axis=1).var(ddof=1) if chains > 1 else 0.0)
    rho = 1.0 - (within - covariance) / total
    rho[0] = 1.0
    pairs = rho[: 2 * ((n - 1) // 2)].reshape(-1, 2).sum(axis=1)
    stop = int(np.argmax(np.append(pairs[:-1] <= 0.0, True)))
    decreasing = np.minimum.accumulate(pairs[:stop])
    tau = -1.0 + 2.0 * decreasing.sum() + max(rho[2 * stop], 0.0)
    # Alternating chains may beat independent draws, but not by any factor.
    return float(draws.size / max(tau, 1.0 / np.log10(draws.size)))
