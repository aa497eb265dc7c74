"""The session behind the page *Conference*: the open folder, the uploaded files, and the work on them.

CONFIDENTIAL: it reads who reviewed what, and lets none of it out. Every step is a function that the command
line uses too: `new`, `assess`, `plan`, `decide`, `report`. Uploaded files stay in a private place until a
folder is made of them.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import RLock
from typing import Any

from blindcal.app.jobs import Job, Work
from blindcal.app.steps import (
    OpenedFolder,
    compare_guarantees,
    decide_folder,
    listing_strangers,
    open_folder,
    published,
    report_pages,
    requested,
)
from blindcal.calibrators.assessment import Assessment, assess
from blindcal.cells import count
from blindcal.compute.parallel import Progress, run_in_process
from blindcal.errors import InputError, RefusedError
from blindcal.fitting.committee import read_aliases
from blindcal.importers import (
    MAX_EXPORT,
    Choices,
    Imported,
    import_reviews,
    read_conflicts,
    read_people,
    withdrawn_lines,
)
from blindcal.io.atomic_files import read_bytes, write_bytes
from blindcal.posterior.conference import read_reviewers
from blindcal.project.create import (
    CreatedFolder,
    InitialSettings,
    SourceFiles,
    create_folder,
    import_past,
    key_beside,
)
from blindcal.project.settings import (
    FILE,
    FolderRequest,
    Value,
    folder_request,
    guarantee_settings,
    read_folder,
)
from blindcal.project.template import with_settings
from blindcal.reviews import Reviews
from blindcal.simulation.population import RATE, example, example_files

ROLES: Mapping[str, str] = {
    "reviews": "This year's reviews",
    "committee": "Committee",
    "past": "Past reviews",
    "conflicts": "Conflicts",
    "pools": "Candidates of each paper",
    "reviewers": "Calibration",
    "same": "Changed ids",
}
"""What a file may be, and how the page calls it."""
SEVERAL = ("past",)
"""Of these there may be several; another file takes the place of any other."""
_LONGEST = 100
_MOST = 30


class TooLargeError(InputError):
    """More bytes than a file may have."""


def checked_name(name: str) -> str:
    """The name of a file as it may stand in a folder, or an `InputError`: no path, nothing hidden.

    >>> checked_name("reviews 2027.csv")
    'reviews 2027.csv'
    >>> checked_name("../key.bin")
    Traceback (most recent call last):
    ...
    blindcal.errors.InputError: the name of a file must be a plain name of at most 100 characters
    """
    plain = bool(name) and len(name) <= _LONGEST and len(name.encode()) <= 2 * _LONGEST and name.isprintable()
    if not plain or any(mark in name for mark in "/\\") or name.startswith(".") or name != name.strip():
        raise InputError(f"the name of a file must be a plain name of at most {_LONGEST} characters")
    return name


def checked_role(role: str) -> str:
    """The same `role` if it is one of `ROLES`, or an `InputError`.

    >>> checked_role("past")
    'past'
    """
    if role not in ROLES:
        raise InputError("there is no such kind of file")
    return role


class Staging:
    """Files for one new folder, by what they are, in a `place` that only its owner can enter."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def open(self, role: str, name: str) -> Incoming:
        """A file to fill; it takes its place when it is whole."""
        folder = self.place / checked_role(role)
        if len([path for path in self.files(role) if path.name != name]) >= _MOST:
            raise InputError(f"there can be at most {_MOST} files of a kind")
        folder.mkdir(mode=0o700, exist_ok=True)
        return Incoming(folder / checked_name(name), alone=role not in SEVERAL)

    def files(self, role: str) -> list[Path]:
        """The files of a kind, by their names."""
        folder = self.place / checked_role(role)
        found = folder.iterdir() if folder.is_dir() else ()
        return sorted(path for path in found if not path.name.startswith("."))

    def remove(self, role: str, name: str) -> None:
        (self.place / checked_role(role) / checked_name(name)).unlink(missing_ok=True)

    def clear(self) -> None:
        for role in ROLES:
            shutil.rmtree(self.place / role, ignore_errors=True)


