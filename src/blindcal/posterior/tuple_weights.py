"""Tuples of reviewers -> their weights and favors: how likely each is to have written a paper's reviews.

Given the quality the reviews are independent, so a tuple's weight and favor are integrals over one number;
closed form where every reviewer is affine with Gaussian noise, otherwise sums over the nodes of one
quadrature that all tuples of a paper share, by matrix products.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import ndtr

from blindcal.assignment.prior import Sets, halves_of
from blindcal.checks import Array, Integers
from blindcal.errors import InputError
from blindcal.reviewers.affine import Affine
from blindcal.reviewers.base import Reviewer
from blindcal.reviewers.quadrature import NODES, panels

# Panels are this many times the sharpest posterior's standard deviation wide: the rule then gives all digits
# of it, wherever they begin.
_PANEL = 4.5
_LEAST_REACH, _MOST_REACH = 9.0, 40.0
# More nodes would take more memory than is lent to one paper.
_MOST_NODES = 12_000
# No logarithm of a stored weight is off by more than this. A weight this many times below the heaviest one
# counts as 0: floats near the least one have few digits.
WEIGHT_ERROR, _LEAST_WEIGHT = 1e-9, 1e-300
_ROUNDOFF = float(np.finfo(float).epsneg)
_CHUNK = 1 << 22
# Products of single tuples are taken this many at a time: they stay in the cache.
_FEW = 1 << 16
# Sums of products below this may have lost digits at the end of the range of floats.
_LIGHT = 1e-250
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
    def tuples(self) -> Integers: ...
    @property
    def reviewers(self) -> Reviewer: ...
    @property
    def sets(self) -> Sets | None: ...
    def log_prior(self, rows: Integers) -> Array: ...


def normalized(log_weight: Array) -> Array:
    """Weights that sum to 1; what is too far below the heaviest is 0."""
    weight = np.exp(log_weight - log_weight.max())
    weight[weight < _LEAST_WEIGHT] = 0.0
    return np.asarray(weight / weight.sum())


def posteriors(case: Weighed, rows: Integers | None = None) -> tuple[Array, Array]:
    """For these tuples, or for all: log weight (up to a constant) and favor."""
    # All tuples of a sampled assignment are few: they have no halves.
    rows = case.tuples if rows is None and case.sets is not None else rows
    some = case.tuples if rows is None else rows
    prior = case.log_prior(some)
    # What leaves the range of a float is found below.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if (affine := _known(case.reviewers)) is not None:
            log_weight, favor = _gaussian(case, affine, some, prior)
        else:
            log_weight, favor = _integrated(case, rows)
            log_weight += prior
    if np.isnan([log_weight, favor]).any() or not np.isfinite(log_weight.max()):
        raise InputError(UNWEIGHABLE.format(case.paper))
    return log_weight, favor


def _known(reviewers: Reviewer) -> Affine | None:
    """The reviewers if they are affine and known exactly: there is a closed form."""
    return reviewers if isinstance(reviewers, Affine) and reviewers.covariance is None else None


@dataclass(frozen=True, eq=False)
class Sites:
    """Reviews as Gaussian measurements of quality q, by slot and candidate:
    log likelihood = `constant - (gap - gain q)^2 / 2`, up to one constant for all."""

    gain: Array
    gap: Array
    constant: Array


def known_sites(scores: Array, slope: Array, offset: Array, noise: Array) -> Sites:
    """Reviewers a, b, sigma who are known exactly: gain = a/sigma, gap = (s-b)/sigma."""
    gap = (scores - offset) / noise
    gain, constant = (np.broadcast_to(part, gap.shape) for part in (slope / noise, -np.log(noise)))
    return Sites(gain, gap, constant)


def summed_sites(sites: Sites, rows: Integers, prior: Array) -> tuple[Array, Array, Array, Array]:
    """For these tuples: log weight, mean (or median) and precision of quality, and a sum of squares:

    precision = 1 + sum gain^2,  mean = (sum gain gap)/precision,  square = mean^2 + sum (gap - gain mean)^2,
    log weight = log prior + sum constant - (square + log precision)/2

    The square is a sum of squares: no two large terms cancel, however small the noise.
    """
    gain, gap = sites.gain, sites.gap
    precision = 1.0 + _summed(gain**2, rows)
    mean = _summed(gain * gap, rows) / precision
    square = mean**2
    for slot, who in enumerate(rows.T):
        square += (gap[slot][who] - gain[slot][who] * mean) ** 2
    log_weight = prior + _summed(sites.constant, rows) - 0.5 * (square + np.log(precision))
    return log_weight, mean, precision, square


def _gaussian(case: Weighed, affine: Affine, rows: Integers, prior: Array) -> tuple[Array, Array]:
    """Closed form: the favor is `Phi((mean-bar) sqrt(precision))`."""
    scores = np.array(case.scores)[:, None]
    sites = known_sites(scores, affine.slope, affine.offset, affine.noise)
    log_weight, mean, precision, square = summed_sites(sites, rows, prior)
    _check_precision(case, log_weight, square, precision * mean**2, float(np.abs(sites.constant).max()))
    return log_weight, ndtr((mean - case.bar) * np.sqrt(precision))


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


def _summed(values: Array, rows: Integers) -> Array:
    """`sum_l values[l, rows[:, l]]`, slot by slot."""
    total = np.zeros(len(rows))
    for own, who in zip(values, rows.T, strict=True):
        total += own[who]
    return total


def _integrated(case: Weighed, rows: Integers | None) -> tuple[Array, Array]:
    """Any likelihood: sums over quality of the product of the reviews' likelihoods and the N(0,1) prior.

    Gauss-Legendre panels, a few times narrower than any posterior, that meet at the bar. Every slot's
    likelihood is divided by its largest one at each node, so that tuples are products of factors up to 1:

        weight = e^scale sum_t mass_t prod_l relative_l,t,  favor = its part above the bar / all of it

    Nothing is subtracted: with n nodes, k slots and u the unit roundoff a weight is off by (n + 2k + 700) u
    of itself at most, below 2e-12 (700: logarithms down to that of `_LIGHT`, before their exponential is
    taken). What leaves the range of floats on the way is off by less than 1e-307 for each of (k+1) n
    products, even where a machine takes such numbers for 0. So a sum above `_LIGHT` keeps its digits; the
    others are added up again in logarithms.
    """
    quality, log_rule, edge = _panels(case)
    likelihood, log_base = likelihoods(case, quality), log_rule - 0.5 * quality**2
    relative, scale = _relative(likelihood, log_base)
    if rows is None:
        below, above = _all_sums(case, relative, edge)
    else:
        below, above = _some_sums(rows, relative, edge)
    total = below + above
    log_weight, favor = scale + np.log(total), above / total
    light = np.flatnonzero(~(total >= _LIGHT))
    if light.size:
        few = (case.tuples if rows is None else rows)[light]
        log_weight[light], favor[light] = _in_logarithms(likelihood, log_base, edge, few)
    return log_weight, favor


def likelihoods(case: Weighed, quality: Array) -> Array:
    """`[slot, candidate, node]` log likelihoods; equal scores have the same ones."""
    pool = case.reviewers
    found = {score: by_candidate(pool, score, quality) for score in dict.fromkeys(case.scores)}
    return np.stack([found[score] for score in case.scores])


def _relative(likelihood: Array, log_base: Array) -> tuple[Array, float]:
    """Likelihoods over the largest one of their slot and node, the first slot times the mass of the node
    over the largest; and the log of what is left out."""
    top = likelihood.max(axis=1)
    top = np.where(np.isneginf(top), 0.0, top)
    log_mass = log_base + top.sum(axis=0)
    relative = np.exp(likelihood - top[:, None])
    relative[0] *= np.exp(log_mass - log_mass.max())
    return relative, float(log_mass.max())


def _all_sums(case: Weighed, relative: Array, edge: int) -> tuple[Array, Array]:
    """For every tuple the sums over the nodes below and above the bar, by matrix products.

    `halves_of` splits the slots in two: what the first and the second half of a tuple contribute at each
    node are two matrices, and their product has the sums of all pairs of halves.
    """
    first, second, place = halves_of(len(case.candidates), len(relative), case.outsider)
    slots = first.shape[1]
    right = _products(relative[slots:], second)
    size = max(1, _CHUNK // max(right.shape))
    below, above = np.empty(place.size), np.empty(place.size)
    for start in range(0, len(first), size):
        left = _products(relative[:slots], first[start : start + size])
        ends = np.searchsorted(place, [start * len(second), (start + size) * len(second)])
        mine = slice(*ends)
        pairs = place[mine] - start * len(second)
        below[mine] = (left[:, :edge] @ right[:, :edge].T).ravel()[pairs]
        above[mine] = (left[:, edge:] @ right[:, edge:].T).ravel()[pairs]
    return below, above


def _some_sums(rows: Integers, relative: Array, edge: int) -> tuple[Array, Array]:
    """For these tuples the sums over the nodes below and above the bar."""
    below, above = np.empty(len(rows)), np.empty(len(rows))
    size = max(1, _FEW // relative.shape[2])
    for start in range(0, len(rows), size):
        mass = _products(relative, rows[start : start + size])
        below[start : start + size] = mass[:, :edge].sum(axis=1)
        above[start : start + size] = mass[:, edge:].sum(axis=1)
    return below, above


def _products(relative: Array, rows: Integers) -> Array:
    """`[row, node]`: the product over the slots of a row's candidates."""
    found = np.ones((len(rows), relative.shape[2])) if not len(relative) else relative[0][rows[:, 0]]
    for slot in range(1, len(relative)):
        found *= relative[slot][rows[:, slot]]
    return found


