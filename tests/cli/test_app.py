"""The command line: one voice, exit codes, JSON, and no traceback or id in any message."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("typer")

import typer

from blindcal import __version__, errors
from blindcal.cli import console, reference
from blindcal.cli.app import app
from commands import call

pytestmark = pytest.mark.edge


ROOT = Path(__file__).parents[2]
CANARY = "canary-7f3a"


def guarded(action: Callable[[], object], *arguments: str) -> tuple[int, str]:
    """Exit code and standard error of a command that does `action`."""
    toy = typer.Typer(pretty_exceptions_enable=False)

    @toy.command()
    def command(as_json: console.Json = False) -> None:
        action()

    with contextlib.redirect_stderr(io.StringIO()) as err:
        code = console.guarded(toy, list(arguments))
    return code, err.getvalue()


def raiser(error: BaseException) -> Callable[[], None]:
    def action() -> None:
        raise error

    return action


def test_version_and_help() -> None:
    assert call("--version") == (0, f"blindcal {__version__}\n", "")
    code, out, err = call("--help")
    assert (code, err) == (0, "")
    assert call() == call("-h") == (0, out, "")
    for command in app.registered_commands:
        assert f"  {command.name} " in out


@pytest.mark.parametrize("name", [command.name for command in app.registered_commands])
def test_every_command_has_help_an_example_and_json(name: str) -> None:
    code, out, err = call(name, "--help")
    assert (code, err) == (0, "")
    assert re.search(rf"Example: blindcal {name}\b", out)
    assert "--json" in out


def test_the_reference_is_what_the_commands_say() -> None:
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == reference.reference(), "run `make docs`"


@pytest.mark.parametrize("arguments", [("nonsense",), ("--nonsense",), ("check",), ("check", "a", "--grid")])
def test_bad_usage_ends_with_2_and_one_voice(arguments: tuple[str, ...]) -> None:
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("blindcal: ")
    assert "Traceback" not in err


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
        assert f"internal error ({kind.__name__} at test_cli.py:" in told


def test_errors_as_json_list_the_problems(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("paper,reviewer,score\np,r,nan\np,r,1\n")
    code, out, err = call("check", str(tmp_path / "r.csv"), "--json")
    assert (code, out) == (2, "")
    report = json.loads(err)["error"]
    assert report["code"] == 2
    assert report["problems"] == [
        {
            "file": str(tmp_path / "r.csv"),
            "row": 2,
            "column": "score",
            "rule": "must be a finite number",
            "found": "'nan'",
        }
    ]


def test_check_says_what_is_in_a_table_and_names_nobody(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(f"paper,reviewer,score\nP1,{CANARY},1\nP1,b,2\nP2,c,2\nP3,c,1\nP3,b,1\nP4,d,2\n")
    code, out, err = call("check", str(path))
    assert (code, err) == (0, "")
    assert CANARY not in out
    assert re.search(r"reviews per paper +1 2\n", out)
    assert re.search(r"grid +1 2\n", out)
    assert "high scores (the default; --better low if low scores are better)" in out
    code, out, err = call("check", str(path), "--json", "--grid", "1,2,3")
    assert json.loads(out) == {
        "reviews": 6,
        "papers": 4,
        "reviewers": 4,
        "conferences": 1,
        "reviews_a_paper": [1, 2],
        "reviewers_with_one_review": 2,
        "connected_parts": 2,
        "lowest_and_highest_score": [1.0, 2.0],
        "grid": [1.0, 2.0, 3.0],
        "grid_declared": True,
        "better": "high",
    }
    assert call("check", str(path), "--grid", "1,x")[0] == 2
    assert call("check", str(tmp_path / "none.csv"))[0] == 2


def test_check_says_no_more_of_the_grid_than_the_scores_tell(tmp_path: Path) -> None:
    path, words = tmp_path / "r.csv", {}
    for name, scores in {"few": "147", "equal": "777", "many": [f"0.{n:02}" for n in range(1, 31)]}.items():
        rows = "".join(f"P{n},r,{score}\n" for n, score in enumerate(scores))
        path.write_text(f"paper,reviewer,score\n{rows}")
        words[name] = re.search(r"^grid  +(.*?) *$", call("check", str(path))[1], re.MULTILINE)[1]
    assert words == {
        "few": "too few scores to tell",
        "equal": "all scores are 7",
        "many": "none: scores look continuous",
    }


def test_a_file_name_cannot_drive_the_terminal() -> None:
    code, _, err = call("check", "a\x1b[2Jb\x07.csv")
    assert code == 2
    assert "\x1b" not in err
    assert "\\x1b[2Jb\\x07.csv" in err


def test_json_of_infinity() -> None:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        console.emit_json({"epsilon": math.inf, "x": [-math.inf, math.nan, 1]})
    assert json.loads(out.getvalue()) == {"epsilon": "inf", "x": ["-inf", None, 1]}


def test_tables_are_plain_text_with_numbers_to_the_right() -> None:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        console.table(("method", "error"), [("[red]raw[/red]", 0.12345), ("x\x1b[1m", 10.0)])
    assert out.getvalue() == "method            error\n[red]raw[/red]   0.1235\nx\\x1b[1m        10.0000\n"


def test_progress_is_a_bar_on_a_terminal_after_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

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


def _log(monkeypatch: pytest.MonkeyPatch, total: int, seconds: float) -> list[str]:
    """What is said of so many steps that take so many seconds each."""
    now = [0.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    with (
        contextlib.redirect_stderr(io.StringIO()) as log,
        console.progress(f"weighing {total} papers", total) as advance,
    ):
        for _ in range(total):
            now[0] += seconds
            advance(1)
    return log.getvalue().splitlines()


def test_long_work_without_a_terminal_is_estimated_from_its_first_steps_and_counted_in_tenths(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, *later = _log(monkeypatch, 500, 0.36)
    assert first == "blindcal: weighing 500 papers takes about 3 minutes"
    assert later[0] == "blindcal: weighing 500 papers is 11 % done, about 3 minutes left"
    assert later[-1] == "blindcal: weighing 500 papers is 91 % done, about 20 seconds left"
    assert len(later) == 9
    # Never more than a line in ten seconds, and nothing for what is soon done.
    assert len(_log(monkeypatch, 100, 0.4)) == 4
    assert _log(monkeypatch, 100, 0.1) == []


def subprocess_code(program: str, **options: object) -> subprocess.Popen[bytes]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", program], **{**pipes, **options})


def test_an_interrupt_ends_with_130_and_no_traceback() -> None:
    program = """
