"""Posterior predictive check: do pools and calibration predict the scores of a conference?

A certificate is true of the model that calibration and pools describe. This check compares that model with
the scores, from public data alone: nothing here knows a true reviewer. The model takes each score to come
from candidate j of its paper's pool with probability `inclusion_j / reviews`. Qualities are N(0, 1), and
papers are independent. The reviews of one paper share its quality and have different reviewers; the
candidate `*` stands for several people, one for each review that an outsider may have written.

A misfit counts only if it is both large and significant. A large conference is not blamed for a small
misfit, nor a small conference for bad luck.

The chapter reads top-down: thresholds, the check itself, the predictive distribution of the scores, the
statistics that are compared, and the verdict with its notes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtr

from blindcal.checks import Array, Integers, roundoff
from blindcal.errors import InputError
from blindcal.io.cells import count
from blindcal.io.tables import data_frame
from blindcal.pools.candidates import OUTSIDER, shared_part, union
from blindcal.pools.prior import candidate_seats, seat_probabilities
from blindcal.posterior.paper import PaperCase
from blindcal.reviewers.base import Booleans

FITS, DOUBTFUL, HOPELESS = "fits", "doubtful", "does not fit"

# Significance. Every statistic must exceed this many of its own standard deviations. The check compares about
# ten statistics; at 4 standard deviations, chance exceeds one of them in fewer than one of 200 conferences.
_CHANCE = 4.0

# Size, for a verdict of "doubtful": smaller misfits hardly change a decision.
# A shift of the mean, in standard deviations of a score.
_SHIFT = 0.3
# A ratio of standard deviations, or its inverse.
_STRETCH = 1.25
# A difference of two distribution functions.
_SHAPE = 0.1
# The slope of papers' mean scores on those predicted is 1 if the calibration is right, 0 if rows belong to
# other people, and -1 if offsets are mirrored. The threshold lies halfway between each two.
_FOLLOWING = 0.5

# Size, for a verdict of "does not fit": beyond these no decision means anything.
# Most scores lie outside the range that is predicted.
_HOPELESS_SHIFT, _HOPELESS_STRETCH = 2.0, 2.5
# More than this share of the scores, and at least this many of them, are impossible. One or two may be typos.
_HOPELESS_SHARE, _HOPELESS_COUNT = 0.02, 3

# A score is impossible if it is this many standard deviations from every candidate: one in 10^9 by chance.
_IMPOSSIBLE = 6.0
# A candidate is an outlier if a score of theirs falls within the range of all scores with less than this
# chance. The observed range of fewer scores than `_FEW_SCORES` is too short, and is widened.
_OUTLYING, _FEW_SCORES = 1e-3, 30

# Evidence for mirrored offsets, in natural logs: chance gives this much in one of 40 conferences (a normal
# number exceeds sqrt(2 * 2) = 2 that often), and less often in those whose papers do not follow their pools.
_EVIDENCE = 2.0
# No paper contributes more than this: a single typo must not decide.
_MOST_PER_PAPER = 5.0
# The evidence is computed from this many papers, with this many candidates together: about a second's work.
_MOST_PAPERS, _MOST_CANDIDATES = 120, 6_000

# Numerical tolerances.
# Gauss-Hermite nodes over quality; more of them change no fourth digit.
_QUADRATURE_NODES = 16
# Points at which distribution functions are compared.
_POINTS = 11
# Pools predict the same if their predictions differ by less than the root of this, in standard deviations of
# a mean score.
_EQUAL_POOLS = 1e-9
# The least standard deviation of a score, as a share of the one before rounding: beyond the end of a grid the
# standard deviation of rounded scores is 0, and ratios to it would be infinite.
_LEAST_SD = 1e-6
# Digits in a certificate: more than anybody reads, fewer than machines differ in.
_DIGITS = 4


@dataclass(frozen=True)
class CalibrationCheck:
    """Predicted and observed scores of a conference, in the units of the scores."""

    predicted_mean: float  # mean of a score, as pools and calibration predict it
    observed_mean: float  # mean of the scores
    predicted_sd: float  # standard deviation of a score, as pools and calibration predict it
    observed_sd: float  # standard deviation of the scores
    shift: float  # observed minus predicted mean, in predicted standard deviations of a score
    stretch: float  # observed over predicted standard deviation
    shape: float  # largest difference of the two distribution functions, from 0 to 1
    # Slope of papers' mean scores on those that their pools predict: 1 if the calibration is right; None if
    # all pools predict the same
    following: float | None
    # Log likelihood ratio of the scores if strict and lenient reviewers are exchanged; None if all offsets
    # are equal
    mirrored: float | None
    impossible: int  # number of scores that no candidate of their paper gives
    odd: int  # number of candidates who would hardly ever give scores like the observed ones
    verdict: str  # "fits", "doubtful" or "does not fit"
    notes: tuple[str, ...]  # the misfits in words

    def to_frame(self) -> Any:
        """One row, as a pandas data frame; needs pandas."""
        return data_frame({name: [value] for name, value in vars(self).items() if name != "notes"})

    @property
    def public(self) -> dict[str, object]:
        """The figures and the verdict as a certificate states them, in digits that any machine agrees on."""
        figures = {name: value for name, value in vars(self).items() if name != "notes"}
        return {k: round(v, _DIGITS) if isinstance(v, float) else v for k, v in figures.items()}


def check_calibration(cases: Sequence[PaperCase], better: str = "high") -> CalibrationCheck:
    """Checks how well the pools and the calibration of these papers predict their scores.

    `better`: the better end of the scale. With "low", the scores and offsets of the cases are negated ones;
    the result states them on the scale of the reviews.
    """
    return _check_calibration(tuple(cases), better)


@lru_cache(maxsize=2)
def _check_calibration(cases: tuple[PaperCase, ...], better: str) -> CalibrationCheck:
    """The check, computed once per conference: `decide` needs it before deciding and in the certificate."""
    data, sign = conference_scores(cases), -1.0 if better == "low" else 1.0
    mean, mean_chance = predicted_mean(data, score_value(data))
    variance, variance_chance = predicted_mean(data, squared_deviation(data, mean))
    sd, difference = max(float(np.sqrt(variance)), data.least_sd), float(data.score.mean()) - mean
    stretch = float(data.score.std()) / sd
    shape, bent = _largest_cdf_difference(data)
    slope, slope_chance = slope_on_predictions(data)
    outliers = outlying_candidates(data, sd)
    flags = _Significant(
        shifted=abs(difference) > max(_SHIFT * sd, _CHANCE * mean_chance),
        stretched=not 1 / _STRETCH < stretch < _STRETCH
        and abs(stretch**2 - 1) * variance > _CHANCE * variance_chance,
        bent=bent,
        astray=slope is not None and 1 - slope > max(_FOLLOWING, _CHANCE * slope_chance),
    )
    result = CalibrationCheck(
        predicted_mean=sign * mean,
        observed_mean=sign * (mean + difference),
        predicted_sd=sd,
        observed_sd=stretch * sd,
        shift=sign * difference / sd,
        stretch=stretch,
        shape=shape,
        following=slope,
        mirrored=_log_ratio_if_mirrored(cases, data, difference),
        impossible=impossible_scores(data),
        odd=outliers.size,
        verdict=FITS,
        notes=(),
    )
    return _with_verdict(result, flags, data, outliers, sign)


def refuse_misfit(fit: CalibrationCheck, *, despite_misfit: bool) -> None:
    """Refuse a calibration that does not fit the scores at all."""
    if fit.verdict == HOPELESS and not despite_misfit:
        problems = "; ".join(fit.notes)
        raise InputError(
            f"{problems}{'' if problems.endswith('?') else '.'} Whatever is planned or certified would not "
            "be about these scores; to continue anyway, give `despite_misfit`"
        )


@dataclass(frozen=True, eq=False)
class PoolChances:
    """The chance `[pool, person]` of having reviewed a paper with that pool: `shared[committee] - without`.

    Pools of one committee share a row, and each lacks the people with a conflict. `*` has an entry for each
    review of a paper.
    """

    shared: csr_array
    committee: Integers
    without: csr_array

    def __matmul__(self, values: Array) -> Array:
        """The sum over each pool of chance times value, `[pool]` or `[pool, column]`."""
        return np.asarray((self.shared @ values)[self.committee] - self.without @ values)

    def map(self, function: Callable[[Array], Array]) -> PoolChances:
        """Other numbers in place of the chances."""
        shared, without = (
            csr_array((function(part.data), part.indices, part.indptr), shape=part.shape)
            for part in (self.shared, self.without)
        )
        return PoolChances(shared, self.committee, without)

    def sum(self) -> Array:
        """The sum over each pool."""
        shared, without = (np.asarray(part.sum(axis=1)) for part in (self.shared, self.without))
        return np.asarray(shared[self.committee] - without)

    def expected(self, papers: Array) -> Array:
        """The expected number of reviews of each person, if each pool is that of so many `papers`."""
        committees = np.bincount(self.committee, papers, minlength=self.shared.shape[0])
        return np.asarray(self.shared.T @ committees - self.without.T @ papers)

    def least(self, values: Array) -> Array:
        """The least value in each pool."""
        least, shared, without = np.empty(self.committee.size), self.shared, self.without
        rows = np.split(shared.indices, shared.indptr[1:-1])
        ordered = [row[np.argsort(values[row], kind="stable")] for row in rows]
        for pool, committee in enumerate(self.committee):
            missing = set(without.indices[without.indptr[pool] : without.indptr[pool + 1]].tolist())
            least[pool] = values[next(person for person in ordered[committee] if person not in missing)]
        return least


@dataclass(frozen=True, eq=False)
class ConferenceScores:
    """All pools and all scores of a conference, as arrays.

    `people[person]` is a row of the calibration, and `named[person]` is false for `*`. Papers with equal
    pools share a row of `chance`. `paper[score]` and `pool[paper]` are indices.
    """

    people: Array
    named: Booleans
    chance: PoolChances
    pool: Integers
    score: Array
    paper: Integers
    grid: Array | None

    @property
    def reviews(self) -> Integers:
        return np.bincount(self.paper)

    @property
    def expected(self) -> Array:
        """The expected number of reviews of each person."""
        return self.chance.expected(np.bincount(self.pool).astype(np.float64))

    @property
    def spread(self) -> Array:
        """Standard deviation of a score by each person, over qualities, noise and errors of calibration."""
        slope, _, noise, slope_se, offset_se, _, noise_se = self.people.T
        return np.asarray(np.sqrt(slope**2 + slope_se**2 + offset_se**2 + noise**2 + noise_se**2))

    @property
    def least_sd(self) -> float:
        """The least standard deviation that divides anything."""
        return _LEAST_SD * float(self.spread.min())

    @property
    def half_step(self) -> float:
        """Half the distance of two grades: how far rounding can have moved a score."""
        return 0.0 if self.grid is None else float(np.diff(self.grid).min()) / 2


def conference_scores(cases: Sequence[PaperCase]) -> ConferenceScores:
    """All pools and scores of these papers, with equal pools stored once."""
    everyone = union([case.candidates for case in cases])
    people = dict[tuple[str, tuple[float, ...]], int]()
    shared, without = _SparseRows(), _SparseRows()
    committees, pools = dict[object, tuple[int, object]](), dict[object, int]()
    committee, pool = list[int](), list[int]()
    for case in cases:
        names, rows, chances, barred = _with_barred(case)
        row = committees.get((names, chances))
        if row is None or row[1] != rows:
            members = list(zip(names, rows, strict=True))
            seats = candidate_seats(len(names), len(case.scores), case.outsider)
            # Of those whom papers share, some may be in no pool at all.
            kept = [seat for seat in seats if names[seat] in everyone]
            each = seat_probabilities(chances, len(case.scores), case.outsider)
            columns = [people.setdefault(members[seat], len(people)) for seat in kept]
            row = shared.add(columns, each if len(each) == len(kept) else each[:1] * len(kept)), rows
            committees[names, chances] = row
        if (row[0], barred) not in pools:
            pools[row[0], barred] = len(pools)
            committee.append(row[0])
            gone = [people[names[at], rows[at]] for at in barred if names[at] in everyone]
            without.add(gone, chances[:1] * len(gone))
        pool.append(pools[row[0], barred])
    reviews = [len(case.scores) for case in cases]
    return ConferenceScores(
        people=np.array([parameters for _, parameters in people]),
        named=np.array([name != OUTSIDER for name, _ in people]),
        chance=PoolChances(shared.matrix(len(people)), np.array(committee), without.matrix(len(people))),
        pool=np.array(pool),
        score=np.concatenate([case.scores for case in cases]),
        paper=np.repeat(np.arange(len(cases)), reviews),
        grid=None if cases[0].grid is None else np.array(cases[0].grid),
    )


def _with_barred(
    case: PaperCase,
) -> tuple[Sequence[str], Sequence[tuple[float, ...]], tuple[float, ...], tuple[int, ...]]:
    """Names, calibration and chances of a committee, and who of it is not in the pool of a paper.

    Candidates with chances of their own, and `*`, are a committee of which nobody is left out.
    """
    (names, barred), (rows, others) = shared_part(case.candidates), shared_part(case.parameters)
    if not barred or barred != others or case.outsider is not None or len({*case.inclusion}) > 1:
        return case.candidates, case.parameters, case.inclusion, ()
    return names, rows, case.inclusion[:1] * len(names), barred


class _SparseRows:
    """Rows of a sparse matrix, one after the other."""

    def __init__(self) -> None:
        self.columns, self.values, self.starts = list[int](), list[float](), [0]

    def add(self, columns: Sequence[int], values: Sequence[float]) -> int:
        """The number of a new row with these values in these columns."""
        self.columns += columns
        self.values += values
        self.starts.append(len(self.columns))
        return len(self.starts) - 2

    def matrix(self, columns: int) -> csr_array:
        """All rows."""
        data, at = np.array(self.values, dtype=np.float64), np.array(self.columns, dtype=np.int64)
        return csr_array((data, at, self.starts), shape=(len(self.starts) - 1, columns))


ScoreFunction = Callable[[Array, Array], tuple[Array, Array]]
"""A function of a score, by its mean and variance if the score before rounding is N(center, sd^2).

