"""Aggregated beliefs for pools with too many tuples of reviewers to list.

A tuple names one candidate for each review (slot) of a paper. If there are too many tuples, all tuples with
similar evidence share one entry of the table of accept probabilities (column aggregation):

1. `quadrature_nodes` evaluates each candidate's likelihood at evenly spaced nodes of the paper's quality.
2. `TupleSums` adds up products of likelihoods over all tuples of *distinct* candidates without listing them.
   Each candidate counts a number of *steps* in each slot, and the sums over the tuples with each total of
   steps are the coefficients of a polynomial in one variable.
3. `evidence_steps` finds these steps: the evidence for accepting, less a penalty for each candidate that
   keeps decisions from pointing at anyone.
4. `table_layout` groups totals of steps into entries, and `aggregate` sums the belief over each entry.

The guarantee does not depend on the approximation. Every candidate keeps its exact probability in every slot
and entry, and the table itself is certified later; a bad choice of entries costs accuracy only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial, reduce
from itertools import combinations, product
from math import ceil, factorial, floor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft, sparse
from scipy.special import sici

from blindcal.assignment.prior import candidate_seats
from blindcal.checks import Array, Integers
from blindcal.posterior.belief import Belief, unchecked_belief
from blindcal.posterior.tuple_weights import PaperData, panel_spacing, shared_likelihoods

# 1. Nodes of a quadrature over quality.
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
    """Likelihoods at the nodes of a quadrature over a paper's quality.

    Attributes:
        likelihood: `[slot, candidate, node]`, the likelihood times the candidate's prior odds, at most 1.
        mass: `[node]`, the rest of the integrand.
        above: `[node]`, the share of each node that lies above the bar; close to 0 or 1 except near the bar.
        forced: Candidates who certainly reviewed the paper.
        peeled: Candidates who are seated one by one, without subtraction: the forced ones, and those whom
            sums with repeats would count as the reviewer of several slots at once.
        alike: For each slot, the first one with the same score; empty: all scores differ.
    """

    likelihood: Array
    mass: Array
    above: Array
    forced: frozenset[int] = frozenset()
    peeled: Slots = ()
    alike: Slots = ()

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
    odds = case.seat_log_odds
    forced = np.isposinf(odds)
    odds = np.where(forced, 0.0, odds)
    # The bar lies midway between two nodes, so that no node counts half.
    first, last = floor((-reach - case.bar) / apart), ceil((reach - case.bar) / apart)
    stride = _COARSE_STRIDE if last - first > _MANY_NODES else 1
    first -= first % stride
    likelihood, log_mass = _log_likelihood(case, odds, apart, np.arange(first, last, stride))
    some = _nodes_with_mass(log_mass, last - first, stride)
    nodes_at = np.arange(first, last)[some]
    if stride > 1:
        likelihood, log_mass = _log_likelihood(case, odds, apart, nodes_at)
    else:
        likelihood, log_mass = likelihood[:, :, some], log_mass[some]
    mass = np.exp(log_mass - log_mass.max())
    above = 0.5 + sici(np.pi * (nodes_at + 0.5))[0] / np.pi
    sure = frozenset(np.flatnonzero(forced).tolist())
    alike = tuple(case.scores.index(score) for score in case.scores)
    nodes = QuadratureNodes(np.exp(likelihood), mass, above, sure, alike=alike)
    return nodes, float(log_mass.max() + np.log(apart))


def _log_likelihood(case: PaperData, odds: Array, apart: float, nodes: Integers) -> tuple[Array, Array]:
    """Log likelihoods plus log odds, relative to the largest, and the log mass of each node.

    `nodes` are evenly spaced, and a node i is the quality `bar + apart (i + 1/2)`. Returns
    `[slot, seat, node]` and `[node]`; the log mass holds the largest values and the prior N(0, 1).
    """
    stride = int(nodes[1] - nodes[0]) if nodes.size > 1 else 1
    shared, quality = shared_likelihoods(case.grid, case.bar, apart), case.bar + apart * (nodes + 0.5)
    each = shared.at(case.scores, case.parameters, int(nodes[0]), int(nodes[-1]) + 1, stride)
    if case.outsider is not None:
        each = each[:, candidate_seats(len(case.candidates), len(case.scores), case.outsider)]
    each += odds[:, None]
    top = each.max(axis=1)
    each -= top[:, None]
    return each, -0.5 * quality**2 + top.sum(axis=0)


def _nodes_with_mass(log_mass: Array, size: int, stride: int) -> slice:
    """The range of nodes that hold the mass, judged by every `stride`-th node."""
    kept = np.flatnonzero(log_mass > log_mass.max() - _LOG_UNDERFLOW)
    if not kept.size:
        return slice(0, size)
    return slice(max(0, stride * (int(kept[0]) - 2)), stride * (int(kept[-1]) + 2) + 1)


# 2. Sums over tuples of distinct candidates.
#
# A node that weighs less than this, relative to the heaviest one, is dropped.
_NEGLIGIBLE_NODE = 1e-22
# Inclusion-exclusion subtracts sums with repeats. These may be this many times the result: subtraction then
# cancels three of sixteen digits.
_MAX_EXCESS = 1e3
# Larger tables of probabilities are stored as sparse arrays.
_MAX_DENSE = 100_000
# Masses by entry are found for this many candidates at a time.
_CANDIDATES_AT_ONCE = 128
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
    nodes = _subset(nodes, _heavy(mass, _NEGLIGIBLE_NODE))
    return replace(nodes, mass=nodes.mass / most)


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
        self._fewest, most = np.floor(self.steps.min(axis=1)), np.ceil(self.steps.max(axis=1))
        if width is not None:
            self._fewest, most = np.zeros(shape[0]), np.full(shape[0], width - 1.0)
        self._reach: list[int] = (most - self._fewest).astype(np.int64).tolist()
        self.first = int(self._fewest[list(nodes.tied)].sum())
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
        return [
            np.maximum(mass, 0.0)
            for mass in self._by_slot(candidates, partial(self._spread, edges=edges - self.first))
        ]

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
        return self._by_slot(candidates, partial(self._reached, threshold=threshold - self.first))

    def _by_slot(self, candidates: Integers, part: Callable[[Slots, Integers, Array], Array]) -> list[Array]:
        """For each slot, the sums over the tuples with each candidate there.

        `part(held, candidates, rest)` is that of candidates who hold all the `held` slots at once.
        """
        slots, peeled = self.nodes.tied, self.nodes.peeled
        seated = np.isin(candidates, peeled) if peeled else np.zeros(candidates.size, dtype=bool)
        unpeeled, rows = candidates[~seated], np.flatnonzero(seated)
        sums: dict[int, Any] = dict.fromkeys(slots, 0.0)
        # Without y, inclusion-exclusion over the slots that y would hold twice (see the class docstring).
        for held, left, times in _splits(slots):
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

    def _reached(self, held: Slots, candidates: Integers, rest: Array, threshold: float) -> Array:
        """`[candidate, 2]`: candidates in the held slots times the accepted rest of the tuple.

        Only one total of steps is accepted with a probability other than 0 and 1, so sums of the rest from
        two totals on are all that is needed.
        """
        powers, (whole, chance) = self._powers(held, candidates), self._taken(held, candidates)
        only, size = floor(threshold - 0.5) + 1, rest.shape[1]
        share = only - (threshold - 0.5)
        onward = np.zeros((size + 1, len(rest)))
        np.cumsum((rest * self.nodes.mass[:, None]).T[::-1], axis=0, out=onward[1:])
        # The number of totals that are accepted, surely and at most, by the steps of the held slots.
        number = size - only - 1 + np.arange(self._size(held) + len(held) + 2)
        tails = onward[np.minimum(np.maximum(number, 0), size)]
        beside = tails[:-1] + share * (tails[1:] - tails[:-1])
        steps = whole + np.arange(len(held) + 2)[:, None]
        each = np.einsum("yt,jyt->jy", powers, beside[steps])
        return np.stack([(chance * each[:-1]).sum(axis=0), (chance * each[1:]).sum(axis=0)], axis=-1)

    def _spread(self, held: Slots, candidates: Integers, rest: Array, edges: Integers) -> Array:
        """`[candidate, entry]`: candidates in the held slots times the rest of the tuple."""
        powers, (whole, chance) = self._powers(held, candidates), self._taken(held, candidates)
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
            place, reached = np.cumsum(present) - 1, powers[who] @ below[:, present]
            start_of_row = reached.shape[1] * np.arange(who.size)[:, None]
            spread = np.zeros((who.size, edges.size))
            for totals, part in zip(upto, chance, strict=True):
                spread += part[who, None] * reached.take(place[totals] + start_of_row)
            sums[who] = spread
        return np.diff(sums, axis=1)

    def _powers(self, held: Slots, candidates: Integers) -> Array:
        """`[candidate, node]`: the likelihood of having written all the held slots."""
        powers = self.nodes.powers(held)
        return powers if candidates.size == len(powers) else powers[candidates]

    def _taken(self, held: Slots, candidates: Integers) -> tuple[Integers, Array]:
        """The least total of steps in the held slots, and the probability `[more, candidate]` of more.

        A candidate between two whole steps takes the lower or the upper one at random in every slot.
        """
        whole, chance = self._rounded(held)
        every = candidates.size == whole.size
        return (whole, chance) if every else (whole[candidates], chance[:, candidates])

    def _rounded(self, held: Slots) -> tuple[Integers, Array]:
        """The same for everyone, kept."""
        if held not in self._steps:
            self._steps[held] = self._round(held)
        return self._steps[held]

    def _round(self, held: Slots) -> tuple[Integers, Array]:
        whole = np.floor(self.steps[held[-1]])
        up = self.steps[held[-1]] - whole
        whole -= self._fewest[held[-1]]
        if len(held) == 1:
            return whole.astype(np.int64), np.stack([1.0 - up, up])
        others, before = self._rounded(held[:-1])
        chance = np.zeros((len(held) + 1, up.size))
        chance[:-1] = before * (1.0 - up)
        chance[1:] += before * up
        return others + whole.astype(np.int64), chance

    def distinct(self, slots: Slots, peeled: Slots) -> Array:
        """`[node, total of steps]`: the sum over distinct candidates in these slots, unpeeled or `peeled`."""
        if not slots:
            # The empty tuple counts once, unless a forced candidate has no seat.
            return np.full((self.nodes.mass.size, 1), float(not self.nodes.forced & set(peeled)))
        if not peeled:
            return self._unpeeled_sums[slots]
        if (slots, peeled) not in self._sums:
            self._sums[slots, peeled] = self._seated(slots, peeled)
        return self._sums[slots, peeled]

    def _seated(self, slots: Slots, peeled: Slots) -> Array:
        """The sum with the last of the peeled candidates in no slot, or in each one in turn."""
        *others, last = peeled
        total = np.zeros((self.nodes.mass.size, self._size(slots)))
        if last not in self.nodes.forced:
            total += self.distinct(slots, tuple(others))
        for slot in dict.fromkeys(slots):
            rest = self.distinct(without(slots, slot), tuple(others))
            whole, chance = self._taken((slot,), np.array([last]))
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
        every = [held for held, _, _ in _splits(self.nodes.tied) if 0 < len(held) <= most]
        wide = fft.next_fast_len(max((self._size(held) for held in every), default=1), real=True)
        coefficients = np.zeros((len(every), self.nodes.mass.size, wide))
        for held, own in zip(every, coefficients, strict=True):
            if not self.repeats or len(held) == 1:
                own[:, : self._size(held)] = self._by_step(held)
        spectra: Any = coefficients if wide == 1 else fft.rfft(coefficients, axis=-1)
        of_candidates = dict(zip(every, spectra, strict=True))
        products: dict[Slots, Any] = {(): 1.0}
        for slots in every:
            # Inclusion-exclusion on the slots that repeat the first one's candidate.
            total = of_candidates[slots[:1]] * products[slots[1:]]
            for held, left, times in () if self.repeats else _splits(slots[1:]):
                if held:
                    sign = (-1) ** len(held) * factorial(len(held)) * times
                    total = total + sign * of_candidates[(slots[0], *held)] * products[left]
            products[slots] = total
        spectra = np.stack([products[slots] for slots in every]) if every else spectra
        sums: Array = spectra if wide == 1 else fft.irfft(spectra, wide, axis=-1)
        return {slots: part[:, : self._size(slots)] for slots, part in zip(every, sums, strict=True)}

    def _by_step(self, held: Slots) -> Array:
        """`[node, steps]`: the sum over the unpeeled candidates, each in all of the held slots at once."""
        powers = self._powers(held, self.unpeeled)
        if self._size(held) == 1:
            # Nobody is further than the fewest steps.
            return np.asarray(powers.sum(axis=0)[:, None])
        whole, chance = self._taken(held, self.unpeeled)
        # The highest step has no upper neighbor: the probability of steps beyond it is 0.
        size, steps = self._size(held) + len(held), whole + np.arange(len(held) + 1)[:, None]
        if whole.size * size <= _MAX_DENSE:
            shares: Any = np.zeros((whole.size, size))
            shares[np.arange(whole.size), steps] = chance
            return np.asarray(powers.T @ shares)[:, : self._size(held)]
        ends = np.arange(0, steps.size + 1, len(steps))
        shares = sparse.csc_array((chance.T.ravel(), steps.T.ravel(), ends), shape=(size, whole.size))
        return np.asarray((shares @ powers).T)[:, : self._size(held)]

    def _size(self, slots: Slots) -> int:
        """The number of possible totals of steps."""
        return 1 + sum(map(self._reach.__getitem__, slots))


def excluding(slots: Slots, some: Slots) -> Slots:
    """The slots that are not among `some`."""
    return tuple(slot for slot in slots if slot not in some)


def without(slots: Slots, one: int) -> Slots:
    """The slots without one of those that are counted alike.

    >>> without((0, 0, 2), 0)
    (0, 2)
    """
    at = slots.index(one)
    return slots[:at] + slots[at + 1 :]


def subsets(slots: Sequence[int]) -> Iterator[Slots]:
    """All subsets, smaller ones first."""
    for size in range(len(slots) + 1):
        yield from combinations(slots, size)


@cache
def _splits(slots: Slots) -> tuple[tuple[Slots, Slots, int], ...]:
    """Every part of the slots, smaller ones first, with the rest, and the number of parts that look like it.

    >>> _splits((0, 0, 2))
    (((), (0, 0, 2), 1), ((0,), (0, 2), 2), ((2,), (0, 0), 1), ((0, 0), (2,), 1), ((0, 2), (0,), 2),
     ((0, 0, 2), (), 1))
    """
    times = Counter(subsets(slots))
    return tuple((held, reduce(without, held, slots), number) for held, number in times.items())


# 3. Penalties: the evidence that each candidate has to give up so that no decision points at anyone.
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
# A candidate this many times less likely than the likeliest one needs no penalty.
_UNSUSPECTED = 1e-9
# Penalties, steps and the threshold are rounded to multiples of this in every round. Sums differ in their
# last digits between processors, and forty rounds would amplify that many thousand times. Rounded, all
# processors take the same path, except for about one paper in a million.
_GRID = 2.0**-20


@dataclass(frozen=True)
class LayoutTarget:
    """The guarantee that a layout is made for.

    Attributes:
        name: The name of the guarantee.
        span: How far apart its accept probabilities may lie.
        least_cap: Anyone may become this likely, although nobody was: a crowd. Under *steady* this is the
            least of all caps, under *average* a further limit.
    """

    name: str = "steady"
    span: float = float(np.tanh(1.0))
    least_cap: float = 0.0

    def pinned(self, tops: Array) -> NDArray[np.bool_]:
        """Whether ranges lie around P(accept), by the chance of a review's likeliest candidate.

        Always under *steady*; under *average* if a crowd leaves that candidate hardly any room.
        """
        return (self.name == "steady") | ((self.least_cap > 0.0) & (tops >= _LITTLE_ROOM * self.least_cap))


@dataclass(frozen=True, eq=False)
class EvidenceSteps:
    """The evidence of each candidate in each slot, in steps.

    Attributes:
        steps: `[slot, candidate]`, the evidence less the penalty.
        penalty: `[slot, candidate]`, in units of evidence.
        threshold: The total of steps at which accepting begins.
    """

    steps: Array
    penalty: Array
    threshold: float


def evidence_steps(search: PenaltySearch, promise: LayoutTarget) -> EvidenceSteps:
    """The evidence of each candidate in each slot, in steps, penalized for a guarantee.

    Args:
        search: The paper, from `start_search`.
        promise: The guarantee to penalize for.
    """
    crowd, steady = promise.least_cap, promise.name == "steady"
    # A crowd lets anyone become as likely as one in so many.
    pinned = promise.pinned(search.cap)[:, None]
    cap = np.where(search.cap > 0.0, np.maximum(search.cap, crowd if steady else 0.0), 0.0)
    penalty, risen, accepted = np.zeros_like(search.evidence), 0.0, search.unpenalized
    search = replace(search, span=promise.span, cap=cap)
    best, last, damping = (np.inf, penalty, risen), np.inf, _DAMPING
    around = np.full((len(search.evidence), 1), 0.5)
    needed = promise.name in ("steady", "average") and promise.span > 0.0 and search.cap.any()
    for number in range(_MAX_ROUNDS if needed else 0):
        chance, slope = search.chances(accepted if number == 0 else search.accepted(penalty, risen))
        follow = np.where(pinned, 1.0, _CENTER_PACE) if number else 1.0
        around = _snapped(around + follow * (search.around(chance, pinned) - around))
        moved, missed = search.moved(penalty, chance, slope, around)
        missed = float(_snapped(missed))
        best = min(best, (missed, penalty, risen), key=lambda state: state[0])
        if missed < _TOLERANCE:
            break
        # Candidates that move together overshoot: then all take shorter steps.
        factor = _SHRINK if missed > last else _GROW
        damping = float(np.clip(factor * damping, _LEAST_DAMPING, _DAMPING))
        penalty, last = _snapped(penalty + damping * moved), missed
        penalty = np.where(pinned, penalty, _snapped(search.balanced(penalty, damping)))
        risen += _THRESHOLD_PACE * damping * (search.risen(penalty * pinned) - risen)
        risen = float(_snapped(risen))
    _, penalty, risen = best
    return search.graded(penalty, risen)


@dataclass(frozen=True, eq=False)
class PenaltySearch:
    """A paper as the search for penalties sees it: one candidate of each kind, `count` of them alike.

    `own[slot, kind]` is the mass of one candidate of the kind, `mass` the probability that any of the kind
    wrote the review, `cap[slot]` the most that a decision may make of a single candidate's, by default that
    of the likeliest, and `first[slot]` the first slot with the same score. `kind` is -1 for nobody, and
    `of[candidate]` is the kind of each candidate.
    """

    nodes: QuadratureNodes
    candidates: Integers
    kind: Integers
    of: Integers
    count: Integers
    first: Integers
    evidence: Array
    bar: float
    own: Array
    mass: Array
    cap: Array
    center: Array
    step: float
    span: float = 1.0

    @property
    def likeliest(self) -> Integers:
        """`[slot, 1]`: the kind of the likeliest reviewer."""
        own: Array = np.where(self.kind >= 0, self.mass / self.count, -1.0)
        return np.asarray(own.argmax(axis=1)[:, None])

    @property
    def middle(self) -> float:
        return (STEPS - 1) / 2

    def steps(self, penalty: Array) -> Array:
        """The evidence less the penalty, in steps from 0 on."""
        away = (self.evidence - penalty - self.center[:, None]) / self.step
        return _snapped(np.clip(away + self.middle, 0.0, STEPS - 1.0))

    def threshold(self, risen: float) -> float:
        """The total of steps at which the evidence favors accepting.

        `risen` is the sum of all penalties, each times the most that a decision may make of anyone.
        """
        reviews = len(self.center)
        total = (self.bar - risen - float(self.center.sum())) / self.step + reviews * self.middle
        return float(_snapped(np.clip(total, -1.0, reviews * (STEPS - 1) + 1.0)))

    def graded(self, penalty: Array, risen: float) -> EvidenceSteps:
        """Everybody's evidence in steps, less the penalty of their kind."""
        return EvidenceSteps(self.steps(penalty)[:, self.of], penalty[:, self.of], self.threshold(risen))

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

    def chances(self, accepted: Array) -> tuple[Array, Array]:
        """`[slot, kind]`: P(accept | candidate), and its derivative in the candidate's evidence."""
        now, further = accepted
        return 0.5 + self.span * (now - 0.5), self.span * (further - now) / self.step

    def around(self, chance: Array, pinned: NDArray[np.bool_]) -> Array:
        """`[slot, 1]`: the probability around which all ranges lie: P(accept), or the likeliest one's own."""
        own = np.take_along_axis(chance, self.likeliest, axis=1)
        return np.where(pinned, float(self.mass[0] @ chance[0]), own)

    def risen(self, penalty: Array) -> float:
        """How far all penalties move the threshold if the ranges lie around P(accept)."""
        return float((self.cap[:, None] * self.count * penalty * (self.kind >= 0)).sum())

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


