"""The chance that each paper gets a place on the final list, over the public belief; and what the list costs.

Private decisions are independent from paper to paper, so how many papers rank above a given one is a sum of
independent coins, and its distribution is computed, not simulated. The real coins never enter.

Private decisions -> the final list: an exact number of papers accepted, the next ones on a wait list.

Papers are ranked by P(right to accept | scores, private decision), rounded to `DECIMALS`; ties go to the
better mean score, then to the paper whose id comes first. Nothing else enters: no coin, no true reviewer. So
the list is a function of the private decisions and of public information, and reveals no more than they do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf

import numpy as np
from numpy.typing import NDArray

from blindcal.cells import natural
from blindcal.checks import Array, Integers
from blindcal.planning.expected_errors import Figures, Standing
from blindcal.planning.request import Quota

DECIMALS = 6
ACCEPT, WAIT, REJECT = "accept", "wait list", "reject"
Rank = tuple[float, Fraction, tuple[tuple[str | int, ...], str]]
"""What papers are sorted by, the best first."""
Cuts = tuple[Rank | None, Rank | None]
"""The best paper that is not accepted, and the best that does not wait either; None: there is none."""
TOP: Rank = (-inf, Fraction(0), natural(""))
"""Above every paper: the cut of a track in which nobody is accepted, also not a paper that comes later."""


def rank(paper: str, scores: Sequence[float], favor: float) -> Rank:
    """Where a paper stands, by the better end of the scale; scores are taken as they are written.

    >>> rank("p2", [3.0, 4.0], 0.81) < rank("p1", [9.0, 9.0], 0.8)
    True
    >>> rank("p1", [3.0, 5.0], 0.8) < rank("p2", [4.0, 4.0], 0.8 + 1e-12) < rank("p10", [4.0, 4.0], 0.8)
    True
    """
    mean = sum((Fraction(str(score)) for score in scores), Fraction(0)) / len(scores)
    return -round(favor, DECIMALS), -mean, natural(paper)


def cuts(ranks: Sequence[Rank], accept: int, wait_list: int) -> Cuts:
    """Where the list is cut, with this many papers accepted and this many more on the wait list."""
    order = sorted(ranks)

    def best_after(places: int) -> Rank | None:
        if places == 0:
            return TOP
        return order[places] if places < len(order) else None

    return best_after(accept), best_after(accept + wait_list)


def place(own: Rank, cut: Cuts) -> str:
    """Whether a paper is accepted, waits or is rejected: it must rank above the paper at the cut."""
    first, second = cut
    if first is None or own < first:
        return ACCEPT
    return WAIT if second is None or own < second else REJECT


def all_cuts(ranks: Sequence[Rank], tracks: Sequence[str], quota: Quota) -> dict[str, Cuts]:
    """The cuts of each track, or of the conference."""
    return {
        group: cuts(
            [one for one, track in zip(ranks, tracks, strict=True) if track == group], *quota.of(group)
        )
        for group in quota.groups
    }


def cuts_json(found: Mapping[str, Cuts]) -> dict[str, list[list[str] | None]]:
    """Cuts as they are sealed: numbers as exact text, for they are compared again."""
    return {
        track: [None if one is None else [repr(-one[0]), str(-one[1]), one[2][1]] for one in cut]
        for track, cut in found.items()
    }


def cuts_of(content: Mapping[str, Sequence[Sequence[str] | None]]) -> dict[str, Cuts]:
    """Cuts as they were sealed."""

    def read(one: Sequence[str] | None) -> Rank | None:
        return None if one is None else (-float(one[0]), -Fraction(one[1]), natural(one[2]))

    return {track: (read(cut[0]), read(cut[1])) for track, cut in content.items()}


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


def with_raw(figures: Figures, raw_accept: float) -> Figures:
    """The figures of a paper that mean scores would accept with this chance."""
    right = sum(standing.chance * standing.favor for standing in _standings(figures))
    return replace(figures, wrong_raw=raw_accept * (1 - right) + (1 - raw_accept) * right)


def _standings(figures: Figures) -> tuple[Standing, Standing]:
    if figures.standings is None:
        raise ValueError("only figures of a table have standings")
    return figures.standings
