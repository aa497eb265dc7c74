"""Commands run in this process: a real one, or one that does what a test wants."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from blindcal.cli import run

CANARY = "canary-7f3a"


class Said(NamedTuple):
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str


def call(*arguments: str) -> Said:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = run(arguments)
    return Said(code, out.getvalue(), err.getvalue())


def succeed(*arguments: str) -> Said:
    """What a command said that has to succeed."""
    said = call(*arguments)
    assert said.code == 0, said.err
    return said


def refusal(*arguments: str, code: int = 2) -> str:
    """What a command said on standard error that has to be refused with this exit code."""
    said = call(*arguments)
    assert said.code == code, said
    return said.err


def last(text: str) -> str:
    """The last line of what a command printed."""
    return text.rstrip("\n").split("\n")[-1]


def edit(old: str, new: str, file: str = "icx/conference.toml") -> None:
    """Write something else where this stands in the folder's settings, once."""
    text = Path(file).read_text(encoding="utf-8")
    assert old in text
    Path(file).write_text(text.replace(old, new, 1), encoding="utf-8")


def plain(text: str) -> str:
    """A message without the marks of names: of an option, an argument in Python, or a setting."""
    return re.sub(r"--([a-z-]+)|`([a-z_-]+)`", lambda name: (name[1] or name[2]).replace("_", "-"), text)


def guarded(action: Callable[[], object], *arguments: str) -> tuple[int, str]:
    """Exit code and standard error of a command that does `action`."""
    # The core has neither: what else is here serves tests without the command line too.
    import typer

    from blindcal.cli import console

    toy = typer.Typer(pretty_exceptions_enable=False)

    @toy.command(cls=console.Once)
    def command() -> None:
        action()

    with contextlib.redirect_stderr(io.StringIO()) as err:
        code = console.guarded(toy, list(arguments))
    return code, err.getvalue()


def raiser(error: BaseException) -> Callable[[], None]:
    def action() -> None:
        raise error

    return action
