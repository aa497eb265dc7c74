"""Private decisions -> the final list: an exact number of papers accepted, the next ones on a wait list.

Papers are ranked by P(right to accept | scores, private decision), rounded to `DECIMALS`; ties go to the
better mean score, then to the paper whose id comes first. Nothing else enters: no coin, no true reviewer. So
the list is a function of the private decisions and of public information, and reveals no more than they do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import inf

from blindcal.cells import natural
from blindcal.plans.quotas import Quota

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
