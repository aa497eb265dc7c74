"""The session behind the pages *Conference*: the open folder, files on their way into it, and one job.

CONFIDENTIAL: it reads who reviewed what, and lets none of it out. Every step is the function that a command
calls, on the same folder, so that pages and commands can take turns. Nothing about the conference is kept
here but what a step returned, and that only as long as the folder is as it was.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event, Lock, RLock, Thread
from time import monotonic
from typing import Any

from blindcal.app.folder_state import FolderState, Stamp, folder_stamp, read_state
from blindcal.compute.parallel import Progress
from blindcal.deciding.lists import PrintedList
from blindcal.errors import BlindcalError, InputError, RefusedError
from blindcal.fitting.committee import read_committee
from blindcal.importers.people import read_maps
from blindcal.importers.raw_export import Choices
from blindcal.io.atomic_files import lock, read_bytes, refuse_published, write_table
from blindcal.planning.conference_plan import Answer, answer
from blindcal.planning.level_menu import LevelAnswer, level_answer
from blindcal.policy.guarantee import LIMITS
from blindcal.posterior.this_year import ThisYearInputs
from blindcal.project.check import Adversaries, audit_folder, verify_folder
from blindcal.project.contents import KINDS, Source, check_sources, resolved_kinds
from blindcal.project.create import InitialSettings, create_example, create_folder, key_beside
from blindcal.project.decide import decide_folder
from blindcal.project.fit import fit_folder
from blindcal.project.folder import change_settings, folder_inputs, release_of, settings_of
from blindcal.project.imports import FolderImport, papers_of, read_import, write_import
from blindcal.project.publish import export_release, folder_list, report_release
from blindcal.project.settings import (
    FILE,
    SETTINGS,
    Folder,
    Value,
    guarantee_settings,
    parse_setting,
    read_folder,
    setting_name,
)
from blindcal.simulation.conference import example

PEOPLE_MAP = "map"
"""The kind of a table of who is behind anonymous ids; it is read with the other files, and not kept."""
FROZEN = frozenset(
    ("accept-rate", "accept", "wait-list", "bar", "better", "scores", "guarantee", *map(setting_name, LIMITS))
)
"""Settings that decisions freeze."""
EDITABLE = tuple(
    name
    for name, row in SETTINGS.items()
    if row.kind not in ("file", "files", "pools") and name not in ("conference", "numbered")
)
"""Settings that a page can change; the others name files."""
_PREFIX, _EXAMPLE = "blindcal-app-", "example"
_LONGEST, _MOST = 100, 30


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


class Staging:
    """Files for the open folder, in a `directory` that only its owner can enter."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(mode=0o700)

    def open(self, name: str) -> Incoming:
        """A file to fill; it takes its place when it is whole."""
        if len([path for path in self.files if path.name != name]) >= _MOST:
            raise InputError(f"there can be at most {_MOST} files at a time")
        return Incoming(self.directory / checked_name(name))

    @property
    def files(self) -> list[Path]:
        """The files, by their names."""
        return sorted(path for path in self.directory.iterdir() if not path.name.startswith("."))

    def remove(self, name: str) -> None:
        (self.directory / checked_name(name)).unlink(missing_ok=True)

    def clear(self, *, arriving: bool = False) -> None:
        """Remove all files, also those that are still `arriving` if that is said."""
        for path in [*self.directory.iterdir()] if arriving else self.files:
            path.unlink(missing_ok=True)


class Incoming:
    """A file that is being uploaded under a hidden name of its own, and then becomes `target`.

    If the upload ends early, nothing of it stays.
    """

    def __init__(self, target: Path) -> None:
        self.target, self.size = target, 0
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
        try:
            os.replace(self._part, self.target)
        except FileNotFoundError:
            raise InputError("the conference was closed before the file was here") from None


