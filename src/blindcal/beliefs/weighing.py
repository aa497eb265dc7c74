"""Tuples of reviewers -> their weights and favors: how likely each is to have written a paper's reviews.

Given the quality the reviews are independent, so a tuple's weight and favor are integrals over one number;
closed form where every reviewer is affine with Gaussian noise, otherwise sums over the nodes of one
quadrature that all tuples of a paper share.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.special import ndtr

from blindcal.assignments.pools import copied, log_odds, seats
from blindcal.beliefs.sums import Nodes
from blindcal.checks import Array, Integers
from blindcal.errors import InputError
from blindcal.reviewers.affine import Affine
from blindcal.reviewers.protocol import Reviewer

# Panels are this many times the sharpest posterior's standard deviation wide.
_PANEL, _NODES = 3.0, 12
_RULE = np.polynomial.legendre.leggauss(_NODES)
_LEAST_REACH, _MOST_REACH = 9.0, 40.0
# More nodes would take more memory than is lent to one paper.
_MOST_NODES = 12_000
# No logarithm of a stored weight is off by more than this. A weight so many times below the heaviest one
# counts as 0: floats near the least one have few digits.
WEIGHT_ERROR, _LEAST_WEIGHT = 1e-9, 1e-300
_ROUNDOFF = float(np.finfo(float).epsneg)
_CHUNK = 1 << 22
_NEAR = 1e-3
UNWEIGHABLE = (
    "the scores of paper {!r} are too far from what its candidates give, or these too precise, to be weighed "
    "in floating-point numbers"
)
_TOO_PRECISE = (
    "noise must not be so small beside slope and scores: the weights of paper {!r} could be off by {:.3g} of "
    f"themselves, where {WEIGHT_ERROR:g} is allowed. Are slope, offset and noise in the units of the scores?"
)
_TOO_FINE = (
    "noise must not be so small beside slope, nor the bar so far out, where scores are rounded, calibration "
    "is uncertain or a pool is large: paper {!r} needs {} nodes of quadrature, where {} are allowed. "
    "Are slope, offset and noise in the units of the scores?"
)


class Weighed(Protocol):
    """What is asked of a paper here; see `PaperCase`."""

    @property
    def paper(self) -> str: ...
    @property
    def scores(self) -> tuple[float, ...]: ...
    @property
    def candidates(self) -> tuple[str, ...]: ...
    @property
    def inclusion(self) -> tuple[float, ...]: ...
    @property
    def parameters(self) -> tuple[tuple[float, ...], ...]: ...
    @property
    def bar(self) -> float: ...
    @property
    def outsider(self) -> int | None: ...
    @property
    def reviewers(self) -> Reviewer: ...
    def log_prior(self, rows: Integers) -> Array: ...


def normalized(log_weight: Array) -> Array:
    """Weights that sum to 1; what is too far below the heaviest is 0."""
    weight = np.exp(log_weight - log_weight.max())
    weight[weight < _LEAST_WEIGHT] = 0.0
    return np.asarray(weight / weight.sum())


def posteriors(case: Weighed, rows: Integers) -> tuple[Array, Array, Array]:
    """For these tuples: log weight (up to a constant), favor, and the median of quality."""
    reviewers, prior = case.reviewers, case.log_prior(rows)
    # What leaves the range of a float is found below.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if isinstance(reviewers, Affine) and reviewers.covariance is None:
            log_weight, favor, median = _gaussian(case, reviewers, rows, prior)
        else:
            log_weight, favor, median = _integrated(case, reviewers, rows)
            log_weight += prior
    if np.isnan([log_weight, favor, median]).any() or not np.isfinite(log_weight.max()):
        raise InputError(UNWEIGHABLE.format(case.paper))
    return log_weight, favor, median


def _gaussian(case: Weighed, affine: Affine, rows: Integers, prior: Array) -> tuple[Array, Array, Array]:
    """Closed form: with a, b, sigma of the tuple's reviewers, gain = a/sigma and gap = (s-b)/sigma,

    precision = 1 + sum gain^2,  mean = (sum gain gap)/precision,  square = mean^2 + sum (gap - gain mean)^2,
    log weight = log prior - (square + log precision)/2 - sum log sigma,
    favor = Phi((mean-bar)*sqrt(precision))

    The square is a sum of squares: no two large terms cancel, however small the noise.
    """
    slots = np.arange(len(case.scores))
    gain, log_noise = affine.slope / affine.noise, np.log(affine.noise)
    gap = (np.array(case.scores)[:, None] - affine.offset) / affine.noise
    precision = 1.0 + _summed(np.broadcast_to(gain**2, gap.shape), rows, slots)
    mean = _summed(gain * gap, rows, slots) / precision
    square = mean**2
    for slot in slots:
        who = rows[:, slot]
        square += (gap[slot][who] - gain[who] * mean) ** 2
    constant = prior - _summed(np.broadcast_to(log_noise, gap.shape), rows, slots)
    log_weight = constant - 0.5 * (square + np.log(precision))
    _check_precision(case, log_weight, square, precision * mean**2, float(np.abs(log_noise).max()))
    return log_weight, ndtr((mean - case.bar) * np.sqrt(precision)), mean


def _check_precision(
    case: Weighed, log_weight: Array, square: Array, pulled: Array, log_noise: float
) -> None:
    """Refuse weights that could be off by more than `WEIGHT_ERROR`.

    With u the unit roundoff, Q the square and B^2 = precision mean^2, a residual `gap - gain mean` is off by
    3u(|gap| + |gain mean|) at most, all of them together by 3u(3 sqrt(Q) + 2B), and their squares by
    6u sqrt(Q)(3 sqrt(Q) + 2B) up to u^2 terms. An error d of the mean, where Q is least, adds only
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


