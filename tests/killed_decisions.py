"""`decide` killed at each call, with files and in a folder, and many starts at once: run by
tests/cli/test_decide.py.

A small process that may fork. A run dies at a given call, so that nothing depends on the clock.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from blindcal.cli import run
from crashes import code_of, die_at, together, without_nameless_files
from small_conferences import SmallConference, arguments, command_line, known_key, small_conference

SMALL = small_conference(papers=3, spread=0.3)
PUBLIC = ("decisions.csv", "certificate.json")
AMEND = ("--amend", "--reason", "x")
SETTINGS = """\
conference = "icx"
reviews = "inputs/reviews.csv"
reviewers = "inputs/reviewers.csv"
pools = "inputs/pools.csv"
accept = 1
scores = "public"
key = "../chair/key.bin"
out = "public"
numbered = true
"""
TWO = ("decide", *AMEND)
READ = (("report", "--text"), ("audit",))
SECOND = "icx/public/release-2"


def quietly(command: list[str]) -> None:
    """Run a command without its words, as the end of a child."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    os._exit(run(command))


def code(command: list[str], moment: int | None = None, named: bool = False) -> int:
    """The exit code of a command in a child that dies at a moment, if one is given."""
    child = os.fork()
    if not child:
        if named:
            without_nameless_files()
        if moment is not None:
            die_at(moment)
        quietly(command)
    return code_of(child)


def warm(work: Path, inputs: Path) -> None:
    """One release in this process, so that its children need not import and prepare everything again."""
    chair = Chair.new(work / "warm")
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(said):
        done = run(chair.command(inputs, "out")) or run(chair.verify(inputs, "out"))
    assert done == 0, said.getvalue()
    assert json.loads(chair.published("out")["certificate.json"])["epsilon"] > 0, "coins must matter"


class Chair:
    """A folder with the key, its sealed folder and what was published; copied to try several futures."""

    def __init__(self, home: Path) -> None:
        self.home, self.key = home, home / "chair" / "key.bin"

    @classmethod
    def new(cls, home: Path) -> Chair:
        chair = cls(home)
        known_key(chair.key)
        return chair

    def copy(self, home: Path) -> Chair:
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(self.home, home)
        return Chair(home)

    def command(self, inputs: Path, out: str, *more: str) -> list[str]:
        return arguments(inputs, self.key, self.home / out, *more)

    def verify(self, inputs: Path, out: str) -> list[str]:
        return command_line("verify", inputs, self.key, self.home / out)

    @property
    def releases(self) -> int:
        return len(list(self.key.parent.glob("key.bin.sealed/*.sealed")))

    @property
    def names(self) -> set[tuple[str, int]]:
        """What lies on the disk: a later run finds the same wherever names and sizes are the same."""
        files = [file for file in self.home.rglob("*") if file.is_file()]
        named = [
            (re.sub(r"[0-9a-f]{16}", "", str(f.relative_to(self.home))), f.stat().st_size) for f in files
        ]
        folders = [(str(f.relative_to(self.home)), -1) for f in self.home.rglob("*") if f.is_dir()]
        return {*named, *folders}

    def published(self, out: str) -> dict[str, bytes]:
        found = {name: self.home / out / name for name in PUBLIC}
        return {name: path.read_bytes() for name, path in found.items() if path.exists()}


def killed(work: Path, kind: str, named: int, step: int) -> dict[str, int]:
    """Kill one release at every `step`-th call; then the same command, and in a copy the next correction."""
    inputs = [small.write(work / f"in{index}") for index, small in enumerate(corrections())]
    warm(work, inputs[0])
    start, more, number = Chair.new(work / "start"), (), 1
    if kind == "amended":
        assert code(start.command(inputs[0], "out1")) == 0
        more, number = AMEND, 2
    mine, out = inputs[number - 1], f"out{number}"
    expected = start.copy(work / "expected")
    assert code(expected.command(mine, out, *more)) == 0
    seen = dict.fromkeys(("kills", "wrong", "sealed", "not_sealed", "published", "states"), 0)
    for chair, new in kills(start, work, lambda chair: chair.command(mine, out, *more), named, step, seen):
        sealed, found = chair.releases == number, chair.published(out)
        seen["wrong"] += not found.items() <= expected.published(out).items() or (bool(found) and not sealed)
        seen["published"] += bool(found)
        seen["sealed" if sealed else "not_sealed"] += 1
        if new:
            other = chair.copy(work / "other")
            seen["wrong"] += not same_again(chair, expected, mine, out, more)
            seen["wrong"] += not other_input(other, inputs[number], number + sealed)
    return seen


def kills(
    start: Chair,
    work: Path,
    command: Callable[[Chair], list[str]],
    named: int,
    step: int,
    seen: dict[str, int],
) -> Iterator[tuple[Chair, bool]]:
    """The chair after each kill, and whether what lies on the disk then was not seen before."""
    known: list[set[tuple[str, int]]] = []
    for moment in range(0, 10_000, step):
        chair = start.copy(work / "killed")
        ended = code(command(chair), moment, bool(named))
        if ended == 0:
            return
        seen["kills"] += 1
        seen["wrong"] += ended != -signal.SIGKILL
        new = chair.names not in known
        seen["states"] += new
        known += [chair.names] if new else []
        yield chair, new
    raise RuntimeError("the release was never made")


