"""A Dask cluster in place of this machine's processes: the same results, computed by other machines.

    with connected("tls://scheduler.example.org:8786") as cluster:
        plan(inputs, request, workers=cluster)

Dask's client hands items to workers, gives those of a lost worker to another one, and cancels what nobody
waits for. This module adds what Dask does not check: that nobody else can listen, and that workers compute
the same digits. (joblib's own Dask backend sends all items before it can be interrupted.)

A worker is sent one `payload` an item, a function of this package by its name and the item, and nothing else.
"""

from __future__ import annotations

import logging
import os
import pickle
import platform
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import version
from ipaddress import ip_address
from typing import Any

import blindcal
from blindcal.compute.parallel import THREADS, Running
from blindcal.errors import BlindcalError, InputError

# Seconds until a scheduler must have answered, and its workers; until workers that are all gone must be back.
_ANSWER, _RETURN = 10.0, 60.0
# Seconds without a result after which to look whether there are workers at all.
_LOOK = 2.0
_CERTIFICATES = ("distributed.comm.tls.ca-file", "distributed.comm.tls.client.cert")


@dataclass(frozen=True, eq=False)
class Cluster:
    """The workers of a Dask cluster, as a `parallel.Pool`."""

    address: str  # where the scheduler listens
    client: Any = field(repr=False)  # dask's client, connected to it

    @property
    def size(self) -> int:
        """The number of threads of all workers that there are now."""
        with self._unless_lost():
            threads: dict[str, int] = self.client.nthreads()
        return max(1, sum(threads.values()))

    def hand(self, function: Callable[[Any], Any], few: Iterable[tuple[int, Any]], running: Running) -> None:
        """Send items to the workers."""
        here = environment()
        for index, item in few:
            running[self.client.submit(run, payload(function, item), here, pure=False)] = index

    def finished(self, running: Running) -> Collection[Any]:
        """The futures that are done, once there is one; an error if the whole cluster was lost."""
        distributed = import_module("distributed")
        with self._unless_lost(), self.client.as_current():
            while True:
                with suppress(TimeoutError):
                    done = distributed.wait(list(running), _LOOK, return_when="FIRST_COMPLETED").done
                    break
                try:
                    self.client.wait_for_workers(1, timeout=_RETURN)
                except TimeoutError:
                    raise BlindcalError(f"{self} has lost all its workers") from None
            if any(isinstance(future.exception(), distributed.KilledWorker) for future in done):
                raise BlindcalError(
                    f"several workers of {self} ended, one after the other, with the same part of the work: "
                    "they may have too little memory"
                )
            return set(done)

    def abandon(self, running: Running) -> None:
        """Cancel what is not done; a worker finishes its present item for nobody."""
        with suppress(Exception):
            self.client.cancel(list(running))

    @contextmanager
    def _unless_lost(self) -> Iterator[None]:
        """Any error of Dask's here means that the scheduler is gone, and its futures with it."""
        try:
            yield
        except BlindcalError:
            raise
        except Exception:
            raise BlindcalError(f"{self} was lost in the middle of the work") from None

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
    if not _private(address):
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
            # Dask warns of any package with another version; those that matter are compared in `_check`.
            with warnings.catch_warnings(action="ignore"):
                client = distributed.Client(
                    address,
                    timeout=_ANSWER,
                    security=distributed.Security(require_encryption=encrypted),
                    set_as_default=False,
                    name="blindcal",
                )
        except (OSError, ValueError, TypeError, ImportError) as error:
            raise InputError(f"no Dask scheduler answers at `cluster` {address}: {error}") from None
        try:
            cluster = Cluster(address, client)
            _check(cluster)
            yield cluster
        finally:
            with suppress(Exception):
                client.close(timeout=1)


def payload(function: Callable[[Any], Any], item: object) -> bytes:
    """All that a worker is sent for an item, and all that it may know."""
    return pickle.dumps((function, item), protocol=5)


def run(sent: bytes, expected: Mapping[str, str]) -> Any:
    """What a worker does: call the function of a payload with its item, if it computes the same digits.

    Workers that join later were not there when the cluster was checked.
    """
    _refuse_other(environment(), expected, "a worker of the Dask cluster")
    function, item = pickle.loads(sent)
    return function(item)


def environment() -> dict[str, str]:
    """What results depend on, apart from the kind of processor."""
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


def _check(cluster: Cluster) -> None:
    """Refuse a cluster that others can listen to, that has no workers, or whose workers differ."""
    client = cluster.client
    try:
        client.wait_for_workers(1, timeout=_ANSWER)
    except OSError:
        raise InputError(f"{cluster} has no workers: start some with dask worker {cluster.address}") from None
    for address in [client.scheduler_info()["address"], *client.nthreads()]:
        if not _private(address):
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


def _private(address: str) -> bool:
    """Whether nobody else can read what is sent to an address: it is encrypted, or stays on this machine.

    >>> [_private(address) for address in ("tls://a:1", "tcp://127.0.0.1:8786", "localhost:1", "tcp://[::1]:1")]
    [True, True, True, True]
    >>> [_private(address) for address in ("tcp://10.0.0.7:1", "tcp://localhost.example.org:1", "ws://127.0.0.1:1")]
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
