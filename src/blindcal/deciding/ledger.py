"""The ledger: one confidential record for every release made with a key, and the public files of each.

The records lie in a folder beside the key (`key.bin` -> `key.bin.sealed`), numbered from 1; a key decides
one conference. These files are the ledger; there is no index that could be older or newer than they are. A
release counts from the moment its one file has its name, and nothing public is written before that. So a
killed run leaves either a whole release or none, and the same command continues from there: it finds the
release and publishes it, or draws the same coins again.

A record file has a stamped head that can be read alone, then the parts that the head describes:

    line 1   a notice that the file is confidential, and the version of its format
    line 2   the stamp of the head: only a holder of the key can have made it
    line 3   the head: JSON, at most 32 KiB; it gives the name, size and SHA-256 of each part
    then     the parts, one after the other

A file is written once and never replaced. Each head contains the stamp of the head before it and, through
its digests, fixes every byte of its file. So the files form a hash chain: none can be changed, exchanged or
left out unnoticed. A head has no field that cannot be checked against something else, because a holder of the
key could have written anything there.

If scores are confidential, the public files contain the decisions and the request, but no figure that depends
on scores. The full texts are in the record, for the chair and an auditor.
"""

from __future__ import annotations

import hmac
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from blindcal.certify.exact import PolicyTables
from blindcal.deciding.key import COIN_FORMAT, Key, input_commitment, refuse_shared_file
from blindcal.deciding.record import PaperRecord, Record, Reference, pack, record_json, record_of, unpack
from blindcal.errors import InputError, RefusedError, VerificationError
from blindcal.io.atomic_files import (
    is_temporary_name,
    lock,
    make_folder,
    read_range,
    remove_stale_files,
    write_bytes,
)
from blindcal.io.tables import StrPath

RECORD_FORMAT = 1
"""The version of a record file; docs/reference/records_and_randomness.md has each version."""
NOTICE = "CONFIDENTIAL: names who wrote which review. Keep with the key; never publish or send on."
_FIRST_LINE = f"{NOTICE} blindcal sealed format "
_HEAD_LIMIT = 1 << 16
# The fields of every head: its position in the chain, and its parts.
_CHAIN = ("kind", "counter", "previous", "key_fingerprint", "parts")
_PART = {"name": str, "size": int, "sha256": str}
_RECORD_NAME = re.compile(r"[0-9]{4,}\.sealed")
_KIND = "decisions"
_HEAD_FIELDS: Mapping[str, tuple[type, ...]] = {"coins": (int,), "conference": (str,), "input": (str,)}


@dataclass(frozen=True)
class ReleaseEntry:
    """The entry of a release in the ledger."""

    number: int  # number of the release, from 1
    conference: str  # name of the conference, the same for all releases of a key
    input: str  # stamp of the whole input, which recognizes the same input again
    head: RecordHead  # the head of its record file


@dataclass(frozen=True)
class Ledger:
    """The releases made with one key; each record is read once, when it is needed."""

    folder: Path  # the folder of the records
    key: Key  # the key that stamps them
    releases: tuple[ReleaseEntry, ...]  # oldest first
    _records: dict[int, Record] = field(default_factory=dict, repr=False, compare=False)
    _tables: dict[int, PolicyTables] = field(default_factory=dict, repr=False, compare=False)

    def record(self, number: int) -> Record:
        """The record of the release of this number, checked against its head and its commitment."""
        if number not in self._records:
            release = self.releases[number - 1]
            try:
                record = record_of(release.head.part("record"))
            except (ValueError, TypeError, KeyError, AttributeError, OverflowError, StopIteration):
                raise changed_record(release.head.path) from None
            committed = input_commitment(self.key, release.conference, release.input)
            identity = record.conference, record.release, record.commitment
            if identity != (release.conference, number, committed):
                raise changed_record(release.head.path)
            self._records[number] = record
        return self._records[number]

    def tables(self, number: int) -> PolicyTables:
        """The tables that the release of this number sampled."""
        if number not in self._tables:
            self._tables[number] = unpack(self.releases[number - 1].head.part("tables"))
        return self._tables[number]

    def before(self, number: int) -> Ledger:
        """The ledger before the release of this number."""
        return replace(self, releases=self.releases[: number - 1])

    @property
    def records(self) -> list[Record]:
        """The records of all releases, oldest first."""
        return [self.record(release.number) for release in self.releases]

    @cached_property
    def latest(self) -> dict[str, PaperRecord]:
        """The latest record of every paper, those withdrawn since included."""
        return {paper.paper: paper for record in self.records for paper in record.papers}

    @cached_property
    def tossed(self) -> dict[Reference, PaperRecord]:
        """Every decision that was drawn, oldest first; a decision that stands is listed once."""
        return {
            (record.release, paper.paper): paper
            for record in self.records
            for paper in record.papers
            if paper.release == record.release
        }


