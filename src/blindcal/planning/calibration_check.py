"""Posterior predictive check: do pools and calibration predict the scores of a conference?

A certificate is true of the model that calibration and pools describe. This check compares that model with
the scores, from public data alone: nothing here knows a true reviewer. The model takes each score to come
from candidate j of its paper's pool with probability `inclusion_j / reviews`. Qualities are N(0, 1), and
papers are independent. Compared are mean and spread; whether the scores are likelier with strict and lenient
reviewers exchanged; and which scores and which candidates are like no others.

A misfit counts only if it is both large and significant. A large conference is not blamed for a small
misfit, nor a small conference for bad luck.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy.special import ndtr

from blindcal.checks import Array, Integers
from blindcal.errors import InputError
from blindcal.io.cells import count
from blindcal.io.tables import data_frame
from blindcal.pools.candidates import OUTSIDER, shared_part
from blindcal.posterior.paper import PaperCase
from blindcal.reviewers.base import Booleans

FITS, DOUBTFUL, HOPELESS = "fits", "doubtful", "does not fit"

# Significance: so many of its own standard deviations, which chance exceeds once in 15,000 times.
_CHANCE = 4.0
# Size, for a verdict of "doubtful": smaller misfits hardly change a decision. A shift of the mean in standard
# deviations of a score, a ratio of standard deviations or its inverse.
_SHIFT, _STRETCH = 0.3, 1.25
# Size, for "does not fit": most scores lie outside the range that is predicted, or more than this share of
# them, and at least this many, are impossible. One or two may be typos.
_HOPELESS_SHIFT, _HOPELESS_STRETCH = 2.0, 2.5
_HOPELESS_SHARE, _HOPELESS_COUNT = 0.02, 3

# A score is impossible if it is this many standard deviations from every candidate: one in 10^9 by chance.
_IMPOSSIBLE = 6.0
# A candidate is an outlier if a score of theirs falls within the range of all scores with less than this
# chance. The observed range of fewer scores than `_FEW_SCORES` is too short, and is widened.
_OUTLYING, _FEW_SCORES = 1e-3, 30

# Evidence for mirrored offsets, in natural logs: chance gives this much in one of 140 conferences (a normal
# number exceeds sqrt(2 * 3) = 2.45 that often).
_EVIDENCE = 3.0
# No paper contributes more than this: a single typo must not decide.
_MOST_PER_PAPER = 5.0
# The evidence is computed from this many papers, with this many candidates together: about a second's work.
_MOST_PAPERS, _MOST_CANDIDATES = 120, 6_000

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
    # Log likelihood ratio of the scores if strict and lenient reviewers are exchanged; None if all offsets
    # are equal
    mirrored: float | None
    impossible: int  # number of scores that no candidate gives
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


def check_calibration(
    cases: Sequence[PaperCase], better: str = "high", *, despite_misfit: bool = True
) -> CalibrationCheck:
    """How well the pools and the calibration of these papers predict their scores.

    `better`: the better end of the scale. With "low", the scores and offsets of the cases are negated ones;
    the result states them on the scale of the reviews. A calibration that does not fit at all is refused
    unless `despite_misfit`.
    """
    check = _check_calibration(tuple(cases), better)
    if check.verdict == HOPELESS and not despite_misfit:
        problems = "; ".join(check.notes)
        raise InputError(
            f"{problems}{'' if problems.endswith('?') else '.'} Whatever is planned or certified would not "
            "be about these scores; to continue anyway, give `despite_misfit`"
        )
    return check


@lru_cache(maxsize=2)
def _check_calibration(cases: tuple[PaperCase, ...], better: str) -> CalibrationCheck:
    """The check, computed once per conference: `decide` needs it before deciding and in the certificate."""
    data, sign = conference_scores(cases), -1.0 if better == "low" else 1.0
    predicted = data.predicted
    difference, stretch = float(data.score.mean()) - predicted.mean, float(data.score.std()) / predicted.sd
    outliers = outlying_candidates(data)
    result = CalibrationCheck(
        predicted_mean=sign * predicted.mean,
        observed_mean=sign * (predicted.mean + difference),
        predicted_sd=predicted.sd,
        observed_sd=stretch * predicted.sd,
        shift=sign * difference / predicted.sd,
        stretch=stretch,
        mirrored=_log_ratio_if_mirrored(cases, data, difference),
        impossible=impossible_scores(data),
        odd=outliers.size,
        verdict=FITS,
        notes=(),
    )
    hopeless = (
        (_shifted(data) and abs(result.shift) > _HOPELESS_SHIFT)
        or (_stretched(data) and not 1 / _HOPELESS_STRETCH < stretch < _HOPELESS_STRETCH)
        or result.impossible >= max(_HOPELESS_COUNT, _HOPELESS_SHARE * data.score.size)
    )
    result = replace(result, verdict=HOPELESS if hopeless else DOUBTFUL)
    notes = _notes(result, data, outliers, sign)
    return replace(result, verdict=result.verdict if hopeless or notes else FITS, notes=notes)


# --- what pools and calibration predict


@dataclass(frozen=True)
class Predicted:
    """What is expected of all scores together."""

    mean: float  # mean of a score
    sd: float  # standard deviation of a score
    mean_chance: float  # standard deviation that chance gives the observed mean
    variance_chance: float  # standard deviation that chance gives the observed variance


@dataclass(frozen=True, eq=False)
class ConferenceScores:
    """All candidates and all scores of a conference, as arrays.

    `people[person]` is a row of the calibration, `named[person]` is false for `*`, and `share[person]` is the
    expected share of the reviews. `reviews[paper]` counts the scores.
    """

    people: Array
    named: Booleans
    share: Array
    score: Array
    reviews: Integers
    grid: Array | None

    @property
    def spread(self) -> Array:
        """Standard deviation of a score by each person, over qualities, noise and errors of calibration."""
        slope, _, noise, slope_se, offset_se, _, noise_se = self.people.T
        return np.asarray(np.sqrt(slope**2 + slope_se**2 + offset_se**2 + noise**2 + noise_se**2))

    @property
    def half_step(self) -> float:
        """Half the distance of two grades: how far rounding can have moved a score."""
        return 0.0 if self.grid is None else float(np.diff(self.grid).min()) / 2

    @cached_property
    def predicted(self) -> Predicted:
        """Moments of the mixture of everybody's scores, taken as normal before rounding.

        Chance counts the scores of one paper as one, since they share its quality: at most they vary so much.
        Errors of the calibration, which all reviews of a person share, are added by the delta method; the
        people behind `*` differ and share none.
        """
        slope, offset, _, slope_se, offset_se, _, _ = self.people.T
        spread = self.spread
        if self.grid is None:
            mean = float(self.share @ offset)
            d, v = (offset - mean) ** 2, spread**2
            variance, fourth = float(self.share @ (d + v)), float(self.share @ (d**2 + 6 * d * v + 3 * v**2))
        else:
            edges = (self.grid[1:] + self.grid[:-1]) / 2
            below = self.share @ ndtr((edges - offset[:, None]) / spread[:, None])
            level = np.diff(np.concatenate([[0.0], below, [1.0]]))
            mean = float(level @ self.grid)
            variance, fourth = (float(level @ (self.grid - mean) ** power) for power in (2, 4))
        papers = float((self.reviews**2).sum()) / self.score.size**2
        known = self.share * self.named
        by_offset = float(((known * offset_se) ** 2).sum())
        by_both = ((known * (offset - mean) * offset_se) ** 2 + (known * slope * slope_se) ** 2).sum()
        return Predicted(
            mean,
            max(float(np.sqrt(variance)), _LEAST_SD * float(spread.min())),
            float(np.sqrt(papers * variance + by_offset)),
            float(np.sqrt(papers * max(fourth - variance**2, 0.0) + 4.0 * by_both)),
        )


def conference_scores(cases: Sequence[PaperCase]) -> ConferenceScores:
    """All candidates and scores of these papers."""
    expected = _expected_reviews(cases)
    reviews = np.array([len(case.scores) for case in cases])
    return ConferenceScores(
        people=np.array([row for _, row in expected]),
        named=np.array([name != OUTSIDER for name, _ in expected]),
        share=np.array([*expected.values()]) / reviews.sum(),
        score=np.concatenate([case.scores for case in cases]),
        reviews=reviews,
        grid=None if cases[0].grid is None else np.array(cases[0].grid),
    )


_Person = tuple[str, tuple[float, ...]]


def _expected_reviews(cases: Sequence[PaperCase]) -> dict[_Person, float]:
    """The expected number of reviews of each candidate; papers of one committee are added up together."""
    expected, barred = defaultdict[_Person, float](float), defaultdict[_Person, float](float)
    committees = Counter[tuple[tuple[str, ...], tuple[tuple[float, ...], ...], float]]()
    for case in cases:
        (names, without), (rows, others) = shared_part(case.candidates), shared_part(case.parameters)
        if without == others and len({*case.inclusion}) == 1:
            committees[names, rows, case.inclusion[0]] += 1
            for index in without:
                barred[names[index], rows[index]] += case.inclusion[0]
        else:
            people = zip(case.candidates, case.parameters, strict=True)
            for person, chance in zip(people, case.inclusion, strict=True):
                expected[person] += chance
    for (names, rows, chance), papers in committees.items():
        for person in zip(names, rows, strict=True):
            expected[person] += papers * chance
    # Somebody with a conflict on every paper is no candidate, whatever rounding leaves.
    left = {person: number - barred[person] for person, number in expected.items()}
    return {person: number for person, number in left.items() if number > 1e-9 * expected[person]}


def _shifted(data: ConferenceScores) -> bool:
    """Whether the mean is off, by much and beyond chance."""
    predicted = data.predicted
    return abs(float(data.score.mean()) - predicted.mean) > max(
        _SHIFT * predicted.sd, _CHANCE * predicted.mean_chance
    )


def _stretched(data: ConferenceScores) -> bool:
    """Whether the spread is off, by much and beyond chance."""
    predicted, variance = data.predicted, float(data.score.var())
    large = not predicted.sd / _STRETCH < np.sqrt(variance) < predicted.sd * _STRETCH
    return large and abs(variance - predicted.sd**2) > _CHANCE * predicted.variance_chance


def _off(data: ConferenceScores) -> bool:
    """Whether mean or spread is."""
    return _shifted(data) or _stretched(data)


# --- mirrored offsets


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
    center = float(data.share @ data.people[:, 1])
    papers = _sampled_papers(cases)
    as_calibrated = np.array([case.log_evidence for case in papers])
    shifted = _log_ratio(papers, as_calibrated, 1.0, drift)
    about_mean, matched = (
        _log_ratio(papers, as_calibrated, -1.0, 2 * center + shift) for shift in (0.0, drift)
    )
    return float(np.logaddexp(about_mean, matched - 1) - np.log(2)) - max(0.0, shifted - _EVIDENCE)


def _log_ratio(papers: Sequence[PaperCase], reference: Array, sign: float, by: float) -> float:
    """The log likelihood ratio if each offset were `sign * offset + by`, summed over papers.

    Each is clipped so that no single paper decides. A paper that is impossible under both (-inf - -inf) says
    nothing.
    """
    moved = (
        replace(case, parameters=tuple((row[0], sign * row[1] + by, *row[2:]) for row in case.parameters))
        for case in papers
    )
    with np.errstate(invalid="ignore"):
        ratio = np.array([case.log_evidence for case in moved]) - reference
    return float(np.nan_to_num(np.clip(ratio, -_MOST_PER_PAPER, _MOST_PER_PAPER)).sum())


def _sampled_papers(cases: Sequence[PaperCase]) -> Sequence[PaperCase]:
    """All papers of a small conference, else some that are evenly spread."""
    pool = sum(len(case.candidates) for case in cases) / len(cases)
    most = max(1, min(len(cases), _MOST_PAPERS, int(_MOST_CANDIDATES / pool)))
    return [cases[i] for i in np.unique(np.linspace(0, len(cases) - 1, most).astype(int))]


# --- outliers among scores and candidates


def impossible_scores(data: ConferenceScores) -> int:
    """The number of scores above or below those of every candidate."""
    offset, reach = data.people[:, 1], _IMPOSSIBLE * data.spread
    low, high = data.score - data.half_step, data.score + data.half_step
    if data.grid is not None:
        low = np.where(data.score == data.grid[0], -np.inf, low)
        high = np.where(data.score == data.grid[-1], np.inf, high)
    return int(((low > (offset + reach).max()) | (high < (offset - reach).min())).sum())


def outlying_candidates(data: ConferenceScores) -> Integers:
    """Candidates whose scores would hardly ever fall within the observed range, or vary by more than it.

    A named candidate is taken to be one of the people who gave the scores. `*` stands for nobody in
    particular: it is an outlier only if the observed scores should have included some outside the range, or
    if it gives none on the grid.
    """
    pad = data.half_step + (data.predicted.sd if data.score.size < _FEW_SCORES else 0.0)
    low, high = data.score.min() - pad, data.score.max() + pad
    inside, spread = _chance_between(data, low, high), data.spread
    wide = (spread > high - low) & (data.score.size >= _FEW_SCORES)
    missed = np.exp(-data.score.size * data.share * (1.0 - inside)) < _OUTLYING
    if data.grid is not None:
        ends = data.grid[0] - data.half_step, data.grid[-1] + data.half_step
        missed |= _chance_between(data, *ends) < _OUTLYING
    return np.flatnonzero(((inside < _OUTLYING) | wide) & (data.named | missed))


def _chance_between(data: ConferenceScores, low: float, high: float) -> Array:
    """The chance that each person's score lies between two numbers before it is rounded."""
    below_high, below_low = (ndtr((end - data.people[:, 1]) / data.spread) for end in (high, low))
    return np.asarray(below_high - below_low)


