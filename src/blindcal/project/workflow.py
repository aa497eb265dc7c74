"""The steps of a conference on its folder: what the commands and the app both do there.

Each function takes the folder as `read_folder` returns it, does one step, and returns what happened; none of
them prints. The command line words the results for a terminal, and the app shows them on a page, so that both
work on the same folder and can take turns. A `key` is given if it lies elsewhere than the folder says;
`workers` share the work, with the same results; `progress` is called as work goes on; `published` are further
folders that were published with the key.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from blindcal.adversaries.coupled_exact import erasure_limit, true_loads
from blindcal.adversaries.coupled_mcmc import coupled_findings
from blindcal.adversaries.findings import Finding, Findings, OpenedRelease, findings_of, open_release
from blindcal.adversaries.side_knowledge import (
    PRIORS,
    author_findings,
    co_reviewer_findings,
    collusion_findings,
    evidence_findings,
    prior_findings,
)
from blindcal.adversaries.single_paper import View
from blindcal.adversaries.this_year_exact import observe_release
from blindcal.adversaries.this_year_mcmc import this_year_findings
from blindcal.checks import open_interval_rule
from blindcal.compute.parallel import Progress, Workers, no_progress
from blindcal.deciding.decide import Outcome, decide
from blindcal.deciding.lists import PrintedList, printed_list
from blindcal.deciding.publish import (
    interrupted_release,
    latest_release,
    published_in,
    read_record,
    release_folder,
)
from blindcal.deciding.record import Record
from blindcal.errors import BlindcalError, InputError
from blindcal.exporters import FORMATS, export
from blindcal.exporters.formats import (
    DECISIONS,
    LEFT_OUT,
    TAKEN_BACK,
    WAITING,
    DecidedPaper,
    decided_of,
    decision_words,
    read_decided,
    read_titles,
)
from blindcal.fitting.committee import MatchedPeople, match_people, read_aliases, read_committee, read_names
from blindcal.fitting.estimate import Fitted, check_fit_targets, fit
from blindcal.fitting.history import fingerprint_of_past, order_remarks, past_conferences, past_people
from blindcal.fitting.received_sums import SharedSums
from blindcal.io.atomic_files import lock, make_folder, read_bytes, refuse_published, write_bytes, write_table
from blindcal.io.cells import count
from blindcal.io.tables import format_table
from blindcal.planning.conference_plan import Answer, answer, plan_remarks
from blindcal.planning.level_menu import LevelAnswer, level_answer
from blindcal.planning.request import Request
from blindcal.pools.candidates import Similarity, read_similarity
from blindcal.posterior.inputs import PAST, Inputs, read_inputs
from blindcal.posterior.loads import read_loads
from blindcal.posterior.reuse_guard import read_scale, reuse_warnings
from blindcal.posterior.this_year import EVIDENCE_FILE, ThisYearInputs
from blindcal.project.create import past_table
from blindcal.project.imports import (
    Notes,
    decided,
    edited_settings,
    folder_reviews,
    free_place,
    unknown_reviewers_listed,
)
from blindcal.project.settings import (
    FILE,
    Folder,
    Value,
    folder_request,
    number_hint,
    parse_paper_counts,
    read_folder,
)
from blindcal.report.guarantee_survey import Survey, survey_release
from blindcal.report.html_page import Report, page
from blindcal.report.wording import certificate_of, has_figures, read_certificate
from blindcal.reviewers.calibration import Scale
from blindcal.reviews import Reviews
from blindcal.verification import Verification, latest, verify_latest

# What a folder says.


def opened(path: Path) -> Folder:
    """The conference's folder at `path`."""
    if not os.path.lexists(path):
        raise InputError(f"{path}: there is no such folder")
    return read_folder(path)


def settings_of(folder: Folder, *, yes_leak: bool = False) -> Request:
    """What the settings of a folder add up to; problems with them name the file.

    `yes_leak` is the consent of a chair whose guarantee is `none`.
    """
    check_calibrated(folder)
    file, rate = str(folder.file), folder.text("accept-rate") or "0.5"
    if not 0.0 < float(rate) < 1.0:
        hint = number_hint(rate, percent=True)
        raise InputError(f"{file}: accept-rate: {rate!r} {open_interval_rule(0.0, 1.0)}{hint}")
    try:
        request = folder_request(folder, yes_leak=yes_leak)
        if request.source != PAST and request.people is None and "committee" in folder.settings:
            # A committee says how many people reviewed at most; its conflicts are kept and not used.
            return replace(request, people=len(read_committee(folder.text("committee"))))
        return request
    except InputError as error:
        message = str(error)
        raise InputError(message if message.startswith(file) else f"{file}: {message}") from None


