"""The noisy sums that another conference shared, and what they say about its reviewers' leniency.

The sum of differences of a reviewer with offset b who wrote n reviews is, before noise, normal around
`n (mean + gain b)` with variance `n within`. Neither the sum nor n is known exactly: the noise of the sum is
added to its variance, and n is drawn from what its own noisy value leaves possible.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from blindcal.checks import Array, Integers
from blindcal.errors import InputError, Problem
from blindcal.io.atomic_files import read_json, read_table
from blindcal.io.cells import Column
from blindcal.io.tables import StrPath, input_error

SHARED_FORMAT = 1

# What a review is worth, split between *above* and *below*.
POINTS = 100

# Differences beyond this many standard deviations of the scores count as this much: a wider reach needs more
# noise, a narrower one makes all reviews alike.
REACH = 1.0
_COLUMNS = ("above", "below")
_MAX_POINTS = 10.0**9

# Reviews of a conference that one person may have written, at most.
_MAX_REVIEWS = 400

# The variance of differences is one person's and that of offsets over people, which is taken as this: a
# tenth of the variance of a score, or so.
_OFFSET_VARIANCE, _MIN_WITHIN = 0.12, 0.3


@dataclass(frozen=True, eq=False)
class SharedSums:
    """Noisy points of each person on a list, and the public numbers that they are read by.

    Each review is worth 100 points, split by how far its score lies above what the paper's other scores
    suggest. Whatever is done with these numbers, they reveal no more than the stated guarantee allows.
    """

    conference: str  # the name of the one that shared them
    reviewers: tuple[str, ...]  # the ids on the list, each once
    # Each person's sum of points above what others suggest, with noise added
    above: Integers = field(repr=False)
    below: Integers = field(repr=False)  # each person's sum of points below it, with noise added
    mean: float  # the mean of such differences over all reviews, in standard deviations of the scores
    gain: float  # how much a difference grows on average for a reviewer who is more lenient by 1; at most 1
    variance: float  # the variance of such differences over all reviews
    noise: float  # the variance of the noise added to each number

    def __post_init__(self) -> None:
        if len(set(self.reviewers)) < len(self.reviewers):
            raise InputError(f"what {self.conference} shared must have each person once")

    @property
    def counts(self) -> Array:
        """Noisy numbers of reviews."""
        return np.asarray((self.above + self.below) / POINTS)

    @property
    def sums(self) -> Array:
        """Noisy sums of differences, in standard deviations of the scores."""
        return np.asarray(REACH * (self.above - self.below) / POINTS)

    @property
    def count_variance(self) -> float:
        return 2.0 * self.noise / POINTS**2

    @property
    def sum_variance(self) -> float:
        return 2.0 * self.noise * (REACH / POINTS) ** 2


def read_shared_sums(path: StrPath) -> SharedSums:
    """The sums that another conference shared.

    `path`: the table of noisy points; its statement lies beside it.
    """
    whole = [Column(name, "integer", low=-_MAX_POINTS, high=_MAX_POINTS) for name in _COLUMNS]
    table = read_table(path, [Column("reviewer", "id", secret=True), *whole])
    above, below = (table.number(name).astype(np.int64) for name in _COLUMNS)
    statement = _read_statement(statement_path(path))
    names = table.text("reviewer")
    return SharedSums(reviewers=tuple(names), above=above, below=below, **statement)


def _read_statement(path: str) -> dict[str, Any]:
    content = read_json(path, SHARED_FORMAT)
    rule = f"must be what `blindcal share` wrote beside its table, format {SHARED_FORMAT}"
    match content:
        case {
            "format": 1,
            "conference": str(name),
            "points": {
                "each_review": int(points),
                "reach": (int() | float()) as reach,
                "mean": (int() | float()) as mean,
                "gain": (int() | float()) as gain,
                "variance": (int() | float()) as variance,
            },
            "noise_variance": (int() | float()) as noise,
        } if points == POINTS and reach == REACH and min(gain, variance, noise) > 0 and abs(mean) <= REACH:
            numbers = {"mean": mean, "gain": gain, "variance": variance, "noise": noise}
            return {"conference": name, **{key: float(value) for key, value in numbers.items()}}
    raise input_error([Problem(path, None, None, rule)])


def statement_path(table: StrPath) -> str:
    """The file that says how a shared table was made; it lies beside it."""
    return f"{os.fspath(table)}.share.json"


def has_share_statement(path: StrPath) -> bool:
    """Whether a table was made by `share`: its statement lies beside it."""
    return os.path.exists(statement_path(path))


def rename_reviewers(shared: SharedSums, same: Mapping[str, str]) -> SharedSums:
    """The same numbers under people's present ids."""
    names = tuple(same.get(name, name) for name in shared.reviewers)
    return replace(shared, reviewers=names)


