"""A Dask cluster in processes of its own, whose workers can be held in the middle of the work or killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import blindcal
from blindcal.compute.parallel import THREADS

# While the file `hold` is there, a worker that has been given something to do says so in `held` and waits.
# Dask may load this twice.
PRELOAD = """
import os, pathlib, time
from blindcal.compute import parallel as clusters
folder, do = pathlib.Path({folder!r}), getattr(clusters.run, "do", clusters.run)

def run(*arguments):
    if (folder / "hold").exists():
        (folder / f"held-{{os.getpid()}}").touch()
    while (folder / "hold").exists():
        time.sleep(0.02)
    return do(*arguments)

run.do, clusters.run = do, run

def dask_setup(worker):
    (folder / f"ready-{{os.getpid()}}").touch()
"""


@dataclass(frozen=True)
class DaskCluster:
    """A scheduler and workers on this machine, without nannies: who is killed stays dead."""

    address: str
    folder: Path
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def add(self) -> subprocess.Popen[bytes]:
        """One more worker, once it is there."""
        options = ["--no-nanny", "--nthreads", "1", "--no-dashboard", "--local-directory", str(self.folder)]
        preload = ["--preload", str(self.folder / "preload.py")]
        worker = dask("worker", self.address, *options, *preload)
        self.workers.append(worker)
        wait_for(lambda: (self.folder / f"ready-{worker.pid}").exists(), worker)
        return worker

    def hold(self) -> None:
        (self.folder / "hold").touch()

    def held(self) -> set[int]:
        """Processes of the workers that wait with something in their hands."""
        return {int(path.name.removeprefix("held-")) for path in self.folder.glob("held-*")}

    def go_on(self) -> None:
        (self.folder / "hold").unlink()
        for path in self.folder.glob("held-*"):
            path.unlink()


@contextmanager
def dask_cluster(folder: Path) -> Iterator[DaskCluster]:
    """A cluster with one worker."""
    folder.mkdir()
    (folder / "preload.py").write_text(PRELOAD.format(folder=str(folder)), encoding="utf-8")
    where = folder / "scheduler.json"
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(where)]
    started = [dask("scheduler", *options)]
    try:
        wait_for(lambda: where.exists() and where.read_text(encoding="utf-8").endswith("}"), started[0])
        address = json.loads(where.read_text(encoding="utf-8"))["address"]
        cluster = DaskCluster(address, folder, started)
        cluster.add()
        yield cluster
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


def dask(*arguments: str) -> subprocess.Popen[bytes]:
    """A process of Dask's command line, which finds this very blindcal."""
    paths = [str(Path(blindcal.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "dask", *arguments]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )


def wait_for(ready: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """However long a slow machine takes, as long as the process lives."""
    while not ready():
        assert process.poll() is None, "a process of Dask ended before it was ready"
        time.sleep(0.05)
