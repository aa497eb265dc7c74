"""Diagnostics of a fit: sources of variance, drift, linearity, outliers, and a forecast of held-out scores.

Linearity is checked by leave-one-out residuals. From the other reviews of its paper each score has an
expected value, `slope * E[quality | others] + offset`. If a straight line with constant noise describes each
reviewer, the residuals have mean 0 and one variance at every quality, and do not bend in one way for one
reviewer and in another for the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import ndtri

from blindcal.checks import Array
from blindcal.compute.mcmc import ess_bulk, ess_tail, rhat
from blindcal.fitting.gibbs import TRACES, Moments, parameters
from blindcal.fitting.history import History, PastConference, build_history, score_moments
from blindcal.io.cells import count
from blindcal.reviewers.calibration import Scale

FLAT = 1e-9
"""Scores and qualities here have a standard deviation of about 1: a difference below this is roundoff."""
_COVERAGE = 0.9

# A bend is told where it is large and beyond this many standard errors, and an outlier where so few
# reviewers of the population would be as far out, over all reviewers together.
_SKEW_ERRORS, _MIN_SKEW, _OUTLIER_RATE = 3.0, 0.3, 0.01

# A standard error of so much of the population's tells nothing worth the name.
_UNINFORMED = 0.95
# Chains agree up to this R-hat of any offset (see `calibrators.affine_model.CONVERGED`).
_CONVERGED = 1.05
_BINS = 7

# Said where it is beyond so many standard errors, and large: noise that changes by a quarter of its variance
# from one standard deviation of quality to the next, curves as different as a tenth of a score.
_ERRORS, _MIN_WIDER, _MIN_CURVED = 3.0, 0.25, 0.01


@dataclass(frozen=True)
class FitDiagnostics:
    """How far to believe a fit. CONFIDENTIAL: it names reviewers."""

    # Of the variance of a score, that of quality, slope, offset and noise, each with a 90 % interval
    shares: Mapping[str, Estimate]
    # The correlation of reviewers' habits from one conference to the next, with its interval
    persistence: Estimate
    levels: Mapping[str, float]  # the noise at each level of confidence, relative to the most frequent level
    # The skewness of papers' mean scores, 0 if reviewers use the scale as a straight line, and three standard
    # errors each way
    bend: Estimate
    bent: bool  # whether `bend` is large and surely not 0
    # What straight lines leave unexplained; None if no two reviews can be compared
    line: LinearityCheck | None
    outliers: tuple[str, ...] = field(repr=False)  # people the fit is for who are unlike the population
    newcomers: int  # how many of the people have no history
    unknown: int  # how many have a history that says next to nothing
    reviewers: int  # how many people the fit is for
    # The largest rank-normalized split R-hat of offsets of a few reviewers; near 1 in a sound fit
    rhat: float
    ess: float  # the smallest effective sample size of these offsets, of the bulk or of a tail
    # A test on the last conference; None with one conference, or if no reviewer came back
    forecast: Forecast | None
    notes: tuple[str, ...]  # sentences about all of this, for the chair


@dataclass(frozen=True)
class Forecast:
    """How well the last conference's scores are predicted from earlier ones and each paper's other reviews.

    Errors are root mean squares in standard deviations of the scores, over reviewers with a history.
    """

    conference: str  # the name of the last one, which was held out
    reviews: int  # how many of its reviews are by someone with a history
    population: float  # the error if everyone is taken to be alike
    raw: float  # the error if each reviewer's past mean, as a deviation from all scores, is added to that
    fitted: float  # the error by the fit
    gain: float  # the share of the mean square of `population` that the fit saves; below 0 it does harm
    gain_se: float  # the standard error of `gain`, over papers

    @property
    def verdict(self) -> str:
        if self.gain > 2 * self.gain_se:
            return "history helps"
        return "history does not help" if self.gain < 0 else "too little history to tell whether it helps"


@dataclass(frozen=True)
class LinearityCheck:
    """Whether straight lines describe reviewers; both numbers are about 0 if they do.

    `wider` is the relative change of the noise's variance for one standard deviation of quality, `curved` the
    variance over reviewers of how much their scores bend with the square of quality; each with its standard
    error.
    """

    wider: float
    wider_error: float
    curved: float
    curved_error: float
    bins: tuple[ResidualBin, ...]

    @property
    def notes(self) -> list[str]:
        notes = []
        if abs(self.wider) > max(_MIN_WIDER, _ERRORS * self.wider_error):
            which = "better" if self.wider > 0 else "weaker"
            notes.append(f"reviews of {which} papers are noisier: their errors are understated there")
        if self.curved > max(_MIN_CURVED, _ERRORS * self.curved_error):
            notes.append(
                "some reviewers bend the scale in ways of their own: slope and offset are an approximation"
            )
        return notes


@dataclass(frozen=True)
class ResidualBin:
    """Residuals of reviews of papers of about the same quality, in standard deviations that the fit expects.

    `left` is their mean, `error` its standard error, `width` their standard deviation.
    """

    quality: float
    left: float
    error: float
    width: float


@dataclass(frozen=True)
class Estimate:
    """A number with its 90 % interval."""

    value: float  # the number
    low: float  # the lower end of the interval
    high: float  # the upper end

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


def diagnose(
    history: History,
    moments: Moments,
    chains: Sequence[Moments],
    people: Sequence[str],
    forecast: Forecast | None,
    asked: Sequence[str] = (),
) -> FitDiagnostics:
    """What there is to say about a fit that is for these people; `asked` are questions to the chair."""
    variances, persistence = moments.traces[:, :-1], moments.traces[:, -1]
    shares = variances / variances.sum(axis=1, keepdims=True)
    known = dict(zip(history.reviewers, parameters(moments.reviewers).T, strict=True))
    rows = {name: known[name] for name in people if name in known}
    anyone = parameters(moments.anyone)
    unknown = sum(bool(row[4] > _UNINFORMED * anyone[4]) for row in rows.values())
    named = ["not given" if level != level else f"{level:g}" for level in history.levels]
    bend, offsets = mean_score_skewness(history), np.stack([chain.offsets for chain in chains])
    checks = FitDiagnostics(
        shares=dict(zip(TRACES[:-1], map(credible_interval, shares.T), strict=True)),
        persistence=credible_interval(persistence),
        levels={} if len(named) == 1 else dict(sorted(zip(named, moments.levels.tolist(), strict=True))),
        bend=bend,
        bent=bool(bend.low > 0.0 or bend.high < 0.0) and abs(bend.value) > _MIN_SKEW,
        line=check_linearity(history, standardize(parameters(moments.reviewers))),
        outliers=tuple(sorted(name for name, row in rows.items() if _is_outlier(row, anyone, len(rows)))),
        newcomers=len(people) - len(rows),
        unknown=unknown,
        reviewers=len(people),
        rhat=float(rhat(offsets).max()),
        ess=float(min(ess_bulk(offsets).min(), ess_tail(offsets).min())),
        forecast=forecast,
        notes=(),
    )
    return replace(checks, notes=(*asked, *_diagnostic_notes(checks, history)))


def credible_interval(draws: Array) -> Estimate:
    """The mean of some draws with a 90 % interval."""
    low, high = np.quantile(draws, [(1 - _COVERAGE) / 2, (1 + _COVERAGE) / 2])
    return Estimate(float(draws.mean()), float(low), float(high))


def mean_score_skewness(history: History) -> Estimate:
    """The skewness of papers' mean scores, and three standard errors (of normal means) each way.

    If quality is normal and all reviewers use the scale as a straight line, mean scores are symmetric.
    """
    mean = history.per_paper(history.score) / history.per_paper()
    mean = mean - _conference_means(history, mean)
    unit = np.sqrt(_conference_means(history, mean**2))
    skewness = float(((mean / np.where(unit > FLAT, unit, np.inf)) ** 3).mean())
    error = _SKEW_ERRORS * float(np.sqrt(6 / mean.size))
    return Estimate(skewness, skewness - error, skewness + error)


def _conference_means(history: History, value: Array) -> Array:
    """For each paper, the mean over the papers of its conference."""
    papers = np.bincount(history.paper_conference)
    return np.asarray((np.bincount(history.paper_conference, value) / papers)[history.paper_conference])


def _is_outlier(row: Array, anyone: Array, people: int) -> bool:
    """Whether (slope, offset) or noise is further from the population's than hardly anyone should be."""
    step, spread = row[:2] - anyone[:2], anyone[3:5]
    cross = anyone[5] * spread[0] * spread[1]
    covariance = np.array([[spread[0] ** 2, cross], [cross, spread[1] ** 2]])
    habits = float(step @ np.linalg.solve(covariance, step))
    sd = np.sqrt(np.log1p((anyone[6] / anyone[2]) ** 2))
    noise = (np.log(row[2] / anyone[2]) + 0.5 * sd**2) / sd
    rare = _OUTLIER_RATE / people
    # With two degrees of freedom chi squared exceeds c with chance e^(-c/2).
    return bool(habits > -2.0 * np.log(rare / 2) or abs(noise) > -ndtri(rare / 4))


