"""Pools too large to list their tuples: one accept probability for all tuples with like evidence.

Each author's evidence in each slot, less a handicap (`handicaps`), is a number of *steps*. All tuples with
about the same total of steps share an *entry* of the table, and sums over all tuples of an entry are
coefficients of a polynomial (`sums`). Where an author stands between two whole steps, chance decides, so
that the handicap is met exactly. Every author keeps its own chance in every slot and entry: the promise is
kept for each of them, and only optimality is at stake.

A paper with a large pool -> nodes of a quadrature over its quality, with everybody's likelihood there.

Evenly spaced nodes: for smooth integrands that die out at both ends no rule is better. The distance is half
the standard deviation of the sharpest posterior there can be, where sums over the nodes are off by less than
e^-78 of themselves, and the part above the bar, which takes the nodes' values for those of a function without
higher frequencies, by less than e^-19.

Panels that meet at the bar, as `weighing` has them, need nearly twice as many nodes, and here each node costs
as much as all tuples of a small pool. There they are worth it: a listed tuple's favor has all its digits, and
the sums below and above the bar are parts of one matrix product.

Sums over all tuples of distinct candidates, one for each review, at every node of a rule over quality.

Given the quality the reviews are independent but for one rule: nobody wrote two of them. Sums with repeats
are products; the rule is brought in by inclusion and exclusion, or by seating a candidate in each slot in
turn. Each candidate takes a number of *steps* in each slot: a whole one, or one of two neighbors, by chance.
Sums over the tuples with each total of steps are the coefficients of a polynomial in one variable, and
products of polynomials are convolutions.

The case that runs through the docstrings is `nodes.worked_case`: two reviews, candidates a, b and c, who take
0, 1 and 1.5 steps.

What each candidate's evidence must give back so that no decision points to anybody.

Deciding by the evidence alone accepts the reviews of some authors far more often than those of others. Under
*steady* nobody may become likelier than the likeliest author is beforehand, whatever is decided:
`P(accept | author)` must lie in a range around `P(accept)`, a point for the likeliest author of a review,
wide for whoever is hardly suspected. Under *average* nobody may overtake the likeliest author: the ranges lie
around `P(accept | likeliest author)`. The best policy accepts where the evidence, less a *handicap* for each
author, passes a threshold; in its linear program the handicaps are prices. Here they are found by Newton's
method, for each author as if the others stood still.

They only say which tuples share an entry of the table. What is promised is checked later, for the table
itself, and depends on them as little as on the solver of a program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial, reduce
from itertools import combinations, permutations, product
from math import ceil, factorial, floor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import fft, sparse
from scipy.special import sici

from blindcal.assignment.prior import copied, log_odds, seats
from blindcal.checks import Array, Integers
from blindcal.posterior.belief import Belief, unchecked_belief
from blindcal.posterior.tuple_weights import Weighed, likelihoods, spacing

_APART = 0.5
# Where there are many nodes, the mass is looked for at every this many of them; what is this many orders of e
# below the most is no float.
_MANY, _COARSE, _FAR = 256, 8, 740.0
Slots = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Nodes:
    """A quadrature over quality: `likelihood[slot, candidate, node]`, odds included, is at most 1, and
    `mass[node]` the rest of the integrand. `above[node]` is the part of each that counts above the bar: close
    to 0 or 1, but near the bar.

    `forced` candidates certainly wrote a review. Those in `peeled` are seated one by one, without any
    subtraction: the forced ones, and whoever would be taken for the author of several reviews at once.
    """

    likelihood: Array
    mass: Array
    above: Array
    forced: frozenset[int] = frozenset()
    peeled: Slots = ()

    @property
    def slots(self) -> Slots:
        return tuple(range(len(self.likelihood)))


def worked_case() -> tuple[Nodes, Array]:
    """A case small enough to follow by hand, which the docstrings of `sums` and `crowds` carry through: two
    reviews, candidates a, b and c, one node; and the steps that each candidate takes in each slot.

    >>> nodes, steps = worked_case()
    >>> nodes.likelihood[:, :, 0]
    array([[0.5 , 0.25, 1.  ],
           [1.  , 0.5 , 0.25]])
    >>> steps
    array([[0. , 1. , 1.5],
           [0. , 1. , 1.5]])
    """
    likelihood = np.array([[[0.5], [0.25], [1.0]], [[1.0], [0.5], [0.25]]])
    return Nodes(likelihood, mass=np.ones(1), above=np.ones(1)), np.array([[0.0, 1.0, 1.5]] * 2)


def all_nodes(case: Weighed) -> tuple[Nodes, float]:
    """Each review's likelihood at each node, odds counted in, and the log of what their mass was divided
    by."""
    apart, reach = spacing(case, _APART)
    reviews = len(case.scores)
    odds = np.asarray(log_odds(copied(case.inclusion, reviews, case.outsider), reviews))
    forced = np.isposinf(odds)
    odds = np.where(forced, 0.0, odds)
    # The bar lies midway between two nodes.
    ends = floor((-reach - case.bar) / apart), ceil((reach - case.bar) / apart)
    steps = np.arange(*ends, dtype=np.float64) + 0.5
    stride = _COARSE if steps.size > _MANY else 1
    likelihood, log_mass = _log_likelihood(case, odds, case.bar + apart * steps[::stride])
    some = _telling(log_mass, steps.size, stride)
    steps = steps[some]
    if stride > 1:
        likelihood, log_mass = _log_likelihood(case, odds, case.bar + apart * steps)
    else:
        likelihood, log_mass = likelihood[:, :, some], log_mass[some]
    mass = np.exp(log_mass - log_mass.max())
    above = 0.5 + sici(np.pi * steps)[0] / np.pi
    sure = frozenset(np.flatnonzero(forced).tolist())
    return Nodes(np.exp(likelihood), mass, above, sure), float(log_mass.max() + np.log(apart))


def _log_likelihood(case: Weighed, odds: Array, quality: Array) -> tuple[Array, Array]:
    """`[slot, seat, node]` log likelihood beside the likeliest one's, odds counted in, and `[node]` what was
    taken off, with the log density of the quality."""
    each = likelihoods(case, quality)[:, seats(len(case.candidates), len(case.scores), case.outsider)]
    each += odds[:, None]
    top = each.max(axis=1)
    return each - top[:, None], -0.5 * quality**2 + top.sum(axis=0)


def _telling(log_mass: Array, size: int, stride: int) -> slice:
    """The nodes between which the mass lies, from that at every `stride`-th of them."""
    kept = np.flatnonzero(log_mass > log_mass.max() - _FAR)
    if not kept.size:
        return slice(0, size)
    return slice(max(0, stride * (int(kept[0]) - 2)), stride * (int(kept[-1]) + 2) + 1)


# Nodes that weigh less than this beside the heaviest one say nothing.
_LIGHTEST = 1e-22
# Sums with repeats may be this many times those without: three of sixteen digits are lost.
_EXCESS = 1e3
# Tables of more chances than this are kept without their zeros.
_MOST_DENSE = 100_000
# A further candidate that is seated doubles the sums to take.
_MOST_PEELED = {1: 10, 2: 10, 3: 10, 4: 6, 5: 5}


def significant(nodes: Nodes) -> Nodes | None:
    """The nodes that say something, and whom to seat one by one; None if too many would have to be.

    Sums over distinct candidates lose digits where sums with repeats are far larger: there somebody is
    peeled.
    """
    nodes = replace(nodes, peeled=tuple(sorted(nodes.forced)))
    while True:
        mass = nodes.mass * Sums(nodes).total()
        most = mass.max()
        repeats = nodes.mass * Sums(nodes, repeats=True).total()
        worst = int(repeats.argmax())
        if repeats[worst] <= _EXCESS * most:
            break
        light = np.delete(np.arange(nodes.likelihood.shape[1]), nodes.peeled)
        if len(nodes.peeled) >= _MOST_PEELED.get(len(nodes.slots), 4) or not light.size:
            return None
        likely = nodes.likelihood[:, light, worst]
        shares = likely / np.maximum(likely.sum(axis=1), np.finfo(float).tiny)[:, None]
        twice = np.sort(shares, axis=0)[-2]
        nodes = replace(nodes, peeled=(*nodes.peeled, int(light[twice.argmax()])))
    kept = mass > _LIGHTEST * most
    return replace(
        nodes,
        likelihood=nodes.likelihood[:, :, kept],
        mass=nodes.mass[kept] / most,
        above=nodes.above[kept],
    )


class Sums:
    """Sums over tuples of distinct candidates, one in each of some slots, by their total of steps.

    With `P_B(y) = prod_{l in B} likelihood_l(y)`, of degree the sum of y's steps in B, and A_1 the first slot
    of A, for the candidates that are not peeled

        distinct(A) = sum over B in A with A_1 of (-1)^(|B|-1) (|B|-1)! sum_y P_B(y) distinct(A-B)
        distinct(A) without y = sum over B in A of (-1)^|B| |B|! P_B(y) distinct(A-B)

    and a peeled candidate h comes in by `distinct(A) + sum_l likelihood_l(h) distinct(A-l)`, the first term
    only if h is not forced. With `repeats` the candidates that are not peeled may write several reviews.

    Of the six tuples ab and ba have 1 step together, ac and ca 1 or 2, and bc and cb 2 or 3.

    >>> from blindcal.posterior.large_pools import worked_case
    >>> Sums(*worked_case(), width=3).by_steps().ravel().round(6)
    array([0.     , 1.0625 , 0.84375, 0.28125, 0.     ])
    """

    def __init__(
        self, nodes: Nodes, steps: Array | None = None, width: int = 1, *, repeats: bool = False
    ) -> None:
        self.nodes, self.width, self.repeats = nodes, width, repeats
        shape = nodes.likelihood.shape[:2]
        self.steps = np.zeros(shape) if steps is None else steps
        self.light = np.delete(np.arange(shape[1]), nodes.peeled)
        self.distinct = cache(self._distinct)

    def total(self) -> Array:
        """At each node the sum over all tuples."""
        return np.asarray(self.by_steps().sum(axis=0))

    def by_steps(self) -> Array:
        """`[total of steps, node]`: the sum over the tuples with each total."""
        return np.asarray(self.distinct(self.nodes.slots, self.nodes.peeled))

    def by_author(self, authors: Integers, edges: Integers) -> list[Array]:
        """For each slot `[author, entry]`: the mass of the tuples with each author there. Entry i holds the
        totals of steps from `edges[i]` on, below the next edge.

        >>> from blindcal.posterior.large_pools import worked_case
        >>> first, second = Sums(*worked_case(), width=3).by_author(np.arange(3), np.array([0, 2, 5]))
        >>> first  # a wrote the first review: ab (1 step) and ac (1 or 2); b: ba and bc; c: ca and cb
        array([[0.3125, 0.0625],
               [0.25  , 0.0625],
               [0.5   , 1.    ]])
        """
        return [np.maximum(one, 0.0) for one in self._by_slot(authors, partial(self._spread, edges=edges))]

    def accepted(self, authors: Integers, tables: Array) -> list[Array]:
        """For each slot `[author, table]`: the mass of the tuples with each author there, each times the
        chance that `tables[table, total of steps]` gives it.

        >>> from blindcal.posterior.large_pools import worked_case
        >>> [one.tolist() for one in Sums(*worked_case(), width=3).accepted(np.arange(3), np.eye(5)[2:3])]
        [[[0.0625], [0.03125], [0.75]], [[0.5], [0.25], [0.09375]]]
        """
        return self._by_slot(authors, partial(self._reached, tables=tables))

    def _by_slot(self, authors: Integers, part: Callable[[Slots, Integers, Array], Array]) -> list[Array]:
        """For each slot what the tuples with each author there sum up to; `part(held, authors, rest)` is that
        of authors in all the held slots at once."""
        slots, peeled = self.nodes.slots, self.nodes.peeled
        seated = np.isin(authors, peeled)
        light, rows = authors[~seated], np.flatnonzero(seated)
        found: list[Any] = [0.0 for _ in slots]
        for held in sets(slots):
            if held:
                sign = (-1) ** (len(held) - 1) * factorial(len(held) - 1)
                one = sign * part(held, light, self.distinct(without(slots, held), peeled))
                for slot in held:
                    found[slot] = found[slot] + one
        for slot in slots:
            every = np.empty((authors.size, *found[slot].shape[1:]))
            every[~seated] = found[slot]
            for row in rows:
                others = without(peeled, (int(authors[row]),))
                rest = self.distinct(without(slots, (slot,)), others)
                every[row] = part((slot,), authors[row : row + 1], rest)[0]
            found[slot] = every
        return found

    def _reached(self, held: Slots, authors: Integers, rest: Array, tables: Array) -> Array:
        """`[author, table]`: each in the held slots times the rest of the tuple and what a table gives to
        both."""
        powers, taken = self._powers(held, authors) * self.nodes.mass, self._shares(held, authors)
        windows = (np.lib.stride_tricks.sliding_window_view(table, len(rest)) for table in tables)
        beside = (taken @ (np.ascontiguousarray(window) @ rest) for window in windows)
        return np.stack([np.einsum("yt,yt->y", powers, one) for one in beside], axis=-1)

    def _spread(self, held: Slots, authors: Integers, rest: Array, edges: Integers) -> Array:
        """`[author, entry]`: each author in the held slots times the rest of the tuple."""
        powers, taken = self._powers(held, authors) * self.nodes.mass, self._sparse(held, authors).tocsc()
        below = np.concatenate([np.zeros((1, rest.shape[1])), np.cumsum(rest, axis=0)])
        parts = np.zeros((authors.size, edges.size - 1))
        for steps in np.flatnonzero(np.diff(taken.indptr)):
            some = slice(*taken.indptr[steps : steps + 2])
            who, between = taken.indices[some], np.diff(below[np.clip(edges - steps, 0, len(rest))], axis=0)
            parts[who] += taken.data[some, None] * (powers[who] @ between.T)
        return parts

    def _powers(self, held: Slots, authors: Integers) -> Array:
        """`[author, node]`: the likelihood of having written all the held slots."""
        every = authors.size == self.nodes.likelihood.shape[1]
        parts = [
            self.nodes.likelihood[slot] if every else self.nodes.likelihood[slot, authors] for slot in held
        ]
        return reduce(np.multiply, parts)

    def _shares(self, held: Slots, authors: Integers) -> Any:
        """`[author, steps]`: the chance of each number of steps in all the held slots together."""
        size = self._size(held)
        if authors.size * size > _MOST_DENSE:
            return self._sparse(held, authors)
        whole, chance = self._taken(held, authors)
        place = whole + size * np.arange(authors.size)
        found = np.bincount(place.ravel(), chance.ravel(), size * authors.size)
        return found.reshape(authors.size, size)

    def _sparse(self, held: Slots, authors: Integers) -> sparse.csr_array:
        """The same, where few of many may be other than 0."""
        place, chance = self._taken(held, authors)
        some, who = chance > 0.0, np.broadcast_to(np.arange(authors.size), chance.shape)
        shape = (authors.size, self._size(held))
        return sparse.csr_array((chance[some], (who[some], place[some])), shape=shape)

    def _taken(self, held: Slots, authors: Integers) -> tuple[Integers, Array]:
        """`[way, author]`: the total of steps in the held slots if each is taken downwards or upwards, and
        the chance of that."""
        steps = self.steps[list(held)][:, authors]
        whole = np.floor(steps)
        totals, chance = whole.sum(axis=0, dtype=np.int64)[None], np.ones((1, authors.size))
        for up in steps - whole:
            totals = np.concatenate([totals, totals + 1])
            chance = np.concatenate([chance * (1.0 - up), chance * up])
        # At the highest step nobody goes further up.
        return np.minimum(totals, self._size(held) - 1), chance

    def _distinct(self, slots: Slots, peeled: Slots) -> Array:
        """`[total of steps, node]`: the sum over distinct candidates in these slots, light or `peeled`."""
        if not slots:
            # Nobody is left to seat: one way, unless somebody must be.
            return np.full((1, self.nodes.mass.size), float(not self.nodes.forced & set(peeled)))
        return self._seated(slots, peeled) if peeled else self._unpeeled(slots)

    def _seated(self, slots: Slots, peeled: Slots) -> Array:
        """The last of the peeled candidates in no slot, or in each of them."""
        *others, last = peeled
        total = np.zeros((self._size(slots), self.nodes.mass.size))
        if last not in self.nodes.forced:
            total += self.distinct(slots, tuple(others))
        for slot in slots:
            rest = self.distinct(without(slots, (slot,)), tuple(others))
            taken = self._sparse((slot,), np.array([last]))
            for steps, chance in zip(taken.indices, taken.data, strict=True):
                total[steps : steps + len(rest)] += rest * (chance * self.nodes.likelihood[slot, last])
        return total

    def _unpeeled(self, slots: Slots) -> Array:
        total = np.zeros((self._size(slots), self.nodes.mass.size))
        for held in [()] if self.repeats else sets(slots[1:]):
            sign = (-1) ** len(held) * factorial(len(held))
            left = self.distinct(without(slots[1:], held), ())
            total += sign * _product(self._by_step((slots[0], *held)), left)
        return total

    def _by_step(self, held: Slots) -> Array:
        """`[steps, node]`: the sum over the light candidates, each in all of the held slots at once."""
        powers = self._powers(held, self.light)
        if self.width == 1:
            # There is nothing but step 0.
            return np.asarray(powers.sum(axis=0, keepdims=True))
        return np.asarray(self._shares(held, self.light).T @ powers)

    def _size(self, slots: Slots) -> int:
        """How many totals of steps there are."""
        return len(slots) * (self.width - 1) + 1


def without(slots: Slots, some: Slots) -> Slots:
    return tuple(slot for slot in slots if slot not in some)


def sets(slots: Sequence[int]) -> Iterator[Slots]:
    for size in range(len(slots) + 1):
        yield from combinations(slots, size)


def _product(one: Array, other: Array) -> Array:
    """The product of two polynomials, at every node."""
    if min(len(one), len(other)) == 1:
        return np.asarray(one * other)
    size = len(one) + len(other) - 1
    wide = fft.next_fast_len(size, real=True)
    spectra = [fft.rfft(part, wide, axis=0) for part in (one, other)]
    return np.asarray(fft.irfft(spectra[0] * spectra[1], wide, axis=0)[:size])


# Steps in each slot, and how many standard deviations of the evidence they reach to either side. Between
# steps chance decides, which blurs the evidence by a twentieth of a standard deviation or so.
WIDTH, _REACH = 97, 4.5
# Authors are kept this far inside their range, so that a rounding does not leave it.
_MARGIN = 1e-4
_ROUNDS, _CLOSE = 40, 2e-5
# Newton's steps are shortened to this part, or less; the threshold, which moves everybody, follows later.
_DAMPING, _LEAST_DAMPING, _SHORTER, _LONGER, _SLOWER = 0.8, 0.2, 0.7, 1.1, 0.5
# Where all ranges lie around one author's chance, they follow it more slowly than everybody moves.
_FOLLOW = 0.45
_LEAST_SLOPE = 0.1
# Nodes twice as far apart still give nine digits; those that weigh less than this say nothing of prices.
_LEAST_WEIGHT = 1e-9
# Whoever is this many times less likely than the likeliest author can be accepted or not, as it comes.
_UNSUSPECTED = 1e-9
# Handicaps, steps and the threshold are multiples of this, in every round. Sums differ in their last digits
# from one kind of processor to another, and forty rounds would make that many thousand times larger: rounded,
# all of them walk the same way, but for one paper in about a million.
_GRAIN = 2.0**-20


@dataclass(frozen=True)
class Promise:
    """What handicaps are for: the name of a guarantee, and how far apart its chances of accepting may lie."""

    name: str = "steady"
    span: float = float(np.tanh(1.0))


@dataclass(frozen=True, eq=False)
class Graded:
    """`steps[slot, candidate]` of evidence less `handicap[slot, candidate]`, and the total of steps from
    which to accept."""

    steps: Array
    handicap: Array
    threshold: float


def graded(
    nodes: Nodes, lean: Array, bar: float, alike: Integers, tied: Integers, promise: Promise
) -> Graded:
    """The evidence of each candidate in each slot, handicapped for a promise and in steps.

    `lean[slot, candidate]`: what the score would say for accepting if the candidate wrote it; the evidence
    favors accepting where these add up to more than the bar. `alike`: the same number for candidates whom
    public data cannot distinguish (-1: nobody, who needs no protection); `tied`: the same number for slots
    with the same score. All of these are treated alike.
    """
    search = _search(nodes, lean, bar, alike, tied, promise.span)
    handicap, risen = np.zeros_like(search.lean), 0.0
    best, last, damping = (np.inf, handicap, risen), np.inf, _DAMPING
    around = np.full((len(lean), 1), 0.5)
    needed = promise.name in ("steady", "average") and promise.span > 0.0 and search.top.any()
    for number in range(_ROUNDS if needed else 0):
        chance, slope = search.chances(handicap, risen)
        follow = _FOLLOW if promise.name == "average" and number else 1.0
        around = _grained(around + follow * (search.around(chance, promise.name) - around))
        moved, missed = search.moved(handicap, chance, slope, around)
        missed = float(_grained(missed))
        best = min(best, (missed, handicap, risen), key=lambda one: one[0])
        if missed < _CLOSE:
            break
        # Many who move together overshoot: then all take shorter steps.
        factor = _SHORTER if missed > last else _LONGER
        damping = float(np.clip(factor * damping, _LEAST_DAMPING, _DAMPING))
        handicap, last = _grained(handicap + damping * moved), missed
        if promise.name == "steady":
            risen += _SLOWER * damping * (search.risen(handicap) - risen)
            risen = float(_grained(risen))
        else:
            handicap = _grained(search.balanced(handicap, damping))
    _, handicap, risen = best
    return Graded(search.steps(handicap)[:, search.of], handicap[:, search.of], search.threshold(risen))


@dataclass(frozen=True, eq=False)
class _Search:
    """A paper's reviews as handicaps see them: one candidate of each kind, `count` of them alike.

    `own[slot, kind]` is each one's mass in the slot; `mass` the chance of all of a kind together to have
    written it, `top[slot]` that of the likeliest single author; `first[slot]` the first slot with the same
    score.
    """

    nodes: Nodes
    authors: Integers
    kind: Integers
    of: Integers
    count: Integers
    first: Integers
    lean: Array
    bar: float
    own: Array
    mass: Array
    top: Array
    center: Array
    step: float
    span: float

    @property
    def likeliest(self) -> Integers:
        """`[slot, 1]`: the kind of the likeliest author."""
        own: Array = np.where(self.kind >= 0, self.mass / self.count, -1.0)
        return np.asarray(own.argmax(axis=1)[:, None])

    @property
    def middle(self) -> float:
        return (WIDTH - 1) / 2

    def steps(self, handicap: Array) -> Array:
        """Evidence less handicap, in steps from 0 on."""
        away = (self.lean - handicap - self.center[:, None]) / self.step
        return _grained(np.clip(away + self.middle, 0.0, WIDTH - 1.0))

    def threshold(self, risen: float) -> float:
        """The total of steps from which the evidence favors accepting; `risen`: all handicaps together, each
        times the chance of the likeliest author."""
        reviews = len(self.center)
        total = (self.bar - risen - float(self.center.sum())) / self.step + reviews * self.middle
        return float(_grained(np.clip(total, -1.0, reviews * (WIDTH - 1) + 1.0)))

    def chances(self, handicap: Array, risen: float) -> tuple[Array, Array]:
        """`[slot, kind]`: P(accept | author), and how fast that grows with the author's evidence."""
        size = len(self.center) * (WIDTH - 1) + 1
        ramp = np.clip(np.arange(size + 1) - self.threshold(risen) + 0.5, 0.0, 1.0)
        steps = self.steps(handicap)[:, self.of]
        sums = Sums(self.nodes, steps, WIDTH)
        between = 0.5 + self.span * (np.stack([ramp[:-1], ramp[1:]]) - 0.5)
        found = sums.accepted(self.authors, between)
        now, further = np.moveaxis(np.stack(found), -1, 0) / self.own
        return now, (further - now) / self.step

    def around(self, chance: Array, promise: str) -> Array:
        """`[slot, 1]`: the chance around which all ranges lie."""
        if promise == "average":
            return np.take_along_axis(chance, self.likeliest, axis=1)
        return np.full((len(chance), 1), float(self.mass[0] @ chance[0]))

    def risen(self, handicap: Array) -> float:
        """What all handicaps do to the threshold, where the ranges lie around P(accept)."""
        return float((self.top[:, None] * self.count * handicap * (self.kind >= 0)).sum())

    def balanced(self, handicap: Array, damping: float) -> Array:
        """What all handicaps of a slot do to its likeliest author, where the ranges lie around their chance:
        all of them sum to 0. As that chance moves, so does everybody at the end of a range."""
        counted = self.count * (self.kind >= 0)
        moving = (counted * (handicap != 0.0)).sum(axis=1, keepdims=True) + counted[self.likeliest]
        balanced = handicap.copy()
        now = np.take_along_axis(handicap, self.likeliest, axis=1)
        off = (counted * handicap).sum(axis=1, keepdims=True) / moving
        np.put_along_axis(balanced, self.likeliest, now - damping * off, axis=1)
        return balanced

    def moved(self, handicap: Array, chance: Array, slope: Array, around: Array) -> tuple[Array, float]:
        """How far to move each handicap, and the most that anybody's chance is out of its range.

        Whoever is accepted too often gets more; who needs less gives back no more than there is.
        """
        times = self.top[:, None] * self.count / self.mass
        most = np.maximum((times - _MARGIN) * around, around)
        least = np.minimum(1.0 - (times - _MARGIN) * (1.0 - around), around)
        spread = self.step * (WIDTH - 1) / (2 * _REACH)
        pace = np.maximum(slope, _LEAST_SLOPE * self.span / spread)
        over, under = (chance - most) / pace, (least - chance) / pace
        move = np.where(handicap > 0.0, np.maximum(over, -handicap), np.maximum(over, 0.0))
        move -= np.where(handicap < 0.0, np.maximum(under, handicap), np.maximum(under, 0.0))
        move = np.clip(move, -spread, spread) * (self.kind >= 0)
        missed = np.maximum(chance - most, least - chance)[:, self.kind >= 0]
        return move[self.first], float(missed.max(initial=0.0))