def key_of(folder: Folder, key: Path | None = None) -> Path:
    """The `key` that is given, or else the folder's own."""
    return Path(folder.required("key")) if key is None else key


def check_calibrated(folder: Folder) -> None:
    """Refuse a folder that needs a calibration and has none, and say which command makes it."""
    if folder.source != PAST:
        return
    path = folder.required("reviewers")
    if not os.path.lexists(path):
        past = "" if folder.past else f" (name past reviews as past = [...] in {FILE} first)"
        raise InputError(
            f"there is no calibration {path} yet: `blindcal fit {folder.path}` makes it from past "
            f"reviews{past}"
        )


def release_of(folder: Folder) -> Path:
    """The latest complete release of a folder."""
    out = Path(folder.required("out"))
    release = (latest_release(out) if folder.numbered else None) or out
    if not any(os.path.lexists(release / name) for name in ("decisions.csv", "certificate.json")):
        raise InputError(f"{folder.path} has no release yet: `blindcal decide {folder.path}` makes the first")
    return release


def releases_of(folder: Folder) -> list[Path]:
    """Where a folder keeps its releases, against which its key and private log are checked."""
    out = folder.text("out")
    return [Path(out)] if out and published_in(out) else []


def interrupted_remarks(folder: Folder) -> list[str]:
    """A latest release that is incomplete, and how to complete it, for someone who only reads."""
    out = folder.text("out")
    left = interrupted_release(out) if folder.numbered else None
    if left is None:
        return []
    return [
        f"{left} was left incomplete by an interrupted run: `blindcal decide {folder.path}` completes it; "
        f"the latest complete release is {latest_release(out) or 'still to come'}"
    ]


def change_settings(folder: Folder, settings: Mapping[str, Value | None], notes: Notes | None = None) -> None:
    """Change lines of a folder's conference.toml; the chair's comments and all other lines stay.

    `settings` has values by name, None for a line that goes; `notes` lines about papers likewise.
    """
    with lock(folder.file):
        text = edited_settings(folder.path, settings, notes)
        write_bytes(folder.file, text.encode(), confidential=True, replace=True)


@contextmanager
def folder_inputs(folder: Folder, grid: Sequence[float] | None = None) -> Iterator[Inputs | ThisYearInputs]:
    """The conference in a folder's files, without withdrawn papers.

    Reviewers who turn out to be in no pool are listed beside the reviews, never in the public folder; `grid`
    has the scores that can be given, if they are not those that the folder says.
    """
    with unknown_reviewers_listed(folder):
        yield _read_inputs(folder, folder.grid if grid is None else grid)


def _read_inputs(folder: Folder, grid: Sequence[float] | None) -> Inputs | ThisYearInputs:
    withdrawn = tuple(folder.withdrawn)
    if folder.source != PAST:
        made = folder.required("evidence") if folder.source == EVIDENCE_FILE else None
        return read_inputs(folder.required("reviews"), evidence=made, grid=grid, withdrawn=withdrawn)
    reviews, reviewers, pools = (folder.required(name) for name in ("reviews", "reviewers", "pools"))
    return read_inputs(reviews, reviewers, pools, grid=grid, withdrawn=withdrawn)


# Whether it is worth it.


def folder_answer(folder: Folder, *, seconds: float, workers: Workers = 1) -> Answer | LevelAnswer | None:
    """Whether calibration is worth it under the folder's guarantee, refined for some `seconds`.

    None if the folder is not ready for it.
    """
    try:
        request, inputs = settings_of(folder), _read_inputs(folder, folder.grid)
        if isinstance(inputs, ThisYearInputs):
            return level_answer(inputs, request)
        return answer(inputs, request.for_inputs(inputs), seconds=seconds, workers=workers)
    except BlindcalError:
        # What is missing or wrong is said by the command that needs it.
        return None


# Calibration.


@dataclass(frozen=True)
class FolderFit:
    """A calibration that was fitted in a folder. CONFIDENTIAL."""

    fitted: Fitted  # the calibration
    # Who of the committee was found in past reviews; None if there is no committee
    people: MatchedPeople | None
    out: Path  # the table that it was written to
    remarks: tuple[str, ...]  # what the chair should know, a sentence each; nobody is named


