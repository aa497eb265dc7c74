"""Gibbs sampling of reviewers over past conferences.

    score = middle_c + width_c * e^stretch_c * (shift_c + slope_rc * quality + offset_rc + noise_rl * N(0,1))

Quality is N(0,1) over the papers of each conference c. (slope, offset) of reviewer r is normal over reviewers
and drifts from conference to conference (`drift`). Log noise is normal over reviewers, plus a term for the
level l of confidence. A rounded score is known up to its cell. A stretch that all conferences share could as
well be part of the reviewers: only parameters times e^stretch of a conference, in its own units, mean
anything.

`chain` runs one chain and returns its `Moments`: means over draws for each reviewer at the next conference,
and for a reviewer without history. First come draws of spreads and covariances, then the sampler, then the
moments. Draws that other samplers need too are in `blindcal.compute.mcmc`.

References:
    A. Huang, M. P. Wand (2013): Simple marginally noninformative prior distributions for covariance
    matrices. Bayesian Analysis 8(2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from blindcal.checks import Array
from blindcal.compute.mcmc import conditional_normal, regression_sums, truncated_normal
from blindcal.fitting.drift import (
    HIGHEST,
    LOWEST,
    filtered,
    innovations,
    log_prior_of_persistence,
    persistence_to_previous,
    predicted,
    sample_backward,
)
from blindcal.fitting.history import History
from blindcal.fitting.received_sums import as_regression, draw_loads

# --- draws of spreads and covariances

# Half-t priors of standard deviations with these degrees of freedom (Huang and Wand 2013): for two and more
# dimensions every correlation is then uniform.
FREEDOM = 2.0


def log_scale(
    count: Array, squares: Array, mean: float, sd: float, now: Array, rng: np.random.Generator
) -> Array:
    """A Metropolis step of the log standard deviation l of `count` normal values.

    `squares` are their sums of squares, and the prior of l is N(mean, sd^2). The log density is then
    `-count l - squares/2 e^-2l - (l - mean)^2/2sd^2`, which is concave: a normal proposal at its peak is
    nearly always taken.
    """
    worth = 0.5 / sd**2  # the prior says as much as this many values
    peak = 0.5 * np.log((squares + worth * np.exp(2 * mean)) / (count + worth))
    for _ in range(4):
        pull = squares * np.exp(-2 * peak)
        peak = peak + (pull - count - (peak - mean) / sd**2) / (2 * pull + 1 / sd**2)
    width = 1.05 / np.sqrt(2 * squares * np.exp(-2 * peak) + 1 / sd**2)
    new = peak + width * rng.standard_normal(peak.shape)

    def weight(value: Array) -> Array:
        density = -count * value - 0.5 * squares * np.exp(-2 * value) - 0.5 * ((value - mean) / sd) ** 2
        return np.asarray(density + 0.5 * ((value - peak) / width) ** 2)

    taken = np.log(rng.random(peak.shape)) < weight(new) - weight(now)
    return np.where(taken, new, now)


def covariance(squares: Array, count: int, now: Array, scale: float, rng: np.random.Generator) -> Array:
    """A covariance given `count` vectors with these sums of products, and Huang and Wand's prior."""
    size = len(squares)
    precision = np.linalg.inv(now).diagonal()
    mixing = (FREEDOM * precision + 1 / scale**2) / rng.gamma((FREEDOM + size) / 2, size=size)
    return _inverse_wishart(squares + np.diag(2 * FREEDOM / mixing), FREEDOM + size - 1 + count, rng)


def _inverse_wishart(scale: Array, freedom: float, rng: np.random.Generator) -> Array:
    """A draw by Bartlett: the inverse of `C A A' C'`, `C C'` that of `scale`, A of chi and normal draws."""
    size = len(scale)
    factor = np.tril(rng.standard_normal((size, size)), -1)
    factor += np.diag(np.sqrt(rng.chisquare(freedom - np.arange(size))))
    root = np.linalg.cholesky(np.linalg.inv(scale)) @ factor
    inverse = np.linalg.inv(root @ root.T)
    return np.asarray(0.5 * (inverse + inverse.T))


