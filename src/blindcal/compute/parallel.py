"""The same function over many items, on several cores: the same results, whatever their number.

Processes come from joblib (its loky pool): they are started once and used again, and a script that calls this
needs no `if __name__ == "__main__"`. If joblib is not installed, everything runs in this process. Any other
`Pool` can work instead of them, as a Dask cluster does (`connected`).
"""

from __future__ import annotations

import io
import logging
import os
import pickle
import platform
import re
import signal
import warnings
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from ipaddress import ip_address
from itertools import islice
from math import inf
from time import monotonic, sleep
from typing import Any, Protocol, TypeVar

import blindcal
from blindcal.errors import BlindcalError, InputError

# Sums of several threads of linear algebra depend on their number: commands and processes use one each.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# Items are handed out in so many parts for each worker, and never more than so many at once: the last part
# keeps nobody waiting long.
_CHUNKS, _MOST_AT_ONCE = 16, 32
# This many processes are always started if requested; more on a machine with many cores.
_FEW = 8
# This many items are shared out at once; fewer only once they have taken this many seconds.
_MANY_ITEMS, _PATIENCE = 48, 2.0

Progress = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
"""What is done, and in how many steps -> a function to call with the number of steps done since."""

Item = TypeVar("Item")
Result = TypeVar("Result")
Running = dict[Any, int]
"""Futures of items that were handed out, and the index of each item."""


class Pool(Protocol):
    """Whoever does the work, `size` items at a time."""

    @property
    def size(self) -> int: ...

    def hand(self, function: Callable[[Any], Any], few: Iterable[tuple[int, Any]], running: Running) -> None:
        """Start on these items, `(index, item)`, and enter the future of each."""

    def finished(self, running: Running) -> Collection[Any]:
        """The futures that are done, once there is one."""

    def abandon(self, running: Running) -> None:
        """Stop working on what is not done: nobody waits for it."""


Workers = int | Pool
"""How many processes on this machine, or the pool that works instead of them."""


def available_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def no_progress(work: str, steps: int) -> Iterator[Callable[[int], None]]:
    """Progress that nobody watches."""
    yield lambda done: None


def parallel_map(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    workers: Workers = 1,
    advance: Callable[[int], None] | None = None,
    light: bool = False,
    kept: Callable[[Item, Result], Result] | None = None,
) -> list[Result]:
    """`[function(item) for item in items]`, by several workers if there is enough to do.

    An interrupt ends the processes; nothing is left running.

    `function`: what to call with each item; workers import it by its name. `items`: the items, many of which
    are shared out at once, and few only if they take long. `workers`: how many processes, or the pool that
    works instead of them. `advance`: called with the number of items just done. `light`: whether items take
    so little time that even many are shared out only if they take long. `kept`: called here with an item and
    its result as soon as that is there; what it returns is kept instead.
    """
    alone = isinstance(workers, int) and (workers <= 1 or find_spec("joblib") is None)
    patience = inf if alone else _PATIENCE if light or len(items) < _MANY_ITEMS else 0.0
    keep = kept or (lambda _, result: result)
    # The results come first: they also count the last one.
    here = zip(_one_by_one(function, items, advance, patience), items, strict=False)
    done = [keep(item, result) for result, item in here]
    return [*done, *_chunked(function, items[len(done) :], workers, advance, keep)]


def unordered_results(
    function: Callable[[Item], Result], items: Sequence[Item], workers: Workers
) -> Generator[tuple[int, Result]]:
    """The index of each item and its result, as workers finish them.

    Closed early, or left by an exception, it ends their work: Ctrl-C does not wait for an item.
    """
    pool = _Processes(workers) if isinstance(workers, int) else workers
    remaining, running = enumerate(items), Running()
    try:
        while True:
            pool.hand(function, islice(remaining, max(0, 2 * pool.size - len(running))), running)
            if not running:
                return
            yield from ((running.pop(future), future.result()) for future in pool.finished(running))
    except BaseException:
        pool.abandon(running)
        raise