def fit_folder(folder: Folder, *, workers: int = 1, progress: Progress = no_progress) -> FolderFit:
    """Estimates reviewers from the past conferences of a folder, and writes the table that it names."""
    reviews = folder_reviews(folder)
    if reviews is None:
        raise InputError(
            f"{folder.path} has no reviews yet: `blindcal import {folder.path} FILE` brings them"
        )
    current = out = Path(folder.required("reviewers"))
    # Once papers are decided, a further table is written.
    if frozen := decided(folder) and current.exists():
        out = folder.path / free_place(folder.path, current.name)
    else:
        check_fit_targets(out, None, replace=True)
    refuse_published(out)
    tables = _past_tables(folder)
    same = read_aliases(folder.text("same")) if "same" in folder.settings else {}
    committee = read_committee(folder.text("committee")) if "committee" in folder.settings else None
    past = {name: table for name, table in tables.items() if isinstance(table, Reviews)}
    reused = reuse_warnings(map(fingerprint_of_past, past_conferences(past)), reviews) if past else []
    people, remarks = None, list[str]()
    if committee is not None:
        names = {path: read_names(path) for path in past}
        reviewers = past_people(tables, names)
        people = match_people(committee, [*reviewers.values()], same)
        people.refuse_strangers()
        unused = same.keys() - {who for listed in reviewers.values() for who in listed}
        same = dict(people.same)
        remarks = order_remarks(reviewers, committee, same)
        if unused:
            remarks.append(f"{count(len(unused), 'id')} of {folder.text('same')} stood in no past review")
    fitted = fit(
        tables,
        committee=committee,
        this_year=None if frozen else reviews,
        better=folder.text("better"),
        past_better=_better_ends(folder.settings.get("past-better", ())),
        same=same,
        scale=_kept_scale(current) if frozen else None,
        workers=workers,
        progress=progress,
    )
    out = _written(fitted, folder, current, out)
    if people is not None and people.pairs:
        listing = people_listing(out)
        write_table(listing, people.columns(), confidential=True, replace=True)
        remarks += people.remarks(listing)
    if frozen:
        remarks.append(
            f"papers are decided: the calibration keeps the shift and stretch of {current}, and decisions "
            "stand. `blindcal decide` with --amend and --reason decides new papers by it"
        )
    return FolderFit(fitted, people, out, (*reused, *fitted.checks.notes, *remarks))


def people_listing(table: Path) -> Path:
    """Where `fit_folder` lists whom past ids were taken for, beside the calibration's `table`."""
    return table.with_name(f"{table.name}.people.csv")


def _past_tables(folder: Folder) -> dict[str, Reviews | SharedSums]:
    """The past conferences of a folder, oldest first: reviews, or sums that a conference shared."""
    if not folder.past:
        raise InputError(
            f"{folder.path} has no past reviews: `blindcal import {folder.path} FILE --as past` brings them"
        )
    if len({*folder.past}) < len(folder.past):
        raise InputError(f"{folder.file}: past must not name a table twice")
    return {path: past_table(Path(path)) for path in folder.past}


def _written(fitted: Fitted, folder: Folder, current: Path, out: Path) -> Path:
    """Write the calibration, and return where it is: an equal one that papers were decided with stays."""
    if out == current:
        fitted.write(out, replace=True)
        return out
    if read_bytes(current) == format_table(fitted.columns()):
        return current
    make_folder(out.parent)
    fitted.write(out)
    change_settings(folder, {"reviewers": out.relative_to(folder.path).as_posix()})
    return out


def _kept_scale(earlier: Path) -> Scale:
    scale = read_scale(earlier)
    if scale is None:
        raise InputError(
            f"papers were decided with {earlier}, which `blindcal fit` did not move to this year's scale: "
            "there is no scale to keep"
        )
    return scale


def _better_ends(texts: object) -> dict[str, str]:
    """The better ends of past conferences.

    >>> _better_ends(("2021=low",))
    {'2021': 'low'}
    """
    pairs = [(text, *text.rpartition("=")) for text in texts] if isinstance(texts, tuple) else []
    for text, name, _, _ in pairs:
        if not name:
            raise InputError(f"past-better must be like 2021=low, found {text!r}")
    return {name: end for _, name, _, end in pairs}


