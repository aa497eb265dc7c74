"""Weights of tuples of reviewers, and the decision that each tuple favors.

A tuple names the reviewer of each slot (review) of a paper. Given the paper's quality the reviews are
independent, so the weight and the favor of a tuple are integrals over one number. They have a closed form if
every reviewer is affine with Gaussian noise. Otherwise all tuples of a paper share the nodes of one
quadrature, and sums over the nodes are matrix products. `tuple_posteriors` chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import ndtr

from blindcal.checks import Array, Integers
from blindcal.errors import InputError
from blindcal.pools.candidates import OUTSIDER, shared_part
from blindcal.pools.prior import (
    all_tuples,
    candidate_seats,
    log_odds,
    log_prior,
    seat_probabilities,
    tuple_halves,
)
from blindcal.reviewers.affine import Affine, known_affine
from blindcal.reviewers.base import Reviewer
from blindcal.reviewers.quadrature import NODES, gauss_legendre_panels
from blindcal.reviewers.rounded import Rounded

# The width of a panel in standard deviations of the sharpest posterior. Up to this width, 16 Gauss-Legendre
# nodes integrate such a posterior to the last digit, wherever the panel begins.
_PANEL_WIDTH = 4.5
_LEAST_REACH, _MOST_REACH = 9.0, 40.0
# More nodes would take more memory than one paper may use.
_MAX_NODES = 12_000
# The largest error of the logarithm of a stored weight; and the ratio to the heaviest weight below which a
# weight counts as 0, because floats near the smallest one have few digits.
WEIGHT_ERROR, _LEAST_WEIGHT = 1e-9, 1e-300
_ROUNDOFF = float(np.finfo(float).epsneg)
_CHUNK = 1 << 22  # how many numbers are held at once
_UNDERFLOW = 1e-250  # sums of products below this may have lost digits to underflow
_DIFFERENCE = 1e-3  # step of the finite differences in quality
UNWEIGHABLE = (
    "the scores of paper {!r} are too far from what its candidates give, or these too precise, to be weighed "
    "in floating-point numbers"
)
_TOO_PRECISE = (
    "noise must not be so small beside slope and scores: the weights of paper {!r} could have a relative "
    f"error of {{:.3g}}, above {WEIGHT_ERROR:g}. Are slope, offset and noise in the units of the scores?"
)
_TOO_FINE = (
    "noise must not be so small beside slope, nor the bar so far out, if scores are rounded, calibration is "
    "uncertain or a pool is large: paper {!r} needs {} nodes of quadrature, more than {}. "
    "Are slope, offset and noise in the units of the scores?"
)


@dataclass(frozen=True)
class PaperData:
    """What is public about one paper; `PaperCase` explains the fields."""

    paper: str
    scores: tuple[float, ...]
    candidates: Sequence[str]
    inclusion: tuple[float, ...]
    parameters: Sequence[tuple[float, ...]]
    bar: float
    grid: tuple[float, ...] | None = None
    track: str = field(default="", kw_only=True)

    @property
    def outsider(self) -> int | None:
        """The index of `*` among the candidates."""
        return self.candidates.index(OUTSIDER) if OUTSIDER in self.candidates else None

    @property
    def tuples(self) -> Integers:
        """`[n, k]`: the candidate index in each slot, for every tuple; only `*` may stand twice."""
        return all_tuples(len(self.candidates), len(self.scores), self.outsider)

    def log_prior(self, rows: Integers) -> Array:
        """Log probability of some tuples before any score is seen, up to a constant."""
        return log_prior(self.inclusion, rows, self.outsider)

    @property
    def seat_log_odds(self) -> Array:
        """Log odds of each candidate's seat (`*` has several)."""
        reviews = len(self.scores)
        return np.asarray(log_odds(seat_probabilities(self.inclusion, reviews, self.outsider), reviews))

    def by_seat(self, values: Any) -> Any:
        """Values of candidates (along the last axis) by seat: `*` has one seat for each review."""
        return values[..., candidate_seats(len(self.candidates), len(self.scores), self.outsider)]

    @property
    def reviewers(self) -> Reviewer:
        """The calibration of the whole pool as one reviewer with array parameters."""
        return _reviewers(self)

    @property
    def calibration(self) -> Array:
        """`[candidate, parameter]`: the calibration of the whole pool."""
        shared, without = shared_part(self.parameters)
        return np.delete(_as_array(shared), without, axis=0)


