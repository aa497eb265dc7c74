"""Amendments: what was decided before, what changed since, and what may not be decided again.

Deciding again is an attack: another name for a conference or a paper, a score changed in its last digit or
another pool would each give the same reviews a fresh coin. So reviews are recognized by their reviewers and
scores, under any name, over all conferences and paper ids of a key. Reviews that come back get no second
coin: public information decides the paper. `changes_since` says what differs from the latest release, and
`refuse_unannounced` refuses it unless the chair announced an amendment.

One paper under several ids is the same attack within a conference. A certificate is about one decision;
twelve independent decisions about the same reviews raised a guess from .39 to .59 although each promised no
rise. So duplicates are refused before anything is drawn. Which papers look like duplicates depends on who
reviewed them: the message is for the chair alone, and nothing published depends on it.

Equal scores alone do not show a duplicate: on a scale of ten grades most papers share their scores with
another. Two papers are duplicates if they have the same reviewers, each of whom gave both the same score.
With two reviews or more they are always refused, because few pairs have the same reviewers if papers are
assigned one by one. Of 200 simulated conferences of 180 different papers on ten grades, none was refused with
three of 60 reviewers per paper, and 45 with two. If many pairs have the same reviewers (a jury, fixed panels,
a small committee: 128 of 200 conferences with 60 papers and two of 12 reviewers), the chair looks at the
papers that are named and confirms that they are different.

A single review hardly identifies a paper, since one reviewer gives many papers a 7. Such papers are refused
only if there are twenty times as many such pairs as expected by chance: by Markov's inequality, chance causes
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

from blindcal.certify.exact import ExactPolicy, PolicyTables
from blindcal.checks import Array
from blindcal.deciding.key_and_coins import as_recorded, input_stamp, public_facts
from blindcal.deciding.ledger import Ledger, PaperRecord, Record, Reference
from blindcal.deciding.recorded_pools import PoolRows
from blindcal.errors import InputError, RefusedError
from blindcal.io.cells import count
from blindcal.planning.request import Request
from blindcal.pools.candidates import OUTSIDER
from blindcal.posterior.conference import Conference, TrueReviewers, track_level
from blindcal.posterior.paper import PaperCase
from blindcal.reviews import Reviews

# Scores are equal if they differ by less than this share of the standard deviation of all scores, or of the
# largest score, whichever is more.
_RELATIVE_TO_SD, _RELATIVE_TO_LARGEST = 0.01, 1e-6
# Two conferences have the same scores under other names if chance would cause that less often than this;
# with fewer papers than `FEWEST`, or fewer different ones, it cannot be told.
BY_CHANCE, FEWEST = 1e-6, 8
# The share of look-alikes in this conference is an estimate of that between conferences, which may be larger
# by this many standard errors.
_STANDARD_ERRORS = 5.0


_KINDS_OF_CHANGE = ("new", "late", "scores", "pools", "grid", "tracks", "reviewers", "returned")
# The kind of change for each public fact.
_PUBLIC_FACTS = (("scores", "scores"), ("pools", "pool"), ("grid", "grid"), ("tracks", "track"))


@dataclass(frozen=True)
class PriorDecision:
    """An earlier decision: the public case of that time, its table and its outcome."""

    case: PaperCase
    policy: ExactPolicy
    accepted: bool


@dataclass(frozen=True, eq=False)
class PriorDecisions:
    """The decisions of a ledger; each record is read once."""

    ledger: Ledger
    _records: dict[int, Record] = field(default_factory=dict, repr=False)
    _tables: dict[int, PolicyTables] = field(default_factory=dict, repr=False)

    def record(self, index: int) -> Record:
        """The record of the release with this index in the ledger."""
        if index not in self._records:
            self._records[index] = self.ledger.record(self.ledger.releases[index])
        return self._records[index]

    def tables(self, index: int) -> PolicyTables:
        """The tables that a release sampled."""
        if index not in self._tables:
            self._tables[index] = self.ledger.tables(self.record(index))
        return self._tables[index]

    def before(self, index: int) -> PriorDecisions:
        """The decisions before a release."""
        return PriorDecisions(
            replace(self.ledger, releases=self.ledger.releases[:index]), self._records, self._tables
        )

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
        """Every decision that was drawn, oldest first; a decision that stands is listed once."""
        return {
            (record.conference, record.release, paper.paper): paper
            for record in map(self.record, range(len(self.ledger.releases)))
            for paper in record.papers
            if paper.release == record.release
        }

    def decision(self, reference: Reference) -> PriorDecision:
        """A decision as it was made."""
        conference, number, name = reference
        index = next(
            i
            for i, release in enumerate(self.ledger.releases)
            if (release.conference, release.number) == (conference, number)
        )
        paper = self.tossed[reference]
        case = recorded_case(paper, self.record(index))
        return PriorDecision(case, self.tables(index)[name], paper.accepted)


@dataclass(frozen=True)
class Changes:
    """The papers that differ from the release before, by kind of change."""

    new: tuple[str, ...] = ()  # papers that were never decided
    late: tuple[str, ...] = ()  # papers with all their earlier scores and more
    scores: tuple[str, ...] = ()  # papers with other scores
    pools: tuple[str, ...] = ()  # papers with other pools or calibration
    grid: tuple[str, ...] = ()  # papers with another grid
    tracks: tuple[str, ...] = ()  # papers in another track
    reviewers: tuple[str, ...] = ()  # papers with other reviewers and the same public data
    returned: tuple[str, ...] = ()  # papers that were withdrawn and are back unchanged
    withdrawn: tuple[str, ...] = ()  # papers that are gone
    alike: tuple[str, ...] = ()  # new papers with the scores of a paper that was decided under another name
    # Whether papers with other pools or grid are decided again; else their decisions stand
    redecided: bool = False

    @cached_property
    def settled(self) -> frozenset[str]:
        """The papers that public data alone decide: those with changed public data, and look-alikes."""
        corrected = (*self.pools, *self.grid) if self.redecided else ()
        return frozenset((*self.late, *self.scores, *self.tracks, *corrected, *self.alike))

    @cached_property
    def decided(self) -> frozenset[str]:
        """The papers that are decided now: the settled ones, and the new ones, which get a coin."""
        return self.settled | frozenset(self.new)

    @property
    def public(self) -> bool:
        """Whether anything that is public differs."""
        return bool(self.decided or self.pools or self.grid or self.returned or self.withdrawn)


def changes_since(
    past: PriorDecisions,
    conference: Conference,
    truth: TrueReviewers,
    request: Request,
    *,
    others: bool = False,
    redecide: bool = False,
) -> Changes:
    """The changes since the latest release; a withdrawn paper that is back unchanged keeps its decision.

    Frozen settings that differ are refused.
    """
    records, old = past.of(request.conference), past.latest(request.conference)
    if records and as_recorded(request.settings) != dict(records[0].settings):
        was, now = records[0].settings, as_recorded(request.settings)
        names = [name for name in {**now, **was} if was.get(name) != now.get(name)]
        differ = [f"`{k}` was {_setting_text(was.get(k))}, now {_setting_text(now.get(k))}" for k in names]
        scaled = (
            "; fit again on the scale of the first calibration, as `blindcal fit FOLDER` does"
            if "scale" in names
            else ""
        )
        raise RefusedError(
            "the guarantee, its limits, the bar, the better end of the scale and the shift and stretch of "
            "the calibration are frozen with the first release and cannot be changed "
            f"({'; '.join(differ)}){scaled}"
        )
    last = {paper.paper for paper in records[-1].papers} if records else set()
    papers_by_kind: dict[str, list[str]] = {kind: [] for kind in _KINDS_OF_CHANGE}
    for case in conference.cases:
        kind = _kind_of_change(case, truth[case.paper], old.get(case.paper), last, redecide)
        if kind is not None:
            papers_by_kind[kind].append(case.paper)
    withdrawn = sorted(last - {case.paper for case in conference.cases})
    kinds = {kind: tuple(papers) for kind, papers in papers_by_kind.items()}
    alike = tuple(earlier_by_public_data(past, conference, request, set(kinds["new"]), others))
    return Changes(**kinds, withdrawn=tuple(withdrawn), alike=alike, redecided=redecide)


def _setting_text(setting: object) -> str:
    return "not given" if setting is None else str(setting)


def _kind_of_change(
    case: PaperCase, reviewers: tuple[str, ...], old: PaperRecord | None, last: set[str], redecide: bool
) -> str | None:
    if old is None:
        return "new"
    public = public_facts(case)
    for kind, fact in _PUBLIC_FACTS:
        if public.get(fact) != old.public.get(fact):
            return "late" if kind == "scores" and _only_added(public[fact], old.public[fact]) else kind
    if redecide and old.corrected:
        # An amendment before left the decision standing: it may be decided again by the same correction.
        return "pools"
    if case.paper not in last:
        # Checked before the reviewers: whether a name was corrected must not change anything public.
        return "returned"
    return "reviewers" if reviewers != old.reviewers else None


def _only_added(now: Sequence[float], then: Sequence[float]) -> bool:
    """Whether scores were added and none was changed."""
    return Counter(now) > Counter(then)


def earlier_by_public_data(
    past: PriorDecisions, conference: Conference, request: Request, papers: Collection[str], others: bool
) -> dict[str, tuple[Reference, ...]]:
    """The earlier decisions about the reviews of some papers, by public data alone."""
    decided = [case for case in conference.cases if case.paper in papers]
    present, near = {case.paper for case in conference.cases}, common_tolerance(past, conference.cases)
    return earlier_decisions(past, request.conference, decided, present, near, others=others)


def recorded_truth(
    past: PriorDecisions, truth: TrueReviewers, request: Request, changes: Changes
) -> TrueReviewers:
    """The reviewers of each paper; those on record if its decision stands, whatever was corrected."""
    old = past.latest(request.conference)
    return {
        paper: names if paper in changes.decided or paper not in old else old[paper].reviewers
        for paper, names in truth.items()
    }


def stamp_of(
    past: PriorDecisions,
    conference: Conference,
    truth: TrueReviewers,
    request: Request,
    *,
    amend: bool,
    redecide: bool,
) -> str:
    """The stamp that identifies this input, given the earlier releases."""
    others = amend and not past.of(request.conference)
    changes = changes_since(past, conference, truth, request, others=others, redecide=redecide)
    recorded = recorded_truth(past, truth, request, changes)
    return input_stamp(past.ledger.key, conference, recorded, request)


def refuse_unannounced(
    past: PriorDecisions,
    changes: Changes,
    conference: Conference,
    truth: TrueReviewers,
    request: Request,
    amend: bool,
    reason: str,
) -> None:
    """Refuses every input that would draw a coin again, unless the chair announced an amendment."""
    released = bool(past.ledger.of(request.conference))
    if not amend and released:
        raise RefusedError(_explain_change(past.of(request.conference)[-1], changes, conference))
    decided = [case for case in conference.cases if case.paper in changes.decided]
    tolerance = common_tolerance(past, conference.cases)
    returned = returned_papers(past, request.conference, decided, truth, tolerance)
    if returned and (released or not amend):
        raise RefusedError(_explain_return(len(returned), len(decided), released))
    fresh = [case for case in decided if case.paper in changes.new and case.paper not in returned]
    other = renamed_conference(past, request.conference, fresh, tolerance)
    if other is not None:
        raise RefusedError(
            f"these are the scores of conference {other!r}, which was decided with this key, with other "
            "reviewers' ids: deciding them under new names would draw again. Give the same ids as then, "
            "or use another key if these are other papers"
        )
    if amend and not released and not returned:
        raise InputError("there is no release to amend: this conference was not decided with this key")
    if amend and not reason.strip():
        raise InputError("an amendment needs a `reason` for the record")


def _explain_return(back: int, papers: int, released: bool) -> str:
    way = (
        "Amend them under that name"
        if released
        else "Deciding them again reveals more about their reviewers; to do it, with what was revealed "
        "counted in, give `amend` `reason`"
    )
    return (
        f"{back} of {papers} papers look like papers that were decided with this key under another "
        f"name for the conference. {way}. Different papers that only look alike need a key of their own"
    )


def _explain_change(record: Record, changes: Changes, conference: Conference) -> str:
    words = {
        "new": "new",
        "late": "with late reviews",
        "scores": "with other scores",
        "pools": "with other pools or calibration",
    }
    words |= {"grid": "with another grid", "tracks": "in another track"}
    words |= {"returned": "returned", "withdrawn": "withdrawn"}
    parts = [(len(getattr(changes, kind)), word) for kind, word in words.items()]
    counted = ", ".join(f"{number} {word}" for number, word in parts if number)
    grids = [public_facts(case)["grid"] for case in conference.cases[:1]]
    if grids != [paper.public["grid"] for paper in record.papers[:1]]:
        return (
            f"the grid of scores is not that of release {record.release}, so all papers differ: "
            "give the grid that was given then, or none if none was"
        )
    papers = len(conference.cases) + len(changes.withdrawn)
    return (
        f"the input differs from release {record.release} in {sum(number for number, _ in parts)} of "
        f"{papers} papers ({counted}). To amend, give `amend` and `reason`: "
        "new papers are decided, "
        "papers with other scores are decided from public data, and corrected pools or calibration leave "
        "decisions as they are unless `redecide` is given too"
    )


def renamed_reviewers(changes: Changes) -> tuple[str, ...]:
    """A remark for the chair alone if some papers have other reviewers than those on record."""
    papers = len(changes.reviewers)
    if not papers:
        return ()
    return (
        f"CONFIDENTIAL: the reviewers of {count(papers, 'paper')} differ from those recorded when they were "
        "decided. The decisions stand, and nothing that is public changes: deciding them again would show "
        "that a name was corrected. To verify, keep the reviews as they were decided",
    )


def recorded_case(paper: PaperRecord, record: Record) -> PaperCase:
    """The public case of a paper as it was recorded, with the bar of its record."""
    grid, track = paper.public["grid"], paper.public["track"]
    pool = PoolRows.of(paper.public["pool"])
    return PaperCase(
        paper=paper.paper,
        scores=tuple(paper.public["scores"]),
        candidates=pool.candidates,
        inclusion=tuple(pool.chances),
        parameters=pool.parameters,
        bar=track_level(record.bar, track),
        grid=None if grid is None else tuple(grid),
        track=track,
        settled=bool(paper.earlier),
    )


def common_tolerance(past: PriorDecisions, cases: Sequence[PaperCase]) -> float:
    """The largest difference of equal scores, by the widest scale of these papers and of all releases."""
    tables = [[score for case in cases for score in case.scores]]
    tables += [
        [score for paper in record.papers for score in paper.public["scores"]]
        for record in map(past.record, range(len(past.ledger.releases)))
    ]
    return max(map(score_tolerance, tables))


def score_tolerance(scores: Sequence[float] | Array) -> float:
    """The largest difference of two of these scores that counts as equal."""
    with np.errstate(over="ignore", invalid="ignore"):
        tolerance = max(
            _RELATIVE_TO_SD * float(np.std(scores)), _RELATIVE_TO_LARGEST * float(np.abs(scores).max())
        )
    return tolerance if isfinite(tolerance) else 0.0


def earlier_decisions(
    past: PriorDecisions,
    conference: str,
    cases: Sequence[PaperCase],
    present: Collection[str],
    near: float,
    *,
    others: bool = False,
) -> dict[str, tuple[Reference, ...]]:
    """For each paper the earlier decisions about its reviews, oldest first; papers without any are left out.

    They are the decisions on its own id in the conference, and on any paper with equal scores. Only public
    data are compared, so decisions and publications do not depend on who the reviewers are. If the earlier
    paper is no longer `present`, a review may have been added or dropped. Other conferences count only if the
    chair says that papers come back (`others`).
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
    alike = _add_matches_by_id(past, conference, cases, alike) if others else alike
    earlier = {}
    for case in cases:
        own = [ref for ref in past.tossed if (ref[0], ref[2]) == (conference, case.paper)]
        matches = (*own, *alike[case.paper])
        known = {other for ref in matches for other in (ref, *past.tossed[ref].earlier)}
        if known:
            earlier[case.paper] = tuple(ref for ref in past.tossed if ref in known)
    return earlier