def log_prior_of_root(root: Array, scale: float) -> float:
    """Log prior density, up to a constant, of the lower triangular root of a 2x2 covariance.

    Huang and Wand's marginal density of the covariance, times the Jacobian of the root.
    """
    inverse = np.linalg.inv(root @ root.T)
    first, second = np.log(np.abs(root.diagonal()))
    size = len(root)
    prior = -(FREEDOM + 2 * size) * (first + second)
    prior -= (FREEDOM + size) / 2 * np.log(FREEDOM * inverse.diagonal() + 1 / scale**2).sum()
    return float(prior + 2 * first + second)


# --- the sampler

# Priors, before any score is seen, in standard deviations of a conference's scores.
SPREAD_SCALE = 0.5  # of the half-t priors of standard deviations of slopes and offsets over reviewers
# The variance of log noise over reviewers is flat up to this limit's square: beyond it the mean of a
# lognormal noise says little about any reviewer. A prior of the deviation that is largest at 0 takes the
# reviewers of a short history for more alike than they are, and intervals of noise then cover too little.
NOISE_LIMIT = 0.75
# The mean slope is flat above 0: quality has no other sign.
STRETCH_SD = 0.25  # how far two conferences with equal spread of scores may differ in their scales
LEVEL_SD = 0.5  # how far levels of confidence differ in log noise
_SINGULAR = 1e-12  # of the largest eigenvalue: a regression with one that is smaller is not solved


@dataclass
class HistoryState:
    """One draw of everything."""

    score: Array  # as it was before rounding
    quality: Array
    slope: Array  # by visit
    offset: Array  # by visit
    log_noise: Array  # by reviewer
    log_level: Array  # by level of confidence
    shift: Array  # by conference
    stretch: Array  # by conference
    mean_slope: float
    covariance: Array  # of (slope, offset) over reviewers
    mean_log_noise: float
    sd_log_noise: float
    persistence: float
    load: Array  # how many reviews each shared sum rests on

    @property
    def population(self) -> Array:
        """The distribution of (slope, offset) over reviewers, as `filtered` has it."""
        (aa, ab), (_, bb) = self.covariance
        return np.array([self.mean_slope, 0.0, aa, ab, bb])


