"""Which past scores are mirrored: the better end of their scale is not the one that was said.

A fit cannot see that by itself. If all scores of the past are mirrored, qualities change their sign, strict
reviewers become lenient ones, and everything fits as well as before. Two things speak, and both are weighed
against a history in which nothing is mirrored: people who came back keep their habits, so that those who are
strict in one year are strict in another; and the mean score of this year is about that of past ones.

The chance is Bayes' rule over all ways to mirror the past years whose direction the chair has not stated.
Of this year only the mean and the spread of all scores are read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np
from scipy.special import logsumexp

from blindcal.checks import Array
from blindcal.errors import InputError
from blindcal.fitting.history import PastConference, upright
from blindcal.reviews import Reviews, encode_ids

# The log odds, before any score, that a scale was turned between one year and the next: one in nine.
_TURNED = -2.0
# Beyond this chance a fit is refused, or the chair is asked.
_SURE, _OPEN = 0.95, 0.05
# The standard deviation of the mean score from year to year, in standard deviations of a score.
_YEARS = 0.3
# The variance of leniency in that unit squared, and how much of it lasts from one year to another.
_LENIENCY, _LASTING = 0.12, 0.10
_MOST_YEARS = 10  # years of which every combination is tried
_OTHER = {"high": "low", "low": "high"}


class MirroredError(InputError):
    """The scores of a past conference are almost surely mirrored."""


@dataclass(frozen=True)
class Direction:
    """How likely it is that past scores are mirrored."""

    likeliest: Mapping[str, str]  # the better ends in the likeliest case in which a scale was turned
    unmirrored: float  # the chance that none is
    doubtful: tuple[str, ...]  # those that are mirrored with a chance of one in twenty or more

    def notes(self) -> list[str]:
        """What to ask the chair; refused if scores are almost surely mirrored."""
        if 1.0 - self.unmirrored > _SURE:
            likeliest = ", ".join(f'"{name}={end}"' for name, end in self.likeliest.items())
            raise MirroredError(
                "past scores look mirrored: people who came back, or the mean score, fit better if the "
                "better scores of a past year were at the other end. Say of each year which end it was; "
                f"likeliest is past-better = [{likeliest}]"
            )
        if not self.doubtful:
            return []
        return [
            f"which scores were better in {', '.join(self.doubtful)} cannot be told from the scores: check "
            f'it, and say so by past-better = ["{self.doubtful[0]}=high"], or =low'
        ]


def direction(
    pasts: Sequence[PastConference], stated: Collection[str], this_year: Reviews | None
) -> Direction:
    """Weighs every way to mirror past conferences whose better end was not `stated`.

    `this_year` is turned so that high scores are better, as `pasts` say they are.
    """
    open_ = [index for index, past in enumerate(pasts) if past.name not in stated][-_MOST_YEARS:]
    by_mean = np.array([0.0 if this_year is None else _mean_log_ratio(past, this_year) for past in pasts])
    leniencies = [_leniencies(past) for past in pasts]
    signs = np.ones((2 ** len(open_), len(pasts)))
    signs[:, open_] = list(product([1.0, -1.0], repeat=len(open_)))
    turns = (np.diff(signs, axis=1, append=1.0) != 0.0).sum(axis=1)
    log = np.where(signs > 0.0, by_mean, 0.0).sum(axis=1) + _TURNED * turns
    lasting = np.zeros(len(signs))
    for a, b in combinations(range(len(pasts)), 2):
        equal, opposed = _pair_log_ratios(leniencies[a], leniencies[b])
        lasting += np.where(signs[:, a] == signs[:, b], equal, opposed)
    # Habits may also not last at all: then nothing is told by those who came back.
    log += np.logaddexp(0.0, lasting)
    chance = np.exp(log - logsumexp(log))
    mirrored = chance @ (signs < 0)
    best = signs[1:][chance[1:].argmax()] if len(signs) > 1 else signs[0]
    return Direction(
        likeliest={
            past.name: past.better if sign > 0 else _OTHER[past.better]
            for past, sign in zip(pasts, best, strict=True)
        },
        unmirrored=float(chance[0]),
        doubtful=tuple(past.name for past, share in zip(pasts, mirrored, strict=True) if share > _OPEN),
    )


def _mean_log_ratio(past: PastConference, this_year: Reviews) -> float:
    """The log likelihood of the past mean score as it stands, less that of the mirrored one.

    Each is normal around the mean of this year. 0 without a grid: then nobody knows where to mirror.
    """
    if past.grid is None or this_year.grid is None:
        return 0.0
    score, grid = upright(past)[0], upright(replace(past, score=past.grid))[0]
    ends = [*this_year.grid, *grid]
    # Sorted: not even the last digits of a sum depend on who wrote what.
    scores = np.sort(this_year.score)
    now, sd = float(scores.mean()), float(scores.std())
    papers = len({*past.paper}), len(this_year.papers)
    variance = (_YEARS * sd) ** 2 + score.var() / papers[0] + sd**2 / papers[1]
    shift, mirrored = score.mean() - now, min(ends) + max(ends) - score.mean() - now
    return float((mirrored**2 - shift**2) / (2.0 * variance))


Leniency = tuple[float, float]
"""How far somebody's scores lie above the other scores of their papers, on average, and its variance."""


def _leniencies(past: PastConference) -> dict[str, Leniency]:
    """Each reviewer's leniency, in standard deviations of the scores."""
    _, paper = encode_ids(past.paper)
    names, person = encode_ids(past.reviewer)
    score = upright(past)[0] / past.score.std()
    others = np.bincount(paper)[paper] - 1
    rest = np.bincount(paper, score)[paper] - score
    seen = others > 0
    above = score[seen] - rest[seen] / others[seen]
    count = np.bincount(person[seen], minlength=len(names))
    total = np.bincount(person[seen], above, len(names))
    return {
        name: (total[index] / count[index], _LENIENCY + float(above.var()) / count[index])
        for index, name in enumerate(names)
        if count[index]
    }


def _pair_log_ratios(one: dict[str, Leniency], other: dict[str, Leniency]) -> tuple[float, float]:
    """The log likelihoods of leniencies in two years on equal and on opposed scales.

    Both less that of habits that do not last. Of each person there are two normal numbers with these
    variances, and the covariance `_LASTING`, or minus that, or 0.
    """
    both: Array = np.array([(*own, *other[name]) for name, own in one.items() if name in other]).reshape(
        -1, 4
    )
    x, x_variance, y, y_variance = both.T
    whole = x_variance * y_variance
    left = whole - _LASTING**2
    alone = x**2 / x_variance + y**2 / y_variance

    def log_ratio(covariance: float) -> float:
        square = (x**2 * y_variance + y**2 * x_variance - 2.0 * covariance * x * y) / left
        return float(0.5 * (np.log(whole / left) + alone - square).sum())

    return log_ratio(_LASTING), log_ratio(-_LASTING)