def _same_scores_of(paper: PaperRecord, case: PaperCase, near: float, *, whole: bool) -> bool:
    nobody = (OUTSIDER,)
    then, now = paper.public["scores"], case.scores
    if whole and len(then) != len(now):
        return False
    return same_reviews(then, nobody * len(then), now, nobody * len(now), near)


def _add_matches_by_id(
    past: PriorDecisions, conference: str, cases: Sequence[PaperCase], matches: dict[str, set[Reference]]
) -> dict[str, set[Reference]]:
    """Adds matches by id from every conference of which half of these papers come back."""
    back = Counter(name for refs in matches.values() for name in {ref[0] for ref in refs} - {conference})
    copied = {name for name, count in back.items() if 2 * count >= len(cases)}
    for ref in past.tossed:
        if ref[0] in copied and ref[2] in matches:
            matches[ref[2]].add(ref)
    return matches


def returned_papers(
    past: PriorDecisions, conference: str, cases: Sequence[PaperCase], truth: TrueReviewers, near: float
) -> list[str]:
    """The papers whose reviews another conference of the key decided: the same reviewers and scores."""
    by_reviewer: dict[str, list[PaperRecord]] = {}
    for ref, paper in past.tossed.items():
        for name in set(paper.reviewers) if ref[0] != conference else ():
            by_reviewer.setdefault(name, []).append(paper)
    return [
        case.paper
        for case in cases
        if any(
            same_reviews(paper.public["scores"], paper.reviewers, case.scores, truth[case.paper], near)
            for name in {*truth[case.paper], OUTSIDER}
            for paper in by_reviewer.get(name, ())
        )
    ]


