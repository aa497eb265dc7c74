"""Fit: the posterior of qualities, reviewers and spreads, from a Gibbs chain on one or many conferences."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from blindcal.calibrators.batches import Batch
from blindcal.calibrators.chains import Sampler
from blindcal.checks import Array

SEED = 20250101  # the chain's own coins: the same data always give the same numbers


@dataclass(frozen=True, eq=False)
class Spreads:
    """Draws of the hyperparameters `[draw, conference]`, in units of the scores.

    `quality`: standard deviation of `slope * quality` for the mean reviewer, that is the mean slope.
    `offset`, `slope`: standard deviations over reviewers.
    `noise`: standard deviation of one review.
    """

    quality: Array
    offset: Array
    slope: Array
    noise: Array


@dataclass(frozen=True, eq=False)
class Fit:
    """The posterior of a batch, from one chain or several.

    `quality[paper]`, `standard_error[paper]`: posterior mean and standard deviation, in N(0,1) units.
    `slope[reviewer]`, `offset[reviewer]`: posterior means.
    `covariance[reviewer, 2, 2]`: that of (slope, offset).
    `noise[conference]`: standard deviation of one review, in units of the scores.
    `spreads`: draws of the hyperparameters.
    `disagreement[conference]`: the difference between chains as a share of the posterior standard deviation
    of qualities; 0 for one chain.
    `draws`: thinned joint draws, one row each: quality[draw, paper], slope[draw, reviewer] and
    offset[draw, reviewer].
    """

    quality: Array
    standard_error: Array
    slope: Array
    offset: Array
    covariance: Array
    noise: Array
    spreads: Spreads
    disagreement: Array
    draws: tuple[Array, Array, Array] = field(repr=False)


def fit_batch(
    batch: Batch, *, common_slope: bool, sweeps: int, chains: int = 1, keep: int = 0, seed: int = SEED
) -> Fit:
    """The posterior of `score = a_j * quality_i + b_j + noise` from `chains` chains of `sweeps` sweeps each.

    quality ~ N(0,1); a_j normal, cut to above 0; b_j normal; noise normal. The mean slope, the spread of the
    offsets and the noise have flat priors, the relative spread of slopes `variation_prior`. `common_slope`
    makes every a_j of a conference the same. The first third of the sweeps is dropped.
    """
    middle, width = _scale(batch)
    standard = (batch.score - middle[batch.row_group]) / width[batch.row_group]
    sampler = Sampler(
        copies(batch, standard, chains), common_slope=common_slope, rng=np.random.default_rng(seed)
    )
    warmup = sweeps // 3
    for _ in range(warmup):
        sampler.sweep()
    record = _Record(batch, chains, sweeps - warmup, keep)
    for index in range(sweeps - warmup):
        sampler.sweep()
        record.add(sampler, index)
    return record.fit(middle, width)


def _scale(batch: Batch) -> tuple[Array, Array]:
    """Mean and standard deviation of each conference's scores (1 where all are equal)."""
    count = batch.per_group()
    middle = batch.per_group(batch.score) / count
    width = np.sqrt(batch.per_group((batch.score - middle[batch.row_group]) ** 2) / count)
    return middle, np.where(width > 1e-12 * np.maximum(np.abs(middle), 1.0), width, 1.0)


def copies(batch: Batch, score: Array, times: int) -> Batch:
    """The table `times` times over, each copy with groups of its own; `score[row]` or `score[copy, row]`."""
    copy = np.repeat(np.arange(times), batch.paper.size)
    return Batch(
        np.tile(batch.paper, times) + copy * batch.papers,
        np.tile(batch.reviewer, times) + copy * batch.reviewers,
        np.broadcast_to(score, (times, batch.paper.size)).ravel(),
        np.concatenate([batch.paper_group + c * batch.groups for c in range(times)]),
        np.concatenate([batch.reviewer_group + c * batch.groups for c in range(times)]),
    )


class _Record:
    """Running sums over sweeps; chains are the leading axis of every array."""

    def __init__(self, batch: Batch, chains: int, sweeps: int, keep: int) -> None:
        self.batch, self.chains, self.sweeps = batch, chains, sweeps
        self.paper_sums = np.zeros((3, chains, batch.papers))
        self.reviewer_sums = np.zeros((5, chains, batch.reviewers))
        self.hyper = np.zeros((sweeps, 4, chains, batch.groups))
        self.every = max(1, sweeps * chains // keep) if keep else 0
        self.draws: list[tuple[Array, Array, Array]] = []

    def add(self, sampler: Sampler, index: int) -> None:
        s = sampler.state
        mean, precision = sampler.given
        for total, value in zip(self.paper_sums, (mean, mean**2, 1 / precision), strict=True):
            total += value.reshape(self.chains, -1)
        a, b = s.slope, s.offset
        for total, value in zip(self.reviewer_sums, (a, b, a * a, a * b, b * b), strict=True):
            total += value.reshape(self.chains, -1)
        mean_slope = np.exp(s.log_mean)
        hyper = (
            mean_slope,
            s.spread,
            0.0 * mean_slope if sampler.common else mean_slope * s.variation,
            s.noise,
        )
        self.hyper[index] = np.stack(hyper).reshape(4, self.chains, -1)
        if self.every and (index + 1) % self.every == 0:
            shape = (self.chains, -1)
            self.draws.append((s.quality.reshape(shape), a.reshape(shape), b.reshape(shape)))

    def fit(self, middle: Array, width: Array) -> Fit:
        batch, n = self.batch, self.sweeps
        first, second, inner = self.paper_sums / n
        quality = first.mean(axis=0)
        variance = inner.mean(axis=0) + np.maximum(second.mean(axis=0) - quality**2, 0.0)
        between = np.bincount(batch.paper_group, first.var(axis=0), batch.groups)
        disagreement = np.sqrt(between / np.bincount(batch.paper_group, variance, batch.groups))
        w, m = width[batch.reviewer_group], middle[batch.reviewer_group]
        a, b, aa, ab, bb = (self.reviewer_sums / n).mean(axis=1)
        covariance = np.stack([aa - a * a, ab - a * b, ab - a * b, bb - b * b], axis=-1)
        spreads = (self.hyper * width).transpose(1, 0, 2, 3).reshape(4, -1, batch.groups)
        return Fit(
            quality=quality,
            standard_error=np.sqrt(variance),
            slope=w * a,
            offset=m + w * b,
            covariance=(w[:, None] ** 2 * covariance).reshape(-1, 2, 2),
            noise=spreads[3].mean(axis=0),
            spreads=Spreads(*spreads),
            disagreement=disagreement,
            draws=self._joined(w, m),
        )

    def _joined(self, w: Array, m: Array) -> tuple[Array, Array, Array]:
        if not self.draws:
            return np.zeros((0, self.batch.papers)), np.zeros((0, w.size)), np.zeros((0, w.size))
        q, a, b = (np.concatenate(part) for part in zip(*self.draws, strict=True))
        return q, w * a, m + w * b
