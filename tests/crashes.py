"""Writers that are killed, and writers that race: run by tests in a small process that may fork.

Nobody is killed by the clock: a writer dies at a given call into the system, or at a given byte.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from blindcal.errors import RefusedError
from blindcal.io import atomic_files as files
from blindcal.io.atomic_files import lock, remove_stale_files, write_bytes

SIZE = 50_000
CALLS = ("open", "mkdir", "chmod", "listdir", "fsync", "link", "replace", "unlink", "close")


def content(version: int) -> bytes:
    return (b"%08d" % version) * (SIZE // 8)


def fork(work: Callable[[], None]) -> int:
    """A child that does `work` and ends: 0 if it returned, 3 if refused, 9 if it failed."""
    child = os.fork()
    if child:
        return child
    try:
        work()
        os._exit(0)
    except RefusedError:
        os._exit(3)
    except BaseException as error:
        print(repr(error), file=sys.stderr)
        os._exit(9)


def code_of(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def strays(folder: Path, keep: set[str]) -> list[str]:
    return [name for name in os.listdir(folder) if name not in keep]


def state(path: Path) -> int | None:
    """The version that a file holds, None if it does not exist, -1 if it is torn."""
    if not path.exists():
        return None
    data = path.read_bytes()
    return int(data[:8]) if data == content(int(data[:8] or b"0")) else -1


def kill_within_the_write(folder: Path, kills: int, replace: int, named: int) -> dict[str, int]:
    """The system kills a writer as soon as its file would grow beyond a limit: half-written files."""
    seen = dict.fromkeys(("torn", "temporaries", "temporaries_after_clearing"), 0)
    for trial in range(kills):
        home = folder / f"t{trial}"
        home.mkdir()
        path = home / "result"
        if replace:
            write_bytes(path, content(0))

        def write(path: Path = path, limit: int = trial * SIZE // kills) -> None:
            if named:
                without_nameless_files()
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            write_bytes(path, content(1), replace=bool(replace))

        code = code_of(fork(write))
        seen["torn"] += code != -signal.SIGXFSZ or state(path) != (0 if replace else None)
        seen["temporaries"] += len(strays(home, {"result"}))
        remove_stale_files(home)
        seen["temporaries_after_clearing"] += len(strays(home, {"result"}))
    return seen


def kill_at_every_call(folder: Path, replace: int, named: int) -> dict[str, int]:
    """Die just before, and just after, the first, second, ... call into the system while writing."""
    seen = dict.fromkeys(
        ("torn", "temporaries", "temporaries_after_the_next_write", "calls", "old", "new"), 0
    )
    for moment in range(200):
        home = folder / f"t{moment}"
        home.mkdir()
        path = home / "result"
        if replace:
            write_bytes(path, content(0))

        def write(path: Path = path, moment: int = moment) -> None:
            if named:
                without_nameless_files()
            die_at(moment)
            write_bytes(path, content(1), replace=bool(replace))

        code = code_of(fork(write))
        if code == 0:
            return seen
        now = state(path)
        seen["calls"] += 1
        seen["new" if now == 1 else "old"] += 1
        seen["torn"] += code != -signal.SIGKILL or now not in ((0, 1) if replace else (None, 1))
        seen["temporaries"] += len(strays(home, {"result"}))
        write_bytes(path, content(2), replace=True)
        seen["temporaries_after_the_next_write"] += len(strays(home, {"result"}))
    raise RuntimeError("the write never ended")


def kill_at_every_call_of_a_release(folder: Path, named: int) -> dict[str, int]:
    """A second release is sealed by a writer that dies, at one call after another, then by one that lives."""
    from blindcal.deciding.key import make_key, read_key
    from blindcal.deciding.ledger import ledger_folder, open_ledger, read_ledger
    from sealed_releases import seal_next

    seen = dict.fromkeys(("torn", "left_over", "calls", "old", "new"), 0)

    def seal(key: Path, moment: int) -> None:
        if named:
            without_nameless_files()
        die_at(moment)
        with open_ledger(key, read_key(key)) as ledger:
            seal_next(ledger)

    for moment in range(1000):
        (home := folder / f"t{moment}").mkdir()
        path, key = home / "key.bin", make_key(home / "key.bin")
        with open_ledger(path, key) as ledger:
            seal_next(ledger)
        if code_of(fork(lambda path=path, moment=moment: seal(path, moment))) == 0:
            return seen
        ledger = read_ledger(path, key)
        whole = all(ledger.record(r.number) and ledger.tables(r.number) for r in ledger.releases)
        seen["torn"] += len(ledger.releases) not in (1, 2) or not whole
        seen["calls"] += 1
        seen["old" if len(ledger.releases) == 1 else "new"] += 1
        with open_ledger(path, key) as ledger:
            after = seal_next(ledger)
        names = {f"{counter:04d}.sealed" for counter in range(1, len(after.releases) + 1)}
        seen["left_over"] += names != set(os.listdir(ledger_folder(path)))
    raise RuntimeError("the release was never sealed")


def die_at(moment: int) -> None:
    step = iter(range(10_000))

    def deadly(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            if next(step) == moment:
                os.kill(os.getpid(), signal.SIGKILL)
            result = call(*arguments, **options)
            if next(step) == moment:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return wrapped

    for name in CALLS:
        setattr(os, name, deadly(getattr(os, name)))


def without_nameless_files() -> None:
    files._open_nameless = lambda folder, mode: None


def together(writers: int, work: Callable[[int], None]) -> list[int]:
    """Exit codes of `writers` children that all start at one moment."""
    gate, start = os.pipe()

    def wait_and_work(number: int) -> None:
        os.close(start)
        os.read(gate, 1)
        work(number)

    children = [fork(lambda number=number: wait_and_work(number)) for number in range(writers)]
    os.close(start)
    os.close(gate)
    return [code_of(child) for child in children]


def race(folder: Path, writers: int, rounds: int, named: int) -> dict[str, int]:
    seen = dict.fromkeys(("winners_not_one", "content_not_the_winners", "left_over", "failures"), 0)
    if named:
        without_nameless_files()
    for trial in range(rounds):
        home = folder / f"t{trial}"
        home.mkdir()
        path = home / "result"
        codes = together(writers, lambda number, path=path: write_bytes(path, content(number)))
        seen["winners_not_one"] += codes.count(0) != 1
        seen["content_not_the_winners"] += state(path) != codes.index(0)
        seen["left_over"] += len(strays(home, {"result"}))
        seen["failures"] += len([code for code in codes if code not in (0, 3)])
    return seen


def replace_race(folder: Path, writers: int, rounds: int, named: int) -> dict[str, int]:
    seen = dict.fromkeys(("torn", "left_over", "failures"), 0)
    if named:
        without_nameless_files()
    for trial in range(rounds):
        home = folder / f"t{trial}"
        home.mkdir()
        path = home / "result"
        codes = together(writers, lambda number, path=path: write_bytes(path, content(number), replace=True))
        seen["torn"] += state(path) in (None, -1)
        seen["left_over"] += len(strays(home, {"result"}))
        seen["failures"] += len([code for code in codes if code != 0])
    return seen


def lock_race(folder: Path, writers: int, rounds: int) -> dict[str, int]:
    """Holders put a file in a folder that must be empty; some are killed while they hold."""
    seen = dict.fromkeys(("two_holders", "held_after_a_kill", "held"), 0)
    inside = folder / "inside"
    inside.mkdir()

    def hold(number: int, deadly: bool) -> None:
        with lock(folder / "ledger"):
            mark = inside / str(number)
            mark.touch()
            time.sleep(0.001)
            if len(os.listdir(inside)) != 1:
                raise RuntimeError("two holders")
            mark.unlink()
            if deadly:
                os.kill(os.getpid(), signal.SIGKILL)

    for trial in range(rounds):
        codes = together(writers, lambda number, deadly=trial % 2 == 1: hold(number, deadly))
        seen["two_holders"] += codes.count(9)
        seen["held"] += codes.count(0) + codes.count(-signal.SIGKILL)
        seen["held_after_a_kill"] += code_of(fork(lambda: hold(0, False))) != 0
    return seen


if __name__ == "__main__":
    experiment, folder, numbers = sys.argv[1:]
    print(json.dumps(globals()[experiment](Path(folder), **json.loads(numbers))))