It returns the variance and not the mean square: for large scores, subtracting the squared mean would cancel
all digits.
"""


def score_value(data: ConferenceScores) -> ScoreFunction:
    """The score, rounded if the conference has a grid."""
    if data.grid is None:
        return lambda center, sd: (center, sd**2)
    return _on_grid(data.grid, data.grid)


def squared_deviation(data: ConferenceScores, about: float) -> ScoreFunction:
    """The squared deviation of a score from `about`, rounded if the conference has a grid."""
    if data.grid is not None:
        return _on_grid((data.grid - about) ** 2, data.grid)

    def moments(center: Array, sd: Array) -> tuple[Array, Array]:
        d, v = (center - about) ** 2, sd**2
        return d + v, 4 * d * v + 2 * v**2

    return moments


def below(point: float) -> ScoreFunction:
    """1 for scores below `point`, else 0."""

    def moments(center: Array, sd: Array) -> tuple[Array, Array]:
        chance: Array = ndtr((point - center) / sd)
        return chance, chance * (1.0 - chance)

    return moments


def _on_grid(value: Array, grid: Array) -> ScoreFunction:
    """`value[level]` of a score on a grid: the sum of the steps at all edges below the score."""
    rise, edges = value - value[0], _rounding_edges(grid)

    def moments(center: Array, sd: Array) -> tuple[Array, Array]:
        mean, square = np.zeros(center.shape), np.zeros(center.shape)
        for edge, low, high in zip(edges, rise[:-1], rise[1:], strict=True):
            above = ndtr((center - edge) / sd)
            mean += (high - low) * above
            square += (high**2 - low**2) * above
        return value[0] + mean, np.maximum(square - mean**2, 0.0)

    return moments


def _rounding_edges(grid: Array) -> Array:
    return np.asarray((grid[1:] + grid[:-1]) / 2)


def predicted_mean(data: ConferenceScores, measure: ScoreFunction) -> tuple[float, float]:
    """The predicted mean of a function over all scores, and the standard deviation of that mean.

    A person's scores are taken as normal before rounding; they are, except for errors of the slope.
    """
    by_person, _ = measure(data.people[:, 1], data.spread)
    mean = float(data.expected @ by_person) / data.score.size
    variance = _paper_variance(data, measure)[data.pool].sum() + _calibration_variance(data, measure)
    return mean, float(np.sqrt(variance)) / data.score.size


def _paper_variance(data: ConferenceScores, measure: ScoreFunction) -> Array:
    """For each pool, the variance of the sum of a function over the reviews of a paper.

    By the law of total variance over the quality: the expected variance given the quality, and the variance
    of the expected sum. The former consists of the reviewers' own variances and of the variance from who the
    reviewers are. The latter follows Hájek's formula for sampling with unequal probabilities p without
    replacement, `sum p(1-p) (g - mean g)^2` (Ann. Math. Stat. 35, 1964).
    """
    quality, weight = np.polynomial.hermite_e.hermegauss(_QUADRATURE_NODES)
    weight = weight / weight.sum()
    center, sd = _moments_given_quality(data.people, quality)
    mean, variance = measure(center, sd)
    p = data.chance
    # A certain candidate may have a chance above 1 by a rounding error.
    uncertain = p.map(lambda chance: chance * np.maximum(1.0 - chance, 0.0))
    within_person = p @ variance
    total_uncertain = np.maximum(uncertain.sum(), np.finfo(float).tiny)[:, None]
    # Centered first: the difference of two large sums of squares would lose all digits.
    centered = mean - mean.mean(axis=0)
    between_people = uncertain @ centered**2 - (uncertain @ centered) ** 2 / total_uncertain
    total = p @ mean
    over_quality = (total - (total @ weight)[:, None]) ** 2 @ weight
    return np.asarray((within_person + np.maximum(between_people, 0.0)) @ weight + over_quality)


def _moments_given_quality(people: Array, quality: Array) -> tuple[Array, Array]:
    """`[person, quality]`: mean and standard deviation of a score before rounding."""
    slope, offset, noise, slope_se, offset_se, correlation, noise_se = people.T[:, :, None]
    shared = 2 * correlation * slope_se * offset_se * quality
    variance = (slope_se * quality) ** 2 + shared + offset_se**2 + noise**2 + noise_se**2
    return slope * quality + offset, np.sqrt(variance)


def _calibration_variance(data: ConferenceScores, measure: ScoreFunction) -> float:
    """Variance of the sum from errors of the calibration, which all reviews of a person share.

    By the delta method: each parameter's contribution is half the change of the expected sum from one
    standard error below to one above. The people behind `*` differ, so they share no error.
    """
    slope, offset, noise, slope_se, offset_se, _, _ = data.people.T
    expected = data.expected * data.named
    # First the offset, then the slope. Whatever the slope, a score varies at least by its noise.
    low, high = (measure(offset + step * offset_se, data.spread)[0] for step in (-1, 1))
    total = float(np.sum((expected * (high - low) / 2) ** 2))
    moved = slope + slope_se * np.array([[-1.0], [1.0]])
    spreads = np.sqrt(np.maximum(data.spread**2 + moved**2 - slope**2, noise**2))
    low, high = (measure(offset, spread)[0] for spread in spreads)
    return total + float(np.sum((expected * (high - low) / 2) ** 2))


def _largest_cdf_difference(data: ConferenceScores) -> tuple[float, bool]:
    """The largest difference of the two distribution functions, and whether any is large and significant.

    They are compared between observed scores, so that undeclared rounding does not count. One paper may have
    rare scores, so the share of the scores that one paper has is allowed for.
    """
    shape, bent, one_paper = 0.0, False, float(data.reviews.max()) / data.score.size
    for point in comparison_points(data):
        chance, deviation = predicted_mean(data, below(point))
        difference = abs(float((data.score < point).mean()) - chance)
        shape = max(shape, difference)
        bent |= difference - one_paper > max(_SHAPE, _CHANCE * deviation)
    return shape, bent


def comparison_points(data: ConferenceScores) -> Array:
    """Points between grades, or between observed scores: all of them if few, else evenly spaced by rank."""
    if data.grid is not None:
        between = _rounding_edges(data.grid)
    else:
        ordered = np.sort(data.score)
        steps = np.flatnonzero(np.diff(ordered))
        ranks = np.linspace(0, ordered.size, _POINTS + 2)[1:-1]
        near = np.minimum(np.searchsorted(steps, ranks), steps.size - 1)
        chosen = steps[np.unique(near)] if steps.size else steps
        between = (ordered[chosen] + ordered[chosen + 1]) / 2
    spread = np.linspace(0, between.size - 1, min(_POINTS, between.size))
    return np.asarray(between[np.unique(spread.round().astype(int))])


def slope_on_predictions(data: ConferenceScores) -> tuple[float | None, float]:
    """The weighted least-squares slope of papers' mean scores on those predicted, and its standard error."""
    measure = score_value(data)
    by_person, _ = measure(data.people[:, 1], data.spread)
    reviews, middle = data.reviews, float(data.score.mean())
    predicted = (data.chance @ (by_person - middle))[data.pool] / reviews
    weight = reviews**2 / np.maximum(_paper_variance(data, measure)[data.pool], data.least_sd**2)
    observed = np.bincount(data.paper, data.score - middle) / reviews
    centered = predicted - np.average(predicted, weights=weight)
    sum_of_squares = float(weight @ centered**2)
    # Predictions that differ by so little, in standard errors of a paper's mean score, say nothing about the
    # slope. They may be roundoff, which the weights of nearly noiseless reviewers would make look large.
    if sum_of_squares <= max(
        _EQUAL_POOLS * reviews.size, float(weight.sum()) * roundoff(np.append(by_person, middle)) ** 2
    ):
        return None, np.inf
    return float((weight * centered) @ observed) / sum_of_squares, sum_of_squares**-0.5