# --- the misfits in words


def _notes(check: CalibrationCheck, data: ConferenceScores, odd: Integers, sign: float) -> tuple[str, ...]:
    """The misfits in words, with the probable mistake behind each."""
    off, people = _off(data), len(data.people)
    # Outlying rows distort every other statistic, so that they are reported alone if the others fit.
    if 0 < odd.size <= people / 2 and not (off and _off(_without(data, odd))):
        return (_outlier_note(data.people[odd], data, sign),)
    if off:
        # Two standard deviations about the mean of candidates' scores before rounding.
        plain = replace(data, grid=None).predicted
        low, high = sorted(sign * (plain.mean + side * 2 * plain.sd) for side in (-1, 1))
        return (
            f"the calibration {'does' if check.verdict == HOPELESS else 'may'} not fit the scores: it "
            f"predicts a mean of {check.predicted_mean:.2f} and a standard deviation of "
            f"{check.predicted_sd:.2f}, and the scores have {check.observed_mean:.2f} and "
            f"{check.observed_sd:.2f}. It looks like one for scores from about {low:.1f} to {high:.1f}; "
            f"{_range_text(data, sign)}: was it made for another scale, year or question, are its offsets "
            "centered at 0, or slopes and offsets swapped?",
        )
    notes = []
    if check.mirrored is not None and check.mirrored > _EVIDENCE:
        notes.append(
            f"the scores are {_times_text(check.mirrored)} likelier if the offsets are mirrored: an offset "
            "is the score a reviewer gives to an average paper, so lenient reviewers have high ones; check "
            "the sign of the offsets, and `better`"
        )
    if check.impossible:
        notes.append(
            f"{count(check.impossible, 'score')} so far out that no candidate gives it: check the scores for "
            "typos, and the pools"
        )
    return tuple(notes)


