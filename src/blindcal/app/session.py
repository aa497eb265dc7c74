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
from threading import Event, RLock, Thread
from time import monotonic
from typing import Any, NamedTuple, TypeVar

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
from blindcal.posterior.this_year_inputs import ThisYearInputs
from blindcal.project.check import audit_folder, verify_folder
from blindcal.project.contents import KINDS, Source, resolved_kinds
from blindcal.project.create import InitialSettings, create_example, create_folder, key_beside
from blindcal.project.decide import decide_folder
from blindcal.project.fit import fit_folder
from blindcal.project.folder import change_settings, folder_inputs, release_of, settings_of
from blindcal.project.imports import FolderImport, papers_of, read_import, write_import
from blindcal.project.publish import export_release, folder_list, folder_papers, report_release
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
from blindcal.report.paper_table import PaperTable
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
_LONGEST_NAME, _MOST_FILES = 100, 30
_T = TypeVar("_T")


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
    short = 0 < len(name) <= _LONGEST_NAME and len(name.encode()) <= 2 * _LONGEST_NAME
    plain = name.isprintable() and name == name.strip() and not name.startswith(".")
    if not short or not plain or any(mark in name for mark in "/\\"):
        raise InputError(f"the name of a file must be a plain name of at most {_LONGEST_NAME} characters")
    return name


