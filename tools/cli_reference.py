"""The commands' own help as a page: `python tools/cli_reference.py docs/reference/cli.md`.

The same page in the package is what a command prints for --help, without loading anything else.
"""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stdout
from pathlib import Path

from blindcal.cli import REFERENCE, run
from blindcal.cli.app import app, research

_OPENING = """# Command line

Written by `make docs` from the commands' own help. Every command takes `--json`, which prints one JSON object
(infinity as `"inf"`), and ends with one of these codes:

| code | meaning |
|---|---|
| 0 | done |
| 1 | the machine failed (disk, memory), or a bug in blindcal |
| 2 | bad input or an unachievable request |
| 3 | refused: it would decide again or overwrite |
| 4 | verification failed |
| 5 | a certificate could not be met |
| 130 | interrupted |

Errors go to standard error, with `--json` as an object of `code`, `message` and `problems`.
"""


def reference() -> str:
    """The whole page."""
    sections = (f"## {name}\n\n```text\n{_help(name)}\n```\n" for name in command_names())
    return "\n".join([_OPENING, *sections])


def command_names() -> list[str]:
    """All commands and groups as they are typed, in the order of the help."""
    groups = [("blindcal", app), ("blindcal research", research)]
    return [
        name
        for prefix, group in groups
        for name in (prefix, *(f"{prefix} {command.name}" for command in group.registered_commands))
    ]


def _help(name: str) -> str:
    """What a command itself prints for --help: asked twice, it does not look into the page."""
    with redirect_stdout(io.StringIO()) as printed:
        run([*name.split()[1:], "--help", "--help"])
    return "\n".join(line.rstrip() for line in printed.getvalue().strip().split("\n"))


if __name__ == "__main__":
    for page in (Path(sys.argv[1]), REFERENCE):
        page.write_text(reference(), encoding="utf-8")
