"""What the command line does before all else is loaded. In any other program this does nothing.

Ctrl-C: loading NumPy and SciPy takes a second or two, before any command can catch an interrupt. So the
package imports this module first, an interrupt means one line and an exit code, as later, and the command
line says when it is `loaded`. From then on an interrupt is an exception, so that what was begun is tidied up;
where that takes too long, as in the middle of a long sum, the process is ended all the same.

One thread: matrix products may round differently on several, and a table must not depend on how many cores
there were. Commands use the cores by processes.
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
_PATIENCE = 1.5


def loading(arguments: Sequence[str], original: Sequence[str]) -> bool:
    """Whether this process is `blindcal` or `python -m blindcal`, by `sys.argv` and `sys.orig_argv`.

    The processes that a command starts have its `sys.argv`, but not its `sys.orig_argv`.

    >>> loading(["blindcal/__main__.py", "check"], ["python", "-m", "blindcal", "check"])
    True
    >>> loading(["bin/blindcal"], ["python", "bin/blindcal"])
    True
    >>> loading(["bin/blindcal.exe"], ["python.exe", "bin/blindcal.exe"])
    True
    >>> loading(["bin/blindcal"], ["python", "-c", "from multiprocessing.spawn import spawn_main"])
    False
    """
    program = arguments[0] if arguments else ""
    if os.path.basename(program) == "__main__.py":
        return ("-m", "blindcal") in pairwise(original)
    return os.path.basename(program) in ("blindcal", "blindcal.exe") and program in original


def interruption(as_json: bool) -> str:
    """What an interrupted command says."""
    report = {"error": {"code": INTERRUPTED, "message": "interrupted", "problems": []}}
    return json.dumps(report, indent=1, sort_keys=True) if as_json else "blindcal: interrupted"


_output, _reported, _interrupted = Lock(), Event(), Event()


def tell_interrupted(as_json: bool) -> None:
    """Say so on standard error, unless the process is being ended already."""
    with _output:
        print(interruption(as_json), file=sys.stderr, flush=True)
        _reported.set()


def end_at_once(_: int, __: FrameType | None) -> None:
    """End the process here: what is being loaded could swallow an exception, or make another of it."""
    _end()


def _end() -> NoReturn:
    # Never given back: nobody else speaks from here on.
    _output.acquire()
    # Not imported here: an interrupt may come while it is being loaded, and then there are no children yet.
    active_children = getattr(sys.modules.get("multiprocessing.process"), "active_children", tuple)
    for child in active_children():
        # It may have ended by itself. Windows has no SIGKILL, and there SIGTERM ends a process as surely.
        with suppress(OSError):
            os.kill(child.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    if not _reported.is_set():
        os.write(2, f"{interruption('--json' in sys.argv)}\n".encode())
    os._exit(INTERRUPTED)


def interrupted() -> bool:
    """Whether an interrupt has come since the command was loaded."""
    return _interrupted.is_set()


def missing_module(error: ImportError) -> tuple[int, str]:
    """The exit code and message if a module cannot be imported."""
    missing = error.name in _EXTRA
    hint = "pip install 'blindcal[cli]'" if missing else "the installation is broken"
    return 2 if missing else 1, f"the command line needs {error.name}: {hint}"


def loaded() -> None:
    """From here on an interrupt is an exception, and the process ends soon after it in any case."""
    if signal.getsignal(signal.SIGINT) is end_at_once:
        # Windows learned it with Python 3.12; before, an interrupt there waits for the end of a long sum.
        if hasattr(os, "set_blocking"):
            _watch()
        sys.unraisablehook = _unraisable
        signal.signal(signal.SIGINT, _raise_once)


def _watch() -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    Thread(target=_end_after, args=(reader,), daemon=True).start()


def unhurried() -> None:
    """From here on an interrupted command takes the time that it needs: it sees to its own end."""
    if signal.getsignal(signal.SIGINT) is _raise_once:
        signal.set_wakeup_fd(-1)


@contextmanager
def ended_alike() -> Iterator[None]:
    """In this block a request to end, and the end of the terminal, are interrupts too, so that what was begun
    is tidied up. What is ignored, as after `nohup`, stays so."""
    handlers = {"SIGTERM": _raise_alone, "SIGHUP": _ask_to_end}
    known = {getattr(signal, name): handler for name, handler in handlers.items() if hasattr(signal, name)}
    taken = {end: handler for end, handler in known.items() if signal.getsignal(end) is signal.SIG_DFL}
    for end, handler in taken.items():
        signal.signal(end, handler)
    try:
        yield
    finally:
        for end in taken:
            signal.signal(end, signal.SIG_DFL)


def _raise_alone(end: int, _: FrameType | None) -> None:
    # Whoever ends it twice must not interrupt the tidying up.
    for one in (signal.SIGINT, end):
        signal.signal(one, signal.SIG_IGN)
    raise KeyboardInterrupt


def _ask_to_end(_: int, __: FrameType | None) -> None:
    # A server sees to requests to end by itself, and knows no terminal.
    signal.raise_signal(signal.SIGTERM)


def finished() -> None:
    """From here on nothing is left to be interrupted."""
    if signal.getsignal(signal.SIGINT) is _raise_once:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _raise_once(_: int, __: FrameType | None) -> None:
    # Whoever presses Ctrl-C twice must not interrupt the tidying up.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _interrupted.set()
    raise KeyboardInterrupt


def _end_after(signals: int) -> None:
    """End the process some time after an interrupt is read from `signals`, unless it has ended by then."""
    while os.read(signals, 1) != bytes([signal.SIGINT]):
        continue
    sleep(_PATIENCE)
    _end()


def _unraisable(problem: sys.UnraisableHookArgs) -> None:
    """An interrupt in the middle of a destructor is lost there: `_end_after` sees to it, in one line."""
    if not issubclass(problem.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(problem)


if loading(sys.argv, sys.orig_argv):
    os.environ.update(dict.fromkeys(THREADS, "1"))
# A shell starts background jobs with interrupts ignored: that stays so.
if loading(sys.argv, sys.orig_argv) and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, end_at_once)
