"""docs/cli.md from the commands themselves: `python -m blindcal.cli.reference docs/cli.md`."""

from __future__ import annotations

import inspect
import io
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

from blindcal.cli import run
from blindcal.cli.app import app

_OPENING = """# Command line

Written by `make docs` from the commands' own help. Every command takes `--json`, which prints one JSON object
(infinity as `"inf"`), and ends with one of these codes:

| code | meaning |
|---|---|
| 0 | done |
| 1 | the machine failed (disk, memory), or a bug in blindcal |
| 2 | bad input or an unachievable request |
| 3 | refused: it would toss again or overwrite |
| 4 | verification failed |
| 5 | a certificate could not be met |
| 130 | interrupted |

Errors go to standard error, with `--json` as an object of `code`, `message` and `problems`.
"""


def reference() -> str:
    """The whole page."""
    names = [command.name or "" for command in app.registered_commands]
    sections = (
        f"## blindcal {name}".rstrip() + f"\n\n```text\n{_help(name)}\n```\n" for name in ["", *names]
    )
    return "\n".join([_OPENING, *sections])


def undocumented() -> Iterator[str]:
    """Commands whose help shows no example."""
    for command in app.registered_commands:
        if command.callback is None or "Example" not in (inspect.getdoc(command.callback) or ""):
            yield command.name or "?"


def _help(name: str) -> str:
    with redirect_stdout(io.StringIO()) as printed:
        run([*filter(None, [name]), "--help"])
    return "\n".join(line.rstrip() for line in printed.getvalue().strip().split("\n"))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(reference(), encoding="utf-8")