def ledger_folder(key_path: StrPath) -> Path:
    """The folder of a key's ledger, beside the key."""
    path = Path(key_path)
    # A link to a key is the same key, and has the same ledger.
    path = Path(os.path.realpath(path)) if path.is_symlink() else path
    if path.name in ("", ".."):
        raise InputError(f"{os.fspath(key_path)} must be the name of a key file, and is a folder")
    return path.with_name(f"{path.name}.sealed")


@contextmanager
def open_ledger(key_path: StrPath, key: Key) -> Iterator[Ledger]:
    """Opens the ledger of a key for this process alone; a second run is refused at once.

    `key_path`: the file of the key, beside which the ledger lies.
    """
    with lock_ledger(ledger_folder(key_path)):
        yield read_ledger(key_path, key)


def read_ledger(key_path: StrPath, key: Key) -> Ledger:
    """The ledger of a key as it stands; empty if nothing was released.

    Only heads are read and checked against each other; the parts of a record are read when needed.
    """
    folder = ledger_folder(key_path)
    return Ledger(folder, key, tuple(map(_release_entry, read_chain(folder, key, _KIND))))


def commit(ledger: Ledger, record: Record, policies: PolicyTables, input_stamp: str) -> Ledger:
    """Writes the record of a release in one new file; an existing file must be the same release."""
    parts = {"record": record_json(record), "tables": pack(policies)}
    fields = {"coins": COIN_FORMAT, "conference": record.conference, "input": input_stamp}
    chain = [release.head for release in ledger.releases]
    head = append_record(ledger.folder, ledger.key, _KIND, chain, fields, parts)
    return Ledger(ledger.folder, ledger.key, (*ledger.releases, _release_entry(head)))


def _release_entry(head: RecordHead) -> ReleaseEntry:
    if head.head.get("coins") != COIN_FORMAT:
        raise VerificationError(
            f"{head.path} has draws of another format than {COIN_FORMAT}, which this version of blindcal "
            "derives: use the version it was made with, or a later one"
        )
    fields = head.fields(_HEAD_FIELDS, ("record", "tables"))
    return ReleaseEntry(head.head["counter"], fields["conference"], fields["input"], head)


@dataclass(frozen=True)
class RecordHead:
    """The checked head of a record file; `start` is the offset of its parts."""

    path: Path
    stamp: str
    head: Mapping[str, Any]
    start: int

    def fields(self, types: Mapping[str, tuple[type, ...]], parts: Sequence[str]) -> dict[str, Any]:
        """The fields of the head besides its position in the chain.

        A `VerificationError` unless it has exactly these fields, of these types, and these parts.
        """
        values = {name: value for name, value in self.head.items() if name not in _CHAIN}
        whole = values.keys() == types.keys() and [part["name"] for part in self.head["parts"]] == [*parts]
        # Exact types, because True is an instance of int.
        if not whole or any(type(value) not in types[name] for name, value in values.items()):
            raise changed_record(self.path)
        return values

    def part(self, name: str) -> bytes:
        """One part of the file, or a `VerificationError` if its digest is wrong."""
        offset = self.start
        for part in self.head["parts"]:
            if part["name"] == name:
                data = read_range(self.path, offset, part["size"])
                if not hmac.compare_digest(sha256(data).hexdigest(), part["sha256"]):
                    raise changed_record(self.path)
                return data
            offset += part["size"]
        raise changed_record(self.path)


