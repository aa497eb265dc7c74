"""A Dask cluster in place of this machine's processes: other machines work on items, with the same results.

    with connected("tls://scheduler.example.org:8786") as cluster:
        plan(inputs, request, workers=cluster)

Dask's client is a pool of `concurrent.futures`, as joblib's processes are, so `workers.shared` hands items to
either: a few at a time, results as they come, and an end at once when it is interrupted. (joblib's own Dask
backend has all items sent before it can stop, and goes on with them afterwards.) A worker that is lost is
Dask's affair: its items go to another one.

What is sent is one `payload` an item: a function of this package by its name, and the item. Connections are
encrypted, or do not leave this machine.
"""

from __future__ import annotations

import logging
import os
import pickle
import platform
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from ipaddress import ip_address
from time import monotonic
from typing import Any

import blindcal
from blindcal.compute.parallel import THREADS, Running
from blindcal.errors import BlindcalError, InputError

# Seconds until a scheduler must have answered, and its workers; until workers that are all gone must be back.
_ANSWER, _RETURN = 10.0, 60.0
# So often it is seen whether there are workers at all, while none of them has anything to show.
_LOOK = 2.0
_CERTIFICATES = ("distributed.comm.tls.ca-file", "distributed.comm.tls.client.cert")
# Whatever these say is about connections, and the commands speak for themselves.
_LOGGERS = ("distributed", "distributed.client", "distributed.gc", "tornado", "tornado.application")


@dataclass(frozen=True, eq=False)
class Cluster:
    """The workers of the Dask cluster at `address`, as a `workers.Pool`."""

    address: str
    client: Any = field(repr=False)

    @property
    def size(self) -> int:
        """Threads of all workers that there are now."""
        threads: int = sum(self._asked(self.client.nthreads).values())
        return max(1, threads)

    def hand(self, function: Callable[[Any], Any], few: Iterable[tuple[int, Any]], running: Running) -> None:
        """Send items to the workers."""
        pool, here = self.client.get_executor(pure=False), environment()
        for place, item in few:
            running[pool.submit(run, payload(function, item), here)] = place

    def finished(self, running: Running) -> Collection[Any]:
        """The futures that are done; an error where the cluster was lost, not one of its workers."""
        seen = monotonic()
        while not (done := wait(running, timeout=_LOOK, return_when=FIRST_COMPLETED).done):
            seen = monotonic() if self._asked(self.client.nthreads) else seen
            if monotonic() - seen > _RETURN:
                raise BlindcalError(f"the Dask cluster at {self.address} has lost all its workers")
        killed = import_module("distributed").KilledWorker
        for future in done:
            if isinstance(self._asked(future.exception), killed):
                raise BlindcalError(
                    f"several workers of the Dask cluster at {self.address} ended, one after the other, with "
                    "the same part of the work: they may have too little memory"
                )
        return done

    def abandon(self, running: Running) -> None:
        """Nothing more is started; what a worker is busy with it finishes for nobody."""
        with suppress(Exception):
            for future in running:
                future.cancel()

    def _asked(self, question: Callable[[], Any]) -> Any:
        try:
            return question()
        except Exception:
            # The connection is closed; of a future, that it was given up with it.
            raise self._lost() from None

    def _lost(self) -> BlindcalError:
        return BlindcalError(f"the Dask cluster at {self.address} was lost in the middle of the work")


@contextmanager
def connected(address: str) -> Iterator[Cluster]:
    """The workers of the cluster whose scheduler is at `address`: `tls://host:port`, with the certificates of
    Dask's configuration, or `tcp://127.0.0.1:port` on this machine."""
    distributed, dask = _optional("distributed"), _optional("dask.config")
    encrypted = _encrypted(address)
    if not encrypted and not _loopback(address):
        raise InputError(
            f"`cluster` {address} must be encrypted: give a tls:// address, or one on this machine, such as "
            "tcp://127.0.0.1:8786"
        )
    if encrypted and (missing := [name for name in _CERTIFICATES if not dask.get(name)]):
        raise InputError(
            f"`cluster` {address} needs certificates: Dask's configuration must have {' and '.join(missing)}"
        )
    with _quiet(), dask.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
        client = _client(distributed, address, encrypted)
        try:
            cluster = Cluster(address, client)
            _check(cluster)
            yield cluster
        finally:
            with suppress(Exception):
                client.close(timeout=1)


