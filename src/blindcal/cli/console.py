"""One voice for every command: results, JSON, tables, progress, and errors as messages with exit codes."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from math import ceil
from typing import Annotated, Any, TextIO

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text
from typer.core import TyperCommand, TyperOption

from blindcal.cells import count
from blindcal.cli.startup import INTERRUPTED, tell_interrupted
from blindcal.errors import BlindcalError, InputError, unexpected
from blindcal.io.atomic_files import jsonable

UNEXPECTED = 1
CONFIDENTIAL = "CONFIDENTIAL: for the chair alone; what is below was found with who reviewed what."
# Work that takes so long is worth a line on how long; the next lines come with a pause.
_QUIET_SECONDS, _LONG_SECONDS, _PAUSE_SECONDS = 2.0, 30.0, 10.0
# How long is known once so many steps, or a part of all, were as fast at first as later, up to a factor;
# after so many seconds in any case.
_FEW, _PART, _ALIKE, _PATIENCE_SECONDS = 6, 0.25, 1.5, 15.0
# A share of wrong decisions below this is not worth a line.
_NOTICEABLE = 5e-4

# Lines that start so are red, or bold, where a terminal has colors.
_COLORS = {"CONFIDENTIAL": "31", "blindcal: ": "31", "next: ": "1"}

# Arguments that messages of the core name, and that are options here.
_ARGUMENTS = [
    "accept",
    "accept_rate",
    "accepted",
    "added_success",
    "amend",
    "assume",
    "bar",
    "best_first",
    "better",
    "cap",
    "cluster",
    "colluders",
    "columns",
    "commitment",
    "committee",
    "conference",
    "conflicts",
    "coupled",
    "despite_misfit",
    "distinct_papers",
    "draws",
    "epsilon",
    "evidence",
    "format",
    "grid",
    "guarantee",
    "key",
    "learns",
    "loads",
    "map",
    "multiplier",
    "never_against",
    "out",
    "overridden",
    "papers",
    "past",
    "past_better",
    "per_paper",
    "per_reviewer",
    "pools",
    "port",
    "posterior_cap",
    "prior",
    "published",
    "reason",
    "redecide",
    "rejected",
    "reviewers",
    "reviews",
    "same",
    "scale_of",
    "score_field",
    "scores",
    "spread",
    "to",
    "unit",
    "wait_list",
    "waiting",
    "what",
    "withdrawn",
    "workers",
    "yes_leak",
    "zcdp",
]
# With --json: what was noted so far.
_notes: ContextVar[list[str] | None] = ContextVar("notes", default=None)


class Once(TyperCommand):
    """A command that refuses an option given twice: the last one would silently win, and of two files of
    pools the first would not be read."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        # A line that is being completed is not whole yet.
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for option, times in Counter(one for one in order if isinstance(one, TyperOption)).items():
            if times > 1 and not option.multiple and not option.is_flag:
                raise InputError(f"{option.opts[-1]} must be given once, found it {times} times")
        return super().parse_args(ctx, args)


Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
"""The type of every command's `as_json` parameter."""


def say(text: str = "") -> None:
    """Print lines as they are: no markup, no wrapping, control characters shown and not sent. On a terminal
    with colors, what is confidential stands out, and so does the next step."""
    print("\n".join(_colored(printable(line), sys.stdout) for line in text.split("\n")))


def _colored(line: str, stream: TextIO) -> str:
    """A line as a terminal shows it; the line itself where it goes elsewhere, or where no color is wanted."""
    code = next((code for start, code in _COLORS.items() if line.startswith(start)), None)
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb" or os.name == "nt"
    if code is None or plain or not stream.isatty():
        return line
    return f"\x1b[{code}m{line}\x1b[0m"


def note(text: str) -> None:
    """Something the user should know, beside the result: on standard error, or with --json in its `notes`."""
    kept, text = _notes.get(), as_options(text)
    if kept is None:
        print(f"blindcal: {printable(text)}", file=sys.stderr)
    else:
        kept.append(text)