def corrections() -> list[SmallConference]:
    """A conference, and two corrections of one score after another."""
    once = SMALL.with_review(1, score="0.11")
    return [SMALL, once, once.with_review(3, score="0.22")]


def same_again(chair: Chair, expected: Chair, inputs: Path, out: str, more: tuple[str, ...]) -> bool:
    """The command that was killed gives what it would have given, and leaves nothing else."""
    done = code(chair.command(inputs, out, *more)) == 0
    left = {name for name, _ in chair.names} == {name for name, _ in expected.names}
    checked = code(chair.verify(inputs, out)) == 0
    return done and left and checked and chair.published(out) == expected.published(out)


def other_input(chair: Chair, inputs: Path, number: int) -> bool:
    """The next correction becomes the release of this number: as an amendment, unless it is the first."""
    more = AMEND if number > 1 else ()
    if number > 1 and code(chair.command(inputs, "new")) != 3:
        return False
    done = code(chair.command(inputs, "new", *more)) == 0
    return done and chair.releases == number and code(chair.verify(inputs, "new")) == 0


def in_a_folder(work: Path, named: int, step: int) -> dict[str, int]:
    """Kill an amendment of a conference's folder at every `step`-th call; then, each in a copy, start it
    again, decide without amending, make another correction, and read what is published."""
    start, (first, second, _) = Chair.new(work / "start"), corrections()
    inputs = first.write(start.home / "icx" / "inputs")
    (start.home / "icx" / "conference.toml").write_text(SETTINGS)
    assert code(on_folder(start, "decide")) == 0
    warm(work, inputs)
    second.write(inputs)
    expected = start.copy(work / "expected")
    with contextlib.redirect_stdout(io.StringIO()) as said:
        done = [run(on_folder(expected, *command)) for command in (TWO, *READ)]
    assert done == [0, 0, 0], said.getvalue()
    seen = dict.fromkeys(("kills", "wrong", "sealed", "not_sealed", "begun", "states"), 0)
    for chair, new in kills(start, work, lambda chair: on_folder(chair, *TWO), named, step, seen):
        sealed, begun = chair.releases == 2, (chair.home / SECOND).exists()
        seen["wrong"] += begun and not sealed
        seen["sealed" if sealed else "not_sealed"] += 1
        seen["begun"] += begun and chair.published(SECOND) != expected.published(SECOND)
        if new:
            seen["wrong"] += sum(not good for good in go_on(work, chair, expected, sealed, begun))
    return seen


def on_folder(chair: Chair, command: str, *more: str) -> list[str]:
    return [command, str(chair.home / "icx"), *more]


def go_on(work: Path, chair: Chair, expected: Chair, sealed: bool, begun: bool) -> Iterator[bool]:
    """What a chair can do after a kill: what was begun is completed, whichever way it goes on."""
    for command in READ:
        yield code(on_folder(chair, *command)) == 0
    whole = expected.published(SECOND)
    again = chair.copy(work / "again")
    yield code(on_folder(again, *TWO)) == 0
    yield {name for name, _ in again.names} == {name for name, _ in expected.names}
    yield again.published(SECOND) == whole
    yield code(on_folder(again, "verify")) == 0
    plain = chair.copy(work / "decided")
    yield code(on_folder(plain, "decide")) == (0 if sealed else 3)
    yield plain.published(SECOND) == (whole if sealed else {})
    other = chair.copy(work / "other")
    corrections()[2].write(other.home / "icx" / "inputs")
    yield code(on_folder(other, *TWO)) == 0
    yield other.releases == 2 + sealed
    yield other.published(SECOND) == whole if begun else True
    yield code(on_folder(other, "verify")) == 0


def at_once(work: Path, starts: int, rounds: int, inputs: int) -> dict[str, int]:
    """Many starts of one input, or each of another: one release, and one set of decisions."""
    seen = dict.fromkeys(("wrong", "done", "refused"), 0)
    folders = [
        (SMALL if not index else SMALL.with_review(1, score=f"0.{index:03d}")).write(work / f"in{index}")
        for index in range(inputs)
    ]
    warm(work, folders[0])
    for trial in range(rounds):
        chair = Chair.new(work / f"chair{trial}")
        codes = together(
            starts,
            lambda n, chair=chair: quietly(chair.command(folders[n % inputs], f"out{n}")),
        )
        seen["done"] += codes.count(0)
        seen["refused"] += codes.count(3)
        won = {folders[n % inputs] for n in range(starts) if codes[n] == 0}
        results = {json.dumps(sorted(map(str, chair.published(f"out{n}").items()))) for n in range(starts)}
        seen["wrong"] += len(won) != 1 or chair.releases != 1 or len(results - {"[]"}) != 1
        seen["wrong"] += codes.count(0) + codes.count(3) != starts
        seen["wrong"] += code(chair.verify(won.pop(), f"out{codes.index(0)}")) != 0
    return seen


if __name__ == "__main__":
    experiment, folder, numbers = sys.argv[1:]
    print(json.dumps(globals()[experiment](Path(folder), **json.loads(numbers))))
