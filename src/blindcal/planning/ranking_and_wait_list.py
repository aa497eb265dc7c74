"""Ranking: from private decisions to an exact number of accepted papers and a wait list.

Papers are ranked by P(right to accept | scores, private decision), rounded to `DECIMALS`; ties go to the
better mean score, then to the paper whose id comes first. Nothing else enters: no coin, no true reviewer. So
the list is a function of the private decisions and of public information. By the data-processing inequality
it reveals no more than they do.

A plan needs the expected errors of such a list. Private decisions are independent from paper to paper, so the
number of papers above a given one is a sum of independent Bernoulli variables: its distribution is computed
exactly, not simulated, and the real coins never enter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf

import numpy as np
from numpy.typing import NDArray

from blindcal.checks import Array, Integers
from blindcal.io.cells import natural_key
from blindcal.planning.expected_errors import Figures
from blindcal.planning.request import Quota

DECIMALS = 6
ACCEPT, WAIT, REJECT = "accept", "wait list", "reject"
Rank = tuple[float, Fraction, tuple[tuple[str | int, ...], str]]
"""The key that papers are sorted by, the best first: favor and mean score, both negated, and the id."""
RankPair = tuple[Rank, Rank]
"""The ranks of a paper if its private decision is to reject, and if it is to accept."""
Cuts = tuple[Rank | None, Rank | None]
"""The best paper that is not accepted, and the best that does not wait either; None if there is none."""
TOP: Rank = (-inf, Fraction(0), natural_key(""))
"""Above every paper: the cut of a track that accepts no paper, not even one that is added later."""


def rank(paper: str, scores: Sequence[float], favor: float) -> Rank:
    """The rank of a paper. Scores are exact decimals as written: a mean in floating point could break a tie.

    >>> rank("p2", [3.0, 4.0], 0.81) < rank("p1", [9.0, 9.0], 0.8)
    True
    >>> rank("p1", [3.0, 5.0], 0.8) < rank("p2", [4.0, 4.0], 0.8 + 1e-12) < rank("p10", [4.0, 4.0], 0.8)
    True
    """
    mean = sum((Fraction(str(score)) for score in scores), Fraction(0)) / len(scores)
    return -round(favor, DECIMALS), -mean, natural_key(paper)


def both_ranks(paper: str, scores: Sequence[float], figures: Figures) -> RankPair:
    """The ranks of a paper after each of the two decisions."""
    rejected, accepted = figures.standings
    return rank(paper, scores, rejected.favor), rank(paper, scores, accepted.favor)


def cuts(ranks: Sequence[Rank], accept: int, wait_list: int) -> Cuts:
    """The cuts of a list that accepts this many papers and has this many more on the wait list."""
    order = sorted(ranks)

    first, second = (
        TOP if places == 0 else order[places] if places < len(order) else None
        for places in (accept, accept + wait_list)
    )
    return first, second


def cuts_by_track(ranks: Sequence[Rank], tracks: Sequence[str], quota: Quota) -> dict[str, Cuts]:
    """The cuts of each track, or of the conference."""
    pairs = list(zip(ranks, tracks, strict=True))
    return {
        group: cuts([rank for rank, track in pairs if track == group], *quota.of(group))
        for group in quota.groups
    }


def list_decision(own: Rank, cut: Cuts) -> str:
    """Whether a paper is accepted, waits or is rejected: it must rank above the best paper after the cut."""
    first, second = cut
    if first is None or own < first:
        return ACCEPT
    return WAIT if second is None or own < second else REJECT


def cuts_json(cuts_by_track: Mapping[str, Cuts]) -> dict[str, list[list[str] | None]]:
    """Cuts as a record has them: numbers as exact text, because later papers are compared with them."""
    return {
        track: [None if rank is None else [repr(-rank[0]), str(-rank[1]), rank[2][1]] for rank in cuts]
        for track, cuts in cuts_by_track.items()
    }


def cuts_from_json(content: Mapping[str, Sequence[Sequence[str] | None]]) -> dict[str, Cuts]:
    """The cuts of a record."""

    def read(rank: Sequence[str] | None) -> Rank | None:
        return None if rank is None else (-float(rank[0]), -Fraction(rank[1]), natural_key(rank[2]))

    return {track: (read(cuts[0]), read(cuts[1])) for track, cuts in content.items()}


def listed_figures(
    figures: Sequence[Figures], ranks: Sequence[RankPair], tracks: Sequence[str], places: Mapping[str, int]
) -> list[Figures]:
    """The expected errors of a list with these `places` in each track, over the public belief.

    An amended list keeps the cuts of the first one, which follow from private decisions: its figures are
    those of a list of these papers with as many places, ranked as a whole. A paper on the wait list counts as
    not accepted.
    """
    chances = np.empty((len(figures), 2))
    for group in {*tracks}:
        members = [index for index, track in enumerate(tracks) if track == group]
        accept = [figures[index].standings[1].chance for index in members]
        pairs = [ranks[index] for index in members]
        chances[members] = acceptance_probabilities(pairs, accept, places.get(group, 0))
    both = zip(figures, chances.tolist(), strict=True)
    return [_listed_figures_of(paper, chance) for paper, chance in both]


def _listed_figures_of(figures: Figures, passed: Sequence[float]) -> Figures:
    """One paper's expected errors if it is accepted with these chances after each private decision."""
    both = list(zip(figures.standings, passed, strict=True))
    wrong = sum(s.chance * (p * (1 - s.favor) + (1 - p) * s.favor) for s, p in both)
    against = sum(s.chance * (p * s.evidence_against + (1 - p) * s.evidence_for) for s, p in both)
    return replace(figures, wrong=wrong, against=against)


