"""Long work in the background: its progress, and its cancellation.

Work reports its steps through the library's own hook for progress; that is also where a canceled job stops,
just as an interrupted command does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any

from blindcal.compute.parallel import Progress

Work = Callable[[Progress], Any]


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

    `work` is called with a hook for progress; `finish` is then called with its result, or with its error.
    """

    def __init__(self, name: str, work: Work, finish: Callable[[Any, BaseException | None], None]) -> None:
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