class HistorySampler:
    """Draws the reviewers of past conferences from their posterior, by sweeps.

    Each step is one formula over all papers, visits or reviewers.
    """

    def __init__(self, history: History, rng: np.random.Generator) -> None:
        self.history, self.rng = history, rng
        self.rows = history.per_conference()
        self.reviews = history.per_reviewer()
        self.level_rows = history.per_level()
        self.rounded = np.flatnonzero(history.rounded)
        self.state = self._start()
        # The distribution of (slope, offset) at the next conference, given all but slopes and offsets.
        self.next = np.empty((5, len(history.reviewers)))
        self.anyone = self.state.population
        self.step, self.taken = 0.7, 0.0

    def _start(self) -> HistoryState:
        history = self.history
        quality = history.per_paper(history.score) / history.per_paper()
        rest = history.per_visit(history.score - quality[history.paper]) / np.maximum(history.per_visit(), 1)
        return HistoryState(
            score=history.score.copy(),
            quality=quality,
            slope=np.full(len(history.visits), 0.7),
            offset=0.5 * rest,
            log_noise=np.full(len(history.reviewers), np.log(0.5)),
            log_level=np.zeros(len(history.levels)),
            shift=np.zeros(len(history.conferences)),
            stretch=np.zeros(len(history.conferences)),
            mean_slope=0.7,
            covariance=np.diag([0.05, 0.2]),
            mean_log_noise=float(np.log(0.5)),
            sd_log_noise=0.3,
            persistence=0.8,
            load=np.zeros(len(history.gathered.visit)),
        )

    def sweep(self) -> None:
        """Draw everything once, each part given the rest."""
        self.draw_stretch()
        self.draw_scores()
        self.stretch_noise()
        self.draw_shift_and_quality()
        self.draw_loads()
        self.draw_reviewers()
        self.stretch_reviewers()
        self.draw_population()
        self.draw_noise()
        self.draw_levels()

    def weight(self) -> Array:
        """The precision 1/noise^2 of each row, without the stretch of its conference."""
        history, s = self.history, self.state
        return np.exp(-2.0 * (s.log_noise[history.reviewer] + s.log_level[history.level]))

    def fair(self) -> Array:
        """The expected score `shift + slope * quality + offset` of each row, without the stretch."""
        history, s = self.history, self.state
        scored = s.slope[history.visit] * s.quality[history.paper] + s.offset[history.visit]
        return np.asarray(scored + s.shift[history.conference])

    def unstretched(self) -> Array:
        """Scores without the stretch of their conferences."""
        history, s = self.history, self.state
        return np.asarray(s.score * np.exp(-s.stretch)[history.conference])

    # --- scores, qualities, reviewers

    def draw_scores(self) -> None:
        """Scores before rounding, each between the ends of its cell."""
        if not self.rounded.size:
            return
        history, s, rows = self.history, self.state, self.rounded
        scale = np.exp(s.stretch)[history.conference[rows]]
        mean, sd = scale * self.fair()[rows], scale / np.sqrt(self.weight()[rows])
        chance = self.rng.random(rows.size)
        s.score[rows] = truncated_normal(mean, sd, history.low[rows], history.high[rows], chance)

    def draw_shift_and_quality(self) -> None:
        """Shifts with all qualities integrated out, then the qualities."""
        history, s = self.history, self.state
        weight, a = self.weight(), s.slope[history.visit]
        rest = self.unstretched() - s.offset[history.visit]
        precision = 1.0 + history.per_paper(weight * a * a)
        slopes, scores = history.per_paper(weight * a), history.per_paper(weight * a * rest)
        known = history.per_conference(weight) - self._by_conference(slopes**2 / precision)
        pull = history.per_conference(weight * rest) - self._by_conference(slopes * scores / precision)
        s.shift = conditional_normal(pull, known, self.rng.standard_normal(known.shape))
        pull = scores - s.shift[history.paper_conference] * slopes
        s.quality = conditional_normal(pull, precision, self.rng.standard_normal(pull.shape))

    def draw_loads(self) -> None:
        """How many reviews each shared sum rests on."""
        gathered, s = self.history.gathered, self.state
        s.load = draw_loads(gathered, s.offset[gathered.visit], self.rng)

    def draw_reviewers(self) -> None:
        """Persistence with all slopes and offsets integrated out, then these."""
        observed, s, visits = self._habit_likelihood(), self.state, self.history.visits
        after, evidence = filtered(visits, observed, s.population, s.persistence)
        odds = np.log(s.persistence / (1 - s.persistence)) + self.step * self.rng.standard_normal()
        new = float(1 / (1 + np.exp(-odds)))
        if LOWEST < new < HIGHEST:
            other, gained = filtered(visits, observed, s.population, new)
            gain = gained - evidence + log_prior_of_persistence(new) - log_prior_of_persistence(s.persistence)
            self.taken = np.exp(min(0.0, gain))
            if self.rng.random() < self.taken:
                s.persistence, after = new, other
        self.anyone = s.population
        self.next = predicted(after[:, visits.last], s.population, s.persistence, visits.ago)
        s.slope, s.offset = sample_backward(visits, after, s.population, s.persistence, self.rng)

    def tune(self) -> None:
        """During warmup: adapt the step of persistence until it is taken about four times in ten."""
        self.step = float(np.clip(self.step * np.exp(0.1 * (self.taken - 0.4)), 0.02, 3.0))

    def _habit_likelihood(self) -> Array:
        """The log likelihood of (slope, offset) at each visit, from scores and from shared sums."""
        history, s = self.history, self.state
        rest = self.unstretched() - s.shift[history.conference]
        observed = regression_sums(s.quality[history.paper], rest, self.weight(), history.per_visit)
        x, y = as_regression(history.gathered, s.load)
        observed[1, history.gathered.visit] += x * y
        observed[4, history.gathered.visit] += x * x
        return observed

    # --- the population of reviewers

    def stretch_reviewers(self) -> None:
        """Mean slope and root of the covariance, with every reviewer's standardized (slope, offset) fixed.

        They are coefficients of a regression of the scores. Given slopes and offsets, `draw_population` moves
        the same numbers only a little if reviewers are many; this step moves them with everybody's.
        """
        history, s = self.history, self.state
        root: Array = np.linalg.cholesky(s.covariance).astype(np.float64)
        z = np.linalg.solve(root, np.stack([s.slope - s.mean_slope, s.offset]))
        q, weight = s.quality[history.paper], np.sqrt(self.weight())
        first, second = z[0, history.visit], z[1, history.visit]
        columns = weight * np.stack([q, first * q, first, second])
        target = weight * (self.unstretched() - s.shift[history.conference])
        by_offset, sums = as_regression(history.gathered, s.load)
        none, shared = np.zeros_like(by_offset), z[:, history.gathered.visit] * by_offset
        columns = np.concatenate([columns, np.stack([none, none, *shared])], axis=1)
        target = np.concatenate([target, sums])
        precision = columns @ columns.T
        # So few reviews do not determine four coefficients. Whether to return depends on nothing that this
        # step draws, so the posterior stays as it is.
        if np.linalg.matrix_rank(precision, hermitian=True, rtol=_SINGULAR) < len(columns):
            return
        mean = np.linalg.solve(precision, columns @ target)
        drawn = mean + np.linalg.solve(np.linalg.cholesky(precision).T, self.rng.standard_normal(4))
        new: Array = np.array([[drawn[1], 0.0], [drawn[2], drawn[3]]], dtype=np.float64)
        gain = log_prior_of_root(new, SPREAD_SCALE) - log_prior_of_root(root, SPREAD_SCALE)
        if drawn[0] > 0.0 and np.log(self.rng.random()) < gain:
            s.mean_slope, s.covariance = float(drawn[0]), new @ new.T
            s.slope, s.offset = drawn[0] + new[0, 0] * z[0], new[1] @ z

    def draw_population(self) -> None:
        """Covariance and mean slope, given each visit's change of (slope, offset) since the one before."""
        s = self.state
        visits = self.history.visits
        old = persistence_to_previous(visits, s.persistence)
        fresh = 1.0 - old**2
        slope, offset = innovations(visits, s.slope, old), innovations(visits, s.offset, old)
        news = np.stack([slope - (1.0 - old) * s.mean_slope, offset]) / np.sqrt(fresh)
        s.covariance = covariance(news @ news.T, news.shape[1], s.covariance, SPREAD_SCALE, self.rng)
        (aa, ab), (_, bb) = s.covariance
        weight = (1.0 - old) / fresh
        precision = (weight * (1.0 - old)).sum() / (aa - ab * ab / bb)
        pull = (weight * (slope - ab / bb * offset)).sum() / (aa - ab * ab / bb)
        mean, sd = pull / precision, 1.0 / np.sqrt(precision)
        s.mean_slope = float(truncated_normal(mean, sd, 0.0, np.inf, self.rng.random()))

    # --- noise and scales

    def draw_noise(self) -> None:
        """Everybody's log noise, then its mean and standard deviation over reviewers."""
        history, s = self.history, self.state
        rest = (self.unstretched() - self.fair()) ** 2
        squares = history.per_reviewer(rest * np.exp(-2 * s.log_level)[history.level])
        s.log_noise = log_scale(
            self.reviews, squares, s.mean_log_noise, s.sd_log_noise, s.log_noise, self.rng
        )
        people = s.log_noise.size
        s.mean_log_noise = float(
            s.log_noise.mean() + s.sd_log_noise / np.sqrt(people) * self.rng.standard_normal()
        )
        if people > 2:
            deviations = float(((s.log_noise - s.mean_log_noise) ** 2).sum())
            drawn = float(np.sqrt(0.5 * deviations / self.rng.gamma(people / 2 - 1)))
            s.sd_log_noise = drawn if drawn < NOISE_LIMIT else s.sd_log_noise

    def stretch_noise(self, tries: int = 3) -> None:
        """Mean and spread of log noise, with everybody's standardized log noise fixed.

        Qualities are integrated out, so they must be drawn next. Given them, a reviewer near whose scores
        they lie seems to have little noise, and the spread moves in small steps only.
        """
        history, s, reach = self.history, self.state, 2.0 / np.sqrt(self.reviews.size)
        z = (s.log_noise - s.mean_log_noise) / s.sd_log_noise
        slope, level = s.slope[history.visit], np.exp(-2.0 * s.log_level)[history.level]
        rest = self.unstretched() - s.offset[history.visit] - s.shift[history.conference]
        # What does not change with the noise, once for all tries.
        slopes, scores = level * slope * slope, level * slope * rest
        squares = history.per_reviewer(level * rest * rest)

        def density(mean: float, sd: float) -> float:
            """Log density of the scores and of (mean, log sd), up to a constant."""
            if sd >= NOISE_LIMIT:
                return -np.inf
            noise = mean + sd * z
            by_reviewer = np.exp(-2.0 * noise)
            weight = by_reviewer[history.reviewer]
            precision = 1.0 + history.per_paper(weight * slopes)
            known = history.per_paper(weight * scores) ** 2 / precision - np.log(precision)
            fit = 0.5 * float(known.sum()) - 0.5 * float(squares @ by_reviewer) - float(self.reviews @ noise)
            return fit + 2.0 * float(np.log(sd))

        now = density(s.mean_log_noise, s.sd_log_noise)
        for _ in range(tries):
            mean = s.mean_log_noise + reach * self.rng.standard_normal()
            sd = s.sd_log_noise * float(np.exp(4.0 * reach * self.rng.standard_normal()))
            new = density(mean, sd)
            if np.log(self.rng.random()) < new - now:
                s.mean_log_noise, s.sd_log_noise, now = mean, sd, new
        s.log_noise = s.mean_log_noise + s.sd_log_noise * z

    def draw_levels(self) -> None:
        """Log noise by level of confidence, relative to the most frequent level."""
        history, s = self.history, self.state
        if len(history.levels) == 1:
            return
        rest = (self.unstretched() - self.fair()) ** 2
        squares = history.per_level(rest * np.exp(-2 * s.log_noise)[history.reviewer])
        s.log_level = log_scale(self.level_rows, squares, 0.0, LEVEL_SD, s.log_level, self.rng)
        s.log_level[0] = 0.0

    def draw_stretch(self) -> None:
        """Stretches, by a Metropolis step from a normal proposal at the peak.

        With h = e^-stretch the likelihood is `h^n exp(-(A h^2 - 2 B h) / 2)`.
        """
        history, s = self.history, self.state
        if len(history.conferences) == 1:
            return
        weight, n = self.weight(), self.rows
        first = history.per_conference(weight * s.score**2)
        cross = history.per_conference(weight * s.score * self.fair())
        h = (cross + np.sqrt(cross**2 + 4 * first * n)) / (2 * first)
        precision = cross * h + 2 * n + 1 / STRETCH_SD**2
        peak = -np.log(h) * (1 - 1 / (STRETCH_SD**2 * precision))
        new = peak + self.rng.standard_normal(peak.shape) / np.sqrt(precision)

        def density(g: Array) -> Array:
            fit = -n * g - 0.5 * first * np.exp(-2 * g) + cross * np.exp(-g) - 0.5 * (g / STRETCH_SD) ** 2
            return np.asarray(fit + 0.5 * precision * (g - peak) ** 2)

        taken = np.log(self.rng.random(peak.shape)) < density(new) - density(s.stretch)
        s.stretch = np.where(taken, new, s.stretch)

    def _by_conference(self, value: Array) -> Array:
        """Sums of a value over the papers of each conference."""
        size = len(self.history.conferences)
        return np.bincount(self.history.paper_conference, value, size).astype(np.float64, copy=False)


