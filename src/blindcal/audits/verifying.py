"""Inputs + key -> `Verification`: what a confidential auditor runs. `comparisons` says what is compared."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from blindcal.audits.comparisons import Check, checks_of, refuse_failed, stamp_as_recorded
from blindcal.beliefs.conferences import Conference, Truth, assemble
from blindcal.beliefs.inputs import Inputs, check_inputs
from blindcal.cells import count
from blindcal.decisions.coins import read_key
from blindcal.decisions.histories import Past, recorded_case
from blindcal.decisions.places import check_paths
from blindcal.decisions.records import (
    Ledger,
    Published,
    Record,
    all_published,
    published_problems,
    read_ledger,
    sealed_folder,
)
from blindcal.errors import InputError, VerificationError
from blindcal.frames import frame
from blindcal.plans.papers import plan_conference, planning_steps
from blindcal.workers import Progress, Workers, silent


@dataclass(frozen=True, eq=False)
class Verification:
    """The latest release of a conference, and what was checked of it and of the ones before it.

    `record`: the sealed record of that release, CONFIDENTIAL.
    `checks`: everything that was compared.
    `earlier`: numbers of the releases whose input is the one given, where that of the latest one is not.
    `committed`: whether a commitment published beforehand was compared.
    """

    record: Record
    checks: tuple[Check, ...]
    earlier: tuple[int, ...]
    committed: bool = False

    @property
    def limits(self) -> str:
        """What these checks cannot exclude, in words; empty if the commitment was published beforehand."""
        if self.committed:
            return ""
        return (
            "not excluded: that several keys or inputs were tried before these were chosen. Only a "
            "commitment that was published before decisions could be known excludes it: give it as "
            "`commitment`"
        )

    @property
    def agrees(self) -> bool:
        """Whether no check failed."""
        return not any(check.failed for check in self.checks)

    def to_frame(self) -> Any:
        """One row per check, as a pandas data frame; needs pandas."""
        names = ("name", "items", "failed", "note")
        return frame({name: [getattr(check, name) for check in self.checks] for name in names})

    def raise_if_not(self) -> None:
        """A `VerificationError` that says what does not agree, and of which release, if anything does not."""
        number, older = self.record.release, ""
        if self.earlier:
            older = f". The input given is that of release {self.earlier[-1]}, not the latest"
        try:
            refuse_failed(self.checks)
        except VerificationError as error:
            raise VerificationError(f"release {number}: {error}{older}") from None


def latest(key: str | os.PathLike[str], conference: str = "conference") -> tuple[Past, Record]:
    """What was decided with a key, read once, and the latest release of a conference in it."""
    past = Past(read_ledger(key, read_key(key)))
    records = [i for i, release in enumerate(past.ledger.releases) if release.conference == conference]
    if not records:
        raise InputError(
            f"conference {conference!r} was never decided with this key, or its record is not in "
            f"{sealed_folder(key)}"
        )
    return past, past.record(records[-1])


def verify(
    inputs: Inputs,
    key: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    published: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    conference: str = "conference",
    commitment: str | None = None,
    workers: Workers = 1,
    progress: Progress = silent,
) -> Verification:
    """Derive everything again with the key: input, commitment, coins, tables, claims and public files.

    Returns a `Verification`: whether everything `agrees`, and every check with what it counted. What was
    requested is in the sealed record.

    `inputs`: those that were decided.
    `key`: the file of the key that they were decided with.
    `out`: the folder of the public files; by default these are not compared.
    `published`: folders published earlier with this key, as for `decide`: two copies of the key that decided
    apart are found by them.
    `conference`: its name in the ledger, as in the request.
    `commitment`: the number that was published before decisions could be known. Without it nothing excludes
    that several keys or inputs were tried.
    `workers`: how many processes share the work, or a cluster's pool; results are the same.
    `progress`: called as work goes on; silent by default.

    >>> from blindcal import Guarantee, Request, decide, make_key, read_inputs
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> folder = TemporaryDirectory()
    >>> reviews, reviewers = (Path(folder.name) / name for name in ("reviews.csv", "reviewers.csv"))
    >>> _ = reviews.write_text("paper,reviewer,score\\np1,ada,7\\np2,ben,4\\np3,cleo,6\\n")
    >>> _ = reviewers.write_text("reviewer,slope,offset,noise\\nada,1.2,6,1\\nben,1,4.5,1\\ncleo,1,5,1\\n")
    >>> inputs = read_inputs(reviews, reviewers, "everyone")
    >>> key, out = Path(folder.name) / "key.bin", Path(folder.name) / "out"
    >>> _ = make_key(key)
    >>> _ = decide(inputs, Request(Guarantee("steady"), accept_rate=0.5), key, out)
    >>> verify(inputs, key, out).agrees
    True
    >>> folder.cleanup()
    """
    check_inputs(inputs)
    check_paths(key=key)
    past, record = latest(key, conference)
    return verify_latest(
        inputs,
        past,
        record,
        out,
        published=published,
        commitment=commitment,
        workers=workers,
        progress=progress,
    )


def verify_latest(
    inputs: Inputs,
    past: Past,
    record: Record,
    out: str | os.PathLike[str] | None = None,
    *,
    published: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    commitment: str | None = None,
    workers: Workers = 1,
    progress: Progress = silent,
) -> Verification:
    """`verify`, for whoever has read what `latest` returns already."""
    if out is not None and not Path(out).is_dir():
        raise InputError(f"`out` {out} must be the folder of the public files: there is no such folder")
    inputs = inputs.on_grid(record.grid)
    seen = all_published(published)
    # The bar of a first release is derived again.
    first, request = record.release == 1, record.request
    loaded, truth = request.prepared(
        inputs, None if first else record.bar, workers=workers, progress=progress
    )
    steps = sum(_steps(one) for one in past.of(record.conference))
    with progress(f"verifying {count(len(loaded.cases), 'paper')}", steps) as advance:
        planner = partial(plan_conference, workers=workers, advance=advance)
        checks = checks_of(
            loaded,
            truth,
            request,
            past,
            planner,
            partial(assemble, workers=workers),
            None if out is None else Path(out),
        )
    checks += _published_check(past.ledger, seen)
    if commitment is not None:
        made = past.of(record.conference)[0].commitment
        checks.append(Check("commitment published beforehand", 1, int(commitment.strip() != made)))
    earlier = _earlier(past, record, loaded, truth)
    return Verification(record, tuple(checks), earlier, commitment is not None)


def _published_check(ledger: Ledger, seen: Sequence[Published]) -> list[Check]:
    """Whether certificates that were published are releases of this ledger, if any are given."""
    problems = published_problems(ledger, seen)
    return [Check("published earlier", len(seen), len(problems), "; ".join(problems))] if seen else []


def _steps(record: Record) -> int:
    """How many steps it takes to plan once more what was tossed in a release."""
    tossed = [recorded_case(one, record.bar) for one in record.papers if one.release == record.release]
    price = None if record.release == 1 else record.price
    return planning_steps(tossed, record.request.guarantee, price)


def _earlier(past: Past, record: Record, conference: Conference, truth: Truth) -> tuple[int, ...]:
    same = tuple(
        release.number
        for release, made in zip(past.ledger.of(record.conference), past.of(record.conference), strict=True)
        if release.input == stamp_as_recorded(past, made, conference, truth)
    )
    # Another list of the same papers has the input of the list before it.
    return () if record.release in same else same
