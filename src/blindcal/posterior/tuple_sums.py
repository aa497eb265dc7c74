"""Sums over all tuples of distinct candidates, without listing them.

A tuple names one candidate for each review (slot) of a paper. If there are too many tuples to list:

1. `quadrature_nodes` evaluates each candidate's likelihood at evenly spaced nodes of the paper's quality.
2. `TupleSums` adds up products of likelihoods over all tuples of *distinct* candidates. Each candidate counts
   a number of *steps* in each slot, and the sums over the tuples with each total of steps are the
   coefficients of a polynomial in one variable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial, reduce
from itertools import combinations
from math import ceil, factorial, floor
from typing import Any

import numpy as np
from scipy import fft, sparse
from scipy.special import sici

from blindcal.checks import Array, Integers
from blindcal.pools.prior import candidate_seats
from blindcal.posterior.tuple_weights import PaperData, node_likelihoods, panel_spacing

# Nodes of a quadrature over quality.
#
# For smooth integrands that vanish at both ends no rule beats evenly spaced nodes. The distance is half the
# standard deviation of the sharpest posterior. Sums over the nodes are then off by less than e^-78 of
# themselves. The part above the bar interpolates between nodes as if there were no higher frequencies and is
# off by less than e^-19. Gauss-Legendre panels that meet at the bar, as in `tuple_weights`, would need nearly
# twice as many nodes, and here each node costs as much as all tuples of a small pool.
_NODE_SPACING = 0.5
# With more than `_MANY_NODES` nodes, every `_COARSE_STRIDE`-th node tells first where the mass lies. The
# exponential of -`_LOG_UNDERFLOW` is about the smallest float.
_MANY_NODES, _COARSE_STRIDE, _LOG_UNDERFLOW = 256, 8, 740.0
Slots = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class QuadratureNodes:
    """Likelihoods at the nodes of a quadrature over a paper's quality."""

    likelihood: Array  # `[slot, candidate, node]`, times the candidate's prior odds, at most 1
    mass: Array  # `[node]`, the rest of the integrand
    above: Array  # `[node]`, its share that lies above the bar; close to 0 or 1 except near the bar
    forced: frozenset[int] = frozenset()  # candidates who certainly reviewed the paper
    # Candidates who are seated one by one, without subtraction: the forced ones, and those whom sums with
    # repeats would count as the reviewer of several slots at once
    peeled: Slots = ()
    alike: Slots = ()  # for each slot, the first one with the same score; empty: all scores differ

    @property
    def slots(self) -> Slots:
        return tuple(range(len(self.likelihood)))

    @property
    def tied(self) -> Slots:
        """The slots in order, the first one with the same score in place of each."""
        return tuple(sorted(self.alike or self.slots))

    def powers(self, held: Slots) -> Array:
        """`[candidate, node]`: the likelihood of having written all the held slots, kept."""
        # No `functools.cache`: a function that refers to the nodes would keep both until the next collection
        # of cycles, which a few huge arrays do not trigger.
        if held not in self._powers:
            own = self.likelihood[held[-1]]
            self._powers[held] = self.powers(held[:-1]) * own if held[1:] else own
        return self._powers[held]

    @cached_property
    def _powers(self) -> dict[Slots, Array]:
        return {}


def worked_example() -> tuple[QuadratureNodes, Array]:
    """A case small enough to check by hand, used by the doctests of this module.

    Two reviews, candidates a, b and c, one node; and the steps of each candidate in each slot.

    >>> nodes, steps = worked_example()
    >>> nodes.likelihood[:, :, 0]
    array([[0.5 , 0.25, 1.  ],
           [1.  , 0.5 , 0.25]])
    >>> steps
    array([[0. , 1. , 1.5],
           [0. , 1. , 1.5]])
    """
    likelihood = np.array([[[0.5], [0.25], [1.0]], [[1.0], [0.5], [0.25]]])
    return QuadratureNodes(likelihood, mass=np.ones(1), above=np.ones(1)), np.array([[0.0, 1.0, 1.5]] * 2)


