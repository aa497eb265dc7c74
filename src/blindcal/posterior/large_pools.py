"""Aggregated beliefs for pools with too many tuples of reviewers to list.

All tuples with similar evidence share one entry of the table of accept probabilities (column aggregation):

1. `evidence_steps` finds how many steps each candidate counts in each slot: the evidence for accepting, less
   a penalty for each candidate that keeps decisions from pointing at anyone.
2. `table_layout` groups totals of steps into entries, and `aggregate` sums the belief over each entry, by
   `tuple_sums`.

The guarantee does not depend on the approximation. Every candidate keeps its exact probability in every slot
and entry, and the table itself is certified later; a bad choice of entries costs accuracy only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blindcal.checks import Array, Integers
from blindcal.posterior.belief import Belief, unchecked_belief
from blindcal.posterior.tuple_sums import QuadratureNodes, Slots, TupleSums, heavy_nodes, node_subset

# Penalties: the evidence that each candidate has to give up so that no decision points at anyone.
#
# Deciding by the evidence alone accepts the reviews of some candidates far more often than those of others.
# Under *steady*, no decision may make anyone likelier than the likeliest reviewer was before:
# P(accept | candidate) must lie in a range around P(accept), which is a point for the likeliest reviewer and
# wide for candidates who are hardly suspected. Under *average*, nobody may overtake the likeliest reviewer:
# the ranges lie around P(accept | likeliest reviewer). The best policy accepts if the evidence, less a
# penalty for each candidate, passes a threshold. In the linear program the penalties are dual prices; here
# damped Newton steps find them, for each candidate as if the others stood still.
#
# Steps in each slot, and the standard deviations of the evidence that they reach to either side. Choosing
# between two steps at random blurs the evidence by about a twentieth of a standard deviation.
STEPS, _EVIDENCE_REACH = 97, 4.5
_MIDDLE = (STEPS - 1) / 2
# Candidates are kept this far inside their range, so that rounding does not push them out.
_RANGE_MARGIN = 1e-4
_MAX_ROUNDS, _TOLERANCE = 40, 2e-5
# Newton steps are damped by this factor or less. The threshold, which moves everyone, follows at half pace.
_DAMPING, _LEAST_DAMPING, _SHRINK, _GROW, _THRESHOLD_PACE = 0.8, 0.2, 0.7, 1.1, 0.5
# If all ranges lie around one candidate's probability, they follow it more slowly than candidates move.
_CENTER_PACE = 0.45
_LEAST_SLOPE = 0.1
# Someone who is so nearly as likely as a crowd allows is treated as pinned: of several values tried this one
# lost least.
_LITTLE_ROOM = 0.8
# Nodes twice as far apart still give nine digits; the search also drops nodes that weigh less than this.
_NEGLIGIBLE_WEIGHT = 1e-9
_UNSUSPECTED = 1e-9  # a candidate this many times less likely than the likeliest one needs no penalty
# Penalties, steps and the threshold are rounded to multiples of this in every round. Sums differ in their
# last digits between processors, and forty rounds would amplify that many thousand times. Rounded, all
# processors take the same path, except for about one paper in a million.
_GRID = 2.0**-20


@dataclass(frozen=True)
class LayoutTarget:
    """The guarantee that a layout is made for."""

    name: str = "steady"
    span: float = float(np.tanh(1.0))  # how far apart its accept probabilities may lie
    # Anyone may become this likely, although nobody was: a crowd. Under *steady* this is the least of all
    # caps, under *average* a further limit.
    least_cap: float = 0.0

    def pinned(self, tops: Array) -> NDArray[np.bool_]:
        """Whether ranges lie around P(accept), by the chance of a review's likeliest candidate.

        Always under *steady*; under *average* if a crowd leaves that candidate hardly any room.
        """
        return (self.name == "steady") | ((self.least_cap > 0.0) & (tops >= _LITTLE_ROOM * self.least_cap))


@dataclass(frozen=True, eq=False)
class EvidenceSteps:
    """The evidence of each candidate in each slot, in steps."""

    steps: Array  # `[slot, candidate]`, the evidence less the penalty
    penalty: Array  # `[slot, candidate]`, in units of evidence
    threshold: float  # the total of steps at which accepting begins


def evidence_steps(search: PenaltySearch, promise: LayoutTarget) -> EvidenceSteps:
    """The evidence of each candidate in each slot, in steps, penalized for a guarantee."""
    # A crowd lets anyone become as likely as one in so many.
    crowd = promise.least_cap if promise.name == "steady" else 0.0
    pinned = promise.pinned(search.cap)[:, None]
    cap = np.where(search.cap > 0.0, np.maximum(search.cap, crowd), 0.0)
    penalty, risen, start = np.zeros_like(search.evidence), 0.0, search
    search = replace(search, span=promise.span, cap=cap)
    best, last, damping = (np.inf, penalty, risen), np.inf, _DAMPING
    around = np.full((len(search.evidence), 1), 0.5)
    needed = promise.name in ("steady", "average") and promise.span > 0.0 and search.cap.any()
    for number in range(_MAX_ROUNDS if needed else 0):
        now, further = search.accepted(penalty, risen) if number else start.unpenalized
        # P(accept | candidate), and its derivative in the candidate's evidence
        chance, slope = 0.5 + search.span * (now - 0.5), search.span * (further - now) / search.step
        follow = np.where(pinned, 1.0, _CENTER_PACE) if number else 1.0
        around = _on_machine_grid(around + follow * (search.around(chance, pinned) - around))
        moved, missed = search.moved(penalty, chance, slope, around)
        missed = float(_on_machine_grid(missed))
        best = min(best, (missed, penalty, risen), key=lambda state: state[0])
        if missed < _TOLERANCE:
            break
        # Candidates that move together overshoot: then all take shorter steps.
        factor = _SHRINK if missed > last else _GROW
        damping = float(np.clip(factor * damping, _LEAST_DAMPING, _DAMPING))
        penalty, last = _on_machine_grid(penalty + damping * moved), missed
        penalty = np.where(pinned, penalty, _on_machine_grid(search.balanced(penalty, damping)))
        # How far all penalties move the threshold if the ranges lie around P(accept)
        shift = (cap[:, None] * search.count * (penalty * pinned) * (search.kind >= 0)).sum()
        risen = float(_on_machine_grid(risen + _THRESHOLD_PACE * damping * (float(shift) - risen)))
    _, penalty, risen = best
    return search.graded(penalty, risen)


@dataclass(frozen=True, eq=False)
class PenaltySearch:
    """A paper as the search for penalties sees it: one candidate of each kind."""

    nodes: QuadratureNodes
    candidates: Integers  # `[kind]`, one of each
    kind: Integers  # `[kind]`, -1 for nobody
    of: Integers  # `[candidate]`, the kind of each
    count: Integers  # `[kind]`, how many are alike
    first: Integers  # `[slot]`, the first slot with the same score
    evidence: Array  # `[slot, kind]`
    own: Array  # `[slot, kind]`, the mass of one candidate of the kind
    mass: Array  # `[slot, kind]`, the probability that any of the kind wrote the review
    cap: Array  # `[slot]`, the most that a decision may make of a single candidate's probability
    center: Array  # `[slot]`, the mean evidence
    step: float  # of evidence
    span: float = 1.0

    @property
    def likeliest(self) -> Integers:
        """`[slot, 1]`: the kind of the likeliest reviewer."""
        own: Array = np.where(self.kind >= 0, self.mass / self.count, -1.0)
        return np.asarray(own.argmax(axis=1)[:, None])

    def threshold(self, risen: float) -> float:
        """The total of steps at which the evidence favors accepting.

        `risen` is the sum of all penalties, each times the most that a decision may make of anyone.
        """
        reviews = len(self.center)
        total = (-risen - float(self.center.sum())) / self.step + reviews * _MIDDLE
        return float(_on_machine_grid(np.clip(total, -1.0, reviews * (STEPS - 1) + 1.0)))

    def graded(self, penalty: Array, risen: float) -> EvidenceSteps:
        """Everybody's evidence in steps from 0 on, less the penalty of their kind."""
        away = (self.evidence - penalty - self.center[:, None]) / self.step
        steps = _on_machine_grid(np.clip(away + _MIDDLE, 0.0, STEPS - 1.0))
        return EvidenceSteps(steps[:, self.of], penalty[:, self.of], self.threshold(risen))

    def accepted(self, penalty: Array, risen: float) -> Array:
        """`[2, slot, kind]`: P(accept | candidate) if nothing limits it, and with one more step."""
        graded = self.graded(penalty, risen)
        sums = TupleSums(self.nodes, graded.steps, beside=True)
        accepted = np.stack(sums.accepted(self.candidates, graded.threshold))
        return np.asarray(np.moveaxis(accepted, -1, 0) / self.own)

    # Every guarantee begins without penalties, and many need none: they share what is found so.

    @cached_property
    def unpenalized(self) -> Array:
        return self.accepted(np.zeros_like(self.evidence), 0.0)

    @cached_property
    def unpenalized_layout(self) -> TableLayout:
        return _layout_of(self.graded(np.zeros_like(self.evidence), 0.0))

    def around(self, chance: Array, pinned: NDArray[np.bool_]) -> Array:
        """`[slot, 1]`: the probability around which all ranges lie: P(accept), or the likeliest one's own."""
        own = np.take_along_axis(chance, self.likeliest, axis=1)
        return np.where(pinned, float(self.mass[0] @ chance[0]), own)

    def balanced(self, penalty: Array, damping: float) -> Array:
        """The penalties with those of each slot summing to 0, if ranges lie around the likeliest reviewer.

        Everyone at the end of a range follows when that reviewer's probability moves.
        """
        counted = self.count * (self.kind >= 0)
        moving = (counted * (penalty != 0.0)).sum(axis=1, keepdims=True) + counted[self.likeliest]
        balanced = penalty.copy()
        now = np.take_along_axis(penalty, self.likeliest, axis=1)
        off = (counted * penalty).sum(axis=1, keepdims=True) / moving
        np.put_along_axis(balanced, self.likeliest, now - damping * off, axis=1)
        return balanced

    def moved(self, penalty: Array, chance: Array, slope: Array, around: Array) -> tuple[Array, float]:
        """How far to move each penalty, and the most by which anyone's probability misses its range.

        Candidates who are accepted too often get a larger penalty. Candidates who need less give back no more
        than they have.
        """
        times = self.cap[:, None] * self.count / self.mass
        most = np.maximum((times - _RANGE_MARGIN) * around, around)
        least = np.minimum(1.0 - (times - _RANGE_MARGIN) * (1.0 - around), around)
        spread = self.step * (STEPS - 1) / (2 * _EVIDENCE_REACH)
        pace = np.maximum(slope, _LEAST_SLOPE * self.span / spread)
        over, under = (chance - most) / pace, (least - chance) / pace
        move = np.where(penalty > 0.0, np.maximum(over, -penalty), np.maximum(over, 0.0))
        move -= np.where(penalty < 0.0, np.maximum(under, penalty), np.maximum(under, 0.0))
        move = np.clip(move, -spread, spread) * (self.kind >= 0)
        missed = np.maximum(chance - most, least - chance)[:, self.kind >= 0]
        return move[self.first], float(missed.max(initial=0.0))


