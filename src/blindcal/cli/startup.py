"""Start-up of the command line: interrupts while modules load, and one thread of linear algebra.

In any other program this module does nothing.

Ctrl-C: loading NumPy and SciPy takes a second, and an interrupt in the middle of it could be lost. So the
package imports this module first, and an interrupt ends the process at once, with the same line and exit code
as later. When a command's module is loaded, `raise_interrupts` is called. From then on an interrupt is an
exception, so that the command can tidy up; if that takes too long, as in the middle of a long sum, the
process is ended all the same.

One thread: matrix products may round differently on several, and a table must not depend on the number of
cores. Commands use the cores by processes.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from threading import Event, Lock, Thread
from time import sleep
from types import FrameType
from typing import NoReturn

from blindcal.compute.parallel import THREADS

INTERRUPTED = 130
# Packages of the extra `cli`.
_EXTRA = {"typer", "rich", "joblib", "jinja2"}
# Seconds that an interrupted command has for tidying up.
_TIDYING_SECONDS = 1.5


def is_command_line(arguments: Sequence[str], original: Sequence[str]) -> bool:
    """Whether this process is `blindcal` or `python -m blindcal`, by `sys.argv` and `sys.orig_argv`.

    The processes that a command starts have its `sys.argv`, but not its `sys.orig_argv`.

    >>> is_command_line(["blindcal/__main__.py", "check"], ["python", "-m", "blindcal", "check"])
    True
    >>> is_command_line(["bin/blindcal"], ["python", "bin/blindcal"])
    True
    >>> is_command_line(["bin/blindcal.exe"], ["python.exe", "bin/blindcal.exe"])
    True
    >>> is_command_line(["bin/blindcal"], ["python", "-c", "from multiprocessing.spawn import spawn_main"])
    False
    """
    program = arguments[0] if arguments else ""
    if os.path.basename(program) == "__main__.py":
        return ("-m", "blindcal") in pairwise(original)
    return os.path.basename(program) in ("blindcal", "blindcal.exe") and program in original


def interrupted_text(as_json: bool) -> str:
    """What an interrupted command says."""
    report = {"error": {"code": INTERRUPTED, "message": "interrupted", "problems": []}}
    return json.dumps(report, indent=1, sort_keys=True) if as_json else "blindcal: interrupted"


_output, _reported, _interrupted = Lock(), Event(), Event()


def report_interrupted(as_json: bool) -> None:
    """Say so on standard error, unless the process is being ended already."""
    with _output:
        print(interrupted_text(as_json), file=sys.stderr, flush=True)
        _reported.set()


def _end(*_: object) -> NoReturn:
    """End the process here: what is being loaded could swallow an exception, or make another of it."""
    # Never released: nothing else is written from here on.
    _output.acquire()
    # Not imported here: an interrupt may come while it is being loaded, and then there are no children yet.
    active_children = getattr(sys.modules.get("multiprocessing.process"), "active_children", tuple)
    for child in active_children():
        # It may have ended by itself. Windows has no SIGKILL, and there SIGTERM ends a process as surely.
        with suppress(OSError):
            os.kill(child.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    if not _reported.is_set():
        os.write(2, f"{interrupted_text('--json' in sys.argv)}\n".encode())
    os._exit(INTERRUPTED)


def interrupted() -> bool:
    """Whether an interrupt has come since the command was loaded."""
    return _interrupted.is_set()


def discard_output() -> None:
    """Its reader went away, and the interpreter's own last flush must not complain about it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def missing_module(error: ImportError) -> tuple[int, str]:
    """The exit code and message if a module cannot be imported."""
    missing = error.name in _EXTRA
    hint = "pip install 'blindcal[cli]'" if missing else "the installation is broken"
    return 2 if missing else 1, f"the command line needs {error.name}: {hint}"


def raise_interrupts() -> None:
    """From here on an interrupt is an exception, and the process ends soon after it in any case."""
    if signal.getsignal(signal.SIGINT) is _end:
        # Windows learned it with Python 3.12; before, an interrupt there waits for the end of a long sum.
        if hasattr(os, "set_blocking"):
            _watch()
        sys.unraisablehook = _unraisable
        signal.signal(signal.SIGINT, _raise_once)


def _watch() -> None:
    """End the process some time after an interrupt, unless it has ended by then."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def wait() -> None:
        while os.read(reader, 1) != bytes([signal.SIGINT]):
            continue
        sleep(_TIDYING_SECONDS)
        _end()

    Thread(target=wait, daemon=True).start()


def without_time_limit() -> None:
    """From here on an interrupted command may take the time that it needs to end."""
    if signal.getsignal(signal.SIGINT) is _raise_once:
        signal.set_wakeup_fd(-1)


@contextmanager
def terminations_as_interrupts() -> Iterator[None]:
    """In this block SIGTERM and SIGHUP are interrupts too, so that what was begun is tidied up.

    A signal that is ignored, as after `nohup`, stays ignored.
    """
    # A server sees to requests to end by itself, and knows no terminal.
    handlers = {"SIGTERM": _raise_once, "SIGHUP": lambda *_: signal.raise_signal(signal.SIGTERM)}
    known = {getattr(signal, name): handler for name, handler in handlers.items() if hasattr(signal, name)}
    replaced = {end: handler for end, handler in known.items() if signal.getsignal(end) is signal.SIG_DFL}
    for end, handler in replaced.items():
        signal.signal(end, handler)
    try:
        yield
    finally:
        for end in replaced:
            signal.signal(end, signal.SIG_DFL)


def ignore_interrupts() -> None:
    """From here on nothing is left to be interrupted."""
    if signal.getsignal(signal.SIGINT) is _raise_once:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _raise_once(end: int, _: FrameType | None) -> None:
    # Whoever ends it twice must not interrupt the tidying up.
    for number in (signal.SIGINT, end):
        signal.signal(number, signal.SIG_IGN)
    _interrupted.set()
    raise KeyboardInterrupt


def _unraisable(problem: sys.UnraisableHookArgs) -> None:
    """An interrupt in the middle of a destructor is lost there: `_watch` sees to it, in one line."""
    if not issubclass(problem.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(problem)


if is_command_line(sys.argv, sys.orig_argv):
    os.environ.update(dict.fromkeys(THREADS, "1"))
    # A shell starts background jobs with interrupts ignored: that stays so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
