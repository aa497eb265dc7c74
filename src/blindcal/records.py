"""The sealed record of every release, and the ledger that remembers that a coin was tossed.

Both lie in a folder beside the key (`key.bin` -> `key.bin.sealed`), so that a new output folder cannot toss
again. Every file is stamped with the key: what was changed by hand is found. One file, the ledger, makes a
release count: it is replaced in one step after everything else is on the disk, and nothing public is written
before it. A killed run leaves the old ledger or the new one.
"""

from __future__ import annotations

import hmac
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from blindcal.coins import Key
from blindcal.errors import RefusedError, VerificationError
from blindcal.exact import ExactPolicy
from blindcal.files import lock, read_bytes, write_bytes

NOTICE = "CONFIDENTIAL: names who wrote which review. Keep with the key; never publish or send on."
_LARGEST = 1 << 34
_T = TypeVar("_T")


@dataclass(frozen=True)
class Release:
    """One line of the ledger: a set of decisions that the world may have seen."""

    conference: str
    number: int
    made: str
    reason: str
    papers: int
    decided: int
    input: str
    record: str


@dataclass(frozen=True)
class PaperRecord:
    """One paper of a record: what was public, who wrote what, and how it was decided.

    `release` is the one that tossed the coin, `earlier` those that decided the paper before it, with a table
    each. `probability` is the exact accept probability under the true reviewers, numerator and denominator in
    hexadecimal: with it the coin can be tossed again by whoever holds the key. `raw_accepted` is 1, 0 or at a
    tie, the share of the tied papers that fits.
    """

    paper: str
    release: int
    earlier: tuple[int, ...]
    public: Mapping[str, Any]
    reviewers: tuple[str, ...]
    secret: int
    probability: tuple[str, str]
    accepted: bool
    raw_accepted: float
    weights: str
    figures: Mapping[str, Any]


@dataclass(frozen=True)
class Record:
    """Everything about one release: enough to return it, to amend it and to audit it."""

    conference: str
    release: int
    reason: str
    version: str
    settings: Mapping[str, Any]
    bar: float
    price: float | None
    commitment: str
    papers: tuple[PaperRecord, ...]
    decisions: str
    certificate: str
    tables: str


@dataclass(frozen=True)
class Ledger:
    """The releases made with one key, oldest first."""

    folder: Path
    key: Key
    releases: tuple[Release, ...]

    def of(self, conference: str) -> tuple[Release, ...]:
        """The releases of one conference."""
        return tuple(release for release in self.releases if release.conference == conference)

    def record(self, release: Release) -> Record:
        """The sealed record of a release."""
        content = _unseal(self.folder / f"{release.record}.json", self.key)
        papers = tuple(_from_json(PaperRecord, paper) for paper in content.pop("papers"))
        record = _from_json(Record, {**content, "papers": papers})
        if (record.conference, record.release) != (release.conference, release.number):
            raise VerificationError(f"the sealed record of release {release.number} is that of another one")
        return record

    def tables(self, record: Record) -> dict[str, ExactPolicy]:
        """The tables that a release sampled."""
        release = next(r for r in self.of(record.conference) if r.number == record.release)
        data = read_bytes(self.folder / f"{release.record}.tables", limit=_LARGEST)
        if not hmac.compare_digest(sha256(data).hexdigest(), record.tables):
            raise VerificationError(f"the sealed tables of release {record.release} were changed")
        return _unpack(data)


def sealed_folder(key_path: str | os.PathLike[str]) -> Path:
    """Where the ledger and the sealed records of a key lie: beside it.

    >>> sealed_folder("chair/key.bin").as_posix()
    'chair/key.bin.sealed'
    """
    path = Path(key_path)
    # A link to a key is no other key: it has the same ledger.
    path = path.resolve() if path.is_symlink() else path
    return path.with_name(f"{path.name}.sealed")


@contextmanager
def open_ledger(key_path: str | os.PathLike[str], key: Key) -> Iterator[Ledger]:
    """The ledger of a key, held by this process alone: a second run is refused at once."""
    folder = sealed_folder(key_path)
    folder.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o700)
    with lock(folder / "ledger.json"):
        yield read_ledger(key_path, key)


def read_ledger(key_path: str | os.PathLike[str], key: Key) -> Ledger:
    """The ledger of a key as it stands; empty if nothing was released."""
    folder = sealed_folder(key_path)
    path = folder / "ledger.json"
    if not path.exists():
        return Ledger(folder, key, ())
    content = _unseal(path, key)
    return Ledger(folder, key, tuple(_from_json(Release, release) for release in content["releases"]))


