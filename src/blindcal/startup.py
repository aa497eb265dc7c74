"""What the command line does before all else is loaded. In any other program this does nothing.

Ctrl-C: loading NumPy and SciPy takes a second or two, before any command can catch an interrupt. So the
package imports this module first, an interrupt means one line and an exit code, as later, and the command
line says when it is `loaded`.

One thread: matrix products may round differently on several, and a table must not depend on how many cores
there were. Commands use the cores by processes.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from itertools import pairwise
from types import FrameType

INTERRUPTED = 130
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def loading(arguments: Sequence[str], original: Sequence[str]) -> bool:
    """Whether this process is `blindcal` or `python -m blindcal`, by `sys.argv` and `sys.orig_argv`.

    The processes that a command starts have its `sys.argv`, but not its `sys.orig_argv`.

    >>> loading(["-m", "check"], ["python", "-m", "blindcal", "check"])
    True
    >>> loading(["bin/blindcal"], ["python", "bin/blindcal"])
    True
    >>> loading(["bin/blindcal"], ["python", "-c", "from multiprocessing.spawn import spawn_main"])
    False
    """
    program = arguments[0] if arguments else ""
    if program == "-m":
        return ("-m", "blindcal") in pairwise(original)
    return os.path.basename(program) == "blindcal" and program in original


def told(as_json: bool) -> str:
    """What an interrupted command says."""
    report = {"error": {"code": INTERRUPTED, "message": "interrupted", "problems": []}}
    return json.dumps(report, indent=1, sort_keys=True) if as_json else "blindcal: interrupted"


def end_at_once(_: int, __: FrameType | None) -> None:
    """End the process here: what is being loaded could swallow an exception, or make another of it."""
    os.write(2, f"{told('--json' in sys.argv)}\n".encode())
    os._exit(INTERRUPTED)


def loaded() -> None:
    """From here on an interrupt is an exception again."""
    if signal.getsignal(signal.SIGINT) is end_at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)


if loading(sys.argv, sys.orig_argv):
    os.environ.update(dict.fromkeys(THREADS, "1"))
# A shell starts background jobs with interrupts ignored: that stays so.
if loading(sys.argv, sys.orig_argv) and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, end_at_once)
