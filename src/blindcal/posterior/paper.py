"""One paper: from its public data to the belief over the tuples of reviewers.

Everything here is a function of public information: scores by slot, candidates, calibration, bar.
`tuple_weights` weighs each tuple. If there are too many tuples to list, `large_pools` aggregates them into
entries, and a sample of tuples estimates what the entries do not say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from hashlib import sha256
from itertools import permutations
from typing import Self

import numpy as np

from blindcal.checks import Array, Integers
from blindcal.errors import InputError
from blindcal.pools.candidates import OUTSIDER, shared_part
from blindcal.pools.prior import NOBODY, tuple_count
from blindcal.posterior.belief import Belief, unchecked_belief
from blindcal.posterior.large_pools import (
    AggregatedBelief,
    LayoutTarget,
    PenaltySearch,
    TableLayout,
    aggregate,
    start_search,
    table_layout,
)
from blindcal.posterior.tuple_sums import (
    QuadratureNodes,
    TupleSums,
    excluding,
    quadrature_nodes,
    significant_nodes,
    subsets,
)
from blindcal.posterior.tuple_weights import (
    UNWEIGHABLE,
    PaperData,
    acceptance_evidence,
    normalize,
    tuple_posteriors,
    tuple_products,
)

# By the number of reviews: listing and certifying this many tuples takes at most twice as long as aggregating
# them (half a second with three reviews, a few seconds with six and more). Listing loses nothing, so it is
# preferred up to here.
_MOST_LISTED = {1: 250_000, 2: 250_000, 3: 250_000, 4: 500_000, 5: 1_000_000}
MOST_LISTED = 2_000_000
"""More tuples than this are never listed."""


@dataclass(frozen=True)
class PaperCase(PaperData):
    """Everything public about one paper; the same whatever the true assignment.

    Attributes:
        paper: Its id.
        scores: Sorted; slot l is the l-th lowest score.
        candidates: The sorted ids of the pool; `*` is anyone not listed.
        inclusion: Each candidate's probability of having reviewed the paper; for `*`, which may have written
            several reviews, their expected number. They sum to the number of reviews.
        parameters: Each candidate's slope, offset, noise, slope_se, offset_se, correlation, noise_se.
        bar: The quality above which the paper should be accepted; qualities are N(0, 1).
        grid: The scores that reviewers can give; None if scores are not rounded.
        track: Empty unless each track has a bar of its own.
        most_listed: With more tuples of reviewers than this, they are aggregated; None: as many as are quick
            to list. A setting, not a fact about the paper.
        promise: The guarantee that aggregated tables are laid out for. A setting likewise.
        settled: Whether public information alone decides the paper, which then reveals nothing to anyone.

    Example:
        >>> known = (1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0)
        >>> case = PaperCase("p", (2.0,), ("ada", "ben"), (0.75, 0.25), (known, known), bar=1.0)
        >>> case.belief.weight, case.belief.favor  # both alike; given the score the quality is N(1, 1/2)
        (array([0.75, 0.25]), array([0.5, 0.5]))
    """

    most_listed: int | None = field(default=None, kw_only=True, repr=False)
    promise: LayoutTarget = field(default=LayoutTarget(), kw_only=True, repr=False)
    settled: bool = field(default=False, kw_only=True, repr=False)

    def __hash__(self) -> int:
        # Large pools take long to hash, and papers with the same of these rarely differ.
        return hash((self.paper, self.scores, self.bar, self.promise))

    @property
    def listed(self) -> bool:
        """Whether every tuple has an accept probability of its own."""
        tuples = tuple_count(len(self.candidates), len(self.scores), OUTSIDER in self.candidates)
        most = _MOST_LISTED.get(len(self.scores), MOST_LISTED)
        return tuples <= (most if self.most_listed is None else self.most_listed)

    def promised(self, promise: LayoutTarget) -> Self:
        """The same paper, to be decided under this guarantee."""
        return self if self.listed or promise == self.promise else replace(self, promise=promise)

    @property
    def unpromised(self) -> Self:
        """The same paper for all guarantees: what they share is kept under it."""
        return self.promised(LayoutTarget())

    @property
    def belief(self) -> Belief:
        """The posterior given the scores: weight[n], favor[n], labels[k, n] (named candidates).

        If tuples are not listed, it is over the parts of an `AggregatedBelief`, with `entry[n]`.
        """
        return unchecked_belief(*_listed_posterior(self)) if self.listed else self.aggregated.belief

    @property
    def favor(self) -> float:
        """The probability that accepting is right, given the scores; no table is laid out for it."""
        if self.listed:
            mass, above = self.belief.weight, self.belief.favor
        else:
            nodes = paper_nodes(self.unpromised)
            mass, above = nodes.mass * TupleSums(nodes).total(), nodes.above
        return float(np.clip(mass @ above / mass.sum(), 0.0, 1.0))

    def named(self, rows: Integers) -> Integers:
        """The candidates of some tuples as guesses: `*` is nobody."""
        return rows if self.outsider is None else np.where(rows == self.outsider, NOBODY, rows)

    @property
    def log_evidence(self) -> float:
        """Log density (or probability) of the scores, up to a constant that the pool fixes.

        It is minus infinity if floating-point numbers cannot hold it.
        """
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            nodes, scale = quadrature_nodes(self)
            if not np.isfinite(scale):
                return -np.inf
            total = nodes.mass * TupleSums(replace(nodes, peeled=tuple(sorted(nodes.forced)))).total()
            return scale + float(np.log(max(total.sum(), np.finfo(float).tiny)))

    @property
    def aggregated(self) -> AggregatedBelief:
        """The belief by entries of the table, for a paper whose tuples are not listed."""
        return aggregated_in(self, self.layout)

    @property
    def layout(self) -> TableLayout:
        """The entry of the table that each tuple takes, for a paper whose tuples are not listed."""
        return _promised_layout(self)

    @property
    def sample(self) -> TupleSample | None:
        """A sample of tuples if they are not listed, else None; it depends on public data alone."""
        return None if self.listed else replace(_tuple_sample(self.unpromised), case=self)

    @property
    def look_alikes(self) -> tuple[Integers, Integers]:
        """Equal numbers for slots with the same score, and for candidates with the same public data.

        `*` is nobody and like no one.
        """
        tied = np.unique(self.scores, return_inverse=True)[1]
        return tied, _kinds_of_candidates(self.unpromised)


@dataclass(frozen=True, eq=False)
class TupleSample:
    """Tuples drawn from the belief."""

    case: PaperCase
    rows: Integers  # `[draw, slot]`, their candidates
    named: Integers  # the same as guesses: `*` is nobody
    favor: Array  # `[draw]`, the probability that accepting is right
    chance: Array  # `[draw, slot]`, what decides between two steps of the table

    @cached_property
    def entry(self) -> Integers:
        """`[draw]`, the entry of the table that each takes."""
        return _sample_entries(self.case.unpromised, self.case.layout)


@lru_cache(maxsize=2)
def _kinds_of_candidates(case: PaperCase) -> Integers:
    """`[candidate]`: equal numbers for equal public data, cached while a paper is worked on."""
    shared, without = shared_part(case.parameters)
    alike = np.delete(_first_alike(shared), without)
    if len(set(case.inclusion)) > 1:
        alike = _numbered(zip(alike.tolist(), case.inclusion, strict=True))
    named = np.arange(alike.size) != (NOBODY if case.outsider is None else case.outsider)
    numbers = np.full(alike.size, NOBODY, dtype=np.int64)
    numbers[named] = _numbered(alike[named].tolist())
    numbers.flags.writeable = False
    return numbers


def _numbered(items: Iterable[object]) -> Integers:
    """Equal numbers for equal items, from 0 in the order in which they come."""
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(item, len(numbers)) for item in items], dtype=np.int64)


# Equal numbers for equal calibration, once for all papers that share it.
_first_alike = lru_cache(maxsize=4)(_numbered)


@lru_cache(maxsize=2)
def _listed_posterior(case: PaperCase) -> tuple[Array, Array, Integers]:
    """Weight, favor and labels of every tuple, cached while a paper is worked on."""
    log_weight, favor = tuple_posteriors(case)
    first = _first_equivalent(case)
    if first is not None:
        # Tuples that are equivalent must have equal weights to the last bit, whatever the processor: an
        # equation that pins one candidate, or one of two tied slots, then pins its look-alikes exactly.
        log_weight, favor = log_weight[first], favor[first]
    parts = normalize(log_weight), favor, case.named(case.tuples).T
    for part in parts:
        part.flags.writeable = False
    return parts


def _first_equivalent(case: PaperCase) -> Integers | None:
    """For each tuple the first one that public data cannot tell from it; None if all tuples differ."""
    group, kind = case.look_alikes
    if np.unique(group).size == group.size and np.unique(kind).size == kind.size:
        return None
    looks, key = kind[case.tuples], np.zeros(len(case.tuples), dtype=np.int64)
    for tied in np.unique(group):
        looks[:, group == tied] = np.sort(looks[:, group == tied], axis=1)
    for column in looks.T:
        key = key * (int(kind.max()) + 2) + column + 1
    _, first, of = np.unique(key, return_index=True, return_inverse=True)
    return np.asarray(first[of])


# What depends on the paper alone is computed once for all guarantees, and what depends on the layout once for
# all that share it.


@lru_cache(maxsize=4)
def _sample_entries(case: PaperCase, layout: TableLayout) -> Integers:
    drawn = _tuple_sample(case)
    return layout.entries(drawn.rows, drawn.chance)


@lru_cache(maxsize=4)
def _aggregated_belief(case: PaperCase, layout: TableLayout) -> AggregatedBelief:
    tied, alike = case.look_alikes
    return aggregate(paper_nodes(case), layout, case.by_seat(alike), tied)


@lru_cache(maxsize=4)
def _promised_layout(case: PaperCase) -> TableLayout:
    return table_layout(_penalty_search(case.unpromised), case.promise)


@lru_cache(maxsize=2)
def _penalty_search(case: PaperCase) -> PenaltySearch:
    tied, alike = case.look_alikes
    evidence = case.by_seat(acceptance_evidence(case))
    return start_search(paper_nodes(case), evidence, case.by_seat(alike), tied)


@lru_cache(maxsize=2)
def _tuple_sample(case: PaperCase) -> TupleSample:
    nodes = paper_nodes(case)
    seats = _sample_tuples(nodes, public_rng(("tuples", case.paper, case.scores)))
    if seats is None:
        raise InputError(UNWEIGHABLE.format(case.paper))
    rows = case.by_seat(np.arange(len(case.candidates)))[seats]
    chance = public_rng(("steps", case.paper, case.scores)).random(rows.shape)
    return TupleSample(case, rows, case.named(rows), _tuple_favors(nodes, seats), chance)


def public_rng(facts: object) -> np.random.Generator:
    """Random numbers for estimates, by public facts: anyone can draw the same."""
    seed = sha256(repr(facts).encode()).digest()
    return np.random.default_rng(np.frombuffer(seed, dtype=np.uint32))


@lru_cache(maxsize=2)
def paper_nodes(case: PaperCase) -> QuadratureNodes:
    """The quadrature nodes that matter, with each review's likelihood times odds."""
    every, scale = quadrature_nodes(case)
    nodes = significant_nodes(every) if np.isfinite(scale) else None
    if nodes is None:
        raise InputError(UNWEIGHABLE.format(case.paper))
    return nodes