# Decisions.


class FolderRelease(NamedTuple):
    """A release that was made in a folder: its `outcome`, and the public folder where it lies."""

    outcome: Outcome
    public: Path


def decide_folder(
    folder: Folder,
    *,
    key: Path | None = None,
    amend: bool = False,
    reason: str = "",
    published: Sequence[Path] = (),
    yes_leak: bool = False,
    despite_misfit: bool = False,
    workers: Workers = 1,
    progress: Progress = no_progress,
) -> FolderRelease:
    """Decides every paper privately, once, as a folder's settings and `blindcal.decide` say.

    `despite_misfit`: whether to go on though the calibration does not fit the scores.
    """
    request = settings_of(folder, yes_leak=yes_leak)
    with folder_inputs(folder) as inputs:
        outcome = decide(
            inputs,
            request,
            key_of(folder, key),
            folder.required("out"),
            numbered=folder.numbered,
            published=[*published, *releases_of(folder)],
            amend=amend,
            reason=reason,
            yes_leak=yes_leak,
            despite_misfit=despite_misfit,
            distinct_papers=folder.settings.get("distinct-papers") is True,
            workers=workers,
            progress=progress,
        )
    return FolderRelease(outcome, _public(folder, outcome.record.release))


def _public(folder: Folder, release: int) -> Path:
    out = Path(folder.required("out"))
    return release_folder(out, release) if folder.numbered else out


# What is made of a release: files for other systems, and pages.


@dataclass(frozen=True)
class ReleaseExport:
    """The decisions of a release as a system reads them."""

    name: str  # what to call the file
    to: str  # the system
    data: bytes  # the bytes of the file
    papers: tuple[DecidedPaper, ...]  # the papers, with decisions by hand in place of blindcal's
    words: Mapping[str, int]  # how many papers each word for a decision stands at
    remarks: tuple[str, ...]  # what the chair should know, a sentence each
    confidential: bool = False  # whether it is a list that was not released


def folder_list(
    folder: Folder, accept: str, wait_list: str | None = None, *, key: Path | None = None
) -> PrintedList:
    """The list of another number of papers than was released, for the chair alone; nothing is drawn.

    `accept`: how many papers, or how many of each track, as text. `wait_list`: how many more wait, in the
    same form; by default those who wait in the release. Papers that the folder calls withdrawn are left out.
    """
    number = parse_paper_counts("`accept`", accept or None)
    if number is None:
        raise InputError("say how many papers to accept")
    record = read_record(release_of(folder), key_of(folder, key))
    return printed_list(record, number, parse_paper_counts("`wait_list`", wait_list), folder.withdrawn)


def export_release(
    folder: Folder | None,
    release: Path,
    to: str,
    what: str = "decisions",
    *,
    accepted: str | None = None,
    rejected: str | None = None,
    waiting: str | None = None,
    printed: PrintedList | None = None,
    key: Path | None = None,
) -> ReleaseExport:
    """The decisions of a release for a conference system, or as a table.

    `folder`: the conference's folder, whose titles, words and decisions by hand are used; None without. `to`:
    the system or kind of table, one of `exporters.FORMATS`. `waiting`: what it calls the wait list; without
    it, its papers are not sent to a system. `printed`: a list of another number in place of the release's.
    """
    settings: Mapping[str, Any] = {} if folder is None else folder.settings
    titles = str(settings["titles"]) if "titles" in settings else None
    by_hand = {} if folder is None else folder.overridden
    edits = {paper: text.split(":")[0] for paper, text in by_hand.items()}
    if printed is not None:
        gone = () if folder is None else folder.withdrawn
        edits = {paper: word for paper, word in edits.items() if paper not in gone}
        text = printed.text if what == "advice" else printed.public
        papers = decided_of(text.encode(), "the printed list", titles, edits)
    else:
        papers = read_decided(release, titles, edits)
    if what == "advice" and not all(paper.advice for paper in papers):
        secret = key if folder is None else key_of(folder, key)
        if secret is None:
            raise InputError(
                "scores are confidential, and so is the advice, which only the private log has: give `key`"
            )
        papers = decided_of(read_record(release, secret).decisions.encode(), str(release), titles, edits)
    if what == "decisions" and to in FORMATS and FORMATS[to].worded:
        # The folder's words are for systems that have words; words that are given may be a mistake elsewhere.
        accepted, rejected = (
            str(settings[name]) if word is None and name in settings else word
            for name, word in (("accepted", accepted), ("rejected", rejected))
        )
    data = export(papers, to, what, accepted=accepted, rejected=rejected, waiting=waiting)
    remarks, words = tuple[str, ...](), dict[str, int]()
    if what == "decisions":
        remarks, number = _export_remarks(papers, to, waiting), Counter(paper.decision for paper in papers)
        remarks += _gone_remarks(folder, papers, to)
        called = decision_words(to, accepted, rejected, waiting).items()
        words = {
            word: number[decision] for decision, word in called if number[decision] or decision in DECISIONS
        }
    if printed is not None:
        remarks = (*_changed_words(printed), *remarks)
    name = f"{what}-{to}.{FORMATS[to].ending}"
    return ReleaseExport(name, to, data, tuple(papers), words, remarks, printed is not None)


