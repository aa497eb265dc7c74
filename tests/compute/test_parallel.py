"""Work shared out: results in order, few threads, and a problem in one process ends all."""

from __future__ import annotations

import os
import pickle
import subprocess
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from shutil import which
from time import sleep
from types import SimpleNamespace
from typing import Any

import pytest

from blindcal.compute import parallel
from blindcal.compute import parallel as dask_cluster
from blindcal.compute.parallel import (
    THREADS,
    Cluster,
    Running,
    connected,
    environment,
    parallel_map,
    payload,
    run,
)
from blindcal.errors import BlindcalError, InputError


def test_workers_give_results_in_order_and_count_them():
    done: list[int] = []
    items = list(range(-60, 60))
    assert parallel_map(abs, items, workers=2, advance=done.append) == [abs(item) for item in items]
    assert sum(done) == len(items)


def _slow(item: int) -> tuple[int, int]:
    sleep(0.2)
    return item, os.getpid()


def test_few_items_are_shared_out_once_they_take_long(monkeypatch):
    pytest.importorskip("joblib")
    monkeypatch.setattr(parallel, "_PATIENCE", 0.3)
    found = parallel_map(_slow, list(range(8)), workers=2)
    assert [item for item, _ in found] == list(range(8))
    here = [pid == os.getpid() for _, pid in found]
    assert here[0]
    assert not here[-1]


@pytest.mark.parametrize("patience", [0.0, 0.1, 60.0])
def test_what_is_kept_of_a_result_is_chosen_here_as_it_comes(monkeypatch, patience):
    """Whoever made it: this process, workers, or both."""
    monkeypatch.setattr(parallel, "_PATIENCE", patience)
    here, results = os.getpid(), list[int]()

    def kept(item: int, result: tuple[int, int]) -> tuple[int, int]:
        assert os.getpid() == here
        results.append(item)
        return -result[0], item

    found = parallel_map(_slow, list(range(8)), workers=2, kept=kept)
    assert found == [(-value, item) for item, (value, _) in enumerate(map(_slow, range(8)))]
    assert sorted(results) == list(range(8))


def _threads(name: str) -> str | None:
    return os.environ.get(name)


