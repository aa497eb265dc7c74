"""One paper: its public data -> the belief over the tuples of reviewers that may have written its reviews.

Everything here is a function of public information: scores by slot, pool, parameters, bar. Given the quality
the reviews are independent, so a tuple's weight and favor are integrals over one number; closed form where
every reviewer is affine with Gaussian noise. Where the tuples are too many to be listed, the belief is that
of a crowd, and what it does not tell is estimated from a sample of tuples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from math import perm

import numpy as np
from scipy.special import ndtr

from blindcal.beliefs import Belief, unchecked_belief
from blindcal.checks import Array, Integers
from blindcal.crowds import Crowd, Layout, crowd, layout, sampled
from blindcal.errors import InputError
from blindcal.pools import OUTSIDER, log_odds, log_prior, tuples_of
from blindcal.reviewers import Affine, Reviewer
from blindcal.rounded import Rounded
from blindcal.sums import Nodes, Sums, significant

# All tuples of a paper are listed and certified one by one: seconds a paper at this number.
MOST_LISTED = 2_000_000
# Panels are this many times the sharpest posterior's standard deviation wide.
_PANEL, _NODES = 3.0, 12
_LEAST_REACH, _MOST_REACH = 9.0, 40.0
_CHUNK = 1 << 22
_NEAR = 1e-3
# As many tuples of a sample as the bar is chosen by.
_FEW = 4_000
_UNWEIGHABLE = (
    "the scores of paper {!r} are too far from what its candidates give, or these too precise, to be weighed "
    "in floating-point numbers"
)


@dataclass(frozen=True)
class PaperCase:
    """Everything public about one paper; the same whatever the true assignment.

    `scores` are sorted: slot l is the l-th lowest score. `candidates` are the sorted ids of the pool
    (`*`: someone outside it), `inclusion` their probabilities of having reviewed the paper, `parameters`
    their rows (slope, offset, noise, slope_se, offset_se, correlation, noise_se). `grid` holds the scores
    that reviewers can give, None where scores are not rounded.
    """

    paper: str
    scores: tuple[float, ...]
    candidates: tuple[str, ...]
    inclusion: tuple[float, ...]
    parameters: tuple[tuple[float, ...], ...]
    bar: float
    grid: tuple[float, ...] | None = None

    @property
    def listed(self) -> bool:
        """Whether every tuple has an accept probability of its own."""
        return perm(len(self.candidates), len(self.scores)) <= MOST_LISTED

    @property
    def tuples(self) -> Integers:
        """`[n, k]`: the candidate index in each slot, for every tuple of distinct candidates."""
        return tuples_of(len(self.candidates), len(self.scores))

    @property
    def belief(self) -> Belief:
        """weight[n], favor[n], labels[k, n] (`labels = tuples.T`), computed when asked for.

        Where the tuples are not listed, over the parts of a crowd, with `entry[n]`.
        """
        if not self.listed:
            return self.crowd.belief
        log_weight, favor, _ = _posteriors(self, self.tuples)
        return unchecked_belief(_normalized(log_weight), favor, self.tuples.T)

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
        """The same number for slots with the same score, and for candidates with the same public data."""
        kinds: dict[object, int] = {}
        public = zip(self.inclusion, self.parameters, strict=True)
        kind = [kinds.setdefault(one, len(kinds)) for one in public]
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


@dataclass(frozen=True)
class SettledCase(PaperCase):
    """A paper that was decided before and is decided again by public information alone.

    `told` is the epsilon of its earlier decisions together: they have moved no odds by more than e^told.
    """

    told: float = 0.0


@dataclass(frozen=True, eq=False)
class Sample:
    """Tuples drawn from the belief: their candidates `rows[draw, slot]`, and the table's entry they take."""

    rows: Integers
    favor: Array
    entry: Integers


@lru_cache(maxsize=4)
def _crowd(case: PaperCase) -> Crowd:
    return crowd(_nodes(case), _layout(case), case.look_alikes[1])


@lru_cache(maxsize=4)
def _layout(case: PaperCase) -> Layout:
    tied, alike = case.look_alikes
    return layout(_nodes(case), _lean(case), alike, tied)


@lru_cache(maxsize=4)
def _sample(case: PaperCase) -> Sample:
    rows = _sample_rows(case)
    _, favor, _ = _posteriors(case, rows)
    return Sample(rows, favor, case.layout.entries(rows))


