"""Gibbs sampling of `score = slope * quality + offset + noise`, many conferences in one chain.

Nothing is known about the reviewers. Quality is N(0,1) over papers. Slopes are normal over reviewers and
truncated to above 0; offsets and noise are normal. The mean slope, the standard deviations of offsets and
noise, and the relative spread of slopes are learned from the reviews of each conference alone.

`fit_batch` runs the chains and returns a `Fit`. A step of `ConferenceSampler` is one formula over all papers,
reviewers or conferences; `blindcal.compute.mcmc` has the draws that other samplers need too.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr

from blindcal.checks import Array, Integers, numbers
from blindcal.compute.mcmc import (
    conditional_normal,
    overrelaxed,
    overrelaxed_normal,
    positive_normal,
    positive_normal_score,
)
from blindcal.errors import InputError
from blindcal.reviewers.base import Booleans


@dataclass(frozen=True, eq=False)
class Batch:
    """The reviews of one conference, or of many side by side.

    Row r says that `reviewer[r]` gave `paper[r]` the score `score[r]`. Papers and reviewers are numbered from
    0 through all conferences; a reviewer of two conferences is two numbers. Conferences share nothing: every
    calibrator estimates whatever it estimates for each conference alone.

    Attributes:
        paper: The paper of each row.
        reviewer: The reviewer of each row.
        score: The score of each row.
        paper_group: The conference of each paper; by default there is one conference.
        reviewer_group: The conference of each reviewer.
        row_group: The conference of each row, which follows.

    Example:
        >>> two = Batch([0, 0, 1, 1], [0, 1, 2, 3], [1, 3, 7, 8], [0, 1], [0, 0, 1, 1])
        >>> two.per_paper(two.score), two.groups
        (array([ 4., 15.]), 2)
    """

    paper: Integers
    reviewer: Integers
    score: Array
    paper_group: Integers
    reviewer_group: Integers
    row_group: Integers = field(repr=False)

    def __init__(
        self,
        paper: ArrayLike,
        reviewer: ArrayLike,
        score: ArrayLike,
        paper_group: ArrayLike | None = None,
        reviewer_group: ArrayLike | None = None,
    ) -> None:
        p, r, s = (
            _numbered_from_zero("paper", paper),
            _numbered_from_zero("reviewer", reviewer),
            numbers("score", score),
        )
        if not p.shape == r.shape == s.shape or p.ndim != 1 or p.size == 0:
            raise InputError(
                f"a batch needs rows of paper, reviewer, score, found {p.shape}, {r.shape}, {s.shape}"
            )
        pg = _conference_of_each("paper_group", paper_group, int(p.max()) + 1)
        rg = _conference_of_each("reviewer_group", reviewer_group, int(r.max()) + 1)
        if (pg[p] != rg[r]).any():
            raise InputError("a paper and its reviewer must belong to the same group")
        if np.bincount(p, minlength=pg.size).min() == 0 or np.bincount(r, minlength=rg.size).min() == 0:
            raise InputError("every paper and every reviewer of a batch must have a review")
        vars(self).update(paper=p, reviewer=r, score=s, paper_group=pg, reviewer_group=rg, row_group=pg[p])

    @property
    def papers(self) -> int:
        """How many papers there are, in all conferences."""
        return int(self.paper_group.size)

    @property
    def reviewers(self) -> int:
        """How many reviewers there are, in all conferences."""
        return int(self.reviewer_group.size)

    @property
    def groups(self) -> int:
        """How many conferences there are."""
        return int(self.paper_group.max()) + 1

    def per_paper(self, value: Array | None = None) -> Array:
        """Sums of a row value over each paper; without a value, the number of its reviews."""
        return np.bincount(self.paper, value, self.papers).astype(np.float64, copy=False)

    def per_reviewer(self, value: Array | None = None) -> Array:
        """Sums of a row value over each reviewer; without a value, the number of reviews."""
        return np.bincount(self.reviewer, value, self.reviewers).astype(np.float64, copy=False)

    def per_group(self, value: Array | None = None) -> Array:
        """Sums of a row value over each conference; without a value, the number of its reviews."""
        return np.bincount(self.row_group, value, self.groups).astype(np.float64, copy=False)


def _numbered_from_zero(name: str, value: ArrayLike) -> Integers:
    """Numbers from 0, as an array."""
    array = np.asarray(value)
    if not np.issubdtype(array.dtype, np.integer) or (array.size and array.min() < 0):
        raise InputError(f"{name} must be numbered from 0, found {value!r:.60}")
    return array.astype(np.int64)


def _conference_of_each(name: str, value: ArrayLike | None, size: int) -> Integers:
    """The conference of each paper or reviewer."""
    group = np.zeros(size, np.int64) if value is None else _numbered_from_zero(name, value)
    if group.ndim != 1 or group.size != size:
        raise InputError(f"{name} must name the conference of each of {size}, found shape {group.shape}")
    return group


SEED = 20250101  # of the chain's own generator: the same data always give the same numbers

# The range of noise, spread of offsets and mean slope, in standard deviations of a conference's scores; each
# has a flat prior there. The lower end keeps the chain moving if scores fit exactly, the upper end makes the
# prior proper.
LOWEST, HIGHEST = 0.01, 3.0

# --- the distribution of slopes over reviewers: normal, truncated to above 0

# cv = standard deviation / mean of a positive normal distribution, as a function of rho = location / scale:
# from 0.9 (nearly exponential) to 0.01 (reviewers hardly differ); interpolation in log cv is good to 1e-5.
_RHO = np.concatenate([np.linspace(-4.0, 6.0, 401), np.geomspace(6.05, 100.0, 200)])


def _mean_over_scale(rho: Array) -> Array:
    """The mean of the positive normal distribution over its scale: `rho + phi(rho)/Phi(rho)`."""
    ratio: Array = rho + np.exp(-0.5 * rho**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(rho))
    return ratio


_LOG_CV = 0.5 * np.log1p(_RHO * _mean_over_scale(_RHO) - _mean_over_scale(_RHO) ** 2) - np.log(
    _mean_over_scale(_RHO)
)
LEAST_SPREAD, GREATEST_SPREAD = float(np.exp(_LOG_CV[-1])), float(np.exp(_LOG_CV[0]))

# The prior of the relative spread v: four in five that reviewers hardly differ, falling off as v^-6.
_EQUAL, _POWER = 0.8, 6
_NARROW = _EQUAL * (_POWER - 1) * LEAST_SPREAD ** (_POWER - 1)
_FLAT = (1 - _EQUAL) / (GREATEST_SPREAD - LEAST_SPREAD)


def variation_prior(spread: Array) -> Array:
    """Prior density over log v of the relative spread v of slopes.

    A mixture: reviewers hardly differ (v^-6), or may differ by anything (flat).
    """
    density: Array = _NARROW / spread ** (_POWER - 1) + _FLAT * spread
    return density


def location_and_scale(log_mean: Array, spread: Array) -> tuple[Array, Array, Array]:
    """(m, t, m/t) of the positive normal distribution with this mean and this standard deviation / mean.

    The distribution is N(m, t^2), truncated to above 0.
    """
    rho = np.interp(-np.log(spread), -_LOG_CV, _RHO)
    t = np.exp(log_mean) / _mean_over_scale(rho)
    return rho * t, t, rho


def log_density(total: Array, squares: Array, count: Array, log_mean: Array, spread: Array) -> Array:
    """Log density of `count` slopes with this sum and sum of squares, up to a constant."""
    m, t, rho = location_and_scale(log_mean, spread)
    fit = (squares - 2 * m * total + count * m**2) / (2 * t**2)
    density: Array = -count * (np.log(t) + log_ndtr(rho)) - fit
    return density


# --- the sampler


@dataclass
class ConferenceState:
    """One draw of everything; hyperparameters are arrays over conferences."""

    quality: Array  # by paper
    slope: Array  # by reviewer
    offset: Array  # by reviewer
    noise: Array
    center: Array  # mean of offsets
    spread: Array  # standard deviation of offsets
    log_mean: Array  # of slopes
    variation: Array  # standard deviation / mean of slopes


class ConferenceSampler:
    """Draws the qualities and reviewers of conferences from their posterior, by sweeps."""

    def __init__(self, batch: Batch, *, common_slope: bool, rng: np.random.Generator) -> None:
        self.batch, self.common, self.rng = batch, common_slope, rng
        self.rows = batch.per_group()
        self.reviews = batch.per_reviewer()
        self.n_papers = np.bincount(batch.paper_group, minlength=batch.groups).astype(float)
        self.n_reviewers = np.bincount(batch.reviewer_group, minlength=batch.groups).astype(float)
        self.state = self._start()
        # The mean and precision that the last qualities were drawn with: averaging them over sweeps has less
        # Monte Carlo error than averaging the qualities (Rao-Blackwell).
        self.conditional = self.quality_given_reviewers()

    def _start(self) -> ConferenceState:
        batch, groups = self.batch, self.batch.groups
        mean = batch.per_paper(batch.score) / batch.per_paper()
        return ConferenceState(
            quality=mean.copy(),
            slope=np.full(batch.reviewers, 0.7),
            offset=batch.per_reviewer(batch.score - mean[batch.paper]) / self.reviews,
            noise=np.full(groups, 0.5),
            center=np.zeros(groups),
            spread=np.full(groups, 0.5),
            log_mean=np.full(groups, np.log(0.7)),
            variation=np.full(groups, 0.4),
        )

    def sweep(self) -> None:
        """Draw everything once, each part given the rest."""
        self.draw_quality()
        if self.common:
            self.draw_offsets()
        else:
            self.draw_reviewers()
        self.move_location()
        self.move_scale()
        self.draw_offset_spread()
        self.stretch_offsets()
        if self.common:
            self.draw_common_slope()
        else:
            self.draw_slope_spread()
            self.stretch_slopes()
        self.draw_noise()

    @property
    def spreads(self) -> Array:
        """The draw `[4, conference]` of what `Spreads` holds, in its order."""
        s, mean = self.state, np.exp(self.state.log_mean)
        return np.stack([mean, s.spread, 0.0 * mean if self.common else mean * s.variation, s.noise])

    # --- qualities and reviewers, given the hyperparameters

    def quality_given_reviewers(self) -> tuple[Array, Array]:
        """Mean of each quality and its precision `1 + sum slope^2/noise^2`."""
        batch, s = self.batch, self.state
        a = s.slope[batch.reviewer]
        weight = 1 / s.noise[batch.paper_group] ** 2
        precision = 1 + weight * batch.per_paper(a * a)
        return weight * batch.per_paper(a * (batch.score - s.offset[batch.reviewer])) / precision, precision

    def draw_quality(self) -> None:
        mean, precision = self.conditional = self.quality_given_reviewers()
        self.state.quality = overrelaxed_normal(self.state.quality, mean, precision, self._normal(mean))

    def draw_reviewers(self) -> None:
        """(slope, offset) of a reviewer is bivariate normal with slope > 0: slope, then offset given it.

        `paa`, `pab`, `pbb` are its precision matrix and `ha`, `hb` that times its mean. `bivariate_draw`
        does not serve: the slope is truncated, and both draws are overrelaxed.
        """
        batch, s = self.batch, self.state
        group = batch.reviewer_group
        m, t, _ = location_and_scale(s.log_mean, s.variation)
        w, q = 1 / s.noise[group] ** 2, s.quality[batch.paper]
        paa = w * batch.per_reviewer(q * q) + (1 / t**2)[group]
        pab = w * batch.per_reviewer(q)
        pbb = w * self.reviews + (1 / s.spread**2)[group]
        ha = w * batch.per_reviewer(q * batch.score) + (m / t**2)[group]
        hb = w * batch.per_reviewer(batch.score) + (s.center / s.spread**2)[group]
        precision = paa - pab**2 / pbb
        mean, sd = (ha - hb * pab / pbb) / precision, 1 / np.sqrt(precision)
        score = overrelaxed(positive_normal_score(s.slope, mean, sd), self._normal(mean))
        rest = overrelaxed_normal(s.offset - (hb - pab * s.slope) / pbb, 0.0, pbb, self._normal(mean))
        s.slope = positive_normal(score, mean, sd)
        s.offset = (hb - pab * s.slope) / pbb + rest

    def draw_offsets(self) -> None:
        batch, s = self.batch, self.state
        group = batch.reviewer_group
        rest = batch.score - s.slope[batch.reviewer] * s.quality[batch.paper]
        w, prior = 1 / s.noise[group] ** 2, 1 / s.spread[group] ** 2
        precision = w * self.reviews + prior
        mean = (w * batch.per_reviewer(rest) + prior * s.center[group]) / precision
        s.offset = overrelaxed_normal(s.offset, mean, precision, self._normal(mean))

    def _normal(self, like: Array) -> Array:
        return self.rng.standard_normal(like.shape)

    # --- moves along directions in which no residual changes, and one-by-one draws hardly get ahead

    def move_location(self) -> None:
        """Move to quality + d, offset - slope * d, center - mean slope * d: the density is normal in d."""
        batch, s = self.batch, self.state
        mean_slope = self._by_reviewer(s.slope) / self.n_reviewers
        tilt = s.slope - mean_slope[batch.reviewer_group]
        bend = s.offset - s.center[batch.reviewer_group]
        precision = self.n_papers + self._by_reviewer(tilt**2) / s.spread**2
        pull = -self._by_paper(s.quality) + self._by_reviewer(tilt * bend) / s.spread**2
        d = conditional_normal(pull, precision, self._normal(pull))
        s.quality = s.quality + d[batch.paper_group]
        s.offset = s.offset - s.slope * d[batch.reviewer_group]
        s.center = s.center - mean_slope * d

    def move_scale(self) -> None:
        """Move to quality * c, slope / c: the sum of squared qualities is chi-squared given all else.

        n - 1 degrees of freedom for n papers: the mean slope has a flat prior, its log the density
        e^log_mean.
        """
        batch, s = self.batch, self.state
        freedom = np.maximum(self.n_papers - 1, 1)
        c = np.sqrt(self.rng.chisquare(freedom) / self._by_paper(s.quality**2))
        c = np.where(_in_prior_range(np.exp(s.log_mean) / c), c, 1.0)
        s.quality = s.quality * c[batch.paper_group]
        s.slope = s.slope / c[batch.reviewer_group]
        s.log_mean = s.log_mean - np.log(c)

    # --- hyperparameters

    def draw_offset_spread(self) -> None:
        """Mean and standard deviation of offsets, whose priors are flat."""
        batch, s = self.batch, self.state
        mean = self._by_reviewer(s.offset) / self.n_reviewers
        s.center = mean + s.spread / np.sqrt(self.n_reviewers) * self.rng.standard_normal(batch.groups)
        squares = self._by_reviewer((s.offset - s.center[batch.reviewer_group]) ** 2)
        s.spread = self._deviation(s.spread, squares, self.n_reviewers)

    def stretch_offsets(self) -> None:
        """Draw the spread in offset = center + spread * z with z fixed: a coefficient of a regression."""
        batch, s = self.batch, self.state
        group = batch.reviewer_group
        z = (s.offset - s.center[group]) / s.spread[group]
        rest = batch.score - s.slope[batch.reviewer] * s.quality[batch.paper] - s.center[batch.row_group]
        information = self._by_reviewer(self.reviews * z * z)
        mean = self._by_reviewer(z * batch.per_reviewer(rest)) / information
        drawn = mean + s.noise / np.sqrt(information) * self.rng.standard_normal(batch.groups)
        s.spread = np.where(_in_prior_range(np.abs(drawn)), drawn, s.spread)
        s.offset = s.center[group] + s.spread[group] * z
        s.spread = np.abs(s.spread)

    def draw_common_slope(self) -> None:
        batch, s = self.batch, self.state
        q = s.quality[batch.paper]
        squares = batch.per_group(q * q)
        mean = batch.per_group(q * (batch.score - s.offset[batch.reviewer])) / squares
        sd = s.noise / np.sqrt(squares)
        drawn = positive_normal(self._normal(mean), mean, sd)
        drawn = np.where(_in_prior_range(drawn), drawn, np.exp(s.log_mean))
        s.slope, s.log_mean = drawn[batch.reviewer_group], np.log(drawn)

    def draw_slope_spread(self, tries: int = 3) -> None:
        """Mean and variation of slopes given the slopes, by Metropolis steps."""
        s = self.state
        total, squares = self._by_reviewer(s.slope), self._by_reviewer(s.slope**2)
        old = log_density(total, squares, self.n_reviewers, s.log_mean, s.variation)
        for _ in range(tries):
            log_mean, variation, inside = self._propose(1.5)
            new = log_density(total, squares, self.n_reviewers, log_mean, variation)
            gain = new - old + self._prior_gain(log_mean, variation)
            take = inside & (np.log(self.rng.random(old.shape)) < gain)
            s.log_mean = np.where(take, log_mean, s.log_mean)
            s.variation = np.where(take, variation, s.variation)
            old = np.where(take, new, old)

    def stretch_slopes(self) -> None:
        """Mean and variation of slopes with standardized slopes fixed: the residuals decide."""
        batch, s = self.batch, self.state
        group = batch.reviewer_group
        log_mean, variation, inside = self._propose(3.0)
        m0, t0, r0 = location_and_scale(s.log_mean, s.variation)
        m1, t1, r1 = location_and_scale(log_mean, variation)
        slope = m1[group] + (t1 / t0)[group] * (s.slope - m0[group])
        inside &= self._by_reviewer((slope <= 0).astype(float)) == 0
        step = (slope - s.slope)[batch.reviewer] * s.quality[batch.paper]
        fit = batch.per_group(step * (2 * self._residual() - step)) / (2 * s.noise**2)
        gain = fit - self.n_reviewers * (log_ndtr(r1) - log_ndtr(r0))
        gain += self._prior_gain(log_mean, variation)
        take = inside & (np.log(self.rng.random(batch.groups)) < gain)
        s.slope = np.where(take[group], slope, s.slope)
        s.log_mean, s.variation = np.where(take, log_mean, s.log_mean), np.where(take, variation, s.variation)

    def _prior_gain(self, log_mean: Array, variation: Array) -> Array:
        """The log ratio of priors: flat in the mean, `variation_prior` in the variation."""
        before = variation_prior(self.state.variation)
        gain: Array = log_mean - self.state.log_mean + np.log(variation_prior(variation) / before)
        return gain

    def _propose(self, width: float) -> tuple[Array, Array, Booleans]:
        """A symmetric step in (log mean, log variation), and whether it stays in range."""
        s, root = self.state, np.sqrt(self.n_reviewers)
        variation = s.variation * np.exp(width / root * self.rng.standard_normal(root.shape))
        inside = (variation > LEAST_SPREAD) & (variation < GREATEST_SPREAD)
        variation = np.where(inside, variation, s.variation)
        # The geometric mean of both ends keeps the step of log_mean the same forth and back.
        reach = width * np.sqrt(variation * s.variation) / root
        log_mean = s.log_mean + reach * self.rng.standard_normal(root.shape)
        return log_mean, variation, inside & _in_prior_range(np.exp(log_mean))

    def draw_noise(self) -> None:
        squares = self.batch.per_group(self._residual() ** 2)
        self.state.noise = self._deviation(self.state.noise, squares, self.rows)

    def _residual(self) -> Array:
        batch, s = self.batch, self.state
        return batch.score - s.offset[batch.reviewer] - s.slope[batch.reviewer] * s.quality[batch.paper]

    def _deviation(self, old: Array, squares: Array, count: Array) -> Array:
        """A standard deviation with a flat prior on its range, given `count` values with these squares."""
        drawn = np.sqrt(squares / self.rng.chisquare(np.maximum(count - 1, 1)))
        return np.where(_in_prior_range(drawn), drawn, old)

    def _by_paper(self, value: Array) -> Array:
        return np.bincount(self.batch.paper_group, value, self.batch.groups).astype(np.float64, copy=False)

    def _by_reviewer(self, value: Array) -> Array:
        return np.bincount(self.batch.reviewer_group, value, self.batch.groups).astype(np.float64, copy=False)


def _in_prior_range(value: Array) -> Booleans:
    return (value > LOWEST) & (value < HIGHEST)


# --- running chains, and what is kept of them


@dataclass(frozen=True, eq=False)
class Spreads:
    """Draws of the hyperparameters `[draw, conference]`, in units of the scores."""

    quality: Array  # standard deviation of `slope * quality` for the mean reviewer, that is the mean slope
    offset: Array  # standard deviation of offsets over reviewers
    slope: Array  # standard deviation of slopes over reviewers; 0 if all have the same slope
    noise: Array  # standard deviation of the noise of one review


@dataclass(frozen=True, eq=False)
class Fit:
    """The posterior of a batch, from one chain or several."""

    quality: Array  # posterior mean `[paper]`, in N(0,1) units
    standard_error: Array  # posterior standard deviation `[paper]` of the quality
    slope: Array  # posterior mean `[reviewer]`
    offset: Array  # posterior mean `[reviewer]`
    covariance: Array  # posterior covariance `[reviewer, 2, 2]` of (slope, offset)
    noise: Array  # standard deviation of one review `[conference]`, in units of the scores
    spreads: Spreads  # draws of the hyperparameters
    # Thinned joint draws, one row each: quality[draw, paper], slope[draw, reviewer] and offset[draw,
    # reviewer]. Chains take turns.
    draws: tuple[Array, Array, Array] = field(repr=False)
    chains: int  # how many chains there were

    def quality_draws(self, most: int) -> Array:
        """Thinned draws `[chain, draw, paper]` of qualities, of at most `most` papers at equal intervals."""
        quality = self.draws[0][:, :: -(-self.quality.size // most)]
        return quality.reshape(-1, self.chains, quality.shape[1]).swapaxes(0, 1)


def fit_batch(
    batch: Batch, *, common_slope: bool, sweeps: int, chains: int = 1, keep: int = 0, seed: int = SEED
) -> Fit:
    """The posterior of `score = slope * quality + offset + noise`, by Gibbs sampling.

    Each of `chains` chains has `sweeps` sweeps, of which the first third is dropped. `common_slope` gives all
    reviewers of a conference the same slope. About `keep` joint draws are kept, or none if it is 0.
    """
    middle, width = _score_scale(batch)
    standard = (batch.score - middle[batch.row_group]) / width[batch.row_group]
    rng = np.random.default_rng(seed)
    sampler = ConferenceSampler(copies(batch, standard, chains), common_slope=common_slope, rng=rng)
    for _ in range(sweeps // 3):
        sampler.sweep()
    kept = sweeps - sweeps // 3
    every = max(1, kept * chains // keep) if keep else kept + 1
    papers, reviewers = np.zeros(1), np.zeros(1)
    hyper, draws = list[Array](), list[tuple[Array, ...]]()
    for index in range(1, kept + 1):
        sampler.sweep()
        (mean, precision), (a, b) = sampler.conditional, (sampler.state.slope, sampler.state.offset)
        papers = papers + np.stack([mean, mean**2, 1 / precision])
        reviewers = reviewers + np.stack([a, b, a * a, a * b, b * b])
        hyper.append(sampler.spreads)
        if index % every == 0:
            draws.append(tuple(part.reshape(chains, -1) for part in (sampler.state.quality, a, b)))
    first, second, inner = papers.reshape(3, chains, -1) / kept
    quality = first.mean(axis=0)
    # The law of total variance: the mean conditional variance, plus the variance of conditional means.
    variance = inner.mean(axis=0) + np.maximum(second.mean(axis=0) - quality**2, 0.0)
    w, m = width[batch.reviewer_group], middle[batch.reviewer_group]
    slope, offset, aa, ab, bb = (reviewers.reshape(5, chains, -1) / kept).mean(axis=1)
    cross = ab - slope * offset
    covariance = np.stack([aa - slope * slope, cross, cross, bb - offset * offset], axis=-1)
    scaled = np.stack(hyper).reshape(kept, 4, chains, -1) * width
    spreads = scaled.transpose(1, 0, 2, 3).reshape(4, -1, batch.groups)
    none = [np.zeros((0, size)) for size in (batch.papers, batch.reviewers, batch.reviewers)]
    q, all_a, all_b = (np.concatenate(part) for part in zip(*draws, strict=True)) if draws else none
    return Fit(
        quality=quality,
        standard_error=np.sqrt(variance),
        slope=w * slope,
        offset=m + w * offset,
        covariance=(w[:, None] ** 2 * covariance).reshape(-1, 2, 2),
        noise=spreads[3].mean(axis=0),
        spreads=Spreads(*spreads),
        draws=(q, w * all_a, m + w * all_b),
        chains=chains,
    )


def _score_scale(batch: Batch) -> tuple[Array, Array]:
    """Mean and standard deviation of each conference's scores (1 if all are equal)."""
    count = batch.per_group()
    middle = batch.per_group(batch.score) / count
    width = np.sqrt(batch.per_group((batch.score - middle[batch.row_group]) ** 2) / count)
    return middle, np.where(width > 1e-12 * np.maximum(np.abs(middle), 1.0), width, 1.0)


def copies(batch: Batch, score: Array, times: int) -> Batch:
    """The table `times` times over, each copy with groups of its own; `score[row]` or `score[copy, row]`."""
    copy = np.repeat(np.arange(times), batch.paper.size)
    return Batch(
        np.tile(batch.paper, times) + copy * batch.papers,
        np.tile(batch.reviewer, times) + copy * batch.reviewers,
        np.broadcast_to(score, (times, batch.paper.size)).ravel(),
        np.concatenate([batch.paper_group + c * batch.groups for c in range(times)]),
        np.concatenate([batch.reviewer_group + c * batch.groups for c in range(times)]),
    )