def aggregated_in(case: PaperCase, layout: TableLayout) -> AggregatedBelief:
    """The belief by entries of a table that is laid out already."""
    return _aggregated_belief(case.unpromised, layout)


def secret_of(
    case: PaperCase, reviewers: Sequence[str], chance: Sequence[float] = (), layout: TableLayout | None = None
) -> int:
    """The secret (row of `tuples`) in which these reviewers wrote the slots, lowest score first.

    Someone who is not in the pool is `*`, if the pool has it. If tuples are not listed, the secret is the
    entry of the table that the tuple takes. Its layout may be at hand, and `chance` has a number for each
    slot, uniform in [0, 1).

    >>> case = PaperCase("p", (1.0, 2.0), ("a", "b", "c"), (0.5, 0.5, 1.0), ((1.0,) * 7,) * 3, 0.0)
    >>> case.tuples[secret_of(case, ("c", "a"))].tolist()
    [2, 0]
    """
    index = {name: number for number, name in enumerate(case.candidates)}
    candidates = [index.get(name, index.get(OUTSIDER, -1)) for name in reviewers]
    if -1 in candidates:
        raise InputError(f"the reviewers of paper {case.paper!r} must all be in its pool")
    if not case.listed:
        if len(chance) != len(reviewers):
            raise InputError("if tuples are not listed, each slot needs a chance")
        entries = (case.layout if layout is None else layout).entries
        return int(entries(np.array(candidates), np.array(chance)))
    return int(np.flatnonzero((case.tuples == candidates).all(axis=1))[0])