def _diagnostic_notes(checks: FitDiagnostics, history: History) -> list[str]:
    notes = []
    if len(history.conferences) == 1:
        notes.append("one past conference cannot show how reviewers change by the next: a guess is used")
    if checks.newcomers + checks.unknown == checks.reviewers:
        notes.append("not enough history: everyone gets the population, or hardly anything else")
    elif checks.newcomers or checks.unknown:
        alike = count(checks.newcomers + checks.unknown, "reviewer")
        notes.append(f"not enough history for {alike} of {checks.reviewers:,}: using the population")
    if checks.bent:
        notes.append(
            "scores are not a straight line in quality: the ends of the scale are used differently; "
            "calibration is an approximation there"
        )
    notes += [] if checks.line is None else checks.line.notes
    if checks.rhat > _CONVERGED:
        notes.append(
            f"two runs do not agree yet (R-hat {checks.rhat:.2f}, effective sample size {checks.ess:.0f}): "
            "ask for more sweeps"
        )
    return notes


def check_linearity(history: History, rows: Array) -> LinearityCheck | None:
    """The linearity check of reviewers with these rows; None if no two reviews can be compared."""
    quality, variance = leave_one_out_quality(history, rows)
    if float(quality.std()) <= FLAT:
        return None
    slope, offset, noise, slope_se, offset_se, _, noise_se = rows[:, history.reviewer]
    own = slope_se**2 * (quality**2 + variance) + offset_se**2 + noise**2 + noise_se**2
    left = (history.score - slope * quality - offset) / np.sqrt(slope**2 * variance + own)
    return LinearityCheck(
        *_heteroscedasticity(history, quality, left),
        *_curvature_variance(history, quality, left),
        _binned_residuals(quality, left),
    )