def _search(nodes: Nodes, lean: Array, bar: float, alike: Integers, tied: Integers, span: float) -> _Search:
    kind, authors, of, count = np.unique(alike, return_index=True, return_inverse=True, return_counts=True)
    few = _some(nodes, np.arange(0, nodes.mass.size, 2))
    weight = few.mass * Sums(few).total()
    few = _some(few, np.flatnonzero(weight > _LEAST_WEIGHT * weight.max()))
    own = np.stack(Sums(few).accepted(authors, np.ones((1, 1))))[..., 0]
    own = np.maximum(own, _UNSUSPECTED * own.max(axis=1, keepdims=True))
    mass = own * count / (own * count).sum(axis=1, keepdims=True)
    named = kind >= 0
    center = (mass * lean[:, authors]).sum(axis=1)
    spread = float(np.sqrt((mass * (lean[:, authors] - center[:, None]) ** 2).sum()))
    return _Search(
        nodes=few,
        authors=authors,
        kind=kind,
        of=of,
        count=count,
        first=np.array([int(np.flatnonzero(tied == one)[0]) for one in tied]),
        lean=lean[:, authors],
        bar=bar,
        own=own,
        mass=mass,
        top=(mass / count)[:, named].max(axis=1, initial=0.0),
        center=center,
        # Where the evidence is the same whoever wrote what, nobody is between steps.
        step=2.0 * _REACH * spread / (WIDTH - 1) if spread > _UNSUSPECTED * (1.0 + abs(bar)) else 1.0,
        span=span,
    )


