"""Checks of a folder's latest release: whether it is what it claims, and what others could learn from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Unpack

from blindcal.adversaries.coupled_exact import erasure_limit, true_loads
from blindcal.adversaries.coupled_mcmc import coupled_findings
from blindcal.adversaries.findings import Finding, Findings, findings_of
from blindcal.adversaries.side_knowledge import (
    PRIORS,
    author_findings,
    co_reviewer_findings,
    collusion_findings,
    evidence_findings,
    prior_findings,
)
from blindcal.adversaries.single_paper import View, published_views
from blindcal.adversaries.this_year_exact import observe_release
from blindcal.adversaries.this_year_mcmc import this_year_findings
from blindcal.compute.parallel import no_progress
from blindcal.deciding.publish import recorded_release, release_folder
from blindcal.deciding.record import Record
from blindcal.errors import InputError
from blindcal.pools.candidates import Similarity, read_similarity
from blindcal.posterior.inputs import PAST
from blindcal.posterior.loads import read_loads
from blindcal.project.folder import (
    Work,
    check_calibrated,
    folder_inputs,
    interrupted_remarks,
    key_of,
    release_of,
    releases_of,
)
from blindcal.project.settings import Folder
from blindcal.verification import Verification, latest, verify


class FolderVerification(NamedTuple):
    """The checks of the latest release, its `record`, and what an auditor should know."""

    verification: Verification
    record: Record
    remarks: tuple[str, ...]


def verify_folder(
    folder: Folder,
    *,
    key: Path | None = None,
    published: Sequence[Path] = (),
    commitment: str | None = None,
    lists: Sequence[Path] = (),
    **work: Unpack[Work],
) -> FolderVerification:
    """Checks the latest release of a folder with the key, from the files that were decided.

    `commitment`: what was published before decisions could be known; None if nothing was. `lists`: tables of
    lists with another number of papers, as `export` writes them.
    """
    check_calibrated(folder)
    past = latest(key_of(folder, key), folder.text("conference"))
    record = past.records[-1]
    place = folder.text("out")
    out = release_folder(place, record.release, folder.numbered) if place else None
    if folder.numbered and out is not None and not out.is_dir():
        raise InputError(
            f"release {record.release} is recorded, and there is no folder {out}: if the run that made it "
            "was interrupted, run the same command again (nothing is drawn twice)"
        )
    with folder_inputs(folder, record.grid) as inputs:
        verification = verify(
            inputs,
            past,
            out,
            published=[*published, *releases_of(folder)],
            commitment=commitment,
            lists=lists,
            **work,
        )
    return FolderVerification(verification, record, tuple(interrupted_remarks(folder)))


@dataclass(frozen=True)
class Adversaries:
    """The adversaries of an audit beside those who are always played."""

    priors: Sequence[str] = ()  # priors over reviewers: names of known ones, or files of similarities
    # By how many standard deviations the true reviewer stands out, for each adversary with evidence
    evidence: Sequence[float] = ()
    colluders: Sequence[int] = ()  # how many reviewers share what they know, for each group
    loads: str | None = None  # a file of how many reviews everybody wrote, or `true`; None without
    keep: Path | None = None  # a folder from which an interrupted run with `loads` goes on


class FolderAudit(NamedTuple):
    """What adversaries gain from a release, its `record`, and what the chair should know. CONFIDENTIAL."""

    findings: Findings
    record: Record
    remarks: tuple[str, ...]


def audit_folder(
    folder: Folder,
    adversaries: Adversaries,
    *,
    key: Path | None = None,
    **work: Unpack[Work],
) -> FolderAudit:
    """Plays adversaries against the latest release of a folder: those always played, and those given."""
    past, record = recorded_release(release_of(folder), key_of(folder, key))
    if record.request.source != PAST:
        if adversaries != Adversaries():
            raise InputError(
                "papers that are decided by this year's evidence have no candidates: `audit` then observes "
                "names and links, and takes no further adversary"
            )
        seen = observe_release(past, record)
        watch = work.get("progress", no_progress)
        observed = this_year_findings(seen, better=record.request.better, progress=watch)
        return FolderAudit(observed, record, tuple(interrupted_remarks(folder)))
    views, loads = published_views(past, record), adversaries.loads
    known = None if loads is None else true_loads(views) if loads == "true" else read_loads(loads)
    more = adversary_findings(views, adversaries, known, **work)
    findings = findings_of(views, better=record.request.better)
    exactly = (
        "a number of papers was accepted exactly: this adversary sees the private decisions too, so what it "
        "gains is an upper bound"
    )
    remarks = [*interrupted_remarks(folder), *([exactly] if record.selection is not None else [])]
    findings = replace(findings, findings=(*findings.findings, *more), erasure=erasure_limit(views, known))
    return FolderAudit(findings, record, tuple(remarks))


def adversary_findings(
    views: Sequence[View],
    given: Adversaries,
    loads: Mapping[str, int] | None,
    **work: Unpack[Work],
) -> list[Finding]:
    """What the adversaries beside those who are always played find; `loads`: what one knows."""
    more = [
        *(finding for name in given.priors for finding in prior_findings(views, prior_of(name))),
        *(finding for strength in given.evidence for finding in evidence_findings(views, strength)),
        *(finding for number in given.colluders for finding in collusion_findings(views, number)),
        *co_reviewer_findings(views),
        *author_findings(views),
    ]
    if loads is not None:
        more += coupled_findings(views, loads, keep=given.keep, **work)
    return more


def prior_of(text: str) -> str | Similarity:
    """The prior that a `text` names: one of the known ones, or that of a file of similarities."""
    if text in PRIORS:
        return text
    if not Path(text).exists():
        raise InputError(f"--prior must be one of {', '.join(PRIORS)} or a file, found {text!r}")
    return read_similarity(text)