class _Processes:
    def __init__(self, workers: int) -> None:
        # Far more processes than cores are a typo, and all of them would be started at once.
        self.size = min(workers, max(_FEW, 2 * available_cores()))
        self._pool: Any = None

    def hand(self, function: Callable[[Any], Any], few: Iterable[tuple[int, Any]], running: Running) -> None:
        # One thread of linear algebra each: more would double the time, and sums would depend on their
        # number. They wait for work while this process lives: one that gives up just as work comes ends in a
        # warning.
        settings = {"timeout": None, "env": dict.fromkeys(THREADS, "1")}
        loky = import_module("joblib.externals.loky")
        with _interrupts_held():
            self._pool = self._pool or loky.get_reusable_executor(self.size, **settings)
            running.update({self._pool.submit(function, item): index for index, item in few})

    def finished(self, running: Running) -> Collection[Any]:
        return wait(running, return_when=FIRST_COMPLETED).done

    def abandon(self, running: Running) -> None:
        # What was handed to the pool must have reached its queue: it stumbles over what it was just given.
        while not all(future.running() or future.done() for future in running):
            sleep(0.001)
        # If the system has no `pgrep`, the pool warns that it cannot look for the processes' own ones.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self._pool is not None:
                self._pool.shutdown(wait=True, kill_workers=True)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Processes started here never see an interrupt, not even while they load; this one sees it afterwards.

    Ctrl-C reaches every process of a terminal: only the first one answers it. If a system cannot hold
    interrupts back, the others answer it too, and end.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    _start_trackers()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_trackers() -> None:
    """Start the processes that remove what others leave behind: later, it would lift a mask of signals.

    An interrupted command may end at once, and what it leaves is no reason for them to warn of it.
    """
    said = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = "ignore"
    try:
        for tracker in ("multiprocessing", "joblib.externals.loky.backend"):
            import_module(f"{tracker}.resource_tracker").ensure_running()
    finally:
        if said is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = said


