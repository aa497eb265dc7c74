"""What was decided before about the same reviews, over all conferences and paper ids of a key.

Running again is an attack: another name for a conference or a paper, a score moved in its last digit or
another pool would each give the same reviews a fresh coin. So reviews are recognized by who wrote them and by
their scores, whatever they are called. What comes back is decided with everything in mind that was revealed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite, sqrt

import numpy as np
from scipy.special import bdtrc, gammainc

from blindcal.amendments import Earlier, amended_case
from blindcal.cases import PaperCase
from blindcal.exact import ExactPolicy
from blindcal.pools import OUTSIDER
from blindcal.records import Ledger, PaperRecord, Record, Reference

# Scores are the same within this share of the standard deviation of all scores, or of the largest score.
TOLERANCE, DIGITS = 0.01, 1e-6
# Two conferences have the same scores under other names if chance would do that less often than this.
BY_CHANCE, FEWEST = 1e-6, 8
# The share of look-alikes among ours is an estimate: so many standard errors more may be found elsewhere.
_SLACK = 5.0
Truth = Mapping[str, tuple[str, ...]]
"""The true reviewers of each paper by slot: CONFIDENTIAL."""


@dataclass(frozen=True, eq=False)
class Past:
    """The decisions of a ledger, each read once."""

    ledger: Ledger
    _records: dict[int, Record] = field(default_factory=dict, repr=False)
    _tables: dict[int, dict[str, ExactPolicy]] = field(default_factory=dict, repr=False)

    def record(self, index: int) -> Record:
        """The record of the release with this place in the ledger."""
        if index not in self._records:
            self._records[index] = self.ledger.record(self.ledger.releases[index])
        return self._records[index]

    def tables(self, index: int) -> dict[str, ExactPolicy]:
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

    def decision(self, reference: Reference, paper: tuple[str, str]) -> Earlier:
        """A decision as it was seen; `paper` is the conference and the id for which it is looked up."""
        conference, number, name = reference
        index = next(
            i
            for i, release in enumerate(self.ledger.releases)
            if (release.conference, release.number) == (conference, number)
        )
        record, found = self.record(index), self.tossed[reference]
        case = amended_case(recorded_case(found, record.bar), self.decisions(found.earlier, conference, name))
        sure = (conference, name) == paper
        return Earlier(case, self.tables(index)[name], found.accepted, sure)

    def decisions(self, references: Iterable[Reference], conference: str, paper: str) -> list[Earlier]:
        """The decisions behind the references of one paper."""
        return [self.decision(reference, (conference, paper)) for reference in references]


def recorded_case(paper: PaperRecord, bar: float) -> PaperCase:
    """The public case of a paper as it was recorded."""
    pool, grid = paper.public["pool"], paper.public["grid"]
    return PaperCase(
        paper=paper.paper,
        scores=tuple(paper.public["scores"]),
        candidates=tuple(row[0] for row in pool),
        inclusion=tuple(row[1] for row in pool),
        parameters=tuple(tuple(row[2:]) for row in pool),
        bar=bar,
        grid=None if grid is None else tuple(grid),
    )


def nearness(cases: Sequence[PaperCase]) -> float:
    """Scores that differ by no more than this are the same."""
    scores = np.array([score for case in cases for score in case.scores])
    with np.errstate(over="ignore", invalid="ignore"):
        near = max(TOLERANCE * float(np.std(scores)), DIGITS * float(np.abs(scores).max()))
    return near if isfinite(near) else 0.0


def look_up(
    past: Past, conference: str, cases: Sequence[PaperCase], truth: Truth, near: float
) -> dict[str, tuple[Reference, ...]]:
    """For each paper the decisions about its reviews, oldest first: those of its own id in the conference,
    and those of any paper with the same reviews. Papers without any are left out."""
    lookalikes = _came_back(past, conference, cases, truth, near)
    found = {}
    for case in cases:
        wanted = lookalikes.get(case.paper, set())
        mine = [ref for ref in past.tossed if (ref[0], ref[2]) == (conference, case.paper)]
        known = {other for ref in (*mine, *wanted) for other in (ref, *past.tossed[ref].earlier)}
        if known:
            found[case.paper] = tuple(ref for ref in past.tossed if ref in known)
    return found


def _came_back(
    past: Past, conference: str, cases: Sequence[PaperCase], truth: Truth, near: float
) -> dict[str, set[Reference]]:
    """Decisions about papers with the same reviews, under any name but their own.

    Where half of the papers of another conference's come back, the rest go by their ids.
    """
    by_author: dict[str, list[Reference]] = {}
    for ref, paper in past.tossed.items():
        for name in set(paper.reviewers):
            by_author.setdefault(name, []).append(ref)
    found: dict[str, set[Reference]] = {}
    for case in cases:
        who = truth[case.paper]
        looked_at = {ref for name in {*who, OUTSIDER} for ref in by_author.get(name, [])}
        looked_at = set(past.tossed) if set(who) == {OUTSIDER} else looked_at
        same = {
            ref
            for ref in looked_at
            if (ref[0], ref[2]) != (conference, case.paper)
            and same_reviews(past.tossed[ref], case.scores, who, near)
        }
        if same:
            found[case.paper] = same
    return _by_id_too(past, conference, cases, found)


def _by_id_too(
    past: Past, conference: str, cases: Sequence[PaperCase], found: dict[str, set[Reference]]
) -> dict[str, set[Reference]]:
    others = Counter(name for refs in found.values() for name in {ref[0] for ref in refs} - {conference})
    copied = {name for name, count in others.items() if 2 * count >= len(cases)}
    for ref in past.tossed:
        if ref[0] in copied and any(case.paper == ref[2] for case in cases):
            found.setdefault(ref[2], set()).add(ref)
    return found


def same_reviews(paper: PaperRecord, scores: Sequence[float], reviewers: Sequence[str], near: float) -> bool:
    """Whether these are the reviews of a decided paper; whom a pool did not know may be anyone."""
    if len(scores) != len(paper.reviewers):
        return False
    then = _apart(paper.public["scores"], paper.reviewers)
    now = _apart(scores, reviewers)
    shared = then.keys() & now.keys() - {OUTSIDER}
    left = [
        sorted(score for name, ones in side.items() if name not in shared for score in ones)
        for side in (then, now)
    ]
    unnamed = [len(side.get(OUTSIDER, ())) for side in (then, now)]
    named = [len(part) - count for part, count in zip(left, unnamed, strict=True)]
    pairs = [*zip(*left, strict=True), *((then[name][0], now[name][0]) for name in shared)]
    return (
        named[0] <= unnamed[1]
        and named[1] <= unnamed[0]
        and all(abs(one - other) <= near for one, other in pairs)
    )


def _apart(scores: Sequence[float], reviewers: Sequence[str]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for score, name in zip(scores, reviewers, strict=True):
        found.setdefault(name, []).append(score)
    return found


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