@dataclass(frozen=True)
class Reading:
    """How files on their way are read.

    Attributes:
        kinds: What a file is, by its name, where a person said so; else its content shows it.
        years: The name of a past conference, by that of its file.
        choices: How exports are read if their content leaves it open.
        keep: Papers to decide though the export calls them withdrawn or decided, as text.
        codes: Whether codes replace reviewers' ids; once they do, they always do.
    """

    kinds: Mapping[str, str] = field(default_factory=dict)
    years: Mapping[str, str] = field(default_factory=dict)
    choices: Choices = field(default_factory=Choices)
    keep: str = ""
    codes: bool = False


@dataclass(frozen=True)
class Checked:
    """What the files on their way hold, read together with the folder; nothing is written yet.

    Attributes:
        brought: What an import would bring; None if a file cannot be read.
        kinds: What each file was taken for, by its name.
        errors: What is wrong with a file, by its name; with all of them together, by an empty name.
    """

    brought: FolderImport | None
    kinds: Mapping[str, str]
    errors: Mapping[str, Exception]


class CanceledError(Exception):
    """The job was canceled."""


@dataclass(frozen=True)
class JobState:
    """How far a job is.

    `name`: its own; `work`: what it does at the moment.
    `done`, `steps`: how many steps of that are done, and how many there are.
    `left`: about how many seconds the rest takes; None as long as nobody can know.
    `running`: whether it goes on; `canceled`: whether it was asked to stop.
    """

    name: str
    work: str
    done: int
    steps: int
    left: float | None
    running: bool
    canceled: bool


class Job:
    """Work that runs in a thread of its own, under a `name` that people read.

    It reports its steps through the library's own hook for progress; that is also where a canceled job stops,
    just as an interrupted command does.
    `work` is called with a hook for progress; `finish` is then called with its result, or with its error.
    """

    def __init__(
        self, name: str, work: Callable[[Progress], Any], finish: Callable[[Any, BaseException | None], None]
    ) -> None:
        self.name = name
        self._work, self._finish = work, finish
        self._lock, self._canceled = Lock(), Event()
        self._now, self._done, self._steps, self._began = name, 0, 0, monotonic()
        self._thread = Thread(target=self._run, name="job", daemon=True)
        self._running = True

    def start(self) -> None:
        self._thread.start()

    def cancel(self) -> None:
        """Ask it to stop; it does at its next step."""
        self._canceled.set()

    def wait(self, seconds: float | None = None) -> None:
        """Until it is over."""
        self._thread.join(seconds)

    def check(self) -> None:
        """A `CanceledError` if it was canceled."""
        if self._canceled.is_set():
            raise CanceledError

    @property
    def state(self) -> JobState:
        with self._lock:
            spent, done, steps = monotonic() - self._began, self._done, self._steps
            left = spent * (steps - done) / done if done and spent > 1.0 else None
            canceled = self._canceled.is_set()
            return JobState(self.name, self._now, done, steps, left, self._running, canceled)

    @contextmanager
    def progress(self, work: str, steps: int) -> Iterator[Callable[[int], None]]:
        """The library's hook."""
        self.check()
        with self._lock:
            self._now, self._done, self._steps, self._began = work, 0, steps, monotonic()
        yield self._advance

    def _advance(self, steps: int) -> None:
        self.check()
        with self._lock:
            self._done = min(self._done + steps, self._steps)

    def _run(self) -> None:
        result, failure = None, None
        try:
            self.check()
            result = self._work(self.progress)
        except BaseException as error:
            failure = error
        try:
            self._finish(result, failure)
        finally:
            with self._lock:
                self._running = False