def _in_logarithms(likelihood: Array, log_base: Array, edge: int, rows: Integers) -> tuple[Array, Array]:
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


def by_candidate(reviewers: Reviewer, score: float, quality: Array) -> Array:
    """`[candidate, node]` log likelihood of one score."""
    return np.ascontiguousarray(reviewers.log_likelihood(score, quality[:, None]).T)


def spacing(case: Weighed, width: float, nodes: int = 1) -> tuple[float, float]:
    """How wide a panel with this many nodes is, and how far from 0 qualities are looked at.

    `width` is in standard deviations of the sharpest posterior: that of the most precise candidates. Refused
    where more nodes are needed than there may be.
    """
    slope, offset, noise = np.array(case.parameters).T[:3]
    sharpest = float(np.sort(slope**2 / noise**2)[-len(case.scores) :].sum())
    far = np.abs((np.array(case.scores)[:, None] - offset) / slope).max()
    reach = float(max(_LEAST_REACH, abs(case.bar) + 1.0, min(far + 1.0, _MOST_REACH)))
    panel = width / float(np.sqrt(1.0 + sharpest))
    needed = 2.0 * reach / panel * nodes
    if not needed <= _MOST_NODES:
        raise InputError(_TOO_FINE.format(case.paper, f"{needed:.3g}", _MOST_NODES))
    return panel, reach


