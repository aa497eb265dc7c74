"""This year's scale from public information alone: mean and spread of all of this year's scores.

Neither depends on who wrote which review, so a calibration may be moved and stretched to match them without
telling anything about anyone; matching anything reviewer by reviewer would.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from blindcal.checks import Array
from blindcal.errors import InputError
from blindcal.reviews import Reviews

# A calibration is moved to this year's scale no further than this: beyond, it is probably for another scale.
MOST_SHIFT, MOST_STRETCH = 1.0, 1.5
_TURNS, _CLOSE = 500, 1e-10


@dataclass(frozen=True)
class Scale:
    """How a calibration was moved: `score -> center + stretch * (score - center) + shift`.

    `shift`: what was added to scores; 0 by default, and `stretch` 1: nothing is moved.
    `stretch`: the factor by which this year's scores are spread more widely than predicted.
    `center`: the mean score that the calibration predicted before.
    `shift_in_sds`: the shift in standard deviations of this year's scores.
    """

    shift: float = 0.0
    stretch: float = 1.0
    center: float = 0.0
    shift_in_sds: float = 0.0

    def moved(self, parameters: Array) -> Array:
        """The rows `parameters[7, person]` of reviewers.csv on the new scale.

        >>> rows = np.array([[2.0, 5.0, 1.0, 0.2, 0.4, 0.5, 0.1]]).T
        >>> Scale(shift=1.0, stretch=0.5, center=4.0).moved(rows).T
        array([[1.  , 5.5 , 0.5 , 0.1 , 0.2 , 0.5 , 0.05]])
        """
        slope, offset, noise, slope_se, offset_se, correlation, noise_se = parameters
        moved = self.center + self.stretch * (offset - self.center) + self.shift
        widths = (self.stretch * width for width in (slope, noise, slope_se, offset_se, noise_se))
        slope, noise, slope_se, offset_se, noise_se = widths
        return np.stack([slope, moved, noise, slope_se, offset_se, correlation, noise_se])


def matched(parameters: Array, reviews: Reviews) -> Scale:
    """The scale on which these people, each as likely as the next, give scores with the mean and the standard
    deviation of `reviews`; rounded to its grid where it declares or shows one.

    Refused beyond `MOST_SHIFT` standard deviations or a stretch of `MOST_STRETCH`.
    """
    # Reviews stand by paper and reviewer, and the last digits of a sum depend on the order: sorted, nothing
    # is left of who wrote what.
    score = np.sort(reviews.score)
    mean, sd = float(score.mean()), float(score.std())
    if score[0] == score[-1]:
        raise InputError("this year's scores are all equal: they have no scale")
    offset, total = _mean_and_variance(parameters)
    center = float(offset.mean())
    shift, stretch = _solved(offset - center, total, (mean - center, sd), center, reviews.grid)
    scale = Scale(shift, stretch, center, shift / sd)
    _check(scale)
    return scale


def _mean_and_variance(parameters: Array) -> tuple[Array, Array]:
    """Mean and variance of a score by each person: quality is N(0, 1), and errors count as noise."""
    slope, offset, noise, slope_se, offset_se, _, noise_se = parameters
    return offset, slope**2 + slope_se**2 + offset_se**2 + noise**2 + noise_se**2


def _solved(
    offset: Array, variance: Array, wanted: tuple[float, float], center: float, grid: Array | None
) -> tuple[float, float]:
    """Shift and stretch, by turns: what is seen is off by about as much as what is under it."""
    shift, stretch = 0.0, 1.0
    for _ in range(_TURNS):
        mean, sd = _seen(shift + stretch * offset, stretch * np.sqrt(variance), center, grid)
        if max(abs(wanted[0] - mean), abs(wanted[1] - sd)) < _CLOSE * wanted[1]:
            return shift, stretch
        shift, stretch = shift + wanted[0] - mean, stretch * wanted[1] / max(sd, 1e-3 * wanted[1])
    raise InputError("no scale gives this year's scores their mean and spread: is the grid the right one?")


def _seen(mean: Array, sd: Array, center: float, grid: Array | None) -> tuple[float, float]:
    """Mean and standard deviation of the scores that are reported, from `center`."""
    if grid is None or grid.size < 2:
        return float(mean.mean()), float(np.sqrt(mean.var() + (sd**2).mean()))
    ends = 0.5 * (grid[1:] + grid[:-1]) - center
    below = ndtr((ends - mean[:, None]) / sd[:, None]).mean(axis=0)
    share = np.diff(np.concatenate([[0.0], below, [1.0]]))
    first = float(share @ (grid - center))
    return first, float(np.sqrt(share @ (grid - center - first) ** 2))


def _check(scale: Scale) -> None:
    if abs(scale.shift_in_sds) > MOST_SHIFT or not 1 / MOST_STRETCH <= scale.stretch <= MOST_STRETCH:
        raise InputError(
            f"this year's scores are on another scale than the last past conference's: they would need a "
            f"shift of {scale.shift_in_sds:.2f} standard deviations and a stretch of {scale.stretch:.2f}, "
            f"and at most {MOST_SHIFT:g} and {MOST_STRETCH:g} are corrected; check `better`, or write the "
            "past scores on this year's scale"
        )
