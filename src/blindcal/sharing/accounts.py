"""The account of a key: every release of sums, sealed beside it, and what is spent of each review's privacy.

The files lie in a folder beside the key (`key.bin` -> `key.bin.shared`), one per release, like those of
decisions: numbered, chained, written once. A release counts from the moment its file has its name, and
nothing public is written before that.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from blindcal.decisions.coins import Key
from blindcal.decisions.records import sealed_folder
from blindcal.decisions.seals import (
    Seal,
    changed,
    full_head,
    held,
    read_chain,
    read_seal,
    sealed,
    sealed_name,
)
from blindcal.files.disk import make_folder, write_bytes
from blindcal.fitting.footprints import Footprint, as_footprint, resemblance, used_in
from blindcal.sharing.limits import Limit

_KIND = "shared sums"
_FIELDS: Mapping[str, tuple[type, ...]] = {
    "conference": (str,),
    "epsilon": (float, int, type(None)),
    "zcdp": (float, int, type(None)),
    "input": (str,),
    "reason": (str,),
}


@dataclass(frozen=True)
class Entry:
    """One release of sums: for which reviews, with which limit, and what was published."""

    counter: int
    conference: str
    limit: Limit
    input: str
    reason: str = field(repr=False)
    footprint: Footprint = field(repr=False)
    table: bytes = field(repr=False)
    statement: bytes = field(repr=False)


@dataclass(frozen=True)
class Account:
    """The releases of sums made with one key.

    `folder`: where their sealed files lie.
    `key`: that they are sealed with.
    `entries`: one for each release, oldest first.
    `last`: the stamp of the latest one's head, to which the next will be chained; empty before the first.
    """

    folder: Path
    key: Key
    entries: tuple[Entry, ...]
    last: str = ""

    def again(self, input_stamp: str) -> Entry | None:
        """The release that this very input led to before."""
        return next((entry for entry in self.entries if entry.input == input_stamp), None)

    def about(self, conference: str, footprint: Footprint) -> tuple[Entry, ...]:
        """Earlier releases about the same reviews: of the same name, or as alike as chance makes them once in
        a hundred times. (A total that is too high does no harm.)"""
        return tuple(
            entry
            for entry in self.entries
            if entry.conference == conference or resemblance(entry.footprint, footprint)
        )


def shared_folder(key_path: str | os.PathLike[str]) -> Path:
    """Where the sealed releases of a key lie: beside it.

    >>> shared_folder("chair/key.bin").as_posix()
    'chair/key.bin.shared'
    """
    return sealed_folder(key_path).with_suffix(".shared")


@contextmanager
def open_account(key_path: str | os.PathLike[str], key: Key) -> Iterator[Account]:
    """The account of a key, held by this process alone: a second run is refused at once."""
    with held(shared_folder(key_path)):
        yield read_account(key_path, key)


def read_account(key_path: str | os.PathLike[str], key: Key) -> Account:
    """The account of a key as it stands; empty if nothing was shared.

    `key_path` is the file of the key, beside which the sealed files lie; `key` is what `read_key` found
    there.

    >>> read_account("nowhere/key.bin", Key(bytes(32))).entries
    ()
    """
    folder = shared_folder(key_path)
    chain = read_chain(folder, key, _KIND)
    return Account(folder, key, tuple(map(_entry, chain)), chain[-1].stamp if chain else "")


def enter(
    account: Account, conference: str, limit: Limit, stamp: str, reason: str, parts: Mapping[str, Any]
) -> Entry:
    """Seal a release in one new file; `parts` are footprint, table and statement."""
    counter = len(account.entries) + 1
    fields = {
        "conference": conference,
        "epsilon": limit.epsilon,
        "zcdp": limit.zcdp,
        "input": stamp,
        "reason": reason,
    }
    (used,) = used_in([parts["footprint"]])
    content = {
        "footprint": json.dumps(used).encode(),
        "table": parts["table"],
        "statement": parts["statement"],
    }
    head = full_head(account.key, _KIND, counter, account.last, fields, content)
    _, data = sealed(account.key, head, content)
    make_folder(account.folder)
    path = account.folder / sealed_name(counter)
    write_bytes(path, data, confidential=True)
    return _entry(read_seal(path, account.key))


def _entry(seal: Seal) -> Entry:
    head = seal.fields(_FIELDS, ("footprint", "table", "statement"))
    try:
        footprint = as_footprint(json.loads(seal.part("footprint")))
        if footprint is None:
            raise KeyError
        return Entry(
            counter=seal.head["counter"],
            conference=head["conference"],
            limit=Limit(head["epsilon"], head["zcdp"]),
            input=head["input"],
            reason=head["reason"],
            footprint=footprint,
            table=seal.part("table"),
            statement=seal.part("statement"),
        )
    except (KeyError, ValueError, TypeError):
        raise changed(seal.path) from None