def _changed_words(printed: PrintedList) -> tuple[str, ...]:
    """Remarks on the papers that the printed list decides otherwise than the release."""
    words = sorted({(then, now) for _, then, now in printed.changes})
    return tuple(
        f"{then} in the release, {now} here: "
        + ", ".join(paper for paper, *both in printed.changes if both == [then, now])
        for then, now in words
    )


def _export_remarks(papers: Sequence[DecidedPaper], to: str, waiting: str | None) -> tuple[str, ...]:
    overridden = sum(paper.overridden for paper in papers)
    by_hand = (
        f"{count(overridden, 'decision')} overridden by hand: the certificate is about blindcal's own "
        "decisions, and does not say what these reveal"
    )
    waits = [paper.paper for paper in papers if paper.decision == WAITING] if waiting is None else []
    what = {
        TAKEN_BACK: "the file takes back what an earlier one said of them",
        LEFT_OUT: f"not in the file: {', '.join(waits)}. {_TAKE_BACK}",
    }.get(FORMATS[to].waiting)
    word = "" if FORMATS[to].own_words else "; `waiting` says what you call it"
    on_it = f"{count(len(waits), 'paper')} on the wait list: {what}{word}"
    return (*([by_hand] if overridden else []), *([on_it] if waits and what else []))


_TAKE_BACK = "If an earlier file decided any of them, take that back in your system"


def _gone_remarks(folder: Folder | None, papers: Sequence[DecidedPaper], to: str) -> tuple[str, ...]:
    """A remark on papers that a release of the folder accepted and this list does not have."""
    if folder is None or not FORMATS[to].upload:
        return ()
    releases = [read_decided(seen.path.parent) for seen in published_in(folder.text("out"))]
    accepted = [paper.paper for release in releases for paper in release if paper.decision == DECISIONS[0]]
    gone = [paper for paper in dict.fromkeys(accepted) if paper not in {other.paper for other in papers}]
    named = f"accepted by a release and not in this list: {', '.join(gone)}. {_TAKE_BACK}"
    return (named,) if gone else ()


class ReleasePage(NamedTuple):
    """A report about a release: its HTML, the survey that it shows, and what the reader should know."""

    html: str
    survey: Survey | None
    remarks: tuple[str, ...]


def report_release(
    folder: Folder | None,
    release: Path,
    *,
    confidential: bool = False,
    key: Path | None = None,
    workers: Workers = 1,
    progress: Progress = no_progress,
) -> ReleasePage:
    """The page about a release, for everyone or for the chair.

    The survey in it is made from the files of the conference's `folder`. A `confidential` page is for the
    chair alone, and needs the `key` if scores are confidential.
    """
    certificate, papers = read_certificate(release), read_decided(release)
    if confidential and certificate["scores"] == "confidential":
        certificate, papers = sealed_release(release, key if folder is None else key_of(folder, key))
    if len(papers) != certificate["papers"]:
        raise InputError(
            f"{release}: certificate.json is about {count(certificate['papers'], 'paper')}, and "
            f"decisions.csv has {len(papers):,}"
        )
    survey, remarks, notes = None, [], tuple[str, ...]()
    if certificate["source"] != PAST:
        remarks += ["the page has no expected errors: `blindcal plan` gives their range"]
    elif not has_figures(certificate):
        remarks += [
            "scores are confidential: the page has no figure that depends on them; `confidential` has all"
        ]
    elif folder is None:
        remarks += ["without the conference's folder the page has no menu and no gray zone"]
    else:
        with folder_inputs(folder) as inputs:
            if isinstance(inputs, Inputs):
                survey = survey_release(inputs, certificate, papers, workers=workers, progress=progress)
    if has_figures(certificate):
        notes = tuple(plan_remarks(certificate, certificate["limits"].get("never_against")))
    titles = None if folder is None else folder.settings.get("titles")
    names = read_titles(str(titles)) if titles and confidential else {}
    html = page(Report(certificate, papers, survey, confidential, names, notes))
    return ReleasePage(html, survey, tuple(remarks))


