"""One paper: its public data -> the belief over the tuples of reviewers that may have written its reviews.

Everything here is a function of public information: scores by slot, pool, parameters, bar. Given the quality
the reviews are independent, so a tuple's weight and favor are integrals over one number; closed form where
every reviewer is affine with Gaussian noise. Where the tuples are too many to be listed, the belief is that
of a crowd, and what it does not tell is estimated from a sample of tuples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from typing import Any

import numpy as np
from scipy.special import ndtr

from blindcal.assignments.pools import (
    NOBODY,
    OUTSIDER,
    copied,
    log_odds,
    log_prior,
    seats,
    tuple_count,
    tuples_of,
)
from blindcal.beliefs.belief import Belief, unchecked_belief
from blindcal.beliefs.crowds import Crowd, Layout, crowd, layout, sampled
from blindcal.beliefs.sums import Nodes, Sums, significant
from blindcal.checks import Array, Integers
from blindcal.errors import InputError
from blindcal.reviewers.affine import Affine
from blindcal.reviewers.protocol import Reviewer
from blindcal.reviewers.rounded import Rounded

# All tuples of a paper are listed and certified one by one: seconds a paper at this number.
MOST_LISTED = 2_000_000
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
# As many tuples of a sample as the bar is chosen by.
_FEW = 4_000
_UNWEIGHABLE = (
    "the scores of paper {!r} are too far from what its candidates give, or these too precise, to be weighed "
    "in floating-point numbers"
)
_TOO_PRECISE = (
    "noise must not be so small beside slope and scores: the weights of paper {!r} could be off by {:.1g} of "
    f"themselves, where {WEIGHT_ERROR:g} is allowed"
)
_TOO_FINE = (
    "noise must not be so small beside slope, nor the bar so far out, where scores are rounded, calibration "
    "is uncertain or a pool is large: paper {!r} needs {} nodes of quadrature, where {} are allowed. "
    "Are slope, offset and noise in the units of the scores?"
)


@dataclass(frozen=True)
class PaperCase:
    """Everything public about one paper; the same whatever the true assignment.

    `scores` are sorted: slot l is the l-th lowest score. `candidates` are the sorted ids of the pool
    (`*`: anyone not listed), `inclusion` their probabilities of having reviewed the paper (of `*` the
    expected number of reviews, for it may have written several), `parameters` their rows (slope, offset,
    noise, slope_se, offset_se, correlation, noise_se). `grid` holds the scores that reviewers can give, None
    where scores are not rounded. `most_listed` is no fact about the paper: where there are more tuples than
    that, they are summed up.
    """

    paper: str
    scores: tuple[float, ...]
    candidates: tuple[str, ...]
    inclusion: tuple[float, ...]
    parameters: tuple[tuple[float, ...], ...]
    bar: float
    grid: tuple[float, ...] | None = None
    most_listed: int = field(default=MOST_LISTED, kw_only=True, repr=False)

    @property
    def outsider(self) -> int | None:
        """Which of the candidates is `*`."""
        return self.candidates.index(OUTSIDER) if OUTSIDER in self.candidates else None

    @property
    def listed(self) -> bool:
        """Whether every tuple has an accept probability of its own."""
        tuples = tuple_count(len(self.candidates), len(self.scores), OUTSIDER in self.candidates)
        return tuples <= self.most_listed

    @property
    def tuples(self) -> Integers:
        """`[n, k]`: the candidate index in each slot, for every tuple; `*` alone may stand twice."""
        return tuples_of(len(self.candidates), len(self.scores), self.outsider)

    @property
    def settled(self) -> bool:
        """Whether public information alone decides the paper."""
        return False

    @property
    def entry(self) -> Integers | None:
        """Which entry of the table each listed tuple takes; None: each its own."""
        return None

    @property
    def belief(self) -> Belief:
        """What is believed before the decision: from the scores alone, unless decisions were made before."""
        return self.scores_belief

    @property
    def scores_belief(self) -> Belief:
        """weight[n], favor[n], labels[k, n] (the named candidates of `tuples`), computed when asked for.

        Where the tuples are not listed, over the parts of a crowd, with `entry[n]`.
        """
        if not self.listed:
            return self.crowd.belief
        weight, favor, labels = _listed(self)
        return unchecked_belief(weight, favor, labels, self.entry)

    def named(self, rows: Integers) -> Integers:
        """The candidates of some tuples as guesses: `*` is nobody."""
        return rows if self.outsider is None else np.where(rows == self.outsider, NOBODY, rows)

    @property
    def medians(self) -> tuple[Array, Array]:
        """The posterior median of quality under each tuple (or those of a sample), and the tuple's weight."""
        rows = self.tuples if self.listed else _sample_rows(self)[:_FEW]
        log_weight, _, median = _posteriors(self, rows)
        return median, _normalized(log_weight if self.listed else np.zeros(len(rows)))

    @property
    def log_evidence(self) -> float:
        """Log of the density (or probability) of the scores, up to a constant that the pool fixes; minus
        infinity where floating-point numbers cannot hold it."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            nodes, scale = _all_nodes(self)
            if not np.isfinite(scale):
                return -np.inf
            total = nodes.mass * Sums(replace(nodes, peeled=tuple(sorted(nodes.forced)))).total()
            return scale + float(np.log(max(total.sum(), np.finfo(float).tiny)))

    @property
    def crowd(self) -> Crowd:
        """The summed-up belief of a paper whose tuples are not listed."""
        return _crowd(self)

    @property
    def layout(self) -> Layout:
        """Which entry of its table each tuple takes, where tuples are not listed."""
        return _layout(self)

    @property
    def sample(self) -> Sample | None:
        """A sample of tuples where they are not listed; it depends on public data alone."""
        return None if self.listed else _sample(self)

    @property
    def look_alikes(self) -> tuple[Integers, Integers]:
        """The same number for slots with the same score, and for candidates with the same public data; `*`,
        who is nobody, is like none of them."""
        kinds: dict[object, int] = {}
        public = zip(self.inclusion, self.parameters, strict=True)
        kind = [
            NOBODY if who == OUTSIDER else kinds.setdefault(one, len(kinds))
            for who, one in zip(self.candidates, public, strict=True)
        ]
        return np.unique(self.scores, return_inverse=True)[1], np.array(kind, dtype=np.int64)

    @property
    def reviewers(self) -> Reviewer:
        """The pool's calibration, all candidates in one."""
        slope, offset, noise, slope_se, offset_se, correlation, noise_se = np.array(self.parameters).T
        total = np.sqrt(noise**2 + noise_se**2)
        shared = correlation * slope_se * offset_se
        covariance = np.stack([slope_se**2, shared, shared, offset_se**2], axis=-1).reshape(-1, 2, 2)
        affine = Affine(slope, offset, total, covariance if covariance.any() else None)
        return affine if self.grid is None else Rounded(affine, self.grid)