def _log_ratio_if_mirrored(cases: Sequence[PaperCase], data: ConferenceScores, drift: float) -> float | None:
    """Log likelihood ratio of the scores if all offsets are mirrored, against the offsets as they are.

    Mirrored offsets have two forms: mirrored at their mean, or also shifted so that the mean score fits, for
    which the fitted shift pays 1, as in Akaike's criterion. Unmirrored offsets may be shifted too, for which
    they pay the amount that counts as evidence. A mere shift is therefore not taken for mirroring.

    If the calibration is right, the result exceeds c at most about as often as a normal number exceeds
    sqrt(2c), whatever the size of the conference.
    """
    if np.ptp(data.people[:, 1]) == 0.0:
        return None
    center = float(data.expected @ data.people[:, 1]) / data.score.size
    papers = _sampled_papers(cases)
    as_calibrated = np.array([case.log_evidence for case in papers])
    shifted = np.array([_with_offsets(case, 1.0, drift).log_evidence for case in papers])
    mirrored = [
        np.array([_with_offsets(case, -1.0, 2 * center + shift).log_evidence for case in papers])
        for shift in (0.0, drift)
    ]
    about_mean, matched = (_sum_of_log_ratios(offsets, as_calibrated) for offsets in mirrored)
    return float(np.logaddexp(about_mean, matched - 1) - np.log(2)) - max(
        0.0, _sum_of_log_ratios(shifted, as_calibrated) - _EVIDENCE
    )


