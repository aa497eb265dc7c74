"""Papers that seem to be others under another id, which nothing but their reviews can tell.

One paper under several ids is drawn several times. A certificate is about one decision; many independent
decisions about the same reviews make a guess likelier although each promised no rise. So duplicates are
refused before anything is drawn. Which papers look like duplicates depends on who reviewed them: the message
is for the chair alone, and nothing published depends on it.

Equal scores alone do not show a duplicate: on a scale of ten grades most papers share their scores with
another. Two papers are duplicates if they have the same reviewers, each of whom gave both the same score.
With two reviews or more they are always refused, because few pairs have the same reviewers if papers are
assigned one by one. If many pairs have the same reviewers (a jury, fixed panels, a small committee with two
reviews a paper), the chair looks at the papers that are named and confirms that they are different.

A single review hardly identifies a paper, since one reviewer gives many papers a 7. Such papers are refused
only if there are twenty times as many such pairs as expected by chance: by Markov's inequality, chance causes
that in at most one conference of twenty.

A whole conference under new ids, with every score moved a little, would be drawn a second time too. So the
new papers of an amendment are compared with decided ones, one to one: by their reviewers, by most reviewers
and near scores, and by near scores alone if reviewers have other names. Decided papers resemble each other as
often as honest new papers resemble them, because both were assigned and scored in one way. A run is stopped
if so many more resemble decided ones that chance would do it in one amendment of a thousand at most. It is
also stopped if most papers of the first release are gone, and more new ones than half of them came.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import comb, inf
from typing import NamedTuple

import numpy as np
from scipy.special import betaln

from blindcal.checks import Array
from blindcal.deciding.amend import score_tolerance
from blindcal.deciding.ledger import Ledger
from blindcal.errors import RefusedError
from blindcal.io.cells import count
from blindcal.pools.candidates import OUTSIDER
from blindcal.posterior.conference import Conference, TrueReviewers
from blindcal.reviews import Reviews

# How often, at most, different papers with a single review are refused.
_FALSE_ALARMS = 0.05
# How many pairs of papers a message names.
_MOST_NAMED = 5


def refuse_duplicates(reviews: Reviews, decided: Collection[str] = ()) -> None:
    """Refuses a paper that was not `decided` before and seems to be another paper under a second id."""
    pairs = [pair for pair in duplicates(reviews) if not {*pair} <= {*decided}]
    if pairs:
        named = ", ".join(f"{first} and {other}" for first, other in pairs[:_MOST_NAMED])
        more = f" and {len(pairs) - _MOST_NAMED:,} more pairs" if len(pairs) > _MOST_NAMED else ""
        raise RefusedError(
            "CONFIDENTIAL, for the chair alone: some papers have the same reviewers, and the same score from "
            f"each of them ({named}{more}). One paper under several ids would be decided several times, and "
            "that reveals its reviewers: keep one of its ids, and give the others as `withdrawn`. If these "
            "are different papers, as with a jury or fixed panels, give `distinct_papers`"
        )


def duplicates(reviews: Reviews) -> list[tuple[str, str]]:
    """Pairs of ids that seem to be one paper. CONFIDENTIAL: they depend on who reviewed what."""
    near, ends = score_tolerance(reviews.score), np.flatnonzero(np.diff(reviews.paper)) + 1
    scores, panels = np.split(reviews.score, ends), dict[tuple[int, ...], list[int]]()
    for paper, who in enumerate(np.split(reviews.reviewer, ends)):
        panels.setdefault(tuple(who.tolist()), []).append(paper)
    pairs = [
        (first, other)
        for papers in panels.values()
        for first, other in combinations(papers, 2)
        if np.abs(scores[first] - scores[other]).max() <= near
    ]
    single_pairs = sum(scores[first].size == 1 for first, _ in pairs)
    same_panel_pairs = sum(comb(len(papers), 2) for who, papers in panels.items() if len(who) == 1)
    significant = single_pairs > 0 and (
        same_panel_pairs * _repeated_by_chance(reviews, near) < _FALSE_ALARMS * single_pairs
    )
    return [
        (reviews.papers[first], reviews.papers[other])
        for first, other in pairs
        if scores[first].size > 1 or significant
    ]


def _repeated_by_chance(reviews: Reviews, near: float) -> float:
    """The chance that two different reviewers give the same score.

    Pairs of one reviewer are left out, as duplicates would inflate them. One success is added to the count
    (Laplace), because a few pairs without a repeated score do not show that none would repeat.
    """
    order = np.argsort(reviews.reviewer, kind="stable")
    ends = np.flatnonzero(np.diff(reviews.reviewer[order])) + 1
    each = np.split(reviews.score[order], ends)
    same = _equal_pairs(reviews.score, near) - sum(_equal_pairs(scores, near) for scores in each)
    pairs = comb(reviews.score.size, 2) - sum(comb(scores.size, 2) for scores in each)
    return (same + 1) / (pairs + 1)


def _equal_pairs(scores: Array, near: float) -> int:
    """The number of pairs of these scores that are equal."""
    rising = np.sort(scores)
    return int((np.searchsorted(rising, rising + near, "right") - np.arange(1, rising.size + 1)).sum())


# --- New papers that resemble decided ones.

# How often honest amendments are stopped, at most, by all comparisons together.
_STOPPED = 1e-3
# Near scores, in standard deviations of all scores: of the same reviewers, and of any.
_NEAR, _NEAR_ALONE = 0.5, (0.02, 0.1, 0.3)


class _Compared(NamedTuple):
    """A paper as it is compared."""

    paper: str
    scores: tuple[float, ...]  # all scores, rising
    by: Mapping[str, float]  # the score that each known reviewer gave


_Pairs = Callable[[list[_Compared], list[_Compared]], Iterator[tuple[int, int]]]


@dataclass(frozen=True)
class Resemblance:
    """How many new papers resemble decided ones, one to one, by one comparison. CONFIDENTIAL."""

    by: str  # what is compared
    pairs: tuple[tuple[str, str], ...]  # new papers with the decided ones that they resemble
    new: int  # how many new papers there are
    alike: int  # how many decided papers resemble another decided one
    decided: int  # of so many

    @property
    def chance(self) -> float:
        """The chance of at least so many among new papers that are as the decided ones.

        A beta-binomial sum: before the decided papers are seen, every rate is equally likely (Laplace).

        >>> round(Resemblance("reviewers", (("q", "p"),), 1, 0, 9).chance, 12)
        0.090909090909
        """
        more = np.arange(len(self.pairs), self.new + 1)
        yes, no = self.alike + 1, self.decided - self.alike + 1
        ways = -betaln(more + 1, self.new - more + 1) - np.log(self.new + 1)
        return float(np.exp(ways + betaln(yes + more, no + self.new - more) - betaln(yes, no)).sum())


def refuse_drawn_again(past: Ledger, conference: Conference, truth: TrueReviewers) -> None:
    """Refuses an amendment with many new papers that seem to be decided ones under other ids."""
    if not past.releases:
        return
    comparisons = resemblances(past, conference, truth)
    worst = min(comparisons, key=lambda comparison: comparison.chance, default=None)
    advice = (
        "A conference under other ids would be drawn a second time, and that reveals its reviewers: keep the "
        "ids that were decided. If these are different papers, give `distinct_papers`"
    )
    if worst is not None and worst.chance * len(comparisons) < _STOPPED:
        named = ", ".join(f"{new} and {old}" for new, old in worst.pairs[:_MOST_NAMED])
        raise RefusedError(
            f"CONFIDENTIAL, for the chair alone: {len(worst.pairs):,} of {count(worst.new, 'new paper')} "
            f"resemble decided ones by {worst.by} ({named}, ...). {advice}"
        )
    first, now = {paper.paper for paper in past.record(1).papers}, {case.paper for case in conference.cases}
    if 2 * len(first - now) > len(first) and 2 * len(now - first) > len(first):
        raise RefusedError(
            f"{len(first - now):,} of {count(len(first), 'paper')} of the first release are gone, and "
            f"{count(len(now - first), 'other paper')} came: a key decides one conference. {advice}"
        )


def resemblances(past: Ledger, conference: Conference, truth: TrueReviewers) -> list[Resemblance]:
    """What each comparison finds between the new papers of a conference and those that were decided."""
    decided = [
        _compared(name, paper.public["scores"], paper.reviewers) for name, paper in past.latest.items()
    ]
    new = [
        _compared(case.paper, case.scores, truth[case.paper])
        for case in conference.cases
        if case.paper not in past.latest
    ]
    if not new:
        return []
    deviation = float(np.std([score for paper in decided for score in paper.scores]))
    comparisons: list[tuple[str, _Pairs]] = [
        ("their reviewers", partial(_pairs_by_reviewers, all_of_them=True, near=inf)),
        (
            "most reviewers and near scores",
            partial(_pairs_by_reviewers, all_of_them=False, near=_NEAR * deviation),
        ),
        *(("their scores", partial(_pairs_by_scores, near=near * deviation)) for near in _NEAR_ALONE),
    ]
    return [_resemblance(by, pairs, new, decided) for by, pairs in comparisons]


def _compared(paper: str, scores: Sequence[float], reviewers: Sequence[str]) -> _Compared:
    by = {name: score for name, score in zip(reviewers, scores, strict=True) if name != OUTSIDER}
    return _Compared(paper, tuple(sorted(scores)), by)


def _resemblance(by: str, pairs: _Pairs, new: list[_Compared], decided: list[_Compared]) -> Resemblance:
    # Loaded when an amendment needs them: every process that helps would load them too.
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    alike, edges = len({i for i, j in pairs(decided, decided) if i != j}), [*pairs(new, decided)]
    rows, columns = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    graph = coo_array((np.ones(len(edges), np.int8), (rows, columns)), (len(new), len(decided))).tocsr()
    # One to one, as several papers of one panel may resemble one decided paper.
    partner = maximum_bipartite_matching(graph, perm_type="column")
    matched = ((new[i].paper, decided[j].paper) for i, j in enumerate(partner.tolist()) if j >= 0)
    return Resemblance(by, tuple(matched), len(new), alike, len(decided))


def _pairs_by_reviewers(
    papers: list[_Compared], others: list[_Compared], all_of_them: bool, near: float
) -> Iterator[tuple[int, int]]:
    """The pairs of papers that share all reviewers, or more than half, and whose scores of these are near."""
    of_reviewer = defaultdict(list)
    for other, them in enumerate(others):
        for name in them.by:
            of_reviewer[name].append(other)
    for index, paper in enumerate(papers):
        shared = Counter(other for name in paper.by for other in of_reviewer[name])
        for other, number in shared.items():
            theirs = others[other].by
            most = max(len(paper.by), len(theirs))
            if (number == most if all_of_them else 2 * number > most) and all(
                abs(score - theirs[name]) <= near for name, score in paper.by.items() if name in theirs
            ):
                yield index, other


def _pairs_by_scores(
    papers: list[_Compared], others: list[_Compared], near: float
) -> Iterator[tuple[int, int]]:
    """The pairs of papers whose rising scores are near, one by one."""
    from scipy.spatial import KDTree

    for size in {len(paper.scores) for paper in papers}:
        mine, theirs = (
            [index for index, paper in enumerate(some) if len(paper.scores) == size]
            for some in (papers, others)
        )
        if theirs:
            tree = KDTree([others[index].scores for index in theirs])
            close = tree.query_ball_point([papers[index].scores for index in mine], near, p=np.inf)
            yield from ((i, theirs[j]) for i, some in zip(mine, close, strict=True) for j in some)
