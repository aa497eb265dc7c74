"""A randomized assignment, drawn by a secret seed, and the prior that it was really drawn from.

As many assignments are sampled as `draws` says, and one of them, each equally likely, is used. So the
reviewers of a paper are one of the sets that it has in the draws, and each draw has the same probability.
Someone who knows these sets, and the sampler as well, knows nothing more about that paper.

No sampler that meets all loads can instead give every paper the maximum-entropy prior of its marginals. With
one paper per reviewer, let p have two of a, b, c, d, q one of a, b, and r one of c, d, all with probability
1/2. In that prior p may have both a and b, and then nobody is left for q.

`decompose_marginals` splits the units of all pairs in two halves again and again, until each part is one
assignment. Most units of a pair go half to either side. One to three of them, as many as leave an even
number, are loose. Loose units are paired up at random, first at their papers and then at their reviewers, and
partners go to different sides. That closes rings of units, which alternate between papers and reviewers and
so have even length; one coin for each ring says which of its units go left. At every split each paper has
half of its reviews on either side, and nobody has more than half of a full load, so every part meets all
loads in the end.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from hashlib import shake_256
from math import ceil, floor
from pathlib import Path
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from blindcal.assignment.candidates import SampledPool
from blindcal.assignment.similarity import Similarity
from blindcal.checks import Array, Integers, check_scalar, within
from blindcal.compute.highs import load_model, solve_model
from blindcal.errors import CertificateError, InputError, RefusedError
from blindcal.io.atomic_files import make_folder, read_range, refuse_published, write_bytes
from blindcal.io.tables import MAX_LINES, StrPath, format_table

MOST_DRAWS = 1024
_LINEAR_PIECES = 4
_LEAST_PAIRS = 20
_BLOCK = 4_000_000
_MIN_GAIN = 1e-8
# The cost of a missing review: more than any chain of exchanges could gain.
_SHORTAGE_COST = 1e4
_NO_ASSIGNMENT = (
    "no assignment meets these loads with {} reviewers per paper and each pair's probability at most "
    "`cap` {}: papers are short of {:g} reviews even so. Raise `cap` or `per_reviewer`, or remove conflicts"
)


# --- Marginal probabilities of a randomized assignment with the greatest similarity (Jecmen et al. 2020).
#
# Probabilities are counted in draws: a pair with `units` u of n draws is assigned with probability u/n. In
# these units the problem is a transportation problem in whole numbers. Its vertices are whole, so the simplex
# method ends at a whole solution, and every sum is exact.
#
# The reward of a pair is `similarity * f(probability)`, with `f(x) = x` or, to spread a paper over more
# people, `f(x) = x - spread * x^2` in a few linear pieces (perturbed maximization, Xu, Jecmen, Song and Fang
# 2023).
#
# Few of all pairs can matter (column generation): the program starts with the best pairs of each paper, and
# its dual prices find the pairs that are missing. If none is missing, no pair of the whole matrix could
# improve the solution.


@dataclass(frozen=True, eq=False)
class Marginals:
    """The pairs that may be assigned, and how likely."""

    paper: Integers  # `[pair]`, the index of the paper
    reviewer: Integers  # `[pair]`, the index of the reviewer
    units: Integers  # `[pair]`, in how many draws the pair is assigned
    draws: int  # the number of draws
    most: int  # the most units of any pair
    per_paper: int  # the number of reviewers of each paper

    @property
    def probability(self) -> Array:
        """`[pair]`, the probability of each pair."""
        return np.asarray(self.units / self.draws)

    def kept(self, similarity: Similarity) -> float:
        """The expected sum of the similarities of all assigned pairs."""
        return float(similarity.of(self.paper, self.reviewer) @ self.probability)

    @property
    def pool_sizes(self) -> Integers:
        """How many candidates each paper has."""
        return np.bincount(self.paper).astype(np.int64)


def marginals(
    similarity: Similarity,
    *,
    per_paper: int,
    per_reviewer: int,
    cap: float = 1.0,
    spread: float = 0.0,
    draws: int = 1,
) -> Marginals:
    """The probabilities with the greatest expected reward, each at most `cap`, for `draws` assignments.

    Every paper gets `per_paper` reviewers, and nobody gets more than `per_reviewer` papers.
    """
    most = _max_units(similarity, per_paper, per_reviewer, cap, spread, draws)
    program = _TransportProgram(similarity, per_paper, per_reviewer, _pieces(most, spread, draws), draws)
    program.solve(_LEAST_PAIRS + 2 * ceil(per_paper * draws / most))
    if program.short > 0:
        raise InputError(_NO_ASSIGNMENT.format(per_paper, f"{cap:g}", program.short / draws))
    paper, reviewer, units = program.solution
    # Every promise of the probabilities is checked in whole numbers.
    need = np.bincount(paper, units, len(similarity.papers))
    load = np.bincount(reviewer, units, len(similarity.reviewers))
    kept = (need == per_paper * draws).all() and load.max() <= per_reviewer * draws
    if not kept or units.max() > most:
        raise CertificateError("the chances of an assignment do not meet its loads and cap exactly")
    return Marginals(paper, reviewer, units, draws, most, per_paper)


def _max_units(
    similarity: Similarity, per_paper: int, per_reviewer: int, cap: float, spread: float, draws: int
) -> int:
    """The most units of a pair, or an error that says what cannot be met, and by which papers."""
    for name, value in (("per_paper", per_paper), ("per_reviewer", per_reviewer), ("draws", draws)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise InputError(f"`{name}` must be a whole number of at least 1, found {value!r}")
    if draws > MOST_DRAWS or draws & (draws - 1):
        raise InputError(f"`draws` must be a power of 2 up to {MOST_DRAWS}, such as 64 or 256, found {draws}")
    for name, number in (("cap", cap), ("spread", spread)):
        check_scalar(f"`{name}`", number)
    within("`spread`", spread, 0.0, 1.0)
    if not 0.0 < cap <= 1.0:
        raise InputError(f"`cap` must be above 0 and at most 1, found {cap:g}")
    papers, reviewers = len(similarity.papers), len(similarity.reviewers)
    if papers * per_paper > reviewers * per_reviewer:
        raise InputError(
            f"{papers} papers with {per_paper} reviewers each are {papers * per_paper:,} reviews, and "
            f"{reviewers} reviewers with at most {per_reviewer} papers each write "
            f"{reviewers * per_reviewer:,}: raise `per_reviewer`"
        )
    # 0.3 times 10 draws is 3 units, whatever the last digit of the product.
    most = floor(cap * draws + 1e-9)
    if most == 0:
        raise InputError(f"`cap` must be at least one of the {draws} `draws`, found {cap:g}")
    eligible = reviewers - similarity.barred.sum(axis=1)
    short = np.flatnonzero(eligible * most < per_paper * draws)
    if short.size:
        named = ", ".join(repr(similarity.papers[i]) for i in short[:3])
        more = f" and {short.size - 3} more" if short.size > 3 else ""
        kept = most / draws
        raise InputError(
            f"{per_paper} reviewers per paper with a `cap` of {cap:g} (in draws {kept:g}) need "
            f"{ceil(per_paper / kept - 1e-9)} reviewers without a conflict, found "
            f"{int(eligible[short].min())} for paper {named}{more}: raise `cap`, or give more draws"
        )
    return most


def _pieces(most: int, spread: float, draws: int) -> tuple[Integers, Array]:
    """Widths in units of the linear pieces of `f`, and their slopes."""
    if spread == 0.0:
        return np.array([most], dtype=np.int64), np.ones(1)
    edges = np.unique(np.rint(np.linspace(0, most, _LINEAR_PIECES + 1))).astype(np.int64)
    return np.diff(edges), 1.0 - spread * (edges[1:] + edges[:-1]) / draws


class _TransportProgram:
    """The transportation program over some of the pairs, which grow until no pair is missing."""

    def __init__(
        self,
        similarity: Similarity,
        per_paper: int,
        per_reviewer: int,
        pieces: tuple[Integers, Array],
        draws: int,
    ) -> None:
        self.similarity, (self.widths, self.slopes) = similarity, pieces
        self.papers, self.reviewers = len(similarity.papers), len(similarity.reviewers)
        self.scale = float(similarity.value.max()) or 1.0
        self.need, self.room = float(per_paper * draws), float(per_reviewer * draws)
        self.pairs = np.zeros(0, dtype=np.int64)
        self.solver: Any = None

    def solve(self, at_once: int) -> None:
        """Add the `at_once` best missing pairs of each paper until none could improve the solution."""
        price = np.zeros(self.papers + self.reviewers)
        while (new := self._missing(price, at_once)).size:
            self._add(new)
            if solve_model(self.solver) != highspy.HighsModelStatus.kOptimal:
                raise CertificateError("the program of an assignment could not be solved")
            price = np.asarray(self.solver.getSolution().row_dual)

    @property
    def _amounts(self) -> Integers:
        """The units in each column, rounded to whole numbers."""
        return np.rint(np.array(self.solver.getSolution().col_value, dtype=np.float64)).astype(np.int64)

    @property
    def short(self) -> int:
        """By how many units papers lack reviewers."""
        return int(self._amounts[: self.papers].sum())

    @property
    def solution(self) -> tuple[Integers, Integers, Integers]:
        """The pairs with a positive probability, sorted, and their units."""
        units = self._amounts[self.papers :].reshape(-1, self.widths.size).sum(axis=1)
        order = np.argsort(self.pairs)
        order = order[units[order] > 0]
        pairs = self.pairs[order]
        return pairs // self.reviewers, pairs % self.reviewers, units[order]

    def _missing(self, price: Array, at_once: int) -> Integers:
        """Pairs outside the program that would improve it; at first, the best pairs of each paper.

        Equally good pairs are taken in a different order for each paper.
        """
        rng, first = np.random.default_rng(0), self.solver is None
        size = max(1, _BLOCK // self.reviewers)
        pairs = []
        for start in range(0, self.papers, size):
            stop = min(start + size, self.papers)
            gain = self.similarity.value[start:stop].toarray() * (self.slopes[0] / self.scale)
            gain += price[start:stop, None] + price[self.papers :]
            least = -np.inf if first else _MIN_GAIN
            gain += _MIN_GAIN / 2 * rng.random(gain.shape)
            barred = self.similarity.barred[start:stop].toarray()
            here = self.pairs[(self.pairs >= start * self.reviewers) & (self.pairs < stop * self.reviewers)]
            gain[barred] = -np.inf
            gain.ravel()[here - start * self.reviewers] = -np.inf
            best = np.argpartition(-gain, min(at_once, self.reviewers - 1), axis=1)[:, :at_once]
            row, rank = np.nonzero(np.take_along_axis(gain, best, axis=1) > least)
            pairs.append((start + row) * self.reviewers + best[row, rank])
        return np.sort(np.concatenate(pairs))

    def _add(self, new: Integers) -> None:
        """New columns: one for each pair and piece."""
        if self.solver is None:
            self.solver = self._empty()
        paper, reviewer = new // self.reviewers, new % self.reviewers
        value = self.similarity.of(paper, reviewer) / self.scale
        cost = -(value[:, None] * self.slopes).ravel()
        size = cost.size
        rows = np.column_stack([paper, self.papers + reviewer]).repeat(self.widths.size, axis=0).ravel()
        self.solver.addCols(
            size,
            cost,
            np.zeros(size),
            np.tile(self.widths.astype(np.float64), new.size),
            2 * size,
            np.arange(0, 2 * size, 2, dtype=np.int32),
            rows.astype(np.int32),
            np.ones(2 * size),
        )
        self.pairs = np.concatenate([self.pairs, new])

    def _empty(self) -> Any:
        """The loads, and for each paper a column for the reviews it lacks."""
        papers, people = self.papers, self.reviewers
        lack = sparse.csc_array(sparse.eye_array(papers + people, papers))
        need, room = np.full(papers, self.need), np.full(people, self.room)
        rows = np.concatenate([need, np.zeros(people)]), np.concatenate([need, room])
        return load_model(lack, np.full(papers, _SHORTAGE_COST), (np.zeros(papers), need), rows)


SEED_BYTES = 32
POOLS_FILE, ASSIGNMENT_FILE, DRAWS_FILE = "pools.csv", "assignment.csv", "assignments.csv"
_RandomBits = NDArray[np.uint64]


def assign(
    similarity: Similarity,
    *,
    per_paper: int,
    per_reviewer: int,
    cap: float,
    spread: float = 0.0,
    draws: int = 64,
    seed: bytes,
) -> SampledAssignment:
    """Assign reviewers to papers at random, with the greatest expected similarity that the limits allow.

    Args:
        similarity: Of papers and reviewers, with the pairs that are barred by a conflict.
        per_paper: How many reviewers each paper gets.
        per_reviewer: The most papers that one reviewer gets.
        cap: The greatest probability of any pair, above 0 and at most 1; the lower, the harder it is to guess
            who reviews.
        spread: From 0, the default, to 1. Above 0 a probability x counts only `x - spread * x^2` toward the
            expected similarity, which spreads each paper over more people.
        draws: How many assignments are sampled, a power of 2 up to 1024; one of them is used.
        seed: 32 secret bytes; the same ones give the same assignment.

    Example:
        >>> similarity = Similarity.dense(["p", "q"], ["a", "b"], [[3.0, 2.0], [2.0, 0.0]])
        >>> found = assign(similarity, per_paper=1, per_reviewer=1, cap=0.75, draws=4, seed=bytes(32))
        >>> dict(found.pools()["p"])
        {'a': 0.25, 'b': 0.75}
    """
    rows = len(similarity.papers) * per_paper * draws
    if rows >= MAX_LINES:
        fewer = draws // 2 ** int(np.ceil(np.log2((rows + 1) / MAX_LINES)))
        raise InputError(
            f"`draws` {draws} of {len(similarity.papers)} papers are {rows:,} rows, but a table has at "
            f"most {MAX_LINES:,}: give {fewer}"
        )
    chances = marginals(
        similarity, per_paper=per_paper, per_reviewer=per_reviewer, cap=cap, spread=spread, draws=draws
    )
    chosen = int(keystream(seed, "choice", 1)[0]) % draws
    return SampledAssignment(similarity, chances, decompose_marginals(chances, seed), chosen)


@dataclass(frozen=True, eq=False)
class SampledAssignment:
    """Sampled assignments and which of them is used. CONFIDENTIAL.

    Attributes:
        similarity: What was assigned by; papers and reviewers below are indices into its lists.
        chances: The marginal probability of each pair, before the draws.
        drawn: `[draw, paper, seat]`, the reviewers of each paper in each draw, in ascending order.
        chosen: The draw that is used, counted from 0.
    """

    similarity: Similarity
    chances: Marginals
    drawn: Integers
    chosen: int

    @cached_property
    def reviewers(self) -> dict[str, tuple[str, ...]]:
        """The reviewers of each paper: the assignment to use. CONFIDENTIAL."""
        people = self.similarity.reviewers
        rows = self.drawn[self.chosen].tolist()
        return {p: tuple(people[j] for j in row) for p, row in zip(self.similarity.papers, rows, strict=True)}

    def pools(self) -> dict[str, SampledPool]:
        """The prior of each paper: its set of reviewers in every draw, in no order."""
        people = self.similarity.reviewers
        pools = {}
        for index, paper in enumerate(self.similarity.papers):
            sets, number = np.unique(self.drawn[:, index], axis=0, return_counts=True)
            named = (tuple(people[j] for j in row) for row in sets.tolist())
            pools[paper] = SampledPool(dict(zip(named, number.tolist(), strict=True)))
        return pools

    def write(self, folder: StrPath) -> None:
        """Write the assignment and its prior into a folder; another assignment that is there is refused.

        `pools.csv` is public. For the owner alone are `assignments.csv`, the prior, and `assignment.csv`, the
        truth.

        Draws are numbered in the order of each paper's own sets, so the numbers of different papers have
        nothing to do with each other. Otherwise someone who knows the reviewers of a few papers could tell
        which draw is the true one, and with it the reviewers of all other papers.
        """
        target = Path(folder)
        refuse_published(target / ASSIGNMENT_FILE)
        make_folder(target)
        files = self._files()
        there = [name for name in files if os.path.lexists(target / name)]
        for name in there:
            path, content = target / name, files[name]
            if not path.is_file() or read_range(path, 0, len(content) + 1) != content:
                raise RefusedError(f"{path} exists already, is not this assignment, and is never overwritten")
        # The assignment is written last, so that it never exists without its prior.
        for name in [name for name in files if name not in there]:
            write_bytes(target / name, files[name], confidential=name != POOLS_FILE)

    def _files(self) -> dict[str, bytes]:
        """The content of each file."""
        papers, people = self.similarity.papers, self.similarity.reviewers
        chances, (draws, count, places) = self.chances, self.drawn.shape
        # Each paper's own sets in ascending order.
        sets = self.drawn.swapaxes(0, 1)
        ordered = np.stack([rows[np.lexsort(rows.T[::-1])] for rows in sets], axis=1)
        return {
            POOLS_FILE: format_table(
                {
                    "paper": [papers[i] for i in chances.paper.tolist()],
                    "reviewer": [people[j] for j in chances.reviewer.tolist()],
                    "probability": chances.probability.tolist(),
                }
            ),
            DRAWS_FILE: format_table(
                {
                    "draw": (1 + np.arange(draws)).repeat(count * places).tolist(),
                    "paper": [name for name in papers for _ in range(places)] * draws,
                    "reviewer": [people[j] for j in ordered.ravel().tolist()],
                }
            ),
            ASSIGNMENT_FILE: format_table(
                {
                    "paper": [name for name in papers for _ in range(places)],
                    "reviewer": [people[j] for j in self.drawn[self.chosen].ravel().tolist()],
                }
            ),
        }


def keystream(seed: bytes, purpose: str, size: int) -> NDArray[np.uint64]:
    """`size` numbers, each uniform on 64 bits, from a secret seed; every purpose has its own stream."""
    if len(seed) != SEED_BYTES:
        raise InputError(f"a seed must have {SEED_BYTES} bytes, found {len(seed)}")
    stream = shake_256(b"blindcal/assignment\0" + seed + purpose.encode())
    return np.frombuffer(stream.digest(8 * size), dtype="<u8").astype(np.uint64)


@dataclass(frozen=True, eq=False)
class _Parts:
    """Units of pairs in several parts at once."""

    part: Integers
    paper: Integers
    reviewer: Integers
    units: Integers

    def __getitem__(self, which: NDArray[np.bool_] | Integers) -> _Parts:
        return _Parts(self.part[which], self.paper[which], self.reviewer[which], self.units[which])


def decompose_marginals(chances: Marginals, seed: bytes) -> Integers:
    """`[draw, paper, seat]`: assignments that have exactly these marginals together.

    The reviewers of a paper stand in ascending order; each pair is in as many draws as it has units.
    """
    parts = _Parts(np.zeros_like(chances.paper), chances.paper, chances.reviewer, chances.units)
    size = chances.draws
    while size > 1:
        parts, size = _halves(parts, seed, size), size // 2
    order = np.lexsort((parts.reviewer, parts.paper, parts.part))
    return parts.reviewer[order].reshape(chances.draws, -1, chances.per_paper)


def _halves(parts: _Parts, seed: bytes, size: int) -> _Parts:
    """Every part as two, its left and its right half."""
    loose = parts.units % 2
    # Two more units are loosened, for more randomness, if neither side can then exceed its draws.
    loose += 2 * ((parts.units >= loose + 2) & (parts.units + loose + 2 <= size))
    pair = np.arange(loose.size).repeat(loose)
    left = (parts.units - loose) // 2
    left += np.bincount(pair, _sides(parts[pair], seed, size), loose.size).astype(np.int64)
    both = _Parts(
        np.concatenate([2 * parts.part, 2 * parts.part + 1]),
        np.tile(parts.paper, 2),
        np.tile(parts.reviewer, 2),
        np.concatenate([left, parts.units - left]),
    )
    return both[both.units > 0]


def _sides(loose: _Parts, seed: bytes, size: int) -> Integers:
    """1 for a loose unit that goes left, 0 for one that goes right."""
    count = loose.paper.size
    random = keystream(seed, f"halves of {size}", 4 * count).reshape(4, count)
    at_paper = _partners(_groups(loose.part, loose.paper), random[0])
    at_reviewer = _partners(_groups(loose.part, loose.reviewer), random[1])
    alone = np.flatnonzero(at_reviewer < 0)
    at_reviewer[alone] = alone[_partners(loose.part[alone], random[2, alone])]
    # Two steps around a ring lead from a unit to one that goes to the same side.
    steps = sparse.coo_array(
        (np.ones(count), (np.arange(count), at_reviewer[at_paper])), shape=(count, count)
    )
    # Loaded here, as in `blindcal.reviews`: it takes long, and few commands need it.
    from scipy.sparse.csgraph import connected_components

    same = connected_components(steps, directed=False)[1].astype(np.int64)
    ring = np.minimum(same, same[at_paper])
    coin = (random[3] & np.uint64(1)).astype(np.int64)
    sides: Integers = coin[ring] ^ (same != ring)
    return sides


def _groups(part: Integers, at: Integers) -> Integers:
    """A number for each pair of part and index."""
    return part * (1 + int(at.max(initial=0))) + at


def _partners(group: Integers, random: _RandomBits) -> Integers:
    """A random partner for each unit within its group; -1 for the last one of an odd number.

    Example:
        >>> _partners(np.array([7, 5, 7]), np.zeros(3, dtype=np.uint64)).tolist()
        [2, -1, 0]
    """
    # One sort key: the group in the high bits, then random bits.
    bits = np.uint64(int(group.max(initial=0)).bit_length())
    key = (group.astype(np.uint64) << (np.uint64(64) - bits)) if bits else np.zeros_like(random)
    order = np.argsort(key | (random >> bits))
    starts = np.ones(order.size, dtype=bool)
    starts[1:] = np.diff(group[order]) != 0
    position = np.arange(order.size)
    rank = position - np.maximum.accumulate(np.where(starts, position, 0))
    first = np.flatnonzero((rank % 2 == 0) & ~np.append(starts[1:], True))
    partner = np.full(order.size, -1, dtype=np.int64)
    partner[order[first]], partner[order[first + 1]] = order[first + 1], order[first]
    return partner