def with_raw_decision(figures: Figures, raw_accept: float) -> Figures:
    """The expected errors of a paper that mean scores would accept with this chance."""
    right = sum(standing.chance * standing.favor for standing in figures.standings)
    return replace(figures, wrong_raw=raw_accept * (1 - right) + (1 - raw_accept) * right)


def acceptance_probabilities(ranks: Sequence[RankPair], accept_chance: Sequence[float], places: int) -> Array:
    """`[paper, decision]`: the chance of being among the best `places`, given the paper's own decision.

    Every paper has two positions in one common order, of which its private decision selects one. Halving that
    order recursively shares the convolutions: within a half, all papers outside it are decided once.
    """
    order = sorted(
        (rank, paper, decision) for paper, pair in enumerate(ranks) for decision, rank in enumerate(pair)
    )
    who = np.array([paper for _, paper, _ in order], dtype=np.int64)
    what = np.array([decision for _, _, decision in order], dtype=np.int64)
    position = np.empty((len(ranks), 2), dtype=np.int64)
    position[who, what] = np.arange(who.size)
    chances, known = np.empty(who.size), (who, position, np.asarray(accept_chance))
    # The distribution of how many papers rank above, before any is counted. Counts of `places` and more are
    # dropped: a paper below so many is not accepted.
    none_above = np.eye(1, places)[0]
    _fill_chances((0, who.size), np.arange(len(ranks)), none_above, known, chances)
    return chances[position]


def _fill_chances(
    part: tuple[int, int],
    undecided: Integers,
    counts: Array,
    drawn: tuple[Integers, Integers, Array],
    chances: Array,
) -> None:
    """Fills `chances` for the positions `part` of the common order.

    `counts[m]` is the probability that m papers rank above them, among the papers that rank above all of
    these positions or below all of them; the other papers are `undecided`.
    """
    low, high = part
    who, at, accept = drawn
    if high - low <= 1 or not counts.any():
        chances[low:high] = counts.sum()
        return
    middle = (low + high) // 2
    for half in ((low, middle), (middle, high)):
        inside = np.unique(who[slice(*half)])
        rest = np.setdiff1d(undecided, inside, assume_unique=True)
        above = _with_papers_above(counts, at[rest] < half[0], accept[rest])
        _fill_chances(half, inside, above, drawn, chances)


def _with_papers_above(counts: Array, above: NDArray[np.bool_], accept: Array) -> Array:
    """The counts with more papers, by which of their two decisions rank them `above` and their chances."""
    rejected, accepted = above.T
    surely = min(int((rejected & accepted).sum()), counts.size)
    counts = np.concatenate([np.zeros(surely), counts[: counts.size - surely]])
    for chance in np.concatenate([accept[accepted & ~rejected], 1.0 - accept[rejected & ~accepted]]):
        moved = counts[:-1] * chance
        counts = counts * (1.0 - chance)
        counts[1:] += moved
    return counts