@dataclass(frozen=True, eq=False)
class StackedSums:
    """All that was shared, a row for each person of each conference: `visit`, and columns over rows.

    `likely[row, n]` is the log probability of n reviews from their noisy number, over what numbers of reviews
    are like at that conference.
    """

    visit: Integers
    total: Array
    mean: Array
    gain: Array
    variance: Array
    noise: Array
    likely: Array

    @property
    def within(self) -> Array:
        """The variance of one person's differences."""
        return np.maximum(self.variance - self.gain**2 * _OFFSET_VARIANCE, _MIN_WITHIN * self.variance)


def stack_sums(shared: Sequence[SharedSums], visit: Integers) -> StackedSums:
    """Rows of all conferences that shared something, in the order of `visit`."""
    sizes = [len(sums.reviewers) for sums in shared]

    def column(values: Sequence[float]) -> Array:
        return np.repeat(np.array(values, dtype=np.float64), sizes)

    longest = max((_max_load(sums) for sums in shared), default=1)
    return StackedSums(
        visit=visit,
        total=np.concatenate([np.empty(0), *(sums.sums for sums in shared)]),
        mean=column([sums.mean for sums in shared]),
        gain=column([sums.gain for sums in shared]),
        variance=column([sums.variance for sums in shared]),
        noise=column([sums.sum_variance for sums in shared]),
        likely=np.concatenate(
            [np.empty((0, longest)), *(_log_load_likelihood(sums, longest) for sums in shared)]
        ),
    )


def _max_load(shared: SharedSums) -> int:
    """One more than the largest number of reviews that need be thought of."""
    mean, variance = _load_moments(shared)
    far = max(mean, float(shared.counts.max())) + 4.0 * np.sqrt(min(variance, shared.count_variance))
    return int(min(max(far, 1.0), _MAX_REVIEWS)) + 2


def _log_load_likelihood(shared: SharedSums, longest: int) -> Array:
    """The log likelihood of each number of reviews, from its noisy value and the usual numbers."""
    n = np.arange(longest)
    mean, variance = _load_moments(shared)
    seen = (shared.counts[:, None] - n) ** 2 / shared.count_variance
    return np.asarray(-0.5 * (seen + (n - mean) ** 2 / variance))


def _load_moments(shared: SharedSums) -> tuple[float, float]:
    """Mean and variance of the number of reviews over the people of a list, without the noise."""
    mean = max(float(shared.counts.mean()), 0.0)
    return mean, max(float(shared.counts.var()) - shared.count_variance, 0.25)


def draw_loads(gathered: StackedSums, offset: Array, rng: np.random.Generator) -> Array:
    """How many reviews each person wrote, drawn given everybody's offset."""
    n = np.arange(gathered.likely.shape[1])
    variance = gathered.noise[:, None] + n * gathered.within[:, None]
    expected = n * (gathered.mean + gathered.gain * offset)[:, None]
    log = (
        gathered.likely - 0.5 * np.log(variance) - 0.5 * (gathered.total[:, None] - expected) ** 2 / variance
    )
    below = np.cumsum(np.exp(log - log.max(axis=1, keepdims=True)), axis=1)
    drawn = (below < rng.random(len(log))[:, None] * below[:, -1:]).sum(axis=1)
    return np.asarray(drawn, dtype=np.float64)


def as_regression(gathered: StackedSums, load: Array) -> tuple[Array, Array]:
    """(x, y) so that `y = x offset + N(0, 1)` for each row, given how many reviews it rests on."""
    sd = np.sqrt(gathered.noise + load * gathered.within)
    return np.asarray(load * gathered.gain / sd), np.asarray((gathered.total - load * gathered.mean) / sd)