@dataclass(frozen=True, eq=False)
class Sample:
    """Tuples drawn from the belief: their candidates `rows[draw, slot]`, the same as guesses (`*` is nobody),
    and the table's entry they take."""

    rows: Integers
    named: Integers
    favor: Array
    entry: Integers


@lru_cache(maxsize=2)
def _listed(case: PaperCase) -> tuple[Array, Array, Integers]:
    """Weight, favor and labels of every tuple: once for all that is done with a paper at a time."""
    rows = case.tuples
    log_weight, favor, _ = _posteriors(case, rows)
    found = _normalized(log_weight), favor, case.named(rows).T
    for part in found:
        part.flags.writeable = False
    return found


@lru_cache(maxsize=4)
def _crowd(case: PaperCase) -> Crowd:
    return crowd(_nodes(case), _layout(case), _seated(case, case.look_alikes[1]))


@lru_cache(maxsize=4)
def _layout(case: PaperCase) -> Layout:
    tied, alike = case.look_alikes
    return layout(_nodes(case), _seated(case, _lean(case)), _seated(case, alike), tied)


def _seated(case: PaperCase, values: Any) -> Any:
    """Values of candidates (along the last axis), with `*` once for each review: there none stands twice."""
    return values[..., seats(len(case.candidates), len(case.scores), case.outsider)]


