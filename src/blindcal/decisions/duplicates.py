"""One paper under several ids: each id gets a coin of its own, and the coins together name the reviewers.

A certificate says what one decision reveals: twelve independent ones about the same reviews raised a guess
from .39 to .59 although each of them promised no rise. So such papers are refused before any coin is tossed.
What is found depends on who reviewed what: it is for the chair alone, and nothing published depends on it.

Equal scores alone are no sign: on a scale of ten grades most papers share theirs with another. The sign is
that two papers have the same reviewers, each of whom gave both the same score. With two reviews or more that
is always refused: if papers are assigned one by one, few pairs even have the same reviewers. Of 200 made-up
conferences of 180 different papers on ten grades none was refused with three of 60 reviewers each, and 45
with two. If many pairs have the same reviewers (a jury, fixed panels, a small committee: 128 of 200 with 60
papers and two of 12), the chair looks at the papers that are named and says that they are different.

A single review is next to nothing to be recognized by, since one reviewer gives many papers a 7. Such papers
are refused only if there are twenty times as many such pairs as chance makes: by Markov's inequality it does
that in at most one conference of twenty.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import combinations
from math import comb

import numpy as np

from blindcal.checks import Array
from blindcal.decisions.histories import score_tolerance
from blindcal.errors import RefusedError
from blindcal.reviews import Reviews

# How often, at most, different papers of one review are refused.
_FALSE_ALARMS = 0.05
# How many pairs of papers a message names.
_SHOWN = 5


def refuse_duplicates(reviews: Reviews, decided: Collection[str] = ()) -> None:
    """A `RefusedError` if a paper that was not `decided` before seems to be another one under a second id."""
    pairs = [pair for pair in duplicates(reviews) if not {*pair} <= {*decided}]
    if pairs:
        named = ", ".join(f"{one} and {other}" for one, other in pairs[:_SHOWN])
        more = f" and {len(pairs) - _SHOWN:,} more pairs" if len(pairs) > _SHOWN else ""
        raise RefusedError(
            "CONFIDENTIAL, for the chair alone: some papers have the same reviewers, and the same score from "
            f"each of them ({named}{more}). One paper under several ids would be decided several times, and "
            "that reveals its reviewers: keep one of its ids, and give the others as `withdrawn`. If these "
            "are different papers, as with a jury or fixed panels, give `distinct_papers`"
        )


def duplicates(reviews: Reviews) -> list[tuple[str, str]]:
    """The pairs of papers that seem to be one under two ids. CONFIDENTIAL: they depend on who reviewed what.

    >>> rows = [("p1", "ada", 7), ("p1", "ben", 4), ("p2", "ada", 7), ("p2", "ben", 4), ("p3", "ada", 7)]
    >>> duplicates(Reviews.from_table(dict(zip(("paper", "reviewer", "score"), zip(*rows)))))
    [('p1', 'p2')]
    """
    near, ends = score_tolerance(reviews.score), np.flatnonzero(np.diff(reviews.paper)) + 1
    scores, panels = np.split(reviews.score, ends), dict[tuple[int, ...], list[int]]()
    for paper, who in enumerate(np.split(reviews.reviewer, ends)):
        panels.setdefault(tuple(who.tolist()), []).append(paper)
    pairs = [
        (one, other)
        for papers in panels.values()
        for one, other in combinations(papers, 2)
        if np.abs(scores[one] - scores[other]).max() <= near
    ]
    single = sum(scores[one].size == 1 for one, _ in pairs)
    chances = sum(comb(len(papers), 2) for who, papers in panels.items() if len(who) == 1)
    telling = chances * _repeated_by_chance(reviews, near) < _FALSE_ALARMS * single if single else False
    return [
        (reviews.papers[one], reviews.papers[other])
        for one, other in pairs
        if scores[one].size > 1 or telling
    ]


def _repeated_by_chance(reviews: Reviews, near: float) -> float:
    """How often two different reviewers give the same score: what several ids of a paper repeat is left out.
    Rounded up, since that few pairs repeat no score does not say that none would."""
    order = np.argsort(reviews.reviewer, kind="stable")
    ends = np.flatnonzero(np.diff(reviews.reviewer[order])) + 1
    each = np.split(reviews.score[order], ends)
    same = _same_scores(reviews.score, near) - sum(_same_scores(scores, near) for scores in each)
    pairs = comb(reviews.score.size, 2) - sum(comb(scores.size, 2) for scores in each)
    return (same + 1) / (pairs + 1)


def _same_scores(scores: Array, near: float) -> int:
    """In how many pairs of these scores both are the same."""
    rising = np.sort(scores)
    return int((np.searchsorted(rising, rising + near, "right") - np.arange(1, rising.size + 1)).sum())
