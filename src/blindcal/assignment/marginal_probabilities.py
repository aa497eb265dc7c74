"""Marginal probabilities of a randomized assignment with the greatest similarity (Jecmen et al. 2020).

Probabilities are counted in draws: a pair with `units` u of n draws is assigned with probability u/n. In
these units the problem is a transportation problem in whole numbers. Its vertices are whole, so the simplex
method ends at a whole solution, and every sum is exact.

The reward of a pair is `similarity * f(probability)`, with `f(x) = x` or, to spread a paper over more people,
`f(x) = x - spread * x^2` in a few linear pieces (perturbed maximization, Xu, Jecmen, Song and Fang 2023).

Few of all pairs can matter (column generation): the program starts with the best pairs of each paper, and its
dual prices find the pairs that are missing. If none is missing, no pair of the whole matrix could improve the
solution.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import Any

import highspy
import numpy as np
from scipy import sparse

from blindcal.assignment.similarity import Similarity
from blindcal.checks import Array, Integers, check_scalar, within
from blindcal.compute.highs import load_model, solve_model
from blindcal.errors import CertificateError, InputError

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


@dataclass(frozen=True, eq=False)
class Marginals:
    """The pairs that may be assigned, and how likely.

    Attributes:
        paper: `[pair]`, the index of the paper.
        reviewer: `[pair]`, the index of the reviewer.
        units: `[pair]`, in how many draws the pair is assigned.
        draws: The number of draws.
        most: The most units of any pair.
        per_paper: The number of reviewers of each paper.
    """

    paper: Integers
    reviewer: Integers
    units: Integers
    draws: int
    most: int
    per_paper: int

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

    >>> similarity = Similarity.dense(["p", "q"], ["a", "b"], [[3.0, 2.0], [2.0, 0.0]])
    >>> chances = marginals(similarity, per_paper=1, per_reviewer=1, cap=0.75, draws=4)
    >>> chances.units.tolist(), chances.kept(similarity)
    ([1, 3, 3, 1], 3.75)
    """
    most = _max_units(similarity, per_paper, per_reviewer, cap, spread, draws)
    program = _TransportProgram(similarity, per_paper, per_reviewer, _pieces(most, spread, draws), draws)
    program.solve(_LEAST_PAIRS + 2 * ceil(per_paper * draws / most))
    if program.short > 0:
        raise InputError(_NO_ASSIGNMENT.format(per_paper, f"{cap:g}", program.short / draws))
    paper, reviewer, units = program.solution
    chances = Marginals(paper, reviewer, units, draws, most, per_paper)
    _verify(chances, similarity, per_reviewer)
    return chances


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
        raise InputError(_too_few(similarity, per_paper, cap, most / draws, eligible, short))
    return most


def _too_few(
    similarity: Similarity, per_paper: int, cap: float, kept: float, eligible: Integers, short: Integers
) -> str:
    """The message for papers with too few eligible reviewers."""
    named = ", ".join(repr(similarity.papers[i]) for i in short[:3])
    more = f" and {short.size - 3} more" if short.size > 3 else ""
    least = ceil(per_paper / kept - 1e-9)
    return (
        f"{per_paper} reviewers per paper with a `cap` of {cap:g} (in draws {kept:g}) need {least} "
        f"reviewers without a conflict, found {int(eligible[short].min())} for paper {named}{more}: raise "
        "`cap`, or give more draws"
    )


def _pieces(most: int, spread: float, draws: int) -> tuple[Integers, Array]:
    """Widths in units of the linear pieces of `f`, and their slopes.

    Example:
        >>> _pieces(4, 0.5, 8)
        (array([1, 1, 1, 1]), array([0.9375, 0.8125, 0.6875, 0.5625]))
    """
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
        lack = sparse.csc_array(
            (np.ones(papers), (np.arange(papers), np.arange(papers))), shape=(papers + people, papers)
        )
        need, room = np.full(papers, self.need), np.full(people, self.room)
        rows = np.concatenate([need, np.zeros(people)]), np.concatenate([need, room])
        return load_model(lack, np.full(papers, _SHORTAGE_COST), (np.zeros(papers), need), rows)


def _verify(chances: Marginals, similarity: Similarity, per_reviewer: int) -> None:
    """Check every promise of the probabilities in whole numbers."""
    need = np.bincount(chances.paper, chances.units, len(similarity.papers))
    load = np.bincount(chances.reviewer, chances.units, len(similarity.reviewers))
    kept = (need == chances.per_paper * chances.draws).all() and load.max() <= per_reviewer * chances.draws
    if not kept or chances.units.max() > chances.most:
        raise CertificateError("the chances of an assignment do not meet its loads and cap exactly")