def quadrature_nodes(case: PaperData) -> tuple[QuadratureNodes, float]:
    """Likelihoods times odds at each node, and the log of the factor that was divided out of the mass."""
    apart, reach = panel_spacing(case, _NODE_SPACING)
    forced = np.isposinf(case.seat_log_odds)
    odds = np.where(forced, 0.0, case.seat_log_odds)
    # The bar lies midway between two nodes, so that no node counts half.
    first, last = floor((-reach - case.bar) / apart), ceil((reach - case.bar) / apart)
    stride = _COARSE_STRIDE if last - first > _MANY_NODES else 1
    first -= first % stride
    likelihood, log_mass = _log_likelihood(case, odds, apart, range(first, last, stride))
    # The range of nodes that hold the mass, judged by every `stride`-th node
    kept = np.flatnonzero(log_mass > log_mass.max() - _LOG_UNDERFLOW)
    some = (
        slice(max(0, stride * (int(kept[0]) - 2)), stride * (int(kept[-1]) + 2) + 1)
        if kept.size
        else slice(None)
    )
    nodes_at = range(first, last)[some]
    if stride > 1:
        likelihood, log_mass = _log_likelihood(case, odds, apart, nodes_at)
    else:
        likelihood, log_mass = likelihood[:, :, some], log_mass[some]
    nodes = QuadratureNodes(
        likelihood=np.exp(likelihood),
        mass=np.exp(log_mass - log_mass.max()),
        above=0.5 + sici(np.pi * (np.array(nodes_at) + 0.5))[0] / np.pi,
        forced=frozenset(np.flatnonzero(forced).tolist()),
        alike=tuple(map(case.scores.index, case.scores)),
    )
    return nodes, float(log_mass.max() + np.log(apart))


def _log_likelihood(case: PaperData, odds: Array, apart: float, nodes: range) -> tuple[Array, Array]:
    """Log likelihoods plus log odds `[slot, seat, node]`, relative to the largest, and each node's log mass.

    The log mass holds the largest values and the prior N(0, 1).
    """
    each, quality = node_likelihoods(case, apart, nodes), case.bar + apart * (np.array(nodes) + 0.5)
    if case.outsider is not None:
        each = each[:, candidate_seats(len(case.candidates), len(case.scores), case.outsider)]
    each += odds[:, None]
    top = each.max(axis=1)
    each -= top[:, None]
    return each, -0.5 * quality**2 + top.sum(axis=0)


# Sums over tuples of distinct candidates.
#
_NEGLIGIBLE_NODE = 1e-22  # a node that weighs less than this, relative to the heaviest one, is dropped
# Inclusion-exclusion subtracts sums with repeats. These may be this many times the result: subtraction then
# cancels three of sixteen digits.
_MAX_EXCESS = 1e3
_MAX_DENSE = 100_000  # larger tables of probabilities are stored as sparse arrays
_CANDIDATES_AT_ONCE = 128  # whose masses by entry are found
# Each peeled candidate doubles the number of sums, so fewer are affordable with more slots.
_MAX_PEELED = {1: 10, 2: 10, 3: 10, 4: 6, 5: 5}


def significant_nodes(nodes: QuadratureNodes) -> QuadratureNodes | None:
    """The nodes that matter, with the candidates to peel; None if there are too many to peel.

    Sums over distinct candidates cancel digits if sums with repeats are far larger. Then the candidate most
    likely to be counted in two slots at once is peeled, until no more than three digits are lost.
    """
    nodes = replace(nodes, peeled=tuple(sorted(nodes.forced)))
    while True:
        mass = nodes.mass * TupleSums(nodes).total()
        most = mass.max()
        repeats = nodes.mass * TupleSums(nodes, repeats=True).total()
        worst = int(repeats.argmax())
        if repeats[worst] <= _MAX_EXCESS * most:
            break
        unpeeled = np.delete(np.arange(nodes.likelihood.shape[1]), nodes.peeled)
        if len(nodes.peeled) >= _MAX_PEELED.get(len(nodes.slots), 4) or not unpeeled.size:
            return None
        likely = nodes.likelihood[:, unpeeled, worst]
        shares = likely / np.maximum(likely.sum(axis=1), np.finfo(float).tiny)[:, None]
        twice = np.sort(shares, axis=0)[-2]
        nodes = replace(nodes, peeled=(*nodes.peeled, int(unpeeled[twice.argmax()])))
    nodes = node_subset(nodes, heavy_nodes(mass, _NEGLIGIBLE_NODE))
    return replace(nodes, mass=nodes.mass / most)


