"""One sealed file per release: a stamped head that can be read alone, then the parts it describes.

    line 1   that the file is confidential, and the version of its format
    line 2   the stamp of the head: only the key's holder can have made it
    line 3   the head: JSON, at most 32 KiB; it gives the name, size and SHA-256 of each part
    then     the parts, one after the other

A file is written once and never replaced. Each head holds the stamp of the head before it, and through its
digests every byte of its file: no file of a row can be changed, exchanged or left out unnoticed. A head has
no field that nothing can be compared with: the key's holder could have written anything there.
"""

from __future__ import annotations

import hmac
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

from blindcal.decisions.coins import Key, refuse_open
from blindcal.errors import InputError, RefusedError, VerificationError
from blindcal.files.disk import clear_stale, lock, make_folder, read_part
from blindcal.plans.exact import ExactPolicy, Packed, Tables, packed

SEALED_FORMAT = 1
"""The version of a sealed file; docs/formats.md says what each version holds."""
NOTICE = "CONFIDENTIAL: names who wrote which review. Keep with the key; never publish or send on."
_OPENING = f"{NOTICE} blindcal sealed format "
_HEAD_LIMIT = 1 << 16
# What says where in the chain a file belongs, and what it holds.
_CHAIN = ("kind", "counter", "previous", "key_fingerprint", "parts")
_PART = {"name": str, "size": int, "sha256": str}
_SEALED = re.compile(r"[0-9]{4,}\.sealed")


@dataclass(frozen=True)
class Seal:
    """The head of a sealed file, checked; `start` is where its parts begin."""

    path: Path
    stamp: str
    head: Mapping[str, Any]
    start: int

    def fields(self, types: Mapping[str, tuple[type, ...]], parts: Sequence[str]) -> dict[str, Any]:
        """What the head says besides its place in the chain, or a `VerificationError` unless it is exactly
        this: fields of these types, and these parts."""
        values = {name: value for name, value in self.head.items() if name not in _CHAIN}
        names = [part["name"] for part in self.head["parts"]]
        if values.keys() != types.keys() or names != list(parts):
            raise changed(self.path)
        # No subclass will do: true is no number.
        if any(type(value) not in types[name] for name, value in values.items()):
            raise changed(self.path)
        return values

    def part(self, name: str) -> bytes:
        """One part of the file, or a `VerificationError` if it is not what was sealed."""
        at = self.start
        for part in self.head["parts"]:
            if part["name"] == name:
                data = read_part(self.path, at, part["size"])
                if not hmac.compare_digest(sha256(data).hexdigest(), part["sha256"]):
                    raise changed(self.path)
                return data
            at += part["size"]
        raise changed(self.path)


def sealed_name(counter: int) -> str:
    """The name of the file of a key's release number `counter`.

    >>> sealed_name(7), sealed_name(12345)
    ('0007.sealed', '12345.sealed')
    """
    return f"{counter:04d}.sealed"


def full_head(
    key: Key, kind: str, counter: int, previous: str, fields: Mapping[str, Any], parts: Mapping[str, bytes]
) -> dict[str, Any]:
    """A head of its own `fields` with its place in the chain and the description of its parts."""
    described = [
        {"name": name, "size": len(data), "sha256": sha256(data).hexdigest()} for name, data in parts.items()
    ]
    place = {"kind": kind, "counter": counter, "previous": previous, "key_fingerprint": key.fingerprint}
    return {**fields, **place, "parts": described}


def sealed(key: Key, head: Mapping[str, Any], parts: Mapping[str, bytes]) -> tuple[str, bytes]:
    """The stamp of a full head, and the bytes of its file."""
    text = _text(head)
    if len(text) > _HEAD_LIMIT // 2:
        raise InputError(
            "the name of the conference and the reason must be shorter: at most 2,500 characters"
        )
    stamp = _stamp(key, text)
    lines = f"{_OPENING}{SEALED_FORMAT}\n{stamp}\n{text}\n"
    return stamp, b"".join([lines.encode(), *parts.values()])