def start_search(nodes: QuadratureNodes, evidence: Array, alike: Integers, tied: Integers) -> PenaltySearch:
    """The search at its start: coarse nodes, one candidate of each kind, no penalties, for any guarantee.

    Args:
        nodes: The likelihoods at the nodes of quality.
        evidence: `[slot, candidate]`, the evidence for accepting if the candidate wrote the review; accepting
            is right if the sum over a tuple exceeds 0.
        alike: `[candidate]`, equal numbers for candidates whom public data cannot distinguish; -1 for nobody,
            who needs no protection.
        tied: `[slot]`, equal numbers for slots with the same score. Look-alikes are treated alike.
    """
    kind, candidates, of, count = np.unique(alike, return_index=True, return_inverse=True, return_counts=True)
    coarse = node_subset(nodes, slice(None, None, 2))
    coarse = node_subset(coarse, heavy_nodes(coarse.mass * TupleSums(coarse).total(), _NEGLIGIBLE_WEIGHT))
    own = np.stack(TupleSums(coarse).accepted(candidates, -1.0))[..., 0]
    own = np.maximum(own, _UNSUSPECTED * own.max(axis=1, keepdims=True))
    mass, evidence = own * count / (own * count).sum(axis=1, keepdims=True), evidence[:, candidates]
    center = (mass * evidence).sum(axis=1)
    spread = float(np.sqrt((mass * (evidence - center[:, None]) ** 2).sum()))
    return PenaltySearch(
        nodes=coarse,
        candidates=candidates,
        kind=kind,
        of=of,
        count=count,
        first=np.array([int(np.flatnonzero(tied == group)[0]) for group in tied]),
        evidence=evidence,
        own=own,
        mass=mass,
        cap=(mass / count)[:, kind >= 0].max(axis=1, initial=0.0),
        center=center,
        # If the evidence does not depend on who wrote what, any positive step will do.
        step=2.0 * _EVIDENCE_REACH * spread / (STEPS - 1) if spread > _UNSUSPECTED else 1.0,
    )