def node_subset(nodes: QuadratureNodes, which: slice) -> QuadratureNodes:
    """Some of the nodes."""
    likelihood = np.ascontiguousarray(nodes.likelihood[:, :, which])
    return replace(nodes, likelihood=likelihood, mass=nodes.mass[which], above=nodes.above[which])


def heavy_nodes(weight: Array, least: float) -> slice:
    """The nodes from the first to the last one that weighs more than `least` of the heaviest one."""
    kept = np.flatnonzero(weight > least * weight.max())
    return slice(int(kept[0]), int(kept[-1]) + 1) if kept.size else slice(0)


class TupleSums:
    """Sums over tuples of distinct candidates, one in each slot, by their total number of steps.

    Given the quality, reviews are independent except that nobody wrote two of them. Sums with repeats are
    products over slots; inclusion-exclusion over sets of slots removes the repeats. With
    `P_B(y) = prod_{l in B} likelihood_l(y)`, of degree the sum of y's steps in B, and A_1 the first slot of
    A, the candidates who are not peeled have

        distinct(A) = sum over B in A with A_1 of (-1)^(|B|-1) (|B|-1)! sum_y P_B(y) distinct(A-B)
        distinct(A) without y = sum over B in A of (-1)^|B| |B|! P_B(y) distinct(A-B)

    A peeled candidate h is added by `distinct(A) + sum_l likelihood_l(h) distinct(A-l)`; the first term is
    left out if h is forced. With `repeats`, candidates who are not peeled may write several reviews.

    Slots with the same score are one slot that is counted several times: a set of slots is a sorted tuple in
    which the first one of them stands for all. With `beside`, tuples that fill every slot are not summed.

    Steps in each slot count from 0 to below `width`, by default from the fewest to the most that any
    candidate has there: a third of `STEPS` in most slots, and transforms take in proportion. No tuple has
    fewer than `first` steps in all.

    In the worked example, of the six tuples ab and ba have 1 step, ac and ca 1 or 2, and bc and cb 2 or 3.

    >>> TupleSums(*worked_example()).by_steps().ravel().round(6)
    array([0.     , 1.0625 , 0.84375, 0.28125, 0.     ])
    """

    def __init__(
        self,
        nodes: QuadratureNodes,
        steps: Array | None = None,
        width: int | None = None,
        *,
        repeats: bool = False,
        beside: bool = False,
    ) -> None:
        self.nodes, self.repeats, self.beside = nodes, repeats, beside
        shape = nodes.likelihood.shape[:2]
        self.steps = np.zeros(shape) if steps is None else steps
        self._fewest_steps, most = np.floor(self.steps.min(axis=1)), np.ceil(self.steps.max(axis=1))
        if width is not None:
            self._fewest_steps, most = np.zeros(shape[0]), np.full(shape[0], width - 1.0)
        self._step_range: list[int] = (most - self._fewest_steps).astype(np.int64).tolist()
        self.first = int(self._fewest_steps[list(nodes.tied)].sum())
        every = np.arange(shape[1])
        self.unpeeled = np.delete(every, nodes.peeled) if nodes.peeled else every
        self._sums: dict[tuple[Slots, Slots], Array] = {}
        self._steps: dict[Slots, tuple[Integers, Array]] = {}

    def total(self) -> Array:
        """The sum over all tuples, at each node."""
        return np.asarray(self.by_steps().sum(axis=1))

    def by_steps(self) -> Array:
        """The sum over the tuples with each total of steps from `first` on, `[node, total of steps]`."""
        return np.asarray(self.distinct(self.nodes.tied, self.nodes.peeled))

    def by_candidate(self, candidates: Integers, edges: Integers) -> list[Array]:
        """For each slot, the mass `[candidate, entry]` of the tuples with each candidate there.

        Entry i holds the totals of steps from `edges[i]` up to, not including, the next edge.

        >>> sums = TupleSums(*worked_example())
        >>> first, second = sums.by_candidate(np.arange(3), np.array([0, 2, 5]))
        >>> first  # a wrote the first review: ab (1 step) and ac (1 or 2); b: ba and bc; c: ca and cb
        array([[0.3125, 0.0625],
               [0.25  , 0.0625],
               [0.5   , 1.    ]])
        """
        masses = self._sums_by_slot(candidates, partial(self._mass_by_entry, edges=edges - self.first))
        return [np.maximum(mass, 0.0) for mass in masses]

    def accepted(self, candidates: Integers, threshold: float) -> list[Array]:
        """For each slot, the accepted mass `[candidate, 2]` of the tuples with each candidate there.

        A total of steps is accepted with probability `total - threshold + 1/2`, from 0 to 1. The second
        column is that of tuples with one step more.

        >>> sums = TupleSums(*worked_example())
        >>> first, second = sums.accepted(np.arange(3), 2.5)
        >>> first.round(6)  # half of bc and of cb have 3 steps; all but ab, ba and half of ac, ca at least 2
        array([[0.     , 0.0625 ],
               [0.03125, 0.0625 ],
               [0.25   , 1.     ]])
        """
        return self._sums_by_slot(candidates, partial(self._accepted_mass, threshold=threshold - self.first))

    def _sums_by_slot(
        self, candidates: Integers, part: Callable[[Slots, Integers, Array], Array]
    ) -> list[Array]:
        """For each slot, the sums over the tuples with each candidate there.

        `part(held, candidates, rest)` is that of candidates who hold all the `held` slots at once.
        """
        slots, peeled = self.nodes.tied, self.nodes.peeled
        seated = np.isin(candidates, peeled) if peeled else np.zeros(candidates.size, dtype=bool)
        unpeeled, rows = candidates[~seated], np.flatnonzero(seated)
        sums: dict[int, Any] = dict.fromkeys(slots, 0.0)
        # Without y, inclusion-exclusion over the slots that y would hold twice (see the class docstring).
        for held, left, times in _slot_splits(slots):
            if held:
                sign = (-1) ** (len(held) - 1) * factorial(len(held) - 1)
                term = sign * part(held, unpeeled, self.distinct(left, peeled))
                for slot in set(held):
                    # How many of these sets of slots have a given one of those with the same score.
                    sums[slot] = sums[slot] + (times * held.count(slot) // slots.count(slot)) * term
        for slot in sums:
            combined = np.empty((candidates.size, *sums[slot].shape[1:]))
            combined[~seated] = sums[slot]
            for row in rows:
                others = excluding(peeled, (int(candidates[row]),))
                rest = self.distinct(without(slots, slot), others)
                combined[row] = part((slot,), candidates[row : row + 1], rest)[0]
            sums[slot] = combined
        return [sums[slot] for slot in self.nodes.alike or slots]

    def _accepted_mass(self, held: Slots, candidates: Integers, rest: Array, threshold: float) -> Array:
        """`[candidate, 2]`: candidates in the held slots times the accepted rest of the tuple.

        Only one total of steps is accepted with a probability other than 0 and 1, so sums of the rest from
        two totals on are all that is needed.
        """
        powers, (whole, chance) = self._powers(held, candidates), self._steps_of(held, candidates)
        only, size = floor(threshold - 0.5) + 1, rest.shape[1]
        share = only - (threshold - 0.5)
        onward = np.zeros((size + 1, len(rest)))
        np.cumsum((rest * self.nodes.mass[:, None]).T[::-1], axis=0, out=onward[1:])
        # The number of totals that are accepted, surely and at most, by the steps of the held slots.
        number = size - only - 1 + np.arange(self._possible_totals(held) + len(held) + 2)
        tails = onward[np.minimum(np.maximum(number, 0), size)]
        beside = tails[:-1] + share * (tails[1:] - tails[:-1])
        steps = whole + np.arange(len(held) + 2)[:, None]
        each = np.einsum("yt,jyt->jy", powers, beside[steps])
        return np.stack([(chance * each[:-1]).sum(axis=0), (chance * each[1:]).sum(axis=0)], axis=-1)

    def _mass_by_entry(self, held: Slots, candidates: Integers, rest: Array, edges: Integers) -> Array:
        """`[candidate, entry]`: candidates in the held slots times the rest of the tuple."""
        powers, (whole, chance) = self._powers(held, candidates), self._steps_of(held, candidates)
        size = rest.shape[1]
        below = np.zeros((len(rest), size + 1))
        np.cumsum(rest * self.nodes.mass[:, None], axis=1, out=below[:, 1:])
        sums, order = np.zeros((candidates.size, edges.size)), np.argsort(whole, kind="stable")
        for start in range(0, candidates.size, _CANDIDATES_AT_ONCE):
            # Candidates with about as many steps need sums of the rest up to the same few totals.
            who = order[start : start + _CANDIDATES_AT_ONCE]
            upto = [np.clip(edges - (whole[who, None] + more), 0, size) for more in range(len(held) + 1)]
            present = np.zeros(size + 1, dtype=bool)
            for totals in upto:
                present[totals] = True
            column, reached = np.cumsum(present) - 1, powers[who] @ below[:, present]
            start_of_row = reached.shape[1] * np.arange(who.size)[:, None]
            spread = np.zeros((who.size, edges.size))
            for totals, part in zip(upto, chance, strict=True):
                spread += part[who, None] * reached.take(column[totals] + start_of_row)
            sums[who] = spread
        return np.diff(sums, axis=1)

    def _powers(self, held: Slots, candidates: Integers) -> Array:
        """`[candidate, node]`: the likelihood of having written all the held slots."""
        powers = self.nodes.powers(held)
        return powers if candidates.size == len(powers) else powers[candidates]

    def _steps_of(self, held: Slots, candidates: Integers) -> tuple[Integers, Array]:
        """The least total of steps in the held slots, and the probability `[more, candidate]` of more.

        A candidate between two whole steps takes the lower or the upper one at random in every slot.
        """
        if held not in self._steps:
            self._steps[held] = self._steps_of_everyone(held)
        total, chance = self._steps[held]
        every = candidates.size == total.size
        return (total, chance) if every else (total[candidates], chance[:, candidates])

    def _steps_of_everyone(self, held: Slots) -> tuple[Integers, Array]:
        """The same for everyone."""
        lower = np.floor(self.steps[held[-1]])
        up, own = self.steps[held[-1]] - lower, (lower - self._fewest_steps[held[-1]]).astype(np.int64)
        if len(held) == 1:
            return own, np.stack([1.0 - up, up])
        others, before = self._steps_of(held[:-1], np.arange(up.size))
        chance = np.zeros((len(held) + 1, up.size))
        chance[:-1] = before * (1.0 - up)
        chance[1:] += before * up
        return others + own, chance

    def distinct(self, slots: Slots, peeled: Slots) -> Array:
        """`[node, total of steps]`: the sum over distinct candidates in these slots, unpeeled or `peeled`."""
        if not slots:
            # The empty tuple counts once, unless a forced candidate has no seat.
            return np.full((self.nodes.mass.size, 1), float(not self.nodes.forced & set(peeled)))
        if not peeled:
            return self._unpeeled_sums[slots]
        if (slots, peeled) in self._sums:
            return self._sums[slots, peeled]
        # The last of the peeled candidates has no slot, or each one in turn.
        others, last = peeled[:-1], peeled[-1]
        total = self._sums[slots, peeled] = np.zeros((self.nodes.mass.size, self._possible_totals(slots)))
        if last not in self.nodes.forced:
            total += self.distinct(slots, others)
        for slot in dict.fromkeys(slots):
            rest = self.distinct(without(slots, slot), others)
            whole, chance = self._steps_of((slot,), np.array([last]))
            sure = slots.count(slot) * self.nodes.likelihood[slot, last][:, None]
            for steps, share in enumerate(chance[:, 0], start=int(whole[0])):
                if share > 0.0:
                    total[:, steps : steps + rest.shape[1]] += rest * (share * sure)
        return total

    @cached_property
    def _unpeeled_sums(self) -> dict[Slots, Array]:
        """`[node, total of steps]` for each set of slots: the sum over distinct unpeeled candidates in them.

        Products of polynomials are convolutions of their coefficients: one Fourier transform of the sums over
        single candidates, and one back.
        """
        most = len(self.nodes.slots) - self.beside
        every = [held for held, _, _ in _slot_splits(self.nodes.tied) if 0 < len(held) <= most]
        wide = fft.next_fast_len(max((self._possible_totals(held) for held in every), default=1), real=True)
        coefficients = np.zeros((len(every), self.nodes.mass.size, wide))
        for held, own in zip(every, coefficients, strict=True):
            if not self.repeats or len(held) == 1:
                own[:, : self._possible_totals(held)] = self._by_step(held)
        spectra: Any = coefficients if wide == 1 else fft.rfft(coefficients, axis=-1)
        of_candidates = dict(zip(every, spectra, strict=True))
        products: dict[Slots, Any] = {(): 1.0}
        for slots in every:
            # Inclusion-exclusion on the slots that repeat the first one's candidate.
            total = of_candidates[slots[:1]] * products[slots[1:]]
            for held, left, times in () if self.repeats else _slot_splits(slots[1:]):
                if held:
                    sign = (-1) ** len(held) * factorial(len(held)) * times
                    total = total + sign * of_candidates[(slots[0], *held)] * products[left]
            products[slots] = total
        spectra = np.stack([products[slots] for slots in every]) if every else spectra
        sums: Array = spectra if wide == 1 else fft.irfft(spectra, wide, axis=-1)
        return {
            slots: part[:, : self._possible_totals(slots)] for slots, part in zip(every, sums, strict=True)
        }

    def _by_step(self, held: Slots) -> Array:
        """`[node, steps]`: the sum over the unpeeled candidates, each in all of the held slots at once."""
        powers = self._powers(held, self.unpeeled)
        if self._possible_totals(held) == 1:
            # Nobody is further than the fewest steps.
            return np.asarray(powers.sum(axis=0)[:, None])
        whole, chance = self._steps_of(held, self.unpeeled)
        # The highest step has no upper neighbor: the probability of steps beyond it is 0.
        size, steps = self._possible_totals(held) + len(held), whole + np.arange(len(held) + 1)[:, None]
        if whole.size * size <= _MAX_DENSE:
            shares: Any = np.zeros((whole.size, size))
            shares[np.arange(whole.size), steps] = chance
            return np.asarray(powers.T @ shares)[:, : self._possible_totals(held)]
        ends = np.arange(0, steps.size + 1, len(steps))
        shares = sparse.csc_array((chance.T.ravel(), steps.T.ravel(), ends), shape=(size, whole.size))
        return np.asarray((shares @ powers).T)[:, : self._possible_totals(held)]

    def _possible_totals(self, slots: Slots) -> int:
        """The number of possible totals of steps."""
        return 1 + sum(map(self._step_range.__getitem__, slots))


def excluding(slots: Slots, some: Slots) -> Slots:
    """The slots that are not among `some`."""
    return tuple(slot for slot in slots if slot not in some)


def without(slots: Slots, slot: int) -> Slots:
    """The slots without one of those that are counted alike.

    >>> without((0, 0, 2), 0)
    (0, 2)
    """
    at = slots.index(slot)
    return slots[:at] + slots[at + 1 :]


def subsets(slots: Sequence[int]) -> Iterator[Slots]:
    """All subsets, smaller ones first."""
    for size in range(len(slots) + 1):
        yield from combinations(slots, size)


@cache
def _slot_splits(slots: Slots) -> tuple[tuple[Slots, Slots, int], ...]:
    """Every part of the slots, smaller ones first, with the rest, and the number of parts that look like it.

    >>> _slot_splits((0, 0, 2))
    (((), (0, 0, 2), 1), ((0,), (0, 2), 2), ((2,), (0, 0), 1), ((0, 0), (2,), 1), ((0, 2), (0,), 2),
     ((0, 0, 2), (), 1))
    """
    times = Counter(subsets(slots))
    return tuple((held, reduce(without, held, slots), number) for held, number in times.items())