def start_search(
    nodes: QuadratureNodes, evidence: Array, bar: float, alike: Integers, tied: Integers
) -> PenaltySearch:
    """The search at its start: coarse nodes, one candidate of each kind, no penalties, for any guarantee.

    Args:
        nodes: The likelihoods at the nodes of quality.
        evidence: `[slot, candidate]`, the evidence for accepting if the candidate wrote the review; accepting
            is right if the sum over a tuple exceeds the bar.
        bar: The sum of evidence at which both decisions are equally good.
        alike: `[candidate]`, equal numbers for candidates whom public data cannot distinguish; -1 for nobody,
            who needs no protection.
        tied: `[slot]`, equal numbers for slots with the same score. Look-alikes are treated alike.
    """
    kind, candidates, of, count = np.unique(alike, return_index=True, return_inverse=True, return_counts=True)
    coarse = _subset(nodes, slice(None, None, 2))
    coarse = _subset(coarse, _heavy(coarse.mass * TupleSums(coarse).total(), _NEGLIGIBLE_WEIGHT))
    own = np.stack(TupleSums(coarse).accepted(candidates, -1.0))[..., 0]
    own = np.maximum(own, _UNSUSPECTED * own.max(axis=1, keepdims=True))
    mass = own * count / (own * count).sum(axis=1, keepdims=True)
    named = kind >= 0
    center = (mass * evidence[:, candidates]).sum(axis=1)
    spread = float(np.sqrt((mass * (evidence[:, candidates] - center[:, None]) ** 2).sum()))
    return PenaltySearch(
        nodes=coarse,
        candidates=candidates,
        kind=kind,
        of=of,
        count=count,
        first=np.array([int(np.flatnonzero(tied == group)[0]) for group in tied]),
        evidence=evidence[:, candidates],
        bar=bar,
        own=own,
        mass=mass,
        cap=(mass / count)[:, named].max(axis=1, initial=0.0),
        center=center,
        # If the evidence does not depend on who wrote what, any positive step will do.
        step=2.0 * _EVIDENCE_REACH * spread / (STEPS - 1)
        if spread > _UNSUSPECTED * (1.0 + abs(bar))
        else 1.0,
    )