def _on_machine_grid(values: ArrayLike) -> Array:
    """Values rounded to the grid that all processors agree on."""
    return np.rint(np.asarray(values) / _GRID) * _GRID


# The layout of the table and the belief over its entries.
#
# Near the threshold each total of steps has its own entry; farther away entries grow geometrically.
_UNIT_ENTRIES, _ENTRY_GROWTH = 12, 1.35
# A smaller part of the whole mass is a remainder of rounding.
_ROUNDING_MASS = 1e-17


@dataclass(frozen=True, eq=False)
class TableLayout:
    """The entry of the table that each tuple takes.

    >>> layout = TableLayout(np.array([[0.0, 1.0, 1.5], [0.0, 1.0, 1.5]]), np.array([0, 2, 5]))
    >>> uniform = np.array([[0.9, 0.9], [0.9, 0.9], [0.9, 0.1]])
    >>> layout.entries(np.array([[0, 1], [1, 2], [1, 2]]), uniform)
    array([0, 1, 1])
    >>> layout.expected(np.array([0.25, 0.75]), np.array([[0, 1], [0, 2], [1, 2]]))
    array([0.25, 0.5 , 0.75])
    """

    steps: Array  # `[slot, candidate]`, the evidence in steps
    edges: Integers  # entry i holds the totals of steps from `edges[i]` up to, not including, the next edge
    penalty: Array | None = None  # `[slot, candidate]`, the penalties that led to these steps, if kept

    def entries(self, rows: Integers, chance: Array) -> Integers:
        """The entries of tuples of candidates `[..., slot]`.

        A candidate between two steps takes the upper one if `chance[..., slot]`, uniform in [0, 1), is less
        than the distance to the lower one.
        """
        steps = self.steps[np.arange(rows.shape[-1]), rows]
        return self._entry_at(np.floor(steps) + (chance < steps % 1.0))

    def expected(self, table: Array, rows: Integers) -> Array:
        """The mean accept probability of tuples `[..., slot]` over the random choice of steps."""
        steps = self.steps[np.arange(rows.shape[-1]), rows]
        total = np.zeros(rows.shape[:-1])
        for upper in product((0, 1), repeat=rows.shape[-1]):
            chance = np.prod(np.where(upper, steps % 1.0, 1.0 - steps % 1.0), axis=-1)
            total += chance * table[self._entry_at(np.floor(steps) + np.array(upper))]
        # The probabilities of the roundings sum to 1 up to a last digit.
        return np.clip(total, table.min(), table.max())

    def _entry_at(self, steps: Array) -> Integers:
        total = np.minimum(steps.sum(axis=-1), self.edges[-1] - 1)
        return np.asarray(np.searchsorted(self.edges, total, side="right") - 1)