def record_name(counter: int) -> str:
    """The name of the file of a key's release number `counter`."""
    return f"{counter:04d}.sealed"


def append_record(
    folder: Path,
    key: Key,
    kind: str,
    chain: Sequence[RecordHead],
    fields: Mapping[str, Any],
    parts: Mapping[str, bytes],
) -> RecordHead:
    """Writes the record that follows a chain in one new file; an existing file must be the same record."""
    described = [
        {"name": name, "size": len(data), "sha256": sha256(data).hexdigest()} for name, data in parts.items()
    ]
    counter, previous = len(chain) + 1, chain[-1].stamp if chain else ""
    position = {"kind": kind, "counter": counter, "previous": previous, "key_fingerprint": key.fingerprint}
    stamp, data = record_bytes(key, {**fields, **position, "parts": described}, parts)
    path = folder / record_name(counter)
    make_folder(folder)
    if not os.path.lexists(path):
        write_bytes(path, data, confidential=True)
    if (head := read_head(path, key)).stamp != stamp:
        raise RefusedError(f"{path} holds another release, and a recorded release is never replaced")
    return head


def record_bytes(key: Key, head: Mapping[str, Any], parts: Mapping[str, bytes]) -> tuple[str, bytes]:
    """The stamp of a full head, and the bytes of its record file."""
    text = _head_text(head)
    if len(text) > _HEAD_LIMIT // 2:
        raise InputError(
            "the name of the conference and the reason must be shorter: at most 2,500 characters"
        )
    stamp = _head_stamp(key, text)
    lines = f"{_FIRST_LINE}{RECORD_FORMAT}\n{stamp}\n{text}\n"
    return stamp, b"".join([lines.encode(), *parts.values()])


def read_head(path: Path, key: Key) -> RecordHead:
    """The checked head of a record file, or a `VerificationError` with advice.

    A file that others could have read is refused, as a key is.
    """
    refuse_shared_file(path)
    lines = read_range(path, 0, _HEAD_LIMIT).split(b"\n", 3)
    opening, _, version = lines[0].decode("utf-8", "replace").rpartition(" ")
    if f"{opening} " == _FIRST_LINE and version.isdecimal() and version != f"{RECORD_FORMAT}":
        raise VerificationError(
            f"{path} has log format {version}, and this version of blindcal reads format {RECORD_FORMAT}: "
            "use the version it was made with, or a later one"
        )
    if f"{opening} {version}" != f"{_FIRST_LINE}{RECORD_FORMAT}" or len(lines) < 4:
        raise changed_record(path)
    text = lines[2].decode("utf-8", "replace")
    stamp = _head_stamp(key, text)
    if not hmac.compare_digest(lines[1], stamp.encode()):
        raise _wrong_stamp(path, text, key)
    head, start = _parse_head(text, key), sum(len(line) + 1 for line in lines[:3])
    if head is None or os.stat(path).st_size != start + sum(part["size"] for part in head["parts"]):
        raise changed_record(path)
    return RecordHead(path, stamp, head, start)


def _parse_head(text: str, key: Key) -> dict[str, Any] | None:
    """A stamped head in the canonical form in which heads are written; None in any other form.

    A second form of the same head would have another stamp, and could replace the file.
    """
    try:
        head: dict[str, Any] = json.loads(text)
        parts = [{name: type(value) for name, value in part.items()} for part in head["parts"]]
        same = head["key_fingerprint"] == key.fingerprint and _head_text(head) == text
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return head if same and all(part == _PART for part in parts) else None


def _head_text(head: Mapping[str, Any]) -> str:
    return json.dumps(head, sort_keys=True, allow_nan=False)


def _head_stamp(key: Key, text: str) -> str:
    return key.stamp("sealed head", text, version=RECORD_FORMAT).hex()


def _wrong_stamp(path: Path, text: str, key: Key) -> VerificationError:
    """The error for a head with a wrong stamp: another key, or a change. Nothing else in it is trusted."""
    try:
        other = json.loads(text)["key_fingerprint"] != key.fingerprint
    except (ValueError, TypeError, KeyError):
        other = False
    if not other:
        return changed_record(path)
    return VerificationError(
        f"{path} was made with another key than the one given (fingerprint {key.fingerprint}): give the "
        "key of its decisions; a new one would draw again"
    )