def sealed_release(release: Path, key: Path | None) -> tuple[dict[str, Any], tuple[DecidedPaper, ...]]:
    """Certificate and decisions of a release with all figures, from the private log of its `key`."""
    if key is None:
        raise InputError(
            "scores are confidential, and only the private log has the figures of this release: give `key`"
        )
    record, name = read_record(release, key), str(release)
    return certificate_of(record.certificate.encode(), name), decided_of(record.decisions.encode(), name)


# What others could learn, and whether all is as it says.


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
    workers: Workers = 1,
    progress: Progress = no_progress,
) -> FolderVerification:
    """Checks the latest release of a folder with the key, from the files that were decided.

    `commitment`: what was published before decisions could be known; None if nothing was. `lists`: tables of
    lists with another number of papers, as `export` writes them.
    """
    check_calibrated(folder)
    past, record = latest(key_of(folder, key), folder.text("conference"))
    out = Path(folder.text("out")) if folder.text("out") else None
    if folder.numbered and out is not None:
        out = release_folder(out, record.release)
        if not out.is_dir():
            raise InputError(
                f"release {record.release} is recorded, and there is no folder {out}: if the run that made "
                "it was interrupted, run the same command again (nothing is drawn twice)"
            )
    with folder_inputs(folder, record.grid) as inputs:
        verification = verify_latest(
            inputs,
            past,
            record,
            out,
            published=[*published, *releases_of(folder)],
            commitment=commitment,
            lists=lists,
            workers=workers,
            progress=progress,
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
    """What adversaries gain from a published `release`, and what the chair should know. CONFIDENTIAL."""

    findings: Findings
    release: OpenedRelease
    remarks: tuple[str, ...]


def audit_folder(
    folder: Folder,
    adversaries: Adversaries | None = None,
    *,
    key: Path | None = None,
    workers: Workers = 1,
    progress: Progress = no_progress,
) -> FolderAudit:
    """Plays adversaries against the latest release of a folder: those always played, and those given."""
    given = adversaries or Adversaries()
    release = open_release(release_of(folder), key_of(folder, key))
    if release.record.request.source != PAST:
        if given != Adversaries():
            raise InputError(
                "papers that are decided by this year's evidence have no candidates: `audit` then observes "
                "names and links, and takes no further adversary"
            )
        seen = observe_release(release_of(folder), key_of(folder, key))
        better = release.record.request.better
        observed = this_year_findings(seen, better=better, progress=progress)
        return FolderAudit(observed, release, tuple(interrupted_remarks(folder)))
    views, loads = release.views, given.loads
    known = None if loads is None else true_loads(views) if loads == "true" else read_loads(loads)
    more = adversary_findings(views, given, known, workers=workers, progress=progress)
    findings = findings_of(views, better=release.record.request.better)
    exactly = (
        "a number of papers was accepted exactly: this adversary sees the private decisions too, so what it "
        "gains is an upper bound"
    )
    remarks = [*interrupted_remarks(folder), *([exactly] if release.record.selection is not None else [])]
    findings = replace(findings, findings=(*findings.findings, *more), erasure=erasure_limit(views, known))
    return FolderAudit(findings, release, tuple(remarks))


def adversary_findings(
    views: Sequence[View],
    given: Adversaries,
    loads: Mapping[str, int] | None,
    *,
    workers: Workers = 1,
    progress: Progress = no_progress,
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
        keep = given.keep
        more += coupled_findings(views, loads, keep=keep, workers=workers, progress=progress)
    return more


def prior_of(text: str) -> str | Similarity:
    """The prior that a `text` names: one of the known ones, or that of a file of similarities."""
    if text in PRIORS:
        return text
    if not Path(text).exists():
        raise InputError(f"--prior must be one of {', '.join(PRIORS)} or a file, found {text!r}")
    return read_similarity(text)