def _sum_of_log_ratios(log_likelihood: Array, reference: Array) -> float:
    """The sum over papers of log ratios, each clipped so that no single paper decides.

    A paper that is impossible under both (-inf - -inf) says nothing.
    """
    with np.errstate(invalid="ignore"):
        log_ratio = np.clip(log_likelihood - reference, -_MOST_PER_PAPER, _MOST_PER_PAPER)
    return float(np.nan_to_num(log_ratio).sum())


def _sampled_papers(cases: Sequence[PaperCase]) -> Sequence[PaperCase]:
    """All papers of a small conference, else some that are evenly spread."""
    pool = sum(len(case.candidates) for case in cases) / len(cases)
    most = max(1, min(len(cases), _MOST_PAPERS, int(_MOST_CANDIDATES / pool)))
    return [cases[i] for i in np.unique(np.linspace(0, len(cases) - 1, most).astype(int))]


def _with_offsets(case: PaperCase, sign: float, by: float) -> PaperCase:
    """The paper if each candidate's offset were `sign * offset + by`."""
    rows = tuple((row[0], sign * row[1] + by, *row[2:]) for row in case.parameters)
    return replace(case, parameters=rows)


def impossible_scores(data: ConferenceScores) -> int:
    """The number of scores above or below those of every candidate of their paper."""
    offset, spread = data.people[:, 1], data.spread
    lowest = data.chance.least(offset - _IMPOSSIBLE * spread)[data.pool][data.paper]
    highest = -data.chance.least(-offset - _IMPOSSIBLE * spread)[data.pool][data.paper]
    low, high = data.score - data.half_step, data.score + data.half_step
    if data.grid is not None:
        low = np.where(data.score == data.grid[0], -np.inf, low)
        high = np.where(data.score == data.grid[-1], np.inf, high)
    return int(((low > highest) | (high < lowest)).sum())