def _snapped(values: ArrayLike) -> Array:
    """Values rounded to the grid that all processors agree on."""
    return np.rint(np.asarray(values) / _GRID) * _GRID


def _subset(nodes: QuadratureNodes, which: slice) -> QuadratureNodes:
    likelihood = np.ascontiguousarray(nodes.likelihood[:, :, which])
    return replace(nodes, likelihood=likelihood, mass=nodes.mass[which], above=nodes.above[which])


def _heavy(weight: Array, least: float) -> slice:
    """The nodes from the first to the last one that weighs more than `least` of the heaviest one."""
    kept = np.flatnonzero(weight > least * weight.max())
    return slice(int(kept[0]), int(kept[-1]) + 1) if kept.size else slice(0)


# 4. The layout of the table and the belief over its entries.
#
# Near the threshold each total of steps has its own entry; farther away entries grow geometrically.
_UNIT_ENTRIES, _ENTRY_GROWTH = 12, 1.35
# A smaller part of the whole mass is a remainder of rounding.
_ROUNDING_MASS = 1e-17


@dataclass(frozen=True, eq=False)
class TableLayout:
    """The entry of the table that each tuple takes.

    Attributes:
        steps: `[slot, candidate]`, the evidence in steps.
        edges: Entry i holds the totals of steps from `edges[i]` up to, not including, the next edge.
        handicap: `[slot, candidate]`, the penalties that led to these steps; None if they are not kept.

    Example:
        >>> layout = TableLayout(np.array([[0.0, 1.0, 1.5], [0.0, 1.0, 1.5]]), np.array([0, 2, 5]))
        >>> uniform = np.array([[0.9, 0.9], [0.9, 0.9], [0.9, 0.1]])
        >>> layout.entries(np.array([[0, 1], [1, 2], [1, 2]]), uniform)
        array([0, 1, 1])
        >>> layout.expected(np.array([0.25, 0.75]), np.array([[0, 1], [0, 2], [1, 2]]))
        array([0.25, 0.5 , 0.75])
    """

    steps: Array
    edges: Integers
    handicap: Array | None = None

    def entries(self, rows: Integers, chance: Array) -> Integers:
        """The entries of tuples of candidates `[..., slot]`.

        A candidate between two steps takes the upper one if `chance[..., slot]`, uniform in [0, 1), is less
        than the distance to the lower one.
        """
        steps = self._of(rows)
        return self._at(np.floor(steps) + (chance < steps % 1.0))

    def expected(self, table: Array, rows: Integers) -> Array:
        """The mean accept probability of tuples `[..., slot]` over the random choice of steps."""
        steps = self._of(rows)
        total = np.zeros(rows.shape[:-1])
        for upper in product((0, 1), repeat=rows.shape[-1]):
            chance = np.prod(np.where(upper, steps % 1.0, 1.0 - steps % 1.0), axis=-1)
            total += chance * table[self._at(np.floor(steps) + np.array(upper))]
        # The probabilities of the roundings sum to 1 up to a last digit.
        return np.clip(total, table.min(), table.max())

    def _of(self, rows: Integers) -> Array:
        return np.asarray(self.steps[np.arange(rows.shape[-1]), rows])

    def _at(self, steps: Array) -> Integers:
        total = np.minimum(steps.sum(axis=-1), self.edges[-1] - 1)
        return np.asarray(np.searchsorted(self.edges, total, side="right") - 1)


