"""The guard against reuse: a calibration is refused for the very reviews that it was fitted on.

Such a calibration depends on who wrote the reviews, and gives that away. A fit keeps digests of the reviews
it used in a file beside its table; a calibration made by hand is known by offsets that are the reviewers' own
means. The digests are CONFIDENTIAL: whoever guesses a review can check the guess by them.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite
from operator import itemgetter
from typing import Any

import numpy as np
from scipy.special import betainc, gammainc, ndtr

from blindcal.checks import Array
from blindcal.errors import InputError, Problem
from blindcal.io.atomic_files import digest, is_path, read_bytes, read_json, source_name
from blindcal.io.cells import count, loose_id, number_text
from blindcal.io.tables import StrPath, input_error
from blindcal.reviewers.calibration import Scale
from blindcal.reviews import Reviews

# So rarely is a calibration refused that has nothing to do with the reviews, and so rarely is there a remark.
FALSE_ALARM, _REMARK_RATE = 1e-6, 0.01
_FORMAT = 1
_ID_DIGITS = 16  # of a digest: 64 bits tell ids apart
_PRIOR_SCORES = 2.0  # so many of everybody's scores count beside one's own where chance is taken
_WHY = (
    "a calibration fitted on the reviews being decided gives their reviewers away; fit on other conferences "
    "alone"
)


@dataclass(frozen=True)
class Fingerprint:
    """The reviews of one conference, by digests of their ids."""

    conference: str
    # Digests of the paper's id and of the reviewer's, and the score. Ids are as `loose_id` has them: 007 is 7
    reviews: frozenset[tuple[str, str, float]] = field(repr=False)

    @property
    def papers(self) -> dict[str, dict[str, float]]:
        """The scores of each paper by its reviewers."""
        papers = defaultdict[str, dict[str, float]](dict)
        for paper, who, score in self.reviews:
            papers[paper][who] = score
        return dict(papers)


def refuse_reused(
    reviewers: StrPath | Any, parameters: Mapping[str, Sequence[float]], reviews: Reviews
) -> None:
    """Refuse a calibration that was fitted on these very reviews, as far as that can be seen.

    A fit is known by the digests beside it: half of the papers with reviewers and scores, or more equal
    (paper, scores) or (paper, reviewer, score) than chance gives once in a million. One made by hand, or
    given as a data frame, is known by offsets that are the reviewers' own means.
    """
    name = source_name(reviewers, "reviewers")
    if is_path(reviewers) and os.path.exists(fit_record_path(name)):
        now = fingerprint_of_reviews(reviews)
        for past in read_fingerprints(fit_record_path(name)):
            if evidence := overlap(past, now):
                raise InputError(f"{name} was fitted on these reviews ({evidence}): {_WHY}")
    if offsets_are_own_means(parameters, reviews):
        raise InputError(f"{name} has the reviewers' own mean scores of this year for offsets: {_WHY}")


def reuse_warnings(pasts: Iterable[Fingerprint], reviews: Reviews) -> list[str]:
    """Refuse a past conference whose reviews are being decided, and remark on one that may share some.

    The remarks are for the chair alone: they depend on who reviewed what.
    """
    now, remarks = fingerprint_of_reviews(reviews), []
    for past in pasts:
        if evidence := overlap(past, now):
            raise InputError(
                "`past` must be other conferences than the one being decided, whose own reviews would give "
                f"their reviewers away; found {evidence}"
            )
        if evidence := resemblance(past, now):
            remarks.append(
                f"some of this year's reviews may be among the past ones: {evidence}, and chance does as "
                "much once in a hundred times. A calibration must be fitted on other reviews alone"
            )
    return remarks


def overlap(past: Fingerprint, now: Fingerprint) -> str:
    """What two conferences share beyond what chance gives once in a million times, in words; otherwise empty.

    The null hypothesis is that paper ids were dealt out anew: a paper's scores are then found under its id as
    often as they are among all past papers. If the same person reviewed the same id both times, it is that
    this person's past scores were dealt out anew.
    """
    then, later = past.papers, now.papers
    whole = sum(then.get(paper) == scores for paper, scores in later.items())
    if 2 * whole >= max(len(later), 2):
        return f"the papers of {past.conference!r} with the same reviewers and scores"
    return _most_unlikely(_coincidences(past, now), FALSE_ALARM, past.conference)


def resemblance(past: Fingerprint, now: Fingerprint) -> str:
    """What two conferences share beyond what chance gives once in a hundred times, in words.

    Scores that are nearly the same count too. This is no reason to refuse: jurors may score the same
    contestants every year, who stay as good.
    """
    levels = sorted({score for conference in (past, now) for *_, score in conference.reviews})
    step = min((high - low for low, high in pairwise(levels)), default=0.0)
    near = f"the same paper and reviewer, and at most {number_text(step)} between the scores"
    ways = (*_coincidences(past, now), ("review", near, *_same_reviews(past, now, step)))
    return overlap(past, now) or _most_unlikely(ways, _REMARK_RATE, past.conference)


_Coincidence = tuple[str, str, int, float]
"""Reviews or papers that have something in common, how many of them, and how many would by chance."""


def _coincidences(past: Fingerprint, now: Fingerprint) -> tuple[_Coincidence, ...]:
    return (
        ("paper", "the same scores", *_same_scores(past, now)),
        ("review", "the same paper, reviewer and score", *_same_reviews(past, now, 0.0)),
    )


def _most_unlikely(ways: Sequence[_Coincidence], alarm: float, conference: str) -> str:
    for what, how, same, expected in ways:
        if _poisson_tail(same, expected) < alarm / len(ways):
            return f"{count(same, what)} of {conference!r} with {how}, {expected:.1f} by chance"
    return ""


def _same_scores(past: Fingerprint, now: Fingerprint) -> tuple[int, float]:
    """How many papers have the same scores by people with other ids, and how many would by chance.

    Panels that see the same ids every year have scores of their own: what they share is seen review by
    review.
    """
    then, later = past.papers, now.papers
    before, after = ({p: tuple(sorted(w.values())) for p, w in papers.items()} for papers in (then, later))
    known = Counter(before.values())
    strange = [paper for paper in later if not then.get(paper, {}).keys() & later[paper].keys()]
    expected = sum(known[after[paper]] for paper in strange) / len(before)
    return sum(before.get(paper) == after[paper] for paper in strange), expected


def _same_reviews(past: Fingerprint, now: Fingerprint, near: float) -> tuple[int, float]:
    """How many reviews have the same paper and reviewer and nearly the same score, and how many by chance.

    The score that somebody gives to an id is expected to have the distribution of the other past reviews of
    this person, with a few of everybody's added.
    """
    then, own = dict[tuple[str, str], float](), defaultdict[str, list[float]](list)
    for paper, who, score in sorted(past.reviews, key=itemgetter(2)):
        then[paper, who] = score
        own[who].append(score)
    everybody, same, expected = list(then.values()), 0, 0.0
    for paper, who, score in now.reviews:
        if (paper, who) in then:
            alike = _scores_within(score, [then[paper, who]], near)
            same += alike
            others = _scores_within(score, own[who], near) - alike
            usual = _scores_within(score, everybody, near) / len(everybody)
            expected += (others + _PRIOR_SCORES * usual) / (len(own[who]) - 1 + _PRIOR_SCORES)
    return same, expected


def _scores_within(score: float, ordered: Sequence[float], near: float) -> int:
    """How many of some ordered scores are so near, but for roundoff."""
    reach = near * (1 + 1e-9)
    return bisect_right(ordered, score + reach) - bisect_left(ordered, score - reach)


def offsets_are_own_means(parameters: Mapping[str, Sequence[float]], reviews: Reviews) -> bool:
    """Whether more offsets equal the reviewers' own mean scores than chance gives once in a million.

    They are compared in as many digits as the offsets have. A calibration from other reviews may be right
    about everybody, but it does not know which papers and which noise they had this time: by these a mean of
    k scores is off by their standard deviation over sqrt(k), or by half a step of such a mean.
    """
    number = np.bincount(reviews.reviewer)
    known = [index for index, name in enumerate(reviews.reviewers) if name in parameters]
    if not known:
        return False
    means = np.bincount(reviews.reviewer, reviews.score) / number
    squares = np.bincount(reviews.reviewer, (reviews.score - means[reviews.reviewer]) ** 2)
    freedom = np.maximum(number - 1, 1)
    pooled = squares.sum() / max(len(reviews) - number.size, 1)
    # Of two estimates the smaller: it gives chance more. Nobody who always gives one score counts.
    error = np.sqrt(np.minimum(squares / freedom, pooled) / number)[known]
    offsets = np.array([parameters[reviews.reviewers[index]][1] for index in known])
    near = _half_unit(offsets)
    same = np.abs(offsets - means[known]) <= near * (1 + 1e-6)
    steps = np.diff(np.unique(reviews.score))
    half = np.maximum(near, (steps.min() if steps.size else 0.0) / (2 * number[known]))
    chance = np.where(error > 0.0, 2.0 * ndtr(half / np.where(error > 0.0, error, 1.0)) - 1.0, 1.0)
    return _binomial_tail_bound(int(same.sum()), float(chance.sum()), len(known)) < FALSE_ALARM


def _half_unit(offsets: Array) -> float:
    """Half a unit of the last digit that these numbers have: whole ones, tenths, or else hundredths.

    >>> [_half_unit(np.array(numbers)) for numbers in ([5.0, 6.0], [5.3, 6.0], [5.25, 6.0], [1 / 3])]
    [0.5, 0.05, 0.005, 0.005]
    """
    units = (unit for unit in (1, 10) if np.allclose(unit * offsets, (unit * offsets).round(), 0.0, 1e-9))
    return 0.5 / next(units, 100)


def _poisson_tail(number: int, expected: float) -> float:
    """The probability of this many or more, if a Poisson number of them is expected.

    >>> _poisson_tail(0, 0.0), round(_poisson_tail(2, 1.0), 6), round(1 - 2 / np.e, 6)
    (1.0, 0.264241, 0.264241)
    """
    return float(gammainc(number, expected)) if number else 1.0


def _binomial_tail_bound(number: int, expected: float, trials: int) -> float:
    """A bound on the probability of this many or more successes in independent trials.

    For a given expectation it is largest if all trials are alike (Hoeffding 1956).

    >>> [round(_binomial_tail_bound(*case), 6) for case in ((0, 0.0, 5), (2, 1.0, 2), (2, 2.5, 5))]
    [1.0, 0.25, 1.0]
    """
    if number < expected + 1.0:
        return 1.0
    return float(betainc(number, trials - number + 1, min(expected / trials, 1.0)))


def fingerprint_of_reviews(reviews: Reviews, name: str = "") -> Fingerprint:
    """The digests of one conference, by default of the one that is decided."""
    table = reviews.columns()
    return fingerprint(name, table["paper"], table["reviewer"], table["score"])


def fingerprint(
    name: str, paper: Sequence[str], reviewer: Sequence[str], score: Sequence[float]
) -> Fingerprint:
    """The digests of these reviews of one conference."""
    short = {name: digest(loose_id(name))[:_ID_DIGITS] for name in {*paper, *reviewer}}
    rows = zip(paper, reviewer, score, strict=True)
    return Fingerprint(name, frozenset((short[p], short[who], float(value)) for p, who, value in rows))


def fit_record_path(reviewers: StrPath) -> str:
    """The record that a fit writes beside its table of reviewers; beside the table itself, not a link."""
    name = os.fspath(reviewers)
    return f"{os.path.realpath(name) if os.path.islink(name) else name}.fit.json"


def fingerprint_record(footprints: Sequence[Fingerprint]) -> dict[str, object]:
    """As it stands in the file beside the table of reviewers."""
    used = list(map(fingerprint_entry, footprints))
    return {"format": _FORMAT, "warning": "CONFIDENTIAL: never share this file", "used": used}


def fingerprint_entry(past: Fingerprint) -> dict[str, object]:
    """One conference as `parse_fingerprint` reads it."""
    return {"conference": past.conference, "reviews": sorted(past.reviews)}


def read_fingerprints(path: StrPath) -> list[Fingerprint]:
    """What `fingerprint_record` wrote."""
    match read_json(path, _FORMAT):
        case {"format": 1, "used": [*used]}:
            read = [past for past in map(parse_fingerprint, used) if past is not None]
            if len(read) == len(used):
                return read
    rule = f"must be what `blindcal fit` wrote beside its table, format {_FORMAT}"
    raise input_error([Problem(os.fspath(path), None, None, rule)])


def parse_fingerprint(content: object) -> Fingerprint | None:
    """One conference as it stands in a file; None if it holds anything else."""
    match content:
        case {"conference": str(name), "reviews": [_, *_] as rows} if all(map(_is_row, rows)):
            return Fingerprint(name, frozenset((paper, who, float(score)) for paper, who, score in rows))
    return None


def _is_row(content: object) -> bool:
    match content:
        case [str(), str(), int() | float() as score]:
            return isfinite(score)
    return False


def _fit_record(reviewers: StrPath) -> object:
    """What a fit wrote beside its table; None for a table made otherwise."""
    path = fit_record_path(reviewers)
    return read_json(path, _FORMAT) if os.path.exists(path) else None


def read_scale(reviewers: StrPath | Any) -> Scale | None:
    """How a calibration was moved to this year's scale, by the record beside it; None if it was not."""
    match _fit_record(reviewers) if is_path(reviewers) else None:
        case {
            "scale": {
                "shift": (int() | float()) as shift,
                "stretch": (int() | float()) as stretch,
                "center": (int() | float()) as center,
                "shift_in_sds": (int() | float()) as in_sds,
            }
        } if stretch > 0:
            scale = Scale(float(shift), float(stretch), float(center), float(in_sds))
            return None if scale == Scale() else scale
        case {"scale": _}:
            rule = "must state shift and stretch as `blindcal fit` wrote them"
            raise input_error([Problem(fit_record_path(reviewers), None, "scale", rule)])
    return None


def read_better_ends(reviewers: StrPath) -> dict[str, str]:
    """Which scores a fit took for the better ones, by past conference; empty for a table made otherwise."""
    match _fit_record(reviewers):
        case {"better": {**ends}}:
            return {str(name): str(end) for name, end in ends.items()}
    return {}


def table_digest(table: bytes) -> str:
    """The digest of a table of reviewers as it was written: it tells a table that nobody changed."""
    return digest(table.hex())


def is_unchanged(reviewers: StrPath) -> bool:
    """Whether a table of reviewers is as a fit wrote it, by the digest beside it.

    So it is if the table is gone and only the record is left.
    """
    path = fit_record_path(reviewers)
    if os.path.islink(reviewers) or os.path.islink(path) or not os.path.isfile(path):
        return False
    try:
        content = read_json(path)
    except InputError:
        return False
    match content:
        case {"format": 1, "used": [*_], "table": str(stated)}:
            return not os.path.lexists(reviewers) or stated == table_digest(read_bytes(reviewers))
    return False
