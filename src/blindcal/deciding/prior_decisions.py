"""What was decided before about the same reviews, over all conferences and paper ids of a key.

Running again is an attack: another name for a conference or a paper, a score moved in its last digit or
another pool would each give the same reviews a fresh coin. So reviews are recognized by who wrote them and by
their scores, whatever they are called. What comes back gets no second coin: public information decides it.

One paper under several ids: each id gets a coin of its own, and the coins together name the reviewers.

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

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from math import comb, isfinite, sqrt

import numpy as np
from scipy.special import bdtrc, gammainc

from blindcal.assignment.candidates import OUTSIDER
from blindcal.certify.exact import ExactPolicy, Tables
from blindcal.checks import Array
from blindcal.deciding.ledger import Ledger, PaperRecord, Record, Reference
from blindcal.errors import RefusedError
from blindcal.posterior.conference import Level, Truth, level_of
from blindcal.posterior.paper import PaperCase
from blindcal.reviews import Reviews

# Scores are the same within this share of the standard deviation of all scores, or of the largest score.
TOLERANCE, DIGITS = 0.01, 1e-6
# Two conferences have the same scores under other names if chance would do that less often than this.
BY_CHANCE, FEWEST = 1e-6, 8
# The share of look-alikes among ours is an estimate: this many standard errors more may be found elsewhere.
_SLACK = 5.0


@dataclass(frozen=True)
class Decided:
    """A decision that was made: the public case of that time, its table and its outcome."""

    case: PaperCase
    policy: ExactPolicy
    accepted: bool


@dataclass(frozen=True, eq=False)
class Past:
    """The decisions of a ledger, each read once."""

    ledger: Ledger
    _records: dict[int, Record] = field(default_factory=dict, repr=False)
    _tables: dict[int, Tables] = field(default_factory=dict, repr=False)

    def record(self, index: int) -> Record:
        """The record of the release with this place in the ledger."""
        if index not in self._records:
            self._records[index] = self.ledger.record(self.ledger.releases[index])
        return self._records[index]

    def tables(self, index: int) -> Tables:
        """The tables that a release sampled."""
        if index not in self._tables:
            self._tables[index] = self.ledger.tables(self.record(index))
        return self._tables[index]

    def before(self, index: int) -> Past:
        """What was known before a release."""
        return Past(replace(self.ledger, releases=self.ledger.releases[:index]), self._records, self._tables)

    def of(self, conference: str) -> list[Record]:
        """The records of one conference, oldest first."""
        return [
            self.record(index)
            for index, release in enumerate(self.ledger.releases)
            if release.conference == conference
        ]

    def latest(self, conference: str) -> dict[str, PaperRecord]:
        """The latest record of every paper of a conference, those withdrawn since included."""
        return {paper.paper: paper for record in self.of(conference) for paper in record.papers}

    @cached_property
    def tossed(self) -> dict[Reference, PaperRecord]:
        """Every decision that was tossed, oldest first."""
        return {
            (record.conference, record.release, paper.paper): paper
            for record in map(self.record, range(len(self.ledger.releases)))
            for paper in record.papers
            if paper.release == record.release
        }

    def decision(self, reference: Reference) -> Decided:
        """A decision as it was made."""
        conference, number, name = reference
        index = next(
            i
            for i, release in enumerate(self.ledger.releases)
            if (release.conference, release.number) == (conference, number)
        )
        paper = self.tossed[reference]
        case = recorded_case(paper, self.record(index).bar)
        return Decided(case, self.tables(index)[name], paper.accepted)


def recorded_case(paper: PaperRecord, bar: Level) -> PaperCase:
    """The public case of a paper as it was recorded."""
    pool, grid, track, sets = (paper.public[name] for name in ("pool", "grid", "track", "sets"))
    return PaperCase(
        paper=paper.paper,
        scores=tuple(paper.public["scores"]),
        candidates=tuple(row[0] for row in pool),
        inclusion=tuple(row[1] for row in pool),
        parameters=tuple(tuple(row[2:]) for row in pool),
        bar=level_of(bar, track),
        grid=None if grid is None else tuple(grid),
        track=track,
        sets=None if sets is None else tuple((tuple(who), number) for who, number in sets),
        settled=bool(paper.earlier),
    )


def nearness(past: Past, cases: Sequence[PaperCase]) -> float:
    """Scores that differ by no more than this are the same, by the widest scale, of now or of then."""
    tables = [[score for case in cases for score in case.scores]]
    tables += [
        [score for paper in record.papers for score in paper.public["scores"]]
        for record in map(past.record, range(len(past.ledger.releases)))
    ]
    return max(map(score_tolerance, tables))


def score_tolerance(scores: Sequence[float] | Array) -> float:
    """Two of these scores that differ by no more than this are the same."""
    with np.errstate(over="ignore", invalid="ignore"):
        near = max(TOLERANCE * float(np.std(scores)), DIGITS * float(np.abs(scores).max()))
    return near if isfinite(near) else 0.0


def look_up(
    past: Past,
    conference: str,
    cases: Sequence[PaperCase],
    present: Collection[str],
    near: float,
    *,
    others: bool = False,
) -> dict[str, tuple[Reference, ...]]:
    """For each paper the decisions about its reviews, oldest first: those of its own id in the conference,
    and those of any paper whose scores are the same. Papers without any are left out.

    Nothing but public data is looked at, so what is decided and published does not depend on who wrote what.
    A review may have been added or dropped where the earlier paper is not `present` any more. Other
    conferences count only where the chair says that papers come back (`others`).
    """
    alike = {
        case.paper: {
            ref
            for ref, paper in past.tossed.items()
            if (ref[0], ref[2]) != (conference, case.paper)
            and (others or ref[0] == conference)
            and _same_scores_of(paper, case, near, whole=ref[0] == conference and ref[2] in present)
        }
        for case in cases
    }
    alike = _by_id_too(past, conference, cases, alike) if others else alike
    found = {}
    for case in cases:
        mine = [ref for ref in past.tossed if (ref[0], ref[2]) == (conference, case.paper)]
        heads = (*mine, *alike[case.paper])
        known = {other for ref in heads for other in (ref, *past.tossed[ref].earlier)}
        if known:
            found[case.paper] = tuple(ref for ref in past.tossed if ref in known)
    return found


def _same_scores_of(paper: PaperRecord, case: PaperCase, near: float, *, whole: bool) -> bool:
    nobody = (OUTSIDER,)
    then, now = paper.public["scores"], case.scores
    if whole and len(then) != len(now):
        return False
    return same_reviews(then, nobody * len(then), now, nobody * len(now), near)


def _by_id_too(
    past: Past, conference: str, cases: Sequence[PaperCase], found: dict[str, set[Reference]]
) -> dict[str, set[Reference]]:
    """Where half of the papers of another conference's come back, the rest go by their ids."""
    back = Counter(name for refs in found.values() for name in {ref[0] for ref in refs} - {conference})
    copied = {name for name, count in back.items() if 2 * count >= len(cases)}
    for ref in past.tossed:
        if ref[0] in copied and ref[2] in found:
            found[ref[2]].add(ref)
    return found


