"""The command line: thin commands over the core, which parse, call and print.

In: a command line. Out: text, files and an exit code. Open `app` first: it lists every command with
its module here, which is imported when the command is used. Imports: everything.
"""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from blindcal.cli.startup import (
    INTERRUPTED,
    discard_output,
    ignore_interrupts,
    missing_module,
    report_interrupted,
)

# The help of every command, which `make docs` wrote.
REFERENCE = Path(__file__).with_name("reference.md")


def stored_help(command: Sequence[str]) -> str:
    """What the reference says of a command, as it is typed after `blindcal`; empty if it has none."""
    heading = f"## {' '.join(['blindcal', *command])}\n\n```text\n"
    return REFERENCE.read_text(encoding="utf-8").partition(heading)[2].partition("\n```\n")[0]


def main() -> None:
    """Entry point of the `blindcal` script."""
    # Warnings of libraries are for programmers; a chair can do nothing about them.
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    # A caller may have closed a stream; nobody reads it then, and that is no reason to fail.
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:
            setattr(sys, stream, io.StringIO())
    code = run(sys.argv[1:])
    ignore_interrupts()
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; every error becomes a message."""
    # Loading what a command runs takes a second, and its help is on a page already.
    if arguments[-1:] in (["-h"], ["--help"]) and (text := stored_help(arguments[:-1])):
        try:
            print(text, flush=True)
        except BrokenPipeError:
            discard_output()
            return 1
        return 0
    try:
        from blindcal.cli.app import app
        from blindcal.cli.console import guarded
    except KeyboardInterrupt:
        report_interrupted("--json" in arguments)
        return INTERRUPTED
    except ImportError as error:
        code, message = missing_module(error)
        print(f"blindcal: {message}", file=sys.stderr)
        return code
    return guarded(app, list(arguments))