def _grained(values: ArrayLike) -> Array:
    return np.rint(np.asarray(values) / _GRAIN) * _GRAIN


def _some(nodes: Nodes, which: Integers) -> Nodes:
    """Some of the nodes."""
    return replace(
        nodes,
        likelihood=nodes.likelihood[:, :, which],
        mass=nodes.mass[which],
        above=nodes.above[which],
    )


# Near the threshold each total of steps has an entry of its own; further off they are wider and wider.
_NEAR, _WIDER = 12, 1.35
# What is less than this part of all is what rounding left over.
_NOTHING = 1e-17
_SAMPLE, _MOST_TRIES = 20_000, 4_000_000


@dataclass(frozen=True, eq=False)
class Layout:
    """Which entry of the table a tuple takes: entry i holds the totals of `steps[slot, candidate]` from
    `edges[i]` on, below the next edge.

    >>> layout = Layout(np.array([[0.0, 1.0, 1.5], [0.0, 1.0, 1.5]]), np.array([0, 2, 5]))
    >>> layout.entries(np.array([[0, 1], [1, 2], [1, 2]]), np.array([[0.9, 0.9], [0.9, 0.9], [0.9, 0.1]]))
    array([0, 1, 1])
    >>> layout.expected(np.array([0.25, 0.75]), np.array([[0, 1], [0, 2], [1, 2]]))
    array([0.25, 0.5 , 0.75])
    """

    steps: Array
    edges: Integers
    handicap: Array | None = None

    def entries(self, rows: Integers, chance: Array) -> Integers:
        """The entry that tuples of candidates `[..., slot]` take. An author between two steps takes the upper
        one where `chance[..., slot]`, uniform in [0, 1), is less than the distance to the lower one."""
        steps = self._of(rows)
        return self._at(np.floor(steps) + (chance < steps % 1.0))

    def expected(self, table: Array, rows: Integers) -> Array:
        """What the table gives to tuples of candidates `[..., slot]`, on average over their steps."""
        steps = self._of(rows)
        total = np.zeros(rows.shape[:-1])
        for upper in product((0, 1), repeat=rows.shape[-1]):
            chance = np.prod(np.where(upper, steps % 1.0, 1.0 - steps % 1.0), axis=-1)
            total += chance * table[self._at(np.floor(steps) + np.array(upper))]
        # The chances sum to 1 up to a rounding.
        return np.clip(total, table.min(), table.max())

    def _of(self, rows: Integers) -> Array:
        return np.asarray(self.steps[np.arange(rows.shape[-1]), rows])

    def _at(self, steps: Array) -> Integers:
        total = np.minimum(steps.sum(axis=-1), self.edges[-1] - 1)
        return np.asarray(np.searchsorted(self.edges, total, side="right") - 1)


