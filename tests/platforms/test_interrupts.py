"""Ctrl-C at any moment: one line, code 130, no process left, nothing written.

A terminal sends the interrupt to every process of its group. Here a process of the group sends it itself at a
given moment and then does not come back for minutes, so that no test depends on when a signal arrives.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from blindcal.compute import parallel
from blindcal.compute.parallel import parallel_map
from small_conferences import command_line, small_conference

pytestmark = pytest.mark.edge

# MOMENT is where (first, worker), which module, and which function of it (none: when it is looked for).
# Even a few papers are shared out at once.
SITE = """
import os, signal, sys, time
where, module, function = os.environ.get("MOMENT", "::").split(":")
here = "worker" if any(word.endswith("popen_loky_posix") for word in sys.orig_argv) else "first"

def interrupt(*_, **__):
    for _ in range(2):  # whoever is impatient presses twice
        os.killpg(0, signal.SIGINT)
        time.sleep(0.1)
    end = time.monotonic() + 900
    while time.monotonic() < end:
        try:
            time.sleep(0.1)
        except KeyboardInterrupt:
            pass

class Hook:
    def find_spec(self, name, path=None, target=None):
        if here == where and name == module and not function:
            interrupt()
        if name not in (module, "blindcal.compute.parallel"):
            return None
        sys.meta_path.remove(self)
        from importlib.util import find_spec
        spec = find_spec(name)
        sys.meta_path.insert(0, self)
        run = spec.loader.exec_module
        def changed(made):
            run(made)
            if here == where and name == module:
                setattr(made, function, interrupt)
            if name == "blindcal.compute.parallel":
                made._PATIENCE = 0.0
        spec.loader.exec_module = changed
        return spec

if where == here and module == "site":
    interrupt()
sys.meta_path.insert(0, Hook())
"""
MOMENTS = {
    "while the command loads": "first:scipy.sparse:",
    "as a process starts": "worker:site:",
    "while a process loads": "worker:numpy:",
    "while papers are weighed": "worker:blindcal.posterior.acceptance_bar:_histogram",
    "while raw decisions are made, which does not listen": "first:blindcal.posterior.conference:best_by_mean",
    "while stakes are weighed": "worker:blindcal.planning.guarantee_menu:_rough_chances",
    "while papers are solved": "worker:blindcal.planning.guarantee_menu:_solve_under_guarantees",
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_ctrl_c_at_any_moment_is_one_line(moment: str, tmp_path: Path) -> None:
    """Standard error is read to its end, so every process that had it is gone."""
    folder, site = small_conference().write(tmp_path / "in"), tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(SITE, encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    plan = command_line("plan", folder)
    done = _run([sys.executable, "-B", "-m", "blindcal", *plan], site, tmp_path, MOMENTS[moment])
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "blindcal: interrupted\n")
    assert sorted(tmp_path.rglob("*")) == before


def test_ctrl_c_while_tables_are_certified_leaves_the_answer(tmp_path: Path) -> None:
    folder, site = small_conference().write(tmp_path / "in"), tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(SITE, encoding="utf-8")
    plan = command_line("plan", folder, "--full")
    moment = "worker:blindcal.planning.conference_plan:_solve_and_certify"
    done = _run([sys.executable, "-B", "-m", "blindcal", *plan], site, tmp_path, moment)
    *notes, last = done.stderr.splitlines()
    assert (done.returncode, last) == (130, "blindcal: interrupted")
    # On a busy machine the first estimate is said while the others are made.
    assert all(re.match(r"blindcal: from \d+ papers so far: ", line) for line in notes), notes
    assert "xpected gain: " in done.stdout.splitlines()[0]
    assert "planned: " not in done.stdout


def _run(command: list[str], site: Path, folder: Path, moment: str) -> subprocess.CompletedProcess[str]:
    paths = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        "MOMENT": moment,
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=environment,
        start_new_session=True,
        timeout=400,
    )


def test_a_script_without_a_guard_may_use_several_processes(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text(
        "from blindcal.compute.parallel import parallel_map\n"
        "print(sum(parallel_map(abs, range(-60, 60), workers=2)))\n",
        encoding="utf-8",
    )
    done = _run([sys.executable, str(tmp_path / "plain.py")], tmp_path, tmp_path, "::")
    assert (done.returncode, done.stdout, done.stderr) == (0, "3600\n", "")


def test_without_joblib_everything_runs_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "find_spec", lambda _: None)
    assert set(parallel_map(_process, range(60), workers=2)) == {os.getpid()}


def _process(_: int) -> int:
    return os.getpid()


def test_a_problem_in_one_process_ends_all_and_the_next_call_starts_new_ones() -> None:
    with pytest.raises(ZeroDivisionError):
        parallel_map(_inverse, range(60), workers=2)
    assert parallel_map(_inverse, range(1, 60), workers=2) == [1 / item for item in range(1, 60)]


def _inverse(item: int) -> float:
    return 1 / item


def test_a_process_that_ends_at_once_leaves_no_warning_behind(tmp_path: Path) -> None:
    """Its locks are removed by a process that outlives it, and has its standard error."""
    (tmp_path / "ends.py").write_text(
        "import os\n"
        "from blindcal.compute.parallel import _interrupts_held\n"
        "with _interrupts_held():\n"
        "    from joblib.externals.loky.backend.synchronize import Lock\n"
        "lock = Lock()\n"
        "os._exit(0)\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, f"{tmp_path / 'ends.py'}"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
