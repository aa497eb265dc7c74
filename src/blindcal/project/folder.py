"""What a conference's folder says: its request, its inputs, its releases, and how its settings change.

The commands and the app take their steps on the folder as `read_folder` returns it, in `fit`, `decide`,
`publish` and `check`: each function does one step, prints nothing, and returns what happened. The command
line words the results for a terminal, and the app shows them on a page, so that both can take turns. A `key`
is given if it lies elsewhere than the folder says.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

from blindcal.checks import open_interval_rule
from blindcal.compute.parallel import Progress, Workers
from blindcal.deciding.publish import interrupted_release, latest_release, published_in
from blindcal.errors import InputError
from blindcal.fitting.committee import read_committee
from blindcal.io.atomic_files import CERTIFICATE, DECISIONS, lock, write_bytes
from blindcal.planning.request import Request
from blindcal.posterior.inputs import PAST, Inputs, read_inputs
from blindcal.posterior.reuse_guard import read_better_ends
from blindcal.posterior.this_year_inputs import EVIDENCE_FILE, ThisYearInputs
from blindcal.project.imports import Notes, edited_settings, unknown_reviewers_listed
from blindcal.project.settings import FILE, Folder, Value, folder_request, number_hint


class Work(TypedDict, total=False):
    """Who does the work of a step, and who watches it; the library's defaults hold for what is left out."""

    workers: Workers  # how many processes on this machine, or a cluster
    progress: Progress


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
    """Refuse a folder whose calibration is missing or turned, and say which command makes it."""
    if folder.source != PAST:
        return
    path = folder.required("reviewers")
    if not os.path.lexists(path):
        past = "" if folder.past else f" (name past reviews as past = [...] in {FILE} first)"
        raise InputError(
            f"there is no calibration {path} yet: `blindcal fit {folder.path}` makes it from past "
            f"reviews{past}"
        )

    stated, usual = past_better_ends(folder), folder.text("better")
    turned = [name for name, end in read_better_ends(path).items() if end != stated.get(name, usual)]
    if turned:
        raise InputError(
            f"{path} was fitted with other scores as the better ones in {', '.join(turned)} than {FILE} says "
            f"now: `blindcal fit {folder.path}`"
        )


def past_better_ends(folder: Folder) -> dict[str, str]:
    """The better ends of past conferences that a folder states.

    >>> past_better_ends(Folder(Path("icx2027"), {"past-better": ("2021=low",)}, {}, {}))
    {'2021': 'low'}
    """
    stated = folder.settings.get("past-better")
    ends = {text: text.rpartition("=") for text in (stated if isinstance(stated, tuple) else ())}
    for text, (name, _, _) in ends.items():
        if not name:
            raise InputError(f"past-better must be like 2021=low, found {text!r}")
    return {name: end for name, _, end in ends.values()}


def release_of(folder: Folder) -> Path:
    """The latest complete release of a folder."""
    out = Path(folder.required("out"))
    release = (latest_release(out) if folder.numbered else None) or out
    if not any(os.path.lexists(release / name) for name in (DECISIONS, CERTIFICATE)):
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
        yield read_folder_inputs(folder, folder.grid if grid is None else grid)


def read_folder_inputs(folder: Folder, grid: Sequence[float] | None) -> Inputs | ThisYearInputs:
    """The same without a list of reviewers who are in no pool."""
    withdrawn = tuple(folder.withdrawn)
    if folder.source != PAST:
        made = folder.required("evidence") if folder.source == EVIDENCE_FILE else None
        return read_inputs(folder.required("reviews"), evidence=made, grid=grid, withdrawn=withdrawn)
    reviews, reviewers, pools = (folder.required(name) for name in ("reviews", "reviewers", "pools"))
    return read_inputs(reviews, reviewers, pools, grid=grid, withdrawn=withdrawn)