@dataclass(frozen=True, eq=False)
class PackedLayout:
    """A layout in little memory: of every large pool one is kept until its paper is decided.

    Attributes:
        steps: `[row, candidate]`, the steps as multiples of 2^-20.
        row: For each slot, its row; those with the same score share one.
        edges: As in `TableLayout`.
        some: The candidates of each column, out of `size`; None if all of them have one.
        size: The number of candidates.

    Example:
        >>> packed = pack_layout(TableLayout(np.array([[0.0, 1.5], [0.0, 1.5]]), np.array([0, 2, 5])))
        >>> packed.steps.shape, packed.layout.steps.tolist(), packed.of((1,)).layout.steps[0].tolist()
        ((1, 2), [[0.0, 1.5], [0.0, 1.5]], [nan, 1.5])
    """

    steps: NDArray[np.int32]
    row: Slots
    edges: Integers
    size: int
    some: tuple[int, ...] | None = None

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

    Attributes:
        belief: Over parts of entries. Each part has one candidate in each slot. Within an entry, the
            candidates of different slots are coupled by quantiles: the marginals by slot are exact, and no
            guarantee depends on more. `belief.entry[part]` is the entry of each part.
        weight: `[entry]`, the probability of each entry.
        favor: `[entry]`, the probability that accepting is right.
    """

    belief: Belief
    weight: Array
    favor: Array


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
    whole, above = np.add.reduceat(by_total, layout.edges[:-1], axis=1)
    favor = np.clip(above / np.where(whole > 0.0, whole, 1.0), 0.0, 1.0)
    weight = masses[0].sum(axis=0)
    entry, labels, part = _couple_slots(masses, weight / weight.sum())
    belief = unchecked_belief(part / part.sum(), favor[entry], kinds[labels], entry, count[kinds >= 0])
    return AggregatedBelief(belief, weight / weight.sum(), favor)


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
    labels = []
    for own, (_, candidates, _) in enumerate(slots):
        # The candidate of a part is the one whose stretch ends at the slot's first cut not before the part.
        ended = np.cumsum(slot == own) - (slot == own)
        labels.append(candidates[ended[kept]])
    return entry[kept], np.stack(labels), (size * weight[entry])[kept]


def _cumulative_shares(mass: Array) -> tuple[Integers, Integers, Array]:
    """Entry, candidate and cumulative share of the entry, for every candidate with mass in it."""
    entry, candidate = np.nonzero(mass.T)
    grown = np.cumsum(mass, axis=0)
    last = np.diff(entry, append=-1) != 0
    return entry, candidate, np.where(last, 1.0, grown[candidate, entry] / grown[-1, entry])