def _chunked(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    workers: Workers,
    advance: Callable[[int], None] | None,
    keep: Callable[[Item, Result], Result],
) -> list[Result]:
    if not items:
        return []
    parts = _CHUNKS * (workers if isinstance(workers, int) else workers.size)
    size = max(1, min(len(items) // parts, _MOST_AT_ONCE))
    chunks = [items[start : start + size] for start in range(0, len(items), size)]
    results_by_index: dict[int, list[Result]] = {}
    with closing(unordered_results(partial(_call_each, function), chunks, workers)) as results:
        for index, part in results:
            results_by_index[index] = list(map(keep, chunks[index], part))
            if advance is not None:
                advance(len(part))
    return [result for index in range(len(chunks)) for result in results_by_index[index]]


def _call_each(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    return [function(item) for item in items]


def _one_by_one(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    advance: Callable[[int], None] | None,
    patience: float,
) -> Iterator[Result]:
    """The results of the first items, until `patience` seconds have passed."""
    start = monotonic()
    for item in items:
        if monotonic() - start >= patience:
            return
        yield function(item)
        if advance is not None:
            advance(1)


# --- A Dask cluster in place of this machine's processes: the same results, computed by other machines.
#
#     with connected("tls://scheduler.example.org:8786") as cluster:
#         plan(inputs, request, workers=cluster)
#
# Dask's client hands items to workers, gives those of a lost worker to another one, and cancels what nobody
# waits for. This module adds what Dask does not check: that nobody else can listen, and that workers compute
# the same digits. (joblib's own Dask backend sends all items before it can be interrupted.)
#
# A worker is sent one `payload` an item, a function of this package by its name and the item, and nothing
# else. What many items share, such as a committee's calibration, is sent once, as an item of its own.

# Seconds until a scheduler must have answered, and its workers; until workers that are all gone must be back.
_ANSWER, _WORKERS_RETURN = 10.0, 60.0
# Seconds without a result after which to look whether there are workers at all.
_LOOK = 2.0
_CERTIFICATES = ("distributed.comm.tls.ca-file", "distributed.comm.tls.client.cert")


@dataclass(frozen=True, eq=False)
class Cluster:
    """The workers of a Dask cluster, as a `parallel.Pool`."""

    address: str  # where the scheduler listens
    client: Any = field(repr=False)  # dask's client, connected to it
    shared: dict[str, Any] = field(default_factory=dict, repr=False)  # what was sent once, by its digest

    @property
    def size(self) -> int:
        """The number of threads of all workers that there are now."""
        with self._unless_lost():
            return max(1, int(sum(self.client.nthreads().values())))

    def hand(self, function: Callable[[Any], Any], few: Iterable[tuple[int, Any]], running: Running) -> None:
        """Send items to the workers."""
        here = environment()
        for index, item in few:
            sent, parts = payload(function, item)
            # A task, and not data: if the worker that holds it is lost, another one makes it again.
            self.shared.update(
                {
                    name: self.client.submit(pickle.loads, part, pure=False)
                    for name, part in parts.items()
                    if name not in self.shared
                }
            )
            used = {name: self.shared[name] for name in parts}
            running[self.client.submit(run, sent, here, used, pure=False)] = index

    def finished(self, running: Running) -> Collection[Any]:
        """The futures that are done, once there is one; an error if the whole cluster was lost."""
        with self._unless_lost(), self.client.as_current():
            while True:
                with suppress(TimeoutError):
                    return set(import_module("distributed").wait([*running], _LOOK, "FIRST_COMPLETED").done)
                # Dask itself would wait forever for workers that do not come back.
                self.client.wait_for_workers(1, timeout=_WORKERS_RETURN)

    def abandon(self, running: Running) -> None:
        """Cancel what is not done; a worker finishes its present item for nobody."""
        with suppress(Exception):
            self.client.cancel(list(running))

    @contextmanager
    def _unless_lost(self) -> Iterator[None]:
        """Any error of Dask's here means that nobody is left to finish the futures."""
        try:
            yield
        except Exception:
            lost = "was lost in the middle of the work: its scheduler ended, or all of its workers"
            raise BlindcalError(f"{self} {lost}") from None

    def __str__(self) -> str:
        return f"the Dask cluster at {self.address}"


@contextmanager
def connected(address: str) -> Iterator[Cluster]:
    """Connects to the cluster whose scheduler is at an address.

    Args:
        address: `tls://host:port`, with the certificates of Dask's configuration, or `tcp://127.0.0.1:port`
            on this machine.

    Yields:
        The cluster's workers, to be given as `workers` to functions that take them.

    Raises:
        InputError: Others could listen, nobody answers, or workers would compute other digits.
    """
    try:
        distributed, config = import_module("distributed"), import_module("dask.config")
    except ModuleNotFoundError:
        raise InputError("`cluster` needs Dask: pip install 'blindcal[cluster]'") from None
    if not _is_private(address):
        raise InputError(
            f"`cluster` {address} must be encrypted: give a tls:// address, or one on this machine, such as "
            "tcp://127.0.0.1:8786"
        )
    encrypted = address.startswith("tls://")
    if encrypted and (missing := [name for name in _CERTIFICATES if not config.get(name)]):
        raise InputError(
            f"`cluster` {address} needs certificates: Dask's configuration must have {' and '.join(missing)}"
        )
    # The commands report what goes wrong; Dask's own log would say it again.
    silent = distributed.utils.silence_logging_cmgr(logging.CRITICAL + 1)
    with silent, config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
        try:
            # Dask warns of any package with another version; those that matter are compared later.
            with warnings.catch_warnings(action="ignore"):
                client = distributed.Client(
                    address,
                    timeout=_ANSWER,
                    security=distributed.Security(require_encryption=encrypted),
                    set_as_default=False,
                )
        except (OSError, ValueError, TypeError, ImportError) as error:
            raise InputError(f"no Dask scheduler answers at `cluster` {address}: {error}") from None
        try:
            cluster = Cluster(address, client)
            _check_cluster(cluster)
            yield cluster
        except distributed.KilledWorker as error:
            raise BlindcalError(f"{cluster}: {error}") from None
        finally:
            with suppress(Exception):
                client.close(timeout=1)


def payload(function: Callable[[Any], Any], item: object) -> tuple[bytes, dict[str, bytes]]:
    """All that a worker is sent for an item, and all that it may know; apart, by digest, what others share.

    Shared are objects whose class has `sent_once`, their digest and bytes.
    """
    parts, file = dict[str, bytes](), io.BytesIO()

    class Pickler(pickle.Pickler):
        def persistent_id(self, part: Any) -> str | None:
            if not hasattr(type(part), "sent_once"):
                return None
            name, data = part.sent_once
            parts[name] = data
            return str(name)

    Pickler(file, protocol=5).dump((function, item))
    return file.getvalue(), parts


def run(sent: bytes, expected: Mapping[str, str], shared: Mapping[str, Any]) -> Any:
    """What a worker does: call the function of a payload with its item, if it computes the same digits.

    Workers that join later were not there when the cluster was checked.
    """
    _refuse_other(environment(), expected, "a worker of the Dask cluster")

    class Unpickler(pickle.Unpickler):
        def persistent_load(self, name: str) -> Any:
            return shared[name]

    function, item = Unpickler(io.BytesIO(sent)).load()
    return function(item)


def environment() -> dict[str, str]:
    """What results depend on, apart from the kind of processor."""
    version = import_module("importlib.metadata").version
    return {
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "blindcal": blindcal.__version__,
        **{name: version(name) for name in ("numpy", "scipy", "highspy")},
        **{name: os.environ.get(name, "not set") for name in THREADS},
    }


def _refuse_other(actual: Mapping[str, str], expected: Mapping[str, str], worker: str) -> None:
    # This process may use more threads: what it computes itself is not compared.
    needed = {**expected, **dict.fromkeys(THREADS, "1")}
    other = [
        f"{name} {needed[name]} (found {actual[name]})" for name in needed if actual[name] != needed[name]
    ]
    if other:
        raise InputError(f"{worker} would compute other digits: it needs {', '.join(other)}")


def _check_cluster(cluster: Cluster) -> None:
    """Refuse a cluster that others can listen to, that has no workers, or whose workers differ."""
    client = cluster.client
    try:
        client.wait_for_workers(1, timeout=_ANSWER)
    except OSError:
        raise InputError(f"{cluster} has no workers: start some with dask worker {cluster.address}") from None
    for address in [client.scheduler_info()["address"], *client.nthreads()]:
        if not _is_private(address):
            raise InputError(
                f"{cluster} must be encrypted, or keep to this machine (--host 127.0.0.1): others can reach "
                f"{address}"
            )
    try:
        environments = client.run(environment)
    except Exception as error:
        raise InputError(
            f"the workers of {cluster} cannot run blindcal {blindcal.__version__}: "
            f"{type(error).__name__}: {error}"
        ) from None
    for worker, actual in environments.items():
        _refuse_other(actual, environment(), f"worker {worker} of {cluster}")


def _is_private(address: str) -> bool:
    """Whether nobody else can read what is sent to an address: it is encrypted, or stays on this machine.

    >>> [_is_private(address) for address in ("tls://a:1", "tcp://127.0.0.1:8786", "localhost:1", "tcp://[::1]:1")]
    [True, True, True, True]
    >>> [_is_private(address) for address in ("tcp://10.0.0.7:1", "tcp://localhost.example.org:1", "ws://127.0.0.1:1")]
    [False, False, False]
    """
    if address.startswith("tls://"):
        return True
    # All of the address must match: a parser of URLs would take some other part of it for the host.
    match = re.fullmatch(r"(?:tcp://)?(?:\[([0-9a-f:]+)\]|([^\[\]:/]+)):[0-9]+", address, re.IGNORECASE)
    host = (match[1] or match[2]).lower() if match else ""
    with suppress(ValueError):
        return host == "localhost" or ip_address(host).is_loopback
    return False
