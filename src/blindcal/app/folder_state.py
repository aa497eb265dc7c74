"""The state of a conference's folder, read anew for each page: what it has, what it lacks, what it decided.

CONFIDENTIAL: it reads who reviewed what, and lets none of it out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blindcal.deciding.key import read_key
from blindcal.errors import InputError
from blindcal.exporters.formats import DecidedPaper, read_decided, table_of
from blindcal.fitting.committee import Pair, read_aliases
from blindcal.io.atomic_files import ADVICE, CERTIFICATE, DECISIONS, read_json, read_table
from blindcal.io.cells import Column
from blindcal.planning.request import Request
from blindcal.posterior.conference import read_reviewers
from blindcal.posterior.reuse_guard import fit_record_path
from blindcal.project.contents import INPUTS
from blindcal.project.fit import people_listing
from blindcal.project.folder import release_of, settings_of
from blindcal.project.imports import decided, folder_reviews
from blindcal.project.publish import sealed_release
from blindcal.project.settings import Folder
from blindcal.report.wording import has_figures, read_certificate
from blindcal.reviews import Reviews, similar_id_warnings

PUBLISHED = (DECISIONS, ADVICE, CERTIFICATE)
"""The files that a release can have."""
# What the menu of guarantees depends on, beside the files.
_PLANNED = ("accept-rate", "accept", "bar", "wait-list", "better", "grid", "reviews", "reviewers", "pools")
Stamp = tuple[object, ...]


@dataclass(frozen=True)
class LatestRelease:
    """The latest decisions of a folder, for the chair."""

    path: Path  # the folder of the release
    certificate: Mapping[str, Any]  # with all figures, if the key is at hand
    papers: tuple[DecidedPaper, ...]  # with all figures too
    public: Mapping[str, Any]  # the certificate as it was published


@dataclass(frozen=True)
class FolderState:
    """What a folder holds at the moment; None for what is not there yet."""

    folder: Folder  # its settings
    reviews: Reviews | None  # this year's, without withdrawn papers
    remarks: Sequence[str]  # what the chair should know about them, a sentence each
    calibrated: int | None  # how many rows the calibration has
    # What the fit found out, if the calibration was fitted here. It names reviewers
    fit: Mapping[str, Any] | None
    # Whom past ids stand for, as the chair said; nobody on the committee if it is the id itself
    same: Mapping[str, str]
    # Past ids that may be a member's, as the fit found them, of whom the chair has not said so
    pairs: tuple[Pair, ...]
    request: Request | None  # what the settings request
    unset: str | None  # or else what they leave open, in words
    fingerprint: str | None  # that of the key
    decided: bool  # whether papers were decided
    release: LatestRelease | None  # the latest complete release
    amendable: bool  # whether files or papers changed after it, so that decisions can be amended
    stamp: Stamp  # other if anything in the folder is other; the results of a step are about one stamp
    planned: Stamp  # the same for what the menu of guarantees depends on


def folder_stamp(folder: Folder) -> Stamp:
    """Something that is other whenever a file of the `folder` is other."""
    named = (value if isinstance(value, tuple) else (value,) for value in folder.settings.values())
    files = [name for names in named for name in names if isinstance(name, str) and os.sep in name]
    out = folder.text("out")
    releases = sorted(Path(out).glob(f"**/{CERTIFICATE}")) if out else []
    return (str(folder.path), *_file_stamps([folder.file, *files, *releases]))


def _file_stamps(paths: Iterable[str | Path]) -> list[tuple[str, int, int]]:
    """Path, time and size of those that are files."""
    there = [(str(path), os.stat(path)) for path in paths if os.path.isfile(path)]
    return [(path, status.st_mtime_ns, status.st_size) for path, status in there]


def read_state(folder: Folder) -> FolderState:
    """Reads all that a `folder` holds."""
    reviews = folder_reviews(folder)
    reviews = None if reviews is None else reviews.without(folder.withdrawn)
    name = os.path.basename(folder.text("reviews"))
    table = folder.text("reviewers") or str(folder.path / INPUTS / "reviewers.csv")
    key = folder.text("key")
    request, unset = requested(folder)
    planned = {name: folder.settings.get(name) for name in _PLANNED}
    files = _file_stamps(str(value) for value in planned.values())
    same = read_aliases(folder.text("same")) if "same" in folder.settings else {}
    release = published(folder)
    return FolderState(
        folder,
        reviews,
        [] if reviews is None else similar_id_warnings(reviews, name),
        len(read_reviewers(table)) if os.path.lexists(table) else None,
        _fit_record(table),
        same,
        _open_pairs(same, people_listing(Path(table))),
        request,
        unset,
        read_key(key).fingerprint if os.path.lexists(key) else None,
        decided(folder),
        release,
        release is not None and _is_amendable(release, reviews, [time for _, time, _ in files]),
        folder_stamp(folder),
        (*planned.items(), *folder.withdrawn, *files),
    )


def _fit_record(table: str) -> Mapping[str, Any] | None:
    """What the fit found out, where the calibration was fitted here. CONFIDENTIAL: it names reviewers."""
    path = fit_record_path(table)
    content = read_json(path) if os.path.lexists(path) else None
    return content if isinstance(content, dict) and isinstance(content.get("checks"), dict) else None


def _is_amendable(release: LatestRelease, reviews: Reviews | None, changed: Iterable[int]) -> bool:
    """Whether papers are others than those of a `release`, or a file `changed` after it."""
    papers = {decided.paper for decided in release.papers}
    made = (release.path / CERTIFICATE).stat().st_mtime_ns
    return (reviews is not None and papers != {*reviews.papers}) or any(time > made for time in changed)


def _open_pairs(known: Mapping[str, str], listing: Path) -> tuple[Pair, ...]:
    """The pairs of a listing that the chair has not confirmed or denied."""
    if not listing.is_file():
        return ()
    names = ("old", "new", "why", "taken")
    table = read_table(listing, [Column(name, secret=True) for name in names])
    rows = zip(*(table.text(name) for name in names), strict=True)
    return tuple(Pair(old, new, why, taken == "yes") for old, new, why, taken in rows if old not in known)


def requested(folder: Folder) -> tuple[Request | None, str | None]:
    """What a `folder` requests, or else what it leaves open, in words.

    >>> requested(Folder(Path("icx2027"), {}, {}, {}))
    (None, 'icx2027/conference.toml: give one of `accept_rate`, `accept` and `bar`')
    """
    try:
        return settings_of(folder, yes_leak=True), None
    except InputError as error:
        return None, str(error)


def published(folder: Folder) -> LatestRelease | None:
    """The latest release of a `folder`, if there is one.

    >>> published(Folder(Path("icx2027"), {"out": "no-such-folder"}, {}, {})) is None
    True
    """
    try:
        path = release_of(folder)
    except InputError:
        return None
    if not (path / CERTIFICATE).is_file():
        return None
    public, key = read_certificate(path), Path(folder.text("key"))
    if (has_figures(public) and public["publishes"] != "advice") or not key.exists():
        return LatestRelease(path, public, read_decided(path) if table_of(path) else (), public)
    return LatestRelease(path, *sealed_release(path, key), public)
