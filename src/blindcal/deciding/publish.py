"""Publishing: the public files of a release, and certificates that were published before.

The certificate is written last and marks a folder as complete. Every published certificate names its key and
its release, so that a ledger restored from an old backup is noticed before it draws again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from blindcal.deciding.key import read_key
from blindcal.deciding.ledger import Ledger, read_ledger, restore_advice
from blindcal.deciding.paths import check_paths
from blindcal.deciding.record import Record
from blindcal.errors import InputError, RefusedError
from blindcal.io.atomic_files import (
    ADVICE,
    CERTIFICATE,
    DECISIONS,
    RELEASE_NAME,
    read_bytes,
    read_json,
    remove_stale_files,
    write_bytes,
)
from blindcal.io.tables import StrPath


def recorded_release(published: StrPath, key: StrPath) -> tuple[Ledger, Record]:
    """The ledger of a key, and the confidential record of the release of it in the folder `published`."""
    check_paths(published=published, key=key)
    certificate = read_published(published)
    if certificate is None:
        raise InputError(f"{published} must be a folder with a certificate.json that blindcal wrote")
    ledger = read_ledger(key, read_key(key))
    check_published(ledger, [certificate])
    return ledger, ledger.record(certificate.number)


def read_record(published: StrPath, key: StrPath) -> Record:
    """The confidential record of the release in the folder `published`, which was made with this `key`."""
    return recorded_release(published, key)[1]


def publish(record: Record, out: StrPath) -> list[Path]:
    """Writes the public files of a record.

    An existing file must be identical, so a killed run can publish again. The certificate is written last and
    marks the folder as complete.

    `record`: the record of a release in the ledger. `out`: the folder to publish, which is made if it is
    missing.
    """
    check_vacant(out, record)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    remove_stale_files(folder)
    written = []
    for name, text in record.published.items():
        if not (path := folder / name).exists():
            write_bytes(path, text.encode())
            written.append(path)
    return written


def check_vacant(out: StrPath, record: Record | None) -> None:
    """Refuses an output folder that holds another result; a new result needs a new folder."""
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise RefusedError(f"{folder} is not a folder")
    for path in other_files(record, folder):
        raise RefusedError(f"{path} holds another result and is never overwritten: give a new `out` folder")


def other_files(record: Record | None, folder: Path) -> list[Path]:
    """The public files in a folder that are not as the record says; without a record, all of them."""
    texts = {} if record is None else record.published
    there = [folder / name for name in (DECISIONS, ADVICE, CERTIFICATE) if (folder / name).exists()]
    return [
        path for path in there if path.name not in texts or path.read_bytes() != texts[path.name].encode()
    ]


def release_folder(out: StrPath, number: int, numbered: bool = True) -> Path:
    """The folder of a release: one of its own in `out` if releases are `numbered`, else `out`."""
    return Path(out) / f"release-{number}" if numbered else Path(out)


def latest_release(out: StrPath) -> Path | None:
    """The complete folder of the latest numbered release in `out`, if there is one."""
    return next((folder for folder in _release_folders(out) if _is_complete(folder)), None)


def interrupted_release(out: StrPath) -> Path | None:
    """The folder of the latest numbered release in `out`, if a killed run left it incomplete."""
    return next((folder for folder in _release_folders(out)[:1] if not _is_complete(folder)), None)


def finish_interrupted(ledger: Ledger, out: StrPath) -> tuple[str, ...]:
    """Publishes the releases whose folders in `out` killed runs left incomplete.

    Returns a remark on each.
    """
    remarks = []
    for release in ledger.releases:
        folder = release_folder(out, release.number)
        if folder.is_dir() and not _is_complete(folder):
            publish(ledger.record(release.number), folder)
            remarks.append(f"{folder} was left incomplete by an interrupted run, and is complete now")
    return tuple(remarks)


def _release_folders(out: StrPath) -> list[Path]:
    """The numbered folders in `out`, latest first."""
    names = os.listdir(out) if os.path.isdir(out) else []
    numbers = [int(match[1]) for name in names if (match := RELEASE_NAME.fullmatch(name))]
    return [release_folder(out, number) for number in sorted(numbers, reverse=True)]


def _is_complete(folder: Path) -> bool:
    """Whether a release is complete: its certificate is written last."""
    return (folder / CERTIFICATE).exists()


@dataclass(frozen=True)
class PublishedCertificate:
    """A published certificate, with the key that made it and the number of its release."""

    path: Path
    fingerprint: str
    number: int
    text: bytes


def read_published(folder: StrPath) -> PublishedCertificate | None:
    """The certificate in a folder; None if there is none, or if it does not name its key and release."""
    path = Path(folder) / CERTIFICATE
    try:
        text, content = read_bytes(path), read_json(path)
    except InputError:
        return None
    match content:
        case {"key_fingerprint": str(fingerprint), "release": int(number)} if number > 0:
            return PublishedCertificate(path, fingerprint, number, text)
    return None


def published_in(folder: StrPath, numbered: bool = True) -> list[PublishedCertificate]:
    """The certificate in a folder, and those of the `numbered` releases in it, oldest first."""
    folders = [Path(folder), *(reversed(_release_folders(folder)) if numbered else ())]
    return [seen for seen in map(read_published, folders) if seen is not None]


def all_published(folders: StrPath | Sequence[StrPath]) -> list[PublishedCertificate]:
    """Every certificate in published folders; a folder without any is refused."""
    certificates = []
    for folder in [folders] if isinstance(folders, str | os.PathLike) else folders:
        if not (inside := published_in(folder)):
            raise InputError(f"`published` {folder} must hold a certificate.json that blindcal wrote")
        certificates += inside
    return certificates


def check_published(ledger: Ledger, seen: Sequence[PublishedCertificate]) -> None:
    """Refuses to continue if a published certificate has another key, or is missing from the ledger.

    A ledger restored from an old backup would otherwise draw new coins for papers that were decided.
    """
    if problems := published_problems(ledger, seen):
        raise RefusedError("; ".join(problems))


def published_problems(ledger: Ledger, seen: Sequence[PublishedCertificate]) -> list[str]:
    """A message for each certificate that is not a release of this ledger, with advice."""
    return [problem for certificate in seen if (problem := _published_problem(ledger, certificate, seen))]


def _published_problem(
    ledger: Ledger, certificate: PublishedCertificate, seen: Sequence[PublishedCertificate]
) -> str:
    path, number, restore = certificate.path, certificate.number, restore_advice(ledger.folder)
    if certificate.fingerprint != ledger.key.fingerprint:
        return (
            f"{path} was made with another key (fingerprint {certificate.fingerprint}) than the one given "
            f"({ledger.key.fingerprint}): give that key; another one would draw again"
        )
    if number > len(ledger.releases):
        return (
            f"{path} is release {number} made with this key, and {ledger.folder} holds only "
            f"{len(ledger.releases)}: it is older than what was published; {restore}"
        )
    if ledger.record(number).published[CERTIFICATE].encode() == certificate.text:
        return ""
    apart = "two copies of the key decided apart, or one of the two was changed"
    for other in seen:
        same = (other.fingerprint, other.number) == (certificate.fingerprint, number)
        if same and other.text != certificate.text:
            return f"{path} and {other.path} are both release {number} made with this key: {apart}"
    return (
        f"{path} is not what {ledger.folder} holds as release {number} made with this key: {apart}. If that "
        f"folder is not the one to go on with, {restore}"
    )