@lru_cache(maxsize=1)
def _reviewers(case: PaperData) -> Reviewer:
    """Made once, not for each score: a paper is worked off before the next one."""
    return pool_reviewers(case.calibration, case.grid)


_Rows = tuple[tuple[float, ...], ...]


@lru_cache(maxsize=4)
def _as_array(rows: _Rows) -> Array:
    """The rows of the calibration that papers share."""
    return np.array(rows)


def normalize(log_weight: Array) -> Array:
    """Weights that sum to 1; weights too far below the heaviest one become 0."""
    weight = np.exp(log_weight - log_weight.max())
    weight[weight < _LEAST_WEIGHT] = 0.0
    return np.asarray(weight / weight.sum())


def tuple_posteriors(case: PaperData, rows: Integers | None = None) -> tuple[Array, Array]:
    """The log weight (up to a constant) and the favor of these tuples, or of all tuples of the paper."""
    some = case.tuples if rows is None else rows
    prior = case.log_prior(some)
    # Overflow is refused below, for all tuples at once.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        reviewers = case.reviewers
        if known_affine(reviewers):
            log_weight, favor = _closed_form(case, reviewers, some, prior)
        else:
            log_weight, favor = _by_quadrature(case, rows)
            log_weight += prior
    if np.isnan([log_weight, favor]).any() or not np.isfinite(log_weight.max()):
        raise InputError(UNWEIGHABLE.format(case.paper))
    return log_weight, favor


@dataclass(frozen=True, eq=False)
class GaussianSites:
    """Reviews as Gaussian measurements of quality q, by slot and candidate.

    The log likelihood is `constant - (gap - gain q)^2 / 2`, up to one constant for all. (In expectation
    propagation such factors are called sites.)
    """

    gain: Array  # slope over noise
    gap: Array  # score less offset, over noise
    constant: Array  # the log of the normalization


def affine_sites(scores: Array, slope: Array, offset: Array, noise: Array) -> GaussianSites:
    """The sites of affine reviewers a, b, sigma who are known exactly: gain = a/sigma, gap = (s-b)/sigma."""
    gap = (scores - offset) / noise
    gain, constant = (np.broadcast_to(part, gap.shape) for part in (slope / noise, -np.log(noise)))
    return GaussianSites(gain, gap, constant)


def combined_sites(sites: GaussianSites, rows: Integers, prior: Array) -> tuple[Array, Array, Array, Array]:
    """For these tuples: log weight, mean (also the median) and precision of quality, and a sum of squares.

    precision = 1 + sum gain^2,  mean = (sum gain gap)/precision,  square = mean^2 + sum (gap - gain mean)^2,
    log weight = log prior + sum constant - (square + log precision)/2

    The residuals are squared and added: no two large terms cancel, however small the noise.
    """
    gain, gap = sites.gain, sites.gap
    precision = 1.0 + _sum_over_slots(gain**2, rows)
    mean = _sum_over_slots(gain * gap, rows) / precision
    square = mean**2
    for slot, who in enumerate(rows.T):
        square += (gap[slot][who] - gain[slot][who] * mean) ** 2
    log_weight = prior + _sum_over_slots(sites.constant, rows) - 0.5 * (square + np.log(precision))
    return log_weight, mean, precision, square


