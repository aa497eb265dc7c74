"""A system that lacks what Linux has: all can be imported and computed, and what cannot be done says so.

The lack is made in a process of its own: modules and names that Windows does not have are hidden before
anything of the package is loaded. What the standard library needs of them on this system it has by then.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import blindcal

PACKAGE = Path(blindcal.__file__).parent
CORE = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if not {"app", "cli"} & {*path.relative_to(PACKAGE).parts} and path.name != "__main__.py"
)
# What Python on Windows has not, as far as its documentation says so and NumPy itself does not need it here.
HIDDEN = """
import os, signal, sys
import asyncio, ctypes, logging, multiprocessing.util, pathlib, platform, shutil, socket, subprocess, tempfile
import concurrent.futures.process, multiprocessing.resource_tracker
NAMES = {
    os: "O_NONBLOCK O_CLOEXEC O_NOFOLLOW O_TMPFILE O_DIRECTORY sched_getaffinity fchmod fchown chown getuid "
        "geteuid getgid getegid fork killpg getpgid setsid mkfifo set_blocking pread pwrite nice",
    signal: "pthread_sigmask pthread_kill sigwait sigpending SIGKILL SIGHUP SIGUSR1 SIGALRM SIGCHLD alarm "
            "setitimer",
}
for module, names in NAMES.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
shutil._use_fd_functions = False
for name in ("fcntl", "resource", "termios", "pwd", "grp", "_posixsubprocess"):
    sys.modules[name] = None
"""


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", HIDDEN + program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def command_line(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run("from blindcal.cli import main; main()", *arguments)


def test_what_is_hidden_is_hidden() -> None:
    done = run("import fcntl")
    assert "ModuleNotFoundError: import of fcntl halted" in done.stderr
    done = run("print([name for name in ('O_CLOEXEC', 'geteuid', 'set_blocking') if hasattr(os, name)])")
    assert done.stdout == "[]\n", done.stderr


def test_every_module_of_the_core_can_be_imported() -> None:
    program = (
        "import importlib\nfor name in sys.argv[1:]: importlib.import_module(name)\nprint(len(sys.argv) - 1)"
    )
    assert len(CORE) > 80
    done = run(program, *CORE)
    assert done.stdout == f"{len(CORE)}\n", done.stderr


def test_reading_and_computing_need_nothing_that_is_missing(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(
        "paper,reviewer,score\n1,ada,2\n1,bob,3\n2,ada,4\n2,bob,5\n", encoding="utf-8"
    )
    program = """
import blindcal as bc
reviews = bc.Reviews.read(sys.argv[1])
print(len(reviews.score), bc.calibrators.raw(reviews).quality.tolist())
"""
    done = run(program, str(tmp_path / "r.csv"))
    assert done.stdout == "4 [2.5, 4.5]\n", done.stderr


def test_a_folder_or_a_file_that_cannot_be_locked_is_refused_and_none_is_left(tmp_path: Path) -> None:
    program = """
import blindcal as bc
from blindcal.io import atomic_files
def held(path):
    with atomic_files.lock(path):
        pass
def wrote(path):
    atomic_files.write_bytes(path, b"x")
for write in (atomic_files.make_folder, held, wrote, bc.make_key):
    try:
        write(sys.argv[1])
    except bc.InputError as error:
        print(error)
"""
    done = run(program, str(tmp_path / "new"))
    line = "writing needs file locks, which Linux and macOS have and this system lacks\n"
    assert done.stdout == 4 * line, done.stderr
    assert not list(tmp_path.iterdir())


def test_a_key_whose_readers_cannot_be_known_is_refused(tmp_path: Path) -> None:
    blindcal.make_key(tmp_path / "key.bin")
    program = """
import blindcal as bc
from blindcal.deciding.key import read_key
try:
    read_key(sys.argv[1])
except bc.InputError as error:
    print(error)
"""
    done = run(program, str(tmp_path / "key.bin"))
    assert done.stdout.endswith(
        "key.bin must be readable by its owner only, which Linux and macOS can show and this system cannot\n"
    ), done.stderr


@pytest.mark.edge
def test_processes_share_the_work_where_interrupts_cannot_be_held_back() -> None:
    program = """
import os, signal
del signal.pthread_sigmask
from blindcal.compute.parallel import available_cores, parallel_map
del os.sched_getaffinity
same = parallel_map(abs, [-n for n in range(60)], workers=2) == list(range(60))
print(same, available_cores() == os.cpu_count())
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.stdout == "True True\n", done.stderr


@pytest.mark.edge
def test_commands_that_only_read_work() -> None:
    reviewers = ("--reviewer", "1.2,0.3", "--reviewer", "0.8,-0.3", "--noise", "0.5")
    done = command_line("research", "pair", *reviewers, "--scores", "0.9,0.4", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["favor"]


@pytest.mark.edge
@pytest.mark.parametrize("arguments", [("new", "icx"), ("demo", "--out", "out")], ids=lambda a: a[0])
def test_commands_that_write_say_what_is_missing(arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = command_line(*arguments[:-1], str(tmp_path / arguments[-1]))
    assert done.returncode == 2
    assert done.stderr == (
        "blindcal: writing needs file locks, which Linux and macOS have and this system lacks\n"
    )
    assert "Traceback" not in done.stdout


@pytest.mark.edge
def test_the_command_line_starts_and_is_interrupted_where_signals_are_few() -> None:
    """As `blindcal` itself: its arguments are set before it is loaded, and Ctrl-C comes after that."""
    program = """
sys.argv = sys.orig_argv = ["blindcal", "--version"]
from blindcal.cli import startup
startup.raise_interrupts()
signal.raise_signal(signal.SIGINT)
"""
    done = run(program)
    assert done.stderr.strip().endswith("KeyboardInterrupt"), done.stderr