@dataclass(frozen=True, eq=False)
class PackedLayout:
    """A layout in little memory: of every large pool one is kept until its paper is decided.

    >>> packed = pack_layout(TableLayout(np.array([[0.0, 1.5], [0.0, 1.5]]), np.array([0, 2, 5])))
    >>> packed.steps.shape, packed.layout.steps.tolist(), packed.of((1,)).layout.steps[0].tolist()
    ((1, 2), [[0.0, 1.5], [0.0, 1.5]], [nan, 1.5])
    """

    steps: NDArray[np.int32]  # `[row, candidate]`, the steps as multiples of 2^-20
    row: Slots  # for each slot, its row; those with the same score share one
    edges: Integers  # as in `TableLayout`
    size: int  # the number of candidates
    some: Slots | None = None  # the candidates of each column; None if all of them have one

    @property
    def layout(self) -> TableLayout:
        """The layout, unpacked; nan for candidates of whom nothing was kept."""
        steps = np.full((len(self.row), self.size), np.nan)
        some = slice(None) if self.some is None else list(self.some)
        steps[:, some] = self.steps[list(self.row)] * _GRID
        return TableLayout(steps, self.edges)

    def of(self, candidates: Slots) -> PackedLayout:
        """The layout for a few candidates, out of all."""
        return replace(self, steps=self.steps[:, list(candidates)], some=candidates)


