"""The command line: thin commands over the core. Parse, call, print."""

from __future__ import annotations

import sys
from collections.abc import Sequence

_EXTRA = {"typer", "rich", "joblib"}


def main() -> None:
    """Entry point of the `blindcal` script."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; whatever goes wrong is told in one voice."""
    try:
        from blindcal.cli.app import app
        from blindcal.cli.console import guarded
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        message = f"the command line needs {error.name}: pip install 'blindcal[cli]'"
        print(f"blindcal: {message}", file=sys.stderr)
        return 2
    return guarded(app, list(arguments))