class Incoming:
    """A file that is being uploaded under a hidden name of its own, and then becomes `target`.

    If the upload ends early, nothing of it stays. If it is to be `alone`, all other files beside it go once
    it is complete.
    """

    def __init__(self, target: Path, *, alone: bool) -> None:
        self.target, self._alone, self.size = target, alone, 0
        self._part = target.with_name(f".{secrets.token_hex(8)}.incoming")

    def __enter__(self) -> Incoming:
        self._file = os.fdopen(os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        return self

    def write(self, data: bytes, limit: int) -> None:
        """This many more bytes, or a `TooLargeError` once there are more than `limit`."""
        self.size += len(data)
        if self.size > limit:
            raise TooLargeError(f"a file must have at most {limit:,} bytes")
        self._file.write(data)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._file.close()
        if kind is not None:
            self._part.unlink(missing_ok=True)
            return
        if self._alone:
            for other in self.target.parent.iterdir():
                # What is hidden is still on its way, and sees to itself.
                if other != self.target and not other.name.startswith("."):
                    other.unlink(missing_ok=True)
        os.replace(self._part, self.target)


EXAMPLE = "example"


@dataclass(frozen=True)
class Upload:
    """A file on its way into a folder.

    `role`: what it is, one of `ROLES`.
    `name`: its own; `size`: in bytes.
    `lines`: what was recognized in it, in words; `error`: what is wrong with it, None if nothing is.
    """

    role: str
    name: str
    size: int
    lines: tuple[str, ...] = ()
    error: Exception | None = None


class Session:
    """One session: a folder at most, one job at a time.

    `home` is where conferences' folders are and new ones are made; `folder` is opened at once, or if there is
    none of that name yet, suggested for a new one. `workers` is how many processes share the work.
    """

    def __init__(self, home: Path, folder: Path | None = None, *, workers: int = 1) -> None:
        self.home = home
        self.suggested = "" if folder is None else folder.name
        self.workers = workers
        self.lock = RLock()
        self.job: Job | None = None
        self.error: BaseException | None = None
        self.opened = None if folder is None or not os.path.lexists(folder) else open_folder(folder, None)
        self.choices = Choices()
        self._private = tempfile.TemporaryDirectory(prefix="blindcal-app-")
        self.private = Path(self._private.name)
        (self.private / "uploads").mkdir(mode=0o700)
        self.staging = Staging(self.private / "uploads")
        self._uploads: dict[tuple[str, str], Upload] = {}

    def close(self) -> None:
        """End what runs, and remove what is private to this session."""
        if self.job is not None:
            self.job.cancel()
            self.job.wait(10.0)
        self._private.cleanup()

    # Opening.

    @property
    def folders(self) -> list[str]:
        """The conferences' folders at home, by name."""
        names = sorted(os.listdir(self.home)) if self.home.is_dir() else []
        return [name for name in names if not name.startswith(".") and (self.home / name / FILE).is_file()]

    def open(self, path: Path) -> None:
        """Open the conference's folder at `path`."""
        with self.lock:
            self.free()
            self.opened = open_folder(path, None)

    def open_named(self, name: str) -> None:
        """Open the folder of this `name` at home."""
        self.open(self.home / checked_name(name))

    def open_example(self) -> None:
        """Open the embedded conference, in a folder that is private to this session and goes with it."""
        place = self.private / EXAMPLE
        with self.lock:
            self.free()
            if not place.exists():
                files = self.private / "embedded"
                files.mkdir(mode=0o700, exist_ok=True)
                for name, data in example_files(example()).items():
                    write_bytes(files / name, data, confidential=True, replace=True)
                given = SourceFiles(
                    files / "reviews.csv", pools=files / "pools.csv", reviewers=files / "reviewers.csv"
                )
                create_folder(place, given, InitialSettings("public", accept_rate=RATE), key_beside(place))
            self.opened = open_folder(place, None)

    def leave(self) -> None:
        """Close the folder; it stays as it is."""
        with self.lock:
            self.free()
            self.opened, self.error = None, None

    @property
    def is_example(self) -> bool:
        return self.opened is not None and self.opened.folder.path == self.private / EXAMPLE

    # Files on their way into a new folder.

    @property
    def uploads(self) -> list[Upload]:
        """The files that are there, each as it was found."""
        there = [(role, path) for role in ROLES for path in self.staging.files(role)]
        return [self._uploads.get((role, path.name), _unread(role, path)) for role, path in there]

    def check_upload(self, role: str, path: Path) -> None:
        """Read a file that came in, and keep what was found in it."""
        found = _unread(role, path)
        try:
            found = replace(found, lines=tuple(self._read(role, path)))
        except Exception as error:
            found = replace(found, error=error)
        with self.lock:
            self._uploads[role, path.name] = found

    def remove_upload(self, role: str, name: str) -> None:
        with self.lock:
            self.staging.remove(role, name)
            self._uploads.pop((role, name), None)

    def choose(self, choices: Choices) -> None:
        """Read what is there again, in another way."""
        with self.lock:
            self.choices = choices
        for role in ("reviews", "past"):
            for path in self.staging.files(role):
                self.check_upload(role, path)

    def _read(self, role: str, path: Path) -> list[str]:
        """What is recognized in a file, in words."""
        if role == "reviews":
            return _imported_lines(import_reviews(read_bytes(path, MAX_EXPORT), str(path), self.choices))
        if role == "past":
            return _imported_lines(import_past(read_bytes(path, MAX_EXPORT), str(path), self.choices))
        if role == "committee":
            return [count(len(read_people(read_bytes(path, MAX_EXPORT), str(path))), "member")]
        if role == "conflicts":
            pairs, what = read_conflicts(read_bytes(path, MAX_EXPORT), str(path))
            return [what, count(len(pairs), "conflict")]
        if role == "reviewers":
            return [f"{count(len(read_reviewers(path)), 'row')} of reviewers"]
        if role == "same":
            return [count(len(read_aliases(path)), "changed id")]
        return ["checked once the folder is made, against reviews and reviewers"]

    def found(self, name: str, wishes: InitialSettings) -> None:
        """Make a folder of the files that are there, and open it."""
        with self.lock:
            self.free()
            place = self.home / checked_name(name)
            one = {role: next(iter(self.staging.files(role)), None) for role in ROLES}
            reviews = one["reviews"]
            if reviews is None:
                raise InputError("a folder needs this year's reviews: choose their file first")
            given = SourceFiles(
                reviews,
                one["committee"],
                self.staging.files("past"),
                one["conflicts"],
                one["pools"],
                one["reviewers"],
                one["same"],
                self.choices,
            )
            self._start("making the folder", partial(self._found, place, given, wishes), self._open_founded)

    def _found(
        self, place: Path, given: SourceFiles, wishes: InitialSettings, progress: Progress
    ) -> tuple[Path, CreatedFolder]:
        made = create_folder(place, given, wishes, key_beside(place), workers=self.workers, progress=progress)
        return place, made

    def _open_founded(self, result: tuple[Path, CreatedFolder]) -> None:
        self.opened = open_folder(*result)
        self.staging.clear()
        self._uploads.clear()

    # Work on the folder that is open.

    def free(self) -> None:
        """A `RefusedError` while a job runs."""
        if self.job is not None and self.job.state.running:
            raise RefusedError("something else is still being computed: wait for it, or cancel it")

    def cancel(self) -> None:
        if self.job is not None:
            self.job.cancel()

    def _start(self, name: str, work: Work, keep: Callable[[Any], None]) -> None:
        self.free()
        self.error = None

        def finish(result: Any, failure: BaseException | None) -> None:
            with self.lock:
                self.error = failure
                if failure is None:
                    keep(result)
                elif self.opened is not None and self.opened.release is None:
                    # Decisions may be published though their report was not wanted any more.
                    self._keep(release=published(self.opened.folder))

        self.job = Job(name, work, finish)
        self.job.start()

    def _there(self) -> OpenedFolder:
        if self.opened is None:
            raise InputError("no conference is open")
        return self.opened

    def _wanted(self) -> FolderRequest:
        opened = self._there()
        if opened.calibrated is None:
            raise InputError("there is no calibration yet: it is made from past reviews")
        return folder_request(opened.folder)

    def _keep(self, **found: Any) -> None:
        self.opened = replace(self._there(), **found)

    def assess(self) -> None:
        """Is calibration worth it here?"""
        with self.lock:
            opened = self._there()
            rate = opened.wanted.request.accept_rate if opened.wanted is not None else None
            work = partial(self._assess, opened.reviews, RATE if rate is None else rate)
            self._start("estimating what calibration would change", work, lambda a: self._keep(assessed=a))

    def _assess(self, reviews: Reviews, rate: float, progress: Progress) -> Assessment:
        with progress("estimating what calibration would change", 1) as advance:
            return run_in_process(partial(assess, accept_rate=rate), reviews, waiting=lambda: advance(0))

    def compare(self) -> None:
        """The menu: what each guarantee would cost this conference."""
        with self.lock:
            wanted, folder = self._wanted(), self._there().folder
            work = listing_strangers(wanted, folder, partial(compare_guarantees, wanted, self.workers))
            self._start("comparing guarantees", work, lambda found: self._keep(compared=found))

    def accept(self, wanted: Mapping[str, Value | None]) -> None:
        """Set how many papers to accept, in the folder's settings."""
        self._set({"accept-rate": None, "accept": None, "bar": None, "wait-list": None, **wanted})
        self._keep(compared=None)

    def choose_guarantee(self, place: int) -> None:
        """Set the guarantee to that of a line of the menu, in the folder's settings."""
        with self.lock:
            compared = self._there().compared
            choices = () if compared is None or compared.survey.menu is None else compared.survey.menu.choices
            if compared is None or not 0 <= place < len(choices):
                raise InputError("there is no such line in the menu")
            chosen = choices[place].guarantee
            if chosen.name == "none":
                raise InputError("decisions without protection are not made here")
            self._set(guarantee_settings(chosen))
            self._keep(compared=replace(compared, survey=replace(compared.survey, chosen=chosen)))

    def _set(self, settings: Mapping[str, Value | None]) -> None:
        with self.lock:
            self.free()
            opened = self._there()
            if opened.release is not None:
                raise RefusedError("the papers are decided: these settings are frozen")
            path = opened.folder.path / FILE
            text = with_settings(read_bytes(path).decode(), settings)
            write_bytes(path, text.encode(), confidential=True, replace=True)
            folder = read_folder(opened.folder.path)
            wanted, unset = requested(folder)
            self.opened = replace(opened, folder=folder, wanted=wanted, unset=unset)

    def decide(self) -> None:
        """Decide every paper, once, and make the report."""
        with self.lock:
            wanted, folder = self._wanted(), self._there().folder
            work = listing_strangers(wanted, folder, partial(decide_folder, wanted, folder, self.workers))
            self._start("deciding", work, lambda found: self._keep(release=found[0], pages=found[1]))

    def report(self) -> None:
        """Make the report of what was decided."""
        with self.lock:
            release = self._there().release
            if release is None:
                raise InputError("nothing is decided yet")
            work = partial(report_pages, self._wanted(), self._there().folder, release, self.workers)
            self._start("making the report", work, lambda pages: self._keep(pages=pages))


def _unread(role: str, path: Path) -> Upload:
    return Upload(role, path.name, path.stat().st_size if path.exists() else 0)


def _imported_lines(found: Imported) -> list[str]:
    """What an import says for itself; it names nobody."""
    reviews = found.reviews
    papers, people = count(len(reviews.papers), "paper"), count(len(reviews.reviewers), "reviewer")
    return [
        f"recognized as {'; '.join(found.recognized)}",
        f"{count(len(reviews), 'review')} of {papers} by {people}",
        f"score: {found.score_field}, with the values {found.scale}",
        *(f"dropped: {item}" for item in found.dropped),
        *(f"not to be decided: {line}" for line in withdrawn_lines(found.withdrawn)),
        *(f"note: {line}" for line in found.warnings),
    ]
