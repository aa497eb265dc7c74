"""Pages of the documentation: their blocks, and the commands in them."""

from __future__ import annotations

import contextlib
import importlib
import io
import math
import re
import shlex
import subprocess
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import NamedTuple
from unittest import mock

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```([a-z]+)(?:[ ]+(\S+))?\n(.*?)^```$", re.M | re.S)
READERS = {"cat", "ls", "head"}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


class Block(NamedTuple):
    kind: str
    name: str | None
    text: str
    line: int


def blocks(page: str) -> Iterator[Block]:
    for match in BLOCK.finditer(page):
        yield Block(match[1], match[2], match[3], page.count("\n", 0, match.start()) + 1)


def without_blocks(page: str) -> str:
    return re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)


def commands(text: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, expected = part.replace("\\\n", " ").partition("\n")
        yield command.strip(), expected


def run_command(command: str) -> tuple[int, str]:
    from blindcal.cli import console, run

    program, *arguments = shlex.split(command)
    if program in READERS:
        done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr
    assert program == "blindcal", f"examples run blindcal only, found {program}"
    # How long something takes is no part of a page.
    with (
        mock.patch.object(console, "_LONG_SECONDS", math.inf),
        contextlib.redirect_stdout(io.StringIO()) as printed,
        contextlib.redirect_stderr(printed),
    ):
        code = run(arguments)
    return code, printed.getvalue()


def named(path: str) -> object:
    """What a dotted name stands for, whether its last parts are modules or names in them."""
    parts = path.split(".")
    for size in range(len(parts), 0, -1):
        try:
            return reduce(getattr, parts[size:], importlib.import_module(".".join(parts[:size])))
        except (ImportError, AttributeError):
            continue
    raise AssertionError(path)