def _sample_rows(case: PaperCase) -> Integers:
    seed = sha256(repr((case.paper, case.scores)).encode()).digest()
    rows = sampled(_nodes(case), np.random.default_rng(np.frombuffer(seed, dtype=np.uint32)))
    if rows is None:
        raise InputError(_UNWEIGHABLE.format(case.paper))
    return rows


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
    odds = np.asarray(log_odds(case.inclusion, len(case.scores)))
    forced = np.isposinf(odds)
    likelihood = np.stack([_by_candidate(case.reviewers, score, quality) for score in case.scores])
    likelihood += np.where(forced, 0.0, odds)[:, None]
    top = likelihood.max(axis=1)
    log_mass = log_rule - 0.5 * quality**2 + top.sum(axis=0)
    relative, mass = np.exp(likelihood - top[:, None]), np.exp(log_mass - log_mass.max())
    sure = frozenset(np.flatnonzero(forced).tolist())
    return Nodes(relative, mass, edge, sure), float(log_mass.max())


def _lean(case: PaperCase) -> Array:
    """`[slot, candidate]`: the slope of the log likelihood at the bar. For affine reviewers the evidence
    favors accepting exactly where these slopes add up to more than the bar."""
    ends = np.array([case.bar - _NEAR, case.bar + _NEAR])
    sides = np.stack([_by_candidate(case.reviewers, score, ends) for score in case.scores])
    with np.errstate(invalid="ignore"):
        return np.nan_to_num((sides[..., 1] - sides[..., 0]) / (2 * _NEAR), nan=0.0, posinf=0.0, neginf=0.0)


def _normalized(log_weight: Array) -> Array:
    weight = np.exp(log_weight - log_weight.max())
    return np.asarray(weight / weight.sum())


def _posteriors(case: PaperCase, rows: Integers) -> tuple[Array, Array, Array]:
    """For these tuples: log weight (up to a constant), favor, and the median of quality."""
    reviewers = case.reviewers
    # What leaves the range of a float is found below.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if isinstance(reviewers, Affine) and reviewers.covariance is None:
            log_weight, favor, median = _gaussian(case, reviewers, rows)
        else:
            log_weight, favor, median = _integrated(case, reviewers, rows)
    log_weight = log_weight + log_prior(case.inclusion, rows)
    if np.isnan([log_weight, favor, median]).any() or not np.isfinite(log_weight.max()):
        raise InputError(_UNWEIGHABLE.format(case.paper))
    return log_weight, favor, median


def _gaussian(case: PaperCase, affine: Affine, rows: Integers) -> tuple[Array, Array, Array]:
    """Closed form: with a, b, sigma of the tuple's reviewers and scores s,

    precision = 1 + sum a^2/sigma^2,  mean = (sum a(s-b)/sigma^2)/precision,
    log weight = log N(s; b, diag(sigma^2) + a a^T),  favor = Phi((mean-bar)*sqrt(precision))
    """
    slots = np.arange(len(case.scores))
    deviation = np.array(case.scores)[:, None] - affine.offset
    precision = 1.0 + _summed(
        np.broadcast_to(affine.slope**2 / affine.noise**2, deviation.shape), rows, slots
    )
    pull = _summed(affine.slope * deviation / affine.noise**2, rows, slots)
    alone = _summed(-0.5 * (deviation / affine.noise) ** 2 - np.log(affine.noise), rows, slots)
    mean = pull / precision
    log_weight = alone - 0.5 * np.log(precision) + 0.5 * pull * mean
    return log_weight, ndtr((mean - case.bar) * np.sqrt(precision)), mean


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
    low = np.linspace(-reach, case.bar, 1 + int(np.ceil((case.bar + reach) / width)))
    high = np.linspace(case.bar, reach, 1 + int(np.ceil((reach - case.bar) / width)))
    edges = np.concatenate([low, high[1:]])
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    half = 0.5 * np.diff(edges)[:, None]
    quality = 0.5 * (edges[1:] + edges[:-1])[:, None] + half * nodes
    return quality.ravel(), np.log(half * weights).ravel(), _NODES * (len(low) - 1)


def secret_of(case: PaperCase, reviewers: Sequence[str]) -> int:
    """The secret (row of `tuples`) in which these reviewers wrote the slots, lowest score first; where tuples
    are not listed, the entry of the table that it takes.

    >>> case = PaperCase("p", (1.0, 2.0), ("a", "b", "c"), (0.5, 0.5, 1.0), ((1.0,) * 7,) * 3, 0.0)
    >>> case.tuples[secret_of(case, ("c", "a"))].tolist()
    [2, 0]
    """
    place = {name: index for index, name in enumerate(case.candidates)}
    wanted = [place.get(name, place.get(OUTSIDER, -1)) for name in reviewers]
    if -1 in wanted:
        raise InputError(f"the reviewers of paper {case.paper!r} must all be in its pool")
    if not case.listed:
        return int(case.layout.entries(np.array(wanted)))
    return int(np.flatnonzero((case.tuples == wanted).all(axis=1))[0])
