"""Moments: what a chain of draws says about each reviewer at the next conference, and about all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from blindcal.checks import Array
from blindcal.fitting.pasts import History
from blindcal.fitting.sampling import Sampler


@dataclass(frozen=True, eq=False)
class Moments:
    """Means over draws, in standard deviations of the last conference's scores.

    `reviewers[7, reviewer]` and `anyone[7]`: first moments of slope, offset, noise; then second ones of
    (slope, slope), (slope, offset), (offset, offset), (noise, noise). `traces[draw]` has a row of `TRACES`.
    """

    reviewers: Array
    anyone: Array
    levels: Array
    stretch: Array
    traces: Array


# What is kept of every draw: variances of a score by source, and how habits correlate from one conference
# to the next.
TRACES = ("quality", "slope", "offset", "noise", "persistence")


def chain(
    history: History, seed: Sequence[int], sweeps: int, advance: Callable[[int], None] | None = None
) -> Moments:
    """The moments of one chain; the first third of its sweeps is dropped."""
    sampler = Sampler(history, np.random.default_rng(seed))
    warmup = sweeps // 3
    sums = _Sums(history)
    for index in range(sweeps):
        sampler.sweep()
        if index < warmup:
            sampler.tune()
        else:
            sums.add(sampler)
        if advance is not None:
            advance(1)
    return sums.moments()


class _Sums:
    def __init__(self, history: History) -> None:
        self.shares = history.per_level() / len(history)
        self.reviewers = np.zeros((7, len(history.reviewers)))
        self.anyone = np.zeros(7)
        self.levels = np.zeros(len(history.levels))
        self.stretch = np.zeros(len(history.conferences))
        self.traces: list[tuple[float, ...]] = []

    def add(self, sampler: Sampler) -> None:
        s = sampler.state
        unit, shift = np.exp(s.stretch[-1]), s.shift[-1]
        # The noise of a review whose confidence is not known: levels as often as they were.
        typical = unit * np.sqrt(self.shares @ np.exp(2 * s.log_level))
        self.reviewers += _moments(sampler.next, unit, shift, typical * np.exp(s.log_noise), 0.0)
        noise, half = typical * np.exp(s.mean_log_noise), s.sd_log_noise**2
        spread = np.sqrt(np.expm1(half)) * noise * np.exp(half / 2)
        self.anyone += _moments(sampler.anyone, unit, shift, noise * np.exp(half / 2), spread)
        self.levels += np.exp(s.log_level)
        self.stretch += np.exp(s.stretch - s.stretch[-1])
        (slope, _), (_, offset) = unit**2 * s.covariance
        variance = (unit * s.mean_slope) ** 2, slope, offset, noise**2 * np.exp(2 * half)
        self.traces.append((*map(float, variance), s.persistence))

    def moments(self) -> Moments:
        n = len(self.traces)
        return Moments(
            self.reviewers / n, self.anyone / n, self.levels / n, self.stretch / n, np.array(self.traces)
        )


def _moments(state: Array, unit: float, shift: float, noise: Array, noise_sd: Array | float) -> Array:
    """First and second moments of what `filters` has as means and covariances, and of noise."""
    slope, offset = unit * state[0], unit * (state[1] + shift)
    aa, ab, bb = unit**2 * state[2:]
    seconds = aa + slope**2, ab + slope * offset, bb + offset**2, noise_sd**2 + noise**2
    return np.stack([slope, offset, noise, *seconds])


def pooled(chains: Sequence[Moments]) -> Moments:
    """Chains of equal length as one."""
    means = (
        np.mean([getattr(one, name) for one in chains], axis=0)
        for name in ("reviewers", "anyone", "levels", "stretch")
    )
    reviewers, anyone, levels, stretch = means
    return Moments(reviewers, anyone, levels, stretch, np.concatenate([one.traces for one in chains]))


def parameters(moments: Array) -> Array:
    """Means, standard deviations and correlation from first and second moments: rows slope, offset, noise,
    slope_se, offset_se, correlation, noise_se.

    >>> parameters(np.array([2.0, 1.0, 0.5, 4.25, 2.1, 1.04, 0.25])).round(3)
    array([2. , 1. , 0.5, 0.5, 0.2, 1. , 0. ])
    """
    slope, offset, noise, aa, ab, bb, nn = moments
    tiny = np.finfo(float).tiny
    slope_se, offset_se, noise_se = (
        np.sqrt(np.maximum(second - first**2, tiny))
        for first, second in ((slope, aa), (offset, bb), (noise, nn))
    )
    correlation = np.clip((ab - slope * offset) / (slope_se * offset_se), -1.0, 1.0)
    return np.stack([slope, offset, noise, slope_se, offset_se, correlation, noise_se])