def _summed(values: Array, rows: Integers, slots: Integers) -> Array:
    """`sum_l values[l, rows[:, l]]`, slot by slot."""
    total = np.zeros(len(rows))
    for slot in slots:
        total += values[slot][rows[:, slot]]
    return total


def _integrated(case: Weighed, reviewers: Reviewer, rows: Integers) -> tuple[Array, Array, Array]:
    """Any likelihood: sums over quality of the product of the reviews' likelihoods and the N(0,1) prior.

    Gauss-Legendre panels, a few times narrower than any posterior, that meet at the bar.
    """
    quality, log_rule, edge = _panels(case)
    likelihood = np.stack([_by_candidate(reviewers, score, quality) for score in case.scores])
    log_base = log_rule - 0.5 * quality**2
    n, size = len(rows), max(1, _CHUNK // quality.size)
    log_weight, favor, median = np.empty(n), np.empty(n), np.empty(n)
    for start in range(0, n, size):
        part = rows[start : start + size]
        mass = log_base + likelihood[0][part[:, 0]]
        for slot in range(1, len(case.scores)):
            mass += likelihood[slot][part[:, slot]]
        top = mass.max(axis=1, keepdims=True)
        mass = np.exp(mass - top)
        below = np.cumsum(mass, axis=1)
        total = below[:, -1]
        log_weight[start : start + size] = top[:, 0] + np.log(total)
        above = mass[:, edge:].sum(axis=1)
        favor[start : start + size] = above / (above + mass[:, :edge].sum(axis=1))
        median[start : start + size] = quality[(below < 0.5 * total[:, None]).sum(axis=1)]
    return log_weight, favor, median


def _by_candidate(reviewers: Reviewer, score: float, quality: Array) -> Array:
    """`[candidate, node]` log likelihood of one score."""
    return np.ascontiguousarray(reviewers.log_likelihood(score, quality[:, None]).T)


def _panels(case: Weighed) -> tuple[Array, Array, int]:
    """Nodes, log weights, and the index of the first node above the bar."""
    slope, offset, noise = np.array(case.parameters).T[:3]
    k = len(case.scores)
    sharpest = np.sort(slope**2 / noise**2)[-k:].sum()
    width = _PANEL / np.sqrt(1.0 + sharpest)
    far = np.abs((np.array(case.scores)[:, None] - offset) / slope).max()
    reach = max(_LEAST_REACH, abs(case.bar) + 1.0, min(far + 1.0, _MOST_REACH))
    needed = 2.0 * reach / width * _NODES
    if not needed <= _MOST_NODES:
        raise InputError(_TOO_FINE.format(case.paper, f"{needed:.3g}", _MOST_NODES))
    low = np.linspace(-reach, case.bar, 1 + int(np.ceil((case.bar + reach) / width)))
    high = np.linspace(case.bar, reach, 1 + int(np.ceil((reach - case.bar) / width)))
    edges = np.concatenate([low, high[1:]])
    nodes, weights = _RULE
    half = 0.5 * np.diff(edges)[:, None]
    quality = 0.5 * (edges[1:] + edges[:-1])[:, None] + half * nodes
    return quality.ravel(), np.log(half * weights).ravel(), _NODES * (len(low) - 1)


def all_nodes(case: Weighed) -> tuple[Nodes, float]:
    """Each review's likelihood at each node, odds counted in, and the log of what their mass was divided
    by."""
    quality, log_rule, edge = _panels(case)
    reviews = len(case.scores)
    odds = np.asarray(log_odds(copied(case.inclusion, reviews, case.outsider), reviews))
    forced = np.isposinf(odds)
    pool = case.reviewers
    likelihood = np.stack([_by_candidate(pool, score, quality) for score in case.scores])
    likelihood = likelihood[:, seats(len(case.candidates), reviews, case.outsider)]
    likelihood += np.where(forced, 0.0, odds)[:, None]
    top = likelihood.max(axis=1)
    log_mass = log_rule - 0.5 * quality**2 + top.sum(axis=0)
    relative, mass = np.exp(likelihood - top[:, None]), np.exp(log_mass - log_mass.max())
    sure = frozenset(np.flatnonzero(forced).tolist())
    return Nodes(relative, mass, edge, sure), float(log_mass.max())


def lean(case: Weighed) -> Array:
    """`[slot, candidate]`: the slope of the log likelihood at the bar. For affine reviewers the evidence
    favors accepting exactly where these slopes add up to more than the bar."""
    pool, ends = case.reviewers, np.array([case.bar - _NEAR, case.bar + _NEAR])
    sides = np.stack([_by_candidate(pool, score, ends) for score in case.scores])
    with np.errstate(invalid="ignore"):
        return np.nan_to_num((sides[..., 1] - sides[..., 0]) / (2 * _NEAR), nan=0.0, posinf=0.0, neginf=0.0)