class Staging:
    """Files for the open folder, in a `directory` that only its owner can enter."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(mode=0o700)

    @contextmanager
    def incoming(self, name: str, limit: int) -> Iterator[Callable[[bytes], None]]:
        """What adds bytes to a file that is uploaded; more than `limit` are a `TooLargeError`.

        It has a hidden name of its own until it is whole. If the upload ends early, nothing of it stays.
        """
        target, size = self.directory / checked_name(name), 0
        if sum(path.name != name for path in self.files) >= _MOST_FILES:
            raise InputError(f"there can be at most {_MOST_FILES} files at a time")
        part = self.directory / f".{secrets.token_hex(8)}.incoming"

        def write(data: bytes) -> None:
            nonlocal size
            size += len(data)
            if size > limit:
                raise TooLargeError(f"a file must have at most {limit:,} bytes")
            file.write(data)

        try:
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                yield write
            with suppress(FileNotFoundError):
                os.replace(part, target)
                return
            raise InputError("the conference was closed before the file was here")
        finally:
            part.unlink(missing_ok=True)

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


@dataclass(frozen=True)
class Reading:
    """How files on their way are read."""

    # What a file is, by its name, where a person said so; else its content shows it
    kinds: Mapping[str, str] = field(default_factory=dict)
    years: Mapping[str, str] = field(default_factory=dict)  # what a past conference is called, likewise
    choices: Choices = field(default_factory=Choices)  # how exports are read if their content leaves it open
    keep: str = ""  # papers to decide though the export calls them withdrawn or decided, as text
    codes: bool = False  # whether codes replace reviewers' ids; once they do, they always do


@dataclass(frozen=True)
class Checked:
    """What the files on their way hold, read together with the folder; nothing is written yet."""

    brought: FolderImport | None  # what an import would bring; None if a file cannot be read
    kinds: Mapping[str, str]  # what each file was taken for, by its name
    # What is wrong with a file, by its name; with all of them together, by an empty name
    errors: Mapping[str, Exception]


class CanceledError(Exception):
    """The job was canceled."""


class JobState(NamedTuple):
    """How far a job is."""

    work: str  # what it does at the moment
    done: int  # how many steps of that are done
    steps: int  # how many there are
    left: str  # about how long the rest takes; empty as long as nobody can know
    running: bool  # whether it goes on
    canceled: bool  # whether it was asked to stop


class Job(Thread):
    """Work in a thread of its own, called by a `label` that people read.

    It reports its steps through the library's own hook for progress; that is also where a canceled job stops,
    just as an interrupted command does.
    `work` is called with a hook for progress; `finish` is then called with its result, or with its error.
    """

    def __init__(
        self, label: str, work: Callable[[Progress], Any], finish: Callable[[Any, BaseException | None], None]
    ) -> None:
        super().__init__(name="job", daemon=True)
        self._work, self._finish, self._canceled = work, finish, Event()
        # What is done, steps done, steps in all, since when: replaced at once, so that no page mixes two.
        self._progress = (label, 0, 0, monotonic())

    def cancel(self) -> None:
        """Ask it to stop; it does at its next step."""
        self._canceled.set()

    @property
    def state(self) -> JobState:
        work, done, steps, began = self._progress
        spent = monotonic() - began
        seconds = spent * (steps - done) / done if done else 0.0
        left = f"about {max(1, round(seconds)):,} s left" if done and spent > 1.0 else ""
        return JobState(work, done, steps, left, self.is_alive(), self._canceled.is_set())

    @contextmanager
    def progress(self, work: str, steps: int) -> Iterator[Callable[[int], None]]:
        """The library's hook."""
        self._check()
        began, done = monotonic(), 0
        self._progress = (work, done, steps, began)

        def advance(more: int) -> None:
            nonlocal done
            self._check()
            done = min(done + more, steps)
            self._progress = (work, done, steps, began)

        yield advance

    def _check(self) -> None:
        if self._canceled.is_set():
            raise CanceledError

    def run(self) -> None:
        """What the thread does, once it is started."""
        try:
            self._check()
            result = self._work(self.progress)
        except BaseException as error:
            self._finish(None, error)
        else:
            self._finish(result, None)


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
        self._state: FolderState | None = None
        self._results: dict[str, tuple[Stamp, Any]] = {}

    def close(self) -> None:
        """End what runs, and remove what is private to this session."""
        if self.job is not None:
            self.job.cancel()
            self.job.join(10.0)
        self._held.close()

    # Opening.

    @property
    def folders(self) -> list[str]:
        """The conferences' folders at home, by name."""
        return sorted(file.parent.name for file in self.home.glob(f"[!.]*/{FILE}") if file.is_file())

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

    def open(self, path: Path | None) -> None:
        """Open the conference's folder at `path`, or none. Nothing stays here of one that was open before."""
        with self.changing():
            if path is not None:
                read_folder(path)
            for files in (self.staging, self.tables):
                files.clear(arriving=True)
            self.path, self.error, self.reading, self._state = path, None, Reading(), None
            self._results.clear()

    def open_example(self) -> None:
        """Open the embedded conference, in a folder that is private to this session and goes with it."""
        path = self.private / _EXAMPLE
        with self.changing():
            if not path.exists():
                create_example(path, example())
            self.open(path)

    @property
    def papers(self) -> PaperTable:
        """The table of papers for the meeting; it names no reviewer."""
        return self.once("papers", lambda: folder_papers(self.state.folder))

    @property
    def is_example(self) -> bool:
        return self.path == self.private / _EXAMPLE

    def new(self, name: str, wishes: InitialSettings) -> None:
        """Make a folder and its key before reviews are in, and open it."""
        with self.changing():
            path = self.home / checked_name(name)
            create_folder(path, wishes, key_beside(path))
            self.open(path)

    # Files on their way into the folder.

    def uploaded(self) -> None:
        """Files came in, or were removed: they are read when a page shows them."""
        with self.lock:
            self._results.pop("checked", None)
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
            if {*reading.kinds.values()} - {*KINDS, PEOPLE_MAP, ""}:
                raise InputError("there is no such kind of file")
            self.reading = reading
            self.uploaded()

    @property
    def checked(self) -> Checked:
        """The files on their way as `import` would bring them; nothing is written."""
        return self.once("checked", self._check_uploads)

    def _check_uploads(self) -> Checked:
        folder, choices = self.folder, self.reading.choices
        sources, maps, errors = list[Source](), list[Path](), dict[str, Exception]()
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
            which = "say here whether these are this year's or a past one's"
            errors |= dict.fromkeys(unsaid, InputError(f"there are several files of reviews: {which}"))
            kinds = {name: kind for name, kind in kinds.items() if name not in unsaid}
        kinds |= {path.name: PEOPLE_MAP for path in maps}
        if errors or not sources:
            return Checked(None, kinds, errors)
        try:
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
            brought = self.checked.brought
            if brought is None:
                raise InputError("there is no file that can be brought in: choose one, or correct it")
            write_import(self.folder, brought, self.codes)
            self.staging.clear()
            self.reading = replace(self.reading, kinds={}, years={})
            self.keep("imported", brought)
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
            self.set(guarantee_settings(planned.menu.choices[row].guarantee))

    def withdraw(self, paper: str, reason: str) -> None:
        """List a paper under `[withdrawn]`, with its reason."""
        reviews = self.state.reviews
        if reviews is None or paper not in reviews.papers:
            raise InputError("there is no such paper among those that have reviews and are not withdrawn")
        if not reason.strip():
            raise InputError("say why the paper is withdrawn: the reason stays in conference.toml")
        self._note_paper("withdrawn", paper, reason.strip())

    def restore(self, paper: str) -> None:
        """Take a paper off those withdrawn."""
        if paper not in self.state.folder.withdrawn:
            raise InputError("there is no such paper among those that are withdrawn")
        self._note_paper("withdrawn", paper, None)

    def override(self, paper: str, decision: str, reason: str) -> None:
        """Write a decision of the committee in place of ours, for exports; ours again if it is empty."""
        release = self.state.release
        if release is None or paper not in {decided.paper for decided in release.papers}:
            raise InputError("there is no such paper among those that are decided")
        if decision not in ("accept", "reject", ""):
            raise InputError("the decision must be accept or reject")
        if decision and not reason.strip():
            raise InputError("say why the decision is overridden: the reason stays in conference.toml")
        self._note_paper("overridden", paper, f"{decision}: {reason.strip()}" if decision else None)

    def _note_paper(self, table: str, paper: str, line: str | None) -> None:
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
        return value if self.path is not None and stamp == self._result_stamp(name) else None

    def keep(self, name: str, value: Any) -> None:
        """Keep what a step returned, as long as the folder stays as it is."""
        self._state = None
        self._results[name] = self._result_stamp(name), value

    def once(self, name: str, make: Callable[[], _T]) -> _T:
        """What `make` returns, kept likewise."""
        with self.lock:
            value: _T | None = self.result(name)
            if value is None:
                stamp, value = self._result_stamp(name), make()
                self._results[name] = stamp, value
            return value

    def _result_stamp(self, name: str) -> Stamp:
        return self.state.planned if name == "planned" else folder_stamp(self.folder)

    def start(self, name: str, **more: Any) -> None:
        """Run the step of this `name` on the folder in the background, and keep its result."""
        words, step = _STEPS[name]
        with self.changing():
            work = partial(step, self.state.folder, workers=self.workers, **more)
            self.error = None

            def finish(result: Any, failure: BaseException | None) -> None:
                with self.lock:
                    self.error = failure
                    self.changes += 1
                    if failure is None:
                        self.keep(name, result)

            self.job = Job(words, lambda progress: work(progress=progress), finish)
            self.job.start()

    def confirm_people(self, same: Mapping[int, bool]) -> None:
        """Say of pairs of ids, by their place in the list, whether each is one person; then fit again."""
        with self.lock:
            answers = [(self.state.pairs[number], yes) for number, yes in same.items()]
            people = {pair.old: pair.old for pair, _ in answers}
            for pair in (pair for pair, yes in answers if yes):
                if people[pair.old] != pair.old:
                    raise InputError("no one can be two people: say yes once for each past id")
                people[pair.old] = pair.new
            self.join_people(people)

    def join_people(self, people: Mapping[str, str]) -> None:
        """Say whom on the committee past ids stand for, or nobody by the id itself; then fit again.

        What was said before of others stays.
        """
        with self.changing():
            folder, known = self.state.folder, {**self.state.same, **people}
            members = read_committee(folder.text("committee")) if "committee" in folder.settings else {}
            if members and any(new not in members for old, new in people.items() if old != new):
                raise InputError("the id on the committee must be one that the committee's file has")
            path = self.private / "same.csv"
            taken = ["yes" if old != new else "no" for old, new in known.items()]
            columns = {"old": [*known], "new": [*known.values()], "taken": taken}
            write_table(path, columns, confidential=True, replace=True)
            write_import(folder, read_import(folder, [Source(path, "same")], Choices()))
            path.unlink()
            self.start("fitted")

    def plan(self) -> None:
        """Whether calibration is worth it here, and what each guarantee would gain, within about a minute."""
        settings_of(self.state.folder)
        self.start("planned")

    def decide(self, *, reason: str | None = None, misfit: bool = False, leak: bool = False) -> None:
        """Decide every paper, once; with a `reason`, amend what was decided."""
        settings_of(self.state.folder, yes_leak=leak)
        if self.state.decided and reason is None:
            raise InputError("the papers are decided: say why they are amended")
        if reason is not None and not reason.strip():
            raise InputError(
                "say why the papers are amended: the private log keeps the reason with the decisions"
            )
        amended = {"amend": reason is not None, "reason": (reason or "").strip()}
        self.start("decided", despite_misfit=misfit, yes_leak=leak, **amended)

    def preview(self, accept: str, wait_list: str) -> None:
        """What a list of another number of papers would change; nothing is drawn, released or given out."""
        with self.changing():
            self.keep("preview", (accept, wait_list, self._preview(accept, wait_list)))

    def _preview(self, accept: str, wait_list: str) -> PrintedList:
        return folder_list(self.state.folder, accept, wait_list or None)

    def print_list(self, digest: str, to: str, waiting: str) -> None:
        """A file of the list that was shown, by its digest, for a system or as a table."""
        with self.lock:
            accept, wait_list, shown = self.result("preview") or ("", "", None)
            if shown is None or shown.digest != digest or self._preview(accept, wait_list) != shown:
                raise RefusedError("this is not the list that was shown last: ask again what would change")
            self._export("printed", to, waiting=waiting or None, printed=shown)

    def export(self, to: str, what: str, words: Mapping[str, str]) -> None:
        """A file of the decisions for another system."""
        names = ("accepted", "rejected", "waiting")
        self._export("export", to, what, **{name: words.get(name, "").strip() or None for name in names})

    def _export(self, name: str, to: str, what: str | None = None, **more: Any) -> None:
        with self.lock:
            folder = self.state.folder
            self.keep(name, export_release(folder, release_of(folder), to, what, **more))


def _folder_answer(folder: Folder, workers: int, progress: Progress) -> Answer | LevelAnswer:
    with folder_inputs(folder) as inputs:
        request = settings_of(folder)
        if isinstance(inputs, ThisYearInputs):
            return level_answer(inputs, request)
        return answer(inputs, request, despite_misfit=True, workers=workers, progress=progress)


def _folder_reports(folder: Folder, workers: int, progress: Progress) -> tuple[str, ...]:
    """Both reports of what was decided: for everyone, and for the chair."""
    made = partial(report_release, folder, release_of(folder), workers=workers, progress=progress)
    return tuple(made(confidential=confidential).html for confidential in (False, True))


_STEPS: Mapping[str, tuple[str, Callable[..., Any]]] = {
    "fitted": ("estimating how reviewers use scores", fit_folder),
    "planned": ("comparing guarantees", _folder_answer),
    "decided": ("deciding", decide_folder),
    "report": ("making the report", _folder_reports),
    "verified": ("verifying", verify_folder),
    "audited": ("playing adversaries", audit_folder),
}
"""What runs as a job, by the name of its result: its words for people, and the function behind a command."""


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
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(value) if isinstance(value, tuple) else str(value or "")


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