def outlying_candidates(data: ConferenceScores, sd: float) -> Integers:
    """Candidates whose scores would hardly ever fall within the observed range, or vary by more than it.

    A named candidate is taken to be one of the people who gave the scores. `*` stands for nobody in
    particular: it is an outlier only if the observed scores should have included some outside the range, or
    if it gives none on the grid.
    """
    pad = data.half_step + (sd if data.score.size < _FEW_SCORES else 0.0)
    low, high = data.score.min() - pad, data.score.max() + pad
    inside, spread = _chance_between(data, low, high), data.spread
    wide = (spread > high - low) & (data.score.size >= _FEW_SCORES)
    missed = np.exp(-data.expected * (1.0 - inside)) < _OUTLYING
    if data.grid is not None:
        missed |= (
            _chance_between(data, data.grid[0] - data.half_step, data.grid[-1] + data.half_step) < _OUTLYING
        )
    return np.flatnonzero(((inside < _OUTLYING) | wide) & (data.named | missed))


def _chance_between(data: ConferenceScores, low: float, high: float) -> Array:
    """The chance that each person's score lies between two numbers before it is rounded."""
    offset, spread = data.people[:, 1], data.spread
    return np.asarray(ndtr((high - offset) / spread) - ndtr((low - offset) / spread))


