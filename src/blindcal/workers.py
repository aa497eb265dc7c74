"""The same function over many items, on several cores: same results whatever their number."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from math import inf
from multiprocessing import get_context
from time import monotonic
from typing import TypeVar

from blindcal.startup import THREADS

_CHUNKS = 16
# So many items are shared out at once; fewer only once they have taken so many seconds.
_ENOUGH, _PATIENCE = 48, 2.0

Item = TypeVar("Item")
Result = TypeVar("Result")


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def each(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    workers: int = 1,
    advance: Callable[[int], None] | None = None,
    light: bool = False,
) -> list[Result]:
    """`[function(item) for item in items]`, on `workers` processes where there is enough to do.

    `advance(n)` is called as items are done. An interrupt ends the processes; nothing is left running. Many
    items are shared out at once unless they are `light`, and few ones only if they take long.

    >>> each(abs, [-1, 2, -3])
    [1, 2, 3]
    """
    patience = inf if workers <= 1 else _PATIENCE if light or len(items) < _ENOUGH else 0.0
    done = list(_one_by_one(function, items, advance, patience))
    return [*done, *_shared(function, items[len(done) :], workers, advance)]


def _shared(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    workers: int,
    advance: Callable[[int], None] | None,
) -> list[Result]:
    if not items:
        return []
    size = max(1, len(items) // (workers * _CHUNKS))
    # A fresh interpreter a worker: forking a process that has threads is not safe.
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_leave_interrupts)
    try:
        with _one_thread_each():
            chunks = {
                pool.submit(_chunk, function, items[start : start + size]): start
                for start in range(0, len(items), size)
            }
        return _gather(chunks, advance)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes started here add up their arrays on one thread: a thread for every core in each of them would
    double the time, and sums would depend on how many there are."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _leave_interrupts() -> None:
    """Ctrl-C reaches every process of a terminal: only the first one answers it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _gather(chunks: dict[Future[list[Result]], int], advance: Callable[[int], None] | None) -> list[Result]:
    found: dict[int, list[Result]] = {}
    pending = set(chunks)
    while pending:
        done, pending = wait(pending, return_when=FIRST_COMPLETED)
        for chunk in done:
            found[chunks[chunk]] = chunk.result()
            if advance is not None:
                advance(len(found[chunks[chunk]]))
    return [result for start in sorted(found) for result in found[start]]


def _chunk(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    return [function(item) for item in items]


def _one_by_one(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    advance: Callable[[int], None] | None,
    patience: float,
) -> Iterator[Result]:
    """As many as there is patience for."""
    start = monotonic()
    for item in items:
        if monotonic() - start >= patience:
            return
        yield function(item)
        if advance is not None:
            advance(1)
