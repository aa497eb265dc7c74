"""The command line: thin commands over the core. Parse, call, print.

In: a command line. Out: text, files and an exit code. A new command is a module of its own here, listed in
`app`. Imports: everything.
"""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Sequence

from blindcal.cli.startup import INTERRUPTED, finished, loaded, tell_interrupted

_EXTRA = {"typer", "rich", "joblib", "jinja2"}


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
    """Run one command line and return its exit code; whatever goes wrong is told in one voice."""
    try:
        from blindcal.cli.app import app
        from blindcal.cli.console import guarded

        loaded()
        return guarded(app, list(arguments))
    except KeyboardInterrupt:
        tell_interrupted("--json" in arguments)
        return INTERRUPTED
    except ImportError as error:
        missing = error.name in _EXTRA
        hint = "pip install 'blindcal[cli]'" if missing else "the installation is broken"
        print(f"blindcal: the command line needs {error.name}: {hint}", file=sys.stderr)
        return 2 if missing else 1