@dataclass(frozen=True)
class _Significant:
    """Which statistics are both large and significant."""

    shifted: bool
    stretched: bool
    bent: bool
    astray: bool


def _with_verdict(
    check: CalibrationCheck, flags: _Significant, data: ConferenceScores, odd: Integers, sign: float
) -> CalibrationCheck:
    share = check.impossible / data.score.size
    hopeless = (
        (flags.shifted and abs(check.shift) > _HOPELESS_SHIFT)
        or (flags.stretched and not 1 / _HOPELESS_STRETCH < check.stretch < _HOPELESS_STRETCH)
        or (check.impossible >= _HOPELESS_COUNT and share > _HOPELESS_SHARE)
    )
    check = replace(check, verdict=HOPELESS if hopeless else DOUBTFUL)
    notes = _notes(check, flags, data, odd, sign)
    return replace(check, verdict=check.verdict if hopeless or notes else FITS, notes=notes)


def _notes(
    check: CalibrationCheck, flags: _Significant, data: ConferenceScores, odd: Integers, sign: float
) -> tuple[str, ...]:
    """The misfits in words, with the probable mistake behind each."""
    off = flags.shifted or flags.stretched
    # One outlying row of the calibration distorts every other statistic, so it is reported alone; the others
    # can be judged once it is fixed.
    if 0 < odd.size <= len(data.people) / 2 and not (
        off and (_far_from_most_candidates(data) or _slopes_and_offsets_swapped(data, sign))
    ):
        return (_outlier_note(data.people[odd], data, sign),)
    if off:
        return (_mean_and_sd_note(check, flags, data, sign),)
    notes = []
    if flags.astray and (check.following or 0.0) > -_FOLLOWING:
        notes.append(
            "papers whose pools have high offsets do not get higher scores: check that each row of the "
            "reviewers' calibration, and of the pools, belongs to the person it names"
        )
    elif flags.astray or _looks_mirrored(check):
        notes.append(
            f"the scores are {_times_text(check.mirrored)} likelier if the offsets are mirrored: an offset "
            "is the score a reviewer gives to an average paper, so lenient reviewers have high ones; check "
            "the sign of the offsets, and `better`"
        )
    if check.impossible:
        notes.append(
            f"{count(check.impossible, 'score')} so far out that no candidate of the paper gives it: "
            "check the scores for typos, and the pools"
        )
    if flags.bent and not notes:
        notes.append(_mean_and_sd_note(check, flags, data, sign))
    return tuple(notes)