def read_seal(path: Path, key: Key) -> Seal:
    """The head of a sealed file, or a `VerificationError` that says what is wrong with it and what to do. A
    file that others could have read is refused, as a key is."""
    refuse_open(path)
    lines = read_part(path, 0, _HEAD_LIMIT).split(b"\n", 3)
    _check_opening(path, lines[0].decode("utf-8", "replace"))
    if len(lines) < 4:
        raise changed(path)
    text = lines[2].decode("utf-8", "replace")
    stamp = _stamp(key, text)
    if not hmac.compare_digest(lines[1], stamp.encode()):
        raise _other_key(path, text, key)
    head, start = _parsed(text, key), sum(len(line) + 1 for line in lines[:3])
    if head is None or os.stat(path).st_size != start + sum(part["size"] for part in head["parts"]):
        raise changed(path)
    return Seal(path, stamp, head, start)


def _parsed(text: str, key: Key) -> dict[str, Any] | None:
    """A head that was stamped with the key, in the form in which heads are written; None in any other."""
    try:
        head: dict[str, Any] = json.loads(text)
        described = all(
            {name: type(value) for name, value in part.items()} == _PART for part in head["parts"]
        )
        same = head["key_fingerprint"] == key.fingerprint and _text(head) == text
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return head if same and described else None


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """A folder of sealed files, held by this process alone: a second run is refused at once.

    The folder is made with its first file, so that a run that seals nothing leaves nothing.
    """
    with lock(folder):
        if os.path.lexists(folder):
            make_folder(folder)
        clear_stale(folder)
        yield


def sealed_files(folder: Path) -> list[Path]:
    """The sealed files of a folder in their order, without a gap and with nothing between them."""
    # A name with a dot in front is a lock, a temporary file, or the system's own.
    names = {name for name in os.listdir(folder) if name[0] != "."} if folder.is_dir() else set()
    if strange := sorted(name for name in names if not _SEALED.fullmatch(name)):
        raise VerificationError(
            f"{folder / strange[0]} is no sealed release of blindcal, and nothing else belongs there: "
            "move it away"
        )
    expected = [sealed_name(counter) for counter in range(1, len(names) + 1)]
    if missing := [name for name in expected if name not in names]:
        raise VerificationError(
            f"{folder / missing[0]} is missing, and later ones are not: {restore(folder)}"
        )
    return [folder / name for name in expected]


def read_chain(folder: Path, key: Key, kind: str) -> tuple[Seal, ...]:
    """The heads of all sealed files of a folder, each of this kind and checked against the one before it;
    none if there is no folder."""
    _refuse_other_names(folder, key, kind)
    chain, last = list[Seal](), ""
    for counter, path in enumerate(sealed_files(folder), start=1):
        seal = read_seal(path, key)
        if seal.head.get("kind") != kind:
            raise changed(path)
        # Compared as JSON, in which 1 and true differ.
        if json.dumps([seal.head.get(name) for name in ("counter", "previous")]) != json.dumps(
            [counter, last]
        ):
            raise VerificationError(f"{path} does not follow the file before it: {restore(folder)}")
        last = seal.stamp
        chain.append(seal)
    return tuple(chain)


def _refuse_other_names(folder: Path, key: Key, kind: str) -> None:
    """Refuse a key that has releases in another folder beside it: the key or the folder was renamed, and as a
    key without a past it would do everything once more. A backup holds nothing that `folder` lacks."""
    for other in _folders_beside(folder):
        theirs = {stamp for stamp, *rest in _named_in(other) if rest == [key.fingerprint, kind]}
        if theirs and theirs - {stamp for stamp, _, _ in _named_in(folder)}:
            raise RefusedError(
                f"{other} holds releases made with this key (fingerprint {key.fingerprint}) that {folder} "
                "does not hold. Going on without them would decide, or share, what was decided or shared "
                f"already. If the key was renamed, rename that folder to {folder.name}, or give the key its "
                "old name; if there are two folders, keep the one that was used last"
            )