import time, typer
from blindcal.cli import console
app = typer.Typer()
@app.command()
def wait() -> None:
    print("ready", flush=True)
    time.sleep(60)
raise SystemExit(console.guarded(app, []))
"""
    with subprocess_code(program) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate()
    assert child.returncode == 130
    assert b"Traceback" not in err


# Interrupts the process once, when it looks for the module TARGET.
INTERRUPTING = """
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ.get("TARGET"):
            del os.environ["TARGET"]
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
"""


@pytest.mark.parametrize("module", ["numpy", "scipy.stats", "typer"])
@pytest.mark.parametrize("start", ["script", "module"])
def test_an_interrupt_while_loading_is_told_like_a_later_one(start: str, module: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTING, encoding="utf-8")
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "TARGET": module, "PYTHONPATH": os.pathsep.join(paths)}
    begin = [str(Path(sys.executable).with_name("blindcal"))]
    begin = begin if start == "script" else [sys.executable, "-m", "blindcal"]
    for options in (["--version"], ["check", "reviews.csv", "--json"]):
        done = subprocess.run(
            [*begin, *options], capture_output=True, text=True, check=False, env=environment
        )
        assert (done.returncode, done.stdout) == (130, "")
        assert done.stderr == guarded(raiser(typer.Abort()), *options[2:])[1]


def test_importing_the_package_leaves_interrupts_alone(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTING, encoding="utf-8")
    program = """
import signal
try:
    import blindcal
except KeyboardInterrupt:
    import blindcal
    print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        "TARGET": "blindcal.simulations.sweeps",
        "PYTHONPATH": os.pathsep.join(paths),
    }
    with subprocess_code(program, env=environment) as child:
        out, err = child.communicate()
    assert (child.returncode, out, err) == (0, b"True\n", b"")


@pytest.mark.parametrize("command", [["-m", "blindcal", "check"], ["-c", "import blindcal"]])
def test_only_the_command_line_computes_on_one_thread(command: list[str], tmp_path: Path) -> None:
    """Rounding must not depend on the number of cores; other programs choose for themselves."""
    told = "import atexit, os; atexit.register(lambda: print(os.environ.get('OPENBLAS_NUM_THREADS')))"
    (tmp_path / "sitecustomize.py").write_text(told, encoding="utf-8")
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "7", "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, check=False)
    assert done.stdout.decode().splitlines()[-1] == ("1" if "-m" in command else "7")


def test_a_reader_that_went_away_gets_no_traceback() -> None:
    read, write = os.pipe()
    os.close(read)
    program = "import sys; from blindcal.cli import run; sys.exit(run(['--help']))"
    with subprocess_code(program, stdout=write) as child:
        os.close(write)
        _, err = child.communicate()
    assert err == b""


def test_the_script_runs(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("blindcal")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"blindcal {__version__}\n", "")