def _closed_form(case: PaperData, affine: Affine, rows: Integers, prior: Array) -> tuple[Array, Array]:
    """Affine reviewers: the favor is `Phi((mean-bar) sqrt(precision))`."""
    scores = np.array(case.scores)[:, None]
    sites = affine_sites(scores, affine.slope, affine.offset, affine.noise)
    log_weight, mean, precision, square = combined_sites(sites, rows, prior)
    _check_precision(case, log_weight, square, precision * mean**2, float(np.abs(sites.constant).max()))
    return log_weight, ndtr((mean - case.bar) * np.sqrt(precision))


def _check_precision(
    case: PaperData, log_weight: Array, square: Array, pulled: Array, log_noise: float
) -> None:
    """Refuse weights that could be off by more than `WEIGHT_ERROR`.

    With u the unit roundoff, Q the square and B^2 = precision mean^2, a residual `gap - gain mean` is off by
    3u(|gap| + |gain mean|) at most, all of them together by 3u(3 sqrt(Q) + 2B), and their squares by
    6u sqrt(Q)(3 sqrt(Q) + 2B) up to u^2 terms. Q is least at the mean, so an error d of the mean adds only
    precision d^2. The other sums, of terms up to `size`, are off by u for each of their few terms.
    """
    counted = log_weight > log_weight.max() + np.log(_LEAST_WEIGHT)
    if not counted.any():
        return
    k, u = len(case.scores), _ROUNDOFF
    root, far = (float(np.sqrt(values[counted].max())) for values in (square, pulled))
    size = root**2 + k * log_noise + float(np.abs(log_weight[counted]).max()) - 2.0 * np.log(_LEAST_WEIGHT)
    error = u * (6.0 * root * far + (k + 20.0) * size) + ((2 * k + 16) * u * (root + far)) ** 2
    if not error <= WEIGHT_ERROR:
        raise InputError(_TOO_PRECISE.format(case.paper, error))


def _sum_over_slots(values: Array, rows: Integers) -> Array:
    """`sum_l values[l, rows[:, l]]`, slot by slot."""
    total = np.zeros(len(rows))
    for own, who in zip(values, rows.T, strict=True):
        total += own[who]
    return total


def _by_quadrature(case: PaperData, rows: Integers | None) -> tuple[Array, Array]:
    """Any likelihood: sums over quality of the product of the reviews' likelihoods and the N(0,1) prior.

    Gauss-Legendre panels, a few times narrower than any posterior, meet at the bar. Every slot's likelihood
    is divided by its largest one at each node, so that tuples are products of factors up to 1:

        weight = e^scale sum_t mass_t prod_l relative_l,t,  favor = its part above the bar / all of it

    Nothing is subtracted: with n nodes, k slots and u the unit roundoff a weight is off by (n + 2k + 700) u
    of itself at most, below 2e-12 (700: logarithms down to that of `_UNDERFLOW`, before their exponential is
    taken). A product that underflows is off by less than 1e-307, for each of (k+1) n products, even on a
    machine that flushes such numbers to 0. So a sum above `_UNDERFLOW` keeps its digits; the others are added
    again in logs.
    """
    quality, log_rule, edge = _panels_at_bar(case)
    likelihood, log_base = log_likelihoods(case, quality), log_rule - 0.5 * quality**2
    # Likelihoods over the largest one of their slot and node; the first slot also holds the mass of the node
    # over the largest one.
    top = likelihood.max(axis=1)
    top = np.where(np.isneginf(top), 0.0, top)
    log_mass = log_base + top.sum(axis=0)
    scale, relative = float(log_mass.max()), np.exp(likelihood - top[:, None])
    relative[0] *= np.exp(log_mass - scale)
    if rows is None:
        below, above = _sums_of_all_tuples(case, relative, edge)
    else:
        mass = tuple_products(relative, rows)
        below, above = mass[:, :edge].sum(axis=1), mass[:, edge:].sum(axis=1)
    total = below + above
    log_weight, favor = scale + np.log(total), above / total
    light = np.flatnonzero(~(total >= _UNDERFLOW))
    if light.size:
        rows_in_logs = (case.tuples if rows is None else rows)[light]
        log_weight[light], favor[light] = _sums_in_logs(likelihood, log_base, edge, rows_in_logs)
    return log_weight, favor