@dataclass(frozen=True, eq=False)
class Crowd:
    """The belief of a paper with a large pool, by entries of its table.

    `belief` is over parts: each lies in one entry and has one author in each slot. Within an entry the
    authors of different slots are matched as it comes (by quantiles): their chances by slot are right, and
    no promise asks for more. `belief.entry[part]` is the accept probability that a part takes; `weight` and
    `favor` are those of the entries.
    """

    belief: Belief
    weight: Array
    favor: Array


def layout(
    nodes: Nodes, lean: Array, bar: float, alike: Integers, tied: Integers, promise: Promise
) -> Layout:
    """The entries of a pool's table, by public data alone; the arguments are those of `graded`."""
    found = graded(nodes, lean, bar, alike, tied, promise)
    return Layout(found.steps, _edges(found.threshold, len(lean) * (WIDTH - 1) + 1), found.handicap)


def _edges(threshold: float, size: int) -> Integers:
    """Where entries begin, from 0 to `size`.

    >>> _edges(20.6, 41)
    array([ 0,  2,  5,  7,  9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
           22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 33, 35, 38, 41])
    """
    further = np.ceil(_WIDER ** np.arange(1, 1 + np.log(size) / np.log(_WIDER)))
    away = np.concatenate([np.arange(_NEAR), _NEAR - 1 + np.cumsum(further)])
    middle = np.clip(np.floor(threshold), 0, size)
    edges = np.clip(np.concatenate([middle - away, middle + away, [0, size]]), 0, size)
    return np.unique(edges).astype(np.int64)


