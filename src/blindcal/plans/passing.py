"""The chance that each paper gets a place on the final list, over the public belief; and what the list costs.

Private decisions are independent from paper to paper, so how many papers rank above a given one is a sum of
independent coins, and its distribution is computed, not simulated. The real coins never enter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from blindcal.checks import Array, Integers
from blindcal.plans.figures import Figures, Standing
from blindcal.plans.listings import ACCEPT, Cuts, Rank, place, rank
from blindcal.plans.quotas import Quota

Pair = tuple[Rank, Rank]
"""Where a paper ranks if its private decision is to reject, and if it is to accept."""


def pass_chances(ranks: Sequence[Pair], accept_chance: Sequence[float], places: int) -> Array:
    """`[paper, decision]`: the chance of being among the best `places`, given the paper's own decision.

    >>> ranks = [((-0.2, 0, "a"), (-0.9, 0, "a")), ((-0.4, 0, "b"), (-0.6, 0, "b"))]
    >>> pass_chances(ranks, [0.25, 0.5], 1)     # the best of two; a wins if its decision is to accept
    array([[0.  , 1.  ],
           [0.75, 0.75]])
    """
    order = sorted(
        (one, paper, decision) for paper, pair in enumerate(ranks) for decision, one in enumerate(pair)
    )
    who = np.array([paper for _, paper, _ in order], dtype=np.int64)
    what = np.array([decision for _, _, decision in order], dtype=np.int64)
    at = np.empty((len(ranks), 2), dtype=np.int64)
    at[who, what] = np.arange(who.size)
    found = np.empty(who.size)
    _walk((0, who.size), np.arange(len(ranks)), _start(places), (who, at, np.asarray(accept_chance)), found)
    return found[at]


def _start(places: int) -> Array:
    """Nobody ranks above so far. Counts from `places` on are not followed: they leave no place."""
    counts = np.zeros(places)
    counts[:1] = 1.0
    return counts


def _walk(
    part: tuple[int, int],
    undecided: Integers,
    counts: Array,
    drawn: tuple[Integers, Integers, Array],
    found: Array,
) -> None:
    """Fill `found` for a stretch of the common order. `counts[m]` is the chance that m papers rank above it,
    of those that rank above all of the stretch or below all of it; the rest are `undecided`."""
    low, high = part
    who, at, accept = drawn
    if high - low <= 1 or not counts.any():
        found[low:high] = counts.sum()
        return
    middle = (low + high) // 2
    for half in ((low, middle), (middle, high)):
        inside = np.unique(who[slice(*half)])
        rest = np.setdiff1d(undecided, inside, assume_unique=True)
        _walk(half, inside, _with(counts, at[rest] < half[0], accept[rest]), drawn, found)


def _with(counts: Array, above: NDArray[np.bool_], accept: Array) -> Array:
    """The counts with more papers in them: which of their two decisions rank them `above`, and how likely
    they are accepted."""
    rejected, accepted = above.T
    surely = min(int((rejected & accepted).sum()), counts.size)
    counts = np.concatenate([np.zeros(surely), counts[: counts.size - surely]])
    for chance in np.concatenate([accept[accepted & ~rejected], 1.0 - accept[rejected & ~accepted]]):
        moved = counts[:-1] * chance
        counts = counts * (1.0 - chance)
        counts[1:] += moved
    return counts


def both_ranks(paper: str, scores: Sequence[float], figures: Figures) -> Pair:
    """Where a paper ranks after each of the two decisions."""
    rejected, accepted = _standings(figures)
    return rank(paper, scores, rejected.favor), rank(paper, scores, accepted.favor)


def listed_figures(
    figures: Sequence[Figures],
    ranks: Sequence[Pair],
    tracks: Sequence[str],
    quota: Quota,
    frozen: Mapping[str, Cuts] | None = None,
) -> list[Figures]:
    """What the final list does on average over the public belief; with the cuts of an earlier list, where
    these are `frozen`. A paper on the wait list counts as not accepted."""
    chances = np.empty((len(figures), 2))
    for group in quota.groups:
        here = [index for index, track in enumerate(tracks) if track == group]
        pairs = [ranks[index] for index in here]
        if frozen is None:
            accept = [_standings(figures[index])[1].chance for index in here]
            chances[here] = pass_chances(pairs, accept, quota.of(group)[0])
        else:
            passed = [[place(one, frozen[group]) == ACCEPT for one in pair] for pair in pairs]
            chances[here] = np.reshape(np.array(passed, dtype=np.float64), (-1, 2))
    return [_listed(one, chance) for one, chance in zip(figures, chances.tolist(), strict=True)]


def _listed(figures: Figures, passed: Sequence[float]) -> Figures:
    """One paper's figures where it passes with these chances, given its private decision."""
    both = list(zip(_standings(figures), passed, strict=True))
    wrong = sum(s.chance * (p * (1 - s.favor) + (1 - p) * s.favor) for s, p in both)
    against = sum(s.chance * (p * s.evidence_against + (1 - p) * s.evidence_for) for s, p in both)
    return replace(figures, wrong=wrong, against=against)


def _standings(figures: Figures) -> tuple[Standing, Standing]:
    if figures.standings is None:
        raise ValueError("only figures of a table have standings")
    return figures.standings