def log_likelihoods(case: PaperData, quality: Array) -> Array:
    """`[slot, candidate, node]` log likelihoods; equal scores share them."""
    by_score = {
        score: np.ascontiguousarray(case.reviewers.log_likelihood(score, quality[:, None]).T)
        for score in dict.fromkeys(case.scores)
    }
    return np.stack([by_score[score] for score in case.scores])


def node_likelihoods(case: PaperData, apart: float, nodes: range) -> Array:
    """`[slot, candidate, node]` log likelihoods at the qualities `bar + apart (i + 1/2)` of some nodes i."""
    shared, without = shared_part(case.parameters)
    by_score = {
        score: np.delete(_row_likelihoods(score, case.grid, shared, case.bar, apart, nodes), without, axis=0)
        for score in dict.fromkeys(case.scores)
    }
    return np.stack([by_score[score] for score in case.scores])


# Papers that a whole committee may have reviewed share the likelihoods of each score of the grid.
@lru_cache(maxsize=32)
def _row_likelihoods(
    score: float, grid: tuple[float, ...] | None, rows: _Rows, bar: float, apart: float, nodes: range
) -> Array:
    """`[row, node]` for every row of the calibration; a number depends on no other row."""
    quality, likelihood = bar + apart * (np.array(nodes) + 0.5), np.empty((len(rows), len(nodes)))
    # Reviewers who are known exactly have another formula, whose last digit may differ.
    exact = np.array([not any(row[3:5]) for row in rows])
    for some in filter(np.size, map(np.flatnonzero, (exact, ~exact))):
        pool = pool_reviewers(np.array([rows[index] for index in some]), grid)
        likelihood[some] = pool.log_likelihood(score, quality[:, None]).T
    return likelihood


def pool_reviewers(rows: Array, grid: tuple[float, ...] | None) -> Reviewer:
    """The calibration of a whole pool as one reviewer with array parameters."""
    slope, offset, noise, slope_se, offset_se, correlation, noise_se = rows.T
    total = np.sqrt(noise**2 + noise_se**2)
    shared = correlation * slope_se * offset_se
    covariance = np.stack([slope_se**2, shared, shared, offset_se**2], axis=-1).reshape(-1, 2, 2)
    affine = Affine(slope, offset, total, covariance if covariance.any() else None)
    return affine if grid is None else Rounded(affine, grid)


