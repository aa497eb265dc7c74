"""Walks over assignments -> what somebody who knows all loads gains, look by look until it is precise enough.

What is stated lies between two estimates: the guesses of all walks but those from one start, tried on these,
are never too good; the likeliest author of all walks together is never too bad. Where few people and loads
allow it, everything is summed up instead (`couplings`). Walks are kept in a file, and go on from it.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from blindcal.audits.couplings import (
    LOADS,
    Network,
    exact_finding,
    is_small,
    network,
)
from blindcal.audits.findings import Finding
from blindcal.audits.questions import AUTHOR
from blindcal.audits.views import CONSTANT, POLICIES, View
from blindcal.audits.walking import Table, Walks, fresh, started, table_of, walked_on
from blindcal.checks import Array, Integers
from blindcal.errors import InputError
from blindcal.files.disk import make_folder, read_bytes, write_bytes
from blindcal.workers import Progress, Workers, shared, silent

CHAINS, STARTS = 256, 8
# Before anything is counted every review is given away so often, on average; then so often between looks.
_WARM, _LOOK = 30, 10
_LITTLE = 1e-300
# Shares that differ by no more than this are the same but for roundoff.
_SAME = 1e-12
# Walks that one process takes on: many steps are taken at once, whatever the number of processes.
_SIDE_BY_SIDE = 128
_MOST_BYTES = 1 << 31
TARGET = 7e-4
"""The standard error of a chance up to which walks go on: the difference of two such is within a tenth of a
percentage point."""
AGREEMENT = 4.5
"""Starts disagree where one of them differs from the others by more standard errors than this."""


@dataclass(frozen=True)
class Guessed:
    """What chains found: the chance that the best guess at a review's author is right, mean over reviews.

    It lies between `low` and `high`, up to the standard error. `apart`: by how many standard errors the start
    that differs most differs from all of them.
    """

    success: float
    error: float
    low: float
    high: float
    apart: float

    @property
    def agrees(self) -> bool:
        return self.apart <= AGREEMENT


@dataclass(frozen=True)
class Walked(Guessed):
    """What walks found. Each walk holds one of the assignments that it counted: `drawn[walk, review]`
    (members of pools), to be taken with the chances `share[walk]`."""

    walks: int
    starts: int
    assignments: int
    drawn: Integers = field(repr=False, compare=False)
    share: Array = field(repr=False, compare=False)


def found_by(walks: Walks, named: NDArray[np.bool_] | bool = True) -> Walked:
    """What the walks say, as far as they have come; of members who are `named[review, member]`."""
    return Walked(
        **vars(guessed(walks.tally, walks.seen, walks.start, named)),
        walks=walks.seen.size,
        starts=len(np.unique(walks.start)),
        assignments=round(float(walks.seen.sum())),
        drawn=walks.drawn,
        share=walks.seen / max(walks.seen.sum(), _LITTLE),
    )


def guessed(tally: Array, seen: Array, start: Integers, named: NDArray[np.bool_] | bool = True) -> Guessed:
    """What chains say that have `seen[chain]` states, from `start[chain]`, and have counted
    `tally[chain, review, member]` of them in which a member wrote a review; of members who are
    `named[review, member]`.

    >>> tally = np.array([[[3.0, 1.0]], [[3.0, 1.0]], [[1.0, 3.0]], [[1.0, 3.0]]])
    >>> guessed(tally, np.full(4, 4.0), np.array([0, 0, 1, 1])).low
    0.25
    """
    reviews = np.arange(tally.shape[1])
    whole = tally.sum(axis=0) * named
    high = float((whole.max(axis=1) / max(seen.sum(), _LITTLE)).mean())
    right = np.zeros(seen.size)
    for one in np.unique(start):
        mine = start == one
        guess = (whole - tally[mine].sum(axis=0) * named).argmax(axis=1)
        can = np.take_along_axis(np.broadcast_to(named, whole.shape), guess[:, None], axis=1)[:, 0]
        right[mine] = (tally[mine][:, reviews, guess] * can).mean(axis=1)
    low, error = _ratio(right, seen)
    # Whether starts agree is asked of the same guesses for all of them.
    same = tally[:, reviews, whole.argmax(axis=1)].mean(axis=1)
    return Guessed(
        success=0.5 * (low + max(high, low)),
        error=float(np.hypot(error, 0.5 * (max(high, low) - low))),
        low=low,
        high=high,
        apart=_apart(same, seen, start),
    )


def _ratio(right: Array, seen: Array) -> tuple[float, float]:
    """A mean over walks that counted differently much, and its standard error."""
    total = seen.sum()
    if total <= 0.0 or seen.size < 2:
        return 0.0, np.inf
    mean = right.sum() / total
    rest = right - mean * seen
    return float(mean), float(np.sqrt((rest**2).sum() * seen.size / (seen.size - 1)) / total)


def _apart(right: Array, seen: Array, start: Integers) -> float:
    """By how many standard errors the start that differs most differs from the others. How much walks from
    one start differ among themselves is estimated from all starts together: each may have few."""
    group = np.unique(start, return_inverse=True)[1]
    size, total, sums = (np.bincount(group, part) for part in (np.ones_like(seen), seen, right))
    if total.min() <= 0.0 or size.sum() <= size.size:
        return np.inf
    rest = right - (sums / total)[group] * seen
    spread = np.sqrt((rest**2).sum() / (size.sum() - size.size))
    worst = 0.0
    for one in range(size.size if size.size > 1 else 0):
        other = np.arange(size.size) != one
        gap = abs(sums[one] / total[one] - sums[other].sum() / total[other].sum())
        error = spread * np.hypot(
            np.sqrt(size[one]) / total[one], np.sqrt(size[other].sum()) / total[other].sum()
        )
        if gap > _SAME:
            worst = max(worst, gap / error if error > 0.0 else np.inf)
    return float(worst)


def walk(
    views: Sequence[View],
    loads: Mapping[str, int],
    made: Network,
    *,
    target: float = TARGET,
    most: int = 40,
    chains: int = CHAINS,
    starts: int = STARTS,
    seed: int = 0,
    kept: str | os.PathLike[str] | None = None,
    workers: Workers = 1,
    advance: Callable[[int], None] | None = None,
) -> Walked:
    """Walk until the error is at most `target`, or `most` looks were taken. Where a file is `kept` (it is
    CONFIDENTIAL), a walk that was interrupted goes on from it, and ends as it would have."""
    table = table_of(made)
    many = 1 if not isinstance(workers, int) or workers <= 1 or find_spec("joblib") is None else workers
    parts = _read(kept, table, chains, starts, seed)
    if parts is None:
        whole = started(views, loads, table, chains=chains, starts=starts, seed=seed)
        parts = [
            _part(whole, one) for one in np.array_split(np.arange(chains), max(1, chains // _SIDE_BY_SIDE))
        ]
    looks = parts[0].rounds
    while True:
        found = found_by(_joined(parts), table.named)
        if looks and (looks > most or (found.error <= target and looks > 2)):
            return found
        steps = (_WARM if looks == 0 else _LOOK) * table.paper.size
        jobs = list(enumerate(parts))
        onward = partial(_onward, table=table, steps=steps, seed=seed)
        if many == 1:
            parts = [onward(job) for job in jobs]
        else:
            parts = [part for _, part in sorted(shared(onward, jobs, many), key=lambda one: one[0])]
        if looks == 0:
            parts = [fresh(part) for part in parts]
        looks += 1
        _write(kept, parts, table, seed)
        if advance is not None and looks <= most:
            advance(1)


def coupled_findings(
    views: Sequence[View],
    loads: Mapping[str, int],
    policies: Sequence[str] = POLICIES,
    *,
    keep: str | os.PathLike[str] | None = None,
    target: float = TARGET,
    most: int = 40,
    workers: Workers = 1,
    progress: Progress = silent,
) -> list[Finding]:
    """What decisions that are published add for somebody who knows all loads: exact where everything can be
    summed, else by walks, which go on from the folder `keep` where they were interrupted.

    Raw and public decisions are the same whoever reviewed, so they add nothing.
    """
    if is_small(views, loads):
        return [exact_finding(views, loads, policy) for policy in policies]
    if not all(view.outcome is not None for view in views):
        raise InputError("`coupled` needs decisions that were published: before the toss there are too many")
    revealing = [policy for policy in policies if policy not in CONSTANT]
    if keep is not None:
        make_folder(keep)
    found: dict[str, Walked] = {}
    with progress("walking over assignments", (1 + len(revealing)) * most) as advance:
        for name in ("scores", *revealing):
            masses = [view.weight if name == "scores" else view.mass(name)[0] for view in views]
            found[name] = walk(
                views,
                loads,
                network(views, loads, masses),
                target=target,
                most=most,
                kept=None if keep is None else Path(keep) / f"{name}.walks",
                workers=workers,
                advance=advance,
            )
    if not all(one.agrees for one in found.values()):
        raise InputError(
            "`coupled`: walks from different starts do not agree, so nothing can be said of this adversary"
        )
    alone = found["scores"]
    return [
        Finding(
            f"{LOADS} ({alone.walks} walks from {alone.starts} starts, which differ by at most "
            f"{max(one.apart for one in found.values()):.1f} standard errors)",
            AUTHOR,
            policy,
            alone.success,
            found.get(policy, alone).success,
            float(np.hypot(alone.error, found[policy].error)) if policy in found else 0.0,
        )
        for policy in policies
    ]


def _onward(job: tuple[int, Walks], table: Table, steps: int, seed: int) -> Walks:
    number, part = job
    return walked_on(part, table, steps, seed * 1009 + number)


_ARRAYS = ("author", "lacks", "extra", "seen", "tally", "start", "drawn")


def _part(walks: Walks, chosen: Integers) -> Walks:
    return _walks({name: getattr(walks, name)[chosen] for name in _ARRAYS}, walks.rounds)


def _joined(parts: Sequence[Walks]) -> Walks:
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS}
    return _walks(joined, parts[0].rounds)


def _walks(arrays: Mapping[str, NDArray[Any]], rounds: int) -> Walks:
    author, lacks, extra, seen, tally, start, drawn = (arrays[name] for name in _ARRAYS)
    return Walks(author, lacks, extra, seen, tally, start, drawn, rounds)


def _write(kept: str | os.PathLike[str] | None, parts: Sequence[Walks], table: Table, seed: int) -> None:
    if kept is None:
        return
    data, joined = io.BytesIO(), _joined(parts)
    arrays = {name: getattr(joined, name) for name in _ARRAYS}
    about = np.array([parts[0].rounds, len(parts), seed])
    np.savez(data, about=about, digest=np.array(table.digest), **arrays)
    write_bytes(kept, data.getvalue(), confidential=True, replace=True)


def _read(
    kept: str | os.PathLike[str] | None, table: Table, chains: int, starts: int, seed: int
) -> list[Walks] | None:
    """The walks in a file; None if there is none."""
    if kept is None or not Path(kept).exists():
        return None
    try:
        with np.load(io.BytesIO(read_bytes(kept, _MOST_BYTES)), allow_pickle=False) as data:
            about, digest = data["about"], str(data["digest"])
            whole = _walks({name: data[name] for name in _ARRAYS}, int(about[0]))
    except (ValueError, KeyError, OSError):
        raise InputError(f"{os.fspath(kept)} holds no walks of an audit") from None
    same = digest == table.digest and whole.seen.size == chains and int(about[2]) == seed
    if not same or len(np.unique(whole.start)) != starts:
        raise InputError(f"{os.fspath(kept)} holds the walks of another audit: give another file")
    return [_part(whole, one) for one in np.array_split(np.arange(chains), int(about[1]))]