# --- moments of a chain


@dataclass(frozen=True, eq=False)
class Moments:
    """Means over draws, in standard deviations of the last conference's scores."""

    # Moments `[7, reviewer]` at the next conference: first moments of slope, offset and noise, then second
    # moments of (slope, slope), (slope, offset), (offset, offset) and (noise, noise)
    reviewers: Array
    anyone: Array  # the same moments `[7]` of a reviewer without history
    levels: Array  # noise at each level of confidence, relative to the most frequent level
    stretch: Array  # scale of each conference, relative to the last one
    traces: Array  # draws `[draw, 5]` of the quantities that `TRACES` names
    offsets: Array  # draws `[draw, reviewer]` of the offsets of a few reviewers at their last conference


_JUDGED = 20  # reviewers whose offsets are kept, to compare chains by
# Quantities that are kept of every draw: the variance of a score by source, and the correlation of
# (slope, offset) from one conference to the next.
TRACES = ("quality", "slope", "offset", "noise", "persistence")


def chain(history: History, seed: Sequence[int], sweeps: int) -> Moments:
    """The moments of one chain; the first third of its sweeps is dropped."""
    sampler, kept = HistorySampler(history, np.random.default_rng(seed)), sweeps - sweeps // 3
    for _ in range(sweeps // 3):
        sampler.sweep()
        sampler.tune()
    judged = history.visits.last[:: -(-len(history.reviewers) // _JUDGED)]
    sums: Sequence[Array] = [np.zeros(1)] * 4
    draws = list[tuple[Array, Array]]()
    for _ in range(kept):
        sampler.sweep()
        means, trace, offset = _draw_moments(sampler)
        sums = [total + value for total, value in zip(sums, means, strict=True)]
        draws.append((trace, offset[judged]))
    reviewers, anyone, levels, stretch = (total / kept for total in sums)
    traces, offsets = map(np.array, zip(*draws, strict=True))
    return Moments(reviewers, anyone, levels, stretch, traces, offsets)


def _draw_moments(sampler: HistorySampler) -> tuple[Sequence[Array], Array, Array]:
    """What one draw adds to the means of `Moments`, in their order; its traces; and offsets by visit."""
    s, reviews = sampler.state, sampler.level_rows
    unit, shift = np.exp(s.stretch[-1]), s.shift[-1]
    # The noise of a review whose confidence is not known: levels as often as they were.
    typical = unit * np.sqrt(reviews / reviews.sum() @ np.exp(2 * s.log_level))
    noise, half = typical * np.exp(s.mean_log_noise), s.sd_log_noise**2
    spread = np.sqrt(np.expm1(half)) * noise * np.exp(half / 2)
    means = (
        _raw_moments(sampler.next, unit, shift, typical * np.exp(s.log_noise), 0.0),
        _raw_moments(sampler.anyone, unit, shift, noise * np.exp(half / 2), spread),
        np.exp(s.log_level),
        np.exp(s.stretch - s.stretch[-1]),
    )
    (slope, _), (_, offset) = unit**2 * s.covariance
    trace = (unit * s.mean_slope) ** 2, slope, offset, noise**2 * np.exp(2 * half), s.persistence
    return means, np.array(trace), unit * (s.offset + shift)


def _raw_moments(state: Array, unit: float, shift: float, noise: Array, noise_sd: Array | float) -> Array:
    """First and second moments, from a distribution of (slope, offset) and the mean and sd of noise."""
    slope, offset = unit * state[0], unit * (state[1] + shift)
    aa, ab, bb = unit**2 * state[2:]
    seconds = aa + slope**2, ab + slope * offset, bb + offset**2, noise_sd**2 + noise**2
    return np.stack([slope, offset, noise, *seconds])


def pooled_moments(chains: Sequence[Moments]) -> Moments:
    """Chains of equal length as one."""
    every = {name: [vars(part)[name] for part in chains] for name in vars(chains[0])}
    draws = {name: np.concatenate(every.pop(name)) for name in ("traces", "offsets")}
    return Moments(**{name: np.mean(means, axis=0) for name, means in every.items()}, **draws)


def parameters(moments: Array) -> Array:
    """Means, standard deviations and correlation, from first and second moments.

    The rows are slope, offset, noise, slope_se, offset_se, correlation and noise_se.
    """
    slope, offset, noise, aa, ab, bb, nn = moments
    tiny = np.finfo(float).tiny
    slope_se, offset_se, noise_se = (
        np.sqrt(np.maximum(second - first**2, tiny))
        for first, second in ((slope, aa), (offset, bb), (noise, nn))
    )
    correlation = np.clip((ab - slope * offset) / (slope_se * offset_se), -1.0, 1.0)
    return np.stack([slope, offset, noise, slope_se, offset_se, correlation, noise_se])