def _sums_of_all_tuples(case: PaperData, relative: Array, edge: int) -> tuple[Array, Array]:
    """For every tuple the sums over the nodes below and above the bar, by matrix products.

    `tuple_halves` splits the slots in two. The first and second halves of tuples contribute one matrix each,
    `[half, node]`, and the product of the two has the sums of all pairs of halves.
    """
    first, second, pair_index = tuple_halves(len(case.candidates), len(relative), case.outsider)
    slots = first.shape[1]
    right = tuple_products(relative[slots:], second)
    size = max(1, _CHUNK // max(right.shape))
    below, above = np.empty(pair_index.size), np.empty(pair_index.size)
    for start in range(0, len(first), size):
        left = tuple_products(relative[:slots], first[start : start + size])
        ends = np.searchsorted(pair_index, [start * len(second), (start + size) * len(second)])
        tuples = slice(*ends)
        pairs = pair_index[tuples] - start * len(second)
        below[tuples] = (left[:, :edge] @ right[:, :edge].T).ravel()[pairs]
        above[tuples] = (left[:, edge:] @ right[:, edge:].T).ravel()[pairs]
    return below, above


def tuple_products(relative: Array, rows: Integers) -> Array:
    """`[row, node]`: the product over the slots of a row's candidates."""
    product = np.ones((len(rows), relative.shape[2])) if not len(relative) else relative[0][rows[:, 0]]
    for slot in range(1, len(relative)):
        product *= relative[slot][rows[:, slot]]
    return product


def _sums_in_logs(likelihood: Array, log_base: Array, edge: int, rows: Integers) -> tuple[Array, Array]:
    """Log weight and favor of tuples however light, with an exponential for each tuple and node."""
    log_weight, favor = np.empty(len(rows)), np.empty(len(rows))
    size = max(1, _CHUNK // log_base.size)
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        mass = log_base + likelihood[0][part[:, 0]]
        for slot in range(1, len(likelihood)):
            mass += likelihood[slot][part[:, slot]]
        top = mass.max(axis=1, keepdims=True)
        mass = np.exp(mass - top)
        below, above = mass[:, :edge].sum(axis=1), mass[:, edge:].sum(axis=1)
        log_weight[start : start + size] = top[:, 0] + np.log(below + above)
        favor[start : start + size] = above / (above + below)
    return log_weight, favor


def panel_spacing(case: PaperData, width: float, nodes: int = 1) -> tuple[float, float]:
    """The width of a panel with this many nodes, and the largest absolute quality to look at.

    `width` is in standard deviations of the sharpest posterior there can be: that of the most precise
    candidates. The paper is refused if it needs too many nodes.
    """
    slope, offset, noise = case.calibration.T[:3]
    sharpest = float(np.sort(slope**2 / noise**2)[-len(case.scores) :].sum())
    far = np.abs((np.array(case.scores)[:, None] - offset) / slope).max()
    reach = float(max(_LEAST_REACH, abs(case.bar) + 1.0, min(far + 1.0, _MOST_REACH)))
    panel = width / float(np.sqrt(1.0 + sharpest))
    needed = 2.0 * reach / panel * nodes
    if not needed <= _MAX_NODES:
        raise InputError(_TOO_FINE.format(case.paper, f"{needed:.3g}", _MAX_NODES))
    return panel, reach


def _panels_at_bar(case: PaperData) -> tuple[Array, Array, int]:
    """Nodes, log weights, and the index of the first node above the bar."""
    width, reach = panel_spacing(case, _PANEL_WIDTH, NODES)
    low = np.linspace(-reach, case.bar, 1 + int(np.ceil((case.bar + reach) / width)))
    high = np.linspace(case.bar, reach, 1 + int(np.ceil((reach - case.bar) / width)))
    quality, weights = gauss_legendre_panels(np.concatenate([low, high[1:]]))
    return quality.ravel(), np.log(weights).ravel(), NODES * (len(low) - 1)


def acceptance_evidence(case: PaperData) -> Array:
    """`[slot, candidate]`: the evidence for accepting if the candidate wrote the review.

    It is the slope of the log likelihood at the bar, less its share of the prior's slope. For affine
    reviewers a tuple favors accepting exactly if the sum of these is above 0. How strongly depends on the
    precision of the reviews together, so each slope is divided by the root of its own precision plus the mean
    of the others'.
    """
    ends = case.bar + _DIFFERENCE * np.array([-1.0, 0.0, 1.0])
    low, at, high = np.moveaxis(log_likelihoods(case, ends), -1, 0)
    with np.errstate(invalid="ignore"):
        parts = (high - low) / (2 * _DIFFERENCE), (2 * at - high - low) / _DIFFERENCE**2
    slope, bend = np.nan_to_num(parts, nan=0.0, posinf=0.0, neginf=0.0)
    reviews, precision = len(case.scores), np.maximum(bend, 0.0)
    others = precision.mean(axis=1).sum() - precision.mean(axis=1, keepdims=True)
    return np.asarray((slope - case.bar / reviews) / np.sqrt(1.0 + precision + others))