def test_workers_have_one_thread_each_and_leave_the_environment_as_it_was(monkeypatch):
    pytest.importorskip("joblib")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    before = dict(os.environ)
    assert set(parallel_map(_threads, ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"] * 30, workers=2)) == {"1"}
    assert dict(os.environ) == before


def test_a_thousand_processes_are_not_started(monkeypatch):
    """They would take the machine down; what is computed does not depend on their number."""
    loky = pytest.importorskip("joblib.externals.loky")
    started: list[int] = []

    def pool(count: int, **settings):
        started.append(count)
        return loky.ProcessPoolExecutor(2)

    monkeypatch.setattr(loky, "get_reusable_executor", pool)
    assert dict(parallel.unordered_results(abs, [-1, -2, -3], 1000)) == {0: 1, 1: 2, 2: 3}
    assert started == [max(8, 2 * parallel.available_cores())]


# --- A Dask cluster: which addresses and workers are refused, and what is sent to a worker.


LOCAL = "tcp://127.0.0.1:8786"


@pytest.fixture
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in THREADS:
        monkeypatch.setenv(name, "1")


def refused(address: str) -> str:
    with pytest.raises(InputError) as caught, connected(address):
        raise AssertionError("it was connected")
    return str(caught.value)


@pytest.mark.edge
@pytest.mark.parametrize(
    "address",
    [
        *("tcp://10.0.0.7:8786", "10.0.0.7:8786", "tcp://scheduler.example.org:8786"),
        *("tcp://127.0.0.1.example.org:8786", "tcp://[2001:db8::1]:8786", "tcp://0.0.0.0:8786"),
        *("ws://127.0.0.1:8786", "inproc://127.0.0.1/1/1", "127.0.0.1", ""),
    ],
)
def test_what_others_could_read_is_refused_before_anything_is_sent(address: str) -> None:
    pytest.importorskip("distributed")
    assert f"`cluster` {address} must be encrypted" in refused(address)


@pytest.mark.edge
def test_encryption_needs_certificates_and_says_where() -> None:
    pytest.importorskip("distributed")
    said = refused("tls://scheduler.example.org:8786")
    assert "distributed.comm.tls.ca-file and distributed.comm.tls.client.cert" in said


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(dask_cluster, "import_module", missing)
    assert refused(LOCAL) == "`cluster` needs Dask: pip install 'blindcal[cluster]'"


@pytest.mark.edge
def test_a_scheduler_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(dask_cluster, "_ANSWER", 0.5)
    assert "no Dask scheduler answers at `cluster` tcp://127.0.0.1:9: " in refused("tcp://127.0.0.1:9")


class Client:
    """What a Dask client would say of its cluster."""

    def __init__(self, workers: Iterable[str] = (), address: str = LOCAL, **differs: str) -> None:
        self.address, self.workers, self.differs = address, list(workers), differs

    def wait_for_workers(self, count: int, timeout: float) -> None:
        if len(self.workers) < count:
            raise TimeoutError

    def scheduler_info(self) -> dict[str, str]:
        return {"address": self.address}

    def nthreads(self) -> dict[str, int]:
        return dict.fromkeys(self.workers, 2)

    def as_current(self) -> AbstractContextManager[None]:
        return nullcontext()

    def cancel(self, futures: list[Future[int]]) -> None:
        self.canceled = futures

    def run(self, function: Callable[[], dict[str, str]]) -> dict[str, dict[str, str]]:
        if "error" in self.differs:
            raise ModuleNotFoundError("No module named 'blindcal'")
        return {worker: {**function(), **self.differs} for worker in self.workers}


@pytest.mark.parametrize(
    ("client", "message"),
    [
        (Client(), "has no workers: start some with dask worker"),
        (Client([LOCAL], "tcp://10.0.0.7:8786"), "others can reach tcp://10.0.0.7:8786"),
        (Client([LOCAL, "tcp://10.0.0.8:4"]), "others can reach tcp://10.0.0.8:4"),
        (
            Client([LOCAL], numpy="1.0"),
            r"worker .* would compute other digits: it needs numpy .* \(found 1.0\)",
        ),
        (Client([LOCAL], OMP_NUM_THREADS="8"), r"it needs OMP_NUM_THREADS 1 \(found 8\)"),
        (Client([LOCAL], error="yes"), "cannot run blindcal .*: ModuleNotFoundError: No module"),
    ],
)
def test_a_cluster_that_is_open_empty_or_different_is_refused(
    client: Client, message: str, one_thread: None
) -> None:
    with pytest.raises(InputError, match=message):
        dask_cluster._check_cluster(Cluster(LOCAL, client))


def test_a_cluster_of_the_same_kind_is_taken(one_thread: None) -> None:
    cluster = Cluster("tls://a:1", Client(["tls://10.0.0.8:4", LOCAL], "tls://10.0.0.7:8786"))
    dask_cluster._check_cluster(cluster)
    assert cluster.size == 4
    assert "client" not in repr(cluster)


def test_a_payload_is_the_function_and_its_item_and_nothing_else(
    one_thread: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent, shared = payload(abs, -3)
    assert (pickle.loads(sent), shared) == ((abs, -3), {})
    assert run(sent, environment(), {}) == 3
    here = environment()
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    with pytest.raises(InputError, match=r"a worker of the Dask cluster .* OMP_NUM_THREADS 1 \(found 4\)"):
        run(sent, here, {})
    # The first process may have as many threads as it likes.
    with pytest.raises(InputError, match=r"found 4"):
        run(sent, environment(), {})


def ended(error: BaseException) -> Future[int]:
    future = Future[int]()
    future.set_exception(error)
    return future


@pytest.mark.edge
def test_what_is_lost_with_a_cluster_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    cluster = Cluster(LOCAL, Client([LOCAL]))

    def wait(futures: list[Future[int]], timeout: float, return_when: str) -> SimpleNamespace:
        if not futures:
            raise OSError("closed")
        done = {future for future in futures if future.done()}
        if not done:
            raise TimeoutError
        return SimpleNamespace(done=done)

    monkeypatch.setattr(distributed, "wait", wait)
    with pytest.raises(BlindcalError, match=f"the Dask cluster at {LOCAL} was lost"):
        cluster.finished({})
    problem = ended(ZeroDivisionError())
    assert cluster.finished({problem: 0}) == {problem}
    with pytest.raises(BlindcalError, match="its scheduler ended, or all of its workers"):
        Cluster(LOCAL, Client()).finished({Future[int](): 0})


@pytest.mark.edge
def test_work_that_ends_one_worker_after_another_is_an_error_in_dasks_words(
    monkeypatch: pytest.MonkeyPatch, one_thread: None
) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(distributed, "Client", lambda address, **settings: Client([LOCAL]))
    killed = distributed.KilledWorker("task", SimpleNamespace(address=LOCAL), 3)
    with pytest.raises(BlindcalError, match=f"cluster at {LOCAL}: Attempted to run task"), connected(LOCAL):
        raise killed


def test_a_scheduler_that_is_gone_is_an_error() -> None:
    class Gone(Client):
        def nthreads(self) -> dict[str, int]:
            raise OSError("closed")

    with pytest.raises(BlindcalError, match="was lost in the middle of the work"):
        _ = Cluster(LOCAL, Gone()).size


def test_what_is_abandoned_is_canceled() -> None:
    futures: Running = {Future[int](): 0, Future[int](): 1}
    client = Client()
    Cluster(LOCAL, client).abandon(futures)
    assert client.canceled == list(futures)


def certificate(folder: Path) -> dict[str, Any]:
    """Dask's configuration for a certificate that signs itself."""
    key, cert = str(folder / "key.pem"), str(folder / "cert.pem")
    kind = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=blindcal"]
    command = ["openssl", "req", *kind, "-keyout", key, "-out", cert]
    subprocess.run(command, check=True, capture_output=True)
    roles = {
        f"distributed.comm.tls.{role}.{part}": path
        for role in ("scheduler", "worker", "client")
        for part, path in (("key", key), ("cert", cert))
    }
    return {**roles, "distributed.comm.tls.ca-file": cert}


@pytest.mark.edge
@pytest.mark.skipif(which("openssl") is None, reason="no openssl to make a certificate")
def test_an_encrypted_cluster_works_with_the_certificates_of_dasks_configuration(
    tmp_path: Path, one_thread: None
) -> None:
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    options = {"n_workers": 1, "threads_per_worker": 2, "processes": False, "dashboard_address": None}
    with dask.config.set(certificate(tmp_path)):
        security = distributed.Security(require_encryption=True)
        local = distributed.LocalCluster(protocol="tls://", security=security, host="127.0.0.1", **options)
        with local, connected(local.scheduler_address) as cluster:
            assert cluster.address.startswith("tls://")
            assert cluster.size == 2
            assert parallel_map(abs, range(-60, 60), workers=cluster) == list(map(abs, range(-60, 60)))
            with pytest.raises(ZeroDivisionError):
                parallel_map((0).__rtruediv__, range(60), workers=cluster)
            assert parallel_map(abs, range(-60, 0), workers=cluster)[0] == 60
    assert os.environ["OMP_NUM_THREADS"] == "1"