def pack_layout(layout: TableLayout) -> PackedLayout:
    """The layout in little memory, without the penalties that led to it."""
    same = [int((layout.steps == own).all(axis=1).argmax()) for own in layout.steps]
    rows = sorted(set(same))
    steps = np.rint(layout.steps[rows] / _GRID).astype(np.int32)
    return PackedLayout(steps, tuple(map(rows.index, same)), layout.edges, steps.shape[1])


@dataclass(frozen=True, eq=False)
class AggregatedBelief:
    """The belief about a paper with a large pool, by entries of its table.

    The belief is over parts of entries. Each part has one candidate in each slot. Within an entry, the
    candidates of different slots are coupled by quantiles: the marginals by slot are exact, and no guarantee
    depends on more.
    """

    belief: Belief
    weight: Array  # `[entry]`, its probability
    favor: Array  # `[entry]`, the probability that accepting is right


def table_layout(search: PenaltySearch, promise: LayoutTarget) -> TableLayout:
    """The entries of a pool's table under a guarantee, from public data alone."""
    graded = evidence_steps(search, promise)
    if not graded.penalty.any() and graded.threshold == search.threshold(0.0):
        return search.unpenalized_layout
    return _layout_of(graded)


def _layout_of(graded: EvidenceSteps) -> TableLayout:
    edges = _entry_edges(graded.threshold, len(graded.steps) * (STEPS - 1) + 1)
    return TableLayout(graded.steps, edges, graded.penalty)


def _entry_edges(threshold: float, size: int) -> Integers:
    """Where entries begin, from 0 to `size`.

    >>> _entry_edges(20.6, 41)
    array([ 0,  2,  5,  7,  9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
           22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 33, 35, 38, 41])
    """
    further = np.ceil(_ENTRY_GROWTH ** np.arange(1, 1 + np.log(size) / np.log(_ENTRY_GROWTH)))
    away = np.concatenate([np.arange(_UNIT_ENTRIES), _UNIT_ENTRIES - 1 + np.cumsum(further)])
    middle = np.clip(np.floor(threshold), 0, size)
    edges = np.clip(np.concatenate([middle - away, middle + away, [0, size]]), 0, size)
    return np.unique(edges).astype(np.int64)


