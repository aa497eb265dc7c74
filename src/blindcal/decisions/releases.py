"""Decide once: the same input returns the stored decisions, a changed one is a new, recorded release."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from blindcal.beliefs.conferences import Conference, Truth
from blindcal.cells import count
from blindcal.decisions.drafts import Changes, Planner, changes_since, draft, stamp_of
from blindcal.decisions.facts import plain, public_facts
from blindcal.decisions.histories import Past, came_back, nearness, renamed
from blindcal.decisions.records import Ledger, Record, commit
from blindcal.errors import InputError, RefusedError
from blindcal.frames import frame
from blindcal.plans.quotas import Number
from blindcal.plans.requests import Request
from blindcal.policies.guarantees import Guarantee

# Of what full calibration would reveal: whoever spends so much says that decisions may leak.
MOST_SPENT_UNSAID = 0.5


@dataclass(frozen=True)
class Outcome:
    """A release and how it came about.

    `record`: the sealed record, CONFIDENTIAL.
    `how`: `new`, `stored` (nothing was tossed), `amended`, or `selected` (another number of papers accepted,
    nothing was tossed).
    `changes`: which papers differ from the release before, and how; empty for a first one.
    `remarks`: what the chair should know, in words.
    """

    record: Record
    how: str
    changes: Changes = field(default_factory=Changes)
    remarks: tuple[str, ...] = ()

    def to_frame(self) -> Any:
        """The public table of decisions, one row per paper, as a pandas data frame; needs pandas."""
        names, *rows = csv.reader(self.record.decisions.splitlines())
        return frame(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))

    @property
    def certificate(self) -> dict[str, Any]:
        """The public certificate, as it was published."""
        content: dict[str, Any] = json.loads(self.record.certificate)
        return content


def release(
    conference: Conference,
    truth: Truth,
    request: Request,
    ledger: Ledger,
    planner: Planner,
    *,
    amend: bool = False,
    reason: str = "",
    redecide: bool = False,
    yes_leak: bool = False,
) -> Outcome:
    """The decisions for this input: stored ones if it was decided before, else tossed and sealed.

    A changed input is refused unless `amend`: then new papers are tossed, and papers whose scores changed are
    decided from public data; with `redecide`, so are all papers whose pools or calibration changed. Corrected
    names of reviewers change nothing: the stored decisions are returned. `yes_leak` is the word of a chair
    who lets decisions reveal half or more of what full calibration would. Nothing public is written here:
    `records.publish` does that, after the release is in the ledger.
    """
    past = Past(ledger)
    stamp = stamp_of(past, conference, truth, request, amend=amend, redecide=redecide)
    releases = ledger.of(request.conference)
    same = [release for release in releases if release.input == stamp]
    listed = [release for release in same if ledger.record(release).request.quota == request.quota]
    others = amend and not releases
    changes = changes_since(past, conference, truth, request, others=others, redecide=redecide)
    if listed and (same[-1] == releases[-1] or not amend):
        return Outcome(ledger.record(listed[-1]), "stored", remarks=_renamed_reviewers(changes))
    if releases:
        _refuse_other_number(past.of(request.conference)[-1], request)
    _refuse_unsaid(past, changes, conference, truth, request, amend, reason)
    drafted = draft(conference, truth, request, past, planner, reason if amend else "", redecide=redecide)
    if not releases:
        _refuse_leak(drafted.record, request.guarantee, yes_leak)
    commit(ledger, drafted.record, drafted.policies, stamp)
    return Outcome(drafted.record, "amended" if releases else "new", changes)


def _renamed_reviewers(changes: Changes) -> tuple[str, ...]:
    """What only the chair may know: that somebody else than recorded reviewed some papers."""
    papers = len(changes.reviewers)
    if not papers:
        return ()
    return (
        f"CONFIDENTIAL: the reviewers of {count(papers, 'paper')} differ from those recorded when they were "
        "decided. The decisions stand, and nothing that is public changes: deciding them again would show "
        "that a name was corrected. To verify, keep the reviews as they were decided",
    )


def _refuse_other_number(record: Record, request: Request) -> None:
    """Refuse to change how many papers are accepted by deciding: no coin depends on it."""
    if record.request.quota != request.quota:
        was = record.request
        raise RefusedError(
            f"`accept` is {_shown(was.accept)} and `wait_list` {_shown(was.wait_list)} since release "
            f"{record.release}, and deciding does not change them: blindcal select does, without a coin"
        )


def _shown(number: Number | None) -> str:
    return ",".join(f"{k}={v}" for k, v in number.items()) if isinstance(number, Mapping) else str(number)


def _refuse_unsaid(
    past: Past,
    changes: Changes,
    conference: Conference,
    truth: Truth,
    request: Request,
    amend: bool,
    reason: str,
) -> None:
    """Refuse what would toss a coin again unless that is said, with a reason."""
    released = bool(past.ledger.of(request.conference))
    if not amend and released:
        raise RefusedError(_explain_change(past.of(request.conference)[-1], changes, conference))
    decided = [case for case in conference.cases if case.paper in changes.decided]
    near = nearness(past, conference.cases)
    back = came_back(past, request.conference, decided, truth, near)
    if back and (released or not amend):
        raise RefusedError(_explain_return(len(back), len(decided), released))
    fresh = [case for case in decided if case.paper in changes.new and case.paper not in back]
    other = renamed(past, request.conference, fresh, near)
    if other is not None:
        raise RefusedError(
            f"these are the scores of conference {other!r}, which was decided with this key, with other "
            "reviewers' ids: deciding them under new names would draw new coins. Give the same ids as then, "
            "or use another key if these are other papers"
        )
    if amend and not released and not back:
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


def _refuse_leak(record: Record, guarantee: Guarantee, yes_leak: bool) -> None:
    """Refuse full calibration, or what comes near to it, unless the chair says so."""
    if yes_leak:
        return
    if guarantee.name == "none":
        raise InputError(
            "without a guarantee every decision may reveal who reviewed the paper: that needs `yes_leak`"
        )
    share = json.loads(record.certificate)["added_share_of_full"]
    if guarantee.spends and share >= MOST_SPENT_UNSAID:
        raise InputError(
            f"this budget lets the decisions reveal {100 * share:.0f} % of what full calibration would "
            "reveal here: choose a smaller one, or allow it with `yes_leak`"
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
    grids = [plain(public_facts(case))["grid"] for case in conference.cases[:1]]
    if grids != [paper.public["grid"] for paper in record.papers[:1]]:
        return (
            f"the grid of scores is not that of release {record.release}, so all papers differ: "
            "give the grid that was given then, or none if none was"
        )
    papers = len(conference.cases) + len(changes.withdrawn)
    return (
        f"the input differs from release {record.release} in {sum(number for number, _ in parts)} of "
        f"{papers} papers ({counted}). To amend, give `amend` `reason` and a new `out` folder: "
        "new papers are decided, "
        "papers with other scores are decided from public data, and corrected pools or calibration leave "
        "decisions as they are unless `redecide` is given too"
    )