def same_reviews(
    then: Sequence[float],
    reviewers_then: Sequence[str],
    now: Sequence[float],
    reviewers_now: Sequence[str],
    near: float,
) -> bool:
    """Whether the reviews of one paper are those of the other, or at least half of them.

    A reviewer outside the pool (`*`) may be anyone.
    """
    sides = [list(zip(reviewers_then, then, strict=True)), list(zip(reviewers_now, now, strict=True))]
    few, many = sorted(sides, key=len)
    if 2 * len(few) < len(many):
        return False
    # Named reviewers are matched first; `*`, who may be anyone, takes what they leave.
    return _all_matched(sorted(few, key=lambda review: review[0] == OUTSIDER), many, near)


def _all_matched(few: Sequence[tuple[str, float]], many: Sequence[tuple[str, float]], near: float) -> bool:
    """Whether each of the few reviews has a partner of its own among the many, by backtracking."""
    if not few:
        return True
    (name, score), *rest = few
    return any(
        abs(score - other[1]) <= near
        and (name == other[0] or OUTSIDER in (name, other[0]))
        and _all_matched(rest, [*many[:index], *many[index + 1 :]], near)
        for index, other in enumerate(many)
    )


def renamed_conference(
    past: PriorDecisions, conference: str, cases: Sequence[PaperCase], near: float
) -> str | None:
    """The other conference whose scores these are, beyond chance, under any reviewer ids."""
    mine = Counter(_rounded_scores(case.scores, near) for case in cases)
    for record in map(past.record, range(len(past.ledger.releases))):
        theirs = Counter(_rounded_scores(paper.public["scores"], near) for paper in record.papers)
        if record.conference != conference and same_scores(mine, theirs):
            return record.conference
    return None


