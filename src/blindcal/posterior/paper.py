"""One paper: its public data -> the belief over the tuples of reviewers that may have written its reviews.

Everything here is a function of public information: scores by slot, pool, parameters, bar. `weighing` has
what each tuple weighs. Where the tuples are too many to be listed, the belief is that of a crowd, and what it
does not say is estimated from a sample of tuples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from typing import Any, Self

import numpy as np

from blindcal.assignment.candidates import OUTSIDER
from blindcal.assignment.prior import (
    NOBODY,
    Sets,
    log_prior,
    log_set_prior,
    seats,
    tuple_count,
    tuples_in,
    tuples_of,
)
from blindcal.checks import Array, Integers
from blindcal.errors import InputError
from blindcal.posterior.belief import Belief, unchecked_belief
from blindcal.posterior.large_pools import (
    Crowd,
    Layout,
    Nodes,
    Promise,
    Sums,
    all_nodes,
    crowd,
    layout,
    sampled,
    significant,
)
from blindcal.posterior.tuple_weights import UNWEIGHABLE, lean, normalized, posteriors
from blindcal.reviewers.affine import Affine
from blindcal.reviewers.base import Reviewer
from blindcal.reviewers.rounded import Rounded

# So many tuples, by the number of reviews, take about as long to be listed and certified one by one as to be
# summed up: half a second with three reviews, a few seconds with six and more. Listed ones lose nothing, so
# they are preferred up to twice that.
_MOST_LISTED = {1: 250_000, 2: 250_000, 3: 250_000, 4: 500_000, 5: 1_000_000}
MOST_LISTED = 2_000_000
"""More tuples than this are never listed."""


@dataclass(frozen=True)
class PaperCase:
    """Everything public about one paper; the same whatever the true assignment.

    `paper`: its id.
    `scores`: sorted; slot l is the l-th lowest score.
    `candidates`: the sorted ids of the pool; `*` is anyone not listed.
    `inclusion`: each candidate's chance of having reviewed the paper; for `*`, which may have written several
    reviews, their expected number. They sum to the number of reviews.
    `parameters`: each candidate's slope, offset, noise, slope_se, offset_se, correlation, noise_se.
    `bar`: the quality above which the paper should be accepted, where qualities are N(0, 1).
    `grid`: the scores that reviewers can give; None where scores are not rounded.
    `track`: empty unless each track has a bar of its own.
    `sets`: where assignments were sampled, the sets of candidates that may have reviewed the paper, and in
    how many draws each did; None: the maximum-entropy prior of `inclusion`.
    `most_listed`: no fact about the paper, nor is `promise`. Where there are more tuples of reviewers than
    this, they are summed up; None: as many as are quick to list.
    `promise`: the guarantee that such sums are laid out for.
    `settled`: whether public information alone decides the paper, which then reveals nothing to anyone.

    >>> known = (1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0)
    >>> case = PaperCase("p", (2.0,), ("ada", "ben"), (0.75, 0.25), (known, known), bar=1.0)
    >>> case.belief.weight, case.belief.favor  # both are alike, and the quality is N(1, 1/2) given the score
    (array([0.75, 0.25]), array([0.5, 0.5]))
    """

    paper: str
    scores: tuple[float, ...]
    candidates: tuple[str, ...]
    inclusion: tuple[float, ...]
    parameters: tuple[tuple[float, ...], ...]
    bar: float
    grid: tuple[float, ...] | None = None
    track: str = field(default="", kw_only=True)
    sets: Sets | None = field(default=None, kw_only=True, repr=False)
    most_listed: int | None = field(default=None, kw_only=True, repr=False)
    promise: Promise = field(default=Promise(), kw_only=True, repr=False)
    settled: bool = field(default=False, kw_only=True, repr=False)

    @property
    def outsider(self) -> int | None:
        """Which of the candidates is `*`."""
        return self.candidates.index(OUTSIDER) if OUTSIDER in self.candidates else None

    @property
    def listed(self) -> bool:
        """Whether every tuple has an accept probability of its own."""
        tuples = tuple_count(len(self.candidates), len(self.scores), OUTSIDER in self.candidates)
        most = _MOST_LISTED.get(len(self.scores), MOST_LISTED)
        return self.sets is not None or tuples <= (most if self.most_listed is None else self.most_listed)

    def promised(self, promise: Promise) -> Self:
        """The same paper, to be decided under this promise."""
        return self if self.listed or promise == self.promise else replace(self, promise=promise)

    @property
    def tuples(self) -> Integers:
        """`[n, k]`: the candidate index in each slot, for every tuple; `*` alone may stand twice."""
        if self.sets is not None:
            return tuples_in(self.sets)
        return tuples_of(len(self.candidates), len(self.scores), self.outsider)

    def log_prior(self, rows: Integers) -> Array:
        """Log of the chance of some tuples before any score is seen, up to a constant."""
        if self.sets is not None:
            return log_set_prior(self.sets, rows)
        return log_prior(self.inclusion, rows, self.outsider)

    @property
    def belief(self) -> Belief:
        """What the scores alone say: weight[n], favor[n], labels[k, n] (the named candidates of `tuples`).

        Where the tuples are not listed, over the parts of a crowd, with `entry[n]`.
        """
        if not self.listed:
            return self.crowd.belief
        return unchecked_belief(*_listed(self))

    def named(self, rows: Integers) -> Integers:
        """The candidates of some tuples as guesses: `*` is nobody."""
        return rows if self.outsider is None else np.where(rows == self.outsider, NOBODY, rows)

    @property
    def log_evidence(self) -> float:
        """Log of the density (or probability) of the scores, up to a constant that the pool fixes; minus
        infinity where floating-point numbers cannot hold it."""
        if self.sets is not None:
            return _summed_evidence(self)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            nodes, scale = all_nodes(self)
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
        who is nobody, is like none of them. Where assignments were sampled, who was drawn with whom tells
        everyone apart."""
        if self.sets is not None:
            return np.unique(self.scores, return_inverse=True)[1], np.arange(len(self.candidates))
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
    log_weight, favor = posteriors(case)
    first = _first_alike(case)
    if first is not None:
        # Equal in truth, they must be equal to the last bit: what is pinned for one author, or in one of two
        # slots with the same score, is then pinned exactly for the others, whatever the processor.
        log_weight, favor = log_weight[first], favor[first]
    found = normalized(log_weight), favor, case.named(case.tuples).T
    for part in found:
        part.flags.writeable = False
    return found