def aggregate(
    nodes: QuadratureNodes, layout: TableLayout, alike: Integers, tied: Integers
) -> AggregatedBelief:
    """The belief of a pool summed over the entries of its table; see `start_search`."""
    # All widths and orders of sums are fixed here: tables are to have the same last digits in every version.
    sums = TupleSums(nodes, layout.steps, STEPS)
    kinds, first, count = np.unique(alike, return_index=True, return_counts=True)
    masses = [count[:, None] * mass for mass in sums.by_candidate(first, layout.edges)]
    # Slots with the same score are equal, so make them equal to the last bit: an equation that pins one of
    # them then pins all.
    masses = [masses[int(np.flatnonzero(tied == group)[0])] for group in tied]
    total = masses[0].sum()
    masses = [np.where(mass > _ROUNDING_MASS * total, mass, 0.0) for mass in masses]
    by_total = np.stack([nodes.mass, nodes.mass * nodes.above]) @ sums.by_steps()
    each, above = np.add.reduceat(by_total, layout.edges[:-1], axis=1)
    favor = np.clip(above / np.where(each > 0.0, each, 1.0), 0.0, 1.0)
    weight = masses[0].sum(axis=0)
    weight = weight / weight.sum()
    entry, labels, part = _couple_slots(masses, weight)
    belief = unchecked_belief(part / part.sum(), favor[entry], kinds[labels], entry, count[kinds >= 0])
    return AggregatedBelief(belief, weight, favor)


def _couple_slots(masses: Sequence[Array], weight: Array) -> tuple[Integers, Integers, Array]:
    """Parts of entries by quantiles: entry, candidates `[slot, part]`, and weight.

    In each slot the mass of an entry is cut at its candidates' cumulative shares; a part lies between two
    neighboring cuts of all slots. Mass that inclusion-exclusion leaves in some slots only is rounding error.
    """
    held = np.all([mass.sum(axis=0) > 0.0 for mass in masses], axis=0)
    slots = [_cumulative_shares(mass * held) for mass in masses]
    entry, cut = (np.concatenate([cuts[part] for cuts in slots]) for part in (0, 2))
    slot = np.repeat(np.arange(len(slots), dtype=np.int8), [cuts[0].size for cuts in slots])
    # Entry by entry (few, hence a radix sort), then a merge of the slots' cuts, which rise already.
    order = np.argsort(entry.astype(np.int16), kind="stable")
    entry, cut = entry[order], cut[order]
    ends = np.cumsum(np.bincount(entry))
    for start, end in zip((0, *ends), ends, strict=False):
        inside = np.argsort(cut[start:end], kind="stable")
        cut[start:end], order[start:end] = cut[start:end][inside], order[start:end][inside]
    slot = slot[order]
    size = np.where(np.diff(entry, prepend=-1) > 0, cut, np.diff(cut, prepend=0.0))
    kept = size > 0.0
    # The candidate of a part is the one whose stretch ends at the slot's first cut not before the part.
    ended = [(np.cumsum(slot == own) - (slot == own))[kept] for own in range(len(slots))]
    labels = [candidates[part] for (_, candidates, _), part in zip(slots, ended, strict=True)]
    return entry[kept], np.stack(labels), (size * weight[entry])[kept]


def _cumulative_shares(mass: Array) -> tuple[Integers, Integers, Array]:
    """Entry, candidate and cumulative share of the entry, for every candidate with mass in it."""
    entry, candidate = np.nonzero(mass.T)
    grown = np.cumsum(mass, axis=0)
    last = np.diff(entry, append=-1) != 0
    return entry, candidate, np.where(last, 1.0, grown[candidate, entry] / grown[-1, entry])