def leave_one_out_quality(history: History, rows: Array) -> tuple[Array, Array]:
    """E[quality | the other reviews of the paper] for each review, and its variance."""
    slope, offset, noise, slope_se, offset_se, _, noise_se = rows[:, history.reviewer]
    weight = 1 / (slope_se**2 + offset_se**2 + noise**2 + noise_se**2)
    known, pull = weight * slope**2, weight * slope * (history.score - offset)
    precision = 1.0 + history.per_paper(known)[history.paper] - known
    return np.asarray((history.per_paper(pull)[history.paper] - pull) / precision), 1.0 / precision


def standardize(rows: Array) -> Array:
    """The same reviewers on a scale where all scores together have mean 0 and standard deviation 1."""
    offset, variance = score_moments(rows)
    center = float(offset.mean())
    stretch = 1 / float(np.sqrt(variance.mean() + offset.var()))
    return Scale(-center, stretch, center).moved(rows)


def _heteroscedasticity(history: History, quality: Array, left: Array) -> tuple[float, float]:
    """The slope of squares on quality, and its standard error over papers."""
    squares, spread = left**2, quality - quality.mean()
    change = float(squares @ spread / (spread @ spread))
    rest = (squares - squares.mean() - change * spread) * spread
    error = float(np.sqrt((history.per_paper(rest) ** 2).sum()) / (spread @ spread))
    return change / float(squares.mean()), error / float(squares.mean())


