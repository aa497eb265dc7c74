"""Synthetic conferences, many at once, drawn from a population of reviewers (rng passed in).

Quality is N(0,1); reviewer j scores paper i as `slope_j * quality_i + offset_j + noise_j * N(0,1)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import exp, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blindcal.calibrators.gibbs import Batch
from blindcal.checks import Array, Integers, nonnegative, numbers, positive
from blindcal.errors import InputError
from blindcal.reviews import Reviews

__all__ = ["Population", "nips_2014_population", "paper_population", "prototype_population", "simulate_many"]

# Rejection keeps about exp(-collisions) of its draws; beyond this many a chain is far cheaper.
_MOST_COLLISIONS = 6.0
_MOST_DRAWS = 5_000
_ROUNDS = 100
# Permutations are drawn together as long as they stay in a processor's cache, and many at least.
_BLOCK, _FEWEST_ROWS = 1 << 18, 64


# --- Random assignments of reviewers to papers, many conferences at once (rng passed in).
#
# An assignment is a simple bipartite graph: every paper has `per_paper` different reviewers, who have even
# loads. "Uniformly at random" means that every such graph is equally likely.


def even_loads(papers: int, reviewers: int, per_paper: int) -> Integers:
    """How many reviews each reviewer writes, as evenly as possible; the first ones carry the remainder."""
    _check_sizes(papers, reviewers, per_paper)
    load, extra = divmod(papers * per_paper, reviewers)
    return np.where(np.arange(reviewers) < extra, load + 1, load).astype(np.int64)


def uniform_assignments(
    rng: np.random.Generator, count: int, papers: int, reviewers: int, per_paper: int
) -> Integers:
    """Independent assignments, uniform given even loads, whose remainder falls on anyone.

    The configuration model: every review is a stub of its reviewer, the stubs are shuffled over the papers'
    slots, and a draw in which a paper meets a reviewer twice is thrown away whole. Every simple graph
    comes from the same number of shuffles, so what is kept is *exactly* uniform. About exp(-c) of the draws
    are kept, c = sum_i k(k-1) sum_j l_j(l_j-1) / (2 reviews^2). If c is above 6, a symmetric Markov chain
    of trades between papers takes over, whose limit is uniform (100 rounds in which every paper trades once).
    """
    load, reviews = even_loads(papers, reviewers, per_paper), papers * per_paper
    order = rng.permuted(np.broadcast_to(np.arange(reviewers), (count, reviewers)), axis=1)
    # Each reviewer as often as their load, equal ones side by side.
    stubs = np.repeat(order, load, axis=1)
    if reviews * (per_paper - 1) * float(load @ (load - 1)) / (2 * reviews**2) > _MOST_COLLISIONS:
        # Stubs dealt round the table like cards: a valid assignment for any loads up to `papers`.
        return _after_trades(rng, stubs.reshape(count, per_paper, papers).swapaxes(-1, -2).copy())
    drawn, pending = np.empty((count, papers, per_paper), dtype=np.int64), np.arange(count)
    while pending.size:
        drawn[pending] = rng.permuted(stubs[pending], axis=1).reshape(-1, papers, per_paper)
        pending = pending[_repeats_a_reviewer(drawn[pending])]
    return drawn


def stacked_assignments(rng: np.random.Generator, count: int, papers: int, per_paper: int) -> Integers:
    """The assignments of the paper's published script: as many reviewers as papers, loads all `per_paper`.

    The script draws one random permutation for each slot of a review, and throws all away together if a paper
    meets a reviewer twice. That is uniform over *ordered* stacks of permutations, not over graphs: a graph
    counts once for each way to cut it into permutations. With 4 papers and 2 reviews each, two separate
    squares come up with probability 1/3 here and 1/5 in `uniform_assignments`.

    A stack is its first permutation, which is uniform, after others that part from the identity and from each
    other everywhere: `p_j = p_1 o d_j`, and this is one to one. So whatever has a fixed point is thrown away
    alone, and only stacks of derangements are thrown away together: with 3 reviews 15 permutations are
    drawn for a stack, while the script draws 60.
    """
    _check_sizes(papers, papers, per_paper)
    first = _permutations(rng, count, papers)
    drawn, done, barren = np.empty((count, papers, per_paper), dtype=np.int64), 0, 0
    drawn[..., 0] = first
    while done < count and per_paper > 1:
        if barren == _MOST_DRAWS:
            raise InputError(
                f"stacking {per_paper} permutations of {papers} almost never gives an assignment"
            )
        some = _disjoint_derangements(rng, count - done, papers, per_paper - 1)
        after = some + papers * np.arange(done, done + len(some))[:, None, None]
        drawn[done : done + len(some), :, 1:] = first.ravel().take(after).swapaxes(-1, -2)
        done, barren = done + len(some), 0 if len(some) else barren + 1
    return drawn


def _disjoint_derangements(rng: np.random.Generator, most: int, size: int, height: int) -> Integers:
    """`[n, height, size]`, n up to `most`: derangements, `height` at a time, no two of which agree anywhere.

    About one permutation in e is a derangement, and one pair of derangements in e agrees nowhere.
    """
    needed = most * height * exp(1 + height * (height - 1) / 2)
    rows = min(_FEWEST_ROWS + 1.1 * needed, max(_FEWEST_ROWS, _BLOCK // size))
    permutations = _permutations(rng, int(rows), size)
    deranged = permutations[(permutations != np.arange(size)).all(axis=1)]
    stacks = deranged[: len(deranged) // height * height].reshape(-1, height, size)
    parted: Integers = stacks[~_repeats_a_reviewer(stacks.swapaxes(-1, -2))][:most]
    return parted


def _permutations(rng: np.random.Generator, count: int, size: int) -> Integers:
    """`[count, size]`: independent uniform permutations, by sorting random numbers that carry their places.

    Numbers that are equal but for their places keep their order: among 100 one permutation in 10^13 has any.
    """
    index_bits = np.uint64((1 << (size - 1).bit_length()) - 1)
    keys = rng.integers(0, np.iinfo(np.uint64).max, (count, size), dtype=np.uint64, endpoint=True)
    keys &= ~index_bits
    keys |= np.arange(size, dtype=np.uint64)
    keys.sort(axis=1)
    keys &= index_bits
    return keys.view(np.int64)


def _check_sizes(papers: int, reviewers: int, per_paper: int) -> None:
    for name, value in (("papers", papers), ("reviewers", reviewers), ("per_paper", per_paper)):
        if value < 1:
            raise InputError(f"{name} must be at least 1, found {value}")
    if per_paper > reviewers:
        raise InputError(f"per_paper must be at most the number of reviewers {reviewers}, found {per_paper}")


def _repeats_a_reviewer(drawn: Integers) -> NDArray[np.bool_]:
    """Does any paper of an assignment have a reviewer twice?"""
    ordered = np.sort(drawn, axis=-1)
    repeated: NDArray[np.bool_] = (ordered[..., 1:] == ordered[..., :-1]).any(axis=(-1, -2))
    return repeated


def _after_trades(rng: np.random.Generator, drawn: Integers) -> Integers:
    """Rounds of trades: papers in random pairs, each pair shuffles the reviewers it does not share.

    A trade is as likely as its reverse and may change nothing, so the chain is symmetric and aperiodic.
    """
    count, papers, per_paper = drawn.shape
    rows, pairs = np.arange(count)[:, None, None], papers // 2
    for _ in range(_ROUNDS):
        order = rng.permuted(np.broadcast_to(np.arange(papers), (count, papers)), axis=1)
        both = order[:, : 2 * pairs].reshape(count, pairs, 2)
        hands = drawn[rows, both].reshape(count, pairs, 2 * per_paper)
        drawn[rows, both] = _traded_hands(rng, hands).reshape(count, pairs, 2, per_paper)
    return drawn


def _traded_hands(rng: np.random.Generator, hands: Integers) -> Integers:
    """`hands[..., 2k]`, two papers' reviewers: those of only one paper are shuffled over their places."""
    k = hands.shape[-1] // 2
    same = hands[..., :k, None] == hands[..., None, k:]
    shared = np.concatenate([same.any(axis=-1), same.any(axis=-2)], axis=-1)
    index_bits = np.argsort(shared, axis=-1, kind="stable")
    shuffled = np.argsort(np.where(shared, 2.0, rng.random(hands.shape)), axis=-1, kind="stable")
    traded = hands.copy()
    np.put_along_axis(traded, index_bits, np.take_along_axis(hands, shuffled, axis=-1), axis=-1)
    return traded


