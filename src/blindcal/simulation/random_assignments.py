"""Random assignments of reviewers to papers, many conferences at once (rng passed in).

An assignment is a simple bipartite graph: every paper has `per_paper` different reviewers, reviewer j has
`loads[j]` papers. "Uniformly at random" means that every such graph is equally likely.
"""

from __future__ import annotations

from itertools import combinations
from math import exp

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blindcal.checks import Integers
from blindcal.errors import InputError

# Rejection keeps about exp(-collisions) of its draws; beyond this many a chain is far cheaper.
_MOST_COLLISIONS = 6.0
_MOST_DRAWS = 5_000
_ROUNDS = 100
# Permutations are drawn together as long as they stay in a processor's cache, and many at least.
_BLOCK, _FEWEST_ROWS = 1 << 18, 64
# Up to this many reviewers of a paper are compared in pairs, more are sorted.
_FEW_PLACES = 6


def even_loads(papers: int, reviewers: int, per_paper: int) -> Integers:
    """How many reviews each reviewer writes, as evenly as possible.

    The first reviewers carry the remainder.

    Args:
        papers: How many papers there are.
        reviewers: How many reviewers there are.
        per_paper: How many reviews each paper has.

    Returns:
        `load[reviewer]`.

    Example:
        >>> even_loads(papers=4, reviewers=3, per_paper=2)
        array([3, 3, 2])
    """
    _check_sizes(papers, reviewers, per_paper)
    load, extra = divmod(papers * per_paper, reviewers)
    return np.where(np.arange(reviewers) < extra, load + 1, load).astype(np.int64)


def uniform_assignments(
    rng: np.random.Generator,
    count: int,
    papers: int,
    reviewers: int,
    per_paper: int,
    loads: ArrayLike | None = None,
) -> Integers:
    """Independent assignments, uniform given the loads.

    The configuration model: every review is a stub of its reviewer, the stubs are shuffled over the papers'
    slots, and a draw in which a paper meets a reviewer twice is thrown away whole. Every simple graph
    comes from the same number of shuffles, so what is kept is *exactly* uniform. About exp(-c) of the draws
    are kept, c = sum_i k(k-1) sum_j l_j(l_j-1) / (2 reviews^2). If c is above 6, a symmetric Markov chain
    of trades between papers takes over, whose limit is uniform (100 rounds in which every paper trades once).

    Args:
        rng: The generator of random numbers.
        count: How many assignments to draw.
        papers: How many papers there are, numbered from 0.
        reviewers: How many reviewers there are, numbered from 0.
        per_paper: How many different reviewers each paper has.
        loads: How many papers each reviewer has; by default `even_loads` with the reviewers shuffled.

    Returns:
        `reviewer[count, papers, per_paper]`.

    Example:
        >>> draw = uniform_assignments(np.random.default_rng(1), 1, papers=3, reviewers=3, per_paper=2)[0]
        >>> sorted(draw.ravel().tolist()), all(a != b for a, b in draw.tolist())
        ([0, 0, 1, 1, 2, 2], True)
    """
    stubs = _stubs(rng, count, papers, reviewers, per_paper, loads)
    load = np.bincount(stubs[0], minlength=reviewers) if count else np.zeros(reviewers)
    collisions = papers * per_paper * (per_paper - 1) * float(load @ (load - 1)) / (2 * stubs.shape[1] ** 2)
    shape = (count, papers, per_paper)
    if collisions > _MOST_COLLISIONS:
        return _traded(rng, _dealt(stubs, papers))
    drawn, pending = np.empty(shape, dtype=np.int64), np.arange(count)
    for _ in range(_MOST_DRAWS):
        if pending.size == 0:
            return drawn
        drawn[pending] = rng.permuted(stubs[pending], axis=1).reshape(-1, papers, per_paper)
        pending = pending[_repeats(drawn[pending])]
    # Stopping here favors no graph: those still pending are drawn afresh by the chain.
    drawn[pending] = _traded(rng, _dealt(stubs[pending], papers))
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

    Args:
        rng: The generator of random numbers.
        count: How many assignments to draw.
        papers: How many papers, and reviewers, there are.
        per_paper: How many reviews each paper has.

    Returns:
        `reviewer[count, papers, per_paper]`.

    Example:
        >>> stacked_assignments(np.random.default_rng(1), 2, papers=5, per_paper=2).shape
        (2, 5, 2)
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
        some = _parted(rng, count - done, papers, per_paper - 1)
        after = some + papers * np.arange(done, done + len(some))[:, None, None]
        drawn[done : done + len(some), :, 1:] = first.ravel().take(after).swapaxes(-1, -2)
        done, barren = done + len(some), 0 if len(some) else barren + 1
    return drawn