def as_options(text: str) -> str:
    """What the core calls by the names of arguments, by those of the options that they come from.

    >>> as_options("an amendment needs a `reason`; see `blindcal key`")
    'an amendment needs a --reason; see `blindcal key`'
    """
    return re.sub(rf"`({'|'.join(_ARGUMENTS)})`", lambda name: f"--{name[1].replace('_', '-')}", text)


def emit_json(value: object) -> None:
    """Print `value` as one JSON object, keys sorted, infinity as "inf"; its `notes` hold what was noted."""
    print(_json(value))


def _json(value: object) -> str:
    content, kept = jsonable(value), _notes.get()
    if kept and isinstance(content, dict):
        content["notes"] = [*content.get("notes", ()), *kept]
    return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=True, allow_nan=False)


def table(headings: Sequence[str], rows: Sequence[Sequence[object]], title: str | None = None) -> None:
    """Print a table: text to the left, numbers to the right with 4 digits unless given as text."""
    view = Table(title=title, box=None, pad_edge=False, title_justify="left", show_header=any(headings))
    for index, heading in enumerate(headings):
        numeric = all(isinstance(row[index], int | float) for row in rows)
        view.add_column(Text(heading), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        view.add_row(
            *(Text(number(cell) if isinstance(cell, float) else printable(str(cell))) for cell in row)
        )
    console = _console()
    with console.capture() as drawn:
        console.print(view)
    print("\n".join(line.rstrip() for line in drawn.get().rstrip("\n").split("\n")))


def say_gap(gap: float) -> None:
    """What large pools cost: by how much the share of wrong decisions may exceed the least possible one."""
    if gap > _NOTICEABLE:
        say(
            "large pools are approximated: "
            f"up to {number(100 * gap, 2)} percentage points more errors than the best possible policy"
        )


def budget_line(share: float) -> str:
    """A budget of added success beside what it is a part of."""
    return f"the budget: {number(100 * share, 1)} % of what full calibration would reveal about authors here"


def number(value: float, digits: int = 4) -> str:
    """A number for people; what rounds to zero has no sign.

    >>> number(0.25), number(float("inf")), number(3.0, 1), number(-1e-12)
    ('0.2500', 'inf', '3.0', '0.0000')
    """
    return f"{value:z.{digits}f}"


@contextmanager
def progress(description: str, total: int) -> Iterator[Callable[[int], None]]:
    """A function to call with each number of steps done: "weighing 9 papers", 9 steps.

    On a terminal a bar appears after two seconds. Elsewhere a line says how long it will take, as soon as the
    first steps tell and if it is long, and a line with every tenth of it how far it is. With --json there is
    neither.

    with progress("weighing 9 papers", 9) as advance:
        ...
            advance(1)
    """
    if _notes.get() is not None:
        yield lambda steps: None
    elif not sys.stderr.isatty():
        yield _Lines(description, total)
    else:
        with _bar(description, total) as advance:
            yield advance


class _Lines:
    """Progress for a log."""

    def __init__(self, description: str, total: int) -> None:
        self.description, self.total = description, total
        self.seconds, self.done = list[float](), list[int]()
        self.last: tuple[float, int] | None = None

    def __call__(self, steps: int) -> None:
        now, done = time.monotonic(), steps + (self.done[-1] if self.done else 0)
        self.seconds.append(now)
        self.done.append(done)
        left = seconds_left(self.seconds, self.done, self.total)
        if left is None:
            return
        if self.last is None:
            if left >= _LONG_SECONDS:
                self._tell(now, f"takes {about(left)}")
        elif 10 * (done - self.last[1]) >= self.total and now - self.last[0] >= _PAUSE_SECONDS:
            self._tell(now, f"is {100 * done // self.total} % done, {about(left)} left")

    def _tell(self, now: float, text: str) -> None:
        self.last = now, self.done[-1]
        note(f"{self.description} {text}")


def seconds_left(seconds: Sequence[float], done: Sequence[int], total: int) -> float | None:
    """How long the rest of `total` steps will take, if so many were `done` at these times; None as long as it
    is too early to say.

    Time is taken from the first steps on, and the later half of it counts: before, processes were started, or
    one worked alone. As long as both halves do not agree, nothing is said.

    >>> times = [float(time) for time in range(8)]
    >>> seconds_left(times, [1, 2, 3, 4, 5, 6, 7, 8], 100), seconds_left(times[:4], [1, 2, 3, 4], 100)
    (92.0, None)
    >>> seconds_left(times, [1, 2, 3, 4, 5, 9, 13, 17], 100) is None
    True
    """
    spent, left = seconds[-1] - seconds[0], total - done[-1]
    if left <= 0 or spent < _QUIET_SECONDS or len(seconds) <= max(2.0, min(_FEW, _PART * total)):
        return None
    middle = min(bisect_left(seconds, seconds[0] + spent / 2), len(seconds) - 2)
    # A coarse clock may give the first steps one time; they are then no measure.
    early = (done[middle] - done[0]) / max(seconds[middle] - seconds[0], _QUIET_SECONDS / len(seconds) ** 2)
    late = (done[-1] - done[middle]) / (seconds[-1] - seconds[middle])
    alike = max(early, late) <= _ALIKE * min(early, late)
    return left / late if late > 0.0 and (alike or spent >= _PATIENCE_SECONDS) else None


def about(seconds: float) -> str:
    """A time for people.

    >>> about(12), about(130), about(9000)
    ('about 20 seconds', 'about 2 minutes', 'about 2.5 hours')
    """
    if seconds < 55:
        return f"about {10 * ceil(seconds / 10)} seconds"
    if seconds < 5400:
        return f"about {count(max(1, round(seconds / 60)), 'minute')}"
    return f"about {round(2 * seconds / 3600) / 2:g} hours"


@contextmanager
def _bar(description: str, total: int) -> Iterator[Callable[[int], None]]:
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:.0f} %"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task, began = bar.add_task(description, total=total), time.monotonic()

    def advance(steps: int) -> None:
        bar.update(task, advance=steps)
        if not bar.live.is_started and time.monotonic() - began > _QUIET_SECONDS:
            bar.start()

    try:
        yield advance
    finally:
        # Stopping a bar that was never shown would print an empty line.
        if bar.live.is_started:
            bar.stop()