def crowd(nodes: Nodes, layout: Layout, alike: Integers, tied: Integers) -> Crowd:
    """Sum up a pool by the entries of its table; `alike` and `tied` as for the layout."""
    sums = Sums(nodes, layout.steps, WIDTH)
    kinds, first, count = np.unique(alike, return_index=True, return_counts=True)
    masses = [count[:, None] * mass for mass in sums.by_author(first, layout.edges)]
    # Slots with the same score are equal in truth: to the last bit, so that what is pinned in one is in all.
    masses = [masses[int(np.flatnonzero(tied == one)[0])] for one in tied]
    total = masses[0].sum()
    masses = [np.where(mass > _NOTHING * total, mass, 0.0) for mass in masses]
    every = np.concatenate([np.zeros((1, nodes.mass.size)), np.cumsum(sums.by_steps(), axis=0)])
    by_entry = np.diff(every[layout.edges], axis=0)
    whole, above = by_entry @ nodes.mass, by_entry @ (nodes.mass * nodes.above)
    favor = np.clip(above / np.where(whole > 0.0, whole, 1.0), 0.0, 1.0)
    weight = masses[0].sum(axis=0)
    entry, labels, part = _matched(masses, weight / weight.sum())
    belief = unchecked_belief(part / part.sum(), favor[entry], kinds[labels], entry, count[kinds >= 0])
    return Crowd(belief, weight / weight.sum(), favor)


