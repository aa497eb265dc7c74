"""What every command prints: results, JSON, tables, progress, and errors as messages with exit codes.

Rich and NumPy are imported by the functions that need them: `blindcal --version` and `--help` need neither.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from math import ceil
from typing import Any, TextIO

import typer
from typer.core import TyperCommand, TyperOption

from blindcal.cli.startup import INTERRUPTED, discard_output, interrupted, missing_module, report_interrupted
from blindcal.errors import BlindcalError, InputError, unexpected
from blindcal.io.cells import count

UNEXPECTED = 1
CONFIDENTIAL = "CONFIDENTIAL: for the chair alone; what is below was found with who reviewed what."
# A bar appears after so many seconds. In a log, the first line comes if so many seconds are left, and every
# line at least so many seconds after the one before.
_BAR_AFTER_SECONDS, _LONG_SECONDS, _PAUSE_SECONDS = 2.0, 30.0, 10.0
# A share of wrong decisions below this is not worth a line.
_NOTICEABLE = 5e-4

# Lines that start so are red, or bold, if a terminal has colors.
_COLORS = {"CONFIDENTIAL": "31", "blindcal: ": "31", "next: ": "1"}

# With --json: what was noted so far.
_notes: ContextVar[list[str] | None] = ContextVar("notes", default=None)
# What was noted so far: nothing is said twice.
_said = set[str]()
# The options of the command that runs, by the names of Python's arguments.
_options: ContextVar[frozenset[str]] = ContextVar("options", default=frozenset())


def _answer_in_json(wanted: bool) -> None:
    _notes.set([] if wanted else None)


def _json_option() -> Any:
    """The option --json, as Typer makes it of a parameter."""
    alone = typer.Typer(add_completion=False)
    said = "Print one JSON object instead of text."
    option = typer.Option(False, "--json", help=said, callback=_answer_in_json, expose_value=False)

    @alone.command()
    def command(as_json: bool = option) -> None: ...

    return typer.main.get_command(alone).params[0]


class Once(TyperCommand):
    """A command that takes --json, and refuses an option given twice: the last one would silently win."""

    def __init__(self, *given: Any, params: Any, **named: Any) -> None:
        super().__init__(*given, params=[*params, _json_option()], **named)

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        options = (option for option in self.params if isinstance(option, TyperOption))
        _options.set(frozenset(max(option.opts, key=len)[2:].replace("-", "_") for option in options))
        return super().make_context(info_name, args, parent, **extra)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        # A line that is being completed is not whole yet.
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for option, times in Counter(each for each in order if isinstance(each, TyperOption)).items():
            if times > 1 and not option.multiple and not option.is_flag:
                raise InputError(f"{option.opts[-1]} must be given once, found it {times} times")
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        # Typer names the type of an argument that repeats as Python does.
        write = formatter.write_dl
        formatter.write_dl = lambda rows, **layout: write(
            [(name.replace("list[Path]", "path"), text) for name, text in rows], **layout
        )
        super().format_options(ctx, formatter)


def quiet() -> bool:
    """Whether --json was given: what is said then goes nowhere, and `emit_json` alone prints."""
    return _notes.get() is not None


def say(text: str = "") -> None:
    """Print lines as they are: no markup, no wrapping, control characters shown and not sent.

    On a terminal with colors, confidential lines and the next step stand out. With --json nothing is printed.
    """
    if not quiet():
        print("\n".join(_colored(printable(line), sys.stdout) for line in text.split("\n")))


def _colored(line: str, stream: TextIO) -> str:
    """A line in its color if it goes to a terminal that wants colors, else the line itself."""
    code = next((code for start, code in _COLORS.items() if line.startswith(start)), None)
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb" or os.name == "nt"
    if code is None or plain or not stream.isatty():
        return line
    return f"\x1b[{code}m{line}\x1b[0m"


def note(*texts: str) -> None:
    """Tell the user something beside the result: on standard error, or with --json in its `notes`."""
    kept = _notes.get()
    for text in map(as_options, texts):
        if text in _said:
            continue
        _said.add(text)
        if kept is None:
            print(f"blindcal: {printable(text)}", file=sys.stderr)
        else:
            kept.append(text)


def as_options(text: str) -> str:
    """Names of Python's arguments in a message of the core, as the running command's own options.

    An argument that the command has no option for is named as conference.toml names its settings.
    """
    known = _options.get()

    def named(name: re.Match[str]) -> str:
        dashed = name[1].replace("_", "-")
        return f"--{dashed}" if name[1] in known else f"`{dashed}`"

    return re.sub("`([a-z_]+)`", named, text)


def emit_json(facts: Mapping[str, Any]) -> None:
    """With --json, print one JSON object, keys sorted, infinity as "inf"; its `notes` hold what was noted."""
    if (kept := _notes.get()) is not None:
        print(_json({**facts, "notes": [*facts.get("notes", ()), *kept]}))


def _json(value: object) -> str:
    from blindcal.io.atomic_files import to_jsonable

    return json.dumps(to_jsonable(value), indent=1, sort_keys=True, ensure_ascii=True, allow_nan=False)


def table(headings: Sequence[str], rows: Sequence[Sequence[object]], title: str | None = None) -> None:
    """Print a table: text to the left, numbers to the right with 4 digits unless given as text."""
    if quiet():
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    view = Table(title=title, box=None, pad_edge=False, title_justify="left", show_header=any(headings))
    for index, heading in enumerate(headings):
        numeric = all(isinstance(row[index], int | float) for row in rows)
        view.add_column(Text(heading), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        view.add_row(
            *(Text(number(cell) if isinstance(cell, float) else printable(str(cell))) for cell in row)
        )
    # 100 columns unless it is a terminal, so that output can be compared.
    width = None if sys.stdout.isatty() else 100
    console = Console(highlight=False, markup=False, width=width)
    with console.capture() as drawn:
        console.print(view)
    print("\n".join(line.rstrip() for line in drawn.get().rstrip("\n").split("\n")))


def say_gap(gap: float) -> None:
    """Say by how much the share of wrong decisions may exceed the least possible one."""
    if gap > _NOTICEABLE:
        say(
            f"up to {number(100 * gap, 2)} percentage points more errors than the best possible policy: "
            "tables of large pools are approximate, and some are repaired to keep the promise exactly"
        )


def number(value: float, digits: int = 4) -> str:
    """A number for people; what rounds to zero has no sign."""
    return f"{value:z.{digits}f}"


@contextmanager
def progress(description: str, total: int) -> Iterator[Callable[[int], None]]:
    """A function to call with each number of steps done: "weighing 9 papers", 9 steps.

    On a terminal a bar appears after two seconds. Elsewhere, lines say how far long work is and how long the
    rest takes, at most one for each tenth. With --json there is neither. Rich estimates the time left, from
    the last half minute.
    """
    if quiet():
        yield lambda steps: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:.0f} %"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        get_time=lambda: time.monotonic(),
    )
    bar.add_task(description, total=total)
    (task,) = bar.tasks
    on_terminal, lines = sys.stderr.isatty(), [(0.0, 0)]

    def advance(steps: int) -> None:
        bar.update(task.id, advance=steps)
        if on_terminal:
            if not bar.live.is_started and (task.elapsed or 0.0) > _BAR_AFTER_SECONDS:
                bar.start()
            return
        left, elapsed, (second, completed) = task.time_remaining, task.elapsed or 0.0, lines[-1]
        if not left or elapsed - second < _PAUSE_SECONDS:
            return
        if left >= _LONG_SECONDS if len(lines) == 1 else 10 * (task.completed - completed) >= total:
            lines.append((elapsed, int(task.completed)))
            note(f"{task.description}: {int(task.percentage)} % done, {about(left)} left")

    try:
        yield advance
    finally:
        # Stopping a bar that was never shown would print an empty line.
        if bar.live.is_started:
            bar.stop()


def about(seconds: float) -> str:
    """A time for people."""
    if seconds < 55:
        return f"about {10 * ceil(seconds / 10)} seconds"
    if seconds < 5400:
        return f"about {count(max(1, round(seconds / 60)), 'minute')}"
    return f"about {round(2 * seconds / 3600) / 2:g} hours"


def guarded(app: Callable[..., Any], arguments: list[str]) -> int:
    """The exit code of `app(arguments)`; every exception becomes a message and never a traceback.

    With --json standard output holds one object or nothing, and so does standard error.
    """
    _notes.set([] if "--json" in arguments else None)
    _options.set(frozenset())
    _said.clear()
    try:
        code = app(arguments, prog_name="blindcal", standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:
            # Typer turns Ctrl-C into this code without a word.
            return _explain(KeyboardInterrupt(), "--json" in arguments)
        return code if isinstance(code, int) else 0
    except BaseException as error:
        return _explain(error, "--json" in arguments)
    finally:
        _notes.set(None)


def _explain(error: BaseException, as_json: bool) -> int:
    """Say on standard error what went wrong, and return the exit code."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else UNEXPECTED
    code, message = _code_and_message(error)
    if isinstance(error, BrokenPipeError):
        discard_output()
        return code
    if code == INTERRUPTED:
        report_interrupted(as_json)
    elif as_json:
        listed = error.problems if isinstance(error, InputError) else ()
        problems = [replace(problem, rule=as_options(problem.rule)) for problem in listed]
        report = {"error": {"code": code, "message": message, "problems": problems}}
        print(_json(report | ({"notes": noted} if (noted := _notes.get()) else {})), file=sys.stderr)
    else:
        lines = (f"blindcal: {printable(line)}" for line in message.split("\n"))
        print("\n".join(_colored(line, sys.stderr) for line in lines), file=sys.stderr)
    return code


def _code_and_message(error: BaseException) -> tuple[int, str]:
    """The exit code of an error, and what is said about it."""
    # A module that is interrupted while it is imported may make another error of it.
    if isinstance(error, KeyboardInterrupt | typer.Abort) or interrupted():
        return INTERRUPTED, "interrupted"
    if isinstance(error, BlindcalError):
        return error.exit_code, as_options(str(error))
    if isinstance(error, typer.TyperException):
        return InputError.exit_code, error.format_message()
    if isinstance(error, ModuleNotFoundError):
        return missing_module(error)
    if isinstance(error, MemoryError):
        return UNEXPECTED, "out of memory"
    if isinstance(error, OSError):
        name = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
        return UNEXPECTED, f"{name}{error.strerror or type(error).__name__}"
    return UNEXPECTED, unexpected(error)


def printable(text: str) -> str:
    r"""`text` with control characters spelled out, so that no file can drive the terminal.

    >>> printable("a\x1b[2J\tb")
    'a\\x1b[2J\tb'
    """
    return "".join(c if c.isprintable() or c in "\t" else ascii(c)[1:-1] for c in text)