def _first_alike(case: PaperCase) -> Integers | None:
    """For each tuple the first one that public data cannot tell from it; None if there are no such tuples."""
    group, kind = case.look_alikes
    if np.unique(group).size == group.size and np.unique(kind).size == kind.size:
        return None
    looks, key = kind[case.tuples], np.zeros(len(case.tuples), dtype=np.int64)
    for one in np.unique(group):
        looks[:, group == one] = np.sort(looks[:, group == one], axis=1)
    for column in looks.T:
        key = key * (int(kind.max()) + 2) + column + 1
    _, first, of = np.unique(key, return_index=True, return_inverse=True)
    return np.asarray(first[of])


def _summed_evidence(case: PaperCase) -> float:
    """Log of the sum of all tuples' weights; minus infinity where floating-point numbers cannot hold it."""
    try:
        return float(np.logaddexp.reduce(posteriors(case, case.tuples)[0]))
    except InputError:
        return -np.inf


@lru_cache(maxsize=4)
def _crowd(case: PaperCase) -> Crowd:
    tied, alike = case.look_alikes
    return crowd(_nodes(case), _layout(case), _seated(case, alike), tied)


@lru_cache(maxsize=4)
def _layout(case: PaperCase) -> Layout:
    tied, alike = case.look_alikes
    return layout(_nodes(case), _seated(case, lean(case)), 0.0, _seated(case, alike), tied, case.promise)


def _seated(case: PaperCase, values: Any) -> Any:
    """Values of candidates (along the last axis), with `*` once for each review: there none stands twice."""
    return values[..., seats(len(case.candidates), len(case.scores), case.outsider)]


@lru_cache(maxsize=4)
def _sample(case: PaperCase) -> Sample:
    rows = _sample_rows(case)
    _, favor = posteriors(case, rows)
    entry = case.layout.entries(rows, _public_rng(case, "steps").random(rows.shape))
    return Sample(rows, case.named(rows), favor, entry)


def _sample_rows(case: PaperCase) -> Integers:
    rows = sampled(_nodes(case), _public_rng(case, "tuples"))
    if rows is None:
        raise InputError(UNWEIGHABLE.format(case.paper))
    return seats(len(case.candidates), len(case.scores), case.outsider)[rows]


def _public_rng(case: PaperCase, purpose: str) -> np.random.Generator:
    """Random numbers for estimates: anybody can draw the same."""
    seed = sha256(repr((purpose, case.paper, case.scores)).encode()).digest()
    return np.random.default_rng(np.frombuffer(seed, dtype=np.uint32))


@lru_cache(maxsize=4)
def _nodes(case: PaperCase) -> Nodes:
    """Each review's likelihood at each node of a quadrature that matters, odds counted in."""
    every, scale = all_nodes(case)
    nodes = significant(every) if np.isfinite(scale) else None
    if nodes is None:
        raise InputError(UNWEIGHABLE.format(case.paper))
    return nodes


def secret_of(
    case: PaperCase, reviewers: Sequence[str], chance: Sequence[float] = (), layout: Layout | None = None
) -> int:
    """The secret (row of `tuples`) in which these reviewers wrote the slots, lowest score first; where tuples
    are not listed, the entry of the table that it takes, by a `chance` for each slot, uniform in [0, 1), and
    the table's `layout` if it is at hand.

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
        if len(chance) != len(reviewers):
            raise InputError("where tuples are not listed, each slot needs a chance")
        entries = (case.layout if layout is None else layout).entries
        return int(entries(np.array(wanted), np.array(chance)))
    return int(np.flatnonzero((case.tuples == wanted).all(axis=1))[0])
