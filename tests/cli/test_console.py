"""What is printed: errors with their codes, tables, JSON, and progress."""

from __future__ import annotations

import contextlib
import io
import json
import math
from pathlib import Path

import pytest

pytest.importorskip("typer")

import typer

from blindcal import errors
from blindcal.cli import console
from commands import CANARY, call, guarded, raiser, refusal

pytestmark = pytest.mark.edge


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (
            errors.InputError("slope must be above 0, found -1"),
            2,
            "blindcal: slope must be above 0, found -1\n",
        ),
        (errors.RefusedError("out.csv exists already"), 3, "blindcal: out.csv exists already\n"),
        (errors.VerificationError("the record was changed"), 4, "blindcal: the record was changed\n"),
        (errors.CertificateError("epsilon 2 is not met"), 5, "blindcal: epsilon 2 is not met\n"),
        (errors.InputError("one\ntwo"), 2, "blindcal: one\nblindcal: two\n"),
        (KeyboardInterrupt(), 130, ""),
        (typer.Abort(), 130, "blindcal: interrupted\n"),
        (SystemExit(7), 7, ""),
        (typer.Exit(3), 3, ""),
        (MemoryError(), 1, "blindcal: out of memory\n"),
        (
            OSError(28, "No space left on device", "out.csv"),
            1,
            "blindcal: out.csv: No space left on device\n",
        ),
    ],
)
def test_every_error_has_its_exit_code(error: BaseException, code: int, message: str) -> None:
    found, told = guarded(raiser(error))
    assert found == code
    assert told in (message, "blindcal: interrupted\n" if code == 130 else message)


@pytest.mark.parametrize(
    "kind", [ValueError, KeyError, ZeroDivisionError, AssertionError, RecursionError, RuntimeError]
)
def test_an_unforeseen_error_shows_no_traceback_and_no_id(kind: type[Exception]) -> None:
    for arguments in ((), ("--json",)):
        code, told = guarded(raiser(kind(f"reviewer {CANARY}")), *arguments)
        assert code == 1
        assert CANARY not in told
        assert "Traceback" not in told
        place = Path(raiser.__code__.co_filename).name
        assert f"internal error ({kind.__name__} at {place}:" in told


def test_a_file_name_cannot_drive_the_terminal() -> None:
    err = refusal("assess", "a\x1b[2Jb\x07.csv")
    assert "\x1b" not in err
    assert "\\x1b[2Jb\\x07.csv" in err


def test_json_of_infinity() -> None:
    def command(*_: object, **__: object) -> None:
        console.say("not said")
        console.emit_json({"epsilon": math.inf, "x": [-math.inf, math.nan, 1]})

    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert console.guarded(command, ["--json"]) == 0
    assert json.loads(out.getvalue()) == {"epsilon": "inf", "x": ["-inf", None, 1], "notes": []}


def test_tables_are_plain_text_with_numbers_to_the_right() -> None:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        console.table(("method", "error"), [("[red]raw[/red]", 0.12345), ("x\x1b[1m", 10.0)])
    assert out.getvalue() == "method            error\n[red]raw[/red]   0.1235\nx\\x1b[1m        10.0000\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_a_bar_on_a_terminal_after_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    for screen, seconds, shown in (
        (Terminal(), 1.0, False),
        (Terminal(), 3.0, True),
    ):
        clock = iter([0.0] + [seconds] * 1_000_000)
        monkeypatch.setattr(console.time, "monotonic", lambda clock=clock: next(clock))
        with contextlib.redirect_stderr(screen), console.progress("papers", 10) as advance:
            for _ in range(10):
                advance(1)
        assert bool(screen.getvalue()) == shown


def _log(monkeypatch: pytest.MonkeyPatch, *seconds: float) -> list[str]:
    """What is said of steps that take so many seconds each."""
    now, total = [0.0], len(seconds)
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    with (
        contextlib.redirect_stderr(io.StringIO()) as log,
        console.progress(f"weighing {total} papers", total) as advance,
    ):
        for taken in seconds:
            now[0] += taken
            advance(1)
    return log.getvalue().splitlines()


def test_long_work_without_a_terminal_is_counted_in_tenths(monkeypatch: pytest.MonkeyPatch) -> None:
    first, *later = _log(monkeypatch, *[0.36] * 500)
    assert first == "blindcal: weighing 500 papers: 5 % done, about 3 minutes left"
    assert later[0] == "blindcal: weighing 500 papers: 15 % done, about 3 minutes left"
    assert later[-1] == "blindcal: weighing 500 papers: 95 % done, about 10 seconds left"
    assert len(later) == 9
    # Never more than a line in ten seconds, and nothing for what is soon done.
    assert len(_log(monkeypatch, *[0.5] * 100)) == 4
    assert _log(monkeypatch, *[0.1] * 100) == []


def test_the_time_left_follows_the_last_half_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slow for a minute, as while processes start, then ten times as fast."""
    lines = _log(monkeypatch, *[1.0] * 60, *[0.1] * 1940)
    assert lines[0].endswith("0 % done, about 33 minutes left")
    assert lines[2].endswith("% done, about 3 minutes left")


def test_a_message_names_the_options_of_the_command_that_runs(tmp_path: Path) -> None:
    """`accept_rate` is an option of assess, and of no other command here."""
    call("assess", "--help")
    (tmp_path / "reviews.csv").write_text("paper,reviewer,score\np,a,1\nq,b,2\n")
    call("assess", str(tmp_path / "reviews.csv"), "--accept-rate", "0.5")
    assert console.as_options("`accept_rate` and `seed`") == "--accept-rate and `seed`"
    call("--version")
    assert console.as_options("`accept_rate`") != "--accept-rate"


@pytest.mark.parametrize(
    ("stream", "variables", "colored"),
    [
        (Terminal, {"TERM": "xterm"}, True),
        (Terminal, {"TERM": "xterm", "NO_COLOR": "1"}, False),
        (Terminal, {"TERM": "xterm", "NO_COLOR": ""}, True),
        (Terminal, {"TERM": "dumb"}, False),
        (Terminal, {}, False),
        (io.StringIO, {"TERM": "xterm"}, False),
    ],
)
def test_colors_are_those_that_the_terminal_wants(
    stream: type[io.StringIO], variables: dict[str, str], colored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TERM", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    out, err = stream(), stream()
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setattr("sys.stderr", err)
    console.say("plain\nCONFIDENTIAL, never share: x\nnext: y")
    assert console.guarded(refused, []) == 2
    lines = out.getvalue().splitlines()
    assert lines[0] == "plain"
    red, bold = ("\x1b[31m", "\x1b[1m") if colored else ("", "")
    end = "\x1b[0m" if colored else ""
    assert lines[1:] == [f"{red}CONFIDENTIAL, never share: x{end}", f"{bold}next: y{end}"]
    assert err.getvalue() == f"{red}blindcal: no{end}\n"


def refused(arguments: list[str], **_: object) -> None:
    raise errors.InputError("no")