def _rounded_scores(scores: Sequence[float], near: float) -> tuple[float, ...]:
    return tuple(sorted(round(score / near) if near > 0 else score for score in scores))


def same_scores(mine: Counter[tuple[float, ...]], theirs: Counter[tuple[float, ...]]) -> bool:
    """Whether two conferences share more papers' scores than chance would cause.

    Two tests protect against deciding a conference again under new ids. On a fine scale, a binomial test:
    most of our papers' scores occur there, far more than if papers were as alike between the conferences as
    within ours. On a coarse scale every paper's scores occur there anyway; then a chi-squared test of two
    samples rejects counts that agree too well, in its lower tail. The test guards against a copy whose ids
    and reviewers were all renamed, which no comparison of ids can see.
    """
    ours, others = mine.total(), theirs.total()
    if ours < FEWEST or len(mine) < FEWEST:
        return False
    contained_papers = sum(count for scores, count in mine.items() if scores in theirs)
    alike = max(1, sum(count for count in mine.values() if count > 1)) / ours
    chance = min(1.0, (alike + _STANDARD_ERRORS * sqrt(alike * (1 - alike) / ours)) * max(1.0, others / ours))
    ratio = sqrt(others / ours)
    distance = sum(
        (mine[scores] * ratio - theirs[scores] / ratio) ** 2 / (mine[scores] + theirs[scores])
        for scores in mine.keys() | theirs.keys()
    )
    degrees_of_freedom = len(mine.keys() | theirs.keys()) - 1
    contained = 2 * contained_papers >= ours and bdtrc(contained_papers - 1, ours, chance) < BY_CHANCE
    return bool(contained or gammainc(degrees_of_freedom / 2, distance / 2) < BY_CHANCE)


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
    significant = (
        same_panel_pairs * _repeated_by_chance(reviews, near) < _FALSE_ALARMS * single_pairs
        if single_pairs
        else False
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
