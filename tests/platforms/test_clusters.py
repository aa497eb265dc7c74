"""A whole conference on a Dask cluster: the same bytes, also when a worker is lost; and no secret is sent."""

from __future__ import annotations

import base64
import os
import pickle
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

import dask_clusters
from blindcal.compute import parallel
from blindcal.compute.parallel import THREADS, Running, environment, payload
from blindcal.deciding.decide import decide
from blindcal.deciding.key import make_key
from blindcal.planning.conference_plan import plan
from blindcal.planning.request import Request
from blindcal.policy.guarantee import Guarantee
from blindcal.posterior import acceptance_bar
from dask_clusters import DaskCluster, dask_cluster
from small_conferences import (
    SmallConference,
    arguments,
    command_line,
    everything,
    read_small,
    sealed_tables,
    small_conference,
    swapped,
    with_key,
)

STEADY = Request(Guarantee("steady", epsilon=2.0), accept_rate=0.4)
AVERAGE = Request(Guarantee("average", epsilon=2.0), accept_rate=0.4)


class Recorder:
    """Workers in this process who keep what they are sent."""

    size = 2

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.shared: dict[str, bytes] = {}

    def hand(self, function, few: Iterable[tuple[int, object]], running: Running) -> None:
        for place, item in few:
            sent, parts = payload(function, item)
            self.sent.append(sent)
            self.shared |= parts
            used = {name: pickle.loads(part) for name, part in parts.items()}
            future: Future[object] = Future()
            future.set_result(parallel.run(sent, environment(), used))
            running[future] = place

    def finished(self, running: Running) -> list[Future[object]]:
        return list(running)

    def abandon(self, running: Running) -> None:
        raise AssertionError("nothing is left to be done")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even a few items that are soon done are sent, and a slow machine has time to start its workers."""
    monkeypatch.setattr(parallel, "_PATIENCE", 0.0)
    monkeypatch.setattr(acceptance_bar, "_PAPERS_PER_PART", 1)
    monkeypatch.setattr(parallel, "_ANSWER", 300.0)
    for name in THREADS:
        monkeypatch.setenv(name, "1")


OUTSIDER = "canary-who-is-in-no-pool"


def with_outsider(small: SmallConference) -> SmallConference:
    """The first review is by somebody whom no pool names: `*` there, and a name in the reviews alone."""
    pools = (*small.pools, ("p00", "*", "0.5"))
    reviewers = (*small.reviewers, ("*", "1", "0", "0.5"))
    return replace(small, pools=pools, reviewers=reviewers).with_review(1, reviewer=OUTSIDER)


def with_committee(small: SmallConference) -> SmallConference:
    """Everyone may have reviewed every paper, except one person who did not review the first one."""
    wrote = {reviewer for paper, reviewer, _ in small.reviews if paper == "p00"}
    stranger = next(name for name in small.canaries if name not in wrote)
    return replace(small, pools=(("paper", "conflict"), ("p00", stranger)))


def sent(small: SmallConference, folder: Path, request: Request) -> list[bytes]:
    """All that workers are sent while a conference is planned, compared and decided with a new key."""
    recorder, inputs = Recorder(), read_small(small, folder)
    make_key(folder / "key.bin")
    plan(inputs, request, workers=recorder).menu(workers=recorder)
    decide(inputs, request, folder / "key.bin", folder / "out", workers=recorder, yes_leak=True)
    return recorder.sent


def test_what_a_committee_shares_is_sent_once_and_changes_no_table(tmp_path: Path) -> None:
    small = with_committee(small_conference(papers=12, reviewers=40))
    inputs, recorder = read_small(small, tmp_path), Recorder()
    alone, hired = plan(inputs, STEADY), plan(inputs, STEADY, workers=recorder)
    assert [paper.packed for paper in hired.papers] == [paper.packed for paper in alone.papers]
    person = small.canaries[-1].encode()
    assert len(recorder.sent) > 10
    assert sum(person in part for part in recorder.shared.values()) == 1
    assert not any(person in sent for sent in recorder.sent)


@pytest.mark.parametrize("request_", [STEADY, AVERAGE], ids=["steady", "average"])
def test_what_is_sent_does_not_depend_on_who_reviewed_what_nor_on_the_key(
    request_: Request, tmp_path: Path
) -> None:
    """Byte by byte the same for other reviewers, another key: whoever reads it learns nothing of them."""
    small = with_outsider(small_conference())
    other = (
        swapped(small)
        .with_review(3, reviewer=small.reviews[4][1])
        .with_review(4, reviewer=small.reviews[3][1])
    )
    assert other.reviews != small.reviews
    first = sent(small, tmp_path / "a", request_)
    second = sent(other, tmp_path / "b", request_)
    assert len(first) > 10
    assert first == second
    whole = b"".join(first)
    assert OUTSIDER.encode() not in whole
    # The pools are public, and the papers: they are there, so this looks at the right place.
    assert small.canaries[0].encode() in whole
    assert b"p00" in whole


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    pytest.importorskip("distributed")
    with dask_cluster(tmp_path_factory.mktemp("dask") / "cluster") as started:
        yield started


def decided(folder: Path, where: Path, *more: str) -> dict[str, bytes]:
    """The public files and the sealed tables of a conference decided with a key that is always the same."""
    from blindcal.cli import run

    where.mkdir()
    make_key(where / "key.bin")
    (where / "key.bin").write_bytes(bytes(range(32)))
    assert run(arguments(folder, where / "key.bin", where / "out", *more)) == 0
    return {**everything(where / "out"), "tables": sealed_tables(where / "key.bin")}


@pytest.mark.edge
def test_the_commands_give_the_same_in_one_process_and_on_a_cluster(
    cluster: DaskCluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from blindcal.cli import run

    folder = small_conference().write(tmp_path / "in")
    ways = (["--workers", "1"], ["--cluster", cluster.address])
    for number, way in enumerate(ways):
        decided(folder, tmp_path / str(number), *way)
    capfd.readouterr()
    key = tmp_path / "0" / "key.bin"
    commands = [
        command_line("plan", folder, "--key", str(key)),
        command_line("verify", folder, key, tmp_path / "0" / "out"),
    ]
    for command in commands:
        printed = []
        for way in ways:
            assert run([*command, *way]) == 0
            printed.append(capfd.readouterr())
        # Six people are fewer than the crowd, and that is all there is to say.
        assert [line for line in printed[0].err.splitlines() if "a crowd of 10 is steady" not in line] == []
        assert printed[0] == printed[1]
    assert len({str(sorted(everything(tmp_path / name / "out").items())) for name in "01"}) == 1
    assert len({sealed_tables(tmp_path / name / "key.bin") for name in "01"}) == 1


class Wire:
    """A way to a scheduler on which all that goes there is written down."""

    def __init__(self, address: str) -> None:
        self.log, self._there = bytearray(), ("127.0.0.1", int(address.rpartition(":")[2]))
        self._door = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self._door.getsockname()[1]}"
        self._open: list[socket.socket] = [self._door]
        self._threads = [threading.Thread(target=self._welcome, daemon=True)]
        self._threads[0].start()

    def _welcome(self) -> None:
        while True:
            try:
                here, _ = self._door.accept()
            except OSError:
                return
            there = socket.create_connection(self._there)
            self._open += [here, there]
            for source, target, log in ((here, there, self.log), (there, here, bytearray())):
                self._threads.append(threading.Thread(target=_copy, args=(source, target, log), daemon=True))
                self._threads[-1].start()

    def close(self) -> None:
        for one in self._open:
            # Whoever waits for the other side is woken.
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in self._threads:
            thread.join()


def _copy(source: socket.socket, target: socket.socket, log: bytearray) -> None:
    while True:
        try:
            part = source.recv(1 << 16)
            log += part
            target.sendall(part)
        except OSError:
            return
        if not part:
            return


@contextmanager
def tapped(address: str) -> Iterator[Wire]:
    wire = Wire(address)
    try:
        yield wire
    finally:
        wire.close()


@pytest.mark.edge
def test_neither_the_key_nor_a_reviewer_outside_the_pools_is_on_the_wire(
    cluster: DaskCluster, tmp_path: Path
) -> None:
    """All that workers receive passes the scheduler, and all that it knows of us was sent there."""
    from blindcal.cli import run

    config = pytest.importorskip("dask").config
    small = with_outsider(small_conference())
    folder, key = small.write(tmp_path / "in"), with_key(tmp_path / "key.bin")
    secret = key.read_bytes()
    with config.set({"distributed.comm.compression": None}), tapped(cluster.address) as wire:
        way = ["--cluster", wire.address]
        assert run(arguments(folder, key, tmp_path / "out", *way)) == 0
        assert run(command_line("plan", folder, "--key", str(key), *way)) == 0
        assert run([*command_line("verify", folder, key, tmp_path / "out"), *way]) == 0
    log = bytes(wire.log)
    # Pools are public, so candidates are there: this looks at the right place.
    assert all(name.encode() in log for _, name, _ in small.pools[1:])
    assert OUTSIDER.encode() not in log
    for text in (secret.hex(), secret.hex().upper(), base64.b64encode(secret).decode()[:40]):
        assert text.encode() not in log
    assert secret not in log


@pytest.mark.edge
def test_a_worker_that_is_killed_half_way_changes_no_byte(cluster: DaskCluster, tmp_path: Path) -> None:
    folder = with_committee(small_conference(papers=12)).write(tmp_path / "in")
    alone = decided(folder, tmp_path / "alone", "--workers", "1")
    lost = cluster.add()
    with parallel.connected(cluster.address) as both:
        both.client.wait_for_workers(2)

    over = threading.Event()

    def kill_one() -> None:
        while lost.pid not in cluster.held() and not over.is_set():
            time.sleep(0.01)
        lost.kill()
        lost.wait()
        cluster.go_on()

    cluster.hold()
    killer = threading.Thread(target=kill_one)
    killer.start()
    try:
        together = decided(folder, tmp_path / "together", "--cluster", cluster.address)
    finally:
        over.set()
        killer.join()
    assert lost.poll() == -signal.SIGKILL
    assert together == alone


@pytest.mark.edge
def test_ctrl_c_ends_what_a_cluster_is_busy_with_in_one_line(cluster: DaskCluster, tmp_path: Path) -> None:
    """The workers go on with nothing: they answer the next one at once."""
    folder = small_conference(papers=60).write(tmp_path / "in")
    before = everything(tmp_path)
    plan_ = command_line("plan", folder, "--full", "--cluster", cluster.address)
    cluster.hold()
    command = [sys.executable, "-m", "blindcal", *plan_]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        while not cluster.held() and process.poll() is None:
            time.sleep(0.01)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate()
    cluster.go_on()
    *notes, last = err.splitlines()
    assert (process.returncode, last) == (130, "blindcal: interrupted")
    # On a busy machine the first estimate is said before.
    assert all(re.match(r"blindcal: from \d+ papers so far: ", line) for line in notes), notes
    assert "planned: " not in out
    assert everything(tmp_path) == before
    with parallel.connected(cluster.address) as again:
        assert parallel.parallel_map(abs, range(-60, 0), workers=again)[0] == 60


@pytest.mark.edge
@pytest.mark.parametrize(
    ("way", "message"),
    [
        (
            ["--cluster", "tcp://10.0.0.7:8786"],
            "--cluster tcp://10.0.0.7:8786 must be encrypted: give a tls://",
        ),
        (["--cluster", "tcp://127.0.0.1:9"], "no Dask scheduler answers at --cluster tcp://127.0.0.1:9: "),
        (
            ["--cluster", "tls://127.0.0.1:9"],
            "--cluster tls://127.0.0.1:9 needs certificates: Dask's configuration",
        ),
        (["--cluster", "tcp://127.0.0.1:9", "--workers", "2"], "give one of --workers and --cluster"),
        (["--workers", "0"], "--workers must be at least 1, found 0"),
    ],
)
def test_a_bad_address_is_one_line_and_nothing_is_written(
    way: list[str],
    message: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from blindcal.cli import run

    pytest.importorskip("distributed")
    monkeypatch.setattr(parallel, "_ANSWER", 0.5)
    folder, key = small_conference().write(tmp_path / "in"), with_key(tmp_path / "key.bin")
    before = everything(tmp_path)
    plan_ = command_line("plan", folder)
    for command in (arguments(folder, key, tmp_path / "out"), plan_):
        assert run([*command, *way]) == 2
        said = capfd.readouterr()
        assert said.out == ""
        assert said.err.startswith(f"blindcal: {message}")
        assert said.err.count("\n") == 1
    assert everything(tmp_path) == before


@pytest.mark.edge
def test_the_two_commands_of_the_guide_start_a_cluster_on_ones_own_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page's own commands, with a free port in place of the usual one."""
    pytest.importorskip("distributed")
    from documents import ROOT, blocks, commands, run_command

    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "reference" / "numerics.md").read_text(encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    started: list[subprocess.Popen[bytes]] = []
    try:
        for block in blocks(page):
            if block.kind == "csv" and block.name:
                Path(block.name).write_text(block.text, encoding="utf-8")
            if block.kind == "console" and "blindcal new icx " in block.text:
                for command, _ in commands(block.text):
                    assert run_command(command)[0] == 0
            if (block.kind, block.name) != ("console", "cluster"):
                continue
            for command, expected in commands(block.text.replace("8786", port)):
                if command.endswith("&"):
                    more = ["--port", port] if "scheduler" in command else []
                    started.append(dask_clusters.dask(*shlex.split(command.removesuffix("&"))[1:], *more))
                else:
                    code, printed = run_command(command)
                    assert code == 0, printed
                    assert printed.startswith(expected.splitlines()[0].removesuffix("..."))
        assert len(started) == 2
    finally:
        for process in reversed(started):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