def _panels(case: Weighed) -> tuple[Array, Array, int]:
    """Nodes, log weights, and the index of the first node above the bar."""
    width, reach = spacing(case, _PANEL, NODES)
    low = np.linspace(-reach, case.bar, 1 + int(np.ceil((case.bar + reach) / width)))
    high = np.linspace(case.bar, reach, 1 + int(np.ceil((reach - case.bar) / width)))
    quality, weights = panels(np.concatenate([low, high[1:]]))
    return quality.ravel(), np.log(weights).ravel(), NODES * (len(low) - 1)


def lean(case: Weighed) -> Array:
    """`[slot, candidate]`: what each score says for accepting if the candidate wrote it; at 0, neither way.

    The slope of the log likelihood at the bar, less its share of the prior's: for affine reviewers the
    evidence of a tuple favors accepting exactly where these add up to more than 0. How strongly depends on
    how precise the reviews are together, so each is divided by the root of its own precision and of what the
    others have on average.
    """
    ends = case.bar + _NEAR * np.array([-1.0, 0.0, 1.0])
    low, at, high = np.moveaxis(likelihoods(case, ends), -1, 0)
    with np.errstate(invalid="ignore"):
        slope = np.nan_to_num((high - low) / (2 * _NEAR), nan=0.0, posinf=0.0, neginf=0.0)
        bend = np.nan_to_num((2 * at - high - low) / _NEAR**2, nan=0.0, posinf=0.0, neginf=0.0)
    reviews, precision = len(case.scores), np.maximum(bend, 0.0)
    others = precision.mean(axis=1).sum() - precision.mean(axis=1, keepdims=True)
    return np.asarray((slope - case.bar / reviews) / np.sqrt(1.0 + precision + others))