def _without(data: ConferenceScores, people: Integers) -> ConferenceScores:
    """The same scores, expected of the other candidates alone."""
    share, named = np.delete(data.share, people), np.delete(data.named, people)
    rows = np.delete(data.people, people, axis=0)
    return replace(data, people=rows, named=named, share=share / share.sum())


def _range_text(data: ConferenceScores, sign: float) -> str:
    low, high = sorted((sign * float(data.score.min()), sign * float(data.score.max())))
    return f"all scores are {low:g}" if low == high else f"the scores go from {low:g} to {high:g}"


def _outlier_note(rows: Array, data: ConferenceScores, sign: float) -> str:
    slope, offset, noise = rows[0, 0], sign * rows[0, 1], rows[0, 2]
    more = "" if len(rows) == 1 else f", the first of {len(rows)} such candidates,"
    return (
        f"a candidate with slope {slope:g}, offset {offset:g} and noise {noise:g}{more} would not give "
        f"scores like these ({_range_text(data, sign)}): a typo in the calibration?"
    )


def _times_text(log: float) -> str:
    """How many times likelier, in words.

    >>> _times_text(3.0), _times_text(40.0)
    ('20 times', 'over 100,000 times')
    """
    return f"{np.exp(log):,.0f} times" if log < 12 else "over 100,000 times"