def _curvature_variance(history: History, quality: Array, left: Array) -> tuple[float, float]:
    """The variance over reviewers of their curvature, and its standard error.

    If a reviewer's scores bend by `c (quality^2 - 1)`, products of two of their residuals have expectation
    c^2.
    """
    bend = quality**2 - (quality**2).mean()
    sums, squares = history.per_reviewer(left * bend), history.per_reviewer((left * bend) ** 2)
    whole = history.per_reviewer(bend**2) ** 2
    weight = whole - history.per_reviewer(bend**4)
    # Nobody has two reviews, or no quality bends.
    if weight.sum() <= FLAT * whole.sum() or float(bend.std()) <= FLAT:
        return 0.0, np.inf
    pairs = sums**2 - squares
    variance = float(pairs.sum() / weight.sum())
    error = float(np.sqrt(((pairs - variance * weight) ** 2).sum()) / weight.sum())
    return variance, error


def _binned_residuals(quality: Array, left: Array) -> tuple[ResidualBin, ...]:
    order = np.argsort(quality, kind="stable")
    bins = []
    for part in np.array_split(order, min(_BINS, max(1, order.size // 10))):
        width = left[part].std()
        means = float(quality[part].mean()), float(left[part].mean())
        bins.append(ResidualBin(*means, float(width / np.sqrt(part.size)), float(width)))
    return tuple(bins)


def forecast_last_conference(past: PastConference, earlier: History, moments: Moments) -> Forecast | None:
    """How well the fit of earlier conferences, with these moments, predicts a conference's scores.

    None if none of its reviewers was there before.
    """
    last = build_history([past])
    index_of = {name: index for index, name in enumerate(earlier.reviewers)}
    known = np.array([index_of.get(name, -1) for name in last.reviewers])
    seen = (known >= 0)[last.reviewer]
    if seen.sum() < 2:
        return None
    anyone = parameters(moments.anyone)
    fitted = np.where(known >= 0, parameters(moments.reviewers)[:, known], anyone[:, None])
    alike = np.broadcast_to(anyone[:, None], fitted.shape)
    means = earlier.per_reviewer(earlier.score) / np.maximum(earlier.per_reviewer(), 1)
    plain = _predict_scores(last, standardize(alike))
    errors = {
        "population": last.score - plain,
        "raw": last.score - plain - np.where(known >= 0, means[known], 0.0)[last.reviewer],
        "fitted": last.score - _predict_scores(last, standardize(fitted)),
    }
    squares = {name: error[seen] ** 2 for name, error in errors.items()}
    roots = {name: float(np.sqrt(square.mean())) for name, square in squares.items()}
    # The share of the mean square error that the fit takes off, and its standard error over papers.
    base, saved = float(squares["population"].mean()), squares["population"] - squares["fitted"]
    sums = np.bincount(np.unique(last.paper[seen], return_inverse=True)[1], saved - saved.mean())
    error = float(np.sqrt((sums**2).sum())) / saved.size
    return Forecast(
        past.name, int(seen.sum()), **roots, gain=float(saved.mean()) / base, gain_se=error / base
    )


def _predict_scores(last: History, rows: Array) -> Array:
    """Each score from the others of its paper: `slope * E[quality | others] + offset`."""
    quality, _ = leave_one_out_quality(last, rows)
    return np.asarray(rows[0, last.reviewer] * quality + rows[1, last.reviewer])