class Session:
    """One session: a folder at most, one job at a time; every tab sees the same.

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
        self.changes = 0
        self.path = None if folder is None or not os.path.lexists(folder) else read_folder(folder).path
        self._held = ExitStack()
        self.private = _private_folder(self._held)
        self.staging, self.tables = (Staging(self.private / name) for name in ("uploads", "tables"))
        self.reading = Reading()
        self._checked: tuple[Stamp, Checked] | None = None
        self._state: FolderState | None = None
        self._results: dict[str, tuple[Stamp, Any]] = {}

    def close(self) -> None:
        """End what runs, and remove what is private to this session."""
        if self.job is not None:
            self.job.cancel()
            self.job.wait(10.0)
        self._held.close()

    # Opening.

    @property
    def folders(self) -> list[str]:
        """The conferences' folders at home, by name."""
        names = sorted(os.listdir(self.home)) if self.home.is_dir() else []
        return [name for name in names if not name.startswith(".") and (self.home / name / FILE).is_file()]

    @property
    def folder(self) -> Folder:
        """The open folder by its settings, also if another file of it cannot be read."""
        if self.path is None:
            raise InputError("no conference is open")
        return read_folder(self.path)

    @property
    def state(self) -> FolderState:
        """The state of the open folder, read anew if it has changed; also by a command."""
        with self.lock:
            folder = self.folder
            if self._state is None or self._state.stamp != folder_stamp(folder):
                self._state = read_state(folder)
            return self._state

    def open(self, path: Path) -> None:
        """Open the conference's folder at `path`."""
        with self.changing():
            read_folder(path)
            self.path, self.error = path, None
            self._forget()

    def open_named(self, name: str) -> None:
        """Open the folder of this `name` at home."""
        self.open(self.home / checked_name(name))

    def open_example(self) -> None:
        """Open the embedded conference, in a folder that is private to this session and goes with it."""
        path = self.private / _EXAMPLE
        with self.changing():
            if not path.exists():
                create_example(path, example())
            self.open(path)

    def leave(self) -> None:
        """Close the folder; it stays as it is."""
        with self.changing():
            self.path, self.error = None, None
            self._forget()

    @property
    def is_example(self) -> bool:
        return self.path == self.private / _EXAMPLE

    def new(self, name: str, wishes: InitialSettings) -> None:
        """Make a folder and its key before reviews are in, and open it."""
        with self.changing():
            path = self.home / checked_name(name)
            create_folder(path, wishes, key_beside(path))
            self.open(path)

    def _forget(self) -> None:
        """Forget all about a folder that was open, with the files that were on their way into it."""
        for files in (self.staging, self.tables):
            files.clear(arriving=True)
        self.reading, self._checked, self._state = Reading(), None, None
        self._results.clear()

    # Files on their way into the folder.

    def uploaded(self) -> None:
        """Files came in, or were removed: they are read when a page shows them."""
        with self.lock:
            self._checked = None
            self.changes += 1

    def remove_upload(self, name: str) -> None:
        for files in (self.staging, self.tables):
            files.remove(name)
        self.uploaded()

    @property
    def codes(self) -> Path:
        """Where the table of reviewers' codes is, or would be: beside the folder, as its key is."""
        folder = self.folder.path.resolve()
        return folder.with_name(f"{folder.name}.codes.csv")

    def read_as(self, reading: Reading) -> None:
        """Read the files that are there in another way."""
        with self.lock:
            unknown = {*reading.kinds.values()} - {*KINDS, PEOPLE_MAP, ""}
            if unknown:
                raise InputError("there is no such kind of file")
            self.reading = reading
            self.uploaded()

    @property
    def checked(self) -> Checked:
        """The files on their way as `import` would bring them; nothing is written."""
        with self.lock:
            stamp = folder_stamp(self.folder)
            if self._checked is None or self._checked[0] != stamp:
                self._checked = stamp, self._check()
            return self._checked[1]

    def _check(self) -> Checked:
        folder, sources, errors = self.folder, list[Source](), dict[str, Exception]()
        maps, choices = list[Path](), self.reading.choices
        for path in self.staging.files:
            kind = self.reading.kinds.get(path.name) or None
            try:
                if kind == PEOPLE_MAP:
                    maps.append(path)
                    continue
                (source,) = resolved_kinds(folder, [path], kind, choices)
                sources.append(source._replace(name=self.reading.years.get(path.name, "")))
            except BlindcalError as error:
                if kind is None and _names_people(path):
                    maps.append(path)
                else:
                    errors[path.name] = error
        try:
            if maps:
                choices = replace(choices, people=read_maps({str(path): read_bytes(path) for path in maps}))
        except BlindcalError as error:
            errors[maps[0].name] = error
        kinds = {source.path.name: source.kind for source in sources}
        unsaid = [name for name in kinds if kinds[name] == "reviews" and name not in self.reading.kinds]
        if len(unsaid) > 1:
            told = (
                "there are several files of reviews: say here whether these are this year's or a past one's"
            )
            errors |= {name: InputError(told) for name in unsaid}
            kinds = {name: kind for name, kind in kinds.items() if name not in unsaid}
        kinds |= {path.name: PEOPLE_MAP for path in maps}
        if errors or not sources:
            return Checked(None, kinds, errors)
        try:
            check_sources(sources)
            keep, codes = papers_of(self.reading.keep), self.codes
            coded = codes if self.reading.codes or codes.exists() else None
            refuse_published(codes)
            brought = read_import(folder, sources, choices, keep=keep, codes=coded)
        except BlindcalError as error:
            return Checked(None, kinds, {"": error})
        return Checked(brought, kinds, {})

    def bring_in(self) -> None:
        """Write the files that are there into the folder, as `import` does."""
        with self.changing():
            checked = self.checked
            if checked.brought is None:
                raise InputError("there is no file that can be brought in: choose one, or correct it")
            write_import(self.folder, checked.brought, self.codes)
            self.staging.clear()
            self.reading = replace(self.reading, kinds={}, years={})
            self.keep("imported", checked.brought)
            self.uploaded()

    # Settings.

    def set_texts(self, texts: Mapping[str, str]) -> None:
        """Change settings to what was typed; an empty text removes a line."""
        current = self.state.folder.settings
        wanted: dict[str, Value | None] = {}
        for name, text in texts.items():
            if name not in EDITABLE:
                raise InputError("there is no such setting")
            if text.strip() != setting_text(current.get(name)):
                wanted[name] = parse_setting(name, text.strip()) if text.strip() else None
        self.set(wanted)

    def set(self, settings: Mapping[str, Value | None]) -> None:
        """Change settings in conference.toml; frozen ones are refused once papers are decided."""
        with self.changing():
            state = self.state
            if state.decided and FROZEN & settings.keys():
                raise RefusedError("the papers are decided: these settings are frozen")
            change_settings(state.folder, settings)

    def choose_guarantee(self, row: int) -> None:
        """Set the guarantee to that of a line of the menu."""
        with self.lock:
            planned = self.result("planned")
            if planned is None or not 0 <= row < len(planned.menu.choices):
                raise InputError("there is no such line in the menu")
            chosen = planned.menu.choices[row].guarantee
            self.set(guarantee_settings(chosen))
            self.keep("planned", replace(planned, chosen=chosen))

    def withdraw(self, paper: str, reason: str) -> None:
        """List a paper under `[withdrawn]`, with its reason."""
        reviews = self.state.reviews
        if reviews is None or paper not in reviews.papers:
            raise InputError("there is no such paper among those that have reviews and are not withdrawn")
        if not reason.strip():
            raise InputError("say why the paper is withdrawn: the reason stays in conference.toml")
        self._note("withdrawn", paper, reason.strip())

    def restore(self, paper: str) -> None:
        """Take a paper off those withdrawn."""
        if paper not in self.state.folder.withdrawn:
            raise InputError("there is no such paper among those that are withdrawn")
        self._note("withdrawn", paper, None)

    def override(self, paper: str, decision: str, reason: str) -> None:
        """Write a decision of the committee in place of ours, for exports; ours again if it is empty."""
        release = self.state.release
        if release is None or paper not in {decided.paper for decided in release.papers}:
            raise InputError("there is no such paper among those that are decided")
        if decision not in ("accept", "reject", ""):
            raise InputError("the decision must be accept or reject")
        if decision and not reason.strip():
            raise InputError("say why the decision is overridden: the reason stays in conference.toml")
        self._note("overridden", paper, f"{decision}: {reason.strip()}" if decision else None)

    def _note(self, table: str, paper: str, line: str | None) -> None:
        with self.changing():
            change_settings(self.state.folder, {}, {table: {paper: line}})

    # Steps, each as a job.

    @contextmanager
    def changing(self) -> Iterator[None]:
        """A block that changes what pages show; a `RefusedError` while a job runs."""
        with self.lock:
            if self.job is not None and self.job.state.running:
                raise RefusedError("something else is still being computed: wait for it, or stop it")
            yield
            self.changes += 1

    def cancel(self) -> None:
        if self.job is not None:
            self.job.cancel()

    def result(self, name: str) -> Any:
        """What a step returned, if the folder is still as it was then; else None."""
        stamp, value = self._results.get(name, ((), None))
        return value if self.path is not None and stamp == self._stamp(name) else None

    def keep(self, name: str, value: Any) -> None:
        """Keep what a step returned, as long as the folder stays as it is."""
        self._state = None
        self._results[name] = self._stamp(name), value

    def _stamp(self, name: str) -> Stamp:
        return self.state.planned if name == "planned" else folder_stamp(self.folder)

    def start(self, name: str, words: str, step: Callable[..., Any]) -> None:
        """Run a `step` on the folder in the background, and keep its result by `name`."""
        with self.changing():
            folder = self.state.folder
            self.error = None

            def finish(result: Any, failure: BaseException | None) -> None:
                with self.lock:
                    self.error = failure
                    self.changes += 1
                    if failure is None:
                        self.keep(name, result)

            self.job = Job(words, lambda progress: step(folder, progress=progress), finish)
            self.job.start()

    def fit(self) -> None:
        """Estimate reviewers from past conferences."""
        step = partial(fit_folder, workers=self.workers)
        self.start("fitted", "estimating how reviewers use scores", step)

    def confirm_people(self, same: Mapping[int, bool]) -> None:
        """Say of pairs of ids, by their place in the list, whether each is one person; then fit again."""
        with self.lock:
            pairs = [(self.state.pairs[number], yes) for number, yes in same.items()]
            said = {pair.old: pair.old for pair, _ in pairs}
            for pair in (pair for pair, yes in pairs if yes):
                if said[pair.old] != pair.old:
                    raise InputError("no one can be two people: say yes once for each past id")
                said[pair.old] = pair.new
            self.join_people(said)

    def join_people(self, said: Mapping[str, str]) -> None:
        """Say whom on the committee past ids stand for, or nobody by the id itself; then fit again.

        What was said before of others stays.
        """
        with self.changing():
            folder, known = self.state.folder, {**self.state.same, **said}
            members = read_committee(folder.text("committee")) if "committee" in folder.settings else {}
            if members and any(new not in members for old, new in said.items() if old != new):
                raise InputError("the id on the committee must be one that the committee's file has")
            path = self.private / "same.csv"
            taken = ["yes" if old != new else "no" for old, new in known.items()]
            columns = {"old": [*known], "new": [*known.values()], "taken": taken}
            write_table(path, columns, confidential=True, replace=True)
            write_import(folder, read_import(folder, [Source(path, "same")], Choices()))
            path.unlink()
            self.fit()

    def plan(self) -> None:
        """Whether calibration is worth it here, and what each guarantee would gain, within about a minute."""
        settings_of(self.state.folder)
        self.start("planned", "comparing guarantees", self._plan)

    def _plan(self, folder: Folder, progress: Progress) -> Answer | LevelAnswer:
        with folder_inputs(folder) as inputs:
            request = settings_of(folder).for_inputs(inputs)
            if isinstance(inputs, ThisYearInputs):
                return level_answer(inputs, request)
            return answer(inputs, request, despite_misfit=True, workers=self.workers, progress=progress)

    def decide(self, *, reason: str | None = None, misfit: bool = False, leak: bool = False) -> None:
        """Decide every paper, once; with a `reason`, amend what was decided."""
        settings_of(self.state.folder, yes_leak=leak)
        if self.state.decided and reason is None:
            raise InputError("the papers are decided: say why they are amended")
        if reason is not None and not reason.strip():
            raise InputError(
                "say why the papers are amended: the private log keeps the reason with the decisions"
            )
        step = partial(
            decide_folder,
            amend=reason is not None,
            reason="" if reason is None else reason.strip(),
            despite_misfit=misfit,
            yes_leak=leak,
            workers=self.workers,
        )
        self.start("decided", "deciding", step)

    def preview(self, accept: str, wait_list: str) -> None:
        """What a list of another number of papers would change; nothing is drawn, released or given out."""
        with self.changing():
            self.keep("preview", (accept, wait_list, self._preview(accept, wait_list)))

    def _preview(self, accept: str, wait_list: str) -> PrintedList:
        return folder_list(self.state.folder, accept, wait_list or None)

    def print_list(self, digest: str, to: str, waiting: str) -> None:
        """A file of the list that was shown, by its digest, for a system or as a table."""
        with self.lock:
            folder = self.state.folder
            accept, wait_list, shown = self.result("preview") or ("", "", None)
            if shown is None or shown.digest != digest or self._preview(accept, wait_list) != shown:
                raise RefusedError("this is not the list that was shown last: ask again what would change")
            release = release_of(folder)
            made = export_release(folder, release, to, waiting=waiting or None, printed=shown)
            self.keep("printed", made)

    def export(self, to: str, what: str, words: Mapping[str, str]) -> None:
        """A file of the decisions for another system."""
        with self.lock:
            folder = self.state.folder
            names = ("accepted", "rejected", "waiting")
            accept, reject, wait = (words.get(name, "").strip() or None for name in names)
            release = release_of(folder)
            made = export_release(folder, release, to, what, accepted=accept, rejected=reject, waiting=wait)
            self.keep("export", made)

    def report(self) -> None:
        """Both reports of what was decided: for everyone, and for the chair."""

        def step(folder: Folder, progress: Progress) -> tuple[str, ...]:
            made = partial(
                report_release, folder, release_of(folder), workers=self.workers, progress=progress
            )
            return tuple(made(confidential=confidential).html for confidential in (False, True))

        self.start("report", "making the report", step)

    def verify(self, commitment: str) -> None:
        """Check the latest release with the key."""
        step = partial(verify_folder, commitment=commitment.strip() or None, workers=self.workers)
        self.start("verified", "verifying", step)

    def audit(self, adversaries: Adversaries) -> None:
        """Play adversaries against the latest release."""
        step = partial(audit_folder, adversaries=adversaries, workers=self.workers)
        self.start("audited", "playing adversaries", step)


def _names_people(path: Path) -> bool:
    """Whether a file says who is behind ids."""
    try:
        return bool(read_maps({str(path): read_bytes(path)}))
    except BlindcalError:
        return False


def setting_text(value: object) -> str:
    """A setting as a person would type it.

    >>> setting_text(None), setting_text(True), setting_text(("2021=low", "2022=low"))
    ('', 'true', '2021=low, 2022=low')
    """
    if value is None or isinstance(value, bool):
        return "" if value is None else str(value).lower()
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _private_folder(held: ExitStack) -> Path:
    """A folder for this session alone, held until it ends; what killed sessions left is removed."""
    base = Path(tempfile.gettempdir())
    for left in base.glob(f"{_PREFIX}*"):
        # Another user's is left alone, and one that a session holds is refused.
        if left.is_dir() and not left.is_symlink() and left.stat().st_uid == os.getuid():
            with suppress(RefusedError, OSError), lock(left):
                shutil.rmtree(left, ignore_errors=True)
    private = base / f"{_PREFIX}{secrets.token_hex(16)}"
    held.enter_context(lock(private))
    private.mkdir(mode=0o700)
    held.callback(shutil.rmtree, private, ignore_errors=True)
    return private
