"""Does a straight line with a noise of its own describe each reviewer? Scores against the others' of a paper.

From the other reviews of its paper each score has an expected value, `slope * E[quality | others] + offset`.
What is left over should lean to no side at any quality, be as wide everywhere, and not bend in one way for
one reviewer and in another for the next.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from blindcal.checks import Array
from blindcal.fitting.pasts import History
from blindcal.fitting.scales import Scale

_BINS = 7
# Said where it is beyond so many standard errors, and large: noise that changes by a quarter of its variance
# from one standard deviation of quality to the next, curves as different as a tenth of a score.
_SURE, _WIDER, _CURVED = 3.0, 0.25, 0.01
FLAT = 1e-9
"""Scores and qualities here have a standard deviation of about 1: a difference below this is roundoff."""


@dataclass(frozen=True)
class Bin:
    """Reviews of papers of about the same quality: mean of what is left over, its standard error, its width;
    in standard deviations that the fit expects."""

    quality: float
    left: float
    error: float
    width: float


@dataclass(frozen=True)
class Line:
    """`wider`: relative change of the noise's variance for one standard deviation of quality. `curved`: the
    variance over reviewers of how much their scores bend with the square of quality. Each with its standard
    error; both are about 0 where the model holds."""

    wider: float
    wider_error: float
    curved: float
    curved_error: float
    bins: tuple[Bin, ...]

    @property
    def notes(self) -> list[str]:
        found = []
        if abs(self.wider) > max(_WIDER, _SURE * self.wider_error):
            which = "better" if self.wider > 0 else "weaker"
            found.append(f"reviews of {which} papers are noisier: their errors are understated there")
        if self.curved > max(_CURVED, _SURE * self.curved_error):
            found.append(
                "some reviewers bend the scale in ways of their own: slope and offset are an approximation"
            )
        return found


def standard(rows: Array) -> Array:
    """The same reviewers on a scale where all scores together have mean 0 and standard deviation 1."""
    slope, offset, noise, slope_se, offset_se, _, noise_se = rows
    variance = slope**2 + slope_se**2 + offset_se**2 + noise**2 + noise_se**2
    center = float(offset.mean())
    stretch = 1 / float(np.sqrt(variance.mean() + offset.var()))
    return Scale(-center, stretch, center).moved(rows)


def others_quality(history: History, rows: Array) -> tuple[Array, Array]:
    """E[quality | the other reviews of the paper] for each review, and its variance."""
    slope, offset, noise, slope_se, offset_se, _, noise_se = rows[:, history.reviewer]
    weight = 1 / (slope_se**2 + offset_se**2 + noise**2 + noise_se**2)
    known, pull = weight * slope**2, weight * slope * (history.score - offset)
    precision = 1.0 + history.per_paper(known)[history.paper] - known
    return np.asarray((history.per_paper(pull)[history.paper] - pull) / precision), 1.0 / precision


def line_of(history: History, rows: Array) -> Line | None:
    """The checks for reviewers with these rows; None where no two reviews can be compared."""
    quality, variance = others_quality(history, rows)
    if float(quality.std()) <= FLAT:
        return None
    slope, offset, noise, slope_se, offset_se, _, noise_se = rows[:, history.reviewer]
    own = slope_se**2 * (quality**2 + variance) + offset_se**2 + noise**2 + noise_se**2
    left = (history.score - slope * quality - offset) / np.sqrt(slope**2 * variance + own)
    return Line(*_wider(history, quality, left), *_curved(history, quality, left), _bins(quality, left))


def _wider(history: History, quality: Array, left: Array) -> tuple[float, float]:
    """The slope of squares on quality, and its standard error over papers."""
    squares, spread = left**2, quality - quality.mean()
    change = float(squares @ spread / (spread @ spread))
    rest = (squares - squares.mean() - change * spread) * spread
    error = float(np.sqrt((history.per_paper(rest) ** 2).sum()) / (spread @ spread))
    return change / float(squares.mean()), error / float(squares.mean())


def _curved(history: History, quality: Array, left: Array) -> tuple[float, float]:
    """If a reviewer's scores bend by `c (quality^2 - 1)`, products of two of their reviews say c^2."""
    bend = quality**2 - (quality**2).mean()
    sums, squares = history.per_reviewer(left * bend), history.per_reviewer((left * bend) ** 2)
    whole = history.per_reviewer(bend**2) ** 2
    weight = whole - history.per_reviewer(bend**4)
    # Nobody has two reviews, or no quality bends.
    if weight.sum() <= FLAT * whole.sum() or float(bend.std()) <= FLAT:
        return 0.0, np.inf
    pairs = sums**2 - squares
    found = float(pairs.sum() / weight.sum())
    error = float(np.sqrt(((pairs - found * weight) ** 2).sum()) / weight.sum())
    return found, error


def _bins(quality: Array, left: Array) -> tuple[Bin, ...]:
    order = np.argsort(quality, kind="stable")
    return tuple(
        Bin(
            float(quality[part].mean()),
            float(left[part].mean()),
            float(left[part].std() / np.sqrt(part.size)),
            float(left[part].std()),
        )
        for part in np.array_split(order, min(_BINS, max(1, order.size // 10)))
    )
