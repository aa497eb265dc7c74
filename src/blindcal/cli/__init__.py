"""The command line: thin commands over the core. Parse, call, print.

In: a command line. Out: text, files and an exit code. A new command is a module of its own here, listed in
`app`. Imports: everything.
"""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Sequence

from blindcal.cli.startup import INTERRUPTED, finished, missing_module, tell_interrupted


def main() -> None:
    """Entry point of the `blindcal` script."""
    # Warnings of libraries are for programmers; a chair can do nothing about them.
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    # A caller may have closed a stream; what is said there is then for nobody, and no reason to fail.
    for stream in ("stdout", "stderr"):
        if getattr(sys, stream) is None:
            setattr(sys, stream, io.StringIO())
    code = run(sys.argv[1:])
    finished()
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; every error becomes a message."""
    try:
        from blindcal.cli.app import app
        from blindcal.cli.console import guarded
    except KeyboardInterrupt:
        tell_interrupted("--json" in arguments)
        return INTERRUPTED
    except ImportError as error:
        code, message = missing_module(error)
        print(f"blindcal: {message}", file=sys.stderr)
        return code
    return guarded(app, list(arguments))