def _folders_beside(folder: Path) -> list[Path]:
    """The other folders in the folder of a key that seem to hold sealed files."""
    try:
        with os.scandir(folder.parent) as entries:
            names = [entry.name for entry in entries if entry.name != folder.name and entry.is_dir()]
    except OSError:
        return []
    beside = [folder.with_name(name) for name in sorted(names)]
    return [other for other in beside if os.path.lexists(other / sealed_name(1))]


def _named_in(folder: Path) -> Iterator[tuple[str, object, object]]:
    """Of every sealed file in a folder, not checked: its stamp, the key that it names, and its kind."""
    with suppress(OSError):
        for name in filter(_SEALED.fullmatch, os.listdir(folder)):
            with suppress(InputError, ValueError, TypeError, KeyError, IndexError):
                _, stamp, text = read_part(folder / name, 0, _HEAD_LIMIT).split(b"\n", 3)[:3]
                head = json.loads(text)
                yield stamp.decode(), head["key_fingerprint"], head["kind"]


def changed(path: Path) -> VerificationError:
    """What to say, and to do, about a sealed file that is not as it was sealed."""
    return VerificationError(f"{path} was changed since it was sealed: {restore(path.parent)}")


def restore(folder: Path) -> str:
    """How to go on without a whole sealed folder."""
    return f"restore all of {folder} from the latest backup that was made with the key"


def _text(head: Mapping[str, Any]) -> str:
    return json.dumps(head, sort_keys=True, allow_nan=False)


def _stamp(key: Key, text: str) -> str:
    return key.stamp("sealed head", text, version=SEALED_FORMAT).hex()


def _check_opening(path: Path, line: str) -> None:
    if line == f"{_OPENING}{SEALED_FORMAT}":
        return
    if line.startswith(_OPENING) and line.removeprefix(_OPENING).isdecimal():
        raise VerificationError(
            f"{path} has sealed format {line.removeprefix(_OPENING)}, and this version of blindcal reads "
            f"format {SEALED_FORMAT}: use the version it was made with, or a later one"
        )
    raise changed(path)


def _other_key(path: Path, text: str, key: Key) -> VerificationError:
    """Whether the head names another key or was changed; it is not to be believed beyond that."""
    try:
        named = json.loads(text)["key_fingerprint"]
    except (ValueError, TypeError, KeyError):
        return changed(path)
    if named == key.fingerprint:
        return changed(path)
    return VerificationError(
        f"{path} was sealed with another key than the one given (fingerprint {key.fingerprint}): give the "
        "key that its decisions were made with; a new one would draw new coins"
    )


def pack(policies: Mapping[str, ExactPolicy]) -> bytes:
    """Tables as one part: a line that says where each one lies, then their integers, compressed."""
    at_rest = (
        policies.packed if isinstance(policies, Tables) else {k: packed(one) for k, one in policies.items()}
    )
    exact = [
        [[secret, f"{p.numerator:x}", f"{p.denominator:x}"] for secret, p in one.exact]
        for one in at_rest.values()
    ]
    blobs = [one.numerator for one in at_rest.values()]
    index = [[paper, len(blob), few] for paper, blob, few in zip(at_rest, blobs, exact, strict=True)]
    return b"\n".join([json.dumps(index).encode(), b"".join(blobs)])


def unpack(data: bytes) -> Tables:
    """The tables of a part."""
    index, blobs = data.split(b"\n", 1)
    at_rest, at = {}, 0
    for paper, size, few in json.loads(index):
        exact = tuple((secret, Fraction(int(top, 16), int(bottom, 16))) for secret, top, bottom in few)
        at_rest[paper], at = Packed(blobs[at : at + size], exact), at + size
    return Tables(at_rest)
