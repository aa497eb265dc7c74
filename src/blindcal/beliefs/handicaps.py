"""What each candidate's evidence must give back so that no decision points to anybody.

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

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from blindcal.beliefs.nodes import Nodes
from blindcal.beliefs.sums import Sums
from blindcal.checks import Array, Integers

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
_LIGHTEST = 1e-9
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
    few = _some(few, np.flatnonzero(weight > _LIGHTEST * weight.max()))
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