@lru_cache(maxsize=4)
def _sample(case: PaperCase) -> Sample:
    rows = _sample_rows(case)
    _, favor, _ = _posteriors(case, rows)
    return Sample(rows, case.named(rows), favor, case.layout.entries(rows))


def _sample_rows(case: PaperCase) -> Integers:
    seed = sha256(repr((case.paper, case.scores)).encode()).digest()
    rows = sampled(_nodes(case), np.random.default_rng(np.frombuffer(seed, dtype=np.uint32)))
    if rows is None:
        raise InputError(_UNWEIGHABLE.format(case.paper))
    return seats(len(case.candidates), len(case.scores), case.outsider)[rows]


@lru_cache(maxsize=4)
def _nodes(case: PaperCase) -> Nodes:
    """Each review's likelihood at each node of a quadrature that tells something, odds counted in."""
    every, scale = _all_nodes(case)
    nodes = significant(every) if np.isfinite(scale) else None
    if nodes is None:
        raise InputError(_UNWEIGHABLE.format(case.paper))
    return nodes


def _all_nodes(case: PaperCase) -> tuple[Nodes, float]:
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


def _lean(case: PaperCase) -> Array:
    """`[slot, candidate]`: the slope of the log likelihood at the bar. For affine reviewers the evidence
    favors accepting exactly where these slopes add up to more than the bar."""
    pool, ends = case.reviewers, np.array([case.bar - _NEAR, case.bar + _NEAR])
    sides = np.stack([_by_candidate(pool, score, ends) for score in case.scores])
    with np.errstate(invalid="ignore"):
        return np.nan_to_num((sides[..., 1] - sides[..., 0]) / (2 * _NEAR), nan=0.0, posinf=0.0, neginf=0.0)


def _normalized(log_weight: Array) -> Array:
    weight = np.exp(log_weight - log_weight.max())
    weight[weight < _LEAST_WEIGHT] = 0.0
    return np.asarray(weight / weight.sum())


def _posteriors(case: PaperCase, rows: Integers) -> tuple[Array, Array, Array]:
    """For these tuples: log weight (up to a constant), favor, and the median of quality."""
    reviewers, prior = case.reviewers, log_prior(case.inclusion, rows, case.outsider)
    # What leaves the range of a float is found below.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if isinstance(reviewers, Affine) and reviewers.covariance is None:
            log_weight, favor, median = _gaussian(case, reviewers, rows, prior)
        else:
            log_weight, favor, median = _integrated(case, reviewers, rows)
            log_weight += prior
    if np.isnan([log_weight, favor, median]).any() or not np.isfinite(log_weight.max()):
        raise InputError(_UNWEIGHABLE.format(case.paper))
    return log_weight, favor, median


def _gaussian(case: PaperCase, affine: Affine, rows: Integers, prior: Array) -> tuple[Array, Array, Array]:
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
    case: PaperCase, log_weight: Array, square: Array, pulled: Array, log_noise: float
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


def _integrated(case: PaperCase, reviewers: Reviewer, rows: Integers) -> tuple[Array, Array, Array]:
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


def _panels(case: PaperCase) -> tuple[Array, Array, int]:
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


def secret_of(case: PaperCase, reviewers: Sequence[str]) -> int:
    """The secret (row of `tuples`) in which these reviewers wrote the slots, lowest score first; where tuples
    share accept probabilities, the entry of the table that it takes.

    >>> case = PaperCase("p", (1.0, 2.0), ("a", "b", "c"), (0.5, 0.5, 1.0), ((1.0,) * 7,) * 3, 0.0)
    >>> case.tuples[secret_of(case, ("c", "a"))].tolist()
    [2, 0]

    Whoever is not in the pool is `*`, if the pool has it.
    """
    place = {name: index for index, name in enumerate(case.candidates)}
    wanted = [place.get(name, place.get(OUTSIDER, -1)) for name in reviewers]
    if -1 in wanted:
        raise InputError(f"the reviewers of paper {case.paper!r} must all be in its pool")
    if not case.listed:
        return int(case.layout.entries(np.array(wanted)))
    row = int(np.flatnonzero((case.tuples == wanted).all(axis=1))[0])
    return row if case.entry is None else int(case.entry[row])
