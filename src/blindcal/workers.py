"""The same function over many items, on several cores: same results whatever their number.

Processes come from joblib (its loky pool): they are started once and used again, and a script that calls this
needs no `if __name__ == "__main__"`. Where joblib is not installed, everything runs in this process.
"""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from math import inf
from time import monotonic, sleep
from typing import Any, TypeVar

# Sums of several threads of linear algebra depend on their number: commands and processes use one each.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_CHUNKS = 16
# So many items are shared out at once; fewer only once they have taken so many seconds.
_ENOUGH, _PATIENCE = 48, 2.0

Progress = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
"""What is done, and in how many steps -> a function to call with the number of steps done since."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def silent(work: str, steps: int) -> Iterator[Callable[[int], None]]:
    """Progress that nobody watches."""
    yield lambda done: None


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
    alone = workers <= 1 or find_spec("joblib") is None
    patience = inf if alone else _PATIENCE if light or len(items) < _ENOUGH else 0.0
    done = list(_one_by_one(function, items, advance, patience))
    return [*done, *_chunked(function, items[len(done) :], workers, advance)]


def shared(
    function: Callable[[Item], Result], items: Sequence[Item], workers: int
) -> Generator[tuple[int, Result]]:
    """The place of each item and what the function makes of it, as they are done, on `workers` processes.

    Closed early, or left by an exception, it kills them: whoever presses Ctrl-C does not wait for an item.
    """
    # One thread of linear algebra each: more would double the time, and sums would depend on their number.
    # They wait for work while this process lives: one that gives up just as work comes ends in a warning.
    settings = {"timeout": None, "env": dict.fromkeys(THREADS, "1")}
    loky, left = import_module("joblib.externals.loky"), enumerate(items)
    pool, running = None, dict[Any, int]()
    try:
        while True:
            with _interrupts_held():
                pool = pool or loky.get_reusable_executor(workers, **settings)
                few = islice(left, 2 * workers - len(running))
                running |= {pool.submit(function, item): place for place, item in few}
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            yield from ((running.pop(future), future.result()) for future in done)
    except BaseException:
        _kill(pool, running)
        raise


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Processes started here never see an interrupt, not even while they load; this one sees it afterwards.

    Ctrl-C reaches every process of a terminal: only the first one answers it. Where a system cannot hold
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


def _kill(pool: Any, running: Collection[Any]) -> None:
    # What was handed to the pool must have reached its queue: it stumbles over what it was just given.
    while not all(future.running() or future.done() for future in running):
        sleep(0.001)
    # Where the system has no `pgrep`, the pool warns that it cannot look for the processes' own ones.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if pool is not None:
            pool.shutdown(wait=True, kill_workers=True)


def _chunked(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    workers: int,
    advance: Callable[[int], None] | None,
) -> list[Result]:
    if not items:
        return []
    size = max(1, len(items) // (workers * _CHUNKS))
    chunks = [items[start : start + size] for start in range(0, len(items), size)]
    found: dict[int, list[Result]] = {}
    with closing(shared(partial(_chunk, function), chunks, workers)) as results:
        for place, part in results:
            found[place] = part
            if advance is not None:
                advance(len(part))
    return [result for place in range(len(chunks)) for result in found[place]]


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


def stepping(advance: Callable[[int], None] | None, steps: int) -> Callable[[int], None] | None:
    """Progress where every item that is done counts so many steps."""
    return None if advance is None else lambda items: advance(steps * items)