Slopes = Literal["exponential", "lognormal", "equal"]


@dataclass(frozen=True)
class Population:
    """How reviewers are drawn and how scores arise.

    Attributes:
        slopes: "exponential" with mean `slope`; "lognormal" with median `slope` and log-sd `slope_spread`; or
            all "equal" to `slope`.
        slope: The mean, median or value of the slopes.
        slope_spread: The standard deviation of the log of the slopes.
        offset: The standard deviation of the offsets.
        noise: The standard deviation of the noise.
        center: The mean of the offsets.
        noise_spread: If above 0, each reviewer has a noise of its own, lognormal with median `noise` and this
            log-sd.
        grid: Each score moves to the nearest grid point (to the higher one from the middle); None: to none.

    >>> Population(slopes="equal", offset=0.7).parameters(np.random.default_rng(1), (2,))[0]
    array([1., 1.])
    """

    slopes: Slopes = "equal"
    slope: float = 1.0
    slope_spread: float = 0.0
    offset: float = 0.0
    noise: float = 0.5
    center: float = 0.0
    noise_spread: float = 0.0
    grid: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.slopes not in ("exponential", "lognormal", "equal"):
            raise InputError(f"slopes must be exponential, lognormal or equal, found {self.slopes!r}")
        positive("slope", self.slope)
        numbers("center", self.center)
        for name in ("slope_spread", "offset", "noise", "noise_spread"):
            nonnegative(name, getattr(self, name))
        if self.slopes != "lognormal" and self.slope_spread > 0:
            raise InputError(f"slope_spread is for lognormal slopes, found {self.slope_spread:g}")
        if self.grid is not None and (len(self.grid) < 2 or (np.diff(numbers("grid", self.grid)) <= 0).any()):
            raise InputError(f"grid must be two or more increasing scores, found {self.grid!r}")

    def parameters(self, rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[Array, Array, Array]:
        """Independent (slope, offset, noise), each of the given shape."""
        if self.slopes == "exponential":
            slope = rng.exponential(self.slope, shape)
        elif self.slopes == "lognormal":
            slope = self.slope * np.exp(self.slope_spread * rng.standard_normal(shape))
        else:
            slope = np.full(shape, self.slope)
        offset = self.center + self.offset * rng.standard_normal(shape)
        noise = self.noise * np.exp(self.noise_spread * rng.standard_normal(shape))
        return slope, offset, noise

    def scores(
        self, rng: np.random.Generator, quality: Array, slope: Array, offset: Array, noise: Array
    ) -> Array:
        """One score for each entry of the (broadcast) arguments, moved to the grid if there is one."""
        mean = slope * quality + offset
        score = mean + noise * rng.standard_normal(np.shape(mean))
        return score if self.grid is None else rounded(score, self.grid)


def paper_population(noise: float, reading: str = "text") -> Population:
    """The reviewers of Appendix A: slopes Exp(1), with this noise.

    Args:
        noise: The noise.
        reading: With "text" the noise is a variance, and offsets have variance 0.5; with "script", as the
            published script has it, both numbers are standard deviations.

    Example:
        >>> round(paper_population(0.25).noise, 3), round(paper_population(0.25).offset, 3)
        (0.5, 0.707)
        >>> paper_population(0.25, "script").noise, paper_population(0.25, "script").offset
        (0.25, 0.5)
    """
    nonnegative("noise", noise)
    if reading == "script":
        return Population(slopes="exponential", offset=0.5, noise=noise)
    if reading == "text":
        return Population(slopes="exponential", offset=sqrt(0.5), noise=sqrt(noise))
    raise InputError(f"reading must be text or script, found {reading!r}")


def nips_2014_population() -> Population:
    """The variances fitted to NIPS 2014, quality 1 : offset .19 : residual .99; slopes all 1.

    Example:
        >>> found = nips_2014_population()
        >>> round(found.offset**2, 2), round(found.noise**2, 2), found.slopes
        (0.19, 0.99, 'equal')
    """
    return Population(slopes="equal", offset=sqrt(0.19), noise=sqrt(0.99))


def prototype_population() -> Population:
    """Slopes lognormal(0, .5), offsets N(0, .7^2), noise .5: reviewers who differ much.

    Example:
        >>> found = prototype_population()
        >>> found.slopes, found.slope_spread, found.offset, found.noise
        ('lognormal', 0.5, 0.7, 0.5)
    """
    return Population(slopes="lognormal", slope_spread=0.5, offset=0.7, noise=0.5)


def rounded(score: ArrayLike, grid: ArrayLike) -> Array:
    """The grid point nearest to each score; from the middle, the higher of the two."""
    points = numbers("grid", grid)
    middles = (points[1:] + points[:-1]) / 2
    chosen: Array = points[np.searchsorted(middles, numbers("score", score), side="right")]
    return chosen


@dataclass(frozen=True, eq=False)
class Simulation:
    """Many conferences of one size."""

    quality: Array  # `quality[c, paper]` in conference c
    slope: Array  # `slope[c, reviewer]`
    offset: Array  # `offset[c, reviewer]`
    noise: Array  # `noise[c, reviewer]`
    reviewer: Integers  # `reviewer[c, paper, slot]`, numbered from 0
    score: Array  # `score[c, paper, slot]`, what that reviewer gave

    @cached_property
    def _reviewing(self) -> tuple[Integers, NDArray[np.bool_]]:
        """Of each review the reviewer's number `c * reviewers + j`, and which of these numbers have reviews.

        Only they are reviewers of the batch.
        """
        count, reviewers = self.slope.shape
        number = (self.reviewer + reviewers * np.arange(count)[:, None, None]).ravel()
        return number, np.bincount(number, minlength=self.slope.size) > 0

    @cached_property
    def batch(self) -> Batch:
        """All conferences as one disjoint table for the calibrators; papers in order `c * papers + i`."""
        count, papers, per_paper = self.reviewer.shape
        number, reviewing = self._reviewing
        return Batch(
            paper=np.repeat(np.arange(count * papers), per_paper),
            reviewer=(np.cumsum(reviewing) - 1)[number],
            score=self.score.ravel(),
            paper_group=np.repeat(np.arange(count), papers),
            reviewer_group=np.repeat(np.arange(count), self.slope.shape[1])[reviewing],
        )

    @property
    def parameters(self) -> tuple[Array, Array, Array]:
        """(slope, offset, noise) of the batch's reviewers."""
        chosen = self._reviewing[1]
        return self.slope.ravel()[chosen], self.offset.ravel()[chosen], self.noise.ravel()[chosen]

    def reviews(self, conference: int = 0) -> Reviews:
        """One of the conferences as a table; ids `P000001`, `R000001` sort like the numbers from 0."""
        papers, per_paper = self.score.shape[1:]
        paper = [f"P{number:06d}" for number in range(papers) for _ in range(per_paper)]
        reviewer = [f"R{number:06d}" for number in self.reviewer[conference].ravel()]
        score = self.score[conference].ravel()
        return Reviews.from_table({"paper": paper, "reviewer": reviewer, "score": score})


def simulate_many(
    rng: np.random.Generator,
    count: int,
    papers: int,
    reviewers: int,
    per_paper: int,
    population: Population,
    stacked: bool = False,
) -> Simulation:
    """Independent conferences of one size.

    Args:
        rng: The generator that everything is drawn with.
        count: How many conferences.
        papers: How many papers each of them has.
        reviewers: How many reviewers each of them has.
        per_paper: Reviews that each paper gets.
        population: How reviewers are drawn and how scores arise.
        stacked: Assignments as in the published script, with as many reviewers as papers; by default they are
            uniform under even loads.

    Example:
        >>> drawn = simulate_many(np.random.default_rng(1), 2, 4, 4, 3, prototype_population())
        >>> drawn.score.shape, drawn.batch.groups
        ((2, 4, 3), 2)
    """
    if stacked and reviewers != papers:
        raise InputError(f"stacked assignments need as many reviewers as papers, found {reviewers}, {papers}")
    if stacked:
        reviewer = stacked_assignments(rng, count, papers, per_paper)
    else:
        reviewer = uniform_assignments(rng, count, papers, reviewers, per_paper)
    quality = rng.standard_normal((count, papers))
    parameters = population.parameters(rng, (count, reviewers))
    person = reviewer + reviewers * np.arange(count)[:, None, None]
    theirs = (value.ravel().take(person) for value in parameters)
    score = population.scores(rng, quality[..., None], *theirs)
    return Simulation(quality, *parameters, reviewer, score)