@contextmanager
def lock_ledger(folder: Path) -> Iterator[None]:
    """Locks a folder of records for this process; a second run is refused at once.

    The folder is made with its first record, so that a run without a release leaves nothing.
    """
    with lock(folder):
        if os.path.lexists(folder):
            make_folder(folder)
        remove_stale_files(folder)
        yield


def record_files(folder: Path) -> list[Path]:
    """The record files of a folder in order; a gap or any other file is refused."""
    # A record that is skipped under another name would be drawn again, so any other name is refused, but for
    # the file of a writer at work and the one that macOS leaves in folders.
    names = set(os.listdir(folder)) if folder.is_dir() else set()
    names -= {name for name in names if name == ".DS_Store" or is_temporary_name(name)}
    if strange := sorted(name for name in names if not _RECORD_NAME.fullmatch(name)):
        raise VerificationError(
            f"{folder / strange[0]} is no record of a release, and nothing else belongs in the private log: "
            "move it away"
        )
    expected = [record_name(counter) for counter in range(1, len(names) + 1)]
    if missing := [name for name in expected if name not in names]:
        raise VerificationError(
            f"{folder / missing[0]} is missing, and later ones are not: {restore_advice(folder)}"
        )
    return [folder / name for name in expected]


def read_chain(folder: Path, key: Key, kind: str) -> tuple[RecordHead, ...]:
    """The heads of all records of a folder, each of this kind and checked against the head before it."""
    _refuse_other_names(folder, key, kind)
    chain, last = list[RecordHead](), ""
    for counter, path in enumerate(record_files(folder), start=1):
        head = read_head(path, key)
        if head.head.get("kind") != kind:
            raise changed_record(path)
        # Compared as JSON, in which 1 and true differ.
        position = [head.head.get(name) for name in ("counter", "previous")]
        if json.dumps(position) != json.dumps([counter, last]):
            raise VerificationError(f"{path} does not follow the file before it: {restore_advice(folder)}")
        last = head.stamp
        chain.append(head)
    return tuple(chain)


def _refuse_other_names(folder: Path, key: Key, kind: str) -> None:
    """Refuses a key that has releases in another folder beside it.

    The key or the folder was renamed, and a key without a ledger would decide everything again. A backup
    is no such folder, because it holds no release that `folder` lacks.
    """
    try:
        beside = sorted(folder.parent.iterdir())
    except OSError:
        return
    for other in beside:
        if other.name == folder.name or not os.path.lexists(other / record_name(1)):
            continue
        theirs = {stamp for stamp, *rest in _unchecked_heads(other) if rest == [key.fingerprint, kind]}
        if theirs and theirs - {stamp for stamp, _, _ in _unchecked_heads(folder)}:
            raise RefusedError(
                f"{other} holds releases made with this key (fingerprint {key.fingerprint}) that {folder} "
                "does not hold. Going on without them would decide, or share, what was decided or shared "
                f"already. If the key was renamed, rename that folder to {folder.name}, or give the key its "
                "old name; if there are two folders, keep the one that was used last"
            )


def _unchecked_heads(folder: Path) -> Iterator[tuple[str, object, object]]:
    """The stamp, the key and the kind that each record file in a folder claims, unchecked."""
    with suppress(OSError):
        for name in filter(_RECORD_NAME.fullmatch, os.listdir(folder)):
            with suppress(InputError, ValueError, TypeError, KeyError, IndexError):
                _, stamp, text = read_range(folder / name, 0, _HEAD_LIMIT).split(b"\n", 3)[:3]
                head = json.loads(text)
                yield stamp.decode(), head["key_fingerprint"], head["kind"]


def changed_record(path: Path) -> VerificationError:
    """The error for a record file that was changed, with advice."""
    return VerificationError(f"{path} was changed since it was written: {restore_advice(path.parent)}")


def restore_advice(folder: Path) -> str:
    """Advice for a ledger that is not complete."""
    return f"restore all of {folder} from the latest backup that was made with the key"