def came_back(
    past: Past, conference: str, cases: Sequence[PaperCase], truth: Truth, near: float
) -> list[str]:
    """The papers whose reviews another conference of the key decided: the same people, the same scores."""
    by_author: dict[str, list[PaperRecord]] = {}
    for ref, paper in past.tossed.items():
        for name in set(paper.reviewers) if ref[0] != conference else ():
            by_author.setdefault(name, []).append(paper)
    return [
        case.paper
        for case in cases
        if any(
            same_reviews(paper.public["scores"], paper.reviewers, case.scores, truth[case.paper], near)
            for name in {*truth[case.paper], OUTSIDER}
            for paper in by_author.get(name, ())
        )
    ]


def same_reviews(
    then: Sequence[float],
    authors_then: Sequence[str],
    now: Sequence[float],
    authors_now: Sequence[str],
    near: float,
) -> bool:
    """Whether one paper's reviews are the other's, or half of them or more; whom a pool did not know may be
    anyone.

    >>> same_reviews((1.0, 3.0), ("a", "b"), (3.0, 1.0), ("b", "a"), 0.0)
    True
    >>> same_reviews((1.0, 3.0), ("a", "b"), (3.0,), ("b",), 0.0), same_reviews((1.0,), "a", (1.0,), "b", 0.0)
    (True, False)
    """
    sides = [list(zip(authors_then, then, strict=True)), list(zip(authors_now, now, strict=True))]
    few, many = sorted(sides, key=len)
    if 2 * len(few) < len(many):
        return False
    # Those who are named first, so that whoever may be anyone takes what they leave.
    return _matched(sorted(few, key=lambda one: one[0] == OUTSIDER), many, near)


def _matched(few: Sequence[tuple[str, float]], many: Sequence[tuple[str, float]], near: float) -> bool:
    """Whether every one of the few has a partner of its own among the many."""
    if not few:
        return True
    (name, score), *rest = few
    return any(
        abs(score - other[1]) <= near
        and (name == other[0] or OUTSIDER in (name, other[0]))
        and _matched(rest, [*many[:index], *many[index + 1 :]], near)
        for index, other in enumerate(many)
    )


def renamed(past: Past, conference: str, cases: Sequence[PaperCase], near: float) -> str | None:
    """The other conference whose scores these are, beyond chance, whoever is said to have written them."""
    mine = Counter(_rounded(case.scores, near) for case in cases)
    for record in map(past.record, range(len(past.ledger.releases))):
        theirs = Counter(_rounded(paper.public["scores"], near) for paper in record.papers)
        if record.conference != conference and same_scores(mine, theirs):
            return record.conference
    return None


def _rounded(scores: Sequence[float], near: float) -> tuple[float, ...]:
    return tuple(sorted(round(score / near) if near > 0 else score for score in scores))


def same_scores(mine: Counter[tuple[float, ...]], theirs: Counter[tuple[float, ...]]) -> bool:
    """Whether two conferences have the same papers' scores more than chance would make it.

    Either most of ours are found there, far more than would be if papers were as alike between the
    conferences as within ours; or, on a coarse scale where every paper is found, the counts agree too well
    (chi-squared).
    """
    ours, others = mine.total(), theirs.total()
    if ours < FEWEST or len(mine) < FEWEST:
        return False
    found = sum(count for scores, count in mine.items() if scores in theirs)
    alike = max(1, sum(count for count in mine.values() if count > 1)) / ours
    chance = min(1.0, (alike + _SLACK * sqrt(alike * (1 - alike) / ours)) * max(1.0, others / ours))
    ratio = sqrt(others / ours)
    distance = sum(
        (mine[scores] * ratio - theirs[scores] / ratio) ** 2 / (mine[scores] + theirs[scores])
        for scores in mine.keys() | theirs.keys()
    )
    freedom = len(mine.keys() | theirs.keys()) - 1
    contained = 2 * found >= ours and bdtrc(found - 1, ours, chance) < BY_CHANCE
    return bool(contained or gammainc(freedom / 2, distance / 2) < BY_CHANCE)


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