def commit(ledger: Ledger, record: Record, policies: Mapping[str, ExactPolicy], input_stamp: str) -> Ledger:
    """Seal a release: its tables, its record, and at last the line in the ledger that makes it count."""
    conferences = list(dict.fromkeys([*(r.conference for r in ledger.releases), record.conference]))
    name = f"{conferences.index(record.conference) + 1}-{record.release}"
    tables = _pack(policies)
    record = Record(**{**_shallow(record), "tables": sha256(tables).hexdigest()})
    # Left by a run that was killed before it counted: nothing of it was ever public.
    write_bytes(ledger.folder / f"{name}.tables", tables, confidential=True, replace=True)
    write_bytes(
        ledger.folder / f"{name}.json", _seal(asdict(record), ledger.key), confidential=True, replace=True
    )
    decided = sum(paper.release == record.release for paper in record.papers)
    release = Release(
        conference=record.conference,
        number=record.release,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        reason=record.reason,
        papers=len(record.papers),
        decided=decided,
        input=input_stamp,
        record=name,
    )
    releases = (*ledger.releases, release)
    content = {"releases": [asdict(r) for r in releases]}
    write_bytes(ledger.folder / "ledger.json", _seal(content, ledger.key), confidential=True, replace=True)
    return Ledger(ledger.folder, ledger.key, releases)


def publish(record: Record, out: str | os.PathLike[str]) -> list[Path]:
    """Write the public files of a sealed record; one that is there already must be the same byte by byte."""
    check_vacant(out, record)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for path, text in _public_files(record, folder).items():
        if not path.exists():
            write_bytes(path, text.encode())
            written.append(path)
    return written


def check_vacant(out: str | os.PathLike[str], record: Record | None) -> None:
    """Refuse an output folder that holds another result; a new result needs a new folder."""
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise RefusedError(f"{folder} is not a folder")
    expected = {} if record is None else _public_files(record, folder)
    for path in (folder / "decisions.csv", folder / "certificate.json"):
        if path.exists() and (path not in expected or path.read_bytes() != expected[path].encode()):
            raise RefusedError(
                f"{path} holds another result and is never overwritten: give a new --out folder"
            )


def _public_files(record: Record, folder: Path) -> dict[Path, str]:
    return {folder / "decisions.csv": record.decisions, folder / "certificate.json": record.certificate}


def _shallow(record: Record) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _from_json(kind: type[_T], content: Mapping[str, Any]) -> _T:
    return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in content.items()})


def _seal(content: Mapping[str, Any], key: Key) -> bytes:
    """JSON under a line that says what it is and a line that only the key's holder can have written."""
    body = json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False)
    stamp = key.stamp("sealed record", body).hex()
    return f"{NOTICE}\n{stamp}\n{body}\n".encode()


def _unseal(path: Path, key: Key) -> dict[str, Any]:
    notice, _, rest = read_bytes(path, limit=_LARGEST).decode("utf-8", "replace").partition("\n")
    stamp, _, body = rest.partition("\n")
    expected = key.stamp("sealed record", body.removesuffix("\n")).hex()
    if notice != NOTICE or not hmac.compare_digest(stamp.encode(), expected.encode()):
        raise VerificationError(f"{path} was changed, or was sealed with another key")
    content: dict[str, Any] = json.loads(body)
    return content


def _pack(policies: Mapping[str, ExactPolicy]) -> bytes:
    """Tables as one file: a line that says where each one lies, then their integers, compressed."""
    blobs = [zlib.compress(policy.numerator.astype("<i8").tobytes(), 1) for policy in policies.values()]
    exact = [
        [[secret, f"{p.numerator:x}", f"{p.denominator:x}"] for secret, p in policy.exact]
        for policy in policies.values()
    ]
    head = [[paper, len(blob), few] for paper, blob, few in zip(policies, blobs, exact, strict=True)]
    return b"\n".join([NOTICE.encode(), json.dumps(head).encode(), b"".join(blobs)])


def _unpack(data: bytes) -> dict[str, ExactPolicy]:
    _, head, blobs = data.split(b"\n", 2)
    policies, at = {}, 0
    for paper, size, few in json.loads(head):
        numerator = np.frombuffer(zlib.decompress(blobs[at : at + size]), dtype="<i8").astype(np.int64)
        exact = tuple((secret, Fraction(int(top, 16), int(bottom, 16))) for secret, top, bottom in few)
        policies[paper], at = ExactPolicy(numerator, exact), at + size
    return policies
