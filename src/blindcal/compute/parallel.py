"""The same function over many items, on several cores: the same results, whatever their number.

Processes come from joblib (its loky pool): they are started once and used again, and a script that calls this
needs no `if __name__ == "__main__"`. If joblib is not installed, everything runs in this process. Any other
`Pool` can work instead of them, as a Dask cluster does (`blindcal.compute.dask_cluster`).
"""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from math import inf
from time import monotonic, sleep
from typing import Any, Protocol, TypeVar

# Sums of several threads of linear algebra depend on their number: commands and processes use one each.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# Items are handed out in so many parts for each worker, and never more than so many at once: the last part
# keeps nobody waiting long.
_CHUNKS, _MOST_AT_ONCE = 16, 32
# This many processes are always started if requested; more on a machine with many cores.
_FEW = 8
# This many items are shared out at once; fewer only once they have taken this many seconds.
_ENOUGH, _PATIENCE = 48, 2.0

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
) -> list[Result]:
    """`[function(item) for item in items]`, by several workers if there is enough to do.

    An interrupt ends the processes; nothing is left running.

    `function`: what to call with each item; workers import it by its name. `items`: the items, many of which
    are shared out at once, and few only if they take long. `workers`: how many processes, or the pool that
    works instead of them. `advance`: called with the number of items just done. `light`: whether items take
    so little time that even many are shared out only if they take long.
    """
    alone = isinstance(workers, int) and (workers <= 1 or find_spec("joblib") is None)
    patience = inf if alone else _PATIENCE if light or len(items) < _ENOUGH else 0.0
    done = list(_one_by_one(function, items, advance, patience))
    return [*done, *_chunked(function, items[len(done) :], workers, advance)]


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


def run_in_process(
    function: Callable[[Item], Result], item: Item, *, waiting: Callable[[], None], pause: float = 0.1
) -> Result:
    """`function(item)` in a process of its own, for work that has no steps.

    `waiting()` is called now and then, and an exception from it ends the process.
    """
    if find_spec("joblib") is None:
        return function(item)
    pool, running = _Processes(1), Running()
    try:
        pool.hand(function, [(0, item)], running)
        (future,) = running
        while not wait(running, timeout=pause).done:
            waiting()
        result: Result = future.result()
        return result
    except BaseException:
        pool.abandon(running)
        raise


class _Processes:
    """Processes on this machine."""

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
    # Starting a tracker would lift the mask.
    for tracker in ("multiprocessing", "joblib.externals.loky.backend"):
        import_module(f"{tracker}.resource_tracker").ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _chunked(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    workers: Workers,
    advance: Callable[[int], None] | None,
) -> list[Result]:
    if not items:
        return []
    parts = _CHUNKS * (workers if isinstance(workers, int) else workers.size)
    size = max(1, min(len(items) // parts, _MOST_AT_ONCE))
    chunks = [items[start : start + size] for start in range(0, len(items), size)]
    results_by_index: dict[int, list[Result]] = {}
    with closing(unordered_results(partial(_chunk, function), chunks, workers)) as results:
        for index, part in results:
            results_by_index[index] = part
            if advance is not None:
                advance(len(part))
    return [result for index in range(len(chunks)) for result in results_by_index[index]]


def _chunk(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
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


def scaled_progress(advance: Callable[[int], None] | None, steps: int) -> Callable[[int], None] | None:
    """Progress in which every item that is done counts as this many steps."""
    return None if advance is None else lambda items: advance(steps * items)