def _matched(masses: Sequence[Array], weight: Array) -> tuple[Integers, Integers, Array]:
    """Parts by quantiles: entry, authors `[slot, part]`, and weight.

    In each slot an entry's mass is cut at its authors' cumulative shares; a part lies between two cuts. What
    inclusion and exclusion leave in some slots only is no mass.
    """
    held = np.all([mass.sum(axis=0) > 0.0 for mass in masses], axis=0)
    slots = [_cuts(mass * held) for mass in masses]
    entry, cut = (np.concatenate([one[part] for one in slots]) for part in (0, 2))
    slot = np.repeat(np.arange(len(slots)), [one[0].size for one in slots])
    order = np.lexsort((cut, entry))
    entry, cut, slot = entry[order], cut[order], slot[order]
    size = np.where(np.diff(entry, prepend=-1) > 0, cut, np.diff(cut, prepend=0.0))
    kept = size > 0.0
    labels = []
    for own, (_, authors, _) in enumerate(slots):
        # A part's author is the one whose stretch ends at the first cut of the slot that is not before it.
        ended = np.cumsum(slot == own) - (slot == own)
        labels.append(authors[ended[kept]])
    return entry[kept], np.stack(labels), (size * weight[entry])[kept]


def _cuts(mass: Array) -> tuple[Integers, Integers, Array]:
    """Entry, author and cumulative share of the entry, for every author that has a part of it."""
    entry, author = np.nonzero(mass.T)
    grown = np.cumsum(mass, axis=0)
    last = np.diff(entry, append=-1) != 0
    return entry, author, np.where(last, 1.0, grown[author, entry] / grown[-1, entry])