def payload(function: Callable[[Any], Any], item: object) -> bytes:
    """All that a worker is sent of an item, and all that it is to know."""
    return pickle.dumps((function, item), protocol=5)


def run(sent: bytes, wanted: Mapping[str, str]) -> Any:
    """What a worker does: the function of a payload with its item, where it gives what it would elsewhere."""
    _refuse_other(environment(), wanted, "a worker")
    function, item = pickle.loads(sent)
    return function(item)


def environment() -> dict[str, str]:
    """What results depend on, beside the kind of processor; the number of threads is that of a worker."""
    return {**_versions(), **{name: os.environ.get(name, "not set") for name in THREADS}}


@cache
def _versions() -> Mapping[str, str]:
    names = ("numpy", "scipy", "highspy")
    return {
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "blindcal": blindcal.__version__,
        **{name: _version(name) for name in names},
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def _refuse_other(found: Mapping[str, str], wanted: Mapping[str, str], who: str) -> None:
    # This process may have more threads: what it computes itself is not what is compared.
    wanted = {**wanted, **dict.fromkeys(THREADS, "1")}
    other = [f"{name} {wanted[name]} (found {found[name]})" for name in wanted if found[name] != wanted[name]]
    if other:
        raise InputError(f"{who} of the Dask cluster would compute other digits: it needs {', '.join(other)}")


def _client(distributed: Any, address: str, encrypted: bool) -> Any:
    security = distributed.Security(require_encryption=encrypted)
    with warnings.catch_warnings():
        # Dask lists packages of other versions; those that matter are compared later.
        warnings.simplefilter("ignore")
        try:
            return distributed.Client(
                address, timeout=_ANSWER, security=security, set_as_default=False, name="blindcal"
            )
        except (OSError, ValueError, TypeError, ImportError) as error:
            raise InputError(f"no Dask scheduler answers at `cluster` {address}: {error}") from None


def _check(cluster: Cluster) -> None:
    """Refuse a cluster that others can listen to, that has no workers, or whose workers differ."""
    client = cluster.client
    try:
        client.wait_for_workers(1, timeout=_ANSWER)
    except OSError:
        raise InputError(
            f"the Dask cluster at {cluster.address} has no workers: start some with "
            f"dask worker {cluster.address}"
        ) from None
    addresses = [client.scheduler_info()["address"], *client.nthreads()]
    heard = [one for one in addresses if not (_encrypted(one) or _loopback(one))]
    if heard:
        raise InputError(
            f"the Dask cluster at {cluster.address} must be encrypted, or keep to this machine (--host "
            f"127.0.0.1): others can reach {heard[0]}"
        )
    try:
        found = client.run(environment)
    except Exception as error:
        raise InputError(
            f"the workers of the Dask cluster at {cluster.address} cannot run blindcal "
            f"{blindcal.__version__}: {type(error).__name__}: {error}"
        ) from None
    for who, one in found.items():
        _refuse_other(one, environment(), f"worker {who}")


def _encrypted(address: str) -> bool:
    return address.startswith("tls://")


def _loopback(address: str) -> bool:
    """Whether what is sent to an address stays on this machine.

    >>> [_loopback(one) for one in ("tcp://127.0.0.1:8786", "localhost:8786", "tcp://[::1]:8786")]
    [True, True, True]
    >>> [_loopback(one) for one in ("tcp://10.0.0.7:8786", "tcp://localhost.example.org:1", "ws://127.0.0.1:1")]
    [False, False, False]
    """
    found = re.fullmatch(r"(?:tcp://)?(?:\[([0-9a-f:]+)\]|([^\[\]:/]+)):[0-9]+", address, re.IGNORECASE)
    if found is None:
        return False
    host = found[1] or found[2]
    try:
        return host.lower() == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _optional(module: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise InputError("`cluster` needs Dask: pip install 'blindcal[cluster]'") from None


@contextmanager
def _quiet() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [one.level for one in loggers]
    for one in loggers:
        one.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for one, level in zip(loggers, before, strict=True):
            one.setLevel(level)
