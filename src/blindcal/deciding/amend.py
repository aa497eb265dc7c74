"""Amendments: what was decided before, what changed since, and what may not be decided again.

Deciding again is an attack: another name for a paper, a score changed in its last digit or another pool would
each give the same reviews a fresh coin. So a key decides one conference, and reviews are recognized by their
scores, under any paper id. Reviews that come back get no second coin: public information decides the paper.
`changes_since` says what differs from the latest release, and `refuse_unannounced` refuses it unless the
chair announced an amendment.

`resemblance` compares papers of one table, and a later conference with what was decided.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from blindcal.certify.exact import ExactPolicy
from blindcal.checks import Array
from blindcal.deciding.key import as_recorded, public_facts
from blindcal.deciding.ledger import Ledger
from blindcal.deciding.record import PaperRecord, Record, Reference
from blindcal.deciding.recorded_pools import PoolRows
from blindcal.errors import InputError, RefusedError
from blindcal.io.cells import count
from blindcal.planning.request import Request
from blindcal.posterior.conference import Case, Conference, TrueReviewers, track_level
from blindcal.posterior.paper import PaperCase
from blindcal.posterior.this_year_evidence import LevelCase

# Scores are equal if they differ by less than this share of the standard deviation of all scores, or of the
# largest score, whichever is more.
_RELATIVE_TO_SD, _RELATIVE_TO_LARGEST = 0.01, 1e-6
# The kind of change for each public fact.
_PUBLIC_FACTS = {"scores": "scores", "pools": "pool", "grid": "grid", "tracks": "track"}
# The kinds of change that a refusal counts, in words; it tells no one that other reviewers were given.
_KINDS_IN_WORDS = {
    "new": "new",
    "late": "with late reviews",
    "scores": "with other scores",
    "pools": "with other pools or calibration",
    "grid": "with another grid",
    "tracks": "in another track",
    "returned": "returned",
    "withdrawn": "withdrawn",
}


def first_decision(past: Ledger, paper: PaperRecord) -> tuple[Case, ExactPolicy, PaperRecord]:
    """The first decision on a paper under its id: its public case of that time, its table, and its record."""
    own = (reference for reference in paper.earlier if reference[1] == paper.paper)
    reference = next(own, (paper.release, paper.paper))
    number, first = reference[0], past.tossed[reference]
    return recorded_case(first, past.record(number)), past.tables(number)[paper.paper], first


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
    # The earlier decisions about the reviews of the papers that are decided now, under any id
    earlier: Mapping[str, tuple[Reference, ...]] = field(default_factory=dict)

    @property
    def alike(self) -> tuple[str, ...]:
        """New papers with the scores of a paper that was decided under another name."""
        return tuple(paper for paper in self.new if paper in self.earlier)

    @cached_property
    def settled(self) -> frozenset[str]:
        """The papers that public data alone decide: those with changed public data, and look-alikes."""
        return frozenset((*self.late, *self.scores, *self.tracks, *self.alike))

    @cached_property
    def decided(self) -> frozenset[str]:
        """The papers that are decided now: the settled ones, and the new ones, which get a coin."""
        return self.settled | frozenset(self.new)


def changes_since(past: Ledger, conference: Conference, truth: TrueReviewers, request: Request) -> Changes:
    """The changes since the latest release; a withdrawn paper that is back unchanged keeps its decision.

    Frozen settings that differ are refused.
    """
    last = set[str]()
    if past.releases:
        _refuse_other_settings(past.record(1), request)
        last = {paper.paper for paper in past.records[-1].papers}
    kinds = defaultdict[str, list[str]](list)
    for case in conference.cases:
        kind = _kind_of_change(case, truth[case.paper], past.latest.get(case.paper), last)
        kinds[kind].append(case.paper)
    kinds.pop("unchanged", None)
    papers = {case.paper for case in conference.cases}
    gone = tuple(sorted(last - papers))
    changes = Changes(**{kind: tuple(names) for kind, names in kinds.items()}, withdrawn=gone, earlier={})
    decided = [case for case in conference.cases if case.paper in changes.decided]
    near = _common_tolerance(past, conference.cases) if last else 0.0
    return replace(changes, earlier=_earlier_decisions(past, decided, papers, near))


def _refuse_other_settings(first: Record, request: Request) -> None:
    if first.request.quota != request.quota:
        # One number is released, and any other is printed.
        accept, wait_list = (
            ",".join(f"{track}={papers}" for track, papers in number.items())
            if isinstance(number, Mapping)
            else number
            for number in (first.request.accept, first.request.wait_list)
        )
        raise RefusedError(
            f"`accept` is {accept} and `wait_list` {wait_list} since release 1 and cannot be changed: "
            "`blindcal export --accept` prints a list of another number, without a draw or a release"
        )
    for name in ("scores", "release"):
        # Another value would publish more, or less, than the releases before.
        if (then := getattr(first.request, name)) != (given := getattr(request, name)):
            raise RefusedError(f"`{name}` is {then} since release 1 and cannot be changed, found {given}")
    was, now = first.settings, as_recorded(request.settings)
    names = [name for name in {**now, **was} if was.get(name) != now.get(name)]
    if not names:
        return
    differ = "; ".join(
        f"`{k}` was {_setting_text(was.get(k))}, now {_setting_text(now.get(k))}" for k in names
    )
    scaled = "; fit again on the scale of the first calibration, as `blindcal fit FOLDER` does"
    raise RefusedError(
        "the guarantee, its limits, the bar, the possible scores, their better end, who may see them and the "
        "shift and stretch of the calibration are frozen with the first release and cannot be changed "
        f"({differ}){scaled if 'scale' in names else ''}"
    )


def _setting_text(value: object) -> str:
    return "not given" if value is None else str(value)


def _kind_of_change(case: Case, reviewers: tuple[str, ...], old: PaperRecord | None, last: set[str]) -> str:
    """The field of `Changes` for a paper, by the first thing that changed; "unchanged" if nothing did."""
    if old is None:
        return "new"
    public = public_facts(case)
    for kind, fact in _PUBLIC_FACTS.items():
        if (now := public.get(fact)) != (then := old.public.get(fact)):
            only_added = kind == "scores" and Counter(now) > Counter(then)
            return "late" if only_added else kind
    if case.paper not in last:
        # Checked before the reviewers: whether a name was corrected must not change anything public.
        return "returned"
    return "reviewers" if reviewers != old.reviewers else "unchanged"


def recorded_truth(past: Ledger, truth: TrueReviewers, changes: Changes) -> TrueReviewers:
    """The reviewers of each paper; those on record if its decision stands, whatever was corrected."""
    old = past.latest
    return {
        paper: names if paper in changes.decided or paper not in old else old[paper].reviewers
        for paper, names in truth.items()
    }


def refuse_unannounced(
    past: Ledger, changes: Changes, conference: Conference, amend: bool, reason: str
) -> None:
    """Refuses every input that would draw a coin again, unless the chair announced an amendment."""
    if past.releases and not amend:
        raise RefusedError(_explain_change(past.records[-1], changes, conference))
    if amend and not past.releases:
        raise InputError("there is no release to amend: nothing was decided with this key")
    if amend and not reason.strip():
        raise InputError("an amendment needs a `reason` for the record")


def _explain_change(record: Record, changes: Changes, conference: Conference) -> str:
    parts = [(len(getattr(changes, kind)), word) for kind, word in _KINDS_IN_WORDS.items()]
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
        f"{papers} papers ({counted}). To amend, give `amend` and `reason`: new papers are decided, papers "
        "with other scores are decided from public data, and corrected pools or calibration leave decisions "
        "as they are"
    )


def renamed_reviewers(changes: Changes) -> tuple[str, ...]:
    """A remark for the chair alone if some papers have other reviewers than those on record."""
    if not changes.reviewers:
        return ()
    papers = count(len(changes.reviewers), "paper")
    return (
        f"CONFIDENTIAL: the reviewers of {papers} differ from those recorded when they were decided. The "
        "decisions stand, and nothing that is public changes: deciding them again would show that a name was "
        "corrected. To verify, keep the reviews as they were decided",
    )


def recorded_case(paper: PaperRecord, record: Record) -> Case:
    """The public case of a paper as it was recorded, with the bar of its record."""
    grid, track = (paper.public[name] for name in ("grid", "track"))
    shared: dict[str, Any] = {
        "paper": paper.paper,
        "scores": tuple(paper.public["scores"]),
        "bar": track_level(record.bar, track),
        "grid": None if grid is None else tuple(grid),
        "track": track,
        "settled": bool(paper.earlier),
    }
    if (model := record.level_model) is not None:
        return LevelCase(**shared, model=model, area=paper.public["area"])
    pool: PoolRows = paper.public["pool"]
    return PaperCase(
        **shared, candidates=pool.candidates, inclusion=tuple(pool.chances), parameters=pool.parameters
    )


# --- Papers with the scores of others.


def _common_tolerance(past: Ledger, cases: Sequence[Case]) -> float:
    """The largest difference of equal scores, by the widest scale of these papers and of all releases."""
    tables = [[score for case in cases for score in case.scores]]
    tables += [
        [score for paper in record.papers for score in paper.public["scores"]] for record in past.records
    ]
    return max(map(score_tolerance, tables))


def score_tolerance(scores: Sequence[float] | Array) -> float:
    """The largest difference of two of these scores that counts as equal."""
    with np.errstate(over="ignore", invalid="ignore"):
        tolerance = max(
            _RELATIVE_TO_SD * float(np.std(scores)), _RELATIVE_TO_LARGEST * float(np.abs(scores).max())
        )
    return tolerance if isfinite(tolerance) else 0.0


def _earlier_decisions(
    past: Ledger, cases: Sequence[Case], present: Collection[str], near: float
) -> dict[str, tuple[Reference, ...]]:
    """For each paper the earlier decisions about its reviews, oldest first; papers without any are left out.

    They are the decisions on its own id, and on any paper with equal scores. Only public data are compared,
    so decisions and publications do not depend on who the reviewers are. If the earlier paper is no longer
    `present`, a review may have been added or dropped.
    """
    earlier = {}
    for case in cases:
        alike = {
            ref
            for ref, paper in past.tossed.items()
            if ref[1] == case.paper
            or same_scores(paper.public["scores"], case.scores, near, whole=ref[1] in present)
        }
        known = {other for ref in alike for other in (ref, *past.tossed[ref].earlier)}
        if known:
            earlier[case.paper] = tuple(ref for ref in past.tossed if ref in known)
    return earlier


def same_scores(then: Sequence[float], now: Sequence[float], near: float, *, whole: bool) -> bool:
    """Whether the scores of one paper are those of the other; unless `whole`, at least half of them."""
    few, many = sorted((sorted(then), sorted(now)), key=len)
    if len(few) != len(many) and (whole or 2 * len(few) < len(many)):
        return False
    # Both rise, so each of the few takes the lowest that is left and near enough.
    left = iter(many)
    return all(any(abs(score - other) <= near for other in left) for score in few)