def sampled(nodes: Nodes, rng: np.random.Generator) -> Integers | None:
    """Tuples drawn from the belief, `[draw, slot]`: quality and the seats of peeled candidates first, then
    the others, drawn again while somebody has two reviews. None if that takes too long."""
    sums, light = Sums(nodes), np.delete(np.arange(nodes.likelihood.shape[1]), nodes.peeled)
    seatings = list(_seatings(nodes))
    chance = np.stack([_chance(nodes, sums, seating) for seating in seatings])
    ladders = np.cumsum(nodes.likelihood[:, light], axis=1)
    drawn = np.sort(rng.choice(chance.size, _SAMPLE, p=chance.ravel() / chance.sum()))
    rows = np.empty((_SAMPLE, len(nodes.slots)), dtype=np.int64)
    for place in np.unique(drawn):
        seating, node = seatings[place // nodes.mass.size], place % nodes.mass.size
        wanting = np.flatnonzero(drawn == place)
        left = np.array(without(nodes.slots, tuple(seating)), dtype=np.int64)
        found = _drawn(ladders[left, :, node], wanting.size, rng)
        if found is None:
            return None
        for slot, author in seating.items():
            rows[wanting, slot] = author
        rows[np.ix_(wanting, left)] = light[found]
    return rng.permutation(rows)


def _drawn(ladders: Array, size: int, rng: np.random.Generator) -> Integers | None:
    """`[draw, slot]`: so many tuples of different places on the slots' ladders (cumulative likelihoods), the
    first ones among more and more tries; None if that takes too long."""
    found, tries = np.empty((0, len(ladders)), dtype=np.int64), size
    while len(found) < size:
        if tries > _MOST_TRIES:
            return None
        steps = [np.searchsorted(ladder, rng.random(tries) * ladder[-1], side="right") for ladder in ladders]
        rows = np.minimum(np.reshape(steps, (len(ladders), tries)).T, ladders.shape[1] - 1).astype(np.int64)
        apart = (np.diff(np.sort(rows, axis=1), axis=1) != 0).all(axis=1)
        found, tries = np.concatenate([found, rows[apart]]), 2 * tries
    return found[:size]


def _seatings(nodes: Nodes) -> Iterator[dict[int, int]]:
    """Every way to seat peeled candidates, the forced ones among them, in some of the slots."""
    for chosen in sets(nodes.peeled):
        if nodes.forced <= set(chosen) and len(chosen) <= len(nodes.slots):
            for seats in permutations(nodes.slots, len(chosen)):
                yield dict(zip(seats, chosen, strict=True))


def _chance(nodes: Nodes, sums: Sums, seating: dict[int, int]) -> Array:
    """At each node the mass of a seating."""
    rest = sums.distinct(without(nodes.slots, tuple(seating)), ()).sum(axis=0)
    sure = np.prod([nodes.likelihood[slot, author] for slot, author in seating.items()], axis=0)
    return np.asarray(np.maximum(nodes.mass * sure * rest, 0.0))