def _looks_mirrored(check: CalibrationCheck) -> bool:
    """Whether mirrored offsets explain the scores better, and papers do not follow their pools."""
    follows = check.following is not None and check.following >= _FOLLOWING
    return check.mirrored is not None and check.mirrored > _EVIDENCE and not follows


def _far_from_most_candidates(data: ConferenceScores) -> bool:
    """Whether the scores are far from those of most candidates, which a few outlying rows cannot cause."""
    own, people = float(np.median(data.spread)), _sd_from_quartiles(data.people[:, 1])
    away = abs(float(np.median(data.score) - np.median(data.people[:, 1])))
    usual = float(np.hypot(own, people))
    return away > _HOPELESS_SHIFT * usual or _sd_from_quartiles(data.score) > _HOPELESS_STRETCH * usual


def _sd_from_quartiles(values: Array) -> float:
    """The standard deviation that a normal distribution with these quartiles has."""
    low, high = np.quantile(values, (0.25, 0.75))
    return float(high - low) / 1.349


def _slopes_and_offsets_swapped(data: ConferenceScores, sign: float) -> bool:
    """Whether mean and spread of the scores are right once slopes and offsets are exchanged."""
    slope, offset = sign * data.people[:, 1], sign * data.people[:, 0]
    if (slope <= 0).any():
        return False
    exchanged = replace(data, people=np.column_stack([slope, offset, data.people[:, 2:]]))
    mean, mean_chance = predicted_mean(exchanged, score_value(exchanged))
    variance, _ = predicted_mean(exchanged, squared_deviation(exchanged, mean))
    sd = max(float(np.sqrt(variance)), exchanged.least_sd)
    stretch, shift = float(data.score.std()) / sd, abs(float(data.score.mean()) - mean)
    return shift < max(_SHIFT * sd, _CHANCE * mean_chance) and 1 / _STRETCH < stretch < _STRETCH