def guarded(app: Callable[..., Any], arguments: list[str]) -> int:
    """The exit code of `app(arguments)`; every exception becomes a message and never a traceback.

    With --json standard output holds one object or nothing, and so does standard error.
    """
    _notes.set([] if "--json" in arguments else None)
    try:
        code = app(arguments, prog_name="blindcal", standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:
            # Typer turns Ctrl-C into this code without a word.
            return _explain(KeyboardInterrupt(), "--json" in arguments)
        return code if isinstance(code, int) else 0
    except BaseException as error:
        return _explain(error, "--json" in arguments)


def _explain(error: BaseException, as_json: bool) -> int:
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else UNEXPECTED
    code, message = _code_and_message(error)
    if isinstance(error, BrokenPipeError):
        # The reader went away; the interpreter's own last flush must not complain about it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return code
    if code == INTERRUPTED:
        tell_interrupted(as_json)
    elif as_json:
        found = error.problems if isinstance(error, InputError) else ()
        problems = [replace(problem, rule=as_options(problem.rule)) for problem in found]
        report = {"code": code, "message": message, "problems": problems}
        print(_json({"error": report}), file=sys.stderr)
    else:
        lines = (f"blindcal: {printable(line)}" for line in message.split("\n"))
        print("\n".join(_colored(line, sys.stderr) for line in lines), file=sys.stderr)
    return code


def _code_and_message(error: BaseException) -> tuple[int, str]:
    if isinstance(error, BlindcalError):
        return error.exit_code, as_options(str(error))
    if isinstance(error, typer.TyperException):
        return InputError.exit_code, error.format_message()
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return INTERRUPTED, "interrupted"
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


def _console() -> Console:
    """Standard output as it is now; 100 columns where it is no terminal, so that output can be compared."""
    return Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 100)
