"""The steps of the page *Conference*, each on a conference's folder.

They call the functions that the commands `plan`, `decide` and `report` use; the session keeps the results.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from blindcal.app.jobs import Work
from blindcal.calibrators.assessment import Assessment
from blindcal.compute.parallel import Progress
from blindcal.deciding.ledger import latest_release, read_record
from blindcal.deciding.release import decide, first_of_key
from blindcal.errors import InputError
from blindcal.exporters.decisions import DecidedPaper, decided_of, read_decided, read_titles
from blindcal.fitting.reuse_guard import fit_record_path
from blindcal.io.atomic_files import read_json
from blindcal.planning.calibration_check import CalibrationCheck, check_calibration
from blindcal.planning.conference_plan import input_remarks, plan_remarks
from blindcal.posterior.conference import read_reviewers
from blindcal.project.create import CreatedFolder
from blindcal.project.outsiders import unknown_reviewers_listed
from blindcal.project.settings import FILE, Folder, FolderRequest, folder_request, read_folder
from blindcal.report.explanation import certificate_of, has_figures, read_certificate
from blindcal.report.guarantee_survey import Survey, survey, survey_release
from blindcal.report.html_page import Report, page
from blindcal.reviews import Reviews, similar_id_warnings

PUBLISHED = ("decisions.csv", "certificate.json")


@dataclass(frozen=True)
class Compared:
    """The guarantees compared for a folder.

    `survey` has what each would cost, `fit` whether the calibration fits the scores, and `remarks` what the
    chair should know.
    """

    survey: Survey
    fit: CalibrationCheck
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class LatestRelease:
    """The latest decisions of a folder, for the chair.

    `path` is the folder of the release, `certificate` has all figures, `decided` the papers, and `public` the
    certificate as it was published; `remarks` has what the chair should know if it was just made.
    """

    path: Path
    certificate: Mapping[str, Any]
    decided: tuple[DecidedPaper, ...]
    public: Mapping[str, Any]
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pages:
    """The `public` report for everyone, and the one for the `chair`, both as HTML."""

    public: str
    chair: str


@dataclass(frozen=True)
class OpenedFolder:
    """A conference's folder and all that was found out about it so far; None where nothing was.

    `folder`: its settings; `reviews`: without those of withdrawn papers.
    `remarks`: what the chair should know about them.
    `calibrated`: how many rows the calibration has; `fit`: what the fit found out, if it was fitted here.
    `founded`: what was made, if the folder is new.
    `assessed`: whether calibration is worth it; `compared`: what each guarantee would cost.
    `release`: what was published last; `pages`: the reports about it.
    `wanted`: what the settings request, or else `unset`: what they leave open.
    """

    folder: Folder
    reviews: Reviews
    remarks: tuple[str, ...]
    calibrated: int | None
    fit: Mapping[str, Any] | None = None
    founded: CreatedFolder | None = None
    assessed: Assessment | None = None
    compared: Compared | None = None
    release: LatestRelease | None = None
    pages: Pages | None = None
    wanted: FolderRequest | None = None
    unset: str | None = None


def open_folder(path: Path, founded: CreatedFolder | None) -> OpenedFolder:
    """All that the folder at `path` holds already; `founded` is what made it, if it was made just now."""
    folder = read_folder(path)
    file = folder.settings.get("reviews")
    if not isinstance(file, str):
        raise InputError(f"{path / FILE}: must set reviews")
    wanted, unset = requested(folder)
    reviews = Reviews.read(file, grid=None if wanted is None else wanted.grid)
    reviews = reviews.without(folder.withdrawn)
    table = str(folder.settings.get("reviewers", ""))
    calibrated = len(read_reviewers(table)) if os.path.lexists(table) else None
    remarks = () if founded is None else founded.remarks
    return OpenedFolder(
        folder,
        reviews,
        (*remarks, *similar_id_warnings(reviews, os.path.basename(file))),
        calibrated,
        _fit(table),
        founded,
        release=published(folder),
        wanted=wanted,
        unset=unset,
    )


def _fit(table: str) -> Mapping[str, Any] | None:
    """What the fit found out, where the calibration was fitted here. CONFIDENTIAL: it names reviewers."""
    path = fit_record_path(table)
    content = read_json(path) if os.path.lexists(path) else None
    return content if isinstance(content, dict) and isinstance(content.get("checks"), dict) else None


def requested(folder: Folder) -> tuple[FolderRequest | None, str | None]:
    """What a `folder` requests, or else what it leaves open, in words.

    >>> requested(Folder(Path("icx2027"), {}, {}, {}))
    (None, 'give one of `accept_rate`, `accept` and `bar`')
    """
    try:
        return folder_request(folder), None
    except InputError as error:
        return None, str(error)


def published(folder: Folder) -> LatestRelease | None:
    """The latest release of a `folder`, if there is one.

    >>> published(Folder(Path("icx2027"), {"out": "no-such-folder"}, {}, {})) is None
    True
    """
    out = Path(str(folder.settings.get("out", "")))
    place = (latest_release(out) if folder.settings.get("numbered") else None) or out
    if not all((place / name).is_file() for name in PUBLISHED):
        return None
    public, decided = read_certificate(place), read_decided(place)
    if has_figures(public):
        return LatestRelease(place, public, decided, public)
    record, name = read_record(place, str(folder.settings.get("key", ""))), str(place)
    full = certificate_of(record.certificate.encode(), name)
    return LatestRelease(place, full, decided_of(record.decisions.encode(), name), public)


def listing_strangers(wanted: FolderRequest, folder: Folder, work: Work) -> Work:
    """The same `work`; if it finds reviewers in no pool, they are listed in a file beside the reviews."""

    def listed(progress: Progress) -> Any:
        with unknown_reviewers_listed(Path(wanted.files[0]), wanted.out, folder):
            return work(progress)

    return listed


def compare_guarantees(wanted: FolderRequest, workers: int, progress: Progress) -> Compared:
    """The menu of guarantees for what a folder requests (`wanted`), and what the chair should know.

    `workers`: how many processes share the work; results are the same.
    `progress`: called as work goes on.
    """
    inputs = wanted.inputs()
    request = wanted.request.on_scale(inputs.scale)
    conference, _ = request.prepared(inputs, workers=workers, progress=progress)
    fit = check_calibration(conference.cases, request.better)
    found = survey(conference, request.guarantee, better=request.better, workers=workers, progress=progress)
    return Compared(found, fit, (*input_remarks(inputs, conference, request), *fit.notes))


def decide_folder(
    wanted: FolderRequest, folder: Folder, workers: int, progress: Progress
) -> tuple[LatestRelease, Pages]:
    """Decide with the folder's key, once; the decisions as published, and both reports.

    `wanted`: what the folder requests; `folder`: its settings.
    `workers`: how many processes share the work; results are the same.
    `progress`: called as work goes on.
    """
    outcome = decide(
        wanted.inputs(),
        wanted.request,
        wanted.key,
        wanted.out,
        numbered=wanted.numbered,
        distinct_papers=wanted.distinct_papers,
        workers=workers,
        progress=progress,
    )
    release = published(folder)
    if release is None:
        raise InputError(f"{wanted.out}: the decisions that were just published are gone")
    release = replace(release, remarks=(*filter(None, [first_of_key(outcome)]), *outcome.remarks))
    return release, report_pages(wanted, folder, release, workers, progress)


def report_pages(
    wanted: FolderRequest, folder: Folder, release: LatestRelease, workers: int, progress: Progress
) -> Pages:
    """Both reports about a `release`.

    `wanted`: what the folder requests; `folder`: its settings.
    `workers`: how many processes share the work; results are the same.
    `progress`: called as work goes on.
    """
    content, decided = release.certificate, release.decided
    found = survey_release(wanted.inputs(), content, decided, workers=workers, progress=progress)
    titles = folder.settings.get("titles")
    names = read_titles(titles) if isinstance(titles, str) and os.path.exists(titles) else {}
    notes = tuple(plan_remarks(content, content["limits"].get("never_against")))
    public = Report(content, decided, found)
    if not has_figures(release.public):
        public = Report(release.public, read_decided(release.path))
    return Pages(
        page(public),
        page(Report(content, decided, found, confidential=True, titles=names, notes=notes)),
    )