def _mean_and_sd_note(
    check: CalibrationCheck, flags: _Significant, data: ConferenceScores, sign: float
) -> str:
    text = (
        f"the calibration {'does' if check.verdict == HOPELESS else 'may'} not fit the scores: it predicts a "
        f"mean of {check.predicted_mean:.2f} and a standard deviation of {check.predicted_sd:.2f}, and the "
        f"scores have {check.observed_mean:.2f} and {check.observed_sd:.2f}"
    )
    if flags.shifted or flags.stretched:
        return f"{text}. {_probable_cause(check, flags, data, sign)}"
    return f"{text}; the shares of low and high scores differ by up to {100 * check.shape:.0f} in 100"


def _probable_cause(check: CalibrationCheck, flags: _Significant, data: ConferenceScores, sign: float) -> str:
    """The probable cause of a mean or standard deviation that does not fit."""
    offset, noise = sign * data.people[:, 1], data.people[:, 2]
    if np.ptp(data.score) == 0.0:
        return f"Here {_range_text(data, sign)}: is that the right column?"
    if _slopes_and_offsets_swapped(data, sign):
        return "Are the columns slope and offset swapped?"
    within = data.score.min() <= np.median(data.people[:, 1]) <= data.score.max()
    if within and np.median(noise) > _scale_width(data):
        return f"Most have {_noise_text(float(np.median(noise)), data, sign)}"
    if flags.shifted and abs(np.median(offset)) < 0.5 * check.predicted_sd < abs(check.observed_mean) / 2:
        return (
            "The offsets look centered at 0; an offset is the score a reviewer gives to an average paper, in "
            "the units of the scores"
        )
    low, high = _two_sd_range(data, sign)
    return (
        f"It looks like one for scores from about {low:.1f} to {high:.1f}; {_range_text(data, sign)}: was it "
        "made for another scale, year or question?"
    )


def _two_sd_range(data: ConferenceScores, sign: float) -> tuple[float, float]:
    """Two standard deviations about the mean of candidates' scores before rounding."""
    offset, weight = sign * data.people[:, 1], data.expected
    mean = float(np.average(offset, weights=weight))
    sd = float(np.sqrt(np.average((offset - mean) ** 2 + data.spread**2, weights=weight)))
    return mean - 2 * sd, mean + 2 * sd


def _range_text(data: ConferenceScores, sign: float) -> str:
    low, high = sorted((sign * float(data.score.min()), sign * float(data.score.max())))
    return f"all scores are {low:g}" if low == high else f"the scores go from {low:g} to {high:g}"


def _scale_width(data: ConferenceScores) -> float:
    """The range of the grid, or of the observed scores."""
    return float(np.ptp(data.score if data.grid is None else data.grid))


def _noise_text(noise: float, data: ConferenceScores, sign: float) -> str:
    return (
        f"a noise of about {noise:.3g}, larger than the whole scale ({_range_text(data, sign)}); noise is a "
        "standard deviation, in the units of the scores"
    )


def _outlier_note(rows: Array, data: ConferenceScores, sign: float) -> str:
    slope, offset, noise = rows[0, 0], sign * rows[0, 1], rows[0, 2]
    more = "" if len(rows) == 1 else f", the first of {len(rows)} such candidates,"
    text = (
        f"a candidate with slope {slope:g}, offset {offset:g} and noise {noise:g}{more} would not give "
        "scores like these"
    )
    if noise > _scale_width(data) > 0:
        return f"{text}: {_noise_text(noise, data, sign)}"
    return f"{text} ({_range_text(data, sign)}): a typo in the calibration?"


def _times_text(log: float | None) -> str:
    """How many times likelier, in words.

    >>> _times_text(3.0), _times_text(40.0), _times_text(None)
    ('20 times', 'over 100,000 times', 'far')
    """
    if log is None or log < 0:
        return "far"
    return f"{np.exp(log):,.0f} times" if log < 12 else "over 100,000 times"