def _parted(rng: np.random.Generator, most: int, size: int, height: int) -> Integers:
    """`[n, height, size]`, n up to `most`: derangements, `height` at a time, no two of which agree anywhere.

    About one permutation in e is a derangement, and one pair of derangements in e agrees nowhere.
    """
    needed = most * height * exp(1 + height * (height - 1) / 2)
    rows = min(_FEWEST_ROWS + 1.1 * needed, max(_FEWEST_ROWS, _BLOCK // size))
    permutations = _permutations(rng, int(rows), size)
    deranged = permutations[(permutations != np.arange(size)).all(axis=1)]
    stacks = deranged[: len(deranged) // height * height].reshape(-1, height, size)
    parted: Integers = stacks[~_repeats(stacks.swapaxes(-1, -2))][:most]
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


def _stubs(
    rng: np.random.Generator, count: int, papers: int, reviewers: int, per_paper: int, loads: ArrayLike | None
) -> Integers:
    """`[count, reviews]`: each reviewer's index as often as its load, equal ones side by side."""
    load = even_loads(papers, reviewers, per_paper)
    if loads is None:
        order = rng.permuted(np.broadcast_to(np.arange(reviewers), (count, reviewers)), axis=1)
        return np.repeat(order, load, axis=1)
    given = np.asarray(loads)
    if given.shape != (reviewers,) or not np.issubdtype(given.dtype, np.integer):
        raise InputError(f"loads must be {reviewers} integers, found {loads!r}")
    if given.min() < 0 or given.max() > papers or given.sum() != papers * per_paper:
        raise InputError(f"loads must lie in 0..{papers} and sum to {papers * per_paper}, found {loads!r}")
    return np.repeat(np.arange(reviewers), given)[None].repeat(count, axis=0)


def _repeats(drawn: Integers) -> NDArray[np.bool_]:
    """Does any paper of an assignment have a reviewer twice?"""
    if drawn.shape[-1] <= _FEW_PLACES:
        pairs = combinations(range(drawn.shape[-1]), 2)
        same = [(drawn[..., first] == drawn[..., other]).any(axis=-1) for first, other in pairs]
        return np.logical_or.reduce(same) if same else np.zeros(drawn.shape[:-2], dtype=np.bool_)
    ordered = np.sort(drawn, axis=-1)
    repeated: NDArray[np.bool_] = (ordered[..., 1:] == ordered[..., :-1]).any(axis=(-1, -2))
    return repeated


def _dealt(stubs: Integers, papers: int) -> Integers:
    """A valid assignment for any loads up to `papers`: stubs dealt round the table like cards."""
    return stubs.reshape(stubs.shape[0], -1, papers).swapaxes(-1, -2).copy()


def _traded(rng: np.random.Generator, drawn: Integers) -> Integers:
    """Rounds of trades: papers in random pairs, each pair shuffles the reviewers it does not share.

    A trade is as likely as its reverse and may change nothing, so the chain is symmetric and aperiodic.
    """
    count, papers, per_paper = drawn.shape
    rows, pairs = np.arange(count)[:, None, None], papers // 2
    for _ in range(_ROUNDS):
        order = rng.permuted(np.broadcast_to(np.arange(papers), (count, papers)), axis=1)
        both = order[:, : 2 * pairs].reshape(count, pairs, 2)
        hands = drawn[rows, both].reshape(count, pairs, 2 * per_paper)
        drawn[rows, both] = _trade(rng, hands).reshape(count, pairs, 2, per_paper)
    return drawn


def _trade(rng: np.random.Generator, hands: Integers) -> Integers:
    """`hands[..., 2k]`, two papers' reviewers: those of only one paper are shuffled over their places."""
    k = hands.shape[-1] // 2
    same = hands[..., :k, None] == hands[..., None, k:]
    shared = np.concatenate([same.any(axis=-1), same.any(axis=-2)], axis=-1)
    index_bits = np.argsort(shared, axis=-1, kind="stable")
    shuffled = np.argsort(np.where(shared, 2.0, rng.random(hands.shape)), axis=-1, kind="stable")
    traded = hands.copy()
    np.put_along_axis(traded, index_bits, np.take_along_axis(hands, shuffled, axis=-1), axis=-1)
    return traded