# --- A sample of tuples, if they are not listed.

_SAMPLE_SIZE, _MAX_TRIES = 20_000, 4_000_000
_FAVOR_ERROR = 1e-8  # above e^-19
_CACHE_CHUNK = 1 << 16  # how many numbers stay in the processor's cache


def _sample_tuples(nodes: QuadratureNodes, rng: np.random.Generator) -> Integers | None:
    """Tuples `[draw, slot]` drawn from the belief, or None if rejection takes too long.

    Quality and the seats of peeled candidates are drawn first, then the other seats independently. Draws with
    the same candidate in two seats are rejected.
    """
    sums = TupleSums(nodes)
    seatings = list(_seatings(nodes))
    chance = np.stack([_seating_mass(nodes, sums, seating) for seating in seatings])
    ladders = np.cumsum(nodes.likelihood[:, sums.unpeeled], axis=1)
    drawn = np.sort(rng.choice(chance.size, _SAMPLE_SIZE, p=chance.ravel() / chance.sum()))
    rows = np.empty((_SAMPLE_SIZE, len(nodes.slots)), dtype=np.int64)
    for index in np.unique(drawn):
        seating, node = seatings[index // nodes.mass.size], index % nodes.mass.size
        draws = np.flatnonzero(drawn == index)
        left = np.array(excluding(nodes.slots, tuple(seating)), dtype=np.int64)
        others = _draw_distinct(ladders[left, :, node], draws.size, rng)
        if others is None:
            return None
        for slot, candidate in seating.items():
            rows[draws, slot] = candidate
        rows[np.ix_(draws, left)] = sums.unpeeled[others]
    return rng.permutation(rows)


def _tuple_favors(nodes: QuadratureNodes, rows: Integers) -> Array:
    """`[draw]`: the probability that accepting is right, for tuples `[draw, slot]` that were drawn.

    A part above the bar is off by less than e^-19 (see above): a favor that may be a tie counts as one.
    """
    parts = np.stack([nodes.mass, nodes.mass * nodes.above], axis=1)
    sums, size = np.empty((len(rows), 2)), max(1, _CACHE_CHUNK // nodes.mass.size)
    for start in range(0, len(rows), size):
        sums[start : start + size] = tuple_products(nodes.likelihood, rows[start : start + size]) @ parts
    favor = np.clip(sums[:, 1] / sums[:, 0], 0.0, 1.0)
    return np.where(np.abs(favor - 0.5) < _FAVOR_ERROR, 0.5, favor)


def _draw_distinct(ladders: Array, size: int, rng: np.random.Generator) -> Integers | None:
    """`[draw, slot]`: distinct indices drawn by cumulative likelihoods; None if it takes too long."""
    distinct, tries, tried = np.empty((0, len(ladders)), dtype=np.int64), size, 0
    while len(distinct) < size:
        if tries > _MAX_TRIES:
            return None
        steps = [np.searchsorted(ladder, rng.random(tries) * ladder[-1], side="right") for ladder in ladders]
        rows = np.minimum(np.reshape(steps, (len(ladders), tries)).T, ladders.shape[1] - 1).astype(np.int64)
        apart = (np.diff(np.sort(rows, axis=1), axis=1) != 0).all(axis=1)
        distinct, tried = np.concatenate([distinct, rows[apart]]), tried + tries
        # As many as are probably needed for the rest, and a few more.
        tries = 8 + (size - len(distinct)) * 5 * tried // (4 * max(len(distinct), 1))
    return distinct[:size]


def _seatings(nodes: QuadratureNodes) -> Iterator[dict[int, int]]:
    """Every way to seat peeled candidates, all forced ones among them, in some of the slots."""
    for chosen in subsets(nodes.peeled):
        if nodes.forced <= set(chosen) and len(chosen) <= len(nodes.slots):
            for seats in permutations(nodes.slots, len(chosen)):
                yield dict(zip(seats, chosen, strict=True))


def _seating_mass(nodes: QuadratureNodes, sums: TupleSums, seating: dict[int, int]) -> Array:
    alike = nodes.alike or nodes.slots
    left = sorted(alike[slot] for slot in excluding(nodes.slots, tuple(seating)))
    sure = np.prod([nodes.likelihood[slot, candidate] for slot, candidate in seating.items()], axis=0)
    return np.asarray(np.maximum(nodes.mass * sure * sums.distinct(tuple(left), ()).sum(axis=1), 0.0))
