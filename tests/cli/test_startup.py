"""How the command line starts: interrupts while it loads, one thread, readers that went away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("typer")

import typer

from commands import guarded, raiser

pytestmark = pytest.mark.edge


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


def customized(folder: Path, program: str, **variables: str) -> dict[str, str]:
    """The environment of a Python that runs `program` first."""
    (folder / "sitecustomize.py").write_text(program, encoding="utf-8")
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **variables}


@pytest.mark.parametrize("module", ["numpy", "scipy.special", "typer"])
@pytest.mark.parametrize("start", ["script", "module"])
def test_an_interrupt_while_loading_is_told_like_a_later_one(start: str, module: str, tmp_path: Path) -> None:
    environment = customized(tmp_path, INTERRUPTING, TARGET=module)
    begin = [str(Path(sys.executable).with_name("blindcal"))]
    begin = begin if start == "script" else [sys.executable, "-m", "blindcal"]
    pair = ["research", "pair", "--reviewer", "1,0", "--reviewer", "1,1", "--scores", "1,2"]
    for options in ([["--version"]] if module == "typer" else [pair]) + [[*pair, "--json"]]:
        done = subprocess.run(
            [*begin, *options], capture_output=True, text=True, check=False, env=environment
        )
        assert (done.returncode, done.stdout) == (130, "")
        assert done.stderr == guarded(raiser(typer.Abort()), *(["--json"] if "--json" in options else []))[1]


def test_importing_the_package_leaves_interrupts_alone(tmp_path: Path) -> None:
    program = """
import signal
import blindcal
try:
    blindcal.simulation.population
except KeyboardInterrupt:
    blindcal.simulation.population
    print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""
    environment = customized(tmp_path, INTERRUPTING, TARGET="blindcal.simulation.population")
    with subprocess_code(program, env=environment) as child:
        out, err = child.communicate()
    assert (child.returncode, out, err) == (0, b"True\n", b"")


@pytest.mark.parametrize("command", [["-m", "blindcal", "assess"], ["-c", "import blindcal"]])
def test_only_the_command_line_computes_on_one_thread(command: list[str], tmp_path: Path) -> None:
    """Rounding must not depend on the number of cores; other programs choose for themselves."""
    told = "import atexit, os; atexit.register(lambda: print(os.environ.get('OPENBLAS_NUM_THREADS')))"
    environment = customized(tmp_path, told, OPENBLAS_NUM_THREADS="7")
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


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-"])
def test_a_closed_stream_is_no_reason_to_fail(closed: str) -> None:
    command = f'exec "$0" -m blindcal research average --reviewer 1,0 --reviewer 2,0 {closed}'
    done = subprocess.run(["sh", "-c", command, sys.executable], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
